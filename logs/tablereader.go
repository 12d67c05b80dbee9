package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

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

// ReadTables reads all tables but events that [IngestRun] or [WriteTables] wrote.
func ReadTables(dir string) (*Tables, error) {
	return ReadTablesWith(dir, ReadOptions{})
}

// ReadTablesWith reads the tables that [IngestRun] or [WriteTables] wrote.
func ReadTablesWith(dir string, opt ReadOptions) (*Tables, error) {
	t := &Tables{}
	reads := []func() error{
		func() error { return readTable(dir, "episodes", &t.Episodes) },
		func() error { return readTable(dir, "turns", &t.Turns) },
		func() error { return readTable(dir, "attempts", &t.Attempts) },
		func() error { return readTable(dir, "verdicts", &t.Verdicts) },
	}
	if !opt.Outcomes {
		reads = append(reads,
			func() error { return readTable(dir, "clauses", &t.Clauses) },
			func() error { return readTable(dir, "checks", &t.Checks) })
	}
	if opt.Events {
		reads = append(reads, func() error { return readTable(dir, "events", &t.Events) })
	}
	errs := make([]error, len(reads))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, read := range reads {
		g.Go(func() error {
			errs[i] = read()
			return errs[i]
		})
	}
	if g.Wait() == nil {
		if st, err := os.Stat(filepath.Join(dir, "episodes")); err == nil && st.IsDir() {
			t.sortRows() // partitions come one after another
		}
		return t, nil
	}
	for _, err := range errs {
		if err != nil {
			return nil, err // of the first table in this order, whichever failed first
		}
	}
	return t, nil
}

const rebuild = "rebuild the tables from the journals: stint ingest DIR"

// readTable reads a table from NAME.parquet, from the folder NAME, which may be partitioned, or from NAME.arrow.
func readTable[T any](dir, name string, rows *[]T) error {
	path := filepath.Join(dir, name+".parquet")
	p, err := openParquet(path)
	if os.IsNotExist(err) {
		for _, other := range []string{filepath.Join(dir, name), filepath.Join(dir, name+".arrow")} {
			if _, err := os.Stat(other); err == nil {
				return collectRows(other, rows)
			}
		}
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

func collectRows[T any](path string, rows *[]T) error {
	for row, err := range Rows[T](path, Expr{}) {
		if err != nil {
			return err
		}
		*rows = append(*rows, row)
	}
	return nil
}

func decodeRows[T any](p *parquetFile) (rows []T, err error) {
	defer catchPanic(brokenParquet, &err)
	cols := columnsOf[T]()
	at := make([]int, len(cols))
	for i := range cols {
		if at[i], err = p.leaf(&cols[i]); err != nil {
			return nil, err
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
			if err := fillFrom(p, g, at[i], &cols[i], rows[base:]); err != nil {
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
