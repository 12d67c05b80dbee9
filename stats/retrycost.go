package stats

import "fmt"

// checkCost checks the costs of a run: as many attempts as its turns used, and
// at most the whole budget for the turn it ended in.
func checkCost(x Run, budget int) error {
	if x.Cost == nil {
		return nil
	}
	if n := len(x.Cost); n != len(x.Attempts) && n != len(x.Attempts)+1 {
		return fmt.Errorf("costs of %d turns, but %d were passed", n, len(x.Attempts))
	}
	for k, row := range x.Cost {
		switch {
		case k < len(x.Attempts) && len(row) != x.Attempts[k]:
			return fmt.Errorf("costs of %d attempts of turn %d, which used %d", len(row), k, x.Attempts[k])
		case len(row) > budget+1:
			return fmt.Errorf("costs of %d attempts of turn %d, more than %d", len(row), k, budget+1)
		}
		for a, v := range row {
			if !(v >= 0 && v <= largestValue) {
				return fmt.Errorf("cost of attempt %d of turn %d is %v", a+1, k, v)
			}
		}
	}
	return nil
}

// RetryCost is what retries cost with one budget.
type RetryCost struct {
	Rescued    int     // turns passed at attempts 2..R+1
	Cost       float64 // of all attempts after the first, those in vain included; 0 if unknown
	PerRescued float64 // Cost / Rescued
	Defined    bool    // of PerRescued: the costs of all runs are known and some turn was rescued
}

// RetryCosts returns what retries cost with each budget 0..R, in the currency of
// the runs' Cost. [Retry] holds the same beside its means; this is for a second
// currency.
func RetryCosts(runs []Run, opt RetryOptions) ([]RetryCost, error) {
	if opt.Eps == 0 {
		opt.Eps = defaultEps
	}
	if err := checkRuns(runs, opt); err != nil {
		return nil, fmt.Errorf("retry costs: %w", err)
	}
	last := make([]Outcome, len(runs))
	for i, x := range runs {
		last[i] = x.At(opt.R)
	}
	groups, err := groupOutcomes(last, opt.Cap)
	if err != nil {
		return nil, fmt.Errorf("retry costs: %w", err)
	}
	return retryCosts(runs, groups, opt.R), nil
}

// retryCosts adds up in the order of groups.
func retryCosts(runs []Run, groups []group, budget int) []RetryCost {
	known := true
	for _, x := range runs {
		known = known && x.Cost != nil
	}
	out, order := make([]RetryCost, budget+1), inOrder(groups)
	for r := range out {
		p := &out[r]
		for _, i := range order {
			x := runs[i]
			passed := int(x.At(r).Value)
			for _, used := range x.Attempts[:passed] {
				if used > 1 {
					p.Rescued++
				}
			}
			// The turn after the last passed one was tried in vain.
			for _, row := range x.Cost[:min(passed+1, len(x.Cost))] {
				for a := 1; a < min(len(row), r+1); a++ {
					p.Cost += row[a]
				}
			}
		}
		if !known {
			p.Cost = 0
		} else if p.Rescued > 0 {
			p.PerRescued, p.Defined = p.Cost/float64(p.Rescued), true
		}
	}
	return out
}
