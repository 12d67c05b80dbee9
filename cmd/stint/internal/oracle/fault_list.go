package oracle

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// The kinds of fault of lists.
const (
	FilterWrong = "filter_wrong" // ignored, alone (not beside another), min and max (exclusive), case, prefix, nulls, total, name=OLD
	SortWrong   = "sort_wrong"   // a sort key or the default order: ignored, direction, ties, nulls, name=OLD
	PageWrong   = "page_wrong"   // default (all rows), limit, offset, shift, total, before_filter, before_sort
	NestedWrong = "nested_wrong" // all (rows of every parent), unknown (an unknown parent has an empty list)
)

// buildLists gives the entities what their lists take; all fields exist by then.
func (b *builder) buildLists() {
	for n := range b.schema.Entities {
		def := &b.schema.Entities[n]
		e := b.entities[def.UID]
		for _, x := range def.List.Filters {
			f := b.fields[x.Field]
			l := &listFilter{kind: x.Kind, on: f, params: x.Params(&f.Field)}
			e.filters = append(e.filters, l)
			b.filters[x.UID] = l
		}
		for _, k := range def.List.Sorts {
			o := &listOrder{by: b.fields[k.Field], name: b.fields[k.Field].Name}
			e.sorts = append(e.sorts, o)
			b.sorts[k.UID] = o
		}
		if d := def.List.Default; d != nil {
			e.byItself = &listOrder{by: b.fields[d.Field], desc: d.Desc}
		}
		if p := def.List.Page; p != nil {
			e.page = &listPage{size: p.Default, most: p.Max}
		}
		for _, f := range e.fields {
			if f.Nested {
				f.target.nested = with(f.target.nested, def.Plural, &nestedList{by: f})
				b.lists[f.UID] = f.target.nested[def.Plural]
			}
		}
	}
}

// plantList switches on faults of lists that are no matter of an entity's other rules.
func (b *builder) plantList(x Fault) {
	if l := b.filters[x.Subject]; l != nil {
		l.plant(x)
		if _, _, def := b.schema.Filter(x.Subject); x.Kind == FilterWrong && x.Param == "total" {
			owner, _, _ := strings.Cut(def.UID, ".")
			b.entities[owner].countAll = true
		}
	}
	if o := b.sorts[x.Subject]; o != nil {
		o.plant(x)
	}
	if n := b.lists[x.Subject]; n != nil {
		switch {
		case x.Kind == EndpointMissing:
			n.broken = true
		case x.Kind == NestedWrong && x.Param == "all":
			n.whole = true
		case x.Kind == NestedWrong && x.Param == "unknown":
			n.lenient = true
		}
	}
	if e := b.entities[x.Subject]; e != nil {
		e.plantList(x, b)
	}
}

func (l *listFilter) plant(x Fault) {
	switch {
	case x.Kind == Permissive && x.Param == "query":
		l.lax = true
	case x.Kind == WrongCode:
		l.codes = with(l.codes, x.Param, wrongCodeWord)
	case x.Kind != FilterWrong:
		return
	}
	what, old, _ := strings.Cut(x.Param, "=")
	switch what {
	case "ignored":
		l.ignored = true
	case "alone":
		l.alone = true
	case "min":
		l.minOpen = true
	case "max":
		l.maxOpen = true
	case "case":
		l.anyCase = true
	case "prefix":
		l.prefix = true
	case "nulls":
		l.nulls = true
	case "name":
		f := l.on.Field
		f.Name = old
		l.params = (&scenario.Filter{Kind: l.kind}).Params(&f)
	}
}

func (o *listOrder) plant(x Fault) {
	switch {
	case x.Kind == Permissive && x.Param == "sort":
		o.lax = true
	case x.Kind == WrongCode && x.Param == "query":
		o.codes = with(o.codes, x.Param, wrongCodeWord)
	case x.Kind != SortWrong:
		return
	}
	what, old, _ := strings.Cut(x.Param, "=")
	switch what {
	case "ignored":
		o.ignored = true
	case "direction":
		o.oneWay = true
	case "ties":
		o.ties = true
	case "nulls":
		o.nullsLast = true
	case "name":
		o.name = old
	}
}

