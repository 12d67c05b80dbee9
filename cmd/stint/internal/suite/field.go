package suite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// fieldChecks makes the checks of one clause about a field. Bodies hold the required fields and this one, and only
// this one is looked at, so that a fault elsewhere does not show here.
func (g *generator) fieldChecks(c *scenario.Clause, e *scenario.Entity, f *scenario.Field) {
	t := &target{g: g, c: c, e: e, f: f, name: e.Name + "." + f.Name}
	switch c.Kind {
	case scenario.KindType:
		t.types()
	case scenario.KindRequired:
		t.required()
	case scenario.KindOptional, scenario.KindDefault:
		t.missing()
	case scenario.KindNullable:
		t.nullable()
	case scenario.KindNotNull:
		t.refused("null", nil, "null", "null", "null is refused", "null")
		t.refusedChange("patch_null", nil, "null", "null", "PATCH to null is refused", "null")
		t.refusedReplace("put_null", nil, "null", "null", "PUT with null is refused", "null")
	case scenario.KindRange:
		t.bounds()
	case scenario.KindLength:
		t.length()
	case scenario.KindPattern:
		t.pattern()
	case scenario.KindImmutable:
		t.immutable()
	case scenario.KindEnum:
		t.enum()
	case scenario.KindUnique:
		t.unique()
	case scenario.KindRefExists:
		t.refExists()
	case scenario.KindOnDelete:
		t.onDelete()
	case scenario.KindNested:
		t.nested()
	case scenario.KindComputed:
		t.computed()
	case scenario.KindState:
		t.state()
	}
}

// target is the field that a clause is about.
type target struct {
	g    *generator
	c    *scenario.Clause
	e    *scenario.Entity
	f    *scenario.Field
	name string // entity.field
}

// check is generator.check with the field in front of the title.
func (t *target) check(variant, title, category, intent, mutation string, build func(d *draft)) {
	t.g.check(t.c, Own, about{variant, t.name + ": " + title, category, intent, mutation}, build)
}

// mine asserts the status and the field's value.
func (t *target) mine(status int) sent {
	return sent{status: status, match: Subset, keys: []string{t.f.Name}, entity: t.e}
}

func (t *target) no(status int, code string) sent {
	return sent{status: status, code: code, field: t.f.Name, entity: t.e}
}

// accepted checks that POST takes a value and returns it.
func (t *target) accepted(variant string, v any, category, title string) {
	t.check(variant, title, category, "accept", "none", func(d *draft) {
		d.send("POST", collection(t.e), d.with(t.e, "a", t.f).but(t.f.Name, v), t.mine(201))
	})
}

// refused checks that POST does not take a value.
func (t *target) refused(variant string, v any, code, category, title, mutation string) {
	t.check(variant, title, category, "reject", mutation, func(d *draft) {
		d.send("POST", collection(t.e), d.with(t.e, "a").but(t.f.Name, v), t.no(400, code))
	})
}

// refusedChange checks that PATCH does not take a value. In a field that can not change it would break two rules.
func (t *target) refusedChange(variant string, v any, code, category, title, mutation string) {
	if t.f.Immutable {
		return
	}
	t.check(variant, title, category, "reject", mutation, func(d *draft) {
		d.make(t.e, "a", d.with(t.e, "a", t.f))
		d.send("PATCH", item(t.e, "a"), body{t.f.Name: v}, t.no(400, code))
	})
}

// refusedReplace checks that PUT does not take a value, in a body that is otherwise the row's own.
func (t *target) refusedReplace(variant string, v any, code, category, title, mutation string) {
	if t.f.Immutable {
		return
	}
	t.check(variant, title, category, "reject", mutation, func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), b.but(t.f.Name, v), t.no(400, code))
	})
}

