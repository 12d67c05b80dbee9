package suite

import (
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// statisticProbes offers what an analytics endpoint is asked about the seeded rows: once, or for different windows.
func (p *prober) statisticProbes() [][]probe {
	a := p.g.schema.AnalyticsByUID(p.clause.Subject)
	path := "/analytics/" + a.Name
	seeded := func(s ...string) probe {
		return probe{about: about{"seeded", "analytics " + a.Name + " over several rows", "analytics", "value", ""}, asks: []ask{{path: path, query: values(s...)}}}
	}
	_, f := p.g.schema.FieldByUID(a.Window)
	if f == nil {
		return [][]probe{{seeded()}}
	}
	bad := func(variant, title, mutation, param string, s ...string) probe {
		return probe{about: about{variant, title, "analytics", "reject", mutation}, asks: []ask{{path: path, query: values(s...), field: param}}}
	}
	refused := []probe{
		bad("no_from", "analytics "+a.Name+" without a first day is refused", "missing", "from", "to", "2024-05-31"),
		bad("no_to", "analytics "+a.Name+" without a last day is refused", "missing", "to", "from", "2024-05-01"),
		bad("bad_from", "analytics "+a.Name+" from what is no day is refused", "type", "from", "from", "someday", "to", "2024-05-31"),
	}
	have := distinct(p.d.objects(p.g.schema.Entity(a.Entity)), f)
	var out [][]probe
	for _, pair := range inner(len(have)) {
		low, _ := queryText(have[pair[0]])
		high, _ := queryText(have[pair[1]])
		out = append(out, append([]probe{seeded("from", low, "to", high)}, refused...))
	}
	if len(out) == 0 { // no row has a day
		out = append(out, append([]probe{seeded(anyWindow()...)}, refused...))
	}
	return out
}

// anyWindow is a span for stores without rows.
func anyWindow() []string { return []string{"from", "2020-01-01", "to", "2029-12-31"} }

// statistic asks an analytics endpoint; without the rows that it is about there is no telling what is right.
func (d *draft) statistic(a *scenario.Analytics, q ask, rows []string) {
	for _, t := range d.g.renamed {
		if t.Kind == scenario.GoneAnalytics && t.Field == a.UID {
			d.cite(scenario.KindGone, t.UID)
		}
	}
	s := sent{status: 200, match: Present, needs: rows, statistic: a, query: q.query}
	if q.field != "" {
		s = sent{status: 400, code: "query", field: q.field, query: q.query}
	}
	d.send("GET", q.path, nil, s)
}

// expectedStatistic gives decimals their point and makes the ids among the keys of groups symbols.
func (d *draft) expectedStatistic(a *scenario.Analytics, object map[string]any) any {
	_, m := d.g.schema.FieldByUID(a.Measure)
	point := func(v any) any {
		if m != nil && (m.Type == scenario.Decimal || a.Kind == scenario.StatAvg) {
			return withPoint(v)
		}
		return v
	}
	if v, ok := object["value"]; ok {
		object["value"] = point(v)
		return object
	}
	_, by := d.g.schema.FieldByUID(a.Group)
	groups, _ := object["groups"].([]any)
	for _, g := range groups {
		o, _ := g.(map[string]any)
		if by != nil && by.Type == scenario.Ref {
			o["key"] = d.symbolOf(by.Target, o["key"])
		}
		o["value"] = point(o["value"])
	}
	return object
}

// goneStatistic makes the check that a former path of an analytics endpoint is unknown.
func (g *generator) goneStatistic(c *scenario.Clause, t *scenario.Tombstone) {
	g.check(c, Own, about{"path", "analytics " + t.Name + ": the former path is unknown", "removed", "gone", ""}, func(d *draft) {
		d.send("GET", "/analytics/"+t.Name, nil, sent{status: 404, code: "not_found", query: values(anyWindow()...)})
	})
}

// grouped reports whether figures go by the field, so that its values must differ from row to row.
func (g *generator) grouped(f *scenario.Field) bool {
	return slices.ContainsFunc(g.schema.Analytics, func(a scenario.Analytics) bool { return a.Group == f.UID })
}

// groupedTarget reports whether figures go by a reference to the entity.
func (g *generator) groupedTarget(e *scenario.Entity) bool {
	return slices.ContainsFunc(g.schema.Inbound(e.UID), g.grouped)
}

// pooled reports whether rows should share values of the field: figures and lists with ties need them.
func (g *generator) pooled(e *scenario.Entity, f *scenario.Field) bool {
	if f.Unique || f.Type != scenario.String && f.Type != scenario.Integer && f.Type != scenario.Decimal && f.Type != scenario.Date {
		return false
	}
	return e.List.Names(f.UID) || slices.ContainsFunc(g.schema.Analytics, func(a scenario.Analytics) bool { return a.Measure == f.UID || a.Window == f.UID })
}

// extreme reports whether figures ask for the least or greatest value of the field over some rows.
func (g *generator) extreme(f *scenario.Field) bool {
	return slices.ContainsFunc(g.schema.Analytics, func(a scenario.Analytics) bool {
		return a.Measure == f.UID && a.Where != "" && (a.Kind == scenario.StatMin || a.Kind == scenario.StatMax)
	})
}

// cased reports whether rows should differ in the case of the field's letters alone.
func cased(e *scenario.Entity, f *scenario.Field) bool {
	return f.Type == scenario.String && f.Pattern == "" && slices.ContainsFunc(e.List.Filters, func(x scenario.Filter) bool { return x.Field == f.UID })
}

// capitals is a text in capital letters.
func capitals(v any) any {
	if s, ok := v.(string); ok {
		return strings.ToUpper(s)
	}
	return v
}

// topped returns the first top that groups n rows by the field or computes with it.
func (d *draft) topped(e *scenario.Entity, f *scenario.Field, n int) *ranking {
	for _, a := range d.g.statsOf(e.UID) {
		if a.Kind == scenario.StatTop && (a.Group == f.UID || a.Measure == f.UID) {
			_, by := d.g.schema.FieldByUID(a.Group)
			r := &ranking{Analytics: a, n: n, round: 2, k: targetRows - 1}
			if by.Nullable {
				r.round = 3
			}
			if by.Type == scenario.Enum {
				r.k = len(d.g.filtered(by))
			}
			return r
		}
	}
	return nil
}

// ranking arranges rows so that a top shows its order, its ties, where it is cut and whether nulls are a group: rounds of
// one row of each of two groups and, where that is possible, one without a group; then two small groups; then more
// rounds as far as they are whole.
type ranking struct {
	*scenario.Analytics
	n     int // rows, of which the last has required fields only
	round int // rows of a round
	k     int // groups
}

// firstRounds is how many rows come before the two small groups.
func (r *ranking) firstRounds() int { return 10 / r.round * r.round }

// seat is the round of row i and its place there; round -1 is none.
func (r *ranking) seat(i int) (round, place int) {
	first := r.firstRounds()
	if i < first {
		return i / r.round, i % r.round
	}
	i -= first + 2
	if i >= 0 && i/r.round < (r.n-1-first-2)/r.round {
		return (first + i) / r.round, i % r.round
	}
	return -1, 0
}

// place is the group of row i.
func (r *ranking) place(i int) int {
	round, place := r.seat(i)
	switch {
	case round >= 0:
		return place % 2
	case i == r.firstRounds()+1 && r.k > 3:
		return 3
	}
	return 2
}

// alike is the row whose measure row i has, so that the sums of the first two groups are equal.
func (r *ranking) alike(i int) int {
	if round, place := r.seat(i); round >= 0 {
		return i - place
	}
	return i
}

// null reports whether a nullable field has no value in row i: the group in the third row of every round, a measure where the
// first two groups lose the same.
func (r *ranking) null(f *scenario.Field, i int) bool {
	round, place := r.seat(i)
	switch {
	case f.UID != r.Group:
		return round == 1
	case round < 0: // a second row would make the small group no smaller than the others
		return i > r.firstRounds() && r.place(i) == 2
	}
	return place == 2
}
