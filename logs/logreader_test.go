package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// readAll reads files given by name.
func readAll(t *testing.T, files map[string][]byte) ([]LogRecord, []FileReport) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data}
	}
	r, err := Open(ReaderOptions{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []LogRecord
	for r.Next() {
		out = append(out, r.Record())
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out, r.Files()
}

// Every fixture is recognised by its content alone, and by one format only.
func TestRecognisePrograms(t *testing.T) {
	t.Parallel()
	of := map[string]string{"claude": "claude-code", "codex": "codex", "kimicli": "kimi-cli", "kimicode": "kimi-code", "mini": "mini-swe",
		"opencode": "opencode", "openhands": "openhands", "qwen": "qwen-code", "vibe": "vibe", "vibe2": "vibe"}
	plain := map[string]bool{"kimicli-provider-429.txt": true, "kimicli-unknown-tool.txt": true, "vibe-provider-error-429.log": true, "mini-v1-list.json": true}
	files, err := filepath.Glob(filepath.Join("testdata", "program", "*-*"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prefix, _, _ := strings.Cut(filepath.Base(file), "-")
		want := of[prefix]
		if plain[filepath.Base(file)] {
			continue
		}
		h := newHead("a-file", data[:min(len(data), headBytes)], len(data) <= headBytes)
		if strings.HasSuffix(file, ".json") {
			h.path = "a-file.json"
		}
		var claimed []string
		for _, f := range Formats() {
			if _, ok := f.recognise(h); ok {
				claimed = append(claimed, f.Name)
			}
		}
		if len(claimed) != 1 || claimed[0] != want {
			t.Errorf("%s: taken for %v, want %s", file, claimed, want)
		}
	}
}
