package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/logs"
)

// protocolRequests are the same request in each protocol: a conversation with one call and its result.
var protocolRequests = map[string]struct{ path, body string }{
	"chat": {"/v1/chat/completions", `{"model":"x","stream":%v,"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],
		"messages":[{"role":"system","content":"S"},{"role":"user","content":"hello"},{"role":"assistant","content":"","tool_calls":[{"id":"old","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"old","content":"result"}]}`},
	"responses": {"/v1/responses", `{"model":"x","stream":%v,"instructions":"S","tools":[{"type":"function","name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}],
		"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},{"type":"function_call","call_id":"old","name":"bash","arguments":"{}"},{"type":"function_call_output","call_id":"old","output":"result"}]}`},
	"anthropic": {"/v1/messages?beta=true", `{"model":"x","stream":%v,"max_tokens":1000,"system":[{"type":"text","text":"S"}],"tools":[{"name":"bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],
		"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"old","name":"bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"old","content":[{"type":"text","text":"result"}]}]}]}`},
}

// TestProtocols sends model-sim's answers through the gateway in every protocol, whole and streamed: it sees the
// same in all of them.
func TestProtocols(t *testing.T) {
	fine := SimAnswer{Content: "I look.", Reasoning: "hm", Calls: []SimCall{{ID: "a", Name: "bash", Arguments: `{"command":"ls \"ä\""}`}, {ID: "b", Name: "bash", Arguments: `{}`}}, PromptTokens: 100, Cached: 60, Completion: 20}
	for name, c := range map[string]struct {
		answer SimAnswer
		want   gateway.AttemptState
		class  string
		kinds  string
	}{
		"fine":      {fine, gateway.AttemptState{Requests: 1, Answers: 1, ToolCalls: 2}, "", "request answer"},
		"malformed": {SimAnswer{Calls: []SimCall{{ID: "a", Name: "bash", Arguments: `{"command":"ls -la`}}}, gateway.AttemptState{Requests: 1, Answers: 1, ToolCalls: 1, Malformed: 1}, "", "request answer malformed_call"},
		"unknown":   {SimAnswer{Calls: []SimCall{{ID: "a", Name: "browser", Arguments: `{}`}}}, gateway.AttemptState{Requests: 1, Answers: 1, ToolCalls: 1, UnknownTools: 1}, "", "request answer unknown_tool"},
		"duplicate": {SimAnswer{Calls: []SimCall{{ID: "old", Name: "bash", Arguments: `{}`}}}, gateway.AttemptState{Requests: 1, Answers: 1, ToolCalls: 1, DuplicateIDs: 1}, "", "request answer duplicate_id"},
		"empty":     {SimAnswer{}, gateway.AttemptState{Requests: 1, Answers: 1, Empty: 1}, "", "request answer empty_answer"},
		"length":    {SimAnswer{Content: "I", Finish: "length"}, gateway.AttemptState{Requests: 1, Answers: 1, Cut: true}, "", "request answer length"},
		"limit":     {SimError(429, "rate_limit_exceeded", "slow down"), gateway.AttemptState{Requests: 1}, gateway.ClassRateLimit, "request error"},
		"quota":     {SimError(429, "insufficient_quota", "no money"), gateway.AttemptState{Requests: 1}, gateway.ClassQuota, "request error"},
		"overload":  {SimError(503, "overloaded", "busy"), gateway.AttemptState{Requests: 1}, gateway.ClassProviderError, "request error"},
		"key":       {SimError(401, "invalid_api_key", "bad"), gateway.AttemptState{Requests: 1}, gateway.ClassAuth, "request error"},
		"context":   {SimError(400, "context_length_exceeded", "too long"), gateway.AttemptState{Requests: 1, Overflows: 1}, gateway.ClassContextLength, "request error"},
		"cut":       {SimAnswer{Content: strings.Repeat("long ", 300), CutAt: 1200}, gateway.AttemptState{Requests: 1, CutStreams: 1}, gateway.ClassCutStream, "request error"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(&ModelSim{Answer: func(SimRequest) SimAnswer { return c.answer }})
			defer srv.Close()
			p, err := gateway.NewProxy(gateway.ProxyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for protocol, q := range protocolRequests {
				for _, stream := range []bool{false, true} {
					rec := gateway.NewRecorder(nil)
					a, err := p.Open(gateway.Options{Model: gateway.Model{Name: "m", API: protocol, URL: srv.URL + "/v1", Key: "real-key-123"}, Recorder: rec, MinWait: time.Millisecond})
					if err != nil {
						t.Fatal(err)
					}
					status, body := throughProxy(t, p, a.Token(), q.path, fmt.Sprintf(q.body, stream))
					a.Close()
					s := a.State()
					if (s.Last == nil) != (c.class == "") || s.Last != nil && s.Last.Class != c.class {
						t.Errorf("%s stream %v: last %v", protocol, stream, s.Last)
					}
					s.Last = nil
					if diff := cmp.Diff(c.want, s); diff != "" {
						t.Errorf("%s stream %v: %d %s\nstate (-want +got):\n%s", protocol, stream, status, body, diff)
					}
					if got := recordedKinds(t, rec); got != c.kinds {
						t.Errorf("%s stream %v: recorded %s, want %s", protocol, stream, got, c.kinds)
					}
					if u := a.Usage(); name == "fine" && (*u.In != 40 || *u.Cached != 60 || *u.Out != 20 || u.ModelReturned != "m") {
						t.Errorf("%s stream %v: usage %+v", protocol, stream, u)
					}
					for _, piece := range []string{"I look.", "ls "} {
						if name == "fine" && (!strings.Contains(string(rec.Bytes()), piece) || !stream && !strings.Contains(body, piece)) {
							t.Errorf("%s stream %v: %q is lost", protocol, stream, piece)
						}
					}
				}
			}
		})
	}
}

