package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// LogRankOptions controls [LogRank].
type LogRankOptions struct {
	// Peto weights each time with the pooled survival just before it (Peto &
	// Peto 1972), so that early differences count more.
	Peto bool
}

// LogRankResult is the outcome of [LogRank].
type LogRankResult struct {
	Observed, Expected []float64   // per group, weighted with Peto
	Variance           [][]float64 // of Observed
	Chi2               float64
	DF                 int // groups that could have had events, less one
	P                  float64
	Defined            bool // false if no time has events with two groups at risk; P is then 1
	Reason             string
}

// LogRank is Mantel's test that groups 0..k-1 have the same survival. stratum
// is nil or the stratum of each run; runs are then compared within strata only.
//
// It ignores the pairing of scenarios unless stratified by scenario, and with
// one pair per stratum it is the sign test: for two configurations on the same
// scenarios use [ComparePair].
func LogRank(times []float64, event []bool, group, stratum []int, opt LogRankOptions) (LogRankResult, error) {
	n := len(times)
	if len(event) != n || len(group) != n || stratum != nil && len(stratum) != n {
		return LogRankResult{}, fmt.Errorf("log-rank: %d times, %d events, %d groups, %d strata", n, len(event), len(group), len(stratum))
	}
	if n == 0 {
		return LogRankResult{}, fmt.Errorf("log-rank test of no times")
	}
	if err := checkFinite("time", times); err != nil {
		return LogRankResult{}, fmt.Errorf("log-rank: %w", err)
	}
	const maxGroups = 1000
	k := 0
	for i, g := range group {
		if g < 0 || g >= maxGroups {
			return LogRankResult{}, fmt.Errorf("log-rank: group %d of run %d is not between 0 and %d", g, i, maxGroups-1)
		}
		k = max(k, g+1)
	}
	r := LogRankResult{Observed: make([]float64, k), Expected: make([]float64, k), Variance: make([][]float64, k), P: 1}
	for g := range r.Variance {
		r.Variance[g] = make([]float64, k)
	}
	order := ascending(times)
	if stratum == nil {
		r.stratum(times, event, group, order, opt)
	} else {
		var keys []int
		members := make(map[int][]int)
		for _, i := range order {
			if members[stratum[i]] == nil {
				keys = append(keys, stratum[i])
			}
			members[stratum[i]] = append(members[stratum[i]], i)
		}
		for _, key := range keys { // first-seen order: the same bits for the same input
			r.stratum(times, event, group, members[key], opt)
		}
	}
	r.test()
	return r, nil
}

// stratum adds one stratum, its runs in order of time.
func (r *LogRankResult) stratum(times []float64, event []bool, group, order []int, opt LogRankOptions) {
	k := len(r.Observed)
	atRisk, failed := make([]float64, k), make([]float64, k)
	for _, i := range order {
		atRisk[group[i]]++
	}
	n, surv := float64(len(order)), 1.0
	for i := 0; i < len(order); {
		clear(failed)
		d, j := 0.0, i
		for ; j < len(order) && times[order[j]] == times[order[i]]; j++ {
			if event[order[j]] {
				failed[group[order[j]]]++
				d++
			}
		}
		if d > 0 {
			w := 1.0
			if opt.Peto {
				w = surv
			}
			for g := range failed {
				r.Observed[g] += w * failed[g]
				r.Expected[g] += w * d * atRisk[g] / n
			}
			if n > 1 {
				v := w * w * d * (n - d) / (n - 1)
				for g := range failed {
					r.Variance[g][g] += v * atRisk[g] / n
					for h := range failed {
						r.Variance[g][h] -= v * atRisk[g] / n * atRisk[h] / n
					}
				}
			}
			surv *= (n - d) / n
		}
		for ; i < j; i++ {
			atRisk[group[order[i]]]--
			n--
		}
	}
}

// test computes the statistic from all groups with events expected but one.
func (r *LogRankResult) test() {
	var used []int
	for g, e := range r.Expected {
		if e > 0 && r.Variance[g][g] > 0 {
			used = append(used, g)
		}
	}
	r.DF = len(used) - 1
	if r.DF < 1 {
		r.DF, r.Reason = 0, "no time has events with two groups at risk"
		return
	}
	v := mat.NewSymDense(r.DF, nil)
	diff := mat.NewVecDense(r.DF, nil)
	for i, g := range used[:r.DF] {
		diff.SetVec(i, r.Observed[g]-r.Expected[g])
		for j, h := range used[:r.DF] {
			v.SetSym(i, j, r.Variance[g][h])
		}
	}
	var c mat.Cholesky
	var x mat.VecDense
	if !c.Factorize(v) || c.SolveVecTo(&x, diff) != nil {
		r.Reason = "the groups are never at risk together"
		return
	}
	r.Chi2 = mat.Dot(diff, &x)
	r.P = math.Max(chiSquareTail(r.Chi2, float64(r.DF)), math.SmallestNonzeroFloat64)
	r.Defined = true
}
