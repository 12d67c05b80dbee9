package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func proxy(t testing.TB) *Proxy {
	t.Helper()
	p, err := NewProxy(ProxyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func open(t testing.TB, p *Proxy, opt Options) *Attempt {
	t.Helper()
	if opt.Model.Name == "" {
		opt.Model.Name = "m"
	}
	if opt.MinWait == 0 {
		opt.MinWait = time.Millisecond
	}
	a, err := p.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// agent is an HTTP client on the proxy's socket.
func agent(p *Proxy) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.Socket())
	}}}
}

// post sends a request as an agent does and reads the answer.
func post(t testing.TB, p *Proxy, token, path, body string) (status int, answer string, header http.Header, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	c := agent(p)
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), resp.Header, err
}

const chatPath = "/v1/chat/completions"

func lines(t testing.TB, r *Recorder) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range bytes.Lines(r.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, m)
	}
	return out
}

func kinds(t testing.TB, r *Recorder) string {
	var out []string
	for _, l := range lines(t, r) {
		out = append(out, fmt.Sprint(l["kind"]))
	}
	return strings.Join(out, " ")
}

func TestProxyAnswers(t *testing.T) {
	t.Parallel()
	var got map[string]any
	var header http.Header
	url, _ := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		got = nil
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		say(200, okAnswer, "Content-Type", "application/json")(w, r)
	})
	p := proxy(t)
	temp := 0.0
	rec := NewRecorder(nil)
	a := open(t, p, Options{Model: Model{Name: "m", ID: "m-id", URL: url, Key: "secret-key-1234", Temperature: &temp, MaxOutput: 50}, Recorder: rec})
	body := `{"model":"expensive","Model":"other","messages":[{"role":"user","content":"hello"}],"max_tokens":4000,"temperature":1,"stream_options":{}}`
	status, answer, _, err := post(t, p, a.Token(), chatPath, body)
	if err != nil || status != 200 || answer != okAnswer {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	want := map[string]any{"model": "m-id", "temperature": 0.0, "max_tokens": 50.0, "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if header.Get("Authorization") != "Bearer secret-key-1234" || strings.Contains(fmt.Sprint(header), a.Token()) {
		t.Errorf("header %v", header)
	}
	if _, _, _, err := post(t, p, a.Token(), "/chat/completions", `{"model":"x","messages":[{"role":"user","content":"hello"},{"role":"user","content":"again"}],"max_tokens":7}`); err != nil || got["max_tokens"] != 7.0 {
		t.Errorf("%v %v", err, got)
	}
	u, s := a.Usage(), a.State()
	if *u.In != 80 || *u.Cached != 120 || *u.Out != 40 || *u.Reasoning != 10 || *u.Requests != 2 || u.ModelReturned != "m-0520" {
		t.Errorf("usage %+v", u)
	}
	if diff := cmp.Diff(AttemptState{Requests: 2, Answers: 2}, s); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	log := string(rec.Bytes())
	if kinds(t, rec) != "request answer request answer" || strings.Count(log, `"hello"`) != 1 || strings.Contains(log, a.Token()) {
		t.Errorf("record %s", log)
	}
	l := lines(t, rec)[2]
	if l["base"] != 0.0 || l["same"] != 1.0 || l["messages"] != 2.0 || l["protocol"] != "chat" {
		t.Errorf("second request %v", l)
	}
}

func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	url, n := endpoint(t, say(200, okAnswer))
	p := proxy(t)
	a := open(t, p, Options{Model: Model{Name: "m", ID: "m-id", URL: url, Key: "secret-key-1234"}})
	const body = `{"messages":[]}`
	for _, token := range []string{"", "wrong", a.Token()[:len(a.Token())-1], "secret-key-1234"} {
		if status, answer, _, _ := post(t, p, token, chatPath, body); status != 401 || !strings.Contains(answer, "authentication_error") {
			t.Errorf("token %q: %d %s", token, status, answer)
		}
	}
	if n.Load() != 0 || p.Refused() != 4 {
		t.Errorf("%d requests reached the model, %d refused", n.Load(), p.Refused())
	}
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/embeddings", `{}`, 404}, {chatPath, `[]`, 400}, {chatPath, `{"model":`, 400}, {chatPath, ``, 400}, {chatPath, strings.Repeat(" ", maxRequest+1), 413},
	} {
		if status, answer, _, err := post(t, p, a.Token(), c.path, c.body); status != c.status || err != nil || !json.Valid([]byte(answer)) {
			t.Errorf("%s %.20s: %d %s %v", c.path, c.body, status, answer, err)
		}
	}
	req, _ := http.NewRequest(http.MethodGet, "http://gateway/v1/models", nil)
	req.Header.Set("X-Api-Key", a.Token())
	resp, err := agent(p).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(b), `"id":"m-id"`) || !strings.Contains(string(b), `"id":"m"`) {
		t.Errorf("models %s", b)
	}
	a.Close()
	if status, _, _, _ := post(t, p, a.Token(), chatPath, body); status != 401 || n.Load() != 0 {
		t.Errorf("after Close: %d", status)
	}
}

