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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// OfferOptions say how a study is offered to workers.
type OfferOptions struct {
	Dir      string  // the run directory
	Listen   string  // address of a server in this process; "" = Queue is one elsewhere
	Queue    string  // address of a JetStream cluster
	Replicas int     // of everything, in a cluster; 0 = 1
	Terms    Terms   // times and limits; the rest is filled in
	MaxUSD   float64 // what the study may cost; 0 = no limit
	FlagUSD  float64 // what the command line says of it, which no order raises; 0 = nothing
	Version  string
	Progress func(study.Event)
	Say      func(string) // what a person should know
	Open     func()       // called once when workers can join
	Now      func() time.Time
}

// QueueDir is the folder of a run directory that holds the server's data, the passwords and the addresses.
func QueueDir(dir string) string { return filepath.Join(dir, "queue") }

// JoinFile holds the address with which workers join, password included.
func JoinFile(dir string) string { return filepath.Join(QueueDir(dir), "join") }

// coordinator is the queue of a run whose episodes run elsewhere: it offers them and takes the results in.
type coordinator struct {
	opt    OfferOptions
	study  *study.Study
	broker *Broker
	link   *link
	store  store
	place  *collection // where results go
	lock   *hold

	taking  sync.Mutex // held while something is put into the directory
	mu      sync.Mutex
	missing map[string]*collected
	usd     map[string]float64 // what the episodes have cost that this coordinator heard of, by id
	paid    float64            // beyond that: before it began, and by workers that lost an episode
	orders  orders
	spent   error
	errs    []error
}

// Offer makes the queue function of a run that lets others work. Call close when the run has returned.
func Offer(ctx context.Context, s *study.Study, opt OfferOptions) (queue func([]study.Job) study.Queue, end func()) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	c := &coordinator{opt: opt, study: s, missing: map[string]*collected{}, usd: map[string]float64{}}
	return func(pending []study.Job) study.Queue {
		for _, j := range pending {
			e := &collected{MissingEpisode: MissingEpisode{PlannedEpisode: j.PlannedEpisode, ID: j.ID}}
			c.missing[j.ID] = e
		}
		if err := c.open(ctx, pending); err != nil {
			c.errs = append(c.errs, err)
		} else if opt.Open != nil {
			opt.Open()
		}
		return c
	}, c.close
}

// open starts the server or joins the cluster, and offers the study.
func (c *coordinator) open(ctx context.Context, pending []study.Job) error {
	address, err := c.address()
	if err != nil {
		return err
	}
	if c.link, err = dial(address, keyOf(c.study), "coordinator"); err != nil {
		return err
	}
	classes := map[string]bool{}
	var names []string
	for _, j := range pending {
		if class := classOf(c.study, j); !classes[class] {
			classes[class] = true
			names = append(names, class)
		}
	}
	if err := c.link.create(ctx, max(1, c.opt.Replicas), c.opt.Terms.Lease, names); err != nil {
		return err
	}
	if err := c.alone(ctx); err != nil {
		return err
	}
	c.place = &collection{opt: CollectOptions{Dir: c.opt.Dir, Now: c.opt.Now}, study: c.study, dir: &logs.RunDir{Root: c.opt.Dir}, out: &Collected{Dir: c.opt.Dir}}
	if err := c.place.mend(); err != nil {
		return err
	}
	contents, err := c.study.Contents(c.place.dir)
	if err != nil {
		return err
	}
	for _, e := range c.missing {
		e.content = contents[e.Scenario]
	}
	if err := c.countPaid(ctx); err != nil {
		return err
	}
	if err := c.terms(ctx, len(pending)); err != nil {
		return err
	}
	return c.submit(ctx, pending)
}

// countPaid sums what the study has cost before this coordinator: in the directory, and of episodes that are handed in
// but not finished.
func (c *coordinator) countPaid(ctx context.Context) error {
	var err error
	if c.paid, err = study.SpentUSD(c.place.dir, c.opt.Now()); err != nil {
		return err
	}
	for id := range c.missing {
		e, err := c.link.leases.Get(ctx, id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the lease of %s: %w", id, err)
		}
		var l Lease
		if json.Unmarshal(e.Value(), &l) == nil && l.USD != nil && *l.USD > 0 {
			c.usd[id] = *l.USD
		}
	}
	return nil
}

