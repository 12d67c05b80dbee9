package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// WorkOptions say how a worker works.
type WorkOptions struct {
	Join    string           // address of the queue
	Dir     string           // where it works; a folder of its own is made in it
	Jobs    int              // episodes at once; 0 = the study's jobs.episodes
	Classes []string         // what it can run; empty = all
	Version string           // of stint; "" = from the build
	Stderr  func(string)     // what a person should know
	Now     func() time.Time // nil = time.Now
	// Progress is called from several goroutines; nil = silent.
	Progress func(study.Event)
	// Run runs the study with these options and those of the machine.
	Run func(context.Context, *study.Study, study.RunOptions) (*study.Summary, error)
}

// Worked is what a worker did.
type Worked struct {
	Done, Lost, Failed int
}

// Outcome is the accepted end of an episode. There is one of each: the stream refuses a second.
type Outcome struct {
	Episode     string `json:"episode"`
	Epoch       int    `json:"epoch"`
	Owner       string `json:"owner"`
	End         string `json:"end"`
	TurnsPassed *int   `json:"turns_passed,omitempty"`
	parcel
}

// worker is the queue of a process that takes its episodes from elsewhere.
type worker struct {
	opt   WorkOptions
	link  *link // of leases and heartbeats
	bulk  *link // of packs: a heartbeat never waits behind them
	terms *Terms
	store store
	root  string
	dir   *logs.RunDir
	me    Lease

	consumers []jetstream.Consumer
	jobs      map[string]study.Job
	failed    map[string]failure // episodes that failed here, by id

	mu      sync.Mutex
	slots   chan struct{}
	held    map[*study.Claim]*job
	byID    map[string]*job
	orders  orders
	quota   quota
	stopped bool
	errs    []error
	out     Worked
}

// job is an episode that this worker holds.
type job struct {
	*hold
	model   string
	message jetstream.Msg
	sender  *sender
	cancel  context.CancelCauseFunc
	beating context.CancelFunc
	beat    chan struct{} // closed when no heartbeat comes any more
}

// Work joins a queue and runs its episodes until the study is done or ctx ends. A worker may come and go at any time:
// what it leaves is taken up by another one from the last turn that was handed in.
func Work(ctx context.Context, opt WorkOptions) (*Worked, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Version == "" {
		opt.Version = study.BuildVersion()
	}
	if opt.Stderr == nil {
		opt.Stderr = func(string) {}
	}
	w := &worker{opt: opt, held: map[*study.Claim]*job{}, byID: map[string]*job{}, failed: map[string]failure{}, jobs: map[string]study.Job{}}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w.me = Lease{Host: host, PID: os.Getpid(), Began: opt.Now().UTC()}
	w.me.Owner = fmt.Sprintf("%s-%d-%d", plainName(host), os.Getpid(), opt.Now().UnixNano()%1e6)
	if err := w.join(ctx); err != nil {
		return nil, err
	}
	defer w.link.close()
	defer w.bulk.close()
	s, err := w.fetchStudy(ctx)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(w.root)
	w.quota = quota{link: w.link, most: w.terms.PerModel, free: w.terms.Lease}
	w.look(ctx)
	listening, deaf := context.WithCancel(ctx)
	defer deaf()
	go w.listen(listening)
	w.slots = make(chan struct{}, max(1, s.JobsOr(opt.Jobs)))
	_, err = opt.Run(ctx, s, study.RunOptions{
		Progress: func(ev study.Event) {
			w.handed(ctx, ev)
			if opt.Progress != nil {
				opt.Progress(ev)
			}
		},
		Dir: w.dir.Root, Jobs: opt.Jobs, MaxChecks: w.terms.MaxChecks, Version: opt.Version, Queue: w.take,
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return &w.out, ctx.Err()
	}
	return &w.out, err
}

// plainName makes a name that can be part of a key.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// join connects and refuses a queue whose study this program cannot run alike.
func (w *worker) join(ctx context.Context) error {
	var err error
	if w.link, err = dial(w.opt.Join, "", w.me.Owner); err != nil {
		return err
	}
	if w.bulk, err = dial(w.opt.Join, "", w.me.Owner+"-packs"); err != nil {
		w.link.close()
		return err
	}
	err = atLast(ctx, requestWait, func(ctx context.Context) error {
		err := errors.Join(w.link.open(ctx), w.bulk.open(ctx))
		if err == nil {
			w.terms, err = w.link.terms(ctx)
		}
		return err
	})
	if err == nil && w.terms.Stint != w.opt.Version {
		err = &study.InputError{File: "the queue", Message: fmt.Sprintf("the study is run by stint %s, this is stint %s", w.terms.Stint, w.opt.Version),
			Advice: "use the same build on every machine: versions may grade differently"}
	}
	if err != nil {
		w.link.close()
		w.bulk.close()
		return err
	}
	w.store = w.bulk.storeOf(w.terms)
	return nil
}

// fetchStudy makes the worker's run directory: the study as frozen by the coordinator, and its scenarios.
func (w *worker) fetchStudy(ctx context.Context) (*study.Study, error) {
	if err := os.MkdirAll(w.opt.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the worker's folder: %w", err)
	}
	var err error
	if w.root, err = os.MkdirTemp(w.opt.Dir, "worker-*"); err != nil {
		return nil, fmt.Errorf("making the worker's folder: %w", err)
	}
	w.dir = &logs.RunDir{Root: filepath.Join(w.root, "run")}
	s, err := w.study(ctx)
	if err != nil {
		os.RemoveAll(w.root)
		return nil, err
	}
	return s, nil
}

func (w *worker) study(ctx context.Context) (*study.Study, error) {
	pack, err := packFromText(w.terms.Package)
	if err != nil {
		return nil, err
	}
	archive := filepath.Join(w.root, "study.tar")
	if err := atLast(ctx, 0, func(ctx context.Context) error { return w.store.get(ctx, pack, archive) }); err != nil {
		return nil, err
	}
	if err := unpackStudy(archive, w.dir.Root); err != nil {
		return nil, err
	}
	s, err := study.LoadFrozen(w.dir)
	if err != nil {
		return nil, err
	}
	if hashOf(s.Source) != w.terms.StudySHA || keyOf(s) != w.link.key {
		return nil, &study.InputError{File: "the queue", Message: "its study is not the one that its address names", Advice: "take the address that stint run wrote to queue/join"}
	}
	stream, err := w.link.js.Stream(ctx, w.link.episodes())
	if err != nil {
		return nil, noStudy(w.link.key, err)
	}
	for _, class := range w.classes() {
		c, err := stream.Consumer(ctx, class)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("opening the class %s of the queue: %w", class, err)
		}
		w.consumers = append(w.consumers, c)
	}
	if len(w.consumers) == 0 {
		return nil, &study.InputError{File: "--class", Message: "the study has no episode of these classes", Advice: "classes are sim and real; without --class a worker takes all"}
	}
	return s, nil
}

