package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
	"github.com/stint-bench/stint/stats"
)

// How a warning reaches a reader of text, besides JSON and the report.
const (
	asFootnote = `[⁰¹²³⁴⁵⁶⁷⁸⁹] ([^⁰¹²³⁴⁵⁶⁷⁸⁹]*: )?` // a numbered line below the tables
	asNote     = `note: `                           // a remark on the source as a whole
	inReport   = `-`                                // not in text: it belongs to a table that only reports have
	asFirst    = ``                                 // the sentence before all tables, in its own words
)

// turnsCSV writes outcomes of a and b, "-" for a missing run; s marks a stopped one.
func turnsCSV(a, b string) string {
	var out strings.Builder
	out.WriteString("config,scenario,turns,status\n")
	for name, values := range map[string]string{"a": a, "b": b} {
		for i, v := range strings.Fields(values) {
			if v == "-" {
				continue
			}
			status := "failed"
			if strings.HasSuffix(v, "s") {
				v, status = strings.TrimSuffix(v, "s"), "stopped"
			}
			if v == "50" && status == "failed" {
				status = "capped"
			}
			fmt.Fprintf(&out, "%s,s%04d,%s,%s\n", name, i, v, status)
		}
	}
	return out.String()
}

// many repeats the words of a text.
func many(n int, text string) string { return strings.Repeat(text+" ", n) }

// otherCodes have no case below: one is no longer given, two are errors, not warnings, of which nothing that stint
// records or reads today can cause the second.
var otherCodes = map[string]string{
	stats.CodeStoppedUntested: "no longer given",
	stats.CodeNested:          "an error: testdata/script/bad_statistics.txt",
	report.CodeRepriced:       "only with --prices: TestReportPrices",
	report.CodeNoPrice:        "only with --prices: TestReportPrices",
	stats.CodeBudgetVisible:   "an error of retry curves: prompts never tell the budget",
}

// TestEveryCodeHasACase: a new code of package stats or report needs a case in this file.
func TestEveryCodeHasACase(t *testing.T) {
	cases, err := os.ReadFile("warnings_test.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`\b(Code[A-Z]\w+)\s*=\s*"([A-Z_]+)"`)
	n := 0
	for _, dir := range []string{"stats", "report"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllStringSubmatch(string(raw), -1) {
				n++
				if otherCodes[m[2]] == "" && !regexp.MustCompile(dir+`\.`+m[1]+`[,:]`).Match(cases) {
					t.Errorf("%s.%s (%s) has no case", dir, m[1], m[2])
				}
			}
		}
	}
	if n < 25 {
		t.Errorf("%d codes found", n)
	}
}

