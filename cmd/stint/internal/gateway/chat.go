package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// chat is OpenAI's chat-completions protocol.
type chat struct{}

func (chat) name() string { return "chat" }
func (chat) path() string { return "/chat/completions" }
func (chat) list() string { return "messages" }

func (chat) errorBody(status int, text string) []byte { return openAIError(status, text) }

func (d chat) url(base string, _ *http.Request) string { return base + d.path() }
func (chat) sign(h http.Header, key string)            { bearer(h, key) }

func (chat) adapt(o *object, m Model, stream bool) (hideUsage bool) {
	if m.Temperature != nil {
		o.set("temperature", *m.Temperature)
	}
	if o.get("max_completion_tokens") != nil || reasoningModel(m.id()) {
		m.limit(o, "max_completion_tokens", "max_tokens")
	} else {
		m.limit(o, "max_tokens", "max_completion_tokens")
	}
	if !stream {
		o.delete("stream_options") // refused by some servers where nothing is streamed
		return false
	}
	options := map[string]json.RawMessage{}
	if json.Unmarshal(o.get("stream_options"), &options) != nil || options == nil {
		options = map[string]json.RawMessage{}
	}
	hideUsage = string(options["include_usage"]) != "true"
	options["include_usage"] = json.RawMessage("true")
	o.set("stream_options", options)
	return hideUsage
}

// reasoningModel names the models whose provider insists on the newer name of the limit; the older one is what other
// servers know.
func reasoningModel(id string) bool {
	for _, p := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(id, p) {
			return true
		}
	}
	return false
}

func (chat) tools(o *object) map[string]bool {
	var tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
		Custom struct {
			Name string `json:"name"`
		} `json:"custom"`
	}
	names := map[string]bool{}
	if json.Unmarshal(o.get("tools"), &tools) == nil {
		for _, t := range tools {
			names[t.Function.Name+t.Custom.Name] = true
		}
	}
	return names
}

