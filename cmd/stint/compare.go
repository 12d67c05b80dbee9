package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// compareFlags are the flags of compare as given.
type compareFlags struct {
	by, within []string
	baseline   string
	filter     string
	outcome    string
	alpha      float64
	zero       string
	force      bool
	json       bool
	csv        bool
	md         bool
	latex      bool
	failIf     string
	at         int
	causes     bool
	columns    logs.OutcomeColumns
	prices     string                 // file of a price table
	table      *logs.Prices           // what it holds, to be used instead of the recorded dollars; nil: none was given
	set        func(name string) bool // whether a flag was given; nil: none was
}

func newCompareCmd(e *env) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare SOURCE...",
		Short: "Means, pairs, Holm, and a paragraph",
		Long: `compare shows the mean of every configuration with its interval, tests pairs of
configurations on the scenarios both have (exact Wilcoxon signed rank), corrects each
family of pairs by Holm, and says in words what can and what cannot be concluded.

SOURCE is a run directory, its tables, or any file of outcomes (CSV, TSV, JSONL, Parquet,
or - for stdin) with a configuration, a scenario and a value in each row; columns that are
not named are guessed, and the guesses printed. The pairs are those of --by and --within or
--baseline, else the families the study declared, else all pairs.`,
		Example: "  " + e.Self + " compare runs/demo\n" +
			"  " + e.Self + " compare outcomes.csv --baseline builtin --cap 101\n" +
			"  " + e.Self + " compare outcomes.csv --fail-if 'opencode<builtin'",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.set = cmd.Flags().Changed
			return compare(cmd.Context(), e, args, f)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.by, "by", nil, "pair configurations that differ in these `factors`")
	fl.StringSliceVar(&f.within, "within", nil, "and agree in these `factors`")
	fl.StringVar(&f.baseline, "baseline", "", "compare every configuration with this `config`")
	fl.StringVar(&f.filter, "filter", "", "use only the runs that match `EXPR`, such as 'harness:builtin -scenario:s03'")
	fl.StringVar(&f.outcome, "outcome", "", "turns_passed, full, share or usd (default what the study declared)")
	fl.Float64Var(&f.alpha, "alpha", 0.05, "significance level of a family")
	fl.StringVar(&f.zero, "zero", "drop", "equal outcomes of a pair: drop or pratt")
	fl.BoolVar(&f.json, "json", false, "JSON (stint.compare/1)")
	fl.BoolVar(&f.csv, "csv", false, "one CSV table")
	fl.BoolVar(&f.md, "md", false, "Markdown")
	fl.BoolVar(&f.latex, "latex", false, "LaTeX (booktabs), to be included in a paper")
	fl.StringVar(&f.failIf, "fail-if", "", "exit 3 if A is significantly below B (`'A<B'`)")
	fl.IntVar(&f.at, "at", 0, "read configurations with more retries off at this `budget` (…/r10@2)")
	fl.BoolVar(&f.causes, "causes", false, "and what ended the runs: cumulative incidence of every cause, and bounds on the mean (with --json: nothing else)")
	fl.BoolVar(&f.force, "force", false, "test pairs although more than 20 % of the scenarios have no partner")
	columnFlags(cmd, &f.columns)
	return cmd
}

// columnFlags adds the flags that say how an outcome file is to be read.
func columnFlags(cmd *cobra.Command, columns *logs.OutcomeColumns) {
	fl := cmd.Flags()
	fl.StringVar(&columns.Config, "config-col", "", "`column` of an outcome file that names the configuration")
	fl.StringVar(&columns.Scenario, "scenario-col", "", "`column` that names the scenario")
	fl.StringVar(&columns.Value, "value-col", "", "`column` with the value")
	fl.StringVar(&columns.Repeat, "repeat-col", "", "`column` with the number of the repeat")
	fl.StringVar(&columns.Status, "status-col", "", "`column` with failed, capped or stopped")
	fl.Float64Var(&columns.Cap, "cap", 0, "the most an outcome of a file can reach (default no cap)")
}

// given reports whether a flag was given on the command line.
func (f *compareFlags) given(name string) bool { return f.set != nil && f.set(name) }

// check refuses combinations before anything is read.
func (f *compareFlags) check() error {
	forms := 0
	for _, on := range []bool{f.json, f.csv, f.md, f.latex} {
		if on {
			forms++
		}
	}
	if forms > 1 {
		return inputErrorf("choose one of them", "--json, --csv, --md and --latex exclude each other")
	}
	if f.given("cap") && !(f.columns.Cap > 0) {
		return inputErrorf("leave --cap out if there is none", "--cap %v is not above zero", f.columns.Cap)
	}
	if f.failIf != "" && !strings.Contains(f.failIf, "<") {
		return inputErrorf("--fail-if 'A<B' fails if A is significantly below B", "--fail-if %s is not of the form A<B", clean(f.failIf))
	}
	if f.given("at") && f.at < 0 {
		return inputErrorf("--at 2", "--at %d is no number of retries", f.at)
	}
	if f.given("alpha") && !(f.alpha > 0 && f.alpha < 1) {
		return inputErrorf("--alpha 0.05", "--alpha %v is not between 0 and 1", f.alpha)
	}
	if f.causes && (f.csv || f.md || f.latex) {
		return inputErrorf("use --causes alone or with --json; stint report writes figures/causes.csv", "--causes is printed as text or JSON")
	}
	return nil
}

