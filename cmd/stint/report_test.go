package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// billedTables are a study of two configurations on six scenarios whose tokens are known: an episode of harness k and
// scenario i passes i+3k of 20 turns, each in one attempt of 1000 input, 3000 cached and 100 output tokens; one more
// attempt fails, and the second scenario begins with an attempt that was void.
func billedTables(study, model string, harnesses ...string) *logs.Tables {
	n := func(v int64) *int64 { return &v }
	t := &logs.Tables{}
	began := time.Date(2026, 6, 2, 10, 0, 0, 0, time.UTC)
	for k, h := range harnesses {
		for i := range 6 {
			id := fmt.Sprintf("%06x%06x", k+1, i+1)
			passed, end := i+3*k, "failed"
			e := logs.EpisodeRow{
				Study: study, Episode: id, Config: model + "+" + h + "/detailed/r0", Model: model, Harness: h, HarnessVersion: "1", Feedback: "detailed",
				Scenario: fmt.Sprintf("s%02d", i+1), ScenarioSHA: fmt.Sprintf("%064d", i+1), Repeat: 1, TurnsMax: 20, TurnsPassed: &passed,
				Mode: "fail-stop", Validity: "valid", EndReason: &end, Session: "continue", Delivery: "delta", Sandbox: "none 1", Started: &began,
				Place: logs.Place{File: "episodes/" + id + "/journal.jsonl", Length: 1}}
			e.Input, e.Cached, e.Output = n(1000*int64(passed+1)), n(3000*int64(passed+1)), n(100*int64(passed+1))
			t.Episodes = append(t.Episodes, e)
			void := "host"
			if i == 2 {
				void = "provider_error"
			}
			for turn := range passed + 1 {
				yes, clean, used, zero := turn < passed, "clean", 1, 0
				t.Turns = append(t.Turns, logs.TurnRow{Episode: id, Turn: turn, AttemptsUsed: &used, Passed: &yes, Place: e.Place})
				a := logs.AttemptRow{Episode: id, Turn: turn, Kind: "first", Completion: &clean, Place: e.Place}
				a.Input, a.Cached, a.Output, a.Offset = n(1000), n(3000), n(100), int64(2*turn+1)
				if turn == 0 && (i == 1 || i == 2) {
					gone := a
					gone.VoidOf, gone.VoidReason = &zero, &void
					gone.Offset = 0
					t.Attempts = append(t.Attempts, gone)
				}
				a.Attempt, a.Passed = &zero, &yes
				t.Attempts = append(t.Attempts, a)
			}
		}
	}
	return t
}

// writeTables writes tables for a test and returns their folder.
func writeTables(t *testing.T, dir, name string, tables *logs.Tables) string {
	t.Helper()
	if err := logs.WriteTables(filepath.Join(dir, name), tables); err != nil {
		t.Fatal(err)
	}
	return name
}

// reportOn runs report and returns its summary and its files by name.
func reportOn(t *testing.T, dir string, args ...string) (report.Report, map[string]string) {
	t.Helper()
	stint(t, dir, exitDone, append([]string{"report", "-q", "-o", "out"}, args...)...)
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(dir, "out"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(filepath.Join(dir, "out"), path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(files["summary.json"]), &r); err != nil {
		t.Fatal(err)
	}
	return r, files
}

// TestReportPrices: a price table prices what was recorded, in every form of the report; a model without a price has no
// cost; what is no price table is refused with its place.
func TestReportPrices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	both := billedTables("s", "m", "a", "b")
	for i := range both.Episodes {
		if e := &both.Episodes[i]; e.Harness == "b" {
			e.Model, e.Config = "n", strings.Replace(e.Config, "m+", "n+", 1)
		}
	}
	tables := writeTables(t, dir, "tables", both)
	writeFile(t, dir, "p.yaml", "name: june\nprices:\n  - {model: m, from: 2026-06-01, usd_per_mtok: {input: 10, cached: 1, output: 100}}\n")
	got, files := reportOn(t, dir, tables, "--prices", "p.yaml")
	const each = (1000*10 + 3000*1 + 100*100) / 1e6 // dollars of an attempt
	for _, c := range got.Comparison.Configs {
		switch {
		case c.Factors["model"] == "n" && c.USD != nil:
			t.Errorf("%s without a price costs %v", c.Config, *c.USD)
		case c.Factors["model"] == "m" && (c.USD == nil || math.Abs(*c.USD-3.5*each) > 1e-9):
			t.Errorf("%s costs %v, want %v", c.Config, c.USD, 3.5*each)
		}
	}
	for _, code := range []string{report.CodeRepriced, report.CodeNoPrice} {
		for _, form := range []string{"index.html", "report.md", "summary.json"} {
			if !strings.Contains(files[form], code) {
				t.Errorf("%s does not tell %s", form, code)
			}
		}
	}
	if plain, _ := reportOn(t, dir, tables); plain.Comparison.Configs[0].USD != nil {
		t.Error("dollars that nobody recorded")
	}
	writeFile(t, dir, "bad.yaml", "- {model: m}\n\n- {model: n, usd_per_mtok: {input: -1}}\n")
	writeFile(t, dir, "none.yaml", "# nothing\n")
	writeFile(t, dir, "other.yaml", "- {model: z, usd_per_mtok: {input: 1, output: 1}}\n")
	writeFile(t, dir, "o.csv", "config,scenario,turns\na,x,3\nb,x,5\n")
	for _, bad := range []struct{ file, source, want string }{
		{"bad.yaml", tables, "bad.yaml:3: entry 2: price of n is no amount"},
		{"out/summary.json", tables, `out/summary.json: [`},
		{"none.yaml", tables, "none.yaml holds no price"},
		{"other.yaml", tables, "has no price for any model of this study: m on 2026-06-02, n on 2026-06-02"},
		{"gone.yaml", tables, "there is no gone.yaml"},
		{"tables", tables, "tables is no file"},
		{"p.yaml", "o.csv", "o.csv is a file of outcomes, which holds no tokens to price"},
	} {
		_, errs := stint(t, dir, exitInput, "report", bad.source, "-o", "bad", "--prices", bad.file)
		if !strings.Contains(errs, bad.want) || !strings.Contains(errs, "hint: ") {
			t.Errorf("--prices %s: %s, want %q and a hint", bad.file, errs, bad.want)
		}
	}
}

