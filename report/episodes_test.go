package report

import (
	"strconv"
	"strings"
	"testing"
)

// matches says whether a run with these keys is one that a link names, as the page's script decides it.
func (l *linkView) matches(keys string) bool {
	have := make(map[string]bool)
	for _, k := range strings.Fields(keys) {
		have[k] = true
	}
	for _, group := range strings.Fields(l.Keys) {
		any := false
		for _, k := range strings.Split(group, "|") {
			any = any || have[k]
		}
		if !any {
			return false
		}
	}
	return true
}

// TestNumbersLeadToTheirRuns: every number of a table that stands for runs leads to as many as it says.
func TestNumbersLeadToTheirRuns(t *testing.T) {
	set := judged(harnesses(true))
	set.Rows[4].EndLeaf = "drift.<b> \"x|y\" é"
	money, tables := billed()
	for name, in := range map[string]Input{
		"harnesses": {Comparison: mustCompare(t, set, CompareOptions{Episodes: true, Families: declared()})},
		"beside":    {Comparison: mustCompare(t, judged(harnesses(true)), CompareOptions{Episodes: true}), With: &OtherStudy{Study: "o", Comparison: mustCompare(t, harnesses(false), CompareOptions{Episodes: true})}},
		"billed":    {Comparison: mustCompare(t, money, CompareOptions{Episodes: true}), Tables: tables},
	} {
		rep, figures, err := newReport(in)
		if err != nil {
			t.Fatal(err)
		}
		v := rep.view(in, figures)
		var tablesOf []*tableView
		var runs *tableView
		for _, s := range v.Sections {
			for _, p := range s.Parts {
				if p.Table != nil {
					tablesOf = append(tablesOf, p.Table)
					runs = p.Table // the last one
				}
			}
		}
		if runs.Name != "episodes" || len(runs.Rows) == 0 {
			t.Fatalf("%s: the last table is %s", name, runs.Name)
		}
		anchors := make(map[string]bool)
		for _, r := range runs.Rows {
			anchors["#"+r.ID], anchors["#"+r.First] = true, true
		}
		linked := 0
		check := func(what, text string, l *linkView) {
			linked++
			n := 0
			for _, r := range runs.Rows {
				if l.matches(r.Keys) {
					n++
				}
			}
			first, _, _ := strings.Cut(text, "/")
			want, err := strconv.Atoi(strings.Fields(first)[0])
			switch {
			case l.Href != "#table-episodes" && !anchors[l.Href]:
				t.Errorf("%s: %s of %s leads to %s, which is not there", name, text, what, l.Href)
			case n == 0:
				t.Errorf("%s: %s of %s leads to no run (%s)", name, text, what, l.Keys)
			case err == nil && n != want && !strings.HasPrefix(what, "family") && !strings.HasPrefix(what, "costs") && what != "runs" && what != "mean turns passed":
				t.Errorf("%s: %s of %s leads to %d runs (%s)", name, text, what, n, l.Keys)
			}
		}
		for _, tab := range tablesOf {
			for _, r := range tab.Rows {
				for _, cell := range r.Cells {
					if cell.Link != nil {
						check(tab.Name, cell.Text, cell.Link)
					}
				}
			}
		}
		for _, n := range v.Numbers {
			if n.Link != nil && !strings.Contains(n.Value, ":") {
				check(n.Name, n.Value, n.Link)
			}
		}
		if least := map[string]int{"harnesses": 30, "billed": 4, "beside": 30}[name]; linked < least {
			t.Errorf("%s: %d numbers lead to runs, want %d", name, linked, least)
		}
	}
}
