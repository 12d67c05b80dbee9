package oracle

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// listing is what the list of an entity takes, as faults changed it.
type listing struct {
	filters  []*listFilter
	sorts    []*listOrder
	byItself *listOrder // without ?sort; nil is the order of creation
	page     *listPage

	reversed, totalWrong bool
	countAll             bool // the total counts rows that do not fit
}

// listFilter is one condition of a list.
type listFilter struct {
	kind   string
	on     *field
	params []string // names of its query parameters
	slips

	lax                    bool // a value that is none is taken for no value at all
	ignored, alone         bool // never looked at, or not beside other filters
	minOpen, maxOpen       bool // limits are exclusive
	anyCase, prefix, nulls bool
}

// listOrder is one way to sort a list.
type listOrder struct {
	by   *field
	name string // of the word that asks for it
	desc bool   // of the default order
	slips

	lax                              bool // any other word is taken for none
	ignored, oneWay, ties, nullsLast bool
}

// listPage cuts a list.
type listPage struct {
	size, most int
	slips

	most1, clamps, zero, negative       bool // which limits are taken: not the largest, larger ones, 0, negative offsets
	whole, unlimited, unmoved, shifted  bool
	countPage, beforeFilter, beforeSort bool
}

// picked is what a request asks of a list.
type picked struct {
	filters       []wanted
	sort          *listOrder
	desc          bool
	limit, offset int
}

// wanted is one filter with its value or limits.
type wanted struct {
	*listFilter
	text      string
	low, high *scenario.Value
}

// list answers GET /PLURAL.
func (i *Interp) list(e *entity, q url.Values) Response {
	want, bad := e.pick(q)
	if bad != nil {
		return i.refuse(*bad)
	}
	rows, l := slices.Clone(e.rows), &e.listing
	p := l.page
	early := p != nil && (p.beforeFilter && len(want.filters) > 0 || p.beforeSort && want.sort != nil)
	if early {
		rows = p.cut(rows, want)
	}
	all := len(rows)
	for _, w := range want.filters {
		rows = slices.DeleteFunc(rows, func(r *row) bool { return !w.fits(r, len(want.filters)) })
	}
	if want.sort != nil {
		want.sort.sort(rows, want.desc)
	}
	if l.reversed {
		slices.Reverse(rows)
	}
	total := len(rows)
	if l.countAll {
		total = all
	}
	switch {
	case early:
		total = len(e.rows)
	case p != nil:
		rows = p.cut(rows, want)
	}
	if p != nil && p.countPage {
		total = len(rows)
	}
	return e.envelope(rows, total)
}

// envelope is the answer that lists rows.
func (e *entity) envelope(rows []*row, total int) Response {
	items := make([]any, len(rows))
	for n, r := range rows {
		items[n] = r.render()
	}
	if e.totalWrong {
		total++
	}
	return Response{http.StatusOK, map[string]any{e.items: items, e.total: int64(total)}}
}

// pick reads the query parameters that the list has rules for.
func (e *entity) pick(q url.Values) (want picked, bad *failure) {
	for _, x := range e.filters {
		w, bad := x.read(q)
		if bad != nil {
			return want, bad
		}
		if w != nil {
			want.filters = append(want.filters, *w)
		}
	}
	want.sort = e.byItself
	if want.sort != nil {
		want.desc = want.sort.desc
	}
	if word := q.Get("sort"); q.Has("sort") && len(e.sorts) > 0 {
		name, desc := strings.CutPrefix(word, "-")
		at := slices.IndexFunc(e.sorts, func(o *listOrder) bool { return o.name == name })
		switch first := e.sorts[0]; {
		case at >= 0:
			want.sort, want.desc = e.sorts[at], desc
		case !first.lax:
			return want, first.badQuery("sort")
		}
	}
	if e.page != nil {
		bad = e.page.read(q, &want)
	}
	return want, bad
}

// badQuery is the refusal of a query parameter.
func (w *slips) badQuery(param string) *failure {
	return w.failure(http.StatusBadRequest, "query", param)
}

// read returns what the query asks of the filter, nil if nothing.
func (x *listFilter) read(q url.Values) (*wanted, *failure) {
	w := &wanted{listFilter: x}
	asked := false
	for n, p := range x.params {
		if !q.Has(p) {
			continue
		}
		text := q.Get(p)
		if x.kind == scenario.FilterContains {
			w.text, asked = text, true
			continue
		}
		v, ok := x.on.parse(text)
		if !ok {
			if x.lax {
				continue
			}
			return nil, x.badQuery(p)
		}
		asked = true
		if n == 0 {
			w.low = &v
		}
		if n == 1 || x.kind == scenario.FilterEqual {
			w.high = &v
		}
	}
	if !asked {
		return nil, nil
	}
	return w, nil
}

var (
	wholeForm   = regexp.MustCompile(`^-?[0-9]+$`)
	decimalForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
)

