package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Correction is a procedure that adjusts p-values for the size of a family.
type Correction int

const (
	Holm       Correction = iota // step-down Bonferroni; any dependence
	Bonferroni                   // M p
	Hochberg                     // step-up; needs positive dependence
	Hommel                       // closed Simes; needs positive dependence
	BH                           // false discovery rate, Benjamini & Hochberg
	BY                           // false discovery rate, Benjamini & Yekutieli; any dependence
	Sidak                        // 1 - (1 - p)^M
	HolmSidak                    // step-down Sidak
)

var correctionNames = [...]string{"Holm", "Bonferroni", "Hochberg", "Hommel", "BH", "BY", "Sidak", "Holm-Sidak"}

// String returns the usual name, such as "Holm" or "BH".
func (c Correction) String() string {
	if c < 0 || int(c) >= len(correctionNames) {
		return fmt.Sprintf("Correction(%d)", int(c))
	}
	return correctionNames[c]
}

// Adjust returns adjusted p-values in the order of the input; a hypothesis is
// rejected at level alpha iff its adjusted value is <= alpha. Values outside
// [0, 1] and NaN are errors: a test that could not be run belongs to its family
// with p = 1, leaving it out would shrink the family after looking.
func Adjust(p []float64, c Correction) ([]float64, error) {
	if c < 0 || int(c) >= len(correctionNames) {
		return nil, fmt.Errorf("adjusting p-values: unknown correction %d", int(c))
	}
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("adjusting p-values: value %d is %v, not in [0, 1]; enter a test that could not be run with 1", i, v)
		}
	}
	order := ascending(p)
	sorted := make([]float64, len(p))
	for k, i := range order {
		sorted[k] = p[i]
	}
	adjustSorted(sorted, c)
	out := make([]float64, len(p))
	for k, i := range order {
		out[i] = sorted[k]
	}
	return out, nil
}

// ascending returns the indexes of p in ascending order of value.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	return order
}

// adjustSorted adjusts ascending p-values in place.
func adjustSorted(p []float64, c Correction) {
	n := len(p)
	m := float64(n)
	switch c {
	case Holm:
		stepDown(p, func(k int, v float64) float64 { return float64(n-k) * v })
	case HolmSidak:
		stepDown(p, func(k int, v float64) float64 { return sidak(v, float64(n-k)) })
	case Bonferroni:
		stepUp(p, func(_ int, v float64) float64 { return m * v })
	case Sidak:
		stepUp(p, func(_ int, v float64) float64 { return sidak(v, m) })
	case Hochberg:
		stepUp(p, func(k int, v float64) float64 { return float64(n-k) * v })
	case BH:
		stepUp(p, func(k int, v float64) float64 { return m * v / float64(k+1) })
	case BY:
		q := harmonic(n)
		stepUp(p, func(k int, v float64) float64 { return q * m * v / float64(k+1) })
	case Hommel:
		hommel(p)
	}
}

// stepDown replaces p[k] by the running maximum of f(k, p[k]).
func stepDown(p []float64, f func(int, float64) float64) {
	most := 0.0
	for k, v := range p {
		most = math.Max(most, math.Min(1, f(k, v)))
		p[k] = most
	}
}

// stepUp replaces p[k] by the running minimum of f(k, p[k]) from the end.
func stepUp(p []float64, f func(int, float64) float64) {
	least := 1.0
	for k := len(p) - 1; k >= 0; k-- {
		least = math.Min(least, f(k, p[k]))
		p[k] = least
	}
}

// sidak returns 1 - (1-p)^k without loss for small p.
func sidak(p, k float64) float64 { return -math.Expm1(k * math.Log1p(-p)) }

// harmonic returns 1 + 1/2 + ... + 1/n.
func harmonic(n int) float64 {
	h := 0.0
	for i := 1; i <= n; i++ {
		h += 1 / float64(i)
	}
	return h
}

// hommel adjusts ascending p-values by the closed Simes procedure (Hommel
// 1988), in the quadratic form of Wright (1992): the adjusted value is the
// largest Simes bound over the sizes j of intersection hypotheses.
func hommel(p []float64) {
	n := len(p)
	adjusted := slices.Clone(p)
	bound := make([]float64, n)
	for j := n; j >= 2; j-- {
		// The j-1 largest values compete with ranks 2..j.
		simes := math.Inf(1)
		for i := 2; i <= j; i++ {
			simes = math.Min(simes, float64(j)*p[n-j+i-1]/float64(i))
		}
		for k := range p {
			if k <= n-j {
				bound[k] = math.Min(float64(j)*p[k], simes)
			} else {
				bound[k] = bound[n-j]
			}
			adjusted[k] = math.Max(adjusted[k], bound[k])
		}
	}
	for k, v := range adjusted {
		p[k] = math.Min(1, v)
	}
}

