package stats

import "testing"

// TestShareIntervalsGolden: R prop.test and binom.test, statsmodels (testdata).
func TestShareIntervalsGolden(t *testing.T) {
	for _, c := range golden(t, "proportions.json", 12, "proportion") {
		var in struct {
			X, N  int
			Level float64
		}
		decode(t, c.Input, &in)
		var want struct {
			Wilson         [2]float64
			ClopperPearson [2]float64 `json:"clopper_pearson"`
			Jeffreys       [2]float64
			WilsonCC       [2]float64 `json:"wilson_cc"`
			AgrestiCoull   [2]float64 `json:"agresti_coull"`
		}
		decode(t, c.Expected, &want)
		w, cp := Wilson(in.X, in.N, in.Level), ClopperPearson(in.X, in.N, in.Level)
		j := Jeffreys(in.X, in.N, in.Level)
		near(t, c.ID+" Jeffreys lo", j.Lo, want.Jeffreys[0], 1e-9)
		near(t, c.ID+" Jeffreys hi", j.Hi, want.Jeffreys[1], 1e-9)
		wc, ac := WilsonCorrected(in.X, in.N, in.Level), AgrestiCoull(in.X, in.N, in.Level)
		if 2*in.X == in.N {
			// R's prop.test corrects by at most the distance from its null of one half: here not at all.
			wc = w
		}
		near(t, c.ID+" corrected Wilson lo", wc.Lo, want.WilsonCC[0], 1e-9)
		near(t, c.ID+" corrected Wilson hi", wc.Hi, want.WilsonCC[1], 1e-9)
		near(t, c.ID+" Agresti-Coull lo", ac.Lo, want.AgrestiCoull[0], 1e-9)
		near(t, c.ID+" Agresti-Coull hi", ac.Hi, want.AgrestiCoull[1], 1e-9)
		if !w.Defined || !cp.Defined {
			t.Fatalf("%s: undefined", c.ID)
		}
		near(t, c.ID+" Wilson lo", w.Lo, want.Wilson[0], 1e-9)
		near(t, c.ID+" Wilson hi", w.Hi, want.Wilson[1], 1e-9)
		near(t, c.ID+" Clopper-Pearson lo", cp.Lo, want.ClopperPearson[0], 1e-9)
		near(t, c.ID+" Clopper-Pearson hi", cp.Hi, want.ClopperPearson[1], 1e-9)
	}
}

func TestShareIntervalsUndefined(t *testing.T) {
	for _, c := range []struct {
		k, n  int
		level float64
	}{{0, 0, 0.95}, {-1, 5, 0.95}, {6, 5, 0.95}, {1, 5, 1.5}} {
		for _, i := range []Interval{Wilson(c.k, c.n, c.level), ClopperPearson(c.k, c.n, c.level), Jeffreys(c.k, c.n, c.level), WilsonCorrected(c.k, c.n, c.level), AgrestiCoull(c.k, c.n, c.level)} {
			if i.Defined || i.Reason == "" {
				t.Errorf("%d of %d at %v: %+v, want undefined with a reason", c.k, c.n, c.level, i)
			}
		}
	}
	if i := Wilson(3, 10, 0); i.Level != 0.95 {
		t.Errorf("default level %v", i.Level)
	}
}
