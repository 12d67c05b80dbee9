package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// A table is what the page and the LaTeX files show of a result: cells as text, without any markup.
type table struct {
	name    string // base name of its file
	caption string
	columns []tableColumn
	rows    [][]tableCell
}

// A tableColumn is one column; mark is where its numbers are aligned, "" for words.
type tableColumn struct {
	head string
	over string // heading above it, shared with the columns beside it that have the same
	mark string
}

// A tableCell is one cell.
type tableCell struct {
	text  string
	marks []int    // numbers of footnotes
	value *float64 // what to sort by; nil: the text
	link  *episodeLink
}

// An episodeLink names the runs that a number stands for: those of a configuration with an end.
type episodeLink struct {
	config string
	end    string // full, failed, drift, …, "" = all
}

// words makes a cell of text.
func words(s string, marks ...int) tableCell { return tableCell{text: s, marks: marks} }

// amount makes a cell of a number that may be undefined.
func amount(v *float64, text string, marks ...int) tableCell {
	if v == nil {
		text = undefinedMark
	}
	return tableCell{text: text, value: v, marks: marks}
}

// whole makes a cell of a count.
func whole(n int) tableCell { return tableCell{text: fmt.Sprint(n), value: ptr(float64(n))} }

// configTable is the table of configurations.
func (c *Comparison) configTable(notes *footnotes) table {
	sc := scaleOf(c)
	capped, costs, counted := c.cap() > 0, c.hasCosts(), c.endColumns()
	t := table{name: "configurations", caption: c.header(), columns: []tableColumn{{head: "configuration"}, {head: "n", mark: " "}, {head: "mean", mark: "."}, {head: "95 % CI", mark: "–"}, {head: "median", mark: "."}}}
	over := c.endsWord()
	if capped {
		t.columns = append(t.columns, tableColumn{head: "full", mark: "/"})
	} else {
		counted = counted[len(counted)-1:]
		over = ""
	}
	for _, e := range counted {
		t.columns = append(t.columns, tableColumn{head: e.head, over: over, mark: " "})
	}
	if costs {
		t.columns = append(t.columns, tableColumn{head: "$/episode", mark: "."})
	}
	for i := range c.Configs {
		r := &c.Configs[i]
		n := whole(r.N)
		n.link = &episodeLink{config: r.Config}
		row := []tableCell{
			words(Clean(c.Short(r.Config)), notes.marks(r.notes, atName)...), n,
			amount(r.Mean, optional(r.Mean, sc.mean), notes.marks(r.notes, atMean)...),
			amount(low(r.CI), interval(r.CI, sc.interval, false), notes.marks(r.notes, atCI)...),
			amount(r.Median, optional(r.Median, sc.mean)),
		}
		if capped {
			full := words(undefinedMark)
			if r.Full != nil && r.N > 0 {
				full = tableCell{text: fmt.Sprintf("%d/%d", *r.Full, r.N), value: ptr(float64(*r.Full) / float64(r.N)), link: &episodeLink{r.Config, "full"}}
			}
			row = append(row, full)
		}
		for _, e := range counted {
			cell := whole(e.count(r))
			cell.marks = e.marksAt(notes, r)
			cell.link = &episodeLink{r.Config, e.head}
			row = append(row, cell)
		}
		if costs {
			row = append(row, amount(r.USD, optionalDollars(r.USD), notes.marks(r.notes, atCost)...))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func low(ci *[2]float64) *float64 {
	if ci == nil {
		return nil
	}
	return &ci[0]
}

func optionalDollars(v *float64) string {
	if v == nil {
		return undefinedMark
	}
	return dollars(*v)
}

// familyTable is the table of a family's pairs.
func (c *Comparison) familyTable(i int, notes *footnotes) table {
	f, sc := &c.Families[i], scaleOf(c)
	t := table{name: fmt.Sprintf("family-%d", i+1), caption: capital(familyLine(f)), columns: []tableColumn{
		{head: "pair"}, {head: "scenarios", mark: " "}, {head: "ahead–level–behind", mark: "–"}, {head: "difference", mark: "."}, {head: "95 % CI", mark: "–"},
		{head: "p", mark: "."}, {head: "Holm", mark: "."}, {head: "least possible", mark: "."}, {head: "rank-biserial", mark: "."}, {head: "decision"},
	}}
	for k := range f.Pairs {
		p := &f.Pairs[k]
		count := words(undefinedMark)
		diff := undefinedMark
		if p.Diff != nil {
			count = tableCell{text: counts(p, 1), value: ptr(float64(p.Ahead - p.Behind))}
			if p.Undecided > 0 {
				count.text += fmt.Sprintf(" (%d open)", p.Undecided)
			}
			diff = signed(*p.Diff, sc.mean)
		}
		t.rows = append(t.rows, []tableCell{
			words(Clean(c.pairName(p.A, p.B)), notes.marks(p.notes, atName)...), whole(p.N), count,
			amount(p.Diff, diff, notes.marks(p.notes, atMean)...),
			amount(low(p.DiffCI), interval(p.DiffCI, sc.mean, p.DiffCI != nil && p.DiffCI[1] < 0), notes.marks(p.notes, atCI)...),
			amount(p.P, textP(p.P)), amount(p.Holm, textP(p.Holm), notes.marks(p.notes, atHolm)...), amount(p.Least, textP(p.Least)),
			amount(p.RankBiserial, optional(p.RankBiserial, 2)), words(c.decision(p)),
		})
	}
	return t
}

// leafTable counts the leaves of the failed runs of every configuration; ok is false without verdicts.
func (c *Comparison) leafTable() (t table, ok bool) {
	if !c.verdicts {
		return t, false
	}
	type kind struct {
		cause cause
		leaf  string
	}
	total := make(map[kind]int)
	by := make([]map[kind]int, len(c.Configs))
	for i := range c.Configs {
		by[i] = make(map[kind]int)
		for _, u := range c.Configs[i].runs {
			if u.cause != noCause {
				k := kind{u.cause, u.row.EndLeaf}
				total[k]++
				by[i][k]++
			}
		}
	}
	t = table{name: "causes", caption: "Causes of the first failed turn", columns: []tableColumn{{head: "cause"}, {head: "leaf"}, {head: "all", mark: " "}}}
	for i := range c.Configs {
		t.columns = append(t.columns, tableColumn{head: Clean(c.Short(c.Configs[i].Config)), mark: " "})
	}
	for _, k := range causes() {
		names := make(map[string]bool)
		for e := range total {
			if e.cause == k {
				names[e.leaf] = true
			}
		}
		for _, leaf := range sortedKeys(names) {
			e := kind{k, leaf}
			shown := Clean(leafName(leaf))
			if leaf == "" {
				shown = "(no leaf)"
			}
			row := []tableCell{words(k.String()), words(shown), whole(total[e])}
			for i := range c.Configs {
				row = append(row, whole(by[i][e]))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t, len(t.rows) > 0
}

// costTable says what the runs cost; ok is false where nothing is known about it.
func (c *Comparison) costTable(runs []RunSummary) (t table, ok bool) {
	by := make(map[string]*RunSummary, len(runs))
	for i := range runs {
		by[runs[i].Config] = &runs[i]
	}
	t = table{name: "costs", caption: "Costs", columns: []tableColumn{{head: "configuration"}, {head: "$/episode", mark: "."}}}
	if c.turns() {
		t.columns = append(t.columns, tableColumn{head: "$/passed turn", mark: "."})
	}
	if len(runs) > 0 {
		t.columns = append(t.columns, tableColumn{head: "attempts/episode", mark: "."}, tableColumn{head: "tokens/episode", mark: " "}, tableColumn{head: "$ wasted", mark: "."})
	}
	for i := range c.Configs {
		r := &c.Configs[i]
		row := []tableCell{words(Clean(c.Short(r.Config))), amount(r.USD, optionalDollars(r.USD))}
		if c.turns() {
			v := r.perTurn()
			row = append(row, amount(v, optionalDollars(v)))
		}
		s := by[r.Config]
		ok = ok || r.USD != nil || s != nil
		if len(runs) > 0 && s != nil && s.Episodes > 0 {
			n := float64(s.Episodes)
			tokens := words(undefinedMark)
			if s.Tokens != nil {
				v := float64(*s.Tokens) / n
				tokens = amount(&v, thousands(int64(v+0.5)))
			}
			perRun := float64(s.Attempts) / n
			row = append(row, amount(&perRun, number(perRun, 1)), tokens, amount(s.WastedUSD, optionalDollars(s.WastedUSD)))
		}
		for len(row) < len(t.columns) {
			row = append(row, words(undefinedMark))
		}
		t.rows = append(t.rows, row)
	}
	if !c.hasCosts() {
		t.caption = "Effort; the dollars of no run are known"
	}
	return t.withoutEmpty(), ok
}

// withoutEmpty leaves out the columns in which nothing is known.
func (t table) withoutEmpty() table {
	return t.without(func(i int) bool {
		return !slices.ContainsFunc(t.rows, func(row []tableCell) bool { return row[i].text != undefinedMark })
	})
}

// without leaves out the columns that drop says, the first never.
func (t table) without(drop func(i int) bool) table {
	out := table{name: t.name, caption: t.caption, rows: make([][]tableCell, len(t.rows))}
	for i, col := range t.columns {
		if i > 0 && drop(i) {
			continue
		}
		out.columns = append(out.columns, col)
		for k := range t.rows {
			out.rows[k] = append(out.rows[k], t.rows[k][i])
		}
	}
	return out
}

// constantToCaption moves columns of words that do not vary into the caption.
func (t table) constantToCaption() table {
	if len(t.rows) < 2 {
		return t
	}
	var said []string
	out := t.without(func(i int) bool {
		first := t.rows[0][i].text
		if t.columns[i].mark != "" || slices.ContainsFunc(t.rows, func(row []tableCell) bool { return row[i].text != first }) {
			return false
		}
		if first != "" {
			said = append(said, t.columns[i].head+" "+first)
		}
		return true
	})
	if len(said) > 0 {
		out.caption += "; all: " + strings.Join(said, ", ")
	}
	return out
}

// perTurn is the cost of a passed turn: all dollars over all turns passed; nil if a cost is unknown or no turn passed.
func (r *ConfigResult) perTurn() *float64 {
	usd, turns := 0.0, 0.0
	for i := range r.runs {
		if r.runs[i].row.USD == nil {
			return nil
		}
		usd += *r.runs[i].row.USD
		turns += r.runs[i].value
	}
	if turns == 0 {
		return nil
	}
	return ptr(usd / turns)
}

// thousands groups the digits of a count.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	var parts []string
	for len(s) > 3 && s[0] != '-' {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}

// runTable says what was run.
func runTable(runs []RunSummary) table {
	t := table{name: "runs", caption: "What was run", columns: []tableColumn{
		{head: "configuration"}, {head: "model"}, {head: "harness"}, {head: "sandbox"}, {head: "session"},
		{head: "episodes", mark: " "}, {head: "stopped", mark: " "}, {head: "incomplete", mark: " "}, {head: "attempts", mark: " "}, {head: "tokens", mark: " "}, {head: "$", mark: "."},
	}}
	for _, r := range runs {
		model := r.Model
		if len(r.ModelReturned) > 0 && (len(r.ModelReturned) > 1 || r.ModelReturned[0] != r.Model) {
			model += " (" + strings.Join(r.ModelReturned, ", ") + ")"
		}
		tokens := words(undefinedMark)
		if r.Tokens != nil {
			v := float64(*r.Tokens)
			tokens = amount(&v, thousands(*r.Tokens))
		}
		t.rows = append(t.rows, []tableCell{
			words(Clean(r.Config)), words(Clean(model)), words(Clean(strings.TrimSpace(r.Harness + " " + strings.Join(r.HarnessVersion, ", ")))),
			words(Clean(strings.Join(r.Sandbox, ", "))), words(Clean(r.Session)),
			whole(r.Episodes), whole(r.Stopped), whole(r.Incomplete), whole(r.Attempts), tokens, amount(r.USD, optionalDollars(r.USD)),
		})
	}
	return t.constantToCaption().withoutEmpty()
}

// maxEpisodes bounds the list of single runs on the page; the heat map's CSV file has all.
const maxEpisodes = 3000

// An episodeRow is one run in the list of runs.
type episodeRow struct {
	config string
	end    string // failed, full, stopped, or the cause of a failed run
	cells  []tableCell
}

// episodeRows lists single runs; ids and attempts come from the tables, where there are any.
func (c *Comparison) episodeRows(t *logs.Tables) (columns []tableColumn, rows []episodeRow, left int) {
	type key struct {
		config, scenario string
		repeat           int
	}
	ids := make(map[key]string)
	if t != nil {
		for i := range t.Episodes {
			e := &t.Episodes[i]
			ids[key{e.Config, e.Scenario, e.Repeat}] = e.Episode
		}
	}
	columns = []tableColumn{{head: "configuration"}, {head: "scenario"}, {head: "repeat", mark: " "}, {head: c.columnWord(), mark: "."}, {head: "ended"}, {head: "leaf"}, {head: "$", mark: "."}}
	if len(ids) > 0 {
		columns = append(columns, tableColumn{head: "episode"})
	}
	for i := range c.Configs {
		for _, u := range c.Configs[i].byScenario() {
			if len(rows) == maxEpisodes {
				left++
				continue
			}
			row := episodeRow{config: c.Configs[i].Config, end: u.ended()}
			ended := row.end
			if ended == "failed" && c.cap() == 0 {
				ended = undefinedMark // without a cap nothing tells a failed run from one that finished
			}
			if row.end == "stopped" && u.row.EndReason != "" {
				ended += " (" + Clean(u.row.EndReason) + ")"
			}
			row.cells = []tableCell{
				words(Clean(c.Short(row.config))), words(Clean(u.row.Scenario)), whole(u.row.Repeat), amount(&u.value, compact(u.value)),
				words(ended), words(orUndefined(leafName(u.row.EndLeaf))), amount(u.row.USD, optionalDollars(u.row.USD)),
			}
			if len(ids) > 0 {
				row.cells = append(row.cells, words(Clean(ids[key{row.config, u.row.Scenario, u.row.Repeat}])))
			}
			rows = append(rows, row)
		}
	}
	return columns, rows, left
}

func orUndefined(s string) string {
	if s == "" {
		return undefinedMark
	}
	return Clean(s)
}

// byScenario returns the runs in the order of the names of their scenarios.
func (r *ConfigResult) byScenario() []*run {
	out := make([]*run, len(r.runs))
	for i := range r.runs {
		out[i] = &r.runs[i]
	}
	slices.SortStableFunc(out, func(a, b *run) int { return strings.Compare(a.row.Scenario, b.row.Scenario) })
	return out
}

// columnWord is the outcome as a heading.
func (c *Comparison) columnWord() string {
	if c.turns() {
		return "turns passed"
	}
	return Clean(c.Outcome)
}

// ended says how a run ended, in the words of the columns that count ends.
func (u *run) ended() string {
	switch {
	case u.row.Status == logs.StatusStopped:
		return "stopped"
	case u.row.Status == logs.StatusCapped:
		return "full"
	case u.cause != noCause:
		return u.cause.String()
	}
	return "failed"
}
