package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A diffLine is a line of a comparison: ' ' is in both texts, '-' in the old one, '+' in the new one.
type diffLine struct {
	Op       byte
	Old, New int // numbers from 1; 0 = not there
	Text     string
	Changed  [2]int // bytes that the line it was paired with does not have
}

// A hunk is a run of changed lines with what stands around them.
type hunk struct{ Lines []diffLine }

// aroundHunk is how many unchanged lines are shown around changed ones.
const aroundHunk = 3

// splitLines splits a text at its line breaks. whole says whether the last line ends in one.
func splitLines(text string) (lines []string, whole bool) {
	if text == "" {
		return nil, true
	}
	if text, whole = strings.CutSuffix(text, "\n"); whole {
		return strings.Split(text, "\n"), true
	}
	return strings.Split(text, "\n"), false
}

// compareLines compares two texts line by line.
func compareLines(before, after []string) []diffLine {
	number := map[string]int{}
	name := func(lines []string) []int {
		out := make([]int, len(lines))
		for i, l := range lines {
			n, ok := number[l]
			if !ok {
				n = len(number)
				number[l] = n
			}
			out[i] = n
		}
		return out
	}
	a, b := name(before), name(after)
	m := lineMatcher{a: a, b: b}
	m.between(0, len(a), 0, len(b), 0)
	out := make([]diffLine, 0, max(len(a), len(b)))
	i, j := 0, 0
	flush := func(toOld, toNew int) {
		from := len(out)
		for ; i < toOld; i++ {
			out = append(out, diffLine{Op: '-', Old: i + 1, Text: before[i]})
		}
		mid := len(out)
		for ; j < toNew; j++ {
			out = append(out, diffLine{Op: '+', New: j + 1, Text: after[j]})
		}
		pairLines(out[from:mid], out[mid:])
	}
	for _, p := range m.pairs {
		flush(p[0], p[1])
		out = append(out, diffLine{Op: ' ', Old: i + 1, New: j + 1, Text: before[i]})
		i, j = i+1, j+1
	}
	flush(len(a), len(b))
	return out
}

// hunksOf leaves out unchanged lines that are far from changed ones.
func hunksOf(lines []diffLine) []hunk {
	var out []hunk
	last := -1 // the last line that stands in a hunk
	for i := 0; i < len(lines); i++ {
		if lines[i].Op == ' ' {
			continue
		}
		from := max(i-aroundHunk, last+1)
		if len(out) == 0 || from > last+1 {
			out = append(out, hunk{})
		}
		end := i
		for end < len(lines) && lines[end].Op != ' ' {
			end++
		}
		to := min(end+aroundHunk, len(lines))
		h := &out[len(out)-1]
		h.Lines = append(h.Lines, lines[from:to]...)
		last, i = to-1, end-1
	}
	return mergeHunks(out)
}

// mergeHunks joins hunks between which no line is left out.
func mergeHunks(hunks []hunk) []hunk {
	var out []hunk
	for _, h := range hunks {
		if n := len(out); n > 0 {
			a, b := out[n-1].Lines[len(out[n-1].Lines)-1], h.Lines[0]
			if a.Op == ' ' && b.Op == ' ' && a.Old+1 == b.Old {
				out[n-1].Lines = append(out[n-1].Lines, h.Lines...)
				continue
			}
		}
		out = append(out, h)
	}
	return out
}

// pairLines finds what changed within lines if as many were replaced as came.
func pairLines(old, now []diffLine) {
	if len(old) != len(now) {
		return
	}
	for i := range old {
		a, b := old[i].Text, now[i].Text
		from := 0
		for from < len(a) && from < len(b) && a[from] == b[from] {
			from++
		}
		for from > 0 && (from < len(a) && !utf8.RuneStart(a[from]) || from < len(b) && !utf8.RuneStart(b[from])) {
			from--
		}
		tail := 0
		for tail < len(a)-from && tail < len(b)-from && a[len(a)-1-tail] == b[len(b)-1-tail] {
			tail++
		}
		for tail > 0 && !utf8.RuneStart(a[len(a)-tail]) {
			tail--
		}
		if 4*(from+tail) < max(len(a), len(b)) {
			continue // they have too little in common to be one line
		}
		old[i].Changed, now[i].Changed = [2]int{from, len(a) - tail}, [2]int{from, len(b) - tail}
	}
}

// lineMatcher finds the lines that two texts share, as numbers: first those that stand once in either, in order, as anchors
// (Bram Cohen's patience diff), then a shortest edit script between them (Myers, "An O(ND) difference algorithm", 1986).
// Where the texts are too far apart, the lines between anchors count as replaced.
type lineMatcher struct {
	a, b  []int
	pairs [][2]int // increasing
}

