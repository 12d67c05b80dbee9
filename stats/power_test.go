package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestPairedTPowerGolden: R power.t.test (testdata).
func TestPairedTPowerGolden(t *testing.T) {
	for _, c := range golden(t, "tests_and_effects.json", 6, "paired_t_power") {
		in := struct{ N, DZ, Power, Alpha float64 }{Alpha: 0.05}
		decode(t, c.Input, &in)
		var want struct{ N, DZ, Power float64 }
		decode(t, c.Expected, &want)
		var got, expected float64
		var err error
		// R inverts by uniroot, which stops early: its dz has a power that
		// differs from 0.8 in the sixth digit. Ours must give 0.8 back.
		tol, back := 1e-9, in.Power
		switch {
		case want.Power > 0:
			expected = want.Power
			got, err = PairedTPower(in.N, in.DZ, in.Alpha)
			back = got
		case want.DZ > 0:
			expected = want.DZ
			// R's uniroot stops early: its dz gives another power than asked for, ours gives that one (below).
			tol = 1e-5
			if miss, err := PairedTPower(in.N, want.DZ, in.Alpha); err != nil || math.Abs(miss-in.Power) < 1e-7 {
				t.Errorf("%s: R's effect gives power %v, so it could be held to 1e-9 (%v)", c.ID, miss, err)
			}
			if got, err = PairedTEffect(in.N, in.Power, in.Alpha); err == nil {
				back, err = PairedTPower(in.N, got, in.Alpha)
			}
		case want.N > 0:
			expected = want.N
			tol = 1e-8 // for the same reason
			if miss, err := PairedTPower(want.N, in.DZ, in.Alpha); err != nil || math.Abs(miss-in.Power) < 1e-10 {
				t.Errorf("%s: R's number gives power %v, so it could be held to 1e-9 (%v)", c.ID, miss, err)
			}
			if got, err = PairedTSize(in.DZ, in.Power, in.Alpha); err == nil {
				back, err = PairedTPower(got, in.DZ, in.Alpha)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.ID, got, expected, tol)
		if in.Power > 0 {
			near(t, c.ID+" back", back, in.Power, 1e-12)
		}
	}
}

// TestSignTestPowerGolden: binomial tails (testdata).
func TestSignTestPowerGolden(t *testing.T) {
	for _, c := range golden(t, "tests_and_effects.json", 6, "sign_test_power") {
		var in struct {
			N        int
			P, Alpha float64
		}
		decode(t, c.Input, &in)
		var want struct {
			Critical int
			Power    float64
		}
		decode(t, c.Expected, &want)
		critical, power, err := SignTestPower(in.N, in.P, in.Alpha)
		if err != nil || critical != want.Critical {
			t.Errorf("%s: critical %d, want %d, %v", c.ID, critical, want.Critical, err)
		}
		near(t, c.ID, power, want.Power, 1e-9)
	}
}

// TestNoetherGolden: the formula of Noether (1987) (testdata).
func TestNoetherGolden(t *testing.T) {
	for _, c := range golden(t, "tests_and_effects.json", 5, "noether_n") {
		var in struct {
			P     float64 `json:"p_walsh"`
			Alpha float64
			Power float64
		}
		decode(t, c.Input, &in)
		var want struct{ N float64 }
		decode(t, c.Expected, &want)
		n, err := NoetherSize(in.P, in.Alpha, in.Power)
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.ID, n, want.N, 1e-9)
	}
}

