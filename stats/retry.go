package stats

import (
	"fmt"
	"math"
	"slices"
)

// A Run is one run as its attempts: what it would have reached with a smaller
// retry budget can be read off it, because the first r+1 attempts of a turn do
// not depend on how many more there could have been.
//
// That holds only if the agent is not told its budget, feedback is the same at
// every attempt, and repetitions after an infrastructure error are not counted
// as attempts; see [BudgetVisibleError].
type Run struct {
	Scenario  string
	Replicate int
	Attempts  []int // attempts used by each passed turn, 1..R+1
	Status    Status
	// Cost is nil or the cost of every attempt (dollars, tokens), one row per
	// passed turn and one for the turn in which the run ended, if any.
	Cost [][]float64
}

// At returns the outcome the run would have had with budget r: the turns before
// the first that needed more than r+1 attempts.
func (x Run) At(r int) Outcome {
	o := Outcome{Scenario: x.Scenario, Replicate: x.Replicate}
	for i, a := range x.Attempts {
		if a > r+1 {
			o.Value = float64(i)
			return o
		}
	}
	o.Value, o.Status = float64(len(x.Attempts)), x.Status
	return o
}

// RetryOptions controls [Retry].
type RetryOptions struct {
	R         int     // the budget the runs had: retries per turn
	Cap       float64 // number of turns there are, required
	Level     float64 // 0: 0.95
	Seed      uint64
	Eps       float64 // of the plateau: the share of the full mean that may be missing; 0: 0.05
	Resamples int     // 0: 9999
}

// A RetryPoint is the result a configuration would have had with budget R.
type RetryPoint struct {
	R        int
	Mean     float64  // mean turns, restricted if runs were stopped
	Interval Interval // pointwise, see [MeanTurns]
	Band     Interval // simultaneous over all budgets
	Full     int      // runs that passed all turns
	FullCI   Interval // Wilson, of Full among all runs
	Gain     float64  // over R-1; 0 at R = 0; below 0 only if runs were stopped
	Share    float64  // of the mean at the full budget; 0 if that is 0
	Failures int      // runs that failed
	// Rescued counts the turns passed at attempts 2..R+1, and RetryCost is the
	// cost of all attempts after the first, those in vain included, with this
	// budget. CostPerRescued is their ratio where both are known.
	Rescued        int
	RetryCost      float64
	CostPerRescued float64
	CostDefined    bool
}

// An AttemptYield is the share of turns passed at an attempt among the turns
// that came to it. A failed turn counts as having used the whole budget; the
// turn in which a run was stopped does not count.
type AttemptYield struct {
	Attempt, Reached, Passed int
	Rate                     float64  // 0 if no turn reached the attempt
	Interval                 Interval // bootstrap over scenarios
}

// RetryCurve is what [Retry] returns.
type RetryCurve struct {
	N        int            // runs
	Points   []RetryPoint   // budgets 0..R
	Yields   []AttemptYield // attempts 1..R+1
	Plateau  Plateau
	Warnings []Warning
}

// Retry derives the results of all budgets r <= R from runs with budget R. The
// budgets are nested: their means carry intervals and a band, but two of them
// are never tested against each other (see [CheckNested]). Nothing is said
// beyond R.
func Retry(runs []Run, opt RetryOptions) (RetryCurve, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return RetryCurve{}, fmt.Errorf("retry curve: %w", err)
	}
	opt.Level = level
	if opt.Eps == 0 {
		opt.Eps = defaultEps
	}
	if err := checkRuns(runs, opt); err != nil {
		return RetryCurve{}, fmt.Errorf("retry curve: %w", err)
	}
	c := RetryCurve{N: len(runs)}
	outcomes := make([][]Outcome, opt.R+1)
	for r := range outcomes {
		outcomes[r] = make([]Outcome, len(runs))
		for i, x := range runs {
			outcomes[r][i] = x.At(r)
		}
	}
	groups, err := groupOutcomes(outcomes[opt.R], opt.Cap)
	if err != nil {
		return RetryCurve{}, fmt.Errorf("retry curve: %w", err)
	}
	for r, o := range outcomes {
		m, err := MeanTurns(o, MeanOptions{Cap: opt.Cap, Level: level, Seed: opt.Seed})
		if err != nil {
			return RetryCurve{}, fmt.Errorf("retry curve: budget %d: %w", r, err)
		}
		p := RetryPoint{R: r, Mean: m.Mean, Interval: m.Interval, Full: m.Full, FullCI: Wilson(m.Full, m.N, level), Failures: m.Failed}
		if r > 0 {
			p.Gain = p.Mean - c.Points[r-1].Mean
		}
		c.Points = append(c.Points, p)
		if r == opt.R {
			c.Warnings = append(c.Warnings, m.Warnings...)
		}
	}
	full := c.Points[opt.R].Mean
	for r := range c.Points {
		if full > 0 {
			c.Points[r].Share = c.Points[r].Mean / full
		}
	}
	for r, k := range retryCosts(runs, groups, opt.R) {
		p := &c.Points[r]
		p.Rescued, p.RetryCost, p.CostPerRescued, p.CostDefined = k.Rescued, k.Cost, k.PerRescued, k.Defined
	}
	c.band(outcomes, groups, opt)
	c.yields(runs, groups, opt)
	c.plateau(outcomes, groups, opt)
	return c, nil
}

