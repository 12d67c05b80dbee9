package suite

import (
	"encoding/json"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// side says on which side of an order a field is.
type side int

const (
	noSide side = iota
	lowSide
	highSide
)

// learnPairs notes which fields need other values in every row, and which stay below or above another.
func (g *generator) learnPairs() {
	g.carriers, g.sides = map[string]bool{}, map[string]side{}
	for i := range g.schema.Entities {
		e := &g.schema.Entities[i]
		for _, p := range e.Groups {
			g.carriers[p.Fields[0]] = true
		}
		for _, o := range e.Orders {
			g.sides[o.Low], g.sides[o.High] = lowSide, highSide
		}
	}
}

// distinct reports whether the field has another value in every row of a suite.
func (g *generator) distinct(f *scenario.Field) bool { return f.Unique || g.carriers[f.UID] }

// pairChecks makes the checks of one clause about two fields.
func (g *generator) pairChecks(c *scenario.Clause) {
	e, group, order := g.schema.PairByUID(c.Subject)
	field := func(uid string) *scenario.Field { _, f := g.schema.FieldByUID(uid); return f }
	switch {
	case group != nil:
		p := &pair{g: g, c: c, e: e, first: field(group.Fields[0]), second: field(group.Fields[1])}
		p.unique()
		p.uniqueChange()
	case order != nil:
		p := &pair{g: g, c: c, e: e, first: field(order.Low), second: field(order.High)}
		p.ordered()
	}
}

// pair is two fields that a clause is about: of a group, or low and high of an order.
type pair struct {
	g             *generator
	c             *scenario.Clause
	e             *scenario.Entity
	first, second *scenario.Field
}

func (p *pair) check(variant, title, category, intent, mutation string, build func(d *draft)) {
	p.g.check(p.c, Own, about{variant, p.e.Name + "." + p.first.Name + " and " + p.second.Name + ": " + title, category, intent, mutation}, build)
}

// mine asserts the status and both values.
func (p *pair) mine(status int) sent {
	return sent{status: status, match: Subset, keys: []string{p.first.Name, p.second.Name}, entity: p.e}
}

func (p *pair) body(d *draft, name string) body { return d.with(p.e, name, p.first, p.second) }

func (p *pair) unique() {
	first, second := p.first.Name, p.second.Name
	p.check("create", "POST with a pair in use is refused", "unique", "reject", "unique", func(d *draft) {
		a := p.body(d, "a")
		d.make(p.e, "a", a)
		d.send("POST", collection(p.e), p.body(d, "b").but(first, a[first]).but(second, a[second]), sent{status: 409, code: "unique", entity: p.e})
	})
	p.check("first", "the first alone may be the same", "unique", "accept", "none", func(d *draft) {
		a := p.body(d, "a")
		d.make(p.e, "a", a)
		d.send("POST", collection(p.e), p.body(d, "b").but(first, a[first]).but(second, d.other(p.second, "b", a)), p.mine(201))
	})
	p.check("second", "the second alone may be the same", "unique", "accept", "none", func(d *draft) {
		a := p.body(d, "a")
		d.make(p.e, "a", a)
		d.send("POST", collection(p.e), p.body(d, "b").but(second, a[second]), p.mine(201))
	})
	p.check("self_patch", "PATCH may repeat the row's own values", "unique", "accept", "none", func(d *draft) {
		a := p.body(d, "a")
		d.make(p.e, "a", a)
		d.send("PATCH", item(p.e, "a"), body{first: a[first], second: a[second]}, p.mine(200))
	})
	p.check("self_put", "PUT may repeat the row's own values", "unique", "accept", "none", func(d *draft) {
		a := p.body(d, "a")
		d.make(p.e, "a", a)
		d.send("PUT", item(p.e, "a"), a, p.mine(200))
	})
	empty := p.first
	if !empty.Nullable {
		empty = p.second
	}
	if !empty.Nullable {
		return
	}
	p.check("nulls", "rows in which one is null are never the same", "unique", "accept", "none", func(d *draft) {
		a := p.body(d, "a").but(empty.Name, nil)
		d.make(p.e, "a", a)
		d.send("POST", collection(p.e), p.body(d, "b").but(first, a[first]).but(second, a[second]), p.mine(201))
	})
}

// uniqueChange checks that no change leads to a pair in use. Row b differs from a in one field that can change.
func (p *pair) uniqueChange() {
	differs := p.first
	if differs.Immutable {
		differs = p.second
	}
	if differs.Immutable {
		return
	}
	rows := func(d *draft) (a, b body) {
		a, b = p.body(d, "a"), p.body(d, "b")
		if differs == p.first {
			b = b.but(p.second.Name, a[p.second.Name])
		} else {
			b = b.but(p.first.Name, a[p.first.Name]).but(p.second.Name, d.other(p.second, "b", a))
		}
		d.make(p.e, "a", a)
		d.make(p.e, "b", b)
		return a, b
	}
	twice := sent{status: 409, code: "unique", entity: p.e}
	p.check("patch", "PATCH to a pair in use is refused", "unique", "reject", "unique", func(d *draft) {
		a, _ := rows(d)
		d.send("PATCH", item(p.e, "b"), body{differs.Name: a[differs.Name]}, twice)
	})
	p.check("put", "PUT with a pair in use is refused", "unique", "reject", "unique", func(d *draft) {
		a, b := rows(d)
		d.send("PUT", item(p.e, "b"), b.but(differs.Name, a[differs.Name]), twice)
	})
}

// ordered checks both sides of the limit that one field is to the other.
func (p *pair) ordered() {
	low, high := p.first, p.second
	no := sent{status: 400, code: "order", field: high.Name, entity: p.e}
	p.check("above", "one step above is refused", "order", "reject", "range", func(d *draft) {
		b := p.body(d, "a")
		d.send("POST", collection(p.e), b.but(low.Name, beside(high, b[high.Name], 1)), no)
	})
	p.check("equal", "equal values are accepted", "order", "accept", "none", func(d *draft) {
		b := p.body(d, "a")
		d.send("POST", collection(p.e), b.but(low.Name, b[high.Name]), p.mine(201))
	})
	if !low.Immutable {
		p.check("patch_low", "PATCH of "+low.Name+" above is refused", "order", "reject", "range", func(d *draft) {
			b := p.body(d, "a")
			d.make(p.e, "a", b)
			d.send("PATCH", item(p.e, "a"), body{low.Name: beside(high, b[high.Name], 1)}, no)
		})
	}
	if !high.Immutable {
		p.check("patch_high", "PATCH of "+high.Name+" below is refused", "order", "reject", "range", func(d *draft) {
			b := p.body(d, "a")
			d.make(p.e, "a", b)
			d.send("PATCH", item(p.e, "a"), body{high.Name: beside(low, b[low.Name], -1)}, no)
		})
	}
	if low.Immutable && high.Immutable {
		return
	}
	p.check("put", "PUT in the wrong order is refused", "order", "reject", "range", func(d *draft) {
		b := p.body(d, "a")
		d.make(p.e, "a", b)
		wrong := b.but(low.Name, beside(high, b[high.Name], 1))
		if low.Immutable {
			wrong = b.but(high.Name, beside(low, b[low.Name], -1))
		}
		d.send("PUT", item(p.e, "a"), wrong, no)
	})
}

// beside is the value so many steps (1, 0.01, a day, a second) from v.
func beside(f *scenario.Field, v any, steps int64) any {
	var n int64
	switch x := v.(type) {
	case int64:
		n = x
	case json.Number:
		n = hundredthsOf(x)
	case string:
		if f.Type == scenario.Date {
			n, _ = scenario.ParseDate(x) // the generator's own value
		} else {
			n, _ = scenario.ParseDatetime(x)
		}
	}
	return f.JSON(&scenario.Value{Int: n + steps})
}

// hundredthsOf reads what [scenario.FormatDecimal] wrote.
func hundredthsOf(n json.Number) int64 {
	x, err := n.Float64()
	if err != nil {
		return 0
	}
	if x < 0 {
		return int64(x*100 - 0.5)
	}
	return int64(x*100 + 0.5)
}

// kept is b for a PUT to a row that was made from old: what can not change stays as it is there.
func (d *draft) kept(e *scenario.Entity, b, old body) body {
	for i := range e.Fields {
		f := &e.Fields[i]
		if !f.Immutable {
			continue
		}
		if v, given := old[f.Name]; given {
			b = b.but(f.Name, v)
		} else {
			b = b.without(f.Name)
		}
	}
	return b
}

// immutable checks that no request changes the value and that repeating it or leaving it out is fine.
func (t *target) immutable() {
	name := t.f.Name
	fixed := t.no(409, "immutable")
	t.check("patch", "PATCH to another value is refused", "immutable", "reject", "guard", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		next := body{name: d.other(t.f, "b", b)}
		d.make(t.e, "a", b)
		d.send("PATCH", item(t.e, "a"), next, fixed)
	})
	t.check("put", "PUT with another value is refused", "immutable", "reject", "guard", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		next := b.but(name, d.other(t.f, "b", b))
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), next, fixed)
	})
	t.check("patch_same", "PATCH may repeat the stored value", "immutable", "accept", "none", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("PATCH", item(t.e, "a"), body{name: b[name]}, t.mine(200))
	})
	t.check("put_same", "PUT may repeat the stored value", "immutable", "accept", "none", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), b, t.mine(200))
	})
	t.check("put_omitted", "PUT without it keeps the stored value", "immutable", "effect", "none", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("PUT", item(t.e, "a"), b.without(name), t.mine(200))
	})
	if t.f.Nullable {
		t.check("null", "PATCH to null is refused", "immutable", "reject", "guard", func(d *draft) {
			d.make(t.e, "a", d.with(t.e, "a", t.f))
			d.send("PATCH", item(t.e, "a"), body{name: nil}, fixed)
		})
	}
}

