package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// A CostSummary is what the runs of one configuration cost. Intervals rest on the scenarios; a number that is not
// known is nil and says why.
type CostSummary struct {
	Config      string   `json:"config"`
	PerEpisode  Estimate `json:"usd_per_episode"`     // mean over the scenarios
	PerTurn     Estimate `json:"usd_per_passed_turn"` // all dollars over all turns passed
	CachedShare Estimate `json:"cached_share"`        // of the prompt tokens, those that a cache served
	Void        Wasted   `json:"wasted_void"`         // attempts that did not count, for another reason than a resumed run
	Resumed     Wasted   `json:"wasted_resumed"`      // attempts given up because the run was interrupted and resumed, and copies of episodes that were not taken
	WastedShare Estimate `json:"wasted_share"`        // of all dollars spent, those on attempts that did not count
}

// An Estimate is a number with its 95 % interval.
type Estimate struct {
	Value  *float64    `json:"value"`
	CI     *[2]float64 `json:"ci"`               // 95 %, scenarios drawn again
	Reason string      `json:"reason,omitempty"` // why the value, or its interval, is undefined
}

// Wasted counts attempts that were paid and did not count.
type Wasted struct {
	Attempts *int     `json:"attempts"` // nil where the attempts are not known
	Tokens   *int64   `json:"tokens"`   // nil if those of an attempt are not known
	USD      *float64 `json:"usd"`      // nil if the cost of an attempt is not known
}

// Costs says what the runs of every configuration cost, in the order of the comparison. tables may be nil: then only
// dollars are known.
func (c *Comparison) Costs(tables *logs.Tables) ([]CostSummary, error) {
	byConfig := make(map[string][]*logs.EpisodeRow)
	wasted := wastedAttempts{}
	if tables != nil {
		for i := range tables.Episodes {
			e := &tables.Episodes[i]
			byConfig[e.Config] = append(byConfig[e.Config], e)
		}
		wasted.read(tables)
	}
	out := make([]CostSummary, len(c.Configs))
	err := inParallel(len(out), func(i int) (err error) {
		r := &c.Configs[i]
		s := CostSummary{Config: r.Config}
		if s.PerEpisode, err = r.perEpisode(); err != nil {
			return fmt.Errorf("dollars per episode of %s: %w", Clean(r.Config), err)
		}
		s.PerTurn = Estimate{Reason: "the outcome is not a number of turns"}
		if c.turns() {
			if s.PerTurn, err = r.perTurn(); err != nil {
				return fmt.Errorf("dollars per turn of %s: %w", Clean(r.Config), err)
			}
		}
		if s.CachedShare, err = cachedShare(byConfig[r.Config]); err != nil {
			return fmt.Errorf("cached share of %s: %w", Clean(r.Config), err)
		}
		s.Void, s.Resumed = wasted.of(r.Config, false), wasted.of(r.Config, true)
		s.WastedShare, err = wastedShare(byConfig[r.Config])
		if err != nil {
			return fmt.Errorf("wasted share of %s: %w", Clean(r.Config), err)
		}
		out[i] = s
		return nil
	})
	return out, err
}

// scenarioSums adds pairs of numbers up by scenario.
type scenarioSums struct {
	index map[string]int
	a, b  []float64
}

func (s *scenarioSums) add(scenario string, a, b float64) {
	if s.index == nil {
		s.index = make(map[string]int)
	}
	i, ok := s.index[scenario]
	if !ok {
		i = len(s.a)
		s.index[scenario] = i
		s.a, s.b = append(s.a, 0), append(s.b, 0)
	}
	s.a[i] += a
	s.b[i] += b
}

// ratio is the sum of a over the sum of b, with an interval that draws scenarios.
func (s *scenarioSums) ratio(none string) (Estimate, error) {
	a, b := 0.0, 0.0
	for i := range s.a {
		a, b = a+s.a[i], b+s.b[i]
	}
	if b == 0 {
		return Estimate{Reason: none}, nil
	}
	e := Estimate{Value: ptr(a / b)}
	r, err := stats.MeanRatio(s.a, s.b, stats.BootstrapOptions{})
	switch {
	case err != nil:
		return Estimate{}, err
	case a == 0:
		e.Reason = "none in any scenario, so there is no interval"
	case !r.Defined:
		e.Reason = "too many scenarios with none for an interval"
	case !r.Interval.Defined:
		e.Reason = r.Interval.Reason
	default:
		e.CI = &[2]float64{r.Interval.Lo, r.Interval.Hi}
	}
	return e, nil
}

const unknownCost = "the cost of a run is not known"

