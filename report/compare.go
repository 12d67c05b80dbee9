package report

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"strconv"

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
	Episodes bool             // the rows are episodes of a study: the cap is the build plus the changes, and a stopped run without an end is unfinished
	Seed     uint64           // of the resampling used beyond 60 scenarios
	Notes    []Warning        // remarks about the source, told with the others
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
	c := &Comparison{Schema: CompareSchema, Outcome: opt.Outcome, Policy: "as run", episodes: opt.Episodes, zero: zero}
	if set.Cap > 0 {
		c.TurnsMax = &set.Cap
	}
	groups, err := groupRows(set, opt)
	if err != nil {
		return nil, err
	}
	c.names(groups)
	if err := c.describe(groups, set.Cap, opt); err != nil {
		return nil, err
	}
	families, err := resolveFamilies(c, opt)
	if err != nil {
		return nil, err
	}
	if err := c.test(families, groups, set.Cap, opt); err != nil {
		return nil, err
	}
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
	scenarios map[string]string // pairing key → name
	stops     []stop
	pending   int // stopped runs that have not ended
	missing   int // rows without a value
	usd       float64
	usdKnown  int
}

// groupRows sorts the rows by configuration.
func groupRows(set *logs.OutcomeSet, opt CompareOptions) ([]*configRows, error) {
	byHash := len(set.Rows) > 0
	for i := range set.Rows {
		if set.Rows[i].ScenarioSHA == "" {
			byHash = false
			break
		}
	}
	index := make(map[string]*configRows)
	var groups []*configRows
	for i := range set.Rows {
		row := &set.Rows[i]
		g := index[row.Config]
		if g == nil {
			g = &configRows{name: row.Config, factors: row.Factors, scenarios: make(map[string]string)}
			if len(g.factors) == 0 {
				g.factors, _ = ParseConfig(row.Config)
			}
			index[row.Config] = g
			groups = append(groups, g)
		}
		if err := g.add(row, byHash, set.Cap, opt.Episodes); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(groups, func(a, b *configRows) int { return cmpString(a.name, b.name) })
	for _, g := range groups {
		// The order of the rows must not matter to anything that is printed.
		sort.Slice(g.outcomes, func(i, j int) bool { return lessOutcome(g.outcomes[i], g.outcomes[j]) })
		sort.Slice(g.stops, func(i, j int) bool { return g.stops[i].id < g.stops[j].id })
	}
	return groups, nil
}

func lessOutcome(a, b stats.Outcome) bool {
	if a.Scenario != b.Scenario {
		return a.Scenario < b.Scenario
	}
	return a.Replicate < b.Replicate
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// add appends one row.
func (g *configRows) add(row *logs.Outcome, byHash bool, limit float64, episodes bool) error {
	if row.Value == nil || math.IsNaN(*row.Value) || math.IsInf(*row.Value, 0) {
		g.missing++
		return nil
	}
	key := row.Scenario
	if byHash {
		key = row.ScenarioSHA
	}
	o := stats.Outcome{Scenario: key, Replicate: row.Repeat, Value: *row.Value}
	switch row.Status {
	case "failed", "":
	case "capped":
		o.Status = stats.Capped
	case "stopped":
		o.Status = stats.Stopped
	default:
		return inputErrorf("the words are failed, capped and stopped", "%s: status %q", place(row), row.Status)
	}
	if o.Status == stats.Capped && limit <= 0 {
		o.Status = stats.Failed
	}
	if row.Status == "" && limit > 0 && o.Value == limit {
		o.Status = stats.Capped
	}
	if o.Status == stats.Stopped {
		reason := row.EndReason
		if episodes && reason == "" {
			g.pending++
			reason = "incomplete"
		}
		g.stops = append(g.stops, stop{id: row.Scenario + "#" + strconv.Itoa(row.Repeat), reason: reason})
	}
	if _, ok := g.scenarios[key]; !ok {
		g.scenarios[key] = row.Scenario
	}
	g.outcomes = append(g.outcomes, o)
	if row.USD != nil {
		g.usd += *row.USD
		g.usdKnown++
	}
	return nil
}

// place names where a row came from.
func place(row *logs.Outcome) string {
	if row.File == "" {
		return fmt.Sprintf("%s/%s#%d", Clean(row.Config), Clean(row.Scenario), row.Repeat)
	}
	return fmt.Sprintf("%s:%d", Clean(row.File), row.Line)
}

// names fills the short names.
func (c *Comparison) names(groups []*configRows) {
	all := make([]string, len(groups))
	for i, g := range groups {
		all[i] = g.name
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
	r := ConfigResult{Config: g.name, Factors: g.factors, N: len(g.outcomes), Ends: map[string]int{"failed": 0, "capped": 0, "stopped": 0}, stops: g.stops}
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
	}
	if r.N == 0 {
		warn(atMean, CodeUndefined, "mean, interval and median are undefined: no run with a value")
		return r, nil
	}
	m, err := stats.MeanTurns(g.outcomes, stats.MeanOptions{Cap: limit, Seed: opt.Seed})
	if err != nil {
		return r, inputErrorf("correct the outcome, or leave it out with --filter", "%s: %v", Clean(g.name), err)
	}
	r.Ends["failed"], r.Ends["capped"], r.Ends["stopped"] = m.Failed, m.Capped, m.Stopped
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
	if m.Restricted {
		text := stoppedText(g, m)
		r.notes = append(r.notes, Warning{Code: CodeStoppedRuns, Where: g.name, Text: text, at: atMean})
	}
	if g.pending > 0 {
		warn(atNowhere, CodeIncomplete, "%d of %d runs have not ended; they count as stopped after the turns passed so far", g.pending, r.N)
	}
	for _, w := range m.Warnings {
		r.notes = append(r.notes, Warning{Code: w.Code, Where: g.name, Text: w.Text, at: columnOf(w.Code)})
	}
	r.fillRuns(g)
	return r, nil
}

// fillRuns keeps what the figures need.
func (r *ConfigResult) fillRuns(g *configRows) {
	r.runs = make([]run, len(g.outcomes))
	for i := 0; i < len(g.outcomes); {
		sum, j := 0.0, i
		for ; j < len(g.outcomes) && g.outcomes[j].Scenario == g.outcomes[i].Scenario; j++ {
			sum += g.outcomes[j].Value
			r.runs[j] = run{g.outcomes[j].Value, g.outcomes[j].Status}
		}
		r.repeated = r.repeated || j-i > 1
		r.scenarios = append(r.scenarios, scenarioValue{g.scenarios[g.outcomes[i].Scenario], sum / float64(j-i)})
		i = j
	}
	slices.SortStableFunc(r.scenarios, func(a, b scenarioValue) int { return cmpString(a.scenario, b.scenario) })
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
