package study

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// expecting is base with expectations and prices of its models.
func expecting(t *testing.T, expect string) string {
	t.Helper()
	return base + "expect:\n" + expect
}

func planned(t *testing.T, text string) *Plan {
	t.Helper()
	s, err := Parse("study.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is declared is multiplied out by adding up turns one at a time, and gives back the mean it was made from.
func TestExpectations(t *testing.T) {
	p := planned(t, expecting(t, "  - {filter: 'model:alpha retries:2', turns: 40, repair: 0.4, tokens: 100k, cached: 0.5, output: 0.1, wall: 3m, disk: 1MiB}\n  - {turns: 4, tokens: 50k, wall: 60s}\n"))
	for i, want := range []struct {
		turns, repair, tokens, seconds float64
		retries                        int
		bytes                          bool
		from                           string
	}{{4, 0, 50e3, 60, 0, false, "line 24"}, {4, 0, 50e3, 60, 0, false, "line 24"}, {40, 0.4, 100e3, 180, 2, true, "line 23"}, {40, 0.4, 100e3, 180, 2, true, "line 23"}} {
		e := p.Configs[i].Expected
		// The failure of a turn that gives this mean, by bisection on the sum of the chances to pass k turns.
		low, high := 0.0, 1.0
		for range 200 {
			mid, sum := (low+high)/2, 0.0
			for k := 1; k <= 101; k++ {
				sum += math.Pow(1-mid, float64(k))
			}
			if sum > want.turns {
				low = mid
			} else {
				high = mid
			}
		}
		fail := low
		first := fail / math.Pow(1-want.repair, float64(want.retries))
		attempts, reach := 0.0, 1.0
		for range 101 {
			open := first
			attempts += reach
			for range want.retries {
				attempts += reach * open
				open *= 1 - want.repair
			}
			reach *= 1 - fail
		}
		attempts *= 20
		if e == nil || math.Abs(*e.Turns-want.turns) > 1e-6 || math.Abs(*e.Attempts/attempts-1) > 1e-6 ||
			math.Abs(*e.Tokens/(attempts*want.tokens)-1) > 1e-6 || math.Abs(*e.Hours*3600/(attempts*want.seconds)-1) > 1e-6 ||
			(e.Bytes != nil) != want.bytes || e.From != want.from || e.USD != nil {
			t.Errorf("%s: %+v", p.Configs[i].Config, e)
		}
	}
}

// Dollars are those of the kinds of tokens, and unknown where the kinds are.
func TestExpectedDollars(t *testing.T) {
	dir := t.TempDir()
	prices := "- {model: alpha, usd_per_mtok: {input: 1, cached: 0.1, cache_write: 1, output: 10}}\n"
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(prices), 0o644); err != nil {
		t.Fatal(err)
	}
	text := expecting(t, "  - {filter: 'model:alpha', turns: 50, tokens: 100k, cached: 0.5, output: 0.1}\n  - {filter: 'model:beta', turns: 50, tokens: 100k, output: 0.1}\n") + "prices: p.yaml\n"
	s, err := Parse(filepath.Join(dir, "study.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	e := p.Configs[0].Expected
	if want := *e.Attempts * (40e3*1 + 50e3*0.1 + 10e3*10) / 1e6; math.Abs(*e.USD/want-1) > 1e-6 {
		t.Errorf("%v dollars, want %v", *e.USD, want)
	}
	if p.Configs[1].Expected.USD != nil {
		t.Error("a model without a price has a cost")
	}
}

// A pilot tells what the same study takes: the plan from it is near what a second run took, and pass rates are never
// those of another model.
func TestLike(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pilot")
	text := "version: 1\nname: pilot\nscenarios: {count: 6, changes: 5}\nconfigs:\n  - {model: [weak, strong], feedback: [minimal, detailed], retries: 1}\nmodels:\n  weak: {simulate: weak, transport: inproc}\n  strong: {simulate: strong, transport: inproc}\n  medium: {simulate: medium, transport: inproc}\n"
	s, err := Parse("study.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), RunOptions{Dir: dir, MaxChecks: 20}); err != nil {
		t.Fatal(err)
	}
	like, err := ReadLike([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	more, err := Parse("study.yaml", []byte(strings.Replace(text, "[weak, strong]", "[weak, strong, medium]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := more.PlanLike(like)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Configs {
		e := c.Expected
		if strings.HasPrefix(c.Config, "medium") {
			if e == nil || e.Turns != nil || e.Attempts != nil {
				t.Errorf("%s: %+v, from %q", c.Config, e, e.From)
			}
			continue
		}
		cell := like.cells[strings.TrimSuffix(c.Config, "/r1")]
		if e.From != strings.TrimSuffix(c.Config, "/r1") || cell == nil || *e.Turns <= 0 || *e.Bytes <= 0 || *e.Hours <= 0 || *e.Tokens != 0 || *e.USD != 0 {
			t.Errorf("%s: %+v", c.Config, e)
		}
		// Each turn that was reached had one first attempt.
		if got, want := *e.Attempts, float64(cell.first+cell.retries); got < want/2 || got > want*2 {
			t.Errorf("%s: %.0f attempts expected, the pilot had %.0f", c.Config, got, want)
		}
	}
	if p.Wall != nil {
		t.Error("the wall time is known although that of a configuration is not")
	}
	if _, err := ReadLike([]string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "--like") {
		t.Errorf("no run: %v", err)
	}
}

// Models are no faster than jobs.per_model lets them be.
func TestExpectedWall(t *testing.T) {
	text := expecting(t, "  - {filter: 'model:alpha', turns: 40, wall: 100s}\n  - {filter: 'model:beta', turns: 4, wall: 1s}\n")
	free := planned(t, text)
	kept := planned(t, strings.Replace(text, "jobs: {episodes: 4}", "jobs: {episodes: 4, per_model: 1}", 1))
	all, alpha := 0.0, 0.0
	for _, c := range free.Configs {
		all += *c.Expected.Hours
		if strings.HasPrefix(c.Config, "alpha") {
			alpha += *c.Expected.Hours
		}
	}
	if math.Abs(*free.Wall-all/4) > 1e-9 || math.Abs(*kept.Wall-alpha) > 1e-9 {
		t.Errorf("%v h and %v h, want %v and %v", *free.Wall, *kept.Wall, all/4, alpha)
	}
}
