package stats

import (
	"fmt"
	"math"
	"testing"
)

// FuzzPrentice: any pairs give an exact p that is a multiple of 2^-m and the
// same for both orders of the sides.
func FuzzPrentice(f *testing.F) {
	f.Add([]byte{5, 4, 9, 9, 130, 7})
	f.Add([]byte{128, 128})
	f.Add([]byte{0, 255, 255, 0, 1, 2, 130, 3})
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := len(raw) / 2
		if n == 0 || n > 60 {
			return
		}
		ta, tb, ea, eb := make([]float64, n), make([]float64, n), make([]bool, n), make([]bool, n)
		for i := range n {
			ta[i], ea[i] = float64(raw[2*i]&127)-1, raw[2*i] < 128
			tb[i], eb[i] = float64(raw[2*i+1]&127)-1, raw[2*i+1] < 128
		}
		r, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{ExactLimit: 20})
		if err != nil {
			t.Fatal(err)
		}
		s, err := PrenticeWilcoxon(tb, eb, ta, ea, PrenticeOptions{ExactLimit: 20})
		if err != nil || s.P != r.P || s.Z != -r.Z {
			t.Fatalf("swapped: %v %v, %v", s.P, r.P, err)
		}
		sum := 0.0
		for i := range n {
			sum += r.ScoreA[i] + r.ScoreB[i]
		}
		if !(r.P > 0 && r.P <= 1 && r.P >= r.MinP) || math.Abs(sum) > 1e-9 {
			t.Fatalf("%+v, scores add up to %v", r, sum)
		}
		if k := math.Ldexp(r.P, r.NonZero); r.Exact && k != math.Trunc(k) {
			t.Fatalf("p %v is no multiple of 2^-%d", r.P, r.NonZero)
		}
		noNaN(t, r)
	})
}

// FuzzRetry: any attempts give a curve of numbers or an error.
func FuzzRetry(f *testing.F) {
	f.Add([]byte{1, 2, 1, 0, 3, 1, 0, 255}, uint8(2))
	f.Add([]byte{0, 0, 0}, uint8(0))
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 254, 4, 254}, uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, budget uint8) {
		const limit = 6
		if len(raw) > 60 {
			return
		}
		var list []Run
		x := Run{}
		flush := func(stopped bool) {
			x.Scenario, x.Replicate = fmt.Sprint(len(list)/2), len(list)%2
			switch {
			case len(x.Attempts) >= limit:
				x.Status = Capped
			case stopped:
				x.Status = Stopped
			}
			list = append(list, x)
			x = Run{}
		}
		for _, b := range raw {
			switch {
			case b == 0:
				flush(false)
			case b == 254:
				flush(true)
			default:
				x.Attempts = append(x.Attempts, int(b))
			}
		}
		c, err := Retry(list, RetryOptions{R: int(budget % 5), Cap: limit, Resamples: 19})
		if err != nil {
			return
		}
		noNaN(t, c)
		for _, p := range c.Points {
			if !(p.Mean >= 0 && p.Mean <= limit+1e-9) || p.Interval.Defined && !(p.Interval.Lo <= p.Interval.Hi) {
				t.Fatalf("%+v", p)
			}
		}
		for _, u := range c.Plateau.Upper {
			if !(u >= 0 && u <= limit) {
				t.Fatalf("%+v", c.Plateau)
			}
		}
		for _, y := range c.Yields {
			if y.Passed > y.Reached || !(y.Rate >= 0 && y.Rate <= 1) {
				t.Fatalf("%+v", y)
			}
		}
	})
}

