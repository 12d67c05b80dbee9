package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// measuredHarness is what was seen of an agent on this machine.
type measuredHarness struct {
	Conversation string   `json:"conversation"` // how a follow-up finds it
	StartS       float64  `json:"start_s"`      // seconds of an attempt with one answer, median of measureStarts
	StartCPU     float64  `json:"start_cpu_s"`  // processor seconds of such an attempt, in all processes; less depends on what else runs
	MemoryMB     float64  `json:"memory_mb"`    // most that its processes held together while it built a service, in 10^6 bytes, shared pages once
	GatewayOnly  []string `json:"gateway_only"` // what its own record did not tell
}

// measureStarts is how often an agent is started to see how long that takes: the first reads cold files.
const measureStarts = 3

// oddAnswers are what a model does wrong in the trial that shows what an agent writes down.
const oddAnswers = "bad-json@0,unknown-tool@0,duplicate-id@0*2"

// conversationOf says how an agent goes on with a conversation.
func conversationOf(f *harness.File) string {
	switch {
	case len(f.Next) == 0:
		return "every attempt is new"
	case f.Session.Chosen:
		return "goes on, id chosen"
	case f.Session.Match != "":
		return "goes on, id from its output"
	}
	return "goes on, the latest"
}

// measureHarness lets an agent answer once a few times, build a service, and meet a model that does things wrong.
func (e *env) measureHarness(ctx context.Context, f *harness.File, name string) (*measuredHarness, error) {
	dir, err := os.MkdirTemp("", "stint-measure-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for a measurement: %w", err)
	}
	defer os.RemoveAll(dir)
	m := &measuredHarness{Conversation: conversationOf(f)}
	trial := harnessTrial{harness: name, protocol: f.Protocol, sandbox: "auto", wall: 4 * time.Minute}
	var starts, cpu []float64
	for i := range measureStarts {
		trial.script = "unhelpful"
		before := childrenCPU()
		t, err := trial.run(ctx, e, filepath.Join(dir, fmt.Sprintf("start%d", i)), nil)
		if err != nil {
			return nil, err
		}
		a, err := firstCounted(t)
		if err != nil {
			return nil, fmt.Errorf("starting %s: %w", f.Name, err)
		}
		starts, cpu = append(starts, *a.AgentS), append(cpu, childrenCPU()-before)
	}
	slices.Sort(starts)
	slices.Sort(cpu)
	m.StartS, m.StartCPU = starts[len(starts)/2], cpu[len(cpu)/2]

	trial.script = "perfect"
	w := &memoryWatch{stint: e.Stint}
	stop := w.begin()
	_, err = trial.run(ctx, e, filepath.Join(dir, "build"), w.event)
	stop()
	if err != nil {
		return nil, err
	}
	m.MemoryMB = float64(w.most) / 1e6

	trial.script = oddAnswers
	odd := filepath.Join(dir, "odd")
	if _, err := trial.run(ctx, e, odd, nil); err != nil {
		return nil, err
	}
	d, err := logs.OpenRunDir(odd)
	if err != nil {
		return nil, err
	}
	t, _, err := logs.ReadRunWith(d, logs.ReadOptions{Events: true})
	if err != nil {
		return nil, err
	}
	m.GatewayOnly = gatewayOnly(t)
	return m, nil
}

// childrenCPU is the processor time, in seconds, of all processes below this one that have ended.
func childrenCPU() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// firstCounted is the first attempt that was the agent's.
func firstCounted(t *logs.Tables) (*logs.AttemptRow, error) {
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.VoidReason == nil && a.AgentS != nil && a.Input != nil {
			return a, nil
		}
	}
	return nil, fmt.Errorf("no request reached the gateway")
}

