package view

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/stint-bench/stint/logs"
)

// Of a record so much is taken apart; of a text so much is shown on a page, and of every other value of the record.
const (
	maxRecord  = 16 << 20
	textWindow = 128 << 10
	fieldShown = 2 << 10
	fieldsMost = 300
)

// A textView is the whole text of an event, read from its log.
type textView struct {
	Line     string // address in the transcript
	Label    string
	Path     string // where in the record the text stands
	Text     template.HTML
	From, To int // bytes of the text that are shown
	Of       int
	Earlier  string
	Later    string
	Fields   []fieldView // of the record
	More     int         // fields that are not shown
	Record   int64
	Raw      string
	Note     string
	Gone     string
}

type fieldView struct {
	Path string
	Text template.HTML
	Cut  bool
}

// text shows the record that an event was read from, as its log has it: the text first, then all values of the record.
func (s *Server) text(q *request) error {
	seq, err := strconv.Atoi(q.R.URL.Query().Get("seq"))
	if err != nil {
		return badRequest("a text is asked for by the number of its event")
	}
	e, err := q.Study.eventsOf(q.Attempt)
	if err != nil {
		return err
	}
	i, ok := e.at(seq)
	if !ok {
		return notFound("the attempt has no such event")
	}
	rows, err := e.read([]int{i})
	if err != nil {
		return err
	}
	row := rows[seq]
	if row == nil {
		return notFound("the attempt has no such event any more")
	}
	v := &textView{Label: labelOf(row), Line: transcriptHref(q.Study, q.Attempt, seq), Record: row.Length, Raw: rawHref(q.Study, q.Attempt, row.File, row.Offset, row.Length)}
	from, _ := strconv.Atoi(q.R.URL.Query().Get("from"))
	if err := v.read(q, row, max(from, 0)); err != nil {
		var known *logs.SourceError
		if !errors.As(err, &known) {
			return err
		}
		v.Gone = known.Text
		v.window(row.Text, max(from, 0))
	}
	here := fmt.Sprintf("?seq=%d&from=", seq)
	if v.From > 0 {
		v.Earlier = here + strconv.Itoa(max(v.From-textWindow, 0))
	}
	if v.To < v.Of {
		v.Later = here + strconv.Itoa(v.To)
	}
	q.head.crumb("text", "")
	q.head.Title = fmt.Sprintf("event %d of %s", seq, q.head.Title)
	return s.render(q, "text", v)
}

// isOf says whether bytes have a hash of the tables; one that is not known fits all.
func isOf(p []byte, sha string) bool {
	sum := sha256.Sum256(p)
	return sha == "" || hex.EncodeToString(sum[:]) == sha
}

// read takes the record apart.
func (v *textView) read(q *request, row *logs.EventRow, from int) error {
	f, err := q.Study.sources().Open(row.File)
	if err != nil {
		return err
	}
	defer f.Close()
	record, err := f.Range(row.Offset, int(min(row.Length, maxRecord)))
	if err != nil {
		return err
	}
	if row.Length <= maxRecord && !isOf(record, row.SHA256) {
		return &logs.SourceError{File: row.File, Text: "the file has changed since: these are not the bytes that the row was read from"}
	}
	if row.Length > maxRecord {
		v.Note = fmt.Sprintf("the record has %s bytes: it is shown as it stands, from its beginning", num(row.Length))
		v.window(string(record), from)
		return nil
	}
	fields, ok := fieldsOf(record)
	if !ok && len(fields) == 0 {
		v.Note = "the record is no JSON: it is shown as it stands"
		v.window(string(record), from)
		return nil
	}
	if !ok {
		v.Note = "the record is no whole JSON: what could be read of it is shown"
	}
	if whole, found := wholeText(fields, row.Text); found {
		v.Path = whole.Path
		v.window(whole.Text, from)
	} else {
		v.Note = "the text of the event was put together from several values of the record: they are all here"
		v.window(row.Text, from)
	}
	for _, f := range fields[:min(len(fields), fieldsMost)] {
		text := beginning(f.Text, fieldShown)
		v.Fields = append(v.Fields, fieldView{f.Path, visible(text), len(f.Text) > fieldShown})
	}
	v.More = len(fields) - len(v.Fields)
	v.Fields = slices.DeleteFunc(v.Fields, func(f fieldView) bool { return f.Path == v.Path })
	return nil
}

// window shows a part of a text, from the beginning of a character to that of another.
func (v *textView) window(text string, from int) {
	if from >= len(text) {
		from = max(len(text)-textWindow, 0)
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(from+textWindow, len(text))
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	if to == from { // no character begins here: bytes that are no UTF-8
		to = min(from+textWindow, len(text))
	}
	v.From, v.To, v.Of = from, to, len(text)
	v.Text = visible(text[from:to])
}
