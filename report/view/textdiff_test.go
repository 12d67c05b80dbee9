package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// applied rebuilds both texts from a comparison.
func applied(lines []diffLine) (before, after []string) {
	for _, l := range lines {
		if l.Op != '+' {
			before = append(before, l.Text)
		}
		if l.Op != '-' {
			after = append(after, l.Text)
		}
	}
	return before, after
}

func drawnDiff(before, after string) string {
	a, _ := splitLines(before)
	b, _ := splitLines(after)
	var out strings.Builder
	for i, h := range hunksOf(compareLines(a, b)) {
		if i > 0 {
			out.WriteString("…\n")
		}
		for _, l := range h.Lines {
			fmt.Fprintf(&out, "%c%d,%d %s\n", l.Op, l.Old, l.New, l.Text)
		}
	}
	return out.String()
}

func TestCompareLines(t *testing.T) {
	var long []string
	for i := range 30 {
		long = append(long, fmt.Sprintf("line %d", i+1))
	}
	changed := append([]string{}, long...)
	changed[4], changed[24] = "fifth", "line 25!"
	for _, c := range []struct{ name, before, after, want string }{
		{"same", "a\nb\n", "a\nb\n", ""},
		{"new", "", "a\nb\n", "+0,1 a\n+0,2 b\n"},
		{"gone", "a\nb", "", "-1,0 a\n-2,0 b\n"},
		{"replaced", "a\nb\nc\n", "a\nx\nc\n", " 1,1 a\n-2,0 b\n+0,2 x\n 3,3 c\n"},
		{"moved", "f\ng\nh\n", "g\nh\nf\n", "-1,0 f\n 2,1 g\n 3,2 h\n+0,3 f\n"},
		{"a function before another like it", "f {\n}\n", "f {\n}\n\ng {\n}\n", " 1,1 f {\n 2,2 }\n+0,3 \n+0,4 g {\n+0,5 }\n"},
		{"two hunks", strings.Join(long, "\n"), strings.Join(changed, "\n"),
			" 2,2 line 2\n 3,3 line 3\n 4,4 line 4\n-5,0 line 5\n+0,5 fifth\n 6,6 line 6\n 7,7 line 7\n 8,8 line 8\n…\n 22,22 line 22\n 23,23 line 23\n 24,24 line 24\n-25,0 line 25\n+0,25 line 25!\n 26,26 line 26\n 27,27 line 27\n 28,28 line 28\n"},
		{"hunks that touch", "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", "-1,0 a\n+0,1 A\n 2,2 1\n 3,3 2\n 4,4 3\n 5,5 4\n 6,6 5\n 7,7 6\n-8,0 b\n+0,8 B\n"},
	} {
		if d := cmp.Diff(c.want, drawnDiff(c.before, c.after)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestCompareLinesHolds compares random texts of few different lines: what comes out holds both texts, and is as short
// as a textbook longest common subsequence says, within what anchors cost.
func TestCompareLinesHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var a, b []string
		letters := 2 + r.IntN(12)
		for range r.IntN(30) {
			a = append(a, string(rune('a'+r.IntN(letters))))
		}
		for range r.IntN(30) {
			b = append(b, string(rune('a'+r.IntN(letters))))
		}
		lines := compareLines(a, b)
		before, after := applied(lines)
		if strings.Join(before, "") != strings.Join(a, "") || strings.Join(after, "") != strings.Join(b, "") {
			t.Fatalf("%v and %v became %v and %v", a, b, before, after)
		}
		m := lineMatcher{}
		number := func(s []string) (out []int) {
			for _, l := range s {
				out = append(out, int(l[0]))
			}
			return out
		}
		m.a, m.b = number(a), number(b)
		m.shortest(0, len(a), 0, len(b))
		if want := longestCommon(a, b); len(m.pairs) != want {
			t.Fatalf("%v and %v: %d lines in common, want %d", a, b, len(m.pairs), want)
		}
	}
}

// longestCommon is the length of the longest common subsequence, by the table of the textbook.
func longestCommon(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			}
		}
	}
	return table[len(a)][len(b)]
}

func TestCompareLinesOfHostileTexts(t *testing.T) {
	var a, b []string
	for i := range 20_000 {
		a = append(a, fmt.Sprint(i%7))
		b = append(b, fmt.Sprint(i*i%11))
	}
	start := time.Now()
	before, after := applied(compareLines(a, b))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("two texts of 20,000 lines with nothing in common took %v", took)
	}
	if len(before) != len(a) || len(after) != len(b) {
		t.Errorf("%d and %d lines came of %d and %d", len(before), len(after), len(a), len(b))
	}
}

func TestPairLines(t *testing.T) {
	lines := compareLines([]string{"return päck(a)", "zzz"}, []string{"return pück(b)", "y"})
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%c%s|%s", l.Op, l.Text, l.Text[l.Changed[0]:l.Changed[1]]))
	}
	want := []string{"-return päck(a)|äck(a", "-zzz|", "+return pück(b)|ück(b", "+y|"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
