package report

import (
	"bufio"
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// later are the runs of harnesses a year later: every run of opencode passed ten turns more, up to the cap.
func later() *logs.OutcomeSet {
	set := harnesses(false)
	for i := range set.Rows {
		if row := &set.Rows[i]; strings.Contains(row.Config, "opencode") {
			v := min(101, *row.Value+10)
			row.Value = &v
			if v == 101 {
				row.Status = logs.StatusCapped
			}
		}
	}
	return set
}

func besideOf(t *testing.T, in Input) *BesideStudy {
	t.Helper()
	b, err := newBeside(in)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBesideSameScenarios: the same configurations are tested against each other, in one family.
func TestBesideSameScenarios(t *testing.T) {
	here, there := mustCompare(t, harnesses(false), CompareOptions{Episodes: true}), mustCompare(t, later(), CompareOptions{Episodes: true})
	b := besideOf(t, Input{Study: "x", Comparison: here, With: &OtherStudy{Study: "x", Comparison: there}})
	if b.NotTested != "" || len(b.Families) != 1 || len(b.Families[0].Pairs) != 3 || b.Families[0].Declared {
		t.Fatalf("families %+v, %s", b.Families, b.NotTested)
	}
	for _, p := range b.Families[0].Pairs {
		switch {
		case strings.Contains(p.A, "opencode") && (p.Decision != DecisionBehind || p.N != 20 || p.Ahead != 0 || p.Level != 5 || p.Behind != 15):
			t.Errorf("opencode got better in 15 scenarios and was at the cap in 5: %+v", p)
		case !strings.Contains(p.A, "opencode") && (p.Level != 20 || *p.Diff != 0):
			t.Errorf("%s did not change: %+v", p.A, p)
		}
	}
	if len(b.both.Configs) != 6 || b.both.cap() != 101 {
		t.Errorf("%d configurations on the scale to %v", len(b.both.Configs), b.both.cap())
	}
	if s := b.sentence(); !strings.Contains(s, "the other x: opencode passed ") || !strings.Contains(s, "the same 20 scenarios, by their names") {
		t.Error(s)
	}
}

// A judge of the other study whom nobody validated is said wherever its causes stand beside ours.
func TestBesideBanner(t *testing.T) {
	compared := func(banner string) *Comparison {
		set := harnesses(false)
		for i := range set.Rows {
			set.Rows[i].EndL1 = "drift"
		}
		c := mustCompare(t, set, CompareOptions{Episodes: true})
		c.Banner = banner
		return c
	}
	b := besideOf(t, Input{Study: "a", Comparison: compared(""), With: &OtherStudy{Study: "b", Comparison: compared("NOT VALIDATED: there")}})
	rep := &Report{Comparison: compared(""), With: b}
	page := rep.besideSection(nil, func(*sectionView, string) bool { return false })
	var text bytes.Buffer
	w := bufio.NewWriter(&text)
	rep.markdownBeside(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(page.First, "NOT VALIDATED: there.") || !strings.Contains(text.String(), "NOT VALIDATED: there") {
		t.Errorf("page %q, Markdown %s", page.First, text.String())
	}
}

// TestBesideNotTested: nothing is tested where the scenarios or the cap are not the same, and it is said why.
func TestBesideNotTested(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*logs.OutcomeSet)
		want   string
	}{
		{"one scenario missing", func(s *logs.OutcomeSet) {
			s.Rows = s.Rows[:len(s.Rows)-1]
			s.Rows = append(s.Rows[:19], s.Rows[20:39]...)
		}, "the scenarios are not the same: 19 are in both studies, 1 only here, 0 only there"},
		{"other scenarios", func(s *logs.OutcomeSet) {
			for i := range s.Rows {
				s.Rows[i].Scenario = "z" + s.Rows[i].Scenario
			}
		}, "0 are in both studies, 20 only here, 20 only there"},
		{"another cap", func(s *logs.OutcomeSet) { s.Cap = 200 }, "101 here, 200 there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := harnesses(false)
			c.change(set)
			in := Input{Study: "a", Comparison: mustCompare(t, harnesses(false), CompareOptions{Episodes: true}),
				With: &OtherStudy{Study: "b", Comparison: mustCompare(t, set, CompareOptions{Episodes: true})}}
			b := besideOf(t, in)
			if len(b.Families) != 0 || b.between != nil || !strings.Contains(b.NotTested, c.want) {
				t.Errorf("%d families, %q, want %q", len(b.Families), b.NotTested, c.want)
			}
			if c.name != "another cap" {
				return // one report shows where it is said
			}
			dir := filepath.Join(t.TempDir(), "report")
			if err := Write(dir, in); err != nil {
				t.Fatal(err)
			}
			files := readTree(t, dir)
			for _, name := range []string{"index.html", "report.md", "results.tex", "summary.json"} {
				if !strings.Contains(files[name], "is not the same") {
					t.Errorf("%s does not say why nothing is tested", name)
				}
			}
		})
	}
	usd := newSet(0)
	usd.ValueName = "usd"
	addRuns(usd, "a", 1, 2, 3)
	_, err := newBeside(Input{Comparison: mustCompare(t, harnesses(false), CompareOptions{}), With: &OtherStudy{Comparison: mustCompare(t, usd, CompareOptions{})}})
	checkInputError(t, err, "the outcome is turns_passed here and usd")
}

// TestBesideContents: scenarios of one name and other contents are not the same ones.
func TestBesideContents(t *testing.T) {
	with := func(sha string) *Comparison {
		set := harnesses(false)
		for i := range set.Rows {
			set.Rows[i].ScenarioSHA = sha + set.Rows[i].Scenario
		}
		return mustCompare(t, set, CompareOptions{Episodes: true})
	}
	if b := besideOf(t, Input{Comparison: with("1"), With: &OtherStudy{Comparison: with("2")}}); b.between != nil || !b.Scenarios.ByContent {
		t.Errorf("other contents are tested: %+v", b.Scenarios)
	}
	if b := besideOf(t, Input{Comparison: with("1"), With: &OtherStudy{Comparison: with("1")}}); b.between == nil {
		t.Errorf("the same contents are not tested: %s", b.NotTested)
	}
}

func TestSettingDifferences(t *testing.T) {
	here := []Setting{{"a", "1"}, {"b", "2"}, {"c", "3"}}
	there := []Setting{{"c", "4"}, {"b", "2"}, {"d", "5"}}
	want := []SettingDifference{{"a", "1", ""}, {"c", "3", "4"}, {"d", "", "5"}}
	if d := cmp.Diff(want, settingDifferences(here, there)); d != "" {
		t.Error(d)
	}
	tables := someTables()
	got := tableSettings(tables)
	if len(got) == 0 || len(settingDifferences(got, tableSettings(tables))) != 0 {
		t.Errorf("a study differs from itself: %v", got)
	}
}
