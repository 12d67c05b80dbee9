package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Decisions of a [Plateau].
const (
	PlateauFound     = "plateau"   // proved: further retries add at most eps of the full mean
	PlateauRising    = "rising"    // the last step of the budget still adds more than that
	PlateauUndecided = "undecided" // the estimate says plateau, its bound does not
)

// defaultEps is the share of the mean at the full budget that may be missing.
const defaultEps = 0.05

// A Plateau answers from which budget on further retries add little: the gap
// to the full budget is at most eps times the mean there.
type Plateau struct {
	Decision string    // PlateauFound, PlateauRising or PlateauUndecided
	At       int       // least budget whose upper bound is within the limit; -1 unless Decision is PlateauFound
	PointAt  int       // least budget whose estimated gap is within the limit
	Upper    []float64 // upper bound of the gap per budget, one-sided; 0 at the full budget
	Limit    float64   // eps times the mean at the full budget
	Least    float64   // smallest bound this number of scenarios can give: all gaps zero
	Need     int       // scenarios from which on a record without any gap is accepted; 0 if none are
	Level    float64   // of the bounds
	Method   string
}

// plateauLevel is the level of the one-sided bounds.
const plateauLevel = 0.95

// plateau decides. Budgets are walked from the full one downwards until a bound
// is above the limit; the gaps are ordered, so each may be tested at the full
// level.
func (c *RetryCurve) plateau(outcomes [][]Outcome, groups []group, opt RetryOptions) {
	full := c.Points[opt.R].Mean
	p := Plateau{
		At: -1, PointAt: opt.R, Upper: make([]float64, opt.R+1), Limit: opt.Eps * full, Level: plateauLevel,
		Least:  opt.Cap * -math.Expm1(math.Log(1-plateauLevel)/float64(len(groups))),
		Need:   scenariosForPlateau(opt.Eps*full, opt.Cap),
		Method: "Gaffke's bound of the gap to the full budget (coverage conjectured in general), fixed-sequence walk",
	}
	for r := opt.R; r >= 0; r-- {
		if full-c.Points[r].Mean <= p.Limit {
			p.PointAt = r
		}
	}
	accepted := opt.R
	for r := opt.R - 1; r >= 0; r-- {
		p.Upper[r] = gaffkeQuantile(gaps(outcomes[r], outcomes[opt.R], groups, opt.Cap), opt.Cap, plateauLevel)
		if accepted == r+1 && p.Upper[r] <= p.Limit {
			accepted = r
		}
	}
	switch {
	case opt.R == 0:
		p.Decision = PlateauUndecided
		p.Method = "no retries, nothing to compare"
	case accepted < opt.R:
		p.Decision, p.At = PlateauFound, accepted
	case p.PointAt == opt.R:
		p.Decision = PlateauRising
	default:
		p.Decision = PlateauUndecided
	}
	c.Plateau = p
}

// gaps returns the mean gap of each scenario between two budgets. A run that
// was stopped may have had all the remaining turns before it.
func gaps(low, full []Outcome, groups []group, limit float64) []float64 {
	out := make([]float64, len(groups))
	for u, g := range groups {
		for _, k := range g.index {
			top := full[k].Value
			if full[k].Status == Stopped {
				top = limit
			}
			out[u] += (top - low[k].Value) / float64(len(g.index))
		}
	}
	return out
}

// scenariosForPlateau returns the least n with limit >= cap (1 - 0.05^(1/n)).
func scenariosForPlateau(limit, most float64) int {
	if !(limit > 0) {
		return 0
	}
	if limit >= most {
		return 1
	}
	n := math.Log(1-plateauLevel) / math.Log1p(-limit/most)
	if n > math.MaxInt32 {
		return 0
	}
	return int(math.Ceil(n - 1e-9))
}

// GaffkeBound returns Gaffke's (2005) one-sided upper bound, at the given level
// (0: 0.95), for the mean of a distribution on [0, top] from the sample x: the
// quantile of sum D_i x_i + D_(n+1) top with D uniform on the simplex of n+1
// parts. If all x are 0 or top it is top times the Clopper-Pearson bound. Its
// coverage is proved for such samples and conjectured otherwise
// (Learned-Miller & Thomas 2019); unlike a bootstrap it knows that rare large
// values may not have been seen.
func GaffkeBound(x []float64, top, level float64) (float64, error) {
	level, err := checkLevel(level)
	if err != nil {
		return 0, fmt.Errorf("bound of a mean: %w", err)
	}
	if len(x) == 0 {
		return 0, fmt.Errorf("bound of the mean of no values")
	}
	if err := checkFinite("value", x); err != nil {
		return 0, fmt.Errorf("bound of a mean: %w", err)
	}
	for i, v := range x {
		if !(v >= 0 && v <= top) {
			return 0, fmt.Errorf("bound of a mean: value %d is %v, not between 0 and %v", i, v, top)
		}
	}
	return gaffkeQuantile(x, top, level), nil
}

