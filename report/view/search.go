package view

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stint-bench/stint/logs"
)

// A search ends after so many hits, or after it has looked at so many bytes; where it ended it goes on when asked.
const (
	hitsAPage    = 50
	searchBytes  = 10 << 20
	recordBytes  = 4 << 20 // of a record whose text is shortened; longer ones are searched as far as they are shown
	aroundHit    = 90
	checkHits    = 50
	mostWords    = 200
	eventCost    = 100  // what an event costs besides half of its text
	rawCost      = 8    // bytes of a record that is not taken apart cost an eighth
	attemptCosts = 4096 // what an attempt costs besides its events
)

// A searchView is a page of what was found in an episode.
type searchView struct {
	Name   string
	Here   string
	Words  string
	Checks []checkHit
	More   int // checks beyond those
	Hits   []hit
	Next   string // where the search goes on
	Done   bool   // nothing is left to search
	Part   int    // long records that were searched in part only
	Upto   string // how far the search came
	First  bool   // the page is the first one
}

type checkHit struct {
	Href, Name, Where string
	Snippet           template.HTML
}

// A hit is an event that holds the words.
type hit struct {
	Href    string
	Where   string // turn and attempt
	Label   string
	Snippet template.HTML
	Whole   bool // the words are in the part of the text that the transcript leaves out
	Text    string
}

// search looks for words in the checks and the transcripts of an episode, whatever their case.
func (s *Server) search(q *request) error {
	get := q.R.URL.Query()
	v := &searchView{Here: episodeHref(q.Study, q.Episode.Episode) + "/search", Words: strings.TrimSpace(beginning(get.Get("q"), mostWords))}
	v.Words = strings.TrimSuffix(v.Words, "…")
	v.Name = q.Episode.name()
	q.head.crumb("search", "")
	q.head.Title = "search in " + v.Name
	if v.Words == "" {
		return s.render(q, "search", v)
	}
	from, err := cursorOf(get.Get("from"))
	if err != nil {
		return badRequest("the search cannot go on from there")
	}
	if v.First = from == (cursor{}); v.First {
		v.checks(q)
	}
	w := &searcher{view: v, q: q, from: from, left: searchBytes}
	defer w.close()
	if err := w.run(); err != nil {
		return err
	}
	return s.render(q, "search", v)
}

// A cursor is where a search goes on: the events of an attempt, from a number on.
type cursor struct {
	Turn   int
	Offset int64 // of the attempt
	Seq    int
}

func cursorOf(word string) (c cursor, err error) {
	if word == "" {
		return c, nil
	}
	if n, err := fmt.Sscanf(word, "%d.%d.%d", &c.Turn, &c.Offset, &c.Seq); err != nil || n != 3 || c.String() != word {
		return c, errors.New("no cursor")
	}
	return c, nil
}

func (c cursor) String() string { return fmt.Sprintf("%d.%d.%d", c.Turn, c.Offset, c.Seq) }

// before says whether an event comes before the cursor.
func (c cursor) before(turn int, offset int64, seq int) bool {
	if turn != c.Turn {
		return turn < c.Turn
	}
	if offset != c.Offset {
		return offset < c.Offset
	}
	return seq < c.Seq
}

// checks looks at the failing checks.
func (v *searchView) checks(q *request) {
	for i := range q.Episode.Tables.Checks {
		c := &q.Episode.Tables.Checks[i]
		for _, f := range [][2]string{{"check", c.Check}, {"request", c.Request}, {"expected", c.Expected}, {"actual", c.Actual}, {"clauses", strings.Join(c.Clauses, ", ")}} {
			marks := findWords(f[1], v.Words, 1)
			if len(marks) == 0 {
				continue
			}
			if len(v.Checks) >= checkHits {
				v.More++
				break
			}
			v.Checks = append(v.Checks, checkHit{
				Href: fmt.Sprintf("%s/a/%d#check-%s", turnHref(q.Study, c.Episode, c.Turn), c.Attempt, url.PathEscape(c.Check)),
				Name: c.Check, Where: fmt.Sprintf("turn %d, attempt %d: %s", c.Turn, c.Attempt, f[0]), Snippet: snippet(f[1], v.Words),
			})
			break
		}
	}
}

