package logs

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// maxPartitions bounds the files that are written at the same time.
const maxPartitions = 1000

// PartitionError is a column that tables cannot be divided by.
type PartitionError struct{ By, Text string }

func (e *PartitionError) Error() string {
	return fmt.Sprintf("dividing the tables by %q: %s", clip(e.By, 60), e.Text)
}

// Hint tells the way out.
func (e *PartitionError) Hint() string {
	return "the usual column is config; model, harness and scenario do too"
}

// ExitCode is 2: the input is wrong.
func (e *PartitionError) ExitCode() int { return 2 }

// CheckPartition says whether tables can be divided by a column.
func CheckPartition(by string) error {
	_, err := partitionColumn(by)
	return err
}

func partitionColumn(by string) (*column, error) {
	cols := columnsOf[EpisodeRow]()
	i := slices.IndexFunc(cols, func(c column) bool { return c.name == by })
	switch {
	case i < 0:
		return nil, &PartitionError{by, "the table episodes has no such column"}
	case cols[i].kind != textColumn || by == "episode" || by == "file":
		return nil, &PartitionError{by, "it has too many values, or is no text"}
	}
	return &cols[i], nil
}

// PartitionTables divides the tables of a folder by a column of the table episodes: NAME.parquet becomes
// NAME/BY=VALUE/part-0.parquet, of every table, which DuckDB, polars, Spark and Arrow read as one table with the column
// BY. The column itself leaves the files. [ReadTables] and [Rows] read both. Rows go by one at a time.
func PartitionTables(dir, by string) error {
	col, err := partitionColumn(by)
	if err != nil {
		return err
	}
	values := map[string]string{} // by episode
	for e, err := range Rows[EpisodeRow](filepath.Join(dir, "episodes.parquet"), Expr{}) {
		if err != nil {
			return err
		}
		values[e.Episode] = col.text(reflect.ValueOf(&e).Elem())
	}
	p := &partitioner{dir: dir, by: by, values: values}
	defer p.abort()
	if err := errors.Join(partition[EpisodeRow](p, "episodes"), partition[TurnRow](p, "turns"), partition[ClauseRow](p, "clauses"), partition[AttemptRow](p, "attempts"),
		partition[CheckRow](p, "checks"), partition[EventRow](p, "events"), partition[VerdictRow](p, "verdicts")); err != nil {
		return err
	}
	return p.commit()
}

// partitioner holds what is written until all of it is.
type partitioner struct {
	dir, by string
	values  map[string]string
	done    []string // tables, each in the folder .NAME.tmp
}

func (p *partitioner) temporary(name string) string { return filepath.Join(p.dir, "."+name+".tmp") }

func (p *partitioner) abort() {
	for _, name := range TableNames() {
		os.RemoveAll(p.temporary(name))
	}
}

func (p *partitioner) commit() error {
	for _, name := range p.done {
		to := filepath.Join(p.dir, name)
		if err := errors.Join(os.RemoveAll(to), os.Rename(p.temporary(name), to), os.Remove(to+".parquet")); err != nil {
			return fmt.Errorf("dividing the table %s: %w", name, err)
		}
	}
	if err := os.Remove(filepath.Join(p.dir, stampName)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("dividing the tables: %w", err)
	}
	return nil
}

// partition divides one table into its temporary folder.
func partition[T any](p *partitioner, name string) (err error) {
	top := p.temporary(name)
	if err := errors.Join(os.RemoveAll(top), os.Mkdir(top, 0o755)); err != nil {
		return err
	}
	var cols []column
	var episode column
	for _, c := range columnsOf[T]() {
		if c.name == "episode" {
			episode = c
		}
		if c.name != p.by {
			cols = append(cols, c)
		}
	}
	parts := map[string]*tableWriter[T]{}
	all := &tablesWriter{}
	defer all.abort()
	for row, err := range Rows[T](filepath.Join(p.dir, name+".parquet"), Expr{}) {
		if err != nil {
			return err
		}
		value := p.values[episode.text(reflect.ValueOf(&row).Elem())]
		w := parts[value]
		if w == nil {
			if len(parts) >= maxPartitions {
				return &PartitionError{p.by, fmt.Sprintf("it has more than %d values", maxPartitions)}
			}
			all.dir = filepath.Join(top, p.by+"="+foldName(value))
			if err := os.MkdirAll(all.dir, 0o755); err != nil {
				return err
			}
			if w, err = createTable[T](all, nil, "part-0"); err != nil {
				return err
			}
			w.cols, w.w.cols = cols, cols
			parts[value] = w
		}
		if err := w.add([]T{row}); err != nil {
			return err
		}
	}
	for _, f := range all.files {
		if err := errors.Join(f.finish(), f.rename()); err != nil {
			return err
		}
	}
	p.done = append(p.done, name)
	return nil
}

// foldName writes a value as the name of a folder, as Hive and its readers do: %XX for what a name cannot hold.
func foldName(value string) string {
	if value == "" {
		return noValue
	}
	return strings.ReplaceAll(url.PathEscape(value), "=", "%3D")
}
