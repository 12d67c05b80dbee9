package view

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stint-bench/stint/logs"
)

// attemptEvents knows where the events of one attempt are and what belongs together, without their texts, so that a page
// reads no more than it shows.
type attemptEvents struct {
	key    string
	stamp  string
	study  *study
	lines  []eventLine // by number
	rows   []logs.EventRow
	filter string // of the table; "" = rows has them
	viaOwn string // the source that counts: gateway if there is one, else reader
}

// An eventLine is what is kept of an event.
type eventLine struct {
	Seq            int
	Via, Kind      string
	File           string
	Offset, Length int64
	parts          []int // a call: indices of what answered it
	partOf         int   // index of the call that this answers; -1 = it stands alone
}

// eventCache keeps the attempts that were looked at last.
type eventCache struct {
	mu   sync.Mutex
	kept []*attemptEvents
}

const (
	keptAttempts = 4
	keptRows     = 64 << 20 // bytes of texts of an attempt that is not in a table
)

// events finds the events of an attempt: in the table, if it holds what the journals hold, else in the attempt's log.
func (st *study) eventsOf(a *logs.AttemptRow) (*attemptEvents, error) {
	key := attemptHref(st, a)
	stamp, fresh := st.episodeStamp(a.Episode), st.Foreign || st.Dir.Fresh()
	if fresh {
		stamp = stampOf(st.table("events"))
	}
	st.events.mu.Lock()
	defer st.events.mu.Unlock()
	if i := slices.IndexFunc(st.events.kept, func(e *attemptEvents) bool { return e.key == key && e.stamp == stamp }); i >= 0 {
		e := st.events.kept[i]
		st.events.kept = slices.Insert(slices.Delete(st.events.kept, i, i+1), 0, e)
		return e, nil
	}
	e := &attemptEvents{key: key, stamp: stamp, study: st}
	var err error
	if fresh {
		err = e.fromTable(a)
	} else {
		err = e.fromLog(a)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the events of %s: %w", attemptName(a), err)
	}
	e.pair()
	kept := slices.DeleteFunc(st.events.kept, func(o *attemptEvents) bool { return o.key == key || !fresh && o.rows != nil })
	kept = slices.Insert(kept, 0, e)
	st.events.kept = kept[:min(len(kept), keptAttempts)]
	return e, nil
}

// A placedEvent is what the table tells without the texts.
type placedEvent struct {
	Seq    int     `col:"seq"`
	Via    string  `col:"via"`
	Kind   string  `col:"kind"`
	CallID *string `col:"call_id"`
	File   string  `col:"file"`
	Offset int64   `col:"offset"`
	Length int64   `col:"length"`
}

// ofAttempt matches the rows of an attempt in the table of events.
func (st *study) ofAttempt(a *logs.AttemptRow) string {
	filter := fmt.Sprintf("episode:%q turn:%d attempt_offset:%d", a.Episode, a.Turn, a.Offset)
	if st.Foreign { // there, attempts of other files may begin at the same place
		filter += fmt.Sprintf(" attempt:%q", orEmpty(a.Attempt))
	}
	return filter
}

