package logs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testEpisode = "3f2a9c01b7de"

// tick is a clock that moves 10 ms with every look at it.
func tick() func() time.Time {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(10 * time.Millisecond)
		return now
	}
}

func ptr[T any](v T) *T { return &v }

// writeJournal writes a small journal and returns its file.
func writeJournal(t testing.TB, dir string) string {
	t.Helper()
	j, records, err := OpenJournal(dir, testEpisode, JournalOptions{Now: tick()})
	if err != nil || len(records) != 0 {
		t.Fatal(records, err)
	}
	defer j.Close()
	for _, r := range []struct {
		typ  string
		turn *int
		data any
		sync bool
	}{
		{TypeEpisodeStart, nil, EpisodeStart{Study: "a <b> \u2028 \x01", Config: "m+h/none/r0"}, true},
		{TypeResume, nil, Resume{Epoch: 1, Host: "h", PID: 1}, false},
		{TypeTurnStart, ptr(0), TurnStart{Name: "build"}, false},
		{TypeAttemptStart, ptr(0), AttemptStart{Kind: "first"}, true},
		{TypeUsage, ptr(0), Usage{Via: "reader", In: ptr(int64(3))}, false},
	} {
		var attempt *int
		if r.typ == TypeAttemptStart || r.typ == TypeUsage {
			attempt = ptr(0)
		}
		if err := j.Append(r.typ, r.turn, attempt, r.data, r.sync); err != nil {
			t.Fatal(err)
		}
	}
	return j.Path()
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestJournalRoundTrip(t *testing.T) {
	path := writeJournal(t, t.TempDir())
	raw := readFile(t, path)
	first, _, _ := strings.Cut(string(raw), "\n")
	for _, want := range []string{`{"v":1,"seq":0,"t_wall":"2026-11-29T12:00:00.020Z","t_mono":0.01,"episode":"3f2a9c01b7de","turn":null,"attempt":null,"type":"episode.start","data":{`, `"study":"a <b> `} {
		if !strings.Contains(first, want) {
			t.Errorf("line %q does not hold %q", first, want)
		}
	}
	records, torn, err := ReadJournal(path)
	if err != nil || torn != nil || len(records) != 5 {
		t.Fatalf("%d records, torn %v, %v", len(records), torn, err)
	}
	var end int64
	for i, r := range records {
		if r.Seq != int64(i) || r.Offset != end || raw[r.Offset+r.Length-1] != '\n' {
			t.Errorf("record %d: seq %d, offset %d, length %d", i, r.Seq, r.Offset, r.Length)
		}
		end += r.Length
	}
	u, err := Decode[Usage](records[4])
	if diff := cmp.Diff(Usage{Via: "reader", In: ptr(int64(3))}, u); err != nil || diff != "" {
		t.Errorf("usage: %v\n%s", err, diff)
	}
	// The chain, computed here anew: SHA-256 over the last chain and the line before the comma of its own.
	prev := testEpisode
	for i, r := range records {
		line, _, _ := strings.Cut(string(raw[r.Offset:r.Offset+r.Length]), `,"chain":"`)
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(prev+line))); r.Chain != want {
			t.Errorf("record %d has chain %s, want %s", i, r.Chain, want)
		}
		prev = r.Chain
	}
	if *records[4].Turn != 0 || *records[4].Attempt != 0 || records[2].Attempt != nil {
		t.Error("turn or attempt got lost")
	}
}

