package study

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// TestModes plays the same agent, whose servers are code, under the two modes in which a failed turn ends nothing.
func TestModes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal(err)
		}
		t.Skip("needs python3")
	}
	exe, err := os.Executable() // TestMain serves when it is started as a server
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"continue", "teleport"} {
		text := replaced(t, small, "[sim, strong]", "sim, feedback: none, retries: 0", "seed: 5", "seed: 3\nmode: "+mode, "simulate: weak", "simulate: weak, transport: python",
			"count: 4, changes: 1", "count: 2, changes: 2", "analysis:\n  families:\n    - {name: models, by: model}\n", "")
		dir := t.TempDir()
		sum, err := mustParse(t, text).Run(t.Context(), RunOptions{Dir: dir, Stint: exe})
		if err != nil || sum.Valid != 2 {
			t.Fatalf("%s: %+v, %v", mode, sum, err)
		}
		tables, problems, err := logs.ReadRun(&logs.RunDir{Root: dir}, nil)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		if len(tables.Turns) != 6 {
			t.Errorf("%s: %d turns, want 6: a failed turn ended an episode", mode, len(tables.Turns))
		}
		passed := map[string]float64{}
		failed := 0
		for _, turn := range tables.Turns {
			if *turn.Passed {
				passed[turn.Episode]++
			} else {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s: no turn failed: choose another seed", mode)
		}
		for _, e := range tables.Episodes {
			if e.Mode != mode || *e.TurnsPassedShare != passed[e.Episode]/3 || (e.TurnsPassed == nil) != (mode == "teleport") {
				t.Errorf("%s: share %v, T %v, mode %q; %v of 3 turns passed", mode, *e.TurnsPassedShare, e.TurnsPassed, e.Mode, passed[e.Episode])
			}
		}
		if want := map[string]string{"continue": "turns_passed", "teleport": "share"}[mode]; tables.UsualOutcome() != want {
			t.Errorf("%s is compared by %s", mode, tables.UsualOutcome())
		}
	}
}
