package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/fleet"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
)

func newShardCmd(e *env) *cobra.Command {
	var n int
	var dir string
	cmd := &cobra.Command{
		Use:   "shard STUDY.yaml",
		Short: "Deal a study out to many machines",
		Long: `shard freezes a study in a folder, generates its scenarios once and deals its episodes out
to n shards, balanced by what they are expected to cost. Each shard is run by itself, in
the interleaved order of the study, with its part of budgets.study.usd and of
jobs.per_model. A Slurm script and a Kubernetes Job are written beside, as examples to
edit; stint collect puts the shards' runs together again.`,
		Example: "  " + e.Self + " shard study.yaml -n 2 -o shards   # then: run shards --shard 1/2 -o shards/out/1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n == 0 {
				return inputErrorf("for example -n 8", "shard needs -n: the number of shards")
			}
			s, err := study.Load(args[0])
			if err != nil {
				return err
			}
			return shard(cmd.Context(), e, s, n, cmp.Or(dir, filepath.Join("shards", s.Name)))
		},
	}
	cmd.Flags().IntVarP(&n, "shards", "n", 0, "number of shards")
	cmd.Flags().StringVarP(&dir, "out", "o", "", "folder for the shards (default shards/NAME)")
	return cmd
}

func shard(ctx context.Context, e *env, s *study.Study, n int, dir string) error {
	sh, err := fleet.Make(ctx, s, fleet.MakeOptions{N: n, Dir: dir, Now: e.Now, Getenv: e.Getenv, Stderr: e.Stderr})
	if err != nil {
		return err
	}
	if e.Quiet {
		return nil
	}
	of := make([]int, n)
	for _, x := range sh.Episodes {
		of[x.Shard-1]++
	}
	least, most := len(sh.Episodes), 0
	for _, k := range of {
		least, most = min(least, k), max(most, k)
	}
	e.say("%d episodes in %d shards of %s, in %s", len(sh.Episodes), n, span(least, most), clean(dir))
	e.say("examples for schedulers: %s and %s", clean(filepath.Join(dir, fleet.SlurmName)), clean(filepath.Join(dir, fleet.KubernetesName)))
	e.next("run %s --shard 1/%d -o %s", shellQuote(dir), n, shellQuote(filepath.Join(dir, "out", "1")))
	e.next("collect %s/out/* -o %s   # when all have run", shellQuote(dir), shellQuote(filepath.Join("runs", s.Name)))
	return nil
}
