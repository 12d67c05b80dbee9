package logs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// readKimiCLI reads the lines that the attempt appended to the wire file of kimi-cli (the Python program), which never
// says why a turn ended, and of its output the plain text, which does. Without a wire file the messages on its output
// are read, which have no tokens.
func readKimiCLI(b *eventBuilder, p programFiles) {
	r := newKimiReader(b)
	b.jsonLines(p, "wire.jsonl", r.cliLine)
	b.time = nil
	if !p.has("wire.jsonl") {
		b.jsonObjects(p, "stdout", true, r.chatLine) // its plain lines come next
	}
	var said []string
	b.plainLines(p, "stdout", func(line string) {
		if len(said) < 50 {
			said = append(said, line)
		}
	})
	r.cliComplaint(strings.Join(said, " "))
}

// kimiReader reads the logs of kimi-cli and of Kimi Code.
type kimiReader struct {
	*eventBuilder
	answers    map[string]int    // the events of answers, by message
	tools      map[string]string // by call
	last       string            // the last call, name and arguments
	streak     int               // how often it came in a row
	idle       bool              // the last thing that happened is the result of a tool
	unpaired   []kimiUsage       // of Kimi Code: told so far by only one of two records
	byStep     bool              // which is the end of the step
	compacting *kimiCompaction   // begun and not ended
	lastErr    string
	sub        bool // of an agent that the model itself started
	subs       map[string]*kimiReader
}

func newKimiReader(b *eventBuilder) *kimiReader {
	return &kimiReader{eventBuilder: b, answers: map[string]int{}, tools: map[string]string{}, subs: map[string]*kimiReader{}}
}

// maxSubagents is how many agents below the main one are told apart.
const maxSubagents = 1000

// subagent reads what an agent did that the model started. Its answers and calls count, its prompts and ends do not.
func (r *kimiReader) subagent(id string) *kimiReader {
	s, known := r.subs[id]
	if !known {
		s = newKimiReader(r.eventBuilder)
		s.sub = true
		if len(r.subs) < maxSubagents {
			r.subs[id] = s
		}
	}
	return s
}

// kimiRepeats is the number of identical calls in a row that makes both programs end the turn.
const kimiRepeats = 12

func (r *kimiReader) called(tool, id, arguments string) {
	if key := tool + "\x00" + arguments; key == r.last {
		r.streak++
	} else {
		r.last, r.streak = key, 1
	}
	r.tools[id] = tool
	r.idle = false
	r.toolCalled(tool, id, arguments)
}

var kimiExit = regexp.MustCompile(`Command failed with exit code: (-?\d{1,9})\.`)

// gave is what a tool gave; why is what the program says about its failure.
func (r *kimiReader) gave(id, output, why string, isError bool) {
	tool := r.tools[id]
	r.idle = true
	if isError {
		switch {
		case strings.HasPrefix(why, "Error parsing JSON arguments"), strings.HasPrefix(why, "Error validating JSON arguments"), strings.HasPrefix(why, "Invalid args for tool"):
			r.callRejected(tool, id, "bad_call")
			return
		case strings.HasPrefix(why, "Tool `"+tool+"` not found"), strings.HasPrefix(why, `Tool "`+tool+`" not found`):
			r.callRejected(tool, id, "unknown_tool")
			return
		}
	}
	var exit *int
	if all := kimiExit.FindAllStringSubmatch(why[max(0, len(why)-200):], -1); isError && all != nil {
		if n, err := strconv.Atoi(all[len(all)-1][1]); err == nil {
			exit = &n
		}
	}
	if strings.TrimSpace(output) == "" {
		output = why
	}
	r.toolGave(tool, id, output, exit, nil)
	switch {
	case isError && strings.Contains(why[:min(len(why), 200)], "killed by timeout"):
		r.toolEnded(tool, id, "by=limit limit=time")
	case isError && exit == nil:
		r.toolEnded(tool, id, "failed=true")
	}
}

