package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

// TestGatewayOnly: what the agent's own record does not tell of what the gateway saw.
func TestGatewayOnly(t *testing.T) {
	t.Parallel()
	event := func(via, kind, id, text string) logs.EventRow {
		e := logs.EventRow{Via: via, Kind: kind, Text: text}
		if id != "" {
			e.CallID = &id
		}
		return e
	}
	counted := func(out, reported int64) []logs.AttemptRow {
		a := logs.AttemptRow{}
		a.Output = &out
		if reported > 0 {
			a.ReportedOutput = &reported
		}
		return []logs.AttemptRow{a}
	}
	saw := []logs.EventRow{
		event(logs.ViaGateway, logs.EventToolCall, "a", ""), event(logs.ViaGateway, logs.EventRejectedCall, "b", "malformed_call: x"),
		event(logs.ViaGateway, logs.EventToolCall, "b", ""), event(logs.ViaGateway, logs.EventToolCall, "c", ""), event(logs.ViaGateway, logs.EventRejectedCall, "c", "unknown_tool x"),
	}
	twice := []logs.EventRow{event(logs.ViaGateway, logs.EventToolCall, "d", ""), event(logs.ViaGateway, logs.EventToolCall, "d", "")}
	reads := func(kinds ...string) (out []logs.EventRow) {
		for i := 0; i < len(kinds); i += 2 {
			out = append(out, event(logs.ViaReader, kinds[i], kinds[i+1], ""))
		}
		return out
	}
	const call, refused = logs.EventToolCall, logs.EventRejectedCall
	for name, c := range map[string]struct {
		events   []logs.EventRow
		attempts []logs.AttemptRow
		want     []string
	}{
		"all is told":       {append(reads(call, "a", refused, "b", refused, "c"), saw...), counted(10, 10), nil},
		"repaired":          {append(reads(call, "a", call, "b", refused, "c"), saw...), counted(10, 10), []string{"broken arguments"}},
		"nothing is told":   {saw, counted(10, 0), []string{"1 of 3 calls", "broken arguments", "tokens", "unknown tools"}},
		"a title":           {append(reads(call, "a", refused, "b", refused, "c"), saw...), counted(10, 8), []string{"tokens of requests that it does not record"}},
		"replayed":          {append(reads(call, "d"), twice...), counted(10, 10), []string{"repeated call ids"}},
		"both of one id":    {append(reads(call, "d", call, "d"), twice...), counted(10, 10), nil},
		"void is no matter": {nil, []logs.AttemptRow{{VoidReason: new(string)}}, nil},
	} {
		if diff := cmp.Diff(c.want, gatewayOnly(&logs.Tables{Events: c.events, Attempts: c.attempts})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMemoryWatch sees what a child of this process holds, while it works.
func TestMemoryWatch(t *testing.T) {
	w := &memoryWatch{stint: os.Args[0]}
	stop := w.begin()
	w.working.Store(true)
	shell(t, t.TempDir(), `x=$(head -c 30000000 /dev/zero | tr '\0' x); sleep 1; : "$x"`)
	stop()
	if w.most < 30e6 || w.most > 2e9 {
		t.Errorf("%d bytes were seen, want at least 30 MB", w.most)
	}
	idle := &memoryWatch{stint: os.Args[0]}
	stop = idle.begin()
	time.Sleep(100 * time.Millisecond)
	stop()
	if idle.most != 0 {
		t.Errorf("%d bytes while nothing worked", idle.most)
	}
}

// TestHarnessMeasure measures the manual's agent of sixty lines.
func TestHarnessMeasure(t *testing.T) {
	if os.Getenv("STINT_REQUIRE") == "" {
		t.Skip("plays five small studies: set STINT_REQUIRE=1")
	}
	requireBubblewrap(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "manual"))); err != nil {
		t.Fatal(err)
	}
	out, _ := stint(t, dir, 0, "harness", "list", "--measure", "--json", "-q", "my-agent.yaml")
	var list []listedHarness
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 || list[0].Measured == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := list[0].Measured
	if m.StartS <= 0 || m.StartCPU <= 0 || m.MemoryMB < 5 || m.MemoryMB > 500 || !strings.Contains(strings.Join(m.GatewayOnly, ", "), "tokens") {
		t.Errorf("measured %+v", m)
	}
	table, _ := stint(t, dir, 0, "harness", "list", "--markdown", "my-agent.yaml", "opencode")
	if !strings.HasPrefix(table, "| `harness:` | program | protocol | conversation |\n") || !strings.Contains(table, "| `opencode` | OpenCode ") {
		t.Errorf("table\n%s", table)
	}
}
