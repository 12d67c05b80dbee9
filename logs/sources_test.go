package logs

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sourceEpisode = "0123456789ab"

func TestRunSources(t *testing.T) {
	dir := t.TempDir()
	blobs := filepath.Join(dir, "episodes", sourceEpisode, "blobs")
	b, err := OpenBlobs(blobs)
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	sha, err := b.Put(content)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "episodes", sourceEpisode, JournalName), "one\ntwo\n", 0o644)
	mustWrite(t, filepath.Join(dir, "episodes", sourceEpisode, "truth"), "sealed", 0o644)
	mustWrite(t, filepath.Join(dir, "verdicts", "rules.jsonl"), "{}\n", 0o644)
	mustWrite(t, filepath.Join(dir, "secret"), "s", 0o644)
	journal := path.Join("episodes", sourceEpisode, JournalName)
	s := RunSources(&RunDir{Root: dir})

	read := func(file string, offset int64, most int) string {
		t.Helper()
		f, err := s.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := f.Range(offset, most)
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	blob := path.Join("episodes", sourceEpisode, "blobs", sha[:2], sha[2:]+".zst")
	for _, c := range []struct {
		file   string
		offset int64
		most   int
		want   string
	}{
		{journal, 4, 3, "two"}, {journal, 4, 99, "two\n"}, {journal, 99, 3, ""}, {"verdicts/rules.jsonl", 0, 9, "{}\n"},
		{blob, 500_003, 4, "3456"}, {blob, 999_998, 9, "89"}, {blob, 2_000_000, 9, ""},
	} {
		if got := read(c.file, c.offset, c.most); got != c.want {
			t.Errorf("%s from %d: %q, want %q", c.file, c.offset, got, c.want)
		}
	}
	f, err := s.Open(blob)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{10, 25, 3, 900_001} { // on, on, back, far on
		if p, err := f.Range(at, 2); err != nil || !bytes.Equal(p, content[at:at+2]) {
			t.Errorf("range at %d: %q (%v)", at, p, err)
		}
	}

	link := strings.Repeat("a", 62) + ".zst"
	if err := os.MkdirAll(filepath.Join(blobs, "aa"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(blobs, "aa", link)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "episodes", sourceEpisode), filepath.Join(dir, "episodes", "ba9876543210")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		"secret", "episodes/" + sourceEpisode + "/truth", "../" + filepath.Base(dir) + "/secret", "/etc/passwd", "", ".", "episodes/" + sourceEpisode,
		"episodes/../secret", "verdicts/../secret", "episodes/" + sourceEpisode + "/blobs/../../../secret", "episodes/ba9876543210/" + JournalName,
		"episodes/" + sourceEpisode + "/blobs/aa/" + link, "verdicts/people.jsonl", `episodes\` + sourceEpisode + `\truth`, "episodes/" + sourceEpisode + "//" + JournalName,
	} {
		var known *SourceError
		if f, err := s.Open(file); !errors.As(err, &known) {
			t.Errorf("%q was opened (%v, %v)", file, f, err)
		}
	}
}

func TestLogSources(t *testing.T) {
	dir := t.TempDir()
	zipped, packed := filepath.Join(dir, "in", "a.eval"), filepath.Join(dir, "in", "b!c.jsonl.gz")
	var z, g bytes.Buffer
	zw := zip.NewWriter(&z)
	w, err := zw.Create("samples/1.json")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "0123456789")
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	gw := gzip.NewWriter(&g)
	fmt.Fprint(gw, "abcdefghij")
	if err := gw.Close(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, zipped, z.String(), 0o644)
	mustWrite(t, packed, g.String(), 0o644)
	mustWrite(t, filepath.Join(dir, "in", "other"), "not read", 0o644)
	if err := os.Symlink(filepath.Join(dir, "in", "other"), filepath.Join(dir, "in", "link")); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "t", "files.json"), `{"files":[{"path":"in/a.eval"},{"path":"in/b!c.jsonl.gz"},{"path":"in/gone"},{"path":"in/link"}]}`, 0o644)
	s := LogSources(filepath.Join(dir, "t"), filepath.Join(dir, "t"), dir)
	for file, want := range map[string]string{"in/a.eval!samples/1.json": "345", "in/b!c.jsonl.gz": "def"} {
		f, err := s.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := f.Range(3, 3); err != nil || string(p) != want {
			t.Errorf("%s: %q (%v), want %q", file, p, err, want)
		}
		f.Close()
	}
	for file, gone := range map[string]bool{"in/gone": true, "in/other": false, "in/link": false, "in/a.eval!samples/2.json": true, "in/other!x": false, "../t/files.json": false, "-": false} {
		var known *SourceError
		if _, err := s.Open(file); !errors.As(err, &known) || known.Gone != gone {
			t.Errorf("%s: %v, want an error with gone = %v", file, err, gone)
		}
	}
}

// TestLogSourcesOfRuns opens what rows point into after runs were read as logs among others.
func TestLogSourcesOfRuns(t *testing.T) {
	dir := t.TempDir()
	var blob string
	for _, run := range []string{"a/run/episodes/" + sourceEpisode, "b"} {
		b, err := OpenBlobs(filepath.Join(dir, run, "blobs"))
		if err != nil {
			t.Fatal(err)
		}
		sha, err := b.Put([]byte("content"))
		if err != nil {
			t.Fatal(err)
		}
		blob = "/blobs/" + sha[:2] + "/" + sha[2:] + ".zst"
		mustWrite(t, filepath.Join(dir, run, JournalName), "journal", 0o644)
		mustWrite(t, filepath.Join(dir, run, "truth"), "sealed", 0o644)
	}
	if err := os.Symlink(filepath.Join(dir, "b"), filepath.Join(dir, "a/run/episodes/ba9876543210")); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "t", "files.json"), `{"files":[{"path":"a/run"},{"path":"b/journal.jsonl"}]}`, 0o644)
	s := LogSources(filepath.Join(dir, "t"), dir)
	in := "a/run/episodes/" + sourceEpisode
	for file, want := range map[string]string{in + "/" + JournalName: "journal", in + blob: "content", "b/" + JournalName: "journal", "b" + blob: "content"} {
		f, err := s.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := f.Range(0, 99); err != nil || string(p) != want {
			t.Errorf("%s: %q (%v), want %q", file, p, err, want)
		}
		f.Close()
	}
	for _, file := range []string{in + "/truth", "b/truth", "b/blobs/../truth", "a/run", "a/run/episodes/../../../b/truth", "a/run/episodes/ba9876543210/" + JournalName, "a/run/episodes/ba9876543210" + blob, "a" + blob} {
		var known *SourceError
		if _, err := s.Open(file); !errors.As(err, &known) {
			t.Errorf("%s was opened (%v)", file, err)
		}
	}
}

func TestTreeChanges(t *testing.T) {
	b, dir := openBlobs(t), t.TempDir()
	take := func() string {
		t.Helper()
		snap, err := TakeSnapshot(b, dir, SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return snap.Tree
	}
	mustWrite(t, filepath.Join(dir, "a"), "one\n", 0o644)
	mustWrite(t, filepath.Join(dir, "run.sh"), "x\n", 0o644)
	mustWrite(t, filepath.Join(dir, "node_modules/m.js"), "m", 0o644)
	t0 := take()
	mustWrite(t, filepath.Join(dir, "node_modules/m.js"), "n", 0o644)
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "sub/new"), strings.Repeat("n", 5000), 0o644)
	t1 := take()
	changes, more, err := TreeChanges(b, t0, t1, 10)
	if err != nil || more {
		t.Fatal(more, err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s → %s", c.Path, shownFile(c.Before), shownFile(c.After)))
	}
	want := []string{"a 4 → /etc/passwd", "run.sh 2 → 2x", "sub/new none → 5000"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	p, err := b.Beginning(changes[2].After.SHA, 7)
	if err != nil || string(p) != "nnnnnnn" {
		t.Errorf("beginning %q (%v)", p, err)
	}
	if p, err = b.Beginning(changes[0].Before.SHA, 4); err != nil || string(p) != "one\n" {
		t.Errorf("whole %q (%v)", p, err)
	}
	if changes, more, err = TreeChanges(b, "", t1, 1); err != nil || !more || len(changes) != 1 {
		t.Errorf("%d changes, more %v (%v)", len(changes), more, err)
	}
}

func shownFile(f *TreeFile) string {
	switch {
	case f == nil:
		return "none"
	case f.Link != "":
		return f.Link
	case f.Executable:
		return fmt.Sprint(f.Bytes, "x")
	}
	return fmt.Sprint(f.Bytes)
}
