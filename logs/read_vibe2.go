package logs

import (
	"cmp"
	"encoding/json"
	"strings"
)

// vibe2Message is a message of Vibe 2. It has no time, and nothing says of an answer how long it was.
type vibe2Message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Injected  bool            `json:"injected"`
	MessageID string          `json:"message_id"`
	Name      string          `json:"name"`
	CallID    string          `json:"tool_call_id"`
	ToolCalls []chatCall      `json:"tool_calls"`
}

type vibe2Meta struct {
	Parent string `json:"parent_session_id"`
	Stats  *struct {
		Prompt     *int64 `json:"session_prompt_tokens"` // what was read from a cache is in it
		Completion *int64 `json:"session_completion_tokens"`
		Cached     *int64 `json:"session_cached_tokens"`
	} `json:"stats"`
}

// readVibe2 reads messages.jsonl of Vibe 2.x and the sums of meta.json, which begin anew with each process. A process
// that goes on with a conversation writes all earlier messages once more: of an attempt those before the last prompt are
// left out.
func (r *vibeReader) readVibe2(p programFiles) {
	var meta vibe2Meta
	if len(p.get("meta.json").Data) > 0 {
		r.document(p, "meta.json", func(raw []byte) error { return json.Unmarshal(raw, &meta) })
	}
	first, n := 1, 0
	if r.sink == nil {
		first = vibe2LastPrompt(p)
	}
	seen := map[string]bool{}
	r.jsonLines(p, "messages.jsonl", func(raw []byte) error {
		var m vibe2Message
		n++
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		if n < first {
			return nil
		}
		id := m.MessageID
		if m.Role == "tool" {
			id = "result of " + m.CallID
		}
		if id != "" && seen[id] {
			return nil
		}
		seen[id] = true
		if n == 1 && m.Injected && meta.Parent != "" {
			r.harnessSaid(EventCompaction, pairs("ok", "true"))
		}
		r.vibe2Message(&m)
		return nil
	})
	if s := meta.Stats; s != nil {
		f := p.get("meta.json")
		r.place(p.pathOf(f), f.offset, f.Data)
		r.summed(Tokens{Input: without(s.Prompt, s.Cached), Cached: s.Cached, Output: s.Completion}, "")
	}
	r.plainLines(p, "stderr", func(line string) {
		switch limit := strings.Contains(line, " limit of ") && strings.HasSuffix(line, " reached") || strings.Contains(line, "Price limit exceeded") || strings.Contains(line, "Token limit exceeded"); {
		case limit:
			r.harnessSaid(EventEnd, "limit: "+clip(line, 200))
		case strings.Contains(line, "Rate limit exceeded"), strings.Contains(line, "LLM backend error"), strings.Contains(line, "Invalid API key"):
			r.failed(line, nil, true)
		}
	})
}

// vibe2LastPrompt is the number of the object, from 1, that is the last prompt; 1 if there is none.
func vibe2LastPrompt(p programFiles) int {
	quiet := &eventBuilder{row: &AttemptRow{}}
	first, n := 1, 0
	quiet.jsonLines(p, "messages.jsonl", func(raw []byte) error {
		var m vibe2Message
		n++
		if json.Unmarshal(raw, &m) == nil && m.Role == "user" && !m.Injected {
			first = n
		}
		return nil
	})
	return first
}

func (r *vibeReader) vibe2Message(m *vibe2Message) {
	said := contentText(m.Content)
	switch m.Role {
	case "user":
		if !m.Injected {
			r.prompted(said)
		}
	case "assistant":
		r.answered(Tokens{}, "")
		r.modelSaid(said)
		for _, c := range m.ToolCalls {
			r.tools[c.ID] = c.Function.Name
			r.toolCalled(c.Function.Name, c.ID, c.Function.Arguments)
		}
	case "tool":
		r.vibe2Result(m, said)
	case "system":
	default:
		r.unknownRecord(m.Role)
	}
}

func (r *vibeReader) vibe2Result(m *vibe2Message, said string) {
	tool := cmp.Or(m.Name, r.tools[m.CallID])
	why, failed := strings.CutPrefix(said, "<tool_error>")
	why = strings.ToLower(why[:min(len(why), 100)])
	switch {
	case failed && strings.Contains(why, "unknown tool"):
		r.callRejected(tool, m.CallID, "unknown_tool")
		return
	case failed && strings.Contains(why, "invalid arguments"):
		r.callRejected(tool, m.CallID, "bad_call")
		return
	}
	r.toolGave(tool, m.CallID, said, nil, nil)
	if failed || strings.HasPrefix(said, "<user_cancellation>") {
		r.toolEnded(tool, m.CallID, "failed=true")
	}
}
