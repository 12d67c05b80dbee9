package stats

import (
	"math"
	"strings"
	"testing"
)

// withStatus sets the status letters of outcomes.
func withStatus(o []Outcome, letters string) []Outcome {
	for i := range o {
		o[i].Status = goldenStatus[letters[i:i+1]]
	}
	return o
}

// capped marks values at the cap as capped.
func capped(o []Outcome, limit float64) []Outcome {
	for i := range o {
		if o[i].Value == limit {
			o[i].Status = Capped
		}
	}
	return o
}

// TestComparePairDirectionGolden: rational oracle, R coin (testdata).
func TestComparePairDirectionGolden(t *testing.T) {
	for _, c := range golden(t, "direction.json", 8, "direction") {
		var in struct {
			Cap  float64
			A, B []float64
		}
		decode(t, c.Input, &in)
		var want struct {
			D             []float64
			Ahead, Behind int
			Level         int
			MeanA         float64               `json:"mean_a"`
			MeanB         float64               `json:"mean_b"`
			Mean          float64               `json:"mean_difference"`
			HL            float64               `json:"hodges_lehmann"`
			SignedRank    map[string]goldenRank `json:"signed_rank"`
			RankBiserial  float64               `json:"rank_biserial"`
			Split         bool                  `json:"direction_split"`
		}
		decode(t, c.Expected, &want)
		r, err := ComparePair(capped(runs(in.A...), in.Cap), capped(runs(in.B...), in.Cap), ComparePairOptions{Cap: in.Cap, Where: c.ID})
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range want.SignedRank {
			g.check(t, c.ID+" "+name, want.D, goldenRankZeros[name])
		}
		near(t, c.ID+" p", r.P, want.SignedRank["drop"].TwoSided, 1e-12)
		near(t, c.ID+" other p", r.POtherZero, want.SignedRank["pratt"].TwoSided, 1e-12)
		if r.Ahead != want.Ahead || r.Behind != want.Behind || r.Level != want.Level || r.Undecided != 0 || !r.Tested {
			t.Errorf("%s: %d-%d-%d-%d tested %v", c.ID, r.Ahead, r.Level, r.Behind, r.Undecided, r.Tested)
		}
		nearAbs(t, c.ID+" mean A", r.MeanA, want.MeanA, 1e-12)
		nearAbs(t, c.ID+" mean B", r.MeanB, want.MeanB, 1e-12)
		nearAbs(t, c.ID+" difference", r.Diff, want.Mean, 1e-12)
		nearAbs(t, c.ID+" rank-biserial", r.RankBiserial, want.RankBiserial, 1e-12)
		if !r.HLDefined {
			t.Errorf("%s: Hodges-Lehmann: %s", c.ID, r.HLReason)
		}
		nearAbs(t, c.ID+" Hodges-Lehmann", r.HL.Estimate, want.HL, 1e-12)
		if split := strings.Contains(codes(r.Warnings), CodeDirectionSplit); split != want.Split {
			t.Errorf("%s: warnings %q, split %v wanted", c.ID, codes(r.Warnings), want.Split)
		}
		for _, w := range r.Warnings {
			if w.Where != c.ID || w.Text == "" {
				t.Errorf("%s: warning %+v", c.ID, w)
			}
		}
	}
}

