package stats

import (
	"math"
	"slices"
)

// tieTolerance is the relative distance below which two absolute differences
// are the same number: 12 significant digits of the largest one. Subtraction of
// decimals leaves noise of a few units in the 16th digit, which must not
// destroy ties or zeros.
const tieTolerance = 1e-12

// A ranking holds the midranks of the non-zero |d| among themselves, doubled so
// that they are whole numbers, in ascending order.
type ranking struct {
	doubled  []int64
	positive []bool
	ties     []int // sizes of groups of more than one, ascending |d|
	zeros    int
}

// rankDifferences ranks the absolute values of finite differences.
func rankDifferences(d []float64) ranking {
	largest := 0.0
	for _, v := range d {
		largest = math.Max(largest, math.Abs(v))
	}
	tol := largest * tieTolerance
	// One integer key per difference: order of |d| first, sign in the last bit.
	keys := make([]uint64, 0, len(d))
	for _, v := range d {
		if a := math.Abs(v); a > tol {
			key := math.Float64bits(a) << 1
			if v > 0 {
				key |= 1
			}
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	m := len(keys)
	r := ranking{doubled: make([]int64, m), positive: make([]bool, m), zeros: len(d) - m}
	for i := 0; i < m; {
		first := math.Float64frombits(keys[i] >> 1)
		j := i + 1
		for j < m && math.Float64frombits(keys[j]>>1)-first <= tol {
			j++
		}
		for k := i; k < j; k++ {
			r.doubled[k] = int64(i + j + 1) // twice the mean of ranks i+1..j
			r.positive[k] = keys[k]&1 == 1
		}
		if j-i > 1 {
			r.ties = append(r.ties, j-i)
		}
		i = j
	}
	return r
}

// ranks returns the doubled ranks under a zero method: with Pratt and ZSplit
// the zeros take the lowest ranks, which lifts all others by their number.
func (r ranking) ranks(zero ZeroMethod) []int64 {
	if zero == Drop || r.zeros == 0 {
		return r.doubled
	}
	lifted := make([]int64, len(r.doubled))
	for i, a := range r.doubled {
		lifted[i] = a + 2*int64(r.zeros)
	}
	return lifted
}

// sums returns the doubled sum of the ranks of positive differences and of all.
func (r ranking) sums(ranks []int64) (plus, all int64) {
	for i, a := range ranks {
		all += a
		if r.positive[i] {
			plus += a
		}
	}
	return plus, all
}
