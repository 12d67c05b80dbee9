package suite

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle/python"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// interpreter finds the program that runs the second implementation. CI has it and sets STINT_REQUIRE, and there it may
// not be missing. A version manager's launcher takes longer than the server itself, so the program behind it is asked for.
func interpreter(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if os.Getenv("STINT_REQUIRE") != "" {
		t.Fatalf("looking for python3: %v", err)
	}
	t.Skip("needs python3")
	return ""
}

// pythonServer is one process of the second implementation.
type pythonServer struct {
	cmd  *exec.Cmd
	base string
	log  *strings.Builder
	done chan struct{}
}

func (p *pythonServer) BaseURL() string { return p.base }

func (p *pythonServer) Exited() (bool, string) {
	select {
	case <-p.done:
		return true, p.log.String()
	default:
		return false, ""
	}
}

func (p *pythonServer) Stop(context.Context) ServerEnd {
	_ = p.cmd.Process.Kill() // it has ended already if this fails
	<-p.done
	return ServerEnd{Log: p.log.String()}
}

// inPython starts the second implementation of a schema, one process per world.
func inPython(t testing.TB, program string, s *scenario.Schema, flaws ...python.Flaw) StartFunc {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, python.File), python.SourceWith(s, python.Options{Flaws: flaws}), 0o644); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, _ string) (Server, time.Duration, error) {
		began := time.Now()
		var p *pythonServer
		var err error
		for range 3 { // somebody else may take the port first, and this machine may be busy
			if p, err = startPython(ctx, program, dir); err == nil {
				return p, time.Since(began), nil
			}
		}
		return nil, 0, err
	}
}

// startPython starts the server in a folder on a free port and waits for it.
func startPython(ctx context.Context, program, dir string) (*pythonServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	p := &pythonServer{base: fmt.Sprintf("http://127.0.0.1:%d", port), log: &strings.Builder{}, done: make(chan struct{})}
	p.cmd = exec.Command(program, python.File)
	p.cmd.Dir, p.cmd.Env = dir, []string{"PORT=" + strconv.Itoa(port), "DATA_DIR=" + dir, "PYTHONDONTWRITEBYTECODE=1"}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	client := &http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		if ended, log := p.Exited(); ended {
			return nil, fmt.Errorf("the server ended: %s", log)
		}
		if resp, err := client.Get(p.base + "/health"); err == nil {
			resp.Body.Close()
			return p, nil
		}
	}
	p.Stop(ctx)
	return nil, fmt.Errorf("no answer from the server: %s", p.log)
}

// secondOpinion grades the second implementation of one turn. The first passed when the suite was recorded, so whatever
// fails here is a disagreement of the two.
func secondOpinion(t testing.TB, program string, sc *scenario.Scenario, turn int) {
	t.Helper()
	s := suiteOf(t, sc, turn)
	r, err := Run(context.Background(), s, RunOptions{Start: inPython(t, program, sc.Steps[turn].Schema), SoloMax: -1})
	if err != nil {
		t.Fatalf("seed %d, turn %d: %v", sc.Seed, turn, err)
	}
	for _, f := range r.Failures {
		t.Errorf("seed %d, turn %d (%s), check %s (%s):\n  request  %s\n  expected %s\n  actual   %s\n  clauses %s", sc.Seed, turn,
			sc.Steps[turn].Operation.ID, f.Check.ID, f.Check.Title, f.Request, f.Expected, f.Actual, clauseTexts(s, f.Check.Clauses))
	}
	if !*r.Passed && len(r.Failures) == 0 {
		t.Errorf("seed %d, turn %d: %s %s", sc.Seed, turn, r.Reason, r.Detail)
	}
}

func clauseTexts(s *Suite, ids []string) string {
	var b strings.Builder
	for _, id := range ids {
		if c := s.Clause(id); c != nil {
			fmt.Fprintf(&b, "\n    %s: %s", id, c.Text)
		}
	}
	return b.String()
}

// TestSecondImplementation wants the suites of the scenarios that CI proves to pass on a server that shares no code with
// the interpreter which recorded them: a sample of turns here, every turn where STINT_REQUIRE is set.
func TestSecondImplementation(t *testing.T) {
	program := interpreter(t)
	all := os.Getenv("STINT_REQUIRE") != ""
	for seed := uint64(1); seed <= 20; seed++ {
		if !all && seed%7 != 1 {
			continue
		}
		sc := scenarioOf(t, seed, 10)
		for turn := range sc.Steps {
			if all || turn == 10 {
				secondOpinion(t, program, sc, turn)
			}
		}
	}
	for seed := uint64(101); seed <= 102; seed++ {
		sc := scenarioOf(t, seed, 100)
		for turn := range sc.Steps {
			if all || turn == 100 && seed == 101 || turn == 60 && seed == 102 {
				secondOpinion(t, program, sc, turn)
			}
		}
	}
}

// passes reports whether a server passes a suite.
func passes(t testing.TB, s *Suite, start StartFunc) bool {
	t.Helper()
	r, err := Run(context.Background(), s, RunOptions{Start: start, SoloMax: -1})
	if err != nil {
		t.Fatal(err)
	}
	return *r.Passed
}

// TestFlawsInPython plants the faults that the writer of Python servers knows: the suite must find them there as it finds
// them in the interpreter. A sample of them here, all where STINT_REQUIRE is set.
func TestFlawsInPython(t *testing.T) {
	program := interpreter(t)
	sc := scenarioOf(t, 3, 8)
	schema, prev, s := sc.Steps[8].Schema, sc.Steps[7].Schema, suiteOf(t, sc, 8)
	stride := 29
	if os.Getenv("STINT_REQUIRE") != "" {
		stride = 1
	}
	known, seen := 0, 0
	for _, c := range schema.Clauses {
		for _, f := range oracle.FaultsFor(schema, prev, c) {
			seen++
			flaw := python.Flaw{Kind: f.Kind, Subject: f.Subject, Param: f.Param}
			if !flaw.Supported(schema) {
				continue
			}
			if known++; known%stride != 0 {
				continue
			}
			about := *s
			about.Checks = slices.DeleteFunc(slices.Clone(s.Checks), func(k Check) bool { return !slices.Contains(k.Clauses, c.ID) })
			if start := inPython(t, program, schema, flaw); passes(t, &about, start) && passes(t, s, start) {
				t.Errorf("no check finds %+v of %s (%s)", f, c.ID, c.Title)
			}
		}
	}
	if share := float64(known) / float64(seen); share < 0.6 {
		t.Errorf("only %d of %d faults can be planted", known, seen)
	}
}

// BenchmarkRunPython plays the whole suite of turn 100 against the second implementation, process starts included.
func BenchmarkRunPython(b *testing.B) {
	program := interpreter(b)
	sc := scenarioOf(b, 101, 100)
	s := suiteOf(b, sc, 100)
	start := inPython(b, program, sc.Steps[100].Schema)
	requests, ready := 0, time.Duration(0)
	for b.Loop() {
		r, err := Run(context.Background(), s, RunOptions{Start: start})
		if err != nil || !*r.Passed {
			b.Fatalf("%+v, %v", r, err)
		}
		requests += r.Requests
		for _, e := range r.Servers {
			ready = max(ready, time.Duration(e.MS*float64(time.Millisecond)))
		}
	}
	b.ReportMetric(float64(requests)/float64(b.N), "requests")
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric(float64(ready.Milliseconds()), "ms-to-start")
}
