package fleet

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// quota shares the places of one model among all workers: at most so many of its episodes run at once. A place is kept
// by heartbeats as a lease is; one whose worker died is free when a lease would be over.
type quota struct {
	link *link
	most int
	free time.Duration // a place without a heartbeat for so long is nobody's
}

// errFull says that the model has no place left.
var errFull = errors.New("as many episodes of this model run as may")

// quotaKey is where the places of a model are; names of models may hold what keys may not.
func quotaKey(model string) string { return "quota." + hex.EncodeToString([]byte(model)) }

// keep takes or keeps the place of an episode; leave gives it back.
func (q *quota) keep(ctx context.Context, who, model, episode string) error {
	return q.change(ctx, who, model, func(places map[string]time.Time, now time.Time) error {
		for id, at := range places {
			if id != episode && now.Sub(at) > q.free {
				delete(places, id)
			}
		}
		if _, mine := places[episode]; !mine && len(places) >= q.most {
			return errFull
		}
		places[episode] = now
		return nil
	})
}

func (q *quota) leave(ctx context.Context, who, model, episode string) error {
	return q.change(ctx, who, model, func(places map[string]time.Time, _ time.Time) error {
		delete(places, episode)
		return nil
	})
}

// quotaTries bounds how often others may be faster.
const quotaTries = 20

func (q *quota) change(ctx context.Context, who, model string, f func(places map[string]time.Time, now time.Time) error) error {
	if q.most == 0 {
		return nil
	}
	now, err := q.link.now(ctx, who)
	if err != nil {
		return fmt.Errorf("asking the server for its time: %w", err)
	}
	key := quotaKey(model)
	for range quotaTries {
		places, revision := map[string]time.Time{}, uint64(0)
		e, err := q.link.leases.Get(ctx, key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
		case err != nil:
			return fmt.Errorf("reading the places of %s: %w", model, err)
		default:
			revision = e.Revision()
			if err := json.Unmarshal(e.Value(), &places); err != nil {
				return fmt.Errorf("reading the places of %s: %w", model, err)
			}
		}
		if err := f(places, now); err != nil {
			return err
		}
		b, err := json.Marshal(places)
		if err != nil {
			return err
		}
		if revision == 0 {
			_, err = q.link.leases.Create(ctx, key, b)
		} else {
			_, err = q.link.leases.Update(ctx, key, b, revision)
		}
		if err == nil || !wrongRevision(err) {
			return err
		}
	}
	return errFull
}
