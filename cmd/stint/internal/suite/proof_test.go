package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func suitesOf(t testing.TB, sc *scenario.Scenario) []*Suite {
	t.Helper()
	var suites []*Suite
	for turn := range sc.Steps {
		suites = append(suites, suiteOf(t, sc, turn))
	}
	return suites
}

// TestAccept proves ten scenarios of twelve changes. All mutants die; more is asked for than [MinScore], so that a
// weaker generator shows at once.
func TestAccept(t *testing.T) {
	const seeds = 10
	mutants, checks, requests := 0, 0, 0
	for seed := uint64(1); seed <= seeds; seed++ {
		sc := scenarioOf(t, seed, 12)
		suites := suitesOf(t, sc)
		p, err := Accept(sc, suites)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Err(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, turn := range p.Turns {
			if len(turn.Survivors) > 0 {
				t.Errorf("seed %d, turn %d (%s): survivors %+v", seed, turn.Turn, turn.Operation, turn.Survivors)
			}
			if turn.Mutants < turn.Clauses {
				t.Errorf("seed %d, turn %d: only %d mutants for %d clauses", seed, turn.Turn, turn.Mutants, turn.Clauses)
			}
			mutants += turn.Mutants
			checks += turn.Checks
			requests += turn.Requests
		}
		last := p.Turns[len(p.Turns)-1]
		t.Logf("seed %d: turn 0: %d checks, %d requests; turn 12: %d checks, %d requests", seed, p.Turns[0].Checks, p.Turns[0].Requests, last.Checks, last.Requests)
	}
	if ratio := float64(requests) / float64(checks); ratio > 2.7 {
		t.Errorf("%.2f requests per check", ratio)
	}
	t.Logf("%d mutants killed, %.2f requests per check", mutants, float64(requests)/float64(checks))
}

// TestAcceptRefuses weakens suites in three ways, each of which the proof must see.
func TestAcceptRefuses(t *testing.T) {
	sc := scenarioOf(t, 5, 2)
	check := func(name, want string, spoil func(suites []*Suite)) {
		t.Helper()
		suites := suitesOf(t, sc)
		spoil(suites)
		p, err := Accept(sc, suites)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	check("wrong expectation", "turn 1: the reference fails k3.full", func(s []*Suite) {
		for i := range s[1].Checks {
			if s[1].Checks[i].ID == "k3.full" {
				s[1].Checks[i].Steps[0].Status = 200
			}
		}
	})
	check("too few checks", "turn 2: only", func(s []*Suite) {
		s[2].Checks = slices.DeleteFunc(s[2].Checks, func(c Check) bool { return c.Category == "type" || c.Category == "range" || c.Category == "required" })
	})
	check("nothing about the change", "turn 1: the service of turn 0 passes too", func(s []*Suite) {
		red := map[string]bool{}
		b := &bench{ctx: t.Context(), suite: s[1], schema: sc.Steps[1].Schema}
		failed, err := b.whole(oracle.New(sc.Steps[0].Schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range failed {
			red[id] = true
		}
		s[1].Checks = slices.DeleteFunc(s[1].Checks, func(c Check) bool { return red[c.ID] })
	})
	if _, err := Accept(sc, suitesOf(t, sc)[:1]); err == nil {
		t.Error("a missing suite is no error")
	}
}
