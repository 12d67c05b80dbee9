package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stint-bench/stint/stats"
)

// maxDifferences is the number of pairs whose differences are drawn.
const maxDifferences = 6

// differencesOf lists the differences of a pair, the largest first; names gives the scenario of a pairing key.
func differencesOf(p *stats.Pairs, names map[string]string) []scenarioDifference {
	out := make([]scenarioDifference, len(p.Scenarios))
	for i, key := range p.Scenarios {
		out[i] = scenarioDifference{scenario: names[key], a: p.A[i], b: p.B[i], d: p.D[i]}
	}
	for _, i := range p.Undecided {
		out[i].stopped = true
	}
	slices.SortStableFunc(out, func(x, y scenarioDifference) int {
		if c := cmp.Compare(y.d, x.d); c != 0 {
			return c
		}
		return strings.Compare(x.scenario, y.scenario)
	})
	return out
}

// PairedDifferences draws pairs of a family one by one: a bar for every scenario, sorted, level scenarios as dots on
// the line of zero, and at the side the typical difference with its interval, filled if it is significant, open if not,
// of dots if it could not have been. Of a family with more than six pairs it draws the six with the smallest p. ok is
// false if no pair shares a scenario.
func PairedDifferences(c *Comparison, family int) (fig Figure, ok bool, err error) {
	f := &c.Families[family]
	p := differencePlot{c: c, f: f}
	for i := range f.Pairs {
		if f.Pairs[i].Diff != nil {
			p.all++
			p.pairs = append(p.pairs, &f.Pairs[i])
		}
	}
	if p.all == 0 {
		return Figure{}, false, nil
	}
	if p.all > maxDifferences {
		slices.SortStableFunc(p.pairs, func(x, y *PairResult) int { return cmp.Compare(pOrOne(x), pOrOne(y)) })
		p.pairs = p.pairs[:maxDifferences]
	}
	fig = Figure{Name: "paired-differences", Title: "Differences by scenario in the family " + strconv.Quote(Clean(f.Name))}
	if family > 0 {
		fig.Name += "-" + strconv.Itoa(family+1)
	}
	fig, err = drawFigure(fig, &p)
	return fig, err == nil, err
}

func pOrOne(p *PairResult) float64 {
	if p.P == nil {
		return 1
	}
	return *p.P
}

type differencePlot struct {
	c      *Comparison
	f      *FamilyResult
	pairs  []*PairResult // those drawn
	all    int           // pairs that share a scenario
	th     theme
	grid   panelGrid
	height vg.Length
}

const (
	differenceArea = vg.Length(96)
	differenceHead = vg.Length(34)
)

func (p *differencePlot) layout(th theme) vg.Length {
	p.th = th
	across := 2
	if th.narrow() {
		across = 1
	}
	h := differenceArea + differenceHead + 14
	p.grid = newPanelGrid(th, len(p.pairs), across, h)
	p.height = h*vg.Length(p.grid.rows()) + 16 + keyRow*p.keyRows()
	p.grid.top = p.height - 12
	return p.height
}

// keyRows is the number of rows of the key.
func (p *differencePlot) keyRows() vg.Length {
	if p.th.narrow() && p.stopped() {
		return 3
	}
	return 2
}

// stopped reports whether a run of a pair drawn was stopped.
func (p *differencePlot) stopped() bool {
	return slices.ContainsFunc(p.pairs, func(q *PairResult) bool {
		return slices.ContainsFunc(q.differences, func(d scenarioDifference) bool { return d.stopped })
	})
}

func (p *differencePlot) paint(s *sheet) {
	th := p.th
	head := "difference in " + p.c.unitWords() + ", first minus second"
	s.text(figureMargin, p.height-9, flushLeft, th.tickSize, th.text, s.shorten(s.printable(head), th.tickSize, th.page-2*figureMargin))
	y := p.scale()
	for i, q := range p.pairs {
		left, top := p.grid.at(i)
		p.paintPanel(s, q, y, left, top)
	}
	p.paintKey(s)
}

// unitWords names what differences are made of.
func (c *Comparison) unitWords() string {
	if c.turns() {
		return "turns passed"
	}
	return c.outcomeWords()
}

