package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// PowerModel describes two configurations: every turn passes with a probability
// that differs between scenarios, and a run ends at its first failed turn.
type PowerModel struct {
	SuccessA, SuccessB float64 // per-turn success of a typical scenario, between 0 and 1
	ScenarioSD         float64 // spread of scenarios, both sides alike, in logits
	// Interaction is the spread, in logits, of what a scenario means to one
	// configuration only. With it, repeats do not replace scenarios.
	Interaction float64
	Cap         int // number of turns there are
}

// StudyPlan is the size of a study.
type StudyPlan struct {
	Scenarios int
	Repeats   int     // runs per configuration and scenario; 0: 1
	Tests     int     // size of the family; 0: 1. The pair must pass Holm's first step, alpha / Tests.
	Alpha     float64 // 0: 0.05
	Zero      ZeroMethod
	Studies   int // simulated studies; 0: 2000
	Seed      uint64
}

// PowerResult is the share of simulated studies in which the exact signed-rank
// test finds the difference.
type PowerResult struct {
	Power        float64
	Interval     Interval // Wilson: the Monte Carlo error
	Found        int
	Studies      int
	Level        float64 // alpha / Tests, what p must reach
	MeanA, MeanB float64 // expected turns
	Attainable   Attainability
}

// Attainability says whether a test of n pairs can be significant at all.
type Attainability struct {
	MinP     float64 // 2^(1-n), if no pair is level
	Adjusted float64 // times the size of the family, at most 1
	Possible bool    // Adjusted <= alpha
	Need     int     // least number of pairs that are not level
}

// Attainable says what a two-sided exact test of n pairs can reach as the first
// of a Holm family of tests members. alpha 0 means 0.05.
func Attainable(n, tests int, alpha float64) (Attainability, error) {
	if alpha == 0 {
		alpha = defaultAlpha
	}
	if n < 1 || tests < 1 || !(alpha > 0 && alpha < 1) {
		return Attainability{}, fmt.Errorf("attainable p of %d pairs in a family of %d at %v", n, tests, alpha)
	}
	a := Attainability{MinP: minSignP(n, TwoSided), Need: needNonZero(tests, alpha, Holm)}
	a.Adjusted = math.Min(1, a.MinP*float64(tests))
	a.Possible = a.Adjusted <= alpha
	return a, nil
}

// check returns the plan with its defaults filled in.
func (p StudyPlan) check() (StudyPlan, error) {
	const mostRuns, mostStudies = 1 << 20, 1 << 20
	for _, x := range []struct {
		v      *int
		normal int
	}{{&p.Repeats, 1}, {&p.Tests, 1}, {&p.Studies, 2000}} {
		if *x.v == 0 {
			*x.v = x.normal
		}
	}
	if p.Alpha == 0 {
		p.Alpha = defaultAlpha
	}
	switch {
	case p.Scenarios < 1 || p.Scenarios > maxExact:
		return p, fmt.Errorf("%d scenarios are not between 1 and %d", p.Scenarios, maxExact)
	case p.Repeats < 1 || p.Repeats > mostRuns || p.Tests < 1 || p.Studies < 1 || p.Studies > mostStudies:
		return p, fmt.Errorf("%d repeats, %d tests, %d studies", p.Repeats, p.Tests, p.Studies)
	case !(p.Alpha > 0 && p.Alpha < 1):
		return p, fmt.Errorf("alpha %v is not between 0 and 1", p.Alpha)
	case p.Zero < Drop || p.Zero > ZSplit:
		return p, fmt.Errorf("unknown zero method %d", int(p.Zero))
	}
	return p, nil
}

func (m PowerModel) check() error {
	const mostSpread, mostTurns = 10, 1 << 20
	switch {
	case !(m.SuccessA >= 0 && m.SuccessA <= 1 && m.SuccessB >= 0 && m.SuccessB <= 1):
		return fmt.Errorf("success %v and %v per turn are not between 0 and 1", m.SuccessA, m.SuccessB)
	case !(m.ScenarioSD >= 0 && m.ScenarioSD <= mostSpread && m.Interaction >= 0 && m.Interaction <= mostSpread):
		return fmt.Errorf("spreads %v and %v are not between 0 and %d logits", m.ScenarioSD, m.Interaction, mostSpread)
	case m.Cap < 1 || m.Cap > mostTurns:
		return fmt.Errorf("a cap of %d turns", m.Cap)
	}
	return nil
}

