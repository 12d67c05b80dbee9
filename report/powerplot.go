package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"

	"github.com/stint-bench/stint/stats"
)

// The power figure simulates so many studies for a point and studies of at most so many scenarios. A fit to fewer
// says nothing, and one to more would take longer than the rest of the report.
const (
	powerStudies      = 300
	maxPowerScenarios = 100
	minPilotScenarios = 5
	maxPilotScenarios = 200
	mostPilotShare    = 0.75 // of the cap, so that a better configuration has turns left to pass
)

// PowerCurves draws what differences studies of this kind find in 80 % of repetitions, by their number of scenarios:
// as a single pair, and as the first of a family of three or of as many as this study has. The model is fitted to the
// configuration in the middle. ok is false where the outcome is no number of turns with a cap, where nothing can be
// fitted, and where all configurations come close to the cap.
func PowerCurves(c *Comparison) (fig Figure, ok bool, err error) {
	p := powerPlot{c: c}
	if ok, err = p.simulate(); err != nil || !ok {
		return Figure{}, false, err
	}
	fig, err = drawFigure(Figure{Name: "power", Title: "Differences that a study finds"}, &p)
	return fig, err == nil, err
}

type powerPlot struct {
	c       *Comparison
	config  string // the model is fitted to it
	base    float64
	fit     stats.PilotFit
	sizes   []int
	present int // scenarios of this study; 0 if they are more than is drawn
	repeats int
	tests   []int
	own     int // index of this study's family in tests; -1 if it has none
	curves  [][]stats.PowerPoint
	th      theme
	height  vg.Length
}

// simulate fits the model and computes the curves.
func (p *powerPlot) simulate() (bool, error) {
	c := p.c
	limit := int(c.cap())
	if !c.turns() || limit < 1 || float64(limit) != c.cap() || c.scenarios.hi > maxPilotScenarios {
		return false, nil
	}
	r, err := p.middle(limit)
	if err != nil || r == nil {
		return false, err
	}
	p.config = r.Config
	p.repeats = max(1, c.runs.lo)
	p.sizes = []int{6, 8, 10, 14, 20, 28, 40, 60}
	if n := len(r.scenarios); n <= maxPowerScenarios {
		p.present = n
		if i, found := slices.BinarySearch(p.sizes, n); !found {
			p.sizes = slices.Insert(p.sizes, i, n)
		}
	}
	p.tests, p.own = []int{1, 3}, -1
	if len(c.Families) > 0 {
		m := c.Families[0].M
		if p.own = slices.Index(p.tests, m); p.own < 0 {
			p.tests = append(p.tests, m)
			slices.Sort(p.tests)
			p.own = slices.Index(p.tests, m)
		}
	}
	model := stats.PowerModel{SuccessA: p.fit.Success, ScenarioSD: p.fit.ScenarioSD, Cap: limit}
	p.base = stats.MeanTurnsOf(p.fit.Success, p.fit.ScenarioSD, limit)
	alpha := 0.05
	if len(c.Families) > 0 {
		alpha = c.Families[0].Alpha
	}
	plan := stats.StudyPlan{Repeats: p.repeats, Studies: powerStudies, Alpha: alpha, Zero: c.zero}
	if p.curves, err = stats.PowerCurve(model, plan, p.tests, p.sizes, 0); err != nil {
		return false, fmt.Errorf("simulating studies like this one: %w", err)
	}
	return true, nil
}

// middle finds the configuration nearest to the middle of the order that leaves room for a better one and to which the
// model can be fitted; nil is none.
func (p *powerPlot) middle(limit int) (*ConfigResult, error) {
	n := len(p.c.Configs)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(abs(2*a-n+1)-abs(2*b-n+1), b-a) })
	for _, i := range order {
		r := &p.c.Configs[i]
		if r.Mean == nil || len(r.scenarios) < minPilotScenarios || *r.Mean > mostPilotShare*float64(limit) {
			continue
		}
		runs := make([]stats.Outcome, len(r.runs))
		for k, u := range r.runs {
			runs[k] = stats.Outcome{Scenario: u.row.Pair(), Replicate: u.row.Repeat, Value: u.value, Status: u.status}
		}
		if slices.ContainsFunc(runs, func(o stats.Outcome) bool { return o.Value != math.Trunc(o.Value) }) {
			continue
		}
		fit, err := stats.FitPilot(runs, limit)
		if err != nil {
			return nil, fmt.Errorf("fitting %s: %w", Clean(r.Config), err)
		}
		if fit.Defined && fit.Success > 1e-3 && fit.Success < 1-1e-5 {
			p.fit = fit
			return r, nil
		}
	}
	return nil, nil
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

