package classify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
			tr := newTrail(Codebook(), "", &tt.e.attempt, tt.e.events)
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

// foreignTables are episodes of logs that stint did not write: one that a provider's error cut off, one that the rules know
// nothing about, and one that nobody judged.
func foreignTables(episodes int) *logs.Tables {
	t := &logs.Tables{}
	for n := range episodes {
		id := fmt.Sprintf("%012x", 0xabc0+7919*(episodes-n)%997)
		t.Episodes = append(t.Episodes, logs.EpisodeRow{Episode: id, Config: fmt.Sprintf("m+other/%d", n%2), Scenario: "s1", Repeat: n})
		a := logs.AttemptRow{Episode: id, Attempt: ptr(0), Place: logs.Place{File: "log.jsonl", Offset: int64(100 * n), Length: 90}}
		last := logs.EventRow{Channel: logs.ChannelModel, Kind: logs.EventMessage, Text: "done"}
		switch n % 3 {
		case 0:
			last = logs.EventRow{Channel: logs.ChannelProvider, Kind: logs.EventError, Text: fmt.Sprintf("the upstream reset number %d of the stream", n), HTTPStatus: ptr(502)}
		case 1:
			a.Passed = ptr(false)
		}
		t.Attempts = append(t.Attempts, a)
		for seq, e := range []logs.EventRow{{Channel: logs.ChannelModel, Kind: logs.EventToolCall, CallID: ptr("1"), Text: "ls"}, {Channel: logs.ChannelTool, Kind: logs.EventToolResult, CallID: ptr("1"), Text: "a b"}, last} {
			e.Episode, e.AttemptOffset, e.Seq, e.Via, e.Place = id, a.Offset, seq, logs.ViaReader, a.Place
			t.Events = append(t.Events, e)
		}
	}
	return t
}

// writeForeign writes tables, with the rows of events in any order.
func writeForeign(t *testing.T, dir string, tables *logs.Tables) (*logs.RunDir, *logs.EpisodeTables) {
	t.Helper()
	if err := logs.WriteTables(dir, tables); err != nil {
		t.Fatal(err)
	}
	return reopen(t, dir)
}

func reopen(t *testing.T, dir string) (*logs.RunDir, *logs.EpisodeTables) {
	t.Helper()
	open, err := logs.OpenEpisodeTables(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { open.Close() })
	return &logs.RunDir{Root: dir}, open
}

