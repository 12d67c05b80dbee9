package suite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// run is one pass over all worlds.
type run struct {
	outcomes []outcome // by position of the check in the suite
	players  []*player // by world; nil where no server started
	events   []ServerEvent
	details  []string // by world: why no server started there
	ended    bool     // a server died
	late     bool     // the suite's time was over
	started  int      // worlds whose server became ready
	unready  int      // worlds whose server did not
	ours     string   // why no server could be tried
}

func newRun(s *Suite) *run {
	r := &run{outcomes: make([]outcome, len(s.Checks)), players: make([]*player, len(s.Worlds)), details: make([]string, len(s.Worlds))}
	for i := range r.outcomes {
		r.outcomes[i].status = StatusNotRun
	}
	return r
}

// world plays the setup and the checks of one world in order. Checks after the death of the server, or after
// the end of the context, keep the status not_run.
func (r *run) world(ctx context.Context, s *Suite, w int, p *player) error {
	r.players[w] = p
	if err := p.setup(ctx, s.Worlds[w].Setup); err != nil {
		return err
	}
	for i := range s.Checks {
		if s.Checks[i].World != s.Worlds[w].Name || p.dead {
			continue
		}
		o, err := p.check(ctx, &s.Checks[i])
		if err != nil {
			return err
		}
		r.outcomes[i] = o
	}
	return nil
}

// play starts a server per world and plays all worlds at the same time.
func (g *grading) play(ctx context.Context) (*run, error) {
	r := newRun(g.suite)
	lane := &lanes{run: r, began: time.Now(), events: make([][]ServerEvent, len(g.suite.Worlds)), probed: make(chan struct{})}
	group, gctx := errgroup.WithContext(ctx)
	for i := range g.suite.Worlds {
		group.Go(func() error { return g.lane(gctx, lane, i) })
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	for _, e := range lane.events {
		r.events = append(r.events, e...)
	}
	return r, nil
}

// lanes is what the worlds of one run share.
type lanes struct {
	mu     sync.Mutex
	run    *run
	began  time.Time
	events [][]ServerEvent // by world, so that their order does not depend on timing
	probed chan struct{}   // closed when the first world has decided on keep-alive, or cannot
}

// lane is the life of one world: start, probe, checks, stop.
func (g *grading) lane(ctx context.Context, l *lanes, w int) error {
	name := g.suite.Worlds[w].Name
	probed := w != 0
	defer func() {
		if !probed {
			close(l.probed)
		}
	}()
	srv, ready, err := g.opt.Start(ctx, name)
	if err != nil {
		return l.unready(w, name, err)
	}
	ev := ServerEvent{World: name, Kind: "ready", MS: milliseconds(ready)}
	if w == 0 {
		if err := g.probe(ctx, srv.BaseURL()); err != nil {
			srv.Stop(context.WithoutCancel(ctx))
			return err
		}
		keep := g.keep
		ev.KeepAlive = &keep
		probed = true
		close(l.probed)
	}
	select {
	case <-l.probed:
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.run.started++
	l.mu.Unlock()
	l.events[w] = append(l.events[w], ev)
	p := &player{ended: func() bool { e, _ := srv.Exited(); return e },
		transport: &httpTransport{client: g.opt.Client(g.keep), base: srv.BaseURL(), timeout: g.opt.RequestTimeout}}
	timed, cancel := context.WithTimeout(ctx, g.opt.SuiteTimeout)
	defer cancel()
	err = l.run.world(timed, g.suite, w, p)
	p.transport.close()
	end := srv.Stop(context.WithoutCancel(ctx))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
		l.mu.Lock()
		l.run.late = true
		l.mu.Unlock()
	}
	if p.dead {
		l.mu.Lock()
		l.run.ended = true
		l.mu.Unlock()
		l.events[w] = append(l.events[w], ServerEvent{World: name, Kind: "exit", MS: milliseconds(time.Since(l.began)), End: &end, Reason: "crashed"})
	}
	return err
}

// unready notes a server that did not start. Only an error that is no StartError stops the run.
func (l *lanes) unready(w int, name string, err error) error {
	var se *StartError
	if !errors.As(err, &se) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run.unready++
	l.run.details[w] = oneLine(se.Detail, maxLine)
	if se.Ours {
		l.run.ours = "no server could be started: " + se.Reason
	}
	l.events[w] = append(l.events[w], ServerEvent{World: name, Kind: "exit", MS: milliseconds(time.Since(l.began)), Reason: se.Reason,
		End: &ServerEnd{Exit: se.Exit, Signal: se.Signal, Log: se.Log}})
	return nil
}

// unstarted says why the first world that has no server has none.
func (r *run) unstarted() string {
	for _, d := range r.details {
		if d != "" {
			return d
		}
	}
	return ""
}

func (r *run) passed() bool {
	return !slices.ContainsFunc(r.outcomes, func(o outcome) bool { return o.status != "" })
}

// reason names what ended the run, the gravest first.
func (r *run) reason() string {
	switch {
	case r.passed():
		return ReasonPassed
	case r.unready > 0:
		return ReasonStart
	case r.ended:
		return ReasonCrash
	case r.late:
		return ReasonSuiteTime
	}
	return ReasonChecks
}

func (r *run) requests() int {
	n := 0
	for _, p := range r.players {
		if p != nil {
			n += p.requests
		}
	}
	return n
}

func (r *run) bad() int {
	n := 0
	for _, p := range r.players {
		if p != nil {
			n += p.bad
		}
	}
	return n
}

// doubtful says whether a failed run deserves an identical rerun: too many requests without a proper answer
// (checks lost to a dead server count as such), or servers of which some started and some did not.
func (r *run) doubtful() bool {
	if r.passed() {
		return false
	}
	if r.unready > 0 {
		return r.started > 0
	}
	lost := 0
	if r.ended {
		for _, o := range r.outcomes {
			if o.status == StatusNotRun {
				lost++
			}
		}
	}
	return float64(r.bad()+lost) > disturbed*float64(r.requests()+lost)
}

func (r *run) summary(s *Suite) RunSummary {
	sum := RunSummary{Reason: r.reason(), Requests: r.requests(), Bad: r.bad(), Failed: []string{}}
	for i, o := range r.outcomes {
		if o.status != "" {
			sum.Failed = append(sum.Failed, s.Checks[i].ID)
		}
	}
	return sum
}

// failures lists the failing checks in the suite's order.
func (r *run) failures(s *Suite) []Failure {
	out := []Failure{}
	for i, o := range r.outcomes {
		if o.status == "" {
			continue
		}
		c := s.Checks[i]
		f := Failure{Check: c, Status: o.status, Request: o.request, Expected: o.expected, Actual: o.actual, Exchanges: o.exchanges, Hint: s.since(c)}
		f.Steps = nil
		if f.Exchanges == nil {
			f.Exchanges = []Exchange{}
		}
		out = append(out, f)
	}
	return out
}
