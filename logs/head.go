package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
)

// headBytes is how much of a file is looked at to recognise it.
const (
	headBytes     = 64 << 10
	longHeadBytes = 4 << 20 // if its first line is longer than headBytes
)

// head is the beginning of a file, unpacked, by which its format is recognised.
type head struct {
	path  string // slash-separated, without .gz or .zst
	bytes []byte // at most longHeadBytes, without a byte-order mark
	whole bool   // there is no more
	size  int64  // of the file as it lies there, 0 if that is not known

	// objects are the JSON objects it begins with: the lines of a file of lines, as far as they are complete or the
	// first, or the one object or list that a document is, which may be torn.
	objects []fields
	lines   bool // the objects are lines
	prelude bool // something else comes before them
}

// fields are the values of a JSON value by their paths, for example "message.role" or "steps[].source": of a list the
// first element that has one. A scalar is there as text, an object as "{", a list as "[".
type fields map[string]string

// maxFieldDepth bounds the paths of fields, maxFieldText their values, maxHeadLines the lines that are looked at.
const (
	maxFieldDepth = 5
	maxFieldText  = 200
	maxHeadLines  = 40
)

func newHead(name string, b []byte, whole bool) *head {
	h := &head{path: name, bytes: bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), whole: whole}
	text := bytes.TrimLeft(h.bytes, " \t\r\n")
	if len(text) == 0 || bytes.IndexByte(text, 0) >= 0 {
		return h
	}
	if text[0] == '[' {
		h.objects = []fields{fieldsOf(text)}
		return h
	}
	n := 0
	for raw := range bytes.Lines(text) {
		complete := raw[len(raw)-1] == '\n' || whole
		switch line := bytes.TrimRight(raw, " \t\r\n"); {
		case len(line) > 0 && line[0] == '{' && complete && json.Valid(line):
			h.objects, h.lines = append(h.objects, fieldsOf(line)), true
		case len(line) > 0 && line[0] != '{' && len(h.objects) == 0:
			h.prelude = true
		}
		if n++; n == maxHeadLines {
			break
		}
	}
	if !h.lines && text[0] == '{' {
		h.objects, h.prelude = []fields{fieldsOf(text)}, false
		h.lines = !whole && bytes.IndexByte(text, '\n') < 0 // or a document: nobody can tell
	}
	return h
}

// fieldsOf reads the fields of a JSON value, as far as it can be read.
func fieldsOf(b []byte) fields {
	f := fields{}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	f.value(dec, "", 0)
	return f
}

// value reads one value; false at the end of what can be read.
func (f fields) value(dec *json.Decoder, at string, depth int) bool {
	t, err := dec.Token()
	if err != nil {
		return false
	}
	open, nested := t.(json.Delim)
	if depth <= maxFieldDepth {
		if _, known := f[at]; !known {
			f[at] = clip(fmt.Sprint(t), maxFieldText)
		}
	}
	switch {
	case !nested:
		return true
	case depth > maxFieldDepth:
		return skipNested(dec)
	case open == '[':
		for dec.More() {
			if !f.value(dec, at+"[]", depth+1) {
				return false
			}
		}
	case open == '{':
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return false
			}
			under := clip(key.(string), maxFieldText)
			if at != "" {
				under = at + "." + under
			}
			if !f.value(dec, under, depth+1) {
				return false
			}
		}
	}
	_, err = dec.Token()
	return err == nil
}

// skipNested reads to the end of the object or list that has just begun.
func skipNested(dec *json.Decoder) bool {
	for depth := 1; depth > 0; {
		t, err := dec.Token()
		if err != nil {
			return false
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return true
}

// has says whether all of these paths are there.
func (f fields) has(paths ...string) bool {
	for _, p := range paths {
		if _, ok := f[p]; !ok {
			return false
		}
	}
	return true
}

// document is the one JSON object or list that the file is; nil if it is none or has several lines with objects.
func (h *head) document() fields {
	if len(h.objects) != 1 || h.prelude {
		return nil
	}
	return h.objects[0]
}

// any is the first object for which f is true, nil if there is none.
func (h *head) any(f func(fields) bool) fields {
	for _, o := range h.objects {
		if f(o) {
			return o
		}
	}
	return nil
}

// first is the value of a path in the first object that has it.
func (h *head) first(paths ...string) string {
	for _, o := range h.objects {
		for _, p := range paths {
			if v, ok := o[p]; ok && v != "" {
				return v
			}
		}
	}
	return ""
}

// base is the last part of the path.
func (h *head) base() string { return path.Base(h.path) }

// dir is the path of the folder, and inDir the name of the folder the file lies in.
func (h *head) dir() string   { return path.Dir(h.path) }
func (h *head) inDir() string { return path.Base(h.dir()) }

// magic says whether the file begins with these bytes.
func (h *head) magic(b string) bool {
	return bytes.HasPrefix(h.bytes, []byte(b))
}
