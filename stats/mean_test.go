package stats

import (
	"math"
	"strings"
	"testing"
)

func TestMeanTurns(t *testing.T) {
	x := []float64{31, 44, 12, 60, 25, 18, 71, 33, 9, 40, 52, 27, 14, 100, 22, 36, 48, 100, 30, 65}
	r, err := MeanTurns(capped(runs(x...), 100), MeanOptions{Cap: 100})
	if err != nil {
		t.Fatal(err)
	}
	b, err := BootstrapMean(x, BootstrapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Mean != 41.85 || r.Median != 34.5 || r.Interval != b.Interval || r.N != 20 || r.Scenarios != 20 || r.Full != 2 || r.Capped != 2 || r.Failed != 18 || r.Restricted {
		t.Errorf("%+v", r)
	}
}

// TestMeanTurnsRestrictedGolden: R's restricted mean of the same runs. The file
// enters stopped runs at their time; here they are given one turn more.
func TestMeanTurnsRestrictedGolden(t *testing.T) {
	for _, c := range golden(t, "survival.json", 7, "kaplan_meier") {
		if c.ID != "km_turns_early_stops" {
			continue
		}
		var in lifeInput
		decode(t, c.Input, &in)
		o := runs(in.Time...)
		for i := range o {
			if in.Status[i] == 0 && o[i].Value < 100 {
				o[i].Status = Stopped
				o[i].Value++
			}
		}
		r, err := MeanTurns(capped(o, 100), MeanOptions{Cap: 100, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "mean", r.Mean, 48.46898148148148, 1e-9) // R survfit rmean
		near(t, "median", r.Median, 40, 0)               // R survfit
		if !r.Restricted || r.Stopped != 4 || !r.MedianReached || !strings.HasPrefix(r.Interval.Method, "restricted mean, expanded BCa, 9999 resamples") {
			t.Errorf("%+v", r)
		}
		// R's standard error is 7.126: an interval of about 2 * 2.1 of them.
		if w := (r.Interval.Hi - r.Interval.Lo) / 7.1257576979885275; w < 3.4 || w > 5 || r.Interval.Lo > r.Mean || r.Interval.Hi < r.Mean {
			t.Errorf("interval %+v", r.Interval)
		}
		again, err := MeanTurns(capped(o, 100), MeanOptions{Cap: 100, Seed: 3})
		if err != nil || again.Interval != r.Interval {
			t.Errorf("again: %+v, %v", again.Interval, err)
		}
		return
	}
	t.Error("case not found")
}

// TestMeanTurnsNoStopsIsPlain: property 7 for the resampled statistic.
func TestMeanTurnsNoStopsIsPlain(t *testing.T) {
	o := capped(runs(3, 0, 12, 7, 7, 1, 0, 12), 12)
	g, err := groupOutcomes(o, 12)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := lifetimes(o, g)
	weight := []int{1, 1, 1, 1, 1, 1, 1, 1}
	nearAbs(t, "restricted mean", weightedRMST(l, weight, 12), 42./8, 1e-12)
}

func TestMeanTurnsEdges(t *testing.T) {
	const limit = 101
	// All at the cap: R binom.test(20, 20) has the lower end 0.8315665290169146.
	r, err := MeanTurns(capped(runs(constant(20, limit)...), limit), MeanOptions{Cap: limit})
	if err != nil || r.Mean != limit || r.Interval.Hi != limit || len(r.Warnings) != 0 || r.Full != 20 {
		t.Errorf("all capped: %+v, %v", r, err)
	}
	near(t, "lower end", r.Interval.Lo, limit*0.8315665290169146, 1e-9)
	// None passed the first turn: binom.test(0, 10) has the upper end 0.3085.
	r, err = MeanTurns(runs(constant(10, 0)...), MeanOptions{Cap: limit})
	if err != nil || r.Mean != 0 || r.Interval.Lo != 0 {
		t.Errorf("all zero: %+v, %v", r, err)
	}
	near(t, "upper end", r.Interval.Hi, limit*0.30849710781876083, 1e-9)
	// The same score everywhere, no cap: a point and a warning.
	r, err = MeanTurns(runs(constant(10, 7)...), MeanOptions{})
	if err != nil || r.Interval.Lo != 7 || r.Interval.Hi != 7 || codes(r.Warnings) != CodeDegenerate {
		t.Errorf("constant: %+v, %v", r, err)
	}
	// One scenario has no interval.
	r, err = MeanTurns(runs(7), MeanOptions{Cap: limit})
	if err != nil || r.Mean != 7 || r.Interval.Defined {
		t.Errorf("one: %+v, %v", r, err)
	}
	// Stopped everywhere: a lower bound and no interval.
	r, err = MeanTurns(withStatus(runs(3, 5), "SS"), MeanOptions{Cap: limit})
	if err != nil || r.Mean != 4 || r.Interval.Defined || !r.Restricted || codes(r.Warnings) != CodeTooManyStopped {
		t.Errorf("all stopped: %+v, %v", r, err)
	}
	// Stopped in the build: nothing is known of that run.
	r, err = MeanTurns(withStatus(runs(0, 5, 7, 9), "SFFF"), MeanOptions{Cap: limit})
	if err != nil || r.Mean != 7 || r.Median != 7 {
		t.Errorf("stopped in the build: %+v, %v", r, err)
	}
	// Half of the runs outlast what is known.
	r, err = MeanTurns(withStatus(runs(5, 101, 101, 60), "FCCS"), MeanOptions{Cap: limit})
	if err != nil || r.MedianReached || r.Median != limit {
		t.Errorf("median beyond: %+v, %v", r, err)
	}
	if _, err := MeanTurns(nil, MeanOptions{}); err == nil {
		t.Error("no outcomes: no error")
	}
	if _, err := MeanTurns(runs(math.NaN()), MeanOptions{}); err == nil {
		t.Error("NaN: no error")
	}
}

// TestMeanTurnsRepeats: scenarios weigh the same whatever their repeats.
func TestMeanTurnsRepeats(t *testing.T) {
	o := []Outcome{{Scenario: "a", Value: 2}, {Scenario: "a", Replicate: 1, Value: 3}, {Scenario: "a", Replicate: 2, Value: 3}, {Scenario: "b", Value: 9}, {Scenario: "c", Value: 1}}
	r, err := MeanTurns(o, MeanOptions{})
	if err != nil || r.N != 5 || r.Scenarios != 3 || !r.Interval.Defined || !strings.Contains(r.Interval.Method, "exact") {
		t.Errorf("%+v, %v", r, err)
	}
	nearAbs(t, "mean", r.Mean, (8./3+9+1)/3, 1e-12)
	nearAbs(t, "median", r.Median, 8./3, 1e-12)
}

func constant(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}
