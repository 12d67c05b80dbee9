package scenario

import (
	"fmt"
	"strings"
)

func (s *Schema) analyticsPhrase(a *Analytics) (title, text string) {
	e := s.Entity(a.Entity)
	if e == nil {
		return "", ""
	}
	title = "analytics " + a.Name
	rows, some := "all "+human(e.Plural), human(e.Plural)
	if _, w := s.FieldByUID(a.Where); w != nil {
		rows = fmt.Sprintf("the %s whose %s is %s", human(e.Plural), code(w.Name), code(w.Literal(a.Equals)))
		some = strings.TrimPrefix(rows, "the ")
	}
	_, m := s.FieldByUID(a.Measure)
	path := "`GET /analytics/" + a.Name + "`"
	value := path + " answers 200 with `{\"value\": N}`. "
	switch a.Kind {
	case StatCount:
		return title, fmt.Sprintf("%sN is the number of %s at the time of the request, 0 if there are none.", value, strings.TrimPrefix(rows, "all "))
	case StatSum:
		return title, fmt.Sprintf("%sN is the sum of %s over %s at the time of the request. Nulls add nothing; with nothing to add N is 0.", value, code(m.Name), rows)
	case StatAvg:
		return title, fmt.Sprintf("%sN is the arithmetic mean of %s over %s at the time of the request, exact or rounded to two decimal places. Nulls are left out, both of the sum and of the number "+
			"that it is divided by; with nothing left N is null.", value, code(m.Name), rows)
	case StatMin, StatMax:
		word := map[string]string{StatMin: "smallest", StatMax: "largest"}[a.Kind]
		return title, fmt.Sprintf("%sN is the %s %s of %s at the time of the request. Nulls are left out; with nothing left N is null.", value, word, code(m.Name), rows)
	case StatWindow:
		_, f := s.FieldByUID(a.Window)
		what := fmt.Sprintf("the number of %s, at the time of the request,", some)
		if m != nil {
			what = fmt.Sprintf("the sum of %s (nulls add nothing) over %s, at the time of the request,", code(m.Name), rows)
		}
		return title, fmt.Sprintf("`GET /analytics/%s?from=DAY&to=DAY` answers 200 with `{\"value\": N}`. N is %s whose %s is a day from `from` to `to`, both included; null is no such day; 0 if there are none. Both parameters are required "+
			"and are days in the form `YYYY-MM-DD`. Otherwise: %s, or `to`, whichever it was.", a.Name, what, code(f.Name), badQuery("from"))
	}
	return title, s.groupedPhrase(a, e, m, path, rows, some)
}

// groupedPhrase writes the kinds that answer with groups.
func (s *Schema) groupedPhrase(a *Analytics, e *Entity, m *Field, path, rows, some string) string {
	_, g := s.FieldByUID(a.Group)
	name := code(g.Name)
	shape := path + " answers 200 with `{\"groups\": [{\"key\": K, \"value\": N}, ...]}`"
	if a.Kind == StatParent {
		one := s.entityNoun(g.Target)
		n := "the number of " + some
		if m != nil {
			n = fmt.Sprintf("the sum of %s (nulls add nothing) over %s", code(m.Name), strings.Replace(rows, "all ", "the ", 1))
		}
		return fmt.Sprintf("%s: one element for every %s, in the order of their creation. K is the id of the %s. N is %s that refer to it by %s at the time of the request, 0 if there are none. "+
			"The array is empty if there are no %s.", shape, one, one, n, name, human(s.Entity(g.Target).Plural))
	}
	n := "the number of those"
	if m != nil {
		n = fmt.Sprintf("the sum of %s (nulls add nothing) over those", code(m.Name))
	}
	which := fmt.Sprintf("one element for every value K of %s that occurs among %s, in ascending order of K%s", name, rows, g.keyPhrase())
	switch {
	case a.N == 1:
		which = fmt.Sprintf("the one value K of %s among %s with the largest N, of equal N the smallest K%s", name, rows, g.keyPhrase())
	case a.N > 1:
		which = fmt.Sprintf("the %d values K of %s among %s with the largest N, or fewer if fewer occur; the largest N comes first, of equal N the smaller K%s", a.N, name, rows, g.keyPhrase())
	}
	return fmt.Sprintf("%s: %s. N is %s whose %s is K, at the time of the request. Null is no K, and neither is a value that does not occur; the array is empty if there is no K.", shape, which, n, name)
}

// keyPhrase says how the keys of groups are compared.
func (f *Field) keyPhrase() string {
	switch f.Type {
	case Enum:
		return " (words by spelling)"
	case Boolean:
		return " (false before true; K is a JSON boolean)"
	}
	return " (ids by size)"
}

func (s *Schema) goneAnalyticsPhrase(t *Tombstone) (title, text string) {
	title = "analytics " + t.Name + " is gone"
	if a := s.AnalyticsByUID(t.Field); a != nil {
		return title, fmt.Sprintf("The former path `/analytics/%s` is unknown now (the figure is served under `/analytics/%s`): `GET /analytics/%s` answers 404 with code `not_found` and field null.", t.Name, a.Name, t.Name)
	}
	return title, fmt.Sprintf("The former path `/analytics/%s` is unknown now: `GET /analytics/%s` answers 404 with code `not_found` and field null.", t.Name, t.Name)
}
