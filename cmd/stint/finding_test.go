package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// arm is a simulated configuration: of its runs on 20 scenarios, as many end in the agent's own infrastructure as infra
// says, the rest in drift or at the cap, after so many turns on average. The words of the agent's log are those of guard.
type arm struct {
	config  string
	retries int
	infra   int
	full    int
	mean    float64
	guard   string
}

const (
	findingScenarios = 20
	findingTurns     = 101
)

// episodes writes the runs of an arm into the tables of a run as they would be read from its journals, verdicts aside.
func (a *arm) episodes(t *logs.Tables, rng *rand.Rand) {
	for n := range findingScenarios {
		id := fmt.Sprintf("%s%011x", string("abc"[len(t.Episodes)/findingScenarios]), n)
		passed := min(findingTurns-1, int(rng.ExpFloat64()*a.mean))
		end := "failed"
		full := n >= findingScenarios-a.full
		if full {
			passed, end = findingTurns, "capped"
		}
		model, feedback := "m", strings.Split(a.config, "/")[1]
		t.Episodes = append(t.Episodes, logs.EpisodeRow{
			Study: "finding", Episode: id, Config: a.config, Model: model, Harness: "openhands", HarnessVersion: "1", Feedback: feedback, Retries: a.retries,
			Scenario: fmt.Sprintf("s%02d", n+1), ScenarioSHA: fmt.Sprintf("%064d", n+1), Repeat: 1, TurnsMax: findingTurns, TurnsPassed: &passed,
			Mode: "fail-stop", Validity: "valid", EndReason: &end, Session: "continue", Delivery: "delta", Sandbox: "none 1",
			Place: logs.Place{File: "episodes/" + id + "/journal.jsonl", Length: 1}})
		if full {
			continue
		}
		for attempt := range a.retries + 1 {
			a.attempt(t, id, passed, attempt, n < a.infra)
		}
	}
}

// attempt fails: by the guard of the agent, which takes no step any more after its first alarm, or by a check.
func (a *arm) attempt(t *logs.Tables, id string, turn, n int, infra bool) {
	no, reason, completion, by, exit := false, "checks", "clean", "self", 0
	if infra {
		completion, exit = "cut", 1
	}
	row := logs.AttemptRow{Episode: id, Turn: turn, Attempt: &n, Passed: &no, GradeReason: &reason, Completion: &completion, EndedBy: &by, ExitCode: &exit,
		Place: logs.Place{File: "episodes/" + id + "/journal.jsonl", Offset: int64(1000*turn + 10*n + 10), Length: 10}}
	t.Attempts = append(t.Attempts, row)
	say := func(actor, channel, kind, text string) {
		e := logs.EventRow{Episode: id, Turn: turn, Attempt: &n, AttemptOffset: row.Offset, Seq: len(t.Events), Via: logs.ViaReader, Actor: actor, Channel: channel, Kind: kind, Text: text}
		if kind == logs.EventToolCall || kind == logs.EventToolResult {
			call := fmt.Sprintf("%s-%d-%d", id, turn, n)
			e.CallID = &call
		}
		t.Events = append(t.Events, e)
	}
	if !infra || n == 0 {
		say("model", logs.ChannelModel, logs.EventMessage, "I look at the service.")
		say("model", logs.ChannelModel, logs.EventToolCall, "cat server.py")
		say("tool", logs.ChannelTool, logs.EventToolResult, "the file")
	}
	if infra {
		say("harness", logs.ChannelHarness, logs.EventError, a.guard)
	} else {
		say("model", logs.ChannelModel, logs.EventMessage, "It is done.")
	}
	yes := true
	t.Checks = append(t.Checks, logs.CheckRow{Episode: id, Turn: turn, Attempt: n, Check: "k1.range", Clauses: []string{"c1"}, Category: "range", Intent: "reject", Mutation: "range", Status: "fail",
		Introduced: turn, Age: "new", Request: `POST /books {"pages":-1}`, Expected: `400; body = {"error":{"code":"range","field":"pages"}}`, Actual: "201", Confirmed: &yes})
}

