package scenario

import (
	"fmt"
	"math/rand/v2"
)

// drawRef draws a reference to target: mostly optional, with one of the three policies.
func drawRef(r *rand.Rand, target *Entity, uid string) Field {
	f := Field{UID: uid, Name: target.Name + "_id", Type: Ref, Target: target.UID, Required: chance(r, 0.2)}
	f.Nullable = !f.Required || chance(r, 0.25)
	policies := []OnDelete{Cascade, Restrict}
	if f.Nullable {
		policies = append(policies, SetNull)
	}
	f.OnDelete = pick(r, policies)
	return f
}

// enumerateAddRelation offers every pair of entities between which a reference closes no cycle.
func enumerateAddRelation(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if len(e.Fields) >= MaxFields {
			continue
		}
		for j := range x.s.Entities {
			target := &x.s.Entities[j]
			if !x.s.free(e, target.Name+"_id") || x.s.reaches(target.UID, e.UID) {
				continue
			}
			f := drawRef(x.stream(e.UID+"/"+target.UID), target, e.nextUID())
			x.add(map[string]string{"entity": e.UID, "field": marshal(f)})
		}
	}
}

// reaches reports whether references lead from one entity to another; every entity reaches itself.
func (s *Schema) reaches(from, to string) bool {
	if from == to {
		return true
	}
	e := s.Entity(from)
	for i := range e.Fields {
		if e.Fields[i].Type == Ref && s.reaches(e.Fields[i].Target, to) {
			return true
		}
	}
	return false
}

// enumerateChangeOnDelete offers the other policies of every reference.
func enumerateChangeOnDelete(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Type != Ref {
			return
		}
		for _, policy := range []OnDelete{Cascade, Restrict, SetNull} {
			if policy == f.OnDelete {
				continue
			}
			c := *f
			c.OnDelete = policy
			x.addChanged(c, map[string]string{"field": f.UID, "policy": string(policy)})
		}
	})
}

func applyChangeOnDelete(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Type != Ref {
		return fmt.Errorf("%s.%s is no reference", e.Name, f.Name)
	}
	f.OnDelete = OnDelete(p["policy"])
	return nil
}

func titleChangeOnDelete(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "on delete"
	}
	return fmt.Sprintf("%s.%s: on delete %s", e.Name, f.Name, p["policy"])
}

// enumerateRequireRelation offers optional references that no deletion makes null.
func enumerateRequireRelation(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Type == Ref && !f.Required && f.OnDelete != SetNull {
			c := *f
			c.Required, c.Nullable = true, false
			x.addChanged(c, map[string]string{"field": f.UID})
		}
	})
}

func applyRequireRelation(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Type != Ref || f.Required {
		return fmt.Errorf("%s.%s is no optional reference", e.Name, f.Name)
	}
	f.Required, f.Nullable = true, false
	return nil
}

func titleRequireRelation(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "require a reference"
	}
	return fmt.Sprintf("%s.%s is now required", e.Name, f.Name)
}

// enumerateFreeRelation offers required references; one required field stays.
func enumerateFreeRelation(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if f.Type == Ref && f.Required && e.requiredFields() > 1 {
			x.add(map[string]string{"field": f.UID})
		}
	})
}

// enumerateRemoveRelation offers references that nothing is built on; two fields stay, one of them required.
func enumerateRemoveRelation(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if f.Type == Ref && len(e.Fields) > 2 && !x.s.used(f.UID) && !(f.Required && e.requiredFields() == 1) {
			x.add(map[string]string{"field": f.UID})
		}
	})
}

// applyRemoveRelation removes the reference and, with it, the list that was nested by it.
func applyRemoveRelation(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Type != Ref || s.used(f.UID) {
		return fmt.Errorf("%s.%s is no reference, or something else is built on it", e.Name, f.Name)
	}
	if f.Nested {
		s.buryName(GoneNested, f.Target, f.UID, e.Plural, "")
	}
	s.dropField(f.UID)
	return nil
}
