package suite

import (
	"fmt"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// entityChecks makes the checks of W1 for one clause about an entity.
func (g *generator) entityChecks(c *scenario.Clause, e *scenario.Entity) {
	switch c.Kind {
	case scenario.KindCreate:
		g.create(c, e)
	case scenario.KindRead:
		g.check(c, Own, about{"one", "each of two " + e.Plural + " is read by its id", "read", "value", ""}, func(d *draft) {
			d.citeFields(e)
			d.make(e, "a", d.full(e, "a"))
			d.make(e, "b", d.minimal(e, "b"))
			d.send("GET", item(e, "a"), nil, sent{status: 200, match: Present, entity: e})
			d.send("GET", item(e, "b"), nil, sent{status: 200, match: Present, entity: e})
		})
	case scenario.KindNotFound:
		g.notFound(c, e)
	case scenario.KindReplace:
		g.replace(c, e)
	case scenario.KindUpdate:
		g.update(c, e)
	case scenario.KindDelete:
		g.remove(c, e)
	case scenario.KindExactKeys:
		g.exactKeys(c, e)
	case scenario.KindAtomic:
		g.atomic(c, e)
	}
}

func (g *generator) create(c *scenario.Clause, e *scenario.Entity) {
	g.check(c, Own, about{"full", "a " + e.Name + " with all fields is created", "create", "accept", ""}, func(d *draft) {
		d.citeFields(e)
		d.send("POST", collection(e), d.full(e, "a"), sent{status: 201, match: Present, entity: e, capture: "a"})
	})
	g.check(c, Own, about{"minimal", "a " + e.Name + " with its required fields alone is created", "create", "accept", ""}, func(d *draft) {
		d.citeFields(e)
		d.send("POST", collection(e), d.minimal(e, "a"), sent{status: 201, match: Present, entity: e, capture: "a"})
	})
	g.check(c, Own, about{"ids", "a later " + e.Name + " gets a larger id", "create", "value", ""}, func(d *draft) {
		d.make(e, "a", d.minimal(e, "a"))
		d.send("POST", collection(e), d.minimal(e, "b"), sent{status: 201, match: Subset, keys: []string{"id"}, entity: e, capture: "b", above: "a"})
	})
}

func (g *generator) notFound(c *scenario.Clause, e *scenario.Entity) {
	gone := sent{status: 404, code: "not_found", entity: e}
	g.check(c, Own, about{"get", "reading an unknown " + e.Name, "not_found", "reject", ""}, func(d *draft) { d.send("GET", nowhere(e), nil, gone) })
	g.check(c, Own, about{"put", "replacing an unknown " + e.Name, "not_found", "reject", ""}, func(d *draft) {
		d.send("PUT", nowhere(e), d.minimal(e, "a"), gone)
	})
	g.check(c, Own, about{"patch", "updating an unknown " + e.Name, "not_found", "reject", ""}, func(d *draft) {
		b := d.minimal(e, "a")
		if f := steady(e); f != nil {
			b = body{f.Name: d.set(f, "a")}
		}
		d.send("PATCH", nowhere(e), b, gone)
	})
	g.check(c, Own, about{"delete", "deleting an unknown " + e.Name, "not_found", "reject", ""}, func(d *draft) { d.send("DELETE", nowhere(e), nil, gone) })
}

// steady is a field for requests that are about something else: the first that is no reference and can change, required if
// there is one.
func steady(e *scenario.Entity) *scenario.Field {
	var first *scenario.Field
	for i := range e.Fields {
		f := &e.Fields[i]
		if f.Type == scenario.Ref || f.Managed() || f.Immutable {
			continue
		}
		if f.Required {
			return f
		}
		if first == nil {
			first = f
		}
	}
	return first
}

func (g *generator) replace(c *scenario.Clause, e *scenario.Entity) {
	g.check(c, Own, about{"full", "PUT gives every field of a " + e.Name + " its new value", "replace", "effect", ""}, func(d *draft) {
		d.citeFields(e)
		b := d.full(e, "a")
		next := d.changed(e, "b", b)
		d.make(e, "a", b)
		d.send("PUT", item(e, "a"), next, sent{status: 200, match: Present, entity: e})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Present, entity: e})
	})
	g.check(c, Own, about{"minimal", "PUT keeps no old value of the fields it leaves out", "replace", "effect", ""}, func(d *draft) {
		d.citeFields(e)
		b := d.full(e, "a")
		next := d.kept(e, d.minimal(e, "b"), b)
		d.make(e, "a", b)
		d.send("PUT", item(e, "a"), next, sent{status: 200, match: Present, entity: e})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Present, entity: e})
	})
}

func (g *generator) update(c *scenario.Clause, e *scenario.Entity) {
	g.check(c, Own, about{"one", "PATCH of one field keeps the other fields of a " + e.Name, "update", "effect", ""}, func(d *draft) {
		f := steady(e)
		if f == nil {
			return
		}
		d.citeFields(e)
		b := d.full(e, "a")
		d.make(e, "a", b)
		d.send("PATCH", item(e, "a"), body{f.Name: d.other(f, "b", b)}, sent{status: 200, match: Present, entity: e})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Present, entity: e})
	})
	g.check(c, Own, about{"nothing", "PATCH with {} changes nothing of a " + e.Name, "update", "effect", ""}, func(d *draft) {
		d.citeFields(e)
		d.make(e, "a", d.full(e, "a"))
		d.send("PATCH", item(e, "a"), body{}, sent{status: 200, match: Present, entity: e})
	})
}

