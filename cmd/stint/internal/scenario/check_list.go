package scenario

import (
	"errors"
	"fmt"
	"slices"
)

// checkList checks the options of a list: fields that exist and suit, and parameters that differ.
func (e *Entity) checkList() error {
	o := &e.List
	if len(o.Filters) > MaxFilters || len(o.Sorts) > MaxSorts {
		return fmt.Errorf("%d filters and %d sort keys, allowed are %d and %d", len(o.Filters), len(o.Sorts), MaxFilters, MaxSorts)
	}
	names := plainParams()
	for i := range o.Filters {
		x := &o.Filters[i]
		f := e.field(x.Field)
		if f == nil || !slices.Contains(f.filterKinds(), x.Kind) {
			return fmt.Errorf("filter %s: kind %q does not suit field %q", x.UID, x.Kind, x.Field)
		}
		for _, p := range x.Params(f) {
			if slices.Contains(names, p) {
				return fmt.Errorf("filter %s: parameter %q is used twice", x.UID, p)
			}
			names = append(names, p)
		}
	}
	for i, k := range o.Sorts {
		if f := e.field(k.Field); f == nil || !f.sortable() || slices.ContainsFunc(o.Sorts[:i], func(b SortKey) bool { return b.Field == k.Field }) {
			return fmt.Errorf("sort key %s: field %q does not suit or is one already", k.UID, k.Field)
		}
	}
	if o.Default != nil {
		if f := e.field(o.Default.Field); f == nil || !f.sortable() {
			return fmt.Errorf("default order by field %q, which does not suit", o.Default.Field)
		}
	}
	if o.Page != nil {
		return o.Page.check()
	}
	return nil
}

func (p *Page) check() error {
	if p.Default < 1 || p.Max <= p.Default || p.Max > 100 {
		return errors.New("pages must hold at least 1 row, at most 100, and by themselves fewer than at most")
	}
	return nil
}
