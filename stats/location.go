package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Summary describes values without a model.
type Summary struct {
	N                int
	Mean, SD         float64 // SD with divisor n-1; 0 for one value
	Min, Max         float64
	Quartiles        [3]float64 // linear interpolation (type 7 of Hyndman & Fan 1996)
	MAD              float64    // median absolute deviation from the median, not scaled
	InterquartileAvg float64    // IQM, see [InterquartileMean]
}

// Summarize describes a non-empty sample.
func Summarize(x []float64) (Summary, error) {
	if len(x) == 0 {
		return Summary{}, fmt.Errorf("summary of no values")
	}
	if err := checkFinite("value", x); err != nil {
		return Summary{}, fmt.Errorf("summary: %w", err)
	}
	s := slices.Clone(x)
	slices.Sort(s)
	r := Summary{N: len(s), Mean: mean(s), Min: s[0], Max: s[len(s)-1], InterquartileAvg: InterquartileMean(s)}
	for i := range r.Quartiles {
		r.Quartiles[i] = Quantile(s, float64(i+1)/4)
	}
	deviation := make([]float64, len(s))
	squares := 0.0
	for i, v := range s {
		deviation[i] = math.Abs(v - r.Quartiles[1])
		squares += (v - r.Mean) * (v - r.Mean)
	}
	r.MAD = MedianOf(deviation)
	if r.N > 1 {
		r.SD = math.Sqrt(squares / float64(r.N-1))
	}
	return r, nil
}

// Quantile returns the p-quantile of ascending values by linear interpolation
// (type 7), or 0 for none.
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	h := math.Min(math.Max(p, 0), 1) * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// MedianOf returns the median of a non-empty sample in any order.
func MedianOf(x []float64) float64 { return middle(x) }

// InterquartileMean returns the mean of the middle half: floor(n/4) values are
// cut off each end. The sample must not be empty.
func InterquartileMean(x []float64) float64 { return TrimmedMean(x, 0.25) }

// TrimmedMean returns the mean without the floor(share n) smallest and largest
// values; share below 0.5.
func TrimmedMean(x []float64, share float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	cut := int(share*float64(len(s)) + 1e-9)
	if 2*cut >= len(s) {
		return middle(s)
	}
	return mean(s[cut : len(s)-cut])
}

// BootstrapStatistic returns a bootstrap interval of any statistic of a sample,
// such as [MedianOf] or [InterquartileMean]; name selects the random stream.
// stat must not keep or change its argument. The ends are order statistics,
// without interpolation.
//
// BCa needs the jackknife to vary. For the median of whole numbers it often does
// not: the interval is then the percentile one, and its method says so.
func BootstrapStatistic(x []float64, name string, stat func([]float64) float64, opt BootstrapOptions) (BootstrapResult, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return BootstrapResult{}, fmt.Errorf("bootstrap of %s: %w", name, err)
	}
	if len(x) == 0 {
		return BootstrapResult{}, fmt.Errorf("bootstrap of %s of no values", name)
	}
	if err := checkFinite("value", x); err != nil {
		return BootstrapResult{}, fmt.Errorf("bootstrap of %s: %w", name, err)
	}
	s := slices.Clone(x)
	slices.Sort(s)
	n := len(s)
	r := BootstrapResult{Mean: stat(s)}
	if n == 1 {
		r.Interval = undefined(level, opt.Kind.String(), "one scenario has no interval")
		return r, nil
	}
	left := make([]float64, n)
	rest := make([]float64, n-1)
	for i := range s {
		copy(rest, s[:i])
		copy(rest[i:], s[i+1:])
		left[i] = stat(rest)
	}
	kind, note := opt.Kind, ""
	if slices.Min(left) == slices.Max(left) && kind != Percentile {
		kind, note = Percentile, ", the jackknife does not vary"
	}
	r.Accel = jackknifeAcceleration(left)
	b := resamples(opt.Resamples)
	rng := stream(opt.Seed, "bootstrap-"+name, s)
	drawn := make([]float64, b)
	sample := make([]float64, n)
	for i := range drawn {
		for j := range sample {
			sample[j] = s[rng.IntN(n)]
		}
		drawn[i] = stat(sample)
	}
	if err := checkFinite("resampled value", append(drawn, r.Mean)); err != nil {
		return BootstrapResult{}, fmt.Errorf("bootstrap of %s: %w", name, err)
	}
	r.SE = standardDeviation(drawn)
	if slices.Min(drawn) == slices.Max(drawn) {
		r.Resamples = b
		r.Interval = Interval{Lo: r.Mean, Hi: r.Mean, Level: level, Method: "all resamples equal", Defined: true}
		r.Warnings = append(r.Warnings, warnf(CodeDegenerate, "", "every resample gives %v: the interval is a point", r.Mean))
		return r, nil
	}
	r.finish(drawn, n, b, kind, level, note)
	return r, nil
}

