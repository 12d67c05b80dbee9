package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/report"
)

func newReportCmd(e *env) *cobra.Command {
	var out, filter string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Markdown report with figures",
		Long: `report compares the runs of a run directory as compare does and writes a folder:
report.md with tables, figures and a paragraph, figures/ as SVG, PNG and CSV, and
summary.json with all numbers. The folder is replaced as a whole; the same journals
give the same bytes.`,
		Example: "  " + e.Self + " report runs/demo\n  " + e.Self + " report runs/demo -o detailed --filter feedback:detailed",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeReport(e, args[0], out, filter)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the report (default DIR/report)")
	cmd.Flags().StringVar(&filter, "filter", "", "use only the runs that match `EXPR`")
	return cmd
}

// writeReport writes the report of a run directory to out, by default DIR/report.
func writeReport(e *env, dir, out, filter string) error {
	src, err := readSources(context.Background(), e, []string{dir}, compareFlags{filter: filter})
	if err != nil {
		return err
	}
	c, err := report.Compare(src.set, src.options)
	if err != nil {
		return err
	}
	if out == "" {
		if src.dir == nil {
			return inputErrorf("name the folder for the report with -o", "%s is no run directory: it has no place for a report", clean(dir))
		}
		out = src.dir.ReportDir()
	}
	// Neither DIR nor the way stint was started belongs into the report: the same journals give the same bytes.
	again := "stint report DIR"
	if filter != "" {
		again += " --filter " + shellQuote(filter)
	}
	name := src.study
	if name == "" {
		name = filepath.Base(filepath.Clean(dir))
	}
	if err := report.Write(out, report.Input{Study: name, Comparison: c, Tables: src.tables, Again: again, Version: stintVersion()}); err != nil {
		return fmt.Errorf("writing the report of %s: %w", clean(dir), err)
	}
	fmt.Fprintf(e.Stdout, "%s\n", clean(filepath.Join(out, "report.md")))
	e.next("compare %s --json", shellQuote(dir))
	return nil
}

// stintVersion is the version this executable was built from, "devel" for a working tree.
func stintVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
