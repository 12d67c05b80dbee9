package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// The retry figure shows so many configurations, and so many in one column.
const (
	maxRetryPanels = 12
	maxNarrowRetry = 6
)

// A retryCurve is what a configuration would have reached with smaller retry budgets.
type retryCurve struct {
	config      string
	r           int
	tokens, usd []stats.RetryCost // by budget
	stats.RetryCurve
}

// retryCurves computes the curves of all configurations that had retries and whose attempts are known.
func (c *Comparison) retryCurves() ([]retryCurve, error) {
	if !c.turns() || c.cap() == 0 {
		return nil, nil
	}
	found := make([]*retryCurve, len(c.Configs))
	err := inParallel(len(c.Configs), func(i int) error {
		r := &c.Configs[i]
		budget, err := strconv.Atoi(r.Factors["retries"])
		if err != nil || budget < 1 || r.N == 0 {
			return nil
		}
		runs := make([]stats.Run, len(r.runs))
		for k := range r.runs {
			u := &r.runs[k]
			// Without the attempts of every passed turn there is no curve.
			if len(u.row.Attempts) != int(u.value) {
				return nil
			}
			if len(u.row.Attempts) > 0 && slices.Max(u.row.Attempts) > budget+1 {
				return nil
			}
			runs[k] = stats.Run{Scenario: u.row.Pair(), Replicate: u.row.Repeat, Attempts: u.row.Attempts, Status: u.status}
		}
		opt := stats.RetryOptions{R: budget, Cap: c.cap()}
		curve, err := stats.Retry(runs, opt)
		if err != nil {
			return fmt.Errorf("retry curve of %s: %w", Clean(r.Config), err)
		}
		found[i] = &retryCurve{config: r.Config, r: budget, RetryCurve: curve}
		if found[i].tokens, err = retryCosts(r, runs, opt, func(k *logs.AttemptCosts) [][]float64 { return k.Tokens }); err != nil {
			return err
		}
		found[i].usd, err = retryCosts(r, runs, opt, func(k *logs.AttemptCosts) [][]float64 { return k.USD })
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []retryCurve
	for _, f := range found {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out, nil
}

// retryCosts returns what retries cost by budget, nil if that is not known of every run.
func retryCosts(r *ConfigResult, runs []stats.Run, opt stats.RetryOptions, of func(*logs.AttemptCosts) [][]float64) ([]stats.RetryCost, error) {
	paid := slices.Clone(runs)
	for i := range paid {
		k := r.runs[i].row.Costs
		if k == nil || of(k) == nil {
			return nil, nil
		}
		paid[i].Cost = of(k)
		if n := len(paid[i].Cost); n > 0 && len(paid[i].Cost[n-1]) > opt.R+1 {
			return nil, nil // more attempts than the budget allows are recorded
		}
	}
	costs, err := stats.RetryCosts(paid, opt)
	if err != nil {
		return nil, fmt.Errorf("costs of %s: %w", Clean(r.Config), err)
	}
	return costs, nil
}

// RetryCurves draws, per configuration with retries, the mean by the number of retries allowed with a simultaneous
// band, and below it the share of turns that each attempt passed. ok is false if no configuration has such a curve.
func RetryCurves(c *Comparison) (fig Figure, ok bool, err error) {
	curves, err := c.retryCurves()
	if err != nil || len(curves) == 0 {
		return Figure{}, false, err
	}
	p := retryPlot{c: c, curves: curves}
	fig, err = drawFigure(Figure{Name: "retry-curve", Title: "What a retry buys"}, &p)
	return fig, err == nil, err
}

type retryPlot struct {
	c      *Comparison
	th     theme
	curves []retryCurve
	grid   panelGrid
	head   vg.Length // of what stands above the plot of a panel
	height vg.Length
}

const (
	retryMean  = vg.Length(92) // height of the upper part of a panel
	retryBars  = vg.Length(34)
	retryPanel = retryMean + retryBars + 29 // without what stands above
)

func (p *retryPlot) layout(th theme) vg.Length {
	p.th = th
	across, most := 3, maxRetryPanels
	if th.narrow() {
		across, most = 2, maxNarrowRetry
	}
	p.head = 30
	if slices.ContainsFunc(p.curves, func(cv retryCurve) bool { return cv.rescuedWords() != "" }) {
		p.head += 9
	}
	h := retryPanel + p.head
	p.grid = newPanelGrid(th, min(len(p.curves), most), across, h)
	p.height = h*vg.Length(p.grid.rows()) + 26
	p.grid.top = p.height - 12
	return p.height
}

func (p *retryPlot) paint(s *sheet) {
	th := p.th
	head := "above: mean " + p.c.valueWords() + " · below: share of turns passed at that attempt"
	if th.narrow() {
		head = "above: mean turns · below: turns passed at that attempt"
	}
	s.text(figureMargin, p.height-9, flushLeft, th.tickSize, th.text, s.shorten(head, th.tickSize, th.page-2*figureMargin))
	for i := range p.grid.n {
		x, y := p.grid.at(i)
		p.paintPanel(s, &p.curves[i], x, y)
	}
	s.text(th.page/2, figureMargin-1, centred, th.textSize, th.text, "retries allowed per turn")
}

// paintPanel draws one configuration.
func (p *retryPlot) paintPanel(s *sheet, cv *retryCurve, left, top vg.Length) {
	th := p.th
	w := p.grid.width - 14
	s.text(left, top-11, flushLeft, th.textSize, th.text, s.shorten(s.printable(p.c.Short(cv.config)), th.textSize, w))
	s.text(left, top-20, flushLeft, th.tickSize, th.text, s.shorten(plateauWords(cv), th.tickSize, w))
	x := axis{lo: -0.5, hi: float64(cv.r) + 0.5, from: left + 22, to: left + w}
	s.text(left, top-29, flushLeft, th.tickSize, th.text, s.shorten(cv.rescuedWords(), th.tickSize, w))
	upper := top - p.head
	y := axis{lo: 0, hi: p.c.cap(), from: upper - retryMean, to: upper}
	for _, v := range ticks(0, y.hi, 4) {
		s.line(x.from, y.at(v), x.to, y.at(v), th.gridWidth, th.grid, nil)
		s.text(x.from-4, y.at(v)-2.4, flushRight, th.tickSize, th.text, tickText(v))
	}
	s.line(x.from, y.to, x.to, y.to, th.lineWidth, th.text, []vg.Length{2.5, 2})
	p.paintMean(s, cv, x, y)
	bottom := y.from - 8 - retryBars
	b := axis{lo: 0, hi: 1, from: bottom, to: bottom + retryBars}
	for _, v := range []float64{0, 0.5, 1} {
		s.line(x.from, b.at(v), x.to, b.at(v), th.gridWidth, th.grid, nil)
		if v != 0.5 {
			s.text(x.from-4, b.at(v)-2.4, flushRight, th.tickSize, th.text, number(100*v, 0)+"%")
		}
	}
	half := min((x.to-x.from)/vg.Length(cv.r+1)*0.3, 9)
	for i := range cv.Yields {
		v := &cv.Yields[i]
		if v.Reached == 0 {
			continue
		}
		cx := x.at(float64(i))
		s.rect(cx-half, b.at(0), cx+half, b.at(v.Rate), th.faint)
		if v.Interval.Defined {
			s.line(cx, b.at(v.Interval.Lo), cx, b.at(v.Interval.Hi), th.lineWidth, th.text, nil)
		}
	}
	step := int(math.Ceil(float64(cv.r+1) * 9.5 / float64(x.to-x.from)))
	for r := 0; r <= cv.r; r += step {
		s.text(x.at(float64(r)), bottom-9, centred, th.tickSize, th.text, strconv.Itoa(r))
	}
}

// paintMean draws band and mean.
func (p *retryPlot) paintMean(s *sheet, cv *retryCurve, x, y axis) {
	th := p.th
	ink := th.lines[len(th.lines)/2-1].color
	var low, high, mean []vg.Point
	for _, pt := range cv.Points {
		px := x.at(float64(pt.R))
		mean = append(mean, vg.Point{X: px, Y: y.at(pt.Mean)})
		if pt.Band.Defined {
			low = append(low, vg.Point{X: px, Y: y.at(pt.Band.Lo)})
			high = append(high, vg.Point{X: px, Y: y.at(pt.Band.Hi)})
		}
	}
	slices.Reverse(high)
	s.area(append(low, high...), thin(ink, 0.18))
	s.path(mean, 1.5*th.lineWidth, ink, nil)
	for _, pt := range mean {
		s.dot(pt.X, pt.Y, 2, ink)
	}
	if cv.Plateau.Decision == stats.PlateauFound {
		px := x.at(float64(cv.Plateau.At))
		s.line(px, y.from, px, y.to, th.lineWidth, th.text, []vg.Length{1.2, 1.8})
	}
}

// rescuedWords says what a turn cost that only a retry passed, "" if that is not known.
func (cv *retryCurve) rescuedWords() string {
	if v := perRescued(cv.usd, cv.r); v != nil {
		return "$" + dollars(*v) + " per rescued turn"
	}
	if v := perRescued(cv.tokens, cv.r); v != nil {
		return compactCount(*v) + " tokens per rescued turn"
	}
	return ""
}

// compactCount writes a large count in thousands or millions.
func compactCount(v float64) string {
	switch {
	case v >= 1e7:
		return number(v/1e6, 0) + " M"
	case v >= 1e6:
		return number(v/1e6, 1) + " M"
	case v >= 1e4:
		return number(v/1e3, 0) + " k"
	}
	return number(v, 0)
}

// plateauWords says what is known about a plateau.
func plateauWords(cv *retryCurve) string {
	switch cv.Plateau.Decision {
	case stats.PlateauFound:
		return fmt.Sprintf("plateau at %d (proved)", cv.Plateau.At)
	case stats.PlateauRising:
		return fmt.Sprintf("still rising at %d", cv.r)
	}
	return "plateau: undecided"
}

func (p *retryPlot) caption() string {
	n := 0
	for i := range p.curves {
		n = max(n, p.curves[i].N)
	}
	s := fmt.Sprintf("One run with the full budget gives all smaller ones (up to %d runs each). Band: 95 %%, simultaneous over the budgets, scenario bootstrap; strokes: 95 %% over scenarios.", n)
	return s + moreWords(p.grid.n, len(p.curves), maxNarrowRetry)
}

// sentence tells the curves one by one, the first four.
func (p *retryPlot) sentence() string {
	var out []string
	for i := range p.curves {
		if i == maxTold {
			out = append(out, fmt.Sprintf("%d more curves are in the figure's table.", len(p.curves)-i))
			break
		}
		out = append(out, p.c.retrySentence(&p.curves[i]))
	}
	return strings.Join(out, " ")
}

// retrySentence words one curve: how far it rises, where 95 % are reached, and what is known about a plateau.
func (c *Comparison) retrySentence(cv *retryCurve) string {
	sc := scaleOf(c)
	last := cv.Points[cv.r]
	s := fmt.Sprintf("%s: mean turns go from %s (no retry) to %s (%d %s)", c.told(cv.config), number(cv.Points[0].Mean, sc.mean), number(last.Mean, sc.mean), cv.r, plural(cv.r, "retry", "retries"))
	for _, pt := range cv.Points {
		if pt.R < cv.r && last.Mean > 0 && pt.Share >= 0.95 {
			s += fmt.Sprintf("; 95 %% of that is reached with %d", pt.R)
			break
		}
	}
	pl := cv.Plateau
	switch pl.Decision {
	case stats.PlateauFound:
		return s + fmt.Sprintf("; a plateau from %d on is proved.", pl.At)
	case stats.PlateauRising:
		return s + fmt.Sprintf("; still rising at %d.", cv.r)
	}
	s += "; whether that is a plateau is undecided"
	if pl.PointAt >= 0 && pl.PointAt < len(pl.Upper) && !math.IsNaN(pl.Upper[pl.PointAt]) {
		s += fmt.Sprintf(": further gains of up to %s turns are compatible with the data", number(pl.Upper[pl.PointAt], sc.mean))
	}
	if pl.Need > 0 {
		s += fmt.Sprintf("; ruling them out takes about %d scenarios", pl.Need)
	}
	return s + "."
}

func (p *retryPlot) csv() ([]byte, error) {
	rows := [][]string{{"row", "config", "retries", "mean", "band_lo", "band_hi", "ci_lo", "ci_hi", "full", "gain", "share",
		"full_lo", "full_hi", "failed", "rescued", "tokens_per_rescued", "usd_per_rescued", "reached", "passed", "rate", "plateau"}}
	for i := range p.curves {
		cv := &p.curves[i]
		for r, pt := range cv.Points {
			lo, hi := intervalEnds(pt.Band)
			l, h := intervalEnds(pt.Interval)
			fullLo, fullHi := intervalEnds(pt.FullCI)
			rows = append(rows, []string{"mean", cv.config, strconv.Itoa(pt.R), plain(&pt.Mean), lo, hi, l, h, strconv.Itoa(pt.Full), plain(&pt.Gain), plain(&pt.Share),
				fullLo, fullHi, strconv.Itoa(pt.Failures), strconv.Itoa(pt.Rescued), plain(perRescued(cv.tokens, r)), plain(perRescued(cv.usd, r)), "", "", "", cv.Plateau.Decision})
		}
		for _, y := range cv.Yields {
			lo, hi := intervalEnds(y.Interval)
			rate := ""
			if y.Reached > 0 {
				rate = plain(&y.Rate)
			}
			rows = append(rows, []string{"attempt", cv.config, strconv.Itoa(y.Attempt - 1), "", "", "", lo, hi, "", "", "", "", "", "", "", "", "", strconv.Itoa(y.Reached), strconv.Itoa(y.Passed), rate, ""})
		}
	}
	return csvBytes("retry-curve", rows)
}

func intervalEnds(i stats.Interval) (lo, hi string) {
	if !i.Defined {
		return "", ""
	}
	return plain(&i.Lo), plain(&i.Hi)
}
