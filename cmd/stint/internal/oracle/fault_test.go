package oracle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

const annOut = `{"badge":null,"email":"ann","id":1,"vip":true}`

// faultCase is a fault, a script and the wrong answer to its last request.
type faultCase struct {
	kind, subject, param string
	script               []string
	want                 string
}

func fieldFaults() []faultCase {
	return []faultCase{
		{Permissive, "e1.f1", "type", []string{`POST /customers {"email":5}`}, `201 {"badge":null,"email":5,"id":1,"vip":true}`},
		{Permissive, "e1.f1", "length", []string{`POST /customers {"email":"a"}`}, `201 {"badge":null,"email":"a","id":1,"vip":true}`},
		{Permissive, "e1.f1", "required", []string{`POST /customers {}`}, `201 {"badge":null,"email":null,"id":1,"vip":true}`},
		{Permissive, "e1.f1", "not_null", []string{`POST /customers {"email":null}`}, `201 {"badge":null,"email":null,"id":1,"vip":true}`},
		{Permissive, "e2.f1", "range", []string{`POST /orders {"total":1,"count":1}`}, `201 {"count":1,"customer_id":null,"id":1,"placed":null,"state":"open","total":1}`},
		{Permissive, "e2.f2", "enum", []string{`POST /orders {"total":5,"count":1,"state":"x"}`}, `201 {"count":1,"customer_id":null,"id":1,"placed":null,"state":"x","total":5}`},
		{Permissive, "e4.f1", "ref", []string{`POST /notes {"order_id":7}`}, `201 {"id":1,"order_id":7}`},
		{Strict, "e1.f2", "optional", []string{ann}, bad("required", "vip")},
		{Strict, "e4.f1", "nullable", []string{`POST /notes {"order_id":null}`}, bad("null", "order_id")},
		{Strict, "e2.f2", "enum", []string{`POST /orders {"total":5,"count":1,"state":"lost"}`}, bad("enum", "state")},
		{Strict, "e1", "extra", []string{`POST /customers {"email":"ann","x":1}`}, bad("type", "")},
		{OffByOne, "e2.f1", "min", []string{order1[:len(`POST /orders {"total":5`)] + `,"count":1}`}, bad("range", "total")},
		{OffByOne, "e2.f1", "max", []string{`POST /orders {"total":100,"count":1}`}, bad("range", "total")},
		{OffByOne, "e1.f1", "min_len", []string{ann}, bad("length", "email")},
		{OffByOne, "e1.f1", "max_len", []string{`POST /customers {"email":"123456789012"}`}, bad("length", "email")},
		{DefaultIgnored, "e1.f2", "", []string{ann}, `201 {"badge":null,"email":"ann","id":1,"vip":null}`},
		{UniqueIgnored, "e1.f1", "", []string{ann, ann}, `201 {"badge":null,"email":"ann","id":2,"vip":true}`},
		{UniqueIgnored, "e1.f1", "update", []string{ann, ann}, refusalText("409", "unique", "email")},
		{UniqueIgnored, "e1.f1", "update", []string{ann, `POST /customers {"email":"bob"}`, `PATCH /customers/2 {"email":"ann"}`}, `200 {"badge":null,"email":"ann","id":2,"vip":true}`},
		{UniqueSelf, "e1.f1", "", []string{ann, `PATCH /customers/1 {"email":"ann"}`}, refusalText("409", "unique", "email")},
		{UniqueSelf, "e1.f1", "", []string{ann, `PATCH /customers/1 {"vip":true}`}, `200 ` + annOut},
	}
}

