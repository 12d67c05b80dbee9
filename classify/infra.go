package classify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// The completions of an attempt.
const (
	completionClean        = "clean"
	completionCut          = "cut"
	completionEmpty        = "empty"
	completionNeverStarted = "never_started"
)

// candidate is an event of the closed list of infrastructure.
type candidate struct {
	leaf      string
	rule      string // id of a rule, or of a structural detector
	strength  string
	says      string
	at        int // position among the events; len(events) = the end
	event     *logs.EventRow
	recovered bool
}

// trail is what an attempt's events tell about infrastructure.
type trail struct {
	book       *Taxonomy
	attempt    *logs.AttemptRow
	events     []logs.EventRow
	exit       *logs.EventRow // stint's record of the end
	completion string
	logged     bool // a log of the agent is at hand
	found      []candidate
	inferred   bool // nobody recorded how the agent ended; its log tells
}

func newTrail(book *Taxonomy, a *logs.AttemptRow, events []logs.EventRow) *trail {
	t := &trail{book: book, attempt: a, events: events, completion: deref(a.Completion)}
	for i := range events {
		e := &events[i]
		if e.Kind == logs.EventAgentExit {
			t.exit = e
		}
		if e.Via != logs.ViaJournal && e.Kind != logs.EventUnreadable {
			t.logged = true
		}
	}
	if t.completion == "" {
		t.completion = t.infer()
		t.inferred = t.completion != ""
	}
	t.match()
	t.pairs()
	t.ending()
	return t
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// match applies the rules and the structured kinds of events.
func (t *trail) match() {
	compacted := false
	for i := range t.events {
		e := &t.events[i]
		if !e.Trusted() || e.Via == logs.ViaJournal && e.Kind != logs.EventAgentExit {
			continue
		}
		switch e.Kind {
		case logs.EventRejectedCall:
			t.add(LeafToolCall, "S-rejected-call", "strong", "a tool call was rejected before it ran", i)
			continue
		case logs.EventLoopGuard:
			t.add(LeafLoopGuard, "S-loop-guard", "strong", "the harness's guard against loops ended the work", i)
			continue
		case logs.EventCompaction:
			compacted = true
			// Where nothing could be condensed the conversation was too long as it stood.
			if strings.Contains(e.Text, "ok=false") && !strings.Contains(e.Text, "nothing to condense") {
				t.add(LeafCompaction, "S-compaction", "strong", "a compaction failed", i)
			}
			continue
		case logs.EventRetry, logs.EventUsage, logs.EventModelRequest, logs.EventLeftOut:
			continue
		}
		// An end in order is described by the model's last words.
		if inOrder := t.completion == completionClean || t.completion == completionEmpty; inOrder && (e.Kind == logs.EventAgentExit || e.Kind == logs.EventEnd) {
			continue
		}
		t.apply(i, compacted)
	}
}

// apply adds what the rules say about an event. What a rule says without being sure stands back behind one that is sure
// of the same event.
func (t *trail) apply(i int, compacted bool) {
	e := &t.events[i]
	text := e.Text[:min(len(e.Text), maxMatched)]
	low := strings.ToLower(text)
	var hits []*Rule
	sure := false
	for r := range t.book.Rules {
		if rule := &t.book.Rules[r]; (rule.After == "" || compacted) && rule.fires(e, text, low) {
			hits = append(hits, rule)
			sure = sure || rule.Strength == "strong"
		}
	}
	for _, rule := range hits {
		if rule.Strength == "strong" || !sure {
			t.add(rule.Leaf, rule.ID, rule.Strength, "", i)
		}
	}
}

func (t *trail) add(leaf, rule, strength, says string, at int) {
	c := candidate{leaf: leaf, rule: rule, strength: strength, says: says, at: at}
	if at < len(t.events) {
		c.event = &t.events[at]
	} else {
		c.event = t.exit
	}
	if c.says == "" && c.event != nil {
		c.says = c.event.Text
	}
	t.found = append(t.found, c)
}

// lastCall is the tool call that was running when the attempt ended.
type lastCall struct {
	at      int
	command string
	open    bool     // nothing came back from it
	seconds *float64 // how long it ran; nil = unknown
}

// running returns the last tool call if it was running when the attempt ended: nothing came back from it, or what came
// back says that it was ended.
func (t *trail) running() *lastCall {
	answered, limited := map[string]*logs.EventRow{}, map[string]bool{}
	for i := len(t.events) - 1; i >= 0; i-- {
		e := &t.events[i]
		id := deref(e.CallID)
		switch {
		case e.Kind == logs.EventNotice && e.Channel == logs.ChannelHarness && strings.HasPrefix(e.Text, "tool_end: by=") && !strings.HasPrefix(e.Text, "tool_end: by=self"):
			limited[id] = true
		case e.Kind == logs.EventToolResult:
			answered[id] = e
		case e.Kind == logs.EventToolCall:
			result := answered[id]
			if result != nil && !limited[id] {
				return nil
			}
			c := &lastCall{at: i, command: commandOf(e.Text), open: result == nil}
			switch {
			case result != nil:
				c.seconds = result.DurationS
			case e.Time != nil && t.exit != nil && t.exit.Time != nil:
				c.seconds = ptr(t.exit.Time.Sub(*e.Time).Seconds())
			}
			return c
		}
	}
	return nil
}

// mostOf says whether the call took most of the attempt's time, as far as that is known.
func (t *trail) mostOf(c *lastCall) bool {
	return c.seconds == nil || t.attempt.AgentS == nil || 2**c.seconds >= *t.attempt.AgentS
}

// ending looks at how the program ended: limits, signals, exit codes, and the call that was open then.
func (t *trail) ending() {
	end := len(t.events)
	call := t.running()
	if call == nil {
		call = &lastCall{at: end}
	}
	by, signal := deref(t.attempt.EndedBy), deref(t.attempt.Signal)
	killed := signal != "" || t.attempt.ExitCode != nil && (*t.attempt.ExitCode == 143 || *t.attempt.ExitCode == 137 || *t.attempt.ExitCode == 144)
	if part := broadKill(call.command); call.open && part != "" && killed && (by == "" || by == "self") {
		t.add(LeafBroadKill, "S2", "strong", fmt.Sprintf("the command %q was running when the program was killed", clip(part, 120)), call.at)
	}
	if leaf := t.book.limit(by); leaf != "" {
		t.add(leaf, "S-limit", "strong", "the attempt was ended at a limit: "+by, end)
	}
	switch kind := hangs(call.command); {
	case by != "limit:wall" || call.at == end:
	case kind != "":
		t.add(LeafToolHang, "S3", "strong", fmt.Sprintf("the %s command %q never returned", kind, clip(call.command, 120)), call.at)
	case t.mostOf(call):
		t.add(LeafToolHang, "S3", "medium", fmt.Sprintf("the command %q had not returned", clip(call.command, 120)), call.at)
	}
	if by != "" && by != "self" {
		return
	}
	switch {
	case t.completion == completionNeverStarted:
		t.add(LeafAgentExit, "S-never-started", "strong", "the agent program never started to work", end)
	case t.completion == completionEmpty:
		t.add(LeafAgentExit, "S7", "strong", "the program ended in order without a call and without an edit", end)
	case t.completion != completionCut:
	case signal != "":
		t.add(LeafAgentExit, "S-exit", "medium", "the program was ended by "+signal+", by nobody that is known", end)
	case t.attempt.ExitCode != nil && *t.attempt.ExitCode != 0:
		t.add(LeafAgentExit, "S-exit", "strong", fmt.Sprintf("the program ended with exit code %d", *t.attempt.ExitCode), end)
	}
}

// progressed says whether a model step and a tool step succeeded after an event.
func (t *trail) progressed(at int) (model, tool bool) {
	for i := at + 1; i < len(t.events); i++ {
		e := &t.events[i]
		switch {
		case e.Via == logs.ViaJournal:
		case e.Kind == logs.EventModelAnswer, e.Kind == logs.EventToolCall, e.Kind == logs.EventMessage && e.Channel == logs.ChannelModel:
			model = true
		case e.Kind == logs.EventToolResult && (e.ExitCode == nil || *e.ExitCode == 0):
			tool = true
		}
	}
	return model, tool
}

// weigh splits the candidates into what ended the attempt and what it got over. With a clean end nothing is fatal.
func (t *trail) weigh() (fatal, recovered []candidate) {
	for _, c := range t.found {
		model, tool := t.progressed(c.at)
		if t.completion == completionClean || c.event != nil && c.at < len(t.events) && c.event.Via != logs.ViaJournal && model && tool && !t.repeats(c) {
			if !slices.ContainsFunc(recovered, func(o candidate) bool { return o.leaf == c.leaf }) {
				c.recovered = true
				recovered = append(recovered, c)
			}
			continue
		}
		fatal = append(fatal, c)
	}
	fatal = t.sources(fatal)
	recovered = slices.DeleteFunc(recovered, func(c candidate) bool {
		return slices.ContainsFunc(fatal, func(f candidate) bool { return f.leaf == c.leaf })
	})
	return fatal, recovered
}

// repeats says whether the same kind of event comes again with no success of both kinds after the last one.
func (t *trail) repeats(c candidate) bool {
	last := c.at
	for _, o := range t.found {
		if o.leaf == c.leaf && o.at > last && o.at < len(t.events) {
			last = o.at
		}
	}
	if last == c.at {
		return false
	}
	model, tool := t.progressed(last)
	return !model || !tool
}

// sources leaves one candidate for each leaf, the earliest and strongest, and drops what another explains away.
func (t *trail) sources(list []candidate) []candidate {
	var out []candidate
	for _, c := range list {
		i := slices.IndexFunc(out, func(o candidate) bool { return o.leaf == c.leaf })
		switch {
		case i < 0:
			out = append(out, c)
		case out[i].strength != "strong" && c.strength == "strong":
			out[i] = c
		}
	}
	return slices.DeleteFunc(slices.Clone(out), func(c candidate) bool {
		return slices.ContainsFunc(out, func(o candidate) bool { return t.book.explains(o.leaf, c.leaf) })
	})
}

// guard judges an alarm about a loop by the calls before it: the same cycle of calls with the same results at least
// three times is a loop; the same calls with results that differ are none.
func (t *trail) guard(at int) string {
	type pair struct{ call, result string }
	var pairs []pair
	calls := map[string]string{}
	for i := range t.events[:min(at, len(t.events))] {
		e := &t.events[i]
		switch e.Kind {
		case logs.EventToolCall:
			calls[deref(e.CallID)] = deref(e.Tool) + " " + e.Text
		case logs.EventToolResult:
			if c, ok := calls[deref(e.CallID)]; ok {
				pairs = append(pairs, pair{c, e.Text})
			}
		}
	}
	const cycles, longest = 3, 3
	verdict := "undetermined"
	for period := 1; period <= longest && len(pairs) >= cycles*period; period++ {
		sameCalls, sameResults := true, true
		last := pairs[len(pairs)-cycles*period:]
		for i := period; i < len(last); i++ {
			sameCalls = sameCalls && last[i].call == last[i-period].call
			sameResults = sameResults && last[i].result == last[i-period].result
		}
		switch {
		case sameCalls && sameResults:
			return "justified"
		case sameCalls:
			verdict = "false_positive"
		}
	}
	return verdict
}

// clip shortens a text for one line and makes control characters visible.
func clip(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}
