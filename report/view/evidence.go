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

// A proof is a place that a verdict rests on.
type proof struct {
	classify.Evidence
	Turn, Attempt int    // of the verdict
	L1, Leaf      string // what the verdict says
	By            string // who says it
	Counts        bool   // the verdict is the one that counts
	Verdict       string // address of the verdict
}

// Class is the colour of what the verdict says.
func (p *proof) Class() string { return levelClass(p.L1) }

// levelClass is the class of style of a level of the codebook.
func levelClass(l1 string) string {
	switch l1 {
	case "drift", "infra", "bench":
		return l1
	}
	return "unknown"
}

// proofsOf lists the evidence of all verdicts about an episode, that of verdicts that count first.
func proofsOf(st *study, ep *episode) []*proof {
	counting := logs.Counting(ep.Tables.Verdicts)
	var out []*proof
	for i := range ep.Tables.Verdicts {
		v := &ep.Tables.Verdicts[i]
		var list []classify.Evidence
		if json.Unmarshal([]byte(v.Evidence), &list) != nil {
			continue // other annotators may write what they like there
		}
		c := counting[v.Key()]
		counts := c != nil && c.AnnotatorKind == v.AnnotatorKind && c.Annotator == v.Annotator
		for _, e := range list {
			p := &proof{Evidence: e, Turn: v.Turn, Attempt: v.Attempt, L1: v.L1, Leaf: v.L1, By: v.AnnotatorKind, Counts: counts}
			if v.Leaf != nil {
				p.Leaf = *v.Leaf
			}
			p.Verdict = turnHref(st, ep.Episode, v.Turn) + "/a/" + strconv.Itoa(v.Attempt) + "#verdict"
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *proof) int {
		return cmp.Or(boolInt(b.Counts)-boolInt(a.Counts), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Attempt, b.Attempt))
	})
	return out
}

// proofsAt are the proofs that were read from the place of a line; of several verdicts that say the same about one
// attempt, one.
func proofsAt(all []*proof, l *eventLine) []*proof {
	var out []*proof
	for _, p := range all {
		if p.File != l.File || p.Offset != l.Offset || l.File == "" || p.Length == 0 && l.Length != 0 {
			continue
		}
		if !slices.ContainsFunc(out, func(o *proof) bool { return o.Turn == p.Turn && o.Attempt == p.Attempt && o.Leaf == p.Leaf }) {
			out = append(out, p)
		}
	}
	return out
}

// lineHref is the address that leads to the line of a transcript that was read from a place.
func lineHref(st *study, a *logs.AttemptRow, file string, offset int64) string {
	return attemptHref(st, a) + "/line?" + url.Values{"file": {file}, "offset": {strconv.FormatInt(offset, 10)}}.Encode()
}

// transcriptHref is the address of a line of a transcript.
func transcriptHref(st *study, a *logs.AttemptRow, seq int) string {
	return fmt.Sprintf("%s/transcript?at=%d#event-%d", attemptHref(st, a), seq, seq)
}

// searchedAttempts bounds the attempts whose logs are read to find a line.
const searchedAttempts = 8

// line leads to the line of a transcript that was read from a place: in this attempt's, or in that of another one of the
// episode, since a verdict may rest on what went before.
func (s *Server) line(q *request) error {
	file := q.R.URL.Query().Get("file")
	offset, err := strconv.ParseInt(q.R.URL.Query().Get("offset"), 10, 64)
	if err != nil || file == "" {
		return badRequest("a line is found by file and offset")
	}
	own := slices.IndexFunc(q.Episode.Tables.Attempts, func(a logs.AttemptRow) bool { return a.Place == q.Attempt.Place && a.Turn == q.Attempt.Turn })
	order := []*logs.AttemptRow{q.Attempt}
	for i := own - 1; i >= 0; i-- {
		order = append(order, &q.Episode.Tables.Attempts[i])
	}
	for i := own + 1; i < len(q.Episode.Tables.Attempts); i++ {
		order = append(order, &q.Episode.Tables.Attempts[i])
	}
	for _, a := range order[:min(len(order), searchedAttempts)] {
		e, err := q.Study.eventsOf(a)
		if err != nil {
			return err
		}
		if i, ok := e.find(file, offset); ok {
			return redirect(q, transcriptHref(q.Study, a, e.lines[i].Seq))
		}
	}
	for i := range q.Episode.Tables.Checks { // a check has no line: it is on the page of its attempt
		c := &q.Episode.Tables.Checks[i]
		if c.File == file && c.Offset == offset {
			return redirect(q, turnHref(q.Study, c.Episode, c.Turn)+"/a/"+strconv.Itoa(c.Attempt)+"#check-"+url.PathEscape(c.Check))
		}
	}
	return redirect(q, rawHref(q.Study, q.Attempt, file, offset, 0))
}

// checkOf is the name of the check that a proof is about; "" for another one.
func (p *proof) checkOf() string {
	name, _ := strings.CutPrefix(p.What, "check ")
	if name == p.What {
		return ""
	}
	return name
}