// TestJournalTornAnywhere cuts the file at many places: what was whole stays, the rest is kept
// aside, and the journal goes on.
func TestJournalTornAnywhere(t *testing.T) {
	raw := readFile(t, writeJournal(t, t.TempDir()))
	for cut := 0; cut < len(raw); cut += 17 {
		dir := t.TempDir()
		path := filepath.Join(dir, JournalName)
		if err := os.WriteFile(path, raw[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		whole := bytes.Count(raw[:cut], []byte("\n"))
		end := bytes.LastIndexByte(raw[:cut], '\n') + 1
		read, torn, err := ReadJournal(path)
		if err != nil || len(read) != whole || (torn != nil) != (end < cut) {
			t.Fatalf("cut at %d: %d records, torn %v, %v", cut, len(read), torn, err)
		}
		j, records, err := OpenJournal(dir, testEpisode, JournalOptions{Sync: func(*os.File) error { return nil }})
		if err != nil || len(records) != whole {
			t.Fatalf("cut at %d: %d records, %v", cut, len(records), err)
		}
		if err := j.Append(TypeResume, nil, nil, Resume{Epoch: 2}, false); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if after, torn, err := ReadJournal(path); err != nil || torn != nil || len(after) != whole+1 {
			t.Fatalf("cut at %d: after the repair %d records, torn %v, %v", cut, len(after), torn, err)
		}
		if end < cut {
			if kept := readFile(t, filepath.Join(dir, TornName)); !bytes.Equal(kept, raw[end:cut]) {
				t.Fatalf("cut at %d: kept %q", cut, kept)
			}
		}
	}
}

// TestJournalRepairLosesNothing makes the copy of a torn tail fail: then nothing may be cut.
func TestJournalRepairLosesNothing(t *testing.T) {
	dir := t.TempDir()
	path := writeJournal(t, dir)
	raw := readFile(t, path)[:700]
	mustWrite(t, path, string(raw), 0o644)
	_, _, err := OpenJournal(dir, testEpisode, JournalOptions{Sync: func(f *os.File) error {
		if filepath.Base(f.Name()) == TornName {
			return syscall.ENOSPC
		}
		return nil
	}})
	if !errors.Is(err, syscall.ENOSPC) || !bytes.Equal(readFile(t, path), raw) {
		t.Errorf("%v; the journal has %d bytes, want %d", err, len(readFile(t, path)), len(raw))
	}
}

func TestJournalDamage(t *testing.T) {
	raw := readFile(t, writeJournal(t, t.TempDir()))
	lines := bytes.SplitAfter(raw, []byte("\n"))
	join := func(order ...int) []byte {
		var b []byte
		for _, i := range order {
			b = append(b, lines[i]...)
		}
		return b
	}
	flip := func(at int) []byte {
		b := bytes.Clone(raw)
		b[at] ^= 1
		return b
	}
	hole := bytes.Clone(raw)
	clear(hole[len(lines[0])+20 : len(lines[0])+40])
	second := len(lines[0])
	for _, c := range []struct {
		name string
		raw  []byte
		line int
		at   int
	}{
		{"changed", flip(second + bytes.Index(lines[1], []byte(`"host":"h`)) + 9), 2, second},
		{"changed chain", flip(second + len(lines[1]) - 10), 2, second},
		{"lost", join(0, 2, 3, 4), 2, second},
		{"reordered", join(0, 2, 1, 3, 4), 2, second},
		{"twice", join(0, 0, 1, 2, 3, 4), 2, second},
		{"hole before a synced record", hole, 2, second},
		{"first lost", join(1, 2, 3, 4), 1, 0},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, JournalName)
		if err := os.WriteFile(path, c.raw, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadJournal(path)
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.Line != c.line || damage.Offset != int64(c.at) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("line %d, byte %d", c.line, c.at)) || damage.Hint() == "" {
			t.Errorf("%s: the message %q does not name the place, or has no hint", c.name, err)
		}
		if _, _, err := OpenJournal(dir, testEpisode, JournalOptions{}); !errors.As(err, &damage) {
			t.Errorf("%s: opened for writing: %v", c.name, err)
		}
		if !bytes.Equal(readFile(t, path), c.raw) {
			t.Errorf("%s: the damaged file was changed", c.name)
		}
	}
	// The last line has nothing behind it: it is cut, and seen.
	dir := t.TempDir()
	path := filepath.Join(dir, JournalName)
	if err := os.WriteFile(path, flip(len(raw)-100), 0o644); err != nil {
		t.Fatal(err)
	}
	if records, torn, err := ReadJournal(path); err != nil || torn == nil || torn.Line != 5 || len(records) != 4 {
		t.Errorf("changed last line: %d records, torn %+v, %v", len(records), torn, err)
	}
	if _, _, err := OpenJournal(dir, "000000000000", JournalOptions{}); err == nil || !strings.Contains(err.Error(), "belongs to episode") {
		t.Errorf("another episode's journal: %v", err)
	}
}

func TestJournalIsNoLink(t *testing.T) {
	path, dir := writeJournal(t, t.TempDir()), t.TempDir()
	if err := os.Symlink(path, filepath.Join(dir, JournalName)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenJournal(dir, testEpisode, JournalOptions{}); err == nil {
		t.Error("a link was opened for writing")
	}
	if _, _, err := ReadJournal(filepath.Join(dir, JournalName)); err == nil {
		t.Error("a link was read")
	}
}

// TestJournalDiskFull lowers the limit on file sizes until a write comes up short, as on a full disk.
func TestJournalDiskFull(t *testing.T) {
	dir := t.TempDir()
	path := writeJournal(t, dir)
	size := int64(len(readFile(t, path)))
	full := false
	j, _, err := OpenJournal(dir, testEpisode, JournalOptions{Sync: func(f *os.File) error {
		if full {
			return fmt.Errorf("sync: %w", syscall.ENOSPC)
		}
		return f.Sync()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	// The file is replaced by a pipe-like thing that takes no more: /dev/full.
	dev, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	real := j.file
	j.file = dev
	err = j.Append(TypeVoid, ptr(0), ptr(0), Void{Reason: "host"}, true)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a write to a full disk: %v", err)
	}
	dev.Close()
	if err := j.Append(TypeVoid, ptr(0), ptr(0), Void{Reason: "host"}, true); err == nil {
		t.Fatal("the journal went on although it could not cut back the failed write")
	}
	j.file, j.broken = real, nil
	full = true
	if err := j.Append(TypeVoid, ptr(0), ptr(0), Void{Reason: "host"}, true); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a failed fsync: %v", err)
	}
	full = false
	if err := j.Append(TypeVoid, ptr(0), ptr(0), Void{Reason: "host"}, true); err == nil {
		t.Fatal("the journal went on after a failed fsync")
	}
	if records, _, err := ReadJournal(path); err != nil || len(records) < 5 || records[4].Offset+records[4].Length != size {
		t.Errorf("%d records, %v", len(records), err)
	}
}

func TestJournalLineLimit(t *testing.T) {
	dir := t.TempDir()
	j, _, err := OpenJournal(dir, testEpisode, JournalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if j.limit != MaxLine {
		t.Errorf("limit %d", j.limit)
	}
	j.limit = 1000
	if err := j.Append(TypeVoid, nil, nil, strings.Repeat("x", 1000), false); err == nil || !strings.Contains(err.Error(), "over the limit of 1000") {
		t.Errorf("a record over the limit was written: %v", err)
	}
	if err := j.Append(TypeVoid, nil, nil, "short", false); err != nil {
		t.Error(err)
	}
	// A line that never ends is not read into memory: the file has a hole of more than a line.
	if err := os.Truncate(j.Path(), j.size+2*MaxLine+100); err != nil {
		t.Fatal(err)
	}
	records, torn, err := ReadJournal(j.Path())
	if err != nil || len(records) != 1 || torn == nil || torn.Bytes != 2*MaxLine+100 {
		t.Errorf("%d records, torn %+v, %v", len(records), torn, err)
	}
}

// TestEnvelope holds the short way of reading a line to what encoding/json reads.
func TestEnvelope(t *testing.T) {
	raw := readFile(t, writeJournal(t, t.TempDir()))
	for _, line := range bytes.SplitAfter(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
		line = append(bytes.TrimSuffix(line, []byte("\n")), '\n')
		var want Record
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		got, err := parseEnvelope(line, len(line)-chainTail)
		if _, fast := fastEnvelope(line[:len(line)-chainTail]); err != nil || !fast {
			t.Errorf("not read the short way (%v): %s", err, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	for _, odd := range []string{`{"v":1`, `{"v":1,"seq":x,`, `{"v":1,"seq":0,"t_wall":"a\"b","t_mono":0,`, `{ "v":1}`} {
		if _, fast := fastEnvelope([]byte(odd)); fast {
			t.Errorf("%s was read the short way", odd)
		}
	}
}

func TestJournalHook(t *testing.T) {
	var seen []int64
	dir := t.TempDir()
	for range 2 {
		j, _, err := OpenJournal(dir, testEpisode, JournalOptions{AfterAppend: func(seq int64) { seen = append(seen, seq) }})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := j.Append(TypeResume, nil, nil, Resume{}, false); err != nil {
				t.Fatal(err)
			}
		}
		j.Close()
	}
	if diff := cmp.Diff([]int64{0, 1, 2, 3}, seen); diff != "" {
		t.Error(diff)
	}
}

// FuzzJournal feeds bytes to the reader: it may refuse them, but not panic, and what it accepts must
// survive the repair.
func FuzzJournal(f *testing.F) {
	raw := readFile(f, writeJournal(f, f.TempDir()))
	f.Add(raw)
	f.Add(raw[:len(raw)-30])
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"v":1,"chain":"` + strings.Repeat("0", 64) + "\"}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, JournalName)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		read, _, err := ReadJournal(path)
		if err != nil {
			return
		}
		id := testEpisode
		if len(read) > 0 {
			id = read[0].Episode
		}
		j, records, err := OpenJournal(dir, id, JournalOptions{Sync: func(*os.File) error { return nil }})
		if err != nil || len(records) != len(read) {
			t.Fatalf("read %d, opened %d: %v", len(read), len(records), err)
		}
		j.Close()
		if _, torn, err := ReadJournal(path); err != nil || torn != nil {
			t.Fatalf("after the repair: %v %v", torn, err)
		}
	})
}
