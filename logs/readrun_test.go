package logs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenCase is a case of testdata/turns.json.
type goldenCase struct {
	ID    string `json:"id"`
	Input struct {
		Changes, Retries int
		Mode             string
		Turns            [][]string
		End              *string
	} `json:"input"`
	Expected struct {
		TurnsMax  int      `json:"turns_max"`
		T         *int     `json:"turns_passed"`
		Status    *string  `json:"status"`
		EndReason *string  `json:"end_reason"`
		Validity  string   `json:"validity"`
		Changes   *int     `json:"changes_passed"`
		Full      bool     `json:"full_pass"`
		Share     *float64 `json:"turns_passed_share"`
	} `json:"expected"`
}

// playGolden writes the journal a case describes.
func playGolden(t *testing.T, d *RunDir, c goldenCase) {
	p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: c.ID, Content: c.ID}, TurnsMax: c.Input.Changes + 1, Retries: c.Input.Retries, Mode: c.Input.Mode})
	leading, broken := 0, false
	for turn, attempts := range c.Input.Turns {
		p.begin(turn)
		kind := "first"
		if len(attempts) == 0 {
			p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
		}
		for _, outcome := range attempts {
			p.work(kind)
			switch outcome {
			case "void":
				p.add(TypeVoid, Void{Reason: "provider_error"})
				continue
			case "pass":
				p.grade(true)
				p.add(TypeTurnEnd, TurnEnd{Passed: true, AttemptsUsed: p.try + 1})
				if !broken {
					leading++
				}
			case "fail":
				p.grade(false)
				if broken = true; p.try == c.Input.Retries {
					p.add(TypeTurnEnd, TurnEnd{Passed: false, AttemptsUsed: p.try + 1})
				} else {
					p.add(TypeFeedbackSent, FeedbackSent{Level: "minimal", Bytes: 40})
					broken = false // the turn is not lost yet
				}
			}
			p.try, kind = p.try+1, "retry"
		}
	}
	if c.Input.End != nil {
		p.finish(*c.Input.End, leading)
	}
	p.j.Close()
}

