package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// evalFlags say what audit eval scores, and against what.
type evalFlags struct {
	truth  string
	labels []string
	asJSON bool
}

func newAuditEvalCmd(e *env) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval [DIR]",
		Short: "Score rules, judges, people and any file of labels against known truth",
		Long: `eval scores every classifier whose verdicts a run holds (the rules, each judge, each person,
and the verdict that counts where several have spoken) and every file of labels given with
--labels. The truth is the sealed one of a study with simulated agents (which faults each
attempt had; eval is the only verb that opens it), or what people agree on (--truth people),
or a file (--truth FILE). With two files no run is needed.

Planted faults have one right leaf each; faults that no check can see are counted apart,
since no classifier could name them. An abstention is not right. Intervals take scenarios,
not items, as drawn; the majority baseline is how often one is right who always gives the
most frequent label.`,
		Example: "  " + e.Self + " audit eval runs/demo --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := ""
			if len(args) == 1 {
				dir = args[0]
			}
			return auditEval(cmd.Context(), e, dir, &f)
		},
	}
	cmd.Flags().StringVar(&f.truth, "truth", "", "what is right: sealed, people, or a CSV or JSONL file of labels (default: sealed, else people)")
	cmd.Flags().StringArrayVar(&f.labels, "labels", nil, "score this CSV or JSONL file of labels, too; may be repeated")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	cmd.Args = inputArgs(e, cmd.Args)
	return cmd
}

// truthItem is one failed attempt whose right labels are known.
type truthItem struct {
	Item     string
	Scenario string
	Right    []string
}

// classifierScore is how well one classifier did.
type classifierScore struct {
	Name    string `json:"classifier"`
	Kind    string `json:"kind"`    // rules, judge, person, counting, file
	Missing int    `json:"missing"` // items it has no label for; they are not scored
	Unknown int    `json:"without_truth"`

	*Cost           `json:"cost"`
	*classify.Score `json:"score"`
}

// Cost is what labels took.
type Cost struct {
	USD        *float64 `json:"usd"` // null = unknown
	Tokens     int64    `json:"tokens"`
	Calls      int64    `json:"calls"`
	Labels     int      `json:"labels"`
	USDPer100  *float64 `json:"usd_per_100_verdicts"`
	TokensPer  float64  `json:"tokens_per_100_verdicts"`
	CallsPer   float64  `json:"calls_per_100_verdicts"`
	unknownUSD bool
}

func (c *Cost) finish() {
	if c.Labels == 0 {
		return
	}
	n := float64(c.Labels) / 100
	c.TokensPer, c.CallsPer = float64(c.Tokens)/n, float64(c.Calls)/n
	if c.unknownUSD {
		c.USD = nil
	}
	if c.USD != nil {
		v := *c.USD / n
		c.USDPer100 = &v
	}
}

// contender is a classifier with its labels.
type contender struct {
	name, kind string
	labels     []label
	repeats    map[string][]string // single votes
	cost       Cost
}

func auditEval(ctx context.Context, e *env, dir string, f *evalFlags) error {
	if dir == "" && (len(f.labels) == 0 || f.truth == "" || f.truth == "sealed" || f.truth == "people") {
		return inputErrorf("usage: stint audit eval DIR, or stint audit eval --truth FILE --labels FILE", "eval needs a run directory, or two files of labels")
	}
	ev := &evaluation{Schema: "stint.audit-eval/1", Matrix: map[string]map[string]int{}, Levels: map[string]map[string]int{}, Misses: []miss{}, Hidden: []miss{}}
	var contenders []*contender
	var people []truthItem
	scenarioOf := map[string]string{}
	book := classify.Codebook()
	if dir != "" {
		d, t, err := openRun(e, dir)
		if err != nil {
			return err
		}
		for i := range t.Episodes {
			scenarioOf[t.Episodes[i].Episode] = t.Episodes[i].Scenario
		}
		if book, err = runBook(d); err != nil {
			return err
		}
		r, err := classify.Run(ctx, d, t, classify.Options{Book: book})
		if err != nil {
			return err
		}
		if contenders, people, err = verdictsOf(d, r); err != nil {
			return err
		}
		if f.truth == "" || f.truth == "sealed" {
			if err := ev.sealed(d, t, r, f.truth == "" && len(people) > 0); err != nil {
				return err
			}
		}
	}
	if err := ev.chooseTruth(f, dir, people, book); err != nil {
		return err
	}
	for _, path := range f.labels {
		labels, err := readLabels(path, book)
		if err != nil {
			return err
		}
		contenders = append(contenders, contendersOf(labels)...)
	}
	for i := range ev.items {
		episode, _, _ := strings.Cut(ev.items[i].Item, "@")
		if s := scenarioOf[episode]; s != "" {
			ev.items[i].Scenario = s
		}
	}
	for _, c := range contenders {
		s, err := c.score(ev.items)
		if err != nil {
			return err
		}
		ev.Classifiers = append(ev.Classifiers, s)
	}
	if f.asJSON {
		return e.printJSON(ev)
	}
	if ev.Truth == "sealed" {
		if err := ev.print(e.Stdout); err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout)
	}
	return ev.printClassifiers(e.Stdout)
}

