package main

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

const simStudy = `version: 1
name: sim
seed: %d
scenarios: {count: 1, changes: 2, delivery: %s}
configs:
  - {model: sim, harness: builtin, feedback: %s}
models:
  sim: {api: chat, url: %q, context: 200k, tools: %s}
gateway: {provider_wait: 3s}
sandbox: {kind: %s, runtimes: [python3]}
`

// scripted serves a coder that knows the scenarios of a study with this seed.
func scripted(t *testing.T, seed uint64, count, changes int, delivery, rules string) (*harness.ModelSim, string) {
	t.Helper()
	var scenarios []*scenario.Scenario
	for i := range count {
		sc, err := scenario.Generate(scenario.Options{Seed: suite.ScenarioSeed(seed, i, 0), Changes: changes, Name: suite.ScenarioName(i), Delivery: delivery})
		if err != nil {
			t.Fatal(err)
		}
		scenarios = append(scenarios, sc)
	}
	parsed, err := harness.ParseSimRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	coder, err := harness.NewCoder(harness.CoderOptions{Scenarios: scenarios, Rules: parsed})
	if err != nil {
		t.Fatal(err)
	}
	sim := &harness.ModelSim{Answer: coder.Answer}
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	return sim, srv.URL + "/v1"
}

// TestModelSimEpisodes has the scripted coder play whole episodes as the model of the built-in agent.
func TestModelSimEpisodes(t *testing.T) {
	requireProgram(t, "python3", "for the service that the scripted model builds")
	for name, c := range map[string]struct {
		rules    string
		delivery string
		feedback string // and retries
		tools    string
		kind     string
		passed   int
		attempts string // used per turn
	}{
		"odd calls": {"bad-json@0,unknown-tool@1,duplicate-id@1,empty@2,length@2,broad-kill@0,held-output@1", "delta+file", "none", "native", "bubblewrap", 3, "1 1 1"},
		"fenced":    {"perfect", "full", "none", "text", "none", 3, "1 1 1"},
		"rescued":   {"rate-limit@1*1,server-error@2*1,cut-stream@0,wrong@1", "delta", "minimal, retries: 1", "native", "none", 3, "1 2 1"},
		"forgets":   {"hopeless@1", "delta+file", "detailed, retries: 1", "native", "none", 1, "1 2"},
		"unhelpful": {"unhelpful", "delta+file", "none", "native", "none", 0, "1"},
		"endless":   {"loop", "delta+file", "none", "native", "none", 0, "1"},
		"context":   {"context-length", "delta+file", "none", "native", "none", 0, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.kind == "bubblewrap" {
				requireBubblewrap(t)
			}
			dir := t.TempDir()
			const seed = 23
			sim, url := scripted(t, seed, 1, 2, c.delivery, c.rules)
			writeFile(t, dir, "study.yaml", fmt.Sprintf(simStudy, seed, c.delivery, c.feedback, url, c.tools, c.kind))
			stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
			d, err := logs.OpenRunDir(filepath.Join(dir, "run"))
			if err != nil {
				t.Fatal(err)
			}
			tables, problems, err := logs.ReadRun(d, nil)
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			var used []string
			for _, turn := range tables.Turns {
				used = append(used, fmt.Sprint(*turn.AttemptsUsed))
			}
			e := tables.Episodes[0]
			if e.TurnsPassed == nil || *e.TurnsPassed != c.passed || strings.Join(used, " ") != c.attempts {
				t.Errorf("passed %v with %v attempts, want %d with %s; %d requests", *e.TurnsPassed, used, c.passed, c.attempts, sim.Served())
				for _, c := range tables.Checks {
					t.Logf("turn %d %s: %s: expected %s, got %s", c.Turn, c.Check, c.Request, c.Expected, c.Actual)
				}
			}
		})
	}
}
