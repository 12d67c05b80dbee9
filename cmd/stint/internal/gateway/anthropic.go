package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// anthropic is Anthropic's Messages protocol.
type anthropic struct{}

func (anthropic) name() string { return "anthropic" }
func (anthropic) path() string { return "/messages" }
func (anthropic) list() string { return "messages" }

// anthropicTypes are the names of errors by their status.
var anthropicTypes = map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}

func (anthropic) errorBody(status int, text string) []byte {
	kind := anthropicTypes[status]
	switch {
	case kind == "" && status >= 500:
		kind = "api_error"
	case kind == "":
		kind = "invalid_request_error"
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}})
}

func (d anthropic) url(base string, r *http.Request) string {
	if !strings.HasSuffix(base, "/v1") {
		base += "/v1" // clients of this protocol name a base without it
	}
	if r.URL.RawQuery == "beta=true" {
		return base + d.path() + "?beta=true"
	}
	return base + d.path()
}

func (anthropic) sign(h http.Header, key string) {
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

// adapt never hides the usage, which is part of every stream.
func (anthropic) adapt(o *object, m Model, _ bool) (hideUsage bool) {
	var thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	}
	_ = json.Unmarshal(o.get("thinking"), &thinking) // anything else is no thinking
	if m.Temperature != nil && (thinking.Type == "" || thinking.Type == "disabled") {
		o.set("temperature", *m.Temperature) // with thinking there is only one
	}
	m.limit(o, "max_tokens")
	const leastBudget = 1024 // of the protocol; and it must be below max_tokens
	var most int
	if json.Unmarshal(o.get("max_tokens"), &most) == nil && thinking.Budget >= most && most > leastBudget {
		if inner, err := cutObject(o.get("thinking")); err == nil {
			inner.set("budget_tokens", max(leastBudget, most/2))
			o.set("thinking", json.RawMessage(inner.bytes()))
		}
	}
	return false
}

func (anthropic) tools(o *object) map[string]bool {
	var tools []struct {
		Name string `json:"name"`
	}
	names := map[string]bool{}
	if json.Unmarshal(o.get("tools"), &tools) == nil {
		for _, t := range tools {
			names[t.Name] = true
		}
	}
	return names
}

func (anthropic) callIDs(message []byte) []string {
	if !bytes.Contains(message, []byte(`"tool_use"`)) {
		return nil
	}
	var m struct {
		Content []anthropicBlock `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	var ids []string
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

type anthropicBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Text  string          `json:"text"`
	Input json.RawMessage `json:"input"`
}

func (anthropic) read(body []byte) reading {
	var v struct {
		Content    []anthropicBlock `json:"content"`
		StopReason string           `json:"stop_reason"`
	}
	var r reading
	if json.Unmarshal(body, &v) != nil {
		return r
	}
	r.finish = v.StopReason
	r.length = v.StopReason == "max_tokens" || v.StopReason == "model_context_window_exceeded"
	for _, b := range v.Content {
		switch b.Type {
		case "text":
			r.said = r.said || strings.TrimSpace(b.Text) != ""
		case "tool_use":
			r.calls = append(r.calls, toolCall{id: b.ID, name: b.Name, arguments: argumentsOf(b.Input)})
		}
	}
	return r
}

func (anthropic) assemble() assembler { return &anthropicStream{} }

// anthropicStream puts the events of a streamed message together.
type anthropicStream struct {
	message *object // of message_start, with what message_delta changed
	usage   *object
	blocks  []*anthropicPart
	stopped bool // a reason to stop has come
	end     bool
}

// anthropicPart is a block in the making.
type anthropicPart struct {
	index   int
	start   json.RawMessage
	text    map[string]*bytes.Buffer // of text, thinking, signature
	partial bytes.Buffer             // of the input of a tool
	pieces  bool
}

type anthropicEvent struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message json.RawMessage `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Usage   json.RawMessage `json:"usage"`
	Delta   json.RawMessage `json:"delta"`
	Error   struct {
		Type string `json:"type"`
	} `json:"error"`
}

func (s *anthropicStream) complete() bool { return s.end || s.stopped }
func (s *anthropicStream) last() bool     { return s.end }

func (s *anthropicStream) failed(e sseEvent) (status int, body []byte, found bool) {
	if !bytes.Contains(e.data, []byte(`"error"`)) {
		return 0, nil, false
	}
	var v anthropicEvent
	if json.Unmarshal(e.data, &v) != nil || v.Type != "error" {
		return 0, nil, false
	}
	for status, name := range anthropicTypes {
		if name == v.Error.Type {
			return status, e.data, true
		}
	}
	return 500, e.data, true
}

func (s *anthropicStream) add(e sseEvent, _ bool) []byte {
	var v anthropicEvent
	if json.Unmarshal(e.data, &v) != nil {
		return e.raw
	}
	switch v.Type {
	case "message_start":
		if o, err := cutObject(v.Message); err == nil {
			s.message = o
			s.count(o.get("usage"))
		}
	case "content_block_start":
		s.blocks = append(s.blocks, &anthropicPart{index: v.Index, start: v.Block, text: map[string]*bytes.Buffer{}})
	case "content_block_delta":
		if i := slices.IndexFunc(s.blocks, func(b *anthropicPart) bool { return b.index == v.Index }); i >= 0 {
			s.blocks[i].add(v.Delta)
		}
	case "message_delta":
		s.count(v.Usage)
		if o, err := cutObject(v.Delta); err == nil && s.message != nil {
			for _, m := range o.members {
				s.message.set(m.key, m.value)
				s.stopped = s.stopped || m.key == "stop_reason" && string(m.value) != "null"
			}
		}
	case "message_stop":
		s.end = true
	}
	return e.raw
}

// count takes over what a usage says; a later one corrects an earlier one.
func (s *anthropicStream) count(usage json.RawMessage) {
	o, err := cutObject(usage)
	if err != nil {
		return
	}
	if s.usage == nil {
		s.usage = &object{}
	}
	for _, m := range o.members {
		if string(m.value) != "null" {
			s.usage.set(m.key, m.value)
		}
	}
}

func (b *anthropicPart) add(delta json.RawMessage) {
	var v map[string]json.RawMessage
	if json.Unmarshal(delta, &v) != nil {
		return
	}
	for key, raw := range v {
		var piece string
		switch {
		case key == "type" || json.Unmarshal(raw, &piece) != nil:
		case key == "partial_json":
			b.pieces = true
			b.partial.WriteString(piece)
		default:
			if b.text[key] == nil {
				b.text[key] = &bytes.Buffer{}
			}
			b.text[key].WriteString(piece)
		}
	}
}

func (b *anthropicPart) whole() json.RawMessage {
	o, err := cutObject(b.start)
	if err != nil {
		o = &object{}
	}
	keys := make([]string, 0, len(b.text))
	for key := range b.text {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		o.set(key, argumentsOf(o.get(key))+b.text[key].String())
	}
	if input := b.partial.Bytes(); len(bytes.TrimSpace(input)) > 0 {
		if json.Valid(input) {
			o.set("input", json.RawMessage(input))
		} else {
			o.set("input", string(input)) // what the model wrote, which is no JSON
		}
	}
	return o.bytes()
}

func (s *anthropicStream) whole() []byte {
	o := &object{}
	if s.message != nil {
		o.members = slices.Clone(s.message.members)
	}
	content := []json.RawMessage{}
	for _, b := range s.blocks {
		content = append(content, b.whole())
	}
	o.set("content", content)
	if s.usage != nil {
		o.set("usage", json.RawMessage(s.usage.bytes()))
	}
	return o.bytes()
}
