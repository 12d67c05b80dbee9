package view

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/stint-bench/stint/report/reporttest"
)

// TestBrowserReadsLogs goes by mouse and keyboard from a verdict to its line and its bytes, searches, reloads deep links,
// and reads a hostile log: nothing of it acts, every page fits a phone, and no page complains or asks anybody else.
func TestBrowserReadsLogs(t *testing.T) {
	if os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("reads pages in Chromium for seconds: .ci/run does")
	}
	r := playCoded(t)
	v := serve(t, r.dir.Root)
	base := v.server.URL
	a := "/run/e/" + r.id + "/t/1/a/0"
	b := reporttest.Open(t, base+"/"+token+a+"/transcript", ".ev-list", 1200)

	b.Click(".ev-proofs li a")
	b.Wait("the line of the evidence", `location.hash === "#event-4" && document.querySelector("#event-4").matches(".ev-hit:target")`)
	if reporttest.Eval[string](b, `getComputedStyle(document.querySelector("#event-4")).borderLeftColor`) != "rgb(213, 94, 0)" {
		t.Error("the evidence has no bar in the colour of infrastructure")
	}
	b.Click("#event-4 .ev-foot a[href*=raw]")
	b.Wait("the bytes", `document.querySelector("#range").textContent.includes("could not be summarised \\u202eevil")`)
	b.Press("u")
	b.Wait("the attempt", `location.pathname === "`+a+`"`)
	b.Click("a[href$=diff]")
	b.Wait("the changes", `document.querySelectorAll(".df-added").length > 3 && document.querySelectorAll(".df-file").length === 6`)

	b.Go(base+a+"/transcript#event-2", ".ev-list")
	b.Wait("the call that the deep link leads to, opened", `document.querySelector("#event-1 details").open`)
	b.Press("/")
	b.Wait("the field for words, with the focus", `document.activeElement.name === "q"`)
	reporttest.Eval[string](b, `document.activeElement.value = ""`) // the protocol sends the letter of the key apart, which readers' keyboards do not
	b.Press("SUMMARISED", "\r")
	b.Wait("three lines found", `document.querySelectorAll(".sr li").length === 3 && document.querySelectorAll(".sr mark").length === 3`)
	b.Press("j", "\r")
	b.Wait("the line that was found", `location.pathname.endsWith("/transcript") && location.hash === "#event-3" && document.querySelector("#event-3 mark").textContent === "summarised"`)
	b.Press("n")
	b.Wait("the transcript of the next attempt", `location.pathname === "`+a+`/transcript"`)
	readEverywhere(t, b, base, a)
	b.Check(base)
}

// readEverywhere opens every page about a log in a narrow and a wide window, light, dark and on paper.
func readEverywhere(t *testing.T, b *reporttest.Browser, base, a string) {
	t.Helper()
	b.Go(base+a+"/transcript", ".ev-list")
	raw := reporttest.Eval[string](b, `document.querySelector("a[href*='/raw?']").getAttribute("href")`)
	for _, page := range []string{a + "/transcript", a + "/text?seq=1", raw, raw + "&as=hex", a + "/diff", a[:len(a)-len("/t/1/a/0")] + "/search?q=e"} {
		b.Go(base+page, "main h1")
		for _, width := range []int64{390, 1280} {
			for _, look := range [][2]string{{"light", ""}, {"dark", ""}, {"light", "print"}} {
				b.Screen(width, look[0], look[1])
				if got := reporttest.Eval[int64](b, `document.documentElement.scrollWidth`); got > width {
					t.Errorf("%s, %s %s, is %d wide in a window of %d", page, look[0], look[1], got, width)
				}
			}
		}
		if bare := reporttest.Eval[[]string](b, `[...document.querySelectorAll("a, button, input, select, summary, [tabindex='0']")].filter(e => !(e.textContent.trim() || e.ariaLabel || e.title || e.labels && e.labels.length || e.type === "hidden")).map(e => e.outerHTML)`); len(bare) > 0 {
			t.Errorf("%s: controls without a name: %q", page, bare)
		}
		if faint := reporttest.Eval[[]string](b, contrast); len(faint) > 0 {
			t.Errorf("%s: text of too little contrast: %q", page, faint)
		}
	}
	b.Go(base+a+"/transcript", ".ev-list")
	b.Screen(800, "light", "print")
	if n := reporttest.Eval[int64](b, `[...document.querySelectorAll(".ev")].filter(e => e.getBoundingClientRect().height < 15).length`); n > 0 {
		t.Errorf("%d lines of the transcript are missing on paper", n)
	}
	b.Screen(1200, "light", "")
}

// contrast lists texts whose contrast with what is behind them is under 4.5, after the Web Content Accessibility
// Guidelines 2.
const contrast = `(() => {
	const lum = c => { const [r, g, b] = c.match(/[\d.]+/g).map(Number).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c) && c !== "transparent") return c; } return "rgb(255, 255, 255)"; };
	return [...document.querySelectorAll("main *")].filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).filter(e => {
		const a = lum(getComputedStyle(e).color), b = lum(behind(e));
		return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5;
	}).map(e => e.outerHTML.slice(0, 120)).slice(0, 5);
})()`

// TestBrowserHostileLog opens a long hostile log by deep links that name an event of another page.
func TestBrowserHostileLog(t *testing.T) {
	if os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("reads pages in Chromium for seconds: .ci/run does")
	}
	s := hostileSession()
	for i := range 260 {
		s.call(fmt.Sprint("d", i), fmt.Sprintf("step %d", i), "ok")
	}
	dir, _ := s.ingested(t)
	v := serve(t, dir)
	base, a := v.server.URL, attemptOf(t, v)
	b := reporttest.Open(t, base+"/"+token+a+"/transcript", ".ev-list", 1000)
	acted := `document.querySelectorAll("main script, main img, main svg, main iframe, main [onerror], main [onload]").length`
	seen := `document.querySelector(".ev-list").innerText`
	if n := reporttest.Eval[int64](b, acted); n != 0 {
		t.Errorf("%d elements came out of the log", n)
	}
	b.Wait("what is hostile, to be read", seen+`.includes("<script>alert('prompt')</script>") && `+seen+`.includes("\\x1b[2J\\u202egpj.exe\\u200b\\ufeff")`)
	b.Go(base+a+"/transcript#event-500", ".ev-list")
	inView := `(() => { const e = document.getElementById("event-500"); if (!e) return false; const r = e.closest(".ev").getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0 && location.search === "?at=500"; })()`
	b.Wait("the page of the event, at its place", inView)
	b.Do(chromedp.Reload())
	b.Wait("the same after a reload", inView)
	if n := reporttest.Eval[int64](b, acted); n != 0 {
		t.Errorf("%d elements came out of the log", n)
	}
	b.Check(base)
}
