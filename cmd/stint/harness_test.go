package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// tried is a small study of an agent that is a program, with a scripted model.
type tried struct {
	harness  string
	model    string // "" = m
	url      string // "" = a scripted model
	script   string // of the scripted model; "" = perfect
	changes  int
	more     string // of its configuration: feedback, retries, session
	attempt  string // budgets.attempt; "" = a long time, 40 requests
	limits   string // sandbox.limits
	kind     string // of sandbox; "" = bubblewrap
	gateway  string // "" = provider_wait: 2s
	answered func(n int, r harness.SimRequest)
}

// outcome is what became of it.
type outcome struct {
	run      string
	tables   *logs.Tables
	exits    []logs.AgentExit
	voids    []logs.Void
	requests []harness.SimRequest
	err      error
}

const triedStudy = `version: 1
name: tried
seed: %d
scenarios: {count: 1, changes: %d}
agent: {process_retries: 0}
configs:
  - {model: %s, harness: %q%s}
models:
  %[3]s: {api: %[11]s, url: %[6]q, context: 128k}
sandbox: {kind: %[7]s, runtimes: [python3]%[8]s}
budgets:
  attempt: {%[9]s}
gateway: {%[10]s}
`

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// play runs the study. It ends with the first attempt that does not count: the loop would try it again.
func (c tried) play(t *testing.T) outcome {
	t.Helper()
	var out outcome
	if c.url == "" {
		c.url = c.simulate(t, &out)
	}
	if strings.HasSuffix(c.harness, ".yaml") {
		abs, err := filepath.Abs(c.harness)
		if err != nil {
			t.Fatal(err)
		}
		c.harness = abs
	}
	api := "chat"
	if !slices.Contains(study.OwnHarnesses(), c.harness) {
		f, err := harness.Load(c.harness, "")
		if err != nil {
			t.Fatal(err)
		}
		api = f.Protocol
	}
	text := fmt.Sprintf(triedStudy, checkSeed, c.changes, or(c.model, "m"), c.harness, c.more, c.url, or(c.kind, "bubblewrap"), c.limits,
		or(c.attempt, "wall: 4m, requests: 40"), or(c.gateway, "provider_wait: 2s"), api)
	s, err := study.Parse("tried.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out.run = filepath.Join(t.TempDir(), "run")
	_, out.err = s.Run(ctx, study.RunOptions{Dir: out.run, Stint: exe, Progress: func(ev study.Event) {
		if ev.Kind == episode.EventVoid {
			stop()
		}
	}})
	out.read(t)
	return out
}

// simulate serves the scripted model of the trial's scenario.
func (c tried) simulate(t *testing.T, out *outcome) string {
	t.Helper()
	sc, err := scenario.Generate(scenario.Options{Seed: suite.ScenarioSeed(checkSeed, 0, 0), Changes: c.changes, Name: suite.ScenarioName(0)})
	if err != nil {
		t.Fatal(err)
	}
	var rules []harness.SimRule
	if strings.HasPrefix(c.script, "- ") {
		rules, err = harness.ReadSimRules("the test's rules", []byte(c.script))
	} else {
		rules, err = harness.ParseSimRules(or(c.script, "perfect"))
	}
	if err != nil {
		t.Fatal(err)
	}
	coder, err := harness.NewCoder(harness.CoderOptions{Scenarios: []*scenario.Scenario{sc}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	srv := httptest.NewServer(&harness.ModelSim{Answer: func(r harness.SimRequest) harness.SimAnswer {
		out.requests = append(out.requests, r)
		if c.answered != nil {
			c.answered(n, r)
		}
		n++
		return coder.Answer(r)
	}})
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL + "/v1"
}

// read reads what was recorded.
func (out *outcome) read(t *testing.T) {
	t.Helper()
	d, err := logs.OpenRunDir(out.run)
	if err != nil {
		return // it did not begin
	}
	if out.tables, _, err = logs.ReadRunWith(d, logs.ReadOptions{Events: true}); err != nil {
		t.Fatal(err)
	}
	ids, err := d.Episodes()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		records, _, err := logs.ReadJournal(filepath.Join(d.EpisodeDir(id), logs.JournalName))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			switch r.Type {
			case logs.TypeAgentExit:
				v, err := logs.Decode[logs.AgentExit](r)
				if err != nil {
					t.Fatal(err)
				}
				out.exits = append(out.exits, v)
			case logs.TypeVoid:
				v, err := logs.Decode[logs.Void](r)
				if err != nil {
					t.Fatal(err)
				}
				out.voids = append(out.voids, v)
			}
		}
	}
}

// ending is how the first attempt ended, in words: "limit:wall cut", "self clean", "void:rate_limit".
func (out *outcome) ending() string {
	switch {
	case len(out.voids) > 0:
		return "void:" + out.voids[0].Reason
	case len(out.exits) == 0:
		return fmt.Sprintf("nothing: %v", out.err)
	}
	e := out.exits[0]
	by := e.By
	if e.Limit != "" {
		by += ":" + e.Limit
	}
	return by + " " + e.Completion
}

// detail is why.
func (out *outcome) detail() string {
	var all []string
	for _, e := range out.exits {
		all = append(all, e.Detail)
	}
	for _, v := range out.voids {
		all = append(all, v.Evidence)
	}
	if out.err != nil && !errors.Is(out.err, context.Canceled) {
		all = append(all, out.err.Error())
	}
	return strings.Join(all, "\n")
}

// attempts are the attempts in a few words each.
func (out *outcome) attempts() []string {
	var list []string
	for _, a := range out.tables.Attempts {
		list = append(list, fmt.Sprintf("%d.%d %s passed=%v %s", a.Turn, *a.Attempt, a.Kind, *a.Passed, *a.Completion))
	}
	return list
}

// event says whether one of the events has this kind, and a text with these words.
func (out *outcome) event(via, kind, words string) bool {
	for _, e := range out.tables.Events {
		if e.Via == via && e.Kind == kind && strings.Contains(e.Text, words) {
			return true
		}
	}
	return false
}

// eventList is for messages.
func (out *outcome) eventList() string {
	var b strings.Builder
	for _, e := range out.tables.Events {
		fmt.Fprintf(&b, "%s %s %s: %.120q\n", e.Via, e.Channel, e.Kind, e.Text)
	}
	return b.String()
}

const (
	myAgent     = "testdata/manual/my-agent.yaml"
	faultyAgent = "testdata/harness/faulty.yaml"
)

// remembers says whether a request of the last turn holds the first turn's request too.
func (out *outcome) remembers() bool {
	begin := func(turn int) string { return strings.SplitN(*out.tables.Turns[turn].ChangeText, "\n", 2)[0] }
	first, last := begin(0), begin(len(out.tables.Turns)-1)
	for _, r := range out.requests {
		var all strings.Builder
		for _, m := range r.Messages {
			all.WriteString(m.Text)
		}
		if strings.Contains(all.String(), first) && strings.Contains(all.String(), last) {
			return true
		}
	}
	return false
}

// TestHarnessOfOneFile shows that a harness is one file: an agent in sixty lines plays whole episodes, in a sandbox and
// without one, and its conversation goes on over turns or not.
func TestHarnessOfOneFile(t *testing.T) {
	requireBubblewrap(t)
	requireProgram(t, "python3", "for the agent")
	for name, c := range map[string]struct {
		tried
		remembers bool
	}{
		"continue": {tried{more: ", feedback: detailed, retries: 1", script: "wrong@1"}, true},
		"fresh":    {tried{more: ", session: fresh, feedback: detailed, retries: 1", script: "wrong@1"}, false},
		"none":     {tried{kind: "none"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.harness, c.changes = myAgent, 2
			out := c.play(t)
			if out.err != nil || len(out.tables.Episodes) != 1 || *out.tables.Episodes[0].TurnsPassed != 3 {
				t.Fatalf("%v: %s", out.err, out.detail())
			}
			ep := out.tables.Episodes[0]
			if ep.Harness != "my-agent" || ep.HarnessVersion != "1.0.0" || *ep.ModelReturned != "m" {
				t.Errorf("episode %+v", ep)
			}
			if got := out.remembers(); got != c.remembers {
				t.Errorf("the last turn knows the first: %v, want %v", got, c.remembers)
			}
			for _, a := range out.tables.Attempts {
				if a.Input == nil || *a.Input == 0 {
					t.Errorf("attempt %+v has no tokens", a)
				}
			}
		})
	}
}

// TestHarnessFaults drives a program that goes wrong in every way: each ends as its own reason, within its limits.
func TestHarnessFaults(t *testing.T) {
	requireBubblewrap(t)
	requireProgram(t, "python3", "for the program that goes wrong")
	short := "wall: 20s, requests: 20"
	for model, c := range map[string]struct {
		tried
		ending string
		detail string
	}{
		"nothing":   {tried{}, "self never_started", "no request reached the gateway: the program ended with exit code 0"},
		"crash":     {tried{}, "self never_started", "exit code 3, saying: cannot read my settings"},
		"hang":      {tried{attempt: "wall: 2s"}, "limit:wall never_started", "ended at its limit (wall)"},
		"deaf":      {tried{attempt: "wall: 2s"}, "limit:wall never_started", "ended at its limit (wall)"},
		"loud":      {tried{attempt: "wall: 1m"}, "self clean", ""},
		"daemons":   {tried{attempt: short}, "self clean", ""},
		"disk":      {tried{attempt: "wall: 1m", limits: ", limits: {disk: 100M}"}, "limit:disk cut", "(disk) ended the program"},
		"memory":    {tried{attempt: "wall: 1m", limits: ", limits: {memory: 400M}"}, "limit:memory cut", "(memory) ended the program"},
		"forks":     {tried{attempt: "wall: 1m", limits: ", limits: {processes: 60}"}, "limit:processes cut", "(processes) ended the program"},
		"kill":      {tried{attempt: short}, "self cut", "its own log does not say how it ended (SIGKILL)"},
		"wrong-key": {tried{attempt: short}, "self never_started", "a request with a key that is no attempt's was refused"},
		"quiet":     {tried{attempt: short}, "self cut", "its own log does not say how it ended (exit code 0)"},
		"refused":   {tried{attempt: short, url: "http://127.0.0.1:9/v1"}, "void:provider_error", "refused"},
		"again":     {tried{attempt: short, url: "http://127.0.0.1:9/v1", gateway: "retry: false"}, "limit:requests cut", "20 requests is used up"},
		"answers":   {tried{attempt: short, script: "nothing"}, "void:provider_error", ""},
		"cut":       {tried{attempt: short, script: "length"}, "self cut", "the answer was cut at the output limit"},
		"spends":    {tried{attempt: "wall: 20s, tokens: 1"}, "limit:tokens cut", "the attempt budget of 1 tokens is used up"},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			c.harness, c.model = faultyAgent, model
			out := c.play(t)
			if out.tables == nil {
				t.Fatal(out.err)
			}
			if c.ending != "" && out.ending() != c.ending || !strings.Contains(out.detail(), c.detail) {
				t.Errorf("ended %q, want %q with %q\n%s", out.ending(), c.ending, c.detail, out.detail())
			}
			if model == "daemons" && !out.event(logs.ViaReader, logs.EventNotice, "left_running: sleep 1000\nsleep 1000\n") {
				t.Errorf("nothing tells of the daemons:\n%s", out.eventList())
			}
		})
	}
}

