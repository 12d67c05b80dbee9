package classify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// facts is what stint itself knows about the attempt. Names, rates and what the rules think are not among it.
func (b *builder) facts() {
	a := b.f.attempt
	turn := fmt.Sprintf("turn: %d (%s)", a.Turn, map[bool]string{true: "the initial build", false: "a change request"}[a.Turn == 0])
	if b.f.foreign {
		turn = fmt.Sprintf("turn: %d", a.Turn)
	}
	lines := []string{turn, fmt.Sprintf("attempt of the turn: %d", *a.Attempt)}
	say := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	say("how the agent ended", deref(a.Completion))
	if a.ExitCode != nil {
		say("exit code", fmt.Sprint(*a.ExitCode))
	}
	say("signal", deref(a.Signal))
	say("ended by", deref(a.EndedBy))
	if a.AgentS != nil {
		say("seconds the agent worked", fmt.Sprintf("%.1f", *a.AgentS))
	}
	say("grading", deref(a.GradeReason))
	say("failing checks", fmt.Sprint(len(b.f.checks)))
	for _, r := range b.f.recovered {
		say("got over", b.leafWord(r)+" at event "+fmt.Sprint(r.at))
	}
	say("missing inputs", strings.Join(b.f.Verdict.Missing, ", "))
	ev := Evidence{File: a.File, Offset: a.Offset, Length: a.Length, What: "record"}
	if exit := b.f.record(logs.EventAgentExit); len(exit) > 0 {
		ev = exit[0]
	}
	ev.Text = ""
	b.add(&Item{ID: "facts", Kind: kindFacts, Channel: logs.ChannelSystem, Trusted: true, evidence: ev}, strings.Join(lines, "\n"), b.left)
}

// leafWord is what happened, without the name of a label.
func (b *builder) leafWord(c candidate) string {
	if l := b.f.book.Leaf(c.leaf); l != nil {
		return l.Title
	}
	return "an event"
}

// checksPerGroup bounds how many failing checks of one group are shown.
const checksPerGroup = 3

// checks shows failing checks of up to five groups; without groups the first ones.
func (b *builder) checks() {
	var rows []*logs.CheckRow
	for i, g := range b.f.Groups {
		if i == 5 {
			break
		}
		for j, s := range g.members {
			if j < checksPerGroup && !slices.Contains(rows, s.check) {
				rows = append(rows, s.check)
			}
		}
	}
	for _, c := range b.f.checks {
		if len(rows) < 6 && len(b.f.Groups) == 0 {
			rows = append(rows, c)
		}
	}
	for i, c := range rows {
		passed := "never"
		if c.LastPassedTurn != nil {
			passed = fmt.Sprintf("in turn %d", *c.LastPassedTurn)
		}
		text := fmt.Sprintf("clauses: %s\nstatus: %s; this turn's change: %s; last passed: %s\nrequest: %s\nexpected: %s\nactual: %s",
			strings.Join(c.Clauses[:min(len(c.Clauses), 6)], ", "), c.Status, c.Age, passed, c.Request, c.Expected, c.Actual)
		if c.Confirmed != nil && !*c.Confirmed {
			text = "passed when it was tried alone\n" + text
		}
		ev := checkEvidence(c, b.f.sha(c.Place))
		ev.Text = ""
		// The answer in it is the agent's own.
		b.add(&Item{ID: fmt.Sprintf("k%d", i+1), Kind: kindCheck, Channel: logs.ChannelVerifier, check: c, evidence: ev}, text, max(b.left/(len(rows)-i), 120))
	}
	b.omitted[b.section] += len(b.f.checks) - len(rows)
}

// clauses shows the sentences that the shown checks are about, and what the turn asked for.
func (b *builder) clauses() {
	var list []*clause
	for _, it := range b.packet.Items {
		if it.check == nil {
			continue
		}
		for _, id := range it.check.Clauses {
			if k := b.f.clauses.byID[id]; k != nil && !slices.Contains(list, k) && len(list) < 8 {
				list = append(list, k)
			}
		}
	}
	for _, g := range b.f.Groups {
		if g.clause != nil && !slices.Contains(list, g.clause) && len(list) < 8 {
			list = append(list, g.clause)
		}
	}
	share := b.left / 2
	for i, k := range list {
		since := fmt.Sprintf("from turn %d", k.Introduced)
		if k.Changed > k.Introduced {
			since += fmt.Sprintf(", changed in turn %d", k.Changed)
		}
		b.add(&Item{ID: k.ID, Kind: kindClause, Channel: "spec", Trusted: true}, fmt.Sprintf("clause %s, %s: %s", k.ID, since, k.Text), max(share/(len(list)-i), 60))
	}
	if b.change != "" {
		b.add(&Item{ID: "change", Kind: kindChange, Channel: "spec", Trusted: true}, "what this turn asked for: "+b.change, b.left)
	}
}

// lastEvents is how many events before the end are shown.
const lastEvents = 12

// ending adds the last events that say anything, the very last one first.
func (b *builder) ending() {
	share := max(b.left/5, 100)
	for i, n := len(b.f.events)-1, 0; i >= 0 && n < lastEvents; i-- {
		if e := &b.f.events[i]; e.Text != "" || e.Tool != nil || e.ExitCode != nil || e.HTTPStatus != nil {
			b.event(i, "", share)
			n++
		}
	}
	b.sortEvents()
}

// events adds those from one position to another, where they are not in yet.
func (b *builder) events(from, to int) {
	share := max(b.left/5, 100)
	for i := from; i <= to && i < len(b.f.events); i++ {
		b.event(i, "", share)
	}
	b.sortEvents()
}

