package logs

import (
	"encoding/json"
	"fmt"
	"regexp"
)

func piFormat() Format {
	return Format{Name: "pi", Title: "pi session or event stream", recognise: claimPi, read: readPi}
}

func claimPi(h *head) (claim, bool) {
	first := h.any(func(f fields) bool { return f["type"] == "session" && f.has("version", "id", "cwd") })
	if !h.lines || first == nil {
		return claim{}, false
	}
	c := claim{part: "session.jsonl", session: first["id"], model: h.first("modelId", "message.model")}
	if h.any(func(f fields) bool { return f["type"] == "agent_start" || f["type"] == "message_start" }) != nil {
		c.part = "stdout"
	}
	return c, true
}

// readPi reads pi's session file, and of its events what that does not have: retries. Without a session file the events
// are read in full.
func readPi(in *logInput, out *rowSink) error {
	r := piReader{rowSink: out}
	for _, part := range []string{"session.jsonl", "", "stdout"} {
		for i := range in.files {
			if f := &in.files[i]; f.part == part {
				r.stream = part == "stdout"
				out.time = nil
				out.jsonLines(loneFile(part, f), part, r.line)
				r.session = r.session || !r.stream
			}
		}
	}
	return nil
}

type piReader struct {
	*rowSink
	turns   promptTurns
	stream  bool // the line is one of the events
	session bool // there was a session file
}

type piLine struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Message   json.RawMessage `json:"message"`
	// Of retries and compactions.
	Attempt      int    `json:"attempt"`
	DelayMS      int64  `json:"delayMs"`
	Success      *bool  `json:"success"`
	Error        string `json:"errorMessage"`
	FinalError   string `json:"finalError"`
	Reason       string `json:"reason"`
	TokensBefore int64  `json:"tokensBefore"`
	Aborted      bool   `json:"aborted"`
}

type piMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Usage      json.RawMessage `json:"usage"`
	StopReason string          `json:"stopReason"`
	Error      string          `json:"errorMessage"`
	Timestamp  int64           `json:"timestamp"`
	CallID     string          `json:"toolCallId"`
	Tool       string          `json:"toolName"`
	IsError    bool            `json:"isError"`
}

// piUsage are the counts of one answer: what was read from a cache or written to one is not in the input.
type piUsage struct {
	Input      *int64 `json:"input"`
	Output     *int64 `json:"output"`
	CacheRead  *int64 `json:"cacheRead"`
	CacheWrite *int64 `json:"cacheWrite"`
	Cost       struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

func (r *piReader) line(raw []byte) error {
	var l piLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	if t := wallTime(l.Timestamp); t != nil {
		r.time = t
	}
	switch l.Type {
	case "message", "message_end":
		if r.stream && r.session {
			return nil // the same once more
		}
		return r.message(l.Message)
	case "auto_retry_start":
		r.retried(pairs("try", fmt.Sprint(l.Attempt), "wait_s", shortNumber(float64(l.DelayMS)/1000)), numberIn(piStatus, l.Error))
	case "auto_retry_end":
		if l.Success != nil && !*l.Success {
			r.harnessSaid(EventEnd, "retries_exhausted: "+l.FinalError)
		}
	case "compaction_start", "auto_compaction_start":
		r.harnessSaid(EventCompaction, pairs("reason", clip(l.Reason, 60)))
	case "compaction":
		r.harnessSaid(EventCompaction, pairs("tokens_before", fmt.Sprint(l.TokensBefore)))
	case "compaction_end", "auto_compaction_end":
		if l.Aborted || l.Error != "" {
			r.harnessSaid(EventError, "compaction: "+l.Error)
		}
	case "session", "model_change", "thinking_level_change", "label", "session_info", "custom", "branch_summary", "agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_update",
		"tool_execution_start", "tool_execution_update", "tool_execution_end":
		// Bookkeeping, parts of messages, and messages once more.
	default:
		r.unknownRecord(l.Type)
	}
	return nil
}

// piStatus is the HTTP status at the beginning of an error, piExit the exit status at the end of a command's output.
var (
	piStatus = regexp.MustCompile(`^([45]\d\d)\b`)
	piExit   = regexp.MustCompile(`Command exited with code (\d+)\s*$`)
)

func (r *piReader) message(raw []byte) error {
	var m piMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if t := millis(m.Timestamp); t != nil {
		r.time = t
	}
	said := contentText(m.Content)
	switch m.Role {
	case "user":
		r.turns.prompt(r.eventBuilder, said)
	case "assistant":
		r.answer(&m, said)
	case "toolResult":
		exit := numberIn(piExit, said)
		if !m.IsError {
			exit = nil // it printed these words itself
		}
		r.toolGave(m.Tool, m.CallID, said, exit, nil)
		if m.IsError && exit == nil {
			r.toolEnded(m.Tool, m.CallID, "failed=true")
		}
	case "bashExecution", "custom", "branchSummary", "compactionSummary":
		r.quoted("harness", m.Role+": "+said)
	default:
		r.unknownRecord("message " + m.Role)
	}
	return nil
}

func (r *piReader) answer(m *piMessage, said string) {
	if m.StopReason == "error" {
		r.failed(m.Error, numberIn(piStatus, m.Error), true)
		return
	}
	var u piUsage
	_ = json.Unmarshal(m.Usage, &u)
	r.answered(Tokens{Input: u.Input, Cached: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}, pairs("stop_reason", clip(m.StopReason, 40), "usage", rawUsage(m.Usage)))
	if u.Cost.Total > 0 { // a model without a price has 0
		r.spent(u.Cost.Total)
	}
	r.modelSaid(said)
	var parts []struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(m.Content, &parts)
	for _, p := range parts {
		if p.Type == "toolCall" {
			r.toolCalled(p.Name, p.ID, string(p.Arguments))
		}
	}
	if m.StopReason == "aborted" {
		r.harnessSaid(EventError, "aborted: "+m.Error)
	}
}
