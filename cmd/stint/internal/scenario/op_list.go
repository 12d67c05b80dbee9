package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// The size caps of the options of one list.
const (
	MaxFilters = 5
	MaxSorts   = 4
)

// listOperations are the operations about what lists offer.
func listOperations() []kindOfOperation {
	return []kindOfOperation{
		{"add_filter", "A", 2, enumerateAddFilter, applyAddFilter, titleAddFilter},
		{"add_sort", "A", 1.5, enumerateAddSort, applyAddSort, titleAddSort},
		{"add_pagination", "A", 1, enumerateAddPagination, applySetPage, titlePage},
		{"add_nested_route", "A", 1, enumerateAddNested, applyAddNested, titleAddNested},
		{"change_default_sort", "R", 1.5, enumerateChangeDefaultSort, applyChangeDefaultSort, titleDefaultSort},
		{"change_page_limits", "R", 1, enumerateChangePage, applySetPage, titlePage},
	}
}

// filterKinds lists the kinds of filter that suit a field.
func (f *Field) filterKinds() []string {
	if f.Managed() {
		return nil
	}
	switch f.Type {
	case String:
		return []string{FilterEqual, FilterContains}
	case Integer, Date:
		return []string{FilterEqual, FilterRange}
	case Decimal:
		return []string{FilterRange}
	case Boolean, Enum:
		return []string{FilterEqual}
	}
	return nil
}

// sortable reports whether a list can be ordered by the field.
func (f *Field) sortable() bool {
	if f.Managed() {
		return false
	}
	switch f.Type {
	case String, Integer, Decimal, Boolean, Enum, Date:
		return true
	}
	return false
}

// Params returns the names of the query parameters of a filter of f.
func (x *Filter) Params(f *Field) []string {
	switch x.Kind {
	case FilterRange:
		return []string{"min_" + f.Name, "max_" + f.Name}
	case FilterContains:
		return []string{f.Name + "_contains"}
	}
	return []string{f.Name}
}

// plainParams are the query parameters of lists that no field gives its name.
func plainParams() []string { return []string{"sort", "limit", "offset"} }

// params returns the names of all query parameters that the list takes, those it would take with sort keys and pages
// included.
func (o *ListOptions) params(at lookup) []string {
	names := plainParams()
	for i := range o.Filters {
		if _, f := at(o.Filters[i].Field); f != nil {
			names = append(names, o.Filters[i].Params(f)...)
		}
	}
	return names
}

// paramsFree reports whether the parameters of the filters of f would differ from all others under another name of f.
func (s *Schema) paramsFree(e *Entity, f *Field, name string) bool {
	renamed := f.clone()
	renamed.Name = name
	names := e.List.params(s.fields(&renamed))
	slices.Sort(names)
	return len(slices.Compact(names)) == len(names)
}

func (e *Entity) sorts(uid string) bool {
	return slices.ContainsFunc(e.List.Sorts, func(k SortKey) bool { return k.Field == uid })
}

// enumerateAddFilter offers every kind of filter that a field can have and has not, if its parameters are free.
func enumerateAddFilter(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if len(e.List.Filters) >= MaxFilters {
			return
		}
		taken := e.List.params(x.s.fields(nil))
		for _, kind := range f.filterKinds() {
			if slices.ContainsFunc(e.List.Filters, func(o Filter) bool { return o.Field == f.UID && o.Kind == kind }) {
				continue
			}
			n := Filter{Field: f.UID, Kind: kind}
			if !slices.ContainsFunc(n.Params(f), func(p string) bool { return slices.Contains(taken, p) }) {
				x.add(map[string]string{"field": f.UID, "kind": kind})
			}
		}
	})
}

func applyAddFilter(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	e.List.Filters = append(e.List.Filters, Filter{UID: e.nextPart(), Field: f.UID, Kind: p["kind"]})
	e.NextPart++
	return nil
}

func titleAddFilter(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "filter"
	}
	return fmt.Sprintf("%s.%s: filter by %s", e.Name, f.Name, filterWord(p["kind"]))
}

func filterWord(kind string) string {
	switch kind {
	case FilterRange:
		return "range"
	case FilterContains:
		return "part"
	}
	return "value"
}

// enumerateAddSort offers every field that lists can be ordered by and are not.
func enumerateAddSort(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if len(e.List.Sorts) < MaxSorts && f.sortable() && !e.sorts(f.UID) {
			x.add(map[string]string{"field": f.UID})
		}
	})
}

func applyAddSort(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	e.List.Sorts = append(e.List.Sorts, SortKey{UID: e.nextPart(), Field: f.UID})
	e.NextPart++
	return nil
}

