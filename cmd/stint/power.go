package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

func newPowerCmd(e *env) *cobra.Command {
	var f powerFlags
	cmd := &cobra.Command{
		Use:   "power",
		Short: "Plan a study: the difference in turns it would find",
		Long: `power says what a study of a given size can find with the very test that compare runs:
the smallest p it can reach, and how many turns the better configuration must pass to be
told from the baseline in 80 % of repetitions (--power). The baseline is a mean in turns, a
preset of the simulated agent, or the configurations of a pilot run (--from DIR, more than
once for several pilots; an outcome file needs --cap).

Runs are simulated: every turn passes with a probability that differs between scenarios
(--sd, in logits), a run ends at its first failed turn. --interaction is the part of that
spread that concerns one configuration only; with it, repeats do not replace scenarios.

--to MEAN says how many scenarios tell the baseline from a configuration with that mean.
--attainable asks the other way round: can the exact test of so many scenarios give the p
that somebody reports?`,
		Example: "  " + e.Self + " power --mean 28.4 --pairs 28\n" +
			"  " + e.Self + " power --from runs/demo --scenarios 10\n" +
			"  " + e.Self + " power --mean 39.4 --to 57 --pairs 325\n" +
			"  " + e.Self + " power --attainable 0.014 --scenarios 7",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.set = cmd.Flags().Changed
			return power(cmd.Context(), e, f)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.from, "from", nil, "take baselines and spread from the runs in `DIR`; repeat it for several pilots, or name outcome files with --cap")
	fl.Float64Var(&f.mean, "mean", 0, "mean turns of the baseline")
	fl.Float64Var(&f.to, "to", 0, "say how many scenarios tell the baseline from this `mean`")
	fl.StringVar(&f.preset, "preset", "", "baseline of a simulated agent without retries: weak, medium or strong")
	fl.IntVar(&f.plan.Scenarios, "scenarios", 20, "scenarios")
	fl.IntVar(&f.plan.Repeats, "repeats", 1, "runs per configuration and scenario")
	fl.IntVar(&f.plan.Tests, "pairs", 1, "pairs of the family")
	fl.IntVar(&f.cap, "cap", 101, "number of turns there are: build + changes")
	fl.Float64Var(&f.sd, "sd", 0.5, "spread of scenarios, in logits of a turn's success")
	fl.Float64Var(&f.interaction, "interaction", 0, "spread of what a scenario means to one configuration only, in logits")
	fl.Float64Var(&f.plan.Alpha, "alpha", 0.05, "family-wise error rate")
	fl.Float64Var(&f.power, "power", 0.8, "share of repetitions in which the difference is to be found")
	fl.StringSliceVar(&f.reported, "attainable", nil, "say whether these reported `p`-values can come from so many scenarios")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("from", "mean", "preset", "attainable")
	return cmd
}

type powerFlags struct {
	from                  []string
	preset                string
	mean, sd, interaction float64
	to                    float64 // mean of the better configuration
	power                 float64
	cap                   int
	plan                  stats.StudyPlan
	reported              []string // p-values as printed
	json                  bool
	set                   func(string) bool
}

// baseline is a configuration that a better one is to be told from.
type baseline struct {
	Name    string  `json:"baseline"`
	Mean    float64 `json:"mean"`    // expected turns
	Success float64 `json:"success"` // per turn, of a typical scenario
	SD      float64 `json:"scenario_sd"`
	// Between is the share of the variance of a pilot's runs that lies between scenarios; null without repeats.
	Between *float64 `json:"variance_between_scenarios"`

	split *stats.VarianceResult // nil with Between
}

// planned is what a study of one size finds.
type planned struct {
	baseline
	Scenarios int     `json:"scenarios"`
	Repeats   int     `json:"repeats"`
	Pairs     int     `json:"pairs"`
	Cap       int     `json:"cap"`
	MinP      float64 `json:"min_attainable"` // smallest Holm-adjusted p of the family's first step
	Need      int     `json:"need_nonzero"`   // scenarios that must differ
	// Needed is the mean in turns that the better one must reach; null if no difference is found that often.
	Needed *float64 `json:"needed"`
	Reason string   `json:"reason,omitempty"`
}

