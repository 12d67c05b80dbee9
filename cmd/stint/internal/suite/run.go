package suite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Server is one running server under test.
type Server interface {
	BaseURL() string                        // "http://127.0.0.1:PORT", no slash at the end
	Exited() (ended bool, detail string)    // whether its process ended without being asked to
	Stop(ctx context.Context) (e ServerEnd) // ends it; after an end of its own, says how it ended
}

// StartFunc starts a fresh server with an empty store for a world and returns when /health has answered.
// An error about the server is a *StartError; any other error is our own and ends the run.
type StartFunc func(ctx context.Context, world string) (s Server, ready time.Duration, err error)

// StartError says why no server could be reached.
type StartError struct {
	Reason string // exited, start_timeout, start_unhealthy, no_start_sh, spawn
	Exit   *int
	Signal string
	Log    string
	Detail string // one line for people; the agent is not told
	Ours   bool   // spawn or port failed: not the agent's fault
}

// Error implements error.
func (e *StartError) Error() string { return "starting the server: " + e.Reason }

// RunOptions are the limits of one grading. Zero values are the defaults.
type RunOptions struct {
	Start          StartFunc
	Schema         *scenario.Schema // for the reference check before a failure counts; nil = skip it
	RequestTimeout time.Duration    // 0 = 5 s
	SuiteTimeout   time.Duration    // per run without its starts, 0 = 60 s
	SoloTimeout    time.Duration    // all solo confirmations together, 0 = 20 s
	SoloMax        int              // checks confirmed alone, 0 = 12, negative = none
	Limit          int              // run at most so many checks, 0 = all; for simulated agents only
	Client         func(keepAlive bool) *http.Client
}

func (o RunOptions) withDefaults() RunOptions {
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 5 * time.Second
	}
	if o.SuiteTimeout <= 0 {
		o.SuiteTimeout = 60 * time.Second
	}
	if o.SoloTimeout <= 0 {
		o.SoloTimeout = 20 * time.Second
	}
	if o.SoloMax == 0 {
		o.SoloMax = 12
	}
	if o.Client == nil {
		o.Client = newClient
	}
	return o
}

// disturbed is the share of bad requests above which a run is not trusted alone.
const disturbed = 0.2

// maxRuns bounds how often one server is graded.
const maxRuns = 3

// Run grades one server: the whole suite, every world on a server of its own, reruns when answers were
// missing, solo confirmation of what failed, and the reference check. Its error is never about the server
// under test: the context ended, or we failed.
func Run(ctx context.Context, s *Suite, opt RunOptions) (*Result, error) {
	opt = opt.withDefaults()
	if opt.Start == nil {
		return nil, errors.New("running suite: no way to start a server")
	}
	began := time.Now()
	s = s.Limited(opt.Limit)
	g := &grading{suite: s, opt: opt}
	runs, err := g.runs(ctx)
	if err != nil {
		return nil, fmt.Errorf("running suite of turn %d: %w", s.Turn, err)
	}
	r := g.result(runs)
	if r.Failed > 0 && r.Passed != nil {
		if err := g.afterFailure(ctx, r); err != nil {
			return nil, fmt.Errorf("running suite of turn %d: %w", s.Turn, err)
		}
	}
	r.MS = milliseconds(time.Since(began))
	return r, nil
}

// grading is one call of Run.
type grading struct {
	suite *Suite
	opt   RunOptions
	keep  bool // result of the keep-alive probe
	known bool // the probe was made
}

// runs plays the suite once, again if the run was disturbed, and a third time if the two disagree.
func (g *grading) runs(ctx context.Context) ([]*run, error) {
	var runs []*run
	for {
		r, err := g.play(ctx)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
		switch {
		case len(runs) == maxRuns, r.ours != "":
			return runs, nil
		case len(runs) == 1 && !r.doubtful():
			return runs, nil
		case len(runs) == 2 && runs[0].passed() == r.passed():
			return runs, nil
		}
	}
}

// result decides among the runs: the last one if they disagreed, else the least disturbed.
func (g *grading) result(runs []*run) *Result {
	last := runs[len(runs)-1]
	best := last
	flaky := false
	for _, r := range runs {
		flaky = flaky || r.passed() != runs[0].passed()
	}
	if !flaky {
		best = runs[0]
		for _, r := range runs[1:] {
			if r.bad() < best.bad() {
				best = r
			}
		}
	}
	res := &Result{Checks: len(g.suite.Checks), Runs: len(runs), Flaky: flaky, KeepAlive: g.keep, Requests: best.requests(),
		Servers: best.events, Failures: best.failures(g.suite)}
	for _, r := range runs {
		if r != best {
			res.Earlier = append(res.Earlier, r.summary(g.suite))
		}
	}
	res.Failed = len(res.Failures)
	passed := best.passed()
	res.Passed, res.Reason = &passed, best.reason()
	if best.ours != "" {
		res.Passed, res.Reason, res.Detail = nil, ReasonGrader, best.ours
	}
	if res.Reason == ReasonStart {
		res.Detail = best.unstarted()
	}
	return res
}

// afterFailure asks whether the reference fails too, and confirms failing checks alone.
func (g *grading) afterFailure(ctx context.Context, r *Result) error {
	detail, err := g.reference(ctx, r)
	if err != nil {
		return err
	}
	if detail != "" {
		r.Passed, r.Reason, r.Detail = nil, ReasonReference, detail
		return nil
	}
	return g.solo(ctx, r)
}

// RunHandler plays the suite in this process, every world against a fresh handler, without sockets, reruns or
// confirmation. It is the in-process transport of simulated agents and proofs.
func RunHandler(ctx context.Context, s *Suite, h func() http.Handler) (*Result, error) {
	began := time.Now()
	r := newRun(s)
	for i := range s.Worlds {
		p := &player{transport: handlerTransport{h()}, ended: func() bool { return false }}
		if err := r.world(ctx, s, i, p); err != nil {
			return nil, fmt.Errorf("running suite of turn %d in this process: %w", s.Turn, err)
		}
	}
	g := &grading{suite: s}
	res := g.result([]*run{r})
	res.MS = milliseconds(time.Since(began))
	return res, nil
}
