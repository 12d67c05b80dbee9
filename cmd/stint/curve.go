package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/report"
)

func newCurveCmd(e *env) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "curve SOURCE",
		Short: "What retries buy: the mean for every smaller retry budget",
		Long: `curve reads the results of every smaller retry budget off runs with a larger one (the
first r + 1 attempts of a turn do not depend on how many more there could have been) and
says whether more retries would still add turns: a plateau is called proved only if an
upper bound says so.

SOURCE is a run directory or its tables.`,
		Example: "  " + e.Self + " curve runs/demo\n  " + e.Self + " curve runs/demo --filter feedback:detailed --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.set = cmd.Flags().Changed
			return curve(cmd.Context(), e, args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.filter, "filter", "", "only episodes that match `EXPR`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON (schema stint.curve/1)")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print CSV")
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	return cmd
}

func curve(ctx context.Context, e *env, source string, f compareFlags) error {
	src, err := readSources(ctx, e, []string{source}, f)
	if err != nil {
		return err
	}
	if src.tables != nil {
		src.tables.AddAttemptCosts(src.set)
	}
	c, err := report.Compare(src.set, src.options)
	if err != nil {
		return err
	}
	curves, err := c.Curves()
	if err != nil {
		return err
	}
	if len(curves) == 0 {
		return inputErrorf("a curve needs episodes with retries and the attempts of every turn: a run directory with retries > 0",
			"no configuration of %s has a retry curve", clean(source))
	}
	switch {
	case f.json:
		return report.CurvesJSON(e.Stdout, curves)
	case f.csv:
		return c.CurvesCSV(e.Stdout)
	}
	return c.WriteCurves(e.Stdout, curves, e.width())
}
