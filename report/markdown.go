package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// Markdown writes the comparison as Markdown: the same parts as [Comparison.Text], with all columns.
func (c *Comparison) Markdown(w io.Writer) error {
	if err := c.markdownBody(w, false); err != nil {
		return err
	}
	if c.Paragraph == "" {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", escapeParagraphs(c.Paragraph)); err != nil {
		return fmt.Errorf("writing the comparison as Markdown: %w", err)
	}
	return nil
}

// markdownBody writes header, tables and footnotes; ranks and failure rates only for a report.
func (c *Comparison) markdownBody(w io.Writer, report bool) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n", escapeMarkdown(c.header()))
	for _, s := range c.leadSentences() {
		fmt.Fprintf(b, "**%s**\n\n", escapeMarkdown(s))
	}
	notes := newFootnotes(c.shownNotes())
	c.markdownConfigs(b, notes)
	for i := range c.Families {
		fmt.Fprintln(b)
		c.markdownFamily(b, &c.Families[i], notes)
	}
	if report {
		c.markdownRanks(b)
		c.markdownRates(b, notes)
	}
	c.markdownNotes(b, notes)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing the comparison as Markdown: %w", err)
	}
	return nil
}

// escapeParagraphs escapes text and keeps its empty lines.
func escapeParagraphs(s string) string {
	parts := strings.Split(s, "\n\n")
	for i, p := range parts {
		parts[i] = escapeMarkdown(p)
	}
	return strings.Join(parts, "\n\n")
}

// markdownConfigs writes the table of configurations.
func (c *Comparison) markdownConfigs(b *bufio.Writer, notes *footnotes) {
	sc := scaleOf(c)
	capped, costs, counted := c.cap() > 0, c.hasCosts(), c.endColumns()
	head := []string{"config", "n", "mean", "95 % CI", "median"}
	if capped {
		head = append(head, "full")
	} else {
		counted = counted[len(counted)-1:] // without a cap nothing tells a failed run from one that finished
	}
	for _, e := range counted {
		head = append(head, e.head)
	}
	if costs {
		head = append(head, "$/episode")
	}
	markdownHead(b, head, 1)
	for i := range c.Configs {
		r := &c.Configs[i]
		row := []string{
			escapeMarkdown(c.Short(r.Config)) + superscript(notes.marks(r.notes, atName)), fmt.Sprint(r.N),
			optional(r.Mean, sc.mean) + superscript(notes.marks(r.notes, atMean)),
			interval(r.CI, sc.interval, false) + superscript(notes.marks(r.notes, atCI)), optional(r.Median, sc.mean),
		}
		if capped {
			full := undefinedMark
			if r.Full != nil {
				full = fmt.Sprintf("%d/%d", *r.Full, r.N)
			}
			row = append(row, full)
		}
		for _, e := range counted {
			row = append(row, fmt.Sprint(e.count(r))+superscript(e.marksAt(notes, r)))
		}
		if costs {
			cost := undefinedMark
			if r.USD != nil {
				cost = dollars(*r.USD)
			}
			row = append(row, cost+superscript(notes.marks(r.notes, atCost)))
		}
		markdownRow(b, row)
	}
}

// markdownFamily writes the pairs of a family and how they were corrected.
func (c *Comparison) markdownFamily(b *bufio.Writer, f *FamilyResult, notes *footnotes) {
	sc := scaleOf(c)
	markdownHead(b, []string{"pair", "scenarios", "ahead–level–behind", "difference", "95 % CI", "p", "Holm", "discrete Holm", "least possible", "rank-biserial", "decision"}, 1)
	for i := range f.Pairs {
		p := &f.Pairs[i]
		count, diff := undefinedMark, undefinedMark
		if p.Diff != nil {
			count = fmt.Sprintf("%d–%d–%d", p.Ahead, p.Level, p.Behind)
			if p.Undecided > 0 {
				count += fmt.Sprintf(" (%d open)", p.Undecided)
			}
			diff = signed(*p.Diff, sc.mean)
		}
		markdownRow(b, []string{
			escapeMarkdown(c.pairName(p.A, p.B)) + superscript(notes.marks(p.notes, atName)), fmt.Sprint(p.N), count,
			diff + superscript(notes.marks(p.notes, atMean)), interval(p.DiffCI, sc.mean, p.DiffCI != nil && p.DiffCI[1] < 0) + superscript(notes.marks(p.notes, atCI)),
			formatP(p.P), formatP(p.Holm) + superscript(notes.marks(p.notes, atHolm)), formatP(p.HolmDiscrete), formatP(p.Least),
			optional(p.RankBiserial, 2), escapeMarkdown(c.decision(p)),
		})
	}
	fmt.Fprintf(b, "\nFamily: %s.\n", escapeMarkdown(familyLine(f)))
}

// decision names the better side, in words a reader needs no key for.
func (c *Comparison) decision(p *PairResult) string {
	switch {
	case p.P == nil:
		return "not tested"
	case p.Decision == DecisionAhead:
		return Clean(c.Short(p.A)) + " higher"
	case p.Decision == DecisionBehind:
		return Clean(c.Short(p.B)) + " higher"
	case p.Decision == DecisionCannot:
		return "could not be significant"
	}
	return "undecided"
}

func textP(p *float64) string {
	if p == nil {
		return undefinedMark
	}
	return stats.FormatP(*p)
}

func formatP(p *float64) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(textP(p))
}

// markdownNotes writes what stands below the tables.
func (c *Comparison) markdownNotes(b *bufio.Writer, notes *footnotes) {
	lines := notes.all(func(where string) string { return c.shortWhere(where) })
	if len(c.Families) > 0 {
		fmt.Fprintf(b, "\nTest: %s. ", escapeMarkdown(c.testWords()))
	} else {
		fmt.Fprintln(b)
	}
	fmt.Fprintf(b, "CI: %s.\n", escapeMarkdown(c.intervalWords()))
	for i, line := range lines {
		fmt.Fprintf(b, "\n%s %s\n", superscript([]int{i + 1}), escapeMarkdown(line))
	}
	for _, n := range c.notes {
		fmt.Fprintf(b, "\nNote: %s.\n", escapeMarkdown(n.Text))
	}
}

// markdownHead writes the heading of a table: the first columns flush left, the others flush right.
func markdownHead(b *bufio.Writer, head []string, left int) {
	markdownRow(b, head)
	for i := range head {
		if i < left {
			b.WriteString("| --- ")
		} else {
			b.WriteString("| ---: ")
		}
	}
	b.WriteString("|\n")
}

func markdownRow(b *bufio.Writer, cells []string) {
	for _, c := range cells {
		b.WriteString("| " + c + " ")
	}
	b.WriteString("|\n")
}
