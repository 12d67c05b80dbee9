package episode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// loop is one running episode.
type loop struct {
	spec  Spec
	state state
	j     *logs.Journal
	blobs *logs.Blobs
	box   *workbox

	budget  *gateway.Budget // of the episode; then that of the study
	checks  map[int]map[string]bool
	results map[string]*GradeResult // by blob; only the last one is kept
	way     string                  // what a user can do about the end of the last attempt; unknown after a resume, as is
	note    string                  // what else was seen of it
}

// Run runs an episode to its end, or goes on with one that was interrupted. An episode that has ended is left
// alone, unless it was stopped and Spec.Retry is set.
//
// When ctx is cancelled the running attempt is cut and recorded, and the error is ctx's. When the study's
// budget is used up no attempt is started and the error wraps a *gateway.BudgetError of scope study. When
// the disk is full or a file cannot be written the error names it. In all these cases the journal has no
// episode.end, nothing recorded is lost, and the same call goes on.
func Run(ctx context.Context, s Spec) (End, error) {
	if err := s.fill(); err != nil {
		return End{}, err
	}
	l := &loop{spec: s, checks: map[int]map[string]bool{}}
	end, err := l.run(ctx)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("episode %s (%s, %s#%d): %w", s.ID, s.Start.Config, s.Start.Scenario.ID, s.Start.Repeat, hintDisk(err))
	}
	return end, err
}

func (l *loop) run(ctx context.Context) (end End, err error) {
	j, records, err := logs.OpenJournal(l.spec.Dir, l.spec.ID, l.spec.Journal)
	if err != nil {
		return End{}, err
	}
	l.j = j
	defer func() { err = errors.Join(err, j.Close()) }()
	for _, r := range records {
		if err := l.state.apply(r); err != nil {
			return End{}, fmt.Errorf("replaying journal %s, record %d: %w", j.Path(), r.Seq, err)
		}
	}
	if err := l.agrees(); err != nil {
		return End{}, err
	}
	if l.state.phase == phaseEnded && (!l.spec.Retry || l.ending().Valid()) {
		end := l.ending()
		end.Already = true
		return end, nil
	}
	if _, _, ending := ended(ctx); ctx.Err() != nil && !ending {
		return End{}, ctx.Err()
	}
	if l.blobs, err = logs.OpenBlobs(filepath.Join(l.spec.Dir, "blobs")); err != nil {
		return End{}, err
	}
	if l.box, err = openWorkbox(l.spec.Work, l.spec.Boot); err != nil {
		return End{}, err
	}
	if l.spec.Sandbox.Kind() == sandbox.KindNone {
		if err := sandbox.SetSubreaper(); err != nil {
			return End{}, err
		}
	}
	l.openBudget()
	if err := l.begin(len(records) > 0); err != nil {
		return End{}, err
	}
	if err := l.play(ctx); err != nil {
		l.box.leave() // the next process sees that this one did not die
		return End{}, err
	}
	l.report(l.endEvent())
	return l.ending(), l.box.close()
}

// play does one step after the other until the episode has ended.
func (l *loop) play(ctx context.Context) error {
	for l.state.phase != phaseEnded {
		reason, words, ending := ended(ctx)
		if ending {
			if err := l.end(reason, words); err != nil {
				return err
			}
			break
		}
		if err := l.step(ctx); err != nil {
			if _, _, ending = ended(ctx); ending && errors.Is(err, ctx.Err()) {
				continue // what was cut is recorded
			}
			return err
		}
	}
	return nil
}

func (l *loop) ending() End {
	return End{Reason: l.state.end.EndReason, TurnsPassed: l.state.end.TurnsPassed}
}

// agrees refuses a journal that was written for something else than the spec says.
func (l *loop) agrees() error {
	if l.state.phase == phaseStart {
		return nil
	}
	was, is := l.state.start, l.spec.Start
	for _, f := range []struct{ name, was, is string }{
		{"configuration", was.Config, is.Config},
		{"scenario content", was.Scenario.Content, is.Scenario.Content},
		{"seed", fmt.Sprint(was.Seed), fmt.Sprint(is.Seed)},
		{"repeat", fmt.Sprint(was.Repeat), fmt.Sprint(is.Repeat)},
		{"turns_max", fmt.Sprint(was.TurnsMax), fmt.Sprint(is.TurnsMax)},
		{"mode", was.Mode, is.Mode},
		{"ungraded", fmt.Sprint(was.Ungraded), fmt.Sprint(is.Ungraded)},
		{"retries", fmt.Sprint(was.Retries), fmt.Sprint(is.Retries)},
		{"process_retries", fmt.Sprint(was.ProcessRetries), fmt.Sprint(is.ProcessRetries)},
		{"feedback", was.Feedback, is.Feedback},
	} {
		if f.was != f.is {
			return fmt.Errorf("journal %s was begun with %s %q, now it is %q", l.j.Path(), f.name, f.was, f.is)
		}
	}
	return nil
}

// openBudget fills the episode's budget with what its attempts have cost so far, void ones included: the
// money is spent.
func (l *loop) openBudget() {
	l.budget = &gateway.Budget{Scope: gateway.ScopeEpisode, USD: l.spec.EpisodeUSD}
	spent := l.state.usd
	_ = l.budget.Charge(logs.Usage{USD: &spent}) // asked again before the attempt
	l.budget.Also = l.spec.Spent
}

