package scenario

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// statisticOperations are the operations about analytics.
func statisticOperations() []kindOfOperation {
	return []kindOfOperation{
		{"add_analytics", "A", 1.5, enumerateAddAnalytics, applyAddAnalytics, titleAddAnalytics},
		{"add_grouped_analytics", "A", 1.5, enumerateAddGrouped, applyAddAnalytics, titleAddAnalytics},
		{"change_analytics_filter", "R", 1.5, enumerateChangeWhere, applyChangeWhere, titleChangeWhere},
		{"rename_analytics", "R", 1, enumerateRenameAnalytics, applyRenameAnalytics, titleRenameAnalytics},
		{"remove_analytics", "D", 0.5, enumerateRemoveAnalytics, applyRemoveAnalytics, titleRemoveAnalytics},
	}
}

// Measurable reports whether analytics can compute with the field.
func (f *Field) Measurable() bool {
	return (f.Type == Integer || f.Type == Decimal) && !f.Managed()
}

// enumerateAddAnalytics offers, for every entity, a count of all rows, counts by each value of its enum and
// boolean fields, sums of its numbers with and without such a filter, and average, least and greatest of its numbers
// with and without one drawn filter, unless the same endpoint exists.
func enumerateAddAnalytics(x *enumeration) {
	if len(x.s.Analytics) >= MaxAnalytics {
		return
	}
	have := x.s.statistics()
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		filters := e.filters()
		x.addAnalytics(e, Analytics{Kind: StatCount}, nil, have)
		for _, w := range filters {
			x.addAnalytics(e, Analytics{Kind: StatCount}, &w, have)
		}
		for j := range e.Fields {
			m := &e.Fields[j]
			if !m.Measurable() {
				continue
			}
			x.addAnalytics(e, Analytics{Kind: StatSum, Measure: m.UID}, nil, have)
			for _, w := range filters {
				x.addAnalytics(e, Analytics{Kind: StatSum, Measure: m.UID}, &w, have)
			}
			for _, kind := range []string{StatAvg, StatMin, StatMax} {
				x.addAnalytics(e, Analytics{Kind: kind, Measure: m.UID}, nil, have)
				if len(filters) > 0 {
					x.addAnalytics(e, Analytics{Kind: kind, Measure: m.UID}, ptr(pick(x.stream(kind+"/where/"+m.UID), filters)), have)
				}
			}
		}
	}
}

// enumerateAddGrouped offers, for every entity, figures by each enum, boolean and reference, and over a span of
// each date: the number of rows and the sum of one drawn number, some of them with a drawn filter.
func enumerateAddGrouped(x *enumeration) {
	if len(x.s.Analytics) >= MaxAnalytics {
		return
	}
	have := x.s.statistics()
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		var numbers []*Field
		for j := range e.Fields {
			if e.Fields[j].Measurable() {
				numbers = append(numbers, &e.Fields[j])
			}
		}
		for j := range e.Fields {
			f := &e.Fields[j]
			for _, kind := range f.groupings() {
				r := x.stream(kind + "/" + f.UID)
				a := Analytics{Kind: kind, Group: f.UID}
				switch kind {
				case StatWindow:
					a.Group, a.Window = "", f.UID
				case StatTop:
					a.N = 1 + r.IntN(f.maxTop())
				}
				where := func() *filter { return drawWhere(r, e, f) }
				if kind == StatTop { // too few rows would fit for an order with ties
					where = func() *filter { return nil }
				}
				x.addAnalytics(e, a, where(), have)
				if len(numbers) > 0 {
					a.Measure = pick(r, numbers).UID
					x.addAnalytics(e, a, where(), have)
				}
			}
		}
	}
}