// parse reads a value of the field as a query writes it.
func (f *field) parse(text string) (v scenario.Value, ok bool) {
	switch f.Type {
	case scenario.Integer:
		if ok = wholeForm.MatchString(text); ok {
			v.Int, ok = wholeNumber(json.Number(text))
		}
	case scenario.Decimal:
		if ok = decimalForm.MatchString(text); ok {
			v.Int, ok = hundredths(json.Number(text))
		}
	case scenario.Date:
		v.Int, ok = scenario.ParseDate(text)
	case scenario.Boolean:
		v.Bool, ok = text == "true", text == "true" || text == "false"
	case scenario.Enum:
		v.Str, ok = text, slices.Contains(f.Values, text)
	case scenario.String:
		v.Str, ok = text, true
	}
	return v, ok
}

// fits reports whether the row is listed; filters is how many filters the request has.
func (w *wanted) fits(r *row, filters int) bool {
	if w.ignored || w.alone && filters > 1 {
		return true
	}
	c := &r.cells[w.on.index]
	if !c.typed() {
		return w.nulls
	}
	switch w.kind {
	case scenario.FilterContains:
		have, text := c.v.Str, w.text
		if w.anyCase {
			have, text = strings.ToLower(have), strings.ToLower(text)
		}
		if w.prefix {
			return strings.HasPrefix(have, text)
		}
		return strings.Contains(have, text)
	case scenario.FilterEqual:
		switch {
		case w.low == nil:
			return true
		case w.anyCase:
			return strings.EqualFold(c.v.Str, w.low.Str)
		case w.prefix:
			return strings.HasPrefix(c.v.Str, w.low.Str)
		}
		return c.v == *w.low
	}
	if w.low != nil && (c.v.Int < w.low.Int || w.minOpen && c.v.Int == w.low.Int) {
		return false
	}
	return w.high == nil || c.v.Int < w.high.Int || !w.maxOpen && c.v.Int == w.high.Int
}

// sort orders rows in place. Rows are in the order of creation before.
func (o *listOrder) sort(rows []*row, desc bool) {
	if o.ignored {
		return
	}
	if o.ties {
		slices.Reverse(rows)
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		n := compareCells(&a.cells[o.by.index], &b.cells[o.by.index], o.nullsLast)
		if desc && !o.oneWay {
			return -n
		}
		return n
	})
}

// compareCells puts nulls first, or last.
func compareCells(a, b *cell, nullsLast bool) int {
	aNull, bNull := !a.typed(), !b.typed()
	switch {
	case aNull && bNull:
		return 0
	case aNull != bNull:
		if aNull != nullsLast {
			return -1
		}
		return 1
	}
	return compareValues(a.v, b.v)
}

func compareValues(a, b scenario.Value) int {
	if a.Bool != b.Bool {
		if b.Bool {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Int, b.Int), cmp.Compare(a.Str, b.Str))
}

// read takes limit and offset out of a query.
func (p *listPage) read(q url.Values, want *picked) *failure {
	want.limit = p.size
	if q.Has("limit") {
		n, ok := smallNumber(q.Get("limit"))
		most := p.most
		if p.most1 {
			most--
		}
		switch {
		case !ok, n < 0, n == 0 && !p.zero, n > most && !p.clamps:
			return p.badQuery("limit")
		}
		want.limit = min(n, most)
	} else if p.whole {
		want.limit = 1 << 30
	}
	if q.Has("offset") {
		n, ok := smallNumber(q.Get("offset"))
		if !ok || n < 0 && !p.negative {
			return p.badQuery("offset")
		}
		want.offset = max(0, n)
	}
	return nil
}

// smallNumber reads a whole number. Larger ones than any list is long count as such.
func smallNumber(text string) (int, bool) {
	if !wholeForm.MatchString(text) {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 1 << 30
		if strings.HasPrefix(text, "-") {
			n = -n
		}
	}
	return n, true
}

// cut takes one page out of the rows.
func (p *listPage) cut(rows []*row, want picked) []*row {
	offset, limit := want.offset, want.limit
	if p.unmoved {
		offset = 0
	}
	if p.shifted && offset > 0 {
		offset--
	}
	if p.unlimited {
		limit = len(rows)
	}
	rows = rows[min(offset, len(rows)):]
	return rows[:min(limit, len(rows))]
}

// nestedList is GET /PLURAL/{id}/NAME: rows that refer to one row.
type nestedList struct {
	by                     *field
	broken, whole, lenient bool
}

// below answers requests for what lies under one row.
func (i *Interp) below(e *entity, id, name string, r Request) Response {
	n := e.nested[name]
	number, err := strconv.ParseInt(id, 10, 64)
	if n == nil || n.broken || err != nil {
		return i.notFound(e)
	}
	if r.Method != http.MethodGet {
		return Response{Status: http.StatusMethodNotAllowed}
	}
	if e.byID[number] == nil && !n.lenient {
		return i.notFound(e)
	}
	var rows []*row
	for _, o := range n.by.owner.rows {
		if n.whole || n.by.refers(o, number) {
			rows = append(rows, o)
		}
	}
	if n.by.owner.reversed {
		slices.Reverse(rows)
	}
	return n.by.owner.envelope(rows, len(rows))
}
