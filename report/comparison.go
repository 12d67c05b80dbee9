package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// CompareSchema names the JSON form of a [Comparison].
const CompareSchema = "stint.compare/1"

// The decisions about a pair.
const (
	DecisionAhead     = "a>b"       // a is significantly above b
	DecisionBehind    = "a<b"       // a is significantly below b
	DecisionUndecided = "undecided" // could have been significant and was not
	DecisionCannot    = "cannot"    // could not have been significant with these data in this family, or was not tested
)

// A Comparison is what compare prints. Its JSON form is stable; pointers are nil where a value is undefined.
type Comparison struct {
	Schema    string         `json:"schema"`
	Outcome   string         `json:"outcome"`   // turns_passed, full, share, usd, or a column of a file
	TurnsMax  *float64       `json:"turns_max"` // the cap of the outcome; nil: none
	Policy    string         `json:"policy"`    // how failures caused by the agent's own infrastructure count
	Banner    string         `json:"banner,omitempty"`
	Configs   []ConfigResult `json:"configs"`  // by mean, highest first
	Families  []FamilyResult `json:"families"` // empty where nothing was tested
	Warnings  []Warning      `json:"warnings"`
	Paragraph string         `json:"paragraph"` // the result in words, as a paper would say it

	scenarios span   // scenarios per configuration
	runs      span   // runs per configuration and scenario
	common    string // the part of the names that all configurations share
	short     map[string]string
	episodes  bool
	zero      stats.ZeroMethod
	verdicts  bool      // failed runs have causes
	intervals bool      // intervals only, no pair was tested
	ranked    int       // scenarios that the ranks rest on; 0: there are none
	notes     []Warning // about the whole set
}

// A span is a range of counts.
type span struct{ lo, hi int }

// add widens the span by n.
func (s *span) add(n int) {
	if s.hi == 0 && s.lo == 0 {
		s.lo, s.hi = n, n
		return
	}
	s.lo, s.hi = min(s.lo, n), max(s.hi, n)
}

// String returns "20" or "18–20".
func (s span) String() string {
	if s.lo == s.hi {
		return fmt.Sprint(s.lo)
	}
	return fmt.Sprintf("%d–%d", s.lo, s.hi)
}

// A ConfigResult describes one configuration on its own.
type ConfigResult struct {
	Config   string            `json:"config"`    // full name
	Factors  map[string]string `json:"factors"`   // what the name is made of: model, harness, feedback, …; nil for names of another form
	N        int               `json:"n"`         // runs
	Mean     *float64          `json:"mean"`      // the restricted mean where runs were stopped
	CI       *[2]float64       `json:"ci"`        // 95 % interval of the mean
	CIMethod *string           `json:"ci_method"` // nil with CI
	Full     *int              `json:"full"`      // runs that reached the cap; nil where there is none
	Median   *float64          `json:"median"`    // nil without runs
	Ends     map[string]int    `json:"ends"`      // failed, capped, stopped; they add up to n
	Causes   map[string]int    `json:"causes"`    // of the failed runs: drift, infra, bench, unknown; nil without verdicts
	USD      *float64          `json:"usd"`       // mean dollars of the runs whose cost is known
	// FailureRate is nil unless the outcome is a number of turns.
	FailureRate *FailureRate `json:"failure_rate"`
	// Rank is 1 for the highest mean over the scenarios that all configurations share, equal means share the middle of
	// their ranks; RankCI is where it lies in 95 % of resamples of the scenarios. Both are nil for fewer than three
	// configurations and for dollars.
	Rank   *float64 `json:"rank"`
	RankCI *[2]int  `json:"rank_ci"`

	restricted bool
	scenarios  []scenarioValue // by scenario name
	runs       []run
	repeated   bool // more than one run in a scenario
	stops      []stop
	notes      []Warning
}

// A scenarioValue is the mean of a configuration's runs in one scenario.
type scenarioValue struct {
	scenario string
	value    float64
}

// A run is the end of one run, for the figures.
type run struct {
	value  float64
	status stats.Status
	cause  cause         // of a failed run
	row    *logs.Outcome // where it came from
}

// A stop names a run that was ended by something other than the agent.
type stop struct {
	id     string // SCENARIO#REPEAT
	reason string
}

// A FamilyResult is one family of pairs, corrected together.
type FamilyResult struct {
	Name          string       `json:"name"`
	Declared      bool         `json:"declared"` // before the first run, in study.yaml
	M             int          `json:"m"`        // all pairs of the family, those not tested included
	Alpha         float64      `json:"alpha"`
	MinAttainable *float64     `json:"min_attainable"` // least adjusted p any pair could have had
	Pairs         []PairResult `json:"pairs"`
	Groups        []RankGroup  `json:"groups"` // nil unless the family holds all pairs of three configurations or more

	allCannot bool
	needed    int
	departure string
	notes     []Warning
}

