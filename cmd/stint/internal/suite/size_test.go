package suite

import (
	"math"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// TestSizeFollowsTheCurve holds generated suites to the sampler's estimate and to the curve that it leans to.
func TestSizeFollowsTheCurve(t *testing.T) {
	turns := []int{0, 10, 25, 50, 100}
	const seeds = 6
	for _, turn := range turns {
		sum, far := 0.0, 0.0
		for seed := uint64(1); seed <= seeds; seed++ {
			sc := scenarioOf(t, seed, turns[len(turns)-1])
			have := float64(suiteOf(t, sc, turn).Requests())
			sum += have
			estimate := sc.Steps[turn].Schema.ExpectedSize()
			far = max(far, math.Abs(estimate-have)/have)
			t.Logf("%.2f", estimate/have)
		}
		mean, want := sum/seeds, scenario.TargetSize(turn)
		if far > 0.3 {
			t.Errorf("turn %d: an estimate is off by %.0f %%", turn, 100*far)
		}
		if mean < 0.75*want || mean > 1.25*want {
			t.Errorf("turn %d: %.0f requests on the average, the curve says %.0f", turn, mean, want)
		}
		t.Logf("turn %d: %.0f requests on the average, the curve says %.0f, estimates off by at most %.0f %%", turn, mean, want, 100*far)
	}
}
