package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle/python"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/logs"
)

// builderStudy has two scripted builders in place of models: one always builds what was asked, the other
// forgets the changes of turn failAt.
const builderStudy = `version: 1
name: builders
seed: 11
scenarios: {count: 2, changes: 3}
configs:
  - {model: [perfect, faulty], harness: builtin, feedback: none, retries: 0}
models:
  perfect: {api: chat, url: %q, context: 200k}
  faulty:  {api: chat, url: %q, context: 200k}
sandbox: {kind: %s, runtimes: [python3]}
prices: prices.yaml
`

const builderPrices = `- {model: perfect, from: 2020-01-01, usd_per_mtok: {input: 2.0, cached: 0.5, cache_write: 2.0, output: 10.0}, source: "made up for this test"}
- {model: faulty, from: 2020-01-01, usd_per_mtok: {input: 2.0, cached: 0.5, cache_write: 2.0, output: 10.0}, source: "made up for this test"}
`

// builder plays a model that builds the second, independent implementation in one request of three tool calls.
type builder struct {
	run    string       // run directory, whose scenarios say what is asked
	behind map[int]bool // turns in which the schema of the turn before is built

	once  sync.Once
	err   error
	steps map[string]scenario.Step // by change request
	prev  map[string]scenario.Step
}

func (b *builder) load() {
	files, err := filepath.Glob(filepath.Join(b.run, "scenarios", "s*.json"))
	if err != nil || len(files) == 0 {
		b.err = fmt.Errorf("no scenarios in %s: %v", b.run, err)
		return
	}
	b.steps, b.prev = map[string]scenario.Step{}, map[string]scenario.Step{}
	for _, f := range files {
		var file struct {
			Name     string
			Seed     uint64
			Changes  int
			Schedule string
		}
		raw, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(raw, &file)
		}
		if err != nil {
			b.err = err
			return
		}
		sc, err := scenario.Generate(scenario.Options{Seed: file.Seed, Changes: file.Changes, Name: file.Name, Schedule: file.Schedule})
		if err != nil {
			b.err = err
			return
		}
		for i, step := range sc.Steps {
			if _, twice := b.steps[step.Request]; twice {
				b.err = fmt.Errorf("two turns have the same request %q", step.Request)
				return
			}
			b.steps[step.Request] = step
			b.prev[step.Request] = sc.Steps[max(i-1, 0)]
		}
	}
}

func (b *builder) script(_ int, r openai.ChatCompletionRequest) harness.SimAnswer {
	b.once.Do(b.load)
	if b.err != nil {
		return harness.SimError(500, "script", b.err.Error())
	}
	last := r.Messages[len(r.Messages)-1]
	if last.Role != openai.ChatMessageRoleUser {
		return harness.SimText("The service does what was asked.")
	}
	for request, step := range b.steps {
		if !strings.Contains(last.Content, request) {
			continue
		}
		if b.behind[step.Turn] {
			step = b.prev[request]
		}
		return harness.SimAnswer{Calls: []harness.SimCall{
			{Name: "write_file", Arguments: arguments("path", python.File, "content", string(python.Source(step.Schema)))},
			{Name: "write_file", Arguments: arguments("path", "start.sh", "content", python.Start())},
			{Name: "bash", Arguments: arguments("command", "chmod +x start.sh && python3 -m py_compile "+python.File+" && rm -rf __pycache__ && ls")},
		}}
	}
	return harness.SimError(500, "script", "no such request: "+last.Content)
}

func arguments(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestScriptedBuilders lets a perfect and a faulty builder play through the built-in agent's loop, the sandbox
// and the grader: to a full pass, and to the turn that was forgotten.
func TestScriptedBuilders(t *testing.T) {
	requireProgram(t, "python3", "for the service that the scripted model builds")
	kinds := []string{"none", "bubblewrap"}
	if os.Getenv("STINT_REQUIRE") == "" { // the attacks run under bubblewrap there; .ci/run tries both
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			if kind == "bubblewrap" {
				requireBubblewrap(t)
			}
			dir := t.TempDir()
			run := filepath.Join(dir, "run")
			const failAt = 2
			url := func(b *builder) string {
				b.run = run
				srv := httptest.NewServer(&harness.ModelSim{Script: b.script})
				t.Cleanup(srv.Close)
				return srv.URL + "/v1"
			}
			perfect, faulty := url(&builder{}), url(&builder{behind: map[int]bool{failAt: true}})
			writeFile(t, dir, "prices.yaml", builderPrices)
			writeFile(t, dir, "study.yaml", fmt.Sprintf(builderStudy, perfect, faulty, kind))
			stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
			checkBuilders(t, run, kind, failAt)

			out, _ := stint(t, dir, 0, "compare", "run")
			if !strings.Contains(out, "run was") || !strings.Contains(out, "2/2") {
				t.Errorf("compare does not show the full passes:\n%s", out)
			}
		})
	}
}

func checkBuilders(t *testing.T, run, kind string, failAt int) {
	t.Helper()
	d, err := logs.OpenRunDir(run)
	if err != nil {
		t.Fatal(err)
	}
	tables, problems, err := logs.ReadRun(d, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if len(tables.Episodes) != 4 {
		t.Fatalf("%d episodes, want 4", len(tables.Episodes))
	}
	for _, ep := range tables.Episodes {
		want, end := ep.TurnsMax, "capped"
		if ep.Model == "faulty" {
			want, end = failAt, "failed"
		}
		if ep.TurnsPassed == nil || *ep.TurnsPassed != want || ep.EndReason == nil || *ep.EndReason != end || !strings.HasPrefix(ep.Sandbox, kind) {
			raw, _ := json.Marshal(ep)
			t.Errorf("%s %s: want T = %d, %s in %s, got %s", ep.Config, ep.Scenario, want, end, kind, raw)
		}
		if ep.CostUSD == nil || ep.Input == nil || ep.Output == nil {
			t.Errorf("%s %s: cost or tokens unknown", ep.Config, ep.Scenario)
			continue
		}
		// The prices above, the tokens as the endpoint reported them.
		cached := int64(0)
		if ep.Cached != nil {
			cached = *ep.Cached
		}
		usd := float64(*ep.Input)*2e-6 + float64(cached)*0.5e-6 + float64(*ep.Output)*10e-6
		if diff := *ep.CostUSD - usd; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s %s: cost %v, the tokens cost %v", ep.Config, ep.Scenario, *ep.CostUSD, usd)
		}
	}
	if t.Failed() {
		for _, c := range tables.Checks {
			t.Logf("%s turn %d %s: %s: expected %s, got %s", c.Episode, c.Turn, c.Check, c.Request, c.Expected, c.Actual)
		}
	}
}

// requireBubblewrap skips without bubblewrap; under CI, which installs it, that is a failure.
func requireBubblewrap(t *testing.T) {
	t.Helper()
	requireProgram(t, "bwrap", "(apt-get install bubblewrap)")
}

// requireProgram skips without a program; under CI, which sets STINT_REQUIRE and has it, that is a failure.
func requireProgram(t *testing.T, name, why string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("STINT_REQUIRE") != "" {
		t.Fatalf("%s is not installed, and CI must have it", name)
	}
	t.Skipf("needs %s %s", name, why)
}
