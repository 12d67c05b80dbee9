package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// A heatMap is configurations by scenarios, each sorted by what was passed; the longer side is down the page.
type heatMap struct {
	Common string // what all configurations share
	Corner string
	Across []heatName
	Down   []heatRow
	Cap    int // turns of the longest scenario
	Left   int // lines that are not shown
	Aside  int // columns that are not shown
}

type heatName struct{ Short, Full string }

type heatRow struct {
	heatName
	Cells []heatCell
}

// A heatCell is the runs of one configuration in one scenario.
type heatCell struct {
	Runs []heatRun
	More string // where the rest is, if there are many
	Left int    // how many that are
}

// A heatRun is one episode in a cell.
type heatRun struct {
	Href  string
	Text  string // turns passed
	Mark  string // how it ended, for the eye
	Label string // the same in words
	Class string
}

// maxRuns are the runs that a cell shows one by one; maxAcross and maxDown bound the columns and lines of the map.
const (
	maxRuns   = 4
	maxAcross = 40
	maxDown   = 400
)

// heatOf sorts the episodes into cells.
func heatOf(st *study, o *overview) *heatMap {
	rows := o.Episodes
	var configs, scenarios side
	cells := map[[2]string][]*logs.EpisodeRow{}
	m := &heatMap{}
	for i := range rows {
		e := &rows[i]
		m.Cap = max(m.Cap, e.TurnsMax)
		k := [2]string{e.Config, e.Scenario}
		cells[k] = append(cells[k], e)
		configs.add(e.Config, e)
		scenarios.add(e.Scenario, e)
	}
	configs.sort()
	scenarios.sort()
	short, common := report.ShortNames(configs.names)
	m.Common = common
	m.Corner = "configuration"
	down, across := configs.names, scenarios.names
	transposed := len(across) > maxAcross && len(down) <= maxAcross
	if transposed {
		m.Corner, down, across = "scenario", across, down
	}
	m.Left, m.Aside = max(0, len(down)-maxDown), max(0, len(across)-maxAcross)
	down, across = down[:len(down)-m.Left], across[:len(across)-m.Aside]
	named := func(name string) heatName {
		if s, ok := short[name]; ok {
			return heatName{s, name}
		}
		return heatName{name, name}
	}
	for _, name := range across {
		m.Across = append(m.Across, named(name))
	}
	for _, d := range down {
		row := heatRow{heatName: named(d)}
		for _, a := range across {
			k := [2]string{d, a}
			if transposed {
				k = [2]string{a, d}
			}
			row.Cells = append(row.Cells, cellOf(st, o, cells[k]))
		}
		m.Down = append(m.Down, row)
	}
	return m
}

// A side of the map: names and the mean share that was passed of each.
type side struct {
	names []string
	sum   map[string]float64
	count map[string]int
}

func (s *side) add(name string, e *logs.EpisodeRow) {
	if s.sum == nil {
		s.sum, s.count = map[string]float64{}, map[string]int{}
	}
	if _, ok := s.sum[name]; !ok {
		s.names = append(s.names, name)
		s.sum[name] = 0
	}
	if share, ok := passedShare(e); ok {
		s.sum[name] += share
		s.count[name]++
	}
}

// sort puts the best first, and what nobody knows last.
func (s *side) sort() {
	mean := func(name string) float64 {
		if s.count[name] == 0 {
			return -1
		}
		return s.sum[name] / float64(s.count[name])
	}
	slices.SortFunc(s.names, func(a, b string) int { return cmp.Or(cmp.Compare(mean(b), mean(a)), cmp.Compare(a, b)) })
}

// passedShare is the share of turns that an episode passed.
func passedShare(e *logs.EpisodeRow) (float64, bool) {
	switch {
	case e.TurnsPassed != nil && e.TurnsMax > 0:
		return float64(*e.TurnsPassed) / float64(e.TurnsMax), true
	case e.TurnsPassedShare != nil:
		return *e.TurnsPassedShare, true
	}
	return 0, false
}

