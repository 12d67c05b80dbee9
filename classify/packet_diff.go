package classify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// hunk is a run of changed lines of one file with what stands around it.
type hunk struct {
	path  string
	at    int // line
	text  string
	score int
}

const hunkContext = 2

// maxTable bounds the work of comparing two runs of lines.
const maxTable = 1 << 20

// hunksOf compares two texts line by line.
func hunksOf(path string, before, after []byte) []hunk {
	a, z := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(z) && a[head] == z[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(z)-head && a[len(a)-1-tail] == z[len(z)-1-tail] {
		tail++
	}
	ops := compareLines(a[head:len(a)-tail], z[head:len(z)-tail])
	var lines []string
	for _, l := range a[max(0, head-hunkContext):head] {
		lines = append(lines, " "+l)
	}
	var out []hunk
	at, since := head+1, max(1, head-hunkContext+1)
	equal, changed := 0, false
	flush := func() {
		if changed {
			out = append(out, hunk{path: path, at: since, text: fmt.Sprintf("%s line %d\n%s", path, since, strings.Join(lines, "\n"))})
		}
		lines, changed, equal = nil, false, 0
	}
	for _, op := range ops {
		if op[0] == ' ' {
			at++
			if equal++; changed && equal > 2*hunkContext {
				lines = lines[:len(lines)-hunkContext]
				flush()
				since = at - 1
			}
			if !changed && len(lines) >= hunkContext {
				lines = lines[len(lines)-hunkContext+1:]
				since = at - hunkContext
			}
			lines = append(lines, op)
			continue
		}
		if op[0] == '+' {
			at++
		}
		equal, changed = 0, true
		lines = append(lines, op)
	}
	for _, l := range a[len(a)-tail : min(len(a), len(a)-tail+hunkContext)] {
		lines = append(lines, " "+l)
	}
	flush()
	return out
}

func splitLines(p []byte) []string {
	s := strings.TrimSuffix(strings.ReplaceAll(string(p), "\r\n", "\n"), "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// compareLines gives the lines with ' ', '-' or '+' before them. Runs that are too long to compare are replaced whole.
func compareLines(a, z []string) []string {
	var out []string
	if len(a)*len(z) > maxTable {
		for _, l := range a {
			out = append(out, "-"+l)
		}
		for _, l := range z {
			out = append(out, "+"+l)
		}
		return out
	}
	width := len(z) + 1
	longest := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(z) - 1; j >= 0; j-- {
			if a[i] == z[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(z) {
		switch {
		case i < len(a) && j < len(z) && a[i] == z[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case j == len(z) || i < len(a) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+z[j])
			j++
		}
	}
	return out
}

var nameWord = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{2,}`)

// diff shows what the turn changed: hunks that share names with the failing checks come first.
func (b *builder) diff() {
	names := map[string]bool{}
	for _, it := range b.packet.Items {
		if it.check != nil {
			for _, w := range nameWord.FindAllString(it.check.Request+" "+it.check.Expected+" "+it.check.Actual, 200) {
				names[strings.ToLower(w)] = true
			}
		}
	}
	var list []hunk
	for _, f := range b.files {
		list = append(list, hunksOf(f.Path, f.Before, f.After)...)
	}
	for i := range list {
		seen := map[string]bool{}
		for _, w := range nameWord.FindAllString(list[i].text[:min(len(list[i].text), 16<<10)], 2000) {
			if w = strings.ToLower(w); names[w] && !seen[w] {
				seen[w] = true
				list[i].score++
			}
		}
	}
	slices.SortStableFunc(list, func(x, y hunk) int { return y.score - x.score })
	b.omitted[b.section] += b.others
	share := max(b.left/3, 150)
	for i, h := range list {
		b.add(&Item{ID: fmt.Sprintf("d%d", i+1), Kind: kindDiff, Channel: "workspace"}, h.text, share)
	}
}
