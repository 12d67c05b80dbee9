package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/logs"
)

const okAnswer = `{"id":"1","object":"chat.completion","model":"m-0520","choices":[{"index":0,"finish_reason":"stop",
"message":{"role":"assistant","content":"hi","reasoning_content":"hm"}}],
"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":5}}}`

// endpoint serves one handler per request, the last one for ever.
func endpoint(t *testing.T, hs ...http.HandlerFunc) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1)) - 1
		hs[min(n, len(hs)-1)](w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1", requests
}

func say(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// cut promises more bytes than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, okAnswer[:40])
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func client(t *testing.T, opt Options) *Client {
	t.Helper()
	if opt.Model.Name == "" {
		opt.Model.Name = "m"
	}
	if opt.MinWait == 0 {
		opt.MinWait = time.Millisecond
	}
	c, err := NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var hello = openai.ChatCompletionRequest{Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "hello"}}}

func TestAnswer(t *testing.T) {
	var got map[string]any
	var auth string
	url, _ := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		if r.URL.Path != "/v1/chat/completions" {
			t.Errorf("path %s", r.URL.Path)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		say(200, okAnswer)(w, r)
	})
	zero := 0.0
	prices, err := logs.ParsePrices("p.yaml", []byte(`[{model: m-id, from: 2026-01-01, usd_per_mtok: {input: 1.0, cached: 0.5, output: 10.0}, source: "http://x"}]`))
	if err != nil {
		t.Fatal(err)
	}
	rec := NewRecorder(nil)
	c := client(t, Options{Model: Model{Name: "m", ID: "m-id", URL: url + "/", Key: "secret-key-1234", Temperature: &zero, MaxOutput: 50}, Prices: prices,
		Recorder: rec, Now: func() time.Time { return time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC) }})
	resp, err := c.CreateChatCompletion(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Choices[0].Message.Content != "hi" || resp.Choices[0].Message.ReasoningContent != "hm" {
		t.Errorf("answer %+v", resp)
	}
	if temp, ok := got["temperature"]; !ok || temp != 0.0 {
		t.Errorf("temperature was sent as %v", temp)
	}
	if got["model"] != "m-id" || got["max_tokens"] != 50.0 || auth != "Bearer secret-key-1234" {
		t.Errorf("sent %v, authorization %q", got, auth)
	}
	if _, err := c.CreateChatCompletion(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	u := c.Usage()
	if *u.In != 80 || *u.Cached != 120 || *u.Out != 40 || *u.Reasoning != 10 || *u.Requests != 2 || u.CacheWrite != nil || u.ModelReturned != "m-0520" {
		t.Errorf("usage %+v", u)
	}
	// 80 × 1 + 120 × 0.5 + 40 × 10 = 540 per million; without a cache 200 + 400.
	if u.USD == nil || fmt.Sprintf("%.6f %.6f", *u.USD, *u.USDNoCache) != "0.000540 0.000600" {
		t.Errorf("cost %v", u.USD)
	}
	log := string(rec.Bytes())
	if strings.Contains(log, "secret-key-1234") || !strings.Contains(log, `"reasoning_content":"hm"`) || strings.Count(log, `"hello"`) != 1 {
		t.Errorf("record %s", log)
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

func TestUnknownUsageIsNull(t *testing.T) {
	url, _ := endpoint(t, say(200, okAnswer), say(200, `{"choices":[{"message":{"role":"assistant","content":"x"}}]}`))
	c := client(t, Options{Model: Model{URL: url}})
	for range 2 {
		if _, err := c.CreateChatCompletion(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
	}
	if u := c.Usage(); u.In != nil || u.Out != nil || u.USD != nil || *u.Requests != 2 || u.ModelReturned != "m-0520" {
		t.Errorf("usage %+v", u)
	}
}

func TestErrorClasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h     http.HandlerFunc
		class string
		tries int // with waiting
		text  string
	}{
		"rate limit":      {say(429, `{"error":{"message":"slow down","type":"requests"}}`), ClassRateLimit, 3, "requests: slow down"},
		"quota":           {say(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`), ClassQuota, 1, "billing"},
		"payment":         {say(402, `{"error":"Insufficient Balance"}`), ClassQuota, 1, "Insufficient Balance"},
		"server error":    {say(500, `oops`), ClassProviderError, 3, "oops"},
		"overloaded":      {say(529, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`), ClassProviderError, 3, "overloaded_error"},
		"empty 503":       {say(503, ``), ClassProviderError, 3, "empty"},
		"auth":            {say(401, `{"error":{"message":"bad key sk-abcdefghijklmnopqrstuvwxyz"}}`), ClassAuth, 1, "[redacted]"},
		"forbidden":       {say(403, `{"detail":"no"}`), ClassAuth, 1, "no"},
		"context openai":  {say(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`), ClassContextLength, 1, "8192"},
		"context llama":   {say(400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`), ClassContextLength, 1, "exceeds"},
		"context old":     {say(500, `{"error":{"code":500,"message":"the request exceeds the available context size.","type":"server_error"}}`), ClassContextLength, 1, "exceeds"},
		"context prompt":  {say(400, `{"error":{"message":"prompt is too long: 212000 tokens > 200000 maximum"}}`), ClassContextLength, 1, "212000"},
		"bad request":     {say(400, `{"error":{"message":"unexpected role"}}`), ClassBadRequest, 1, "unexpected role"},
		"not found":       {say(404, `{"message":"no such model"}`), ClassBadRequest, 1, "no such model"},
		"redirect":        {say(302, ``, "Location", "http://192.0.2.1/"), ClassProviderError, 3, "empty"},
		"no JSON":         {say(200, `<html>gateway</html>`), ClassProviderError, 3, "no JSON"},
		"error in 200":    {say(200, `{"error":{"code":429,"message":"upstream is busy"}}`), ClassRateLimit, 3, "upstream"},
		"error text":      {say(200, `{"error":{"message":"upstream is gone"}}`), ClassProviderError, 3, "upstream"},
		"cut":             {cut, ClassCutStream, 1, "broke off after 40 bytes"},
		"connection lost": {hangUp, ClassProviderError, 3, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, retry := range []bool{false, true} {
				want := 1
				if retry {
					want = c.tries
				}
				url, n := endpoint(t, c.h)
				cl := client(t, Options{Model: Model{URL: url}, Retry: retry, ProviderWait: time.Minute})
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := errors.New("enough")
				cl.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					resp, err := http.DefaultTransport.RoundTrip(r)
					if n.Load() == 3 { // the attempt ends before the next try
						if err == nil {
							b, _ := io.ReadAll(resp.Body)
							resp.Body = io.NopCloser(strings.NewReader(string(b)))
						}
						cancel(stop)
					}
					return resp, err
				})
				_, err := cl.CreateChatCompletion(ctx, hello)
				cancel(nil)
				var pe *ProviderError
				if !errors.As(err, &pe) {
					t.Fatalf("got error %v", err)
				}
				if pe.Class != c.class || int(n.Load()) != want || pe.Tries != want || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "abcdefghij") {
					t.Errorf("retry %v: %d requests, class %s, %v", retry, n.Load(), pe.Class, err)
				}
				if want == 3 && !errors.Is(err, stop) {
					t.Errorf("the end of the waiting is not in %v", err)
				}
				if u := cl.Usage(); *u.Requests != 1 || u.In != nil {
					t.Errorf("usage %+v", u)
				}
			}
		})
	}
	c := client(t, Options{Model: Model{URL: "http://127.0.0.1:1/v1"}})
	_, err := c.CreateChatCompletion(t.Context(), hello)
	var pe *ProviderError
	if !errors.As(err, &pe) || pe.Class != ClassProviderError || !strings.Contains(pe.Message, "refused") {
		t.Errorf("nobody listens: %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRetryAfterAndRecovery(t *testing.T) {
	t.Parallel()
	url, n := endpoint(t, say(429, `{}`, "Retry-After", "0.2"), say(500, ``), hangUp, say(200, okAnswer))
	rec := NewRecorder(nil)
	c := client(t, Options{Model: Model{URL: url}, Retry: true, Recorder: rec})
	began := time.Now()
	if _, err := c.CreateChatCompletion(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 200*time.Millisecond || n.Load() != 4 {
		t.Errorf("%d requests in %v", n.Load(), took)
	}
	if u := c.Usage(); *u.Requests != 1 || *u.In != 40 {
		t.Errorf("usage %+v", u)
	}
	log := string(rec.Bytes())
	if strings.Count(log, `"kind":"error"`) != 3 || strings.Count(log, `"kind":"retry"`) != 3 || !strings.Contains(log, `"retry_after_s":0.2`) {
		t.Errorf("record %s", log)
	}
	// Longer than we may wait: the error comes at once, with the time in it.
	url, n = endpoint(t, say(429, `{}`, "Retry-After", "3600"))
	c = client(t, Options{Model: Model{URL: url}, Retry: true, ProviderWait: time.Minute})
	_, err := c.CreateChatCompletion(t.Context(), hello)
	var pe *ProviderError
	if !errors.As(err, &pe) || pe.RetryAfter != time.Hour || n.Load() != 1 {
		t.Errorf("got %v after %d requests", err, n.Load())
	}
}

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		key, value string
		want       time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second}, {"Retry-After", "Sun, 29 Nov 2026 12:01:00 GMT", time.Minute},
		{"Retry-After", "Sun, 29 Nov 2026 11:00:00 GMT", 0}, {"Retry-After", "soon", 0}, {"Retry-After", "-3", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond}, {"Retry-After", "1e300", 1e6 * time.Second},
	} {
		if got := retryAfter(http.Header{c.key: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s gives %v, want %v", c.key, c.value, got, c.want)
		}
	}
}