// PowerSim simulates studies and counts those in which the exact signed-rank
// test of the pair passes the first step of Holm's procedure. The same seed
// gives the same studies for every model, so that curves are smooth.
func PowerSim(m PowerModel, plan StudyPlan) (PowerResult, error) {
	if err := m.check(); err != nil {
		return PowerResult{}, fmt.Errorf("power: %w", err)
	}
	plan, err := plan.check()
	if err != nil {
		return PowerResult{}, fmt.Errorf("power: %w", err)
	}
	r := PowerResult{
		Studies: plan.Studies, Level: plan.Alpha / float64(plan.Tests),
		MeanA: MeanTurnsOf(m.SuccessA, math.Hypot(m.ScenarioSD, m.Interaction), m.Cap),
		MeanB: MeanTurnsOf(m.SuccessB, math.Hypot(m.ScenarioSD, m.Interaction), m.Cap),
	}
	if r.Attainable, err = Attainable(plan.Scenarios, plan.Tests, plan.Alpha); err != nil {
		return PowerResult{}, fmt.Errorf("power: %w", err)
	}
	if r.Attainable.Possible {
		rng := stream(plan.Seed, "power", []float64{float64(plan.Scenarios), float64(plan.Repeats)})
		d := make([]float64, plan.Scenarios)
		for range plan.Studies {
			m.draw(d, plan.Repeats, rng)
			rank := rankDifferences(d)
			if len(rank.doubled) > 0 && minSignP(len(rank.doubled), TwoSided) <= r.Level && rank.test(plan.Zero, TwoSided, true, false).p <= r.Level {
				r.Found++
			}
		}
	}
	r.Power = float64(r.Found) / float64(plan.Studies)
	r.Interval = Wilson(r.Found, plan.Studies, defaultLevel)
	r.Interval.Method += ", Monte Carlo error"
	return r, nil
}

// draw fills d with the sums over repeats of A - B; sums rank as means do.
func (m PowerModel) draw(d []float64, repeats int, rng *rand.Rand) {
	a, b := logit(m.SuccessA), logit(m.SuccessB)
	for i := range d {
		both, onlyA, onlyB := rng.NormFloat64()*m.ScenarioSD, rng.NormFloat64()*m.Interaction, rng.NormFloat64()*m.Interaction
		logA := math.Log(logistic(a + both + onlyA))
		logB := math.Log(logistic(b + both + onlyB))
		d[i] = 0
		for range repeats {
			d[i] += drawTurns(rng.ExpFloat64(), logA, m.Cap) - drawTurns(rng.ExpFloat64(), logB, m.Cap)
		}
	}
}

// drawTurns turns an exponential variable into the number of passes before the
// first failure, for a success probability given as its logarithm.
func drawTurns(e, logSuccess float64, limit int) float64 {
	if logSuccess == 0 {
		return float64(limit)
	}
	return math.Min(math.Floor(e/-logSuccess), float64(limit))
}

func logit(p float64) float64    { return math.Log(p / (1 - p)) }
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// MeanTurnsOf returns the expected number of turns, cut at limit, if a turn of a
// typical scenario passes with probability success and scenarios spread by sd
// logits.
func MeanTurnsOf(success, sd float64, limit int) float64 {
	of := func(p float64) float64 {
		if p >= 1 {
			return float64(limit)
		}
		return ConstantHazardMean(1-p, float64(limit))
	}
	if sd == 0 || success <= 0 || success >= 1 {
		return of(success)
	}
	at := logit(success)
	return integral(func(z float64) float64 {
		return of(logistic(at+sd*z)) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	}, -8.5, 8.5)
}

// SuccessForMean returns the per-turn success of a typical scenario with which
// the expected number of turns is mean; it inverts [MeanTurnsOf].
func SuccessForMean(mean, sd float64, limit int) (float64, error) {
	if limit < 1 || !(mean > 0 && mean < float64(limit)) || !(sd >= 0 && sd <= 10) {
		return 0, fmt.Errorf("a mean of %v turns of %d with scenarios spread by %v logits", mean, limit, sd)
	}
	lo, hi := -40.0, 40.0
	for range 70 {
		mid := (lo + hi) / 2
		if MeanTurnsOf(logistic(mid), sd, limit) < mean {
			lo = mid
		} else {
			hi = mid
		}
	}
	return logistic(hi), nil
}

// MDEResult is the least difference a study finds often enough.
type MDEResult struct {
	Baseline float64 // expected turns of A
	Mean     float64 // expected turns B needs; the cap if not Defined
	Success  float64 // per turn, of a typical scenario
	Ratio    float64 // Mean / Baseline
	Power    PowerResult
	Defined  bool // false if no difference is found that often
	Reason   string
}