const (
	farthest   = 400 // edits that are looked for between two anchors
	anchorsMax = 50  // anchors within anchors
)

func (m *lineMatcher) between(a0, a1, b0, b1, depth int) {
	for a0 < a1 && b0 < b1 && m.a[a0] == m.b[b0] {
		m.pairs = append(m.pairs, [2]int{a0, b0})
		a0, b0 = a0+1, b0+1
	}
	same := 0
	for a0 < a1-same && b0 < b1-same && m.a[a1-1-same] == m.b[b1-1-same] {
		same++
	}
	a1, b1 = a1-same, b1-same
	if a0 < a1 && b0 < b1 {
		anchors := m.anchors(a0, a1, b0, b1)
		if len(anchors) == 0 || depth >= anchorsMax {
			m.shortest(a0, a1, b0, b1)
		} else {
			i, j := a0, b0
			for _, p := range anchors {
				m.between(i, p[0], j, p[1], depth+1)
				m.pairs = append(m.pairs, p)
				i, j = p[0]+1, p[1]+1
			}
			m.between(i, a1, j, b1, depth+1)
		}
	}
	for k := range same {
		m.pairs = append(m.pairs, [2]int{a1 + k, b1 + k})
	}
}

// anchors are the lines that stand once in either stretch, as many as are in the same order in both.
func (m *lineMatcher) anchors(a0, a1, b0, b1 int) [][2]int {
	type place struct{ count, a, b int }
	seen := map[int]*place{}
	for i := a0; i < a1; i++ {
		p := seen[m.a[i]]
		if p == nil {
			p = &place{b: -1}
			seen[m.a[i]] = p
		}
		p.count, p.a = p.count+1, i
	}
	for j := b0; j < b1; j++ {
		if p := seen[m.b[j]]; p != nil {
			if p.b >= 0 {
				p.count = 2
			}
			p.b = j
		}
	}
	var once [][2]int
	for i := a0; i < a1; i++ {
		if p := seen[m.a[i]]; p.count == 1 && p.b >= 0 {
			once = append(once, [2]int{p.a, p.b})
		}
	}
	return longestRising(once)
}

// longestRising is the longest part of the pairs, which rise on the left, that rises on the right too.
func longestRising(pairs [][2]int) [][2]int {
	var ends []int // index of the pair that ends the best run of each length
	back := make([]int, len(pairs))
	for i, p := range pairs {
		at, _ := slices.BinarySearchFunc(ends, p[1], func(e, b int) int { return pairs[e][1] - b })
		back[i] = -1
		if at > 0 {
			back[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	out := make([][2]int, len(ends))
	if len(ends) == 0 {
		return out
	}
	for k, i := len(ends)-1, ends[len(ends)-1]; k >= 0; k, i = k-1, back[i] {
		out[k] = pairs[i]
	}
	return out
}

// shortest appends the pairs of a shortest edit script, unless it is too long.
func (m *lineMatcher) shortest(a0, a1, b0, b1 int) {
	n, k := a1-a0, b1-b0
	most := min(n+k, farthest)
	var trace [][]int32
	reach := make([]int32, 2*most+3) // of each diagonal, from -most-1
	zero := most + 1
	for d := 0; d <= most; d++ {
		for diag := -d; diag <= d; diag += 2 {
			x := reach[zero+diag-1] + 1
			if diag == -d || diag != d && reach[zero+diag-1] < reach[zero+diag+1] {
				x = reach[zero+diag+1]
			}
			y := x - int32(diag)
			for int(x) < n && int(y) < k && y >= 0 && m.a[a0+int(x)] == m.b[b0+int(y)] {
				x, y = x+1, y+1
			}
			reach[zero+diag] = x
			if int(x) >= n && int(y) >= k {
				m.follow(trace, d, diag, int(x), a0, b0)
				return
			}
		}
		trace = append(trace, slices.Clone(reach[zero-d:zero+d+1]))
	}
}

// follow goes an edit script back and appends the pairs on its way.
func (m *lineMatcher) follow(trace [][]int32, d, diag, x, a0, b0 int) {
	var back [][2]int
	for ; d >= 0; d-- {
		start, from := 0, 0
		if d > 0 {
			at := func(diag int) int { // of the step before
				if diag < -(d-1) || diag > d-1 {
					return -1
				}
				return int(trace[d-1][diag+d-1])
			}
			left, right := at(diag-1), at(diag+1)
			if diag == -d || diag != d && left < right {
				start, from = right, diag+1
			} else {
				start, from = left+1, diag-1
			}
		}
		for ; x > start; x-- {
			back = append(back, [2]int{a0 + x - 1, b0 + x - 1 - diag})
		}
		x = start
		if d > 0 && from < diag {
			x--
		}
		diag = from
	}
	slices.Reverse(back)
	m.pairs = append(m.pairs, back...)
}
