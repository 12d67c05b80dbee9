package scenario

import (
	"errors"
	"fmt"
	"slices"
)

// tied reports whether a group or an order of the entity has the field.
func (e *Entity) tied(uid string) bool { return e.ordered(uid) || e.grouped(uid) }

// ordered reports whether an order is about the field.
func (e *Entity) ordered(uid string) bool {
	return slices.ContainsFunc(e.Orders, func(o Order) bool { return o.Low == uid || o.High == uid })
}

// grouped reports whether a group is about the field.
func (e *Entity) grouped(uid string) bool {
	return slices.ContainsFunc(e.Groups, func(g Group) bool { return slices.Contains(g.Fields[:], uid) })
}

// PairByUID returns the group or the order with this uid and its entity; the others are nil.
func (s *Schema) PairByUID(uid string) (*Entity, *Group, *Order) {
	for i := range s.Entities {
		e := &s.Entities[i]
		for j := range e.Groups {
			if e.Groups[j].UID == uid {
				return e, &e.Groups[j], nil
			}
		}
		for j := range e.Orders {
			if e.Orders[j].UID == uid {
				return e, nil, &e.Orders[j]
			}
		}
	}
	return nil, nil, nil
}

// pairRequirements appends what groups and orders demand.
func (e *Entity) pairRequirements(reqs []requirement) []requirement {
	for _, g := range e.Groups {
		reqs = append(reqs, requirement{clauseKey{KindGroup, g.UID}, "fields=" + g.Fields[0] + "," + g.Fields[1]})
	}
	for _, o := range e.Orders {
		reqs = append(reqs, requirement{clauseKey{KindOrder, o.UID}, "low=" + o.Low + ";high=" + o.High})
	}
	return reqs
}

// checkPairs checks the groups and orders of an entity. The first field of a group could be unique by itself, so that the
// rows of a group never run out of pairs; no field is in two groups. The fields of an order have no other rule that two
// values of it could break.
func (e *Entity) checkPairs() error {
	own := func(uid string) *Field {
		if f := e.field(uid); f != nil && !f.Managed() {
			return f
		}
		return nil
	}
	for i, g := range e.Groups {
		first, second := own(g.Fields[0]), own(g.Fields[1])
		if first == nil || second == nil || first == second {
			return fmt.Errorf("group %s is not about two fields of the entity", g.UID)
		}
		carrier := *first
		carrier.Unique = true
		if err := carrier.validate(); err != nil {
			return fmt.Errorf("group %s: %s: %w", g.UID, first.Name, err)
		}
		if first.Unique || second.Unique {
			return fmt.Errorf("group %s holds a field that is unique by itself", g.UID)
		}
		if slices.ContainsFunc(e.Groups[:i], func(o Group) bool {
			return slices.Contains(o.Fields[:], g.Fields[0]) || slices.Contains(o.Fields[:], g.Fields[1])
		}) {
			return fmt.Errorf("group %s holds a field of another", g.UID)
		}
		if e.ordered(first.UID) {
			return fmt.Errorf("group %s: %s is in an order", g.UID, first.Name)
		}
	}
	var used []string
	for _, o := range e.Orders {
		low, high := own(o.Low), own(o.High)
		if low == nil || high == nil || low == high {
			return fmt.Errorf("order %s is not about two fields of the entity", o.UID)
		}
		for _, f := range []*Field{low, high} {
			if err := f.checkOrdered(); err != nil {
				return fmt.Errorf("order %s: %s: %w", o.UID, f.Name, err)
			}
			if slices.Contains(used, f.UID) {
				return fmt.Errorf("order %s: %s is in another order", o.UID, f.Name)
			}
			used = append(used, f.UID)
		}
		if low.Type != high.Type {
			return fmt.Errorf("order %s compares %s with %s", o.UID, low.Type, high.Type)
		}
	}
	return nil
}

func (f *Field) checkOrdered() error {
	switch f.Type {
	case Integer, Decimal, Date, Datetime:
	default:
		return fmt.Errorf("type %s has no order", f.Type)
	}
	if f.Min != nil || f.Max != nil || f.Default != nil || f.Unique {
		return errors.New("ordered with a range, a default or a rule of uniqueness")
	}
	return nil
}

// enumerateAddGroup offers, for every field that could be unique, two partners.
func enumerateAddGroup(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if len(e.Groups) >= maxPairs {
			continue
		}
		for j := range e.Fields {
			first := &e.Fields[j]
			if e.grouped(first.UID) || x.s.steered(first.UID) {
				continue
			}
			order := x.stream(first.UID).Perm(len(e.Fields))
			found := 0
			for _, at := range order {
				second := &e.Fields[at]
				g := Group{UID: e.nextPart(), Fields: [2]string{first.UID, second.UID}}
				if found == 2 || x.s.steered(second.UID) || !e.takesGroup(g) {
					continue
				}
				found++
				x.add(map[string]string{"entity": e.UID, "group": marshal(g)})
			}
		}
	}
}

