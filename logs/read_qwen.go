package logs

import (
	"encoding/json"
	"fmt"
	"strings"
)

// readQwen reads the lines that the attempt appended to Qwen Code's chat file, and of its stream what the chat
// file does not have: retries and the result.
func readQwen(b *eventBuilder, p programFiles) {
	b.jsonLines(p, "chat.jsonl", b.qwenLine)
	b.time = nil
	b.jsonLines(p, "stdout", b.qwenStream)
}

type qwenLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Timestamp string `json:"timestamp"`
	Message   struct {
		Parts []qwenPart `json:"parts"`
	} `json:"message"`
	Usage *struct {
		Prompt    *int64 `json:"promptTokenCount"` // what was read from a cache is in it
		Output    *int64 `json:"candidatesTokenCount"`
		Reasoning *int64 `json:"thoughtsTokenCount"`
		Cached    *int64 `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
	Result struct {
		CallID  string          `json:"callId"`
		Status  string          `json:"status"`
		Display json.RawMessage `json:"resultDisplay"`
	} `json:"toolCallResult"`
	Payload struct {
		Event struct {
			Name       string   `json:"event.name"`
			ErrorType  string   `json:"error_type"`
			Message    string   `json:"error_message"`
			StatusCode *int     `json:"status_code"`
			DurationMS *float64 `json:"duration_ms"`
		} `json:"uiEvent"`
		Info struct {
			Before int64 `json:"originalTokenCount"`
			After  int64 `json:"newTokenCount"`
			Status int   `json:"compressionStatus"` // 1: compressed
		} `json:"info"`
	} `json:"systemPayload"`
}

type qwenPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Response struct {
			Output string `json:"output"`
			Error  string `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

func (b *eventBuilder) qwenLine(raw []byte) error {
	var l qwenLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	b.time = wallTime(l.Timestamp)
	switch l.Type {
	case "user":
		for _, p := range l.Message.Parts {
			b.add(EventRow{Actor: "harness", Channel: ChannelPrompt, Kind: EventMessage, Text: p.Text})
		}
	case "assistant":
		b.qwenAnswer(&l)
	case "tool_result":
		b.qwenResult(&l)
	case "system":
		b.qwenSystem(&l)
	default:
		b.add(EventRow{Actor: "agent", Channel: ChannelOther, Kind: EventNotice, Text: clip(l.Type, 100)})
	}
	return nil
}

func (b *eventBuilder) qwenAnswer(l *qwenLine) {
	row := EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventModelAnswer}
	if u := l.Usage; u != nil {
		row.Tokens = Tokens{Input: u.Prompt, Cached: u.Cached, Output: u.Output, Reasoning: u.Reasoning}
		if u.Prompt != nil && u.Cached != nil {
			in := max(0, *u.Prompt-*u.Cached)
			row.Input = &in
		}
	}
	b.add(row)
	for _, p := range l.Message.Parts {
		switch {
		case p.Call != nil:
			b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventToolCall, Tool: text(p.Call.Name), CallID: text(p.Call.ID), Text: string(p.Call.Args)})
		case !p.Thought && strings.TrimSpace(p.Text) != "":
			b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventMessage, Text: p.Text})
		}
	}
}

func (b *eventBuilder) qwenResult(l *qwenLine) {
	var shell struct {
		ExitCode *int   `json:"exitCode"`
		Outcome  string `json:"outcome"`
	}
	_ = json.Unmarshal(l.Result.Display, &shell) // a text for tools other than the shell
	for _, p := range l.Message.Parts {
		if p.Response == nil {
			continue
		}
		said := p.Response.Response.Output
		if said == "" {
			said = p.Response.Response.Error
		}
		row := EventRow{Actor: "tool", Channel: ChannelTool, Kind: EventToolResult, Tool: text(p.Response.Name), CallID: text(p.Response.ID), Text: said, ExitCode: shell.ExitCode}
		b.add(row)
		if l.Result.Status != "success" && shell.ExitCode == nil {
			b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventNotice, Tool: row.Tool, CallID: row.CallID, Text: "tool_end: failed=true"})
		}
	}
}

func (b *eventBuilder) qwenSystem(l *qwenLine) {
	e := &l.Payload.Event
	switch {
	case l.Subtype == "chat_compression":
		i := &l.Payload.Info
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventCompaction, Text: pairs("ok", fmt.Sprint(i.Status == 1), "tokens_before", fmt.Sprint(i.Before), "tokens_after", fmt.Sprint(i.After))})
	case l.Subtype == "ui_telemetry" && strings.HasSuffix(e.Name, ".api_error"):
		b.add(EventRow{Actor: "provider", Channel: ChannelProvider, Kind: EventError, Text: strings.Join(nonEmpty(e.ErrorType, e.Message), ": "), HTTPStatus: e.StatusCode})
	case l.Subtype == "ui_telemetry", l.Subtype == "attribution_snapshot":
		// The same answers and calls once more, and bookkeeping.
	default:
		b.add(EventRow{Actor: "harness", Channel: ChannelOther, Kind: EventNotice, Text: clip(l.Subtype, 100)})
	}
}

// qwenStream keeps of the stream what stands nowhere else.
func (b *eventBuilder) qwenStream(raw []byte) error {
	var l struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		IsError bool   `json:"is_error"`
		Data    struct {
			Attempt   int     `json:"attempt"`
			DelayMS   float64 `json:"delayMs"`
			Discarded int     `json:"discardedToolCalls"`
		} `json:"data"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	switch {
	case l.Type == "system" && l.Subtype == "retry":
		if l.Data.Discarded > 0 {
			b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventRejectedCall, Text: "bad_call: " + pairs("discarded", fmt.Sprint(l.Data.Discarded))})
		}
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventRetry, Text: pairs("try", fmt.Sprint(l.Data.Attempt), "wait_s", fmt.Sprint(l.Data.DelayMS/1000))})
	case l.Type == "result" && strings.HasPrefix(l.Error.Message, "Loop detection halted the run"):
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventLoopGuard, Text: l.Error.Message})
	case l.Type == "result" && l.IsError:
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventError, Text: l.Error.Message})
	case l.Type == "result":
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventEnd, Text: clip(l.Subtype, 60)})
	}
	return nil
}