// scale is the axis that all panels share, without its positions.
func (p *differencePlot) scale() axis {
	a := axis{}
	for _, q := range p.pairs {
		for _, d := range q.differences {
			a.lo, a.hi = math.Min(a.lo, d.d), math.Max(a.hi, d.d)
		}
		if _, ci := p.typical(q); ci != nil {
			a.lo, a.hi = math.Min(a.lo, ci[0]), math.Max(a.hi, ci[1])
		}
	}
	if a.lo == a.hi {
		a.lo, a.hi = -1, 1
	}
	return a
}

// typical is the Hodges–Lehmann difference, or that of the means where it is undefined.
func (p *differencePlot) typical(q *PairResult) (v float64, ci *[2]float64) {
	if q.HL != nil {
		return *q.HL, q.HLCI
	}
	return *q.Diff, q.DiffCI
}

func (p *differencePlot) paintPanel(s *sheet, q *PairResult, y axis, left, top vg.Length) {
	th := p.th
	w := p.grid.width - 12
	half := (w - s.width(" − ", th.textSize)) / 2
	name := s.shorten(s.printable(p.c.Short(q.A)), th.textSize, half) + " − " + s.shorten(s.printable(p.c.Short(q.B)), th.textSize, half)
	s.text(left, top-12, flushLeft, th.textSize, th.text, name)
	s.text(left, top-21, flushLeft, th.tickSize, th.text, s.shorten(p.words(q), th.tickSize, w))
	y.to = top - differenceHead
	y.from = y.to - differenceArea
	x := axis{lo: 0, hi: float64(max(1, len(q.differences))), from: left + 26, to: left + w - 34}
	for _, v := range ticks(y.lo, y.hi, 4) {
		s.line(x.from, y.at(v), left+w, y.at(v), th.gridWidth, th.grid, nil)
		s.text(x.from-4, y.at(v)-2.4, flushRight, th.tickSize, th.text, tickText(v))
	}
	p.paintBars(s, q, x, y)
	s.line(x.from, y.at(0), left+w, y.at(0), th.lineWidth, th.text, nil)
	p.paintLevel(s, q, x, y)
	at := left + w - 14
	v, ci := p.typical(q)
	if ci != nil {
		s.line(at, y.at(ci[0]), at, y.at(ci[1]), 1.6*th.lineWidth, th.text, nil)
		for _, end := range ci {
			s.line(at-2, y.at(end), at+2, y.at(end), th.lineWidth, th.text, nil)
		}
	}
	s.verdict(at, y.at(v), q.Decision)
}

// paintBars draws the scenarios that are not level; those with a stopped run are hatched.
func (p *differencePlot) paintBars(s *sheet, q *PairResult, x, y axis) {
	gap := min(0.8, (x.to-x.from)/vg.Length(4*max(1, len(q.differences))))
	var ahead, behind [][2]vg.Point
	for i, d := range q.differences {
		x0, x1 := x.at(float64(i))+gap/2, x.at(float64(i+1))-gap/2
		if x1-x0 > 14 { // few scenarios: bars, not blocks
			mid := (x0 + x1) / 2
			x0, x1 = mid-7, mid+7
		}
		bar := [2]vg.Point{{X: x0, Y: y.at(0)}, {X: x1, Y: y.at(d.d)}}
		switch {
		case d.stopped:
			s.hatch(x0, min(y.at(0), y.at(d.d)), x1, max(y.at(0), y.at(d.d)), 2.4, p.th.bench)
		case d.d > 0:
			ahead = append(ahead, bar)
		case d.d < 0:
			behind = append(behind, [2]vg.Point{{X: x0, Y: y.at(d.d)}, {X: x1, Y: y.at(0)}})
		}
	}
	s.rects(ahead, p.th.ahead)
	s.rects(behind, p.th.behind)
}

// paintLevel draws the level scenarios.
func (p *differencePlot) paintLevel(s *sheet, q *PairResult, x, y axis) {
	for i, d := range q.differences {
		if d.d == 0 {
			at := x.at(float64(i) + 0.5)
			r := min(2.2, (x.to-x.from)/vg.Length(2*len(q.differences)))
			s.dot(at, y.at(0), r, p.th.background)
			s.ring(at, y.at(0), r-0.3, 0.7, p.th.text, d.stopped)
		}
	}
}

