package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A lifeInput is the input of a survival case; status 1 is an event.
type lifeInput struct {
	Time, Status []float64
	Cap          float64
}

func (in lifeInput) events() []bool {
	e := make([]bool, len(in.Time))
	for i, s := range in.Status {
		e[i] = s == 1
	}
	return e
}

// TestKaplanMeierGolden: R survfit, statsmodels, RMST re-derived (testdata).
func TestKaplanMeierGolden(t *testing.T) {
	for _, c := range golden(t, "survival.json", 7, "kaplan_meier") {
		t.Run(c.ID, func(t *testing.T) {
			var in lifeInput
			decode(t, c.Input, &in)
			var want map[string]json.RawMessage
			decode(t, c.Expected, &want)
			column := func(key string) (v []*float64) { decode(t, want[key], &v); return v }
			for _, tr := range []struct {
				name string
				t    SurvivalTransform
			}{{"loglog", LogLog}, {"log", Log}, {"plain", Plain}} {
				s, err := KaplanMeier(in.Time, in.events(), SurvivalOptions{Transform: tr.t})
				if err != nil {
					t.Fatal(err)
				}
				times := column("km_time")
				if len(s.Points) != len(times) {
					t.Fatalf("%d points, want %d", len(s.Points), len(times))
				}
				risk, event, cens := column("n_risk"), column("n_event"), column("n_censor")
				surv, se := column("surv"), column("greenwood_se")
				lo, hi := column(tr.name+"_lo"), column(tr.name+"_hi")
				for i, p := range s.Points {
					at := fmt.Sprintf("%s at %v ", tr.name, p.Time)
					near(t, at+"time", p.Time, *times[i], 0)
					near(t, at+"at risk", float64(p.AtRisk), *risk[i], 0)
					near(t, at+"events", float64(p.Events), *event[i], 0)
					near(t, at+"censored", float64(p.Censored), *cens[i], 0)
					near(t, at+"S", p.S, *surv[i], 1e-9)
					if p.Defined != (lo[i] != nil) {
						t.Errorf("%sdefined %v, want %v", at, p.Defined, lo[i] != nil)
					}
					if p.Defined {
						near(t, at+"se", p.SE, *se[i], 1e-9)
						near(t, at+"lo", p.Lo, *lo[i], 1e-9)
						near(t, at+"hi", p.Hi, *hi[i], 1e-9)
					}
					near(t, at+"At", s.At(p.Time), p.S, 0)
				}
				if got := s.At(-1); got != 1 {
					t.Errorf("At(-1) = %v", got)
				}
				checkRMST(t, s, want["rmst"])
				checkMedian(t, s, want["median"])
				checkQuantiles(t, s, tr.t, want)
				na, nse := column("nelson_aalen"), column("nelson_aalen_se")
				for i, p := range s.Points {
					near(t, "cumulative hazard", p.Hazard, *na[i], 1e-9)
					near(t, "its se", p.HazardSE, *nse[i], 1e-9)
				}
			}
		})
	}
}

func checkRMST(t *testing.T, s Survival, raw json.RawMessage) {
	t.Helper()
	var rows []struct{ Tau, RMST, SE float64 }
	decode(t, raw, &rows)
	if len(rows) == 0 {
		t.Error("no restricted mean")
	}
	for _, r := range rows {
		est, se, _ := s.RMST(r.Tau)
		near(t, "RMST", est, r.RMST, 1e-9)
		near(t, "RMST se", se, r.SE, 1e-9)
	}
}

func checkMedian(t *testing.T, s Survival, raw json.RawMessage) {
	t.Helper()
	var want *float64
	decode(t, raw, &want)
	got, reached := s.Median()
	if reached != (want != nil) || reached && got != *want {
		t.Errorf("median %v %v, want %s", got, reached, raw)
	}
}

// checkQuantiles: quartiles with the log interval, the median with both.
func checkQuantiles(t *testing.T, s Survival, tr SurvivalTransform, want map[string]json.RawMessage) {
	t.Helper()
	check := func(what string, got float64, reached bool, want *float64) {
		t.Helper()
		if reached != (want != nil) || reached && math.Abs(got-*want) > 1e-12 {
			t.Errorf("%s: %v %v, want %v", what, got, reached, want)
		}
	}
	limit := func(key string) (v *float64) { decode(t, want[key], &v); return v }
	switch m := s.Quantile(0.5); tr {
	case LogLog:
		check("median, low", m.Lo, m.LoReached, limit("median_loglog_lo"))
		check("median, high", m.Hi, m.HiReached, limit("median_loglog_hi"))
	case Log:
		check("median, low", m.Lo, m.LoReached, limit("median_lo"))
		check("median, high", m.Hi, m.HiReached, limit("median_hi"))
		var quartiles struct{ Q, Lo, Hi []*float64 }
		decode(t, want["quartiles"], &quartiles)
		for i := range quartiles.Q {
			q := s.Quantile(float64(i+1) / 4)
			check("quartile", q.T, q.Reached, quartiles.Q[i])
			check("quartile, low", q.Lo, q.LoReached, quartiles.Lo[i])
			check("quartile, high", q.Hi, q.HiReached, quartiles.Hi[i])
		}
	}
}

