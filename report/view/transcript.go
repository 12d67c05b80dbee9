package view

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stint-bench/stint/logs"
)

// eventsAPage is how many lines a page of a transcript has.
const eventsAPage = 100

// Of a text so much is shown at once; the rest is a click away, or on a page of its own.
const (
	openBytes  = 1500
	openBreaks = 15
	mostBytes  = 24 << 10
)

// A transcriptView is a page of a transcript.
type transcriptView struct {
	Name     string
	Here     string // address without what it asks for
	Attempt  string // address of the attempt
	Diff     string // address of what it changed; "" = nobody knows
	Search   string // where words are searched
	Summary  []string
	Lines    []*lineView
	Proofs   []proofLink
	Via      string
	Kind     string
	Words    string
	Sources  []choice // of lines
	Kinds    []choice
	From, To int // numbers of the lines on this page, from 1
	Of       int
	First    string // addresses of other pages
	Before   string
	After    string
	Last     string
	Missing  bool // the attempt has no events at all

	asked int // number of the event that the address names, -1 for none
}

// places are the pages of the transcript, for the one that is shown twice.
type places struct {
	*transcriptView
	Label string
}

// Places are the pages, under a name.
func (v *transcriptView) Places(label string) places { return places{v, label} }

// Clock is the time of day of a whole time.
func (v *transcriptView) Clock(stamp string) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return ""
	}
	return t.Format("15:04:05")
}

type choice struct {
	Value, Label string
	Chosen       bool
}

// A proofLink leads from what a verdict rests on to the line and to the byte.
type proofLink struct {
	*proof
	Line string
	Byte string
	Said template.HTML // the beginning of the line
}

// A lineView is a line of a transcript.
type lineView struct {
	Seq    int
	Kind   string // class
	Label  string // who did what
	Stamp  string // time
	Tokens string
	Short  template.HTML // of a call: what was called; of another line its whole text, if that is short
	Folded bool          // a call: the texts are shown when it is opened
	Open   bool
	Bad    bool
	Ends   []string // exit code, duration
	Parts  []partView
	Proofs []*proof
	Raw    string // address of the bytes
	Also   []int  // numbers of the events that are folded in
}

// A partView is one text of a line.
type partView struct {
	Label string
	Head  template.HTML
	Rest  template.HTML // what is a click away
	More  string        // how much that is
	Open  bool
	Whole string // address of the whole text, if this is a part
	Bytes string // how long the record is
	Raw   string
}

// transcript shows the events of an attempt, a page at a time. The address says where: at or from (the number of an event, which at also
// opens), via, kind; words in q are marked.
func (s *Server) transcript(q *request) error {
	e, err := q.Study.eventsOf(q.Attempt)
	if err != nil {
		return err
	}
	get := q.R.URL.Query()
	v := &transcriptView{Attempt: attemptHref(q.Study, q.Attempt), Via: get.Get("via"), Kind: get.Get("kind"), Words: beginning(get.Get("q"), 200)}
	v.Here = v.Attempt + "/transcript"
	v.Name = q.head.Title
	if q.Attempt.Snapshot != nil {
		v.Diff = v.Attempt + "/diff"
	}
	v.Search = episodeHref(q.Study, q.Episode.Episode) + "/search"
	v.Missing = len(e.lines) == 0
	shown := e.shown(v.Via, v.Kind)
	v.asked = -1
	if seq, err := strconv.Atoi(get.Get("at")); err == nil {
		v.asked = seq
		if _, ok := e.at(seq); ok && !v.cut(e, shown, seq) { // the line is in another view
			return redirect(q, fmt.Sprintf("%s?via=all&at=%d#event-%d", v.Here, seq, seq))
		}
	} else if seq, err := strconv.Atoi(get.Get("from")); err == nil {
		v.cut(e, shown, seq)
	}
	if v.To == 0 {
		v.page(shown, 0)
	}
	v.links(e, shown)
	v.choices(e)
	v.Summary = e.summary(q.Attempt)
	proofs := proofsOf(q.Study, q.Episode)
	if err := v.fill(q, e, shown[max(v.From-1, 0):v.To], proofs); err != nil {
		return err
	}
	if err := v.proofs(q, e, proofs); err != nil {
		return err
	}
	s.aroundTranscript(q)
	q.head.crumb("transcript", "")
	q.head.Title = "transcript of " + q.head.Title
	q.head.Search = v.Search
	return s.render(q, "transcript", v)
}

// cut finds the page that holds an event.
func (v *transcriptView) cut(e *attemptEvents, shown []int, seq int) bool {
	i, ok := e.at(seq)
	if !ok {
		return false
	}
	if e.lines[i].partOf >= 0 {
		i = e.lines[i].partOf
	}
	k, ok := slices.BinarySearch(shown, i)
	if ok {
		v.page(shown, k)
	}
	return ok
}

