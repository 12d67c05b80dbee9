package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

func newClassifyCmd(e *env) *cobra.Command {
	var codebook, asJSON, check bool
	var rules string
	var judge judgeFlags
	cmd := &cobra.Command{
		Use:   "classify DIR",
		Short: "A verdict for every failed attempt: drift, infrastructure, benchmark or unknown",
		Long: `classify names the cause of every failed attempt of a run, offline and by rules: how
grading and the agent ended, which event of a closed list of infrastructure was fatal, and
else which clause of the specification the server breaks, and how. One failed attempt has
one leaf of the taxonomy, and the counts sum. It writes DIR/verdicts/rules.jsonl and the
tables, and does nothing if nothing has changed. The verdicts never change what a run has
passed.

With --judge a model is asked about what the rules leave open: every call, its reply and what
it cost are kept under DIR/verdicts/judge, so that the same command goes on where it was
stopped. A verdict of the judge stands in DIR/verdicts/judge.jsonl with its votes and with
quotes that were found in the evidence; an answer that is incomplete or whose quotes are not
found is none. Keys and other secrets are replaced before anything is sent.

--rules adds leaves and rules of your own to the codebook, in its form and with examples that
every rule must hold to; --check only tests them, and says file and line of what is wrong. A
run keeps the rules it was classified with in DIR/verdicts/rules.yaml until other ones or
"--rules none" are given.

DIR can also be the folder of tables that ingest made from logs of other runners and agents.
Then every attempt is looked at that did not pass, or of which nobody said so and that did not
end in order. What such a log does not tell is listed with the verdict and makes it weaker,
also that of a judge.
` + leafList(),
		Example: "  " + e.Self + " classify runs/demo\n  " + e.Self + " classify runs/demo --json\n  " + e.Self + " classify --codebook\n" +
			"  " + e.Self + " classify runs/demo --show-packet none/r0/s01#1\n  " + e.Self + " classify runs/demo --rules my.yaml\n  " + e.Self + " classify --rules my.yaml --check",
		Args: func(cmd *cobra.Command, args []string) error {
			if codebook || check {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case codebook:
				return printCodebook(e.Stdout, rules)
			case check && (rules == "" || rules == noRules):
				return inputErrorf("name the file: --rules FILE --check", "there are no rules to check")
			case check:
				return checkRules(e, rules)
			}
			if err := judge.check(); err != nil {
				return err
			}
			if judge.show != "" {
				return judge.showPacket(cmd.Context(), e, args[0])
			}
			return classifyRun(cmd.Context(), e, args[0], rules, asJSON, &judge)
		},
	}
	cmd.Flags().BoolVar(&codebook, "codebook", false, "print the taxonomy with its contract table and rules, and do nothing else")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&rules, "rules", "", "`FILE` with leaves and rules of your own; none takes them away")
	cmd.Flags().BoolVar(&check, "check", false, "only test the file that --rules names")
	judge.add(cmd)
	return cmd
}

// classified is what classify, explain and a judge read: a run directory, or a folder of tables that ingest made of logs.
type classified struct {
	*logs.RunDir
	foreign *logs.EpisodeTables // nil = a run directory
	book    *classify.Taxonomy
}

// openClassified opens a run directory or a folder of tables, with the codebook it is classified with. Close it after use.
func openClassified(dir string) (*classified, error) {
	d, err := logs.OpenRunDir(dir)
	if err == nil {
		return &classified{RunDir: d}, nil
	}
	if !logs.IsTables(dir) {
		return nil, err
	}
	t, err := logs.OpenEpisodeTables(dir)
	return &classified{RunDir: &logs.RunDir{Root: dir}, foreign: t}, err
}

func (d *classified) close() {
	if d.foreign != nil {
		d.foreign.Close()
	}
}

// useBook reads the codebook, after other rules were given.
func (d *classified) useBook() (err error) {
	d.book, err = runBook(d.RunDir)
	return err
}

// read reads the rows of one episode, and says what could not be read.
func (d *classified) read(id string) (*logs.Tables, []logs.Problem, error) {
	if d.foreign != nil {
		t, err := d.foreign.Episode(id)
		return t, nil, err
	}
	return logs.ReadEpisode(d.RunDir, id)
}

