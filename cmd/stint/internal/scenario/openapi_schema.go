package scenario

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// entitySchemas adds what the service answers for a row, what POST and PUT take, and what PATCH takes.
func (d *document) entitySchemas(e *Entity) {
	full := object{"id": object{"type": "integer", "readOnly": true}}
	input, patch := object{}, object{}
	keys, required, kept := []string{"id"}, []string{}, []string{}
	for i := range e.Fields {
		f := &e.Fields[i]
		keys = append(keys, f.Name)
		full[f.Name] = d.answerSchema(f)
		if f.Managed() {
			continue
		}
		one := d.fieldSchema(f, f.Nullable)
		if text := d.texts([]string{f.UID}); text != "" {
			one["description"] = text
		}
		if f.Default != nil {
			one["default"] = f.JSON(f.Default)
		}
		input[f.Name], patch[f.Name] = one, withoutDefault(one)
		if f.Required {
			required = append(required, f.Name)
			if !f.Immutable {
				kept = append(kept, f.Name)
			}
		}
	}
	name := typeName(e)
	slices.Sort(keys)
	d.schemas[name] = object{"type": "object", "description": d.texts([]string{e.UID}, KindExactKeys), "required": keys, "properties": full, "additionalProperties": false}
	in := object{"type": "object", "properties": input}
	if len(required) > 0 {
		in["required"] = required
	}
	var groups, orders []any
	for _, g := range e.Groups {
		groups = append(groups, []string{d.s.fieldName(g.Fields[0]), d.s.fieldName(g.Fields[1])})
	}
	for _, o := range e.Orders {
		orders = append(orders, object{"low": d.s.fieldName(o.Low), "high": d.s.fieldName(o.High)})
	}
	if len(groups) > 0 {
		in["x-unique-groups"] = groups
	}
	if len(orders) > 0 {
		in["x-orders"] = orders
	}
	d.schemas[name+"Input"] = in
	if len(kept) < len(required) { // PUT may leave out what cannot change
		put := maps.Clone(in)
		delete(put, "required")
		if len(kept) > 0 {
			put["required"] = kept
		}
		d.schemas[replaceName(e)] = put
	}
	d.schemas[name+"Patch"] = object{"type": "object", "properties": patch}
}

// replaceName is the name of the schema of what PUT takes.
func replaceName(e *Entity) string {
	if slices.ContainsFunc(e.Fields, func(f Field) bool { return f.Required && f.Immutable }) {
		return typeName(e) + "Replace"
	}
	return typeName(e) + "Input"
}

func withoutDefault(one object) object {
	out := object{}
	for k, v := range one {
		if k != "default" {
			out[k] = v
		}
	}
	return out
}

// answerSchema is a field as answers hold it: null wherever it can be missing.
func (d *document) answerSchema(f *Field) object {
	if f.Managed() {
		one := d.fieldSchema(f, f.Computed != nil && f.Computed.Kind != ComputedCount)
		one["readOnly"] = true
		one["description"] = d.texts([]string{f.UID})
		return one
	}
	return d.fieldSchema(f, f.Nullable || !f.Required && f.Default == nil)
}

