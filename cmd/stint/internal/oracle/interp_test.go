package oracle

import (
	"slices"
	"testing"
)

const (
	ann    = `POST /customers {"email":"ann"}`
	order1 = `POST /orders {"total":5,"count":1,"customer_id":1}`
	order2 = `POST /orders {"total":7.25,"count":null,"state":"paid"}`
)

func bad(code, field string) string { return refusalText("400", code, field) }

// ruleCase is a script and the answer to its last request.
type ruleCase struct {
	name   string
	script []string
	want   string
}

func verbCases() []ruleCase {
	return []ruleCase{
		{"health", []string{"GET /health"}, `200 {"status":"ok"}`},
		{"create fills in", []string{ann}, `201 {"badge":null,"email":"ann","id":1,"vip":true}`},
		{"create full", []string{ann, `POST /orders {"total":99.5,"state":"lost","placed":"2024-02-29","count":9,"customer_id":1}`},
			`201 {"count":9,"customer_id":1,"id":1,"placed":"2024-02-29","state":"lost","total":99.5}`},
		{"ids increase", []string{ann, "DELETE /customers/1", `POST /customers {"email":"bob","id":1}`}, `201 {"badge":null,"email":"bob","id":2,"vip":true}`},
		{"read", []string{ann, "GET /customers/1"}, `200 {"badge":null,"email":"ann","id":1,"vip":true}`},
		{"unknown id", []string{ann, "GET /customers/2"}, refusalText("404", "not_found", "")},
		{"unknown id, PUT", []string{`PUT /customers/2 {"email":"ann"}`}, refusalText("404", "not_found", "")},
		{"unknown id, PATCH", []string{`PATCH /customers/2 {}`}, refusalText("404", "not_found", "")},
		{"unknown id, DELETE", []string{`DELETE /customers/2`}, refusalText("404", "not_found", "")},
		{"unknown path", []string{`GET /dogs`}, refusalText("404", "not_found", "")},
		{"list empty", []string{"GET /customers"}, `200 {"items":[],"total":0}`},
		{"list in order", []string{ann, `POST /customers {"email":"bob"}`, `PATCH /customers/1 {"vip":false}`, "GET /customers"},
			`200 {"items":[{"badge":null,"email":"ann","id":1,"vip":false},{"badge":null,"email":"bob","id":2,"vip":true}],"total":2}`},
		{"replace drops", []string{`POST /customers {"email":"ann","vip":false,"badge":7}`, `PUT /customers/1 {"email":"eve"}`}, `200 {"badge":null,"email":"eve","id":1,"vip":true}`},
		{"replace needs required", []string{ann, `PUT /customers/1 {"vip":false}`}, bad("required", "email")},
		{"update keeps", []string{`POST /customers {"email":"ann","vip":false,"badge":7}`, `PATCH /customers/1 {"email":"eve"}`}, `200 {"badge":7,"email":"eve","id":1,"vip":false}`},
		{"update with nothing", []string{ann, `PATCH /customers/1 {}`}, `200 {"badge":null,"email":"ann","id":1,"vip":true}`},
		{"update null", []string{`POST /customers {"email":"ann","badge":7}`, `PATCH /customers/1 {"badge":null}`}, `200 {"badge":null,"email":"ann","id":1,"vip":true}`},
		{"delete", []string{ann, "DELETE /customers/1"}, `204`},
		{"deleted", []string{ann, "DELETE /customers/1", "GET /customers/1"}, refusalText("404", "not_found", "")},
		{"extra keys", []string{`POST /customers {"email":"ann","id":9,"colour":{"a":[1]},"fax":"1"}`}, `201 {"badge":null,"email":"ann","id":1,"vip":true}`},
		{"last of equal keys", []string{`POST /customers {"email":"ann","email":"bob"}`}, `201 {"badge":null,"email":"bob","id":1,"vip":true}`},
		{"atomic create", []string{`POST /customers {"email":"ann","vip":1}`, "GET /customers"}, `200 {"items":[],"total":0}`},
		{"atomic update", []string{ann, `PATCH /customers/1 {"email":"bob","vip":1}`, "GET /customers/1"}, `200 {"badge":null,"email":"ann","id":1,"vip":true}`},
	}
}

