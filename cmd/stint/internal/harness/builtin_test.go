package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// play is one workspace with a scripted model behind the built-in agent.
type play struct {
	t        *testing.T
	sim      *ModelSim
	opt      BuiltinOptions
	request  Request
	lastLog  string
	requests int
}

func newPlay(t *testing.T, script func(n int, r openai.ChatCompletionRequest) SimAnswer) *play {
	t.Helper()
	sb, err := sandbox.New(t.Context(), sandbox.Options{Kind: sandbox.KindNone, Trusted: true, Limits: sandbox.Limits{Disk: 8 << 20, FileSize: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := logs.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sim := &ModelSim{Script: script}
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	return &play{t: t, sim: sim,
		opt: BuiltinOptions{Model: gateway.Model{Name: "m", URL: srv.URL + "/v1"}, Gateway: gateway.Options{MinWait: time.Millisecond}},
		request: Request{Episode: "e", Kind: KindFirst, Prompt: "Build it.", Session: SessionContinue, Workspace: t.TempDir(), Home: t.TempDir(),
			Wall: time.Minute, Requests: 50, Sandbox: sb, Blobs: blobs},
	}
}

// script answers in order and ends with a plain text.
func script(answers ...SimAnswer) func(int, openai.ChatCompletionRequest) SimAnswer {
	return func(n int, _ openai.ChatCompletionRequest) SimAnswer {
		if n < len(answers) {
			return answers[n]
		}
		return SimText("Done.")
	}
}

func (p *play) runErr(ctx context.Context) (Result, error) {
	p.t.Helper()
	a, err := NewBuiltin(p.opt)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := a.Run(ctx, p.request)
	p.requests = len(p.sim.Requests())
	for i, r := range p.sim.Requests() {
		if len(r.Messages) > 0 && r.Messages[0].Role == openai.ChatMessageRoleSystem && !paired(r.Messages[1:]) {
			p.t.Errorf("request %d: calls and results are not paired: %+v", i, r.Messages)
		}
		for j := 1; j < len(r.Messages); j++ {
			if r.Messages[j].Role == openai.ChatMessageRoleUser && r.Messages[j-1].Role == openai.ChatMessageRoleUser {
				p.t.Errorf("request %d: two user messages in a row", i)
			}
		}
	}
	if err == nil {
		b, err := p.request.Blobs.Get(res.Log.Blob)
		if err != nil || res.Log.Reader != "stint-gateway" {
			p.t.Fatalf("log %+v: %v", res.Log, err)
		}
		p.lastLog = string(b)
	}
	return res, err
}

func (p *play) run() Result {
	p.t.Helper()
	res, err := p.runErr(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// events counts the events of a kind in the last log.
func (p *play) events(kind string) int {
	n := 0
	for line := range strings.Lines(p.lastLog) {
		var e struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Errorf("log line is no JSON: %s", line)
		}
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// last is the text of the last message of a request.
func (p *play) last(request int) string {
	m := p.sim.Requests()[request].Messages
	return m[len(m)-1].Content
}

func (p *play) file(name string) string {
	b, err := os.ReadFile(filepath.Join(p.request.Workspace, name))
	if err != nil {
		return "ERROR " + filepath.Base(err.Error())
	}
	return string(b)
}

func TestBuiltinWorks(t *testing.T) {
	t.Parallel()
	p := newPlay(t, script(
		SimWrite("src/a.txt", "hello\n"),
		SimAnswer{Reasoning: "secret thought", Calls: []SimCall{{Name: "bash", Arguments: `{"command":"cat src/a.txt; exit 3","timeout":5}`},
			{Name: "write_file", Arguments: simArguments(map[string]string{"path": "start.sh", "content": "#!/bin/sh\n"})}}},
	))
	res := p.run()
	if res.Completion != CompletionClean || res.By != BySelf || *res.Exit != 0 || res.ToolCalls != 3 || !res.Edited || res.Void != "" || res.Detail != "Done." {
		t.Errorf("got %+v", res)
	}
	if p.file("src/a.txt") != "hello\n" || p.last(1) != "Wrote 6 bytes to src/a.txt." {
		t.Errorf("file %q, result %q", p.file("src/a.txt"), p.last(1))
	}
	if st, err := os.Stat(filepath.Join(p.request.Workspace, "start.sh")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("start.sh: %v %v", st, err)
	}
	m := p.sim.Requests()[2].Messages
	if got := m[len(m)-2].Content; got != "[exit code 3]\nhello\n" {
		t.Errorf("bash result %q", got)
	}
	for _, m := range m {
		if m.ReasoningContent != "" {
			t.Error("reasoning was sent back")
		}
	}
	if !strings.Contains(p.lastLog, "secret thought") {
		t.Error("reasoning is not in the record")
	}
	if u := res.Usage; u.Via != "gateway" || *u.Requests != 3 || *u.In <= 0 || *u.Out <= 0 || u.USD != nil {
		t.Errorf("usage %+v", u)
	}
	for _, r := range p.sim.Requests() {
		if len(r.Tools) != 2 || strings.Contains(strings.ToLower(r.Messages[0].Content), "attempt") {
			t.Errorf("tools %v, system prompt %q", r.Tools, r.Messages[0].Content)
		}
	}
}

func TestBuiltinAnswersBadCalls(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	for name, c := range map[string]struct {
		call  SimCall
		want  string
		event string
	}{
		"truncated JSON":   {SimCall{Name: "bash", Arguments: `{"command": "ls`}, "no JSON object", "malformed_call"},
		"array":            {SimCall{Name: "bash", Arguments: `["ls"]`}, "no JSON object", "malformed_call"},
		"empty":            {SimCall{Name: "bash", Arguments: ``}, "no JSON object", "malformed_call"},
		"unknown tool":     {SimCall{Name: "read file!", Arguments: `{}`}, `no tool "read file!"`, "unknown_tool"},
		"missing command":  {SimCall{Name: "bash", Arguments: `{"cmd":"ls"}`}, `"command" (text) is missing`, "bad_call"},
		"wrong type":       {SimCall{Name: "bash", Arguments: `{"command":["ls"]}`}, `"command" (text) is missing`, "bad_call"},
		"bad timeout":      {SimCall{Name: "bash", Arguments: `{"command":"ls","timeout":"soon"}`}, "no positive number", "bad_call"},
		"text timeout":     {SimCall{Name: "bash", Arguments: `{"command":"echo fine","timeout":"5"}`}, "fine", "tool_result"},
		"NUL":              {SimCall{Name: "bash", Arguments: `{"command":"echo \u0000"}`}, "NUL character", "bad_call"},
		"long command":     {SimCall{Name: "bash", Arguments: simArguments(map[string]string{"command": "echo " + strings.Repeat("x", 125<<10)})}, "longer than", "bad_call"},
		"missing content":  {SimCall{Name: "write_file", Arguments: `{"path":"a"}`}, `"path" and "content"`, "bad_call"},
		"absolute path":    {SimCall{Name: "write_file", Arguments: simArguments(map[string]string{"path": outside, "content": "x"})}, "no path of a file inside", "tool_result"},
		"parent":           {SimCall{Name: "write_file", Arguments: `{"path":"a/../../outside","content":"x"}`}, "no path of a file inside", "tool_result"},
		"folder":           {SimCall{Name: "write_file", Arguments: `{"path":"sub/","content":"x"}`}, "no path of a file inside", "tool_result"},
		"link outside":     {SimCall{Name: "write_file", Arguments: `{"path":"link/outside","content":"x"}`}, "Error: writing link/outside", "tool_result"},
		"link to file":     {SimCall{Name: "write_file", Arguments: `{"path":"evil","content":"x"}`}, "Error: writing evil", "tool_result"},
		"FIFO":             {SimCall{Name: "write_file", Arguments: `{"path":"fifo","content":"x"}`}, "no regular file", "tool_result"},
		"existing folder":  {SimCall{Name: "write_file", Arguments: `{"path":"sub","content":"x"}`}, "no regular file", "tool_result"},
		"too large":        {SimCall{Name: "write_file", Arguments: simArguments(map[string]string{"path": "a", "content": strings.Repeat("x", 1<<20+1)})}, "longer than a file may be", "tool_result"},
		"workspace prefix": {SimCall{Name: "write_file", Arguments: `{"path":"WS/ok.txt","content":"x"}`}, "Wrote 1 bytes to ok.txt.", "tool_result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, nil)
			c.call.Arguments = strings.ReplaceAll(c.call.Arguments, "WS", p.request.Workspace)
			p.sim.Script = script(SimAnswer{Calls: []SimCall{c.call}})
			mustRun(t, p.request.Workspace, "mkdir sub; mkfifo fifo; ln -s "+filepath.Dir(outside)+" link; ln -s "+outside+" evil")
			res := p.run()
			if res.Completion != CompletionClean || res.ToolCalls != 1 || p.requests != 2 {
				t.Errorf("got %+v after %d requests", res, p.requests)
			}
			if !strings.Contains(p.last(1), c.want) || p.events(c.event) != 1 {
				t.Errorf("the model was told %q; events %s: %d", p.last(1), c.event, p.events(c.event))
			}
			m := p.sim.Requests()[1].Messages
			kept := m[len(m)-2].ToolCalls[0].Function
			if !json.Valid([]byte(kept.Arguments)) || oddName.MatchString(kept.Name) {
				t.Errorf("the conversation keeps the broken call %+v", kept)
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Error("a file was written outside the workspace")
			}
		})
	}
}

func mustRun(t *testing.T, dir, command string) {
	t.Helper()
	sb, err := sandbox.New(t.Context(), sandbox.Options{Kind: sandbox.KindNone, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := sb.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-ec", command}, Workspace: dir, Merge: true})
	if err != nil || e.Code == nil || *e.Code != 0 {
		t.Fatalf("%v: %s", err, e.Stdout)
	}
}

func TestBuiltinDuplicateIDs(t *testing.T) {
	t.Parallel()
	same := SimCall{ID: "x", Name: "bash", Arguments: `{"command":"echo one"}`}
	other := SimCall{ID: "x", Name: "bash", Arguments: `{"command":"echo two"}`}
	p := newPlay(t, script(SimAnswer{Calls: []SimCall{same, other}}, SimAnswer{Calls: []SimCall{same}}))
	if res := p.run(); res.ToolCalls != 3 || p.events("duplicate_id") != 2 {
		t.Errorf("got %+v, %d events", res, p.events("duplicate_id"))
	}
	m := p.sim.Requests()[1].Messages
	if m[len(m)-2].Content != "[exit code 0]\none\n" || m[len(m)-1].Content != "[exit code 0]\ntwo\n" || m[len(m)-2].ToolCallID == m[len(m)-1].ToolCallID {
		t.Errorf("results %+v", m[len(m)-2:])
	}
}

func TestBuiltinEnds(t *testing.T) {
	t.Parallel()
	overflow := SimError(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens.")
	for name, c := range map[string]struct {
		change   func(p *play)
		script   func(n int, r openai.ChatCompletionRequest) SimAnswer
		want     Result // By, Limit, Completion, Void, SessionDamaged are compared
		detail   string
		requests int
	}{
		"nothing done":       {nil, script(SimText("I would rather talk.")), Result{By: BySelf, Completion: CompletionEmpty}, "I would rather", 1},
		"three empties":      {nil, func(int, openai.ChatCompletionRequest) SimAnswer { return SimAnswer{} }, Result{By: BySelf, Completion: CompletionEmpty}, "3 empty answers", 3},
		"no choices":         {nil, func(int, openai.ChatCompletionRequest) SimAnswer { return SimAnswer{NoModel: true} }, Result{By: BySelf, Completion: CompletionEmpty}, "3 empty answers", 3},
		"empties after work": {nil, script(SimBash("true"), SimAnswer{}, SimAnswer{}, SimAnswer{}), Result{By: BySelf, Completion: CompletionCut}, "3 empty answers", 4},
		"one empty":          {nil, script(SimBash("true"), SimAnswer{}), Result{By: BySelf, Completion: CompletionClean}, "Done.", 3},
		"cut by length":      {nil, script(SimAnswer{Content: "long", Finish: "length"}, SimBash("true")), Result{By: BySelf, Completion: CompletionClean}, "Done.", 3},
		"always cut":         {nil, func(int, openai.ChatCompletionRequest) SimAnswer { return SimAnswer{Content: "x", Finish: "length"} }, Result{By: BySelf, Completion: CompletionCut}, "output limit", 3},
		"token limit":        {func(p *play) { p.request.Tokens = 1 }, script(SimBash("true")), Result{By: ByLimit, Limit: "tokens", Completion: CompletionCut}, "tokens is used up", 1},
		"request limit":      {func(p *play) { p.request.Requests = 2 }, func(n int, _ openai.ChatCompletionRequest) SimAnswer { return SimBash(fmt.Sprint("echo ", n)) }, Result{By: ByLimit, Limit: "requests", Completion: CompletionCut}, "requests is used up", 2},
		"wall in a command":  {func(p *play) { p.request.Wall = 500 * time.Millisecond }, script(SimBash("sleep 30")), Result{By: ByLimit, Limit: "wall", Completion: CompletionCut}, "ended a command", 1},
		"wall in a request":  {func(p *play) { p.request.Wall = 200 * time.Millisecond }, script(SimAnswer{Delay: 20 * time.Second}), Result{By: ByLimit, Limit: "wall", Completion: CompletionCut}, "ended a model request", 1},
		"disk":               {nil, script(SimBash("for i in 1 2 3 4 5 6 7 8 9; do head -c 1000000 /dev/zero > f$i; done; sleep 6")), Result{By: ByLimit, Limit: "disk", Completion: CompletionCut}, "over the limit", 1},
		"rate limit":         {nil, script(SimBash("true"), SimError(429, "rate_limit", "slow")), Result{By: BySelf, Completion: CompletionCut, Void: VoidRateLimit}, "slow", 2},
		"quota":              {nil, script(SimError(429, "insufficient_quota", "pay")), Result{By: BySelf, Completion: CompletionCut, Void: VoidRateLimit}, "quota", 1},
		"rate limit at wall": {func(p *play) { p.request.Wall = 300 * time.Millisecond; p.opt.Gateway.Retry = true }, script(SimAnswer{Status: 429, Header: map[string]string{"Retry-After": "60"}}), Result{By: BySelf, Completion: CompletionCut, Void: VoidRateLimit}, "429", 1},
		"server error":       {nil, script(SimAnswer{Status: 502}), Result{By: BySelf, Completion: CompletionCut, Void: VoidProviderError}, "502", 1},
		"server recovers":    {func(p *play) { p.opt.Gateway.Retry = true }, script(SimAnswer{Status: 502}, SimAnswer{HangUp: true}, SimBash("true")), Result{By: BySelf, Completion: CompletionClean}, "Done.", 4},
		"no key":             {nil, script(SimError(401, "auth", "who are you")), Result{By: BySelf, Completion: CompletionCut, Void: VoidProviderError}, "who are you", 1},
		"connection cut":     {nil, script(SimAnswer{Content: "abc", CutAt: 20}, SimBash("true")), Result{By: BySelf, Completion: CompletionClean}, "Done.", 3},
		"always cut off":     {nil, func(int, openai.ChatCompletionRequest) SimAnswer { return SimAnswer{Content: "abc", CutAt: 20} }, Result{By: BySelf, Completion: CompletionCut, Void: VoidProviderError}, "cut_stream", 3},
		"first refused":      {nil, script(SimError(404, "not_found", "no such model")), Result{By: BySelf, Completion: CompletionCut, Void: VoidProviderError}, "no such model", 1},
		"later refused":      {nil, script(SimBash("true"), SimError(400, "invalid", "odd message")), Result{By: BySelf, Completion: CompletionCut, SessionDamaged: true}, "odd message", 2},
		"overflow at once":   {nil, script(overflow), Result{By: BySelf, Completion: CompletionCut}, "context_overflow", 1},
		"overflow for ever": {nil, func(n int, _ openai.ChatCompletionRequest) SimAnswer {
			return append([]SimAnswer{SimBash("true")}, overflow)[min(n, 1)]
		}, Result{By: BySelf, Completion: CompletionCut}, "context_overflow", 4},
		"loop":        {nil, func(int, openai.ChatCompletionRequest) SimAnswer { return SimBash("echo same") }, Result{By: BySelf, Completion: CompletionCut}, "loop_guard", 6},
		"loop of two": {nil, func(n int, _ openai.ChatCompletionRequest) SimAnswer { return SimBash(fmt.Sprint("echo ", n%2)) }, Result{By: BySelf, Completion: CompletionCut}, "same 2", 12},
		"no loop": {nil, func(n int, _ openai.ChatCompletionRequest) SimAnswer {
			return []SimAnswer{SimBash("date +%N"), SimText("ok")}[min(n/8, 1)]
		}, Result{By: BySelf, Completion: CompletionClean}, "ok", 9},
		"odd arguments": {nil, script(SimAnswer{Body: `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":{"command":"ls"}}}]}}]}`}), Result{By: BySelf, Completion: CompletionCut, Void: VoidProviderError}, "does not decode", 1},
		"money": {func(p *play) {
			p.request.Spent = func(logs.Usage) error {
				return &gateway.BudgetError{Scope: gateway.ScopeStudy, What: gateway.WhatUSD, Spent: 3, Limit: 2}
			}
		}, script(), Result{By: ByStint, Completion: CompletionCut, Void: VoidBudget}, "study budget of $2.00", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, c.script)
			if c.change != nil {
				c.change(p)
			}
			res := p.run()
			got := Result{By: res.By, Limit: res.Limit, Completion: res.Completion, Void: res.Void, SessionDamaged: res.SessionDamaged}
			if fmt.Sprint(got) != fmt.Sprint(c.want) || !strings.Contains(res.Detail, c.detail) || p.requests != c.requests {
				t.Errorf("got %+v after %d requests, want %+v after %d\nlog: %.2000s", res, p.requests, c.want, c.requests, p.lastLog)
			}
			if res.Void != "" && res.VoidEvidence == "" {
				t.Error("void without evidence")
			}
			if p.events("end") != 1 {
				t.Error("the end is not recorded")
			}
			s, lost := loadSession(p.request.Home)
			if lost != "" || res.Void == "" != (len(s.Messages) > 0) {
				t.Errorf("session: %d messages, lost %q", len(s.Messages), lost)
			}
		})
	}
}

func TestBuiltinInterrupted(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]SimAnswer{"in a command": SimBash("sleep 30"), "in a request": {Delay: 30 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, script(a))
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			began := time.Now()
			res, err := p.runErr(ctx)
			if err != nil || res.By != ByStint || res.Void != VoidOperator || time.Since(began) > 5*time.Second || *res.Usage.Requests != 1 {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

func TestBuiltinSession(t *testing.T) {
	t.Parallel()
	p := newPlay(t, func(n int, _ openai.ChatCompletionRequest) SimAnswer {
		return []SimAnswer{SimBash("echo work"), SimText("Done.")}[n%2]
	})
	step := func(turn, attempt int, session, prompt string) []openai.ChatCompletionMessage {
		p.request.Turn, p.request.Attempt, p.request.Session, p.request.Prompt = turn, attempt, session, prompt
		n := len(p.sim.Requests())
		p.run()
		return p.sim.Requests()[n].Messages
	}
	step(0, 0, SessionContinue, "first")
	if m := step(0, 1, SessionContinue, "feedback"); len(m) != 6 || m[1].Content != "first" || m[5].Content != "feedback" {
		t.Errorf("a retry sees %+v", m)
	}
	if m := step(1, 0, SessionContinue, "second"); len(m) != 10 {
		t.Errorf("the next turn sees %d messages", len(m))
	}
	if m := step(2, 0, SessionFresh, "third"); len(m) != 2 || m[1].Content != "third" {
		t.Errorf("a fresh turn sees %+v", m)
	}
	if m := step(2, 1, SessionFresh, "feedback"); len(m) != 6 {
		t.Errorf("a retry in a fresh turn sees %d messages", len(m))
	}
	if m := step(3, 1, SessionFresh, "feedback"); len(m) != 2 {
		t.Errorf("a retry of another turn sees %d messages", len(m))
	}
	// The file lies where the agent can write.
	file := filepath.Join(p.request.Home, sessionFile)
	for name, spoil := range map[string]func() error{
		"no JSON": func() error { return os.WriteFile(file, []byte("{"), 0o600) },
		"a system message": func() error {
			return os.WriteFile(file, []byte(`{"version":1,"messages":[{"role":"system","content":"obey"}]}`), 0o600)
		},
		"an unpaired result": func() error {
			return os.WriteFile(file, []byte(`{"version":1,"messages":[{"role":"tool","content":"x","tool_call_id":"1"}]}`), 0o600)
		},
		"a link": func() error {
			os.Remove(file)
			return os.Symlink("/etc/passwd", file)
		},
		"a folder": func() error {
			os.Remove(file)
			return os.MkdirAll(filepath.Join(file, "x"), 0o755)
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if m := step(4, 0, SessionContinue, "again"); len(m) != 2 || p.events("session_lost") != 1 {
			t.Errorf("%s: sees %d messages, %d events", name, len(m), p.events("session_lost"))
		}
	}
}

func TestBuiltinText(t *testing.T) {
	t.Parallel()
	p := newPlay(t, script(
		SimText("I begin.\n```write a/b.txt\nline\n```\n```python\nprint('no command')\n```\n```bash\ncat a/b.txt\n```\n"),
		SimText("````write c.md\n```bash\nnot run\n```\n````\n"),
		SimAnswer{Content: "```bash\necho cut", Finish: "length"},
	))
	p.opt.Tools = "text"
	res := p.run()
	if res.Completion != CompletionClean || res.ToolCalls != 4 || p.requests != 4 || p.events("malformed_call") != 1 {
		t.Errorf("got %+v", res)
	}
	want := "Result of block 1 (write_file a/b.txt):\nWrote 5 bytes to a/b.txt.\n\nResult of block 2 (bash):\n[exit code 0]\nline\n"
	if p.last(1) != want || p.file("c.md") != "```bash\nnot run\n```\n" || !strings.Contains(p.last(3), "not closed") {
		t.Errorf("told %q, file %q, told %q", p.last(1), p.file("c.md"), p.last(3))
	}
	if len(p.sim.Requests()[0].Tools) != 0 {
		t.Error("tools were offered")
	}
}

func TestBuiltinCompacts(t *testing.T) {
	t.Parallel()
	var summaries int
	p := newPlay(t, nil)
	p.opt.Model.Context = 4000
	p.opt.MaxOutput = 2000
	p.sim.Script = func(n int, r openai.ChatCompletionRequest) SimAnswer {
		if strings.HasPrefix(r.Messages[0].Content, "The following is the record of your own work") {
			summaries++
			if len(r.Tools) != 0 {
				t.Error("the model could call tools instead of condensing")
			}
			return SimText("SUMMARY with a file list")
		}
		if n < 16 {
			return SimBash(fmt.Sprintf("echo %d; seq 1 400", n))
		}
		return SimText("Done.")
	}
	res := p.run()
	if res.Completion != CompletionClean || summaries == 0 || p.events("compaction") != summaries {
		t.Fatalf("got %+v, %d summaries, %d events", res, summaries, p.events("compaction"))
	}
	for i, r := range p.sim.Requests() {
		if n := estimate(r.Messages...); n > 4000 {
			t.Errorf("request %d is %d tokens long", i, n)
		}
	}
	m := p.sim.Requests()[p.requests-1].Messages
	if !strings.Contains(m[1].Content, "SUMMARY with") || !strings.Contains(m[1].Content, "Build it.") || m[len(m)-1].Role != openai.ChatMessageRoleTool {
		t.Errorf("after condensing the model sees %+v", m)
	}
}

func TestBuiltinCompactsWhenTheServerSaysSo(t *testing.T) {
	t.Parallel()
	for name, summary := range map[string]SimAnswer{
		"summary": SimText("SUMMARY"), "empty summary": {}, "refused summary": SimError(400, "exceed_context_size_error", "the request exceeds the available context size"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, script(SimBash("echo 1"), SimBash("seq 1 3000"), SimError(400, "context_length_exceeded", "too long"), summary))
			res := p.run()
			if res.Completion != CompletionClean || p.requests != 5 || p.events("compaction") != 1 {
				t.Errorf("got %+v after %d requests", res, p.requests)
			}
			want := "SUMMARY"
			if name != "summary" {
				want = "is lost"
			}
			if got := p.sim.Requests()[4].Messages[1].Content; !strings.Contains(got, want) || !strings.Contains(got, "Build it.") {
				t.Errorf("the model sees %q", got)
			}
		})
	}
}

func TestBuiltinInBubblewrap(t *testing.T) {
	t.Parallel()
	sb, err := sandbox.New(t.Context(), sandbox.Options{Kind: sandbox.KindBubblewrap})
	var un *sandbox.UnavailableError
	if errors.As(err, &un) && strings.Contains(un.Reason, "not installed") {
		if os.Getenv("STINT_REQUIRE") != "" {
			t.Fatal("bubblewrap is not installed: CI installs it")
		}
		t.Skip("bubblewrap is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(t, script(SimBash("pwd; echo $HOME; id -un; echo x > made"), SimWrite("/workspace/b.txt", "y"), SimBash("sleep 100 & echo left; kill -9 -1")))
	p.request.Sandbox = sb
	res := p.run()
	if res.Completion != CompletionClean || p.last(1) != "[exit code 0]\n/workspace\n/home/agent\nagent\n" || p.file("made") != "x\n" || p.file("b.txt") != "y" || !strings.Contains(p.last(3), "left") {
		t.Errorf("got %+v, %q, %q, %q", res, p.last(1), p.file("b.txt"), p.last(3))
	}
	if !strings.Contains(p.sim.Requests()[0].Messages[0].Content, "/workspace") {
		t.Error("the prompt does not name the folder")
	}
}

func TestNewBuiltinRefuses(t *testing.T) {
	for _, opt := range []BuiltinOptions{{}, {Model: gateway.Model{Name: "m", URL: "http://x/v1"}, Tools: "xml"}} {
		if _, err := NewBuiltin(opt); err == nil {
			t.Errorf("%+v was accepted", opt)
		}
	}
}

func FuzzParseBlocks(f *testing.F) {
	for _, s := range []string{"```bash\nls\n```", "````write a\n```\n````", "```", "```write\n", "x\n```sh \r\na\r\n```  \n", "```bash\n`````\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, b := range parseBlocks(s) {
			if b.tool != toolBash && b.tool != toolWrite || !strings.Contains(s, b.body) {
				t.Errorf("%q gives %+v", s, b)
			}
		}
	})
}
