package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// maxForestRows bounds the height of a forest; the remaining configurations are in the CSV.
const maxForestRows = 200

// Forest draws the mean of every configuration with its interval, highest first: faint dots are scenarios, the
// bar at the right is the share of full passes. Without configurations it says so.
func Forest(c *Comparison) (Figure, error) {
	f := forest{c: c}
	f.arrange()
	return drawFigure(Figure{Name: "mean-turns", Title: "Mean " + c.valueWords() + " by configuration"}, &f)
}

// valueWords names the values on an axis, with the cap.
func (c *Comparison) valueWords() string {
	switch {
	case c.turns() && c.cap() > 0:
		return "turns passed of " + compact(c.cap())
	case c.turns():
		return "turns passed"
	}
	return c.outcomeWords()
}

type forest struct {
	c      *Comparison
	th     theme
	rows   []*ConfigResult
	groups []forestGroup // at least two, or none
	rowH   vg.Length
	width  vg.Length
	height vg.Length
	bar    vg.Length // of the share of full passes; 0 leaves the count alone
}

const (
	figureMargin = vg.Length(6)
	forestTop    = vg.Length(20)
	forestBottom = vg.Length(30)
	shareBar     = vg.Length(34)
)

// A forestGroup is a run of rows that stand together: configurations that the first family compares with each other.
type forestGroup struct {
	from int    // its first row
	head string // what they have in common and others have not
}

// groupRoom is the room above a group.
const groupRoom = vg.Length(12)

// arrange sorts the rows by mean; where the first family compares within several groups, such as the harnesses of
// every model, each group stands together, the one with the highest mean first, and what is in no pair stands last.
func (f *forest) arrange() {
	group := f.c.comparedGroups()
	members := make([][]*ConfigResult, 0, len(group))
	index := make(map[int]int)
	var rest []*ConfigResult
	for i := range f.c.Configs { // by mean
		r := &f.c.Configs[i]
		g, ok := group[r.Config]
		if !ok {
			rest = append(rest, r)
			continue
		}
		if _, seen := index[g]; !seen {
			index[g] = len(members)
			members = append(members, nil)
		}
		members[index[g]] = append(members[index[g]], r)
	}
	if len(members) < 2 {
		for i := range f.c.Configs[:min(len(f.c.Configs), maxForestRows)] {
			f.rows = append(f.rows, &f.c.Configs[i])
		}
		return
	}
	if len(rest) > 0 {
		members = append(members, rest)
	}
	for i, m := range members {
		head := f.c.sharedFactors(m)
		if i == len(members)-1 && len(rest) > 0 {
			head = "in no pair of this family"
		}
		f.groups = append(f.groups, forestGroup{len(f.rows), head})
		f.rows = append(f.rows, m...)
	}
	if len(f.rows) > maxForestRows {
		f.rows = f.rows[:maxForestRows]
		for len(f.groups) > 0 && f.groups[len(f.groups)-1].from >= maxForestRows {
			f.groups = f.groups[:len(f.groups)-1]
		}
	}
}

