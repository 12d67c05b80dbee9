package oracle

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// create answers POST.
func (i *Interp) create(e *entity, body []byte) Response {
	in, ok := parseObject(body)
	if !ok {
		return i.refuse(failure{status: http.StatusBadRequest, code: "type"})
	}
	cells, bad := e.fill(in, nil, true)
	if bad != nil {
		if e.leakCreate {
			e.insert(in, cells)
		}
		return i.refuse(*bad)
	}
	r := e.insert(in, cells)
	return Response{e.status("create", http.StatusCreated), r.render()}
}

func (e *entity) insert(in map[string]any, cells []cell) *row {
	id := e.lastID + 1
	if n, isNumber := in["id"].(json.Number); e.clientID && isNumber {
		if given, ok := wholeNumber(n); ok && given > 0 && e.byID[given] == nil {
			id = given
		}
	}
	e.lastID = max(e.lastID, id)
	r := &row{id: id, owner: e, cells: cells}
	r.keep(in, true)
	e.rows = append(e.rows, r)
	e.byID[id] = r
	e.settle(r)
	return r
}

// change answers PUT (whole) and PATCH.
func (i *Interp) change(r *row, whole bool, body []byte) Response {
	e := r.owner
	in, ok := parseObject(body)
	if !ok {
		return i.refuse(failure{status: http.StatusBadRequest, code: "type"})
	}
	cells, bad := e.fill(in, r, whole)
	if bad != nil {
		if e.leakUpdate {
			r.replace(in, cells, false)
		}
		return i.refuse(*bad)
	}
	r.replace(in, cells, whole)
	return Response{http.StatusOK, r.render()}
}

func (r *row) replace(in map[string]any, cells []cell, whole bool) {
	r.cells, r.object = cells, nil
	r.keep(in, whole)
}

// keep stores keys that should be ignored, where a fault demands it. A new map each time: objects rendered
// before must not change.
func (r *row) keep(in map[string]any, whole bool) {
	e := r.owner
	if !e.echo && len(e.ghosts) == 0 {
		return
	}
	extra := make(map[string]any)
	if !whole {
		for k, v := range r.extra {
			extra[k] = v
		}
	}
	for k, v := range in {
		if e.echo && !e.known[k] && k != "id" {
			extra[k] = v
		}
	}
	for _, g := range e.ghosts {
		if v, sent := in[g.name]; sent {
			extra[g.name] = v
		}
	}
	r.extra = extra
}

// fill computes the cells of a row from a request. old is nil for POST; whole is true for POST and PUT. With
// a refusal the cells still hold what was valid, which only the faults that leak use.
func (e *entity) fill(in map[string]any, old *row, whole bool) ([]cell, *failure) {
	cells := make([]cell, len(e.fields))
	verb := verbOf(old, whole)
	var bad *failure
	refuse := func(f *failure) {
		if bad == nil {
			bad = f
		}
	}
	if e.refuseExtra {
		for k := range in {
			if !e.known[k] && k != "id" {
				refuse(&failure{status: http.StatusBadRequest, code: "type"})
			}
		}
	}
	for n, f := range e.fields {
		if f.Managed() {
			cells[n] = f.managed(in, old, n, whole)
			continue
		}
		raw, sent := in[f.Name]
		if !sent && f.alias != "" {
			raw, sent = in[f.alias]
		}
		if !sent {
			if whole && f.Required && !f.keeps(old, whole) && !f.lax.skips("required", verb) {
				refuse(f.failure(http.StatusBadRequest, "required", f.Name))
				if old != nil {
					cells[n] = old.cells[n]
				}
				continue
			}
			cells[n] = f.missing(old, n, whole)
			continue
		}
		c, code := f.read(raw, verb)
		status := http.StatusBadRequest
		if code == "" && f.changes(&c, old, verb) {
			status, code = http.StatusConflict, "immutable"
		}
		if code != "" {
			refuse(f.failure(status, code, f.Name))
			if old != nil {
				cells[n] = old.cells[n]
			}
			continue
		}
		if f.empty {
			c = cell{}
		}
		cells[n] = c
	}
	for n, f := range e.fields {
		if f.Unique && bad == nil && e.duplicate(f, &cells[n], old, in) {
			refuse(f.failure(http.StatusConflict, "unique", f.Name))
		}
	}
	if bad == nil {
		if f := e.pairFailure(in, cells, old, verb); f != nil {
			bad = f
		}
	}
	return cells, bad
}

