package view

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

func query(s string) string { return url.QueryEscape(s) }

// studyView is what the page of a study shows.
type studyView struct {
	Name      string
	About     string
	Problems  []string
	Banner    string // what has to stand beside causes
	Unjudged  bool   // episodes failed and nothing was classified
	Heat      *heatMap
	Audit     string
	Compare   string
	Configs   []string
	Scenarios []string

	Href    string
	Filter  string
	Wrong   string // what is wrong with the filter
	Sort    string
	Columns []column
	Rows    []episodeLine
	Found   int
	From    int
	Older   string // where the lines before are
	Newer   string // and those after
}

// A column of the list, with the address that sorts by it.
type column struct {
	Head, Href, Sorted string
	Number             bool
}

// An episodeLine is one episode in the list.
type episodeLine struct {
	*logs.EpisodeRow
	Href  string
	Turns string
	End   end
}

// linesAPage bounds a list.
const linesAPage = 200

// studyPage shows a study: the heat map and the list of episodes, which is filtered and sorted here.
func (s *Server) studyPage(q *request) error {
	o, err := q.Study.overview(s.opt.Book)
	if err != nil {
		return err
	}
	v := &studyView{Name: q.Study.Name, Href: q.Study.href(), Heat: heatOf(q.Study, o), Compare: q.Study.href() + "compare"}
	v.About, v.Banner, v.Unjudged = aboutStudy(o), o.Banner, unjudged(o)
	for i, p := range o.Problems {
		if i == 20 {
			v.Problems = append(v.Problems, fmt.Sprintf("and %d more", len(o.Problems)-i))
			break
		}
		v.Problems = append(v.Problems, p.String())
	}
	v.Configs, v.Scenarios = namesOf(o.Episodes)
	if s.opt.Audit != nil && !q.Study.Foreign && drawn(q.Study) {
		v.Audit = q.Study.href() + "audit/"
	}
	if err := v.list(q, o); err != nil {
		return err
	}
	if q.Study.live(o) {
		q.head.Live, q.head.Stamp = q.Study.href()+"state", o.stamp
	}
	return s.render(q, "study", v)
}

// unjudged says whether episodes failed and none has a verdict.
func unjudged(o *overview) bool {
	failed := false
	for i := range o.Episodes {
		e := &o.Episodes[i]
		if e.EndL1 != nil {
			return false
		}
		failed = failed || e.Status() == logs.StatusFailed
	}
	return failed
}

func aboutStudy(o *overview) string {
	var running, silent, stopped, full int
	for i := range o.Episodes {
		switch e := &o.Episodes[i]; {
		case e.Validity == logs.ValidityIncomplete && !isJournal(e):
			silent++
		case e.Validity == logs.ValidityIncomplete:
			running++
		case e.Status() == logs.StatusCapped:
			full++
		case e.Validity == logs.ValidityStopped:
			stopped++
		}
	}
	parts := []string{plural(len(o.Episodes), "episode", "episodes"), fmt.Sprintf("%s passed everything", num(full))}
	if stopped > 0 {
		parts = append(parts, num(stopped)+" stopped")
	}
	if running > 0 {
		parts = append(parts, num(running)+" not over")
	}
	if silent > 0 {
		parts = append(parts, num(silent)+" without a result")
	}
	return strings.Join(parts, " · ")
}

// namesOf lists the configurations and scenarios.
func namesOf(rows []logs.EpisodeRow) (configs, scenarios []string) {
	for i := range rows {
		configs = append(configs, rows[i].Config)
		scenarios = append(scenarios, rows[i].Scenario)
	}
	slices.Sort(configs)
	slices.Sort(scenarios)
	return slices.Compact(configs), slices.Compact(scenarios)
}

// sortKeys are the columns of the list, and how they order.
var sortKeys = []struct {
	key, head string
	number    bool
	compare   func(a, b *logs.EpisodeRow) int
}{
	{"config", "configuration", false, func(a, b *logs.EpisodeRow) int { return cmp.Compare(a.Config, b.Config) }},
	{"scenario", "scenario", false, func(a, b *logs.EpisodeRow) int { return cmp.Compare(a.Scenario, b.Scenario) }},
	{"repeat", "run", true, func(a, b *logs.EpisodeRow) int { return cmp.Compare(a.Repeat, b.Repeat) }},
	{"turns", "turns", true, compareTurns},
	{"end", "end", false, func(a, b *logs.EpisodeRow) int { return cmp.Compare(endOf(a).Word, endOf(b).Word) }},
	{"tokens", "output tokens", true, func(a, b *logs.EpisodeRow) int { return compareKnown(a.Output, b.Output) }},
	{"usd", "$", true, func(a, b *logs.EpisodeRow) int { return compareKnown(a.CostUSD, b.CostUSD) }},
	{"time", "time", true, func(a, b *logs.EpisodeRow) int { return compareKnown(a.WallS, b.WallS) }},
}

