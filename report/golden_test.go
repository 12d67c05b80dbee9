package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// checkGolden compares got with testdata/name.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got); go test -update rewrites it:\n%s", path, d)
	}
}

// declared is the family of the manual's example.
func declared() []DeclaredFamily {
	full := func(h string) string { return "glm-5+" + h + "/detailed/r2" }
	return []DeclaredFamily{{Name: "harness within model", Declared: true, Pairs: [][2]string{
		{full("opencode"), full("mini-swe")}, {full("opencode"), full("builtin")}, {full("mini-swe"), full("builtin")},
	}}}
}

func mustCompare(t testing.TB, set *logs.OutcomeSet, opt CompareOptions) *Comparison {
	t.Helper()
	c, err := Compare(set, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// onePair returns outcomes of two configurations a and b.
func onePair(limit float64, a, b []float64) *logs.OutcomeSet {
	set := newSet(limit)
	addRuns(set, "a", 0, a...)
	addRuns(set, "b", 0, b...)
	return set
}

// goldenSets are the comparisons whose whole output is kept in testdata.
func goldenSets() map[string]struct {
	set *logs.OutcomeSet
	opt CompareOptions
} {
	type gs = struct {
		set *logs.OutcomeSet
		opt CompareOptions
	}
	scores := newSet(0)
	scores.ValueName = "score"
	addRuns(scores, "a|b", 0, 0.41, 0.5, 0.62, 0.3, 0.77, 0.58)
	addRuns(scores, "c\x1b[31m", 0, 0.31, 0.4, 0.65, 0.2, 0.7, 0.5)
	hostile := newSet(20)
	addRuns(hostile, "<img src=x onerror=alert(1)>`|*_[a](http://x)", 0, 3, 4, 20, 9, 8, 1, 7)
	addRuns(hostile, "日本語\u202egnp\n# head", 0, 1, 2, 3, 4, 9, 0, 2)
	return map[string]gs{
		"harnesses":  {harnesses(false), CompareOptions{Episodes: true, Families: declared()}},
		"stopped":    {harnesses(true), CompareOptions{Episodes: true, Families: declared()}},
		"judged":     {judged(harnesses(true)), CompareOptions{Episodes: true, Families: declared()}},
		"tied":       {onePair(50, []float64{3, 5, 9, 12}, []float64{3, 5, 9, 12}), CompareOptions{}},
		"one":        {onePair(50, []float64{3}, []float64{5}), CompareOptions{}},
		"scores":     {scores, CompareOptions{}},
		"hostile":    {hostile, CompareOptions{}},
		"many":       {synthetic(7, 20, 1, 101), CompareOptions{Episodes: true}},
		"impossible": {synthetic(5, 6, 2, 13), CompareOptions{Episodes: true}},
	}
}

func TestGoldenOutputs(t *testing.T) {
	for name, g := range goldenSets() {
		t.Run(name, func(t *testing.T) {
			c := mustCompare(t, g.set, g.opt)
			for ext, write := range map[string]func(*bytes.Buffer) error{
				"txt":  func(b *bytes.Buffer) error { return c.Text(b, 100) },
				"json": func(b *bytes.Buffer) error { return c.JSON(b) },
				"md":   func(b *bytes.Buffer) error { return c.Markdown(b) },
				"csv":  func(b *bytes.Buffer) error { return c.CSV(b) },
				"tex":  func(b *bytes.Buffer) error { return c.LaTeX(b) },
			} {
				if (ext == "json" || ext == "csv" || ext == "tex") && name == "many" {
					continue // the text is enough for a large family
				}
				var b bytes.Buffer
				if err := write(&b); err != nil {
					t.Fatal(err)
				}
				checkGolden(t, name+"."+ext, b.Bytes())
			}
		})
	}
}
