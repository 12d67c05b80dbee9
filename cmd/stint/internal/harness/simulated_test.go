package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/logs"
)

func simScenario(t testing.TB, seed uint64, changes int) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Generate(scenario.Options{Seed: seed, Changes: changes, Name: "s01"})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func simulatedAgent(t testing.TB, opt SimOptions) *simulated {
	t.Helper()
	a, err := NewSimulated(opt)
	if err != nil {
		t.Fatal(err)
	}
	return a.(*simulated)
}

func blobsIn(t testing.TB) *logs.Blobs {
	t.Helper()
	b, err := logs.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bad says whether the suite would fail what an attempt left: something planted, or the work not done.
func (d *draw) bad() bool {
	if d.work == nil {
		return d.before.Turn < d.in.turn || !d.before.clean()
	}
	return !d.work.clean() || d.work.Turn < d.in.turn
}

// playTurn is the loop in miniature: process retries, void tries and retries with feedback. It reports whether the
// turn passed and the server it left.
func playTurn(p preset, sc *scenario.Scenario, in drawInput, retries, processRetries int, state serverState) (passed bool, after serverState) {
	for in.attempt = 0; in.attempt <= retries; in.attempt++ {
		for in.try = 0; ; in.try++ {
			d := p.draw(sc, in, state)
			if d.void != "" {
				continue
			}
			left := state
			if d.work != nil {
				left = *d.work
			}
			if !d.bad() {
				return true, left
			}
			if d.end != "" && processRetries > 0 {
				processRetries--
				continue
			}
			state = left
			break
		}
	}
	return false, state
}

// The share of turns that fail is what the presets say: 2,000 episodes of 13 turns in 40 scenarios, so that the
// standard error of a share of 14 % is at most 0.4 points, frailty included; the tolerance is three of them.
func TestPresetsHold(t *testing.T) {
	const scenarios, episodes = 40, 50
	var all []*scenario.Scenario
	for seed := range uint64(scenarios) {
		all = append(all, simScenario(t, 1000+seed, 12))
	}
	share := func(p preset, feedback string, retries int) float64 {
		failed, turns := 0, 0
		for n, sc := range all {
			for e := range uint64(episodes) {
				state := serverState{Turn: -1}
				for turn := range sc.Steps {
					in := drawInput{seed: e<<32 + uint64(n)<<8 + uint64(retries), turn: turn, feedback: feedback}
					passed, after := playTurn(p, sc, in, retries, 1, state)
					turns++
					if !passed {
						failed++
						after = serverState{Turn: turn} // every turn from good code: the hazard is per turn
					}
					state = after
				}
			}
		}
		return float64(failed) / float64(turns)
	}
	for _, tt := range []struct {
		preset, feedback string
		retries          int
		want             float64
	}{
		{"weak", "none", 0, 0.26},
		{"medium", "none", 0, 0.139},
		{"strong", "none", 0, 0.06},
		{"medium", "minimal", 2, 0.09},
		{"medium", "moderate", 2, 0.136*0.55*0.55 + LostTurn},
		{"medium", "detailed", 2, 0.015},
		{"medium", "detailed", 10, 0.003},
	} {
		got := share(presets[tt.preset], tt.feedback, tt.retries)
		t.Logf("%s %s/r%d: %.4f, stated %.4f", tt.preset, tt.feedback, tt.retries, got, tt.want)
		// The frailty of 40 scenarios adds to the binomial error: its mean has a standard error of 4 %.
		tolerance := 3 * math.Sqrt(tt.want*(1-tt.want)/(scenarios*episodes*13)+math.Pow(0.04*tt.want, 2))
		if math.Abs(got-tt.want) > tolerance {
			t.Errorf("%s %s/r%d: %.4f of turns failed, stated is %.4f (± %.4f)", tt.preset, tt.feedback, tt.retries, got, tt.want, tolerance)
		}
	}
}

// A harder scenario is harder for every model, and on average none is.
func TestFrailty(t *testing.T) {
	sum := 0.0
	const n = 4000
	for seed := range uint64(n) {
		f := frailty(&scenario.Scenario{Seed: seed})
		if f <= 0 {
			t.Fatalf("seed %d: frailty %v", seed, f)
		}
		sum += f
	}
	if mean := sum / n; math.Abs(mean-1) > 0.015 { // standard error 0.004
		t.Errorf("mean frailty %v, want 1", mean)
	}
}

// Faults sit mostly on what a turn added or changed, and never on nothing.
func TestPlantedFaults(t *testing.T) {
	why, kinds := map[string]int{}, map[string]int{}
	for seed := range uint64(20) {
		sc := simScenario(t, seed, 12)
		for turn := range sc.Steps {
			for e := range uint64(20) {
				d := presets["weak"].draw(sc, drawInput{seed: e, turn: turn}, serverState{Turn: turn - 1})
				for _, c := range d.causes {
					why[c.why]++
					if c.fault.Kind == "" {
						continue
					}
					kinds[c.fault.Kind]++
					if !oracle.KnownFault(c.fault.Kind) || sc.Steps[turn].Schema.Clause(c.fault.Clause) == nil {
						t.Errorf("seed %d, turn %d: planted %+v", seed, turn, c.fault)
					}
				}
			}
		}
	}
	t.Logf("causes %v; kinds %v", why, kinds)
	total := why["drift"] + why["regression"]
	if share := float64(why["regression"]) / float64(total); share < 0.15 || share > 0.45 {
		t.Errorf("%.2f of faults are regressions, want about %.2f", share, regressionShare)
	}
	if len(kinds) < 15 {
		t.Errorf("only %d kinds of fault were planted: %v", len(kinds), kinds)
	}
}

// The same request on the same workspace leaves the same files, result, log and truth.
func TestSimulatedRepeats(t *testing.T) {
	sc := simScenario(t, 3, 6)
	agent := simulatedAgent(t, SimOptions{Preset: "weak"})
	blobs := blobsIn(t)
	run := func(dir string) (out []string) {
		truth := filepath.Join(dir, "truth")
		work := filepath.Join(dir, "work")
		if err := os.Mkdir(work, 0o755); err != nil {
			t.Fatal(err)
		}
		for turn := range sc.Steps {
			for attempt := range 2 {
				r := Request{Turn: turn, Attempt: attempt, Kind: KindFirst, Prompt: "do it", Feedback: "minimal", Workspace: work, Seed: 11, Scenario: sc, Blobs: blobs, Truth: truth}
				for range 2 { // a run that was interrupted does the same again
					res, err := agent.Run(context.Background(), r)
					if err != nil {
						t.Fatal(err)
					}
					b, _ := json.Marshal(res)
					out = append(out, string(b))
					if attempt == 1 {
						break // on a workspace that the first try has changed
					}
					os.RemoveAll(filepath.Join(work, "again"))
				}
			}
			faults, _ := os.ReadFile(filepath.Join(work, faultsFile))
			out = append(out, string(faults))
		}
		b, err := os.ReadFile(truth)
		if err != nil {
			t.Fatal(err)
		}
		return append(out, string(b))
	}
	if diff := cmp.Diff(run(t.TempDir()), run(t.TempDir())); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestTruthFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth")
	for _, l := range []TruthLine{{Turn: 0}, {Turn: 1, End: endCrash}, {Turn: 1, Try: 1}, {Turn: 1, Attempt: 1}} {
		if err := writeTruth(path, l); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A run that was killed while it wrote, and one that plays an attempt again.
	if err := os.WriteFile(path, whole[:len(whole)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := writeTruth(path, TruthLine{Turn: 1, Attempt: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != string(whole) {
		t.Errorf("truth is now\n%swant\n%s", got, whole)
	}
	if _, err := ReadTruth(path + ".none"); err != nil {
		t.Errorf("a truth file that does not exist: %v", err)
	}
	if err := os.WriteFile(path, []byte("{}\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTruth(path); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}

// However an attempt ends, its result and log say it the way a real one would.
func TestEnds(t *testing.T) {
	for _, end := range []string{endSelfKill, endCrash, endHang, endOOM, endTokens, endEmpty, endContext, endToolCall, endLoop, endCompact} {
		d := draw{end: end}
		res := Result{Completion: CompletionClean, By: BySelf, Exit: new(int)}
		d.finish(&res, &trajectory{})
		if res.Completion == CompletionClean {
			t.Errorf("%s ended clean", end)
		}
		if (res.Exit == nil) != (res.Signal != "") {
			t.Errorf("%s: exit %v, signal %q", end, res.Exit, res.Signal)
		}
		if (res.Limit != "") != (res.By == ByLimit || res.By == ByOOM) {
			t.Errorf("%s: by %s, limit %q", end, res.By, res.Limit)
		}
	}
	d := draw{void: VoidRateLimit}
	res := Result{}
	d.finish(&res, &trajectory{})
	if res.Void != VoidRateLimit || res.VoidEvidence == "" {
		t.Errorf("%+v", res)
	}
}

func TestSimulatedRefusals(t *testing.T) {
	for _, opt := range []SimOptions{{Preset: "brilliant"}, {}, {Preset: "weak", Transport: "process"}} {
		if _, err := NewSimulated(opt); err == nil {
			t.Errorf("%+v was accepted", opt)
		}
	}
	if _, err := simulatedAgent(t, SimOptions{Preset: "weak"}).Run(context.Background(), Request{}); err == nil {
		t.Error("ran without a scenario")
	}
	if _, err := NewReference().Run(context.Background(), Request{}); err == nil {
		t.Error("the reference ran without a scenario")
	}
}

// A simulated hang ends when stint is interrupted.
func TestHangIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if !hung(ctx, time.Hour) {
		t.Error("the hang went on")
	}
	if hung(context.Background(), time.Millisecond) {
		t.Error("nobody interrupted it")
	}
}

// Server switches, as a client sees them. What ends the process is tested by the episodes.
func TestSwitches(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusOK) })
	status := func(h http.Handler, path string) int {
		w := &statusWriter{}
		r, _ := http.NewRequest(http.MethodGet, "http://x"+path, http.NoBody)
		h.ServeHTTP(w, r)
		return w.status
	}
	flaky := (&serverSwitch{Kind: switchFlaky, After: 3}).wrap(ok)
	var got []int
	for range 6 {
		got = append(got, status(flaky, "/rows"), status(flaky, "/health"))
	}
	if diff := cmp.Diff([]int{200, 200, 200, 200, 500, 200, 200, 200, 200, 200, 500, 200}, got); diff != "" {
		t.Errorf("flaky: %s", diff)
	}
	if s := status((&serverSwitch{Kind: switchUnhealthy}).wrap(ok), "/health"); s != http.StatusServiceUnavailable {
		t.Errorf("unhealthy: %d", s)
	}
}

type statusWriter struct{ status int }

func (w *statusWriter) Header() http.Header         { return http.Header{} }
func (w *statusWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *statusWriter) WriteHeader(s int)           { w.status = s }

func TestServe(t *testing.T) {
	dir := t.TempDir()
	sc := simScenario(t, 3, 0)
	if err := writeServer(dir, sc.Steps[0].Schema, serverState{Faults: []oracle.Fault{{Kind: oracle.ListReversed, Subject: sc.Steps[0].Schema.Entities[0].UID}}}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	go ServeMain([]string{dir}, func(string) string { return port }, io.Discard)
	var resp *http.Response
	for range 200 {
		if resp, err = http.Get("http://127.0.0.1:" + port + "/health"); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("health: %v %v", resp, err)
	}
	resp.Body.Close()

	for _, tt := range []struct {
		args  []string
		port  string
		write string
		code  int
	}{
		{nil, port, "", 2},
		{[]string{dir}, "", "", 1},
		{[]string{t.TempDir()}, port, "", 1},
		{[]string{dir}, port, `{"switch":{"kind":"exit_early"}}`, 1},
		{[]string{dir}, port, `{"faults":[{"kind":"no_such","subject":"e1"}]}`, 1},
	} {
		if tt.write != "" {
			if err := os.WriteFile(filepath.Join(dir, faultsFile), []byte(tt.write), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if code := ServeMain(tt.args, func(string) string { return tt.port }, io.Discard); code != tt.code {
			t.Errorf("%v with PORT %q and %s: exit code %d, want %d", tt.args, tt.port, tt.write, code, tt.code)
		}
	}
}

// A simulated agent that takes its time is cut in it.
func TestDelay(t *testing.T) {
	t.Parallel()
	a, err := NewSimulated(SimOptions{Preset: "weak", Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Generate(scenario.Options{Seed: 1, Changes: 1, Name: "s01", Delivery: scenario.DeliveryDeltaFile, Schedule: scenario.ScheduleStratified})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	res, err := a.Run(ctx, Request{Scenario: sc, Workspace: t.TempDir()})
	if err != nil || res.By != ByStint {
		t.Errorf("%+v, %v", res, err)
	}
}
