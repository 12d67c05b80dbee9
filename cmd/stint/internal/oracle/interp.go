package oracle

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Request is one HTTP request as far as the contract looks at it.
type Request struct {
	Method string
	Path   string // decoded, without query
	Query  url.Values
	Body   []byte
}

// Response is one answer. Body is nil or a value for encoding/json made of map[string]any, []any, string,
// bool, int64, json.Number and nil; it is shared with the store and must not be modified.
type Response struct {
	Status int
	Body   any
}

// Interp answers requests for one schema from an in-memory store. It is not safe for concurrent use.
type Interp struct {
	schema   *scenario.Schema
	entities []*entity // in schema order
	byPath   map[string]*entity
	stats    map[string]*statistic
	relics   map[string]bool // former collections that still answer
	format   string          // how error bodies go wrong; "" = not at all
}

// entity is one collection: its rules with the faults applied, and its rows.
type entity struct {
	name     string
	fields   []*field
	inbound  []*field // references to this entity
	known    map[string]bool
	ghosts   []*ghost
	groups   []*group
	orders   []*order
	commands map[string]*command
	relics   map[string]bool // former commands and lists below a row that still answer
	changing bool            // answers depend on other rows
	items    string
	total    string

	rows    []*row // in order of creation
	byID    map[int64]*row
	lastID  int64
	deleted map[int64]*row // rows that a soft delete keeps readable; nil without that fault

	listing
	nested map[string]*nestedList // by path segment

	broken map[string]bool // verbs that answer 404: POST, GET, LIST, PUT, PATCH, DELETE
	slips

	putMerges, patchResets                           bool
	leakCreate, leakUpdate, extraKey, echo, clientID bool
	refuseExtra, deleteUnknown                       bool
}

// field is one field with its effective rules: the schema's, as faults changed them.
type field struct {
	scenario.Field
	owner  *entity
	target *entity
	index  int
	slips
	alias  string // another key that requests may use
	copyTo string // another key that answers contain

	anyType, anyValue, anyTarget bool
	createOnly, uniqueSelf       bool
	hidden, empty, shallow       bool
	frozen, resets               bool   // immutable: the stored value is refused too; PUT without it resets it
	defaultForNull               bool   // null becomes the default
	wholeOnly, cutsCents         bool   // decimal: a fraction is refused; is lost
	form                         string // how the pattern is misread
	zero                         any    // what a missing value becomes in place of null
	lax                          lax

	formula                            *formula // of a computed field
	initial                            string   // of a state
	statePost, statePatch, stateResets bool
}

// ghost is a removed field that still works.
type ghost struct{ name string }

type row struct {
	id     int64
	owner  *entity
	cells  []cell
	extra  map[string]any // keys that should not be kept, by a fault
	object map[string]any // rendered; nil after a change
}

// slips are the wrong words of answers, by faults.
type slips struct {
	statuses map[string]int    // by situation, or by the right code word
	codes    map[string]string // by the right one
}

// status is the status of an answer in a situation.
func (w *slips) status(situation string, right int) int {
	if s, wrong := w.statuses[situation]; wrong {
		return s
	}
	return right
}

// failure is a refusal; field is the public name that it gives.
func (w *slips) failure(status int, code, field string) *failure {
	f := &failure{status: w.status(code, status), code: code, field: field}
	if c, wrong := w.codes[code]; wrong {
		f.code = c
	}
	return f
}

// cell is one stored value. raw holds a value of the wrong type that a fault let in.
type cell struct {
	set bool // false is null
	v   scenario.Value
	raw any
}

// typed reports whether the cell has a value of its field's type: no null, and none that a fault let in.
func (c *cell) typed() bool { return c.set && c.raw == nil }

// New returns an interpreter with an empty store. Faults whose subject the schema does not have, and
// unknown kinds, have no effect; see [KnownFault].
func New(s *scenario.Schema, faults ...Fault) *Interp {
	i := &Interp{schema: s, byPath: make(map[string]*entity), stats: make(map[string]*statistic)}
	b := &builder{schema: s, interp: i, entities: make(map[string]*entity), fields: make(map[string]*field), stats: make(map[string]*statistic),
		groups: make(map[string]*group), orders: make(map[string]*order), filters: make(map[string]*listFilter), sorts: make(map[string]*listOrder),
		lists: make(map[string]*nestedList), commands: make(map[string]*command)}
	b.build()
	for _, f := range faults {
		b.plant(f)
	}
	i.Reset()
	return i
}

// Reset empties the store, as if the service had been started anew with an empty data folder.
func (i *Interp) Reset() {
	for _, e := range i.entities {
		e.rows, e.byID, e.lastID = nil, make(map[int64]*row), 0
		if e.deleted != nil {
			e.deleted = make(map[int64]*row)
		}
	}
}

// With returns an interpreter with faults of its own and the rows that i has, as they are stored now: faults show in
// what it answers about them, not in what was stored.
func (i *Interp) With(faults ...Fault) *Interp {
	c := New(i.schema, faults...)
	for n := range i.entities {
		c.take(n, i)
	}
	return c
}

// Forget drops the rows of one entity, to which no other row may refer; its ids begin again.
func (i *Interp) Forget(entity string) {
	for n := range i.schema.Entities {
		if e := i.entities[n]; i.schema.Entities[n].UID == entity {
			e.rows, e.lastID = nil, 0
			clear(e.byID)
		}
	}
}

