package episode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// scriptedSpec is a short episode with small suites, so that a test plays it in milliseconds.
func scriptedSpec(t testing.TB, script func(harness.Request) act) (Spec, *scripted) {
	t.Helper()
	p := play(t, 3, 3)
	agent := newScripted(t, p, script)
	s := specOf(t.TempDir(), p, agent, noSandbox(t))

	return s, agent
}

// small keeps a handful of checks per turn, among them those that a wrong order of lists fails.
func small(p *played) *played {
	out := &played{scenario: p.scenario}
	for _, s := range p.suites {
		few := *s
		few.Checks = nil
		for _, c := range s.Checks {
			if c.Category == "list" || c.Category == "health" {
				few.Checks = append(few.Checks, c)
			}
		}
		out.suites = append(out.suites, &few)
	}
	return out
}

func root(s Spec) string { return filepath.Dir(filepath.Dir(s.Dir)) }

func want(t *testing.T, s Spec, lines string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(strings.ReplaceAll(lines, "\t", "")), "\n"), essential(kinds(t, s))); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestFullPass(t *testing.T) {
	s, agent := scriptedSpec(t, func(harness.Request) act { return act{} })
	if end := mustRun(t, s); end.Reason != EndCapped || end.TurnsPassed != 4 || !end.Valid() {
		t.Errorf("end %+v", end)
	}
	_, tables := digests(t, root(s))
	if e := tables.Episodes[0]; *e.TurnsPassed != 4 || *e.ChangesPassed != 3 || e.Validity != logs.ValidityValid {
		t.Errorf("episode %+v", e)
	}
	if n := len(agent.requests); n != 4 {
		t.Errorf("%d attempts, want 4", n)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "work")); !os.IsNotExist(err) {
		t.Errorf("the scratch folder is still there: %v", err)
	}
	// Running it again does nothing.
	before, _ := os.ReadFile(filepath.Join(s.Dir, logs.JournalName))
	if end := mustRun(t, s); !end.Already || end.Reason != EndCapped {
		t.Errorf("second run: %+v", end)
	}
	if after, _ := os.ReadFile(filepath.Join(s.Dir, logs.JournalName)); string(after) != string(before) {
		t.Error("the second run wrote to the journal")
	}
}

func TestFailedTurn(t *testing.T) {
	s, agent := scriptedSpec(t, func(r harness.Request) act { return act{fail: r.Turn == 2} })
	if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 2 {
		t.Errorf("end %+v", end)
	}
	want(t, s, `resume
		attempt.start 0.0 first
		grade.end 0.0 passed
		turn.end 0
		attempt.start 1.0 first
		grade.end 1.0 passed
		turn.end 1
		attempt.start 2.0 first
		grade.end 2.0 checks
		feedback.sent 2.0
		attempt.start 2.1 retry
		grade.end 2.1 checks
		feedback.sent 2.1
		attempt.start 2.2 retry
		grade.end 2.2 checks
		turn.end 2
		episode.end failed`)
	_, tables := digests(t, root(s))
	if turn := tables.Turns[2]; *turn.Passed || *turn.AttemptsUsed != 3 {
		t.Errorf("turn 2: %+v", turn)
	}
	if !strings.Contains(agent.requests[3].Prompt, "does not yet meet") || !strings.Contains(agent.requests[3].Prompt, "Request: POST") {
		t.Errorf("the retry was told %q", agent.requests[3].Prompt)
	}
}

// Attempt 0 is told the same at every level and budget; a retry is told what its level says.
func TestPrompts(t *testing.T) {
	first := map[string]string{}
	for _, level := range []string{"none", "minimal", "moderate", "detailed"} {
		for _, retries := range []int{0, 1, 5} {
			if level == "none" && retries > 0 || level == "moderate" && retries != 1 {
				continue
			}
			s, agent := scriptedSpec(t, at(1, 0, act{fail: true}))
			s.Start.Feedback, s.Start.Retries = level, retries
			mustRun(t, s)
			for _, r := range agent.requests {
				key := fmt.Sprintf("%d", r.Turn)
				if r.Attempt > 0 {
					key += "/" + level
				}
				if old, ok := first[key]; ok && old != r.Prompt {
					t.Errorf("%s with %d retries: turn %d attempt %d was told something else", level, retries, r.Turn, r.Attempt)
				}
				first[key] = r.Prompt
			}
		}
	}
	if first["1/minimal"] == first["1/moderate"] || first["1/moderate"] == first["1/detailed"] {
		t.Error("levels of feedback do not differ")
	}
}

func TestSpecFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(outside, []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, agent := scriptedSpec(t, func(r harness.Request) act {
		return act{do: func(r harness.Request) {
			text, err := os.ReadFile(filepath.Join(r.Workspace, specName))
			if err != nil || !strings.HasSuffix(string(text), "Anything else must be in this folder.\n") {
				t.Errorf("turn %d: SPEC.md is %.60q… (%v)", r.Turn, text, err)
			}
			// The next turn must replace the link, not follow it.
			os.Remove(filepath.Join(r.Workspace, specName))
			if err := os.Symlink(outside, filepath.Join(r.Workspace, specName)); err != nil {
				t.Error(err)
			}
		}}
	})
	mustRun(t, s)
	if len(agent.requests) != 4 {
		t.Errorf("%d attempts", len(agent.requests))
	}
	if b, _ := os.ReadFile(outside); string(b) != "untouched" {
		t.Errorf("a file outside the workspace is now %.40q", b)
	}
}

// A cut attempt that fails is replaced from the state before it; the row it leaves is void.
func TestProcessRetry(t *testing.T) {
	s, agent := scriptedSpec(t, func(r harness.Request) act {
		do := act{do: func(r harness.Request) {
			leftover := filepath.Join(r.Workspace, fmt.Sprintf("leftover-%d.%d", r.Turn, r.Attempt))
			if _, err := os.Stat(leftover); err == nil {
				t.Errorf("turn %d attempt %d try %d: the replaced try left a file behind", r.Turn, r.Attempt, r.Try)
			}
			before := r.Attempt + []int{0, 1, 4, 5}[r.Turn]
			if memory, _ := os.ReadFile(filepath.Join(r.Home, "memory")); strings.Count(string(memory), "\n") != before {
				t.Errorf("turn %d attempt %d try %d starts with memory %q", r.Turn, r.Attempt, r.Try, memory)
			}
			if err := os.WriteFile(leftover, nil, 0o644); err != nil {
				t.Error(err)
			}
		}}
		if r.Turn == 1 && (r.Attempt == 0 || r.Attempt == 1) {
			do.fail, do.completion = true, harness.CompletionCut
		}
		if r.Turn == 2 { // passes, however it ended
			do.completion, do.limit = harness.CompletionCut, "wall"
		}
		return do
	})
	if end := mustRun(t, s); end.Reason != EndCapped {
		t.Errorf("end %+v", end)
	}
	want(t, s, `resume
		attempt.start 0.0 first
		grade.end 0.0 passed
		turn.end 0
		attempt.start 1.0 first
		grade.end 1.0 checks
		void 1.0 process_retry
		attempt.start 1.0 process_retry
		grade.end 1.0 checks
		feedback.sent 1.0
		attempt.start 1.1 retry
		grade.end 1.1 checks
		feedback.sent 1.1
		attempt.start 1.2 retry
		grade.end 1.2 passed
		turn.end 1
		attempt.start 2.0 first
		grade.end 2.0 passed
		turn.end 2
		attempt.start 3.0 first
		grade.end 3.0 passed
		turn.end 3
		episode.end capped`)
	if r := agent.requests[2]; r.Try != 1 || r.Prompt != agent.requests[1].Prompt {
		t.Errorf("the process retry is try %d", r.Try)
	}
	_, tables := digests(t, root(s))
	if in := *tables.Episodes[0].Tokens.Input; in != 7000 {
		t.Errorf("%d input tokens, want those of all seven tries", in)
	}
}

// Process retries keep the prompt of their attempt, also when it was feedback.
func TestProcessRetryOfRetry(t *testing.T) {
	s, agent := scriptedSpec(t, func(r harness.Request) act {
		switch {
		case r.Turn == 1 && r.Attempt == 0:
			return act{fail: true}
		case r.Turn == 1 && r.Attempt == 1 && r.Try == 0:
			return act{nothing: true, completion: harness.CompletionEmpty}
		}
		return act{}
	})
	mustRun(t, s)
	a, b := agent.requests[2], agent.requests[3]
	if a.Prompt != b.Prompt || b.Kind != harness.KindProcessRetry || b.Attempt != 1 {
		t.Errorf("prompts differ or kind is %s, attempt %d", b.Kind, b.Attempt)
	}
}

