package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// RunOptions says how a study is run here and now. The zero value runs everything that has no end yet in
// runs/NAME.
type RunOptions struct {
	Dir          string  // run directory; "" = runs/NAME
	Jobs         int     // episodes at once; 0 = the study's jobs.episodes
	Only         string  // EXPR over the columns of episodes that are known beforehand; "" = all
	RetryStopped bool    // go on with episodes that were stopped
	MaxUSD       float64 // the study's budget for this directory, if lower than the one in the file; 0 = the file's
	MaxChecks    int     // checks per grading, for studies without a model; 0 = all
	GradeNone    bool    // take what simulated agents have planted for their grades; no server is started

	Shard    Shard                    // the part that this process runs; its share of the study's money and per_model is in proportion
	Dealt    func(PlannedEpisode) int // which shard an episode belongs to; nil = as Study.Deal says
	PerModel int                      // episodes of one model at once; 0 = the study's jobs.per_model, of a shard its part
	From     *logs.RunDir             // has scenarios of this study, which are taken over; nil = none are

	Queue func(pending []Job) Queue // hands out the episodes that have no end yet; nil = the pool of this process
	// Elsewhere says that all episodes run on other machines: no key, program or sandbox is needed here.
	Elsewhere bool

	Progress    func(Event)           // called from several goroutines; nil = silent
	OnPlan      func(*Plan)           // called once before anything runs, unless there is nothing to do
	OnStart     func(total, done int) // called once when episodes begin: how many were asked for, how many have ended
	Now         func() time.Time      // nil = time.Now
	Getenv      func(string) string   // nil = os.Getenv
	Stint       string                // path of our executable, for the servers of simulated agents; "" = os.Executable
	Version     string                // of stint, for the journals; "" = from the build
	Stderr      io.Writer             // notes about a changed study file; nil = none
	AfterAppend func(seq int64)       // test hook of the journals

	OnOrder func(Order) // is told every order that a person gives while the run goes on; nil = nobody

	poll    time.Duration                                            // between looks for orders; 0 = defaultPoll
	episode func(context.Context, episode.Spec) (episode.End, error) // a test\'s own loop; nil = episode.Run
}

// Event tells a person what happens in an episode.
type Event = episode.Event

// Summary is what a run leaves behind, counted over the episodes it was asked for.
type Summary struct {
	Dir           string
	Episodes      int
	Valid         int // ran to their own end
	Stopped       int // ended by something that was not the agent
	Incomplete    int // no end yet
	Started       int // episodes this run worked on
	Generated     time.Duration
	Ran           time.Duration
	NothingToDo   bool
	BudgetReached error // the study's budget stopped the run; nil = it did not
	Held          error // a *HeldError: a person paused or cancelled what is left; nil = nobody did
}

// work is a run in progress.
type work struct {
	study   *Study
	opt     RunOptions
	dir     *logs.RunDir
	lib     *library
	agents  map[string]harness.Agent // by configuration
	configs map[string]bool          // those that were asked for
	box     *sandbox.Sandbox
	budget  *gateway.Budget // the study's; nil = nothing here costs money and there is no limit
	began   time.Time       // what was paid later is in the budget
	charged bool            // what was paid before is in it too
	control *Control
	q       Queue

	installer harness.Installer
	proxy     *gateway.Proxy // nil if no agent is a program
}

