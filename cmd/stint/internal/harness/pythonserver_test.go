package harness

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A simulated agent that writes Python leaves code with the faults in it, and no answer to read beside it.
func TestSimulatedPython(t *testing.T) {
	sc := simScenario(t, 3, 6)
	agent := simulatedAgent(t, SimOptions{Preset: "weak", Transport: TransportPython})
	blobs := blobsIn(t)
	planted := 0
	for seed := range uint64(12) {
		work := t.TempDir()
		for turn := range sc.Steps {
			r := Request{Turn: turn, Kind: KindFirst, Prompt: "do it", Feedback: "minimal", Workspace: work, Seed: seed, Scenario: sc, Blobs: blobs}
			res, err := agent.Run(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			state, ok, err := readState(work)
			if err != nil {
				t.Fatal(err)
			}
			if !ok || res.Void != "" || state.Turn < turn || state.Switch != nil || state.Ignored {
				continue
			}
			right := t.TempDir()
			if err := WriteCorrect(right, sc.Steps[turn].Schema); err != nil {
				t.Fatal(err)
			}
			want, _ := os.ReadFile(filepath.Join(right, "server.py"))
			got, err := os.ReadFile(filepath.Join(work, "server.py"))
			if err != nil {
				t.Fatal(err)
			}
			planted += len(state.Faults)
			if same := slices.Equal(want, got); same != (len(state.Faults) == 0) {
				t.Errorf("seed %d, turn %d: faults %+v, but the code is the correct one: %v", seed, turn, state.Faults, same)
			}
			if _, err := os.Stat(filepath.Join(work, schemaFile)); err == nil {
				t.Errorf("seed %d, turn %d: %s is there", seed, turn, schemaFile)
			}
			if b, _ := os.ReadFile(filepath.Join(work, startFile)); !strings.Contains(string(b), "exec python3 server.py") {
				t.Errorf("start.sh is %q", b)
			}
		}
	}
	if planted < 5 {
		t.Errorf("only %d faults were planted", planted)
	}
}
