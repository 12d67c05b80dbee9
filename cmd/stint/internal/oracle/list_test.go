package oracle

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// This file is the part of the naive reading that is about lists and figures, and the part of the storm that asks for
// them.

// listing draws a request for a list, mostly with parameters that its options name.
func (g *storm) listing(e *scenario.Entity) Request {
	r := Request{Method: "GET", Path: "/" + e.Plural, Query: url.Values{}}
	word := func(f *scenario.Field) string {
		if g.r.IntN(12) == 0 {
			return "nonsense"
		}
		switch v := g.good(f).(type) {
		case string:
			return v
		default:
			b, _ := json.Marshal(v)
			return string(b)
		}
	}
	for i := range e.List.Filters {
		x := &e.List.Filters[i]
		_, f := g.s.FieldByUID(x.Field)
		for _, p := range x.Params(f) {
			if g.r.IntN(2) == 0 {
				continue
			}
			w := word(f)
			if x.Kind == scenario.FilterContains && len(w) > 1 {
				w = w[len(w)-2:]
				if g.r.IntN(3) == 0 {
					w = strings.ToUpper(w)
				}
			}
			r.Query.Set(p, w)
		}
	}
	if len(e.List.Sorts) > 0 && g.r.IntN(2) == 0 {
		_, f := g.s.FieldByUID(e.List.Sorts[g.r.IntN(len(e.List.Sorts))].Field)
		r.Query.Set("sort", []string{"", "-", "+"}[min(2, g.r.IntN(9)/4)]+f.Name)
	}
	if p := e.List.Page; p != nil {
		if g.r.IntN(2) == 0 {
			r.Query.Set("limit", []string{"1", "2", strconv.Itoa(p.Max), strconv.Itoa(p.Max + 1), "0", "x"}[g.r.IntN(6)])
		}
		if g.r.IntN(2) == 0 {
			r.Query.Set("offset", []string{"0", "1", "2", "9", "-1", "1.5"}[g.r.IntN(6)])
		}
	}
	return r
}

// figure draws a request for an endpoint.
func (g *storm) figure(a *scenario.Analytics) Request {
	r := Request{Method: "GET", Path: "/analytics/" + a.Name, Query: url.Values{}}
	_, f := g.s.FieldByUID(a.Window)
	if f == nil {
		return r
	}
	for _, p := range []string{"from", "to"} {
		if n := g.r.IntN(8); n > 0 {
			day, _ := g.good(f).(string)
			r.Query.Set(p, day)
			if n == 1 {
				r.Query.Set(p, "2023-02-30")
			}
		}
	}
	return r
}

// under draws a request for a nested list of the entity or another one.
func (g *storm) under(e *scenario.Entity) Request {
	path := "/" + e.Plural + "/" + strconv.Itoa(1+g.r.IntN(5)) + "/"
	for _, f := range g.s.Inbound(e.UID) {
		if owner, _ := g.s.FieldByUID(f.UID); f.Nested {
			return Request{Method: "GET", Path: path + owner.Plural}
		}
	}
	return Request{Method: "GET", Path: path + "nothing"}
}

// naiveNumber reads what a query parameter says as a value of a field, compared as float64.
func naiveNumber(f *scenario.Field, text string) (float64, bool) {
	if f.Type == scenario.Date {
		day, err := time.Parse("2006-01-02", text)
		return float64(day.Unix()), err == nil && len(text) == 10
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) && (f.Type == scenario.Decimal || x == math.Trunc(x))
}

// below reports whether a stands before b in ascending order; equal values are not below each other.
func below(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	switch x := a.(type) {
	case bool:
		return !x && b.(bool)
	case float64:
		return x < b.(float64)
	}
	return a.(string) < b.(string)
}

// naiveFits says whether a row meets a filter with the texts of its parameters ("" = not given); ok is false if one
// is no value of the field.
func naiveFits(f *scenario.Field, x *scenario.Filter, row object, q url.Values, p string) (fits, ok bool) {
	text, v := q.Get(p), row[f.Name]
	if x.Kind == scenario.FilterContains {
		s, _ := v.(string)
		return v != nil && strings.Contains(s, text), true
	}
	switch f.Type {
	case scenario.String:
		return v == text, true
	case scenario.Boolean:
		return v == (text == "true"), text == "true" || text == "false"
	case scenario.Enum:
		return v == text, slices.Contains(f.Values, text)
	}
	limit, ok := naiveNumber(f, text)
	if !ok || v == nil {
		return false, ok
	}
	have, isNumber := v.(float64)
	if !isNumber {
		have, _ = naiveNumber(f, v.(string))
	}
	switch {
	case x.Kind == scenario.FilterEqual:
		return have == limit, true
	case strings.HasPrefix(p, "min_"):
		return have >= limit, true
	}
	return have <= limit, true
}

