package scenario

import (
	"regexp"
	"strings"
	"testing"
)

// TestPatterns compares every pattern that operations bring with a regular expression, and its values with each other.
func TestPatterns(t *testing.T) {
	for _, p := range patternForms() {
		if err := checkPattern(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		form := regexp.MustCompile("^" + strings.NewReplacer("A", "[A-Z]", "9", "[0-9]").Replace(p) + `\z`)
		seen := make(map[string]bool)
		for n := range int64(2000) {
			v := PatternValue(p, n*47)
			if seen[v] || !form.MatchString(v) {
				t.Fatalf("%s: value %d is %q, seen before: %v", p, n*47, v, seen[v])
			}
			seen[v] = true
		}
		if PatternValue(p, PatternValues(p)) != PatternValue(p, 0) || PatternValue(p, PatternValues(p)-1) == PatternValue(p, 0) {
			t.Errorf("%s has not %d values", p, PatternValues(p))
		}
		right := PatternValue(p, 12345)
		for _, text := range []string{right, patternExample(p), right + "0", right + "\n", " " + right, right[1:], strings.ToLower(right), "", "É" + right[2:]} {
			if got := MatchesPattern(p, text); got != form.MatchString(text) {
				t.Errorf("MatchesPattern(%s, %q) = %v", p, text, got)
			}
		}
	}
	for p, want := range map[string]string{
		"AAA-999": "three capital letters, a hyphen and three digits", "A-99999": "a capital letter, a hyphen and five digits",
		"AA9999": "two capital letters and four digits", "AA-99-AA": "two capital letters, a hyphen, two digits, a hyphen and two capital letters",
	} {
		if got := patternPhrase(p); got != want {
			t.Errorf("patternPhrase(%s) = %q, want %q", p, got, want)
		}
	}
	for _, p := range []string{"", "-AAAA9", "AAAA9-", "AAA--999", "AAA.999", "aaa-999", "A-99", "AAAAAAAAAAAAAAAAA"} {
		if checkPattern(p) == nil {
			t.Errorf("checkPattern(%q) finds nothing wrong", p)
		}
	}
}

func TestDatetimes(t *testing.T) {
	for _, c := range []struct {
		text    string
		seconds int64
		ok      bool
	}{
		{"1970-01-01T00:00:00Z", 0, true}, {"2024-02-29T23:59:59Z", 1709251199, true}, {"2023-02-29T10:00:00Z", 0, false}, {"2024-05-01T24:00:00Z", 0, false},
		{"2016-12-31T23:59:60Z", 0, false}, {"2024-05-01T12:00:00+00:00", 0, false}, {"2024-05-01T12:00:00", 0, false}, {"2024-05-01T12:00:00.5Z", 0, false},
		{"2024-05-01t12:00:00z", 0, false}, {"2024-05-01 12:00:00Z", 0, false}, {"2024-05-01", 0, false}, {"", 0, false},
	} {
		got, ok := ParseDatetime(c.text)
		if got != c.seconds || ok != c.ok {
			t.Errorf("ParseDatetime(%q) = %d, %v, want %d, %v", c.text, got, ok, c.seconds, c.ok)
		}
		if ok && FormatDatetime(got) != c.text {
			t.Errorf("FormatDatetime(%d) = %s, want %s", got, FormatDatetime(got), c.text)
		}
	}
}

// TestValidateFindsInPairs spoils groups, orders and rules of fields one by one.
func TestValidateFindsInPairs(t *testing.T) {
	fresh := func() *Schema {
		s := &Schema{
			Domain: "library", Conventions: Conventions{ItemsKey: "items", TotalKey: "total"}, NextEntity: 1,
			Entities: []Entity{{UID: "e1", Name: "loan", Plural: "loans", NextField: 7, NextPart: 3, Fields: []Field{
				{UID: "e1.f1", Name: "mark", Type: String, Required: true, Pattern: "AAA-999"},
				{UID: "e1.f2", Name: "desk", Type: Enum, Required: true, Values: []string{"north", "south"}},
				{UID: "e1.f3", Name: "lent_on", Type: Date, Required: true},
				{UID: "e1.f4", Name: "returned_on", Type: Date, Nullable: true},
				{UID: "e1.f5", Name: "note", Type: String, Required: true, Immutable: true},
				{UID: "e1.f6", Name: "seen_at", Type: Datetime, Nullable: true},
				{UID: "e1.f7", Name: "days", Type: Integer, Nullable: true},
			}, Groups: []Group{{UID: "e1.p1", Fields: [2]string{"e1.f1", "e1.f2"}}}, Orders: []Order{{UID: "e1.p2", Low: "e1.f3", High: "e1.f4"}}}},
		}
		s.deriveClauses(0)
		return s
	}
	if err := fresh().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want  string
		spoil func(e *Entity)
	}{
		{"with a pattern", func(e *Entity) { e.Fields[6].Pattern = "AAA-999" }},
		{"exclude each other", func(e *Entity) { e.Fields[0].MinLen = ptr(2) }},
		{"fewer than", func(e *Entity) { e.Fields[0].Pattern = "A-99" }},
		{"datetime with a default", func(e *Entity) { e.Fields[5].Default = &Value{Int: 1} }},
		{"with a range", func(e *Entity) { e.Fields[5].Min = ptr(int64(1)) }},
		{"group e1.p1 is not about", func(e *Entity) { e.Groups[0].Fields[1] = "e1.f1" }},
		{"group e1.p1 is not about", func(e *Entity) { e.Groups[0].Fields[0] = "e1.f9" }},
		{"cannot be unique", func(e *Entity) { e.Groups[0].Fields[0] = "e1.f3" }},
		{"unique by itself", func(e *Entity) { e.Fields[0].Unique = true }},
		{"field of another", func(e *Entity) { e.Groups = append(e.Groups, Group{UID: "e1.p3", Fields: [2]string{"e1.f5", "e1.f2"}}) }},
		{"is in an order", func(e *Entity) {
			e.Fields[2].Type, e.Fields[3].Type = Integer, Integer
			e.Groups[0].Fields[0] = "e1.f3"
		}},
		{"order e1.p2 is not about", func(e *Entity) { e.Orders[0].High = "e1.f3" }},
		{"compares date with datetime", func(e *Entity) { e.Orders[0].High = "e1.f6" }},
		{"has no order", func(e *Entity) { e.Orders[0].High = "e1.f2" }},
		{"ordered with a range", func(e *Entity) { e.Fields[2].Min = ptr(int64(1)) }},
		{"in another order", func(e *Entity) { e.Orders = append(e.Orders, Order{UID: "e1.p3", Low: "e1.f4", High: "e1.f3"}) }},
	} {
		s := fresh()
		c.spoil(&s.Entities[0])
		s.deriveClauses(1)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Validate() = %v, want an error with %q", err, c.want)
		}
	}
}

