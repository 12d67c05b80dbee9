package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// realHarnesses are those whose programs CI installs.
var realHarnesses = []string{"opencode", "qwen-code", "mini-swe", "kimi-cli", "kimi-code", "codex", "claude-code", "openhands", "vibe"}

// requireHarness skips where a program is not installed; under CI, which installs it, that is a failure. Real programs take
// many minutes in all, more than every other test together, so they play only where that is asked for.
func requireHarness(t *testing.T, name string) {
	t.Helper()
	if os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("plays with real programs for minutes: set STINT_REQUIRE=1")
	}
	requireBubblewrap(t)
	f, err := harness.Load(name, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = (harness.Installer{}).Find(f); err == nil {
		return
	}
	t.Fatalf("%v; install it with stint harness install %s", err, name)
}

// TestHarnessEpisodes lets the real programs play an episode of three turns, of which the second is rescued by a
// retry, in the sandbox and through the gateway.
func TestHarnessEpisodes(t *testing.T) {
	for _, name := range realHarnesses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireHarness(t, name)
			out := tried{harness: name, changes: 2, script: "wrong@1", more: ", feedback: detailed, retries: 1"}.play(t)
			if out.err != nil {
				t.Fatal(out.err)
			}
			want := []string{"0.0 first passed=true clean", "1.0 first passed=false clean", "1.1 retry passed=true clean", "2.0 first passed=true clean"}
			if diff := cmp.Diff(want, out.attempts()); diff != "" {
				t.Fatalf("attempts (-want +got):\n%s%s", diff, out.detail())
			}
			ep := out.tables.Episodes[0]
			if *ep.TurnsPassed != 3 || ep.Harness != name || ep.HarnessVersion == "" || *ep.ModelReturned != "m" || !strings.HasPrefix(ep.Sandbox, "bubblewrap") {
				t.Errorf("episode %+v", ep)
			}
			sameTokens(t, name, &out)
			// mini-swe-agent cannot go on with a conversation.
			if got, want := out.remembers(), name != "mini-swe"; got != want {
				t.Errorf("the last turn knows the first: %v, want %v", got, want)
			}
			readersSeeTheCalls(t, &out)
		})
	}
}

// sameTokens holds the gateway's count against the program's own. They are equal, except that OpenCode asks for a
// title once, which its session does not keep.
func sameTokens(t *testing.T, name string, out *outcome) {
	t.Helper()
	for i, a := range out.tables.Attempts {
		if a.Input == nil || a.ReportedInput == nil || a.Output == nil || a.ReportedOutput == nil {
			t.Errorf("turn %d: tokens %+v, reported %+v", a.Turn, a.Tokens, a.ReportedTokens)
			continue
		}
		in, output := *a.Input-*a.ReportedInput, *a.Output-*a.ReportedOutput
		if a.Cached != nil && a.ReportedCached != nil {
			in += *a.Cached - *a.ReportedCached
		}
		if name == "opencode" && i == 0 {
			title := answerTokens(out, "title generator")
			in, output = in-title[0], output-title[1]
			if title[0] == 0 {
				t.Errorf("no request for a title was seen")
			}
		}
		if in != 0 || output != 0 {
			t.Errorf("turn %d: the gateway counted %d input and %d output tokens more than the program", a.Turn, in, output)
		}
	}
}

// answerTokens are the tokens of the answer to the first request whose prompt has these words.
func answerTokens(out *outcome, words string) (inOut [2]int64) {
	found := false
	for _, e := range out.tables.Events {
		if e.Via != logs.ViaGateway {
			continue
		}
		found = found || e.Kind == logs.EventMessage && strings.Contains(e.Text, words)
		if found && e.Kind == logs.EventModelAnswer && e.Input != nil && e.Output != nil && *e.Output < 9 {
			return [2]int64{*e.Input, *e.Output}
		}
	}
	return inOut
}

