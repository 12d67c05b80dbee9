package main

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// TestClassifyBuiltin: the built-in agent, driven by models that each fail in a way of their own, leaves traces by which
// the cause is found. The words of the models name other causes.
func TestClassifyBuiltin(t *testing.T) {
	t.Parallel()
	n := 0
	models := []struct {
		name, leaf string
		script     func(r openai.ChatCompletionRequest) harness.SimAnswer
	}{
		{"looper", classify.LeafLoopGuard, func(openai.ChatCompletionRequest) harness.SimAnswer { return harness.SimBash("echo OOMKilled") }},
		{"overflow", classify.LeafContext, func(openai.ChatCompletionRequest) harness.SimAnswer {
			return harness.SimError(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens")
		}},
		{"busy", classify.LeafBudget, func(openai.ChatCompletionRequest) harness.SimAnswer {
			n++
			return harness.SimBash(fmt.Sprintf("echo 429 too many requests %d", n))
		}},
		{"hanger", classify.LeafToolHang, func(openai.ChatCompletionRequest) harness.SimAnswer { return harness.SimBash("sleep 1000") }},
		{"talker", classify.LeafAgentExit, func(openai.ChatCompletionRequest) harness.SimAnswer {
			return harness.SimText("I was stopped by AgentStuckInLoopError.")
		}},
		{"idler", classify.LeafBrokenServer, func(r openai.ChatCompletionRequest) harness.SimAnswer {
			if strings.Contains(fmt.Sprint(r.Messages[len(r.Messages)-1].Role), "tool") {
				return harness.SimText("Everything is done: 503 Service Unavailable.")
			}
			return harness.SimBash("echo 'exit 3' > start.sh; chmod +x start.sh; echo no space left on device")
		}},
	}
	dir := t.TempDir()
	var names, lines []string
	want := map[string]string{}
	for _, m := range models {
		srv := httptest.NewServer(&harness.ModelSim{Script: func(_ int, r openai.ChatCompletionRequest) harness.SimAnswer { return m.script(r) }})
		defer srv.Close()
		names = append(names, m.name)
		lines = append(lines, fmt.Sprintf("  %s: {api: chat, url: %q, context: 200k}", m.name, srv.URL+"/v1"))
		want[m.name] = m.leaf
	}
	writeFile(t, dir, "study.yaml", "version: 1\nname: traces\nseed: 3\nscenarios: {count: 1, changes: 1}\nconfigs:\n"+
		"  - {model: ["+strings.Join(names, ", ")+"], harness: builtin, feedback: none, retries: 0}\nmodels:\n"+strings.Join(lines, "\n")+
		"\nagent: {process_retries: 0}\nbudgets:\n  attempt: {wall: 4s, requests: 12}\nsandbox: none\n")
	stint(t, dir, 0, "run", "study.yaml", "-o", "run", "-q")
	stint(t, dir, 0, "classify", "run", "-q")
	d, err := logs.OpenRunDir(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	tables, _, err := logs.ReadRun(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range tables.Episodes {
		if got := deref(e.EndLeaf); got != want[e.Model] {
			out, _ := stint(t, dir, 0, "explain", "run", e.Episode)
			t.Errorf("%s ended by %s, want %s\n%s", e.Model, got, want[e.Model], out)
		}
		delete(want, e.Model)
	}
	if len(want) > 0 {
		t.Errorf("no episode of %v", want)
	}
}