// chunks streams events; a nil function in between waits.
func chunks(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			if e == "CUT" {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, "data: %s\n\n", e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

var streamed = []string{
	`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m-0520","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
	`{"id":"c1","model":"m-0520","choices":[{"index":0,"delta":{"reasoning_content":"think"}}]}`,
	`{"id":"c1","model":"m-0520","choices":[{"index":0,"delta":{"content":"Hel"}}]}`,
	`{"id":"c1","model":"m-0520","choices":[{"index":0,"delta":{"content":"lo"}}]}`,
	`{"id":"c1","model":"m-0520","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"bash","arguments":""}}]}}]}`,
	`{"id":"c1","model":"m-0520","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]}}]}`,
	`{"id":"c1","model":"m-0520","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}},{"index":1,"id":"call_b","function":{"name":"bash","arguments":"{}"}}]}}]}`,
	`{"id":"c1","model":"m-0520","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}`,
	`{"id":"c1","model":"m-0520","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":60}}}`,
	`[DONE]`,
}

const streamRequest = `{"model":"x","stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[{"role":"user","content":"hello"}]}`

func TestProxyStreams(t *testing.T) {
	t.Parallel()
	var got string
	arrived := make(chan string)
	url, _ := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": hello\n\n")
		for i, e := range streamed {
			fmt.Fprintf(w, "data: %s\r\n\r\n", e)
			_ = http.NewResponseController(w).Flush()
			if i < len(streamed)-2 {
				<-arrived // the next piece only goes out when the agent has this one
			}
		}
	})
	p := proxy(t)
	rec := NewRecorder(nil)
	a := open(t, p, Options{Model: Model{URL: url}, Recorder: rec})
	for _, ask := range []bool{false, true} {
		body := streamRequest
		if ask {
			body = `{"stream_options":{"include_usage":true,"x":1},` + body[1:]
		}
		req, _ := http.NewRequest(http.MethodPost, "http://gateway"+chatPath, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+a.Token())
		resp, err := agent(p).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		r := bufio.NewScanner(resp.Body)
		for r.Scan() {
			if data, ok := strings.CutPrefix(r.Text(), "data: "); ok {
				if seen = append(seen, data); len(seen) <= len(streamed)-2 {
					arrived <- data
				}
			}
		}
		resp.Body.Close()
		if !strings.Contains(got, `"include_usage":true`) || ask != strings.Contains(got, `"x":1`) {
			t.Errorf("sent %s", got)
		}
		usage := strings.Contains(strings.Join(seen, ""), `"usage"`)
		if usage != ask || seen[len(seen)-1] != "[DONE]" || ask && len(seen) != len(streamed) || !ask && len(seen) != len(streamed)-1 {
			t.Errorf("asked %v, the agent saw %q", ask, seen)
		}
	}
	u, s := a.Usage(), a.State()
	if *u.In != 80 || *u.Cached != 120 || *u.Out != 40 || *u.Requests != 2 || s.Answers != 2 || s.ToolCalls != 4 || s.DuplicateIDs != 2 {
		t.Errorf("usage %+v state %+v", u, s)
	}
	all := lines(t, rec)
	body, _ := json.Marshal(all[1]["body"])
	want := `{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"content":"Hello","reasoning_content":"think","role":"assistant","tool_calls":[` +
		`{"function":{"arguments":"{\"command\":\"ls\"}","name":"bash"},"id":"call_a","type":"function"},{"function":{"arguments":"{}","name":"bash"},"id":"call_b","type":"function"}]}}],` +
		`"created":7,"id":"c1","model":"m-0520","object":"chat.completion","usage":{"completion_tokens":20,"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":60}}}`
	if string(body) != want {
		t.Errorf("recorded %s", body)
	}
	if kinds(t, rec) != "request answer request answer duplicate_id duplicate_id" {
		t.Error(kinds(t, rec))
	}
}

