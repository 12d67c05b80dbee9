package study

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
)

// job is one episode that has no end yet.
type job struct {
	PlannedEpisode
	id    string
	model string
}

// pool runs jobs in order, several at once, and at most perModel of one model at once.
type pool struct {
	jobs     int
	perModel int // 0 = no limit
	pending  []job
	run      func(context.Context, job) error

	mu      sync.Mutex
	changed *sync.Cond
	running map[string]int // by model
	stopped bool           // nothing new starts
	spent   error          // the study's budget is used up
	errs    []error
}

// runAll starts every pending job and waits for those that were started. A job that fails does not keep the
// others from running, unless its fault is one that they all would meet. It returns the errors and, apart
// from them, the exhausted study budget if that is why jobs are left.
func (p *pool) runAll(ctx context.Context) (spent, err error) {
	p.changed = sync.NewCond(&p.mu)
	p.running = map[string]int{}
	wake := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stopped = true
		p.changed.Broadcast()
	})
	defer wake()
	var workers sync.WaitGroup
	for range min(p.jobs, len(p.pending)) {
		workers.Go(func() {
			for {
				j, ok := p.next(ctx)
				if !ok {
					return
				}
				p.done(ctx, j, p.run(ctx, j))
			}
		})
	}
	workers.Wait()
	return p.spent, joinSome(p.errs)
}

// next waits for the first pending job whose model has room, and takes it.
func (p *pool) next(ctx context.Context) (job, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.stopped && ctx.Err() == nil && len(p.pending) > 0 {
		for i, j := range p.pending {
			if p.perModel > 0 && p.running[j.model] >= p.perModel {
				continue
			}
			p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
			p.running[j.model]++
			return j, true
		}
		p.changed.Wait()
	}
	return job{}, false
}

// done makes room for the next job and sorts the error of the last one.
func (p *pool) done(ctx context.Context, j job, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[j.model]--
	p.changed.Broadcast()
	var budget *gateway.BudgetError
	switch {
	case err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()):
	case errors.As(err, &budget) && budget.Scope == gateway.ScopeStudy:
		p.spent, p.stopped = budget, true
	default:
		p.errs = append(p.errs, err)
		p.stopped = p.stopped || hostIsFull(err)
	}
}

// hostIsFull reports whether every other episode would fail in the same way.
func hostIsFull(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// shownErrors is how many errors of a run are listed.
const shownErrors = 5

func joinSome(errs []error) error {
	if len(errs) > shownErrors {
		more := len(errs) - shownErrors
		errs = append(errs[:shownErrors:shownErrors], fmt.Errorf("and %s failed", number(more, "more episode")))
	}
	return errors.Join(errs...)
}
