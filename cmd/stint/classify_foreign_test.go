package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// TestClassifyForeignJudge: rules and a judge on the log of another program, as a user meets them.
func TestClassifyForeignJudge(t *testing.T) {
	dir := t.TempDir()
	log, tables := writeFile(t, dir, "log.jsonl", strings.Replace(foreignLog, "418", "502", 1)), filepath.Join(dir, "tables")
	judgeStint(t, exitDone, "ingest", log, "-o", tables, "-q")
	s := newJudgeServer(t)
	args := []string{"classify", tables, "--judge", "tiny", "--base-url", s.URL + "/v1", "--key-env", "JUDGE_KEY", "--max-calls", "20"}
	out, _ := judgeStint(t, exitDone, "classify", tables)
	if strings.Contains(out, "NOT VALIDATED") || !strings.Contains(out, "the result of grading 1") {
		t.Errorf("without a judge:\n%s", out)
	}
	if _, errs := judgeStint(t, exitDone, "classify", tables, "-v"); !strings.Contains(errs, "1 episode had not changed") {
		t.Errorf("again: %s", errs)
	}
	list, _ := judgeStint(t, exitDone, "explain", tables)
	id := strings.Fields(list)[0]
	shown, _ := judgeStint(t, exitDone, "classify", tables, "--show-packet", id)
	if !strings.Contains(shown, "The log is that of another program") || !strings.Contains(shown, "tunnel to dc2 lost") {
		t.Errorf("the packet:\n%s", shown)
	}
	out, errs := judgeStint(t, exitDone, args...)
	if !strings.Contains(out, "! NOT VALIDATED: a judge decided 1 of 1 failed attempts") || !strings.Contains(out, "1 attempt to ask about: 1 labelled") || !strings.Contains(errs, "judge.jsonl") {
		t.Errorf("%s\n%s", out, errs)
	}
	n := s.calls()
	out, _ = judgeStint(t, exitDone, append(args, "--json")...)
	var c verdictCounts
	if err := json.Unmarshal([]byte(out), &c); err != nil || s.calls() != n || !strings.HasPrefix(c.Banner, "NOT VALIDATED") || c.Judge.Spent.Calls != int64(n) {
		t.Errorf("%v: %d calls, %+v", err, s.calls()-n, c)
	}
	if len(c.Verdicts) != 1 || c.Verdicts[0].AnnotatorKind != logs.AnnotatorJudge || c.Verdicts[0].Strength != logs.StrengthWeak || len(c.Verdicts[0].Missing) < 2 {
		t.Errorf("%+v", c.Verdicts)
	}
	for _, name := range []string{id, id[:8], strings.TrimSpace(list[strings.LastIndex(list, "  "):])} {
		out, _ := judgeStint(t, exitDone, "explain", tables, name)
		if !strings.Contains(out, id) || !strings.Contains(out, "missing     how the agent ended") || !strings.Contains(out, "judge tiny:") || !strings.Contains(out, "cause: “") {
			t.Errorf("explain %s:\n%s", name, out)
		}
	}
	judgeStint(t, exitInput, "explain", tables, "nothing")
	judgeStint(t, exitInput, "explain", tables, id[:12]+"@7.7")
	after, err := logs.ReadTables(tables)
	if err != nil || len(after.Verdicts) != 2 {
		t.Errorf("%d verdicts in the tables, %v", len(after.Verdicts), err)
	}
}

// judgedTables are two configurations on six scenarios. All runs failed in their second turn; of one configuration nobody
// but a judge says why.
func judgedTables(t *testing.T) string {
	t.Helper()
	all := &logs.Tables{}
	yes, no, attempt, one, failed, drift, infra := true, false, 0, 1, "failed", "drift.too_lax", "infra.provider_error"
	share := 0.5
	for n := range 12 {
		id := fmt.Sprintf("%012x", n)
		all.Episodes = append(all.Episodes, logs.EpisodeRow{Episode: id, Config: []string{"a", "b"}[n%2], Scenario: fmt.Sprintf("s%02d", n/2), Repeat: 1, TurnsMax: 2,
			TurnsPassed: &one, TurnsPassedShare: &share, EndReason: &failed, Validity: logs.ValidityValid, Mode: "fail-stop"})
		all.Turns = append(all.Turns, logs.TurnRow{Episode: id, Passed: &yes}, logs.TurnRow{Episode: id, Turn: 1, Passed: &no})
		all.Attempts = append(all.Attempts, logs.AttemptRow{Episode: id, Attempt: &attempt, Passed: &yes}, logs.AttemptRow{Episode: id, Turn: 1, Attempt: &attempt, Passed: &no})
		v := logs.VerdictRow{Episode: id, Turn: 1, AnnotatorKind: logs.AnnotatorContract, Annotator: "rules", L1: "drift", Leaf: &drift, Strength: logs.StrengthStrong}
		if n%2 == 1 {
			v.AnnotatorKind, v.Annotator, v.L1, v.Leaf, v.Strength = logs.AnnotatorJudge, "tiny:1", "infra", &infra, logs.StrengthJudged
		}
		all.Verdicts = append(all.Verdicts, v)
	}
	all.SetEnds()
	dir := t.TempDir()
	if err := logs.WriteTables(dir, all); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNotValidated: wherever a share of causes rests on a judge whom no audit has validated, it says so.
func TestNotValidated(t *testing.T) {
	dir := judgedTables(t)
	const banner = "NOT VALIDATED: a judge decided 6 of 12 ends"
	for _, form := range []string{"--md", "--latex", "--json", "--quiet", "--causes", "--csv"} {
		out, errs := judgeStint(t, exitDone, "compare", dir, form)
		if form == "--csv" { // a table of numbers has no place for it
			out = errs
		}
		if n := strings.Count(strings.Join(strings.Fields(out), " "), banner); n != 1 {
			t.Errorf("compare %s says it %d times:\n%s", form, n, out)
		}
	}
	if out, _ := judgeStint(t, exitDone, "compare", dir, "--causes", "--json"); !strings.Contains(out, banner) {
		t.Errorf("causes as JSON:\n%s", out)
	}
	if out, _ := judgeStint(t, exitDone, "compare", dir, "--filter", "config:a"); strings.Contains(out, "NOT VALIDATED") {
		t.Errorf("of runs that no judge decided about:\n%s", out)
	}
	made := filepath.Join(t.TempDir(), "report")
	judgeStint(t, exitDone, "report", dir, "-o", made)
	for _, name := range []string{"index.html", "report.md", "summary.json", "results.tex", "tables/configurations.tex", "tables/causes.tex"} {
		if b, err := os.ReadFile(filepath.Join(made, name)); err != nil || !strings.Contains(string(b), banner) {
			t.Errorf("%s of the report does not say it: %v", name, err)
		}
	}
}