// readersSeeTheCalls checks that both sources of events tell of the same tool calls.
func readersSeeTheCalls(t *testing.T, out *outcome) {
	t.Helper()
	calls := map[string][]string{}
	results := 0
	for _, e := range out.tables.Events {
		switch {
		case e.Kind == logs.EventToolCall && e.CallID != nil:
			calls[e.Via] = append(calls[e.Via], *e.CallID)
		case e.Kind == logs.EventToolResult && e.Via == logs.ViaReader:
			results++
		case e.Kind == logs.EventUnreadable:
			t.Errorf("unreadable: %s", e.Text)
		}
	}
	if diff := cmp.Diff(calls[logs.ViaGateway], calls[logs.ViaReader]); diff != "" || results != len(calls[logs.ViaReader]) || results < 16 {
		t.Errorf("%d results; calls (-gateway +reader):\n%s", results, diff)
	}
}

// misbehaviour is something a model or its provider does wrong, and how the attempt ends for each program.
type misbehaviour struct {
	tried
	ending map[string]string   // by program; "" for all others
	events map[string][]string // by program, "" for all: "VIA KIND WORDS"
}

const killEverything = "- {do: broad-kill, command: 'kill -9 -1'}"

func misbehaviours() map[string]misbehaviour {
	all := func(s string) map[string]string { return map[string]string{"": s} }
	sees := func(s ...string) map[string][]string { return map[string][]string{"": s} }
	return map[string]misbehaviour{
		"odd calls": {tried{script: "bad-json,unknown-tool,duplicate-id*2"}, all("self clean"),
			sees("gateway rejected_call malformed_call", "gateway rejected_call unknown_tool", "gateway notice duplicate_id", "reader rejected_call ")},
		"endless call": {tried{script: "loop", attempt: "wall: 4m, requests: 16"},
			map[string]string{"": "limit:requests cut", "qwen-code": "self cut", "kimi-cli": "self cut", "kimi-code": "self cut", "openhands": "self cut"},
			map[string][]string{"": {"gateway error budget"}, "qwen-code": {"reader loop_guard consecutive_identical"},
				"kimi-cli":  {"reader loop_guard repeats=12", "journal agent_exit its guard against repeated calls"},
				"kimi-code": {"reader loop_guard repeats=13", "journal agent_exit its guard against repeated calls"},
				"openhands": {"reader loop_guard status=stuck", "journal agent_exit it found itself stuck"}}},
		"rate limit":   {tried{script: "rate-limit"}, all("void:rate_limit"), sees("gateway error rate_limit", "gateway retry rate_limit")},
		"server error": {tried{script: "server-error"}, all("void:provider_error"), sees("gateway error provider_error", "gateway retry provider_error")},
		"quota":        {tried{script: "quota"}, all("void:rate_limit"), sees("gateway error quota")},
		// OpenHands makes a summary, begins anew and meets the same limit again, until it finds itself stuck.
		"context": {tried{script: "context-length"}, all("self cut"),
			map[string][]string{"": {"gateway error context_length", "journal agent_exit context_overflow"}, "openhands": {"gateway error context_length", "reader notice compaction begins", "reader compaction ok=true", "reader loop_guard status=stuck"}}},
		// The retries of mini-swe-agent, Kimi Code and Vibe are off, so that the gateway's are the only ones.
		"cut stream": {tried{script: "cut-stream"}, map[string]string{"": "self clean", "mini-swe": "void:provider_error", "kimi-code": "void:provider_error", "vibe": "void:provider_error"}, sees("gateway error cut_stream")},
		"empty": {tried{script: "empty*0"}, map[string]string{"": "self cut", "opencode": "self empty", "codex": "self empty", "claude-code": "self empty", "vibe": "self empty", "openhands": "limit:requests cut"},
			map[string][]string{"": {"gateway notice empty_answer"}, "openhands": {"gateway notice empty_answer", "reader notice empty_answer"}}},
		"broad kill": {tried{script: killEverything}, all("self cut"), sees("journal agent_exit SIGKILL", "gateway tool_call kill -9 -1")},
		"talk":       {tried{script: "unhelpful"}, map[string]string{"": "self empty", "mini-swe": "self cut"}, nil},
		// Some go on after an answer that was cut.
		"length":      {tried{script: "length"}, map[string]string{"": "self cut", "claude-code": "self clean", "qwen-code": "self clean", "mini-swe": "self clean", "vibe": "self clean"}, sees("gateway notice length")},
		"overloaded":  {tried{script: "overloaded"}, all("void:provider_error"), sees("gateway error provider_error", "gateway retry provider_error")},
		"key":         {tried{script: "key"}, all("void:provider_error"), sees("gateway error auth")},
		"bad request": {tried{script: "bad-request"}, all("void:provider_error"), sees("gateway error bad_request")},
		"hang up":     {tried{script: "hang-up"}, all("void:provider_error"), sees("gateway error provider_error", "gateway retry provider_error")},
		"hang":        {tried{script: "hang", attempt: "wall: 30s, requests: 40"}, all("void:provider_error"), sees("gateway error no answer within")},
		"no body":     {tried{script: "nothing"}, all("void:provider_error"), sees("gateway error provider_error")},
		"own retries": {tried{script: "server-error", gateway: "retry: false", attempt: "wall: 30s, requests: 12"}, all("void:provider_error"),
			map[string][]string{"": {"gateway error provider_error"}, "codex": {"reader retry Reconnecting... 1/1", "reader error internal_server_error"},
				"claude-code": {"reader error API Error: 500", "reader end status=success is_error=true terminal_reason=api_error"}}},
		"held output": {tried{script: "held-output", attempt: "wall: 100s, requests: 40"}, all("self clean"), map[string][]string{"mini-swe": {"reader notice tool_end: by=limit limit=time"}}},
	}
}