// classifyRun classifies a run, writes its verdicts and prints what came out.
func classifyRun(ctx context.Context, e *env, dir, rules string, asJSON bool, judge *judgeFlags) error {
	d, err := openClassified(dir)
	if err != nil {
		return err
	}
	defer d.close()
	if rules != "" {
		if err := takeRules(d.RunDir, rules); err != nil {
			return err
		}
	}
	if err := d.useBook(); err != nil {
		return err
	}
	p, err := classify.Pass(ctx, d.RunDir, classify.PassOptions{Book: d.book, Foreign: d.foreign, OnEpisode: readProgress(e)})
	if err != nil {
		return err
	}
	sayProblems(e, p.Problems)
	if e.Verbose {
		e.say("%s had not changed", plural(p.Reused, "episode"))
	}
	var asked *classify.JudgeSummary
	var judgeErr error
	if judge.model != "" {
		if asked, judgeErr = judge.judge(ctx, e, d, p.Verdicts); asked == nil {
			return judgeErr
		}
	}
	if err := d.relabel(e); err != nil {
		return err
	}
	all, _, err := logs.ReadVerdicts(d.RunDir)
	if err != nil {
		return err
	}
	c := countVerdicts(p, all, d.book)
	c.Judge = asked
	if c.Banner, err = classify.Unvalidated(d.RunDir, &logs.Tables{Verdicts: c.Verdicts}, d.book); err != nil {
		return err
	}
	if judgeErr == nil {
		judgeErr = endJudge(asked)
	}
	if asJSON {
		return cmp.Or(e.printJSON(c), judgeErr)
	}
	if err := c.print(e.Stdout); err != nil {
		return err
	}
	printJudge(e.Stdout, asked)
	if judgeErr != nil {
		return judgeErr
	}
	if !e.Quiet {
		e.say("verdicts: %s", clean(filepath.Join(d.VerdictsDir(), "rules.jsonl")))
		if asked != nil {
			e.say("verdicts: %s", judgeFile(d.RunDir))
		}
		if len(p.Verdicts) > 0 {
			e.next("explain %s %s", shellQuote(dir), verdictID(&p.Verdicts[0]))
		}
		if d.foreign == nil {
			e.next("report %s", shellQuote(dir))
		}
	}
	return nil
}

// relabel brings the verdicts into the tables.
func (d *classified) relabel(e *env) error {
	if d.foreign != nil {
		if _, err := logs.RelabelTables(d.Root); err != nil {
			return fmt.Errorf("writing the tables to %s: %w", d.Root, err)
		}
		return nil
	}
	if d.Fresh() {
		return nil
	}
	if _, err := logs.RelabelRun(d.RunDir, logs.IngestOptions{OnEpisode: readProgress(e)}); err != nil {
		return fmt.Errorf("writing the tables to %s: %w", d.TablesDir(), err)
	}
	return nil
}

// verdictCounts is what classify prints.
type verdictCounts struct {
	Schema    string                 `json:"schema"` // stint.classify/1
	Taxonomy  string                 `json:"taxonomy"`
	Annotator string                 `json:"annotator"`
	Failed    int                    `json:"failed_attempts"`
	Unjudged  int                    `json:"unjudged_attempts,omitempty"` // of foreign logs: no result of grading, no sign of a failure
	Episodes  int                    `json:"episodes_with_failures"`
	Ends      int                    `json:"ends"` // episodes that a failure ended: what the shares are of
	Configs   []string               `json:"configs"`
	L1        map[string]int         `json:"l1"` // of failed attempts
	Leaves    []leafCount            `json:"leaves"`
	Origins   map[string]int         `json:"origins"`   // of drift
	Recovered map[string]int         `json:"recovered"` // events the agent got over; never a cause
	Unknown   map[string]int         `json:"unknown"`   // by reason
	Missing   map[string]int         `json:"missing"`   // inputs that were not there
	Follow    int                    `json:"caused_by_earlier"`
	Sources   map[string]int         `json:"sources"`  // whose verdicts these are: rule, contract, judge, person
	Banner    string                 `json:"banner"`   // what to know of the shares that rest on a judge; "" = nothing
	Verdicts  []logs.VerdictRow      `json:"verdicts"` // the one of each attempt that counts
	Judge     *classify.JudgeSummary `json:"judge,omitempty"`
}

