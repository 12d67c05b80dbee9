package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// Text writes the comparison for people, within width columns (0 = 100): a header with everything that does not
// vary, the configurations, the pairs of each family, footnotes, and the paragraph.
func (c *Comparison) Text(w io.Writer, width int) error {
	if width <= 0 {
		width = 100
	}
	t := textWriter{w: w, width: width}
	t.wrap("", c.header())
	for _, s := range c.leadSentences() {
		t.gap()
		t.wrap("", s)
	}
	t.gap()
	notes := newFootnotes(c.shownNotes())
	sc := scaleOf(c)
	dropped, cut := t.grid(c.configGrid(notes, sc))
	for i := range c.Families {
		t.gap()
		d, short := t.grid(c.pairGrid(&c.Families[i], notes, sc))
		for _, col := range d {
			if !slices.Contains(dropped, col) {
				dropped = append(dropped, col)
			}
		}
		cut = cut || short
		t.gap()
		t.wrap("family: ", familyLine(&c.Families[i]))
	}
	c.keyLines(&t)
	for i, line := range notes.all(func(where string) string { return Clean(c.shortWhere(where)) }) {
		t.wrap(superscript([]int{i + 1})+" ", line)
	}
	for _, n := range c.notes {
		t.wrap("note: ", n.Text)
	}
	if len(dropped) > 0 {
		t.wrap("", "not shown for want of space: "+strings.Join(dropped, ", ")+" (--json, --csv and --md have them)")
	}
	if cut {
		t.wrap("", "names are shortened in the middle; --json, --csv and --md have them in full")
	}
	if c.Paragraph != "" {
		t.gap()
		for _, p := range strings.Split(c.Paragraph, "\n\n") {
			t.wrap("", p)
		}
	}
	if t.err != nil {
		return fmt.Errorf("writing the comparison as text: %w", t.err)
	}
	return nil
}

// header says once what is true of all configurations.
func (c *Comparison) header() string {
	parts := []string{c.outcomeWords()}
	if c.scenarios.hi > 0 {
		s := c.scenarios.String() + " " + plural(c.scenarios.hi, "scenario", "scenarios")
		s += " × " + c.runs.String() + " " + plural(c.runs.hi, "run", "runs")
		parts = append(parts, s)
	}
	if c.common != "" {
		parts = append(parts, Clean(c.common))
	}
	if c.episodes {
		parts = append(parts, c.Policy)
	}
	if n := c.pending(); n > 0 {
		parts = append(parts, fmt.Sprintf("provisional: %d %s not ended", n, plural(n, "run has", "runs have")))
	}
	return strings.Join(parts, " · ")
}

// outcomeWords names the outcome and its cap.
func (c *Comparison) outcomeWords() string {
	limit := c.cap()
	switch {
	case c.turns() && c.episodes && limit > 1:
		return fmt.Sprintf("turns passed of %s (build + %s changes)", compact(limit), compact(limit-1))
	case c.turns() && limit > 0:
		return "turns passed of " + compact(limit)
	case c.turns():
		return "turns passed"
	case c.Outcome == "full":
		return "full passes (share of runs)"
	case c.Outcome == "share":
		return "share of turns passed"
	case c.Outcome == "usd":
		return "dollars per episode"
	case limit > 0:
		return Clean(c.Outcome) + " up to " + compact(limit)
	}
	return Clean(c.Outcome)
}

// bannerSentence says that causes rest on a judge whom nobody has validated; "" if none do.
func (c *Comparison) bannerSentence() string {
	if c.Banner == "" {
		return ""
	}
	return Clean(c.Banner) + "."
}

// leadSentences are what is said before any table.
func (c *Comparison) leadSentences() []string {
	if s := c.bannerSentence(); s != "" {
		return append([]string{s}, c.firstSentences()...)
	}
	return c.firstSentences()
}

