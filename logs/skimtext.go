package logs

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// skimText is a string of the input, without its quotes.
type skimText struct {
	raw     []byte
	plain   bool // without escapes
	valid   bool // it is known to be UTF-8
	present bool
}

// maxGrowth is how much longer a text may get: a byte that is no UTF-8 becomes three.
const maxGrowth = len("\uFFFD")

// String decodes the text as encoding/json does: what is no UTF-8 and lone surrogates become U+FFFD.
func (t skimText) String() string {
	valid := t.valid || utf8.Valid(t.raw)
	if t.plain && valid {
		return string(t.raw)
	}
	var b []byte
	if valid {
		b = decodeValid(t.raw)
	} else {
		b = t.appendTo(make([]byte, 0, len(t.raw)), maxGrowth*len(t.raw))
	}
	return unsafe.String(unsafe.SliceData(b), len(b)) // nobody else has b
}

// is says whether the text is these words; it is quick for texts without escapes.
func (t skimText) is(words string) bool {
	if t.plain {
		return string(t.raw) == words
	}
	return t.present && t.String() == words
}

// head decodes the text until it has at least so many bytes, or all of it.
func (t skimText) head(size int) []byte {
	return t.appendTo(make([]byte, 0, min(size, len(t.raw))+utf8.UTFMax), size)
}

// appendTo decodes the text until that makes at least so many bytes, or to its end. A rune is never torn.
func (t skimText) appendTo(dst []byte, size int) []byte {
	b, stop := t.raw, len(dst)+size
	for len(b) > 0 && len(dst) < stop {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			n = len(b)
		}
		if n > 0 {
			// One rune more than wanted at most: enough bytes for the last one to be whole.
			if rest := stop - len(dst) + utf8.UTFMax; n > rest {
				n = rest
				for n > 1 && !utf8.RuneStart(b[n]) {
					n--
				}
			}
			dst = appendValid(dst, b[:n])
			b = b[n:]
			continue
		}
		var r rune
		r, b = unescape(b)
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// decodeValid decodes a text that is UTF-8, of any length, in one pass: it copies words and looks for escapes in them.
// No escape is shorter than what it stands for.
func decodeValid(raw []byte) []byte {
	dst := make([]byte, len(raw)+8)
	n, i := 0, 0
	for i < len(raw) {
		if i+8 <= len(raw) {
			w := binary.LittleEndian.Uint64(raw[i:])
			binary.LittleEndian.PutUint64(dst[n:], w)
			back := w ^ everyByte*'\\'
			m := (back - everyByte) &^ back & highBits
			if m == 0 {
				i, n = i+8, n+8
				continue
			}
			k := bits.TrailingZeros64(m) >> 3
			i, n = i+k, n+k
		} else if raw[i] != '\\' {
			dst[n] = raw[i]
			i, n = i+1, n+1
			continue
		}
		if c := raw[i+1]; c != 'u' {
			dst[n] = shortEscaped[c]
			i, n = i+2, n+1
			continue
		}
		r, rest := unescape(raw[i:])
		n += utf8.EncodeRune(dst[n:], r)
		i = len(raw) - len(rest)
	}
	return dst[:n:n]
}

// shortEscaped is what an escape of two bytes stands for, by its second.
var shortEscaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendValid appends text, every byte that is no UTF-8 as U+FFFD.
func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst, b = utf8.AppendRune(dst, r), b[n:]
	}
	return dst
}

// unescape decodes the escape at the beginning of b, which is a valid one.
func unescape(b []byte) (rune, []byte) {
	switch c := b[1]; c {
	case 'b':
		return '\b', b[2:]
	case 'f':
		return '\f', b[2:]
	case 'n':
		return '\n', b[2:]
	case 'r':
		return '\r', b[2:]
	case 't':
		return '\t', b[2:]
	case 'u':
	default:
		return rune(c), b[2:]
	}
	r, _ := hex4(b[2:])
	b = b[6:]
	if !utf16.IsSurrogate(r) {
		return r, b
	}
	if len(b) >= 6 && b[0] == '\\' && b[1] == 'u' {
		if low, ok := hex4(b[2:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, b[6:]
			}
		}
	}
	return utf8.RuneError, b
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
