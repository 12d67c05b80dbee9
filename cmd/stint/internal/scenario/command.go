package scenario

import (
	"fmt"
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

// givePart counts a new part of the entity, which must have the next uid.
func (e *Entity) givePart(kind, uid string) error {
	if uid != e.nextPart() {
		return fmt.Errorf("new %s has uid %q, next is %q", kind, uid, e.nextPart())
	}
	e.NextPart++
	return nil
}

// used reports whether something is built on the field: an analytics endpoint, a formula, a guard, an effect, a machine,
// a rule about two fields or an option of the list.
func (s *Schema) used(uid string) bool { return s.usedOutside("", uid) }

// usedOutside is used without what is built on the field by the entity with the uid inside.
func (s *Schema) usedOutside(inside, uid string) bool {
	for i := range s.Analytics {
		if a := &s.Analytics[i]; a.Measure == uid || a.Where == uid || a.Group == uid || a.Window == uid {
			return true
		}
	}
	return slices.ContainsFunc(s.Entities, func(e Entity) bool { return e.UID != inside && e.uses(uid) })
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
		if c.names(uid) {
			return true
		}
	}
	return e.List.Names(uid)
}

// Names reports whether the list has an option about the field.
func (o *ListOptions) Names(uid string) bool {
	return slices.ContainsFunc(o.Filters, func(f Filter) bool { return f.Field == uid }) ||
		slices.ContainsFunc(o.Sorts, func(k SortKey) bool { return k.Field == uid }) || o.Default != nil && o.Default.Field == uid
}

// names reports whether the command looks at the field, changes it or goes by it.
func (c *Command) names(uid string) bool {
	return c.Guard.Names(uid) || slices.ContainsFunc(c.Effects, func(x Effect) bool { return x.Target == uid || x.Ref == uid })
}

// Names reports whether an atom of the guard is about the field. A nil guard names nothing.
func (g *Guard) Names(uid string) bool {
	return g != nil && slices.ContainsFunc(g.Atoms, func(a Atom) bool { return a.Field == uid || a.Other == uid })
}

// steered reports whether a guard looks at the field or an effect changes it or goes by it. Such a field is set freely and alone, so it
// gets into no group and no order.
func (s *Schema) steered(uid string) bool {
	for i := range s.Entities {
		for _, c := range s.Entities[i].Commands() {
			if c.names(uid) {
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
