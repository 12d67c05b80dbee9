package logs

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"
)

// ExportTables writes the tables of a run as files OUT/TABLE.csv, .jsonl or .arrow (Arrow IPC files), as format says. In
// CSV an unknown value is empty, a list is JSON, and a time is RFC 3339 in UTC; in JSON lines an unknown value is null.
// The texts of events and checks have their secrets replaced. out must not exist.
func ExportTables(ctx context.Context, t *Tables, format, out string, opt ExportOptions) error {
	write := map[string]tableFiles{"csv": csvFiles, "jsonl": jsonFiles}[format]
	if write == nil && format != "arrow" {
		return fmt.Errorf("exporting tables: there is no format %q", format)
	}
	return export(ctx, nil, t, out, opt, func(x *exporting) error {
		kept := t.kept(opt.Keep)
		if format == "arrow" {
			return WriteArrow(x.out, kept)
		}
		return kept.eachTable(func(name string, rows reflect.Value, columns []column) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return writeNew(filepath.Join(x.out, name+"."+format), func(f *os.File) error { return write(f, rows, columns) })
		})
	})
}

// kept are the rows of the episodes that are to be exported, with secrets replaced.
func (t *Tables) kept(keep func(*EpisodeRow) bool) *Tables {
	ids := map[string]bool{}
	for i := range t.Episodes {
		ids[t.Episodes[i].Episode] = keep == nil || keep(&t.Episodes[i])
	}
	out := &Tables{
		Episodes: keptRows(t.Episodes, func(r *EpisodeRow) bool { return ids[r.Episode] }),
		Turns:    keptRows(t.Turns, func(r *TurnRow) bool { return ids[r.Episode] }),
		Clauses:  keptRows(t.Clauses, func(r *ClauseRow) bool { return ids[r.Episode] }),
		Attempts: keptRows(t.Attempts, func(r *AttemptRow) bool { return ids[r.Episode] }),
		Checks:   keptRows(t.Checks, func(r *CheckRow) bool { return ids[r.Episode] }),
		Events:   keptRows(t.Events, func(r *EventRow) bool { return ids[r.Episode] }),
		Verdicts: keptRows(t.Verdicts, func(r *VerdictRow) bool { return ids[r.Episode] }),
	}
	for i := range out.Events {
		out.Events[i].Text = Redact(out.Events[i].Text)
	}
	for i := range out.Checks {
		c := &out.Checks[i]
		c.Request, c.Expected, c.Actual = Redact(c.Request), Redact(c.Expected), Redact(c.Actual)
	}
	return out
}

func keptRows[T any](rows []T, keep func(*T) bool) []T {
	var out []T
	for i := range rows {
		if keep(&rows[i]) {
			out = append(out, rows[i])
		}
	}
	return out
}

// eachTable calls f for every table, in the order of [TableNames].
func (t *Tables) eachTable(f func(name string, rows reflect.Value, columns []column) error) error {
	v := reflect.ValueOf(t).Elem()
	for i, name := range TableNames() {
		rows := v.Field(i)
		if err := f(name, rows, fieldColumns(rows.Type().Elem(), nil)); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

// tableFiles writes one table.
type tableFiles func(f *os.File, rows reflect.Value, columns []column) error

func csvFiles(f *os.File, rows reflect.Value, columns []column) error {
	w := csv.NewWriter(f)
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	if err := w.Write(line); err != nil {
		return err
	}
	for i := range rows.Len() {
		for k := range columns {
			if columns[k].kind == listColumn {
				v, _ := columns[k].value(rows.Index(i))
				b, err := json.Marshal(notNil(v))
				if err != nil {
					return err
				}
				line[k] = string(b)
				continue
			}
			line[k] = columns[k].text(rows.Index(i))
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// notNil is a list that JSON writes as [] if it is empty.
func notNil(v reflect.Value) any {
	if v.IsNil() {
		return []string{}
	}
	return v.Interface()
}

func jsonFiles(f *os.File, rows reflect.Value, columns []column) error {
	w := bufio.NewWriterSize(f, 64<<10)
	for i := range rows.Len() {
		for k := range columns {
			value := any(nil)
			switch v, null := columns[k].value(rows.Index(i)); {
			case null:
			case columns[k].kind == timeColumn:
				value = v.Interface().(time.Time).UTC().Format(wallLayout)
			case columns[k].kind == listColumn:
				value = notNil(v)
			default:
				value = v.Interface()
			}
			b, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("row %d, %s: %w", i+1, columns[k].name, err)
			}
			before := ","
			if k == 0 {
				before = "{"
			}
			fmt.Fprintf(w, "%s%q:%s", before, columns[k].name, b)
		}
		w.WriteString("}\n")
	}
	return w.Flush()
}
