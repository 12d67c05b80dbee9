package logs

// AttemptCosts is what the attempts of a run cost: a row per leading passed turn and one for the turn after them, if
// that was begun. Attempts that do not count, void ones and tries that a process retry replaced, are left out.
type AttemptCosts struct {
	Tokens [][]float64 // all kinds; nil if those of an attempt are unknown
	USD    [][]float64 // nil if the cost of an attempt is unknown
}

// AddAttemptCosts fills in the costs of the attempts of a set that [Tables.Outcomes] made of these tables.
func (t *Tables) AddAttemptCosts(set *OutcomeSet) {
	attempts := make(map[string][]*AttemptRow)
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Attempt != nil {
			attempts[a.Episode] = append(attempts[a.Episode], a)
		}
	}
	for i := range min(len(t.Episodes), len(set.Rows)) {
		row := &set.Rows[i]
		tokens, known := costRows(attempts[t.Episodes[i].Episode], row.Attempts, (*AttemptRow).allTokens)
		if !known {
			tokens = nil
		}
		usd, known := costRows(attempts[t.Episodes[i].Episode], row.Attempts, func(a *AttemptRow) *float64 { return a.CostUSD })
		if !known {
			usd = nil
		}
		row.Costs = &AttemptCosts{Tokens: tokens, USD: usd}
	}
}

// mostCost is more than any attempt can cost, in tokens or dollars; tables may hold anything.
const mostCost = 1e12

// costRows sorts the costs of attempts by turn; used tells how many each passed turn took. ok is false if one is
// unknown or missing.
func costRows(attempts []*AttemptRow, used []int, cost func(*AttemptRow) *float64) (rows [][]float64, ok bool) {
	rows = make([][]float64, len(used)+1)
	for _, a := range attempts {
		if a.Turn < 0 || a.Turn >= len(rows) {
			continue // a later turn, of a run that goes on after a failed one
		}
		v := cost(a)
		if v == nil || !(*v >= 0 && *v <= mostCost) || *a.Attempt != len(rows[a.Turn]) {
			return nil, false
		}
		rows[a.Turn] = append(rows[a.Turn], *v)
	}
	for turn, n := range used {
		if len(rows[turn]) != n {
			return nil, false
		}
	}
	if len(rows[len(used)]) == 0 {
		rows = rows[:len(used)]
	}
	return rows, true
}

// allTokens adds up the tokens of an attempt; reasoning is part of the output. It returns nil if input or output is
// unknown.
func (a *AttemptRow) allTokens() *float64 {
	if a.Input == nil || a.Output == nil {
		return nil
	}
	n := float64(*a.Input + *a.Output)
	for _, v := range []*int64{a.Cached, a.CacheWrite} {
		if v != nil {
			n += float64(*v)
		}
	}
	return &n
}
