package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

const failingStudy = `version: 1
name: failing
seed: 3
scenarios: {count: 12, changes: 8}
configs:
  - {model: sim, harness: simulated, feedback: none, retries: 0}
models:
  sim: {simulate: weak}
sandbox: none
`

// failingRun makes a run whose attempts fail, and lists the failed ones.
func failingRun(t *testing.T) (d *logs.RunDir, dir string, failed []*attempt) {
	t.Helper()
	for _, program := range []string{"curl", "awk", "sed"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatalf("%s is not installed: CI installs it", program)
		}
		t.Skipf("needs %s, which the printed scripts use", program)
	}
	dir = t.TempDir()
	writeFile(t, dir, "study.yaml", failingStudy)
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	d, err := logs.OpenRunDir(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := d.Episodes()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		list, err := attemptsOf(d.EpisodeDir(id), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if a.failed() {
				failed = append(failed, a)
			}
		}
	}
	if len(failed) < 8 {
		t.Fatalf("only %d failed attempts: the study is too small for this test", len(failed))
	}
	return d, dir, failed
}

// script prints the script of a check and runs it with sh.
func script(t *testing.T, run, id, check, base string) (code int, out string) {
	t.Helper()
	var text, errs bytes.Buffer
	e := &env{Stdout: &text, Stderr: &errs, Getenv: os.Getenv, Now: time.Now, Self: "stint", Quiet: true}
	args := []string{"reproduce", run, id, "--script"}
	if check != "" {
		args = append(args, "--check", check)
	}
	if code := e.execute(context.Background(), args); code != 0 {
		t.Fatalf("stint %q: exit code %d: %s", args, code, errs.String())
	}
	cmd := exec.Command("sh")
	cmd.Stdin = &text
	cmd.Env = append(os.Environ(), "BASE="+base)
	b, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// TestReproduce shares one run between its parts.
func TestReproduce(t *testing.T) {
	t.Parallel()
	d, dir, failed := failingRun(t)
	t.Run("scripts", func(t *testing.T) { testScripts(t, d, failed) })
	t.Run("serve", func(t *testing.T) { testServed(t, d, dir, failed) })
}

// testScripts runs the script of every failed check of a simulated study against a fresh server of the
// attempt's snapshot, where it must fail as recorded, and against the reference, where it must pass.
func testScripts(t *testing.T, d *logs.RunDir, failed []*attempt) {
	agent, err := harness.NewSimulated(harness.SimOptions{Preset: "weak", Transport: harness.TransportInproc})
	if err != nil {
		t.Fatal(err)
	}
	schemas := turnSchemas(t, d)
	categories, alone, after := map[string]bool{}, 0, 0
	for _, a := range failed {
		if err := a.load(); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "snapshot")
		blobs, err := a.blobs()
		if err != nil {
			t.Fatal(err)
		}
		if err := logs.RestoreSnapshot(blobs, a.tree, dir); err != nil {
			t.Fatal(err)
		}
		fresh, broken, err := agent.(harness.InProcess).Handler(dir)
		if err != nil {
			t.Fatal(err)
		}
		if broken != "" {
			continue // testServed has such servers
		}
		reference := func() http.Handler { return oracle.Handler(schemas[a.start.Scenario.ID][a.turn]) }
		list := a.carriedOut()
		if len(list) > 2 {
			list = []*suite.Failure{list[0], list[len(list)-1]} // the most telling one, and one that was not tried alone
		}
		for _, f := range list {
			seq, err := a.sequence(f)
			if err != nil {
				t.Fatal(err)
			}
			categories[f.Category] = true
			if len(seq.before) == 0 {
				alone++
			} else {
				after++
			}
			for want, h := range []func() http.Handler{reference, fresh} {
				srv := httptest.NewServer(h())
				if code, out := script(t, d.Root, a.id(), f.ID, srv.URL); code != want {
					t.Errorf("%s %s: exit code %d, want %d: %s\nrecorded: %s\nexpected %s, got %s", a.id(), f.ID, code, want, out, f.Request, f.Expected, f.Actual)
				}
				srv.Close()
			}
		}
	}
	if len(categories) < 5 || alone < 5 || after < 2 {
		t.Errorf("the study shows too little: categories %v, %d checks alone, %d after others", categories, alone, after)
	}
}

