package suite

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// maxCandidates bounds how many choices of values are tried for one clause.
const maxCandidates = 16

// values is a query of one or more parameters: name, value, name, value.
func values(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q
}

// with is a query together with more parameters.
func with(q, more url.Values) url.Values {
	out := maps.Clone(more)
	maps.Copy(out, q)
	return out
}

// shown asks for as many rows as a page can hold, where the list comes in pages.
func (p *prober) shown(e *scenario.Entity, q url.Values) url.Values {
	if e.List.Page == nil {
		return q
	}
	return with(q, values("limit", strconv.Itoa(e.List.Page.Max)))
}

// cites are the clauses that decide how the list looks, besides the probe's own.
func (p *prober) cites(e *scenario.Entity, f *scenario.Field, sorted bool, more ...cited) []cited {
	if e.List.Page != nil {
		more = append(more, cited{scenario.KindPage, e.UID})
	}
	if e.List.Default != nil && !sorted {
		more = append(more, cited{scenario.KindDefaultSort, e.UID})
	}
	if f == nil {
		return more
	}
	for _, t := range p.g.renamed {
		if t.Field == f.UID {
			more = append(more, cited{scenario.KindGone, t.UID})
		}
	}
	return more
}

// distinct lists the values of a field in some rows, in the order in which they are compared; nulls are left out.
func distinct(rows []map[string]any, f *scenario.Field) []any {
	var out []any
	for _, o := range rows {
		if v := o[f.Name]; v != nil && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, compareJSON)
	return out
}

// compareJSON orders values of one field.
func compareJSON(a, b any) int {
	number := func(v any) float64 {
		if v == true {
			return 1
		}
		x, _ := decimal(v)
		return x
	}
	x, _ := a.(string)
	y, _ := b.(string)
	return cmp.Or(cmp.Compare(number(a), number(b)), strings.Compare(x, y))
}

// filterProbes offers probes with different values of the rows.
func (p *prober) filterProbes() [][]probe {
	e, f, x := p.g.schema.Filter(p.clause.Subject)
	var others []*scenario.Filter
	for i := range e.List.Filters {
		if o := &e.List.Filters[i]; o.UID != x.UID {
			others = append(others, o)
		}
	}
	mine := p.choices(e, f, x)
	var out [][]probe
	for _, q := range mine {
		base := p.filterProbe(e, f, x, q)
		if len(others) == 0 {
			out = append(out, base)
			continue
		}
		// The other filter is one that narrows the rows further, whichever that is.
		for _, o := range others {
			_, of, _ := p.g.schema.Filter(o.UID)
			for _, oq := range p.choices(e, of, o) {
				both := probe{about: about{"both", e.Plural + " are listed by " + f.Name + " and " + of.Name, "filter", "value", ""},
					asks:  []ask{{"/" + e.Plural, p.shown(e, with(q, oq)), []string{"id", f.Name, of.Name}, ""}},
					cites: p.cites(e, f, false, cited{scenario.KindFilter, o.UID})}
				out = append(out, append(slices.Clone(base), both))
				if len(out) >= 4*maxCandidates {
					return out
				}
			}
		}
	}
	return out
}

// choices lists what a filter can be asked for with values of the rows, the most telling first.
func (p *prober) choices(e *scenario.Entity, f *scenario.Field, x *scenario.Filter) []url.Values {
	rows := p.d.objects(e)
	have := distinct(rows, f)
	params := x.Params(f)
	var out []url.Values
	switch x.Kind {
	case scenario.FilterRange:
		for _, pair := range inner(len(have)) {
			low, _ := queryText(have[pair[0]])
			high, _ := queryText(have[pair[1]])
			out = append(out, values(params[0], low, params[1], high))
		}
	case scenario.FilterContains:
		for _, v := range have {
			s := []rune(v.(string))
			if len(s) > 2 {
				s = s[1 : len(s)-1]
			}
			out = append(out, values(params[0], string(s)))
		}
	default:
		for _, v := range have {
			s, _ := queryText(v)
			out = append(out, values(params[0], s))
		}
	}
	return out[:min(len(out), maxCandidates)]
}

// inner lists pairs of positions of n ordered values: first those that leave something out on both sides.
func inner(n int) [][2]int {
	var out, rest [][2]int
	for width := n - 1; width >= 0; width-- {
		for low := 0; low+width < n; low++ {
			pair := [2]int{low, low + width}
			if low > 0 && low+width < n-1 {
				out = append(out, pair)
			} else {
				rest = append(rest, pair)
			}
		}
	}
	out = append(out, rest...)
	return out[:min(len(out), maxCandidates)]
}

func (p *prober) filterProbe(e *scenario.Entity, f *scenario.Field, x *scenario.Filter, q url.Values) []probe {
	path, keys := "/"+e.Plural, []string{"id", f.Name}
	one := probe{about: about{"fits", "only the " + e.Plural + " that fit are listed and counted", "filter", "value", ""},
		asks: []ask{{path, p.shown(e, q), keys, ""}}, cites: p.cites(e, f, false)}
	out := []probe{one}
	params := x.Params(f)
	if x.Kind == scenario.FilterRange {
		open := probe{about: about{"open", "a range of " + f.Name + " with one end", "filter", "value", ""}, cites: p.cites(e, f, false)}
		for _, param := range params {
			open.asks = append(open.asks, ask{path, p.shown(e, values(param, q.Get(param))), keys, ""})
		}
		out = append(out, open)
	}
	if f.Type == scenario.String {
		return out
	}
	bad := probe{about: about{"wrong", "a value that is none of " + f.Name + " is refused", "filter", "reject", "type"}, cites: p.cites(e, f, true)}
	for _, param := range params {
		bad.asks = append(bad.asks, ask{path, values(param, "no_such_value"), nil, param})
	}
	return append(out, bad)
}

