package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// player writes the journal of an episode the way the loop does.
type player struct {
	t     testing.TB
	run   *RunDir
	id    string
	start EpisodeStart
	j     *Journal
	blobs *Blobs
	turn  int
	try   int
	epoch int
}

func newRun(t testing.TB) *RunDir {
	t.Helper()
	root := t.TempDir()
	mustWrite(t, filepath.Join(root, "study.yaml"), "version: 1\n", 0o644)
	d, err := OpenRunDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func play(t testing.TB, d *RunDir, start EpisodeStart) *player {
	t.Helper()
	if start.Config == "" {
		start.Config = "weak+simulated/minimal/r2"
	}
	if start.Repeat == 0 {
		start.Repeat = 1
	}
	start.Study = "test"
	p := &player{t: t, run: d, start: start, id: EpisodeID(start.Study, start.Config, start.Scenario.ID, start.Repeat)}
	blobs, err := OpenBlobs(filepath.Join(d.EpisodeDir(p.id), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	blobs.sync = func(*os.File) error { return nil }
	p.blobs = blobs
	p.open()
	p.add(TypeEpisodeStart, start)
	p.resume()
	return p
}

func (p *player) open() {
	p.t.Helper()
	j, _, err := OpenJournal(p.run.EpisodeDir(p.id), p.id, JournalOptions{Now: tick(), Sync: func(*os.File) error { return nil }})
	if err != nil {
		p.t.Fatal(err)
	}
	p.j = j
}

func (p *player) add(typ string, data any) {
	p.t.Helper()
	var turn, attempt *int
	if typ != TypeEpisodeStart && typ != TypeResume && typ != TypeEpisodeEnd {
		turn = &p.turn
		if typ != TypeTurnStart && typ != TypeTurnEnd {
			attempt = &p.try
		}
	}
	if err := p.j.Append(typ, turn, attempt, data, false); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) resume() {
	p.epoch++
	p.add(TypeResume, Resume{Epoch: p.epoch, Host: "host", PID: 1})
}

// restart closes the journal and opens it again, as a second process does.
func (p *player) restart() {
	p.j.Close()
	p.open()
	p.resume()
}

func (p *player) begin(turn int) {
	p.turn, p.try = turn, 0
	sha, err := p.blobs.Put(fmt.Appendf(nil, "change %d", turn))
	if err != nil {
		p.t.Fatal(err)
	}
	p.add(TypeTurnStart, TurnStart{Operation: fmt.Sprintf("set_range:%08d", turn), Name: "set_range", Label: "T", ChangeSHA: sha,
		Clauses: ClauseChanges{Added: []ClauseRef{{ID: "c1"}, {ID: "c2"}}, Removed: []string{"c0"}}, Suite: SuiteRef{SHA: "suite", Checks: 10}})
}

// work runs the agent up to the snapshot.
func (p *player) work(kind string) {
	p.add(TypeAttemptStart, AttemptStart{Kind: kind})
	p.add(TypeAgentExit, AgentExit{Exit: ptr(0), By: "self", Completion: "clean", AgentS: 1.5})
	p.add(TypeUsage, Usage{Via: "reader", ModelReturned: "weak-1", In: ptr(int64(100)), Cached: ptr(int64(50)), CacheWrite: ptr(int64(0)), Out: ptr(int64(10)), Reasoning: ptr(int64(2)), Requests: ptr(int64(3)), USD: ptr(0.25)})
	p.add(TypeSnapshot, SnapshotTaken{Tree: "tree", Files: 3, LOC: 40 + int64(p.turn), Added: 5, Deleted: 1, HomeSHA: "home"})
}

func (p *player) fails(n int) {
	for i := range n {
		p.add(TypeCheckFail, CheckFail{Check: fmt.Sprintf("k%d.below", i), Clauses: []string{"c1", "c2"}, Category: "validation", Intent: "reject",
			Status: "fail", Age: "old", Introduced: 0, LastPassed: ptr(p.turn - 1), Expected: "400", Actual: "201", Confirmed: ptr(true)})
	}
}

func (p *player) grade(passed bool) {
	if !passed {
		p.fails(2)
	}
	p.add(TypeSuiteEnd, SuiteEnd{Checks: 10, Runs: 1})
	reason := map[bool]string{true: "passed", false: "checks"}[passed]
	p.add(TypeGradeEnd, GradeEnd{Passed: &passed, Reason: reason, GradeS: 0.5})
}

func (p *player) finish(reason string, passed int) {
	p.add(TypeEpisodeEnd, EpisodeEnd{EndReason: reason, TurnsPassed: passed})
	p.j.Close()
}

func (d *RunDir) mustRead(t testing.TB) *Tables {
	t.Helper()
	tables, problems, err := ReadRun(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error("problem:", p)
	}
	return tables
}

// eventful plays an episode with everything in it: a void attempt, a process retry, a grading that
// is repeated, a restart in the middle of another.
func eventful(t testing.TB, d *RunDir, scenario string) *player {
	p := play(t, d, EpisodeStart{Config: "m+h/minimal/r1/session=fresh", Model: ModelAsked{Asked: "m"}, Harness: HarnessUsed{Name: "h", Version: "1"},
		Feedback: "minimal", Retries: 1, ProcessRetries: 1, Session: "fresh", Scenario: ScenarioRef{ID: scenario, Content: scenario}, TurnsMax: 3,
		Mode: modeFailStop, Seed: 1<<63 + 7, Sandbox: SandboxUsed{Kind: "none", Fingerprint: "f00"}})
	p.begin(0)
	p.work("first")
	p.grade(true)
	p.add(TypeTurnEnd, TurnEnd{Passed: true, AttemptsUsed: 1})
	p.begin(1)
	p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
	p.add(TypeUsage, Usage{Via: "gateway", In: ptr(int64(7)), Out: ptr(int64(1)), USD: ptr(0.5)})
	p.add(TypeVoid, Void{Reason: "rate_limit"})
	p.work("first")
	p.grade(false)
	p.add(TypeVoid, Void{Reason: "process_retry"})
	p.work("process_retry")
	p.fails(3)
	p.add(TypeGradeEnd, GradeEnd{Reason: "bench_reference"})
	p.fails(2)
	p.restart()
	p.grade(false)
	p.add(TypeFeedbackSent, FeedbackSent{Level: "minimal", Bytes: 33})
	p.try = 1
	p.work("retry")
	p.add(TypeUsage, Usage{Via: "gateway", ModelReturned: "weak-2", In: ptr(int64(1000)), Cached: ptr(int64(0)), CacheWrite: ptr(int64(0)), Out: ptr(int64(99)), Reasoning: ptr(int64(0)), USD: ptr(2.0)})
	p.grade(true)
	p.add(TypeTurnEnd, TurnEnd{Passed: true, AttemptsUsed: 2})
	p.begin(2)
	p.work("first")
	p.grade(false)
	p.try = 1
	p.work("retry")
	p.add(TypeCheckFail, CheckFail{Check: "k9", Status: "error", Actual: "dial tcp 127.0.0.1:34567: connect: connection refused"})
	p.add(TypeGradeEnd, GradeEnd{Passed: ptr(false), Reason: "crash"})
	p.add(TypeTurnEnd, TurnEnd{Passed: false, AttemptsUsed: 2})
	p.finish("failed", 2)
	return p
}
