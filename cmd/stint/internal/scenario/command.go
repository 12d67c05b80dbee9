package scenario

import (
	"slices"
	"strconv"
)

// Command is what POST /PLURAL/{id}/NAME does: a transition or an action, seen alike.
type Command struct {
	UID     string
	Name    string
	From    []string // transition: the states that it leaves; nil for an action
	To      string
	Param   *Param // action
	Guard   *Guard
	Effects []Effect
}

// Transition reports whether the command is one of the machine.
func (c *Command) Transition() bool { return c.To != "" }

// Commands returns the transitions and then the actions of the entity. The parts are shared with the entity.
func (e *Entity) Commands() []Command {
	var cs []Command
	if e.Machine != nil {
		for _, t := range e.Machine.Transitions {
			cs = append(cs, Command{UID: t.UID, Name: t.Name, From: t.From, To: t.To, Guard: t.Guard, Effects: t.Effects})
		}
	}
	for _, a := range e.Actions {
		cs = append(cs, Command{UID: a.UID, Name: a.Name, Param: a.Param, Guard: a.Guard, Effects: a.Effects})
	}
	return cs
}

// CommandByUID returns the transition or action with this uid and its entity, or nil and nil.
func (s *Schema) CommandByUID(uid string) (*Entity, *Command) {
	for i := range s.Entities {
		e := &s.Entities[i]
		for _, c := range e.Commands() {
			if c.UID == uid {
				return e, &c
			}
		}
	}
	return nil, nil
}

// StateField returns the field that the machine keeps, or nil.
func (e *Entity) StateField() *Field {
	for i := range e.Fields {
		if e.Fields[i].State {
			return &e.Fields[i]
		}
	}
	return nil
}

func (e *Entity) nextPart() string { return e.UID + ".p" + strconv.Itoa(e.NextPart+1) }

// used reports whether something is built on the field: an analytics endpoint, a formula, a guard, an effect, a machine,
// a rule about two fields or an option of the list.
func (s *Schema) used(uid string) bool {
	for i := range s.Analytics {
		if a := &s.Analytics[i]; a.Measure == uid || a.Where == uid || a.Group == uid || a.Window == uid {
			return true
		}
	}
	for i := range s.Entities {
		if s.Entities[i].uses(uid) {
			return true
		}
	}
	return false
}

func (e *Entity) uses(uid string) bool {
	if e.Machine != nil && e.Machine.Field == uid || e.tied(uid) {
		return true
	}
	for i := range e.Fields {
		if c := e.Fields[i].Computed; c != nil && slices.Contains(c.Inputs, uid) {
			return true
		}
	}
	for _, c := range e.Commands() {
		if c.Guard.names(uid) || slices.ContainsFunc(c.Effects, func(x Effect) bool { return x.Ref == uid || x.Target == uid }) {
			return true
		}
	}
	l := &e.List
	return slices.ContainsFunc(l.Filters, func(f Filter) bool { return f.Field == uid }) ||
		slices.ContainsFunc(l.Sorts, func(k SortKey) bool { return k.Field == uid }) || l.Default != nil && l.Default.Field == uid
}

// tied reports whether a group or an order of the entity has the field.
func (e *Entity) tied(uid string) bool {
	return slices.ContainsFunc(e.Groups, func(g Group) bool { return slices.Contains(g.Fields[:], uid) }) ||
		slices.ContainsFunc(e.Orders, func(o Order) bool { return o.Low == uid || o.High == uid })
}

func (g *Guard) names(uid string) bool {
	return g != nil && slices.ContainsFunc(g.Atoms, func(a Atom) bool { return a.Field == uid || a.Other == uid })
}

// steered reports whether a guard looks at the field or an effect changes it or goes by it. Such a field is set freely and alone, so it
// gets into no group and no order.
func (s *Schema) steered(uid string) bool {
	for i := range s.Entities {
		for _, c := range s.Entities[i].Commands() {
			if c.Guard.names(uid) || slices.ContainsFunc(c.Effects, func(x Effect) bool { return x.Target == uid || x.Ref == uid }) {
				return true
			}
		}
	}
	return false
}

// Untouched returns a field that a command must leave as it is and that a request could change at will: what a service
// shows that takes the body of a command for an update. It returns nil if there is none.
func (e *Entity) Untouched(c *Command) *Field {
	for i := range e.Fields {
		f := &e.Fields[i]
		changed := slices.ContainsFunc(c.Effects, func(x Effect) bool { return x.Target == f.UID })
		if f.Type != Ref && e.settable(f) && !changed {
			return f
		}
	}
	return nil
}
