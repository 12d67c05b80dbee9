package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// tiny has four short episodes that need no process.
const tiny = `version: 1
name: tiny
seed: 7
scenarios: {count: 2, changes: 1}
configs:
  - {model: [weak, strong], harness: simulated, feedback: detailed, retries: 1}
models:
  weak: {simulate: weak, transport: inproc}
  strong: {simulate: strong, transport: inproc}
sandbox: none
`

// loaded writes a study file and reads it.
func loaded(t *testing.T, text string) *study.Study {
	t.Helper()
	path := filepath.Join(t.TempDir(), "study.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := study.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ran runs a study, or a shard of it, into a new folder.
func ran(t *testing.T, s *study.Study, opt study.RunOptions) *logs.RunDir {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = filepath.Join(t.TempDir(), "out")
	}
	if _, err := s.Run(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	return &logs.RunDir{Root: opt.Dir}
}

// finished is a run of tiny that all tests share and none changes.
func finished(t *testing.T) (*study.Study, *logs.RunDir) {
	t.Helper()
	once.Do(func() {
		dir, err := os.MkdirTemp("", "stint-fleet-")
		if err != nil {
			t.Fatal(err)
		}
		tempDir = dir
		ran(t, loaded(t, tiny), study.RunOptions{Dir: filepath.Join(dir, "whole")})
	})
	return loaded(t, tiny), &logs.RunDir{Root: filepath.Join(tempDir, "whole")}
}

var (
	once    sync.Once
	tempDir string // of the shared run
)

func TestMain(m *testing.M) {
	code := m.Run()
	if tempDir != "" {
		os.RemoveAll(tempDir)
	}
	os.Exit(code)
}

// clone copies a run directory, as a scheduler that runs a task twice would.
func clone(t *testing.T, d *logs.RunDir) *logs.RunDir {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(d.Root)); err != nil {
		t.Fatal(err)
	}
	return &logs.RunDir{Root: to}
}

func ids(t *testing.T, d *logs.RunDir) []string {
	t.Helper()
	list, err := d.Episodes()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func digest(t *testing.T, d *logs.RunDir) map[string]string {
	t.Helper()
	tables, problems, err := logs.ReadRun(d, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return logs.Digest(tables)
}

// edit changes a file, read-only ones too.
func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // a hard link must not carry the change elsewhere
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o444); err != nil {
		t.Fatal(err)
	}
}

func flip(b []byte) []byte {
	b[len(b)/2] ^= 0xff
	return b
}

// collectInto collects into a new folder.
func collectInto(t *testing.T, opt CollectOptions, sources ...*logs.RunDir) (*Collected, *logs.RunDir, error) {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = filepath.Join(t.TempDir(), "run")
	}
	for _, d := range sources {
		opt.Sources = append(opt.Sources, d.Root)
	}
	c, err := Collect(t.Context(), opt)
	return c, &logs.RunDir{Root: opt.Dir}, err
}

