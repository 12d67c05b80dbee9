package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// mutantBar is the share of single mutants that must get their leaf; the same share is asked of telling forgotten
// clauses from new ones.
const mutantBar = 0.97

// TestVerdictsOfMutants breaks the reference server in every way it can be broken, grades it with the real suite and
// classifies the failing checks.
func TestVerdictsOfMutants(t *testing.T) {
	t.Parallel()
	const turns = 8
	var leaf, forgotten tally
	kinds := map[string]bool{}
	for seed := range uint64(2) {
		sc, err := scenario.Generate(scenario.Options{Seed: 900 + seed, Changes: turns, Name: "s01"})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range []int{0, 3 + int(seed), turns} {
			m := mutants{t: t, scenario: sc, turn: turn}
			m.run(&leaf, &forgotten, kinds)
		}
	}
	sc, err := scenario.Generate(scenario.Options{Seed: 983, Changes: 20, Name: "s02"})
	if err != nil {
		t.Fatal(err)
	}
	m := mutants{t: t, scenario: sc, turn: 20, only: []scenario.Kind{scenario.KindComputed, scenario.KindState, scenario.KindTransition, scenario.KindAction, scenario.KindGuard, scenario.KindEffect}}
	m.run(&leaf, &forgotten, kinds)
	for _, k := range []string{oracle.ComputedWrong, oracle.StateWrong, oracle.EffectIgnored, oracle.EffectWrong} {
		if !kinds[k] {
			t.Errorf("no fault of kind %s was planted; choose a scenario with more behaviour", k)
		}
	}
	m = mutants{t: t, scenario: listScenario(t), only: []scenario.Kind{scenario.KindFilter, scenario.KindSort, scenario.KindDefaultSort, scenario.KindPage, scenario.KindNested,
		scenario.KindAnalytics, scenario.KindGone, scenario.KindList}}
	m.turn = len(m.scenario.Steps) - 1
	m.run(&leaf, &forgotten, kinds)
	for _, k := range []string{oracle.FilterWrong, oracle.SortWrong, oracle.PageWrong, oracle.NestedWrong, oracle.AnalyticsWrong} {
		if !kinds[k] {
			t.Errorf("no fault of kind %s was planted; choose a scenario with more lists", k)
		}
	}
	t.Logf("leaf %s, forgotten or not %s", leaf, forgotten)
	for what, got := range map[string]tally{"leaf": leaf, "forgotten or not": forgotten} {
		if got.Of < 700 || *got.Share < mutantBar {
			t.Errorf("%s: %s; the bar is %.0f %% of at least 700", what, got, 100*mutantBar)
		}
	}
	if len(kinds) < 20 {
		t.Errorf("only %d kinds of fault were planted", len(kinds))
	}
}

