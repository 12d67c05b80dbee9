package logs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// WriteArrow writes dir/episodes.arrow and the other tables as Arrow IPC files (Feather version 2), with the schemas
// of the Parquet files and not compressed: what arrow v17 compresses polars refuses. Each file appears complete or not at all. [ReadTables] reads them too,
// where there is no Parquet file.
func WriteArrow(dir string, t *Tables) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing tables: %w", err)
	}
	return errors.Join(writeArrow(dir, "episodes", t.Episodes), writeArrow(dir, "turns", t.Turns), writeArrow(dir, "clauses", t.Clauses), writeArrow(dir, "attempts", t.Attempts),
		writeArrow(dir, "checks", t.Checks), writeArrow(dir, "events", t.Events), writeArrow(dir, "verdicts", t.Verdicts))
}

func writeArrow[T any](dir, name string, rows []T) error {
	path := filepath.Join(dir, name+".arrow")
	err := writeAtomic(path, func(w io.Writer) (err error) {
		defer catchPanic("arrow", &err)
		b := newRecordBuilder[T](memory.DefaultAllocator)
		defer b.release()
		out, err := ipc.NewFileWriter(&positioned{w: w}, ipc.WithSchema(arrowSchema(b.cols)))
		if err != nil {
			return err
		}
		flush := func() error {
			rec := b.record()
			defer rec.Release()
			return out.Write(rec)
		}
		for i := range rows {
			b.append(reflect.ValueOf(&rows[i]).Elem())
			if b.rows >= groupRows || b.bytes >= groupBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if b.rows > 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		return out.Close()
	})
	if err != nil {
		return fmt.Errorf("writing table %s: %w", path, err)
	}
	return nil
}

// positioned tells the writer of arrow where it is; it asks for nothing else.
type positioned struct {
	w  io.Writer
	at int64
}

func (p *positioned) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return n, err
}

func (p *positioned) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("the file is written in order")
	}
	return p.at, nil
}

// arrowFile reads an Arrow IPC file.
func (s *tableScan[T]) arrowFile(f *datasetFile) (err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	// Only the reading may panic: what the rows are handed to may not hide its own.
	guarded := func(read func() error) (err error) {
		defer catchPanic("broken Arrow file", &err)
		return read()
	}
	var r *ipc.FileReader
	if err := guarded(func() (err error) {
		r, err = ipc.NewFileReader(file)
		return err
	}); err != nil {
		return err
	}
	defer r.Close()
	outside := s.outside(f)
	for i := range r.NumRecords() {
		var rows []T
		extra := map[string][]string{}
		if err := guarded(func() error {
			rec, err := r.Record(i)
			if err != nil {
				return err
			}
			rows = make([]T, rec.NumRows())
			if err := s.fromRecord(f, rec, rows); err != nil {
				return err
			}
			for _, k := range outside {
				if extra[k], err = arrowWords(rec, k); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := s.emit(f, rows, extra, false); err != nil {
			return err
		}
	}
	return nil
}

func (s *tableScan[T]) fromRecord(f *datasetFile, rec arrow.Record, rows []T) error {
	for c := range s.cols {
		col := &s.cols[c]
		a, err := arrowColumn(rec, col.name)
		if err != nil {
			if _, fold := f.folds[col.name]; fold {
				continue
			}
			return err
		}
		for i := range rows {
			if a.IsNull(i) {
				if !col.nullable {
					return fmt.Errorf("column %s: row %d is null", col.name, i)
				}
				continue
			}
			v, err := arrowValue(a, i, col.kind)
			if err != nil {
				return fmt.Errorf("column %s: %w", col.name, err)
			}
			col.set(reflect.ValueOf(&rows[i]).Elem(), v)
		}
	}
	return nil
}

func arrowColumn(rec arrow.Record, name string) (arrow.Array, error) {
	at := rec.Schema().FieldIndices(name)
	if len(at) != 1 {
		return nil, fmt.Errorf("column %s is missing; another version of stint wrote it, or another program", name)
	}
	a := rec.Column(at[0])
	if int64(a.Len()) != rec.NumRows() {
		return nil, fmt.Errorf("column %s has %d values for %d rows", name, a.Len(), rec.NumRows())
	}
	return a, nil
}

// arrowValue is a value as the Go type of a column.
func arrowValue(a arrow.Array, i int, kind columnKind) (reflect.Value, error) {
	switch a := a.(type) {
	case interface{ Value(int) string }:
		if kind == textColumn {
			return reflect.ValueOf(a.Value(i)), nil
		}
	case *array.Int64:
		if kind == intColumn {
			return reflect.ValueOf(a.Value(i)), nil
		}
	case *array.Uint64:
		if kind == uintColumn {
			return reflect.ValueOf(a.Value(i)), nil
		}
	case *array.Float64:
		if kind == floatColumn {
			return reflect.ValueOf(a.Value(i)), nil
		}
	case *array.Boolean:
		if kind == boolColumn {
			return reflect.ValueOf(a.Value(i)), nil
		}
	case *array.Timestamp:
		if kind == timeColumn {
			unit := a.DataType().(*arrow.TimestampType).Unit
			return reflect.ValueOf(a.Value(i).ToTime(unit).UTC()), nil
		}
	case array.ListLike:
		if items, ok := a.ListValues().(interface{ Value(int) string }); ok && kind == listColumn {
			from, to := a.ValueOffsets(i)
			list := make([]string, 0, min(to-from, math.MaxInt32))
			for j := from; j < to; j++ {
				list = append(list, items.Value(int(j)))
			}
			return reflect.ValueOf(list), nil
		}
	}
	return reflect.Value{}, fmt.Errorf("it is %s, which is another type", a.DataType())
}

// arrowWords renders a column as filters see it.
func arrowWords(rec arrow.Record, name string) ([]string, error) {
	a, err := arrowColumn(rec, name)
	if err != nil {
		return nil, err
	}
	out := make([]string, a.Len())
	for i := range out {
		if !a.IsNull(i) {
			out[i] = a.ValueStr(i)
		}
	}
	return out, nil
}
