package scenario

import (
	"fmt"
	"math/rand/v2"
)

// maxComputed is how many computed fields one entity may have.
const maxComputed = 3

// enumerateAddComputed offers a formula of every kind that the entity's fields allow.
func enumerateAddComputed(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		have := 0
		for j := range e.Fields {
			if e.Fields[j].Computed != nil {
				have++
			}
		}
		if have >= maxComputed || len(e.Fields) >= MaxFields {
			continue
		}
		for _, c := range x.formulas(e) {
			r := x.stream(e.UID + "/" + marshal(c.formula))
			name := x.s.computedName(r, e, &c)
			if name == "" {
				continue
			}
			f := Field{UID: e.nextUID(), Name: name, Type: c.typ, Computed: &c.formula}
			x.add(map[string]string{"entity": e.UID, "field": marshal(f)})
		}
	}
}

// formulaOf is a formula with the type that it gives.
type formulaOf struct {
	formula Computed
	typ     Type
	of      *Entity // count: whose rows
}

// formulas lists what can be computed for rows of an entity and is not yet.
func (x *enumeration) formulas(e *Entity) []formulaOf {
	var fs []formulaOf
	at := x.s.fields(nil)
	add := func(kind string, typ Type, of *Entity, inputs ...string) {
		c := Computed{Kind: kind, Inputs: inputs}
		if c.check(e.UID, typ, at) != nil {
			return
		}
		for i := range e.Fields {
			if o := e.Fields[i].Computed; o != nil && marshal(o) == marshal(c) {
				return
			}
		}
		fs = append(fs, formulaOf{c, typ, of})
	}
	for i := range e.Fields {
		for j := range e.Fields {
			a, b := &e.Fields[i], &e.Fields[j]
			if i == j || a.Managed() || b.Managed() {
				continue
			}
			add(ComputedDifference, b.Type, nil, a.UID, b.UID)
			add(ComputedConcat, b.Type, nil, a.UID, b.UID)
			if i < j || a.Type != b.Type {
				add(ComputedProduct, b.Type, nil, a.UID, b.UID)
				add(ComputedSum, b.Type, nil, a.UID, b.UID)
			}
		}
	}
	for _, f := range x.s.Inbound(e.UID) {
		owner, _ := x.s.FieldByUID(f.UID)
		add(ComputedCount, Integer, owner, f.UID)
	}
	return fs
}

// computedName draws a free name that stays true when the formula changes, or "".
func (s *Schema) computedName(r *rand.Rand, e *Entity, c *formulaOf) string {
	names := []string{"total", "result", "figure", "index_value", "net_value", "score_value"}
	switch {
	case c.typ == String:
		names = []string{"label", "caption", "display_text", "full_text"}
	case c.of != nil:
		names = []string{c.of.Plural + "_count", "number_of_" + c.of.Plural, "linked_" + c.of.Plural}
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, n := range names {
		if s.free(e, n) {
			return n
		}
	}
	return ""
}

func titleAddComputed(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	f, err := fieldFrom(p)
	if e == nil || err != nil {
		return "new computed field"
	}
	return fmt.Sprintf("%s.%s: new, computed", e.Name, f.Name)
}

// enumerateChangeFormula offers the other formulas of the same type; a count stays one.
func enumerateChangeFormula(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		var fs []formulaOf
		for j := range e.Fields {
			f := &e.Fields[j]
			if f.Computed == nil {
				continue
			}
			if fs == nil {
				fs = x.formulas(e)
			}
			for _, c := range fs {
				if c.typ == f.Type && (c.formula.Kind == ComputedCount) == (f.Computed.Kind == ComputedCount) && c.of == nil {
					x.add(map[string]string{"field": f.UID, "computed": marshal(c.formula)})
				}
			}
		}
	}
}

func applyChangeFormula(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Computed == nil {
		return fmt.Errorf("%s.%s is not computed", e.Name, f.Name)
	}
	c, err := read[Computed](p, "computed", "the formula")
	if err != nil {
		return err
	}
	f.Computed = &c
	return nil
}

func titleChangeFormula(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "another formula"
	}
	return fmt.Sprintf("%s.%s: another formula", e.Name, f.Name)
}
