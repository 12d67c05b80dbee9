package episode

import (
	"fmt"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// phase is what the last record left to do.
type phase int

const (
	phaseStart   phase = iota // nothing is recorded: episode.start
	phaseTurn                 // turn.start
	phaseAttempt              // attempt.start
	phaseRunning              // the agent runs; in a journal that is resumed: it was interrupted
	phaseExited               // usage
	phaseUsage                // void, or snapshot and grading
	phaseGrade                // grading, from the snapshot
	phaseGraded               // turn.end, feedback.sent, process retry, or grading again
	phaseTurnEnd              // the next turn, or episode.end
	phaseEnded
)

// snapshot names a state of workspace and HOME. The zero value is the empty state before turn 0.
type snapshot struct{ tree, home string }

// turnRecord is the data of turn.start. Base is the tree that the turn starts from when that is not what the turn before
// left: under teleport.
type turnRecord struct {
	logs.TurnStart
	Base string `json:"base,omitempty"`
}

// startRecord is the data of attempt.start. Work is a random token: files in the scratch folder that carry
// the same one are those of this attempt.
type startRecord struct {
	logs.AttemptStart
	Work string `json:"work"`
}

// exitRecord is the data of agent.exit. Its own keys let a resumed episode go on as the interrupted one
// would have: whether the attempt is void and what it consumed is known before usage and void are written.
type exitRecord struct {
	logs.AgentExit
	Void           string     `json:"void,omitempty"`
	VoidEvidence   string     `json:"void_evidence,omitempty"`
	VoidScope      string     `json:"void_scope,omitempty"` // of a budget: episode or study
	SessionDamaged bool       `json:"session_damaged,omitempty"`
	Usage          logs.Usage `json:"usage"`
	// Reported is what the agent's own log says beside the gateway's count; it becomes a usage record of its own.
	Reported *logs.Usage `json:"reported,omitempty"`
}

// gradeRecord is the data of grade.end. Fault is host or bench when Passed is null.
type gradeRecord struct {
	logs.GradeEnd
	Detail string `json:"detail,omitempty"`
	Fault  string `json:"fault,omitempty"`
}

// state is the fold of an episode's records.
type state struct {
	phase phase
	start logs.EpisodeStart
	epoch int
	host  string // that wrote the last stretch
	// stalled counts the processes that have worked on the episode since it last got further, the present one included,
	// but not those that left in order.
	stalled int

	turn, attempt int
	kind          string // of the attempt that runs or comes next
	prompt        string // prompt_sha of the last attempt.start
	work          string // token of the last attempt.start; see workbox
	try           int    // earlier starts of this attempt that the agent or its provider ended: seeds must not see ours
	voids         int    // that count against MaxVoids
	nulls         int    // gradings of this attempt that failed for reasons of our own
	processUsed   int    // process retries of this turn

	exit     *exitRecord
	usage    bool // usage of this attempt is recorded
	reported bool // what the agent's own log says of its usage is recorded too
	void     logs.Void
	grade    gradeRecord
	told     string          // result blob of the attempt that the feedback is about; "" = none in this turn
	fails    map[string]bool // checks that failed in the grading that runs or ran last

	base     snapshot  // what the next attempt starts from
	pending  *snapshot // taken after the attempt that runs
	turnBase string    // tree at the end of the previous turn
	kept     bool      // base is what an attempt of this turn left, its HOME included

	passed []bool            // by turn
	failed []map[string]bool // by turn: checks not passed at its end; nil = none was, whatever the suite
	tokens int64
	usd    float64
	priced bool // usd is known for at least one attempt

	end logs.EpisodeEnd
}

// turnsPassed is T: the first failed turn, or the turns passed so far. Under teleport, where there is no T, it counts
// the turns passed.
func (s *state) turnsPassed() int {
	if s.start.Mode == ModeTeleport {
		return s.passes()
	}
	for t, ok := range s.passed {
		if !ok {
			return t
		}
	}
	return len(s.passed)
}

// passes counts the turns passed, wherever they stand.
func (s *state) passes() int {
	n := 0
	for _, ok := range s.passed {
		if ok {
			n++
		}
	}
	return n
}

// lastPassed is the last turn before turn in which the check passed, or nil. The code base that a turn starts from under
// teleport passes the whole suite of the turn before.
func (s *state) lastPassed(check string, turn int, inSuite func(turn int, check string) bool) *int {
	if s.start.Mode == ModeTeleport {
		if before := turn - 1; before >= 0 && inSuite(before, check) {
			return &before
		}
		return nil
	}
	for t := turn - 1; t >= 0; t-- {
		if t < len(s.failed) && s.failed[t] != nil && !s.failed[t][check] && inSuite(t, check) {
			return &t
		}
	}
	return nil
}

// apply folds one record.
func (s *state) apply(r logs.Record) error {
	var err error
	switch r.Type {
	case logs.TypeEpisodeStart:
		s.start, err = logs.Decode[logs.EpisodeStart](r)
		s.phase = phaseTurn
	case logs.TypeResume:
		err = s.applyResume(r)
	case logs.TypeTurnStart:
		var d turnRecord
		d, err = logs.Decode[turnRecord](r)
		if d.Base != "" {
			s.base, s.turnBase = snapshot{tree: d.Base}, d.Base
		}
		s.turn, s.attempt, s.kind = *r.Turn, 0, harness.KindFirst
		s.freshAttempt()
		s.processUsed, s.told, s.kept = 0, "", false
		s.phase = phaseAttempt
	case logs.TypeAttemptStart:
		var d startRecord
		d, err = logs.Decode[startRecord](r)
		s.kind, s.prompt, s.work = d.Kind, d.PromptSHA, d.Work
		s.pending, s.exit, s.usage, s.reported, s.fails = nil, nil, false, false, map[string]bool{}
		s.phase = phaseRunning
	case logs.TypeAgentExit:
		var d exitRecord
		d, err = logs.Decode[exitRecord](r)
		s.exit, s.phase, s.stalled = &d, phaseExited, 0
	case logs.TypeUsage:
		err = s.applyUsage(r)
	case logs.TypeSnapshot:
		var d logs.SnapshotTaken
		d, err = logs.Decode[logs.SnapshotTaken](r)
		s.pending, s.fails, s.phase, s.stalled = &snapshot{d.Tree, d.HomeSHA}, map[string]bool{}, phaseGrade, 0
	case logs.TypeCheckFail:
		var d logs.CheckFail
		d, err = logs.Decode[logs.CheckFail](r)
		s.fails[d.Check] = true
	case logs.TypeBuild, logs.TypeServerReady, logs.TypeServerExit, logs.TypeSuiteEnd:
	case logs.TypeGradeEnd:
		s.grade, err = logs.Decode[gradeRecord](r)
		if s.grade.Passed == nil {
			s.nulls++
		}
		s.phase, s.stalled = phaseGraded, 0
	case logs.TypeVoid:
		err = s.applyVoid(r)
	case logs.TypeFeedbackSent:
		s.keepPending()
		s.told = s.grade.Result
		s.attempt, s.kind = s.attempt+1, harness.KindRetry
		s.freshAttempt()
		s.phase = phaseAttempt
	case logs.TypeTurnEnd:
		s.stalled = 0
		err = s.applyTurnEnd(r)
	case logs.TypeEpisodeEnd:
		s.end, err = logs.Decode[logs.EpisodeEnd](r)
		s.phase = phaseEnded
	default:
		err = fmt.Errorf("record %d: unknown type %q; it was written by another version of stint", r.Seq, r.Type)
	}
	return err
}

// freshAttempt forgets what belongs to one attempt number.
func (s *state) freshAttempt() {
	s.try, s.voids, s.nulls = 0, 0, 0
	s.pending, s.exit, s.usage, s.fails = nil, nil, false, map[string]bool{}
}

// keepPending makes the state after the attempt the one the next attempt starts from.
func (s *state) keepPending() {
	if s.pending != nil {
		s.base, s.kept = *s.pending, s.pending.home != ""
	}
	s.pending = nil
}

// applyResume begins a stretch. A grading that was under way is dropped. A stopped episode goes on with the
// attempt that was stopped, its counts of voids and gradings fresh; one that could not be graded is graded.
func (s *state) applyResume(r logs.Record) error {
	d, err := logs.Decode[logs.Resume](r)
	if err != nil {
		return err
	}
	s.epoch, s.host, s.fails = d.Epoch, d.Host, map[string]bool{}
	if d.Left || s.phase == phaseEnded {
		s.stalled = 0
	}
	s.stalled++
	if s.phase != phaseEnded {
		return nil
	}
	s.voids, s.nulls, s.end = 0, 0, logs.EpisodeEnd{}
	switch {
	case s.pending != nil:
		s.phase = phaseGrade
	case len(s.passed) > s.turn: // stopped between turns
		s.phase = phaseTurnEnd
	default:
		s.phase = phaseAttempt
	}
	return nil
}

func (s *state) applyUsage(r logs.Record) error {
	u, err := logs.Decode[logs.Usage](r)
	if err != nil {
		return err
	}
	if s.exit != nil && s.exit.Reported != nil && u.Via == s.exit.Reported.Via && u.Via != s.exit.Usage.Via {
		s.reported = true // the same tokens, counted by somebody else
		return nil
	}
	for _, n := range []*int64{u.In, u.Cached, u.CacheWrite, u.Out} {
		if n != nil {
			s.tokens += *n
		}
	}
	if u.USD != nil {
		s.usd, s.priced = s.usd+*u.USD, true
	}
	s.usage, s.phase = true, phaseUsage
	return nil
}

func (s *state) applyVoid(r logs.Record) error {
	d, err := logs.Decode[logs.Void](r)
	if err != nil {
		return err
	}
	switch d.Reason {
	case voidProcessRetry:
		s.processUsed++
		s.try++
		s.kind = harness.KindProcessRetry
	case harness.VoidRateLimit, harness.VoidProviderError:
		s.voids++
		s.try++
	case harness.VoidOperator, harness.VoidBudget:
	default:
		s.voids++
	}
	s.void, s.nulls = d, 0
	s.pending, s.exit, s.usage, s.fails = nil, nil, false, map[string]bool{}
	s.phase = phaseAttempt
	return nil
}

func (s *state) applyTurnEnd(r logs.Record) error {
	d, err := logs.Decode[logs.TurnEnd](r)
	if err != nil {
		return err
	}
	s.keepPending()
	s.turnBase = s.base.tree
	failed := s.fails
	switch s.grade.Reason {
	case reasonBuild, reasonStart, reasonTooLarge:
		failed = nil
	}
	if d.Passed {
		failed = map[string]bool{}
	}
	s.passed = append(s.passed, d.Passed)
	s.failed = append(s.failed, failed)
	s.fails = map[string]bool{}
	s.phase = phaseTurnEnd
	return nil
}