// TestPassForeign: tables are decided about one episode at a time, as all at once would be, and those that have not changed
// are not looked at again, whatever the order of their rows.
func TestPassForeign(t *testing.T) {
	dir := t.TempDir()
	tables := foreignTables(12)
	slices.SortStableFunc(tables.Events, func(a, b logs.EventRow) int { return a.Seq - b.Seq }) // no episode's rows stand together
	d, open := writeForeign(t, dir, tables)
	pass := func(open *logs.EpisodeTables) *PassResult {
		t.Helper()
		p, err := Pass(t.Context(), d, PassOptions{Foreign: open})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole, err := Run(t.Context(), d, tables, Options{Foreign: true})
	if err != nil {
		t.Fatal(err)
	}
	first := pass(open)
	if diff := cmp.Diff(whole.Verdicts, first.Verdicts); diff != "" || len(first.Verdicts) != 8 || first.Unjudged != 4 || first.Reused != 0 || len(first.Configs) != 12 {
		t.Errorf("%d unjudged, %d reused: %s", first.Unjudged, first.Reused, diff)
	}
	rules, err := os.ReadFile(filepath.Join(dir, "verdicts", "rules.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	again := pass(open)
	if diff := cmp.Diff(first.Verdicts, again.Verdicts, cmpopts.EquateEmpty()); diff != "" || again.Reused != 12 || again.Unjudged != 4 {
		t.Errorf("again: %d unjudged, %d reused: %s", again.Unjudged, again.Reused, diff)
	}
	// The ends that verdicts give are no change, whether or not the rows are read again; another log is.
	if _, err := logs.RelabelTables(dir); err != nil {
		t.Fatal(err)
	}
	if d, open = reopen(t, dir); pass(open).Reused != 12 {
		t.Error("looked at again for the ends of episodes")
	}
	made := filepath.Join(dir, "verdicts", madeFromName)
	b, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfterN(string(b), "\n", 3) // the hash of the rules, the tables as a whole, the episodes
	if err := os.WriteFile(made, []byte(lines[0]+lines[2]), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := pass(open); p.Reused != 12 || p.Unjudged != 4 {
		t.Errorf("row by row %d are reused", p.Reused)
	}
	more := foreignTables(13)
	more.Events[2].Text = "LimitsExceeded"
	d, open = writeForeign(t, dir, more)
	if p := pass(open); p.Reused != 0 { // every id is another one
		t.Errorf("%d reused of other episodes", p.Reused)
	}
	more.Events[2].Text = "StopIteration"
	d, open = writeForeign(t, dir, more)
	if p := pass(open); p.Reused != 12 {
		t.Errorf("%d reused, where one of 13 episodes has changed", p.Reused)
	}
	d, open = writeForeign(t, dir, tables)
	pass(open)
	if after, err := os.ReadFile(filepath.Join(dir, "verdicts", "rules.jsonl")); err != nil || string(after) != string(rules) {
		t.Errorf("other bytes than the first pass: %v", err)
	}
}

// TestJudgeForeign: a judge is asked about logs of others, episode by episode; what is missing stands with its verdict and
// makes it weak, what it says must be in the packet, and no label about a server that nobody described holds.
func TestJudgeForeign(t *testing.T) {
	d, open := writeForeign(t, t.TempDir(), foreignTables(6))
	p, err := Pass(t.Context(), d, PassOptions{Foreign: open})
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	c := &scripted{t: t, answer: func(_ int, q *asked) (string, string, error) {
		if facts := q.item("facts").text; strings.Contains(facts, "initial build") || !strings.Contains(facts, "missing inputs: ") {
			t.Errorf("facts: %s", facts)
		}
		if it := q.find("upstream reset"); it.id != "" {
			return q.says("infra.provider_error", "high", nil, [3]string{it.id, it.text, "cause"}), "stop", nil
		}
		return q.says(LeafWrongLogic, "high", "c1", [3]string{"facts", "missing inputs: ", "cause"}), "stop", nil
	}}
	opt := JudgeOptions{Model: "scripted", Completer: c, Endpoint: "http://127.0.0.1/v1", Foreign: true, Concurrency: 1, MaxVotes: 1,
		Episode: func(id string) (*logs.Tables, error) { read++; return open.Episode(id) }}
	s, err := Judge(t.Context(), d, nil, &Result{Verdicts: p.Verdicts}, opt)
	if err != nil || s.Stop != nil {
		t.Fatal(err, s.Stop)
	}
	if said := c.last.Messages[0].Content; !strings.Contains(said, "The log is that of another program") || strings.Contains(said, "asked to build") {
		t.Errorf("the question is that about stint's own runs: %.300s", said)
	}
	if s.Candidates != 4 || s.Judged != 2 || s.Abstained[ReasonUnverified] != 2 || read != 4 {
		t.Errorf("%+v, %d episodes read", s, read)
	}
	rows, _, err := logs.ReadVerdicts(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rows {
		if v.AnnotatorKind != logs.AnnotatorJudge {
			continue
		}
		var ev []Evidence
		if err := json.Unmarshal([]byte(v.Evidence), &ev); err != nil {
			t.Fatal(err)
		}
		abstains := v.Strength == logs.StrengthAbstain
		if !abstains && (v.Strength != logs.StrengthWeak || deref(v.Leaf) != "infra.provider_error" || len(ev) != 1 || ev[0].File != "log.jsonl") || len(v.Missing) == 0 || slices.Contains(v.Missing, "") {
			t.Errorf("%+v", v)
		}
	}
	// The judge's word, weak as it is, counts more than a weak rule's, and the judge must be validated.
	banner, err := Unvalidated(d, &logs.Tables{Verdicts: rows}, Codebook())
	if err != nil || banner != "NOT VALIDATED: a judge decided 2 of 4 failed attempts, and no audit of this codebook shows that it can be trusted" {
		t.Errorf("%q, %v", banner, err)
	}
	if banner, err := Unvalidated(nil, &logs.Tables{Verdicts: p.Verdicts}, Codebook()); banner != "" || err != nil {
		t.Errorf("without a judge: %q, %v", banner, err)
	}
	// What cannot be read ends the pass and is no verdict.
	broken := errors.New("no such table")
	opt.Episode = func(string) (*logs.Tables, error) { return nil, broken }
	opt.Seed = 2
	if _, err := Judge(context.Background(), d, nil, &Result{Verdicts: p.Verdicts}, opt); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