// TestComparePairStoppedGolden: known orders and bounds by a rational oracle
// (testdata).
func TestComparePairStoppedGolden(t *testing.T) {
	for _, c := range golden(t, "stopped.json", 8, "known_order_and_bounds") {
		var in struct {
			Cap, Alpha     float64
			ATurns, BTurns []float64
			AT             []float64 `json:"a_turns"`
			BT             []float64 `json:"b_turns"`
			AStatus        string    `json:"a_status"`
			BStatus        string    `json:"b_status"`
		}
		decode(t, c.Input, &in)
		type side struct {
			SignedRank map[string]goldenRank `json:"signed_rank"`
		}
		var want struct {
			Ahead, Behind, Level, Undecided int
			ForA                            side               `json:"for_a"`
			ForB                            side               `json:"for_b"`
			Bounds                          [2]float64         `json:"bounds_two_sided"`
			Decides                         bool               `json:"censoring_decides"`
			TooMany                         bool               `json:"too_many_stopped"`
			Sign                            map[string]float64 `json:"sign_test"`
			Prentice                        *float64           `json:"paired_prentice_two_sided"`
		}
		decode(t, c.Expected, &want)
		a, b := withStatus(runs(in.AT...), in.AStatus), withStatus(runs(in.BT...), in.BStatus)
		stops := strings.Count(in.AStatus+in.BStatus, "S")
		for name, zero := range goldenRankZeros {
			r, err := ComparePair(a, b, ComparePairOptions{Cap: in.Cap, Alpha: in.Alpha, Zero: zero})
			if err != nil {
				t.Fatal(err)
			}
			if got, w := [4]int{r.Ahead, r.Behind, r.Level, r.Undecided}, [4]int{want.Ahead, want.Behind, want.Level, want.Undecided}; got != w {
				t.Errorf("%s: ahead, behind, level, undecided %v, want %v", c.ID, got, w)
			}
			if stops == 0 {
				if !r.Tested || r.HasBounds || r.P != want.ForA.SignedRank[name].TwoSided {
					t.Errorf("%s: tested %v bounds %v p %v", c.ID, r.Tested, r.HasBounds, r.P)
				}
				continue
			}
			if r.HLDefined || r.HLReason == "" {
				t.Errorf("%s: HL %v %q", c.ID, r.HLDefined, r.HLReason)
			}
			if want.TooMany {
				checkUntested(t, c.ID, r)
			} else if r.TestName != "exact paired Prentice-Wilcoxon" || !r.Tested || r.P != *want.Prentice || r.P != r.POtherZero || r.MinP != r.Prentice.MinP {
				t.Errorf("%s: tested %v %q p %v %v least %v, want p %v", c.ID, r.Tested, r.TestName, r.P, r.POtherZero, r.MinP, *want.Prentice)
			}
			if r.Sign.P != want.Sign["two_sided"] {
				t.Errorf("%s: sign test %v, want %v", c.ID, r.Sign.P, want.Sign["two_sided"])
			}
			if !r.HasBounds {
				t.Fatalf("%s: no bounds", c.ID)
			}
			near(t, c.ID+" "+name+" for A", r.PForA, want.ForA.SignedRank[name].TwoSided, 1e-12)
			near(t, c.ID+" "+name+" for B", r.PForB, want.ForB.SignedRank[name].TwoSided, 1e-12)
			if zero != Drop {
				continue // the file's bounds are those of the dropped zeros
			}
			near(t, c.ID+" lower bound", r.Bounds[0], want.Bounds[0], 1e-12)
			near(t, c.ID+" upper bound", r.Bounds[1], want.Bounds[1], 1e-12)
			got := codes(r.Warnings)
			if strings.Contains(got, CodeCensoringDecides) != want.Decides || strings.Contains(got, CodeTooManyStopped) != want.TooMany {
				t.Errorf("%s: warnings %q, want decides %v, too many %v", c.ID, got, want.Decides, want.TooMany)
			}
		}
	}
}

// checkUntested: such a pair enters its family with p = 1.
func checkUntested(t *testing.T, id string, r PairResult) {
	t.Helper()
	if r.Tested || r.P != 1 || r.MinP != 1 || r.POtherZero != 1 || !strings.HasPrefix(r.TestName, "not tested: ") {
		t.Errorf("%s: tested %v p %v least %v name %q", id, r.Tested, r.P, r.MinP, r.TestName)
	}
}

// TestComparePairStoppedMeans: the restricted means, by hand. A fails at 1 and
// 3 and is stopped after 2 turns, so it leaves at 1 after the failure there:
// S = 2/3 on [1, 3), then 0; the area is 1 + 4/3. B fails at 2, 2, 4.
func TestComparePairStoppedMeans(t *testing.T) {
	a, b := withStatus(runs(1, 3, 2), "FFS"), withStatus(runs(2, 2, 4), "FFF")
	r, err := ComparePair(a, b, ComparePairOptions{Cap: 10})
	if err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "mean A", r.MeanA, 7./3, 1e-12)
	nearAbs(t, "mean B", r.MeanB, 8./3, 1e-12)
	nearAbs(t, "difference", r.Diff, -1./3, 1e-12)
	if !r.Restricted || !r.DiffCI.Defined || !(r.DiffCI.Lo <= r.Diff && r.Diff <= r.DiffCI.Hi) || !strings.HasPrefix(r.DiffCI.Method, "difference of restricted means") {
		t.Errorf("%v %+v", r.Restricted, r.DiffCI)
	}
	if r.TestName != "not tested: 1 of 6 runs was stopped" { // one of three is above 30 %
		t.Errorf("name %q", r.TestName)
	}
	// A side that was stopped everywhere has no mean, only lower bounds.
	r, err = ComparePair(withStatus(runs(1, 3, 2), "SSS"), b, ComparePairOptions{Cap: 10})
	if err != nil || r.DiffCI.Defined || r.DiffCI.Reason == "" || r.MeanA != 2 || r.Undecided != 2 {
		t.Errorf("all stopped: %+v, %v", r, err)
	}
	// Without a cap there is nothing to resolve the stopped runs to.
	if r, err = ComparePair(a, b, ComparePairOptions{}); err != nil || r.HasBounds || r.Undecided != 0 && r.Undecided != 1 {
		t.Errorf("no cap: %+v, %v", r, err)
	}
}

