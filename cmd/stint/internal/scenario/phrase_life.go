package scenario

import (
	"fmt"
	"strings"
)

// managedPhrase writes the clause of a field that the service decides.
func (s *Schema) managedPhrase(kind Kind, e *Entity, f *Field) (title, text string) {
	full, name, one := e.Name+"."+f.Name, code(f.Name), human(e.Name)
	switch {
	case kind == KindComputed && f.Computed != nil:
		return full + " is computed", fmt.Sprintf("The field %s of %s is never stored but derived whenever %s is returned, from what holds at that time: it is %s. "+
			"It is %s. A key %s in a request is ignored, whatever its value.", name, article(one), article(one), s.formulaPhrase(e, f.Computed), s.typePhrase(f), name)
	case kind == KindState && e.Machine != nil:
		return full + " is a state", fmt.Sprintf("The field %s of %s holds its state, one of %s. Every new %s has the state %s. Only the commands below change it: a key %s in a `POST`, `PUT` or "+
			"`PATCH` is ignored, whatever its value, and a `PUT` keeps the state.", name, article(one), quoted(f.Values), one, quoted([]string{e.Machine.Initial}), name)
	}
	return "", ""
}

// formulaPhrase says what a computed field is: "`quantity` times `price`, null if one of them is null".
func (s *Schema) formulaPhrase(e *Entity, c *Computed) string {
	name := func(i int) string {
		if i < len(c.Inputs) {
			if _, f := s.FieldByUID(c.Inputs[i]); f != nil {
				return code(f.Name)
			}
		}
		return "?"
	}
	const null = ", or null if at least one of the two is null"
	switch c.Kind {
	case ComputedProduct:
		return name(0) + " times " + name(1) + null
	case ComputedSum:
		return name(0) + " plus " + name(1) + null
	case ComputedDifference:
		return name(0) + " minus " + name(1) + null
	case ComputedConcat:
		return "the text of " + name(0) + ", one space, and the text of " + name(1) + null
	case ComputedCount:
		if owner, f := s.FieldByUID(c.Inputs[0]); f != nil {
			return fmt.Sprintf("the number of %s whose %s is the id of this %s, 0 if there are none", human(owner.Plural), code(f.Name), human(e.Name))
		}
	}
	return ""
}

// commandPhrase writes the clauses of a transition or an action.
func (s *Schema) commandPhrase(kind Kind, e *Entity, c *Command) (title, text string) {
	full, path, one := e.Name+"."+c.Name, code("POST /"+e.Plural+"/{id}/"+c.Name), human(e.Name)
	switch kind {
	case KindTransition:
		f := e.StateField()
		if f == nil {
			return "", ""
		}
		return full + ": " + strings.Join(c.From, ", ") + " to " + c.To, fmt.Sprintf("%s takes %s from the state %s to the state %s and answers 200 with the complete %s. It needs no "+
			"body and ignores one. If the %s is in another state: 409 with code `state` and field %s. If no %s has the id: 404 with code `not_found` and field null.",
			path, article(one), either(c.From), quoted([]string{c.To}), one, one, code(f.Name), one)
	case KindAction:
		return full + " is an action", fmt.Sprintf("%s acts on one %s and answers 200 with the complete %s as it is then. %s If no %s has the id: 404 with code `not_found` and field null.",
			path, one, one, paramPhrase(c.Param), one)
	case KindGuard:
		return full + " has a condition", fmt.Sprintf("%s is refused unless the %s meets this condition before the request changes anything: %s. A comparison with null does not hold. "+
			"The refusal: 409 with code `guard` and field null, and nothing is changed.", path, one, s.guardPhrase(c.Guard))
	case KindEffect:
		ways := make([]string, len(c.Effects))
		for i := range c.Effects {
			ways[i] = s.effectPhrase(&c.Effects[i], c)
		}
		return full + " has effects", fmt.Sprintf("When %s succeeds for %s, %s.%s", path, article(one), strings.Join(ways, "; and "), effectEnding(c.Effects))
	}
	return "", ""
}

func either(states []string) string {
	q := quoted(states)
	if at := strings.LastIndex(q, " and "); at >= 0 {
		return q[:at] + " or " + q[at+len(" and "):]
	}
	return q
}

