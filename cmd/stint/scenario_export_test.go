package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// TestScenarioExport writes both forms of a turn and reads what can be read without Python.
func TestScenarioExport(t *testing.T) {
	dir := t.TempDir()
	stint(t, dir, 0, "scenario", "new", "--seed", "5", "--changes", "4", "--count", "1", "-o", "set", "-q")
	out, _ := stint(t, dir, 0, "scenario", "export", "set", "1", "4", "--openapi")
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			OperationID string         `json:"operationId"`
			Responses   map[string]any `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for path, item := range doc.Paths {
		for verb, op := range item {
			if op.OperationID == "" || ids[op.OperationID] || len(op.Responses) == 0 {
				t.Errorf("%s %s: operation id %q is missing or there twice, or no answers", verb, path, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
	if doc.OpenAPI != "3.1.0" || len(ids) < 15 {
		t.Errorf("openapi %s with %d operations", doc.OpenAPI, len(ids))
	}
	again, _ := stint(t, dir, 0, "scenario", "export", "set", "1", "4", "--openapi")
	if again != out {
		t.Error("the document is not the same twice")
	}
	if out, _ := stint(t, dir, 0, "scenario", "export", "set", "1", "4", "--pytest", "-o", "test_it.py"); out != "test_it.py\n" {
		t.Errorf("stdout %q", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "test_it.py"))
	if err != nil || !strings.Contains(string(text), "CHECKS = [") || !strings.Contains(string(text), `("k1.ok"`) {
		t.Errorf("%v\n%.500s", err, text)
	}
	for _, bad := range [][]string{{"set", "1", "4"}, {"set", "1", "4", "--openapi", "--pytest"}, {"set", "1", "9", "--openapi"}, {"set", "1", "x", "--openapi"}, {"set", "1", "--openapi"}} {
		stint(t, dir, 2, append([]string{"scenario", "export"}, bad...)...)
	}
}

// TestExportsInOtherTools holds the OpenAPI document against the suite with other people's validators, and runs the
// pytest file: green against the reference, red against a mutant. It prints the speed of both ways to run a suite.
func TestExportsInOtherTools(t *testing.T) {
	python := require(t, "STINT_TEST_PYTHON", "a Python with pytest and openapi-spec-validator")
	checker, err := filepath.Abs(filepath.Join("testdata", "openapi_check.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{3, 4} {
		sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: 60, Name: "s01"})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range []int{0, 20, 60} {
			dir := t.TempDir()
			s, err := suite.Generate(sc, turn)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			doc, err := sc.Steps[turn].Schema.OpenAPI("s01", turn)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, dir, "openapi.json", string(doc))
			writeFile(t, dir, "suite.json", string(encoded))
			if out, err := exec.Command(python, checker, filepath.Join(dir, "openapi.json"), filepath.Join(dir, "suite.json")).CombinedOutput(); err != nil {
				t.Errorf("seed %d, turn %d: %v\n%s", seed, turn, err, out)
			} else {
				t.Logf("seed %d, turn %d: %s", seed, turn, strings.TrimSpace(string(out)))
			}
			if turn != 20 {
				continue
			}
			text, err := s.Pytest("s01", strings.Repeat("0", 64))
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, dir, "test_it.py", string(text))
			if out, took, ok := pytestRun(t, python, dir, sc.Steps[turn].Schema); !ok {
				t.Errorf("seed %d: the reference fails:\n%s", seed, out)
			} else {
				t.Logf("seed %d, turn %d: %d requests in %s with pytest", seed, turn, s.Requests(), took)
			}
			mutants := oracle.Mutants(sc.Steps[turn].Schema, nil)
			for _, m := range []oracle.Fault{mutants[len(mutants)/3], mutants[len(mutants)-1]} {
				if out, _, ok := pytestRun(t, python, dir, sc.Steps[turn].Schema, m); ok || !strings.Contains(out, " failed") {
					t.Errorf("seed %d: the mutant %+v passes:\n%s", seed, m, out)
				}
			}
		}
	}
}

// TestPytestSpeed times the suite of turn 100 with our runner and as a pytest file against the same server. The ratios
// are what the manual states; here they only have to be on its side.
func TestPytestSpeed(t *testing.T) {
	python := require(t, "STINT_TEST_PYTHON", "a Python with pytest")
	sc, err := scenario.Generate(scenario.Options{Seed: 3, Changes: 100, Name: "s01"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := suite.Generate(sc, 100)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Pytest("s01", strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, dir, "test_it.py", string(text))
	out, whole, ok := pytestRun(t, python, dir, sc.Steps[100].Schema)
	if !ok {
		t.Fatalf("the reference fails:\n%s", out)
	}
	began := time.Now()
	empty := exec.Command(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", "test_it.py")
	empty.Dir = dir
	if out, err := empty.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	startup := time.Since(began)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	r, err := suite.Run(t.Context(), s, suite.RunOptions{Start: func(ctx context.Context, _ string) (suite.Server, time.Duration, error) {
		return startServer(ctx, exe, dir)
	}})
	if err != nil || r.Passed == nil || !*r.Passed {
		t.Fatalf("our runner: %+v, %v", r, err)
	}
	ours := time.Since(began)
	t.Logf("turn 100, %d checks, %d requests: our runner %s with the starts of its servers; pytest %s, of which %s start-up and collection: %.0f times and %.0f times as long",
		len(s.Checks), s.Requests(), ours.Round(time.Millisecond), whole.Round(time.Millisecond), startup.Round(time.Millisecond),
		whole.Seconds()/ours.Seconds(), (whole-startup).Seconds()/ours.Seconds())
	if ours > whole {
		t.Error("our runner is the slower one")
	}
}

// process is a server that a test started.
type process struct {
	cmd  *exec.Cmd
	url  string
	data string
}

// startServer starts the server in dir and waits for it.
func startServer(ctx context.Context, exe, dir string) (suite.Server, time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	addr := l.Addr().String()
	l.Close()
	data, err := os.MkdirTemp("", "data-")
	if err != nil {
		return nil, 0, err
	}
	_, port, _ := net.SplitHostPort(addr)
	p := &process{cmd: exec.CommandContext(ctx, exe, "__serve", "."), url: "http://" + addr, data: data}
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), "PORT="+port, "DATA_DIR="+data)
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for time.Since(began) < 20*time.Second {
		if resp, err := http.Get(p.url + "/health"); err == nil {
			resp.Body.Close()
			return p, time.Since(began), nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	p.Stop(ctx)
	return nil, 0, errors.New("the server is not ready")
}

func (p *process) BaseURL() string { return p.url }

func (p *process) Exited() (bool, string) { return p.cmd.ProcessState != nil, "" }

func (p *process) Stop(context.Context) suite.ServerEnd {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	os.RemoveAll(p.data)
	return suite.ServerEnd{}
}

// pytestRun runs dir/test_it.py against a server of the schema with faults.
func pytestRun(t *testing.T, python, dir string, schema *scenario.Schema, faults ...oracle.Fault) (out string, took time.Duration, ok bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	state, err := json.Marshal(map[string]any{"turn": 0, "faults": append([]oracle.Fault{}, faults...)})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "schema.json", string(raw))
	writeFile(t, dir, "faults.json", string(state))
	cmd := exec.CommandContext(t.Context(), python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("SERVICE=%s __serve .", exe))
	began := time.Now()
	b, err := cmd.CombinedOutput()
	return string(b), time.Since(began), err == nil
}