// begin writes episode.start or goes on, and closes an attempt that was interrupted.
func (l *loop) begin(resumed bool) error {
	if !resumed {
		if err := l.append(logs.TypeEpisodeStart, l.spec.Start, true); err != nil {
			return err
		}
	}
	sameHost := l.state.host == l.spec.Host
	if err := l.append(logs.TypeResume, logs.Resume{Epoch: l.state.epoch + 1, Host: l.spec.Host, PID: os.Getpid(), Left: l.box.left()}, false); err != nil {
		return err
	}
	if resumed {
		l.report(Event{Kind: EventResume})
	}
	s := &l.state
	if s.stalled > MaxStalled {
		return l.park()
	}
	switch s.phase {
	case phaseRunning:
		return l.interrupted("stint ended while the agent ran")
	case phaseExited, phaseUsage:
		switch {
		case s.exit == nil:
			return l.interrupted("stint ended while the agent ran")
		case s.exit.Void != "": // decided, whatever became of the files
			return nil
		case !sameHost:
			return l.interrupted("the workspace is on host " + s.host)
		case !l.box.holds(s.work):
			return l.interrupted("the workspace of the attempt is not there any more")
		}
	}
	return nil
}

// park ends an episode in which process after process has died.
func (l *loop) park() error {
	if l.state.phase == phaseRunning {
		if err := l.interrupted("stint ended while the agent ran"); err != nil {
			return err
		}
	}
	return l.end(EndHost, fmt.Sprintf("parked: %d processes of stint died in it, one after the other, before any got further", MaxStalled))
}

// interrupted voids the attempt that ran when stint ended.
func (l *loop) interrupted(evidence string) error {
	if !l.state.usage {
		u := logs.Usage{Via: l.via()}
		if l.state.exit != nil {
			u = l.state.exit.Usage
		}
		if err := l.append(logs.TypeUsage, u, false); err != nil {
			return err
		}
	}
	return l.voidAttempt(voidHost, evidence)
}

// step does what comes next.
func (l *loop) step(ctx context.Context) error {
	switch l.state.phase {
	case phaseTurn:
		return l.startTurn(0)
	case phaseAttempt:
		return l.attempt(ctx)
	case phaseExited:
		if other := l.state.exit.Reported; other != nil && !l.state.reported {
			return l.append(logs.TypeUsage, *other, false)
		}
		return l.append(logs.TypeUsage, l.state.exit.Usage, false)
	case phaseUsage:
		return l.settle(ctx)
	case phaseGrade:
		return l.gradeAttempt(ctx)
	case phaseGraded:
		return l.decide()
	case phaseTurnEnd:
		return l.nextTurn()
	}
	return fmt.Errorf("the journal leaves nothing to do (phase %d)", l.state.phase)
}

// append writes one record to the journal and folds it into the state.
func (l *loop) append(typ string, data any, sync bool) error {
	b, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding record %s: %w", typ, err)
	}
	r := logs.Record{Type: typ, Data: b}
	turn, attempt := l.state.turn, l.state.attempt
	switch typ {
	case logs.TypeEpisodeStart, logs.TypeResume, logs.TypeEpisodeEnd:
	case logs.TypeTurnStart:
		turn = len(l.state.passed)
		r.Turn = &turn
	case logs.TypeTurnEnd:
		r.Turn = &turn
	default:
		r.Turn, r.Attempt = &turn, &attempt
	}
	if err := l.j.Append(typ, r.Turn, r.Attempt, r.Data, sync); err != nil {
		return err
	}
	return l.state.apply(r)
}

// report sends an event with what the state knows filled in.
func (l *loop) report(e Event) {
	if l.spec.Progress == nil {
		return
	}
	s := &l.state
	e.Episode, e.Config, e.Scenario, e.Repeat = l.spec.ID, s.start.Config, s.start.Scenario.ID, s.start.Repeat
	e.Turn, e.Attempt = s.turn, s.attempt
	e.TurnsPassed, e.Passes, e.TurnsMax, e.Tokens = s.turnsPassed(), s.passes(), s.start.TurnsMax, s.tokens
	if s.priced {
		usd := s.usd
		e.USD = &usd
	}
	l.spec.Progress(e)
}

// inSuite says whether the suite of a turn has a check.
func (l *loop) inSuite(turn int, check string) bool {
	if l.checks[turn] == nil {
		ids := map[string]bool{}
		for _, c := range l.spec.Suites[turn].Checks {
			ids[c.ID] = true
		}
		l.checks[turn] = ids
	}
	return l.checks[turn][check]
}

func (l *loop) suite() *suite.Suite { return l.spec.Suites[l.state.turn] }

// putJSON stores a value as a blob.
func (l *loop) putJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding a blob: %w", err)
	}
	return l.blobs.Put(b)
}

// diskError adds the way out to an error of a full disk.
type diskError struct{ error }

func (e diskError) Unwrap() error { return e.error }

// Hint is the way out.
func (e diskError) Hint() string {
	return "nothing recorded is lost: free some space, then run the same command again"
}

// diskFull says that nothing more can be written: no void would reach the journal either.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func hintDisk(err error) error {
	if diskFull(err) {
		return diskError{err}
	}
	return err
}

// refusals remembers the last budget that refused a request of an attempt.
type refusals struct {
	mu   sync.Mutex
	last *gateway.BudgetError
}

// watch wraps a budget.
func (r *refusals) watch(charge func(logs.Usage) error) func(logs.Usage) error {
	return func(u logs.Usage) error {
		err := charge(u)
		var refused *gateway.BudgetError
		if errors.As(err, &refused) {
			r.mu.Lock()
			r.last = refused
			r.mu.Unlock()
		}
		return err
	}
}

// scope is episode or study, or "" if nothing was refused.
func (r *refusals) scope() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return ""
	}
	return r.last.Scope
}
