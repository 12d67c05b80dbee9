package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// compareHref is the address of two configurations on one scenario.
func compareHref(st *study, scenario, a, b string) string {
	return st.href() + "compare?" + url.Values{"scenario": {scenario}, "a": {a}, "b": {b}}.Encode()
}

// compareView is what two configurations did on one scenario, turn by turn.
type compareView struct {
	Scenario string
	Sides    [2]sideView
	Turns    []comparedTurn
	Both     int    // turns that both sides reached
	Apart    int    // those of them that one side passed and the other did not
	Note     string // why the turns may not be the same
	Swap     string
}

// sideView is one of the two episodes.
type sideView struct {
	*logs.EpisodeRow
	Name   string
	Href   string
	Passed string
	End    end
	Repeat string // where the next run of this configuration is, if there are several
}

// A comparedTurn is one turn on both sides; a side that never reached it has nothing.
type comparedTurn struct {
	Turn  int
	Label string
	Sides [2]*turnLine
	Apart bool
}

// comparePage shows two configurations on one scenario side by side. ra and rb choose among repeats.
func (s *Server) comparePage(q *request) error {
	get := q.R.URL.Query()
	o, err := q.Study.overview(s.opt.Book)
	if err != nil {
		return err
	}
	v := &compareView{Scenario: get.Get("scenario")}
	var eps [2]*episode
	for i, key := range []string{"a", "b"} {
		row, next, err := chosen(o, v.Scenario, get, key)
		if err != nil {
			return err
		}
		ep, err := q.Study.episode(row.Episode)
		if err != nil {
			return err
		}
		eps[i] = ep
		side := sideView{EpisodeRow: ep.EpisodeRow, Name: ep.Config, Href: episodeHref(q.Study, ep.Episode), Passed: turnsWords(ep.EpisodeRow), End: endOf(ep.EpisodeRow)}
		if next > 0 {
			other := url.Values{}
			for k := range get {
				other.Set(k, get.Get(k))
			}
			other.Set("r"+key, strconv.Itoa(next))
			side.Repeat = q.Study.href() + "compare?" + other.Encode()
		}
		v.Sides[i] = side
	}
	if eps[0].ScenarioSHA != eps[1].ScenarioSHA {
		v.Note = "The two scenarios have the same name but not the same content: the turns may ask for different things."
	}
	v.Swap = compareHref(q.Study, v.Scenario, get.Get("b"), get.Get("a"))
	v.turns(q.Study, eps)
	q.head.Title = "Side by side: " + v.Scenario
	q.head.crumb("side by side", "")
	if q.Study.live(o) {
		q.head.Live, q.head.Stamp = q.Study.href()+"state", o.stamp
	}
	return s.render(q, "compare", v)
}

// named says whether a name is meant by a word of the address: the name, or the name as pages write it.
func named(name, word string) bool { return name == word || report.Clean(name) == word }

// chosen finds the run that one side shows, and the repeat that comes after it.
func chosen(o *overview, scenario string, get url.Values, key string) (row *logs.EpisodeRow, next int, err error) {
	var runs []*logs.EpisodeRow
	for i := range o.Episodes {
		if e := &o.Episodes[i]; named(e.Scenario, scenario) && named(e.Config, get.Get(key)) {
			runs = append(runs, e)
		}
	}
	if len(runs) == 0 {
		return nil, 0, notFound(fmt.Sprintf("no episode of %q ran on %q", get.Get(key), scenario))
	}
	at := 0
	if word := get.Get("r" + key); word != "" {
		at = slices.IndexFunc(runs, func(e *logs.EpisodeRow) bool { return strconv.Itoa(e.Repeat) == word })
		if at < 0 {
			return nil, 0, notFound("there is no such run of this configuration")
		}
	}
	if len(runs) > 1 {
		next = runs[(at+1)%len(runs)].Repeat
	}
	return runs[at], next, nil
}

func (v *compareView) turns(st *study, eps [2]*episode) {
	last := -1
	var lines [2]map[int]*turnLine
	for i, ep := range eps {
		lines[i] = map[int]*turnLine{}
		attempts := attemptsByTurn(st, ep)
		for k := range ep.Tables.Turns {
			t := &ep.Tables.Turns[k]
			last = max(last, t.Turn)
			lines[i][t.Turn] = &turnLine{TurnRow: t, Href: turnHref(st, t.Episode, t.Turn), Label: turnLabel(t), Attempts: attempts[t.Turn], State: turnState(t)}
		}
	}
	for n := range last + 1 {
		a, b := lines[0][n], lines[1][n]
		if a == nil && b == nil {
			continue
		}
		t := comparedTurn{Turn: n, Sides: [2]*turnLine{a, b}}
		if a != nil {
			t.Label = a.Label
		} else {
			t.Label = b.Label
		}
		t.Apart = a != nil && b != nil && a.Passed != nil && b.Passed != nil && *a.Passed != *b.Passed
		v.Both += boolInt(a != nil && b != nil)
		v.Apart += boolInt(t.Apart)
		v.Turns = append(v.Turns, t)
	}
}