// compare reads the sources, compares, prints, and holds the gate.
func compare(ctx context.Context, e *env, sources []string, f compareFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	src, err := readSources(ctx, e, sources, f)
	if err != nil {
		return err
	}
	if src.tables == nil && !src.options.Episodes {
		mentionCap(e, src.set)
	}
	if f.given("at") {
		if err := src.readAt(f.at); err != nil {
			return err
		}
	}
	if err := checkNested(src.set); err != nil {
		return err
	}
	c, err := report.Compare(src.set, src.options)
	if err != nil {
		return err
	}
	if err := printComparison(e, c, f); err != nil {
		return err
	}
	if f.failIf == "" {
		suggestAfterCompare(e, sources, src, c, f)
		return nil
	}
	passed, msg, err := c.Gate(f.failIf)
	if err != nil {
		return err
	}
	if !passed {
		return &exitError{code: exitGate, err: fmt.Errorf("--fail-if %s: %s", clean(f.failIf), msg)}
	}
	if !e.Quiet {
		e.say("--fail-if %s: passed: %s", clean(f.failIf), msg)
	}
	return nil
}

// compareRun prints the comparison of a run directory, as demo shows it.
func compareRun(e *env, dir string) error {
	return compare(context.Background(), e, []string{dir}, compareFlags{alpha: 0.05})
}

func printComparison(e *env, c *report.Comparison, f compareFlags) error {
	w := bufio.NewWriter(e.Stdout)
	var err error
	var ends []report.Incidence
	if f.causes {
		if ends, err = c.Incidences(); err != nil {
			return inputErrorf("give failed attempts verdicts first: stint classify DIR", "--causes: %w", err)
		}
	}
	switch {
	case f.json && f.causes:
		err = c.CausesJSON(w, ends)
	case f.json:
		err = c.JSON(w)
	case f.csv:
		if err = c.CSV(w); c.Banner != "" { // the table has no place for it
			e.say("%s", clean(c.Banner))
		}
	case f.md:
		err = c.Markdown(w)
	case f.latex:
		err = c.LaTeX(w)
	default:
		err = c.Text(w, e.width())
		if err == nil && len(ends) > 0 {
			fmt.Fprintln(w)
			err = c.WriteCauses(w, ends, e.width())
		}
	}
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the comparison: %w", err)
	}
	return nil
}

// suggestAfterCompare names the next useful command.
func suggestAfterCompare(e *env, sources []string, src *comparedSource, c *report.Comparison, f compareFlags) {
	quoted := make([]string, len(sources))
	for i, s := range sources {
		quoted[i] = shellQuote(s)
	}
	if src.dir != nil && len(sources) == 1 {
		e.next("report %s", quoted[0])
		return
	}
	quoted = append(quoted, f.again()...)
	switch {
	case len(c.Families) > 0 && len(c.Configs) > 2 && c.Families[0].M == len(c.Configs)*(len(c.Configs)-1)/2 && plainName(c):
		base := c.Configs[len(c.Configs)-1].Config
		e.next("compare %s --baseline %s   # a smaller family finds more", strings.Join(quoted, " "), shellQuote(base))
	default:
		e.next("compare %s --md", strings.Join(quoted, " "))
	}
}

// again returns the flags that say which values are compared, so that a suggested command compares the same ones.
func (f *compareFlags) again() []string {
	var out []string
	for _, flag := range []struct{ name, value string }{
		{"config-col", f.columns.Config}, {"scenario-col", f.columns.Scenario}, {"value-col", f.columns.Value},
		{"repeat-col", f.columns.Repeat}, {"status-col", f.columns.Status},
		{"cap", strconv.FormatFloat(f.columns.Cap, 'g', -1, 64)}, {"filter", f.filter}, {"at", strconv.Itoa(f.at)}, {"outcome", f.outcome},
	} {
		if f.given(flag.name) {
			out = append(out, "--"+flag.name+" "+shellQuote(flag.value))
		}
	}
	return out
}

// plainName reports whether the name of the last configuration can be typed as it is shown.
func plainName(c *report.Comparison) bool {
	name := c.Configs[len(c.Configs)-1].Config
	return clean(name) == name && len(name) <= 100
}

// mentionCap says that the largest value of a file looks like a cap nobody named: without it those runs count as
// failures at that value.
func mentionCap(e *env, set *logs.OutcomeSet) {
	if e.Quiet || set.Cap > 0 {
		return
	}
	most, runs := 0.0, 0
	for i := range set.Rows {
		v := set.Rows[i].Value
		switch {
		case v == nil:
		case *v != math.Trunc(*v):
			return
		case *v > most:
			most, runs = *v, 1
		case *v == most:
			runs++
		}
	}
	if runs >= 3 && most >= 5 {
		e.say("%d runs share the largest value %v: if nothing above it was possible, say --cap %v", runs, most, most)
	}
}

// saveStdin copies stdin to a temporary file whose name says its format.
func saveStdin(stdin io.Reader, create func(ext string) (io.WriteCloser, string, error)) (string, error) {
	r := bufio.NewReaderSize(stdin, 1<<16)
	head, err := r.Peek(1 << 12)
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("reading stdin: %w", err)
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	ext := ".csv"
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		ext = ".parquet"
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
		ext = ".jsonl"
	case bytes.ContainsRune(line, '\t'):
		ext = ".tsv"
	}
	w, name, err := create(ext)
	if err != nil {
		return "", fmt.Errorf("keeping stdin in a file: %w", err)
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return name, fmt.Errorf("keeping stdin in a file: %w", err)
	}
	if err := w.Close(); err != nil {
		return name, fmt.Errorf("keeping stdin in a file: %w", err)
	}
	return name, nil
}
