package stats

import "testing"

// TestMeanBounds by hand: three runs of 4, 6 and 10 of 10 turns, the first ended
// by infrastructure.
func TestMeanBounds(t *testing.T) {
	o := []Outcome{
		{Scenario: "a", Value: 4, Cause: "infra"}, {Scenario: "b", Value: 6}, {Scenario: "c", Value: 10, Status: Capped},
	}
	r, err := MeanBounds(o, func(x Outcome) bool { return x.Cause == "infra" }, MeanOptions{Cap: 10})
	if err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "as run", r.AsRun.Mean, 20./3, 1e-12)
	nearAbs(t, "low", r.Low.Mean, 20./3, 1e-12)
	nearAbs(t, "high", r.High.Mean, 26./3, 1e-12)
	// Stopped in turn 4, before the failure at 6: of the two left at 6 one fails, so S = 1/2 from 6 to 10.
	nearAbs(t, "if unrelated", r.IfUnrelated.Mean, 8, 1e-12)
	if r.Ended != 1 || !r.IfUnrelated.Restricted || r.High.Full != 2 {
		t.Errorf("%+v", r)
	}
	if _, err := MeanBounds(o, func(Outcome) bool { return false }, MeanOptions{}); err == nil {
		t.Error("no cap")
	}
	if _, err := MeanBounds(nil, func(Outcome) bool { return false }, MeanOptions{Cap: 10}); err == nil {
		t.Error("no outcomes")
	}
}
