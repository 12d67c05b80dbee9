package classify

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// testClauses is the table of a service of books, in turn 5: rating is new in this turn, count was renamed to
// quantity in it, and colour is gone since turn 3.
func testClauses() *clauses {
	c := func(n int, kind, title, text string, turns ...int) *clause {
		k := &clause{ID: fmt.Sprintf("c%d", n), Kind: kind, Title: title, Text: text}
		if len(turns) > 0 {
			k.Introduced, k.Changed = turns[0], turns[len(turns)-1]
		}
		return k
	}
	cs := newClauses([]*clause{
		c(1, "health", "health endpoint", "`GET /health` answers 200."),
		c(2, "error_format", "error bodies", "Every answer with status 400 has the body."),
		c(3, "create", "create books", "`POST /books` with a valid object creates a book."),
		c(4, "read", "read book by id", "`GET /books/{id}` answers 200."),
		c(5, "not_found", "unknown book id", "`GET` on `/books/{id}` answers 404."),
		c(6, "list", "list books", "`GET /books` answers 200."),
		c(7, "replace", "replace book", "`PUT /books/{id}` with a valid object."),
		c(8, "update", "update book", "`PATCH /books/{id}` changes the fields."),
		c(9, "delete", "delete book", "`DELETE /books/{id}` answers 204."),
		c(10, "exact_keys", "keys of books", "A complete book has exactly the keys.", 0, 5),
		c(11, "atomic", "refused requests change no books", "A request under `/books` that is answered with an error changes nothing."),
		c(12, "type", "book.title: string", ""),
		c(13, "required", "book.title is required", ""),
		c(14, "not_null", "book.title may not be null", ""),
		c(15, "type", "book.pages: integer", ""),
		c(16, "optional", "book.pages is optional", ""),
		c(17, "nullable", "book.pages may be null", ""),
		c(18, "range", "book.pages is 1 or more", "", 0, 5),
		c(19, "unique", "book.title is unique", "", 3),
		c(20, "gone", "book.colour is gone", "The former field `colour` of a book does not exist any more.", 3),
		c(21, "type", "book.rating: integer", "", 5),
		c(22, "range", "book.rating is from 1 to 5", "", 5),
		c(23, "gone", "book.count is gone", "The former name `count` of a field of a book is unknown now (the field is called `quantity`).", 5),
		c(24, "type", "book.quantity: integer", ""),
		c(25, "default", "book.quantity has a default", ""),
		c(26, "create", "create shelves", "`POST /shelves` with a valid object.", 5),
		c(27, "read", "read shelf by id", "`GET /shelves/{id}` answers 200.", 5),
		c(28, "analytics", "analytics book_count", "`GET /analytics/book_count` answers 200.", 2),
		c(29, "type", "book.shelf_id: ref", ""),
		c(30, "ref_exists", "book.shelf_id must exist", ""),
		c(31, "on_delete", "deleting a shelf: book.shelf_id is kept from being deleted", "A shelf cannot be deleted."),
		c(32, "delete", "delete shelf", "`DELETE /shelves/{id}` answers 204.", 5),
	}, 5)
	// Every route is asked for by a check that passes, but those that a case declares dead.
	cs.routes = map[string][]string{}
	for _, r := range []string{"POST /books", "GET /books", "GET /books/{id}", "PUT /books/{id}", "PATCH /books/{id}", "DELETE /books/{id}", "POST /shelves", "GET /analytics/book_count", "DELETE /shelves/{id}"} {
		cs.routes[r] = []string{"passes"}
	}
	return cs
}

// failing is one failing check.
func failing(id, clause, category, intent, mutation, request, expected, actual string) *logs.CheckRow {
	return &logs.CheckRow{Episode: "000000000000", Turn: 5, Check: id, Clauses: []string{clause}, Category: category, Intent: intent, Mutation: mutation,
		Status: "fail", Age: "old", LastPassedTurn: ptr(4), Request: request, Expected: expected, Actual: actual}
}