// groupings lists the kinds of analytics that go by the field. A top of fewer than three groups would not show its order and
// its ties.
func (f *Field) groupings() []string {
	if f.Managed() {
		return nil
	}
	switch f.Type {
	case Enum:
		if len(f.Values) >= 3 {
			return []string{StatGroup, StatTop}
		}
		return []string{StatGroup}
	case Boolean:
		return []string{StatGroup}
	case Ref:
		return []string{StatGroup, StatTop, StatParent}
	case Date:
		return []string{StatWindow}
	}
	return nil
}

// maxTop is the largest number of groups that a top may ask for, so that more can exist.
func (f *Field) maxTop() int {
	switch f.Type {
	case Enum:
		return max(1, min(3, len(f.Values)-2))
	case Ref:
		return 2
	}
	return 1
}

// drawWhere draws a condition on another field in three of ten cases.
func drawWhere(r *rand.Rand, e *Entity, f *Field) *filter {
	filters := slices.DeleteFunc(e.filters(), func(w filter) bool { return w.field.UID == f.UID })
	if !chance(r, 0.3) || len(filters) == 0 {
		return nil
	}
	return ptr(pick(r, filters))
}

// filter is a condition that an analytics endpoint can have.
type filter struct {
	field *Field
	value Value
}

func (e *Entity) filters() []filter {
	var fs []filter
	for i := range e.Fields {
		f := &e.Fields[i]
		switch {
		case f.Managed():
		case f.Type == Enum:
			for _, v := range f.Values {
				fs = append(fs, filter{f, Value{Str: v}})
			}
		case f.Type == Boolean:
			fs = append(fs, filter{f, Value{Bool: true}}, filter{f, Value{Bool: false}})
		}
	}
	return fs
}

// statistics is the set of what the endpoints compute.
func (s *Schema) statistics() map[string]bool {
	have := make(map[string]bool, len(s.Analytics))
	for i := range s.Analytics {
		have[s.Analytics[i].params(s)] = true
	}
	return have
}

func (x *enumeration) addAnalytics(e *Entity, a Analytics, where *filter, have map[string]bool) {
	a.UID, a.Entity = "a"+strconv.Itoa(x.s.NextStat+1), e.UID
	if where != nil {
		a.Where, a.Equals = where.field.UID, &where.value
	}
	params := a.params(x.s)
	if have[params] {
		return
	}
	if a.Name = x.s.analyticsName(x.stream(params), &a, ""); a.Name != "" {
		x.add(map[string]string{"analytics": marshal(a)})
	}
}

// params is the canonical text of what the endpoint computes.
func (a *Analytics) params(s *Schema) string {
	p := "kind=" + a.Kind + ";entity=" + a.Entity
	for _, part := range [][2]string{{"measure", a.Measure}, {"group", a.Group}, {"window", a.Window}} {
		if part[1] != "" {
			p += ";" + part[0] + "=" + part[1]
		}
	}
	if a.N > 0 {
		p += ";n=" + strconv.Itoa(a.N)
	}
	if a.Where != "" {
		value := ""
		if _, f := s.FieldByUID(a.Where); f != nil {
			value = f.Literal(a.Equals)
		}
		p += ";where=" + a.Where + ";equals=" + value
	}
	return p
}

// analyticsName draws a free name for an endpoint other than not, or "" if all are taken or too long.
func (s *Schema) analyticsName(r *rand.Rand, a *Analytics, not string) string {
	names := s.analyticsNames(a)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, n := range names {
		if n != not && s.freeAnalytics(n) {
			return n
		}
	}
	return ""
}

// freeAnalytics reports whether an endpoint may get this name: well-formed, not in use, never used before.
func (s *Schema) freeAnalytics(name string) bool {
	return checkName(name) == nil && !slices.ContainsFunc(s.Analytics, func(a Analytics) bool { return a.Name == name }) && !s.buried(GoneAnalytics, "", name)
}

