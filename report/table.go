package report

import (
	"fmt"
	"slices"
	"strings"
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
		n.link = c.runsOf(r.Config)
		row := []tableCell{
			words(Clean(c.Short(r.Config)), notes.marks(r.notes, atName)...), n,
			amount(r.Mean, optional(r.Mean, sc.mean), notes.marks(r.notes, atMean)...),
			amount(low(r.CI), interval(r.CI, sc.interval, false), notes.marks(r.notes, atCI)...),
			amount(r.Median, optional(r.Median, sc.mean)),
		}
		if capped {
			full := words(undefinedMark)
			if r.Full != nil && r.N > 0 {
				full = tableCell{text: fmt.Sprintf("%d/%d", *r.Full, r.N), value: ptr(float64(*r.Full) / float64(r.N)), link: c.runsOf(r.Config, "full")}
			}
			row = append(row, full)
		}
		for _, e := range counted {
			cell := whole(e.count(r))
			cell.marks = e.marksAt(notes, r)
			cell.link = c.runsOf(r.Config, e.head)
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
		shared := whole(p.N)
		shared.link = c.runsOfPair(p.A, p.B)
		count.link = shared.link
		t.rows = append(t.rows, []tableCell{
			words(Clean(c.pairName(p.A, p.B)), notes.marks(p.notes, atName)...), shared, count,
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
			all := whole(total[e])
			all.link = &episodeLink{keys: []string{k.String(), leafKey(leaf)}, label: shown}
			row := []tableCell{words(k.String()), words(shown), all}
			for i := range c.Configs {
				cell := whole(by[i][e])
				cell.link = c.runsOf(c.Configs[i].Config, k.String(), leafKey(leaf))
				cell.link.label += ", " + shown
				row = append(row, cell)
			}
			t.rows = append(t.rows, row)
		}
	}
	return t, len(t.rows) > 0
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
func (c *Comparison) runTable(runs []RunSummary) table {
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
			linked(whole(r.Episodes), c.runsOf(r.Config)), linked(whole(r.Stopped), c.runsOf(r.Config, "halted")), linked(whole(r.Incomplete), c.runsOf(r.Config, "incomplete")),
			linked(whole(r.Attempts), c.runsOf(r.Config)), tokens, amount(r.USD, optionalDollars(r.USD)),
		})
	}
	return t.constantToCaption().withoutEmpty()
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