// A PairResult compares two configurations on the scenarios both have.
type PairResult struct {
	A            string      `json:"a"`             // configuration
	B            string      `json:"b"`             // configuration
	N            int         `json:"n"`             // shared scenarios
	Ahead        int         `json:"ahead"`         // scenarios in which A has more
	Level        int         `json:"level"`         // scenarios with the same
	Behind       int         `json:"behind"`        // scenarios in which B has more
	Undecided    int         `json:"undecided"`     // scenarios whose order a stopped run leaves open
	Diff         *float64    `json:"diff"`          // mean of A minus mean of B
	DiffCI       *[2]float64 `json:"diff_ci"`       // 95 % interval of diff
	Test         string      `json:"test"`          // name of the test
	P            *float64    `json:"p"`             // nil: not tested, counted in the family with p = 1
	POtherZero   *float64    `json:"p_other_zero"`  // p with the other treatment of equal outcomes
	Bounds       *[2]float64 `json:"bounds"`        // smallest and largest p the stopped runs leave open
	Holm         *float64    `json:"holm"`          // p adjusted over the family; decides
	HolmDiscrete *float64    `json:"holm_discrete"` // the same using the exact null distributions; never decides
	Least        *float64    `json:"least"`         // the smallest Holm value the pair could have had
	HL           *float64    `json:"hl"`            // Hodges–Lehmann estimate of the difference
	HLCI         *[2]float64 `json:"hl_ci"`         // its 95 % interval
	RankBiserial *float64    `json:"rank_biserial"` // from -1 (B always ahead) to 1
	Decision     string      `json:"decision"`      // significant after the correction, not, or never possible

	meanA, meanB   float64
	nonZero        int
	fraction       string // the exact p as k/2^m, where known
	untested       string // why there is no p
	stoppedTest    bool   // tested as a pair with stopped runs: no ranks, no treatment of zeros
	directionSplit bool
	zeroDecides    bool
	exact          bool
	differences    []scenarioDifference // largest first
	notes          []Warning
}

// A scenarioDifference is what a pair gives in one scenario.
type scenarioDifference struct {
	scenario string
	a, b, d  float64 // means of the runs used, and A minus B
	stopped  bool    // one of the runs was stopped: d is what is known
}

// A Warning is a remark about a part of the result. It never changes a number.
type Warning struct {
	Code  string `json:"code"`  // stable, for programs
	Where string `json:"where"` // a configuration, "A − B", a family, or empty for the whole set
	Text  string `json:"text"`

	at column // where a table puts the footnote mark
}

// A column says which cell of a row a footnote hangs on.
type column int

const (
	atName    column = iota // the name of the configuration or pair
	atMean                  // the mean or the difference
	atCI                    // its interval
	atCost                  // dollars per episode
	atHolm                  // the decision
	atInfra                 // the number of runs that infrastructure ended
	atRate                  // the test of one failure rate, which only reports show
	atNowhere               // told in JSON and CSV only: the table shows it otherwise
)

// The codes of warnings this package adds to those of package stats.
const (
	CodeIncomplete       = "INCOMPLETE"         // runs that have not ended yet are among the outcomes
	CodeStoppedRuns      = "STOPPED_RUNS"       // a mean is restricted because runs were stopped
	CodeMissingValue     = "MISSING_VALUE"      // rows without a value were left out
	CodeCostPartlyKnown  = "COST_PARTLY_KNOWN"  // some runs have no known cost
	CodeUndefined        = "UNDEFINED"          // a null in the result, and why
	CodeNotTested        = "NOT_TESTED"         // a pair without a test
	CodeIntervalsOnly    = "INTERVALS_ONLY"     // no family was declared for this outcome
	CodeOneConfiguration = "ONE_CONFIGURATION"  // nothing to compare
	CodeUnreadable       = "UNREADABLE_RECORDS" // records of the source could not be read
	CodeStoppedTested    = "STOPPED_TESTED"     // a pair with stopped runs, tested by the test that knows about them
	CodeInfraEnds        = "INFRA_ENDS"         // runs ended in the agent's own infrastructure; how far the mean could lie
	CodeRepriced         = "REPRICED"           // dollars are those of another price table than the recorded ones
	CodeNoPrice          = "NO_PRICE"           // a model has no price in that table
	CodeFamilyPartly     = "FAMILY_PARTLY_RUN"  // a declared pair names a configuration without runs
)

// JSON writes the comparison as one indented JSON object and a newline.
func (c *Comparison) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		return fmt.Errorf("writing the comparison as JSON: %w", err)
	}
	return nil
}

// Config returns the result of the configuration named, or nil.
func (c *Comparison) Config(name string) *ConfigResult {
	for i := range c.Configs {
		if c.Configs[i].Config == name {
			return &c.Configs[i]
		}
	}
	return nil
}

// Short returns the name of a configuration without the parts that all configurations share.
func (c *Comparison) Short(name string) string {
	if s, ok := c.short[name]; ok {
		return s
	}
	return name
}

// shortWhere names the place of a warning as the tables do.
func (c *Comparison) shortWhere(where string) string {
	if s, ok := c.short[where]; ok {
		return s
	}
	for i := range c.Families {
		for j := range c.Families[i].Pairs {
			if p := &c.Families[i].Pairs[j]; pairID(p.A, p.B) == where {
				return c.pairName(p.A, p.B)
			}
		}
	}
	return where
}

// cap returns the cap, or 0 if there is none.
func (c *Comparison) cap() float64 {
	if c.TurnsMax == nil {
		return 0
	}
	return *c.TurnsMax
}

// turns reports whether the outcome counts turns, so that sentences may say so.
func (c *Comparison) turns() bool { return isTurns(c.Outcome) }

func isTurns(outcome string) bool { return outcome == "turns_passed" || outcome == "turns" }
