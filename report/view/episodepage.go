package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// episodeView is what the page of an episode shows.
type episodeView struct {
	*episode
	End      end
	Passed   string
	Why      string // the address of the attempt that ended it
	Turns    []turnLine
	Banner   string  // what has to stand beside causes
	Others   []other // configurations on the same scenario
	Problems []string
}

// A turnLine is one turn in the list.
type turnLine struct {
	*logs.TurnRow
	Href     string
	Label    string // what was asked, short
	State    end
	Attempts []attemptLine
}

// An attemptLine is one attempt in a list.
type attemptLine struct {
	*logs.AttemptRow
	Href   string
	Name   string
	State  end
	Failed int // checks
	Ran    int // of them: the others were never reached
}

// An other is what can be put beside an episode.
type other struct{ Name, Href string }

// episodePage shows an episode: its turns, and the attempts of each.
func (s *Server) episodePage(q *request) error {
	v := &episodeView{episode: q.Episode, End: endOf(q.Episode.EpisodeRow), Passed: turnsWords(q.Episode.EpisodeRow)}
	if v.EpisodeRow.TurnsPassed == nil && v.EpisodeRow.Validity == logs.ValidityIncomplete {
		v.Passed = fmt.Sprintf("%s so far", plural(len(v.Tables.Turns), "turn", "turns"))
	}
	lines := attemptsByTurn(q.Study, q.Episode)
	for i := range v.Tables.Turns {
		t := &v.Tables.Turns[i]
		line := turnLine{TurnRow: t, Href: turnHref(q.Study, t.Episode, t.Turn), Label: turnLabel(t), Attempts: lines[t.Turn], State: turnState(t)}
		v.Turns = append(v.Turns, line)
	}
	for turn := range lines {
		for _, a := range lines[turn] {
			if a.Attempt != nil && a.Passed != nil && !*a.Passed && v.Status() == logs.StatusFailed && turn == lastTurn(v.Tables) {
				v.Why = a.Href
			}
		}
	}
	for _, p := range v.episode.Problems {
		v.Problems = append(v.Problems, p.String())
	}
	o, err := q.Study.overview(s.opt.Book)
	if err != nil {
		return err
	}
	q.neighbours(o)
	v.Banner = o.Banner
	v.Others = othersOf(q.Study, o, q.Episode.EpisodeRow)
	if q.Episode.Validity == logs.ValidityIncomplete {
		q.head.Live, q.head.Stamp = episodeHref(q.Study, q.Episode.Episode)+"/state", q.Episode.stamp
	}
	return s.render(q, "episode", v)
}

func lastTurn(t *logs.Tables) int {
	n := -1
	for i := range t.Turns {
		n = max(n, t.Turns[i].Turn)
	}
	return n
}

// neighbours leads from one episode to the next in the order of the list.
func (q *request) neighbours(o *overview) {
	i := slices.IndexFunc(o.Episodes, func(e logs.EpisodeRow) bool { return e.Episode == q.Episode.Episode })
	if i > 0 {
		q.head.Prev = episodeHref(q.Study, o.Episodes[i-1].Episode)
	}
	if i >= 0 && i+1 < len(o.Episodes) {
		q.head.Next = episodeHref(q.Study, o.Episodes[i+1].Episode)
	}
}

// othersOf lists the configurations that worked through the same scenario.
func othersOf(st *study, o *overview, e *logs.EpisodeRow) []other {
	var out []other
	for i := range o.Episodes {
		x := &o.Episodes[i]
		if x.Scenario == e.Scenario && x.Config != e.Config && !slices.ContainsFunc(out, func(y other) bool { return y.Name == x.Config }) {
			out = append(out, other{x.Config, compareHref(st, e.Scenario, e.Config, x.Config)})
		}
	}
	return out
}

// turnLabel says in one line what a turn asked for.
func turnLabel(t *logs.TurnRow) string {
	label := t.Operation
	if name, _, ok := strings.Cut(label, ":"); ok {
		label = name
	}
	if t.ChangeText == nil {
		return strings.ReplaceAll(label, "_", " ")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(*t.ChangeText), "\n")
	return cmp.Or(first, strings.ReplaceAll(label, "_", " "))
}

func turnState(t *logs.TurnRow) end {
	switch {
	case t.Passed == nil && t.AttemptsUsed == nil:
		return end{"running", "…", "live"}
	case t.Passed == nil:
		return end{"not graded", "", "none"}
	case *t.Passed:
		return end{"passed", "✓", "full"}
	}
	return end{"failed", "✗", "none"}
}

