package logs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programBundles are logs that are read from several files together. Each file is written name=fixture.
var programBundles = []struct{ name, reader, files string }{
	{"codex: the stream adds retries alone", "codex", "rollout.jsonl=codex-malformed.jsonl stdout=codex-500-stdout.jsonl"},
	{"claude-code: the stream adds the result alone", "claude-code", "session.jsonl=claude-api-error.jsonl stdout=claude-500-stdout.jsonl"},
	{"kimi-cli: the output says why", "kimi-cli", "wire.jsonl=kimicli-provider-429.jsonl stdout=kimicli-provider-429.txt"},
	{"kimi-code: an agent below", "kimi-code", "wire.jsonl=kimicode-subagent.jsonl agents.jsonl=kimicode-subagent-agents.jsonl"},
	{"openhands: two turns", "openhands", "events.jsonl=openhands-two-turns.jsonl base_state.json=openhands-two-turns.state.json"},
	{"openhands: the second turn, from the output", "openhands", "stdout=openhands-turn2.txt base_state.json=openhands-two-turns.state.json"},
	{"openhands: malformed-args", "openhands", "events.jsonl=openhands-malformed-args.jsonl base_state.json=openhands-malformed-args.state.json"},
	{"openhands: unknown-tool", "openhands", "events.jsonl=openhands-unknown-tool.jsonl base_state.json=openhands-unknown-tool.state.json"},
	{"openhands: context-400", "openhands", "events.jsonl=openhands-context-400.jsonl base_state.json=openhands-context-400.state.json"},
	{"openhands: stuck", "openhands", "events.jsonl=openhands-stuck.jsonl base_state.json=openhands-stuck.state.json"},
	{"openhands: iteration-limit", "openhands", "events.jsonl=openhands-iteration-limit.jsonl base_state.json=openhands-iteration-limit.state.json"},
	{"openhands: provider-429", "openhands", "events.jsonl=openhands-provider-429.jsonl base_state.json=openhands-provider-429.state.json"},
	{"vibe: turn 2", "vibe", "journal.jsonl=vibe-turn2.jsonl export.json=vibe-turn2.export.json"},
	{"vibe: without a journal", "vibe", "stdout=vibe-turn1-stdout.jsonl export.json=vibe-turn2.export.json"},
	{"vibe: compaction", "vibe", "journal.jsonl=vibe-compaction.jsonl export.json=vibe-compaction.export.json"},
	{"vibe: context-overflow", "vibe", "journal.jsonl=vibe-context-overflow.jsonl export.json=vibe-context-overflow.export.json"},
	{"vibe: malformed-tool-call", "vibe", "journal.jsonl=vibe-malformed-tool-call.jsonl export.json=vibe-malformed-tool-call.export.json"},
	{"vibe: unknown-tool", "vibe", "journal.jsonl=vibe-unknown-tool.jsonl export.json=vibe-unknown-tool.export.json"},
	{"vibe: duplicate-tool-call-id", "vibe", "journal.jsonl=vibe-duplicate-tool-call-id.jsonl export.json=vibe-duplicate-tool-call-id.export.json"},
	{"vibe: output-length", "vibe", "journal.jsonl=vibe-output-length.jsonl export.json=vibe-output-length.export.json"},
	{"vibe: limit-reached-turns", "vibe", "journal.jsonl=vibe-limit-reached-turns.jsonl export.json=vibe-limit-reached-turns.export.json"},
	{"vibe: provider-error-429", "vibe", "journal.jsonl=vibe-provider-error-429.jsonl export.json=vibe-provider-error-429.export.json vibe.log=vibe-provider-error-429.log"},
	{"vibe 2: the second turn", "vibe", "messages.jsonl=vibe2-messages.jsonl meta.json=vibe2-meta.json"},
	{"mini-swe-agent 1", "mini-swe", "traj.json=mini-v1.json"},
	{"mini-swe-agent 1, a bare list", "mini-swe", "traj.json=mini-v1-list.json"},
}

func bundleFiles(t *testing.T, files string) []LogFile {
	t.Helper()
	var out []LogFile
	for _, f := range strings.Fields(files) {
		name, from, _ := strings.Cut(f, "=")
		out = append(out, LogFile{Name: name, Data: sample(t, from)})
	}
	return out
}

// The golden file was read through line by line against the samples.
func TestProgramBundles(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, c := range programBundles {
		got, problems := programEvents(t, c.reader, bundleFiles(t, c.files))
		if len(problems) > 0 {
			t.Errorf("%s: problems %v", c.name, problems)
		}
		fmt.Fprintf(&all, "== %s\n%s\n", c.name, strings.Join(got, "\n"))
	}
	checkGolden(t, "bundles.golden", all.String())
}

// A command that was left running when a turn of Codex ended in order is no call that nothing came back from.
func TestCodexLeftRunning(t *testing.T) {
	t.Parallel()
	const begun = `{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"./start.sh","status":"in_progress"}}
`
	for end, want := range map[string]string{
		"": "tool_call",
		`{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"Done."}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}` + "\n": "end",
	} {
		got, problems := programEvents(t, "codex", []LogFile{{Name: "stdout", Data: []byte(begun + end)}})
		if len(problems) > 0 || len(got) == 0 || !strings.Contains(got[len(got)-1], want) {
			t.Errorf("%q: %q, %v", end, got, problems)
		}
	}
}

