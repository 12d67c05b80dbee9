package stats

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var goldenCorrections = map[string]Correction{
	"holm": Holm, "bonferroni": Bonferroni, "hochberg": Hochberg, "hommel": Hommel,
	"BH": BH, "BY": BY, "sidak": Sidak, "holm-sidak": HolmSidak,
}

// TestAdjustGolden: R p.adjust and statsmodels multipletests (testdata).
func TestAdjustGolden(t *testing.T) {
	for _, c := range golden(t, "multiplicity.json", 13, "p_adjust") {
		var in struct{ P []float64 }
		decode(t, c.Input, &in)
		var want map[string][]float64
		decode(t, c.Expected, &want)
		if len(want) != len(goldenCorrections) {
			t.Fatalf("%s: %d corrections, want %d", c.ID, len(want), len(goldenCorrections))
		}
		before := slices.Clone(in.P)
		for name, values := range want {
			got, err := Adjust(in.P, goldenCorrections[name])
			if err != nil {
				t.Fatalf("%s %s: %v", c.ID, name, err)
			}
			if len(got) != len(values) {
				t.Fatalf("%s %s: %d values, want %d", c.ID, name, len(got), len(values))
			}
			for i := range values {
				nearAbs(t, c.ID+" "+name, got[i], values[i], 1e-12)
			}
		}
		if diff := cmp.Diff(before, in.P); diff != "" {
			t.Errorf("%s: input changed: %s", c.ID, diff)
		}
	}
}

// TestAdjustNaN: a missing p-value is refused; leaving it out, as R does, is the
// caller's act and then gives R's numbers.
func TestAdjustNaN(t *testing.T) {
	for _, c := range golden(t, "multiplicity.json", 1, "p_adjust_nan") {
		var in struct{ P []*float64 }
		decode(t, c.Input, &in)
		var want map[string][]*float64
		decode(t, c.Expected, &want)
		var all, real, holm []float64
		for i, p := range in.P {
			if p == nil {
				all = append(all, math.NaN())
				continue
			}
			all = append(all, *p)
			real = append(real, *p)
			holm = append(holm, *want["holm"][i])
		}
		for k := range correctionNames {
			if got, err := Adjust(all, Correction(k)); err == nil || !strings.Contains(err.Error(), "value 1 is NaN") {
				t.Errorf("%v: got %v, error %v; want an error naming value 1", Correction(k), got, err)
			}
		}
		got, err := Adjust(real, Holm)
		if err != nil {
			t.Fatal(err)
		}
		for i := range holm {
			nearAbs(t, c.ID, got[i], holm[i], 1e-12)
		}
	}
	for _, bad := range []float64{-0.1, 1.1, math.Inf(1)} {
		if _, err := Adjust([]float64{0.5, bad}, Holm); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	if _, err := Adjust([]float64{0.5}, Correction(99)); err == nil {
		t.Error("unknown correction: no error")
	}
	if got, err := Adjust(nil, Hommel); err != nil || len(got) != 0 {
		t.Errorf("empty family: %v, %v", got, err)
	}
}

// TestAdjustDiscreteGolden: all pairs of configurations, exact tests, discrete
// Holm by a rational oracle (testdata).
func TestAdjustDiscreteGolden(t *testing.T) {
	for _, c := range golden(t, "multiplicity.json", 3, "discrete_holm") {
		var in struct {
			Turns [][]float64
			Pairs [][2]int
			Zero  string
		}
		decode(t, c.Input, &in)
		var want struct {
			P, Holm  []float64
			Discrete []float64 `json:"discrete_holm"`
			Least    []float64 `json:"min_attainable_p"`
			Rejected int       `json:"rejected_discrete"`
		}
		decode(t, c.Expected, &want)
		var p []float64
		var attainable [][]float64
		for i, pair := range in.Pairs {
			d := make([]float64, len(in.Turns[pair[0]]))
			for s := range d {
				d[s] = in.Turns[pair[0]][s] - in.Turns[pair[1]][s]
			}
			r, err := SignedRank(d, SignedRankOptions{Zero: goldenZeros[in.Zero]})
			if err != nil {
				t.Fatal(err)
			}
			near(t, c.ID+" p", r.P, want.P[i], 1e-12)
			near(t, c.ID+" least", r.MinP, want.Least[i], 1e-12)
			a, err := AttainableP(d, SignedRankOptions{Zero: goldenZeros[in.Zero]})
			if err != nil {
				t.Fatal(err)
			}
			near(t, c.ID+" first attainable", a[0], r.MinP, 0)
			p = append(p, r.P)
			attainable = append(attainable, a)
		}
		holm, err := Adjust(p, Holm)
		if err != nil {
			t.Fatal(err)
		}
		got, err := AdjustDiscrete(p, attainable)
		if err != nil {
			t.Fatal(err)
		}
		rejected := 0
		for i := range got {
			nearAbs(t, c.ID+" holm", holm[i], want.Holm[i], 1e-12)
			nearAbs(t, c.ID+" discrete", got[i], want.Discrete[i], 1e-12)
			if got[i] > holm[i]+1e-15 {
				t.Errorf("%s: discrete %v above Holm %v", c.ID, got[i], holm[i])
			}
			if got[i] <= 0.05 {
				rejected++
			}
		}
		if rejected != want.Rejected {
			t.Errorf("%s: %d rejected, want %d", c.ID, rejected, want.Rejected)
		}
	}
	if _, err := AdjustDiscrete([]float64{0.5}, nil); err == nil {
		t.Error("one p-value without its null: no error")
	}
	if got, err := AdjustDiscrete([]float64{1, 0.25}, [][]float64{nil, {0.25, 1}}); err != nil || got[0] != 1 || got[1] != 0.25 {
		t.Errorf("a test that was not run: %v, %v", got, err)
	}
}

// TestAttainableOneSided: with three untied ranks W+ takes seven values of
// eight patterns; p >= for each of them, by hand.
func TestAttainableOneSided(t *testing.T) {
	got, err := AttainableP([]float64{1, 2, -3}, SignedRankOptions{Alternative: Greater})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{1. / 8, 2. / 8, 3. / 8, 5. / 8, 6. / 8, 7. / 8, 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBoundedNull: with bounds in place of the distributions the adjusted values
// lie between the discrete and the plain Holm, and a test that cannot reach a p
// that small costs nothing.
func TestBoundedNull(t *testing.T) {
	d := [][]float64{{5, 4, 3, 2, 1, 1, 6}, {1, -1, 2, 3}, {7, 8, -9, 10, 11, 12, 1, 2, 3}}
	var p []float64
	var exact, bound []Null
	for _, x := range d {
		r, err := SignedRank(x, SignedRankOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := AttainableP(x, SignedRankOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, r.P)
		exact, bound = append(exact, NullOf(a)), append(bound, BoundedNull(r.MinP))
	}
	sharp, err := AdjustNull(p, exact)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := AdjustNull(p, bound)
	if err != nil {
		t.Fatal(err)
	}
	holm, err := Adjust(p, Holm)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p {
		if !(p[i] <= sharp[i] && sharp[i] <= loose[i] && loose[i] <= holm[i]) {
			t.Errorf("%d: p %v, discrete %v, bounded %v, Holm %v", i, p[i], sharp[i], loose[i], holm[i])
		}
	}
	// Four differences cannot give less than 0.125: the first step has two members.
	if p[0] >= 0.125 || loose[0] != 2*p[0] {
		t.Errorf("p %v, bounded %v", p, loose)
	}
	if _, err := AdjustNull(p, bound[:1]); err == nil {
		t.Error("one distribution for three p: no error")
	}
}
