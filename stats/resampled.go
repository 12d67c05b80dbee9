package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// A Configuration is a named set of outcomes.
type Configuration struct {
	Name     string
	Outcomes []Outcome
}

// ResampleOptions controls [ResampleScenarios].
type ResampleOptions struct {
	Cap       float64 // number of turns there are; 0: none
	Seed      uint64
	Resamples int // 0: 9999
	// TwoStage also redraws the repeats within each drawn scenario: the
	// question is then the same scenarios with new runs as well. Default: new
	// scenarios.
	TwoStage bool
}

// Resampled holds the mean turns of configurations over common scenarios, and
// the same over resamples of the scenarios. All configurations share each
// resample, so that differences and ranks are coherent.
type Resampled struct {
	Names     []string
	Scenarios []string    // those every configuration has, sorted
	Dropped   []string    // those some configuration lacks
	Means     []float64   // per configuration; restricted means where runs were stopped
	Draws     [][]float64 // [configuration][resample]
	left      [][]float64 // [configuration][scenario left out]
}

// ResampleScenarios draws scenarios with replacement, with all their repeats,
// for all configurations at once.
func ResampleScenarios(configs []Configuration, opt ResampleOptions) (Resampled, error) {
	if len(configs) == 0 {
		return Resampled{}, fmt.Errorf("resampling no configurations")
	}
	grouped := make([][]group, len(configs))
	holders := make(map[string]int)
	for c, x := range configs {
		g, err := groupOutcomes(x.Outcomes, opt.Cap)
		if err != nil {
			return Resampled{}, fmt.Errorf("resampling: configuration %q: %w", x.Name, err)
		}
		grouped[c] = g
		for _, s := range g {
			holders[s.scenario]++
		}
	}
	r := Resampled{}
	for s, n := range holders {
		if n == len(configs) {
			r.Scenarios = append(r.Scenarios, s)
		} else {
			r.Dropped = append(r.Dropped, s)
		}
	}
	slices.Sort(r.Scenarios)
	slices.Sort(r.Dropped)
	n := len(r.Scenarios)
	if n == 0 {
		return Resampled{}, fmt.Errorf("resampling: %s share no scenario", countOf(len(configs), "configuration", "configurations"))
	}
	b := resamples(opt.Resamples)
	drawn := scenarioWeights(n, b, stream(opt.Seed, "scenarios", []float64{float64(n)}))
	for c, x := range configs {
		kept := slices.DeleteFunc(grouped[c], func(g group) bool { return holders[g.scenario] < len(configs) })
		stat := restrictedMean(keptOutcomes(x.Outcomes, kept), regroup(kept), opt.Cap)
		weight := make([]int, n)
		for i := range weight {
			weight[i] = 1
		}
		r.Names = append(r.Names, x.Name)
		r.Means = append(r.Means, stat(weight))
		var left []float64
		if n > 1 {
			for i := range weight {
				weight[i] = 0
				left = append(left, stat(weight))
				weight[i] = 1
			}
		}
		r.left = append(r.left, left)
		draws := make([]float64, b)
		if opt.TwoStage {
			two := newTwoStage(x.Outcomes, kept, opt.Cap)
			rng := stream(opt.Seed, "repeats", []float64{float64(c)})
			for i, w := range drawn {
				draws[i] = two.draw(w, rng.IntN)
			}
		} else {
			for i, w := range drawn {
				draws[i] = stat(w)
			}
		}
		r.Draws = append(r.Draws, draws)
	}
	return r, nil
}

// keptOutcomes copies the outcomes of groups, in their order.
func keptOutcomes(o []Outcome, groups []group) []Outcome {
	var out []Outcome
	for _, g := range groups {
		for _, k := range g.index {
			out = append(out, o[k])
		}
	}
	return out
}

// regroup numbers the members of groups in their order.
func regroup(groups []group) []group {
	out := make([]group, len(groups))
	next := int32(0)
	for i, g := range groups {
		out[i].scenario = g.scenario
		for range g.index {
			out[i].index = append(out[i].index, next)
			next++
		}
	}
	return out
}

// A twoStage draws runs within drawn scenarios.
type twoStage struct {
	first  []int // number of the first run of each scenario, and the number of runs
	value  []float64
	lives  []lifetime // one unit per run; nil if no run was stopped
	tau    float64
	weight []int
}

func newTwoStage(o []Outcome, groups []group, tau float64) *twoStage {
	t := &twoStage{tau: tau}
	stopped := 0
	for _, g := range groups {
		t.first = append(t.first, len(t.value))
		for _, k := range g.index {
			time, event := o[k].Lifetime()
			t.lives = append(t.lives, lifetime{time, event, len(t.value)})
			t.value = append(t.value, o[k].Value)
			if o[k].Status == Stopped {
				stopped++
			}
		}
	}
	t.first = append(t.first, len(t.value))
	t.weight = make([]int, len(t.value))
	if tau <= 0 {
		t.tau = slices.Max(t.value)
	}
	if stopped == 0 || stopped == len(t.value) {
		t.lives = nil
	}
	sortLifetimes(t.lives)
	return t
}

