package python

import (
	"fmt"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// endpoint begins the function of a request, unless a flaw leaves it out.
func (p *program) endpoint(e *scenario.Entity, verb, method, path, function string) bool {
	if p.has(EndpointMissing, e.UID, verb) {
		return false
	}
	p.route(method, path, function)
	p.function(function, "call")
	return true
}

// find writes how a request comes to its row; uid is what a flaw about unknown ids names.
func (p *program) find(e *scenario.Entity, uid, expr string) {
	status, code := p.status(uid, "not_found", 404), p.code(uid, "not_found")
	if status == 404 && code == "not_found" {
		p.line(1, "%s = %s.find(call.row_id)", expr, table(e))
		return
	}
	p.line(1, "%s = %s.rows.get(call.row_id)", expr, table(e))
	p.line(1, "if %s is None:", expr)
	p.line(2, "raise Refused(%d, %s)", status, quote(code))
}

func (p *program) create(e *scenario.Entity) {
	if !p.endpoint(e, "POST", "POST", "/"+e.Plural, "create_"+e.Name) {
		return
	}
	if p.has(NotAtomic, e.UID, "create") {
		p.line(1, "body = call.body()")
		p.line(1, "try:")
		p.line(2, `row = build_%s(body, None, "POST")`, e.Name)
		p.line(1, "except Refused:")
		p.line(2, "%s.add(dict.fromkeys(%s))", table(e), words(fieldNames(e)))
		p.line(2, "raise")
		p.line(1, "%s.add(row)", table(e))
		p.line(1, "check_%s(row, row)", e.Name)
	} else {
		p.line(1, `row = build_%s(call.body(), None, "POST")`, e.Name)
		p.line(1, "%s.add(check_%s(row, None))", table(e), e.Name)
	}
	if p.has(ExtraKey, e.UID, "id") {
		p.line(1, `if type(call.body().get("id")) is int:`)
		p.line(2, `row = %s.rows.pop(row["id"])`, table(e))
		p.line(2, `row["id"] = call.body()["id"]`)
		p.line(2, `%s.rows[row["id"]] = row`, table(e))
	}
	p.line(1, "return %d, show_%s(row)", p.status(e.UID, "create", 201), e.Name)
}

func (p *program) read(e *scenario.Entity) {
	if !p.endpoint(e, "GET", "GET", "/"+e.Plural+"/*", "read_"+e.Name) {
		return
	}
	if p.has(DeleteSoft, e.UID, "") {
		p.line(1, "if call.row_id in %s.deleted:", table(e))
		p.line(2, "return 200, show_%s(%s.deleted[call.row_id])", e.Name, table(e))
	}
	p.find(e, e.UID, "row")
	p.line(1, "return 200, show_%s(row)", e.Name)
}

func (p *program) replace(e *scenario.Entity) {
	if p.endpoint(e, "PUT", "PUT", "/"+e.Plural+"/*", "replace_"+e.Name) {
		p.change(e, "PUT")
	}
}

func (p *program) update(e *scenario.Entity) {
	if p.endpoint(e, "PATCH", "PATCH", "/"+e.Plural+"/*", "update_"+e.Name) {
		p.change(e, "PATCH")
	}
}

// change writes the body of a PUT or PATCH.
func (p *program) change(e *scenario.Entity, method string) {
	p.find(e, e.UID, "old")
	if p.has(NotAtomic, e.UID, "update") {
		p.line(1, "for key in call.body():")
		p.line(2, "try:")
		p.line(3, `new = build_%s({key: call.body()[key]}, old, "PATCH")`, e.Name)
		p.line(3, "old.update(check_%s(new, old))", e.Name)
		p.line(2, "except Refused:")
		p.line(3, "pass")
	}
	p.line(1, "new = build_%s(call.body(), old, %s)", e.Name, quote(method))
	p.line(1, "old.update(check_%s(new, old))", e.Name)
	p.line(1, "return 200, show_%s(old)", e.Name)
}

func (p *program) remove(e *scenario.Entity) {
	if !p.endpoint(e, "DELETE", "DELETE", "/"+e.Plural+"/*", "delete_"+e.Name) {
		return
	}
	if p.has(WrongStatus, e.UID, "delete_unknown") {
		p.line(1, "if call.row_id not in %s.rows:", table(e))
		p.line(2, "return 204, None")
	}
	if p.has(DeleteSoft, e.UID, "") {
		p.line(1, "row = %s.find(call.row_id)", table(e))
	} else {
		p.find(e, e.UID, "row")
	}
	p.line(1, `delete_row(%s, row["id"], REFERENCES)`, table(e))
	if p.has(DeleteSoft, e.UID, "") {
		p.line(1, "%s.deleted[call.row_id] = row", table(e))
	}
	p.line(1, "return %d, None", p.status(e.UID, "delete", 204))
}

// envelope is the body of a list.
func (p *program) envelope(e *scenario.Entity, rows, total string) string {
	if p.has(TotalWrong, e.UID, "") {
		total += " + 1"
	}
	c := p.schema.Conventions
	return fmt.Sprintf("{%s: [show_%s(row) for row in %s], %s: %s}", quote(c.ItemsKey), e.Name, rows, quote(c.TotalKey), total)
}
