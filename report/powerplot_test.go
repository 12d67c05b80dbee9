package report

import (
	"strings"
	"testing"

	"github.com/stint-bench/stint/stats"
)

// TestPowerCurves: the model is fitted to a configuration with room above it, this study's point is in the table, and
// the sentence says what its other pairs cost.
func TestPowerCurves(t *testing.T) {
	f, ok, err := PowerCurves(mustCompare(t, harnesses(false), CompareOptions{Episodes: true}))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	present := 0
	for _, r := range rowsOf(t, f)[1:] {
		if r[6] == "true" {
			present++
			if r[0] != "3" || r[1] != "20" || !strings.Contains(f.Sentence, "from 15.") {
				t.Errorf("this study is %v; %s", r, f.Sentence)
			}
		}
	}
	if present != 1 || !strings.Contains(f.Sentence, "; 3 pairs need about 20, as many as this study has.") || !strings.Contains(f.Caption, "fitted to mini-swe") {
		t.Errorf("%d points of this study; %s %s", present, f.Sentence, f.Caption)
	}
	for name, set := range figureSets() {
		switch name {
		case "score", "no cap", "cap", "one", "zero", "empty", "unending":
			if _, ok, err := PowerCurves(mustCompare(t, set, CompareOptions{Episodes: name != "score"})); ok || err != nil {
				t.Errorf("%s: a figure of power, %v", name, err)
			}
		}
	}
}

// TestPowerSentences words what curves say, without simulating any.
func TestPowerSentences(t *testing.T) {
	point := func(n int, mean float64) stats.PowerPoint {
		return stats.PowerPoint{Scenarios: n, Mean: mean, Defined: mean < 101}
	}
	p := powerPlot{c: mustCompare(t, newSet(101), CompareOptions{Episodes: true}), base: 28.44, sizes: []int{6, 10, 20, 40}, present: 20, tests: []int{1, 3, 325}, own: 2,
		curves: [][]stats.PowerPoint{
			{point(6, 101), point(10, 80), point(20, 58), point(40, 47.8)},
			{point(6, 101), point(10, 95), point(20, 63), point(40, 50)},
			{point(6, 101), point(10, 101), point(20, 86.3), point(40, 64.6)},
		}}
	for _, c := range []struct {
		own, present int
		want         string
	}{
		{2, 20, "To tell 86.3 from 28.4 turns with 80 % power one pre-declared pair needs about 10 scenarios; 325 pairs need about 20, as many as this study has."},
		{2, 10, "With 10 scenarios and 325 pairs no difference from a baseline of 28.4 turns would be found in 80 % of repetitions; with 20 scenarios one of 58 turns would."},
		{1, 20, "To tell 63.0 from 28.4 turns with 80 % power one pre-declared pair needs about 18 scenarios; 3 pairs need about 20, as many as this study has."},
		{0, 40, "To tell 47.8 from 28.4 turns with 80 % power one pre-declared pair needs about 40 scenarios, as many as this study has."},
		{-1, 20, ""},
		{2, 0, ""},
	} {
		p.own, p.present = c.own, c.present
		if got := p.sentence(); got != c.want {
			t.Errorf("family %d, %d scenarios:\n got %s\nwant %s", c.own, c.present, got, c.want)
		}
	}
}
