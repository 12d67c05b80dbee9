package classify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// ended is a failed attempt as it ended; say adds an event to its log.
type ended struct {
	attempt logs.AttemptRow
	events  []logs.EventRow
	checks  []*logs.CheckRow

	foreign     bool
	harnessName string
}

func attemptEnded(completion, by, signal string, code *int) *ended {
	e := &ended{attempt: logs.AttemptRow{Episode: "0123456789ab", Turn: 5, Attempt: ptr(0), Passed: ptr(false), GradeReason: ptr("checks"), Completion: &completion, ExitCode: code}}
	if by != "" {
		e.attempt.EndedBy = &by
	}
	if signal != "" {
		e.attempt.Signal = &signal
	}
	e.checks = []*logs.CheckRow{failing("k19.create", "c19", "unique", "reject", "unique", `POST /books {"title":"a"}`, `409; body = {"error":{"code":"unique","field":"title"}}`, "201")}
	return e
}

func (e *ended) say(actor, channel, kind, text string) *ended {
	e.events = append(e.events, logs.EventRow{Seq: len(e.events), Via: logs.ViaReader, Actor: actor, Channel: channel, Kind: kind, Text: text,
		Place: logs.Place{File: "episodes/0123456789ab/log", Offset: int64(100 * len(e.events)), Length: 100}})
	return e
}

func (e *ended) status(code int) *ended {
	e.events[len(e.events)-1].HTTPStatus = &code
	return e
}

// call is a tool call; with a result unless it is left open.
func (e *ended) call(command string, open bool) *ended {
	id := fmt.Sprintf("call-%d", len(e.events))
	e.say("model", logs.ChannelModel, logs.EventToolCall, command)
	e.events[len(e.events)-1].CallID = &id
	if !open {
		e.say("tool", logs.ChannelTool, logs.EventToolResult, "done")
		e.events[len(e.events)-1].CallID = &id
	}
	return e
}

func (e *ended) harness(text string) *ended {
	return e.say("harness", logs.ChannelHarness, logs.EventError, text)
}

func (e *ended) work() *ended { return e.call("cat SPEC.md", false).call("ls", false) }

