package episode

import (
	"context"
	"errors"
)

// Stop is the cause with which a context tells a running episode why it has to leave: who wants it and why.
type Stop struct {
	Text string
	End  bool // the episode ends for good, as stopped by the operator; else it can go on
}

func (s *Stop) Error() string { return s.Text }

// stopOf is the cause of the context's end, if somebody gave one.
func stopOf(ctx context.Context) *Stop {
	var s *Stop
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &s) {
		return s
	}
	return nil
}

// ended says with which words the episode is to end for good.
func ended(ctx context.Context) (words string, ok bool) {
	if s := stopOf(ctx); s != nil && s.End {
		return s.Text, true
	}
	return "", false
}

// interruption says in a few words why an attempt was cut.
func interruption(ctx context.Context) string {
	if s := stopOf(ctx); s != nil {
		return oneLine(s.Text)
	}
	return "interrupted"
}