// ownRequests are what programs make of one request that fails, with their own retries as low as they go.
var ownRequests = map[string]int{"codex": 2, "claude-code": 1, "kimi-cli": 3, "kimi-code": 1, "mini-swe": 1}

// TestHarnessMisbehaviour has a model and its provider do wrong what real ones do wrong.
func TestHarnessMisbehaviour(t *testing.T) {
	for _, name := range realHarnesses {
		for what, c := range misbehaviours() {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				requireHarness(t, name)
				if what == "held output" && (name == "opencode" || name == "vibe") {
					// They block for two minutes: the limit of the attempt is what ends it.
					c.attempt, c.ending = "wall: 60s, requests: 40", map[string]string{"": "limit:wall cut"}
				}
				if name == "openhands" || name == "vibe" {
					c.attempt = strings.Replace(c.attempt, "wall: 30s", "wall: 90s", 1) // they take their time to start
				}
				c.harness = name
				out := c.play(t)
				if out.tables == nil {
					t.Fatal(out.err)
				}
				want, ok := c.ending[name]
				if !ok {
					want = c.ending[""]
				}
				if out.ending() != want {
					t.Errorf("ended %q, want %q: %s", out.ending(), want, out.detail())
				}
				events, ok := c.events[name]
				if !ok {
					events = c.events[""]
				}
				for _, e := range events {
					if f := strings.SplitN(e, " ", 3); !out.event(f[0], f[1], f[2]) {
						t.Errorf("no event %q", e)
					}
				}
				// After a broken stream Claude Code asks for a whole answer.
				whole := slices.ContainsFunc(out.requests, func(r harness.SimRequest) bool { return !r.Stream })
				if what == "cut stream" && name == "claude-code" && !whole {
					t.Error("every request was for a stream")
				}
				if most := ownRequests[name]; what == "own retries" && most > 0 && len(out.requests) > most {
					t.Errorf("one request that failed became %d, at most %d are known", len(out.requests), most)
				}
				if t.Failed() {
					t.Log(out.eventList())
				}
			})
		}
	}
}

// TestHarnessMisbehaviourAtHome has the model remove all that is in HOME, the files of the conversation too: the next turn
// is a new one.
func TestHarnessMisbehaviourAtHome(t *testing.T) {
	for _, name := range []string{"codex", "claude-code"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireHarness(t, name)
			out := tried{harness: name, changes: 1, script: "- {do: broad-kill, turn: 0, command: 'find ~ -mindepth 1 -delete'}"}.play(t)
			want := []string{"0.0 first passed=true clean", "1.0 first passed=true clean"}
			if diff := cmp.Diff(want, out.attempts()); diff != "" {
				t.Errorf("attempts (-want +got):\n%s%s", diff, out.detail())
			}
		})
	}
}

