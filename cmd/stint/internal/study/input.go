package study

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// InputError is a fault of a study file: what is wrong, where, and the way out. Its exit code is 2.
type InputError struct {
	File      string // as the user named it
	Line, Col int    // from 1; 0 when the fault belongs to the file as a whole
	Message   string // one sentence without a final stop
	Snippet   string // the source line and a caret below it; "" when Line is 0
	Advice    string // the way out; "" if the message says it
}

// Error gives place and message, followed by the source line with its caret.
func (e *InputError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	b.WriteString(": " + e.Message)
	if e.Snippet != "" {
		b.WriteString("\n" + e.Snippet)
	}
	return b.String()
}

// Hint returns the way out.
func (e *InputError) Hint() string { return e.Advice }

// ExitCode returns 2: usage, study file or input.
func (e *InputError) ExitCode() int { return 2 }

// source is a study file under examination.
type source struct {
	file  string
	lines []string
}

func newSource(file string, b []byte) *source {
	return &source{file: file, lines: strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")}
}

// errorAt makes an InputError for a place of the file.
func (s *source) errorAt(p place, advice, format string, args ...any) *InputError {
	return &InputError{
		File: s.file, Line: p.line, Col: p.col,
		Message: printable(fmt.Sprintf(format, args...)), Snippet: s.snippet(p), Advice: advice,
	}
}

// The snippet shows at most this many characters before and after the caret: a study may have long flow lines.
const (
	snippetBefore = 60
	snippetAfter  = 40
)

// snippet renders the line of a place and a caret below its column.
func (s *source) snippet(p place) string {
	if p.line < 1 || p.line > len(s.lines) {
		return ""
	}
	line := []rune(printable(s.lines[p.line-1]))
	col := min(max(p.col-1, 0), len(line))
	start, before := max(0, col-snippetBefore), ""
	if start > 0 {
		before = "…"
	}
	end, after := min(len(line), col+snippetAfter), ""
	if end < len(line) {
		after = "…"
	}
	gutter := fmt.Sprintf("%5d | ", p.line)
	return gutter + before + string(line[start:end]) + after + "\n" +
		strings.Repeat(" ", len(gutter)-2) + "| " + strings.Repeat(" ", col-start+utf8.RuneCountInString(before)) + "^"
}

// printable replaces control characters, which a terminal would obey, by spaces.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}

// nearest returns the candidate closest to word by edit distance, or "" if none is close enough to be meant.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", min(3, max(2, (utf8.RuneCountInString(word)+1)/2))+1
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	prev2, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(y)]
}

// DidYouMean phrases the advice for an unknown word: the candidate that was meant, if one is near, and all of them.
func DidYouMean(word string, candidates []string, what string) string {
	all := slices.Clone(candidates)
	if n := nearest(word, all); n != "" {
		return fmt.Sprintf("did you mean %q? %s: %s", n, what, strings.Join(all, ", "))
	}
	return fmt.Sprintf("%s: %s", what, strings.Join(all, ", "))
}
