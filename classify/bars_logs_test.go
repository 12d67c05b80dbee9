package classify

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// words are what a fault makes a program, or with a status its provider, write into its log.
type words struct {
	status int
	text   string
}

// recorded is the beginning of a recorded episode in which nothing was wrong, and how its program writes on.
type recorded struct {
	name, file, session string // the file's name and id of the session, which every copy gets anew
	lines               int    // of the beginning
	fails               func(w words) []any
	calls               func(command string) any // a call that nothing comes back from
}

type object = map[string]any

func recordings() []recorded {
	codex := func(w words) []any {
		if w.status != 0 {
			w.text = fmt.Sprintf("unexpected status %d: %s", w.status, w.text)
		}
		return []any{object{"type": "error", "message": w.text}, object{"type": "turn.failed", "error": object{"message": w.text}}}
	}
	codexCall := func(command string) any {
		return object{"type": "item.started", "item": object{"id": "item_99", "type": "command_execution", "command": command, "aggregated_output": "", "status": "in_progress"}}
	}
	pi := func(w words) []any {
		reason := "aborted"
		if w.status != 0 {
			reason, w.text = "error", fmt.Sprintf("%d %s", w.status, w.text)
		}
		return []any{object{"type": "message_end", "message": object{"role": "assistant", "content": []any{}, "model": "mock-1", "provider": "gw", "stopReason": reason, "errorMessage": w.text}}}
	}
	piCall := func(command string) any {
		return object{"type": "message_end", "message": object{"role": "assistant", "model": "mock-1", "provider": "gw", "stopReason": "toolUse",
			"content": []any{object{"type": "toolCall", "id": "last", "name": "bash", "arguments": object{"command": command}}}}}
	}
	claude := func(w words) []any {
		if w.status != 0 {
			return []any{object{"type": "assistant", "isApiErrorMessage": true, "apiErrorStatus": w.status, "error": "api_error", "sessionId": "874f04c5-b607-4baa-be73-f0ba432e5329",
				"message": object{"role": "assistant", "model": "<synthetic>", "content": []any{object{"type": "text", "text": fmt.Sprintf("API Error: %d %s", w.status, w.text)}}}}}
		}
		return []any{object{"type": "result", "subtype": "error_during_execution", "is_error": true, "errors": []any{w.text}, "sessionId": "874f04c5-b607-4baa-be73-f0ba432e5329"}}
	}
	claudeCall := func(command string) any {
		return object{"type": "assistant", "sessionId": "874f04c5-b607-4baa-be73-f0ba432e5329", "message": object{"id": "msg_99", "role": "assistant", "model": "mock-1", "stop_reason": "tool_use",
			"content": []any{object{"type": "tool_use", "id": "last", "name": "Bash", "input": object{"command": command}}}}}
	}
	gemini := func(w words) []any {
		if w.status != 0 {
			w.text = fmt.Sprintf("[API Error: %d %s]", w.status, w.text)
		}
		return []any{object{"type": "result", "status": "error", "error": object{"type": "Error", "message": w.text}}}
	}
	geminiCall := func(command string) any {
		return object{"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "last", "parameters": object{"command": command}}
	}
	return []recorded{
		{"codex", "program/codex-stdout.jsonl", "01a22797-90e9-7fc2-a616-6ebf6f25b876", 6, codex, codexCall},
		{"codex, later", "program/codex-stdout.jsonl", "01a22797-90e9-7fc2-a616-6ebf6f25b876", 9, codex, codexCall},
		{"claude", "program/claude-two-turns.jsonl", "874f04c5-b607-4baa-be73-f0ba432e5329", 10, claude, claudeCall},
		{"gemini", "runner/gemini-loop-stdout.jsonl", "aa20055d-4a82-4d23-96c1-dd7af38a4297", 5, gemini, geminiCall},
		{"pi", "runner/pi-ok-stdout.jsonl", "01a227a8-4ba0-71f7-813f-9721af79a82c", 17, pi, piCall},
		{"pi, later", "runner/pi-ok-stdout.jsonl", "01a227a8-4ba0-71f7-813f-9721af79a82c", 28, pi, piCall},
	}
}

// loggedFaults are five ways in which each leaf shows in a log; commands are calls that are not answered.
var loggedFaults = map[string][5]words{
	"infra.tool_call": {{0, "Unterminated string in JSON at position 4096 (tool call write_file)"}, {0, "Model tried to call unavailable tool 'writeFile'"}, {400, "messages.12: function.arguments must be in JSON format"},
		{0, "Invalid arguments: expected string, received undefined"}, {400, "messages.4: `tool_use` ids were found without `tool_result` blocks"}},
	"infra.loop_guard": {{0, "AgentStuckInLoopError: Agent got stuck in a loop"}, {0, "A potential loop was detected. The request has been halted."}, {0, "Loop detected, stopping the session"},
		{0, "stopped: the last 12 steps repeat the same 3"}, {0, "the same call came back with the same result too often"}},
	"infra.compaction": {{0, "Error during compaction: request failed"}, {0, "Error running remote compact task: stream closed"}, {0, "compaction.failed"}, {0, "the conversation could not be summarized"}, {0, "Compaction exhausted after 3 attempts"}},
	"infra.context_overflow": {{400, "prompt is too long: 212034 tokens > 200000 maximum"}, {400, "This model's maximum context length is 131072 tokens"}, {400, `{"error":{"code":"context_length_exceeded"}}`},
		{0, "the request exceeds the available context size"}, {400, "Range of input length should be [1, 129024]"}},
	"infra.rate_limit":     {{429, "slow down"}, {429, `{"error":{"type":"rate_limit_error"}}`}, {0, "You've hit your usage limit"}, {429, "insufficient_quota"}, {0, "exceeded retry limit, last status: 429 Too Many Requests"}},
	"infra.provider_error": {{529, `{"type":"overloaded_error"}`}, {503, "Service Unavailable"}, {0, "APIConnectionError: Connection error."}, {0, "stream disconnected before completion"}, {500, "Internal server error"}},
	"infra.agent_exit":     {{0, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"}, {0, "panic: runtime error"}, {0, "Unhandled exception: TypeError"}, {0, "Segmentation fault (core dumped)"}, {0, "Uncaught exception: EPERM"}},
	"infra.resources":      {{0, "OSError: [Errno 28] No space left on device"}, {0, "container OOMKilled"}, {0, "fork: Cannot allocate memory"}, {0, "write: Disk quota exceeded"}, {0, "the pod exceeded its memory limit"}},
	"infra.sandbox": {{0, "AgentRuntimeDisconnectedError: runtime is gone"}, {0, "command failed in sandbox"}, {0, "permission requested: external_directory; auto-rejecting"}, {0, "bwrap: setting up uid map: Permission denied"},
		{0, "Error response from daemon: No such container: 4f2a"}},
	"infra.budget":     {{0, "LimitsExceeded: 150 steps"}, {0, "AgentTimeoutError"}, {0, "error_max_turns"}, {0, "Maximum iterations reached"}, {0, "the cost limit was reached"}},
	"infra.broad_kill": {{-1, "pkill -f 'claude|codex|node|pi'"}, {-1, "killall -9 node python3 codex claude pi"}, {-1, "lsof -ti :8080 | xargs kill -9"}, {-1, "bash -c 'fuser -k 8080/tcp'"}, {-1, "kill -9 -1"}},
	"infra.tool_hang":  {{-1, "python3 app.py"}, {-1, "./start.sh"}, {-1, "npm start"}, {-1, "vim app.py"}, {-1, "uvicorn app:app --port 8080"}},
}

// plantLogs writes 30 logs with a fault of each leaf, and says which session has which leaf.
func plantLogs(t *testing.T, dir string) map[string]string {
	t.Helper()
	want := map[string]string{}
	for _, leaf := range slices.Sorted(maps.Keys(loggedFaults)) {
		for way, w := range loggedFaults[leaf] {
			for k, rec := range recordings() {
				raw, err := os.ReadFile(filepath.Join("..", "logs", "testdata", filepath.FromSlash(rec.file)))
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.SplitAfter(string(raw), "\n")[:rec.lines]
				planted := []any{rec.calls(w.text)}
				if w.status >= 0 {
					planted = rec.fails(w)
				}
				for _, p := range planted {
					b, err := json.Marshal(p)
					if err != nil {
						t.Fatal(err)
					}
					lines = append(lines, string(b)+"\n")
				}
				session := fmt.Sprintf("%08x%s", len(want)+1, rec.session[8:])
				name := fmt.Sprintf("%s-%d-%d.jsonl", leaf, way, k)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(strings.Join(lines, ""), rec.session, session)), 0o644); err != nil {
					t.Fatal(err)
				}
				want[name] = leaf
			}
		}
	}
	return want
}

// TestBarPlantedInLogs is bar A1 from the raw log to the verdict: six beginnings of recorded episodes of four programs, each
// with 60 faults planted in the words of its own log, read as logs of others.
func TestBarPlantedInLogs(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	want := plantLogs(t, dir)
	r, err := logs.Open(logs.ReaderOptions{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := logs.IngestLogs(t.Context(), r, out, nil); err != nil {
		t.Fatal(err)
	}
	tables, err := logs.ReadTablesWith(out, logs.ReadOptions{Events: true})
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(t.Context(), &logs.RunDir{Root: out}, tables, Options{Foreign: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range res.Verdicts {
		for i := range tables.Attempts {
			if a := &tables.Attempts[i]; a.Episode == v.Episode {
				got[filepath.Base(a.File)] = deref(v.Leaf)
			}
		}
	}
	right, given, planted, level := map[string]int{}, map[string]int{}, map[string]int{}, 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		leaf := want[name]
		planted[leaf]++
		given[got[name]]++
		level += boolOrder(levelOf(got[name]) == "infra")
		if right[leaf] += boolOrder(got[name] == leaf); got[name] != leaf {
			t.Logf("%s: %s", name, got[name])
		}
	}
	recall, precision := 0.0, 0.0
	for leaf, n := range planted {
		recall += float64(right[leaf]) / float64(n) / float64(len(planted))
		precision += float64(right[leaf]) / float64(max(1, given[leaf])) / float64(len(planted))
	}
	l1 := float64(level) / float64(len(want))
	t.Logf("%d faults of %d leaves: macro recall %.3f, macro precision %.3f, level %.3f", len(want), len(planted), recall, precision, l1)
	if len(want) != 360 || recall < 0.95 || precision < 0.97 || l1 < 0.98 {
		t.Errorf("%d faults: macro recall %.3f (bar .95), macro precision %.3f (.97), level %.3f (.98)", len(want), recall, precision, l1)
	}
}
