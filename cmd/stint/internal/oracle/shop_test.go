package oracle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func ptrTo[T any](v T) *T { return &v }

// shop is a small API that has every rule once: customers ← orders ← lines and notes, orders ← returns.
func shop(t testing.TB) *scenario.Schema {
	t.Helper()
	f := func(uid, name string, typ scenario.Type) scenario.Field {
		return scenario.Field{UID: uid, Name: name, Type: typ}
	}
	email := f("e1.f1", "email", scenario.String)
	email.Required, email.Unique, email.MinLen, email.MaxLen = true, true, ptrTo(3), ptrTo(12)
	vip := f("e1.f2", "vip", scenario.Boolean)
	vip.Default = &scenario.Value{Bool: true}
	badge := f("e1.f3", "badge", scenario.Integer)
	badge.Nullable, badge.Unique = true, true
	total := f("e2.f1", "total", scenario.Decimal)
	total.Required, total.Min, total.Max = true, ptrTo(int64(5_00)), ptrTo(int64(100_00))
	state := f("e2.f2", "state", scenario.Enum)
	state.Values, state.Default = []string{"open", "paid", "lost"}, &scenario.Value{Str: "open"}
	placed := f("e2.f3", "placed", scenario.Date)
	placed.Nullable, placed.Min = true, ptrTo(int64(10957)) // 2000-01-01
	count := f("e2.f4", "count", scenario.Integer)
	count.Required, count.Nullable, count.Max = true, true, ptrTo(int64(9))
	ref := func(uid, name, target string, policy scenario.OnDelete, required bool) scenario.Field {
		r := f(uid, name, scenario.Ref)
		r.Target, r.OnDelete, r.Required, r.Nullable = target, policy, required, !required
		return r
	}
	text := f("e3.f2", "text", scenario.String)
	text.Nullable = true
	s := &scenario.Schema{
		Domain: "library", Conventions: scenario.Conventions{ItemsKey: "items", TotalKey: "total"}, NextEntity: 5, NextStat: 3, NextGone: 3,
		Entities: []scenario.Entity{
			{UID: "e1", Name: "customer", Plural: "customers", NextField: 3, Fields: []scenario.Field{email, vip, badge}},
			{UID: "e2", Name: "order", Plural: "orders", NextField: 6, Fields: []scenario.Field{total, state, placed, count, ref("e2.f5", "customer_id", "e1", scenario.Cascade, false)}},
			{UID: "e3", Name: "line", Plural: "lines", NextField: 2, Fields: []scenario.Field{ref("e3.f1", "order_id", "e2", scenario.Cascade, true), text}},
			{UID: "e4", Name: "note", Plural: "notes", NextField: 1, Fields: []scenario.Field{ref("e4.f1", "order_id", "e2", scenario.SetNull, false)}},
			{UID: "e5", Name: "claim", Plural: "claims", NextField: 1, Fields: []scenario.Field{ref("e5.f1", "order_id", "e2", scenario.Restrict, true)}},
		},
		Analytics: []scenario.Analytics{
			{UID: "a1", Name: "open_orders", Entity: "e2", Kind: "count", Where: "e2.f2", Equals: &scenario.Value{Str: "open"}},
			{UID: "a2", Name: "order_total_sum", Entity: "e2", Kind: "sum", Measure: "e2.f1"},
			{UID: "a3", Name: "paid_count_sum", Entity: "e2", Kind: "sum", Measure: "e2.f4", Where: "e2.f2", Equals: &scenario.Value{Str: "paid"}},
		},
		Tombstones: []scenario.Tombstone{
			{UID: "t1", Kind: "field", Entity: "e2", Name: "amount", Field: "e2.f1", Type: scenario.Decimal},
			{UID: "t2", Kind: "field", Entity: "e1", Name: "fax", Field: "e1.f9", Type: scenario.String},
		},
	}
	// An operation without effect derives the clause table and validates.
	s, err := scenario.Apply(s, scenario.Operation{Name: "no_behaviour_change"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play sends requests written as "METHOD /path {body}" and returns the last answer as "STATUS JSON".
func play(t testing.TB, i *Interp, script ...string) string {
	t.Helper()
	last := ""
	for _, line := range script {
		method, rest, _ := strings.Cut(line, " ")
		path, body, _ := strings.Cut(rest, " ")
		last = show(t, i.Handle(Request{Method: method, Path: path, Body: []byte(body)}))
	}
	return last
}

func show(t testing.TB, r Response) string {
	t.Helper()
	status := map[int]string{200: "200", 201: "201", 204: "204", 400: "400", 404: "404", 405: "405", 409: "409"}[r.Status]
	if r.Body == nil {
		return status
	}
	b, err := json.Marshal(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return status + " " + string(b)
}

func refusalText(status, code, field string) string {
	if field == "" {
		field = "null"
	} else {
		field = `"` + field + `"`
	}
	return status + ` {"error":{"code":"` + code + `","field":` + field + `}}`
}
