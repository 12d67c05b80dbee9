package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/logs"
)

// Agent is a program that changes a workspace as a prompt asks.
//
// Run makes one attempt. It returns when every process of the attempt is gone. When ctx is cancelled
// it stops the attempt (Result.By is "stint") and still returns its Result with a nil error. The error
// is our own fault only: host, sandbox or set-up; a *sandbox.SpawnError keeps its type. Implementations
// are safe for concurrent use by attempts of different episodes.
type Agent interface {
	Name() string
	Version() string
	Run(ctx context.Context, r Request) (Result, error)
}

// The kinds of attempt in Request.Kind.
const (
	KindFirst        = "first"
	KindRetry        = "retry"
	KindProcessRetry = "process_retry"
)

// The values of Request.Session.
const (
	SessionContinue = "continue" // the conversation carries over turns
	SessionFresh    = "fresh"    // every turn starts a new conversation; retries inside a turn continue it
)

// Request is one attempt as the loop asks for it.
type Request struct {
	Episode string // id, 12 hex digits
	Turn    int    // 0 is the build
	Attempt int    // 0 is the first, then retries
	Try     int    // how often this attempt number was started before: process retries and attempts after a void
	Kind    string // first, retry, process_retry
	Prompt  string // what the agent is told
	// Feedback is the level of the configuration (none, minimal, moderate, detailed). The feedback
	// itself is already in Prompt; only the simulated agent reads the level.
	Feedback string
	Session  string // continue or fresh

	Workspace string // host folder of the program under change
	Home      string // host folder of the agent's private HOME; snapshotted with the workspace
	Seed      uint64 // of the episode

	// Scenario is the truth, for the simulated and the reference agent only; nil for every other.
	Scenario *scenario.Scenario

	Wall     time.Duration // limit of the attempt; 0 = none
	Tokens   int64         // input (cached included) + output of the attempt; 0 = none
	Requests int           // model requests of the attempt; 0 = none

	Sandbox *sandbox.Sandbox
	Blobs   *logs.Blobs // the raw log goes here
	Truth   string      // path of the episode's sealed truth file; simulated agent only

	Spent    SpentFunc         // episode and study budgets; nil = unlimited
	Progress func(text string) // short words on what the agent is doing; may be nil
}

// waits tells of a request that waits for the provider.
func (r *Request) waits(class string, pause time.Duration) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf("waits for the provider (%s), again in %s", class, pause.Round(time.Second/10)))
	}
}

// SpentFunc keeps the budgets of episode and study; see [gateway.SpentFunc].
type SpentFunc = gateway.SpentFunc

// The values of Result.By: who ended the agent.
const (
	BySelf  = "self"
	ByLimit = "limit"
	ByStint = "stint"
	ByOOM   = "oom"
)

// The values of Result.Completion.
const (
	CompletionClean        = "clean"         // the agent ended by itself and says it is done
	CompletionCut          = "cut"           // a limit, signal or error ended it
	CompletionEmpty        = "empty"         // clean exit without an edit and without a tool call
	CompletionNeverStarted = "never_started" // not one model request or step was made
)

// The values of Result.Void, as logs.Void has them. An attempt with one of these did not happen.
const (
	VoidRateLimit     = "rate_limit"
	VoidProviderError = "provider_error"
	VoidSandbox       = "sandbox"
	VoidHost          = "host"
	VoidSetup         = "setup"
	VoidBudget        = "budget"
	VoidOperator      = "operator"
)

// Result says how the agent program ended.
type Result struct {
	Exit       *int   // null if it ended by a signal or never started; the built-in agent ends with 0 or 1
	Signal     string // name of the signal, for example SIGKILL; "" if none
	By         string // self, limit, stint, oom
	Limit      string // wall, tokens, requests, disk, memory, processes; "" if none
	Completion string // clean, cut, empty, never_started
	Detail     string // one line: what was seen
	Way        string // one line: what a user can do about it; "" = nothing that is known here
	Note       string // one line: what else was seen, which ended nothing
	ToolCalls  int
	Edited     bool // the workspace was changed

	Usage   logs.Usage
	Log     logs.LogRef // reader and blob of the raw log
	Gateway logs.LogRef // what the gateway saw, for agents that are programs outside stint; else zero
	// Reported is what the raw log says about consumption, where Usage is the gateway's; nil if it says nothing.
	Reported *logs.Usage

	Void         string // "" = the attempt happened; else one of the Void constants
	VoidEvidence string // one line

	// SessionDamaged says that the conversation can take no further prompt: later attempts in it would fail for the
	// same reason. A program begins another.
	SessionDamaged bool
}