// address starts the server if it is ours, and writes the address for workers into a file.
func (c *coordinator) address() (string, error) {
	if err := os.MkdirAll(QueueDir(c.opt.Dir), 0o700); err != nil {
		return "", fmt.Errorf("making the folder of the queue: %w", err)
	}
	key := keyOf(c.study)
	address, join := c.opt.Queue, ""
	if c.opt.Listen != "" {
		var err error
		if c.broker, err = StartBroker(c.opt.Listen, QueueDir(c.opt.Dir), key); err != nil {
			return "", err
		}
		address, join = c.broker.URL(roleSubmit), c.broker.URL(roleWork)
	} else {
		base, query, _ := strings.Cut(address, "?")
		join = strings.TrimRight(base, "/") + "/" + key
		if query != "" {
			join += "?" + query
		}
	}
	return address, writePrivate(JoinFile(c.opt.Dir), []byte(join+"\n"))
}

// alone takes the place of the coordinator. One of the same run directory whose process died is followed at once, since
// the directory's lock says that it is dead; another one is waited for until its lease is over.
func (c *coordinator) alone(ctx context.Context) error {
	abs, err := filepath.Abs(c.opt.Dir)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	me := Lease{Owner: "coordinator-" + hashOf([]byte(host + "\x00" + abs))[:12], Host: host, PID: os.Getpid(), Began: c.opt.Now().UTC()}
	const key = "coordinator"
	if e, err := c.link.leases.Get(ctx, key); err == nil {
		var was Lease
		if json.Unmarshal(e.Value(), &was) == nil && was.Owner == me.Owner && !was.Released {
			was.Released = true
			b, err := json.Marshal(was)
			if err != nil {
				return err
			}
			if _, err := c.link.leases.Update(ctx, key, b, e.Revision()); err != nil {
				return fmt.Errorf("following the coordinator that died: %w", err)
			}
		}
	}
	c.lock, err = take(ctx, c.link, &c.opt.Terms, key, me)
	if errors.Is(err, errHeld) {
		return &study.InputError{File: "the queue", Message: "another coordinator offers this study", Advice: fmt.Sprintf("let it finish; if it is dead, its place is free %v after its end", c.opt.Terms.Lease)}
	}
	return err
}

// terms publishes the study and how it is to be run.
func (c *coordinator) terms(ctx context.Context, episodes int) error {
	archive := filepath.Join(QueueDir(c.opt.Dir), "study.tar")
	defer os.Remove(archive)
	p, err := packStudy(c.opt.Dir, archive)
	if err != nil {
		return err
	}
	t := &c.opt.Terms
	c.store = c.link.storeOf(t)
	if err := c.store.put(ctx, p, archive); err != nil {
		return err
	}
	t.Study, t.StudySHA, t.Stint, t.Package, t.Episodes = c.study.Name, hashOf(c.study.Source), c.opt.Version, p.text(), episodes
	if err := c.link.offer(ctx, t); err != nil {
		return err
	}
	return c.say(ctx)
}

// submit puts the episodes into the queue, in the order in which they are to start. One that is there is refused by the
// server, so submitting again adds nothing.
func (c *coordinator) submit(ctx context.Context, pending []study.Job) error {
	var futures []jetstream.PubAckFuture
	for _, j := range pending {
		if was, err := c.link.result(ctx, j.ID); err != nil {
			return err
		} else if was != nil {
			continue // it only has to be fetched
		}
		f, err := c.link.js.PublishAsync(c.link.subject(classOf(c.study, j), j.ID), []byte(c.missing[j.ID].content))
		if err != nil {
			return fmt.Errorf("offering %s: %w", j.PlannedEpisode, err)
		}
		futures = append(futures, f)
	}
	for _, f := range futures {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.Ok():
		case err := <-f.Err():
			if !strings.Contains(err.Error(), "maximum messages per subject exceeded") {
				return fmt.Errorf("offering an episode: %w", err)
			}
		}
	}
	return nil
}

