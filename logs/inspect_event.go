package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// inspectEvents is what is known of a sample's events so far.
type inspectEvents struct {
	seen       map[string]bool // messages that have been told, by id
	scoring    map[string]bool // spans in which the answer is graded
	steps      int             // steps of an older log in which it is
	exits      map[string]int  // exit statuses of commands, by the tool call that ran one
	usage      bool            // a model's answer had tokens
	lastFailed bool            // the last request to a model failed
}

type inspectEvent struct {
	Event     string          `json:"event"`
	Span      string          `json:"span_id"`
	Timestamp string          `json:"timestamp"`
	Completed string          `json:"completed"`
	ID        string          `json:"id"`
	Parent    string          `json:"parent_id"`
	Type      string          `json:"type"`
	Action    string          `json:"action"`
	Pending   bool            `json:"pending"`
	Input     json.RawMessage `json:"input"`
	InputRefs [][2]int        `json:"input_refs"`
	Output    json.RawMessage `json:"output"`
	Retries   int             `json:"retries"`
	Cache     string          `json:"cache"`
	Error     json.RawMessage `json:"error"` // a text of a model, an object of a tool or a sample
	Time      *float64        `json:"working_time"`
	Function  string          `json:"function"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Before    *int64          `json:"tokens_before"`
	After     *int64          `json:"tokens_after"`
	Message   json.RawMessage `json:"message"`
	Source    string          `json:"source"`
	Cmd       string          `json:"cmd"`
	File      string          `json:"file"`
	Decision  string          `json:"decision"`
	Data      json.RawMessage `json:"data"`
}

// sampleEvents tells the events of the sample; false if it has none.
func (r *inspectReader) sampleEvents(raw, finite []byte) bool {
	r.exits = map[string]int{}
	windows, execs := []inspectEvent{}, []inspectEvent{}
	n := 0
	if err := listElements(finite, "events", func(_ int64, b []byte) error {
		var e inspectEvent
		if n++; json.Unmarshal(b, &e) == nil {
			switch {
			case e.Event == "tool":
				windows = append(windows, e)
			case e.Event == "sandbox" && e.Action == "exec":
				execs = append(execs, e)
			}
		}
		return nil
	}); err != nil && n == 0 {
		return false
	}
	r.commands(windows, execs)
	if err := r.eventList(r.base, raw, finite, 0); err != nil {
		r.place(r.file, r.base, raw)
		r.unreadable(0, "the sample's events: %s", clip(err.Error(), 200))
	}
	return n > 0
}

// commands finds the tool calls during which a command ran: those of which only one was under way.
func (r *inspectReader) commands(tools, execs []inspectEvent) {
	type window struct {
		id       string
		from, to time.Time
	}
	var all []window
	for _, t := range tools {
		if from, to := logTime(t.Timestamp), logTime(t.Completed); from != nil && to != nil {
			all = append(all, window{t.ID, *from, *to})
		}
	}
	next := 0
	for _, x := range execs {
		at := logTime(x.Timestamp)
		var code int
		if at == nil || json.Unmarshal(x.Result, &code) != nil {
			continue
		}
		for next < len(all) && all[next].to.Before(*at) {
			next++
		}
		id, n := "", 0
		for i := next; i < len(all) && i < next+64 && !all[i].from.After(*at); i++ {
			if !all[i].to.Before(*at) {
				id, n = all[i].id, n+1
			}
		}
		if n == 1 {
			r.exits[id] = code
		}
	}
}

// eventList tells the events of a sample, or those within one.
func (r *inspectReader) eventList(base int64, raw, finite []byte, depth int) error {
	return listElements(finite, "events", func(at int64, b []byte) error {
		if r.stopped() {
			return nil
		}
		own := raw[at : at+int64(len(b))]
		r.place(r.file, base+at, own)
		r.read(own)
		var e inspectEvent
		if err := json.Unmarshal(b, &e); err != nil {
			r.unreadable(0, "the event: %s", clip(err.Error(), 200))
			return nil
		}
		if t := logTime(e.Timestamp); t != nil {
			r.time = t
		}
		r.event(&e)
		if (e.Event == "tool" || e.Event == "subtask") && depth < maxNested {
			_ = r.eventList(base+at, own, b, depth+1) // most have none
		}
		return nil
	})
}

func (r *inspectReader) event(e *inspectEvent) {
	switch e.Event {
	case "model":
		r.model(e)
	case "tool":
		r.tool(e)
	case "span_begin":
		if e.Type == "scorers" || e.Type == "scorer" || r.scoring[e.Parent] {
			r.scoring[e.ID] = true
		}
	case "step":
		switch {
		case e.Type != "scorer":
		case e.Action == "begin":
			r.steps++
		case e.Action == "end":
			r.steps--
		}
	case "error":
		var v inspectError
		_ = json.Unmarshal(e.Error, &v)
		r.harnessSaid(EventError, v.Message)
	case "sample_limit":
		r.harnessSaid(EventEnd, pairs("limit", clip(e.Type, 40)))
	case "compaction":
		r.harnessSaid(EventCompaction, pairs("type", clip(e.Type, 40), "tokens_before", optional(e.Before), "tokens_after", optional(e.After)))
	case "interrupt":
		r.harnessSaid(EventNotice, pairs("interrupt", clip(e.Source, 40)))
	case "approval":
		r.harnessSaid(EventNotice, pairs("approval", clip(e.Decision, 40)))
	case "sandbox":
		r.sandboxed(e)
	case "input":
		var said string
		_ = json.Unmarshal(e.Input, &said)
		r.prompted(said)
	case "logger":
		var v struct {
			Level   string `json:"level"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(e.Message, &v)
		r.quoted("harness", clip(v.Level, 20)+": "+v.Message)
	case "info":
		r.quoted("harness", r.resolve(plainValue(e.Data)))
	case "state", "store", "span_end", "sample_init", "subtask", "score", "score_edit", "checkpoint", "branch", "anchor":
		// Bookkeeping, and what the sample itself says once more.
	default:
		r.unknownRecord(e.Event)
	}
}

