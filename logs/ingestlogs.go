package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// LogIngest is what [IngestLogs] did.
type LogIngest struct {
	Counts
	Files    []FileReport // what each file was taken for
	Problems []Problem    // what could not be read, the first maxListedProblems of them
	Bad      int          // how many there are
	Doubts   []Problem    // what was read, but may not be what it seems
}

// maxListedProblems bounds the list of what could not be read; all of them are counted, and are rows of the events.
const maxListedProblems = 10_000

// portion is how many rows are handed to the tables at a time. Events go to theirs one by one.
const portion = 4096

// IngestLogs writes everything that r reads into the tables of the folder out, and beside them files.json: what each
// file was taken for. It holds a few thousand rows at a time, and the rows of episodes, which come sorted. The files
// are replaced at once at the end; if ctx ends before, nothing is written. onRecord, which may be nil, is told how many records there were so far.
func IngestLogs(ctx context.Context, r *Reader, out string, onRecord func(n int)) (*LogIngest, error) {
	w, err := createTables(out)
	if err != nil {
		return nil, err
	}
	defer w.abort()
	res := &LogIngest{}
	part, last := &Tables{}, &Tables{}
	flush := func() error {
		res.add(part)
		err := w.add(part)
		*part = Tables{}
		return err
	}
	rows := 0
	for rec := range r.rest() {
		switch {
		case rec.Problem != nil:
			if res.Bad++; len(res.Problems) < maxListedProblems {
				res.Problems = append(res.Problems, *rec.Problem)
			}
		case rec.Doubt != nil:
			res.Doubts = append(res.Doubts, *rec.Doubt)
		case rec.Episode != nil:
			last.Episodes = append(last.Episodes, *rec.Episode)
		case rec.Verdict != nil:
			last.Verdicts = append(last.Verdicts, *rec.Verdict)
		case rec.Event != nil:
			res.Events++
			if err := w.events.addRow(rec.Event); err != nil {
				return nil, err
			}
		default:
			part.appendRecord(rec)
		}
		if rows++; rows%portion == 0 {
			if err := cmp.Or(ctx.Err(), flush()); err != nil {
				return nil, err
			}
			if onRecord != nil {
				onRecord(rows)
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	last.sortRows()
	part.append(last)
	if err := flush(); err != nil {
		return nil, err
	}
	res.Files = r.Files()
	for _, f := range res.Files {
		if f.Error != "" {
			res.Bad++
			res.Problems = append(res.Problems, Problem{File: f.Path, Text: f.Error})
		}
	}
	if err := w.commit(); err != nil {
		return nil, err
	}
	return res, writeFileReports(filepath.Join(out, "files.json"), res.Files)
}

// appendRecord appends a row, which is no event, to its table.
func (t *Tables) appendRecord(r LogRecord) {
	switch {
	case r.Turn != nil:
		t.Turns = append(t.Turns, *r.Turn)
	case r.Clause != nil:
		t.Clauses = append(t.Clauses, *r.Clause)
	case r.Attempt != nil:
		t.Attempts = append(t.Attempts, *r.Attempt)
	case r.Check != nil:
		t.Checks = append(t.Checks, *r.Check)
	}
}

// writeFileReports writes what each file was taken for.
func writeFileReports(path string, files []FileReport) error {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b FileReport) int { return cmp.Compare(a.Path, b.Path) })
	b, err := json.MarshalIndent(struct {
		Schema string       `json:"schema"`
		Files  []FileReport `json:"files"`
	}{"stint.files/1", files}, "", " ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return writeAtomic(path, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}