// page shows the page on which the k-th of the shown lines is.
func (v *transcriptView) page(shown []int, k int) {
	first := k / eventsAPage * eventsAPage
	v.Of, v.From, v.To = len(shown), min(first+1, len(shown)), min(first+eventsAPage, len(shown))
}

func (v *transcriptView) links(e *attemptEvents, shown []int) {
	at := func(k int) string { return v.address(e.lines[shown[k]].Seq) }
	if v.From > 1 {
		v.First, v.Before = at(0), at(max(v.From-1-eventsAPage, 0))
	}
	if v.To < v.Of {
		v.After, v.Last = at(v.To), at((v.Of-1)/eventsAPage*eventsAPage)
	}
}

// address is the page of the same view that begins with, or holds, an event.
func (v *transcriptView) address(seq int) string {
	get := url.Values{"from": {strconv.Itoa(seq)}}
	for _, p := range [][2]string{{"via", v.Via}, {"kind", v.Kind}, {"q", v.Words}} {
		if p[1] != "" {
			get.Set(p[0], p[1])
		}
	}
	return v.Here + "?" + get.Encode()
}

func (v *transcriptView) choices(e *attemptEvents) {
	other := slices.ContainsFunc(e.lines, func(l eventLine) bool { return l.Via != e.viaOwn && l.Via != logs.ViaJournal })
	if other {
		v.Sources = []choice{{"", "what the gateway saw", v.Via != "all"}, {"all", "and what the agent's log says", v.Via == "all"}}
	}
	for _, k := range [][2]string{{"", "all lines"}, {"calls", "tool calls"}, {"messages", "messages"}, {"requests", "model requests"}, {"trouble", "trouble"}} {
		v.Kinds = append(v.Kinds, choice{k[0], k[1], v.Kind == k[0]})
	}
}

// summary counts what the attempt consists of.
func (e *attemptEvents) summary(a *logs.AttemptRow) []string {
	var calls, requests, compactions int
	for i := range e.lines {
		l := &e.lines[i]
		if l.Via != e.viaOwn {
			continue
		}
		switch l.Kind {
		case logs.EventToolCall:
			calls++
		case logs.EventModelAnswer:
			requests++
		case logs.EventCompaction:
			compactions++
		}
	}
	out := []string{plural(len(e.lines), "event", "events"), plural(calls, "tool call", "tool calls")}
	if requests > 0 {
		out = append(out, plural(requests, "answer of the model", "answers of the model"))
	}
	if compactions > 0 {
		out = append(out, plural(compactions, "compaction", "compactions"))
	}
	if t := tokensText(&a.Tokens); t != "" {
		out = append(out, t)
	}
	if a.CostUSD != nil {
		out = append(out, "$"+usd(a.CostUSD))
	}
	return out
}

