package episode

import (
	"cmp"
	"context"
	"errors"
)

// Stop is the cause with which a context tells a running episode why it has to leave: who wants it and why.
type Stop struct {
	Text string
	End  bool // the episode ends for good; else it can go on
	// Reason is that of the end; "" = [EndOperator].
	Reason string
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

// ended says how and with which words the episode is to end for good.
func ended(ctx context.Context) (reason, words string, ok bool) {
	if s := stopOf(ctx); s != nil && s.End {
		return cmp.Or(s.Reason, EndOperator), s.Text, true
	}
	return "", "", false
}

// interruption says in a few words why an attempt was cut.
func interruption(ctx context.Context) string {
	if s := stopOf(ctx); s != nil {
		return oneLine(s.Text)
	}
	return "interrupted"
}
