"use strict";
(() => {
	const body = document.body;
	const help = document.getElementById("help");
	const keys = document.getElementById("keys");
	keys.addEventListener("click", () => help.showModal());

	// Stops of j and k: the first link or field of what has data-item, or the thing itself.
	const target = item => item.querySelector("a, summary, button") || item;
	const stops = () => [...document.querySelectorAll("[data-item]")].filter(item => item.getClientRects().length > 0);
	const move = by => {
		const items = stops();
		if (items.length === 0) return;
		const here = document.activeElement && document.activeElement.closest("[data-item]");
		let i = items.indexOf(here);
		if (i < 0) {
			i = items.findIndex(item => item.getBoundingClientRect().bottom > 60);
			i = by > 0 ? i - 1 : i;
		}
		const next = items[Math.max(0, Math.min(items.length - 1, i + by))];
		document.querySelectorAll(".at").forEach(e => e.classList.remove("at"));
		next.classList.add("at");
		target(next).focus({ preventScroll: true });
		next.scrollIntoView({ block: "nearest" });
	};
	const go = href => { if (href) location.assign(href); };

	addEventListener("keydown", e => {
		const field = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
		if (e.key === "Escape" && field) { document.activeElement.blur(); return; }
		if (e.ctrlKey || e.altKey || e.metaKey || field || help.open) return;
		const k = e.key;
		if (k === "j") move(1);
		else if (k === "k") move(-1);
		else if (k === "n") go(body.dataset.next);
		else if (k === "p") go(body.dataset.prev);
		else if (k === "u") go(body.dataset.up);
		else if (k === "?") help.showModal();
		else if (k === "/") {
			const field = document.querySelector("[data-search]");
			if (field) { field.focus(); field.select(); } else if (body.dataset.find) go(body.dataset.find); else return;
		} else return;
		e.preventDefault();
	});

	// A deep link to an event: its page, if it is on another one, and what is folded there.
	const reveal = () => {
		const at = /^#event-(\d+)$/.exec(location.hash);
		if (!at) return;
		const event = document.getElementById(location.hash.slice(1));
		if (event) {
			const folded = event.closest(".ev")?.querySelector("details");
			if (folded) folded.open = true;
			event.scrollIntoView({ block: "nearest" });
		} else if (document.querySelector(".ev-list") && new URLSearchParams(location.search).get("at") !== at[1]) {
			location.replace("?at=" + at[1] + location.hash);
		}
	};
	addEventListener("hashchange", reveal);
	reveal();

	// Following: when the server says that something changed, the parts that carry data-fresh are replaced by those of
	// the page as it is now: line by line, so that the place, the focus and what is open stay.
	if (!body.dataset.live) return;
	const said = document.getElementById("live");
	const renew = (old, now) => {
		if (old.isEqualNode(now)) return;
		const before = [...old.children], after = [...now.children];
		const lines = after.length > 0 && after.every(e => e.id) && before.every(e => e.id);
		if (!lines) {
			const at = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
			old.replaceChildren(...now.childNodes);
			if (at) [...old.querySelectorAll("a")].find(a => a.getAttribute("href") === at)?.focus({ preventScroll: true });
			return;
		}
		const known = new Map(before.map(e => [e.id, e]));
		after.forEach((e, i) => {
			const have = known.get(e.id);
			known.delete(e.id);
			if (!have) { old.insertBefore(e, old.children[i] || null); return; }
			if (old.children[i] !== have) old.insertBefore(have, old.children[i] || null);
			const copy = have.cloneNode(true);
			copy.classList.remove("at");
			if (!copy.getAttribute("class")) copy.removeAttribute("class");
			if (copy.isEqualNode(e)) return;
			const at = have.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
			have.replaceChildren(...e.childNodes);
			if (at) [...have.querySelectorAll("a")].find(a => a.getAttribute("href") === at)?.focus({ preventScroll: true });
		});
		known.forEach(e => e.remove());
	};
	let stamp = body.dataset.stamp;
	const look = async () => {
		try {
			const answer = await fetch(body.dataset.live, { cache: "no-store" });
			const state = await answer.json();
			if (state.stamp !== stamp) {
				const page = await (await fetch(location.pathname + location.search, { cache: "no-store" })).text();
				const now = new DOMParser().parseFromString(page, "text/html");
				document.querySelectorAll("[data-fresh]").forEach(old => {
					const e = now.getElementById(old.id);
					if (e) renew(old, e);
				});
				["next", "prev"].forEach(d => { if (now.body.dataset[d]) body.dataset[d] = now.body.dataset[d]; });
				stamp = now.body.dataset.stamp || state.stamp;
				if (!now.body.dataset.live) { said.textContent = "complete"; return; }
			}
			said.textContent = "following";
		} catch {
			said.textContent = "stint view has ended";
		}
		setTimeout(look, 2000);
	};
	setTimeout(look, 2000);
})();
