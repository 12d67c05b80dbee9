package view

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A field is a value within a record of a log, with the way to it.
type field struct {
	Path string // for example message.content[0].text
	Text string // of a string, decoded; else as it stands
}

// maxFields bounds the values of a record that are looked at; maxNesting how deep it may be.
const (
	maxFields  = 20_000
	maxNesting = 200
)

// fieldsOf takes a record apart into its values, in their order; ok is false for what is no JSON. Half pairs of UTF-16,
// which JSON can hold and UTF-8 cannot, come as the three bytes that [visible] shows as an escape.
func fieldsOf(record []byte) (fields []field, ok bool) {
	record = bytes.TrimPrefix(record, []byte("\xef\xbb\xbf"))
	if t := bytes.TrimSpace(record); len(t) == 0 || t[0] != '{' && t[0] != '[' {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(record))
	dec.UseNumber()
	var way []step
	for len(fields) < maxFields {
		tok, err := dec.Token()
		if err == io.EOF && len(way) == 0 {
			return fields, true
		}
		if err != nil || len(way) > maxNesting {
			return fields, false
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			way = append(way, step{list: tok == json.Delim('[')})
			continue
		case json.Delim('}'), json.Delim(']'):
			way = way[:len(way)-1]
			came(way)
			continue
		}
		raw := tokenBefore(record, dec.InputOffset())
		if n := len(way); n > 0 && !way[n-1].list && !way[n-1].named {
			way[n-1].key, way[n-1].named = beginning(unquote(raw), maxKey), true
			continue
		}
		f := field{Path: pathOf(way)}
		if _, text := tok.(string); text {
			f.Text = unquote(raw)
		} else {
			f.Text = string(raw)
		}
		fields = append(fields, f)
		came(way)
	}
	return fields, true
}

// maxKey bounds the names in a path: a record may repeat a long one as often as it has values.
const maxKey = 100

// beginning cuts a text to so many bytes, at the end of a character.
func beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// A step leads from a value to one within it.
type step struct {
	list  bool
	index int
	key   string
	named bool // the key has been read, its value has not
}

// came notes that a value has been read.
func came(way []step) {
	if n := len(way); n > 0 {
		way[n-1].index++
		way[n-1].named = false
	}
}

func pathOf(way []step) string {
	var b strings.Builder
	for _, s := range way {
		if s.list {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.key)
	}
	return b.String()
}

// tokenBefore is the string or word that ends at an offset.
func tokenBefore(record []byte, end int64) []byte {
	p := record[:end]
	if len(p) > 0 && p[len(p)-1] == '"' {
		i := len(p) - 2
		for ; i >= 0; i-- {
			if p[i] == '"' && quotedAt(p, i) {
				break
			}
		}
		return p[max(i, 0):]
	}
	i := bytes.LastIndexAny(p, " \t\r\n:,[{")
	return p[i+1:]
}

// quotedAt says whether the quote at i is no escaped one.
func quotedAt(p []byte, i int) bool {
	n := 0
	for i > n && p[i-1-n] == '\\' {
		n++
	}
	return n%2 == 0
}

// unquote decodes a string of JSON that is known to be one. What is no UTF-8 stays as it is.
func unquote(raw []byte) string {
	if len(raw) < 2 {
		return string(raw)
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, n := unit(raw[i+1:])
			i += n
			if utf16.IsSurrogate(r) {
				if next, m := unitAfter(raw[i+1:]); utf16.DecodeRune(r, next) != utf8.RuneError {
					r = utf16.DecodeRune(r, next)
					i += m
				} else {
					out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0x3f)
					continue
				}
			}
			out = utf8.AppendRune(out, r)
		default: // a quote, a backslash, a slash
			out = append(out, c)
		}
	}
	return string(out)
}

// unit reads four hex digits.
func unit(p []byte) (rune, int) {
	if len(p) < 4 {
		return utf8.RuneError, len(p)
	}
	n, err := strconv.ParseUint(string(p[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError, 4
	}
	return rune(n), 4
}

// unitAfter reads \uXXXX.
func unitAfter(p []byte) (rune, int) {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return utf8.RuneError, 0
	}
	r, _ := unit(p[2:])
	return r, 6
}

// leftOut begins what stands in the middle of a shortened text, see logs.PreviewBytes.
const leftOut = "\n[… "

// beginningOf is the part of a shortened text that is as it stands in the record, and whether the text is a part at all.
func beginningOf(text string) (string, bool) {
	if head, _, cut := strings.Cut(text, leftOut); cut && strings.Contains(text, " bytes left out …]\n") {
		return head, true
	}
	head, cut := strings.CutSuffix(text, "…")
	return head, cut && len(head) > 200
}

// wholeText finds the value of a record that a shortened text was made of.
func wholeText(fields []field, text string) (field, bool) {
	head, _ := beginningOf(text)
	head = strings.TrimSpace(head)
	if i := strings.IndexRune(head, utf8.RuneError); i >= 0 {
		head = head[:i] // it stands for a byte that is no UTF-8
	}
	best := -1
	for i, f := range fields {
		if t := strings.TrimSpace(f.Text); len(f.Text) >= len(head) && len(head) > 0 && strings.HasPrefix(t, head) && (best < 0 || len(f.Text) > len(fields[best].Text)) {
			best = i
		}
	}
	if best < 0 {
		return field{}, false
	}
	return fields[best], true
}
