package episode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// The modes of a study that an episode knows.
const (
	ModeFailStop = "fail-stop" // the first failed turn ends the episode; also ""
	ModeContinue = "continue"  // a failed turn is followed by the next one, on the broken code
	ModeTeleport = "teleport"  // every turn but the build starts from a correct code base and an empty HOME
)

// The reasons for which an episode ends, as EpisodeEnd.EndReason has them.
const (
	EndFailed   = "failed"
	EndCapped   = "capped"
	EndBudget   = "budget"
	EndOperator = "operator"
	EndProvider = "provider"
	EndHost     = "host"
	EndBench    = "bench"
)

// MaxVoids is how many voids one attempt may have before its episode is stopped. Those of the operator, of a
// budget and of process retries do not count.
const MaxVoids = 5

// MaxStalled is how many processes may die in an episode, one after the other, before any of them has got further. Such
// an episode ends what works on it: it is parked, as stopped by the host.
const MaxStalled = 3

// MaxGradings is how often an attempt is graded when grading fails for reasons of our own.
const MaxGradings = 3

// Spec is one episode to run or to resume.
type Spec struct {
	Dir   string            // the episode's folder: journal, blobs, truth
	ID    string            // 12 hex digits
	Start logs.EpisodeStart // first record; a journal that is there must agree with it

	Scenario *scenario.Scenario
	Suites   []*suite.Suite // one per turn
	// SuiteBytes are the canonical encodings of Suites; nil = each is encoded when its turn comes.
	SuiteBytes [][]byte

	Agent   harness.Agent
	Sandbox *sandbox.Sandbox

	Wall       time.Duration     // limit of an attempt; 0 = none
	Tokens     int64             // limit of an attempt; 0 = none
	Requests   int               // limit of an attempt; 0 = none
	EpisodeUSD float64           // limit of the episode; 0 = none
	Spent      harness.SpentFunc // the study's budget; nil = unlimited

	Snapshot     logs.SnapshotOptions // limits of a snapshot; zero = those of package logs
	MaxChecks    int                  // checks per grading; 0 = all. Simulated studies only
	Ungraded     bool                 // what the agent has planted is the grade: no server is started. Simulated studies only
	ReadyTimeout time.Duration        // until a server must answer /health; 0 = 20 s, for simulated agents 8 s
	ServerLimits sandbox.Limits
	Retry        bool // go on with an episode that was stopped
	// Hold is asked before every attempt; an error leaves the episode as it is, and Run returns it. Nil = never.
	Hold func() error

	Journal logs.JournalOptions
	// Work is the scratch folder for workspace, HOME and checkouts; "" = Dir/work. It is removed when the
	// episode ends.
	Work string
	Host string // name of this machine; "" = os.Hostname
	// Boot identifies the running system, so that files which a crash of the machine may have torn are not
	// trusted; "" = the kernel's boot id.
	Boot string
	// VoidWait is the pause before an attempt is started again after its nth void, n from 1. Nil means
	// 5 s, 10 s, 20 s, 40 s, and none for agents that need no provider (simulated, reference).
	VoidWait func(n int) time.Duration
	Progress func(Event) // nil = silent; called from the goroutine of Run
}

// End is how an episode ended.
type End struct {
	Reason      string // one of the End constants
	TurnsPassed int    // the first failed turn; all of them if none failed; for a stopped one those passed so far; under teleport those passed
	Already     bool   // it had ended before: nothing was done
}

// Valid says that the episode ran to its own end.
func (e End) Valid() bool { return e.Reason == EndFailed || e.Reason == EndCapped }

// The kinds of Event.
const (
	EventResume    = "resume" // an interrupted episode goes on
	EventTurnStart = "turn_start"
	EventAttempt   = "attempt" // the agent starts, or says what it is doing (Text)
	EventGrading   = "grading"
	EventGraded    = "graded"
	EventVoid      = "void"
	EventWait      = "wait"
	EventTurnEnd   = "turn_end"
	EventEnd       = "end"
)

// Event tells a person what happens.
type Event struct {
	Episode, Config, Scenario string
	Repeat, Turn, Attempt     int
	Kind                      string
	Passed                    bool   // graded, turn_end
	Text                      string // short words: the operation, the reason, what is waited for
	Why                       string // one line, of void, end and a failed turn_end: what was seen
	Way                       string // one line: what a user can do about it; "" = nothing that is known here
	TurnsPassed               int    // so far, as End has it
	Passes                    int    // turns passed so far, wherever they stand
	TurnsMax                  int
	Tokens                    int64 // of the episode so far, voids included
	USD                       *float64
}

// simulatedReady is the start limit of simulated servers, which start in milliseconds: those that never answer
// cost a study less.
const simulatedReady = 8 * time.Second

func (s *Spec) fill() error {
	switch {
	case s.Dir == "" || s.ID == "":
		return fmt.Errorf("running an episode: it has no folder or no id")
	case s.Scenario == nil || s.Agent == nil || s.Sandbox == nil:
		return fmt.Errorf("running episode %s: scenario, agent or sandbox is missing", s.ID)
	case len(s.Suites) != len(s.Scenario.Steps):
		return fmt.Errorf("running episode %s: %d suites for %d turns", s.ID, len(s.Suites), len(s.Scenario.Steps))
	case s.Start.TurnsMax != len(s.Scenario.Steps):
		return fmt.Errorf("running episode %s: turns_max is %d, the scenario has %d turns", s.ID, s.Start.TurnsMax, len(s.Scenario.Steps))
	}
	s.Start.Ungraded = s.Ungraded
	switch s.Start.Mode {
	case "":
		s.Start.Mode = ModeFailStop
	case ModeFailStop, ModeContinue, ModeTeleport:
	default:
		return fmt.Errorf("running episode %s: there is no mode %q", s.ID, s.Start.Mode)
	}
	if s.Work == "" {
		s.Work = filepath.Join(s.Dir, "work")
	}
	var err error
	if s.Work, err = filepath.Abs(s.Work); err != nil {
		return fmt.Errorf("finding the scratch folder of episode %s: %w", s.ID, err)
	}
	if s.Host == "" {
		if s.Host, err = os.Hostname(); err != nil {
			return fmt.Errorf("finding the name of this machine: %w", err)
		}
	}
	if s.Boot == "" {
		b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, one name for every boot
		s.Boot = string(b)
	}
	if s.ReadyTimeout == 0 && s.Agent.Name() == harness.SimulatedName {
		s.ReadyTimeout = simulatedReady
	}
	if s.VoidWait == nil {
		s.VoidWait = s.defaultVoidWait
	}
	return nil
}

func (s *Spec) defaultVoidWait(n int) time.Duration {
	if s.knowsTruth() {
		return 0
	}
	return 5 * time.Second << (n - 1)
}

// knowsTruth says whether the agent is one of ours that is handed the scenario: its server is stint itself.
func (s *Spec) knowsTruth() bool {
	return s.Agent.Name() == harness.SimulatedName || s.Agent.Name() == harness.ReferenceName
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