// kimiCLIPayload has the fields of all kinds of records.
type kimiCLIPayload struct {
	UserInput json.RawMessage `json:"user_input"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Function  struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	CallID string `json:"tool_call_id"`
	Return struct {
		IsError bool            `json:"is_error"`
		Output  json.RawMessage `json:"output"`
		Message string          `json:"message"`
	} `json:"return_value"`
	Usage *struct {
		Input      *int64 `json:"input_other"` // what was read from a cache or written to one is not in it
		Output     *int64 `json:"output"`
		CacheRead  *int64 `json:"input_cache_read"`
		CacheWrite *int64 `json:"input_cache_creation"`
	} `json:"token_usage"`
	MessageID string  `json:"message_id"`
	Next      int     `json:"next_attempt"`
	WaitS     float64 `json:"wait_s"`
	Error     string  `json:"error_type"`
	Status    *int    `json:"status_code"`
	AgentID   string  `json:"agent_id"` // of an agent below this one
	Event     struct {
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	} `json:"event"`
}

func (r *kimiReader) cliLine(raw []byte) error {
	var l struct {
		Type      string  `json:"type"`
		Timestamp float64 `json:"timestamp"`
		Message   struct {
			Type    string          `json:"type"`
			Payload json.RawMessage `json:"payload"`
		} `json:"message"`
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	if l.Type == "metadata" {
		return nil
	}
	r.time = unixTime(l.Timestamp)
	return r.cliRecord(l.Message.Type, l.Message.Payload)
}

func (r *kimiReader) cliRecord(kind string, payload json.RawMessage) error {
	var p kimiCLIPayload
	if len(payload) > 0 {
		if err := json.Unmarshal(payload, &p); err != nil {
			return err
		}
	}
	switch kind {
	case "TurnBegin":
		r.last, r.streak, r.idle = "", 0, false
		if !r.sub {
			r.prompted(contentText(p.UserInput))
		}
	case "StepBegin":
		r.idle = false
	case "ContentPart":
		if r.idle = false; p.Type == "text" {
			r.modelSaid(p.Text)
		}
	case "ToolCall":
		r.called(p.Function.Name, p.ID, textOrJSON(p.Function.Arguments))
	case "ToolResult":
		r.gave(p.CallID, contentText(p.Return.Output), p.Return.Message, p.Return.IsError)
	case "StatusUpdate":
		r.cliStatus(&p)
	case "StepRetry":
		r.retried(pairs("try", fmt.Sprint(p.Next-1), "wait_s", fmt.Sprintf("%.3g", p.WaitS), "error", clip(p.Error, 60)), p.Status)
	case "CompactionEnd":
		r.harnessSaid(EventCompaction, pairs("ok", "true"))
	case "StepInterrupted":
		r.idle = false
		r.harnessSaid(EventNotice, "the step was interrupted")
	case "TurnEnd":
		if r.idle && r.streak >= kimiRepeats {
			r.harnessSaid(EventLoopGuard, pairs("period", "1", "repeats", fmt.Sprint(r.streak)))
		}
		if !r.sub {
			r.harnessSaid(EventEnd, "turn end")
		}
	case "SubagentEvent":
		if r.sub {
			return nil // told by the agent between them as well
		}
		return r.subagent(p.AgentID).cliRecord(p.Event.Type, p.Event.Payload)
	case "CompactionBegin", "ToolCallPart", "ApprovalRequest", "ApprovalResponse", "MCPLoadingBegin", "MCPLoadingEnd":
	default:
		r.unknownRecord(kind)
	}
	return nil
}

// cliStatus is a step's usage. A message can be reported more than once: the last report counts.
func (r *kimiReader) cliStatus(p *kimiCLIPayload) {
	u := p.Usage
	if u == nil {
		return
	}
	t := Tokens{Input: u.Input, Cached: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
	if at, known := r.answers[p.MessageID]; known && p.MessageID != "" {
		r.eventAt(at).Tokens = t
		return
	}
	r.answers[p.MessageID] = r.answered(t, "")
}

var kimiErrorCode = regexp.MustCompile(`^Error code: (\d{3})\b`)

// cliComplaint is the plain text at the end of the output, for which the program breaks lines at 80 columns.
func (r *kimiReader) cliComplaint(said string) {
	if said == "" {
		return
	}
	r.failed(said, numberIn(kimiErrorCode, said), strings.HasPrefix(said, "Connection error") || strings.HasPrefix(said, "The API returned an empty response"))
}

// chatLine is a message on the output of either program.
func (r *kimiReader) chatLine(raw []byte) error {
	var m struct {
		Role      string          `json:"role"`
		Type      string          `json:"type"`
		Content   json.RawMessage `json:"content"`
		CallID    string          `json:"tool_call_id"`
		ToolCalls []chatCall      `json:"tool_calls"`
		kimiRetry
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	switch {
	case m.Role == "assistant":
		r.modelSaid(contentText(m.Content))
		for _, c := range m.ToolCalls {
			r.called(c.Function.Name, c.ID, c.Function.Arguments)
		}
	case m.Role == "tool":
		said := contentText(m.Content)
		r.gave(m.CallID, said, strings.TrimPrefix(said, "<system>ERROR: "), strings.HasPrefix(said, "<system>ERROR: "))
		r.breaker(said)
	case m.Role == "meta" && m.Type == "turn.step.retrying":
		r.retrying(&m.kimiRetry)
	case m.Role == "meta":
	default:
		r.unknownRecord(m.Role)
	}
	return nil
}
