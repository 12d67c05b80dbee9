package classify

import (
	"slices"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// foreignEnd is an attempt of a log that stint did not write, of which nobody said how it ended or whether it passed.
func foreignEnd() *ended {
	e := attemptEnded("clean", "", "", nil)
	e.attempt.Completion, e.attempt.Passed, e.attempt.GradeReason = nil, nil, nil
	e.checks = nil
	return e.work()
}

// TestInferredEnd: the log tells how an attempt ended; a verdict that rests on it is weak and says what is missing.
func TestInferredEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    *ended
		end  string
		leaf string
	}{
		{"the last word is the model's", foreignEnd().say("model", logs.ChannelModel, logs.EventMessage, "done"), completionClean, LeafInsufficient},
		{"a limit at the end", foreignEnd().say("provider", logs.ChannelProvider, logs.EventError, "slow down").status(429), completionCut, LeafRateLimit},
		{"a limit it got over", foreignEnd().say("provider", logs.ChannelProvider, logs.EventError, "slow down").status(429).work().say("model", logs.ChannelModel, logs.EventMessage, "done"), completionClean, LeafInsufficient},
		{"a guard", foreignEnd().say("harness", logs.ChannelHarness, logs.EventLoopGuard, "period=1"), completionCut, LeafLoopGuard},
		{"an end that the program calls an error", foreignEnd().say("harness", logs.ChannelHarness, logs.EventEnd, "status=error_max_turns is_error=true"), completionCut, "infra.budget"},
		{"an end in order", foreignEnd().say("model", logs.ChannelModel, logs.EventMessage, "done").say("harness", logs.ChannelHarness, logs.EventEnd, "status=success is_error=false"), completionClean, LeafInsufficient},
		{"what the model prints", foreignEnd().say("model", logs.ChannelModel, logs.EventError, "429 too many requests").say("model", logs.ChannelModel, logs.EventMessage, "AgentStuckInLoopError"), completionClean, LeafInsufficient},
		{"nothing", func() *ended { e := foreignEnd(); e.events = nil; return e }(), "", LeafInsufficient},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTrail(Codebook(), &tt.e.attempt, tt.e.events)
			d := tt.e.decide(t)
			if tr.completion != tt.end || deref(d.Verdict.Leaf) != tt.leaf {
				t.Errorf("%q, %s; want %q, %s\n%+v", tr.completion, deref(d.Verdict.Leaf), tt.end, tt.leaf, d.Path)
			}
			if d.Verdict.L1 != "unknown" && d.Verdict.Strength != logs.StrengthWeak {
				t.Errorf("strength %s", d.Verdict.Strength)
			}
			if !slices.Contains(d.Verdict.Missing, missingGrade) || tt.end != "" && !slices.Contains(d.Verdict.Missing, missingEnd) {
				t.Errorf("missing %v", d.Verdict.Missing)
			}
		})
	}
}

// TestPairs is detector S5: calls and results across compactions, where the provider's refusal says nothing.
func TestPairs(t *testing.T) {
	refused := func(e *ended) *ended {
		return e.say("provider", logs.ChannelProvider, logs.EventError, "400 Bad Request").status(400)
	}
	cut := func() *ended { return attemptEnded("cut", "self", "", ptr(1)).work() }
	compaction := func(e *ended) *ended {
		return e.say("harness", logs.ChannelHarness, logs.EventCompaction, "ok=true")
	}
	for name, tt := range map[string]struct {
		e    *ended
		leaf string
		rule string
	}{
		"a call before a compaction, and no result":   {refused(compaction(cut().call("ls", true))), LeafCompaction, "S5"},
		"a call without a result":                     {refused(cut().call("ls", true)), LeafToolCall, "S5"},
		"whole pairs":                                 {refused(compaction(cut())), "infra.provider_error", "R-refused"},
		"a reason that is known is better than pairs": {cut().call("ls", true).say("provider", logs.ChannelProvider, logs.EventError, "prompt is too long").status(400), LeafContext, "R-context-overflow"},
	} {
		if d := tt.e.decide(t); deref(d.Verdict.Leaf) != tt.leaf || !slices.Equal(d.Verdict.RuleIDs, []string{tt.rule}) {
			t.Errorf("%s: %s by %v, want %s by %s", name, deref(d.Verdict.Leaf), d.Verdict.RuleIDs, tt.leaf, tt.rule)
		}
	}
}

// TestForeignRun looks at what failed, and of what nobody judged only at what shows an end by infrastructure. Tests of
// another benchmark are no contract.
func TestForeignRun(t *testing.T) {
	episode := "0123456789ab"
	attempt := func(turn int, passed *bool, last string) (logs.AttemptRow, logs.EventRow) {
		a := logs.AttemptRow{Episode: episode, Turn: turn, Attempt: ptr(0), Passed: passed}
		e := logs.EventRow{Episode: episode, Turn: turn, Via: logs.ViaReader, Channel: logs.ChannelModel, Kind: logs.EventMessage, Text: "done"}
		if last != "" {
			e.Channel, e.Kind, e.Text = logs.ChannelHarness, logs.EventError, last
		}
		return a, e
	}
	tables := &logs.Tables{Episodes: []logs.EpisodeRow{{Episode: episode}}}
	for turn, tt := range []struct {
		passed *bool
		last   string
	}{{ptr(true), ""}, {nil, ""}, {nil, "LimitsExceeded"}, {ptr(false), ""}, {ptr(false), "VerifierTimeoutError"}} {
		a, e := attempt(turn, tt.passed, tt.last)
		tables.Attempts, tables.Events = append(tables.Attempts, a), append(tables.Events, e)
	}
	tables.Checks = []logs.CheckRow{{Episode: episode, Turn: 3, Attempt: 0, Check: "test_a", Status: "fail", Actual: "failed"}}
	r, err := Run(t.Context(), &logs.RunDir{Root: t.TempDir()}, tables, Options{Foreign: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range r.Verdicts {
		got = append(got, deref(v.Leaf)+" "+v.Strength)
	}
	if want := []string{"infra.budget weak", "unknown.insufficient abstain", "bench.verifier weak"}; !slices.Equal(got, want) || r.Unjudged != 1 {
		t.Errorf("%v, %d unjudged; want %v, 1", got, r.Unjudged, want)
	}
	if own, err := Run(t.Context(), &logs.RunDir{Root: t.TempDir()}, tables, Options{}); err != nil || len(own.Verdicts) != 2 {
		t.Errorf("as a run of stint's own: %d verdicts, %v", len(own.Verdicts), err)
	}
}
