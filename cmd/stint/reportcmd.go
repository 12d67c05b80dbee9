package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

func newReportCmd(e *env) *cobra.Command {
	var out string
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "report SOURCE",
		Short: "A page with figures, LaTeX, Markdown and all numbers",
		Long: `report compares the runs of a run directory as compare does and writes a folder:
index.html, one file that opens from disk; report.md with the same in Markdown; tables/
and results.tex for a paper; figures/ as SVG, PNG and CSV; and summary.json with all
numbers. SOURCE may also be a folder of tables or a file of outcomes, which gives the
parts its data allow; it then needs -o. The folder is replaced as a whole; the same input
gives the same bytes.`,
		Example: "  " + e.Self + " report runs/demo\n  " + e.Self + " report runs/demo -o detailed --filter feedback:detailed\n" +
			"  " + e.Self + " report outcomes.csv --cap 101 -o outcomes-report",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.set = cmd.Flags().Changed
			if err := f.check(); err != nil {
				return err
			}
			return reportOf(cmd.Context(), e, args[0], out, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&out, "out", "o", "", "folder for the report (default DIR/report)")
	fl.StringVar(&f.filter, "filter", "", "use only the runs that match `EXPR`")
	columnFlags(cmd, &f.columns)
	return cmd
}

// writeReport writes the report of a run directory to out, by default DIR/report.
func writeReport(e *env, dir, out, filter string) error {
	return reportOf(context.Background(), e, dir, out, compareFlags{filter: filter})
}

// reportOf writes the report of any source that compare takes.
func reportOf(ctx context.Context, e *env, source, out string, f compareFlags) error {
	src, err := readSources(ctx, e, []string{source}, f)
	if err != nil {
		return err
	}
	if src.tables == nil && !src.options.Episodes {
		mentionCap(e, src.set)
	}
	if err := checkNested(src.set); err != nil {
		return err
	}
	c, err := report.Compare(src.set, src.options)
	if err != nil {
		return err
	}
	if out == "" {
		if src.dir == nil {
			return inputErrorf("name the folder for the report with -o", "%s is no run directory: it has no place for a report", clean(source))
		}
		out = src.dir.ReportDir()
	}
	// Neither the name of the folder nor the way stint was started belongs into the report: the same journals
	// give the same bytes.
	again := "stint report DIR"
	if src.tables == nil {
		again = "stint report FILE"
	}
	if f.filter != "" {
		again += " --filter " + shellQuote(f.filter)
	}
	if f.given("cap") {
		again += fmt.Sprintf(" --cap %v", f.columns.Cap)
	}
	audit, err := auditOf(src.dir, src.tables)
	if err != nil {
		return err
	}
	name := src.study
	if name == "" {
		name = filepath.Base(filepath.Clean(source))
	}
	if err := report.Write(out, report.Input{Study: name, Comparison: c, Tables: src.tables, Again: again, Version: stintVersion(), Audit: audit}); err != nil {
		return fmt.Errorf("writing the report of %s: %w", clean(source), err)
	}
	fmt.Fprintf(e.Stdout, "%s\n", clean(filepath.Join(out, "index.html")))
	if src.dir != nil && slices.ContainsFunc(c.Configs, func(r report.ConfigResult) bool { return r.Causes == nil && r.Ends[logs.StatusFailed] > 0 }) {
		e.next("classify %s   # why the runs failed; then report again", shellQuote(source))
		return nil
	}
	e.next("compare %s --json", shellQuote(source))
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
