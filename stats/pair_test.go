package stats

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A repeatsCase is a case of testdata/repeats.json.
type repeatsCase struct {
	in struct {
		Cap  float64
		Runs [][]any
	}
	want struct {
		Scenarios []struct {
			Scenario string
			R        int
			KeptA    []int  `json:"kept_a"`
			KeptB    []int  `json:"kept_b"`
			MeanA    string `json:"mean_a"`
			MeanB    string `json:"mean_b"`
			Order    string
			ScaledA  int64 `json:"scaled_a"`
			ScaledB  int64 `json:"scaled_b"`
		}
		LCM        int64
		DroppedA   [][]any               `json:"dropped_a"`
		DroppedB   [][]any               `json:"dropped_b"`
		Trimmed    int                   `json:"repeats_trimmed"`
		OnlyA      []string              `json:"only_a"`
		OnlyB      []string              `json:"only_b"`
		Scaled     []int64               `json:"scaled_differences"`
		Mean       *float64              `json:"mean_difference"`
		SignedRank map[string]goldenRank `json:"signed_rank"`
		Ahead      *int
		Behind     int
		Level      int
		Undecided  int
	}
}

// A goldenRank is a signed-rank answer of several files.
type goldenRank struct {
	WPlus    float64 `json:"w_plus"`
	WMinus   float64 `json:"w_minus"`
	NonZero  int     `json:"n_nonzero"`
	Zeros    int     `json:"n_zero"`
	TwoSided float64 `json:"two_sided"`
	Greater  float64
	Less     float64
}

func (g goldenRank) check(t *testing.T, name string, d []float64, zero ZeroMethod) {
	t.Helper()
	for alt, want := range map[Alternative]float64{TwoSided: g.TwoSided, Greater: g.Greater, Less: g.Less} {
		r, err := SignedRank(d, SignedRankOptions{Zero: zero, Alternative: alt})
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+" "+alt.String(), r.P, want, 1e-12)
		if r.WPlus != g.WPlus || r.WMinus != g.WMinus || r.NonZero != g.NonZero || r.Zeros != g.Zeros {
			t.Errorf("%s: %+v, want %+v", name, r, g)
		}
	}
}

var goldenRankZeros = map[string]ZeroMethod{"drop": Drop, "pratt": Pratt}

// goldenStatus decodes the status letters of the golden files.
var goldenStatus = map[string]Status{"F": Failed, "C": Capped, "S": Stopped}

// sides splits the runs of a repeats case.
func (c repeatsCase) sides() (a, b []Outcome) {
	for _, r := range c.in.Runs {
		o := Outcome{Scenario: r[0].(string), Replicate: int(r[2].(float64)), Value: r[3].(float64), Status: goldenStatus[r[4].(string)]}
		if r[1] == "a" {
			a = append(a, o)
		} else {
			b = append(b, o)
		}
	}
	return a, b
}

// TestPairGolden: repeats trimmed to equal counts, exact fractions, signed rank
// by a rational oracle (testdata).
func TestPairGolden(t *testing.T) {
	for _, gc := range golden(t, "repeats.json", 7, "repeats") {
		t.Run(gc.ID, func(t *testing.T) {
			var c repeatsCase
			decode(t, gc.Input, &c.in)
			decode(t, gc.Expected, &c.want)
			a, b := c.sides()
			p, w, err := pairUp(a, b, PairOptions{Cap: c.in.Cap, Force: true})
			if err != nil {
				t.Fatal(err)
			}
			checkRepeats(t, c, p, w)
			d, _ := p.differences()
			for name, g := range c.want.SignedRank {
				g.check(t, "scaled "+name, d, goldenRankZeros[name])
				g.check(t, "means "+name, p.D, goldenRankZeros[name])
			}
			r, err := ComparePair(a, b, ComparePairOptions{Cap: c.in.Cap, Force: true})
			if err != nil {
				t.Fatal(err)
			}
			if c.want.Mean != nil {
				nearAbs(t, "mean difference", r.Diff, *c.want.Mean, 1e-12)
			}
			if c.want.Ahead != nil {
				got := [4]int{r.Ahead, r.Behind, r.Level, r.Undecided}
				if want := [4]int{*c.want.Ahead, c.want.Behind, c.want.Level, c.want.Undecided}; got != want {
					t.Errorf("ahead, behind, level, undecided %v, want %v", got, want)
				}
			}
		})
	}
}

