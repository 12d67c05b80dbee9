package study

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/logs"
)

// testPoll is how often the runs of these tests look for orders.
const testPoll = 5 * time.Millisecond

// give gives an order to a run, in the name of ann.
func give(t *testing.T, dir string, o Order) error {
	t.Helper()
	o.By, o.Reason = "ann", "a test"
	return mustParse(t, small).Give(&logs.RunDir{Root: dir}, o, time.Now)
}

func mustGive(t *testing.T, dir string, o Order) {
	t.Helper()
	if err := give(t, dir, o); err != nil {
		t.Error(err)
	}
}

// until waits for something that happens soon.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("waited in vain: %s", what)
			return
		}
	}
}

// TestPauseAndResume: a paused run leaves its episodes between attempts and holds; resumed, it goes on. One that is
// started while it is paused says so.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	var left atomic.Int32
	var told atomic.Int32
	f := &fakeLoop{act: func(ctx context.Context, s episode.Spec) error {
		if left.Load() > 0 {
			return s.Hold()
		}
		mustGive(t, dir, Order{Verb: OrderPause})
		var err error
		until(t, "the pause", func() bool { err = s.Hold(); return err != nil })
		left.Add(1)
		go func() {
			time.Sleep(20 * testPoll) // long enough for a run that does not hold to begin another episode
			if _, err := start(t, dir, small, &fakeLoop{}, RunOptions{}); err == nil || !strings.Contains(err.Error(), "in use") {
				t.Errorf("another run: %v", err)
			}
			if n := left.Load(); n != 1 {
				t.Errorf("%d episodes ran while the study was paused", n)
			}
			mustGive(t, dir, Order{Verb: OrderResume})
		}()
		return err
	}}
	sum, err := start(t, dir, small, f, RunOptions{Jobs: 1, poll: testPoll, OnOrder: func(Order) { told.Add(1) }})
	if err != nil || sum.Valid != 8 || len(f.ran) != 9 || f.ran[0] != f.ran[1] || sum.Held != nil || told.Load() != 2 {
		t.Errorf("%+v, %v, ran %v, told of %d orders", sum, err, f.ran, told.Load())
	}

	other := filepath.Join(t.TempDir(), "other")
	if _, err := start(t, other, small, &fakeLoop{}, RunOptions{Only: "model:sim"}); err != nil {
		t.Fatal(err)
	}
	mustGive(t, other, Order{Verb: OrderPause})
	var held *HeldError
	if _, err := start(t, other, small, &fakeLoop{}, RunOptions{}); !errors.As(err, &held) || held.ExitCode() != 4 || !strings.Contains(err.Error(), "paused by ann: a test") {
		t.Errorf("a run that is paused began: %v", err)
	}
	if sum, err := start(t, other, small, &fakeLoop{}, RunOptions{Only: "model:sim"}); err != nil || !sum.NothingToDo {
		t.Errorf("there is nothing to hold: %+v, %v", sum, err)
	}
	if err := give(t, other, Order{Verb: OrderPause}); err == nil || !strings.Contains(err.Error(), "already paused by ann") {
		t.Errorf("paused twice: %v", err)
	}
}

// TestPauseAndCancelEpisodes: an episode that runs is cut and ends as stopped by the operator, one that has not begun
// ends without an attempt, and a paused one is left out.
func TestPauseAndCancelEpisodes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	s := mustParse(t, small)
	if err := s.freezeInto(t, dir); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range s.order() {
		id, err := s.FindEpisode(&logs.RunDir{Root: dir}, e.String())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	mustGive(t, dir, Order{Verb: OrderCancel, Episode: ids[2]})
	mustGive(t, dir, Order{Verb: OrderPause, Episode: ids[3]})
	f := &fakeLoop{}
	f.act = func(ctx context.Context, s episode.Spec) error {
		if s.ID == ids[0] {
			mustGive(t, dir, Order{Verb: OrderCancel, Episode: ids[0]})
			<-ctx.Done()
		}
		var stop *episode.Stop
		if errors.As(context.Cause(ctx), &stop) != (ctx.Err() != nil) || stop != nil && (!stop.End || stop.Text != "cancelled by ann: a test") {
			t.Errorf("%s: the cause is %v", s.ID, context.Cause(ctx))
		}
		return nil
	}
	f.reason = func(s episode.Spec) string {
		if s.ID == ids[0] || s.ID == ids[2] {
			return episode.EndOperator
		}
		return episode.EndFailed
	}
	sum, err := start(t, dir, small, f, RunOptions{Jobs: 1, poll: testPoll})
	var held *HeldError
	if err != nil || sum.Valid != 5 || sum.Stopped != 2 || sum.Incomplete != 1 || !errors.As(sum.Held, &held) || held.Order.Episode != ids[3] {
		t.Fatalf("%+v, %v", sum, err)
	}
	// Those that were cancelled stay so, also for --retry stopped, until somebody resumes them.
	for _, id := range []string{ids[0], ids[3]} {
		mustGive(t, dir, Order{Verb: OrderResume, Episode: id})
	}
	g := &fakeLoop{}
	if sum, err := start(t, dir, small, g, RunOptions{RetryStopped: true}); err != nil || sum.Valid != 7 || sum.Stopped != 1 || len(g.ran) != 2 {
		t.Errorf("%+v, %v, ran %v", sum, err, g.ran)
	}
	if err := give(t, dir, Order{Verb: OrderCancel, Episode: ids[1]}); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("cancelled after its end: %v", err)
	}
}