// TestComparePairStoppedRepeats: with repeats the test is the sign test of the
// known orders.
func TestComparePairStoppedRepeats(t *testing.T) {
	var a, b []Outcome
	for i := range 10 {
		for k := range 2 {
			s := string(rune('a' + i))
			a = append(a, Outcome{Scenario: s, Replicate: k, Value: float64(20 + i + k)})
			b = append(b, Outcome{Scenario: s, Replicate: k, Value: float64(5 + i)})
		}
	}
	a[0].Status = Stopped // ahead whatever it would have done
	b[3].Status = Stopped // could have gone to the cap
	r, err := ComparePair(a, b, ComparePairOptions{Cap: 101})
	if err != nil {
		t.Fatal(err)
	}
	if r.TestName != "exact sign test of known orders" || !r.Tested || r.Undecided != 1 || r.Ahead != 9 || r.P != 1./256 || r.MinP != r.P || r.Prentice.N != 0 {
		t.Errorf("%q tested %v, %d ahead, %d undecided, p %v, least %v", r.TestName, r.Tested, r.Ahead, r.Undecided, r.P, r.MinP)
	}
	// 7 of 20 runs of A stopped: bounds only.
	for i := range 7 {
		a[2*i].Status = Stopped
	}
	r, err = ComparePair(a, b, ComparePairOptions{Cap: 101, Where: "A - B"})
	if err != nil {
		t.Fatal(err)
	}
	checkUntested(t, "7 of 20", r)
	want := "of A 7 of 20 runs were stopped early, of B 1 of 20 runs was stopped, more than 30 % of a side"
	if got := r.Warnings[len(r.Warnings)-1]; got.Code != CodeTooManyStopped || !strings.HasPrefix(got.Text, want) {
		t.Errorf("%+v", got)
	}
	if r.TestName != "not tested: 8 of 40 runs were stopped" {
		t.Errorf("%q", r.TestName)
	}
	// One scenario is not tested either.
	r, err = ComparePair(withStatus(runs(5, 3)[:1], "F"), withStatus(runs(9, 2)[:1], "F"), ComparePairOptions{Cap: 101})
	if err != nil || r.TestName != notTestedOne {
		t.Errorf("%q %v", r.TestName, err)
	}
}

func TestComparePairWarnings(t *testing.T) {
	const limit = 101
	outlier := runs(4, 4, 5, 5, 3, 4, 5, 4, 4, 5, 6, 5, 4, 5, 4, 5, 4, 4, 5, 100)
	steady := runs(5, 4, 6, 5, 3, 5, 6, 4, 5, 5, 7, 5, 4, 6, 5, 5, 4, 5, 6, 5)
	for _, c := range []struct {
		name string
		a, b []Outcome
		want string
	}{
		{"all level", runs(1, 2, 3, 4, 5, 6), runs(1, 2, 3, 4, 5, 6), "DEGENERATE ALL_TIED"},
		{"four pairs", runs(1, 2, 3, 5), runs(2, 5, 1, 9), "CANNOT_REACH_ALPHA"},
		{"zero method decides", steady, outlier, "ZERO_METHOD_DECIDES DIRECTION_SPLIT"},
		{"cap too low", capped(runs(101, 101, 101, 101, 3, 7), limit), capped(runs(101, 101, 101, 101, 9, 2), limit), "CANNOT_REACH_ALPHA CAP_TOO_LOW"},
		{"one scenario", runs(9), runs(4), "ONE_SCENARIO"},
		{"clean", runs(9, 12, 14, 11, 22, 17, 30), runs(4, 6, 13, 2, 9, 8, 11), ""},
	} {
		r, err := ComparePair(c.a, c.b, ComparePairOptions{Cap: limit})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := codes(r.Warnings); got != c.want {
			t.Errorf("%s: warnings %q, want %q", c.name, got, c.want)
		}
	}
}