func (b *builder) event(i int, note string, most int) {
	if b.seen[i] {
		return
	}
	e := &b.f.events[i]
	head := []string{e.Kind}
	if e.Tool != nil {
		head = append(head, "tool="+clip(*e.Tool, 60))
	}
	if e.ExitCode != nil {
		head = append(head, fmt.Sprintf("exit_code=%d", *e.ExitCode))
	}
	if e.HTTPStatus != nil {
		head = append(head, fmt.Sprintf("http_status=%d", *e.HTTPStatus))
	}
	if e.DurationS != nil {
		head = append(head, fmt.Sprintf("seconds=%.1f", *e.DurationS))
	}
	channel := e.Channel + " · " + strings.Join(head, " ")
	if note != "" {
		channel += " · " + note
	}
	ev := eventEvidence(e)
	ev.Text = ""
	it := &Item{ID: fmt.Sprintf("e%d", i), Kind: kindEvent, Channel: channel, Trusted: b.trusts(e), event: e, evidence: ev}
	if b.add(it, e.Text, most) {
		b.seen[i] = true
	}
}

// trusts says whether the agent had no hand in an event: the end of a program in good order is told in the model's own
// words.
func (b *builder) trusts(e *logs.EventRow) bool {
	completion := deref(b.f.attempt.Completion)
	inOrder := completion == completionClean || completion == completionEmpty
	return e.Trusted() && !(inOrder && e.Via != logs.ViaJournal && e.Kind == logs.EventEnd)
}

func (b *builder) sortEvents() {
	slices.SortStableFunc(b.packet.Items, func(x, y *Item) int {
		if x.section != y.section || x.event == nil || y.event == nil {
			return x.section - y.section
		}
		return eventNumber(x) - eventNumber(y)
	})
}

func eventNumber(it *Item) int {
	n := 0
	fmt.Sscanf(it.ID, "e%d", &n)
	return n
}

var digits = regexp.MustCompile(`[0-9]+`)

// matched adds every event that a rule or a detector is about, with its neighbours, and what else a trusted channel has to
// tell, since the rules do not know every word; those that say the same are folded.
func (b *builder) matched() {
	type mark struct{ at, rank int }
	var marks []mark
	for i := range b.f.events {
		e := &b.f.events[i]
		switch {
		case slices.ContainsFunc(b.f.trail.found, func(c candidate) bool { return c.at == i }):
			marks = append(marks, mark{i, 0})
		case e.Kind == logs.EventToolCall && broadKill(commandOf(e.Text)) != nil:
			marks = append(marks, mark{i, 0})
		case e.Trusted() && (e.Kind == logs.EventError || e.Kind == logs.EventCut || e.Kind == logs.EventUnreadable || e.Kind == logs.EventRetry || e.Kind == logs.EventServerExit):
			marks = append(marks, mark{i, 1})
		case e.Trusted() && e.Via != logs.ViaJournal && (e.Kind == logs.EventNotice || e.Kind == logs.EventRejectedCall || e.Kind == logs.EventLoopGuard || e.Kind == logs.EventCompaction):
			marks = append(marks, mark{i, 2})
		}
	}
	slices.SortStableFunc(marks, func(x, y mark) int { return x.rank - y.rank })
	like := map[string]int{}
	var first []mark
	var kinds []string // of the first ones
	for _, m := range marks {
		e := &b.f.events[m.at]
		k := e.Channel + "\x00" + e.Kind + "\x00" + digits.ReplaceAllString(e.Text, "0")
		if like[k]++; like[k] == 1 {
			first, kinds = append(first, m), append(kinds, k)
		}
	}
	share := max(b.left/4, 120)
	for i, m := range first {
		note := ""
		if n := like[kinds[i]]; n > 1 {
			note = fmt.Sprintf("the same, %d times", n)
		}
		most := share
		if m.rank == 2 {
			most = share / 4
		}
		b.event(m.at, note, most)
	}
	for _, m := range first {
		if m.rank == 2 {
			break
		}
		for i := max(0, m.at-2); i <= min(m.at+2, len(b.f.events)-1); i++ {
			b.event(i, "", share/4)
		}
	}
	b.sortEvents()
}

// skeleton is one line per event, evenly thinned.
func (b *builder) skeleton() {
	const line = 90 // bytes
	n := len(b.f.events)
	room := (b.left - itemTokens) * 2 / line
	if n == 0 || room < 1 {
		b.omitted[b.section] += n
		return
	}
	step := max(1, (n+room-1)/room)
	var lines []string
	for i := 0; i < n; i += step {
		e := &b.f.events[i]
		m := b.red.redact(unchanged(clip(strings.Join(strings.Fields(e.Text[:min(len(e.Text), 400)]), " "), 120)))
		if !b.trusts(e) {
			m = b.unspoken(m)
		}
		lines = append(lines, fmt.Sprintf("%d %s/%s %s", i, e.Channel, e.Kind, clip(m.text, 60)))
	}
	if step > 1 {
		lines = append(lines, fmt.Sprintf("(every %dth of %d events)", step, n))
	}
	b.add(&Item{ID: "outline", Kind: kindSkeleton, Channel: "outline"}, strings.Join(lines, "\n"), b.left)
}

// first adds the first three events.
func (b *builder) first() { b.events(0, 2) }

// asked adds the events that the judge asked for.
func (b *builder) asked() {
	for _, r := range b.opt.asked {
		b.events(max(0, r[0]), min(r[1], r[0]+200))
	}
}
