package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

func scenarioOf(t testing.TB, seed uint64, changes int) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: changes, Name: "s01"})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func suiteOf(t testing.TB, sc *scenario.Scenario, turn int) *Suite {
	t.Helper()
	s, err := Generate(sc, turn)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fakeServer is a handler behind a listener that can be made to end.
type fakeServer struct {
	Server
	dead atomic.Bool
}

func (f *fakeServer) Exited() (bool, string) { return f.dead.Load(), "" }

func (f *fakeServer) Stop(ctx context.Context) ServerEnd {
	f.Server.Stop(ctx)
	if f.dead.Load() {
		code := 3
		return ServerEnd{Exit: &code, Log: "Traceback\nboom at /srv/x/app.py on port 8123\n"}
	}
	return ServerEnd{}
}

// serve starts a fresh handler per world.
func serve(h func(world string, s *fakeServer) http.Handler) StartFunc {
	return func(_ context.Context, world string) (Server, time.Duration, error) {
		f := &fakeServer{}
		srv, ready, err := startHandler(h(world, f))
		f.Server = srv
		return f, ready, err
	}
}

func reference(s *scenario.Schema, faults ...oracle.Fault) StartFunc {
	return serve(func(string, *fakeServer) http.Handler { return oracle.Handler(s, faults...) })
}

// broken serves the reference, but lets do answer some requests instead; do returns whether it has.
func broken(s *scenario.Schema, do func(world string, n int, w http.ResponseWriter, r *http.Request, f *fakeServer) bool) StartFunc {
	return serve(func(world string, f *fakeServer) http.Handler {
		right := oracle.Handler(s)
		var n atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/health" || !do(world, int(n.Add(1)), w, r, f) {
				right.ServeHTTP(w, r)
			}
		})
	})
}

func grade(t *testing.T, s *Suite, opt RunOptions) *Result {
	t.Helper()
	r, err := Run(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	// A result crosses a process boundary.
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, &back); d != "" {
		t.Errorf("the result changes on its way through JSON:\n%s", d)
	}
	return r
}

func outcomeOf(r *Result) string {
	switch {
	case r.Passed == nil:
		return "ours: " + r.Reason
	case *r.Passed:
		return "passed: " + r.Reason
	}
	return "failed: " + r.Reason
}

func wantOutcome(t *testing.T, r *Result, want string) {
	t.Helper()
	if got := outcomeOf(r); got != want {
		t.Fatalf("outcome %q, want %q (failed %d, detail %q, first %+v)", got, want, r.Failed, r.Detail, slices.Clip(r.Failures)[:min(1, len(r.Failures))])
	}
	if strings.HasPrefix(want, "failed") && (r.Failed == 0 || r.Failed != len(r.Failures)) {
		t.Fatalf("failed, but with %d failures of which %d are listed", r.Failed, len(r.Failures))
	}
}

func TestReferencePasses(t *testing.T) {
	sc := scenarioOf(t, 2, 6)
	for _, turn := range []int{0, 6} {
		s := suiteOf(t, sc, turn)
		r := grade(t, s, RunOptions{Start: reference(sc.Steps[turn].Schema), Schema: sc.Steps[turn].Schema})
		wantOutcome(t, r, "passed: passed")
		if r.Checks != len(s.Checks) || r.Requests != s.Requests() || r.Runs != 1 || r.Flaky || r.Failed != 0 {
			t.Errorf("turn %d: %+v", turn, r)
		}
		if len(r.Servers) != 3 || r.Servers[0].World != Seeded || r.Servers[0].KeepAlive == nil || r.Servers[1].KeepAlive != nil {
			t.Errorf("turn %d: server events %+v", turn, r.Servers)
		}
	}
}

// TestFaultsShow runs faulty servers over HTTP. Every one must fail, and a check of the violated clause that works
// on its own rows must fail alone as well.
func TestFaultsShow(t *testing.T) {
	sc := scenarioOf(t, 2, 6)
	schema := sc.Steps[6].Schema
	s := suiteOf(t, sc, 6)
	mutants := oracle.Mutants(schema, sc.Steps[5].Schema)
	for i := 0; i < len(mutants); i += 9 {
		f := mutants[i]
		r := grade(t, s, RunOptions{Start: reference(schema, f), Schema: schema, SoloMax: 4})
		wantOutcome(t, r, "failed: checks")
		found := false
		for _, x := range r.Failures {
			if x.Clauses[0] != f.Clause {
				continue
			}
			found = true
			if x.World == Own && x.Confirmed != nil && !*x.Confirmed && x.Status == StatusFail {
				t.Errorf("%+v: check %s fails, but not alone", f, x.ID)
			}
			if x.Request == "" || x.Expected == "" || x.Actual == "" || x.Expected == x.Actual || x.Hint == "" || len(x.Exchanges) == 0 {
				t.Errorf("%+v: check %s is not told in full: %+v", f, x.ID, x)
			}
		}
		if !found && f.Kind != oracle.EndpointMissing {
			t.Errorf("%+v: no check of clause %s fails", f, f.Clause)
		}
	}
}