func TestGoldenTurns(t *testing.T) {
	var golden struct{ Cases []goldenCase }
	if err := json.Unmarshal(readFile(t, "testdata/turns.json"), &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 16 {
		t.Fatalf("only %d cases", len(golden.Cases))
	}
	for _, c := range golden.Cases {
		t.Run(c.ID, func(t *testing.T) {
			d := newRun(t)
			playGolden(t, d, c)
			tables := d.mustRead(t)
			e, want := tables.Episodes[0], c.Expected
			status := map[string]*string{"failed": ptr("F"), "capped": ptr("C"), "stopped": ptr("S")}[e.Status()]
			if e.Validity == ValidityIncomplete || e.Mode == modeTeleport {
				status = nil
			}
			type summary struct {
				TurnsMax          int
				T, Changes        *int
				Status, EndReason *string
				Validity          string
				Full              bool
			}
			got := summary{e.TurnsMax, e.TurnsPassed, e.ChangesPassed, status, e.EndReason, e.Validity, e.Full()}
			if diff := cmp.Diff(summary{want.TurnsMax, want.T, want.Changes, want.Status, want.EndReason, want.Validity, want.Full}, got); diff != "" {
				t.Errorf("−want +got\n%s", diff)
			}
			if want.Share != nil && (e.TurnsPassedShare == nil || *e.TurnsPassedShare != *want.Share) {
				t.Errorf("share %v, want %v", e.TurnsPassedShare, *want.Share)
			}
			checkGoldenOutcome(t, tables, c)
		})
	}
}

// checkGoldenOutcome compares what the statistics get with what the tables hold.
func checkGoldenOutcome(t *testing.T, tables *Tables, c goldenCase) {
	set, err := tables.Outcomes("turns_passed")
	if c.Input.Mode == modeTeleport {
		if err == nil {
			t.Error("turns_passed is defined under teleport")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	o := set.Rows[0]
	passed := 0
	for passed < len(c.Input.Turns) && slices.Contains(c.Input.Turns[passed], "pass") {
		passed++
	}
	if *o.Value != float64(passed) || set.Cap != float64(c.Expected.TurnsMax) || len(o.Attempts) != passed {
		t.Errorf("outcome %v of %v, attempts %v, want %d", *o.Value, set.Cap, o.Attempts, passed)
	}
	if incomplete := c.Input.End == nil; o.Incomplete != incomplete || incomplete && (o.Status != StatusStopped || set.Incomplete != 1) {
		t.Errorf("status %s, incomplete %v", o.Status, o.Incomplete)
	}
}

func TestReadRun(t *testing.T) {
	d := newRun(t)
	p := eventful(t, d, "s01")
	tables := d.mustRead(t)
	e := tables.Episodes[0]
	if *e.TurnsPassed != 2 || e.Validity != "valid" || *e.EndReason != "failed" || *e.ModelReturned != "weak-1, weak-2" {
		t.Errorf("episode: %+v", e)
	}
	// Counted: turn 0; turn 1's replaced try, process retry and retry; turn 2's two attempts. The
	// retry of turn 1 counts what its gateway saw.
	if *e.Input != 100+100+100+1000+100+100 || *e.Output != 10*5+99 || *e.CostUSD != 0.25*5+2 {
		t.Errorf("tokens %d/%d, cost %v", *e.Input, *e.Output, *e.CostUSD)
	}
	if *e.WastedTokens != 8 || *e.WastedUSD != 0.5 {
		t.Errorf("wasted %d, %v", *e.WastedTokens, *e.WastedUSD)
	}
	if *e.LOC != 42 || e.Sandbox != "none f00" || e.Seed != 1<<63+7 {
		t.Errorf("loc %d, sandbox %q, seed %d", *e.LOC, e.Sandbox, e.Seed)
	}
	var attempts []string
	for _, a := range tables.Attempts {
		s := fmt.Sprintf("%d.", a.Turn)
		if a.Attempt != nil {
			s += fmt.Sprint(*a.Attempt)
		} else {
			s += fmt.Sprintf("(%d %s)", *a.VoidOf, *a.VoidReason)
		}
		s += " " + a.Kind
		if a.Passed != nil {
			s += fmt.Sprint(" ", *a.Passed)
		}
		attempts = append(attempts, s)
	}
	if diff := cmp.Diff([]string{"0.0 first true", "1.(0 rate_limit) first", "1.(0 process_retry) first false", "1.0 process_retry false",
		"1.1 retry true", "2.0 first false", "2.1 retry false"}, attempts); diff != "" {
		t.Errorf("attempts −want +got\n%s", diff)
	}
	retry := tables.Attempts[4]
	if *retry.Input != 1000 || *retry.ReportedInput != 100 || *tables.Attempts[3].FeedbackBytes != 33 || *retry.EndedBy != "self" {
		t.Errorf("retry: %+v", retry)
	}
	var checks []string
	for _, c := range tables.Checks {
		checks = append(checks, fmt.Sprintf("%d.%d %s", c.Turn, c.Attempt, c.Check))
	}
	if diff := cmp.Diff([]string{"1.0 k0.below", "1.0 k1.below", "2.0 k0.below", "2.0 k1.below", "2.1 k9"}, checks); diff != "" {
		t.Errorf("checks −want +got\n%s", diff)
	}
	turn := tables.Turns[1]
	if *turn.ChangeText != "change 1" || !slices.Equal(turn.ClausesAdded, []string{"c1", "c2"}) || len(turn.ClausesChanged) != 0 || *turn.AttemptsUsed != 2 {
		t.Errorf("turn: %+v", turn)
	}
	// Every row points at its line.
	raw := readFile(t, filepath.Join(d.Root, filepath.FromSlash(turn.File)))
	if line := string(raw[turn.Offset : turn.Offset+turn.Length]); !strings.Contains(line, `"type":"turn.start"`) || !strings.HasSuffix(line, "\n") {
		t.Errorf("the turn's place holds %q", line)
	}
	if e.Episode != p.id || e.File != "episodes/"+p.id+"/journal.jsonl" {
		t.Errorf("episode %s in %s", e.Episode, e.File)
	}
	if f := e.Factors(); f["session"] != "fresh" || f["model"] != "m" || f["retries"] != "1" {
		t.Errorf("factors %v", f)
	}
}

// TestDigestIgnoresAccidents plays the same episode calmly and with interruptions.
func TestDigestIgnoresAccidents(t *testing.T) {
	calmRun, roughRun := newRun(t), newRun(t)
	one := func(d *RunDir, rough bool) {
		p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 1, Mode: modeFailStop, Sandbox: SandboxUsed{Kind: map[bool]string{true: "none", false: "bubblewrap"}[rough]}})
		p.begin(0)
		if rough {
			p.add(TypeAttemptStart, AttemptStart{Kind: "first"})
			p.restart()
			p.add(TypeVoid, Void{Reason: "host", Evidence: "stint ended"})
		}
		p.work("first")
		if rough {
			p.fails(1)
			p.restart()
		}
		p.fails(2)
		text := "read tcp 127.0.0.1:4711->127.0.0.1:80: connection reset by peer"
		if rough {
			text = "read tcp 127.0.0.1:1234->127.0.0.1:81: connection reset by peer"
		}
		p.add(TypeCheckFail, CheckFail{Check: "k7", Status: "error", Actual: text})
		p.add(TypeGradeEnd, GradeEnd{Passed: ptr(false), Reason: "checks", GradeS: map[bool]float64{true: 2, false: 1}[rough]})
		p.add(TypeTurnEnd, TurnEnd{AttemptsUsed: 1})
		p.finish("failed", 0)
	}
	one(calmRun, false)
	one(roughRun, true)
	calm, rough := calmRun.mustRead(t), roughRun.mustRead(t)
	if diff := cmp.Diff(Digest(calm), Digest(rough)); diff != "" {
		t.Errorf("the digests differ:\n%s", diff)
	}
	if len(rough.Attempts) != 2 {
		t.Errorf("%d attempts, want the void one too", len(rough.Attempts))
	}
	// Each table's digest sees a change of a column it covers, and of that table alone.
	for name, change := range map[string]func(*Tables){
		"episodes": func(t *Tables) { t.Episodes[0].TurnsPassed = ptr(7) },
		"turns":    func(t *Tables) { t.Turns[0].ClausesAdded = []string{"c1c2"} },
		"attempts": func(t *Tables) { t.Attempts[0].Files = nil },
		"checks":   func(t *Tables) { t.Checks[0].Actual = "202" },
	} {
		changed := calm.clone()
		change(&changed)
		for table, sum := range Digest(&changed) {
			if same := sum == Digest(calm)[table]; same == (table == name) {
				t.Errorf("after a change of %s the digest of %s is the same: %v", name, table, same)
			}
		}
	}
}

func TestClassOf(t *testing.T) {
	for in, want := range map[string]string{
		"no answer: connection refused":                                       "refused",
		"no answer: nothing within 5 s":                                       "timeout",
		"no answer: the connection was closed before the answer was complete": "cut",
		"no answer: a row that it needs was not made":                         "no answer: a row that it needs was not made",
		"Get \"http://127.0.0.1:1\": EOF":                                     "cut",
		"read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer":   "reset",
		`400; body = {"error":{"code":"refused","field":"timeout"}}`:          `400; body = {"error":{"code":"refused","field":"timeout"}}`,
		"": "",
	} {
		if got := classOf(in); got != want {
			t.Errorf("%q has class %q, want %q", in, got, want)
		}
	}
}

func TestDigestIsStable(t *testing.T) {
	d := newRun(t)
	eventful(t, d, "s01")
	// Written down once: a change means that digests of earlier runs can no longer be compared.
	got := Digest(d.mustRead(t))
	golden := filepath.Join("testdata", "digest.json")
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.TrimSpace(string(readFile(t, golden))), string(text)); diff != "" {
		t.Errorf("−want +got\n%s", diff)
	}
}

