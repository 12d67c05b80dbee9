package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

const smallStudy = `version: 1
name: small
seed: 5
scenarios: {count: 1, changes: 4}
configs:
  - {model: sim, harness: simulated, feedback: none, retries: 0}
  - {model: sim, harness: simulated, feedback: detailed, retries: 2}
models:
  sim: {simulate: weak}
analysis:
  families:
    - {name: feedback, pairs: all}
`

// command starts this test binary as stint.
func command(t *testing.T, dir string, extra []string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asStintVar+"=1")
	cmd.Env = append(cmd.Env, extra...)
	return cmd
}

// stint runs the command to its end and fails the test unless it exits with want.
func stint(t *testing.T, dir string, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, dir, nil, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("stint %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, want, errs.String())
	}
	return out.String(), errs.String()
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// digests reads a run's journals and returns its digests and the number of journal records.
func digests(t *testing.T, run string) (map[string]string, int) {
	t.Helper()
	d, err := logs.OpenRunDir(run)
	if err != nil {
		t.Fatal(err)
	}
	tables, problems, err := logs.ReadRun(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Fatalf("%s: %v", run, problems)
	}
	ids, err := d.Episodes()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, id := range ids {
		records, torn, err := logs.ReadJournal(filepath.Join(d.EpisodeDir(id), "journal.jsonl"))
		if err != nil || torn != nil {
			t.Fatalf("journal of %s: %v, torn %v", id, err, torn)
		}
		n += len(records)
	}
	return logs.Digest(tables), n
}

// TestKilledRunsResumeToTheSameDigest ends a study by kill -9 when its journals have reached record k, for ten
// seeded k, starts the same command again, and compares with an undisturbed run.
func TestKilledRunsResumeToTheSameDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", smallStudy)
	stint(t, dir, 0, "run", "study.yaml", "-o", "whole", "-q")
	want, records := digests(t, filepath.Join(dir, "whole"))
	if records < 60 {
		t.Fatalf("only %d journal records: the study is too small for this test", records)
	}
	rng := rand.New(rand.NewPCG(20261129, 1))
	kills := 10
	if os.Getenv("STINT_REQUIRE") == "" { // each costs more than a second; .ci/run tries all
		kills = 4
	}
	for i := range kills {
		k := 1 + rng.IntN(records-1)
		run := fmt.Sprintf("killed%d", i)
		cmd := command(t, dir, []string{fmt.Sprintf("%s=%d", killAtVar, k)}, "run", "study.yaml", "-o", run, "-q")
		if err := cmd.Run(); err == nil {
			t.Fatalf("k = %d of %d: the run was not killed", k, records)
		}
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Fatalf("k = %d: ended with %v, want killed", k, cmd.ProcessState)
		}
		stint(t, dir, 0, "run", "study.yaml", "-o", run, "-q")
		got, _ := digests(t, filepath.Join(dir, run))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("k = %d of %d: digests differ (-undisturbed +killed):\n%s", k, records, diff)
		}
	}
}

// TestInterruptedRunResumes sends one SIGINT and expects exit code 130, the command that resumes, and after it
// the digest of an undisturbed run.
func TestInterruptedRunResumes(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", smallStudy)
	var errs bytes.Buffer
	cmd := command(t, dir, nil, "run", "study.yaml", "-o", "cut")
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { // until some turn has been journalled
		found, _ := filepath.Glob(filepath.Join(dir, "cut", "episodes", "*", "journal.jsonl"))
		for _, f := range found {
			if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(logs.TypeTurnEnd)) {
				return true
			}
		}
		return false
	})
	cmd.Process.Signal(os.Interrupt)
	began := time.Now()
	cmd.Wait()
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("leaving took %s, want at most 10 s", d)
	}
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Fatalf("exit code %d, want %d\n%s", got, exitInterrupted, errs.String())
	}
	if want := "hint: go on with: stint run study.yaml -o cut"; !strings.Contains(errs.String(), want) {
		t.Errorf("stderr does not say %q:\n%s", want, errs.String())
	}
	stint(t, dir, 0, "run", "study.yaml", "-o", "cut", "-q")
	stint(t, dir, 0, "run", "study.yaml", "-o", "whole", "-q")
	got, _ := digests(t, filepath.Join(dir, "cut"))
	want, _ := digests(t, filepath.Join(dir, "whole"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests differ (-undisturbed +interrupted):\n%s", diff)
	}
	_, stderr := stint(t, dir, 0, "run", "study.yaml", "-o", "whole")
	if !strings.Contains(stderr, "whole is complete: nothing to do") {
		t.Errorf("a second run of a complete study said:\n%s", stderr)
	}
}

// TestSecondRunNamesTheFirst starts two runs on one directory: the second is refused with the first's pid.
func TestSecondRunNamesTheFirst(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "study.yaml", smallStudy)
	first := command(t, dir, nil, "run", "study.yaml", "-o", "one", "-q")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		first.Process.Signal(os.Interrupt)
		first.Wait()
	}()
	waitFor(t, func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "one", "lock"))
		return err == nil && len(b) > 0
	})
	_, stderr := stint(t, dir, exitInput, "run", "study.yaml", "-o", "one")
	if !strings.Contains(stderr, fmt.Sprint(first.Process.Pid)) {
		t.Errorf("the second run does not name pid %d:\n%s", first.Process.Pid, stderr)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatal("waited 30 s in vain")
}
