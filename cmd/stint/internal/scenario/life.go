package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The size caps of the behaviour of one entity.
const (
	maxTransitions = 8
	maxSources     = 3 // states that one transition leaves
	maxActions     = 4
	maxAtoms       = 2
	maxEffects     = 2
	maxChildren    = 3 // a guard's number of referring rows
)

// lifeRequirements appends what must hold for the machine, the actions and the computed fields of an entity.
func (e *Entity) lifeRequirements(reqs []requirement) []requirement {
	add := func(k Kind, subject, params string) { reqs = append(reqs, requirement{clauseKey{k, subject}, params}) }
	for i := range e.Fields {
		f := &e.Fields[i]
		if f.Computed != nil {
			add(KindComputed, f.UID, marshal(f.Computed))
		}
		if f.State && e.Machine != nil {
			add(KindState, f.UID, "initial="+e.Machine.Initial+";"+f.EnumParams())
		}
	}
	for _, c := range e.Commands() {
		switch {
		case c.Transition():
			add(KindTransition, c.UID, "from="+strings.Join(c.From, ",")+";to="+c.To)
		case c.Param != nil:
			add(KindAction, c.UID, fmt.Sprintf("min=%d;max=%d", c.Param.Min, c.Param.Max))
		default:
			add(KindAction, c.UID, "")
		}
		if c.Guard != nil {
			add(KindGuard, c.UID, marshal(c.Guard))
		}
		if len(c.Effects) > 0 {
			add(KindEffect, c.UID, marshal(c.Effects))
		}
	}
	return reqs
}

// checkManaged wants a field that the service decides to carry no rule for requests.
func (f *Field) checkManaged() error {
	bare := Field{UID: f.UID, Name: f.Name, Type: f.Type, State: f.State, Computed: f.Computed}
	if f.State {
		bare.Values = f.Values
	}
	if marshal(bare) != marshal(f) {
		return errors.New("the service decides the value, but the field has a rule for requests")
	}
	if f.State && (f.Computed != nil || f.Type != Enum) {
		return errors.New("a state is neither computed nor anything but an enum")
	}
	return f.checkLimits()
}

// lookup returns the field with a uid as it is or will be, and the uid of its entity.
type lookup func(uid string) (entity string, f *Field)

// fields looks fields up, with one of them changed; changed may be nil.
func (s *Schema) fields(changed *Field) lookup {
	return func(uid string) (string, *Field) {
		e, f := s.FieldByUID(uid)
		switch {
		case f == nil:
			return "", nil
		case changed != nil && changed.UID == uid:
			return e.UID, changed
		}
		return e.UID, f
	}
}

// checkUses reports what would no longer stand if the field were changed so: formulas, guards and effects.
func (s *Schema) checkUses(changed *Field) error {
	at := s.fields(changed)
	for i := range s.Entities {
		e := &s.Entities[i]
		if !e.uses(changed.UID) {
			continue
		}
		if err := s.checkBehaviour(e, at); err != nil {
			return err
		}
	}
	return nil
}

// checkLife checks machine, actions and computed fields of an entity.
func (s *Schema) checkLife(e *Entity) error {
	names := make(map[string]bool)
	for _, c := range e.Commands() {
		if err := checkName(c.Name); err != nil {
			return err
		}
		taken := slices.ContainsFunc(s.Entities, func(o Entity) bool { return o.Plural == c.Name })
		if names[c.Name] || taken || s.buried(GoneAction, e.UID, c.Name) {
			return fmt.Errorf("%s is the name of two commands, of a collection or of a former command", c.Name)
		}
		names[c.Name] = true
	}
	if len(e.Actions) > maxActions {
		return fmt.Errorf("%d actions, allowed are %d", len(e.Actions), maxActions)
	}
	if err := e.checkMachine(); err != nil {
		return err
	}
	return s.checkBehaviour(e, s.fields(nil))
}

// checkMachine wants a state field, known states, and a way from the initial state to every other.
func (e *Entity) checkMachine() error {
	f, m := e.StateField(), e.Machine
	if m == nil || f == nil {
		if m != nil || f != nil {
			return errors.New("a machine without its field or a state without a machine")
		}
		return nil
	}
	if m.Field != f.UID || !slices.Contains(f.Values, m.Initial) || len(m.Transitions) > maxTransitions {
		return fmt.Errorf("the machine keeps %s and begins in %s with %d transitions", m.Field, m.Initial, len(m.Transitions))
	}
	for _, t := range m.Transitions {
		if len(t.From) == 0 || len(t.From) > maxSources || !slices.Contains(f.Values, t.To) || slices.Contains(t.From, t.To) {
			return fmt.Errorf("transition %s leads from %v to %s", t.Name, t.From, t.To)
		}
		for i, from := range t.From {
			if !slices.Contains(f.Values, from) || slices.Contains(t.From[:i], from) {
				return fmt.Errorf("transition %s leaves %q, which is no state or named twice", t.Name, from)
			}
		}
	}
	for _, state := range f.Values {
		if _, ok := m.Path(state); !ok {
			return fmt.Errorf("state %s cannot be reached", state)
		}
	}
	return nil
}