// chooseTruth settles what is right.
func (ev *evaluation) chooseTruth(f *evalFlags, dir string, people []truthItem, book *classify.Taxonomy) error {
	switch {
	case ev.Truth == "sealed":
		return nil
	case f.truth == "" || f.truth == "people":
		if len(people) == 0 {
			return inputErrorf("label some verdicts first: stint audit sample", "nobody has labelled a verdict of %s, or people disagree about all of them", clean(dir))
		}
		ev.Truth, ev.items = "people", people
		return nil
	}
	labels, err := readLabels(f.truth, book)
	if err != nil {
		return err
	}
	ev.Truth = f.truth
	ev.items, err = truthOfLabels(labels, f.truth)
	return err
}

// verdictsOf sorts the verdicts of a run by who gave them, and tells what people agree on.
func verdictsOf(d *logs.RunDir, r *classify.Result) ([]*contender, []truthItem, error) {
	rows, _, err := logs.ReadVerdicts(d)
	if err != nil {
		return nil, nil, err
	}
	paid, err := classify.ReadPaid(d)
	if err != nil {
		return nil, nil, err
	}
	var zero float64
	rules := &contender{name: "rules", kind: "rules", cost: Cost{USD: &zero, Labels: len(r.Verdicts)}}
	for i := range r.Verdicts {
		rules.add(&r.Verdicts[i])
	}
	out := []*contender{rules}
	all := slices.Clone(r.Verdicts)
	by := map[string]*contender{}
	for i := range rows {
		v := &rows[i]
		if v.AnnotatorKind != logs.AnnotatorJudge && v.AnnotatorKind != logs.AnnotatorPerson {
			continue
		}
		all = append(all, *v)
		key := v.AnnotatorKind + " " + v.Annotator
		if by[key] == nil {
			by[key] = &contender{name: v.Annotator, kind: v.AnnotatorKind}
			out = append(out, by[key])
		}
		by[key].add(v)
	}
	for _, c := range out {
		if p := paid[c.name]; c.kind == logs.AnnotatorJudge && p != nil {
			usd := p.USD
			c.cost = Cost{USD: &usd, Tokens: p.Tokens, Calls: p.Calls, Labels: max(p.Done, len(c.labels)), unknownUSD: p.Unknown > 0}
		}
	}
	counting := logs.Counting(all)
	var people []truthItem
	if len(out) > 1 {
		c := &contender{name: "counting", kind: "counting"}
		seen := map[logs.VerdictKey]bool{}
		for i := range all {
			key := all[i].Key()
			v := counting[key]
			if v == nil || seen[key] {
				continue
			}
			seen[key] = true
			c.add(v)
			if given := givenBy(v); v.AnnotatorKind == logs.AnnotatorPerson && levelOfLeaf([]string{given}) != classify.NoLabel {
				people = append(people, truthItem{Item: verdictID(v), Right: []string{given}})
			}
		}
		out = append(out, c)
	}
	return out, people, nil
}

func verdictID(v *logs.VerdictRow) string {
	return fmt.Sprintf("%s@%d.%d", v.Episode, v.Turn, v.Attempt)
}

// givenBy is the leaf of a verdict, else its level.
func givenBy(v *logs.VerdictRow) string {
	if v.Leaf != nil && *v.Leaf != "" {
		return *v.Leaf
	}
	return v.L1
}

func (c *contender) add(v *logs.VerdictRow) {
	id := verdictID(v)
	c.labels = append(c.labels, label{Item: id, Leaves: []string{givenBy(v)}})
	if len(v.Votes) > 1 {
		if c.repeats == nil {
			c.repeats = map[string][]string{}
		}
		c.repeats[id] = v.Votes
	}
}