// TestReportOutcome: the other outcomes of compare, with intervals only.
func TestReportOutcome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tables := writeTables(t, dir, "tables", billedTables("s", "m", "a", "b"))
	got, files := reportOn(t, dir, tables, "--outcome", "share")
	if got.Comparison.Outcome != "share" || math.Abs(*got.Comparison.Configs[0].Mean-5.5/20) > 1e-9 || !strings.Contains(files["report.md"], "stint report DIR --outcome share") {
		t.Errorf("outcome %s, mean %v", got.Comparison.Outcome, *got.Comparison.Configs[0].Mean)
	}
	out, _ := stint(t, dir, exitDone, "report", "--schema")
	if !json.Valid([]byte(out)) || !strings.Contains(out, "usd_per_passed_turn") {
		t.Errorf("the schema is %.100s", out)
	}
	if _, errs := stint(t, dir, exitInput, "report", tables, "-o", "bad", "--outcome", "luck"); !strings.Contains(errs, `there is no outcome "luck"`) {
		t.Error(errs)
	}
}

// TestReportRedact: what only the study and the machine know is taken out of every file, and the page says so.
func TestReportRedact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	private := billedTables("s", "/srv/nets/llama", "a", "b")
	for i := range private.Episodes {
		private.Episodes[i].File = "/not/in/any/report.jsonl"
		private.Episodes[i].HarnessVersion = "1.0 on gpu07.corp"
		private.Episodes[i].Scenario += " of " + strings.Repeat("x", 3) + "@example.com"
	}
	tables := writeTables(t, dir, "tables", private)
	got, files := reportOn(t, dir, tables, "--redact", "--filter", "model:/srv/nets/llama")
	if r := got.Redacted; r == nil || r.Paths != 1 || r.Hosts != 1 || r.Users != 1 {
		t.Errorf("redacted: %+v", r)
	}
	for name, text := range files {
		for _, word := range []string{"/srv/nets", "gpu07", "example.com"} {
			if strings.Contains(text, word) {
				t.Errorf("%s is in %s", word, name)
			}
		}
	}
	if !strings.Contains(files["index.html"], "Redacted: 1 host name, 1 path and 1 name of a person") || !strings.Contains(files["report.md"], "--redact") {
		t.Error("the report does not say what was taken out")
	}
	plain, _ := reportOn(t, dir, tables)
	if *plain.Comparison.Configs[0].Mean != *got.Comparison.Configs[0].Mean || plain.Comparison.Families[0].Pairs[0].Decision != got.Comparison.Families[0].Pairs[0].Decision {
		t.Error("a number changed")
	}
}

// TestReportWith: a second study beside the first, with all flags that both obey.
func TestReportWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := writeTables(t, dir, "one", billedTables("s", "m", "a", "b"))
	second := billedTables("s", "m", "a", "b")
	for i := range second.Episodes {
		second.Episodes[i].HarnessVersion = "2"
		*second.Episodes[i].TurnsPassed += 2
	}
	two := writeTables(t, dir, "two", second)
	writeFile(t, dir, "p.yaml", "- {model: m, usd_per_mtok: {input: 10, cached: 1, output: 100}}\n")
	got, files := reportOn(t, dir, one, "--with", two, "--filter", "harness:a", "--prices", "p.yaml", "--redact")
	w := got.With
	if w == nil || w.Study != "two" || len(w.Comparison.Configs) != 1 || w.Comparison.Configs[0].USD == nil || len(w.Families) != 1 || got.Redacted == nil {
		t.Fatalf("beside: %+v", w)
	}
	p := w.Families[0].Pairs[0]
	if p.Behind != 6 || *p.Diff != -2 || !w.Scenarios.ByContent || w.Scenarios.Shared != 6 {
		t.Errorf("the pair: %+v", p)
	}
	if len(w.Settings) != 1 || w.Settings[0] != (report.SettingDifference{Setting: "version of a", Here: "1", There: "2"}) {
		t.Errorf("settings: %+v", w.Settings)
	}
	for _, name := range []string{"figures/both-studies.svg", "tables/both-studies.tex", "tables/between-studies.tex", "tables/settings.tex"} {
		if files[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	if !strings.Contains(files["index.html"], "Beside two") || !strings.Contains(files["report.md"], "--with DIR2") {
		t.Error("the page does not show the second study")
	}
	writeFile(t, dir, "o.csv", "config,scenario,score\na,x,0.5\nb,x,0.25\n")
	for _, bad := range []struct{ with, want string }{
		{one, "is the study itself"}, {"gone", "there is no gone"}, {"p.yaml", "--with: p.yaml: "}, {"o.csv", "its outcome is score, that of one is turns_passed"},
	} {
		if _, errs := stint(t, dir, exitInput, "report", one, "-o", "bad", "--with", bad.with); !strings.Contains(errs, bad.want) || !strings.Contains(errs, "hint: ") {
			t.Errorf("--with %s: %s, want %q and a hint", bad.with, errs, bad.want)
		}
	}
}
