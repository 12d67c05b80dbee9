//lint:file-ignore ST1005 the names of people begin with a capital

package stats

import (
	"fmt"
	"math"
	"slices"
)

// MeanTestResult is the outcome of [SignFlipMean].
type MeanTestResult struct {
	N, NonZero int
	Mean       float64
	P          float64
	PCount     uint64 // P = PCount / 2^PLog2 in lowest terms, when PLog2 > 0
	PLog2      int
	MinP       float64
	Exact      bool
	Method     string // "exact" or "grid"
}

// SignFlipMean is the exact test of a zero mean difference that flips the signs
// of the differences: the permutation test of paired samples. Whole numbers and
// rounded decimals are counted exactly; other numbers exactly up to 32 non-zero
// differences and on a grid beyond, where p errs upward by less than 0.5 %.
func SignFlipMean(d []float64, alt Alternative) (MeanTestResult, error) {
	if len(d) == 0 {
		return MeanTestResult{}, fmt.Errorf("sign-flip test of no differences")
	}
	if err := checkFinite("difference", d); err != nil {
		return MeanTestResult{}, fmt.Errorf("sign-flip test: %w", err)
	}
	if alt < TwoSided || alt > Less {
		return MeanTestResult{}, fmt.Errorf("sign-flip test: unknown alternative %d", int(alt))
	}
	r := MeanTestResult{N: len(d), Mean: mean(d), P: 1, Exact: true, Method: Exact.String()}
	whole, ok := wholeDifferences(d)
	if !ok {
		whole = fixedDifferences(d)
	}
	r.NonZero = len(whole)
	r.MinP = minSignP(r.NonZero, alt)
	if r.NonZero == 0 {
		return r, nil
	}
	if r.NonZero > maxExact {
		return MeanTestResult{}, fmt.Errorf("sign-flip test: %d non-zero differences, limited to %d", r.NonZero, maxExact)
	}
	a, observed, all := magnitudes(whole)
	var t signTest
	switch {
	case ok && all <= 1<<24:
		slices.Sort(a)
		t.exact(signTails(a, observed, all), alt, r.NonZero)
	case r.NonZero <= defaultMeet:
		t.exact(meetTails(whole), alt, r.NonZero)
	default:
		r.Exact, r.Method = false, "grid"
		t.exact(gridTails(whole), alt, r.NonZero)
	}
	r.P = math.Max(t.p, r.MinP)
	if t.log2 > 0 {
		r.PCount, r.PLog2 = t.count, t.log2
	}
	return r, nil
}

// wholeDifferences returns the non-zero differences as whole multiples of a
// common unit, if there is one.
func wholeDifferences(d []float64) ([]int64, bool) {
	l, ok := newLattice(append(slices.Clone(d), 0))
	if !ok {
		return nil, false
	}
	var out []int64
	for _, s := range l.steps[:len(d)] {
		if v := s*l.unit + l.base; v != 0 {
			out = append(out, v)
		}
	}
	return out, true
}

// fixedDifferences returns the non-zero differences in fixed point.
func fixedDifferences(d []float64) []int64 {
	largest := 0.0
	for _, v := range d {
		largest = math.Max(largest, math.Abs(v))
	}
	var out []int64
	for _, v := range d {
		if math.Abs(v) > largest*tieTolerance {
			out = append(out, int64(math.Round(v/largest*(1<<48))))
		}
	}
	return out
}

// StudentResult is the outcome of [StudentMean].
type StudentResult struct {
	N        int
	Mean, SE float64
	T        float64 // 0 if SE is 0
	DF       int
	P        float64 // two-sided
	Interval Interval
	Defined  bool // false for one value or without variation
	Reason   string
}

// StudentMean returns the mean of paired differences with Student's interval and
// test. It assumes normal differences and undercovers for turn counts: a
// companion of the bootstrap interval, not its replacement.
func StudentMean(d []float64, level float64) (StudentResult, error) {
	level, err := checkLevel(level)
	if err != nil {
		return StudentResult{}, fmt.Errorf("Student's t: %w", err)
	}
	if len(d) == 0 {
		return StudentResult{}, fmt.Errorf("Student's t of no differences")
	}
	if err := checkFinite("difference", d); err != nil {
		return StudentResult{}, fmt.Errorf("Student's t: %w", err)
	}
	const method = "Student's t"
	n := float64(len(d))
	r := StudentResult{N: len(d), Mean: mean(d), DF: len(d) - 1, P: 1}
	if len(d) > 1 {
		r.SE = standardDeviation(d) / math.Sqrt(n-1)
	}
	if !(r.SE > math.Abs(r.Mean)*1e-14) {
		r.SE = 0
		r.Reason = "one value, or no variation"
		r.Interval = undefined(level, method, "%s", r.Reason)
		return r, nil
	}
	r.T = r.Mean / r.SE
	r.P = math.Max(math.Min(1, 2*studentTail(math.Abs(r.T), n-1)), math.SmallestNonzeroFloat64)
	half := -studentQuantile((1-level)/2, n-1) * r.SE
	r.Interval = Interval{Lo: r.Mean - half, Hi: r.Mean + half, Level: level, Method: method, Defined: true}
	r.Defined = true
	return r, nil
}
