package scenario

import "math"

// TargetSize is how many requests a careful check of everything should take after so many changes. Without a curve, chance
// alone would make one scenario thrice as long as another, and late turns of all of them too long to grade.
func TargetSize(turn int) float64 { return 250 + 16*float64(turn) }

// sizePull is how strongly the sampler leans towards the curve: the weight of an operation that grows a schema by as much
// as a new collection changes by a factor of e to this power when the schema is a third too small or too large.
const sizePull = 3

// ExpectedSize estimates how many requests a careful check of the schema takes: for every clause a few situations of its
// kind, in each of which the rows must exist that a row refers to.
func (s *Schema) ExpectedSize() float64 {
	parents := make(map[string]float64, len(s.Entities))
	sum := 0.0
	for i := range s.Entities {
		// The store that lists and figures are asked of has a few rows of everything.
		sum += 3 + parentRows(s, s.Entities[i].UID, parents)
	}
	for _, c := range s.Clauses {
		situations, requests := effort(c.Kind)
		sum += requests + situations*parents[ownerOf(c.Subject)]
	}
	return sum
}

// parentRows is how many rows must be made before one of the entity can be: those that its required references need.
func parentRows(s *Schema, uid string, known map[string]float64) float64 {
	if n, ok := known[uid]; ok {
		return n
	}
	e := s.Entity(uid)
	n := 0.0
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Type == Ref && f.Required {
			n += 1 + parentRows(s, f.Target, known)
		}
	}
	known[uid] = n
	return n
}

// ownerOf is the uid of the entity in the uid of a field or part.
func ownerOf(uid string) string {
	for i := range uid {
		if uid[i] == '.' {
			return uid[:i]
		}
	}
	return uid
}

// effort is how many situations a clause is checked in and how many requests they take, on the average over many schemas.
func effort(k Kind) (situations, requests float64) {
	switch k {
	case KindType:
		return 6, 9
	case KindEnum, KindRange, KindLength:
		return 5, 7.5
	case KindPattern:
		return 8, 10
	case KindUnique, KindImmutable:
		return 6, 13
	case KindGroup, KindTransition, KindAction:
		return 7, 18
	case KindOrder, KindState, KindComputed, KindGuard, KindEffect:
		return 4, 9
	case KindRefExists:
		return 4, 8
	case KindOnDelete:
		return 2, 8
	case KindAtomic:
		return 3, 8
	case KindDelete, KindExactKeys:
		return 4, 10
	case KindNotFound, KindCreate:
		return 3, 4
	case KindReplace, KindUpdate, KindGone:
		return 2, 5.5
	case KindAnalytics, KindList, KindFilter, KindSort, KindDefaultSort, KindNested:
		return 0, 3
	case KindPage:
		return 0, 8
	case KindHealth:
		return 0, 1
	}
	return 2, 3
}

// growth says by how much an operation makes a schema larger, with a new collection as the unit. Operations that are not
// named change little.
func growth(operation string) float64 {
	switch operation {
	case "add_entity":
		return 1
	case "remove_entity":
		return -1
	case "add_relation", "make_relation_required":
		return 0.7
	case "add_state_machine":
		return 0.5
	case "add_optional_field", "add_required_field", "add_custom_action", "add_unique_group":
		return 0.3
	case "remove_field", "make_relation_optional", "remove_relation", "drop_unique", "remove_transition":
		return -0.3
	case "add_transition", "make_immutable", "make_unique", "set_pattern", "rename_entity", "add_computed":
		return 0.2
	case "rename_field", "set_range", "set_length", "add_guard", "add_effect", "add_field_order_rule", "add_pagination":
		return 0.1
	}
	return 0
}

// shortage says how far a schema is from the curve, in thirds of the size that it should have: from -2, far too large, to 2.
func shortage(s *Schema, turn int) float64 {
	want := TargetSize(turn)
	return max(-2, min(2, (want-s.ExpectedSize())/(want/3)))
}

// lean is the factor of an operation's weight that brings the schema back to the curve.
func lean(shortage float64, operation string) float64 {
	return math.Exp(sizePull * shortage * growth(operation))
}
