package logs

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every file of the fixtures is recognised by its content, and by one format only.
func TestRecogniseRunners(t *testing.T) {
	t.Parallel()
	root := filepath.Join("testdata", "runner")
	n := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(p) == "README" || strings.HasSuffix(p, ".golden") {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		h := newHead(filepath.ToSlash(rel), data[:min(len(data), headBytes)], len(data) <= headBytes)
		var claimed []string
		for _, f := range Formats() {
			if _, ok := f.recognise(h); ok {
				claimed = append(claimed, f.Name)
			}
		}
		told := strings.HasSuffix(p, ".txt") || strings.HasSuffix(p, "trial.log") // known by the log that they belong to
		if len(claimed) > 1 || len(claimed) == 0 && !told {
			t.Errorf("%s: taken for %v", p, claimed)
		}
		n++
		return nil
	})
	if err != nil || n < 40 {
		t.Fatalf("%d files, %v", n, err)
	}
}

// evalLog packs members, given as name, content, name, content, …
func evalLog(t *testing.T, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	inspectStart  = `{"version":2,"eval":{"task":"sums","model":"m","created":"2026-11-29T12:00:00Z","packages":{"inspect_ai":"0.3"}},"plan":{}}`
	inspectSum    = `{"id":"a","epoch":1,"input":"1+1?","target":"2","scores":{"exact":{"value":"C"}},"events":[],"messages":[]}`
	inspectNumber = `{"id":"b","epoch":2,"input":"1+1?","target":"2","total_time":2.5,"scores":{"exact":{"value":NaN,"answer":"NaN \"Infinity\""}},"events":[{"event":"state","x":-Infinity},{"event":"model","model":"m","output":{"choices":[{"message":{"role":"assistant","content":"Infinity"},"stop_reason":"stop"}],"usage":{"input_tokens":3,"output_tokens":1}}}]}`
)

func rowsOf(records []LogRecord) (episodes []EpisodeRow, events []EventRow, problems []Problem) {
	for _, r := range records {
		switch {
		case r.Episode != nil:
			episodes = append(episodes, *r.Episode)
		case r.Event != nil:
			events = append(events, *r.Event)
		case r.Problem != nil:
			problems = append(problems, *r.Problem)
		}
	}
	return episodes, events, problems
}

