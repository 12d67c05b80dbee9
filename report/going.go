package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"

	"github.com/stint-bench/stint/stats"
)

// StillGoing draws, per configuration, the share of runs still going after t turns, P(T >= t), from the build on:
// steps are Kaplan–Meier estimates, short strokes are stopped runs (a run stopped after T turns leaves at T-1),
// and with at most two configurations a log-log band of 95 % is shown. Below stand the numbers of runs known to
// have gone that far. At most eight lines are told apart, those with the highest means; the others are grey.
func StillGoing(c *Comparison) (Figure, error) {
	g := going{c: c, th: lightTheme()}
	if err := g.estimate(); err != nil {
		return Figure{}, err
	}
	fig := Figure{Name: "still-going", Title: "Share of runs still going"}
	return drawFigure(fig, &g)
}

// A curve is the estimate of one configuration.
type curve struct {
	config string
	km     stats.Survival
	last   float64 // where the curve ends
}

type going struct {
	c       *Comparison
	th      theme
	curves  []curve
	named   int // curves with a colour and a label
	upper   float64
	ticks   []float64
	shown   []float64 // of the ticks, those that have room
	height  vg.Length
	axisY   vg.Length // position of the time axis
	plotTop vg.Length
	band    bool
}

const (
	goingPlot = vg.Length(170)
	goingTop  = vg.Length(24)
	riskLine  = vg.Length(9.5)
)

// estimate computes the curves.
func (g *going) estimate() error {
	g.upper = g.c.cap()
	single := true
	for i := range g.c.Configs {
		r := &g.c.Configs[i]
		if r.N == 0 {
			continue
		}
		times, event := make([]float64, r.N), make([]bool, r.N)
		cv := curve{config: r.Config}
		for k, run := range r.runs {
			times[k], event[k] = run.value, run.status == stats.Failed
			if run.status == stats.Stopped {
				times[k]--
			}
			cv.last = math.Max(cv.last, times[k])
		}
		var err error
		if cv.km, err = stats.KaplanMeier(times, event, stats.SurvivalOptions{}); err != nil {
			return fmt.Errorf("estimating the share still going of %s: %w", Clean(r.Config), err)
		}
		single = single && !r.repeated
		g.curves = append(g.curves, cv)
		g.upper = math.Max(g.upper, cv.last)
	}
	g.named = min(len(g.curves), len(g.th.lines))
	g.band = single && len(g.curves) <= 2
	if g.upper <= 0 {
		g.upper = 1
	}
	g.ticks = goingTicks(g.upper)
	return nil
}

// goingTicks are 0, 10, 25, 50, 75, 100 where the axis reaches that far, else round numbers.
func goingTicks(upper float64) []float64 {
	if upper >= 100 && upper < 120 {
		return []float64{0, 10, 25, 50, 75, 100}
	}
	return ticks(0, upper, 6)
}

func (g *going) layout(th theme) vg.Length {
	g.th = th
	risk := vg.Length(0)
	if g.named > 0 {
		risk = 13 + riskLine*vg.Length(g.named)
	}
	g.axisY = figureMargin + risk + 26
	g.plotTop = g.axisY + goingPlot
	if len(g.curves) == 0 {
		g.plotTop = g.axisY + 20
	}
	g.height = g.plotTop + goingTop
	return g.height
}

