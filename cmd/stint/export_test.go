package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// inspectScript reads exported logs with Inspect's own reader and its functions for data frames.
const inspectScript = `
import glob, json, sys
from inspect_ai.analysis import events_df, evals_df, messages_df, samples_df
from inspect_ai.log import read_eval_log
out = {"samples": {}}
for path in sorted(glob.glob(sys.argv[1] + "/*.eval")):
    log = read_eval_log(path)
    for s in log.samples:
        scores = {k: v.value for k, v in (s.scores or {}).items()}
        calls = sum(len(m.tool_calls or []) for m in s.messages if m.role == "assistant")
        results = sum(m.role == "tool" for m in s.messages)
        usage = s.model_usage[log.eval.model]
        out["samples"][f"{log.eval.metadata['stint']['config']} {s.id}#{s.epoch}"] = [
            scores.get("turns_passed"), calls, results, usage.input_tokens, usage.output_tokens]
samples, messages, events = samples_df(sys.argv[1]), messages_df(sys.argv[1]), events_df(sys.argv[1])
out["frames"] = [len(evals_df(sys.argv[1])), len(samples), int((messages["role"] == "tool").sum()), int((events["event"] == "tool").sum())]
out["turns"] = float(samples["score_turns_passed"].sum())
print(json.dumps(out))
`

// TestExportsInOtherToolsInspect holds exported logs of Inspect to what Inspect makes of them.
func TestExportsInOtherToolsInspect(t *testing.T) {
	python := require(t, "STINT_TEST_PYTHON", "a Python with inspect_ai and pandas")
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", smallStudy)
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	stint(t, dir, 0, "export", "run", "--to", "inspect", "-o", "logs", "-q")
	cmd := exec.Command(python, "-c", inspectScript, filepath.Join(dir, "logs"))
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("reading with Inspect: %v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	type result struct {
		Samples map[string][]*int `json:"samples"`
		Frames  []int             `json:"frames"`
		Turns   float64           `json:"turns"`
	}
	var got result
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	d, err := logs.OpenRunDir(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	tables, _, err := logs.ReadRunWith(d, logs.ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	want := result{Samples: map[string][]*int{}}
	configs := map[string]bool{}
	results := 0
	for i := range tables.Episodes {
		e := &tables.Episodes[i]
		configs[e.Config] = true
		want.Turns += float64(*e.TurnsPassed)
		calls, given := 0, 0
		for k := range tables.Events {
			switch ev := &tables.Events[k]; {
			case ev.Episode != e.Episode:
			case ev.Kind == logs.EventToolCall:
				calls++
			case ev.Kind == logs.EventToolResult:
				given++
			}
		}
		results += given
		in, out := int(*e.Input), int(*e.Output)
		want.Samples[e.Config+" "+e.Scenario+"#1"] = []*int{e.TurnsPassed, &calls, &given, &in, &out}
	}
	want.Frames = []int{len(configs), len(tables.Episodes), results, results}
	if results == 0 {
		t.Error("no tool was called")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-run +Inspect):\n%s", diff)
	}
}