// TestAttainable: ten scenarios can never give one significant pair among 325.
func TestAttainable(t *testing.T) {
	a, err := Attainable(10, 325, 0)
	if err != nil || a.Possible || a.MinP != 1./512 || a.Need != 14 {
		t.Errorf("%+v, %v", a, err)
	}
	nearAbs(t, "adjusted", a.Adjusted, 325./512, 1e-15)
	if a, err = Attainable(14, 325, 0.05); err != nil || !a.Possible {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err = Attainable(0, 1, 0); err == nil {
		t.Error("no pairs")
	}
}

// TestMDE: 20 scenarios, a baseline of 28.4 of 100 turns, one declared pair: the
// better configuration needs 58 turns; 325 pairs: 86; ten scenarios and 325
// pairs: never. The figures are those of an independent simulation.
func TestMDE(t *testing.T) {
	m := PowerModel{SuccessA: 0.965, ScenarioSD: 0.5, Cap: 100}
	r, err := MDE(m, StudyPlan{Scenarios: 20, Studies: 800, Seed: 1}, 0)
	if err != nil || !r.Defined {
		t.Fatalf("%+v, %v", r, err)
	}
	nearAbs(t, "baseline", r.Baseline, 28.4, 0.3)
	nearAbs(t, "one pair", r.Mean, 58, 4)
	if r.Power.Power < 0.8 || math.Abs(r.Ratio-r.Mean/r.Baseline) > 1e-12 {
		t.Errorf("%+v", r)
	}
	if r, err = MDE(m, StudyPlan{Scenarios: 20, Tests: 325, Studies: 800, Seed: 1}, 0.8); err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "325 pairs", r.Mean, 86.3, 3)
	r, err = MDE(m, StudyPlan{Scenarios: 10, Tests: 325, Studies: 10}, 0.8)
	if err != nil || r.Defined || !strings.Contains(r.Reason, "nothing can be significant") || r.Power.Found != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPowerRepeats: runs are worth scenarios without interaction, and not with
// it. The figures are those of independent simulations (3,000 to 6,000 studies).
func TestPowerRepeats(t *testing.T) {
	for _, c := range []struct {
		a, b, interaction float64
		n, repeats        int
		want              float64
	}{
		{0.7, 0.85, 0, 20, 1, 0.552}, {0.7, 0.85, 0, 20, 3, 0.963}, {0.7, 0.85, 0, 60, 1, 0.964},
		{0.965, 0.98, 0, 20, 1, 0.314}, {0.965, 0.98, 0, 20, 3, 0.732}, {0.965, 0.98, 0, 60, 1, 0.755},
		{0.965, 0.98, 0.5, 20, 3, 0.51}, {0.965, 0.98, 0.5, 60, 1, 0.66},
		{0.965, 0.98, 1, 20, 3, 0.26}, {0.965, 0.98, 1, 60, 1, 0.47},
	} {
		m := PowerModel{SuccessA: c.a, SuccessB: c.b, ScenarioSD: 0.5, Interaction: c.interaction, Cap: 100}
		r, err := PowerSim(m, StudyPlan{Scenarios: c.n, Repeats: c.repeats, Studies: 2500})
		if err != nil {
			t.Fatal(err)
		}
		nearAbs(t, fmt.Sprintf("%+v", c), r.Power, c.want, 0.05)
	}
}

// TestPowerNull: without a difference the test rejects no more than its level.
func TestPowerNull(t *testing.T) {
	r, err := PowerSim(PowerModel{SuccessA: 0.7, SuccessB: 0.7, ScenarioSD: 0.5, Cap: 101}, StudyPlan{Scenarios: 20, Studies: 10000, Seed: 2})
	if err != nil || r.Power > 0.055 || r.Power < 0.02 || r.MeanA != r.MeanB {
		t.Errorf("%+v, %v", r, err)
	}
	if again, err := PowerSim(PowerModel{SuccessA: 0.7, SuccessB: 0.7, ScenarioSD: 0.5, Cap: 101}, StudyPlan{Scenarios: 20, Studies: 10000, Seed: 2}); err != nil || again != r {
		t.Errorf("not reproducible: %+v", again)
	}
}

// TestSuccessForMean inverts the expected mean.
func TestSuccessForMean(t *testing.T) {
	for _, sd := range []float64{0, 0.5, 1.5} {
		for _, m := range []float64{0.5, 8.7, 57, 99} {
			p, err := SuccessForMean(m, sd, 101)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "mean", MeanTurnsOf(p, sd, 101), m, 1e-9)
		}
	}
	// 6.2 turns are 13.9 % per turn, 57.0 are 1.3 % with the cap.
	p, err := SuccessForMean(6.2, 0, 100)
	nearAbs(t, "6.2 turns", 1-p, 0.139, 0.0005)
	q, err2 := SuccessForMean(57, 0, 100)
	nearAbs(t, "57 turns", 1-q, 0.013, 0.002)
	if err != nil || err2 != nil {
		t.Error(err, err2)
	}
}

