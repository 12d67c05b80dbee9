package logs

import (
	"encoding/json"
	"regexp"
)

func continueFormat() Format {
	return Format{Name: "continue", Title: "Continue session or last answer", recognise: claimContinue, read: readContinue}
}

func claimContinue(h *head) (claim, bool) {
	d := h.document()
	switch {
	case d == nil:
		return claim{}, false
	case d.has("sessionId", "history[].message.role"):
		return claim{part: "session.json", session: d["sessionId"], model: d["history[].message.usage.model"]}, true
	case d.has("response", "status") && (d.has("note") && len(d) == 4 || len(d) == 3): // itself is one of its fields
		return claim{part: "stdout.json"}, true
	}
	return claim{}, false
}

// readContinue reads the sessions of Continue's cn, or of its output the last answer.
func readContinue(in *logInput, out *rowSink) error {
	r := continueReader{rowSink: out}
	for i := range in.files {
		f := &in.files[i]
		if f.part == "stdout.json" {
			out.document(loneFile(f.part, f), f.part, r.last)
			continue
		}
		out.jsonList(loneFile("session.json", f), "session.json", "history", r.item)
	}
	return nil
}

type continueReader struct {
	*rowSink
	turns promptTurns
}

type continueItem struct {
	Message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Calls   []chatCall      `json:"toolCalls"`
		CallID  string          `json:"toolCallId"`
		Usage   json.RawMessage `json:"usage"`
	} `json:"message"`
	States []struct {
		CallID string   `json:"toolCallId"`
		Call   chatCall `json:"toolCall"`
		Status string   `json:"status"`
		Output []struct {
			Content string `json:"content"`
		} `json:"output"`
	} `json:"toolCallStates"`
	Summary string `json:"conversationSummary"`
}

// continueExit is how a failed command's result begins.
var continueExit = regexp.MustCompile(`^Error executing tool [^:]*: Error \(exit code (\d+)\)`)

func (r *continueReader) item(raw []byte) error {
	var it continueItem
	if err := json.Unmarshal(raw, &it); err != nil {
		return err
	}
	m := &it.Message
	said := contentText(m.Content)
	switch m.Role {
	case "system":
	case "user":
		r.turns.prompt(r.eventBuilder, said)
	case "assistant":
		var u chatUsage
		_ = json.Unmarshal(m.Usage, &u)
		r.answered(u.tokens(), rawUsage(m.Usage))
		r.modelSaid(said)
		for _, c := range m.Calls {
			r.toolCalled(c.Function.Name, c.ID, c.Function.Arguments)
		}
	case "tool":
		r.toolGave("", m.CallID, said, nil, nil)
	case "thinking":
	default:
		r.unknownRecord(m.Role)
	}
	for _, s := range it.States {
		for _, o := range s.Output {
			exit := numberIn(continueExit, o.Content)
			if s.Status != "errored" {
				exit = nil
			}
			r.toolGave(s.Call.Function.Name, s.CallID, o.Content, exit, nil)
			if s.Status == "errored" && exit == nil {
				r.toolEnded(s.Call.Function.Name, s.CallID, "failed=true")
			}
		}
		if s.Status == "canceled" {
			r.toolEnded(s.Call.Function.Name, s.CallID, "failed=true canceled=true")
		}
	}
	if it.Summary != "" {
		r.harnessSaid(EventCompaction, "")
	}
	return nil
}

// last is the one thing that the output has: the last answer.
func (r *continueReader) last(raw []byte) error {
	var v struct {
		Response json.RawMessage `json:"response"`
		Status   string          `json:"status"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	r.modelSaid(plainValue(v.Response))
	r.harnessSaid(EventEnd, "status="+clip(v.Status, 40))
	return nil
}
