package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// configurations draws k configurations on n scenarios that get better by step.
func configurations(k, n, repeats int, step float64) []Configuration {
	rng := rand.New(rand.NewPCG(uint64(k), uint64(n)))
	var out []Configuration
	for c := range k {
		x := Configuration{Name: fmt.Sprintf("c%02d", c)}
		for s := range n {
			for r := range repeats {
				v := math.Min(101, math.Floor(float64(rng.IntN(20))+step*float64(c)))
				o := Outcome{Scenario: fmt.Sprintf("s%02d", s), Replicate: r, Value: v}
				if v == 101 {
					o.Status = Capped
				}
				x.Outcomes = append(x.Outcomes, o)
			}
		}
		out = append(out, x)
	}
	return out
}

// TestResampledDifference: the common resamples give the interval of the paired
// difference, which the exact bootstrap knows.
func TestResampledDifference(t *testing.T) {
	configs := configurations(3, 20, 1, 5)
	r, err := ResampleScenarios(configs, ResampleOptions{Cap: 101, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ComparePair(configs[2].Outcomes, configs[0].Outcomes, ComparePairOptions{Cap: 101})
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Difference(2, 0, ExpandedBCa, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "difference", d.Mean, pair.Diff, 1e-12)
	nearAbs(t, "low", d.Interval.Lo, pair.DiffCI.Lo, 0.25)
	nearAbs(t, "high", d.Interval.Hi, pair.DiffCI.Hi, 0.25)
	same, err := r.Difference(1, 1, ExpandedBCa, 0)
	if err != nil || same.Interval.Lo != 0 || same.Interval.Hi != 0 || codes(same.Warnings) != CodeDegenerate {
		t.Errorf("%+v, %v", same, err)
	}
	for _, err := range []error{second(r.Difference(0, 3, BCa, 0)), second(r.Difference(0, 1, BCa, 2)), second(r.Ranks(2))} {
		if err == nil {
			t.Error("no error")
		}
	}
}

// TestRanks: clearly separated configurations have sure ranks, equal ones share
// theirs.
func TestRanks(t *testing.T) {
	configs := configurations(3, 20, 1, 30)
	configs = append(configs, Configuration{"twin", configs[0].Outcomes})
	r, err := ResampleScenarios(configs, ResampleOptions{Cap: 101, Resamples: 999})
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := r.Ranks(0.95)
	if err != nil {
		t.Fatal(err)
	}
	if x := ranks[2]; x.Rank != 1 || x.Lo != 1 || x.Hi != 1 || x.Probability[0] != 1 {
		t.Errorf("best: %+v", x)
	}
	for _, x := range []RankInterval{ranks[0], ranks[3]} {
		if x.Rank != 3.5 || x.Lo != 3 || x.Hi != 4 || math.Abs(x.Probability[2]-0.5) > 1e-9 || math.Abs(x.Probability[3]-0.5) > 1e-9 {
			t.Errorf("twin: %+v", x)
		}
	}
	noNaN(t, ranks)
}

// TestResampleTwoStage: redrawing repeats widens the distribution by the
// variance within scenarios.
func TestResampleTwoStage(t *testing.T) {
	configs := configurations(1, 15, 4, 0)
	one, err := ResampleScenarios(configs, ResampleOptions{Cap: 101, Resamples: 3000})
	if err != nil {
		t.Fatal(err)
	}
	two, err := ResampleScenarios(configs, ResampleOptions{Cap: 101, Resamples: 3000, TwoStage: true})
	if err != nil {
		t.Fatal(err)
	}
	within := 0.0 // mean over scenarios of the variance of runs
	for s := range 15 {
		var v []float64
		for _, o := range configs[0].Outcomes[4*s : 4*s+4] {
			v = append(v, o.Value)
		}
		sd := standardDeviation(v)
		within += sd * sd / 15
	}
	a, b := standardDeviation(one.Draws[0]), standardDeviation(two.Draws[0])
	near(t, "variance", b*b, a*a+within/4/15, 0.12)
	if one.Means[0] != two.Means[0] {
		t.Errorf("means %v and %v", one.Means, two.Means)
	}
	// A stopped run turns the mean into a restricted one, in both forms.
	configs[0].Outcomes[3].Status = Stopped
	for _, stage := range []bool{false, true} {
		r, err := ResampleScenarios(configs, ResampleOptions{Cap: 101, Resamples: 99, TwoStage: stage})
		if err != nil {
			t.Fatal(err)
		}
		m, err := MeanTurns(configs[0].Outcomes, MeanOptions{Cap: 101})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "restricted mean", r.Means[0], m.Mean, 1e-12)
	}
	if _, err := ResampleScenarios(nil, ResampleOptions{}); err == nil {
		t.Error("no configurations")
	}
	configs = append(configs, Configuration{"other", []Outcome{{Scenario: "elsewhere"}}})
	if _, err := ResampleScenarios(configs, ResampleOptions{}); err == nil {
		t.Error("no common scenario")
	}
}

// TestPairwise: all pairs, one family, groups that follow the decisions.
func TestPairwise(t *testing.T) {
	configs := configurations(4, 20, 1, 8)
	configs = append(configs, Configuration{"few", configs[0].Outcomes[:5]})
	r, err := Pairwise(configs, PairwiseOptions{Cap: 101})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Entries) != 10 || r.Family.M != 10 {
		t.Fatalf("%d pairs, M %d", len(r.Entries), r.Family.M)
	}
	for i, e := range r.Entries {
		refused := e.B == 4
		if (e.Refused != "") != refused || refused && (e.Result.P != 1 || e.Discrete != 1) {
			t.Errorf("%d-%d: %q p %v", e.A, e.B, e.Refused, e.Result.P)
		}
		if e.Discrete > r.Family.Adjusted[i]+1e-12 {
			t.Errorf("%d-%d: discrete %v above Holm %v", e.A, e.B, e.Discrete, r.Family.Adjusted[i])
		}
		together := false
		for _, g := range r.Groups {
			together = together || slices.Contains(g.Members, e.A) && slices.Contains(g.Members, e.B)
		}
		if together == r.Family.Reject[i] {
			t.Errorf("%d-%d: rejected %v, in one group %v", e.A, e.B, r.Family.Reject[i], together)
		}
	}
	noNaN(t, r)
	if _, err := Pairwise(configs[:1], PairwiseOptions{}); err == nil {
		t.Error("one configuration")
	}
	if _, err := Pairwise([]Configuration{configs[0], configs[0]}, PairwiseOptions{}); err == nil {
		t.Error("one name twice")
	}
}

// TestRankGroups by hand: 0 and 2 are alike, 1 is told apart from 2 only.
func TestRankGroups(t *testing.T) {
	different := [][]bool{{false, false, false}, {false, false, true}, {false, true, false}}
	g, err := RankGroups([]int{0, 1, 2}, different)
	if err != nil || len(g) != 2 || !slices.Equal(g[0].Members, []int{0, 1}) || !g[0].Contiguous || g[0].Letter != "a" || !slices.Equal(g[1].Members, []int{0, 2}) || g[1].Contiguous {
		t.Errorf("%+v, %v", g, err)
	}
	// All different: every one a group of its own.
	for i := range different {
		for j := range different {
			different[i][j] = i != j
		}
	}
	if g, err = RankGroups([]int{2, 0, 1}, different); err != nil || len(g) != 3 || g[0].Members[0] != 2 {
		t.Errorf("%+v, %v", g, err)
	}
	for _, order := range [][]int{{0, 0, 1}, {0, 1}, {0, 1, 5}} {
		if _, err := RankGroups(order, different); err == nil {
			t.Errorf("%v: no error", order)
		}
	}
	if letters(0) != "a" || letters(26) != "aa" || letters(52) != "ba" {
		t.Error(letters(26))
	}
}
