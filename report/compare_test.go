package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// inputError reports whether err is an input error (exit code 2) whose text holds want.
func checkInputError(t *testing.T, err error, want string) {
	t.Helper()
	var in *InputError
	switch {
	case err == nil:
		t.Fatalf("no error, want one with %q", want)
	case !errors.As(err, &in) || in.ExitCode() != 2:
		t.Fatalf("%v is no input error", err)
	case !strings.Contains(err.Error(), want):
		t.Fatalf("error %q does not hold %q", err, want)
	}
}

func TestEndsAddUpToN(t *testing.T) {
	set := harnesses(true)
	addRun(set, "glm-5+builtin/detailed/r2", "s21", 1, 4, "stopped", "budget")
	set.Rows = append(set.Rows, logs.Outcome{Config: "glm-5+builtin/detailed/r2", Scenario: "s22", Repeat: 1, Status: "failed"})
	c := mustCompare(t, set, CompareOptions{Episodes: true, Force: true})
	for _, r := range c.Configs {
		sum := 0
		for _, k := range r.Ends {
			sum += k
		}
		if sum != r.N {
			t.Errorf("%s: ends %v add up to %d, n is %d", r.Config, r.Ends, sum, r.N)
		}
		if *r.Full != r.Ends["capped"] {
			t.Errorf("%s: full %d, capped %d", r.Config, *r.Full, r.Ends["capped"])
		}
	}
	if b := c.Config("glm-5+builtin/detailed/r2"); b.N != 21 || !hasCode(b.notes, CodeMissingValue) {
		t.Errorf("the row without a value: n = %d, notes %v", b.N, b.notes)
	}
}

func hasCode(notes []Warning, code string) bool {
	return slices.ContainsFunc(notes, func(w Warning) bool { return w.Code == code })
}

func TestDecisions(t *testing.T) {
	high := []float64{20, 21, 22, 23, 24, 25, 26, 27}
	low := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	c := mustCompare(t, onePair(50, high, low), CompareOptions{})
	// Eight wins of eight: p = 2/2^8.
	p := c.Families[0].Pairs[0]
	if p.A != "a" || p.Decision != DecisionAhead || *p.P != 2.0/256 || *p.Holm != *p.P || *p.Least != *p.P {
		t.Errorf("eight wins: %+v", p)
	}
	c = mustCompare(t, onePair(50, high, low), CompareOptions{Families: []DeclaredFamily{{Name: "f", Outcome: "turns_passed", Pairs: [][2]string{{"b", "a"}}, Declared: true}}})
	if p := c.Families[0].Pairs[0]; p.Decision != DecisionBehind || *p.Diff != -19 {
		t.Errorf("the declared direction is not kept: %+v", p)
	}
	c = mustCompare(t, onePair(50, high[:5], low[:5]), CompareOptions{})
	if p := c.Families[0].Pairs[0]; p.Decision != DecisionCannot || *p.Least != 2.0/32 {
		t.Errorf("five wins cannot be significant: %+v", p)
	}
	if !strings.HasPrefix(c.Paragraph[strings.Index(c.Paragraph, "\n\n")+2:], "No pair of the family") {
		t.Errorf("the family's text does not begin with what is impossible:\n%s", c.Paragraph)
	}
}

// TestUntestedPairsCount holds that a pair without a test stays in M with p = 1.
func TestUntestedPairsCount(t *testing.T) {
	set := harnesses(false)
	for i := range set.Rows {
		// Half of opencode's runs are stopped: too many for any test.
		if row := &set.Rows[i]; strings.Contains(row.Config, "opencode") && i%2 == 0 {
			row.Status, row.EndReason = "stopped", "provider"
		}
	}
	f := mustCompare(t, set, CompareOptions{Episodes: true, Families: declared()}).Families[0]
	if f.M != 3 {
		t.Fatalf("M = %d", f.M)
	}
	for _, p := range f.Pairs[:2] {
		if p.P != nil || p.Holm != nil || *p.Least != 1 || p.Bounds == nil || p.Decision != DecisionCannot || !hasCode(p.notes, stats.CodeTooManyStopped) {
			t.Errorf("stopped pair: %+v", p)
		}
	}
	if p := f.Pairs[2]; *p.Holm != 3**p.P {
		t.Errorf("Holm of the tested pair is %v, want 3 × %v", *p.Holm, *p.P)
	}
}

