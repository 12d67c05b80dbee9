package episode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// The reference passes everything through real processes.
func TestReferencePasses(t *testing.T) {
	s := specOf(t.TempDir(), play(t, 3, 3), harness.NewReference(), noSandbox(t))
	if end := mustRun(t, s); end.Reason != EndCapped || end.TurnsPassed != 4 {
		t.Fatalf("end %+v", end)
	}
}

// The same, graded by stint itself inside bubblewrap.
func TestReferencePassesInBubblewrap(t *testing.T) {
	s := specOf(t.TempDir(), play(t, 3, 1), harness.NewReference(), bubblewrap(t))
	if end := mustRun(t, s); end.Reason != EndCapped || end.TurnsPassed != 2 {
		t.Fatalf("end %+v", end)
	}
}

// So it does in a study that also has agents which are not ours, and those do not see stint.
func TestReferencePassesBesideStrangers(t *testing.T) {
	box, err := sandbox.New(context.Background(), sandbox.Options{Kind: sandbox.KindBubblewrap, Runtimes: []string{}})
	if err != nil {
		missing(t, err)
	}
	s := specOf(t.TempDir(), play(t, 3, 1), harness.NewReference(), box)
	if end := mustRun(t, s); end.Reason != EndCapped || end.TurnsPassed != 2 {
		t.Fatalf("end %+v", end)
	}
	look := writer{files: func(harness.Request) map[string]string {
		return map[string]string{"start.sh": "#!/bin/sh\nfor f in /opt/stint/stint /proc/1/exe /proc/1/fd/0; do if cat $f >/dev/null 2>&1; then echo sees $f; fi; done\nexit 1\n"}
	}}
	s = specOf(t.TempDir(), play(t, 3, 1), look, box)
	s.Start.Feedback, s.Start.Retries = "detailed", 1
	if end := mustRun(t, s); end.Reason != EndFailed {
		t.Fatalf("end %+v", end)
	}
	if told := sent(t, s); strings.Contains(told, "sees") || !strings.Contains(told, "It printed nothing") {
		t.Errorf("a stranger's server: %s", told)
	}
}

func bubblewrap(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.New(context.Background(), sandbox.Options{Kind: sandbox.KindBubblewrap, Trusted: true, Runtimes: []string{}})
	if err != nil {
		missing(t, err)
	}
	return box
}

// writer is an agent that writes files and is graded through real processes.
type writer struct {
	files func(r harness.Request) map[string]string
}

func (writer) Name() string    { return "writer" }
func (writer) Version() string { return "1" }

func (w writer) Run(_ context.Context, r harness.Request) (harness.Result, error) {
	code := 0
	res := harness.Result{Exit: &code, By: harness.BySelf, Completion: harness.CompletionClean, Edited: true, Usage: logs.Usage{Via: "reader"}}
	for name, text := range w.files(r) {
		if err := os.WriteFile(filepath.Join(r.Workspace, name), []byte(text), 0o755); err != nil {
			return res, err
		}
	}
	return res, nil
}