func TestVoids(t *testing.T) {
	spawn := &sandbox.SpawnError{What: "bwrap", Err: errors.New("no namespaces")}
	for _, tt := range []struct {
		name   string
		times  int
		do     act
		reason string
		voids  int
	}{
		{"rate limit that passes", 4, act{void: harness.VoidRateLimit}, EndCapped, 4},
		{"rate limit", 9, act{void: harness.VoidRateLimit}, EndProvider, 5},
		{"provider", 9, act{void: harness.VoidProviderError}, EndProvider, 5},
		{"sandbox", 9, act{err: spawn}, EndHost, 5},
		{"host", 9, act{err: errors.New("no such device")}, EndHost, 5},
		{"setup", 9, act{void: harness.VoidSetup}, EndBench, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			s, agent := scriptedSpec(t, func(r harness.Request) act {
				if r.Turn == 1 && n < tt.times {
					n++
					return tt.do
				}
				return act{}
			})
			end := mustRun(t, s)
			if end.Reason != tt.reason || end.TurnsPassed != map[bool]int{true: 4, false: 1}[tt.reason == EndCapped] {
				t.Errorf("end %+v, want %s", end, tt.reason)
			}
			voids := 0
			for _, k := range kinds(t, s) {
				if strings.HasPrefix(k, logs.TypeVoid) {
					voids++
				}
			}
			if voids != tt.voids {
				t.Errorf("%d voids, want %d", voids, tt.voids)
			}
			_, tables := digests(t, root(s))
			if e := tables.Episodes[0]; (e.Validity == logs.ValidityStopped) != (tt.reason != EndCapped) {
				t.Errorf("validity %s", e.Validity)
			}
			if tt.reason == EndCapped {
				return
			}
			// The same command does nothing; --retry stopped goes on with the same attempt.
			if end := mustRun(t, s); !end.Already {
				t.Error("a stopped episode was run again without being asked")
			}
			n = tt.times
			s.Retry = true
			if end := mustRun(t, s); end.Reason != EndCapped {
				t.Errorf("after --retry stopped: %+v", end)
			}
			if r := agent.requests[len(agent.requests)-3]; r.Turn != 1 || r.Attempt != 0 {
				t.Errorf("went on with turn %d attempt %d", r.Turn, r.Attempt)
			}
		})
	}
}

// An attempt without a provider is void, whatever the workspace holds: it is not graded.
func TestVoidIsNotGraded(t *testing.T) {
	s, _ := scriptedSpec(t, func(r harness.Request) act {
		if r.Turn == 0 && r.Try == 0 {
			return act{void: harness.VoidRateLimit} // and it has written a perfect server
		}
		return act{fail: true}
	})
	if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 0 {
		t.Errorf("end %+v", end)
	}
}

func TestEpisodeBudget(t *testing.T) {
	s, _ := scriptedSpec(t, func(r harness.Request) act { return act{spend: 1} })
	s.EpisodeUSD = 2.5
	end := mustRun(t, s)
	if end.Reason != EndBudget || end.TurnsPassed != 3 {
		t.Errorf("end %+v", end)
	}
	s.EpisodeUSD, s.Retry = 10, true
	if end := mustRun(t, s); end.Reason != EndCapped {
		t.Errorf("with more money: %+v", end)
	}
}

// The budget refuses in the middle of an attempt: it is void, and the episode ends.
func TestEpisodeBudgetCutsAttempt(t *testing.T) {
	s, _ := scriptedSpec(t, func(r harness.Request) act {
		return act{spend: 1, do: func(r harness.Request) {
			usd := 3.0
			if r.Turn == 1 {
				_ = r.Spent(logs.Usage{USD: &usd})
			}
		}}
	})
	s.EpisodeUSD = 2.5
	if end := mustRun(t, s); end.Reason != EndBudget || end.TurnsPassed != 1 {
		t.Errorf("end %+v", end)
	}
	if k := essential(kinds(t, s)); k[len(k)-2] != "void 1.0 budget" {
		t.Errorf("journal %q", k)
	}
}

func TestStudyBudget(t *testing.T) {
	study := &gateway.Budget{Scope: gateway.ScopeStudy, USD: 1.5}
	s, _ := scriptedSpec(t, func(r harness.Request) act { return act{spend: 1} })
	s.Spent = study.Charge
	_, err := Run(context.Background(), s)
	var refused *gateway.BudgetError
	if !errors.As(err, &refused) || refused.Scope != gateway.ScopeStudy {
		t.Fatalf("error %v", err)
	}
	if k := essential(kinds(t, s)); k[len(k)-1] != "turn.end 1" {
		t.Errorf("journal ends with %q", k[len(k)-1])
	}
	s.Spent = nil
	if end := mustRun(t, s); end.Reason != EndCapped {
		t.Errorf("with more money: %+v", end)
	}
}

