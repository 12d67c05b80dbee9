package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBootstrapMeanGolden: exact convolution by an oracle; R boot and scipy
// bootstrap agree within their Monte Carlo error (testdata).
func TestBootstrapMeanGolden(t *testing.T) {
	for _, c := range golden(t, "bootstrap.json", 5, "bootstrap_mean_exact") {
		var in struct{ X []float64 }
		decode(t, c.Input, &in)
		var want struct {
			Mean, SE, Z0, Accel float64
			Percentile          [2]float64
			Percentile90        [2]float64 `json:"percentile90"`
			Levels              [2]float64 `json:"bca_levels"`
			BCa                 [2]float64 `json:"bca"`
			BCa90               [2]float64 `json:"bca90"`
		}
		decode(t, c.Expected, &want)
		for _, k := range []struct {
			name  string
			kind  BootstrapKind
			level float64
			want  [2]float64
		}{
			{"percentile", Percentile, 0.95, want.Percentile},
			{"percentile90", Percentile, 0.90, want.Percentile90},
			{"bca", BCa, 0.95, want.BCa},
			{"bca90", BCa, 0.90, want.BCa90},
		} {
			r, err := BootstrapMean(in.X, BootstrapOptions{Kind: k.kind, Level: k.level})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Exact || !r.Interval.Defined || r.Resamples != 0 {
				t.Errorf("%s %s: exact %v, %+v", c.ID, k.name, r.Exact, r.Interval)
			}
			nearAbs(t, c.ID+" mean", r.Mean, want.Mean, 1e-9)
			nearAbs(t, c.ID+" se", r.SE, want.SE, 1e-9)
			nearAbs(t, c.ID+" z0", r.Z0, want.Z0, 1e-9)
			nearAbs(t, c.ID+" accel", r.Accel, want.Accel, 1e-9)
			nearAbs(t, c.ID+" "+k.name+" lo", r.Interval.Lo, k.want[0], 1e-9)
			nearAbs(t, c.ID+" "+k.name+" hi", r.Interval.Hi, k.want[1], 1e-9)
			if k.name == "bca" {
				nearAbs(t, c.ID+" level", r.Levels[0], want.Levels[0], 1e-9)
				nearAbs(t, c.ID+" level", r.Levels[1], want.Levels[1], 1e-9)
			}
		}
	}
}

// TestBootstrapResampledGolden: resampling must agree with R boot and scipy
// within the range of their seeds and one support step.
func TestBootstrapResampledGolden(t *testing.T) {
	means := 0
	for _, c := range golden(t, "bootstrap.json", 15, "bootstrap_range") {
		var in struct {
			X         []float64
			Statistic string
		}
		decode(t, c.Input, &in)
		if in.Statistic != "mean" {
			continue
		}
		means++
		var want struct {
			PLo [2]float64 `json:"percentile_lo"`
			PHi [2]float64 `json:"percentile_hi"`
			SE  [2]float64
			BLo [2]float64 `json:"bca_lo"`
			BHi [2]float64 `json:"bca_hi"`
		}
		decode(t, c.Expected, &want)
		step := 1 / float64(len(in.X))
		within := func(what string, got float64, r [2]float64, slack float64) {
			t.Helper()
			if got < r[0]-slack-1e-9 || got > r[1]+slack+1e-9 {
				t.Errorf("%s %s = %v, want in %v", c.ID, what, got, r)
			}
		}
		se, accel := moments(in.X, mean(in.X))
		for _, kind := range []BootstrapKind{Percentile, BCa} {
			r := BootstrapResult{Mean: mean(in.X), SE: se, Accel: accel}
			r.resampledMean(in.X, BootstrapOptions{Seed: 1, Resamples: 99999, Kind: kind}, 0.95)
			lo, hi := want.PLo, want.PHi
			if kind == BCa {
				lo, hi = want.BLo, want.BHi
			}
			within(kind.String()+" lo", r.Interval.Lo, lo, step)
			within(kind.String()+" hi", r.Interval.Hi, hi, step)
			within("se", r.SE, want.SE, 0)
		}
	}
	if means != 5 {
		t.Errorf("%d cases of a mean, want 5", means)
	}
}

