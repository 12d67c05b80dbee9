package episode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// eventful is a script in which everything happens that a journal can record. It looks at nothing but the
// request, so an attempt that is started again does what it did.
func eventful(r harness.Request) act {
	switch key := fmt.Sprintf("%d.%d/%d", r.Turn, r.Attempt, r.Try); key {
	case "0.0/0", "2.1/0":
		return act{void: harness.VoidRateLimit, regress: true}
	case "0.0/1":
		return act{void: harness.VoidProviderError, nothing: true}
	case "1.0/0", "2.0/1", "2.1/1", "2.2/0":
		return act{regress: true}
	case "1.1/0":
		return act{regress: true, completion: harness.CompletionCut, limit: "wall"}
	case "1.1/1":
		return act{regress: true, completion: harness.CompletionCut}
	case "2.0/0":
		return act{nothing: true, completion: harness.CompletionEmpty}
	}
	return act{}
}

// killed is what AfterAppend panics with: the process is gone at that record.
type killed struct{}

// runUntil runs an episode and kills it after the record with this number.
func runUntil(t *testing.T, s Spec, seq int64) {
	t.Helper()
	s.Journal.AfterAppend = func(n int64) {
		if n == seq {
			panic(killed{})
		}
	}
	defer func() {
		if v := recover(); v != (killed{}) {
			panic(v)
		}
	}()
	end, err := Run(context.Background(), s)
	t.Fatalf("not killed at record %d: %+v, %v", seq, end, err)
}

// Wherever an episode is killed, the same call goes on and comes to the same digests: with the scratch folder
// as it was, without it, and on another host.
func TestResumeAfterEveryRecord(t *testing.T) {
	p := small(play(t, 3, 2))
	box := noSandbox(t)
	spec := func(t *testing.T) Spec {
		s := specOf(t.TempDir(), p, newScripted(t, p, eventful), box)
		s.Start.Retries = 2
		return s
	}
	whole := spec(t)
	if end := mustRun(t, whole); end.Reason != EndFailed || end.TurnsPassed != 2 {
		t.Fatalf("undisturbed: %+v; journal %q", end, kinds(t, whole))
	}
	undisturbed, _ := digests(t, root(whole))
	records, _, err := logs.ReadJournal(filepath.Join(whole.Dir, logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name  string
		after func(*Spec)
	}{
		{"same", func(*Spec) {}},
		{"scratch lost", func(s *Spec) { os.RemoveAll(filepath.Join(s.Dir, "work")) }},
		{"other host", func(s *Spec) { s.Host = "host-b" }},
		{"machine restarted", func(s *Spec) { s.Boot = "later" }},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			for k := int64(0); k < int64(len(records)); k++ {
				// Only where an attempt has ended and is not graded do the files of the scratch folder matter.
				if typ := records[k].Type; way.name != "same" && typ != logs.TypeAgentExit && typ != logs.TypeUsage {
					continue
				}
				s := spec(t)
				runUntil(t, s, k)
				way.after(&s)
				if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 2 {
					t.Errorf("killed at record %d (%s): %+v", k, records[k].Type, end)
				}
				if got, tables := digests(t, root(s)); got != undisturbed {
					t.Errorf("killed at record %d (%s): digests differ; %d attempts", k, records[k].Type, len(tables.Attempts))
				}
			}
		})
	}
}

// Killed again and again, at most five times in one attempt, an episode still comes to the same end.
func TestResumeAfterManyKills(t *testing.T) {
	p := small(play(t, 3, 2))
	spec := func() Spec {
		s := specOf(t.TempDir(), p, newScripted(t, p, eventful), noSandbox(t))
		return s
	}
	whole := spec()
	mustRun(t, whole)
	undisturbed, _ := digests(t, root(whole))
	s := spec()
	for k := int64(1); ; k += 5 {
		if done := func() (done bool) {
			defer func() { done = recover() == nil }()
			n := s
			n.Journal.AfterAppend = func(seq int64) {
				if seq == k {
					panic(killed{})
				}
			}
			mustRun(t, n)
			return true
		}(); done {
			break
		}
	}
	if got, _ := digests(t, root(s)); got != undisturbed {
		t.Errorf("digests differ; journal %q", kinds(t, s))
	}
}

// Three processes that die in the same attempt park the episode: something in it ends stint. It can be tried again, and
// processes that left in order do not count.
func TestParked(t *testing.T) {
	p := small(play(t, 3, 2))
	s := specOf(t.TempDir(), p, newScripted(t, p, func(harness.Request) act { return act{} }), noSandbox(t))
	runUntil(t, s, 3) // attempt.start
	runUntil(t, s, 7) // resume, usage, void, attempt.start
	ctx, cancel := context.WithCancel(t.Context())
	left := s
	left.Hold = func() error { cancel(); return ctx.Err() }
	if _, err := Run(ctx, left); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	runUntil(t, s, 12) // left after resume, usage, void; then resume, attempt.start
	for seq := int64(16); seq <= 20; seq += 4 {
		runUntil(t, s, seq) // resume, usage, void, attempt.start
	}
	end := mustRun(t, s)
	if end.Reason != EndHost || end.TurnsPassed != 0 {
		t.Errorf("end %+v; journal %q", end, kinds(t, s))
	}
	records, _, err := logs.ReadJournal(filepath.Join(s.Dir, logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	last, err := logs.Decode[logs.EpisodeEnd](records[len(records)-1])
	if err != nil || !strings.HasPrefix(last.Evidence, "parked: 3 processes") {
		t.Errorf("%+v, %v", last, err)
	}
	s.Retry = true
	if end := mustRun(t, s); !end.Valid() {
		t.Errorf("tried again: %+v; journal %q", end, kinds(t, s))
	}
}

// An episode that its context ends for good is stopped by the operator, with the words of the one who did it, whether an
// attempt runs or it has not begun.
func TestEndedByOperator(t *testing.T) {
	p := small(play(t, 3, 2))
	stop := &Stop{Text: "cancelled by ann: too dear", End: true}
	for name, at := range map[string]int64{"not begun": -1, "attempt": 3, "later": 6} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := specOf(t.TempDir(), p, newScripted(t, p, func(harness.Request) act { return act{} }), noSandbox(t))
		s.Journal.AfterAppend = func(seq int64) {
			if seq == at {
				cancel(stop)
			}
		}
		if at < 0 {
			cancel(stop)
		}
		end, err := Run(ctx, s)
		if err != nil || end.Reason != EndOperator {
			t.Errorf("%s: %+v, %v; journal %q", name, end, err, kinds(t, s))
		}
		records, _, err := logs.ReadJournal(filepath.Join(s.Dir, logs.JournalName))
		if err != nil {
			t.Fatal(err)
		}
		if last, err := logs.Decode[logs.EpisodeEnd](records[len(records)-1]); err != nil || last.Evidence != stop.Text {
			t.Errorf("%s: %+v, %v", name, last, err)
		}
		cancel(nil)
		s.Retry, s.Journal.AfterAppend = true, nil
		if end := mustRun(t, s); !end.Valid() {
			t.Errorf("%s, tried again: %+v", name, end)
		}
	}
}
