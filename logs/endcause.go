package logs

// Causes finds the verdict that counts of any failed attempt of some tables.
type Causes struct {
	counting map[VerdictKey]*VerdictRow
}

// Causes prepares the verdicts of the tables for look-ups.
func (t *Tables) Causes() Causes { return Causes{Counting(t.Verdicts)} }

// Of returns what an attempt failed for, following the attempt that its verdict names as the cause: the first level
// (drift, infra, bench, unknown) and the leaf, "" where there is none. ok is false if the attempt has no verdict.
func (c Causes) Of(k VerdictKey) (l1, leaf string, ok bool) {
	v := cause(c.counting, k)
	if v == nil {
		return "", "", false
	}
	if v.Leaf != nil {
		leaf = *v.Leaf
	}
	return v.L1, leaf, true
}
