package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"

	"github.com/stint-bench/stint/stats"
)

// The figure of failure rates shows so many configurations, and so many in one column.
const (
	maxHazardPanels = 12
	maxNarrowHazard = 8
)

// Hazard draws, per configuration, the share of tried turns that failed by windows of turns, with the rate if it never
// changes as a line. ok is false where the outcome is not a number of turns.
func Hazard(c *Comparison) (fig Figure, ok bool, err error) {
	p := hazardPlot{c: c}
	for i := range c.Configs {
		r := &c.Configs[i]
		if r.FailureRate == nil || len(r.FailureRate.Windows) == 0 {
			continue
		}
		p.configs = append(p.configs, r)
		if len(r.FailureRate.Windows) > len(p.windows) {
			p.windows = r.FailureRate.Windows
		}
	}
	if len(p.configs) == 0 {
		return Figure{}, false, nil
	}
	fig, err = drawFigure(Figure{Name: "failure-rates", Title: "Failed turns per tried turn"}, &p)
	return fig, err == nil, err
}

type hazardPlot struct {
	c       *Comparison
	configs []*ConfigResult
	windows []RateWindow // of the configuration that came furthest
	th      theme
	grid    panelGrid
	height  vg.Length
}

const (
	hazardArea = vg.Length(84)
	hazardHead = vg.Length(30)
)

func (p *hazardPlot) layout(th theme) vg.Length {
	p.th = th
	across, most := 3, maxHazardPanels
	if th.narrow() {
		across, most = 2, maxNarrowHazard
	}
	h := hazardArea + hazardHead + 18
	p.grid = newPanelGrid(th, min(len(p.configs), most), across, h)
	p.height = h*vg.Length(p.grid.rows()) + 28
	p.grid.top = p.height - 12
	return p.height
}

func (p *hazardPlot) paint(s *sheet) {
	th := p.th
	head := "failed of the tried turns, square-root scale · dashes: one rate for all turns"
	if th.narrow() {
		head = "failed of the tried turns, square-root scale"
	}
	s.text(figureMargin, p.height-9, flushLeft, th.tickSize, th.text, s.shorten(head, th.tickSize, th.page-2*figureMargin))
	top := p.upper()
	for i := range p.grid.n {
		left, y := p.grid.at(i)
		p.paintPanel(s, p.configs[i], top, left, y)
	}
	title := "turns of the session (0: the build)"
	if len(p.windows) == 1 {
		title = "the build"
	}
	s.text(th.page/2, figureMargin-1, centred, th.textSize, th.text, title)
}

// windowInterval is the 95 % interval of a window's rate.
func windowInterval(w RateWindow) stats.Interval {
	return stats.ClopperPearson(w.Failures, w.Tried, 0.95)
}

// upper is the end of the value axis of all panels.
func (p *hazardPlot) upper() float64 {
	top := 0.02
	for _, r := range p.configs[:p.grid.n] {
		if ci := r.FailureRate.CI; ci != nil {
			top = math.Max(top, ci[1])
		}
		for _, w := range r.FailureRate.Windows {
			if ci := windowInterval(w); w.Tried > 0 && ci.Defined {
				top = math.Max(top, ci.Hi)
			}
		}
	}
	for _, v := range []float64{0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75} {
		if top <= v {
			return v
		}
	}
	return 1
}

// hazardTicks are those of shares on a square-root scale that have room.
func hazardTicks(y axis) []float64 {
	var out []float64
	for _, v := range []float64{1, 0.75, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0} {
		v := math.Sqrt(v)
		if v > y.hi+1e-9 {
			continue
		}
		if n := len(out); n > 0 && y.at(out[n-1])-y.at(v) < 15 {
			continue
		}
		out = append(out, v)
	}
	return out
}

func (p *hazardPlot) paintPanel(s *sheet, r *ConfigResult, top float64, left, upper vg.Length) {
	th := p.th
	w := p.grid.width - 12
	s.text(left, upper-12, flushLeft, th.textSize, th.text, s.shorten(s.printable(p.c.Short(r.Config)), th.textSize, w))
	s.text(left, upper-21, flushLeft, th.tickSize, th.text, s.shorten(p.words(r.FailureRate), th.tickSize, w))
	y := axis{lo: 0, hi: math.Sqrt(top), from: upper - hazardHead - hazardArea, to: upper - hazardHead}
	from, to := left+28, left+w
	for _, v := range hazardTicks(y) {
		s.line(from, y.at(v), to, y.at(v), th.gridWidth, th.grid, nil)
		s.text(from-4, y.at(v)-2.4, flushRight, th.tickSize, th.text, tickText(round1(100*v*v))+" %")
	}
	edges := p.edges(from+2, to)
	rate := r.FailureRate
	if rate.CI != nil {
		s.rect(from, y.at(math.Sqrt(rate.CI[0])), to, y.at(math.Sqrt(rate.CI[1])), thin(th.text, 0.1))
	}
	s.line(from, y.at(math.Sqrt(rate.PerTurn)), to, y.at(math.Sqrt(rate.PerTurn)), th.lineWidth, th.text, []vg.Length{2.5, 2})
	for k, v := range rate.Windows {
		if v.Tried == 0 {
			continue
		}
		x := (edges[k][0] + edges[k][1]) / 2
		if ci := windowInterval(v); ci.Defined {
			s.line(x, y.at(math.Sqrt(ci.Lo)), x, y.at(math.Sqrt(ci.Hi)), 1.4*th.lineWidth, th.text, nil)
		}
		at := y.at(math.Sqrt(float64(v.Failures) / float64(v.Tried)))
		s.dot(x, at, 3, th.background)
		s.dot(x, at, 2.4, th.text)
	}
	p.paintEdges(s, edges, y.from)
}

