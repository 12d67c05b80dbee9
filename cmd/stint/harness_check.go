package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// checkSeed is the seed of the scenario that agents are tried with.
const checkSeed = 7

func newHarnessCheckCmd(e *env) *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   "check NAME|FILE",
		Short: "Try an agent end to end: three turns against a scripted model",
		Long: `check lets an agent build a service and make two changes, in the sandbox and through the
gateway as in a study, with a scripted model that does everything right. If all three turns
pass, whatever goes wrong in a study is the model's or the agent's doing.`,
		Example: "  " + e.Self + " harness check opencode",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.checkHarness(cmd.Context(), args[0], kind)
		},
	}
	cmd.Flags().StringVar(&kind, "sandbox", "auto", "kind of sandbox: auto, bubblewrap or none")
	return cmd
}

// harnessTrial is a small study of one agent and a scripted model.
type harnessTrial struct {
	harness  string // name or path
	protocol string
	sandbox  string
	changes  int
	script   string
	wall     time.Duration
}

const trialStudy = `version: 1
name: check
seed: %d
scenarios: {count: 1, changes: %d}
agent: {process_retries: 0}
configs:
  - {model: scripted, harness: %q}
models:
  scripted: {api: %s, url: %q, context: 128k}
sandbox: {kind: %s}
budgets:
  attempt: {wall: %s, requests: 60}
gateway: {provider_wait: 10s}
`

// run runs the trial in a folder and returns its tables.
func (t harnessTrial) run(ctx context.Context, e *env, dir string, progress func(study.Event)) (*logs.Tables, error) {
	sim := &modelSim{seed: checkSeed, changes: t.changes, count: 1, script: t.script, addr: "127.0.0.1:0"}
	m, err := sim.serve()
	if err != nil {
		return nil, err
	}
	defer m.close()
	text := fmt.Sprintf(trialStudy, checkSeed, t.changes, t.harness, t.protocol, m.url, t.sandbox, t.wall)
	return e.tryStudy(ctx, "the study of the check", text, dir, progress)
}

// tryStudy runs a small study in a folder and returns its tables.
func (e *env) tryStudy(ctx context.Context, name, text, dir string, progress func(study.Event)) (*logs.Tables, error) {
	s, err := study.Parse(name, []byte(text))
	if err != nil {
		return nil, err
	}
	if _, err := s.Run(ctx, study.RunOptions{Dir: dir, Now: e.Now, Getenv: e.Getenv, Stint: e.Stint, Stderr: e.Stderr, Progress: progress}); err != nil {
		return nil, err
	}
	d, err := logs.OpenRunDir(dir)
	if err != nil {
		return nil, err
	}
	tables, _, err := logs.ReadRun(d, nil)
	return tables, err
}

func (e *env) checkHarness(ctx context.Context, name, kind string) error {
	f, err := loadHarness(name)
	if err != nil {
		return err
	}
	if f.Path() != "" {
		if name, err = filepath.Abs(f.Path()); err != nil {
			return fmt.Errorf("finding the harness file: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "stint-check-")
	if err != nil {
		return fmt.Errorf("making a folder for the check: %w", err)
	}
	run := filepath.Join(dir, "run")
	progress := func(ev study.Event) {
		if ev.Kind == episode.EventTurnStart && !e.Quiet {
			e.say("%s works on turn %d of 0 to 2", f.Name, ev.Turn)
		}
	}
	trial := harnessTrial{harness: name, protocol: f.Protocol, sandbox: kind, changes: 2, script: "perfect", wall: 5 * time.Minute}
	t, err := trial.run(ctx, e, run, progress)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	passed := 0
	for _, a := range t.Attempts {
		word := "failed"
		switch {
		case a.VoidReason != nil:
			word = "void: " + *a.VoidReason
		case a.Passed != nil && *a.Passed:
			word = "passed"
			passed++
		}
		seconds := 0.0
		if a.AgentS != nil {
			seconds = *a.AgentS
		}
		fmt.Fprintf(e.Stdout, "turn %d  %s, ended %s, %s, %.1f s\n", a.Turn, clean(word), clean(wordOf(a.Completion)), clean(requestsOf(&a)), seconds)
	}
	if passed == 3 {
		fmt.Fprintf(e.Stdout, "%s %s works: 3 of 3 turns passed\n", f.Name, f.Version)
		return os.RemoveAll(dir)
	}
	detail := lastDetail(filepath.Join(run, "episodes"))
	return &exitError{code: exitFailed, err: fmt.Errorf("%s passed %d of 3 turns%s", f.Name, passed, clean(detail)),
		hint: fmt.Sprintf("everything that happened is kept in %s; %s ingest %s puts the events into tables", run, e.Self, run)}
}

func wordOf(s *string) string {
	if s == nil {
		return "without a word"
	}
	return *s
}

func requestsOf(a *logs.AttemptRow) string {
	in, out := "?", "?"
	if a.Input != nil {
		in = fmt.Sprint(*a.Input)
	}
	if a.Output != nil {
		out = fmt.Sprint(*a.Output)
	}
	return fmt.Sprintf("%s tokens in, %s out", in, out)
}

// lastDetail is what the last attempt of a run's only episode was seen to do.
func lastDetail(episodes string) string {
	names, err := filepath.Glob(filepath.Join(episodes, "*", logs.JournalName))
	if err != nil || len(names) == 0 {
		return ""
	}
	records, _, err := logs.ReadJournal(names[0])
	if err != nil {
		return ""
	}
	detail := ""
	for _, r := range records {
		switch r.Type {
		case logs.TypeAgentExit:
			if d, err := logs.Decode[logs.AgentExit](r); err == nil && d.Detail != "" {
				detail = ": " + d.Detail
			}
		case logs.TypeVoid:
			if d, err := logs.Decode[logs.Void](r); err == nil && d.Evidence != "" {
				detail = ": " + d.Evidence
			}
		}
	}
	return detail
}
