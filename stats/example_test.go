package stats_test

import (
	"fmt"

	"github.com/stint-bench/stint/stats"
)

func ExampleSignedRank() {
	// Eleven scenarios with a difference, nine without.
	d := []float64{1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, -95}
	r, err := stats.SignedRank(d, stats.SignedRankOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("W+ = %v, W- = %v, p = %s (%d/2^%d)\n", r.WPlus, r.WMinus, stats.FormatP(r.P), r.PCount, r.PLog2)
	fmt.Printf("with the zeros ranked: p = %s\n", stats.FormatP(r.Other))
	fmt.Printf("least p with %d non-zero differences: %s\n", r.NonZero, stats.FormatP(r.MinP))
	// Output:
	// W+ = 55, W- = 11, p = 0.0557 (57/2^10)
	// with the zeros ranked: p = 0.0117
	// least p with 11 non-zero differences: 0.00098
}

func ExampleFamily() {
	tests := []stats.Test{
		{ID: "none - detailed", P: 0.002, MinP: 0.0001},
		{ID: "minimal - detailed", P: 0.03, MinP: 0.0002},
		{ID: "short - detailed", P: 0.0625, MinP: 0.0625}, // five scenarios
		{ID: "stopped - detailed", P: 1, MinP: 1},         // not tested, still counts
	}
	f, err := stats.Family(tests, stats.FamilyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, t := range tests {
		fmt.Printf("%-19s adjusted %.3f, significant %v, possible %v\n", t.ID, f.Adjusted[i], f.Reject[i], !f.Cannot[i])
	}
	fmt.Printf("%d tests need %d scenarios with a difference\n", f.M, f.NeedNonZero)
	// Output:
	// none - detailed     adjusted 0.008, significant true, possible true
	// minimal - detailed  adjusted 0.090, significant false, possible true
	// short - detailed    adjusted 0.125, significant false, possible false
	// stopped - detailed  adjusted 1.000, significant false, possible false
	// 4 tests need 8 scenarios with a difference
}

func ExampleBootstrapMean() {
	turns := []float64{5, 4, 6, 5, 3, 5, 6, 4, 5, 5, 7, 5, 4, 6, 5, 5, 4, 5, 6, 100}
	for _, kind := range []stats.BootstrapKind{stats.Percentile, stats.BCa, stats.ExpandedBCa} {
		r, err := stats.BootstrapMean(turns, stats.BootstrapOptions{Kind: kind})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.2f, %.2f to %.2f (%s)\n", r.Mean, r.Interval.Lo, r.Interval.Hi, r.Interval.Method)
	}
	// Output:
	// 9.75, 4.70 to 19.45 (percentile, exact bootstrap)
	// 9.75, 4.85 to 28.90 (BCa, exact bootstrap)
	// 9.75, 4.85 to 33.55 (expanded BCa, exact bootstrap)
}

func ExampleComparePair() {
	turnsA := []float64{31, 44, 12, 60, 25, 18, 71, 33, 9, 40}
	turnsB := []float64{5, 7, 12, 11, 4, 2, 15, 6, 12, 8}
	var a, b []stats.Outcome
	for i := range turnsA {
		scenario := fmt.Sprintf("s%d", i)
		a = append(a, stats.Outcome{Scenario: scenario, Value: turnsA[i]})
		b = append(b, stats.Outcome{Scenario: scenario, Value: turnsB[i]})
	}
	r, err := stats.ComparePair(a, b, stats.ComparePairOptions{Cap: 101})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("A ahead in %d, level in %d, behind in %d of %d scenarios\n", r.Ahead, r.Level, r.Behind, r.N)
	fmt.Printf("means %.1f and %.1f, difference %.1f (%.1f to %.1f)\n", r.MeanA, r.MeanB, r.Diff, r.DiffCI.Lo, r.DiffCI.Hi)
	fmt.Printf("%s: p = %s, with zeros ranked %s\n", r.TestName, stats.FormatP(r.P), stats.FormatP(r.POtherZero))
	fmt.Printf("typical difference %.1f turns (%.1f to %.1f)\n", r.HL.Estimate, r.HL.Interval.Lo, r.HL.Interval.Hi)
	// Output:
	// A ahead in 8, level in 1, behind in 1 of 10 scenarios
	// means 34.3 and 8.2, difference 26.1 (12.5 to 39.3)
	// exact Wilcoxon signed rank: p = 0.0078, with zeros ranked 0.0078
	// typical difference 26.5 turns (12.0 to 40.5)
}
