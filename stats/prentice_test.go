package stats

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

type goldenPrentice struct {
	TimeA   []float64 `json:"time_a"`
	TimeB   []float64 `json:"time_b"`
	ScoreA  []float64 `json:"score_a"`
	ScoreB  []float64 `json:"score_b"`
	D       []float64
	SumD    float64 `json:"sum_d"`
	NonZero int     `json:"n_nonzero"`
	Zeros   int     `json:"n_zero"`

	TwoSided, Greater, Less *float64
	Two                     float64 `json:"two_sided"`
	CountGE                 *uint64 `json:"count_ge"`
	CountLE                 *uint64 `json:"count_le"`
	Patterns                string
	MinP                    float64 `json:"min_two_sided_p"`
	Z                       float64
	NormalTwo               *float64 `json:"normal_two_sided"`
	NormalGreater           *float64 `json:"normal_greater"`
	NormalLess              *float64 `json:"normal_less"`
	Tolerance               float64  `json:"relative_tolerance_of_p"`
}

// TestPrenticeGolden: all 35 score cases of testdata/stopped.json, scores by R
// coin, counts by exact rational arithmetic.
func TestPrenticeGolden(t *testing.T) {
	counted := 0
	for _, c := range golden(t, "stopped.json", 35, "paired_prentice", "paired_prentice_raw") {
		var in struct {
			AT      []float64 `json:"a_turns"`
			BT      []float64 `json:"b_turns"`
			AStatus string    `json:"a_status"`
			BStatus string    `json:"b_status"`
			ATime   []float64 `json:"a_time"`
			BTime   []float64 `json:"b_time"`
			AEvent  []int     `json:"a_event"`
			BEvent  []int     `json:"b_event"`
		}
		decode(t, c.Input, &in)
		var want goldenPrentice
		decode(t, c.Expected, &want)
		side := func(turns []float64, status string, times []float64, events []int) ([]float64, []bool) {
			var ts []float64
			var es []bool
			for i := range turns {
				x, e := Outcome{Value: turns[i], Status: goldenStatus[status[i:i+1]]}.Lifetime()
				ts, es = append(ts, x), append(es, e)
			}
			for i := range times {
				ts, es = append(ts, times[i]), append(es, events[i] == 1)
			}
			return ts, es
		}
		ta, ea := side(in.AT, in.AStatus, in.ATime, in.AEvent)
		tb, eb := side(in.BT, in.BStatus, in.BTime, in.BEvent)
		r, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{ExactLimit: 40})
		if err != nil {
			t.Fatal(err)
		}
		if r.N != len(want.D) || r.NonZero != want.NonZero || r.Zeros != want.Zeros {
			t.Errorf("%s: %d pairs, %d and %d", c.ID, r.N, r.NonZero, r.Zeros)
		}
		for i := range want.D {
			if ta[i] != want.TimeA[i] || tb[i] != want.TimeB[i] {
				t.Errorf("%s: times %v %v of pair %d", c.ID, ta[i], tb[i], i)
			}
			nearAbs(t, c.ID+" score A", r.ScoreA[i], want.ScoreA[i], 1e-13)
			nearAbs(t, c.ID+" score B", r.ScoreB[i], want.ScoreB[i], 1e-13)
			nearAbs(t, c.ID+" difference", r.D[i], want.D[i], 1e-13)
		}
		nearAbs(t, c.ID+" sum", r.Sum, want.SumD, 1e-10)
		nearAbs(t, c.ID+" z", r.Z, want.Z, 1e-10)
		if r.MinP != want.MinP {
			t.Errorf("%s: least p %v, want %v", c.ID, r.MinP, want.MinP)
		}
		checkPrenticeP(t, c.ID, r.P, want.Two, want.Tolerance)
		for alt, p := range map[Alternative]*float64{Greater: want.Greater, Less: want.Less} {
			one, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{Alternative: alt, ExactLimit: 40})
			if err != nil {
				t.Fatal(err)
			}
			checkPrenticeP(t, c.ID+" "+alt.String(), one.P, *p, want.Tolerance)
			if want.CountGE == nil {
				continue
			}
			counted++
			patterns, err := strconv.Atoi(strings.TrimPrefix(want.Patterns, "2^"))
			if err != nil {
				t.Fatal(err)
			}
			count := *want.CountGE
			if alt == Less {
				count = *want.CountLE
			}
			if one.PLog2 > 0 && one.PCount<<(patterns-one.PLog2) != count || one.PLog2 == 0 && count != 1<<patterns {
				t.Errorf("%s %v: %d/2^%d, want %d/2^%d", c.ID, alt, one.PCount, one.PLog2, count, patterns)
			}
		}
		checkPrenticeNormal(t, c.ID, ta, tb, ea, eb, want)
	}
	if counted != 66 {
		t.Errorf("%d counts compared, want 66", counted)
	}
}