func titleAddSort(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "sort key"
	}
	return fmt.Sprintf("%s.%s: sort key", e.Name, f.Name)
}

// enumerateChangeDefaultSort offers every order but the present one.
func enumerateChangeDefaultSort(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if !f.sortable() {
			return
		}
		for _, desc := range []bool{false, true} {
			if now := e.List.Default; now == nil || *now != (DefaultSort{f.UID, desc}) {
				x.add(map[string]string{"field": f.UID, "desc": strconv.FormatBool(desc)})
			}
		}
	})
}

func applyChangeDefaultSort(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	desc, err := strconv.ParseBool(p["desc"])
	if err != nil {
		return fmt.Errorf("parameter desc: %w", err)
	}
	e.List.Default = &DefaultSort{f.UID, desc}
	return nil
}

func titleDefaultSort(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "default order"
	}
	way := "ascending"
	if p["desc"] == "true" {
		way = "descending"
	}
	return fmt.Sprintf("%s: by %s, %s", human(e.Plural), f.Name, way)
}

// drawPage draws the limits of pages. They are small, so that a few rows fill several pages.
func drawPage(r *rand.Rand) Page {
	size := 3 + r.IntN(3)
	return Page{Default: size, Max: pick(r, []int{2 * size, 10, 12, 15, 20})}
}

// enumerateAddPagination offers pages for every list that comes whole.
func enumerateAddPagination(x *enumeration) {
	for i := range x.s.Entities {
		if e := &x.s.Entities[i]; e.List.Page == nil {
			x.addPage(e, drawPage(x.stream(e.UID)))
		}
	}
}

func (x *enumeration) addPage(e *Entity, p Page) {
	x.add(map[string]string{"entity": e.UID, "default": strconv.Itoa(p.Default), "max": strconv.Itoa(p.Max)})
}

// enumerateChangePage offers for every list in pages another usual size, another largest size, and both.
func enumerateChangePage(x *enumeration) {
	for i := range x.s.Entities {
		e := &x.s.Entities[i]
		if e.List.Page == nil {
			continue
		}
		now, drawn := *e.List.Page, drawPage(x.stream(e.UID))
		for drawn.Default == now.Default {
			drawn.Default = 3 + (drawn.Default-2)%3
		}
		if drawn.Max == now.Max {
			drawn.Max = now.Max + 5
		}
		for _, p := range []Page{drawn, {drawn.Default, now.Max}, {now.Default, drawn.Max}} {
			if p.check() == nil {
				x.addPage(e, p)
			}
		}
	}
}

func applySetPage(s *Schema, p map[string]string) error {
	e := s.Entity(p["entity"])
	if e == nil {
		return fmt.Errorf("no entity %q", p["entity"])
	}
	size, err := intParam(p, "default")
	if err != nil {
		return err
	}
	most, err := intParam(p, "max")
	if err != nil {
		return err
	}
	if size == nil || most == nil {
		return fmt.Errorf("pages of %s without a size", e.Name)
	}
	e.List.Page = &Page{Default: int(*size), Max: int(*most)}
	return nil
}

func titlePage(s *Schema, p map[string]string) string {
	e := s.Entity(p["entity"])
	if e == nil {
		return "pages"
	}
	return fmt.Sprintf("%s: pages of %s, at most %s", human(e.Plural), p["default"], p["max"])
}

// enumerateAddNested offers every reference whose rows are not listed under their target.
func enumerateAddNested(x *enumeration) {
	x.eachField(func(e *Entity, f *Field) {
		if f.Type == Ref && !f.Nested && !x.s.buried(GoneNested, f.Target, e.Plural) && !x.s.nestedUnder(f.Target, e.UID) {
			x.add(map[string]string{"field": f.UID})
		}
	})
}

// nestedUnder reports whether rows of an entity are listed under a row of another already.
func (s *Schema) nestedUnder(target, uid string) bool {
	return slices.ContainsFunc(s.Inbound(target), func(f *Field) bool {
		owner, _ := s.FieldByUID(f.UID)
		return f.Nested && owner.UID == uid
	})
}

func applyAddNested(s *Schema, p map[string]string) error {
	e, f, err := s.fieldParam(p, "field")
	if err != nil {
		return err
	}
	if f.Type != Ref || f.Nested || s.nestedUnder(f.Target, e.UID) {
		return fmt.Errorf("%s.%s is no reference or has its nested list", e.Name, f.Name)
	}
	f.Nested = true
	return nil
}

func titleAddNested(s *Schema, p map[string]string) string {
	e, f := s.FieldByUID(p["field"])
	if f == nil {
		return "nested list"
	}
	return fmt.Sprintf("%s of one %s", human(e.Plural), s.entityNoun(f.Target))
}
