package stats

import (
	"fmt"
	"math"
	"math/bits"
)

// Alternative is the alternative hypothesis about the differences.
type Alternative int

const (
	TwoSided Alternative = iota
	Greater              // differences tend to be positive
	Less                 // differences tend to be negative
)

// String returns "two-sided", "greater" or "less".
func (a Alternative) String() string {
	switch a {
	case TwoSided:
		return "two-sided"
	case Greater:
		return "greater"
	case Less:
		return "less"
	}
	return fmt.Sprintf("Alternative(%d)", int(a))
}

// ZeroMethod says what happens to zero differences.
type ZeroMethod int

const (
	Drop   ZeroMethod = iota // removed before ranking (Wilcoxon 1945)
	Pratt                    // ranked, then their ranks are left out (Pratt 1959)
	ZSplit                   // ranked, half of their rank sum to each side (Demsar 2006)
)

// String returns "drop", "pratt" or "zsplit".
func (z ZeroMethod) String() string {
	switch z {
	case Drop:
		return "drop"
	case Pratt:
		return "pratt"
	case ZSplit:
		return "zsplit"
	}
	return fmt.Sprintf("ZeroMethod(%d)", int(z))
}

// Method selects how the p-value is computed.
type Method int

const (
	Auto   Method = iota // exact up to the limit, then normal with continuity correction
	Exact                // exact, or an error beyond 1000 non-zero differences
	Normal               // normal approximation
)

// String returns "auto", "exact" or "normal".
func (m Method) String() string {
	switch m {
	case Auto:
		return "auto"
	case Exact:
		return "exact"
	case Normal:
		return "normal"
	}
	return fmt.Sprintf("Method(%d)", int(m))
}

// SignedRankOptions controls [SignedRank]. The zero value is the exact
// two-sided test with zeros dropped.
type SignedRankOptions struct {
	Alternative Alternative
	Zero        ZeroMethod
	Method      Method
	Continuity  bool // Normal only: move the statistic 0.5 towards its mean
	ExactLimit  int  // Auto: most non-zero differences for the exact test; 0 or above 1000: 1000
}

// SignedRankResult is the outcome of [SignedRank].
type SignedRankResult struct {
	N, NonZero, Zeros int
	BothCapped        int   // pairs with both sides at the cap; set by ComparePair
	TieSizes          []int // groups of more than one equal |d|, in ascending |d|; zeros are no group

	WPlus, WMinus float64 // rank sums of positive and negative differences
	P             float64
	PCount        uint64 // P = PCount / 2^PLog2 in lowest terms, when PLog2 > 0
	PLog2         int
	Exact         bool
	Z             float64 // when not Exact; 0 if all differences are zero
	MinP          float64 // least P possible with this number of non-zero differences
	Zero          ZeroMethod
	Alternative   Alternative
	Other         float64 // P under the other zero method: Pratt for Drop, Drop for Pratt and ZSplit
	Warnings      []Warning
}

// defaultAlpha is the level used where none is given.
const defaultAlpha = 0.05

// SignedRank is the Wilcoxon signed-rank test of paired differences: given
// their absolute values, are signs like these expected if both directions are
// equally likely? The p-value is conditional on ties and zeros and exact up to
// 1000 non-zero differences; up to 62 it is also returned as a fraction.
// Two-sided means twice the smaller tail, at most 1.
//
// Absolute differences closer than 12 significant digits of the largest are
// tied, and differences smaller than that are zero.
//
// With all differences zero P is 1. NaN, infinities and empty input are errors.
func SignedRank(d []float64, opt SignedRankOptions) (SignedRankResult, error) {
	return signedRank(d, opt, defaultAlpha)
}

