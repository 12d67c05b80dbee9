package logs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// replay turns the records of one journal into rows. Feed it every record in order, then call finish.
type replay struct {
	file     string // of the journal, relative to the run directory
	blob     func(sha string) (string, error)
	want     ReadOptions
	problems []Problem
	records  int // read so far

	start    EpisodeStart
	started  bool
	episode  EpisodeRow
	turns    []TurnRow
	clauses  []ClauseRow
	clauseAt map[string]int
	attempts []attemptState
	checks   []CheckRow
	events   []EventRow
	end      *EpisodeEnd
	models   []string
	mono     float64 // of the newest record
	wall     float64 // of the processes before the running one
}

// attemptState is an attempt with what its row does not hold.
type attemptState struct {
	AttemptRow
	number  int
	open    bool // no later attempt or end of turn has closed it
	ended   bool // the agent has ended
	usage   map[string]Usage
	pending []CheckRow // of a grading that has not ended
	records attemptRecords
}

// Problem is something in a file that could not be read. It does not stop the rest.
type Problem struct {
	File   string
	Line   int   // from 1; 0 = the file as a whole
	Offset int64 // of the line
	Text   string
}

// String renders the problem as file:line: text.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d (byte %d): %s", p.File, p.Line, p.Offset, p.Text)
}

func (p *replay) problem(r Record, format string, args ...any) {
	p.problems = append(p.problems, Problem{File: p.file, Line: int(r.Seq) + 1, Offset: r.Offset, Text: fmt.Sprintf(format, args...)})
}

// read decodes the data of a record and hands it on; what cannot be decoded is a problem.
func read[T any](p *replay, r Record, use func(T)) {
	v, err := Decode[T](r)
	if err != nil {
		p.problem(r, "%v", err)
		return
	}
	use(v)
}

func (p *replay) record(r Record, line []byte) {
	p.records++
	if r.Type == TypeResume {
		read(p, r, func(v Resume) { p.resume(r, v) })
	} else if r.TMono < p.mono {
		p.wall, p.mono = p.wall+p.mono, 0
	}
	p.mono = max(p.mono, r.TMono)
	if a := p.open(); p.want.Events && a != nil && (r.Type == TypeResume || a.owns(r)) {
		a.records.keep(r, line)
	}
	if !p.started && r.Type != TypeEpisodeStart {
		p.problem(r, "%s before %s", r.Type, TypeEpisodeStart)
		return
	}
	switch r.Type {
	case TypeEpisodeStart:
		read(p, r, func(v EpisodeStart) { p.episodeStart(r, v) })
	case TypeTurnStart:
		if p.want.Outcomes {
			read(p, r, func(v lightTurnStart) { p.turnStart(r, v.whole()) })
			return
		}
		read(p, r, func(v TurnStart) { p.turnStart(r, v) })
	case TypeAttemptStart:
		read(p, r, func(v AttemptStart) { p.attemptStart(r, v) })
	case TypeTurnEnd:
		read(p, r, func(v TurnEnd) { p.turnEnd(r, v) })
	case TypeEpisodeEnd:
		read(p, r, func(v EpisodeEnd) { p.end = &v })
	case TypeResume, TypeBuild, TypeServerReady, TypeServerExit, TypeSuiteEnd:
		// They fill no column but those of events.
	default:
		p.attemptRecord(r)
	}
}

func (p *replay) resume(r Record, v Resume) {
	if v.Epoch > 1 || r.TMono < p.mono {
		p.wall, p.mono = p.wall+p.mono, 0
	}
	p.end = nil // a stopped episode that is tried again
	if a := p.open(); a != nil {
		a.pending = nil // the grading starts again
	}
}

func (p *replay) place(r Record) Place {
	return Place{File: p.file, Offset: r.Offset, Length: r.Length}
}

func (p *replay) episodeStart(r Record, v EpisodeStart) {
	if p.started {
		p.problem(r, "a second %s", TypeEpisodeStart)
		return
	}
	p.start, p.started = v, true
	p.episode = EpisodeRow{
		Study: v.Study, Episode: r.Episode, Config: v.Config, Model: v.Model.Asked,
		Harness: v.Harness.Name, HarnessVersion: v.Harness.Version, Feedback: v.Feedback,
		Retries: v.Retries, ProcessRetries: v.ProcessRetries, Session: v.Session, Delivery: v.Delivery,
		Scenario: v.Scenario.ID, ScenarioSHA: v.Scenario.Content, Repeat: v.Repeat, Seed: v.Seed,
		TurnsMax: v.TurnsMax, Mode: v.Mode, Sandbox: strings.TrimSpace(v.Sandbox.Kind + " " + v.Sandbox.Fingerprint),
		Place: p.place(r),
	}
	if t, err := time.Parse(time.RFC3339, r.TWall); err == nil {
		t = t.UTC()
		p.episode.Started = &t
	}
}

