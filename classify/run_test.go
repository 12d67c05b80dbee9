package classify

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// randomTables is a study as no runner would write it: every column drawn by itself, hostile texts among them.
func randomTables(r *rand.Rand) *logs.Tables {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	maybe := func(s ...string) *string {
		if v := pick(append(s, "")...); v != "" {
			return &v
		}
		return nil
	}
	hostile := []string{"", "201", "404", "500; body = x", "400; body = {\"error\":{\"code\":\"range\",\"field\":\"pages\"}}", "no answer: refused", "201; pages is missing",
		"201; pages = \"\x1b[31m\"; pages = 4", strings.Repeat("; a = b", 200), "999999999999999999999; x", "200; [0][0].. = 1", "\xff\xfe", "GET /books/1", "POST /books {\"pages\":",
		"PATCH /books/1 {\"pages\":null}", "DELETE //", "BREW /../../etc {}"}
	t := &logs.Tables{}
	for e := range 3 {
		id := fmt.Sprintf("%012x", e)
		t.Episodes = append(t.Episodes, logs.EpisodeRow{Episode: id, Config: "c", Scenario: "s", Session: pick("continue", "fresh")})
		for turn := range 4 {
			t.Turns = append(t.Turns, logs.TurnRow{Episode: id, Turn: turn, Passed: ptr(r.IntN(2) == 0)})
			for attempt := range 2 {
				a := logs.AttemptRow{Episode: id, Turn: turn, Attempt: ptr(attempt), Passed: ptr(r.IntN(4) == 0), GradeReason: maybe("checks", "start", "odd", "suite_time"),
					Completion: maybe("clean", "cut", "empty", "never_started", "odd"), Signal: maybe("SIGTERM"), EndedBy: maybe("self", "oom", "limit:wall", "limit:odd"), Place: logs.Place{Offset: int64(100*turn + attempt)}}
				if r.IntN(2) == 0 {
					a.ExitCode = ptr(r.IntN(200))
				}
				if r.IntN(8) == 0 {
					a.Attempt, a.VoidOf, a.VoidReason = nil, ptr(attempt), ptr("rate_limit")
				}
				t.Attempts = append(t.Attempts, a)
				for n := range r.IntN(6) {
					c := logs.CheckRow{Episode: id, Turn: turn, Attempt: attempt, Check: fmt.Sprintf("k%d.%d", r.IntN(4), n), Category: "x", Intent: pick("accept", "reject", "gone", "effect", "odd"),
						Mutation: pick("none", "null", "odd"), Status: pick("fail", "error", "not_run", "odd"), Age: pick("new", "old", "odd"), Request: pick(hostile...), Expected: pick(hostile...), Actual: pick(hostile...)}
					if r.IntN(2) == 0 {
						c.Clauses = []string{pick("c1", "c2", "c9", "zz")}
					}
					if r.IntN(3) == 0 {
						c.Confirmed = ptr(r.IntN(2) == 0)
					}
					t.Checks = append(t.Checks, c)
				}
				for seq := range r.IntN(6) {
					t.Events = append(t.Events, logs.EventRow{Episode: id, Turn: turn, AttemptOffset: a.Offset, Seq: seq, Via: pick("reader", "journal", "gateway"), Actor: "x",
						Channel: pick("harness", "model", "provider", "tool", "odd"), Kind: pick("error", "tool_call", "tool_result", "message", "loop_guard", "compaction", "agent_exit", "odd"), Text: pick(append(hostile, "pkill x", "429 too many requests", "ok=false")...)})
				}
			}
		}
		t.Clauses = append(t.Clauses, logs.ClauseRow{Episode: id, Clause: "c1", Kind: pick("range", "odd", "gone"), Title: pick("book.pages is 1", "\x00", "."), Introduced: r.IntN(3)},
			logs.ClauseRow{Episode: id, Clause: "c2", Kind: "read", Title: "read book by id", Text: "`GET /books/{id}` answers"})
	}
	return t
}

