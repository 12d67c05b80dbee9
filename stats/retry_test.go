package stats

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// goldenRun is a run of retry.json.
type goldenRun struct {
	Attempts []int
	End      string
}

func retryRuns(in []goldenRun) []Run {
	end := map[string]Status{"failed": Failed, "cap": Capped, "stopped": Stopped}
	var runs []Run
	for i, x := range in {
		runs = append(runs, Run{Scenario: fmt.Sprintf("s%03d", i), Attempts: x.Attempts, Status: end[x.End]})
	}
	return runs
}

// TestRetryGolden: the hand definition of testdata/retry.json.
func TestRetryGolden(t *testing.T) {
	for _, c := range golden(t, "retry.json", 5, "retry_curve") {
		var in struct {
			MaxRetries int `json:"max_retries"`
			Cap        float64
			Runs       []goldenRun
		}
		decode(t, c.Input, &in)
		var want struct {
			Turns, Failed [][]float64
			Mean          []float64
			Gain          []*float64
			Share         []float64 `json:"share_of_full"`
			Plateau       map[string]int
			FailedCount   []int `json:"failed_count"`
			Rescued       []int `json:"turns_rescued_by_attempt"`
		}
		decode(t, c.Expected, &want)
		runs := retryRuns(in.Runs)
		stopped := false
		for _, x := range runs {
			stopped = stopped || x.Status == Stopped
		}
		for eps, at := range want.Plateau {
			e, err := strconv.ParseFloat(eps, 64)
			if err != nil {
				t.Fatal(err)
			}
			curve, err := Retry(runs, RetryOptions{R: in.MaxRetries, Cap: in.Cap, Eps: e, Resamples: 199})
			if err != nil {
				t.Fatal(err)
			}
			if curve.N != len(runs) || len(curve.Points) != len(want.Mean) || len(curve.Yields) != in.MaxRetries+1 {
				t.Fatalf("%s: %d runs, %d points, %d yields", c.ID, curve.N, len(curve.Points), len(curve.Yields))
			}
			if curve.Plateau.PointAt != at {
				t.Errorf("%s: point plateau at %d, want %d (eps %v)", c.ID, curve.Plateau.PointAt, at, e)
			}
			for r, p := range curve.Points {
				sum := 0.0
				for i, x := range runs {
					o := x.At(r)
					sum += o.Value
					if o.Value != want.Turns[r][i] || (o.Status == Failed) != (want.Failed[r][i] == 1) {
						t.Errorf("%s: run %d at budget %d: %v %v", c.ID, i, r, o.Value, o.Status)
					}
				}
				nearAbs(t, c.ID+" plain mean", sum/float64(len(runs)), want.Mean[r], 1e-12)
				if p.R != r || p.Failures != want.FailedCount[r] {
					t.Errorf("%s: budget %d: %+v", c.ID, r, p)
				}
				if curve.Yields[r].Passed != want.Rescued[r] {
					t.Errorf("%s: attempt %d passed %d turns, want %d", c.ID, r+1, curve.Yields[r].Passed, want.Rescued[r])
				}
				if stopped && r == in.MaxRetries {
					continue // restricted mean there, see TestRetryStopped
				}
				nearAbs(t, c.ID+" mean", p.Mean, want.Mean[r], 1e-12)
				if want.Gain[r] != nil {
					nearAbs(t, c.ID+" gain", p.Gain, *want.Gain[r], 1e-12)
				}
				if !stopped {
					nearAbs(t, c.ID+" share", p.Share, want.Share[r], 1e-12)
				}
			}
		}
	}
}

// TestRetryStopped: the full budget of golden retry_stopped by hand. One run
// fails at 3; the stopped one passed 4 turns and leaves at 3, after the failure;
// the third reaches the cap 5. S = 2/3 from 3 on: 3 + 2*2/3.
func TestRetryStopped(t *testing.T) {
	runs := retryRuns([]goldenRun{{[]int{1, 1, 4, 1}, "stopped"}, {[]int{2, 1, 1}, "failed"}, {[]int{1, 1, 1, 1, 1}, "cap"}})
	c, err := Retry(runs, RetryOptions{R: 3, Cap: 5})
	if err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "mean", c.Points[3].Mean, 3+4./3, 1e-12)
	// The stopped run could have had the three turns after its second.
	want, err := GaffkeBound([]float64{3, 0, 0}, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "upper bound", c.Plateau.Upper[2], want, 1e-12)
	if c.Plateau.Decision != PlateauRising || c.Plateau.At != -1 {
		t.Errorf("%+v", c.Plateau)
	}
	// The turn in which the run was stopped does not count as a try.
	if y := c.Yields[0]; y.Reached != 13 || y.Passed != 10 {
		t.Errorf("%+v", y)
	}
}

