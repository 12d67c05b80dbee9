package scenario

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"
)

// The size caps of a schema.
const (
	MaxEntities  = 14
	MaxFields    = 12 // per entity, without id
	MaxAnalytics = 20
)

const (
	maxSafe         = 1<<53 - 1 // largest integer that every JSON reader keeps exactly
	minUniqueValues = 1000
	minUniqueLength = 8 // a unique string must allow this many characters
	minRangeValues  = 3
	minEnumValues   = 2
	maxEnumValues   = 8
	maxName         = 32
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// reserved lists names that would collide with the fixed part of the contract.
func reserved(name string) bool {
	switch name {
	case "id", "ids", "health", "analytics", "error", "code", "field", "value", "null", "true", "false", "row_version":
		return true
	}
	return false
}

func checkName(name string) error {
	if len(name) > maxName || !nameForm.MatchString(name) {
		return fmt.Errorf("name %q is not lower-case words joined by underscores, at most %d characters", name, maxName)
	}
	if reserved(name) {
		return fmt.Errorf("name %q is reserved", name)
	}
	return nil
}

// Validate reports the first rule that the schema breaks: names, caps, constraints that fit their types,
// references, and a clause table that belongs to the schema.
func (s *Schema) Validate() error {
	if len(s.Entities) == 0 || len(s.Entities) > MaxEntities || len(s.Analytics) > MaxAnalytics {
		return fmt.Errorf("%d entities and %d analytics, allowed are 1 to %d and 0 to %d", len(s.Entities), len(s.Analytics), MaxEntities, MaxAnalytics)
	}
	if c := s.Conventions; c.ItemsKey == c.TotalKey || checkKey(c.ItemsKey) != nil || checkKey(c.TotalKey) != nil {
		return fmt.Errorf("list keys %q and %q are no two different names", c.ItemsKey, c.TotalKey)
	}
	if err := s.checkUIDs(); err != nil {
		return err
	}
	names := make(map[string]bool)
	uids := make(map[string]bool)
	once := func(set map[string]bool, key string) error {
		if set[key] {
			return fmt.Errorf("%q is used twice", key)
		}
		set[key] = true
		return nil
	}
	for i := range s.Entities {
		e := &s.Entities[i]
		if err := errors.Join(once(uids, e.UID), checkName(e.Name), checkName(e.Plural), once(names, e.Name), once(names, e.Plural)); err != nil {
			return fmt.Errorf("entity %s: %w", e.UID, err)
		}
		if err := s.checkEntity(e); err != nil {
			return fmt.Errorf("entity %s (%s): %w", e.UID, e.Name, err)
		}
	}
	if err := s.checkReferences(); err != nil {
		return err
	}
	for i := range s.Entities {
		e := &s.Entities[i]
		if err := s.checkLife(e); err != nil {
			return fmt.Errorf("entity %s (%s): %w", e.UID, e.Name, err)
		}
	}
	paths := make(map[string]bool)
	for i := range s.Analytics {
		a := &s.Analytics[i]
		if err := errors.Join(once(uids, a.UID), checkName(a.Name), once(paths, a.Name), s.checkAnalytics(a)); err != nil {
			return fmt.Errorf("analytics %s: %w", a.UID, err)
		}
	}
	if err := s.checkTombstones(once, uids); err != nil {
		return err
	}
	return s.checkClauses()
}

func checkKey(key string) error {
	if !nameForm.MatchString(key) {
		return fmt.Errorf("%q is no name", key)
	}
	return nil
}

func (s *Schema) checkEntity(e *Entity) error {
	if len(e.Fields) == 0 || len(e.Fields) > MaxFields {
		return fmt.Errorf("%d fields, allowed are 1 to %d", len(e.Fields), MaxFields)
	}
	for i := range e.Fields {
		f := &e.Fields[i]
		for j := range i {
			if o := &e.Fields[j]; o.Name == f.Name || o.UID == f.UID {
				return fmt.Errorf("field %s (%s) exists twice", f.UID, f.Name)
			}
		}
		if s.buried(GoneField, e.UID, f.Name) {
			return fmt.Errorf("field %s has the name %q of a tombstone", f.UID, f.Name)
		}
		if err := f.validate(); err != nil {
			return fmt.Errorf("field %s (%s): %w", f.UID, f.Name, err)
		}
	}
	return errors.Join(e.checkPairs(), e.checkList())
}

// buried reports whether something of this kind and entity once had the name; the entity of [GoneEntity] and
// [GoneAnalytics] does not count, since those names are unique in the service.
func (s *Schema) buried(kind, entity, name string) bool {
	for i := range s.Tombstones {
		t := &s.Tombstones[i]
		if t.Kind == kind && t.Name == name && (t.Entity == entity || kind == GoneEntity || kind == GoneAnalytics) {
			return true
		}
	}
	return false
}

func (f *Field) validate() error {
	if err := checkName(f.Name); err != nil {
		return err
	}
	switch f.Type {
	case String, Integer, Decimal, Boolean, Enum, Date, Datetime, Ref:
	default:
		return fmt.Errorf("unknown type %q", f.Type)
	}
	if f.Managed() {
		return f.checkManaged()
	}
	if !f.Required && f.Default == nil && !f.Nullable {
		return errors.New("optional without a default, but not nullable")
	}
	if f.Required && f.Default != nil {
		return errors.New("required with a default")
	}
	if f.Default != nil && f.Unique {
		return errors.New("unique with a default")
	}
	if err := f.checkLimits(); err != nil {
		return err
	}
	if err := f.checkPattern(); err != nil {
		return err
	}
	if f.Unique {
		if f.Type != String && f.Type != Integer {
			return fmt.Errorf("type %s cannot be unique", f.Type)
		}
		if f.Min != nil && f.Max != nil && *f.Max-*f.Min+1 < minUniqueValues {
			return fmt.Errorf("unique with fewer than %d possible values", minUniqueValues)
		}
		if f.MaxLen != nil && *f.MaxLen < minUniqueLength {
			return fmt.Errorf("unique with fewer than %d characters", minUniqueLength)
		}
	}
	if f.Type == Ref {
		if f.Default != nil {
			return errors.New("reference with a default")
		}
		switch f.OnDelete {
		case Cascade, Restrict:
		case SetNull:
			if !f.Nullable || f.Immutable {
				return errors.New("set-null on a field that is not nullable or can not change")
			}
		default:
			return fmt.Errorf("unknown on-delete policy %q", f.OnDelete)
		}
	} else if f.OnDelete != "" || f.Target != "" {
		return fmt.Errorf("type %s with a reference target", f.Type)
	}
	if f.Type == Datetime && f.Default != nil {
		return errors.New("datetime with a default")
	}
	if f.Default != nil && !f.Allows(*f.Default) {
		return errors.New("default breaks a rule of the field")
	}
	return nil
}

// checkPattern checks the pattern by itself and beside the other rules for strings.
func (f *Field) checkPattern() error {
	switch {
	case f.Pattern == "":
		return nil
	case f.Type != String:
		return fmt.Errorf("type %s with a pattern", f.Type)
	case f.MinLen != nil || f.MaxLen != nil:
		return errors.New("a pattern and a length exclude each other")
	}
	return checkPattern(f.Pattern)
}

// checkLimits checks range, length and values by themselves.
func (f *Field) checkLimits() error {
	if (f.Min != nil || f.Max != nil) && !numeric(f.Type) {
		return fmt.Errorf("type %s with a range", f.Type)
	}
	if (f.MinLen != nil || f.MaxLen != nil) && f.Type != String {
		return fmt.Errorf("type %s with a length", f.Type)
	}
	low, high := int64(-maxSafe), int64(maxSafe)
	if f.Min != nil {
		low = *f.Min
	}
	if f.Max != nil {
		high = *f.Max
	}
	// One value beyond each limit must still be a number that JSON readers keep, since checks send it.
	if f.Min != nil && low <= -maxSafe || f.Max != nil && high >= maxSafe || high-low+1 < minRangeValues {
		return fmt.Errorf("range %s has fewer than %d values or exceeds exact numbers", f.RangeParams(), minRangeValues)
	}
	if f.Type == Date && (f.Min != nil && *f.Min <= dateDays(1, 1, 1) || f.Max != nil && *f.Max >= dateDays(9999, 12, 31)) {
		return fmt.Errorf("range %s exceeds the years 1 to 9999", f.RangeParams())
	}
	short, long := 1, math.MaxInt32
	if f.MinLen != nil {
		short = *f.MinLen
	}
	if f.MaxLen != nil {
		long = *f.MaxLen
	}
	if short < 1 || long-short+1 < minRangeValues {
		return fmt.Errorf("length %s has fewer than %d values", f.LengthParams(), minRangeValues)
	}
	if f.Type != Enum {
		if len(f.Values) > 0 {
			return fmt.Errorf("type %s with a list of values", f.Type)
		}
		return nil
	}
	if len(f.Values) < minEnumValues || len(f.Values) > maxEnumValues {
		return fmt.Errorf("%d values, allowed are %d to %d", len(f.Values), minEnumValues, maxEnumValues)
	}
	for i, v := range f.Values {
		if !nameForm.MatchString(v) || slices.Contains(f.Values[:i], v) {
			return fmt.Errorf("value %q is no lower-case word or occurs twice", v)
		}
	}
	return nil
}

// Allows reports whether v satisfies range, length, pattern and values of the field. Uniqueness and references
// depend on other rows and are not looked at.
func (f *Field) Allows(v Value) bool {
	switch f.Type {
	case Integer, Decimal, Date:
		return (f.Min == nil || v.Int >= *f.Min) && (f.Max == nil || v.Int <= *f.Max)
	case String:
		if f.Pattern != "" && !MatchesPattern(f.Pattern, v.Str) {
			return false
		}
		n := utf8.RuneCountInString(v.Str)
		return (f.MinLen == nil || n >= *f.MinLen) && (f.MaxLen == nil || n <= *f.MaxLen)
	case Enum:
		return slices.Contains(f.Values, v.Str)
	}
	return true
}

// checkReferences wants existing targets and no cycle of references, so that deletion always has an end
// and some entity can be created first.
func (s *Schema) checkReferences() error {
	const visiting, done = 1, 2
	state := make(map[string]int)
	var visit func(uid string) error
	visit = func(uid string) error {
		e := s.Entity(uid)
		if e == nil {
			return fmt.Errorf("reference to unknown entity %q", uid)
		}
		switch state[uid] {
		case visiting:
			return fmt.Errorf("references form a cycle through %s", e.Name)
		case done:
			return nil
		}
		state[uid] = visiting
		for i := range e.Fields {
			if e.Fields[i].Type != Ref {
				continue
			}
			if err := visit(e.Fields[i].Target); err != nil {
				return err
			}
		}
		state[uid] = done
		return nil
	}
	for i := range s.Entities {
		if err := visit(s.Entities[i].UID); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) checkTombstones(once func(map[string]bool, string) error, uids map[string]bool) error {
	gone := make(map[string]bool)
	for i := range s.Tombstones {
		t := &s.Tombstones[i]
		if err := errors.Join(once(uids, t.UID), once(gone, t.Kind+" "+t.Entity+"."+t.Name)); err != nil {
			return fmt.Errorf("tombstone %s: %w", t.UID, err)
		}
		switch t.Kind {
		case GoneField, GoneAction, GoneNested:
			if s.Entity(t.Entity) == nil {
				return fmt.Errorf("tombstone %s: unknown entity %q", t.UID, t.Entity)
			}
		case GoneEntity, GoneAnalytics:
		default:
			return fmt.Errorf("tombstone %s: unknown kind %q", t.UID, t.Kind)
		}
	}
	return nil
}
