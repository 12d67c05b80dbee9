package stats

import (
	"fmt"
	"math"
	"testing"
)

// TestLogRankGolden: R survdiff (testdata), two and three groups, Peto,
// stratified.
func TestLogRankGolden(t *testing.T) {
	for _, c := range golden(t, "survival.json", 8, "logrank") {
		var in struct {
			Groups     []struct{ Time, Status []float64 }
			Rho        float64
			Stratified bool
		}
		decode(t, c.Input, &in)
		var want struct {
			Observed, Expected, Var []float64
			Chi2, DF, P             float64
		}
		decode(t, c.Expected, &want)
		var times []float64
		var event []bool
		var group, stratum []int
		for g, x := range in.Groups {
			for i := range x.Time {
				times, event, group = append(times, x.Time[i]), append(event, x.Status[i] == 1), append(group, g)
				if in.Stratified {
					stratum = append(stratum, i)
				}
			}
		}
		r, err := LogRank(times, event, group, stratum, LogRankOptions{Peto: in.Rho == 1})
		if err != nil {
			t.Fatal(err)
		}
		for g := range in.Groups {
			near(t, fmt.Sprint(c.ID, " observed ", g), r.Observed[g], want.Observed[g], 1e-9)
			near(t, fmt.Sprint(c.ID, " expected ", g), r.Expected[g], want.Expected[g], 1e-9)
			for h := range in.Groups {
				near(t, fmt.Sprint(c.ID, " variance ", g, h), r.Variance[g][h], want.Var[g*len(in.Groups)+h], 1e-9)
			}
		}
		near(t, c.ID+" chi2", r.Chi2, want.Chi2, 1e-9)
		near(t, c.ID+" p", r.P, want.P, 1e-9)
		if !r.Defined || float64(r.DF) != want.DF {
			t.Errorf("%s: df %d", c.ID, r.DF)
		}
	}
}

func TestLogRankEdges(t *testing.T) {
	r, err := LogRank([]float64{1, 2}, []bool{true, true}, []int{0, 0}, nil, LogRankOptions{})
	if err != nil || r.Defined || r.P != 1 || r.Reason == "" {
		t.Errorf("one group: %+v, %v", r, err)
	}
	// Two groups in strata of their own are never compared.
	r, err = LogRank([]float64{1, 2, 3, 4}, []bool{true, true, true, true}, []int{0, 0, 1, 1}, []int{0, 0, 1, 1}, LogRankOptions{})
	if err != nil || r.Defined || r.P != 1 {
		t.Errorf("separate strata: %+v, %v", r, err)
	}
	for name, err := range map[string]error{
		"none":    second(LogRank(nil, nil, nil, nil, LogRankOptions{})),
		"lengths": second(LogRank([]float64{1}, []bool{true}, []int{0}, []int{0, 1}, LogRankOptions{})),
		"group":   second(LogRank([]float64{1}, []bool{true}, []int{-1}, nil, LogRankOptions{})),
		"NaN":     second(LogRank([]float64{math.NaN()}, []bool{true}, []int{0}, nil, LogRankOptions{})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestHazardGolden: R chisq.test and binom.test on windows of turns (testdata).
func TestHazardGolden(t *testing.T) {
	for _, c := range golden(t, "survival.json", 2, "hazard_windows") {
		var in struct {
			Failures []float64
			Turns    []float64 `json:"turns_at_risk"`
		}
		decode(t, c.Input, &in)
		var want struct {
			Chi2, DF, P, Pooled float64
			Hazard, Lo, Hi      []float64
		}
		decode(t, c.Expected, &want)
		var failures, turns []int
		for i := range in.Failures {
			failures, turns = append(failures, int(in.Failures[i])), append(turns, int(in.Turns[i]))
		}
		r, err := HazardRates(failures, turns, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.ID+" chi2", r.Chi2, want.Chi2, 1e-9)
		near(t, c.ID+" p", r.P, want.P, 1e-9)
		near(t, c.ID+" df", float64(r.DF), want.DF, 0)
		near(t, c.ID+" pooled", r.Pooled, want.Pooled, 1e-9)
		for i, w := range r.Windows {
			near(t, fmt.Sprint(c.ID, " rate ", i), w.Rate, want.Hazard[i], 1e-9)
			near(t, fmt.Sprint(c.ID, " low ", i), w.Interval.Lo, want.Lo[i], 1e-9)
			near(t, fmt.Sprint(c.ID, " high ", i), w.Interval.Hi, want.Hi[i], 1e-9)
		}
	}
}

// TestHazards counts tried turns by hand: one run failed the build, one failed
// turn 3, one was stopped after 7 turns, one passed all 101.
func TestHazards(t *testing.T) {
	o := []Outcome{
		{Scenario: "a", Value: 0}, {Scenario: "b", Value: 3},
		{Scenario: "c", Value: 7, Status: Stopped}, {Scenario: "d", Value: 101, Status: Capped},
	}
	r, err := Hazards(o, HazardOptions{Cap: 101})
	if err != nil {
		t.Fatal(err)
	}
	want := []HazardWindow{{From: 0, To: 0, Failures: 1, AtRisk: 4}, {From: 1, To: 5, Failures: 1, AtRisk: 3 + 5 + 5}, {From: 6, To: 20, AtRisk: 1 + 15}, {From: 21, To: 50, AtRisk: 30}, {From: 51, To: 100, AtRisk: 50}}
	if len(r.Windows) != len(want) {
		t.Fatalf("%+v", r.Windows)
	}
	for i, w := range r.Windows {
		w.Rate, w.Interval = 0, Interval{}
		if w != want[i] {
			t.Errorf("window %d: %+v, want %+v", i, w, want[i])
		}
	}
	nearAbs(t, "pooled", r.Pooled, 2./113, 1e-15)
	noNaN(t, r)
	if r, err = Hazards([]Outcome{{Scenario: "a", Value: 101, Status: Capped}}, HazardOptions{Cap: 101}); err != nil || r.ImpliedMean != 101 || r.P != 1 {
		t.Errorf("no failure: %+v, %v", r, err)
	}
	for name, opt := range map[string]HazardOptions{"order": {Windows: [][2]int{{5, 6}, {1, 2}}}, "empty": {Windows: [][2]int{{5, 4}}}, "level": {Level: 3}} {
		if _, err := Hazards(o, opt); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Hazards([]Outcome{{Scenario: "a", Value: 0.5}}, HazardOptions{}); err == nil {
		t.Error("half a turn")
	}
}

// TestConstantHazardMean against the sum of survival.
func TestConstantHazardMean(t *testing.T) {
	for _, h := range []float64{0.001, 0.013, 0.139, 0.5, 1} {
		sum, s := 0.0, 1.0
		for range 101 {
			s *= 1 - h
			sum += s
		}
		nearAbs(t, fmt.Sprint(h), ConstantHazardMean(h, 101), sum, 1e-9)
	}
	nearAbs(t, "no cap", ConstantHazardMean(0.2, 0), 4, 1e-12)
	nearAbs(t, "no failure", ConstantHazardMean(0, 101), 101, 0)
}