// TestWarnings: every code that package stats and report give reaches the user of an outcome file: as JSON, as a
// numbered footnote of the text, and in every form of the report.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const cap50 = "--cap 50"
	for _, c := range []struct {
		code, csv, flags, how string
	}{
		{stats.CodeAllTied, turnsCSV("3 4 5 6 7 8", "3 4 5 6 7 8"), cap50, asFootnote},
		{stats.CodeApproximate, turnsCSV(many(1001, "7"), many(1001, "3")), cap50, asFootnote},
		{stats.CodeCannotReachAlpha, turnsCSV("3 4 5 6 7 8 9 1", "1 2 3 4 5 8 9 1"), cap50, asFootnote},
		{stats.CodeCannotSurviveFamily, turnsCSV("3 4 5 6 7 8", "1 2 3 4 5 2") + "c,s0000,9,failed\nc,s0001,9,failed\nc,s0002,9,failed\nc,s0003,9,failed\nc,s0004,9,failed\nc,s0005,9,failed\n" +
			"d,s0000,9,failed\nd,s0001,9,failed\nd,s0002,9,failed\nd,s0003,9,failed\nd,s0004,9,failed\nd,s0005,8,failed\n", cap50, asFirst},
		{stats.CodeCapTooLow, turnsCSV("50 50 50 50 7 8", "50 50 50 50 9 10"), cap50, asFootnote},
		{stats.CodeCensoringDecides, turnsCSV("9 9 9 9 9 9 1s 1s 9 9", "1 2 3 4 5 6 7 8 1 1"), cap50, asFootnote},
		{stats.CodeDegenerate, turnsCSV("7 7 7 7 7 7", "1 2 3 4 5 6"), "", asFootnote},
		{stats.CodeDirectionSplit, turnsCSV("5 6 7 8 9 10 11 12 13 14 15 1", "4 5 6 7 8 9 10 11 12 13 14 45"), cap50, asFootnote},
		{stats.CodeOneScenario, "config,scenario,turns\na,x,3\nb,x,5\n", cap50, asFootnote},
		{stats.CodeRepeatsTrimmed, "config,scenario,repeat,turns\na,x,1,3\na,x,2,4\na,y,1,6\nb,x,1,1\nb,y,1,2\n", cap50, asFootnote},
		{stats.CodeTauBeyondData, turnsCSV("3 4 9s 9s 5 6 7", "1 2 3 4 5 6 7"), cap50, asFootnote},
		{stats.CodeTooManyStopped, turnsCSV("3s 4s 9s 9 5 6 7", "1 2 3 4 5 6 7"), cap50, asFootnote},
		{stats.CodeUnmatched, turnsCSV("3 4 5 6 7 8 -", "1 2 3 4 5 6 7"), cap50, asFootnote},
		{stats.CodeZeroMethodDecides, turnsCSV("9 9 9 9 9 9 9 1 5 5 5", "8 7 6 5 4 3 2 5 5 5 5"), cap50, asFootnote},
		{stats.CodeFrailty, turnsCSV("0 0 0 0 0 0 0 0 50 50 50 50 50 50 50 50", many(16, "7")), cap50, inReport},
		{report.CodeStoppedRuns, turnsCSV("3s 4 9 9 5 6 7", "1 2 3 4 5 6 7"), cap50, asFootnote},
		{report.CodeStoppedTested, turnsCSV("3s 4 9 9 5 6 7", "1 2 3 4 5 6 7"), cap50, asFootnote},
		{report.CodeUndefined, "config,scenario,turns\na,x,3\nb,x,5\n", cap50, asFootnote},
		{report.CodeNotTested, turnsCSV("3 4 5 - - -", "1 2 3 4 5 6"), cap50, asFootnote},
		{report.CodeOneConfiguration, "config,scenario,turns\na,x,3\na,y,5\n", cap50, asNote},
	} {
		t.Run(c.code, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, dir, "in.csv", c.csv)
			checkWarning(t, dir, "in.csv", c.code, c.how, strings.Fields(c.flags))
		})
	}
}

