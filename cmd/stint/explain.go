package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

func newExplainCmd(e *env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain DIR [ID]",
		Short: "Why one attempt failed: decision path, evidence with file and byte, failing checks",
		Long: `explain shows how the verdict of one failed attempt came about: every question on the
way with its answer, the records and log lines it rests on (file and byte), what is wrong
with the server by clause, what the agent got over, and what was missing to decide.

DIR is a run directory or the tables that ingest made of logs. ID is EPISODE@TURN.ATTEMPT.
EPISODE is the id that ls prints, the beginning of one, or the end of CONFIG/SCENARIO#REPEAT;
without @TURN.ATTEMPT its last failed attempt. Without ID explain lists the failed attempts.`,
		Example: "  " + e.Self + " explain runs/demo\n  " + e.Self + " explain runs/demo none/r0/s01#1",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := openClassified(args[0])
			if err != nil {
				return err
			}
			defer d.close()
			if err := d.useBook(); err != nil {
				return err
			}
			if len(args) == 1 {
				return explainAll(cmd.Context(), e, d, asJSON)
			}
			return explain(cmd.Context(), e, d, args[1], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// explainAll lists every failed attempt with its verdict.
func explainAll(ctx context.Context, e *env, d *classified, asJSON bool) error {
	ids, err := d.ids()
	if err != nil {
		return err
	}
	slices.Sort(ids)
	all := []logs.VerdictRow{}
	for _, id := range ids {
		r, err := d.rule(ctx, e, id)
		if err != nil {
			return err
		}
		if all = append(all, r.Verdicts...); asJSON {
			continue
		}
		for i := range r.Verdicts {
			v := &r.Verdicts[i]
			fmt.Fprintf(e.Stdout, "%s  %-24s  %s\n", verdictID(v), verdictWord(v), clean(r.name()))
		}
	}
	if asJSON {
		return e.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(e.Stdout, "no attempt failed")
	}
	return nil
}

// ids are the episodes of a run directory or of tables.
func (d *classified) ids() ([]string, error) {
	if d.foreign != nil {
		return d.foreign.IDs(), nil
	}
	return d.Episodes()
}

// ruled is what the rules say about one episode now, and what they say it of and by.
type ruled struct {
	*classify.Result
	tables *logs.Tables
	book   *classify.Taxonomy
	key    logs.VerdictKey // of the attempt that was looked for
	id     string          // its name
}

// name is CONFIG/SCENARIO#REPEAT.
func (r *ruled) name() string {
	if len(r.tables.Episodes) == 0 {
		return ""
	}
	row := &r.tables.Episodes[0]
	return fmt.Sprintf("%s/%s#%d", row.Config, row.Scenario, row.Repeat)
}

// rule decides about the failed attempts of one episode. Never about a single one, since a damaged session is seen from
// the attempt before.
func (d *classified) rule(ctx context.Context, e *env, episode string) (*ruled, error) {
	t, problems, err := d.read(episode)
	if err != nil {
		return nil, err
	}
	sayProblems(e, problems)
	r, err := classify.Run(ctx, d.RunDir, t, classify.Options{Book: d.book, Foreign: d.foreign != nil})
	if err != nil {
		return nil, err
	}
	return &ruled{Result: r, tables: t, book: d.book}, nil
}

// find finds the failed attempt that an ID names, and decides about its episode.
func (d *classified) find(ctx context.Context, e *env, id string) (*ruled, error) {
	if d.foreign != nil {
		return d.findForeign(ctx, e, id)
	}
	a, err := findAttempt(e, d.RunDir, id)
	if err != nil {
		return nil, err
	}
	if !a.failed() {
		return nil, inputErrorf(a.otherAttempts(), "%s has no verdict: it %s", a.id(), a.outcome())
	}
	r, err := d.rule(ctx, e, a.episode)
	if err != nil {
		return nil, err
	}
	if r.key, r.id = a.key(), a.id(); r.Decision(r.key) == nil {
		return nil, inputErrorf(e.Self+" classify "+shellQuote(d.Root)+" shows what could be read", "%s could not be read from its journal", a.id())
	}
	return r, nil
}

// findForeign finds an attempt of a log that stint did not write: by EPISODE@TURN.ATTEMPT, where EPISODE is the beginning
// of an id, or the end of CONFIG/SCENARIO#REPEAT; without @TURN.ATTEMPT the last one that has a verdict.
func (d *classified) findForeign(ctx context.Context, e *env, id string) (*ruled, error) {
	name, place := id, ""
	if i := strings.LastIndexByte(id, '@'); i >= 0 {
		name, place = id[:i], id[i+1:]
	}
	hint := e.Self + " explain " + shellQuote(d.Root) + " lists the verdicts"
	var found []string
	for _, ep := range d.foreign.IDs() {
		row := d.foreign.Row(ep)
		full := fmt.Sprintf("%s/%s#%d", row.Config, row.Scenario, row.Repeat)
		if name != "" && (strings.HasPrefix(ep, name) || full == name || strings.HasSuffix(full, "/"+name)) {
			found = append(found, ep)
		}
	}
	switch {
	case len(found) == 0:
		return nil, inputErrorf(hint, "there is no episode %s in %s", clean(name), clean(d.Root))
	case len(found) > 1:
		return nil, inputErrorf("write more of it", "%s stands for %d episodes: %s", clean(name), len(found), strings.Join(found[:min(len(found), 8)], ", "))
	}
	r, err := d.rule(ctx, e, found[0])
	if err != nil {
		return nil, err
	}
	for i := len(r.Verdicts) - 1; i >= 0; i-- {
		v := &r.Verdicts[i]
		if place == "" || place == fmt.Sprintf("%d.%d", v.Turn, v.Attempt) {
			r.key, r.id = v.Key(), verdictID(v)
			return r, nil
		}
	}
	return nil, inputErrorf(hint, "no verdict is about %s", clean(id))
}

// explain prints the way to one verdict.
func explain(ctx context.Context, e *env, d *classified, id string, asJSON bool) error {
	r, err := d.find(ctx, e, id)
	if err != nil {
		return err
	}
	if err := r.show(e, d.RunDir, asJSON); err != nil || asJSON || d.foreign != nil {
		return err
	}
	e.next("reproduce %s %s", shellQuote(d.Root), r.id)
	return nil
}

// show prints the verdict that was looked for with its reasons.
func (r *ruled) show(e *env, d *logs.RunDir, asJSON bool) error {
	all, _, err := logs.ReadVerdicts(d)
	if err != nil {
		return err
	}
	dec := r.Decision(r.key)
	x := explanation{id: r.id, name: r.name(), book: r.book, key: r.key, decision: dec, others: othersOf(all, r.key)}
	if asJSON {
		return e.printJSON(map[string]any{"schema": "stint.explain/1", "id": x.id, "episode": x.name, "decision": dec, "failing_checks": dec.Checks, "annotators": x.others})
	}
	x.print(e.Stdout)
	return nil
}

// othersOf are all annotators' rows about an attempt, those of the rules left out: they are shown as made now.
func othersOf(rows []logs.VerdictRow, key logs.VerdictKey) []logs.VerdictRow {
	out := []logs.VerdictRow{}
	for _, v := range rows {
		if v.Key() == key {
			out = append(out, v)
		}
	}
	return out
}

// explanation is one verdict with its reasons, ready to print.
type explanation struct {
	id, name string
	key      logs.VerdictKey
	decision *classify.Decision
	book     *classify.Taxonomy
	others   []logs.VerdictRow
}

func verdictWord(v *logs.VerdictRow) string {
	word := v.L1
	if v.Leaf != nil {
		word = *v.Leaf
	}
	if v.AbstainReason != nil {
		word += " (" + *v.AbstainReason + ")"
	}
	return clean(word)
}

func (x *explanation) print(w io.Writer) {
	v := &x.decision.Verdict
	fmt.Fprintf(w, "%s  %s, turn %d, attempt %d\n", x.id, clean(x.name), v.Turn, v.Attempt)
	fmt.Fprintf(w, "\n%s", verdictWord(v))
	if l := x.book.Leaf(deref(v.Leaf)); l != nil {
		fmt.Fprintf(w, ": %s", l.Title)
	}
	fmt.Fprintln(w)
	x.attribute(w, "mechanism", deref(v.Mechanism))
	x.attribute(w, "origin", deref(v.Origin))
	x.attribute(w, "clause", deref(v.Clause))
	x.attribute(w, "completion", deref(v.Completion))
	x.attribute(w, "reach", deref(v.Reach))
	x.attribute(w, "caused by", deref(v.CausedBy))
	x.attribute(w, "secondary", strings.Join(v.Secondary, ", "))
	x.attribute(w, "strength", v.Strength)
	x.attribute(w, "decided by", v.AnnotatorKind+" "+strings.Join(v.RuleIDs, ", "))
	x.attribute(w, "missing", strings.Join(v.Missing, ", "))

	fmt.Fprintln(w, "\ndecision path")
	for i, s := range x.decision.Path {
		fmt.Fprintf(w, "  %d. %s\n     %s\n", i+1, s.Question, clean(s.Answer))
		printEvidence(w, s.Evidence)
	}
	x.groups(w)
	x.checks(w)
	if len(x.decision.Recovered) > 0 {
		fmt.Fprintln(w, "\nthe agent got over")
		for _, r := range x.decision.Recovered {
			fmt.Fprintf(w, "  %s (%s)\n", r.Leaf, r.Rule)
			printEvidence(w, []classify.Evidence{r.Evidence})
		}
	}
	if len(x.decision.Nearly) > 0 {
		fmt.Fprintf(w, "\nrules that fired and did not decide: %s\n", clean(strings.Join(x.decision.Nearly, ", ")))
	}
	x.annotators(w)
}

func (x *explanation) attribute(w io.Writer, name, value string) {
	if strings.TrimSpace(value) != "" {
		fmt.Fprintf(w, "  %-11s %s\n", name, clean(value))
	}
}

func printEvidence(w io.Writer, list []classify.Evidence) {
	for _, ev := range list {
		fmt.Fprintf(w, "       %s  byte %d, %d bytes: %s\n", clean(ev.File), ev.Offset, ev.Length, clean(ev.What))
		if ev.Text != "" {
			fmt.Fprintf(w, "         %s\n", clean(ev.Text))
		}
	}
}

// maxListed bounds the lists of one explanation.
const maxListed = 12

func (x *explanation) groups(w io.Writer) {
	if len(x.decision.Groups) == 0 {
		return
	}
	fmt.Fprintln(w, "\nwhat is wrong with the server, by clause")
	for i, g := range x.decision.Groups {
		if i == maxListed {
			fmt.Fprintf(w, "  and %d more\n", len(x.decision.Groups)-maxListed)
			return
		}
		where := g.Clause
		if where == "" {
			where = "service"
		}
		fmt.Fprintf(w, "  %s %s: %s", clean(where), clean(g.Title), g.Leaf)
		if g.Leaf != g.Mechanism {
			fmt.Fprintf(w, " (%s)", g.Mechanism)
		}
		fmt.Fprintf(w, ", %s, row %s: %s; %s\n", g.Origin, g.Row, g.Says, plural(len(g.Checks), "check"))
	}
}

func (x *explanation) checks(w io.Writer) {
	if len(x.decision.Checks) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", plural(len(x.decision.Checks), "failing check"))
	list := slices.Clone(x.decision.Checks)
	list = slices.DeleteFunc(list, func(c logs.CheckRow) bool { return c.Status == "not_run" })
	if n := len(x.decision.Checks) - len(list); n > 0 {
		fmt.Fprintf(w, "  %s never reached\n", plural(n, "check"))
	}
	var first []string
	if len(x.decision.Groups) > 0 {
		first = x.decision.Groups[0].Checks
	}
	slices.SortStableFunc(list, func(a, b logs.CheckRow) int {
		return boolRank(slices.Contains(first, b.Check)) - boolRank(slices.Contains(first, a.Check))
	})
	for i, c := range list {
		if i == maxListed {
			fmt.Fprintf(w, "  and %d more\n", len(list)-maxListed)
			return
		}
		fmt.Fprintf(w, "  %s  %s, %s, clause %s, last passed %s\n", clean(c.Check), clean(c.Status), clean(c.Age), clean(strings.Join(c.Clauses[:min(1, len(c.Clauses))], "")), turnWord(c.LastPassedTurn))
		for _, line := range [][2]string{{"request", c.Request}, {"expected", c.Expected}, {"actual", c.Actual}} {
			if line[1] != "" {
				fmt.Fprintf(w, "     %-8s %s\n", line[0], clean(line[1]))
			}
		}
		fmt.Fprintf(w, "     %s  byte %d\n", clean(c.File), c.Offset)
	}
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func turnWord(turn *int) string {
	if turn == nil {
		return "never"
	}
	return fmt.Sprintf("in turn %d", *turn)
}

// annotators shows every row that was written down about the attempt, and which one counts.
func (x *explanation) annotators(w io.Writer) {
	if len(x.others) < 2 && (len(x.others) == 0 || x.others[0].AnnotatorKind == x.decision.Verdict.AnnotatorKind) {
		return
	}
	counts := logs.Counting(x.others)[x.key]
	fmt.Fprintln(w, "\nannotators")
	for i := range x.others {
		o := &x.others[i]
		mark := ""
		if counts != nil && counts.AnnotatorKind == o.AnnotatorKind && counts.Annotator == o.Annotator {
			mark = "  ← counts"
		}
		fmt.Fprintf(w, "  %s %s: %s, %s%s\n", o.AnnotatorKind, clean(o.Annotator), verdictWord(o), o.Strength, mark)
		if o.AnnotatorKind == logs.AnnotatorJudge {
			printJudged(w, o)
		}
	}
}

// printJudged shows the votes of a judge, and the quotes that were found where they are said to stand.
func printJudged(w io.Writer, v *logs.VerdictRow) {
	if len(v.Votes) > 0 {
		fmt.Fprintf(w, "     votes: %s; %s\n", clean(strings.Join(v.Votes, ", ")), clean(strings.Join(v.RuleIDs, ", ")))
	}
	if v.Clause != nil {
		fmt.Fprintf(w, "     clause %s\n", clean(*v.Clause))
	}
	var quotes []classify.Evidence
	if json.Unmarshal([]byte(v.Evidence), &quotes) != nil {
		return
	}
	for _, q := range quotes {
		if q.Quote == "" {
			continue
		}
		fmt.Fprintf(w, "     %s: “%s”\n", clean(q.Role), clean(q.Quote))
		if q.File != "" {
			fmt.Fprintf(w, "       %s in %s  byte %d\n", clean(q.What), clean(q.File), q.Offset)
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
