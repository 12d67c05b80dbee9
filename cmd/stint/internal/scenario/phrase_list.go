package scenario

import "fmt"

// Filter returns the filter with this uid, its field and its entity, or nils.
func (s *Schema) Filter(uid string) (*Entity, *Field, *Filter) {
	for i := range s.Entities {
		e := &s.Entities[i]
		for j := range e.List.Filters {
			if x := &e.List.Filters[j]; x.UID == uid {
				_, f := s.FieldByUID(x.Field)
				return e, f, x
			}
		}
	}
	return nil, nil, nil
}

// SortKey returns the sort key with this uid, its field and its entity, or nils.
func (s *Schema) SortKey(uid string) (*Entity, *Field, *SortKey) {
	for i := range s.Entities {
		e := &s.Entities[i]
		for j := range e.List.Sorts {
			if k := &e.List.Sorts[j]; k.UID == uid {
				_, f := s.FieldByUID(k.Field)
				return e, f, k
			}
		}
	}
	return nil, nil, nil
}

// listRequirements appends what must hold for the options of a list.
func (e *Entity) listRequirements(reqs []requirement) []requirement {
	for _, x := range e.List.Filters {
		reqs = append(reqs, requirement{clauseKey{KindFilter, x.UID}, "kind=" + x.Kind + ";field=" + x.Field})
	}
	for _, k := range e.List.Sorts {
		reqs = append(reqs, requirement{clauseKey{KindSort, k.UID}, "field=" + k.Field})
	}
	if d := e.List.Default; d != nil {
		reqs = append(reqs, requirement{clauseKey{KindDefaultSort, e.UID}, fmt.Sprintf("field=%s;desc=%t", d.Field, d.Desc)})
	}
	if p := e.List.Page; p != nil {
		reqs = append(reqs, requirement{clauseKey{KindPage, e.UID}, fmt.Sprintf("default=%d;max=%d", p.Default, p.Max)})
	}
	return reqs
}

// badQuery is the ending of a rule about a query parameter.
func badQuery(param string) string { return "400 with code `query` and field `" + param + "`" }

// listPhrase writes the clauses about the options of a list.
func (s *Schema) listPhrase(kind Kind, subject string) (title, text string) {
	switch kind {
	case KindFilter:
		if e, f, x := s.Filter(subject); f != nil {
			return s.filterPhrase(e, f, x)
		}
	case KindSort:
		if e, f, k := s.SortKey(subject); f != nil {
			path, name, many := "/"+e.Plural, code(f.Name), human(e.Plural)
			text = fmt.Sprintf("`GET %s?sort=%s` lists the %s in ascending order of %s, `GET %s?sort=-%s` in descending order%s. Nulls come first ascending and last descending. "+
				"Equal ones stay in the order of their creation, both ways.", path, f.Name, many, name, path, f.Name, f.orderPhrase())
			if k == &e.List.Sorts[0] {
				text += fmt.Sprintf(" On `%s`, a `sort` that is anything but the name of a sort key, with or without `-` before it, is refused: %s.", path, badQuery("sort"))
			}
			return fmt.Sprintf("%s.%s: sort key", e.Name, f.Name), text
		}
	case KindDefaultSort:
		e := s.Entity(subject)
		if e == nil || e.List.Default == nil {
			return "", ""
		}
		_, f := s.FieldByUID(e.List.Default.Field)
		way, nulls := "ascending", "first"
		if e.List.Default.Desc {
			way, nulls = "descending", "last"
		}
		return fmt.Sprintf("order of %s: by %s", human(e.Plural), f.Name), fmt.Sprintf("Without the parameter `sort`, `GET /%s` lists the %s in %s order of %s%s. "+
			"Nulls come %s. Equal ones stay in the order of their creation.", e.Plural, human(e.Plural), way, code(f.Name), f.orderPhrase(), nulls)
	case KindPage:
		if e := s.Entity(subject); e != nil && e.List.Page != nil {
			return s.pagePhrase(e)
		}
	}
	return "", ""
}

// orderPhrase says how values of the field are compared, where that is not plain.
func (f *Field) orderPhrase() string {
	switch f.Type {
	case String:
		return " (compared by code point: `B` is less than `a`)"
	case Enum:
		return " (compared by spelling)"
	case Boolean:
		return " (false is less than true)"
	}
	return ""
}