// edges are the ends of the windows: the build apart, the others of one width.
func (p *hazardPlot) edges(from, to vg.Length) [][2]vg.Length {
	const apart = vg.Length(7)
	n := vg.Length(len(p.windows))
	w := (to - from - apart) / max(1, n-0.4)
	out := [][2]vg.Length{{from, from + 0.6*w}}
	for x := from + 0.6*w + apart; len(out) < len(p.windows); x += w {
		out = append(out, [2]vg.Length{x, x + w})
	}
	return out
}

// paintEdges draws the time axis: under every window's left end stands its first turn, and at the end the last.
func (p *hazardPlot) paintEdges(s *sheet, edges [][2]vg.Length, y vg.Length) {
	th := p.th
	free := edges[0][0] - 100
	for k, e := range edges {
		s.line(e[0], y, e[1], y, th.lineWidth, th.text, nil)
		if k == 0 {
			s.text((e[0]+e[1])/2, y-10, centred, th.tickSize, th.text, "0")
			free = (e[0]+e[1])/2 + 3
			continue
		}
		s.line(e[0], y, e[0], y-2.5, th.gridWidth, th.text, nil)
		label := strconv.Itoa(p.windows[k].From)
		if half := s.width(label, th.tickSize) / 2; e[0]-half > free {
			s.text(e[0], y-10, centred, th.tickSize, th.text, label)
			free = e[0] + half + 1
		}
	}
	last := len(edges) - 1
	if to := p.windows[last].To; last > 0 && to != nil {
		s.line(edges[last][1], y, edges[last][1], y-2.5, th.gridWidth, th.text, nil)
		label := strconv.Itoa(*to)
		if edges[last][1]-s.width(label, th.tickSize) > free && *to > p.windows[last].From {
			s.text(edges[last][1], y-10, flushRight, th.tickSize, th.text, label)
		}
	}
}

// words sums up a rate in a line.
func (p *hazardPlot) words(r *FailureRate) string {
	s, of := ratePercent(r.PerTurn)+" %", "; one rate: p = "
	if p.th.narrow() {
		of = "; p = "
	} else {
		s += " per turn"
	}
	if r.P != nil {
		s += of + stats.FormatP(*r.P)
	}
	return s
}

func (p *hazardPlot) caption() string {
	s := "Points: failed over tried turns in a window of turns, all runs of a configuration together; lines: 95 % (Clopper–Pearson). Dashes: the rate if it never changes, with its interval. The build stands apart."
	if slices.ContainsFunc(p.configs, func(r *ConfigResult) bool { return r.FailureRate.P != nil }) {
		s += " p: of the same rate in all windows; scenarios of different difficulty alone make the rate fall."
	}
	return s + moreWords(p.grid.n, len(p.configs), maxNarrowHazard)
}

func (p *hazardPlot) sentence() string { return p.c.rateSentence() }

func (p *hazardPlot) csv() ([]byte, error) {
	rows := [][]string{{"row", "config", "from", "to", "failed", "tried", "rate", "ci_lo", "ci_hi", "p_one_rate"}}
	for _, r := range p.configs {
		rate := r.FailureRate
		v := map[string]string{}
		ends(v, "ci", rate.CI)
		failed, tried := 0, 0
		for _, w := range rate.Windows {
			failed, tried = failed+w.Failures, tried+w.Tried
		}
		rows = append(rows, []string{"all", r.Config, "", "", strconv.Itoa(failed), strconv.Itoa(tried), plain(&rate.PerTurn), v["ci_lo"], v["ci_hi"], plain(rate.P)})
		for _, w := range rate.Windows {
			to, share := "", ""
			if w.To != nil {
				to = fmt.Sprint(*w.To)
			}
			if w.Tried > 0 {
				share = plain(ptr(float64(w.Failures) / float64(w.Tried)))
			}
			lo, hi := intervalEnds(windowInterval(w))
			rows = append(rows, []string{"window", r.Config, strconv.Itoa(w.From), to, strconv.Itoa(w.Failures), strconv.Itoa(w.Tried), share, lo, hi, ""})
		}
	}
	return csvBytes("failure-rates", rows)
}