// fieldSchema is the JSON Schema of a field's values.
func (d *document) fieldSchema(f *Field, nullable bool) object {
	one := object{}
	kind := "string"
	switch f.Type {
	case String:
		if f.MinLen != nil {
			one["minLength"] = *f.MinLen
		}
		if f.MaxLen != nil {
			one["maxLength"] = *f.MaxLen
		}
		if f.Pattern != "" {
			one["pattern"] = patternExpression(f.Pattern)
		}
	case Integer, Decimal:
		kind = "integer"
		if f.Type == Decimal {
			kind = "number"
			// multipleOf would be the word, but validators compute it in binary fractions and refuse 576.91.
			one["x-decimal-places"] = 2
		}
		if f.Min != nil {
			one["minimum"] = json.Number(f.Bound(*f.Min))
		}
		if f.Max != nil {
			one["maximum"] = json.Number(f.Bound(*f.Max))
		}
	case Boolean:
		kind = "boolean"
	case Enum:
		values := []any{}
		for _, v := range f.Values {
			values = append(values, v)
		}
		if nullable {
			values = append(values, nil)
		}
		one["enum"] = values
	case Date:
		one["format"] = "date"
		if f.Min != nil {
			one["x-minimum"] = f.Bound(*f.Min)
		}
		if f.Max != nil {
			one["x-maximum"] = f.Bound(*f.Max)
		}
	case Datetime:
		one["format"] = "date-time"
		one["pattern"] = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$`
	case Ref:
		kind = "integer"
		if e := d.s.Entity(f.Target); e != nil {
			one["x-refers-to"] = typeName(e)
		}
		one["x-on-delete"] = string(f.OnDelete)
	}
	one["type"] = kind
	if nullable {
		one["type"] = []string{kind, "null"}
	}
	if f.Unique {
		one["x-unique"] = true
	}
	if f.Immutable {
		one["x-immutable"] = true
	}
	return one
}

// patternExpression is a pattern as a regular expression: AAA-999 is ^[A-Z]{3}-[0-9]{3}$.
func patternExpression(pattern string) string {
	var b strings.Builder
	b.WriteByte('^')
	for _, r := range pattern {
		switch r {
		case 'A':
			b.WriteString("[A-Z]")
		case '9':
			b.WriteString("[0-9]")
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('$')
	return b.String()
}

// listParameters are the query parameters of a list, and the parts that demand them.
func (d *document) listParameters(e *Entity) (parameters []any, subjects []string) {
	add := func(name string, schema object) {
		parameters = append(parameters, object{"name": name, "in": "query", "required": false, "schema": schema})
	}
	plain := func(f *Field) object { // limits of the field are not limits of the question
		return d.fieldSchema(&Field{Type: f.Type, Values: f.Values}, false)
	}
	for _, x := range e.List.Filters {
		_, f := d.s.FieldByUID(x.Field)
		if f == nil {
			continue
		}
		subjects = append(subjects, x.UID)
		for _, name := range x.Params(f) {
			add(name, plain(f))
		}
	}
	var words []any
	for _, k := range e.List.Sorts {
		subjects = append(subjects, k.UID)
		words = append(words, d.s.fieldName(k.Field), "-"+d.s.fieldName(k.Field))
	}
	if len(words) > 0 {
		add("sort", object{"type": "string", "enum": words})
	}
	if p := e.List.Page; p != nil {
		add("limit", object{"type": "integer", "minimum": 1, "maximum": p.Max, "default": p.Default})
		add("offset", object{"type": "integer", "minimum": 0, "default": 0})
	}
	return parameters, subjects
}

// analytics adds one endpoint of figures.
func (d *document) analytics(a *Analytics) {
	number := object{"type": "number"}
	maybe := object{"type": []string{"number", "null"}}
	value := func(v object) object {
		return object{"type": "object", "required": []string{"value"}, "properties": object{"value": v}}
	}
	var parameters []any
	refused := []int{}
	var answer object
	switch a.Kind {
	case StatAvg, StatMin, StatMax:
		answer = value(maybe)
	case StatGroup, StatTop, StatParent:
		key := object{"type": "integer"}
		if _, f := d.s.FieldByUID(a.Group); f != nil && f.Type != Ref {
			key = d.fieldSchema(&Field{Type: f.Type, Values: f.Values}, false)
		}
		groups := object{"type": "array", "items": object{
			"type": "object", "required": []string{"key", "value"}, "properties": object{"key": key, "value": number}}}
		if a.Kind == StatTop {
			groups["maxItems"] = a.N
		}
		answer = object{"type": "object", "required": []string{"groups"}, "properties": object{"groups": groups}}
	case StatWindow:
		for _, name := range []string{"from", "to"} {
			parameters = append(parameters, object{"name": name, "in": "query", "required": true, "schema": object{"type": "string", "format": "date"}})
		}
		refused = append(refused, 400)
		answer = value(number)
	default:
		answer = value(number)
	}
	d.path("/analytics/"+a.Name, "get", d.operation("analytics_"+a.Name, parameters, []string{a.UID}), answers("200", jsonBody("the figure", answer), refused...))
}