// mostMoney is more than any run can cost or count; tables may hold anything.
const mostMoney = 1e15

// sane says whether a number read from a table can be added up.
func sane(v float64) bool { return v >= 0 && v <= mostMoney }

// perEpisode is the mean of the dollars by scenario.
func (r *ConfigResult) perEpisode() (Estimate, error) {
	var sums scenarioSums
	for i := range r.runs {
		usd := r.runs[i].row.USD
		if usd == nil || !sane(*usd) {
			return Estimate{Reason: unknownCost}, nil
		}
		sums.add(r.runs[i].row.Pair(), *usd, 1)
	}
	if len(sums.a) == 0 {
		return Estimate{Reason: "no runs"}, nil
	}
	means := make([]float64, len(sums.a))
	for i := range means {
		means[i] = sums.a[i] / sums.b[i]
	}
	slices.Sort(means)
	b, err := stats.BootstrapMean(means, stats.BootstrapOptions{})
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Value: &b.Mean, Reason: b.Interval.Reason}
	if b.Interval.Defined {
		e.CI, e.Reason = &[2]float64{b.Interval.Lo, b.Interval.Hi}, ""
	}
	return e, nil
}

// perTurn is the cost of a passed turn: all dollars over all turns passed.
func (r *ConfigResult) perTurn() (Estimate, error) {
	var sums scenarioSums
	for i := range r.runs {
		u := &r.runs[i]
		if u.row.USD == nil || !sane(*u.row.USD) {
			return Estimate{Reason: unknownCost}, nil
		}
		sums.add(u.row.Pair(), *u.row.USD, u.value)
	}
	return sums.ratio("no turn passed")
}

// cachedShare is the share of cached tokens among those of the prompts.
func cachedShare(episodes []*logs.EpisodeRow) (Estimate, error) {
	var sums scenarioSums
	for _, e := range episodes {
		if e.Input == nil || e.Cached == nil {
			return Estimate{Reason: "the cached tokens of a run are not known"}, nil
		}
		all := float64(*e.Input) + float64(*e.Cached)
		if e.CacheWrite != nil {
			all += float64(*e.CacheWrite)
		}
		if !sane(all) || *e.Cached < 0 || float64(*e.Cached) > all {
			return Estimate{Reason: "the tokens of a run are no counts"}, nil
		}
		sums.add(scenarioOf(e), float64(*e.Cached), all)
	}
	return sums.ratio("no prompt tokens are known")
}

// wastedShare is the share of the dollars on attempts that did not count among all.
func wastedShare(episodes []*logs.EpisodeRow) (Estimate, error) {
	var sums scenarioSums
	for _, e := range episodes {
		if e.CostUSD == nil || e.WastedUSD == nil || !sane(*e.CostUSD) || !sane(*e.WastedUSD) {
			return Estimate{Reason: unknownCost}, nil
		}
		sums.add(scenarioOf(e), *e.WastedUSD, *e.CostUSD+*e.WastedUSD)
	}
	return sums.ratio("nothing was spent")
}

// scenarioOf is the key by which runs are grouped.
func scenarioOf(e *logs.EpisodeRow) string {
	if e.ScenarioSHA != "" {
		return e.ScenarioSHA
	}
	return e.Scenario
}

// wastedAttempts are the attempts that did not count, by configuration.
type wastedAttempts struct {
	known           map[string]bool // configurations whose attempts are known
	void, resumedBy map[string]*Wasted
}

// resumedVoid are the reasons of attempts that were given up because their run was interrupted.
var resumedVoid = map[string]bool{"operator": true, "host": true}

// isVoid says whether an attempt did not count and is no try of the agent's that a process retry replaced.
func isVoid(a *logs.AttemptRow) bool { return a.VoidReason != nil && *a.VoidReason != "process_retry" }

func (w *wastedAttempts) read(t *logs.Tables) {
	w.known, w.void, w.resumedBy = map[string]bool{}, map[string]*Wasted{}, map[string]*Wasted{}
	configs := make(map[string]string, len(t.Episodes))
	void := make(map[string]*Wasted) // by episode
	for i := range t.Episodes {
		configs[t.Episodes[i].Episode] = t.Episodes[i].Config
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		config, ok := configs[a.Episode]
		if !ok {
			continue
		}
		w.known[config] = true
		if !isVoid(a) {
			continue
		}
		by := w.void
		if resumedVoid[*a.VoidReason] {
			by = w.resumedBy
		}
		into(by, config).add(a)
		into(void, a.Episode).add(a)
	}
	for i := range t.Episodes {
		w.addCopies(&t.Episodes[i], void[t.Episodes[i].Episode])
	}
}