func (w *worker) classes() []string {
	if len(w.opt.Classes) > 0 {
		return w.opt.Classes
	}
	return allClasses
}

// take makes the worker the queue of a run.
func (w *worker) take(pending []study.Job) study.Queue {
	for _, j := range pending {
		w.jobs[j.ID] = j
	}
	return w
}

// Claim implements study.Queue: it waits for room and for an episode.
func (w *worker) Claim(ctx context.Context) *study.Claim {
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil && !w.stopping() {
		c, done := w.next(ctx)
		if c != nil {
			return c
		}
		if done {
			break
		}
	}
	<-w.slots
	return nil
}

func (w *worker) stopping() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped
}

// fetchWait is how long one class of the queue is asked before the next.
const fetchWait = 500 * time.Millisecond

// next asks the queue once; done says that the study has ended.
func (w *worker) next(ctx context.Context) (c *study.Claim, done bool) {
	switch wait, done := w.waits(); {
	case done:
		return nil, true
	case wait:
		pause(ctx, fetchWait)
		return nil, false
	}
	for _, consumer := range w.consumers {
		batch, err := consumer.Fetch(1, jetstream.FetchMaxWait(fetchWait/time.Duration(len(w.consumers))))
		if err != nil {
			pause(ctx, fetchWait)
			continue
		}
		for m := range batch.Messages() {
			if c = w.claim(ctx, m); c != nil {
				return c, false
			}
		}
	}
	return nil, false
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// claim takes the episode of a message, or leaves it.
func (w *worker) claim(ctx context.Context, m jetstream.Msg) *study.Claim {
	id := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	j, known := w.jobs[id]
	if !known { // the coordinator has another idea of the study: nothing is done with it here
		w.fail(fmt.Errorf("the queue holds the episode %s, which is not one of this study here: its scenarios differ", id))
		_ = m.NakWithDelay(w.terms.Lease)
		return nil
	}
	if w.waitsAfterFailure(id) { // others may do better meanwhile
		_ = m.NakWithDelay(w.terms.Lease)
		return nil
	}
	if has, err := w.link.hasResult(ctx, id); err != nil || has {
		if has {
			_ = m.DoubleAck(ctx)
		}
		return nil
	}
	if w.Hold(id) != nil || w.quota.keep(ctx, w.me.Owner, j.Model, id) != nil {
		_ = m.NakWithDelay(w.terms.Heartbeat)
		return nil
	}
	h, err := take(ctx, w.link, w.terms, id, w.me)
	if err != nil {
		_ = m.NakWithDelay(w.terms.Heartbeat)
		if !errors.Is(err, errHeld) {
			_ = w.quota.leave(ctx, w.me.Owner, j.Model, id)
		}
		return nil
	}
	c := &study.Claim{Job: j}
	var cancel context.CancelCauseFunc
	c.Context, cancel = context.WithCancelCause(ctx)
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	x := &job{hold: h, model: j.Model, message: m, cancel: cancel, beating: stop, beat: make(chan struct{})}
	go func() { // from now on, restoring included
		defer close(x.beat)
		also := func(ctx context.Context) {
			_ = m.InProgress()
			_ = w.quota.keep(ctx, w.me.Owner, j.Model, id)
		}
		if why := h.beat(beating, also); why != nil {
			cancel(why)
		}
	}()
	err = atLast(c.Context, 0, func(ctx context.Context) (err error) {
		x.sender, err = restore(ctx, w.store, h.now().parcel, w.dir.EpisodeDir(id), w.root)
		return err
	})
	if err != nil {
		w.fail(fmt.Errorf("restoring the episode %s: %w", id, err))
		w.failedIn(id)
		w.giveBack(x, false)
		return nil
	}
	if l := x.now(); l.Epoch-l.Since > episode.MaxStalled {
		cancel(&episode.Stop{End: true, Reason: episode.EndHost, Text: fmt.Sprintf("parked: %d workers lost it, one after the other, before it got further", episode.MaxStalled)})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held[c], w.byID[id] = x, x
	if o, ok := w.orders.Episodes[id]; ok && o.Verb == study.OrderCancel {
		cancel(&episode.Stop{Text: o.Text, End: true})
	}
	return c
}

// handed is told of every event of an episode; at the end of a turn it hands in what is new.
func (w *worker) handed(ctx context.Context, ev study.Event) {
	w.mu.Lock()
	x := w.byID[ev.Episode]
	w.mu.Unlock()
	if b, err := json.Marshal(ev); err == nil {
		_ = w.link.conn.Publish("evt."+w.link.key+"."+ev.Episode, b) // a loss only shows late
	}
	if x == nil || ev.Kind != episode.EventTurnEnd {
		return
	}
	if err := x.sender.send(ctx); err != nil {
		return // the next turn, or the end, hands it in
	}
	_ = x.change(ctx, func(l *Lease) {
		l.parcel, l.Turn, l.Since, l.Tokens, l.USD = x.sender.parcel, ev.Turn, l.Epoch, ev.Tokens, ev.USD
	})
}

// Deliver implements study.Queue.
func (w *worker) Deliver(c *study.Claim, err error) {
	w.mu.Lock()
	x := w.held[c]
	delete(w.held, c)
	delete(w.byID, c.ID)
	w.mu.Unlock()
	defer func() { <-w.slots }()
	ctx, cancel := context.WithTimeout(context.Background(), w.terms.SelfStop)
	defer cancel()
	why := context.Cause(c.Context)
	var kept error // why the folder is not handed in
	switch {
	case errors.Is(why, errLost) || errors.Is(why, errSilent):
		kept = w.waste(ctx, x)
		w.opt.Stderr(fmt.Sprintf("%s was left: %v", c.PlannedEpisode, why))
		w.count(func(o *Worked) { o.Lost++ })
		x.stop(errLost)
	case err == nil:
		switch err := w.finish(ctx, x); {
		case errors.Is(err, errLost) || errors.Is(err, errTwice): // it comes too late: the result of another worker stands
			kept = w.waste(ctx, x)
			w.opt.Stderr(fmt.Sprintf("%s came too late: %v", c.PlannedEpisode, err))
			w.count(func(o *Worked) { o.Lost++ })
			x.stop(err)
		case err != nil:
			kept = err
			w.fail(fmt.Errorf("handing in %s: %w", c.PlannedEpisode, err))
			w.failedIn(c.ID)
			w.giveBack(x, false)
		default:
			w.count(func(o *Worked) { o.Done++ })
		}
	default:
		held := (*heldByOrder)(nil)
		orderly := why != nil || errors.As(err, &held)
		if !orderly {
			w.fail(err)
			w.failedIn(c.ID)
		}
		kept = w.save(ctx, x)
		w.giveBack(x, orderly)
	}
	if err := w.clear(c, x, kept); err != nil {
		w.fail(err)
	}
}

// clear removes the folder of an episode that was handed in; one that was not is kept, since nobody else has it.
func (w *worker) clear(c *study.Claim, x *job, why error) error {
	dir := w.dir.EpisodeDir(c.ID)
	if why == nil {
		return os.RemoveAll(dir)
	}
	to := filepath.Join(w.opt.Dir, "kept", fmt.Sprintf("%s-%d", c.ID, x.now().Epoch))
	w.opt.Stderr(fmt.Sprintf("%s could not be handed in and is kept in %s: %v", c.PlannedEpisode, to, why))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.Rename(dir, to)
}

// maxHostFailures is after how many episodes that failed here, or failures of one, a worker takes no more: it is the host
// then.
const maxHostFailures = 3

// failure says how often an episode failed on this host, and when last.
type failure struct {
	times int
	last  time.Time
}

// failedIn remembers an episode that failed on this host.
func (w *worker) failedIn(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed[id] = failure{w.failed[id].times + 1, time.Now()}
	w.stopped = w.stopped || len(w.failed) >= maxHostFailures || w.failed[id].times >= maxHostFailures
}

// waitsAfterFailure says whether it is too early to try an episode here again.
func (w *worker) waitsAfterFailure(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.failed[id]
	return f.times > 0 && time.Since(f.last) < w.terms.Lease
}

func (w *worker) count(f func(*Worked)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.out)
}

// fail remembers an error; a full disk stops the worker.
func (w *worker) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Failed++
	if len(w.errs) < 20 {
		w.errs = append(w.errs, err)
	}
	w.opt.Stderr(err.Error())
	w.stopped = w.stopped || study.HostIsFull(err)
}

