package suite

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// ask is one reading request of W0.
type ask struct {
	path  string
	query url.Values
	keys  []string // asserted keys of listed rows; nil = all
	field string   // parameter that is refused; "" = the request is answered
}

// probe is one check of W0 before it is written: what it asks and which other clauses it needs.
type probe struct {
	about
	asks  []ask
	cites []cited
}

type cited struct {
	kind    scenario.Kind
	subject string
}

// prober finds the requests that tell a clause about the list or the figures of seeded rows from its violations.
type prober struct {
	g      *generator
	d      *draft
	clause *scenario.Clause
	faulty []*oracle.Interp // one per fault of the clause
}

// exempt reports whether a fault shows without seeded rows only: that is the business of another world.
func exempt(f oracle.Fault) bool { return f.Kind == oracle.AnalyticsWrong && f.Param == "empty" }

// blind counts the faults of the clause that none of the probes shows.
func (p *prober) blind(probes []probe) int {
	alive := append([]*oracle.Interp(nil), p.faulty...)
	for _, pr := range probes {
		for _, a := range pr.asks {
			r := oracle.Request{Method: "GET", Path: a.path, Query: a.query}
			right := p.d.interp.Handle(r)
			left := alive[:0]
			for _, i := range alive {
				if got := i.Handle(r); got.Status == right.Status && alike(got.Body, right.Body) {
					left = append(left, i)
				}
			}
			alive = left
		}
	}
	return len(alive)
}

// alike reports whether the comparison of a suite takes two bodies of the oracle for equal.
func alike(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, there := y[k]; !there || !alike(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, alike)
	}
	if a == b {
		return true
	}
	x, ok1 := decimal(a)
	y, ok2 := decimal(b)
	_, exact1 := a.(int64)
	_, exact2 := b.(int64)
	return ok1 && ok2 && !(exact1 && exact2) && math.Abs(x-y) <= decimalTolerance
}

// decimal is a number of the oracle as a float; ok is false for what is none.
func decimal(v any) (x float64, ok bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case json.Number:
		x, err := n.Float64()
		return x, err == nil
	}
	return 0, false
}

// best takes the first candidate that shows every fault, else one that shows the most.
func (p *prober) best(candidates [][]probe) (probes []probe, blind int) {
	least := -1
	for _, c := range candidates {
		if n := p.blind(c); least < 0 || n < least {
			probes, least = c, n
		}
		if least == 0 {
			break
		}
	}
	return probes, max(least, 0)
}

// before is the schema of the turn before, nil at the first.
func (g *generator) before() *scenario.Schema {
	if g.turn == 0 {
		return nil
	}
	return g.earlier[g.turn-1].Schema
}

// objects are the seeded rows of an entity as the oracle returns them, in the order of their creation.
func (d *draft) objects(e *scenario.Entity) []map[string]any {
	var out []map[string]any
	for n := 1; ; n++ {
		r, ok := d.rows[seedName(e, n)]
		if !ok {
			return out
		}
		o, _ := d.interp.Handle(oracle.Request{Method: "GET", Path: "/" + e.Plural + "/" + strconv.FormatInt(r.id, 10)}).Body.(map[string]any)
		out = append(out, o)
	}
}

// seedName is the symbol of the nth seeded row of an entity.
func seedName(e *scenario.Entity, n int) string { return e.UID + "r" + strconv.Itoa(n) }

// queryText writes a value of a row as a query does; ok is false for null.
func queryText(v any) (s string, ok bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case bool:
		return strconv.FormatBool(x), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case json.Number:
		return string(x), true
	}
	return "", false
}

// probes returns what W0 asks about a clause, and how many of its faults that does not show; nil for other clauses.
func (s *sower) probes(d *draft, c *scenario.Clause) (probes []probe, blind int) {
	faulty, made := s.faulty[c.ID]
	if !made {
		for _, f := range oracle.FaultsFor(s.g.schema, s.g.before(), *c) {
			if !exempt(f) {
				faulty = append(faulty, s.field.With(f))
			}
		}
		s.faulty[c.ID] = faulty
	}
	for _, i := range faulty {
		i.Take(s.entity.UID, d.interp)
	}
	p := &prober{g: s.g, d: d, clause: c, faulty: faulty}
	switch c.Kind {
	case scenario.KindFilter:
		return p.best(p.filterProbes())
	case scenario.KindSort:
		return p.best(p.sortProbes())
	case scenario.KindDefaultSort:
		return p.best(p.defaultSortProbes())
	case scenario.KindPage:
		return p.best(p.pageProbes())
	case scenario.KindAnalytics:
		return p.best(p.statisticProbes())
	}
	return nil, 0
}

// seededClauses lists the clauses about the list and the figures of an entity.
func (g *generator) seededClauses(e *scenario.Entity) []*scenario.Clause {
	var out []*scenario.Clause
	for i := range g.schema.Clauses {
		c := &g.schema.Clauses[i]
		switch c.Kind {
		case scenario.KindAnalytics:
			if a := g.schema.AnalyticsByUID(c.Subject); a != nil && a.Entity == e.UID {
				out = append(out, c)
			}
		case scenario.KindFilter, scenario.KindSort, scenario.KindDefaultSort, scenario.KindPage:
			if o := g.listOf(c); o != nil && o.UID == e.UID {
				out = append(out, c)
			}
		}
	}
	return out
}

// asked sends one request of a probe.
func (d *draft) asked(e *scenario.Entity, a ask, needs []string) {
	s := sent{status: 200, match: Subset, keys: a.keys, entity: e, query: a.query, needs: needs}
	if a.field != "" {
		s = sent{status: 400, code: "query", field: a.field, entity: e, query: a.query}
	}
	d.send("GET", a.path, nil, s)
}
