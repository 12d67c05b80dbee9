package logs

import (
	"encoding/json"
	"strings"
	"time"
)

// readMini reads the trajectory of mini-swe-agent 2, format "mini-swe-agent-1.1", or of version 1, and the retries it
// tells on stderr alone.
func readMini(b *eventBuilder, p programFiles) {
	if f := p.get("traj.json"); miniIsV1(f.Data) {
		b.readMiniV1(p)
	} else if len(f.Data) > 0 {
		b.jsonList(p, "traj.json", "messages", b.miniMessage)
	}
	b.time = nil
	f := p.get("stderr")
	offset := f.offset
	for line := range strings.Lines(string(f.Data)) {
		if strings.HasPrefix(line, "Retrying ") && strings.Contains(line, " as it raised ") {
			b.place(p.blob, offset, []byte(line))
			b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventRetry, Text: strings.TrimSpace(line)})
		}
		offset += int64(len(line))
	}
}

type miniMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	Extra struct {
		Timestamp  float64         `json:"timestamp"`
		Interrupt  string          `json:"interrupt_type"`
		RawOutput  string          `json:"raw_output"`
		ReturnCode *int            `json:"returncode"`
		Exception  string          `json:"exception_info"`
		Type       string          `json:"exception_type"`
		ExitStatus string          `json:"exit_status"`
		Error      string          `json:"exception_str"`
		Response   json.RawMessage `json:"response"`
	} `json:"extra"`
}

// miniNotRun is what stands for the result of the command that submits: it is not run, and no failure.
const miniNotRun = "action was not executed"

func (b *eventBuilder) miniMessage(raw []byte) error {
	var m miniMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	b.time = nil
	if m.Extra.Timestamp > 0 {
		b.time = millis(int64(m.Extra.Timestamp * float64(time.Second/time.Millisecond)))
	}
	said := gatewayMessage{Content: m.Content}.said()
	switch {
	case m.Role == "system":
	case m.Role == "user" && m.Extra.Interrupt != "":
		b.miniAnswer(m.Extra.Response)
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventRejectedCall, Text: "bad_call: " + clip(m.Extra.Interrupt, 60)})
	case m.Role == "user":
		b.add(EventRow{Actor: "harness", Channel: ChannelPrompt, Kind: EventMessage, Text: said})
	case m.Role == "assistant":
		b.miniAnswer(m.Extra.Response)
		if strings.TrimSpace(said) != "" {
			b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventMessage, Text: said})
		}
		for _, c := range m.ToolCalls {
			b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventToolCall, Tool: text(c.Function.Name), CallID: text(c.ID), Text: c.Function.Arguments})
		}
	case m.Role == "tool":
		b.miniResult(&m, said)
	case m.Role == "exit":
		if m.Extra.Error != "" {
			b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventError, Text: m.Extra.ExitStatus + ": " + m.Extra.Error})
		}
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventEnd, Text: clip(m.Extra.ExitStatus, 100)})
	default:
		b.add(EventRow{Actor: "agent", Channel: ChannelOther, Kind: EventNotice, Text: clip(m.Role, 100)})
	}
	return nil
}

// miniAnswer is the provider's reply, the only place with tokens.
func (b *eventBuilder) miniAnswer(response []byte) {
	row := EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventModelAnswer}
	var v chatReply
	if len(response) > 0 && json.Unmarshal(response, &v) == nil {
		row.Tokens = v.Usage.tokens()
		if len(v.Choices) > 0 {
			row.Text = "finish_reason=" + clip(v.Choices[0].FinishReason, 40)
		}
	}
	b.add(row)
}

func (b *eventBuilder) miniResult(m *miniMessage, said string) {
	if m.Extra.Exception == miniNotRun {
		b.add(EventRow{Actor: "tool", Channel: ChannelTool, Kind: EventToolResult, CallID: text(m.ToolCallID), Text: miniNotRun})
		return
	}
	if m.Extra.RawOutput != "" {
		said = m.Extra.RawOutput
	}
	row := EventRow{Actor: "tool", Channel: ChannelTool, Kind: EventToolResult, CallID: text(m.ToolCallID), Text: said, ExitCode: m.Extra.ReturnCode}
	b.add(row)
	if m.Extra.Type == "TimeoutExpired" {
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventNotice, CallID: row.CallID, Text: "tool_end: by=limit limit=time"})
	} else if m.Extra.Exception != "" {
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventNotice, CallID: row.CallID, Text: "tool_end: failed=true"})
	}
}

// chatReply is what is read of a chat completion that a program kept.
type chatReply struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage chatUsage `json:"usage"`
}

type chatUsage struct {
	Prompt     *int64 `json:"prompt_tokens"` // what was read from a cache is in it
	Completion *int64 `json:"completion_tokens"`
	Details    struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutDetails struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) tokens() Tokens {
	t := Tokens{Input: u.Prompt, Cached: u.Details.Cached, Output: u.Completion, Reasoning: u.OutDetails.Reasoning}
	if u.Prompt != nil && u.Details.Cached != nil {
		in := max(0, *u.Prompt-*u.Details.Cached)
		t.Input = &in
	}
	return t
}
