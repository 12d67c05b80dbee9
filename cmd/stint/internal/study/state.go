package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/logs"
)

// state is how far an episode has come, by the last line of its journal.
type state int

const (
	stateOpen    state = iota // no journal, or no episode.end at its end
	stateValid                // failed or capped
	stateStopped              // ended by something that was not the agent
)

// episodeState reads the end of a journal. It is a cheap look at one line; the episode itself verifies the
// whole chain when it goes on.
func episodeState(dir string) (state, error) {
	line, err := lastLine(filepath.Join(dir, "journal.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return stateOpen, nil
	}
	if err != nil {
		return stateOpen, err
	}
	var r logs.Record
	var end logs.EpisodeEnd
	if json.Unmarshal(line, &r) != nil || r.Type != logs.TypeEpisodeEnd || json.Unmarshal(r.Data, &end) != nil {
		return stateOpen, nil // a torn tail is repaired when the episode goes on
	}
	return stateOf(end.EndReason), nil
}

// verify checks the chains of all journals that have an end, as many at a time as there are processors. Its error
// names the first damaged one.
func (w *work) verify(selected []PlannedEpisode) error {
	errs := make([]error, len(selected))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range selected {
		g.Go(func() error {
			dir := w.dir.EpisodeDir(w.id(e))
			st, err := episodeState(dir)
			if err == nil && st != stateOpen {
				_, _, err = logs.ReadJournal(filepath.Join(dir, logs.JournalName))
			}
			if err != nil {
				errs[i] = fmt.Errorf("episode %s (%s, %s#%d): %w", w.id(e), e.Config, scenarioName(e.Scenario), e.Repeat, err)
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs, where their order is that of the plan
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// stateOf sorts the reasons for the end of an episode.
func stateOf(reason string) state {
	if reason == "failed" || reason == "capped" {
		return stateValid
	}
	return stateStopped
}

// The last line of a finished journal is short; a longer one is no episode.end.
const tailSize = 64 << 10

// lastLine returns the last complete line of a file, or nil if there is none within the tail.
func lastLine(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("reading the end of %s: %w", path, err)
	}
	start := max(0, size-tailSize)
	b := make([]byte, size-start)
	if _, err := f.ReadAt(b, start); err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading the end of %s: %w", path, err)
	}
	b, ended := bytes.CutSuffix(b, []byte("\n"))
	if !ended {
		return nil, nil
	}
	i := bytes.LastIndexByte(b, '\n')
	if i < 0 && start > 0 {
		return nil, nil
	}
	return b[i+1:], nil
}

// SpentUSD is what the episodes of a run directory have cost before a time, in dollars.
func SpentUSD(d *logs.RunDir, before time.Time) (float64, error) { return spentUSD(d, before) }

// spentUSD sums what the journals of a run directory say was paid before a time, void attempts included: a study budget
// holds over all runs in it.
func spentUSD(d *logs.RunDir, before time.Time) (float64, error) {
	ids, err := d.Episodes()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	before = before.Truncate(time.Millisecond) // as journals do
	for _, id := range ids {
		records, _, err := logs.ReadJournal(filepath.Join(d.EpisodeDir(id), "journal.jsonl"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("summing what the study has spent: %w", err)
		}
		for _, r := range records {
			if r.Type != logs.TypeUsage {
				continue
			}
			if at, err := time.Parse(time.RFC3339, r.TWall); err == nil && !at.Before(before) {
				continue
			}
			u, err := logs.Decode[logs.Usage](r)
			if err != nil {
				return 0, fmt.Errorf("summing what the study has spent: %w", err)
			}
			if u.USD != nil {
				sum += *u.USD
			}
		}
	}
	return sum, nil
}
