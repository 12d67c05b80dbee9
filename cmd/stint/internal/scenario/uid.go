package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// checkUIDs wants every uid to have its form and a number that has been given out, so that the next one is new.
func (s *Schema) checkUIDs() error {
	for i := range s.Entities {
		e := &s.Entities[i]
		if err := numberedUID(e.UID, "e", s.NextEntity); err != nil {
			return err
		}
		for j := range e.Fields {
			if err := numberedUID(e.Fields[j].UID, e.UID+".f", e.NextField); err != nil {
				return err
			}
		}
		seen := make(map[string]bool)
		for _, uid := range e.partUIDs() {
			if err := numberedUID(uid, e.UID+".p", e.NextPart); err != nil {
				return err
			}
			if seen[uid] {
				return fmt.Errorf("two parts have the uid %q", uid)
			}
			seen[uid] = true
		}
	}
	for i := range s.Analytics {
		if err := numberedUID(s.Analytics[i].UID, "a", s.NextStat); err != nil {
			return err
		}
	}
	for i := range s.Tombstones {
		if err := numberedUID(s.Tombstones[i].UID, "t", s.NextGone); err != nil {
			return err
		}
	}
	return nil
}

// partUIDs lists the uids of all that belongs to an entity and is no field.
func (e *Entity) partUIDs() []string {
	var uids []string
	for _, g := range e.Groups {
		uids = append(uids, g.UID)
	}
	for _, o := range e.Orders {
		uids = append(uids, o.UID)
	}
	for _, c := range e.Commands() {
		uids = append(uids, c.UID)
	}
	for _, f := range e.List.Filters {
		uids = append(uids, f.UID)
	}
	for _, k := range e.List.Sorts {
		uids = append(uids, k.UID)
	}
	return uids
}

// numberedUID reports a uid that is not prefix and a number from 1 to last, written as numbers are.
func numberedUID(uid, prefix string, last int) error {
	digits, ok := strings.CutPrefix(uid, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || n > last || strconv.Itoa(n) != digits {
		return fmt.Errorf("uid %q is not %s and a number from 1 to %d", uid, prefix, last)
	}
	return nil
}
