package scenario

import (
	"fmt"
	"math/rand/v2"
)

// drawRef draws a reference to target: mostly optional, with one of the three policies.
func drawRef(r *rand.Rand, target *Entity, uid string) Field {
	f := Field{UID: uid, Name: target.Name + "_id", Type: Ref, Target: target.UID, Required: chance(r, 0.3)}
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