// compareTurns orders by the share passed, so that scenarios of other lengths fit in.
func compareTurns(a, b *logs.EpisodeRow) int {
	x, knownX := passedShare(a)
	y, knownY := passedShare(b)
	if knownX != knownY {
		return cmp.Compare(boolInt(knownX), boolInt(knownY))
	}
	return cmp.Compare(x, y)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareKnown puts what is unknown below everything.
func compareKnown[T cmp.Ordered](a, b *T) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(boolInt(a != nil), boolInt(b != nil))
	default:
		return cmp.Compare(*a, *b)
	}
}

// list filters, sorts and cuts the list as the address says: filter, sort (a column, with - for the greatest first), from.
func (v *studyView) list(q *request, o *overview) error {
	rows := o.Episodes
	get := q.R.URL.Query()
	v.Filter, v.Sort = strings.TrimSpace(get.Get("filter")), get.Get("sort")
	match, err := matcher(v.Filter)
	if err != nil {
		v.Wrong = err.Error()
	}
	var found []*logs.EpisodeRow
	for i := range rows {
		ok, err := match(&rows[i])
		if err != nil {
			v.Wrong = err.Error()
			break
		}
		if ok {
			found = append(found, &rows[i])
		}
	}
	key, down := strings.CutPrefix(v.Sort, "-")
	for _, c := range sortKeys {
		col := column{Head: c.head, Number: c.number, Sorted: "none"}
		next := c.key
		if c.number {
			next = "-" + c.key
		}
		if c.key == key {
			col.Sorted, next = "ascending", "-"+c.key
			if down {
				col.Sorted, next = "descending", c.key
			}
			slices.SortStableFunc(found, func(a, b *logs.EpisodeRow) int {
				if down {
					a, b = b, a
				}
				return c.compare(a, b)
			})
		}
		col.Href = v.address(next, 0)
		v.Columns = append(v.Columns, col)
	}
	v.Found = len(found)
	if from, err := strconv.Atoi(get.Get("from")); err == nil && from > 0 && from < len(found) {
		v.From = from
	}
	to := min(len(found), v.From+linesAPage)
	if v.From > 0 {
		v.Older = v.address(v.Sort, max(0, v.From-linesAPage))
	}
	if to < len(found) {
		v.Newer = v.address(v.Sort, to)
	}
	for _, e := range found[v.From:to] {
		line := episodeLine{e, episodeHref(q.Study, e.Episode), turnsText(e), endOf(e)}
		if n, ok := o.SoFar[e.Episode]; ok {
			line.Turns = strconv.Itoa(n)
		}
		if e.TurnsMax > 0 {
			line.Turns += fmt.Sprintf(" of %d", e.TurnsMax)
		}
		v.Rows = append(v.Rows, line)
	}
	return nil
}

// address is the list in another order or at another place.
func (v *studyView) address(sort string, from int) string {
	get := url.Values{}
	if v.Filter != "" {
		get.Set("filter", v.Filter)
	}
	if sort != "" {
		get.Set("sort", sort)
	}
	if from > 0 {
		get.Set("from", strconv.Itoa(from))
	}
	a := v.Href
	if len(get) > 0 {
		a += "?" + get.Encode()
	}
	return a + "#episodes"
}

// Last is the number of the last line shown.
func (v *studyView) Last() int { return v.From + len(v.Rows) }

// First is the number of the first line shown.
func (v *studyView) First() int { return v.From + 1 }

// matcher reads a filter: an expression as everywhere (key:value), or words that all have to occur.
func matcher(filter string) (func(*logs.EpisodeRow) (bool, error), error) {
	if strings.Contains(filter, ":") {
		x, err := logs.ParseExpr(filter)
		if err != nil {
			var wrong *logs.ExprError
			if errors.As(err, &wrong) {
				err = fmt.Errorf("%w: %s", err, wrong.Hint())
			}
			return func(*logs.EpisodeRow) (bool, error) { return true, nil }, err
		}
		return func(e *logs.EpisodeRow) (bool, error) { return x.Match(e.Get) }, nil
	}
	words := strings.Fields(strings.ToLower(filter))
	return func(e *logs.EpisodeRow) (bool, error) {
		line := strings.ToLower(episodeName(e) + " " + e.Episode + " " + e.Validity + " " + endOf(e).Word)
		for _, w := range words {
			if !strings.Contains(line, w) {
				return false, nil
			}
		}
		return true, nil
	}, nil
}

// drawn says whether a sample of verdicts was drawn for people.
func drawn(st *study) bool {
	_, err := os.Lstat(filepath.Join(classify.AuditDir(st.Dir), "sample.json"))
	return err == nil
}