func (g *going) paint(s *sheet) {
	th := g.th
	if len(g.curves) == 0 {
		s.text(th.page/2, g.height/2, centred, th.textSize, th.text, "there are no runs to show")
		return
	}
	names := make([]string, g.named)
	labelW, share := vg.Length(0), vg.Length(0.27)
	if th.narrow() {
		share = 0.33
	}
	for i := range names {
		names[i] = s.shorten(s.printable(g.c.Short(g.curves[i].config)), th.textSize, share*th.page)
		labelW = max(labelW, s.width(names[i], th.textSize))
	}
	if len(g.curves) > g.named {
		labelW = max(labelW, s.width(g.others(), th.textSize))
	}
	const sample = vg.Length(16)
	x := axis{lo: 0, hi: g.upper, from: figureMargin + 30, to: th.page - figureMargin - labelW - sample - 12}
	y := axis{lo: 0, hi: 1, from: g.axisY, to: g.plotTop}
	g.shown = g.ticks[:0:0]
	for _, v := range g.ticks { // under each stands a number of runs
		if n := len(g.shown); n == 0 || x.at(v)-x.at(g.shown[n-1]) >= 14 {
			g.shown = append(g.shown, v)
		}
	}
	g.paintAxes(s, x, y)
	if g.band {
		for i := range g.curves {
			style, _ := g.style(i)
			g.paintBand(s, x, y, &g.curves[i], style)
		}
	}
	for i := len(g.curves) - 1; i >= 0; i-- {
		g.paintCurve(s, x, y, i)
	}
	g.paintShared(s, x, y)
	g.paintLabels(s, x.to+8, sample, y, names)
	g.paintRisk(s, x, x.to+8+sample+4, names)
}

func (g *going) others() string {
	return fmt.Sprintf("%d others", len(g.curves)-g.named)
}

// paintAxes draws grid, ticks, titles and the cap.
func (g *going) paintAxes(s *sheet, x, y axis) {
	th := g.th
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		s.line(x.from, y.at(v), x.to, y.at(v), th.gridWidth, th.grid, nil)
		s.text(x.from-5, y.at(v)-2.4, flushRight, th.tickSize, th.text, number(100*v, 0)+" %")
	}
	s.text(figureMargin, g.plotTop+12, flushLeft, th.textSize, th.text, "runs still going")
	for _, v := range g.shown {
		s.line(x.at(v), g.axisY, x.at(v), g.axisY-2.5, th.gridWidth, th.text, nil)
		s.text(x.at(v), g.axisY-10, centred, th.tickSize, th.text, tickText(v))
	}
	title := "turns passed (0: the build failed)"
	switch {
	case !g.c.turns():
		title = g.c.valueWords()
	case th.narrow():
		title = "turns passed"
	}
	s.text((x.from+x.to)/2, g.axisY-20, centred, th.textSize, th.text, s.shorten(s.printable(title), th.textSize, x.to-x.from))
	if limit := g.c.cap(); limit > 0 {
		s.line(x.at(limit), g.axisY, x.at(limit), g.plotTop+3, th.lineWidth, th.text, []vg.Length{2.5, 2})
		label := "cap " + compact(limit)
		if g.c.turns() {
			label = "all " + compact(limit) + " turns"
		}
		s.text(x.at(limit), g.plotTop+7, flushRight, th.tickSize, th.text, label)
	}
}

// style is the line of a curve.
func (g *going) style(i int) (lineStyle, vg.Length) {
	if i < g.named {
		return g.th.lines[i], 1.5 * g.th.lineWidth
	}
	return lineStyle{color: g.th.other}, g.th.lineWidth
}

func (g *going) paintCurve(s *sheet, x, y axis, i int) {
	cv := &g.curves[i]
	style, width := g.style(i)
	pts := []vg.Point{{X: x.at(0), Y: y.at(1)}}
	level := 1.0
	for _, p := range cv.km.Points {
		if p.Events > 0 {
			pts = append(pts, vg.Point{X: x.at(p.Time), Y: y.at(level)}, vg.Point{X: x.at(p.Time), Y: y.at(p.S)})
			level = p.S
		}
	}
	if end := x.at(cv.last); end > pts[len(pts)-1].X {
		pts = append(pts, vg.Point{X: end, Y: y.at(level)})
	}
	s.path(pts, width, style.color, style.dash)
	limit := g.c.cap()
	for _, p := range cv.km.Points {
		if p.Censored > 0 && (limit == 0 || p.Time < limit) {
			px, py := x.at(p.Time), y.at(p.S)
			s.line(px, py-3, px, py+3, g.th.lineWidth, style.color, nil)
		}
	}
}

