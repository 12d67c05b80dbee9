package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// gatewayReader names the log that stint's own gateway and built-in agent write: JSON lines of
// {"seq", "time", "kind", …}.
const gatewayReader = "stint-gateway"

// gatewayLine holds the fields of all kinds of lines. Those a kind does not have are zero.
type gatewayLine struct {
	Kind         string            `json:"kind"`
	Time         string            `json:"time"`
	Tool         string            `json:"tool"`
	CallID       string            `json:"call_id"`
	Arguments    string            `json:"arguments"`
	Text         string            `json:"text"`
	Reason       string            `json:"reason"`
	Message      string            `json:"message"`
	Error        string            `json:"error"`
	Class        string            `json:"class"`
	Status       *int              `json:"status"`
	Try          int               `json:"try"`
	WaitS        float64           `json:"wait_s"`
	RetryAfterS  *float64          `json:"retry_after_s"`
	DurationS    *float64          `json:"duration_s"`
	ExitCode     *int              `json:"exit_code"`
	Signal       string            `json:"signal"`
	By           string            `json:"by"`
	Limit        string            `json:"limit"`
	Failed       bool              `json:"failed"`
	CutByLength  bool              `json:"cut_by_length"`
	Completion   string            `json:"completion"`
	Detail       string            `json:"detail"`
	Void         string            `json:"void"`
	OK           bool              `json:"ok"`
	Forced       bool              `json:"forced"`
	Before       int               `json:"messages_before"`
	After        int               `json:"messages_after"`
	Period       int               `json:"period"`
	Repeats      int               `json:"repeats"`
	Calls        int               `json:"calls"`
	Kept         int               `json:"kept"`
	InARow       int               `json:"in_a_row"`
	FinishReason string            `json:"finish_reason"`
	Bytes        int64             `json:"bytes"`
	Messages     json.RawMessage   `json:"messages"`
	New          []json.RawMessage `json:"new"`
	Protocol     string            `json:"protocol"` // of an agent outside stint; "" = the built-in agent
	Body         json.RawMessage   `json:"body"`
	Blob         string            `json:"blob"`
	Preview      string            `json:"preview"`
}

type gatewayMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// said is the text of a message: a string, or the text parts of a list.
func (m gatewayMessage) said() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// gatewayEvents turns one line into events. Only words that the recorder itself wrote are said on the
// channel of the harness: what the model, a tool or the agent's workspace brought in stays theirs.
func (b *eventBuilder) gatewayEvents(raw []byte) error {
	var l gatewayLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	if l.Kind == "" {
		return fmt.Errorf("the line has no kind")
	}
	if l.Blob != "" || l.Preview != "" {
		if err := b.unfold(&l); err != nil {
			return err
		}
	}
	b.time = wallTime(l.Time)
	e := EventRow{Actor: "harness", Channel: ChannelHarness, Tool: text(l.Tool), CallID: text(l.CallID), DurationS: l.DurationS, HTTPStatus: l.Status}
	switch {
	case l.Kind == "request" && l.Protocol != "":
		b.proxiedRequest(e, &l)
		return nil
	case l.Kind == "answer" && l.Protocol != "":
		b.proxiedAnswer(e, &l)
		return nil
	}
	switch l.Kind {
	case "request":
		b.requestEvents(e, &l)
	case "answer":
		b.answerEvents(e, &l)
	case "tool_result":
		b.resultEvents(e, &l)
	default:
		e.Kind, e.Text = l.short()
		switch e.Kind {
		case EventToolCall:
			e.Actor, e.Channel = "model", ChannelModel
		case EventError:
			if l.Class != "" {
				e.Actor, e.Channel = "provider", ChannelProvider
			}
		case EventEnd:
			if orderly(l.Completion) && l.Detail != "" {
				b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventNotice, Text: l.Detail})
			}
		case "":
			e.Kind, e.Text, e.Channel = EventNotice, l.Kind, ChannelOther
		}
		b.add(e)
	}
	return nil
}

// unfold reads an event that was too large for its line from its own blob. One that is larger still
// lost its middle there and is no JSON any more: then its two ends are all there is.
func (b *eventBuilder) unfold(l *gatewayLine) error {
	kind, when, shown := l.Kind, l.Time, l.Preview
	if l.Blob != "" && b.blobs != nil {
		body, err := b.blobs.getMax(l.Blob, maxEventBlob)
		if err != nil {
			return err
		}
		b.place(b.blobFile(l.Blob), 0, body)
		var whole gatewayLine
		if json.Unmarshal(body, &whole) == nil {
			whole.Kind, whole.Time, whole.Blob, whole.Preview = kind, when, "", ""
			*l = whole
			return nil
		}
		shown = string(body)
	}
	*l = gatewayLine{Kind: kind, Time: when, Text: shown, Arguments: shown, Preview: shown}
	return nil
}

// asked is a request as such, whatever the protocol.
func (b *eventBuilder) asked(e EventRow, l *gatewayLine) {
	e.Kind, e.Text = EventModelRequest, fmt.Sprintf("messages=%s new=%d bytes=%d", cmp.Or(string(l.Messages), "?"), len(l.New), l.Bytes)
	if len(l.Messages) > 20 {
		e.Text = fmt.Sprintf("bytes=%d", l.Bytes)
	}
	b.add(e)
}