// checkPrenticeNormal compares the normal approximation.
func checkPrenticeNormal(t *testing.T, id string, ta, tb []float64, ea, eb []bool, want goldenPrentice) {
	t.Helper()
	for alt, p := range map[Alternative]*float64{TwoSided: want.NormalTwo, Greater: want.NormalGreater, Less: want.NormalLess} {
		if p == nil {
			continue
		}
		n, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{Alternative: alt, Method: Normal})
		if err != nil {
			t.Fatal(err)
		}
		near(t, id+" normal "+alt.String(), n.P, math.Max(*p, n.MinP), 1e-12)
	}
}

// checkPrenticeP: exact to 1e-12. The two cases on the grid err upward by design, as the threshold is moved outward by
// the rounding of 59 scores so that ties are kept: by at most 0.5 %, downward by no more than the file's 1e-4.
func checkPrenticeP(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if tol == 0 {
		near(t, what, got, want, 1e-12)
		return
	}
	if ratio := got / want; !(ratio >= 1-1e-4 && ratio <= 1.005) {
		t.Errorf("%s = %v, want %v: ratio %v", what, got, want, ratio)
	}
}

// TestPrenticeBruteForce compares with all sign patterns of random pairs with
// ties, zeros and stops.
func TestPrenticeBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	for range 300 {
		n := 1 + rng.IntN(9)
		ta, tb := make([]float64, n), make([]float64, n)
		ea, eb := make([]bool, n), make([]bool, n)
		for i := range n {
			ta[i], tb[i] = float64(rng.IntN(8)), float64(rng.IntN(8))
			ea[i], eb[i] = rng.IntN(4) > 0, rng.IntN(4) > 0
		}
		r, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ge, le, all := 0, 0, 1<<n
		for mask := range all {
			sum := 0.0
			for i, d := range r.D {
				if mask>>i&1 == 1 {
					d = -d
				}
				sum += d
			}
			if sum >= r.Sum-1e-9 {
				ge++
			}
			if sum <= r.Sum+1e-9 {
				le++
			}
		}
		want := math.Min(1, 2*float64(min(ge, le))/float64(all))
		if r.P != want || r.P < r.MinP {
			t.Fatalf("%v %v %v %v: p %v, want %v", ta, ea, tb, eb, r.P, want)
		}
		swapped, err := PrenticeWilcoxon(tb, eb, ta, ea, PrenticeOptions{})
		if err != nil || swapped.P != r.P || swapped.Sum != -r.Sum {
			t.Fatalf("swapped: %v %v, %v", swapped.P, r.P, err)
		}
	}
}

// TestPrenticeGrid: where both are possible the grid agrees with the counts and
// never lies below them.
func TestPrenticeGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 77))
	for range 20 {
		n := 18 + rng.IntN(8)
		ta, tb := make([]float64, n), make([]float64, n)
		ea, eb := make([]bool, n), make([]bool, n)
		for i := range n {
			ta[i], tb[i] = float64(rng.IntN(60)+rng.IntN(20)), float64(rng.IntN(60))
			ea[i], eb[i] = rng.IntN(6) > 0, rng.IntN(9) > 0
		}
		exact, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		grid, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{ExactLimit: 5})
		if err != nil {
			t.Fatal(err)
		}
		if grid.Exact || grid.Method != "grid" || grid.PLog2 != 0 {
			t.Fatalf("%+v", grid)
		}
		if ratio := grid.P / exact.P; !(ratio >= 1-1e-12 && ratio < 1.005) {
			t.Errorf("n = %d: grid %v, exact %v", n, grid.P, exact.P)
		}
	}
}