// pattern checks a text of the form and texts that miss it by one character.
func (t *target) pattern() {
	p := t.f.Pattern
	right := scenario.PatternValue(p, int64(clauseNumber(t.c.ID))*7919+123457)
	t.accepted("accept", right, "pattern", right+" is accepted")
	no := func(variant, text string) {
		t.refused(variant, text, "pattern", "pattern", text+" is refused", "length")
	}
	no("long", right+right[len(right)-1:])
	no("front", right[:1]+right)
	no("short", right[:len(right)-1])
	if at := slices.Index([]byte(p), 'A'); at >= 0 {
		b := []byte(right)
		b[at] += 'a' - 'A'
		no("lower", string(b))
	}
	other := []byte(right)
	last := len(other) - 1
	if p[last] == 'A' {
		other[last] = '5'
	} else {
		other[last] = 'W'
	}
	no("class", string(other))
	t.refusedChange("patch_other", string(other), "pattern", "pattern", "PATCH to "+string(other)+" is refused", "length")
	t.refusedReplace("put_other", string(other), "pattern", "pattern", "PUT with "+string(other)+" is refused", "length")
}

// freed checks that what a rule forbade which is gone now is fine: a service that kept the rule fails here.
func (t *target) freed() {
	was, turn := t.g.freedFrom(t.f)
	if was == nil || t.g.sides[t.f.UID] != noSide {
		return
	}
	v, ok := freedValue(was, t.f, t.c)
	if !ok {
		return
	}
	t.check("freed", plainText(v)+", which was refused before, is accepted", "type", "accept", "none", func(d *draft) {
		d.send("POST", collection(t.e), d.with(t.e, "a", t.f).but(t.f.Name, v), t.mine(201))
		d.changedAt(turn)
	})
}

