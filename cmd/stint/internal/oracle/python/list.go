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
	total := "len(rows)"
	for i := range e.List.Filters {
		if p.has(FilterWrong, e.List.Filters[i].UID, "total") {
			total = fmt.Sprintf("len(%s.rows)", table(e))
		}
	}
	p.sort(e)
	page := e.List.Page
	if page == nil {
		p.line(1, "return 200, %s", p.envelope(e, "rows", total))
		return
	}
	size := fmt.Sprint(page.Default)
	if p.has(PageWrong, e.UID, "default") {
		size = "len(rows)"
	}
	p.line(1, `limit = query_between(call, "limit", %s, 1, %d)`, size, page.Max)
	p.line(1, `offset = query_between(call, "offset", 0, 0, None)`)
	part := "offset : offset + limit"
	switch {
	case p.has(PageWrong, e.UID, "limit"):
		part = "offset:"
	case p.has(PageWrong, e.UID, "offset"):
		part = ":limit"
	case p.has(PageWrong, e.UID, "shift"):
		part = "max(offset - 1, 0) : max(offset - 1, 0) + limit"
	}
	p.line(1, "page = rows[%s]", part)
	if p.has(PageWrong, e.UID, "total") {
		total = "len(page)"
	}
	p.line(1, "return 200, %s", p.envelope(e, "page", total))
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
		if p.has(FilterWrong, l.UID, "case") && f.Type == scenario.String {
			p.line(2, "rows = [row for row in rows if %s is not None and %s.lower() == wanted.lower()]", cell(f), cell(f))
			return
		}
		p.line(2, "rows = [row for row in rows if %s == wanted]", cell(f))
	case scenario.FilterRange:
		low, high := ">=", "<="
		if p.has(FilterWrong, l.UID, "min") {
			low = ">"
		}
		if p.has(FilterWrong, l.UID, "max") {
			high = "<"
		}
		p.parameter("min_"+f.Name, f)
		p.line(2, "rows = [row for row in rows if %s is not None and %s %s wanted]", cell(f), cell(f), low)
		p.parameter("max_"+f.Name, f)
		p.line(2, "rows = [row for row in rows if %s is not None and %s %s wanted]", cell(f), cell(f), high)
	case scenario.FilterContains:
		p.parameter(f.Name+"_contains", f)
		part := fmt.Sprintf("wanted in %s", cell(f))
		switch {
		case p.has(FilterWrong, l.UID, "case"):
			part = fmt.Sprintf("wanted.lower() in %s.lower()", cell(f))
		case p.has(FilterWrong, l.UID, "prefix"):
			part = fmt.Sprintf("%s.startswith(wanted)", cell(f))
		}
		p.line(2, "rows = [row for row in rows if %s is not None and %s]", cell(f), part)
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
	depth := 1
	if len(keys) > 0 {
		p.line(1, `sort = query_text(call, "sort")`)
		p.line(1, "if sort is not None:")
		p.line(2, `key = sort[1:] if sort.startswith("-") else sort`)
		p.line(2, "if key not in %s:", words(keys))
		if p.has(Permissive, e.List.Sorts[0].UID, "sort") {
			p.line(3, `key = "id"`)
		} else {
			p.line(3, `raise Refused(400, "query", "sort")`)
		}
		p.line(2, `rows = ordered(rows, key, sort.startswith("-"))`)
		p.unsorted(e)
		depth = 2
	}
	d := e.List.Default
	if d == nil {
		return
	}
	_, f := p.schema.FieldByUID(d.Field)
	if f == nil {
		return
	}
	if depth == 2 {
		p.line(1, "else:")
	}
	p.line(depth, "rows = ordered(rows, %s, %s)", quote(f.Name), truth(d.Desc))
	p.disorder(depth, e.UID, f.Name, truth(d.Desc))
}

// unsorted writes what goes wrong with single sort keys.
func (p *program) unsorted(e *scenario.Entity) {
	for i := range e.List.Sorts {
		k := &e.List.Sorts[i]
		if _, f := p.schema.FieldByUID(k.Field); f != nil && p.misorders(k.UID) {
			p.line(2, "if key == %s:", quote(f.Name))
			p.disorder(3, k.UID, f.Name, `sort.startswith("-")`)
		}
	}
}

// misorders reports whether a flaw is about the order that a sort key or a default order gives.
func (p *program) misorders(uid string) bool {
	return p.has(SortWrong, uid, "direction") || p.has(SortWrong, uid, "ties") || p.has(SortWrong, uid, "nulls")
}

// disorder writes what goes wrong after rows have been ordered by a field.
func (p *program) disorder(depth int, uid, name, descending string) {
	if p.has(SortWrong, uid, "direction") && depth == 3 {
		p.line(depth, "rows = ordered(rows, %s, False)", quote(name))
	}
	if p.has(SortWrong, uid, "ties") {
		p.line(depth, `rows = ordered(sorted(rows, key=lambda row: -row["id"]), %s, %s)`, quote(name), descending)
	}
	if p.has(SortWrong, uid, "nulls") {
		p.line(depth, "rows.sort(key=lambda row: (row[%s] is None) != (%s))", quote(name), descending)
	}
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
		if p.has(NestedWrong, f.UID, "unknown") {
			p.line(1, "rows = %s.where(%s, call.row_id)", table(e), quote(f.Name))
		} else {
			p.find(t, f.UID, "owner")
			p.line(1, `rows = %s.where(%s, owner["id"])`, table(e), quote(f.Name))
		}
		if p.has(NestedWrong, f.UID, "all") {
			p.line(1, "rows = %s.all()", table(e))
		}
		p.line(1, "return 200, %s", p.envelope(e, "rows", "len(rows)"))
	}
}
