package stats

import (
	"fmt"
	"math"
	"slices"
)

// UnpairedResult compares all n m combinations of two independent samples. For
// configurations on the same scenarios it throws the pairing away; the paired
// results of [ComparePair] are the ones to report.
type UnpairedResult struct {
	N, M        int
	U           float64 // pairs with X above Y, ties half (Mann & Whitney 1947)
	A12         float64 // U/(nm): P(X > Y) + P(X = Y)/2 (Vargha & Delaney 2000)
	CliffDelta  float64 // 2 A12 - 1
	P           float64 // two-sided, exact with ties up to n m = 2500, else PNormal
	Exact       bool
	Z, PNormal  float64 // normal approximation, variance corrected for ties, no continuity correction
	PContinuity float64 // with continuity correction
}

// Unpaired computes the Mann-Whitney test and unpaired effect sizes. The exact
// p is the probability, given the ties, of a rank sum at least as far from its
// mean.
func Unpaired(x, y []float64) (UnpairedResult, error) {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return UnpairedResult{}, fmt.Errorf("comparing %d with %d values", n, m)
	}
	for side, v := range [][]float64{x, y} {
		if err := checkFinite("value", v); err != nil {
			return UnpairedResult{}, fmt.Errorf("comparing unpaired samples: side %c: %w", 'A'+side, err)
		}
	}
	all := slices.Concat(x, y)
	order := ascending(all)
	doubled := make([]int64, len(all)) // midranks, doubled, ascending
	sumX, ties := int64(0), 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[order[j]] == all[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			doubled[k] = int64(i + j + 1)
			if order[k] < n {
				sumX += doubled[k]
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	nf, mf := float64(n), float64(m)
	r := UnpairedResult{N: n, M: m, P: 1, PNormal: 1, PContinuity: 1}
	r.U = (float64(sumX) - nf*(nf+1)) / 2
	r.A12 = r.U / (nf * mf)
	r.CliffDelta = 2*r.A12 - 1
	total := nf + mf
	if sd := math.Sqrt(nf * mf / 12 * (total + 1 - ties/(total*math.Max(total-1, 1)))); sd > 0 {
		dev := r.U - nf*mf/2
		r.Z = dev / sd
		atLeast := math.SmallestNonzeroFloat64
		r.PNormal = math.Max(math.Min(1, 2*normalCDF(-math.Abs(r.Z))), atLeast)
		r.PContinuity = math.Max(math.Min(1, 2*normalCDF(-math.Max(math.Abs(dev)-0.5, 0)/sd)), atLeast)
	}
	r.P = r.PNormal
	const largest = 2500
	if n*m <= largest {
		r.P, r.Exact = math.Max(rankSumP(doubled, n, sumX), math.SmallestNonzeroFloat64), true
	}
	return r, nil
}

// rankSumP returns P(|S - E| >= |s - E|) for the sum S of n of the scores drawn
// without replacement, by the shift algorithm over numbers of draws.
func rankSumP(scores []int64, n int, s int64) float64 {
	total := len(scores)
	low := int64(0)
	for _, v := range scores {
		low = max(low, v)
	}
	top := low * int64(n)
	// p[k][t]: probability that, of the scores so far, k were drawn with sum t.
	p := make([][]float64, n+1)
	for k := range p {
		p[k] = make([]float64, top+1)
	}
	p[0][0] = 1
	for i, v := range scores {
		left := float64(total - i)
		for k := min(i, n); k >= 0; k-- {
			take := float64(n-k) / left
			if take > 1 || take < 0 {
				continue
			}
			for t := top; t >= 0; t-- {
				q := p[k][t]
				if q == 0 {
					continue
				}
				if k < n && t+v <= top {
					p[k+1][t+v] += q * take
				}
				p[k][t] = q * (1 - take)
			}
		}
	}
	mean2 := int64(0) // twice the mean, times the number of scores
	for _, v := range scores {
		mean2 += v
	}
	// |t total - n sum| compared in whole numbers.
	distance := func(t int64) int64 {
		d := t*int64(total) - mean2*int64(n)
		return max(d, -d)
	}
	at := distance(s)
	sum := 0.0
	for t, q := range p[n] {
		if q > 0 && distance(int64(t)) >= at {
			sum += q
		}
	}
	return math.Min(1, sum)
}