// TestBootstrapStatisticGolden: median and interquartile mean against the
// ranges of R boot and scipy over seeds, one step of the support on either side.
func TestBootstrapStatisticGolden(t *testing.T) {
	used := 0
	for _, c := range golden(t, "bootstrap.json", 15, "bootstrap_range") {
		var in struct {
			X         []float64
			Statistic string
		}
		decode(t, c.Input, &in)
		stat, step := MedianOf, 0.5
		switch in.Statistic {
		case "mean":
			continue
		case "iqm":
			stat, step = InterquartileMean, 1/float64(len(in.X)-2*(len(in.X)/4))
		}
		var want struct {
			PLo [2]float64 `json:"percentile_lo"`
			PHi [2]float64 `json:"percentile_hi"`
			SE  [2]float64
			BCa any        `json:"bca"`
			BLo [2]float64 `json:"bca_lo"`
			BHi [2]float64 `json:"bca_hi"`
		}
		decode(t, c.Expected, &want)
		within := func(what string, got float64, r [2]float64, slack float64) {
			t.Helper()
			if got < r[0]-slack-1e-9 || got > r[1]+slack+1e-9 {
				t.Errorf("%s %s = %v, want in %v", c.ID, what, got, r)
			}
		}
		for _, kind := range []BootstrapKind{Percentile, BCa} {
			r, err := BootstrapStatistic(in.X, in.Statistic, stat, BootstrapOptions{Kind: kind, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			lo, hi := want.PLo, want.PHi
			undefined := want.BCa != nil
			if kind == BCa && !undefined {
				lo, hi = want.BLo, want.BHi
			}
			if fallback := strings.Contains(r.Interval.Method, "the jackknife does not vary"); fallback != (undefined && kind == BCa) {
				t.Errorf("%s: method %q", c.ID, r.Interval.Method)
			}
			within(kind.String()+" lo", r.Interval.Lo, lo, step)
			within(kind.String()+" hi", r.Interval.Hi, hi, step)
			// An outlier that reaches the middle half once in a thousand resamples
			// moves the standard error of 9999 of them by a tenth.
			within("se", r.SE, want.SE, 0.15*want.SE[1])
		}
		used++
	}
	if used != 10 {
		t.Errorf("%d cases, want 10", used)
	}
}

func TestBootstrapDegenerateGolden(t *testing.T) {
	for _, c := range golden(t, "bootstrap.json", 1, "bootstrap_degenerate") {
		var in struct{ X []float64 }
		decode(t, c.Input, &in)
		for _, kind := range []BootstrapKind{ExpandedBCa, BCa, Percentile} {
			r, err := BootstrapMean(in.X, BootstrapOptions{Kind: kind})
			if err != nil || r.Interval.Lo != 7 || r.Interval.Hi != 7 || !r.Interval.Defined || codes(r.Warnings) != CodeDegenerate {
				t.Errorf("%v: %+v, %v", kind, r, err)
			}
		}
	}
}

// TestBootstrapExactMoments: property 10, mean and variance of the exact
// distribution are m and sd_n^2/n.
func TestBootstrapExactMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 50 {
		x := make([]float64, 2+rng.IntN(20))
		for i := range x {
			x[i] = float64(rng.IntN(102)) / float64(1+rng.IntN(3))
		}
		l, ok := newLattice(x)
		if !ok {
			t.Fatalf("%v: no lattice", x)
		}
		m, m2, total := 0.0, 0.0, 0.0
		for s, p := range l.resampledSum() {
			v := l.mean(int64(s), len(x))
			m += p * v
			m2 += p * v * v
			total += p
		}
		se, _ := moments(x, mean(x))
		nearAbs(t, "total", total, 1, 1e-12)
		nearAbs(t, "mean", m, mean(x), 1e-10)
		nearAbs(t, "variance", m2-m*m, se*se, 1e-8)
	}
}

func TestBootstrapExpandedIsWider(t *testing.T) {
	x := []float64{3, 9, 4, 27, 1, 12, 8, 8, 2, 15}
	plain, err := BootstrapMean(x, BootstrapOptions{Kind: BCa})
	if err != nil {
		t.Fatal(err)
	}
	wide, err := BootstrapMean(x, BootstrapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if wide.Interval.Lo > plain.Interval.Lo || wide.Interval.Hi <= plain.Interval.Hi {
		t.Errorf("expanded %+v within plain %+v", wide.Interval, plain.Interval)
	}
	// Hesterberg (2015): with z0 = a = 0 the level is Phi(-t sqrt(n/(n-1)));
	// t(0.975, 9) = 2.262157 from any table.
	got := bootstrapLevels(ExpandedBCa, 0.95, 10, 0, 0)
	nearAbs(t, "level", got[0], normalCDF(-2.2621571627982055*math.Sqrt(10./9)), 1e-12)
	nearAbs(t, "level", got[1], 1-got[0], 1e-12)
}

func TestBootstrapPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	draw := func(n int, f func() float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = f()
		}
		return x
	}
	turns := func() float64 { return float64(rng.IntN(102)) }
	for _, c := range []struct {
		name  string
		x     []float64
		exact bool
	}{
		{"60 whole numbers", draw(60, turns), true},
		{"thirds", draw(20, func() float64 { return float64(rng.IntN(300)) / 3 }), true},
		{"cents", draw(12, func() float64 { return float64(rng.IntN(1000)) / 100 }), true},
		{"61 whole numbers", draw(61, turns), false},
		{"off the lattice", draw(20, rng.NormFloat64), false},
		{"6000", draw(6000, turns), false},
	} {
		a, err := BootstrapMean(c.x, BootstrapOptions{Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		if a.Exact != c.exact || !a.Interval.Defined {
			t.Errorf("%s: exact %v, interval %+v", c.name, a.Exact, a.Interval)
		}
		if !(a.Interval.Lo < a.Mean && a.Mean < a.Interval.Hi) {
			t.Errorf("%s: mean %v outside %+v", c.name, a.Mean, a.Interval)
		}
		// Any order of scenarios gives the same bits.
		rng.Shuffle(len(c.x), func(i, j int) { c.x[i], c.x[j] = c.x[j], c.x[i] })
		b, err := BootstrapMean(c.x, BootstrapOptions{Seed: 9})
		if err != nil || a.Interval != b.Interval || a.Z0 != b.Z0 {
			t.Errorf("%s: shuffled %+v, was %+v (%v)", c.name, b.Interval, a.Interval, err)
		}
		// The width is about 2 * 1.96 standard errors.
		if w := (a.Interval.Hi - a.Interval.Lo) / a.SE; w < 3.2 || w > 5.5 {
			t.Errorf("%s: width %v standard errors", c.name, w)
		}
	}
}

func TestBootstrapEdges(t *testing.T) {
	r, err := BootstrapMean([]float64{5}, BootstrapOptions{})
	if err != nil || r.Mean != 5 || r.Interval.Defined || r.Interval.Reason == "" {
		t.Errorf("one value: %+v, %v", r, err)
	}
	for _, x := range [][]float64{nil, {math.NaN(), 1}, {math.Inf(1)}} {
		if _, err := BootstrapMean(x, BootstrapOptions{}); err == nil {
			t.Errorf("%v: no error", x)
		}
	}
	if _, err := BootstrapMean([]float64{1, 2}, BootstrapOptions{Level: 2}); err == nil {
		t.Error("level 2: no error")
	}
	// Two values and a high level drive the levels to 0 and 1: the ends are the data.
	r, err = BootstrapMean([]float64{1, 2}, BootstrapOptions{Level: 0.999})
	if err != nil || r.Interval.Lo != 1 || r.Interval.Hi != 2 {
		t.Errorf("two values: %+v, %v", r.Interval, err)
	}
	// Past the pole of the BCa formula the limit is taken.
	if l := bootstrapLevels(ExpandedBCa, 0.999, 4, 0.1, 0.096); l[1] != 1 || !(l[0] >= 0 && l[0] < 0.5) {
		t.Errorf("levels %v", l)
	}
}