// plantList switches on faults of the default order and of pages.
func (e *entity) plantList(x Fault, b *builder) {
	if x.Kind == SortWrong && e.byItself != nil {
		e.byItself.plant(x)
	}
	if kind, params, _ := strings.Cut(x.Param, ":"); x.Kind == Stale {
		switch kind {
		case string(scenario.KindDefaultSort):
			if f := b.fields[scenario.ClauseParam(params, "field")]; f != nil && f.owner == e {
				e.byItself = &listOrder{by: f, desc: scenario.ClauseParam(params, "desc") == "true"}
			}
		case string(scenario.KindPage):
			size, most := number[int](scenario.ClauseParam(params, "default")), number[int](scenario.ClauseParam(params, "max"))
			if e.page != nil && size != nil && most != nil {
				e.page.size, e.page.most = *size, *most
			}
		}
	}
	p := e.page
	if p == nil {
		return
	}
	switch x.Kind + " " + x.Param {
	case PageWrong + " default":
		p.whole = true
	case PageWrong + " limit":
		p.unlimited = true
	case PageWrong + " offset":
		p.unmoved = true
	case PageWrong + " shift":
		p.shifted = true
	case PageWrong + " total":
		p.countPage = true
	case PageWrong + " before_filter":
		p.beforeFilter = true
	case PageWrong + " before_sort":
		p.beforeSort = true
	case OffByOne + " page_max":
		p.most1 = true
	case Permissive + " page_max":
		p.clamps = true
	case Permissive + " page_zero":
		p.zero = true
	case Permissive + " page_offset":
		p.negative = true
	case WrongCode + " query":
		p.codes = with(p.codes, "query", wrongCodeWord)
	}
}

// listFaults lists the faults of clauses about lists; ok is false for other clauses.
func (l *lister) listFaults(prev *scenario.Schema) (ok bool) {
	switch l.clause.Kind {
	case scenario.KindFilter:
		if e, f, x := l.schema.Filter(l.clause.Subject); f != nil {
			l.filter(e, f, x)
			l.oldName(FilterWrong, prev, f)
		}
	case scenario.KindSort:
		if e, f, k := l.schema.SortKey(l.clause.Subject); f != nil {
			l.order(f)
			l.add(SortWrong, "direction")
			if k == &e.List.Sorts[0] {
				l.add(Permissive, "sort")
				l.add(WrongCode, "query")
			}
			l.oldName(SortWrong, prev, f)
		}
	case scenario.KindDefaultSort:
		if e := l.schema.Entity(l.clause.Subject); e != nil && e.List.Default != nil {
			_, f := l.schema.FieldByUID(e.List.Default.Field)
			l.order(f)
			if e.List.Default.Desc {
				l.add(SortWrong, "direction")
			}
			l.staleParams(prev)
		}
	case scenario.KindPage:
		if e := l.schema.Entity(l.clause.Subject); e != nil {
			l.page(e)
			l.staleParams(prev)
		}
	case scenario.KindNested:
		l.add(EndpointMissing, "nested")
		l.add(NestedWrong, "all", "unknown")
	default:
		return false
	}
	return true
}

func (l *lister) filter(e *scenario.Entity, f *scenario.Field, x *scenario.Filter) {
	l.add(FilterWrong, "ignored", "total")
	if len(e.List.Filters) > 1 {
		l.add(FilterWrong, "alone")
	}
	if f.Nullable {
		l.add(FilterWrong, "nulls")
	}
	switch {
	case x.Kind == scenario.FilterRange:
		l.add(FilterWrong, "min", "max")
	case f.Type == scenario.String:
		if x.Kind == scenario.FilterContains {
			l.add(FilterWrong, "prefix")
		}
		if f.Pattern == "" { // a pattern fixes the case
			l.add(FilterWrong, "case")
		}
		return // any text is a value
	}
	l.add(Permissive, "query")
	l.add(WrongCode, "query")
}

