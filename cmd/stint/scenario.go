package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

func newScenarioCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "Make, prove, read and hand on sets of scenarios",
		Long: `scenario makes sets of scenarios and shows what is in them. A scenario is an API to build
and a sequence of change requests, with a suite of checks for every turn. It is accepted
only if at every turn the reference passes every check, planted faults are found, and the
service of the turn before fails. A study runs a set with scenarios: {set: DIR}.`,
		Example: "  " + e.Self + " scenario new -h",
		Args:    verbArgs(e),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newScenarioNewCmd(e), newScenarioCheckCmd(e), newScenarioShowCmd(e), newScenarioExportCmd(e))
	for _, c := range cmd.Commands() {
		c.Args = inputArgs(e, c.Args)
	}
	return cmd
}

// interrupted makes the ending of a command that Ctrl-C stopped and that again goes on.
func (e *env) interrupted(ctx context.Context, err error, again string) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &exitError{code: exitInterrupted, err: errors.New("interrupted; everything that was finished is kept"), hint: "go on with: " + e.Self + " " + again}
	}
	return err
}

// meter shows how far a long work is: on a terminal one line that is redrawn, elsewhere nothing.
type meter struct {
	mu   sync.Mutex
	bars *mpb.Progress
	bar  *mpb.Bar
	what string
}

// newMeter begins the display of a work of so many pieces.
func newMeter(e *env, total int, unit string) *meter {
	m := &meter{}
	if !e.terminal() {
		return m
	}
	m.bars = mpb.New(mpb.WithOutput(e.Stderr), mpb.WithWidth(24), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
	m.bar = m.bars.New(int64(total), mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("").Padding("─"),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return m.name() }), decor.CountersNoUnit("%d of %d "+unit+" ")),
		mpb.AppendDecorators(decor.Name(" "), decor.Elapsed(decor.ET_STYLE_GO), decor.Name(", left about "), decor.AverageETA(decor.ET_STYLE_GO)))
	return m
}

func (m *meter) name() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.what
}

// at names what is being worked on.
func (m *meter) at(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.what = fmt.Sprintf(format, args...) + " "
}

// add counts pieces that are done.
func (m *meter) add(n int) {
	if m.bar != nil {
		m.bar.IncrBy(n)
	}
}

// finish leaves the terminal as it was.
func (m *meter) finish() {
	if m.bars == nil {
		return
	}
	m.bar.Abort(true)
	m.bars.Wait()
	m.bars = nil
}
