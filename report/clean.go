package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a foreign name safe to print on a terminal: control characters, invisible and bidirectional
// formatting characters, line separators and invalid bytes become visible escapes.
func Clean(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x80 && unsafeRune(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unsafeRune(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafeRune reports whether a terminal or a reader could be misled by r.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// textWidth returns the number of terminal columns s takes: two for wide East Asian characters and emoji, none
// for combining marks.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// wide holds the blocks whose characters take two columns (Unicode Standard Annex 11, classes W and F, by block).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xa960, 0xa97c, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// shorten cuts the middle out of s until it is at most most columns wide.
func shorten(s string, most int) string {
	if textWidth(s) <= most {
		return s
	}
	if most < 3 {
		return "…"
	}
	runes := []rune(s)
	head, tail := most/2, most-1-most/2
	i, j := 0, len(runes)
	for w := 0; i < len(runes); i++ {
		if w += runeWidth(runes[i]); w > head {
			break
		}
	}
	for w := 0; j > i; j-- {
		if w += runeWidth(runes[j-1]); w > tail {
			break
		}
	}
	return string(runes[:i]) + "…" + string(runes[j:])
}

// markdownEscaper escapes what Markdown (and the HTML inside it) would act on.
var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`,
	"#", `\#`, "|", `\|`, "~", `\~`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "$", `\$`,
	"://", "&#58;//", "www.", `www\.`,
)

// escapeMarkdown makes s plain text inside a Markdown paragraph or table cell.
func escapeMarkdown(s string) string {
	return markdownEscaper.Replace(Clean(s))
}
