package oracle

import (
	"encoding/json"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// office has one entity with a pattern, an immutable field, a group and an order.
func office(t testing.TB) *scenario.Schema {
	t.Helper()
	s := &scenario.Schema{
		Domain: "library", Conventions: scenario.Conventions{ItemsKey: "items", TotalKey: "total"}, NextEntity: 1,
		Entities: []scenario.Entity{{UID: "e1", Name: "loan", Plural: "loans", NextField: 7, NextPart: 2, Fields: []scenario.Field{
			{UID: "e1.f1", Name: "mark", Type: scenario.String, Required: true, Pattern: "AA-9999"},
			{UID: "e1.f2", Name: "desk", Type: scenario.Enum, Nullable: true, Values: []string{"north", "south"}},
			{UID: "e1.f3", Name: "lent_on", Type: scenario.Date, Nullable: true},
			{UID: "e1.f4", Name: "returned_on", Type: scenario.Date, Nullable: true},
			{UID: "e1.f5", Name: "owner", Type: scenario.String, Required: true, Immutable: true},
			{UID: "e1.f6", Name: "colour", Type: scenario.String, Nullable: true, Immutable: true, Default: &scenario.Value{Str: "red"}},
			{UID: "e1.f7", Name: "seen_at", Type: scenario.Datetime, Nullable: true},
		}, Groups: []scenario.Group{{UID: "e1.p1", Fields: [2]string{"e1.f1", "e1.f2"}}}, Orders: []scenario.Order{{UID: "e1.p2", Low: "e1.f3", High: "e1.f4"}}}},
	}
	return s
}

// TestRulesOfFields plays one story; each line is a request and its answer.
func TestRulesOfFields(t *testing.T) {
	i := New(office(t))
	for _, c := range [][4]string{
		{"POST", "/loans", `{"mark":"AB-1234","owner":"ann"}`, `201 {"colour":"red","desk":null,"id":1,"lent_on":null,"mark":"AB-1234","owner":"ann","returned_on":null,"seen_at":null}`},
		{"POST", "/loans", `{"mark":"Ab-1234","owner":"ann"}`, `400 {"error":{"code":"pattern","field":"mark"}}`},
		{"POST", "/loans", `{"mark":"AB-12345","owner":"ann"}`, `400 {"error":{"code":"pattern","field":"mark"}}`},
		{"PATCH", "/loans/1", `{"mark":"AB-123"}`, `400 {"error":{"code":"pattern","field":"mark"}}`},
		// What can not change may be repeated or left out, required or not.
		{"PATCH", "/loans/1", `{"owner":"bob"}`, `409 {"error":{"code":"immutable","field":"owner"}}`},
		{"PATCH", "/loans/1", `{"colour":null}`, `409 {"error":{"code":"immutable","field":"colour"}}`},
		{"PATCH", "/loans/1", `{"owner":"ann","colour":"red"}`, `200 {"colour":"red","desk":null,"id":1,"lent_on":null,"mark":"AB-1234","owner":"ann","returned_on":null,"seen_at":null}`},
		{"PUT", "/loans/1", `{"mark":"AB-1235"}`, `200 {"colour":"red","desk":null,"id":1,"lent_on":null,"mark":"AB-1235","owner":"ann","returned_on":null,"seen_at":null}`},
		{"POST", "/loans", `{"mark":"AB-1235"}`, `400 {"error":{"code":"required","field":"owner"}}`},
		// A pair is unique; null is never the same.
		{"POST", "/loans", `{"mark":"AB-1235","owner":"eve","colour":null}`, `201 {"colour":null,"desk":null,"id":2,"lent_on":null,"mark":"AB-1235","owner":"eve","returned_on":null,"seen_at":null}`},
		{"PUT", "/loans/2", `{"mark":"AB-1235","desk":"north"}`, `200 {"colour":null,"desk":"north","id":2,"lent_on":null,"mark":"AB-1235","owner":"eve","returned_on":null,"seen_at":null}`},
		{"PATCH", "/loans/1", `{"desk":"north"}`, `409 {"error":{"code":"unique","field":null}}`},
		{"PATCH", "/loans/1", `{"desk":"south"}`, `200 {"colour":"red","desk":"south","id":1,"lent_on":null,"mark":"AB-1235","owner":"ann","returned_on":null,"seen_at":null}`},
		{"PATCH", "/loans/2", `{"desk":"north"}`, `200 {"colour":null,"desk":"north","id":2,"lent_on":null,"mark":"AB-1235","owner":"eve","returned_on":null,"seen_at":null}`},
		// The order holds for what the row would be.
		{"PATCH", "/loans/2", `{"lent_on":"2024-05-02"}`, `200 {"colour":null,"desk":"north","id":2,"lent_on":"2024-05-02","mark":"AB-1235","owner":"eve","returned_on":null,"seen_at":null}`},
		{"PATCH", "/loans/2", `{"returned_on":"2024-05-01"}`, `400 {"error":{"code":"order","field":"returned_on"}}`},
		{"PATCH", "/loans/2", `{"returned_on":"2024-05-02"}`, `200 {"colour":null,"desk":"north","id":2,"lent_on":"2024-05-02","mark":"AB-1235","owner":"eve","returned_on":"2024-05-02","seen_at":null}`},
		{"PATCH", "/loans/2", `{"lent_on":"2024-05-03"}`, `400 {"error":{"code":"order","field":"returned_on"}}`},
		// Moments have one form.
		{"PATCH", "/loans/2", `{"seen_at":"2024-02-30T00:00:00Z"}`, `400 {"error":{"code":"type","field":"seen_at"}}`},
		{"PATCH", "/loans/2", `{"seen_at":"2024-05-01T12:00:00+02:00"}`, `400 {"error":{"code":"type","field":"seen_at"}}`},
		{"PATCH", "/loans/2", `{"seen_at":"2024-05-01T12:00:07Z"}`, `200 {"colour":null,"desk":"north","id":2,"lent_on":"2024-05-02","mark":"AB-1235","owner":"eve","returned_on":"2024-05-02","seen_at":"2024-05-01T12:00:07Z"}`},
	} {
		if got := play(t, i, c[0]+" "+c[1]+" "+c[2]); got != c[3] {
			t.Errorf("%s %s %s → %s, want %s", c[0], c[1], c[2], got, c[3])
		}
	}
}

// TestFaultsOfRules shows for each kind of fault a request whose answer it changes, after one row was made.
func TestFaultsOfRules(t *testing.T) {
	s := office(t)
	const first = `{"mark":"AB-1234","owner":"ann","desk":"north","lent_on":"2024-05-02","returned_on":"2024-05-04"}`
	for _, c := range []struct {
		fault      Fault
		method     string
		body       string
		right, got int
	}{
		{Fault{Kind: Permissive, Subject: "e1.f1", Param: "pattern"}, "PATCH", `{"mark":"x"}`, 400, 200},
		{Fault{Kind: PatternMisread, Subject: "e1.f1", Param: "case"}, "PATCH", `{"mark":"ab-1234"}`, 400, 200},
		{Fault{Kind: PatternMisread, Subject: "e1.f1", Param: "after"}, "PATCH", `{"mark":"AB-12345"}`, 400, 200},
		{Fault{Kind: PatternMisread, Subject: "e1.f1", Param: "before"}, "PATCH", `{"mark":"XAB-1234"}`, 400, 200},
		{Fault{Kind: PatternMisread, Subject: "e1.f1", Param: "class"}, "PATCH", `{"mark":"AB-123X"}`, 400, 200},
		{Fault{Kind: LaxUpdate, Subject: "e1.f1", Param: "pattern"}, "PUT", `{"mark":"x"}`, 400, 200},
		{Fault{Kind: LaxUpdate, Subject: "e1.f1", Param: "pattern:PATCH"}, "PUT", `{"mark":"x"}`, 400, 400},
		{Fault{Kind: LaxUpdate, Subject: "e1.f1", Param: "null:PATCH"}, "PATCH", `{"mark":null}`, 400, 200},
		{Fault{Kind: LaxUpdate, Subject: "e1.f1", Param: "required:PUT"}, "PUT", `{}`, 400, 200},
		{Fault{Kind: LaxUpdate, Subject: "e1.f1", Param: "type"}, "PATCH", `{"mark":7}`, 400, 200},
		{Fault{Kind: LaxUpdate, Subject: "e1.f1", Param: "pattern"}, "POST", `{"mark":"x","owner":"bob"}`, 400, 400},
		{Fault{Kind: ImmutableIgnored, Subject: "e1.f5"}, "PUT", `{"mark":"AB-1234","owner":"bob"}`, 409, 200},
		{Fault{Kind: ImmutableIgnored, Subject: "e1.f5", Param: "PATCH"}, "PUT", `{"mark":"AB-1234","owner":"bob"}`, 409, 409},
		{Fault{Kind: ImmutableStrict, Subject: "e1.f5"}, "PATCH", `{"owner":"ann"}`, 200, 409},
		{Fault{Kind: ImmutableReset, Subject: "e1.f5"}, "PUT", `{"mark":"AB-1234"}`, 200, 400},
		{Fault{Kind: WrongStatus, Subject: "e1.f5", Param: "immutable"}, "PATCH", `{"owner":"bob"}`, 409, 400},
		{Fault{Kind: GroupIgnored, Subject: "e1.p1"}, "POST", `{"mark":"AB-1234","owner":"bob","desk":"north"}`, 409, 201},
		{Fault{Kind: GroupIgnored, Subject: "e1.p1", Param: "update"}, "POST", `{"mark":"AB-1234","owner":"bob","desk":"north"}`, 409, 409},
		{Fault{Kind: GroupNarrow, Subject: "e1.p1", Param: "first"}, "POST", `{"mark":"AB-1234","owner":"bob","desk":"south"}`, 201, 409},
		{Fault{Kind: GroupNarrow, Subject: "e1.p1", Param: "second"}, "POST", `{"mark":"AB-9999","owner":"bob","desk":"north"}`, 201, 409},
		{Fault{Kind: UniqueSelf, Subject: "e1.p1"}, "PATCH", `{"desk":"north"}`, 200, 409},
		{Fault{Kind: OrderIgnored, Subject: "e1.p2"}, "POST", `{"mark":"AB-9999","owner":"bob","lent_on":"2024-05-02","returned_on":"2024-05-01"}`, 400, 201},
		{Fault{Kind: OrderIgnored, Subject: "e1.p2", Param: "both"}, "PATCH", `{"lent_on":"2024-06-02"}`, 400, 200},
		{Fault{Kind: OrderIgnored, Subject: "e1.p2", Param: "PUT"}, "PATCH", `{"lent_on":"2024-06-02"}`, 400, 400},
		{Fault{Kind: OrderStrict, Subject: "e1.p2"}, "PATCH", `{"lent_on":"2024-05-04"}`, 200, 400},
		{Fault{Kind: Stale, Subject: "e1.f2", Param: "immutable:"}, "PATCH", `{"desk":"south"}`, 200, 409},
		{Fault{Kind: Stale, Subject: "e1.f1", Param: "pattern:pattern=AA-1239"}, "PATCH", `{"mark":"AB-5239"}`, 200, 400},
	} {
		path := "/loans/1"
		if c.method == "POST" {
			path = "/loans"
		}
		for want, i := range map[int]*Interp{c.right: New(s), c.got: New(s, c.fault)} {
			if made := i.Handle(Request{Method: "POST", Path: "/loans", Body: []byte(first)}); made.Status != 201 {
				t.Fatalf("%+v: the first row: %d", c.fault, made.Status)
			}
			if res := i.Handle(Request{Method: c.method, Path: path, Body: []byte(c.body)}); res.Status != want {
				b, _ := json.Marshal(res.Body)
				t.Errorf("%+v: %s %s → %d %s, want %d", c.fault, c.method, c.body, res.Status, b, want)
			}
		}
		if !KnownFault(c.fault.Kind) {
			t.Errorf("kind %s is unknown", c.fault.Kind)
		}
	}
}

// TestValuesThatFaultsReplace: what is stored in place of null and of a fraction.
func TestValuesThatFaultsReplace(t *testing.T) {
	s := &scenario.Schema{
		Domain: "library", Conventions: scenario.Conventions{ItemsKey: "items", TotalKey: "total"}, NextEntity: 1,
		Entities: []scenario.Entity{{UID: "e1", Name: "loan", Plural: "loans", NextField: 2, Fields: []scenario.Field{
			{UID: "e1.f1", Name: "fee", Type: scenario.Decimal, Nullable: true},
			{UID: "e1.f2", Name: "note", Type: scenario.String, Nullable: true, Default: &scenario.Value{Str: "none"}},
		}}},
	}
	for _, c := range []struct {
		fault      Fault
		body, want string
	}{
		{Fault{}, `{"note":null}`, `{"fee":null,"id":1,"note":null}`},
		{Fault{Kind: ZeroForMissing, Subject: "e1.f1"}, `{}`, `{"fee":0,"id":1,"note":"none"}`},
		{Fault{Kind: DefaultForNull, Subject: "e1.f2"}, `{"note":null}`, `{"fee":null,"id":1,"note":"none"}`},
		{Fault{Kind: CentsLost, Subject: "e1.f1"}, `{"fee":7.35}`, `{"fee":7,"id":1,"note":"none"}`},
		{Fault{Kind: Stale, Subject: "e1.f1", Param: "type:type=integer"}, `{"fee":7.35}`, `{"error":{"code":"type","field":"fee"}}`},
		{Fault{Kind: Stale, Subject: "e1.f2", Param: `default:value="old"`}, `{}`, `{"fee":null,"id":1,"note":"old"}`},
	} {
		res := New(s, c.fault).Handle(Request{Method: "POST", Path: "/loans", Body: []byte(c.body)})
		if b, _ := json.Marshal(res.Body); string(b) != c.want {
			t.Errorf("%+v: %s → %s, want %s", c.fault, c.body, b, c.want)
		}
	}
}