// TestHarnessFiles refuses programs that are not what their file says.
func TestHarnessFiles(t *testing.T) {
	requireBubblewrap(t)
	raw, err := os.ReadFile(faultyAgent)
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := filepath.Abs("testdata/harness/faulty")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old, new string
		code     int
		want     string
	}{
		"wrong version":    {"version: 1.0.0", "version: 2.0.0", 2, `says that it is version "1.0.0", and its file pins 2.0.0`},
		"missing prefix":   {"./faulty", "./nowhere", 2, "has no folder"},
		"missing probe":    {"run: [sh,", "run: [/no/such/shell,", 2, "is not there: /no/such/shell is missing"},
		"other protocol":   {"protocol: chat", "protocol: responses", 2, "model m has api chat, but harness faulty speaks responses"},
		"key that is none": {"ends:", "end:", 2, `unknown field "end"`},
		"bad template":     {"{{.Model}}", "{{.Modell}}", 2, "can't evaluate field Modell"},
		"key of no line":   {"{in: stdout, match", "{in: stdout, key: role, match", 2, "ends[0] lacks what to look at"},
		"path outside":     {"ends:", "clean: [../..]\nends:", 2, "leads out of HOME"},
		"no way to begin":  {"first:", "next:", 2, "first is missing"},
		"bad expression":   {"(?m)^done$", "(done", 2, "missing closing )"},
		"name of ours":     {"name: faulty", "name: builtin", 2, "one of stint's own agents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Symlink(prefix, filepath.Join(dir, "faulty")); err != nil {
				t.Fatal(err)
			}
			writeFile(t, dir, "faulty.yaml", strings.Replace(string(raw), c.old, c.new, 1))
			writeFile(t, dir, "study.yaml", fmt.Sprintf(triedStudy, checkSeed, 0, "m", "./faulty.yaml", "", "http://127.0.0.1:9/v1", "bubblewrap", "", "wall: 10s", "provider_wait: 1s", "chat"))
			_, stderr := stint(t, dir, c.code, "run", "study.yaml")
			if !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "hint: ") {
				t.Errorf("stderr\n%s", stderr)
			}
		})
	}
	t.Run("missing program", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.Symlink(prefix, filepath.Join(dir, "faulty")); err != nil {
			t.Fatal(err)
		}
		file := writeFile(t, dir, "faulty.yaml", strings.Replace(string(raw), "first: [sh, ", "first: [no-such-program, ", 1))
		out := tried{harness: file}.play(t)
		if out.ending() != "void:setup" || !strings.Contains(out.detail(), "harness faulty: no-such-program is not there") {
			t.Errorf("ended %q: %s", out.ending(), out.detail())
		}
	})
}

