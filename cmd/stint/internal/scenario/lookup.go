package scenario

import "strings"

// Entity returns the entity with this uid, or nil.
func (s *Schema) Entity(uid string) *Entity {
	for i := range s.Entities {
		if s.Entities[i].UID == uid {
			return &s.Entities[i]
		}
	}
	return nil
}

// FieldByUID returns the field with this uid and its entity, or nil and nil.
func (s *Schema) FieldByUID(uid string) (*Entity, *Field) {
	owner, _, ok := strings.Cut(uid, ".")
	if !ok {
		return nil, nil
	}
	e := s.Entity(owner)
	if e == nil {
		return nil, nil
	}
	if f := e.field(uid); f != nil {
		return e, f
	}
	return nil, nil
}

// field returns the entity's field with this uid, or nil.
func (e *Entity) field(uid string) *Field {
	for i := range e.Fields {
		if e.Fields[i].UID == uid {
			return &e.Fields[i]
		}
	}
	return nil
}

// AnalyticsByUID returns the analytics endpoint with this uid, or nil.
func (s *Schema) AnalyticsByUID(uid string) *Analytics {
	for i := range s.Analytics {
		if s.Analytics[i].UID == uid {
			return &s.Analytics[i]
		}
	}
	return nil
}

// TombstoneByUID returns the tombstone with this uid, or nil.
func (s *Schema) TombstoneByUID(uid string) *Tombstone {
	for i := range s.Tombstones {
		if s.Tombstones[i].UID == uid {
			return &s.Tombstones[i]
		}
	}
	return nil
}

// Clause returns the active clause with this id, or nil.
func (s *Schema) Clause(id string) *Clause {
	for i := range s.Clauses {
		if s.Clauses[i].ID == id {
			return &s.Clauses[i]
		}
	}
	return nil
}

// ClauseOf returns the active clause of this kind about this subject, or nil.
func (s *Schema) ClauseOf(kind Kind, subject string) *Clause {
	for i := range s.Clauses {
		if c := &s.Clauses[i]; c.Kind == kind && c.Subject == subject {
			return c
		}
	}
	return nil
}

// Inbound returns the ref fields that refer to the entity with this uid, in schema order.
func (s *Schema) Inbound(uid string) []*Field {
	var in []*Field
	for i := range s.Entities {
		for j := range s.Entities[i].Fields {
			if f := &s.Entities[i].Fields[j]; f.Type == Ref && f.Target == uid {
				in = append(in, f)
			}
		}
	}
	return in
}

// FieldByName returns the field with this public name, or nil.
func (e *Entity) FieldByName(name string) *Field {
	for i := range e.Fields {
		if e.Fields[i].Name == name {
			return &e.Fields[i]
		}
	}
	return nil
}

// Clone returns a deep copy: no pointer or slice is shared.
func (s *Schema) Clone() *Schema {
	c := *s
	c.Entities = make([]Entity, len(s.Entities))
	for i, e := range s.Entities {
		e.Fields = append([]Field(nil), e.Fields...)
		for j := range e.Fields {
			e.Fields[j] = e.Fields[j].clone()
		}
		e.cloneParts()
		c.Entities[i] = e
	}
	c.Analytics = make([]Analytics, len(s.Analytics))
	for i, a := range s.Analytics {
		a.Equals = copyOf(a.Equals)
		c.Analytics[i] = a
	}
	c.Tombstones = append([]Tombstone{}, s.Tombstones...)
	c.Clauses = append([]Clause{}, s.Clauses...)
	return &c
}

func (f Field) clone() Field {
	f.Default = copyOf(f.Default)
	f.Min, f.Max = copyOf(f.Min), copyOf(f.Max)
	f.MinLen, f.MaxLen = copyOf(f.MinLen), copyOf(f.MaxLen)
	f.Values = append([]string(nil), f.Values...)
	if f.Computed != nil {
		c := *f.Computed
		c.Inputs = append([]string(nil), c.Inputs...)
		f.Computed = &c
	}
	return f
}

// copyOf returns a pointer to a copy of what p points to; nil stays nil.
func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
