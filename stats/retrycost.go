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

// costs adds what retries cost at each budget. It is not defined if a run has no
// costs or no turn was rescued.
func (c *RetryCurve) costs(runs []Run, groups []group) {
	known := true
	for _, x := range runs {
		known = known && x.Cost != nil
	}
	order := inOrder(groups)
	for r := range c.Points {
		p := &c.Points[r]
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
					p.RetryCost += row[a]
				}
			}
		}
		if !known {
			p.RetryCost = 0
		} else if p.Rescued > 0 {
			p.CostPerRescued, p.CostDefined = p.RetryCost/float64(p.Rescued), true
		}
	}
}
