package suite

import (
	"fmt"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// commandChecks makes the checks of one clause about a transition or an action.
func (g *generator) commandChecks(c *scenario.Clause, e *scenario.Entity, cmd *scenario.Command) {
	t := &order{g: g, c: c, e: e, cmd: cmd, name: e.Name + "." + cmd.Name}
	switch c.Kind {
	case scenario.KindTransition:
		t.transition()
	case scenario.KindAction:
		t.action()
	case scenario.KindGuard:
		t.guard()
	case scenario.KindEffect:
		t.effect()
	}
}

// order is the command that a clause is about.
type order struct {
	g    *generator
	c    *scenario.Clause
	e    *scenario.Entity
	cmd  *scenario.Command
	name string // entity.command
}

func (t *order) check(variant, title, category, intent, mutation string, build func(d *draft)) {
	t.g.check(t.c, Own, about{variant, t.name + ": " + title, category, intent, mutation}, build)
}

func (t *order) path(sym string) string { return item(t.e, sym) + "/" + t.cmd.Name }

// callBody is what a valid call sends: nothing, or a parameter inside its limits.
func callBody(c *scenario.Command) body {
	if c.Param == nil {
		return nil
	}
	return body{c.Param.Name: c.Param.Min + 1}
}

// seen asserts the status and some keys.
func (t *order) seen(status int, keys ...string) sent {
	return sent{status: status, match: Subset, keys: keys, entity: t.e}
}

// call makes a step of this command.
func (t *order) call(d *draft, sym string, s sent) { d.send("POST", t.path(sym), callBody(t.cmd), s) }

// ready makes a row from which the command is allowed, in the given state where it is a transition.
func (t *order) ready(d *draft, sym, from string, more ...*scenario.Field) {
	d.make(t.e, sym, d.with(t.e, sym, more...))
	if t.cmd.Transition() {
		d.bring(t.e, sym, from)
	}
	d.fulfil(t.e, sym, t.cmd, -1)
}

// first is a state that the command leaves; "" for an action.
func (t *order) first() string {
	if len(t.cmd.From) > 0 {
		return t.cmd.From[0]
	}
	return ""
}

func (t *order) transition() {
	state := t.e.StateField()
	legal := func(variant, from string) {
		t.check(variant, "from "+from+" it leads to "+t.cmd.To, "transition", "effect", "none", func(d *draft) {
			t.ready(d, "a", from)
			t.call(d, "a", t.seen(200, state.Name))
			d.send("GET", item(t.e, "a"), nil, t.seen(200, state.Name))
		})
	}
	for i, from := range t.cmd.From {
		legal([]string{"legal", "legal_2", "legal_3"}[i], from)
	}
	refused := sent{status: 409, code: "state", field: state.Name, entity: t.e}
	if wrong := t.wrongState(state); wrong != "" {
		t.check("wrong_state", "from "+wrong+" it is refused", "transition", "reject", "guard", func(d *draft) {
			t.ready(d, "a", wrong)
			t.call(d, "a", refused)
			d.send("GET", item(t.e, "a"), nil, t.seen(200, state.Name))
		})
	}
	t.check("repeated", "a second time it is refused", "transition", "reject", "guard", func(d *draft) {
		t.ready(d, "a", t.first())
		t.call(d, "a", sent{status: 200, setup: true})
		d.states["a"] = t.cmd.To
		d.fulfil(t.e, "a", t.cmd, -1)
		t.call(d, "a", refused)
	})
	if f := t.e.Untouched(t.cmd); f != nil {
		t.check("body", "a body is ignored", "transition", "effect", "extra", func(d *draft) {
			b := d.with(t.e, "a", f)
			d.make(t.e, "a", b)
			d.bring(t.e, "a", t.first())
			d.fulfil(t.e, "a", t.cmd, -1)
			d.send("POST", t.path("a"), body{f.Name: d.value(f, "b", text(b[f.Name])), state.Name: t.first()}, t.seen(200, f.Name, state.Name))
		})
	}
	t.unknown("transition")
}

// wrongState is a state that the transition does not leave and that is not the one it leads to, or "".
func (t *order) wrongState(state *scenario.Field) string {
	for _, v := range state.Values {
		if v != t.cmd.To && !slices.Contains(t.cmd.From, v) {
			return v
		}
	}
	return ""
}

func (t *order) unknown(category string) {
	t.check("unknown", "an unknown id is refused", category, "reject", "none", func(d *draft) {
		d.send("POST", nowhere(t.e)+"/"+t.cmd.Name, callBody(t.cmd), sent{status: 404, code: "not_found", entity: t.e})
	})
}

func (t *order) action() {
	t.check("call", "it is answered with the row", "action", "accept", "none", func(d *draft) {
		t.ready(d, "a", "")
		t.call(d, "a", t.seen(200, "id"))
	})
	t.unknown("action")
	p := t.cmd.Param
	if p == nil {
		return
	}
	with := func(variant, title, code, intent, mutation string, b body) {
		t.check(variant, title, "action", intent, mutation, func(d *draft) {
			t.ready(d, "a", "")
			if code == "" {
				d.send("POST", t.path("a"), b, t.seen(200, "id"))
				return
			}
			d.send("POST", t.path("a"), b, sent{status: 400, code: code, field: p.Name, entity: t.e})
		})
	}
	with("missing", "without "+p.Name+" it is refused", "required", "reject", "missing", body{})
	with("null", "null as "+p.Name+" is refused", "null", "reject", "null", body{p.Name: nil})
	with("text", "a string as "+p.Name+" is refused", "type", "reject", "type", body{p.Name: fmt.Sprint(p.Min + 1)})
	with("fraction", "a fraction as "+p.Name+" is refused", "type", "reject", "type", body{p.Name: float64(p.Min) + 0.5})
	with("min", fmt.Sprintf("%d is accepted", p.Min), "", "accept", "none", body{p.Name: p.Min})
	with("below", fmt.Sprintf("%d is refused", p.Min-1), "range", "reject", "range", body{p.Name: p.Min - 1})
	with("max", fmt.Sprintf("%d is accepted", p.Max), "", "accept", "none", body{p.Name: p.Max})
	with("above", fmt.Sprintf("%d is refused", p.Max+1), "range", "reject", "range", body{p.Name: p.Max + 1})
}

// watched are the fields of the row itself that the command changes.
func (t *order) watched() []*scenario.Field {
	var fs []*scenario.Field
	for _, x := range t.cmd.Effects {
		if _, f := t.g.schema.FieldByUID(x.Target); f != nil && x.Ref == "" {
			fs = append(fs, f)
		}
	}
	return fs
}

// keys are the names of the fields that the command changes in the row itself, its state included; "id" if it changes none.
func (t *order) keys() []string {
	keys := []string{"id"}
	for _, f := range t.watched() {
		keys = append(keys, f.Name)
	}
	if f := t.e.StateField(); f != nil && t.cmd.Transition() {
		keys = append(keys, f.Name)
	}
	return keys
}

func (t *order) guard() {
	t.check("met", "at the limit of its condition it is allowed", "guard", "accept", "none", func(d *draft) {
		t.ready(d, "a", t.first())
		t.call(d, "a", t.seen(200, "id"))
	})
	refused := sent{status: 409, code: "guard", entity: t.e}
	for n, a := range t.cmd.Guard.Atoms {
		t.check([]string{"unmet", "unmet_2"}[n], "beyond the limit of its condition it is refused", "guard", "reject", "guard", func(d *draft) {
			d.make(t.e, "a", d.with(t.e, "a", t.watched()...))
			d.bring(t.e, "a", t.first())
			refs := t.referred(d, "a", n)
			d.fulfil(t.e, "a", t.cmd, n)
			d.violate(t.e, "a", a, false)
			t.call(d, "a", refused)
			d.send("GET", item(t.e, "a"), nil, t.seen(200, t.keys()...))
			refs.look(d)
		})
		if t.g.nullable(a) == nil {
			continue
		}
		t.check([]string{"null", "null_2"}[n], "with null in its condition it is refused", "guard", "reject", "guard", func(d *draft) {
			d.make(t.e, "a", d.with(t.e, "a"))
			d.bring(t.e, "a", t.first())
			d.fulfil(t.e, "a", t.cmd, n)
			d.violate(t.e, "a", a, true)
			t.call(d, "a", refused)
		})
	}
}

// nullable is the field of an atom that can be null, or nil.
func (g *generator) nullable(a scenario.Atom) *scenario.Field {
	if a.Kind == scenario.AtomChildren {
		return nil
	}
	for _, uid := range []string{a.Field, a.Other} {
		if _, f := g.schema.FieldByUID(uid); f != nil && f.Nullable {
			return f
		}
	}
	return nil
}

// referred are rows that a command changes through references.
type referred []watch

type watch struct {
	entity *scenario.Entity
	sym    string
	field  *scenario.Field
}

func (r referred) look(d *draft) {
	for _, w := range r {
		d.send("GET", item(w.entity, w.sym), nil, sent{status: 200, match: Subset, keys: []string{w.field.Name}, entity: w.entity})
	}
}

// referred gives the row references to rows of their own, as far as effects go through them and no condition of the
// command asks for another row; violated is the atom that is not going to hold, -1 if all are. The targets have a value.
func (t *order) referred(d *draft, sym string, violated int) referred {
	var rows referred
	change := body{}
	for _, x := range t.cmd.Effects {
		_, ref := t.g.schema.FieldByUID(x.Ref)
		if ref == nil {
			continue
		}
		owner, f := t.g.schema.FieldByUID(x.Target)
		at := d.parent(ref.Target, map[string]string{"a": "mine", "b": "others"}[sym])
		if sym == "a" && t.cmd.Guard.Names(ref.UID) {
			// The condition wants this row in a state, so the row that it will have is the one to look at.
			at = d.parentFor(t.cmd, ref)
			if violated >= 0 && t.cmd.Guard.Atoms[violated].Field == ref.UID {
				at = d.parentOut(ref.Target, t.cmd.Guard.Atoms[violated].State)
			}
		}
		d.patch(owner, at, body{f.Name: d.value(f, sym, fmt.Sprint(x.Amount))})
		change[ref.Name] = "${" + at + "}"
		rows = append(rows, watch{owner, at, f})
	}
	d.patch(t.e, sym, change)
	return rows
}

func (t *order) effect() {
	t.check("applied", "its effects, in this row and no other", "effect", "effect", "none", func(d *draft) {
		own := t.watched()
		var all referred
		for _, sym := range []string{"a", "b"} {
			b := d.with(t.e, sym, own...)
			start := body{}
			for _, x := range t.cmd.Effects {
				if _, f := t.g.schema.FieldByUID(x.Target); x.Ref == "" {
					start[f.Name] = d.value(f, sym, fmt.Sprint(x.Amount))
					b[f.Name] = start[f.Name]
				}
			}
			d.make(t.e, sym, b)
			if sym == "a" && t.cmd.Transition() && t.first() != t.e.Machine.Initial {
				d.bring(t.e, sym, t.first())
				d.patch(t.e, sym, start) // the way may have changed it
			}
			all = append(all, t.referred(d, sym, -1)...)
		}
		d.fulfil(t.e, "a", t.cmd, -1)
		t.call(d, "a", t.seen(200, t.keys()...))
		if len(own) > 0 {
			d.send("GET", item(t.e, "a"), nil, t.seen(200, t.keys()...))
			d.send("GET", item(t.e, "b"), nil, t.seen(200, t.keys()...))
		}
		all.look(d)
	})
	t.nullTargets()
	for _, x := range t.cmd.Effects {
		_, ref := t.g.schema.FieldByUID(x.Ref)
		if ref == nil || !ref.Nullable || t.cmd.Guard.Names(ref.UID) {
			continue
		}
		t.check("no_row", "without a row to change it is allowed", "effect", "accept", "none", func(d *draft) {
			t.ready(d, "a", t.first())
			d.patch(t.e, "a", body{ref.Name: nil})
			t.call(d, "a", t.seen(200, "id"))
		})
		return
	}
}

// nullTargets checks that null counts as nothing.
func (t *order) nullTargets() {
	nulls := func(d *draft, do func(e *scenario.Entity, sym string, f *scenario.Field)) {
		for _, x := range t.cmd.Effects {
			owner, f := t.g.schema.FieldByUID(x.Target)
			_, ref := t.g.schema.FieldByUID(x.Ref)
			switch {
			case !f.Nullable || t.cmd.Guard.Names(f.UID): // the condition gives it a value
			case ref == nil:
				do(t.e, "a", f)
			case t.cmd.Guard.Names(ref.UID):
				do(owner, d.parentFor(t.cmd, ref), f)
			default:
				do(owner, d.parent(ref.Target, "mine"), f)
			}
		}
	}
	any := slices.ContainsFunc(t.cmd.Effects, func(x scenario.Effect) bool {
		_, f := t.g.schema.FieldByUID(x.Target)
		return f.Nullable && !t.cmd.Guard.Names(f.UID)
	})
	if !any {
		return
	}
	t.check("null", "its effects where there was null", "effect", "effect", "none", func(d *draft) {
		d.make(t.e, "a", d.with(t.e, "a"))
		d.bring(t.e, "a", t.first())
		t.referred(d, "a", -1)
		nulls(d, func(e *scenario.Entity, sym string, f *scenario.Field) {
			d.patch(e, sym, body{f.Name: nil})
		})
		d.fulfil(t.e, "a", t.cmd, -1)
		t.call(d, "a", t.seen(200, t.keys()...))
		nulls(d, func(e *scenario.Entity, sym string, f *scenario.Field) {
			d.send("GET", item(e, sym), nil, sent{status: 200, match: Subset, keys: []string{f.Name}, entity: e})
		})
	})
}
