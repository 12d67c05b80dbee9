package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlateauGolden: the bounds of testdata/plateau.json.
func TestPlateauGolden(t *testing.T) {
	for _, c := range golden(t, "plateau.json", 13, "plateau_bound") {
		var in struct {
			Cap, Eps, Alpha     float64
			TurnsLow, TurnsFull []float64 `json:"-"`
		}
		decode(t, c.Input, &in)
		// turns_r and turns_R differ in case only, which encoding/json ignores.
		var raw map[string]json.RawMessage
		decode(t, c.Input, &raw)
		decode(t, raw["turns_r"], &in.TurnsLow)
		decode(t, raw["turns_R"], &in.TurnsFull)
		var want struct {
			Gaps           []float64
			Nonzero        int
			MeanGap        float64 `json:"mean_gap"`
			Limit          float64
			PointRule      bool    `json:"point_rule"`
			ShareUpper     float64 `json:"share_upper"`
			ClopperPearson float64 `json:"clopper_pearson_bound"`
			Gaffke         float64 `json:"gaffke_bound"`
			GaffkeAccepts  bool    `json:"gaffke_accepts"`
			GaffkeOpen     float64 `json:"gaffke_open_bound"`
			AllZero        float64 `json:"gaffke_if_all_zero"`
			Need           int     `json:"n_needed_if_all_zero"`
		}
		decode(t, c.Expected, &want)
		n := len(in.TurnsLow)
		nonzero, open, openN, largest := 0, 0.0, 0, 0.0
		for i, g := range want.Gaps {
			if in.TurnsFull[i]-in.TurnsLow[i] != g {
				t.Fatalf("%s: gap %d", c.ID, i)
			}
			if g > 0 {
				nonzero++
			}
			largest = math.Max(largest, g)
			if in.TurnsLow[i] < in.Cap {
				open += in.Cap - in.TurnsLow[i]
				openN++
			}
		}
		nearAbs(t, c.ID+" mean gap", mean(want.Gaps), want.MeanGap, 1e-12)
		share := ClopperPearson(nonzero, n, 1-2*in.Alpha)
		near(t, c.ID+" share", share.Hi, want.ShareUpper, 1e-9)
		near(t, c.ID+" Clopper-Pearson bound", share.Hi*(in.Cap-mean(in.TurnsLow)), want.ClopperPearson, 1e-9)
		top := in.Cap
		if openN > 0 {
			top = math.Max(open/float64(openN), largest)
		}
		for _, b := range []struct {
			what      string
			top, want float64
		}{{"bound", in.Cap, want.Gaffke}, {"open bound", top, want.GaffkeOpen}} {
			got, err := GaffkeBound(want.Gaps, b.top, 1-in.Alpha)
			if err != nil {
				t.Fatal(err)
			}
			nearAbs(t, c.ID+" "+b.what, got, b.want, 1e-6)
		}
		runs := budgetOne(in.TurnsLow, in.TurnsFull, in.Cap)
		curve, err := Retry(runs, RetryOptions{R: 1, Cap: in.Cap, Eps: in.Eps, Resamples: 99})
		if err != nil {
			t.Fatal(err)
		}
		p := curve.Plateau
		nearAbs(t, c.ID+" limit", p.Limit, want.Limit, 1e-12)
		nearAbs(t, c.ID+" upper", p.Upper[0], want.Gaffke, 1e-6)
		nearAbs(t, c.ID+" least", p.Least, want.AllZero, 1e-9)
		decision := PlateauUndecided
		if want.GaffkeAccepts {
			decision = PlateauFound
		} else if !want.PointRule {
			decision = PlateauRising
		}
		if p.Need != want.Need || p.Decision != decision || (p.PointAt == 0) != want.PointRule || (p.At == 0) != want.GaffkeAccepts {
			t.Errorf("%s: %+v, want need %d, %s", c.ID, p, want.Need, decision)
		}
	}
}

