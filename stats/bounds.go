package stats

import "fmt"

// MeanBoundsResult brackets a mean when some ends say nothing about the agent.
type MeanBoundsResult struct {
	AsRun MeanResult // every end as it happened: the headline
	Low   MeanResult // the runs in question failed where they ended: no further turn
	High  MeanResult // the runs in question had passed all turns
	Ended int        // runs in question
	// IfUnrelated is the restricted mean with the runs in question stopped. It
	// is right only if such ends have nothing to do with progress, which runs on
	// scenarios of different difficulty do not guarantee: a side row, never
	// tested.
	IfUnrelated MeanResult
}

// MeanBounds brackets the mean turns of a configuration over what could have
// become of runs that ended for a questionable reason, such as the agent's own
// infrastructure; ended picks them. The cap is required.
func MeanBounds(o []Outcome, ended func(Outcome) bool, opt MeanOptions) (MeanBoundsResult, error) {
	if opt.Cap <= 0 {
		return MeanBoundsResult{}, fmt.Errorf("bounds of mean turns: the number of turns is needed")
	}
	var r MeanBoundsResult
	low, high, censored := make([]Outcome, len(o)), make([]Outcome, len(o)), make([]Outcome, len(o))
	for i, x := range o {
		low[i], high[i], censored[i] = x, x, x
		if !ended(x) {
			continue
		}
		r.Ended++
		low[i].Status = Failed
		high[i].Value, high[i].Status = opt.Cap, Capped
		censored[i].Status = Stopped
	}
	for _, c := range []struct {
		o    []Outcome
		into *MeanResult
	}{{o, &r.AsRun}, {low, &r.Low}, {high, &r.High}, {censored, &r.IfUnrelated}} {
		m, err := MeanTurns(c.o, opt)
		if err != nil {
			return MeanBoundsResult{}, fmt.Errorf("bounds: %w", err)
		}
		*c.into = m
	}
	return r, nil
}