func checkRepeats(t *testing.T, c repeatsCase, p pairing, w []Warning) {
	t.Helper()
	if p.Scale != c.want.LCM || p.Trimmed != c.want.Trimmed || len(p.Scenarios) != len(c.want.Scenarios) {
		t.Fatalf("scale %d trimmed %d scenarios %d, want %d %d %d", p.Scale, p.Trimmed, len(p.Scenarios), c.want.LCM, c.want.Trimmed, len(c.want.Scenarios))
	}
	if trimmed := strings.Contains(codes(w), CodeRepeatsTrimmed); trimmed != (p.Trimmed > 0) {
		t.Errorf("warnings %q", codes(w))
	}
	if !slices.Equal(p.OnlyA, c.want.OnlyA) || !slices.Equal(p.OnlyB, c.want.OnlyB) {
		t.Errorf("only in A %v, in B %v; want %v, %v", p.OnlyA, p.OnlyB, c.want.OnlyA, c.want.OnlyB)
	}
	for side, pair := range map[string][2]any{"A": {p.TrimmedA, c.want.DroppedA}, "B": {p.TrimmedB, c.want.DroppedB}} {
		var want []Repeat
		for _, r := range pair[1].([][]any) {
			want = append(want, Repeat{r[0].(string), int(r[1].(float64))})
		}
		if diff := cmp.Diff(want, pair[0].([]Repeat)); diff != "" {
			t.Errorf("trimmed of %s: %s", side, diff)
		}
	}
	if c.want.Scaled != nil && !slices.Equal(p.Scaled, c.want.Scaled) {
		t.Errorf("scaled %v, want %v", p.Scaled, c.want.Scaled)
	}
	next := 0
	for i, s := range c.want.Scenarios {
		if p.Scenarios[i] != s.Scenario || p.Repeats[i] != s.R {
			t.Errorf("scenario %s with %d repeats, want %s with %d", p.Scenarios[i], p.Repeats[i], s.Scenario, s.R)
		}
		near(t, s.Scenario+" A", p.A[i], fraction(s.MeanA), 0)
		near(t, s.Scenario+" B", p.B[i], fraction(s.MeanB), 0)
		near(t, s.Scenario+" scaled", float64(p.Scaled[i]), float64(s.ScaledA-s.ScaledB), 0)
		for k, want := range s.KeptA {
			if got := p.a[p.keptA[i].index[k]].Replicate; got != want {
				t.Errorf("%s: kept %d of A, want %d", s.Scenario, got, want)
			}
		}
		for k, want := range s.KeptB {
			if got := p.b[p.keptB[i].index[k]].Replicate; got != want {
				t.Errorf("%s: kept %d of B, want %d", s.Scenario, got, want)
			}
		}
		order := map[int]string{1: "ahead", 0: "level", -1: "behind"}[int(max(-1, min(1, p.Scaled[i])))]
		if next < len(p.Undecided) && p.Undecided[next] == i {
			sign, known := p.spans[next].order()
			if order = map[int]string{1: "ahead", 0: "level", -1: "behind"}[sign]; !known {
				order = "undecided"
			}
			next++
		}
		if order != s.Order {
			t.Errorf("%s: %s, want %s", s.Scenario, order, s.Order)
		}
	}
}

// fraction is the nearest double to "a/b" or "a".
func fraction(s string) float64 {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("bad fraction " + s)
	}
	f, _ := r.Float64()
	return f
}

// runs returns one outcome per value for scenarios s00, s01, ...
func runs(values ...float64) []Outcome {
	o := make([]Outcome, len(values))
	for i, v := range values {
		o[i] = Outcome{Scenario: fmt.Sprintf("s%02d", i), Value: v}
	}
	return o
}

