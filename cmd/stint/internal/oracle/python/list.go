package python

import (
	"fmt"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// list writes GET /PLURAL: filters, then the order, then the page.
func (p *program) list(e *scenario.Entity) {
	if !p.endpoint(e, "LIST", "GET", "/"+e.Plural, "list_"+e.Name) {
		return
	}
	p.line(1, "rows = %s.all()", table(e))
	if p.has(ListReversed, e.UID, "") {
		p.line(1, "rows.reverse()")
	}
	for i := range e.List.Filters {
		p.filter(&e.List.Filters[i])
	}
	p.sort(e)
	page := e.List.Page
	if page == nil {
		p.line(1, "return 200, %s", p.envelope(e, "rows", "len(rows)"))
		return
	}
	p.line(1, `limit = query_between(call, "limit", %d, 1, %d)`, page.Default, page.Max)
	p.line(1, `offset = query_between(call, "offset", 0, 0, None)`)
	p.line(1, "page = rows[offset : offset + limit]")
	p.line(1, "return 200, %s", p.envelope(e, "page", "len(rows)"))
}

// filter writes one condition that a list can be asked for.
func (p *program) filter(l *scenario.Filter) {
	_, f := p.schema.FieldByUID(l.Field)
	if f == nil {
		return
	}
	switch l.Kind {
	case scenario.FilterEqual:
		p.parameter(f.Name, f)
		p.line(2, "rows = [row for row in rows if %s == wanted]", cell(f))
	case scenario.FilterRange:
		p.parameter("min_"+f.Name, f)
		p.line(2, "rows = [row for row in rows if %s is not None and %s >= wanted]", cell(f), cell(f))
		p.parameter("max_"+f.Name, f)
		p.line(2, "rows = [row for row in rows if %s is not None and %s <= wanted]", cell(f), cell(f))
	case scenario.FilterContains:
		p.parameter(f.Name+"_contains", f)
		p.line(2, "rows = [row for row in rows if %s is not None and wanted in %s]", cell(f), cell(f))
	}
}

// parameter begins the block of a query parameter that is there; its value is in wanted.
func (p *program) parameter(name string, f *scenario.Field) {
	p.line(1, "text = query_text(call, %s)", quote(name))
	p.line(1, "if text is not None:")
	switch f.Type {
	case scenario.Enum:
		p.line(2, "wanted = query_enum(text, %s, %s)", quote(name), words(f.Values))
	default:
		p.line(2, "wanted = query_%s(text, %s)", queryType(f.Type), quote(name))
	}
}

func queryType(t scenario.Type) string {
	switch t {
	case scenario.Integer, scenario.Ref:
		return "integer"
	case scenario.Decimal:
		return "hundredths"
	}
	return string(t) // string, boolean, date, datetime
}

// sort writes the order of a list.
func (p *program) sort(e *scenario.Entity) {
	var keys []string
	for i := range e.List.Sorts {
		if _, f := p.schema.FieldByUID(e.List.Sorts[i].Field); f != nil {
			keys = append(keys, f.Name)
		}
	}
	otherwise := "if"
	if len(keys) > 0 {
		p.line(1, `sort = query_text(call, "sort")`)
		p.line(1, "if sort is not None:")
		p.line(2, `key = sort[1:] if sort.startswith("-") else sort`)
		p.line(2, "if key not in %s:", words(keys))
		p.line(3, `raise Refused(400, "query", "sort")`)
		p.line(2, `rows = ordered(rows, key, sort.startswith("-"))`)
		otherwise = "else"
	}
	d := e.List.Default
	if d == nil {
		return
	}
	_, f := p.schema.FieldByUID(d.Field)
	if f == nil {
		return
	}
	depth := 1
	if otherwise == "else" {
		p.line(1, "else:")
		depth = 2
	}
	p.line(depth, "rows = ordered(rows, %s, %s)", quote(f.Name), truth(d.Desc))
}

func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// nested writes GET /TARGETS/{id}/PLURAL for the ref fields of an entity that have it.
func (p *program) nested(e *scenario.Entity) {
	for i := range e.Fields {
		f := &e.Fields[i]
		t := p.schema.Entity(f.Target)
		if !f.Nested || t == nil {
			continue
		}
		function := fmt.Sprintf("nested_%s__%s", t.Name, e.Name)
		p.route("GET", "/"+t.Plural+"/*/"+e.Plural, function)
		p.function(function, "call")
		p.find(t, "owner")
		p.line(1, `rows = %s.where(%s, owner["id"])`, table(e), quote(f.Name))
		p.line(1, "return 200, %s", p.envelope(e, "rows", "len(rows)"))
	}
}