func power(ctx context.Context, e *env, f powerFlags) error {
	if len(f.reported) > 0 {
		return f.attainable(e)
	}
	if f.plan.Scenarios < 1 || f.plan.Repeats < 1 {
		return inputErrorf("--scenarios 20 --repeats 1", "%d scenarios × %d runs are no study", f.plan.Scenarios, f.plan.Repeats)
	}
	bases, err := f.baselines(ctx, e)
	if err != nil {
		return err
	}
	if f.set("to") {
		return f.scenariosFor(ctx, e, bases)
	}
	sizes := []int{f.plan.Scenarios / 2, f.plan.Scenarios, 2 * f.plan.Scenarios, 4 * f.plan.Scenarios}
	families := slices.Compact([]int{1, f.plan.Tests})
	cells := []*planned{}
	for _, b := range bases {
		for _, n := range sizes {
			for _, m := range families {
				if n >= 1 {
					cells = append(cells, &planned{baseline: b, Scenarios: n, Repeats: f.plan.Repeats, Pairs: m, Cap: f.cap})
				}
			}
		}
	}
	if e.terminal() {
		fmt.Fprintf(e.Stderr, "simulating %d plans\r", len(cells))
		defer fmt.Fprint(e.Stderr, "\x1b[K")
	}
	var g errgroup.Group
	g.SetLimit(4)
	for _, c := range cells {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f.fill(c)
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return inputErrorf(e.Self+" power -h lists the flags", "%w", err)
	}
	if f.json {
		return e.printJSON(struct {
			Schema string     `json:"schema"`
			Power  float64    `json:"power"`
			Alpha  float64    `json:"alpha"`
			Plans  []*planned `json:"plans"`
		}{"stint.power/1", f.power, f.plan.Alpha, cells})
	}
	return f.print(e.Stdout, cells, families)
}

// fill computes one plan.
func (f *powerFlags) fill(c *planned) error {
	plan := f.plan
	plan.Scenarios, plan.Tests = c.Scenarios, c.Pairs
	a, err := stats.Attainable(c.Scenarios, c.Pairs, plan.Alpha)
	if err != nil {
		return err
	}
	c.MinP, c.Need = a.Adjusted, a.Need
	m := stats.PowerModel{SuccessA: c.Success, ScenarioSD: c.SD, Interaction: f.interaction, Cap: f.cap}
	r, err := stats.MDE(m, plan, f.power)
	if err != nil {
		return err
	}
	if !r.Defined {
		c.Reason = r.Reason
		return nil
	}
	c.Needed = &r.Mean
	return nil
}

// baselines resolves --mean, --preset or --from.
func (f *powerFlags) baselines(ctx context.Context, e *env) ([]baseline, error) {
	switch {
	case len(f.from) > 0:
		return f.pilot(ctx, e)
	case f.preset != "":
		fails, ok := harness.PresetFails(f.preset)
		if !ok {
			return nil, inputErrorf("the presets are weak, medium and strong", "--preset %q is unknown", f.preset)
		}
		p := 1 - fails
		return []baseline{{Name: f.preset, Mean: stats.MeanTurnsOf(p, f.sd, f.cap), Success: p, SD: f.sd}}, nil
	case f.set("mean"):
		p, err := stats.SuccessForMean(f.mean, f.sd, f.cap)
		if err != nil {
			return nil, inputErrorf(fmt.Sprintf("a mean lies between 0 and the cap, %d", f.cap), "--mean: %w", err)
		}
		return []baseline{{Name: "mean " + strconv.FormatFloat(f.mean, 'g', -1, 64), Mean: f.mean, Success: p, SD: f.sd}}, nil
	}
	return nil, inputErrorf("give --mean TURNS, --preset weak|medium|strong, or --from DIR with a pilot run", "power needs a baseline")
}

