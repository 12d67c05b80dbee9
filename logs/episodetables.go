package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
)

// EpisodeTables gives the tables in a folder one episode at a time. Beside the table of episodes it holds where in the
// files the rows of an episode are, and of each file one row group, so that what is in memory does not grow with the
// logs. It can be used from several goroutines.
type EpisodeTables struct {
	mu       sync.Mutex
	ids      []string
	episodes map[string][]EpisodeRow
	turns    *tableIndex[TurnRow]
	clauses  *tableIndex[ClauseRow]
	attempts *tableIndex[AttemptRow]
	checks   *tableIndex[CheckRow]
	events   *tableIndex[EventRow]
}

// OpenEpisodeTables looks at the tables that [IngestLogs] or [IngestRun] wrote into a folder, or another tool in any order
// of rows. Close them after use.
func OpenEpisodeTables(dir string) (_ *EpisodeTables, err error) {
	t := &EpisodeTables{episodes: map[string][]EpisodeRow{}}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	var rows []EpisodeRow
	if err := readTable(dir, "episodes", &rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if t.episodes[r.Episode] == nil {
			t.ids = append(t.ids, r.Episode)
		}
		t.episodes[r.Episode] = append(t.episodes[r.Episode], r)
	}
	if t.turns, err = indexTable(dir, "turns", func(r *TurnRow) string { return r.Episode }); err != nil {
		return nil, err
	}
	if t.clauses, err = indexTable(dir, "clauses", func(r *ClauseRow) string { return r.Episode }); err != nil {
		return nil, err
	}
	if t.attempts, err = indexTable(dir, "attempts", func(r *AttemptRow) string { return r.Episode }); err != nil {
		return nil, err
	}
	if t.checks, err = indexTable(dir, "checks", func(r *CheckRow) string { return r.Episode }); err != nil {
		return nil, err
	}
	if t.events, err = indexTable(dir, "events", func(r *EventRow) string { return r.Episode }); err != nil {
		return nil, err
	}
	t.order()
	return t, nil
}

// order sorts the episodes by where their rows begin in the largest table, so that going through them reads a file once.
func (t *EpisodeTables) order() {
	first := func(groups []int) int {
		if len(groups) == 0 {
			return 1 << 30
		}
		return groups[0]
	}
	slices.SortStableFunc(t.ids, func(a, b string) int {
		if n := first(t.events.groups[a]) - first(t.events.groups[b]); n != 0 {
			return n
		}
		return first(t.checks.groups[a]) - first(t.checks.groups[b])
	})
}

// Close lets go of the files.
func (t *EpisodeTables) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.turns.close(), t.clauses.close(), t.attempts.close(), t.checks.close(), t.events.close())
}

// IDs are the episodes in the order in which reading all of them is cheapest.
func (t *EpisodeTables) IDs() []string { return slices.Clone(t.ids) }

// Stamp is a hash of everything the tables hold but the ends that verdicts gave the episodes.
func (t *EpisodeTables) Stamp() (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, id := range t.ids {
		for _, e := range t.episodes[id] {
			e.EndL1, e.EndLeaf, e.EndSource = nil, nil, nil
			if err := enc.Encode(e); err != nil {
				return "", fmt.Errorf("hashing the table of episodes: %w", err)
			}
		}
	}
	for _, p := range []*parquetFile{t.turns.p, t.clauses.p, t.attempts.p, t.checks.p, t.events.p} {
		if err := p.hash(h); err != nil {
			return "", fmt.Errorf("hashing %s: %w", p.path, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hash writes the length and the bytes of the file.
func (p *parquetFile) hash(h io.Writer) error {
	st, err := p.f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d\n", filepath.Base(p.path), st.Size())
	_, err = io.Copy(h, io.NewSectionReader(p.f, 0, st.Size()))
	return err
}

// Row is the row of an episode, or nil if there is none.
func (t *EpisodeTables) Row(id string) *EpisodeRow {
	if rows := t.episodes[id]; len(rows) > 0 {
		row := rows[0]
		return &row
	}
	return nil
}

// Episode reads all rows of one episode, events included and verdicts left out, in the order of the tables.
func (t *EpisodeTables) Episode(id string) (*Tables, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &Tables{Episodes: slices.Clone(t.episodes[id])}
	err := errors.Join(t.turns.add(id, &out.Turns), t.clauses.add(id, &out.Clauses), t.attempts.add(id, &out.Attempts),
		t.checks.add(id, &out.Checks), t.events.add(id, &out.Events))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// tableIndex knows in which row groups of a table the rows of each episode are.
type tableIndex[T any] struct {
	p      *parquetFile
	cols   []column
	at     []int
	of     func(*T) string
	groups map[string][]int

	group int // that is held; -1 = none
	rows  []T
	own   map[string][]int32 // the rows of each episode in it
}

// indexTable reads no column but that of the episodes.
func indexTable[T any](dir, name string, of func(*T) string) (x *tableIndex[T], err error) {
	path := filepath.Join(dir, name+".parquet")
	p, err := openParquet(path)
	if err != nil {
		return nil, err
	}
	x = &tableIndex[T]{p: p, cols: columnsOf[T](), of: of, groups: map[string][]int{}, group: -1}
	defer func() {
		if err != nil {
			p.close()
			x, err = nil, &TableError{File: path, Text: err.Error(), Way: "make the tables again: stint ingest"}
		}
	}()
	defer catchPanic(brokenParquet, &err)
	x.at = make([]int, len(x.cols))
	for i := range x.cols {
		if x.at[i], err = p.leaf(&x.cols[i]); err != nil {
			return x, err
		}
	}
	episode := p.columnIndex("episode")
	for g := range p.r.NumRowGroups() {
		if n := p.r.RowGroup(g).NumRows(); n < 0 || n > 1<<20 {
			return x, fmt.Errorf("row group %d claims %d rows", g, n)
		}
		ids, err := p.words(g, episode)
		if err != nil {
			return x, fmt.Errorf("column episode: %w", err)
		}
		last := ""
		for _, id := range ids {
			if id == last {
				continue
			}
			last = id
			if in := x.groups[id]; len(in) == 0 || in[len(in)-1] != g {
				x.groups[id] = append(in, g)
			}
		}
	}
	return x, nil
}

func (x *tableIndex[T]) close() error {
	if x != nil {
		x.p.close()
	}
	return nil
}

// add appends the rows of an episode.
func (x *tableIndex[T]) add(id string, to *[]T) error {
	for _, g := range x.groups[id] {
		if err := x.hold(g); err != nil {
			return &TableError{File: x.p.path, Text: err.Error(), Way: "make the tables again: stint ingest"}
		}
		for _, i := range x.own[id] {
			*to = append(*to, x.rows[i])
		}
	}
	return nil
}

// hold reads a row group, unless it is the one that is held.
func (x *tableIndex[T]) hold(g int) (err error) {
	if x.group == g {
		return nil
	}
	defer catchPanic(brokenParquet, &err)
	x.group, x.rows, x.own = -1, nil, map[string][]int32{} // the old one need not wait for the new one
	rows := make([]T, x.p.r.RowGroup(g).NumRows())
	for i := range x.cols {
		if err := fillFrom(x.p, g, x.at[i], &x.cols[i], rows); err != nil {
			return fmt.Errorf("column %s: %w", x.cols[i].name, err)
		}
	}
	for i := range rows {
		id := x.of(&rows[i])
		x.own[id] = append(x.own[id], int32(i))
	}
	x.group, x.rows = g, rows
	return nil
}