// signedRank is SignedRank with the level used in warnings.
func signedRank(d []float64, opt SignedRankOptions, alpha float64) (SignedRankResult, error) {
	if len(d) == 0 {
		return SignedRankResult{}, fmt.Errorf("signed rank of no differences")
	}
	if err := checkFinite("difference", d); err != nil {
		return SignedRankResult{}, fmt.Errorf("signed rank: %w", err)
	}
	r := rankDifferences(d)
	m := len(r.doubled)
	if opt.Method == Exact && m > maxExact {
		return SignedRankResult{}, fmt.Errorf("signed rank: %d non-zero differences, exact distribution limited to %d", m, maxExact)
	}
	limit := maxExact
	if opt.ExactLimit > 0 && opt.Method == Auto {
		limit = min(limit, opt.ExactLimit)
	}
	res := SignedRankResult{
		N: len(d), NonZero: m, Zeros: r.zeros, TieSizes: r.ties,
		Zero: opt.Zero, Alternative: opt.Alternative, MinP: minSignP(m, opt.Alternative),
		Exact: m == 0 || opt.Method != Normal && m <= limit,
	}
	correct := opt.Continuity
	if opt.Method == Auto && m > limit {
		correct = true
	}
	own := r.test(opt.Zero, opt.Alternative, res.Exact, correct)
	res.WPlus, res.WMinus, res.Z, res.P = own.plus, own.minus, own.z, own.p
	if own.log2 > 0 {
		res.PCount, res.PLog2 = own.count, own.log2
	}
	res.Other = res.P
	if r.zeros > 0 && m > 0 {
		other := Pratt
		if opt.Zero != Drop {
			other = Drop
		}
		res.Other = r.test(other, opt.Alternative, res.Exact, correct).p
	}
	switch {
	case m == 0:
		res.Warnings = append(res.Warnings, warnf(CodeAllTied, "", "%s", allZero(len(d))))
	case res.MinP > alpha:
		res.Warnings = append(res.Warnings, warnf(CodeCannotReachAlpha, "",
			"with %s p cannot be below %s, so nothing can be significant at %v", countOf(m, "non-zero difference", "non-zero differences"), FormatP(res.MinP), alpha))
	}
	if opt.Method == Auto && !res.Exact {
		res.Warnings = append(res.Warnings, warnf(CodeApproximate, "",
			"%d non-zero differences: normal approximation with continuity correction", m))
	}
	return res, nil
}

// allZero says that all of n differences are zero.
func allZero(n int) string {
	if n == 1 {
		return "the only difference is zero"
	}
	return fmt.Sprintf("all %d differences are zero", n)
}

// minSignP is the p-value of a perfect record of m signs.
func minSignP(m int, alt Alternative) float64 {
	if alt == TwoSided {
		m = max(m-1, 0)
	}
	// Below the smallest float64 the limit is still not zero.
	return math.Max(math.Ldexp(1, -m), math.SmallestNonzeroFloat64)
}

// A signTest is the part of a signed-rank test that depends on the zero method.
type signTest struct {
	plus, minus, z, p float64
	count             uint64
	log2              int
}

// test computes the statistic and its p-value.
func (r ranking) test(zero ZeroMethod, alt Alternative, exact, continuity bool) signTest {
	ranks := r.ranks(zero)
	plus, all := r.sums(ranks)
	t := signTest{plus: float64(plus) / 2, minus: float64(all-plus) / 2, p: 1}
	z := int64(r.zeros)
	if zero == ZSplit {
		half := float64(z*(z+1)) / 4
		t.plus += half
		t.minus += half
	}
	switch {
	case len(ranks) == 0:
	case exact:
		t.exact(signTails(ranks, plus, all), alt, len(ranks))
	default:
		variance := 0.0
		for _, a := range ranks {
			variance += float64(a) * float64(a) / 16
		}
		if zero == ZSplit {
			// The zeros' ranks vary, too: z values of midrank (z+1)/2.
			mid := float64(z+1) / 2
			variance += float64(z) * mid * mid / 4
		}
		t.normal((t.plus-t.minus)/2, math.Sqrt(variance), alt, continuity)
	}
	return t
}

// exact reads the p-value off both tails of m signs.
func (t *signTest) exact(x tails, alt Alternative, m int) {
	var count uint64
	switch alt {
	case Greater:
		t.p, count = x.upper, x.upperCount
	case Less:
		t.p, count = x.lower, x.lowerCount
	default:
		t.p = math.Min(1, 2*math.Min(x.lower, x.upper))
		count = min(2*min(x.lowerCount, x.upperCount), 1<<min(m, 63))
	}
	if x.counted {
		shift := bits.TrailingZeros64(count)
		t.count, t.log2 = count>>shift, m-shift
	}
}

// normal approximates the p-value from the distance of the statistic from its
// mean and its standard deviation.
func (t *signTest) normal(delta, sd float64, alt Alternative, continuity bool) {
	if continuity {
		switch alt {
		case Greater:
			delta -= 0.5
		case Less:
			delta += 0.5
		default:
			delta = math.Copysign(math.Max(math.Abs(delta)-0.5, 0), delta)
		}
	}
	t.z = delta / sd
	switch alt {
	case Greater:
		t.p = normalCDF(-t.z)
	case Less:
		t.p = normalCDF(t.z)
	default:
		t.p = math.Min(1, 2*normalCDF(-math.Abs(t.z)))
	}
	t.p = math.Max(t.p, math.SmallestNonzeroFloat64)
}
