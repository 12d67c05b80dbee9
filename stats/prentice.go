package stats

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// PrenticeOptions controls [PrenticeWilcoxon]. The zero value is the exact
// two-sided test.
type PrenticeOptions struct {
	Alternative Alternative // Greater: A lasts longer
	Method      Method      // Auto: exact counts, beyond them a grid, beyond 1000 pairs the normal approximation
	ExactLimit  int         // most non-zero differences for exact counts; 0: 32; at most 44, where one test takes a tenth of a second
}

// PrenticeResult is the outcome of [PrenticeWilcoxon].
type PrenticeResult struct {
	N, NonZero, Zeros int
	ScoreA, ScoreB, D []float64 // larger scores lasted longer; D = ScoreA - ScoreB
	Sum               float64   // of D
	Z                 float64   // Sum / sqrt(sum of D^2), no continuity correction; 0 if all D are 0
	P                 float64
	PCount            uint64 // P = PCount / 2^PLog2 in lowest terms, when PLog2 > 0
	PLog2             int
	Exact             bool
	Method            string // "exact", "grid" or "normal"
	MinP              float64
	Alternative       Alternative
	Warnings          []Warning
}

// Limits of the exact test of Kaplan-Meier scores.
const (
	defaultMeet = 32 // non-zero differences: 2^16 sums on either side
	maxMeet     = 44
)

// PrenticeWilcoxon is the paired Prentice-Wilcoxon test (O'Brien & Fleming
// 1987) with Kaplan-Meier scores, for pairs in which runs were stopped. Each
// side of pair i lasted at least time[i], and failed then if event[i] is true;
// [Outcome.Lifetime] gives both.
//
// S being the Kaplan-Meier estimate over all runs of both sides, a failure at t
// scores 1 - S(t-) - S(t) and a run censored at t scores 1 - S(t). Given the
// sizes of the differences of scores within pairs, all sign patterns are
// equally likely if neither outcome nor stopping depends on the side. Zero
// differences cannot matter. Scores are computed in fixed point, so the answer
// is the same on every machine.
//
// Up to ExactLimit non-zero differences the patterns are counted by meeting in
// the middle; up to 1000 the sums are put on a grid of 2^17 steps, with the
// threshold moved outward, so that p errs upward by less than 0.5 %.
func PrenticeWilcoxon(timeA []float64, eventA []bool, timeB []float64, eventB []bool, opt PrenticeOptions) (PrenticeResult, error) {
	n := len(timeA)
	switch {
	case n == 0:
		return PrenticeResult{}, fmt.Errorf("paired Prentice-Wilcoxon: no pairs")
	case len(eventA) != n || len(timeB) != n || len(eventB) != n:
		return PrenticeResult{}, fmt.Errorf("paired Prentice-Wilcoxon: %d and %d times with %d and %d events", n, len(timeB), len(eventA), len(eventB))
	case opt.Alternative < TwoSided || opt.Alternative > Less:
		return PrenticeResult{}, fmt.Errorf("paired Prentice-Wilcoxon: unknown alternative %d", int(opt.Alternative))
	case opt.Method < Auto || opt.Method > Normal:
		return PrenticeResult{}, fmt.Errorf("paired Prentice-Wilcoxon: unknown method %d", int(opt.Method))
	}
	for side, x := range [][]float64{timeA, timeB} {
		if err := checkFinite("time", x); err != nil {
			return PrenticeResult{}, fmt.Errorf("paired Prentice-Wilcoxon: side %c: %w", 'A'+side, err)
		}
	}
	limit := defaultMeet
	if opt.ExactLimit > 0 {
		limit = min(opt.ExactLimit, maxMeet)
	}
	scores := prenticeScores(append(slices.Clone(timeA), timeB...), append(slices.Clone(eventA), eventB...))
	r := PrenticeResult{N: n, P: 1, MinP: 1, Exact: true, Method: Exact.String(), Alternative: opt.Alternative}
	var d []int64 // non-zero differences
	sum := int64(0)
	squares := 0.0
	for i := range n {
		a, b := scores[i], scores[n+i]
		v := a - b
		if v >= -1 && v <= 1 {
			v = 0 // rounding of two equal scores
		}
		r.ScoreA = append(r.ScoreA, scoreUnit*float64(a))
		r.ScoreB = append(r.ScoreB, scoreUnit*float64(b))
		r.D = append(r.D, scoreUnit*float64(v))
		if v != 0 {
			d = append(d, v)
			sum += v
			squares += float64(v) * float64(v)
		}
	}
	m := len(d)
	r.NonZero, r.Zeros = m, n-m
	if m == 0 {
		r.Warnings = append(r.Warnings, warnf(CodeAllTied, "", "%s", allZero(n)))
		return r, nil
	}
	r.Sum = scoreUnit * float64(sum)
	r.Z = float64(sum) / math.Sqrt(squares)
	r.MinP = minSignP(m, opt.Alternative)
	t := signTest{z: r.Z}
	switch {
	case opt.Method == Exact && m > limit:
		return PrenticeResult{}, fmt.Errorf("paired Prentice-Wilcoxon: %d non-zero differences, exact counts limited to %d", m, limit)
	case opt.Method == Normal || m > maxExact:
		r.Exact, r.Method = false, Normal.String()
		t.normal(r.Z, 1, opt.Alternative, false)
	case m <= limit:
		t.exact(meetTails(d), opt.Alternative, m)
	default:
		r.Exact, r.Method = false, "grid"
		t.exact(gridTails(d), opt.Alternative, m)
	}
	r.P = math.Max(t.p, r.MinP)
	if t.log2 > 0 {
		r.PCount, r.PLog2 = t.count, t.log2
	}
	if opt.Method == Auto && r.Method == Normal.String() {
		r.Warnings = append(r.Warnings, warnf(CodeApproximate, "", "%d non-zero differences: normal approximation", m))
	}
	return r, nil
}

