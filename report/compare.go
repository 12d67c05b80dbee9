package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// CompareOptions says what to compare with what. The zero value compares all pairs of configurations on the
// value the set holds, two-sided at 0.05 with zeros dropped, and calls it exploratory.
type CompareOptions struct {
	By       []string         // factors whose change is the question; with Within this makes the family
	Within   []string         // factors that must agree inside a pair
	Baseline string           // compare every configuration with this one (full or short name)
	Families []DeclaredFamily // from study.yaml; used when neither By nor Baseline is given
	Outcome  string           // name of the outcome; "" = the set's own
	Primary  string           // the outcome the study declared; another one without a family shows intervals only; "" = no study
	Alpha    float64          // 0 = 0.05
	Zero     string           // drop (default) or pratt: what the test does with equal outcomes
	Force    bool             // pair although one side misses more than 20 % of the scenarios
	At       *int             // must be nil: outcomes at a smaller retry budget are not read from the set
	Episodes bool             // the rows are episodes of a study: the cap is the build plus the changes,
	Seed     uint64           // of the resampling used beyond 60 scenarios
	Notes    []Warning        // remarks about the source, told with the others
	Banners  []string         // what has to stand before shares of causes: that nobody has validated the judge they rest on

	verdicts bool // some run has a verdict, so that all failed ones are counted by cause
}

// An InputError is a request the outcomes cannot meet. Its exit code is 2.
type InputError struct {
	Message string
	WayOut  string
}

// Error returns what is wrong.
func (e *InputError) Error() string { return e.Message }

// Hint returns the way out.
func (e *InputError) Hint() string { return e.WayOut }

// ExitCode returns 2.
func (e *InputError) ExitCode() int { return 2 }

func inputErrorf(hint, format string, args ...any) error {
	return &InputError{Message: fmt.Sprintf(format, args...), WayOut: hint}
}

// Compare makes the comparison of a set of outcomes. Rows without a value are left out and counted.
func Compare(set *logs.OutcomeSet, opt CompareOptions) (*Comparison, error) {
	if opt.At != nil {
		return nil, inputErrorf("compare separate runs with their own budgets", "outcomes at a smaller retry budget (r = %d) cannot be compared", *opt.At)
	}
	if opt.Alpha == 0 {
		opt.Alpha = 0.05
	}
	if !(opt.Alpha > 0 && opt.Alpha < 1) {
		return nil, inputErrorf("--alpha 0.05", "alpha is %v, not between 0 and 1", opt.Alpha)
	}
	zero, err := parseZero(opt.Zero)
	if err != nil {
		return nil, err
	}
	if opt.Outcome == "" {
		opt.Outcome = set.ValueName
	}
	c := &Comparison{Schema: CompareSchema, Outcome: opt.Outcome, Policy: "as run", Banner: strings.Join(opt.Banners, ". "), episodes: opt.Episodes, zero: zero}
	if set.Cap > 0 {
		c.TurnsMax = &set.Cap
	}
	c.verdicts = slices.ContainsFunc(set.Rows, func(o logs.Outcome) bool { return o.EndL1 != "" })
	opt.verdicts = c.verdicts
	limit := outcomeLimit(set, opt)
	groups, err := groupRows(set, limit, opt)
	if err != nil {
		return nil, err
	}
	c.names(groups, opt.Families)
	if err := c.describe(groups, limit, opt); err != nil {
		return nil, err
	}
	families, err := resolveFamilies(c, opt)
	if err != nil {
		return nil, err
	}
	if err := c.test(families, groups, limit, opt); err != nil {
		return nil, err
	}
	if err := c.rank(groups, limit, opt); err != nil {
		return nil, err
	}
	c.group()
	c.remark(set, groups, opt)
	c.Paragraph = paragraph(c)
	return c, nil
}

func parseZero(s string) (stats.ZeroMethod, error) {
	switch s {
	case "", "drop":
		return stats.Drop, nil
	case "pratt":
		return stats.Pratt, nil
	}
	return 0, inputErrorf("--zero drop or --zero pratt", "zero method %q is neither drop nor pratt", s)
}

