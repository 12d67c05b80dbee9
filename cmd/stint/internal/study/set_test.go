package study

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// setOf writes a set of scenarios with one change each.
func setOf(t *testing.T, dir string, seeds ...uint64) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, seed := range seeds {
		sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: 1, Name: suite.ScenarioName(i), Schedule: scenario.ScheduleIID})
		if err != nil {
			t.Fatal(err)
		}
		m, err := suite.Make(t.Context(), sc, 1)
		if err != nil {
			t.Fatal(err)
		}
		f := suite.NewFile(m, scenario.ScheduleIID, suite.SamplerRules)
		f.Delivery = scenario.DeliveryFull
		if err := f.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A study of a set runs its scenarios, takes delivery from it, may go on when the set has grown or has moved, and may not
// when a scenario has become another.
func TestSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := filepath.Join(dir, "set")
	setOf(t, set, 11, 12)
	text := strings.Replace(small, "{count: 4, changes: 1}", "{set: "+set+"}", 1)
	s := mustParse(t, text)
	if s.Scenarios.Count != 2 || s.Scenarios.Changes != 1 || s.Scenarios.Schedule != "iid" || s.Configs[0].Delivery != "full" {
		t.Errorf("%+v, delivery %s", s.Scenarios, s.Configs[0].Delivery)
	}
	run := filepath.Join(dir, "run")
	sum, err := start(t, run, text, &fakeLoop{}, RunOptions{})
	if err != nil || sum.Episodes != 4 || sum.Valid != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	setOf(t, set, 11, 12, 13)
	if sum, err = start(t, run, text, &fakeLoop{}, RunOptions{}); err != nil || sum.Episodes != 6 || sum.Valid != 6 || sum.Started != 2 {
		t.Fatalf("the set has grown: %+v, %v", sum, err)
	}
	setOf(t, set, 11, 14, 13)
	var frozen *FrozenError
	if _, err = start(t, run, text, &fakeLoop{}, RunOptions{}); !errors.As(err, &frozen) || !strings.Contains(err.Error(), "scenarios: s02") {
		t.Errorf("a scenario has become another: %v", err)
	}
	moved := filepath.Join(dir, "moved")
	setOf(t, moved, 11, 12, 13)
	if sum, err = start(t, run, strings.Replace(text, set, moved, 1), &fakeLoop{}, RunOptions{}); err != nil || !sum.NothingToDo {
		t.Errorf("the set has moved: %+v, %v", sum, err)
	}
	if sum, err = start(t, filepath.Join(dir, "first"), strings.Replace(text, "{set: "+set, "{count: 1, set: "+moved, 1), &fakeLoop{}, RunOptions{}); err != nil || sum.Episodes != 2 {
		t.Errorf("the first scenario of a set: %+v, %v", sum, err)
	}
	if _, err = start(t, run, small, &fakeLoop{}, RunOptions{}); !errors.As(err, &frozen) || !strings.Contains(err.Error(), "from a set → drawn") {
		t.Errorf("a study that draws its scenarios: %v", err)
	}
}
