package stats

import (
	"encoding/json"
	"math"
	"testing"
)

// FuzzSignedRank checks small whole differences against all sign patterns.
func FuzzSignedRank(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0, 255, 3})
	f.Add([]byte{0, 0, 0})
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 244})
	f.Add([]byte{128, 127, 128})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || len(raw) > 12 {
			return
		}
		d := make([]float64, len(raw))
		for i, b := range raw {
			d[i] = float64(int8(b))
		}
		checkSignedRank(t, d)
	})
}

// FuzzSignedRankFloats must neither panic nor return anything but numbers.
func FuzzSignedRankFloats(f *testing.F) {
	f.Add(0.1, 0.2, -0.3, 1e-300, uint8(0))
	f.Add(math.MaxFloat64, math.Inf(1), 0.0, 5e-324, uint8(9))
	f.Add(1e99, -1e99, 1e-12, -1e-12, uint8(26))
	f.Fuzz(func(t *testing.T, a, b, c, d float64, mode uint8) {
		x := []float64{a, b, c, d}
		opt := SignedRankOptions{Alternative: Alternative(mode % 3), Zero: ZeroMethod(mode / 3 % 3), Method: Method(mode / 9 % 3), Continuity: mode&1 == 1}
		r, err := SignedRank(x, opt)
		if bad := checkFinite("", x) != nil; bad != (err != nil) {
			t.Fatalf("%v: error %v", x, err)
		}
		noNaN(t, r)
		if err == nil && !(r.P > 0 && r.P <= 1) {
			t.Fatalf("%v: p %v", x, r.P)
		}
		if h, err := HodgesLehmann(x, 0.8); err == nil {
			noNaN(t, h)
		}
		if b, err := BootstrapMean(x, BootstrapOptions{Resamples: 50}); err == nil {
			noNaN(t, b)
			if b.Interval.Defined && !(b.Interval.Lo <= b.Interval.Hi) {
				t.Fatalf("%v: %+v", x, b.Interval)
			}
		}
	})
}

// noNaN fails unless a result can be written as JSON, which has no NaN.
func noNaN(t *testing.T, v any) {
	t.Helper()
	if _, err := json.Marshal(v); err != nil {
		t.Fatalf("%+v: %v", v, err)
	}
}

// FuzzAdjust checks the properties of all corrections.
func FuzzAdjust(f *testing.F) {
	f.Add([]byte{0, 255, 128, 128, 3})
	f.Add([]byte{255})
	f.Add([]byte{1, 1, 2, 2, 3, 250})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || len(raw) > 64 {
			return
		}
		p := make([]float64, len(raw))
		tests := make([]Test, len(raw))
		for i, b := range raw {
			p[i] = float64(b) / 255
			tests[i] = Test{"t", p[i], p[i] / 2}
		}
		checkAdjusted(t, p)
		r, err := Family(tests, FamilyOptions{Correction: Correction(len(raw) % len(correctionNames))})
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			if r.Cannot[i] && r.Reject[i] {
				t.Fatalf("test %d is rejected though it cannot be: %+v", i, r)
			}
		}
		noNaN(t, r)
	})
}

// fuzzOutcomes reads three bytes per outcome: scenario and repeat, turns, status.
func fuzzOutcomes(raw []byte, limit float64) []Outcome {
	var o []Outcome
	for ; len(raw) >= 3; raw = raw[3:] {
		x := Outcome{Scenario: string(rune('a' + raw[0]%16)), Replicate: int(raw[0] >> 4), Value: math.Min(float64(raw[1]), limit)}
		x.Status = Status(raw[2] % 3)
		if x.Status == Capped {
			x.Value = limit
		}
		o = append(o, x)
	}
	return o
}

// FuzzComparePair: any outcomes give an error or numbers, never a panic or NaN.
func FuzzComparePair(f *testing.F) {
	f.Add([]byte{0, 5, 0, 1, 9, 0, 2, 7, 1}, []byte{0, 4, 0, 1, 9, 0, 2, 7, 0}, uint8(0))
	f.Add([]byte{0, 5, 2, 1, 0, 2, 16, 7, 1}, []byte{0, 4, 0, 1, 9, 1, 32, 7, 2}, uint8(1))
	f.Add([]byte{0, 255, 1}, []byte{0, 255, 1}, uint8(2))
	f.Add([]byte{0, 0, 2, 1, 0, 2}, []byte{0, 0, 0, 1, 0, 0}, uint8(3))
	f.Fuzz(func(t *testing.T, rawA, rawB []byte, mode uint8) {
		if len(rawA) > 120 || len(rawB) > 120 {
			return
		}
		const limit = 101
		a, b := fuzzOutcomes(rawA, limit), fuzzOutcomes(rawB, limit)
		opt := ComparePairOptions{Cap: limit, Zero: ZeroMethod(mode % 3), Force: mode&4 == 0}
		if mode&8 != 0 {
			opt.Cap = 0
		}
		r, err := ComparePair(a, b, opt)
		noNaN(t, r)
		if err == nil {
			if r.Ahead+r.Level+r.Behind+r.Undecided != r.N || !(r.P > 0 && r.P <= 1) || r.MinP > r.P {
				t.Fatalf("%v %v: %+v", a, b, r)
			}
			if r.DiffCI.Defined && !(r.DiffCI.Lo <= r.DiffCI.Hi) {
				t.Fatalf("%v %v: interval %+v", a, b, r.DiffCI)
			}
		}
		m, err := MeanTurns(a, MeanOptions{Cap: opt.Cap})
		noNaN(t, m)
		if err == nil && (m.Mean < 0 || m.Mean > limit*(1+1e-12)) {
			t.Fatalf("%v: mean %v", a, m.Mean)
		}
	})
}

// FuzzKaplanMeier: S falls from 1, stays in [0, 1] and its interval holds it.
func FuzzKaplanMeier(f *testing.F) {
	f.Add([]byte{3, 4, 255, 8, 8, 0}, uint8(0))
	f.Add([]byte{202, 202, 203}, uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, mode uint8) {
		if len(raw) > 300 {
			return
		}
		times, event := make([]float64, len(raw)), make([]bool, len(raw))
		for i, b := range raw {
			times[i], event[i] = float64(b/2)-1, b%2 == 1
		}
		s, err := KaplanMeier(times, event, SurvivalOptions{Transform: SurvivalTransform(mode % 3)})
		if (err != nil) != (len(raw) == 0) {
			t.Fatal(err)
		}
		last := 1.0
		for _, p := range s.Points {
			if !(p.S >= 0 && p.S <= last) || p.Defined && !(p.Lo <= p.S+1e-12 && p.S <= p.Hi+1e-12 && p.Lo >= 0 && p.Hi <= 1) {
				t.Fatalf("%v: %+v", raw, p)
			}
			last = p.S
		}
		est, se, w := s.RMST(101)
		if !(est >= 0 && est <= 101+1e-9 && se >= 0) {
			t.Fatalf("%v: %v %v", raw, est, se)
		}
		noNaN(t, s)
		noNaN(t, w)
	})
}