// Path returns the fewest transitions that lead from the initial state to another, in the machine's order where there
// is a choice. It reports false if none do.
func (m *Machine) Path(to string) (path []*Transition, ok bool) {
	came := map[string]*Transition{m.Initial: nil}
	before := map[string]string{}
	queue := []string{m.Initial}
	for n := 0; n < len(queue); n++ {
		at := queue[n]
		if at == to {
			for at != m.Initial {
				path = append(path, came[at])
				at = before[at]
			}
			slices.Reverse(path)
			return path, true
		}
		for i := range m.Transitions {
			t := &m.Transitions[i]
			if _, seen := came[t.To]; !seen && slices.Contains(t.From, at) {
				came[t.To], before[t.To] = t, at
				queue = append(queue, t.To)
			}
		}
	}
	return nil, false
}

// checkBehaviour checks formulas, guards and effects of an entity.
func (s *Schema) checkBehaviour(e *Entity, at lookup) error {
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Computed != nil {
			if err := f.Computed.check(e.UID, f.Type, at); err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
	}
	for _, c := range e.Commands() {
		if c.Guard != nil {
			if err := s.checkGuard(e, c.Guard, at); err != nil {
				return fmt.Errorf("guard of %s: %w", c.Name, err)
			}
		}
		if err := c.checkWitness(); err != nil {
			return fmt.Errorf("guard of %s: %w", c.Name, err)
		}
		if err := s.checkEffects(e, &c, at); err != nil {
			return fmt.Errorf("effects of %s: %w", c.Name, err)
		}
	}
	return nil
}

// checkWitness wants that a command which is carried out against its condition leaves a trace: it does not set a field to
// the very value that its condition forbids last.
func (c *Command) checkWitness() error {
	if c.Guard == nil {
		return nil
	}
	for _, a := range c.Guard.Atoms {
		for _, x := range c.Effects {
			if x.Kind == EffectSet && x.Ref == "" && x.Target == a.Field && a.Kind == AtomField && x.Amount == a.beyond() {
				return fmt.Errorf("the value beside the limit is what %s sets", c.Name)
			}
		}
	}
	return nil
}

// beyond is the value next to the limit for which the atom does not hold.
func (a *Atom) beyond() int64 {
	if a.Op == "<=" {
		return a.Value + 1
	}
	return a.Value - 1
}

// check wants inputs that exist, suit the kind and give the field's type.
func (c *Computed) check(entity string, typ Type, at lookup) error {
	if c.Kind == ComputedCount {
		if len(c.Inputs) != 1 || typ != Integer {
			return errors.New("a count has one input and is an integer")
		}
		if _, f := at(c.Inputs[0]); f == nil || f.Type != Ref || f.Target != entity {
			return fmt.Errorf("%q is no reference to the entity", c.Inputs[0])
		}
		return nil
	}
	if len(c.Inputs) != 2 || c.Inputs[0] == c.Inputs[1] {
		return errors.New("a formula has two inputs")
	}
	var types [2]Type
	for i, uid := range c.Inputs {
		owner, f := at(uid)
		if f == nil || owner != entity || f.Managed() || f.Immutable {
			return fmt.Errorf("input %q is no field of the entity that requests can change", uid)
		}
		types[i] = f.Type
	}
	want := types[1]
	ok := types[0] == types[1]
	switch c.Kind {
	case ComputedProduct:
		ok = types[0] == Integer && (want == Integer || want == Decimal)
	case ComputedSum, ComputedDifference:
		ok = ok && (want == Integer || want == Decimal)
	case ComputedConcat:
		ok = ok && want == String
	default:
		ok = false
	}
	if !ok || typ != want {
		return fmt.Errorf("%s of %s and %s as %s", c.Kind, types[0], types[1], typ)
	}
	return nil
}

// numeric reports whether values of the type are numbers or days, which can have a range.
func numeric(t Type) bool { return t == Integer || t == Decimal || t == Date }

// settable reports whether requests may give the field any value that its own rules allow, at any time.
func (e *Entity) settable(f *Field) bool {
	return !f.Managed() && !f.Unique && !f.Immutable && !e.tied(f.UID)
}

