package report

import (
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// maxMatrix is the number of configurations a pairwise matrix shows.
const maxMatrix = 60

// PairwiseMatrix draws a family of pairs: below the diagonal the effect of the row against the column, above it in
// how many scenarios the row was ahead, level and behind. A border means significant, hatching that the pair could
// not have been.
func PairwiseMatrix(c *Comparison, family int) (Figure, error) {
	m := newMatrix(c, &c.Families[family])
	fig := Figure{Name: "pairwise-matrix", Title: "Pairs of the family " + strconv.Quote(Clean(m.f.Name))}
	if family > 0 {
		fig.Name += "-" + strconv.Itoa(family+1)
	}
	return drawFigure(fig, m)
}

type matrix struct {
	c       *Comparison
	f       *FamilyResult
	th      theme
	configs []string // members of the family, by mean
	pairs   map[[2]string]*PairResult
	cell    vg.Length
	nameW   vg.Length
	bottom  vg.Length
	height  vg.Length
	bars    [3][][2]vg.Point // ahead, level, behind, where text does not fit
}

const (
	matrixTop    = vg.Length(16)
	matrixBottom = vg.Length(40)
)

func newMatrix(c *Comparison, f *FamilyResult) *matrix {
	m := &matrix{c: c, f: f, pairs: make(map[[2]string]*PairResult)}
	member := make(map[string]bool)
	for i := range f.Pairs {
		p := &f.Pairs[i]
		m.pairs[[2]string{p.A, p.B}] = p
		member[p.A], member[p.B] = true, true
	}
	for i := range c.Configs {
		if name := c.Configs[i].Config; member[name] {
			m.configs = append(m.configs, name)
			delete(member, name)
		}
	}
	// Those without runs come last.
	m.configs = append(m.configs, sortedKeys(member)...)
	return m
}

// shown is the number of rows drawn.
func (m *matrix) shown() int { return min(len(m.configs), maxMatrix) }

func (m *matrix) layout(th theme) vg.Length {
	m.th = th
	n := m.shown()
	m.nameW = 0.3 * m.th.page
	m.cell = min((m.th.page-2*figureMargin-m.nameW-22)/vg.Length(max(1, n)), 46)
	m.bottom = matrixBottom
	if th.narrow() {
		m.bottom += keyRow
	}
	m.height = matrixTop + m.bottom + m.rowHeight()*vg.Length(max(1, n))
	return m.height
}

// rowHeight is flatter than the cell is wide where there is room for its text, and never too flat for a name.
func (m *matrix) rowHeight() vg.Length { return max(min(m.cell, 20), 8.5) }

func (m *matrix) paint(s *sheet) {
	th := m.th
	n := m.shown()
	names := make([]string, n)
	for i := range names {
		names[i] = s.shorten(s.printable(m.c.Short(m.configs[i])), th.textSize, m.nameW)
	}
	top, rowH := m.height-matrixTop, m.rowHeight()
	size := min(th.textSize, rowH-1)
	left := figureMargin + 22
	for _, name := range names {
		left = max(left, figureMargin+22+s.width(s.shorten(name, size, m.nameW), size))
	}
	m.bars = [3][][2]vg.Point{}
	fit, free := m.textFits(s, n), left // free is the end of the last label of a column
	for i := range n {
		y1 := top - rowH*vg.Length(i)
		label := strconv.Itoa(i + 1)
		s.text(left-4, y1-rowH/2-0.33*size, flushRight, size, th.text, label)
		s.text(left-20, y1-rowH/2-0.33*size, flushRight, size, th.text, s.shorten(names[i], size, m.nameW))
		at, half := left+m.cell*(vg.Length(i)+0.5), s.width(label, th.tickSize)/2
		if (i == 0 || at-half >= free+3) && at+half <= th.page {
			s.text(at, top+4, centred, th.tickSize, th.text, label)
			free = at + half
		}
		for k := range n {
			x0 := left + m.cell*vg.Length(k)
			m.paintCell(s, i, k, x0+0.5, y1-rowH+0.5, x0+m.cell-0.5, y1-0.5, fit)
		}
	}
	for i, col := range []color.Color{th.more, th.grid, th.less} {
		s.rects(m.bars[i], col)
	}
	m.paintKey(s)
}

// seen returns the pair of two rows as the first sees it: +1 if the pair is stored so, -1 if the other way round.
func (m *matrix) seen(i, k int) (*PairResult, float64) {
	if p := m.pairs[[2]string{m.configs[i], m.configs[k]}]; p != nil {
		return p, 1
	}
	return m.pairs[[2]string{m.configs[k], m.configs[i]}], -1
}

// counts writes ahead–level–behind as the row sees them.
func counts(p *PairResult, sign float64) string {
	if sign < 0 {
		return fmt.Sprintf("%d–%d–%d", p.Behind, p.Level, p.Ahead)
	}
	return fmt.Sprintf("%d–%d–%d", p.Ahead, p.Level, p.Behind)
}

// textFits reports whether the texts of both triangles fit their cells.
func (m *matrix) textFits(s *sheet, n int) bool {
	if m.rowHeight() < 9 {
		return false
	}
	sc := scaleOf(m.c)
	for i := range n {
		for k := range n {
			p, sign := m.seen(i, k)
			if i == k || p == nil || p.Diff == nil {
				continue
			}
			text := counts(p, sign)
			if k < i {
				text = signed(sign**p.Diff, sc.mean)
			}
			if s.width(text, m.th.tickSize) > m.cell-5 {
				return false
			}
		}
	}
	return true
}

// paintCell draws the effect below the diagonal and the counts above it.
func (m *matrix) paintCell(s *sheet, i, k int, x0, y0, x1, y1 vg.Length, fit bool) {
	th := m.th
	p, sign := m.seen(i, k)
	cx, cy := (x0+x1)/2, (y0+y1)/2
	switch {
	case i == k:
		s.rect(x0, y0, x1, y1, thin(th.grid, 0.6))
		return
	case p == nil:
		s.dot(cx, cy, 0.7, th.faint)
		return
	}
	ink, text := th.text, ""
	var fill = th.background
	if k < i {
		if effect := m.effect(p); effect != nil {
			fill = th.ofEffect(sign * *effect)
			s.rect(x0, y0, x1, y1, fill)
			ink = th.inkOn(fill)
		}
		if p.Diff != nil {
			text = signed(sign**p.Diff, scaleOf(m.c).mean)
		}
	} else if p.Diff != nil {
		text = counts(p, sign)
		if !fit {
			m.addCounts(p, sign, x0+1, y0+1, x1-1, y1-1)
		}
	}
	if p.Decision == DecisionCannot {
		s.hatch(x0, y0, x1, y1, 3.2, thin(th.faint, 0.75))
	}
	if fit && text != "" {
		if p.Decision == DecisionCannot {
			w := s.width(text, th.tickSize)/2 + 1
			s.rect(cx-w, cy-4, cx+w, cy+4, fill)
		}
		s.text(cx, cy-2.5, centred, th.tickSize, ink, text)
	}
	if p.Decision == DecisionAhead || p.Decision == DecisionBehind {
		s.frame(x0, y0, x1, y1, min(1.2, (x1-x0)/5), th.text)
	}
}

// addCounts makes a bar of three parts of the counts where their text does not fit.
func (m *matrix) addCounts(p *PairResult, sign float64, x0, y0, x1, y1 vg.Length) {
	if p.N == 0 {
		return
	}
	ahead, behind := p.Ahead, p.Behind
	if sign < 0 {
		ahead, behind = behind, ahead
	}
	w := (x1 - x0) / vg.Length(p.N)
	a, b := x0+w*vg.Length(ahead), x1-w*vg.Length(behind)
	mid, h := (y0+y1)/2, min(2.5, (y1-y0)/2)
	for i, ends := range [3][2]vg.Length{{x0, a}, {a, b}, {b, x1}} {
		m.bars[i] = append(m.bars[i], [2]vg.Point{{X: ends[0], Y: mid - h}, {X: ends[1], Y: mid + h}})
	}
}

// effect is the rank-biserial correlation, or the share ahead minus the share behind of a pair not tested.
func (m *matrix) effect(p *PairResult) *float64 {
	if p.RankBiserial != nil {
		return p.RankBiserial
	}
	if p.Diff == nil || p.N == 0 {
		return nil
	}
	return ptr(float64(p.Ahead-p.Behind) / float64(p.N))
}

// paintKey draws the scale and the signs.
func (m *matrix) paintKey(s *sheet) {
	th := m.th
	const steps = 21
	lines, bar := []string{"below: row against column (colour: rank-biserial) · above: scenarios ahead–level–behind"}, vg.Length(70)
	if th.narrow() {
		lines, bar = []string{"below: row against column (colour: rank-biserial)", "above: scenarios ahead–level–behind"}, 28
	}
	y, x := figureMargin+4, figureMargin
	for i, line := range lines {
		s.text(x, y+12+keyRow*vg.Length(len(lines)-1-i), flushLeft, th.tickSize, th.text, line)
	}
	s.text(x, y, flushLeft, th.tickSize, th.text, "−1")
	x += s.width("−1", th.tickSize) + 4
	for i := range steps {
		s.rect(x+bar*vg.Length(i)/steps, y-1, x+bar*vg.Length(i+1)/steps+0.2, y+6, th.ofEffect(2*(float64(i)+0.5)/steps-1))
	}
	x += bar + 4
	s.text(x, y, flushLeft, th.tickSize, th.text, "+1")
	x += s.width("+1", th.tickSize) + 14
	s.key(x, y, x, th.page, []keyItem{
		{"significant", 14, func(x, y vg.Length) { s.frame(x, y-1.5, x+14, y+6.5, 1.2, th.text) }},
		{"could not have been", 14, func(x, y vg.Length) { s.hatch(x, y-1.5, x+14, y+6.5, 3.2, th.faint) }},
	})
}

func (m *matrix) caption() string {
	s := capital(familyLine(m.f)) + "."
	if n := len(m.configs) - m.shown(); n > 0 {
		s += fmt.Sprintf(" %d more configurations are in the CSV file only.", n)
	}
	return s
}

// sentence sums up the family.
func (m *matrix) sentence() string {
	if s := cannotSentence(m.f); s != "" {
		return s
	}
	return m.c.sumSentence(m.f)
}

func (m *matrix) csv() ([]byte, error) {
	rows := [][]string{{"a", "b", "n", "ahead", "level", "behind", "diff", "rank_biserial", "p", "holm", "least", "decision"}}
	for i := range m.f.Pairs {
		p := &m.f.Pairs[i]
		row := []string{p.A, p.B, strconv.Itoa(p.N), "", "", "", plain(p.Diff), plain(p.RankBiserial), plain(p.P), plain(p.Holm), plain(p.Least), p.Decision}
		if p.Diff != nil {
			row[3], row[4], row[5] = strconv.Itoa(p.Ahead), strconv.Itoa(p.Level), strconv.Itoa(p.Behind)
		}
		rows = append(rows, row)
	}
	return csvBytes("pairwise-matrix", rows)
}
