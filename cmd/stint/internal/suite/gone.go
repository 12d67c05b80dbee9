package suite

import (
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// gone makes the checks that a former name means nothing any more.
func (g *generator) gone(c *scenario.Clause) {
	t := g.schema.TombstoneByUID(c.Subject)
	switch {
	case t == nil:
	case t.Kind == scenario.GoneField:
		g.goneField(c, t)
	case t.Kind == scenario.GoneEntity || t.Kind == scenario.GoneAction || t.Kind == scenario.GoneNested:
		g.gonePath(c, t)
	case t.Kind == scenario.GoneAnalytics:
		g.goneStatistic(c, t)
	}
}

// goneField makes the checks that a former key is ignored and in no answer.
func (g *generator) goneField(c *scenario.Clause, t *scenario.Tombstone) {
	e := g.schema.Entity(t.Entity)
	if e == nil {
		return
	}
	_, now := g.schema.FieldByUID(t.Field)
	was := g.formerField(t)
	if now != nil { // what is sent under the old name must differ from what a missing field becomes
		copied := *was
		copied.Default = now.Default
		was = &copied
	}
	name := e.Name + "." + t.Name
	g.check(c, Own, about{"post", name + ": the former name is ignored by POST and returned by nothing", "removed", "gone", "extra"}, func(d *draft) {
		b := d.with(e, "a")
		if now != nil {
			b = d.with(e, "a", now)
		}
		d.send("POST", collection(e), b.but(t.Name, d.value(was, "old")), sent{status: 201, match: Exact, entity: e, capture: "a"})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Exact, entity: e})
	})
	g.check(c, Own, about{"patch", name + ": PATCH with the former name changes nothing", "removed", "gone", "extra"}, func(d *draft) {
		b := d.with(e, "a")
		if now != nil {
			b = d.with(e, "a", now)
		}
		d.make(e, "a", b)
		d.send("PATCH", item(e, "a"), body{t.Name: d.value(was, "old")}, sent{status: 200, match: Exact, entity: e})
		d.send("GET", item(e, "a"), nil, sent{status: 200, match: Exact, entity: e})
	})
	if now == nil {
		return
	}
	g.check(c, Own, about{"instead", name + ": the former name does not stand for " + now.Name, "removed", "gone", "missing"}, func(d *draft) {
		b := d.with(e, "a").without(now.Name).but(t.Name, d.value(was, "old"))
		if now.Required {
			d.cite(scenario.KindRequired, now.UID)
			d.send("POST", collection(e), b, sent{status: 400, code: "required", field: now.Name, entity: e})
			return
		}
		d.send("POST", collection(e), b, sent{status: 201, match: Subset, keys: []string{now.Name}, entity: e})
	})
}

// gonePath makes the check that a former path is unknown.
func (g *generator) gonePath(c *scenario.Clause, t *scenario.Tombstone) {
	e := g.schema.Entity(t.Entity)
	if e == nil && t.Kind != scenario.GoneEntity {
		return
	}
	gone := sent{status: 404, code: "not_found"}
	path, title := "/"+t.Name, "the former path /"+t.Name+" is unknown"
	if t.Kind != scenario.GoneEntity {
		title = e.Name + "." + t.Name + ": the former path is unknown"
	}
	g.check(c, Own, about{"path", title, "removed", "gone", ""}, func(d *draft) {
		switch t.Kind {
		case scenario.GoneAction:
			d.make(e, "a", d.minimal(e, "a"))
			if was := g.formerCommand(t.Field); was != nil && len(was.From) > 0 && e.Machine != nil {
				d.bring(e, "a", was.From[0])
			}
			d.send("POST", item(e, "a")+"/"+t.Name, nil, gone)
		case scenario.GoneNested:
			d.make(e, "a", d.minimal(e, "a"))
			d.send("GET", item(e, "a")+"/"+t.Name, nil, gone)
		default:
			b := body{}
			d.send("GET", path, nil, gone)
			if e != nil {
				b = d.minimal(e, "b")
				d.make(e, "a", d.minimal(e, "a"))
				d.send("GET", path+"/${a}", nil, gone)
			}
			d.send("POST", path, b, gone)
		}
	})
}

// formerCommand is a command as it was before it was removed.
func (g *generator) formerCommand(uid string) *scenario.Command {
	for i := len(g.earlier) - 1; i >= 0; i-- {
		if _, c := g.earlier[i].Schema.CommandByUID(uid); c != nil {
			return c
		}
	}
	return nil
}

// formerField is the field as it was when it last had the name: values sent under the old name would have been valid.
func (g *generator) formerField(t *scenario.Tombstone) *scenario.Field {
	for i := len(g.earlier) - 1; i >= 0; i-- {
		if e := g.earlier[i].Schema.Entity(t.Entity); e != nil {
			if f := e.FieldByName(t.Name); f != nil {
				return f
			}
		}
	}
	return &scenario.Field{UID: t.Field, Name: t.Name, Type: scenario.String}
}

// errorFormat makes the checks that look at whole error bodies.
func (g *generator) errorFormat(c *scenario.Clause) {
	e := g.targetsFirst()[0]
	g.check(c, Own, about{"not_found", "the body of a 404", "errors", "shape", "none"}, func(d *draft) {
		d.send("GET", nowhere(e), nil, sent{status: 404, code: "not_found", match: Present, entity: e})
	})
	g.check(c, Own, about{"refused", "the body of a 400", "errors", "shape", "type"}, func(d *draft) {
		bad, field := d.spoil(e, d.with(e, "a"))
		if field != "" {
			d.send("POST", collection(e), bad, sent{status: 400, code: "type", field: field, match: Present, entity: e})
		}
	})
	g.check(c, Own, about{"conflict", "the body of a 409", "errors", "shape", "unique"}, func(d *draft) { d.conflict() })
}

// conflict provokes a 409 where the schema has one: a duplicate, else a restricted deletion.
func (d *draft) conflict() {
	for i := range d.g.schema.Entities {
		e := &d.g.schema.Entities[i]
		for j := range e.Fields {
			f := &e.Fields[j]
			if f.Unique {
				d.cite(scenario.KindUnique, f.UID)
				b := d.with(e, "a", f)
				d.make(e, "a", b)
				d.send("POST", collection(e), d.with(e, "b", f).but(f.Name, b[f.Name]), sent{status: 409, code: "unique", field: f.Name, match: Present, entity: e})
				return
			}
		}
	}
	for i := range d.g.schema.Entities {
		e := &d.g.schema.Entities[i]
		for j := range e.Fields {
			if f := &e.Fields[j]; f.Type == scenario.Ref && f.OnDelete == scenario.Restrict {
				d.cite(scenario.KindOnDelete, f.UID)
				to := d.g.schema.Entity(f.Target)
				top := d.parent(f.Target, "mine")
				d.make(e, "a", d.referring(e, f, "a", top))
				d.send("DELETE", item(to, top), nil, sent{status: 409, code: "restricted", match: Present, entity: to})
				return
			}
		}
	}
}