func (l *lister) order(f *scenario.Field) {
	l.add(SortWrong, "ignored")
	if !f.Unique {
		l.add(SortWrong, "ties")
	}
	if f.Nullable {
		l.add(SortWrong, "nulls")
	}
}

// oldName lists the parameter or word that the field's name of the turn before gives.
func (l *lister) oldName(kind string, prev *scenario.Schema, f *scenario.Field) {
	if prev == nil {
		return
	}
	if _, before := prev.FieldByUID(f.UID); before != nil && before.Name != f.Name && prev.ClauseOf(l.clause.Kind, l.clause.Subject) != nil {
		l.add(kind, "name="+before.Name)
	}
}

func (l *lister) page(e *scenario.Entity) {
	l.add(PageWrong, "default", "limit", "offset", "shift", "total")
	if len(e.List.Filters) > 0 {
		l.add(PageWrong, "before_filter")
	}
	if len(e.List.Sorts) > 0 || e.List.Default != nil {
		l.add(PageWrong, "before_sort")
	}
	l.add(OffByOne, "page_max")
	l.add(Permissive, "page_max", "page_zero", "page_offset")
	l.add(WrongCode, "query")
}

// staleParams lists the parameters that the clause had in the turn before, where they were different.
func (l *lister) staleParams(prev *scenario.Schema) {
	if prev == nil {
		return
	}
	if before := prev.ClauseOf(l.clause.Kind, l.clause.Subject); before != nil && before.Params != l.clause.Params {
		l.add(Stale, string(l.clause.Kind)+":"+before.Params)
	}
}

// analytics lists the faults of an analytics endpoint.
func (l *lister) analytics(a *scenario.Analytics) {
	l.add(EndpointMissing, "")
	if a.Where != "" {
		l.add(AnalyticsWrong, "where")
	}
	l.measured(a)
	_, g := l.schema.FieldByUID(a.Group)
	_, w := l.schema.FieldByUID(a.Window)
	switch a.Kind {
	case scenario.StatGroup, scenario.StatTop:
		if g.Nullable {
			l.add(AnalyticsWrong, "nulls")
		}
		l.add(AnalyticsWrong, "order")
		if a.Kind == scenario.StatTop {
			l.add(AnalyticsWrong, "cut", "n", "ties")
		} else if l.spared(g) {
			l.add(AnalyticsWrong, "zeros")
		}
	case scenario.StatParent:
		l.add(AnalyticsWrong, "no_zeros", "order")
	case scenario.StatWindow:
		l.add(AnalyticsWrong, "window", "from", "to")
		if w.Nullable {
			l.add(AnalyticsWrong, "nulls")
		}
		l.add(Permissive, "query")
		l.add(WrongCode, "query")
	}
}

// spared reports whether an enum has values to spare, so that rows can leave one of them out.
func (l *lister) spared(f *scenario.Field) bool {
	top := slices.ContainsFunc(l.schema.Analytics, func(a scenario.Analytics) bool { return a.Group == f.UID && a.Kind == scenario.StatTop })
	return f.Type == scenario.Enum && (len(f.Values) > 3 || len(f.Values) == 3 && !top)
}