func TestSameFailuresInProcess(t *testing.T) {
	sc := scenarioOf(t, 3, 4)
	schema := sc.Steps[4].Schema
	s := suiteOf(t, sc, 4)
	for _, f := range oracle.Mutants(schema, nil)[:20] {
		r, err := RunHandler(context.Background(), s, func() http.Handler { return oracle.Handler(schema, f) })
		if err != nil {
			t.Fatal(err)
		}
		h := grade(t, s, RunOptions{Start: reference(schema, f), SoloMax: -1})
		if d := cmp.Diff(failing(h), failing(r)); d != "" {
			t.Errorf("%+v fails otherwise in this process:\n%s", f, d)
		}
	}
}

func failing(r *Result) []string {
	var ids []string
	for _, f := range r.Failures {
		ids = append(ids, f.ID+" "+f.Expected+" "+f.Actual)
	}
	return ids
}

func TestCrash(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	start := broken(sc.Steps[0].Schema, func(world string, n int, w http.ResponseWriter, _ *http.Request, f *fakeServer) bool {
		if world != Own || n < 20 {
			return false
		}
		f.dead.Store(true)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return false
		}
		conn.Close()
		return true
	})
	r := grade(t, s, RunOptions{Start: start, Schema: sc.Steps[0].Schema})
	wantOutcome(t, r, "failed: crash")
	if r.Failures[0].Status != StatusError || r.Failures[0].World != Own || !strings.HasPrefix(r.Failures[0].Actual, "no answer: ") {
		t.Errorf("first failure: %+v", r.Failures[0])
	}
	for _, f := range r.Failures[1:] {
		if f.Status != StatusNotRun || f.World != Own {
			t.Errorf("after the crash: %s in %s is %s", f.ID, f.World, f.Status)
		}
	}
	var exits []ServerEvent
	for _, e := range r.Servers {
		if e.Kind == "exit" {
			exits = append(exits, e)
		}
	}
	if len(exits) != 1 || exits[0].World != Own || exits[0].Reason != "crashed" || exits[0].End == nil || *exits[0].End.Exit != 3 {
		t.Errorf("exit events: %+v", exits)
	}
	told := Feedback("detailed", s, r)
	if !strings.Contains(told.Text, "boom at app.py on port") || strings.Contains(told.Text, "/srv") || strings.Contains(told.Text, "8123") {
		t.Errorf("the log is told as:\n%s", told.Text)
	}
}

