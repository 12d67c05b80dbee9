package classify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// failure is everything that is known about one failed attempt.
type failure struct {
	book    *Taxonomy
	episode *logs.EpisodeRow // nil if unknown
	attempt *logs.AttemptRow
	checks  []*logs.CheckRow
	events  []logs.EventRow
	clauses *clauses
	foreign bool // of a log that stint did not write
	missing []string
	// passedBefore says whether a clause was satisfied in an earlier turn of the episode.
	passedBefore func(k *clause, g *Group) bool
	// sha hashes the bytes at a place of the run directory; "" if they cannot be read.
	sha func(logs.Place) string

	*Decision
	trail     *trail
	drift     drift
	fatal     []candidate
	recovered []candidate
	evidenced []Evidence
}

// decide finds the cause of one failed attempt, in the order of the design: integrity of the result, completion,
// infrastructure, contract, else unknown with the reason.
func (f *failure) decide() (*Decision, error) {
	f.Decision = &Decision{}
	a := f.attempt
	f.Verdict = logs.VerdictRow{Episode: a.Episode, Turn: a.Turn, Attempt: *a.Attempt, Annotator: f.book.Annotator(), Taxonomy: f.book.Name, Completion: a.Completion}
	for _, c := range f.checks {
		f.Checks = append(f.Checks, *c)
	}
	harness := ""
	if f.episode != nil {
		harness = f.episode.Harness
	}
	f.trail = newTrail(f.book, harness, a, f.events)
	if !f.trail.logged {
		f.missing = append(f.missing, "the agent's log")
	}
	f.lacks()
	f.fatal, f.recovered = f.trail.weigh()
	f.readContract()

	switch {
	case f.integrity():
	case f.infrastructure():
	case f.contract():
	default:
		f.unknown()
	}
	f.weaken()
	f.finish()
	return f.Decision, f.evidence(f.evidenced)
}

// readContract applies the contract table, whatever the verdict will rest on: the groups are reported anyway.
func (f *failure) readContract() {
	var rows []*logs.CheckRow
	for _, c := range f.checks {
		switch {
		case c.Confirmed != nil && !*c.Confirmed:
			f.drift.dropped++
		case c.Status == "not_run":
			f.drift.notRun++
		case f.foreign && !asksServer(c.Request):
			f.drift.opaque++ // a test of another benchmark: nothing was asked of a server
		default:
			rows = append(rows, c)
		}
	}
	k := newContract(f.book, f.clauses, rows, f.listener())
	f.drift.groups = k.groups(f.passedBefore)
	for _, s := range k.symptoms {
		if s.unsent {
			f.drift.unsent++
		}
	}
	f.Groups = f.drift.groups
}

// listener says whether a server of the agent was seen, or left a trace of its own.
func (f *failure) listener() bool {
	for i := range f.events {
		switch f.events[i].Kind {
		case logs.EventServerReady, logs.EventServerExit, logs.EventBuild:
			return true
		}
	}
	return slices.ContainsFunc(f.checks, func(c *logs.CheckRow) bool {
		return !strings.HasPrefix(c.Actual, "no answer") && c.Actual != ""
	})
}

// integrity is step 1: how grading ended, where that alone decides or where there is nothing to decide from.
func (f *failure) integrity() bool {
	reason := deref(f.attempt.GradeReason)
	leaf := f.book.grade(reason)
	ev := f.record(logs.EventGrade)
	const question = "is there a trustworthy result of grading?"
	if levelOf(leaf) == "bench" {
		f.step(question, "no: "+reason, ev...)
		f.label(logs.AnnotatorRule, leaf, logs.StrengthProved)
		f.Verdict.RuleIDs = []string{"G-" + reason}
		f.evidenced = ev
		return true
	}
	if f.ofBench(question) {
		return true
	}
	if reason == "" && len(f.checks) == 0 {
		f.step(question, "nothing is known about it")
		f.missing = append(f.missing, "the result of grading")
		return false
	}
	answer := "yes: " + reason
	if n := len(f.checks); n > 0 {
		answer = fmt.Sprintf("yes: %s, %d failing checks", reason, n)
	}
	f.step(question, answer, ev...)
	return false
}

