package episode

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/stint-bench/stint/logs"
)

// count fills in lines of code and churn against the end of the previous turn. SPEC.md is ours: where the
// agent left it alone it counts as nothing.
func (l *loop) count(d *logs.SnapshotTaken, loc int64) error {
	var err error
	d.LOC = loc
	if d.Added, d.Deleted, err = logs.Churn(l.blobs, l.state.turnBase, d.Tree); err != nil {
		return err
	}
	spec := l.specFile(l.state.turn)
	if b, err := os.ReadFile(filepath.Join(l.box.workspace, specName)); spec == "" || err != nil || string(b) != spec {
		return nil
	}
	d.LOC -= int64(len(nonBlank(spec)))
	added, deleted := lineChanges(l.specFile(l.state.turn-1), spec)
	d.Added, d.Deleted = max(0, d.Added-added), max(0, d.Deleted-deleted)
	return nil
}

// specFile is what SPEC.md holds in a turn; "" before turn 0 and when there is none.
func (l *loop) specFile(turn int) string {
	if turn < 0 {
		return ""
	}
	in := promptInput{step: &l.spec.Scenario.Steps[turn], delivery: l.state.start.Delivery, toolchain: l.spec.Sandbox.SpecSentence()}
	return in.file()
}

func nonBlank(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			out = append(out, strings.TrimRight(line, "\r\n"))
		}
	}
	return out
}

// lineChanges counts added and deleted non-blank lines as logs.Churn does: equal lines cancel out.
func lineChanges(before, after string) (added, deleted int64) {
	n := map[string]int64{}
	for _, line := range nonBlank(before) {
		n[line]--
	}
	for _, line := range nonBlank(after) {
		n[line]++
	}
	for _, k := range n {
		if k > 0 {
			added += k
		} else {
			deleted -= k
		}
	}
	return added, deleted
}

// oneLine makes a text fit for one line of a record: bounded, without control characters.
func oneLine(text string) string {
	const most = 500
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r <= 0x9f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > most {
		cut := most
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.TrimSpace(text)
}
