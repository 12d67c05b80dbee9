package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// generator makes the suite of one turn.
type generator struct {
	seed     uint64
	turn     int
	schema   *scenario.Schema
	earlier  []scenario.Step           // the turns before this one
	renamed  []scenario.Tombstone      // names that a field lost this turn to another
	seeded   *oracle.Interp            // state of W0
	empty    *oracle.Interp            // state of W2
	own      *oracle.Interp            // reset for every check of W1
	rows     map[string]row            // symbols of W0's setup
	asked    map[string][]probe        // what W0 asks, by clause
	taken    map[string]map[int64]bool // places of values that must differ, by field; those of W0 are its own
	seats    map[string]map[int64]bool // the same of W0
	carriers map[string]bool           // uids of fields that make the pairs of their group differ
	sides    map[string]side           // by uid of a field in an order
	suite    *Suite
	done     map[string][]Check // by world
	err      error
}

// Generate makes the suite of one turn of a scenario. It fails only if oracle and generators disagree about what
// a request must come to, which is a fault of one of them.
func Generate(sc *scenario.Scenario, turn int) (*Suite, error) {
	if turn < 0 || turn >= len(sc.Steps) {
		return nil, fmt.Errorf("generating suite of %s: no turn %d", sc.Name, turn)
	}
	schema := sc.Steps[turn].Schema
	g := &generator{seed: sc.Seed, turn: turn, schema: schema, earlier: sc.Steps[:turn], rows: map[string]row{}, asked: map[string][]probe{}, taken: map[string]map[int64]bool{}, seats: map[string]map[int64]bool{},
		seeded: oracle.New(schema), empty: oracle.New(schema), own: oracle.New(schema), done: map[string][]Check{},
		suite: &Suite{Version: Version, Turn: turn}}
	for _, t := range schema.Tombstones {
		if c := schema.ClauseOf(scenario.KindGone, t.UID); c != nil && c.Introduced == turn && turn > 0 {
			g.renamed = append(g.renamed, t)
		}
	}
	g.learnPairs()
	setup := g.seedRows()
	for _, p := range g.plan() {
		p.make(p.clause)
	}
	if g.err != nil {
		return nil, fmt.Errorf("generating suite of %s, turn %d: %w", sc.Name, turn, g.err)
	}
	g.suite.Worlds = []World{{Name: Seeded, Setup: setup}, {Name: Own}, {Name: Empty}}
	for _, w := range g.suite.Worlds {
		g.suite.Checks = append(g.suite.Checks, g.done[w.Name]...)
	}
	for _, c := range schema.Clauses {
		g.suite.Clauses = append(g.suite.Clauses, ClauseInfo{ID: c.ID, Kind: string(c.Kind), Title: c.Title, Text: c.Text, Introduced: c.Introduced, Changed: c.Changed})
	}
	if err := g.suite.lint(); err != nil {
		return nil, fmt.Errorf("generating suite of %s, turn %d: %w", sc.Name, turn, err)
	}
	return g.suite, nil
}

// job is one pass of a generator over one clause.
type job struct {
	clause *scenario.Clause
	make   func(*scenario.Clause)
}

// plan orders the work. In W0 what only reads comes before what adds and deletes a row; in W2 what needs a wholly
// empty store comes before what adds rows, and an entity before those that refer to it.
func (g *generator) plan() []job {
	var jobs []job
	each := func(make func(*scenario.Clause), kinds ...scenario.Kind) {
		for i := range g.schema.Clauses {
			if c := &g.schema.Clauses[i]; slices.Contains(kinds, c.Kind) {
				jobs = append(jobs, job{c, make})
			}
		}
	}
	each(g.readSeeded, scenario.KindList, scenario.KindExactKeys, scenario.KindAnalytics, scenario.KindFilter, scenario.KindSort, scenario.KindDefaultSort, scenario.KindPage)
	each(g.changeSeeded, scenario.KindDelete)
	each(g.readEmpty, scenario.KindHealth, scenario.KindList, scenario.KindAnalytics)
	for _, e := range g.targetsFirst() {
		if c := g.schema.ClauseOf(scenario.KindAtomic, e.UID); c != nil {
			jobs = append(jobs, job{c, g.leak})
		}
	}
	for i := range g.schema.Clauses {
		jobs = append(jobs, job{&g.schema.Clauses[i], g.ownRows})
	}
	return jobs
}

