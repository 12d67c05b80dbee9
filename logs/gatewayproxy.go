package logs

import (
	"cmp"
	"encoding/json"
	"strings"
)

// proxiedCalls are the tool calls of an agent outside stint whose results have not been seen: the gateway sees a
// call in an answer and its result in a later request.
type proxiedCalls map[string][]string // id → names of the tools

// proxiedPart is one piece of a message, or an item of a conversation that has no messages.
type proxiedPart struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`
	Action    json.RawMessage `json:"action"`
	CallID    string          `json:"call_id"`
	ToolUseID string          `json:"tool_use_id"`
	ToolCall  string          `json:"tool_call_id"`
	Content   json.RawMessage `json:"content"`
	Output    json.RawMessage `json:"output"`
	IsError   bool            `json:"is_error"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// plain is the text of a value that may be a text or a list of parts, whose content may be one again.
func plain(raw json.RawMessage) string { return plainTo(raw, 3) }

func plainTo(raw json.RawMessage, depth int) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []proxiedPart
	if depth == 0 || json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var texts []string
	for _, p := range parts {
		if t := p.Text + plainTo(p.Content, depth-1); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// proxiedRequest turns what is new in a request into events: results of calls that this log holds, and what the
// agent program said. What an earlier attempt said and did is repeated in the first request; it has its events
// there.
func (b *eventBuilder) proxiedRequest(e EventRow, l *gatewayLine) {
	b.asked(e, l)
	var said []string
	for _, raw := range l.New {
		var m proxiedPart
		if json.Unmarshal(raw, &m) != nil {
			var text string
			if json.Unmarshal(raw, &text) == nil {
				said = append(said, text)
			}
			continue
		}
		var parts []proxiedPart
		if json.Unmarshal(m.Content, &parts) != nil {
			parts = nil
		}
		switch {
		case m.Role == "tool":
			b.proxiedResult(m.ToolCall, plain(m.Content), false)
			said = nil
		case strings.HasSuffix(m.Type, "_call_output"):
			b.proxiedResult(m.CallID, plain(m.Output), false)
			said = nil
		case m.Role == "assistant" || m.Role == "":
			said = nil // and what was said before has been answered
		default:
			var texts []string
			for _, p := range parts {
				if p.Type == "tool_result" {
					b.proxiedResult(p.ToolUseID, plain(p.Content), p.IsError)
				} else if p.Text != "" {
					texts = append(texts, p.Text)
				}
			}
			if parts == nil {
				texts = []string{plain(m.Content)}
			}
			if text := strings.Join(texts, "\n"); strings.TrimSpace(text) != "" {
				said = append(said, text)
			}
		}
	}
	for _, text := range said {
		b.add(EventRow{Actor: "harness", Channel: ChannelPrompt, Kind: EventMessage, Text: text})
	}
}

func (b *eventBuilder) proxiedResult(id, output string, failed bool) {
	names := b.calls[id]
	if len(names) == 0 {
		return
	}
	b.calls[id] = names[1:]
	b.toolGave(names[0], id, output, nil, nil)
	if failed {
		b.toolEnded(names[0], id, "failed=true")
	}
}

// proxiedAnswer is an answer in any of the protocols.
type proxiedAnswer struct {
	Choices []struct {
		Message      proxiedPart `json:"message"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Output     []proxiedPart `json:"output"`
	Status     string        `json:"status"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Content    []proxiedPart `json:"content"`
	StopReason string        `json:"stop_reason"`
}

// proxiedAnswer turns an answer into events: what came, what the model said, and which tools it called.
func (b *eventBuilder) proxiedAnswer(e EventRow, l *gatewayLine) {
	var v proxiedAnswer
	if json.Unmarshal(l.Body, &v) != nil {
		b.cameWhole(e, l)
		return
	}
	finish, parts := "", []proxiedPart(nil)
	switch l.Protocol {
	case "chat":
		for i, c := range v.Choices {
			if i == 0 {
				finish = c.FinishReason
			}
			parts = append(parts, c.Message)
		}
	case "responses":
		finish, parts = cmp.Or(v.Incomplete.Reason, v.Status), v.Output
	default:
		finish, parts = v.StopReason, v.Content
	}
	if finish != "" {
		e.Text = "finish_reason=" + clip(finish, 40)
	}
	b.came(e, l)
	for _, p := range parts {
		b.proxiedPart(p)
	}
}

// proxiedPart is what one piece of an answer says or calls.
func (b *eventBuilder) proxiedPart(p proxiedPart) {
	b.modelSaid(p.Text + saidIn(p.Content))
	call := func(id, name string, arguments json.RawMessage) {
		if b.calls == nil {
			b.calls = proxiedCalls{}
		}
		b.calls[id] = append(b.calls[id], name)
		b.toolCalled(name, id, textOrJSON(arguments))
	}
	for _, c := range p.ToolCalls {
		call(c.ID, c.Function.Name, c.Function.Arguments)
	}
	switch p.Type {
	case "tool_use":
		call(p.ID, p.Name, p.Input)
	case "function_call":
		call(p.CallID, p.Name, p.Arguments)
	case "custom_tool_call":
		call(p.CallID, p.Name, p.Input)
	case "local_shell_call":
		call(p.CallID, "local_shell", p.Action)
	}
}

// saidIn is what a content says, without the parts that are not for the reader.
func saidIn(raw json.RawMessage) string {
	var parts []proxiedPart
	if json.Unmarshal(raw, &parts) != nil {
		return plain(raw)
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// textOrJSON is the text of a JSON text, or the JSON of anything else.
func textOrJSON(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
