package episode

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// entries lists a folder.
func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// Every turn starts from the correct code of the turn before, with an empty HOME, whatever the agent left; a failed turn
// ends nothing, and T does not exist.
func TestTeleport(t *testing.T) {
	var s Spec
	wrong := map[[2]int]bool{{1, 0}: true, {1, 1}: true, {1, 2}: true, {3, 0}: true}
	s, _ = scriptedSpec(t, func(r harness.Request) act {
		return act{regress: wrong[[2]int{r.Turn, r.Attempt}], do: func(r harness.Request) {
			if r.Attempt > 0 {
				if !slices.Contains(entries(t, r.Home), "memory") {
					t.Errorf("turn %d attempt %d: HOME was emptied within the turn", r.Turn, r.Attempt)
				}
				return
			}
			want := []string{"SPEC.md"}
			if r.Turn > 0 {
				want = append(want, "server.py", "start.sh")
				dir := t.TempDir()
				if err := harness.WriteCorrect(dir, s.Scenario.Steps[r.Turn-1].Schema); err != nil {
					t.Fatal(err)
				}
				right, _ := os.ReadFile(filepath.Join(dir, "server.py"))
				if got, _ := os.ReadFile(filepath.Join(r.Workspace, "server.py")); string(got) != string(right) {
					t.Errorf("turn %d does not start from the code of turn %d", r.Turn, r.Turn-1)
				}
			}
			if d := cmp.Diff(want, entries(t, r.Workspace)); d != "" {
				t.Errorf("turn %d starts from other files:\n%s", r.Turn, d)
			}
			if left := entries(t, r.Home); len(left) > 0 {
				t.Errorf("turn %d starts with %v in HOME", r.Turn, left)
			}
		}}
	})
	s.Start.Mode = ModeTeleport
	if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 3 {
		t.Errorf("end %+v", end)
	}
	_, tables := digests(t, root(s))
	if e := tables.Episodes[0]; e.TurnsPassed != nil || e.ChangesPassed != nil || *e.TurnsPassedShare != 0.75 || e.Mode != ModeTeleport || *e.EndReason != EndFailed {
		t.Errorf("episode %+v", e)
	}
	for _, c := range tables.Checks {
		if c.LastPassedTurn == nil || *c.LastPassedTurn != c.Turn-1 {
			t.Errorf("check %s failed in turn %d, last passed in %v", c.Check, c.Turn, c.LastPassedTurn)
		}
	}
	if a := tables.Attempts[1]; a.LOC == nil || *a.LOC < 100 {
		t.Errorf("lines of code of turn 1: %v", a.LOC)
	}
	if _, err := tables.Outcomes("turns_passed"); err == nil || tables.UsualOutcome() != "share" {
		t.Errorf("turns passed can be compared: %v", err)
	}
}

// Where the prompt alone carries what is asked, every turn names the toolchain: there is no conversation that did.
func TestTeleportDelta(t *testing.T) {
	for mode, named := range map[string]int{ModeContinue: 1, ModeTeleport: 4} {
		s, agent := scriptedSpec(t, func(harness.Request) act { return act{} })
		s.Start.Mode, s.Start.Delivery = mode, deliveryDelta
		mustRun(t, s)
		n := 0
		for _, r := range agent.requests {
			n += strings.Count(r.Prompt, s.Sandbox.SpecSentence())
		}
		if n != named {
			t.Errorf("%s: %d of %d prompts name the toolchain, want %d", mode, n, len(agent.requests), named)
		}
	}
}

// An episode that was cut between turns and within one goes on from the same code bases.
func TestTeleportResumed(t *testing.T) {
	whole, _ := scriptedSpec(t, at(2, 0, act{regress: true}))
	whole.Start.Mode = ModeTeleport
	mustRun(t, whole)
	undisturbed, _ := digests(t, root(whole))
	cut, _ := scriptedSpec(t, at(2, 0, act{regress: true}))
	cut.Start.Mode = ModeTeleport
	// Each stretch dies after a few records, as if it was killed; enough of them to get further within three.
	for k := range 60 {
		if ended := stretch(t, cut, k%4+5); ended {
			break
		}
	}
	mustRun(t, cut)
	if d, _ := digests(t, root(cut)); d != undisturbed {
		t.Error("the digest differs from that of the undisturbed run")
	}
}

// stretch runs an episode until so many records are written; it reports whether the episode has ended.
func stretch(t *testing.T, s Spec, records int) (ended bool) {
	t.Helper()
	type killed struct{}
	defer func() {
		if r := recover(); r != nil && r != (killed{}) {
			panic(r)
		}
	}()
	s.Journal.AfterAppend = func(int64) {
		if records--; records == 0 {
			panic(killed{})
		}
	}
	if _, err := Run(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	return true
}

// idle is an agent that does nothing, graded as any real one is.
type idle struct{}

func (idle) Name() string    { return "idle" }
func (idle) Version() string { return "1" }

func (idle) Run(_ context.Context, r harness.Request) (harness.Result, error) {
	res := harness.Result{Exit: new(int), By: harness.BySelf, Completion: harness.CompletionClean, Usage: logs.Usage{Via: "reader"}, Log: logs.LogRef{Reader: "scripted"}}
	var err error
	res.Log.Blob, err = r.Blobs.Put([]byte("nothing"))
	return res, err
}

// The code base that a turn starts from runs: who leaves it alone fails by the checks of the change, and by no other.
func TestTeleportIdle(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		missing(t, err)
	}
	box, err := sandbox.New(context.Background(), sandbox.Options{Kind: sandbox.KindNone, Trusted: true, Runtimes: []string{}, Needs: []string{"python3"}})
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t.TempDir(), play(t, 3, 1), idle{}, box)
	s.Start.Mode, s.Start.Feedback, s.Start.Retries = ModeTeleport, "none", 0
	if end := mustRun(t, s); end.Reason != EndFailed {
		t.Errorf("end %+v", end)
	}
	_, tables := digests(t, root(s))
	for i, turn := range tables.Turns {
		step := &s.Scenario.Steps[i]
		if changed := len(step.Added)+len(step.Changed)+len(step.Removed) > 0; *turn.Passed == changed {
			t.Errorf("turn %d (%s): passed %v", i, step.Operation.ID, *turn.Passed)
		}
	}
	for _, c := range tables.Checks {
		if c.Turn > 0 && c.Age == "old" && c.LastPassedTurn == nil {
			t.Errorf("turn %d: check %s fails, which is not about the change", c.Turn, c.Check)
		}
	}
	if a := tables.Attempts[1]; a.GradeReason == nil || *a.GradeReason != "checks" {
		t.Errorf("turn 1 was graded %v", a.GradeReason)
	}
}
