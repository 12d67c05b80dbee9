package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// unknownID is an id that no server gives out.
const unknownID = 900000001

// row is a captured id: of which entity, and what the oracle gave.
type row struct {
	entity string
	id     int64
}

// body is a request body; strings "${a}" stand for captured ids.
type body map[string]any

// draft is a check in the making. Every request is answered by the oracle at once; the answer becomes the
// expectation, after it was compared with what the generator meant to provoke.
type draft struct {
	g        *generator
	check    Check
	label    string                    // of the random streams: clause and variant
	draws    map[string]int            // of seeded rows: see seeding
	drawn    map[string]any            // values of seeded rows by field and row
	taken    map[string]map[int64]bool // by seeded rows
	number   int                       // of the subject clause
	variant  int                       // its place in the closed list
	interp   *oracle.Interp
	rows     map[string]row      // symbols, those of the world included
	parents  map[string]string   // entity and tag → symbol
	serials  map[string]int      // row name → number within the check
	states   map[string]string   // of rows that were brought to one
	kids     map[string][]string // row and reference → rows that refer
	kidsMade int
	// loosened says that the check is about a rule which ended this turn
	loosened bool
	err      error
}

// sent is how the generator means a request to end.
type sent struct {
	status    int
	code      string // of a refusal
	field     string // of a refusal; "" is null
	match     string // "" = only the status (and, in a refusal, code and field) is asserted
	keys      []string
	entity    *scenario.Entity // whose object the answer is
	capture   string
	above     string
	setup     bool
	query     url.Values          // of a GET
	statistic *scenario.Analytics // whose figures the answer is
	needs     []string
}

func (d *draft) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("check %s: "+format, append([]any{d.check.ID}, args...)...)
	}
}

// Rows are numbered so that the values of every row of a world differ: clause, variant, row.
const (
	variantBits = 5
	rowBits     = 10
	perEntity   = 16 // places for the rows of one entity that others refer to, after as many for the check's own
)

// rowNumbers are the names that checks give to their own rows.
func rowNumbers() map[string]int {
	return map[string]int{"a": 1, "b": 2, "c": 3, "m": 4, "old": 5, "k1": 6, "k2": 7, "k3": 8, "k4": 9, "k5": 10, "k6": 11, "k7": 12, "k8": 13, "k9": 14, "k10": 15}
}

// parentTags tell apart rows of one entity that others refer to.
func parentTags() []string {
	return []string{"", "other", "gone", "mine", "others", "root", "in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"}
}

// serial is the number of a row, the same in every turn.
func (d *draft) serial(name string) int {
	n, ok := d.serials[name]
	if !ok {
		d.fail("row %q has no number", name)
	}
	return (d.number<<variantBits+d.variant)<<rowBits + n
}

// send adds one step.
func (d *draft) send(method, path string, b body, s sent) {
	if d.err != nil {
		return
	}
	st := Step{Method: method, Path: path, Query: encodeQuery(s.query), Status: s.status, Capture: s.capture, Above: s.above, Setup: s.setup, Needs: s.needs}
	if b != nil {
		raw, err := marshal(b)
		if err != nil {
			d.fail("encoding a body: %v", err)
			return
		}
		st.Body = raw
		d.citeRenames(s.entity, b)
	}
	d.citeMoved(path)
	got, err := d.ask(st)
	if err != nil {
		d.fail("%v", err)
		return
	}
	if got.Status != s.status {
		d.fail("%s %s %s was meant to end with %d, the oracle says %d %s", method, path, st.Body, s.status, got.Status, text(got.Body))
		return
	}
	if s.capture != "" {
		object, _ := got.Body.(map[string]any)
		id, ok := object["id"].(int64)
		if !ok {
			d.fail("the oracle's answer has no id")
			return
		}
		d.rows[s.capture] = row{s.entity.UID, id}
	}
	if s.status >= 400 || s.match != "" {
		tree, err := plain(got.Body)
		if err != nil {
			d.fail("reading the oracle's answer: %v", err)
			return
		}
		d.expect(&st, s, tree)
	}
	d.check.Steps = append(d.check.Steps, st)
}

// encodeQuery writes a query as [Step.Query] holds it.
func encodeQuery(q url.Values) string { return strings.ReplaceAll(q.Encode(), "+", "%20") }

// expect fills in what the answer must be.
func (d *draft) expect(st *Step, s sent, tree any) {
	var want any
	if s.status >= 400 {
		want = refusal(s.code, s.field)
		if diffs := compare(Present, want, tree); len(diffs) > 0 {
			d.fail("%s %s %s was meant to break %s of %q, the oracle says %s", st.Method, st.Path, st.Body, s.code, s.field, text(tree))
			return
		}
		st.Match = s.match
		if st.Match == "" {
			st.Match = Subset
		}
	} else {
		st.Match = s.match
		want = d.expected(s, tree)
	}
	raw, err := marshal(want)
	if err != nil {
		d.fail("encoding an expectation: %v", err)
		return
	}
	st.Expect = raw
}

