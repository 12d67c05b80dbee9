package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// SimAnswer is one scripted answer of ModelSim. The zero value is an empty assistant message.
type SimAnswer struct {
	Content   string
	Reasoning string
	Calls     []SimCall
	Finish    string // "" = stop, or tool_calls when there are Calls

	Model        string // "" = the model asked for
	NoUsage      bool
	PromptTokens int // 0 = bytes of the request / 4
	Cached       int
	Completion   int // 0 = bytes of the answer / 4

	Status  int               // HTTP status; 0 = 200
	Header  map[string]string // Retry-After, for example
	Body    string            // sent as it is, instead of an answer
	Delay   time.Duration     // before the first byte; ends early when the client leaves
	CutAt   int               // > 0: the connection breaks after this many bytes of the body
	HangUp  bool              // the connection breaks before the first byte
	NoModel bool              // no choices at all
}

// SimCall is a tool call of a SimAnswer. An empty ID becomes a unique one; Arguments go out as they are.
type SimCall struct{ ID, Name, Arguments string }

// SimText is a plain answer, which ends the built-in agent's work.
func SimText(s string) SimAnswer { return SimAnswer{Content: s} }

// SimBash is a call of the bash tool.
func SimBash(command string) SimAnswer {
	return SimAnswer{Calls: []SimCall{{Name: toolBash, Arguments: simArguments(map[string]string{"command": command})}}}
}

// SimWrite is a call of the write_file tool.
func SimWrite(path, content string) SimAnswer {
	return SimAnswer{Calls: []SimCall{{Name: toolWrite, Arguments: simArguments(map[string]string{"path": path, "content": content})}}}
}

// SimError is a failing answer with an error object in the form of OpenAI.
func SimError(status int, code, message string) SimAnswer {
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": code, "code": code}})
	if err != nil {
		panic("harness: a string did not encode")
	}
	return SimAnswer{Status: status, Body: string(b)}
}

func simArguments(m map[string]string) string {
	b, err := json.Marshal(m)
	if err != nil {
		panic("harness: a string did not encode")
	}
	return string(b)
}

// ModelSim is a scripted OpenAI-compatible endpoint, for tests and demos: POST …/chat/completions and
// GET …/models. Script gets the number of the request, from 0, and the request, and says the answer. It is
// called for one request at a time.
type ModelSim struct {
	Script func(n int, r openai.ChatCompletionRequest) SimAnswer

	mu       sync.Mutex
	requests []openai.ChatCompletionRequest
}

// Requests are the chat requests so far, in order of arrival.
func (m *ModelSim) Requests() []openai.ChatCompletionRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]openai.ChatCompletionRequest(nil), m.requests...)
}

// ServeHTTP answers as an OpenAI-compatible server does.
func (m *ModelSim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		simJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "sim", "object": "model"}}})
		return
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		simJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "no such path", "type": "not_found"}})
		return
	}
	var req openai.ChatCompletionRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20)).Decode(&req); err != nil {
		simJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error"}})
		return
	}
	m.mu.Lock()
	n := len(m.requests)
	m.requests = append(m.requests, req)
	a := m.Script(n, req)
	m.mu.Unlock()
	if a.Delay > 0 {
		select {
		case <-time.After(a.Delay):
		case <-r.Context().Done():
			return
		}
	}
	if a.HangUp {
		panic(http.ErrAbortHandler) // net/http's way to break a connection
	}
	body := a.body(n, req)
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(max(a.Status, http.StatusOK))
	if a.CutAt > 0 && a.CutAt < len(body) {
		_, _ = w.Write(body[:a.CutAt])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // a client that left is its own concern
}

func simJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left is its own concern
}

// body is the answer's JSON.
func (a SimAnswer) body(n int, req openai.ChatCompletionRequest) []byte {
	if a.Body != "" || a.Status >= 400 {
		return []byte(a.Body)
	}
	message := map[string]any{"role": "assistant", "content": a.Content}
	if a.Reasoning != "" {
		message["reasoning_content"] = a.Reasoning
	}
	finish := "stop"
	var calls []any
	for i, c := range a.Calls {
		finish = "tool_calls"
		if c.ID == "" {
			c.ID = fmt.Sprintf("sim_%d_%d", n, i)
		}
		calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	if a.Finish != "" {
		finish = a.Finish
	}
	model := a.Model
	if model == "" {
		model = req.Model
	}
	out := map[string]any{"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion", "created": 0, "model": model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}}
	if a.NoModel {
		out["choices"] = []any{}
	}
	if !a.NoUsage {
		prompt, completion := a.PromptTokens, a.Completion
		if prompt == 0 {
			prompt = estimate(req.Messages...)
		}
		if completion == 0 {
			completion = (len(a.Content)+len(a.Reasoning))/bytesPerToken + 8*len(a.Calls) + 1
		}
		out["usage"] = map[string]any{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
			"prompt_tokens_details": map[string]any{"cached_tokens": a.Cached}}
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic("harness: an answer did not encode")
	}
	return b
}
