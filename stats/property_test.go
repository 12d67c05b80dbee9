package stats

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// bruteForce returns P(W+ <= w) and P(W+ >= w) over all 2^m sign patterns of
// the ranks, which are doubled midranks computed in the plainest way.
func bruteForce(d []float64, zero ZeroMethod) (lower, upper float64) {
	var ranks []int
	w := 0
	for _, v := range d {
		if v == 0 {
			continue
		}
		below, equal := 0, 0
		for _, u := range d {
			if u == 0 && zero == Drop {
				continue
			}
			switch {
			case math.Abs(u) < math.Abs(v):
				below++
			case math.Abs(u) == math.Abs(v):
				equal++
			}
		}
		r := 2*below + equal + 1
		ranks = append(ranks, r)
		if v > 0 {
			w += r
		}
	}
	le, ge := 0, 0
	for pattern := range 1 << len(ranks) {
		sum := 0
		for i, r := range ranks {
			if pattern>>i&1 == 1 {
				sum += r
			}
		}
		if sum <= w {
			le++
		}
		if sum >= w {
			ge++
		}
	}
	total := float64(int(1) << len(ranks))
	return float64(le) / total, float64(ge) / total
}

// checkSignedRank asserts properties 1 to 5 of whole-number differences with at
// most 12 non-zero ones.
func checkSignedRank(t *testing.T, d []float64) {
	t.Helper()
	neg, scaled := make([]float64, len(d)), make([]float64, len(d))
	for i, v := range d {
		neg[i], scaled[i] = -v, v*0.37
	}
	run := func(d []float64, opt SignedRankOptions) SignedRankResult {
		t.Helper()
		r, err := SignedRank(d, opt)
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if !(r.P >= r.MinP && r.P <= 1 && r.Other >= r.MinP && r.Other <= 1) {
			t.Fatalf("%v %+v: p %v, other %v, least %v", d, opt, r.P, r.Other, r.MinP)
		}
		if v := math.Ldexp(r.P, r.NonZero); v != math.Trunc(v) {
			t.Fatalf("%v: p %v is no multiple of 2^-%d", d, r.P, r.NonZero)
		}
		return r
	}
	for _, zero := range []ZeroMethod{Drop, Pratt, ZSplit} {
		lower, upper := bruteForce(d, zero)
		two := math.Min(1, 2*math.Min(lower, upper))
		opt := SignedRankOptions{Zero: zero}
		if r := run(d, opt); r.P != two {
			t.Fatalf("%v %v: p %v, brute force %v", d, zero, r.P, two)
		}
		if run(neg, opt).P != two || run(scaled, opt).P != two {
			t.Fatalf("%v %v: p changes with sign or scale", d, zero)
		}
		opt.Alternative = Greater
		g := run(d, opt)
		opt.Alternative = Less
		if l := run(d, opt); g.P != upper || l.P != lower || run(neg, opt).P != upper {
			t.Fatalf("%v %v: greater %v less %v, brute force %v %v", d, zero, g.P, l.P, upper, lower)
		}
	}
}

// TestSignedRankBruteForce: properties 1, 2, 3 and 5.
func TestSignedRankBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		d := make([]float64, 1+rng.IntN(11))
		spread := 1 + rng.IntN(8)
		for i := range d {
			d[i] = float64(rng.IntN(2*spread+1) - spread)
		}
		checkSignedRank(t, d)
	}
}

// TestPrattMonotone: property 4, adding a constant never raises the greater p
// under Pratt.
func TestPrattMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range 500 {
		d := make([]float64, 1+rng.IntN(15))
		for i := range d {
			d[i] = float64(rng.IntN(13) - 6)
		}
		last := 2.0
		for range 4 {
			r, err := SignedRank(d, SignedRankOptions{Zero: Pratt, Alternative: Greater})
			if err != nil {
				t.Fatal(err)
			}
			if r.P > last {
				t.Fatalf("%v: p %v, was %v one lower", d, r.P, last)
			}
			last = r.P
			for i := range d {
				d[i]++
			}
		}
	}
}

// checkAdjusted asserts property 6 of all corrections.
func checkAdjusted(t *testing.T, p []float64) {
	t.Helper()
	order := ascending(p)
	var holm []float64
	for k := range correctionNames {
		adj, err := Adjust(p, Correction(k))
		if err != nil {
			t.Fatal(err)
		}
		for j, i := range order {
			if !(adj[i] >= p[i]*(1-1e-12) && adj[i] <= 1) {
				t.Fatalf("%v of %v: %v from %v", Correction(k), p, adj[i], p[i])
			}
			if j > 0 && adj[i] < adj[order[j-1]] {
				t.Fatalf("%v of %v: not monotone", Correction(k), p)
			}
		}
		if len(p) == 1 && math.Abs(adj[0]-p[0]) > 1e-15 {
			t.Fatalf("%v of one p: %v from %v", Correction(k), adj[0], p[0])
		}
		if Correction(k) == Holm {
			holm = adj
		}
	}
	// Any null in which each p is attainable can only help.
	attainable := make([][]float64, len(p))
	for i, v := range p {
		attainable[i] = []float64{v}
		if v < 1 {
			attainable[i] = append(attainable[i], 1)
		}
	}
	discrete, err := AdjustDiscrete(p, attainable)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p {
		if discrete[i] > holm[i]*(1+1e-9) || discrete[i] < p[i]*(1-1e-12) {
			t.Fatalf("%v: discrete %v, Holm %v", p, discrete, holm)
		}
	}
}

func TestAdjustProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		p := make([]float64, 1+rng.IntN(30))
		for i := range p {
			p[i] = math.Pow(rng.Float64(), 3)
			if rng.IntN(4) == 0 {
				p[i] = math.Ldexp(1, -rng.IntN(12))
			}
		}
		checkAdjusted(t, p)
	}
}

// successes draws the number of turns passed with a per-turn success of
// logistic(mu + effect), cut at limit.
func successes(rng *rand.Rand, mu, effect float64, limit int) float64 {
	p := 1 / (1 + math.Exp(-mu-effect))
	// Inverse of the geometric distribution: P(T >= t) = p^t.
	return math.Min(math.Floor(math.Log(1-rng.Float64())/math.Log(p)), float64(limit))
}

// TestSize: property 12, identical agents on 20 scenarios are told apart in at
// most 5.5 % of studies, with either treatment of zeros.
func TestSize(t *testing.T) {
	const rounds, n, limit = 10_000, 20, 101
	for _, success := range []float64{0.30, 0.70, 0.97, 0.995} {
		rng := rand.New(rand.NewPCG(20, uint64(success*1000)))
		rejected := [2]int{}
		d := make([]float64, n)
		for range rounds {
			for i := range d {
				effect := rng.NormFloat64() * 0.5
				d[i] = successes(rng, logit(success), effect, limit) - successes(rng, logit(success), effect, limit)
			}
			r, err := SignedRank(d, SignedRankOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r.P <= 0.05 {
				rejected[0]++
			}
			if r.Other <= 0.05 {
				rejected[1]++
			}
		}
		for i, k := range rejected {
			rate := float64(k) / rounds
			t.Logf("success %v, %v: %.1f %% of identical pairs are told apart", success, ZeroMethod(i), 100*rate)
			if rate > 0.055 || rate < 0.01 {
				t.Errorf("success %v, %v: size %v", success, ZeroMethod(i), rate)
			}
		}
	}
}

// studies is the number of simulated studies per column of TestCoverage. The
// figures of the documentation come from
//
//	go test ./stats -run "TestCoverage|TestSize" -v -args -studies 20000
var studies = flag.Int("studies", 500, "simulated studies per column of TestCoverage")

// TestCoverage: property 12, the expanded BCa interval of a mean of 20 holds
// the truth in at least 91 % of studies but for Monte Carlo error, in the six
// settings from weak to strong configurations.
func TestCoverage(t *testing.T) {
	const n, limit = 20, 100
	for _, c := range []struct{ success, sd float64 }{{0.75, 0}, {0.75, 0.5}, {0.9, 0.5}, {0.97, 0.5}, {0.99, 0.8}, {0.998, 0.8}} {
		truth := MeanTurnsOf(c.success, c.sd, limit)
		rng := rand.New(rand.NewPCG(91, uint64(c.success*1000+c.sd*10)))
		x := make([]float64, n)
		hit := 0
		for range *studies {
			for i := range x {
				x[i] = successes(rng, logit(c.success), rng.NormFloat64()*c.sd, limit)
			}
			r, err := BootstrapMean(x, BootstrapOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Exact {
				t.Fatalf("not exact: %v", r.Interval.Method)
			}
			if r.Interval.Lo <= truth && truth <= r.Interval.Hi {
				hit++
			}
		}
		const nominal = 0.91
		rate := float64(hit) / float64(*studies)
		t.Logf("success %v, scenario sd %v (mean %.1f): coverage %.3f", c.success, c.sd, truth, rate)
		if rate < nominal-3*math.Sqrt(nominal*(1-nominal)/float64(*studies)) {
			t.Errorf("success %v (mean %.1f): coverage %v", c.success, truth, rate)
		}
	}
}

// TestSizeStopped: with a quarter of A's runs stopped identical agents are
// still told apart in at most 5.5 % of studies.
func TestSizeStopped(t *testing.T) {
	const rounds, n, limit, hazard = 4000, 20, 101, 0.01
	rng := rand.New(rand.NewPCG(77, 4))
	rejected, stopped := 0, 0
	ta, tb, ea, eb := make([]float64, n), make([]float64, n), make([]bool, n), make([]bool, n)
	for range rounds {
		for i := range n {
			effect := rng.NormFloat64() * 0.5
			a := Outcome{Value: successes(rng, logit(0.97), effect, limit)}
			if at := math.Floor(rng.ExpFloat64() / hazard); at <= a.Value && at < limit {
				a.Value, a.Status = at, Stopped
				stopped++
			} else if a.Value == limit {
				a.Status = Capped
			}
			b := Outcome{Value: successes(rng, logit(0.97), effect, limit)}
			if b.Value == limit {
				b.Status = Capped
			}
			ta[i], ea[i] = a.Lifetime()
			tb[i], eb[i] = b.Lifetime()
		}
		r, err := PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.P <= 0.05 {
			rejected++
		}
	}
	if share := float64(stopped) / rounds / n; share < 0.15 || share > 0.35 {
		t.Errorf("%v of A stopped", share)
	}
	// Three Monte Carlo errors above 5 %.
	if rate := float64(rejected) / rounds; rate > 0.05+3*math.Sqrt(0.05*0.95/rounds) || rate < 0.02 {
		t.Errorf("size %v", rate)
	}
}

// TestComparePairOrder: swapping the sides mirrors the result, and the order of
// records changes nothing.
func TestComparePairOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 40 {
		a, b := randomOutcomes(rng), randomOutcomes(rng)
		x, err := ComparePair(a, b, ComparePairOptions{Cap: 12, Force: true})
		if err != nil {
			continue // no shared scenario
		}
		y, err := ComparePair(b, a, ComparePairOptions{Cap: 12, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if x.P != y.P || x.Ahead != y.Behind || x.Level != y.Level || x.Undecided != y.Undecided || math.Abs(x.Diff+y.Diff) > 1e-12 || x.RankBiserial != -y.RankBiserial || x.Bounds != y.Bounds {
			t.Fatalf("%v %v: %+v and %+v", a, b, x, y)
		}
		a = slices.Clone(a)
		rng.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
		z, err := ComparePair(a, b, ComparePairOptions{Cap: 12, Force: true})
		if err != nil || z.P != x.P || z.DiffCI != x.DiffCI || z.Diff != x.Diff {
			t.Fatalf("shuffled: %+v, was %+v", z, x)
		}
	}
}

// randomOutcomes draws a few outcomes with repeats, caps and sometimes stops.
func randomOutcomes(rng *rand.Rand) []Outcome {
	var o []Outcome
	stops := rng.IntN(3) == 0
	for s := range 2 + rng.IntN(9) {
		for k := range 1 + rng.IntN(2) {
			x := Outcome{Scenario: string(rune('a' + s)), Replicate: k, Value: float64(rng.IntN(13))}
			switch {
			case x.Value == 12:
				x.Status = Capped
			case stops && rng.IntN(5) == 0:
				x.Status = Stopped
			}
			o = append(o, x)
		}
	}
	return o
}

// TestSameBytes: property 11, neither the number of processors nor the order of
// records changes a byte of any result.
func TestSameBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	a, b := randomOutcomes(rng), randomOutcomes(rng)
	a[0].Status = Stopped
	var list []Run
	for i := range 12 {
		x := Run{Scenario: string(rune('a' + i))}
		for range rng.IntN(20) {
			x.Attempts = append(x.Attempts, 1+rng.IntN(3))
		}
		list = append(list, x)
	}
	units := [][]float64{{1, 2}, {2, 2, 3}, {1, 1}, {3, 3}, {2, 1}}
	x, y := []float64{3, 1, 4, 1, 5, 9, 2, 6}, []float64{2, 7, 1, 8, 2, 8, 1, 8}
	write := func() string {
		var out []any
		add := func(v any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		add(ComparePair(a, b, ComparePairOptions{Cap: 12, Force: true}))
		add(MeanTurns(a, MeanOptions{Cap: 12}))
		add(Retry(list, RetryOptions{R: 2, Cap: 30, Resamples: 199}))
		add(KrippendorffAlpha(units, AlphaOptions{Scale: Ordinal, Resamples: 199}))
		add(MeanRatio(x, y, BootstrapOptions{Resamples: 199}))
		add(BootstrapStatistic(x, "iqm", InterquartileMean, BootstrapOptions{Resamples: 199}))
		r, err := ResampleScenarios([]Configuration{{"a", a}, {"b", b}}, ResampleOptions{Cap: 12, Resamples: 199, TwoStage: true})
		add(r, err)
		add(r.Ranks(0))
		raw, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	want := write()
	old := runtime.GOMAXPROCS(1)
	one := write()
	runtime.GOMAXPROCS(old)
	if one != want {
		t.Error("one processor gives other bytes")
	}
	rng.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	rng.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	rng.Shuffle(len(x), func(i, j int) { x[i], x[j], y[i], y[j] = x[j], x[i], y[j], y[i] })
	if write() != want {
		t.Error("another order of records gives other bytes")
	}
}
