package oracle

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// statistic is one analytics endpoint, as faults changed it.
type statistic struct {
	kind    string
	over    *entity
	measure *field // nil counts rows
	where   *field // nil takes all rows
	equals  scenario.Value
	group   *field // of group, top and parent
	n       int    // of top
	window  *field
	slips

	broken, ghost                bool // 404; a removed endpoint that still answers
	emptyWrong                   bool // null for 0, 0 for null
	whole                        bool // what is behind the point is cut off
	nulls                        bool // nulls count: as zero, or as a group
	zeros, noZeros               bool // groups without rows are listed; are not
	backwards, tiesBackwards     bool
	lax, fromOpen, toOpen, never bool // bad limits are none; limits are exclusive; the window is not looked at
}

// analytics answers GET /analytics/NAME.
func (i *Interp) analytics(r Request, name string) Response {
	s := i.stats[name]
	if s == nil || s.broken {
		return i.refuse(failure{status: http.StatusNotFound, code: "not_found"})
	}
	if r.Method != http.MethodGet {
		return Response{Status: http.StatusMethodNotAllowed}
	}
	if s.ghost {
		return Response{http.StatusOK, map[string]any{"value": int64(0)}}
	}
	fits := s.chosen
	if s.window != nil {
		from, to, bad := s.limits(r.Query)
		if bad != nil {
			return i.refuse(*bad)
		}
		fits = func(r *row) bool { return s.chosen(r) && s.within(r, from, to) }
	}
	var rows []*row
	for _, r := range s.over.rows {
		if fits(r) {
			rows = append(rows, r)
		}
	}
	if s.group != nil {
		return Response{http.StatusOK, map[string]any{"groups": s.groups(rows)}}
	}
	return Response{http.StatusOK, map[string]any{"value": s.value(rows)}}
}

// chosen reports whether the row meets the endpoint's condition.
func (s *statistic) chosen(r *row) bool {
	if s.where == nil {
		return true
	}
	c := &r.cells[s.where.index]
	return c.typed() && c.v == s.equals
}

// limits reads the window out of a query.
func (s *statistic) limits(q url.Values) (from, to int64, bad *failure) {
	from, to = math.MinInt64, math.MaxInt64
	for _, l := range []struct {
		param string
		into  *int64
	}{{"from", &from}, {"to", &to}} {
		day, ok := scenario.ParseDate(q.Get(l.param))
		switch {
		case ok:
			*l.into = day
		case !s.lax:
			return 0, 0, s.badQuery(l.param)
		}
	}
	return from, to, nil
}

func (s *statistic) within(r *row, from, to int64) bool {
	if s.never {
		return true
	}
	c := &r.cells[s.window.index]
	if !c.typed() {
		return s.nulls
	}
	day := c.v.Int
	return (day > from || day == from && !s.fromOpen) && (day < to || day == to && !s.toOpen)
}

// value computes the endpoint's figure over some rows.
func (s *statistic) value(rows []*row) any {
	if s.measure == nil {
		return int64(len(rows))
	}
	var sum, least, most, added int64
	for _, r := range rows {
		c := &r.cells[s.measure.index]
		v := c.v.Int
		if !c.typed() {
			if !s.nulls {
				continue
			}
			v = 0
		}
		if added == 0 {
			least, most = v, v
		}
		sum += v
		least, most = min(least, v), max(most, v)
		added++
	}
	figure := sum
	switch s.kind {
	case scenario.StatAvg:
		if added > 0 {
			return s.mean(sum, added)
		}
	case scenario.StatMin:
		figure = least
	case scenario.StatMax:
		figure = most
	}
	// A figure of nothing is null where it is taken from one row or divided by their number, else 0.
	isNull := s.kind == scenario.StatAvg || s.kind == scenario.StatMin || s.kind == scenario.StatMax
	if added == 0 && isNull != s.emptyWrong {
		return nil
	}
	return s.number(figure)
}

// number writes a sum or a single measure.
func (s *statistic) number(x int64) any {
	if s.measure.Type != scenario.Decimal {
		return x
	}
	if s.whole {
		x = x / 100 * 100
	}
	return json.Number(scenario.FormatDecimal(x))
}

// mean divides with enough places that whoever rounds to two in any way is within half a hundredth.
func (s *statistic) mean(sum, n int64) any {
	scale := int64(1)
	if s.measure.Type == scenario.Decimal {
		scale = 100
	}
	if s.whole {
		return sum / (n * scale)
	}
	return json.Number(strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(float64(sum)/float64(n*scale), 'f', 6, 64), "0"), "."))
}

// part is the rows of one group.
type part struct {
	key  scenario.Value
	null bool
	rows []*row
}

// groups computes the figure of every group.
func (s *statistic) groups(rows []*row) []any {
	var parts []*part
	find := func(key scenario.Value, null bool) *part {
		for _, p := range parts {
			if p.key == key && p.null == null {
				return p
			}
		}
		p := &part{key: key, null: null}
		parts = append(parts, p)
		return p
	}
	parent := s.kind == scenario.StatParent
	if parent {
		for _, r := range s.group.target.rows {
			find(scenario.Value{Int: r.id}, false)
		}
	}
	if s.zeros {
		for _, v := range s.group.Values {
			find(scenario.Value{Str: v}, false)
		}
	}
	for _, r := range rows {
		c := &r.cells[s.group.index]
		if null := !c.typed(); !null || s.nulls {
			p := find(c.v, null)
			p.rows = append(p.rows, r)
		}
	}
	if s.noZeros {
		parts = slices.DeleteFunc(parts, func(p *part) bool { return len(p.rows) == 0 })
	}
	slices.SortStableFunc(parts, func(a, b *part) int {
		if a.null != b.null {
			if a.null {
				return -1
			}
			return 1
		}
		return compareValues(a.key, b.key)
	})
	if s.kind == scenario.StatTop {
		return s.top(parts)
	}
	if s.backwards {
		slices.Reverse(parts)
	}
	return s.list(parts)
}

// top takes the n groups with the largest figures.
func (s *statistic) top(parts []*part) []any {
	if s.tiesBackwards {
		slices.Reverse(parts)
	}
	slices.SortStableFunc(parts, func(a, b *part) int {
		n := cmp.Compare(s.size(b), s.size(a))
		if s.backwards {
			return -n
		}
		return n
	})
	return s.list(parts[:min(s.n, len(parts))])
}

// size is the figure of a group for comparison.
func (s *statistic) size(p *part) int64 {
	if s.measure == nil {
		return int64(len(p.rows))
	}
	var sum int64
	for _, r := range p.rows {
		if c := &r.cells[s.measure.index]; c.typed() {
			sum += c.v.Int
		}
	}
	return sum
}

func (s *statistic) list(parts []*part) []any {
	out := make([]any, len(parts))
	for n, p := range parts {
		var key any
		if !p.null {
			key = s.group.JSON(&p.key)
		}
		out[n] = map[string]any{"key": key, "value": s.value(p.rows)}
	}
	return out
}