const powerArea = vg.Length(150)

func (p *powerPlot) layout(th theme) vg.Length {
	p.th = th
	p.height = powerArea + 52
	return p.height
}

func (p *powerPlot) paint(s *sheet) {
	th := p.th
	labelW := vg.Length(0)
	for i := range p.tests {
		labelW = max(labelW, s.width(p.label(i), th.textSize))
	}
	bottom := figureMargin + 24
	x := axis{lo: math.Log(float64(p.sizes[0])), hi: math.Log(float64(p.sizes[len(p.sizes)-1])), from: figureMargin + 26, to: th.page - figureMargin - labelW - 14}
	y := axis{lo: 0, hi: p.upper(), from: bottom, to: bottom + powerArea}
	head := "turns more than " + number(p.base, 1) + " that are found in 80 % of repetitions"
	if th.narrow() {
		head = "turns more than " + number(p.base, 1) + " found in 80 % of studies"
	}
	s.text(figureMargin, p.height-9, flushLeft, th.textSize, th.text, s.shorten(head, th.textSize, th.page-2*figureMargin))
	for _, v := range ticks(0, y.hi, 5) {
		s.line(x.from, y.at(v), x.to, y.at(v), th.gridWidth, th.grid, nil)
		s.text(x.from-4, y.at(v)-2.4, flushRight, th.tickSize, th.text, tickText(v))
	}
	free := x.from - 100
	for _, n := range []int{6, 10, 20, 40, 60, 100} {
		if n > p.sizes[len(p.sizes)-1] {
			break
		}
		at := x.at(math.Log(float64(n)))
		s.line(at, y.from, at, y.from-2.5, th.gridWidth, th.text, nil)
		if at-6 > free {
			s.text(at, y.from-10, centred, th.tickSize, th.text, strconv.Itoa(n))
			free = at + 6
		}
	}
	s.text((x.from+x.to)/2, figureMargin-1, centred, th.textSize, th.text, "scenarios")
	for i := range p.curves {
		p.paintCurve(s, x, y, i)
	}
	p.paintLabels(s, x, y)
	p.paintPresent(s, x, y)
}

// upper is the end of the value axis: what is left to the cap.
func (p *powerPlot) upper() float64 { return math.Max(1, p.c.cap()-p.base) }

// label names a curve.
func (p *powerPlot) label(i int) string {
	if p.tests[i] == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", p.tests[i])
}

func (p *powerPlot) points(x, y axis, i int) []vg.Point {
	var out []vg.Point
	for _, pt := range p.curves[i] {
		if pt.Defined {
			out = append(out, vg.Point{X: x.at(math.Log(float64(pt.Scenarios))), Y: y.at(pt.Mean - p.base)})
		}
	}
	return out
}

func (p *powerPlot) paintCurve(s *sheet, x, y axis, i int) {
	style := p.th.lines[i]
	points := p.points(x, y, i)
	s.path(points, 1.5*p.th.lineWidth, style.color, style.dash)
	for _, pt := range points {
		s.dot(pt.X, pt.Y, 1.5, style.color)
	}
}

// paintLabels names the curves at their right ends, apart from each other.
func (p *powerPlot) paintLabels(s *sheet, x, y axis) {
	const room = vg.Length(10)
	free := y.from - room
	for i := range p.curves { // from the lowest up
		points := p.points(x, y, i)
		at, word := y.to, p.label(i)
		if len(points) > 0 {
			at = points[len(points)-1].Y
		}
		at = max(at, free+room)
		free = at
		s.line(x.to+4, at, x.to+10, at, 1.5*p.th.lineWidth, p.th.lines[i].color, nil)
		s.text(x.to+13, at-2.6, flushLeft, p.th.textSize, p.th.text, word)
	}
}

// own point of the study.
func (p *powerPlot) presentPoint() (pt stats.PowerPoint, ok bool) {
	if p.own < 0 || p.present == 0 {
		return pt, false
	}
	i := slices.Index(p.sizes, p.present)
	return p.curves[p.own][i], true
}

