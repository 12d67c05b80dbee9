package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// enumerateMakeImmutable offers fields that can change today, where another that is no reference still can.
func enumerateMakeImmutable(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if f.Immutable || f.steady() && e.steadyFields() < 2 {
			return
		}
		c := *f
		c.Immutable = true
		x.addChanged(c, map[string]string{"field": f.UID})
	})
}

// steady reports whether requests of every kind may give the field another value that depends on no other row.
func (f *Field) steady() bool { return f.Type != Ref && !f.Managed() && !f.Immutable }

func (e *Entity) steadyFields() int {
	n := 0
	for i := range e.Fields {
		if e.Fields[i].steady() {
			n++
		}
	}
	return n
}

func enumerateDropImmutable(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Immutable {
			x.add(map[string]string{"field": f.UID})
		}
	})
}

func applyImmutable(to bool) func(s *Schema, p map[string]string) error {
	return func(s *Schema, p map[string]string) error {
		e, f, err := s.fieldParam(p, "field")
		if err != nil {
			return err
		}
		if f.Immutable == to {
			return fmt.Errorf("%s.%s: whether it can change stays", e.Name, f.Name)
		}
		f.Immutable = to
		return nil
	}
}

// keptParams names the fields that PUT keeps when it leaves them out: "" or "keeps=e1.f2,e1.f5".
func (e *Entity) keptParams() string {
	var kept []string
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Immutable {
			kept = append(kept, f.UID)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "keeps=" + strings.Join(kept, ",")
}

// presenceParams says where a rule about missing fields holds: "" for POST and PUT, "on=POST" for a field that PUT keeps.
func (f *Field) presenceParams() string {
	if f.Immutable {
		return "on=POST"
	}
	return ""
}

// presenceVerbs is presenceParams in words.
func (f *Field) presenceVerbs() string {
	if f.Immutable {
		return "`POST`"
	}
	return "`POST` and `PUT`"
}

// enumerateChangeType offers integers that nothing needs to be integers.
func enumerateChangeType(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Type != Integer || f.Unique || x.s.needsInteger(f.UID) {
			return
		}
		c := f.clone()
		widen(&c)
		x.addChanged(c, map[string]string{"field": f.UID, "type": string(Decimal)})
	})
}

// needsInteger reports whether something other than sums is built on the field.
func (s *Schema) needsInteger(uid string) bool {
	return slices.ContainsFunc(s.Entities, func(e Entity) bool { return e.uses(uid) })
}

// widen turns an integer into a decimal: limits and default keep their values, in hundredths now.
func widen(f *Field) {
	f.Type = Decimal
	for _, limit := range []*int64{f.Min, f.Max} {
		if limit != nil {
			*limit *= 100
		}
	}
	if f.Default != nil {
		f.Default.Int *= 100
	}
}

func applyChangeType(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Type != Integer || p["type"] != string(Decimal) {
		return fmt.Errorf("%s.%s can not become a %s", e.Name, f.Name, p["type"])
	}
	widen(f)
	return nil
}