// TestDamagedCopies damages one copy of an episode in every way: it is refused by file name, and the good copy of
// another folder is taken in its place, or the episode is missing.
func TestDamagedCopies(t *testing.T) {
	t.Parallel()
	_, whole := finished(t)
	want := digest(t, whole)
	id := ids(t, whole)[0]
	journal := func(d *logs.RunDir) string { return filepath.Join(d.EpisodeDir(id), logs.JournalName) }
	blob := func(d *logs.RunDir) string {
		found, err := filepath.Glob(filepath.Join(d.EpisodeDir(id), "blobs", "*", "*.zst"))
		if err != nil || len(found) == 0 {
			t.Fatal(err, "no blobs")
		}
		return found[len(found)/2]
	}
	for _, tt := range []struct {
		name, says string
		damage     func(d *logs.RunDir)
	}{
		{"blob with other bytes", ".zst", func(d *logs.RunDir) { edit(t, blob(d), flip) }},
		{"blob cut short", ".zst", func(d *logs.RunDir) { edit(t, blob(d), func(b []byte) []byte { return b[:len(b)/2] }) }},
		{"blob missing", "is not in the store", func(d *logs.RunDir) {
			if err := os.Remove(blob(d)); err != nil {
				t.Fatal(err)
			}
		}},
		{"blob a link", ".zst", func(d *logs.RunDir) {
			path := blob(d)
			if err := errors.Join(os.Rename(path, d.Root+"/elsewhere"), os.Symlink(d.Root+"/elsewhere", path)); err != nil {
				t.Fatal(err)
			}
		}},
		{"journal with other bytes", "journal.jsonl is damaged at line", func(d *logs.RunDir) { edit(t, journal(d), flip) }},
		{"journal of another version", "record has version 2", func(d *logs.RunDir) {
			edit(t, journal(d), func(b []byte) []byte {
				first, rest, _ := bytes.Cut(b, []byte("\n"))
				data, _, _ := bytes.Cut(bytes.Replace(first, []byte(`{"v":1,`), []byte(`{"v":2,`), 1), []byte(`,"chain":"`))
				return fmt.Appendf(nil, "%s,\"chain\":\"%s\"}\n%s", data, hashOf(append([]byte(id), data...)), rest)
			})
		}},
		{"journal of another episode", "it belongs to the episode", func(d *logs.RunDir) {
			b, err := os.ReadFile(filepath.Join(d.EpisodeDir(ids(t, d)[1]), logs.JournalName))
			if err != nil {
				t.Fatal(err)
			}
			edit(t, journal(d), func([]byte) []byte { return b })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := clone(t, whole)
			tt.damage(bad)
			c, run, err := collectInto(t, CollectOptions{}, bad)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Refused) != 1 || !strings.Contains(c.Refused[0].Error(), bad.EpisodeDir(id)) || !strings.Contains(c.Refused[0].Error(), tt.says) {
				t.Errorf("refused: %v, want one with %q", c.Refused, tt.says)
			}
			if len(c.Missing) != 1 || c.Missing[0].ID != id || c.Valid != 3 || slices.Contains(ids(t, run), id) {
				t.Errorf("missing %v, %d valid, there are %v", c.Missing, c.Valid, ids(t, run))
			}
			c, _, err = collectInto(t, CollectOptions{Dir: run.Root}, bad, whole)
			if err != nil {
				t.Fatal(err)
			}
			if c.Added != 1 || c.Kept != 3 || len(c.Missing) != 0 || len(c.Refused) != 1 {
				t.Errorf("with a good copy: %+v", c)
			}
			if diff := cmp.Diff(want, digest(t, run)); diff != "" {
				t.Errorf("digests differ (-local +collected):\n%s", diff)
			}
		})
	}
}