// Run runs or resumes the study in its run directory: it takes the lock, freezes the study file or holds it
// against the frozen one, generates what is missing and runs every episode that has no end. When ctx is
// cancelled the running attempts are cut and recorded, and the error is ctx's; the same call goes on. The
// summary is valid even with an error, unless it is nil.
func (s *Study) Run(ctx context.Context, opt RunOptions) (*Summary, error) {
	opt, err := s.fillOptions(opt)
	if err != nil {
		return nil, err
	}
	selected, err := s.selectEpisodes(opt)
	if err != nil {
		return nil, err
	}
	w := &work{study: s, opt: opt, dir: &logs.RunDir{Root: opt.Dir}}
	if _, err := os.Stat(w.dir.StudyFile()); err != nil && !opt.Elsewhere { // a new run: leave no directory behind for a missing key
		if err := s.missingKeys(opt.Getenv, selected); err != nil {
			return nil, err
		}
	}
	held, err := s.Hold(opt.Dir, opt.Now())
	if err != nil {
		return nil, err
	}
	defer held.Release()
	for _, n := range held.Notes {
		fmt.Fprintf(opt.Stderr, "stint: %s\n", n)
	}
	if err := errors.Join(keepShard(w.dir, opt.Shard), w.sameGrading()); err != nil {
		return nil, err
	}
	if opt.From != nil {
		if err := s.CopyScenarios(opt.From, w.dir); err != nil {
			return nil, err
		}
	}
	if w.lib, err = openLibrary(s, w.dir); err != nil {
		return nil, err
	}
	return w.run(ctx, selected)
}

// run does what is left to do of the selected episodes.
func (w *work) run(ctx context.Context, selected []PlannedEpisode) (*Summary, error) {
	sum := &Summary{Dir: w.opt.Dir, Episodes: len(selected)}
	if len(w.lib.missing()) == 0 {
		pending, err := w.pending(selected)
		if err != nil {
			return nil, err
		}
		if len(pending) == 0 {
			// Not called complete when a journal was damaged after its end.
			if err := w.verify(selected); err != nil {
				return nil, err
			}
			sum.NothingToDo = true
			return sum, w.count(sum, selected)
		}
	}
	var err error
	if w.control, err = ReadControl(w.dir); err != nil {
		return nil, err
	}
	if err := w.held(nil); err != nil {
		return nil, err
	}
	if !w.opt.Elsewhere {
		if err := w.study.missingKey(w.opt.Getenv, selected); err != nil {
			return nil, err
		}
	}
	if w.opt.OnPlan != nil {
		plan, err := w.study.Plan()
		if err != nil {
			return nil, err
		}
		plan.Jobs = w.jobs()
		w.warn(plan, len(selected))
		w.opt.OnPlan(plan)
	}
	w.configs = configsOf(selected)
	if !w.opt.Elsewhere {
		release, err := w.checkPrograms(ctx)
		defer release()
		if err != nil {
			return nil, err
		}
	}
	began := w.opt.Now()
	if len(w.lib.missing()) > 0 {
		var err error
		if w.lib.choosing, err = w.choosing(); err != nil {
			return nil, err
		}
	}
	if err := w.lib.record(ctx); err != nil {
		return nil, err
	}
	sum.Generated = w.opt.Now().Sub(began)
	pending, err := w.pending(selected)
	if err == nil {
		err = w.held(pending)
	}
	if err != nil {
		return nil, err
	}
	return w.perform(ctx, sum, selected, pending)
}