type leafCount struct {
	Leaf    string         `json:"leaf"`
	Title   string         `json:"title"`
	N       int            `json:"n"`       // failed attempts
	Configs map[string]int `json:"configs"` // the same by configuration
	// Ends are the episodes that ended by it: of the failures of one turn many have one cause.
	Ends       int            `json:"ends"`
	ConfigEnds map[string]int `json:"config_ends"`
}

// countVerdicts counts the verdict of each attempt that counts: of the rules as they are now, and of judges and people.
func countVerdicts(r *classify.PassResult, all []logs.VerdictRow, book *classify.Taxonomy) *verdictCounts {
	rows := slices.Clone(r.Verdicts)
	for _, v := range all {
		if v.AnnotatorKind == logs.AnnotatorJudge || v.AnnotatorKind == logs.AnnotatorPerson {
			rows = append(rows, v)
		}
	}
	counting := logs.Counting(rows)
	verdicts := make([]logs.VerdictRow, len(r.Verdicts))
	for i := range r.Verdicts {
		verdicts[i] = *counting[r.Verdicts[i].Key()]
	}
	c := &verdictCounts{Schema: "stint.classify/1", Taxonomy: book.Name, Annotator: book.Annotator(), Failed: len(r.Verdicts), Unjudged: r.Unjudged, Configs: []string{},
		L1: map[string]int{"drift": 0, "infra": 0, "bench": 0, "unknown": 0}, Leaves: []leafCount{}, Origins: map[string]int{}, Recovered: map[string]int{},
		Unknown: map[string]int{}, Missing: map[string]int{}, Sources: map[string]int{}, Verdicts: verdicts}
	config := r.Configs
	c.Configs = append(c.Configs, slices.Compact(slices.Sorted(maps.Values(config)))...)
	byLeaf, episodes := map[string]*leafCount{}, map[string]bool{}
	for i := range verdicts {
		v := &verdicts[i]
		episodes[v.Episode] = true
		c.Sources[v.AnnotatorKind]++
		c.L1[v.L1]++
		leaf := v.L1
		if v.Leaf != nil {
			leaf = *v.Leaf
		}
		if byLeaf[leaf] == nil {
			byLeaf[leaf] = &leafCount{Leaf: leaf, Configs: map[string]int{}, ConfigEnds: map[string]int{}}
		}
		if end, ok := r.Ends[v.Episode]; ok && end == v.Key() {
			c.Ends++
			byLeaf[leaf].Ends++
			byLeaf[leaf].ConfigEnds[config[v.Episode]]++
		}
		byLeaf[leaf].N++
		byLeaf[leaf].Configs[config[v.Episode]]++
		if v.Origin != nil {
			c.Origins[*v.Origin]++
		}
		for _, l := range v.Recovered {
			c.Recovered[l]++
		}
		if v.AbstainReason != nil {
			c.Unknown[*v.AbstainReason]++
		}
		for _, m := range v.Missing {
			c.Missing[m]++
		}
		if v.CausedBy != nil {
			c.Follow++
		}
	}
	c.Episodes = len(episodes)
	for i := range book.Leaves {
		if n := byLeaf[book.Leaves[i].ID]; n != nil {
			n.Title = book.Leaves[i].Title
			c.Leaves = append(c.Leaves, *n)
		}
	}
	for _, l1 := range []string{"drift", "infra", "bench"} { // of a judge whose votes agree about the level alone
		if n := byLeaf[l1]; n != nil {
			n.Title = book.Levels[l1]
			c.Leaves = append(c.Leaves, *n)
		}
	}
	return c
}

// maxConfigColumns is how many configurations the table shows side by side.
const maxConfigColumns = 6