// tokensText says how many tokens; "" if nobody said.
func tokensText(t *logs.Tokens) string {
	var out []string
	for _, c := range []struct {
		n    *int64
		word string
	}{{t.Input, "in"}, {t.Cached, "cached"}, {t.CacheWrite, "written to the cache"}, {t.Output, "out"}, {t.Reasoning, "of it reasoning"}} {
		if c.n != nil {
			out = append(out, num(c.n)+" "+c.word)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, ", ") + " tokens"
}

// fill makes the lines of the page.
func (v *transcriptView) fill(q *request, e *attemptEvents, indices []int, proofs []*proof) error {
	want := slices.Clone(indices)
	for _, i := range indices {
		want = append(want, e.lines[i].parts...)
	}
	rows, err := e.read(want)
	if err != nil {
		return err
	}
	for _, i := range indices {
		l := &e.lines[i]
		row := rows[l.Seq]
		if row == nil {
			continue // the table was written anew under our hands
		}
		w := lineWriter{q: q, words: v.Words}
		line := w.line(row)
		line.Proofs = proofsAt(proofs, l)
		for _, p := range l.parts {
			if answer := rows[e.lines[p].Seq]; answer != nil {
				w.answer(line, row, answer)
				for _, pr := range proofsAt(proofs, &e.lines[p]) {
					if !slices.Contains(line.Proofs, pr) {
						line.Proofs = append(line.Proofs, pr)
					}
				}
			}
		}
		line.Open = line.Open || len(line.Proofs) > 0 || v.asked >= 0 && (l.Seq == v.asked || slices.Contains(line.Also, v.asked))
		v.Lines = append(v.Lines, line)
	}
	return nil
}

// proofs lists what the verdicts about this attempt rest on.
func (v *transcriptView) proofs(q *request, e *attemptEvents, all []*proof) error {
	at := map[int]int{} // index of an event → index of the link
	var want []int
	for _, p := range all {
		if q.Attempt.Attempt == nil || p.Turn != q.Attempt.Turn || p.Attempt != *q.Attempt.Attempt || p.File == "" {
			continue
		}
		link := proofLink{proof: p, Line: lineHref(q.Study, q.Attempt, p.File, p.Offset), Byte: rawHref(q.Study, q.Attempt, p.File, p.Offset, p.Length)}
		if i, ok := e.find(p.File, p.Offset); ok {
			link.Line = transcriptHref(q.Study, q.Attempt, e.lines[i].Seq)
			at[i] = len(v.Proofs)
			want = append(want, i)
		}
		if name := p.checkOf(); name != "" {
			link.Line = v.Attempt + "#check-" + url.PathEscape(name)
		}
		v.Proofs = append(v.Proofs, link)
	}
	rows, err := e.read(want)
	if err != nil {
		return err
	}
	for i, k := range at {
		if row := rows[e.lines[i].Seq]; row != nil {
			v.Proofs[k].Said = visible(oneLine(shownText(row.Kind, row.Text), 120))
		}
	}
	return nil
}

// aroundTranscript leads to the transcripts of the attempts before and after.
func (s *Server) aroundTranscript(q *request) {
	all := q.Episode.Tables.Attempts
	i := slices.IndexFunc(all, func(a logs.AttemptRow) bool { return a.Place == q.Attempt.Place && a.Turn == q.Attempt.Turn })
	if i > 0 {
		q.head.Prev = attemptHref(q.Study, &all[i-1]) + "/transcript"
	}
	if i >= 0 && i+1 < len(all) {
		q.head.Next = attemptHref(q.Study, &all[i+1]) + "/transcript"
	}
}

// redirect leads to another page of this server.
func redirect(q *request, to string) error {
	http.Redirect(q.W, q.R, to, http.StatusSeeOther)
	return nil
}

// lineWriter turns events into lines.
type lineWriter struct {
	q     *request
	words string
}

// line makes a line of an event.
func (w *lineWriter) line(r *logs.EventRow) *lineView {
	l := &lineView{Seq: r.Seq, Kind: r.Kind, Label: labelOf(r), Tokens: tokensText(&r.Tokens), Raw: rawHref(w.q.Study, w.q.Attempt, r.File, r.Offset, r.Length)}
	if r.Time != nil {
		l.Stamp = r.Time.Format(time.RFC3339)
	}
	if slices.Contains(trouble, r.Kind) && r.Kind != logs.EventCompaction {
		l.Bad = true
	}
	l.Ends = endsOf(r)
	switch r.Kind {
	case logs.EventToolCall:
		l.Folded = true
		l.Short = w.marked(oneLine(callText(r.Text), 160))
		l.Label = "call"
		if r.Tool != nil {
			l.Label = *r.Tool
		}
		w.part(l, "", r, false)
	case logs.EventToolResult:
		l.Folded = true
		l.Short = w.marked(oneLine(r.Text, 160))
		l.Bad = r.ExitCode != nil && *r.ExitCode != 0
		w.part(l, "", r, false)
	case logs.EventMessage:
		w.part(l, "", r, true)
	default:
		if len(r.Text) <= shortText && !strings.Contains(r.Text, "\n") {
			l.Short = w.marked(r.Text)
			break
		}
		w.part(l, "", r, true)
	}
	return l
}

// shortText is how long a text may be that stands on the first line of its event.
const shortText = 200

// answer folds what answered a call into its line.
func (w *lineWriter) answer(l *lineView, call, r *logs.EventRow) {
	l.Also = append(l.Also, r.Seq)
	label := map[string]string{logs.EventToolResult: "gave", logs.EventRejectedCall: "was not run"}[r.Kind]
	w.part(l, label, r, false)
	ends := endsOf(r)
	if r.Kind == logs.EventRejectedCall {
		l.Bad, ends = true, append([]string{"not run"}, ends...)
	}
	if r.ExitCode != nil && *r.ExitCode != 0 {
		l.Bad = true
	}
	if r.Kind == logs.EventToolResult && r.DurationS == nil && call.Time != nil && r.Time != nil {
		if took := r.Time.Sub(*call.Time).Seconds(); took > 0 {
			ends = append(ends, secs(&took))
		}
	}
	for _, e := range ends {
		if !slices.Contains(l.Ends, e) {
			l.Ends = append(l.Ends, e)
		}
	}
}

func endsOf(r *logs.EventRow) (out []string) {
	if r.ExitCode != nil {
		out = append(out, fmt.Sprintf("exit %d", *r.ExitCode))
	}
	if r.HTTPStatus != nil {
		out = append(out, fmt.Sprintf("HTTP %d", *r.HTTPStatus))
	}
	if r.DurationS != nil {
		out = append(out, secs(r.DurationS))
	}
	return out
}

// labelOf says who did what.
func labelOf(r *logs.EventRow) string {
	kind := strings.ReplaceAll(r.Kind, "_", " ")
	switch {
	case r.Kind == logs.EventMessage && r.Channel == logs.ChannelPrompt:
		return "prompt"
	case r.Kind == logs.EventMessage:
		return r.Actor
	case r.Via == logs.ViaJournal:
		return "stint: " + kind
	case r.Tool != nil && *r.Tool != "":
		return kind + " of " + *r.Tool
	}
	return kind
}

// callText is what a call does, in one line: its command, or what else its arguments begin with.
func callText(arguments string) string {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &o) != nil {
		return shownText(logs.EventToolCall, arguments)
	}
	for _, key := range []string{"command", "cmd", "script", "code", "file_path", "filePath", "path", "pattern", "query", "url", "prompt", "description"} {
		var text string
		if raw, ok := o[key]; ok && json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
	}
	return arguments
}