// TestRMSTIsMean: property 7, with censoring only at the cap the restricted
// mean is the plain mean and its error sd/sqrt(n) with divisor n.
func TestRMSTIsMean(t *testing.T) {
	c := golden(t, "survival.json", 1, "property")[0]
	var in lifeInput
	decode(t, c.Input, &in)
	var want struct{ RMST, SE float64 }
	decode(t, c.Expected, &want)
	check := func(times []float64, limit, m, sd float64) {
		t.Helper()
		event := make([]bool, len(times))
		for i, x := range times {
			event[i] = x < limit
		}
		s, err := KaplanMeier(times, event, SurvivalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		est, se, w := s.RMST(limit)
		near(t, "RMST", est, m, 1e-12)
		near(t, "se", se, sd, 1e-9)
		if slack := est == limit || times[0] == limit; !slack && len(w) > 0 && math.Abs(s.At(limit)) == 0 {
			t.Errorf("warnings %v", w)
		}
	}
	check(in.Time, in.Cap, want.RMST, want.SE)
	rng := rand.New(rand.NewPCG(2, 3))
	for range 100 {
		x := make([]float64, 3+rng.IntN(30))
		for i := range x {
			x[i] = float64(rng.IntN(14)) // 0: the build failed; 13: the cap
		}
		se, _ := moments(x, mean(x))
		check(x, 13, mean(x), se)
	}
}

func TestRMSTDifferenceGolden(t *testing.T) {
	c := golden(t, "survival.json", 1, "rmst_difference")[0]
	var in struct {
		A, B string
		Tau  float64
	}
	decode(t, c.Input, &in)
	var want struct{ Diff, SE float64 }
	decode(t, c.Expected, &want)
	var est, se [2]float64
	for _, k := range golden(t, "survival.json", 7, "kaplan_meier") {
		for i, id := range []string{in.A, in.B} {
			if k.ID != id {
				continue
			}
			var x lifeInput
			decode(t, k.Input, &x)
			s, err := KaplanMeier(x.Time, x.events(), SurvivalOptions{})
			if err != nil {
				t.Fatal(err)
			}
			est[i], se[i], _ = s.RMST(in.Tau)
		}
	}
	near(t, "difference", est[0]-est[1], want.Diff, 1e-9)
	near(t, "se", math.Hypot(se[0], se[1]), want.SE, 1e-9)
}

// TestKaplanMeierAllCapped: property 8.
func TestKaplanMeierAllCapped(t *testing.T) {
	s, err := KaplanMeier([]float64{101, 101, 101}, make([]bool, 3), SurvivalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Points) != 1 || s.Points[0].S != 1 || s.Points[0].Defined || s.Points[0].Censored != 3 {
		t.Errorf("%+v", s.Points)
	}
	est, se, w := s.RMST(101)
	if est != 101 || se != 0 || w != nil {
		t.Errorf("RMST %v %v %v", est, se, w)
	}
	if _, _, w := s.RMST(150); codes(w) != CodeTauBeyondData {
		t.Errorf("tau beyond the data: warnings %v", w)
	}
	if est, _, _ := s.RMST(0); est != 0 {
		t.Errorf("tau 0: %v", est)
	}
}

func TestKaplanMeierErrors(t *testing.T) {
	for name, err := range map[string]error{
		"none":    second(KaplanMeier(nil, nil, SurvivalOptions{})),
		"lengths": second(KaplanMeier([]float64{1}, nil, SurvivalOptions{})),
		"NaN":     second(KaplanMeier([]float64{math.NaN()}, []bool{true}, SurvivalOptions{})),
		"level":   second(KaplanMeier([]float64{1}, []bool{true}, SurvivalOptions{Level: 1})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestWeightedRMST compares the resampling form with the estimate on data that
// repeats each unit as often as its weight, stops and ties included.
func TestWeightedRMST(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	for range 300 {
		n := 1 + rng.IntN(12)
		var l []lifetime
		weight := make([]int, n)
		var times []float64
		var event []bool
		for u := range n {
			weight[u] = rng.IntN(4)
			for range 1 + rng.IntN(2) {
				x := lifetime{float64(rng.IntN(12) - 1), rng.IntN(3) > 0, u}
				if x.time < 0 {
					x.event = false
				}
				l = append(l, x)
				for range weight[u] {
					times = append(times, x.time)
					event = append(event, x.event)
				}
			}
		}
		if len(times) == 0 {
			continue
		}
		sortLifetimes(l)
		s, err := KaplanMeier(times, event, SurvivalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tau := range []float64{3, 8, 12} {
			want, _, _ := s.RMST(tau)
			near(t, fmt.Sprintf("%v %v tau %v", l, weight, tau), weightedRMST(l, weight, tau), want, 1e-12)
		}
	}
}

// TestTurnsGolden: how T and status enter a survival estimate (testdata).
func TestTurnsGolden(t *testing.T) {
	status := map[string]Status{"F": Failed, "C": Capped, "S": Stopped}
	used := 0
	for _, c := range golden(t, "turns.json", 16, "turns") {
		var want struct {
			T      *float64 `json:"turns_passed"`
			Status *string
			Time   *float64 `json:"km_time"`
			Event  *bool    `json:"km_event"`
		}
		decode(t, c.Expected, &want)
		if want.T == nil || want.Status == nil || want.Time == nil || want.Event == nil {
			continue // void or unfinished: no outcome
		}
		o := []Outcome{{Scenario: "s", Value: *want.T, Status: status[*want.Status]}}
		g, err := groupOutcomes(o, 0)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := lifetimes(o, g)
		if l[0].time != *want.Time || l[0].event != *want.Event {
			t.Errorf("%s: time %v event %v, want %v %v", c.ID, l[0].time, l[0].event, *want.Time, *want.Event)
		}
		used++
	}
	if used < 10 {
		t.Errorf("%d cases with an outcome", used)
	}
}