func TestComparePairEdges(t *testing.T) {
	r, err := ComparePair(runs(9), runs(4), ComparePairOptions{})
	if err != nil || r.Tested || r.P != 1 || r.MinP != 1 || r.Diff != 5 || r.DiffCI.Defined || r.TestName != "not tested: one shared scenario" {
		t.Errorf("one scenario: %+v, %v", r, err)
	}
	// Two of six pairs with a capped side: no typical difference in turns.
	r, err = ComparePair(capped(runs(101, 101, 3, 8, 9, 20), 101), runs(5, 6, 7, 9, 3, 1), ComparePairOptions{Cap: 101})
	if err != nil || r.HLDefined || !strings.Contains(r.HLReason, "2 of 6 pairs") {
		t.Errorf("capped sides: %v %q, %v", r.HLDefined, r.HLReason, err)
	}
	for _, opt := range []ComparePairOptions{{Alpha: 1.5}, {Level: -1}, {Cap: 3}} {
		if _, err := ComparePair(runs(5, 6), runs(1, 2), opt); err == nil {
			t.Errorf("%+v: no error", opt)
		}
	}
	// Scores that are no whole numbers: seven times 0.1 is one tie group.
	r, err = ComparePair(runs(0.4, 0.3, 0.2, 10.1, 0.9, 0.8, 0.7), runs(0.3, 0.2, 0.1, 10, 0.8, 0.7, 0.6), ComparePairOptions{})
	if err != nil || len(r.Rank.TieSizes) != 1 || r.Rank.TieSizes[0] != 7 || r.P != 1./64 || r.HL.Estimate != 0.1 || !r.HL.Interval.Defined {
		t.Errorf("decimals: %+v, %v", r, err)
	}
	// Level pairs: everything is zero, with an interval from six pairs on.
	r, err = ComparePair(runs(1, 2, 3, 4, 5, 6), runs(1, 2, 3, 4, 5, 6), ComparePairOptions{})
	if err != nil || r.P != 1 || r.RankBiserial != 0 || r.HL.Estimate != 0 || !r.HL.Interval.Defined || r.HL.Interval.Lo != 0 || r.HL.Interval.Hi != 0 || r.Superiority != 0.5 || r.WinsCI.Defined {
		t.Errorf("level: %+v, %v", r, err)
	}
	n := 1001
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float64(i%89+2), float64(i%90)
	}
	r, err = ComparePair(runs(x...), runs(y...), ComparePairOptions{})
	if err != nil || !strings.Contains(r.TestName, "normal approximation") || !strings.Contains(codes(r.Warnings), CodeApproximate) {
		t.Errorf("1001 scenarios: %q %q, %v", r.TestName, codes(r.Warnings), err)
	}
}

// TestRankBiserialPratt: under Pratt the zeros shrink the correlation.
// W+ 18.5 and W- 9.5 dropped; 43.5 and 19.5 of 78 with twelve pairs (golden
// pratt_and_drop).
func TestRankBiserialPratt(t *testing.T) {
	d := []float64{0, 0, 0, 0, 0, 1, 2, 3, 4, 5, -57, -2}
	for zero, want := range map[ZeroMethod]float64{Drop: 9. / 28, Pratt: 24. / 78, ZSplit: 24. / 78} {
		r, err := SignedRank(d, SignedRankOptions{Zero: zero})
		if err != nil {
			t.Fatal(err)
		}
		nearAbs(t, zero.String(), RankBiserial(r), want, 1e-15)
	}
}

func TestPairedSuperiority(t *testing.T) {
	share, wins := PairedSuperiority(15, 2, 3, 0.95)
	if share != 0.8 || wins != Wilson(15, 18, 0.95) {
		t.Errorf("%v %+v", share, wins)
	}
	if share, wins = PairedSuperiority(0, 0, 0, 0.95); share != 0 || wins.Defined || math.IsNaN(wins.Lo) {
		t.Errorf("no pairs: %v %+v", share, wins)
	}
}
