package view

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
)

// A played episode is a journal that a test writes as the loop does.
type played struct {
	t      testing.TB
	id     string
	j      *logs.Journal
	change string // what every turn asks for: a blob
	turn   int
}

// playedRun is an empty run directory.
func playedRun(t testing.TB) *logs.RunDir {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "study.yaml"), []byte("version: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := logs.OpenRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func play(t testing.TB, d *logs.RunDir, config, scenario string, turns int) *played {
	t.Helper()
	p := &played{t: t, id: logs.EpisodeID("played", config, scenario, 1)}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var err error
	p.j, _, err = logs.OpenJournal(d.EpisodeDir(p.id), p.id, logs.JournalOptions{Sync: func(*os.File) error { return nil },
		Now: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.j.Close() })
	blobs, err := logs.OpenBlobs(filepath.Join(d.EpisodeDir(p.id), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	if p.change, err = blobs.Put([]byte("Change something.\n")); err != nil {
		t.Fatal(err)
	}
	p.add(logs.TypeEpisodeStart, -1, false, logs.EpisodeStart{Study: "played", Config: config, Repeat: 1, TurnsMax: turns, Mode: "fail-stop",
		Scenario: logs.ScenarioRef{ID: scenario, Content: scenario}, Model: logs.ModelAsked{Asked: "m"}, Harness: logs.HarnessUsed{Name: "h"}, Session: "continue"})
	p.add(logs.TypeResume, -1, false, logs.Resume{Epoch: 1, Host: "host", PID: 1})
	return p
}

func (p *played) add(kind string, turn int, attempt bool, data any) {
	p.t.Helper()
	var at, try *int
	if turn >= 0 {
		at = &turn
	}
	if attempt {
		try = ptr(0)
	}
	if err := p.j.Append(kind, at, try, data, false); err != nil {
		p.t.Fatal(err)
	}
}

// take plays the next turn; a failed one has so many failing checks.
func (p *played) take(failing int) {
	n := p.turn
	p.turn++
	p.add(logs.TypeTurnStart, n, false, logs.TurnStart{Operation: fmt.Sprintf("set_range:%08d", n), Name: "set_range", Label: "T", ChangeSHA: p.change,
		Clauses: logs.ClauseChanges{Added: []logs.ClauseRef{{ID: fmt.Sprintf("c%d", n)}}}, Suite: logs.SuiteRef{SHA: "suite", Checks: 10}})
	p.add(logs.TypeAttemptStart, n, true, logs.AttemptStart{Kind: "first"})
	p.add(logs.TypeAgentExit, n, true, logs.AgentExit{Exit: ptr(0), By: "self", Completion: "clean", AgentS: 1.5})
	p.add(logs.TypeUsage, n, true, logs.Usage{Via: "reader", In: ptr(int64(100)), Out: ptr(int64(10)), USD: ptr(0.25)})
	p.add(logs.TypeSnapshot, n, true, logs.SnapshotTaken{Tree: "tree", Files: 3})
	for i := range failing {
		p.add(logs.TypeCheckFail, n, true, logs.CheckFail{Check: fmt.Sprintf("k%d.below", i), Clauses: []string{"c0"}, Category: "validation", Intent: "reject",
			Status: "fail", Age: "old", Expected: "400; code = \"range\"", Actual: "201; {}", Confirmed: ptr(true)})
	}
	passed, reason := failing == 0, "checks"
	if passed {
		reason = "passed"
	}
	p.add(logs.TypeSuiteEnd, n, true, logs.SuiteEnd{Checks: 10, Runs: 1})
	p.add(logs.TypeGradeEnd, n, true, logs.GradeEnd{Passed: &passed, Reason: reason, GradeS: 0.5})
	p.add(logs.TypeTurnEnd, n, false, logs.TurnEnd{Passed: passed, AttemptsUsed: 1})
}

func (p *played) finish(reason string, passed int) {
	p.add(logs.TypeEpisodeEnd, -1, false, logs.EpisodeEnd{EndReason: reason, TurnsPassed: passed})
	p.j.Close()
}