// checkRuns returns an error that names the first bad run.
func checkRuns(runs []Run, opt RetryOptions) error {
	const maxBudget = 1000
	switch {
	case len(runs) == 0:
		return fmt.Errorf("no runs")
	case opt.R < 0 || opt.R > maxBudget:
		return fmt.Errorf("budget %d is not between 0 and %d", opt.R, maxBudget)
	case !(opt.Cap > 0 && opt.Cap <= largestValue):
		return fmt.Errorf("cap %v: the number of turns is needed", opt.Cap)
	case !(opt.Eps > 0 && opt.Eps < 1):
		return fmt.Errorf("eps %v is not between 0 and 1", opt.Eps)
	}
	for i, x := range runs {
		where := func(format string, args ...any) error {
			return fmt.Errorf("run %d (scenario %q, replicate %d): %s", i, x.Scenario, x.Replicate, fmt.Sprintf(format, args...))
		}
		for k, a := range x.Attempts {
			if a < 1 || a > opt.R+1 {
				return where("turn %d was passed at attempt %d, outside 1..%d", k, a, opt.R+1)
			}
		}
		if err := checkCost(x, opt.R); err != nil {
			return where("%v", err)
		}
		passed := float64(len(x.Attempts))
		switch {
		case passed > opt.Cap:
			return where("%v passed turns are above the cap %v", passed, opt.Cap)
		case x.Status == Capped && passed < opt.Cap:
			return where("capped after %v of %v turns", passed, opt.Cap)
		case x.Status == Failed && passed == opt.Cap:
			return where("failed, but all %v turns were passed", passed)
		}
	}
	return nil
}

// band adds the simultaneous band: the largest standardised deviation of a
// resampled curve sets one width for all budgets. The true curve never falls,
// so neither may the ends of the band.
func (c *RetryCurve) band(outcomes [][]Outcome, groups []group, opt RetryOptions) {
	const method = "simultaneous band, scenario bootstrap"
	n := len(groups)
	if n == 1 || c.Points[opt.R].Interval.Reason != "" {
		reason := "one scenario has no band"
		if n > 1 {
			reason = c.Points[opt.R].Interval.Reason
		}
		for r := range c.Points {
			c.Points[r].Band = undefined(opt.Level, method, "%s", reason)
		}
		return
	}
	weights := scenarioWeights(n, resamples(opt.Resamples), stream(opt.Seed, "retry-band", values(groups, outcomes)...))
	deviation := make([][]float64, len(outcomes)) // per budget and resample
	se := make([]float64, len(outcomes))
	for r, o := range outcomes {
		stat := restrictedMean(o, groups, opt.Cap)
		deviation[r] = make([]float64, len(weights))
		sum, sum2 := 0.0, 0.0
		for i, w := range weights {
			d := stat(w) - c.Points[r].Mean
			deviation[r][i] = d
			sum += d
			sum2 += d * d
		}
		b := float64(len(weights))
		se[r] = math.Sqrt(math.Max(0, sum2/b-sum/b*(sum/b)))
		if se[r] <= tieTolerance*opt.Cap {
			se[r] = 0
		}
	}
	most := make([]float64, len(weights))
	for i := range most {
		for r := range outcomes {
			if se[r] > 0 {
				most[i] = math.Max(most[i], math.Abs(deviation[r][i])/se[r])
			}
		}
	}
	slices.Sort(most)
	width := orderStatistic(most, opt.Level)
	for r := range c.Points {
		p := &c.Points[r]
		p.Band = Interval{
			Lo: math.Max(0, p.Mean-width*se[r]), Hi: math.Min(opt.Cap, p.Mean+width*se[r]),
			Level: opt.Level, Method: fmt.Sprintf("%s, %d resamples", method, len(weights)), Defined: true,
		}
		if se[r] == 0 && p.Interval.Defined {
			// All scenarios alike: resampling knows nothing, the rule for the
			// edges may.
			p.Band.Lo, p.Band.Hi = math.Min(p.Band.Lo, p.Interval.Lo), math.Max(p.Band.Hi, p.Interval.Hi)
		}
		if r > 0 {
			p.Band.Lo = math.Max(p.Band.Lo, c.Points[r-1].Band.Lo)
		}
	}
	for r := len(c.Points) - 2; r >= 0; r-- {
		c.Points[r].Band.Hi = math.Min(c.Points[r].Band.Hi, c.Points[r+1].Band.Hi)
	}
}

