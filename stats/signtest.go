package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// SignTestResult is the outcome of [SignTest].
type SignTestResult struct {
	N, Wins, Losses int
	P               float64
	PCount          uint64 // P = PCount / 2^PLog2 in lowest terms, when PLog2 > 0
	PLog2           int
	MinP            float64
	Alternative     Alternative
}

// SignTest is the exact test that wins and losses are equally likely; ties are
// left out by the caller. Without wins and losses P is 1.
func SignTest(wins, losses int, alt Alternative) (SignTestResult, error) {
	const most = 1 << 40
	switch {
	case wins < 0 || losses < 0 || wins > most || losses > most:
		return SignTestResult{}, fmt.Errorf("sign test of %d wins and %d losses", wins, losses)
	case alt < TwoSided || alt > Less:
		return SignTestResult{}, fmt.Errorf("sign test: unknown alternative %d", int(alt))
	}
	n := wins + losses
	r := SignTestResult{N: n, Wins: wins, Losses: losses, P: 1, MinP: minSignP(n, alt), Alternative: alt}
	if n == 0 {
		return r, nil
	}
	var t signTest
	t.exact(halfTails(wins, n), alt, n)
	r.P = math.Max(t.p, r.MinP)
	if t.log2 > 0 {
		r.PCount, r.PLog2 = t.count, t.log2
	}
	return r, nil
}

// halfTails returns P(X <= k) and P(X >= k) for n fair coins.
func halfTails(k, n int) tails {
	if n > maxCounted {
		return tails{lower: halfTail(n-k, n), upper: halfTail(k, n)}
	}
	c := uint64(1) // n choose i
	t := tails{counted: true}
	for i := 0; i <= n; i++ {
		if i <= k {
			t.lowerCount += c
		}
		if i >= k {
			t.upperCount += c
		}
		c = chooseNext(c, n, i)
	}
	t.lower = math.Ldexp(float64(t.lowerCount), -n)
	t.upper = math.Ldexp(float64(t.upperCount), -n)
	return t
}

// chooseNext returns n choose i+1 from n choose i without overflow for n <= 62.
func chooseNext(c uint64, n, i int) uint64 {
	num, den := uint64(n-i), uint64(i+1)
	g := uint64(gcd(int64(c), int64(den)))
	c, den = c/g, den/g
	return c * (num / den)
}

// halfTail returns P(X >= k) for n fair coins.
func halfTail(k, n int) float64 {
	if k <= 0 {
		return 1
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), 0.5)
}

// McNemarResult is the outcome of [McNemar].
type McNemarResult struct {
	OnlyA, OnlyB int     // discordant pairs
	P, MidP      float64 // exact (the sign test of the discordant pairs) and mid-p
	Chi2, PChi2  float64 // McNemar's statistic without continuity correction
	MinP         float64
}

// McNemar compares two shares of the same scenarios: onlyA passed in A and
// failed in B, onlyB the reverse. Without discordant pairs all p are 1. The
// mid-p value (Fagerland, Lydersen & Laake 2013) is less conservative but may
// exceed its level slightly.
func McNemar(onlyA, onlyB int) (McNemarResult, error) {
	s, err := SignTest(onlyA, onlyB, TwoSided)
	if err != nil {
		return McNemarResult{}, fmt.Errorf("McNemar: %d and %d discordant pairs: counts must not be negative", onlyA, onlyB)
	}
	r := McNemarResult{OnlyA: onlyA, OnlyB: onlyB, P: s.P, MidP: s.P, PChi2: 1, MinP: s.MinP}
	n := onlyA + onlyB
	if n == 0 {
		return r, nil
	}
	k := min(onlyA, onlyB)
	r.MidP = math.Min(1, math.Max(s.P-halfPoint(k, n), math.SmallestNonzeroFloat64))
	if onlyA == onlyB {
		// Twice the smaller tail passes 1 by one point, of which half is taken.
		r.MidP = 1
	}
	d := float64(onlyA - onlyB)
	r.Chi2 = d * d / float64(n)
	r.PChi2 = math.Max(2*normalCDF(-math.Sqrt(r.Chi2)), math.SmallestNonzeroFloat64)
	return r, nil
}

// halfPoint returns P(X = k) for n fair coins.
func halfPoint(k, n int) float64 {
	return math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
}

// logChoose returns the logarithm of n choose k.
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
