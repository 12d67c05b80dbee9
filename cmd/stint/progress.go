package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// progress shows a running study: on a terminal one line per running episode and a total line with an
// estimate of the time left; elsewhere one line per finished turn, episode and warning.
type progress struct {
	e     *env
	lines bool // one line per event instead of a live table
	turns bool // with lines: finished turns too

	mu    sync.Mutex
	bars  *mpb.Progress
	total *mpb.Bar
	rows  map[string]*progressRow
	ways  map[string]bool // hints given so far: each is given once
	after []trouble       // what a live table has no room for
	left  *timeLeft
}

// trouble is an attempt that ended in a way that a user may have to do something about.
type trouble struct{ line, way string }

// progressRow is the line of one running episode.
type progressRow struct {
	bar  *mpb.Bar
	mu   sync.Mutex
	last episode.Event
}

// newProgress begins the display of a study with so many episodes, of which done have ended before.
func newProgress(e *env, total, done int, turns bool) *progress {
	p := &progress{e: e, lines: !e.terminal(), turns: turns, rows: map[string]*progressRow{}, ways: map[string]bool{},
		left: newTimeLeft(e.Now, total-done)}
	if p.lines || e.Quiet {
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(e.Stderr), mpb.WithWidth(24), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
	p.total = p.bars.New(int64(total), mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("").Padding("─").Refiller("━"),
		mpb.BarPriority(1<<20),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d episodes ")),
		mpb.AppendDecorators(decor.Name(" "), decor.Elapsed(decor.ET_STYLE_GO), decor.Any(func(decor.Statistics) string { return p.left.words() })))
	p.total.SetRefill(int64(done))
	p.total.SetCurrent(int64(done))
	return p
}

// event takes in what an episode reports. It may be called from many goroutines.
func (p *progress) event(ev episode.Event) {
	if p.e.Quiet {
		return
	}
	if p.lines {
		p.line(ev)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if line, way := p.told(ev), ev.Way; way != "" && !p.ways[way] {
		p.ways[way] = true
		p.after = append(p.after, trouble{line, way})
	}
	row := p.rows[ev.Episode]
	if row == nil {
		row = &progressRow{}
		row.bar = p.bars.New(int64(max(ev.TurnsMax, 1)), mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("").Padding("─"),
			mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return row.name() }, decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return row.state() })))
		p.rows[ev.Episode] = row
	}
	row.mu.Lock()
	row.last = ev
	row.mu.Unlock()
	p.left.see(ev)
	row.bar.SetCurrent(int64(min(ev.Turn, ev.TurnsMax-1)))
	if ev.Kind == episode.EventEnd {
		row.bar.Abort(true)
		delete(p.rows, ev.Episode)
		p.total.Increment()
	}
}

// order tells of an order that a person has given.
func (p *progress) order(o study.Order) {
	what := ""
	if o.Episode != "" {
		what = "episode " + o.Episode + " "
	}
	line := clean(what + o.String())
	if p.bars != nil {
		fmt.Fprintf(p.bars, "stint: %s\n", line)
		return
	}
	p.e.say("%s", line)
}

func (r *progressRow) name() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return eventName(r.last)
}

func (r *progressRow) state() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ev := r.last
	text := ev.Text
	if text == "" { // a step between two that have words
		text = strings.ReplaceAll(ev.Kind, "_", " ")
	}
	s := fmt.Sprintf(" turn %d.%d %s", ev.Turn, ev.Attempt, clean(text))
	if ev.Tokens > 0 {
		s += fmt.Sprintf(" · %s tokens", siCount(ev.Tokens))
	}
	if ev.USD != nil {
		s += fmt.Sprintf(" · $%.2f", *ev.USD)
	}
	return s
}

// line prints one event of those that a pipe gets, and below it the way out, once for all events that have the same.
func (p *progress) line(ev episode.Event) {
	line := p.told(ev)
	if line == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.e.say("%s", line)
	if ev.Way != "" && !p.ways[ev.Way] {
		p.ways[ev.Way] = true
		p.e.hint(clean(ev.Way))
	}
}

// told is an event in words, "" for one that is not told.
func (p *progress) told(ev episode.Event) string {
	line := ""
	switch ev.Kind {
	case episode.EventTurnEnd:
		if !p.turns {
			return ""
		}
		word := "failed"
		if ev.Passed {
			word = "passed"
		}
		line = fmt.Sprintf("%s turn %d %s after attempt %d", eventName(ev), ev.Turn, word, ev.Attempt)
	case episode.EventVoid:
		line = fmt.Sprintf("%s@%d.%d does not count: %s", eventName(ev), ev.Turn, ev.Attempt, clean(ev.Text))
	case episode.EventEnd:
		first := ""
		if ev.Passes != ev.TurnsPassed { // mode continue
			first = fmt.Sprintf(", first in turn %d", ev.TurnsPassed)
		}
		line = fmt.Sprintf("%s ended: %s%s, %d of %d turns passed", eventName(ev), clean(ev.Text), first, ev.Passes, ev.TurnsMax)
	default:
		return ""
	}
	if ev.Why != "" {
		line += ": " + clean(ev.Why)
	}
	return line
}

// finish leaves the terminal as it was.
func (p *progress) finish() {
	if p.bars == nil {
		return
	}
	p.mu.Lock()
	for _, row := range p.rows {
		row.bar.Abort(true)
	}
	p.total.Abort(true)
	p.mu.Unlock()
	p.bars.Wait()
	for _, t := range p.after {
		p.e.say("%s", t.line)
		p.e.hint(clean(t.way))
	}
}

func eventName(ev episode.Event) string {
	return clean(fmt.Sprintf("%s/%s#%d", ev.Config, ev.Scenario, ev.Repeat))
}

// siCount writes a count in at most four characters and a suffix: 987, 12.3k, 4.5M.
func siCount(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
}