// level is the share still going right after t turns.
func (cv *curve) level(t float64) float64 {
	level := 1.0
	for _, p := range cv.km.Points {
		if p.Time > t {
			break
		}
		level = p.S
	}
	return level
}

// stretch is a part of a step on which several named curves lie upon each other.
type stretch struct {
	from, to, level float64
	curves          []int
}

// stretches lists the parts that curves share, from the left and from below.
func (g *going) stretches() []stretch {
	steps := []float64{0}
	for i := range g.curves[:g.named] {
		for _, p := range g.curves[i].km.Points {
			steps = append(steps, p.Time)
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	var found []stretch
	for k := 1; k < len(steps); k++ {
		from, to := steps[k-1], steps[k]
		upon := map[float64][]int{}
		for i := range g.curves[:g.named] {
			if cv := &g.curves[i]; cv.last >= to {
				level := math.Round(1e9*cv.level(from)) / 1e9 // the same share by other steps is not the same number
				upon[level] = append(upon[level], i)
			}
		}
		for _, level := range slices.Sorted(maps.Keys(upon)) {
			if len(upon[level]) > 1 {
				found = append(found, stretch{from, to, level, upon[level]})
			}
		}
	}
	return found
}

// paintShared gives every stretch the colours of all its curves in turn, so that none is hidden.
func (g *going) paintShared(s *sheet, x, y axis) {
	const piece = vg.Length(6)
	for _, p := range g.stretches() {
		// Pieces are counted from the axis, so that they run on over the steps of other curves.
		for n := int((x.at(p.from) - x.from) / piece); x.from+vg.Length(n)*piece < x.at(p.to); n++ {
			style, width := g.style(p.curves[n%len(p.curves)])
			at := x.from + vg.Length(n)*piece
			s.line(max(at, x.at(p.from)), y.at(p.level), min(at+piece, x.at(p.to)), y.at(p.level), width, style.color, nil)
		}
	}
}

// paintBand fills between the limits of the estimate, where they are defined.
func (g *going) paintBand(s *sheet, x, y axis, cv *curve, style lineStyle) {
	points := cv.km.Points
	for k, p := range points {
		if !p.Defined {
			continue
		}
		to := cv.last
		if k+1 < len(points) {
			to = points[k+1].Time
		}
		s.rect(x.at(p.Time), y.at(p.Lo), x.at(to), y.at(p.Hi), thin(style.color, 0.14))
	}
}

// paintLabels names the curves at the right, each at the height where it ends as far as there is room.
func (g *going) paintLabels(s *sheet, left, sample vg.Length, y axis, names []string) {
	th := g.th
	type label struct {
		text  string
		style lineStyle
		width vg.Length
		y     vg.Length
		order int
	}
	var labels []label
	for i, name := range names {
		style, width := g.style(i)
		labels = append(labels, label{name, style, width, y.at(endLevel(&g.curves[i])), i})
	}
	if len(g.curves) > g.named {
		style, width := g.style(g.named)
		labels = append(labels, label{g.others(), style, width, g.axisY, g.named})
	}
	// From the top down: the higher end first, then the higher mean.
	slices.SortStableFunc(labels, func(a, b label) int {
		switch {
		case a.y > b.y:
			return -1
		case a.y < b.y:
			return 1
		}
		return a.order - b.order
	})
	const room = vg.Length(10)
	for i := len(labels) - 1; i >= 0; i-- {
		least := g.axisY
		if i+1 < len(labels) {
			least = labels[i+1].y + room
		}
		labels[i].y = max(labels[i].y, least)
	}
	for i := range labels { // and none above the figure, where many curves end near the top
		most := g.plotTop + room/2
		if i > 0 {
			most = labels[i-1].y - room
		}
		labels[i].y = min(labels[i].y, most)
	}
	for _, l := range labels {
		s.line(left, l.y, left+sample, l.y, l.width, l.style.color, l.style.dash)
		s.text(left+sample+4, l.y-2.6, flushLeft, th.textSize, th.text, l.text)
	}
}

func endLevel(cv *curve) float64 {
	if n := len(cv.km.Points); n > 0 {
		return cv.km.Points[n-1].S
	}
	return 1
}

// paintRisk writes the numbers of runs known to have passed t turns.
func (g *going) paintRisk(s *sheet, x axis, nameX vg.Length, names []string) {
	th := g.th
	base := figureMargin + riskLine*vg.Length(g.named-1)
	s.text(figureMargin, base+riskLine+1, flushLeft, th.tickSize, th.text, "runs known to have gone that far")
	for i, name := range names {
		ly := base - riskLine*vg.Length(i)
		for _, v := range g.shown {
			s.text(x.at(v), ly, centred, th.tickSize, th.text, strconv.Itoa(atRisk(&g.curves[i], v)))
		}
		s.text(nameX, ly, flushLeft, th.tickSize, th.text, s.shorten(name, th.tickSize, th.page-figureMargin-nameX))
	}
}

// atRisk counts the runs known to have passed t turns.
func atRisk(cv *curve, t float64) int {
	n := 0
	for _, p := range cv.km.Points {
		if p.Time >= t {
			n += p.Events + p.Censored
		}
	}
	return n
}

func (g *going) caption() string {
	if len(g.curves) == 0 {
		return "No runs."
	}
	s := "Share of runs that passed at least t turns, from the build on."
	if len(g.stretches()) > 0 {
		s += " Colours in turn: curves that lie upon each other."
	}
	if g.c.hasStopped() {
		s += " Kaplan–Meier; short strokes: runs that were stopped."
	}
	switch {
	case g.band:
		s += " Band: 95 %, log-log."
	case len(g.curves) <= 2:
		s += " No band: repeats of one scenario are not independent."
	}
	if n := len(g.curves) - g.named; n > 0 {
		s += fmt.Sprintf(" The %d configurations with the highest means are named, %d others grey; all are in the CSV file.", g.named, n)
	}
	return s
}

// sentence says when half of the runs of a configuration were over.
func (g *going) sentence() string {
	var reached, open []string
	unit := ""
	if g.c.turns() {
		unit = " turns"
	}
	for i := range g.curves[:min(len(g.curves), maxTold)] {
		cv := &g.curves[i]
		name := g.c.told(cv.config)
		if t, ok := cv.km.Median(); ok {
			v := compact(t)
			if len(reached) == 0 {
				v += unit
			}
			reached = append(reached, v+" ("+name+")")
		} else {
			open = append(open, name)
		}
	}
	s := ""
	if len(reached) > 0 {
		s = "Half of the runs went no further than " + joinAnd(reached)
		if n := len(g.curves) - maxTold; n > 0 {
			s += fmt.Sprintf("; %d more in the table", n)
		}
		s += "."
	}
	if len(open) > 0 {
		if s != "" {
			s += " "
		}
		s += fmt.Sprintf("More than half of the runs of %s were still going at the end.", joinAnd(open))
	}
	return s
}

// csv holds the numbers of the figure.
func (g *going) csv() ([]byte, error) {
	rows := [][]string{{"config", "turns_passed", "at_risk", "failed", "left_known", "share_at_least", "share_more", "ci_lo", "ci_hi"}}
	for i := range g.curves {
		cv := &g.curves[i]
		level := 1.0
		for _, p := range cv.km.Points {
			lo, hi := "", ""
			if p.Defined {
				lo, hi = plain(&p.Lo), plain(&p.Hi)
			}
			rows = append(rows, []string{cv.config, plain(&p.Time), strconv.Itoa(p.AtRisk), strconv.Itoa(p.Events), strconv.Itoa(p.Censored), plain(&level), plain(&p.S), lo, hi})
			level = p.S
		}
	}
	return csvBytes("still-going", rows)
}
