package fleet

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// orderKey is where workers look for what the coordinator wants.
const orderKey = "order"

// orders are what the coordinator wants of all workers.
type orders struct {
	Done     bool                 `json:"done,omitempty"`  // nothing more will come: leave
	Spent    string               `json:"spent,omitempty"` // why no new attempt may start
	Study    *study.Order         `json:"study,omitempty"` // pause or cancel in force for all
	Episodes map[string]heldOrder `json:"episodes,omitempty"`
}

// heldOrder is a pause or cancel in force for one episode.
type heldOrder struct {
	Verb string `json:"verb"`
	Text string `json:"text"`
}

// heldByOrder says why an episode does not go on for now.
type heldByOrder struct{ text string }

func (e *heldByOrder) Error() string { return e.text }

// Obey implements study.Controlled: what a person ordered goes to all workers.
func (c *coordinator) Obey(all *study.Control, news []study.Order) {
	c.mu.Lock()
	c.orders.Study, c.orders.Episodes = all.Study, map[string]heldOrder{}
	for id, o := range all.Episodes {
		if o != nil {
			c.orders.Episodes[id] = heldOrder{Verb: o.Verb, Text: o.String()}
		}
	}
	if all.Limits.MaxUSD != nil {
		c.opt.MaxUSD = *all.Limits.MaxUSD
		if c.opt.FlagUSD > 0 {
			c.opt.MaxUSD = min(c.opt.MaxUSD, c.opt.FlagUSD)
		}
		c.spent, c.orders.Spent = nil, "" // said again if it still holds
	}
	c.mu.Unlock()
	if c.link == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), queueWait)
	defer cancel()
	if err := c.say(ctx); err != nil && len(news) > 0 {
		c.opt.Say("the order has not reached the workers: " + err.Error())
	}
}

// Hold implements study.Controlled; nothing runs here.
func (c *coordinator) Hold(string) error { return nil }

// say publishes the orders.
func (c *coordinator) say(ctx context.Context) error {
	c.mu.Lock()
	b, err := json.Marshal(c.orders)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = c.link.ctl.Put(ctx, orderKey, b)
	return err
}

// orderPoll is how often a worker looks for orders.
const orderPoll = 500 * time.Millisecond

// listen follows the orders until ctx ends.
func (w *worker) listen(ctx context.Context) {
	for ctx.Err() == nil {
		w.look(ctx)
		pause(ctx, orderPoll)
	}
}

// look reads the orders and stops what they cancel.
func (w *worker) look(ctx context.Context) {
	e, err := w.link.ctl.Get(ctx, orderKey)
	if err != nil {
		return // as before
	}
	var o orders
	if json.Unmarshal(e.Value(), &o) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders = o
	for c, x := range w.held {
		if held, ok := o.Episodes[c.ID]; ok && held.Verb == study.OrderCancel {
			x.cancel(&episode.Stop{Text: held.Text, End: true})
		} else if o.Study != nil && o.Study.Verb == study.OrderCancel {
			x.cancel(&episode.Stop{Text: o.Study.String()})
		}
	}
}

// waits says whether nothing may begin now.
func (w *worker) waits() (wait, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.orders.Study != nil || w.orders.Spent != "", w.orders.Done
}

// Obey implements study.Controlled; the orders of a worker come from the queue.
func (w *worker) Obey(*study.Control, []study.Order) {}

// Hold implements study.Controlled: it is asked before every attempt.
func (w *worker) Hold(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch held, ok := w.orders.Episodes[id]; {
	case ok && held.Verb == study.OrderPause:
		return &heldByOrder{held.Text}
	case w.orders.Study != nil && w.orders.Study.Verb == study.OrderPause:
		return &heldByOrder{w.orders.Study.String()}
	case w.orders.Spent != "":
		return &heldByOrder{w.orders.Spent}
	}
	return nil
}
