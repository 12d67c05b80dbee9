package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// stopReasons words the end reasons of stopped runs.
var stopReasons = map[string]string{
	"provider":   "by the provider",
	"budget":     "by the budget",
	"operator":   "by the operator",
	"host":       "by the host",
	"bench":      "by the bench",
	"incomplete": "not finished yet",
}

// stoppedText says which runs of a configuration were stopped and by what, and what that does to its mean.
func stoppedText(g *configRows, m stats.MeanResult, outcome string) string {
	stopped := len(g.stops)
	count := make(map[string]int)
	ids := make([]string, 0, len(g.stops))
	for i, s := range g.stops {
		count[s.reason]++
		if i < 4 {
			ids = append(ids, Clean(s.id))
		}
	}
	if more := len(g.stops) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("%d more", more))
	}
	var why []string
	for _, reason := range sortedKeys(count) {
		words, ok := stopReasons[reason]
		switch {
		case reason == "":
			continue
		case !ok:
			words = "by " + Clean(reason)
		}
		if len(count) > 1 {
			words = strconv.Itoa(count[reason]) + " " + words
		}
		why = append(why, words)
	}
	verb := plural(stopped, "was stopped", "were stopped")
	switch {
	case len(count) == 1 && count["incomplete"] > 0:
		verb, why = plural(stopped, "has not ended yet", "have not ended yet"), nil
	case len(why) == 1 && len(count) == 1:
		verb, why = verb+" "+why[0], nil
	}
	text := fmt.Sprintf("%d of %d runs %s (%s", stopped, m.N, verb, strings.Join(ids, ", "))
	if len(why) > 0 {
		text += "; " + strings.Join(why, ", ")
	}
	text += "): "
	switch {
	case outcome == "usd":
		return text + "what they cost so far counts"
	case m.Stopped == m.N:
		return text + "the mean of what was reached so far is a lower bound"
	}
	return text + "restricted mean (Kaplan–Meier)"
}

// nameSides replaces the words A and B in a text of package stats, outside of quotes, by the names of the sides.
func nameSides(text, a, b string) string {
	quoted := strings.Split(text, `"`)
	for i := 0; i < len(quoted); i += 2 {
		words := strings.Split(quoted[i], " ")
		for k, w := range words {
			bare := strings.TrimLeft(strings.TrimRight(w, ",;:.)"), "(")
			switch bare {
			case "A":
				words[k] = strings.Replace(w, "A", a, 1)
			case "B":
				words[k] = strings.Replace(w, "B", b, 1)
			}
		}
		quoted[i] = strings.Join(words, " ")
	}
	return strings.Join(quoted, `"`)
}

func trimNotTested(name string) string { return strings.TrimPrefix(name, "not tested: ") }

// columnOf places the notes of package stats in a table.
func columnOf(code string) column {
	switch code {
	case stats.CodeZeroMethodDecides, stats.CodeDirectionSplit, stats.CodeCensoringDecides, stats.CodeApproximate,
		stats.CodeCannotReachAlpha, stats.CodeCannotSurviveFamily:
		return atHolm
	case stats.CodeDegenerate, stats.CodeTauBeyondData, stats.CodeTooManyStopped:
		return atMean
	}
	return atName
}