// listScenario is a scenario in which lists and figures change again and again.
func listScenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	names := []string{"add_filter", "add_sort", "add_pagination", "add_relation", "add_nested_route", "change_default_sort", "add_filter", "add_grouped_analytics", "add_analytics",
		"rename_analytics", "add_filter", "add_sort", "add_grouped_analytics", "remove_analytics", "change_page_limits"}
	sc, err := scenario.Generate(scenario.Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	s := sc.Steps[0].Schema
	var ops []scenario.Operation
	for turn, name := range names {
		found := slices.DeleteFunc(scenario.Enumerate(s, r), func(op scenario.Operation) bool { return op.Name != name })
		if len(found) == 0 {
			continue
		}
		op := found[r.IntN(len(found))]
		if s, err = scenario.Apply(s, op, turn+1); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	if sc, err = scenario.Replay(scenario.Options{Seed: 7, Name: "s03"}, ops); err != nil {
		t.Fatal(err)
	}
	return sc
}

// mutants grades all mutants of one turn, each as an attempt of its own.
type mutants struct {
	t        *testing.T
	scenario *scenario.Scenario
	turn     int
	checks   map[string]bool // that passed in the turn before
	only     []scenario.Kind // of clauses; nil = all
}

func (m *mutants) run(leaf, forgotten *tally, kinds map[string]bool) {
	t := m.t
	const id = "0123456789ab"
	d := &logs.RunDir{Root: t.TempDir()}
	sha, s := m.suite(d, id)
	schema := m.scenario.Steps[m.turn].Schema
	var prev *scenario.Schema
	if m.turn > 0 {
		prev = m.scenario.Steps[m.turn-1].Schema
	}
	tables := m.tables(id, sha)
	x := &examiner{row: &tables.Episodes[0], scenario: m.scenario, first: map[planted]int{}}
	faults := slices.DeleteFunc(oracle.Mutants(schema, prev), func(f oracle.Fault) bool {
		c := schema.Clause(f.Clause)
		return m.only != nil && (c == nil || !slices.Contains(m.only, c.Kind))
	})
	for n, f := range faults {
		r, err := suite.RunHandler(context.Background(), s, func() http.Handler { return oracle.Handler(schema, f) })
		if err != nil {
			t.Fatal(err)
		}
		m.failed(tables, id, n, r)
	}
	res, err := classify.Run(context.Background(), d, tables, classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n, f := range faults {
		dec := res.Decision(logs.VerdictKey{Episode: id, Turn: m.turn, Attempt: n})
		if len(dec.Checks) == 0 {
			continue // seen by no check
		}
		kinds[f.Kind] = true
		a := x.faultAnswer(&harness.TruthLine{Turn: m.turn}, harness.TruthPlanted{Kind: f.Kind, Subject: f.Subject, Param: f.Param, Clause: f.Clause})
		if len(a.Mechanisms) == 0 {
			t.Errorf("the crosswalk has no answer for %+v", f)
			continue
		}
		given := deref(dec.Verdict.Leaf)
		leaf.count(a.right(given))
		forgotten.count(a.Forgotten == (given == classify.LeafForgotten))
		if !a.right(given) || a.Forgotten && !slices.Contains(a.Mechanisms, deref(dec.Verdict.Mechanism)) {
			t.Logf("turn %d, %s %s %q on %s: right %s (%v), given %s (%s, clause %s)", m.turn, f.Kind, f.Subject, f.Param, f.Clause, a.leaf(), a.Mechanisms, given, deref(dec.Verdict.Mechanism), deref(dec.Verdict.Clause))
		}
	}
}

// suite stores the suite of the turn where the classifier looks for it.
func (m *mutants) suite(d *logs.RunDir, id string) (sha string, s *suite.Suite) {
	s, err := suite.Generate(m.scenario, m.turn)
	if err != nil {
		m.t.Fatal(err)
	}
	b, err := s.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	blobs, err := logs.OpenBlobs(filepath.Join(d.EpisodeDir(id), "blobs"))
	if err != nil {
		m.t.Fatal(err)
	}
	if sha, err = blobs.Put(b); err != nil {
		m.t.Fatal(err)
	}
	m.checks = map[string]bool{}
	if m.turn > 0 {
		before, err := suite.Generate(m.scenario, m.turn-1)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, c := range before.Checks {
			m.checks[c.ID] = true
		}
	}
	return sha, s
}

// tables are those of an episode that passed every turn before this one.
func (m *mutants) tables(id, sha string) *logs.Tables {
	t := &logs.Tables{Episodes: []logs.EpisodeRow{{Episode: id, Config: "c", Scenario: "s01", Mode: "fail-stop", Session: "continue"}}}
	for n := range m.turn {
		yes := true
		t.Turns = append(t.Turns, logs.TurnRow{Episode: id, Turn: n, Passed: &yes})
	}
	t.Turns = append(t.Turns, logs.TurnRow{Episode: id, Turn: m.turn, SuiteSHA: sha})
	return t
}

// failed adds an attempt that ended in order and was graded so.
func (m *mutants) failed(t *logs.Tables, id string, attempt int, r *suite.Result) {
	no, reason, clean, exit := false, r.Reason, "clean", 0
	t.Attempts = append(t.Attempts, logs.AttemptRow{Episode: id, Turn: m.turn, Attempt: &attempt, Passed: &no, GradeReason: &reason, Completion: &clean, ExitCode: &exit})
	for _, c := range r.Failures {
		t.Checks = append(t.Checks, m.row(id, attempt, c))
	}
}

func (m *mutants) row(id string, attempt int, f suite.Failure) logs.CheckRow {
	c := logs.CheckRow{Episode: id, Turn: m.turn, Attempt: attempt, Check: f.ID, Clauses: f.Clauses, Category: f.Category, Intent: f.Intent, Mutation: f.Mutation, Status: f.Status,
		Introduced: f.Introduced, Age: f.Age, Request: f.Request, Expected: f.Expected, Actual: f.Actual, Confirmed: f.Confirmed}
	if m.checks[f.ID] {
		last := m.turn - 1
		c.LastPassedTurn = &last
	}
	return c
}

// TestCrosswalkEnds holds the other half of the key to the closed list of the simulated agent.
func TestCrosswalkEnds(t *testing.T) {
	for _, end := range []string{"self_kill", "crash", "hang", "oom", "tokens", "empty", "context_overflow", "tool_call", "loop_guard", "compaction"} {
		if classify.Codebook().Leaf(endLeaf(end)) == nil {
			t.Errorf("no leaf for the end %s", end)
		}
	}
	for _, void := range []string{harness.VoidRateLimit, harness.VoidProviderError} {
		if classify.Codebook().Leaf(voidLeaf(void)) == nil {
			t.Errorf("no leaf for the void reason %s", void)
		}
	}
	for old, want := range map[string]string{
		"min=0;max=10 → min=2;max=10": "[drift.too_lax]", "min=2;max=10 → min=0;max=10": "[drift.too_strict]",
		"min=0;max=10 → min=2;max=20": "[drift.too_lax drift.too_strict]", "min=;max=10 → min=0;max=": "[drift.too_lax drift.too_strict]",
	} {
		var before, after string
		fmt.Sscanf(old, "%s → %s", &before, &after)
		if got := fmt.Sprint(replaced(scenario.KindRange, before, after)); got != want {
			t.Errorf("%s: %s, want %s", old, got, want)
		}
	}
}
