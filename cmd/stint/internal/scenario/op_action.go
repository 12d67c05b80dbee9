package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// effectTarget is an integer that commands of an entity can change.
type effectTarget struct {
	ref   *Field // nil: of the row itself
	owner *Entity
	field *Field
}

// effectTargets lists the integers without rules of the entity and of those that it refers to.
func (s *Schema) effectTargets(e *Entity) []effectTarget {
	var ts []effectTarget
	of := func(ref *Field, owner *Entity) {
		for i := range owner.Fields {
			if f := &owner.Fields[i]; s.takesEffects(owner.UID, f) {
				ts = append(ts, effectTarget{ref, owner, f})
			}
		}
	}
	of(nil, e)
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Type == Ref && e.settable(f) {
			if t := s.Entity(f.Target); t != nil {
				of(f, t)
			}
		}
	}
	return ts
}

// drawEffect draws what happens to a target; param says that there is a parameter to use.
func (t *effectTarget) drawEffect(r *rand.Rand, kind string, param bool) Effect {
	x := Effect{Kind: kind, Target: t.field.UID, Param: param}
	if t.ref != nil {
		x.Ref = t.ref.UID
	}
	if !param {
		x.Amount = pick(r, []int64{1, 1, 2, 3, 5, 10})
		if kind == EffectSet {
			x.Amount = pick(r, []int64{0, 1, 10, 100})
		}
	}
	return x
}

// enumerateAddAction offers, for every integer without rules, one action that adds, one that subtracts and one that sets.
func enumerateAddAction(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if len(e.Actions) >= maxActions {
			continue
		}
		for _, t := range x.s.effectTargets(e) {
			for _, kind := range []string{EffectAdd, EffectSubtract, EffectSet} {
				ref := ""
				if t.ref != nil {
					ref = t.ref.UID
				}
				r := x.stream(e.UID + "/" + ref + "/" + t.field.UID + "/" + kind)
				a := Action{UID: e.nextPart()}
				if chance(r, 0.6) {
					a.Param = drawParam(r)
				}
				a.Effects = []Effect{t.drawEffect(r, kind, a.Param != nil)}
				if a.Name = x.s.actionName(r, e, t, kind); a.Name != "" {
					x.add(map[string]string{"entity": e.UID, "action": marshal(a)})
				}
			}
		}
	}
}

func drawParam(r *rand.Rand) *Param {
	return &Param{Name: pick(r, []string{"amount", "by", "number", "quantity_moved"}), Min: pick(r, []int64{1, 1, 1, 2, 5}), Max: pick(r, []int64{10, 20, 50, 100, 500})}
}

// actionName draws a free name, or "" if all are taken or too long.
func (s *Schema) actionName(r *rand.Rand, e *Entity, t effectTarget, kind string) string {
	verbs := map[string][]string{EffectAdd: {"raise", "increase", "add_to"}, EffectSubtract: {"lower", "reduce", "take_from"}, EffectSet: {"reset", "fix", "assign"}}[kind]
	of := t.field.Name
	if t.ref != nil {
		of = t.owner.Name + "_" + of
	}
	r.Shuffle(len(verbs), func(i, j int) { verbs[i], verbs[j] = verbs[j], verbs[i] })
	for _, v := range verbs {
		if name := v + "_" + of; s.commandFree(e, name) {
			return name
		}
	}
	return ""
}

func applyAddAction(s *Schema, p map[string]string) error {
	e := s.Entity(p["entity"])
	if e == nil {
		return fmt.Errorf("no entity %q", p["entity"])
	}
	a, err := actionFrom(p)
	if err != nil {
		return err
	}
	if err := e.givePart("action", a.UID); err != nil {
		return err
	}
	e.Actions = append(e.Actions, a)
	return nil
}

func actionFrom(p map[string]string) (Action, error) {
	return read[Action](p, "action", "the action")
}

func titleAddAction(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	a, err := actionFrom(p)
	if e == nil || err != nil {
		return "new action"
	}
	return fmt.Sprintf("%s.%s: new action", e.Name, a.Name)
}

// enumerateAddEffect offers, for every command with room, a drawn effect on every integer that it does not change yet.
func enumerateAddEffect(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		targets := x.s.effectTargets(e)
		for _, c := range e.Commands() {
			if len(c.Effects) >= maxEffects {
				continue
			}
			for _, t := range targets {
				if slices.ContainsFunc(c.Effects, func(o Effect) bool { return o.Target == t.field.UID }) {
					continue
				}
				label := c.UID + "/" + t.field.UID
				if t.ref != nil {
					label += "/" + t.ref.UID
				}
				r := x.stream(label)
				kind := pick(r, []string{EffectAdd, EffectSubtract, EffectSet})
				effect := t.drawEffect(r, kind, c.Param != nil && chance(r, 0.6))
				changed := c
				if changed.Effects = append(slices.Clone(c.Effects), effect); changed.checkWitness() == nil {
					x.add(map[string]string{"command": c.UID, "effect": marshal(effect)})
				}
			}
		}
	}
}

func applyAddEffect(s *Schema, p map[string]string) error {
	effect, err := effectFrom(p)
	if err != nil {
		return err
	}
	return s.editCommand(p["command"], func(_ **Guard, effects *[]Effect) { *effects = append(*effects, effect) })
}

func effectFrom(p map[string]string) (Effect, error) {
	return read[Effect](p, "effect", "the effect")
}

// editCommand changes guard or effects of a transition or an action in place.
func (s *Schema) editCommand(uid string, edit func(g **Guard, effects *[]Effect)) error {
	for i := range s.Entities {
		e := &s.Entities[i]
		for j := range e.Actions {
			if a := &e.Actions[j]; a.UID == uid {
				edit(&a.Guard, &a.Effects)
				return nil
			}
		}
		if e.Machine == nil {
			continue
		}
		for j := range e.Machine.Transitions {
			if t := &e.Machine.Transitions[j]; t.UID == uid {
				edit(&t.Guard, &t.Effects)
				return nil
			}
		}
	}
	return fmt.Errorf("no command %q", uid)
}

func titleAddEffect(s *Schema, p map[string]string) string {
	e, c := s.CommandByUID(p["command"])
	effect, err := effectFrom(p)
	if err != nil || c == nil {
		return "new effect"
	}
	_, f := s.FieldByUID(effect.Target)
	if f == nil {
		return "new effect"
	}
	return fmt.Sprintf("%s.%s also changes %s", e.Name, c.Name, f.Name)
}