// values returns the values of sets of outcomes in the order of scenarios, to
// seed a stream: the order of records must not matter.
func values(groups []group, sets [][]Outcome) [][]float64 {
	out := make([][]float64, len(sets))
	order := inOrder(groups)
	for i, o := range sets {
		for _, k := range order {
			out[i] = append(out[i], o[k].Value)
		}
	}
	return out
}

// yields adds the yield of each attempt.
func (c *RetryCurve) yields(runs []Run, groups []group, opt RetryOptions) {
	n := len(groups)
	for a := 1; a <= opt.R+1; a++ {
		reached, passed := make([]int, n), make([]int, n)
		y := AttemptYield{Attempt: a}
		touched := 0
		for u, g := range groups {
			for _, k := range g.index {
				for _, used := range runs[k].Attempts {
					if used >= a {
						reached[u]++
					}
					if used == a {
						passed[u]++
					}
				}
				if runs[k].Status == Failed {
					reached[u]++
				}
			}
			y.Reached += reached[u]
			y.Passed += passed[u]
			if reached[u] > 0 {
				touched++
			}
		}
		y.Rate, y.Interval = shareOfSums(passed, reached, y.Passed, y.Reached, touched, opt, fmt.Sprintf("attempt-yield-%d", a))
		c.Yields = append(c.Yields, y)
	}
}

// shareOfSums returns the ratio of two sums over scenarios and its interval.
func shareOfSums(num, den []int, sumNum, sumDen, touched int, opt RetryOptions, name string) (float64, Interval) {
	const method = "share, scenario bootstrap"
	if sumDen == 0 {
		return 0, undefined(opt.Level, method, "no turn came to this attempt")
	}
	rate := float64(sumNum) / float64(sumDen)
	if sumNum == 0 || sumNum == sumDen {
		// Resampling cannot leave the edge; count scenarios instead of turns.
		k := 0
		if sumNum > 0 {
			k = touched
		}
		i := ClopperPearson(k, touched, opt.Level)
		i.Method = "Clopper-Pearson, one observation per scenario"
		return rate, i
	}
	stat := func(weight []int) float64 {
		x, y := 0, 0
		for u, w := range weight {
			x += w * num[u]
			y += w * den[u]
		}
		if y == 0 {
			return rate // a resample without such turns says nothing
		}
		return float64(x) / float64(y)
	}
	data := make([]float64, 0, 2*len(num))
	for u := range num {
		data = append(data, float64(num[u]), float64(den[u]))
	}
	b := bootstrapUnits(len(num), len(num), stat, BootstrapOptions{Level: opt.Level, Seed: opt.Seed, Resamples: opt.Resamples}, opt.Level, name, data)
	if b.Interval.Defined {
		b.Interval.Method = "share, " + b.Interval.Method
	}
	return rate, b.Interval
}