func (b *eventBuilder) requestEvents(e EventRow, l *gatewayLine) {
	b.asked(e, l)
	messages := make([]gatewayMessage, len(l.New))
	// What the model and its tools said before has events of its own, in this attempt or an earlier one.
	first := 0
	for i, raw := range l.New {
		m := &messages[i]
		_ = json.Unmarshal(raw, m) // what is no message says nothing
		if m.Role != "user" && m.Role != "system" && m.Role != "developer" {
			first = i + 1
		}
	}
	for _, m := range messages[first:] {
		b.add(EventRow{Actor: "harness", Channel: ChannelPrompt, Kind: EventMessage, Text: m.said()})
	}
}

// came is an answer as such, whatever the protocol.
func (b *eventBuilder) came(e EventRow, l *gatewayLine) {
	e.Kind, e.Actor, e.Channel, e.Tokens = EventModelAnswer, "provider", ChannelProvider, AnswerUsage(l.Protocol, l.Body).tokens()
	b.add(e)
}

// cameWhole is an answer that does not decode: without its structure nobody can tell the provider's words from the
// model's.
func (b *eventBuilder) cameWhole(e EventRow, l *gatewayLine) {
	e.Kind, e.Actor, e.Channel, e.Text = EventModelAnswer, "model", ChannelModel, cmp.Or(l.Preview, string(l.Body))
	b.add(e)
}

func (b *eventBuilder) answerEvents(e EventRow, l *gatewayLine) {
	var v struct {
		Choices []struct {
			Message      gatewayMessage `json:"message"`
			FinishReason string         `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal(l.Body, &v) != nil {
		b.cameWhole(e, l)
		return
	}
	if len(v.Choices) > 0 {
		e.Text = "finish_reason=" + clip(v.Choices[0].FinishReason, 40)
	}
	b.came(e, l)
	for _, c := range v.Choices {
		b.modelSaid(c.Message.said())
	}
}

// resultEvents keeps what a tool printed apart from what the harness saw of its end.
func (b *eventBuilder) resultEvents(e EventRow, l *gatewayLine) {
	e.Kind, e.Actor, e.Channel, e.Text, e.ExitCode = EventToolResult, "tool", ChannelTool, l.Text, l.ExitCode
	b.add(e)
	seen := pairs("by", cmp.Or(l.By, "self"), "limit", l.Limit, "signal", l.Signal)
	if l.Failed {
		seen = pairs("failed", "true")
	}
	if l.Failed || l.Limit != "" || l.Signal != "" || l.By != "" && l.By != "self" {
		b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventNotice, Tool: e.Tool, CallID: e.CallID, Text: "tool_end: " + seen, ExitCode: l.ExitCode, DurationS: l.DurationS})
	}
}

// short renders the lines that hold a few plain fields. The kind is empty for one it does not know.
func (l *gatewayLine) short() (kind, words string) {
	switch l.Kind {
	case "error":
		return EventError, strings.Join(nonEmpty(l.Class, cmp.Or(l.Message, l.Text)), ": ")
	case "budget":
		return EventError, strings.Join(nonEmpty("budget", l.Error), ": ")
	case "retry":
		return EventRetry, pairs("class", l.Class, "try", fmt.Sprint(l.Try), "wait_s", fmt.Sprint(l.WaitS))
	case "cut":
		return EventCut, pairs("try", fmt.Sprint(l.Try))
	case "tool_call":
		return EventToolCall, l.Arguments
	case "bad_call", "malformed_call", "unknown_tool":
		words = strings.Join(nonEmpty(l.Kind, l.Reason), ": ")
		if l.CutByLength {
			words += " (cut by the output limit)"
		}
		return EventRejectedCall, words
	case "compaction":
		return EventCompaction, pairs("ok", fmt.Sprint(l.OK), "forced", fmt.Sprint(l.Forced), "messages_before", fmt.Sprint(l.Before), "messages_after", fmt.Sprint(l.After), "reason", l.Reason)
	case "loop_guard":
		return EventLoopGuard, pairs("period", fmt.Sprint(l.Period), "repeats", fmt.Sprint(l.Repeats))
	case "left_out":
		return EventLeftOut, pairs("bytes", fmt.Sprint(l.Bytes))
	case "end":
		words = pairs("by", l.By, "limit", l.Limit, "completion", l.Completion, "void", l.Void)
		if !orderly(l.Completion) {
			words = pairs("by", l.By, "limit", l.Limit, "completion", l.Completion, "void", l.Void, "detail", l.Detail)
		}
		return EventEnd, words
	case "empty_answer", "length":
		return EventNotice, l.Kind + ": " + pairs("finish_reason", clip(l.FinishReason, 40), "in_a_row", fmt.Sprint(l.InARow))
	case "too_many_calls":
		return EventNotice, l.Kind + ": " + pairs("calls", fmt.Sprint(l.Calls), "kept", fmt.Sprint(l.Kept))
	case "session_lost":
		return EventNotice, strings.Join(nonEmpty(l.Kind, l.Reason), ": ")
	case "start", "duplicate_id":
		return EventNotice, l.Kind
	}
	return "", ""
}

// pairs writes key=value for every value that is not empty.
func pairs(kv ...string) string {
	var out []string
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i+1] != "" {
			out = append(out, kv[i]+"="+kv[i+1])
		}
	}
	return strings.Join(out, " ")
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