// analyticsNames lists names that say what the endpoint computes.
func (s *Schema) analyticsNames(a *Analytics) []string {
	e := s.Entity(a.Entity)
	suffix := ""
	if _, w := s.FieldByUID(a.Where); w != nil {
		suffix = "_" + a.Equals.Str
		if w.Type == Boolean {
			suffix = "_" + w.Name
			if !a.Equals.Bool {
				suffix = "_not" + suffix
			}
		}
	}
	_, m := s.FieldByUID(a.Measure)
	_, g := s.FieldByUID(a.Group + a.Window)
	what := e.Plural + suffix
	if m != nil {
		what = e.Name + suffix + "_" + m.Name
	}
	by := ""
	switch {
	case g != nil && g.Type == Ref:
		by = s.Entity(g.Target).Name
	case g != nil:
		by = g.Name
	}
	switch a.Kind {
	case StatCount:
		return []string{what + "_count", "number_of_" + what, e.Name + suffix + "_count"}
	case StatSum:
		return []string{what + "_sum", "sum_" + m.Name + "_" + e.Plural + suffix, what + "_total"}
	case StatAvg:
		return []string{what + "_average", "mean_" + what, "average_" + what}
	case StatMin:
		return []string{what + "_min", "least_" + what, "lowest_" + what}
	case StatMax:
		return []string{what + "_max", "greatest_" + what, "highest_" + what}
	case StatTop:
		return []string{"top_" + by + "_" + what, what + "_top_" + by, "leading_" + by + "_" + what}
	case StatWindow:
		return []string{what + "_between", what + "_in_" + by + "_span", what + "_by_period"}
	case StatParent:
		return []string{what + "_per_" + by, "all_" + by + "_" + what, by + "_" + what + "_list"}
	}
	return []string{what + "_by_" + by, what + "_grouped_by_" + by, by + "_" + what}
}

func applyAddAnalytics(s *Schema, p map[string]string) error {
	a, err := analyticsFrom(p)
	if err != nil {
		return err
	}
	if want := "a" + strconv.Itoa(s.NextStat+1); a.UID != want {
		return fmt.Errorf("new analytics endpoint has uid %q, next is %q", a.UID, want)
	}
	if !s.freeAnalytics(a.Name) {
		return fmt.Errorf("analytics name %q is not free", a.Name)
	}
	s.NextStat++
	s.Analytics = append(s.Analytics, a)
	return nil
}

func analyticsFrom(p map[string]string) (Analytics, error) {
	return read[Analytics](p, "analytics", "the new analytics endpoint")
}

func titleAddAnalytics(_ *Schema, p map[string]string) string {
	a, err := analyticsFrom(p)
	if err != nil {
		return "new analytics"
	}
	return fmt.Sprintf("analytics %s: %s", a.Name, a.Kind)
}

// enumerateChangeWhere offers for every endpoint but a top all rows and one or two drawn conditions, if the result is another one
// and computed by no other endpoint.
func enumerateChangeWhere(x *enumeration) {
	have := x.s.statistics()
	for i := range x.s.Analytics {
		a := x.s.Analytics[i]
		if a.Kind == StatTop || x.s.tellsWhere(&a) {
			continue
		}
		add := func(where, equals string) {
			params := map[string]string{"statistic": a.UID, "where": where, "equals": equals}
			c := a
			if x.s.setWhere(&c, params) == nil && !have[c.params(x.s)] {
				x.add(params)
			}
		}
		add("", "")
		e := x.s.Entity(a.Entity)
		filters := slices.DeleteFunc(e.filters(), func(w filter) bool { return w.field.UID == a.Group })
		r := x.stream(a.UID)
		r.Shuffle(len(filters), func(i, j int) { filters[i], filters[j] = filters[j], filters[i] })
		for _, w := range filters[:min(2, len(filters))] {
			add(w.field.UID, marshal(w.value))
		}
	}
}

// tellsWhere reports whether the name of an endpoint speaks of its condition, so that with another one it would lie.
func (s *Schema) tellsWhere(a *Analytics) bool {
	_, w := s.FieldByUID(a.Where)
	return w != nil && (a.Equals.Str != "" && strings.Contains(a.Name, a.Equals.Str) || w.Type == Boolean && strings.Contains(a.Name, w.Name))
}

