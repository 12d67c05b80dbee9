package view

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible writes text of a log as HTML. Line breaks and tabs stay; whatever could mislead a reader (control characters,
// characters without width, those that turn the direction of writing, heaps of accents, bytes that are no UTF-8)
// appears as an escape that is told from text by its looks.
func visible(s string) template.HTML { return visibleMarked(s, nil) }

// visibleMarked is visible with some ranges of bytes marked; they are sorted and do not overlap.
func visibleMarked(s string, marks [][2]int) template.HTML {
	w := visibleWriter{}
	w.b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		for len(marks) > 0 && i >= marks[0][1] {
			w.mark(false)
			marks = marks[1:]
		}
		if len(marks) > 0 && i >= marks[0][0] {
			w.mark(true)
		}
		if c := s[i]; c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' {
			w.plain(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch sur, ok := surrogate(s[i:]); {
		case ok:
			w.escape(`\u%04x`, sur)
			n = 3
		case r == utf8.RuneError && n == 1:
			w.escape(`\x%02x`, rune(s[i]))
		case hidden(r) && r < 0x80:
			w.escape(`\x%02x`, r)
		case hidden(r) && r > 0xffff:
			w.escape(`\U%08x`, r)
		case hidden(r) || w.heaped(r):
			w.escape(`\u%04x`, r)
		default:
			w.shut()
			w.b.WriteString(s[i : i+n])
		}
		i += n
	}
	w.mark(false)
	w.shut()
	return template.HTML(w.b.String())
}

type visibleWriter struct {
	b       strings.Builder
	open    bool // within escapes
	marked  bool
	accents int // in a row
}

// accentsAtMost is how many accents a letter may have; Vietnamese and Hebrew need no more than three.
const accentsAtMost = 4

// heaped says whether r is one accent too many.
func (w *visibleWriter) heaped(r rune) bool {
	if !unicode.In(r, unicode.Mn, unicode.Me) {
		w.accents = 0
		return false
	}
	w.accents++
	return w.accents > accentsAtMost
}

func (w *visibleWriter) plain(c byte) {
	w.shut()
	w.accents = 0
	switch c {
	case '<':
		w.b.WriteString("&lt;")
	case '>':
		w.b.WriteString("&gt;")
	case '&':
		w.b.WriteString("&amp;")
	case '"':
		w.b.WriteString("&#34;")
	case '\'':
		w.b.WriteString("&#39;")
	default:
		w.b.WriteByte(c)
	}
}

// escape writes a character that is not to be seen; those in a row share an element.
func (w *visibleWriter) escape(format string, r rune) {
	if !w.open {
		w.b.WriteString(`<i class="esc">`)
		w.open = true
	}
	fmt.Fprintf(&w.b, format, r)
}

func (w *visibleWriter) shut() {
	if w.open {
		w.b.WriteString("</i>")
		w.open = false
	}
}

func (w *visibleWriter) mark(on bool) {
	if w.marked == on {
		return
	}
	w.shut()
	w.marked = on
	if on {
		w.b.WriteString("<mark>")
		return
	}
	w.b.WriteString("</mark>")
}

// surrogate decodes half a pair of UTF-16 in the three bytes that UTF-8 would use for it, if it allowed it.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

// blank are characters that leave no trace and that Unicode does not count among formatting characters: fillers of
// Hangul, the empty Braille pattern, variation selectors beyond the first sixteen, the joiner of graphemes.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x2800, 0x2800, 1}, {0x3164, 0x3164, 1}, {0xffa0, 0xffa0, 1}},
	R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}},
}

// hidden says whether a reader does not see r, or sees what is not there.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, blank)
}
