package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

func newControlCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "control",
		Short: "Pause, resume, cancel a running study or one episode; set its limits",
		Long: `control tells a study that is running, or one that will go on, what to do. Every order is
kept with its author and reason in the run directory, in control/journal.jsonl, and is
shown by ls. A run sees it within a second.`,
		Example: "  " + e.Self + " control pause runs/demo --reason 'the model is overloaded' --by ann\n" +
			"  " + e.Self + " control resume runs/demo --reason 'it answers again' --by ann",
		Args: verbArgs(e),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newOrderCmd(e, study.OrderPause, "Start no new attempt until resumed",
			`pause lets the attempts that run come to their end; then the run holds, or with ID goes on
with the other episodes. It can be interrupted and started again: it stays paused.`),
		newOrderCmd(e, study.OrderResume, "Lift a pause or a cancellation",
			`resume lifts a pause or a cancellation. An episode that was cancelled while the run went on
has ended as stopped by the operator; run --retry stopped then goes on with it.`),
		newOrderCmd(e, study.OrderCancel, "Cut what runs, now",
			`cancel cuts the running attempts, which are recorded as void. With ID the episode ends as
stopped by the operator; without, the run ends with exit code 4 and can be resumed.`),
		newSetCmd(e),
	)
	for _, c := range cmd.Commands() {
		c.Args = inputArgs(e, c.Args)
	}
	return cmd
}

// orderFlags are those of every order.
type orderFlags struct{ reason, by string }

func (f *orderFlags) add(cmd *cobra.Command, e *env) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, in one line")
	cmd.Flags().StringVar(&f.by, "by", e.Getenv("USER"), "who says so")
}

// newOrderCmd makes pause, resume or cancel.
func newOrderCmd(e *env, verb, short, long string) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:     verb + " DIR [ID]",
		Short:   short,
		Long:    long,
		Example: "  " + e.Self + " control " + verb + " runs/demo --reason 'the model is overloaded' --by ann",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			id := ""
			if len(args) == 2 {
				id = args[1]
			}
			return order(e, args[0], id, study.Order{Verb: verb, By: f.by, Reason: f.reason})
		},
	}
	f.add(cmd, e)
	return cmd
}

func newSetCmd(e *env) *cobra.Command {
	var f orderFlags
	var jobs, perModel int
	var usd float64
	cmd := &cobra.Command{
		Use:   "set DIR",
		Short: "Change limits: episodes at once, money",
		Long: `set changes the limits of a run, while it goes on and for those after it. --max-usd takes
the place of budgets.study.usd for this run directory. What runs already is not cut.`,
		Example: "  " + e.Self + " control set runs/demo --jobs 2 --reason 'the machine is needed' --by ann",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l := &study.Limits{}
			if cmd.Flags().Changed("jobs") {
				l.Jobs = &jobs
			}
			if cmd.Flags().Changed("per-model") {
				l.PerModel = &perModel
			}
			if cmd.Flags().Changed("max-usd") {
				l.MaxUSD = &usd
			}
			return order(e, args[0], "", study.Order{Verb: study.OrderSet, By: f.by, Reason: f.reason, Set: l})
		},
	}
	cmd.Flags().IntVar(&jobs, "jobs", 0, "episodes at once")
	cmd.Flags().IntVar(&perModel, "per-model", 0, "episodes of one model at once")
	cmd.Flags().Float64Var(&usd, "max-usd", 0, "start no new attempt once the study has cost so much")
	f.add(cmd, e)
	return cmd
}

// order gives an order to the run in a directory.
func order(e *env, dir, id string, o study.Order) error {
	d, err := logs.OpenRunDir(dir)
	if err != nil {
		return err
	}
	s, err := study.LoadFrozen(d)
	if err != nil {
		return err
	}
	what := dir
	if id != "" {
		if o.Episode, err = s.FindEpisode(d, id); err != nil {
			return err
		}
		what = o.Episode
	}
	if err := s.Give(d, o, e.Now); err != nil {
		return err
	}
	if !e.Quiet {
		e.say("%s: %s", clean(what), clean(o.String()))
	}
	e.next("ls %s", shellQuote(dir))
	return nil
}

// heldLines are the orders in force as ls prints them below its table.
func heldLines(c *study.Control) []string {
	var out []string
	for _, o := range c.InForce() {
		out = append(out, fmt.Sprintf("%s: %s (%s)", clean(cmp.Or(o.Episode, "the study")), clean(o.String()), o.Time.Format("2006-01-02 15:04:05")))
	}
	return out
}
