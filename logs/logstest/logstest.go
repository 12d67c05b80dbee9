// Package logstest holds readers of logs to what package logs promises of them, whatever the format:
//
//   - every row names the bytes that it came from, and their hash is the row's;
//   - how many bytes a read gives makes no difference, nor does reading twice;
//   - of a log that ends anywhere, every record that stands whole in it is read, and one that does not is told;
//   - a bad line costs itself alone, and is told with file, line and reason;
//   - whatever the bytes are, reading ends, without an error and without a panic.
//
// A test of a format is
//
//	logstest.Run(t, logstest.Log{Format: "codex", Files: os.DirFS("testdata/codex")})
package logstest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/stint-bench/stint/logs"
)

// Log is a log of a format: one file, or several that are read together.
type Log struct {
	Format string
	Files  fs.FS
	// Problems says that the log is known to hold records that cannot be read.
	Problems bool
}

// Run holds the reader of a format to a log of it. The log should be small: it is read some hundred times.
func Run(t *testing.T, log Log) {
	t.Helper()
	files := load(t, log.Files)
	whole := read(t, files, nil)
	if len(whole.records) == 0 || len(whole.bad) > 0 && !log.Problems {
		t.Fatalf("%d records, problems %v", len(whole.records), whole.bad)
	}
	whole.checkFormat(t, log)
	whole.checkPlaces(t, files)
	t.Run("chunks", func(t *testing.T) {
		for _, chunk := range []int{1, 7, 4099} {
			got := read(t, files, func(p []byte) []byte { return p[:min(len(p), chunk)] })
			if diff := cmp.Diff(whole.records, got.records); diff != "" {
				t.Errorf("reads of %d bytes give other records (-whole +chunks):\n%s", chunk, diff)
			}
		}
	})
	t.Run("torn", func(t *testing.T) { torn(t, files) })
	t.Run("bad line", func(t *testing.T) { badLine(t, files, whole) })
	t.Run("stop", func(t *testing.T) {
		r := open(t, files, nil)
		if !r.Next() {
			t.Error("there is no first record")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if r.Next() {
			t.Error("there is a record after Close")
		}
	})
}

// Fuzz lets any bytes stand in the place of each file of the logs.
func Fuzz(f *testing.F, all []Log) {
	for i, log := range all {
		files := load(f, log.Files)
		for _, name := range names(files) {
			f.Add(uint8(i), files[name])
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		log := all[int(i)%len(all)]
		files := load(t, log.Files)
		for _, name := range names(files) {
			some := maps.Clone(files)
			some[name] = data
			got := read(t, some, nil)
			got.checkPlaces(t, some)
		}
	})
}

// reading is what one reading gave.
type reading struct {
	records []logs.LogRecord
	bad     []logs.Problem
	files   []logs.FileReport
}

func load(t testing.TB, fsys fs.FS) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[p], err = fs.ReadFile(fsys, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func names(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }

// open opens the files of a log, whose format is to be recognised; chunk, if it is not nil, shortens what a read may fill.
func open(t testing.TB, files map[string][]byte, chunk func([]byte) []byte) *logs.Reader {
	t.Helper()
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: data}
	}
	var fsys fs.FS = m
	if chunk != nil {
		fsys = chunkedFS{m, chunk}
	}
	r, err := logs.Open(logs.ReaderOptions{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, files map[string][]byte, chunk func([]byte) []byte) reading {
	t.Helper()
	r := open(t, files, chunk)
	defer r.Close()
	var out reading
	for r.Next() {
		rec := r.Record()
		out.records = append(out.records, rec)
		if rec.Problem != nil {
			out.bad = append(out.bad, *rec.Problem)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatalf("reading ended with %v", err)
	}
	out.files = r.Files()
	return out
}

// events are the events that tell what happened, not what could not be read.
func (r *reading) events() []logs.EventRow {
	var out []logs.EventRow
	for _, rec := range r.records {
		if rec.Event != nil && rec.Event.Kind != logs.EventUnreadable {
			out = append(out, *rec.Event)
		}
	}
	return out
}

func (r *reading) checkFormat(t *testing.T, log Log) {
	t.Helper()
	taken := 0
	for _, f := range r.files {
		if f.Format == log.Format {
			taken++
		} else if f.Format != "" {
			t.Errorf("%s is taken for %s, not for %s", f.Path, f.Format, log.Format)
		}
	}
	if taken == 0 {
		t.Errorf("no file is taken for %s", log.Format)
	}
	episodes := 0
	for _, rec := range r.records {
		if rec.Episode != nil {
			episodes++
		}
	}
	if episodes == 0 {
		t.Error("there is no episode")
	}
}

// checkPlaces tells what is wrong with the places of the rows.
func (r *reading) checkPlaces(t *testing.T, files map[string][]byte) {
	t.Helper()
	for _, fault := range r.placeFaults(files) {
		t.Error(fault)
	}
}

// placeFaults holds every row to its place: the bytes are there, and for events their hash is the row's. The episode of
// every row has a row, and one only.
func (r *reading) placeFaults(files map[string][]byte) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	episodes := map[string]bool{}
	unpacked := map[string][]byte{}
	for _, rec := range r.records {
		if rec.Problem != nil {
			if rec.Problem.File == "" || rec.Problem.Text == "" {
				fault("a problem without file or reason: %+v", *rec.Problem)
			}
			continue
		}
		of := rowOf(rec)
		place := of.Place
		data, ok := files[place.File]
		if !ok {
			if data, ok = unpacked[place.File]; !ok {
				data, ok = member(files, place.File)
				unpacked[place.File] = data
			}
		}
		end := place.Offset + place.Length
		if !ok || place.Offset < 0 || place.Length < 0 || end > int64(len(data)) {
			fault("the row of %s has the place %+v, which does not exist", of.table, place)
			continue
		}
		if rec.Event != nil {
			faults = append(faults, eventFaults(rec.Event, data[place.Offset:end])...)
		}
		if e := rec.Episode; e != nil {
			if episodes[e.Episode] {
				fault("two episodes have the id %s", e.Episode)
			}
			episodes[e.Episode] = true
		}
	}
	for _, rec := range r.records {
		if of := rowOf(rec); of.episode != "" && !episodes[of.episode] {
			fault("a row of %s belongs to the episode %s, which has no row", of.table, of.episode)
			break
		}
	}
	return faults
}

// eventFaults looks at an event that was read from these bytes.
func eventFaults(e *logs.EventRow, raw []byte) (faults []string) {
	sum := sha256.Sum256(raw)
	if e.SHA256 != "" && e.SHA256 != hex.EncodeToString(sum[:]) {
		faults = append(faults, line(*e)+" has another hash than its bytes")
	}
	if !utf8.ValidString(e.Text) || len(e.Text) > 2*logs.PreviewBytes {
		faults = append(faults, fmt.Sprintf("the text of %s has %d bytes or is no UTF-8", line(*e), len(e.Text)))
	}
	if _, err := json.Marshal(e); err != nil {
		faults = append(faults, err.Error())
	}
	return faults
}

// member is a file of an archive: archive!member.
func member(files map[string][]byte, name string) ([]byte, bool) {
	archive, inner, ok := strings.Cut(name, "!")
	if !ok {
		return nil, false
	}
	z, err := zip.NewReader(bytes.NewReader(files[archive]), int64(len(files[archive])))
	if err != nil {
		return nil, false
	}
	z.RegisterDecompressor(93, func(r io.Reader) io.ReadCloser { // Zstandard, as Inspect packs
		d, err := zstd.NewReader(r)
		if err != nil {
			return io.NopCloser(strings.NewReader(""))
		}
		return d.IOReadCloser()
	})
	f, err := z.Open(inner)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, err == nil
}

// row is what rows of all tables have.
type row struct {
	table, episode string
	logs.Place
}

// rowOf is the row of a record that is no problem.
func rowOf(rec logs.LogRecord) row {
	switch {
	case rec.Episode != nil:
		return row{"episodes", rec.Episode.Episode, rec.Episode.Place}
	case rec.Turn != nil:
		return row{"turns", rec.Turn.Episode, rec.Turn.Place}
	case rec.Clause != nil:
		return row{"clauses", rec.Clause.Episode, rec.Clause.Place}
	case rec.Attempt != nil:
		return row{"attempts", rec.Attempt.Episode, rec.Attempt.Place}
	case rec.Check != nil:
		return row{"checks", rec.Check.Episode, rec.Check.Place}
	case rec.Event != nil:
		return row{"events", rec.Event.Episode, rec.Event.Place}
	case rec.Verdict != nil:
		return row{"verdicts", rec.Verdict.Episode, rec.Verdict.Place}
	}
	return row{table: "problems"}
}

// line is a row in short, for messages.
func line(e logs.EventRow) string {
	return fmt.Sprintf("%s %s at %s:%d+%d", e.Actor, e.Kind, e.File, e.Offset, e.Length)
}

// isLines says whether a file holds a JSON object on every line.
func isLines(data []byte) bool {
	n := 0
	for raw := range bytes.Lines(data) {
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
			return false
		}
		n++
	}
	return n > 1
}

// ends are the offsets behind the lines of a file.
func ends(data []byte) []int {
	var out []int
	at := 0
	for raw := range bytes.Lines(data) {
		at += len(raw)
		out = append(out, at)
	}
	return out
}
