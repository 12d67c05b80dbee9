package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestCumulativeIncidenceGolden: R survival, multi-state survfit (testdata).
func TestCumulativeIncidenceGolden(t *testing.T) {
	for _, c := range golden(t, "survival.json", 2, "cumulative_incidence") {
		var in struct{ Time, Event []float64 }
		decode(t, c.Input, &in)
		var want struct {
			At, CIF1, CIF2, Free, SE1, SE2 []float64
		}
		decode(t, c.Expected, &want)
		cause := make([]int, len(in.Event))
		for i, e := range in.Event {
			cause[i] = int(e)
		}
		r, err := CumulativeIncidence(in.Time, cause, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Times) != len(want.At) || r.N != len(cause) {
			t.Fatalf("%s: %d times of %d runs", c.ID, len(r.Times), r.N)
		}
		for i, at := range want.At {
			what := fmt.Sprintf("%s at %v", c.ID, at)
			if r.Times[i] != at {
				t.Fatalf("%s: time %v", what, r.Times[i])
			}
			near(t, what+" cause 1", r.At(1, at), want.CIF1[i], 1e-9)
			near(t, what+" cause 2", r.At(2, at+0.5), want.CIF2[i], 1e-9)
			near(t, what+" free", r.Survival[i], want.Free[i], 1e-9)
			near(t, what+" SE 1", r.SE[0][i], want.SE1[i], 1e-9)
			near(t, what+" SE 2", r.SE[1][i], want.SE2[i], 1e-9)
		}
	}
}

// TestCumulativeIncidenceProperties: the parts add up to 1, one cause alone is
// 1 - Kaplan-Meier, and without censoring the incidence is a share with the
// binomial standard error.
func TestCumulativeIncidenceProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for round := range 200 {
		n, k := 1+rng.IntN(30), 1+rng.IntN(4)
		times, cause, event := make([]float64, n), make([]int, n), make([]bool, n)
		for i := range times {
			times[i] = float64(rng.IntN(12))
			cause[i] = rng.IntN(k + 1)
			if round%2 == 0 {
				cause[i] = 1 + rng.IntN(k)
			}
			event[i] = cause[i] > 0
		}
		r, err := CumulativeIncidence(times, cause, k)
		if err != nil {
			t.Fatal(err)
		}
		km, err := KaplanMeier(times, event, SurvivalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range r.Times {
			sum := r.Survival[i]
			for c := range k {
				sum += r.CIF[c][i]
				if round%2 == 0 {
					p := r.CIF[c][i]
					nearAbs(t, "SE", r.SE[c][i], math.Sqrt(math.Max(0, p*(1-p))/float64(n)), 1e-7)
				}
			}
			nearAbs(t, "sum", sum, 1, 1e-12)
			nearAbs(t, "survival", r.Survival[i], km.At(at), 1e-12)
		}
	}
}

func TestCumulativeIncidenceErrors(t *testing.T) {
	for name, err := range map[string]error{
		"none":    second(CumulativeIncidence(nil, nil, 1)),
		"lengths": second(CumulativeIncidence([]float64{1}, nil, 1)),
		"NaN":     second(CumulativeIncidence([]float64{math.NaN()}, []int{1}, 1)),
		"cause":   second(CumulativeIncidence([]float64{1}, []int{2}, 1)),
		"causes":  second(CumulativeIncidence([]float64{1}, []int{0}, 0)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
