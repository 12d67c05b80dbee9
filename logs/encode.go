package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

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

// writerProperties: texts that hardly repeat get no dictionary, and no statistics that nobody can use.
func writerProperties(cols []column) *parquet.WriterProperties {
	opts := []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Zstd), parquet.WithVersion(parquet.V2_LATEST), parquet.WithDataPageSize(pageBytes), parquet.WithCreatedBy("stint")}
	for _, c := range cols {
		if c.kind == textColumn && (c.name == "text" || c.name == "sha256") {
			opts = append(opts, parquet.WithDictionaryFor(c.name, false), parquet.WithStatsFor(c.name, false))
		}
	}
	return parquet.NewWriterProperties(opts...)
}

// encodeGroup makes a Parquet file of rows, one row group. The writer of arrow v17 panics on some errors.
func encodeGroup[T any](cols []column, rows []T) (b []byte, err error) {
	defer catchPanic("parquet", &err)
	var buf bytes.Buffer
	out := bufio.NewWriterSize(&buf, 64<<10)
	w := file.NewParquetWriter(keepOpen{out}, parquetSchema(cols), file.WithWriterProps(writerProperties(cols)))
	if len(rows) > 0 {
		group := w.AppendRowGroup()
		for i := range cols {
			cw, err := group.NextColumn()
			if err != nil {
				return nil, err
			}
			if err := errors.Join(writeColumn(cw, &cols[i], rows), cw.Close()); err != nil {
				return nil, fmt.Errorf("column %s: %w", cols[i].name, err)
			}
		}
		if err := group.Close(); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), out.Flush())
	return buf.Bytes(), err
}

// writeColumn hands the values of a column that are not null to the writer, with the levels that say where they belong.
func writeColumn[T any](cw file.ColumnChunkWriter, c *column, rows []T) (err error) {
	switch c.kind {
	case listColumn:
		return writeLists(cw.(*file.ByteArrayColumnChunkWriter), c, rows)
	case textColumn:
		values, defs := present(c, rows, func(p unsafe.Pointer) parquet.ByteArray { return textBytes(*(*string)(p)) })
		err = writeTexts(cw.(*file.ByteArrayColumnChunkWriter), values, defs)
	case intColumn:
		values, defs := present(c, rows, c.intAt)
		_, err = cw.(*file.Int64ColumnChunkWriter).WriteBatch(values, defs, nil)
	case uintColumn:
		values, defs := present(c, rows, func(p unsafe.Pointer) int64 { return int64(*(*uint64)(p)) })
		_, err = cw.(*file.Int64ColumnChunkWriter).WriteBatch(values, defs, nil)
	case floatColumn:
		values, defs := present(c, rows, func(p unsafe.Pointer) float64 { return *(*float64)(p) })
		_, err = cw.(*file.Float64ColumnChunkWriter).WriteBatch(values, defs, nil)
	case boolColumn:
		values, defs := present(c, rows, func(p unsafe.Pointer) bool { return *(*bool)(p) })
		_, err = cw.(*file.BooleanColumnChunkWriter).WriteBatch(values, defs, nil)
	case timeColumn:
		values, defs := present(c, rows, func(p unsafe.Pointer) int64 { return (*time.Time)(p).UnixMilli() })
		_, err = cw.(*file.Int64ColumnChunkWriter).WriteBatch(values, defs, nil)
	default:
		err = errors.New("no way to write it")
	}
	return err
}

// A page ends after so many bytes: with larger ones compression gains little, and room for them has to be cleared.
const (
	pageBytes  = 512 << 10
	pieceBytes = 32 << 10 // the writer looks at the size of its page after so many
)

// writeTexts hands texts over in pieces, since the writer ends no page within one.
func writeTexts(cw *file.ByteArrayColumnChunkWriter, values []parquet.ByteArray, defs []int16) error {
	if len(defs) > 0 {
		_, err := cw.WriteBatch(values, defs, nil) // names and ids
		return err
	}
	for len(values) > 0 {
		n, size := 0, 0
		for n < len(values) && (n == 0 || size+len(values[n]) <= pieceBytes) {
			size += len(values[n])
			n++
		}
		if _, err := cw.WriteBatch(values[:n], nil, nil); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// textBytes are the bytes of a text, not copied: the writer only reads them.
func textBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// present collects the values of a column that are not null, and the levels if it may be.
func present[T, V any](c *column, rows []T, value func(unsafe.Pointer) V) (values []V, defs []int16) {
	if c.nullable {
		defs = make([]int16, len(rows))
	} else {
		values = make([]V, 0, len(rows))
	}
	for i := range rows {
		p := c.at(unsafe.Pointer(&rows[i]))
		if p == nil {
			continue
		}
		values = append(values, value(p))
		if c.nullable {
			defs[i] = 1
		}
	}
	return values, defs
}

// writeLists writes lists of text that are never null and have no null items. The definition level is 1 for an item and
// 0 for an empty list; the repetition level is 1 for every item but the first.
func writeLists[T any](cw *file.ByteArrayColumnChunkWriter, c *column, rows []T) error {
	var values []parquet.ByteArray
	var defs, reps []int16
	for i := range rows {
		list := *(*[]string)(c.at(unsafe.Pointer(&rows[i])))
		if len(list) == 0 {
			defs, reps = append(defs, 0), append(reps, 0)
		}
		for j, text := range list {
			values = append(values, textBytes(text))
			defs, reps = append(defs, 1), append(reps, int16(min(j, 1)))
		}
	}
	_, err := cw.WriteBatch(values, defs, reps)
	return err
}

// rowBytes is about how much room a row takes.
func rowBytes(cols []column, row unsafe.Pointer) int64 {
	n := 8 * int64(len(cols))
	for i := range cols {
		switch c := &cols[i]; c.kind {
		case textColumn:
			if p := c.at(row); p != nil {
				n += int64(len(*(*string)(p)))
			}
		case listColumn:
			for _, text := range *(*[]string)(c.at(row)) {
				n += int64(len(text))
			}
		}
	}
	return n
}
