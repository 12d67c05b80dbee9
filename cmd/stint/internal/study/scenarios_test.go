package study

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// libraryOf opens the library of a study in an empty directory.
func libraryOf(t *testing.T, text, dir string) *library {
	t.Helper()
	l, err := openLibrary(mustParse(t, text), &logs.RunDir{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestScenarioFiles(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := libraryOf(t, small, dir).record(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"s01.json", "s02.json", "s03.json", "s04.json"} {
		a, err := os.ReadFile(filepath.Join(one, "scenarios", name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two, "scenarios", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s is not the same twice", name)
		}
		var f suite.File
		if err := json.Unmarshal(a, &f); err != nil {
			t.Fatal(err)
		}
		if f.Name+".json" != name || f.Changes != 1 || len(f.Turns) != 2 || f.Turns[0].Operation != "build" || f.Turns[1].Checks == 0 || len(f.Turns[1].Suite) != 64 || len(f.Versions) != 3 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// More scenarios leave the earlier ones as they are.
func TestScenariosAreStable(t *testing.T) {
	t.Parallel()
	dir, more := t.TempDir(), t.TempDir()
	few, many := libraryOf(t, small, dir), libraryOf(t, strings.Replace(small, "count: 4", "count: 6", 1), more)
	for _, l := range []*library{few, many} {
		if err := l.record(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		if few.content(i) != many.content(i) {
			t.Errorf("scenario %d has other content in a larger set", i)
		}
	}
}

// A recorded scenario that this stint no longer generates stops the run, with both hashes and versions.
func TestScenarioMismatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := start(t, dir, small, &fakeLoop{}, RunOptions{Only: "scenario:s01"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "scenarios", "s03.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f suite.File
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	real := f.Content
	f.Content, f.Versions["suite"] = strings.Repeat("0", 64), "0"
	if b, err = json.Marshal(f); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = start(t, dir, small, &fakeLoop{}, RunOptions{})
	var mismatch *suite.ContentError
	if !errors.As(err, &mismatch) {
		t.Fatalf("error %v, want a *suite.ContentError", err)
	}
	for _, want := range []string{path, "000000000000", real[:12], "suite 0", "suite " + suite.Version} {
		if !strings.Contains(mismatch.Error(), want) {
			t.Errorf("%q does not say %q", mismatch.Error(), want)
		}
	}
}

// The shelf keeps what is in use and forgets the rest beyond its room.
func TestShelfForgets(t *testing.T) {
	t.Parallel()
	l := libraryOf(t, small, t.TempDir())
	if err := l.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, release, err := l.use(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		l.shelf[i].m.bytes = shelfBytes/2 + 1
	}
	_, done, err := l.use(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	done()
	if l.shelf[0] == nil || l.shelf[1] == nil || l.shelf[2] != nil || l.shelf[3] != nil {
		t.Errorf("shelf %v; 0 is in use, 1 was used last", l.shelf)
	}
	again, release2, err := l.use(t.Context(), 2)
	if err != nil || again.Content != l.content(2) || m.Content != l.content(0) {
		t.Errorf("made again: %v", err)
	}
	release2()
	release()
}

// BenchmarkGenerate makes the scenarios of the demo: eight of a build and twelve changes.
func BenchmarkGenerate(b *testing.B) {
	s, err := Parse("demo", DemoStudy(1))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l, err := openLibrary(s, &logs.RunDir{Root: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.record(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