func TestReadRunProblems(t *testing.T) {
	d := newRun(t)
	good := eventful(t, d, "s01")
	torn := eventful(t, d, "s02")
	damaged := eventful(t, d, "s03")
	write := func(id string, edit func([]byte) []byte) {
		path := filepath.Join(d.EpisodeDir(id), JournalName)
		if err := os.WriteFile(path, edit(readFile(t, path)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(torn.id, func(b []byte) []byte { return b[:len(b)-5] })
	write(damaged.id, func(b []byte) []byte {
		return []byte(strings.Replace(string(b), `"type":"turn.end","data":{"passed":true`, `"type":"turn.end","data":{"passed":TRUE`, 1))
	})
	if err := os.MkdirAll(d.EpisodeDir("0123456789ab"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d.EpisodeDir(good.id), d.EpisodeDir("ffffffffffff")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(d.EpisodeDir(good.id), "blobs")); err != nil {
		t.Fatal(err)
	}
	calls := 0
	tables, problems, err := ReadRun(d, func(done, total int) { calls++ })
	if err != nil || calls != 4 {
		t.Fatal(calls, err)
	}
	state := map[string]string{}
	for _, e := range tables.Episodes {
		state[e.Scenario] = e.Validity
	}
	if diff := cmp.Diff(map[string]string{"s01": "valid", "s02": "incomplete", "s03": "incomplete"}, state); diff != "" {
		t.Error(diff)
	}
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"torn tail", torn.id, damaged.id + "/journal.jsonl:", "chain does not fit", "no journal yet", "change text"} {
		if !strings.Contains(text, want) {
			t.Errorf("no problem says %q:\n%s", want, text)
		}
	}
}

func TestStoppedEpisodeTriedAgain(t *testing.T) {
	d := newRun(t)
	p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 2, Mode: modeFailStop, Retries: 1})
	p.begin(0)
	p.work("first")
	p.grade(false)
	p.add(TypeFeedbackSent, FeedbackSent{})
	p.try = 1
	p.add(TypeAttemptStart, AttemptStart{Kind: "retry"})
	p.add(TypeVoid, Void{Reason: "provider_error"})
	p.finish("provider", 0)
	if e := d.mustRead(t).Episodes[0]; e.Validity != "stopped" || *e.TurnsPassed != 0 || e.Status() != StatusStopped || e.WastedTokens != nil {
		t.Errorf("%+v", e)
	}
	p.open()
	p.resume()
	p.begin(0)
	p.try = 1
	p.work("retry")
	p.grade(true)
	p.add(TypeTurnEnd, TurnEnd{Passed: true, AttemptsUsed: 2})
	if tables := d.mustRead(t); tables.Episodes[0].Validity != "incomplete" || len(tables.Turns) != 1 || len(tables.Attempts) != 3 {
		t.Errorf("%+v", tables)
	}
}

// TestEndIsDecidedByTurns writes ends that the turns contradict.
func TestEndIsDecidedByTurns(t *testing.T) {
	d := newRun(t)
	// The last retry had failed when the money ended.
	p := play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s01"}, TurnsMax: 9, Mode: modeFailStop})
	p.begin(0)
	p.work("first")
	p.grade(false)
	p.add(TypeTurnEnd, TurnEnd{AttemptsUsed: 1})
	p.finish("budget", 0)
	// The episode ended together with its turn.
	p = play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s02"}, TurnsMax: 9, Mode: modeFailStop})
	p.begin(0)
	p.work("first")
	p.grade(false)
	p.finish("failed", 0)
	tables := d.mustRead(t)
	for i := range tables.Episodes {
		if e := &tables.Episodes[i]; e.Status() != StatusFailed || *e.TurnsPassed != 0 {
			t.Errorf("%s ended %s after %d turns", e.Scenario, e.Status(), *e.TurnsPassed)
		}
		if turn := tables.Turns[i]; turn.Passed == nil || *turn.Passed || *turn.AttemptsUsed != 1 {
			t.Errorf("turn of %s: %+v", turn.Episode, turn)
		}
	}
	// A wrong count is a problem, and the turns count.
	p = play(t, d, EpisodeStart{Scenario: ScenarioRef{ID: "s03"}, TurnsMax: 1, Mode: modeFailStop})
	p.begin(0)
	p.work("first")
	p.grade(true)
	p.add(TypeTurnEnd, TurnEnd{Passed: true, AttemptsUsed: 1})
	p.finish("capped", 7)
	tables, problems, err := ReadRun(d, nil)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), "7 turns passed") || *tables.Episodes[2].TurnsPassed != 1 {
		t.Errorf("%v %v", problems, err)
	}
}

func TestOpenRunDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	mustWrite(t, file, "", 0o644)
	for _, root := range []string{dir, file, filepath.Join(dir, "none")} {
		_, err := OpenRunDir(root)
		if err == nil || !strings.Contains(err.Error(), root+" is no run directory (no study.yaml, no episodes/)") {
			t.Errorf("%s: %v", root, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "episodes"), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := OpenRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := d.Episodes(); err != nil || len(ids) != 0 {
		t.Error(ids, err)
	}
}

func TestEpisodeID(t *testing.T) {
	// Python: hashlib.sha256(b"demo\0m+h/none/r0\x009f2c\x001").hexdigest()[:12]
	if got := EpisodeID("demo", "m+h/none/r0", "9f2c", 1); got != "cc6d960225b5" {
		t.Errorf("id %s", got)
	}
}

func BenchmarkReadRun(b *testing.B) {
	d := newRun(b)
	for i := range 8 {
		eventful(b, d, fmt.Sprintf("s%02d", i))
	}
	var size int64
	for _, id := range must(d.Episodes()) {
		size += int64(len(readFile(b, filepath.Join(d.EpisodeDir(id), JournalName))))
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, _, err := ReadRun(d, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