// TestEveryFailureHasOneVerdict is the promise of the package, on tables that promise nothing.
func TestEveryFailureHasOneVerdict(t *testing.T) {
	d := &logs.RunDir{Root: t.TempDir()}
	for seed := range uint64(300) {
		tables := randomTables(rand.New(rand.NewPCG(seed, 1)))
		r, err := Run(context.Background(), d, tables, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[logs.VerdictKey]bool{}
		for _, a := range tables.Attempts {
			if a.Attempt != nil && a.Passed != nil && !*a.Passed {
				want[logs.VerdictKey{Episode: a.Episode, Turn: a.Turn, Attempt: *a.Attempt}] = true
			}
		}
		sum := map[string]int{}
		for i := range r.Verdicts {
			v := &r.Verdicts[i]
			if !want[v.Key()] {
				t.Fatalf("seed %d: %+v has two verdicts, or did not fail", seed, v.Key())
			}
			delete(want, v.Key())
			sum[v.L1]++
			checkVerdict(t, seed, r, v)
		}
		if len(want) > 0 {
			t.Fatalf("seed %d: no verdict for %v", seed, want)
		}
		if n := sum["drift"] + sum["infra"] + sum["bench"] + sum["unknown"]; n != len(r.Verdicts) {
			t.Fatalf("seed %d: the levels sum to %d of %d", seed, n, len(r.Verdicts))
		}
		again, err := Run(context.Background(), d, tables, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Verdicts, again.Verdicts) {
			t.Fatalf("seed %d: the same tables, other verdicts", seed)
		}
	}
}

func checkVerdict(t *testing.T, seed uint64, r *Result, v *logs.VerdictRow) {
	t.Helper()
	leaf := Codebook().Leaf(deref(v.Leaf))
	switch {
	case leaf == nil || leaf.L1() != v.L1:
		t.Fatalf("seed %d: %s is no leaf of %s", seed, deref(v.Leaf), v.L1)
	case (v.L1 == "unknown") != (v.AbstainReason != nil) || (v.L1 == "unknown") != (v.Strength == logs.StrengthAbstain):
		t.Fatalf("seed %d: %+v: unknown has a reason, and nothing else has", seed, v)
	case (v.AnnotatorKind == logs.AnnotatorContract) != (v.L1 == "drift"):
		t.Fatalf("seed %d: %s was decided by %s", seed, v.L1, v.AnnotatorKind)
	case v.L1 == "drift" && (v.Mechanism == nil || v.Origin == nil):
		t.Fatalf("seed %d: %+v: drift without mechanism and origin", seed, v)
	case deref(v.Leaf) == LeafForgotten && (deref(v.Mechanism) == LeafForgotten || deref(v.Origin) != OriginRegression):
		t.Fatalf("seed %d: %+v: forgotten keeps its mechanism", seed, v)
	case len(v.Secondary) > 2 || slices.Contains(v.Secondary, deref(v.Leaf)):
		t.Fatalf("seed %d: secondary %v of %s", seed, v.Secondary, deref(v.Leaf))
	case slices.Contains(v.Recovered, deref(v.Leaf)):
		t.Fatalf("seed %d: %s is the cause and was recovered", seed, deref(v.Leaf))
	case r.Decision(v.Key()) == nil || len(r.Decision(v.Key()).Path) == 0:
		t.Fatalf("seed %d: no way leads to %+v", seed, v.Key())
	}
	var ev []Evidence
	if err := json.Unmarshal([]byte(v.Evidence), &ev); err != nil || len(ev) > maxEvidence {
		t.Fatalf("seed %d: evidence %s: %v", seed, v.Evidence, err)
	}
}

// TestDamagedSession: with a conversation that carries over, attempts that never get anywhere for the same reason are
// no new causes.
func TestDamagedSession(t *testing.T) {
	study := func(session string, works bool) *logs.Tables {
		t := &logs.Tables{Episodes: []logs.EpisodeRow{{Episode: "0123456789ab", Session: session}}}
		for n := range 3 {
			a := logs.AttemptRow{Episode: "0123456789ab", Turn: 5, Attempt: ptr(n), Passed: ptr(false), GradeReason: ptr("checks"), Completion: ptr("cut"), ExitCode: ptr(1), Place: logs.Place{Offset: int64(n)}}
			t.Attempts = append(t.Attempts, a)
			add := func(e logs.EventRow) {
				e.Episode, e.Turn, e.AttemptOffset, e.Via, e.Seq = a.Episode, 5, a.Offset, logs.ViaReader, len(t.Events)
				t.Events = append(t.Events, e)
			}
			if n == 0 || works {
				add(logs.EventRow{Actor: "model", Channel: logs.ChannelModel, Kind: logs.EventToolCall, CallID: ptr("a"), Text: "ls"})
				add(logs.EventRow{Actor: "tool", Channel: logs.ChannelTool, Kind: logs.EventToolResult, CallID: ptr("a")})
			}
			add(logs.EventRow{Actor: "provider", Channel: logs.ChannelProvider, Kind: logs.EventError, Text: "prompt is too long", HTTPStatus: ptr(400)})
		}
		return t
	}
	for _, tt := range []struct {
		session string
		works   bool
		want    []string
	}{{"continue", false, []string{"", "5.0", "5.0"}}, {"fresh", false, []string{"", "", ""}}, {"continue", true, []string{"", "", ""}}} {
		r, err := Run(context.Background(), &logs.RunDir{Root: t.TempDir()}, study(tt.session, tt.works), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range r.Verdicts {
			v := &r.Verdicts[i]
			if deref(v.Leaf) != LeafContext {
				t.Errorf("%+v", v)
			}
			if (deref(v.Reach) == "session") != (tt.want[1] != "") {
				t.Errorf("%s: attempt %d reaches %s", tt.session, i, deref(v.Reach))
			}
			got = append(got, deref(v.CausedBy))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("session %s, works %v: caused by %q, want %q", tt.session, tt.works, got, tt.want)
		}
	}
}

func FuzzSymptom(f *testing.F) {
	f.Add("POST /books {\"pages\":1}", "201; pages = 1", "400; body = {\"error\":{\"code\":\"range\",\"field\":\"pages\"}}")
	f.Add("GET /books/1", "200; items[0].id = 1; a is not there", "200; items[0].id is missing")
	f.Add("", "", "no answer: not sent")
	f.Fuzz(func(t *testing.T, request, expected, actual string) {
		row := failing("k", "c18", "range", "reject", "range", request, expected, actual)
		groups := newContract(Codebook(), testClauses(), []*logs.CheckRow{row}, true).groups(always)
		if len(groups) > 1 {
			t.Errorf("one check in %d groups", len(groups))
		}
	})
}
