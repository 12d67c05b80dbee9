package report

import (
	"bufio"
	"fmt"
	"slices"
)

// costTable says what the runs cost; ok is false where nothing is known about it.
func (rep *Report) costTable() (t table, ok bool) {
	c := rep.Comparison
	runs := make(map[string]*RunSummary, len(rep.Runs))
	for i := range rep.Runs {
		runs[rep.Runs[i].Config] = &rep.Runs[i]
	}
	const (
		episode = "dollars per episode"
		turn    = "dollars per passed turn"
		cached  = "prompt tokens from a cache"
		effort  = "per episode"
		void    = "void attempts"
		resumed = "given up by a resume"
	)
	t = table{name: "costs", caption: "Costs; intervals draw the scenarios again", columns: []tableColumn{
		{head: "configuration"},
		{head: "mean", over: episode, mark: "."}, {head: "95 % CI", over: episode, mark: "–"},
		{head: "ratio", over: turn, mark: "."}, {head: "95 % CI", over: turn, mark: "–"},
		{head: "share", over: cached, mark: "."}, {head: "95 % CI", over: cached, mark: "–"},
		{head: "attempts", over: effort, mark: "."}, {head: "tokens", over: effort, mark: " "},
		{head: "n", over: void, mark: " "}, {head: "dollars", over: void, mark: "."},
		{head: "n", over: resumed, mark: " "}, {head: "dollars", over: resumed, mark: "."},
		{head: "wasted share", mark: "."},
	}}
	for i := range rep.Costs {
		s := &rep.Costs[i]
		row := []tableCell{words(Clean(c.Short(s.Config)))}
		row = append(row, s.PerEpisode.cells(dollars)...)
		row = append(row, s.PerTurn.cells(dollars)...)
		row = append(row, s.CachedShare.cells(percentOf)...)
		attempts, tokens := words(undefinedMark), words(undefinedMark)
		if r := runs[s.Config]; r != nil && r.Episodes > 0 {
			ok = true
			n := float64(r.Episodes)
			perRun := float64(r.Attempts) / n
			attempts = amount(&perRun, number(perRun, 1))
			if r.Tokens != nil {
				v := float64(*r.Tokens) / n
				tokens = amount(&v, thousands(int64(v+0.5)))
			}
		}
		row = append(row, attempts, tokens)
		row = append(row, s.Void.cells(c.runsOf(s.Config, "void"))...)
		row = append(row, s.Resumed.cells(c.runsOf(s.Config, "resumed"))...)
		t.rows = append(t.rows, append(row, s.WastedShare.cells(percentOf)[0]))
		ok = ok || s.PerEpisode.Value != nil
	}
	if !c.hasCosts() {
		t.caption = "Effort; the dollars of no run are known"
	}
	for _, group := range []string{void, resumed} {
		if t.allZero(group) {
			t = t.without(func(i int) bool { return t.columns[i].over == group })
			t.caption += "; " + group + ": none"
		}
	}
	return t.withoutEmpty(), ok
}

// allZero says whether the columns under a heading hold nothing but zeros.
func (t *table) allZero(over string) bool {
	return !slices.ContainsFunc(t.rows, func(row []tableCell) bool {
		for i, cell := range row {
			if t.columns[i].over == over && cell.text != "0" && cell.text != "0.00" {
				return true
			}
		}
		return false
	})
}

// cells are the value and its interval.
func (e *Estimate) cells(form func(float64) string) []tableCell {
	value, ci := words(undefinedMark), words(undefinedMark)
	if e.Value != nil {
		value = amount(e.Value, form(*e.Value))
	}
	if e.CI != nil {
		ci = amount(&e.CI[0], between(e.CI, form))
	}
	return []tableCell{value, ci}
}

// cells are the number of attempts and their dollars.
func (w *Wasted) cells(link *episodeLink) []tableCell {
	n, usd := words(undefinedMark), words(undefinedMark)
	if w.Attempts != nil {
		n = whole(*w.Attempts)
		n.link = link
		usd = amount(w.USD, optionalDollars(w.USD))
	}
	return []tableCell{n, usd}
}

// costSection is the part of the page about money; ok is false where nothing is known about it.
func (rep *Report) costSection(show func(table) partView) (s sectionView, ok bool) {
	t, ok := rep.costTable()
	if !ok {
		return s, false
	}
	s = sectionView{ID: "cost", Title: "What it cost", Parts: []partView{show(t)}}
	if text := rep.Comparison.costSentence(rep.Costs); text != "" {
		s.Parts = append(s.Parts, partView{Text: text})
	}
	return s, true
}

// markdownCosts is the same in Markdown.
func (rep *Report) markdownCosts(b *bufio.Writer) {
	t, ok := rep.costTable()
	if !ok {
		return
	}
	for i := range t.columns { // Markdown has no heading over several columns
		if col := &t.columns[i]; col.over != "" {
			col.head, col.over = col.over+": "+col.head, ""
		}
	}
	fmt.Fprintf(b, "\n## What it cost\n\n")
	t.markdownRows(b)
	fmt.Fprintf(b, "\n%s.\n", escapeMarkdown(t.caption))
	if text := rep.Comparison.costSentence(rep.Costs); text != "" {
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(text))
	}
}