func TestPrenticeErrors(t *testing.T) {
	one, yes := []float64{1}, []bool{true}
	for name, err := range map[string]error{
		"none":        second(PrenticeWilcoxon(nil, nil, nil, nil, PrenticeOptions{})),
		"lengths":     second(PrenticeWilcoxon(one, nil, one, yes, PrenticeOptions{})),
		"NaN":         second(PrenticeWilcoxon(one, yes, []float64{math.NaN()}, yes, PrenticeOptions{})),
		"alternative": second(PrenticeWilcoxon(one, yes, one, yes, PrenticeOptions{Alternative: 9})),
		"method":      second(PrenticeWilcoxon(one, yes, one, yes, PrenticeOptions{Method: 9})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	n := 1100
	ta, tb, e := make([]float64, n), make([]float64, n), make([]bool, n)
	for i := range n {
		ta[i], tb[i], e[i] = float64(i), float64(i)+0.5, true
	}
	if _, err := PrenticeWilcoxon(ta, e, tb, e, PrenticeOptions{Method: Exact}); err == nil {
		t.Error("exact counts of 1100 pairs")
	}
	r, err := PrenticeWilcoxon(ta, e, tb, e, PrenticeOptions{})
	if err != nil || r.Method != "normal" || codes(r.Warnings) != CodeApproximate || !(r.P > 0) {
		t.Errorf("%v %v %v", r.Method, r.Warnings, err)
	}
	if r, err = PrenticeWilcoxon(ta[:300], e[:300], tb[:300], e[:300], PrenticeOptions{}); err != nil || r.Method != "grid" || !(r.P >= r.MinP) || r.P > 1e-80 {
		t.Errorf("300 losses: %v %v, %v", r.Method, r.P, err)
	}
}

// TestSignTestGolden: R binom.test (testdata).
func TestSignTestGolden(t *testing.T) {
	for _, c := range golden(t, "proportions.json", 12, "proportion") {
		var in struct{ X, N int }
		decode(t, c.Input, &in)
		var want struct {
			Two     *float64 `json:"sign_test_two_sided"`
			Greater *float64 `json:"sign_test_greater"`
		}
		decode(t, c.Expected, &want)
		for alt, p := range map[Alternative]*float64{TwoSided: want.Two, Greater: want.Greater} {
			r, err := SignTest(in.X, in.N-in.X, alt)
			if err != nil {
				t.Fatal(err)
			}
			near(t, c.ID+" "+alt.String(), r.P, *p, 1e-9)
		}
	}
	for _, c := range golden(t, "stopped.json", 8, "known_order_and_bounds") {
		var want struct {
			Ahead, Behind int
			Sign          map[string]float64 `json:"sign_test"`
		}
		decode(t, c.Expected, &want)
		for _, alt := range []Alternative{TwoSided, Greater, Less} {
			r, err := SignTest(want.Ahead, want.Behind, alt)
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := want.Sign[strings.ReplaceAll(alt.String(), "-", "_")]; !ok || r.P != p {
				t.Errorf("%s %v: %v, want %v", c.ID, alt, r.P, p)
			}
		}
	}
}

// TestSignTestLarge: the incomplete beta function continues the counts.
func TestSignTestLarge(t *testing.T) {
	counts, beta := halfTails(20, 60), tails{lower: halfTail(40, 60), upper: halfTail(20, 60)}
	near(t, "lower", beta.lower, counts.lower, 1e-12)
	near(t, "upper", beta.upper, counts.upper, 1e-12)
	if r, err := SignTest(5000, 0, TwoSided); err != nil || !(r.P > 0 && r.P <= r.MinP*(1+1e-9)) {
		t.Errorf("%+v %v", r, err)
	}
	for _, c := range [][2]int{{-1, 2}, {2, -1}} {
		if _, err := SignTest(c[0], c[1], TwoSided); err == nil {
			t.Error(c)
		}
	}
	if r, err := SignTest(0, 0, Greater); err != nil || r.P != 1 || r.MinP != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestMcNemarGolden: R mcnemar.test and binom.test, statsmodels (testdata).
func TestMcNemarGolden(t *testing.T) {
	for _, c := range golden(t, "proportions.json", 5, "mcnemar") {
		var in struct{ Table [4]float64 }
		decode(t, c.Input, &in)
		var want struct {
			Chi2 float64 `json:"chi2_nocc"`
			P    float64 `json:"p_nocc"`
			Ex   float64 `json:"p_exact"`
			Mid  float64 `json:"p_mid"`
		}
		decode(t, c.Expected, &want)
		r, err := McNemar(int(in.Table[1]), int(in.Table[2]))
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.ID+" exact", r.P, want.Ex, 1e-9)
		near(t, c.ID+" mid-p", r.MidP, want.Mid, 1e-9)
		near(t, c.ID+" chi-square", r.Chi2, want.Chi2, 1e-9)
		near(t, c.ID+" p of chi-square", r.PChi2, want.P, 1e-9)
	}
	if _, err := McNemar(-1, 3); err == nil {
		t.Error("a negative count")
	}
	if r, err := McNemar(7, 7); err != nil || r.MidP != 1 || r.P != 1 {
		t.Errorf("%+v %v", r, err)
	}
}
