package scenario

import (
	"errors"
	"fmt"
)

// enumerateMakeRequired offers optional fields that are no reference and are not used for another operation's sake.
func enumerateMakeRequired(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Required || f.Type == Ref {
			return
		}
		c := *f
		c.Required, c.Default = true, nil
		x.addChanged(c, map[string]string{"field": f.UID})
	})
}

// applyMakeRequired ends a default, which would never be used; whether the field may be null stays.
func applyMakeRequired(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Required {
		return fmt.Errorf("%s.%s is required already", e.Name, f.Name)
	}
	f.Required, f.Default = true, nil
	return nil
}

// enumerateNullable offers fields for make_nullable (to is true) or make_non_nullable.
func enumerateNullable(to bool) func(x *enumeration) {
	return func(x *enumeration) {
		x.eachField(func(_ *Entity, f *Field) {
			if f.Nullable == to {
				return
			}
			c := *f
			c.Nullable = to
			x.addChanged(c, map[string]string{"field": f.UID})
		})
	}
}

func applyNullable(to bool) func(s *Schema, p map[string]string) error {
	return func(s *Schema, p map[string]string) error {
		e, f, err := s.fieldParam(p, "field")
		if err != nil {
			return err
		}
		if f.Nullable == to {
			return fmt.Errorf("%s.%s: whether it may be null does not change", e.Name, f.Name)
		}
		f.Nullable = to
		return nil
	}
}

// enumerateDefault offers a drawn default for optional fields without one (change is false) or another default.
func enumerateDefault(change bool) func(x *enumeration) {
	return func(x *enumeration) {
		x.eachField(func(e *Entity, f *Field) {
			if f.Required || change != (f.Default != nil) || e.tied(f.UID) {
				return
			}
			was := ""
			if change {
				was = f.Literal(f.Default)
			}
			for _, variant := range []string{"/1", "/2"} {
				v := drawDefault(x.stream(f.UID+variant), f, x.hint(e, f))
				if v == nil || f.Literal(v) == was {
					continue
				}
				c := *f
				c.Default = v
				x.addChanged(c, map[string]string{"field": f.UID, "default": marshal(v)})
				break
			}
		})
	}
}

func applyDefault(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	v, err := read[Value](p, "default", "the default")
	if err != nil {
		return err
	}
	if f.Required {
		return fmt.Errorf("%s.%s is required", e.Name, f.Name)
	}
	f.Default = &v
	return nil
}

func titleDefault(s *Schema, p map[string]string) string {
	e, f := after(s, p, applyDefault)
	if f == nil {
		return "default"
	}
	return fmt.Sprintf("%s.%s: default %s", e.Name, f.Name, f.Literal(f.Default))
}

// enumerateDropDefault offers defaults of fields that may not be null, which must be given then.
func enumerateDropDefault(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Default == nil || f.Nullable {
			return
		}
		c := *f
		c.Default, c.Required = nil, true
		x.addChanged(c, map[string]string{"field": f.UID})
	})
}

func applyDropDefault(s *Schema, p map[string]string) error {
	_, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Default == nil || f.Nullable {
		return errors.New("no default to drop, or null could take its place")
	}
	f.Default, f.Required = nil, true
	return nil
}

func enumerateDropUnique(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Unique {
			x.add(map[string]string{"field": f.UID})
		}
	})
}

func applyDropUnique(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if !f.Unique {
		return fmt.Errorf("%s.%s is not unique", e.Name, f.Name)
	}
	f.Unique = false
	return nil
}