// gaffkeQuantile bisects the distribution function of the weighted sum.
func gaffkeQuantile(x []float64, top, level float64) float64 {
	const maxKnots = 500
	knots := append(slices.Clone(x), top)
	slices.Sort(knots)
	cdf := func(t float64) float64 { return simplexMeanByInversion(knots, t) }
	if len(knots) <= maxKnots {
		cdf = newSimplexMean(knots).cdf
	}
	lo, hi := knots[0], knots[len(knots)-1]
	for range 60 {
		mid := lo + (hi-lo)/2
		if hi-lo <= 1e-13*top {
			break
		}
		if cdf(mid) >= level {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// simplexMeanByInversion is the distribution function of a [simplexMean] of many
// ascending knots. P(sum D_i x_i <= t) = P(sum E_i (x_i - t) <= 0) for
// exponential E_i, by inversion of the characteristic function (Imhof 1961).
func simplexMeanByInversion(knots []float64, t float64) float64 {
	var w, count []float64 // distinct x_i - t
	for i, v := range knots {
		if i > 0 && v == knots[i-1] {
			count[len(count)-1]++
			continue
		}
		w, count = append(w, v-t), append(count, 1)
	}
	decay := func(u float64) float64 {
		s := 0.0
		for j, v := range w {
			s += count[j] / 2 * math.Log1p(v*v*u*u)
		}
		return s
	}
	speed, squares := 0.0, 0.0 // bound of the phase per u
	for j, v := range w {
		speed += count[j] * math.Abs(v)
		squares += count[j] * v * v
	}
	if squares == 0 {
		return 1
	}
	const negligible, maxPanels = 36, 1 << 17
	end := 1 / math.Sqrt(squares)
	for decay(end) < negligible && end*speed < maxPanels {
		end *= 1.5
	}
	f := func(x float64) float64 {
		u := x / speed
		if u == 0 {
			return 0
		}
		phase := 0.0
		for j, v := range w {
			phase += count[j] * math.Atan(v*u)
		}
		return math.Sin(phase) / x * math.Exp(-decay(u))
	}
	return math.Min(math.Max(0.5-integral(f, 0, end*speed)/math.Pi, 0), 1)
}

// A simplexMean is the mean of fixed knots with weights uniform on the simplex.
// Its density is the B-spline with these knots (Curry & Schoenberg 1966), so
// its distribution function is a sum of B-splines of the next order, which de
// Boor's recursion computes from convex combinations alone: no cancellation,
// any ties.
type simplexMean struct {
	knots              []float64 // k+1 of them, ascending, the ends repeated k more times
	k                  int
	basis, left, right []float64
}

func newSimplexMean(sorted []float64) *simplexMean {
	k := len(sorted) - 1
	s := &simplexMean{k: k, basis: make([]float64, k+1), left: make([]float64, k+1), right: make([]float64, k+1)}
	for range k {
		s.knots = append(s.knots, sorted[0])
	}
	s.knots = append(s.knots, sorted...)
	for range k {
		s.knots = append(s.knots, sorted[k])
	}
	return s
}

// cdf returns P(mean <= t).
func (s *simplexMean) cdf(t float64) float64 {
	k := s.k
	first, last := s.knots[0], s.knots[len(s.knots)-1]
	switch {
	case t < first:
		return 0
	case t >= last:
		return 1
	}
	// The span [knots[i], knots[i+1]) that holds t.
	i := sort.Search(len(s.knots), func(j int) bool { return s.knots[j] > t }) - 1
	// The k+1 B-splines of degree k that do not vanish at t; number j of them
	// starts at knot i-k+j.
	s.basis[0] = 1
	for j := 1; j <= k; j++ {
		s.left[j] = t - s.knots[i+1-j]
		s.right[j] = s.knots[i+j] - t
		saved := 0.0
		for r := range j {
			v := s.basis[r] / (s.right[r+1] + s.left[j-r])
			s.basis[r] = saved + s.right[r+1]*v
			saved = s.left[j-r] * v
		}
		s.basis[j] = saved
	}
	// Those starting at the first true knot (index k) or later have risen.
	sum := 0.0
	for j, v := range s.basis {
		if i-k+j >= k {
			sum += v
		}
	}
	return math.Min(sum, 1)
}