// Claim implements study.Queue. It gives nothing to this process and returns when every episode has its result.
func (c *coordinator) Claim(ctx context.Context) *study.Claim {
	if len(c.errs) > 0 || len(c.missing) == 0 {
		return nil
	}
	if err := c.watch(ctx); err != nil && ctx.Err() == nil {
		c.errs = append(c.errs, err)
	}
	return nil
}

// watch takes results in as they come.
func (c *coordinator) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if why := c.lock.beat(ctx, func(context.Context) {}); why != nil {
			cancel(fmt.Errorf("coordinating: %w", why))
		}
	}()
	events, err := c.link.conn.Subscribe("evt."+c.link.key+".*", c.event)
	if err != nil {
		return err
	}
	defer func() { _ = events.Unsubscribe() }()
	took := make(chan error, 1)
	consume := func(stream string, each func(context.Context, *Outcome) error) error {
		cons, err := c.link.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
		if err != nil {
			return fmt.Errorf("following %s: %w", stream, err)
		}
		_, err = cons.Consume(func(m jetstream.Msg) {
			id := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
			o, err := decodeOutcome(id, m.Data())
			if err == nil {
				err = each(ctx, o)
			}
			if err != nil {
				select {
				case took <- err:
				default:
				}
			}
		})
		return err
	}
	if err := consume(c.link.results(), c.result); err != nil {
		return err
	}
	if err := consume(c.link.wastes(), c.wasted); err != nil {
		return err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-took:
			return err
		case <-tick.C:
		}
		if left := c.left(); left == 0 {
			return nil
		}
		if (c.overspent() || c.cancelled()) && c.quiet(ctx) {
			return nil
		}
	}
}

func (c *coordinator) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.missing)
}

// event passes on what a worker tells, and adds up what it cost.
func (c *coordinator) event(m *nats.Msg) {
	var ev study.Event
	if len(m.Data) > 64<<10 || json.Unmarshal(m.Data, &ev) != nil {
		return
	}
	c.mu.Lock()
	if usd := ev.USD; usd != nil && *usd >= 0 && c.missing[ev.Episode] != nil {
		if was := c.usd[ev.Episode]; *usd < was { // another worker began again behind what the last one had paid
			c.paid += was - *usd
		}
		c.usd[ev.Episode] = *usd
	}
	c.mu.Unlock()
	if c.opt.Progress != nil {
		c.opt.Progress(ev)
	}
}

// overspent says whether the study's money is used up; the workers are then told to start nothing.
func (c *coordinator) overspent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.paid
	for _, usd := range c.usd {
		sum += usd
	}
	if c.opt.MaxUSD == 0 || sum < c.opt.MaxUSD {
		return false
	}
	if c.spent == nil {
		c.spent = fmt.Errorf("the budget of the study, $%.2f, is used up", c.opt.MaxUSD)
		c.orders.Spent = c.spent.Error()
		go func() { _ = c.say(context.Background()) }()
	}
	return true
}

// cancelled says whether a person has ended the study for now.
func (c *coordinator) cancelled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders.Study != nil && c.orders.Study.Verb == study.OrderCancel
}

// quiet says whether no worker holds an episode any more.
func (c *coordinator) quiet(ctx context.Context) bool {
	c.mu.Lock()
	var ids []string
	for id := range c.missing {
		ids = append(ids, id)
	}
	c.mu.Unlock()
	for _, id := range ids {
		e, err := c.link.leases.Get(ctx, id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		var l Lease
		if err != nil || json.Unmarshal(e.Value(), &l) != nil || !l.Released && c.opt.Now().Sub(e.Created()) < 2*c.opt.Terms.Lease {
			return false
		}
	}
	return true
}

// result brings an accepted episode into the run directory.
func (c *coordinator) result(ctx context.Context, o *Outcome) error {
	c.mu.Lock()
	e := c.missing[o.Episode]
	c.mu.Unlock()
	if e == nil {
		return nil // it is there already
	}
	if err := c.fetch(ctx, e, o, func(from *logs.RunDir) error { return c.taken(ctx, e, from) }); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, o.Episode)
	return nil
}