// TestStoppedPair: one run of opencode was stopped; its pairs are tested by the test that knows about it, which has
// neither ranks nor zeros, and say so.
func TestStoppedPair(t *testing.T) {
	c := mustCompare(t, harnesses(true), CompareOptions{Episodes: true, Families: declared()})
	for _, p := range c.Families[0].Pairs[:2] {
		if p.P == nil || *p.P > 1e-3 || p.Decision != DecisionAhead || p.RankBiserial != nil || p.POtherZero != nil || p.Bounds == nil || !hasCode(p.notes, CodeStoppedTested) {
			t.Errorf("stopped pair: %+v", p)
		}
		if !(p.Bounds[0] <= p.Bounds[1]) {
			t.Errorf("bounds %v", p.Bounds)
		}
	}
	if !strings.Contains(c.Paragraph, "paired Prentice–Wilcoxon test: p = ") || !strings.Contains(c.testWords(), "Prentice") {
		t.Errorf("the test is not named: %s\n%s", c.testWords(), c.Paragraph)
	}
}

// TestDirectionSplit: fourteen small wins of a, and two scenarios in which b is far ahead.
func TestDirectionSplit(t *testing.T) {
	var a, b []float64
	for i := range 24 {
		a, b = append(a, float64(10+i%3)), append(b, float64(8+i%3))
	}
	a, b = append(a, 1), append(b, 100)
	c := mustCompare(t, onePair(101, a, b), CompareOptions{Families: []DeclaredFamily{{Name: "f", Pairs: [][2]string{{"a", "b"}}}}})
	p := c.Families[0].Pairs[0]
	if *p.Holm > 0.05 || *p.Diff >= 0 {
		t.Fatalf("the set does not split: holm %v, diff %v", *p.Holm, *p.Diff)
	}
	if p.Decision != DecisionUndecided {
		t.Errorf("decision %s although ranks and mean disagree", p.Decision)
	}
	if !strings.Contains(c.Paragraph, "neither is called better") {
		t.Errorf("the paragraph does not say so:\n%s", c.Paragraph)
	}
	if passed, msg, err := c.Gate("b<a"); err != nil || !passed {
		t.Errorf("gate: %v %s %v", passed, msg, err)
	}
}

func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	set := synthetic(4, 10, 3, 40)
	opt := CompareOptions{Episodes: true}
	want := outputs(t, mustCompare(t, set, opt))
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		r.Shuffle(len(set.Rows), func(i, j int) { set.Rows[i], set.Rows[j] = set.Rows[j], set.Rows[i] })
		if d := cmp.Diff(want, outputs(t, mustCompare(t, set, opt))); d != "" {
			t.Fatalf("another order gives another output:\n%s", d)
		}
	}
}

