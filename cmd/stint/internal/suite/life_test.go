package suite

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// lifeOf draws a scenario in which most operations are about states, commands, formulas, references and collections.
func lifeOf(t testing.TB, seed uint64, changes int) *scenario.Scenario {
	t.Helper()
	names := []string{"add_computed", "add_state_machine", "add_transition", "add_custom_action", "add_effect", "add_guard", "make_relation_required",
		"make_relation_optional", "change_formula", "change_guard", "rename_entity", "remove_entity", "remove_relation", "remove_transition",
		"add_relation", "add_entity", "add_optional_field"}
	r := rand.New(rand.NewPCG(seed, 6))
	s := scenarioOf(t, seed, 0).Steps[0].Schema
	var ops []scenario.Operation
	for turn := 1; turn <= changes; turn++ {
		byName := map[string][]scenario.Operation{}
		for _, op := range scenario.Enumerate(s, r) {
			byName[op.Name] = append(byName[op.Name], op)
		}
		var all []string
		for _, n := range names {
			if len(byName[n]) > 0 {
				all = append(all, n)
			}
		}
		name := all[r.IntN(len(all))]
		op := byName[name][r.IntN(len(byName[name]))]
		next, err := scenario.Apply(s, op, turn)
		if err != nil {
			t.Fatal(err)
		}
		s = next
		ops = append(ops, op)
	}
	sc, err := scenario.Replay(scenario.Options{Seed: seed}, ops)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// TestAcceptLife proves scenarios that are mostly about behaviour: nothing survives.
func TestAcceptLife(t *testing.T) {
	const seeds, changes = 3, 20
	seen := map[string]int{}
	for seed := uint64(1); seed <= seeds; seed++ {
		sc := lifeOf(t, seed, changes)
		for turn := range sc.Steps {
			seen[sc.Steps[turn].Operation.Name]++
			s, err := Generate(sc, turn)
			if err != nil {
				t.Errorf("seed %d, turn %d (%s): %v", seed, turn, sc.Steps[turn].Operation.Title, err)
				break
			}
			p, err := prove(context.Background(), sc, turn, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range p.Survivors {
				t.Errorf("seed %d, turn %d (%s): survivor %+v (%s)", seed, turn, p.Operation, f, sc.Steps[turn].Schema.Clause(f.Clause).Text)
			}
			if err := (&Proof{Turns: []TurnProof{*p}}).Err(); err != nil {
				t.Errorf("seed %d, turn %d (%s): %v", seed, turn, p.Operation, err)
			}
		}
	}
	t.Logf("operations %v", seen)
	for _, want := range []string{"add_computed", "add_state_machine", "add_custom_action", "add_guard", "rename_entity"} {
		if seen[want] == 0 {
			t.Errorf("no %s was drawn", want)
		}
	}
}