// into returns what is wasted under a key, nothing yet if it is new.
func into(by map[string]*Wasted, key string) *Wasted {
	if by[key] == nil {
		by[key] = nothingWasted()
	}
	return by[key]
}

func nothingWasted() *Wasted { return &Wasted{Attempts: ptr(0), Tokens: ptr(int64(0)), USD: ptr(0.0)} }

// addCopies adds what an episode wasted beyond its void attempts: other copies of it were paid too, when a host was
// lost and another one began again where the last whole turn had ended.
func (w *wastedAttempts) addCopies(e *logs.EpisodeRow, void *Wasted) {
	if void == nil {
		void = nothingWasted()
	}
	if e.WastedTokens == nil || void.Tokens == nil || *e.WastedTokens <= *void.Tokens {
		return
	}
	w.known[e.Config] = true
	r := into(w.resumedBy, e.Config)
	if r.Tokens != nil {
		*r.Tokens += *e.WastedTokens - *void.Tokens
	}
	switch {
	case e.WastedUSD == nil || void.USD == nil:
		r.USD = nil
	case r.USD != nil:
		*r.USD += max(0, *e.WastedUSD-*void.USD)
	}
}

func (w *Wasted) add(a *logs.AttemptRow) {
	*w.Attempts++
	if w.Tokens != nil {
		if a.Input == nil || a.Output == nil {
			w.Tokens = nil
		} else {
			for _, n := range []*int64{a.Input, a.Cached, a.CacheWrite, a.Output} {
				if n != nil {
					*w.Tokens += *n
				}
			}
		}
	}
	if w.USD != nil {
		if a.CostUSD == nil {
			w.USD = nil
		} else {
			*w.USD += *a.CostUSD
		}
	}
}

// of returns what a configuration wasted; zero if its attempts are known and none was.
func (w *wastedAttempts) of(config string, resumed bool) Wasted {
	by := w.void
	if resumed {
		by = w.resumedBy
	}
	switch {
	case by[config] != nil:
		return *by[config]
	case w.known[config]:
		return *nothingWasted()
	}
	return Wasted{}
}

// costSentence words the costs as a paper does, of the first configurations; "" where no dollar is known.
func (c *Comparison) costSentence(costs []CostSummary) string {
	var turns, cached []string
	void, resumed, usd, known := 0, 0, 0.0, true
	for i := range costs {
		s := &costs[i]
		name := Clean(c.told(s.Config))
		if s.PerTurn.Value != nil && len(turns) < maxTold {
			turns = append(turns, "$"+dollars(*s.PerTurn.Value)+" with "+name+within(s.PerTurn.CI, dollars, len(turns) == 0))
		}
		if s.CachedShare.Value != nil && len(cached) < maxTold {
			cached = append(cached, percentOf(*s.CachedShare.Value)+" with "+name+within(s.CachedShare.CI, percentOf, len(cached) == 0))
		}
		for _, w := range []struct {
			Wasted
			sum *int
		}{{s.Void, &void}, {s.Resumed, &resumed}} {
			if w.Attempts == nil {
				continue
			}
			*w.sum += *w.Attempts
			if w.USD == nil {
				known = false
			} else {
				usd += *w.USD
			}
		}
	}
	var out []string
	if len(turns) > 0 {
		out = append(out, "A passed turn cost "+joinAnd(turns)+".")
	}
	if len(cached) > 0 {
		out = append(out, "Of the prompt tokens a cache served "+joinAnd(cached)+".")
	}
	if void+resumed > 0 || usd > 0 {
		s := fmt.Sprintf("%d %s void and %d %s given up because a run was resumed", void, plural(void, "attempt was", "attempts were"), resumed, plural(resumed, "was", "were"))
		if known {
			s += fmt.Sprintf(": $%s that bought no turn", dollars(usd))
		} else {
			s += "; what they cost is not known"
		}
		out = append(out, s+".")
	}
	return strings.Join(out, " ")
}

// within words an interval in brackets, with its level for the first of a list.
func within(ci *[2]float64, form func(float64) string, first bool) string {
	if ci == nil {
		return ""
	}
	if first {
		return " (95 % interval " + between(ci, form) + ")"
	}
	return " (" + between(ci, form) + ")"
}

// between writes an interval; a unit stands once.
func between(ci *[2]float64, form func(float64) string) string {
	return strings.Replace(form(ci[0])+"–"+form(ci[1]), " %–", "–", 1)
}

// percentOf writes a share in per cent.
func percentOf(v float64) string { return ratePercent(v) + " %" }
