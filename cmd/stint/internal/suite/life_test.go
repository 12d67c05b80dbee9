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
	return drawnFrom(t, scenarioOf(t, seed, 0), rand.New(rand.NewPCG(seed, 6)), changes, names...)
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
