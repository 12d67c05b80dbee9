package suite

import (
	"fmt"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// bring takes a row to a state by the shortest way, meeting every condition on it.
func (d *draft) bring(e *scenario.Entity, sym, to string) {
	if d.err != nil || e.Machine == nil || to == "" {
		return
	}
	path, ok := e.Machine.Path(to)
	if now := d.states[sym]; now != "" || !ok {
		if now != to {
			d.fail("row %s of %s is %q and cannot become %q", sym, e.Name, now, to)
		}
		return
	}
	for _, t := range path {
		for _, c := range e.Commands() {
			if c.UID == t.UID {
				d.fulfil(e, sym, &c, -1)
				d.cite(scenario.KindTransition, c.UID)
				d.send("POST", item(e, sym)+"/"+c.Name, nil, sent{status: 200, setup: true})
			}
		}
	}
	d.states[sym] = to
}

// fulfil brings a row to the limit of every atom of a command's condition but the one at except (-1: of all).
func (d *draft) fulfil(e *scenario.Entity, sym string, c *scenario.Command, except int) {
	if c.Guard == nil {
		return
	}
	d.cite(scenario.KindGuard, c.UID)
	change := body{}
	for n, a := range c.Guard.Atoms {
		if n == except {
			continue
		}
		_, f := d.g.schema.FieldByUID(a.Field)
		_, o := d.g.schema.FieldByUID(a.Other)
		switch a.Kind {
		case scenario.AtomField:
			change[f.Name] = limitValue(f, a.Value)
		case scenario.AtomFields:
			x := common(f, o)
			change[f.Name], change[o.Name] = limitValue(f, x), limitValue(o, x)
		case scenario.AtomParent:
			change[f.Name] = "${" + d.parentIn(f.Target, a.State) + "}"
		case scenario.AtomChildren:
			d.children(f, sym, int(a.Value))
		}
	}
	d.patch(e, sym, change)
}

// patch changes a row that a check is going to need; nothing is sent for no change.
func (d *draft) patch(e *scenario.Entity, sym string, change body) {
	if len(change) > 0 {
		d.send("PATCH", item(e, sym), change, sent{status: 200, entity: e, setup: true})
	}
}

// violate brings a row one beyond the limit of an atom, or to null.
func (d *draft) violate(e *scenario.Entity, sym string, a scenario.Atom, null bool) {
	_, f := d.g.schema.FieldByUID(a.Field)
	_, o := d.g.schema.FieldByUID(a.Other)
	one := int64(1)
	if a.Op == "<=" {
		one = -1
	}
	change := body{}
	if null && o != nil {
		x := common(f, o)
		change[f.Name], change[o.Name] = limitValue(f, x), limitValue(o, x)
	}
	switch {
	case null:
		change[d.g.nullable(a).Name] = nil
	case a.Kind == scenario.AtomField:
		change[f.Name] = limitValue(f, a.Value-one)
	case a.Kind == scenario.AtomFields:
		x := common(f, o)
		change[f.Name], change[o.Name] = limitValue(f, x), limitValue(o, x+one)
	case a.Kind == scenario.AtomParent:
		change[f.Name] = "${" + d.parentOut(f.Target, a.State) + "}"
	case a.Kind == scenario.AtomChildren:
		d.children(f, sym, int(a.Value)-1)
		d.orphan(f, sym, int(a.Value)-1)
	}
	d.patch(e, sym, change)
}

// orphan deletes rows until only so many refer to the row by f.
func (d *draft) orphan(f *scenario.Field, sym string, count int) {
	e, _ := d.g.schema.FieldByUID(f.UID)
	key := sym + "|" + f.UID
	for n := len(d.kids[key]); n > count; n-- {
		d.send("DELETE", item(e, d.kids[key][n-1]), nil, sent{status: 204, entity: e, setup: true})
		d.kids[key] = d.kids[key][:n-1]
	}
}

// common is a value that both fields allow, with one more and one less.
func common(f, o *scenario.Field) int64 {
	x := map[scenario.Type]int64{scenario.Integer: 50, scenario.Decimal: 50_00, scenario.Date: 18600}[f.Type]
	for _, r := range []*scenario.Field{f, o} {
		if r.Max != nil {
			x = min(x, *r.Max-1)
		}
	}
	for _, r := range []*scenario.Field{f, o} {
		if r.Min != nil {
			x = max(x, *r.Min+1)
		}
	}
	return x
}

// parentIn returns the symbol of a row that is in a state, made on first use.
func (d *draft) parentIn(entity, state string) string {
	e := d.g.schema.Entity(entity)
	at := slices.Index(e.StateField().Values, state)
	sym := d.parent(entity, fmt.Sprintf("in%d", at))
	d.bring(e, sym, state)
	return sym
}

// parentOut returns the symbol of a row that is in another state.
func (d *draft) parentOut(entity, state string) string {
	states := d.g.schema.Entity(entity).StateField().Values
	if states[0] == state {
		return d.parentIn(entity, states[1])
	}
	return d.parentIn(entity, states[0])
}

// parentFor is the row that a command's condition wants a reference to name.
func (d *draft) parentFor(c *scenario.Command, ref *scenario.Field) string {
	for _, a := range c.Guard.Atoms {
		if a.Field == ref.UID && a.Kind == scenario.AtomParent {
			return d.parentIn(ref.Target, a.State)
		}
	}
	return d.parent(ref.Target, "mine")
}

// children makes rows until so many refer to the row by f.
func (d *draft) children(f *scenario.Field, sym string, count int) {
	e, _ := d.g.schema.FieldByUID(f.UID)
	key := sym + "|" + f.UID
	for len(d.kids[key]) < count && d.err == nil {
		d.kidsMade++
		name := fmt.Sprintf("k%d", d.kidsMade)
		d.make(e, name, d.referring(e, f, name, sym))
		d.kids[key] = append(d.kids[key], name)
	}
}
