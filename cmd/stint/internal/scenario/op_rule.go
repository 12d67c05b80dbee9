package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// eachField calls do for every field of every entity that requests may set.
func (x *enumeration) eachField(do func(e *Entity, f *Field)) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		for j := range e.Fields {
			if !e.Fields[j].Managed() {
				do(e, &e.Fields[j])
			}
		}
	}
}

// hint returns what the vocabulary knows about the field, or only its type.
func (x *enumeration) hint(e *Entity, f *Field) attribute {
	if a, ok := x.words.attribute(f.Name, f.Type, x.words.noun(e.Name).kind); ok {
		return a
	}
	return attribute{name: f.Name, typ: f.Type}
}

// addChanged records an instance if the field, changed so, is still well-formed and what is built on it still stands.
func (x *enumeration) addChanged(changed Field, params map[string]string) {
	if changed.validate() == nil && x.fits(changed) && x.s.checkUses(&changed) == nil {
		x.add(params)
	}
}

// fits reports whether the groups and orders of an entity still stand when one of its fields changes.
func (x *enumeration) fits(changed Field) bool {
	e, _ := x.s.FieldByUID(changed.UID)
	if e == nil {
		return false
	}
	c := *e
	c.Fields = append([]Field(nil), e.Fields...)
	for i := range c.Fields {
		if c.Fields[i].UID == changed.UID {
			c.Fields[i] = changed
		}
	}
	return c.checkPairs() == nil
}

// enumerateSetRange offers two drawn ranges for every ordered field that has none.
func enumerateSetRange(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if !numeric(f.Type) || f.Min != nil || f.Max != nil {
			return
		}
		seen := ""
		for _, variant := range []string{"/1", "/2"} {
			c := *f
			c.Min, c.Max = drawRange(x.stream(f.UID+variant), x.hint(e, f), f.Unique)
			if p := c.RangeParams(); p != seen {
				seen = p
				x.addRange(c)
			}
		}
	})
}

func (x *enumeration) addRange(c Field) {
	x.addChanged(c, map[string]string{"field": c.UID, "min": intText(c.Min), "max": intText(c.Max)})
}

// enumerateTightenRange offers for every range a higher lower end and a lower upper end.
func enumerateTightenRange(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Min == nil && f.Max == nil {
			return
		}
		step := f.step(x.stream(f.UID))
		if f.Min != nil {
			c := *f
			c.Min = ptr(*f.Min + step)
			x.addRange(c)
		}
		if f.Max != nil {
			c := *f
			c.Max = ptr(*f.Max - step)
			x.addRange(c)
		}
	})
}

// enumerateRelaxRange offers for every range a lower lower end and a higher upper end. A lower end of
// zero stays: below it most quantities make no sense.
func enumerateRelaxRange(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Min == nil && f.Max == nil {
			return
		}
		step := f.step(x.stream(f.UID))
		if f.Min != nil && *f.Min != 0 {
			c := *f
			c.Min = ptr(*f.Min - step)
			if f.Type != Date && *f.Min > 0 {
				c.Min = ptr(max(0, *f.Min-step))
			}
			x.addRange(c)
		}
		if f.Max != nil {
			c := *f
			c.Max = ptr(*f.Max + step)
			x.addRange(c)
		}
	})
}

// step is by how much a limit moves: some years for dates, else a rounded share of the range.
func (f *Field) step(r *rand.Rand) int64 {
	if f.Type == Date {
		return 365 * int64(1+r.IntN(5))
	}
	span := int64(100)
	if f.Type == Decimal {
		span = 100_00
	}
	switch {
	case f.Min != nil && f.Max != nil:
		span = *f.Max - *f.Min
	case f.Max != nil && *f.Max > 0:
		span = *f.Max
	case f.Min != nil && *f.Min > 0:
		span = *f.Min
	}
	return max(1, rounded(span/int64(3+r.IntN(6)), f.Type))
}

func ptr[T any](v T) *T { return &v }

func applySetRange(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Min, err = intParam(p, "min"); err != nil {
		return err
	}
	if f.Max, err = intParam(p, "max"); err != nil {
		return err
	}
	if f.Min == nil && f.Max == nil {
		return fmt.Errorf("range of %s.%s without an end", e.Name, f.Name)
	}
	return nil
}

// intParam reads a number; an empty parameter is nil.
func intParam(p map[string]string, key string) (*int64, error) {
	if p[key] == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(p[key], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("parameter %s: %w", key, err)
	}
	return &n, nil
}

