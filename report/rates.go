package report

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// A FailureRate is the share of tried turns that failed, over all of a configuration's runs and by windows of turns.
type FailureRate struct {
	PerTurn float64      `json:"per_turn"` // failed turns over tried turns, the rate if it never changes
	CI      *[2]float64  `json:"ci"`       // Clopper–Pearson
	P       *float64     `json:"p"`        // that the rate is the same in all windows; nil if there are too few failures to test it
	Windows []RateWindow `json:"windows"`
}

// A RateWindow is a range of turns.
type RateWindow struct {
	From     int  `json:"from"`
	To       *int `json:"to"` // nil: no end
	Failures int  `json:"failures"`
	Tried    int  `json:"tried"`
}

// rate fills the failure rate of a configuration whose outcome is turns.
func (r *ConfigResult) rate(o []stats.Outcome, limit float64) {
	h, err := stats.Hazards(o, stats.HazardOptions{Cap: limit})
	if err != nil {
		return // a mean of turns has no rate, and whatever else is wrong with the outcomes is told by their mean
	}
	rate := FailureRate{PerTurn: h.Pooled, Windows: []RateWindow{}}
	if h.PooledCI.Defined {
		rate.CI = &[2]float64{h.PooledCI.Lo, h.PooledCI.Hi}
	}
	if h.DF > 0 {
		rate.P = ptr(h.P)
	}
	for _, w := range h.Windows {
		v := RateWindow{From: w.From, Failures: w.Failures, Tried: w.AtRisk}
		if w.To >= 0 {
			v.To = ptr(w.To)
			if last := int(limit) - 1; limit > 0 && w.To > last {
				v.To = ptr(last) // no run has turns beyond
			}
		}
		rate.Windows = append(rate.Windows, v)
	}
	r.FailureRate = &rate
	for _, w := range h.Warnings {
		r.notes = append(r.notes, Warning{Code: w.Code, Where: r.Config, Text: w.Text, at: atRate})
	}
}

// ratePercent writes a rate with two significant digits.
func ratePercent(v float64) string {
	decimals := 0
	for x := 100 * v; x > 0 && x < 10 && decimals < 3; x *= 10 {
		decimals++
	}
	return number(100*v, decimals)
}

// rateTable is the table of failure rates; ok is false where the outcome is not a number of turns.
func (c *Comparison) rateTable(notes *footnotes) (t table, ok bool) {
	t = table{name: "failure-rates", caption: "Failed turns of the tried ones, by windows of turns", columns: []tableColumn{
		{head: "configuration"}, {head: "failed per turn", mark: "."}, {head: "95 % CI", mark: "–"}}}
	var widest []RateWindow
	for i := range c.Configs {
		if r := c.Configs[i].FailureRate; r != nil && len(r.Windows) > len(widest) {
			widest = r.Windows
		}
	}
	if len(widest) == 0 {
		return t, false
	}
	for _, w := range widest {
		head := fmt.Sprint(w.From)
		switch {
		case w.To == nil:
			head = fmt.Sprintf("from %d on", w.From)
		case *w.To > w.From:
			head = fmt.Sprintf("%d–%d", w.From, *w.To)
		}
		t.columns = append(t.columns, tableColumn{head: head, over: "failed of tried in turns", mark: "/"})
	}
	t.columns = append(t.columns, tableColumn{head: "p of one rate", mark: "."})
	for i := range c.Configs {
		r := &c.Configs[i]
		if r.FailureRate == nil {
			continue
		}
		ci := undefinedMark
		if v := r.FailureRate.CI; v != nil {
			ci = ratePercent(v[0]) + "–" + ratePercent(v[1]) + " %"
		}
		row := []tableCell{
			words(Clean(c.Short(r.Config))), amount(&r.FailureRate.PerTurn, ratePercent(r.FailureRate.PerTurn)+" %"), amount(low(r.FailureRate.CI), ci)}
		for k := range widest {
			cell := words("")
			if k < len(r.FailureRate.Windows) {
				w := r.FailureRate.Windows[k]
				cell = tableCell{text: fmt.Sprintf("%d/%d", w.Failures, w.Tried), value: ptr(float64(w.Failures) / math.Max(1, float64(w.Tried))), link: c.runsOf(r.Config, windowKey(k))}
				cell.link.label += ", failed in turns " + t.columns[3+k].head
			}
			row = append(row, cell)
		}
		row = append(row, amount(r.FailureRate.P, textP(r.FailureRate.P), notes.marks(r.notes, atRate)...))
		t.rows = append(t.rows, row)
	}
	return t, true
}

// rateSentence words the rates of the first configurations as a paper does.
func (c *Comparison) rateSentence() string {
	var parts []string
	for i := range c.Configs {
		r := &c.Configs[i]
		if r.FailureRate == nil || r.FailureRate.CI == nil {
			continue
		}
		if len(parts) == maxTold {
			break
		}
		s := fmt.Sprintf("%s %s %% (95 %% interval %s–%s %%", Clean(c.Short(r.Config)), ratePercent(r.FailureRate.PerTurn),
			ratePercent(r.FailureRate.CI[0]), ratePercent(r.FailureRate.CI[1]))
		differs := slices.ContainsFunc(r.notes, func(n Warning) bool { return n.Code == stats.CodeFrailty })
		switch p := r.FailureRate.P; {
		case p == nil:
		case differs:
			s += "; not the same in all windows, p = " + stats.FormatP(*p)
		default:
			s += "; no change over the session found, p = " + stats.FormatP(*p)
		}
		parts = append(parts, s+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return "Failed turns per tried turn: " + joinAnd(parts) + "."
}

// markdownRates writes the table of failure rates.
func (c *Comparison) markdownRates(b *bufio.Writer, notes *footnotes) {
	if t, ok := c.rateTable(notes); ok {
		t.markdown(b)
	}
}

// markdown writes a table with its caption before it.
func (t *table) markdown(b *bufio.Writer) {
	fmt.Fprintf(b, "\n%s\n\n", escapeMarkdown(t.caption+":"))
	t.markdownRows(b)
}

// markdownRows writes the heading and the rows.
func (t *table) markdownRows(b *bufio.Writer) {
	head := make([]string, len(t.columns))
	for i, col := range t.columns {
		head[i] = col.head
		if col.over != "" {
			head[i] = "turns " + col.head
		}
		head[i] = escapeMarkdown(head[i])
	}
	markdownHead(b, head, 1)
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.TrimSpace(escapeMarkdown(cell.text) + superscript(cell.marks))
		}
		markdownRow(b, cells)
	}
}
