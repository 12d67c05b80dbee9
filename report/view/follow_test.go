package view

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report/reporttest"
)

// TestFollows watches a run from its first record to its end: what changed is read again, what did not is not.
func TestFollows(t *testing.T) {
	d := playedRun(t)
	v := serve(t, d.Root)
	stamp := func(path string) string {
		t.Helper()
		var state struct{ Stamp string }
		if err := json.Unmarshal([]byte(v.page(path)), &state); err != nil || state.Stamp == "" {
			t.Fatalf("%s: %v", path, err)
		}
		return state.Stamp
	}
	empty := stamp("/run/state")
	if text := v.page("/run/"); !strings.Contains(text, "0 episodes") {
		t.Errorf("a study that has not begun:\n%s", text)
	}
	p := play(t, d, "m+h/none/r0", "s01", 4)
	p.take(0)
	if stamp("/run/state") == empty {
		t.Error("a new episode changes nothing")
	}
	study, episode := v.page("/run/"), v.page("/run/e/"+p.id)
	for _, want := range []string{`data-live="/run/state"`, `>1<i aria-hidden="true">…</i>`, "1 not over", "1 turn passed so far"} {
		if !strings.Contains(study, want) {
			t.Errorf("the study lacks %q:\n%s", want, study)
		}
	}
	if !strings.Contains(episode, `data-live="/run/e/`+p.id+`/state" data-stamp="`+stamp("/run/e/"+p.id+"/state")+`"`) || !strings.Contains(episode, "1 turn so far") {
		t.Errorf("the episode does not follow:\n%s", episode)
	}
	before := stamp("/run/e/" + p.id + "/state")
	p.take(2)
	p.finish("failed", 1)
	if stamp("/run/e/"+p.id+"/state") == before {
		t.Error("more turns change nothing")
	}
	if text := v.page("/run/e/" + p.id); !strings.Contains(text, "1 of 4 turns passed") || !strings.Contains(text, `href="/run/e/`+p.id+`/t/1/a/0">why`) || strings.Contains(text, "data-live") {
		t.Errorf("the end:\n%s", text)
	}
	text := v.decided("/run/e/" + p.id + "/t/1/a/0")
	for _, want := range []string{"How this was decided", "is there a trustworthy result of grading?", "2 failing checks", "<mark>400</mark>; "} {
		if !strings.Contains(text, want) {
			t.Errorf("the attempt lacks %q:\n%s", want, text)
		}
	}
}

// decided asks for the page of an attempt until the way to its verdict is there.
func (v *served) decided(path string) string {
	v.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text := v.page(path)
		if !strings.Contains(text, "being worked out") {
			return text
		}
		if !strings.Contains(text, waiting) || time.Now().After(deadline) {
			v.t.Fatalf("%s: the way to the verdict does not come:\n%s", path, text)
		}
	}
}

// quick asks for a page three times and holds the best to a limit: what else the machine does is not the page's fault.
func (v *served) quick(path string, limit time.Duration) {
	v.t.Helper()
	best, size := time.Hour, 0
	for range 3 {
		began := time.Now()
		size = len(v.page(path))
		best = min(best, time.Since(began))
	}
	v.t.Logf("%7d bytes in %6.1f ms: %s", size, float64(best.Microseconds())/1000, path)
	if best > limit {
		v.t.Errorf("%s took %v, want at most %v", path, best, limit)
	}
}