// TestForeignFolders are refused as a whole, by file name, and nothing is written.
func TestForeignFolders(t *testing.T) {
	t.Parallel()
	s, whole := finished(t)
	for _, tt := range []struct {
		name, file, says string
		change           func(d *logs.RunDir)
	}{
		{"another study", "study.yaml", "another study", func(d *logs.RunDir) {
			edit(t, d.StudyFile(), func(b []byte) []byte { return append(b, "# more\n"...) })
		}},
		{"other prices", "prices.yaml", "another study", func(d *logs.RunDir) {
			edit(t, d.PricesFile(), func(b []byte) []byte { return append(b, "# more\n"...) })
		}},
		{"another scenario", "scenarios/s02.json", "the scenario has the content", func(d *logs.RunDir) {
			contents, err := s.Contents(d)
			if err != nil {
				t.Fatal(err)
			}
			edit(t, filepath.Join(d.ScenariosDir(), "s02.json"), func(b []byte) []byte {
				return bytes.ReplaceAll(b, []byte(contents[1]), []byte(strings.Repeat("0", 64)))
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := clone(t, whole)
			tt.change(other)
			_, run, err := collectInto(t, CollectOptions{}, whole, other)
			var bad *study.InputError
			if !errors.As(err, &bad) || bad.File != filepath.Join(other.Root, tt.file) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is %v", err)
			}
			if _, err := os.Stat(run.Root); !os.IsNotExist(err) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
	hostile := clone(t, whole)
	if err := errors.Join(os.Remove(hostile.PricesFile()), os.Symlink("/dev/zero", hostile.PricesFile())); err != nil {
		t.Fatal(err)
	}
	if _, _, err := collectInto(t, CollectOptions{}, hostile); err == nil || !strings.Contains(err.Error(), "no file that stint wrote") {
		t.Errorf("a single folder with a link for prices: %v", err)
	}
	other := ran(t, s, study.RunOptions{Version: "v9", Only: "model:weak scenario:s01"})
	_, run, err := collectInto(t, CollectOptions{}, whole, other)
	var bad *study.InputError
	if !errors.As(err, &bad) || !strings.HasPrefix(bad.File, other.Root) || !strings.Contains(err.Error(), "by stint v9") {
		t.Errorf("another version of stint: %v", err)
	}
	if _, err := os.Stat(run.Root); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
	if c, _, err := collectInto(t, CollectOptions{AnyVersion: true}, whole, other); err != nil || c.Valid != 4 || len(c.Wasted) != 1 {
		t.Errorf("any version: %+v, %v", c, err)
	}
	if _, _, err := collectInto(t, CollectOptions{Dir: whole.Root}, whole); !errors.As(err, &bad) {
		t.Errorf("a folder collected into itself: %v", err)
	}
	strange := clone(t, whole)
	if err := os.Rename(strange.EpisodeDir(ids(t, strange)[0]), strange.EpisodeDir("0123456789ab")); err != nil {
		t.Fatal(err)
	}
	if c, _, err := collectInto(t, CollectOptions{}, strange); err != nil || len(c.Refused) != 1 || !strings.Contains(c.Refused[0].Error(), "0123456789ab") || len(c.Missing) != 1 {
		t.Errorf("an episode of no study: %+v, %v", c, err)
	}
}

// TestForks lets an unfinished episode go on in two places. The one that ends is taken, the other is kept beside, and
// what it cost beyond their common beginning is wasted.
func TestForks(t *testing.T) {
	t.Parallel()
	s, whole := finished(t)
	begun := clone(t, whole)
	id, at := longest(t, begun)
	journal := filepath.Join(begun.EpisodeDir(id), logs.JournalName)
	records, _, err := logs.ReadJournal(journal)
	if err != nil {
		t.Fatal(err)
	}
	torn := records[at].Offset + records[at].Length + 20 // in the middle of a line
	edit(t, journal, func(b []byte) []byte { return b[:torn] })

	c, run, err := collectInto(t, CollectOptions{}, begun)
	if err != nil || len(c.Missing) != 1 || !c.Missing[0].Begun || c.Added != 4 || c.Valid != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	fork := ran(t, s, study.RunOptions{Dir: clone(t, run).Root}) // ends later than whole did
	c, _, err = collectInto(t, CollectOptions{Dir: run.Root}, fork)
	if err != nil || c.Grown != 1 || c.Kept != 3 || len(c.Wasted) != 0 || c.Valid != 4 {
		t.Fatalf("what goes on from a journal replaces it and wastes nothing: %+v, %v", c, err)
	}
	if diff := cmp.Diff(digest(t, whole), digest(t, run)); diff != "" {
		t.Errorf("digests differ:\n%s", diff)
	}

	c, both, err := collectInto(t, CollectOptions{}, fork, whole, begun)
	if err != nil || len(c.Wasted) != 1 || c.Wasted[0].Episode != id || c.Wasted[0].Path != filepath.Join(fork.EpisodeDir(id), logs.JournalName) {
		t.Fatalf("%+v, %v", c, err)
	}
	forked, _, err := logs.ReadJournal(filepath.Join(fork.EpisodeDir(id), logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	tokens, _, err := logs.CostOf(forked[at+1:])
	if err != nil || tokens == nil || *tokens == 0 || c.Wasted[0].Tokens == nil || *c.Wasted[0].Tokens != *tokens {
		t.Errorf("wasted %v, want %v beyond record %d (%v)", c.Wasted[0].Tokens, tokens, at, err)
	}
	tables, problems, err := logs.ReadRun(both, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for _, e := range tables.Episodes {
		if want := map[bool]int64{true: *tokens}[e.Episode == id]; e.WastedTokens == nil || *e.WastedTokens != want {
			t.Errorf("episode %s has wasted_tokens %v, want %d", e.Episode, e.WastedTokens, want)
		}
	}
	if c, _, err = collectInto(t, CollectOptions{Dir: both.Root}, begun, fork, whole); err != nil || len(c.Wasted) != 0 || c.Kept != 4 {
		t.Errorf("collecting again: %+v, %v", c, err)
	}
}

// longest finds the episode with the most records, and the record with which its first attempt was fully counted.
func longest(t *testing.T, d *logs.RunDir) (id string, at int) {
	t.Helper()
	most := 0
	for _, one := range ids(t, d) {
		records, _, err := logs.ReadJournal(filepath.Join(d.EpisodeDir(one), logs.JournalName))
		if err != nil {
			t.Fatal(err)
		}
		if len(records) > most {
			id, most = one, len(records)
			at = slices.IndexFunc(records, func(r logs.Record) bool { return r.Type == logs.TypeTurnEnd })
		}
	}
	return id, at
}

// TestInterruptedCollection: what a collection that was killed left is cleared or put back, and one that is cancelled
// leaves nothing.
func TestInterruptedCollection(t *testing.T) {
	t.Parallel()
	_, whole := finished(t)
	run := &logs.RunDir{Root: filepath.Join(t.TempDir(), "run")}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Collect(ctx, CollectOptions{Sources: []string{whole.Root}, Dir: run.Root, Progress: func(done, _ int) {
		if done == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	for _, id := range ids(t, run) {
		if _, torn, err := logs.ReadJournal(filepath.Join(run.EpisodeDir(id), logs.JournalName)); err != nil || torn != nil {
			t.Errorf("%s is half there: %v, %v", id, err, torn)
		}
	}
	c, _, err := collectInto(t, CollectOptions{Dir: run.Root}, whole)
	if err != nil || c.Added+c.Kept != 4 || c.Kept < 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	// Killed between the two renames, and while a folder was prepared.
	first := ids(t, run)[0]
	former, coming := filepath.Join(run.EpisodesDir(), formerPrefix+first), filepath.Join(run.EpisodesDir(), comingPrefix+"0123456789ab")
	if err := errors.Join(os.Rename(run.EpisodeDir(first), former), os.Mkdir(coming, 0o755)); err != nil {
		t.Fatal(err)
	}
	c, _, err = collectInto(t, CollectOptions{Dir: run.Root}, whole)
	if err != nil || len(c.Missing) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	left, err := os.ReadDir(run.EpisodesDir())
	if err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
	if diff := cmp.Diff(digest(t, whole), digest(t, run)); diff != "" {
		t.Errorf("digests differ:\n%s", diff)
	}
}

// TestRule takes one of several copies, whatever their order.
func TestRule(t *testing.T) {
	t.Parallel()
	// A copy is written as chains of records, its rank and the minute of its last record.
	copyOf := func(chains string, r rank, minute int, own bool) *journalCopy {
		j := &journalCopy{rank: r, own: own, dir: chains}
		for _, c := range chains {
			j.records = append(j.records, logs.Record{Chain: string(c), TWall: fmt.Sprintf("2026-11-30T02:%02d:00.000Z", minute)})
		}
		return j
	}
	for _, tt := range []struct {
		name   string
		want   string
		copies []*journalCopy
	}{
		{"finished before unfinished", "ab", []*journalCopy{copyOf("ab", rankValid, 9, false), copyOf("xyzuvw", rankOpen, 1, false)}},
		{"finished before stopped", "ab", []*journalCopy{copyOf("ab", rankValid, 9, false), copyOf("xy", rankStopped, 1, false)}},
		{"the earlier end", "xy", []*journalCopy{copyOf("ab", rankValid, 9, false), copyOf("xy", rankValid, 8, false)}},
		{"the smaller chain", "ab", []*journalCopy{copyOf("ab", rankValid, 9, false), copyOf("xy", rankValid, 9, false)}},
		{"what the run has stays", "xy", []*journalCopy{copyOf("ab", rankValid, 1, false), copyOf("xy", rankValid, 9, true)}},
		{"a stopped one that the run has does not", "ab", []*journalCopy{copyOf("ab", rankValid, 9, false), copyOf("xy", rankStopped, 1, true)}},
		{"the longer of two open ones", "xyz", []*journalCopy{copyOf("ab", rankOpen, 1, false), copyOf("xyz", rankOpen, 9, false)}},
		{"one that goes on comes before its beginning", "abc", []*journalCopy{copyOf("ab", rankStopped, 1, false), copyOf("abc", rankOpen, 9, false)}},
		{"and takes its place among the others", "xy", []*journalCopy{copyOf("ab", rankStopped, 1, false), copyOf("abc", rankOpen, 9, false), copyOf("xy", rankStopped, 2, false)}},
		{"the run's own of two that are equal", "ab", []*journalCopy{copyOf("ab", rankOpen, 1, false), copyOf("ab", rankOpen, 1, true)}},
	} {
		for range len(tt.copies) {
			tt.copies = append(tt.copies[1:], tt.copies[0])
			if got := sorted(slices.Clone(tt.copies))[0]; got.dir != tt.want || strings.HasPrefix(tt.name, "the run's own") && !got.own {
				t.Errorf("%s: takes %s, want %s", tt.name, got.dir, tt.want)
			}
		}
	}
}

// TestCollectedBlobs: everything that an episode's folder needs is taken over.
func TestCollectedBlobs(t *testing.T) {
	t.Parallel()
	_, whole := finished(t)
	_, run, err := collectInto(t, CollectOptions{}, whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(filesOf(t, whole.EpisodesDir()), filesOf(t, run.EpisodesDir())); diff != "" {
		t.Errorf("episodes differ (-ran +collected):\n%s", diff)
	}
}

// filesOf reads all files below a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := filepath.Glob(filepath.Join(globQuote(dir), "*", "*"))
	blobs, err2 := filepath.Glob(filepath.Join(globQuote(dir), "*", "blobs", "*", "*"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(names, blobs) {
		if st, err := os.Stat(name); err != nil || st.IsDir() {
			continue
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[rel] = hashOf(b)
	}
	if len(out) < 20 {
		t.Fatalf("only %d files below %s", len(out), dir)
	}
	return out
}