// Fixed point of Kaplan-Meier scores: survival in units of 2^-62, scores
// rounded to units of 2^-48, so that equal scores differ by one unit at most.
const (
	survivalOne = 1 << 62
	scoreShift  = 14
	scoreUnit   = 1.0 / (1 << 48)
)

// prenticeScores returns the scores of runs in input order, in units of 2^-48.
func prenticeScores(times []float64, event []bool) []int64 {
	order := ascending(times)
	scores := make([]int64, len(times))
	surv := int64(survivalOne)
	for i := 0; i < len(order); {
		j, failed := i, 0
		for ; j < len(order) && times[order[j]] == times[order[i]]; j++ {
			if event[order[j]] {
				failed++
			}
		}
		atRisk := len(order) - i
		hi, lo := bits.Mul64(uint64(surv), uint64(atRisk-failed))
		quotient, _ := bits.Div64(hi, lo, uint64(atRisk))
		next := int64(quotient)
		for _, k := range order[i:j] {
			u := survivalOne - next
			if event[k] {
				u -= surv
			}
			scores[k] = (u + 1<<(scoreShift-1)) >> scoreShift
		}
		surv = next
		i = j
	}
	return scores
}

// magnitudes returns the sizes of differences and the sum of the positive ones.
func magnitudes(d []int64) (a []int64, observed, all int64) {
	a = make([]int64, len(d))
	for i, v := range d {
		if a[i] = v; v < 0 {
			a[i] = -v
		} else {
			observed += v
		}
		all += a[i]
	}
	return a, observed, all
}

// meetTails counts sign patterns exactly: the sums of all subsets of each half,
// in ascending order, are paired off with two pointers. Scores are off by one
// unit at most, so sums within 2m units are equal.
func meetTails(d []int64) tails {
	a, observed, all := magnitudes(d)
	m := len(a)
	left, right := subsetSums(a[:m/2]), subsetSums(a[m/2:])
	tol := int64(2 * m)
	t := tails{counted: true}
	t.lowerCount = countUpTo(left, right, observed+tol)
	// As many patterns reach the observed sum as stay within its complement.
	t.upperCount = countUpTo(left, right, all-observed+tol)
	t.lower = math.Ldexp(float64(t.lowerCount), -m)
	t.upper = math.Ldexp(float64(t.upperCount), -m)
	return t
}

// subsetSums returns all 2^len(a) subset sums in ascending order.
func subsetSums(a []int64) []int64 {
	sums := make([]int64, 1, 1<<len(a))
	spare := make([]int64, 0, 1<<len(a))
	for _, v := range a {
		out := spare[:2*len(sums)]
		i, j := 0, 0
		for k := range out {
			if j == len(sums) || i < len(sums) && sums[i] <= sums[j]+v {
				out[k] = sums[i]
				i++
			} else {
				out[k] = sums[j] + v
				j++
			}
		}
		sums, spare = out, sums[:0]
	}
	return sums
}

// countUpTo returns the number of pairs of one sum of each side that add up to
// at most limit.
func countUpTo(left, right []int64, limit int64) uint64 {
	count := uint64(0)
	j := len(right)
	for _, v := range left {
		for j > 0 && v+right[j-1] > limit {
			j--
		}
		if j == 0 {
			break
		}
		count += uint64(j)
	}
	return count
}

// gridTails approximates the tails by the shift algorithm on rounded sizes.
func gridTails(d []int64) tails {
	const steps = 1 << 17
	a, _, all := magnitudes(d)
	m := len(a)
	unit := float64(all) / steps
	q := make([]int64, m)
	observed, total := int64(0), int64(0)
	for i, v := range a {
		q[i] = int64(math.Round(float64(v) / unit))
		total += q[i]
		if d[i] > 0 {
			observed += q[i]
		}
	}
	slices.Sort(q)
	slack := int64(math.Ceil(math.Sqrt(float64(m))))
	low := min(observed+slack, total)
	high := min(total-observed+slack, total)
	need := int64(0)
	for _, s := range []int64{low, high} {
		need = max(need, min(s, total-s-1))
	}
	c := make([]float64, need+1)
	shiftAll(c, q, 1)
	return tails{lower: gridShare(c, low, total, m), upper: gridShare(c, high, total, m)}
}

// gridShare returns P(sum <= s), from the smaller of the two tails.
func gridShare(c []float64, s, total int64, m int) float64 {
	top, other := s, false
	if total-s-1 < s {
		top, other = total-s-1, true
	}
	sum := 0.0
	if top >= 0 {
		for _, v := range c[:top+1] {
			sum += v
		}
	}
	p := math.Ldexp(sum, -m)
	if other {
		return 1 - p
	}
	return p
}

// Lifetime returns how long the run is known to have lasted and whether it
// failed then. A run stopped after T passed turns is censored at T-1: its turn T
// never finished, and entering at T would count it as passed.
func (o Outcome) Lifetime() (t float64, event bool) {
	if o.Status == Stopped {
		return o.Value - 1, false
	}
	return o.Value, o.Status == Failed
}