// firstSentences says, before any table, of which families nothing could have come.
func (c *Comparison) firstSentences() []string {
	var out []string
	for i := range c.Families {
		if s := cannotSentence(&c.Families[i]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// shownNotes returns the notes that hang on a table.
func (c *Comparison) shownNotes() []Warning {
	var out []Warning
	add := func(notes []Warning) {
		for _, n := range notes {
			if n.at != atNowhere {
				out = append(out, n)
			}
		}
	}
	for i := range c.Configs {
		add(c.Configs[i].notes)
	}
	for i := range c.Families {
		for j := range c.Families[i].Pairs {
			add(c.Families[i].Pairs[j].notes)
		}
	}
	return out
}

// configGrid lays out the configurations.
func (c *Comparison) configGrid(notes *footnotes, sc scale) *grid {
	capped := c.cap() > 0
	stopped, costs, uneven, counted := c.hasStopped(), c.hasCosts(), c.unevenRuns(), c.endColumns()
	var cis []*[2]float64
	for i := range c.Configs {
		cis = append(cis, c.Configs[i].CI)
	}
	words := needsWords(cis)
	g := &grid{cols: []gridColumn{{head: "config"}}}
	if uneven || !capped {
		g.cols = append(g.cols, gridColumn{head: "n", mark: " ", drop: 2})
	}
	g.cols = append(g.cols, gridColumn{head: "mean", mark: "."}, gridColumn{head: "95 % CI", mark: "–", drop: 1})
	if capped {
		g.cols = append(g.cols, gridColumn{head: "full", mark: "/"})
		g.span = gridSpan{head: c.endsWord(), from: len(g.cols), to: len(g.cols) + len(counted)}
		for _, e := range counted {
			g.cols = append(g.cols, gridColumn{sub: e.head, mark: " ", drop: 3})
		}
	} else {
		g.cols = append(g.cols, gridColumn{head: "median", mark: ".", drop: 3})
		if stopped {
			g.cols = append(g.cols, gridColumn{head: "stopped", mark: " ", drop: 3})
		}
	}
	if costs {
		g.cols = append(g.cols, gridColumn{head: "$/episode", mark: ".", drop: 4})
	}
	for i := range c.Configs {
		r := &c.Configs[i]
		row := []gridCell{{names: []string{Clean(c.Short(r.Config))}, tail: superscript(notes.marks(r.notes, atName))}}
		if uneven || !capped {
			row = append(row, gridCell{text: fmt.Sprint(r.N)})
		}
		row = append(row,
			gridCell{text: optional(r.Mean, sc.mean), tail: superscript(notes.marks(r.notes, atMean))},
			gridCell{text: interval(r.CI, sc.interval, words), tail: superscript(notes.marks(r.notes, atCI))})
		if capped {
			full := undefinedMark
			if r.Full != nil {
				full = fmt.Sprintf("%d/%d", *r.Full, r.N)
			}
			row = append(row, gridCell{text: full})
			for _, e := range counted {
				row = append(row, gridCell{text: fmt.Sprint(e.count(r)), tail: superscript(e.marksAt(notes, r))})
			}
		} else {
			row = append(row, gridCell{text: optional(r.Median, sc.mean)})
			if stopped {
				row = append(row, gridCell{text: fmt.Sprint(r.Ends["stopped"])})
			}
		}
		if costs {
			cost := undefinedMark
			if r.USD != nil {
				cost = dollars(*r.USD)
			}
			row = append(row, gridCell{text: cost, tail: superscript(notes.marks(r.notes, atCost))})
		}
		g.rows = append(g.rows, row)
	}
	return g
}

func optional(v *float64, decimals int) string {
	if v == nil {
		return undefinedMark
	}
	return number(*v, decimals)
}

func (c *Comparison) hasStopped() bool {
	return slices.ContainsFunc(c.Configs, func(r ConfigResult) bool { return r.Ends["stopped"] > 0 })
}

func (c *Comparison) hasCosts() bool {
	return slices.ContainsFunc(c.Configs, func(r ConfigResult) bool { return r.USD != nil })
}

// unevenRuns reports whether configurations have different numbers of runs.
func (c *Comparison) unevenRuns() bool {
	return slices.ContainsFunc(c.Configs, func(r ConfigResult) bool { return r.N != c.Configs[0].N })
}

// pairGrid lays out the pairs of a family.
func (c *Comparison) pairGrid(f *FamilyResult, notes *footnotes, sc scale) *grid {
	undecided := slices.ContainsFunc(f.Pairs, func(p PairResult) bool { return p.Undecided > 0 })
	var cis []*[2]float64
	for i := range f.Pairs {
		cis = append(cis, f.Pairs[i].DiffCI)
	}
	words := needsWords(cis)
	g := &grid{cols: []gridColumn{{head: "pair"}, {head: "ahead–level–behind", over: "ahead–level", mark: "–", drop: 1}}}
	if undecided {
		g.cols = append(g.cols, gridColumn{head: "open", mark: " ", drop: 2})
	}
	g.cols = append(g.cols,
		gridColumn{head: "difference", mark: "."}, gridColumn{head: "95 % CI", mark: "–", drop: 2},
		gridColumn{head: "p", mark: "."}, gridColumn{head: "Holm", mark: "."}, gridColumn{head: "least possible", over: "least", mark: ".", drop: 3})
	for i := range f.Pairs {
		p := &f.Pairs[i]
		count := undefinedMark
		if p.Diff != nil {
			count = fmt.Sprintf("%d–%d–%d", p.Ahead, p.Level, p.Behind)
		}
		row := []gridCell{
			{names: []string{Clean(c.Short(p.A)), Clean(c.Short(p.B))}, tail: superscript(notes.marks(p.notes, atName))},
			{text: count},
		}
		if undecided {
			row = append(row, gridCell{text: fmt.Sprint(p.Undecided)})
		}
		difference, pText, holm, least := undefinedMark, undefinedMark, undefinedMark, undefinedMark
		if p.Diff != nil {
			difference = signed(*p.Diff, sc.mean)
		}
		if p.P != nil {
			pText = stats.FormatP(*p.P)
		}
		if p.Holm != nil {
			holm = stats.FormatP(*p.Holm)
		}
		if p.Least != nil {
			least = stats.FormatP(*p.Least)
		}
		row = append(row,
			gridCell{text: difference, tail: superscript(notes.marks(p.notes, atMean))},
			gridCell{text: interval(p.DiffCI, sc.difference, words), tail: superscript(notes.marks(p.notes, atCI))},
			gridCell{text: pText},
			gridCell{text: holm, tail: decisionMark(p) + superscript(notes.marks(p.notes, atHolm))},
			gridCell{text: least})
		g.rows = append(g.rows, row)
	}
	return g
}

// decisionMark is the sign beside an adjusted p: none where it is significant.
func decisionMark(p *PairResult) string {
	switch {
	case p.P == nil:
		return ""
	case p.Decision == DecisionUndecided:
		return " ~"
	case p.Decision == DecisionCannot:
		return " ×"
	}
	return ""
}

// familyLine describes how the pairs were corrected.
func familyLine(f *FamilyResult) string {
	origin := "exploratory (not declared before the first run)"
	switch {
	case f.Declared:
		origin = "declared in study.yaml before the first run"
	case f.departure != "":
		origin = "declared in study.yaml, but exploratory for " + f.departure
	}
	return fmt.Sprintf("%d %s %q, %s; Holm, two-sided, α = %s", f.M, plural(f.M, "pair", "pairs"), Clean(f.Name), origin, compact(f.Alpha))
}

// keyLines explains the test and the signs that occur.
func (c *Comparison) keyLines(t *textWriter) {
	if len(c.Families) == 0 {
		t.gap()
		t.wrap("", "CI: "+c.intervalWords())
		return
	}
	t.wrap("test: ", c.testWords()+". CI: "+c.intervalWords())
	var keys []string
	seen := func(mark string) bool {
		for i := range c.Families {
			for j := range c.Families[i].Pairs {
				if decisionMark(&c.Families[i].Pairs[j]) == mark {
					return true
				}
			}
		}
		return false
	}
	if seen(" ~") {
		keys = append(keys, "~ not significant")
	}
	if seen(" ×") {
		keys = append(keys, "× could not have been significant with these data (least possible > α)")
	}
	if len(keys) > 0 {
		t.wrap("", strings.Join(keys, " · "))
	}
}

// zeroWords names the treatment of zero differences.
func (c *Comparison) zeroWords() string {
	if c.zero == stats.Pratt {
		return "Pratt's zeros"
	}
	return "zeros dropped"
}

// testWords names the test and its treatment of zeros.
func (c *Comparison) testWords() string {
	approximate, untested, stopped := false, false, false
	for i := range c.Families {
		for j := range c.Families[i].Pairs {
			p := &c.Families[i].Pairs[j]
			approximate = approximate || p.P != nil && !p.exact && !p.stoppedTest
			stopped = stopped || p.stoppedTest
			untested = untested || p.P == nil
		}
	}
	s := "exact Wilcoxon signed rank, " + c.zeroWords()
	if approximate {
		s += ", beyond 1,000 differences its normal approximation"
	}
	if stopped {
		s += "; pairs with a stopped run: paired Prentice–Wilcoxon, with repeats the sign test"
	}
	if untested {
		s += "; pairs without p are not tested and count with p = 1"
	}
	return s
}

// intervalWords names the interval most means have.
func (c *Comparison) intervalWords() string {
	count := make(map[string]int)
	for i := range c.Configs {
		if m := c.Configs[i].CIMethod; m != nil {
			count[*m]++
		}
	}
	methods := sortedKeys(count)
	slices.SortStableFunc(methods, func(a, b string) int { return count[b] - count[a] })
	switch n := len(methods); {
	case n == 0:
		return "none defined"
	case n <= 4:
		return strings.Join(methods, "; ")
	}
	return strings.Join(methods[:3], "; ") + "; others as --json names them"
}

// A textWriter keeps the first error and wraps lines.
type textWriter struct {
	w     io.Writer
	width int
	err   error
}

func (t *textWriter) line(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, s+"\n")
	}
}

func (t *textWriter) gap() { t.line("") }

func (t *textWriter) grid(g *grid) (dropped []string, cut bool) {
	if t.err == nil {
		dropped, cut, t.err = g.render(t.w, t.width)
	}
	return dropped, cut
}

// wrap writes s after a first word or mark, later lines indented by two columns.
func (t *textWriter) wrap(first, s string) {
	indent := ""
	if first != "" {
		indent = "  "
	}
	line, used := first, textWidth(first)
	for _, word := range splitWords(s) {
		n := textWidth(word)
		switch {
		case used == textWidth(first) && line == first:
		case used+1+n > t.width:
			t.line(line)
			line, used = indent, len(indent)
		default:
			line += " "
			used++
		}
		line += word
		used += n
	}
	t.line(line)
}

// splitWords splits at spaces, but not inside a number and its unit or sign ("95 %", "p = 0.05").
func splitWords(s string) []string {
	words := strings.Fields(s)
	var out []string
	for _, w := range words {
		if n := len(out); n > 0 && (w == "%" || w == "=" || w == "−" || strings.HasSuffix(out[n-1], " =") || strings.HasSuffix(out[n-1], "=") && len(out[n-1]) < 4) {
			out[n-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}
