package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// runnerLogs are the fixtures in testdata/runner: files, and folders that are one log.
func runnerLogs(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", "runner"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "README" && !strings.HasSuffix(e.Name(), ".golden") {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names
}

// readPaths reads logs as a user names them.
func readPaths(t *testing.T, paths ...string) ([]LogRecord, []FileReport) {
	t.Helper()
	r, err := Open(ReaderOptions{}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []LogRecord
	for r.Next() {
		out = append(out, r.Record())
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out, r.Files()
}

func shown[T any](name string, p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(" %s=%v", name, *p)
}

func shownTokens(t Tokens) string {
	return shown("in", t.Input) + shown("cached", t.Cached) + shown("write", t.CacheWrite) + shown("out", t.Output) + shown("reasoning", t.Reasoning)
}

// recordLine writes down what a row says.
func recordLine(r LogRecord) string {
	short := func(s string) string { return clip(strings.ReplaceAll(s, "\n", "|"), 90) }
	switch {
	case r.Episode != nil:
		e := r.Episode
		return fmt.Sprintf("EPISODE %s %s#%d study=%q model=%s harness=%s %s max=%d", e.Config, e.Scenario, e.Repeat, e.Study, e.Model, strings.TrimSpace(e.Harness+" "+e.HarnessVersion), e.Validity, e.TurnsMax) +
			shown("T", e.TurnsPassed) + shown("share", e.TurnsPassedShare) + shown("end", e.EndReason) + shown("returned", e.ModelReturned) + shown("usd", e.CostUSD) + shownTokens(e.Tokens)
	case r.Turn != nil:
		t := r.Turn
		return fmt.Sprintf("TURN %d checks=%d", t.Turn, t.Checks) + shown("passed", t.Passed) + short(shown("text", t.ChangeText))
	case r.Attempt != nil:
		a := r.Attempt
		rep := Tokens{a.ReportedInput, a.ReportedCached, a.ReportedCacheWrite, a.ReportedOutput, a.ReportedReasoning}
		line := fmt.Sprintf("ATTEMPT %d", a.Turn) + shown("passed", a.Passed) + shown("grade", a.GradeReason) + shown("completion", a.Completion) + shown("by", a.EndedBy) + shown("agent_s", a.AgentS) + shown("grade_s", a.GradeS) +
			shown("added", a.LinesAdded) + shown("deleted", a.LinesDeleted) + shown("files", a.Files) + shown("usd", a.CostUSD) + shownTokens(a.Tokens)
		if rep != (Tokens{}) {
			line += " reported:" + shownTokens(rep)
		}
		return line
	case r.Check != nil:
		c := r.Check
		return short(fmt.Sprintf("CHECK %s %s %s age=%s expected=%q actual=%q", c.Check, c.Category, c.Status, c.Age, c.Expected, c.Actual))
	case r.Event != nil:
		e := r.Event
		return fmt.Sprintf("  %s %s %s%s%s%s%s%s%s: %s", e.Actor, e.Channel, e.Kind, shown("tool", e.Tool), shown("call", e.CallID), shown("exit", e.ExitCode), shown("http", e.HTTPStatus), shown("s", e.DurationS), shownTokens(e.Tokens), short(e.Text))
	case r.Problem != nil:
		return "PROBLEM " + short(fmt.Sprintf("%s:%d @%d %s", filepath.Base(r.Problem.File), r.Problem.Line, r.Problem.Offset, r.Problem.Text))
	}
	return fmt.Sprintf("OTHER %+v", r)
}

// The golden file was read through line by line against the samples.
func TestRunnerLogs(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, name := range runnerLogs(t) {
		records, files := readPaths(t, filepath.Join("testdata", "runner", name))
		fmt.Fprintf(&all, "== %s\n", name)
		for _, f := range files {
			what := f.Format
			if f.Beside {
				what += ", beside"
			}
			if f.Unverified {
				what += ", unverified"
			}
			rel, _ := filepath.Rel(filepath.Join("testdata", "runner"), filepath.FromSlash(f.Path))
			fmt.Fprintf(&all, "FILE %s: %s", filepath.ToSlash(rel), what)
			if len(f.Unknown) > 0 {
				fmt.Fprintf(&all, " unknown %v", f.UnknownKinds())
			}
			fmt.Fprintln(&all)
		}
		for _, r := range records {
			fmt.Fprintln(&all, recordLine(r))
		}
		fmt.Fprintln(&all)
	}
	checkGolden(t, filepath.Join("..", "runner", "runners.golden"), all.String())
}
