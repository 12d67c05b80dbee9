package python

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func last(t *testing.T, seed uint64, changes int) *scenario.Schema {
	t.Helper()
	sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: changes, Name: "s01"})
	if err != nil {
		t.Fatal(err)
	}
	return sc.Steps[changes].Schema
}

func TestSourceRepeats(t *testing.T) {
	s := last(t, 4, 40)
	before := fmt.Sprintf("%+v", s)
	flaw := Flaw{Kind: PutMerges, Subject: s.Entities[0].UID}
	if !bytes.Equal(Source(s), Source(last(t, 4, 40))) || !bytes.Equal(SourceWith(s, Options{Flaws: []Flaw{flaw}}), SourceWith(s, Options{Flaws: []Flaw{flaw}})) {
		t.Error("the same schema gives different bytes")
	}
	if bytes.Equal(Source(s), SourceWith(s, Options{Flaws: []Flaw{flaw}})) {
		t.Error("a flaw does not show in the source")
	}
	if fmt.Sprintf("%+v", s) != before {
		t.Error("writing the server changed the schema")
	}
	if b := Source(s); bytes.Contains(b, []byte("\t")) || !bytes.HasSuffix(b, []byte("\n")) || !bytes.HasPrefix(b, []byte("#!/usr/bin/env python3\n")) {
		t.Error("the source is no tidy Python file")
	}
}