// firstArgument is what stands before the first argument of a call, if that is a text.
var firstArgument = regexp.MustCompile(`^\s*\{\s*"[^"\\]{1,60}"\s*:\s*"`)

// shownText is the text of an event as it is shown: the arguments of a call without the escapes of JSON.
func shownText(kind, text string) string {
	if kind != logs.EventToolCall {
		return text
	}
	fields, ok := fieldsOf([]byte(text))
	switch {
	case !ok || len(fields) == 0:
		if at := firstArgument.FindStringIndex(text); at != nil { // it was shortened
			return unquote([]byte(`"` + text[at[1]:] + `"`))
		}
		return text
	case len(fields) == 1:
		return fields[0].Text
	}
	var b strings.Builder
	for _, f := range fields {
		between := ": "
		if strings.Contains(f.Text, "\n") {
			between = ":\n"
		}
		b.WriteString(f.Path + between + strings.TrimSuffix(f.Text, "\n") + "\n")
	}
	return b.String()
}

// oneLine makes a text one line of at most so many characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(beginning(text, 8*most)), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return text
}

func (w *lineWriter) marked(text string) template.HTML {
	return visibleMarked(text, findWords(text, w.words, maxMarks))
}

// part appends the text of an event. What is long is shown in part if fold is set, else as far as it is here.
func (w *lineWriter) part(l *lineView, label string, r *logs.EventRow, fold bool) {
	text := shownText(r.Kind, r.Text)
	p := partView{Label: label, Raw: rawHref(w.q.Study, w.q.Attempt, r.File, r.Offset, r.Length)}
	_, cut := beginningOf(r.Text)
	if len(text) > mostBytes {
		text, cut = beginning(text, mostBytes), true
	}
	if cut && r.File != "" {
		p.Whole = fmt.Sprintf("%s/text?seq=%d", attemptHref(w.q.Study, w.q.Attempt), r.Seq)
		p.Bytes = num(r.Length)
	}
	marks := findWords(text, w.words, maxMarks)
	head := len(text)
	if fold {
		head = opening(text)
	}
	left, right := splitMarks(marks, head)
	p.Head = visibleMarked(text[:head], left)
	if head < len(text) {
		p.Rest, p.More = visibleMarked(text[head:], right), plural(strings.Count(text[head:], "\n")+1, "more line", "more lines")
		p.Open = len(right) > 0
	}
	l.Open = l.Open || len(marks) > 0
	if text != "" || label != "" {
		l.Parts = append(l.Parts, p)
	}
}

// opening is how much of a long text is shown at first.
func opening(text string) int {
	if len(text) <= openBytes*3/2 && strings.Count(text, "\n") <= openBreaks*3/2 {
		return len(text)
	}
	at := 0
	for range openBreaks {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 || at+i+1 > openBytes {
			break
		}
		at += i + 1
	}
	if at == 0 {
		at = len(beginning(text, openBytes)) - len("…")
	}
	return at
}

// splitMarks divides marks between what stands before and behind a place.
func splitMarks(marks [][2]int, at int) (left, right [][2]int) {
	for _, m := range marks {
		if m[0] < at {
			left = append(left, [2]int{m[0], min(m[1], at)})
		}
		if m[1] > at {
			right = append(right, [2]int{max(m[0], at) - at, m[1] - at})
		}
	}
	return left, right
}