func (s *Schema) statisticParam(p map[string]string) (*Analytics, error) {
	a := s.AnalyticsByUID(p["statistic"])
	if a == nil {
		return nil, fmt.Errorf("no analytics endpoint %q", p["statistic"])
	}
	return a, nil
}

func applyChangeWhere(s *Schema, p map[string]string) error {
	a, err := s.statisticParam(p)
	if err != nil {
		return err
	}
	return s.setWhere(a, p)
}

// setWhere gives an endpoint the condition of the parameters.
func (s *Schema) setWhere(a *Analytics, p map[string]string) error {
	a.Where, a.Equals = p["where"], nil
	if a.Where == "" {
		return nil
	}
	a.Equals = new(Value)
	if err := json.Unmarshal([]byte(p["equals"]), a.Equals); err != nil {
		return fmt.Errorf("parameter equals: %w", err)
	}
	if _, w := s.FieldByUID(a.Where); w == nil {
		return fmt.Errorf("no field %q", a.Where)
	}
	return nil
}

func titleChangeWhere(s *Schema, p map[string]string) string {
	a := s.AnalyticsByUID(p["statistic"])
	if a == nil {
		return "analytics: another filter"
	}
	next := *a
	if s.setWhere(&next, p) != nil {
		return "analytics: another filter"
	}
	if _, w := s.FieldByUID(next.Where); w != nil {
		return fmt.Sprintf("analytics %s: only %s %s", a.Name, w.Name, w.Literal(next.Equals))
	}
	return fmt.Sprintf("analytics %s: all rows", a.Name)
}

// enumerateRenameAnalytics offers one drawn name for every endpoint.
func enumerateRenameAnalytics(x *enumeration) {
	for i := range x.s.Analytics {
		a := &x.s.Analytics[i]
		if name := x.s.analyticsName(x.stream(a.UID), a, a.Name); name != "" {
			x.add(map[string]string{"statistic": a.UID, "name": name})
		}
	}
}

func applyRenameAnalytics(s *Schema, p map[string]string) error {
	a, err := s.statisticParam(p)
	if err != nil {
		return err
	}
	if !s.freeAnalytics(p["name"]) {
		return fmt.Errorf("analytics name %q is not free", p["name"])
	}
	s.buryName(GoneAnalytics, "", a.UID, a.Name, "")
	a.Name = p["name"]
	return nil
}

func titleRenameAnalytics(s *Schema, p map[string]string) string {
	a := s.AnalyticsByUID(p["statistic"])
	if a == nil {
		return "rename analytics"
	}
	return fmt.Sprintf("analytics %s is now %s", a.Name, p["name"])
}

func enumerateRemoveAnalytics(x *enumeration) {
	for i := range x.s.Analytics {
		x.add(map[string]string{"statistic": x.s.Analytics[i].UID})
	}
}

func applyRemoveAnalytics(s *Schema, p map[string]string) error {
	a, err := s.statisticParam(p)
	if err != nil {
		return err
	}
	s.buryName(GoneAnalytics, "", a.UID, a.Name, "")
	s.Analytics = slices.DeleteFunc(s.Analytics, func(o Analytics) bool { return o.UID == p["statistic"] })
	return nil
}

func titleRemoveAnalytics(s *Schema, p map[string]string) string {
	a := s.AnalyticsByUID(p["statistic"])
	if a == nil {
		return "remove analytics"
	}
	return fmt.Sprintf("analytics %s is removed", a.Name)
}

// statisticOf returns the endpoint that an operation is about, as it was before where it existed; nil for others.
func statisticOf(before, next *Schema, op Operation) *Analytics {
	switch op.Name {
	case "add_analytics", "add_grouped_analytics":
		return &next.Analytics[len(next.Analytics)-1]
	case "change_analytics_filter", "rename_analytics", "remove_analytics":
		return before.AnalyticsByUID(op.Params["statistic"])
	}
	return nil
}