// TestProtocolsCost holds the costs and the budgets of the protocols against each other, whole and streamed: the same
// work takes the same, and the request after the budget is refused in each one's own words.
func TestProtocolsCost(t *testing.T) {
	prices, err := logs.ParsePrices("p.yaml", []byte(`[{model: m, from: 2026-01-01, usd_per_mtok: {input: 100.0, cached: 10.0, output: 1000.0}, source: "http://x"}]`))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(&ModelSim{Answer: func(SimRequest) SimAnswer {
		return SimAnswer{Content: "I look.", PromptTokens: 100, Cached: 60, Completion: 20}
	}})
	defer srv.Close()
	p, err := gateway.NewProxy(gateway.ProxyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for protocol, q := range protocolRequests {
		for _, stream := range []bool{false, true} {
			rec := gateway.NewRecorder(nil)
			a, err := p.Open(gateway.Options{Model: gateway.Model{Name: "m", API: protocol, URL: srv.URL + "/v1"}, Recorder: rec, Prices: prices,
				Budget: &gateway.Budget{Scope: gateway.ScopeAttempt, Tokens: 240}})
			if err != nil {
				t.Fatal(err)
			}
			var statuses [3]int
			var said string
			for i := range statuses {
				statuses[i], said = throughProxy(t, p, a.Token(), q.path, fmt.Sprintf(q.body, stream))
			}
			a.Close()
			if statuses != [3]int{200, 200, 403} || !strings.Contains(said, "the attempt budget of 240 tokens is used up") || strings.Contains(said, `"type":"error"`) != (protocol == "anthropic") {
				t.Errorf("%s stream %v: statuses %v, at last %s", protocol, stream, statuses, said)
			}
			if got, want := recordedKinds(t, rec), "request answer request answer budget"; got != want {
				t.Errorf("%s stream %v: recorded %s, want %s", protocol, stream, got, want)
			}
			// 2 × (40 × 100 + 60 × 10 + 20 × 1000) dollars for a million tokens each.
			if u := a.Usage(); u.USD == nil || math.Abs(*u.USD-0.0492) > 1e-9 || *u.Requests != 2 || *u.In != 80 || *u.Cached != 120 || *u.Out != 40 {
				t.Errorf("%s stream %v: usage %+v", protocol, stream, u)
			}
		}
	}
}

func throughProxy(t *testing.T, p *gateway.Proxy, token, path, body string) (int, string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.Socket())
	}}}
	req, err := http.NewRequest(http.MethodPost, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", token)
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, fmt.Sprint(string(b), err)
}

func recordedKinds(t *testing.T, r *gateway.Recorder) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(string(r.Bytes())) {
		var v struct{ Kind string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v.Kind)
	}
	return strings.Join(out, " ")
}
