package report

import (
	"math"
	"strconv"
	"testing"
)

// TestHazardNumbers holds that the figure of failure rates has the windows of the comparison, with intervals around
// their rates and edges that rise.
func TestHazardNumbers(t *testing.T) {
	c := mustCompare(t, harnesses(true), CompareOptions{Episodes: true})
	f, ok, err := Hazard(c)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	failed, tried := 0.0, 0.0
	for _, r := range rowsOf(t, f)[1:] {
		rate := number(r[4]) / number(r[5])
		if math.Abs(rate-number(r[6])) > 1e-12 || number(r[7]) > rate || number(r[8]) < rate {
			t.Errorf("a rate outside of its interval: %v", r)
		}
		if r[0] == "all" {
			if failed != 0 {
				t.Errorf("the windows before %s leave %v failed turns over", r[1], failed)
			}
			failed, tried = number(r[4]), number(r[5])
			continue
		}
		failed, tried = failed-number(r[4]), tried-number(r[5])
	}
	if failed != 0 || tried != 0 {
		t.Errorf("the last windows leave %v of %v turns over", failed, tried)
	}
	p := hazardPlot{windows: c.Configs[0].FailureRate.Windows}
	for k, e := range p.edges(10, 110) {
		if e[1] <= e[0] || e[1] > 110.001 || k > 0 && e[0] < p.edges(10, 110)[k-1][1] {
			t.Errorf("window %d lies at %v", k, e)
		}
	}
	if _, ok, _ := Hazard(mustCompare(t, figureSets()["score"], CompareOptions{})); ok {
		t.Error("scores have a failure rate")
	}
}

// TestRankIntervals: the first rank is at the top, and every rank lies in its interval.
func TestRankIntervals(t *testing.T) {
	f, ok, err := RankIntervals(mustCompare(t, harnesses(false), CompareOptions{Episodes: true}))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for i, r := range rowsOf(t, f)[1:] {
		if r[2] != strconv.Itoa(i+1) || r[3] > r[2] || r[4] < r[2] {
			t.Errorf("row %d: %v", i, r)
		}
	}
	if _, ok, _ := RankIntervals(mustCompare(t, onePair(9, []float64{1, 2}, []float64{3, 4}), CompareOptions{})); ok {
		t.Error("two configurations are ranked")
	}
}