func (t *target) types() {
	t.check("accept", "a valid value is taken and returned", "type", "accept", "none", func(d *draft) {
		d.send("POST", collection(t.e), d.with(t.e, "a", t.f), t.mine(201))
	})
	if !t.f.Immutable {
		t.check("patch", "PATCH changes it", "update", "effect", "none", func(d *draft) {
			b := d.with(t.e, "a", t.f)
			next := body{t.f.Name: d.other(t.f, "b", b)}
			d.make(t.e, "a", b)
			d.send("PATCH", item(t.e, "a"), next, t.mine(200))
			if t.g.turn > 0 {
				_, was := t.g.earlier[t.g.turn-1].Schema.FieldByUID(t.f.UID)
				d.loosened = was != nil && was.Immutable
			}
		})
	}
	for _, w := range wrongValues(t.f, "p"+t.f.Target) {
		shown := strings.TrimSpace(text(w.value))
		if t.f.Type == scenario.Ref && w.variant == "text" {
			shown = "an id as a string"
		}
		t.check(w.variant, shown+" is refused", "type", "reject", "type", func(d *draft) {
			if t.f.Type == scenario.Ref {
				d.parent(t.f.Target, "")
			}
			d.send("POST", collection(t.e), d.with(t.e, "a").but(t.f.Name, w.value), t.no(400, "type"))
		})
	}
	change := wrongValues(t.f, "p"+t.f.Target)
	w := change[len(change)-1].value
	t.refusedChange("patch_wrong", w, "type", "type", "PATCH to "+text(w)+" is refused", "type")
	t.refusedReplace("put_wrong", w, "type", "type", "PUT with "+text(w)+" is refused", "type")
	t.freed()
	t.again()
}

func (t *target) required() {
	t.check("missing", "POST without it is refused", "required", "reject", "missing", func(d *draft) {
		d.send("POST", collection(t.e), d.minimal(t.e, "a").without(t.f.Name), t.no(400, "required"))
	})
	if t.f.Immutable {
		return
	}
	t.check("put_missing", "PUT without it is refused", "required", "reject", "missing", func(d *draft) {
		b := d.minimal(t.e, "a")
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), b.without(t.f.Name), t.no(400, "required"))
	})
}

// missing is for optional fields, with a default or without.
func (t *target) missing() {
	what, category := "null", "optional"
	if t.f.Default != nil {
		what, category = t.f.Literal(t.f.Default), "default"
	}
	t.check("missing", "left out of POST it is "+what, category, "value", "missing", func(d *draft) {
		d.send("POST", collection(t.e), d.minimal(t.e, "a"), t.mine(201))
	})
	if t.f.Immutable {
		return
	}
	t.check("put_missing", "left out of PUT it is "+what, category, "value", "missing", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), b.without(t.f.Name), t.mine(200))
	})
}

func (t *target) nullable() {
	t.check("null", "POST with null stores null", "null", "accept", "none", func(d *draft) {
		d.send("POST", collection(t.e), d.with(t.e, "a").but(t.f.Name, nil), t.mine(201))
	})
	if t.f.Immutable {
		return
	}
	t.check("patch_null", "PATCH to null stores null", "null", "effect", "none", func(d *draft) {
		d.make(t.e, "a", d.with(t.e, "a", t.f))
		d.send("PATCH", item(t.e, "a"), body{t.f.Name: nil}, t.mine(200))
	})
}

func (t *target) bounds() {
	var beyond any
	if t.f.Min != nil {
		least, below := limitValue(t.f, *t.f.Min), limitValue(t.f, *t.f.Min-1)
		t.limit("min", least, "range")
		t.refused("below", below, "range", "range", t.f.Bound(*t.f.Min-1)+" is refused", "range")
		beyond = below
	}
	if t.f.Max != nil {
		most, above := limitValue(t.f, *t.f.Max), limitValue(t.f, *t.f.Max+1)
		t.limit("max", most, "range")
		t.refused("above", above, "range", "range", t.f.Bound(*t.f.Max+1)+" is refused", "range")
		beyond = above
	}
	t.refusedChange("patch_beyond", beyond, "range", "range", "PATCH to "+plainText(beyond)+" is refused", "range")
	t.refusedReplace("put_beyond", beyond, "range", "range", "PUT with "+plainText(beyond)+" is refused", "range")
}

// limit checks that the limit itself is allowed. In the own world a unique field may hold it once only.
func (t *target) limit(variant string, v any, category string) {
	t.accepted(variant, v, category, plainText(v)+" is accepted")
}

// plainText is a JSON scalar without quotes, for titles.
func plainText(v any) string { return oneLine(strings.Trim(text(v), `"`), 40) }

func (t *target) length() {
	token := strconv.FormatInt(int64(clauseNumber(t.c.ID)), 36)
	var beyond string
	if t.f.MinLen != nil {
		n := *t.f.MinLen
		t.accepted("min", stringOfLength(n, token+"a"), "length", fmt.Sprintf("%d characters are accepted", n))
		if n > 0 {
			beyond = stringOfLength(n-1, token+"b")
			t.refused("short", beyond, "length", "length", fmt.Sprintf("%d characters are refused", n-1), "length")
		}
	}
	if t.f.MaxLen != nil {
		n := *t.f.MaxLen
		// One letter of two bytes: the limit counts code points.
		t.accepted("max", accented(stringOfLength(n, token+"c")), "length", fmt.Sprintf("%d characters are accepted", n))
		beyond = stringOfLength(n+1, token+"d")
		t.refused("long", beyond, "length", "length", fmt.Sprintf("%d characters are refused", n+1), "length")
	}
	if t.f.MaxLen == nil && *t.f.MinLen == 0 {
		return
	}
	t.refusedChange("patch_beyond", beyond, "length", "length", fmt.Sprintf("PATCH to %d characters is refused", len(beyond)), "length")
	t.refusedReplace("put_beyond", beyond, "length", "length", fmt.Sprintf("PUT with %d characters is refused", len(beyond)), "length")
}

