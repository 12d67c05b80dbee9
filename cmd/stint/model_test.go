package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

const modelStudy = `version: 1
name: small-model
seed: 3
scenarios: {count: 2, changes: 1}
configs:
  - {model: smollm, harness: builtin, feedback: none, retries: 0, process_retries: 0}
  - {model: smollm, harness: builtin, feedback: minimal, retries: 1, process_retries: 0}
models:
  smollm: {api: chat, url: %q, id: smollm2-135m, context: 8k, max_output: 128, temperature: 0, tools: text}
budgets:
  attempt: {wall: 5m, requests: 3}
jobs: {episodes: 1}
prices: prices.yaml
analysis:
  families:
    - {name: feedback and a retry, pairs: all}
`

const modelPrices = `- {model: smollm2-135m, from: 2020-01-01, usd_per_mtok: {input: 1.0, cached: 0.1, cache_write: 1.0, output: 4.0}, source: "made up for this test"}
`

// TestRealModel lets a real small model, served on loopback, play two scenarios in two configurations through the
// built-in agent, bubblewrap and the grader. It cannot build the service; that is what must be said, with the
// tokens it used and what they cost.
func TestRealModel(t *testing.T) {
	url := require(t, "STINT_TEST_MODEL_URL", "a local model")
	requireBubblewrap(t)
	dir := t.TempDir()
	writeFile(t, dir, "prices.yaml", modelPrices)
	writeFile(t, dir, "study.yaml", fmt.Sprintf(modelStudy, url))
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	stint(t, dir, 0, "ingest", "run", "-q")

	tables, err := logs.ReadTables(filepath.Join(dir, "run", "tables"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tables.Episodes) != 4 {
		t.Fatalf("%d episodes, want 4", len(tables.Episodes))
	}
	for _, ep := range tables.Episodes {
		raw, _ := json.Marshal(ep)
		switch {
		case ep.Validity != "valid" || ep.TurnsPassed == nil || ep.EndReason == nil || *ep.EndReason != "failed":
			t.Errorf("the episode should have failed on its own: %s", raw)
		case *ep.TurnsPassed != 0:
			t.Errorf("a model of 135M parameters built the service? %s", raw)
		case !strings.HasPrefix(ep.Sandbox, "bubblewrap"):
			t.Errorf("ran in sandbox %q", ep.Sandbox)
		case ep.Input == nil || *ep.Input <= 0 || ep.Output == nil || *ep.Output <= 0 || ep.CostUSD == nil || *ep.CostUSD <= 0:
			t.Errorf("tokens or cost unknown: %s", raw)
		}
	}
	requests := 0
	for _, a := range tables.Attempts {
		if a.Attempt == nil || a.Passed == nil || *a.Passed || a.GradeReason == nil || *a.GradeReason != "start" && *a.GradeReason != "checks" && *a.GradeReason != "crash" {
			raw, _ := json.Marshal(a)
			t.Errorf("attempt: %s", raw)
		}
		requests++
	}
	if requests != 6 { // 2 scenarios × (1 attempt without retries + 2 with one)
		t.Errorf("%d attempts, want 6", requests)
	}
	out, _ := stint(t, dir, 0, "compare", "run")
	for _, want := range []string{"none/r0", "minimal/r1", "0/2", "could have been significant"} {
		if !strings.Contains(out, want) {
			t.Errorf("compare does not say %q:\n%s", want, out)
		}
	}
	t.Log(out)
}
