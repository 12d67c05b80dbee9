package episode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// TestMain lets the test binary stand for stint: its servers, its grader, and a run that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__serve":
			os.Exit(harness.ServeMain(os.Args[2:], os.Getenv, os.Stdout))
		case "__grade":
			os.Exit(GradeMain(os.Stdin, os.Stdout))
		case sandbox.ContainedVerb:
			os.Exit(sandbox.ContainedMain(os.Args[2:], func([]string) int { return GradeMain(os.Stdin, os.Stdout) }))
		case "__killed":
			os.Exit(killedMain(os.Args[2:]))
		}
	}
	os.Exit(inMemory(m.Run))
}

// inMemory runs the tests with their temporary folders in memory, where there is such a place: an episode waits for
// the disk at every attempt, and here hundreds are played.
func inMemory(run func() int) int {
	dir, err := os.MkdirTemp("/dev/shm", "stint-test-")
	if err != nil {
		return run()
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return run()
	}
	return run()
}

// played is a scenario with its suites.
type played struct {
	scenario *scenario.Scenario
	suites   []*suite.Suite
}

var (
	playedMu  sync.Mutex
	playedAll = map[[2]uint64]*played{}
)

func scenarioOf(seed uint64, changes int) (*played, error) {
	playedMu.Lock()
	defer playedMu.Unlock()
	key := [2]uint64{seed, uint64(changes)}
	if p := playedAll[key]; p != nil {
		return p, nil
	}
	sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: changes, Name: "s01"})
	if err != nil {
		return nil, err
	}
	p := &played{scenario: sc}
	for turn := range sc.Steps {
		s, err := suite.Generate(sc, turn)
		if err != nil {
			return nil, err
		}
		p.suites = append(p.suites, s)
	}
	playedAll[key] = p
	return p, nil
}

// specOf is an episode of an agent, in a fresh run directory.
func specOf(root string, p *played, agent harness.Agent, box *sandbox.Sandbox) Spec {
	content := suite.ContentHash(p.scenario, p.suites)
	start := logs.EpisodeStart{
		Study: "test", Config: "test+" + agent.Name(), Model: logs.ModelAsked{Asked: "test"},
		Harness: logs.HarnessUsed{Name: agent.Name(), Version: agent.Version()}, Feedback: "detailed", Retries: 2, ProcessRetries: 1,
		Session: harness.SessionContinue, Delivery: deliveryDeltaFile, Mode: ModeFailStop,
		Scenario: logs.ScenarioRef{ID: p.scenario.Name, Content: content}, Repeat: 1, Seed: 7, TurnsMax: len(p.suites),
		Sandbox: logs.SandboxUsed{Kind: box.Kind()},
	}
	id := logs.EpisodeID(start.Study, start.Config, content, 1)
	return Spec{Dir: filepath.Join(root, "episodes", id), ID: id, Start: start, Scenario: p.scenario, Suites: p.suites, Agent: agent, Sandbox: box,
		Journal: logs.JournalOptions{Sync: func(*os.File) error { return nil }}, Host: "host-a", VoidWait: func(int) time.Duration { return 0 }}
}

func noSandbox(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.New(context.Background(), sandbox.Options{Kind: sandbox.KindNone, Trusted: true, Runtimes: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func play(t testing.TB, seed uint64, changes int) *played {
	t.Helper()
	p, err := scenarioOf(seed, changes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRun(t testing.TB, s Spec) End {
	t.Helper()
	end, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// digests of the run directory, and every problem ReadRun had with it.
func digests(t testing.TB, root string) (string, *logs.Tables) {
	t.Helper()
	tables, problems, err := logs.ReadRun(&logs.RunDir{Root: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("problem: %s", p)
	}
	return fmt.Sprint(logs.Digest(tables)), tables
}