func (chat) callIDs(message []byte) []string {
	if !bytes.Contains(message, []byte(`"tool_calls"`)) {
		return nil
	}
	var m struct {
		ToolCalls []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	var ids []string
	for _, c := range m.ToolCalls {
		ids = append(ids, c.ID)
	}
	return ids
}

func (chat) read(body []byte) reading {
	var r reading
	var v struct {
		Choices []struct {
			Message struct {
				Content   json.RawMessage `json:"content"`
				Refusal   string          `json:"refusal"`
				ToolCalls []chatDelta     `json:"tool_calls"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal(body, &v) != nil {
		return r
	}
	for _, c := range v.Choices {
		r.finish = c.FinishReason
		r.length = r.length || c.FinishReason == "length"
		r.said = r.said || strings.TrimSpace(textOf(c.Message.Content)+c.Message.Refusal) != ""
		for _, t := range c.Message.ToolCalls {
			r.calls = append(r.calls, toolCall{id: t.ID, name: t.Function.Name, arguments: argumentsOf(t.Function.Arguments)})
		}
	}
	return r
}

// textOf is a JSON text, or the texts of a list of parts.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // anything else has no text
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// argumentsOf is the text of arguments, which a few servers send as an object.
func argumentsOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (chat) assemble() assembler { return &chatStream{} }

// chatStream puts the chunks of a streamed chat completion together.
type chatStream struct {
	head     map[string]json.RawMessage // id, created, model, …: the members beside choices, the last of each
	choices  []*chatChoice
	done     bool
	finished bool
}

type chatChoice struct {
	index  int
	finish json.RawMessage
	fields map[string]*bytes.Buffer // texts of the message: content, reasoning_content, refusal, …
	lists  map[string][]json.RawMessage
	calls  []*chatCall
}

type chatCall struct {
	index     int
	id, name  string
	arguments bytes.Buffer
}

// chatDelta is a tool call, or in a stream one piece of it.
type chatDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (s *chatStream) complete() bool { return s.done || s.finished }
func (s *chatStream) last() bool     { return s.done }

func (s *chatStream) failed(e sseEvent) (status int, body []byte, found bool) {
	if bytes.Contains(e.data, []byte(`"error"`)) {
		status, found = errorInside(e.data)
	}
	return status, e.data, found
}

func (s *chatStream) add(e sseEvent, hideUsage bool) []byte {
	if string(bytes.TrimSpace(e.data)) == "[DONE]" {
		s.done = true
		return e.raw
	}
	o, err := cutObject(e.data)
	if err != nil {
		return e.raw // a comment, or nothing that we understand
	}
	if s.head == nil {
		s.head = map[string]json.RawMessage{}
	}
	for _, m := range o.members {
		if m.key != "choices" && m.key != "object" && string(m.value) != "null" {
			s.head[m.key] = m.value
		}
	}
	choices, _ := cutArray(o.get("choices"))
	for _, c := range choices {
		s.choice(c)
	}
	usage := o.get("usage")
	if !hideUsage || usage == nil {
		return e.raw
	}
	if len(choices) == 0 && string(usage) != "null" {
		return nil
	}
	o.delete("usage")
	return sseBytes(e.name, o.bytes())
}

func (s *chatStream) choice(raw json.RawMessage) {
	var c struct {
		Index        int                        `json:"index"`
		Delta        map[string]json.RawMessage `json:"delta"`
		FinishReason json.RawMessage            `json:"finish_reason"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return
	}
	i := slices.IndexFunc(s.choices, func(x *chatChoice) bool { return x.index == c.Index })
	if i < 0 {
		i = len(s.choices)
		s.choices = append(s.choices, &chatChoice{index: c.Index, fields: map[string]*bytes.Buffer{}, lists: map[string][]json.RawMessage{}})
	}
	at := s.choices[i]
	if len(c.FinishReason) > 0 && string(c.FinishReason) != "null" {
		at.finish, s.finished = c.FinishReason, true
	}
	for key, value := range c.Delta {
		var text string
		switch {
		case key == "role" || string(value) == "null":
		case key == "tool_calls":
			var deltas []chatDelta
			if json.Unmarshal(value, &deltas) == nil {
				for _, d := range deltas {
					at.call(d)
				}
			}
		case json.Unmarshal(value, &text) == nil:
			if at.fields[key] == nil {
				at.fields[key] = &bytes.Buffer{}
			}
			at.fields[key].WriteString(text)
		default:
			if parts, ok := cutArray(value); ok {
				at.lists[key] = append(at.lists[key], parts...)
			}
		}
	}
}

// call adds a piece to its tool call. Servers number the calls, but some give every call the number 0 and
// tell them apart by id, and some give none.
func (c *chatChoice) call(d chatDelta) {
	var at *chatCall
	for _, k := range c.calls {
		if d.Index == nil || k.index == *d.Index {
			at = k // the latest of this number
		}
	}
	if at == nil || d.ID != "" && at.id != "" && d.ID != at.id {
		at = &chatCall{index: len(c.calls)}
		if d.Index != nil {
			at.index = *d.Index
		}
		c.calls = append(c.calls, at)
	}
	if d.ID != "" {
		at.id = d.ID
	}
	if at.name == "" || at.arguments.Len() == 0 && d.Function.Name != at.name {
		at.name += d.Function.Name
	}
	at.arguments.WriteString(argumentsOf(d.Function.Arguments))
}

func (s *chatStream) whole() []byte {
	out := map[string]any{"object": "chat.completion"}
	for k, v := range s.head {
		out[k] = v
	}
	choices := []any{}
	for _, c := range s.choices {
		message := map[string]any{"role": "assistant", "content": nil}
		for k, v := range c.fields {
			message[k] = v.String()
		}
		for k, v := range c.lists {
			message[k] = v
		}
		var calls []any
		for _, k := range c.calls {
			calls = append(calls, map[string]any{"id": k.id, "type": "function", "function": map[string]any{"name": k.name, "arguments": k.arguments.String()}})
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		choices = append(choices, map[string]any{"index": c.index, "message": message, "finish_reason": c.finish})
	}
	out["choices"] = choices
	return encode(out)
}