// list says what the answer to a request for a list must be: the refused parameters, or rows and their total.
func (j *judgement) list(e *scenario.Entity, q url.Values) (refused map[string]bool, rows []object, total int) {
	refused = map[string]bool{}
	rows = slices.Clone(j.state[e.UID])
	for i := range e.List.Filters {
		x := &e.List.Filters[i]
		_, f := j.s.FieldByUID(x.Field)
		for _, p := range x.Params(f) {
			if !q.Has(p) {
				continue
			}
			if _, ok := naiveFits(f, x, object{}, q, p); !ok {
				refused[p] = true
			}
			rows = slices.DeleteFunc(rows, func(o object) bool { fits, _ := naiveFits(f, x, o, q, p); return !fits })
		}
	}
	var by *scenario.Field
	desc := false
	if d := e.List.Default; d != nil {
		_, by = j.s.FieldByUID(d.Field)
		desc = d.Desc
	}
	if q.Has("sort") && len(e.List.Sorts) > 0 {
		by = nil
		for _, k := range e.List.Sorts {
			if _, f := j.s.FieldByUID(k.Field); strings.TrimPrefix(q.Get("sort"), "-") == f.Name {
				by, desc = f, strings.HasPrefix(q.Get("sort"), "-")
			}
		}
		refused["sort"] = by == nil
	}
	if by != nil {
		slices.SortStableFunc(rows, func(a, b object) int {
			x, y := a[by.Name], b[by.Name]
			if desc {
				x, y = y, x
			}
			switch {
			case below(x, y):
				return -1
			case below(y, x):
				return 1
			}
			return 0
		})
	}
	total = len(rows)
	if p := e.List.Page; p != nil {
		limit, offset := p.Default, 0
		read := func(name string, low, high int, into *int) {
			n, err := strconv.Atoi(q.Get(name))
			if !q.Has(name) {
				return
			}
			*into = n
			refused[name] = err != nil || n < low || n > high
		}
		read("limit", 1, p.Max, &limit)
		read("offset", 0, 1<<30, &offset)
		if !refused["limit"] && !refused["offset"] {
			rows = rows[min(offset, len(rows)):]
			rows = rows[:min(limit, len(rows))]
		}
	}
	return refused, rows, total
}

// listed judges the answer to a request for a list.
func (j *judgement) listed(e *scenario.Entity, q url.Values, res Response, out []byte, fail func(string, ...any)) {
	refused, rows, total := j.list(e, q)
	if slices.Contains(slices.Collect(maps.Values(refused)), true) {
		if code, field := refusalOf(out); res.Status != 400 || code != "query" || !refused[field] {
			fail("with %v one of %v must be refused", q, refused)
		}
		return
	}
	j.envelope(rows, total, res, out, fail)
}

func (j *judgement) envelope(rows []object, total int, res Response, out []byte, fail func(string, ...any)) {
	if rows == nil {
		rows = []object{}
	}
	want, _ := json.Marshal(map[string]any{j.s.Conventions.ItemsKey: rows, j.s.Conventions.TotalKey: total})
	if res.Status != 200 || !sameJSON(out, want) {
		fail("should be 200 %s", want)
	}
}

// nestedList judges a list under a row; it reports false for other paths.
func (j *judgement) nestedList(path string, res Response, out []byte, fail func(string, ...any)) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) != 3 {
		return false
	}
	id, _ := strconv.ParseFloat(parts[1], 64)
	for n := range j.s.Entities {
		to := &j.s.Entities[n]
		if to.Plural != parts[0] || !slices.ContainsFunc(j.state[to.UID], func(o object) bool { return o["id"] == id }) {
			continue
		}
		for _, f := range j.s.Inbound(to.UID) {
			if owner, _ := j.s.FieldByUID(f.UID); f.Nested && owner.Plural == parts[2] {
				var rows []object
				for _, o := range j.state[owner.UID] {
					if o[f.Name] == id {
						rows = append(rows, o)
					}
				}
				j.envelope(rows, len(rows), res, out, fail)
				return true
			}
		}
	}
	if res.Status != 404 {
		fail("there is no such list")
	}
	return true
}