func (g *generator) remove(c *scenario.Clause, e *scenario.Entity) {
	gone := sent{status: 404, code: "not_found", entity: e}
	g.check(c, Own, about{"one", "a deleted " + e.Name + " can not be read", "delete", "effect", ""}, func(d *draft) {
		d.make(e, "a", d.minimal(e, "a"))
		d.send("DELETE", item(e, "a"), nil, sent{status: 204})
		d.send("GET", item(e, "a"), nil, gone)
	})
	g.check(c, Own, about{"verbs", "a deleted " + e.Name + " can not be changed or deleted again", "delete", "effect", ""}, func(d *draft) {
		d.make(e, "a", d.minimal(e, "a"))
		d.send("DELETE", item(e, "a"), nil, sent{status: 204, setup: true})
		d.send("PATCH", item(e, "a"), body{}, gone)
		d.send("PUT", item(e, "a"), d.minimal(e, "b"), gone)
		d.send("DELETE", item(e, "a"), nil, gone)
	})
}

func (g *generator) exactKeys(c *scenario.Clause, e *scenario.Entity) {
	g.check(c, Own, about{"bodies", "answers about one " + e.Name + " have exactly the declared keys", "keys", "shape", ""}, func(d *draft) {
		b := d.minimal(e, "a")
		d.send("POST", collection(e), b, sent{status: 201, match: Exact, entity: e, capture: "a"})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Exact, entity: e})
		d.send("PUT", item(e, "a"), d.kept(e, d.minimal(e, "b"), b), sent{status: 200, match: Exact, entity: e})
		d.send("PATCH", item(e, "a"), body{}, sent{status: 200, match: Exact, entity: e})
	})
	unknown := g.unknownKey(e)
	g.check(c, Own, about{"extra", "a key that a " + e.Name + " does not have is ignored", "keys", "shape", "extra"}, func(d *draft) {
		b := d.minimal(e, "a")
		d.send("POST", collection(e), b.but(unknown, "surplus"), sent{status: 201, match: Exact, entity: e, capture: "a"})
		d.send("PATCH", item(e, "a"), body{unknown: 5}, sent{status: 200, match: Exact, entity: e})
	})
	g.check(c, Own, about{"id", "an id in the body of a request is ignored", "keys", "shape", "extra"}, func(d *draft) {
		b := d.minimal(e, "a")
		d.send("POST", collection(e), b.but("id", unknownID), sent{status: 201, match: Subset, keys: []string{"id"}, entity: e, capture: "a"})
		d.send("PATCH", item(e, "a"), body{"id": unknownID}, sent{status: 200, match: Subset, keys: []string{"id"}, entity: e})
		d.send("GET", nowhere(e), nil, sent{status: 404, code: "not_found", entity: e})
	})
}

// unknownKey is a name that no field of the entity has or had.
func (g *generator) unknownKey(e *scenario.Entity) string {
	used := func(name string) bool {
		return e.FieldByName(name) != nil || slices.ContainsFunc(g.schema.Tombstones, func(t scenario.Tombstone) bool { return t.Entity == e.UID && t.Name == name })
	}
	for i := 1; ; i++ {
		if name := fmt.Sprintf("undeclared_key_%d", i); !used(name) {
			return name
		}
	}
}

// spoil returns b with one value of a wrong type, in the last field that is no reference and can change, so that a
// service that stores field by field has stored others before it refuses.
func (d *draft) spoil(e *scenario.Entity, b body) (spoiled body, field string) {
	for i := len(e.Fields) - 1; i >= 0; i-- {
		if f := &e.Fields[i]; f.Type != scenario.Ref && !f.Managed() && !f.Immutable {
			return b.but(f.Name, wrongValues(f, "")[0].value), f.Name
		}
	}
	return nil, ""
}

func (g *generator) atomic(c *scenario.Clause, e *scenario.Entity) {
	g.check(c, Own, about{"update", "a refused PATCH changes nothing of a " + e.Name, "leak", "effect", "type"}, func(d *draft) {
		b := d.full(e, "a")
		bad, field := d.spoil(e, d.changed(e, "b", b))
		if field == "" {
			return
		}
		d.make(e, "a", b)
		d.send("PATCH", item(e, "a"), bad, sent{status: 400, code: "type", field: field, entity: e})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Subset, entity: e})
	})
	g.check(c, Own, about{"replace", "a refused PUT changes nothing of a " + e.Name, "leak", "effect", "type"}, func(d *draft) {
		b := d.full(e, "a")
		bad, field := d.spoil(e, d.changed(e, "b", b))
		if field == "" {
			return
		}
		d.make(e, "a", b)
		d.send("PUT", item(e, "a"), bad, sent{status: 400, code: "type", field: field, entity: e})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Subset, entity: e})
	})
}

// leak makes the check of W2 that a refused creation leaves no row behind. Entities come before those that refer
// to them, so the list asked for is still empty.
func (g *generator) leak(c *scenario.Clause) {
	e := g.schema.Entity(c.Subject)
	g.check(c, Empty, about{"create", "a refused POST leaves no " + e.Name + " behind", "leak", "effect", "type"}, func(d *draft) {
		bad, field := d.spoil(e, d.with(e, "a"))
		if field == "" {
			return
		}
		d.send("POST", collection(e), bad, sent{status: 400, code: "type", field: field, entity: e})
		d.send("GET", collection(e), nil, sent{status: 200, match: Subset, entity: e})
	})
}
