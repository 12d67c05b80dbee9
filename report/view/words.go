package view

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks bounds how many places are marked in one text.
const maxMarks = 200

// findWords finds words in a text, whatever their case: at most so many places, from left to right.
func findWords(text, words string, most int) (found [][2]int) {
	if words == "" {
		return nil
	}
	if isASCII(words) {
		low, w := lowerASCII(text), lowerASCII(words)
		for at := 0; len(found) < most; {
			i := strings.Index(low[at:], w)
			if i < 0 {
				break
			}
			found = append(found, [2]int{at + i, at + i + len(w)})
			at += i + len(w)
		}
		return found
	}
	want := []rune(words)
	for i := range want {
		want[i] = unicode.ToLower(want[i])
	}
	for i := 0; i < len(text) && len(found) < most; {
		if n := beginsWith(text[i:], want); n > 0 {
			found = append(found, [2]int{i, i + n})
			i += n
			continue
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		i += n
	}
	return found
}

// beginsWith gives the bytes of a text that are some lower-case letters, whatever their case; 0 if it begins otherwise.
func beginsWith(text string, want []rune) int {
	at := 0
	for _, w := range want {
		r, n := utf8.DecodeRuneInString(text[at:])
		if n == 0 || unicode.ToLower(r) != w {
			return 0
		}
		at += n
	}
	return at
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// lowerASCII lowers the letters A to Z and keeps every other byte where it is.
func lowerASCII(s string) string {
	i := 0
	for i < len(s) && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		if b[i] >= 'A' && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}