// TestHarnessInterrupted stops a run by Ctrl-C while a program is at work: stint leaves within ten seconds, nothing of
// the program is left, and the same command goes on. On a pipe there is a line for every turn.
func TestHarnessInterrupted(t *testing.T) {
	requireBubblewrap(t)
	requireProgram(t, "python3", "for the agent")
	dir := t.TempDir()
	var out outcome
	asked := make(chan struct{}, 100)
	c := tried{changes: 1, answered: func(int, harness.SimRequest) { asked <- struct{}{} }}
	url := c.simulate(t, &out)
	file, err := filepath.Abs(myAgent)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "study.yaml", fmt.Sprintf(triedStudy, checkSeed, c.changes, "m", file, "", url, "bubblewrap", "", "wall: 2m", "provider_wait: 2s", "chat"))
	var said bytes.Buffer
	cmd := command(t, dir, nil, "run", "study.yaml", "-o", "run")
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 7 { // of the first turn five are asked; then the second is at work
		<-asked
	}
	began := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(began) > 10*time.Second || !strings.Contains(said.String(), "turn 0 passed after attempt 0") ||
		!strings.Contains(said.String(), "run study.yaml -o run") {
		t.Errorf("exit code %d after %v\n%s", code, time.Since(began), said.String())
	}
	_, stderr := stint(t, dir, 0, "run", "study.yaml", "-o", "run")
	if !strings.Contains(stderr, "turn 1 passed after attempt 0") || strings.Contains(stderr, "turn 0 passed") {
		t.Errorf("the second run says\n%s", stderr)
	}
	out.run = filepath.Join(dir, "run")
	out.read(t)
	if ep := out.tables.Episodes[0]; *ep.TurnsPassed != 2 || len(out.voids) != 1 || out.voids[0].Reason != "operator" {
		t.Errorf("passed %d turns, voids %+v", *ep.TurnsPassed, out.voids)
	}
	if !out.remembers() {
		t.Error("the resumed agent does not remember the first turn")
	}
}

