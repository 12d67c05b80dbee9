package scenario

import "fmt"

// enumerateAddGuard offers every kind of condition for every command without one.
func enumerateAddGuard(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		for _, c := range e.Commands() {
			if c.Guard != nil {
				continue
			}
			for _, a := range x.atoms(e, c.UID) {
				x.addGuard(e, &c, Guard{Atoms: []Atom{a}})
			}
		}
	}
}

func (x *enumeration) addGuard(e *Entity, c *Command, g Guard) {
	guarded := *c
	guarded.Guard = &g
	if x.s.checkGuard(e, &g, x.s.fields(nil)) == nil && guarded.checkWitness() == nil {
		x.add(map[string]string{"command": c.UID, "guard": marshal(g)})
	}
}

// atoms lists drawn conditions for rows of an entity; not all of them need be well-formed.
func (x *enumeration) atoms(e *Entity, label string) []Atom {
	var as []Atom
	ops := []string{">=", "<="}
	for i := range e.Fields {
		f := &e.Fields[i]
		r := x.stream(label + "/" + f.UID)
		switch {
		case f.Managed():
		case numeric(f.Type):
			as = append(as, Atom{Kind: AtomField, Field: f.UID, Op: pick(r, ops), Value: x.threshold(e, f, label)})
			for j := range i {
				if o := &e.Fields[j]; o.Type == f.Type && !o.Managed() {
					as = append(as, Atom{Kind: AtomFields, Field: f.UID, Op: pick(r, ops), Other: o.UID})
				}
			}
		case f.Type == Ref:
			if t := x.s.Entity(f.Target); t != nil && t.StateField() != nil {
				as = append(as, Atom{Kind: AtomParent, Field: f.UID, State: pick(r, t.StateField().Values)})
			}
		}
	}
	for _, f := range x.s.Inbound(e.UID) {
		as = append(as, Atom{Kind: AtomChildren, Field: f.UID, Value: 1 + int64(x.stream(label+"/"+f.UID).IntN(2))})
	}
	return as
}

// threshold draws a value in the lower half of what suits the field, inside its range.
func (x *enumeration) threshold(e *Entity, f *Field, label string) int64 {
	r := x.stream(label + "/threshold/" + f.UID)
	lo, hi := sensible(x.hint(e, f))
	if f.Min != nil {
		lo = *f.Min
	}
	if f.Max != nil {
		hi = *f.Max
	}
	if hi < lo {
		hi = lo + 10
	}
	v := lo + int64(float64(hi-lo)*pick(r, []float64{0.02, 0.05, 0.1, 0.25, 0.4}))
	if f.Type != Date {
		v = rounded(v, f.Type)
	}
	return max(v, lo+1)
}

// applyGuard gives a command a condition, or another one.
func applyGuard(s *Schema, p map[string]string) error {
	g, err := read[Guard](p, "guard", "the condition")
	if err != nil {
		return err
	}
	return s.editCommand(p["command"], func(at **Guard, _ *[]Effect) { *at = &g })
}

func titleGuard(s *Schema, p map[string]string) string {
	e, c := s.CommandByUID(p["command"])
	if c == nil {
		return "condition"
	}
	return fmt.Sprintf("%s.%s: condition", e.Name, c.Name)
}

// enumerateChangeGuard offers other values of one atom, and a second atom where there is one only.
func enumerateChangeGuard(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		for _, c := range e.Commands() {
			if c.Guard == nil {
				continue
			}
			for n, a := range c.Guard.Atoms {
				for _, b := range x.otherAtoms(e, a, c.UID) {
					g := c.Guard.clone()
					if g.Atoms[n] = b; b != a {
						x.addGuard(e, &c, *g)
					}
				}
			}
			if len(c.Guard.Atoms) < maxAtoms {
				for _, a := range x.atoms(e, c.UID+"/second") {
					x.addGuard(e, &c, Guard{Atoms: []Atom{c.Guard.Atoms[0], a}})
				}
			}
		}
	}
}

// otherAtoms lists atoms of the same kind about the same thing that ask for something else.
func (x *enumeration) otherAtoms(e *Entity, a Atom, label string) []Atom {
	b := a
	switch a.Kind {
	case AtomField:
		_, f := x.s.FieldByUID(a.Field)
		b.Value = x.threshold(e, f, label+"/other")
	case AtomFields:
		b.Op = map[string]string{">=": "<=", "<=": ">="}[a.Op]
	case AtomChildren:
		b.Value = a.Value%maxChildren + 1
	case AtomParent:
		_, f := x.s.FieldByUID(a.Field)
		var as []Atom
		for _, v := range x.s.Entity(f.Target).StateField().Values {
			b.State = v
			as = append(as, b)
		}
		return as
	}
	return []Atom{b}
}