func always(*clause, *Group) bool { return true }

func TestContractRows(t *testing.T) {
	tests := []struct {
		name      string
		check     *logs.CheckRow
		dead      string // a route that no check gets an answer from
		row       string
		mechanism string
		clause    string
		leaf      string
	}{
		{"no answer", failing("k", "c3", "create", "accept", "none", "POST /books {}", "201", "no answer: connection reset"), "", "K02", LeafBrokenServer, "", LeafBrokenServer},
		{"a crash in a handler", failing("k", "c3", "create", "accept", "none", "POST /books {}", "201", "500; body = oops"), "", "K02", LeafBrokenServer, "", LeafForgotten},
		{"a route that is not there", failing("k", "c27", "read", "value", "none", "GET /shelves/3", "200", `404; body = {"error":{"code":"not_found","field":null}}`), "GET /shelves/{id}", "K03", LeafChangeMissed, "c27", LeafChangeMissed},
		{"an old route that is lost", failing("k", "c28", "analytics", "value", "none", "GET /analytics/book_count", "200", "404"), "GET /analytics/book_count", "K03", LeafChangeMissed, "c28", LeafForgotten},
		{"a removed key is returned", failing("k", "c20", "removed", "gone", "extra", `POST /books {"colour":"red","title":"a"}`, "201; colour is not there", `201; colour = "red"`), "", "K04", LeafChangeMissed, "c20", LeafForgotten},
		{"the old name is returned", failing("k", "c10", "keys", "shape", "none", `GET /books/3`, "200; count is not there", `200; count = 4`), "", "K04", LeafChangeMissed, "c23", LeafChangeMissed},
		{"the old name stands for the new", failing("k", "c23", "removed", "gone", "missing", `POST /books {"count":4,"title":"a"}`, "201; quantity = 1", "201; quantity = 4"), "", "K04", LeafChangeMissed, "c23", LeafChangeMissed},
		{"a new key is missing", failing("k", "c3", "create", "accept", "none", `POST /books {"rating":4,"title":"a"}`, "201; rating = 4", "201; rating is missing"), "", "K05", LeafChangeMissed, "c21", LeafChangeMissed},
		{"a renamed key is missing", failing("k", "c3", "create", "accept", "none", `POST /books {"quantity":4,"title":"a"}`, "201; quantity = 4", "201; quantity is missing"), "", "K05", LeafChangeMissed, "c23", LeafChangeMissed},
		{"the old name is asked for", failing("k", "c3", "create", "accept", "none", `POST /books {"quantity":4,"title":"a"}`, "201", `400; body = {"error":{"code":"required","field":"count"}}`), "", "K06", LeafChangeMissed, "c23", LeafChangeMissed},
		{"null is accepted", failing("k", "c14", "null", "reject", "null", `POST /books {"title":null}`, `400; body = {"error":{"code":"null","field":"title"}}`, `201; body = {"id":3,"title":null}`), "", "K08", LeafNullAccepted, "c14", LeafForgotten},
		{"absence is accepted", failing("k", "c13", "required", "reject", "missing", `POST /books {}`, `400; body = {"error":{"code":"required","field":"title"}}`, `201; body = {"id":3,"title":null}`), "", "K08", LeafNullAccepted, "c13", LeafForgotten},
		{"a value out of a range that is new", failing("k", "c22", "range", "reject", "range", `POST /books {"rating":9,"title":"a"}`, `400; body = {"error":{"code":"range","field":"rating"}}`, `201; body = {"id":3}`), "", "K09", LeafTooLax, "c22", LeafTooLax},
		{"a duplicate", failing("k", "c19", "unique", "reject", "unique", `POST /books {"title":"a"}`, `409; body = {"error":{"code":"unique","field":"title"}}`, `201; body = {"id":3}`), "", "K09", LeafTooLax, "c19", LeafForgotten},
		{"a deletion that must be refused", failing("k", "c31", "on_delete", "effect", "guard", `DELETE /shelves/3`, `409; body = {"error":{"code":"restricted","field":null}}`, `204`), "", "K09", LeafTooLax, "c31", LeafForgotten},
		{"an unknown row is deleted", failing("k", "c5", "not_found", "reject", "none", `DELETE /books/900000001`, `404; body = {"error":{"code":"not_found","field":null}}`, `204`), "", "K09", LeafTooLax, "c5", LeafForgotten},
		{"a valid value is refused", failing("k", "c18", "range", "accept", "none", `POST /books {"pages":1,"title":"a"}`, "201", `400; body = {"error":{"code":"range","field":"pages"}}`), "", "K10", LeafTooStrict, "c18", LeafTooStrict},
		{"an unknown key is refused", failing("k", "c10", "keys", "shape", "extra", `POST /books {"surplus":1,"title":"a"}`, "201", `400; body = {"error":{"code":"type","field":null}}`), "", "K10", LeafTooStrict, "c10", LeafTooStrict},
		{"refused for something optional", failing("k", "c12", "type", "reject", "type", `POST /books {"title":4}`, `400; error.code = "type"; error.field = "title"`, `400; error.code = "required"; error.field = "pages"`), "", "K11", LeafTooStrict, "c16", LeafForgotten},
		{"a row that exists is not found", failing("k", "c8", "update", "effect", "none", `PATCH /books/3 {}`, "200", `404; body = {"error":{"code":"not_found","field":null}}`), "", "K12", LeafWrongLogic, "c8", LeafForgotten},
		{"200 for 201", failing("k", "c3", "create", "accept", "none", `POST /books {"title":"a"}`, "201", `200; body = {"id":3}`), "", "K13", LeafWireFormat, "c3", LeafForgotten},
		{"a number as a string", failing("k", "c15", "type", "accept", "none", `POST /books {"pages":12,"title":"a"}`, "201; pages = 12", `201; pages = "12"`), "", "K13", LeafWireFormat, "c15", LeafForgotten},
		{"an undeclared key", failing("k", "c10", "keys", "shape", "none", `GET /books/3`, "200; version is not there", `200; version = 1`), "", "K13", LeafWireFormat, "c10", LeafWireFormat},
		{"an old key is missing", failing("k", "c4", "read", "value", "none", `GET /books/3`, "200; pages = 3", `200; pages is missing`), "", "K13", LeafWireFormat, "c15", LeafForgotten},
		{"no JSON", failing("k", "c4", "read", "value", "none", `GET /books/3`, "200; body is JSON", `200; body is not JSON: <html>`), "", "K13", LeafWireFormat, "c4", LeafForgotten},
		{"another code word", failing("k", "c18", "range", "reject", "range", `POST /books {"pages":0,"title":"a"}`, `400; error.code = "range"`, `400; error.code = "invalid"`), "", "K14", LeafWireFormat, "c18", LeafWireFormat},
		{"400 for 404", failing("k", "c5", "not_found", "reject", "none", `GET /books/900000001`, `404; body = {"error":{"code":"not_found","field":null}}`, `400; body = {"error":{"code":"not_found","field":null}}`), "", "K14", LeafWireFormat, "c5", LeafForgotten},
		{"error bodies without their envelope", failing("k", "c18", "range", "reject", "range", `POST /books {"pages":0,"title":"a"}`, `400; error = an object`, `400; error is missing`), "", "K14", LeafWireFormat, "c2", LeafForgotten},
		{"a wrong value", failing("k", "c28", "analytics", "value", "none", `GET /analytics/book_count`, "200; value = 3", `200; value = 4`), "", "K15", LeafWrongLogic, "c28", LeafForgotten},
		{"a deleted row is still there", failing("k", "c9", "delete", "effect", "none", `GET /books/3`, `404; body = {"error":{"code":"not_found","field":null}}`, `200; body = {"id":3}`), "", "K15", LeafWrongLogic, "c9", LeafForgotten},
		{"the order of a list", failing("k", "c6", "list", "value", "none", `GET /books`, "200; items[0].id = 3", `200; items[0].id = 5`), "", "K15", LeafWrongLogic, "c6", LeafForgotten},
	}
	seen := map[string]bool{"K01": true, "K07": true} // have tests of their own
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cs := testClauses()
			if tt.dead != "" {
				cs.routes[tt.dead] = []string{"k"}
			}
			groups := newContract(Codebook(), cs, []*logs.CheckRow{tt.check}, true).groups(always)
			if len(groups) != 1 {
				t.Fatalf("%d groups", len(groups))
			}
			g := groups[0]
			if g.Row != tt.row || g.Mechanism != tt.mechanism || g.Clause != tt.clause || g.Leaf != tt.leaf {
				t.Errorf("row %s, mechanism %s, clause %q, leaf %s; want %s, %s, %q, %s", g.Row, g.Mechanism, g.Clause, g.Leaf, tt.row, tt.mechanism, tt.clause, tt.leaf)
			}
		})
		seen[tt.row] = true
	}
	for _, r := range Codebook().Contract {
		if !seen[r.ID] {
			t.Errorf("row %s has no test", r.ID)
		}
	}
}

