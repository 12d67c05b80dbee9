package suite

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// drawnFrom goes on with a scenario by operations of some names alone, each name as likely as the others.
func drawnFrom(t testing.TB, sc *scenario.Scenario, r *rand.Rand, more int, names ...string) *scenario.Scenario {
	t.Helper()
	changes := len(sc.Steps) - 1
	var ops []scenario.Operation
	for _, st := range sc.Steps[1:] {
		ops = append(ops, st.Operation)
	}
	s := sc.Steps[changes].Schema
	for turn := changes + 1; turn <= changes+more; turn++ {
		found := map[string][]scenario.Operation{}
		for _, op := range scenario.Enumerate(s, r) {
			if slices.Contains(names, op.Name) {
				found[op.Name] = append(found[op.Name], op)
			}
		}
		var there []string
		for _, n := range names {
			if len(found[n]) > 0 {
				there = append(there, n)
			}
		}
		if len(there) == 0 {
			break
		}
		list := found[there[r.IntN(len(there))]]
		op := list[r.IntN(len(list))]
		next, err := scenario.Apply(s, op, turn)
		if err != nil {
			t.Fatal(err)
		}
		ops, s = append(ops, op), next
	}
	out, err := scenario.Replay(scenario.Options{Seed: sc.Seed, Name: "s01"}, ops)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// listsFrom goes on with a drawn scenario by operations about lists and figures.
func listsFrom(t testing.TB, seed uint64, changes, more int) *scenario.Scenario {
	t.Helper()
	return drawnFrom(t, scenarioOf(t, seed, changes), rand.New(rand.NewPCG(seed, 4)), more, "add_filter", "add_sort", "add_pagination", "add_nested_route", "change_default_sort", "change_page_limits", "add_analytics",
		"add_grouped_analytics", "change_analytics_filter", "rename_analytics", "remove_analytics", "rename_field")
}

// TestListsAndFigures proves scenarios in which one change of a list or a figure follows another. All mutants die.
func TestListsAndFigures(t *testing.T) {
	mutants := 0
	for seed := uint64(1); seed <= 2; seed++ {
		sc := listsFrom(t, seed, 4, 20)
		mutants += proven(t, sc)
	}
	t.Logf("%d mutants killed", mutants)
}

// proven proves a scenario with nothing left over and returns how many mutants were killed.
func proven(t *testing.T, sc *scenario.Scenario) int {
	t.Helper()
	p, err := Accept(sc, suitesOf(t, sc))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("seed %d: %v", sc.Seed, err)
	}
	mutants := 0
	told := map[string]bool{}
	for _, turn := range p.Turns {
		mutants += turn.Killed
		for _, f := range turn.Survivors {
			if key := f.Kind + f.Subject + f.Param; !told[key] {
				told[key] = true
				t.Errorf("seed %d, turn %d (%s): %+v survives: %s", sc.Seed, turn.Turn, turn.Operation, f, sc.Steps[turn.Turn].Schema.Clause(f.Clause).Text)
			}
		}
	}
	return mutants
}

// TestListChecksDiscriminate looks at one schema with everything that a list can have.
func TestListChecksDiscriminate(t *testing.T) {
	sc := listsFrom(t, 3, 6, 25)
	last := len(sc.Steps) - 1
	s := suiteOf(t, sc, last)
	seen := map[string]int{}
	for _, c := range s.Checks {
		switch c.Category {
		case "filter", "sort", "page", "analytics":
			seen[c.Category+"."+c.Intent]++
			for _, st := range c.Steps {
				if st.Method != "GET" || c.World == Seeded && st.Status == 200 && len(st.Needs) == 0 {
					t.Errorf("check %s: step %+v", c.ID, st)
				}
				if strings.Contains(st.Query, "+") {
					t.Errorf("check %s: query %q", c.ID, st.Query)
				}
			}
		}
	}
	for _, want := range []string{"filter.value", "filter.reject", "sort.value", "sort.reject", "page.value", "page.reject", "analytics.value"} {
		if seen[want] == 0 {
			t.Errorf("no check of %s among %v", want, seen)
		}
	}
}
