package stats

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestMannWhitneyGolden: R wilcox.test and coin (testdata).
func TestMannWhitneyGolden(t *testing.T) {
	for _, c := range golden(t, "tests_and_effects.json", 3, "mann_whitney") {
		var in struct{ X, Y []float64 }
		decode(t, c.Input, &in)
		var want struct {
			U      float64
			CC     float64 `json:"p_asym_cc"`
			Normal float64 `json:"p_asym"`
			Exact  float64 `json:"p_exact"`
		}
		decode(t, c.Expected, &want)
		r, err := Unpaired(in.X, in.Y)
		if err != nil || !r.Exact {
			t.Fatalf("%s: %+v, %v", c.ID, r, err)
		}
		near(t, c.ID+" U", r.U, want.U, 1e-9)
		near(t, c.ID+" exact", r.P, want.Exact, 1e-9)
		near(t, c.ID+" normal", r.PNormal, want.Normal, 1e-9)
		near(t, c.ID+" continuity", r.PContinuity, want.CC, 1e-9)
	}
}

// TestSignFlipGolden: brute force in rationals, R t.test (testdata).
func TestSignFlipGolden(t *testing.T) {
	for _, c := range golden(t, "tests_and_effects.json", 3, "sign_flip_mean") {
		var in struct{ D []float64 }
		decode(t, c.Input, &in)
		var want struct {
			Two      float64 `json:"two_sided"`
			Greater  float64
			Less     float64
			Fraction string
			T        float64
			PT       float64    `json:"p_t"`
			CI       [2]float64 `json:"t_ci"`
		}
		decode(t, c.Expected, &want)
		for alt, p := range map[Alternative]float64{TwoSided: want.Two, Greater: want.Greater, Less: want.Less} {
			r, err := SignFlipMean(in.D, alt)
			if err != nil {
				t.Fatal(err)
			}
			near(t, c.ID+" "+alt.String(), r.P, p, 1e-12)
			if got := fmt.Sprintf("%d/%d", r.PCount, 1<<r.PLog2); alt == TwoSided && got != want.Fraction {
				t.Errorf("%s: %s, want %s", c.ID, got, want.Fraction)
			}
			// The same numbers without a common unit.
			scaled := make([]float64, len(in.D))
			for i, v := range in.D {
				scaled[i] = v * math.Pi
			}
			if r, err = SignFlipMean(scaled, alt); err != nil || r.P != p {
				t.Errorf("%s scaled: %v, want %v, %v", c.ID, r.P, p, err)
			}
		}
		s, err := StudentMean(in.D, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.ID+" t", s.T, want.T, 1e-9)
		near(t, c.ID+" p of t", s.P, want.PT, 1e-9)
		near(t, c.ID+" low", s.Interval.Lo, want.CI[0], 1e-9)
		near(t, c.ID+" high", s.Interval.Hi, want.CI[1], 1e-9)
	}
}

// TestEffectSizesGolden: R effectsize and by hand (testdata).
func TestEffectSizesGolden(t *testing.T) {
	for _, c := range golden(t, "tests_and_effects.json", 4, "effect_size") {
		var in struct{ X, Y []float64 }
		decode(t, c.Input, &in)
		var want struct {
			RB                 float64 `json:"rank_biserial"`
			Zeros              float64 `json:"rank_biserial_zeros_in_denominator"`
			A12                float64
			Cliff              float64 `json:"cliffs_delta"`
			Superiority        float64 `json:"paired_superiority"`
			Wins, Ties, Losses int
			Mean               float64 `json:"mean_diff"`
			DZ                 *float64
		}
		decode(t, c.Expected, &want)
		r, err := ComparePair(runs(in.X...), runs(in.Y...), ComparePairOptions{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.ID+" rank-biserial", r.RankBiserial, want.RB, 1e-9)
		near(t, c.ID+" superiority", r.Superiority, want.Superiority, 1e-9)
		near(t, c.ID+" mean", r.Diff, want.Mean, 1e-9)
		if r.Ahead != want.Wins || r.Level != want.Ties || r.Behind != want.Losses {
			t.Errorf("%s: %d-%d-%d", c.ID, r.Ahead, r.Level, r.Behind)
		}
		// Drop's ranks over a sum that counts the zeros' ranks, too: the
		// convention of effectsize, between Drop and Pratt.
		all := float64(r.N * (r.N + 1) / 2)
		zeros := float64(r.Rank.Zeros * (r.Rank.Zeros + 1) / 2)
		pratt, err := SignedRank(r.Pairs.D, SignedRankOptions{Zero: Pratt})
		if err != nil {
			t.Fatal(err)
		}
		nearAbs(t, c.ID+" Pratt", RankBiserial(pratt), (pratt.WPlus-pratt.WMinus)/all, 1e-12)
		nearAbs(t, c.ID+" zeros in the sum", RankBiserial(pratt), want.Zeros, 1e-9)
		if r.Rank.NonZero > 0 && pratt.WPlus+pratt.WMinus != all-zeros {
			t.Errorf("%s: rank sum", c.ID)
		}
		u, err := Unpaired(in.X, in.Y)
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.ID+" A12", u.A12, want.A12, 1e-9)
		near(t, c.ID+" Cliff", u.CliffDelta, want.Cliff, 1e-9)
		s, err := StudentMean(r.Pairs.D, 0)
		if err != nil {
			t.Fatal(err)
		}
		if want.DZ == nil {
			if s.Defined || s.Interval.Defined || s.P != 1 {
				t.Errorf("%s: no variation: %+v", c.ID, s)
			}
			continue
		}
		near(t, c.ID+" dz", s.T/math.Sqrt(float64(s.N)), *want.DZ, 1e-9)
	}
}

