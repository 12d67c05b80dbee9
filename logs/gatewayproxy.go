package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	e.Kind, e.Text = EventModelRequest, fmt.Sprintf("messages=%s new=%d bytes=%d", cmp.Or(string(l.Messages), "?"), len(l.Raw), l.Bytes)
	if len(l.Messages) > 20 {
		e.Text = fmt.Sprintf("bytes=%d", l.Bytes)
	}
	b.add(e)
	var said []string
	for _, raw := range l.Raw {
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
	e := EventRow{Tool: text(names[0]), CallID: text(id)}
	e.Kind, e.Actor, e.Channel, e.Text = EventToolResult, "tool", ChannelTool, output
	b.add(e)
	if failed {
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventNotice, Tool: e.Tool, CallID: e.CallID, Text: "tool_end: failed=true"})
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
	Usage      struct {
		Input      *int64 `json:"input_tokens"`
		Output     *int64 `json:"output_tokens"`
		CacheRead  *int64 `json:"cache_read_input_tokens"`
		CacheWrite *int64 `json:"cache_creation_input_tokens"`
		In         struct {
			Cached *int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Out struct {
			Reasoning *int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// proxiedAnswer turns an answer into events: what came, what the model said, and which tools it called.
func (b *eventBuilder) proxiedAnswer(e EventRow, l *gatewayLine) {
	var v proxiedAnswer
	e.Kind, e.Actor, e.Channel = EventModelAnswer, "provider", ChannelProvider
	if len(l.Body) == 0 || json.Unmarshal(l.Body, &v) != nil {
		e.Actor, e.Channel, e.Text = "model", ChannelModel, cmp.Or(l.Preview, string(l.Body))
		b.add(e)
		return
	}
	finish, parts := "", []proxiedPart(nil)
	switch l.Protocol {
	case "chat":
		e.Input, e.Cached, e.CacheWrite, e.Output, e.Reasoning = chatTokens(l.Body)
		for i, c := range v.Choices {
			if i == 0 {
				finish = c.FinishReason
			}
			parts = append(parts, c.Message)
		}
	case "responses":
		u := v.Usage
		e.Input, e.Cached, e.Output, e.Reasoning = without(u.Input, u.In.Cached), u.In.Cached, u.Output, u.Out.Reasoning
		finish, parts = cmp.Or(v.Incomplete.Reason, v.Status), v.Output
	default:
		u := v.Usage
		e.Input, e.Cached, e.CacheWrite, e.Output = u.Input, u.CacheRead, u.CacheWrite, u.Output
		finish, parts = v.StopReason, v.Content
	}
	if finish != "" {
		e.Text = "finish_reason=" + clip(finish, 40)
	}
	b.add(e)
	for _, p := range parts {
		b.proxiedPart(p)
	}
}

// proxiedPart is what one piece of an answer says or calls.
func (b *eventBuilder) proxiedPart(p proxiedPart) {
	if said := p.Text + saidIn(p.Content); strings.TrimSpace(said) != "" {
		b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventMessage, Text: said})
	}
	call := func(id, name string, arguments json.RawMessage) {
		if b.calls == nil {
			b.calls = proxiedCalls{}
		}
		b.calls[id] = append(b.calls[id], name)
		b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventToolCall, Tool: text(name), CallID: text(id), Text: textOrJSON(arguments)})
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

// chatTokens reads the usage of a chat completion. The input leaves out what was read from a cache or written
// to one.
func chatTokens(body json.RawMessage) (input, cached, cacheWrite, output, reasoning *int64) {
	var v struct {
		Usage struct {
			Prompt     *int64 `json:"prompt_tokens"`
			Completion *int64 `json:"completion_tokens"`
			CacheHit   *int64 `json:"prompt_cache_hit_tokens"` // an older name for cached_tokens
			Details    struct {
				Cached     *int64 `json:"cached_tokens"`
				CacheWrite *int64 `json:"cache_write_tokens"`
			} `json:"prompt_tokens_details"`
			OutDetails struct {
				Reasoning *int64 `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		} `json:"usage"`
	}
	if json.Unmarshal(body, &v) != nil {
		return nil, nil, nil, nil, nil
	}
	u := v.Usage
	cached = cmp.Or(u.Details.Cached, u.CacheHit)
	return without(u.Prompt, cached, u.Details.CacheWrite), cached, u.Details.CacheWrite, u.Completion, u.OutDetails.Reasoning
}

// without takes parts that are counted on their own from a sum; nil if the sum is unknown.
func without(sum *int64, parts ...*int64) *int64 {
	if sum == nil {
		return nil
	}
	n := *sum
	for _, p := range parts {
		if p != nil {
			n -= *p
		}
	}
	n = max(n, 0)
	return &n
}
