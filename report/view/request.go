package view

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// A request is what a page is asked for. What its path names is looked up; the rest is nil.
type request struct {
	W       http.ResponseWriter
	R       *http.Request
	Study   *study
	Episode *episode
	Turn    *logs.TurnRow
	Attempt *logs.AttemptRow
	Rest    string // of the path, for routes that take it
	head    head
}

// lookUp finds what the path names, and makes the breadcrumb.
func (s *Server) lookUp(q *request, names map[string]string) error {
	q.Rest = names["rest"]
	if asset, ok := names["asset"]; ok {
		q.Rest = asset
	}
	q.head.crumb("studies", "/")
	slug, ok := names["run"]
	if !ok {
		return nil
	}
	if q.Study = s.studies.find(slug); q.Study == nil {
		return notFound("there is no study of this name")
	}
	q.head.Title = q.Study.Name
	q.head.crumb(q.Study.Name, q.Study.href())
	id, ok := names["episode"]
	if !ok {
		return nil
	}
	var err error
	if q.Episode, err = q.Study.episode(id); err != nil {
		return err
	}
	q.head.crumb(q.Episode.name(), episodeHref(q.Study, id))
	if s.serves("/e/{episode}/search") {
		q.head.Search = episodeHref(q.Study, id) + "/search"
	}
	q.head.Title = q.Episode.name()
	return q.lookUpTurn(names)
}

func (q *request) lookUpTurn(names map[string]string) error {
	word, ok := names["turn"]
	if !ok {
		return nil
	}
	turn, err := strconv.Atoi(word)
	i := slices.IndexFunc(q.Episode.Tables.Turns, func(t logs.TurnRow) bool { return t.Turn == turn })
	if err != nil || i < 0 {
		return notFound("the episode has no such turn")
	}
	q.Turn = &q.Episode.Tables.Turns[i]
	q.head.crumb(fmt.Sprintf("turn %d", turn), turnHref(q.Study, q.Episode.Episode, turn))
	q.head.Title = fmt.Sprintf("turn %d of %s", turn, q.Episode.name())
	if word, ok = names["attempt"]; !ok {
		return nil
	}
	for i := range q.Episode.Tables.Attempts {
		if a := &q.Episode.Tables.Attempts[i]; a.Turn == turn && attemptWord(a) == word {
			q.Attempt = a
			q.head.crumb(attemptName(a), attemptHref(q.Study, a))
			q.head.Title = attemptName(a) + " of " + q.head.Title
			return nil
		}
	}
	return notFound("the turn has no such attempt")
}

// href is the address of a study's page.
func (st *study) href() string { return "/" + url.PathEscape(st.Slug) + "/" }

func episodeHref(st *study, id string) string { return st.href() + "e/" + url.PathEscape(id) }

func turnHref(st *study, id string, turn int) string {
	return episodeHref(st, id) + "/t/" + strconv.Itoa(turn)
}

func attemptHref(st *study, a *logs.AttemptRow) string {
	return turnHref(st, a.Episode, a.Turn) + "/a/" + attemptWord(a)
}

// attemptWord names an attempt in an address: by its number, or, if it does not count, by the place of its record.
func attemptWord(a *logs.AttemptRow) string {
	if a.Attempt != nil {
		return strconv.Itoa(*a.Attempt)
	}
	return "o" + strconv.FormatInt(a.Offset, 10)
}

// attemptName names an attempt for readers.
func attemptName(a *logs.AttemptRow) string {
	switch {
	case a.Attempt != nil:
		return fmt.Sprintf("attempt %d", *a.Attempt)
	case a.VoidOf != nil:
		return fmt.Sprintf("attempt %d, a try that does not count", *a.VoidOf)
	}
	return "an attempt that does not count"
}

// rawHref is the address of the bytes that something was read from, seen from an attempt.
func rawHref(st *study, a *logs.AttemptRow, file string, offset, length int64) string {
	if file == "" {
		return ""
	}
	v := url.Values{"file": {file}, "offset": {strconv.FormatInt(offset, 10)}, "length": {strconv.FormatInt(length, 10)}}
	return attemptHref(st, a) + "/raw?" + v.Encode()
}

// A head is what every page has around it.
type head struct {
	Title  string
	Crumbs []crumb
	Prev   string // where k leads, if not within the page
	Next   string // where j leads
	Live   string // the address that says whether something changed; "" = the page does not change
	Stamp  string // what that address says now
	Search string // where / leads, if the page has no field for it
}

type crumb struct{ Name, Href string }

func (h *head) crumb(name, href string) { h.Crumbs = append(h.Crumbs, crumb{name, href}) }

// Up is the address of the page above.
func (h *head) Up() string {
	if len(h.Crumbs) < 2 {
		return ""
	}
	return h.Crumbs[len(h.Crumbs)-2].Href
}

// clip cuts the end off a long text.
func clip(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}

// short cuts the middle out of a long name; one that is empty is a dash, so that there is something to see.
func short(name string, most int) string {
	if name == "" {
		return dash
	}
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	return strings.TrimSpace(string(runes[:most/2])) + "…" + strings.TrimSpace(string(runes[len(runes)-most/2:]))
}
