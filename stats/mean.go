package stats

import (
	"fmt"
	"math"
	"slices"
)

// MeanOptions controls [MeanTurns].
type MeanOptions struct {
	Cap   float64 // number of turns there are; 0: none
	Level float64 // 0: 0.95
	Seed  uint64
}

// MeanResult describes the outcomes of one configuration.
type MeanResult struct {
	N, Scenarios            int // runs and scenarios
	Mean, Median            float64
	Interval                Interval
	Full                    int // runs that passed all turns
	Failed, Capped, Stopped int // runs by status
	// Restricted is true if runs were stopped: Mean is then the restricted mean
	// to the cap and Median the median of a Kaplan-Meier estimate, in which a
	// run stopped after T passed turns leaves at T-1.
	Restricted bool
	// MedianReached is false if half of the runs outlast what is known; Median
	// is then the largest time known.
	MedianReached bool
	Warnings      []Warning
}

// tooManyStopped is the share of stopped runs above which no test is run and no
// mean is trusted.
const tooManyStopped = 0.30

// MeanTurns returns the mean of one configuration, capped runs counting as the
// cap, with an expanded BCa interval over scenarios; repeats of a scenario are
// averaged first. If any run was stopped it is the restricted mean to the cap
// by Kaplan-Meier (without a cap: to the largest value), its interval a
// scenario bootstrap.
//
// Where every run is at the cap the bootstrap knows nothing; the lower end is
// then cap times the Clopper-Pearson lower bound of the share of capped
// scenarios. Where every run failed in the first turn the upper end is cap
// times the Clopper-Pearson upper bound of the share that passes it.
//
// If every run was stopped the mean is not known: Mean is the mean number of
// turns passed, a lower bound, and the interval is undefined.
func MeanTurns(o []Outcome, opt MeanOptions) (MeanResult, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return MeanResult{}, fmt.Errorf("mean turns: %w", err)
	}
	if len(o) == 0 {
		return MeanResult{}, fmt.Errorf("mean turns of no outcomes")
	}
	groups, err := groupOutcomes(o, opt.Cap)
	if err != nil {
		return MeanResult{}, fmt.Errorf("mean turns: %w", err)
	}
	r := MeanResult{N: len(o), Scenarios: len(groups)}
	for _, x := range o {
		switch x.Status {
		case Failed:
			r.Failed++
		case Capped:
			r.Capped++
		case Stopped:
			r.Stopped++
		}
	}
	r.Full = r.Capped
	values := make([]float64, len(groups))
	var v []float64
	for i, g := range groups {
		v, _, _ = gather(v[:0], o, g)
		values[i] = reduceValues(v, Mean).value
	}
	if r.Stopped > 0 {
		r.restricted(o, groups, values, opt, level)
		return r, nil
	}
	b, err := BootstrapMean(values, BootstrapOptions{Level: level, Seed: opt.Seed})
	if err != nil {
		return MeanResult{}, fmt.Errorf("mean turns: %w", err)
	}
	r.Mean, r.Interval, r.Warnings = b.Mean, b.Interval, b.Warnings
	r.Median, r.MedianReached = middle(values), true
	if edge, ok := edgeInterval(values, r, opt.Cap, level); ok {
		r.Interval, r.Warnings = edge, nil
	}
	return r, nil
}