// infrastructure is steps 3 to 5: an attempt that did not end cleanly, and exactly one source that is fatal.
func (f *failure) infrastructure() bool {
	completion := f.trail.completion
	ev := f.record(logs.EventAgentExit)
	f.step("how did the agent end?", orUnknown(completion)+f.exitWords(), ev...)
	if completion == completionClean || completion == "" {
		f.step("did infrastructure end the attempt?", f.cleanAnswer())
		return f.tooLarge()
	}
	switch len(f.fatal) {
	case 0:
		f.step("did infrastructure end the attempt?", "the attempt did not end cleanly, and nothing that is known explains it")
		f.evidenced = ev
		reason := ReasonNoRule
		if !f.trail.logged {
			reason = ReasonNoLog
		}
		f.abstain(reason)
		return true
	case 1:
		c := f.fatal[0]
		f.step("did infrastructure end the attempt?", fmt.Sprintf("yes, %s (%s): %s", c.leaf, c.rule, clip(c.says, 200)), f.candidateEvidence(c)...)
		strength := logs.StrengthStrong
		if c.strength != "strong" {
			strength = logs.StrengthWeak
		}
		f.label(logs.AnnotatorRule, c.leaf, strength)
		f.Verdict.RuleIDs = []string{c.rule}
		f.Verdict.Reach = ptr("turn")
		f.circles(c)
		f.evidenced = append(f.candidateEvidence(c), ev...)
		f.evidenced = append(f.evidenced, f.record(logs.EventGrade)...)
		f.secondary(c.leaf)
		return true
	}
	var names []string
	for _, c := range f.fatal {
		names = append(names, c.leaf+" ("+c.rule+")")
		f.evidenced = append(f.evidenced, f.candidateEvidence(c)...)
		f.Verdict.RuleIDs = append(f.Verdict.RuleIDs, c.rule)
	}
	f.step("did infrastructure end the attempt?", "more than one source, and none explains the others: "+strings.Join(names, ", "), f.evidenced...)
	f.abstain(ReasonConflict)
	return true
}

// tooLarge is the one failure of grading that is a limit of the box.
func (f *failure) tooLarge() bool {
	reason := deref(f.attempt.GradeReason)
	leaf := f.book.grade(reason)
	if levelOf(leaf) != "infra" {
		return false
	}
	f.step("is the server down as a whole?", "it was never started: "+reason)
	f.label(logs.AnnotatorRule, leaf, logs.StrengthProved)
	f.Verdict.RuleIDs = []string{"G-" + reason}
	f.evidenced = f.record(logs.EventGrade)
	return true
}

func (f *failure) cleanAnswer() string {
	if len(f.recovered) == 0 {
		return "no"
	}
	var names []string
	for _, c := range f.recovered {
		names = append(names, c.leaf)
	}
	return "no; the agent got over " + strings.Join(names, ", ")
}

// contract is step 6: what the failing checks say.
func (f *failure) contract() bool {
	reason := deref(f.attempt.GradeReason)
	if leaf := f.book.grade(reason); leaf == LeafBrokenServer {
		ev := append(f.record(logs.EventGrade), f.record(logs.EventServerExit)...)
		ev = append(ev, f.lastWords()...)
		f.step("is the server down as a whole?", "yes: "+reason, ev...)
		f.label(logs.AnnotatorContract, leaf, logs.StrengthProved)
		f.Verdict.Mechanism, f.Verdict.Origin = ptr(leaf), ptr(f.wholeOrigin())
		f.Verdict.RuleIDs = []string{"G-" + reason}
		f.evidenced = ev
		f.Verdict.Reach = ptr("turn")
		f.secondary(leaf)
		return true
	}
	g := f.drift.primary()
	if g == nil {
		return false
	}
	if f.wrongServer(g) {
		return true
	}
	var ev []Evidence
	for i, s := range g.members {
		if i == 4 {
			break
		}
		ev = append(ev, checkEvidence(s.check, f.sha(s.check.Place)))
	}
	f.step("which clause does the server break, and how?", g.words(), ev...)
	if g.clause != nil {
		f.step("did this turn ask for it?", f.originWords(g))
	}
	kind := logs.AnnotatorContract
	f.label(kind, g.Leaf, f.strength(g))
	f.Verdict.Mechanism, f.Verdict.Origin = ptr(g.Mechanism), ptr(g.Origin)
	if levelOf(g.Mechanism) == "infra" {
		f.Verdict.Mechanism, f.Verdict.Origin = nil, nil
		f.Verdict.AnnotatorKind = logs.AnnotatorRule
	}
	if g.Clause != "" {
		f.Verdict.Clause = ptr(g.Clause)
	}
	f.Verdict.Reach = ptr("turn")
	f.Verdict.RuleIDs = []string{g.Row}
	f.evidenced = append(ev, f.record(logs.EventGrade)...)
	f.secondary(g.Leaf)
	return true
}

// strength of a drift: strong, or weak where nothing names the clause or no server was ever seen.
func (f *failure) strength(g *Group) string {
	if g.clause == nil && g.Mechanism != LeafBrokenServer || levelOf(g.Mechanism) == "infra" {
		return logs.StrengthWeak
	}
	return logs.StrengthStrong
}

func (g *Group) words() string {
	where := g.Clause
	if g.Title != "" {
		where += " (" + clip(g.Title, 100) + ")"
	}
	if where == "" {
		where = "the service as a whole"
	}
	return fmt.Sprintf("%s: %s, row %s: %s; %d checks", where, g.Mechanism, g.Row, g.Says, len(g.Checks))
}