func TestContractUnreachable(t *testing.T) {
	cs := testClauses()
	cs.routes["POST /shelves"] = []string{"a", "b"}
	rows := []*logs.CheckRow{
		failing("a", "c26", "create", "accept", "none", `POST /shelves {}`, "201", "401; body = no"),
		failing("b", "c26", "create", "accept", "none", `POST /shelves {"x":1}`, "201", "401; body = no"),
	}
	groups := newContract(Codebook(), cs, rows, true).groups(always)
	if len(groups) != 1 || groups[0].Row != "K07" || groups[0].Leaf != LeafChangeMissed || groups[0].Clause != "c26" {
		t.Errorf("got %+v", groups[0])
	}
	rows[1].Actual = `400; body = {"error":{"code":"type","field":"x"}}`
	if groups = newContract(Codebook(), cs, rows, true).groups(always); slices.ContainsFunc(groups, func(g *Group) bool { return g.Row == "K07" }) {
		t.Error("two kinds of refusal are no unreachable route")
	}
}

func TestContractNoListener(t *testing.T) {
	row := failing("a", "c3", "create", "accept", "none", `POST /books {}`, "201", "no answer: connection refused")
	groups := newContract(Codebook(), testClauses(), []*logs.CheckRow{row}, false).groups(always)
	if len(groups) != 1 || groups[0].Row != "K01" || groups[0].Mechanism != "infra.server_lifecycle" {
		t.Errorf("got %+v", groups[0])
	}
}