// paintPresent marks this study: filled where it finds something, open at the top where nothing can be found.
func (p *powerPlot) paintPresent(s *sheet, x, y axis) {
	pt, ok := p.presentPoint()
	if !ok {
		return
	}
	at, up := x.at(math.Log(float64(pt.Scenarios))), y.to
	if pt.Defined {
		up = y.at(pt.Mean - p.base)
		s.dot(at, up, 4.4, p.th.background)
		s.dot(at, up, 3.6, p.th.text)
	} else {
		s.ring(at, up, 3.2, 1, p.th.text, true)
	}
	const word = "this study"
	w := s.width(word, p.th.tickSize)
	if at+8+w <= x.to {
		s.text(at+7, min(up+4, y.to-1), flushLeft, p.th.tickSize, p.th.text, word)
	} else {
		s.text(at-7, min(up+4, y.to-1), flushRight, p.th.tickSize, p.th.text, word)
	}
}

func (p *powerPlot) caption() string {
	s := fmt.Sprintf("Two-sided exact signed-rank test at the first step of Holm's procedure, %d simulated studies for a point, %d %s per scenario. Model: per-turn success and spread of scenarios as fitted to %s (mean %s turns); with a scenario that suits one configuration more than another, more is needed.",
		powerStudies, p.repeats, plural(p.repeats, "run", "runs"), p.c.told(p.config), number(p.base, 1))
	if pt, ok := p.presentPoint(); ok && pt.Defined {
		s += " Large point: this study."
	} else if ok {
		s += " Dotted ring: this study finds no difference so often."
	}
	return s
}

// sentence says what this study could find, and what it takes without its other pairs.
func (p *powerPlot) sentence() string {
	pt, ok := p.presentPoint()
	if !ok {
		return ""
	}
	base, m := number(p.base, 1), p.tests[p.own]
	if !pt.Defined {
		s := fmt.Sprintf("With %d scenarios and %d %s no difference from a baseline of %s turns would be found in 80 %% of repetitions", pt.Scenarios, m, plural(m, "pair", "pairs"), base)
		if i := slices.IndexFunc(p.curves[p.own], func(q stats.PowerPoint) bool { return q.Defined }); i >= 0 {
			q := p.curves[p.own][i]
			s += fmt.Sprintf("; with %d scenarios one of %s turns would", q.Scenarios, number(q.Mean-p.base, 0))
		}
		return s + "."
	}
	s := fmt.Sprintf("To tell %s from %s turns with 80 %% power ", number(pt.Mean, 1), base)
	if p.own == 0 {
		return s + fmt.Sprintf("one pre-declared pair needs about %d scenarios, as many as this study has.", pt.Scenarios)
	}
	need := "needs about"
	n := p.scenariosFor(0, pt.Mean)
	if n <= p.sizes[0] {
		n, need = p.sizes[0], "needs at most"
	}
	return s + fmt.Sprintf("one pre-declared pair %s %d scenarios; %d pairs need about %d, as many as this study has.", need, n, m, pt.Scenarios)
}

// scenariosFor reads from a curve how many scenarios find a mean.
func (p *powerPlot) scenariosFor(i int, mean float64) int {
	var before stats.PowerPoint
	for _, pt := range p.curves[i] {
		if pt.Defined && pt.Mean <= mean {
			if before.Scenarios == 0 || before.Mean <= pt.Mean {
				return pt.Scenarios
			}
			lo, hi := math.Log(float64(before.Scenarios)), math.Log(float64(pt.Scenarios))
			return int(math.Ceil(math.Exp(lo + (hi-lo)*(before.Mean-mean)/(before.Mean-pt.Mean))))
		}
		if pt.Defined {
			before = pt
		}
	}
	return p.sizes[len(p.sizes)-1]
}

func (p *powerPlot) csv() ([]byte, error) {
	rows := [][]string{{"pairs", "scenarios", "runs_per_scenario", "baseline_mean", "mean_found", "difference", "this_study"}}
	for i := range p.curves {
		for _, pt := range p.curves[i] {
			mean, diff := "", ""
			if pt.Defined {
				mean, diff = plain(&pt.Mean), plain(ptr(pt.Mean-p.base))
			}
			rows = append(rows, []string{strconv.Itoa(p.tests[i]), strconv.Itoa(pt.Scenarios), strconv.Itoa(p.repeats), plain(&p.base), mean, diff, strconv.FormatBool(i == p.own && pt.Scenarios == p.present)})
		}
	}
	return csvBytes("power", rows)
}
