package harness

import "encoding/json"

// simAnthropic is Anthropic's Messages protocol.
type simAnthropic struct{}

func (simAnthropic) read(body []byte) (SimRequest, error) {
	var v struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string         `json:"name"`
			InputSchema map[string]any `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return SimRequest{}, err
	}
	r := SimRequest{Protocol: "anthropic", Model: v.Model, Stream: v.Stream}
	if s := simText(v.System); s != "" {
		r.Messages = append(r.Messages, SimMessage{Role: "system", Text: s})
	}
	for _, m := range v.Messages {
		var blocks []struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
			ToolUseID string          `json:"tool_use_id"`
			Content   json.RawMessage `json:"content"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			r.Messages = append(r.Messages, SimMessage{Role: m.Role, Text: simText(m.Content)})
			continue
		}
		said := SimMessage{Role: m.Role}
		for _, b := range blocks {
			switch b.Type {
			case "tool_result":
				r.Messages = append(r.Messages, SimMessage{Role: "tool", CallID: b.ToolUseID, Text: simText(b.Content)})
			case "tool_use":
				said.Calls = append(said.Calls, SimCall{ID: b.ID, Name: b.Name, Arguments: simInput(b.Input)})
			case "text":
				said.Text += b.Text + "\n"
			}
		}
		if said.Text != "" || said.Calls != nil {
			r.Messages = append(r.Messages, said)
		}
	}
	for _, t := range v.Tools {
		r.Tools = append(r.Tools, SimTool{Name: t.Name, Schema: t.InputSchema})
	}
	return r, nil
}

// simInput is the input of a call as the text of its arguments.
func simInput(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// fail says an error as this protocol does.
func (simAnthropic) fail(status int, code, message string) (int, any) {
	kind := "invalid_request_error"
	switch {
	case code == "insufficient_quota":
		status, message = 400, "Your credit balance is too low to access the API."
	case code == "context_length_exceeded":
		message = "prompt is too long: 9000 tokens > 8192 maximum"
	case status == 401:
		kind = "authentication_error"
	case status == 429:
		kind = "rate_limit_error"
	case status == 503:
		status, kind = 529, "overloaded_error"
	case status >= 500:
		kind = "api_error"
	}
	return status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}

func (a SimAnswer) stopReason() string {
	switch {
	case a.Finish == "length":
		return "max_tokens"
	case len(a.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (a SimAnswer) anthropicUsage(output int) map[string]any {
	return map[string]any{"input_tokens": max(0, a.PromptTokens-a.Cached), "cache_read_input_tokens": a.Cached, "cache_creation_input_tokens": 0, "output_tokens": output}
}

func (simAnthropic) whole(a SimAnswer, id string, _ SimRequest) any {
	content := []any{}
	if a.Reasoning != "" {
		content = append(content, map[string]any{"type": "thinking", "thinking": a.Reasoning, "signature": "sim"})
	}
	if a.Content != "" {
		content = append(content, map[string]any{"type": "text", "text": a.Content})
	}
	for _, c := range a.Calls {
		block := map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Arguments}
		if json.Valid([]byte(c.Arguments)) {
			block["input"] = json.RawMessage(c.Arguments)
		}
		content = append(content, block)
	}
	out := map[string]any{"id": "msg_" + id, "type": "message", "role": "assistant", "model": a.Model, "content": content, "stop_reason": a.stopReason(), "stop_sequence": nil}
	if !a.NoUsage {
		out["usage"] = a.anthropicUsage(a.Completion)
	}
	return out
}

func (simAnthropic) stream(a SimAnswer, id string, _ SimRequest) []simEvent {
	var out []simEvent
	event := func(kind string, fields map[string]any) {
		fields["type"] = kind
		out = append(out, simEvent{name: kind, data: fields})
	}
	message := map[string]any{"id": "msg_" + id, "type": "message", "role": "assistant", "model": a.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil}
	if !a.NoUsage {
		message["usage"] = a.anthropicUsage(1)
	}
	event("message_start", map[string]any{"message": message})
	event("ping", map[string]any{})
	index := 0
	block := func(start map[string]any, deltas []map[string]any) {
		event("content_block_start", map[string]any{"index": index, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", map[string]any{"index": index, "delta": d})
		}
		event("content_block_stop", map[string]any{"index": index})
		index++
	}
	deltas := func(kind, key, text string) []map[string]any {
		var out []map[string]any
		for _, piece := range simPieces(text) {
			out = append(out, map[string]any{"type": kind, key: piece})
		}
		return out
	}
	if a.Reasoning != "" {
		block(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, append(deltas("thinking_delta", "thinking", a.Reasoning), map[string]any{"type": "signature_delta", "signature": "sim"}))
	}
	if a.Content != "" {
		block(map[string]any{"type": "text", "text": ""}, deltas("text_delta", "text", a.Content))
	}
	for _, c := range a.Calls {
		block(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}, deltas("input_json_delta", "partial_json", c.Arguments))
	}
	end := map[string]any{"delta": map[string]any{"stop_reason": a.stopReason(), "stop_sequence": nil}}
	if !a.NoUsage {
		end["usage"] = a.anthropicUsage(a.Completion)
	}
	event("message_delta", end)
	event("message_stop", map[string]any{})
	return out
}
