package classify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
)

// TestDetectorExamples: the embedded examples are held when the book is loaded; a detector that misses one is an error.
func TestDetectorExamples(t *testing.T) {
	text := string(CodebookText())
	for name, tt := range map[string]struct{ old, new, says string }{
		"an example that is missed":    {`"call pkill -f node; ./start.sh"`, `"call kill 4711; ./start.sh"`, "S2: on the example"},
		"a word nobody knows":          {`["call make", "end cut by=self code=143"]`, `["shout make", "end cut by=self code=143"]`, `begins with no word`},
		"an end nobody knows":          {`"end cut by=self code=143"]`, `"end sad"]`, `"sad" is no word of an end`},
		"a detector that is not there": {"  - id: S7", "  - id: S8", "S8: detector 7 is none of"},
		"late, and not explained":      {"late: [infra.budget]", "late: [infra.sandbox]", "is late, and is not among"},
	} {
		changed := strings.Replace(text, tt.old, tt.new, 1)
		if changed == text {
			t.Errorf("%s: the book does not say %s", name, tt.old)
			continue
		}
		if _, err := ParseCodebook([]byte(changed)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %s", name, err, tt.says)
		}
	}
}

// TestDetectorsEverywhere holds the examples of S2, S3, S5, S6 and S7 to the leaf on an attempt of stint's own and on one
// of a foreign log, of which less is known and whose verdict is weak.
func TestDetectorsEverywhere(t *testing.T) {
	book := Codebook()
	for _, d := range book.Detectors {
		if d.ID == "S1" || d.ID == "S4" {
			continue
		}
		for _, x := range d.Positive {
			tr, err := x.trail(book)
			if err != nil {
				t.Fatal(err)
			}
			for _, foreign := range []bool{false, true} {
				e := attemptEnded("cut", "", "", nil)
				e.attempt.LinesAdded, e.attempt.LinesDeleted, e.attempt.AgentS = tr.attempt.LinesAdded, tr.attempt.LinesDeleted, tr.attempt.AgentS
				e.attempt.Completion, e.attempt.ExitCode, e.attempt.Signal, e.attempt.EndedBy = tr.attempt.Completion, tr.attempt.ExitCode, tr.attempt.Signal, tr.attempt.EndedBy
				e.events, e.harnessName = tr.events, tr.harness
				if e.foreign = foreign; foreign {
					e.attempt.Passed, e.attempt.GradeReason, e.checks = nil, nil, nil
				}
				v := e.decide(t).Verdict
				if deref(v.Leaf) != d.Leaf || !slices.Equal(v.RuleIDs, []string{d.ID}) {
					t.Errorf("%s, foreign %t: %s by %v on %q", d.ID, foreign, deref(v.Leaf), v.RuleIDs, x)
				}
				if foreign && v.Strength == logs.StrengthStrong {
					t.Errorf("%s: strong on a foreign log", d.ID)
				}
			}
		}
	}
}

// TestOneSource: what one source of events tells is not progress after what another one tells of the same time.
func TestOneSource(t *testing.T) {
	e := attemptEnded("cut", "self", "", ptr(1)).work()
	e.say("provider", logs.ChannelProvider, logs.EventError, "slow down").status(429)
	for i := range e.events {
		e.events[i].Via = logs.ViaGateway
	}
	e.work().work()
	if v := e.decide(t).Verdict; deref(v.Leaf) != LeafRateLimit || len(v.Recovered) > 0 {
		t.Errorf("%s, recovered %v", deref(v.Leaf), v.Recovered)
	}
	// A candidate of each source: their times say which came first.
	at := func(e *logs.EventRow, minute int) {
		e.Time = ptr(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC))
	}
	for minute, want := range map[int]string{10: LeafContext, 30: LeafAgentExit} {
		e := attemptEnded("cut", "self", "", nil)
		e.say("provider", logs.ChannelProvider, logs.EventError, "prompt is too long").status(400)
		e.events[0].Via = logs.ViaGateway
		at(&e.events[0], minute)
		e.harness("panic: index out of range")
		at(&e.events[1], 20)
		if v := e.decide(t).Verdict; deref(v.Leaf) != want {
			t.Errorf("the provider at minute %d: %s, want %s", minute, deref(v.Leaf), want)
		}
	}
}

// TestLastUnexplained: an attempt that was cut, of whose end nothing is known, rests on the last error before it.
func TestLastUnexplained(t *testing.T) {
	e := attemptEnded("cut", "", "", nil).work()
	e.say("provider", logs.ChannelProvider, logs.EventError, "slow down").status(429).work()
	e.harness("stream disconnected before completion").work()
	v := e.decide(t).Verdict
	if deref(v.Leaf) != "infra.provider_error" || v.Strength != logs.StrengthWeak || !slices.Equal(v.Recovered, []string{LeafRateLimit}) {
		t.Errorf("%s, %s, recovered %v", deref(v.Leaf), v.Strength, v.Recovered)
	}
}

// TestWrongServer is S4 on checks: what stint starts itself cannot be stale, what others graded can.
func TestWrongServer(t *testing.T) {
	make := func(foreign, mended bool) *ended {
		e := attemptEnded("clean", "self", "", ptr(0)).call("./start.sh > log 2>&1 &", false).call("./start.sh", false)
		last := &e.events[len(e.events)-1]
		last.ExitCode, last.Text = ptr(1), "OSError: [Errno 98] Address already in use"
		if mended {
			e.call("kill 311; ./start.sh > log 2>&1 &", false)
		}
		e.checks = []*logs.CheckRow{failing("k19.create", "c19", "unique", "accept", "", "GET /ghosts", "200", "404")}
		e.foreign = foreign
		return e.say("model", logs.ChannelModel, logs.EventMessage, "Done.")
	}
	for name, tt := range map[string]struct {
		e    *ended
		leaf string
	}{"of others": {make(true, false), LeafServer}, "of others, mended": {make(true, true), LeafChangeMissed}, "of stint's own": {make(false, false), LeafChangeMissed}} {
		d := tt.e.decide(t)
		if got := deref(d.Verdict.Leaf); got != tt.leaf && !(tt.leaf == LeafChangeMissed && got == LeafForgotten && deref(d.Verdict.Mechanism) == LeafChangeMissed) {
			t.Errorf("%s: %s (%v), want %s", name, got, deref(d.Verdict.Mechanism), tt.leaf)
		}
	}
	e := make(false, false)
	e.say("verifier", logs.ChannelVerifier, logs.EventNotice, "listener: pid=311 descendant=false")
	if v := e.decide(t).Verdict; deref(v.Leaf) != LeafServer || v.Strength != logs.StrengthStrong {
		t.Errorf("seen by the grader: %s, %s", deref(v.Leaf), v.Strength)
	}
}

// TestCircles: a used up limit says whether the work was a loop, and stays a used up limit.
func TestCircles(t *testing.T) {
	e := attemptEnded("cut", "limit:steps", "", nil)
	for range 5 {
		e.call("npm test", false)
	}
	d := e.decide(t)
	if deref(d.Verdict.Leaf) != LeafBudget || !slices.ContainsFunc(d.Path, func(s Step) bool { return strings.Contains(s.Question, "circles") }) {
		t.Errorf("%s, %+v", deref(d.Verdict.Leaf), d.Path)
	}
}
