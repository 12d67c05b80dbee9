package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stint-bench/stint/stats"
)

// The heat map shows at most so many rows and columns; the CSV file has all.
const (
	maxHeatRows    = 60
	maxHeatColumns = 240
)

// HeatMap draws configurations by scenarios: rows by mean, columns from easy to hard, the value in every cell
// where it fits, a diamond for full passes, and in the corner a dot in the colour of what ended the run.
func HeatMap(c *Comparison) (Figure, error) {
	m := newHeat(c)
	fig := Figure{Name: "heat-map", Title: capital(m.words()) + " by configuration and scenario"}
	return drawFigure(fig, m)
}

// capital starts a sentence with s.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// A heatCell is one configuration in one scenario.
type heatCell struct {
	runs    int
	value   float64 // mean of the runs
	full    bool    // all runs passed everything
	stopped bool    // some run was stopped: the value is a lower bound
	cause   cause   // of the failed runs, if they agree
}

// A heatColumn is one scenario.
type heatColumn struct {
	name string
	mean float64 // over the configurations that have it
}

type heat struct {
	c       *Comparison
	th      theme
	columns []heatColumn
	cells   [][]heatCell // by configuration (those of the comparison) and column
	lo, hi  float64
	rowH    vg.Length
	below   vg.Length // room for marks below the scale
	corners [len(causeNames)][]vg.Point
	height  vg.Length
}

const (
	heatTop    = vg.Length(18)
	heatBottom = vg.Length(40)
)

// newHeat sorts the runs into cells.
func newHeat(c *Comparison) *heat {
	m := &heat{c: c}
	index := make(map[string]int)
	for i := range c.Configs {
		for _, v := range c.Configs[i].scenarios {
			if _, ok := index[v.scenario]; !ok {
				index[v.scenario] = len(m.columns)
				m.columns = append(m.columns, heatColumn{name: v.scenario})
			}
		}
	}
	cells := make([][]heatCell, len(c.Configs))
	for i := range c.Configs {
		cells[i] = make([]heatCell, len(m.columns))
		for k := range c.Configs[i].runs {
			r := &c.Configs[i].runs[k]
			cell := &cells[i][index[r.row.Scenario]]
			cell.add(r)
		}
		for k := range cells[i] {
			if n := cells[i][k].runs; n > 0 {
				cells[i][k].value /= float64(n)
			}
		}
	}
	count := make([]int, len(m.columns))
	m.lo, m.hi = 0, c.cap()
	for i := range cells {
		for k, cell := range cells[i] {
			if cell.runs == 0 {
				continue
			}
			m.columns[k].mean += cell.value
			count[k]++
			m.lo, m.hi = math.Min(m.lo, cell.value), math.Max(m.hi, cell.value)
		}
	}
	for k := range m.columns {
		m.columns[k].mean /= float64(max(1, count[k]))
	}
	order := make([]int, len(m.columns))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int {
		switch x, y := m.columns[a], m.columns[b]; {
		case x.mean > y.mean:
			return -1
		case x.mean < y.mean:
			return 1
		default:
			return strings.Compare(x.name, y.name)
		}
	})
	sorted := make([]heatColumn, len(order))
	m.cells = make([][]heatCell, len(cells))
	for i := range cells {
		m.cells[i] = make([]heatCell, len(order))
	}
	for to, from := range order {
		sorted[to] = m.columns[from]
		for i := range cells {
			m.cells[i][to] = cells[i][from]
		}
	}
	m.columns = sorted
	return m
}

// add takes one run into the sum.
func (h *heatCell) add(r *run) {
	if h.runs == 0 {
		h.full, h.cause = true, r.cause
	}
	h.runs++
	h.value += r.value
	h.full = h.full && r.status == stats.Capped
	h.stopped = h.stopped || r.status == stats.Stopped
	if r.cause != h.cause {
		h.cause = noCause
	}
}

// words names the value of a cell without the cap, which the scale shows.
func (m *heat) words() string { return m.c.valueWords() }

// shown are the numbers of rows and columns drawn.
func (m *heat) shown() (rows, columns int) {
	return min(len(m.c.Configs), maxHeatRows), min(len(m.columns), maxHeatColumns)
}

func (m *heat) layout(th theme) vg.Length {
	m.th = th
	rows, _ := m.shown()
	m.rowH = 15
	if rows > 26 {
		m.rowH = 11.5
	}
	m.below = 0
	if th.narrow() {
		m.below = keyRow + 1
		if len(m.marks()) > 2 {
			m.below += keyRow
		}
	}
	m.height = heatTop + heatBottom + m.below + m.rowH*vg.Length(max(1, rows))
	return m.height
}

