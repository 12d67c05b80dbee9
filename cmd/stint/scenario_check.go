package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

func newScenarioCheckCmd(e *env) *cobra.Command {
	var asJSON, again bool
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Prove that the suites of a set find faults",
		Long: `check makes every scenario of a set again, holds it against its content hash and proves it,
turn by turn: the reference passes every check, alone and in the whole suite; at least
98 % of the planted faults (mutants) are found, and every one that is not is listed; and
the service of the turn before fails, unless the turn only asks to tidy up. Every mutant
of every turn is tried. Proofs are kept in DIR/proof by a hash of all they rest on, so
only turns that changed are proven again, and an interrupted check goes on. A set that is
not accepted ends with exit code 3.`,
		Example: "  " + e.Self + " scenario check scenarios/main",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := scenarioCheck(cmd.Context(), e, args[0], asJSON, again)
			return e.interrupted(cmd.Context(), err, "scenario check "+shellQuote(args[0]))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&again, "again", false, "prove everything again, whatever is kept")
	return cmd
}

func scenarioCheck(ctx context.Context, e *env, dir string, asJSON, again bool) error {
	set, err := suite.ReadSet(dir)
	if err != nil {
		return err
	}
	began := e.Now()
	r, fresh, err := proveSet(ctx, e, set, again)
	if err != nil {
		return err
	}
	if asJSON {
		b, err := r.Encode()
		if err != nil {
			return err
		}
		if _, err := e.Stdout.Write(b); err != nil {
			return err
		}
	} else if err := printReport(e.Stdout, r); err != nil {
		return err
	}
	if !e.Quiet {
		e.say("%d of %d turns proven now, the others before, in %s", fresh, r.Total.Turns, e.Now().Sub(began).Round(100*time.Millisecond))
	}
	if bad := len(r.Scenarios) - r.Accepted(); bad > 0 {
		return &exitError{code: exitGate, err: fmt.Errorf("%d of %d scenarios are not accepted", bad, len(r.Scenarios)), hint: "the reasons stand in the report"}
	}
	return nil
}

// proveSet proves every scenario of a set. fresh is the number of turns that were not proven before.
func proveSet(ctx context.Context, e *env, set *suite.Set, again bool) (r *suite.Report, fresh int, err error) {
	m := newMeter(e, len(set.Files)*(set.Changes()+1), "turns")
	defer m.finish()
	r = suite.NewReport()
	for i, f := range set.Files {
		m.at("%s", f.Name)
		made, err := f.Make(ctx, set.Path(i), 0)
		if err != nil {
			return nil, 0, err
		}
		p, n, err := proveKept(ctx, made, set.Dir, again, func() { m.add(1) })
		if err != nil {
			return nil, 0, err
		}
		fresh += n
		r.Add(f, p)
	}
	return r, fresh, nil
}

// printReport writes the report for people.
func printReport(w io.Writer, r *suite.Report) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "scenario\tcontent\tturns\tchecks\trequests\tmutants\tkilled\tworst turn\treference\tchange seen\taccepted\t")
	row := func(name, content, worst, accepted string, t suite.Tally) {
		reference := "passes"
		if t.Reference > 0 {
			reference = fmt.Sprintf("fails %d", t.Reference)
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%d of %d\t%s\t\n", name, content, t.Turns, t.Checks, t.Requests, t.Mutants,
			percent(t.Score()), worst, reference, t.Red, t.RedNeeded, accepted)
	}
	for _, s := range r.Scenarios {
		accepted := "yes"
		if len(s.Reasons) > 0 {
			accepted = "no"
		}
		row(s.Name, fmt.Sprintf("%.12s", s.Content), percent(s.Worst), accepted, s.Tally)
	}
	if len(r.Scenarios) > 1 {
		worst := slices.MinFunc(r.Scenarios, func(a, b suite.ScenarioReport) int { return cmp.Compare(a.Worst, b.Worst) })
		row("all", "", percent(worst.Worst), fmt.Sprintf("%d of %d", r.Accepted(), len(r.Scenarios)), r.Total)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	survivors := 0
	for _, s := range r.Scenarios {
		for _, reason := range s.Reasons {
			fmt.Fprintf(w, "%s is not accepted: %s\n", s.Name, clean(reason))
		}
		survivors += len(s.Survived)
	}
	if survivors == 0 {
		_, err := fmt.Fprintf(w, "\nall %d mutants are killed; the bar is %s at every turn\n", r.Total.Mutants, percent(r.MinScore))
		return err
	}
	fmt.Fprintf(w, "\n%s; the bar is %s at every turn\n", plural(survivors, "survivor"), percent(r.MinScore))
	return printSurvivors(w, r)
}

// printSurvivors lists every mutant that was not killed, one line for the turns in a row that it survived.
func printSurvivors(w io.Writer, r *suite.Report) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Scenarios {
		turns := map[oracle.Fault][]int{}
		var order []oracle.Fault
		for _, x := range s.Survived {
			if turns[x.Fault] == nil {
				order = append(order, x.Fault)
			}
			turns[x.Fault] = append(turns[x.Fault], x.Turn)
		}
		for _, f := range order {
			fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\t%s\n", s.Name, turnRanges(turns[f]), clean(f.Clause), clean(f.Kind), clean(f.Subject), clean(f.Param))
		}
	}
	return tw.Flush()
}

// turnRanges writes ascending turns in short: turn 3, turns 3–7, 9.
func turnRanges(turns []int) string {
	if len(turns) == 1 {
		return fmt.Sprintf("turn %d", turns[0])
	}
	var parts []string
	for i := 0; i < len(turns); {
		j := i
		for j+1 < len(turns) && turns[j+1] == turns[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d–%d", turns[i], turns[j]))
		} else {
			parts = append(parts, fmt.Sprint(turns[i]))
		}
		i = j + 1
	}
	return "turns " + strings.Join(parts, ", ")
}

// percent writes a share so that only what is whole looks whole.
func percent(share float64) string {
	if share == 1 {
		return "100 %"
	}
	return fmt.Sprintf("%.4g %%", min(100*share, 99.99))
}