// draw returns the statistic of one resample: scenario s was drawn weight[s]
// times, and each time as many of its runs as it has.
func (t *twoStage) draw(weight []int, intN func(int) int) float64 {
	clear(t.weight)
	sum, n := 0.0, 0
	for s, w := range weight {
		size := t.first[s+1] - t.first[s]
		n += w
		inner := 0.0
		for range w * size {
			k := t.first[s] + intN(size)
			t.weight[k]++
			inner += t.value[k]
		}
		sum += inner / float64(size)
	}
	if t.lives != nil {
		return weightedRMST(t.lives, t.weight, t.tau)
	}
	return sum / float64(n)
}

// Difference returns the difference of the means of configurations a and b with
// an interval from the common resamples.
func (r Resampled) Difference(a, b int, kind BootstrapKind, level float64) (BootstrapResult, error) {
	level, err := checkLevel(level)
	if err != nil {
		return BootstrapResult{}, fmt.Errorf("difference of configurations: %w", err)
	}
	if a < 0 || b < 0 || a >= len(r.Means) || b >= len(r.Means) {
		return BootstrapResult{}, fmt.Errorf("difference of configurations %d and %d of %d", a, b, len(r.Means))
	}
	out := BootstrapResult{Mean: r.Means[a] - r.Means[b]}
	n := len(r.Scenarios)
	if n == 1 {
		out.Interval = undefined(level, kind.String(), "one scenario has no interval")
		return out, nil
	}
	left := make([]float64, n)
	for i := range left {
		left[i] = r.left[a][i] - r.left[b][i]
	}
	drawn := make([]float64, len(r.Draws[a]))
	for i := range drawn {
		drawn[i] = r.Draws[a][i] - r.Draws[b][i]
	}
	out.Accel = jackknifeAcceleration(left)
	out.SE = standardDeviation(drawn)
	if slices.Min(drawn) == slices.Max(drawn) {
		out.Resamples = len(drawn)
		out.Interval = Interval{Lo: out.Mean, Hi: out.Mean, Level: level, Method: "all resamples equal", Defined: true}
		out.Warnings = append(out.Warnings, warnf(CodeDegenerate, "", "every resample of the %s gives %v: the interval is a point", countOf(n, "scenario", "scenarios"), out.Mean))
		return out, nil
	}
	out.finish(drawn, n, len(drawn), kind, level, "")
	return out, nil
}

// A RankInterval says how sure the rank of a configuration is; 1 is best.
type RankInterval struct {
	Name        string
	Rank        float64   // by mean; configurations with equal means share the middle of their ranks
	Lo, Hi      int       // ranks between which it lies in Level of the resamples
	Probability []float64 // of ranks 1..k; ties are shared
	Level       float64
}

// Ranks returns the rank of every configuration by mean turns with an interval
// from the common resamples. It describes how stable a ranking is; it is no
// test of two configurations.
func (r Resampled) Ranks(level float64) ([]RankInterval, error) {
	level, err := checkLevel(level)
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	k := len(r.Means)
	out := make([]RankInterval, k)
	for c := range out {
		out[c] = RankInterval{Name: r.Names[c], Probability: make([]float64, k), Level: level}
	}
	column := slices.Clone(r.Means)
	eachRank(column, func(c, first, last int) { out[c].Rank = float64(first+last) / 2 })
	for i := range r.Draws[0] {
		for c := range column {
			column[c] = r.Draws[c][i]
		}
		eachRank(column, func(c, first, last int) {
			share := 1 / float64(last-first+1)
			for j := first; j <= last; j++ {
				out[c].Probability[j-1] += share
			}
		})
	}
	tail := (1 - level) / 2
	for c := range out {
		x := &out[c]
		sum := make([]float64, k)
		total := 0.0
		for j := range x.Probability {
			x.Probability[j] /= float64(len(r.Draws[0]))
			total += x.Probability[j]
			sum[j] = total
		}
		x.Lo = min(sort.SearchFloat64s(sum, tail+quantileGuard), k-1) + 1
		x.Hi = min(sort.SearchFloat64s(sum, 1-tail-quantileGuard), k-1) + 1
	}
	return out, nil
}

// eachRank calls f with the first and last rank that each value may have; the
// largest has rank 1, values equal but for rounding share theirs.
func eachRank(x []float64, f func(c, first, last int)) {
	order := ascending(x)
	slices.Reverse(order)
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[i]]-x[order[j]] <= tieTolerance*math.Abs(x[order[i]]) {
			j++
		}
		for _, c := range order[i:j] {
			f(c, i+1, j)
		}
		i = j
	}
}
