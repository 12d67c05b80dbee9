package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHodgesLehmannGolden: rational oracle, R wilcox.test where there are no
// ties (testdata).
func TestHodgesLehmannGolden(t *testing.T) {
	for _, c := range golden(t, "hodges_lehmann.json", 12, "hodges_lehmann") {
		var in struct{ D []float64 }
		decode(t, c.Input, &in)
		var want map[string]struct {
			Estimate float64
			Lo, Hi   *float64
			Attained float64 `json:"attained_level"`
			Index    int     `json:"order_index"`
		}
		decode(t, c.Expected, &want)
		for key, w := range want {
			level, ok := map[string]float64{"0.90": 0.90, "0.95": 0.95, "0.99": 0.99}[key]
			if !ok {
				t.Fatalf("%s: unknown level %q", c.ID, key)
			}
			r, err := HodgesLehmann(in.D, level)
			if err != nil {
				t.Fatal(err)
			}
			name := c.ID + " " + key
			nearAbs(t, name+" estimate", r.Estimate, w.Estimate, 1e-12)
			if r.OrderIndex != w.Index {
				t.Errorf("%s: index %d, want %d", name, r.OrderIndex, w.Index)
			}
			if w.Lo == nil {
				if r.Interval.Defined || r.Interval.Reason == "" {
					t.Errorf("%s: interval %+v, want undefined with a reason", name, r.Interval)
				}
				continue
			}
			if !r.Interval.Defined {
				t.Fatalf("%s: undefined: %s", name, r.Interval.Reason)
			}
			nearAbs(t, name+" lo", r.Interval.Lo, *w.Lo, 1e-12)
			nearAbs(t, name+" hi", r.Interval.Hi, *w.Hi, 1e-12)
			nearAbs(t, name+" level", r.Interval.Level, w.Attained, 1e-12)
		}
	}
}

// TestWalshSum compares selection with sorting all sums.
func TestWalshSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		s := make([]float64, 1+rng.IntN(12))
		for i := range s {
			s[i] = float64(rng.IntN(9)-4) + float64(rng.IntN(3))/3
		}
		slices.Sort(s)
		var sums []float64
		for i := range s {
			for j := i; j < len(s); j++ {
				sums = append(sums, s[i]+s[j])
			}
		}
		slices.Sort(sums)
		for k := range sums {
			if got := walshSum(s, k+1); got != sums[k] {
				t.Fatalf("%v: sum %d = %v, want %v", s, k+1, got, sums[k])
			}
		}
	}
}

func TestHodgesLehmannLarge(t *testing.T) {
	d := make([]float64, 1500)
	for i := range d {
		d[i] = float64(i) - 500
	}
	r, err := HodgesLehmann(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.Estimate != 249.5 || !r.Interval.Defined || codes(r.Warnings) != CodeApproximate {
		t.Errorf("%+v", r)
	}
	if w := r.Interval.Hi - r.Interval.Lo; w < 40 || w > 55 { // 2 * 1.96 * 1500/sqrt(12 * 1500)
		t.Errorf("width %v", w)
	}
}
