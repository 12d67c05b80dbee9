package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// A coded run has one episode of two turns whose attempts wrote code and logs: the second failed, and its verdict rests
// on a line of the log and on a check.
type codedRun struct {
	dir     *logs.RunDir
	id      string
	blob    string // file of the second turn's log
	at      int64  // where in it the line is
	journal string
}

const (
	tooLong   = "the conversation could not be summarised \u202eevil"
	hostileAs = "a<b>\u202e.py" // name of a file
)

func workspace(t *testing.T, blobs *logs.Blobs, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if target, ok := strings.CutPrefix(text, "link to "); ok {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := logs.TakeSnapshot(blobs, dir, logs.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Tree
}

// trajectory is a log of lines, and the offset of the one that says words.
func trajectory(lines []map[string]any, words string) (log string, at int64) {
	for _, l := range lines {
		b, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		if l["text"] == words {
			at = int64(len(log))
		}
		log += string(b) + "\n"
	}
	return log, at
}

func codeLines(n int, change map[int]string) string {
	var b strings.Builder
	for i := range n {
		line, ok := change[i]
		if !ok {
			line = fmt.Sprintf("line = %d", i)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func playCoded(t *testing.T) *codedRun {
	t.Helper()
	r := &codedRun{dir: playedRun(t)}
	p := play(t, r.dir, "m+h/none/r0", "s01", 3)
	r.id = p.id
	r.journal = path.Join("episodes", r.id, logs.JournalName)
	blobs, err := logs.OpenBlobs(filepath.Join(r.dir.EpisodeDir(r.id), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) string {
		t.Helper()
		sha, err := blobs.Put([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return sha
	}
	huge := strings.Repeat("a line of a large file\n", 60_000)
	trees := []string{
		workspace(t, blobs, map[string]string{"server.py": codeLines(60, nil), "data.bin": "a\x00b", "huge.txt": huge, "gone.py": "x = 1\n", "link": "link to server.py"}),
		workspace(t, blobs, map[string]string{"server.py": codeLines(60, map[int]string{30: "line = 'thirty'", 50: "<script>alert(1)</script>\x1b[0m"}), "data.bin": "a\x00c", "huge.txt": "first\n" + huge,
			hostileAs: "print(1)\n" + strings.Repeat("w", 5000), "link": "link to /etc/passwd"}),
	}
	for n, tree := range trees {
		last := map[string]any{"actor": "model", "kind": "message", "text": "All done."}
		if n == 1 {
			last = map[string]any{"actor": "harness", "kind": "error", "text": tooLong}
		}
		log, at := trajectory([]map[string]any{
			{"actor": "harness", "kind": "message", "text": fmt.Sprintf("Change number %d.", n)},
			{"actor": "model", "kind": "tool_call", "tool": "bash", "call_id": "1", "text": `{"command":"pytest -q"}`},
			{"actor": "tool", "kind": "tool_result", "tool": "bash", "call_id": "1", "text": "2 failed", "exit": 1},
			{"actor": "model", "kind": "message", "text": "What went before was summarised."},
			last,
		}, tooLong)
		sha := put(log)
		if n == 1 {
			r.blob, r.at = path.Join("episodes", r.id, "blobs", sha[:2], sha[2:]+".zst"), at
		}
		p.add(logs.TypeTurnStart, n, false, logs.TurnStart{Operation: "set_range:1", Name: "set_range", Label: "T", Suite: logs.SuiteRef{SHA: put("suite"), Checks: 10}, ChangeSHA: put("Change it."), SpecSHA: put("spec")})
		p.add(logs.TypeAttemptStart, n, true, logs.AttemptStart{Kind: "first", PromptSHA: put("prompt")})
		p.add(logs.TypeAgentExit, n, true, logs.AgentExit{Exit: ptr(n), By: "self", Completion: "clean", AgentS: 1.5, Log: logs.LogRef{Reader: "simulated", Blob: sha}})
		p.add(logs.TypeSnapshot, n, true, logs.SnapshotTaken{Tree: tree, Files: 3})
		if n == 1 {
			p.add(logs.TypeCheckFail, n, true, logs.CheckFail{Check: "k1.below", Clauses: []string{"c0"}, Category: "validation", Intent: "reject", Status: "fail", Age: "old",
				Request: "POST /things <img src=x>", Expected: `400; code = "range"`, Actual: "201; {}"})
		}
		passed := n == 0
		p.add(logs.TypeSuiteEnd, n, true, logs.SuiteEnd{Checks: 10, Runs: 1})
		p.add(logs.TypeGradeEnd, n, true, logs.GradeEnd{Passed: &passed, Reason: map[bool]string{true: "passed", false: "checks"}[passed], GradeS: 0.5})
		p.add(logs.TypeTurnEnd, n, false, logs.TurnEnd{Passed: passed, AttemptsUsed: 1})
	}
	p.finish("failed", 1)
	if err := os.WriteFile(filepath.Join(r.dir.EpisodeDir(r.id), "truth"), []byte("SEALED"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.verdict(t)
	return r
}

// verdict writes down that the attempt failed for its line and its check.
func (r *codedRun) verdict(t *testing.T) {
	t.Helper()
	tables, _, err := logs.ReadEpisode(r.dir, r.id)
	if err != nil || len(tables.Checks) != 1 {
		t.Fatal(len(tables.Checks), err)
	}
	c := tables.Checks[0]
	evidence, err := json.Marshal([]classify.Evidence{{File: r.blob, Offset: r.at, Length: 80, What: "event error"}, {File: c.File, Offset: c.Offset, Length: c.Length, What: "check k1.below"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.dir.VerdictsDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := logs.WriteVerdicts(filepath.Join(r.dir.VerdictsDir(), "rules.jsonl"), []logs.VerdictRow{{Episode: r.id, Turn: 1, Attempt: 0, AnnotatorKind: logs.AnnotatorRule, Annotator: "rules-1", Taxonomy: "stint/1",
		L1: "infra", Leaf: ptr("infra.compaction"), Strength: logs.StrengthProved, Evidence: logs.JSONText(evidence)}}); err != nil {
		t.Fatal(err)
	}
}

// TestCodedTranscript reads the transcript of an attempt from its journal, and from tables.
func TestCodedTranscript(t *testing.T) {
	r := playCoded(t)
	v := serve(t, r.dir.Root)
	a := "/run/e/" + r.id + "/t/1/a/0"
	for _, from := range []string{"journal", "tables"} {
		if from == "tables" {
			if _, _, err := logs.IngestRun(r.dir, r.dir.TablesDir(), logs.IngestOptions{}); err != nil {
				t.Fatal(err)
			}
			if !r.dir.Fresh() {
				t.Fatal("the tables are not fresh")
			}
		}
		page := v.page(a + "/transcript")
		inert(t, from, page)
		for _, want := range []string{
			`<summary><b>bash</b> <code>pytest -q</code> <span class="ev-end">exit 1</span></summary>`, ">2 failed</pre>", "<b>model</b>", "8 events",
			`class="ev of-error ev-bad ev-hit infra" id="event-4"`, `<b>infra.compaction</b> evidence of the verdict about`, `<i class="esc">\u202e</i>evil`,
			`/transcript?at=4#event-4">event error</a> <code>the conversation could not`, a + `#check-k1.below">check k1.below</a>`, "stint: grade",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("from %s: the transcript lacks %q:\n%s", from, want, page)
			}
		}
		code, _, header := v.ask(fmt.Sprintf("%s/line?file=%s&offset=%d", a, query(r.blob), r.at), nil)
		if code != 303 || header.Get("Location") != a+"/transcript?at=4#event-4" {
			t.Errorf("from %s: the line of the evidence: %d %v", from, code, header)
		}
		before := "/run/e/" + r.id + "/t/0/a/0"
		code, _, header = v.ask(fmt.Sprintf("%s/line?file=%s&offset=%d", before, query(r.blob), r.at), nil)
		if code != 303 || header.Get("Location") != a+"/transcript?at=4#event-4" {
			t.Errorf("from %s: the line of another attempt: %d %v", from, code, header)
		}
		found := v.page("/run/e/" + r.id + "/search?q=SUMMARISED")
		if n := strings.Count(found, "/transcript?at="); n != 3 {
			t.Errorf("from %s: %d lines found, want 3:\n%s", from, n, found)
		}
		if found = v.page("/run/e/" + r.id + "/search?q=" + query("<img")); !strings.Contains(found, "#check-k1.below") || !strings.Contains(found, "<mark>&lt;img</mark> src=x") {
			t.Errorf("from %s: the check is not found:\n%s", from, found)
		}
		raw := v.page(fmt.Sprintf("%s/raw?file=%s&offset=%d&length=0", a, query(r.blob), r.at))
		inert(t, "raw", raw)
		if !strings.Contains(raw, "the bytes have the hash that the row has") || !strings.Contains(raw, "<i class=\"esc\">\\u202e</i>evil") {
			t.Errorf("from %s: the bytes:\n%s", from, raw)
		}
	}
	for _, file := range []string{"episodes/" + r.id + "/truth", "study.yaml", "../../etc/passwd", r.journal + "/../truth"} {
		page := v.page(a + "/raw?offset=0&length=6&file=" + query(file))
		if !strings.Contains(page, "none of the files that rows of a run point into") || strings.Contains(page, "SEALED") {
			t.Errorf("%s is shown:\n%s", file, page)
		}
	}
	if page := v.page(a + "/raw?offset=0&length=20&file=" + query(r.journal)); !strings.Contains(page, "episode.start") {
		t.Errorf("the journal is not shown:\n%s", page)
	}
}

// TestDiffPage shows what the second turn changed.
func TestDiffPage(t *testing.T) {
	r := playCoded(t)
	v := serve(t, r.dir.Root)
	a := "/run/e/" + r.id + "/t/1/a/0"
	page := v.page(a + "/diff")
	inert(t, "diff", page)
	for _, want := range []string{
		"Compared with the end of turn 0", "6 files.", `a&lt;b&gt;\u202e.py`, "binary: 3 bytes → 3 bytes", "of either are compared", "link to <mark>/etc/passwd</mark>", "deleted, +0 −1", "new, +2 −0",
		`<tr class="df-deleted"><td class="df-n">31</td><td class="df-n"></td><td class="df-op" aria-label="deleted">−</td><td class="df-text">line = <mark>30</mark></td></tr>`,
		`<tr class="df-added"><td class="df-n"></td><td class="df-n">31</td><td class="df-op" aria-label="added">&#43;</td><td class="df-text">line = <mark>&#39;thirty&#39;</mark></td></tr>`,
		"&lt;script&gt;alert(1)&lt;/script&gt;<i class=\"esc\">\\x1b</i>[0m", " 3000 bytes more",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the changes lack %q:\n%.20000s", want, page)
		}
	}
	if n := strings.Count(page, `class="df-next"`); n != 1 {
		t.Errorf("%d places are apart from the one before, want 1", n)
	}
	if again := v.page("/run/e/" + r.id + "/t/1/diff"); again[strings.Index(again, "<section"):] != page[strings.Index(page, "<section"):] {
		t.Error("the changes of the turn are not those of its last attempt")
	}
	first := v.page("/run/e/" + r.id + "/t/0/a/0/diff")
	if !strings.Contains(first, "an empty folder") || !strings.Contains(first, "more lines changed") {
		t.Errorf("the first turn:\n%.3000s", first)
	}
	alone := v.page("/run/e/" + r.id + "/t/0/a/0/diff?file=huge.txt")
	if n := strings.Count(alone, `class="df-added"`); n != diffAlone {
		t.Errorf("%d lines of the file alone, want %d", n, diffAlone)
	}
	if page := v.page(a + "/diff?file=nothing"); !strings.Contains(page, "none of those that changed") {
		t.Errorf("a file that did not change:\n%s", page)
	}
	if err := os.RemoveAll(filepath.Join(r.dir.EpisodeDir(r.id), "blobs")); err != nil {
		t.Fatal(err)
	}
	if page := v.page(a + "/diff"); !strings.Contains(page, "are not here") {
		t.Errorf("without blobs:\n%s", page)
	}
}

// TestPagesAtOnce asks for pages of the same episode from several windows at once.
func TestPagesAtOnce(t *testing.T) {
	r := playCoded(t)
	v := serve(t, r.dir.Root)
	e := "/run/e/" + r.id
	var g sync.WaitGroup
	for range 4 {
		for _, path := range []string{e + "/t/0/a/0/transcript", e + "/t/1/a/0/transcript", e + "/t/1/a/0/diff", e + "/search?q=a", e + "/t/1/a/0/text?seq=1", fmt.Sprintf("%s/t/1/a/0/raw?file=%s&offset=%d&length=0", e, query(r.blob), r.at)} {
			g.Go(func() {
				if code, text, _ := v.ask(path, nil); code != 200 || !strings.Contains(text, "</html>") {
					t.Errorf("%s: %d\n%s", path, code, text)
				}
			})
		}
	}
	g.Wait()
}

// TestReadAhead reads records of a packed log in order, over the ends of what is read at a time, and one again.
func TestReadAhead(t *testing.T) {
	d := playedRun(t)
	id := "0123456789ab"
	blobs, err := logs.OpenBlobs(filepath.Join(d.EpisodeDir(id), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	content := make([]byte, 2<<20)
	for i := range content {
		content[i] = byte('A' + r.IntN(58))
	}
	sha, err := blobs.Put(content)
	if err != nil {
		t.Fatal(err)
	}
	f, err := logs.RunSources(d).Open(path.Join("episodes", id, "blobs", sha[:2], sha[2:]+".zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var h readAhead
	check := func(at, n int) {
		t.Helper()
		raw, low, err := h.record(f, int64(at), n)
		want := content[at:min(at+n, len(content))]
		if err != nil || !bytes.Equal(raw, want) || string(low) != lowerASCII(string(want)) {
			t.Fatalf("%d bytes at %d: %d and %d bytes (%v)", n, at, len(raw), len(low), err)
		}
	}
	for at := 0; at < len(content); {
		n := 1 + r.IntN(60_000)
		if r.IntN(10) == 0 {
			n *= 15 // longer than what is read at a time
		}
		check(at, n)
		at += n + r.IntN(2)*r.IntN(100_000)
	}
	check(5, 10)
}