func fieldCases() []ruleCase {
	fullOrder := func(body string) string { return `201 {"count":1,"customer_id":null,"id":1,` + body + `}` }
	return []ruleCase{
		{"string type", []string{`POST /customers {"email":5}`}, bad("type", "email")},
		{"boolean type", []string{`POST /customers {"email":"ann","vip":"true"}`}, bad("type", "vip")},
		{"integer type", []string{`POST /customers {"email":"ann","badge":"5"}`}, bad("type", "badge")},
		{"integer fraction", []string{`POST /customers {"email":"ann","badge":5.5}`}, bad("type", "badge")},
		{"integer list", []string{`POST /customers {"email":"ann","badge":[5]}`}, bad("type", "badge")},
		{"integer exact", []string{`POST /customers {"email":"ann","badge":9007199254740991}`}, `201 {"badge":9007199254740991,"email":"ann","id":1,"vip":true}`},
		{"integer too large", []string{`POST /customers {"email":"ann","badge":9007199254740993}`}, bad("type", "badge")},
		{"decimal type", []string{`POST /orders {"total":"5","count":1}`}, bad("type", "total")},
		{"date type", []string{`POST /orders {"total":5,"count":1,"placed":20240101}`}, bad("type", "placed")},
		{"no such day", []string{`POST /orders {"total":5,"count":1,"placed":"2023-02-29"}`}, bad("type", "placed")},
		{"enum type", []string{`POST /orders {"total":5,"count":1,"state":1}`}, bad("type", "state")},
		{"ref type", []string{`POST /orders {"total":5,"count":1,"customer_id":"1"}`}, bad("type", "customer_id")},
		{"required", []string{`POST /orders {"count":1}`}, bad("required", "total")},
		{"required but null", []string{`POST /orders {"count":null,"total":5}`}, `201 {"count":null,"customer_id":null,"id":1,"placed":null,"state":"open","total":5}`},
		{"null", []string{`POST /orders {"count":1,"total":null}`}, bad("null", "total")},
		{"null with default", []string{`POST /customers {"email":"ann","vip":null}`}, bad("null", "vip")},
		{"null in update", []string{ann, `PATCH /customers/1 {"email":null}`}, bad("null", "email")},
		{"lower limit", []string{`POST /orders {"total":5.00,"count":1}`}, fullOrder(`"placed":null,"state":"open","total":5`)},
		{"below", []string{`POST /orders {"total":4.99,"count":1}`}, bad("range", "total")},
		{"upper limit", []string{`POST /orders {"total":100,"count":1}`}, fullOrder(`"placed":null,"state":"open","total":100`)},
		{"above", []string{`POST /orders {"total":100.01,"count":1}`}, bad("range", "total")},
		{"above in update", []string{order2, `PATCH /orders/1 {"count":10}`}, bad("range", "count")},
		{"first day", []string{`POST /orders {"total":5,"count":1,"placed":"2000-01-01"}`}, fullOrder(`"placed":"2000-01-01","state":"open","total":5`)},
		{"day before", []string{`POST /orders {"total":5,"count":1,"placed":"1999-12-31"}`}, bad("range", "placed")},
		{"shortest", []string{`POST /customers {"email":"äöü"}`}, `201 {"badge":null,"email":"äöü","id":1,"vip":true}`},
		{"too short", []string{`POST /customers {"email":"äö"}`}, bad("length", "email")},
		{"longest", []string{`POST /customers {"email":"123456789012"}`}, `201 {"badge":null,"email":"123456789012","id":1,"vip":true}`},
		{"too long", []string{`POST /customers {"email":"1234567890123"}`}, bad("length", "email")},
		{"unknown value", []string{`POST /orders {"total":5,"count":1,"state":"Open"}`}, bad("enum", "state")},
		{"duplicate", []string{ann, ann}, refusalText("409", "unique", "email")},
		{"other case", []string{ann, `POST /customers {"email":"Ann"}`}, `201 {"badge":null,"email":"Ann","id":2,"vip":true}`},
		{"duplicate in update", []string{ann, `POST /customers {"email":"bob"}`, `PATCH /customers/2 {"email":"ann"}`}, refusalText("409", "unique", "email")},
		{"own value", []string{ann, `PUT /customers/1 {"email":"ann"}`}, `200 {"badge":null,"email":"ann","id":1,"vip":true}`},
		{"free again", []string{ann, "DELETE /customers/1", ann}, `201 {"badge":null,"email":"ann","id":2,"vip":true}`},
		{"unknown target", []string{`POST /orders {"total":5,"count":1,"customer_id":1}`}, bad("reference", "customer_id")},
		{"target deleted", []string{ann, "DELETE /customers/1", `POST /orders {"total":5,"count":1,"customer_id":1}`}, bad("reference", "customer_id")},
	}
}