// outputs returns all forms of a comparison.
func outputs(t testing.TB, c *Comparison) string {
	t.Helper()
	var b bytes.Buffer
	for _, err := range []error{c.Text(&b, 100), c.JSON(&b), c.CSV(&b), c.Markdown(&b)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestFamilies(t *testing.T) {
	set := newSet(20)
	for i, name := range []string{"m1+x/none/r0", "m1+x/detailed/r2", "m1+y/none/r0", "m1+y/detailed/r2", "m2+x/none/r0"} {
		addRuns(set, name, 0, float64(i), float64(i+1), float64(i+2))
	}
	pairs := func(opt CompareOptions) [][2]string {
		t.Helper()
		c := mustCompare(t, set, opt)
		var out [][2]string
		for _, p := range c.Families[0].Pairs {
			out = append(out, [2]string{c.Short(p.A), c.Short(p.B)})
		}
		return out
	}
	check := func(opt CompareOptions, want ...[2]string) {
		t.Helper()
		if d := cmp.Diff(want, pairs(opt)); d != "" {
			t.Errorf("by %v within %v baseline %q (-want +got):\n%s", opt.By, opt.Within, opt.Baseline, d)
		}
	}
	// The stratum of m2 holds one configuration and adds no pair.
	check(CompareOptions{By: []string{"feedback", "retries"}, Within: []string{"model", "harness"}},
		[2]string{"m1+y/detailed/r2", "m1+y/none/r0"}, [2]string{"m1+x/detailed/r2", "m1+x/none/r0"})
	check(CompareOptions{By: []string{"model"}, Within: []string{"harness", "feedback", "retries"}}, [2]string{"m2+x/none/r0", "m1+x/none/r0"})
	check(CompareOptions{Baseline: "m2+x/none/r0"},
		[2]string{"m1+y/detailed/r2", "m2+x/none/r0"}, [2]string{"m1+y/none/r0", "m2+x/none/r0"},
		[2]string{"m1+x/detailed/r2", "m2+x/none/r0"}, [2]string{"m1+x/none/r0", "m2+x/none/r0"})
	if n := len(pairs(CompareOptions{})); n != 10 {
		t.Errorf("all pairs: %d", n)
	}
	fail := func(opt CompareOptions, want string) {
		t.Helper()
		_, err := Compare(set, opt)
		checkInputError(t, err, want)
	}
	fail(CompareOptions{By: []string{"harness"}, Within: []string{"model"}}, `factor "feedback" varies`)
	fail(CompareOptions{By: []string{"colour"}}, `no factor "colour"`)
	fail(CompareOptions{By: []string{"model"}, Within: []string{"model"}}, "both --by and --within")
	fail(CompareOptions{Within: []string{"model"}}, "--within without --by")
	fail(CompareOptions{By: []string{"model"}, Baseline: "m2+x/none/r0"}, "different families")
	fail(CompareOptions{Baseline: "zzz"}, `no configuration "zzz"`)
	fail(CompareOptions{Alpha: 2}, "alpha")
	fail(CompareOptions{Zero: "wilcox"}, "zero method")
	at := 2
	fail(CompareOptions{At: &at}, "budget")
}

func TestDeclaredPairWithoutRuns(t *testing.T) {
	families := declared()
	families[0].Pairs = append(families[0].Pairs, [2]string{"glm-5+opencode/detailed/r2", "glm-5+kimi/detailed/r2"})
	c := mustCompare(t, harnesses(false), CompareOptions{Episodes: true, Families: families})
	f := c.Families[0]
	if p := f.Pairs[3]; f.M != 4 || p.P != nil || !hasCode(p.notes, CodeFamilyPartly) {
		t.Errorf("M = %d, pair %+v", f.M, p)
	}
	if !strings.Contains(outputs(t, c), "opencode − kimi") {
		t.Error("the missing configuration is not shortened with the others")
	}
}

func TestUnsharedScenarios(t *testing.T) {
	set := newSet(50)
	for i := range 10 {
		addRun(set, "a", "s"+string(rune('0'+i)), 1, float64(i+20), "", "")
		addRun(set, "b", "t"+string(rune('0'+i)), 1, float64(i), "", "")
		addRun(set, "c", "s"+string(rune('0'+i%5))+map[bool]string{true: "", false: "x"}[i < 5], 1, float64(i), "", "")
	}
	c := mustCompare(t, set, CompareOptions{Families: []DeclaredFamily{{Name: "f", Pairs: [][2]string{{"a", "b"}, {"a", "c"}}}}})
	none, few := c.Families[0].Pairs[0], c.Families[0].Pairs[1]
	if none.P != nil || none.Test != "not tested: no shared scenario" || none.N != 0 {
		t.Errorf("no shared scenario: %+v", none)
	}
	if few.P != nil || few.N != 5 || !strings.Contains(few.notes[0].Text, "--force") {
		t.Errorf("half of the scenarios: %+v", few)
	}
	c = mustCompare(t, set, CompareOptions{Force: true, Families: []DeclaredFamily{{Name: "f", Pairs: [][2]string{{"a", "c"}}}}})
	if p := c.Families[0].Pairs[0]; p.P == nil || p.N != 5 {
		t.Errorf("forced: %+v", p)
	}
}

func TestPairingByHash(t *testing.T) {
	set := onePair(50, []float64{9, 8, 7}, []float64{1, 2, 3})
	for i := range set.Rows {
		row := &set.Rows[i]
		row.ScenarioSHA = "hash-of-" + row.Scenario
		if row.Config == "b" {
			row.Scenario = "renamed-" + row.Scenario // another name, the same content
		}
	}
	if p := mustCompare(t, set, CompareOptions{}).Families[0].Pairs[0]; p.N != 3 {
		t.Errorf("paired %d scenarios by hash", p.N)
	}
	set.Rows[0].ScenarioSHA = "" // unknown once: names decide
	if p := mustCompare(t, set, CompareOptions{}).Families[0].Pairs[0]; p.N != 0 {
		t.Errorf("paired %d scenarios by name", p.N)
	}
}

func TestOtherOutcomes(t *testing.T) {
	set := newSet(0)
	set.ValueName = "share"
	addRuns(set, "a", 3, 0.5, 1, 0.25, 0.75)
	addRuns(set, "b", 4, 0.25, 0.5, 0.25, 0.5)
	opt := CompareOptions{Primary: "turns_passed", Episodes: true, Families: []DeclaredFamily{{Name: "f", Pairs: [][2]string{{"a", "b"}}, Outcome: "turns_passed", Declared: true}}}
	c := mustCompare(t, set, opt)
	if len(c.Families) != 0 || !hasCode(c.Warnings, CodeIntervalsOnly) || c.TurnsMax != nil {
		t.Errorf("an undeclared outcome: families %v, warnings %v", c.Families, c.Warnings)
	}
	opt.Families[0].Outcome = "share"
	if c = mustCompare(t, set, opt); len(c.Families) != 1 || !c.Families[0].Declared {
		t.Errorf("a family declared for the share is not shown")
	}
	opt.Families[0].Departure = "--filter"
	if c = mustCompare(t, set, opt); c.Families[0].Declared {
		t.Error("a comparison that departs from what was declared calls itself declared")
	}
	set.ValueName = "usd"
	set.Rows[0].Status, set.Rows[0].EndReason = "stopped", "budget"
	c = mustCompare(t, set, CompareOptions{Primary: "turns_passed", Episodes: true, Baseline: "b"})
	if c.Families[0].Declared || c.Families[0].Pairs[0].P == nil {
		t.Errorf("dollars with a baseline: %+v", c.Families[0])
	}
	if a := c.Config("a"); a.Ends["stopped"] != 1 || *a.Mean != 0.625 {
		t.Errorf("dollars of a stopped run: %+v", a)
	}
}

func TestIncompleteIsProvisional(t *testing.T) {
	set := harnesses(false)
	set.Rows[25].Status, set.Rows[25].EndReason, set.Rows[25].Incomplete = "stopped", "", true
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	if !hasCode(c.Warnings, CodeIncomplete) {
		t.Error("no INCOMPLETE")
	}
	if !strings.Contains(c.header(), "provisional: 1 run has not ended") {
		t.Errorf("header %q", c.header())
	}
}

func TestBadSets(t *testing.T) {
	dup := onePair(50, []float64{1, 2}, []float64{3, 4})
	dup.Rows[1].Scenario = "s01"
	_, err := Compare(dup, CompareOptions{})
	checkInputError(t, err, "duplicate")
	above := onePair(3, []float64{1, 2}, []float64{3, 4})
	_, err = Compare(above, CompareOptions{})
	checkInputError(t, err, "above the cap")
	word := onePair(50, []float64{1, 2}, []float64{3, 4})
	word.Rows[2].Status = "crashed"
	_, err = Compare(word, CompareOptions{})
	checkInputError(t, err, `outcomes.csv:4: status "crashed"`)
}

// TestJSONHasNoHoles: the keys are those of the manual, undefined values are null, and each null has a warning.
func TestJSONHasNoHoles(t *testing.T) {
	for name, g := range goldenSets() {
		c := mustCompare(t, g.set, g.opt)
		var b bytes.Buffer
		if err := c.JSON(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var v struct {
			Configs  []map[string]any
			Families []struct{ Pairs []map[string]any }
			Warnings []Warning
		}
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		warned := func(where string) bool {
			return slices.ContainsFunc(v.Warnings, func(w Warning) bool { return w.Where == where })
		}
		for _, r := range v.Configs {
			want := []string{"causes", "ci", "ci_method", "config", "ends", "factors", "failure_rate", "full", "mean", "median", "n", "rank", "rank_ci", "usd"}
			if d := cmp.Diff(want, sortedKeys(r)); d != "" {
				t.Errorf("%s: keys of a configuration (-want +got):\n%s", name, d)
			}
			for _, k := range []string{"mean", "ci", "median", "usd"} {
				if r[k] == nil && !warned(r["config"].(string)) {
					t.Errorf("%s: %s of %s is null without a warning", name, k, r["config"])
				}
			}
		}
		for _, f := range v.Families {
			for _, p := range f.Pairs {
				for k, x := range p {
					if x == nil && k != "bounds" && !warned(p["a"].(string)+" − "+p["b"].(string)) {
						t.Errorf("%s: %s of a pair is null without a warning", name, k)
					}
				}
			}
		}
	}
}

// TestHostileNames: nothing a name holds reaches a terminal or a renderer as markup.
func TestHostileNames(t *testing.T) {
	set := newSet(20)
	addRuns(set, "a\x1b[2Jb\u202ec\r\n| x | <script>`", 0, 1, 2, 3)
	addRuns(set, strings.Repeat("long/", 60)+"\xff", 0, 3, 4, 5)
	addRun(set, "c", "s\x1b]0;title\x07", 1, 3, "stopped", "op\x1b[31merator")
	c := mustCompare(t, set, CompareOptions{Force: true})
	for _, width := range []int{40, 60, 100} {
		var b bytes.Buffer
		if err := c.Text(&b, width); err != nil {
			t.Fatal(err)
		}
		checkPrintable(t, b.String())
	}
	var b bytes.Buffer
	if err := c.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	checkPrintable(t, b.String())
	for _, bad := range []string{"<script", "| x |"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("Markdown holds %q", bad)
		}
	}
}

func checkPrintable(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Error("output is no UTF-8")
	}
	for _, r := range s {
		if r != '\n' && unsafeRune(r) {
			t.Fatalf("output holds %U", r)
		}
	}
}

func TestTextWidth(t *testing.T) {
	set := synthetic(6, 8, 1, 101)
	for i := range set.Rows {
		if strings.HasPrefix(set.Rows[i].Config, "model-01") {
			set.Rows[i].Config = strings.Replace(set.Rows[i].Config, "harness", strings.Repeat("x", 280), 1)
		}
	}
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	for _, width := range []int{60, 80, 100, 140} {
		var b bytes.Buffer
		if err := c.Text(&b, width); err != nil {
			t.Fatal(err)
		}
		table := b.String()
		if i := strings.Index(table, "family:"); i >= 0 {
			table = table[:i] // a word of the paragraph may be longer than a line
		}
		for _, line := range strings.Split(table, "\n") {
			if textWidth(line) > width {
				t.Errorf("width %d: %d columns: %s", width, textWidth(line), line)
			}
		}
	}
}

func TestEmptySet(t *testing.T) {
	c := mustCompare(t, newSet(101), CompareOptions{Episodes: true})
	if out := outputs(t, c); !strings.Contains(out, `"configs": []`) || !strings.Contains(out, `"families": []`) {
		t.Errorf("an empty set is no empty list:\n%s", out)
	}
}

func FuzzCompare(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(20), false)
	f.Add([]byte{0, 0, 0, 0}, uint8(0), true)
	f.Add([]byte{255, 255, 3}, uint8(255), true)
	f.Fuzz(func(t *testing.T, values []byte, limit uint8, episodes bool) {
		if len(values) > 60 {
			return
		}
		set := newSet(float64(limit))
		for i, v := range values {
			value := float64(v)
			if limit > 0 {
				value = float64(int(v) % (int(limit) + 1))
			}
			status := ""
			if v%7 == 6 {
				status = "stopped"
			}
			addRun(set, string(rune('a'+i%3)), "s"+string(rune('a'+i/3)), 1, value, status, "")
		}
		c, err := Compare(set, CompareOptions{Episodes: episodes, Force: true})
		if err != nil {
			return
		}
		if out := outputs(t, c); strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
			t.Errorf("an undefined number is printed:\n%s", out)
		}
	})
}
