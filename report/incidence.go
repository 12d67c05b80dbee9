package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// An EndedBy is one cause with how many runs it ended, and what share by each of the turns shown.
type EndedBy struct {
	Cause     string         `json:"cause"`
	Runs      int            `json:"runs"`
	Leaves    map[string]int `json:"leaves"` // "" is a cause without a leaf
	Incidence []float64      `json:"incidence"`
}

// Incidence tells what ended the runs of one configuration: the cumulative incidence of every cause (Aalen-Johansen),
// and what the mean could have been had the agent's own infrastructure not ended any.
type Incidence struct {
	Config  string    `json:"config"`
	Runs    int       `json:"runs"`
	Full    int       `json:"full"`
	Stopped int       `json:"stopped"`
	Turns   []int     `json:"turns"`
	Causes  []EndedBy `json:"causes"`
	Going   []float64 `json:"going"` // still going, or at the end
	Infra   int       `json:"infra_ends"`
	Mean    float64   `json:"mean_as_run"`
	// Bounds are the mean if the runs that infrastructure ended had passed no further turn, and if they had passed all;
	// null without a largest number of turns.
	Bounds *[2]float64 `json:"mean_bounds"`
	// IfUnrelated is a side row: it is never tested.
	IfUnrelated *float64 `json:"mean_if_infrastructure_ends_were_unrelated_to_progress"`
}

// ErrNoVerdicts means that nothing says why runs failed.
var ErrNoVerdicts = errors.New("these outcomes hold no causes of failure")

// Incidences estimates all configurations, over the same turns.
func (c *Comparison) Incidences() ([]Incidence, error) {
	if !c.verdicts || !c.turns() {
		return nil, ErrNoVerdicts
	}
	panels, err := c.causePanels()
	if err != nil {
		return nil, err
	}
	p := causePlot{c: c, panels: panels}
	turns := shownTurns(int(p.upper()))
	out := []Incidence{}
	for i := range panels {
		q := &panels[i]
		r := c.Config(q.config)
		in := Incidence{Config: q.config, Runs: q.n, Full: q.full, Stopped: q.stopped, Turns: turns, Infra: r.Causes["infra"]}
		for _, k := range causes() {
			e := EndedBy{Cause: k.String(), Leaves: map[string]int{}, Incidence: make([]float64, len(turns))}
			for n := range r.runs {
				if r.runs[n].cause == k {
					e.Runs++
					e.Leaves[leafName(r.runs[n].row.EndLeaf)]++
				}
			}
			if e.Runs == 0 && k != causeDrift && k != causeInfra {
				continue
			}
			for n, t := range turns {
				for at, ending := range q.endings {
					if ending.cause == k {
						e.Incidence[n] += q.cif.At(at+1, float64(t))
					}
				}
			}
			in.Causes = append(in.Causes, e)
		}
		for n := range turns {
			going := 1.0
			for _, e := range in.Causes {
				going -= e.Incidence[n]
			}
			in.Going = append(in.Going, max(0, going))
		}
		if err := in.bound(c, r); err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

// bound brackets the mean.
func (in *Incidence) bound(c *Comparison, r *ConfigResult) error {
	if r.Mean != nil {
		in.Mean = *r.Mean
	}
	if c.cap() <= 0 {
		return nil
	}
	runs := make([]stats.Outcome, len(r.runs))
	for i, u := range r.runs {
		runs[i] = stats.Outcome{Scenario: u.row.Pair(), Replicate: u.row.Repeat, Value: u.value, Status: u.status, Cause: u.cause.String()}
	}
	b, err := stats.MeanBounds(runs, func(o stats.Outcome) bool { return o.Cause == causeInfra.String() }, stats.MeanOptions{Cap: c.cap()})
	if err != nil {
		return fmt.Errorf("bounds of %s: %w", Clean(in.Config), err)
	}
	in.Mean, in.Bounds = b.AsRun.Mean, &[2]float64{b.Low.Mean, b.High.Mean}
	if b.Ended > 0 {
		in.IfUnrelated = &b.IfUnrelated.Mean
	}
	return nil
}

// shownTurns are the turns of a table: the build, early, middle and late ones, and the last.
func shownTurns(last int) []int {
	turns := slices.DeleteFunc([]int{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}, func(t int) bool { return t*10 >= last*9 })
	return append(turns[max(0, len(turns)-6):], last)
}

// WriteCauses prints the incidences side by side.
func (c *Comparison) WriteCauses(w io.Writer, all []Incidence, width int) error {
	if width <= 0 {
		width = 100
	}
	t := textWriter{w: w, width: width}
	t.wrap("", "What ended the runs: share ended by each cause by turns passed (cumulative incidence, Aalen-Johansen; runs end for one cause, so the causes add up)")
	t.gap()
	g := &grid{cols: []gridColumn{{head: "config"}, {head: "ended by"}, {head: "runs", mark: "/"}}}
	for _, turn := range all[0].Turns {
		g.cols = append(g.cols, gridColumn{head: fmt.Sprintf("≤ %d", turn), mark: "."})
	}
	bounds := &grid{cols: []gridColumn{{head: "config"}, {head: "mean as run", mark: "."}, {head: "bounds", mark: "–"}, {head: "side row", mark: "."}}}
	for i := range all {
		in := &all[i]
		for n, e := range in.Causes {
			row := []gridCell{{text: ""}, {text: e.Cause}, {text: fmt.Sprintf("%d/%d", e.Runs, in.Runs)}}
			if n == 0 {
				row[0].text = Clean(c.Short(in.Config))
			}
			for _, v := range e.Incidence {
				row = append(row, gridCell{text: number(v, 2)})
			}
			g.rows = append(g.rows, row)
		}
		row := []gridCell{{text: Clean(c.Short(in.Config))}, {text: number(in.Mean, 2)}, {text: ""}, {text: ""}}
		if in.Bounds != nil {
			row[2].text = number(in.Bounds[0], 2) + "–" + number(in.Bounds[1], 2)
		}
		if in.IfUnrelated != nil {
			row[3].text = number(*in.IfUnrelated, 2)
		}
		bounds.rows = append(bounds.rows, row)
	}
	t.grid(g)
	for i := range all {
		if s := all[i].leafSentence(c); s != "" {
			t.wrap("", s)
		}
	}
	t.gap()
	t.grid(bounds)
	t.wrap("", "As run, an end in the agent's own infrastructure is a failure, and so it is tested. Bounds: had such runs passed no further turn, or all of them. Side row: if infrastructure ends were unrelated to progress; never tested.")
	return t.err
}

// leafSentence lists the leaves of the causes.
func (in *Incidence) leafSentence(c *Comparison) string {
	var parts []string
	for _, e := range in.Causes {
		if words := leafWords(e.Leaves); words != "" {
			parts = append(parts, e.Cause+words)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return Clean(c.Short(in.Config)) + ": " + strings.Join(parts, ", ") + "."
}

// CausesJSON writes incidences as JSON with the schema stint.causes/1.
func (c *Comparison) CausesJSON(w io.Writer, all []Incidence) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema  string      `json:"schema"`
		Banner  string      `json:"banner,omitempty"`
		Configs []Incidence `json:"configs"`
	}{"stint.causes/1", c.Banner, all})
}
