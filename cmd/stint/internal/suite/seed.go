package suite

import (
	"fmt"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Sizes of the seeded world. An entity with analytics has more rows, so that wrong definitions show, and a number
// of its own, so that counting another entity shows.
const (
	plainRows    = 3
	countedRows  = 6
	seedAttempts = 40
)

// seedCount is how many rows an entity has in W0.
func (g *generator) seedCount(e *scenario.Entity) int {
	used := map[int]bool{}
	for i := range g.schema.Entities {
		o := &g.schema.Entities[i]
		if len(g.statsOf(o.UID)) == 0 {
			continue
		}
		n := countedRows
		for j := range o.Fields {
			n = max(n, 2*len(g.filtered(&o.Fields[j])))
		}
		for used[n] {
			n++
		}
		used[n] = true
		if o.UID == e.UID {
			return n
		}
	}
	return plainRows
}

func (g *generator) statsOf(entity string) []*scenario.Analytics {
	var stats []*scenario.Analytics
	for i := range g.schema.Analytics {
		if a := &g.schema.Analytics[i]; a.Entity == entity {
			stats = append(stats, a)
		}
	}
	return stats
}

// filtered lists the values of an enum that seeded rows take in turn: those that analytics ask for and one more,
// or all if none is asked for.
func (g *generator) filtered(f *scenario.Field) []string {
	asked := map[string]bool{}
	for i := range g.schema.Analytics {
		if a := &g.schema.Analytics[i]; a.Where == f.UID && a.Equals != nil {
			asked[a.Equals.Str] = true
		}
	}
	if len(asked) == 0 {
		return f.Values
	}
	var values []string
	more := true
	for _, v := range f.Values {
		if asked[v] || more {
			values = append(values, v)
			more = more && asked[v]
		}
	}
	return values
}

// seedRows draws the rows of W0, plays them on the oracle of that world and returns the steps. Entities come in
// an order in which their references exist.
func (g *generator) seedRows() []Step {
	var steps []Step
	var sets []*seedSet
	for _, e := range g.targetsFirst() {
		sets = append(sets, g.seedEntity(e, sets))
	}
	for _, s := range sets {
		if s != nil {
			steps = append(steps, s.steps...)
		}
	}
	return steps
}

// seedSet is what one entity has in W0.
type seedSet struct{ steps []Step }

// seedEntity seeds one entity so that every wrong definition of its analytics shows: it draws again until the
// analytics differ from all that the oracle's faults would answer, and takes the best draw if none does.
func (g *generator) seedEntity(e *scenario.Entity, before []*seedSet) *seedSet {
	stats := g.statsOf(e.UID)
	attempts := 1
	if len(stats) > 0 {
		attempts = seedAttempts
	}
	best, least := 0, -1
	for n := 0; n < attempts && least != 0; n++ {
		d := g.seedDraft(e, n, oracle.New(g.schema), before)
		if d.err != nil {
			g.err = d.err
			return nil
		}
		if blind := g.blind(stats, before, d.check.Steps); least < 0 || blind < least {
			best, least = n, blind
		}
	}
	d := g.seedDraft(e, best, g.seeded, nil)
	if d.err != nil {
		g.err = d.err
		return nil
	}
	for name, r := range d.rows {
		g.rows[name] = r
	}
	return &seedSet{d.check.Steps}
}

// blind counts the faults of these analytics that the seeded rows do not show.
func (g *generator) blind(stats []*scenario.Analytics, before []*seedSet, steps []Step) int {
	n := 0
	for _, a := range stats {
		c := g.schema.ClauseOf(scenario.KindAnalytics, a.UID)
		if c == nil {
			continue
		}
		right := text(g.answer(a, before, steps))
		if a.Kind == "count" && g.otherCount(a.Entity, right) {
			n++
		}
		for _, f := range oracle.FaultsFor(g.schema, nil, *c) {
			if f.Param != "empty" && text(g.answer(a, before, steps, f)) == right {
				n++
			}
		}
	}
	return n
}

// otherCount says whether another entity has so many rows.
func (g *generator) otherCount(entity, value string) bool {
	for i := range g.schema.Entities {
		e := &g.schema.Entities[i]
		if e.UID != entity && value == fmt.Sprintf(`{"value":%d}`, g.seedCount(e)) {
			return true
		}
	}
	return false
}

// answer is what an analytics endpoint says over some seeded rows, with faults or without.
func (g *generator) answer(a *scenario.Analytics, before []*seedSet, steps []Step, faults ...oracle.Fault) any {
	d := &draft{g: g, interp: oracle.New(g.schema, faults...), rows: map[string]row{}}
	d.replay(before)
	d.replay([]*seedSet{{steps}})
	return d.interp.Handle(oracle.Request{Method: "GET", Path: "/analytics/" + a.Name}).Body
}

// replay plays earlier seed steps on the draft's oracle. In W0 ids follow the order of creation in every run.
func (d *draft) replay(sets []*seedSet) {
	for _, s := range sets {
		for _, st := range s.steps {
			got, err := d.ask(st)
			if err != nil {
				d.fail("%v", err)
				return
			}
			object, _ := got.Body.(map[string]any)
			id, _ := object["id"].(int64)
			d.rows[st.Capture] = row{id: id}
		}
	}
}

// seedDraft makes the rows of one entity: full ones whose enums and booleans take all values, with a null
// in a different nullable field each time, and a last one with required fields only.
func (g *generator) seedDraft(e *scenario.Entity, attempt int, interp *oracle.Interp, before []*seedSet) *draft {
	label := fmt.Sprintf("seed|%s|%d", e.UID, attempt)
	d := &draft{g: g, label: label, interp: interp, rows: map[string]row{}, parents: map[string]string{}, serials: map[string]int{}}
	d.check.ID = "seed of " + e.Name
	d.variant = uidNumber(e.UID) // of no clause: number 0
	if before != nil {
		d.replay(before)
	}
	for name, r := range g.rows {
		if before == nil {
			d.rows[name] = r
		}
	}
	n := g.seedCount(e)
	for i := range n {
		name := fmt.Sprintf("%sr%d", e.UID, i+1)
		d.serials[name] = i + 1
		b := d.seedMinimal(e, name, i)
		if i < n-1 {
			b = d.seedBody(e, name, i, n)
		}
		d.make(e, name, b)
	}
	return d
}

// seedBody is a full row of W0.
func (d *draft) seedBody(e *scenario.Entity, name string, i, n int) body {
	b := body{}
	nulls := 0
	for j := range e.Fields {
		f := &e.Fields[j]
		if f.Managed() {
			continue
		}
		if f.Nullable {
			nulls++
			if n > 2 && (i+nulls)%(n-1) == 0 {
				b[f.Name] = nil
				continue
			}
		}
		b[f.Name] = d.seedValue(f, name, i)
	}
	return b
}

// seedMinimal is a row of required fields only.
func (d *draft) seedMinimal(e *scenario.Entity, name string, i int) body {
	b := body{}
	for j := range e.Fields {
		if f := &e.Fields[j]; f.Required {
			b[f.Name] = d.seedValue(f, name, i)
		}
	}
	return b
}

func (d *draft) seedValue(f *scenario.Field, name string, i int) any {
	shift := int(d.g.stream(d.label + "|shift|" + f.UID).Int64N(8))
	switch f.Type {
	case scenario.Ref:
		return fmt.Sprintf("${%sr%d}", f.Target, (i+shift)%2+1)
	case scenario.Enum:
		values := d.g.filtered(f)
		if i < len(values) {
			return values[(i+shift)%len(values)]
		}
		return values[d.g.stream(d.label+"|"+name+"|"+f.UID).IntN(len(values))]
	case scenario.Boolean:
		if i > 1 {
			return d.g.stream(d.label+"|"+name+"|"+f.UID).IntN(3) == 0
		}
		return (i+shift)%2 == 0
	}
	return d.value(f, name)
}

// readSeeded makes the checks of W0 that only read.
func (g *generator) readSeeded(c *scenario.Clause) {
	if a := g.schema.AnalyticsByUID(c.Subject); a != nil {
		g.check(c, Seeded, about{"seeded", "analytics " + a.Name + " over several rows", "analytics", "value", ""}, func(d *draft) {
			d.statistic(a, g.seededRows(a.Entity))
		})
		return
	}
	e := g.schema.Entity(c.Subject)
	if e == nil {
		return
	}
	if c.Kind == scenario.KindList {
		g.check(c, Seeded, about{"order", "all " + e.Plural + " are listed in order of creation", "list", "value", ""}, func(d *draft) {
			d.citeFields(e)
			d.send("GET", collection(e), nil, sent{status: 200, match: Present, entity: e})
		})
		return
	}
	g.check(c, Seeded, about{"list", "listed " + e.Plural + " have exactly the declared keys", "keys", "shape", ""}, func(d *draft) {
		d.send("GET", collection(e), nil, sent{status: 200, match: Exact, entity: e})
	})
}

// changeSeeded makes the check of W0 that a deleted row leaves the list; it puts the world back as it was.
func (g *generator) changeSeeded(c *scenario.Clause) {
	e := g.schema.Entity(c.Subject)
	g.check(c, Seeded, about{"list", "a deleted " + e.Name + " is in no list", "delete", "effect", ""}, func(d *draft) {
		b := d.minimal(e, "a")
		d.make(e, "a", b)
		d.send("DELETE", item(e, "a"), nil, sent{status: 204, setup: true})
		d.send("GET", collection(e), nil, sent{status: 200, match: Subset, keys: []string{"id"}, entity: e})
	})
}

// seededRows names the rows that an entity has in W0.
func (g *generator) seededRows(entity string) []string {
	var names []string
	for name, r := range g.rows {
		if r.entity == entity {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// statistic asks an analytics endpoint; without the rows that it is about there is no telling what is right.
func (d *draft) statistic(a *scenario.Analytics, rows []string) {
	s := sent{status: 200, match: Present, needs: rows}
	if _, m := d.g.schema.FieldByUID(a.Measure); m != nil && m.Type == scenario.Decimal {
		s.decimal = "value"
	}
	d.send("GET", "/analytics/"+a.Name, nil, s)
}

// readEmpty makes the checks of W2 that need a wholly empty store.
func (g *generator) readEmpty(c *scenario.Clause) {
	switch c.Kind {
	case scenario.KindHealth:
		g.check(c, Empty, about{"ok", "GET /health is answered", "health", "accept", ""}, func(d *draft) { d.send("GET", "/health", nil, sent{status: 200}) })
	case scenario.KindAnalytics:
		if a := g.schema.AnalyticsByUID(c.Subject); a != nil {
			g.check(c, Empty, about{"empty", "analytics " + a.Name + " without rows", "analytics", "value", ""}, func(d *draft) { d.statistic(a, nil) })
		}
	case scenario.KindList:
		if e := g.schema.Entity(c.Subject); e != nil {
			g.check(c, Empty, about{"empty", "the list of " + e.Plural + " without rows", "list", "value", ""}, func(d *draft) {
				d.send("GET", collection(e), nil, sent{status: 200, match: Present, entity: e})
			})
		}
	}
}