// TestFindingOfThePaper: without retries the service drifts, with feedback and ten retries the agent's own infrastructure
// ends the runs; where a program's loop guard ends 13 of 20 episodes, all attempts after it fail for it, too.
func TestFindingOfThePaper(t *testing.T) {
	rng := rand.New(rand.NewPCG(2606, 19613))
	arms := []arm{
		{"m+openhands/none/r0", 0, 2, 0, 4, "AgentStuckInLoopError: Agent got stuck in a loop"},
		{"m+openhands/detailed/r10", 10, 12, 3, 40, "AgentStuckInLoopError: Agent got stuck in a loop"},
		{"m+openhands/minimal/r10", 10, 13, 2, 20, "AgentStuckInLoopError: Agent got stuck in a loop"},
	}
	tables := &logs.Tables{}
	for i := range arms {
		arms[i].episodes(tables, rng)
	}
	dir := t.TempDir()
	r, err := classify.Run(context.Background(), &logs.RunDir{Root: dir}, tables, classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tables.Verdicts = r.Verdicts
	tables.SetEnds()
	guardsPoison(t, tables, arms[2].config)
	if err := logs.WriteTables(filepath.Join(dir, "tables"), tables); err != nil {
		t.Fatal(err)
	}
	out, _ := stint(t, dir, 0, "compare", "tables", "--causes", "--json")
	var got struct{ Configs []report.Incidence }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Configs) != len(arms) {
		t.Fatalf("%d configurations", len(got.Configs))
	}
	for _, a := range arms {
		i := slices.IndexFunc(got.Configs, func(in report.Incidence) bool { return in.Config == a.config })
		in := got.Configs[i]
		count, last := map[string]int{}, map[string]float64{}
		for _, e := range in.Causes {
			count[e.Cause], last[e.Cause] = e.Runs, e.Incidence[len(e.Incidence)-1]
			if e.Cause == "infra" && e.Leaves["loop_guard"] != a.infra {
				t.Errorf("%s: leaves of infra %v", a.config, e.Leaves)
			}
			if !slices.IsSorted(e.Incidence) {
				t.Errorf("%s, %s: an incidence that falls: %v", a.config, e.Cause, e.Incidence)
			}
		}
		if drift := findingScenarios - a.full - a.infra; count["infra"] != a.infra || count["drift"] != drift || in.Full != a.full {
			t.Errorf("%s: %v, %d full; planted %d infra and %d drift", a.config, count, in.Full, a.infra, drift)
		}
		if sum := last["drift"] + last["infra"] + float64(a.full)/findingScenarios; sum < 0.999 || sum > 1.001 {
			t.Errorf("%s: incidences and full passes sum to %v", a.config, sum)
		}
		if drifts := a.retries == 0; drifts != (last["drift"] > last["infra"]) {
			t.Errorf("%s: drift %v, infrastructure %v", a.config, last["drift"], last["infra"])
		}
		if in.Bounds == nil || in.Bounds[0] != in.Mean || in.Bounds[1] <= in.Mean || in.IfUnrelated == nil || *in.IfUnrelated <= in.Mean {
			t.Errorf("%s: mean %v, bounds %v, side row %v", a.config, in.Mean, in.Bounds, in.IfUnrelated)
		}
	}
	text, _ := stint(t, dir, 0, "compare", "tables", "--causes")
	t.Log(text)
	for _, want := range []string{
		`(?m)^detailed/r10 − none/r0 +\d+–\d+–\d+ +\+\d\S* +\S+ +\d\.\de-05 +\d\.\de-05 `,
		`(?m)^ *none/r0 +drift +18/20 .* 0\.90 *$`, `(?m)^ +infra +12/20 .* 0\.60 *$`, `(?m)^ +infra +13/20 .* 0\.65 *$`,
		`13 of 20 runs ended in the agent's own infrastructure \(loop_guard 13\)`, `minimal/r10: drift \(too_lax 5\), infra \(loop_guard 13\)\.`,
		`Side row: if infrastructure ends were unrelated to progress; never tested\.`,
	} {
		if !regexp.MustCompile(want).MatchString(text) && !strings.Contains(strings.Join(strings.Fields(text), " "), strings.ReplaceAll(want, `\`, "")) {
			t.Errorf("compare does not print %s", want)
		}
	}
}

// guardsPoison: 13 episodes end with loop_guard, the reach of all their verdicts is the session, and the attempts after
// the first are no new causes.
func guardsPoison(t *testing.T, tables *logs.Tables, config string) {
	t.Helper()
	ends, reach, caused := map[string]int{}, map[string]int{}, 0
	of := map[string]bool{}
	for _, e := range tables.Episodes {
		if of[e.Episode] = e.Config == config; of[e.Episode] {
			ends[deref(e.EndLeaf)]++
		}
	}
	for _, v := range tables.Verdicts {
		if of[v.Episode] && deref(v.Leaf) == classify.LeafLoopGuard {
			reach[deref(v.Reach)]++
			if v.CausedBy != nil {
				caused++
			}
		}
	}
	if ends[classify.LeafLoopGuard] != 13 || reach["session"] != 13*11 || caused != 13*10 {
		t.Errorf("ends %v, reach %v, %d follow from an earlier attempt", ends, reach, caused)
	}
}
