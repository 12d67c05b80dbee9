package stats

import (
	"math"
	"testing"
)

// TestPowerCurve holds that the curve agrees with MDE to within its Monte Carlo error, falls with the size of the
// study, rises with that of the family, and is undefined where nothing can be significant.
func TestPowerCurve(t *testing.T) {
	m := PowerModel{SuccessA: 0.95, ScenarioSD: 0.7, Cap: 101}
	sizes := []int{8, 14, 20, 30}
	curves, err := PowerCurve(m, StudyPlan{Studies: 600}, []int{1, 28, 325}, sizes, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, tests := range []int{1, 28, 325} {
		for k, p := range curves[i] {
			can, err := Attainable(sizes[k], tests, 0)
			if err != nil || p.Scenarios != sizes[k] || p.Defined && !can.Possible {
				t.Errorf("%d tests, %d scenarios: %+v, %v", tests, sizes[k], p, err)
			}
			if k > 0 && p.Mean > curves[i][k-1].Mean+2 {
				t.Errorf("%d tests: %d scenarios need %.1f turns, fewer need %.1f", tests, sizes[k], p.Mean, curves[i][k-1].Mean)
			}
			if i > 0 && p.Mean < curves[i-1][k].Mean {
				t.Errorf("%d scenarios: a larger family needs less", sizes[k])
			}
		}
	}
	if curves[2][0].Defined || curves[2][0].Mean != 101 {
		t.Errorf("8 scenarios tell something in a family of 325: %+v", curves[2][0])
	}
	for i, tests := range []int{1, 325} {
		want, err := MDE(m, StudyPlan{Scenarios: 20, Tests: tests, Studies: 600}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := curves[2*i][2].Mean; math.Abs(got-want.Mean) > 2.5 {
			t.Errorf("20 scenarios, %d tests: %.1f turns, MDE says %.1f", tests, got, want.Mean)
		}
	}
	for _, bad := range []struct {
		m     PowerModel
		tests []int
		sizes []int
		power float64
	}{{PowerModel{SuccessA: 1, Cap: 5}, []int{1}, sizes, 0}, {m, nil, sizes, 0}, {m, []int{0}, sizes, 0}, {m, []int{1}, []int{0}, 0}, {m, []int{1}, sizes, 1}, {PowerModel{SuccessA: 0.5}, []int{1}, sizes, 0}} {
		if _, err := PowerCurve(bad.m, StudyPlan{}, bad.tests, bad.sizes, bad.power); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
