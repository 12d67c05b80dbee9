package oracle

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// lax is the set of rules that some verbs do not check, by a fault: "range" for PUT and PATCH, "range:PUT" for one of them.
type lax map[string]bool

// skips reports whether a verb does not check a rule.
func (l lax) skips(rule, verb string) bool {
	return l[rule+":"+verb] || verb != http.MethodPost && l[rule]
}

// verbOf is the verb of a request that fills a row.
func verbOf(old *row, whole bool) string {
	switch {
	case old == nil:
		return http.MethodPost
	case whole:
		return http.MethodPut
	}
	return http.MethodPatch
}

// brokenRule names the rule about its values that v breaks, or "".
func (f *field) brokenRule(v scenario.Value) string {
	switch {
	case f.anyValue || f.Allows(v):
		return ""
	case f.Type == scenario.Enum:
		return "enum"
	case f.Type == scenario.String && f.Pattern != "":
		if f.takesForm(v.Str) {
			return ""
		}
		return "pattern"
	case f.Type == scenario.String:
		return "length"
	}
	return "range"
}

// takesForm reports whether the way in which a fault reads the pattern lets a text through.
func (f *field) takesForm(text string) bool {
	p := f.Pattern
	switch f.form {
	case "case":
		return scenario.MatchesPattern(p, strings.ToUpper(text))
	case "after":
		return len(text) >= len(p) && scenario.MatchesPattern(p, text[:len(p)])
	case "before":
		return len(text) >= len(p) && scenario.MatchesPattern(p, text[len(text)-len(p):])
	case "class":
		return scenario.MatchesPattern(strings.ReplaceAll(p, "9", "A"), strings.Map(letterOfDigit, text))
	}
	return false
}

func letterOfDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return 'A'
	}
	return r
}

// changes reports whether a request would give a field that can not change another value.
func (f *field) changes(c *cell, old *row, verb string) bool {
	if old == nil || !f.Immutable || f.lax.skips("immutable", verb) {
		return false
	}
	return f.frozen || !sameCell(c, &old.cells[f.index])
}

func sameCell(a, b *cell) bool {
	return a.set == b.set && a.v == b.v && reflect.DeepEqual(a.raw, b.raw)
}

// keeps reports whether a request that leaves the field out keeps its value.
func (f *field) keeps(old *row, whole bool) bool {
	return old != nil && (!whole || f.Immutable && !f.resets)
}

// group is a pair of fields that is unique, as faults changed it.
type group struct {
	fields      []*field // two; one where a fault looks at that one only
	lax         lax
	self, nulls bool // a row may not repeat its own pair; nulls count as the same
	slips
}

// order is a pair of fields of which one may not be above the other, as faults changed it.
type order struct {
	low, high *field
	lax       lax
	both      bool // checked only when the request holds both
	strict    bool // equal values are refused
	slips
}

// pairFailure is the rule about two fields that a request breaks, or nil.
func (e *entity) pairFailure(in map[string]any, cells []cell, old *row, verb string) *failure {
	for _, o := range e.orders {
		if o.broken(in, cells, verb) {
			return o.failure(http.StatusBadRequest, "order", o.high.Name)
		}
	}
	for _, g := range e.groups {
		if g.taken(e, in, cells, old, verb) {
			return g.failure(http.StatusConflict, "unique", "")
		}
	}
	return nil
}

func (o *order) broken(in map[string]any, cells []cell, verb string) bool {
	low, high := &cells[o.low.index], &cells[o.high.index]
	if !low.typed() || !high.typed() || o.lax.skips("order", verb) {
		return false
	}
	if o.both {
		_, first := in[o.low.Name]
		_, second := in[o.high.Name]
		if !first || !second {
			return false
		}
	}
	return low.v.Int > high.v.Int || o.strict && low.v.Int == high.v.Int
}

func (g *group) taken(e *entity, in map[string]any, cells []cell, old *row, verb string) bool {
	if g.lax.skips("unique", verb) {
		return false
	}
	for _, f := range g.fields {
		if c := &cells[f.index]; c.raw != nil || !c.set && !g.nulls {
			return false
		}
	}
	for _, r := range e.rows {
		if r == old && (!g.self || !g.sent(in)) {
			continue
		}
		same := true
		for _, f := range g.fields {
			same = same && sameCell(&cells[f.index], &r.cells[f.index])
		}
		if same {
			return true
		}
	}
	return false
}

// sent reports whether a request holds a field of the group.
func (g *group) sent(in map[string]any) bool {
	for _, f := range g.fields {
		if _, there := in[f.Name]; there {
			return true
		}
	}
	return false
}
