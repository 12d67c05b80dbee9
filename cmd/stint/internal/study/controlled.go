package study

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stint-bench/stint/logs"
)

// HeldError says that a run has nothing it may do: what is left was paused or cancelled.
type HeldError struct {
	Dir      string
	Order    *Order // one of those in force
	Episodes int    // that are held; 0 = the whole study
}

func (e *HeldError) Error() string {
	if e.Episodes > 0 {
		return fmt.Sprintf("%s of %s, all that is left, may not run: %v", number(e.Episodes, "episode"), e.Dir, e.Order)
	}
	return fmt.Sprintf("%s was %v", e.Dir, e.Order)
}

// Hint returns the way out.
func (e *HeldError) Hint() string {
	id := ""
	if e.Order.Episode != "" {
		id = " " + e.Order.Episode
	}
	return fmt.Sprintf("stint control resume %s%s --reason TEXT lifts it; then run again", e.Dir, id)
}

// ExitCode returns 4: incomplete.
func (e *HeldError) ExitCode() int { return 4 }

// Controlled is a queue that obeys the orders to a run.
type Controlled interface {
	Queue
	// Obey is told what the orders come to, and which of them are new, at the start none.
	Obey(c *Control, news []Order)
	// Hold is asked before every attempt of an episode; an error, which comes back to Deliver, leaves it as it is.
	Hold(id string) error
}

// held refuses to begin when a person has paused or cancelled the study, or all that is left of it.
func (w *work) held(pending []Job) error {
	if o := w.control.Study; o != nil {
		return &HeldError{Dir: w.opt.Dir, Order: o}
	}
	var last *Order
	for _, j := range pending {
		o := w.control.Episodes[j.ID]
		if o == nil || o.Verb == OrderCancel { // which the run ends
			return nil
		}
		last = o
	}
	if last == nil {
		return nil
	}
	return &HeldError{Dir: w.opt.Dir, Order: last, Episodes: len(pending)}
}

// defaultPoll is how often a run looks for orders.
const defaultPoll = 500 * time.Millisecond

// watch hands new orders to the queue until stop is called. It looks at one file.
func (w *work) watch(ctx context.Context, q Controlled) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(w.opt.poll)
		defer tick.Stop()
		last := w.ordersState()
		for {
			w.obey(q)
			for state := last; state == last; state = w.ordersState() {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
			last = w.ordersState()
		}
	})
	return func() { cancel(); done.Wait() }
}

// ordersState changes when an order is given.
func (w *work) ordersState() string {
	st, err := os.Stat(filepath.Join(controlDir(w.dir), logs.JournalName))
	if err != nil {
		return ""
	}
	return fmt.Sprint(st.Size(), st.ModTime())
}

// obey reads the orders and acts on those that are new.
func (w *work) obey(q Controlled) {
	c, err := ReadControl(w.dir)
	if err != nil {
		fmt.Fprintf(w.opt.Stderr, "stint: %v; orders are not followed\n", err)
		return
	}
	if len(c.Orders) <= len(w.control.Orders) {
		return
	}
	news := c.Orders[len(w.control.Orders):]
	w.control = c
	for _, o := range news {
		if o.Set != nil && o.Set.MaxUSD != nil && w.budget != nil {
			if err := w.chargeBefore(); err != nil {
				fmt.Fprintf(w.opt.Stderr, "stint: %v; only what this run pays counts against the limit\n", err)
			}
			w.budget.SetUSD(*o.Set.MaxUSD)
		}
		if w.opt.OnOrder != nil {
			w.opt.OnOrder(o)
		}
	}
	q.Obey(c, news)
}

// hold is what an episode is asked before every attempt.
func (w *work) hold(id string) func() error {
	q, ok := w.q.(Controlled)
	if !ok {
		return nil
	}
	return func() error { return q.Hold(id) }
}
