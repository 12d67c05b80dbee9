package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForestGroups: what a family compares stands together, the group with the highest mean first.
func TestForestGroups(t *testing.T) {
	set := newSet(50)
	for i, mean := range map[string]float64{"m1+h1/detailed/r2": 10, "m1+h2/detailed/r2": 40, "m2+h1/detailed/r2": 20, "m2+h2/detailed/r2": 30, "m3+h1/detailed/r2": 45} {
		addRuns(set, i, 0, mean, mean+1, mean-1)
	}
	f := forest{c: mustCompare(t, set, CompareOptions{Episodes: true, By: []string{"harness"}, Within: []string{"model"}})}
	f.arrange()
	var got []string
	for i, r := range f.rows {
		for _, g := range f.groups {
			if g.from == i {
				got = append(got, "("+g.head+")")
			}
		}
		got = append(got, f.c.Short(r.Config))
	}
	want := []string{"(m1)", "m1+h2", "m1+h1", "(m2)", "m2+h2", "m2+h1", "(in no pair of this family)", "m3+h1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	f = forest{c: mustCompare(t, set, CompareOptions{Episodes: true})}
	if f.arrange(); len(f.groups) != 0 || f.c.Short(f.rows[0].Config) != "m3+h1" {
		t.Errorf("all pairs make groups: %v, first %s", f.groups, f.rows[0].Config)
	}
}

// TestGroupedFiguresFit holds the fit for what the other sets do not have: groups with long names, a thousand
// scenarios, and many leaves.
func TestGroupedFiguresFit(t *testing.T) {
	set := studied(9, 7, 2, 101)
	for i := range set.Rows {
		set.Rows[i].Config = strings.Repeat("very-long-", 12) + set.Rows[i].Config
		set.Rows[i].EndLeaf = fmt.Sprintf("%s.leaf_number_%d", set.Rows[i].EndL1, i%11)
	}
	draw := func(name string, c *Comparison) {
		figures, err := drawAll(c)
		if err != nil {
			t.Fatal(err)
		}
		checkFit(t, name, figures)
	}
	draw("grouped", mustCompare(t, set, CompareOptions{Episodes: true, By: []string{"harness"}, Within: []string{"model"}}))
	draw("thousand", mustCompare(t, synthetic(2, 1000, 1, 101), CompareOptions{Episodes: true}))
}