func (p *prober) sortProbes() [][]probe {
	e, f, k := p.g.schema.SortKey(p.clause.Subject)
	path, keys := "/"+e.Plural, []string{"id", f.Name}
	out := []probe{
		{about{"ascending", e.Plural + " in ascending order of " + f.Name, "sort", "value", ""}, []ask{{path, p.shown(e, values("sort", f.Name)), keys, ""}}, p.cites(e, f, true)},
		{about{"descending", e.Plural + " in descending order of " + f.Name, "sort", "value", ""}, []ask{{path, p.shown(e, values("sort", "-"+f.Name)), keys, ""}}, p.cites(e, f, true)},
	}
	if k == &e.List.Sorts[0] {
		out = append(out, probe{about{"unknown", "a word that is no sort key is refused", "sort", "reject", "enum"}, []ask{{path, values("sort", p.g.unknownKey(e)), nil, "sort"}}, nil})
	}
	return [][]probe{out}
}

func (p *prober) defaultSortProbes() [][]probe {
	e := p.g.schema.Entity(p.clause.Subject)
	_, f := p.g.schema.FieldByUID(e.List.Default.Field)
	return [][]probe{{{about{"default", e.Plural + " in the order of " + f.Name + " when none is asked for", "sort", "value", ""},
		[]ask{{"/" + e.Plural, p.shown(e, nil), []string{"id", f.Name}, ""}}, p.cites(e, f, true)}}}
}

// pageProbes offers pages of the plain list, and pages of what filters and sort keys choose.
func (p *prober) pageProbes() [][]probe {
	e := p.g.schema.Entity(p.clause.Subject)
	l, path, keys := &e.List, "/"+e.Plural, []string{"id"}
	most := strconv.Itoa(l.Page.Max)
	order := p.cites(e, nil, false)
	good := func(variant, title string, pairs ...string) probe {
		return probe{about{variant, title, "page", "value", ""}, []ask{{path, values(pairs...), keys, ""}}, order}
	}
	bad := func(variant, title, mutation, param, value string) probe {
		return probe{about{variant, title, "page", "reject", mutation}, []ask{{path, values(param, value), nil, param}}, nil}
	}
	base := []probe{
		good("first", "the first page of "+e.Plural),
		good("middle", "a page of "+e.Plural+" from the middle", "limit", "2", "offset", "1"),
		good("beyond", "a page of "+e.Plural+" beyond the end", "offset", strconv.Itoa(len(p.d.objects(e)))),
		good("max", "the largest page of "+e.Plural, "limit", most),
		bad("above", "a page that is too large is refused", "range", "limit", strconv.Itoa(l.Page.Max+1)),
		bad("zero", "a page without rows is refused", "range", "limit", "0"),
		bad("text", "a page size that is no number is refused", "type", "limit", "many"),
		bad("negative", "a negative offset is refused", "range", "offset", "-1"),
	}
	if len(l.Sorts) > 0 {
		_, f, _ := p.g.schema.SortKey(l.Sorts[0].UID)
		base = append(base, probe{about{"sorted", "a page of sorted " + e.Plural, "page", "value", ""}, []ask{{path, values("sort", "-"+f.Name, "limit", "2"), []string{"id", f.Name}, ""}},
			p.cites(e, f, true, cited{scenario.KindSort, l.Sorts[0].UID})})
	}
	if len(l.Filters) == 0 {
		return [][]probe{base}
	}
	var out [][]probe
	for i := range l.Filters {
		_, f, _ := p.g.schema.Filter(l.Filters[i].UID)
		for _, q := range p.choices(e, f, &l.Filters[i]) {
			for _, offset := range []string{"0", "1"} {
				filtered := probe{about{"filtered", "a page of the " + e.Plural + " that fit", "page", "value", ""}, []ask{{path, with(q, values("limit", "1", "offset", offset)), []string{"id", f.Name}, ""}},
					p.cites(e, f, false, cited{scenario.KindFilter, l.Filters[i].UID})}
				out = append(out, append(slices.Clone(base), filtered))
				if len(out) >= maxCandidates {
					return out
				}
			}
		}
	}
	if len(out) == 0 {
		return [][]probe{base}
	}
	return out
}

// nested makes the checks of the list under the row that a reference names.
func (t *target) nested() {
	to := t.g.schema.Entity(t.f.Target)
	under := func(sym string) string { return item(to, sym) + "/" + t.e.Plural }
	t.check("rows", "only the "+t.e.Plural+" of one "+to.Name+" are listed under it", "relation", "value", "none", func(d *draft) {
		mine, others := d.parent(to.UID, "mine"), d.parent(to.UID, "others")
		d.make(t.e, "a", d.referring(t.e, t.f, "a", mine))
		d.make(t.e, "b", d.referring(t.e, t.f, "b", others))
		d.make(t.e, "c", d.referring(t.e, t.f, "c", mine))
		d.send("GET", under(mine), nil, sent{status: 200, match: Subset, keys: []string{"id", t.f.Name}, entity: t.e})
	})
	t.check("empty", "a "+to.Name+" without "+t.e.Plural+" has an empty list of them", "relation", "value", "none", func(d *draft) {
		d.send("GET", under(d.parent(to.UID, "mine")), nil, sent{status: 200, match: Subset, entity: t.e})
	})
	t.check("unknown", "an unknown "+to.Name+" has no list of "+t.e.Plural, "not_found", "reject", "none", func(d *draft) {
		d.send("GET", nowhere(to)+"/"+t.e.Plural, nil, sent{status: 404, code: "not_found", entity: t.e})
	})
}
