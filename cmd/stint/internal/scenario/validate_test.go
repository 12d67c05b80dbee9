package scenario

import (
	"strings"
	"testing"
)

func TestValidateFinds(t *testing.T) {
	fresh := func() *Schema {
		s := &Schema{
			Domain: "library", Conventions: Conventions{ItemsKey: "items", TotalKey: "total"}, NextEntity: 2, NextStat: 1,
			Entities: []Entity{
				{UID: "e1", Name: "member", Plural: "members", NextField: 1, Fields: []Field{{UID: "e1.f1", Name: "name", Type: String, Required: true}}},
				{UID: "e2", Name: "loan", Plural: "loans", NextField: 4, Fields: []Field{
					{UID: "e2.f1", Name: "days", Type: Integer, Required: true, Min: ptr(int64(1)), Max: ptr(int64(30))},
					{UID: "e2.f2", Name: "state", Type: Enum, Values: []string{"open", "done", "late"}, Default: &Value{Str: "open"}},
					{UID: "e2.f3", Name: "member_id", Type: Ref, Target: "e1", Nullable: true, OnDelete: SetNull},
					{UID: "e2.f4", Name: "mark", Type: String, Required: true, MinLen: ptr(2), MaxLen: ptr(9)},
				}},
			},
			Analytics: []Analytics{{UID: "a1", Name: "open_loans", Entity: "e2", Kind: "count", Where: "e2.f2", Equals: &Value{Str: "open"}}},
		}
		s.deriveClauses(0)
		return s
	}
	if err := fresh().Validate(); err != nil {
		t.Fatal(err)
	}
	loan := func(s *Schema, n int) *Field { return &s.Entities[1].Fields[n] }
	for _, c := range []struct {
		want  string
		spoil func(s *Schema)
	}{
		{"is not e and a number from 1 to 2", func(s *Schema) { s.Entities[1].UID = "e3" }},
		{"is not e2.f and a number from 1 to 4", func(s *Schema) { loan(s, 0).UID = "e2.f05" }},
		{"is not a and a number", func(s *Schema) { s.NextStat = 0 }},
		{"list keys", func(s *Schema) { s.Conventions.TotalKey = "items" }},
		{"0 entities", func(s *Schema) { s.Entities = nil }},
		{"used twice", func(s *Schema) { s.Entities[1].Plural = "members" }},
		{"reserved", func(s *Schema) { loan(s, 0).Name = "id" }},
		{"lower-case", func(s *Schema) { loan(s, 0).Name = "Days" }},
		{"exists twice", func(s *Schema) { loan(s, 0).Name = "state" }},
		{"tombstone", func(s *Schema) { s.bury(&s.Entities[1], loan(s, 0)) }},
		{"unknown type", func(s *Schema) { loan(s, 0).Type = "money" }},
		{"not nullable", func(s *Schema) { loan(s, 0).Required = false }},
		{"required with a default", func(s *Schema) { loan(s, 1).Required = true }},
		{"default breaks", func(s *Schema) { loan(s, 1).Default.Str = "gone" }},
		{"occurs twice", func(s *Schema) { loan(s, 1).Values[2] = "open" }},
		{"1 values", func(s *Schema) { loan(s, 1).Values = []string{"open"} }},
		{"fewer than 3 values", func(s *Schema) { *loan(s, 0).Max = 2 }},
		{"exact numbers", func(s *Schema) { *loan(s, 0).Max = maxSafe }},
		{"length", func(s *Schema) { *loan(s, 3).MaxLen = 3 }},
		{"unique with fewer", func(s *Schema) { loan(s, 0).Unique = true }},
		{"cannot be unique", func(s *Schema) { loan(s, 2).Unique = true }},
		{"characters", func(s *Schema) { loan(s, 3).Unique = true; *loan(s, 3).MaxLen = 5 }},
		{"set-null", func(s *Schema) { loan(s, 2).Nullable = false; loan(s, 2).Required = true }},
		{"on-delete", func(s *Schema) { loan(s, 2).OnDelete = "forget" }},
		{"unknown entity", func(s *Schema) { loan(s, 2).Target = "e7" }},
		{"cycle", func(s *Schema) { loan(s, 2).Target = "e2" }},
		{"with a range", func(s *Schema) { loan(s, 3).Min = ptr(int64(1)) }},
		{"with a length", func(s *Schema) { loan(s, 0).MinLen = ptr(1) }},
		{"list of values", func(s *Schema) { loan(s, 0).Values = []string{"a", "b"} }},
		{"reference target", func(s *Schema) { loan(s, 0).Target = "e1" }},
		{"unknown kind", func(s *Schema) { s.Analytics[0].Kind = "median" }},
		{"measure", func(s *Schema) { s.Analytics[0].Kind = "sum" }},
		{"filter", func(s *Schema) { s.Analytics[0].Equals.Str = "gone" }},
		{"filter", func(s *Schema) { s.Analytics[0].Where = "e1.f1" }},
		{"no clause", func(s *Schema) { s.Clauses[0].Params = "x" }},
		{"clauses for", func(s *Schema) { s.Clauses = s.Clauses[1:] }},
		{"out of order", func(s *Schema) { s.Clauses[0], s.Clauses[1] = s.Clauses[1], s.Clauses[0] }},
		{"no text", func(s *Schema) { s.Clauses[3].Text = "" }},
	} {
		s := fresh()
		c.spoil(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Validate() = %v, want an error with %q", err, c.want)
		}
	}
}

func TestDatesAndDecimals(t *testing.T) {
	for _, c := range []struct {
		text string
		days int64
		ok   bool
	}{
		{"1970-01-01", 0, true}, {"1969-12-31", -1, true}, {"2024-02-29", 19782, true}, {"2023-02-29", 0, false}, {"2024-13-01", 0, false},
		{"2024-1-01", 0, false}, {"2024-01-01T00:00:00Z", 0, false}, {"", 0, false}, {"tomorrow!!", 0, false},
	} {
		days, ok := ParseDate(c.text)
		if days != c.days || ok != c.ok {
			t.Errorf("ParseDate(%q) = %d, %v, want %d, %v", c.text, days, ok, c.days, c.ok)
		}
		if ok && FormatDate(days) != c.text {
			t.Errorf("FormatDate(%d) = %s, want %s", days, FormatDate(days), c.text)
		}
	}
	for hundredths, want := range map[int64]string{0: "0", 5: "0.05", 50: "0.5", 1250: "12.5", 1200: "12", -5: "-0.05", -1234: "-12.34", 100001: "1000.01"} {
		if got := FormatDecimal(hundredths); got != want {
			t.Errorf("FormatDecimal(%d) = %s, want %s", hundredths, got, want)
		}
	}
}