// checkPower returns the share of repetitions in which a difference is to be
// found, 0.8 for 0, or an error.
func checkPower(power float64) (float64, error) {
	if power == 0 {
		return 0.8, nil
	}
	if !(power > 0 && power < 1) {
		return 0, fmt.Errorf("power %v is not between 0 and 1", power)
	}
	return power, nil
}

// MDE bisects for the least better configuration B that a study tells from the
// baseline A of the model in the given share of repetitions (0: 0.8).
// m.SuccessB is ignored.
func MDE(m PowerModel, plan StudyPlan, power float64) (MDEResult, error) {
	power, err := checkPower(power)
	if err != nil {
		return MDEResult{}, fmt.Errorf("minimum detectable effect: %w", err)
	}
	if !(m.SuccessA > 0 && m.SuccessA < 1) {
		return MDEResult{}, fmt.Errorf("minimum detectable effect: success %v per turn of the baseline is not between 0 and 1", m.SuccessA)
	}
	at := func(x float64) (PowerResult, error) {
		m.SuccessB = logistic(x)
		return PowerSim(m, plan)
	}
	lo, hi := logit(m.SuccessA), math.Max(logit(m.SuccessA), logit(0.99999))+1
	best, err := at(hi)
	if err != nil {
		return MDEResult{}, fmt.Errorf("minimum detectable effect: %w", err)
	}
	r := MDEResult{Baseline: best.MeanA}
	if best.Power < power {
		r.Mean, r.Power = float64(m.Cap), best
		r.Reason = fmt.Sprintf("even a configuration that passes nearly all turns is found in only %.0f %% of repetitions", 100*best.Power)
		if !best.Attainable.Possible {
			r.Reason = fmt.Sprintf("nothing can be significant: the smallest p of %s is %s, the family needs %s",
				countOf(plan.Scenarios, "scenario", "scenarios"), FormatP(best.Attainable.MinP), countOf(best.Attainable.Need, "pair that is not level", "pairs that are not level"))
		}
		return r, nil
	}
	for range 14 {
		mid := (lo + hi) / 2
		p, err := at(mid)
		if err != nil {
			return MDEResult{}, fmt.Errorf("minimum detectable effect: %w", err)
		}
		if p.Power < power {
			lo = mid
		} else {
			hi, best = mid, p
		}
	}
	r.Mean, r.Success, r.Power, r.Defined = best.MeanB, logistic(hi), best, true
	r.Ratio = r.Mean / r.Baseline
	return r, nil
}

// SizeResult is the least number of scenarios that is enough.
type SizeResult struct {
	Scenarios int
	Power     PowerResult // with so many scenarios
	Defined   bool        // false if the most that was tried is not enough
	Reason    string
}

// mostSize is the largest study [ScenariosFor] tries: beyond it the simulation
// of exact tests takes long.
const mostSize = 320

// ScenariosFor searches for the least number of scenarios with which the two
// configurations of the model are told apart in the given share of repetitions
// (0: 0.8), to within about 3 %, which is the Monte Carlo error of 1000 studies.
// plan.Scenarios is ignored; up to 320 scenarios are tried.
func ScenariosFor(m PowerModel, plan StudyPlan, power float64) (SizeResult, error) {
	power, err := checkPower(power)
	if err != nil {
		return SizeResult{}, fmt.Errorf("scenarios needed: %w", err)
	}
	at := func(n int) (PowerResult, error) {
		plan.Scenarios = n
		r, err := PowerSim(m, plan)
		if err != nil {
			return r, fmt.Errorf("scenarios needed: %w", err)
		}
		return r, nil
	}
	lo, hi := 0, 5 // lo is not enough
	best, err := at(hi)
	for err == nil && best.Power < power && hi < mostSize {
		lo, hi = hi, 2*hi
		best, err = at(hi)
	}
	if err != nil {
		return SizeResult{}, err
	}
	if best.Power < power {
		return SizeResult{Power: best, Reason: fmt.Sprintf("%d scenarios find the difference in %.0f %% of repetitions", hi, 100*best.Power)}, nil
	}
	for hi-lo > max(1, hi/32) {
		mid := (lo + hi) / 2
		p, err := at(mid)
		if err != nil {
			return SizeResult{}, err
		}
		if p.Power < power {
			lo = mid
		} else {
			hi, best = mid, p
		}
	}
	return SizeResult{Scenarios: hi, Power: best, Defined: true}, nil
}
