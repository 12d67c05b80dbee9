package logs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

func geminiFormat() Format {
	return Format{Name: "gemini-cli", Title: "Gemini CLI session or stream", recognise: claimGemini, read: readGemini}
}

func claimGemini(h *head) (claim, bool) {
	c := claim{session: h.first("sessionId", "session_id"), model: h.first("model", "messages[].model", "meta.model")}
	switch d := h.document(); {
	case h.lines && h.any(func(f fields) bool { return f.has("sessionId", "projectHash", "startTime") }) != nil:
		c.part = "session.jsonl"
		return c, true
	case h.lines && h.any(func(f fields) bool {
		return f["type"] == "init" && f.has("session_id", "model", "timestamp") && !f.has("subtype")
	}) != nil:
		c.part = "stdout"
		return c, true
	case d != nil && d.has("sessionId", "projectHash", "messages"):
		c.part = "session.json"
		return c, true
	}
	return claim{}, false
}

// readGemini reads the sessions of Gemini CLI, and of its stream what these do not have: errors and the result. Without
// a session the stream is read in full.
func readGemini(in *logInput, out *rowSink) error {
	r := geminiReader{rowSink: out, known: map[string]*geminiKnown{}, calls: map[string]bool{}, results: map[string]bool{}, tools: map[string]string{}}
	for i := range in.files {
		f := &in.files[i]
		switch p := loneFile(f.part, f); f.part {
		case "session.json":
			r.session = true
			out.jsonList(p, f.part, "messages", r.record)
		case "session.jsonl", "":
			r.session = true
			out.jsonLines(p, f.part, r.record)
		}
	}
	for i := range in.files {
		if f := &in.files[i]; f.part == "stdout" {
			out.time = nil
			out.jsonLines(loneFile(f.part, f), f.part, r.stream)
			r.flush()
		}
	}
	return nil
}

type geminiReader struct {
	*rowSink
	turns   promptTurns
	session bool // there was a session file
	known   map[string]*geminiKnown
	calls   map[string]bool   // told, by id
	results map[string]bool   // told, by the id of the call
	tools   map[string]string // of the stream, by call
	said    strings.Builder   // parts of what the model says, on the stream
	saidAt  Place
	saidSHA string
}

// geminiKnown is a message that has been told; it is written down again when it changes.
type geminiKnown struct {
	answer int
	said   bool
}

// promptTurns begins a turn with every request but the first, whose turn has begun with the log.
type promptTurns struct{ begun bool }

func (t *promptTurns) prompt(b *eventBuilder, said string) {
	if strings.TrimSpace(said) == "" {
		return
	}
	if t.begun {
		b.newTurn()
	}
	t.begun = true
	b.prompted(said)
}

type geminiRecord struct {
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"` // a text, or parts
	Parts     json.RawMessage `json:"parts"`   // of older versions
	Tokens    json.RawMessage `json:"tokens"`
	Calls     []geminiCall    `json:"toolCalls"`
	Header    string          `json:"sessionId"`
	Set       *struct {
		Messages []json.RawMessage `json:"messages"`
	} `json:"$set"`
}

type geminiCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Status    string          `json:"status"`
	Timestamp string          `json:"timestamp"`
	Result    []geminiPart    `json:"result"`
}

