package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// readOpenCode reads what `opencode export` printed, of which only the attempt's messages are kept, or, where that is
// missing, the stream of `opencode run --format json`, which does not show compactions.
func readOpenCode(b *eventBuilder, p programFiles) {
	if len(p.get("export.json").Data) == 0 {
		b.jsonLines(p, "stdout", b.openCodeLine)
		return
	}
	failed := false
	b.jsonList(p, "export.json", "messages", func(raw []byte) error {
		var m openCodeMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		failed = failed || m.Info.Error != nil
		b.openCodeMessage(&m)
		return nil
	})
	b.time = nil
	// An error that ended the program before it wrote a message is on the stream alone.
	b.jsonLines(p, "stdout", func(raw []byte) error {
		var l openCodeLine
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		if l.Error != nil && !failed {
			b.time = millis(l.Timestamp)
			b.openCodeError(l.Error)
		}
		return nil
	})
}

type openCodeMessage struct {
	Info struct {
		Role    string          `json:"role"`
		Mode    string          `json:"mode"`
		Summary json.RawMessage `json:"summary"` // true for the text of a compaction
		Error   *openCodeError  `json:"error"`
		Time    struct {
			Created int64 `json:"created"`
		} `json:"time"`
	} `json:"info"`
	Parts []openCodePart `json:"parts"`
}

type openCodeError struct {
	Name string `json:"name"`
	Data struct {
		Message    string `json:"message"`
		StatusCode *int   `json:"statusCode"`
	} `json:"data"`
}

type openCodePart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Tool      string `json:"tool"`
	CallID    string `json:"callID"`
	Reason    string `json:"reason"`
	Auto      bool   `json:"auto"`
	Overflow  bool   `json:"overflow"`
	State     struct {
		Status   string          `json:"status"`
		Input    json.RawMessage `json:"input"`
		Output   string          `json:"output"`
		Error    string          `json:"error"`
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
		Time openCodeSpan `json:"time"`
	} `json:"state"`
	Tokens *struct {
		Input     *int64 `json:"input"` // what was read from a cache is not in it
		Output    *int64 `json:"output"`
		Reasoning *int64 `json:"reasoning"` // not in output
		Cache     struct {
			Read  *int64 `json:"read"`
			Write *int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
	Time openCodeSpan `json:"time"`
}

type openCodeSpan struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// openCodeLine is a line of the stream.
type openCodeLine struct {
	Type      string         `json:"type"`
	Timestamp int64          `json:"timestamp"`
	Part      *openCodePart  `json:"part"`
	Error     *openCodeError `json:"error"`
}

func (b *eventBuilder) openCodeLine(raw []byte) error {
	var l openCodeLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	b.time = millis(l.Timestamp)
	switch {
	case l.Error != nil:
		b.openCodeError(l.Error)
	case l.Part != nil:
		b.openCodePart(l.Part, "assistant")
	default:
		b.unknownRecord(l.Type)
	}
	return nil
}

func (b *eventBuilder) openCodeMessage(m *openCodeMessage) {
	b.time = millis(m.Info.Time.Created)
	if string(m.Info.Summary) == "true" {
		b.harnessSaid(EventCompaction, pairs("ok", fmt.Sprint(m.Info.Error == nil)))
	}
	for i := range m.Parts {
		b.openCodePart(&m.Parts[i], m.Info.Role)
	}
	if m.Info.Error != nil {
		b.openCodeError(m.Info.Error)
	}
}

func (b *eventBuilder) openCodeError(e *openCodeError) {
	b.failed(strings.Join(nonEmpty(e.Name, e.Data.Message), ": "), e.Data.StatusCode, e.Name == "ContextOverflowError")
}

func (b *eventBuilder) openCodePart(p *openCodePart, role string) {
	if at := millis(cmp.Or(p.Time.Start, p.State.Time.Start)); at != nil {
		b.time = at
	}
	switch p.Type {
	case "text":
		if role == "user" {
			b.prompted(p.Text)
		} else {
			b.modelSaid(p.Text)
		}
	case "tool":
		b.openCodeTool(p)
	case "step-finish":
		var used Tokens
		if t := p.Tokens; t != nil {
			used = Tokens{Input: t.Input, Cached: t.Cache.Read, CacheWrite: t.Cache.Write, Output: t.Output, Reasoning: t.Reasoning}
			if t.Output != nil && t.Reasoning != nil {
				out := *t.Output + *t.Reasoning
				used.Output = &out
			}
		}
		b.answered(used, "finish_reason="+clip(p.Reason, 40))
	case "compaction":
		b.harnessSaid(EventNotice, "compaction begins: "+pairs("auto", fmt.Sprint(p.Auto), "overflow", fmt.Sprint(p.Overflow)))
	case "step-start", "patch", "snapshot", "reasoning":
	default:
		b.unknownRecord(p.Type)
	}
}

// openCodeTool is a call and what came of it. OpenCode runs the tool "invalid" for calls that it cannot run.
func (b *eventBuilder) openCodeTool(p *openCodePart) {
	s := &p.State
	if p.Tool == "invalid" {
		var in struct {
			Tool  string `json:"tool"`
			Error string `json:"error"`
		}
		_ = json.Unmarshal(s.Input, &in) // the row says what it can
		why := "bad_call"
		if strings.HasPrefix(in.Error, "Model tried to call unavailable tool") {
			why = "unknown_tool"
		}
		b.callRejected(in.Tool, p.CallID, why)
		return
	}
	b.toolCalled(p.Tool, p.CallID, string(s.Input))
	if s.Status == "running" || s.Status == "pending" {
		return // nothing came back
	}
	if end := millis(s.Time.End); end != nil {
		b.time = end
	}
	took := seconds(s.Time.Start, s.Time.End)
	b.toolGave(p.Tool, p.CallID, cmp.Or(s.Output, s.Error), s.Metadata.Exit, took)
	switch {
	case s.Status == "error":
		b.toolEnded(p.Tool, p.CallID, "failed=true")
	case strings.Contains(s.Output, "terminated command after exceeding timeout"):
		b.toolEnded(p.Tool, p.CallID, "by=limit limit=time")
		b.eventAt(b.next() - 1).DurationS = took
	}
}
