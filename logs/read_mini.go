package logs

import (
	"encoding/json"
	"strings"
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
	b.plainLines(p, "stderr", func(line string) {
		if strings.HasPrefix(line, "Retrying ") && strings.Contains(line, " as it raised ") {
			b.retried(line, nil)
		}
	})
}

type miniMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	Extra      struct {
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
	b.time = unixTime(m.Extra.Timestamp)
	said := contentText(m.Content)
	switch {
	case m.Role == "system":
	case m.Role == "user" && m.Extra.Interrupt != "":
		b.miniAnswer(m.Extra.Response)
		b.harnessSaid(EventRejectedCall, "bad_call: "+clip(m.Extra.Interrupt, 60))
	case m.Role == "user":
		b.prompted(said)
	case m.Role == "assistant":
		b.miniAnswer(m.Extra.Response)
		b.modelSaid(said)
		for _, c := range m.ToolCalls {
			b.toolCalled(c.Function.Name, c.ID, c.Function.Arguments)
		}
	case m.Role == "tool":
		b.miniResult(&m, said)
	case m.Role == "exit":
		if m.Extra.Error != "" {
			b.harnessSaid(EventError, m.Extra.ExitStatus+": "+m.Extra.Error)
		}
		b.harnessSaid(EventEnd, clip(m.Extra.ExitStatus, 100))
	default:
		b.unknownRecord(m.Role)
	}
	return nil
}

// miniAnswer is the provider's reply, the only place with tokens.
func (b *eventBuilder) miniAnswer(response []byte) {
	var v struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
	}
	words := ""
	if json.Unmarshal(response, &v) == nil && len(v.Choices) > 0 {
		words = "finish_reason=" + clip(v.Choices[0].FinishReason, 40)
	}
	b.answered(AnswerUsage("chat", response).tokens(), words)
}

func (b *eventBuilder) miniResult(m *miniMessage, said string) {
	if m.Extra.Exception == miniNotRun {
		b.toolGave("", m.ToolCallID, miniNotRun, nil, nil)
		return
	}
	if m.Extra.RawOutput != "" {
		said = m.Extra.RawOutput
	}
	b.toolGave("", m.ToolCallID, said, m.Extra.ReturnCode, nil)
	if m.Extra.Type == "TimeoutExpired" {
		b.toolEnded("", m.ToolCallID, "by=limit limit=time")
	} else if m.Extra.Exception != "" {
		b.toolEnded("", m.ToolCallID, "failed=true")
	}
}