// perform runs the pending episodes and counts what there is then.
func (w *work) perform(ctx context.Context, sum *Summary, selected []PlannedEpisode, pending []Job) (*Summary, error) {
	if !w.opt.Elsewhere {
		if err := w.equip(ctx); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	sum.Started = len(pending)
	if w.opt.OnStart != nil {
		w.opt.OnStart(len(selected), len(selected)-len(pending))
	}
	began := w.opt.Now()
	w.q = w.queue(pending)
	unwatch := func() {}
	if q, ok := w.q.(Controlled); ok {
		q.Obey(w.control, nil)
		unwatch = w.watch(ctx, q)
	}
	spent, err := drain(ctx, w.q, w.episode)
	unwatch()
	err = errors.Join(err, w.close())
	sum.Ran = w.opt.Now().Sub(began)
	sum.BudgetReached = spent
	if spent != nil {
		fmt.Fprintf(w.opt.Stderr, "stint: %v; no new attempt is started\n", spent)
	}
	err = errors.Join(ctx.Err(), err, w.count(sum, selected))
	if left, e := w.pending(selected); e == nil && len(left) > 0 {
		sum.Held = w.held(left)
	}
	return sum, err
}

// warn says in the plan that only a part is run, and with what.
func (w *work) warn(plan *Plan, selected int) {
	var warning string
	switch o := w.opt; {
	case o.Shard.N > 0:
		warning = fmt.Sprintf("shard %v runs %d of the %s", o.Shard, selected, number(len(plan.Episodes), "episode"))
		if usd := w.limitUSD(); usd > 0 {
			warning += fmt.Sprintf(", for at most $%.2f", usd)
		}
		if n := w.perModel(); n > 0 {
			warning += fmt.Sprintf(", %d of one model at once", n)
		}
	case selected < len(plan.Episodes):
		warning = fmt.Sprintf("%s chooses %d of the %d episodes", o.Only, selected, len(plan.Episodes))
	default:
		return
	}
	plan.Warnings = append(plan.Warnings, warning)
}

// fillOptions replaces zero values and refuses what this version or this study cannot do.
func (s *Study) fillOptions(opt RunOptions) (RunOptions, error) {
	switch {
	case opt.GradeNone && s.mustGrade(opt) != "":
		return opt, &InputError{File: "--grade", Message: s.mustGrade(opt), Advice: "leave --grade none out; it is for simulated studies"}
	case opt.MaxChecks < 0:
		return opt, &InputError{File: "--max-checks", Message: fmt.Sprintf("%d is negative", opt.MaxChecks)}
	case opt.MaxChecks > 0 && !s.OfflineOnly():
		return opt, &InputError{File: "--max-checks", Message: "this study asks real models, whose outcomes must rest on whole suites", Advice: "leave --max-checks out; it is for simulated studies"}
	case opt.Jobs < 0:
		return opt, &InputError{File: "--jobs", Message: fmt.Sprintf("%d is negative", opt.Jobs)}
	case opt.PerModel < 0:
		return opt, &InputError{File: "--per-model", Message: fmt.Sprintf("%d is negative", opt.PerModel)}
	case opt.MaxUSD < 0:
		return opt, &InputError{File: "--max-usd", Message: fmt.Sprintf("%g is negative", opt.MaxUSD)}
	}
	if opt.MaxUSD > 0 {
		err := s.checkPriced(func(m *Model) error {
			return &InputError{File: "--max-usd", Advice: "add a price to a table and name it with prices: in the study, or drop the limit",
				Message: fmt.Sprintf("a money limit is set, but the price of model %s (id %s) is unknown", m.Name, m.ID)}
		})
		if err != nil {
			return opt, err
		}
	}
	if opt.Dir == "" {
		opt.Dir = filepath.Join("runs", s.Name)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	if opt.Stderr == nil {
		opt.Stderr = io.Discard
	}
	if opt.poll == 0 {
		opt.poll = defaultPoll
	}
	if opt.episode == nil {
		opt.episode = episode.Run
	}
	if opt.Version == "" {
		opt.Version = buildVersion()
	}
	return opt, nil
}

// buildVersion is the version of the running program as its build recorded it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// configsOf names the configurations of some episodes.
func configsOf(episodes []PlannedEpisode) map[string]bool {
	out := map[string]bool{}
	for _, e := range episodes {
		out[e.Config] = true
	}
	return out
}

// id is the id of an episode whose scenario is recorded.
func (w *work) id(e PlannedEpisode) string {
	return logs.EpisodeID(w.study.Name, e.Config, w.lib.content(e.Scenario), e.Repeat)
}

// pending lists the episodes that have no end yet, or were stopped and shall be tried again.
func (w *work) pending(selected []PlannedEpisode) ([]Job, error) {
	var out []Job
	for _, e := range selected {
		id := w.id(e)
		st, err := episodeState(w.dir.EpisodeDir(id))
		if err != nil {
			return nil, err
		}
		if o := w.control.episode(id); o != nil && o.Verb == OrderCancel && st == stateStopped {
			continue // as it was told
		}
		if st == stateOpen || st == stateStopped && w.opt.RetryStopped {
			out = append(out, Job{PlannedEpisode: e, ID: id, Model: w.study.Config(e.Config).Model})
		}
	}
	return out, nil
}

// count fills the summary from the journals.
func (w *work) count(sum *Summary, selected []PlannedEpisode) error {
	for _, e := range selected {
		st, err := episodeState(w.dir.EpisodeDir(w.id(e)))
		if err != nil {
			return err
		}
		switch st {
		case stateValid:
			sum.Valid++
		case stateStopped:
			sum.Stopped++
		default:
			sum.Incomplete++
		}
	}
	return nil
}

// equip makes what all episodes share: the sandbox, an agent per configuration, the study's budget.
func (w *work) equip(ctx context.Context) error {
	s := w.study
	var err error
	w.box, err = sandbox.New(ctx, sandbox.Options{
		Kind: s.Sandbox.Kind, Image: s.Sandbox.Image, Runtimes: s.Sandbox.Runtimes, Needs: s.Needs(), Trusted: s.OfflineOnly(), Stint: w.opt.Stint, Getenv: w.opt.Getenv,
		Limits: sandbox.Limits{Memory: s.Sandbox.Memory, Processes: s.Sandbox.Processes, Disk: s.Sandbox.Disk},
	})
	if err != nil {
		return err
	}
	if err := w.openGateway(); err != nil {
		return err
	}
	w.agents = map[string]harness.Agent{}
	for _, c := range s.Configs {
		if !w.configs[c.Name] {
			continue
		}
		if w.agents[c.Name], err = w.agent(c); err != nil {
			return fmt.Errorf("setting up configuration %s: %w", c.Name, err)
		}
	}
	limit := w.limitUSD()
	if limit == 0 && s.OfflineOnly() {
		return nil
	}
	w.budget, w.began = &gateway.Budget{Scope: gateway.ScopeStudy, USD: limit}, w.opt.Now()
	if limit == 0 {
		return nil
	}
	return w.chargeBefore()
}

// episode runs one job to its end.
func (w *work) episode(ctx context.Context, j Job) error {
	use := ctx
	if ctx.Err() != nil {
		use = context.WithoutCancel(ctx) // an episode that was cancelled before it began is ended by its loop
	}
	m, release, err := w.lib.use(use, j.Scenario)
	if err != nil {
		return err
	}
	defer release()
	s := w.study
	c := s.Config(j.Config)
	sc := m.byWay[c.Delivery]
	agent := w.agents[c.Name]
	asked := logs.ModelAsked{Asked: c.Model}
	if model := s.Model(c.Model); model != nil && model.Simulate == "" {
		asked.ID = model.ID
	}
	_, err = w.opt.episode(ctx, episode.Spec{
		Dir: w.dir.EpisodeDir(j.ID), ID: j.ID,
		Start: logs.EpisodeStart{
			Study: s.Name, Config: c.Name, Model: asked, Harness: w.used(c.Harness, agent),
			Feedback: c.Feedback, Retries: c.Retries, ProcessRetries: c.ProcessRetries, Session: c.Session, Delivery: c.Delivery, Mode: s.Mode,
			Scenario: logs.ScenarioRef{ID: m.name, Content: m.Content, Versions: suite.Versions()},
			Repeat:   j.Repeat, Seed: episodeSeed(s.Seed, c.Name, m.Content, j.Repeat), TurnsMax: s.TurnsMax(),
			Sandbox: logs.SandboxUsed{Kind: w.box.Kind(), Fingerprint: w.box.Fingerprint()},
			Prices:  s.Prices.Name(), Stint: w.opt.Version, Factors: c.Further(),
		},
		Scenario: sc, Suites: m.Suites, SuiteBytes: m.Encoded, Agent: agent, Sandbox: w.box,
		Wall: s.AttemptWall(*c), Tokens: s.Budgets.Tokens, Requests: s.Budgets.Requests, EpisodeUSD: s.Budgets.EpisodeUSD,
		Spent: w.budget.Charge, Hold: w.hold(j.ID), MaxChecks: w.opt.MaxChecks, Ungraded: w.opt.GradeNone, Retry: w.opt.RetryStopped,
		ServerLimits: sandbox.Limits{Memory: s.Sandbox.Memory, Processes: s.Sandbox.Processes, Disk: s.Sandbox.Disk},
		Journal:      logs.JournalOptions{Now: w.opt.Now, AfterAppend: w.opt.AfterAppend}, Progress: w.opt.Progress,
	})
	return err
}