// TestFullSize holds every page of 26 configurations on 20 scenarios of 101 turns under a fifth of a second once the
// study was opened. The whole size is tried where STINT_REQUIRE is set.
func TestFullSize(t *testing.T) {
	configs, scenarios, turns, limit := 26, 20, 101, 200*time.Millisecond
	if os.Getenv("STINT_REQUIRE") == "" {
		configs, scenarios, turns, limit = 3, 2, 5, time.Minute // what takes longer under load says nothing
	}
	d := playedRun(t)
	var last *played
	for c := range configs {
		for s := range scenarios {
			last = play(t, d, fmt.Sprintf("m%d+h/minimal/r0", c), fmt.Sprintf("s%02d", s), turns)
			for range (c*7+s*11)%turns + 1 {
				last.take(0)
			}
			if last.turn < turns {
				last.take(20)
				last.finish("failed", last.turn-1)
			} else {
				last.finish("capped", turns)
			}
		}
	}
	v := serve(t, d.Root)
	began := time.Now()
	v.page("/run/")
	t.Logf("opened in %v from journals", time.Since(began).Round(time.Millisecond))
	if _, _, err := logs.IngestRun(d, d.TablesDir(), logs.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	v = serve(t, d.Root)
	began = time.Now()
	v.page("/run/")
	if took := time.Since(began); took > 5*limit {
		t.Errorf("opened in %v from tables, want at most %v", took, 5*limit)
	} else {
		t.Logf("opened in %v from tables", took.Round(time.Millisecond))
	}
	at := fmt.Sprintf("/run/e/%s/t/%d", last.id, last.turn-1)
	for _, path := range []string{"/run/", "/run/?filter=failed&sort=-turns", "/run/state", "/run/e/" + last.id, at, at + "/a/0",
		"/run/compare?scenario=s00&a=m0%2Bh%2Fminimal%2Fr0&b=m1%2Bh%2Fminimal%2Fr0"} {
		v.quick(path, limit)
	}
}

// TestBrowserFollows reads a page of a running study by keyboard while it grows: the new turn appears, and the focus
// and what is marked stay.
func TestBrowserFollows(t *testing.T) {
	if os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("follows a page for seconds: .ci/run does")
	}
	d := playedRun(t)
	p := play(t, d, "m+h/none/r0", hostile+strings.Repeat("x", 300), 30)
	play(t, d, strings.Repeat("y", 300), hostile+strings.Repeat("x", 300), 30).take(1)
	for range 20 {
		p.take(0)
	}
	v := serve(t, d.Root)
	base := v.server.URL
	b := reporttest.Open(t, base+"/"+token+"/run/e/"+p.id, "#turns", 1200)
	b.Press("j", "j", "j")
	focus := reporttest.Eval[string](b, `document.activeElement.getAttribute("href")`)
	if focus != "/run/e/"+p.id+"/t/2" {
		t.Errorf("after j three times the focus is on %q", focus)
	}
	p.take(0)
	p.take(1)
	b.Wait("the new turns", `document.querySelectorAll("#turns > tr").length === 22`)
	if got := reporttest.Eval[string](b, `document.activeElement.getAttribute("href")`); got != focus {
		t.Errorf("the focus went to %q", got)
	}
	p.finish("failed", 21)
	b.Wait("the end", `document.querySelector("#live").textContent === "complete" && document.querySelector("#ended").textContent.includes("21 of 30")`)
	if got := reporttest.Eval[string](b, `document.activeElement.getAttribute("href")`); got != focus {
		t.Errorf("at the end the focus went to %q", got)
	}
	b.Press("\r")
	b.Wait("the turn", `document.querySelector("h1").textContent === "Turn 2"`)
	b.Press("n")
	b.Wait("the next turn", `document.querySelector("h1").textContent === "Turn 3"`)
	b.Press("u")
	b.Wait("the episode", `location.pathname === "/run/e/`+p.id+`"`)
	b.Press("?")
	b.Wait("the keys", `document.querySelector("#help").open`)
	b.Press("\x1b")
	b.Press("u")
	b.Wait("the study", `location.pathname === "/run/"`)
	b.Press("/")
	b.Wait("the field", `document.activeElement.name === "filter"`)
	b.Press("nothing of that kind", "\r")
	b.Wait("the filtered list", `document.querySelector("#found").textContent === "0 episodes"`)
	for _, page := range []string{"/run/", "/run/e/" + p.id, "/run/e/" + p.id + "/t/21/a/0"} {
		b.Go(base+page, "main h1")
		for _, width := range []int64{390, 1280} {
			b.Screen(width, "dark", "")
			if got := reporttest.Eval[int64](b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s is %d wide in a window of %d", page, got, width)
			}
		}
		if faint := reporttest.Eval[[]string](b, contrast); len(faint) > 0 {
			t.Errorf("%s: text of too little contrast: %q", page, faint)
		}
		if bare := reporttest.Eval[[]string](b, `[...document.querySelectorAll("a, button, input, select, summary")].filter(e => !(e.textContent.trim() || e.ariaLabel || e.title || e.labels && e.labels.length || e.type === "hidden")).map(e => e.outerHTML)`); len(bare) > 0 {
			t.Errorf("%s: controls without a name: %q", page, bare)
		}
	}
	b.Check(base)
}