// A searcher goes through the events of an episode.
type searcher struct {
	view *searchView
	q    *request
	from cursor
	left int // bytes

	file  string // the log that was read last
	open  *logs.SourceFile
	bad   string // a log that cannot be opened
	ahead readAhead

	plain []byte // the words as every log would have them; empty if logs may write them in several ways
}

// plainWords are words in lower case, if JSON has but one way to write them that programs use; else nothing.
func plainWords(words string) []byte {
	for _, r := range words {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(" _-.,:;=()[]{}#*+!?@$%^~|", r) {
			return []byte{}
		}
	}
	return []byte(strings.ToLower(words))
}

// A searchedEvent is what a search reads of an event.
type searchedEvent struct {
	Turn          int     `col:"turn"`
	Attempt       *int    `col:"attempt"`
	AttemptOffset int64   `col:"attempt_offset"`
	Seq           int     `col:"seq"`
	Via           string  `col:"via"`
	Actor         string  `col:"actor"`
	Channel       string  `col:"channel"`
	Kind          string  `col:"kind"`
	Tool          *string `col:"tool"`
	Text          string  `col:"text"`
	logs.Place
}

func (w *searcher) close() {
	if w.open != nil {
		w.open.Close()
	}
}

// run searches the turns from the cursor on.
func (w *searcher) run() error {
	st := w.q.Study
	if !st.Foreign && !st.Dir.Fresh() {
		return w.logs()
	}
	var turns []string
	for _, t := range w.q.Episode.Tables.Turns {
		if t.Turn >= w.from.Turn {
			turns = append(turns, strconv.Itoa(t.Turn))
		}
	}
	if len(turns) == 0 {
		w.view.Done = true
		return nil
	}
	x, err := logs.ParseExpr(fmt.Sprintf("episode:%q turn:(%s)", w.q.Episode.Episode, strings.Join(turns, " OR ")))
	if err != nil {
		return err
	}
	for r, err := range logs.Rows[searchedEvent](st.table("events"), x) {
		if err != nil {
			return fmt.Errorf("searching %s: %w", w.q.Episode.name(), err)
		}
		if !w.event(&r) {
			return nil
		}
	}
	w.view.Done = true
	return nil
}

// logs searches the logs of attempts whose events are in no table.
func (w *searcher) logs() error {
	for i := range w.q.Episode.Tables.Attempts {
		a := &w.q.Episode.Tables.Attempts[i]
		if a.Turn < w.from.Turn || a.Turn == w.from.Turn && a.Offset < w.from.Offset {
			continue
		}
		rows, err := logs.AttemptEvents(w.q.Study.Dir, a)
		if err != nil {
			continue // its transcript says so
		}
		w.left -= attemptCosts
		for k := range rows {
			r := &rows[k]
			if !w.event(&searchedEvent{Turn: r.Turn, Attempt: r.Attempt, AttemptOffset: r.AttemptOffset, Seq: r.Seq, Via: r.Via, Actor: r.Actor, Channel: r.Channel,
				Kind: r.Kind, Tool: r.Tool, Text: r.Text, Place: r.Place}) {
				return nil
			}
		}
	}
	w.view.Done = true
	return nil
}

// event looks at one event; false ends the page.
func (w *searcher) event(r *searchedEvent) bool {
	if w.from.before(r.Turn, r.AttemptOffset, r.Seq) {
		return true
	}
	v := w.view
	if len(v.Hits) >= hitsAPage || w.left <= 0 {
		at := cursor{r.Turn, r.AttemptOffset, r.Seq}
		v.Next = v.Here + "?" + url.Values{"q": {v.Words}, "from": {at.String()}}.Encode()
		v.Upto = fmt.Sprintf("turn %d, event %s", r.Turn, num(r.Seq))
		return false
	}
	w.left -= len(r.Text)/2 + eventCost
	row := logs.EventRow{Via: r.Via, Actor: r.Actor, Channel: r.Channel, Kind: r.Kind, Tool: r.Tool}
	label := labelOf(&row)
	text := shownText(r.Kind, r.Text)
	if len(findWords(text, v.Words, 1)) > 0 || len(findWords(label, v.Words, 1)) > 0 {
		w.found(r, label, snippet(text, v.Words), false)
		return true
	}
	if _, cut := beginningOf(r.Text); cut {
		if text, ok := w.record(r); ok {
			w.found(r, label, snippet(text, v.Words), true)
		}
	}
	return true
}

