"use strict";
// Everything that comes from a run is put into the page as text, never as markup.
(() => {
  const $ = id => document.getElementById(id);
  const letters = "1234567890aswertyzo";
  const levelKeys = { d: "drift", i: "infra", b: "bench", u: "unknown" };
  let state, person = "", at = -1, item, level = "", label = "", marks = [], shown = 0, next = -1, busy = false;

  const make = (tag, text, cls) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    return e;
  };
  const say = text => { $("said").textContent = text; };
  async function ask(path, body) {
    const r = await fetch(path, body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : undefined);
    const text = await r.text();
    let v;
    try { v = JSON.parse(text); } catch { throw new Error(text); }
    if (!r.ok) throw new Error(v.error);
    return v;
  }
  const guard = f => async (...a) => { try { await f(...a); } catch (e) { say(e.message === "Failed to fetch" ? "stint audit serve has ended; nothing is lost: start it again" : e.message); } };

  async function begin(name) {
    const s = await ask("state" + (name === "" ? "" : "?person=" + encodeURIComponent(name)));
    state = s;
    if (!s.settle && name === "") {
      $("who").hidden = false;
      $("name").value = s.person;
      $("name").focus();
      return;
    }
    person = s.person;
    $("who").hidden = true;
    $("work").hidden = false;
    if (s.settle) $("title").textContent = "What do we settle on?";
    if (s.items.length === 0) { say(s.settle ? "no item is disputed" : "the sample is empty"); return; }
    const open = s.items.findIndex(m => !m.label);
    await show(open < 0 ? 0 : open);
    if (open < 0) say("every item has a label; labels can be changed");
  }

  async function show(i) {
    if (i < 0 || i >= state.items.length) { say(i < 0 ? "this is the first item" : "this was the last item"); return; }
    const v = await ask("item?id=" + encodeURIComponent(state.items[i].item));
    at = i; item = v; marks = []; shown = Date.now();
    const m = state.items[i];
    label = m.label; level = label === "" ? "" : label === "cannot_tell" ? "cannot_tell" : label.split(".")[0];
    $("note").value = m.note;
    $("evidence").replaceChildren(...v.texts.map(t => {
      const d = make("div", undefined, "text");
      d.dataset.id = t.id;
      d.append(make("b", t.id), make("i", t.channel + (t.trusted ? "" : " · the agent may have written this")), make("pre", t.text));
      return d;
    }));
    if (v.omitted.length) $("evidence").append(make("p", "not shown: " + v.omitted.join(", "), "keys"));
    $("evidence").scrollTop = 0;
    $("originals").replaceChildren(...(v.originals || []).map(o => make("div", o.label + (o.note ? " – " + o.note : "") + (o.quotes ? "\n“" + o.quotes + "”" : ""), "original")));
    $("whole").hidden = v.log === 0;
    $("search").value = "";
    $("events").replaceChildren();
    $("more").hidden = true;
    $("found").textContent = v.log + " events";
    next = 0;
    pick();
    say("");
    scrollTo(0, 0);
  }

  function pick() {
    const n = state.items.filter(m => m.label).length;
    $("place").textContent = person + " · item " + (at + 1) + " of " + state.items.length + " · " + n + " labelled · " + state.taxonomy;
    $("bar").firstElementChild.style.width = 100 * n / state.items.length + "%";
    $("bar").setAttribute("aria-valuemax", state.items.length);
    $("bar").setAttribute("aria-valuenow", n);
    const key = (b, k) => b.append(" ", make("kbd", k));
    $("levels").replaceChildren(...Object.entries(levelKeys).map(([k, l]) => {
      const b = make("button", l);
      b.title = state.levels[l] || "";
      b.setAttribute("aria-pressed", level === l);
      b.onclick = () => choose(l, l === "unknown" ? "" : l);
      key(b, k);
      return b;
    }));
    const c = make("button", "cannot tell");
    c.setAttribute("aria-pressed", level === "cannot_tell");
    c.onclick = () => choose("cannot_tell", "cannot_tell");
    key(c, "c");
    $("levels").append(c);
    $("leaves").replaceChildren(...state.leaves.filter(l => l.level === level).map((l, i) => {
      const b = make("button", l.title);
      b.dataset.leaf = l.id;
      b.setAttribute("aria-pressed", label === l.id);
      b.onclick = () => choose(level, l.id);
      key(b, letters[i] || "");
      b.append(make("small", l.definition));
      if (label === l.id) b.append(make("small", "Includes: " + l.includes), make("small", "Not: " + l.excludes), make("small", "Sign: " + l.signature), make("small", "Example: " + l.example));
      return b;
    }));
    $("marks").replaceChildren(...marks.map(m => make("li", m.id + ": " + m.quote)));
  }

  function choose(l, id) { level = l; label = id; pick(); }

  const save = guard(async () => {
    if (busy || !item) return;
    if (label === "") { say("choose a level and a label first, or c for cannot tell"); return; }
    busy = true;
    try {
      const r = await ask("label", { person, item: item.item, label, quotes: marks, note: $("note").value, seconds: (Date.now() - shown) / 1000 });
      state.items[at].label = label;
      state.items[at].note = $("note").value;
      const last = at + 1 === state.items.length;
      if (last) pick(); else await show(at + 1);
      say((last ? "saved; this was the last item" : "saved") + (r.revision > 1 ? " (revision " + r.revision + ")" : ""));
    } finally { busy = false; }
  });

  function mark() {
    const s = getSelection(), quote = s.toString().trim();
    const of = n => n && (n.nodeType === 1 ? n : n.parentElement).closest(".text");
    const from = of(s.anchorNode), to = of(s.focusNode);
    if (!quote || !from || from !== to) { say("select a passage of one piece of evidence, then m"); return; }
    marks.push({ id: from.dataset.id, quote });
    pick();
    say("marked");
  }

  const search = guard(async more => {
    if (!item || item.log === 0) return;
    const l = await ask("log?id=" + encodeURIComponent(item.item) + "&q=" + encodeURIComponent($("search").value) + "&from=" + (more ? next : 0));
    const rows = l.events.map(e => {
      const d = make("div", undefined, "event");
      d.append(make("b", "e" + e.seq), make("i", [e.channel, e.kind, e.tool].filter(Boolean).join(" · ")), make("pre", e.text));
      return d;
    });
    if (more) $("events").append(...rows); else $("events").replaceChildren(...rows);
    next = l.next;
    $("more").hidden = next < 0;
    $("found").textContent = l.found + " of " + item.log + " events";
  });

  $("who").onsubmit = guard(async e => { e.preventDefault(); await begin($("name").value.trim()); });
  $("save").onclick = save;
  $("back").onclick = guard(() => show(at - 1));
  $("next").onclick = guard(() => show(at + 1));
  $("more").onclick = () => search(true);
  $("search").onkeydown = e => { if (e.key === "Enter") { e.preventDefault(); e.stopPropagation(); search(false); } };
  $("note").onkeydown = e => { if (e.key === "Enter") { e.preventDefault(); e.stopPropagation(); save(); } };
  addEventListener("keydown", e => {
    if (e.key === "Escape") { document.activeElement.blur(); return; }
    if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName) || $("work").hidden || !item) return;
    if (e.key === "Enter" && document.activeElement.tagName === "BUTTON") return;
    const leaf = state.leaves.filter(l => l.level === level)[letters.indexOf(e.key)];
    const k = e.key;
    if (k === "Enter") save();
    else if (levelKeys[k]) choose(levelKeys[k], k === "u" ? "" : levelKeys[k]);
    else if (k === "c") choose("cannot_tell", "cannot_tell");
    else if (k === "m") mark();
    else if (k === "x") { marks.pop(); pick(); }
    else if (k === "n") $("note").focus();
    else if (k === "/") { $("search").focus(); search(false); }
    else if (k === "j" || k === "ArrowRight") guard(show)(at + 1);
    else if (k === "k" || k === "ArrowLeft") guard(show)(at - 1);
    else if (leaf) choose(level, leaf.id);
    else return;
    e.preventDefault();
  });
  guard(begin)("");
})();