func TestCancelledRequest(t *testing.T) {
	t.Parallel()
	url, _ := endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // else the server does not see that the client left
		<-r.Context().Done()
	})
	c := client(t, Options{Model: Model{URL: url}, Retry: true})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("wall"))
	defer cancel()
	_, err := c.CreateChatCompletion(ctx, hello)
	if errors.As(err, new(*ProviderError)) || err == nil || err.Error() != "wall" {
		t.Errorf("got %v", err)
	}
}

func TestBudgets(t *testing.T) {
	url, n := endpoint(t, say(200, okAnswer))
	study := &Budget{Scope: ScopeStudy, USD: 1}
	for _, c := range []struct {
		b        *Budget
		requests int64
		scope    string
		what     string
	}{
		{&Budget{Scope: ScopeAttempt, Tokens: 240}, 2, ScopeAttempt, WhatTokens},
		{&Budget{Scope: ScopeAttempt, Requests: 3}, 3, ScopeAttempt, WhatRequests},
		{&Budget{Scope: ScopeAttempt, Also: study.Charge}, 0, ScopeStudy, WhatUSD},
	} {
		if c.scope == ScopeStudy {
			usd := 1.5
			if err := study.Charge(logs.Usage{USD: &usd}); err != nil {
				t.Errorf("an answer that came was refused: %v", err)
			}
		}
		n.Store(0)
		cl := client(t, Options{Model: Model{URL: url}, Budget: c.b})
		var err error
		for i := 0; err == nil && i < 10; i++ {
			_, err = cl.CreateChatCompletion(t.Context(), hello)
		}
		var be *BudgetError
		if !errors.As(err, &be) || be.Scope != c.scope || be.What != c.what || n.Load() != c.requests {
			t.Errorf("%d requests, then %v", n.Load(), err)
		}
	}
	if left := (&Budget{Tokens: 5}).Left(); left != 5 {
		t.Errorf("left %d", left)
	}
}

