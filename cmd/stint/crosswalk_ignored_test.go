package main

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// TestVerdictsOfIgnoredChanges grades the service of the turn before, as an agent leaves it that ignores the change, and
// holds the verdict to the scoring key.
func TestVerdictsOfIgnoredChanges(t *testing.T) {
	var leaf tally
	seen := map[string]bool{}
	for _, seed := range []uint64{920, 921, 922} {
		sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: 18, Name: "s01"})
		if err != nil {
			t.Fatal(err)
		}
		for turn := 1; turn <= 18; turn++ {
			op := sc.Steps[turn].Operation
			if op.Label == "B" {
				continue
			}
			seen[op.Name] = true
			m := mutants{t: t, scenario: sc, turn: turn}
			given, clause := m.ignored()
			want := ignored(sc, turn)
			leaf.count(slices.Contains(want, given))
			if !slices.Contains(want, given) {
				t.Logf("seed %d, turn %d, %s (%s): right %v, given %s (clause %s)", seed, turn, op.ID, op.Title, want, given, clause)
			}
		}
	}
	t.Logf("leaf %s, %d operations", leaf, len(seen))
	if leaf.Of < 45 || *leaf.Share < 0.95 || len(seen) < 20 {
		t.Errorf("leaf %s with %d operations; the bar is 95 %% of at least 45 with 20", leaf, len(seen))
	}
}

// ignored classifies one attempt that left the service of the turn before.
func (m *mutants) ignored() (leaf, clause string) {
	t := m.t
	const id = "0123456789ab"
	d := &logs.RunDir{Root: t.TempDir()}
	sha, s := m.suite(d, id)
	tables := m.tables(id, sha)
	r, err := suite.RunHandler(context.Background(), s, func() http.Handler { return oracle.Handler(m.scenario.Steps[m.turn-1].Schema) })
	if err != nil {
		t.Fatal(err)
	}
	m.failed(tables, id, 0, r)
	res, err := classify.Run(context.Background(), d, tables, classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := res.Decision(logs.VerdictKey{Episode: id, Turn: m.turn, Attempt: 0}).Verdict
	return deref(v.Leaf), deref(v.Clause)
}
