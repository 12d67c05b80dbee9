package stats

import (
	"fmt"
	"math"
	"slices"
)

// HodgesLehmannResult is the typical difference and its interval.
type HodgesLehmannResult struct {
	Estimate   float64
	Interval   Interval // Level is the attained level, at least the one asked for
	OrderIndex int      // the interval ends are the OrderIndex-th Walsh averages from either end; 0 if none
	Warnings   []Warning
}

// HodgesLehmann returns the median of the n(n+1)/2 Walsh averages
// (d[i]+d[j])/2, i <= j, zeros included, and the closed interval between the
// k-th smallest and k-th largest of them, k being the largest index whose
// attained level under the untied signed-rank null is at least level (0: 0.95).
// With ties it is conservative. Beyond n = 1000 the index is the normal one.
//
// Where the level cannot be reached (n <= 5 at 95 %) the interval is undefined.
// Time is O(n) per order statistic after sorting.
func HodgesLehmann(d []float64, level float64) (HodgesLehmannResult, error) {
	level, err := checkLevel(level)
	if err != nil {
		return HodgesLehmannResult{}, fmt.Errorf("Hodges-Lehmann: %w", err)
	}
	if len(d) == 0 {
		return HodgesLehmannResult{}, fmt.Errorf("Hodges-Lehmann estimate of no differences")
	}
	if err := checkFinite("difference", d); err != nil {
		return HodgesLehmannResult{}, fmt.Errorf("Hodges-Lehmann: %w", err)
	}
	s := slices.Clone(d)
	slices.Sort(s)
	n := len(s)
	pairs := n * (n + 1) / 2
	var r HodgesLehmannResult
	r.Estimate = walshSum(s, (pairs+1)/2) / 2
	if pairs%2 == 0 {
		r.Estimate = (2*r.Estimate + walshSum(s, pairs/2+1)) / 4
	}
	k, attained, method := walshIndex(n, level)
	r.OrderIndex = k
	if k == 0 {
		r.Interval = undefined(level, method, "a level of %v cannot be reached with %s", level, countOf(n, "scenario", "scenarios"))
		return r, nil
	}
	if n > maxExact {
		r.Warnings = append(r.Warnings, warnf(CodeApproximate, "", "Hodges-Lehmann interval of %d differences: normal approximation", n))
	}
	r.Interval = Interval{
		Lo: walshSum(s, k) / 2, Hi: walshSum(s, pairs+1-k) / 2,
		Level: attained, Method: method, Defined: true,
	}
	return r, nil
}

// walshIndex returns the order index of the interval and its attained level.
func walshIndex(n int, level float64) (k int, attained float64, method string) {
	tail := (1 - level) / 2
	total := n * (n + 1) / 2
	if n > maxExact {
		nf := float64(n)
		mean, sd := nf*(nf+1)/4, math.Sqrt(nf*(nf+1)*(2*nf+1)/24)
		k = int(math.Floor(mean + normalQuantile(tail)*sd))
		return max(k, 0), level, "Hodges-Lehmann, normal index"
	}
	method = "Hodges-Lehmann, signed-rank inversion"
	sum := 0.0
	for i, c := range untiedCounts(n, total/2) {
		p := math.Ldexp(sum+c, -n)
		if p > tail {
			break
		}
		sum += c
		k, attained = i+1, 1-2*p
	}
	return k, attained, method
}

// walshSum returns the k-th smallest (1-based) sum s[i]+s[j], i <= j, of a
// sorted slice. It bisects over the ordered bit patterns of float64 and counts
// sums with two pointers, so no pair is ever stored.
func walshSum(s []float64, k int) float64 {
	lo, hi := orderedBits(s[0]+s[0]), orderedBits(s[len(s)-1]+s[len(s)-1])
	for lo < hi {
		mid := lo + (hi-lo)/2
		if countSums(s, fromOrderedBits(mid)) >= k {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	v := fromOrderedBits(lo)
	if v == 0 {
		return 0 // no negative zero
	}
	return v
}

// countSums returns the number of i <= j with s[i]+s[j] <= v.
func countSums(s []float64, v float64) int {
	count := 0
	j := len(s) - 1
	for i := range s {
		for j >= i && s[i]+s[j] > v {
			j--
		}
		if j < i {
			break
		}
		count += j - i + 1
	}
	return count
}

// orderedBits maps float64 to uint64 so that the order is kept.
func orderedBits(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// fromOrderedBits is the inverse of orderedBits.
func fromOrderedBits(b uint64) float64 {
	if b>>63 == 1 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^b)
}
