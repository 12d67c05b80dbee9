package logs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
)

// ReadOptions say what [ReadRunWith] reads.
type ReadOptions struct {
	Events bool // the events too, all of them in memory; [IngestRun] needs less
	// Outcomes leaves out what [Tables.Outcomes] does not need and costs most: clauses, checks, and
	// the change texts of turns.
	Outcomes  bool
	OnEpisode func(done, total int) // is told the progress; nil = nobody
}

// ReadRun reads the journals and verdicts of a run directory into all tables but events. onEpisode,
// which may be nil, is told the progress.
func ReadRun(d *RunDir, onEpisode func(done, total int)) (*Tables, []Problem, error) {
	return ReadRunWith(d, ReadOptions{OnEpisode: onEpisode})
}

// ReadRunWith reads the journals of a run directory, each in one pass, and its verdicts into tables
// sorted by key. A journal that is torn or damaged is a [Problem]: what stands before the damage is
// read, as are all other journals.
func ReadRunWith(d *RunDir, opt ReadOptions) (*Tables, []Problem, error) {
	t := &Tables{}
	problems, err := eachEpisode(d, opt, func(p *replay) error {
		t.append(p.tables())
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	verdicts, more, err := ReadVerdicts(d)
	if err != nil {
		return nil, nil, err
	}
	t.Verdicts = verdicts
	t.SetEnds()
	t.sortRows()
	return t, append(problems, more...), nil
}

// ReadForOutcomes reads what [Tables.Outcomes] needs: from the tables if they are fresh, which takes a
// fraction of the time, else from the journals. The rows are the same either way; see
// ReadOptions.Outcomes for what is left out.
func ReadForOutcomes(d *RunDir, onEpisode func(done, total int)) (*Tables, []Problem, error) {
	opt := ReadOptions{Outcomes: true, OnEpisode: onEpisode}
	if d.Fresh() {
		if t, err := ReadTablesWith(d.TablesDir(), opt); err == nil {
			return t, nil, nil
		}
	}
	return ReadRunWith(d, opt)
}

// eachEpisode replays all journals, several at a time, and hands them to use in the order of their
// ids, one at a time. Those that hold no episode are problems only.
func eachEpisode(d *RunDir, opt ReadOptions, use func(*replay) error) ([]Problem, error) {
	ids, err := d.Episodes()
	if err != nil {
		return nil, err
	}
	type result struct {
		p   *replay
		err error
	}
	workers := runtime.GOMAXPROCS(0)
	// Every episode has a channel of its own, and at most workers+1 are begun and not used yet.
	queue := make(chan chan result, workers)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(queue)
		for _, id := range ids {
			c := make(chan result, 1)
			select {
			case queue <- c:
			case <-stop:
				return
			}
			go func() {
				p, err := readEpisode(d, id, opt)
				c <- result{p, err}
			}()
		}
	}()
	var problems []Problem
	done := 0
	for c := range queue {
		r := <-c
		if r.err != nil {
			return nil, r.err
		}
		problems = append(problems, r.p.problems...)
		if r.p.started {
			if err := use(r.p); err != nil {
				return nil, err
			}
		}
		done++
		if opt.OnEpisode != nil {
			opt.OnEpisode(done, len(ids))
		}
	}
	return problems, nil
}

// readEpisode replays one journal. The error is for what stops the whole reading; everything wrong
// with this episode alone is a problem.
func readEpisode(d *RunDir, id string, opt ReadOptions) (*replay, error) {
	p := &replay{file: path.Join("episodes", id, JournalName), want: opt}
	p.blob = blobTexts(filepath.Join(d.EpisodeDir(id), "blobs"))
	f, err := openRegular(filepath.Join(d.EpisodeDir(id), JournalName))
	if os.IsNotExist(err) {
		p.wrong("the episode has no journal yet")
		return p, nil
	}
	if err != nil {
		p.wrong("%v", err)
		return p, nil
	}
	defer f.Close()
	if err := p.journal(f, id); err != nil {
		return nil, err
	}
	p.wastedCopies(d, id)
	if opt.Events {
		p.readEvents(existingBlobs(d, id))
	}
	return p, nil
}

// ReadEpisode reads the journal of one episode into all tables but events and verdicts, without the ends that verdicts
// give. It is for work that goes through a run directory one episode at a time. An episode that has not begun has no rows.
func ReadEpisode(d *RunDir, id string) (*Tables, []Problem, error) {
	return ReadEpisodeWith(d, id, ReadOptions{})
}

// ReadEpisodeWith is [ReadEpisode] with options.
func ReadEpisodeWith(d *RunDir, id string, opt ReadOptions) (*Tables, []Problem, error) {
	p, err := readEpisode(d, id, opt)
	if err != nil {
		return nil, nil, err
	}
	if !p.started {
		return &Tables{}, p.problems, nil
	}
	t := p.tables()
	t.sortRows()
	return t, p.problems, nil
}

// blobTexts reads blobs of a store that is opened with the first one.
func blobTexts(dir string) func(sha string) (string, error) {
	var blobs *Blobs
	return func(sha string) (string, error) {
		if blobs == nil {
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
}

// wrong notes what is wrong with the journal as a whole.
func (p *replay) wrong(format string, args ...any) {
	p.problems = append(p.problems, Problem{File: p.file, Text: fmt.Sprintf(format, args...)})
}

// journal replays a journal to its end. The episode's id is not known of one outside of a run directory.
func (p *replay) journal(f io.Reader, id string) error {
	end, torn, err := scanJournal(f, p.file, func(r Record, line []byte) error {
		if r.Episode != id && r.Seq == 0 && id != "" {
			p.problem(r, "the journal belongs to episode %s", r.Episode)
		}
		p.record(r, line)
		return nil
	})
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		p.problems = append(p.problems, Problem{File: p.file, Line: corrupt.Line, Offset: corrupt.Offset,
			Text: corrupt.Text + "; read up to here"})
		p.end = nil
	case err != nil:
		return fmt.Errorf("reading the journal %s: %w", p.file, err)
	case torn != nil:
		p.problems = append(p.problems, Problem{File: p.file, Line: torn.Line, Offset: torn.Offset,
			Text: fmt.Sprintf("torn tail of %d bytes (%s); the next run cuts it off", torn.Bytes, torn.Reason)})
	case end == 0:
		p.wrong("the journal is empty")
	}
	p.finish()
	return nil
}

// readEvents reads the logs of all attempts.
func (p *replay) readEvents(blobs *Blobs) {
	for i := range p.attempts {
		a := &p.attempts[i]
		events, problems := attemptEvents(&a.AttemptRow, blobs, a.records.lines)
		p.events, p.problems = append(p.events, events...), append(p.problems, problems...)
		a.records.lines = nil
	}
}
