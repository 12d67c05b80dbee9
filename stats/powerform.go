package stats

import (
	"fmt"
	"math"
	"slices"
)

// SignTestPower returns the power of the two-sided exact sign test of n pairs
// if A is ahead with probability p, and the critical value: the test rejects if
// the smaller of wins and losses is at most critical, never if that is -1.
func SignTestPower(n int, p, alpha float64) (critical int, power float64, err error) {
	if n < 1 || n > 1<<20 || !(p >= 0 && p <= 1) || !(alpha > 0 && alpha < 1) {
		return 0, 0, fmt.Errorf("power of the sign test of %d pairs with %v at %v", n, p, alpha)
	}
	critical = -1
	for k := 0; 2*k < n && 2*binomialCDF(k, n, 0.5) <= alpha; k++ {
		critical = k
	}
	if critical < 0 {
		return critical, 0, nil
	}
	return critical, math.Min(1, binomialCDF(critical, n, p)+binomialCDF(critical, n, 1-p)), nil
}

// PairedTPower returns the power of the two-sided paired t test of n pairs whose
// differences have mean dz standard deviations; the far tail is left out. n need
// not be whole.
func PairedTPower(n, dz, alpha float64) (float64, error) {
	if !(n >= 2 && n <= 1e6) || !(math.Abs(dz) <= 100) || !(alpha > 0 && alpha < 1) {
		return 0, fmt.Errorf("power of the t test of %v pairs with %v at %v", n, dz, alpha)
	}
	return 1 - noncentralT(-studentQuantile(alpha/2, n-1), n-1, math.Abs(dz)*math.Sqrt(n)), nil
}

// PairedTEffect returns the dz that the paired t test of n pairs finds with the
// given power.
func PairedTEffect(n, power, alpha float64) (float64, error) {
	if _, err := PairedTPower(n, 0, alpha); err != nil {
		return 0, err
	}
	if !(power > alpha && power < 1) {
		return 0, fmt.Errorf("power %v is not between alpha %v and 1", power, alpha)
	}
	return bisect(0, 100, func(dz float64) bool {
		p, err := PairedTPower(n, dz, alpha)
		return err == nil && p >= power
	}), nil
}

// PairedTSize returns the number of pairs, not rounded, with which the paired t
// test finds dz with the given power.
func PairedTSize(dz, power, alpha float64) (float64, error) {
	if !(dz > 1e-3 && dz <= 100) || !(alpha > 0 && alpha < 1) || !(power > alpha && power < 1) {
		return 0, fmt.Errorf("pairs for the t test of %v with power %v at %v", dz, power, alpha)
	}
	return bisect(2, 1e6, func(n float64) bool {
		p, err := PairedTPower(n, dz, alpha)
		return err == nil && p >= power
	}), nil
}

// NoetherSize returns the number of pairs, not rounded, with which the two-sided
// signed-rank test has the given power if the mean of two differences is
// positive with probability p (Noether 1987).
func NoetherSize(p, alpha, power float64) (float64, error) {
	if !(p >= 0 && p <= 1) || math.Abs(p-0.5) < 1e-6 || !(alpha > 0 && alpha < 1) || !(power > 0 && power < 1) {
		return 0, fmt.Errorf("pairs for the signed-rank test with %v, power %v at %v", p, power, alpha)
	}
	z := normalQuantile(1-alpha/2) + normalQuantile(power)
	return z * z / (3 * (p - 0.5) * (p - 0.5)), nil
}

// bisect returns the least x between lo and hi for which reached holds, reached
// being false below it.
func bisect(lo, hi float64, reached func(float64) bool) float64 {
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if reached(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// PilotFit is the model of per-turn success fitted to a pilot.
type PilotFit struct {
	Success    float64 // of a typical scenario
	ScenarioSD float64 // spread in logits
	Mean       float64 // expected turns under the fit
	Runs       int
	Defined    bool
	Reason     string
}

// FitPilot fits per-turn success and the spread of scenarios to the runs of one
// configuration by maximum likelihood; runs of one scenario share its effect.
// Without a failure there is nothing to fit.
func FitPilot(o []Outcome, limit int) (PilotFit, error) {
	groups, err := groupOutcomes(o, float64(limit))
	if err != nil {
		return PilotFit{}, fmt.Errorf("pilot: %w", err)
	}
	if limit < 1 {
		return PilotFit{}, fmt.Errorf("pilot: a cap of %d turns", limit)
	}
	passed, failed := make([]float64, len(groups)), make([]float64, len(groups))
	anyPassed, anyFailed := false, false
	for u, g := range groups {
		for _, k := range g.index {
			passed[u] += o[k].Value
			anyPassed = anyPassed || o[k].Value > 0
			if o[k].Status == Failed {
				failed[u]++
				anyFailed = true
			}
		}
	}
	f := PilotFit{Runs: len(o)}
	switch {
	case len(o) == 0:
		f.Reason = "no runs"
	case !anyFailed:
		f.Reason = "no turn failed: the cap is too low for a plan"
	case !anyPassed:
		f.Reason = "no turn was passed"
	}
	if f.Reason != "" {
		return f, nil
	}
	const most = 3.0 // logits; wider spreads look alike
	inner := func(sd float64) (at, best float64) {
		return maximize(-12, 14, func(m float64) float64 { return pilotLikelihood(passed, failed, m, sd) })
	}
	sd, _ := maximize(0, most, func(sd float64) float64 { _, v := inner(sd); return v })
	if _, flat := inner(0); flat >= func() float64 { _, v := inner(sd); return v }()-1e-9 {
		sd = 0 // the boundary, which a search by sections never touches
	}
	at, _ := inner(sd)
	f.Success, f.ScenarioSD, f.Defined = logistic(at), sd, true
	f.Mean = MeanTurnsOf(f.Success, sd, limit)
	return f, nil
}

// pilotLikelihood is the logarithm of the likelihood of passed and failed turns
// per scenario, scenario effects integrated out.
func pilotLikelihood(passed, failed []float64, at, sd float64) float64 {
	const nodes = 33
	sum := 0.0
	terms := make([]float64, 0, nodes)
	for u := range passed {
		terms = terms[:0]
		for i := range nodes {
			z := -6 + 12*float64(i)/(nodes-1)
			if sd == 0 {
				z = 0
			}
			x := at + sd*z
			// log p and log (1-p) without loss
			logPass, logFail := -math.Log1p(math.Exp(-x)), -math.Log1p(math.Exp(x))
			terms = append(terms, passed[u]*logPass+failed[u]*logFail-z*z/2)
			if sd == 0 {
				break
			}
		}
		largest := slices.Max(terms)
		s := 0.0
		for _, v := range terms {
			s += math.Exp(v - largest)
		}
		sum += largest + math.Log(s)
		if sd > 0 {
			sum += math.Log(12 / float64(nodes-1) / math.Sqrt(2*math.Pi))
		}
	}
	return sum
}

// maximize finds the maximum of a function with one peak by golden sections.
func maximize(lo, hi float64, f func(float64) float64) (x, best float64) {
	const ratio = 0.6180339887498949
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := f(a), f(b)
	for range 32 {
		if fa >= fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = f(b)
		}
	}
	if fa >= fb {
		return a, fa
	}
	return b, fb
}