// standardDeviation has divisor n.
func standardDeviation(x []float64) float64 {
	m, s2 := mean(x), 0.0
	for _, v := range x {
		s2 += (v - m) * (v - m)
	}
	return math.Sqrt(s2 / float64(len(x)))
}

// RatioResult is the ratio of the means of two paired samples.
type RatioResult struct {
	Ratio    float64 // mean A / mean B; 0 if not Defined
	Interval Interval
	Defined  bool
	Reason   string
}

// MeanRatio returns the ratio of mean turns of A and B over the same scenarios
// with a bootstrap interval of its logarithm. It is undefined if a mean is 0 or
// would be 0 in more than one of 10000 resamples.
func MeanRatio(a, b []float64, opt BootstrapOptions) (RatioResult, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return RatioResult{}, fmt.Errorf("ratio of means: %w", err)
	}
	if len(a) != len(b) || len(a) == 0 {
		return RatioResult{}, fmt.Errorf("ratio of the means of %d and %d values", len(a), len(b))
	}
	for side, x := range [][]float64{a, b} {
		for i, v := range x {
			if !(v >= 0 && v <= largestValue) {
				return RatioResult{}, fmt.Errorf("ratio of means: value %d of side %c is %v", i, 'A'+side, v)
			}
		}
	}
	n := len(a)
	none := func(reason string) (RatioResult, error) {
		return RatioResult{Reason: reason, Interval: undefined(level, "ratio of means", "%s", reason)}, nil
	}
	for side, x := range [][]float64{a, b} {
		zeros := 0
		for _, v := range x {
			if v == 0 {
				zeros++
			}
		}
		if math.Pow(float64(zeros)/float64(n), float64(n)) > 1e-4 {
			return none(fmt.Sprintf("side %c passed nothing in too many scenarios", 'A'+side))
		}
	}
	a, b = sortedPairs(a, b)
	r := RatioResult{Ratio: mean(a) / mean(b), Defined: true}
	if n == 1 {
		r.Interval = undefined(level, "ratio of means", "one scenario has no interval")
		return r, nil
	}
	stat := func(weight []int) float64 {
		x, y := 0.0, 0.0
		for i, w := range weight {
			x += float64(w) * a[i]
			y += float64(w) * b[i]
		}
		if x == 0 || y == 0 {
			return math.Log(r.Ratio)
		}
		return math.Log(x / y)
	}
	boot := bootstrapUnits(n, n, stat, opt, level, "mean-ratio", a, b)
	r.Interval = boot.Interval
	if r.Interval.Defined {
		r.Interval.Lo, r.Interval.Hi = math.Exp(r.Interval.Lo), math.Exp(r.Interval.Hi)
		r.Interval.Method = "ratio of means, " + r.Interval.Method
	}
	return r, nil
}

// sortedPairs sorts pairs by a, then b: the order of scenarios must not matter.
func sortedPairs(a, b []float64) (x, y []float64) {
	order := make([]int, len(a))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(a[i], a[j]), cmp.Compare(b[i], b[j])) })
	for _, i := range order {
		x, y = append(x, a[i]), append(y, b[i])
	}
	return x, y
}
