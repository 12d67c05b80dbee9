package logstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stint-bench/stint/logs"
)

// programs are logs of the agents' programs, from the fixtures of package logs: format, and files name=fixture.
var programs = []string{
	"claude-code session.jsonl=claude-two-turns.jsonl",
	"claude-code session.jsonl=claude-api-error.jsonl stdout.jsonl=claude-500-stdout.jsonl",
	"codex rollout.jsonl=codex-053.jsonl",
	"codex rollout.jsonl=codex-malformed.jsonl",
	"codex stdout.jsonl=codex-stdout.jsonl",
	"kimi-cli wire.jsonl=kimicli-two-turns.jsonl",
	"kimi-code wire.jsonl=kimicode-11.jsonl",
	"kimi-code stdout.jsonl=kimicode-429-stdout.jsonl",
	"mini-swe a.traj.json=mini-v1.json",
	"mini-swe a.traj.json=mini-v1-list.json",
	"opencode export.json=opencode-export.json",
	"opencode stdout.jsonl=opencode-tool-timeout.jsonl",
	"openhands events.jsonl=openhands-provider-429.jsonl base_state.json=openhands-provider-429.state.json",
	"openhands stdout=openhands-turn2.txt",
	"qwen-code chat.jsonl=qwen-compression.jsonl",
	"vibe s/journal/1.jsonl=vibe-provider-error-429.jsonl",
	"vibe stdout.jsonl=vibe-turn1-stdout.jsonl",
	"vibe messages.jsonl=vibe2-messages.jsonl meta.json=vibe2-meta.json",
}

// fixture reads a file of package logs.
func fixture(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", "testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// allLogs are the logs that readers are held to, by name: those of programs, and everything in testdata/runner.
func allLogs(t testing.TB) map[string]Log {
	t.Helper()
	all := map[string]Log{}
	for _, p := range programs {
		format, files, _ := strings.Cut(p, " ")
		m := fstest.MapFS{}
		for _, f := range strings.Fields(files) {
			name, from, _ := strings.Cut(f, "=")
			m[name] = &fstest.MapFile{Data: fixture(t, "program", from)}
		}
		all[strings.ReplaceAll(p, "/", "-")] = Log{Format: format, Files: m}
	}
	all["stint-gateway"] = Log{Format: "stint-gateway", Files: fstest.MapFS{"gateway.jsonl": {Data: []byte(recording)}}}
	for name, log := range runnerLogs(t) {
		all[name] = log
	}
	return all
}

// recording is what stint's built-in agent writes, in the least of lines.
const recording = `{"seq":0,"time":"2026-11-29T12:00:00.000Z","kind":"request","messages":[{"role":"user","content":"Build it."}]}
{"seq":1,"time":"2026-11-29T12:00:01.000Z","kind":"answer","duration_s":1,"text":"I will look."}
{"seq":2,"time":"2026-11-29T12:00:01.000Z","kind":"tool_call","tool":"bash","call_id":"c1","arguments":"{\"command\":\"ls\"}"}
{"seq":3,"time":"2026-11-29T12:00:02.000Z","kind":"tool_result","tool":"bash","call_id":"c1","text":"main.go","exit_code":0}
`

// runnerLogs are the fixtures of other runners: a file or a folder each.
func runnerLogs(t testing.TB) map[string]Log {
	t.Helper()
	root := filepath.Join("..", "testdata", "runner")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Log{}
	for _, e := range entries {
		if e.Name() == "README" || strings.HasSuffix(e.Name(), ".golden") {
			continue
		}
		m := fstest.MapFS{}
		if e.IsDir() {
			for name, data := range load(t, os.DirFS(filepath.Join(root, e.Name()))) {
				m[name] = &fstest.MapFile{Data: data}
			}
		} else {
			m[e.Name()] = &fstest.MapFile{Data: fixture(t, "runner", e.Name())}
		}
		r := open(t, load(t, m), nil)
		log := Log{Files: m}
		for _, f := range r.Files() {
			if f.Format != "" {
				log.Format = f.Format
			}
		}
		r.Close()
		all[e.Name()] = log
	}
	return all
}

// Every format has a log here, and its reader keeps the promises on it.
func TestReaders(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{"stint-journal": true} // its chain is a promise of its own, tested with journals
	for name, log := range allLogs(t) {
		covered[log.Format] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Run(t, log)
		})
	}
	for _, f := range logs.Formats() {
		if !covered[f.Name] {
			t.Errorf("no log here is of the format %s", f.Name)
		}
	}
}

func FuzzReaders(f *testing.F) {
	var all []Log
	for _, log := range allLogs(f) {
		all = append(all, log)
	}
	Fuzz(f, all)
}

// The suite finds what it is there to find.
func TestFindsFaults(t *testing.T) {
	t.Parallel()
	log := Log{Format: "codex", Files: fstest.MapFS{"rollout.jsonl": {Data: fixture(t, "program", "codex-053.jsonl")}}}
	files := load(t, log.Files)
	whole := read(t, files, nil)
	events := whole.events()
	lost := whole
	lost.records = nil
	if err := kept(events, &lost, "rollout.jsonl", int64(len(files["rollout.jsonl"]))); err == nil {
		t.Error("events that are lost are not found")
	}
	if len(events) == 0 {
		t.Fatal("no events")
	}
	last := events[len(events)-1]
	if err := kept(events, &whole, "rollout.jsonl", last.Offset+2); err == nil {
		t.Error("a torn line of which nothing is said is not found")
	}
	moved := reading{records: []logs.LogRecord{{Event: &logs.EventRow{Place: logs.Place{File: "rollout.jsonl", Offset: 1 << 40, Length: 1}}}}}
	if len(moved.placeFaults(files)) != 1 {
		t.Error("a place that does not exist is not found")
	}
	last.SHA256 = strings.Repeat("0", 64)
	if len(eventFaults(&last, []byte("other bytes"))) != 1 {
		t.Error("a hash of other bytes is not found")
	}
}