func (w *searcher) found(r *searchedEvent, label string, text template.HTML, whole bool) {
	list := w.q.Episode.Tables.Attempts
	i := slices.IndexFunc(list, func(a logs.AttemptRow) bool {
		return a.Turn == r.Turn && a.Offset == r.AttemptOffset && orEmpty(a.Attempt) == orEmpty(r.Attempt)
	})
	if i < 0 {
		return
	}
	a := &list[i]
	h := hit{Where: fmt.Sprintf("turn %d, %s", r.Turn, attemptName(a)), Label: label, Snippet: text, Whole: whole}
	h.Href = fmt.Sprintf("%s/transcript?at=%d&q=%s#event-%d", attemptHref(w.q.Study, a), r.Seq, query(w.view.Words), r.Seq)
	if whole {
		h.Text = fmt.Sprintf("%s/text?seq=%d", attemptHref(w.q.Study, a), r.Seq)
	}
	w.view.Hits = append(w.view.Hits, h)
}

// record looks for the words in what a shortened text leaves out: in the values of its record.
func (w *searcher) record(r *searchedEvent) (string, bool) {
	if r.Length > recordBytes || r.File == "" {
		w.view.Part++
		return "", false
	}
	if r.File == w.bad {
		w.view.Part++
		return "", false
	}
	if r.File != w.file || w.open == nil {
		w.close()
		w.open = nil
		f, err := w.q.Study.sources().Open(r.File)
		if err != nil {
			w.bad = r.File
			w.view.Part++
			return "", false
		}
		w.file, w.open, w.ahead = r.File, f, readAhead{}
	}
	if w.plain == nil {
		w.plain = plainWords(w.view.Words)
	}
	p, low, err := w.ahead.record(w.open, r.Offset, int(r.Length))
	w.left -= len(p) / rawCost
	if err != nil {
		w.view.Part++
		return "", false
	}
	if len(w.plain) > 0 && !bytes.Contains(low, w.plain) {
		return "", false // so no value of it holds the words either
	}
	w.left -= len(p)
	fields, ok := fieldsOf(p)
	if !ok {
		if text := string(p); len(findWords(text, w.view.Words, 1)) > 0 {
			return text, true
		}
		return "", false
	}
	if f, ok := wholeText(fields, r.Text); ok { // other events of the record have their own texts
		fields = []field{f}
	}
	for _, f := range fields {
		if len(findWords(f.Text, w.view.Words, 1)) > 0 {
			return f.Text, true
		}
	}
	return "", false
}

// readAhead holds a stretch of a log, since the records of its events mostly follow each other.
type readAhead struct {
	at       int64
	raw, low []byte // as it stands, and with the letters A to Z lowered
}

// aheadBytes is how much is read at a time.
const aheadBytes = 512 << 10

// record gives the bytes of a record, which are good until the next one is asked for.
func (h *readAhead) record(f *logs.SourceFile, offset int64, length int) (raw, low []byte, err error) {
	if end := h.at + int64(len(h.raw)); offset < h.at || offset+int64(length) > end {
		var kept []byte
		if offset >= h.at && offset < end { // a packed file is read on, never again from its beginning
			kept = h.raw[offset-h.at:]
		}
		p, err := f.Range(offset+int64(len(kept)), max(length-len(kept), aheadBytes))
		if err != nil {
			*h = readAhead{}
			return nil, nil, err
		}
		h.at, h.raw = offset, append(slices.Clone(kept), p...)
		h.low = []byte(lowerASCII(string(h.raw)))
	}
	from := int(offset - h.at)
	to := min(from+length, len(h.raw))
	return h.raw[from:to], h.low[from:to], nil
}

// snippet is what stands around the first place where words are found, on one line, with all places in it marked.
func snippet(text, words string) template.HTML {
	from, to := 0, min(len(text), 2*aroundHit)
	if at := findWords(text, words, 1); len(at) > 0 {
		from, to = max(at[0][0]-aroundHit, 0), min(at[0][1]+aroundHit, len(text))
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	part := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		part = "…" + part
	}
	if to < len(text) {
		part += "…"
	}
	return visibleMarked(part, findWords(part, words, maxMarks))
}