// Ctrl-C: the attempt is cut and recorded, the same call starts it again, and it does not count.
func TestInterrupt(t *testing.T) {
	times := 0
	cancel := func() {}
	s, agent := scriptedSpec(t, func(r harness.Request) act {
		if r.Turn == 1 && times < 7 {
			times++
			return act{until: func(ctx context.Context) { cancel(); <-ctx.Done() }}
		}
		return act{}
	})
	for range 7 {
		ctx, stop := context.WithCancel(context.Background())
		cancel = stop
		if _, err := Run(ctx, s); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		stop()
	}
	if end := mustRun(t, s); end.Reason != EndCapped {
		t.Errorf("end %+v", end)
	}
	for _, r := range agent.requests {
		if r.Attempt != 0 || r.Try != 0 {
			t.Errorf("turn %d: attempt %d, try %d", r.Turn, r.Attempt, r.Try)
		}
	}
	_, tables := digests(t, root(s))
	if n := len(tables.Attempts); n != 4+7 {
		t.Errorf("%d attempt rows, want 4 and 7 void ones", n)
	}
}

func TestContinueMode(t *testing.T) {
	s, _ := scriptedSpec(t, func(r harness.Request) act { return act{fail: r.Turn == 1, regress: r.Turn == 3} })
	s.Start.Mode, s.Start.Retries = ModeContinue, 0
	s.MaxChecks = 0
	if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 1 {
		t.Errorf("end %+v", end)
	}
	_, tables := digests(t, root(s))
	if e := tables.Episodes[0]; *e.TurnsPassed != 1 || *e.TurnsPassedShare != 0.5 {
		t.Errorf("T %d, share %v", *e.TurnsPassed, *e.TurnsPassedShare)
	}
	for _, c := range tables.Checks {
		if c.Turn == 3 && c.Introduced < 2 && (c.LastPassedTurn == nil || *c.LastPassedTurn != 2) {
			t.Errorf("turn 3, check %s of turn %d: last passed %v, want 2", c.Check, c.Introduced, c.LastPassedTurn)
		}
		if c.Turn == 1 && c.Introduced == 0 && (c.LastPassedTurn == nil || *c.LastPassedTurn != 0) {
			t.Errorf("turn 1, check %s of turn 0: last passed %v, want 0", c.Check, c.LastPassedTurn)
		}
		if c.Introduced == c.Turn && c.LastPassedTurn != nil {
			t.Errorf("turn %d, new check %s: last passed %d", c.Turn, c.Check, *c.LastPassedTurn)
		}
	}
}

// A workspace over the limits fails the attempt, and the next one starts from the state before it.
func TestSnapshotTooLarge(t *testing.T) {
	s, agent := scriptedSpec(t, func(r harness.Request) act {
		big := filepath.Join(r.Workspace, "big")
		if r.Turn == 1 && r.Attempt == 0 {
			return act{do: func(harness.Request) {
				if err := os.WriteFile(big, make([]byte, 300_000), 0o644); err != nil {
					t.Error(err)
				}
			}}
		}
		if _, err := os.Stat(big); err == nil {
			t.Errorf("turn %d attempt %d starts with the large file", r.Turn, r.Attempt)
		}
		if spec, err := os.ReadFile(filepath.Join(r.Workspace, specName)); err != nil || !strings.Contains(string(spec), play(t, 3, 3).scenario.Steps[r.Turn].Spec[:200]) {
			t.Errorf("turn %d attempt %d starts with SPEC.md %.60q (%v)", r.Turn, r.Attempt, spec, err)
		}
		return act{}
	})
	s.Snapshot.MaxBytes = 200_000
	if end := mustRun(t, s); end.Reason != EndCapped {
		t.Errorf("end %+v", end)
	}
	// The conversation is the one before the attempt, so it is asked again.
	if p := agent.requests[2].Prompt; !strings.Contains(p, "too large") || strings.Contains(p, s.Dir) || !strings.HasPrefix(p, strings.TrimRight(agent.requests[1].Prompt, "\n")) {
		t.Errorf("feedback %q", p)
	}
}

