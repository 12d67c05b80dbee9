package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stint-bench/stint/cmd/stint/internal/fleet"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// The times of leases that are used unless others are given.
const (
	usualLease     = time.Minute
	usualHeartbeat = 10 * time.Second
	usualSelfStop  = 45 * time.Second
)

// offerFlags let other machines run the episodes of a run.
type offerFlags struct {
	listen    string
	queue     string
	replicas  int
	blobs     string
	lease     time.Duration
	heartbeat time.Duration
	selfStop  time.Duration
}

func (f *offerFlags) flags(fl *pflag.FlagSet) {
	fl.StringVar(&f.listen, "listen", "", "let workers run the episodes: serve the queue on `ADDR`, for example 127.0.0.1:4222")
	fl.StringVar(&f.queue, "queue", "", "let workers run the episodes: use the NATS JetStream cluster at `URL`, or at the one that a file holds")
	fl.IntVar(&f.replicas, "replicas", 1, "with --queue: copies that the cluster keeps of everything")
	fl.StringVar(&f.blobs, "blobs", "", "with --listen or --queue: a `FOLDER` that all machines see, for journals and snapshots (default: the queue's object store)")
	fl.DurationVar(&f.lease, "lease", usualLease, "another worker takes an episode after so long without a heartbeat")
	fl.DurationVar(&f.heartbeat, "heartbeat", usualHeartbeat, "how often a worker says that it lives")
	fl.DurationVar(&f.selfStop, "self-stop", usualSelfStop, "a worker stops its agent after so long without an answer to its heartbeats")
}

// some says whether others run the episodes.
func (f *offerFlags) some() bool { return f.listen != "" || f.queue != "" }

// again is the part of the command that resumes such a run. A password is left out.
func (f *offerFlags) again() string {
	if !f.some() {
		return ""
	}
	out := " --listen " + shellQuote(f.listen)
	if f.queue != "" {
		queue := f.queue
		if u, err := url.Parse(queue); err == nil && u.User != nil {
			u.User = url.User("USER:PASSWORD")
			queue, _ = url.PathUnescape(u.String())
		}
		out = " --queue " + shellQuote(queue)
	}
	if f.replicas != 1 {
		out += fmt.Sprint(" --replicas ", f.replicas)
	}
	if f.blobs != "" {
		out += " --blobs " + shellQuote(f.blobs)
	}
	for _, d := range []struct {
		name      string
		is, usual time.Duration
	}{{"lease", f.lease, usualLease}, {"heartbeat", f.heartbeat, usualHeartbeat}, {"self-stop", f.selfStop, usualSelfStop}} {
		if d.is != d.usual {
			out += fmt.Sprintf(" --%s %v", d.name, d.is)
		}
	}
	return out
}

// prepare changes the options of a run so that workers run it. Call end when the run has returned.
func (f *offerFlags) prepare(ctx context.Context, e *env, s *study.Study, opt *study.RunOptions) (end func(), err error) {
	switch {
	case f.listen != "" && f.queue != "":
		return nil, inputErrorf("leave one out", "--listen serves a queue, --queue uses one that is there")
	case !f.some():
		return func() {}, nil
	case opt.RetryStopped:
		return nil, inputErrorf("try them here: leave --listen and --queue out", "a queue takes one result of an episode, so stopped ones are not tried again through it")
	case opt.GradeNone:
		return nil, inputErrorf("leave it out", "--grade none is for runs of this machine")
	case opt.Jobs > 0 || opt.PerModel > 0:
		return nil, inputErrorf("give --jobs to each stint worker; jobs.per_model of the study holds over all of them", "--jobs and --per-model are of one machine")
	}
	terms := fleet.Terms{Lease: f.lease, Heartbeat: f.heartbeat, SelfStop: f.selfStop, PerModel: s.Jobs.PerModel, MaxChecks: opt.MaxChecks, Blobs: f.blobs}
	if err := terms.Check(); err != nil {
		return nil, err
	}
	if f.blobs != "" {
		if terms.Blobs, err = filepath.Abs(f.blobs); err != nil {
			return nil, err
		}
	}
	queue := ""
	if f.queue != "" {
		if queue, err = fleet.ReadJoin(f.queue); err != nil {
			return nil, err
		}
	}
	maxUSD := s.Budgets.StudyUSD
	if opt.MaxUSD > 0 && (maxUSD == 0 || opt.MaxUSD < maxUSD) {
		maxUSD = opt.MaxUSD
	}
	opt.Elsewhere = true
	opt.Queue, end = fleet.Offer(ctx, s, fleet.OfferOptions{
		Dir: opt.Dir, Listen: f.listen, Queue: queue, Replicas: f.replicas, Terms: terms, MaxUSD: maxUSD, FlagUSD: opt.MaxUSD,
		Open:    func() { e.say("workers join with: %s worker --join %s", e.Self, shellQuote(fleet.JoinFile(opt.Dir))) },
		Version: study.BuildVersion(), Now: e.Now, Progress: opt.Progress, Say: func(text string) { e.say("%s", clean(text)) },
	})
	return end, nil
}