// checkGuard wants atoms on both sides of which a row can be brought, each about fields of its own.
func (s *Schema) checkGuard(e *Entity, g *Guard, at lookup) error {
	if len(g.Atoms) == 0 || len(g.Atoms) > maxAtoms {
		return fmt.Errorf("%d atoms, allowed are 1 to %d", len(g.Atoms), maxAtoms)
	}
	var seen []string
	for _, a := range g.Atoms {
		for _, uid := range []string{a.Field, a.Other} {
			if uid == "" {
				continue
			}
			if slices.Contains(seen, uid) {
				return fmt.Errorf("field %q occurs twice", uid)
			}
			seen = append(seen, uid)
		}
		if err := s.checkAtom(e, a, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) checkAtom(e *Entity, a Atom, at lookup) error {
	owner, f := at(a.Field)
	if f == nil {
		return fmt.Errorf("no field %q", a.Field)
	}
	own := owner == e.UID && e.settable(f)
	switch a.Kind {
	case AtomField:
		if !own || !numeric(f.Type) || a.Op != ">=" && a.Op != "<=" || !f.Allows(Value{Int: a.Value}) || !f.Allows(Value{Int: a.beyond()}) {
			return fmt.Errorf("%s %s %d has no two sides", f.Name, a.Op, a.Value)
		}
	case AtomFields:
		other, o := at(a.Other)
		if !own || o == nil || other != e.UID || !e.settable(o) || o.Type != f.Type || !numeric(f.Type) || a.Op != ">=" && a.Op != "<=" {
			return fmt.Errorf("%q and %q cannot be compared", a.Field, a.Other)
		}
		if low, high := shared(f, o); high-low+1 < minRangeValues {
			return fmt.Errorf("%s and %s have too few values in common", f.Name, o.Name)
		}
	case AtomParent:
		if !own || f.Type != Ref {
			return fmt.Errorf("%s is no reference of the entity", f.Name)
		}
		target := s.Entity(f.Target)
		if target == nil || target.StateField() == nil || !slices.Contains(target.StateField().Values, a.State) {
			return fmt.Errorf("%s refers to nothing that can be %q", f.Name, a.State)
		}
	case AtomChildren:
		if f.Type != Ref || f.Target != e.UID || a.Value < 1 || a.Value > maxChildren {
			return fmt.Errorf("%d rows that refer by %s", a.Value, f.Name)
		}
	default:
		return fmt.Errorf("unknown kind %q", a.Kind)
	}
	return nil
}

// shared is the range that two ordered fields have in common.
func shared(f, o *Field) (low, high int64) {
	low, high = -maxSafe, maxSafe
	for _, x := range []*Field{f, o} {
		if x.Min != nil {
			low = max(low, *x.Min)
		}
		if x.Max != nil {
			high = min(high, *x.Max)
		}
	}
	return low, high
}

// targetOf is the entity whose row an effect changes.
func (x *Effect) targetOf(entity string, at lookup) string {
	if x.Ref == "" {
		return entity
	}
	if owner, f := at(x.Ref); f != nil && owner == entity && f.Type == Ref {
		return f.Target
	}
	return ""
}

// checkEffects wants integers without rules, so that no effect can break one, and references that are set freely.
func (s *Schema) checkEffects(e *Entity, c *Command, at lookup) error {
	if len(c.Effects) > maxEffects || !c.Transition() && len(c.Effects) == 0 {
		return fmt.Errorf("%d effects, allowed are at most %d and for an action at least one", len(c.Effects), maxEffects)
	}
	if p := c.Param; p != nil && (checkName(p.Name) != nil || p.Max-p.Min+1 < minRangeValues) {
		return fmt.Errorf("parameter %q from %d to %d", p.Name, p.Min, p.Max)
	}
	for i := range c.Effects {
		x := &c.Effects[i]
		if slices.ContainsFunc(c.Effects[:i], func(o Effect) bool { return o.Target == x.Target }) {
			return fmt.Errorf("field %q is changed twice", x.Target)
		}
		owner, f := at(x.Target)
		if _, ref := at(x.Ref); ref != nil && !e.settable(ref) {
			return fmt.Errorf("%s can not be set at any time", ref.Name)
		}
		if f == nil || owner != x.targetOf(e.UID, at) || !s.takesEffects(owner, f) {
			return fmt.Errorf("%q is no integer without rules of the row that is changed", x.Target)
		}
		switch x.Kind {
		case EffectSet:
		case EffectAdd, EffectSubtract:
			if !x.Param && x.Amount <= 0 {
				return fmt.Errorf("%s %d", x.Kind, x.Amount)
			}
		default:
			return fmt.Errorf("unknown kind %q", x.Kind)
		}
		if x.Param && (c.Param == nil || x.Amount != 0) {
			return errors.New("an amount from a parameter that does not exist, or two amounts")
		}
	}
	return nil
}

// takesEffects reports whether the field is an integer without a rule.
func (s *Schema) takesEffects(owner string, f *Field) bool {
	e := s.Entity(owner)
	return e != nil && f.Type == Integer && f.Min == nil && f.Max == nil && e.settable(f)
}
