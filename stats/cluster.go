package stats

import (
	"fmt"
	"math"
)

// ClusterResult is the mean of values that come in clusters.
type ClusterResult struct {
	N, Clusters int
	Mean        float64
	NaiveSE     float64 // as if all values were independent
	CR0, CR1    float64 // clustered standard errors; CR1 = CR0 sqrt(C/(C-1))
	DF          int     // C - 1
	Interval    Interval
	Defined     bool // false with fewer than two clusters, whose error is unknown, not 0
	Reason      string
}

// ClusterSE returns the mean of y and its standard error if values of the same
// cluster depend on each other (Liang & Zeger 1986; Miller 2024), with Student's
// interval from CR1 on C - 1 degrees of freedom.
func ClusterSE(y []float64, cluster []string, level float64) (ClusterResult, error) {
	level, err := checkLevel(level)
	if err != nil {
		return ClusterResult{}, fmt.Errorf("clustered standard error: %w", err)
	}
	if len(y) != len(cluster) {
		return ClusterResult{}, fmt.Errorf("clustered standard error: %d values in %d clusters", len(y), len(cluster))
	}
	if len(y) == 0 {
		return ClusterResult{}, fmt.Errorf("clustered standard error of no values")
	}
	if err := checkFinite("value", y); err != nil {
		return ClusterResult{}, fmt.Errorf("clustered standard error: %w", err)
	}
	n := float64(len(y))
	r := ClusterResult{N: len(y), Mean: mean(y)}
	sums := make(map[string]float64)
	var names []string
	squares := 0.0
	for i, v := range y {
		if _, ok := sums[cluster[i]]; !ok {
			names = append(names, cluster[i])
		}
		sums[cluster[i]] += v - r.Mean
		squares += (v - r.Mean) * (v - r.Mean)
	}
	r.Clusters, r.DF = len(names), len(names)-1
	const method = "Student's t, clustered"
	if r.Clusters < 2 {
		r.Reason = "one cluster has no standard error"
		r.Interval = undefined(level, method, "%s", r.Reason)
		return r, nil
	}
	meat := 0.0
	for _, name := range names {
		meat += sums[name] * sums[name]
	}
	c := float64(r.Clusters)
	r.NaiveSE = math.Sqrt(squares / (n - 1) / n)
	r.CR0 = math.Sqrt(meat) / n
	r.CR1 = r.CR0 * math.Sqrt(c/(c-1))
	half := -studentQuantile((1-level)/2, c-1) * r.CR1
	r.Interval = Interval{Lo: r.Mean - half, Hi: r.Mean + half, Level: level, Method: method, Defined: true}
	r.Defined = true
	return r, nil
}

// VarianceResult splits the variance of runs.
type VarianceResult struct {
	Runs, Scenarios int
	Between, Within float64 // variance components: of scenarios, and of runs of one scenario
	ICC             float64 // Between / (Between + Within); 0 if both are 0
	Defined         bool    // false without repeats or with one scenario
	Reason          string
}

// VarianceSplit estimates how much of the variance of runs lies between
// scenarios and how much within, by one-way analysis of variance; a negative
// component is 0. It needs repeats and takes the values as they are: capped
// runs count as the cap.
func VarianceSplit(o []Outcome, limit float64) (VarianceResult, error) {
	groups, err := groupOutcomes(o, limit)
	if err != nil {
		return VarianceResult{}, fmt.Errorf("variance split: %w", err)
	}
	r := VarianceResult{Runs: len(o), Scenarios: len(groups)}
	if r.Scenarios < 2 || r.Runs == r.Scenarios {
		r.Reason = "it takes two scenarios and repeats to tell scenarios from runs"
		return r, nil
	}
	n, k := float64(r.Runs), float64(r.Scenarios)
	grand, sizes2 := 0.0, 0.0
	for _, i := range inOrder(groups) {
		grand += o[i].Value / n
	}
	between, within := 0.0, 0.0 // sums of squares
	var v []float64
	for _, g := range groups {
		v, _, _ = gather(v[:0], o, g)
		m := mean(v)
		size := float64(len(v))
		between += size * (m - grand) * (m - grand)
		for _, x := range v {
			within += (x - m) * (x - m)
		}
		sizes2 += size * size
	}
	r.Within = within / (n - k)
	typical := (n - sizes2/n) / (k - 1) // runs per scenario, adjusted for unequal numbers
	r.Between = math.Max(0, (between/(k-1)-r.Within)/typical)
	if all := r.Between + r.Within; all > 0 {
		r.ICC = r.Between / all
	}
	r.Defined = true
	return r, nil
}

// WorthOf returns how many scenarios with one run each give a mean as precise
// as n scenarios with r runs each.
func (v VarianceResult) WorthOf(n, runs int) float64 {
	if !v.Defined || runs < 1 {
		return float64(n)
	}
	each := v.Between + v.Within/float64(runs)
	if each == 0 {
		return float64(n)
	}
	return float64(n) * (v.Between + v.Within) / each
}