func refusal(code, field string) any {
	var f any
	if field != "" {
		f = field
	}
	return map[string]any{"error": map[string]any{"code": code, "field": f}}
}

// expected turns the oracle's answer into an expectation: ids become symbols, decimals get their point, and only
// the asserted keys stay.
func (d *draft) expected(s sent, tree any) any {
	object, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	if s.statistic != nil {
		return d.expectedStatistic(s.statistic, object)
	}
	if s.entity == nil {
		return object
	}
	items, isList := object[d.g.schema.Conventions.ItemsKey].([]any)
	if !isList {
		return d.expectedObject(s.entity, object, s.keys)
	}
	list := make([]any, len(items))
	for i, it := range items {
		o, _ := it.(map[string]any)
		list[i] = d.expectedObject(s.entity, o, s.keys)
	}
	total := d.g.schema.Conventions.TotalKey
	return map[string]any{d.g.schema.Conventions.ItemsKey: list, total: object[total]}
}

func (d *draft) expectedObject(e *scenario.Entity, object map[string]any, keys []string) map[string]any {
	out := map[string]any{}
	for k, v := range object {
		if keys != nil && !slices.Contains(keys, k) {
			continue
		}
		f := e.FieldByName(k)
		switch {
		case k == "id":
			v = d.symbolOf(e.UID, v)
		case v == nil || f == nil:
		case f.Type == scenario.Ref:
			v = d.symbolOf(f.Target, v)
		case f.Type == scenario.Decimal:
			v = withPoint(v)
		}
		out[k] = v
	}
	return out
}

// withPoint writes a decimal so that it is compared as one.
func withPoint(v any) any {
	if n, ok := v.(json.Number); ok && !strings.Contains(string(n), ".") {
		return n + ".0"
	}
	return v
}

func (d *draft) symbolOf(entity string, v any) any {
	id, ok := asID(v)
	if ok {
		best := ""
		for name, r := range d.rows { // the shortest, then first name of equals: the choice must not depend on map order
			if r.entity == entity && r.id == id && (best == "" || len(name) < len(best) || len(name) == len(best) && name < best) {
				best = name
			}
		}
		if best != "" {
			return "${" + best + "}"
		}
	}
	d.fail("the oracle's answer names a row of %s that no step captured: %v", entity, v)
	return v
}

// ask plays a step on the oracle.
func (d *draft) ask(st Step) (oracle.Response, error) {
	var ids symbols
	if strings.Contains(st.Path, "${") || bytes.Contains(st.Body, []byte("${")) {
		ids = make(symbols, len(d.rows))
		for name, r := range d.rows {
			ids[name] = r.id
		}
	}
	path, missing := ids.fill(st.Path)
	query, err := url.ParseQuery(st.Query)
	if err != nil {
		return oracle.Response{}, fmt.Errorf("query %q: %w", st.Query, err)
	}
	text, missing2 := ids.fill(string(st.Body))
	if missing+missing2 != "" {
		return oracle.Response{}, fmt.Errorf("no row %q", missing+missing2)
	}
	r := oracle.Request{Method: st.Method, Path: path, Query: query}
	if len(st.Body) > 0 {
		r.Body = []byte(text)
	}
	return d.interp.Handle(r), nil
}