// lightTurnStart is TurnStart without the words of clauses, which are most of it.
type lightTurnStart struct {
	Operation string `json:"operation"`
	Label     string `json:"label"`
	Clauses   struct {
		Added   []struct{ ID string } `json:"added"`
		Changed []struct{ ID string } `json:"changed"`
		Removed []string              `json:"removed"`
	} `json:"clauses"`
	Suite struct {
		SHA    string `json:"sha"`
		Checks int    `json:"checks"`
	} `json:"suite"`
}

func (v lightTurnStart) whole() TurnStart {
	t := TurnStart{Operation: v.Operation, Label: v.Label, Suite: SuiteRef{SHA: v.Suite.SHA, Checks: v.Suite.Checks}}
	for _, c := range v.Clauses.Added {
		t.Clauses.Added = append(t.Clauses.Added, ClauseRef{ID: c.ID})
	}
	for _, c := range v.Clauses.Changed {
		t.Clauses.Changed = append(t.Clauses.Changed, ClauseRef{ID: c.ID})
	}
	t.Clauses.Removed = v.Clauses.Removed
	return t
}

func (p *replay) turnStart(r Record, v TurnStart) {
	if r.Turn == nil {
		p.problem(r, "%s without a turn", r.Type)
		return
	}
	row := TurnRow{
		Episode: r.Episode, Turn: *r.Turn, Operation: v.Operation, OperationLabel: v.Label,
		ClausesAdded: clauseIDs(v.Clauses.Added), ClausesChanged: clauseIDs(v.Clauses.Changed),
		ClausesRemoved: append([]string{}, v.Clauses.Removed...),
		Checks:         v.Suite.Checks, SuiteSHA: v.Suite.SHA, Place: p.place(r),
	}
	if !p.want.Outcomes {
		if text, err := p.blob(v.ChangeSHA); err != nil {
			p.problem(r, "change text: %v", err)
		} else {
			row.ChangeText = &text
		}
		p.changeClauses(r, v.Clauses)
	}
	if t := p.turn(*r.Turn); t != nil {
		*t = row // begun again after a stop
		return
	}
	p.turns = append(p.turns, row)
}

// changeClauses applies what a turn did to the clauses. Doing it twice changes nothing.
func (p *replay) changeClauses(r Record, c ClauseChanges) {
	turn := *r.Turn
	for _, ref := range c.Added {
		p.clause(r, ref).Removed = nil
	}
	for _, ref := range c.Changed {
		row := p.clause(r, ref)
		row.Changed = &turn
	}
	for _, id := range c.Removed {
		// An episode that starts in the middle removes clauses it never saw; nothing is known of them.
		if i, ok := p.clauseAt[id]; ok {
			p.clauses[i].Removed = &turn
		}
	}
}

// clause returns the row of a clause with its newest words, a new one if the clause is new.
func (p *replay) clause(r Record, ref ClauseRef) *ClauseRow {
	i, ok := p.clauseAt[ref.ID]
	if !ok {
		if p.clauseAt == nil {
			p.clauseAt = map[string]int{}
		}
		i = len(p.clauses)
		p.clauseAt[ref.ID] = i
		p.clauses = append(p.clauses, ClauseRow{Episode: r.Episode, Clause: ref.ID, Introduced: *r.Turn, Place: p.place(r)})
	}
	row := &p.clauses[i]
	row.Kind, row.Title, row.Text = ref.Kind, ref.Title, ref.Text
	return row
}

func clauseIDs(refs []ClauseRef) []string {
	ids := make([]string, len(refs))
	for i, c := range refs {
		ids[i] = c.ID
	}
	return ids
}

func (p *replay) turn(n int) *TurnRow {
	for i := len(p.turns) - 1; i >= 0; i-- {
		if p.turns[i].Turn == n {
			return &p.turns[i]
		}
	}
	return nil
}

// open returns the newest attempt while records may still belong to it.
func (p *replay) open() *attemptState {
	if n := len(p.attempts); n > 0 && p.attempts[n-1].open {
		return &p.attempts[n-1]
	}
	return nil
}