// pilot fits every configuration of a run.
func (f *powerFlags) pilot(ctx context.Context, e *env) ([]baseline, error) {
	read := compareFlags{set: func(string) bool { return false }}
	if f.set("cap") {
		read.columns.Cap = float64(f.cap)
	}
	src, err := readSources(ctx, e, f.from, read)
	if err != nil {
		return nil, err
	}
	if src.set.Cap < 1 {
		return nil, inputErrorf("say it with --cap, or name a run directory", "%s does not say how many turns there are", clean(strings.Join(f.from, ", ")))
	}
	if !f.set("cap") {
		f.cap = int(src.set.Cap)
	}
	runs := map[string][]stats.Outcome{}
	var names []string
	for i := range src.set.Rows {
		row := &src.set.Rows[i]
		if row.Value == nil {
			continue
		}
		if runs[row.Config] == nil {
			names = append(names, row.Config)
		}
		runs[row.Config] = append(runs[row.Config], outcomeOf(row))
	}
	slices.Sort(names)
	var out []baseline
	for _, name := range names {
		fit, err := stats.FitPilot(runs[name], int(src.set.Cap))
		if err != nil {
			return nil, fmt.Errorf("fitting %s: %w", clean(name), err)
		}
		if !fit.Defined {
			e.say("%s is left out: %s", clean(name), fit.Reason)
			continue
		}
		b := baseline{Name: name, Mean: stats.MeanTurnsOf(fit.Success, fit.ScenarioSD, f.cap), Success: fit.Success, SD: fit.ScenarioSD}
		if err := b.splitVariance(runs[name], src.set.Cap); err != nil {
			return nil, fmt.Errorf("splitting the variance of %s: %w", clean(name), err)
		}
		out = append(out, b)
	}
	if len(out) == 0 {
		return nil, inputErrorf("a pilot needs runs that failed", "no configuration of %s can be fitted", clean(strings.Join(f.from, ", ")))
	}
	return out, nil
}

// splitVariance tells scenarios from repeats, if there are any. A stopped run has no value to be split.
func (b *baseline) splitVariance(runs []stats.Outcome, limit float64) error {
	if slices.ContainsFunc(runs, func(o stats.Outcome) bool { return o.Status == stats.Stopped }) {
		return nil
	}
	v, err := stats.VarianceSplit(runs, limit)
	if err == nil && v.Defined {
		b.split, b.Between = &v, &v.ICC
	}
	return err
}

func outcomeOf(row *logs.Outcome) stats.Outcome {
	o := stats.Outcome{Scenario: row.Pair(), Replicate: row.Repeat, Value: *row.Value}
	switch row.Status {
	case "capped":
		o.Status = stats.Capped
	case "stopped":
		o.Status = stats.Stopped
	}
	return o
}

// print writes one table per baseline: the mean that the better one needs, by scenarios and size of the family.
func (f *powerFlags) print(w io.Writer, cells []*planned, families []int) error {
	for i := 0; i < len(cells); {
		b := cells[i].baseline
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "baseline %s: %.1f of %d turns (a turn passes with %.1f %%; spread of scenarios %.2f logits)\n",
			clean(b.Name), b.Mean, f.cap, 100*b.Success, b.SD)
		if b.split != nil {
			n, k := f.plan.Scenarios, max(f.plan.Repeats, 2)
			fmt.Fprintf(w, "%.0f %% of the variance of its %d runs lies between scenarios: %d scenarios × %d runs give a mean as precise as %.0f × 1 do\n",
				100**b.Between, b.split.Runs, n, k, b.split.WorthOf(n, k))
		}
		tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprint(tw, "scenarios\t")
		for _, m := range families {
			fmt.Fprintf(tw, "%s\tleast possible p\t", plural(m, "pair"))
		}
		fmt.Fprintln(tw)
		for i < len(cells) && cells[i].baseline == b {
			fmt.Fprintf(tw, "%d × %d\t", cells[i].Scenarios, cells[i].Repeats)
			for range families {
				c := cells[i]
				needed := "none"
				if c.Needed != nil {
					needed = fmt.Sprintf("%.1f (×%s)", *c.Needed, ratio(*c.Needed, c.Mean))
				}
				fmt.Fprintf(tw, "%s\t%s\t", needed, stats.FormatP(c.MinP))
				i++
			}
			fmt.Fprintln(tw)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	m := f.plan.Tests
	_, err := fmt.Fprintf(w, "\nThe better configuration must pass so many turns on average to be found in %.0f %% of repetitions; none: no\ndifference is. Exact Wilcoxon signed-rank test, two-sided, first step of Holm over %s, α = %g; 2,000 simulated\nstudies per value. At least %d scenarios must differ for p to reach α.\n",
		100*f.power, plural(m, "pair"), f.plan.Alpha, cells[len(cells)-1].Need)
	return err
}

func ratio(a, b float64) string {
	if b <= 0 || math.IsInf(a/b, 0) {
		return "∞"
	}
	return strconv.FormatFloat(a/b, 'f', 1, 64)
}
