package view

import (
	"strings"
	"unicode"

	"github.com/stint-bench/stint/report"
)

// A span is a piece of text, marked if the other side does not have it there.
type span struct {
	Text   string
	Marked bool
}

// maxWords bounds the words of which differences are looked for one by one; beyond, all between the equal ends is marked.
const maxWords = 600

// difference marks what two texts do not share, word by word.
func difference(a, b string) (x, y []span) {
	s, t := words(a), words(b)
	head := 0
	for head < len(s) && head < len(t) && s[head] == t[head] {
		head++
	}
	tail := 0
	for tail < len(s)-head && tail < len(t)-head && s[len(s)-1-tail] == t[len(t)-1-tail] {
		tail++
	}
	mid, other := s[head:len(s)-tail], t[head:len(t)-tail]
	keep, kept := make([]bool, len(mid)), make([]bool, len(other))
	if len(mid) <= maxWords && len(other) <= maxWords {
		common(mid, other, keep, kept)
	}
	return spans(s, head, keep), spans(t, head, kept)
}

// words cuts a text into words, runs of blanks, and single signs.
func words(s string) []string {
	var out []string
	class := func(r rune) int {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	begin, last := 0, -1
	for i, r := range s {
		c := class(r)
		if i > begin && (c == 0 || c != last) {
			out = append(out, s[begin:i])
			begin = i
		}
		last = c
	}
	if begin < len(s) {
		out = append(out, s[begin:])
	}
	return out
}

// common finds a longest common subsequence and notes which words are part of it.
func common(a, b []string, keepA, keepB []bool) {
	length := make([][]int16, len(a)+1)
	for i := range length {
		length[i] = make([]int16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			keepA[i], keepB[j] = true, true
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// spans joins words to pieces; those from head on are marked unless they are kept.
func spans(words []string, head int, keep []bool) []span {
	var out []span
	var b strings.Builder
	marked := false
	flush := func() {
		if b.Len() > 0 {
			out = append(out, span{report.Clean(b.String()), marked})
			b.Reset()
		}
	}
	differs := func(i int) bool { return i >= head && i < head+len(keep) && !keep[i-head] }
	for i, w := range words {
		m := differs(i) || differs(i-1) && differs(i+1) && strings.TrimSpace(w) == "" // a blank between two marks
		if m != marked {
			flush()
			marked = m
		}
		b.WriteString(w)
	}
	flush()
	return out
}
