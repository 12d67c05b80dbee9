package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Lease says who holds an episode, and what has been handed in of it. Its revision in the queue is the fence: whoever
// writes with an old one is refused, so a worker that was thought dead cannot add anything.
type Lease struct {
	Owner    string    `json:"owner"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Epoch    int       `json:"epoch"` // how many held it so far, this one included
	Began    time.Time `json:"began"` // wall time of the host, for people
	Beats    int       `json:"beats"`
	Released bool      `json:"released,omitempty"` // given back: the next one need not wait
	Turn     int       `json:"turn"`               // the last that was handed in
	Since    int       `json:"since"`              // epoch in which that turn was handed in
	Tokens   int64     `json:"tokens,omitempty"`
	USD      *float64  `json:"usd,omitempty"`
	parcel
}

var (
	// errHeld says that another worker holds the episode.
	errHeld = errors.New("another worker holds the episode")
	// errLost says that the lease went to another worker.
	errLost = errors.New("the lease of the episode went to another worker")
	// errSilent says that the queue confirmed nothing for so long that the lease may have gone.
	errSilent = errors.New("the queue has confirmed no heartbeat for the time of the self-stop")
)

// hold is a lease that this process has.
type hold struct {
	link    *link
	terms   *Terms
	episode string
	mono    func() time.Time // of the host; only differences count

	mu        sync.Mutex
	lease     Lease
	revision  uint64
	confirmed time.Time
	lost      error
}

// take takes an episode: if nobody has it, or if who had it gave it back or is silent for longer than the lease by the
// clock of the server. The error is errHeld if somebody else has it or was faster.
func take(ctx context.Context, l *link, t *Terms, episode string, me Lease) (*hold, error) {
	h := &hold{link: l, terms: t, episode: episode, mono: time.Now, lease: me}
	h.lease.Epoch = 1
	e, err := l.leases.Get(ctx, episode)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
	case err != nil:
		return nil, fmt.Errorf("reading the lease: %w", err)
	default:
		var was Lease
		if err := json.Unmarshal(e.Value(), &was); err != nil {
			return nil, fmt.Errorf("reading the lease of %s: %w", episode, err)
		}
		if !was.Released {
			now, err := l.now(ctx, me.Owner)
			if err != nil {
				return nil, fmt.Errorf("asking the server for its time: %w", err)
			}
			if now.Sub(e.Created()) <= t.Lease {
				return nil, errHeld
			}
		}
		h.revision = e.Revision()
		h.lease.Epoch = was.Epoch + 1
		h.lease.Turn, h.lease.Since, h.lease.Tokens, h.lease.USD, h.lease.parcel = was.Turn, was.Since, was.Tokens, was.USD, was.parcel
	}
	if err := h.write(ctx); err != nil {
		if errors.Is(err, errLost) {
			return nil, errHeld
		}
		return nil, err
	}
	return h, nil
}

// write sends the lease with the revision that this process knows as the last one. The lock is held, or nobody else
// knows h yet.
func (h *hold) write(ctx context.Context) error {
	if h.lost != nil {
		return h.lost
	}
	b, err := json.Marshal(h.lease)
	if err != nil {
		return err
	}
	asked := h.mono()
	var revision uint64
	if h.revision == 0 {
		revision, err = h.link.leases.Create(ctx, h.episode, b)
	} else {
		revision, err = h.link.leases.Update(ctx, h.episode, b, h.revision)
	}
	if err != nil && wrongRevision(err) {
		// An answer may have got lost: the last revision is then our own, since nobody else writes this owner and epoch.
		var was Lease
		e, err := h.link.leases.Get(ctx, h.episode)
		if err != nil {
			return fmt.Errorf("reading the lease: %w", err)
		}
		if json.Unmarshal(e.Value(), &was) == nil && was.Owner == h.lease.Owner && was.Epoch == h.lease.Epoch {
			h.revision = e.Revision()
			if string(e.Value()) == string(b) {
				h.confirmed = asked
				return nil
			}
			return errors.New("writing the lease: an answer had got lost")
		}
		h.lost = errLost
		return errLost
	}
	if err != nil {
		return fmt.Errorf("writing the lease: %w", err)
	}
	h.revision, h.confirmed = revision, asked
	return nil
}

func wrongRevision(err error) bool {
	if errors.Is(err, jetstream.ErrKeyExists) {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// change writes a changed lease.
func (h *hold) change(ctx context.Context, f func(*Lease)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.lease
	f(&h.lease)
	if err := h.write(ctx); err != nil {
		h.lease = was
		return err
	}
	return nil
}

// now returns the lease as this process wrote it last.
func (h *hold) now() Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

// silent is for how long the queue has confirmed nothing; the error says that the lease went to another worker.
func (h *hold) silent() (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mono().Sub(h.confirmed), h.lost
}

// beat keeps the lease until ctx ends. It returns why the episode must be left: errLost, errSilent, or nil with ctx.
// also is called after every heartbeat that was confirmed.
func (h *hold) beat(ctx context.Context, also func(context.Context)) error {
	tick := time.NewTicker(h.terms.Heartbeat)
	defer tick.Stop()
	for {
		silent, lost := h.silent()
		left := h.terms.SelfStop - silent
		switch {
		case lost != nil:
			return lost
		case left <= 0:
			return errSilent
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(left):
			continue
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(ctx, min(h.terms.Heartbeat, left))
		err := h.change(asking, func(l *Lease) { l.Beats++ })
		if err == nil {
			also(asking)
		}
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errLost):
			return errLost
		}
	}
}