// targetsFirst orders the entities so that each comes after those it refers to.
func (g *generator) targetsFirst() []*scenario.Entity {
	var order []*scenario.Entity
	seen := map[string]bool{}
	var visit func(e *scenario.Entity)
	visit = func(e *scenario.Entity) {
		if e == nil || seen[e.UID] {
			return
		}
		seen[e.UID] = true
		for i := range e.Fields {
			if e.Fields[i].Type == scenario.Ref {
				visit(g.schema.Entity(e.Fields[i].Target))
			}
		}
		order = append(order, e)
	}
	for i := range g.schema.Entities {
		visit(&g.schema.Entities[i])
	}
	return order
}

// ownRows makes the checks of W1 for one clause.
func (g *generator) ownRows(c *scenario.Clause) {
	switch c.Kind {
	case scenario.KindGone:
		g.gone(c)
		return
	case scenario.KindErrorFormat:
		g.errorFormat(c)
		return
	case scenario.KindGroup, scenario.KindOrder:
		g.pairChecks(c)
		return
	}
	if e := g.schema.Entity(c.Subject); e != nil {
		g.entityChecks(c, e)
		return
	}
	if e, f := g.schema.FieldByUID(c.Subject); f != nil {
		g.fieldChecks(c, e, f)
	}
	if e, cmd := g.schema.CommandByUID(c.Subject); cmd != nil {
		g.commandChecks(c, e, cmd)
	}
}

// about is what a check is, beside its steps.
type about struct {
	variant, title, category, intent, mutation string
}

// check makes one check: build adds its steps, and the check is dropped if it adds none.
func (g *generator) check(c *scenario.Clause, world string, a about, build func(d *draft)) {
	if g.err != nil {
		return
	}
	variant := slices.Index(variants(c.Kind), a.variant)
	if variant < 0 {
		g.err = fmt.Errorf("clause %s: variant %q is not in the list of kind %s", c.ID, a.variant, c.Kind)
		return
	}
	if a.mutation == "" {
		a.mutation = "none"
	}
	d := &draft{g: g, label: c.ID + "|" + a.variant, number: clauseNumber(c.ID), variant: variant, rows: map[string]row{}, parents: map[string]string{}, serials: rowNumbers(),
		states: map[string]string{}, kids: map[string][]string{}}
	d.check = Check{ID: "k" + strings.TrimPrefix(c.ID, "c") + "." + a.variant, Title: a.title, Clauses: []string{c.ID}, Category: a.category, Intent: a.intent,
		Mutation: a.mutation, World: world, Introduced: c.Introduced}
	switch world {
	case Seeded:
		outside := g.taken
		g.taken = g.seats
		defer func() { g.taken = outside }()
		d.interp = g.seeded
		for name, r := range g.rows {
			d.rows[name] = r
		}
	case Empty:
		d.interp = g.empty
	default:
		g.own.Reset()
		d.interp = g.own
	}
	build(d)
	if d.err != nil {
		g.err = d.err
		return
	}
	if len(d.check.Steps) == 0 {
		return
	}
	d.check.Age = g.age(d.check.Clauses)
	if d.loosened && d.check.Age == AgeOld {
		d.check.Age = AgeChanged
	}
	g.done[world] = append(g.done[world], d.check)
}

// age is that of the youngest clause.
func (g *generator) age(clauses []string) string {
	age := AgeOld
	for _, id := range clauses {
		switch c := g.schema.Clause(id); {
		case c == nil:
		case c.Introduced == g.turn:
			return AgeNew
		case c.Changed == g.turn:
			age = AgeChanged
		}
	}
	return age
}

// lint holds the promises of a generated suite: every clause has a check, every check cites clauses that are
// active and uses the closed lists.
func (s *Suite) lint() error {
	if err := s.valid(); err != nil {
		return err
	}
	checked := map[string]bool{}
	for _, c := range s.Checks {
		checked[c.Clauses[0]] = true
		for _, id := range c.Clauses {
			if s.Clause(id) == nil {
				return fmt.Errorf("check %s cites %s, which is no clause of this turn", c.ID, id)
			}
		}
		if !slices.Contains(Categories(), c.Category) || !slices.Contains(Intents(), c.Intent) || !slices.Contains(Mutations(), c.Mutation) {
			return fmt.Errorf("check %s: category %q, intent %q or mutation %q is not in its list", c.ID, c.Category, c.Intent, c.Mutation)
		}
		if c.Title == "" {
			return fmt.Errorf("check %s has no title", c.ID)
		}
	}
	for _, c := range s.Clauses {
		if !checked[c.ID] {
			return fmt.Errorf("clause %s (%s) has no check", c.ID, c.Title)
		}
	}
	return nil
}