// middle returns the median of a non-empty slice.
func middle(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// edgeInterval is the interval where all runs are at the cap or at 0.
func edgeInterval(values []float64, r MeanResult, limit, level float64) (Interval, bool) {
	n := len(values)
	if limit <= 0 {
		return Interval{}, false
	}
	lo, hi := slices.Min(values), slices.Max(values)
	switch {
	case lo == limit:
		share := ClopperPearson(n, n, level)
		return Interval{
			Lo: limit * share.Lo, Hi: limit, Level: level, Defined: true,
			Method: "all at the cap: cap times the Clopper-Pearson lower bound of the share that reaches it",
		}, true
	case hi == 0 && r.Failed == r.N:
		share := ClopperPearson(0, n, level)
		return Interval{
			Lo: 0, Hi: limit * share.Hi, Level: level, Defined: true,
			Method: "none passed the first turn: cap times the Clopper-Pearson upper bound of the share that does",
		}, true
	}
	return Interval{}, false
}

// lifetimes turns grouped outcomes into sorted lifetimes, one unit per group,
// and returns the largest value.
func lifetimes(o []Outcome, groups []group) (l []lifetime, largest float64) {
	for u, g := range groups {
		for _, k := range g.index {
			largest = math.Max(largest, o[k].Value)
			t, event := o[k].Lifetime()
			l = append(l, lifetime{time: t, event: event, unit: u})
		}
	}
	sortLifetimes(l)
	return l, largest
}

// restricted fills in the result of a configuration with stopped runs.
func (r *MeanResult) restricted(o []Outcome, groups []group, values []float64, opt MeanOptions, level float64) {
	const method = "restricted mean"
	r.Restricted = true
	if share := float64(r.Stopped) / float64(r.N); share > tooManyStopped {
		r.Warnings = append(r.Warnings, warnf(CodeTooManyStopped, "", "%s early: the mean rests on few runs", stoppedOf(r.Stopped, r.N)))
	}
	if r.Stopped == r.N {
		r.Mean, r.Median = mean(values), middle(values)
		r.Interval = undefined(level, method, "every run was stopped: the turns passed so far are only a lower bound")
		return
	}
	l, tau := lifetimes(o, groups)
	if opt.Cap > 0 {
		tau = opt.Cap
	}
	times, event := make([]float64, len(l)), make([]bool, len(l))
	for i, x := range l {
		times[i], event[i] = x.time, x.event
	}
	km, err := KaplanMeier(times, event, SurvivalOptions{Level: level})
	if err != nil {
		// The outcomes were validated and are not empty.
		panic("stats: Kaplan-Meier of valid outcomes: " + err.Error())
	}
	var w []Warning
	r.Mean, _, w = km.RMST(tau)
	r.Warnings = append(r.Warnings, w...)
	if r.Median, r.MedianReached = km.Median(); !r.MedianReached {
		r.Median = tau
	}
	b := bootstrapUnits(len(groups), len(l), func(weight []int) float64 { return weightedRMST(l, weight, tau) },
		BootstrapOptions{Level: level, Seed: opt.Seed}, level, "restricted-mean", times)
	r.Interval = b.Interval
	if b.Interval.Defined {
		r.Interval.Method = method + ", " + b.Interval.Method
	}
	r.Warnings = append(r.Warnings, b.Warnings...)
}

// bootstrapUnits bootstraps a statistic of weighted units (scenarios with all
// their runs). size is the cost of one evaluation; the number of resamples
// shrinks with it, and the method name shows it.
func bootstrapUnits(units, size int, stat func(weight []int) float64, opt BootstrapOptions, level float64, name string, data ...[]float64) BootstrapResult {
	const budget = 2e8
	weight := make([]int, units)
	for i := range weight {
		weight[i] = 1
	}
	r := BootstrapResult{Mean: stat(weight)}
	if units == 1 {
		r.Interval = undefined(level, opt.Kind.String(), "one scenario has no interval")
		return r
	}
	kind, note := opt.Kind, ""
	left := make([]float64, 0, units)
	if float64(units)*float64(size) <= budget {
		for i := range weight {
			weight[i] = 0
			left = append(left, stat(weight))
			weight[i] = 1
		}
		r.Accel = jackknifeAcceleration(left)
	} else {
		kind, note = Percentile, ", too many runs for BCa"
	}
	b := opt.Resamples
	if b <= 0 {
		b = int(math.Min(defaultResamples, math.Max(199, budget/float64(size))))
	}
	rng := stream(opt.Seed, name, data...)
	drawn := make([]float64, b)
	sum, sum2 := 0.0, 0.0
	for i := range drawn {
		clear(weight)
		for range units {
			weight[rng.IntN(units)]++
		}
		drawn[i] = stat(weight)
		d := drawn[i] - r.Mean
		sum += d
		sum2 += d * d
	}
	bf := float64(b)
	r.SE = math.Sqrt(math.Max(0, sum2/bf-sum/bf*(sum/bf)))
	if slices.Min(drawn) == slices.Max(drawn) {
		r.Resamples = b
		r.Interval = Interval{Lo: r.Mean, Hi: r.Mean, Level: level, Method: "all resamples equal", Defined: true}
		r.Warnings = append(r.Warnings, warnf(CodeDegenerate, "", "every resample of the %d scenarios gives %v: the interval is a point", units, r.Mean))
		return r
	}
	r.finish(drawn, units, b, kind, level, note)
	return r
}

// jackknifeAcceleration is the acceleration of BCa from leave-one-out values,
// 0 if they are all equal.
func jackknifeAcceleration(left []float64) float64 {
	m := mean(left)
	s2, s3 := 0.0, 0.0
	for _, v := range left {
		d := m - v
		s2 += d * d
		s3 += d * d * d
	}
	if s2 == 0 {
		return 0
	}
	return s3 / (6 * math.Pow(s2, 1.5))
}
