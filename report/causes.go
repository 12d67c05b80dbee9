package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stint-bench/stint/stats"
)

// The causes figure shows so many configurations, and so many leaves of a cause apart.
const (
	maxCausePanels  = 12
	maxNarrowCauses = 5
	maxLeaves       = 3
	maxEndings      = 8 // of one configuration, so that their labels have room
)

// An ending is a cause and, within it, a leaf; "" stands for all other leaves.
type ending struct {
	cause cause
	leaf  string
	tint  float64 // opacity of the cause's colour
}

// A causePanel is the cumulative incidence of one configuration.
type causePanel struct {
	config  string
	endings []ending
	counts  []int
	full    int
	stopped int
	n       int
	cif     stats.Incidence
}

// CausesFigure draws, per configuration, the share of runs that had ended by each cause after t turns, stacked,
// with full passes on top. ok is false without verdicts.
func CausesFigure(c *Comparison) (fig Figure, ok bool, err error) {
	if !c.verdicts || !c.turns() {
		return Figure{}, false, nil
	}
	panels, err := c.causePanels()
	if err != nil || len(panels) == 0 {
		return Figure{}, false, err
	}
	p := causePlot{c: c, panels: panels}
	fig, err = drawFigure(Figure{Name: "causes", Title: "What ended the runs"}, &p)
	return fig, err == nil, err
}

// causePanels estimates all configurations.
func (c *Comparison) causePanels() ([]causePanel, error) {
	var out []causePanel
	for i := range c.Configs {
		r := &c.Configs[i]
		if r.N == 0 {
			continue
		}
		p := causePanel{config: r.Config, n: r.N, endings: r.endings()}
		p.counts = make([]int, len(p.endings))
		times, kinds := make([]float64, r.N), make([]int, r.N)
		for k := range r.runs {
			u := &r.runs[k]
			times[k] = u.value
			switch u.status {
			case stats.Stopped:
				times[k]--
				p.stopped++
			case stats.Capped:
				p.full++
			default:
				e := p.find(u)
				p.counts[e]++
				kinds[k] = e + 1
			}
		}
		var err error
		if p.cif, err = stats.CumulativeIncidence(times, kinds, max(1, len(p.endings))); err != nil {
			return nil, fmt.Errorf("cumulative incidence of %s: %w", Clean(r.Config), err)
		}
		out = append(out, p)
	}
	return out, nil
}

// endings lists the causes of a configuration's failed runs with their most frequent leaves, as many as there is room
// to name.
func (r *ConfigResult) endings() []ending {
	leaves := maxLeaves
	out := r.endingsWith(leaves)
	for len(out) > maxEndings && leaves > 0 {
		leaves--
		out = r.endingsWith(leaves)
	}
	return out
}

// endingsWith lists the causes with at most so many leaves of each.
func (r *ConfigResult) endingsWith(leaves int) []ending {
	var out []ending
	for _, k := range causes() {
		count := make(map[string]int)
		for i := range r.runs {
			if r.runs[i].cause == k {
				count[leafName(r.runs[i].row.EndLeaf)]++
			}
		}
		names := sortedKeys(count)
		slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
		rest := count[""] > 0
		names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
		if len(names) > leaves {
			names, rest = names[:leaves], true
		}
		for i, n := range names {
			out = append(out, ending{k, n, 1 - 0.25*float64(i)})
		}
		if rest {
			out = append(out, ending{k, "", 1 - 0.25*float64(len(names))})
		}
	}
	return out
}

// leafName is a leaf without the cause before it.
func leafName(leaf string) string {
	if _, name, ok := strings.Cut(leaf, "."); ok {
		return name
	}
	return leaf
}

// find returns the index of a failed run's ending.
func (p *causePanel) find(u *run) int {
	name := leafName(u.row.EndLeaf)
	rest := 0
	for i, e := range p.endings {
		switch {
		case e.cause != u.cause:
		case e.leaf == name:
			return i
		case e.leaf == "":
			rest = i
		}
	}
	return rest
}

// words names an ending in a label.
func (p *causePanel) words(i int) string {
	e := p.endings[i]
	if e.leaf != "" {
		return e.leaf
	}
	for k, o := range p.endings {
		if k != i && o.cause == e.cause {
			return "other " + e.cause.String()
		}
	}
	return e.cause.String()
}

type causePlot struct {
	c      *Comparison
	th     theme
	panels []causePanel
	grid   panelGrid
	area   vg.Length // height of a plot
	below  vg.Length // room for a second row of the key
	height vg.Length
}

const (
	causeArea  = vg.Length(96)
	causeFrame = vg.Length(40) // above and below the area
	causeLabel = vg.Length(72)
)

func (p *causePlot) layout(th theme) vg.Length {
	p.th = th
	across, most := 3, maxCausePanels
	p.area = causeArea
	if th.narrow() {
		across, most, p.area = 1, maxNarrowCauses, 80
	}
	h := p.area + causeFrame
	p.grid = newPanelGrid(th, min(len(p.panels), most), across, h)
	p.height = h*vg.Length(p.grid.rows()) + 34
	p.below = 0
	if th.narrow() {
		p.below = keyRow // the key takes two rows
		p.height += keyRow
	}
	p.grid.top = p.height - 14 - p.below
	return p.height
}