func paramPhrase(p *Param) string {
	if p == nil {
		return "It needs no body and ignores one."
	}
	name := code(p.Name)
	return fmt.Sprintf("Its body is an object with the key %s, a JSON number without fraction from %d to %d, both included; other keys are ignored. Without the key: 400 with code `required`; with null: 400 "+
		"with code `null`; with another JSON type or a number such as 2.5: 400 with code `type`; with a number outside the limits: 400 with code `range`; each with field %s.", name, p.Min, p.Max, name)
}

// guardPhrase says what must hold, for sentences that name the row before.
func (s *Schema) guardPhrase(g *Guard) string {
	if g == nil {
		return ""
	}
	atoms := make([]string, len(g.Atoms))
	for i, a := range g.Atoms {
		atoms[i] = s.atomPhrase(a)
	}
	return strings.Join(atoms, " and ")
}

func (s *Schema) atomPhrase(a Atom) string {
	e, f := s.FieldByUID(a.Field)
	if f == nil {
		return ""
	}
	comparison := "at least"
	if a.Op == "<=" {
		comparison = "at most"
	}
	if f.Type == Date {
		comparison = map[string]string{">=": "the same day as or later than", "<=": "the same day as or earlier than"}[a.Op]
	}
	switch a.Kind {
	case AtomField:
		return fmt.Sprintf("its %s is %s %s", code(f.Name), comparison, f.Bound(a.Value))
	case AtomFields:
		if _, o := s.FieldByUID(a.Other); o != nil {
			return fmt.Sprintf("its %s is %s its %s", code(f.Name), comparison, code(o.Name))
		}
	case AtomParent:
		if target := s.Entity(f.Target); target != nil && target.StateField() != nil {
			return fmt.Sprintf("the %s that its %s refers to has the %s %s", human(target.Name), code(f.Name), code(target.StateField().Name), quoted([]string{a.State}))
		}
	case AtomChildren:
		return fmt.Sprintf("the number of %s whose %s refers to it is at least %d", human(e.Plural), code(f.Name), a.Value)
	}
	return ""
}

// effectPhrase says what an effect does, with its object first.
func (s *Schema) effectPhrase(x *Effect, c *Command) string {
	_, f := s.FieldByUID(x.Target)
	if f == nil {
		return ""
	}
	amount := fmt.Sprint(x.Amount)
	if x.Param && c.Param != nil {
		amount = "the value of " + code(c.Param.Name)
	}
	what := "its " + code(f.Name)
	if _, ref := s.FieldByUID(x.Ref); ref != nil {
		what = fmt.Sprintf("%s of the %s that its %s refers to", code(f.Name), s.entityNoun(ref.Target), code(ref.Name))
	}
	switch x.Kind {
	case EffectSet:
		return what + " becomes " + amount
	case EffectAdd:
		return what + " grows by " + amount
	case EffectSubtract:
		return what + " falls by " + amount + " (below zero if need be)"
	}
	return ""
}

// effectEnding adds what holds for nulls.
func effectEnding(effects []Effect) string {
	var add, ref bool
	for _, x := range effects {
		add = add || x.Kind != EffectSet
		ref = ref || x.Ref != ""
	}
	ending := ""
	if add {
		ending += " A null counts as 0 there."
	}
	if ref {
		ending += " Where the reference is null, no other row changes and the request succeeds all the same."
	}
	return ending
}

// gonePathPhrase writes the clause of a former path: of a collection, a command or a nested list.
func (s *Schema) gonePathPhrase(t *Tombstone) (title, text string) {
	e := s.Entity(t.Entity)
	const refused = "answers 404 with code `not_found` and field null"
	if t.Kind == GoneEntity {
		title = "/" + t.Name + " is gone"
		if e == nil {
			return title, fmt.Sprintf("The former collection `/%s` does not exist any more: every request to it and to every path below it %s.", t.Name, refused)
		}
		return title, fmt.Sprintf("The former path `/%s` is unknown now (the collection is `/%s`): every request to `/%s` and to every path below it %s.", t.Name, e.Plural, t.Name, refused)
	}
	if e == nil {
		return "", ""
	}
	title = e.Name + "." + t.Name + " is gone"
	if t.Kind == GoneAction {
		return title, fmt.Sprintf("The former command %s does not exist any more: the request %s and changes nothing.", code("POST /"+e.Plural+"/{id}/"+t.Name), refused)
	}
	return title, fmt.Sprintf("The former list %s does not exist any more: the request %s.", code("GET /"+e.Plural+"/{id}/"+t.Name), refused)
}