func (c *verdictCounts) print(w io.Writer) error {
	if c.Unjudged > 0 {
		defer fmt.Fprintf(w, "no verdict: %s without a result of grading and without a sign of a failure\n", plural(c.Unjudged, "attempt"))
	}
	if c.Failed == 0 {
		_, err := fmt.Fprintln(w, "no attempt failed")
		return err
	}
	fmt.Fprintf(w, "%s in %s, %d of which ended by a failure · %s\n", plural(c.Failed, "failed attempt"), plural(c.Episodes, "episode"), c.Ends, c.Taxonomy)
	columns := c.Configs
	if len(columns) > maxConfigColumns || len(columns) < 2 {
		columns = nil
	}
	short, common := report.ShortNames(columns)
	if common != "" {
		fmt.Fprintf(w, "all: %s\n", clean(common))
	}
	if c.Banner != "" {
		fmt.Fprintf(w, "\n! %s\n", clean(c.Banner))
	}
	fmt.Fprintln(w)
	head := []string{"cause of the end"}
	for _, n := range columns {
		head = append(head, clean(short[n]))
	}
	rows := [][]string{append(head, "ends", "share", "failed attempts")}
	for _, l1 := range []string{"drift", "infra", "bench", "unknown"} {
		if c.L1[l1] > 0 {
			rows = append(rows, c.level(l1, columns)...)
		}
	}
	rows = append(rows, c.row("all", columns, func(string) bool { return true }))
	printColumns(w, rows)
	c.notes(w)
	return nil
}

func (c *verdictCounts) level(l1 string, columns []string) [][]string {
	rows := [][]string{c.row(l1, columns, func(leaf string) bool { return strings.HasPrefix(leaf, l1+".") || leaf == l1 })}
	for _, l := range c.Leaves {
		if strings.HasPrefix(l.Leaf, l1+".") {
			rows = append(rows, c.row("  "+strings.TrimPrefix(l.Leaf, l1+"."), columns, func(leaf string) bool { return leaf == l.Leaf }))
		}
	}
	return rows
}

// row is the sum over the leaves that belong to it.
func (c *verdictCounts) row(name string, columns []string, belongs func(leaf string) bool) []string {
	attempts, ends, by := 0, 0, map[string]int{}
	for _, l := range c.Leaves {
		if belongs(l.Leaf) {
			attempts, ends = attempts+l.N, ends+l.Ends
			for k, n := range l.ConfigEnds {
				by[k] += n
			}
		}
	}
	cells := []string{name}
	for _, k := range columns {
		cells = append(cells, dash(by[k]))
	}
	share := "–"
	if c.Ends > 0 {
		share = fmt.Sprintf("%.0f %%", 100*float64(ends)/float64(c.Ends))
	}
	return append(cells, dash(ends), share, fmt.Sprint(attempts))
}

// printColumns prints a table: the first column flush left, numbers flush right.
func printColumns(w io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		for i, cell := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprint(w, cell, pad)
				continue
			}
			fmt.Fprint(w, "  ", pad, cell)
		}
		fmt.Fprintln(w)
	}
}

func dash(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func (c *verdictCounts) notes(w io.Writer) {
	say := func(what string, m map[string]int) {
		if len(m) == 0 {
			return
		}
		names := sortedNames(m)
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(m[b], m[a]) })
		var parts []string
		for _, n := range names {
			parts = append(parts, fmt.Sprintf("%s %d", n, m[n]))
		}
		fmt.Fprintf(w, "%s: %s\n", what, strings.Join(parts, ", "))
	}
	fmt.Fprintln(w)
	say("drift by origin", c.Origins)
	say("recovered, never the cause", c.Recovered)
	say("unknown because", c.Unknown)
	say("inputs that were missing", c.Missing)
	if c.Follow > 0 {
		fmt.Fprintf(w, "not new causes, but the session damaged by an earlier attempt: %d\n", c.Follow)
	}
	if n := c.Unknown[classify.ReasonUnconfirmed]; 50*n > c.Failed {
		fmt.Fprintf(w, "! in %d of %d failed attempts every failing check passed when it was tried alone: the suite leaks between checks\n", n, c.Failed)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