func orEmpty(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func (e *attemptEvents) fromTable(a *logs.AttemptRow) error {
	e.filter = e.study.ofAttempt(a)
	x, err := logs.ParseExpr(e.filter)
	if err != nil {
		return err
	}
	words := map[string]string{} // rows repeat few words, and every row brings its own
	one := func(s string) string {
		if w, ok := words[s]; ok {
			return w
		}
		words[s] = s
		return s
	}
	calls := openCalls{}
	for r, err := range logs.Rows[placedEvent](e.study.table("events"), x) {
		if err != nil {
			return err
		}
		e.add(calls, eventLine{Seq: r.Seq, Via: one(r.Via), Kind: one(r.Kind), File: one(r.File), Offset: r.Offset, Length: r.Length}, r.CallID)
	}
	return nil
}

// fromLog reads the log of an attempt of a run whose tables are older than its journals.
func (e *attemptEvents) fromLog(a *logs.AttemptRow) error {
	rows, err := logs.AttemptEvents(e.study.Dir, a)
	if err != nil {
		return err
	}
	calls, bytes := openCalls{}, 0
	for i := range rows {
		r := &rows[i]
		bytes += len(r.Text)
		e.add(calls, eventLine{Seq: r.Seq, Via: r.Via, Kind: r.Kind, File: r.File, Offset: r.Offset, Length: r.Length}, r.CallID)
	}
	e.rows = rows
	if bytes > keptRows {
		for i := range rows {
			if keep := keptRows / len(rows); len(rows[i].Text) > keep {
				rows[i].Text = strings.ToValidUTF8(rows[i].Text[:keep], "") + "…"
			}
		}
	}
	return nil
}

// openCalls are the calls that nothing has answered yet, by source and id.
type openCalls map[string]int

// add appends a line and finds the call that it answers.
func (e *attemptEvents) add(calls openCalls, l eventLine, id *string) {
	l.partOf = -1
	word := l.Via + "\x00"
	if id != nil {
		word += *id
	}
	at := len(e.lines)
	switch {
	case l.Kind == logs.EventToolCall:
		calls[word] = at
	case l.Kind == logs.EventToolResult, l.Kind == logs.EventRejectedCall, l.Kind == logs.EventNotice && id != nil:
		if call, ok := calls[word]; ok {
			l.partOf = call
			if id == nil {
				delete(calls, word)
			}
		}
	}
	e.lines = append(e.lines, l)
}

// maxParts bounds what is folded into one call.
const maxParts = 8

// pair puts lines into the order of their numbers and tells calls what answered them.
func (e *attemptEvents) pair() {
	if !slices.IsSortedFunc(e.lines, func(a, b eventLine) int { return cmp.Compare(a.Seq, b.Seq) }) {
		for i := range e.lines {
			e.lines[i].partOf = -1 // indices hold no more; each line stands alone
		}
		slices.SortFunc(e.lines, func(a, b eventLine) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	e.viaOwn = logs.ViaReader
	for i := range e.lines {
		l := &e.lines[i]
		if l.Via == logs.ViaGateway {
			e.viaOwn = logs.ViaGateway
		}
		if l.partOf < 0 {
			continue
		}
		if call := &e.lines[l.partOf]; len(call.parts) < maxParts {
			call.parts = append(call.parts, i)
		} else {
			l.partOf = -1
		}
	}
}

// at is the index of an event by its number.
func (e *attemptEvents) at(seq int) (int, bool) {
	return slices.BinarySearchFunc(e.lines, seq, func(l eventLine, seq int) int { return cmp.Compare(l.Seq, seq) })
}

// find gives the index of the first event that was read from a place.
func (e *attemptEvents) find(file string, offset int64) (int, bool) {
	i := slices.IndexFunc(e.lines, func(l eventLine) bool { return l.Offset == offset && l.File == file })
	return i, i >= 0
}

// trouble are the kinds that tell what went wrong.
var trouble = []string{logs.EventError, logs.EventRetry, logs.EventCut, logs.EventRejectedCall, logs.EventLoopGuard, logs.EventUnreadable,
	logs.EventLeftOut, logs.EventVoid, logs.EventCompaction, logs.EventServerExit, logs.EventServerLog, logs.EventBuildLog}

// shown lists the lines of a view, without those that are folded into others. via is "" for the source that counts, or
// "all"; kind is "", "calls", "messages", "requests" or "trouble".
func (e *attemptEvents) shown(via, kind string) []int {
	var out []int
	for i := range e.lines {
		l := &e.lines[i]
		if via != "all" && l.Via != e.viaOwn && l.Via != logs.ViaJournal || l.partOf >= 0 {
			continue
		}
		ok := true
		switch kind {
		case "calls":
			ok = l.Kind == logs.EventToolCall || l.Kind == logs.EventToolResult
		case "messages":
			ok = l.Kind == logs.EventMessage
		case "requests":
			ok = slices.Contains([]string{logs.EventModelRequest, logs.EventModelAnswer, logs.EventUsage, logs.EventRetry, logs.EventCut, logs.EventCompaction}, l.Kind)
		case "trouble":
			ok = slices.Contains(trouble, l.Kind) || slices.ContainsFunc(l.parts, func(p int) bool { return e.lines[p].Kind == logs.EventRejectedCall })
		}
		if ok {
			out = append(out, i)
		}
	}
	return out
}

// read reads the rows of lines, by number.
func (e *attemptEvents) read(indices []int) (map[int]*logs.EventRow, error) {
	out := make(map[int]*logs.EventRow, len(indices))
	if e.filter == "" {
		for _, i := range indices {
			at, ok := slices.BinarySearchFunc(e.rows, e.lines[i].Seq, func(r logs.EventRow, seq int) int { return cmp.Compare(r.Seq, seq) })
			if ok {
				out[e.lines[i].Seq] = &e.rows[at]
			}
		}
		return out, nil
	}
	if len(indices) == 0 {
		return out, nil
	}
	seqs := make([]string, len(indices))
	for k, i := range indices {
		seqs[k] = strconv.Itoa(e.lines[i].Seq)
	}
	x, err := logs.ParseExpr(e.filter + " seq:(" + strings.Join(seqs, " OR ") + ")")
	if err != nil {
		return nil, err
	}
	for r, err := range logs.Rows[logs.EventRow](e.study.table("events"), x) {
		if err != nil {
			return nil, fmt.Errorf("reading events: %w", err)
		}
		out[r.Seq] = &r
		if len(out) == len(indices) {
			break
		}
	}
	return out, nil
}

// sources opens the files that the study's rows point into. Relative names of foreign files count from where stint runs,
// as when they were read, or from the folder beside or of the tables.
func (st *study) sources() *logs.Sources {
	if !st.Foreign {
		return logs.RunSources(st.Dir)
	}
	var from []string
	if wd, err := os.Getwd(); err == nil {
		from = append(from, wd)
	}
	return logs.LogSources(st.Dir.Root, append(from, st.Dir.Root+"/..", st.Dir.Root)...)
}
