package scenario

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// enumerateAddAnalytics offers, for every entity, a count of all rows, counts by each value of its enum and
// boolean fields, and sums of its numbers with and without such a filter, unless the same endpoint exists.
func enumerateAddAnalytics(x *enumeration) {
	if len(x.s.Analytics) >= MaxAnalytics {
		return
	}
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		filters := e.filters()
		x.addAnalytics(e, nil, nil)
		for _, w := range filters {
			x.addAnalytics(e, nil, &w)
		}
		for j := range e.Fields {
			m := &e.Fields[j]
			if m.Type != Integer && m.Type != Decimal || m.Managed() {
				continue
			}
			x.addAnalytics(e, m, nil)
			for _, w := range filters {
				x.addAnalytics(e, m, &w)
			}
		}
	}
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
		if f.Managed() {
			continue
		}
		switch f.Type {
		case Enum:
			for _, v := range f.Values {
				fs = append(fs, filter{f, Value{Str: v}})
			}
		case Boolean:
			fs = append(fs, filter{f, Value{Bool: true}}, filter{f, Value{Bool: false}})
		}
	}
	return fs
}

func (x *enumeration) addAnalytics(e *Entity, measure *Field, where *filter) {
	a := Analytics{UID: "a" + strconv.Itoa(x.s.NextStat+1), Entity: e.UID, Kind: "count"}
	label := e.UID
	if measure != nil {
		a.Kind, a.Measure = "sum", measure.UID
		label += "/" + measure.UID
	}
	if where != nil {
		a.Where, a.Equals = where.field.UID, &where.value
		label += "/" + where.field.UID + "=" + where.field.Literal(&where.value)
	}
	want := a.params(x.s)
	if slices.ContainsFunc(x.s.Analytics, func(o Analytics) bool { return o.params(x.s) == want }) {
		return
	}
	if a.Name = x.s.analyticsName(x.stream(label), e, measure, where); a.Name != "" {
		x.add(map[string]string{"analytics": marshal(a)})
	}
}

// analyticsName draws a free name for an endpoint, or "" if all are taken or too long.
func (s *Schema) analyticsName(r *rand.Rand, e *Entity, measure *Field, where *filter) string {
	suffix := ""
	if where != nil {
		suffix = "_" + where.value.Str
		if where.field.Type == Boolean {
			suffix = "_" + where.field.Name
			if !where.value.Bool {
				suffix = "_not" + suffix
			}
		}
	}
	var names []string
	if measure == nil {
		names = []string{e.Plural + suffix + "_count", "number_of_" + e.Plural + suffix, e.Name + suffix + "_count"}
	} else {
		names = []string{e.Name + suffix + "_" + measure.Name + "_sum", "sum_" + measure.Name + "_" + e.Plural + suffix, e.Name + suffix + "_" + measure.Name + "_total"}
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, n := range names {
		if checkName(n) == nil && !slices.ContainsFunc(s.Analytics, func(a Analytics) bool { return a.Name == n }) {
			return n
		}
	}
	return ""
}

func applyAddAnalytics(s *Schema, p map[string]string) error {
	a, err := analyticsFrom(p)
	if err != nil {
		return err
	}
	if want := "a" + strconv.Itoa(s.NextStat+1); a.UID != want {
		return fmt.Errorf("new analytics endpoint has uid %q, next is %q", a.UID, want)
	}
	s.NextStat++
	s.Analytics = append(s.Analytics, a)
	return nil
}

func analyticsFrom(p map[string]string) (Analytics, error) {
	var a Analytics
	if err := json.Unmarshal([]byte(p["analytics"]), &a); err != nil {
		return a, fmt.Errorf("reading the new analytics endpoint: %w", err)
	}
	return a, nil
}

func titleAddAnalytics(_ *Schema, p map[string]string) string {
	a, err := analyticsFrom(p)
	if err != nil {
		return "new analytics"
	}
	return fmt.Sprintf("analytics %s: %s", a.Name, a.Kind)
}