// after returns the field that the operation leaves behind, for titles; nil if the parameters are wrong.
func after(s *Schema, p map[string]string, apply func(*Schema, map[string]string) error) (*Entity, *Field) {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return nil, nil
	}
	one := *e
	one.Fields = []Field{f.clone()}
	mini := &Schema{Entities: []Entity{one}}
	if apply(mini, p) != nil {
		return nil, nil
	}
	return e, &mini.Entities[0].Fields[0]
}

func titleRange(s *Schema, p map[string]string) string {
	e, f := after(s, p, applySetRange)
	if f == nil {
		return "range"
	}
	return fmt.Sprintf("%s.%s: %s", e.Name, f.Name, f.rangePhrase())
}

// enumerateSetLength offers one drawn pair of limits for every string without any.
func enumerateSetLength(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if f.Type != String || f.MinLen != nil || f.MaxLen != nil || f.Pattern != "" {
			return
		}
		c := *f
		c.MinLen, c.MaxLen = drawLength(x.stream(f.UID), x.hint(e, f), f.Unique)
		x.addChanged(c, map[string]string{"field": f.UID, "min": intText(c.MinLen), "max": intText(c.MaxLen)})
	})
}

func applySetLength(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	limits := [2]**int{&f.MinLen, &f.MaxLen}
	for i, key := range []string{"min", "max"} {
		n, err := intParam(p, key)
		if err != nil {
			return err
		}
		*limits[i] = nil
		if n != nil {
			*limits[i] = ptr(int(*n))
		}
	}
	if f.MinLen == nil && f.MaxLen == nil {
		return fmt.Errorf("length of %s.%s without an end", e.Name, f.Name)
	}
	return nil
}

func titleLength(s *Schema, p map[string]string) string {
	e, f := after(s, p, applySetLength)
	if f == nil {
		return "length"
	}
	return fmt.Sprintf("%s.%s: %s", e.Name, f.Name, f.lengthPhrase())
}

// enumerateMakeUnique offers strings and integers that have room for many values and no default.
func enumerateMakeUnique(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Unique {
			return
		}
		c := *f
		c.Unique = true
		x.addChanged(c, map[string]string{"field": f.UID})
	})
}

func applyMakeUnique(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Unique {
		return fmt.Errorf("%s.%s is unique already", e.Name, f.Name)
	}
	f.Unique = true
	return nil
}

func titleUnique(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "unique"
	}
	return fmt.Sprintf("%s.%s: unique", e.Name, f.Name)
}

// spareValues are enum values that fit nearly everywhere, for lists whose own words are used up.
func spareValues() []string { return []string{"other", "unknown", "special", "mixed", "pending"} }

// enumerateAddEnumValue offers the unused values of the attribute that the field's present values come
// from, else a spare word.
func enumerateAddEnumValue(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if f.Type != Enum || len(f.Values) >= maxEnumValues {
			return
		}
		candidates := x.hint(e, f).values
		if !slices.ContainsFunc(candidates, func(v string) bool { return !slices.Contains(f.Values, v) }) {
			candidates = spareValues()
		}
		for _, v := range candidates {
			if !slices.Contains(f.Values, v) {
				x.add(map[string]string{"field": f.UID, "value": v})
			}
		}
	})
}

func applyAddEnumValue(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Type != Enum {
		return fmt.Errorf("%s.%s has no list of values", e.Name, f.Name)
	}
	f.Values = append(f.Values, p["value"])
	return nil
}

func titleAddEnumValue(s *Schema, p map[string]string) string {
	return titleEnum(s, p, "can also be")
}

func titleEnum(s *Schema, p map[string]string, verb string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "list of values"
	}
	return fmt.Sprintf("%s.%s %s %s", e.Name, f.Name, verb, p["value"])
}

// enumerateRemoveEnumValue offers values that are no default and in no analytics filter; three stay.
func enumerateRemoveEnumValue(x *enumeration) {
	x.eachField(func(_ *Entity, f *Field) {
		if f.Type != Enum || len(f.Values) < 4 {
			return
		}
		for _, v := range f.Values {
			inUse := f.Default != nil && f.Default.Str == v || slices.ContainsFunc(x.s.Analytics, func(a Analytics) bool {
				return a.Where == f.UID && a.Equals != nil && a.Equals.Str == v
			})
			if !inUse {
				x.add(map[string]string{"field": f.UID, "value": v})
			}
		}
	})
}

func applyRemoveEnumValue(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if !slices.Contains(f.Values, p["value"]) {
		return fmt.Errorf("%s.%s has no value %q", e.Name, f.Name, p["value"])
	}
	f.Values = slices.DeleteFunc(f.Values, func(v string) bool { return v == p["value"] })
	return nil
}

func titleRemoveEnumValue(s *Schema, p map[string]string) string {
	return titleEnum(s, p, "can no longer be")
}
