package main

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// TestReproduceAgentsCode serves what a scripted model built, in the sandbox it was built in, and finds the failure again;
// where that sandbox is not to be had the code is not started.
func TestReproduceAgentsCode(t *testing.T) {
	requireProgram(t, "python3", "for the service that the scripted model builds")
	requireBubblewrap(t)
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	model := httptest.NewServer(&harness.ModelSim{Script: (&builder{run: run, behind: map[int]bool{1: true}}).script})
	defer model.Close()
	url := model.URL + "/v1"
	writeFile(t, dir, "prices.yaml", builderPrices)
	writeFile(t, dir, "study.yaml", fmt.Sprintf(builderStudy, url, url, "bubblewrap"))
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q", "--only", "model:faulty scenario:s01")
	d, err := logs.OpenRunDir(run)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := d.Episodes()
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	a, err := findAttempt(&env{Self: "stint"}, d, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	base, stop := serve(t, dir, a.id(), "bubblewrap")
	if base == "" {
		t.FailNow()
	}
	if code, out := script(t, d.Root, a.id(), "", base); code != 1 {
		t.Errorf("exit code %d, want 1: %s", code, out)
	}
	stop()

	// A machine without bubblewrap.
	cmd := command(t, dir, []string{"PATH=" + t.TempDir()}, "reproduce", "run", a.id(), "--serve")
	out, _ := cmd.CombinedOutput()
	const want = "hint: only if you trust this code with your files and your network: add --sandbox none"
	if cmd.ProcessState.ExitCode() != exitInput || !strings.Contains(string(out), want) {
		t.Errorf("exit code %d, printed\n%s", cmd.ProcessState.ExitCode(), out)
	}
}