// stop ends the heartbeats of a job.
func (x *job) stop(why error) {
	x.beating()
	<-x.beat
	x.cancel(why)
}

// giveBack lets others take the episode at once. What was left in order is no sign of an episode that kills its workers.
func (w *worker) giveBack(x *job, orderly bool) {
	x.stop(context.Canceled)
	ctx, cancel := context.WithTimeout(context.Background(), queueWait)
	defer cancel()
	_ = w.quota.leave(ctx, w.me.Owner, x.model, x.episode)
	err := x.change(ctx, func(l *Lease) {
		l.Released = true
		if orderly {
			l.Since = l.Epoch
		}
	})
	if err == nil {
		_ = x.message.NakWithDelay(min(w.terms.Heartbeat, time.Second))
	}
}

// save hands in what an interrupted episode has beyond its last turn: its void attempt is part of what was paid.
func (w *worker) save(ctx context.Context, x *job) error {
	if err := x.sender.send(ctx); err != nil {
		return err
	}
	return x.change(ctx, func(l *Lease) { l.parcel = x.sender.parcel })
}

// finish hands the episode in and publishes its result, and only then tells the queue that the message is done with:
// a message alone proves nothing.
func (w *worker) finish(ctx context.Context, x *job) error {
	if err := again(ctx, 0, x.sender.send); err != nil {
		return err
	}
	end, err := endOf(filepath.Join(w.dir.EpisodeDir(x.episode), logs.JournalName))
	if err != nil {
		return err
	}
	err = again(ctx, requestWait, func(ctx context.Context) error {
		return x.change(ctx, func(l *Lease) { l.parcel = x.sender.parcel })
	})
	if err != nil {
		return err
	}
	l := x.now()
	out := Outcome{Episode: x.episode, Epoch: l.Epoch, Owner: l.Owner, End: end.EndReason, TurnsPassed: &end.TurnsPassed, parcel: l.parcel}
	if err := again(ctx, requestWait, func(ctx context.Context) error { return w.link.publishResult(ctx, &out) }); err != nil {
		return err
	}
	x.stop(context.Canceled)
	_ = w.quota.leave(ctx, w.me.Owner, x.model, x.episode)
	_ = x.message.DoubleAck(ctx) // the result stands; a message that stays is acknowledged by who gets it next
	return nil
}

// endOf reads the last record of a journal.
func endOf(path string) (*logs.EpisodeEnd, error) {
	records, _, err := logs.ReadJournal(path)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || records[len(records)-1].Type != logs.TypeEpisodeEnd {
		return nil, fmt.Errorf("%s has no end", path)
	}
	end, err := logs.Decode[logs.EpisodeEnd](records[len(records)-1])
	return &end, err
}

// waste hands in the journal of an episode that went to another worker: what it cost is counted.
func (w *worker) waste(ctx context.Context, x *job) error {
	if err := x.sender.send(ctx); err != nil {
		return err
	}
	l := x.now()
	b, err := json.Marshal(Outcome{Episode: x.episode, Epoch: l.Epoch, Owner: l.Owner, parcel: x.sender.parcel})
	if err != nil {
		return err
	}
	_, err = w.link.js.Publish(ctx, "waste."+w.link.key+"."+x.episode, b)
	return err
}

// Result implements study.Queue.
func (w *worker) Result() (spent, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return nil, errors.Join(w.errs...)
}
