package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// A Curve is what the runs of one configuration would have reached with every smaller retry budget, as
// [stats.Retry] derives it from the attempts they used.
type Curve struct {
	Config   string           `json:"config"`
	Runs     int              `json:"runs"`
	Points   []CurvePoint     `json:"points"`
	Plateau  CurvePlateau     `json:"plateau"`
	Sentence string           `json:"sentence"`
	Warnings []ComparedNotice `json:"warnings"`
}

// A CurvePoint is one budget, and the attempt that it allows last. Undefined values are null.
type CurvePoint struct {
	Retries int         `json:"retries"`
	Mean    float64     `json:"mean"`
	CI      *[2]float64 `json:"ci"`   // pointwise
	Band    *[2]float64 `json:"band"` // simultaneous over all budgets
	Full    int         `json:"full"`
	FullCI  *[2]float64 `json:"full_ci"` // of the share of full passes, Wilson
	Failed  int         `json:"failed"`  // runs that failed
	Gain    float64     `json:"gain"`
	Share   float64     `json:"share"`   // of the mean at the full budget
	Reached int         `json:"reached"` // turns that came to this attempt
	Passed  int         `json:"passed"`  // turns that it passed
	Yield   *float64    `json:"yield"`
	YieldCI *[2]float64 `json:"yield_ci"` // bootstrap over scenarios
	Rescued int         `json:"rescued"`  // turns passed at a retry
	// What a rescued turn cost in retries, those in vain included.
	TokensPerRescued *float64 `json:"tokens_per_rescued"`
	USDPerRescued    *float64 `json:"usd_per_rescued"`
}

// A CurvePlateau is the decision about a plateau: plateau, rising or undecided.
type CurvePlateau struct {
	Decision string `json:"decision"`
	At       *int   `json:"at"`   // null unless proved
	Need     *int   `json:"need"` // scenarios from which on a plateau could be proved; null if none are enough
	Method   string `json:"method"`
}

// A ComparedNotice is a warning of the statistics.
type ComparedNotice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Curves derives the retry curves of all configurations that had retries and whose attempts are known.
func (c *Comparison) Curves() ([]Curve, error) {
	found, err := c.retryCurves()
	if err != nil {
		return nil, err
	}
	out := make([]Curve, 0, len(found))
	for i := range found {
		cv := &found[i]
		k := Curve{Config: cv.config, Runs: cv.N, Sentence: c.retrySentence(cv), Warnings: []ComparedNotice{},
			Plateau: CurvePlateau{Decision: cv.Plateau.Decision, Method: cv.Plateau.Method}}
		if cv.Plateau.Decision == stats.PlateauFound {
			k.Plateau.At = &cv.Plateau.At
		}
		if cv.Plateau.Need > 0 {
			k.Plateau.Need = &cv.Plateau.Need
		}
		for r, p := range cv.Points {
			y := cv.Yields[r]
			pt := CurvePoint{Retries: p.R, Mean: p.Mean, CI: endsOf(p.Interval), Band: endsOf(p.Band), Full: p.Full, FullCI: endsOf(p.FullCI), Failed: p.Failures,
				Gain: p.Gain, Share: p.Share, Reached: y.Reached, Passed: y.Passed, YieldCI: endsOf(y.Interval), Rescued: p.Rescued}
			if y.Reached > 0 {
				pt.Yield = &cv.Yields[r].Rate
			}
			pt.TokensPerRescued, pt.USDPerRescued = perRescued(cv.tokens, r), perRescued(cv.usd, r)
			k.Points = append(k.Points, pt)
		}
		for _, w := range c.Config(cv.config).notes {
			if w.Code == CodeIncomplete {
				k.Warnings = append(k.Warnings, ComparedNotice{w.Code, w.Text})
			}
		}
		for _, w := range cv.Warnings {
			k.Warnings = append(k.Warnings, ComparedNotice{w.Code, w.Text})
		}
		out = append(out, k)
	}
	return out, nil
}

// perRescued returns the cost of a rescued turn with budget r; nil if it is unknown.
func perRescued(costs []stats.RetryCost, r int) *float64 {
	if r >= len(costs) || !costs[r].Defined {
		return nil
	}
	return &costs[r].PerRescued
}

// costSentence says what retries cost at the full budget, "" if that is not known.
func (k *Curve) costSentence() string {
	last := k.Points[len(k.Points)-1]
	var of []string
	if v := last.TokensPerRescued; v != nil {
		of = append(of, thousands(int64(*v+0.5))+" tokens")
	}
	if v := last.USDPerRescued; v != nil {
		of = append(of, "$"+dollars(*v))
	}
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s passed at a retry; each took %s of retries, those in vain included.", last.Rescued, plural(last.Rescued, "turn", "turns"), strings.Join(of, " and "))
}

func endsOf(i stats.Interval) *[2]float64 {
	if !i.Defined {
		return nil
	}
	return &[2]float64{i.Lo, i.Hi}
}

// WriteCurves prints the curves as text of at most width columns (0: 100).
func (c *Comparison) WriteCurves(w io.Writer, curves []Curve, width int) error {
	if width <= 0 {
		width = 100
	}
	t := textWriter{w: w, width: width}
	t.wrap("", c.header())
	sc := scaleOf(c)
	for _, cv := range curves {
		t.gap()
		g := &grid{cols: []gridColumn{
			{head: Clean(c.Short(cv.Config)), mark: " "}, {head: "mean", mark: "."}, {head: "95 % CI"}, {head: "95 % band"}, {head: "full", mark: "/"},
			{head: "gain", mark: "."}, {head: "of the whole", mark: " "}, {head: "passed at this attempt", mark: "/"},
		}}
		for _, p := range cv.Points {
			gain := ""
			if p.Retries > 0 {
				gain = signed(p.Gain, sc.mean)
			}
			g.rows = append(g.rows, []gridCell{
				{text: fmt.Sprintf("r = %d", p.Retries)}, {text: number(p.Mean, sc.mean)}, {text: interval(p.CI, sc.interval, false)}, {text: interval(p.Band, sc.interval, false)},
				{text: fmt.Sprintf("%d/%d", p.Full, cv.Runs)}, {text: gain}, {text: fmt.Sprintf("%.0f %%", 100*p.Share)}, {text: fmt.Sprintf("%d/%d", p.Passed, p.Reached)},
			})
		}
		t.grid(g)
		t.wrap("", cv.Sentence)
		if s := cv.costSentence(); s != "" {
			t.wrap("", s)
		}
		told := make(map[ComparedNotice]bool) // several budgets may carry the same remark
		for _, w := range cv.Warnings {
			if !told[w] {
				told[w] = true
				t.wrap("note: ", w.Text)
			}
		}
	}
	t.gap()
	t.wrap("", "Every budget is read off the same runs: budgets of one run are never tested against each other. Band: 95 %, simultaneous over the budgets, bootstrap over scenarios. Plateau: "+curves[0].Plateau.Method+".")
	return t.err
}

// CurvesJSON writes the curves as JSON with the schema stint.curve/1.
func CurvesJSON(w io.Writer, curves []Curve) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema string  `json:"schema"`
		Curves []Curve `json:"curves"`
	}{"stint.curve/1", curves})
}

// CurvesCSV writes the numbers of the curves, a line per budget and a line per attempt.
func (c *Comparison) CurvesCSV(w io.Writer) error {
	found, err := c.retryCurves()
	if err != nil {
		return err
	}
	p := retryPlot{c: c, curves: found}
	b, err := p.csv()
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