// plain turns the oracle's answer into what decoding its JSON would give: numbers as their text, nothing shared.
func plain(v any) (any, error) {
	switch x := v.(type) {
	case nil, string, bool, json.Number:
		return x, nil
	case int64:
		return json.Number(strconv.FormatInt(x, 10)), nil
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, w := range x {
			var err error
			if out[k], err = plain(w); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(x))
		for n, w := range x {
			var err error
			if out[n], err = plain(w); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("the oracle answers with a %T", v)
}

// parent returns the symbol of a row of this entity with its required fields only, made on first use. Rows of
// different tags are different.
func (d *draft) parent(entity, tag string) string {
	if sym := d.parents[entity+"|"+tag]; sym != "" {
		return sym
	}
	if d.check.World == Seeded {
		return entity + "r1" // another row would show in other lists
	}
	e := d.g.schema.Entity(entity)
	if e == nil || d.err != nil {
		d.fail("no entity %q", entity)
		return ""
	}
	sym := "p" + entity + tag
	d.parents[entity+"|"+tag] = sym
	d.serials[sym] = perEntity + perEntity*uidNumber(entity) + slices.Index(parentTags(), tag)
	d.make(e, sym, d.minimal(e, sym))
	return sym
}

// uidNumber is the number in the uid of an entity.
func uidNumber(uid string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(uid, "e"))
	if err != nil {
		return 0
	}
	return n
}

// make adds a row that the check needs.
func (d *draft) make(e *scenario.Entity, sym string, b body) {
	d.send("POST", "/"+e.Plural, b, sent{status: 201, entity: e, capture: sym, setup: true})
}

// set is a value for any field, references included: the same parent row for every row name.
func (d *draft) set(f *scenario.Field, name string) any {
	if f.Type == scenario.Ref {
		return "${" + d.parent(f.Target, "") + "}"
	}
	return d.value(f, name)
}

// other is a value for f that differs from what b holds.
func (d *draft) other(f *scenario.Field, name string, b body) any {
	if f.Type == scenario.Ref {
		return "${" + d.parent(f.Target, "other") + "}"
	}
	return d.value(f, name, text(b[f.Name]))
}

// minimal is a valid body of required fields.
func (d *draft) minimal(e *scenario.Entity, name string) body { return d.with(e, name) }

// with is a valid body of the required fields and some others.
func (d *draft) with(e *scenario.Entity, name string, more ...*scenario.Field) body {
	b := body{}
	for i := range e.Fields {
		f := &e.Fields[i]
		if f.Required || slices.ContainsFunc(more, func(m *scenario.Field) bool { return m.UID == f.UID }) {
			b[f.Name] = d.set(f, name)
		}
	}
	return b
}

// full is a valid body of all fields that requests set.
func (d *draft) full(e *scenario.Entity, name string) body {
	b := body{}
	for i := range e.Fields {
		if f := &e.Fields[i]; !f.Managed() {
			b[f.Name] = d.set(f, name)
		}
	}
	return b
}

// changed is a full body in which every field that can change differs from b, which is full as well.
func (d *draft) changed(e *scenario.Entity, name string, b body) body {
	c := body{}
	for i := range e.Fields {
		if f := &e.Fields[i]; !f.Managed() {
			c[f.Name] = d.other(f, name, b)
		}
	}
	return d.kept(e, c, b)
}

// but is a copy of b with one more value.
func (b body) but(key string, v any) body {
	c := b.without(key)
	c[key] = v
	return c
}

// without is a copy of b that lacks a key.
func (b body) without(key string) body {
	c := make(body, len(b)+1)
	for k, v := range b {
		if k != key {
			c[k] = v
		}
	}
	return c
}

func collection(e *scenario.Entity) string     { return "/" + e.Plural }
func item(e *scenario.Entity, s string) string { return "/" + e.Plural + "/${" + s + "}" }
func nowhere(e *scenario.Entity) string        { return "/" + e.Plural + "/" + strconv.Itoa(unknownID) }

// cite adds clauses that the check asserts besides its subject.
func (d *draft) cite(kind scenario.Kind, subject string) {
	if c := d.g.schema.ClauseOf(kind, subject); c != nil && !slices.Contains(d.check.Clauses, c.ID) {
		d.check.Clauses = append(d.check.Clauses, c.ID)
	}
}

// citeFields cites what the fields of an entity are, for checks that look at whole objects.
func (d *draft) citeFields(e *scenario.Entity) {
	for i := range e.Fields {
		d.cite(scenario.KindType, e.Fields[i].UID)
	}
}

// citeMoved cites the clauses of collections that got another path this turn and that a request uses.
func (d *draft) citeMoved(path string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, t := range d.g.renamed {
		switch owner, f := d.g.schema.FieldByUID(t.Field); t.Kind {
		case scenario.GoneEntity:
			if e := d.g.schema.Entity(t.Entity); e != nil && e.Plural == parts[0] {
				d.cite(scenario.KindGone, t.UID)
			}
		case scenario.GoneNested:
			if f != nil && len(parts) == 3 && parts[2] == owner.Plural && d.g.schema.Entity(f.Target).Plural == parts[0] {
				d.cite(scenario.KindGone, t.UID)
			}
		}
	}
}

// citeRenames cites the clauses of names that are new this turn and used in a body: who missed the renaming
// fails here because of it, not because of an older rule.
func (d *draft) citeRenames(e *scenario.Entity, b body) {
	for _, t := range d.g.renamed {
		if e == nil || t.Entity != e.UID || t.Kind != scenario.GoneField {
			continue
		}
		if _, f := d.g.schema.FieldByUID(t.Field); f != nil {
			if _, used := b[f.Name]; used {
				d.cite(scenario.KindGone, t.UID)
			}
		}
	}
}