// missing is the value of a field that the request left out.
func (f *field) missing(old *row, n int, whole bool) cell {
	e := f.owner
	switch {
	case old != nil && !whole:
		if e.patchResets {
			return cell{}
		}
		return old.cells[n]
	case old != nil && (e.putMerges || f.keeps(old, whole)):
		return old.cells[n]
	case f.Default != nil && !f.empty && !f.lax.skips("default", verbOf(old, whole)):
		return cell{set: true, v: *f.Default}
	case f.zero != nil:
		return cell{set: true, raw: f.zero}
	}
	return cell{}
}

// duplicate reports whether another row has the value.
func (e *entity) duplicate(f *field, c *cell, old *row, in map[string]any) bool {
	if !c.set || f.createOnly && old != nil {
		return false
	}
	for _, r := range e.rows {
		o := &r.cells[f.index]
		if !o.typed() || o.v != c.v {
			continue
		}
		if r != old {
			return true
		}
		if _, sent := in[f.Name]; f.uniqueSelf && sent {
			return true
		}
	}
	return false
}

// read checks one value that was sent and returns it in stored form, or the code word of the broken rule.
func (f *field) read(raw any, verb string) (cell, string) {
	if raw == nil {
		switch {
		case f.Nullable && f.defaultForNull && f.Default != nil:
			return cell{set: true, v: *f.Default}, ""
		case f.Nullable || f.lax.skips("null", verb):
			return cell{}, ""
		}
		return cell{}, "null"
	}
	v, ok := f.convert(raw)
	if !ok || f.wholeOnly && v.Int%100 != 0 {
		if f.anyType || f.lax.skips("type", verb) {
			return cell{set: true, raw: raw}, ""
		}
		return cell{}, "type"
	}
	if rule := f.brokenRule(v); rule != "" && !f.lax.skips(rule, verb) {
		return cell{}, rule
	}
	if f.Type == scenario.Ref && !f.anyTarget && f.target.byID[v.Int] == nil && !f.lax.skips("reference", verb) {
		return cell{}, "reference"
	}
	if f.cutsCents {
		v.Int -= v.Int % 100
	}
	return cell{set: true, v: v}, ""
}

// convert reads a JSON value as the field's type.
func (f *field) convert(raw any) (v scenario.Value, ok bool) {
	switch f.Type {
	case scenario.Boolean:
		v.Bool, ok = raw.(bool)
		return v, ok
	case scenario.Integer, scenario.Ref, scenario.Decimal:
		n, isNumber := raw.(json.Number)
		if !isNumber {
			return v, false
		}
		if f.Type == scenario.Decimal {
			v.Int, ok = hundredths(n)
		} else {
			v.Int, ok = wholeNumber(n)
		}
		return v, ok
	}
	s, isString := raw.(string)
	if !isString {
		return v, false
	}
	switch f.Type {
	case scenario.Date:
		v.Int, ok = scenario.ParseDate(s)
		return v, ok
	case scenario.Datetime:
		v.Int, ok = scenario.ParseDatetime(s)
		return v, ok
	}
	v.Str = s
	return v, true
}

// parseObject reads a body that is one JSON object. Numbers stay exact; of equal keys the last one counts.
func parseObject(body []byte) (map[string]any, bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var in map[string]any
	if err := d.Decode(&in); err != nil || in == nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return in, true
}
