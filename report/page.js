"use strict";
(() => {
	const text = cell => {
		const part = cell.querySelector(".text, .runs, button") || cell;
		const marks = part.querySelector(".marks");
		const s = part.textContent;
		return (marks ? s.slice(0, s.length - marks.textContent.length) : s).trim();
	};
	const rowsOf = box => [...box.querySelectorAll("tbody tr:not(.inplace)")];
	const closeNotes = box => box.querySelectorAll(".inplace").forEach(r => r.remove());

	// Sorting: the original order is the third state. What is undefined stays at the end.
	document.querySelectorAll(".table").forEach(box => {
		const body = box.querySelector("tbody");
		const original = rowsOf(box);
		const heads = [...box.querySelectorAll("thead tr:last-child th")];
		heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
			closeNotes(box);
			const number = head.classList.contains("number");
			const cycle = number ? ["none", "descending", "ascending"] : ["none", "ascending", "descending"];
			const next = cycle[(cycle.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
			heads.forEach(h => h.setAttribute("aria-sort", h === head ? next : "none"));
			if (next === "none") {
				body.append(...original);
				return;
			}
			const sign = next === "ascending" ? 1 : -1;
			const keyed = original.map((row, i) => {
				const cell = row.cells[column];
				return { row, i, v: cell.dataset.v === undefined ? null : Number(cell.dataset.v), s: text(cell) };
			});
			keyed.sort((a, b) => {
				if (number) {
					if (a.v === null || b.v === null) return (a.v === null) - (b.v === null) || a.i - b.i;
					return sign * (a.v - b.v) || a.i - b.i;
				}
				return sign * a.s.localeCompare(b.s, "en", { numeric: true }) || a.i - b.i;
			});
			body.append(...keyed.map(k => k.row));
		}));
	});

	// Filtering: every word must occur in the row; a link to runs narrows the table of runs further.
	const only = new Map();
	const filter = box => {
		closeNotes(box);
		const input = box.querySelector("input");
		const words = input ? input.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
		const limit = only.get(box);
		let shown = 0, all = 0;
		rowsOf(box).forEach(row => {
			const line = [...row.cells].map(text).join(" ").toLowerCase();
			let keep = words.every(w => line.includes(w));
			if (keep && limit) {
				const keys = (row.dataset.keys || "").split(" ");
				keep = limit.every(group => group.some(key => keys.includes(key)));
			}
			row.classList.toggle("hidden", !keep);
			all++;
			shown += keep;
		});
		box.querySelector(".said").textContent = shown === all ? "" : shown + " of " + all + " rows";
	};
	document.querySelectorAll(".table input").forEach(input => {
		const box = input.closest(".table");
		input.addEventListener("input", () => filter(box));
		input.addEventListener("keydown", e => {
			if (e.key === "Escape") { input.value = ""; filter(box); }
		});
	});
	// A number leads to the runs it stands for. The address then holds which they are, so that it can be kept and sent.
	const runs = document.getElementById("table-episodes");
	const links = [...document.querySelectorAll("a.runs")];
	const showRuns = () => {
		if (!runs) return;
		const given = location.hash.startsWith("#runs=");
		let keys = "";
		try { keys = given ? decodeURIComponent(location.hash.slice(6)) : ""; } catch { /* not an address of this page */ }
		runs.querySelectorAll(".only").forEach(b => b.remove());
		if (!keys) {
			if (only.delete(runs)) filter(runs);
			return;
		}
		only.set(runs, keys.split(" ").filter(Boolean).map(group => group.split("|")));
		const chip = document.createElement("button");
		chip.type = "button";
		chip.className = "only";
		const from = links.find(link => link.dataset.runs === keys);
		chip.textContent = "only " + (from ? from.dataset.label : keys) + " ×";
		chip.title = "show all runs";
		chip.addEventListener("click", () => { history.pushState(null, "", "#table-episodes"); showRuns(); });
		runs.querySelector(".tools").prepend(chip);
		filter(runs);
		const scenario = runs.querySelectorAll("thead tr:last-child th")[1];
		for (let i = 0; keys.includes("|c") && scenario.getAttribute("aria-sort") !== "ascending" && i < 2; i++) {
			scenario.querySelector("button").click(); // the runs of a pair stand side by side
		}
		runs.scrollIntoView();
	};
	links.forEach(link => link.addEventListener("click", event => {
		if (!runs) return;
		event.preventDefault();
		history.pushState(null, "", "#runs=" + encodeURIComponent(link.dataset.runs));
		showRuns();
	}));
	window.addEventListener("popstate", showRuns);
	window.addEventListener("hashchange", showRuns);
	showRuns();

	// Footnotes open below their row; a second click closes them.
	document.querySelectorAll("a.note").forEach(link => link.addEventListener("click", event => {
		const note = document.querySelector(link.getAttribute("href"));
		const row = link.closest("tr");
		if (!note || !row) return;
		event.preventDefault();
		const open = row.nextElementSibling;
		const same = open && open.classList.contains("inplace") && open.dataset.note === link.hash;
		if (open && open.classList.contains("inplace")) open.remove();
		link.setAttribute("aria-expanded", String(!same));
		if (same) return;
		const place = document.createElement("tr");
		place.className = "inplace";
		place.dataset.note = link.hash;
		const cell = place.insertCell();
		cell.colSpan = row.cells.length;
		const p = document.createElement("p");
		p.textContent = note.textContent;
		cell.append(p);
		row.after(place);
	}));

	// Copying what is shown, in the order shown, without footnote marks.
	const latex = s => s.replace(/[\\{}$&#_%^~<>|"−–×αΔ≤≥…·]/g, c => ({
		"\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", "\"": "\\textquotedbl{}",
		"−": "$-$", "–": "--", "×": "$\\times$", "α": "$\\alpha$", "Δ": "$\\Delta$", "≤": "$\\leq$", "≥": "$\\geq$", "…": "\\dots{}", "·": "$\\cdot$",
	}[c] || "\\" + c));
	const markdown = s => s.replace(/[\\`*_{}\[\]#|~<>&$]/g, c => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" }[c] || "\\" + c));
	const formats = {
		tsv: t => [t.head, ...t.rows].map(r => r.map(s => s.replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n") + "\n",
		latex: t => "\\begin{tabular}{" + t.number.map(n => n ? "r" : "l").join("") + "}\n\\toprule\n" +
			t.head.map(latex).join(" & ") + " \\\\\n\\midrule\n" + t.rows.map(r => r.map(latex).join(" & ") + " \\\\\n").join("") + "\\bottomrule\n\\end{tabular}\n",
		markdown: t => "| " + t.head.map(markdown).join(" | ") + " |\n|" + t.number.map(n => n ? " ---: |" : " --- |").join("") + "\n" +
			t.rows.map(r => "| " + r.map(markdown).join(" | ") + " |\n").join(""),
	};
	const put = async s => {
		try {
			await navigator.clipboard.writeText(s);
			return true;
		} catch {
			const area = document.createElement("textarea");
			area.value = s;
			document.body.append(area);
			area.select();
			const ok = document.execCommand("copy");
			area.remove();
			return ok;
		}
	};
	document.querySelectorAll("[data-copy]").forEach(button => button.addEventListener("click", async () => {
		const box = button.closest(".table");
		const heads = [...box.querySelectorAll("thead tr:last-child th")];
		const table = {
			head: heads.map(text),
			number: heads.map(h => h.classList.contains("number")),
			rows: rowsOf(box).filter(r => !r.classList.contains("hidden")).map(r => [...r.cells].map(text)),
		};
		const ok = await put(formats[button.dataset.copy](table));
		box.querySelector(".said").textContent = ok ? table.rows.length + " rows copied" : "the browser does not allow copying";
	}));
})();
