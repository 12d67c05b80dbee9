package classify

import (
	"fmt"
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
	inferred   bool   // nobody recorded how the agent ended; its log tells
	harness    string // the program around the model; "" = unknown

	calls map[string][]*toolCall // by source
	last  map[string]progress    // by source
}

func newTrail(book *Taxonomy, harness string, a *logs.AttemptRow, events []logs.EventRow) *trail {
	t := &trail{book: book, harness: harness, attempt: a, events: events, completion: deref(a.Completion)}
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
	if (t.completion == completionClean || t.completion == "") && t.silent() {
		t.completion = completionEmpty
	}
	t.match()
	t.conditions()
	t.pairs()
	t.kills()
	t.hung()
	t.listeners()
	t.masked()
	t.ending()
	return t
}

// mainVia is the source of events that tells most of what the agent did: its own log, or else the gateway's.
func (t *trail) mainVia() string {
	for i := len(t.events) - 1; i >= 0; i-- {
		if e := &t.events[i]; e.Via != logs.ViaJournal && e.Kind == logs.EventToolCall {
			return e.Via
		}
	}
	for i := len(t.events) - 1; i >= 0; i-- {
		if e := &t.events[i]; e.Via != logs.ViaJournal {
			return e.Via
		}
	}
	return logs.ViaReader
}

// callsBy are the calls that one source of events tells of.
func (t *trail) callsBy(via string) []*toolCall {
	if t.calls == nil {
		t.calls = map[string][]*toolCall{}
	}
	if _, ok := t.calls[via]; !ok {
		t.calls[via] = callsOf(t.events, via)
	}
	return t.calls[via]
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

// ending looks at how the program ended: limits, signals and exit codes.
func (t *trail) ending() {
	end := len(t.events)
	by, signal := deref(t.attempt.EndedBy), deref(t.attempt.Signal)
	if leaf := t.book.limit(by); leaf != "" {
		t.add(leaf, "S-limit", "strong", "the attempt was ended at a limit: "+by, end)
	}
	if by != "" && by != "self" {
		return
	}
	switch {
	case t.completion == completionNeverStarted:
		t.add(LeafAgentExit, "S-never-started", "strong", "the agent program never started to work", end)
	case t.completion == completionEmpty && deref(t.attempt.Completion) == completionEmpty:
		t.add(LeafAgentExit, "S7", "strong", "the program ended in order without a call and without an edit", end)
	case t.completion == completionEmpty:
		t.add(LeafAgentExit, "S7", "medium", "the program ended in order without a last message and without an edit, and its plan is open", end)
	case t.completion != completionCut:
	case signal != "":
		t.add(LeafAgentExit, "S-exit", "medium", "the program was ended by "+signal+", by nobody that is known", end)
	case t.attempt.ExitCode != nil && *t.attempt.ExitCode != 0:
		t.add(LeafAgentExit, "S-exit", "strong", fmt.Sprintf("the program ended with exit code %d", *t.attempt.ExitCode), end)
	}
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
