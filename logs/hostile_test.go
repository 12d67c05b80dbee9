package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// A packed log gives the rows of the unpacked one, whatever it is called.
func TestPackedLogs(t *testing.T) {
	t.Parallel()
	plain := sample(t, "codex-two-turns.jsonl")
	want, _ := readAll(t, map[string][]byte{"log": plain})
	for name, data := range map[string][]byte{"gzip": gzipped(t, plain), "zstd": zstded(t, plain)} {
		got, files := readAll(t, map[string][]byte{"log": data})
		if len(want) < 20 || cmp.Diff(want, got) != "" || files[0].Format != "codex" {
			t.Errorf("%s: %d records, want %d; taken for %q", name, len(got), len(want), files[0].Format)
		}
	}
}

// A line that is too long is told with its place and hash, costs no memory, and the next one is read. It runs alone,
// since what is allocated is counted for the whole process.
func TestLongLineOfLog(t *testing.T) {
	plain := string(sample(t, "codex-053.jsonl"))
	first, rest, _ := strings.Cut(plain, "\n")
	const long = 40 << 20
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	io.WriteString(w, first+"\n{\"type\":\"event_msg\",\"payload\":{\"message\":\"")
	for range long / 1024 {
		io.WriteString(w, strings.Repeat("x", 1024))
	}
	io.WriteString(w, "\"}}\n"+rest)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Open(ReaderOptions{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var bad []Problem
	var last *EventRow
	for r.Next() {
		if p := r.Record().Problem; p != nil {
			bad = append(bad, *p)
		}
		if e := r.Record().Event; e != nil {
			if e.Kind == EventUnreadable && (e.Length < long || len(e.SHA256) != 64) {
				t.Errorf("the long line has the place %+v and the hash %q", e.Place, e.SHA256)
			}
			last = e
		}
	}
	runtime.ReadMemStats(&after)
	if len(bad) != 1 || bad[0].Line != 2 || last == nil || last.Offset < long {
		t.Errorf("problems %v, last event %+v", bad, last)
	}
	if used := int64(after.TotalAlloc) - int64(before.TotalAlloc); used > 3*long {
		t.Errorf("%d bytes were allocated for a line of %d", used, long)
	}
}

// What unpacks to far more than it should is read up to there and told.
func TestUnpackLimit(t *testing.T) {
	t.Parallel()
	l := &unpackLimit{r: strings.NewReader(strings.Repeat("a", 100)), left: 10, most: 10}
	if _, err := io.ReadAll(l); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("error %v", err)
	}
}

// Bytes that are no text cost nothing but themselves, and are counted.
func TestInvalidUTF8InLog(t *testing.T) {
	t.Parallel()
	plain := sample(t, "codex-two-turns.jsonl")
	want, _ := readAll(t, map[string][]byte{"log": plain})
	got, files := readAll(t, map[string][]byte{"log": bytes.Replace(plain, []byte("server"), []byte("ser\xffer"), 1)})
	if len(got) != len(want) || files[0].InvalidUTF8 == 0 || files[0].Bad != 0 {
		t.Errorf("%d records, want %d; report %+v", len(got), len(want), files[0])
	}
}

// One session that is told by two files is one episode, and its tokens count once; so is one that was copied while it grew.
func TestOneSessionInSeveralFiles(t *testing.T) {
	t.Parallel()
	rollout := sample(t, "codex-two-turns.jsonl")
	id := "\"thread_id\":\"" + between2(string(rollout), `"id":"`, `"`) + "\""
	stream := []byte("{\"type\":\"thread.started\"," + id + "}\n{\"type\":\"turn.started\"}\n{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":9,\"output_tokens\":9}}\n")
	half := rollout[:bytes.LastIndexByte(rollout[:len(rollout)/2], '\n')+1]
	alone, _ := readAll(t, map[string][]byte{"rollout.jsonl": rollout})
	got, files := readAll(t, map[string][]byte{"a/rollout.jsonl": rollout, "b/out.txt": stream, "c/copy.jsonl": half, "c/empty.jsonl": nil, "c/stderr.txt": []byte("a word\n")})
	var tokens []int64
	for _, records := range [][]LogRecord{alone, got} {
		n := 0
		for _, r := range records {
			if r.Episode != nil {
				n++
				tokens = append(tokens, *r.Episode.Input)
			}
		}
		if n != 1 {
			t.Errorf("%d episodes", n)
		}
	}
	if len(tokens) != 2 || tokens[0] != tokens[1] {
		t.Errorf("tokens %v", tokens)
	}
	for _, f := range files {
		if f.Beside != (f.Path == "c/copy.jsonl" || f.Path == "c/stderr.txt") || f.Empty != (f.Path == "c/empty.jsonl") {
			t.Errorf("report %+v", f)
		}
	}
}

// between2 is what stands between two marks.
func between2(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

// Folders, patterns and standard input are read alike; a link inside of a folder is not followed.
func TestInputsOfLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := sample(t, "codex-053.jsonl")
	for _, name := range []string{"in/a/x.jsonl", "in/b/x.jsonl", "outside.jsonl"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		// Sessions of their own.
		if err := os.WriteFile(path, bytes.ReplaceAll(plain, []byte("test-ratelimit-session"), []byte("session of "+name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "outside.jsonl"), filepath.Join(dir, "in", "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		paths []string
		want  int
	}{
		{[]string{filepath.Join(dir, "in")}, 2},
		{[]string{filepath.Join(dir, "in", "*", "x.jsonl")}, 2},
		{[]string{filepath.Join(dir, "in", "link.jsonl")}, 1},
		{[]string{"-", filepath.Join(dir, "in", "a"), filepath.Join(dir, "in", "b")}, 3},
	} {
		r, err := Open(ReaderOptions{Stdin: bytes.NewReader(plain)}, c.paths...)
		if err != nil {
			t.Fatal(err)
		}
		res, err := IngestLogs(context.Background(), r, filepath.Join(t.TempDir(), "tables"), nil)
		r.Close()
		if err != nil || res.Episodes != c.want || len(res.Files) != c.want {
			t.Errorf("%v: %v, %+v", c.paths, err, res)
		}
		ids := map[string]bool{}
		for _, f := range res.Files {
			ids[f.Path] = true
		}
		if len(ids) != c.want {
			t.Errorf("%v: files %v", c.paths, ids)
		}
	}
	for _, missing := range []string{"nothing", "no*thing", os.DevNull} {
		if _, err := Open(ReaderOptions{}, filepath.Join(dir, missing)); err == nil && missing != os.DevNull {
			t.Errorf("%s can be opened", missing)
		}
	}
	if _, err := Open(ReaderOptions{Format: "no-such"}, dir); err == nil || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("error %v", err)
	}
}
