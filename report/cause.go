package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// A cause is what ended a failed run, by the first level of its counting verdict.
type cause uint8

const (
	noCause      cause = iota // the run did not fail, or there are no verdicts
	causeDrift                // the program became wrong
	causeInfra                // the agent's own infrastructure
	causeBench                // ours
	causeUnknown              // no verdict, or one that abstains
)

// causeNames are the words of verdicts, in the order in which causes are shown.
var causeNames = [...]string{"", "drift", "infra", "bench", "unknown"}

// String returns the word of the verdict, "" for none.
func (k cause) String() string { return causeNames[k] }

// causes lists all causes in the order in which they are shown.
func causes() []cause { return []cause{causeDrift, causeInfra, causeBench, causeUnknown} }

// causeOf reads the cause from the verdict of a failed run; one without a verdict is unknown. Whether there are
// verdicts at all is for the comparison to say.
func causeOf(row *logs.Outcome) cause {
	if row.Status == logs.StatusCapped || row.Status == logs.StatusStopped {
		return noCause
	}
	if i := slices.Index(causeNames[1:], row.EndL1); i >= 0 {
		return cause(i + 1)
	}
	return causeUnknown
}

// noteInfra is the share of runs that infrastructure must have ended for the note about it to hang on the mean.
const noteInfra = 0.2

// judge counts the failed runs by cause, and says how far the mean could lie if those that the agent's own
// infrastructure ended had gone on: between failing in the next turn and passing them all.
func (r *ConfigResult) judge(g *configRows, limit float64, opt CompareOptions) error {
	if !opt.verdicts {
		for i := range r.runs {
			r.runs[i].cause = noCause
		}
		return nil
	}
	r.Causes = make(map[string]int)
	for _, k := range causes() {
		r.Causes[k.String()] = 0
	}
	leaves := make(map[string]int)
	for i := range r.runs {
		k := &r.runs[i].cause
		if r.runs[i].status != stats.Failed {
			*k = noCause
			continue
		}
		r.Causes[k.String()]++
		if *k == causeInfra {
			leaves[strings.TrimPrefix(r.runs[i].row.EndLeaf, "infra.")]++
		}
	}
	ended := r.Causes["infra"]
	if ended == 0 || r.Mean == nil {
		return nil
	}
	text := fmt.Sprintf("%d of %d runs ended in the agent's own infrastructure%s, counted as failures", ended, r.N, leafWords(leaves))
	if limit > 0 && opt.Outcome != "usd" {
		up := slices.Clone(g.outcomes)
		for i := range up {
			if r.runs[i].cause == causeInfra {
				up[i].Value, up[i].Status = limit, stats.Capped
			}
		}
		m, err := stats.MeanTurns(up, stats.MeanOptions{Cap: limit, Seed: opt.Seed})
		if err != nil {
			return fmt.Errorf("bounding the mean of %s: %w", Clean(g.name), err)
		}
		text += fmt.Sprintf("; had they gone on, the mean lies in %s–%s", tickText(round1(*r.Mean)), tickText(round1(m.Mean)))
	}
	at := atNowhere
	if float64(ended) >= noteInfra*float64(r.N) {
		at = atInfra
	}
	r.notes = append(r.notes, Warning{Code: CodeInfraEnds, Where: g.name, Text: text, at: at})
	return nil
}

// round1 rounds to one decimal.
func round1(v float64) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 1, 64), 64)
	if err != nil {
		return v
	}
	return f
}

// leafWords lists leaves with their counts, the most frequent first, in brackets.
func leafWords(leaves map[string]int) string {
	names := sortedKeys(leaves)
	names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
	slices.SortStableFunc(names, func(a, b string) int { return leaves[b] - leaves[a] })
	if len(names) == 0 {
		return ""
	}
	var parts []string
	for i, n := range names {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d other kinds", len(names)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", Clean(n), leaves[n]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// An endColumn is a column of the table of configurations that counts how runs ended.
type endColumn struct {
	head  string
	at    column
	count func(r *ConfigResult) int
}

// endColumns are the columns that count ends: the causes once there are verdicts, the rarer ones only where
// they occur, else all failed runs together.
func (c *Comparison) endColumns() []endColumn {
	var out []endColumn
	if !c.verdicts {
		out = append(out, endColumn{"failed", atNowhere, func(r *ConfigResult) int { return r.Ends[logs.StatusFailed] }})
	}
	for _, k := range causes() {
		name := k.String()
		occurs := slices.ContainsFunc(c.Configs, func(r ConfigResult) bool { return r.Causes[name] > 0 })
		if !c.verdicts || !occurs && k != causeDrift && k != causeInfra {
			continue
		}
		at := atNowhere
		if k == causeInfra {
			at = atInfra
		}
		out = append(out, endColumn{name, at, func(r *ConfigResult) int { return r.Causes[name] }})
	}
	return append(out, endColumn{"stopped", atNowhere, func(r *ConfigResult) int { return r.Ends[logs.StatusStopped] }})
}

// endsWord is the heading above the end columns.
func (c *Comparison) endsWord() string {
	if !c.turns() || !c.verdicts {
		return "run was"
	}
	return "first failed turn was"
}

// marksAt returns the note numbers of an end column; atNowhere has none.
func (e endColumn) marksAt(notes *footnotes, r *ConfigResult) []int {
	if e.at == atNowhere {
		return nil
	}
	return notes.marks(r.notes, e.at)
}