func TestHangingServer(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	start := broken(sc.Steps[0].Schema, func(_ string, n int, _ http.ResponseWriter, r *http.Request, _ *fakeServer) bool {
		if n < 5 {
			return false
		}
		<-r.Context().Done()
		return true
	})
	began := time.Now()
	r := grade(t, s, RunOptions{Start: start, RequestTimeout: 30 * time.Millisecond, SuiteTimeout: 300 * time.Millisecond, SoloMax: -1})
	wantOutcome(t, r, "failed: suite_time")
	if r.Runs != 2 || r.Flaky || len(r.Earlier) != 1 {
		t.Errorf("runs %d, flaky %v, earlier %d", r.Runs, r.Flaky, len(r.Earlier))
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	for _, f := range r.Failures {
		if f.Status == StatusError && f.Actual != "no answer: nothing within 0.03 s" && f.Actual != "no answer: not sent: a row that it needs was not made" {
			t.Errorf("actual is %q", f.Actual)
		}
	}
}

// TestFlaky answers the first run with errors only: the second disagrees, the third decides.
func TestFlaky(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	var mu sync.Mutex
	starts := map[string]int{}
	start := serve(func(world string, _ *fakeServer) http.Handler {
		mu.Lock()
		defer mu.Unlock()
		if starts[world]++; starts[world] == 1 {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		}
		return oracle.Handler(sc.Steps[0].Schema)
	})
	r := grade(t, s, RunOptions{Start: start, Schema: sc.Steps[0].Schema})
	wantOutcome(t, r, "passed: passed")
	if r.Runs != 3 || !r.Flaky || len(r.Earlier) != 2 || len(r.Earlier[0].Failed) == 0 || len(r.Earlier[1].Failed) != 0 {
		t.Errorf("runs %d, flaky %v, earlier %+v", r.Runs, r.Flaky, r.Earlier)
	}
}

func TestStart(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	good := reference(sc.Steps[0].Schema)
	code := 1
	exited := &StartError{Reason: "exited", Exit: &code, Log: "SyntaxError\x1b[31m: bad\n"}
	starts := 0
	all := func(context.Context, string) (Server, time.Duration, error) { return nil, 0, exited }
	r := grade(t, s, RunOptions{Start: all, Schema: sc.Steps[0].Schema})
	wantOutcome(t, r, "failed: start")
	if r.Failed != len(s.Checks) || r.Runs != 1 || r.Failures[0].Status != StatusNotRun {
		t.Errorf("failed %d of %d in %d runs, first %s", r.Failed, len(s.Checks), r.Runs, r.Failures[0].Status)
	}
	if told := Feedback("detailed", s, r).Text; !strings.Contains(told, "exit code 1") || !strings.Contains(told, `  | SyntaxError\x1b[31m: bad`) {
		t.Errorf("told: %s", told)
	}
	if told := Feedback("moderate", s, r).Text; !strings.Contains(told, "did not start") || strings.Contains(told, "SyntaxError") {
		t.Errorf("told: %s", told)
	}

	// One world of three fails to start, every time: tried again, then held against the service.
	var mu sync.Mutex
	one := func(ctx context.Context, world string) (Server, time.Duration, error) {
		mu.Lock()
		starts++
		mu.Unlock()
		if world == Empty {
			return nil, 0, exited
		}
		return good(ctx, world)
	}
	r = grade(t, s, RunOptions{Start: one})
	wantOutcome(t, r, "failed: start")
	if r.Runs != 2 || starts != 6 {
		t.Errorf("%d runs, %d starts", r.Runs, starts)
	}

	ours := func(context.Context, string) (Server, time.Duration, error) {
		return nil, 0, &StartError{Reason: "spawn", Ours: true}
	}
	wantOutcome(t, grade(t, s, RunOptions{Start: ours}), "ours: bench_grader")

	wrong := errors.New("no disk")
	if _, err := Run(context.Background(), s, RunOptions{Start: func(context.Context, string) (Server, time.Duration, error) { return nil, 0, wrong }}); !errors.Is(err, wrong) {
		t.Errorf("an error of our own became %v", err)
	}
}

func TestCancelled(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	ctx, cancel := context.WithCancel(context.Background())
	start := broken(sc.Steps[0].Schema, func(_ string, n int, _ http.ResponseWriter, _ *http.Request, _ *fakeServer) bool {
		if n == 10 {
			cancel()
		}
		return false
	})
	if r, err := Run(ctx, s, RunOptions{Start: start}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled run: %+v, %v", r, err)
	}
}

// TestReferenceCheck runs a suite whose expectations are wrong: no server could pass, so nobody is blamed.
func TestReferenceCheck(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	for i := range s.Checks {
		if s.Checks[i].ID == "k3.full" {
			s.Checks[i].Steps[0].Status = 202
		}
	}
	r := grade(t, s, RunOptions{Start: reference(sc.Steps[0].Schema), Schema: sc.Steps[0].Schema})
	wantOutcome(t, r, "ours: bench_reference")
	if !strings.Contains(r.Detail, "k3.full") {
		t.Errorf("detail: %s", r.Detail)
	}
	if told := Feedback("detailed", s, r); told.Text != "" {
		t.Errorf("told %q about a fault of our own", told.Text)
	}
}

func TestHostileAnswers(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	var followed atomic.Int64
	check := func(name, want string, answer func(w http.ResponseWriter, r *http.Request)) {
		t.Helper()
		start := broken(sc.Steps[0].Schema, func(world string, n int, w http.ResponseWriter, r *http.Request, _ *fakeServer) bool {
			if r.URL.Path == "/elsewhere" {
				followed.Add(1)
			}
			if world != Own || n != 1 {
				return false
			}
			answer(w, r)
			return true
		})
		r := grade(t, s, RunOptions{Start: start, SoloMax: 1})
		wantOutcome(t, r, "failed: checks")
		if got := r.Failures[0].Actual; got != want {
			t.Errorf("%s: actual\n%q, want\n%q", name, got, want)
		}
		if c := r.Failures[0].Confirmed; c == nil {
			t.Errorf("%s: not tried alone", name)
		}
	}
	check("redirect", "302", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(302)
	})
	check("huge body", "no answer: the body is larger than 1 MiB", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, maxBody+1))
	})
	check("not JSON", `404; body is not JSON: \x1b]0;owned\a\u202e<html>`, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		io.WriteString(w, "\x1b]0;owned\a\u202e<html>")
	})
	check("two values", `404; body is not JSON: {} {}`, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		io.WriteString(w, "{} {}")
	})
	check("garbage", "no answer: the answer was not valid HTTP", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "SSH-2.0-OpenSSH\r\n\r\n")
		conn.Close()
	})
	check("closed", "no answer: the connection was closed before the answer was complete", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	if followed.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestSoloClears has a server that answers one request of the full run wrongly and is right ever after.
func TestSoloClears(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	start := broken(sc.Steps[0].Schema, func(world string, n int, w http.ResponseWriter, _ *http.Request, _ *fakeServer) bool {
		if world != Own || n != 4 {
			return false
		}
		w.WriteHeader(404)
		return true
	})
	r := grade(t, s, RunOptions{Start: start, Schema: sc.Steps[0].Schema})
	wantOutcome(t, r, "failed: checks")
	if len(r.Failures) != 1 || r.Failures[0].Confirmed == nil || *r.Failures[0].Confirmed {
		t.Errorf("failures: %+v", r.Failures)
	}
}

func TestSoloOrder(t *testing.T) {
	f := func(id, clause, world, status string) Failure {
		return Failure{Check: Check{ID: id, Clauses: []string{clause}, World: world}, Status: status}
	}
	failures := []Failure{f("k9.a", "c9", Own, StatusFail), f("k2.a", "c2", Own, StatusFail), f("k2.b", "c2", Own, StatusFail),
		f("k1.a", "c1", Own, StatusError), f("k1.b", "c1", Seeded, StatusFail), f("k3.a", "c3", Own, StatusNotRun), f("k10.a", "c10", Own, StatusFail)}
	var got []string
	for _, i := range soloOrder(failures) {
		got = append(got, failures[i].ID)
	}
	if d := cmp.Diff([]string{"k2.a", "k9.a", "k10.a", "k2.b", "k1.a"}, got); d != "" {
		t.Error(d)
	}
}

func TestLimited(t *testing.T) {
	sc := scenarioOf(t, 2, 3)
	s := suiteOf(t, sc, 3)
	l := s.Limited(60)
	young := s.ByAge()[AgeNew] + s.ByAge()[AgeChanged]
	if len(l.Checks) != 60 || l.ByAge()[AgeNew]+l.ByAge()[AgeChanged] != min(young, 60) {
		t.Errorf("%d checks with ages %v of %v", len(l.Checks), l.ByAge(), s.ByAge())
	}
	r := grade(t, s, RunOptions{Start: reference(sc.Steps[3].Schema), Limit: 60})
	wantOutcome(t, r, "passed: passed")
	if r.Checks != 60 {
		t.Errorf("%d checks", r.Checks)
	}
}

// TestSlowKeepAlive has a server that delays answers on connections that are used again, as some do.
func TestSlowKeepAlive(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	g := &grading{suite: suiteOf(t, sc, 0), opt: RunOptions{}.withDefaults()}
	var mu sync.Mutex
	seen := map[string]bool{}
	srv, _, err := startHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		again := seen[r.RemoteAddr]
		seen[r.RemoteAddr] = true
		mu.Unlock()
		if again {
			time.Sleep(20 * time.Millisecond)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop(context.Background())
	if err := g.probe(context.Background(), srv.BaseURL()); err != nil || g.keep {
		t.Errorf("keep-alive %v, %v", g.keep, err)
	}
}

// TestNoPortsLeft makes many connections without keep-alive and looks for their ports in TIME_WAIT, of which a
// long suite would run out.
func TestNoPortsLeft(t *testing.T) {
	srv, _, err := startHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop(context.Background())
	tr := &httpTransport{client: newClient(false), base: srv.BaseURL(), timeout: time.Second}
	for range 300 {
		if a, err := tr.do(context.Background(), "GET", "/health", nil); err != nil || a.Error != "" {
			t.Fatal(a, err)
		}
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip("no /proc/net/tcp here")
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(srv.BaseURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	const timeWait = "06"
	waiting := 0
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 3 && f[3] == timeWait && (strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n)) || strings.HasSuffix(f[2], fmt.Sprintf(":%04X", n))) {
			waiting++
		}
	}
	if waiting > 3 { // a few connections may close in the other order
		t.Errorf("%d of 300 connections are in TIME_WAIT", waiting)
	}
}

// A server whose every answer is large and costs six bytes a character in JSON does not make a result too large to
// hand over.
func TestResultStaysBounded(t *testing.T) {
	su := suiteOf(t, scenarioOf(t, 3, 2), 2)
	for len(su.Checks) < 2500 { // as after some hundred changes
		for _, c := range su.Checks[:min(len(su.Checks), 2500-len(su.Checks))] {
			c.ID += "x"
			su.Checks = append(su.Checks, c)
		}
	}
	noise := strings.Repeat("\x01", 8<<10)
	r, err := RunHandler(t.Context(), su, func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, noise) })
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed < 2000 || len(b) > 56<<20 {
		t.Errorf("%d failures take %d bytes", r.Failed, len(b))
	}
}