// TestPassKGolden: exact fractions (testdata).
func TestPassKGolden(t *testing.T) {
	for _, c := range golden(t, "tests_and_effects.json", 15, "pass_k") {
		var in struct{ N, C, K int }
		decode(t, c.Input, &in)
		var want struct {
			Any      float64 `json:"pass_at_k"`
			AnyExact string  `json:"pass_at_k_fraction"`
			All      float64 `json:"pass_hat_k"`
			AllExact string  `json:"pass_hat_k_fraction"`
		}
		decode(t, c.Expected, &want)
		r, err := PassK(in.N, in.C, in.K)
		if err != nil || !r.Defined {
			t.Fatalf("%s: %+v, %v", c.ID, r, err)
		}
		near(t, c.ID+" any", r.Any, want.Any, 1e-12)
		near(t, c.ID+" all", r.All, want.All, 1e-12)
		if r.ExactAny.RatString() != want.AnyExact || r.ExactAll.RatString() != want.AllExact {
			t.Errorf("%s: %s and %s, want %s and %s", c.ID, r.ExactAny, r.ExactAll, want.AnyExact, want.AllExact)
		}
	}
}

func TestPassKEdges(t *testing.T) {
	r, err := PassK(3, 2, 4)
	if err != nil || r.Defined || r.Reason != "3 runs cannot tell about 4" || r.ExactAny != nil {
		t.Errorf("%+v, %v", r, err)
	}
	over := []PassCount{{"a", 3, 2}, {"b", 3, 0}, {"c", 4, 4}}
	if r, err = PassKOver(over, 2, BootstrapOptions{}); err != nil || r.ExactAny.Cmp(big.NewRat(2, 3)) != 0 || r.ExactAll.Cmp(big.NewRat(4, 9)) != 0 || !r.AnyCI.Defined || !(r.AllCI.Lo <= r.All && r.All <= r.AllCI.Hi) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = PassKOver(over, 4, BootstrapOptions{}); err != nil || r.Defined || r.Reason != `2 scenarios have fewer than 4 runs: "a", "b"` {
		t.Errorf("%+v, %v", r, err)
	}
	for _, err := range []error{second(PassK(0, 0, 1)), second(PassK(3, 4, 1)), second(PassK(3, 1, 0)), second(PassKOver(nil, 1, BootstrapOptions{})), second(PassKOver([]PassCount{{"a", 1, 1}, {"a", 1, 0}}, 1, BootstrapOptions{}))} {
		if err == nil {
			t.Error("no error")
		}
	}
}

// TestMannWhitneyBruteForce compares the exact p with all splits.
func TestMannWhitneyBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 3))
	for range 60 {
		n, m := 1+rng.IntN(5), 1+rng.IntN(5)
		all := make([]float64, n+m)
		for i := range all {
			all[i] = float64(rng.IntN(5))
		}
		r, err := Unpaired(all[:n], all[n:])
		if err != nil {
			t.Fatal(err)
		}
		hit, splits := 0, 0
		for mask := range 1 << (n + m) {
			var x, y []float64
			for i, v := range all {
				if mask>>i&1 == 1 {
					x = append(x, v)
				} else {
					y = append(y, v)
				}
			}
			if len(x) != n {
				continue
			}
			u := 0.0
			for _, a := range x {
				for _, b := range y {
					switch {
					case a > b:
						u++
					case a == b:
						u += 0.5
					}
				}
			}
			splits++
			if math.Abs(u-float64(n*m)/2) >= math.Abs(r.U-float64(n*m)/2) {
				hit++
			}
		}
		near(t, fmt.Sprint(all, n), r.P, float64(hit)/float64(splits), 1e-12)
	}
	for _, err := range []error{second(Unpaired(nil, []float64{1})), second(Unpaired([]float64{math.NaN()}, []float64{1}))} {
		if err == nil {
			t.Error("no error")
		}
	}
	if r, err := Unpaired([]float64{2, 2}, []float64{2}); err != nil || r.P != 1 || r.A12 != 0.5 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSignFlipForms: the grid never lies below the counts, and more differences
// than can be counted still give a p.
func TestSignFlipForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 71))
	d := make([]float64, 40)
	for i := range d {
		d[i] = rng.NormFloat64() + 0.3
	}
	grid, err := SignFlipMean(d, TwoSided)
	if err != nil || grid.Exact || grid.Method != "grid" || !(grid.P > 0 && grid.P <= 1) {
		t.Errorf("%+v, %v", grid, err)
	}
	r, err := SignFlipMean([]float64{0, 0}, TwoSided)
	if err != nil || r.P != 1 || r.MinP != 1 || r.NonZero != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, err := range []error{second(SignFlipMean(nil, TwoSided)), second(SignFlipMean([]float64{math.NaN()}, TwoSided)), second(SignFlipMean([]float64{1}, 9)), second(StudentMean(nil, 0)), second(StudentMean([]float64{1}, 2))} {
		if err == nil {
			t.Error("no error")
		}
	}
}