func TestSetupErrors(t *testing.T) {
	for _, m := range []Model{{URL: "http://x/v1"}, {Name: "m"}, {Name: "m", URL: "ftp://x"}, {Name: "m", URL: "127.0.0.1:80"}} {
		_, err := NewClient(Options{Model: m})
		var se *SetupError
		if !errors.As(err, &se) || se.Hint() == "" || se.ExitCode() != 2 {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

func TestRecorderBounds(t *testing.T) {
	blobs, err := logs.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rec := NewRecorder(blobs)
	rec.Event("small", map[string]string{"text": "Authorization: Bearer abcdefghijklmnop123"})
	rec.Event("large", map[string]string{"text": strings.Repeat("word ", 100_000)})
	rec.Event("bad", map[string]any{"f": func() {}})
	rec.Event("none", struct{}{})
	var lines []map[string]any
	for line := range strings.Lines(string(rec.Bytes())) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, m)
	}
	if len(lines) != 4 || strings.Contains(fmt.Sprint(lines[0]), "abcdefgh") || lines[2]["unencodable"] == nil || lines[3]["seq"] != 3.0 {
		t.Errorf("lines %v", lines)
	}
	b, err := blobs.Get(fmt.Sprint(lines[1]["blob"]))
	if err != nil || len(b) != int(lines[1]["bytes"].(float64)) || !json.Valid(b) {
		t.Errorf("blob: %v, %d bytes", err, len(b))
	}
	rec = NewRecorder(nil)
	rec.max = 1 << 20
	for i := range 100 {
		rec.Event("n", map[string]any{"i": i, "text": strings.Repeat("x", 50_000)})
	}
	got := rec.Bytes()
	if len(got) > 1<<20+1000 || strings.Count(string(got), `"kind":"left_out"`) != 1 || !strings.Contains(string(got), `"i":99`) || !strings.HasPrefix(string(got), `{"seq":0,`) {
		t.Errorf("%d bytes", len(got))
	}
}