// budgetOne makes runs with a budget of one retry from the turns reached without
// and with it: the first turn gained took two attempts.
func budgetOne(low, full []float64, limit float64) []Run {
	var runs []Run
	for i := range low {
		x := Run{Scenario: fmt.Sprintf("s%03d", i), Attempts: make([]int, int(full[i]))}
		for k := range x.Attempts {
			x.Attempts[k] = 1
		}
		if full[i] > low[i] {
			x.Attempts[int(low[i])] = 2
		}
		if full[i] == limit {
			x.Status = Capped
		}
		runs = append(runs, x)
	}
	return runs
}

// TestGaffkeSmall: with one value and two knots the weighted sum is uniform
// between the value and the top; with two equal values it is a beta variable.
func TestGaffkeSmall(t *testing.T) {
	for _, c := range []struct {
		x         []float64
		top, want float64
	}{
		{[]float64{2}, 12, 2 + 0.95*10},
		{[]float64{0, 0}, 1, 1 - math.Sqrt(0.05)},
		{[]float64{7, 7}, 7, 7},
		{[]float64{0}, 0, 0},
	} {
		got, err := GaffkeBound(c.x, c.top, 0)
		if err != nil {
			t.Fatal(err)
		}
		nearAbs(t, fmt.Sprint(c.x, c.top), got, c.want, 1e-12)
	}
	for _, bad := range [][]float64{nil, {math.NaN()}, {-1}, {3}} {
		if _, err := GaffkeBound(bad, 2, 0); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// TestGaffkeLarge: the inversion that takes over for many values agrees with the
// B-splines, for many, few and no gaps.
func TestGaffkeLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, share := range []float64{1, 0.01, 0} {
		knots := []float64{101}
		for range 550 {
			v := 0.0
			if rng.Float64() < share {
				v = float64(rng.IntN(40))
			}
			knots = append(knots, v)
		}
		slices.Sort(knots)
		s := newSimplexMean(knots)
		for _, at := range []float64{0.4, 0.9, 1, 1.1, 1.5, 3} {
			x := at * mean(knots)
			nearAbs(t, fmt.Sprint("share ", share, " at ", at), simplexMeanByInversion(knots, x), s.cdf(x), 1e-9)
		}
	}
	// All zero: the exact value is known for any n.
	nearAbs(t, "3000 zeros", gaffkeQuantile(make([]float64, 3000), 101, 0.95), 101*(1-math.Pow(0.05, 1./3000)), 1e-7)
}

// TestPlateauFalse: where 6 % of the scenarios gain 91 turns (5.46 on average)
// and 3.81 would pass as a plateau, the bound declares one in at most 5 % of
// studies; zeros alone, which a bootstrap takes for proof, are no proof.
func TestPlateauFalse(t *testing.T) {
	rng := rand.New(rand.NewPCG(60, 36))
	const rounds, limit = 200, 3.81
	for _, n := range []int{20, 60, 120} {
		declared := 0
		for range rounds {
			gaps := make([]float64, n)
			for i := range gaps {
				if rng.Float64() < 0.06 {
					gaps[i] = 91
				}
			}
			// The bound is below the limit iff the distribution has reached
			// the level there.
			knots := append(gaps, 101)
			slices.Sort(knots)
			if newSimplexMean(knots).cdf(limit) >= plateauLevel {
				declared++
			}
		}
		if float64(declared) > 0.05*rounds {
			t.Errorf("n = %d: %d of %d false declarations", n, declared, rounds)
		}
	}
	// Without any gain 120 scenarios are enough for a limit of 2.5, 60 are not.
	for n, enough := range map[int]bool{60: false, 120: true} {
		if got := gaffkeQuantile(make([]float64, n), 101, plateauLevel) <= 2.5; got != enough {
			t.Errorf("%d scenarios without a gain: accepted %v", n, got)
		}
	}
}
