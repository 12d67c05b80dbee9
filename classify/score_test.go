package classify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// TestScoreLabels is small enough to be counted by hand.
func TestScoreLabels(t *testing.T) {
	s, err := ScoreLabels([]Scored{
		{"a", "s1", []string{"drift.too_lax"}, "drift.too_lax"},
		{"b", "s1", []string{"drift.too_lax"}, "drift.too_strict"},
		{"c", "s2", []string{"drift.too_lax", "drift.too_strict"}, "drift.too_strict"},
		{"d", "s2", []string{"infra.budget"}, "unknown.insufficient"},
		{"e", "s3", []string{"infra"}, "infra.budget"}, // only the level is known
		{"f", "s3", []string{"infra.budget"}, "infra"}, // only the level is said
		{"g", "s3", []string{"drift.too_lax"}, ""},
		{"a", "s1", []string{"drift.too_lax"}, "drift.wrong_logic"}, // asked again
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Items != 7 || s.Scenarios != 3 || s.Abstained != 2 {
		t.Errorf("%d items of %d scenarios, %d abstained", s.Items, s.Scenarios, s.Abstained)
	}
	got := fmt.Sprintf("leaf %d/%d decided %d majority %s %.3f; level %d/%d majority %s %.3f", s.Leaf.Right, s.Leaf.Of, s.Leaf.Decided, s.Leaf.Majority, *s.Leaf.Baseline,
		s.L1.Right, s.L1.Of, s.L1.Majority, *s.L1.Baseline)
	if want := "leaf 2/7 decided 5 majority drift.too_lax 0.714; level 6/8 majority drift 0.625"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	levels := map[string]map[string]int{"drift": {"drift": 4, "unknown": 1}, "infra": {"infra": 2, "unknown": 1}}
	if d := cmp.Diff(levels, s.Levels); d != "" {
		t.Errorf("levels (-want +got):\n%s", d)
	}
	if n := s.Leaves["drift.too_lax"]["drift.too_strict"]; n != 1 {
		t.Errorf("confused %d times", n)
	}
	if s.Repeats.Items != 1 || s.Repeats.Labels != 2 || *s.Repeats.Same != 0 {
		t.Errorf("repeats %+v", s.Repeats)
	}
	if s.Leaf.CI == nil || s.Leaf.CI[0] >= *s.Leaf.Share || s.Leaf.CI[1] <= *s.Leaf.Share {
		t.Errorf("interval %v of %v", s.Leaf.CI, *s.Leaf.Share)
	}
	if _, err := ScoreLabels([]Scored{{Item: "a"}}, 1); err == nil {
		t.Error("an item without a right label is scored")
	}
}

// TestScoreIntervals: with all labels right, only scenarios count; the interval of labels that depend on each other within
// scenarios covers the truth about as often as it says.
func TestScoreIntervals(t *testing.T) {
	right := []string{"drift.too_lax"}
	var all []Scored
	for i := range 40 {
		all = append(all, Scored{fmt.Sprint(i), fmt.Sprint(i % 4), right, right[0]})
	}
	s, err := ScoreLabels(all, 1)
	if err != nil {
		t.Fatal(err)
	}
	if lo := math.Pow(0.025, 1.0/4); math.Abs(s.Leaf.CI[0]-lo) > 1e-9 || s.Leaf.CI[1] != 1 {
		t.Errorf("40 of 40 in 4 scenarios: %v, want %.4f to 1", s.Leaf.CI, lo)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	covered, runs := 0, 400
	for range runs {
		var m marks
		for sc := range 20 {
			p := 0.95
			if rng.IntN(2) == 0 {
				p = 0.65 // 0.8 on average
			}
			for range 10 {
				given := right[0]
				if rng.Float64() >= p {
					given = "infra.budget"
				}
				m.add(map[string]map[string]int{}, fmt.Sprint(sc), right, given)
			}
		}
		a := Accuracy{Of: len(m.right)}
		for _, v := range m.right {
			a.Right += int(v)
		}
		if err := a.interval(&m); err != nil {
			t.Fatal(err)
		}
		if a.CI[0] <= 0.8 && 0.8 <= a.CI[1] {
			covered++
		}
	}
	t.Logf("%d of %d intervals cover", covered, runs)
	if float64(covered) < 0.92*float64(runs) {
		t.Errorf("%d of %d intervals cover the truth", covered, runs)
	}
}

// TestReadPaid: a call that nothing came of counts with what it may have taken, a refused one with nothing, and a line
// that was cut by a kill is none.
func TestReadPaid(t *testing.T) {
	d := &logs.RunDir{Root: t.TempDir()}
	if paid, err := ReadPaid(d); err != nil || paid != nil {
		t.Fatal(paid, err)
	}
	dir := JudgeDir(d)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"type":"call","annotator":"m","item":"e@1.0","key":"k","n":1,"tokens":900,"usd":0.9}
{"type":"answer","annotator":"m","item":"e@1.0","key":"k","n":1,"tokens":100,"usd":0.1}
{"type":"done","annotator":"m","item":"e@1.0"}
{"type":"call","annotator":"m","item":"e@1.1","key":"l","n":1,"tokens":900,"usd":0.9}
{"type":"lost","annotator":"m","item":"e@1.1","key":"l","n":1}
{"type":"call","annotator":"m","item":"e@1.1","key":"l","n":2,"tokens":900,"usd":0.9}
{"type":"answer","annotator":"m","item":"e@1.1","key":"l","n"`)
	paid, err := ReadPaid(d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]*Paid{"m": {Calls: 3, Tokens: 1000, USD: 1, Done: 1}}, paid); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	write("no ledger\n")
	if _, err := ReadPaid(d); err == nil {
		t.Error("a damaged ledger is read")
	}
}