func storeCases() []ruleCase {
	return []ruleCase{
		{"cascade", []string{ann, order1, order2, `POST /lines {"order_id":1}`, "DELETE /customers/1", "GET /orders"},
			`200 {"items":[{"count":null,"customer_id":null,"id":2,"placed":null,"state":"paid","total":7.25}],"total":1}`},
		{"cascade goes on", []string{ann, order1, `POST /lines {"order_id":1}`, "DELETE /customers/1", "GET /lines"}, `200 {"items":[],"total":0}`},
		{"set null", []string{ann, order1, `POST /notes {"order_id":1}`, "DELETE /customers/1", "GET /notes/1"}, `200 {"id":1,"order_id":null}`},
		{"restrict", []string{order2, `POST /claims {"order_id":1}`, "DELETE /orders/1"}, refusalText("409", "restricted", "")},
		{"restrict below a cascade", []string{ann, order1, order1, `POST /lines {"order_id":1}`, `POST /claims {"order_id":2}`, "DELETE /customers/1"}, refusalText("409", "restricted", "")},
		{"restrict changes nothing", []string{ann, order1, order1, `POST /lines {"order_id":1}`, `POST /notes {"order_id":1}`, `POST /claims {"order_id":2}`, "DELETE /customers/1", "GET /notes/1"},
			`200 {"id":1,"order_id":1}`},
		{"restrict ends", []string{order2, `POST /claims {"order_id":1}`, "DELETE /claims/1", "DELETE /orders/1"}, `204`},

		{"count", []string{order2, ann, order1, "GET /analytics/open_orders"}, `200 {"value":1}`},
		{"sum", []string{order2, order2, `POST /orders {"total":5.3,"count":1}`, "GET /analytics/order_total_sum"}, `200 {"value":19.8}`},
		{"sum leaves out nulls and others", []string{order2, `POST /orders {"total":5,"count":4,"state":"paid"}`, `POST /orders {"total":5,"count":9}`, "GET /analytics/paid_count_sum"}, `200 {"value":4}`},
		{"sum of nothing", []string{order2, "GET /analytics/paid_count_sum"}, `200 {"value":0}`},
		{"unknown figure", []string{"GET /analytics/nothing"}, refusalText("404", "not_found", "")},
		{"old name", []string{`POST /orders {"amount":9,"count":1}`}, bad("required", "total")},
	}
}

func TestRules(t *testing.T) {
	for _, c := range slices.Concat(verbCases(), fieldCases(), storeCases()) {
		t.Run(c.name, func(t *testing.T) {
			if got := play(t, New(shop(t)), c.script...); got != c.want {
				t.Errorf("%q\n got %s\nwant %s", c.script, got, c.want)
			}
		})
	}
}

func TestResetStartsAnew(t *testing.T) {
	i := New(shop(t))
	play(t, i, ann, "DELETE /customers/1")
	i.Reset()
	if got, want := play(t, i, ann), `201 {"badge":null,"email":"ann","id":1,"vip":true}`; got != want {
		t.Errorf("after Reset %s, want %s", got, want)
	}
}

func TestEarlierAnswersStay(t *testing.T) {
	i := New(shop(t))
	before := i.Handle(Request{Method: "POST", Path: "/customers", Body: []byte(`{"email":"ann"}`)})
	play(t, i, `PATCH /customers/1 {"email":"eve"}`)
	if got, want := show(t, before), `201 {"badge":null,"email":"ann","id":1,"vip":true}`; got != want {
		t.Errorf("the first answer is now %s, was %s", got, want)
	}
}

func BenchmarkHandle(b *testing.B) {
	s := shop(b)
	i := New(s)
	play(b, i, ann)
	requests := []Request{
		{Method: "POST", Path: "/orders", Body: []byte(`{"total":12.5,"count":3,"customer_id":1,"placed":"2024-05-06"}`)},
		{Method: "GET", Path: "/orders/1"},
		{Method: "PATCH", Path: "/orders/1", Body: []byte(`{"state":"paid"}`)},
		{Method: "POST", Path: "/orders", Body: []byte(`{"total":1,"count":3}`)},
	}
	for n := 0; b.Loop(); n++ {
		i.Handle(requests[n%len(requests)])
		if n%4000 == 0 {
			i.Reset()
			play(b, i, ann)
		}
	}
}