func (e *ended) decide(t *testing.T) *Decision {
	t.Helper()
	f := &failure{book: Codebook(), attempt: &e.attempt, checks: e.checks, events: e.events, clauses: testClauses(), passedBefore: always, foreign: e.foreign, episode: &logs.EpisodeRow{Harness: e.harnessName},
		sha: func(logs.Place) string { return strings.Repeat("0", 64) }}
	d, err := f.decide()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestInfrastructure(t *testing.T) {
	one, two, code143, code0 := ptr(1), ptr(2), ptr(143), ptr(0)
	tests := []struct {
		name string
		e    *ended
		leaf string
		rule string
	}{
		{"its own kill", attemptEnded("cut", "self", "SIGTERM", nil).work().call("pkill -f node; ./start.sh", true), LeafBroadKill, "S2"},
		{"its own kill, seen by the exit code", attemptEnded("cut", "self", "", code143).work().call(`{"command":"killall python3"}`, true), LeafBroadKill, "S2"},
		{"a kill by port", attemptEnded("cut", "self", "SIGKILL", nil).work().call("lsof -ti :8080 | xargs kill -9", true), LeafBroadKill, "S2"},
		{"a signal from nowhere", attemptEnded("cut", "self", "SIGTERM", nil).work(), LeafAgentExit, "S-exit"},
		{"a kill by pid is none of it", attemptEnded("cut", "self", "SIGTERM", nil).work().call("kill 4711", true), LeafAgentExit, "S-exit"},
		{"a crash", attemptEnded("cut", "self", "", two).work().harness("panic: runtime error: index out of range"), LeafAgentExit, "R-heap"},
		{"an exit code without words", attemptEnded("cut", "self", "", one).work(), LeafAgentExit, "S-exit"},
		{"nothing done", attemptEnded("empty", "self", "", code0).say("model", logs.ChannelModel, logs.EventMessage, ""), LeafAgentExit, "S7"},
		{"never started", attemptEnded("never_started", "self", "", one), LeafAgentExit, "S-never-started"},
		{"a server in the foreground", attemptEnded("cut", "limit:wall", "SIGKILL", nil).work().call("./start.sh", true), LeafToolHang, "S3"},
		{"an editor", attemptEnded("cut", "limit:wall", "SIGKILL", nil).work().call("vim app.py", true), LeafToolHang, "S3"},
		{"out of time at work", attemptEnded("cut", "limit:wall", "SIGKILL", nil).work(), LeafBudget, "S-limit"},
		{"out of tokens", attemptEnded("cut", "limit:tokens", "", nil).work(), LeafBudget, "S-limit"},
		{"out of memory", attemptEnded("cut", "oom", "SIGKILL", nil).work().call("./load-all.sh", true), LeafResources, "S-limit"},
		{"disk full", attemptEnded("cut", "self", "", one).work().harness("write /workspace/x: no space left on device"), LeafResources, "R-resources"},
		{"too long", attemptEnded("cut", "self", "", one).work().say("provider", logs.ChannelProvider, logs.EventError, "the request exceeds the context window").status(400), LeafContext, "R-context-overflow"},
		{"calls that cannot be read", attemptEnded("cut", "self", "", one).work().harness("the tool call could not be parsed").harness("the tool call could not be parsed"), LeafToolCall, "R-tool-call"},
		{"rejected calls", attemptEnded("cut", "self", "", one).work().say("harness", logs.ChannelHarness, logs.EventRejectedCall, "bad_call: no such tool"), LeafToolCall, "S-rejected-call"},
		{"a loop", attemptEnded("cut", "self", "", one).work().say("harness", logs.ChannelHarness, logs.EventLoopGuard, "period=1 repeats=6"), LeafLoopGuard, "S-loop-guard"},
		{"a compaction", attemptEnded("cut", "self", "", one).work().say("harness", logs.ChannelHarness, logs.EventCompaction, "ok=false forced=true"), LeafCompaction, "S-compaction"},
		{"pairs lost by a compaction", attemptEnded("cut", "self", "", one).work().say("harness", logs.ChannelHarness, logs.EventCompaction, "ok=true").say("provider", logs.ChannelProvider, logs.EventError, "tool_use ids were found without tool_result blocks").status(400), LeafCompaction, "R-pair-after-compaction"},
		{"a poisoned history", attemptEnded("cut", "self", "", one).work().say("provider", logs.ChannelProvider, logs.EventError, "tool_use ids were found without tool_result blocks").status(400), LeafToolCall, "R-pair"},
		{"nothing to condense", attemptEnded("cut", "self", "", one).work().say("harness", logs.ChannelHarness, logs.EventCompaction, "ok=false reason=there is nothing to condense").harness("context_overflow: the model endpoint failed (context_length, HTTP 400): too long"), LeafContext, "R-context-overflow"},
		{"a rate limit", attemptEnded("cut", "self", "", one).work().say("provider", logs.ChannelProvider, logs.EventError, "slow down").status(429), "infra.rate_limit", "R-rate-limit"},
		{"the provider", attemptEnded("cut", "self", "", one).work().say("provider", logs.ChannelProvider, logs.EventError, "oh no").status(503), "infra.provider_error", "R-provider-error"},
		{"the box", attemptEnded("cut", "self", "", one).work().harness("AgentRuntimeDisconnectedError"), "infra.sandbox", "R-sandbox"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.e.decide(t)
			if got := deref(d.Verdict.Leaf); got != tt.leaf || !slices.Equal(d.Verdict.RuleIDs, []string{tt.rule}) {
				t.Errorf("%s by %v, want %s by %s\n%+v", got, d.Verdict.RuleIDs, tt.leaf, tt.rule, d.Path)
			}
			if d.Verdict.AnnotatorKind != logs.AnnotatorRule || d.Verdict.Mechanism != nil {
				t.Errorf("%+v", d.Verdict)
			}
			if !slices.Contains(d.Verdict.Secondary, LeafForgotten) {
				t.Errorf("the failing checks are not among the secondary leaves: %v", d.Verdict.Secondary)
			}
		})
	}
}

// TestExplainsAway plants every pair of the order: the cause first, its symptom after it.
func TestExplainsAway(t *testing.T) {
	book := Codebook()
	for _, e := range book.ExplainsAway {
		for _, symptom := range e.Explains {
			if symptom == "*" || levelOf(symptom) != "infra" || levelOf(e.Cause) != "infra" {
				continue
			}
			t.Run(e.Cause+" before "+symptom, func(t *testing.T) {
				tr := &trail{book: book}
				got := tr.sources([]candidate{{leaf: e.Cause, rule: "a", strength: "strong", at: 1}, {leaf: symptom, rule: "b", strength: "strong", at: 2}})
				if len(got) != 1 || got[0].leaf != e.Cause {
					t.Errorf("left %+v", got)
				}
			})
		}
	}
	tr := &trail{book: book}
	if got := tr.sources([]candidate{{leaf: LeafLoopGuard, rule: "a", strength: "strong"}, {leaf: LeafResources, rule: "b", strength: "strong"}}); len(got) != 2 {
		t.Errorf("two sources that do not explain each other became %+v", got)
	}
}

