package logs

import (
	"slices"
	"strconv"
	"strings"
)

// VerdictKey names a failed attempt.
type VerdictKey struct {
	Episode       string
	Turn, Attempt int
}

// Key returns the attempt the verdict is about.
func (r *VerdictRow) Key() VerdictKey { return VerdictKey{r.Episode, r.Turn, r.Attempt} }

// Counting picks for every failed attempt the verdict that counts in figures and shares: the first of
// adjudicated person, person, proved or strong rule or contract, judge, weak rule or contract, and
// abstentions. People who disagree, with nobody having adjudicated, count as no person; see
// [Disputed]. The rows it points to are those of the argument.
func Counting(rows []VerdictRow) map[VerdictKey]*VerdictRow {
	disputed := Disputed(rows)
	best := map[VerdictKey]*VerdictRow{}
	for i := range rows {
		r := &rows[i]
		if disputed[r.Key()] && r.rank() == rankPerson {
			continue
		}
		if b, ok := best[r.Key()]; !ok || r.rank() < b.rank() || r.rank() == b.rank() && r.before(b) {
			best[r.Key()] = r
		}
	}
	return best
}

// The ranks of verdicts, the best first.
const (
	rankAdjudicated = iota
	rankPerson
	rankStrong
	rankJudge
	rankWeak
	rankAbstain
)

func (r *VerdictRow) rank() int {
	switch {
	case r.Strength == StrengthAbstain:
		return rankAbstain
	case r.AnnotatorKind == AnnotatorPerson && r.Annotator == Adjudicated:
		return rankAdjudicated
	case r.AnnotatorKind == AnnotatorPerson:
		return rankPerson
	case r.AnnotatorKind == AnnotatorJudge:
		return rankJudge
	case r.Strength == StrengthProved || r.Strength == StrengthStrong:
		return rankStrong
	}
	return rankWeak
}

// before orders verdicts of one rank, so that the choice does not depend on the order of files.
func (r *VerdictRow) before(b *VerdictRow) bool {
	x, y := r.id(), b.id()
	if x.kind != y.kind {
		return x.kind < y.kind
	}
	if x.annotator != y.annotator {
		return x.annotator < y.annotator
	}
	return x.taxonomy < y.taxonomy
}

// Disputed names the failed attempts that people labelled differently and nobody adjudicated.
func Disputed(rows []VerdictRow) map[VerdictKey]bool {
	first, out := map[VerdictKey]string{}, map[VerdictKey]bool{}
	for i := range rows {
		if rows[i].rank() != rankPerson {
			continue
		}
		k, label := rows[i].Key(), rows[i].label()
		if before, ok := first[k]; ok && before != label {
			out[k] = true
		}
		first[k] = label
	}
	for i := range rows {
		if rows[i].rank() == rankAdjudicated {
			delete(out, rows[i].Key())
		}
	}
	return out
}

func (r *VerdictRow) label() string {
	if r.Leaf == nil {
		return r.L1
	}
	return r.L1 + "\x00" + *r.Leaf
}

// source is the word of end_source.
func (r *VerdictRow) source() string {
	if r.rank() == rankAdjudicated {
		return Adjudicated
	}
	return r.AnnotatorKind
}

// EndSourceLoop is the end_source of an episode that was stopped for what the loop itself recorded.
const EndSourceLoop = "loop"

// VoidLeaf says what a void reason means as a label. Budget and operator are nobody's fault and have
// none, nor has the try that a process retry replaced.
func VoidLeaf(reason string) (l1, leaf string, ok bool) {
	leaf, ok = map[string]string{
		"rate_limit": "infra.rate_limit", "provider_error": "infra.provider_error", "sandbox": "infra.sandbox",
		"host": "bench.host", "setup": "bench.setup", "bench_grader": "bench.verifier", "bench_reference": "bench.test_defect",
	}[reason]
	l1, _, _ = strings.Cut(leaf, ".")
	return l1, leaf, ok
}

// SetEnds fills end_l1, end_leaf and end_source of every episode from the verdicts and the attempts.
func (t *Tables) SetEnds() {
	last := map[string]*AttemptRow{}   // newest attempt of an episode
	failed := map[string]*AttemptRow{} // newest one that failed
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if l := last[a.Episode]; l == nil || a.after(l) {
			last[a.Episode] = a
		}
		if !a.failed() {
			continue
		}
		if f := failed[a.Episode]; f == nil || a.after(f) {
			failed[a.Episode] = a
		}
	}
	counting := Counting(t.Verdicts)
	for i := range t.Episodes {
		e := &t.Episodes[i]
		e.EndL1, e.EndLeaf, e.EndSource = nil, nil, nil
		switch e.Status() {
		case StatusFailed:
			if a := failed[e.Episode]; a != nil {
				e.setEnd(cause(counting, VerdictKey{e.Episode, a.Turn, *a.Attempt}))
			}
		case StatusStopped:
			if a := last[e.Episode]; a != nil && e.Validity == ValidityStopped {
				e.setStopped(a)
			}
		}
	}
}

// failed says whether the attempt is a failure that counts.
func (r *AttemptRow) failed() bool { return r.Attempt != nil && r.Passed != nil && !*r.Passed }

func (r *AttemptRow) after(b *AttemptRow) bool {
	return r.Turn > b.Turn || r.Turn == b.Turn && r.Offset > b.Offset
}

// cause follows caused_by to the verdict an attempt failed for.
func cause(counting map[VerdictKey]*VerdictRow, k VerdictKey) *VerdictRow {
	v := counting[k]
	seen := []VerdictKey{k}
	for v != nil && v.CausedBy != nil {
		next, ok := causeKey(k.Episode, *v.CausedBy)
		if !ok || slices.Contains(seen, next) || counting[next] == nil {
			break
		}
		seen = append(seen, next)
		v = counting[next]
	}
	return v
}

// causeKey reads TURN.ATTEMPT at the end of a verdict's name.
func causeKey(episode, s string) (VerdictKey, bool) {
	s = s[strings.LastIndexByte(s, '@')+1:]
	turn, attempt, ok := strings.Cut(s, ".")
	n, err1 := strconv.Atoi(turn)
	m, err2 := strconv.Atoi(attempt)
	return VerdictKey{episode, n, m}, ok && err1 == nil && err2 == nil && n >= 0 && m >= 0
}

func (r *EpisodeRow) setEnd(v *VerdictRow) {
	if v == nil {
		return
	}
	l1, source := v.L1, v.source()
	r.EndL1, r.EndLeaf, r.EndSource = &l1, v.Leaf, &source
}

// setStopped names the reason for which the last attempt does not count.
func (r *EpisodeRow) setStopped(a *AttemptRow) {
	reason := a.VoidReason
	if reason == nil && a.Passed == nil {
		reason = a.GradeReason
	}
	if reason == nil {
		return
	}
	if l1, leaf, ok := VoidLeaf(*reason); ok {
		source := EndSourceLoop
		r.EndL1, r.EndLeaf, r.EndSource = &l1, &leaf, &source
	}
}
