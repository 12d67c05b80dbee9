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

// publicCase is one public report of a failed agent, with the leaf that its reader gave it.
type publicCase struct{ id, leaf, text string }

// readCases reads a file of public failures, in the order of the SHA-256 of their ids.
func readCases(t *testing.T, name string, n int) []publicCase {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []publicCase
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if f := strings.Split(line, "\t"); len(f) == 9 && f[0] != "id" {
			rows = append(rows, publicCase{f[0], f[1], f[6] + ": " + f[5]})
		}
	}
	if len(rows) != n {
		t.Fatalf("%d rows in %s, want %d", len(rows), name, n)
	}
	hash := func(r publicCase) string { h := sha256.Sum256([]byte(r.id)); return hex.EncodeToString(h[:]) }
	slices.SortFunc(rows, func(a, b publicCase) int { return cmp.Compare(hash(a), hash(b)) })
	return rows
}

// named is the leaf that the rules give to a case: one line of a trusted channel at the end of an attempt that was cut.
func (r publicCase) named(t *testing.T) string {
	e := attemptEnded("cut", "", "", nil)
	e.checks = nil
	e.attempt.GradeReason, e.attempt.Passed = nil, ptr(false)
	e.say("model", logs.ChannelModel, logs.EventMessage, "I begin.")
	if e.work(); strings.HasPrefix(r.leaf, "bench.") {
		e.events = nil // before the agent, or after it
	}
	return deref(e.say("harness", logs.ChannelHarness, logs.EventError, r.text).decide(t).Verdict.Leaf)
}

// score counts the cases whose leaf is named: of the 30 with the smallest hash, and of the rest; and those that get
// another leaf, where the others are left open.
func score(t *testing.T, rows []publicCase) (right, wrong [2]int) {
	t.Helper()
	for i, r := range rows {
		part := min(1, i/30)
		switch got := r.named(t); {
		case got == r.leaf:
			right[part]++
		default:
			if got != LeafInsufficient {
				wrong[part]++
			}
			if part == 1 || os.Getenv("STINT_SHOW_SET_ASIDE") != "" {
				t.Logf("%s: %s, want %s: %s", r.id, got, r.leaf, r.text)
			}
		}
	}
	t.Logf("right %d of 30 and %d of %d; another leaf %d and %d", right[0], right[1], len(rows)-30, wrong[0], wrong[1])
	return right, wrong
}

// TestPublicCases wants the leaf that the reader of a public failure gave it.
//
// History: the rules that stood before (written without the cases) named 11 of the 30 rows with the smallest SHA-256 of
// their id, and 16 of the other 45. The rules were then extended from those 45 rows; at that point, 44 of them were
// right, and 21 of the 30. The author had the 30 rows on the screen once before, so 21 is not blind; the bar of the
// design, 24 of 30, was missed. After that the rules were finished on all 75.
func TestPublicCases(t *testing.T) {
	if right, _ := score(t, readCases(t, "testdata/failure-cases.tsv", 75)); right[0] < 28 || right[1] < 43 {
		t.Errorf("%d of 30 and %d of 45", right[0], right[1])
	}
}

// TestFreshCases repeats it on 73 further failures, which were collected and labelled while the rules above stood.
//
// History: those rules named the leaf of 8 of the 30 rows with the smallest SHA-256 of their id and of 10 of the other 43,
// gave another leaf to one of each part, and left the rest open: 18 of 73 blind. The rules were then extended from the 43 (41
// of them right); at that point 24 of the 30 were right, no other leaf was given, and three of the 30 had been on the screen.
// After that the rules were finished on all 73. The two that are left say nothing that a rule should hold on to.
func TestFreshCases(t *testing.T) {
	if right, wrong := score(t, readCases(t, "testdata/failure-cases-2.tsv", 73)); right[0] < 29 || right[1] < 42 || wrong != [2]int{} {
		t.Errorf("%d of 30 and %d of 43; another leaf %v", right[0], right[1], wrong)
	}
}

// TestBlindCases holds the score of the rules on 52 failures that were collected and labelled by a reader who had not read the
// rules, after these were finished on the 148 above. No rule was written from them.
//
// The result: the leaf of 6 of the 30 rows with the smallest SHA-256 of their id and of 6 of the other 22, another leaf for one
// (a compaction that a usage limit ended, called rate_limit), and 39 left open. The bar of the design, 24 of 30, is missed: the
// rules name what they have seen the wording of, and abstain on the rest.
func TestBlindCases(t *testing.T) {
	right, wrong := score(t, readCases(t, "testdata/failure-cases-3.tsv", 52))
	if right[0] < 6 || right[1] < 6 || wrong[0] > 0 || wrong[1] > 1 {
		t.Errorf("%d of 30 and %d of 22; another leaf %v", right[0], right[1], wrong)
	}
}
