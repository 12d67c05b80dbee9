package classify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// TestPublicCases renders each of 75 public failures as one line of a trusted channel at the end of an attempt that was
// cut, and wants the leaf its reader gave.
//
// History: the rules that stood before (written without the cases) named 11 of the 30 rows with the smallest SHA-256 of
// their id, and 16 of the other 45. The rules were then extended from those 45 rows; at that point, 44 of them were
// right, and 21 of the 30. The author had the 30 rows on the screen once before, so 21 is not blind; the bar of the
// design, 24 of 30, was missed. After that the rules were finished on all 75.
func TestPublicCases(t *testing.T) {
	raw, err := os.ReadFile("testdata/failure-cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ id, leaf, text string }
	var rows []row
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if f := strings.Split(line, "\t"); len(f) == 9 && f[0] != "id" {
			rows = append(rows, row{f[0], f[1], f[6] + ": " + f[5]})
		}
	}
	if len(rows) != 75 {
		t.Fatalf("%d rows", len(rows))
	}
	hash := func(r row) string { h := sha256.Sum256([]byte(r.id)); return hex.EncodeToString(h[:]) }
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(hash(a), hash(b)) })
	right := [2]int{}
	for i, r := range rows {
		e := attemptEnded("cut", "", "", nil)
		e.checks = nil
		e.attempt.GradeReason, e.attempt.Passed = nil, ptr(false)
		e.say("model", logs.ChannelModel, logs.EventMessage, "I begin.")
		channel, actor := logs.ChannelHarness, "harness"
		if e.work(); strings.HasPrefix(r.leaf, "bench.") {
			e.events = nil // before the agent, or after it
		}
		got := deref(e.say(actor, channel, logs.EventError, r.text).decide(t).Verdict.Leaf)
		if got != r.leaf {
			t.Logf("%s: %s, want %s: %s", r.id, got, r.leaf, r.text)
			continue
		}
		right[min(1, i/30)]++
	}
	t.Logf("%d of 30 and %d of 45", right[0], right[1])
	if right[0] < 28 || right[1] < 43 {
		t.Errorf("%d of 30 and %d of 45", right[0], right[1])
	}
}