// contendersOf are the annotators of a file of labels.
func contendersOf(labels []label) []*contender {
	var out []*contender
	for _, l := range labels {
		at := slices.IndexFunc(out, func(c *contender) bool { return c.name == l.Annotator })
		if at < 0 {
			at = len(out)
			out = append(out, &contender{name: l.Annotator, kind: "file"})
		}
		c := out[at]
		c.labels = append(c.labels, l)
		c.cost.Labels++
		c.cost.Tokens += l.Tokens
		if l.USD == nil {
			c.cost.unknownUSD = true
			continue
		}
		if c.cost.USD == nil {
			c.cost.USD = new(float64)
		}
		*c.cost.USD += *l.USD
	}
	return out
}

// score scores the labels whose truth is known.
func (c *contender) score(items []truthItem) (*classifierScore, error) {
	truth := map[string]*truthItem{}
	for i := range items {
		truth[items[i].Item] = &items[i]
	}
	s := &classifierScore{Name: c.name, Kind: c.kind, Cost: &c.cost}
	c.cost.finish()
	var scored []classify.Scored
	seen := map[string]bool{}
	for _, l := range c.labels {
		t := truth[l.Item]
		if t == nil {
			s.Unknown++
			continue
		}
		seen[l.Item] = true
		scored = append(scored, classify.Scored{Item: l.Item, Scenario: t.Scenario, Right: t.Right, Given: l.Leaves[0]})
	}
	s.Missing = len(items) - len(seen)
	var err error
	if s.Score, err = classify.ScoreLabels(scored, 1); err != nil {
		return nil, err
	}
	if len(c.repeats) > 0 {
		s.Score.Repeats, err = classify.RepeatsOf(c.repeats, 1)
	}
	return s, err
}

func (ev *evaluation) printClassifiers(w io.Writer) error {
	fmt.Fprintf(w, "truth: %s, %d labelled attempts\n\n", clean(ev.Truth), len(ev.items))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "classifier\tlabels\tleaf right\t95 % CI\tmajority\tlevel right\t95 % CI\tmajority")
	for _, s := range ev.Classifiers {
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\n", clean(s.title()), s.L1.Of, accuracyCells(&s.Leaf), accuracyCells(&s.L1))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, s := range ev.Classifiers {
		if s.L1.Of == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s: %d abstained, %d attempts without a label of it, %d labels without a truth\n", clean(s.title()), s.Abstained, s.Missing, s.Unknown)
		for _, level := range []struct {
			what string
			*classify.Accuracy
		}{{"leaf", &s.Leaf}, {"level", &s.L1}} {
			if level.Of == 0 {
				continue
			}
			how := level.Method
			if how == "" {
				how = "none, " + level.Reason
			}
			fmt.Fprintf(w, "  %s: alpha against the truth %s; always %s would be right in %s\n", level.what, withCI(level.Alpha, level.AlphaCI), level.Majority, percentOf(level.Baseline))
			fmt.Fprintf(w, "  %s: interval by %s\n", level.what, how)
		}
		fmt.Fprintf(w, "  macro recall of the leaves %s, macro precision %s\n", figure(s.MacroRecall), figure(s.MacroPrecision))
		if s.Repeats.Items > 0 {
			fmt.Fprintf(w, "  repeats: %d labels of %d attempts, %s of pairs the same; alpha %s\n", s.Repeats.Labels, s.Repeats.Items, percentOf(s.Repeats.Same), withCI(s.Repeats.Alpha, s.Repeats.CI))
		}
		fmt.Fprintf(w, "  cost per 100 verdicts: %s USD, %.0f calls, %.0f tokens\n", dollars(s.Cost), s.CallsPer, s.TokensPer)
		if ev.Truth != "sealed" || s.Kind != "rules" { // else they stand above
			printMatrix(w, "levels (rows: right, columns: "+clean(s.title())+")", s.Levels)
			printMatrix(w, "leaves", s.Leaves)
		}
	}
	return nil
}

func (s *classifierScore) title() string {
	if s.Kind == logs.AnnotatorJudge || s.Kind == logs.AnnotatorPerson {
		return s.Kind + " " + s.Name
	}
	return s.Name
}

func accuracyCells(a *classify.Accuracy) string {
	ci := "–"
	if a.CI != nil {
		ci = fmt.Sprintf("%.1f–%.1f", 100*a.CI[0], 100*a.CI[1])
	}
	return fmt.Sprintf("%s\t%s\t%s", percentOf(a.Share), ci, percentOf(a.Baseline))
}

func percentOf(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *v)
}

func withCI(v *float64, ci *[2]float64) string {
	if ci == nil {
		return figure(v)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", *v, ci[0], ci[1])
}

func dollars(c *Cost) string {
	if c.USDPer100 == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.4f", *c.USDPer100)
}
