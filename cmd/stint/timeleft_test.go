package main

import (
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
)

// TestTimeLeft: the expected values are computed by hand from the share of turns or episodes played.
func TestTimeLeft(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newTimeLeft(func() time.Time { return now }, 4)
	check := func(want string) {
		t.Helper()
		if got := l.words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("")
	// a was interrupted in an earlier run: its first six turns took no time of this one.
	l.see(episode.Event{Episode: "a", Kind: episode.EventAttempt, Turn: 6, TurnsMax: 11})
	l.see(episode.Event{Episode: "b", Kind: episode.EventAttempt, Turn: 0, TurnsMax: 11})
	check("")
	now = now.Add(10 * time.Second)
	l.see(episode.Event{Episode: "a", Kind: episode.EventAttempt, Turn: 7, TurnsMax: 11})
	check(", left at most about 3m10s") // 0.2 of 4 episodes took 10 s
	now = now.Add(10 * time.Second)
	l.see(episode.Event{Episode: "a", Kind: episode.EventEnd, Turn: 7, TurnsMax: 11})
	check(", left about 1m0s")
}
