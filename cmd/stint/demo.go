package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

// defaultDemoSeed was chosen because its small study shows all three answers: a difference that is significant,
// one that is not, and one that could not have been. Any other seed is as good a study.
const defaultDemoSeed = 10

func newDemoCmd(e *env) *cobra.Command {
	var dir string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A whole study with simulated agents, offline, to a report",
		Long: `demo runs a study of four configurations of a simulated agent on eight scenarios (a
build and twelve changes each) as real episodes: servers are started, tested over HTTP,
given feedback and repaired. Then it ingests, classifies, compares and reports. It is
nothing but run, ingest, classify, report and compare in this order; run again it does
nothing.`,
		Example: "  " + e.Self + " demo\n  " + e.Self + " demo --seed 8 -o runs/eight",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), e, dir, seed)
		},
	}
	cmd.Flags().StringVarP(&dir, "out", "o", filepath.Join("runs", "demo"), "run directory")
	cmd.Flags().Uint64Var(&seed, "seed", defaultDemoSeed, "seed of scenarios and agents; the same seed gives the same digests")
	return cmd
}

func demo(ctx context.Context, e *env, dir string, seed uint64) error {
	s, err := study.Parse("the demo's study", study.DemoStudy(seed))
	if err != nil {
		return err
	}
	again := "demo"
	if dir != filepath.Join("runs", "demo") {
		again += " -o " + shellQuote(dir)
	}
	if seed != defaultDemoSeed {
		again += fmt.Sprintf(" --seed %d", seed)
	}
	if !e.Quiet {
		e.say("a study of simulated agents: %d configurations × %d scenarios × build + %d changes, into %s",
			len(s.Configs), s.Scenarios.Count, s.Scenarios.Changes, clean(dir))
	}
	sum, err := runStudy(ctx, e, s, dir, runFlags{dir: dir, again: again, quiet: true})
	if err != nil {
		return err
	}
	start := e.Now()
	q := *e
	q.Quiet = true // what the steps would suggest next, demo says at its end
	if !sum.NothingToDo || !analysed(dir) {
		silent := q
		silent.Stdout = io.Discard
		if err := ingest(&silent, dir, "", false); err != nil {
			return err
		}
		if err := classifyRun(ctx, &silent, dir, "", false, &judgeFlags{}); err != nil {
			return err
		}
		if err := writeReport(&silent, dir, "", ""); err != nil {
			return err
		}
	}
	if err := compareRun(&q, dir); err != nil {
		return err
	}
	took := e.Now().Sub(start)
	if e.Quiet {
		return nil
	}
	if !sum.NothingToDo {
		e.say("took %s: generate %s, run %s, analyse %s", seconds(sum.Generated+sum.Ran+took),
			seconds(sum.Generated), seconds(sum.Ran), seconds(took))
	}
	e.say("report, for a browser: %s", clean(filepath.Join(dir, "report", "index.html")))
	e.next("ls %s", shellQuote(dir))
	e.next("explain %s", shellQuote(dir))
	e.next("view %s   # from the heat map to the evidence, in a browser", shellQuote(dir))
	e.next("init study.yaml   # a study of your own")
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// analysed reports whether everything that follows a run is there.
func analysed(dir string) bool {
	for _, part := range []string{"tables", "verdicts", filepath.Join("report", "index.html")} {
		if _, err := os.Stat(filepath.Join(dir, part)); err != nil {
			return false
		}
	}
	return true
}
