package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRanks: a is ahead of all others in every scenario, so no resample moves it; b and c change places in half of the
// scenarios and share the mean; d is last everywhere. With 8 scenarios a perfect record is significant among 6 pairs
// (6/128), b and c are one group.
func TestRanks(t *testing.T) {
	set := newSet(50)
	for i := range 8 {
		s := fmt.Sprint("s", i)
		addRun(set, "a", s, 1, float64(30+i), "", "")
		addRun(set, "b", s, 1, float64(10+i%2), "", "")
		addRun(set, "c", s, 1, float64(11-i%2), "", "")
		addRun(set, "d", s, 1, float64(i%3), "", "")
	}
	c := mustCompare(t, set, CompareOptions{})
	want := map[string]string{"a": "1 [1 1]", "b": "2.5 [2 3]", "c": "2.5 [2 3]", "d": "4 [4 4]"}
	for name, w := range want {
		r := c.Config(name)
		if r.Rank == nil || r.RankCI == nil || fmt.Sprint(*r.Rank, *r.RankCI) != w {
			t.Errorf("%s: rank %v %v, want %s", name, r.Rank, r.RankCI, w)
		}
	}
	groups := []RankGroup{{"a", []string{"a"}, true}, {"b", []string{"b", "c"}, true}, {"c", []string{"d"}, true}}
	if d := cmp.Diff(groups, c.Families[0].Groups); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
	var b bytes.Buffer
	if err := c.markdownBody(&b, true); err != nil {
		t.Fatal(err)
	}
	if row := "| b | 2.5 | 2–3 | b |"; !strings.Contains(b.String(), row) {
		t.Errorf("%q is not in\n%s", row, &b)
	}
	if c = mustCompare(t, set, CompareOptions{Baseline: "d"}); c.Families[0].Groups != nil || c.Config("a").Rank == nil {
		t.Errorf("against a baseline: groups %v", c.Families[0].Groups)
	}
	// Without a common scenario there is no rank, and that is said.
	for i := range set.Rows {
		if row := &set.Rows[i]; row.Config == "d" {
			row.Scenario += "x"
		}
	}
	c = mustCompare(t, set, CompareOptions{})
	if c.Config("a").Rank != nil || !strings.Contains(fmt.Sprint(c.Warnings), "the rank is undefined: all configurations share 0 scenarios") {
		t.Errorf("ranks over nothing: %v, %v", c.Config("a").Rank, c.Warnings)
	}
	if _, ok := c.rankTable(); ok {
		t.Error("a table without ranks")
	}
}
