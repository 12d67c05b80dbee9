package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// reportFlags are the flags of report as given.
type reportFlags struct {
	out    string
	redact bool
	with   string // source of a second study
	compareFlags
}

func newReportCmd(e *env) *cobra.Command {
	var f reportFlags
	var schema bool
	cmd := &cobra.Command{
		Use:   "report SOURCE",
		Short: "A page with figures, LaTeX, Markdown and all numbers",
		Long: `report compares the runs of a run directory as compare does and writes a folder:
index.html, one file that opens from disk; report.md with the same in Markdown; tables/
and results.tex for a paper; figures/ as SVG, PDF, PNG and CSV; and summary.json with
all numbers. SOURCE may also be a folder of tables or a file of outcomes, which gives the
parts its data allow; it then needs -o. The folder is replaced as a whole; the same input
gives the same bytes.

--with shows a second study beside this one: both means on one scale, the settings that differ,
and pairs of the same configuration if both ran the same scenarios. --prices prices the recorded tokens anew, without a rerun; what has no price in the file has
an unknown cost. --redact takes secrets, addresses of models, host names, paths and names of
people out of everything before it is written, and says so in the report.`,
		Example: "  " + e.Self + " report runs/demo\n  " + e.Self + " report runs/demo -o detailed --filter feedback:detailed --redact\n" +
			"  " + e.Self + " report outcomes.csv --cap 101 -o outcomes-report",
		Args: func(cmd *cobra.Command, args []string) error {
			if schema {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if schema {
				_, err := e.Stdout.Write(report.SummarySchema())
				return err
			}
			f.set = cmd.Flags().Changed
			if err := f.check(); err != nil {
				return err
			}
			return reportOf(cmd.Context(), e, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder for the report (default DIR/report)")
	fl.StringVar(&f.filter, "filter", "", "use only the runs that match `EXPR`")
	fl.StringVar(&f.outcome, "outcome", "", "turns_passed, full, share or usd (default what the study declared)")
	fl.StringVar(&f.prices, "prices", "", "dollars by the price table in this `FILE` instead of those recorded")
	fl.StringVar(&f.with, "with", "", "show a second study, `DIR2`, beside this one")
	fl.BoolVar(&schema, "schema", false, "print the JSON schema of summary.json")
	fl.BoolVar(&f.redact, "redact", false, "take out secrets, addresses, host names, paths and names of people")
	columnFlags(cmd, &f.columns)
	return cmd
}

// writeReport writes the report of a run directory to out, by default DIR/report.
func writeReport(e *env, dir, out, filter string) error {
	return reportOf(context.Background(), e, dir, reportFlags{out: out, compareFlags: compareFlags{filter: filter}})
}

// reportOf writes the report of any source that compare takes.
func reportOf(ctx context.Context, e *env, source string, f reportFlags) error {
	var err error
	if f.table, err = loadPrices(f.prices); err != nil {
		return err
	}
	src, err := readSources(ctx, e, []string{source}, f.compareFlags)
	if err != nil {
		return err
	}
	out := f.out
	if out == "" {
		if src.dir == nil {
			return inputErrorf("name the folder for the report with -o", "%s is no run directory: it has no place for a report", clean(source))
		}
		out = src.dir.ReportDir()
	}
	in, err := f.input(ctx, e, source, src)
	if err != nil {
		return err
	}
	if err := report.Write(out, in); err != nil {
		return fmt.Errorf("writing the report of %s: %w", clean(source), err)
	}
	fmt.Fprintf(e.Stdout, "%s\n", clean(filepath.Join(out, "index.html")))
	if src.dir != nil && slices.ContainsFunc(in.Comparison.Configs, func(r report.ConfigResult) bool { return r.Causes == nil && r.Ends[logs.StatusFailed] > 0 }) {
		e.next("classify %s   # why the runs failed; then report again", shellQuote(source))
		return nil
	}
	e.next("compare %s --json", strings.Join(append([]string{shellQuote(source)}, f.again()...), " "))
	return nil
}

// input is what the report is made of.
func (f *reportFlags) input(ctx context.Context, e *env, source string, src *comparedSource) (in report.Input, err error) {
	in = report.Input{Study: src.nameOr(source), Again: f.command(src), Version: stintVersion()}
	if in.Audit, err = auditOf(src.dir, src.tables); err != nil {
		return in, err
	}
	var other *comparedSource
	if f.with != "" {
		if other, err = f.readOther(ctx, e, source, src); err != nil {
			return in, err
		}
		in.Settings = src.settings()
		in.With = &report.OtherStudy{Study: other.nameOr(f.with), Settings: other.settings()}
	}
	if f.redact {
		r := report.NewRedactor(knownPrivate(e, in.Audit, src, other))
		src.redact(r)
		if other != nil {
			other.redact(r)
		}
		r.Apply(&in)
		in.Redacted = r.Redaction()
	}
	in.Tables = src.tables
	if in.Comparison, err = src.compareForReport(e); err != nil || other == nil {
		return in, err
	}
	in.With.Tables = other.tables
	in.With.Comparison, err = other.compareForReport(e)
	return in, err
}

// readOther reads the study of --with, which has to be another one and of the same outcome.
func (f *reportFlags) readOther(ctx context.Context, e *env, source string, src *comparedSource) (*comparedSource, error) {
	if same, err := sameFile(source, f.with); err == nil && same {
		return nil, inputErrorf("name another study, or leave --with out", "--with %s is the study itself", clean(f.with))
	}
	other, err := readSources(ctx, e, []string{f.with}, f.compareFlags)
	if err != nil {
		return nil, fmt.Errorf("--with: %w", err)
	}
	if a, b := src.options.Outcome, other.options.Outcome; a != b {
		return nil, inputErrorf("name an outcome that both have, for example --outcome share", "--with %s: its outcome is %s, that of %s is %s", clean(f.with), clean(b), clean(source), clean(a))
	}
	return other, nil
}

func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y), err
}

// compareForReport compares what is in the source.
func (s *comparedSource) compareForReport(e *env) (*report.Comparison, error) {
	if s.tables == nil && !s.options.Episodes {
		mentionCap(e, s.set)
	}
	if err := checkNested(s.set); err != nil {
		return nil, err
	}
	return report.Compare(s.set, s.options)
}

// nameOr is the name of the study, or that of the file it came from.
func (s *comparedSource) nameOr(source string) string {
	if s.study != "" {
		return s.study
	}
	return filepath.Base(filepath.Clean(source))
}

// command is the command that makes the report again. Neither the names of folders and files nor the way stint was
// started belong into a report: the same journals give the same bytes.
func (f *reportFlags) command(src *comparedSource) string {
	again := "stint report DIR"
	if src.tables == nil {
		again = "stint report FILE"
	}
	if f.filter != "" {
		again += " --filter " + shellQuote(f.filter)
	}
	if f.outcome != "" {
		again += " --outcome " + shellQuote(f.outcome)
	}
	if f.prices != "" {
		again += " --prices FILE"
	}
	if f.with != "" {
		again += " --with DIR2"
	}
	if f.redact {
		again += " --redact"
	}
	if f.given("cap") {
		again += fmt.Sprintf(" --cap %v", f.columns.Cap)
	}
	return again
}

// stintVersion is the version this executable was built from, "devel" for a working tree.
func stintVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
