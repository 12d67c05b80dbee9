package logs

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v17/parquet/schema"
)

// maxGroupRows bounds the rows of a row group, which are held at once.
const maxGroupRows = 1 << 24

// timeUnit is the unit of a column of times; ok is false for every other column.
func timeUnit(d *schema.Column) (unit schema.TimeUnitType, ok bool) {
	switch t := d.LogicalType().(type) {
	case schema.TimestampLogicalType:
		return t.TimeUnit(), true
	case *schema.TimestampLogicalType:
		return t.TimeUnit(), true
	}
	return unit, false
}

func isTime(d *schema.Column) bool {
	_, ok := timeUnit(d)
	return ok
}

// parquetFile reads the row groups that the filter does not rule out, and of them the columns that are asked for.
func (s *tableScan[T]) parquetFile(f *datasetFile) (err error) {
	p, err := openParquet(f.path)
	if err != nil {
		return err
	}
	defer p.close()
	at := make([]int, len(s.cols))
	for i, c := range s.cols {
		if at[i], err = p.leaf(&c); err != nil {
			if _, fold := f.folds[c.name]; !fold {
				return err
			}
		}
	}
	outside := s.outside(f)
	for _, k := range outside {
		if p.columnIndex(k) < 0 {
			_, err := s.filter.Match(func(key string) (string, bool) { return "", key != k })
			return err
		}
	}
	for g := range p.r.NumRowGroups() {
		match := s.chance(p, g, f)
		if match == never {
			continue
		}
		n := p.r.RowGroup(g).NumRows()
		if n < 0 || n > maxGroupRows {
			return fmt.Errorf("row group %d claims %d rows", g, n)
		}
		rows := make([]T, n)
		for i := range s.cols {
			if at[i] < 0 {
				continue
			}
			if err := fillFrom(p, g, at[i], &s.cols[i], rows); err != nil {
				return fmt.Errorf("column %s: %w", s.cols[i].name, err)
			}
		}
		extra := map[string][]string{}
		for _, k := range outside {
			if match == always {
				break
			}
			if extra[k], err = p.words(g, p.columnIndex(k)); err != nil {
				return fmt.Errorf("column %s: %w", k, err)
			}
		}
		if err := s.emit(f, rows, extra, match == always); err != nil {
			return err
		}
	}
	return nil
}

// chance is what the file says about the rows of a row group: whether none, or every one, matches.
func (s *tableScan[T]) chance(p *parquetFile, group int, f *datasetFile) chance {
	meta := p.r.RowGroup(group).MetaData()
	return s.filter.possible(func(key string, values []string) chance {
		if told := f.chance(key, values); told != maybe {
			return told
		}
		col := p.columnIndex(key)
		if col < 0 {
			return maybe
		}
		chunk, err := meta.ColumnChunk(col)
		if err != nil {
			return maybe // reading it will say so
		}
		return chanceIn(chunk, values)
	})
}

// leaf is the number of the leaf of a column, -1 and an error if there is none.
func (p *parquetFile) leaf(c *column) (int, error) {
	names := []string{c.name}
	if c.kind == listColumn {
		names = []string{c.name + ".list.element", c.name + ".list.item", c.name + ".list.array"}
	}
	for _, n := range names {
		if at := p.columnIndex(n); at >= 0 {
			return at, nil
		}
	}
	return -1, fmt.Errorf("column %s is missing; another version of stint wrote it, or another program", c.name)
}

// fillFrom reads a column of a row group into rows.
func fillFrom[T any](p *parquetFile, group, at int, c *column, rows []T) error {
	chunk, err := p.read(group, at)
	if err != nil {
		return err
	}
	if c.kind == timeColumn {
		if err := p.toMillis(at, chunk); err != nil {
			return err
		}
	}
	return fillColumn(c, chunk, rows)
}

// toMillis brings times of another unit to milliseconds.
func (p *parquetFile) toMillis(at int, chunk *columnChunk) error {
	unit, ok := timeUnit(p.r.MetaData().Schema.Column(at))
	if !ok {
		return fmt.Errorf("it holds no times")
	}
	by := map[schema.TimeUnitType]int64{schema.TimeUnitMillis: 1, schema.TimeUnitMicros: 1e3, schema.TimeUnitNanos: 1e6}[unit]
	if by == 0 {
		return fmt.Errorf("its times have no unit")
	}
	for i := range chunk.ints {
		chunk.ints[i] /= by
	}
	return nil
}

// words renders a column as filters see it: null is "", a bool true or false, a time as RFC 3339.
func (p *parquetFile) words(group, col int) ([]string, error) {
	d := p.r.MetaData().Schema.Column(col)
	if isTime(d) {
		rows := make([]struct {
			T *time.Time `col:"t"`
		}, p.r.RowGroup(group).NumRows())
		c := column{name: d.Name(), kind: timeColumn, nullable: true, index: []int{0}}
		if err := fillFrom(p, group, col, &c, rows); err != nil {
			return nil, err
		}
		out := make([]string, len(rows))
		for i := range rows {
			out[i] = c.text(reflect.ValueOf(&rows[i]).Elem())
		}
		return out, nil
	}
	out, err := p.cells(group, col)
	if err == nil && d.PhysicalType().String() == "BOOLEAN" {
		for i, v := range out {
			if v != "" {
				out[i] = strconv.FormatBool(v == "1")
			}
		}
	}
	return out, err
}