// words sums a pair up in a line.
func (p *differencePlot) words(q *PairResult) string {
	text := fmt.Sprintf("%d ahead, %d level, %d behind", q.Ahead, q.Level, q.Behind)
	if q.Undecided > 0 {
		text += fmt.Sprintf(", %d open", q.Undecided)
	}
	v, ci := p.typical(q)
	text += "; " + signed(v, scaleOf(p.c).mean)
	if ci != nil {
		text += " (" + interval(ci, scaleOf(p.c).mean, ci[1] < 0) + ")"
	}
	return text
}

func (p *differencePlot) paintKey(s *sheet) {
	th := p.th
	patch := func(word string, paint func(x0, y0, x1, y1 vg.Length)) keyItem {
		return keyItem{word, 7, func(x, y vg.Length) { paint(x, y-1, x+7, y+6) }}
	}
	items := []keyItem{
		patch("ahead", func(x0, y0, x1, y1 vg.Length) { s.rect(x0, y0, x1, y1, th.ahead) }),
		patch("behind", func(x0, y0, x1, y1 vg.Length) { s.rect(x0, y0, x1, y1, th.behind) }),
		{"level", 5, func(x, y vg.Length) { s.ring(x+2.5, y+2.5, 1.9, 0.7, th.text, false) }},
	}
	if p.stopped() {
		items = append(items, patch("a run was stopped", func(x0, y0, x1, y1 vg.Length) { s.hatch(x0, y0, x1, y1, 2.4, th.bench) }))
	}
	s.key(figureMargin, figureMargin+keyRow*(p.keyRows()-1), figureMargin, th.page-figureMargin, items)
	s.key(figureMargin, figureMargin, figureMargin, th.page-figureMargin, []keyItem{
		{"significant", 6, func(x, y vg.Length) { s.verdict(x+3, y+2.5, DecisionAhead) }},
		{"not", 6, func(x, y vg.Length) { s.verdict(x+3, y+2.5, DecisionUndecided) }},
		{"could not have been", 6, func(x, y vg.Length) { s.verdict(x+3, y+2.5, DecisionCannot) }},
	})
}

func (p *differencePlot) caption() string {
	s := "A bar is a shared scenario"
	if p.c.runs.hi > 1 {
		s += " (means of its repeats)"
	}
	s += "; level ones are dots on the line. At the side: "
	mean, typical := 0, 0
	for _, q := range p.pairs {
		if q.HL != nil {
			typical++
		} else {
			mean++
		}
	}
	switch {
	case mean == 0:
		s += "typical difference (Hodges–Lehmann) with its 95 % interval."
	case typical == 0:
		s += "difference of the means with its 95 % interval."
	default:
		s += "typical difference (Hodges–Lehmann; of the means where too many runs reach the cap) with its 95 % interval."
	}
	if p.stopped() {
		s += " Hatched: a run was stopped, the bar is what is known."
	}
	if n := p.all - len(p.pairs); n > 0 {
		s += fmt.Sprintf(" The %d pairs with the smallest p of %d; the matrix has all.", len(p.pairs), p.all)
	}
	return s
}

// sentence tells the first pair.
func (p *differencePlot) sentence() string { return p.c.pairSentence(p.f, p.pairs[0]) }

func (p *differencePlot) csv() ([]byte, error) {
	rows := [][]string{{"row", "a", "b", "scenario", "value_a", "value_b", "difference", "ci_lo", "ci_hi", "method", "stopped", "decision"}}
	for _, q := range p.pairs {
		v, ci := p.typical(q)
		lo, hi, method := "", "", "Hodges-Lehmann"
		if ci != nil {
			lo, hi = plain(&ci[0]), plain(&ci[1])
		}
		if q.HL == nil {
			method = "means"
		}
		rows = append(rows, []string{"typical", q.A, q.B, "", "", "", plain(&v), lo, hi, method, "", q.Decision})
		for _, d := range q.differences {
			rows = append(rows, []string{"scenario", q.A, q.B, d.scenario, plain(&d.a), plain(&d.b), plain(&d.d), "", "", "", strconv.FormatBool(d.stopped), ""})
		}
	}
	return csvBytes("paired-differences", rows)
}
