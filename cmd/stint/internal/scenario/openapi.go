package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// OpenAPI returns the schema as an OpenAPI 3.1 document with a final newline: paths, request and answer bodies with
// their limits, query parameters and error answers. What JSON Schema cannot say (uniqueness, deletion, states, the range
// of dates) stands in descriptions, which are the sentences of SPEC.md, and in keys that begin with x-.
func (s *Schema) OpenAPI(title string, turn int) ([]byte, error) {
	d := &document{s: s, schemas: object{}, paths: object{}}
	d.errorSchema()
	d.path("/health", "get", d.operation("health", nil, []string{API}, KindHealth), object{"200": object{"description": "the service is ready"}})
	for i := range s.Entities {
		e := &s.Entities[i]
		d.entitySchemas(e)
		d.collection(e)
		d.member(e)
		d.commands(e)
		d.nested(e)
	}
	for i := range s.Analytics {
		d.analytics(&s.Analytics[i])
	}
	about := "The service of " + title + " after turn " + strconv.Itoa(turn) + "."
	if t := d.texts([]string{API}, KindErrorFormat); t != "" {
		about += " " + t
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{"title": title, "version": "turn " + strconv.Itoa(turn), "description": about,
			"license": object{"name": "CC0 1.0 Universal", "identifier": "CC0-1.0"}},
		"paths":      d.paths,
		"components": object{"schemas": d.schemas},
	}
	if gone := d.gone(); len(gone) > 0 {
		doc["x-gone"] = gone
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encoding the OpenAPI document of %s: %w", title, err)
	}
	return buf.Bytes(), nil
}

// document is an OpenAPI document in the making.
type document struct {
	s       *Schema
	schemas object
	paths   object
}

// path adds one operation of a path.
func (d *document) path(path, verb string, operation, responses object) {
	item, ok := d.paths[path].(object)
	if !ok {
		item = object{}
		d.paths[path] = item
	}
	operation["responses"] = responses
	item[verb] = operation
}

// operation begins an operation whose rules are the clauses of these kinds about these subjects.
func (d *document) operation(id string, parameters []any, subjects []string, kinds ...Kind) object {
	op := object{"operationId": id}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if t := d.texts(subjects, kinds...); t != "" {
		op["description"] = t
	}
	if ids := d.clauses(subjects, kinds...); len(ids) > 0 {
		op["x-clauses"] = ids
	}
	return op
}

// each calls f for the clauses of these kinds (none = all) about these subjects.
func (d *document) each(subjects []string, kinds []Kind, f func(c *Clause)) {
	for i := range d.s.Clauses {
		c := &d.s.Clauses[i]
		if slices.Contains(subjects, c.Subject) && (len(kinds) == 0 || slices.Contains(kinds, c.Kind)) {
			f(c)
		}
	}
}

func (d *document) texts(subjects []string, kinds ...Kind) string {
	var all []string
	d.each(subjects, kinds, func(c *Clause) { all = append(all, c.Text) })
	return strings.Join(all, " ")
}

func (d *document) clauses(subjects []string, kinds ...Kind) []string {
	var all []string
	d.each(subjects, kinds, func(c *Clause) { all = append(all, c.ID) })
	return all
}

// codeWord finds the code words in the sentences of a specification.
var codeWord = regexp.MustCompile("code `([a-z_]+)`")

// errorSchema describes the body of every refusal. Its code words are those that the clauses name.
func (d *document) errorSchema() {
	words := map[string]bool{}
	for _, c := range d.s.Clauses {
		for _, m := range codeWord.FindAllStringSubmatch(c.Text, -1) {
			words[m[1]] = true
		}
	}
	d.schemas["Error"] = object{
		"type": "object", "required": []string{"error"},
		"properties": object{"error": object{
			"type": "object", "required": []string{"code", "field"},
			"properties": object{
				"code":  object{"type": "string", "enum": slices.Sorted(maps.Keys(words))},
				"field": object{"type": []string{"string", "null"}},
			},
		}},
	}
}