// TestHarnessFileIsFrozen keeps a user's file with the run, and refuses another one.
func TestHarnessFileIsFrozen(t *testing.T) {
	requireBubblewrap(t)
	dir := t.TempDir()
	prefix, err := filepath.Abs("testdata/harness/faulty")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(faultyAgent)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(prefix, filepath.Join(dir, "faulty")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "faulty.yaml", string(raw))
	writeFile(t, dir, "study.yaml", fmt.Sprintf(triedStudy, checkSeed, 0, "nothing", "./faulty.yaml", "", "http://127.0.0.1:9/v1", "bubblewrap", "", "wall: 10s", "provider_wait: 1s", "chat"))
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	kept, err := os.ReadFile(filepath.Join(dir, "run", "harness", "faulty.yaml"))
	if err != nil || !bytes.Equal(kept, raw) {
		t.Errorf("kept %q, %v", kept, err)
	}
	elsewhere := t.TempDir()
	if err := os.Rename(filepath.Join(dir, "run"), filepath.Join(elsewhere, "run")); err != nil {
		t.Fatal(err)
	}
	if stdout, _ := stint(t, elsewhere, 0, "compare", "run"); !strings.Contains(stdout, "faulty") {
		t.Errorf("compare of a run that was moved prints\n%s", stdout)
	}
	if err := os.Rename(filepath.Join(elsewhere, "run"), filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "faulty.yaml", string(raw)+"# changed\n")
	if _, stderr := stint(t, dir, 2, "run", "study.yaml", "-o", "run"); !strings.Contains(stderr, "is not the one this run began with") {
		t.Errorf("a changed file: %s", stderr)
	}
}
