package report

import (
	"io"
	"sort"
	"strings"
)

// A grid is a table for a terminal: no lines, cells aligned at a character, columns given up when space is short.
type grid struct {
	cols  []gridColumn
	rows  [][]gridCell
	span  gridSpan
	tight bool // long headings are broken into two lines
}

// A gridColumn describes one column.
type gridColumn struct {
	head string
	sub  string // second line of the heading
	over string // where space is short, head is broken after this
	mark string // cells are aligned where this first occurs ("." for decimals); "" = flush left; " " = flush right
	drop int    // columns with the highest value are dropped first; 0 = never
}

// A gridCell is one value and its footnote marks. Names are parts that may be shortened when space is short.
type gridCell struct {
	text  string
	names []string // instead of text: joined by " − "
	tail  string
}

// A gridSpan is a heading over several columns.
type gridSpan struct {
	head     string
	from, to int // columns, to exclusive; from == to: none
}

// leastName is the shortest width to which names are cut before columns are dropped, and hardName after.
const (
	leastName = 24
	hardName  = 8
)

// render lays the grid out within width columns and returns the headings dropped and whether names were cut.
func (g *grid) render(w io.Writer, width int) (dropped []string, cut bool, err error) {
	keep := make([]bool, len(g.cols))
	for i := range keep {
		keep[i] = true
	}
	longest := g.longestName()
	for {
		for _, gap := range []int{4, 3, 2} {
			if g.width(keep, longest, gap) <= width {
				return dropped, false, g.write(w, keep, longest, gap)
			}
		}
		if !g.tight {
			g.breakHeadings()
			continue
		}
		if name, ok := g.nameThatFits(keep, width, min(leastName, longest), longest); ok {
			return dropped, true, g.write(w, keep, name, 2)
		}
		i := g.mostDroppable(keep)
		if i < 0 {
			name, _ := g.nameThatFits(keep, width, hardName, longest)
			return dropped, name < longest, g.write(w, keep, name, 2)
		}
		keep[i] = false
		dropped = append(dropped, g.heading(i))
	}
}

// nameThatFits returns the largest width of names from least to most with which the grid fits; ok is false, and
// the width least, if there is none.
func (g *grid) nameThatFits(keep []bool, width, least, most int) (name int, ok bool) {
	if least >= most {
		return most, g.width(keep, most, 2) <= width
	}
	n := sort.Search(most-least+1, func(i int) bool { return g.width(keep, least+i, 2) > width })
	if n == 0 {
		return least, false
	}
	return least + n - 1, true
}

// breakHeadings makes long headings two lines high.
func (g *grid) breakHeadings() {
	g.tight = true
	for i := range g.cols {
		if rest, ok := strings.CutPrefix(g.cols[i].head, g.cols[i].over); ok && g.cols[i].over != "" {
			g.cols[i].head, g.cols[i].sub = g.cols[i].over, strings.TrimSpace(rest)
		}
	}
}

func (g *grid) heading(i int) string {
	return strings.TrimSpace(g.cols[i].head + " " + g.cols[i].sub)
}

func (g *grid) mostDroppable(keep []bool) int {
	best := -1
	for i, c := range g.cols {
		if keep[i] && c.drop > 0 && (best < 0 || c.drop > g.cols[best].drop) {
			best = i
		}
	}
	return best
}

func (g *grid) longestName() int {
	n := 0
	for _, row := range g.rows {
		for _, c := range row {
			for _, s := range c.names {
				n = max(n, textWidth(s))
			}
		}
	}
	return n
}

// string returns the text of a cell with names at most name columns wide.
func (c gridCell) string(name int) string {
	if c.names == nil {
		return c.text
	}
	parts := make([]string, len(c.names))
	for i, s := range c.names {
		parts[i] = shorten(s, name)
	}
	return strings.Join(parts, " − ")
}

// split returns the widths left and right of the alignment point.
func (col gridColumn) split(text, tail string) (left, right int) {
	whole := textWidth(text + tail)
	switch col.mark {
	case "":
		return 0, whole
	case " ":
		left = textWidth(text)
		return left, whole - left
	}
	head, _, found := strings.Cut(text, col.mark)
	if !found {
		head = text
		if text == undefinedMark {
			head = ""
		}
	}
	left = textWidth(head)
	return left, whole - left
}

// measure returns, per kept column, the widths left and right of its alignment point and its whole width.
func (g *grid) measure(keep []bool, name int) (lefts, widths []int) {
	lefts, widths = make([]int, len(g.cols)), make([]int, len(g.cols))
	for i, col := range g.cols {
		if !keep[i] {
			continue
		}
		right := 0
		for _, row := range g.rows {
			l, r := col.split(row[i].string(name), row[i].tail)
			lefts[i], right = max(lefts[i], l), max(right, r)
		}
		widths[i] = max(lefts[i]+right, textWidth(col.head), textWidth(col.sub))
		if extra := widths[i] - lefts[i] - right; extra > 0 && col.mark != "" {
			// Under a wider heading the numbers stand in its middle, or at its end.
			if col.mark == " " {
				lefts[i] += extra
			} else {
				lefts[i] += extra / 2
			}
		}
	}
	return lefts, widths
}

func (g *grid) width(keep []bool, name, gap int) int {
	_, widths := g.measure(keep, name)
	g.widen(keep, widths, gap)
	total := -gap
	for i, w := range widths {
		if keep[i] {
			total += w + gap
		}
	}
	return total
}

// widen makes room for the heading over several columns.
func (g *grid) widen(keep []bool, widths []int, gap int) {
	last, have := -1, -gap
	for i := g.span.from; i < g.span.to; i++ {
		if keep[i] {
			have += widths[i] + gap
			last = i
		}
	}
	if need := textWidth(g.span.head) - have; last >= 0 && need > 0 {
		widths[last] += need
	}
}

// write prints the headings and the rows. A heading over several columns stands in the first line, those of its
// columns in the second.
func (g *grid) write(w io.Writer, keep []bool, name, gap int) error {
	lefts, widths := g.measure(keep, name)
	g.widen(keep, widths, gap)
	lines := make([]string, 2+len(g.rows))
	at := 0
	spanned := false
	for i, col := range g.cols {
		if !keep[i] {
			continue
		}
		switch inSpan := i >= g.span.from && i < g.span.to; {
		case !inSpan:
			lines[0] = put(lines[0], at+headShift(col, col.head, widths[i]), col.head)
		case !spanned:
			lines[0] = put(lines[0], at, g.span.head)
			spanned = true
		}
		lines[1] = put(lines[1], at+headShift(col, col.sub, widths[i]), col.sub)
		for k, row := range g.rows {
			text := row[i].string(name)
			l, _ := col.split(text, row[i].tail)
			lines[2+k] = put(lines[2+k], at+max(0, lefts[i]-l), text+row[i].tail)
		}
		at += widths[i] + gap
	}
	for i, line := range lines {
		if i == 1 && line == "" {
			continue
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// headShift moves a heading to the right end of a column whose cells stand there.
func headShift(col gridColumn, head string, width int) int {
	if col.mark == " " {
		return max(0, width-textWidth(head))
	}
	return 0
}

// put fills line with spaces up to column at and appends s.
func put(line string, at int, s string) string {
	if s == "" {
		return line
	}
	return line + strings.Repeat(" ", max(0, at-textWidth(line))) + s
}
