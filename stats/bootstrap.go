package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// BootstrapKind selects a bootstrap interval.
type BootstrapKind int

const (
	// ExpandedBCa is BCa at the level Phi(-t sqrt(n/(n-1))) of Hesterberg
	// (2015), t being Student's quantile: it corrects the narrowness of the
	// bootstrap distribution in small samples.
	ExpandedBCa BootstrapKind = iota
	BCa                       // bias-corrected and accelerated, Efron (1987)
	Percentile
)

// String returns "expanded BCa", "BCa" or "percentile".
func (k BootstrapKind) String() string {
	switch k {
	case ExpandedBCa:
		return "expanded BCa"
	case BCa:
		return "BCa"
	case Percentile:
		return "percentile"
	}
	return fmt.Sprintf("BootstrapKind(%d)", int(k))
}

// BootstrapOptions controls [BootstrapMean].
type BootstrapOptions struct {
	Level     float64 // 0: 0.95
	Kind      BootstrapKind
	Seed      uint64
	Resamples int // 0: 9999; used where the exact distribution is not
}

// BootstrapResult is the outcome of a bootstrap.
type BootstrapResult struct {
	Mean      float64
	SE        float64    // standard deviation of the bootstrap distribution
	Z0, Accel float64    // bias correction and acceleration; 0 for degenerate data
	Levels    [2]float64 // levels at which the bootstrap distribution was read
	Interval  Interval
	Exact     bool // the exact bootstrap distribution was used
	Resamples int  // 0 if no random numbers were used
	Warnings  []Warning
}

// Limits of the exact bootstrap, and of resampling.
const (
	maxExactBootstrap = 60   // values
	maxExactWork      = 2e8  // multiplications, some 0.2 s
	maxResampledN     = 5000 // values; beyond, the normal limit is as good
	defaultResamples  = 9999
)

// BootstrapMean returns the mean of x with a bootstrap interval; x holds one
// value per scenario, the unit of resampling.
//
// Up to 60 values on a lattice (whole numbers, means of repeats, rounded
// decimals) the bootstrap distribution is computed exactly by convolution and
// no seed is used. Otherwise 9999 resamples are drawn from a stream that
// depends on the seed and the data only, and the method name says so; beyond
// 5000 values the quantiles of the normal limit take their place.
//
// One value has no interval. Equal values have a point interval and the warning
// DEGENERATE.
func BootstrapMean(x []float64, opt BootstrapOptions) (BootstrapResult, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return BootstrapResult{}, fmt.Errorf("bootstrap of a mean: %w", err)
	}
	if len(x) == 0 {
		return BootstrapResult{}, fmt.Errorf("bootstrap of the mean of no values")
	}
	if err := checkFinite("value", x); err != nil {
		return BootstrapResult{}, fmt.Errorf("bootstrap of a mean: %w", err)
	}
	s := slices.Clone(x)
	slices.Sort(s) // the answer must not depend on the order of scenarios
	n := len(s)
	l, onLattice := newLattice(s)
	r := BootstrapResult{Mean: mean(s), Exact: true}
	total := int64(0)
	if onLattice {
		for _, v := range l.steps {
			total += v
		}
		r.Mean = l.mean(total, n)
	}
	if n == 1 {
		r.Interval = undefined(level, opt.Kind.String(), "one scenario has no interval")
		return r, nil
	}
	if s[0] == s[n-1] || onLattice && l.span == 0 {
		r.Mean = s[0]
		r.Interval = Interval{Lo: s[0], Hi: s[0], Level: level, Method: "all values equal", Defined: true}
		r.Warnings = append(r.Warnings, warnf(CodeDegenerate, "", "all %d values are %v: the interval is a point and says nothing about other scenarios", n, s[0]))
		return r, nil
	}
	r.SE, r.Accel = moments(s, r.Mean)
	switch {
	case onLattice && n <= maxExactBootstrap && l.work() <= maxExactWork:
		r.exactMean(l, total, opt.Kind, level)
	case n > maxResampledN:
		r.Exact = false
		r.normalMean(n, opt.Kind, level)
	default:
		r.resampledMean(s, opt, level)
	}
	return r, nil
}

// moments returns sd/sqrt(n) with divisor n and the jackknife acceleration.
func moments(x []float64, m float64) (se, accel float64) {
	s2, s3 := 0.0, 0.0
	for _, v := range x {
		d := v - m
		s2 += d * d
		s3 += d * d * d
	}
	n := float64(len(x))
	return math.Sqrt(s2) / n, s3 / (6 * math.Pow(s2, 1.5))
}

// quantileGuard lets a cumulated probability that equals the level but for
// rounding count as having reached it.
const quantileGuard = 1e-13

