package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
)

// attemptView is what the page of an attempt shows.
type attemptView struct {
	*logs.AttemptRow
	Name       string
	State      end
	Href       string
	Verdict    *verdictView
	Undecided  string // why there is no decision path
	Waiting    bool   // the decision path is being worked out
	Checks     []checkView
	Unreached  int // failing checks that never ran
	Failing    int
	From       int
	Older      string
	Newer      string
	Transcript string // addresses; "" = there is none
	Diff       string
}

// verdictView is the way to a verdict, as explain prints it.
type verdictView struct {
	End        end
	Title      string
	Definition string
	Facts      []fact
	Path       []stepView
	Groups     []groupView
	Recovered  []recoveredView
	Nearly     string
	Annotators []annotatorView
}

type fact struct{ Name, Value string }

type stepView struct {
	Question, Answer string
	Evidence         []evidenceView
}

// evidenceView is a place in the run that a decision rests on.
type evidenceView struct {
	What, Text string
	Place      string
	Raw        string // the address of its bytes
	Line       string // the address of the line in the transcript; "" for what is no event
}

type groupView struct {
	Clause, Title, Leaf, Origin, Row, Says string
	Checks                                 int
}

type recoveredView struct {
	Leaf, Rule string
	Evidence   evidenceView
}

type annotatorView struct {
	Kind, Name string
	End        end
	Strength   string
	Counts     bool
	Votes      string
	Quotes     []fact
}

// checkView is a failing check.
type checkView struct {
	*logs.CheckRow
	Expected, Actual []span
	Raw              string
	First            bool // one of the group that decided
}

// checksAPage bounds the checks of a page.
const checksAPage = 50

// attemptPage shows an attempt: the verdict and how it came about, and the failing checks.
func (s *Server) attemptPage(q *request) error {
	a := q.Attempt
	v := &attemptView{AttemptRow: a, Name: attemptName(a), Href: attemptHref(q.Study, a)}
	var dec *classify.Decision
	var counts *logs.VerdictRow
	if a.Attempt != nil {
		key := logs.VerdictKey{Episode: a.Episode, Turn: a.Turn, Attempt: *a.Attempt}
		if isFailure(a) {
			d := s.deciding(q.Study, q.Episode, a.Turn)
			switch v.Waiting = !d.within(patience); {
			case v.Waiting:
			case d.err != nil:
				v.Undecided = withHint(d.err)
			default:
				dec = d.result.Decision(key)
			}
		}
		v.Verdict, counts = s.verdictOf(q, key, dec)
		v.checks(q, dec)
	}
	v.State = attemptState(a, counts)
	s.links(q, v)
	q.siblings()
	if q.Episode.Validity == logs.ValidityIncomplete || v.Waiting {
		q.head.Live, q.head.Stamp = v.Href+"/state", q.Episode.stamp
		if v.Waiting {
			q.head.Stamp += waiting
		}
	}
	return s.render(q, "attempt", v)
}

// isFailure says whether an attempt failed, or nobody said how it went.
func isFailure(a *logs.AttemptRow) bool {
	return a.Attempt != nil && (a.Passed == nil || !*a.Passed)
}

// siblings leads to the attempts before and after, over the ends of turns.
func (q *request) siblings() {
	list := q.Episode.Tables.Attempts
	for i := range list {
		if &list[i] != q.Attempt {
			continue
		}
		if i > 0 {
			q.head.Prev = attemptHref(q.Study, &list[i-1])
		}
		if i+1 < len(list) {
			q.head.Next = attemptHref(q.Study, &list[i+1])
		}
	}
}

// has says whether there is a page of an attempt of this name.
func (s *Server) has(name string) bool { return s.serves("/a/{attempt}/" + name) }

func (s *Server) serves(end string) bool {
	return slices.ContainsFunc(s.routes, func(r route) bool { return strings.HasSuffix(r.pattern, end) })
}

// links are the other pages of the attempt.
func (s *Server) links(q *request, v *attemptView) {
	if s.has("transcript") {
		v.Transcript = v.Href + "/transcript"
	}
	if s.has("diff") && q.Attempt.Snapshot != nil {
		v.Diff = v.Href + "/diff"
	}
}

// verdictOf shows a verdict as the rules give it now, with what everybody else said, and the one that counts.
func (s *Server) verdictOf(q *request, key logs.VerdictKey, dec *classify.Decision) (*verdictView, *logs.VerdictRow) {
	var rows []logs.VerdictRow
	for _, row := range q.Episode.Tables.Verdicts {
		if row.Key() == key {
			rows = append(rows, row)
		}
	}
	written := len(rows)
	if dec != nil && !slices.ContainsFunc(rows, func(r logs.VerdictRow) bool { return r.AnnotatorKind == dec.Verdict.AnnotatorKind }) {
		rows = append(rows, dec.Verdict)
	}
	counts := logs.Counting(rows)[key]
	if counts == nil {
		return nil, nil
	}
	v := &verdictView{End: verdictEnd(counts)}
	if book, err := s.opt.Book(q.Study.Dir); err == nil && counts.Leaf != nil {
		if l := book.Leaf(*counts.Leaf); l != nil {
			v.Title, v.Definition = l.Title, l.Definition
		}
	}
	v.facts(counts)
	if dec != nil {
		v.path(s, q, dec)
	}
	if written > 1 || written == 1 && (dec == nil || rows[0].AnnotatorKind != dec.Verdict.AnnotatorKind) {
		for i := range rows {
			v.Annotators = append(v.Annotators, annotatorOf(&rows[i], counts))
		}
	}
	return v, counts
}

