package suite

import (
	"math"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// TestSizeFollowsTheCurve holds generated suites to the sampler's estimate and to the curve that it leans to.
func TestSizeFollowsTheCurve(t *testing.T) {
	turns := []int{0, 10, 25, 50, 100}
	const seeds = 5
	sums := map[int]float64{}
	for seed := uint64(1); seed <= seeds; seed++ {
		sc := scenarioOf(t, seed, turns[len(turns)-1])
		for _, turn := range turns {
			have := float64(suiteOf(t, sc, turn).Requests())
			sums[turn] += have
			if estimate := sc.Steps[turn].Schema.ExpectedSize(); math.Abs(estimate-have) > 0.3*have {
				t.Errorf("seed %d, turn %d: %.0f requests, estimated %.0f", seed, turn, have, estimate)
			}
		}
	}
	for _, turn := range turns {
		mean, want := sums[turn]/seeds, scenario.TargetSize(turn)
		if mean < 0.75*want || mean > 1.25*want {
			t.Errorf("turn %d: %.0f requests on the average, the curve says %.0f", turn, mean, want)
		}
		t.Logf("turn %d: %.0f requests on the average, the curve says %.0f", turn, mean, want)
	}
}

// TestLabelsSayWhatChanges asks the service of the turn before what the new suite expects. Where an operation tightens, that
// service takes something that must be refused now; where it loosens, it refuses something that must be taken.
func TestLabelsSayWhatChanges(t *testing.T) {
	seen := map[string]int{}
	for seed := uint64(300); seed < 312; seed++ {
		sc := scenarioOf(t, seed, 14)
		for turn := 1; turn <= 14; turn++ {
			op := sc.Steps[turn].Operation
			if op.Label != "T" && op.Label != "L" {
				continue
			}
			seen[op.Name]++
			took, refused := judgedByThePast(t, sc, turn)
			if op.Label == "T" && took == 0 || op.Label == "L" && refused == 0 {
				t.Errorf("seed %d, turn %d: %s (%s) has the label %s, but the service of before takes %d things too many and refuses %d", seed, turn, op.ID, op.Title, op.Label, took, refused)
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d operations came up: %v", len(seen), seen)
	}
}

// judgedByThePast plays a suite on the reference of the turn before and counts what that takes and what it refuses wrongly.
func judgedByThePast(t *testing.T, sc *scenario.Scenario, turn int) (took, refused int) {
	t.Helper()
	s := suiteOf(t, sc, turn)
	i, r := oracle.New(sc.Steps[turn-1].Schema), newRun(s)
	for w := range s.Worlds {
		i.Reset()
		if err := r.world(t.Context(), s, w, &player{transport: interpTransport{i}, ended: func() bool { return false }}); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range r.failures(s) {
		switch {
		case f.Expected >= "4" && f.Actual < "3":
			took++
		case f.Expected < "3" && f.Actual >= "4":
			refused++
		}
	}
	return took, refused
}
