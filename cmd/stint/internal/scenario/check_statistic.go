package scenario

import (
	"errors"
	"fmt"
	"slices"
)

// checkAnalytics checks that an endpoint has what its kind needs, nothing else, and only fields of its entity.
func (s *Schema) checkAnalytics(a *Analytics) error {
	e := s.Entity(a.Entity)
	if e == nil {
		return fmt.Errorf("unknown entity %q", a.Entity)
	}
	if s.buried(GoneAnalytics, "", a.Name) {
		return fmt.Errorf("the name %q is that of a tombstone", a.Name)
	}
	measure := a.Measure != ""
	switch a.Kind {
	case StatCount:
		if measure {
			return errors.New("count with a measure")
		}
	case StatSum, StatAvg, StatMin, StatMax, StatGroup, StatTop, StatWindow, StatParent:
	default:
		return fmt.Errorf("unknown kind %q", a.Kind)
	}
	if m := e.field(a.Measure); measure && (m == nil || !m.Measurable()) || !measure && (a.Kind == StatSum || a.Kind == StatAvg || a.Kind == StatMin || a.Kind == StatMax) {
		return fmt.Errorf("measure %q is no number of the entity", a.Measure)
	}
	by := a.Group
	switch a.Kind {
	case StatGroup, StatTop, StatParent:
	case StatWindow:
		by = a.Window
	default:
		by = ""
	}
	if (a.Group != "" || a.Window != "") && a.Group+a.Window != by {
		return fmt.Errorf("kind %s with group %q or window %q", a.Kind, a.Group, a.Window)
	}
	if f := e.field(by); by != "" && (f == nil || !slices.Contains(f.groupings(), a.Kind)) || by == "" && (a.Kind == StatGroup || a.Kind == StatTop || a.Kind == StatWindow || a.Kind == StatParent) {
		return fmt.Errorf("kind %s by field %q", a.Kind, by)
	}
	if (a.Kind == StatTop) != (a.N > 0) || a.N > 9 {
		return fmt.Errorf("kind %s with n = %d", a.Kind, a.N)
	}
	if a.Where == "" {
		if a.Equals != nil {
			return errors.New("a value to equal, but no field")
		}
		return nil
	}
	w := e.field(a.Where)
	if w == nil || w.Type != Enum && w.Type != Boolean || w.Managed() || a.Equals == nil || !w.Allows(*a.Equals) || a.Where == a.Group {
		return fmt.Errorf("filter %q is no enum or boolean of the entity with a value it can have, other than what it is grouped by", a.Where)
	}
	return nil
}
