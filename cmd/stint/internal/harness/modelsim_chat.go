package harness

import (
	"encoding/json"
	"strings"
)

// simChat is the chat-completions protocol.
type simChat struct{}

func (simChat) read(body []byte) (SimRequest, error) {
	var v struct {
		Model   string `json:"model"`
		Stream  bool   `json:"stream"`
		Options *struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			CallID    string          `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string         `json:"name"`
				Parameters map[string]any `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return SimRequest{}, err
	}
	r := SimRequest{Protocol: "chat", Model: v.Model, Stream: v.Stream, usage: v.Options != nil && v.Options.Usage}
	for _, m := range v.Messages {
		out := SimMessage{Role: m.Role, Text: simText(m.Content), CallID: m.CallID}
		if m.Role == "developer" {
			out.Role = "system"
		}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, SimCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		r.Messages = append(r.Messages, out)
	}
	for _, t := range v.Tools {
		r.Tools = append(r.Tools, SimTool{Name: t.Function.Name, Schema: t.Function.Parameters})
	}
	return r, nil
}

// simText is the text of a content: a string, or a list of parts, results of tools among them.
func simText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text+simText(p.Content))
	}
	return strings.Join(texts, "\n")
}

func (simChat) fail(status int, code, message string) (int, any) {
	return status, map[string]any{"error": map[string]any{"message": message, "type": code, "code": code}}
}

func (a SimAnswer) finish() string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (a SimAnswer) chatUsage() map[string]any {
	return map[string]any{"prompt_tokens": a.PromptTokens, "completion_tokens": a.Completion, "total_tokens": a.PromptTokens + a.Completion,
		"prompt_tokens_details": map[string]any{"cached_tokens": a.Cached}}
}

func (simChat) whole(a SimAnswer, id string, _ SimRequest) any {
	message := map[string]any{"role": "assistant", "content": a.Content}
	if a.Reasoning != "" {
		message["reasoning_content"] = a.Reasoning
	}
	var calls []any
	for _, c := range a.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	out := map[string]any{"id": "chatcmpl-" + id, "object": "chat.completion", "created": 0, "model": a.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": a.finish()}}}
	if a.NoModel {
		out["choices"] = []any{}
	}
	if !a.NoUsage {
		out["usage"] = a.chatUsage()
	}
	return out
}

func (simChat) stream(a SimAnswer, id string, r SimRequest) []simEvent {
	var out []simEvent
	chunk := func(delta map[string]any, finish any) {
		out = append(out, simEvent{data: map[string]any{"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 0, "model": a.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}})
	}
	if !a.NoModel {
		chunk(map[string]any{"role": "assistant", "content": ""}, nil)
		for _, piece := range simPieces(a.Reasoning) {
			chunk(map[string]any{"reasoning_content": piece}, nil)
		}
		for _, piece := range simPieces(a.Content) {
			chunk(map[string]any{"content": piece}, nil)
		}
		for i, c := range a.Calls {
			chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}}}, nil)
			for _, piece := range simPieces(c.Arguments) {
				chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil)
			}
		}
		chunk(map[string]any{}, a.finish())
	}
	if r.usage && !a.NoUsage {
		out = append(out, simEvent{data: map[string]any{"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 0, "model": a.Model, "choices": []any{}, "usage": a.chatUsage()}})
	}
	return append(out, simEvent{data: "[DONE]"})
}

// simPieces cuts a text into at most four pieces, as a stream has them; none of an empty text.
func simPieces(s string) []string {
	var out []string
	for size := max(len(s)/3, 1); len(s) > 0; {
		n := min(size, len(s))
		for n < len(s) && s[n]&0xC0 == 0x80 {
			n++ // not inside a letter
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}
