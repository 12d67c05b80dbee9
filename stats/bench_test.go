package stats

import (
	"math/rand/v2"
	"testing"
)

// benchDifferences are whole numbers with ties and a few zeros.
func benchDifferences(n, spread int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	d := make([]float64, n)
	for i := range d {
		d[i] = float64(rng.IntN(2*spread+1) - spread)
	}
	return d
}

// BenchmarkSignedRankExactTies20 must stay below 10 us.
func BenchmarkSignedRankExactTies20(b *testing.B) {
	d := benchDifferences(20, 15)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SignedRank(d, SignedRankOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignedRankExact500(b *testing.B) {
	d := benchDifferences(500, 100)
	for b.Loop() {
		if _, err := SignedRank(d, SignedRankOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignedRankExact1000(b *testing.B) {
	d := benchDifferences(1000, 100)
	for b.Loop() {
		if _, err := SignedRank(d, SignedRankOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllPairs tests the 325 pairs of 26 configurations on 20 scenarios
// with both zero methods, Holm and discrete Holm.
func BenchmarkAllPairs(b *testing.B) {
	rng := rand.New(rand.NewPCG(26, 1))
	turns := make([][]float64, 26)
	for i := range turns {
		turns[i] = make([]float64, 20)
		for k := range turns[i] {
			turns[i][k] = float64(rng.IntN(10 + 3*i))
		}
	}
	for b.Loop() {
		var tests []Test
		var p []float64
		var attainable [][]float64
		for i := range turns {
			for j := range i {
				d := make([]float64, 20)
				for k := range d {
					d[k] = turns[i][k] - turns[j][k]
				}
				r, err := SignedRank(d, SignedRankOptions{})
				if err != nil {
					b.Fatal(err)
				}
				a, err := AttainableP(d, SignedRankOptions{})
				if err != nil {
					b.Fatal(err)
				}
				tests = append(tests, Test{P: r.P, MinP: r.MinP})
				p, attainable = append(p, r.P), append(attainable, a)
			}
		}
		if _, err := Family(tests, FamilyOptions{}); err != nil {
			b.Fatal(err)
		}
		if _, err := AdjustDiscrete(p, attainable); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkBootstrap(b *testing.B, n int) {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(rng.IntN(102))
	}
	for b.Loop() {
		if _, err := BootstrapMean(x, BootstrapOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBootstrapExact20(b *testing.B)     { benchmarkBootstrap(b, 20) }
func BenchmarkBootstrapExact60(b *testing.B)     { benchmarkBootstrap(b, 60) }
func BenchmarkBootstrapResampled61(b *testing.B) { benchmarkBootstrap(b, 61) }

func BenchmarkHodgesLehmann20(b *testing.B) {
	d := benchDifferences(20, 60)
	for b.Loop() {
		if _, err := HodgesLehmann(d, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComparePair20(b *testing.B) {
	rng := rand.New(rand.NewPCG(20, 3))
	var x, y []Outcome
	for i := range 20 {
		s := string(rune('a' + i))
		x = append(x, Outcome{Scenario: s, Value: float64(rng.IntN(80))})
		y = append(y, Outcome{Scenario: s, Value: float64(rng.IntN(60))})
	}
	for b.Loop() {
		if _, err := ComparePair(x, y, ComparePairOptions{Cap: 101}); err != nil {
			b.Fatal(err)
		}
	}
}
