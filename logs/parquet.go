package logs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

// A row group ends after so many rows or so much text, whichever comes first.
const (
	groupRows = 1 << 16
	groupText = 8 << 20
)

// WriteTables writes dir/episodes.parquet and the other tables, zstd-compressed. Each file appears
// complete or not at all, and the same rows give the same bytes.
func WriteTables(dir string, t *Tables) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing tables: %w", err)
	}
	return errors.Join(
		writeTable(dir, "episodes", t.Episodes),
		writeTable(dir, "turns", t.Turns),
		writeTable(dir, "attempts", t.Attempts),
		writeTable(dir, "checks", t.Checks),
	)
}

func writeTable[T any](dir, name string, rows []T) (err error) {
	path := filepath.Join(dir, name+".parquet")
	f, err := os.CreateTemp(dir, "."+name+"-*.tmp")
	if err != nil {
		return fmt.Errorf("writing table %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("writing table %s: %w", path, err)
		}
	}()
	out := bufio.NewWriterSize(f, 1<<20)
	if err := encodeParquet(out, rows); err != nil {
		return err
	}
	if err := errors.Join(out.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// encodeParquet writes rows as row groups of bounded size. The writer of arrow v17 panics on some
// write errors; those come back as errors.
func encodeParquet[T any](out *bufio.Writer, rows []T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parquet: %v", p)
		}
	}()
	b := newRecordBuilder[T](memory.DefaultAllocator)
	defer b.release()
	w := file.NewParquetWriter(keepOpen{out}, parquetSchema(b.cols), file.WithWriterProps(parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithVersion(parquet.V2_LATEST), parquet.WithCreatedBy("stint"),
	)))
	for i := range rows {
		b.append(reflect.ValueOf(&rows[i]).Elem())
		if b.rows >= groupRows || b.text >= groupText || i == len(rows)-1 {
			if err := writeGroup(w, b.record()); err != nil {
				return errors.Join(err, w.Close())
			}
		}
	}
	return w.Close()
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

// TableError is a table file that cannot be read.
type TableError struct {
	File, Text string
	Way        string // out
}

func (e *TableError) Error() string { return fmt.Sprintf("table %s: %s", e.File, e.Text) }

// Hint tells the way out.
func (e *TableError) Hint() string { return e.Way }

// ExitCode is 2: the input is wrong.
func (e *TableError) ExitCode() int { return 2 }

// ReadTables reads what [WriteTables] wrote.
func ReadTables(dir string) (*Tables, error) {
	t := &Tables{}
	err := errors.Join(
		readTable(dir, "episodes", &t.Episodes),
		readTable(dir, "turns", &t.Turns),
		readTable(dir, "attempts", &t.Attempts),
		readTable(dir, "checks", &t.Checks),
	)
	if err != nil {
		return nil, err
	}
	return t, nil
}

const rebuild = "rebuild the tables from the journals: stint ingest DIR"

func readTable[T any](dir, name string, rows *[]T) error {
	path := filepath.Join(dir, name+".parquet")
	p, err := openParquet(path)
	if os.IsNotExist(err) {
		return &TableError{File: path, Text: "the file does not exist", Way: rebuild}
	}
	if err != nil {
		return err
	}
	defer p.close()
	*rows, err = decodeRows[T](p)
	if err != nil {
		return &TableError{File: path, Text: err.Error(), Way: rebuild}
	}
	return nil
}

func decodeRows[T any](p *parquetFile) (rows []T, err error) {
	defer catchPanic(&err)
	cols := columnsOf[T]()
	at := make([]int, len(cols))
	for i, c := range cols {
		name := c.name
		if c.kind == listColumn {
			name += ".list.element"
		}
		if at[i] = p.columnIndex(name); at[i] < 0 {
			return nil, fmt.Errorf("column %s is missing; another version of stint wrote it", c.name)
		}
	}
	for g := range p.r.NumRowGroups() {
		n := p.r.RowGroup(g).NumRows()
		if n < 0 || n > 1<<20 {
			return nil, fmt.Errorf("row group %d claims %d rows", g, n)
		}
		base := len(rows)
		rows = append(rows, make([]T, n)...)
		for i := range cols {
			chunk, err := p.read(g, at[i])
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", cols[i].name, err)
			}
			if err := fillColumn(&cols[i], chunk, rows[base:]); err != nil {
				return nil, fmt.Errorf("column %s: %w", cols[i].name, err)
			}
		}
	}
	return rows, nil
}

// fillColumn moves the values of a chunk into the rows.
func fillColumn[T any](c *column, chunk *columnChunk, rows []T) error {
	if c.kind == listColumn {
		return fillList(c, chunk, rows)
	}
	if chunk.len() != len(rows) {
		return fmt.Errorf("%d values for %d rows", chunk.len(), len(rows))
	}
	k := 0
	for i := range rows {
		if chunk.null(i) {
			if !c.nullable {
				return fmt.Errorf("row %d is null", i)
			}
			continue
		}
		v, err := chunk.goValue(c.kind, k)
		if err != nil {
			return err
		}
		c.set(reflect.ValueOf(&rows[i]).Elem(), v)
		k++
	}
	return nil
}

// goValue returns the k-th present value as the Go type of a column.
func (ch *columnChunk) goValue(kind columnKind, k int) (reflect.Value, error) {
	switch {
	case kind == textColumn && ch.texts != nil:
		return reflect.ValueOf(ch.texts[k]), nil
	case kind == intColumn && ch.ints != nil:
		return reflect.ValueOf(ch.ints[k]), nil
	case kind == uintColumn && ch.ints != nil:
		return reflect.ValueOf(uint64(ch.ints[k])), nil
	case kind == floatColumn && ch.floats != nil:
		return reflect.ValueOf(ch.floats[k]), nil
	case kind == boolColumn && ch.bools != nil:
		return reflect.ValueOf(ch.bools[k]), nil
	case kind == timeColumn && ch.ints != nil:
		return reflect.ValueOf(time.UnixMilli(ch.ints[k]).UTC()), nil
	}
	return reflect.Value{}, errors.New("it has another type")
}

func fillList[T any](c *column, chunk *columnChunk, rows []T) error {
	row, k := -1, 0
	var items []string
	flush := func() error {
		if row >= len(rows) {
			return fmt.Errorf("more than %d lists", len(rows))
		}
		if row >= 0 {
			c.set(reflect.ValueOf(&rows[row]).Elem(), reflect.ValueOf(items))
		}
		return nil
	}
	if len(chunk.reps) != len(chunk.defs) || chunk.texts == nil && chunk.values > 0 {
		return errors.New("it is no list of text")
	}
	for i, rep := range chunk.reps {
		if rep == 0 {
			if err := flush(); err != nil {
				return err
			}
			row, items = row+1, []string{}
		}
		if chunk.defs[i] == chunk.maxDef {
			items = append(items, chunk.texts[k])
			k++
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if row != len(rows)-1 {
		return fmt.Errorf("%d lists for %d rows", row+1, len(rows))
	}
	return nil
}
