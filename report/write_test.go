package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// readTree returns the files below dir by their names.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// someTables are episodes of two configurations, one of which changed its harness on the way.
func someTables() *logs.Tables {
	n := func(v int64) *int64 { return &v }
	usd := 1.5
	var t logs.Tables
	for i, version := range []string{"1.0", "1.1", "1.0"} {
		e := logs.EpisodeRow{
			Episode: string(rune('a' + i)), Config: "glm-5+opencode/detailed/r2", Model: "glm-5", Harness: "opencode", HarnessVersion: version,
			Feedback: "detailed", Retries: 2, Session: "continue", Validity: "valid", Sandbox: "none -", CostUSD: &usd,
		}
		e.Input, e.Output = n(100), n(10)
		if i == 2 {
			e.Config, e.Harness, e.CostUSD, e.Validity = "glm-5+builtin/detailed/r2", "builtin", nil, "incomplete"
		}
		t.Episodes = append(t.Episodes, e)
	}
	return &t
}

func TestWriteReport(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "runs", "x", "report")
	tables := someTables()
	notes := DriftNotes(SummarizeRuns(tables))
	in := Input{Study: "glm5 <harnesses>", Tables: tables, Again: "stint report DIR", Version: "devel",
		Comparison: mustCompare(t, harnesses(true), CompareOptions{Episodes: true, Families: declared(), Notes: notes})}
	if err := Write(dir, in); err != nil {
		t.Fatal(err)
	}
	first := readTree(t, dir)
	want := []string{
		"index.html", "report.md", "results.tex", "summary.json", "tables/configurations.tex", "tables/costs.tex", "tables/failure-rates.tex", "tables/family-1.tex", "tables/ranks.tex", "tables/runs.tex",
	}
	figures := []string{"failure-rates", "heat-map", "mean-turns", "paired-differences", "pairwise-matrix", "power", "ranks", "still-going"}
	for _, name := range figures {
		for _, ext := range []string{"-column.pdf", "-column.png", "-column.svg", ".csv", ".pdf", ".png", ".svg"} {
			want = append(want, "figures/"+name+ext)
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, sortedKeys(first)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	checkGolden(t, "report.md", []byte(first["report.md"]))
	checkGolden(t, "results.tex", []byte(first["results.tex"]))
	var sum Report
	if err := json.Unmarshal([]byte(first["summary.json"]), &sum); err != nil {
		t.Fatal(err)
	}
	if sum.Schema != ReportSchema || sum.Comparison.Schema != CompareSchema || len(sum.Figures) != len(figures) {
		t.Errorf("summary: %s, %s, %d figures", sum.Schema, sum.Comparison.Schema, len(sum.Figures))
	}
	if !slices.ContainsFunc(sum.Comparison.Warnings, func(w Warning) bool { return w.Code == CodeConfigDrifted }) {
		t.Error("a harness that changed inside a configuration is not mentioned")
	}
	if r := sum.Runs[1]; *r.Tokens != 220 || *r.USD != 3 || r.Valid != 2 {
		t.Errorf("runs of opencode: %+v", r)
	}
	if r := sum.Runs[0]; r.USD != nil || r.Incomplete != 1 {
		t.Errorf("an unknown cost: %+v", r)
	}
	if err := Write(dir, in); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, readTree(t, dir)); d != "" {
		t.Errorf("written twice, the report differs:\n%s", d)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("left beside the report: %v, %v", entries, err)
	}
}

func TestWriteKeepsWhatIsNotItsOwn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("years"), 0o644); err != nil {
		t.Fatal(err)
	}
	in := Input{Comparison: mustCompare(t, newSet(10), CompareOptions{})}
	checkInputError(t, Write(dir, in), "is not replaced")
	if err := os.WriteFile(filepath.Join(dir, "summary.json"), []byte(`{"schema":"other"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	checkInputError(t, Write(dir, in), "is not replaced")
	if got := readTree(t, dir)["thesis.tex"]; got != "years" {
		t.Errorf("the foreign file is %q", got)
	}
}

func TestWriteEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, Input{Comparison: mustCompare(t, newSet(10), CompareOptions{Episodes: true})}); err != nil {
		t.Fatal(err)
	}
	if md := readTree(t, dir)["report.md"]; !strings.Contains(md, "There are no runs to compare.") {
		t.Errorf("report of nothing:\n%s", md)
	}
}

func TestSwapByRename(t *testing.T) {
	parent := t.TempDir()
	tmp, dir := filepath.Join(parent, "new"), filepath.Join(parent, "report")
	for i, content := range []string{"one", "two"} {
		if err := os.Mkdir(tmp, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tmp, "f"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := swapByRename(tmp, dir); err != nil {
			t.Fatal(i, err)
		}
		if d := cmp.Diff(map[string]string{"report/f": content}, readTree(t, parent)); d != "" {
			t.Error(d)
		}
	}
}

func TestHeadline(t *testing.T) {
	c := mustCompare(t, harnesses(false), CompareOptions{Episodes: true, Families: declared()})
	want := "opencode passed 56.0 of 101 turns on average, mini-swe 15.2 and builtin 8.7; 3 of 3 declared pairs differ significantly after Holm's correction."
	if got := Headline(c); got != want {
		t.Errorf("headline\n got %s\nwant %s", got, want)
	}
}
