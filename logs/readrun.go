package logs

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// ReadRun reads the journals of a run directory, each in one pass, into tables sorted by key. A
// journal that is torn or damaged is a [Problem]: what stands before the damage is read, as are all
// other journals. onEpisode, which may be nil, is told the progress.
func ReadRun(d *RunDir, onEpisode func(done, total int)) (*Tables, []Problem, error) {
	ids, err := d.Episodes()
	if err != nil {
		return nil, nil, err
	}
	results := make([]*replay, len(ids))
	var mu sync.Mutex
	done := 0
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range ids {
		g.Go(func() error {
			p, err := readEpisode(d, id)
			if err != nil {
				return err
			}
			results[i] = p
			mu.Lock()
			defer mu.Unlock()
			done++
			if onEpisode != nil {
				onEpisode(done, len(ids))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	t := &Tables{}
	var problems []Problem
	for _, p := range results {
		problems = append(problems, p.problems...)
		if !p.started {
			continue
		}
		t.Episodes = append(t.Episodes, p.episode)
		t.Turns = append(t.Turns, p.turns...)
		for _, a := range p.attempts {
			t.Attempts = append(t.Attempts, a.AttemptRow)
		}
		t.Checks = append(t.Checks, p.checks...)
	}
	t.sortRows()
	return t, problems, nil
}

// readEpisode replays one journal. The error is for what stops the whole reading; everything wrong
// with this episode alone is a problem.
func readEpisode(d *RunDir, id string) (*replay, error) {
	p := &replay{file: path.Join("episodes", id, JournalName)}
	whole := func(format string, args ...any) {
		p.problems = append(p.problems, Problem{File: p.file, Text: fmt.Sprintf(format, args...)})
	}
	var blobs *Blobs
	p.blob = func(sha string) (string, error) {
		if blobs == nil {
			dir := filepath.Join(d.EpisodeDir(id), "blobs")
			if _, err := os.Stat(dir); err != nil {
				return "", err
			}
			var err error
			if blobs, err = OpenBlobs(dir); err != nil {
				return "", err
			}
		}
		b, err := blobs.Get(sha)
		return string(b), err
	}
	f, err := openRegular(filepath.Join(d.EpisodeDir(id), JournalName))
	if os.IsNotExist(err) {
		whole("the episode has no journal yet")
		return p, nil
	}
	if err != nil {
		whole("%v", err)
		return p, nil
	}
	defer f.Close()
	end, torn, err := scanJournal(f, p.file, func(r Record) error {
		if r.Episode != id && r.Seq == 0 {
			p.problem(r, "the journal belongs to episode %s", r.Episode)
		}
		p.record(r)
		return nil
	})
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		p.problems = append(p.problems, Problem{File: p.file, Line: corrupt.Line, Offset: corrupt.Offset,
			Text: corrupt.Text + "; read up to here"})
		p.end = nil
	case err != nil:
		return nil, fmt.Errorf("reading episode %s: %w", id, err)
	case torn != nil:
		p.problems = append(p.problems, Problem{File: p.file, Line: torn.Line, Offset: torn.Offset,
			Text: fmt.Sprintf("torn tail of %d bytes (%s); the next run cuts it off", torn.Bytes, torn.Reason)})
	case end == 0:
		whole("the journal is empty")
	}
	p.finish()
	return p, nil
}