// TestRetryProperties: curves never fall without stops, the last point equals
// the runs, bands hold the curve and never fall.
func TestRetryProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 15))
	for round := range 60 {
		const r, limit = 3, 12
		var runs []Run
		for s := range 2 + rng.IntN(9) {
			for k := range 1 + rng.IntN(2) {
				x := Run{Scenario: fmt.Sprint(s), Replicate: k, Status: Failed}
				for range rng.IntN(limit + 1) {
					x.Attempts = append(x.Attempts, 1+rng.IntN(r+1))
				}
				switch {
				case len(x.Attempts) == limit:
					x.Status = Capped
				case round%3 == 0 && rng.IntN(4) == 0:
					x.Status = Stopped
				}
				runs = append(runs, x)
			}
		}
		c, err := Retry(runs, RetryOptions{R: r, Cap: limit, Resamples: 99})
		if err != nil {
			t.Fatal(err)
		}
		noNaN(t, c)
		var full []Outcome
		for _, x := range runs {
			full = append(full, x.At(r))
		}
		m, err := MeanTurns(full, MeanOptions{Cap: limit})
		if err != nil {
			t.Fatal(err)
		}
		if p := c.Points[r]; p.Mean != m.Mean || p.Interval != m.Interval || p.Share != 1 && m.Mean > 0 {
			t.Fatalf("full budget: %+v, run itself %+v", p, m)
		}
		for i, p := range c.Points {
			if p.Band.Defined && !(p.Band.Lo <= p.Band.Hi && p.Band.Lo >= 0 && p.Band.Hi <= limit) {
				t.Fatalf("%+v", p.Band)
			}
			if i > 0 && round%3 != 0 && (p.Gain < 0 || p.Band.Lo < c.Points[i-1].Band.Lo || p.Band.Hi < c.Points[i-1].Band.Hi) {
				t.Fatalf("budget %d: %+v after %+v", i, p, c.Points[i-1])
			}
			if round%3 != 0 && !(p.Band.Lo <= p.Mean+1e-12 && p.Mean <= p.Band.Hi+1e-12) {
				t.Fatalf("band %+v without %v", p.Band, p.Mean)
			}
			if u := c.Plateau.Upper[i]; i < r && !(u >= m.Mean-p.Mean-1e-9) && round%3 != 0 {
				t.Fatalf("bound %v below the gap %v", u, m.Mean-p.Mean)
			}
		}
	}
}

