package suite

import (
	"context"
	"net/http"
	"testing"
)

// BenchmarkRunNoKeepAlive plays a whole suite against the reference behind a listener, one connection per request.
func BenchmarkRunNoKeepAlive(b *testing.B) {
	sc := scenarioOf(b, 2, 12)
	s := suiteOf(b, sc, 12)
	opt := RunOptions{Start: reference(sc.Steps[12].Schema), Client: func(bool) *http.Client { return newClient(false) }}
	requests := 0
	for b.Loop() {
		r, err := Run(context.Background(), s, opt)
		if err != nil || !*r.Passed || r.KeepAlive {
			b.Fatalf("%+v, %v", r, err)
		}
		requests += r.Requests
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkRun lets the probe decide on keep-alive.
func BenchmarkRun(b *testing.B) {
	sc := scenarioOf(b, 2, 12)
	s := suiteOf(b, sc, 12)
	requests := 0
	for b.Loop() {
		r, err := Run(context.Background(), s, RunOptions{Start: reference(sc.Steps[12].Schema)})
		if err != nil || !*r.Passed {
			b.Fatalf("%+v, %v", r, err)
		}
		requests += r.Requests
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkGenerate makes the suite of turn 12.
func BenchmarkGenerate(b *testing.B) {
	sc := scenarioOf(b, 2, 12)
	for b.Loop() {
		if _, err := Generate(sc, 12); err != nil {
			b.Fatal(err)
		}
	}
}

// The benchmarks of turn 100 are about scenario 101: about 1,800 requests.
const longSeed = 101

// BenchmarkGenerateTurn100 makes and encodes the suite of turn 100.
func BenchmarkGenerateTurn100(b *testing.B) {
	sc := scenarioOf(b, longSeed, 100)
	for b.Loop() {
		s, err := Generate(sc, 100)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRunTurn100 plays the whole suite of turn 100 over HTTP against the reference, one server per world.
func BenchmarkRunTurn100(b *testing.B) {
	sc := scenarioOf(b, longSeed, 100)
	s := suiteOf(b, sc, 100)
	requests := 0
	for b.Loop() {
		r, err := Run(context.Background(), s, RunOptions{Start: reference(sc.Steps[100].Schema)})
		if err != nil || !*r.Passed {
			b.Fatalf("%+v, %v", r, err)
		}
		requests += r.Requests
	}
	b.ReportMetric(float64(requests)/float64(b.N), "requests")
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "req/s")
}
