package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/logs"
)

func newDigestCmd(e *env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "digest DIR",
		Short: "One hash per table, free of times and places",
		Long: `digest prints one SHA-256 per table over its rows sorted by key, without the columns
that hold times, places and what was measured around the work. Two runs with equal
digests gave the same results: it is what two people compare when they say that they
replicated a simulated study.`,
		Example: "  " + e.Self + " digest runs/demo",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, t, err := openRun(e, args[0])
			if err != nil {
				return err
			}
			sums := logs.Digest(t)
			if asJSON {
				return e.printJSON(sums)
			}
			for _, name := range slices.Sorted(maps.Keys(sums)) {
				fmt.Fprintf(e.Stdout, "%s  %s\n", sums[name], name)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
