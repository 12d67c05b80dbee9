package logs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// programEvents reads a bundle and writes its events one a line, prompts cut short.
func programEvents(t *testing.T, reader string, files []LogFile) (lines []string, problems []Problem) {
	t.Helper()
	content, err := BundleLog(files)
	if err != nil {
		t.Fatal(err)
	}
	b := &eventBuilder{row: &AttemptRow{}, via: ViaReader}
	b.program(programReaderOf(reader), "blob", content)
	for _, e := range b.events {
		line := fmt.Sprintf("%s %s", e.Channel, e.Kind)
		for _, s := range []*string{e.Tool, e.CallID} {
			if s != nil {
				line += " " + *s
			}
		}
		if e.ExitCode != nil {
			line += fmt.Sprintf(" exit=%d", *e.ExitCode)
		}
		if e.HTTPStatus != nil {
			line += fmt.Sprintf(" http=%d", *e.HTTPStatus)
		}
		for _, n := range []*int64{e.Input, e.Cached, e.Output, e.Reasoning} {
			if n != nil {
				line += fmt.Sprintf(" %d", *n)
			}
		}
		lines = append(lines, strings.TrimSpace(line+": "+clip(strings.ReplaceAll(e.Text, "\n", "|"), 60)))
		// Every event points to bytes that are there.
		if e.Length > 0 && (e.Offset+e.Length > int64(len(content)) || e.Offset < 0) {
			t.Errorf("event %v lies outside of its log", e)
		}
		made := e.CallID == nil || strings.HasPrefix(*e.CallID, "command_") // the log has no name for it
		if e.Kind == EventToolCall && !made && e.Length > 0 && !strings.Contains(string(content[e.Offset:e.Offset+e.Length]), *e.CallID) {
			t.Errorf("the bytes of %s are not its call", *e.CallID)
		}
	}
	return lines, b.problems
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "program", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var update = flag.Bool("update", false, "rewrite the golden files")

// checkGolden holds events against a golden file, or rewrites it.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", "program", name)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(sample(t, name)), got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The golden file was read through line by line against the samples.
func TestProgramReaders(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, c := range []struct{ reader, name, from string }{
		{"opencode", "export.json", "opencode-export.json"},
		{"opencode", "stdout", "opencode-401.jsonl"},
		{"opencode", "stdout", "opencode-tool-timeout.jsonl"},
		{"opencode", "stdout", "opencode-malformed.jsonl"},
		{"qwen-code", "chat.jsonl", "qwen-compression.jsonl"},
		{"qwen-code", "stdout", "qwen-loop.jsonl"},
		{"qwen-code", "stdout", "qwen-malformed.jsonl"},
		{"mini-swe", "traj.json", "mini-submitted.json"},
		{"mini-swe", "traj.json", "mini-timeout.json"},
		{"mini-swe", "traj.json", "mini-malformed.json"},
		{"codex", "rollout.jsonl", "codex-two-turns.jsonl"},
		{"codex", "rollout.jsonl", "codex-malformed.jsonl"},
		{"codex", "rollout.jsonl", "codex-compacted.jsonl"},
		{"codex", "rollout.jsonl", "codex-rejected.jsonl"},
		{"codex", "rollout.jsonl", "codex-0146.jsonl"},
		{"codex", "rollout.jsonl", "codex-053.jsonl"},
		{"codex", "stdout", "codex-500-stdout.jsonl"},
		{"codex", "stdout", "codex-stdout.jsonl"},
		{"claude-code", "session.jsonl", "claude-two-turns.jsonl"},
		{"claude-code", "session.jsonl", "claude-api-error.jsonl"},
		{"claude-code", "session.jsonl", "claude-compaction.jsonl"},
		{"claude-code", "stdout", "claude-500-stdout.jsonl"},
		{"claude-code", "stdout", "claude-malformed-stdout.jsonl"},
		{"claude-code", "stdout", "claude-context-stdout.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-two-turns.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-provider-429.jsonl"},
		{"kimi-cli", "stdout", "kimicli-provider-429.txt"},
		{"kimi-cli", "wire.jsonl", "kimicli-repeat.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-compaction.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-malformed-args.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-unknown-tool.jsonl"},
		{"kimi-cli", "stdout", "kimicli-unknown-tool.txt"},
		{"kimi-cli", "wire.jsonl", "kimicli-empty-answer.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-step-limit.jsonl"},
		{"kimi-cli", "wire.jsonl", "kimicli-subagent.jsonl"},
		{"kimi-code", "wire.jsonl", "kimicode-tools.jsonl"},
		{"kimi-code", "wire.jsonl", "kimicode-compaction-failed.jsonl"},
		{"kimi-code", "wire.jsonl", "kimicode-11.jsonl"},
		{"kimi-code", "stdout", "kimicode-repeat-stdout.jsonl"},
		{"kimi-code", "stdout", "kimicode-429-stdout.jsonl"},
	} {
		got, problems := programEvents(t, c.reader, []LogFile{{Name: c.name, Data: sample(t, c.from)}})
		if len(problems) > 0 {
			t.Errorf("%s: problems %v", c.from, problems)
		}
		fmt.Fprintf(&all, "== %s\n%s\n", c.from, strings.Join(got, "\n"))
	}
	checkGolden(t, "events.golden", all.String())
}

func TestReportedUsage(t *testing.T) {
	t.Parallel()
	for reader, c := range map[string]struct {
		file LogFile
		want string
	}{
		// What the session's own totals say, reasoning (5 each) added to the output.
		"opencode":  {LogFile{Name: "export.json", Data: sample(t, "opencode-export.json")}, `{"via":"reader","model_returned":"","in":1820,"cached":3200,"cache_write":0,"out":84,"reasoning":20,"requests":4,"usd":null,"usd_nocache":null}`},
		"qwen-code": {LogFile{Name: "chat.jsonl", Data: sample(t, "qwen-compression.jsonl")}, `{"via":"reader","model_returned":"","in":79140,"cached":1600,"cache_write":null,"out":42,"reasoning":10,"requests":2,"usd":null,"usd_nocache":null}`},
		"mini-swe":  {LogFile{Name: "traj.json", Data: sample(t, "mini-submitted.json")}, `{"via":"reader","model_returned":"","in":3590,"cached":200,"cache_write":null,"out":40,"reasoning":0,"requests":2,"usd":null,"usd_nocache":null}`},
	} {
		bundle, err := BundleLog([]LogFile{{Name: "stdout", Data: []byte("hello\n")}, c.file})
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(ReportedUsage(reader, bundle))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", reader, got, err, c.want)
		}
		if u := ReportedUsage(reader, nil); u != nil {
			t.Errorf("%s: an empty log reports %+v", reader, u)
		}
	}
	if u := ReportedUsage("no-such", nil); u != nil {
		t.Errorf("an unknown reader reports %+v", u)
	}
}