// FuzzAgreement: any labels give a coefficient of at most 1 or a reason.
func FuzzAgreement(f *testing.F) {
	f.Add([]byte{1, 2, 0, 1, 1, 0, 3, 3, 3})
	f.Add([]byte{1, 1, 0, 1, 1})
	f.Add([]byte{7})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 60 {
			return
		}
		units := [][]float64{nil}
		var table [3][3]int
		for i, b := range raw {
			if b == 0 {
				units = append(units, nil)
				continue
			}
			units[len(units)-1] = append(units[len(units)-1], float64(b%7))
			table[b%3][i%3] += int(b)
		}
		for scale := Nominal; scale <= RatioScale; scale++ {
			r, err := KrippendorffAlpha(units, AlphaOptions{Scale: scale, Resamples: 9})
			if err != nil {
				t.Fatal(err)
			}
			if r.Defined != (r.Reason == "") || !(r.Alpha <= 1+1e-12) {
				t.Fatalf("%v: %+v", units, r)
			}
			noNaN(t, r)
		}
		k, err := CohenKappa([][]int{table[0][:], table[1][:], table[2][:]}, KappaWeights(len(raw)%3), 0)
		noNaN(t, k)
		if err == nil && k.Defined && !(k.Kappa <= 1+1e-12 && k.SE >= 0) {
			t.Fatalf("%v: %+v", table, k)
		}
	})
}

// FuzzIncidence: the parts add up to 1 and never fall.
func FuzzIncidence(f *testing.F) {
	f.Add([]byte{3, 4, 255, 8, 8, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || len(raw) > 200 {
			return
		}
		times, cause, group, event := make([]float64, len(raw)), make([]int, len(raw)), make([]int, len(raw)), make([]bool, len(raw))
		for i, b := range raw {
			times[i], cause[i], group[i] = float64(b>>3), int(b%4), int(b>>2%2)
			event[i] = cause[i] > 0
		}
		r, err := CumulativeIncidence(times, cause, 3)
		if err != nil {
			t.Fatal(err)
		}
		noNaN(t, r)
		for i := range r.Times {
			sum := r.Survival[i]
			for c := range r.CIF {
				sum += r.CIF[c][i]
				if i > 0 && r.CIF[c][i] < r.CIF[c][i-1] {
					t.Fatalf("%v falls", r.CIF[c])
				}
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("sum %v", sum)
			}
		}
		l, err := LogRank(times, event, group, nil, LogRankOptions{Peto: len(raw)%2 == 0})
		if err != nil || !(l.P > 0 && l.P <= 1) {
			t.Fatalf("%+v, %v", l, err)
		}
		noNaN(t, l)
	})
}

// FuzzMeans: all procedures of a small sample give numbers or an error.
func FuzzMeans(f *testing.F) {
	f.Add([]byte{1, 2, 3, 250})
	f.Add([]byte{0})
	f.Add([]byte{9, 9, 9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || len(raw) > 40 {
			return
		}
		x, y := make([]float64, len(raw)), make([]float64, len(raw))
		var names []string
		var o []Outcome
		for i, b := range raw {
			x[i], y[i] = float64(int8(b)), float64(b%5)
			names = append(names, string(rune('a'+b%4)))
			o = append(o, Outcome{Scenario: names[i], Replicate: i, Value: float64(b % 102)})
		}
		flip, err := SignFlipMean(x, TwoSided)
		if err != nil || !(flip.P > 0 && flip.P <= 1) || flip.P < flip.MinP {
			t.Fatalf("%+v, %v", flip, err)
		}
		results := []any{flip}
		add := func(v any, err error) {
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, v)
		}
		add(StudentMean(x, 0))
		add(Unpaired(x, y))
		add(Summarize(x))
		add(ClusterSE(x, names, 0))
		add(VarianceSplit(o, 101))
		add(Hazards(o, HazardOptions{Cap: 101}))
		add(FitPilot(o[:min(len(o), 6)], 101))
		add(MeanRatio(y, y, BootstrapOptions{Resamples: 29}))
		add(BootstrapStatistic(x, "median", MedianOf, BootstrapOptions{Resamples: 29}))
		add(Friedman([][]float64{append([]float64{1}, x...), append(y, 2)}, FriedmanOptions{}))
		for _, v := range results {
			noNaN(t, v)
		}
	})
}
