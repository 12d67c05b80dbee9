package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLogsOfManyFiles keeps of a log that is one file an event what the attempt wrote, in the order of the names.
func TestLogsOfManyFiles(t *testing.T) {
	t.Parallel()
	f := parsed(t, strings.Replace(testFile, "new: true}", `new: true, optional: true}
  - {name: events.jsonl, path: '.tested/{{replace .Session "-" ""}}/event-*.json', each: true, new: true}`, 1))
	dir, outside := t.TempDir(), t.TempDir()
	events := filepath.Join(dir, ".tested", "s1")
	if err := os.MkdirAll(events, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) { writeAt(t, filepath.Join(events, name), text) }
	write("event-0.json", `{"turn": 0}`)
	write("event-1.json", "{\"grows\": 1}\n")
	h, err := openHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	w := &work{program: &program{opt: ProgramOptions{File: f}}, home: h, since: time.Now(), values: Values{Session: "s-1"}}
	if err := h.prepare(f, &w.values, true); err != nil {
		t.Fatal(err)
	}
	log := f.Logs[1]
	if err := w.files(log); err == nil || len(w.logs) > 0 {
		t.Errorf("a log of the turn before was kept: %v", err)
	}
	if w.keep(t.Context()); string(w.log("not_kept")) != "events.jsonl: the program did not write it\n" {
		t.Errorf("not kept: %q", w.log("not_kept"))
	}
	w.logs = nil
	write("event-1.json", "{\"grows\": 1}\n{\"grows\": 2}\n{\"grows\": 3}")
	write("event-3.json", "{\n \"last\": [1,\n 2]\n}\n")
	write("event-2.json", "{\"torn\": ")
	writeAt(t, filepath.Join(outside, "secret"), "secret")
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(events, "event-4.json")); err != nil {
		t.Fatal(err)
	}
	if err := w.files(log); err != nil {
		t.Fatal(err)
	}
	if got, want := string(w.log("events.jsonl")), "{\"grows\": 2}\n{\"grows\": 3}\n{\"torn\": \n{\"last\":[1,2]}\n"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
	// Of too much the end is kept.
	big := strings.Repeat("x", maxKeptLog)
	write("event-2.json", big)
	w.logs = nil
	if err := w.files(log); err != nil {
		t.Fatal(err)
	}
	if kept := w.logs[0]; !strings.HasSuffix(string(kept.Data), "x\n{\"last\":[1,2]}\n") || len(kept.Data) > maxKeptLog+2 || kept.LeftOut < 20 {
		t.Errorf("kept %d bytes, left out %d", len(kept.Data), kept.LeftOut)
	}
}

func writeAt(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
