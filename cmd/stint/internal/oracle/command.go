package oracle

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// command is a transition or an action, as faults changed it.
type command struct {
	scenario.Command
	owner   *entity
	atoms   []atom
	effects []effect

	broken, anyState, stays, takesBody, unguarded, leaks bool
	noRequired, noNull, anyType, anyValue                bool // of the parameter
	slips
}

// atom is one comparison of a guard.
type atom struct {
	scenario.Atom
	field, other                *field
	off, nullHolds, offByOneLax bool
	exclusive                   bool
}

// effect is one change that a command makes.
type effect struct {
	scenario.Effect
	ref, target                      *field
	ignored, wrongWay, keepNull, all bool
	more                             int64
}

// command resolves the fields that a command names.
func (b *builder) command(e *entity, def scenario.Command) *command {
	c := &command{Command: def, owner: e}
	if def.Guard != nil {
		c.atoms = b.atoms(def.Guard)
	}
	c.effects = b.effects(def.Effects)
	return c
}

func (b *builder) atoms(g *scenario.Guard) []atom {
	as := make([]atom, len(g.Atoms))
	for n, a := range g.Atoms {
		as[n] = atom{Atom: a, field: b.fields[a.Field], other: b.fields[a.Other]}
	}
	return as
}

func (b *builder) effects(defs []scenario.Effect) []effect {
	xs := make([]effect, len(defs))
	for n, x := range defs {
		xs[n] = effect{Effect: x, ref: b.fields[x.Ref], target: b.fields[x.Target]}
	}
	return xs
}

// call answers POST /PLURAL/{id}/NAME.
func (i *Interp) call(e *entity, id, name string, body []byte) Response {
	n, err := strconv.ParseInt(id, 10, 64)
	r := e.byID[n]
	c := e.commands[name]
	switch {
	case c == nil && e.relics[name] && err == nil && r != nil:
		return Response{http.StatusOK, r.render()}
	case c == nil || c.broken:
		return i.refuse(failure{status: http.StatusNotFound, code: "not_found"})
	case err != nil || r == nil:
		return i.refuse(*c.failure(http.StatusNotFound, "not_found", ""))
	}
	param, bad := c.parameter(body)
	if bad != nil {
		return i.refuse(*bad)
	}
	if s := e.state(); c.Transition() && s != nil && !c.anyState && !slices.Contains(c.From, r.cells[s.index].v.Str) {
		return i.refuse(*c.failure(http.StatusConflict, "state", s.Name))
	}
	if !c.allowed(r) {
		if c.leaks {
			c.carryOut(r, param)
		}
		return i.refuse(*c.failure(http.StatusConflict, "guard", ""))
	}
	if in, ok := parseObject(body); ok && c.takesBody {
		if cells, bad := e.fill(in, r, false); bad == nil {
			r.cells, r.object = cells, nil
		}
	}
	c.carryOut(r, param)
	return Response{c.status("call", http.StatusOK), r.render()}
}

// parameter reads the action's parameter; 0 without one.
func (c *command) parameter(body []byte) (int64, *failure) {
	p := c.Param
	if p == nil {
		return 0, nil
	}
	refuse := func(code string) (int64, *failure) {
		return 0, c.failure(http.StatusBadRequest, code, p.Name)
	}
	in, ok := parseObject(body)
	if !ok {
		in = map[string]any{} // no body is a body without the key
	}
	raw, sent := in[p.Name]
	switch {
	case !sent && !c.noRequired:
		return refuse("required")
	case sent && raw == nil && !c.noNull:
		return refuse("null")
	case raw == nil:
		return p.Min, nil
	}
	n, isNumber := raw.(json.Number)
	v, whole := int64(0), false
	if isNumber {
		v, whole = wholeNumber(n)
	}
	switch {
	case !whole && !c.anyType:
		return refuse("type")
	case !whole:
		return p.Min, nil
	case (v < p.Min || v > p.Max) && !c.anyValue:
		return refuse("range")
	}
	return v, nil
}

// allowed reports whether the guard is met.
func (c *command) allowed(r *row) bool {
	if c.unguarded {
		return true
	}
	for n := range c.atoms {
		if !c.atoms[n].holds(r) {
			return false
		}
	}
	return true
}

func (a *atom) holds(r *row) bool {
	if a.off || a.field == nil {
		return true
	}
	if a.Kind == scenario.AtomChildren {
		return a.compare(a.field.referring(r.id), a.Value)
	}
	own := &r.cells[a.field.index]
	if !own.typed() {
		return a.nullHolds
	}
	switch a.Kind {
	case scenario.AtomFields:
		other := &r.cells[a.other.index]
		if !other.typed() {
			return a.nullHolds
		}
		return a.compare(own.v.Int, other.v.Int)
	case scenario.AtomParent:
		parent := a.field.target.byID[own.v.Int]
		s := a.field.target.state()
		return parent != nil && s != nil && parent.cells[s.index].v.Str == a.State
	}
	return a.compare(own.v.Int, a.Value)
}

// compare is Op, by a fault one too strict or one too lax. Numbers of rows know only "at least".
func (a *atom) compare(x, limit int64) bool {
	if a.Op == "<=" {
		x, limit = -x, -limit
	}
	switch {
	case a.exclusive:
		return x > limit
	case a.offByOneLax:
		return x >= limit-1
	}
	return x >= limit
}

// refers reports whether a row names the id by f.
func (f *field) refers(r *row, id int64) bool {
	c := &r.cells[f.index]
	return c.typed() && c.v.Int == id
}

// referring counts the rows whose reference f names the id.
func (f *field) referring(id int64) int64 {
	n := int64(0)
	for _, r := range f.owner.rows {
		if f.refers(r, id) {
			n++
		}
	}
	return n
}

// carryOut changes the state and what the effects change.
func (c *command) carryOut(r *row, param int64) {
	if s := c.owner.state(); c.Transition() && s != nil && !c.stays {
		r.put(s.index, cell{set: true, v: scenario.Value{Str: c.To}})
	}
	for n := range c.effects {
		c.effects[n].carryOut(r, param)
	}
}

func (x *effect) carryOut(r *row, param int64) {
	if x.ignored || x.target == nil {
		return
	}
	if x.ref != nil {
		c := &r.cells[x.ref.index]
		if !c.typed() {
			return
		}
		if r = x.ref.target.byID[c.v.Int]; r == nil {
			return
		}
	}
	amount := x.Amount
	if x.Param {
		amount = param
	}
	amount += x.more
	rows := []*row{r}
	if x.all {
		rows = r.owner.rows
	}
	for _, r := range rows {
		old := r.cells[x.target.index]
		if !old.set && x.keepNull {
			continue
		}
		next := old.v.Int + amount
		switch {
		case x.Kind == scenario.EffectSet && !x.wrongWay:
			next = amount
		case x.Kind == scenario.EffectSubtract && !x.wrongWay, x.Kind == scenario.EffectAdd && x.wrongWay:
			next = old.v.Int - amount
		}
		r.put(x.target.index, cell{set: true, v: scenario.Value{Int: next}})
	}
}

// put changes one cell; objects rendered before stay as they were.
func (r *row) put(index int, c cell) {
	r.cells = slices.Clone(r.cells)
	r.cells[index] = c
	r.object = nil
}

// state is the field that the entity's machine keeps, or nil.
func (e *entity) state() *field {
	for _, f := range e.fields {
		if f.State {
			return f
		}
	}
	return nil
}
