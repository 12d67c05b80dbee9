package study

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
)

// pool is the queue of this process: jobs in order, several at once, and at most perModel of one model at once.
type pool struct {
	mu      sync.Mutex
	changed *sync.Cond
	limits  poolLimits
	pending []Job
	running map[*Claim]context.CancelCauseFunc
	control *Control // the orders in force
	stopped bool     // nothing new starts
	spent   error    // the study's budget is used up
	errs    []error
}

// poolLimits say how much runs at once.
type poolLimits struct {
	jobs     int
	perModel int // 0 = no limit
}

func newPool(limits poolLimits, pending []Job) *pool {
	p := &pool{limits: limits, pending: pending, running: map[*Claim]context.CancelCauseFunc{}, control: &Control{}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// Claim waits for room and takes the first pending job whose model has room.
func (p *pool) Claim(ctx context.Context) *Claim {
	wake := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	defer wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.stopped && ctx.Err() == nil {
		if i := p.ready(); i >= 0 {
			c := &Claim{Job: p.pending[i]}
			p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
			c.Context, p.running[c] = context.WithCancelCause(ctx)
			p.stop(c)
			return c
		}
		if len(p.running) == 0 && (len(p.pending) == 0 || p.control.Study == nil) {
			return nil // all are done, or those that are left are held one by one
		}
		p.changed.Wait()
	}
	return nil
}

// ready is the index of the first pending job that may begin now, or -1. A cancelled one may: its loop ends it.
func (p *pool) ready() int {
	if len(p.running) >= p.limits.jobs || p.control.Study != nil {
		return -1
	}
	ofModel := map[string]int{}
	for c := range p.running {
		ofModel[c.Model]++
	}
	for i, j := range p.pending {
		if o := p.control.Episodes[j.ID]; o != nil && o.Verb == OrderPause {
			continue
		}
		if p.limits.perModel == 0 || ofModel[j.Model] < p.limits.perModel {
			return i
		}
	}
	return -1
}

// Deliver makes room for the next job and sorts the error of the last one. A job that fails does not keep the others
// from running, unless its fault is one that they all would meet.
func (p *pool) Deliver(c *Claim, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := c.Context.Err()
	p.running[c](nil)
	delete(p.running, c)
	p.changed.Broadcast()
	var budget *gateway.BudgetError
	var held *heldError
	switch {
	case errors.As(err, &held):
		p.pending = append([]Job{c.Job}, p.pending...)
	case err == nil || ended != nil && errors.Is(err, ended):
	case errors.As(err, &budget) && budget.Scope == gateway.ScopeStudy:
		p.spent, p.stopped = budget, true
	default:
		p.errs = append(p.errs, err)
		p.stopped = p.stopped || hostIsFull(err)
	}
}

// heldError leaves an episode between two attempts.
type heldError struct{ order *Order }

func (e *heldError) Error() string { return e.order.String() }

// Hold leaves an episode that is paused.
func (p *pool) Hold(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.control.Held(id); o != nil && o.Verb == OrderPause {
		return &heldError{o}
	}
	return nil
}

// Obey takes in the orders: limits that are new, and what they hold or cancel.
func (p *pool) Obey(c *Control, news []Order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.control = c
	for _, o := range news {
		if o.Set != nil && o.Set.Jobs != nil {
			p.limits.jobs = *o.Set.Jobs
		}
		if o.Set != nil && o.Set.PerModel != nil {
			p.limits.perModel = *o.Set.PerModel
		}
	}
	for claim := range p.running {
		p.stop(claim)
	}
	p.stopped = p.stopped || c.Study != nil && c.Study.Verb == OrderCancel
	p.changed.Broadcast()
}

// stop ends the context of a job that was cancelled, alone or with the study.
func (p *pool) stop(c *Claim) {
	if o := p.control.Held(c.ID); o != nil && o.Verb == OrderCancel {
		p.running[c](&episode.Stop{Text: o.String(), End: o.Episode != ""})
	}
}

// Result returns the errors of all jobs, the first of them in full.
func (p *pool) Result() (spent, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent, joinSome(p.errs)
}

// HostIsFull reports whether an error is one that every other episode of this host would meet.
func HostIsFull(err error) bool { return hostIsFull(err) }

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
