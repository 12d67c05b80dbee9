package suite

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestAccept proves twenty scenarios of ten changes. All mutants die; more is asked for than [MinScore], so that a
// weaker generator shows at once.
func TestAccept(t *testing.T) {
	seeds := uint64(8)
	if os.Getenv("STINT_REQUIRE") != "" { // each costs half a second; .ci/run proves all
		seeds = 20
	}
	mutants, checks, requests := 0, 0, 0
	for seed := uint64(1); seed <= seeds; seed++ {
		sc := scenarioOf(t, seed, 10)
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
		t.Logf("seed %d: turn 0: %d checks, %d requests; turn 10: %d checks, %d requests", seed, p.Turns[0].Checks, p.Turns[0].Requests, last.Checks, last.Requests)
	}
	if ratio := float64(requests) / float64(checks); ratio > 2.7 {
		t.Errorf("%.2f requests per check", ratio)
	}
	t.Logf("%d mutants killed, %.2f requests per check", mutants, float64(requests)/float64(checks))
}

// A proof that is known is not made again, one of other content is; what Done hears is what was proven now.
func TestProveKnown(t *testing.T) {
	m, _ := fileOf(t, 5, 4)
	fresh := 0
	done := func(TurnProof) { fresh++ }
	p, err := Prove(t.Context(), m, ProveOptions{Done: done})
	if err != nil || fresh != 5 {
		t.Fatalf("%d turns proven, %v", fresh, err)
	}
	known := map[string]TurnProof{}
	for _, x := range p.Turns[1:] {
		known[x.Key] = x
	}
	fresh = 0
	again, err := Prove(t.Context(), m, ProveOptions{Known: known, Done: done, Jobs: 1})
	if err != nil || fresh != 1 {
		t.Errorf("%d turns proven, %v", fresh, err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("known proofs give another:\n%s", diff)
	}
	spoiled := *m.Suites[2]
	spoiled.Checks = spoiled.Checks[1:]
	m.Suites[2] = &spoiled
	fresh = 0
	if _, err = Prove(t.Context(), m, ProveOptions{Known: known, Done: done}); err != nil || fresh != 2 {
		t.Errorf("with another suite %d turns are proven, %v", fresh, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prove(ended, m, ProveOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A kept proof comes back as it was; what is not whole is left aside.
func TestKeptProofs(t *testing.T) {
	dir := t.TempDir()
	turns := []TurnProof{
		{Turn: 0, Key: "a", Mutants: 3, Killed: 3, Survivors: []oracle.Fault{}, Reference: []string{}},
		{Turn: 1, Key: "b", Mutants: 3, Killed: 2, Survivors: []oracle.Fault{{Kind: "strict", Subject: "e1"}}, Reference: []string{}},
		{Turn: 2, Key: "c", Mutants: 9, Killed: 2, Survivors: []oracle.Fault{}, Reference: []string{}}, // survivors were taken away
	}
	if got := ReadProofs(dir, "s01"); len(got) != 0 {
		t.Errorf("proofs from nowhere: %v", got)
	}
	if err := WriteProofs(dir, "s01", turns); err != nil {
		t.Fatal(err)
	}
	want := map[string]TurnProof{"a": turns[0], "b": turns[1]}
	if diff := cmp.Diff(want, ReadProofs(dir, "s01")); diff != "" {
		t.Error(diff)
	}
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