func entityFaults() []faultCase {
	notFound := refusalText("404", "not_found", "")
	return []faultCase{
		{PutMerges, "e1", "", []string{`POST /customers {"email":"ann","badge":7}`, `PUT /customers/1 {"email":"eve"}`}, `200 {"badge":7,"email":"eve","id":1,"vip":true}`},
		{PatchResets, "e1", "", []string{ann, `PATCH /customers/1 {"badge":7}`}, `200 {"badge":7,"email":null,"id":1,"vip":null}`},
		{OnDeleteIgnored, "e2.f5", "", []string{ann, order1, "DELETE /customers/1", "GET /orders/1"}, `200 {"count":1,"customer_id":1,"id":1,"placed":null,"state":"open","total":5}`},
		{OnDeleteIgnored, "e3.f1", "deep", []string{ann, order1, `POST /lines {"order_id":1}`, "DELETE /customers/1", "GET /lines/1"}, `200 {"id":1,"order_id":1,"text":null}`},
		{OnDeleteIgnored, "e3.f1", "deep", []string{ann, order1, `POST /lines {"order_id":1}`, "DELETE /orders/1", "GET /lines/1"}, notFound},
		{OnDeleteIgnored, "e5.f1", "", []string{order2, `POST /claims {"order_id":1}`, "DELETE /orders/1"}, `204`},
		{OnDeleteCascade, "e4.f1", "", []string{order2, `POST /notes {"order_id":1}`, "DELETE /orders/1", "GET /notes/1"}, notFound},
		{OnDeleteRestrict, "e4.f1", "", []string{order2, `POST /notes {"order_id":1}`, "DELETE /orders/1"}, refusalText("409", "restricted", "")},
		{FieldMissing, "e1.f2", "", []string{ann}, `201 {"badge":null,"email":"ann","id":1}`},
		{FieldMissing, "e1.f2", "null", []string{ann}, `201 {"badge":null,"email":"ann","id":1,"vip":null}`},
		{EndpointMissing, "e1", "POST", []string{ann}, notFound},
		{EndpointMissing, "e1", "GET", []string{ann, "GET /customers/1"}, notFound},
		{EndpointMissing, "e1", "LIST", []string{ann, "GET /customers"}, notFound},
		{EndpointMissing, "e1", "PUT", []string{ann, `PUT /customers/1 {"email":"ann"}`}, notFound},
		{EndpointMissing, "e1", "PATCH", []string{ann, `PATCH /customers/1 {}`}, notFound},
		{EndpointMissing, "e1", "DELETE", []string{ann, `DELETE /customers/1`}, notFound},
		{EndpointMissing, "a1", "", []string{"GET /analytics/open_orders"}, notFound},
		{OldName, "t1", "accept", []string{`POST /orders {"amount":9,"count":1}`}, `201 {"count":1,"customer_id":null,"id":1,"placed":null,"state":"open","total":9}`},
		{OldName, "t1", "return", []string{`POST /orders {"total":9,"count":1}`}, `201 {"amount":9,"count":1,"customer_id":null,"id":1,"placed":null,"state":"open","total":9}`},
		{OldName, "t2", "return", []string{`POST /customers {"email":"ann","fax":"123"}`, `PATCH /customers/1 {"badge":2}`}, `200 {"badge":2,"email":"ann","fax":"123","id":1,"vip":true}`},
		{WrongStatus, "e1", "create", []string{ann}, `200 ` + annOut},
		{WrongStatus, "e1", "delete", []string{ann, "DELETE /customers/1"}, `200`},
		{WrongStatus, "e1", "not_found", []string{"GET /customers/1"}, refusalText("400", "not_found", "")},
		{WrongStatus, "e1", "delete_unknown", []string{"DELETE /customers/1"}, `204`},
		{WrongStatus, "e1.f1", "unique", []string{ann, ann}, refusalText("400", "unique", "email")},
		{WrongStatus, "e5.f1", "restricted", []string{order2, `POST /claims {"order_id":1}`, "DELETE /orders/1"}, refusalText("400", "restricted", "")},
		{WrongCode, "e1.f1", "length", []string{`POST /customers {"email":"a"}`}, bad("invalid", "email")},
		{WrongCode, "e1.f1", "length", []string{`POST /customers {"email":1}`}, bad("type", "email")},
		{WrongCode, "e1", "not_found", []string{"GET /customers/1"}, refusalText("404", "invalid", "")},
		{WrongCode, "e5.f1", "restricted", []string{order2, `POST /claims {"order_id":1}`, "DELETE /orders/1"}, refusalText("409", "invalid", "")},
		{WrongCode, scenario.API, "flat", []string{`POST /customers {}`}, `400 {"code":"required","field":"email"}`},
		{WrongCode, scenario.API, "text", []string{`POST /customers {}`}, `400 {"error":"required"}`},
		{WrongCode, scenario.API, "no_field", []string{`POST /customers {}`}, bad("required", "")},
		{ExtraKey, "e1", "", []string{ann}, `201 {"badge":null,"email":"ann","id":1,"row_version":1,"vip":true}`},
		{ExtraKey, "e1", "echo", []string{`POST /customers {"email":"ann","x":[1]}`}, `201 {"badge":null,"email":"ann","id":1,"vip":true,"x":[1]}`},
		{ExtraKey, "e1", "echo", []string{`POST /customers {"email":"ann","x":1}`, `PUT /customers/1 {"email":"ann"}`}, `200 ` + annOut},
		{ExtraKey, "e1", "id", []string{`POST /customers {"email":"ann","id":77}`, `POST /customers {"email":"bob"}`}, `201 {"badge":null,"email":"bob","id":78,"vip":true}`},
		{NotAtomic, "e1", "create", []string{`POST /customers {"email":"ann","badge":"x"}`, "GET /customers"}, `200 {"items":[` + annOut + `],"total":1}`},
		{NotAtomic, "e1", "update", []string{ann, `PATCH /customers/1 {"email":"eve","badge":"x"}`, "GET /customers/1"}, `200 {"badge":null,"email":"eve","id":1,"vip":true}`},
		{ListReversed, "e4", "", []string{`POST /notes {}`, `POST /notes {}`, "GET /notes"}, `200 {"items":[{"id":2,"order_id":null},{"id":1,"order_id":null}],"total":2}`},
		{TotalWrong, "e4", "", []string{`POST /notes {}`, "GET /notes"}, `200 {"items":[{"id":1,"order_id":null}],"total":2}`},
		{DeleteSoft, "e1", "", []string{ann, "DELETE /customers/1", "GET /customers/1"}, `200 ` + annOut},
		{DeleteSoft, "e1", "", []string{ann, "DELETE /customers/1", "DELETE /customers/1"}, notFound},
		{AnalyticsWrong, "a1", "where", []string{order2, "GET /analytics/open_orders"}, `200 {"value":1}`},
		{AnalyticsWrong, "a1", "entity=e4", []string{`POST /notes {}`, `POST /notes {}`, "GET /analytics/open_orders"}, `200 {"value":2}`},
		{AnalyticsWrong, "a2", "kind", []string{order2, order2, "GET /analytics/order_total_sum"}, `200 {"value":2}`},
		{AnalyticsWrong, "a2", "measure=e2.f4", []string{`POST /orders {"total":5,"count":8}`, "GET /analytics/order_total_sum"}, `200 {"value":8}`},
		{AnalyticsWrong, "a2", "empty", []string{"GET /analytics/order_total_sum"}, `200 {"value":null}`},
		{AnalyticsWrong, "a2", "cents", []string{order2, "GET /analytics/order_total_sum"}, `200 {"value":7}`},
		{Stale, "e2.f1", "range:min=600;max=", []string{`POST /orders {"total":5.5,"count":1}`}, bad("range", "total")},
		{Stale, "e1.f1", "length:min=;max=2", []string{ann}, bad("length", "email")},
		{Stale, "e2.f2", "enum:values=open,new", []string{`POST /orders {"total":5,"count":1,"state":"paid"}`}, bad("enum", "state")},
		{Stale, "e4.f1", "on_delete:policy=restrict", []string{order2, `POST /notes {"order_id":1}`, "DELETE /orders/1"}, refusalText("409", "restricted", "")},
		{Stale, "e2.f1", "name:amount", []string{`POST /orders {"amount":9,"count":1}`}, `201 {"amount":9,"count":1,"customer_id":null,"id":1,"placed":null,"state":"open"}`},
	}
}

