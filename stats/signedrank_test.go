package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	goldenZeros        = map[string]ZeroMethod{"wilcox": Drop, "pratt": Pratt, "zsplit": ZSplit}
	goldenAlternatives = map[string]Alternative{"two.sided": TwoSided, "greater": Greater, "less": Less}
)

// TestSignedRankGolden checks every expected key of every case: R coin,
// exactRankTests, R wilcox.test, scipy and a rational oracle (testdata).
func TestSignedRankGolden(t *testing.T) {
	values := 0
	for _, c := range golden(t, "wilcoxon.json", 95, "wilcoxon_signed_rank") {
		t.Run(c.ID, func(t *testing.T) {
			var in struct{ D []float64 }
			decode(t, c.Input, &in)
			var expected map[string]map[string]any
			decode(t, c.Expected, &expected)
			if len(expected) != 3 {
				t.Fatalf("%d zero methods, want 3", len(expected))
			}
			for zero, keys := range expected {
				for key, want := range keys {
					checkSignedRankKey(t, in.D, goldenZeros[zero], zero+" "+key, key, want)
					values++
				}
			}
		})
	}
	// 95 cases of 3 zero methods with 22 keys, fractions for two of them where m <= 62.
	if want := 95*3*22 + 84*6; values != want {
		t.Errorf("%d values checked, want %d", values, want)
	}
}