// maxPairs is how many groups, and how many orders, an entity may have.
const maxPairs = 2

func (e *Entity) takesGroup(g Group) bool {
	c := *e
	c.Groups = append(append([]Group(nil), e.Groups...), g)
	return c.checkPairs() == nil
}

func applyAddGroup(s *Schema, p map[string]string) error {
	e, g, err := partFrom[Group](s, p, "group")
	if err != nil {
		return err
	}
	if err := e.givePart("group", g.UID); err != nil {
		return err
	}
	e.Groups = append(e.Groups, g)
	return nil
}

// partFrom reads a new part of an entity.
func partFrom[T Group | Order](s *Schema, p map[string]string, key string) (e *Entity, part T, err error) {
	if e = s.Entity(p["entity"]); e == nil {
		return nil, part, fmt.Errorf("no entity %q", p["entity"])
	}
	part, err = read[T](p, key, "the new "+key)
	return e, part, err
}

func titleAddGroup(s *Schema, p map[string]string) string {
	e, g, err := partFrom[Group](s, p, "group")
	if err != nil {
		return "unique pair"
	}
	return fmt.Sprintf("%s: %s and %s unique together", e.Name, s.fieldName(g.Fields[0]), s.fieldName(g.Fields[1]))
}

// fieldName is the public name of a field, or "" for an unknown uid.
func (s *Schema) fieldName(uid string) string {
	if _, f := s.FieldByUID(uid); f != nil {
		return f.Name
	}
	return ""
}

// enumerateAddOrder offers every two fields of one type that can be compared, the way round that makes more sense.
func enumerateAddOrder(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if len(e.Orders) >= maxPairs {
			continue
		}
		for j := range e.Fields {
			for k := range j {
				low, high := &e.Fields[k], &e.Fields[j]
				if x.place(e, high) < x.place(e, low) {
					low, high = high, low
				}
				if low.Type != high.Type || x.s.steered(low.UID) || x.s.steered(high.UID) {
					continue
				}
				o := Order{UID: e.nextPart(), Low: low.UID, High: high.UID}
				c := *e
				c.Orders = append(append([]Order(nil), e.Orders...), o)
				if c.checkPairs() == nil {
					x.add(map[string]string{"entity": e.UID, "order": marshal(o)})
				}
			}
		}
	}
}

// place is where a field belongs among others of its type: days and moments come in the order in which the vocabulary
// tells them, numbers by how large they usually get.
func (x *enumeration) place(e *Entity, f *Field) int64 {
	if f.Type == Integer || f.Type == Decimal {
		_, high := sensible(x.hint(e, f))
		return high
	}
	return int64(slices.IndexFunc(x.words.attributes, func(a attribute) bool {
		return a.typ == f.Type && (a.name == f.Name || a.alias == f.Name)
	}))
}

func applyAddOrder(s *Schema, p map[string]string) error {
	e, o, err := partFrom[Order](s, p, "order")
	if err != nil {
		return err
	}
	if err := e.givePart("order", o.UID); err != nil {
		return err
	}
	e.Orders = append(e.Orders, o)
	return nil
}

func titleAddOrder(s *Schema, p map[string]string) string {
	e, o, err := partFrom[Order](s, p, "order")
	if err != nil {
		return "order of two fields"
	}
	return fmt.Sprintf("%s: %s not above %s", e.Name, s.fieldName(o.Low), s.fieldName(o.High))
}

// pairPhrase writes title and sentence of the clause of a group or an order.
func (s *Schema) pairPhrase(subject string) (title, text string) {
	e, g, o := s.PairByUID(subject)
	switch {
	case g != nil:
		a, b := s.fieldName(g.Fields[0]), s.fieldName(g.Fields[1])
		return fmt.Sprintf("%s.%s and %s are unique together", e.Name, a, b), fmt.Sprintf("No two %s may have both the same %s and the same %s; one of the two alone may be the "+
			"same. A `POST`, `PUT` or `PATCH` that would lead to such a pair is refused: 409 with code `unique` and field null. %s may keep its own values, and %s in which one of "+
			"the two is null is never the same as another.", human(e.Plural), code(a), code(b), capital(article(human(e.Name))), article(human(e.Name)))
	case o != nil:
		_, low := s.FieldByUID(o.Low)
		_, high := s.FieldByUID(o.High)
		if low == nil || high == nil {
			return "", ""
		}
		than, less := "greater than", "less than"
		if low.Type == Date || low.Type == Datetime {
			than, less = "later than", "earlier than"
		}
		return fmt.Sprintf("%s.%s is not %s %s", e.Name, high.Name, less, low.Name), fmt.Sprintf("%s of %s may not be %s its %s; equal values are fine. This holds for the "+
			"values that %s would have after a `POST`, `PUT` or `PATCH`, whichever of the two the request contains, and only when neither is null. Otherwise: %s.",
			code(low.Name), article(human(e.Name)), than, code(high.Name), article(human(e.Name)), refusal(400, "order", high))
	}
	return "", ""
}
