// Command stint measures how long a coding agent keeps a growing program correct, and tells honestly
// what the numbers mean.
//
// The verbs, each with an example under -h:
//
//	demo      a whole study with simulated agents, offline, to a report
//	init      a commented study.yaml
//	run       plan, run or resume a study
//	ls        the episodes of a run
//	shard     deal a study out to many machines
//	collect   put the runs of shards together
//	control   pause, resume, cancel a running study; set its limits
//	ingest    journals and any agent's logs to tables
//	export    the data for other programs: ATIF, Inspect, CSV, JSON lines, Arrow, git
//	classify  a verdict for every failed attempt
//	explain   why one attempt failed, with evidence
//	audit     how good the verdicts are, by people or against known truth
//	reproduce the failing requests of an attempt as curl lines, and its server
//	compare   means, pairs, Holm, the paragraph
//	report    a page with figures, LaTeX, Markdown and all numbers
//	view      a study in a browser, from the heat map to the evidence
//	curve     what retries buy
//	power     the difference that a study would find
//	digest    one hash per table, free of times and places
//	scenario  make, prove, read, hand on scenarios
//	harness   agents that are programs: list, show, install, check
//	doctor    what this machine can and cannot do
//	model-sim a scripted model server, for tests and demos
//
// The packages, bottom up: stats (estimates and tests on slices), logs (journal, run directory, tables),
// classify (taxonomy and verdicts), report (comparison, figures, page), and below this command scenario, oracle,
// suite, sandbox, gateway, harness, episode, study and fleet. Data flows one way: study.yaml, scenarios and suites,
// episodes, journals, tables, verdicts and statistics, report.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command: it parses args, does the work and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, ok := hidden(args, stdin, stdout); ok {
		return code
	}
	// The first signal ends the work in order; after it the default action is back, so a second one ends stint at once.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	e := &env{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: os.Getenv, Now: time.Now, Self: selfName(exe), Stint: exe}
	return e.execute(ctx, args)
}

// execute runs one command line and returns its exit code.
func (e *env) execute(ctx context.Context, args []string) int {
	root := newRootCmd(e)
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		e.complain(err)
	}
	return exitCode(ctx, err)
}

// hidden handles the verbs that stint starts itself with, before anything else is set up: they are
// started by the thousand, so they pay for nothing they do not use.
func hidden(args []string, stdin io.Reader, stdout io.Writer) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case "__serve":
		return harness.ServeMain(args[1:], os.Getenv, stdout), true
	case "__host":
		return episode.HostMain(args[1:], stdin, stdout), true
	case sandbox.InitVerb:
		return sandbox.InitMain(args[1:]), true
	case sandbox.ContainedVerb:
		return sandbox.ContainedMain(args[1:], func(verb []string) int {
			if code, ok := hidden(verb, stdin, stdout); ok {
				return code
			}
			return 2
		}), true
	case "__grade":
		return episode.GradeMain(stdin, stdout), true
	}
	return 0, false
}

func newRootCmd(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "stint",
		Short: "Measure how long a coding agent keeps a growing program correct",
		Long: `stint measures how long a coding agent keeps a growing program correct, and tells
honestly what the numbers mean: an agent builds a REST API, then handles change
requests; after each a generated black-box HTTP suite decides. Configurations are
compared by paired, multiplicity-corrected tests.`,
		Example: "  " + e.Self + " demo\n  " + e.Self + " compare outcomes.csv",
		Args:    verbArgs(e),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().BoolVarP(&e.Quiet, "quiet", "q", false, "no progress on stderr")
	root.PersistentFlags().BoolVarP(&e.Verbose, "verbose", "v", false, "more on stderr")
	root.PersistentFlags().BoolVar(&e.NoColor, "no-color", false, "no colours on a terminal")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return inputErrorf(e.commandLine(cmd)+" -h lists the flags", "%w", err)
	})
	root.AddCommand(
		newDemoCmd(e), newInitCmd(e), newRunCmd(e), newLsCmd(e), newIngestCmd(e), newExportCmd(e), newCompareCmd(e),
		newReportCmd(e), newViewCmd(e), newCurveCmd(e), newPowerCmd(e), newReproduceCmd(e), newDigestCmd(e), newDoctorCmd(e),
		newClassifyCmd(e), newExplainCmd(e), newAuditCmd(e), newModelSimCmd(e), newHarnessCmd(e), newScenarioCmd(e),
		newShardCmd(e), newCollectCmd(e), newControlCmd(e), newWorkerCmd(e),
	)
	for _, c := range root.Commands() {
		c.Args = inputArgs(e, c.Args)
	}
	return root
}

// commandLine is how the user types a verb, without its arguments.
func (e *env) commandLine(cmd *cobra.Command) string {
	_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
	return strings.TrimRight(e.Self+" "+verb, " ")
}

// verbArgs refuses words that are no verb of a command, with the one that was meant.
func verbArgs(e *env) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		cmd.SuggestionsMinimumDistance = 2
		hint := e.commandLine(cmd) + " -h lists the verbs"
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "did you mean " + e.commandLine(cmd) + " " + near[0] + "?"
		}
		return inputErrorf(hint, "unknown verb %q", args[0])
	}
}

// inputArgs makes a wrong number of arguments an input error (exit code 2) that shows how the verb is used.
func inputArgs(e *env, check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var own *exitError
		if err == nil || errors.As(err, &own) {
			return err
		}
		_, operands, _ := strings.Cut(cmd.Use, " ")
		return inputErrorf("usage: "+strings.TrimRight(e.commandLine(cmd)+" "+operands, " "), "%s: %w", cmd.Name(), err)
	}
}