// TestLongLog opens every page of a log with a very long attempt among many short ones: none waits for the rules, whose
// answer comes when it is there. 10⁵ events are tried where STINT_REQUIRE is set.
func TestLongLog(t *testing.T) {
	events, limit := 100_000, 200*time.Millisecond
	if os.Getenv("STINT_REQUIRE") == "" {
		events, limit = 2000, time.Minute
	}
	tables := &logs.Tables{}
	const many = 50
	id := func(n int) string { return fmt.Sprintf("%012x", n*7919) }
	for n := range many {
		tables.Episodes = append(tables.Episodes, logs.EpisodeRow{Episode: id(n), Config: "m+h", Scenario: fmt.Sprintf("task-%d", n), Repeat: 1, TurnsMax: 1, TurnsPassed: ptr(0), Validity: logs.ValidityValid, EndReason: ptr("failed")})
		tables.Turns = append(tables.Turns, logs.TurnRow{Episode: id(n), Passed: ptr(false), AttemptsUsed: ptr(1)})
		tables.Attempts = append(tables.Attempts, logs.AttemptRow{Episode: id(n), Attempt: ptr(0), Passed: ptr(false), Kind: "first"})
		length := 100
		if n == many/2 {
			length = events
		}
		for i := range length {
			tables.Events = append(tables.Events, logs.EventRow{Episode: id(n), Attempt: ptr(0), Seq: i, Via: logs.ViaReader, Channel: logs.ChannelTool, Kind: logs.EventToolResult, Text: fmt.Sprintf("line %d of what a command said", i)})
		}
	}
	dir := filepath.Join(t.TempDir(), "tables")
	if err := logs.WriteTables(dir, tables); err != nil {
		t.Fatal(err)
	}
	v := serve(t, dir)
	v.page("/tables/")
	at := "/tables/e/" + id(many/2) + "/t/0/a/0"
	for _, path := range []string{"/tables/", "/tables/e/" + id(many/2), at, "/tables/e/" + id(1) + "/t/0/a/0"} {
		v.quick(path, limit)
	}
	if text := v.decided(at); !strings.Contains(text, "is there a trustworthy result of grading?") {
		t.Errorf("the way to the verdict does not come:\n%s", text)
	}
	if text := v.page(at + "/state"); strings.Contains(text, waiting) {
		t.Errorf("the state still waits: %s", text)
	}
}

// TestBannerOfJudges: ends that a judge decided, whom no audit validated, stand under a banner.
func TestBannerOfJudges(t *testing.T) {
	d := playedRun(t)
	p := play(t, d, "m+h/none/r0", "s01", 2)
	p.take(1)
	p.finish("failed", 0)
	v := serve(t, d.Root)
	const banner = "NOT VALIDATED"
	if text := v.page("/run/"); strings.Contains(text, banner) || !strings.Contains(text, "There are no verdicts yet") {
		t.Errorf("before any verdict:\n%s", text)
	}
	row := logs.VerdictRow{Episode: p.id, AnnotatorKind: logs.AnnotatorJudge, Annotator: "reader", Taxonomy: classify.Codebook().Name, L1: "drift", Leaf: ptr("drift.too_lax"), Strength: logs.StrengthStrong}
	if err := os.MkdirAll(d.VerdictsDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := logs.WriteVerdicts(filepath.Join(d.VerdictsDir(), judgeFile), []logs.VerdictRow{row}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/run/", "/run/e/" + p.id} {
		if text := v.page(path); !strings.Contains(text, banner) || !strings.Contains(text, "drift.too_lax") {
			t.Errorf("%s has no banner beside what the judge decided:\n%s", path, text)
		}
	}
	if text := v.decided("/run/e/" + p.id + "/t/0/a/0"); !strings.Contains(text, "Who said what") || !strings.Contains(text, "<code>reader</code>") {
		t.Errorf("the attempt does not say who said what:\n%s", text)
	}
}
