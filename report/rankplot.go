package report

import (
	"fmt"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// RankIntervals draws the rank of every configuration by mean with where it lies in 95 % of resamples of the scenarios,
// the first at the top, and the letters of the configurations that are not told apart. ok is false for fewer than
// three configurations.
func RankIntervals(c *Comparison) (fig Figure, ok bool, err error) {
	if c.ranked == 0 {
		return Figure{}, false, nil
	}
	p := rankPlot{c: c}
	for i := range c.Configs {
		if r := &c.Configs[i]; r.Rank != nil {
			p.rows = append(p.rows, r)
		}
	}
	p.all = len(p.rows)
	p.rows = p.rows[:min(p.all, maxForestRows)]
	for i := range c.Families {
		if f := &c.Families[i]; f.Groups != nil && len(f.Groups) <= maxLetters {
			p.family = f
			break
		}
	}
	fig, err = drawFigure(Figure{Name: "ranks", Title: "Ranks by mean " + c.columnWord()}, &p)
	return fig, err == nil, err
}

type rankPlot struct {
	c      *Comparison
	rows   []*ConfigResult
	all    int
	family *FamilyResult // whose groups are shown; nil if there are none
	th     theme
	rowH   vg.Length
	height vg.Length
}

func (p *rankPlot) layout(th theme) vg.Length {
	p.th = th
	p.rowH = 14
	if len(p.rows) > 26 {
		p.rowH = 11.5
	}
	p.height = forestTop + forestBottom + p.rowH*vg.Length(len(p.rows))
	return p.height
}

func (p *rankPlot) paint(s *sheet) {
	th := p.th
	names, letters := make([]string, len(p.rows)), make([]string, len(p.rows))
	nameW, letterW := vg.Length(0), vg.Length(0)
	for i, r := range p.rows {
		names[i] = s.shorten(s.printable(p.c.Short(r.Config)), th.textSize, 0.36*th.page)
		nameW = max(nameW, s.width(names[i], th.textSize))
		if p.family != nil {
			letters[i] = lettersOf(p.family.Groups, r.Config)
			letterW = max(letterW, s.width(letters[i], th.tickSize))
		}
	}
	const head = "not told apart"
	if letterW > 0 {
		letterW = max(letterW, s.width(head, th.tickSize)) + 10
	}
	a := axis{lo: 1, hi: float64(max(2, p.all)), from: figureMargin + nameW + 16, to: th.page - figureMargin - 8 - letterW}
	bottom, top := forestBottom, p.height-forestTop
	for _, v := range p.ticks(a) {
		s.line(a.at(v), bottom, a.at(v), top, th.gridWidth, th.grid, nil)
		s.text(a.at(v), bottom-9, centred, th.tickSize, th.text, tickText(v))
	}
	s.text((a.from+a.to)/2, figureMargin, centred, th.textSize, th.text, "rank by mean")
	if letterW > 0 {
		s.text(th.page-figureMargin, top+6, flushRight, th.tickSize, th.text, head)
	}
	for i, r := range p.rows {
		y := top - p.rowH*(vg.Length(i)+0.5)
		s.text(a.from-14, y-2.6, flushRight, th.textSize, th.text, names[i])
		s.whisker(a.at(float64(r.RankCI[0])), a.at(float64(r.RankCI[1])), y, th.text)
		s.dot(a.at(*r.Rank), y, 3.2, th.background)
		s.dot(a.at(*r.Rank), y, 2.6, th.text)
		s.text(th.page-figureMargin-letterW+10, y-2.4, flushLeft, th.tickSize, th.text, letters[i])
	}
}

// ticks are the ranks that have room, the first and the last among them.
func (p *rankPlot) ticks(a axis) []float64 {
	step := 1
	for _, n := range []int{1, 2, 5, 10, 20, 50, 100} {
		step = n
		if a.at(float64(1+n))-a.at(1) >= 14 {
			break
		}
	}
	out := []float64{1}
	for v := step; v <= p.all; v += step {
		if v > 1 && a.at(float64(v))-a.at(out[len(out)-1]) >= 12 {
			out = append(out, float64(v))
		}
	}
	if last := float64(p.all); out[len(out)-1] != last && a.at(last)-a.at(out[len(out)-1]) >= 14 {
		out = append(out, last)
	}
	return out
}

func (p *rankPlot) caption() string {
	s := fmt.Sprintf("Dot: rank by mean over the %d shared scenarios; line: where it lies in 95 %% of 9,999 resamples of the scenarios. It says how stable the order is and tests nothing.", p.c.ranked)
	if p.family != nil {
		s += fmt.Sprintf(" Configurations that share a letter are not told apart by the family %q.", Clean(p.family.Name))
	}
	if n := p.all - len(p.rows); n > 0 {
		s += fmt.Sprintf(" %d configurations with lower means are in the CSV file only.", n)
	}
	return s
}

func (p *rankPlot) sentence() string { return p.c.rankSentence() }

func (p *rankPlot) csv() ([]byte, error) {
	rows := [][]string{{"config", "mean", "rank", "rank_lo", "rank_hi", "not_told_apart"}}
	for i := range p.c.Configs {
		r := &p.c.Configs[i]
		if r.Rank == nil {
			continue
		}
		letters := ""
		if p.family != nil {
			letters = lettersOf(p.family.Groups, r.Config)
		}
		rows = append(rows, []string{r.Config, plain(r.Mean), plain(r.Rank), strconv.Itoa(r.RankCI[0]), strconv.Itoa(r.RankCI[1]), letters})
	}
	return csvBytes("ranks", rows)
}