// TestHarnessMisbehaviourLater has a model use the ids of its calls again in a later turn. Vibe does not run the second
// call of an id; in a later turn it takes the call for one that it knows, and its conversation is broken: the retry begins
// another.
func TestHarnessMisbehaviourLater(t *testing.T) {
	t.Parallel()
	requireHarness(t, "vibe")
	out := tried{harness: "vibe", changes: 1, more: ", feedback: minimal, retries: 1", script: "duplicate-id@0,duplicate-id@1"}.play(t)
	if len(out.exits) != 3 || out.exits[0].Completion != "clean" || out.exits[2].Completion != "clean" || out.exits[1].By != "self" || out.exits[1].Completion != "cut" ||
		!strings.Contains(out.exits[1].Detail, "a call with the id of an earlier turn: ") {
		t.Fatalf("exits %+v: %s", out.exits, out.detail())
	}
	for _, via := range []string{logs.ViaGateway, logs.ViaReader} {
		if !out.event(via, logs.EventNotice, "duplicate_id") {
			t.Errorf("no word of it via %s\n%s", via, out.eventList())
		}
	}
}

// killedHarnesses keep their conversations in quite different ways: a database, a session file, and one of a name that
// stint chooses.
var killedHarnesses = []string{"opencode", "codex", "claude-code"}

// TestHarnessKilled ends stint by kill -9 in the middle of a turn of a program and starts the same command again: the
// turn is played again by an agent that remembers the turn before it, and nothing of the one that was cut.
func TestHarnessKilled(t *testing.T) {
	for _, name := range killedHarnesses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireHarness(t, name)
			killAndGoOn(t, name)
		})
	}
}

func killAndGoOn(t *testing.T, name string) {
	f, err := harness.Load(name, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out outcome
	var running *exec.Cmd
	const change = 1
	kill := make(chan struct{}, 1)
	c := tried{changes: change, answered: func(_ int, r harness.SimRequest) {
		// A command of the change has run.
		if running != nil && ranCommands(r, change) {
			kill <- struct{}{}
			_ = running.Process.Kill()
			running = nil
		}
	}}
	url := c.simulate(t, &out)
	writeFile(t, dir, "study.yaml", fmt.Sprintf(triedStudy, checkSeed, change, "m", name, "", url, "bubblewrap", "", "wall: 5m", "provider_wait: 2s", f.Protocol))
	cmd := command(t, dir, nil, "run", "study.yaml", "-o", "run", "-q")
	running = cmd
	if err := cmd.Run(); err == nil || len(kill) != 1 {
		t.Fatalf("the run was not killed: %v", err)
	}
	before := len(out.requests)
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	out.run = filepath.Join(dir, "run")
	out.read(t)
	if ep := out.tables.Episodes[0]; *ep.TurnsPassed != change+1 || len(out.voids) != 1 || out.voids[0].Reason != "host" {
		t.Errorf("passed %d turns, voids %+v", *ep.TurnsPassed, out.voids)
	}
	// The first request of the turn that was played again: the whole turn before, and the change once.
	again := out.requests[before]
	for turn := range change + 1 {
		if n := timesAsked(again, *out.tables.Turns[turn].ChangeText); n != 1 {
			t.Errorf("the resumed agent was asked for turn %d %d times, want once", turn, n)
		}
	}
	if !ranCommands(again, 0) {
		t.Error("the resumed agent does not remember the commands of the first turn")
	}
	if ranCommands(again, change) {
		t.Error("the resumed agent remembers what was cut")
	}
}

// ranCommands says whether a conversation holds a command of a turn, as the scripted model writes them.
func ranCommands(r harness.SimRequest, turn int) bool {
	for _, m := range r.Messages {
		for _, call := range m.Calls {
			if strings.Contains(call.Arguments, fmt.Sprintf("# turn %d.", turn)) {
				return true
			}
		}
	}
	return false
}

// timesAsked counts the messages of a conversation that ask for a change.
func timesAsked(r harness.SimRequest, change string) int {
	n, begin := 0, strings.SplitN(change, "\n", 2)[0]
	for _, m := range r.Messages {
		if m.Role == "user" && strings.Contains(m.Text, begin) {
			n++
		}
	}
	return n
}