func (m *heat) paint(s *sheet) {
	th := m.th
	rows, columns := m.shown()
	if rows == 0 || columns == 0 {
		s.text(th.page/2, m.height/2, centred, th.textSize, th.text, "there are no runs to show")
		return
	}
	names := make([]string, rows)
	nameW := vg.Length(0)
	for i := range names {
		names[i] = s.shorten(s.printable(m.c.Short(m.c.Configs[i].Config)), th.textSize, 0.3*th.page)
		nameW = max(nameW, s.width(names[i], th.textSize))
	}
	left, right := figureMargin+nameW+6, th.page-figureMargin
	cw := min((right-left)/vg.Length(columns), 60)
	top := m.height - heatTop
	decimals := m.decimals()
	m.corners = [len(causeNames)][]vg.Point{}
	fit := cw-2 >= m.widest(s, rows, columns, decimals)
	for i := range rows {
		y1 := top - m.rowH*vg.Length(i)
		s.text(left-6, y1-m.rowH/2-2.6, flushRight, th.textSize, th.text, names[i])
		for k := range columns {
			x0 := left + cw*vg.Length(k)
			m.paintCell(s, &m.cells[i][k], x0, y1-m.rowH, x0+cw, y1, fit, decimals)
		}
	}
	m.paintCorners(s)
	m.paintColumns(s, left, top, cw, columns)
	m.paintKey(s, right)
}

// decimals of the numbers in the cells: none for turns and whole values.
func (m *heat) decimals() int {
	if m.hi >= 20 || m.hi == 0 {
		return 0
	}
	for i := range m.cells {
		for _, cell := range m.cells[i] {
			if cell.value != math.Trunc(cell.value) {
				if m.hi > 1 {
					return 1
				}
				return 2
			}
		}
	}
	return 0
}

func (m *heat) widest(s *sheet, rows, columns, decimals int) vg.Length {
	w := vg.Length(0)
	for i := range rows {
		for k := range columns {
			w = max(w, s.width(number(m.cells[i][k].value, decimals), m.th.tickSize))
		}
	}
	return w
}

// paintCell draws one cell; the corner dot needs room beside the number.
func (m *heat) paintCell(s *sheet, cell *heatCell, x0, y0, x1, y1 vg.Length, fit bool, decimals int) {
	th := m.th
	gap := vg.Length(0.5)
	if x1-x0 < 4 {
		gap = 0
	}
	if cell.runs == 0 {
		if gap > 0 {
			s.hatch(x0+gap, y0+gap, x1-gap, y1-gap, 3, th.grid)
		}
		return
	}
	fill := th.ofValue(0.5)
	if m.hi > m.lo {
		fill = th.ofValue((cell.value - m.lo) / (m.hi - m.lo))
	}
	s.rect(x0+gap, y0+gap, x1-gap, y1-gap, fill)
	ink := th.inkOn(fill)
	cx, cy := (x0+x1)/2, (y0+y1)/2
	switch {
	case cell.full && m.c.cap() > 0:
		s.diamond(cx, cy, min(3.2, (x1-x0)/2-0.6, (y1-y0)/2-1), ink)
	case fit:
		s.text(cx, cy-2.5, centred, th.tickSize, ink, number(cell.value, decimals))
	}
	if cell.cause == noCause && !cell.stopped || x1-x0 < 6 {
		return
	}
	mark := cell.cause
	if cell.stopped {
		mark = noCause
	}
	m.corners[mark] = append(m.corners[mark], vg.Point{X: x1 - gap - 2.2, Y: y1 - gap - 2.2})
}

// paintCorners draws the dots in the corners of all cells, those of a colour at once.
func (m *heat) paintCorners(s *sheet) {
	for k, at := range m.corners {
		mark := m.th.bench // of stopped runs, open
		if cause(k) != noCause {
			mark = m.th.ofCause(cause(k))
		}
		s.dots(at, 1.9, m.th.onDark) // keeps the dot apart from any fill
		s.dots(at, 1.4, mark)
		if cause(k) == noCause {
			s.dots(at, 0.7, m.th.onDark)
		}
	}
}

// paintColumns names the scenarios where all names fit, else says how they are sorted.
func (m *heat) paintColumns(s *sheet, left, top, cw vg.Length, columns int) {
	th := m.th
	names := make([]string, columns)
	fit := true
	for k := range names {
		names[k] = s.printable(m.columns[k].name)
		fit = fit && s.width(names[k], th.tickSize) <= cw-1.5
	}
	if !fit {
		s.text(left, top+4, flushLeft, th.tickSize, th.text, s.shorten(fmt.Sprintf("%d scenarios, easy to hard", columns), th.tickSize, th.page-figureMargin-left))
		return
	}
	for k, name := range names {
		s.text(left+cw*(vg.Length(k)+0.5), top+4, centred, th.tickSize, th.text, name)
	}
}