func TestFaults(t *testing.T) {
	for _, c := range slices.Concat(fieldFaults(), entityFaults()) {
		t.Run(c.kind+" "+c.subject+" "+c.param, func(t *testing.T) {
			s := shop(t)
			got := play(t, New(s, Fault{Kind: c.kind, Subject: c.subject, Param: c.param}), c.script...)
			if got != c.want {
				t.Errorf("%q\n got %s\nwant %s", c.script, got, c.want)
			}
			if !KnownFault(c.kind) {
				t.Errorf("kind %s is not known", c.kind)
			}
			if d := cmp.Diff(shop(t), s); d != "" {
				t.Errorf("planting the fault changed the schema:\n%s", d)
			}
		})
	}
	if KnownFault("rude") {
		t.Error("an unknown kind is known")
	}
}

func TestFaultsWithoutSubjectDoNothing(t *testing.T) {
	for _, f := range []Fault{{Kind: Permissive, Subject: "e9.f9", Param: "type"}, {Kind: "rude", Subject: "e1"}, {Kind: OldName, Subject: "t9"}, {Kind: AnalyticsWrong, Subject: "a9", Param: "where"}} {
		if got, want := play(t, New(shop(t), f), ann), `201 {"badge":null,"email":"ann","id":1,"vip":true}`; got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
}

// TestMutantsCoverClauses checks that every clause but health has faults, that they cite it, that the order
// is stable and that every kind is planted somewhere.
func TestMutantsCoverClauses(t *testing.T) {
	s := shop(t)
	before := s.Clone()
	_, total := before.FieldByUID("e2.f1")
	total.Name = "amount"
	*total.Max = 50_00
	before.Tombstones = before.Tombstones[1:]
	before, err := scenario.Apply(before, scenario.Operation{Name: "no_behaviour_change"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]bool)
	for _, c := range s.Clauses {
		fs := FaultsFor(s, before, c)
		if len(fs) == 0 && c.Kind != scenario.KindHealth {
			t.Errorf("no fault for %s (%s)", c.ID, c.Title)
		}
		for _, f := range fs {
			kinds[f.Kind] = true
			if f.Clause != c.ID || !KnownFault(f.Kind) {
				t.Errorf("clause %s: fault %+v", c.ID, f)
			}
		}
	}
	for _, k := range []string{Permissive, Strict, OffByOne, DefaultIgnored, UniqueIgnored, UniqueSelf, PutMerges, PatchResets, OnDeleteIgnored, OnDeleteCascade, OnDeleteRestrict, FieldMissing,
		EndpointMissing, OldName, WrongStatus, WrongCode, ExtraKey, NotAtomic, ListReversed, TotalWrong, DeleteSoft, AnalyticsWrong, Stale} {
		if !kinds[k] {
			t.Errorf("kind %s is never planted", k)
		}
	}
	all := Mutants(s, before)
	if !slices.Equal(all, Mutants(s, before)) {
		t.Error("two calls of Mutants differ")
	}
	seen := make(map[Fault]bool)
	for _, f := range all {
		if seen[f] {
			t.Errorf("fault %+v twice", f)
		}
		seen[f] = true
	}
	for _, want := range []Fault{{Kind: Stale, Subject: "e2.f1", Param: "range:min=5;max=50"}, {Kind: Stale, Subject: "e2.f1", Param: "name:amount"}} {
		if !slices.ContainsFunc(all, func(f Fault) bool {
			return f.Kind == want.Kind && f.Subject == want.Subject && f.Param == want.Param
		}) {
			t.Errorf("mutants lack %+v", want)
		}
	}
}

func TestEquivalentFaultsAreNotListed(t *testing.T) {
	s := shop(t)
	for _, f := range Mutants(s, nil) {
		switch {
		case f.Kind == PutMerges && f.Subject == "e5": // required fields only
			t.Error("put_merges without optional fields")
		case f.Kind == NotAtomic && f.Param == "update" && f.Subject == "e4": // one field
			t.Error("a partial update of a single field")
		case f.Kind == OnDeleteIgnored && f.Param == "deep" && f.Subject == "e2.f5": // customers refer to nothing
			t.Error("a deep cascade from an entity that no cascade reaches")
		case f.Kind == OnDeleteCascade && f.Subject == "e3.f1" || f.Kind == OnDeleteRestrict && f.Subject == "e5.f1":
			t.Errorf("%s against its own policy", f.Kind)
		case f.Kind == Stale:
			t.Errorf("%+v without a turn before", f)
		}
	}
}
