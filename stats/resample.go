package stats

import (
	"math"
	"math/rand/v2"
)

// resamples returns the number of resamples, 9999 for 0 or less.
func resamples(b int) int {
	if b <= 0 {
		return defaultResamples
	}
	return b
}

// scenarioWeights draws b resamples of n scenarios: how often each scenario is
// in each resample. One such matrix serves every statistic that is to be
// compared with another one.
func scenarioWeights(n, b int, rng *rand.Rand) [][]int {
	flat := make([]int, n*b)
	w := make([][]int, b)
	for i := range w {
		w[i] = flat[i*n : (i+1)*n : (i+1)*n]
		for range n {
			w[i][rng.IntN(n)]++
		}
	}
	return w
}

// orderStatistic returns the ceil((b+1) p)-th of b ascending values.
func orderStatistic(sorted []float64, p float64) float64 {
	b := len(sorted)
	k := int(math.Ceil(float64(b+1)*p - 1e-9))
	return sorted[min(max(k, 1), b)-1]
}

// restrictedMean returns the mean of weighted scenarios: of the scenarios'
// means or, if a run was stopped, the restricted mean of all runs.
func restrictedMean(o []Outcome, groups []group, tau float64) func(weight []int) float64 {
	means := make([]float64, len(groups))
	stopped := 0
	var v []float64
	for u, g := range groups {
		var s int
		v, _, s = gather(v[:0], o, g)
		stopped += s
		means[u] = mean(v)
	}
	if stopped > 0 && stopped < len(o) {
		l, largest := lifetimes(o, groups)
		if tau <= 0 {
			tau = largest
		}
		return func(weight []int) float64 { return weightedRMST(l, weight, tau) }
	}
	return func(weight []int) float64 {
		sum, n := 0.0, 0
		for u, w := range weight {
			sum += float64(w) * means[u]
			n += w
		}
		return sum / float64(n)
	}
}