// TestImmutableChangesWhatPutDoes: a field that can not change is kept by PUT, so the clauses about leaving it out say so.
func TestImmutableChangesWhatPutDoes(t *testing.T) {
	s := &Schema{
		Domain: "library", Conventions: Conventions{ItemsKey: "items", TotalKey: "total"}, NextEntity: 1,
		Entities: []Entity{{UID: "e1", Name: "book", Plural: "books", NextField: 2, Fields: []Field{
			{UID: "e1.f1", Name: "title", Type: String, Required: true}, {UID: "e1.f2", Name: "pages", Type: Integer, Required: true, Min: ptr(int64(5)), Max: ptr(int64(500))},
		}}},
	}
	s.deriveClauses(0)
	do := func(turn int, name string, params map[string]string) { s = applied(t, s, turn, name, params) }
	field := map[string]string{"field": "e1.f2"}
	do(1, "make_immutable", field)
	if c := s.ClauseOf(KindRequired, "e1.f2"); c.Changed != 1 || !strings.Contains(c.Text, "must be in every `POST`.") {
		t.Errorf("required clause %+v", c)
	}
	if c := s.ClauseOf(KindReplace, "e1"); c.Changed != 1 || !strings.Contains(c.Text, "except for `pages`") {
		t.Errorf("replace clause %+v", c)
	}
	do(2, "drop_immutable", field)
	if c := s.ClauseOf(KindReplace, "e1"); c.Changed != 2 || strings.Contains(c.Text, "except") || s.ClauseOf(KindImmutable, "e1.f2") != nil {
		t.Errorf("replace clause %+v", c)
	}
	do(3, "change_type", map[string]string{"field": "e1.f2", "type": "decimal"})
	if _, f := s.FieldByUID("e1.f2"); f.Type != Decimal || *f.Min != 500 || *f.Max != 50000 {
		t.Errorf("after change_type %+v", f)
	}
	if c := s.ClauseOf(KindRange, "e1.f2"); c.Changed != 0 || c.Params != "min=5;max=500" {
		t.Errorf("the limits are the same, but their clause is %+v", c)
	}
	do(4, "make_nullable", field)
	do(5, "make_optional", field)
	do(6, "set_default", map[string]string{"field": "e1.f2", "default": `{"int":750}`})
	if c := s.ClauseOf(KindDefault, "e1.f2"); c.Introduced != 6 || !strings.Contains(c.Text, "is `7.5` then") {
		t.Errorf("default clause %+v", c)
	}
	do(7, "make_non_nullable", field)
	do(8, "drop_default", field)
	if _, f := s.FieldByUID("e1.f2"); !f.Required || f.Default != nil {
		t.Errorf("a field that may not be null lost its default and is %+v", f)
	}
}