// measured lists the faults of what an endpoint counts or computes with.
func (l *lister) measured(a *scenario.Analytics) {
	e := l.schema.Entity(a.Entity)
	_, m := l.schema.FieldByUID(a.Measure)
	if m == nil {
		for i := range l.schema.Entities {
			// One other collection is enough: the mistake is to count the wrong one.
			if uid := l.schema.Entities[i].UID; uid != a.Entity && a.Kind == scenario.StatCount {
				l.add(AnalyticsWrong, "entity="+uid)
				break
			}
		}
		return
	}
	l.add(AnalyticsWrong, "kind")
	for i := range e.Fields {
		if f := &e.Fields[i]; f.UID != a.Measure && f.Measurable() {
			l.add(AnalyticsWrong, "measure="+f.UID)
			break
		}
	}
	switch a.Kind {
	case scenario.StatSum:
		l.add(AnalyticsWrong, "empty")
	case scenario.StatAvg:
		l.add(AnalyticsWrong, "empty", "cents")
		if m.Nullable {
			l.add(AnalyticsWrong, "nulls")
		}
		return
	case scenario.StatMin, scenario.StatMax:
		l.add(AnalyticsWrong, "empty")
		// A null that counts as zero is never the largest, unless all values may be negative.
		if m.Nullable && a.Kind == scenario.StatMin && m.Min != nil && *m.Min > 0 {
			l.add(AnalyticsWrong, "nulls")
		}
	}
	if m.Type == scenario.Decimal {
		l.add(AnalyticsWrong, "cents")
	}
}

func (b *builder) plantStatistic(st *statistic, x Fault) {
	if old, renamed := strings.CutPrefix(x.Param, "name:"); x.Kind == Stale && renamed {
		delete(b.interp.stats, b.schema.AnalyticsByUID(x.Subject).Name)
		b.interp.stats[old] = st
		return
	}
	switch x.Kind {
	case EndpointMissing:
		st.broken = true
	case Permissive:
		st.lax = st.lax || x.Param == "query"
	case WrongCode:
		st.codes = with(st.codes, x.Param, wrongCodeWord)
	case Stale:
		b.staleStatistic(st, x.Param)
	case AnalyticsWrong:
		b.spoilStatistic(st, x.Param)
	}
}

func (b *builder) spoilStatistic(st *statistic, param string) {
	what, uid, _ := strings.Cut(param, "=")
	switch what {
	case "kind":
		switch st.kind {
		case scenario.StatMin:
			st.kind = scenario.StatMax
		case scenario.StatMax:
			st.kind = scenario.StatMin
		case scenario.StatAvg:
			st.kind = scenario.StatSum
		default:
			st.measure = nil
		}
	case "where":
		st.where = nil
	case "measure":
		if f := b.fields[uid]; f != nil && f.owner == st.over && st.measure != nil {
			st.measure = f
		}
	case "entity":
		if e := b.entities[uid]; e != nil && st.measure == nil && st.group == nil && st.window == nil {
			st.over, st.where = e, nil
		}
	case "empty":
		st.emptyWrong = true
	case "cents":
		st.whole = true
	case "nulls":
		st.nulls = true
	case "order":
		st.backwards = true
	case "ties":
		st.tiesBackwards = true
	case "cut":
		st.n = 1 << 30
	case "n":
		st.n++
	case "zeros":
		st.zeros = st.group != nil
	case "no_zeros":
		st.noZeros = true
	case "window":
		st.never = true
	case "from":
		st.fromOpen = true
	case "to":
		st.toOpen = true
	}
}

// staleStatistic gives an endpoint the condition that it had before.
func (b *builder) staleStatistic(st *statistic, param string) {
	_, params, _ := strings.Cut(param, ":")
	f := b.fields[scenario.ClauseParam(params, "where")]
	if f == nil || f.owner != st.over {
		st.where = nil
		return
	}
	st.where = f
	value, err := strconv.Unquote(scenario.ClauseParam(params, "equals"))
	if err != nil {
		value = scenario.ClauseParam(params, "equals")
	}
	if v, ok := f.parse(value); ok || f.Type == scenario.Enum {
		st.equals = v
	}
}

// goneStatistic lists the faults of a former name of an endpoint.
func (l *lister) goneStatistic(prev *scenario.Schema, t *scenario.Tombstone) {
	l.add(OldName, "return")
	if prev == nil || l.schema.AnalyticsByUID(t.Field) == nil {
		return
	}
	if slices.ContainsFunc(prev.Analytics, func(a scenario.Analytics) bool { return a.UID == t.Field && a.Name == t.Name }) {
		l.found = append(l.found, Fault{Kind: Stale, Subject: t.Field, Param: "name:" + t.Name, Clause: l.clause.ID})
	}
}
