package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestClusterSEGolden: R sandwich and by hand (testdata).
func TestClusterSEGolden(t *testing.T) {
	c := golden(t, "bootstrap.json", 1, "cluster_se")[0]
	var in struct {
		Y       []float64
		Cluster []int
	}
	decode(t, c.Input, &in)
	var want struct {
		Mean  float64
		Naive float64 `json:"naive_se"`
		CR0   float64
		CR1   float64
	}
	decode(t, c.Expected, &want)
	var names []string
	for _, k := range in.Cluster {
		names = append(names, fmt.Sprint(k))
	}
	r, err := ClusterSE(in.Y, names, 0)
	if err != nil || !r.Defined || !r.Interval.Defined || r.DF != r.Clusters-1 {
		t.Fatalf("%+v, %v", r, err)
	}
	nearAbs(t, "mean", r.Mean, want.Mean, 1e-9)
	nearAbs(t, "naive", r.NaiveSE, want.Naive, 1e-9)
	nearAbs(t, "CR0", r.CR0, want.CR0, 1e-9)
	nearAbs(t, "CR1", r.CR1, want.CR1, 1e-9)
	if r, err = ClusterSE([]float64{1, 2}, []string{"a", "a"}, 0); err != nil || r.Defined || r.CR1 != 0 || r.Reason == "" {
		t.Errorf("one cluster: %+v, %v", r, err)
	}
	for _, err := range []error{second(ClusterSE(nil, nil, 0)), second(ClusterSE([]float64{1}, nil, 0)), second(ClusterSE([]float64{math.NaN()}, []string{"a"}, 0))} {
		if err == nil {
			t.Error("no error")
		}
	}
}

// TestSummaryGolden: R summary, mad and mean(trim) (testdata).
func TestSummaryGolden(t *testing.T) {
	c := golden(t, "bootstrap.json", 1, "summary")[0]
	var in struct{ X []float64 }
	decode(t, c.Input, &in)
	var want struct {
		Mean, SD, Median, MAD, Trim25, Trim10 float64
		Q                                     []float64
	}
	decode(t, c.Expected, &want)
	r, err := Summarize(in.X)
	if err != nil {
		t.Fatal(err)
	}
	sorted := slices.Clone(in.X)
	slices.Sort(sorted)
	for i, p := range []float64{0.025, 0.25, 0.5, 0.75, 0.975} {
		nearAbs(t, fmt.Sprint("quantile ", p), Quantile(sorted, p), want.Q[i], 1e-9)
	}
	nearAbs(t, "mean", r.Mean, want.Mean, 1e-9)
	nearAbs(t, "sd", r.SD, want.SD, 1e-9)
	nearAbs(t, "median", r.Quartiles[1], want.Median, 1e-9)
	nearAbs(t, "mad", r.MAD, want.MAD, 1e-9)
	nearAbs(t, "trimmed 25 %", r.InterquartileAvg, want.Trim25, 1e-9)
	nearAbs(t, "trimmed 10 %", TrimmedMean(in.X, 0.1), want.Trim10, 1e-9)
	if _, err := Summarize(nil); err == nil {
		t.Error("no values")
	}
}

// TestVarianceSplit recovers components that were put in, and by hand: values
// 0, 2 and 10, 12 have within-variance 2 and between (100 - 2)/2.
func TestVarianceSplit(t *testing.T) {
	var o []Outcome
	for i, v := range []float64{0, 2, 10, 12} {
		o = append(o, Outcome{Scenario: string(rune('a' + i/2)), Replicate: i, Value: v})
	}
	r, err := VarianceSplit(o, 0)
	if err != nil || !r.Defined {
		t.Fatalf("%+v, %v", r, err)
	}
	nearAbs(t, "within", r.Within, 2, 1e-12)
	nearAbs(t, "between", r.Between, 49, 1e-12)
	nearAbs(t, "worth", r.WorthOf(20, 2), 20*51./50, 1e-12)
	if r, err = VarianceSplit(o[:1], 0); err != nil || r.Defined || r.Reason == "" || r.WorthOf(3, 2) != 3 {
		t.Errorf("one run: %+v, %v", r, err)
	}
}

// TestMeanRatio: doubling one side doubles the ratio and its interval.
func TestMeanRatio(t *testing.T) {
	a, b := []float64{31, 44, 12, 60, 25, 18, 71, 33}, []float64{5, 7, 12, 11, 4, 2, 15, 6}
	twice := make([]float64, len(a))
	for i, v := range a {
		twice[i] = 2 * v
	}
	r, err := MeanRatio(a, b, BootstrapOptions{})
	if err != nil || !r.Defined || !(r.Interval.Lo < r.Ratio && r.Ratio < r.Interval.Hi) {
		t.Fatalf("%+v, %v", r, err)
	}
	nearAbs(t, "ratio", r.Ratio, 294./62, 1e-12)
	one, err := MeanRatio(a, a, BootstrapOptions{})
	if err != nil || one.Ratio != 1 || one.Interval.Lo != 1 || one.Interval.Hi != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	if two, err := MeanRatio(twice, a, BootstrapOptions{}); err != nil || two.Ratio != 2 {
		t.Errorf("%+v, %v", two, err)
	}
	if r, err = MeanRatio([]float64{0, 0, 0, 3}, b[:4], BootstrapOptions{}); err != nil || r.Defined || r.Reason == "" {
		t.Errorf("mostly zeros: %+v, %v", r, err)
	}
}
