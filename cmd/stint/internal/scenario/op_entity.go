package scenario

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// enumerateAddEntity offers every noun of the domain that is not in use.
func enumerateAddEntity(x *enumeration) {
	if len(x.s.Entities) >= MaxEntities {
		return
	}
	for _, n := range x.words.nouns {
		if !x.s.nounFree(n) {
			continue
		}
		r := x.stream(n.name)
		e := drawEntity(r, x.words, n, "e"+strconv.Itoa(x.s.NextEntity+1))
		if chance(r, 0.4) {
			target := &x.s.Entities[r.IntN(len(x.s.Entities))]
			if e.FieldByName(target.Name+"_id") == nil {
				e.Fields = append(e.Fields, drawRef(r, target, e.nextUID()))
				e.NextField++
			}
		}
		x.add(map[string]string{"entity": marshal(e)})
	}
}

func (s *Schema) nounFree(n noun) bool {
	for i := range s.Entities {
		e := &s.Entities[i]
		if e.Name == n.name || e.Plural == n.plural || e.Name == n.plural || e.Plural == n.name {
			return false
		}
	}
	return checkName(n.name) == nil && checkName(n.plural) == nil && !s.buried(GoneEntity, "", n.plural) && !s.buried(GoneEntity, "", n.name)
}

func (e *Entity) nextUID() string { return e.UID + ".f" + strconv.Itoa(e.NextField+1) }

// drawEntity draws an entity with three to five fields. The first is required, so that an empty object is
// never a valid one; at least one is optional.
func drawEntity(r *rand.Rand, words *domain, n noun, uid string) Entity {
	e := Entity{UID: uid, Name: n.name, Plural: n.plural}
	suited := words.attributesFor(n.kind)
	count := min(3+r.IntN(3), len(suited))
	order := r.Perm(len(suited))
	// A name or title first, if the draw has a string near the front: rows without any text read oddly.
	for i, at := range order {
		if suited[at].typ == String {
			order[0], order[i] = order[i], order[0]
			break
		}
	}
	for i := 0; len(e.Fields) < count && i < len(order); i++ {
		a := suited[order[i]]
		if e.FieldByName(a.name) != nil {
			continue
		}
		required := len(e.Fields) == 0 || len(e.Fields) != 1 && chance(r, 0.4)
		f := drawField(r, a, required)
		f.UID = e.nextUID()
		e.NextField++
		e.Fields = append(e.Fields, f)
	}
	return e
}

func applyAddEntity(s *Schema, p map[string]string) error {
	e, err := entityFrom(p)
	if err != nil {
		return err
	}
	if want := "e" + strconv.Itoa(s.NextEntity+1); e.UID != want {
		return fmt.Errorf("new entity has uid %q, next is %q", e.UID, want)
	}
	s.NextEntity++
	s.Entities = append(s.Entities, e)
	return nil
}

func entityFrom(p map[string]string) (Entity, error) {
	return read[Entity](p, "entity", "the new entity")
}

func titleAddEntity(_ *Schema, p map[string]string) string {
	e, err := entityFrom(p)
	if err != nil {
		return "new entity"
	}
	return "new: " + human(e.Plural)
}
