package classify

import (
	"cmp"
	"slices"

	"github.com/stint-bench/stint/logs"
)

// progress is where a model step and a tool step succeeded last in one source of events; -1 = never.
type progress struct{ model, tool int }

// progressed says whether a model step and a tool step succeeded after an event, by the same source of events: two that
// tell the same story stand one behind the other.
func (t *trail) progressed(at int) (model, tool bool) {
	if t.last == nil {
		t.last = map[string]progress{}
		for _, via := range []string{logs.ViaGateway, logs.ViaReader} {
			t.last[via] = t.progressBy(via)
		}
	}
	if at >= 0 && at < len(t.events) && t.events[at].Via != logs.ViaJournal {
		p := t.last[t.events[at].Via]
		return p.model > at, p.tool > at
	}
	for _, p := range t.last {
		model, tool = model || p.model > at, tool || p.tool > at
	}
	return model, tool
}

func (t *trail) progressBy(via string) progress {
	p := progress{-1, -1}
	for i := range t.events {
		e := &t.events[i]
		if e.Via == via && (e.Kind == logs.EventModelAnswer || e.Kind == logs.EventToolCall || e.Kind == logs.EventMessage && e.Channel == logs.ChannelModel) {
			p.model = i
		}
	}
	for _, c := range t.callsBy(via) {
		if !c.open() && !c.failed {
			p.tool = max(p.tool, c.result)
		}
	}
	for i := range t.events { // results whose call is not there
		e := &t.events[i]
		if e.Via == via && e.Kind == logs.EventToolResult && e.CallID == nil && (e.ExitCode == nil || *e.ExitCode == 0) {
			p.tool = max(p.tool, i)
		}
	}
	return p
}

// weigh splits the candidates into what ended the attempt and what it got over. An event is fatal if no successful step
// of the model or none of a tool follows it; of a kind that comes back up to the end that is true of the last ones. With a clean end nothing is fatal.
// Where an attempt was cut and nothing at its end says why, the last error before is what is left to explain it.
func (t *trail) weigh() (fatal, recovered []candidate) {
	for _, c := range t.found {
		model, tool := t.progressed(c.at)
		if t.completion == completionClean || c.event != nil && c.at < len(t.events) && c.event.Via != logs.ViaJournal && model && tool {
			c.recovered = true
			recovered = append(recovered, c)
			continue
		}
		fatal = append(fatal, c)
	}
	if by := deref(t.attempt.EndedBy); len(fatal) == 0 && t.completion == completionCut && (by == "" || by == "self") {
		if i := t.lastError(recovered); i >= 0 {
			c := recovered[i]
			c.recovered, c.strength = false, "weak"
			fatal = append(fatal, c)
			recovered = slices.Delete(recovered, i, i+1)
		}
	}
	fatal = t.sources(fatal)
	var kept []candidate
	for _, c := range recovered {
		same := func(o candidate) bool { return o.leaf == c.leaf }
		if !slices.ContainsFunc(fatal, same) && !slices.ContainsFunc(kept, same) {
			kept = append(kept, c)
		}
	}
	return fatal, kept
}

// lastError is the last of the candidates that a log tells of; -1 = none.
func (t *trail) lastError(list []candidate) int {
	last := -1
	for i, c := range list {
		if c.at < len(t.events) && (last < 0 || c.at >= list[last].at) {
			last = i
		}
	}
	return last
}

// sources leaves one candidate for each leaf, the strongest and then the earliest, and drops what another explains away.
// Upstream explains downstream if it came first. A downstream event that came before its usual cause is itself the
// earlier source, unless the cause is of the kind that shows late.
func (t *trail) sources(list []candidate) []candidate {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.at, b.at) })
	var out []candidate
	for _, c := range list {
		i := slices.IndexFunc(out, func(o candidate) bool { return o.leaf == c.leaf })
		switch {
		case i < 0:
			out = append(out, c)
		case out[i].strength != "strong" && c.strength == "strong":
			at := out[i].at
			out[i] = c
			out[i].at = at // the kind of event began here
		}
	}
	return slices.DeleteFunc(slices.Clone(out), func(c candidate) bool {
		return slices.ContainsFunc(out, func(o candidate) bool { return t.explainsAway(o, c) })
	})
}

// explainsAway says whether one source of trouble is why another one is seen.
func (t *trail) explainsAway(cause, symptom candidate) bool {
	order := t.order(cause, symptom)
	if explains, late := t.book.explains(cause.leaf, symptom.leaf); explains && (late || order <= 0) {
		return true
	}
	explained, late := t.book.explains(symptom.leaf, cause.leaf)
	return explained && !late && order < 0
}

// order compares when two events were: by their place, and across two sources by their times. 0 = not known, or at once.
func (t *trail) order(a, b candidate) int {
	if a.at >= len(t.events) || b.at >= len(t.events) {
		return cmp.Compare(a.at, b.at)
	}
	x, y := &t.events[a.at], &t.events[b.at]
	if x.Via == y.Via {
		return cmp.Compare(a.at, b.at)
	}
	if x.Time != nil && y.Time != nil {
		return x.Time.Compare(*y.Time)
	}
	return 0
}
