package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

func newRunCmd(e *env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run STUDY.yaml|DIR",
		Short: "Plan, run or resume a study",
		Long: `run carries out a study: configurations × scenarios × repeats, into a run directory
(default runs/NAME). It prints the plan first; --dry-run stops there. The same command
resumes what was interrupted, by Ctrl-C or by a crash, and does nothing if all is done.

The plan says what is expected where the study declares it (expect:), or where earlier runs
tell (--like DIR): tokens, time, disk and pass rates of the same model under the same
harness, else of the same harness; pass rates never of another model.

Instead of a study it takes a run directory, whose frozen study goes on in place or with
-o elsewhere, or a folder of shards that stint shard has made.`,
		Example: "  " + e.Self + " run study.yaml --dry-run\n  " + e.Self + " run study.yaml -o runs/first",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, dir, err := f.open(args[0])
			if err != nil {
				return err
			}
			if _, err := runStudy(cmd.Context(), e, s, dir, f); err != nil {
				return err
			}
			if !f.dryRun {
				e.next("compare %s", shellQuote(dir))
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.dir, "out", "o", "", "run directory (default runs/NAME)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan and stop")
	fl.StringSliceVar(&f.like, "like", nil, "with --dry-run: expect what the earlier run in `DIR` took and achieved; may be given several times")
	fl.IntVar(&f.jobs, "jobs", 0, "episodes at once (default from the study, else from the machine)")
	fl.IntVar(&f.perModel, "per-model", 0, "episodes of one model at once (default from the study; of a shard its part)")
	fl.StringVar(&f.shardText, "shard", "", "run only shard `k/n`: with its part of budgets.study.usd and jobs.per_model")
	f.offer.flags(fl)
	fl.StringVar(&f.only, "only", "", "only episodes that match `EXPR`, for example 'scenario:s01'")
	fl.StringVar(&f.retry, "retry", "", "`stopped`: try stopped episodes again")
	fl.Float64Var(&f.maxUSD, "max-usd", 0, "start no new attempt once the study has cost so much")
	fl.StringVar(&f.grade, "grade", "", "`none`: take what simulated agents have planted for their grades, start no server")
	fl.IntVar(&f.maxChecks, "max-checks", 0, "grade with at most so many checks (simulated studies only)")
	return cmd
}

// runFlags are the choices of run; demo uses the same work with its own.
type runFlags struct {
	dir       string
	dryRun    bool
	jobs      int
	only      string
	retry     string
	maxUSD    float64
	like      []string
	maxChecks int
	grade     string
	perModel  int
	shardText string
	offer     offerFlags

	shard study.Shard
	dealt func(study.PlannedEpisode) int // nil = as the study deals
	from  *logs.RunDir                   // holds the scenarios; nil = the run directory itself does
	again string                         // what resumes this run: verb and arguments
	quiet bool                           // no plan, no line per turn
}

func (f *runFlags) check(e *env) error {
	switch {
	case f.perModel < 0:
		return inputErrorf("leave --per-model out for the default", "--per-model %d: a number of episodes is at least 1", f.perModel)
	case f.retry != "" && f.retry != "stopped":
		return inputErrorf("--retry stopped tries stopped episodes again", "--retry takes the word stopped, not %q", f.retry)
	case f.offer.some() && f.shardText != "":
		return inputErrorf("leave one out", "a shard is run here, while --listen and --queue let others run")
	case f.jobs < 0:
		return inputErrorf("leave --jobs out for the default", "--jobs %d: a number of episodes is at least 1", f.jobs)
	case f.grade != "" && f.grade != "none":
		return inputErrorf("leave --grade out for whole suites", "--grade takes the word none, not %q", f.grade)
	case len(f.like) > 0 && !f.dryRun:
		return inputErrorf("add --dry-run", "--like is for the plan")
	case f.maxUSD < 0:
		return inputErrorf("leave --max-usd out for no limit", "--max-usd %g: money is not negative", f.maxUSD)
	case f.maxChecks < 0:
		return inputErrorf("leave --max-checks out for all checks", "--max-checks %d: a number of checks is at least 1", f.maxChecks)
	}
	return nil
}

// runStudy runs or resumes a study in dir with the display that fits stderr.
func runStudy(ctx context.Context, e *env, s *study.Study, dir string, f runFlags) (*study.Summary, error) {
	if err := f.check(e); err != nil {
		return nil, err
	}
	if f.dryRun {
		var like *study.Like
		if len(f.like) > 0 {
			var err error
			if like, err = study.ReadLike(f.like); err != nil {
				return nil, err
			}
		}
		plan, err := s.PlanLike(like)
		if err != nil {
			return nil, err
		}
		plan.CheckKeys(s, e.Getenv)
		if err := plan.ComputePower(); err != nil {
			return nil, err
		}
		plan.Print(e.Stdout)
		e.next("%s", f.again)
		return nil, nil
	}
	var p *progress
	defer func() {
		if p != nil {
			p.finish()
		}
	}()
	opt := study.RunOptions{
		Dir: dir, Jobs: f.jobs, Only: f.only, RetryStopped: f.retry == "stopped", MaxUSD: f.maxUSD,
		MaxChecks: f.maxChecks, GradeNone: f.grade == "none", PerModel: f.perModel, Shard: f.shard, Dealt: f.dealt, From: f.from,
		Now: e.Now, Getenv: e.Getenv, Stint: e.Stint, Stderr: e.Stderr,
		OnPlan: func(plan *study.Plan) {
			if !f.quiet && !e.Quiet {
				plan.Print(e.Stderr)
			}
		},
		AfterAppend: e.testOnlyAfterAppend,
		OnStart:     func(total, done int) { p = newProgress(e, total, done, !f.quiet) },
		Progress:    func(ev study.Event) { p.event(ev) },
		OnOrder:     func(o study.Order) { p.order(o) },
	}
	end, err := f.offer.prepare(ctx, e, s, &opt)
	if err != nil {
		return nil, err
	}
	sum, err := s.Run(ctx, opt)
	end()
	if p != nil {
		p.finish()
		p = nil
	}
	resume := e.Self + " " + f.again + f.offer.again()
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return sum, &exitError{code: exitInterrupted, err: errors.New("interrupted; everything that was finished is recorded"), hint: "go on with: " + resume}
	case err != nil:
		return sum, err
	case e.Quiet:
	case sum.NothingToDo:
		e.say("%s is complete: nothing to do", clean(dir))
	default:
		e.say("%d episodes in %s (scenarios and suites %s, episodes %s)", sum.Episodes, clean(dir),
			sum.Generated.Round(100*time.Millisecond), sum.Ran.Round(100*time.Millisecond))
	}
	if sum.Held != nil {
		return sum, sum.Held
	}
	if sum.Stopped > 0 || sum.Incomplete > 0 {
		return sum, &exitError{code: exitIncomplete,
			err:  fmt.Errorf("%d of %d episodes are stopped and %d not finished; comparisons treat them as lower bounds", sum.Stopped, sum.Episodes, sum.Incomplete),
			hint: incompleteHint(sum, resume)}
	}
	return sum, nil
}

func incompleteHint(sum *study.Summary, resume string) string {
	if sum.Incomplete > 0 {
		if sum.BudgetReached != nil {
			return "raise budgets: {study: {usd: …}} in the study, or --max-usd, then go on with: " + resume
		}
		return "go on with: " + resume
	}
	return "try the stopped ones again with: " + resume + " --retry stopped"
}