// paintKey draws the scale and what the marks mean; in one column the marks stand below the scale.
func (m *heat) paintKey(s *sheet, right vg.Length) {
	th := m.th
	const bar, steps = vg.Length(90), 30
	x, y := figureMargin, figureMargin+4+m.below
	lo, hi := tickText(round1(m.lo)), tickText(round1(m.hi))
	s.text(x, y, flushLeft, th.tickSize, th.text, lo)
	x += s.width(lo, th.tickSize) + 4
	for i := range steps {
		s.rect(x+bar*vg.Length(i)/steps, y-1, x+bar*vg.Length(i+1)/steps+0.2, y+6, th.ofValue((float64(i)+0.5)/steps))
	}
	x += bar + 4
	s.text(x, y, flushLeft, th.tickSize, th.text, hi)
	x += s.width(hi, th.tickSize) + 13
	s.text(figureMargin, y+11, flushLeft, th.tickSize, th.text, s.shorten(s.printable(m.words()), th.tickSize, right-figureMargin))
	var items []keyItem
	if m.c.cap() > 0 {
		items = append(items, keyItem{"full pass", 6, func(x, y vg.Length) { s.diamond(x+3, y+2.5, 3, th.text) }})
	}
	for _, k := range m.marks() {
		if k == noCause {
			items = append(items, keyItem{"stopped (at least)", 4, func(x, y vg.Length) { s.ring(x+2, y+2.5, 1.4, 1, th.bench, false) }})
			continue
		}
		items = append(items, keyItem{k.String(), 4, func(x, y vg.Length) { s.dot(x+2, y+2.5, 1.9, th.ofCause(k)) }})
	}
	if m.below > 0 {
		x, y = figureMargin, y-keyRow-1
	}
	s.key(x, y, figureMargin, right, items)
}

// marks are the corner dots that occur; noCause stands for stopped runs.
func (m *heat) marks() []cause {
	var seen [len(causeNames)]bool
	stopped := false
	for i := range m.cells {
		for _, cell := range m.cells[i] {
			seen[cell.cause] = seen[cell.cause] || !cell.stopped
			stopped = stopped || cell.stopped
		}
	}
	var out []cause
	for _, k := range causes() {
		if seen[k] {
			out = append(out, k)
		}
	}
	if stopped {
		out = append(out, noCause)
	}
	return out
}

func (m *heat) caption() string {
	rows, columns := m.shown()
	if rows == 0 {
		return "No runs."
	}
	s := "Rows by mean, columns from easy to hard (mean over configurations)."
	if m.c.runs.hi > 1 {
		s += " Cells are means of repeats."
	}
	if len(m.marks()) > 0 {
		s += " Corner dot: what ended the run."
	}
	if slices.ContainsFunc(m.cells, func(row []heatCell) bool {
		return slices.ContainsFunc(row, func(cell heatCell) bool { return cell.runs == 0 })
	}) {
		s += " Hatched: not run."
	}
	if rows < len(m.c.Configs) || columns < len(m.columns) {
		s += fmt.Sprintf(" The first %d of %d rows and %d of %d columns; the CSV file has all.", rows, len(m.c.Configs), columns, len(m.columns))
	}
	return s
}

// sentence says how much the scenarios differ.
func (m *heat) sentence() string {
	if len(m.columns) < 2 {
		return ""
	}
	first, last := m.columns[0], m.columns[len(m.columns)-1]
	sc := scaleOf(m.c)
	if first.mean == last.mean {
		return fmt.Sprintf("All %d scenarios were equally hard (mean %s).", len(m.columns), number(first.mean, sc.mean))
	}
	s := fmt.Sprintf("Scenarios differ: over all configurations the mean goes from %s in %s to %s in %s", number(first.mean, sc.mean), shorten(Clean(first.name), 60), number(last.mean, sc.mean), shorten(Clean(last.name), 60))
	if m.c.sameScenarios() && len(m.c.Configs) > 1 {
		s += ", which is why pairs are compared scenario by scenario"
	}
	return s + "."
}

// csv holds one row per configuration and scenario, in the order of the figure.
func (m *heat) csv() ([]byte, error) {
	rows := [][]string{{"config", "scenario", "runs", "mean", "full", "stopped", "cause"}}
	for i := range m.cells {
		for k := range m.cells[i] {
			cell := &m.cells[i][k]
			if cell.runs == 0 {
				continue
			}
			full := ""
			if m.c.cap() > 0 {
				full = strconv.FormatBool(cell.full)
			}
			rows = append(rows, []string{m.c.Configs[i].Config, m.columns[k].name, strconv.Itoa(cell.runs), plain(&cell.value), full, strconv.FormatBool(cell.stopped), cell.cause.String()})
		}
	}
	return csvBytes("heat-map", rows)
}