// again checks that a value may occur twice where it once had to be unique.
func (t *target) again() {
	turn := 0
	for i, st := range t.g.earlier {
		if _, was := st.Schema.FieldByUID(t.f.UID); was != nil && was.Unique {
			turn = i + 1
		}
	}
	if turn == 0 || t.g.distinct(t.f) {
		return
	}
	t.check("again", "a value may occur twice", "type", "accept", "none", func(d *draft) {
		b := d.with(t.e, "a", t.f)
		d.make(t.e, "a", b)
		d.send("POST", collection(t.e), d.with(t.e, "b", t.f).but(t.f.Name, b[t.f.Name]), t.mine(201))
		d.changedAt(turn)
	})
}

// changedAt marks a check as changed if what it is about ended in this turn.
func (d *draft) changedAt(turn int) { d.loosened = turn == d.g.turn }

// freedFrom is the field as it was when it last had limits that it has no more, and the turn in which they ended.
func (g *generator) freedFrom(f *scenario.Field) (was *scenario.Field, turn int) {
	for i := len(g.earlier) - 1; i >= 0; i-- {
		_, old := g.earlier[i].Schema.FieldByUID(f.UID)
		if old == nil || old.Type != f.Type {
			return nil, 0
		}
		limits := (old.Min != nil || old.Max != nil) && f.Min == nil && f.Max == nil
		lengths := (old.MinLen != nil || old.MaxLen != nil) && f.MinLen == nil && f.MaxLen == nil
		if limits || lengths || old.Pattern != "" && f.Pattern == "" {
			return old, i + 1
		}
	}
	return nil, 0
}

// freedValue is a value that only the former limits refuse.
func freedValue(was, now *scenario.Field, c *scenario.Clause) (any, bool) {
	var candidates []scenario.Value
	if was.Min != nil {
		candidates = append(candidates, scenario.Value{Int: *was.Min - 1})
	}
	if was.Max != nil {
		candidates = append(candidates, scenario.Value{Int: *was.Max + 1})
	}
	token := c.ID[1:] + "z"
	if was.MaxLen != nil {
		candidates = append(candidates, scenario.Value{Str: stringOfLength(*was.MaxLen+1, token)})
	}
	if was.MinLen != nil && *was.MinLen > 1 {
		candidates = append(candidates, scenario.Value{Str: stringOfLength(*was.MinLen-1, token)})
	}
	if was.Pattern != "" {
		candidates = append(candidates, scenario.Value{Str: "free-form-" + token})
	}
	for _, v := range candidates {
		if !was.Allows(v) && now.Allows(v) {
			return now.JSON(&v), true
		}
	}
	return nil, false
}
