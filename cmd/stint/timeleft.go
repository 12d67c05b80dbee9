package main

import (
	"sync"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
)

// timeLeft estimates when a run ends, by what ended since it began. It has a lock of its own, since it is asked while
// the live table is drawn.
type timeLeft struct {
	now   func() time.Time
	began time.Time
	todo  int // episodes

	mu      sync.Mutex
	ended   int
	first   map[string]int     // by episode: the turn at which this run found it
	running map[string]float64 // by episode: the share of its turns that this run has played
}

func newTimeLeft(now func() time.Time, todo int) *timeLeft {
	return &timeLeft{now: now, began: now(), todo: todo, first: map[string]int{}, running: map[string]float64{}}
}

// see takes in an event. The turns that a resumed episode has behind it took no time of this run.
func (l *timeLeft) see(ev episode.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ev.Kind == episode.EventEnd {
		l.ended++
		delete(l.running, ev.Episode)
		return
	}
	first, ok := l.first[ev.Episode]
	if !ok {
		first = ev.Turn
		l.first[ev.Episode] = first
	}
	l.running[ev.Episode] = float64(ev.Turn-first) / float64(max(ev.TurnsMax-first, 1))
}

// words are the end of the total line, "" as long as nothing is known. Before the first episode has ended, the turns
// that have give an upper bound: an episode may end before its last one.
func (l *timeLeft) words() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, words := float64(l.ended), ", left about "
	if l.ended == 0 {
		words = ", left at most about "
		for _, share := range l.running {
			done += share
		}
	}
	if done == 0 {
		return ""
	}
	spent := float64(l.now().Sub(l.began))
	return words + time.Duration(spent*(float64(l.todo)-done)/done).Round(time.Second).String()
}
