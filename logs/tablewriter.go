package logs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"
)

// A row group ends after so many rows or so many bytes, whichever comes first.
const (
	groupRows  = 1 << 16
	groupBytes = 4 << 20
)

// WriteTables writes dir/episodes.parquet and the other tables, zstd-compressed. Each file appears
// complete or not at all, and the same rows give the same bytes. [IngestRun] writes the same files
// without holding all rows in memory.
func WriteTables(dir string, t *Tables) (err error) {
	w, err := createTables(dir)
	if err != nil {
		return err
	}
	defer w.abort()
	if err := w.add(t); err != nil {
		return err
	}
	return w.commit()
}

// tablesWriter writes all tables at once, row by row.
type tablesWriter struct {
	dir      string
	episodes *tableWriter[EpisodeRow]
	turns    *tableWriter[TurnRow]
	clauses  *tableWriter[ClauseRow]
	attempts *tableWriter[AttemptRow]
	checks   *tableWriter[CheckRow]
	events   *tableWriter[EventRow]
	verdicts *tableWriter[VerdictRow]
	files    []tableFile
}

// tableFile is what a tableWriter offers whatever its rows are.
type tableFile interface {
	finish() error
	rename() error
	abort()
}

func createTables(dir string) (w *tablesWriter, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("writing tables: %w", err)
	}
	w = &tablesWriter{dir: dir}
	w.episodes, err = createTable[EpisodeRow](w, err, "episodes")
	w.turns, err = createTable[TurnRow](w, err, "turns")
	w.clauses, err = createTable[ClauseRow](w, err, "clauses")
	w.attempts, err = createTable[AttemptRow](w, err, "attempts")
	w.checks, err = createTable[CheckRow](w, err, "checks")
	w.events, err = createTable[EventRow](w, err, "events")
	w.verdicts, err = createTable[VerdictRow](w, err, "verdicts")
	if err != nil {
		w.abort()
		return nil, err
	}
	return w, nil
}

// add appends the rows of t to all tables.
func (w *tablesWriter) add(t *Tables) error {
	return errors.Join(w.episodes.add(t.Episodes), w.turns.add(t.Turns), w.clauses.add(t.Clauses), w.attempts.add(t.Attempts),
		w.checks.add(t.Checks), w.events.add(t.Events), w.verdicts.add(t.Verdicts))
}

// commit puts all files in place, after all of them are complete.
func (w *tablesWriter) commit() error {
	for _, f := range w.files {
		if err := f.finish(); err != nil {
			return err
		}
	}
	// From here on nothing is known of what the tables were made from.
	if err := os.Remove(filepath.Join(w.dir, stampName)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("writing tables: %w", err)
	}
	for _, f := range w.files {
		if err := f.rename(); err != nil {
			return err
		}
	}
	return nil
}

// abort removes what was not committed.
func (w *tablesWriter) abort() {
	for _, f := range w.files {
		f.abort()
	}
}

// tableWriter writes one table to a temporary file beside its place. The writer of arrow v17 panics on
// some write errors; those come back as errors.
type tableWriter[T any] struct {
	path string
	f    *os.File
	out  *bufio.Writer
	cols []column
	w    *groupWriter

	rows  []T   // of the row group that is being filled
	bytes int64 // in them, numbers at eight bytes each
}

// createTable does nothing if an earlier one failed.
func createTable[T any](all *tablesWriter, before error, name string) (*tableWriter[T], error) {
	if before != nil {
		return nil, before
	}
	path := filepath.Join(all.dir, name+".parquet")
	f, err := os.CreateTemp(all.dir, "."+name+"-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("writing table %s: %w", path, err)
	}
	t := &tableWriter[T]{path: path, f: f, out: bufio.NewWriterSize(f, 256<<10), cols: columnsOf[T]()}
	t.w = newGroupWriter(t.out, t.cols)
	all.files = append(all.files, t)
	return t, nil
}

func (t *tableWriter[T]) wrap(err *error) {
	if *err != nil {
		*err = fmt.Errorf("writing table %s: %w", t.path, *err)
	}
}

// add appends rows. Where row groups end depends on the rows alone, not on how they are handed over.
func (t *tableWriter[T]) add(rows []T) error {
	for i := range rows {
		if err := t.addRow(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// addRow appends a row, of which it makes a copy.
func (t *tableWriter[T]) addRow(row *T) error {
	t.rows = append(t.rows, *row)
	t.bytes += rowBytes(t.cols, unsafe.Pointer(row))
	if len(t.rows) < groupRows && t.bytes < groupBytes {
		return nil
	}
	err := t.group()
	t.wrap(&err)
	return err
}

// group hands the rows so far over as a row group.
func (t *tableWriter[T]) group() (err error) {
	defer catchPanic("parquet", &err)
	rows := t.rows
	t.rows, t.bytes = make([]T, 0, len(rows)), 0
	return t.w.add(func() ([]byte, error) { return encodeGroup(t.cols, rows) })
}

// finish writes the last rows and closes the temporary file.
func (t *tableWriter[T]) finish() (err error) {
	defer t.wrap(&err)
	defer catchPanic("parquet", &err)
	if len(t.rows) > 0 {
		if err := t.group(); err != nil {
			return err
		}
	}
	t.rows = nil
	return errors.Join(t.w.close(), t.out.Flush(), t.f.Sync(), t.f.Chmod(0o644), t.f.Close())
}

func (t *tableWriter[T]) rename() error {
	if err := os.Rename(t.f.Name(), t.path); err != nil {
		return fmt.Errorf("writing table: %w", err)
	}
	t.f = nil
	return nil
}

func (t *tableWriter[T]) abort() {
	t.w.wait()
	t.rows = nil
	if t.f != nil {
		t.f.Close()
		os.Remove(t.f.Name())
		t.f = nil
	}
}
