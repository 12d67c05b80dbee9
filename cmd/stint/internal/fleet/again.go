package fleet

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// again does something until it succeeds, can no more, or ctx ends: a cluster that lost a server answers nothing for the
// seconds in which it elects another leader, and a request of that time gets no answer at all. Each try has a limit of
// its own; 0 = none.
func again(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	for {
		err := try(ctx, limit, f)
		if err == nil || ctx.Err() != nil || hopeless(err) {
			return err
		}
		pause(ctx, fetchWait)
	}
}

func try(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return f(ctx)
}

const (
	// requestWait bounds one try of a small request.
	requestWait = 3 * time.Second
	// atLastWait bounds how long something is tried that nobody else waits for.
	atLastWait = 45 * time.Second
)

// atLast is [again] for so long.
func atLast(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, atLastWait)
	defer cancel()
	return again(ctx, limit, f)
}

// hopeless says whether trying again would not help.
func hopeless(err error) bool {
	var input *study.InputError
	var damaged *DamagedError
	return errors.Is(err, errLost) || errors.Is(err, errTwice) || errors.As(err, &input) || errors.As(err, &damaged) || study.HostIsFull(err) || storeIsFull(err)
}

// storeIsFull says whether the queue has no room for what was sent; the server gives such errors as text.
func storeIsFull(err error) bool {
	for _, text := range []string{"maximum bytes exceeded", "insufficient storage", "insufficient resources"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