// TestHang tells a command that hangs from one that was running when the time was over.
func TestHang(t *testing.T) {
	at := func(command string, seconds float64) *ended {
		e := attemptEnded("cut", "limit:wall", "SIGKILL", nil).work().call(command, false)
		e.attempt.AgentS = ptr(600.0)
		result := &e.events[len(e.events)-1]
		result.DurationS = &seconds
		id := result.CallID
		e.say("harness", logs.ChannelHarness, logs.EventNotice, "tool_end: by=limit limit=wall")
		e.events[len(e.events)-1].CallID = id
		return e
	}
	for _, tt := range []struct {
		e        *ended
		leaf     string
		strength string
	}{
		{at("python3 app.py", 20), LeafToolHang, logs.StrengthStrong},
		{at("make test", 500), LeafToolHang, logs.StrengthWeak},
		{at("make test", 20), LeafBudget, logs.StrengthStrong},
	} {
		if d := tt.e.decide(t); deref(d.Verdict.Leaf) != tt.leaf || d.Verdict.Strength != tt.strength {
			t.Errorf("%s, %s; want %s, %s", deref(d.Verdict.Leaf), d.Verdict.Strength, tt.leaf, tt.strength)
		}
	}
}

func TestGuardVerdict(t *testing.T) {
	for want, results := range map[string][]string{"justified": {"a", "a", "a", "a"}, "false_positive": {"a", "b", "c", "d"}, "undetermined": {"a"}} {
		e := attemptEnded("cut", "self", "", ptr(1))
		for _, r := range results {
			e.call("curl localhost/health", false)
			e.events[len(e.events)-1].Text = r
		}
		d := e.say("harness", logs.ChannelHarness, logs.EventLoopGuard, "period=1").decide(t)
		if deref(d.Verdict.Leaf) != LeafLoopGuard || deref(d.Verdict.GuardVerdict) != want {
			t.Errorf("%v: %s, %s; want %s", results, deref(d.Verdict.Leaf), deref(d.Verdict.GuardVerdict), want)
		}
	}
}

func TestConflictIsUnknown(t *testing.T) {
	d := attemptEnded("cut", "limit:tokens", "", nil).work().say("harness", logs.ChannelHarness, logs.EventLoopGuard, "period=1").decide(t)
	if deref(d.Verdict.AbstainReason) != ReasonConflict || d.Verdict.L1 != "unknown" || d.Verdict.Strength != logs.StrengthAbstain {
		t.Errorf("%+v", d.Verdict)
	}
}

// TestRecovered: what the agent got over is listed and never the cause.
func TestRecovered(t *testing.T) {
	limited := func(e *ended) *ended {
		return e.say("provider", logs.ChannelProvider, logs.EventError, "too many requests").status(429)
	}
	t.Run("and ended cleanly", func(t *testing.T) {
		d := limited(attemptEnded("clean", "self", "", ptr(0)).work()).work().decide(t)
		if deref(d.Verdict.Leaf) != LeafForgotten || !slices.Equal(d.Verdict.Recovered, []string{"infra.rate_limit"}) || len(d.Recovered) != 1 {
			t.Errorf("%+v", d.Verdict)
		}
	})
	t.Run("and ended later for another reason", func(t *testing.T) {
		d := limited(attemptEnded("cut", "limit:tokens", "", nil).work()).work().decide(t)
		if deref(d.Verdict.Leaf) != LeafBudget || !slices.Equal(d.Verdict.Recovered, []string{"infra.rate_limit"}) {
			t.Errorf("%+v", d.Verdict)
		}
	})
	t.Run("but not when it comes back at the end", func(t *testing.T) {
		d := limited(limited(attemptEnded("cut", "self", "", ptr(1)).work()).work()).decide(t)
		if deref(d.Verdict.Leaf) != "infra.rate_limit" || len(d.Verdict.Recovered) > 0 {
			t.Errorf("%+v", d.Verdict)
		}
	})
	t.Run("a bad call and a good one", func(t *testing.T) {
		d := attemptEnded("clean", "self", "", ptr(0)).harness("the tool call could not be parsed").work().decide(t)
		if d.Verdict.L1 != "drift" || !slices.Equal(d.Verdict.Recovered, []string{LeafToolCall}) {
			t.Errorf("%+v", d.Verdict)
		}
	})
}