// gatewayOnly compares the two records of an episode. The reader's has an event of its own for what it tells.
func gatewayOnly(t *logs.Tables) []string {
	refused := map[string]bool{}           // ids of calls that the agent's record says were refused
	times := map[string]int{}              // ids of its calls
	seen := map[string]string{}            // id of a call that the gateway found wrong → in what
	asked, repeated := 0, map[string]int{} // calls that the gateway saw
	for _, ev := range t.Events {
		id := ""
		if ev.CallID != nil {
			id = *ev.CallID
		}
		switch {
		case ev.Via == logs.ViaReader && ev.Kind == logs.EventRejectedCall:
			refused[id] = true
		case ev.Via == logs.ViaReader && ev.Kind == logs.EventToolCall:
			times[id]++
		case ev.Via == logs.ViaGateway && ev.Kind == logs.EventRejectedCall:
			seen[id], _, _ = strings.Cut(ev.Text, " ")
		case ev.Via == logs.ViaGateway && ev.Kind == logs.EventToolCall:
			asked++
			repeated[id]++
		}
	}
	var out []string
	lost, twice := 0, false
	for id, n := range repeated {
		if seen[id] != "" && seen[id] != "duplicate_id" {
			continue // it has words of its own below
		}
		lost += max(0, n-max(times[id], boolInt(refused[id])))
		twice = twice || n > 1 && times[id] < n
	}
	words := map[string]string{"malformed_call": "broken arguments", "unknown_tool": "unknown tools"}
	for id, what := range seen {
		if w := words[strings.Trim(what, ":,")]; w != "" && !refused[id] {
			out = append(out, w)
		}
	}
	if twice {
		out = append(out, "repeated call ids")
	}
	if lost > 0 && !twice {
		out = append(out, fmt.Sprintf("%d of %d calls", lost, asked))
	}
	out = append(out, tokensOnly(t)...)
	slices.Sort(out)
	return slices.Compact(out)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tokensOnly says which counts of tokens only the gateway has.
func tokensOnly(t *logs.Tables) []string {
	for i := range t.Attempts {
		a := &t.Attempts[i]
		switch {
		case a.VoidReason != nil || a.Output == nil:
			continue
		case a.ReportedOutput == nil:
			return []string{"tokens"}
		case *a.ReportedOutput < *a.Output:
			return []string{"tokens of requests that it does not record"}
		}
		return nil
	}
	return nil
}

// memoryWatch adds up what the processes of a running agent hold.
type memoryWatch struct {
	stint   string // our executable: its own processes are not the agent's
	working atomic.Bool
	most    int64 // bytes
}

// event notes whether the agent works or is graded.
func (w *memoryWatch) event(ev study.Event) {
	switch ev.Kind {
	case episode.EventAttempt:
		w.working.Store(true)
	case episode.EventGrading, episode.EventVoid, episode.EventEnd:
		w.working.Store(false)
	}
}

// begin looks twenty times a second until the returned function is called; then most is final.
func (w *memoryWatch) begin() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if w.working.Load() {
					w.most = max(w.most, w.held())
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// held is the memory of all descendants of this process but stint itself and the sandbox's own program.
func (w *memoryWatch) held() int64 {
	own, err := os.Stat(w.stint)
	if err != nil {
		return 0
	}
	parents := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		// The name in parentheses may hold anything; the fields start behind the last one.
		if f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]); err == nil && len(f) > 1 {
			parents[pid], _ = strconv.Atoi(string(f[1]))
		}
	}
	var sum int64
	for pid := range parents {
		at := parents[pid]
		for steps := 0; at > 1 && at != os.Getpid() && steps < 100; steps++ {
			at = parents[at]
		}
		if at != os.Getpid() {
			continue
		}
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		exe, err := os.Stat(filepath.Join(proc, "exe"))
		name, _ := os.ReadFile(filepath.Join(proc, "comm"))
		if err != nil || os.SameFile(exe, own) || string(name) == "bwrap\n" {
			continue
		}
		sum += heldBy(proc)
	}
	return sum
}

// heldBy is the memory of one process, in bytes: its share of what it shares, since a process that has just been forked
// seems to hold all that its parent does; where the shares are not told, the whole.
func heldBy(proc string) int64 {
	b, _ := os.ReadFile(filepath.Join(proc, "smaps_rollup"))
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "Pss:" {
			kb, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return kb << 10
		}
	}
	b, _ = os.ReadFile(filepath.Join(proc, "statm"))
	if f := bytes.Fields(b); len(f) > 1 {
		pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}