// checkWarning looks a code up in the JSON, text, Markdown and LaTeX of compare and in the files of the report.
func checkWarning(t *testing.T, dir, source, code, how string, flags []string) {
	t.Helper()
	run := func(verb string, more ...string) string {
		t.Helper()
		out, _ := stint(t, dir, 0, append(append([]string{verb, source, "-q"}, more...), flags...)...)
		return out
	}
	var found []string
	var doc struct {
		Warnings []struct{ Code, Text string }
	}
	if err := json.Unmarshal([]byte(run("compare", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	for _, w := range doc.Warnings {
		if w.Code == code {
			found = append(found, w.Text)
		}
	}
	if len(found) == 0 {
		t.Fatalf("JSON holds no %s: %v", code, doc.Warnings)
	}
	text := strings.Join(strings.Fields(run("compare")), " ")
	if how == asFirst && !strings.Contains(text, "could have been significant") {
		t.Errorf("the text does not begin with what could not be:\n%s", text)
	}
	shown := ""
	for _, f := range found {
		if regexp.MustCompile(how + regexp.QuoteMeta(f)).MatchString(text) {
			shown = f
		}
	}
	results := map[string]string{}
	switch {
	case how == inReport || how == asFirst:
		shown = found[0]
	case shown == "":
		t.Fatalf("the text does not show %q:\n%s", found, run("compare"))
	default:
		results["compare --md"], results["compare --latex"] = run("compare", "--md"), run("compare", "--latex")
	}
	run("report", "-o", "out")
	for _, name := range []string{"index.html", "report.md", "results.tex", "summary.json"} {
		raw, err := os.ReadFile(filepath.Join(dir, "out", name))
		if err != nil {
			t.Fatal(err)
		}
		results[name] = string(raw)
	}
	if !strings.Contains(results["index.html"], "<code>"+code+"</code>") {
		t.Errorf("the page does not list the code %s", code)
	}
	if how == asFirst { // the sentence before everything stands for the notes of its pairs
		results = map[string]string{"index.html": results["index.html"], "report.md": results["report.md"]}
	}
	for name, got := range results {
		if !strings.Contains(bare(got), bare(shown)) {
			t.Errorf("%s does not show %q", name, shown)
		}
	}
}

// bare keeps letters and digits, which no format escapes; commands of LaTeX and entities of HTML go.
func bare(s string) string {
	s = regexp.MustCompile(`\\[a-zA-Z]+(\{\})?|&#?[a-z0-9]+;`).ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		r = unicode.ToLower(r)
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, s)
}

// runTables are tables of two configurations on six scenarios, changed by one case.
func runTables(change func(i int, e *logs.EpisodeRow)) *logs.Tables {
	t := &logs.Tables{}
	for i := range 12 {
		passed, end := 3+i, "failed"
		e := logs.EpisodeRow{
			Study: "tables", Episode: fmt.Sprintf("%012x", i), Model: "m", Harness: "h", HarnessVersion: "1", Feedback: "detailed", Retries: 2,
			Scenario: fmt.Sprintf("s%02d", i/2), ScenarioSHA: fmt.Sprintf("%064d", i/2), Repeat: 1, TurnsMax: 21, TurnsPassed: &passed,
			Mode: "fail-stop", Validity: "valid", EndReason: &end, Session: "continue", Delivery: "delta", Sandbox: "none 1",
			Place: logs.Place{File: "episodes/x/journal.jsonl", Length: 1},
		}
		if i%2 == 1 {
			e.Harness = "g"
		}
		e.Config = "m+" + e.Harness + "/detailed/r2"
		change(i, &e)
		t.Episodes = append(t.Episodes, e)
	}
	return t
}

// TestWarningsOfTables: so does what only run directories and their tables can hold.
func TestWarningsOfTables(t *testing.T) {
	t.Parallel()
	infra, leaf, one := "infra", "infra.loop_guard", 1.25
	for _, c := range []struct {
		code, how string
		change    func(i int, e *logs.EpisodeRow)
	}{
		{report.CodeIncomplete, asFootnote, func(i int, e *logs.EpisodeRow) {
			if i == 3 {
				e.Validity, e.EndReason = "incomplete", nil
			}
		}},
		{report.CodeInfraEnds, asFootnote, func(i int, e *logs.EpisodeRow) {
			if i%4 == 0 {
				e.EndL1, e.EndLeaf = &infra, &leaf
			}
		}},
		{report.CodeCostPartlyKnown, asFootnote, func(i int, e *logs.EpisodeRow) {
			if i < 4 {
				e.CostUSD = &one
			}
		}},
		{report.CodeConfigDrifted, asNote, func(i int, e *logs.EpisodeRow) {
			if i == 4 {
				e.HarnessVersion = "2"
			}
		}},
	} {
		t.Run(c.code, func(t *testing.T) {
			dir := t.TempDir()
			if err := logs.WriteTables(filepath.Join(dir, "tables"), runTables(c.change)); err != nil {
				t.Fatal(err)
			}
			checkWarning(t, dir, "tables", c.code, c.how, nil)
		})
	}
}

// TestWarningsOfRun: and what takes a run directory with its study.
func TestWarningsOfRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	raw, err := os.ReadFile(filepath.Join("testdata", "manual", "small.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "study.yaml", string(raw))
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	checkWarning(t, dir, "run", report.CodeFamilyPartly, asFootnote, []string{"--filter", "feedback:none"})
	checkWarning(t, dir, "run", report.CodeIntervalsOnly, asNote, []string{"--outcome", "share"})
	checkWarning(t, dir, "run", report.CodeMissingValue, asFootnote, []string{"--outcome", "usd"})
	// A damaged record in the middle of a journal.
	journals, err := filepath.Glob(filepath.Join(dir, "run", "episodes", "*", "journal.jsonl"))
	if err != nil || len(journals) == 0 {
		t.Fatal(journals, err)
	}
	journal, err := os.ReadFile(journals[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(journal), "\n")
	lines[len(lines)/2] = "{broken\n"
	writeFile(t, filepath.Dir(journals[0]), "journal.jsonl", strings.Join(lines, ""))
	checkWarning(t, dir, "run", report.CodeUnreadable, asNote, nil)
}