// variants is the closed list of variants of a clause kind. Their places number the rows of a check, so new ones
// go to the end.
func variants(k scenario.Kind) []string {
	switch k {
	case scenario.KindCreate:
		return []string{"full", "minimal", "ids"}
	case scenario.KindRead:
		return []string{"one"}
	case scenario.KindNotFound:
		return []string{"get", "put", "patch", "delete"}
	case scenario.KindList:
		return []string{"order", "empty"}
	case scenario.KindReplace:
		return []string{"full", "minimal"}
	case scenario.KindUpdate:
		return []string{"one", "nothing"}
	case scenario.KindDelete:
		return []string{"one", "verbs", "list"}
	case scenario.KindExactKeys:
		return []string{"bodies", "list", "extra", "id"}
	case scenario.KindAtomic:
		return []string{"create", "update", "replace"}
	case scenario.KindType:
		return []string{"accept", "patch", "number", "text", "boolean", "list", "fraction", "not_a_day", "patch_wrong", "put_wrong", "freed", "again"}
	case scenario.KindRequired:
		return []string{"missing", "put_missing"}
	case scenario.KindOptional, scenario.KindDefault:
		return []string{"missing", "put_missing"}
	case scenario.KindNullable:
		return []string{"null", "patch_null"}
	case scenario.KindNotNull:
		return []string{"null", "patch_null", "put_null"}
	case scenario.KindRange:
		return []string{"min", "below", "max", "above", "patch_beyond", "put_beyond"}
	case scenario.KindLength:
		return []string{"min", "short", "max", "long", "patch_beyond", "put_beyond"}
	case scenario.KindEnum:
		return []string{"values", "unknown", "capital", "removed", "patch_unknown", "put_unknown"}
	case scenario.KindUnique:
		return []string{"create", "patch", "put", "self_patch", "self_put", "nulls", "case"}
	case scenario.KindPattern:
		return []string{"accept", "long", "front", "short", "lower", "class", "patch_other", "put_other"}
	case scenario.KindImmutable:
		return []string{"patch", "put", "patch_same", "put_same", "put_omitted", "null"}
	case scenario.KindGroup:
		return []string{"create", "first", "second", "patch", "put", "self_patch", "self_put", "nulls"}
	case scenario.KindOrder:
		return []string{"above", "equal", "patch_low", "patch_high", "put"}
	case scenario.KindRefExists:
		return []string{"missing", "patch_missing", "deleted", "put_missing"}
	case scenario.KindOnDelete:
		return []string{"cascade", "restrict", "set_null", "deep"}
	case scenario.KindAnalytics:
		return []string{"seeded", "empty", "live", "no_from", "no_to", "bad_from"}
	case scenario.KindFilter:
		return []string{"fits", "open", "both", "wrong"}
	case scenario.KindSort:
		return []string{"ascending", "descending", "unknown"}
	case scenario.KindDefaultSort:
		return []string{"default"}
	case scenario.KindPage:
		return []string{"first", "middle", "beyond", "max", "above", "zero", "text", "negative", "sorted", "filtered"}
	case scenario.KindNested:
		return []string{"rows", "empty", "unknown"}
	case scenario.KindGone:
		return []string{"post", "patch", "instead", "path"}
	case scenario.KindHealth:
		return []string{"ok"}
	case scenario.KindErrorFormat:
		return []string{"not_found", "refused", "conflict"}
	}
	return lifeVariants(k)
}

// lifeVariants are those of states, formulas and commands.
func lifeVariants(k scenario.Kind) []string {
	switch k {
	case scenario.KindComputed:
		return []string{"value", "patch", "null", "null_2", "ignored", "none", "counted", "deleted"}
	case scenario.KindState:
		return []string{"initial", "post", "patch", "put", "put_other"}
	case scenario.KindTransition:
		return []string{"legal", "legal_2", "legal_3", "wrong_state", "repeated", "body", "unknown"}
	case scenario.KindAction:
		return []string{"call", "unknown", "missing", "null", "text", "fraction", "min", "below", "max", "above"}
	case scenario.KindGuard:
		return []string{"met", "unmet", "unmet_2", "null", "null_2"}
	case scenario.KindEffect:
		return []string{"applied", "null", "no_row"}
	}
	return nil
}
