package harness

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/logs"
)

// SimulatedName is the name of the simulated harness.
const SimulatedName = "simulated"

// The transports of a simulated agent: how its server is graded.
const (
	TransportServer = "server" // a process of its own, over HTTP
	TransportInproc = "inproc" // a handler in this process; server switches count as a server that did not start
	TransportPython = "python" // a server in plain Python, which is what the agent writes; needs python3
)

// hangFor bounds a simulated hang: it reports the wall limit after at most this long.
const hangFor = time.Second

// SimOptions says how a simulated agent behaves.
type SimOptions struct {
	Preset    string // weak, medium, strong
	Transport string // server (also ""), inproc, python
	// Delay is how long an attempt takes beyond its work, as that of a model does; 0 = no time.
	Delay time.Duration
}

// NewSimulated returns an agent that needs no model: it writes the true server of a turn and plants faults
// of known kind, by seeded draws. What it planted goes to Request.Truth alone. The same request on the same
// workspace gives the same result. It needs Request.Scenario.
//
// schema.json and faults.json in its workspace are data of the simulation, not code: lines and changes of a
// simulated workspace are not counted, and the two files are left out of diffs. With the transport python there is no
// schema.json but server.py, with the faults in its code; faults that the writer of such servers does not know are not
// planted, others are drawn in their place.
func NewSimulated(opt SimOptions) (Agent, error) {
	p, ok := presets[opt.Preset]
	if !ok {
		return nil, fmt.Errorf("there is no simulated model %q: the presets are weak, medium and strong", opt.Preset)
	}
	switch opt.Transport {
	case "", TransportServer, TransportInproc, TransportPython:
	default:
		return nil, fmt.Errorf("the transport %q of a simulated agent is not available in this version of stint: use server, inproc or python", opt.Transport)
	}
	return &simulated{name: opt.Preset, preset: p, transport: opt.Transport, delay: opt.Delay}, nil
}

type simulated struct {
	name      string
	preset    preset
	transport string
	delay     time.Duration
}

func (*simulated) Name() string    { return SimulatedName }
func (*simulated) Version() string { return "1" }

// InProcess implements InProcess.
func (a *simulated) InProcess() bool { return a.transport == TransportInproc }

// Handler implements InProcess.
func (a *simulated) Handler(dir string) (func() http.Handler, string, error) {
	return localHandler(dir)
}

func (a *simulated) Run(ctx context.Context, r Request) (Result, error) {
	if r.Scenario == nil {
		return Result{}, fmt.Errorf("the simulated agent was not given the scenario")
	}
	if ctx.Err() != nil {
		return stoppedResult(), nil
	}
	before, exists, err := readState(r.Workspace)
	if err != nil {
		return Result{}, err
	}
	if !exists {
		before.Turn = -1
	}
	in := drawInput{seed: r.Seed, turn: r.Turn, attempt: r.Attempt, try: r.Try, feedback: r.Feedback}
	if a.transport == TransportPython {
		in.can = inPython
	}
	if a.delay > 0 && waits(ctx, a.delay) {
		return stoppedResult(), nil
	}
	d := a.preset.draw(r.Scenario, in, before)
	if r.Truth != "" {
		if err := writeTruth(r.Truth, d.truth(r)); err != nil {
			return Result{}, err
		}
	}
	if d.work != nil {
		write := writeServer
		if a.transport == TransportPython {
			write = writePython
		}
		if err := write(r.Workspace, d.work.schema(r.Scenario), *d.work); err != nil {
			return Result{}, err
		}
	}
	res, t := a.result(r, d)
	if d.end == endHang {
		if hung(ctx, r.Wall) {
			return stoppedResult(), nil
		}
	}
	res.Log = logs.LogRef{Reader: SimulatedName}
	res.Log.Blob, err = t.store(r.Blobs)
	return res, err
}

// hung waits as an agent does that has stopped answering; it reports whether stint ended the wait.
func hung(ctx context.Context, wall time.Duration) bool {
	d := hangFor
	if wall > 0 {
		d = min(d, wall)
	}
	return waits(ctx, d)
}

// waits lets time pass; it reports whether stint ended the wait.
func waits(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}

// SelfGraded is an agent that plants its faults itself, and so knows without any grading whether what it left is right.
type SelfGraded interface {
	// Planted says in one line what is wrong with the server in a folder after a turn; "" = nothing.
	Planted(dir string, turn int) (wrong string, err error)
}

// Planted implements SelfGraded.
func (*simulated) Planted(dir string, turn int) (string, error) { return planted(dir, turn) }

// Planted implements SelfGraded.
func (reference) Planted(dir string, turn int) (string, error) { return planted(dir, turn) }

func planted(dir string, turn int) (string, error) {
	state, ok, err := readState(dir)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "there is no server", nil
	case state.Turn != turn:
		return fmt.Sprintf("the server is that of turn %d", state.Turn), nil
	case state.Switch != nil:
		return "the server has a fault of its process", nil
	case state.Ignored:
		return "the change was left out", nil
	case len(state.Faults) == 1:
		return "1 fault is planted", nil
	case len(state.Faults) > 1:
		return fmt.Sprintf("%d faults are planted", len(state.Faults)), nil
	}
	return "", nil
}

// applies says whether a fault planted earlier still means something under a schema.
func applies(s *scenario.Schema, f oracle.Fault) bool {
	return f.Clause == "" || s.Clause(f.Clause) != nil
}

// result tells what a draw looks like from outside: how the program ended, its usage and its log.
func (a *simulated) result(r Request, d draw) (Result, *trajectory) {
	t := &trajectory{}
	t.prompt(r.Prompt)
	exit := 0
	res := Result{Exit: &exit, By: BySelf, Completion: CompletionClean, Edited: d.work != nil, Usage: d.usage(r, "simulated-"+a.name)}
	res.ToolCalls = d.calls(r)
	if d.end == endEmpty {
		res.ToolCalls = 0
	}
	for i := range res.ToolCalls {
		switch {
		case i == res.ToolCalls-1 && d.work != nil:
			t.call("write_file", "start.sh and the server's files", "written")
		case i%2 == 0:
			t.call("bash", "cat SPEC.md", "(the specification)")
		default:
			t.call("bash", "ls -la", "(the files of this folder)")
		}
	}
	d.finish(&res, t)
	t.usage(res.Usage)
	if res.Exit != nil {
		t.end(*res.Exit, res.Detail)
	}
	return res, t
}
