package python

import (
	"fmt"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// requests writes the transitions and actions of an entity.
func (p *program) requests(e *scenario.Entity) {
	if m := e.Machine; m != nil {
		_, state := p.schema.FieldByUID(m.Field)
		for i := range m.Transitions {
			if state != nil {
				p.transition(e, state, &m.Transitions[i])
			}
		}
	}
	for i := range e.Actions {
		p.action(e, &e.Actions[i])
	}
}

// request begins the function of POST /PLURAL/{id}/NAME, unless a flaw leaves it out.
func (p *program) request(e *scenario.Entity, uid, name string) bool {
	if p.has(EndpointMissing, uid, "") {
		return false
	}
	function := "act_" + e.Name + "__" + name
	p.route("POST", "/"+e.Plural+"/*/"+name, function)
	p.function(function, "call")
	p.find(e, uid, "row")
	return true
}

func (p *program) transition(e *scenario.Entity, state *scenario.Field, t *scenario.Transition) {
	if !p.request(e, t.UID, t.Name) {
		return
	}
	if !p.has(Permissive, t.UID, "state") {
		p.line(1, "if %s not in %s:", cell(state), words(t.From))
		p.line(2, "raise Refused(%d, %s, %s)", p.status(t.UID, "state", 409), quote(p.code(t.UID, "state")), quote(state.Name))
	}
	p.guard(t.UID, t.Guard)
	if !p.has(StateWrong, t.UID, "stays") {
		p.line(1, "%s = %s", cell(state), quote(t.To))
	}
	p.effects(t.Effects)
	p.line(1, "return %d, show_%s(row)", p.status(t.UID, "call", 200), e.Name)
}

func (p *program) action(e *scenario.Entity, a *scenario.Action) {
	if !p.request(e, a.UID, a.Name) {
		return
	}
	if q := a.Param; q != nil {
		p.parameterOf(a.UID, q)
	}
	p.guard(a.UID, a.Guard)
	p.effects(a.Effects)
	p.line(1, "return %d, show_%s(row)", p.status(a.UID, "call", 200), e.Name)
}

// parameterOf writes how an action comes to its amount.
func (p *program) parameterOf(uid string, q *scenario.Param) {
	name := quote(q.Name)
	refuse := func(depth int, code string) {
		p.line(depth, "raise Refused(400, %s, %s)", quote(p.code(uid, code)), name)
	}
	p.line(1, "body = call.body_if_any()")
	p.line(1, "if %s not in body:", name)
	if p.has(Permissive, uid, "required") {
		p.line(2, "body[%s] = %d", name, q.Min)
	} else {
		refuse(2, "required")
	}
	p.line(1, "if body[%s] is None:", name)
	if p.has(Permissive, uid, "not_null") {
		p.line(2, "body[%s] = %d", name, q.Min)
	} else {
		refuse(2, "null")
	}
	switch {
	case p.has(Permissive, uid, "type"):
		p.line(1, "try:")
		p.line(2, "amount = as_integer(body[%s], %s)", name, name)
		p.line(1, "except Refused:")
		p.line(2, "amount = %d", q.Min)
	case p.code(uid, "type") != "type":
		p.line(1, "try:")
		p.line(2, "amount = as_integer(body[%s], %s)", name, name)
		p.line(1, "except Refused:")
		refuse(2, "type")
	default:
		p.line(1, "amount = as_integer(body[%s], %s)", name, name)
	}
	if !p.has(Permissive, uid, "range") {
		p.line(1, "if amount < %d or amount > %d:", q.Min, q.Max)
		refuse(2, "range")
	}
}

// guard writes the condition that must hold before a request changes anything.
func (p *program) guard(uid string, g *scenario.Guard) {
	if g == nil || len(g.Atoms) == 0 {
		return
	}
	conditions := make([]string, len(g.Atoms))
	for i := range g.Atoms {
		conditions[i] = p.atom(&g.Atoms[i])
	}
	p.line(1, "if not (%s):", strings.Join(conditions, " and "))
	p.line(2, "raise Refused(%d, %s)", p.status(uid, "guard", 409), quote(p.code(uid, "guard")))
}

// atom is the expression of one comparison; it is false when a null is in it.
func (p *program) atom(a *scenario.Atom) string {
	owner, f := p.schema.FieldByUID(a.Field)
	if f == nil {
		return "True"
	}
	switch a.Kind {
	case scenario.AtomField:
		return fmt.Sprintf("%s is not None and %s %s %s", cell(f), cell(f), a.Op, bound(f, a.Value))
	case scenario.AtomFields:
		if _, other := p.schema.FieldByUID(a.Other); other != nil {
			return fmt.Sprintf("%s is not None and %s is not None and %s %s %s", cell(f), cell(other), cell(f), a.Op, cell(other))
		}
	case scenario.AtomParent:
		parent := p.schema.Entity(f.Target)
		if parent == nil || parent.Machine == nil {
			return "True"
		}
		if _, state := p.schema.FieldByUID(parent.Machine.Field); state != nil {
			return fmt.Sprintf("%s.value(%s, %s) == %s", table(parent), cell(f), quote(state.Name), quote(a.State))
		}
	case scenario.AtomChildren:
		return fmt.Sprintf(`len(%s.where(%s, row["id"])) >= %d`, table(owner), quote(f.Name), a.Value)
	}
	return "True"
}

// effects writes what a request changes besides the state.
func (p *program) effects(effects []scenario.Effect) {
	for i := range effects {
		x := &effects[i]
		_, target := p.schema.FieldByUID(x.Target)
		if target == nil {
			continue
		}
		amount := fmt.Sprint(x.Amount)
		if x.Param {
			amount = "amount"
		}
		if x.Ref == "" {
			p.effect(1, x.Kind, "row", target, amount)
			continue
		}
		_, ref := p.schema.FieldByUID(x.Ref)
		if ref == nil || p.schema.Entity(ref.Target) == nil {
			continue
		}
		p.line(1, "other = %s.rows.get(%s)", table(p.schema.Entity(ref.Target)), cell(ref))
		p.line(1, "if other is not None:")
		p.effect(2, x.Kind, "other", target, amount)
	}
}

func (p *program) effect(depth int, kind, row string, target *scenario.Field, amount string) {
	place := row + "[" + quote(target.Name) + "]"
	switch kind {
	case scenario.EffectSet:
		p.line(depth, "%s = %s", place, amount)
	case scenario.EffectAdd:
		p.line(depth, "%s = (%s or 0) + %s", place, place, parenthesised(amount))
	case scenario.EffectSubtract:
		p.line(depth, "%s = (%s or 0) - %s", place, place, parenthesised(amount))
	}
}

// parenthesised keeps a negative amount apart from the operator before it.
func parenthesised(amount string) string {
	if strings.HasPrefix(amount, "-") {
		return "(" + amount + ")"
	}
	return amount
}