func (p *causePlot) paint(s *sheet) {
	th := p.th
	var items []keyItem
	key := func(word string, paint func(x0, y0, x1, y1 vg.Length)) {
		items = append(items, keyItem{word, 8, func(x, y vg.Length) { paint(x, y-1, x+8, y+6) }})
	}
	for _, k := range causes() {
		if slices.ContainsFunc(p.panels, func(q causePanel) bool {
			return slices.ContainsFunc(q.endings, func(e ending) bool { return e.cause == k })
		}) {
			key(k.String(), func(x0, y0, x1, y1 vg.Length) { p.patch(s, k, 1, x0, y0, x1, y1) })
		}
	}
	key("full pass", func(x0, y0, x1, y1 vg.Length) { s.rect(x0, y0, x1, y1, th.full) })
	items = append(items, keyItem{word: "no colour: still going"})
	s.key(figureMargin, p.height-10, figureMargin, th.page-figureMargin, items)
	for i := range p.grid.n {
		left, top := p.grid.at(i)
		p.paintPanel(s, &p.panels[i], left, top)
	}
	s.text(th.page/2, figureMargin-1, centred, th.textSize, th.text, "turns passed")
}

// patch fills a rectangle with the colour of a cause; what is unknown is hatched, so that it is told apart in print.
func (p *causePlot) patch(s *sheet, k cause, tint float64, x0, y0, x1, y1 vg.Length) {
	s.rect(x0, y0, x1, y1, thin(p.th.ofCause(k), tint))
	if k == causeUnknown {
		s.hatch(x0, y0, x1, y1, 2.6, p.th.bench)
	}
}

// upper is the end of the time axis.
func (p *causePlot) upper() float64 {
	if p.c.cap() > 0 {
		return p.c.cap()
	}
	most := 1.0
	for i := range p.panels {
		for _, t := range p.panels[i].cif.Times {
			most = max(most, t)
		}
	}
	return most
}

func (p *causePlot) paintPanel(s *sheet, q *causePanel, left, top vg.Length) {
	th := p.th
	w := p.grid.width - 8
	s.text(left, top-12, flushLeft, th.textSize, th.text, s.shorten(s.printable(p.c.Short(q.config)), th.textSize, w))
	label := causeLabel
	switch {
	case th.narrow():
		label = 84
	case p.grid.across == 1:
		label = 120
	}
	x := axis{lo: 0, hi: p.upper(), from: left + 26, to: left + w - label}
	y := axis{lo: 0, hi: 1, from: top - 22 - p.area, to: top - 22}
	for _, v := range []float64{0, 0.5, 1} {
		s.line(x.from, y.at(v), x.to, y.at(v), th.gridWidth, th.grid, nil)
		s.text(x.from-4, y.at(v)-2.4, flushRight, th.tickSize, th.text, number(100*v, 0)+" %")
	}
	lower := make([]float64, len(q.cif.Times))
	for i := range q.endings {
		upper := make([]float64, len(lower))
		for k := range upper {
			upper[k] = lower[k] + q.cif.CIF[i][k]
		}
		s.area(stairs(x, y, q.cif.Times, lower, upper), thin(th.ofCause(q.endings[i].cause), q.endings[i].tint))
		if q.endings[i].cause == causeUnknown {
			p.hatchStairs(s, x, y, q.cif.Times, lower, upper)
		}
		lower = upper
	}
	if q.full > 0 && len(q.cif.Survival) > 0 {
		s.rect(x.to-4, y.at(1-q.cif.Survival[len(q.cif.Survival)-1]), x.to, y.at(1), th.full)
	}
	n := 4
	if p.grid.across == 1 {
		n = 6
	}
	for _, v := range ticks(0, x.hi, n) {
		s.line(x.at(v), y.from, x.at(v), y.from-2.5, th.gridWidth, th.text, nil)
		s.text(x.at(v), y.from-10, centred, th.tickSize, th.text, tickText(v))
	}
	p.paintLabels(s, q, x.to+4, left+w, y)
}

// stairs is the outline between two step functions that are 0 before the first time.
func stairs(x, y axis, times, lower, upper []float64) []vg.Point {
	if len(times) == 0 {
		return nil
	}
	var up, down []vg.Point
	for k, t := range times {
		end := x.hi
		if k+1 < len(times) {
			end = times[k+1]
		}
		up = append(up, vg.Point{X: x.at(t), Y: y.at(upper[k])}, vg.Point{X: x.at(end), Y: y.at(upper[k])})
		down = append(down, vg.Point{X: x.at(t), Y: y.at(lower[k])}, vg.Point{X: x.at(end), Y: y.at(lower[k])})
	}
	slices.Reverse(down)
	return append(up, down...)
}

