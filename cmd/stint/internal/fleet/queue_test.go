package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

const testKey = "0123456789ab"

// testQueue starts a server with the places of a study, and returns connections of the coordinator and of workers.
func testQueue(t testing.TB, terms Terms) (submit *link, worker func() *link) {
	t.Helper()
	b, err := StartBroker("127.0.0.1:0", t.TempDir(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	connect := func(role string) *link {
		l, err := dial(b.URL(role), "", role)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.close)
		return l
	}
	submit = connect(roleSubmit)
	if err := submit.create(t.Context(), 1, terms.Lease, allClasses); err != nil {
		t.Fatal(err)
	}
	return submit, func() *link {
		l := connect(roleWork)
		if err := l.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		return l
	}
}

var testTerms = Terms{Lease: 400 * time.Millisecond, Heartbeat: 50 * time.Millisecond, SelfStop: 300 * time.Millisecond}

// A lease is one worker's until it is silent for longer than the lease; then the next epoch begins, and the worker of
// the one before can write nothing any more, neither a heartbeat nor what it has made.
func TestLeaseIsFenced(t *testing.T) {
	t.Parallel()
	_, worker := testQueue(t, testTerms)
	a, b := worker(), worker()
	ctx := t.Context()
	h, err := take(ctx, a, &testTerms, "e1", Lease{Owner: "a"})
	if err != nil || h.now().Epoch != 1 {
		t.Fatal(h, err)
	}
	if err := h.change(ctx, func(l *Lease) {
		l.parcel = parcel{Packs: []Pack{{SHA: "x", Bytes: 1}}, Journal: 7}
		l.Turn, l.Since = 3, 1
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := take(ctx, b, &testTerms, "e1", Lease{Owner: "b"}); !errors.Is(err, errHeld) {
		t.Fatalf("a lease that is kept was taken: %v", err)
	}
	beating, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.beat(beating, func(context.Context) {}) }()
	time.Sleep(testTerms.Lease + 100*time.Millisecond)
	if _, err := take(ctx, b, &testTerms, "e1", Lease{Owner: "b"}); !errors.Is(err, errHeld) {
		t.Fatalf("a lease with heartbeats was taken: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatalf("heartbeats ended with %v", err)
	}
	time.Sleep(testTerms.Lease + 100*time.Millisecond)
	next, err := take(ctx, b, &testTerms, "e1", Lease{Owner: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if l := next.now(); l.Epoch != 2 || l.Turn != 3 || l.Since != 1 || l.Journal != 7 || len(l.Packs) != 1 {
		t.Errorf("what was handed in did not pass on: %+v", l)
	}
	if err := h.change(ctx, func(l *Lease) { l.Turn = 9 }); !errors.Is(err, errLost) {
		t.Errorf("the worker of epoch 1 could write: %v", err)
	}
	if err := h.beat(ctx, func(context.Context) {}); !errors.Is(err, errLost) {
		t.Errorf("the worker of epoch 1 goes on: %v", err)
	}
	if err := next.change(ctx, func(l *Lease) { l.Released = true }); err != nil {
		t.Fatal(err)
	}
	if again, err := take(ctx, a, &testTerms, "e1", Lease{Owner: "a"}); err != nil || again.now().Epoch != 3 {
		t.Errorf("a lease that was given back is waited for: %v", err)
	}
}

// A worker that hears nothing stops before another one may take its episode.
func TestSelfStop(t *testing.T) {
	t.Parallel()
	_, worker := testQueue(t, testTerms)
	l := worker()
	h, err := take(t.Context(), l, &testTerms, "e1", Lease{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	l.conn.Close() // the network is gone
	began := time.Now()
	if err := h.beat(t.Context(), func(context.Context) {}); !errors.Is(err, errSilent) {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(began); took < testTerms.SelfStop-testTerms.Heartbeat || took > 5*testTerms.Lease {
		t.Errorf("it stopped after %v", took)
	}
}

// The first result stays; an answer that got lost is no second one; whoever comes later is told.
func TestResultOnce(t *testing.T) {
	t.Parallel()
	_, worker := testQueue(t, testTerms)
	a, b := worker(), worker()
	ctx := t.Context()
	first := &Outcome{Episode: "e1", Epoch: 2, Owner: "a", End: "capped"}
	for range 2 {
		if err := a.publishResult(ctx, first); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.publishResult(ctx, &Outcome{Episode: "e1", Epoch: 1, Owner: "b", End: "failed"}); !errors.Is(err, errTwice) {
		t.Errorf("a second result: %v", err)
	}
	if o, err := b.result(ctx, "e1"); err != nil || o.Owner != "a" || o.End != "capped" {
		t.Errorf("%+v, %v", o, err)
	}
	if has, err := b.hasResult(ctx, "e2"); has || err != nil {
		t.Error(has, err)
	}
}

// A worker may take work and hand in, but neither remove results or episodes nor change the terms.
func TestRoles(t *testing.T) {
	t.Parallel()
	submit, worker := testQueue(t, testTerms)
	terms := testTerms
	if err := submit.offer(t.Context(), &terms); err != nil {
		t.Fatal(err)
	}
	l := worker()
	if got, err := l.terms(t.Context()); err != nil || got.Lease != terms.Lease {
		t.Fatal(got, err)
	}
	for what, f := range map[string]func(ctx context.Context) error{
		"terms":  func(ctx context.Context) error { _, err := l.ctl.Put(ctx, termsKey, []byte("{}")); return err },
		"orders": func(ctx context.Context) error { _, err := l.ctl.Put(ctx, orderKey, []byte("{}")); return err },
		"stream": func(ctx context.Context) error { return l.js.DeleteStream(ctx, l.results()) },
		"purge": func(ctx context.Context) error {
			s, err := l.js.Stream(ctx, l.episodes())
			if err != nil {
				return err
			}
			return s.Purge(ctx)
		},
		"other": func(ctx context.Context) error { _, err := l.js.KeyValue(ctx, "lease-ffffffffffff"); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := f(ctx); err == nil {
			t.Errorf("a worker may change the %s", what)
		}
		cancel()
	}
	for what, has := range map[string]func() error{
		"terms":  func() error { _, err := submit.terms(t.Context()); return err },
		"stream": func() error { _, err := submit.js.Stream(t.Context(), submit.results()); return err },
		"orders": func() error {
			if _, err := submit.ctl.Get(t.Context(), orderKey); !errors.Is(err, jetstream.ErrKeyNotFound) {
				return fmt.Errorf("there are orders: %v", err)
			}
			return nil
		},
	} {
		if err := has(); err != nil {
			t.Errorf("after a worker's try the %s: %v", what, err)
		}
	}
}

// Of one model no more run at once than may, over all workers; the place of a worker that died is free again.
func TestPlacesOfAModel(t *testing.T) {
	t.Parallel()
	_, worker := testQueue(t, testTerms)
	a, b := quota{worker(), 2, testTerms.Lease}, quota{worker(), 2, testTerms.Lease}
	ctx := t.Context()
	const model = "vendor/model 1.5"
	for i, c := range []struct {
		q       *quota
		episode string
		want    error
	}{{&a, "e1", nil}, {&b, "e2", nil}, {&b, "e3", errFull}, {&a, "e1", nil}} {
		if err := c.q.keep(ctx, "w", model, c.episode); !errors.Is(err, c.want) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := errors.Join(a.leave(ctx, "w", model, "e1"), b.keep(ctx, "w", model, "e3")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(testTerms.Lease + 100*time.Millisecond)
	if err := a.keep(ctx, "w", model, "e4"); err != nil {
		t.Errorf("the place of a dead worker is not free: %v", err)
	}
}

// What is handed in piece by piece is restored as it was; a pack that is not what it is called is refused, in the queue
// and in a folder, and so is one with names that no worker packs.
func TestPacks(t *testing.T) {
	t.Parallel()
	_, worker := testQueue(t, testTerms)
	l := worker()
	ctx := t.Context()
	for name, st := range map[string]store{"queue": &objectStore{l.packs}, "folder": folderStore(t.TempDir())} {
		dir, scratch := filepath.Join(t.TempDir(), "e"), t.TempDir()
		put := func(file, text string) {
			t.Helper()
			path := filepath.Join(dir, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		blob := func(c string) string { return "blobs/" + strings.Repeat(c, 2) + "/" + strings.Repeat(c, 62) + ".zst" }
		s := &sender{store: st, dir: dir, scratch: scratch, sent: map[string]bool{}}
		put(blob("a"), "first")
		put("blobs/.tmp-1", "on its way")
		if err := s.send(ctx); err != nil {
			t.Fatal(name, err)
		}
		put(blob("b"), "second")
		put("truth", "planted")
		for range 2 { // the second time nothing is new
			if err := s.send(ctx); err != nil {
				t.Fatal(name, err)
			}
		}
		if len(s.parcel.Packs) != 2 {
			t.Fatalf("%s: %d packs", name, len(s.parcel.Packs))
		}
		to := filepath.Join(t.TempDir(), "e")
		if _, err := restore(ctx, st, s.parcel, to, scratch); err != nil {
			t.Fatal(name, err)
		}
		for file, want := range map[string]string{blob("a"): "first", blob("b"): "second", "truth": "planted"} {
			if got, err := os.ReadFile(filepath.Join(to, file)); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, %v", name, file, got, err)
			}
		}
		if _, err := os.Stat(filepath.Join(to, "blobs/.tmp-1")); err == nil {
			t.Errorf("%s: a blob that was not whole was handed in", name)
		}
		var damaged *DamagedError
		wrong := parcel{Packs: []Pack{{SHA: strings.Repeat("0", 64), Bytes: 3}}}
		if _, err := restore(ctx, st, wrong, to, scratch); !errors.As(err, &damaged) {
			t.Errorf("%s: a missing pack: %v", name, err)
		}
		short := s.parcel.Packs[0]
		short.Bytes--
		if _, err := restore(ctx, st, parcel{Packs: []Pack{short}}, to, scratch); !errors.As(err, &damaged) {
			t.Errorf("%s: a pack of another size: %v", name, err)
		}
		if entries, err := os.ReadDir(scratch); err != nil || len(entries) > 0 {
			t.Errorf("%s: packs are left behind: %v, %v", name, entries, err)
		}
	}
}

func TestPackNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../x", "blobs/../../x", "/etc/passwd", "work/x", "journal.jsonl", "blobs/aa/b.zst", "study.yaml"} {
		if inPack.MatchString(name) {
			t.Errorf("an episode's pack may hold %q", name)
		}
	}
	for name, want := range map[string]bool{
		"study.yaml": true, "scenarios/s01.json.zst": true, "harness/mini-swe.yaml": true,
		"scenarios/../x": false, "../study.yaml": false, "scenarios/.hidden": false, "episodes/x": false, "/study.yaml": false,
	} {
		if inStudy.MatchString(name) != want {
			t.Errorf("a study's pack may hold %q: %v", name, !want)
		}
	}
}

func TestTermsCheck(t *testing.T) {
	t.Parallel()
	for _, bad := range []Terms{{}, {Lease: time.Minute, Heartbeat: 20 * time.Second, SelfStop: 45 * time.Second}, {Lease: time.Minute, Heartbeat: time.Second, SelfStop: time.Minute}} {
		var in *study.InputError
		if err := bad.Check(); !errors.As(err, &in) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// BenchmarkEpisodes claims, commits and acknowledges empty episodes: 64 workers, each with a connection of its own.
// One iteration is 5,000 episodes.
func BenchmarkEpisodes(b *testing.B) {
	terms := Terms{Lease: time.Minute, Heartbeat: 10 * time.Second, SelfStop: 45 * time.Second}
	const episodes, workers = 5000, 64
	for b.Loop() {
		b.StopTimer()
		submit, worker := testQueue(b, terms)
		var futures []jetstream.PubAckFuture
		links := make([]*link, workers)
		for i := range links {
			links[i] = worker()
		}
		b.StartTimer()
		for i := range episodes {
			f, err := submit.js.PublishAsync(submit.subject("sim", fmt.Sprintf("e%05d", i)), nil)
			if err != nil {
				b.Fatal(err)
			}
			futures = append(futures, f)
		}
		for _, f := range futures {
			select {
			case <-f.Ok():
			case err := <-f.Err():
				b.Fatal(err)
			}
		}
		var done atomic.Int64
		var all sync.WaitGroup
		for i, l := range links {
			all.Go(func() {
				s, err := l.js.Stream(b.Context(), l.episodes())
				if err != nil {
					b.Error(err)
					return
				}
				c, err := s.Consumer(b.Context(), "sim")
				if err != nil {
					b.Error(err)
					return
				}
				for done.Load() < episodes {
					batch, err := c.Fetch(1, jetstream.FetchMaxWait(200*time.Millisecond))
					if err != nil {
						b.Error(err)
						return
					}
					for m := range batch.Messages() {
						id := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
						h, err := take(b.Context(), l, &terms, id, Lease{Owner: fmt.Sprint("w", i)})
						if err == nil {
							err = l.publishResult(b.Context(), &Outcome{Episode: id, Epoch: h.now().Epoch, Owner: h.now().Owner})
						}
						if err == nil {
							err = m.DoubleAck(b.Context())
						}
						if err != nil {
							b.Error(err)
							return
						}
						done.Add(1)
					}
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*episodes), "ms/episode")
}