func newWorkerCmd(e *env) *cobra.Command {
	var opt fleet.WorkOptions
	var join string
	cmd := &cobra.Command{
		Use:   "worker --join URL|FILE",
		Short: "Run episodes that another machine offers",
		Long: `worker joins a study that stint run --listen or --queue offers, and runs its episodes until
all are done. It may come and go at any time: when it dies, or is stopped, another worker
goes on with its episodes from the last finished turn. It needs the same stint, and for
real models its own keys in the environment; nothing else of the study has to be there.

--join takes the file that the run wrote (DIR/queue/join, which holds a password), or the
address in it.`,
		Example: "  " + e.Self + " worker --join runs/demo/queue/join --jobs 4",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if join == "" {
				return inputErrorf("the run wrote the address to DIR/queue/join", "worker needs --join")
			}
			var err error
			if opt.Join, err = fleet.ReadJoin(join); err != nil {
				return err
			}
			if opt.Dir == "" {
				cache, err := os.UserCacheDir()
				if err != nil {
					return inputErrorf("name a folder with -o", "there is no folder to work in: %v", err)
				}
				opt.Dir = filepath.Join(cache, "stint", "worker")
			}
			return work(cmd.Context(), e, opt)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&join, "join", "", "`URL` of the queue, or a file that holds it")
	fl.StringVarP(&opt.Dir, "out", "o", "", "folder to work in; what is handed in is removed from it (default: stint/worker in the user's cache)")
	fl.IntVar(&opt.Jobs, "jobs", 0, "episodes at once (default from the study, else from the machine)")
	fl.StringSliceVar(&opt.Classes, "class", nil, "take only episodes of this `CLASS`: sim (simulated) or real (default all)")
	return cmd
}

func work(ctx context.Context, e *env, opt fleet.WorkOptions) error {
	var p *progress
	defer func() {
		if p != nil {
			p.finish()
		}
	}()
	opt.Now, opt.Stderr = e.Now, func(text string) { e.say("%s", clean(text)) }
	opt.Progress = func(ev study.Event) {
		if p != nil {
			p.event(ev)
		}
	}
	opt.Run = func(ctx context.Context, s *study.Study, o study.RunOptions) (*study.Summary, error) {
		o.Now, o.Getenv, o.Stint, o.Stderr, o.AfterAppend = e.Now, e.Getenv, e.Stint, e.Stderr, e.testOnlyAfterAppend
		o.OnStart = func(total, done int) { p = newProgress(e, total, done, true) }
		return s.Run(ctx, o)
	}
	out, err := fleet.Work(ctx, opt)
	if p != nil {
		p.finish()
		p = nil
	}
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &exitError{code: exitInterrupted, err: errors.New("interrupted; other workers go on with what was running, from its last finished turn"), hint: ""}
	case err != nil:
		return err
	case out.Failed > 0:
		return fmt.Errorf("%d episodes failed here and were given back", out.Failed)
	}
	e.say("the study is done; %d of its episodes ran here", out.Done)
	return nil
}
