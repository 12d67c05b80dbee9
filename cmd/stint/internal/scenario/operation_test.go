package scenario

import (
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnumerateIsValid applies every enumerated instance of several states.
func TestEnumerateIsValid(t *testing.T) {
	for _, c := range []struct {
		seed    uint64
		changes int
	}{{1, 0}, {2, 8}, {3, 20}, {4, 60}} {
		sc := generate(t, Options{Seed: c.seed, Changes: c.changes})
		s := sc.Steps[c.changes].Schema
		pristine := s.Clone()
		ops := Enumerate(s, rand.New(rand.NewPCG(c.seed, 1)))
		if len(ops) < 50 {
			t.Errorf("seed %d: only %d operations", c.seed, len(ops))
		}
		seen := make(map[string]bool)
		for _, op := range ops {
			if seen[op.ID] && op.Name != "no_behaviour_change" {
				t.Errorf("seed %d: %s twice", c.seed, op.ID)
			}
			seen[op.ID] = true
			next, err := Apply(s, op, c.changes+1)
			if err != nil {
				t.Errorf("seed %d: %s (%s): %v", c.seed, op.ID, op.Title, err)
				continue
			}
			added, changed, removed := clauseChanges(s, next)
			if op.Label != "B" && len(added)+len(changed)+len(removed) == 0 {
				t.Errorf("seed %d: %s (%s) changes nothing", c.seed, op.ID, op.Title)
			}
			if text := wording(rand.New(rand.NewPCG(1, 1)), s, next, op); strings.ContainsAny(text, "{}") {
				t.Errorf("seed %d: %s: open place in %q", c.seed, op.ID, text)
			}
		}
		if d := cmp.Diff(pristine, s); d != "" {
			t.Errorf("seed %d: Apply or Enumerate changed its input:\n%s", c.seed, d)
		}
		again := Enumerate(s, rand.New(rand.NewPCG(c.seed, 1)))
		if d := cmp.Diff(ops, again); d != "" {
			t.Errorf("seed %d: the same source gave other operations:\n%s", c.seed, d)
		}
	}
}

// TestOperationsKeepSchemasWellFormed applies an instance of every operation that 200 schemas of all sizes allow, and now
// and then one more on what comes of it. Apply itself validates; here the input must stay as it was, the clauses must be told, and
// every operation must come up.
func TestOperationsKeepSchemasWellFormed(t *testing.T) {
	came := make(map[string]int)
	seeds := uint64(75)
	if os.Getenv("STINT_REQUIRE") != "" { // .ci/run tries all
		seeds = 200
	}
	for seed := range seeds {
		changes := int(seed % 25)
		sc := generate(t, Options{Seed: 7000 + seed, Changes: changes, Schedule: []string{ScheduleStratified, ScheduleIID}[seed%2]})
		s := sc.Steps[changes].Schema
		r := rand.New(rand.NewPCG(seed, 9))
		for depth := range 1 + int(seed%5)/4 {
			pristine := marshal(s)
			next := applyEach(t, s, changes+1+depth, r, came)
			if marshal(s) != pristine {
				t.Fatalf("seed %d: operations changed their input", seed)
			}
			if s = next; s == nil {
				break
			}
		}
	}
	for _, k := range operations() {
		if came[k.name] == 0 {
			t.Errorf("%s is never possible", k.name)
		}
	}
	t.Logf("%v", came)
}

// applyEach applies one instance of every operation and returns one of the schemas that come of it.
func applyEach(t *testing.T, s *Schema, turn int, r *rand.Rand, came map[string]int) *Schema {
	t.Helper()
	ops := Enumerate(s, r)
	r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	tried := make(map[string]int)
	var result *Schema
	for _, op := range ops {
		if tried[op.Name]++; tried[op.Name] > 1 {
			continue
		}
		came[op.Name]++
		next, err := Apply(s, op, turn)
		if err != nil {
			t.Errorf("%s (%s): %v", op.ID, op.Title, err)
			continue
		}
		if text := wording(r, s, next, op); strings.ContainsAny(text, "{}") || strings.Contains(text, "``") {
			t.Errorf("%s: open place in %q", op.ID, text)
		}
		if result == nil || r.IntN(10) == 0 {
			result = next
		}
		if r.IntN(8) > 0 {
			continue
		}
		spec := next.spec()
		for i := range next.Clauses {
			if c := &next.Clauses[i]; strings.Count(spec, "- "+c.ID+": "+c.Text+"\n") != 1 {
				t.Errorf("%s: clause %s (%s) is not in the specification once", op.ID, c.ID, c.Title)
			}
		}
	}
	return result
}

// FuzzReplay gives one parameter of a valid operation another value: the result is an error or a well-formed scenario.
func FuzzReplay(f *testing.F) {
	sc, err := Generate(Options{Seed: 11, Changes: 20})
	if err != nil {
		f.Fatal(err)
	}
	s := sc.Steps[20].Schema
	ops := Enumerate(s, rand.New(rand.NewPCG(1, 1)))
	seen := make(map[string]bool)
	for i, op := range ops {
		if seen[op.Name] {
			continue
		}
		seen[op.Name] = true
		for key, value := range op.Params {
			f.Add(i, key, value)
			f.Add(i, key, "")
			f.Add(i, key, "e1.f1")
			f.Add(i, key, `{"uid":"e1.p1"}`)
		}
	}
	f.Fuzz(func(t *testing.T, at int, key, value string) {
		if at < 0 || at >= len(ops) {
			return
		}
		op := ops[at]
		op.Params = maps.Clone(op.Params)
		op.Params[key] = value
		op.ID, op.Title = OperationID(op.Name, op.Params), ""
		next, err := sound(s, &op, 21)
		if err != nil {
			return
		}
		if err := next.Validate(); err != nil {
			t.Errorf("%s %v gives a schema that is not well-formed: %v", op.Name, op.Params, err)
		}
		nextStep(Options{Seed: 1, Delivery: DeliveryDelta}, s, next, op, 21)
	})
}

// applied is the schema after an operation.
func applied(t *testing.T, s *Schema, turn int, name string, params map[string]string) *Schema {
	t.Helper()
	next, err := Apply(s, Operation{Name: name, ID: OperationID(name, params), Params: params}, turn)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestClauseIdentity follows one field through operations: names change texts only, limits change the clause.
func TestClauseIdentity(t *testing.T) {
	s := &Schema{
		Domain: "library", Conventions: Conventions{ItemsKey: "items", TotalKey: "total"}, NextEntity: 1,
		Entities: []Entity{{UID: "e1", Name: "book", Plural: "books", NextField: 2, Fields: []Field{
			{UID: "e1.f1", Name: "title", Type: String, Required: true},
			{UID: "e1.f2", Name: "pages", Type: Integer, Required: true},
		}}},
	}
	s.deriveClauses(0)
	do := func(turn int, name string, params map[string]string) { s = applied(t, s, turn, name, params) }
	typeClause := *s.ClauseOf(KindType, "e1.f2")

	do(1, "set_range", map[string]string{"field": "e1.f2", "min": "1", "max": "500"})
	limits := *s.ClauseOf(KindRange, "e1.f2")
	if limits.Introduced != 1 || limits.Changed != 1 || !strings.Contains(limits.Text, "from 1 to 500, both included") {
		t.Errorf("new range clause %+v", limits)
	}
	do(2, "rename_field", map[string]string{"field": "e1.f2", "name": "page_count"})
	renamed := *s.ClauseOf(KindRange, "e1.f2")
	if renamed.ID != limits.ID || renamed.Changed != 1 || !strings.Contains(renamed.Text, "page_count") || renamed.Title != "book.page_count is from 1 to 500" {
		t.Errorf("after a rename %+v, before %+v", renamed, limits)
	}
	if c := s.ClauseOf(KindType, "e1.f2"); c.ID != typeClause.ID || c.Changed != 0 {
		t.Errorf("type clause after a rename %+v", c)
	}
	gone := s.ClauseOf(KindGone, "t1")
	if gone == nil || gone.Introduced != 2 || !strings.Contains(gone.Text, "`pages`") || !strings.Contains(gone.Text, "called `page_count`") {
		t.Errorf("clause of the former name %+v", gone)
	}
	do(3, "relax_range", map[string]string{"field": "e1.f2", "min": "1", "max": "900"})
	if c := s.ClauseOf(KindRange, "e1.f2"); c.ID != limits.ID || c.Introduced != 1 || c.Changed != 3 {
		t.Errorf("range clause after new limits %+v", c)
	}
	do(4, "make_optional", map[string]string{"field": "e1.f2"})
	if s.ClauseOf(KindRequired, "e1.f2") != nil || s.ClauseOf(KindOptional, "e1.f2") == nil || s.ClauseOf(KindNullable, "e1.f2") == nil || s.ClauseOf(KindNotNull, "e1.f2") != nil {
		t.Error("make_optional left the wrong clauses")
	}
	last := s.NextClause
	do(5, "remove_field", map[string]string{"field": "e1.f2"})
	if s.ClauseOf(KindRange, "e1.f2") != nil || s.NextClause != last+1 {
		t.Errorf("remove_field: range clause %+v, next number %d after %d", s.ClauseOf(KindRange, "e1.f2"), s.NextClause, last)
	}
	if c := s.ClauseOf(KindGone, "t1"); !strings.Contains(c.Text, "does not exist any more") {
		t.Errorf("former name of a removed field: %q", c.Text)
	}
	for _, name := range []string{"pages", "page_count", "title"} {
		if s.free(s.Entity("e1"), name) {
			t.Errorf("name %q is free again", name)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	sc := generate(t, Options{Seed: 3, Changes: 5})
	s := sc.Steps[5].Schema
	first := s.Entities[0].Fields[0].UID
	for _, op := range []Operation{
		{Name: "explode"},
		{Name: "set_range", Params: map[string]string{"field": "e9.f9", "min": "1"}},
		{Name: "set_range", Params: map[string]string{"field": first}},
		{Name: "set_range", Params: map[string]string{"field": first, "min": "x"}},
		{Name: "rename_field", Params: map[string]string{"field": first, "name": "id"}},
		{Name: "rename_field", Params: map[string]string{"field": first, "name": s.Entities[0].Fields[1].Name}},
		{Name: "add_entity", Params: map[string]string{"entity": "{"}},
		{Name: "add_entity", Params: map[string]string{"entity": `{"uid":"e1"}`}},
		{Name: "add_optional_field", Params: map[string]string{"entity": "e1", "field": `{"uid":"e1.f1"}`}},
		{Name: "add_analytics", Params: map[string]string{"analytics": `{"uid":"a77"}`}},
		{Name: "change_on_delete", Params: map[string]string{"field": first, "policy": "cascade"}},
		{Name: "add_enum_value", Params: map[string]string{"field": first}},
	} {
		op.ID = "x"
		if next, err := Apply(s, op, 6); err == nil {
			t.Errorf("Apply(%s %v) gave %v and no error", op.Name, op.Params, next.Entities[0])
		}
	}
}