func (f *failure) originWords(g *Group) string {
	switch g.Origin {
	case OriginNew:
		return fmt.Sprintf("yes: %s is new or changed in turn %d", g.Clause, f.clauses.turn)
	case OriginRegression:
		return fmt.Sprintf("no: %s is from turn %d and was satisfied before: forgotten", g.Clause, g.clause.Introduced)
	}
	return fmt.Sprintf("no: %s is from turn %d and was never satisfied", g.Clause, g.clause.Introduced)
}

// wholeOrigin is the origin of a server that is down: a regression wherever one stood before.
func (f *failure) wholeOrigin() string {
	if f.attempt.Turn == 0 {
		return OriginNew
	}
	return OriginRegression
}

// unknown is step 7 without a judge.
func (f *failure) unknown() {
	switch {
	case f.drift.dropped > 0 && f.drift.dropped == len(f.checks):
		f.step("which clause does the server break, and how?", "every failing check passed when it was tried alone")
		f.abstain(ReasonUnconfirmed)
		for i, c := range f.checks {
			if i < 4 {
				f.evidenced = append(f.evidenced, checkEvidence(c, f.sha(c.Place)))
			}
		}
	case f.drift.opaque > 0:
		f.step("which clause does the server break, and how?", "the failing checks do not tell what was asked and what was answered")
		f.missing = append(f.missing, "request and answer of the failing checks")
		f.abstain(ReasonNoChecks)
		for i, c := range f.checks {
			if i < 4 {
				f.evidenced = append(f.evidenced, checkEvidence(c, f.sha(c.Place)))
			}
		}
	case len(f.checks) == 0:
		f.step("which clause does the server break, and how?", "there are no failing checks to tell")
		f.missing = append(f.missing, "failing checks")
		f.abstain(ReasonNoChecks)
	default:
		f.step("which clause does the server break, and how?", "no failing check got an answer that says so")
		f.abstain(ReasonNoRule)
	}
}

// secondary lists at most two further leaves: other groups, or what else is wrong.
func (f *failure) secondary(primary string) {
	for _, g := range f.drift.groups {
		if g.Leaf != primary && !slices.Contains(f.Verdict.Secondary, g.Leaf) && len(f.Verdict.Secondary) < 2 {
			f.Verdict.Secondary = append(f.Verdict.Secondary, g.Leaf)
		}
	}
}

// finish fills what every verdict has.
func (f *failure) finish() {
	v := &f.Verdict
	for _, c := range f.recovered {
		if !slices.Contains(v.Recovered, c.leaf) {
			v.Recovered = append(v.Recovered, c.leaf)
		}
		r := Recovered{Leaf: c.leaf, Rule: c.rule}
		if c.event != nil {
			r.Evidence = eventEvidence(c.event)
		}
		f.Decision.Recovered = append(f.Decision.Recovered, r)
	}
	for _, c := range f.trail.found {
		if !slices.Contains(v.RuleIDs, c.rule) && !slices.Contains(f.Nearly, c.rule+" "+c.leaf) {
			f.Nearly = append(f.Nearly, c.rule+" "+c.leaf)
		}
	}
	slices.Sort(v.Recovered)
	slices.Sort(f.missing)
	f.missing = slices.Compact(f.missing)
	v.Missing = slices.Clone(f.missing)
	v.Recovered, v.Secondary, v.RuleIDs, v.Votes, v.Missing = list(v.Recovered), list(v.Secondary), list(v.RuleIDs), list(v.Votes), list(v.Missing)
}

// record returns the attempt's records of a kind as evidence.
func (f *failure) record(kind string) []Evidence {
	var ev []Evidence
	for i := range f.events {
		if f.events[i].Kind == kind {
			ev = append(ev, eventEvidence(&f.events[i]))
		}
	}
	return ev
}

// lastWords is the log of the first build or server that printed anything. It is the agent's own text: shown, and
// nothing is decided by it.
func (f *failure) lastWords() []Evidence {
	for i := range f.events {
		e := &f.events[i]
		if text := strings.TrimSpace(e.Text); (e.Kind == logs.EventServerLog || e.Kind == logs.EventBuildLog) && text != "" {
			ev := eventEvidence(e)
			ev.Text = clip("… "+text[max(0, len(text)-160):], 200)
			return []Evidence{ev}
		}
	}
	return nil
}

func (f *failure) candidateEvidence(c candidate) []Evidence {
	if c.event == nil {
		return nil
	}
	return []Evidence{eventEvidence(c.event)}
}

func (f *failure) exitWords() string {
	a := f.attempt
	var parts []string
	if a.ExitCode != nil {
		parts = append(parts, fmt.Sprintf("exit code %d", *a.ExitCode))
	}
	for _, s := range []*string{a.Signal, a.EndedBy} {
		if deref(s) != "" && deref(s) != "self" {
			parts = append(parts, *s)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
