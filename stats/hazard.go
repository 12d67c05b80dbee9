package stats

import (
	"fmt"
	"math"
)

// CodeFrailty is the code of the warning that a falling failure rate may come
// from the scenarios.
const CodeFrailty = "FRAILTY"

// A HazardWindow is a range of turns with the failures in it.
type HazardWindow struct {
	From, To int     // first and last turn; To is -1 for no end
	Failures int     // turns that failed
	AtRisk   int     // turns that were tried
	Rate     float64 // Failures / AtRisk; 0 if nothing was tried
	Interval Interval
}

// HazardOptions controls [Hazards].
type HazardOptions struct {
	Cap     float64  // number of turns there are, for the implied mean; 0: no cap
	Level   float64  // 0: 0.95
	Windows [][2]int // first and last turns, ascending; nil: 0, 1-5, 6-20, 21-50, 51-100 and what follows
}

// HazardResult is the failure rate per turn.
type HazardResult struct {
	Windows []HazardWindow
	// Pooled is the constant-hazard fit, failures over turns at risk, and
	// PooledCI its Clopper-Pearson interval.
	Pooled   float64
	PooledCI Interval
	// ImpliedMean is the mean turns of a constant failure rate:
	// (1-h)(1-(1-h)^cap)/h. It is 0 with ImpliedDefined false if nothing
	// failed and there is no cap.
	ImpliedMean    float64
	ImpliedDefined bool
	// Chi2, DF and P test that the rate is the same in all windows; windows
	// with fewer than one expected failure are merged with the next. DF is 0
	// and P is 1 if fewer than two remain.
	Chi2     float64
	DF       int
	P        float64
	Warnings []Warning
}

// Hazards counts failures per tried turn in windows of turns. A run that failed
// after T turns tried turns 0..T; a capped or stopped one tried the turns it
// passed. Values must be whole numbers.
//
// Scenarios of different difficulty alone make the pooled rate fall, as the hard
// ones drop out first: a trend over windows carries the warning FRAILTY.
func Hazards(o []Outcome, opt HazardOptions) (HazardResult, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return HazardResult{}, fmt.Errorf("failure rates: %w", err)
	}
	if _, err := groupOutcomes(o, opt.Cap); err != nil {
		return HazardResult{}, fmt.Errorf("failure rates: %w", err)
	}
	windows := opt.Windows
	if windows == nil {
		windows = [][2]int{{0, 0}, {1, 5}, {6, 20}, {21, 50}, {51, 100}, {101, -1}}
	}
	last := -1
	for i, w := range windows {
		if w[0] <= last || w[1] < w[0] && !(w[1] == -1 && i == len(windows)-1) {
			return HazardResult{}, fmt.Errorf("failure rates: window %d (%d to %d) does not follow the one before", i, w[0], w[1])
		}
		last = w[1]
	}
	failures, atRisk := make([]int, len(windows)), make([]int, len(windows))
	for i, x := range o {
		if x.Value != math.Trunc(x.Value) || x.Value > maxWhole {
			return HazardResult{}, fmt.Errorf("failure rates: outcome %d (scenario %q, replicate %d): %v is no number of turns", i, x.Scenario, x.Replicate, x.Value)
		}
		tried := int(x.Value) // turns 0..tried-1
		if x.Status == Failed {
			tried++
		}
		for k, w := range windows {
			end := tried
			if w[1] >= 0 {
				end = min(end, w[1]+1)
			}
			atRisk[k] += max(0, end-w[0])
			if x.Status == Failed && tried-1 >= w[0] && (w[1] < 0 || tried-1 <= w[1]) {
				failures[k]++
			}
		}
	}
	for len(windows) > 1 && atRisk[len(windows)-1] == 0 {
		windows, failures, atRisk = windows[:len(windows)-1], failures[:len(windows)-1], atRisk[:len(windows)-1]
	}
	r, err := HazardRates(failures, atRisk, level)
	if err != nil {
		return HazardResult{}, err
	}
	for k, w := range windows {
		r.Windows[k].From, r.Windows[k].To = w[0], w[1]
	}
	switch {
	case r.Pooled > 0:
		r.ImpliedMean, r.ImpliedDefined = ConstantHazardMean(r.Pooled, opt.Cap), true
	case opt.Cap > 0:
		r.ImpliedMean, r.ImpliedDefined = opt.Cap, true
	}
	if r.DF > 0 && r.P <= defaultAlpha {
		r.Warnings = append(r.Warnings, warnf(CodeFrailty, "",
			"the failure rate differs between windows of turns (p = %s); scenarios of different difficulty alone make it fall, so this is no change over the session by itself", FormatP(r.P)))
	}
	return r, nil
}

// HazardRates computes rates and their homogeneity from counts per window.
func HazardRates(failures, atRisk []int, level float64) (HazardResult, error) {
	level, err := checkLevel(level)
	if err != nil {
		return HazardResult{}, fmt.Errorf("failure rates: %w", err)
	}
	if len(failures) != len(atRisk) || len(failures) == 0 {
		return HazardResult{}, fmt.Errorf("failure rates: %d windows of failures, %d of turns", len(failures), len(atRisk))
	}
	r := HazardResult{P: 1}
	d, n := 0, 0
	for k := range failures {
		w := HazardWindow{Failures: failures[k], AtRisk: atRisk[k]}
		if w.Failures < 0 || w.Failures > w.AtRisk {
			return HazardResult{}, fmt.Errorf("failure rates: %d failures in %d turns of window %d", w.Failures, w.AtRisk, k)
		}
		if w.AtRisk > 0 {
			w.Rate = float64(w.Failures) / float64(w.AtRisk)
		}
		w.Interval = ClopperPearson(w.Failures, w.AtRisk, level)
		r.Windows = append(r.Windows, w)
		d += w.Failures
		n += w.AtRisk
	}
	r.PooledCI = ClopperPearson(d, n, level)
	if n > 0 {
		r.Pooled = float64(d) / float64(n)
	}
	r.homogeneity()
	return r, nil
}

// homogeneity tests a common rate by Pearson's chi-square of failed and passed
// turns.
func (r *HazardResult) homogeneity() {
	h := r.Pooled
	if h <= 0 || h >= 1 {
		return
	}
	type cell struct{ failures, turns float64 }
	var cells []cell
	open := cell{}
	for _, w := range r.Windows {
		open.failures += float64(w.Failures)
		open.turns += float64(w.AtRisk)
		if open.turns*h >= 1 {
			cells = append(cells, open)
			open = cell{}
		}
	}
	if len(cells) > 0 {
		cells[len(cells)-1].failures += open.failures
		cells[len(cells)-1].turns += open.turns
	}
	if len(cells) < 2 {
		return
	}
	for _, c := range cells {
		dev := c.failures - c.turns*h
		r.Chi2 += dev * dev / (c.turns * h * (1 - h))
	}
	r.DF = len(cells) - 1
	r.P = math.Max(chiSquareTail(r.Chi2, float64(r.DF)), math.SmallestNonzeroFloat64)
}

// ConstantHazardMean is the mean number of turns passed if every turn fails with
// probability h > 0, cut at limit (0: never).
func ConstantHazardMean(h, limit float64) float64 {
	if limit <= 0 {
		return (1 - h) / h
	}
	if h <= 0 {
		return limit
	}
	return (1 - h) / h * -math.Expm1(limit*math.Log1p(-math.Min(h, 1-1e-16)))
}