// turnSchemas generates the scenarios of a run again: the schema of every turn, by scenario.
func turnSchemas(t *testing.T, d *logs.RunDir) map[string][]*scenario.Schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.ScenariosDir(), "s*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	out := map[string][]*scenario.Schema{}
	for _, name := range files {
		var file struct {
			Name     string
			Seed     uint64
			Changes  int
			Schedule string
		}
		b, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(b, &file)
		}
		if err != nil {
			t.Fatal(err)
		}
		sc, err := scenario.Generate(scenario.Options{Seed: file.Seed, Changes: file.Changes, Name: file.Name, Schedule: file.Schedule})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range sc.Steps {
			out[file.Name] = append(out[file.Name], step.Schema)
		}
	}
	return out
}

// testServed starts servers with --serve as a user would, in every sandbox there is, and runs the script
// and the pasted lines against them.
func testServed(t *testing.T, d *logs.RunDir, dir string, failed []*attempt) {
	kinds := []string{"none"}
	if _, err := exec.LookPath("bwrap"); err == nil {
		kinds = append(kinds, "bubblewrap")
	} else if os.Getenv("STINT_REQUIRE") != "" {
		t.Fatal("bwrap is not installed: CI installs it")
	}
	for i, a := range failed[:2] {
		if err := a.load(); err != nil {
			t.Fatal(err)
		}
		kind := kinds[i%len(kinds)]
		base, stop := serve(t, dir, a.id(), kind)
		if base == "" {
			if a.reason != "start" {
				t.Errorf("%s: no server, recorded was %s", a.id(), a.outcome())
			}
			continue
		}
		if code, out := script(t, d.Root, a.id(), "", base); code != 1 {
			t.Errorf("%s in %s: exit code %d, want 1: %s", a.id(), kind, code, out)
		}
		stop()
		if _, err := http.Get(base + "/health"); err == nil {
			t.Errorf("%s in %s: the server answers after Ctrl-C", a.id(), kind)
		}
		base, stop = serve(t, dir, a.id(), kind)
		out, _ := stint(t, dir, 0, "reproduce", "run", a.id(), "--check", a.carriedOut()[0].ID)
		out = strings.Replace(out, "BASE=http://127.0.0.1:8123", "BASE="+base, 1)
		cmd := exec.Command("sh")
		cmd.Stdin = strings.NewReader(out)
		got, err := cmd.CombinedOutput()
		f := a.carriedOut()[0]
		if status := fmt.Sprint(f.Exchanges[len(f.Exchanges)-1].Status); err != nil || !strings.HasSuffix(strings.TrimSpace(string(got)), status) {
			t.Errorf("%s: the pasted lines end with %q (%v), recorded was %s", a.id(), got, err, f.Actual)
		}
		stop()
	}
}

// serve starts --serve and returns where the server answers, "" if it ended at once.
func serve(t *testing.T, dir, id, kind string) (base string, stop func()) {
	t.Helper()
	scratch := t.TempDir()
	cmd := command(t, dir, []string{"TMPDIR=" + scratch}, "reproduce", "run", id, "--serve", "--sandbox", kind)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	gone := false
	waitFor(t, func() bool {
		select {
		case <-ended:
			gone = true
		default:
		}
		b, _ := os.ReadFile(out.Name())
		text, ready := strings.CutPrefix(string(b), "BASE=")
		base = strings.TrimSpace(text)
		return gone || ready && strings.HasSuffix(text, "\n")
	})
	if gone {
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(errs.String(), "is not there") {
			t.Errorf("--serve %s ended with %d:\n%s", id, code, errs.String())
		}
		return "", nil
	}
	return base, func() {
		cmd.Process.Signal(os.Interrupt)
		<-ended
		if code := cmd.ProcessState.ExitCode(); code != exitDone {
			t.Errorf("--serve %s ended with %d:\n%s", id, code, errs.String())
		}
		if left, _ := filepath.Glob(filepath.Join(scratch, "stint-*")); len(left) > 0 {
			t.Errorf("--serve %s left %v", id, left)
		}
	}
}