// hatchStairs hatches between two step functions.
func (p *causePlot) hatchStairs(s *sheet, x, y axis, times, lower, upper []float64) {
	for k, t := range times {
		end := x.hi
		if k+1 < len(times) {
			end = times[k+1]
		}
		s.hatch(x.at(t), y.at(lower[k]), x.at(end), y.at(upper[k]), 2.6, p.th.bench)
	}
}

// paintLabels names the areas at the right with their numbers of runs, as near to them as there is room.
func (p *causePlot) paintLabels(s *sheet, q *causePanel, left, right vg.Length, y axis) {
	th := p.th
	type label struct {
		text  string
		patch func(x0, y0, x1, y1 vg.Length)
		y     vg.Length
	}
	var labels []label
	base := 0.0
	for i := range q.endings {
		h := 0.0
		if n := len(q.cif.Times); n > 0 {
			h = q.cif.CIF[i][n-1]
		}
		labels = append(labels, label{strconv.Itoa(q.counts[i]) + " " + s.printable(q.words(i)), func(x0, y0, x1, y1 vg.Length) {
			p.patch(s, q.endings[i].cause, q.endings[i].tint, x0, y0, x1, y1)
		}, y.at(base + h/2)})
		base += h
	}
	if q.full > 0 {
		labels = append(labels, label{strconv.Itoa(q.full) + " full pass", func(x0, y0, x1, y1 vg.Length) { s.rect(x0, y0, x1, y1, th.full) }, y.at((base + 1) / 2)})
	}
	const room = vg.Length(8.6)
	for i := range labels {
		least := y.from
		if i > 0 {
			least = labels[i-1].y + room
		}
		labels[i].y = max(labels[i].y, least)
	}
	for i := len(labels) - 1; i >= 0; i-- {
		most := y.to + 2
		if i+1 < len(labels) {
			most = labels[i+1].y - room
		}
		labels[i].y = min(labels[i].y, most)
	}
	for _, l := range labels {
		l.patch(left, l.y-2, left+4, l.y+2)
		s.text(left+6, l.y-2.4, flushLeft, th.tickSize, th.text, s.shorten(l.text, th.tickSize, right-left-6))
	}
}

func (p *causePlot) caption() string {
	s := "Cumulative incidence (Aalen–Johansen) of the cause of the first failed turn, from the counting verdicts; numbers are runs."
	if b := p.c.bannerSentence(); b != "" {
		s = b + " " + s
	}
	if p.c.hasStopped() {
		s += " Stopped runs leave without a cause."
	}
	return s + moreWords(p.grid.n, len(p.panels), maxNarrowCauses)
}

// sentence tells the causes of the first four configurations.
func (p *causePlot) sentence() string {
	var out []string
	for i := range p.panels {
		if i == maxTold {
			out = append(out, fmt.Sprintf("%d more configurations are in the figure's table.", len(p.panels)-i))
			break
		}
		out = append(out, p.panelSentence(&p.panels[i]))
	}
	return strings.Join(out, " ")
}

func (p *causePlot) panelSentence(q *causePanel) string {
	var parts, shares []string
	words := map[cause]string{causeDrift: "in drift", causeInfra: "in the agent's own infrastructure", causeBench: "through the bench", causeUnknown: "for unknown reasons"}
	for _, k := range causes() {
		n, share := 0, 0.0
		for i, e := range q.endings {
			if e.cause == k {
				n += q.counts[i]
				share += q.cif.CIF[i][len(q.cif.Times)-1]
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d ended %s", n, words[k]))
			shares = append(shares, number(share, 2))
		}
	}
	s := fmt.Sprintf("Of %d %s of %s ", q.n, plural(q.n, "run", "runs"), p.c.told(q.config))
	if len(parts) > 0 {
		s += joinAnd(parts) + fmt.Sprintf(" (cumulative incidence by turn %s: %s)", compact(p.upper()), joinAnd(shares))
	}
	var rest []string
	if q.full > 0 {
		rest = append(rest, fmt.Sprintf("%d reached the cap", q.full))
	}
	if q.stopped > 0 {
		rest = append(rest, fmt.Sprintf("%d %s stopped", q.stopped, plural(q.stopped, "was", "were")))
	}
	if len(parts) > 0 && len(rest) > 0 {
		s += ", "
	}
	return s + joinAnd(rest) + "."
}

func (p *causePlot) csv() ([]byte, error) {
	rows := [][]string{{"config", "cause", "leaf", "runs", "turns_passed", "incidence", "still_going"}}
	for i := range p.panels {
		q := &p.panels[i]
		for e := range q.endings {
			for k, t := range q.cif.Times {
				rows = append(rows, []string{q.config, q.endings[e].cause.String(), q.endings[e].leaf, strconv.Itoa(q.counts[e]), plain(&t), plain(&q.cif.CIF[e][k]), plain(&q.cif.Survival[k])})
			}
		}
	}
	return csvBytes("causes", rows)
}
