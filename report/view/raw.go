package view

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stint-bench/stint/logs"
)

// Of a raw file so much is shown at once, and so much before and behind what a row was read from.
const (
	rawWindow  = 32 << 10
	rawContext = 1 << 10
	hexLine    = 16
	maxHashed  = 256 << 20 // longer places are not held against their hash
)

// A rawView is a part of a file that a row points into.
type rawView struct {
	File           string
	Offset, Length int64
	From, To       int64 // what is shown
	Line           string
	Fields         string // address of the record as fields
	Before         template.HTML
	Range          template.HTML
	After          template.HTML
	Hex            []hexRow // instead of these three
	Why            string   // why hex, if nobody asked for it
	Other          string   // the same in the other way
	OtherWord      string
	First          string // other windows
	Earlier        string
	Later          string
	Hash           string // whether the bytes are those that the row was read from
	Changed        bool
	Gone           string // why there is nothing to show
}

// A hexRow is sixteen bytes.
type hexRow struct {
	Offset string
	Bytes  template.HTML
	Text   template.HTML
}

// raw shows the bytes around what a row was read from: file, offset, length; from is where the window begins, as=hex or
// as=text how it is shown.
func (s *Server) raw(q *request) error {
	get := q.R.URL.Query()
	v := &rawView{File: get.Get("file")}
	var err1, err2 error
	v.Offset, err1 = strconv.ParseInt(get.Get("offset"), 10, 64)
	v.Length, err2 = strconv.ParseInt(get.Get("length"), 10, 64)
	if err1 != nil || err2 != nil || v.Offset < 0 || v.Length < 0 || v.Offset+v.Length < 0 || v.File == "" {
		return badRequest("bytes are asked for by file, offset and length")
	}
	v.From = max(v.Offset-rawContext, 0)
	if from, err := strconv.ParseInt(get.Get("from"), 10, 64); err == nil && from >= 0 {
		v.From = from
	}
	q.head.crumb("bytes", "")
	q.head.Title = "bytes of " + short(v.File, 60)
	event, err := s.eventAt(q, v.File, v.Offset)
	if err != nil {
		return err
	}
	if event != nil {
		v.Line = transcriptHref(q.Study, q.Attempt, event.Seq)
		v.Fields = fmt.Sprintf("%s/text?seq=%d", attemptHref(q.Study, q.Attempt), event.Seq)
		if v.Length == 0 {
			v.Length = event.Length
		}
	}
	if err := v.read(q, event, get.Get("as")); err != nil {
		var known *logs.SourceError
		if !errors.As(err, &known) {
			return err
		}
		v.Gone = known.Text
	}
	return s.render(q, "raw", v)
}

// eventAt is the first event of the attempt that was read from a place, nil if there is none.
func (s *Server) eventAt(q *request, file string, offset int64) (*logs.EventRow, error) {
	e, err := q.Study.eventsOf(q.Attempt)
	if err != nil {
		return nil, err
	}
	i, ok := e.find(file, offset)
	if !ok {
		return nil, nil
	}
	rows, err := e.read([]int{i})
	if err != nil {
		return nil, err
	}
	return rows[e.lines[i].Seq], nil
}

// read fills in the window.
func (v *rawView) read(q *request, event *logs.EventRow, as string) error {
	f, err := q.Study.sources().Open(v.File)
	if err != nil {
		return err
	}
	defer f.Close()
	want := expectedHash(q, event, v)
	if want != "" {
		if err := v.hash(f, want); err != nil {
			return err
		}
	}
	size := rawWindow
	if v.From <= v.Offset && v.Length <= rawWindow {
		size = int(v.Offset-v.From) + int(v.Length) + rawContext
		size = min(size, rawWindow+2*rawContext)
	}
	p, err := f.Range(v.From, size+1)
	if err != nil {
		return err
	}
	more := len(p) > size
	p = p[:min(len(p), size)]
	v.To = v.From + int64(len(p))
	v.links(more, as)
	v.show(p, as, more)
	return nil
}

// expectedHash is what the row says about the bytes; "" if it says nothing.
func expectedHash(q *request, event *logs.EventRow, v *rawView) string {
	if event != nil && event.Length == v.Length {
		return event.SHA256
	}
	for _, p := range proofsOf(q.Study, q.Episode) {
		if p.File == v.File && p.Offset == v.Offset && p.Length == v.Length {
			return p.SHA256
		}
	}
	return ""
}

