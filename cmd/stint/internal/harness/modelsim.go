package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	Code    string            // of an error, whose text is then Content; each protocol has its own words for it
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

// SimError is a failing answer with an error object; code is OpenAI's.
func SimError(status int, code, message string) SimAnswer {
	return SimAnswer{Status: status, Code: code, Content: message}
}

func simArguments(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("harness: plain values did not encode")
	}
	return string(b)
}

// ModelSim is a scripted model server, for tests and demos: POST …/chat/completions, …/responses and …/messages,
// whole and streamed, and GET …/models. Script, for chat completions only, or Answer says what it answers.
type ModelSim struct {
	// Script gets the number of the request, from 0, and the request. It is called for one request at a
	// time. The requests are kept.
	Script func(n int, r openai.ChatCompletionRequest) SimAnswer
	// Answer serves in place of Script, whatever the protocol, for any number of requests: a [Coder]'s. It
	// is called from several goroutines.
	Answer func(r SimRequest) SimAnswer

	mu       sync.Mutex
	requests []openai.ChatCompletionRequest
	served   int
}

// SimRequest is a request to ModelSim, whatever the protocol.
type SimRequest struct {
	Protocol string // chat, responses, anthropic
	Model    string
	Stream   bool
	Messages []SimMessage
	Tools    []SimTool
	Bytes    int

	usage bool // a stream is to say its usage
}

// SimMessage is one message of a conversation. A message of the tool is the result of the call with its CallID.
type SimMessage struct {
	Role   string // system, user, assistant, tool
	Text   string
	Calls  []SimCall
	CallID string
}

// SimTool is a tool that a request offers. Schema is the JSON schema of its arguments; nil if it has none.
type SimTool struct {
	Name   string
	Schema map[string]any
}

// simWire is a protocol: how requests are read and answers written.
type simWire interface {
	read(body []byte) (SimRequest, error)
	whole(a SimAnswer, id string, r SimRequest) any
	stream(a SimAnswer, id string, r SimRequest) []simEvent
	fail(status int, code, message string) (int, any) // an error, with the status that it has here
}

// simEvent is one event of a stream; data that is no string is encoded.
type simEvent struct {
	name string
	data any
}

// simWires are the protocols by the end of their path.
var simWires = map[string]simWire{"/chat/completions": simChat{}, "/responses": simResponses{}, "/messages": simAnthropic{}}

// Requests are the requests to Script so far, in order of arrival.
func (m *ModelSim) Requests() []openai.ChatCompletionRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]openai.ChatCompletionRequest(nil), m.requests...)
}

// Served is how many model requests have come so far.
func (m *ModelSim) Served() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.served
}

// ServeHTTP answers as a model server does.
func (m *ModelSim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		simJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "sim", "object": "model"}}})
		return
	}
	var wire simWire
	for path, x := range simWires {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, path) {
			wire = x
		}
	}
	if wire == nil {
		simJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "no such path", "type": "not_found"}})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	var req SimRequest
	if err == nil {
		req, err = wire.read(body)
	}
	if err != nil {
		simJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error"}})
		return
	}
	req.Bytes = len(body)
	n, a, err := m.answer(body, req)
	if err != nil {
		simJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error"}})
		return
	}
	a.send(r.Context(), w, wire, n, req)
}

// answer counts the request and asks for its answer.
func (m *ModelSim) answer(body []byte, req SimRequest) (int, SimAnswer, error) {
	m.mu.Lock()
	n := m.served
	m.served++
	if m.Script == nil {
		m.mu.Unlock()
		return n, m.Answer(req), nil
	}
	defer m.mu.Unlock()
	var r openai.ChatCompletionRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return n, SimAnswer{}, err
	}
	m.requests = append(m.requests, r)
	return n, m.Script(n, r), nil
}

// send writes an answer, with all that is to go wrong.
func (a SimAnswer) send(ctx context.Context, w http.ResponseWriter, wire simWire, n int, req SimRequest) {
	if a.Delay > 0 {
		select {
		case <-time.After(a.Delay):
		case <-ctx.Done():
			return
		}
	}
	if a.HangUp {
		panic(http.ErrAbortHandler) // net/http's way to break a connection
	}
	for i := range a.Calls {
		if a.Calls[i].ID == "" {
			a.Calls[i].ID = fmt.Sprintf("sim_%d_%d", n, i)
		}
	}
	a.count(req)
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	id := fmt.Sprintf("sim-%d", n)
	if a.Code != "" {
		var body any
		a.Status, body = wire.fail(a.Status, a.Code, a.Content)
		a.Body = simArguments(body)
	}
	failing := a.Body != "" || a.Status >= 400
	if req.Stream && !failing {
		a.sendStream(w, wire.stream(a, id, req))
		return
	}
	body := []byte(a.Body)
	if !failing {
		body = []byte(simArguments(wire.whole(a, id, req)))
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

func (a SimAnswer) sendStream(w http.ResponseWriter, events []simEvent) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	sent := 0
	for _, e := range events {
		var out []byte
		if e.name != "" {
			out = fmt.Appendf(out, "event: %s\n", e.name)
		}
		data, plain := e.data.(string)
		if !plain {
			data = simArguments(e.data)
		}
		out = fmt.Appendf(out, "data: %s\n\n", data)
		cut := a.CutAt > 0 && sent+len(out) > a.CutAt
		if cut {
			out = out[:a.CutAt-sent]
		}
		_, _ = w.Write(out) // a client that left is its own concern
		_ = http.NewResponseController(w).Flush()
		sent += len(out)
		if cut {
			panic(http.ErrAbortHandler)
		}
	}
}

// count fills in the tokens that the script leaves open.
func (a *SimAnswer) count(r SimRequest) {
	if a.Model == "" {
		a.Model = r.Model
	}
	if a.PromptTokens == 0 {
		a.PromptTokens = simTokens(r.Messages)
	}
	if a.Completion == 0 {
		a.Completion = (len(a.Content)+len(a.Reasoning))/bytesPerToken + 8*len(a.Calls) + 1
	}
}

// simTokens is an estimate of the tokens of a conversation.
func simTokens(messages []SimMessage) int {
	n := 0
	for _, m := range messages {
		n += overheadPerItem + (len(m.Text)+bytesPerToken-1)/bytesPerToken
		for _, c := range m.Calls {
			n += overheadPerItem + (len(c.Name)+len(c.Arguments))/bytesPerToken
		}
	}
	return n
}

func simJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left is its own concern
}
