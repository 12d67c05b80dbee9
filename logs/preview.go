package logs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// PreviewBytes bounds the text of an event. The whole text is where its Place says.
const PreviewBytes = 4 << 10

// preview shortens a text to PreviewBytes. Both ends are kept, since what went wrong mostly stands at
// the end, and what was tried at the beginning.
func preview(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= PreviewBytes {
		return strings.Clone(s)
	}
	const head, tail = PreviewBytes / 2, PreviewBytes/2 - 64
	a, b := head, len(s)-tail
	for !utf8.RuneStart(s[a]) {
		a--
	}
	for !utf8.RuneStart(s[b]) {
		b++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:a], b-a, s[b:])
}

// BeginningBytes bounds the text of an event of a log that stint did not make, unless whole texts were asked for. A
// text that is longer ends in "…". Events of kinds EventModelAnswer and EventUsage, whose text holds the counts as the
// log has them, may have four times as much.
const BeginningBytes = 256

// beginning shortens a text to BeginningBytes.
func beginning(s string) string { return cutTo(s, BeginningBytes) }

// cutTo shortens a text to so many bytes.
func cutTo(s string, most int) string {
	cut := len(s) > most
	if cut {
		n := most - len("…")
		for n > most-len("…")-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		if len(s) > most { // every bad byte has become three
			return cutTo(s, most)
		}
	}
	if !cut {
		return strings.Clone(s)
	}
	return s + "…"
}
