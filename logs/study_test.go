package logs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// studySize says how large a made-up run directory is.
type studySize struct{ configs, scenarios, turns int }

// largeStudy is what the bar of two seconds is about.
var largeStudy = studySize{26, 20, 101}

// makeStudy writes the journals and logs of a whole study, with records as long and as many as those of
// real episodes. Nine of ten episodes pass every turn, so that they are as long as they can be.
func makeStudy(t testing.TB, d *RunDir, size studySize) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	for c := range size.configs {
		for s := range size.scenarios {
			last := size.turns
			if rnd.IntN(10) == 0 {
				last = rnd.IntN(size.turns)
			}
			longEpisode(t, d, rnd, fmt.Sprintf("model-%02d+simulated/detailed/r2", c), fmt.Sprintf("s%02d", s+1), size.turns, last)
		}
	}
}

// longEpisode plays turns until the one that fails, or all of them.
func longEpisode(t testing.TB, d *RunDir, rnd *rand.Rand, config, scenario string, turns, fails int) {
	p := play(t, d, EpisodeStart{Config: config, Model: ModelAsked{Asked: "model"}, Harness: HarnessUsed{Name: "simulated", Version: "1"}, Feedback: "detailed", Retries: 2,
		Session: "continue", Delivery: "delta+file", Scenario: ScenarioRef{ID: scenario, Content: fmt.Sprintf("%064x", scenario)}, TurnsMax: turns, Mode: modeFailStop,
		Sandbox: SandboxUsed{Kind: "none", Fingerprint: strings.Repeat("f", 64)}})
	defer p.j.Close()
	log := p.put(trajectory(12))
	sha := strings.Repeat("a", 64)
	for turn := range turns {
		p.turn, p.try = turn, 0
		refs := 2
		if turn == 0 {
			refs = 45
		}
		clauses := ClauseChanges{Added: []ClauseRef{}, Changed: []ClauseRef{}, Removed: []string{}}
		for i := range refs {
			clauses.Added = append(clauses.Added, ClauseRef{ID: fmt.Sprintf("c%d_%d", turn, i), Kind: "range", Title: "booking.nights between 1 and 30",
				Text: "`nights` of a booking is at least 1 and at most 30. A value outside is refused: 400 with code `range` and field `nights`."})
		}
		p.add(TypeTurnStart, TurnStart{Operation: fmt.Sprintf("set_range:%08x", turn), Name: "set_range", Label: "T", Clauses: clauses,
			Suite:     SuiteRef{SHA: sha, Checks: 150 + 3*turn, ByAge: map[string]int{"new": 6, "changed": 2, "old": 140 + 3*turn}},
			ChangeSHA: p.put(strings.Repeat(fmt.Sprintf("In turn %d every booking must carry `nights`. ", turn), 8)), SpecSHA: sha})
		attempts := 1 + rnd.IntN(10)/8
		for p.try = range attempts {
			passed := p.try == attempts-1 && turn != fails
			p.longAttempt(log, passed, 150+3*turn)
		}
		p.add(TypeTurnEnd, TurnEnd{Passed: turn != fails, AttemptsUsed: attempts})
		if turn == fails {
			p.add(TypeEpisodeEnd, EpisodeEnd{EndReason: "failed", TurnsPassed: turn})
			return
		}
	}
	p.add(TypeEpisodeEnd, EpisodeEnd{EndReason: "capped", TurnsPassed: turns})
}

