package classify

import (
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// What is missing in the logs of others.
const (
	missingEnd   = "how the agent ended"
	missingGrade = "the result of grading"
	missingText  = "the whole text of events"
)

// infer reads from the agent's log how an attempt ended that nobody watched: cut where an error, a guard or a call
// without a result is the last of it, clean where the model or the program had the last word. It is "" where there is
// no log, or where the end is as little known as that.
func (t *trail) infer() string {
	for i := len(t.events) - 1; i >= 0; i-- {
		e := &t.events[i]
		if e.Via == logs.ViaJournal {
			continue
		}
		switch e.Kind {
		case logs.EventUsage, logs.EventLeftOut, logs.EventModelRequest, logs.EventUnreadable, logs.EventRaw:
			continue
		case logs.EventNotice:
			if t.tells(e) {
				return completionCut
			}
			continue
		case logs.EventEnd:
			if e.Trusted() && badEnd(e.Text) || t.tells(e) {
				return completionCut
			}
			continue // the log says that it ends; what stands before says how
		case logs.EventError, logs.EventLoopGuard, logs.EventRejectedCall, logs.EventCut, logs.EventRetry:
			if e.Trusted() {
				return completionCut
			}
			continue
		case logs.EventToolCall:
			return completionCut
		case logs.EventMessage:
			if e.Channel == logs.ChannelModel {
				return completionClean
			}
			return "" // a prompt that nobody answered, or a log that was copied while it grew
		case logs.EventModelAnswer:
			return completionClean
		}
		return ""
	}
	return ""
}

// tells says whether a rule is met by an event of a trusted channel.
func (t *trail) tells(e *logs.EventRow) bool {
	if !e.Trusted() {
		return false
	}
	text := e.Text[:min(len(e.Text), maxMatched)]
	low := strings.ToLower(text)
	return slices.ContainsFunc(t.book.Rules, func(r Rule) bool { return r.After == "" && r.fires(e, text, low) })
}

// badEnd says whether a program's own last record calls its end an error.
func badEnd(text string) bool {
	low := strings.ToLower(text)
	return strings.Contains(low, "is_error=true") || strings.Contains(low, "failed=true")
}

// pairs is detector S5: where a provider refuses a request for a reason that no rule knows, calls and results are held
// against each other across compactions. A pair that a compaction tore apart is the compaction's doing, any other one
// that of whoever stored the call.
func (t *trail) pairs() {
	for i := range t.events {
		e := &t.events[i]
		if e.Channel != logs.ChannelProvider || e.HTTPStatus == nil || *e.HTTPStatus != 400 || t.explained(i) {
			continue
		}
		lost, compacted := t.orphan(i)
		switch {
		case lost == "":
		case compacted:
			t.drop(i, "R-refused")
			t.add(LeafCompaction, "S5", "strong", "a compaction stands between a call and its result: "+clip(lost, 60), i)
		default:
			t.drop(i, "R-refused")
			t.add(LeafToolCall, "S5", "medium", "the conversation holds a call without a result, or a result without its call: "+clip(lost, 60), i)
		}
	}
}

// explained says whether a rule that is sure of it fired on an event.
func (t *trail) explained(at int) bool {
	return slices.ContainsFunc(t.found, func(c candidate) bool { return c.at == at && c.rule != "R-refused" })
}

func (t *trail) drop(at int, rule string) {
	t.found = slices.DeleteFunc(t.found, func(c candidate) bool { return c.at == at && c.rule == rule })
}

// orphan finds the last call without a result, or result without a call, before an event, and says whether a compaction
// stands behind the call or before the result.
func (t *trail) orphan(before int) (id string, compacted bool) {
	calls, mark := map[string]int{}, -1
	for i := range t.events[:before] {
		e := &t.events[i]
		c := deref(e.CallID)
		switch {
		case e.Kind == logs.EventCompaction:
			mark = i
		case c == "" || e.Via == logs.ViaJournal:
		case e.Kind == logs.EventToolCall:
			calls[c] = i
		case e.Kind == logs.EventToolResult:
			at, called := calls[c]
			delete(calls, c)
			if !called || at < mark {
				id, compacted = c, mark >= 0
			}
		}
	}
	last := -1
	for c, at := range calls {
		if at > last {
			last, id, compacted = at, c, at < mark
		}
	}
	return id, compacted
}

// lacks lists what a log of others does not tell, and says whether a verdict is the weaker for it.
func (f *failure) lacks() {
	if f.trail.inferred {
		f.missing = append(f.missing, missingEnd)
	}
	if f.attempt.Passed == nil {
		f.missing = append(f.missing, missingGrade)
	}
	if f.trail.inferred && slices.ContainsFunc(f.events, func(e logs.EventRow) bool {
		return e.Via != logs.ViaJournal && e.Trusted() && strings.HasSuffix(e.Text, "…")
	}) {
		f.missing = append(f.missing, missingText)
	}
}

// weaken lowers the strength of what rests on a log that says nothing about the end.
func (f *failure) weaken() {
	if (f.trail.inferred || f.attempt.Passed == nil) && f.Verdict.Strength == logs.StrengthStrong {
		f.Verdict.Strength = logs.StrengthWeak
	}
}

// ofBench decides step 1 by the rules: no grade is there, and what ran the benchmark says why.
func (f *failure) ofBench(question string) bool {
	if f.attempt.GradeReason != nil || len(f.checks) > 0 {
		return false
	}
	for _, c := range f.trail.found {
		if levelOf(c.leaf) != "bench" || c.event == nil {
			continue
		}
		if model, tool := f.trail.progressed(-1); c.leaf == LeafSetup && (model || tool) {
			continue // the agent had begun
		}
		ev := f.candidateEvidence(c)
		f.step(question, "no: "+clip(c.says, 200), ev...)
		strength := logs.StrengthStrong
		if c.strength != "strong" {
			strength = logs.StrengthWeak
		}
		f.label(logs.AnnotatorRule, c.leaf, strength)
		f.Verdict.RuleIDs = []string{c.rule}
		f.Verdict.Reach = ptr("turn")
		f.evidenced = ev
		return true
	}
	return false
}

// asksServer says whether a check's request is one to a service: a method and a path.
func asksServer(request string) bool {
	method, path, ok := strings.Cut(request, " ")
	return ok && method != "" && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && strings.HasPrefix(path, "/")
}

// circles adds what S1 says: of an alarm whether it was right, and of a used up limit whether the work was a loop.
func (f *failure) circles(c candidate) {
	switch c.leaf {
	case LeafLoopGuard:
		v := f.trail.guard(c.at)
		f.Verdict.GuardVerdict = &v
		if v != guardUnknown {
			f.Verdict.RuleIDs = append(f.Verdict.RuleIDs, "S1")
		}
	case LeafBudget:
		if f.trail.guard(len(f.events)) == guardJustified {
			f.step("was the agent going round in circles?", "yes: its last calls and their results repeat (S1), and nothing stopped it before the limit")
		}
	}
}

// wrongServer is S4 where the failing checks fit it: they were refused, or miss what this turn asked for, and the server
// that answered is not the one that the agent meant. Stint's own grading starts the server afresh, so there only what was
// seen of the process that listens counts, not what the agent left running.
func (f *failure) wrongServer(g *Group) bool {
	c := f.trail.stale()
	silent := !slices.ContainsFunc(g.members, func(s *symptom) bool { return !s.silent() })
	if c == nil || c.strength != "strong" && !f.foreign || g.Mechanism != LeafChangeMissed && !silent {
		return false
	}
	ev := f.candidateEvidence(*c)
	f.step("is the right server there?", "no (S4): "+clip(c.says, 200), ev...)
	strength := logs.StrengthStrong
	if c.strength != "strong" {
		strength = logs.StrengthWeak
	}
	f.label(logs.AnnotatorRule, c.leaf, strength)
	f.Verdict.RuleIDs, f.Verdict.Reach = []string{"S4"}, ptr("turn")
	for i, s := range g.members {
		if i < 4 {
			ev = append(ev, checkEvidence(s.check, f.sha(s.check.Place)))
		}
	}
	f.evidenced = ev
	f.secondary(c.leaf)
	return true
}