func (v *verdictView) facts(row *logs.VerdictRow) {
	add := func(name string, value *string) {
		if value != nil && *value != "" {
			v.Facts = append(v.Facts, fact{name, *value})
		}
	}
	list := func(name string, values []string) {
		joined := strings.Join(values, ", ")
		add(name, &joined)
	}
	add("abstains", row.AbstainReason)
	add("mechanism", row.Mechanism)
	add("origin", row.Origin)
	add("clause", row.Clause)
	add("completion", row.Completion)
	add("reach", row.Reach)
	add("caused by", row.CausedBy)
	list("secondary", row.Secondary)
	add("strength", &row.Strength)
	by := strings.TrimSpace(row.AnnotatorKind + " " + strings.Join(row.RuleIDs, ", "))
	add("decided by", &by)
	list("missing", row.Missing)
}

func (v *verdictView) path(s *Server, q *request, dec *classify.Decision) {
	for _, step := range dec.Path {
		sv := stepView{Question: step.Question, Answer: step.Answer}
		for _, ev := range step.Evidence {
			sv.Evidence = append(sv.Evidence, s.evidence(q, ev))
		}
		v.Path = append(v.Path, sv)
	}
	for i, g := range dec.Groups {
		if i == 12 {
			break
		}
		v.Groups = append(v.Groups, groupView{cmp.Or(g.Clause, "service"), g.Title, g.Leaf, g.Origin, g.Row, g.Says, len(g.Checks)})
	}
	for _, r := range dec.Recovered {
		v.Recovered = append(v.Recovered, recoveredView{r.Leaf, r.Rule, s.evidence(q, r.Evidence)})
	}
	v.Nearly = strings.Join(dec.Nearly, ", ")
}

// evidence leads to the bytes, and to the line of the transcript.
func (s *Server) evidence(q *request, ev classify.Evidence) evidenceView {
	out := evidenceView{What: ev.What, Text: ev.Text, Place: fmt.Sprintf("%s, byte %d", ev.File, ev.Offset)}
	if s.has("raw") {
		out.Raw = rawHref(q.Study, q.Attempt, ev.File, ev.Offset, ev.Length)
	}
	if s.has("transcript") && !strings.HasPrefix(ev.What, "check ") {
		out.Line = lineHref(q.Study, q.Attempt, ev.File, ev.Offset)
	}
	return out
}

func annotatorOf(row, counts *logs.VerdictRow) annotatorView {
	a := annotatorView{Kind: row.AnnotatorKind, Name: row.Annotator, End: verdictEnd(row), Strength: row.Strength,
		Counts: row.AnnotatorKind == counts.AnnotatorKind && row.Annotator == counts.Annotator, Votes: strings.Join(row.Votes, ", ")}
	var quotes []classify.Evidence
	if row.AnnotatorKind == logs.AnnotatorJudge && json.Unmarshal([]byte(row.Evidence), &quotes) == nil {
		for _, quote := range quotes {
			if quote.Quote != "" {
				a.Quotes = append(a.Quotes, fact{quote.Role, quote.Quote})
			}
		}
	}
	return a
}

// checks lists the failing checks: those of the group that decided first, those that never ran as a number only.
func (v *attemptView) checks(q *request, dec *classify.Decision) {
	var first []string
	if dec != nil && len(dec.Groups) > 0 {
		first = dec.Groups[0].Checks
	}
	var list []checkView
	for i := range q.Episode.Tables.Checks {
		c := &q.Episode.Tables.Checks[i]
		if c.Turn != q.Attempt.Turn || c.Attempt != *q.Attempt.Attempt {
			continue
		}
		v.Failing++
		if c.Status == statusNotRun {
			v.Unreached++
			continue
		}
		list = append(list, checkView{CheckRow: c, First: slices.Contains(first, c.Check)})
	}
	slices.SortStableFunc(list, func(a, b checkView) int { return cmp.Compare(boolInt(b.First), boolInt(a.First)) })
	if from, err := strconv.Atoi(q.R.URL.Query().Get("checks")); err == nil && from > 0 && from < len(list) {
		v.From = from
	}
	to := min(len(list), v.From+checksAPage)
	at := func(from int) string {
		return v.Href + "?" + url.Values{"checks": {strconv.Itoa(from)}}.Encode() + "#checks"
	}
	if v.From > 0 {
		v.Older = at(max(0, v.From-checksAPage))
	}
	if to < len(list) {
		v.Newer = at(to)
	}
	v.Checks = list[v.From:to]
	for i := range v.Checks {
		c := &v.Checks[i]
		c.Expected, c.Actual = difference(c.CheckRow.Expected, c.CheckRow.Actual)
		c.Raw = rawHref(q.Study, q.Attempt, c.File, c.Offset, c.Length)
	}
}