func (p *player) longAttempt(log string, passed bool, checks int) {
	sha := strings.Repeat("b", 64)
	kind := map[bool]string{true: "first", false: "retry"}[p.try == 0]
	p.add(TypeAttemptStart, AttemptStart{Kind: kind, PromptSHA: sha, PromptTokens: 400})
	p.add(TypeAgentExit, AgentExit{Exit: ptr(0), By: "self", Completion: "clean", Detail: "The service now does what the specification says.", AgentS: 61.5, ToolCalls: 12,
		Log: LogRef{Reader: simulatedReader, Blob: log}})
	p.add(TypeUsage, Usage{Via: "reader", ModelReturned: "model-2026", In: ptr(int64(31234)), Cached: ptr(int64(20123)), CacheWrite: ptr(int64(0)), Out: ptr(int64(2345)), Reasoning: ptr(int64(0)), Requests: ptr(int64(13)), USD: ptr(0.0625)})
	p.add(TypeSnapshot, SnapshotTaken{Tree: sha, Files: 12, Bytes: 40_000, LOC: 900, Added: 30, Deleted: 5, HomeSHA: sha})
	for w := range 3 {
		p.add(TypeServerReady, ServerReady{World: fmt.Sprintf("W%d", w), MS: 120.5})
	}
	failed := 0
	if !passed {
		failed = 10
		for i := range failed {
			p.add(TypeCheckFail, CheckFail{Check: fmt.Sprintf("c%d.range.below.post", i), Title: "POST /bookings refuses nights below the range", Clauses: []string{"c0_1", "c0_2"},
				Category: "validation", Intent: "reject", Mutation: "range", Status: "fail", Age: "old", LastPassed: ptr(max(p.turn-1, 0)), Confirmed: ptr(true), Blob: sha,
				Request: `POST /bookings {"ends_on":"2027-01-02","nights":0,"season":"low","subject":"amber"}`, Expected: `400; body.error.code = "range"; body.error.field = "nights"`,
				Actual: `201; body = {"ends_on":"2027-01-02","id":7,"nights":0,"season":"low","subject":"amber"}`})
		}
	}
	p.add(TypeSuiteEnd, SuiteEnd{Checks: checks, Failed: failed, Requests: 2 * checks, MS: 900, Runs: 1})
	p.add(TypeGradeEnd, GradeEnd{Passed: &passed, Reason: map[bool]string{true: "passed", false: "checks"}[passed], GradeS: 2.5, Result: sha})
	if !passed {
		p.add(TypeFeedbackSent, FeedbackSent{Level: "detailed", SHA: sha, Bytes: 1200})
	}
}

func (p *player) put(content string) string {
	sha, err := p.blobs.Put([]byte(content))
	if err != nil {
		p.t.Fatal(err)
	}
	return sha
}

// trajectory is the log of a simulated agent that calls tools so many times.
func trajectory(calls int) string {
	var b strings.Builder
	b.WriteString(`{"seq":0,"actor":"harness","kind":"message","text":"Every booking must now carry nights."}` + "\n")
	for i := range calls {
		fmt.Fprintf(&b, `{"seq":%d,"actor":"model","kind":"tool_call","tool":"bash","call_id":"call-%d","text":"cat SPEC.md"}`+"\n", 2*i+1, i)
		fmt.Fprintf(&b, `{"seq":%d,"actor":"tool","kind":"tool_result","tool":"bash","call_id":"call-%d","text":"(the specification)"}`+"\n", 2*i+2, i)
	}
	fmt.Fprintf(&b, `{"seq":%d,"actor":"harness","kind":"end","exit":0}`+"\n", 2*calls+1)
	return b.String()
}

// BenchmarkStudy reads and writes a study of 26 configurations × 20 scenarios × 101 turns. With
// STINT_BENCH_DIR the run directory is made there and kept, for the command to be timed on it.
func BenchmarkStudy(b *testing.B) {
	d := newRun(b)
	if root := os.Getenv("STINT_BENCH_DIR"); root != "" {
		if err := os.MkdirAll(root+"/episodes", 0o755); err != nil {
			b.Fatal(err)
		}
		d = &RunDir{Root: root}
	}
	if ids, err := d.Episodes(); err != nil || len(ids) == 0 {
		makeStudy(b, d, largeStudy)
	}
	b.Run("IngestRun", func(b *testing.B) {
		for b.Loop() {
			if _, problems, err := IngestRun(d, d.TablesDir(), IngestOptions{}); err != nil || len(problems) > 0 {
				b.Fatal(err, problems)
			}
		}
	})
	b.Run("ReadRun", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := ReadRun(d, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ReadForOutcomes", func(b *testing.B) {
		if !d.Fresh() {
			b.Fatal("the tables are not fresh")
		}
		for b.Loop() {
			if _, _, err := ReadForOutcomes(d, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ReadRunForOutcomes", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := ReadRunWith(d, ReadOptions{Outcomes: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ReadTables", func(b *testing.B) {
		for b.Loop() {
			if _, err := ReadTables(d.TablesDir()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
