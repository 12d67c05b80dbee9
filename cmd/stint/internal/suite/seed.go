package suite

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Sizes of the seeded world. An entity with analytics or list options has more rows, so that wrong definitions show,
// and one with analytics a number of its own, so that counting another entity shows.
const (
	plainRows    = 3
	targetRows   = 4 // of an entity by whose rows others are grouped: one without any
	countedRows  = 6
	groupedRows  = 8
	toppedRows   = 12 // enough for two equal groups, nulls and two small groups, or for groups of some rows only
	seedAttempts = 150
)

// seedCount is how many rows an entity has in W0.
func (g *generator) seedCount(e *scenario.Entity) int {
	used := map[int]bool{}
	for i := range g.schema.Entities {
		if o := &g.schema.Entities[i]; len(g.statsOf(o.UID)) == 0 {
			used[g.leastRows(o)] = true
		}
	}
	if len(g.statsOf(e.UID)) == 0 {
		return g.leastRows(e)
	}
	for i := range g.schema.Entities {
		o := &g.schema.Entities[i]
		if len(g.statsOf(o.UID)) == 0 {
			continue
		}
		n := g.leastRows(o)
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

// leastRows is how many rows the rules of an entity need to show.
func (g *generator) leastRows(e *scenario.Entity) int {
	n := plainRows
	if g.groupedTarget(e) {
		n = targetRows
	}
	if len(g.seededClauses(e)) > 0 {
		n = countedRows
		for j := range e.Fields {
			n = max(n, 2*len(g.filtered(&e.Fields[j])))
		}
	}
	for _, a := range g.statsOf(e.UID) {
		if _, w := g.schema.FieldByUID(a.Where); w != nil && a.Measure != "" {
			n = max(n, 3*len(g.filtered(w)))
		}
		switch {
		case a.Kind == scenario.StatTop, a.Group != "" && a.Where != "":
			n = max(n, toppedRows)
		case a.Group != "" || a.Window != "":
			n = max(n, groupedRows)
		}
	}
	if e.List.Page != nil {
		n = max(n, e.List.Page.Default+2)
	}
	return n
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
// or all if none is asked for. Of an enum by which figures are grouped, one value that none asks for is left out.
func (g *generator) filtered(f *scenario.Field) []string {
	asked := map[string]bool{}
	for i := range g.schema.Analytics {
		if a := &g.schema.Analytics[i]; a.Where == f.UID && a.Equals != nil {
			asked[a.Equals.Str] = true
		}
	}
	if g.spared(f) {
		for i := len(f.Values) - 1; i >= 0; i-- {
			if !asked[f.Values[i]] {
				return slices.Delete(slices.Clone(f.Values), i, i+1)
			}
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

// spared reports whether seeded rows leave one value of an enum out, so that groups without rows would show. A top needs
// three groups to show its order and its ties at once.
func (g *generator) spared(f *scenario.Field) bool {
	top := slices.ContainsFunc(g.schema.Analytics, func(a scenario.Analytics) bool { return a.Group == f.UID && a.Kind == scenario.StatTop })
	return g.grouped(f) && (len(f.Values) > 3 || len(f.Values) == 3 && !top)
}

// seedRows draws the rows of W0, plays them on the oracle of that world and returns the steps. Entities come in
// an order in which their references exist.
func (g *generator) seedRows() []Step {
	var steps []Step
	for _, e := range g.targetsFirst() {
		steps = append(steps, g.seedEntity(e)...)
	}
	return steps
}

// seeding is one draw of the rows of an entity.
type seeding struct {
	draft  *draft
	draws  map[string]int     // by field uid: which draw its values are from, 0 if not named
	probes map[string][]probe // by clause
	missed []*scenario.Clause // whose faults do not all show
	blind  int                // how many do not
}

// seedEntity seeds one entity so that every wrong definition of its analytics and its list shows: where an answer is
// the same as with one of the oracle's faults, the fields that the clause is about are drawn again, and the best draw
// is taken if none shows all.
func (g *generator) seedEntity(e *scenario.Entity) []Step {
	s := &sower{g: g, entity: e, clauses: g.seededClauses(e), field: g.seeded, faulty: map[string][]*oracle.Interp{}}
	best := s.try(map[string]int{}, -1)
	for n := 1; n < seedAttempts && (best.blind > 0 || best.draft.err != nil); n++ {
		draws := maps.Clone(best.draws)
		if best.draft.err != nil { // values that may not be together
			for i := range e.Fields {
				draws[e.Fields[i].UID] = n
			}
		}
		for _, c := range best.missed {
			for _, uid := range g.fieldsOf(e, c) {
				draws[uid] = n
			}
		}
		if next := s.try(draws, best.blind); next.draft.err == nil && (best.draft.err != nil || next.blind <= best.blind) {
			best = next
		}
	}
	if best.draft.err == nil {
		best.draft = g.seedDraft(e, best.draws, s.field)
	}
	if g.err = best.draft.err; g.err != nil {
		return nil
	}
	maps.Copy(g.rows, best.draft.rows)
	maps.Copy(g.asked, best.probes)
	maps.Copy(g.seats, best.draft.taken)
	return best.draft.check.Steps
}

// sower draws the rows of one entity again and again.
type sower struct {
	g       *generator
	entity  *scenario.Entity
	clauses []*scenario.Clause
	field   *oracle.Interp              // what is seeded so far; the entity's rows are those of the last draw
	faulty  map[string][]*oracle.Interp // by clause: the same with each of its faults
}

// try makes one draw and says what it is worth. It stops where more faults are missed than may be.
func (s *sower) try(draws map[string]int, may int) *seeding {
	next := &seeding{draft: s.g.seedDraft(s.entity, draws, s.field), draws: draws, probes: map[string][]probe{}}
	if next.draft.err != nil {
		return next
	}
	for _, c := range s.clauses {
		asked, missed := s.probes(next.draft, c)
		next.probes[c.ID] = asked
		if a := s.g.schema.AnalyticsByUID(c.Subject); a != nil && a.Kind == scenario.StatCount && s.g.otherCount(a, next.draft) {
			missed++
		}
		if missed > 0 {
			next.blind += missed
			next.missed = append(next.missed, c)
		}
		if may >= 0 && next.blind > may {
			break
		}
	}
	return next
}

// fieldsOf lists the fields that a clause about the list or the figures of an entity looks at.
func (g *generator) fieldsOf(e *scenario.Entity, c *scenario.Clause) []string {
	if a := g.schema.AnalyticsByUID(c.Subject); a != nil {
		return []string{a.Measure, a.Where, a.Group, a.Window}
	}
	if _, f, _ := g.schema.SortKey(c.Subject); f != nil {
		return []string{f.UID}
	}
	var uids []string
	if e.List.Default != nil && c.Kind != scenario.KindFilter {
		uids = append(uids, e.List.Default.Field)
	}
	if c.Kind != scenario.KindDefaultSort {
		for _, x := range e.List.Filters {
			uids = append(uids, x.Field)
		}
	}
	if c.Kind == scenario.KindPage {
		for _, k := range e.List.Sorts {
			uids = append(uids, k.Field)
		}
	}
	return uids
}

// otherCount says whether another entity has as many rows as a count comes to.
func (g *generator) otherCount(a *scenario.Analytics, d *draft) bool {
	got := text(d.interp.Handle(oracle.Request{Method: "GET", Path: "/analytics/" + a.Name}).Body)
	for i := range g.schema.Entities {
		e := &g.schema.Entities[i]
		if e.UID != a.Entity && got == fmt.Sprintf(`{"value":%d}`, g.seedCount(e)) {
			return true
		}
	}
	return false
}

// seedDraft makes the rows of one entity anew, after those of the entities before it: full ones whose enums and booleans take
// all values, with a null in a different nullable field each time, and a last one with required fields only.
func (g *generator) seedDraft(e *scenario.Entity, draws map[string]int, interp *oracle.Interp) *draft {
	interp.Forget(e.UID)
	outside := g.taken
	g.taken = map[string]map[int64]bool{}
	defer func() { g.taken = outside }()
	d := &draft{g: g, draws: draws, drawn: map[string]any{}, taken: g.taken, interp: interp, rows: maps.Clone(g.rows), parents: map[string]string{}, serials: map[string]int{}}
	d.check.ID = "seed of " + e.Name
	d.variant = uidNumber(e.UID) // of no clause: number 0
	n := g.seedCount(e)
	for i := range n {
		d.serials[seedName(e, i+1)] = i + 1
	}
	for i := range n {
		name := seedName(e, i+1)
		b := d.seedMinimal(e, name, i, n)
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
			isNull := n > 2 && (i+nulls)%(n-1) == 0
			if top := d.topped(e, f, n); top != nil && d.draws[f.UID]%2 == 0 {
				isNull = top.null(f, i)
			} else if d.g.grouped(f) && d.g.stream(fmt.Sprintf("seed|%s|%d|null|%s|%s", e.UID, d.draws[f.UID], f.UID, name)).IntN(5) == 0 {
				isNull = true
			}
			if isNull {
				b[f.Name] = nil
				continue
			}
		}
		b[f.Name] = d.seedValue(e, f, name, i, n)
	}
	return b
}

// seedMinimal is a row of required fields only.
func (d *draft) seedMinimal(e *scenario.Entity, name string, i, n int) body {
	b := body{}
	for j := range e.Fields {
		if f := &e.Fields[j]; f.Required {
			b[f.Name] = d.seedValue(e, f, name, i, n)
		}
	}
	return b
}

// seedValue is the value of a field in row i of n.
func (d *draft) seedValue(e *scenario.Entity, f *scenario.Field, name string, i, n int) any {
	d.label = fmt.Sprintf("seed|%s|%d", e.UID, d.draws[f.UID])
	shift := int(d.g.stream(d.label + "|shift|" + f.UID).Int64N(8))
	draw := func() *rand.Rand { return d.g.stream(d.label + "|" + name + "|" + f.UID) }
	top := d.topped(e, f, n)
	if d.draws[f.UID]%2 == 1 { // where the order of things does not help, chance may
		top = nil
	}
	switch f.Type {
	case scenario.Ref:
		switch {
		case top != nil && top.Group == f.UID:
			return fmt.Sprintf("${%sr%d}", f.Target, 1+(top.place(i)+shift)%(targetRows-1))
		case d.g.grouped(f):
			return fmt.Sprintf("${%sr%d}", f.Target, draw().IntN(targetRows-1)+1)
		}
		return fmt.Sprintf("${%sr%d}", f.Target, (i+shift)%2+1)
	case scenario.Enum:
		values := d.g.filtered(f)
		switch {
		case d.balanced(f):
			return values[d.rank(f, i, n)%len(values)]
		case top != nil && top.Group == f.UID:
			return values[(top.place(i)+shift)%len(values)]
		case i < len(values) && !d.g.grouped(f):
			return values[(i+shift)%len(values)]
		}
		return values[draw().IntN(len(values))]
	case scenario.Boolean:
		if d.balanced(f) {
			return d.rank(f, i, n)%2 == 0
		}
		if i > 1 {
			share := 3
			if d.g.grouped(f) {
				share = 2
			}
			return draw().IntN(share) == 0
		}
		return (i+shift)%2 == 0
	}
	switch {
	case top != nil && !f.Unique:
		name = seedName(e, 1+top.alike(i))
	case f.Unique && f.Type == scenario.Integer:
		// Neither in the order of creation nor in equal steps, of which the mean would be whole.
		at := seedName(e, 1+d.rank(f, i, n))
		return limitValue(f, d.g.uniqueNumber(f, int64(7*d.serial(at)+draw().IntN(7))))
	case d.g.carriers[f.UID]:
		// Its pairs must differ, so that only two rows share a value.
		if i > 0 && i == 1+shift%(n-1) && e.List.Names(f.UID) && !f.Unique {
			name = seedName(e, i)
		}
	case d.draws[f.UID]%2 == 0 && d.g.extreme(f): // of equal values the largest would be in many rows
	case d.g.pooled(e, f):
		// Few values make ties, many make edges: which of them a field has is drawn too.
		pool := 2 + d.g.stream(d.label+"|pool|"+f.UID).IntN(max(2, n/2))
		name = seedName(e, 1+draw().IntN(min(pool, n)))
	}
	if cased(e, f) {
		switch i {
		case shift % (n - 1):
			return d.seeded(f, seedName(e, i+1))
		case (shift + 1) % (n - 1):
			return capitals(d.seeded(f, seedName(e, shift%(n-1)+1)))
		}
	}
	return d.seeded(f, name)
}

// rank is the place of row i of n in an order that is drawn for the field.
func (d *draft) rank(f *scenario.Field, i, n int) int {
	return d.g.stream(d.label + "|order|" + f.UID).Perm(n)[i]
}

// balanced reports whether all values of a field have equally many rows: figures over some rows only need several of
// them. Every other draw leaves it to chance, since equal numbers hide which rows were counted.
func (d *draft) balanced(f *scenario.Field) bool {
	return d.draws[f.UID]%2 == 0 && !d.g.grouped(f) && slices.ContainsFunc(d.g.schema.Analytics, func(a scenario.Analytics) bool { return a.Where == f.UID && a.Measure != "" })
}

// seeded is the value of a field that belongs to one row of W0, however many have it.
func (d *draft) seeded(f *scenario.Field, name string) any {
	key := f.UID + "|" + name
	v, ok := d.drawn[key]
	if !ok {
		v = d.value(f, name)
		d.drawn[key] = v
	}
	return v
}

// readSeeded makes the checks of W0 that only read.
func (g *generator) readSeeded(c *scenario.Clause) {
	if c.Kind == scenario.KindList || c.Kind == scenario.KindExactKeys {
		g.readList(c)
		return
	}
	for _, p := range g.asked[c.ID] {
		g.check(c, Seeded, p.about, func(d *draft) {
			for _, o := range p.cites {
				d.cite(o.kind, o.subject)
			}
			for _, q := range p.asks {
				if a := g.schema.AnalyticsByUID(c.Subject); a != nil {
					d.statistic(a, q, g.statisticRows(a))
					continue
				}
				e := g.listOf(c)
				d.asked(e, q, g.seededRows(e.UID))
			}
		})
	}
}

// listOf is the entity whose list a clause is about.
func (g *generator) listOf(c *scenario.Clause) *scenario.Entity {
	owner, _, _ := strings.Cut(c.Subject, ".")
	return g.schema.Entity(owner)
}

// readList makes the checks of W0 that look at all rows of an entity.
func (g *generator) readList(c *scenario.Clause) {
	e := g.schema.Entity(c.Subject)
	if e == nil {
		return
	}
	if c.Kind == scenario.KindList {
		g.check(c, Seeded, about{"order", "all " + e.Plural + " are listed in order of creation", "list", "value", ""}, func(d *draft) {
			d.citeFields(e)
			d.citeList(e)
			d.send("GET", collection(e), nil, sent{status: 200, match: Present, entity: e})
		})
		return
	}
	g.check(c, Seeded, about{"list", "listed " + e.Plural + " have exactly the declared keys", "keys", "shape", ""}, func(d *draft) {
		d.citeList(e)
		d.send("GET", collection(e), nil, sent{status: 200, match: Exact, entity: e})
	})
}

// citeList cites what decides which rows the plain list shows, and in which order.
func (d *draft) citeList(e *scenario.Entity) {
	d.cite(scenario.KindDefaultSort, e.UID)
	d.cite(scenario.KindPage, e.UID)
}

// changeSeeded makes the check of W0 that a deleted row leaves the list; it puts the world back as it was.
func (g *generator) changeSeeded(c *scenario.Clause) {
	e := g.schema.Entity(c.Subject)
	g.check(c, Seeded, about{"list", "a deleted " + e.Name + " is in no list", "delete", "effect", ""}, func(d *draft) {
		b := d.minimal(e, "a")
		d.make(e, "a", b)
		d.citeList(e)
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

// statisticRows names the seeded rows that an endpoint is about: those of its entity, and those that groups are by.
func (g *generator) statisticRows(a *scenario.Analytics) []string {
	rows := g.seededRows(a.Entity)
	if _, by := g.schema.FieldByUID(a.Group); by != nil && by.Type == scenario.Ref {
		rows = append(rows, g.seededRows(by.Target)...)
	}
	return rows
}

// readEmpty makes the checks of W2 that need a wholly empty store.
func (g *generator) readEmpty(c *scenario.Clause) {
	switch c.Kind {
	case scenario.KindHealth:
		g.check(c, Empty, about{"ok", "GET /health is answered", "health", "accept", ""}, func(d *draft) { d.send("GET", "/health", nil, sent{status: 200}) })
	case scenario.KindAnalytics:
		if a := g.schema.AnalyticsByUID(c.Subject); a != nil {
			g.check(c, Empty, about{"empty", "analytics " + a.Name + " without rows", "analytics", "value", ""}, func(d *draft) {
				d.statistic(a, ask{path: "/analytics/" + a.Name, query: emptyQuery(a)}, nil)
			})
		}
	case scenario.KindList:
		if e := g.schema.Entity(c.Subject); e != nil {
			g.check(c, Empty, about{"empty", "the list of " + e.Plural + " without rows", "list", "value", ""}, func(d *draft) {
				d.send("GET", collection(e), nil, sent{status: 200, match: Present, entity: e})
			})
		}
	}
}

// emptyQuery is what an endpoint needs to be asked about a store without rows.
func emptyQuery(a *scenario.Analytics) url.Values {
	if a.Window == "" {
		return nil
	}
	return values(anyWindow()...)
}