// comparedGroups numbers the configurations that pairs of the first family connect.
func (c *Comparison) comparedGroups() map[string]int {
	out := make(map[string]int)
	if len(c.Families) == 0 {
		return out
	}
	pairs := c.Families[0].Pairs
	for i := range pairs {
		for _, name := range []string{pairs[i].A, pairs[i].B} {
			if _, ok := out[name]; !ok {
				out[name] = len(out)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range pairs {
			a, b := out[pairs[i].A], out[pairs[i].B]
			if a != b {
				out[pairs[i].A], out[pairs[i].B] = min(a, b), min(a, b)
				changed = true
			}
		}
	}
	return out
}

// sharedFactors words what configurations have in common and not all others have.
func (c *Comparison) sharedFactors(group []*ConfigResult) string {
	var out []string
	for _, key := range sortedKeys(group[0].Factors) {
		v := group[0].Factors[key]
		inside := !slices.ContainsFunc(group, func(r *ConfigResult) bool { return r.Factors[key] != v })
		outside := slices.ContainsFunc(c.Configs, func(r ConfigResult) bool { return r.Factors[key] != v })
		if inside && outside {
			if key == "retries" {
				v = "r" + v
			}
			out = append(out, v)
		}
	}
	return strings.Join(out, " · ")
}

// at returns the height of a row.
func (f *forest) at(i int) vg.Length {
	y := f.height - forestTop - f.rowH*(vg.Length(i)+0.5)
	for _, g := range f.groups {
		if g.from <= i {
			y -= groupRoom
		}
	}
	return y
}

// layout chooses the heights.
func (f *forest) layout(th theme) vg.Length {
	f.th, f.width, f.bar = th, th.page, shareBar
	if th.narrow() {
		f.bar = 0
	}
	f.rowH = 14
	if len(f.rows) > 26 {
		f.rowH = 11.5
	}
	f.height = forestTop + forestBottom + f.rowH*vg.Length(max(1, len(f.rows))) + groupRoom*vg.Length(len(f.groups))
	return f.height
}

// upper is the end of the value axis.
func (f *forest) upper() float64 {
	if f.c.cap() > 0 {
		return f.c.cap()
	}
	most := 0.0
	for i := range f.rows {
		r := f.rows[i]
		if r.CI != nil {
			most = math.Max(most, r.CI[1])
		}
		for _, s := range r.scenarios {
			most = math.Max(most, s.value)
		}
	}
	if most == 0 {
		return 1
	}
	step := ticks(0, most, 5)
	top := step[len(step)-1]
	if top < most {
		top += step[1] - step[0]
	}
	return top
}

func (f *forest) paint(s *sheet) {
	th := f.th
	if len(f.rows) == 0 {
		s.text(f.width/2, f.height/2, centred, th.textSize, th.text, "there are no runs to show")
		return
	}
	names := make([]string, len(f.rows))
	nameW := vg.Length(0)
	for i := range f.rows {
		names[i] = s.shorten(s.printable(f.c.Short(f.rows[i].Config)), th.textSize, 0.36*f.width)
		nameW = max(nameW, s.width(names[i], th.textSize))
	}
	for _, g := range f.groups {
		nameW = max(nameW, min(s.width(s.printable(g.head), th.tickSize), 0.36*f.width))
	}
	capped := f.c.cap() > 0
	shareW, textW := vg.Length(0), vg.Length(0)
	if capped {
		for i := range f.rows {
			textW = max(textW, s.width(fullText(f.rows[i]), th.tickSize))
		}
		shareW = max(f.bar+4+textW, s.width(f.shareHead(), th.tickSize)) + f.gap()
	}
	a := axis{lo: 0, hi: f.upper(), from: figureMargin + nameW + 10, to: f.width - figureMargin - 6 - shareW}
	bottom, top := forestBottom, f.height-forestTop
	f.paintAxis(s, a, bottom, top)
	for _, g := range f.groups {
		s.text(figureMargin, f.at(g.from)+0.5*f.rowH+2, flushLeft, th.tickSize, th.text, s.shorten(s.printable(g.head), th.tickSize, a.from-figureMargin-6))
	}
	for i := range f.rows {
		y := f.at(i)
		s.text(a.from-8, y-2.6, flushRight, th.textSize, th.text, names[i])
		f.paintRow(s, a, f.rows[i], y)
		if capped {
			f.paintShare(s, a.to+f.gap(), f.rows[i], y)
		}
	}
	if capped {
		s.text(f.width-figureMargin-6-shareW+f.gap(), top+7, flushLeft, th.tickSize, th.text, f.shareHead())
	}
}

// shareHead is the heading over the shares of full passes, gap the room before them.
func (f *forest) shareHead() string {
	if f.bar == 0 {
		return "full"
	}
	return "full passes"
}

func (f *forest) gap() vg.Length {
	if f.bar == 0 {
		return 6
	}
	return 14
}

// paintAxis draws grid, ticks, title and cap.
func (f *forest) paintAxis(s *sheet, a axis, bottom, top vg.Length) {
	th := f.th
	n := 6
	if f.bar == 0 {
		n = 3
	}
	values := ticks(a.lo, a.hi, n)
	for _, v := range values {
		x := a.at(v)
		s.line(x, bottom, x, top, th.gridWidth, th.grid, nil)
		s.text(x, bottom-9, centred, th.tickSize, th.text, tickText(v))
	}
	s.text((a.from+a.to)/2, figureMargin, centred, th.textSize, th.text, s.shorten(s.printable("mean "+f.c.valueWords()), th.textSize, f.width-2*figureMargin))
	if f.c.cap() > 0 {
		x := a.at(f.c.cap())
		s.line(x, bottom, x, top+3, th.lineWidth, th.text, []vg.Length{2.5, 2})
		label := "cap " + compact(f.c.cap())
		if f.c.turns() {
			label = "all " + compact(f.c.cap()) + " turns"
		}
		s.text(x, top+7, flushRight, th.tickSize, th.text, label)
	}
}

// paintRow draws the scenarios, the interval and the mean of one configuration.
func (f *forest) paintRow(s *sheet, a axis, r *ConfigResult, y vg.Length) {
	th := f.th
	if r.Mean == nil {
		s.text(a.from+2, y-2.4, flushLeft, th.tickSize, th.faint, "no runs")
		return
	}
	var at []vg.Point
	for _, v := range r.scenarios {
		at = append(at, vg.Point{X: a.at(v.value), Y: y})
		if !th.narrow() { // one by one they add up to a darker spot; in a column there is no room to see that
			s.dots(at, 1.5, thin(th.text, 0.22))
			at = at[:0]
		}
	}
	s.dots(at, 1.5, thin(th.text, 0.3))
	if r.CI != nil {
		s.whisker(a.at(r.CI[0]), a.at(r.CI[1]), y, th.text)
	}
	s.dot(a.at(*r.Mean), y, 3.2, th.background)
	s.dot(a.at(*r.Mean), y, 2.6, th.text)
}

// paintShare draws the share of full passes as a thin bar and a count.
func (f *forest) paintShare(s *sheet, x vg.Length, r *ConfigResult, y vg.Length) {
	th := f.th
	if r.Full == nil || r.N == 0 {
		return
	}
	s.rect(x, y-1.6, x+f.bar, y+1.6, th.grid)
	s.rect(x, y-1.6, x+f.bar*vg.Length(*r.Full)/vg.Length(r.N), y+1.6, th.full)
	s.text(x+f.bar+4, y-2.4, flushLeft, th.tickSize, th.text, fullText(r))
}

func fullText(r *ConfigResult) string {
	if r.Full == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", *r.Full, r.N)
}

// caption says what the picture shows and on how much it rests.
func (f *forest) caption() string {
	c := f.c
	if len(c.Configs) == 0 {
		return "No runs."
	}
	s := fmt.Sprintf("Dot: mean %s; line: 95 %% interval (%s); faint dots: scenarios (%s × %s %s).", c.valueWords(), c.intervalWords(), c.scenarios, c.runs, plural(c.runs.hi, "run", "runs"))
	if c.cap() > 0 {
		s += " Bar: share of full passes."
	}
	if len(f.groups) > 0 {
		s += fmt.Sprintf(" Groups: what the family %q compares.", Clean(c.Families[0].Name))
	}
	if c.hasStopped() {
		s += " Means with stopped runs are restricted means (Kaplan–Meier)."
	}
	if n := len(c.Configs) - len(f.rows); n > 0 {
		s += fmt.Sprintf(" %d configurations with lower means are in the CSV file only.", n)
	}
	return s
}

// sentence tells the means.
func (f *forest) sentence() string { return f.c.meansSentence() }

// csv holds the numbers of the figure.
func (f *forest) csv() ([]byte, error) {
	c := f.c
	rows := [][]string{{"row", "config", "scenario", "value", "ci_lo", "ci_hi", "full", "n"}}
	for i := range c.Configs {
		r := &c.Configs[i]
		lo, hi, full := "", "", ""
		if r.CI != nil {
			lo, hi = plain(&r.CI[0]), plain(&r.CI[1])
		}
		if r.Full != nil {
			full = strconv.Itoa(*r.Full)
		}
		rows = append(rows, []string{"mean", r.Config, "", plain(r.Mean), lo, hi, full, strconv.Itoa(r.N)})
		for _, v := range r.scenarios {
			rows = append(rows, []string{"scenario", r.Config, v.scenario, plain(&v.value), "", "", "", ""})
		}
	}
	return csvBytes("mean-turns", rows)
}

func csvBytes(name string, rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return nil, fmt.Errorf("writing the numbers of figure %s: %w", name, err)
	}
	return b.Bytes(), nil
}