func TestRetryErrors(t *testing.T) {
	good := []Run{{Scenario: "a", Attempts: []int{1, 2}}}
	for name, c := range map[string]struct {
		runs []Run
		opt  RetryOptions
	}{
		"no runs":           {nil, RetryOptions{R: 1, Cap: 5}},
		"no cap":            {good, RetryOptions{R: 1}},
		"budget":            {good, RetryOptions{R: -1, Cap: 5}},
		"attempt too high":  {good, RetryOptions{R: 0, Cap: 5}},
		"attempt zero":      {[]Run{{Scenario: "a", Attempts: []int{0}}}, RetryOptions{R: 1, Cap: 5}},
		"above the cap":     {good, RetryOptions{R: 1, Cap: 1}},
		"capped too soon":   {[]Run{{Scenario: "a", Status: Capped}}, RetryOptions{R: 1, Cap: 5}},
		"failed at the cap": {good, RetryOptions{R: 1, Cap: 2}},
		"duplicate":         {append(good, good...), RetryOptions{R: 1, Cap: 5}},
		"no scenario":       {[]Run{{}}, RetryOptions{R: 1, Cap: 5}},
		"eps":               {good, RetryOptions{R: 1, Cap: 5, Eps: 2}},
		"level":             {good, RetryOptions{R: 1, Cap: 5, Level: 7}},
	} {
		if _, err := Retry(c.runs, c.opt); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if c, err := Retry(good, RetryOptions{R: 1, Cap: 5}); err != nil || c.Points[0].Band.Defined || c.Points[0].Interval.Defined {
		t.Errorf("one run: %+v, %v", c, err)
	}
	if c, err := Retry(good[:1], RetryOptions{R: 4, Cap: 5}); err != nil || c.Yields[4].Passed != 0 || c.Yields[4].Reached != 1 || c.Yields[4].Interval.Lo != 0 {
		t.Errorf("yield without a pass: %+v, %v", c.Yields, err)
	}
}

func TestCheckNested(t *testing.T) {
	if err := CheckNested("A - B", []string{"e1", "e2"}, []string{"e3"}); err != nil {
		t.Error(err)
	}
	err := CheckNested("R=2 - R=10", []string{"e1", "e2", "e2"}, []string{"e2", "e1", "e2"})
	e, ok := err.(*NestedError)
	if !ok || e.Shared != 2 || e.Run != "e2" {
		t.Fatalf("%#v", err)
	}
	if got := err.Error(); got != `testing R=2 - R=10 (NESTED): 2 runs are on both sides, such as "e2"; results derived from the same runs cannot be tested against each other: report the gain with its interval` {
		t.Error(got)
	}
}

// TestRetryCost by hand: the first turn passes at the second attempt, the second
// at the first, the third fails all three. With one retry the third turn costs
// one attempt in vain.
func TestRetryCost(t *testing.T) {
	x := Run{Scenario: "a", Attempts: []int{2, 1}, Cost: [][]float64{{1, 10}, {100}, {1000, 10000, 100000}}}
	c, err := Retry([]Run{x}, RetryOptions{R: 2, Cap: 5})
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range []struct {
		rescued int
		cost    float64
	}{{0, 0}, {1, 10010}, {1, 110010}} {
		p := c.Points[r]
		if p.Rescued != want.rescued || p.RetryCost != want.cost || p.CostDefined != (want.rescued > 0) || p.CostDefined && p.CostPerRescued != want.cost {
			t.Errorf("budget %d: %+v", r, p)
		}
	}
	alone, err := RetryCosts([]Run{x}, RetryOptions{R: 2, Cap: 5})
	if err != nil || len(alone) != 3 || alone[0].Defined || alone[1] != (RetryCost{Rescued: 1, Cost: 10010, PerRescued: 10010, Defined: true}) || alone[2].Cost != 110010 {
		t.Errorf("costs alone: %+v, %v", alone, err)
	}
	if _, err := RetryCosts([]Run{x, x}, RetryOptions{R: 2, Cap: 5}); err == nil {
		t.Error("costs of a run that stands twice")
	}
	c, err = Retry([]Run{x, {Scenario: "b"}}, RetryOptions{R: 2, Cap: 5})
	if err != nil || c.Points[2].CostDefined || c.Points[2].RetryCost != 0 || c.Points[2].Rescued != 1 {
		t.Errorf("costs of one run unknown: %+v, %v", c.Points[2], err)
	}
	for name, cost := range map[string][][]float64{"turns": {{1, 1}}, "attempts": {{1}, {1}}, "budget": {{1, 1}, {1}, {1, 1, 1, 1}}, "negative": {{1, -1}, {1}}} {
		x.Cost = cost
		if _, err := Retry([]Run{x}, RetryOptions{R: 2, Cap: 5}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRetryAllCapped: runs that all reach the cap leave room below it.
func TestRetryAllCapped(t *testing.T) {
	var list []Run
	for i := range 10 {
		list = append(list, Run{Scenario: fmt.Sprint(i), Attempts: []int{1, 1, 1}, Status: Capped})
	}
	c, err := Retry(list, RetryOptions{R: 1, Cap: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Points {
		if p.Band.Hi != 3 || !(p.Band.Lo < 3) || p.Band.Lo != p.Interval.Lo || p.Full != 10 {
			t.Errorf("%+v", p)
		}
	}
}
