package stats

import "math"

// Limits of the exact null distribution of a signed-rank sum.
const (
	maxCounted = 62   // sign patterns fit in uint64, p is an exact fraction
	maxExact   = 1000 // 2^m fits in float64
)

// tails holds P(sum <= w) and P(sum >= w) over the 2^m sign patterns. The
// smaller one is summed directly, never as one minus the other.
type tails struct {
	lower, upper float64
	lowerCount   uint64 // of 2^m, when counted
	upperCount   uint64
	counted      bool
}

// signTails computes both tails for weights in ascending order and an attained
// sum w, by the shift algorithm (Streitberg & Roehmel 1986): adding a weight
// adds the distribution moved by it. The null is symmetric, so only sums up to
// min(w, total-w) are needed.
func signTails(weights []int64, w, total int64) tails {
	m := len(weights)
	if m == 0 {
		return tails{1, 1, 1, 1, true}
	}
	g := weights[0]
	for _, a := range weights[1:] {
		if g == 1 {
			break
		}
		g = gcd(g, a)
	}
	t := min(w, total-w) / g
	low := w <= total-w
	if m <= maxCounted {
		c := make([]uint64, t+1)
		shiftAll(c, weights, g)
		small := uint64(0)
		for _, v := range c {
			small += v
		}
		large := 1<<m - small + c[t]
		x := tails{counted: true, lowerCount: small, upperCount: large}
		if !low {
			x.lowerCount, x.upperCount = large, small
		}
		x.lower = math.Ldexp(float64(x.lowerCount), -m)
		x.upper = math.Ldexp(float64(x.upperCount), -m)
		return x
	}
	// The same counts as float64: no number exceeds 2^m, additions round only
	// beyond 2^53, and dividing by 2^m at the end is exact.
	c := make([]float64, t+1)
	shiftAll(c, weights, g)
	small := 0.0
	for _, v := range c {
		small += v
	}
	small = math.Ldexp(small, -m)
	large := 1 - small + math.Ldexp(c[t], -m)
	if low {
		return tails{lower: small, upper: large}
	}
	return tails{lower: large, upper: small}
}

// shiftAll fills c[s] with the number of subsets of weights/g whose sum is s.
func shiftAll[T uint64 | float64](c []T, weights []int64, g int64) {
	top := int64(len(c)) - 1
	c[0] = 1
	reach := int64(0) // largest sum so far, within c
	for _, a := range weights {
		if a /= g; a > top {
			break // ascending: the others are beyond c, too
		}
		reach = min(reach+a, top)
		dst := c[a : reach+1]
		src := c[:len(dst)]
		for i := len(dst) - 1; i >= 0; i-- {
			dst[i] += src[i]
		}
	}
}

// untiedCounts returns the number of sign patterns with rank sum 0..top of n
// untied ranks 1..n, as float64 (exact below 2^53).
func untiedCounts(n, top int) []float64 {
	c := make([]float64, top+1)
	w := make([]int64, n)
	for i := range w {
		w[i] = int64(i + 1)
	}
	shiftAll(c, w, 1)
	return c
}