// attemptsByTurn lists the attempts with what came of them.
func attemptsByTurn(st *study, ep *episode) map[int][]attemptLine {
	counting := logs.Counting(ep.Tables.Verdicts)
	type key struct{ turn, attempt int }
	failed, ran := map[key]int{}, map[key]int{}
	for i := range ep.Tables.Checks {
		c := &ep.Tables.Checks[i]
		k := key{c.Turn, c.Attempt}
		failed[k]++
		if c.Status != statusNotRun {
			ran[k]++
		}
	}
	lines := map[int][]attemptLine{}
	for i := range ep.Tables.Attempts {
		a := &ep.Tables.Attempts[i]
		line := attemptLine{AttemptRow: a, Href: attemptHref(st, a), Name: attemptName(a)}
		var v *logs.VerdictRow
		if a.Attempt != nil {
			k := key{a.Turn, *a.Attempt}
			line.Failed, line.Ran = failed[k], ran[k]
			v = counting[logs.VerdictKey{Episode: a.Episode, Turn: a.Turn, Attempt: *a.Attempt}]
		}
		line.State = attemptState(a, v)
		lines[a.Turn] = append(lines[a.Turn], line)
	}
	return lines
}

// statusNotRun is the status of a check that was never reached.
const statusNotRun = "not_run"

// attemptState says what came of an attempt, with the verdict that counts if there is one.
func attemptState(a *logs.AttemptRow, v *logs.VerdictRow) end {
	switch {
	case a.VoidReason != nil:
		return end{"void: " + *a.VoidReason, "○", "stopped"}
	case a.Attempt == nil:
		return end{"replaced by a process retry", "○", "stopped"}
	case a.Passed != nil && *a.Passed:
		return end{"passed", "✓", "full"}
	case v != nil:
		return verdictEnd(v)
	case a.Passed == nil && a.Completion == nil && a.EndedBy == nil:
		return end{"running or not graded", "…", "live"}
	case a.Passed == nil:
		return end{"not graded", "", "none"}
	case a.GradeReason != nil:
		return end{"failed: " + *a.GradeReason, "✗", "none"}
	}
	return end{"failed", "✗", "none"}
}

// verdictEnd shows a verdict in a word.
func verdictEnd(v *logs.VerdictRow) end {
	word := v.L1
	if v.Leaf != nil {
		word = *v.Leaf
	}
	e := end{Word: word, Class: "unknown", Mark: "?"}
	switch v.L1 {
	case "drift":
		e.Class, e.Mark = "drift", "●"
	case "infra":
		e.Class, e.Mark = "infra", "▲"
	case "bench":
		e.Class, e.Mark = "bench", "✕"
	}
	return e
}

// turnView is what the page of a turn shows.
type turnView struct {
	*logs.TurnRow
	State    end
	Attempts []attemptLine
	Added    []clauseLine
	Changed  []clauseLine
	Removed  []clauseLine
}

// A clauseLine is a clause as it stood last.
type clauseLine struct{ ID, Title, Text string }

// turnPage shows a turn: what was asked, the clauses it touched, and the attempts.
func (s *Server) turnPage(q *request) error {
	v := &turnView{TurnRow: q.Turn, State: turnState(q.Turn), Attempts: attemptsByTurn(q.Study, q.Episode)[q.Turn.Turn]}
	v.Added, v.Changed, v.Removed = clausesOf(q.Episode, q.Turn.ClausesAdded), clausesOf(q.Episode, q.Turn.ClausesChanged), clausesOf(q.Episode, q.Turn.ClausesRemoved)
	for i := range q.Episode.Tables.Turns {
		switch t := &q.Episode.Tables.Turns[i]; t.Turn {
		case q.Turn.Turn - 1:
			q.head.Prev = turnHref(q.Study, t.Episode, t.Turn)
		case q.Turn.Turn + 1:
			q.head.Next = turnHref(q.Study, t.Episode, t.Turn)
		}
	}
	if q.Episode.Validity == logs.ValidityIncomplete {
		q.head.Live, q.head.Stamp = episodeHref(q.Study, q.Episode.Episode)+"/state", q.Episode.stamp
	}
	return s.render(q, "turn", v)
}

func clausesOf(ep *episode, ids []string) []clauseLine {
	var out []clauseLine
	for _, id := range ids {
		line := clauseLine{ID: id}
		if i := slices.IndexFunc(ep.Tables.Clauses, func(c logs.ClauseRow) bool { return c.Clause == id }); i >= 0 {
			line.Title, line.Text = ep.Tables.Clauses[i].Title, ep.Tables.Clauses[i].Text
		}
		out = append(out, line)
	}
	return out
}

// prose is text of several lines made safe to show, line by line.
func prose(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\t", "    "), "\n")
	for i, l := range lines {
		lines[i] = report.Clean(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}
