package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// namePrefixes make another name of a noun for which the vocabulary has none.
func namePrefixes() []string { return []string{"registered_", "listed_", "recorded_"} }

// enumerateRenameEntity offers other names for every entity.
func enumerateRenameEntity(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		for _, prefix := range namePrefixes() {
			base, plural := e.Name, e.Plural
			for _, old := range namePrefixes() {
				base, plural = strings.TrimPrefix(base, old), strings.TrimPrefix(plural, old)
			}
			x.offerName(e, prefix+base, prefix+plural)
		}
	}
}

func (x *enumeration) offerName(e *Entity, name, plural string) {
	if x.s.nounFree(noun{name: name, plural: plural}) {
		x.add(map[string]string{"entity": e.UID, "name": name, "plural": plural})
	}
}

// applyRenameEntity renames the collection. The names of references and analytics stay; lists of its rows under another
// collection follow its path.
func applyRenameEntity(s *Schema, p map[string]string) error {
	e := s.Entity(p["entity"])
	if e == nil || !s.nounFree(noun{name: p["name"], plural: p["plural"]}) {
		return fmt.Errorf("no entity %q or name %q is not free", p["entity"], p["plural"])
	}
	s.buryName(GoneEntity, e.UID, e.UID, e.Plural, "")
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Nested {
			s.buryName(GoneNested, f.Target, f.UID, e.Plural, "")
		}
	}
	e.Name, e.Plural = p["name"], p["plural"]
	return nil
}

func titleRenameEntity(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	if e == nil {
		return "rename a collection"
	}
	return fmt.Sprintf("/%s is now /%s", e.Plural, p["plural"])
}

// minEntities is how many collections stay when others are removed.
const minEntities = 3

// enumerateRemoveEntity offers collections that no analytics endpoint is about and to which no required reference and no
// reference that something is built on leads.
func enumerateRemoveEntity(x *enumeration) {
	if len(x.s.Entities) <= minEntities {
		return
	}
	for i := range x.s.Entities {
		if e := &x.s.Entities[i]; x.s.removable(e) {
			x.add(map[string]string{"entity": e.UID})
		}
	}
}

func (s *Schema) removable(e *Entity) bool {
	if slices.ContainsFunc(s.Analytics, func(a Analytics) bool { return a.Entity == e.UID }) {
		return false
	}
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Type == Ref && s.usedOutside(e.UID, f.UID) {
			return false
		}
	}
	lost := make(map[string]int)
	for _, f := range s.Inbound(e.UID) {
		owner, _ := s.FieldByUID(f.UID)
		if lost[owner.UID]++; f.Required || len(owner.Fields)-lost[owner.UID] < 2 || s.usedOutside(e.UID, f.UID) {
			return false
		}
	}
	// Effects and guards of others reach this entity by references only, which were looked at.
	return true
}

// applyRemoveEntity removes the collection and the references to it. Former names of its parts need no mention any more.
func applyRemoveEntity(s *Schema, p map[string]string) error {
	e := s.Entity(p["entity"])
	if e == nil || !s.removable(e) {
		return fmt.Errorf("no entity %q that can be removed", p["entity"])
	}
	uid, plural := e.UID, e.Plural
	s.Tombstones = slices.DeleteFunc(s.Tombstones, func(t Tombstone) bool { return t.Entity == uid && t.Kind != GoneEntity })
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Nested {
			s.buryName(GoneNested, f.Target, f.UID, plural, "")
		}
	}
	var inbound []string // dropping a field moves the others
	for _, f := range s.Inbound(uid) {
		inbound = append(inbound, f.UID)
	}
	for _, f := range inbound {
		s.dropField(f)
	}
	s.buryName(GoneEntity, uid, uid, plural, "")
	s.Entities = slices.DeleteFunc(s.Entities, func(o Entity) bool { return o.UID == uid })
	return nil
}

// dropField removes a field and buries its name.
func (s *Schema) dropField(uid string) {
	e, f := s.FieldByUID(uid)
	s.bury(e, f)
	e.Fields = slices.DeleteFunc(e.Fields, func(o Field) bool { return o.UID == uid })
}

func titleRemoveEntity(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	if e == nil {
		return "remove a collection"
	}
	return fmt.Sprintf("/%s is removed", e.Plural)
}