func refTo(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func jsonBody(description string, schema object) object {
	return object{"description": description, "content": object{"application/json": object{"schema": schema}}}
}

func refusal4(status int) object {
	words := map[int]string{400: "the request is refused", 404: "there is no such thing", 409: "the request conflicts with what is stored"}
	return jsonBody(words[status], refTo("Error"))
}

// answers joins the good answer of an operation and its refusals.
func answers(status string, good object, refusals ...int) object {
	r := object{status: good}
	for _, n := range refusals {
		r[strconv.Itoa(n)] = refusal4(n)
	}
	return r
}

// typeName is the name of an entity's schema: spare_part is SparePart.
func typeName(e *Entity) string {
	var b strings.Builder
	for _, word := range strings.Split(e.Name, "_") {
		b.WriteString(capital(word))
	}
	return b.String()
}

func (d *document) envelope(items object) object {
	c := d.s.Conventions
	return object{
		"type": "object", "required": []string{c.ItemsKey, c.TotalKey}, "additionalProperties": false,
		"properties": object{
			c.ItemsKey: object{"type": "array", "items": items},
			c.TotalKey: object{"type": "integer", "minimum": 0},
		},
	}
}

// collection adds GET and POST of a collection.
func (d *document) collection(e *Entity) {
	name, path := typeName(e), "/"+e.Plural
	parameters, subjects := d.listParameters(e)
	var refused []int
	if len(parameters) > 0 {
		refused = []int{400}
	}
	d.path(path, "get", d.operation("list"+name, parameters, append(subjects, e.UID), KindList, KindFilter, KindSort, KindDefaultSort, KindPage),
		answers("200", jsonBody("the rows", d.envelope(refTo(name))), refused...))
	conflicts := []int{400}
	if d.conflicting(e) {
		conflicts = append(conflicts, 409)
	}
	post := d.operation("create"+name, nil, d.withParts(e), KindCreate, KindAtomic, KindExactKeys, KindGroup, KindOrder)
	post["requestBody"] = requestBody(name + "Input")
	d.path(path, "post", post, answers("201", jsonBody("the new row", refTo(name)), conflicts...))
}

// withParts lists an entity with its groups and orders.
func (d *document) withParts(e *Entity) []string {
	subjects := []string{e.UID}
	for _, g := range e.Groups {
		subjects = append(subjects, g.UID)
	}
	for _, o := range e.Orders {
		subjects = append(subjects, o.UID)
	}
	return subjects
}

// conflicting reports whether a new row can be refused because of others.
func (d *document) conflicting(e *Entity) bool {
	return len(e.Groups) > 0 || slices.ContainsFunc(e.Fields, func(f Field) bool { return f.Unique })
}

func requestBody(name string) object {
	return object{"required": true, "content": object{"application/json": object{"schema": refTo(name)}}}
}

func idParameter(description string) object {
	return object{"name": "id", "in": "path", "required": true, "description": description, "schema": object{"type": "integer"}}
}

// member adds the verbs of one row.
func (d *document) member(e *Entity) {
	name, path := typeName(e), "/"+e.Plural+"/{id}"
	id := []any{idParameter("id of the " + human(e.Name))}
	row := jsonBody("the complete "+human(e.Name), refTo(name))
	d.path(path, "get", d.operation("read"+name, id, []string{e.UID}, KindRead, KindNotFound), answers("200", row, 404))
	writes := []int{400, 404}
	if d.conflicting(e) || slices.ContainsFunc(e.Fields, func(f Field) bool { return f.Immutable }) {
		writes = append(writes, 409)
	}
	put := d.operation("replace"+name, id, d.withParts(e), KindReplace, KindNotFound, KindGroup, KindOrder)
	put["requestBody"] = requestBody(replaceName(e))
	d.path(path, "put", put, answers("200", row, writes...))
	patch := d.operation("update"+name, id, d.withParts(e), KindUpdate, KindNotFound, KindGroup, KindOrder)
	patch["requestBody"] = requestBody(name + "Patch")
	d.path(path, "patch", patch, answers("200", row, writes...))
	inbound, refused := []string{e.UID}, []int{404}
	for _, f := range d.s.Inbound(e.UID) {
		inbound = append(inbound, f.UID)
		if f.OnDelete != SetNull { // a cascade may reach a row that forbids it
			refused = []int{404, 409}
		}
	}
	d.path(path, "delete", d.operation("delete"+name, id, inbound, KindDelete, KindNotFound, KindOnDelete),
		answers("204", object{"description": "it is deleted"}, refused...))
}

// commands adds the transitions and actions of a row.
func (d *document) commands(e *Entity) {
	for _, c := range e.Commands() {
		op := d.operation(c.Name+typeName(e), []any{idParameter("id of the " + human(e.Name))}, []string{c.UID})
		refused := []int{404}
		if c.Transition() || c.Guard != nil {
			refused = append(refused, 409)
		}
		if p := c.Param; p != nil {
			refused = append(refused, 400)
			op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": object{
				"type": "object", "required": []string{p.Name},
				"properties": object{p.Name: object{"type": "integer", "minimum": p.Min, "maximum": p.Max}},
			}}}}
		}
		d.path("/"+e.Plural+"/{id}/"+c.Name, "post", op, answers("200", jsonBody("the complete "+human(e.Name), refTo(typeName(e))), refused...))
	}
}

// nested adds the lists of the rows that refer to one row.
func (d *document) nested(e *Entity) {
	for i := range e.Fields {
		f := &e.Fields[i]
		target := d.s.Entity(f.Target)
		if !f.Nested || target == nil {
			continue
		}
		op := d.operation("list"+typeName(e)+"Of"+typeName(target), []any{idParameter("id of the " + human(target.Name))}, []string{f.UID}, KindNested)
		d.path("/"+target.Plural+"/{id}/"+e.Plural, "get", op, answers("200", jsonBody("the rows", d.envelope(refTo(typeName(e)))), 404))
	}
}

// gone lists what used to exist and must not work any more.
func (d *document) gone() []any {
	var out []any
	for _, t := range d.s.Tombstones {
		out = append(out, object{"kind": t.Kind, "name": t.Name, "description": d.texts([]string{t.UID})})
	}
	return out
}