// A HOME over the limits is not kept: the next attempt starts with none and is told everything, also after an interruption.
func TestHomeTooLarge(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		cut, cancel := false, func() {}
		s, agent := scriptedSpec(t, func(r harness.Request) act {
			memory, err := os.ReadFile(filepath.Join(r.Home, "memory"))
			if _, bigErr := os.Stat(filepath.Join(r.Home, "big")); bigErr == nil || (err == nil) != (r.Turn > 0 && !(r.Turn == 1 && r.Attempt == 1)) {
				t.Errorf("turn %d attempt %d starts with memory %q", r.Turn, r.Attempt, memory)
			}
			if r.Turn == 1 && r.Attempt == 1 && interrupted && !cut {
				cut = true
				return act{until: func(ctx context.Context) { cancel(); <-ctx.Done() }}
			}
			return act{fail: r.Turn == 1 && r.Attempt == 0, do: func(r harness.Request) {
				if r.Turn != 1 || r.Attempt > 0 {
					return
				}
				if err := os.WriteFile(filepath.Join(r.Home, "big"), make([]byte, 300_000), 0o644); err != nil {
					t.Error(err)
				}
			}}
		})
		s.Snapshot.MaxBytes = 200_000
		if interrupted {
			ctx, stop := context.WithCancel(context.Background())
			cancel = stop
			if _, err := Run(ctx, s); !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v", err)
			}
		}
		if end := mustRun(t, s); end.Reason != EndCapped {
			t.Errorf("end %+v", end)
		}
		if p := agent.requests[2].Prompt; !strings.HasPrefix(p, strings.TrimRight(agent.requests[1].Prompt, "\n")) || !strings.Contains(p, "does not yet meet") {
			t.Errorf("the retry was told %q", p)
		}
	}
}

// An agent may delete its own folder, or make it a link: the attempt failed, and nothing else happens.
func TestWorkspaceDeleted(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "precious"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := scriptedSpec(t, func(r harness.Request) act {
		return act{nothing: r.Turn == 1 && r.Attempt < 2, do: func(r harness.Request) {
			if r.Turn != 1 || r.Attempt > 1 {
				return
			}
			if err := os.RemoveAll(r.Workspace); err != nil {
				t.Error(err)
			}
			if r.Attempt == 1 {
				if err := os.Symlink(outside, r.Workspace); err != nil {
					t.Error(err)
				}
			}
		}}
	})
	if end := mustRun(t, s); end.Reason != EndCapped {
		t.Errorf("end %+v; journal %q", end, essential(kinds(t, s)))
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Error(err)
	}
}

// A grader that fails is tried three times on the same snapshot; then the episode is stopped, not failed.
func TestGraderFails(t *testing.T) {
	broken := true
	s, agent := scriptedSpec(t, func(r harness.Request) act {
		if r.Turn == 1 && broken {
			return act{handlerErr: errors.New("the grader fell over")}
		}
		return act{}
	})
	if end := mustRun(t, s); end.Reason != EndBench || end.TurnsPassed != 1 {
		t.Errorf("end %+v", end)
	}
	want(t, s, `resume
		attempt.start 0.0 first
		grade.end 0.0 passed
		turn.end 0
		attempt.start 1.0 first
		grade.end 1.0 bench_grader
		grade.end 1.0 bench_grader
		grade.end 1.0 bench_grader
		episode.end bench`)
	agent.handlerErr, broken, s.Retry = nil, false, true
	if end := mustRun(t, s); end.Reason != EndCapped || len(agent.requests) != 4 {
		t.Errorf("after --retry stopped: %+v, %d attempts", end, len(agent.requests))
	}
	digests(t, root(s))
}

func TestOtherJournal(t *testing.T) {
	s, _ := scriptedSpec(t, func(harness.Request) act { return act{} })
	mustRun(t, s)
	s.Start.Seed++
	if _, err := Run(context.Background(), s); err == nil || !strings.Contains(err.Error(), `seed "7", now it is "8"`) {
		t.Errorf("error %v", err)
	}
}

// A full disk ends the run with an error that names the place; what was recorded stays, and the same call goes on.
func TestDiskFull(t *testing.T) {
	whole, _ := scriptedSpec(t, at(1, 0, act{fail: true}))
	mustRun(t, whole)
	undisturbed, _ := digests(t, root(whole))
	for n := 1; n < 14; n += 3 {
		s, _ := scriptedSpec(t, at(1, 0, act{fail: true}))
		syncs := 0
		s.Journal.Sync = func(f *os.File) error {
			if syncs++; syncs == n {
				return &os.PathError{Op: "sync", Path: f.Name(), Err: syscall.ENOSPC}
			}
			return nil
		}
		_, err := Run(context.Background(), s)
		var hint interface{ Hint() string }
		if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &hint) || !strings.Contains(err.Error(), s.Dir) {
			t.Fatalf("sync %d: error %v", n, err)
		}
		mustRun(t, s)
		if got, _ := digests(t, root(s)); got != undisturbed {
			t.Errorf("sync %d: the digest differs from that of the undisturbed run", n)
		}
	}
}