// Take replaces the rows of one entity by those that an interpreter of the same schema has.
func (i *Interp) Take(entity string, from *Interp) {
	for n := range i.schema.Entities {
		if i.schema.Entities[n].UID == entity {
			i.take(n, from)
		}
	}
}

func (i *Interp) take(n int, from *Interp) {
	d, e := i.entities[n], from.entities[n]
	d.lastID, d.rows = e.lastID, make([]*row, len(e.rows))
	clear(d.byID)
	for m, r := range e.rows {
		d.rows[m] = &row{id: r.id, owner: d, cells: r.cells, extra: r.extra}
		d.byID[r.id] = d.rows[m]
	}
}

// Handle answers one request.
func (i *Interp) Handle(r Request) Response {
	head, tail, deeper := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
	switch {
	case head == "health" && !deeper:
		return i.health(r)
	case head == "analytics" && deeper:
		return i.analytics(r, tail)
	}
	e := i.byPath[head]
	if e == nil && i.relics[head] && !deeper && r.Method == http.MethodGet {
		return i.emptyList()
	}
	if e == nil {
		return i.refuse(failure{status: http.StatusNotFound, code: "not_found"})
	}
	if !deeper {
		return i.collection(e, r)
	}
	return i.member(e, tail, r)
}

func (i *Interp) health(r Request) Response {
	if r.Method != http.MethodGet {
		return Response{Status: http.StatusMethodNotAllowed}
	}
	return Response{http.StatusOK, map[string]any{"status": "ok"}}
}

func (i *Interp) collection(e *entity, r Request) Response {
	switch r.Method {
	case http.MethodGet:
		if e.broken["LIST"] {
			return i.notFound(e)
		}
		return i.list(e, r.Query)
	case http.MethodPost:
		if e.broken[http.MethodPost] {
			return i.notFound(e)
		}
		return i.create(e, r.Body)
	}
	return Response{Status: http.StatusMethodNotAllowed}
}

func (i *Interp) member(e *entity, tail string, r Request) Response {
	if id, name, deeper := strings.Cut(tail, "/"); deeper {
		switch {
		case r.Method == http.MethodPost:
			return i.call(e, id, name, r.Body)
		case r.Method == http.MethodGet && e.relics[name]:
			return i.emptyList()
		}
		return i.below(e, id, name, r)
	}
	switch r.Method {
	case http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return Response{Status: http.StatusMethodNotAllowed}
	}
	id, err := strconv.ParseInt(tail, 10, 64)
	if err != nil || e.broken[r.Method] {
		return i.notFound(e)
	}
	found := e.byID[id]
	if found == nil {
		switch {
		case r.Method == http.MethodGet && e.deleted[id] != nil:
			return Response{http.StatusOK, e.deleted[id].render()}
		case r.Method == http.MethodDelete && e.deleteUnknown:
			return Response{Status: http.StatusNoContent}
		}
		return i.notFound(e)
	}
	switch r.Method {
	case http.MethodGet:
		return Response{http.StatusOK, found.render()}
	case http.MethodDelete:
		return i.remove(found)
	}
	return i.change(found, r.Method == http.MethodPut, r.Body)
}

// render returns the complete object. A change of the row makes a new one, so answers given before stay
// as they were.
func (r *row) render() map[string]any {
	if r.object != nil {
		return r.object
	}
	o := make(map[string]any, len(r.cells)+1+len(r.extra))
	maps.Copy(o, r.extra)
	o["id"] = r.id
	if r.owner.extraKey {
		o[extraKeyName] = int64(1)
	}
	for _, g := range r.owner.ghosts {
		if _, kept := o[g.name]; !kept {
			o[g.name] = nil
		}
	}
	for n, f := range r.owner.fields {
		if f.hidden {
			continue
		}
		c := r.cells[n]
		if f.formula != nil {
			c = f.compute(r)
		}
		if f.Managed() && f.empty {
			c = cell{}
		}
		v := c.json(&f.Field)
		if f.copyTo != "" {
			o[f.copyTo] = v
		}
		o[f.Name] = v
	}
	if !r.owner.changing {
		r.object = o
	}
	return o
}

func (c *cell) json(f *scenario.Field) any {
	switch {
	case c.raw != nil:
		return c.raw
	case !c.set:
		return nil
	}
	return f.JSON(&c.v)
}

// failure is a refusal.
type failure struct {
	status int
	code   string
	field  string // "" is null
}

// refuse writes an error body.
func (i *Interp) refuse(f failure) Response {
	var field any
	if f.field != "" && i.format != formatNoField {
		field = f.field
	}
	inner := map[string]any{"code": f.code, "field": field}
	switch i.format {
	case formatFlat:
		return Response{f.status, inner}
	case formatText:
		return Response{f.status, map[string]any{"error": f.code}}
	}
	return Response{f.status, map[string]any{"error": inner}}
}

func (i *Interp) notFound(e *entity) Response {
	return i.refuse(*e.failure(http.StatusNotFound, "not_found", ""))
}

// emptyList is what a former list answers that is still there.
func (i *Interp) emptyList() Response {
	c := i.schema.Conventions
	return Response{http.StatusOK, map[string]any{c.ItemsKey: []any{}, c.TotalKey: int64(0)}}
}