func (p *replay) attemptStart(r Record, v AttemptStart) {
	if r.Turn == nil || r.Attempt == nil {
		p.problem(r, "%s without turn and attempt", r.Type)
		return
	}
	if a := p.open(); a != nil {
		if a.Turn == *r.Turn && a.number == *r.Attempt {
			// Its void record is missing; two attempts of one number cannot both count.
			p.problem(r, "attempt %d of turn %d starts twice; the first is read as void", a.number, a.Turn)
			a.void("host")
		}
		a.close()
	}
	n := *r.Attempt
	p.attempts = append(p.attempts, attemptState{
		AttemptRow: AttemptRow{Episode: r.Episode, Turn: *r.Turn, Attempt: &n, Kind: v.Kind, Place: p.place(r)},
		number:     n, open: true, usage: map[string]Usage{},
	})
}

func (a *attemptState) owns(r Record) bool {
	return r.Turn != nil && *r.Turn == a.Turn && r.Attempt != nil && *r.Attempt == a.number
}

func (a *attemptState) close() { a.open, a.pending = false, nil }

func (a *attemptState) void(reason string) {
	n := a.number
	a.Attempt, a.VoidOf, a.VoidReason, a.pending = nil, &n, &reason, nil
}

// attemptRecord handles what belongs to the open attempt.
func (p *replay) attemptRecord(r Record) {
	a := p.open()
	if a == nil || !a.owns(r) {
		p.problem(r, "%s belongs to no running attempt", r.Type)
		return
	}
	switch r.Type {
	case TypeAgentExit:
		read(p, r, func(v AgentExit) { a.exit(v) })
	case TypeUsage:
		read(p, r, func(v Usage) {
			a.usage[v.Via] = v
			if v.ModelReturned != "" && !slices.Contains(p.models, v.ModelReturned) {
				p.models = append(p.models, v.ModelReturned)
			}
		})
	case TypeSnapshot:
		read(p, r, func(v SnapshotTaken) { a.snapshot(v) })
	case TypeCheckFail:
		if p.want.Outcomes {
			return
		}
		read(p, r, func(v CheckFail) { a.pending = append(a.pending, p.check(r, a, v)) })
	case TypeGradeEnd:
		read(p, r, func(v GradeEnd) {
			a.Passed, a.GradeReason, a.GradeS = v.Passed, text(v.Reason), &v.GradeS
			if v.Passed != nil {
				p.checks = append(p.checks, a.pending...)
			}
			a.pending = nil
		})
	case TypeFeedbackSent:
		read(p, r, func(v FeedbackSent) { a.FeedbackBytes = &v.Bytes })
	case TypeVoid:
		read(p, r, func(v Void) {
			a.void(v.Reason)
			turn, number := a.Turn, a.number
			p.checks = slices.DeleteFunc(p.checks, func(c CheckRow) bool { return c.Turn == turn && c.Attempt == number })
			a.close()
		})
	default:
		p.problem(r, "unknown record type %q", r.Type)
	}
}

// text is nil for "", which the journal writes for null.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (a *attemptState) exit(v AgentExit) {
	a.ended = true
	a.ExitCode, a.Signal, a.Completion, a.AgentS = v.Exit, text(v.Signal), text(v.Completion), &v.AgentS
	by := v.By
	if v.By == "limit" && v.Limit != "" {
		by = "limit:" + v.Limit
	}
	a.EndedBy = text(by)
}

func (a *attemptState) snapshot(v SnapshotTaken) {
	a.pending = nil
	a.Snapshot, a.Home = text(v.Tree), text(v.HomeSHA)
	a.LOC, a.LinesAdded, a.LinesDeleted, a.Files = &v.LOC, &v.Added, &v.Deleted, &v.Files
}

func (p *replay) check(r Record, a *attemptState, v CheckFail) CheckRow {
	return CheckRow{
		Episode: r.Episode, Turn: a.Turn, Attempt: a.number, Check: v.Check, Clauses: append([]string{}, v.Clauses...),
		Category: v.Category, Intent: v.Intent, Mutation: v.Mutation, Status: v.Status,
		Introduced: v.Introduced, LastPassedTurn: v.LastPassed, Age: v.Age,
		Request: v.Request, Expected: v.Expected, Actual: v.Actual, Confirmed: v.Confirmed, Place: p.place(r),
	}
}

func (p *replay) turnEnd(r Record, v TurnEnd) {
	if r.Turn == nil || p.turn(*r.Turn) == nil {
		p.problem(r, "%s of a turn that did not start", r.Type)
		return
	}
	if a := p.open(); a != nil {
		a.close()
	}
	t := p.turn(*r.Turn)
	t.Passed, t.AttemptsUsed = &v.Passed, &v.AttemptsUsed
}
