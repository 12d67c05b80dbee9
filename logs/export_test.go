package logs

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exportRun is a run of two configurations, in one of which everything happens, with a secret in what a tool printed
// and with workspaces that have links, a folder called .git and names that must be quoted.
func exportRun(t *testing.T) (*RunDir, *Tables) {
	t.Helper()
	d := newRun(t)
	eventful(t, d, "s01").j.Close()
	p := play(t, d, EpisodeStart{Config: "m+b/none/r0", Model: ModelAsked{Asked: "m"}, Harness: HarnessUsed{Name: "b", Version: "2"}, Feedback: "none", Session: "continue",
		Scenario: ScenarioRef{ID: "s01", Content: "c"}, TurnsMax: 2, Mode: modeFailStop})
	defer p.j.Close()
	log := strings.Join([]string{
		`{"actor":"model","kind":"message","text":"I look around."}`,
		`{"actor":"model","kind":"tool_call","tool":"bash","call_id":"c1","text":"{\"command\":\"env\"}"}`,
		`{"actor":"tool","kind":"tool_result","tool":"bash","call_id":"c1","text":"OPENAI_API_KEY=sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg","exit":3}`,
		`{"actor":"model","kind":"tool_call","tool":"bash","call_id":"c2","text":"no object"}`,
		`{"actor":"harness","kind":"usage","usage":{"in":70,"cached":30,"out":9}}`,
	}, "\n") + "\n"
	blob := p.put(log)
	for turn := range 2 {
		p.turn = turn
		p.begin(turn)
		p.add(TypeAttemptStart, AttemptStart{Kind: "first", PromptSHA: p.put(fmt.Sprintf("Please build turn %d of <it>.", turn))})
		p.add(TypeAgentExit, AgentExit{Exit: ptr(0), By: "self", Completion: "clean", Log: LogRef{Reader: simulatedReader, Blob: blob}})
		p.add(TypeUsage, Usage{Via: "reader", In: ptr(int64(70)), Cached: ptr(int64(30)), Out: ptr(int64(9)), USD: ptr(0.5)})
		work := t.TempDir()
		mustWrite(t, filepath.Join(work, "server.py"), fmt.Sprintf("print(%d)\n", turn), 0o644)
		mustWrite(t, filepath.Join(work, "start.sh"), "#!/bin/sh\n", 0o755)
		mustWrite(t, filepath.Join(work, "a \"name\"\n\xff"), "odd\n", 0o644)
		for _, dir := range []string{".GIT/hooks", "sub"} {
			if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		mustWrite(t, filepath.Join(work, ".GIT/hooks/post-checkout"), "#!/bin/sh\ntouch /tmp/owned\n", 0o755)
		mustWrite(t, filepath.Join(work, "sub/x"), "x", 0o644)
		if err := os.Symlink("/etc/passwd", filepath.Join(work, "link")); err != nil {
			t.Fatal(err)
		}
		s, err := TakeSnapshot(p.blobs, work, SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.add(TypeSnapshot, SnapshotTaken{Tree: s.Tree, Files: s.Files, Bytes: s.Bytes})
		if turn == 1 {
			p.add(TypeCheckFail, CheckFail{Check: "k1", Status: "fail", Request: "GET /x", Expected: "200", Actual: "500"})
		}
		p.add(TypeGradeEnd, GradeEnd{Passed: ptr(turn == 0), Reason: map[bool]string{true: "passed", false: "checks"}[turn == 0]})
		p.add(TypeTurnEnd, TurnEnd{Passed: turn == 0, AttemptsUsed: 1})
	}
	p.finish("failed", 1)
	tables, problems, err := ReadRunWith(d, ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Logf("%v", p)
	}
	return d, tables
}

// outcomesOf is what a comparison would take of an episode, and how its attempts went.
func outcomesOf(t *testing.T, tables *Tables) []string {
	t.Helper()
	var out []string
	for i := range tables.Episodes {
		e := &tables.Episodes[i]
		line := fmt.Sprintf("%s %s#%d %d of %d %s %s:", e.Config, e.Scenario, e.Repeat, *e.TurnsPassed, e.TurnsMax, e.Validity, orEmpty(e.EndReason))
		for k := range tables.Attempts {
			if a := &tables.Attempts[k]; a.Episode == e.Episode {
				line += fmt.Sprintf(" %d.%s%s %s passed=%s", a.Turn, show(a.Attempt), orEmpty(a.VoidReason), a.Kind, show(a.Passed))
			}
		}
		out = append(out, line)
	}
	return out
}

func show[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// TestExportsReadBack holds exported trajectories and logs, as the readers of these formats see them, against the run.
func TestExportsReadBack(t *testing.T) {
	d, tables := exportRun(t)
	want := outcomesOf(t, tables)
	for name, write := range map[string]func(context.Context, *RunDir, *Tables, string, ExportOptions) error{"atif": ExportATIF, "inspect": ExportInspect} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "deep", "out")
			if err := write(context.Background(), d, tables, out, ExportOptions{Version: "1"}); err != nil {
				t.Fatal(err)
			}
			again := filepath.Join(t.TempDir(), "out")
			if err := write(context.Background(), d, tables, again, ExportOptions{Version: "1"}); err != nil {
				t.Fatal(err)
			}
			if a, b := contents(t, out), contents(t, again); !cmp.Equal(a, b) {
				t.Error("the same run gave other bytes")
			}
			r, err := Open(ReaderOptions{Text: true}, out)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			dir := t.TempDir()
			if _, err := IngestLogs(context.Background(), r, dir, nil); err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Files() {
				if f.Format != name || f.Bad > 0 {
					t.Errorf("%s is taken for %q, with %d bad records", f.Path, f.Format, f.Bad)
				}
			}
			got, err := ReadTablesWith(dir, ReadOptions{Events: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, outcomesOf(t, got)); diff != "" {
				t.Errorf("outcomes (-run +read back):\n%s", diff)
			}
			said := ""
			for i := range got.Events {
				said += got.Events[i].Kind + " " + got.Events[i].Text + "\n"
			}
			for _, part := range []string{"Please build turn 1 of <it>.", "I look around.", `{"command":"env"}`, "[redacted"} {
				if !strings.Contains(said, part) {
					t.Errorf("%q is not said", part)
				}
			}
			if strings.Contains(said, "sk-proj") {
				t.Error("the secret is in it")
			}
		})
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestExportTables(t *testing.T) {
	_, tables := exportRun(t)
	keep := ExportOptions{Keep: func(e *EpisodeRow) bool { return e.Feedback == "none" }}
	base := t.TempDir()
	for _, format := range []string{"csv", "jsonl", "arrow"} {
		if err := ExportTables(context.Background(), tables, format, filepath.Join(base, format), keep); err != nil {
			t.Fatal(err)
		}
	}
	files := contents(t, filepath.Join(base, "csv"))
	rows, err := csv.NewReader(strings.NewReader(files["episodes.csv"])).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	cell := map[string]string{}
	for i, name := range rows[0] {
		cell[name] = rows[1][i]
	}
	if cell["turns_passed"] != "1" || cell["end_reason"] != "failed" || cell["end_leaf"] != "" {
		t.Errorf("the episode is %v", cell)
	}
	files = contents(t, filepath.Join(base, "jsonl"))
	var e struct {
		TurnsPassed *int    `json:"turns_passed"`
		EndLeaf     *string `json:"end_leaf"`
	}
	if err := json.Unmarshal([]byte(files["episodes.jsonl"]), &e); err != nil || e.TurnsPassed == nil || *e.TurnsPassed != 1 || e.EndLeaf != nil {
		t.Errorf("%+v, %v", e, err)
	}
	if strings.Contains(files["events.jsonl"], "sk-proj") || strings.Count(files["events.jsonl"], "\n") == 0 {
		t.Error("the secret is in the events, or there are none")
	}
	read, err := ReadTablesWith(filepath.Join(base, "arrow"), ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tables.kept(keep.Keep), read); diff != "" {
		t.Errorf("Arrow (-want +got):\n%s", diff)
	}
}

// TestGitHistory lets git read the stream: it knows no other way to say what is in a repository.
func TestGitHistory(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip("needs git")
	}
	d, tables := exportRun(t)
	id := tables.Episodes[0].Episode
	if tables.Episodes[0].Feedback != "none" {
		id = tables.Episodes[1].Episode
	}
	var heads []string
	for range 2 {
		dir := t.TempDir()
		run := func(stdin []byte, args ...string) string {
			t.Helper()
			cmd := exec.Command(git, append([]string{"--git-dir=" + dir}, args...)...)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir)
			cmd.Stdin = bytes.NewReader(stdin)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
			return string(out)
		}
		run(nil, "init", "--quiet", "--bare", "--initial-branch=main")
		var stream bytes.Buffer
		n, err := GitHistory(context.Background(), d, tables, id, &stream)
		if err != nil || n != 2 {
			t.Fatalf("%d commits, %v", n, err)
		}
		run(stream.Bytes(), "fast-import", "--quiet")
		run(nil, "fsck", "--strict")
		heads = append(heads, run(nil, "rev-parse", "main"))
		names := "100644 \"a \\\"name\\\"\\n\\377\"\n120000 link\n100644 server.py\n100755 start.sh\n100644 sub/x\n"
		if got := run(nil, "ls-tree", "-r", "--format=%(objectmode) %(path)", "main"); got != names {
			t.Errorf("files\n%swant\n%s", got, names)
		}
		if got := run(nil, "show", "main:server.py") + run(nil, "show", "turn-0:server.py") + run(nil, "show", "main:link"); got != "print(1)\nprint(0)\n/etc/passwd" {
			t.Errorf("contents %q", got)
		}
		if got := run(nil, "log", "--format=%s%n%b", "main"); !strings.Contains(got, "turn 1, attempt 0: failed (checks), 1 failing checks") || !strings.Contains(got, `left out: ".GIT"`) {
			t.Errorf("messages\n%s", got)
		}
	}
	if heads[0] != heads[1] {
		t.Errorf("two exports, two histories: %q", heads)
	}
}

func TestExportLeavesNothing(t *testing.T) {
	d, tables := exportRun(t)
	parent := t.TempDir()
	out := filepath.Join(parent, "out")
	ctx, cancel := context.WithCancel(context.Background())
	opt := ExportOptions{OnEpisode: func(int, int) { cancel() }}
	if err := ExportATIF(ctx, d, tables, out, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if files := contents(t, parent); len(files) > 0 {
		t.Errorf("there is %v", files)
	}
	mustWrite(t, out, "mine", 0o644)
	if err := ExportInspect(context.Background(), d, tables, out, ExportOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"out": "mine"}, contents(t, parent)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGitNames(t *testing.T) {
	for _, name := range []string{".git", ".GIT", ".git.", ".git ", "git~1", ".g\u200cit", ".git::$INDEX_ALLOCATION"} {
		if !isGitName(name) {
			t.Errorf("%q is let through", name)
		}
	}
	for _, name := range []string{".gitignore", "git", ".github", "x.git"} {
		if isGitName(name) {
			t.Errorf("%q is left out", name)
		}
	}
}