// whole is an answer with a message, in JSON.
func whole(message, finish string) string {
	return fmt.Sprintf(`{"model":"m","choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, message, finish)
}

func TestProxyEvents(t *testing.T) {
	t.Parallel()
	call := func(id, name, arguments string) string {
		b, _ := json.Marshal(arguments)
		return whole(fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, id, name, b), "tool_calls")
	}
	for name, c := range map[string]struct {
		answers []string
		kinds   string
		want    AttemptState
	}{
		"fine":      {[]string{call("a", "bash", `{"command":"ls"}`), call("b", "bash", `{}`)}, "request answer request answer", AttemptState{Requests: 2, Answers: 2, ToolCalls: 2}},
		"malformed": {[]string{call("a", "bash", `{"command":"ls -la`)}, "request answer malformed_call", AttemptState{Requests: 1, Answers: 1, ToolCalls: 1, Malformed: 1}},
		"null":      {[]string{call("a", "bash", `null`)}, "request answer malformed_call", AttemptState{Requests: 1, Answers: 1, ToolCalls: 1, Malformed: 1}},
		"unknown":   {[]string{call("a", "browser", `{}`)}, "request answer unknown_tool", AttemptState{Requests: 1, Answers: 1, ToolCalls: 1, UnknownTools: 1}},
		"duplicate": {[]string{call("a", "bash", `{}`), call("a", "bash", `{}`)}, "request answer request answer duplicate_id", AttemptState{Requests: 2, Answers: 2, ToolCalls: 2, DuplicateIDs: 1}},
		"empty":     {[]string{whole(`{"role":"assistant","content":" "}`, "stop")}, "request answer empty_answer", AttemptState{Requests: 1, Answers: 1, Empty: 1}},
		"no choice": {[]string{`{"choices":[]}`}, "request answer empty_answer", AttemptState{Requests: 1, Answers: 1, Empty: 1}},
		"length":    {[]string{whole(`{"role":"assistant","content":"I wi"}`, "length")}, "request answer length", AttemptState{Requests: 1, Answers: 1, Cut: true}},
		"old id":    {[]string{call("old", "bash", `{}`)}, "request answer duplicate_id", AttemptState{Requests: 1, Answers: 1, ToolCalls: 1, DuplicateIDs: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var hs []http.HandlerFunc
			for _, a := range c.answers {
				hs = append(hs, say(200, a))
			}
			url, _ := endpoint(t, hs...)
			p := proxy(t)
			rec := NewRecorder(nil)
			a := open(t, p, Options{Model: Model{URL: url}, Recorder: rec})
			body := `{"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[{"role":"user","content":"hello"},` +
				`{"role":"assistant","tool_calls":[{"id":"old","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"old","content":"x"}]}`
			for range c.answers {
				if status, answer, _, err := post(t, p, a.Token(), chatPath, body); status != 200 || err != nil {
					t.Fatal(status, answer, err)
				}
			}
			if got := kinds(t, rec); got != c.kinds {
				t.Errorf("recorded %s, want %s", got, c.kinds)
			}
			if diff := cmp.Diff(c.want, a.State()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProxyFailures(t *testing.T) {
	t.Parallel()
	ok := say(200, okAnswer)
	busy := say(429, `{"error":{"message":"slow down, sk-abcdefghijklmnopqrstuvwxyz and secret-key-1234"}}`, "Retry-After", "0.05", "Content-Type", "application/json")
	for name, c := range map[string]struct {
		hs     []http.HandlerFunc
		retry  bool
		stream bool
		status int // 0 = the connection breaks
		kinds  string
		class  string // of State.Last
		text   string
	}{
		"rate limit waited out":    {[]http.HandlerFunc{busy, busy, ok}, true, false, 200, "request error retry error retry answer", "", "hi"},
		"rate limit passed on":     {[]http.HandlerFunc{busy}, false, false, 429, "request error", ClassRateLimit, "slow down"},
		"server error":             {[]http.HandlerFunc{say(503, `{"error":{"message":"busy"}}`), hangUp, ok}, true, true, 200, "request error retry error retry answer", "", "hi"},
		"no JSON":                  {[]http.HandlerFunc{say(502, `<html>`)}, false, false, 502, "request error", ClassProviderError, "html"},
		"refused connection":       {[]http.HandlerFunc{hangUp}, false, true, 502, "request error", ClassProviderError, "EOF"},
		"quota":                    {[]http.HandlerFunc{say(429, `{"error":{"message":"no money","code":"insufficient_quota"}}`)}, true, false, 429, "request error", ClassQuota, "insufficient_quota"},
		"key":                      {[]http.HandlerFunc{say(401, `{"error":{"message":"bad key secret-key-1234"}}`)}, true, false, 401, "request error", ClassAuth, "bad key [redacted]"},
		"context":                  {[]http.HandlerFunc{say(400, `{"error":{"message":"maximum context length is 10","code":"context_length_exceeded"}}`)}, true, true, 400, "request error", ClassContextLength, "context_length_exceeded"},
		"cut":                      {[]http.HandlerFunc{cut}, true, false, 0, "request error", ClassCutStream, ""},
		"stream":                   {[]http.HandlerFunc{chunks(streamed...)}, true, true, 200, "request answer", "", "[DONE]"},
		"stream without end":       {[]http.HandlerFunc{chunks(streamed[:8]...)}, true, true, 200, "request answer", "", "tool_calls"},
		"stream cut":               {[]http.HandlerFunc{chunks(append(streamed[:4:4], "CUT")...)}, true, true, 0, "request error", ClassCutStream, "Hel"},
		"stream ends early":        {[]http.HandlerFunc{chunks(streamed[:4]...)}, true, true, 200, "request error", ClassCutStream, "Hel"},
		"stream cut at once":       {[]http.HandlerFunc{chunks("CUT"), chunks(), chunks(streamed...)}, true, true, 200, "request error retry error retry answer", "", "[DONE]"},
		"error as first event":     {[]http.HandlerFunc{chunks(`{"error":{"message":"busy","code":503}}`), chunks(streamed...)}, true, true, 200, "request error retry answer", "", "[DONE]"},
		"error in the middle":      {[]http.HandlerFunc{chunks(append(streamed[:4:4], `{"error":{"message":"overloaded","code":503}}`)...)}, true, true, 200, "request error", ClassProviderError, "overloaded"},
		"no stream options":        {[]http.HandlerFunc{say(400, `{"error":{"message":"unknown field stream_options"}}`), chunks(streamed...)}, true, true, 200, "request error request answer", "", "[DONE]"},
		"whole in place of stream": {[]http.HandlerFunc{ok}, true, true, 200, "request answer", "", "hi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, n := endpoint(t, c.hs...)
			p := proxy(t)
			rec := NewRecorder(nil)
			a := open(t, p, Options{Model: Model{URL: url, Key: "secret-key-1234"}, Recorder: rec, Retry: c.retry, ProviderWait: 10 * time.Second})
			body := streamRequest
			if !c.stream {
				body = strings.Replace(body, `"stream":true,`, "", 1)
			}
			status, answer, header, err := post(t, p, a.Token(), chatPath, body)
			if c.status == 0 && err == nil || c.status != 0 && (err != nil || status != c.status) || !strings.Contains(answer, c.text) {
				t.Errorf("%d %s %v after %d requests", status, answer, err, n.Load())
			}
			if strings.Contains(answer, "secret-key-1234") || strings.Contains(string(rec.Bytes()), "secret-key-1234") {
				t.Errorf("the key is shown: %s", answer)
			}
			if status == 429 && c.class == ClassRateLimit && header.Get("Retry-After") != "0.05" {
				t.Errorf("header %v", header)
			}
			if got := kinds(t, rec); got != c.kinds {
				t.Errorf("recorded %s, want %s", got, c.kinds)
			}
			s := a.State()
			if (s.Last == nil) != (c.class == "") || s.Last != nil && s.Last.Class != c.class {
				t.Errorf("last %v, want %s", s.Last, c.class)
			}
			if (s.CutStreams == 1) != (c.class == ClassCutStream) || (s.Overflows == 1) != (c.class == ClassContextLength) {
				t.Errorf("state %+v", s)
			}
		})
	}
}

func TestProxyPatience(t *testing.T) {
	t.Parallel()
	url, n := endpoint(t, say(500, `{}`))
	p := proxy(t)
	a := open(t, p, Options{Model: Model{URL: url}, Retry: true, MinWait: 10 * time.Millisecond, ProviderWait: 60 * time.Millisecond})
	status, _, header, _ := post(t, p, a.Token(), chatPath, streamRequest)
	if status != 500 || n.Load() < 2 || header.Get("X-Should-Retry") != "false" {
		t.Fatalf("%d after %d tries, %v", status, n.Load(), header)
	}
	before := n.Load()
	if status, _, _, _ := post(t, p, a.Token(), chatPath, streamRequest); status != 500 || n.Load() != before+1 {
		t.Errorf("an agent that tries again is made to wait again: %d more tries", n.Load()-before)
	}
	if s := a.State(); s.Requests != 2 || s.Last == nil {
		t.Errorf("state %+v", s)
	}
	// An agent that gives up earlier than the gateway has used a part of it.
	a = open(t, p, Options{Model: Model{URL: url}, Retry: true, ProviderWait: time.Minute})
	a.lost(time.Now().Add(-40*time.Second), &ProviderError{Class: ClassRateLimit}, true)
	if left := a.patience(); left > 20*time.Second || left < 15*time.Second {
		t.Errorf("%v left", left)
	}
	a.lost(time.Now(), &ProviderError{Class: ClassAuth}, false)
	if left := a.patience(); left < 15*time.Second {
		t.Errorf("%v left after an error that no waiting helps", left)
	}
}

func TestProxyBudgets(t *testing.T) {
	t.Parallel()
	url, n := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond)
		say(200, okAnswer)(w, r)
	})
	p := proxy(t)
	rec := NewRecorder(nil)
	a := open(t, p, Options{Model: Model{URL: url}, Recorder: rec, Budget: &Budget{Scope: ScopeAttempt, Requests: 3}})
	statuses := make(chan int)
	for range 10 {
		go func() {
			status, _, _, _ := post(t, p, a.Token(), chatPath, streamRequest)
			statuses <- status
		}()
	}
	count := map[int]int{}
	for range 10 {
		count[<-statuses]++
	}
	if count[200] != 3 || count[403] != 7 || n.Load() != 3 {
		t.Errorf("answers %v, %d requests reached the model", count, n.Load())
	}
	select {
	case <-a.Stopped():
	default:
		t.Error("not stopped")
	}
	if s := a.State(); s.Budget == nil || s.Budget.What != WhatRequests || s.Requests != 10 || s.Answers != 3 || *a.Usage().Requests != 3 {
		t.Errorf("state %+v", s)
	}
	if !strings.Contains(kinds(t, rec), "budget") {
		t.Error(kinds(t, rec))
	}
}

func TestProxySilence(t *testing.T) {
	t.Parallel()
	url, _ := endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	})
	p := proxy(t)
	for _, patience := range []time.Duration{20 * time.Millisecond, time.Hour} {
		rec := NewRecorder(nil)
		a := open(t, p, Options{Model: Model{URL: url}, Recorder: rec, Retry: true, ProviderWait: patience})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway"+chatPath, strings.NewReader(streamRequest))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.Token())
		if resp, err := agent(p).Do(req); err == nil {
			resp.Body.Close()
			t.Error("an answer came")
		}
		cancel()
		a.Close()
		silent := patience < time.Second
		if s := a.State(); (s.Last != nil) != silent || (s.Abandoned == 1) == silent || silent && !strings.Contains(s.Last.Error(), "no answer within 20ms") {
			t.Errorf("patience %v: %+v, recorded %s", patience, s, kinds(t, rec))
		}
	}
}

func TestProxyAgentLeaves(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	url, _ := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", streamed[2])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	p := proxy(t)
	for _, byClose := range []bool{false, true} {
		rec := NewRecorder(nil)
		a := open(t, p, Options{Model: Model{URL: url}, Recorder: rec, Retry: true})
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway"+chatPath, strings.NewReader(streamRequest))
		req.Header.Set("Authorization", "Bearer "+a.Token())
		resp, err := agent(p).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if !byClose {
			cancel()
		} else {
			a.Close()
		}
		<-gone
		a.Close()
		cancel()
		resp.Body.Close()
		if s := a.State(); kinds(t, rec) != "request cut" || s.Abandoned != 1 || s.Last != nil || !strings.Contains(string(rec.Bytes()), `"content":"Hel"`) {
			t.Errorf("by Close %v: %s %+v", byClose, rec.Bytes(), s)
		}
	}
}