func TestPairUnmatched(t *testing.T) {
	a, b := runs(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), runs(1, 2, 3, 4, 5, 6, 7, 8)
	p, w, err := Pair(a, b, PairOptions{Where: "x-y"})
	if err != nil || len(p.Scenarios) != 8 || codes(w) != CodeUnmatched || w[0].Where != "x-y" || !strings.Contains(w[0].Text, `"s08", "s09"`) {
		t.Errorf("2 of 10 unmatched: %v, %+v", err, w)
	}
	_, _, err = Pair(a, b[:7], PairOptions{Where: "x-y"})
	var u *UnmatchedError
	if !errors.As(err, &u) || u.Shared != 7 || len(u.OnlyA) != 3 || !strings.Contains(err.Error(), "3 of 10") {
		t.Errorf("3 of 10 unmatched: %v", err)
	}
	if _, _, err = Pair(b[:7], a, PairOptions{}); !errors.As(err, &u) || len(u.OnlyB) != 3 {
		t.Errorf("the other side: %v", err)
	}
	if p, _, err := Pair(a, b[:2], PairOptions{Force: true}); err != nil || len(p.D) != 2 {
		t.Errorf("forced: %v", err)
	}
	for _, force := range []bool{false, true} {
		if _, _, err := Pair(runs(1), []Outcome{{Scenario: "other"}}, PairOptions{Force: force}); err == nil {
			t.Errorf("no shared scenario, force %v: no error", force)
		}
		if _, _, err := Pair(nil, nil, PairOptions{Force: force}); err == nil {
			t.Errorf("no outcomes, force %v: no error", force)
		}
	}
	if _, _, err := Pair(a, []Outcome{{Scenario: "s00", Value: -2}}, PairOptions{}); err == nil || !strings.Contains(err.Error(), "side B: outcome 0") {
		t.Errorf("bad record: %v", err)
	}
}

func TestPairMedian(t *testing.T) {
	a := []Outcome{{Scenario: "s", Replicate: 1, Value: 9}, {Scenario: "s", Replicate: 2, Value: 1}, {Scenario: "s", Replicate: 3, Value: 3}, {Scenario: "s", Replicate: 4, Value: 4}}
	b := []Outcome{{Scenario: "s", Replicate: 1, Value: 1}, {Scenario: "s", Replicate: 2, Value: 1}, {Scenario: "s", Replicate: 3, Value: 2}, {Scenario: "s", Replicate: 4, Value: 50}}
	p, _, err := Pair(a, b, PairOptions{Reduce: Median})
	if err != nil || p.A[0] != 3.5 || p.B[0] != 1.5 || p.D[0] != 2 || p.Scale != 2 || p.Scaled[0] != 4 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestPairFloats: differences of decimals tie across sizes.
func TestPairFloats(t *testing.T) {
	p, _, err := Pair(runs(0.4, 0.3, 0.2, 10.1, 1000.3, 0.3, 5), runs(0.3, 0.2, 0.1, 10, 1000.2, 0.3, 5), PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0, 0}, p.D); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Scale != 0 || p.Scaled != nil {
		t.Errorf("scale %d for scores that are no whole numbers", p.Scale)
	}
	for _, c := range []struct{ x, y, want float64 }{{0, 0, 0}, {1e20, 1e20 - 1e5, 0}, {3e-9, 1e-9, 2e-9}, {1e15, 0, 1e15}, {1e-310, 0, 1e-310}} {
		if got := roundedDifference(c.x, c.y); got != c.want {
			t.Errorf("%v - %v = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// TestPairScaleOverflow: repeat counts with a huge common multiple fall back to
// correctly rounded quotients, which still tie exactly.
func TestPairScaleOverflow(t *testing.T) {
	var a, b []Outcome
	for i, r := range []int{7, 11, 13, 16, 17, 19, 23} {
		for k := range r {
			a = append(a, Outcome{Scenario: fmt.Sprint(i), Replicate: k, Value: float64(k%3 + 1)})
			b = append(b, Outcome{Scenario: fmt.Sprint(i), Replicate: k, Value: float64(k % 3)})
		}
	}
	p, _, err := Pair(a, b, PairOptions{})
	if err != nil || p.Scale != 0 {
		t.Fatalf("scale %d, %v", p.Scale, err)
	}
	for i, d := range p.D {
		if d != 1 {
			t.Errorf("difference %d = %v, want 1", i, d)
		}
	}
}

// TestPairMany pairs a million outcomes; quadratic work would never end.
func TestPairMany(t *testing.T) {
	const n = 500_000
	a, b := make([]Outcome, n), make([]Outcome, n)
	for i := range n {
		s := fmt.Sprintf("scenario-%07d", i/2)
		a[n-1-i] = Outcome{Scenario: s, Replicate: i % 2, Value: float64(i % 101)}
		b[i] = Outcome{Scenario: s, Replicate: i % 2, Value: float64(i % 97)}
	}
	p, _, err := Pair(a, b, PairOptions{Cap: 101})
	if err != nil || len(p.Scenarios) != n/2 || p.RunsA != n {
		t.Errorf("%d scenarios, %v", len(p.Scenarios), err)
	}
}