type geminiPart struct {
	Text     string `json:"text"`
	Response *struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Response struct {
			Output string `json:"output"`
			Error  string `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

// geminiTokens are the counts of one answer. Input has what was read from the cache in it, output not the thoughts.
type geminiTokens struct {
	Input    *int64 `json:"input"`
	Output   *int64 `json:"output"`
	Cached   *int64 `json:"cached"`
	Thoughts *int64 `json:"thoughts"`
}

func (g *geminiTokens) tokens() Tokens {
	t := Tokens{Input: without(g.Input, g.Cached), Cached: g.Cached, Output: g.Output, Reasoning: g.Thoughts}
	if g.Output != nil && g.Thoughts != nil {
		n := *g.Output + *g.Thoughts
		t.Output = &n
	}
	return t
}

// record is a line of a session, or a message of an older one or within a line that sets them all.
func (r *geminiReader) record(raw []byte) error {
	var m geminiRecord
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.Set != nil {
		for _, raw := range m.Set.Messages {
			if err := r.record(raw); err != nil {
				return err
			}
		}
		return nil
	}
	if m.Type == "" && m.Header != "" {
		return nil // the first line
	}
	if t := wallTime(m.Timestamp); t != nil {
		r.time = t
	}
	known, again := r.known[m.ID]
	if !again || m.ID == "" {
		known = &geminiKnown{answer: -1}
		r.known[m.ID] = known
	}
	switch m.Type {
	case "user":
		if !again {
			r.user(&m)
		}
	case "gemini", "model":
		r.answer(&m, known)
	case "info", "warning":
		r.quoted("harness", contentText(m.Content))
	case "error":
		if !again {
			r.failed(contentText(m.Content), nil, false)
		}
	default:
		r.unknownRecord(m.Type)
	}
	return nil
}

func (r *geminiReader) user(m *geminiRecord) {
	var parts []geminiPart
	_ = json.Unmarshal(m.Content, &parts) // a text in older versions
	for _, p := range parts {
		if p.Response != nil {
			r.response(p.Response.ID, p.Response.Name, "", &p)
		}
	}
	said := contentText(m.Content)
	if strings.HasPrefix(strings.TrimSpace(said), "<session_context>") {
		return // the program's own description of the machine
	}
	r.turns.prompt(r.eventBuilder, said)
}

func (r *geminiReader) answer(m *geminiRecord, known *geminiKnown) {
	var t geminiTokens
	_ = json.Unmarshal(m.Tokens, &t)
	if known.answer < 0 {
		known.answer = r.answered(t.tokens(), rawUsage(m.Tokens))
	} else if e := r.eventAt(known.answer); t != (geminiTokens{}) {
		e.Tokens, e.Text = t.tokens(), rawUsage(m.Tokens)
	}
	if said := contentText(m.Content) + contentText(m.Parts); !known.said && strings.TrimSpace(said) != "" {
		known.said = true
		r.modelSaid(said)
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		if !r.calls[c.ID] || c.ID == "" {
			r.calls[c.ID] = true
			r.toolCalled(c.Name, c.ID, string(c.Args))
		}
		if t := wallTime(c.Timestamp); t != nil && len(c.Result) > 0 {
			r.time = t
		}
		for j := range c.Result {
			if c.Result[j].Response != nil {
				r.response(c.ID, c.Name, c.Status, &c.Result[j])
			}
		}
	}
}

// geminiExit is how the shell tool tells the exit status, after what the command printed.
var geminiExit = regexp.MustCompile(`(?:^|\n|\\n)Exit Code: (-?\d+)`)

func (r *geminiReader) response(id, name, status string, p *geminiPart) {
	if r.results[id] {
		return
	}
	r.results[id] = true
	out := p.Response.Response
	if out.Output == "" {
		out.Output = out.Error
	}
	r.gave(name, id, out.Output)
	r.ended(name, id, status, out.Error)
}

// gave is the result of a tool; only that of the shell has an exit status.
func (r *geminiReader) gave(name, id, output string) {
	var exit *int
	if all := geminiExit.FindAllStringSubmatch(output, -1); len(all) > 0 && name == "run_shell_command" {
		if n, err := strconv.Atoi(all[len(all)-1][1]); err == nil {
			exit = &n
		}
	}
	r.toolGave(name, id, output, exit, nil)
}

// ended tells of a tool's end what is not success.
func (r *geminiReader) ended(name, id, status, why string) {
	switch {
	case strings.Contains(why, "not found in registry"), strings.Contains(why, "tool_not_registered"):
		r.callRejected(name, id, "unknown_tool")
	case strings.Contains(why, "invalid_tool_params"):
		r.callRejected(name, id, "bad_call")
	case status == "error", status == "" && why != "":
		r.toolEnded(name, id, "failed=true")
	case status == "cancelled":
		r.toolEnded(name, id, "by=stint cancelled=true")
	}
}

type geminiStream struct {
	Type       string          `json:"type"`
	Timestamp  string          `json:"timestamp"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Delta      bool            `json:"delta"`
	Tool       string          `json:"tool_name"`
	ToolID     string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Output     string          `json:"output"`
	Severity   string          `json:"severity"`
	Message    string          `json:"message"`
	Error      struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats json.RawMessage `json:"stats"`
}

// stream is a line of the stream.
func (r *geminiReader) stream(raw []byte) error {
	var l geminiStream
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	part := l.Type == "message" && l.Role == "assistant"
	if !part {
		r.flush()
	}
	if t := wallTime(l.Timestamp); t != nil {
		r.time = t
	}
	switch {
	case l.Type == "error" && strings.Contains(l.Message, "Loop detected"):
		r.harnessSaid(EventLoopGuard, l.Message)
	case l.Type == "error":
		r.harnessSaid(EventNotice, clip(l.Severity, 20)+": "+l.Message)
	case l.Type == "result":
		r.result(&l)
	case l.Type == "init", l.Type != "message" && l.Type != "tool_use" && l.Type != "tool_result":
		if l.Type != "init" {
			r.unknownRecord(l.Type)
		}
	case r.session: // the same once more
	case part:
		if r.said.Len() == 0 {
			r.saidAt, r.saidSHA = r.at, r.sha
		}
		r.said.WriteString(l.Content)
	case l.Type == "message":
		r.turns.prompt(r.eventBuilder, l.Content)
	case l.Type == "tool_use":
		r.tools[l.ToolID] = l.Tool
		r.toolCalled(l.Tool, l.ToolID, string(l.Parameters))
	case l.Type == "tool_result":
		name := r.tools[l.ToolID]
		if l.Output == "" {
			l.Output = l.Error.Message
		}
		r.gave(name, l.ToolID, l.Output)
		r.ended(name, l.ToolID, l.Status, l.Error.Type)
	}
	return nil
}

// flush tells what the model said in parts, at the place of the first one.
func (r *geminiReader) flush() {
	if r.said.Len() == 0 {
		return
	}
	at, sha := r.at, r.sha
	r.at, r.sha = r.saidAt, r.saidSHA
	r.modelSaid(r.said.String())
	r.at, r.sha = at, sha
	r.said.Reset()
}

// result is the end of a process and the sum of its tokens; thoughts are in none of its counts.
func (r *geminiReader) result(l *geminiStream) {
	var s struct {
		Input  *int64 `json:"input"` // without what was read from the cache
		Cached *int64 `json:"cached"`
		Output *int64 `json:"output_tokens"`
		Total  *int64 `json:"total_tokens"`
	}
	if json.Unmarshal(l.Stats, &s) == nil && !r.session && number(s.Total) > 0 {
		r.summed(Tokens{Input: s.Input, Cached: s.Cached, Output: s.Output}, rawUsage(l.Stats))
	}
	if l.Status == "error" {
		r.failed(fmt.Sprintf("%s: %s", clip(l.Error.Type, 40), l.Error.Message), nil, strings.Contains(l.Error.Message, "[API Error"))
	}
	r.harnessSaid(EventEnd, "status="+clip(l.Status, 40))
}