func checkSignedRankKey(t *testing.T, d []float64, zero ZeroMethod, name, key string, want any) {
	t.Helper()
	opt := SignedRankOptions{Zero: zero, Method: Exact}
	parts := strings.Split(key, "|")
	if len(parts) > 1 {
		opt.Alternative = goldenAlternatives[parts[len(parts)-1]]
	}
	if parts[0] == "asymptotic" || parts[0] == "z" {
		opt.Method = Normal
		opt.Continuity = parts[1] == "correct=true"
	}
	r, err := SignedRank(d, opt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	switch parts[0] {
	case "n_ranked":
		got := r.N
		if zero == Drop {
			got = r.NonZero
		}
		near(t, name, float64(got), want.(float64), 0)
	case "n_nonzero":
		near(t, name, float64(r.NonZero), want.(float64), 0)
	case "n_zero":
		near(t, name, float64(r.Zeros), want.(float64), 0)
	case "tie_sizes":
		got := slices.Sorted(slices.Values(r.TieSizes))
		var sizes []int
		for _, v := range want.([]any) {
			sizes = append(sizes, int(v.(float64)))
		}
		if diff := cmp.Diff(sizes, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	case "w_plus":
		near(t, name, r.WPlus, want.(float64), 0)
	case "w_minus":
		near(t, name, r.WMinus, want.(float64), 0)
	case "min_two_sided_p":
		near(t, name, r.MinP, want.(float64), 1e-12)
	case "exact":
		near(t, name, r.P, want.(float64), 1e-12)
	case "exact_fraction":
		got := "1/1"
		if r.PLog2 > 0 {
			got = fmt.Sprintf("%d/%d", r.PCount, uint64(1)<<r.PLog2)
		}
		if got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	case "asymptotic":
		if want == nil { // nothing but zeros: undefined there, p = 1 here
			want = 1.0
		}
		near(t, name, r.P, want.(float64), 1e-10)
	case "z":
		if want == nil {
			want = 0.0
		}
		near(t, name, r.Z, want.(float64), 1e-10)
	default:
		t.Errorf("%s: unknown key", name)
	}
}

func TestSignedRankOther(t *testing.T) {
	// turns-one-outlier: 57/1024 dropped, 3/256 Pratt (golden, R coin).
	d := []float64{1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, -95}
	for _, c := range []struct {
		zero     ZeroMethod
		p, other float64
	}{{Drop, 57. / 1024, 3. / 256}, {Pratt, 3. / 256, 57. / 1024}, {ZSplit, 3. / 256, 57. / 1024}} {
		r, err := SignedRank(d, SignedRankOptions{Zero: c.zero})
		if err != nil || r.P != c.p || r.Other != c.other {
			t.Errorf("%v: p %v other %v error %v, want %v and %v", c.zero, r.P, r.Other, err, c.p, c.other)
		}
	}
}

func TestSignedRankEdges(t *testing.T) {
	tests := []struct {
		name  string
		d     []float64
		opt   SignedRankOptions
		p     float64
		minP  float64
		codes string
	}{
		{"all zero", []float64{0, 0, 0}, SignedRankOptions{}, 1, 1, "ALL_TIED"},
		{"one", []float64{3}, SignedRankOptions{}, 1, 1, "CANNOT_REACH_ALPHA"},
		{"one greater", []float64{3}, SignedRankOptions{Alternative: Greater}, 0.5, 0.5, "CANNOT_REACH_ALPHA"},
		{"five", []float64{1, 2, 3, 4, 5}, SignedRankOptions{}, 1. / 16, 1. / 16, "CANNOT_REACH_ALPHA"},
		{"six", []float64{1, 2, 3, 4, 5, 6}, SignedRankOptions{}, 1. / 32, 1. / 32, ""},
		{"half-integer W", []float64{1, 1, -2}, SignedRankOptions{}, 1, 1. / 4, "CANNOT_REACH_ALPHA"},
		{"all |d| equal: sign test", []float64{4, 4, 4, 4, 4, 4, 4, -4}, SignedRankOptions{}, 18. / 256, 1. / 128, ""},
	}
	for _, c := range tests {
		r, err := SignedRank(c.d, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if r.P != c.p || r.MinP != c.minP || codes(r.Warnings) != c.codes {
			t.Errorf("%s: p %v least %v warnings %q, want %v %v %q", c.name, r.P, r.MinP, codes(r.Warnings), c.p, c.minP, c.codes)
		}
	}
}

func TestSignedRankErrors(t *testing.T) {
	for name, d := range map[string][]float64{
		"none": nil, "NaN": {1, math.NaN()}, "infinite": {math.Inf(-1)}, "huge": {1e200},
	} {
		if r, err := SignedRank(d, SignedRankOptions{}); err == nil {
			t.Errorf("%s: no error but %+v", name, r)
		}
	}
	long := make([]float64, 1001)
	for i := range long {
		long[i] = float64(i + 1)
	}
	if _, err := SignedRank(long, SignedRankOptions{Method: Exact}); err == nil {
		t.Error("1001 differences, exact: no error")
	}
	r, err := SignedRank(long, SignedRankOptions{})
	if err != nil || r.Exact || codes(r.Warnings) != "APPROXIMATE" || !(r.P > 0) {
		t.Errorf("1001 differences: %v exact %v p %v warnings %q", err, r.Exact, r.P, codes(r.Warnings))
	}
	r, err = SignedRank(long[:30], SignedRankOptions{ExactLimit: 25})
	if err != nil || r.Exact || codes(r.Warnings) != "APPROXIMATE" {
		t.Errorf("limit 25: %v exact %v warnings %q", err, r.Exact, codes(r.Warnings))
	}
}

// TestSignedRankFloatTies: differences of decimals that differ in the last
// bits are one tie group, and noise is zero.
func TestSignedRankFloatTies(t *testing.T) {
	x, y, z, u := 0.4, 0.3, 0.2, 0.1 // variables: constants would be exact
	r, err := SignedRank([]float64{x - y, y - z, z - u}, SignedRankOptions{})
	if err != nil || !slices.Equal(r.TieSizes, []int{3}) || r.WPlus != 6 {
		t.Errorf("ties %v, W+ %v, error %v; want one group of 3", r.TieSizes, r.WPlus, err)
	}
	r, err = SignedRank([]float64{u + z - y, 1, -2}, SignedRankOptions{})
	if err != nil || r.Zeros != 1 {
		t.Errorf("0.1+0.2-0.3: %d zeros, error %v; want 1", r.Zeros, err)
	}
}

// TestPrattAnomaly documents why Drop is not monotone: taking 1 off every
// difference may lower the one-sided p (golden pratt-anomaly-a and -c).
func TestPrattAnomaly(t *testing.T) {
	d := []float64{0, 2, 3, 4, 6, 7, 8, 9, 11, 14, 15, 17, -18}
	lower := make([]float64, len(d))
	for i, v := range d {
		lower[i] = v - 1
	}
	a, err := SignedRank(d, SignedRankOptions{Alternative: Greater})
	if err != nil {
		t.Fatal(err)
	}
	c, err := SignedRank(lower, SignedRankOptions{Alternative: Greater})
	if err != nil {
		t.Fatal(err)
	}
	nearAbs(t, "p at d", a.P, 0.0171, 5e-5)
	nearAbs(t, "p at d - 1", c.P, 0.0140, 5e-5)
}
