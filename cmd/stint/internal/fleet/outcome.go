package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// allClasses are what an episode may need: a model server with its key, or nothing but stint.
var allClasses = []string{"real", "sim"}

// classOf is the class of an episode.
func classOf(s *study.Study, j study.Job) string {
	if m := s.Model(j.Model); m != nil && m.Simulate == "" {
		return "real"
	}
	return "sim"
}

// errTwice says that an episode had a result already.
var errTwice = errors.New("the episode has a result already")

// publishResult writes the result of an episode, once: if another one is there the error is errTwice, unless it is this
// very one, whose confirmation got lost.
func (l *link) publishResult(ctx context.Context, o *Outcome) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err = l.js.Publish(ctx, "result."+l.key+"."+o.Episode, b); err == nil {
		return nil
	}
	if was, err := l.result(ctx, o.Episode); err == nil && was != nil {
		if was.Owner == o.Owner && was.Epoch == o.Epoch {
			return nil
		}
		return errTwice
	}
	return fmt.Errorf("publishing the result: %w", err)
}

// result reads the result of an episode; nil if it has none.
func (l *link) result(ctx context.Context, id string) (*Outcome, error) {
	s, err := l.js.Stream(ctx, l.results())
	if err != nil {
		return nil, noStudy(l.key, err)
	}
	m, err := s.GetLastMsgForSubject(ctx, "result."+l.key+"."+id)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", id, err)
	}
	return decodeOutcome(id, m.Data)
}

func decodeOutcome(id string, b []byte) (*Outcome, error) {
	var o Outcome
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", id, err)
	}
	if o.Episode != id {
		return nil, fmt.Errorf("the result of %s is that of %q", id, o.Episode)
	}
	return &o, nil
}

func (l *link) hasResult(ctx context.Context, id string) (bool, error) {
	o, err := l.result(ctx, id)
	return o != nil, err
}