// wasted keeps the journal of a worker that lost its lease beside the episode, whatever its end: which one counts was
// decided by the result.
func (c *coordinator) wasted(ctx context.Context, o *Outcome) error {
	contents, err := c.study.Contents(c.place.dir)
	if err != nil {
		return err
	}
	e := &collected{MissingEpisode: MissingEpisode{ID: o.Episode}}
	for _, p := range c.study.Episodes() {
		if logs.EpisodeID(c.study.Name, p.Config, contents[p.Scenario], p.Repeat) == o.Episode {
			e.PlannedEpisode, e.content = p, contents[p.Scenario]
		}
	}
	if e.Config == "" {
		return nil
	}
	return c.fetch(ctx, e, o, func(from *logs.RunDir) error {
		j, err := c.place.copyOf(e, from, false)
		if err != nil || j == nil {
			return err
		}
		return c.place.keepJournal(e.ID, j)
	})
}

// fetch fetches what was handed in and gives it to a function as a run directory of its own. One at a time: what they
// prepare in the directory has one name for an episode.
func (c *coordinator) fetch(ctx context.Context, e *collected, o *Outcome, use func(from *logs.RunDir) error) error {
	c.taking.Lock()
	defer c.taking.Unlock()
	from := &logs.RunDir{Root: filepath.Join(QueueDir(c.opt.Dir), "in", fmt.Sprintf("%s-%d", o.Episode, o.Epoch))}
	defer os.RemoveAll(from.Root)
	scratch := filepath.Join(QueueDir(c.opt.Dir), "in")
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return err
	}
	err := atLast(ctx, 0, func(ctx context.Context) error {
		_, err := restore(ctx, c.store, o.parcel, from.EpisodeDir(e.ID), scratch)
		return err
	})
	if err == nil {
		err = use(from)
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return fmt.Errorf("the result of %s from %s cannot be used: %w", o.Episode, o.Owner, err)
	}
	return err
}

// taken adds one copy of an episode to what the directory has of it.
func (c *coordinator) taken(ctx context.Context, e *collected, from *logs.RunDir) error {
	e.copies, e.taken = nil, nil
	for _, d := range []*logs.RunDir{c.place.dir, from} {
		j, err := c.place.copyOf(e, d, d == c.place.dir)
		if err != nil {
			return err
		}
		if j != nil {
			e.copies = append(e.copies, j)
		}
	}
	e.copies = sorted(e.copies)
	c.place.out.Refused = nil
	if err := c.place.takeBest(ctx, e); err != nil {
		return err
	}
	return errors.Join(c.place.out.Refused...)
}

// Deliver implements study.Queue; nothing is ever claimed here.
func (c *coordinator) Deliver(*study.Claim, error) {}

// Result implements study.Queue.
func (c *coordinator) Result() (spent, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent, errors.Join(c.errs...)
}

// doneWait is how long the server waits for its workers to see that the study has ended.
const doneWait = 5 * time.Second

// close tells the workers that nothing more comes, if that is so, and leaves.
func (c *coordinator) close() {
	if c.link != nil {
		ctx, cancel := context.WithTimeout(context.Background(), doneWait)
		defer cancel()
		if c.lock != nil {
			c.mu.Lock()
			c.orders.Done = len(c.missing) == 0
			c.mu.Unlock()
			if c.left() == 0 && c.say(ctx) == nil && c.broker != nil {
				for ctx.Err() == nil && c.broker.server.NumClients() > 1 {
					pause(ctx, 50*time.Millisecond)
				}
			}
			_ = c.lock.change(context.WithoutCancel(ctx), func(l *Lease) { l.Released = true })
		}
		c.link.close()
	}
	if c.broker != nil {
		c.broker.Close()
	}
}