// TestGroups holds the grouping to what it is for: symptoms of all kinds of checks belong to the clause behind them.
func TestGroups(t *testing.T) {
	t.Run("a row that cannot be made", func(t *testing.T) {
		var rows []*logs.CheckRow
		for i := range 6 {
			r := failing(fmt.Sprintf("k4.%d", i), "c4", "read", "value", "none", `POST /books {"title":"a"}`, "201", `400; body = {"error":{"code":"required","field":"pages"}}`)
			r.Status = "error"
			rows = append(rows, r)
		}
		rows = append(rows, failing("k16.missing", "c16", "optional", "value", "missing", `POST /books {"title":"a"}`, "201", `400; body = {"error":{"code":"required","field":"pages"}}`))
		unsent := failing("k6.order", "c6", "list", "value", "none", "GET /books", "200", "no answer: not sent: a row that it needs was not made")
		unsent.Status = "error"
		groups := newContract(Codebook(), testClauses(), append(rows, unsent), true).groups(always)
		if len(groups) != 1 || groups[0].Clause != "c16" || groups[0].Mechanism != LeafTooStrict || len(groups[0].Checks) != 7 {
			t.Errorf("got %+v", groups[0])
		}
	})
	t.Run("rules about a field that is not there", func(t *testing.T) {
		rows := []*logs.CheckRow{
			failing("k21.accept", "c21", "type", "accept", "none", `POST /books {"rating":4,"title":"a"}`, "201; rating = 4", "201; rating is missing"),
			failing("k22.below", "c22", "range", "reject", "range", `POST /books {"rating":0,"title":"a"}`, `400; body = {"error":{"code":"range","field":"rating"}}`, "201; body = {}"),
			failing("k22.above", "c22", "range", "reject", "range", `POST /books {"rating":9,"title":"a"}`, `400; body = {"error":{"code":"range","field":"rating"}}`, "201; body = {}"),
		}
		groups := newContract(Codebook(), testClauses(), rows, true).groups(always)
		if len(groups) != 1 || groups[0].Leaf != LeafChangeMissed || len(groups[0].Checks) != 3 {
			t.Errorf("%d groups, the first is %+v", len(groups), groups[0])
		}
	})
	t.Run("what PUT keeps", func(t *testing.T) {
		put := func(id, clause, key string) *logs.CheckRow {
			return failing(id, clause, "optional", "value", "missing", `PUT /books/3 {"title":"a"}`, "200; "+key+" = null", "200; "+key+" = 7")
		}
		rows := []*logs.CheckRow{put("k16.put_missing", "c16", "pages"), put("k25.put_missing", "c25", "quantity"), put("k7.minimal", "c7", "pages")}
		groups := newContract(Codebook(), testClauses(), rows, true).groups(always)
		if len(groups) != 1 || groups[0].Clause != "c7" || groups[0].Mechanism != LeafWrongLogic {
			t.Errorf("%d groups, the first is %+v", len(groups), groups[0])
		}
	})
	t.Run("most checks first, then the earliest clause", func(t *testing.T) {
		rows := []*logs.CheckRow{
			failing("a", "c19", "unique", "reject", "unique", `POST /books {"title":"a"}`, `409; body = {"error":{"code":"unique","field":"title"}}`, "201"),
			failing("b", "c14", "null", "reject", "null", `POST /books {"title":null}`, `400; body = {"error":{"code":"null","field":"title"}}`, "201"),
			failing("c", "c28", "analytics", "value", "none", `GET /analytics/book_count`, "200; value = 3", "200; value = 4"),
			failing("d", "c28", "analytics", "value", "none", `GET /analytics/book_count`, "200; value = 0", "200; value = null"),
		}
		var got []string
		for _, g := range newContract(Codebook(), testClauses(), rows, true).groups(always) {
			got = append(got, g.Clause)
		}
		if !slices.Equal(got, []string{"c28", "c14", "c19"}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a server that answers 500 now and then", func(t *testing.T) {
		cs := testClauses()
		cs.paths["/shelves"] = "shelf"
		var rows []*logs.CheckRow
		for i, request := range []string{"POST /books {}", "GET /books/3", "GET /shelves/4", "PATCH /books/3 {}"} {
			rows = append(rows, failing(fmt.Sprintf("k%d", i), "c3", "create", "accept", "none", request, "200", "500; body = oops"))
		}
		rows = append(rows, failing("v", "c28", "analytics", "value", "none", `GET /analytics/book_count`, "200; value = 3", "200; value = 2"))
		d := drift{groups: newContract(Codebook(), cs, rows, true).groups(always)}
		if g := d.primary(); g.Leaf != LeafBrokenServer || len(g.Checks) != 4 {
			t.Errorf("got %+v", g)
		}
	})
	t.Run("never satisfied", func(t *testing.T) {
		row := failing("a", "c19", "unique", "reject", "unique", `POST /books {"title":"a"}`, `409; body = {"error":{"code":"unique","field":"title"}}`, "201")
		groups := newContract(Codebook(), testClauses(), []*logs.CheckRow{row}, true).groups(func(*clause, *Group) bool { return false })
		if groups[0].Leaf != LeafTooLax || groups[0].Origin != OriginNeverSatisfied {
			t.Errorf("got %+v", groups[0])
		}
	})
}