// exactMean fills in the interval from the exact distribution.
func (r *BootstrapResult) exactMean(l lattice, total int64, kind BootstrapKind, level float64) {
	pmf := l.resampledSum()
	n := len(l.steps)
	below := 0.0
	for _, p := range pmf[:total] {
		below += p
	}
	r.Z0 = normalQuantile(below + pmf[total]/2)
	r.Levels = bootstrapLevels(kind, level, n, r.Z0, r.Accel)
	cdf := pmf // in place
	for i := 1; i < len(cdf); i++ {
		cdf[i] += cdf[i-1]
	}
	quantile := func(p float64) float64 {
		i := sort.SearchFloat64s(cdf, p-quantileGuard)
		return l.mean(int64(min(i, len(cdf)-1)), n)
	}
	r.Interval = Interval{
		Lo: quantile(r.Levels[0]), Hi: quantile(r.Levels[1]),
		Level: level, Method: kind.String() + ", exact bootstrap", Defined: true,
	}
}

// normalMean fills in the interval from the normal limit of the bootstrap
// distribution, in which the bias correction of a mean equals its acceleration.
func (r *BootstrapResult) normalMean(n int, kind BootstrapKind, level float64) {
	r.Z0 = r.Accel
	r.Levels = bootstrapLevels(kind, level, n, r.Z0, r.Accel)
	// Cornish-Fisher, one term: the skewness of the mean is 6 accel.
	quantile := func(p float64) float64 {
		z := normalQuantile(p)
		return r.Mean + r.SE*(z+r.Accel*(z*z-1))
	}
	r.Interval = Interval{
		Lo: quantile(r.Levels[0]), Hi: quantile(r.Levels[1]),
		Level: level, Method: fmt.Sprintf("%s, normal limit of the bootstrap (n > %d)", kind, maxResampledN), Defined: true,
	}
	r.Warnings = append(r.Warnings, warnf(CodeApproximate, "", "%d scenarios: normal limit of the bootstrap", n))
}

// resampledMean fills in the interval from seeded resamples.
func (r *BootstrapResult) resampledMean(s []float64, opt BootstrapOptions, level float64) {
	b := opt.Resamples
	if b <= 0 {
		b = defaultResamples
	}
	rng := stream(opt.Seed, "bootstrap-mean", s)
	n := len(s)
	means := make([]float64, b)
	for i := range means {
		sum := 0.0
		for range n {
			sum += s[rng.IntN(n)]
		}
		means[i] = sum / float64(n)
	}
	r.finish(means, n, b, opt.Kind, level, "")
}

// finish reads bias correction and interval off the drawn statistics, which it
// sorts. r.Mean is the observed statistic. A non-empty note goes to the method.
func (r *BootstrapResult) finish(drawn []float64, n, b int, kind BootstrapKind, level float64, note string) {
	slices.Sort(drawn)
	r.Exact, r.Resamples = false, b
	tol := tieTolerance * math.Max(math.Abs(drawn[0]), math.Abs(drawn[b-1]))
	below := sort.SearchFloat64s(drawn, r.Mean-tol)
	upTo := sort.SearchFloat64s(drawn, r.Mean+tol)
	for upTo < b && drawn[upTo] <= r.Mean+tol {
		upTo++
	}
	share := float64(below+upTo) / (2 * float64(b))
	// A share of 0 or 1 would send the correction to infinity.
	half := 0.5 / float64(b)
	r.Z0 = normalQuantile(math.Min(math.Max(share, half), 1-half))
	if kind == Percentile {
		r.Z0 = 0
	}
	r.Levels = bootstrapLevels(kind, level, n, r.Z0, r.Accel)
	quantile := func(p float64) float64 {
		k := int(math.Ceil(float64(b+1)*p - 1e-9)) // order statistic, no interpolation
		return drawn[min(max(k, 1), b)-1]
	}
	r.Interval = Interval{
		Lo: quantile(r.Levels[0]), Hi: quantile(r.Levels[1]),
		Level: level, Method: fmt.Sprintf("%s, %d resamples%s", kind, b, note), Defined: true,
	}
}

// bootstrapLevels returns the levels at which the bootstrap distribution of n
// units is read.
func bootstrapLevels(kind BootstrapKind, level float64, n int, z0, accel float64) [2]float64 {
	tail := (1 - level) / 2
	if kind == Percentile {
		return [2]float64{tail, 1 - tail}
	}
	z := normalQuantile(tail)
	if kind == ExpandedBCa {
		nf := float64(n)
		z = studentQuantile(tail, nf-1) * math.Sqrt(nf/(nf-1))
	}
	at := func(z float64) float64 {
		shift := z0 + z
		scale := 1 - accel*shift
		if scale <= 0 {
			// Beyond the pole of the formula: its limit from inside.
			if shift > 0 {
				return 1
			}
			return 0
		}
		return normalCDF(z0 + shift/scale)
	}
	return [2]float64{at(z), at(-z)}
}