// figure judges the answer of an analytics endpoint.
func (j *judgement) figure(name string, q url.Values, res Response, out []byte, fail func(string, ...any)) {
	n := slices.IndexFunc(j.s.Analytics, func(a scenario.Analytics) bool { return a.Name == name })
	if n < 0 {
		if res.Status != 404 || string(out) != `{"error":{"code":"not_found","field":null}}` {
			fail("there is no such endpoint")
		}
		return
	}
	a := &j.s.Analytics[n]
	_, where := j.s.FieldByUID(a.Where)
	_, window := j.s.FieldByUID(a.Window)
	var rows []object
	for _, o := range j.state[a.Entity] {
		if where != nil && o[where.Name] != where.JSON(a.Equals) {
			continue
		}
		if window != nil {
			day, _ := o[window.Name].(string)
			if day == "" || day < q.Get("from") || day > q.Get("to") {
				continue
			}
		}
		rows = append(rows, o)
	}
	if window != nil {
		for _, p := range []string{"from", "to"} {
			if _, err := time.Parse("2006-01-02", q.Get(p)); err != nil {
				if res.Status != 400 || !strings.Contains(string(out), `"query"`) {
					fail("%s is no day", p)
				}
				return
			}
		}
	}
	if res.Status != 200 {
		fail("should be 200")
	}
	if a.Group == "" {
		var got struct{ Value *float64 }
		want, null := j.reckon(a, rows)
		if err := json.Unmarshal(out, &got); err != nil || (got.Value == nil) != null || !null && math.Abs(*got.Value-want) > 0.004 {
			fail("should be %v (null: %v)", want, null)
		}
		return
	}
	var got struct {
		Groups []struct {
			Key   any
			Value float64
		}
	}
	if err := json.Unmarshal(out, &got); err != nil || got.Groups == nil {
		fail("has no groups")
		return
	}
	want := j.groups(a, rows)
	same := len(want) == len(got.Groups)
	for n := 0; same && n < len(want); n++ {
		same = want[n].key == got.Groups[n].Key && math.Abs(want[n].value-got.Groups[n].Value) < 0.004
	}
	if !same {
		fail("should be %v", want)
	}
}

// reckon computes one figure over rows.
func (j *judgement) reckon(a *scenario.Analytics, rows []object) (figure float64, null bool) {
	_, measure := j.s.FieldByUID(a.Measure)
	if measure == nil {
		return float64(len(rows)), false
	}
	var have []float64
	sum := 0.0
	for _, o := range rows {
		if x, ok := o[measure.Name].(float64); ok {
			have = append(have, x)
			sum += x
		}
	}
	switch a.Kind {
	case scenario.StatAvg, scenario.StatMin, scenario.StatMax:
		if len(have) == 0 {
			return 0, true
		}
		return map[string]float64{scenario.StatAvg: sum / float64(len(have)), scenario.StatMin: slices.Min(have), scenario.StatMax: slices.Max(have)}[a.Kind], false
	}
	return sum, false
}

type naiveGroup struct {
	key   any
	value float64
}

func (j *judgement) groups(a *scenario.Analytics, rows []object) []naiveGroup {
	_, by := j.s.FieldByUID(a.Group)
	var keys []any
	for _, o := range rows {
		if k := o[by.Name]; k != nil && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if a.Kind == scenario.StatParent {
		keys = nil
		for _, o := range j.state[by.Target] {
			keys = append(keys, o["id"])
		}
	}
	var out []naiveGroup
	for _, k := range keys {
		var of []object
		for _, o := range rows {
			if o[by.Name] == k {
				of = append(of, o)
			}
		}
		value, _ := j.reckon(a, of)
		out = append(out, naiveGroup{k, value})
	}
	slices.SortFunc(out, func(x, y naiveGroup) int {
		// Sums of float64 that are equal as decimals may differ in the last bit.
		if d := math.Round(100 * (y.value - x.value)); a.Kind == scenario.StatTop && d != 0 {
			return cmp.Compare(d, 0)
		}
		if below(x.key, y.key) {
			return -1
		}
		return 1
	})
	if a.Kind == scenario.StatTop {
		out = out[:min(a.N, len(out))]
	}
	return out
}
