package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// session is a session of Codex in the least of lines.
const session = `{"timestamp":"2026-11-29T12:00:00.000Z","type":"session_meta","payload":{"id":"session-1","cwd":"/tmp","cli_version":"0.53.0"}}
{"timestamp":"2026-11-29T12:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Build it."}]}}
{"timestamp":"2026-11-29T12:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}
{"timestamp":"2026-11-29T12:00:03.000Z","type":"something_new","payload":{}}
`

func TestIngestLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("good.jsonl", session)
	out, errs := stint(t, dir, 0, "ingest", "good.jsonl", "-o", "tables", "--strict")
	for _, want := range []string{"good.jsonl  codex      4        0    1 (something_new)", "tables: 1 episode, 1 attempt, 3 events, 0 bad records"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s%s", want, out, errs)
		}
	}
	write("bad.jsonl", session+"{\"timestamp\":\"2026-11")
	_, errs = stint(t, dir, 3, "ingest", "bad.jsonl", "-o", "tables", "--strict")
	for _, want := range []string{"bad.jsonl:5 (byte ", "ends within this line", "--strict: 1 record could not be read"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr lacks %q:\n%s", want, errs)
		}
	}
	stint(t, dir, 0, "ingest", "bad.jsonl", "-o", "tables")
	write("notes.txt", "words\n")
	_, errs = stint(t, dir, 2, "ingest", "notes.txt", "-o", "other")
	if !strings.Contains(errs, "no log of a known format") || !strings.Contains(errs, "claude-code") {
		t.Errorf("stderr: %s", errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Error("tables of nothing were written")
	}
	_, errs = stint(t, dir, 2, "ingest", "good.jsonl")
	if !strings.Contains(errs, "-o") {
		t.Errorf("stderr: %s", errs)
	}
}
