package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sort"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
)

// reference plays the failing checks against the reference over loopback. A non-empty detail names the first
// check that fails there too: then the fault is ours.
func (g *grading) reference(ctx context.Context, r *Result) (detail string, err error) {
	failing := map[string]bool{}
	for _, f := range r.Failures {
		if f.Status != StatusNotRun {
			failing[f.ID] = true
		}
	}
	if g.opt.Schema == nil || len(failing) == 0 {
		return "", nil
	}
	sub := *g.suite
	sub.Checks = nil
	for _, c := range g.suite.Checks {
		if failing[c.ID] {
			sub.Checks = append(sub.Checks, c)
		}
	}
	opt := g.opt
	opt.Start = func(context.Context, string) (Server, time.Duration, error) {
		return startHandler(oracle.Handler(g.opt.Schema))
	}
	check := &grading{suite: &sub, opt: opt, known: true, keep: true}
	own, err := check.play(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the reference: %w", err)
	}
	for i, o := range own.outcomes {
		if o.status != "" {
			return fmt.Sprintf("check %s fails on the reference too: %s: expected %s, got %s", sub.Checks[i].ID, o.request, o.expected, o.actual), nil
		}
	}
	return "", nil
}

// handlerServer is a handler of our own behind a real listener.
type handlerServer struct {
	server *http.Server
	base   string
}

func startHandler(h http.Handler) (Server, time.Duration, error) {
	began := time.Now()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, fmt.Errorf("listening for the reference: %w", err)
	}
	s := &handlerServer{server: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, base: "http://" + l.Addr().String()}
	go func() {
		// Serve ends when Stop closes the server; a listener that breaks shows as failing requests.
		_ = s.server.Serve(l)
	}()
	return s, time.Since(began), nil
}

func (s *handlerServer) BaseURL() string        { return s.base }
func (s *handlerServer) Exited() (bool, string) { return false, "" }
func (s *handlerServer) Stop(context.Context) ServerEnd {
	_ = s.server.Close() // closing a listener twice is the only error it can report
	return ServerEnd{}
}

// solo plays failing checks of the own world again, each alone on a fresh server.
func (g *grading) solo(ctx context.Context, r *Result) error {
	checks := map[string]*Check{}
	for i := range g.suite.Checks {
		checks[g.suite.Checks[i].ID] = &g.suite.Checks[i]
	}
	limit, cancel := context.WithTimeout(ctx, g.opt.SoloTimeout)
	defer cancel()
	for n, i := range soloOrder(r.Failures) {
		if n >= g.opt.SoloMax || limit.Err() != nil {
			break
		}
		failed, known, err := g.alone(limit, fmt.Sprintf("S%02d", n+1), checks[r.Failures[i].ID])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && limit.Err() == nil {
			return fmt.Errorf("confirming check %s: %w", r.Failures[i].ID, err)
		}
		if known && err == nil {
			r.Failures[i].Confirmed = &failed
		}
	}
	return nil
}

// alone plays one check on a fresh server; known is false if that server did not start.
func (g *grading) alone(ctx context.Context, world string, c *Check) (failed, known bool, err error) {
	srv, _, err := g.opt.Start(ctx, world)
	var se *StartError
	if errors.As(err, &se) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	defer srv.Stop(context.WithoutCancel(ctx))
	p := &player{symbols: symbols{}, ended: func() bool { e, _ := srv.Exited(); return e },
		transport: &httpTransport{client: g.opt.Client(g.keep), base: srv.BaseURL(), timeout: g.opt.RequestTimeout}}
	defer p.transport.close()
	o, err := p.check(ctx, c)
	return o.status != "", err == nil, err
}

// soloOrder ranks the failures worth confirming: those of the own world that were carried out, then those that
// could not be; within each, the first of every clause before the second, the oldest clause first.
func soloOrder(failures []Failure) []int {
	type rank struct{ class, nth, clause, at int }
	var ranks []rank
	seen := map[[2]int]int{}
	for i, f := range failures {
		if f.World != Own || f.Status == StatusNotRun {
			continue
		}
		class := 0
		if f.Status == StatusError {
			class = 1
		}
		n := clauseNumber(f.Clauses[0])
		ranks = append(ranks, rank{class, seen[[2]int{class, n}], n, i})
		seen[[2]int{class, n}]++
	}
	sort.SliceStable(ranks, func(a, b int) bool {
		x, y := ranks[a], ranks[b]
		if x.class != y.class {
			return x.class < y.class
		}
		if x.nth != y.nth {
			return x.nth < y.nth
		}
		return x.clause < y.clause
	})
	order := make([]int, len(ranks))
	for i, r := range ranks {
		order[i] = r.at
	}
	return order
}