// compiles has Python read sources without running them.
func compiles(t *testing.T, sources ...[]byte) {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip("needs python3")
	}
	dir := t.TempDir()
	for i, source := range sources {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.py", i)), source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const parse = "import ast, glob, sys\nfor f in sorted(glob.glob(sys.argv[1] + '/*.py')): ast.parse(open(f).read(), f, feature_version=(3, 8))"
	if out, err := exec.Command(program, "-c", parse, dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// whole is a schema with every part that a schema can have, made by hand: the sampler meets some of them rarely.
func whole() *scenario.Schema {
	num := func(v int64) *int64 { return &v }
	return &scenario.Schema{
		Domain: "library", Conventions: scenario.Conventions{ItemsKey: "items", TotalKey: "total"},
		Entities: []scenario.Entity{
			{UID: "e1", Name: "class", Plural: "classes", Fields: []scenario.Field{
				{UID: "e1.f1", Name: "import", Type: scenario.String, Required: true, Pattern: "AAA-999"},
				{UID: "e1.f2", Name: "stock", Type: scenario.Integer, Nullable: true},
				{UID: "e1.f3", Name: "state", Type: scenario.Enum, Required: true, State: true, Values: []string{"open", "closed"}},
				{UID: "e1.f4", Name: "lambda", Type: scenario.Integer, Computed: &scenario.Computed{Kind: scenario.ComputedCount, Inputs: []string{"e2.f1"}}},
				{UID: "e1.f5", Name: "at", Type: scenario.Datetime, Nullable: true},
				{UID: "e1.f6", Name: "until", Type: scenario.Datetime, Nullable: true}},
				Orders: []scenario.Order{{UID: "e1.p1", Low: "e1.f5", High: "e1.f6"}},
				Groups: []scenario.Group{{UID: "e1.p2", Fields: [2]string{"e1.f1", "e1.f2"}}},
				Machine: &scenario.Machine{Field: "e1.f3", Initial: "open", Transitions: []scenario.Transition{{UID: "e1.p3", Name: "close", From: []string{"open"}, To: "closed",
					Guard:   &scenario.Guard{Atoms: []scenario.Atom{{Kind: scenario.AtomChildren, Field: "e2.f1", Value: 2}, {Kind: scenario.AtomField, Field: "e1.f2", Op: ">=", Value: -3}}},
					Effects: []scenario.Effect{{Kind: scenario.EffectAdd, Target: "e1.f2", Amount: -5}}}}},
				Actions: []scenario.Action{{UID: "e1.p4", Name: "pass", Param: &scenario.Param{Name: "yield", Min: 1, Max: 9},
					Effects: []scenario.Effect{{Kind: scenario.EffectSubtract, Target: "e1.f2", Param: true}}}},
				List: scenario.ListOptions{Filters: []scenario.Filter{{Field: "e1.f1", Kind: scenario.FilterContains}, {Field: "e1.f2", Kind: scenario.FilterRange}, {Field: "e1.f3", Kind: scenario.FilterEqual}},
					Sorts: []scenario.SortKey{{Field: "e1.f2"}}, Default: &scenario.DefaultSort{Field: "e1.f1", Desc: true}, Page: &scenario.Page{Default: 3, Max: 10}}},
			{UID: "e2", Name: "table", Plural: "tables", Fields: []scenario.Field{
				{UID: "e2.f1", Name: "class", Type: scenario.Ref, Target: "e1", OnDelete: scenario.SetNull, Nullable: true, Nested: true, Immutable: true},
				{UID: "e2.f2", Name: "price", Type: scenario.Decimal, Required: true, Min: num(-50)},
				{UID: "e2.f3", Name: "day", Type: scenario.Date, Nullable: true, Max: num(20000)},
				{UID: "e2.f4", Name: "good", Type: scenario.Boolean, Default: &scenario.Value{Bool: true}},
				{UID: "e2.f5", Name: "sum", Type: scenario.Decimal, Computed: &scenario.Computed{Kind: scenario.ComputedSum, Inputs: []string{"e2.f2", "e2.f2"}}}},
				Actions: []scenario.Action{{UID: "e2.p1", Name: "exec",
					Guard:   &scenario.Guard{Atoms: []scenario.Atom{{Kind: scenario.AtomParent, Field: "e2.f1", State: "open"}, {Kind: scenario.AtomFields, Field: "e2.f2", Op: "<=", Other: "e2.f2"}}},
					Effects: []scenario.Effect{{Kind: scenario.EffectSet, Ref: "e2.f1", Target: "e1.f2", Amount: 7}}}}},
		},
		Analytics: []scenario.Analytics{
			{UID: "a1", Name: "mean", Entity: "e2", Kind: scenario.StatAvg, Measure: "e2.f2", Where: "e2.f4", Equals: &scenario.Value{Bool: true}},
			{UID: "a2", Name: "best", Entity: "e2", Kind: scenario.StatTop, Group: "e2.f1", Measure: "e2.f2", N: 2},
			{UID: "a3", Name: "range", Entity: "e2", Kind: scenario.StatWindow, Window: "e2.f3"},
			{UID: "a4", Name: "per_class", Entity: "e2", Kind: scenario.StatParent, Group: "e2.f1", Measure: "e2.f2"},
			{UID: "a5", Name: "by_good", Entity: "e2", Kind: scenario.StatGroup, Group: "e2.f4"},
			{UID: "a6", Name: "most", Entity: "e1", Kind: scenario.StatMax, Measure: "e1.f2"},
		},
		Tombstones: []scenario.Tombstone{{UID: "t1", Kind: scenario.GoneField, Entity: "e2", Name: "del", Field: "e2.f2"}},
	}
}

// TestSourceCompiles reads servers as Python 3.8 does: grown ones, one with every part, names that Python keeps for
// itself among them, and one with every flaw.
func TestSourceCompiles(t *testing.T) {
	s := whole()
	var flaws []Flaw
	subjects := []string{"e1", "e1.f1", "e1.f3", "e1.p3", "e1.p4", "e2", "e2.f1", "e2.f2", "e2.f3", "a2", "a3", "t1"}
	sources := [][]byte{Source(s), Source(last(t, 9, 100))}
	for kind, params := range map[string][]string{
		Permissive: {"type", "range", "length", "enum", "required", "not_null", "ref"}, Strict: {"optional", "nullable", "enum", "extra"},
		OffByOne: {"min", "max"}, DefaultIgnored: {""}, PutMerges: {""}, PatchResets: {""}, FieldMissing: {"", "null"}, EndpointMissing: {"LIST"},
		OldName: {"accept", "return"}, WrongStatus: {"create", "delete", "not_found", "delete_unknown"}, WrongCode: {"not_found", "type", "null"},
		ExtraKey: {""}, NotAtomic: {"create", "update"}, ListReversed: {""}, TotalWrong: {""}, DeleteSoft: {""}, AnalyticsWrong: {"kind", "where", "empty", "cents"},
	} {
		for _, param := range params {
			for _, uid := range subjects {
				x := Flaw{kind, uid, param}
				if !x.known() {
					t.Errorf("%+v is not known", x)
				}
				flaws = append(flaws, x)
			}
			sources = append(sources, SourceWith(s, Options{Flaws: flaws[len(flaws)-len(subjects):]}))
		}
	}
	for x, want := range map[Flaw]bool{{"stale", "e1", ""}: false, {OffByOne, "e2.f2", "middle"}: false, {ExtraKey, "e1", "more"}: false, {}: false,
		{OffByOne, "e2.f2", "max"}: false, {PutMerges, "e7", ""}: false, {EndpointMissing, "e1", ""}: false, {EndpointMissing, "e1.p3", ""}: true,
		{OffByOne, "e2.f2", "min"}: true, {PutMerges, "e1", ""}: true, {EndpointMissing, "a1", ""}: true} {
		if x.Supported(s) != want {
			t.Errorf("%+v is supported: %v, want %v", x, !want, want)
		}
	}
	for _, broken := range []string{SwitchExitEarly, SwitchWrongPort, SwitchUnhealthy, SwitchCrash, SwitchFlaky} {
		source := SourceWith(s, Options{Switch: broken, After: 5})
		if bytes.Equal(source, Source(s)) {
			t.Errorf("%s does not show in the source", broken)
		}
		sources = append(sources, source)
	}
	compiles(t, append(sources, SourceWith(s, Options{Flaws: flaws}))...)
	if !strings.HasSuffix(Start(), "\nexec python3 server.py\n") {
		t.Errorf("start.sh is %q", Start())
	}
}