func TestBrokenProgramLogs(t *testing.T) {
	t.Parallel()
	whole, err := BundleLog([]LogFile{{Name: "stdout", Data: []byte("x")}, {Name: "export.json", Data: sample(t, "opencode-export.json")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reader  string
		content []byte
		want    string
	}{
		"empty":        {"opencode", nil, "index of its files"},
		"no index":     {"mini-swe", []byte("{}\n"), "index of its files"},
		"later":        {"mini-swe", []byte(`{"stint_log":2}` + "\n"), "version 2"},
		"cut":          {"opencode", whole[:len(whole)/2], `ends within the file "export.json"`},
		"negative":     {"text", []byte(`{"stint_log":1,"files":[{"name":"a","bytes":-5}]}` + "\n"), "ends within"},
		"torn JSON":    {"opencode", bundle(t, "export.json", `{"info":{},"messages":[{"info":{}},{"inf`), "export.json: unexpected EOF"},
		"other JSON":   {"mini-swe", bundle(t, "traj.json", `[1,2]`), "no JSON object"},
		"no list":      {"mini-swe", bundle(t, "traj.json", `{"messages":{}}`), `"messages" is no list`},
		"wrong type":   {"mini-swe", bundle(t, "traj.json", `{"messages":[{"role":5}]}`), "element 1 of messages"},
		"not an event": {"qwen-code", bundle(t, "chat.jsonl", "{\"type\":\"user\"}\n{\"type\":7}\nplain\n"), "no event"},
	} {
		b := &eventBuilder{row: &AttemptRow{}, via: ViaReader}
		b.program(programReaderOf(c.reader), "blob", c.content)
		if len(b.problems) == 0 || !strings.Contains(fmt.Sprint(b.problems), c.want) {
			t.Errorf("%s: problems %v", name, b.problems)
		}
	}
	got, problems := programEvents(t, "text", []LogFile{{Name: "stdout", Data: []byte("greeting\nbye\n")}, {Name: "stderr", Data: []byte("\x1b[31mwarning\n"), LeftOut: 99}})
	want := []string{"other notice: stdout: greeting|bye", "system left_out: file=stderr bytes=99", "other notice: stderr: \x1b[31mwarning"}
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("plain text (-want +got):\n%s%v", diff, problems)
	}
}

func bundle(t *testing.T, name, data string) []byte {
	t.Helper()
	b, err := BundleLog([]LogFile{{Name: name, Data: []byte(data)}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzProgramLog(f *testing.F) {
	for _, name := range []string{"opencode-export.json", "opencode-malformed.jsonl", "qwen-compression.jsonl", "qwen-loop.jsonl", "mini-timeout.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "program", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, reader := range []string{"opencode", "qwen-code", "mini-swe", TextReader} {
			b := &eventBuilder{row: &AttemptRow{}, via: ViaReader}
			b.program(programReaderOf(reader), "blob", data)
			for _, name := range []string{"stdout", "export.json", "chat.jsonl", "traj.json"} {
				bundle, err := BundleLog([]LogFile{{Name: name, Data: data}})
				if err != nil {
					t.Fatal(err)
				}
				b.program(programReaderOf(reader), "blob", bundle)
			}
		}
	})
}