// AdjustDiscrete is Holm's procedure with the discreteness of exact tests put
// to use (Westfall & Wolfinger 1997): instead of M-k+1 times p it adds the
// probabilities of the remaining tests to reach a p-value that small. attainable
// holds, for each test, its possible p-values in ascending order as
// [AttainableP] returns them; a test that could not be run has none and p = 1.
//
// It is never larger than Holm. That it controls the family-wise error for all
// pairs of configurations is simulated, not proved: show it beside Holm.
func AdjustDiscrete(p []float64, attainable [][]float64) ([]float64, error) {
	null := make([]Null, len(attainable))
	for i, a := range attainable {
		null[i] = NullOf(a)
	}
	return AdjustNull(p, null)
}

// A Null gives the probability, if there is no difference, that a test's p-value
// is at most t.
type Null func(t float64) float64

// NullOf is the null distribution of a test with these possible p-values,
// ascending, as [AttainableP] returns them.
func NullOf(attainable []float64) Null {
	return func(t float64) float64 { return discreteCDF(attainable, t) }
}

// BoundedNull bounds the null distribution of a valid test whose possible
// p-values are not written out: none is below minP, and none is more frequent
// than it says. With it in place of the exact distribution the discrete
// adjustment errs upward only.
func BoundedNull(minP float64) Null {
	return func(t float64) float64 {
		if t*(1+1e-12) < minP {
			return 0
		}
		return math.Min(1, t)
	}
}

// AdjustNull is [AdjustDiscrete] for tests whose null distributions are given as
// functions.
func AdjustNull(p []float64, null []Null) ([]float64, error) {
	if len(p) != len(null) {
		return nil, fmt.Errorf("discrete adjustment of %d p-values with %d null distributions", len(p), len(null))
	}
	if _, err := Adjust(p, Holm); err != nil {
		return nil, err
	}
	order := ascending(p)
	out := make([]float64, len(p))
	most := 0.0
	for k, i := range order {
		sum := 0.0
		for _, j := range order[k:] {
			sum += null[j](p[i])
		}
		most = math.Max(most, math.Min(1, sum))
		out[i] = most
	}
	return out, nil
}

// discreteCDF returns the null probability of a p-value <= t: of an exact test
// that is the largest attainable value <= t.
func discreteCDF(attainable []float64, t float64) float64 {
	// Values computed in different ways may differ in the last bits.
	k := sort.SearchFloat64s(attainable, math.Nextafter(t*(1+1e-12), 2))
	if k == 0 {
		if len(attainable) == 0 && t >= 1 {
			return 1
		}
		return 0
	}
	return attainable[k-1]
}

// AttainableP returns all p-values the exact signed-rank test of d can give
// over its sign patterns, ascending. It is the null distribution that
// [AdjustDiscrete] needs: P(p <= v) = v for every attainable v.
func AttainableP(d []float64, opt SignedRankOptions) ([]float64, error) {
	if len(d) == 0 {
		return nil, fmt.Errorf("attainable p of no differences")
	}
	if err := checkFinite("difference", d); err != nil {
		return nil, fmt.Errorf("attainable p: %w", err)
	}
	r := rankDifferences(d)
	ranks := r.ranks(opt.Zero)
	m := len(ranks)
	if m > maxExact {
		return nil, fmt.Errorf("attainable p: %d non-zero differences, exact distribution limited to %d", m, maxExact)
	}
	if m == 0 {
		return []float64{1}, nil
	}
	_, all := r.sums(ranks)
	g := ranks[0]
	for _, a := range ranks {
		g = gcd(g, a)
	}
	top := all / g
	factor := 1.0
	if opt.Alternative == TwoSided {
		top, factor = top/2, 2
	}
	c := make([]float64, top+1)
	shiftAll(c, ranks, g)
	var out []float64
	sum := 0.0
	for _, v := range c {
		if v > 0 {
			sum += v
			out = append(out, math.Min(1, factor*math.Ldexp(sum, -m)))
		}
	}
	return slices.Compact(out), nil
}