// build.sh makes the start script; every world gets what was built.
func TestBuild(t *testing.T) {
	p := play(t, 3, 1)
	agent := writer{files: func(r harness.Request) map[string]string {
		schema, err := json.Marshal(p.scenario.Steps[r.Turn].Schema)
		if err != nil {
			t.Error(err)
		}
		return map[string]string{
			"schema.json": string(schema),
			"build.sh":    fmt.Sprintf("#!/bin/sh\nprintf '#!/bin/sh\\nexec %s __serve .\\n' > start.sh\nchmod +x start.sh\necho built\n", os.Args[0]),
		}
	}}
	s := specOf(t.TempDir(), p, agent, noSandbox(t))
	if end := mustRun(t, s); end.Reason != EndCapped {
		t.Fatalf("end %+v", end)
	}
	records, _, err := logs.ReadJournal(filepath.Join(s.Dir, logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	builds, ready := 0, 0
	for _, r := range records {
		switch r.Type {
		case logs.TypeBuild:
			builds++
		case logs.TypeServerReady:
			ready++
		}
	}
	if builds != 2 || ready != 6 {
		t.Errorf("%d builds and %d servers, want 2 and 6", builds, ready)
	}
}

// What is wrong with a server is the agent's failure, with a reason, and is told without a word of this machine.
func TestBrokenServers(t *testing.T) {
	for _, tt := range []struct {
		name, reason, told, detail string
		files                      map[string]string
	}{
		{"no start.sh", "start", "no start.sh", "there is no file start.sh in the workspace", map[string]string{"README": ""}},
		{"ends", "start", "exit code 7", "start.sh ended (exit code 7) before the server was ready", map[string]string{"start.sh": "#!/bin/sh\necho cannot find it\nexit 7\n"}},
		{"never listens", "start", "nothing listened", "nothing listened on PORT within 300ms", map[string]string{"start.sh": "#!/bin/sh\nexec sleep 60\n"}},
		{"build fails", "build", "| no compiler", "build.sh ended with exit code 3", map[string]string{"build.sh": "#!/bin/sh\necho no compiler in $PWD\nexit 3\n", "start.sh": "#!/bin/sh\n"}},
		{"build nests", "build", "nested deeper", "what build.sh left cannot be copied: folders are nested deeper than 256",
			map[string]string{"build.sh": "#!/bin/sh\nfor i in $(seq 400); do mkdir d; cd d; done\n", "start.sh": "#!/bin/sh\n"}},
		{"build leaves holes", "build", "more than", "what build.sh left cannot be copied: more than 2147483648 bytes",
			map[string]string{"build.sh": "#!/bin/sh\nfor i in 1 2; do truncate -s 1900M $i; done\n", "start.sh": "#!/bin/sh\n"}},
		// What can be copied is: a long path, a FIFO, a socket, a loop of links.
		{"build leaves oddities", "start", "exit code 7", "start.sh ended (exit code 7) before the server was ready",
			map[string]string{"build.sh": "#!/bin/bash\nmkfifo f; ln -s . loop; n=$(printf 'n%.0s' {1..250}); for i in {1..40}; do mkdir $n; cd $n; done\n", "start.sh": "#!/bin/sh\nexit 7\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			agent := writer{files: func(harness.Request) map[string]string { return tt.files }}
			s := specOf(t.TempDir(), play(t, 3, 1), agent, noSandbox(t))
			s.Start.Retries, s.ReadyTimeout = 1, 300*time.Millisecond
			if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 0 {
				t.Errorf("end %+v", end)
			}
			if k := essential(kinds(t, s)); k[2] != "grade.end 0.0 "+tt.reason {
				t.Errorf("journal %q", k)
			}
			told := sent(t, s)
			if !strings.Contains(told, tt.told) || strings.Contains(told, os.TempDir()) {
				t.Errorf("told %q", told)
			}
			if d := gradeDetail(t, s); d != tt.detail {
				t.Errorf("recorded for people: %q, want %q", d, tt.detail)
			}
			digests(t, root(s))
		})
	}
}

// gradeDetail is the line for people of an episode's first grading.
func gradeDetail(t *testing.T, s Spec) string {
	t.Helper()
	records, _, err := logs.ReadJournal(filepath.Join(s.Dir, logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Type == logs.TypeGradeEnd {
			g, err := logs.Decode[gradeRecord](r)
			if err != nil {
				t.Fatal(err)
			}
			return g.Detail
		}
	}
	return ""
}

// sent is the feedback of an episode's first feedback.sent.
func sent(t *testing.T, s Spec) string {
	t.Helper()
	records, _, err := logs.ReadJournal(filepath.Join(s.Dir, logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := logs.OpenBlobs(filepath.Join(s.Dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Type == logs.TypeFeedbackSent {
			d, err := logs.Decode[logs.FeedbackSent](r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := blobs.Get(d.SHA)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	t.Fatal("no feedback was sent")
	return ""
}

// A server that sends signals to the grader, the first process of its namespace, does not turn its own failure into
// ours.
func TestServersCannotEndTheGrader(t *testing.T) {
	box := bubblewrap(t)
	const kills = "for s in TERM INT HUP QUIT ABRT SEGV BUS FPE ILL TRAP SYS USR1 USR2 ALRM PIPE TSTP STOP KILL; do kill -$s 1; done; sleep 0.3; exit 9\n"
	for name, files := range map[string]map[string]string{
		"start": {"start.sh": "#!/bin/sh\n" + kills},
		"build": {"build.sh": "#!/bin/sh\n" + kills, "start.sh": "#!/bin/sh\n"},
	} {
		agent := writer{files: func(harness.Request) map[string]string { return files }}
		s := specOf(t.TempDir(), play(t, 3, 1), agent, box)
		if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 0 {
			t.Errorf("%s: end %+v", name, end)
		}
		if k := essential(kinds(t, s)); k[2] != "grade.end 0.0 "+name {
			t.Errorf("%s: journal %q", name, k)
		}
	}
}

// What the servers take of the sandbox they are graded in is theirs, also where no limit of their own catches it.
func TestServersOverTheLimitsOfTheSandbox(t *testing.T) {
	box, err := sandbox.New(context.Background(), sandbox.Options{Kind: sandbox.KindBubblewrap, Trusted: true, Runtimes: []string{},
		Limits: sandbox.Limits{Processes: 40}})
	if err != nil {
		missing(t, err)
	}
	// Each is a session of its own and an orphan, so it belongs to no server any more.
	const hide = "#!/bin/sh\ni=0; while [ $i -lt 60 ]; do env -i setsid sleep 30 & i=$((i+1)); done\nsleep 3\nexit 1\n"
	agent := writer{files: func(harness.Request) map[string]string { return map[string]string{"start.sh": hide} }}
	s := specOf(t.TempDir(), play(t, 3, 1), agent, box)
	s.ServerLimits = sandbox.Limits{Processes: 1000}
	if end := mustRun(t, s); end.Reason != EndFailed || end.TurnsPassed != 0 {
		t.Errorf("end %+v", end)
	}
	if d := gradeDetail(t, s); !strings.Contains(d, "passed the limit on processes") {
		t.Errorf("recorded: %q", d)
	}
}

// A grader that ends badly, or whose sandbox cannot be started, is our fault and not the agent's.
func TestGraderFailed(t *testing.T) {
	su := &suite.Suite{}
	if r := graderFailed(su, errors.New("it fell over")); r.Fault != faultBench || r.Result.Passed != nil {
		t.Errorf("%+v", r)
	}
	if r := graderFailed(su, &sandbox.SpawnError{What: "bwrap", Err: errors.New("no")}); r.Fault != faultHost {
		t.Errorf("%+v", r)
	}
}

func TestRequestNonsense(t *testing.T) {
	for _, in := range []string{"", "{", `{"checkout":"/"}`} {
		if _, err := readRequest(strings.NewReader(in)); err == nil {
			t.Errorf("%q was taken for a request", in)
		}
	}
}

// passedOf is the grade of an attempt that was graded.
func passedOf(tables *logs.Tables, turn, attempt int) (passed, ok bool) {
	for _, a := range tables.Attempts {
		if a.Turn == turn && a.Attempt != nil && *a.Attempt == attempt && a.Passed != nil {
			return *a.Passed, true
		}
	}
	return false, false
}

// Every failing answer of the simulated agent is one that the suite sees, and no good one fails.
func TestPlantedFaultsAreSeen(t *testing.T) {
	agent, err := harness.NewSimulated(harness.SimOptions{Preset: "weak", Transport: harness.TransportInproc})
	if err != nil {
		t.Fatal(err)
	}
	box := noSandbox(t)
	planted, unseen := 0, 0
	for _, scenarioSeed := range []uint64{3, 5} {
		p := play(t, scenarioSeed, 3)
		for seed := range uint64(30) {
			s := specOf(t.TempDir(), p, agent, box)
			s.Start.Seed, s.Start.Retries, s.Start.Mode = seed, 0, ModeFailStop
			mustRun(t, s)
			lines, err := harness.ReadTruth(filepath.Join(s.Dir, truthName))
			if err != nil {
				t.Fatal(err)
			}
			_, tables := digests(t, root(s))
			for _, l := range lines {
				bad := len(l.Faults) > 0 || l.Switch != "" || l.Ignored
				passed, ok := passedOf(tables, l.Turn, l.Attempt)
				switch {
				case !ok || l.Void != "" || l.End != "":
				case !bad && !passed:
					t.Errorf("scenario %d, seed %d: turn %d failed, nothing was planted", scenarioSeed, seed, l.Turn)
				case bad:
					planted++
					if passed {
						unseen++
						t.Logf("scenario %d, seed %d: not seen: %+v", scenarioSeed, seed, l)
					}
				}
			}
		}
	}
	t.Logf("%d answers with planted faults, %d not seen", planted, unseen)
	if planted < 20 || unseen*20 > planted {
		t.Errorf("%d of %d failing answers were not seen", unseen, planted)
	}
}

// missing skips a test whose sandbox is not to be had here; CI, which installs it, sets STINT_REQUIRE, and there it
// is a failure.
func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("STINT_REQUIRE") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}