// A log that was cut anywhere, or into which a bad line came, keeps every event that stands whole in it, and says what
// could not be read.
func TestTornProgramLogs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reader, name, from string }{
		{"codex", "rollout.jsonl", "codex-two-turns.jsonl"},
		{"claude-code", "session.jsonl", "claude-two-turns.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-two-turns.jsonl"},
		{"kimi-code", "wire.jsonl", "kimicode-tools.jsonl"},
		{"openhands", "events.jsonl", "openhands-two-turns.jsonl"},
		{"vibe", "journal.jsonl", "vibe-turn2.jsonl"},
		{"vibe", "messages.jsonl", "vibe2-messages.jsonl"},
	} {
		whole := sample(t, c.from)
		all, _ := programEvents(t, c.reader, []LogFile{{Name: c.name, Data: whole}})
		calls := func(lines []string) (n int) {
			for _, l := range lines {
				if strings.HasPrefix(l, "model tool_call") {
					n++
				}
			}
			return n
		}
		bad := append([]byte("{\"type\":7,\"role\":7,\"kind\":7}\n"), whole...)
		got, problems := programEvents(t, c.reader, []LogFile{{Name: c.name, Data: bad}})
		if len(problems) != 1 || calls(got) != calls(all) || calls(all) == 0 {
			t.Errorf("%s with a bad line: problems %v, %d of %d calls", c.from, problems, calls(got), calls(all))
		}
		end := strings.LastIndexByte(strings.TrimRight(string(whole), "\n"), '\n') + 10
		got, problems = programEvents(t, c.reader, []LogFile{{Name: c.name, Data: whole[:end]}})
		if len(problems) != 1 || problems[0].Line == 0 || len(got) < 3 {
			t.Errorf("%s, torn: problems %v, %d events", c.from, problems, len(got))
		}
	}
}

// The sums are those that the scripted model gave out.
func TestReportedUsageOfBundles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reader, files, want string }{
		{"codex", "rollout.jsonl=codex-two-turns.jsonl", "in 56635 cached 500 write 0 out 100 requests 5"},
		{"claude-code", "session.jsonl=claude-two-turns.jsonl", "in 66923 cached 500 write 0 out 100 requests 5"},
		{"kimi-cli", "wire.jsonl=kimicli-two-turns.jsonl", "in 3200 cached 1000 write 0 out 82 requests 4"},
		{"kimi-cli", "wire.jsonl=kimicli-subagent.jsonl", "in 10000 cached 0 write 0 out 70 requests 4"},
		{"kimi-code", "wire.jsonl=kimicode-subagent.jsonl agents.jsonl=kimicode-subagent-agents.jsonl", "in 10000 cached 0 write 0 out 70 requests 4"},
		{"openhands", "events.jsonl=openhands-two-turns.jsonl base_state.json=openhands-two-turns.state.json", "in 3200 cached 1000 write 0 out 82 requests 4"},
		{"openhands", "stdout=openhands-turn2.txt base_state.json=openhands-two-turns.state.json", "in 1600 cached 500 write 0 out 41 requests 2"},
		{"vibe", "messages.jsonl=vibe2-messages.jsonl meta.json=vibe2-meta.json", "in 1600 cached 500 out 60"},
	} {
		content, err := BundleLog(bundleFiles(t, c.files))
		if err != nil {
			t.Fatal(err)
		}
		u := ReportedUsage(c.reader, content)
		if u == nil {
			t.Errorf("%s: no usage", c.files)
			continue
		}
		var got []string
		for _, f := range []struct {
			name string
			n    *int64
		}{{"in", u.In}, {"cached", u.Cached}, {"write", u.CacheWrite}, {"out", u.Out}, {"requests", u.Requests}} {
			if f.n != nil {
				got = append(got, fmt.Sprintf("%s %d", f.name, *f.n))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.files, s, c.want)
		}
	}
}

// Every reader has to come through anything that an agent can put into its files.
func FuzzProgramBundles(f *testing.F) {
	names := []string{"stdout", "stderr", "rollout.jsonl", "session.jsonl", "wire.jsonl", "events.jsonl", "event-00001-a.json", "base_state.json", "journal.jsonl", "export.json", "vibe.log", "messages.jsonl", "meta.json", "traj.json"}
	for _, from := range []string{"codex-0146.jsonl", "claude-two-turns.jsonl", "kimicli-malformed-args.jsonl", "kimicode-compaction-failed.jsonl", "openhands-stuck.jsonl", "vibe-compaction.jsonl", "vibe2-messages.jsonl", "mini-v1.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "program", from))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var files []LogFile
		for _, name := range names {
			files = append(files, LogFile{Name: name, Data: data})
		}
		for _, reader := range []string{"codex", "claude-code", "kimi-cli", "kimi-code", "openhands", "vibe", "mini-swe"} {
			for _, some := range [][]LogFile{files, slices.DeleteFunc(slices.Clone(files), func(l LogFile) bool {
				return l.Name == "messages.jsonl" || l.Name == "wire.jsonl" || l.Name == "session.jsonl"
			})} {
				content, err := BundleLog(some)
				if err != nil {
					t.Fatal(err)
				}
				b := &eventBuilder{row: &AttemptRow{}, via: ViaReader}
				b.program(programReaderOf(reader), "blob", content)
				if _, err := json.Marshal(b.events); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