// hash says whether the bytes of the range are those that the row was read from.
func (v *rawView) hash(f *logs.SourceFile, want string) error {
	if v.Length > maxHashed {
		v.Hash = "too long to be held against the hash that the row has"
		return nil
	}
	h := sha256.New()
	for at := v.Offset; at < v.Offset+v.Length; {
		p, err := f.Range(at, int(min(1<<20, v.Offset+v.Length-at)))
		if err != nil {
			return err
		}
		if len(p) == 0 {
			break
		}
		h.Write(p)
		at += int64(len(p))
	}
	v.Hash = "the bytes have the hash that the row has"
	if hex.EncodeToString(h.Sum(nil)) != want {
		v.Changed, v.Hash = true, "these are not the bytes that the row was read from: the file has changed since"
	}
	return nil
}

// address is a window of the same file.
func (v *rawView) address(from int64, as string) string {
	get := url.Values{"file": {v.File}, "offset": {strconv.FormatInt(v.Offset, 10)}, "length": {strconv.FormatInt(v.Length, 10)}}
	if from >= 0 {
		get.Set("from", strconv.FormatInt(from, 10))
	}
	if as != "" {
		get.Set("as", as)
	}
	return "?" + get.Encode()
}

func (v *rawView) links(more bool, as string) {
	if v.From > 0 {
		v.First, v.Earlier = v.address(0, as), v.address(max(v.From-rawWindow, 0), as)
	}
	if more {
		v.Later = v.address(v.To, as)
	}
}

// show writes the window as text, or in hex if it is none or hex was asked for.
func (v *rawView) show(p []byte, as string, more bool) {
	text, skipped := wholeRunes(p, v.From > 0, more)
	binary := !utf8.Valid(text) || strings.IndexByte(string(text), 0) >= 0
	if as == "hex" || as != "text" && binary {
		if as != "hex" {
			v.Why = "This is no UTF-8, so it is shown in hex"
		}
		v.hex(p)
		v.Other, v.OtherWord = v.address(v.From, "text"), "as text"
		return
	}
	v.Other, v.OtherWord = v.address(v.From, "hex"), "in hex"
	start := v.From + int64(skipped)
	a := int(min(max(v.Offset-start, 0), int64(len(text))))
	b := int(min(max(v.Offset+v.Length-start, int64(a)), int64(len(text))))
	v.Before, v.Range, v.After = visible(string(text[:a])), visible(string(text[a:b])), visible(string(text[b:]))
}

// wholeRunes leaves out the halves of characters at the beginning and the end of a window, and says how many bytes that
// is at the beginning.
func wholeRunes(p []byte, begins, ends bool) (text []byte, skipped int) {
	for begins && skipped < utf8.UTFMax-1 && skipped < len(p) && !utf8.RuneStart(p[skipped]) {
		skipped++
	}
	text = p[skipped:]
	for k := 1; ends && k < utf8.UTFMax && k <= len(text); k++ {
		if utf8.RuneStart(text[len(text)-k]) {
			if !utf8.FullRune(text[len(text)-k:]) {
				text = text[:len(text)-k]
			}
			break
		}
	}
	return text, skipped
}

// hex writes the window as lines of sixteen bytes, with those of the range marked.
func (v *rawView) hex(p []byte) {
	for at := 0; at < len(p); at += hexLine {
		row := p[at:min(at+hexLine, len(p))]
		var digits, text strings.Builder
		var marks, textMarks [][2]int
		for i, c := range row {
			from, textFrom := digits.Len(), text.Len()
			fmt.Fprintf(&digits, "%02x", c)
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			text.WriteByte(c)
			if pos := v.From + int64(at+i); pos >= v.Offset && pos < v.Offset+v.Length {
				marks, textMarks = joined(marks, from, digits.Len()), joined(textMarks, textFrom, text.Len())
			}
			digits.WriteByte(' ')
		}
		v.Hex = append(v.Hex, hexRow{fmt.Sprintf("%08x", v.From+int64(at)), visibleMarked(digits.String(), marks), visibleMarked(text.String(), textMarks)})
	}
}

// joined appends a range, to the last one if there is but a blank between them.
func joined(marks [][2]int, from, to int) [][2]int {
	if n := len(marks); n > 0 && from-marks[n-1][1] <= 1 {
		marks[n-1][1] = to
		return marks
	}
	return append(marks, [2]int{from, to})
}