func cellOf(st *study, o *overview, runs []*logs.EpisodeRow) heatCell {
	var c heatCell
	for i, e := range runs {
		if i == maxRuns && len(runs) > maxRuns+1 {
			c.Left = len(runs) - i
			c.More = st.href() + "?filter=" + query("config:"+strconv.Quote(e.Config)+" scenario:"+strconv.Quote(e.Scenario)) + "#episodes"
			break
		}
		c.Runs = append(c.Runs, runOf(st, o, e))
	}
	return c
}

// runOf says in a cell how an episode went.
func runOf(st *study, o *overview, e *logs.EpisodeRow) heatRun {
	end := endOf(e)
	r := heatRun{Href: episodeHref(st, e.Episode), Text: turnsText(e), Mark: end.Mark}
	words := turnsWords(e)
	share, known := passedShare(e)
	if n, ok := o.SoFar[e.Episode]; ok {
		r.Text, words = strconv.Itoa(n), fmt.Sprintf("%s passed so far", plural(n, "turn", "turns"))
		share, known = float64(n)/float64(max(1, e.TurnsMax)), true
	}
	if known {
		r.Class = report.HeatClass(share)
	}
	r.Label = fmt.Sprintf("%s: %s, %s", report.Clean(episodeName(e)), words, end.Word)
	return r
}

// turnsText is how much was passed, as short as can be.
func turnsText(e *logs.EpisodeRow) string {
	switch {
	case e.TurnsPassed != nil:
		return strconv.Itoa(*e.TurnsPassed)
	case e.TurnsPassedShare != nil:
		return strconv.Itoa(int(*e.TurnsPassedShare*100+0.5)) + " %"
	case e.Validity == logs.ValidityIncomplete && isJournal(e):
		return "" // the mark says it
	}
	return "?"
}

// turnsWords is the same in words.
func turnsWords(e *logs.EpisodeRow) string {
	switch {
	case e.TurnsPassed != nil:
		return fmt.Sprintf("%d of %s passed", *e.TurnsPassed, plural(e.TurnsMax, "turn", "turns"))
	case e.TurnsPassedShare != nil:
		return fmt.Sprintf("%.0f %% of %s passed", *e.TurnsPassedShare*100, plural(e.TurnsMax, "turn", "turns"))
	case e.Validity == logs.ValidityIncomplete && isJournal(e):
		return "not over"
	}
	return "nobody said what was passed"
}

// An end is how an episode or an attempt ended: in a word, as a mark, and with the colour of what it was.
type end struct{ Word, Mark, Class string }

// endOf says how an episode ended.
func endOf(e *logs.EpisodeRow) end {
	reason := ""
	if e.EndReason != nil {
		reason = *e.EndReason
	}
	switch {
	case e.Validity == logs.ValidityIncomplete && !isJournal(e):
		return end{"no result", "", "none"}
	case e.Validity == logs.ValidityIncomplete:
		return end{"running or interrupted", "…", "live"}
	case e.Status() == logs.StatusCapped:
		return end{"all passed", "◆", "full"}
	case e.Validity == logs.ValidityStopped:
		return end{cmp.Or("stopped: "+reason, "stopped"), "■", "stopped"}
	}
	l1 := ""
	if e.EndL1 != nil {
		l1 = *e.EndL1
	}
	switch l1 {
	case "drift":
		return end{leafWord(e), "●", "drift"}
	case "infra":
		return end{leafWord(e), "▲", "infra"}
	case "bench":
		return end{leafWord(e), "✕", "bench"}
	case "unknown":
		return end{"unknown why", "?", "unknown"}
	}
	return end{cmp.Or(reason, "not graded"), "", "none"}
}

// isJournal says whether an episode is one of ours, of which an end that is missing is still to come. Other logs may
// never say how it went.
func isJournal(e *logs.EpisodeRow) bool { return strings.HasSuffix(e.File, logs.JournalName) }

func leafWord(e *logs.EpisodeRow) string {
	if e.EndLeaf != nil {
		return *e.EndLeaf
	}
	return *e.EndL1
}
