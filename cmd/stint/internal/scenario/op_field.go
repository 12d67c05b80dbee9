package scenario

import (
	"fmt"
)

func enumerateAddOptional(x *enumeration) { enumerateAddField(x, false) }

func enumerateAddRequired(x *enumeration) { enumerateAddField(x, true) }

// enumerateAddField offers, for every entity with room, every attribute that suits it and is not in use.
func enumerateAddField(x *enumeration, required bool) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if len(e.Fields) >= MaxFields {
			continue
		}
		for _, a := range x.words.attributesFor(x.words.noun(e.Name).kind) {
			if !x.s.free(e, a.name) || a.alias != "" && !x.s.free(e, a.alias) {
				continue
			}
			f := drawField(x.stream(e.UID+"/"+a.name), a, required)
			f.UID = e.nextUID()
			x.add(map[string]string{"entity": e.UID, "field": marshal(f)})
		}
	}
}

func applyAddField(s *Schema, p map[string]string) error {
	e := s.Entity(p["entity"])
	if e == nil {
		return fmt.Errorf("no entity %q", p["entity"])
	}
	f, err := fieldFrom(p)
	if err != nil {
		return err
	}
	if f.UID != e.nextUID() {
		return fmt.Errorf("new field has uid %q, next is %q", f.UID, e.nextUID())
	}
	e.NextField++
	e.Fields = append(e.Fields, f)
	return nil
}

func fieldFrom(p map[string]string) (Field, error) {
	return read[Field](p, "field", "the new field")
}

func titleAddField(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	f, err := fieldFrom(p)
	if e == nil || err != nil {
		return "new field"
	}
	switch {
	case f.Type == Ref:
		return fmt.Sprintf("%s.%s: reference, %s", e.Name, f.Name, f.OnDelete)
	case f.Required:
		return fmt.Sprintf("%s.%s: new, required", e.Name, f.Name)
	}
	return fmt.Sprintf("%s.%s: new, optional", e.Name, f.Name)
}

// enumerateRenameField offers for every field but references, whose names follow their targets, the
// aliases that the vocabulary or the entity's own name give.
func enumerateRenameField(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		for j := range e.Fields {
			f := &e.Fields[j]
			if f.Type == Ref {
				continue
			}
			for _, name := range x.aliases(e, f) {
				if x.s.free(e, name) && x.s.paramsFree(e, f, name) {
					x.add(map[string]string{"field": f.UID, "name": name})
				}
			}
		}
	}
}

func (x *enumeration) aliases(e *Entity, f *Field) []string {
	kind := x.words.noun(e.Name).kind
	if a, ok := x.words.attribute(f.Name, f.Type, kind); ok && a.alias != "" {
		if f.Name == a.name {
			return []string{a.alias}
		}
		return []string{a.name}
	}
	return []string{e.Name + "_" + f.Name, "official_" + f.Name, "recorded_" + f.Name}
}

func applyRenameField(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if !s.free(e, p["name"]) {
		return fmt.Errorf("name %q of %s is not free", p["name"], e.Name)
	}
	s.bury(e, f)
	f.Name = p["name"]
	return nil
}

func titleRenameField(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "rename"
	}
	return fmt.Sprintf("%s.%s is now %s", e.Name, f.Name, p["name"])
}

// enumerateRemoveField offers fields that nothing else is built on; two stay, one of them required and one that can change.
func enumerateRemoveField(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if len(e.Fields) <= 2 {
			continue
		}
		for j := range e.Fields {
			f := &e.Fields[j]
			if f.Type == Ref || x.s.used(f.UID) || f.Required && e.requiredFields() == 1 || f.steady() && e.steadyFields() == 1 {
				continue
			}
			x.add(map[string]string{"field": f.UID})
		}
	}
}

func (e *Entity) requiredFields() int {
	n := 0
	for i := range e.Fields {
		if e.Fields[i].Required {
			n++
		}
	}
	return n
}

func applyRemoveField(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if s.used(f.UID) {
		return fmt.Errorf("something else is built on %s.%s", e.Name, f.Name)
	}
	s.dropField(f.UID)
	return nil
}

func titleRemoveField(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "remove a field"
	}
	return fmt.Sprintf("%s.%s is removed", e.Name, f.Name)
}

// enumerateMakeOptional offers required fields that are no references; one stays required.
func enumerateMakeOptional(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if e.requiredFields() < 2 {
			continue
		}
		for j := range e.Fields {
			if e.Fields[j].Required && e.Fields[j].Type != Ref {
				x.add(map[string]string{"field": e.Fields[j].UID})
			}
		}
	}
}

// applyMakeOptional makes the field nullable as well, since it is null when missing.
func applyMakeOptional(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if !f.Required {
		return fmt.Errorf("%s.%s is optional already", e.Name, f.Name)
	}
	f.Required, f.Nullable = false, true
	return nil
}

func titleMakeOptional(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "make a field optional"
	}
	return fmt.Sprintf("%s.%s is now optional", e.Name, f.Name)
}
