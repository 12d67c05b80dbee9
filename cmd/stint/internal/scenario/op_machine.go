package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// lifecycle is a machine that many things in life follow: the first steps make a whole one, the others can be added.
type lifecycle struct {
	field  string
	states []string
	steps  []lifeStep
	first  int // steps of a new machine
}

type lifeStep struct {
	name string
	from []string
	to   string
}

func lifecycles() []lifecycle {
	step := func(name, from, to string) lifeStep { return lifeStep{name, strings.Fields(from), to} }
	return []lifecycle{
		{"stage", []string{"draft", "active", "archived"}, []lifeStep{
			step("activate", "draft", "active"), step("archive", "active", "archived"),
			step("restore", "archived", "active"), step("withdraw", "active", "draft"), step("discard", "draft", "archived")}, 2},
		{"progress", []string{"planned", "running", "done", "cancelled"}, []lifeStep{
			step("start", "planned", "running"), step("finish", "running", "done"), step("cancel", "planned running", "cancelled"),
			step("resume", "done cancelled", "running"), step("plan_again", "cancelled", "planned")}, 3},
		{"decision", []string{"requested", "approved", "rejected"}, []lifeStep{
			step("approve", "requested", "approved"), step("reject", "requested", "rejected"),
			step("revoke", "approved", "rejected"), step("appeal", "rejected", "requested"), step("overrule", "rejected", "approved")}, 2},
		{"access", []string{"open", "closed", "locked"}, []lifeStep{
			step("close", "open", "closed"), step("reopen", "closed", "open"), step("lock", "open closed", "locked"),
			step("unlock", "locked", "closed"), step("free", "locked", "open")}, 3},
		{"inspection", []string{"unchecked", "accepted", "damaged", "repaired"}, []lifeStep{
			step("accept", "unchecked repaired", "accepted"), step("report_damage", "unchecked accepted", "damaged"), step("repair", "damaged", "repaired"),
			step("damage_again", "repaired", "damaged"), step("recheck", "accepted damaged repaired", "unchecked")}, 3},
		{"handling", []string{"waiting", "ready", "handed_over"}, []lifeStep{
			step("prepare", "waiting", "ready"), step("hand_over", "ready", "handed_over"),
			step("take_back", "handed_over", "ready"), step("postpone", "ready", "waiting"), step("skip_ahead", "waiting", "handed_over")}, 2},
		{"usage", []string{"idle", "reserved", "busy", "retired"}, []lifeStep{
			step("reserve", "idle", "reserved"), step("occupy", "idle reserved", "busy"), step("release", "reserved busy", "idle"), step("retire", "idle", "retired"),
			step("reactivate", "retired", "idle"), step("write_off", "reserved busy", "retired")}, 4},
		{"agreement", []string{"proposed", "agreed", "fulfilled", "broken_off"}, []lifeStep{
			step("agree", "proposed", "agreed"), step("fulfil", "agreed", "fulfilled"), step("break_off", "proposed agreed", "broken_off"),
			step("propose_again", "broken_off", "proposed"), step("renew", "fulfilled broken_off", "agreed")}, 3},
	}
}

// machineVariants is how many machines an entity without one is offered.
const machineVariants = 3

func enumerateAddMachine(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if e.Machine != nil || len(e.Fields) >= MaxFields {
			continue
		}
		offered := 0
		for _, at := range x.stream(e.UID).Perm(len(lifecycles())) {
			l := lifecycles()[at]
			name := l.field
			for _, prefix := range []string{"", "current_", "life_"} {
				if name = prefix + l.field; x.s.free(e, name) {
					break
				}
			}
			free := x.s.free(e, name)
			for _, st := range l.steps[:l.first] {
				free = free && x.s.commandFree(e, st.name)
			}
			if !free {
				continue
			}
			f := Field{UID: e.nextUID(), Name: name, Type: Enum, Values: l.states, State: true}
			m := Machine{Field: f.UID, Initial: l.states[0]}
			for n, st := range l.steps[:l.first] {
				m.Transitions = append(m.Transitions, Transition{UID: fmt.Sprintf("%s.p%d", e.UID, e.NextPart+n+1), Name: st.name, From: st.from, To: st.to})
			}
			x.add(map[string]string{"entity": e.UID, "field": marshal(f), "machine": marshal(m)})
			if offered++; offered == machineVariants {
				break
			}
		}
	}
}