func optional(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// sandboxed is a command, or a file that was read or written, in the sandbox.
func (r *inspectReader) sandboxed(e *inspectEvent) {
	row := EventRow{Actor: "system", Channel: ChannelOther, Kind: EventNotice, Text: strings.TrimSpace("sandbox " + clip(e.Action, 40) + ": " + e.Cmd + e.File), DurationS: e.Time}
	var code int
	if e.Action == "exec" && json.Unmarshal(e.Result, &code) == nil {
		row.ExitCode = &code
	}
	r.add(row)
}

// model is a request to a model and its answer. Those with which an answer is graded are no work of the agent.
func (r *inspectReader) model(e *inspectEvent) {
	var out struct {
		Model   string `json:"model"`
		Choices []struct {
			Message    json.RawMessage `json:"message"`
			StopReason string          `json:"stop_reason"`
		} `json:"choices"`
		Usage json.RawMessage `json:"usage"`
		Error string          `json:"error"`
	}
	_ = json.Unmarshal(e.Output, &out)
	stop := ""
	if len(out.Choices) > 0 {
		stop = clip(out.Choices[0].StopReason, 40)
	}
	if r.scoring[e.Span] || r.steps > 0 {
		r.add(EventRow{Actor: "verifier", Channel: ChannelOther, Kind: EventNotice, Text: "grading model: " + pairs("stop_reason", stop, "usage", rawUsage(out.Usage)), DurationS: e.Time})
		return
	}
	for _, m := range r.inputs(e) {
		r.inspectMessage(m, false)
	}
	if e.Retries > 0 {
		r.retried(pairs("retries", fmt.Sprint(e.Retries)), nil)
	}
	failed := cmp.Or(out.Error, plainValue(e.Error))
	if r.lastFailed = failed != ""; r.lastFailed {
		r.failed(failed, nil, true)
	}
	if len(out.Choices) == 0 {
		return
	}
	var u inspectUsage
	_ = json.Unmarshal(out.Usage, &u)
	words := pairs("stop_reason", stop, "cache", clip(e.Cache, 20), "usage", rawUsage(out.Usage))
	if e.Cache == "read" {
		u = inspectUsage{} // Inspect remembered it, and no model was asked
	}
	r.usage = r.usage || u != inspectUsage{}
	r.eventAt(r.answered(u.tokens(), words)).DurationS = e.Time
	r.inspectMessage(out.Choices[0].Message, true)
}

// inputs are the messages that a model was given: in the event, or parts of the sample's pool of messages.
func (r *inspectReader) inputs(e *inspectEvent) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(e.Input, &list) == nil && len(list) > 0 {
		return list
	}
	pool := r.sample.EventsData.Messages
	if len(pool) == 0 {
		pool = r.sample.Pool
	}
	for _, ref := range e.InputRefs {
		if from, to := ref[0], min(ref[1], len(pool)); from >= 0 && from < to {
			list = append(list, pool[from:to]...)
		}
	}
	return list
}

type inspectMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID         string          `json:"id"`
		Function   string          `json:"function"`
		Arguments  json.RawMessage `json:"arguments"`
		ParseError json.RawMessage `json:"parse_error"`
	} `json:"tool_calls"`
	CallID   string `json:"tool_call_id"`
	Function string `json:"function"`
	Error    *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// inspectMessage tells a message once. Of what a model was given only requests are news; the rest are its own answers
// and results, which have events.
func (r *inspectReader) inspectMessage(raw []byte, all bool) {
	var m inspectMessage
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	key := m.ID
	if key == "" {
		key = m.Role + " " + string(m.Content)
	}
	if m.ID != "" || !all {
		if r.seen[key] {
			return
		}
		r.seen[key] = true
	}
	said := r.resolve(contentText(m.Content))
	switch {
	case m.Role == "user":
		r.prompted(said)
	case !all, m.Role == "system":
	case m.Role == "assistant":
		r.modelSaid(said)
		for _, c := range m.Calls {
			r.toolCalled(c.Function, c.ID, r.resolve(string(c.Arguments)))
			if plainValue(c.ParseError) != "" {
				r.callRejected(c.Function, c.ID, "bad_call")
			}
		}
	case m.Role == "tool":
		failed := ""
		if m.Error != nil {
			failed = m.Error.Type
			said = strings.Join(nonEmpty(said, m.Error.Message), "\n")
		}
		r.toolGave(m.Function, m.CallID, said, nil, nil)
		r.toolFailed(m.Function, m.CallID, failed, said)
	}
}

// tool is a call that was run, and its result.
func (r *inspectReader) tool(e *inspectEvent) {
	if e.Pending {
		return
	}
	var failed struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Error, &failed)
	said := r.resolve(contentText(e.Result))
	if said == "" {
		said = r.resolve(plainValue(e.Result))
	}
	said = strings.Join(nonEmpty(said, failed.Message), "\n")
	var exit *int
	if code, ok := r.exits[e.ID]; ok {
		exit = &code
	}
	r.toolGave(e.Function, e.ID, said, exit, e.Time)
	r.toolFailed(e.Function, e.ID, failed.Type, failed.Message)
}

// toolFailed tells how a tool failed, by the type of its error.
func (r *inspectReader) toolFailed(name, id, kind, message string) {
	switch kind {
	case "":
	case "parsing":
		why := "bad_call"
		if strings.HasSuffix(strings.TrimSpace(message), " not found") {
			why = "unknown_tool"
		}
		r.callRejected(name, id, why)
	case "timeout":
		r.toolEnded(name, id, "by=limit limit=time")
	case "limit", "output_limit":
		r.toolEnded(name, id, "by=limit limit=output")
	default:
		r.toolEnded(name, id, "failed=true type="+clip(kind, 40))
	}
}

// inspectAttachment stands for a long text that is kept apart.
var inspectAttachment = regexp.MustCompile(`attachment://([0-9a-f]{32})`)

// resolve puts long texts back where they belong.
func (r *inspectReader) resolve(s string) string {
	if !strings.Contains(s, "attachment://") {
		return s
	}
	n := 0
	return inspectAttachment.ReplaceAllStringFunc(s, func(ref string) string {
		whole, ok := r.sample.Attachments[strings.TrimPrefix(ref, "attachment://")]
		if n += len(whole); !ok || n > maxLogLine {
			return ref
		}
		return whole
	})
}