// freezeInto makes a run directory with the study and its scenarios.
func (s *Study) freezeInto(t *testing.T, dir string) error {
	h, err := s.Hold(dir, time.Now())
	if err != nil {
		return err
	}
	defer h.Release()
	return s.Generate(t.Context(), h, RunOptions{Dir: dir})
}

// TestCancelStudy cuts everything and ends the run; it can be resumed.
func TestCancelStudy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	f := &fakeLoop{act: func(ctx context.Context, s episode.Spec) error {
		_ = give(t, dir, Order{Verb: OrderCancel}) // the second of two is refused
		<-ctx.Done()
		var stop *episode.Stop
		if !errors.As(context.Cause(ctx), &stop) || stop.End {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
		return ctx.Err()
	}}
	sum, err := start(t, dir, small, f, RunOptions{Jobs: 2, poll: testPoll})
	var held *HeldError
	if err != nil || sum.Incomplete != 8 || !errors.As(sum.Held, &held) || held.Episodes != 0 || len(f.ran) > 2 {
		t.Fatalf("%+v, %v, ran %v", sum, err, f.ran)
	}
	if _, err := start(t, dir, small, &fakeLoop{}, RunOptions{}); !errors.As(err, &held) {
		t.Errorf("a cancelled study began: %v", err)
	}
	mustGive(t, dir, Order{Verb: OrderResume})
	if sum, err := start(t, dir, small, &fakeLoop{}, RunOptions{}); err != nil || sum.Valid != 8 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// TestSetLimits: a run takes new limits while it goes on, and those after it keep them.
func TestSetLimits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	jobs, usd := 3, 50.0
	began := make(chan struct{}, 8)
	f := &fakeLoop{usd: 10, act: func(ctx context.Context, s episode.Spec) error {
		if len(began) == 0 {
			began <- struct{}{}
			mustGive(t, dir, Order{Verb: OrderSet, Set: &Limits{MaxUSD: &usd}})
			mustGive(t, dir, Order{Verb: OrderSet, Set: &Limits{Jobs: &jobs}})
		} else {
			began <- struct{}{}
		}
		until(t, "three at once", func() bool { return len(began) >= 3 })
		return s.Spent(logs.Usage{})
	}}
	text := strings.Replace(small, "jobs: {episodes: 2}", "jobs: {episodes: 1}\nbudgets: {study: {usd: 1000}}", 1)
	sum, err := start(t, dir, text, f, RunOptions{poll: testPoll})
	if err != nil || f.most[""] != 3 || sum.BudgetReached == nil || sum.Valid+sum.Incomplete != 8 || sum.Valid > 4 {
		t.Errorf("%+v, %v, %d at once", sum, err, f.most[""])
	}
	w := &work{study: mustParse(t, text)}
	if w.control, err = ReadControl(&logs.RunDir{Root: dir}); err != nil {
		t.Fatal(err)
	}
	if w.jobs() != 3 || w.limitUSD() != 50 {
		t.Errorf("the next run has %d jobs and $%g", w.jobs(), w.limitUSD())
	}
	if w.opt = (RunOptions{Jobs: 7, MaxUSD: 20}); w.jobs() != 7 || w.limitUSD() != 20 {
		t.Errorf("with flags: %d jobs and $%g", w.jobs(), w.limitUSD())
	}
	var shown []string
	for _, o := range w.control.InForce() {
		shown = append(shown, o.String())
	}
	if want := []string{"max-usd 50 by ann: a test", "jobs 3 by ann: a test"}; !slices.Equal(shown, want) {
		t.Errorf("in force: %q", shown)
	}
}

// TestOrdersRefused: an order without author and reason, one that makes no sense, and a journal that was changed.
func TestOrdersRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	s := mustParse(t, small)
	if err := s.freezeInto(t, dir); err != nil {
		t.Fatal(err)
	}
	d := &logs.RunDir{Root: dir}
	none := 0
	for want, o := range map[string]Order{
		"--reason is missing":      {Verb: OrderPause, By: "ann"},
		"--by is missing":          {Verb: OrderPause, Reason: "x", By: " "},
		"control characters":       {Verb: OrderPause, Reason: "a\x1b[2Jb", By: "ann"},
		"at most 1000":             {Verb: OrderPause, Reason: strings.Repeat("x", 1001), By: "ann"},
		"nothing is set":           {Verb: OrderSet, Reason: "x", By: "ann", Set: &Limits{}},
		"above zero":               {Verb: OrderSet, Reason: "x", By: "ann", Set: &Limits{Jobs: &none}},
		"no order":                 {Verb: "stop", Reason: "x", By: "ann"},
		"neither paused nor cance": {Verb: OrderResume, Reason: "x", By: "ann"},
	} {
		var bad *InputError
		if err := s.Give(d, o, time.Now); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || bad.Advice == "" {
			t.Errorf("%v: %v, want %q", o, err, want)
		}
	}
	if c, err := ReadControl(d); err != nil || len(c.Orders) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, name := range []string{"", "zzzz", "sim+simulated/none/r0/s09#1", "abc"} {
		var bad *InputError
		if id, err := s.FindEpisode(d, name); !errors.As(err, &bad) {
			t.Errorf("%q is %s, %v", name, id, err)
		}
	}
	mustGive(t, dir, Order{Verb: OrderPause})
	journal := filepath.Join(dir, "control", logs.JournalName)
	b, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, []byte(strings.Replace(string(b), "ann", "bob", 1)+string(b)), 0o644); err != nil {
		t.Fatal(err)
	}
	var damaged *logs.CorruptError
	if _, err := start(t, dir, small, &fakeLoop{}, RunOptions{}); !errors.As(err, &damaged) {
		t.Errorf("orders that were changed: %v", err)
	}
}