// A configRows holds the outcomes of one configuration.
type configRows struct {
	name      string
	factors   map[string]string
	outcomes  []stats.Outcome
	rows      []*logs.Outcome   // of the outcomes, in their order
	scenarios map[string]string // pairing key → name
	ends      map[string]int    // by the words of logs
	stops     []stop
	pending   int // stopped runs that have not ended
	missing   int // rows without a value
	usd       float64
	usdKnown  int
}

// groupRows sorts the rows by configuration.
func groupRows(set *logs.OutcomeSet, limit float64, opt CompareOptions) ([]*configRows, error) {
	byHash := len(set.Rows) > 0
	for i := range set.Rows {
		if set.Rows[i].ScenarioSHA == "" {
			byHash = false
			break
		}
	}
	index := make(map[string]*configRows)
	var groups []*configRows
	var g *configRows // of the row before: rows of one configuration mostly stand together
	for i := range set.Rows {
		row := &set.Rows[i]
		if g == nil || g.name != row.Config {
			g = index[row.Config]
		}
		if g == nil {
			g = &configRows{name: row.Config, factors: row.Factors, scenarios: make(map[string]string),
				ends: map[string]int{logs.StatusFailed: 0, logs.StatusCapped: 0, logs.StatusStopped: 0}}
			if len(g.factors) == 0 {
				g.factors, _ = ParseConfig(row.Config)
			}
			index[row.Config] = g
			groups = append(groups, g)
		}
		if err := g.add(row, byHash, limit, opt.Outcome); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(groups, func(a, b *configRows) int { return strings.Compare(a.name, b.name) })
	for _, g := range groups {
		// The order of the rows must not matter to anything that is printed.
		g.sort()
		sort.Slice(g.stops, func(i, j int) bool { return g.stops[i].id < g.stops[j].id })
	}
	return groups, nil
}

// sort orders the outcomes and their rows by scenario and repeat.
func (g *configRows) sort() {
	if slices.IsSortedFunc(g.outcomes, compareOutcomes) {
		return
	}
	order := make([]int, len(g.outcomes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return compareOutcomes(g.outcomes[i], g.outcomes[j]) })
	outcomes, rows := make([]stats.Outcome, len(order)), make([]*logs.Outcome, len(order))
	for to, from := range order {
		outcomes[to], rows[to] = g.outcomes[from], g.rows[from]
	}
	g.outcomes, g.rows = outcomes, rows
}

func compareOutcomes(a, b stats.Outcome) int {
	if n := strings.Compare(a.Scenario, b.Scenario); n != 0 {
		return n
	}
	return cmp.Compare(a.Replicate, b.Replicate)
}

// outcomeLimit is the largest value an outcome can have, 0 if there is none. A share ends at 1; that is no cap
// anybody chose, so it is not shown as one.
func outcomeLimit(set *logs.OutcomeSet, opt CompareOptions) float64 {
	if set.Cap == 0 && opt.Episodes && (opt.Outcome == "full" || opt.Outcome == "share") {
		return 1
	}
	return set.Cap
}

// add appends one row.
func (g *configRows) add(row *logs.Outcome, byHash bool, limit float64, outcome string) error {
	if row.Value == nil || math.IsNaN(*row.Value) || math.IsInf(*row.Value, 0) {
		g.missing++
		return nil
	}
	key := row.Scenario
	if byHash {
		key = row.ScenarioSHA
	}
	status := row.Status
	if status == "" {
		status = logs.StatusFailed
		if limit > 0 && *row.Value == limit {
			status = logs.StatusCapped
		}
	}
	o := stats.Outcome{Scenario: key, Replicate: row.Repeat, Value: *row.Value}
	switch {
	case status == logs.StatusFailed:
	case status == logs.StatusCapped:
		if limit > 0 {
			o.Status = stats.Capped
		}
	case status == logs.StatusStopped:
		// What a stopped run has cost is known; everything else it had reached is a lower bound.
		if outcome != "usd" {
			o.Status = stats.Stopped
		}
		g.addStop(row)
	default:
		return inputErrorf("the words are failed, capped and stopped", "%s: status %q", place(row), row.Status)
	}
	g.ends[status]++
	if n := len(g.outcomes); n == 0 || g.outcomes[n-1].Scenario != key {
		if _, ok := g.scenarios[key]; !ok {
			g.scenarios[key] = row.Scenario
		}
	}
	g.outcomes = append(g.outcomes, o)
	g.rows = append(g.rows, row)
	if row.USD != nil {
		g.usd += *row.USD
		g.usdKnown++
	}
	return nil
}

func (g *configRows) addStop(row *logs.Outcome) {
	reason := row.EndReason
	if row.Incomplete {
		g.pending++
		reason = "incomplete"
	}
	g.stops = append(g.stops, stop{id: row.Scenario + "#" + strconv.Itoa(row.Repeat), reason: reason})
}

// place names where a row came from.
func place(row *logs.Outcome) string {
	if row.File == "" {
		return fmt.Sprintf("%s/%s#%d", Clean(row.Config), Clean(row.Scenario), row.Repeat)
	}
	return fmt.Sprintf("%s:%d", Clean(row.File), row.Line)
}

// names fills the short names; configurations that a family names and that have no runs yet are among them.
func (c *Comparison) names(groups []*configRows, families []DeclaredFamily) {
	all := make([]string, len(groups))
	for i, g := range groups {
		all[i] = g.name
	}
	for _, f := range families {
		for _, p := range f.Pairs {
			all = append(all, p[0], p[1])
		}
	}
	c.short, c.common = ShortNames(all)
}

// describe fills Configs, highest mean first.
func (c *Comparison) describe(groups []*configRows, limit float64, opt CompareOptions) error {
	c.Configs = make([]ConfigResult, len(groups))
	err := inParallel(len(groups), func(i int) error {
		r, err := describeConfig(groups[i], limit, opt)
		c.Configs[i] = r
		return err
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		if len(g.outcomes) == 0 {
			continue
		}
		c.scenarios.add(len(g.scenarios))
		for i := 0; i < len(g.outcomes); {
			j := i
			for j < len(g.outcomes) && g.outcomes[j].Scenario == g.outcomes[i].Scenario {
				j++
			}
			c.runs.add(j - i)
			i = j
		}
	}
	slices.SortStableFunc(c.Configs, func(a, b ConfigResult) int {
		switch {
		case a.Mean == nil && b.Mean == nil:
			return 0
		case a.Mean == nil:
			return 1
		case b.Mean == nil:
			return -1
		case *a.Mean > *b.Mean:
			return -1
		case *a.Mean < *b.Mean:
			return 1
		}
		return 0
	})
	return nil
}

func describeConfig(g *configRows, limit float64, opt CompareOptions) (ConfigResult, error) {
	r := ConfigResult{Config: g.name, Factors: g.factors, N: len(g.outcomes), Ends: g.ends, stops: g.stops}
	if r.Factors == nil {
		r.Factors = map[string]string{}
	}
	warn := func(at column, code, format string, args ...any) {
		r.notes = append(r.notes, Warning{Code: code, Where: g.name, Text: fmt.Sprintf(format, args...), at: at})
	}
	if g.missing > 0 {
		warn(atName, CodeMissingValue, "%d of %d rows have no value and are left out", g.missing, g.missing+r.N)
	}
	if g.usdKnown > 0 && opt.Outcome != "usd" {
		r.USD = ptr(g.usd / float64(g.usdKnown))
		if g.usdKnown < r.N {
			warn(atCost, CodeCostPartlyKnown, "the cost of %d of %d runs is unknown; dollars are the mean of the others", r.N-g.usdKnown, r.N)
		}
	} else if opt.Outcome != "usd" {
		warn(atNowhere, CodeUndefined, "dollars are undefined: the cost of no run is known")
	}
	if r.N == 0 {
		warn(atMean, CodeUndefined, "mean, interval and median are undefined: no run with a value")
		return r, nil
	}
	m, err := stats.MeanTurns(g.outcomes, stats.MeanOptions{Cap: limit, Seed: opt.Seed})
	if err != nil {
		return r, inputErrorf("correct the outcome, or leave it out with --filter", "%s: %v", Clean(g.name), err)
	}
	r.Mean, r.restricted = ptr(m.Mean), m.Restricted
	r.Median = ptr(m.Median)
	if m.Interval.Defined {
		r.CI, r.CIMethod = &[2]float64{m.Interval.Lo, m.Interval.Hi}, ptr(m.Interval.Method)
	} else {
		warn(atCI, CodeUndefined, "the interval of the mean is undefined: %s", m.Interval.Reason)
	}
	if limit > 0 {
		r.Full = ptr(m.Full)
	}
	if len(g.stops) > 0 {
		text := stoppedText(g, m, opt.Outcome)
		r.notes = append(r.notes, Warning{Code: CodeStoppedRuns, Where: g.name, Text: text, at: atMean})
	}
	if g.pending > 0 {
		warn(atMean, CodeIncomplete, "%d of %d runs have not ended; they count as stopped after the turns passed so far", g.pending, r.N)
	}
	for _, w := range m.Warnings {
		r.notes = append(r.notes, Warning{Code: w.Code, Where: g.name, Text: w.Text, at: columnOf(w.Code)})
	}
	r.fillRuns(g)
	if isTurns(opt.Outcome) {
		r.rate(g.outcomes, limit)
	}
	if err := r.judge(g, limit, opt); err != nil {
		return r, err
	}
	return r, nil
}

// fillRuns keeps what the figures need.
func (r *ConfigResult) fillRuns(g *configRows) {
	r.runs = make([]run, len(g.outcomes))
	for i := 0; i < len(g.outcomes); {
		sum, j := 0.0, i
		for ; j < len(g.outcomes) && g.outcomes[j].Scenario == g.outcomes[i].Scenario; j++ {
			sum += g.outcomes[j].Value
			r.runs[j] = run{value: g.outcomes[j].Value, status: g.outcomes[j].Status, cause: causeOf(g.rows[j]), row: g.rows[j]}
		}
		r.repeated = r.repeated || j-i > 1
		r.scenarios = append(r.scenarios, scenarioValue{g.scenarios[g.outcomes[i].Scenario], sum / float64(j-i)})
		i = j
	}
	slices.SortStableFunc(r.scenarios, func(a, b scenarioValue) int { return strings.Compare(a.scenario, b.scenario) })
}

// inParallel calls f for 0..n-1 on as many goroutines as there are processors and returns the first error by index.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(max(1, runtime.GOMAXPROCS(0)))
	for i := range n {
		group.Go(func() error {
			errs[i] = f(i)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// remark collects the warnings of all parts, in the order in which a reader meets them.
func (c *Comparison) remark(set *logs.OutcomeSet, groups []*configRows, opt CompareOptions) {
	c.notes = append(c.notes, opt.Notes...)
	if len(set.Problems) > 0 {
		c.notes = append(c.notes, Warning{Code: CodeUnreadable, Where: "", Text: fmt.Sprintf("%d records of the source could not be read and are missing here", len(set.Problems))})
	}
	if len(groups) == 1 {
		c.notes = append(c.notes, Warning{Code: CodeOneConfiguration, Where: "", Text: "there is one configuration: nothing to compare"})
	}
	c.Warnings = append([]Warning{}, c.notes...)
	for i := range c.Configs {
		c.Warnings = append(c.Warnings, c.Configs[i].notes...)
	}
	for i := range c.Families {
		f := &c.Families[i]
		c.Warnings = append(c.Warnings, f.notes...)
		for j := range f.Pairs {
			c.Warnings = append(c.Warnings, f.Pairs[j].notes...)
		}
	}
}

// pending returns the number of runs that have not ended.
func (c *Comparison) pending() int {
	n := 0
	for i := range c.Configs {
		for _, s := range c.Configs[i].stops {
			if s.reason == "incomplete" {
				n++
			}
		}
	}
	return n
}

// unmatched reports whether err refuses a pair for its unmatched scenarios.
func unmatched(err error) (*stats.UnmatchedError, bool) {
	var u *stats.UnmatchedError
	ok := errors.As(err, &u)
	return u, ok
}