func (s *Schema) filterPhrase(e *Entity, f *Field, x *Filter) (title, text string) {
	path, name, many := "/"+e.Plural, code(f.Name), human(e.Plural)
	params := x.Params(f)
	title = fmt.Sprintf("%s.%s: filter by %s", e.Name, f.Name, filterWord(x.Kind))
	rest := fmt.Sprintf(" %s whose %s is null are left out, and `%s` of the answer counts the %s that fit. With other filters in the same request, all must fit.",
		capital(many), name, s.Conventions.TotalKey, many)
	switch x.Kind {
	case FilterRange:
		return title, fmt.Sprintf("`GET %s?%s=A&%s=B` lists only the %s whose %s is from A to B, both included; each of the two parameters may be left out, and then there is no limit on that side.%s "+
			"A value that is not %s is refused: %s, or `%s`, whichever it was.", path, params[0], params[1], many, name, rest, f.queryPhrase(), badQuery(params[0]), params[1])
	case FilterContains:
		return title, fmt.Sprintf("`GET %s?%s=TEXT` lists only the %s whose %s contains TEXT anywhere; upper and lower case differ.%s", path, params[0], many, name, rest)
	}
	text = fmt.Sprintf("`GET %s?%s=VALUE` lists only the %s whose %s is VALUE%s.%s", path, params[0], many, name, exactly(f), rest)
	if f.Type != String {
		text += fmt.Sprintf(" A VALUE that is not %s is refused: %s.", f.queryPhrase(), badQuery(params[0]))
	}
	return title, text
}

// queryPhrase says how a value of the field is written in a query.
func (f *Field) queryPhrase() string {
	switch f.Type {
	case Integer:
		return "a whole number"
	case Decimal:
		return "a number such as 7 or 12.5"
	case Boolean:
		return "`true` or `false`"
	case Enum:
		return "one of the values of " + code(f.Name)
	case Date:
		return "a day in the form `YYYY-MM-DD`"
	}
	return "text"
}

func (s *Schema) pagePhrase(e *Entity) (title, text string) {
	p, many := e.List.Page, human(e.Plural)
	return "pages of " + many, fmt.Sprintf("`GET /%s` answers with one page of the list: `limit` says how many %s it holds at most, from 1 to %d, and is %d if it is not given; `offset` says how many %s "+
		"of the list are skipped before it, 0 or more, and is 0 if it is not given. A page beyond the end is an empty array. `%s` counts all %s that the whole list has, whatever the page. "+
		"A `limit` that is no whole number from 1 to %d is refused: %s. An `offset` that is no whole number from 0 on is refused: %s.",
		e.Plural, many, p.Max, p.Default, many, s.Conventions.TotalKey, many, p.Max, badQuery("limit"), badQuery("offset"))
}

// nestedPhrase writes the clause about a list under the row referred to.
func (s *Schema) nestedPhrase(e *Entity, f *Field) (title, text string) {
	target := s.Entity(f.Target)
	if target == nil {
		return "", ""
	}
	one, many := human(target.Name), human(e.Plural)
	return fmt.Sprintf("%s.%s: list under the %s", e.Name, f.Name, one), fmt.Sprintf("`GET /%s/{id}/%s` answers 200 with `{\"%s\": [...], \"%s\": N}`: all %s whose %s is this id, as complete objects "+
		"in the order of their creation, and their number; the array is empty and N is 0 if there are none. Rules about sorting and pages of `GET /%s` do not hold here, and query parameters are left open. "+
		"With an integer id that no %s has: 404 with code `not_found` and field null.", target.Plural, e.Plural, s.Conventions.ItemsKey, s.Conventions.TotalKey, many, code(f.Name), e.Plural, one)
}

// exceptPhrase says that a list has rules of its own about what it shows; nothing if it has none.
func (o *ListOptions) exceptPhrase() string {
	if len(o.Filters) == 0 && len(o.Sorts) == 0 && o.Default == nil && o.Page == nil {
		return ""
	}
	return " Where rules about filters, order or pages of this list say otherwise, they go before."
}