// TestFitPilot finds the model simulated runs come from, and no spread where
// there is none.
func TestFitPilot(t *testing.T) {
	for _, sd := range []float64{0, 1} {
		var o []Outcome
		rng := stream(4, "pilot-test")
		for i := range 150 {
			at := logit(0.9) + sd*rng.NormFloat64()
			for k := range 3 {
				v := drawTurns(rng.ExpFloat64(), math.Log(logistic(at)), 101)
				x := Outcome{Scenario: string(rune('0' + i)), Replicate: k, Value: v}
				if v == 101 {
					x.Status = Capped
				}
				o = append(o, x)
			}
		}
		f, err := FitPilot(o, 101)
		if err != nil || !f.Defined {
			t.Fatalf("%+v, %v", f, err)
		}
		nearAbs(t, "success", logit(f.Success), logit(0.9), 0.3)
		nearAbs(t, "spread", f.ScenarioSD, sd, 0.25)
	}
	f, err := FitPilot([]Outcome{{Scenario: "a", Value: 101, Status: Capped}}, 101)
	if err != nil || f.Defined || f.Reason == "" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestPowerErrors(t *testing.T) {
	good := PowerModel{SuccessA: 0.5, SuccessB: 0.6, Cap: 10}
	for name, err := range map[string]error{
		"success":   second(PowerSim(PowerModel{SuccessA: 2, Cap: 10}, StudyPlan{Scenarios: 5})),
		"cap":       second(PowerSim(PowerModel{SuccessA: 0.5, SuccessB: 0.5}, StudyPlan{Scenarios: 5})),
		"scenarios": second(PowerSim(good, StudyPlan{})),
		"repeats":   second(PowerSim(good, StudyPlan{Scenarios: 5, Repeats: -1})),
		"alpha":     second(PowerSim(good, StudyPlan{Scenarios: 5, Alpha: 3})),
		"mde":       second(MDE(PowerModel{SuccessA: 1, Cap: 10}, StudyPlan{Scenarios: 5}, 0)),
		"mde power": second(MDE(good, StudyPlan{Scenarios: 5}, 2)),
		"t":         second(PairedTPower(1, 0.5, 0.05)),
		"effect":    second(PairedTEffect(20, 0.01, 0.05)),
		"size":      second(PairedTSize(0, 0.8, 0.05)),
		"noether":   second(NoetherSize(0.5, 0.05, 0.8)),
		"mean":      second(SuccessForMean(101, 0, 101)),
		"pilot":     second(FitPilot([]Outcome{{Scenario: "a", Value: -1}}, 101)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := SignTestPower(0, 0.5, 0.05); err == nil {
		t.Error("sign test of no pairs")
	}
}

// TestScenariosFor: the size found is enough and one tenth less is not, and a
// family needs more; equal configurations are never told apart.
func TestScenariosFor(t *testing.T) {
	a, err := SuccessForMean(15, 0.5, 101)
	if err != nil {
		t.Fatal(err)
	}
	b, err := SuccessForMean(40, 0.5, 101)
	if err != nil {
		t.Fatal(err)
	}
	m := PowerModel{SuccessA: a, SuccessB: b, ScenarioSD: 0.5, Cap: 101}
	last := 0
	for _, tests := range []int{1, 325} {
		r, err := ScenariosFor(m, StudyPlan{Tests: tests, Studies: 400}, 0.8)
		if err != nil || !r.Defined || r.Power.Power < 0.8 || r.Scenarios <= last {
			t.Fatalf("%d tests: %+v, %v", tests, r, err)
		}
		last = r.Scenarios
		less, err := PowerSim(m, StudyPlan{Scenarios: r.Scenarios * 9 / 10, Tests: tests, Studies: 400})
		if err != nil || less.Power >= 0.8 {
			t.Errorf("%d tests: %d scenarios suffice: %+v, %v", tests, r.Scenarios*9/10, less, err)
		}
	}
	m.SuccessB = a
	r, err := ScenariosFor(m, StudyPlan{Studies: 40}, 0.8)
	if err != nil || r.Defined || r.Reason == "" {
		t.Errorf("equal configurations: %+v, %v", r, err)
	}
	if _, err := ScenariosFor(m, StudyPlan{}, 1.5); err == nil {
		t.Error("power 1.5: no error")
	}
}
