package classify

import (
	"cmp"
	"slices"

	"github.com/stint-bench/stint/logs"
)

// The origins of a drift.
const (
	OriginNew            = "new"
	OriginRegression     = "regression"
	OriginNeverSatisfied = "never_satisfied"
)

// Group is one thing that is wrong: the failing checks that one clause and one mechanism explain.
type Group struct {
	Clause    string   `json:"clause"` // id; "" = the service as a whole, or unknown
	Title     string   `json:"title,omitempty"`
	Mechanism string   `json:"mechanism"` // leaf
	Leaf      string   `json:"leaf"`      // the mechanism, or drift.forgotten
	Origin    string   `json:"origin"`
	Row       string   `json:"row"` // of the contract table
	Says      string   `json:"says"`
	Checks    []string `json:"checks"`

	clause  *clause
	members []*symptom
}

// groups sorts the failing checks by clause and mechanism: the group that explains most checks first, then the
// earliest clause.
func (c *contract) groups(passedBefore func(k *clause, g *Group) bool) []*Group {
	type key struct{ clause, mechanism string }
	byKey := map[key]*Group{}
	var list []*Group
	for _, s := range c.symptoms {
		r := c.row(s)
		if r == nil {
			continue
		}
		k := c.owner(s, r)
		id := ""
		if k != nil {
			id = k.ID
		} else if len(s.check.Clauses) > 0 && !s.silent() {
			id = s.check.Clauses[0] // a clause whose text is not at hand
		}
		g := byKey[key{id, r.Mechanism}]
		if g == nil {
			g = &Group{Clause: id, Mechanism: r.Mechanism, Leaf: r.Mechanism, Row: r.ID, Says: r.Says, clause: k}
			if k != nil {
				g.Title = k.Title
			}
			byKey[key{id, r.Mechanism}] = g
			list = append(list, g)
		}
		g.members = append(g.members, s)
	}
	list = c.misled(c.absorb(list))
	for _, g := range list {
		for _, s := range g.members {
			g.Checks = append(g.Checks, s.check.Check)
		}
		slices.Sort(g.Checks)
		g.Checks = slices.Compact(g.Checks)
		c.overlay(g, passedBefore)
	}
	slices.SortStableFunc(list, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(len(b.Checks), len(a.Checks)), cmp.Compare(a.order(), b.order()), cmp.Compare(a.Mechanism, b.Mechanism))
	})
	return list
}

func (g *Group) order() int {
	if g.clause == nil {
		return 1 << 30
	}
	return g.clause.number()
}

// absorb merges what follows from a missing field into the missing of the field: rules about a field that is not
// there cannot be kept.
func (c *contract) absorb(list []*Group) []*Group {
	absent := map[[2]string]*Group{}
	for _, g := range list {
		if g.Mechanism != LeafChangeMissed || g.clause == nil {
			continue
		}
		switch {
		case g.clause.Kind == "gone" && g.clause.now != "" && g.missing(g.clause.now):
			absent[[2]string{g.clause.entity, g.clause.now}] = g
		case g.clause.Kind == "type" || g.clause.Kind == "computed" || g.clause.Kind == "state":
			absent[[2]string{g.clause.entity, g.clause.field}] = g
		}
	}
	if len(absent) == 0 {
		return list
	}
	kept := list[:0]
	for _, g := range list {
		if g.clause != nil && g.clause.field != "" {
			if up := absent[[2]string{g.clause.entity, g.clause.field}]; up != nil && up != g {
				up.members = append(up.members, g.members...)
				continue
			}
		}
		kept = append(kept, g)
	}
	return kept
}

// misled merges what follows from a command that leads to a wrong state into that: commands that are refused after it
// because of the state are not too strict.
func (c *contract) misled(list []*Group) []*Group {
	astray := map[string]*Group{}
	for _, g := range list {
		if g.clause != nil && g.clause.Kind == "transition" && g.Mechanism == LeafWrongLogic && astray[g.clause.entity] == nil {
			astray[g.clause.entity] = g
		}
	}
	if len(astray) == 0 {
		return list
	}
	kept := list[:0]
	for _, g := range list {
		refused := g.Mechanism == LeafTooStrict && !slices.ContainsFunc(g.members, func(s *symptom) bool { return s.below == "" || s.haveCode != "state" })
		if g.clause != nil && refused {
			if up := astray[g.clause.entity]; up != nil {
				up.members = append(up.members, g.members...)
				continue
			}
		}
		kept = append(kept, g)
	}
	return kept
}

// missing says whether a check of the group misses a key.
func (g *Group) missing(key string) bool {
	return slices.ContainsFunc(g.members, func(s *symptom) bool {
		return slices.ContainsFunc(s.diffs, func(d diff) bool { return d.kind == "missing" && d.key == key })
	})
}

// overlay decides the origin: a clause of this turn is new; an older one that has passed is forgotten.
func (c *contract) overlay(g *Group, passedBefore func(k *clause, g *Group) bool) {
	fresh, passed := false, false
	if g.clause != nil {
		fresh = c.clauses.fresh(g.clause) || c.clauses.moved(g.clause) || c.loosened(g)
		passed = passedBefore(g.clause, g)
	} else {
		fresh = !g.every(func(r *logs.CheckRow) bool { return r.Age == "old" })
		passed = slices.ContainsFunc(g.members, func(s *symptom) bool { return s.check.LastPassedTurn != nil })
	}
	switch {
	case fresh:
		g.Origin = OriginNew
	case passed:
		g.Origin = OriginRegression
		if g.Mechanism != LeafBrokenServer || c.confined(g) {
			if levelOf(g.Mechanism) == "drift" {
				g.Leaf = LeafForgotten
			}
		}
	default:
		g.Origin = OriginNeverSatisfied
	}
}

// loosened says whether a rule of the group's clause ended this turn: a check about it is of this turn although no clause
// that it cites is. A service that still has the rule refuses what older checks send as well.
func (c *contract) loosened(g *Group) bool {
	return g.Mechanism == LeafTooStrict && slices.ContainsFunc(g.members, func(s *symptom) bool {
		return s.check.Age != "" && s.check.Age != "old" && c.subject(s) == g.clause && !slices.ContainsFunc(s.check.Clauses, func(id string) bool {
			k := c.clauses.byID[id]
			return k == nil || c.clauses.fresh(k)
		})
	})
}

func (g *Group) every(is func(*logs.CheckRow) bool) bool {
	return !slices.ContainsFunc(g.members, func(s *symptom) bool { return !is(s.check) })
}

// confined says whether 5xx answers come from one collection of several alone, so that a part of the service is
// broken and not the service.
func (c *contract) confined(g *Group) bool {
	touched := map[string]bool{}
	for _, s := range g.members {
		if s.have == 0 {
			return false
		}
		touched[s.collection] = true
	}
	return len(touched) == 1 && len(c.clauses.paths) > 1
}

// drift is what the contract table says about an attempt.
type drift struct {
	groups  []*Group
	dropped int // failing checks that passed alone
	notRun  int // failing checks that were never reached
	opaque  int // tests of another benchmark
	unsent  int
}

// primary is the group that names the verdict. A server that is down as a whole comes before everything.
func (d *drift) primary() *Group {
	if len(d.groups) == 0 {
		return nil
	}
	for _, g := range d.groups {
		if g.Mechanism == LeafBrokenServer && g.Leaf == LeafBrokenServer && 2*len(g.Checks) >= len(d.groups[0].Checks) {
			return g
		}
	}
	return d.groups[0]
}