func (t *target) enum() {
	t.check("values", "each of its values is accepted", "enum", "accept", "none", func(d *draft) {
		b := d.with(t.e, "a", t.f).but(t.f.Name, t.f.Values[0])
		d.send("POST", collection(t.e), b, sent{status: 201, match: Subset, keys: []string{t.f.Name}, entity: t.e, capture: "a"})
		if t.f.Immutable {
			d.send("POST", collection(t.e), d.with(t.e, "b", t.f).but(t.f.Name, t.f.Values[len(t.f.Values)-1]), t.mine(201))
			return
		}
		for _, v := range t.f.Values[1:] {
			d.send("PATCH", item(t.e, "a"), body{t.f.Name: v}, t.mine(200))
		}
	})
	const unknown = "not_in_the_list"
	t.refused("unknown", unknown, "enum", "enum", "an unknown value is refused", "enum")
	first := t.f.Values[0]
	t.refused("capital", strings.ToUpper(first[:1])+first[1:], "enum", "enum", "a value with a capital letter is refused", "enum")
	if v := t.g.removedValue(t.f); v != "" {
		t.refused("removed", v, "enum", "enum", v+", which was a value before, is refused", "enum")
	}
	t.refusedChange("patch_unknown", unknown, "enum", "enum", "PATCH to an unknown value is refused", "enum")
	t.refusedReplace("put_unknown", unknown, "enum", "enum", "PUT with an unknown value is refused", "enum")
}

// removedValue is the value that the field lost last, or "".
func (g *generator) removedValue(f *scenario.Field) string {
	for i := len(g.earlier) - 1; i >= 0; i-- {
		_, was := g.earlier[i].Schema.FieldByUID(f.UID)
		if was == nil {
			break
		}
		for _, v := range was.Values {
			if !f.Allows(scenario.Value{Str: v}) {
				return v
			}
		}
	}
	return ""
}

func (t *target) unique() {
	name := t.f.Name
	twice := t.no(409, "unique")
	t.check("create", "POST with a value in use is refused", "unique", "reject", "unique", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("POST", collection(t.e), d.with(t.e, "b", t.f).but(name, b[name]), twice)
	})
	change := func(variant, method, title string) {
		if t.f.Immutable {
			return
		}
		t.check(variant, title, "unique", "reject", "unique", func(d *draft) {
			a, b := d.with(t.e, "a", t.f), d.with(t.e, "b", t.f)
			d.make(t.e, "a", a)
			d.make(t.e, "b", b)
			next := body{name: a[name]}
			if method == "PUT" {
				next = b.but(name, a[name])
			}
			d.send(method, item(t.e, "b"), next, twice)
		})
	}
	change("patch", "PATCH", "PATCH to a value in use is refused")
	change("put", "PUT", "PUT with a value in use is refused")
	t.check("self_patch", "PATCH may repeat the row's own value", "unique", "accept", "none", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("PATCH", item(t.e, "a"), body{name: b[name]}, t.mine(200))
	})
	t.check("self_put", "PUT may repeat the row's own value", "unique", "accept", "none", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), b, t.mine(200))
	})
	if t.f.Nullable {
		t.check("nulls", "two rows may hold null", "unique", "accept", "none", func(d *draft) {
			d.make(t.e, "a", d.with(t.e, "a").but(name, nil))
			d.send("POST", collection(t.e), d.with(t.e, "b").but(name, nil), t.mine(201))
		})
	}
	if t.f.Type == scenario.String && t.f.Pattern == "" {
		t.check("case", "values that differ in case are different", "unique", "accept", "none", func(d *draft) {
			b := d.with(t.e, "a", t.f)
			upper := strings.ToUpper(fmt.Sprint(b[name]))
			d.make(t.e, "a", b)
			d.send("POST", collection(t.e), d.with(t.e, "b", t.f).but(name, upper), t.mine(201))
		})
	}
}
