package logs

// IngestOptions are the options of [IngestRun].
type IngestOptions struct {
	OnEpisode func(done, total int) // is told the progress; nil = nobody
}

// Counts are the rows of each table.
type Counts struct {
	Episodes, Turns, Clauses, Attempts, Checks, Events, Verdicts int
}

// IngestRun reads the journals, the agents' logs and the verdicts of a run directory in one pass and
// writes all seven tables into the folder out. It holds a few episodes at a time in memory, and of the
// others only what the table of episodes needs. All files are replaced at once at the end; the same run
// directory gives the same bytes. What could not be read is named in the problems.
func IngestRun(d *RunDir, out string, opt IngestOptions) (Counts, []Problem, error) {
	var n Counts
	stamp, err := d.stamp()
	if err != nil {
		return n, nil, err
	}
	w, err := createTables(out)
	if err != nil {
		return n, nil, err
	}
	defer w.abort()
	problems, err := eachPart(d, opt, func(part *Tables) error {
		n.add(part)
		return w.add(part)
	})
	if err != nil {
		return n, nil, err
	}
	if err := w.commit(); err != nil {
		return n, nil, err
	}
	if len(problems) > 0 {
		return n, problems, nil // without a stamp: whoever reads the run is to be told again
	}
	return n, nil, stamp.write(out)
}

// eachPart hands on the rows of a run directory: episode by episode without the episodes' own rows, then all of those
// and the verdicts. The rows are sorted within each part.
func eachPart(d *RunDir, opt IngestOptions, use func(*Tables) error) ([]Problem, error) {
	verdicts, problems, err := ReadVerdicts(d)
	if err != nil {
		return nil, err
	}
	// The ends of episodes follow from their attempts, of which those that may be the last are kept.
	ends := &Tables{Verdicts: verdicts}
	more, err := eachEpisode(d, ReadOptions{Events: true, OnEpisode: opt.OnEpisode}, func(p *replay) error {
		part := p.tables()
		part.sortRows()
		ends.Episodes = append(ends.Episodes, p.episode)
		ends.Attempts = append(ends.Attempts, lastAttempts(part.Attempts)...)
		part.Episodes = nil
		return use(part)
	})
	if err != nil {
		return nil, err
	}
	ends.SetEnds()
	last := &Tables{Episodes: ends.Episodes, Verdicts: verdicts}
	last.sortRows()
	return append(more, problems...), use(last)
}

func (c *Counts) add(t *Tables) {
	c.Episodes += len(t.Episodes)
	c.Turns += len(t.Turns)
	c.Clauses += len(t.Clauses)
	c.Attempts += len(t.Attempts)
	c.Checks += len(t.Checks)
	c.Events += len(t.Events)
	c.Verdicts += len(t.Verdicts)
}

// lastAttempts are the two attempts that can decide the end of their episode: the last one, and the
// last one that failed.
func lastAttempts(rows []AttemptRow) []AttemptRow {
	var out []AttemptRow
	for i := len(rows) - 1; i >= 0; i-- {
		a := &rows[i]
		fails := a.failed()
		if i == len(rows)-1 || fails {
			out = append(out, *a)
		}
		if fails {
			break
		}
	}
	return out
}

func (t *Tables) append(more *Tables) {
	t.Episodes = append(t.Episodes, more.Episodes...)
	t.Turns = append(t.Turns, more.Turns...)
	t.Clauses = append(t.Clauses, more.Clauses...)
	t.Attempts = append(t.Attempts, more.Attempts...)
	t.Checks = append(t.Checks, more.Checks...)
	t.Events = append(t.Events, more.Events...)
	t.Verdicts = append(t.Verdicts, more.Verdicts...)
}

// tables are the rows of one episode.
func (p *replay) tables() *Tables {
	t := &Tables{Episodes: []EpisodeRow{p.episode}, Turns: p.turns, Clauses: p.clauses, Checks: p.checks, Events: p.events}
	for i := range p.attempts {
		t.Attempts = append(t.Attempts, p.attempts[i].AttemptRow)
	}
	return t
}
