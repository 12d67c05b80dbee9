package harness

import (
	"encoding/json"
	"strings"
)

// simResponses is the Responses protocol.
type simResponses struct{}

type simItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
}

func (simResponses) read(body []byte) (SimRequest, error) {
	type tool struct {
		Type       string         `json:"type"`
		Name       string         `json:"name"`
		Parameters map[string]any `json:"parameters"`
	}
	var v struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			tool
			Tools []tool `json:"tools"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return SimRequest{}, err
	}
	r := SimRequest{Protocol: "responses", Model: v.Model, Stream: v.Stream}
	if v.Instructions != "" {
		r.Messages = append(r.Messages, SimMessage{Role: "system", Text: v.Instructions})
	}
	var items []simItem
	if json.Unmarshal(v.Input, &items) != nil {
		items = []simItem{{Role: "user", Content: v.Input}}
	}
	for _, i := range items {
		switch {
		case strings.HasSuffix(i.Type, "_call_output"):
			r.Messages = append(r.Messages, SimMessage{Role: "tool", CallID: i.CallID, Text: simText(i.Output)})
		case strings.HasSuffix(i.Type, "_call"):
			r.Messages = append(r.Messages, SimMessage{Role: "assistant", Calls: []SimCall{{ID: i.CallID, Name: i.Name, Arguments: i.Arguments + i.Input}}})
		case i.Role == "developer" || i.Role == "system":
			r.Messages = append(r.Messages, SimMessage{Role: "system", Text: simText(i.Content)})
		case i.Role != "":
			r.Messages = append(r.Messages, SimMessage{Role: i.Role, Text: simText(i.Content)})
		}
	}
	for _, t := range v.Tools {
		for _, inner := range append([]tool{t.tool}, t.Tools...) {
			if inner.Type == "function" {
				r.Tools = append(r.Tools, SimTool{Name: inner.Name, Schema: inner.Parameters})
			}
		}
	}
	return r, nil
}

func (simResponses) fail(status int, code, message string) (int, any) {
	return simChat{}.fail(status, code, message)
}

// items are the output of an answer.
func (a SimAnswer) items(id string) []map[string]any {
	out := []map[string]any{}
	if a.NoModel {
		return out
	}
	if a.Reasoning != "" {
		out = append(out, map[string]any{"type": "reasoning", "id": "rs_" + id, "summary": []any{map[string]any{"type": "summary_text", "text": a.Reasoning}}})
	}
	if a.Content != "" || len(a.Calls) == 0 {
		out = append(out, map[string]any{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": a.Content, "annotations": []any{}}}})
	}
	for _, c := range a.Calls {
		out = append(out, map[string]any{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": c.Arguments, "status": "completed"})
	}
	return out
}

func (simResponses) whole(a SimAnswer, id string, _ SimRequest) any {
	out := map[string]any{"id": "resp_" + id, "object": "response", "created_at": 0, "status": "completed", "model": a.Model, "output": a.items(id),
		"error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "metadata": map[string]any{}}
	if a.Finish == "length" {
		out["status"], out["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	if !a.NoUsage {
		out["usage"] = map[string]any{"input_tokens": a.PromptTokens, "output_tokens": a.Completion, "total_tokens": a.PromptTokens + a.Completion,
			"input_tokens_details": map[string]any{"cached_tokens": a.Cached}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}}
	}
	return out
}

func (w simResponses) stream(a SimAnswer, id string, r SimRequest) []simEvent {
	var out []simEvent
	event := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, len(out)
		out = append(out, simEvent{name: kind, data: fields})
	}
	started := map[string]any{"id": "resp_" + id, "object": "response", "created_at": 0, "status": "in_progress", "model": a.Model, "output": []any{}}
	event("response.created", map[string]any{"response": started})
	event("response.in_progress", map[string]any{"response": started})
	for i, item := range a.items(id) {
		at := func(more map[string]any) map[string]any {
			more["output_index"], more["item_id"] = i, item["id"]
			return more
		}
		opened := map[string]any{"status": "in_progress"}
		for k, v := range item {
			if k != "status" && k != "content" && k != "arguments" {
				opened[k] = v
			}
		}
		switch item["type"] {
		case "message":
			opened["content"] = []any{}
			event("response.output_item.added", map[string]any{"output_index": i, "item": opened})
			part := map[string]any{"type": "output_text", "text": "", "annotations": []any{}}
			event("response.content_part.added", at(map[string]any{"content_index": 0, "part": part}))
			for _, piece := range simPieces(a.Content) {
				event("response.output_text.delta", at(map[string]any{"content_index": 0, "delta": piece}))
			}
			event("response.output_text.done", at(map[string]any{"content_index": 0, "text": a.Content}))
			event("response.content_part.done", at(map[string]any{"content_index": 0, "part": map[string]any{"type": "output_text", "text": a.Content, "annotations": []any{}}}))
		case "function_call":
			opened["arguments"] = ""
			event("response.output_item.added", map[string]any{"output_index": i, "item": opened})
			arguments, _ := item["arguments"].(string)
			for _, piece := range simPieces(arguments) {
				event("response.function_call_arguments.delta", at(map[string]any{"delta": piece}))
			}
			event("response.function_call_arguments.done", at(map[string]any{"arguments": arguments}))
		default:
			event("response.output_item.added", map[string]any{"output_index": i, "item": item})
		}
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	end := "response.completed"
	if a.Finish == "length" {
		end = "response.incomplete"
	}
	event(end, map[string]any{"response": w.whole(a, id, r)})
	return out
}
