package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// paperHarnesses are the agents of the paper.
var paperHarnesses = []string{"opencode", "mini-swe", "openhands", "vibe", "kimi-cli", "qwen-code"}

// TestPaperStudy: the study in the shape of the paper is of that shape, and its plan says what it takes and finds.
func TestPaperStudy(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs("testdata/studies/paper.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	models, harnesses, cells, levels, ten := map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]bool{}, map[string]bool{}
	for _, c := range s.Configs {
		models[c.Model], harnesses[c.Harness] = true, true
		switch {
		case c.Feedback == "none" && c.Retries == 0, c.Feedback == "detailed" && c.Retries == 2:
			cells[c.Model+"+"+c.Harness]++
		case c.Retries == 10:
			ten[c.Model] = true
		}
		if c.Harness == "opencode" && c.Feedback != "none" {
			levels[c.Feedback] = true
		}
	}
	both := 0
	for _, n := range cells {
		both += n / 2
	}
	if len(models) != 7 || len(harnesses) != len(paperHarnesses) || both != 26 || len(cells) != 26 || len(ten) != 3 || len(levels) != 3 || s.Scenarios.Count != 20 || s.TurnsMax() != 101 {
		t.Errorf("%d models, %d harnesses, %d cells, %d in both, %d with ten retries, %d levels, %d × %d turns",
			len(models), len(harnesses), len(cells), both, len(ten), len(levels), s.Scenarios.Count, s.TurnsMax())
	}
	plan, _ := stint(t, t.TempDir(), 0, "run", path, "--dry-run")
	for _, want := range []string{
		"61 configurations × 20 scenarios × 1 repeat = 1220 episodes",
		"m1+opencode/none/r0/session=continue        6.2     144        57.6M    $24       9.6     151MB     line 48; costs: line 98",
		"wall time about ", " h, with 24 at once",
		`family "feedback and retries help": 26 pairs`, "smallest p anything can reach: 1.9e-06 for one pair, 5.0e-05 after Holm",
		"a better one is found in 80 % of repetitions from", "of 26 pairs differ so much that 80 % of repetitions find it",
	} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not say %q", want)
		}
	}
	if strings.Contains(plan, "unknown") || strings.Contains(plan, "warning") {
		t.Errorf("something is not known:\n%s", plan)
	}
}

// TestPaperSmall plays the same study in small with all agents of the paper, to a full report. The skill of the scripted
// models decides how far an agent comes, whichever it is.
func TestPaperSmall(t *testing.T) {
	for _, name := range paperHarnesses {
		requireHarness(t, name)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/studies")); err != nil {
		t.Fatal(err)
	}
	sim := &modelSim{seed: 2606, changes: 3, count: 2, script: filepath.Join(dir, "paper-models.yaml"), addr: "127.0.0.1:0"}
	m, err := sim.serve()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	small, err := os.ReadFile(filepath.Join(dir, "paper-small.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "small.yaml", strings.ReplaceAll(string(small), "MODEL_URL", m.url))
	stint(t, dir, 0, "run", "small.yaml", "-q")

	run := filepath.Join(dir, "runs", "paper-small")
	d, err := logs.OpenRunDir(run)
	if err != nil {
		t.Fatal(err)
	}
	tables, problems, err := logs.ReadRun(d, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, ep := range tables.Episodes {
		key := fmt.Sprintf("%s+%s/%s/r%d %s", ep.Model, ep.Harness, ep.Feedback, ep.Retries, ep.Scenario)
		got[key] = fmt.Sprintf("%s %d", ep.Validity, *ep.TurnsPassed)
		want[key] = "valid " + paperSmallTurns[fmt.Sprintf("%s/%s/r%d %s", ep.Model, ep.Feedback, ep.Retries, ep.Scenario)]
		if ep.CostUSD == nil || *ep.CostUSD <= 0 || ep.HarnessVersion == "" {
			t.Errorf("%s: cost %v, version %q", key, ep.CostUSD, ep.HarnessVersion)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 38 {
		t.Errorf("%d episodes (-want +got):\n%s", len(got), diff)
	}

	stint(t, dir, 0, "report", "runs/paper-small", "-q")
	for _, file := range []string{"index.html", "report.md", "summary.json", "results.tex", "figures/mean-turns.svg", "figures/retry-curve.csv", "tables/configurations.tex"} {
		if st, err := os.Stat(filepath.Join(run, "report", file)); err != nil || st.Size() == 0 {
			t.Errorf("report: %s: %v", file, err)
		}
	}
	shown, _ := stint(t, dir, 0, "compare", "runs/paper-small", "-q")
	for _, words := range []string{"feedback and retries help", "agent within model", "level of feedback"} {
		if !strings.Contains(shown, words) {
			t.Errorf("compare does not show the family %q", words)
		}
	}
	// The run tells the plan of the next one everything.
	plan, _ := stint(t, dir, 0, "run", "small.yaml", "--dry-run", "--like", "runs/paper-small")
	if _, expected, ok := strings.Cut(plan, "\nexpected"); !ok || strings.Contains(expected, "unknown") || !strings.Contains(expected, "able+openhands/detailed") {
		t.Errorf("the plan from the run does not know everything:\n%s", plan)
	}
}

// paperSmallTurns are the turns that each skill passes: whatever fails is drawn per scenario, turn and attempt.
var paperSmallTurns = map[string]string{
	"able/none/r0 s01": "3", "able/none/r0 s02": "4", "able/detailed/r2 s01": "4", "able/detailed/r2 s02": "4",
	"fair/none/r0 s01": "0", "fair/none/r0 s02": "0", "fair/detailed/r2 s01": "4", "fair/detailed/r2 s02": "3",
	"fair/minimal/r2 s01": "4", "fair/minimal/r2 s02": "3", "fair/moderate/r2 s01": "4", "fair/moderate/r2 s02": "3",
	"fair/detailed/r10 s01": "4", "fair/detailed/r10 s02": "4",
	"poor/none/r0 s01": "0", "poor/none/r0 s02": "0", "poor/detailed/r2 s01": "0", "poor/detailed/r2 s02": "1",
}