// commandFree reports whether a command of e may get this name: not reserved, not in use, never used before.
func (s *Schema) commandFree(e *Entity, name string) bool {
	return checkName(name) == nil && !s.buried(GoneAction, e.UID, name) && !s.buried(GoneEntity, "", name) &&
		!slices.ContainsFunc(e.Commands(), func(c Command) bool { return c.Name == name }) &&
		!slices.ContainsFunc(s.Entities, func(o Entity) bool { return o.Plural == name })
}

func applyAddMachine(s *Schema, p map[string]string) error {
	e := s.Entity(p["entity"])
	if e == nil || e.Machine != nil {
		return fmt.Errorf("no entity %q without a machine", p["entity"])
	}
	f, err := fieldFrom(p)
	if err != nil {
		return err
	}
	m, err := read[Machine](p, "machine", "the machine")
	if err != nil {
		return err
	}
	if f.UID != e.nextUID() {
		return fmt.Errorf("new field has uid %q, next is %q", f.UID, e.nextUID())
	}
	for _, t := range m.Transitions {
		if err := e.givePart("transition", t.UID); err != nil {
			return err
		}
	}
	e.NextField++
	e.Fields = append(e.Fields, f)
	e.Machine = &m
	return nil
}

func titleAddMachine(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	f, err := fieldFrom(p)
	if e == nil || err != nil {
		return "new states"
	}
	return fmt.Sprintf("%s.%s: states %s", e.Name, f.Name, strings.Join(f.Values, ", "))
}

// enumerateAddTransition offers what the lifecycle of the states knows besides, and a direct way to every other state.
func enumerateAddTransition(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		f := e.StateField()
		if f == nil || len(e.Machine.Transitions) >= maxTransitions {
			continue
		}
		offer := func(name string, from []string, to string) {
			same := slices.ContainsFunc(e.Machine.Transitions, func(t Transition) bool { return t.To == to && slices.Equal(t.From, from) })
			if !same && x.s.commandFree(e, name) {
				x.add(map[string]string{"entity": e.UID, "transition": marshal(Transition{UID: e.nextPart(), Name: name, From: from, To: to})})
			}
		}
		for _, l := range lifecycles() {
			if slices.Equal(l.states, f.Values) {
				for _, st := range l.steps {
					offer(st.name, st.from, st.to)
				}
			}
		}
		r := x.stream(e.UID)
		for _, to := range f.Values {
			from := slices.DeleteFunc(slices.Clone(f.Values), func(v string) bool { return v == to })
			r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
			from = from[:1+r.IntN(min(2, len(from)))]
			slices.Sort(from)
			offer("make_"+to, from, to)
		}
	}
}

func applyAddTransition(s *Schema, p map[string]string) error {
	e := s.Entity(p["entity"])
	if e == nil || e.Machine == nil {
		return fmt.Errorf("no entity %q with a machine", p["entity"])
	}
	t, err := transitionFrom(p)
	if err != nil {
		return err
	}
	if err := e.givePart("transition", t.UID); err != nil {
		return err
	}
	e.Machine.Transitions = append(e.Machine.Transitions, t)
	return nil
}

func transitionFrom(p map[string]string) (Transition, error) {
	return read[Transition](p, "transition", "the transition")
}

func titleAddTransition(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	t, err := transitionFrom(p)
	if e == nil || err != nil {
		return "new transition"
	}
	return fmt.Sprintf("%s.%s: %s to %s", e.Name, t.Name, strings.Join(t.From, ", "), t.To)
}

// enumerateRemoveTransition offers what leaves every state within reach.
func enumerateRemoveTransition(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if e.Machine == nil {
			continue
		}
		for n := range e.Machine.Transitions {
			rest := *e
			rest.Machine = &Machine{Field: e.Machine.Field, Initial: e.Machine.Initial, Transitions: slices.Delete(slices.Clone(e.Machine.Transitions), n, n+1)}
			if rest.checkMachine() == nil {
				x.add(map[string]string{"command": e.Machine.Transitions[n].UID})
			}
		}
	}
}

func applyRemoveTransition(s *Schema, p map[string]string) error {
	e, c := s.CommandByUID(p["command"])
	if c == nil || !c.Transition() {
		return fmt.Errorf("no transition %q", p["command"])
	}
	s.buryName(GoneAction, e.UID, c.UID, c.Name, "")
	e.Machine.Transitions = slices.DeleteFunc(e.Machine.Transitions, func(t Transition) bool { return t.UID == c.UID })
	return nil
}

func titleRemoveTransition(s *Schema, p map[string]string) string {
	e, c := s.CommandByUID(p["command"])
	if c == nil {
		return "remove a transition"
	}
	return fmt.Sprintf("%s.%s is removed", e.Name, c.Name)
}
