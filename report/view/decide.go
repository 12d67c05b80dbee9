package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// A decision is what the rules say about the failed attempts of a turn, as soon as done is closed.
type decision struct {
	episode *episode
	turn    int
	done    chan struct{}
	result  *classify.Result
	err     error
}

// keptTurns bounds the turns whose decisions are kept.
const keptTurns = 16

// patience is how long a page waits for a decision. What takes longer, since a log is long, goes on and is shown when
// it is there.
const patience = 100 * time.Millisecond

// deciding gives the decision about a turn, which may not be made yet. It is about all failed attempts of the turn,
// since a damaged session is seen from the attempt before.
func (s *Server) deciding(st *study, ep *episode, turn int) *decision {
	st.mu.Lock()
	defer st.mu.Unlock()
	if i := slices.IndexFunc(st.decisions, func(d *decision) bool { return d.episode == ep && d.turn == turn }); i >= 0 {
		return st.decisions[i]
	}
	d := &decision{episode: ep, turn: turn, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		// Nobody's going away ends this: the next one who asks finds it made.
		if d.result, d.err = s.runRules(context.Background(), st, ep, turn); d.err != nil {
			d.err = fmt.Errorf("deciding why the attempts of turn %d failed: %w", turn, d.err)
		}
	}()
	st.decisions = slices.Insert(st.decisions, 0, d)
	st.decisions = st.decisions[:min(len(st.decisions), keptTurns)]
	return d
}

// within waits for the decision, but not long.
func (d *decision) within(patience time.Duration) bool {
	select {
	case <-d.done: // one that is there is not left to chance when there is no patience at all
		return true
	default:
	}
	select {
	case <-d.done:
		return true
	case <-time.After(patience):
		return false
	}
}

func (s *Server) runRules(ctx context.Context, st *study, ep *episode, turn int) (*classify.Result, error) {
	book, err := s.opt.Book(st.Dir)
	if err != nil {
		return nil, err
	}
	t := *ep.Tables
	if st.Foreign {
		filter, err := ofEpisode(ep.Episode, turn)
		if err != nil {
			return nil, err
		}
		if t.Events, err = rowsOf[logs.EventRow](st.table("events"), filter); err != nil {
			return nil, err
		}
	}
	return classify.Run(ctx, st.Dir, &t, classify.Options{Book: book, Foreign: st.Foreign,
		Only: func(k logs.VerdictKey) bool { return k.Turn == turn }})
}