// An archive gives every sample that can be read, and tells every one that cannot.
func TestInspectArchives(t *testing.T) {
	t.Parallel()
	whole := evalLog(t, "_journal/start.json", inspectStart, "samples/a_epoch_1.json", inspectSum, "samples/b_epoch_2.json", inspectNumber)
	bomb := `{"id":"c","epoch":1,"input":"` + strings.Repeat("a", maxForeignDocument) + `"}`
	for _, c := range []struct {
		name     string
		data     []byte
		episodes int
		problem  string
	}{
		{"unfinished: the journal has the header", whole, 2, ""},
		{"torn", whole[:len(whole)*2/3], 0, "it was cut, or is still being written"},
		{"a bomb", evalLog(t, "_journal/start.json", inspectStart, "samples/a_epoch_1.json", inspectSum, "samples/c_epoch_1.json", bomb), 1, "longer than"},
		{"a sample that is none", evalLog(t, "samples/a_epoch_1.json", "[1]", "samples/b_epoch_2.json", inspectNumber), 1, "the sample"},
		{"a sample that was written again", evalLog(t, "_journal/start.json", inspectStart, "samples/a_epoch_1.json", "{}", "samples/a_epoch_1.json", inspectSum), 1, ""},
		{"no samples", evalLog(t, "header.json", `{"status":"error","error":{"message":"no key"},"eval":{"task":"sums"}}`), 0, "no key"},
	} {
		records, files := readAll(t, map[string][]byte{"log.eval": c.data})
		episodes, _, problems := rowsOf(records)
		if files[0].Format != "inspect" || len(episodes) != c.episodes {
			t.Errorf("%s: taken for %q, %d episodes, want %d", c.name, files[0].Format, len(episodes), c.episodes)
		}
		if (c.problem == "") != (len(problems) == 0) || len(problems) > 0 && !strings.Contains(problems[0].Text, c.problem) {
			t.Errorf("%s: problems %v", c.name, problems)
		}
		for _, e := range episodes {
			if strings.Contains(c.name, "journal") && (e.Study != "sums" || e.HarnessVersion != "0.3") {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
	}
	records, _ := readAll(t, map[string][]byte{"log.eval": whole})
	episodes, events, _ := rowsOf(records)
	if e := episodes[1]; e.Validity != ValidityIncomplete || e.TurnsPassed != nil || e.WallS == nil || *e.WallS != 2.5 {
		t.Errorf("a score that is no number: %+v", e)
	}
	said := ""
	for _, e := range events {
		if e.Kind == EventMessage && e.Actor == "model" {
			said = e.Text
		}
	}
	if said != "Infinity" {
		t.Errorf("the model said %q", said)
	}
}

// What stands for a number that JSON does not have is as long as it, so that places stay true.
func TestFiniteJSON(t *testing.T) {
	t.Parallel()
	in := []byte(`{"a":NaN,"b":[Infinity,-Infinity],"c":"NaN \" Infinity","d":1}`)
	got := finiteJSON(in)
	var v map[string]any
	if err := json.Unmarshal(got, &v); err != nil || len(got) != len(in) || v["c"] != `NaN " Infinity` || v["d"] != 1.0 {
		t.Errorf("%s: %v, %v", got, v, err)
	}
}

// harborResult is the least that a trial says, with more members before its end.
func harborResult(more string) string {
	return `{"task_name":"demo/a","trial_name":"a__1","trial_uri":"file:///a","task_checksum":"` + strings.Repeat("0a", 32) + `","agent_info":{"name":"nop","version":"1"}` + more + `}`
}

// A reward counts unless what happened made it void; what ended a trial without one says who is to blame.
func TestHarborEnds(t *testing.T) {
	t.Parallel()
	exception := func(kind string) string {
		return `,"exception_info":{"exception_type":"` + kind + `","exception_message":"m"}`
	}
	const reward = `,"verifier_result":{"rewards":{"other":0,"reward":1}}`
	for _, c := range []struct{ more, want string }{
		{reward, "valid capped 1"},
		{`,"verifier_result":{"rewards":{"reward":0.25}}`, "valid failed 0"},
		{`,"verifier_result":{"rewards":{"points":17}}`, "incomplete - -"},
		{reward + exception("AgentTimeoutError"), "valid capped 1"},
		{reward + `,"reward_valid":false` + exception("ApiRateLimitError"), "stopped provider 0"},
		{exception("EnvironmentStartTimeoutError"), "stopped host 0"},
		{exception("RewardFileNotFoundError"), "stopped bench 0"},
		{exception("CancelledError"), "stopped operator 0"},
		{"", "incomplete - -"},
		{`,"step_results":[{"step_name":"one"` + reward + `},{"step_name":"two","verifier_result":{"rewards":{"reward":0}}}]`, "valid failed 1"},
		{`,"step_results":[{"step_name":"one"` + reward + `},{"step_name":"two"` + reward + `}]`, "valid capped 2"},
		{`,"step_results":[{"step_name":"one"` + reward + `},{"step_name":"two"` + exception("SandboxBuildFailedError") + `},{"step_name":"three"}]`, "stopped host 1"},
	} {
		records, files := readAll(t, map[string][]byte{"t/result.json": []byte(harborResult(c.more))})
		episodes, _, problems := rowsOf(records)
		if len(episodes) != 1 || len(problems) > 0 || files[0].Format != "harbor" {
			t.Errorf("%s: %d episodes, problems %v, taken for %q", c.more, len(episodes), problems, files[0].Format)
			continue
		}
		e := episodes[0]
		got := e.Validity
		for _, s := range []string{fmt.Sprint(deref(e.EndReason, "-")), fmt.Sprint(derefInt(e.TurnsPassed))} {
			got += " " + s
		}
		if got != c.want || e.ScenarioSHA == "" {
			t.Errorf("%s: %s, want %s", c.more, got, c.want)
		}
	}
}

func deref(s *string, none string) string {
	if s == nil {
		return none
	}
	return *s
}

func derefInt(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// Of the failure modes of Terminal-Bench some are no failure of the agent.
func TestTerminalBenchModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ resolved, mode, want string }{
		{"true", "unset", "valid capped"},
		{"false", "agent_timeout", "valid failed"},
		{"false", "test_timeout", "valid failed"},
		{"false", "agent_installation_failed", "stopped host"},
		{"false", "parse_error", "stopped bench"},
		{"null", "unknown_agent_error", "stopped host"},
		{"null", "unset", "incomplete -"},
	} {
		data := fmt.Sprintf(`{"id":"x","trial_name":"a.2-of-3.r","task_id":"a","is_resolved":%s,"failure_mode":%q}`, c.resolved, c.mode)
		records, _ := readAll(t, map[string][]byte{"r/a/a.2-of-3.r/results.json": []byte(data)})
		episodes, _, problems := rowsOf(records)
		if len(episodes) != 1 || len(problems) > 0 {
			t.Fatalf("%s: %d episodes, problems %v", data, len(episodes), problems)
		}
		if e := episodes[0]; e.Validity+" "+deref(e.EndReason, "-") != c.want || e.Repeat != 2 {
			t.Errorf("%s: %s %s, repeat %d, want %s", data, e.Validity, deref(e.EndReason, "-"), e.Repeat, c.want)
		}
	}
}

// A row of a table that cannot be read costs itself alone, and every episode names the bytes of its row.
func TestOutcomeRows(t *testing.T) {
	t.Parallel()
	rows := []string{"config,scenario,turns_passed\n", "a,s1,3\n", "a,\"s,2\",4\n", "a,s3\n", "a,s4,many\n", "a,s1,5\n", "\"b\nb\",s1,1\n", "c,s1,2"}
	data := []byte("\xef\xbb\xbf" + strings.Join(rows, ""))
	records, files := readAll(t, map[string][]byte{"x": data})
	episodes, _, problems := rowsOf(records)
	if files[0].Format != "outcomes" || files[0].Records != 7 || len(episodes) != 4 || len(problems) != 3 {
		t.Fatalf("taken for %q, %d records, %d episodes, problems %v", files[0].Format, files[0].Records, len(episodes), problems)
	}
	for i, row := range []string{rows[1], rows[2], rows[6], rows[7]} {
		p := episodes[i].Place
		if got := string(data[p.Offset : p.Offset+p.Length]); got != row {
			t.Errorf("the row of %q is %q, want %q", episodes[i].Scenario, got, row)
		}
	}
	for i, line := range []int{4, 5, 6} {
		if problems[i].Line != line {
			t.Errorf("problem %v, want line %d", problems[i], line)
		}
	}
	records, _ = readAll(t, map[string][]byte{"x": []byte("config,scenario,score\na,s,2.5\n")})
	if episodes, _, problems := rowsOf(records); len(problems) != 1 || len(episodes) != 1 || episodes[0].TurnsPassed != nil {
		t.Errorf("a value that is no turns: %v, %v", episodes, problems)
	}
}

// The same work told by several files is one episode, however the user names it.
func TestRunnerFoldersAreOneLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		paths    string
		episodes int
	}{
		{"harbor-failed", 1}, {"harbor-failed/result.json", 1}, {"harbor-failed/agent", 1}, {"harbor-failed harbor-oracle", 2},
		{"terminal-bench", 3}, {"terminal-bench/results.json", 3}, {"terminal-bench/blind-maze-explorer-5x5", 1},
		{"swe-bench", 4}, {"swe-bench/logs", 3}, {"swe-bench/preds.json", 3}, {"swe-bench/deepseek__deepseek-chat.r1.json", 4},
		{"gemini-session.jsonl", 1},
	} {
		var paths []string
		for _, p := range strings.Fields(c.paths) {
			paths = append(paths, filepath.Join("testdata", "runner", filepath.FromSlash(p)))
		}
		records, _ := readPaths(t, paths...)
		if episodes, _, problems := rowsOf(records); len(episodes) != c.episodes || len(problems) > 0 {
			t.Errorf("%s: %d episodes, want %d; problems %v", c.paths, len(episodes), c.episodes, problems)
		}
	}
}
