package logs

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A PricedModel says how the tokens of one model were priced anew by [Tables.Reprice].
type PricedModel struct {
	Model    string   // as the study calls it
	As       []string // names under which the table has it, sorted; empty = it has no price
	Days     []string // first and last day without a price, if there are any: YYYY-MM-DD, "" = an episode without a time
	Episodes int
	Known    int // episodes whose whole cost is known now
	Uncount  int // episodes whose tokens are not known, so that no table can price them
}

// Reprice replaces every cost by what the tokens cost in another table: of attempts, of episodes, and of what was
// wasted. The price is that of the day on which the episode began; an episode without a time takes prices without a
// day. A model is looked up under names(model) in their order, then under its own name, then under the one the
// provider gave. Without a price the cost is unknown, whatever it was before. names may be nil.
func (t *Tables) Reprice(p *Prices, names func(model string) []string) []PricedModel {
	attempts := make(map[string][]*AttemptRow)
	for i := range t.Attempts {
		attempts[t.Attempts[i].Episode] = append(attempts[t.Attempts[i].Episode], &t.Attempts[i])
	}
	by := make(map[string]*PricedModel)
	for i := range t.Episodes {
		e := &t.Episodes[i]
		m := by[e.Model]
		if m == nil {
			m = &PricedModel{Model: e.Model}
			by[e.Model] = m
		}
		m.Episodes++
		as, day := p.nameOf(e, names)
		e.reprice(p, as, day, attempts[e.Episode])
		switch {
		case as == "":
			m.without(day)
		case !slices.Contains(m.As, as):
			m.As = append(m.As, as)
		}
		switch {
		case e.CostUSD != nil:
			m.Known++
		case e.Input == nil || e.Output == nil:
			m.Uncount++
		}
	}
	out := make([]PricedModel, 0, len(by))
	for _, m := range by {
		slices.Sort(m.As)
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b PricedModel) int { return cmp.Compare(a.Model, b.Model) })
	return out
}

// without notes a day on which the model has no price.
func (m *PricedModel) without(day time.Time) {
	s := ""
	if !day.IsZero() {
		s = day.Format(time.DateOnly)
	}
	if len(m.Days) == 0 {
		m.Days = []string{s, s}
		return
	}
	m.Days[0], m.Days[1] = min(m.Days[0], s), max(m.Days[1], s)
}

// nameOf is the name under which the table has the model of an episode on its day, "" if it has none.
func (p *Prices) nameOf(e *EpisodeRow, names func(string) []string) (as string, day time.Time) {
	if e.Started != nil {
		day = e.Started.UTC()
	}
	var candidates []string
	if names != nil {
		candidates = names(e.Model)
	}
	candidates = append(slices.Clone(candidates), e.Model)
	if e.ModelReturned != nil && !strings.Contains(*e.ModelReturned, ", ") {
		candidates = append(candidates, *e.ModelReturned)
	}
	for _, c := range candidates {
		if c != "" && p.Known(c, day) {
			return c, day
		}
	}
	return "", day
}

// reprice prices one episode. The attempts tell more than their sum, which knows no cached tokens as soon as one
// attempt does not; logs that count tokens for the whole only are priced as a whole.
func (e *EpisodeRow) reprice(p *Prices, as string, day time.Time, attempts []*AttemptRow) {
	cost := func(t Tokens) *float64 {
		usd, _ := p.Cost(as, day, Usage{In: t.Input, Cached: t.Cached, CacheWrite: t.CacheWrite, Out: t.Output})
		return usd
	}
	var usd, wasted total[float64]
	var voidTokens float64
	counted := 0
	for _, a := range attempts {
		a.CostUSD = cost(a.Tokens)
		switch {
		case a.void():
			wasted.add(a.CostUSD)
			if n := a.allTokens(); n != nil {
				voidTokens += *n
			}
		case a.begunOnly():
		default:
			counted++
			usd.add(a.CostUSD)
		}
	}
	e.WastedUSD, e.CostUSD = wasted.value(), nil
	if e.WastedTokens != nil && float64(*e.WastedTokens) > voidTokens || e.WastedTokens == nil && len(attempts) == 0 {
		e.WastedUSD = nil // by journals that were not taken, of whose tokens only the sum is known, or by who knows what
	}
	if counted > 0 {
		e.CostUSD = usd.value()
	}
	if e.CostUSD == nil && !slices.ContainsFunc(attempts, func(a *AttemptRow) bool { return a.Input != nil }) {
		e.CostUSD = cost(e.Tokens)
	}
}

// void says whether the attempt was given up for a reason that is not the agent's; a try that a process retry replaced
// is the agent's.
func (a *AttemptRow) void() bool { return a.VoidReason != nil && *a.VoidReason != "process_retry" }

// begunOnly says whether nothing is known of the attempt but that it began.
func (a *AttemptRow) begunOnly() bool {
	return a.Passed == nil && a.Completion == nil && a.Input == nil && a.VoidReason == nil
}
