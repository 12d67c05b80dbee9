package logs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
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
	w, err := createTables(dir, memory.DefaultAllocator)
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
	mem      memory.Allocator
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

func createTables(dir string, mem memory.Allocator) (w *tablesWriter, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("writing tables: %w", err)
	}
	w = &tablesWriter{dir: dir, mem: mem}
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
	b    *recordBuilder
	w    *groupWriter
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
	t := &tableWriter[T]{path: path, f: f, out: bufio.NewWriterSize(f, 256<<10), b: newRecordBuilder[T](all.mem)}
	t.w = newGroupWriter(t.out, t.b.cols)
	all.files = append(all.files, t)
	return t, nil
}

func (t *tableWriter[T]) wrap(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("parquet: %v", p)
	}
	if *err != nil {
		*err = fmt.Errorf("writing table %s: %w", t.path, *err)
	}
}

// add appends rows. Where row groups end depends on the rows alone, not on how they are handed over.
func (t *tableWriter[T]) add(rows []T) (err error) {
	defer t.wrap(&err)
	for i := range rows {
		t.b.append(reflect.ValueOf(&rows[i]).Elem())
		if t.b.rows >= groupRows || t.b.bytes >= groupBytes {
			if err := t.w.add(t.b.record()); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish writes the last rows and closes the temporary file.
func (t *tableWriter[T]) finish() (err error) {
	defer t.wrap(&err)
	if t.b.rows > 0 {
		if err := t.w.add(t.b.record()); err != nil {
			return err
		}
	}
	t.b.release()
	t.b = nil
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
	if t.b != nil {
		t.b.release()
		t.b = nil
	}
	if t.f != nil {
		t.f.Close()
		os.Remove(t.f.Name())
		t.f = nil
	}
}

// keepOpen hides the Close of a writer from the Parquet writer, which would call it.
type keepOpen struct{ w *bufio.Writer }

func (k keepOpen) Write(p []byte) (int, error) { return k.w.Write(p) }

func parquetSchema(cols []column) *schema.GroupNode {
	fields := make(schema.FieldList, len(cols))
	for i, c := range cols {
		fields[i] = parquetNode(c)
	}
	return schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1))
}

func parquetNode(c column) schema.Node {
	rep := parquet.Repetitions.Required
	if c.nullable {
		rep = parquet.Repetitions.Optional
	}
	logical := func(t schema.LogicalType, p parquet.Type) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(c.name, rep, t, p, -1, -1))
	}
	switch c.kind {
	case intColumn:
		return schema.NewInt64Node(c.name, rep, -1)
	case uintColumn:
		return logical(schema.NewIntLogicalType(64, false), parquet.Types.Int64)
	case floatColumn:
		return schema.NewFloat64Node(c.name, rep, -1)
	case boolColumn:
		return schema.NewBooleanNode(c.name, rep, -1)
	case timeColumn:
		return logical(schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int64)
	case listColumn:
		item := schema.MustPrimitive(schema.NewPrimitiveNodeLogical("element", parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1))
		return schema.MustGroup(schema.ListOfWithName(c.name, item, parquet.Repetitions.Required, -1))
	}
	return logical(schema.StringLogicalType{}, parquet.Types.ByteArray)
}

func writeGroup(w *file.Writer, rec arrow.Record) error {
	defer rec.Release()
	group := w.AppendRowGroup()
	for i, col := range rec.Columns() {
		cw, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := errors.Join(writeColumn(cw, col, rec.Schema().Field(i).Nullable), cw.Close()); err != nil {
			return fmt.Errorf("column %s: %w", rec.ColumnName(i), err)
		}
	}
	return group.Close()
}

// writeColumn hands the non-null values of an array to the writer, with the levels that say where
// they belong.
func writeColumn(cw file.ColumnChunkWriter, col arrow.Array, nullable bool) error {
	if list, ok := col.(*array.List); ok {
		return writeList(cw.(*file.ByteArrayColumnChunkWriter), list)
	}
	var defs []int16
	if nullable {
		defs = make([]int16, col.Len())
		for i := range defs {
			if col.IsValid(i) {
				defs[i] = 1
			}
		}
	}
	var err error
	switch a := col.(type) {
	case *array.String:
		_, err = cw.(*file.ByteArrayColumnChunkWriter).WriteBatch(present(a, func(i int) parquet.ByteArray { return parquet.ByteArray(a.Value(i)) }), defs, nil)
	case *array.Int64:
		_, err = cw.(*file.Int64ColumnChunkWriter).WriteBatch(present(a, a.Value), defs, nil)
	case *array.Uint64:
		_, err = cw.(*file.Int64ColumnChunkWriter).WriteBatch(present(a, func(i int) int64 { return int64(a.Value(i)) }), defs, nil)
	case *array.Float64:
		_, err = cw.(*file.Float64ColumnChunkWriter).WriteBatch(present(a, a.Value), defs, nil)
	case *array.Boolean:
		_, err = cw.(*file.BooleanColumnChunkWriter).WriteBatch(present(a, a.Value), defs, nil)
	case *array.Timestamp:
		_, err = cw.(*file.Int64ColumnChunkWriter).WriteBatch(present(a, func(i int) int64 { return int64(a.Value(i)) }), defs, nil)
	default:
		err = fmt.Errorf("no way to write %s", col.DataType())
	}
	return err
}

// present collects the values that are not null.
func present[V any](a arrow.Array, value func(int) V) []V {
	values := make([]V, 0, a.Len()-a.NullN())
	for i := range a.Len() {
		if a.IsValid(i) {
			values = append(values, value(i))
		}
	}
	return values
}

// writeList writes a list of text that is never null and has no null items. Its definition level is
// 1 for an item and 0 for an empty list; its repetition level is 1 for every item but the first.
func writeList(cw *file.ByteArrayColumnChunkWriter, list *array.List) error {
	items := list.ListValues().(*array.String)
	var values []parquet.ByteArray
	var defs, reps []int16
	for i := range list.Len() {
		start, end := list.ValueOffsets(i)
		if start == end {
			defs, reps = append(defs, 0), append(reps, 0)
		}
		for j := start; j < end; j++ {
			values = append(values, parquet.ByteArray(items.Value(int(j))))
			defs = append(defs, 1)
			if j == start {
				reps = append(reps, 0)
			} else {
				reps = append(reps, 1)
			}
		}
	}
	_, err := cw.WriteBatch(values, defs, reps)
	return err
}
