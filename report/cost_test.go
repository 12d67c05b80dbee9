package report

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// billed are the runs of one configuration in six scenarios and their tables: run i passes i turns for 10(i+1) dollars,
// with 100(i+1) prompt tokens of which 60(i+1) came from a cache. An attempt of the second run was void, for 4 dollars,
// and two of the third were given up by a resume, for 3 dollars each.
func billed() (*logs.OutcomeSet, *logs.Tables) {
	set, t := newSet(20), &logs.Tables{}
	n := func(v int) *int64 { return ptr(int64(v)) }
	for i := range 6 {
		usd := 10 * float64(i+1)
		row := addRun(set, "m+a/detailed/r0", string(rune('p'+i)), 1, float64(i), "", "")
		row.USD = &usd
		e := logs.EpisodeRow{Episode: "e" + row.Scenario, Config: row.Config, Scenario: row.Scenario, Repeat: 1, Validity: "valid", CostUSD: &usd, WastedUSD: ptr(0.0)}
		e.Input, e.Cached, e.Output = n(40*(i+1)), n(60*(i+1)), n(1)
		counted := logs.AttemptRow{Episode: e.Episode, Attempt: ptr(0), CostUSD: &usd}
		t.Attempts = append(t.Attempts, counted)
		for _, reason := range [][]string{1: {"rate_limit"}, 2: {"operator", "host"}, 5: nil}[i] {
			usd := 3.0
			if reason == "rate_limit" {
				usd = 4
			}
			gone := logs.AttemptRow{Episode: e.Episode, VoidOf: ptr(0), VoidReason: &reason, CostUSD: &usd}
			gone.Input, gone.Output = n(7), n(2)
			t.Attempts = append(t.Attempts, gone)
			e.WastedUSD = ptr(*e.WastedUSD + usd)
		}
		retried := "process_retry"
		t.Attempts = append(t.Attempts, logs.AttemptRow{Episode: e.Episode, VoidOf: ptr(0), VoidReason: &retried, CostUSD: &usd})
		t.Episodes = append(t.Episodes, e)
	}
	return set, t
}

// TestCosts by hand.
func TestCosts(t *testing.T) {
	set, tables := billed()
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	costs, err := c.Costs(tables)
	if err != nil {
		t.Fatal(err)
	}
	s := costs[0]
	for what, v := range map[string]struct {
		got      Estimate
		want     float64
		interval bool
	}{
		"per episode":  {s.PerEpisode, 35, true},
		"per turn":     {s.PerTurn, 210.0 / 15, true},
		"cached share": {s.CachedShare, 0.6, true},
		"wasted share": {s.WastedShare, 10.0 / 220, false},
	} {
		if v.got.Value == nil || math.Abs(*v.got.Value-v.want) > 1e-9 || (v.got.CI != nil) != v.interval || !v.interval && v.got.Reason == "" {
			t.Errorf("%s: %+v, want %v", what, v.got, v.want)
		}
		if ci := v.got.CI; ci != nil && !(ci[0] <= v.want+1e-9 && v.want-1e-9 <= ci[1]) {
			t.Errorf("%s: the interval %v is beside %v", what, *ci, v.want)
		}
	}
	if *s.Void.Attempts != 1 || *s.Void.USD != 4 || *s.Void.Tokens != 9 || *s.Resumed.Attempts != 2 || *s.Resumed.USD != 6 || *s.Resumed.Tokens != 18 {
		t.Errorf("wasted: %+v, %+v", s.Void, s.Resumed)
	}
	text := c.costSentence(costs)
	for _, want := range []string{"A passed turn cost $14 with m+a/detailed/r0 (95 % interval ", "cache served 60 % with", "1 attempt was void and 2 were given up because a run was resumed: $10 that bought no turn."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// TestCostsOfCopies: what copies of an episode cost that were not taken is work done again.
func TestCostsOfCopies(t *testing.T) {
	set, tables := billed()
	tables.Episodes[1].WastedTokens, tables.Episodes[1].WastedUSD = ptr(int64(9+100)), ptr(4+5.0) // its void attempt took 9 for 4
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	costs, err := c.Costs(tables)
	if err != nil {
		t.Fatal(err)
	}
	if s := costs[0]; *s.Resumed.USD != 6+5 || *s.Resumed.Tokens != 18+100 || *s.Resumed.Attempts != 2 || *s.Void.USD != 4 {
		t.Errorf("wasted: %v dollars, %v tokens, %v attempts", *s.Resumed.USD, *s.Resumed.Tokens, *s.Resumed.Attempts)
	}
	tables.Episodes[1].WastedUSD = nil
	if costs, err = c.Costs(tables); err != nil || costs[0].Resumed.USD != nil {
		t.Errorf("an unknown cost of a copy: %+v, %v", costs[0].Resumed, err)
	}
}

// TestCostsUnknown: one run without a cost makes everything that rests on it unknown, never smaller.
func TestCostsUnknown(t *testing.T) {
	set, tables := billed()
	set.Rows[3].USD, tables.Episodes[3].CostUSD, tables.Episodes[3].Cached = nil, nil, nil
	tables.Attempts[2].CostUSD, tables.Attempts[2].Input = nil, nil // the first void one
	for i := range tables.Attempts {
		if r := tables.Attempts[i].VoidReason; r != nil && *r == "rate_limit" {
			tables.Attempts[i].CostUSD, tables.Attempts[i].Output = nil, nil
		}
	}
	c := mustCompare(t, set, CompareOptions{Episodes: true})
	costs, err := c.Costs(tables)
	if err != nil {
		t.Fatal(err)
	}
	s := costs[0]
	for what, e := range map[string]Estimate{"per episode": s.PerEpisode, "per turn": s.PerTurn, "cached": s.CachedShare, "wasted": s.WastedShare} {
		if e.Value != nil || e.CI != nil || e.Reason == "" {
			t.Errorf("%s: %+v", what, e)
		}
	}
	if s.Void.USD != nil || s.Void.Tokens != nil || *s.Void.Attempts != 1 {
		t.Errorf("void: %+v", s.Void)
	}
	none, err := c.Costs(nil)
	if err != nil || none[0].Void.Attempts != nil || none[0].CachedShare.Value != nil {
		t.Errorf("without tables: %+v, %v", none[0], err)
	}
	if text := c.costSentence(none); text != "" {
		t.Errorf("words without dollars: %q", text)
	}
}

// TestCostsInEveryForm: page, Markdown, LaTeX and JSON tell the costs.
func TestCostsInEveryForm(t *testing.T) {
	set, tables := billed()
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, Input{Comparison: mustCompare(t, set, CompareOptions{Episodes: true}), Tables: tables}); err != nil {
		t.Fatal(err)
	}
	files := readTree(t, dir)
	for name, want := range map[string]string{"index.html": "that bought no turn", "report.md": "that bought no turn", "tables/costs.tex": "given up by a resume", "summary.json": `"wasted_resumed"`, "results.tex": "that bought no turn"} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s does not hold %q", name, want)
		}
	}
}