// TestUntrusted: what the agent, its model, its tools or its server write moves no blame.
func TestUntrusted(t *testing.T) {
	words := []string{"AgentStuckInLoopError", "429 too many requests", "OOMKilled", "prompt is too long: 9 tokens > 8 maximum", "the tool call could not be parsed",
		"the conversation could not be summarised", "503 Service Unavailable", "AgentRuntimeDisconnectedError", "panic: runtime error"}
	for _, channel := range []string{logs.ChannelModel, logs.ChannelTool, logs.ChannelPrompt, logs.ChannelServer, logs.ChannelOther, "made up"} {
		for _, kind := range []string{logs.EventMessage, logs.EventToolResult, logs.EventError, logs.EventLoopGuard, logs.EventRejectedCall, logs.EventServerLog} {
			e := attemptEnded("clean", "self", "", ptr(0)).work()
			cut := attemptEnded("cut", "self", "", ptr(1)).work()
			for _, w := range words {
				e.say("model", channel, kind, w).status(429)
				cut.say("model", channel, kind, w).status(503)
			}
			if d := e.decide(t); d.Verdict.L1 != "drift" || len(d.Verdict.Recovered) > 0 {
				t.Errorf("%s %s: %+v", channel, kind, d.Verdict)
			}
			if d := cut.decide(t); deref(d.Verdict.Leaf) != LeafAgentExit {
				t.Errorf("%s %s in an attempt that was cut: %s", channel, kind, deref(d.Verdict.Leaf))
			}
		}
	}
}

// TestEmptyIsNotTrusted: the words by which an end in order is described are the model's.
func TestEmptyIsNotTrusted(t *testing.T) {
	e := attemptEnded("empty", "self", "", ptr(0)).say("harness", logs.ChannelHarness, logs.EventEnd, "completion=empty detail=AgentStuckInLoopError")
	e.say("system", logs.ChannelSystem, logs.EventAgentExit, "completion=empty detail=429 too many requests")
	e.events[1].Via = logs.ViaJournal
	if d := e.decide(t); deref(d.Verdict.Leaf) != LeafAgentExit {
		t.Errorf("%+v", d.Verdict)
	}
}

func TestUnknown(t *testing.T) {
	t.Run("unconfirmed", func(t *testing.T) {
		e := attemptEnded("clean", "self", "", ptr(0)).work()
		e.checks[0].Confirmed = ptr(false)
		if d := e.decide(t); deref(d.Verdict.AbstainReason) != ReasonUnconfirmed || deref(d.Verdict.Leaf) != LeafInsufficient {
			t.Errorf("%+v", d.Verdict)
		}
	})
	t.Run("no checks", func(t *testing.T) {
		e := attemptEnded("clean", "self", "", ptr(0)).work()
		e.checks, e.attempt.GradeReason = nil, nil
		d := e.decide(t)
		if deref(d.Verdict.AbstainReason) != ReasonNoChecks || !slices.Contains(d.Verdict.Missing, "failing checks") {
			t.Errorf("%+v", d.Verdict)
		}
	})
	t.Run("no log", func(t *testing.T) {
		d := attemptEnded("cut", "stint", "", nil).decide(t)
		if deref(d.Verdict.AbstainReason) != ReasonNoLog || !slices.Contains(d.Verdict.Missing, "the agent's log") {
			t.Errorf("%+v", d.Verdict)
		}
	})
}

func TestGrades(t *testing.T) {
	for reason, want := range map[string]string{"start": LeafBrokenServer, "crash": LeafBrokenServer, "build": LeafBrokenServer, "suite_time": LeafBrokenServer,
		"snapshot_too_large": LeafResources, "bench_grader": LeafVerifier, "bench_reference": "bench.test_defect"} {
		e := attemptEnded("clean", "self", "", ptr(0)).work()
		e.attempt.GradeReason = &reason
		if d := e.decide(t); deref(d.Verdict.Leaf) != want || d.Verdict.Strength != logs.StrengthProved {
			t.Errorf("%s: %s, %s; want %s, proved", reason, deref(d.Verdict.Leaf), d.Verdict.Strength, want)
		}
	}
}
