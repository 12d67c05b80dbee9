package logs

import (
	"cmp"
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
			b.prompted(p.Text)
		}
	case "assistant":
		b.qwenAnswer(&l)
	case "tool_result":
		b.qwenResult(&l)
	case "system":
		b.qwenSystem(&l)
	default:
		b.unknownRecord(l.Type)
	}
	return nil
}

func (b *eventBuilder) qwenAnswer(l *qwenLine) {
	var t Tokens
	if u := l.Usage; u != nil {
		t = Tokens{Input: without(u.Prompt, u.Cached), Cached: u.Cached, Output: u.Output, Reasoning: u.Reasoning}
	}
	b.answered(t, "")
	for _, p := range l.Message.Parts {
		switch {
		case p.Call != nil:
			b.toolCalled(p.Call.Name, p.Call.ID, string(p.Call.Args))
		case !p.Thought:
			b.modelSaid(p.Text)
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
		r := p.Response
		if r == nil {
			continue
		}
		b.toolGave(r.Name, r.ID, cmp.Or(r.Response.Output, r.Response.Error), shell.ExitCode, nil)
		if l.Result.Status != "success" && shell.ExitCode == nil {
			b.toolEnded(r.Name, r.ID, "failed=true")
		}
	}
}

func (b *eventBuilder) qwenSystem(l *qwenLine) {
	e := &l.Payload.Event
	switch {
	case l.Subtype == "chat_compression":
		i := &l.Payload.Info
		b.harnessSaid(EventCompaction, pairs("ok", fmt.Sprint(i.Status == 1), "tokens_before", fmt.Sprint(i.Before), "tokens_after", fmt.Sprint(i.After)))
	case l.Subtype == "ui_telemetry" && strings.HasSuffix(e.Name, ".api_error"):
		b.failed(strings.Join(nonEmpty(e.ErrorType, e.Message), ": "), e.StatusCode, true)
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
			b.harnessSaid(EventRejectedCall, "bad_call: "+pairs("discarded", fmt.Sprint(l.Data.Discarded)))
		}
		b.retried(pairs("try", fmt.Sprint(l.Data.Attempt), "wait_s", fmt.Sprint(l.Data.DelayMS/1000)), nil)
	case l.Type == "result" && strings.HasPrefix(l.Error.Message, "Loop detection halted the run"):
		b.harnessSaid(EventLoopGuard, l.Error.Message)
	case l.Type == "result" && l.IsError:
		b.harnessSaid(EventError, l.Error.Message)
	case l.Type == "result":
		b.harnessSaid(EventEnd, clip(l.Subtype, 60))
	}
	return nil
}