// manyOfOne words a note that so many pairs or configurations carry, each with other figures, that one line must do.
var manyOfOne = map[string]string{
	stats.CodeStoppedUntested:     "runs were stopped, so these pairs are not tested and count in their family with p = 1",
	stats.CodeZeroMethodDecides:   "the treatment of zero differences decides",
	stats.CodeDirectionSplit:      "the ranks favour one side and the mean the other, so neither is called better",
	stats.CodeCensoringDecides:    "the stopped runs decide",
	stats.CodeUnmatched:           "scenarios that only one side has are left out",
	stats.CodeRepeatsTrimmed:      "surplus repeats are left out, so that both sides have the same number of runs in every scenario",
	stats.CodeCapTooLow:           "both sides reach the cap in more than half of the scenarios: raise the cap",
	stats.CodeAllTied:             "all differences are zero",
	stats.CodeOneScenario:         "one shared scenario: shown, not tested",
	stats.CodeCannotReachAlpha:    "too few non-zero differences for p to reach α",
	stats.CodeCannotSurviveFamily: "could not have been significant in a family of this size",
	stats.CodeTooManyStopped:      "more than 30 % of the runs were stopped",
	CodeNotTested:                 "too few shared scenarios: not tested, counted in the family with p = 1",
	CodeFamilyPartly:              "a configuration without runs: not tested, counted in the family with p = 1",
	CodeStoppedTested:             "runs were stopped: paired Prentice–Wilcoxon",
	stats.CodeFrailty:             "the failure rate differs between windows of turns; scenarios of different difficulty alone make it fall",
	CodeInfraEnds:                 "runs ended in the agent's own infrastructure, counted as failures",
	CodeStoppedRuns:               "runs were stopped: restricted means (Kaplan–Meier)",
	CodeMissingValue:              "rows without a value are left out",
	CodeCostPartlyKnown:           "the cost of some runs is unknown; dollars are the mean of the others",
}

// maxNotes is the number of different notes of one code that are printed in full.
const maxNotes = 5

// A footnotes numbers the notes of a table in the order in which their marks are asked for.
type footnotes struct {
	many  map[string]bool // codes that are told in one line
	order []string
	lines map[string]*footnote
}

type footnote struct {
	number int
	code   string
	wheres []string
	text   string
}

// newFootnotes looks at all notes of a table first, to know which codes occur too often.
func newFootnotes(all []Warning) *footnotes {
	f := &footnotes{many: make(map[string]bool), lines: make(map[string]*footnote)}
	texts := make(map[string]map[string]bool)
	for _, w := range all {
		if texts[w.Code] == nil {
			texts[w.Code] = make(map[string]bool)
		}
		texts[w.Code][w.Where+"\x00"+w.Text] = true
	}
	for code, t := range texts {
		if manyOfOne[code] != "" && len(t) > maxNotes {
			f.many[code] = true
		}
	}
	return f
}

// marks returns the numbers of the notes that hang on a column, "" if there are none.
func (f *footnotes) marks(notes []Warning, at column) []int {
	var out []int
	for _, w := range notes {
		if w.at != at {
			continue
		}
		n := f.number(w)
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func (f *footnotes) number(w Warning) int {
	key, text := w.Code+"\x00"+w.Text, w.Text
	if f.many[w.Code] {
		key, text = w.Code, manyOfOne[w.Code]
	}
	line := f.lines[key]
	if line == nil {
		line = &footnote{number: len(f.order) + 1, code: w.Code, text: text}
		f.lines[key] = line
		f.order = append(f.order, key)
	}
	if !slices.Contains(line.wheres, w.Where) {
		line.wheres = append(line.wheres, w.Where)
	}
	return line.number
}

// all returns the footnotes with the places they speak of.
func (f *footnotes) all(name func(where string) string) []string {
	out := make([]string, 0, len(f.order))
	for _, key := range f.order {
		line := f.lines[key]
		wheres := make([]string, 0, 4)
		for i, w := range line.wheres {
			if i == 3 && len(line.wheres) > 4 {
				wheres = append(wheres, fmt.Sprintf("%d more", len(line.wheres)-3))
				break
			}
			wheres = append(wheres, name(w))
		}
		text := line.text
		if len(wheres) > 0 && wheres[0] != "" {
			text = strings.Join(wheres, ", ") + ": " + text
		}
		if f.many[line.code] {
			text += " (the figures of each are in --json)"
		}
		out = append(out, text)
	}
	return out
}

var superscripts = [...]string{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"}

// superscript writes footnote numbers as raised digits.
func superscript(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteByte(' ')
		}
		for _, d := range strconv.Itoa(n) {
			b.WriteString(superscripts[d-'0'])
		}
	}
	return b.String()
}
