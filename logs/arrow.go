package logs

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// maxRecordText bounds the text of one Arrow record: offsets are 32 bits and overflow unnoticed.
const maxRecordText = math.MaxInt32 - 1<<20

// Arrow returns every table as one Arrow record, with the schema its Parquet file has. Call release
// when done with them. It panics if a table holds more than 2 GiB of text, which a record cannot.
func Arrow(t *Tables) (records map[string]arrow.Record, release func()) {
	return arrowTables(memory.DefaultAllocator, t)
}

func arrowTables(mem memory.Allocator, t *Tables) (map[string]arrow.Record, func()) {
	records := map[string]arrow.Record{
		"episodes": oneRecord(mem, t.Episodes),
		"turns":    oneRecord(mem, t.Turns),
		"clauses":  oneRecord(mem, t.Clauses),
		"attempts": oneRecord(mem, t.Attempts),
		"checks":   oneRecord(mem, t.Checks),
		"events":   oneRecord(mem, t.Events),
		"verdicts": oneRecord(mem, t.Verdicts),
	}
	return records, func() {
		for _, r := range records {
			r.Release()
		}
	}
}

func oneRecord[T any](mem memory.Allocator, rows []T) arrow.Record {
	b := newRecordBuilder[T](mem)
	defer b.release()
	for i := range rows {
		b.append(reflect.ValueOf(&rows[i]).Elem())
	}
	if b.text > maxRecordText {
		panic(fmt.Sprintf("logs: a table of %d bytes of text does not fit an Arrow record", b.text))
	}
	return b.record()
}

func arrowSchema(cols []column) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.name, Type: arrowType(c.kind), Nullable: c.nullable}
	}
	return arrow.NewSchema(fields, nil)
}

func arrowType(k columnKind) arrow.DataType {
	switch k {
	case intColumn:
		return arrow.PrimitiveTypes.Int64
	case uintColumn:
		return arrow.PrimitiveTypes.Uint64
	case floatColumn:
		return arrow.PrimitiveTypes.Float64
	case boolColumn:
		return arrow.FixedWidthTypes.Boolean
	case timeColumn:
		return arrow.FixedWidthTypes.Timestamp_ms
	case listColumn:
		return arrow.ListOfNonNullable(arrow.BinaryTypes.String)
	}
	return arrow.BinaryTypes.String
}

// recordBuilder collects rows of one type into Arrow records.
type recordBuilder struct {
	cols []column
	b    *array.RecordBuilder
	rows int
	text int64 // bytes of text so far
	// bytes counts everything so far, numbers at eight bytes each.
	bytes int64
}

func newRecordBuilder[T any](mem memory.Allocator) *recordBuilder {
	cols := columnsOf[T]()
	return &recordBuilder{cols: cols, b: array.NewRecordBuilder(mem, arrowSchema(cols))}
}

func (r *recordBuilder) release() { r.b.Release() }

// record returns the rows so far and begins anew.
func (r *recordBuilder) record() arrow.Record {
	r.rows, r.text, r.bytes = 0, 0, 0
	return r.b.NewRecord()
}

func (r *recordBuilder) append(row reflect.Value) {
	text := r.text
	for i := range r.cols {
		c, field := &r.cols[i], r.b.Field(i)
		v, null := c.value(row)
		if null {
			field.AppendNull()
			continue
		}
		switch c.kind {
		case textColumn:
			field.(*array.StringBuilder).Append(v.String())
			r.text += int64(v.Len())
		case intColumn:
			field.(*array.Int64Builder).Append(v.Int())
		case uintColumn:
			field.(*array.Uint64Builder).Append(v.Uint())
		case floatColumn:
			field.(*array.Float64Builder).Append(v.Float())
		case boolColumn:
			field.(*array.BooleanBuilder).Append(v.Bool())
		case timeColumn:
			field.(*array.TimestampBuilder).Append(arrow.Timestamp(v.Interface().(time.Time).UnixMilli()))
		case listColumn:
			list := field.(*array.ListBuilder)
			list.Append(true)
			for j := range v.Len() {
				list.ValueBuilder().(*array.StringBuilder).Append(v.Index(j).String())
				r.text += int64(v.Index(j).Len())
			}
		}
	}
	r.rows++
	r.bytes += r.text - text + 8*int64(len(r.cols))
}
