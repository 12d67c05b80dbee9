package stats

import (
	"fmt"
	"math"
	"slices"
)

// A PowerPoint is the least difference that a study of one size finds often enough.
type PowerPoint struct {
	Scenarios int
	Mean      float64 // expected turns the better configuration needs; the cap if not Defined
	Defined   bool    // false if no difference is found that often
}

// PowerCurve returns, for every size of family in tests and every number of scenarios in sizes, the least better
// configuration that is told from the baseline A of the model in the given share of repetitions (0: 0.8). It asks what
// [MDE] asks, for several families with the same simulated studies, and reads the answer between steps of 0.4 logits,
// so that a figure costs a fraction of a second. m.SuccessB, plan.Scenarios and plan.Tests are ignored.
func PowerCurve(m PowerModel, plan StudyPlan, tests, sizes []int, power float64) ([][]PowerPoint, error) {
	power, err := checkPower(power)
	if err != nil {
		return nil, fmt.Errorf("power curve: %w", err)
	}
	if len(tests) == 0 || slices.Min(tests) < 1 {
		return nil, fmt.Errorf("power curve: families of %v tests", tests)
	}
	m.SuccessB = m.SuccessA
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("power curve: %w", err)
	}
	if m.SuccessA == 0 || m.SuccessA == 1 {
		return nil, fmt.Errorf("power curve: success %v per turn of the baseline is not between 0 and 1", m.SuccessA)
	}
	out := make([][]PowerPoint, len(tests))
	for _, n := range sizes {
		plan.Scenarios, plan.Tests = n, 1
		full, err := plan.check()
		if err != nil {
			return nil, fmt.Errorf("power curve: %w", err)
		}
		for i, x := range m.climb(full, tests, power) {
			p := PowerPoint{Scenarios: n, Mean: float64(m.Cap)}
			if !math.IsNaN(x) {
				p.Mean, p.Defined = MeanTurnsOf(logistic(x), math.Hypot(m.ScenarioSD, m.Interaction), m.Cap), true
			}
			out[i] = append(out[i], p)
		}
	}
	return out, nil
}

// climb raises B from A on until every family finds it, and returns where each did, in logits; NaN is nowhere.
func (m PowerModel) climb(plan StudyPlan, tests []int, power float64) []float64 {
	const step, most = 0.4, 16.0
	found := make([]float64, len(tests))
	before := make([]float64, len(tests)) // power one step below
	for i := range found {
		found[i] = math.NaN()
	}
	start := logit(m.SuccessA)
	for x := start; x <= max(start, most); x += step {
		m.SuccessB = logistic(x)
		p := m.pValues(plan)
		open := false
		for i, t := range tests {
			if !math.IsNaN(found[i]) || minSignP(plan.Scenarios, TwoSided)*float64(t) > plan.Alpha {
				continue
			}
			n, _ := slices.BinarySearch(p, math.Nextafter(plan.Alpha/float64(t), 2))
			now := float64(n) / float64(plan.Studies)
			switch {
			case now < power:
				open = true
			case now > before[i]:
				found[i] = max(start, x-step*(now-power)/(now-before[i]))
			default:
				found[i] = x
			}
			before[i] = now
		}
		if !open {
			break
		}
	}
	return found
}

// pValues simulates the studies of a plan and returns the exact p of each, ascending. The same seed and size give the
// same studies for every model.
func (m PowerModel) pValues(plan StudyPlan) []float64 {
	rng := stream(plan.Seed, "power", []float64{float64(plan.Scenarios), float64(plan.Repeats)})
	d := make([]float64, plan.Scenarios)
	p := make([]float64, plan.Studies)
	for i := range p {
		m.draw(d, plan.Repeats, rng)
		p[i] = 1
		if rank := rankDifferences(d); len(rank.doubled) > 0 {
			p[i] = rank.test(plan.Zero, TwoSided, true, false).p
		}
	}
	slices.Sort(p)
	return p
}
