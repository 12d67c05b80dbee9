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
// with both zero methods, Hodges-Lehmann estimates and intervals, Holm and
// discrete Holm; it must stay below 50 ms on one core.
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
				if _, err := HodgesLehmann(d, 0); err != nil {
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

// benchmarkBootstrap: n = 20 must stay below 2 ms.
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

// BenchmarkPrenticeExact20 must stay below 1 ms.
func BenchmarkPrenticeExact20(b *testing.B) { benchmarkPrentice(b, 20) }
func BenchmarkPrenticeExact32(b *testing.B) { benchmarkPrentice(b, 32) }
func BenchmarkPrenticeGrid60(b *testing.B)  { benchmarkPrentice(b, 60) }

func benchmarkPrentice(b *testing.B, n int) {
	rng := rand.New(rand.NewPCG(uint64(n), 5))
	ta, tb, ea, eb := make([]float64, n), make([]float64, n), make([]bool, n), make([]bool, n)
	for i := range n {
		ta[i], tb[i] = float64(rng.IntN(80)), float64(rng.IntN(60))
		ea[i], eb[i] = rng.IntN(8) > 0, true
	}
	for b.Loop() {
		if _, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllPairsWithIntervals compares 26 configurations on 20 scenarios with
// all intervals: 325 pairs must stay below 1 s on one core.
func BenchmarkAllPairsWithIntervals(b *testing.B) {
	configs := configurations(26, 20, 1, 3)
	for b.Loop() {
		if _, err := Pairwise(configs, PairwiseOptions{Cap: 101}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResample26 draws 9999 scenario resamples of 26 configurations.
func BenchmarkResample26(b *testing.B) {
	configs := configurations(26, 20, 1, 3)
	for b.Loop() {
		r, err := ResampleScenarios(configs, ResampleOptions{Cap: 101})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Ranks(0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRetry20x11 derives a curve of 11 budgets with band and plateau.
func BenchmarkRetry20x11(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 20))
	var list []Run
	for i := range 20 {
		x := Run{Scenario: string(rune('a' + i))}
		for range rng.IntN(100) {
			x.Attempts = append(x.Attempts, 1+min(10, int(rng.ExpFloat64())))
		}
		list = append(list, x)
	}
	for b.Loop() {
		if _, err := Retry(list, RetryOptions{R: 10, Cap: 101}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPowerSim2000(b *testing.B) {
	for b.Loop() {
		if _, err := PowerSim(PowerModel{SuccessA: 0.965, SuccessB: 0.98, ScenarioSD: 0.5, Cap: 101}, StudyPlan{Scenarios: 20}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignFlipMean20(b *testing.B) {
	d := benchDifferences(20, 100)
	for b.Loop() {
		if _, err := SignFlipMean(d, TwoSided); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKaplanMeier40(b *testing.B) {
	rng := rand.New(rand.NewPCG(40, 1))
	times, event := make([]float64, 40), make([]bool, 40)
	for i := range times {
		times[i], event[i] = float64(rng.IntN(102)), i%2 == 0
	}
	for b.Loop() {
		if _, err := KaplanMeier(times, event, SurvivalOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStudentizedRange26(b *testing.B) {
	for b.Loop() {
		if p := studentizedRangeTail(5.3, 26); !(p > 0) {
			b.Fatal(p)
		}
	}
}
