package logs

import "unicode/utf8"

// skimmer walks once through one JSON value. It accepts exactly what encoding/json accepts and decodes nothing that is
// not asked for; texts are spans of the input. After the first fault bad is true and nothing more is read.
//
//	if s.enter('{') {
//		for s.more('}') {
//			switch string(s.key()) {
//			case "type":
//				typ = s.text()
//			default:
//				s.skip()
//			}
//		}
//	}
//
// A list is walked through in the same way, with brackets and without keys. Every value has to be read or skipped.
type skimmer struct {
	b       []byte
	at      int
	depth   int
	bad     bool
	valid   bool   // the input is known to be UTF-8
	odd     bool   // a value was of another kind than it was asked for
	first   bool   // nothing was read yet of the innermost object or list
	name    []byte // room for a key with escapes
	keys    keyWatch
	usageAt int // of the first key "usage" with a colon right behind it: where its value begins, 0 = there was none
}

// maxSkimDepth is the nesting that encoding/json allows.
const maxSkimDepth = 10000

// peek is the next byte that is no space, 0 at the end.
func (s *skimmer) peek() byte {
	for s.at < len(s.b) {
		switch c := s.b[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		case 0:
			return 1 // no value begins with it
		default:
			return c
		}
	}
	return 0
}

func (s *skimmer) fault() { s.bad, s.at = true, len(s.b) }

// end says whether the value was faultless and nothing follows it.
func (s *skimmer) end() bool { return !s.bad && s.peek() == 0 && s.depth == 0 }

// enter begins an object or a list. A value of another kind is skipped.
func (s *skimmer) enter(open byte) bool {
	if s.peek() != open {
		s.odd = true
		s.skip()
		return false
	}
	s.at++
	if s.depth++; s.depth > maxSkimDepth {
		s.fault()
	}
	s.first = true
	if open == '{' {
		s.keys.open()
	}
	return !s.bad
}

// more says whether another element follows, and leaves the object or list if not.
func (s *skimmer) more(end byte) bool {
	switch c := s.peek(); {
	case s.bad:
		return false
	case c == end:
		s.at++
		s.depth--
		s.first = false
		if end == '}' {
			s.keys.close()
		}
		return false
	case s.first:
		s.first = false
	case c == ',':
		s.at++ // an element has to follow, which whoever reads it sees to
	default:
		s.fault()
		return false
	}
	return true
}

// key reads the key of an element. It is valid until the next key.
func (s *skimmer) key() []byte {
	if s.peek() != '"' {
		s.fault()
		return nil
	}
	t := s.quoted()
	if s.peek() != ':' {
		s.fault()
		return nil
	}
	s.at++
	if n := len(t.raw) - len("usage"); s.usageAt == 0 && n >= 0 && t.raw[n] == 'u' && string(t.raw[n:]) == "usage" && (n == 0 || t.raw[n-1] == '"') && s.b[s.at-2] == '"' {
		s.usageAt = s.at
	}
	name := t.raw
	if !t.plain || !s.valid && !utf8.Valid(name) {
		s.name = t.appendTo(s.name[:0], maxGrowth*len(t.raw))
		name = s.name
	}
	s.keys.key(name)
	return name
}

// text reads a string; a null is none. A value of another kind is skipped.
func (s *skimmer) text() skimText {
	switch s.peek() {
	case '"':
		return s.quoted()
	case 'n':
	default:
		s.odd = true
	}
	s.skip()
	return skimText{}
}

// raw skips a value and returns its bytes.
func (s *skimmer) raw() []byte {
	s.peek()
	from := s.at
	s.skip()
	if s.bad {
		return nil
	}
	return s.b[from:s.at]
}

// truth reads a bool; a null is false. A value of another kind is skipped.
func (s *skimmer) truth() bool {
	c := s.peek()
	if c != 't' && c != 'f' && c != 'n' {
		s.odd = true
	}
	s.skip()
	return c == 't'
}

// integer reads a whole number; a null is nil. Any other value is skipped, also one that does not fit.
func (s *skimmer) integer() *int64 {
	c := s.peek()
	from := s.at
	s.skip()
	if s.bad || c == 'n' {
		return nil
	}
	digits, sign := s.b[from:s.at], int64(1)
	if digits[0] == '-' {
		digits, sign = digits[1:], -1
	}
	if len(digits) > 18 {
		s.odd = true
		return nil
	}
	var n int64
	for _, d := range digits {
		if d < '0' || d > '9' {
			s.odd = true
			return nil
		}
		n = n*10 + int64(d-'0')
	}
	n *= sign
	return &n
}

// skip walks over a value of any kind.
func (s *skimmer) skip() {
	switch c := s.peek(); c {
	case '"':
		s.quoted()
	case '{':
		if s.enter('{') {
			for s.more('}') {
				s.key()
				s.skip()
			}
		}
	case '[':
		if s.enter('[') {
			for s.more(']') {
				s.skip()
			}
		}
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}

func (s *skimmer) word(w string) {
	if len(s.b)-s.at < len(w) || string(s.b[s.at:s.at+len(w)]) != w {
		s.fault()
		return
	}
	s.at += len(w)
}

func (s *skimmer) number() {
	i := s.at
	if i < len(s.b) && s.b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9' {
			i++
		}
		return i > from
	}
	ok := true
	if i < len(s.b) && s.b[i] == '0' {
		i++
	} else {
		ok = digits()
	}
	if ok && i < len(s.b) && s.b[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(s.b) && (s.b[i] == 'e' || s.b[i] == 'E') {
		if i++; i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		s.fault()
		return
	}
	s.at = i
}
