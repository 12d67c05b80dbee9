package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// readCodex reads the lines that the attempt appended to Codex's rollout, and of the stream of `codex exec --json` what
// the rollout does not have: retries, and an error that came before it. Without a rollout the stream is all there is;
// its only tokens are sums over all turns, which cannot be told apart, so they are not counted.
func readCodex(b *eventBuilder, p programFiles) {
	r := codexReader{eventBuilder: b, commands: map[string]codexCommand{}, tools: map[string]string{}, rollout: p.has("rollout.jsonl")}
	b.jsonLines(p, "rollout.jsonl", r.line)
	b.time = nil
	b.jsonLines(p, "stdout", r.stream)
	r.left()
}

type codexReader struct {
	*eventBuilder
	rollout  bool
	records  bool // token_usage_record stands in the file: token_count says the same once more
	spoke    bool // something of the model came since tokens were last counted
	total    *codexUsage
	lastErr  string
	commands map[string]codexCommand // by call
	tools    map[string]string       // by call
	running  []codexRunning          // commands of the stream that have begun and not ended
}

// codexRunning is a command of the stream with the place of the line that says that it began.
type codexRunning struct {
	id, command string
	at          Place
	sha         string
}

type codexCommand struct {
	exit *int
	took *float64
}

type codexUsage struct {
	Input      *int64 `json:"input_tokens"` // what was read from a cache or written to one is in it
	Cached     *int64 `json:"cached_input_tokens"`
	CacheWrite *int64 `json:"cache_write_input_tokens"`
	Output     *int64 `json:"output_tokens"` // with reasoning
	Reasoning  *int64 `json:"reasoning_output_tokens"`
}

func (u *codexUsage) tokens() Tokens {
	return Tokens{Input: without(u.Input, u.Cached, u.CacheWrite), Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
}

// since is what came on top of an earlier total; nil if nothing did.
func (u *codexUsage) since(before *codexUsage) *codexUsage {
	minus := func(a, c *int64) *int64 {
		if a == nil {
			return nil
		}
		n := *a - number(c)
		return &n
	}
	d := &codexUsage{minus(u.Input, before.Input), minus(u.Cached, before.Cached), minus(u.CacheWrite, before.CacheWrite), minus(u.Output, before.Output), minus(u.Reasoning, before.Reasoning)}
	if number(d.Input) <= 0 && number(d.Output) <= 0 {
		return nil
	}
	return d
}

type codexPayload struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Output    json.RawMessage `json:"output"`
	Message   string          `json:"message"`
	Reason    string          `json:"reason"`
	ErrorInfo json.RawMessage `json:"codex_error_info"`
	Error     *struct {
		Message string          `json:"message"`
		Kind    string          `json:"kind"`
		Info    json.RawMessage `json:"codex_error_info"`
	} `json:"error"`
	Usage *codexUsage `json:"usage"` // of token_usage_record
	Info  *struct {
		Total *codexUsage `json:"total_token_usage"`
		Last  *codexUsage `json:"last_token_usage"`
	} `json:"info"`
	ExitCode *int           `json:"exit_code"` // of exec_command_end
	Duration *codexDuration `json:"duration"`
	Item     struct {
		Type     string         `json:"type"`
		ID       string         `json:"id"`
		ExitCode *int           `json:"exit_code"`
		Duration *codexDuration `json:"duration"`
	} `json:"item"`
}

type codexDuration struct {
	Secs  int64 `json:"secs"`
	Nanos int64 `json:"nanos"`
}

func (d *codexDuration) seconds() *float64 {
	if d == nil {
		return nil
	}
	s := float64(d.Secs) + float64(d.Nanos)/1e9
	return &s
}

func (r *codexReader) line(raw []byte) error {
	var l struct {
		Timestamp string          `json:"timestamp"`
		Type      string          `json:"type"`
		Payload   json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	r.time = wallTime(l.Timestamp)
	var p codexPayload
	switch l.Type {
	case "session_meta", "turn_context", "world_state":
		return nil
	case "compacted":
		r.harnessSaid(EventCompaction, pairs("ok", "true"))
		return nil
	case "response_item", "event_msg", "token_usage_record":
		if err := json.Unmarshal(l.Payload, &p); err != nil {
			return err
		}
	}
	switch l.Type {
	case "response_item":
		r.item(&p)
	case "event_msg":
		r.event(&p)
	case "token_usage_record":
		r.records = true
		if p.Usage != nil {
			r.answered(p.Usage.tokens(), "")
		}
	default:
		r.unknownRecord(l.Type)
	}
	return nil
}

// item is something that went to the model or came from it.
func (r *codexReader) item(p *codexPayload) {
	switch p.Type {
	case "message":
		said := contentText(p.Content)
		switch {
		case p.Role == "assistant":
			r.spoke = true
			r.modelSaid(said)
		case p.Role == "user" && !codexPreamble(said):
			r.prompted(said)
		}
	case "reasoning", "ghost_snapshot":
		r.spoke = r.spoke || p.Type == "reasoning"
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call":
		r.spoke = true
		name := cmp.Or(p.Name, strings.TrimSuffix(p.Type, "_call"))
		r.tools[p.CallID] = name
		arguments := p.Arguments
		for _, other := range []json.RawMessage{p.Input, p.Action} {
			if len(arguments) == 0 {
				arguments = other
			}
		}
		r.toolCalled(name, cmp.Or(p.CallID, p.ID), textOrJSON(arguments))
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		r.output(p)
	default:
		r.unknownRecord(p.Type)
	}
}

// codexPreamble are the user messages that Codex itself writes before the prompt.
func codexPreamble(said string) bool {
	for _, tag := range []string{"<environment_context>", "<user_instructions>", "# AGENTS.md instructions"} {
		if strings.HasPrefix(said, tag) {
			return true
		}
	}
	return false
}

var codexExit = regexp.MustCompile(`(?m)\A(?:.*\n){0,4}?(?:Process exited with code|Exit code:) (-?\d{1,9})$`)

// output is what a tool gave. Its exit code stands in the command's own record, or at the head of the output, or, in old
// files, in a JSON object around it.
func (r *codexReader) output(p *codexPayload) {
	said, tool := contentText(p.Output), r.tools[p.CallID]
	if said == "" {
		said = textOrJSON(p.Output)
	}
	switch {
	case strings.HasPrefix(said, "failed to parse function arguments"):
		r.callRejected(tool, p.CallID, "bad_call")
		return
	case strings.HasPrefix(said, "unsupported call: "):
		r.callRejected(tool, p.CallID, "unknown_tool")
		return
	}
	c := r.commands[p.CallID]
	var old struct {
		Output   *string `json:"output"`
		Metadata struct {
			ExitCode *int     `json:"exit_code"`
			Duration *float64 `json:"duration_seconds"`
		} `json:"metadata"`
	}
	if strings.HasPrefix(said, "{") && json.Unmarshal([]byte(said), &old) == nil && old.Output != nil && old.Metadata.ExitCode != nil {
		said, c = *old.Output, codexCommand{old.Metadata.ExitCode, old.Metadata.Duration}
	}
	if c.exit == nil {
		c.exit = numberIn(codexExit, said[:min(len(said), 1000)])
	}
	r.toolGave(tool, p.CallID, said, c.exit, c.took)
	if head := said[:min(len(said), 100)]; c.exit == nil && strings.HasPrefix(head, tool+" failed") {
		how := "failed=true"
		if strings.Contains(head, `"Rejected(`) { // Codex has a list of commands that it does not run
			how += " rejected=true"
		}
		r.toolEnded(tool, p.CallID, how)
	}
}

// codexRepeats are events that repeat what stands elsewhere or say nothing of the work.
func codexRepeats(kind string) bool {
	switch kind {
	case "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "task_started", "context_compacted",
		"thread_settings_applied", "thread_name_updated", "mcp_tool_call_end", "patch_apply_end", "web_search_end", "view_image_tool_call",
		"dynamic_tool_call_request", "dynamic_tool_call_response", "entered_review_mode", "exited_review_mode":
		return true
	}
	return false
}

func (r *codexReader) event(p *codexPayload) {
	switch p.Type {
	case "token_count":
		r.count(p)
	case "exec_command_end":
		r.commands[p.CallID] = codexCommand{p.ExitCode, p.Duration.seconds()}
	case "item_completed":
		if p.Item.Type == "CommandExecution" {
			r.commands[p.Item.ID] = codexCommand{p.Item.ExitCode, p.Item.Duration.seconds()}
		}
	case "error":
		if p.Error != nil {
			r.fail(p.Error.Message, p.Error.Kind, p.Error.Info)
			return
		}
		r.fail(p.Message, "", p.ErrorInfo)
	case "task_complete":
		if p.Error != nil {
			r.fail(p.Error.Message, p.Error.Kind, p.Error.Info)
		}
		r.harnessSaid(EventEnd, pairs("status", p.Type, "failed", map[bool]string{true: "true"}[p.Error != nil]))
	case "turn_aborted":
		r.harnessSaid(EventEnd, pairs("status", p.Type, "reason", clip(p.Reason, 60)))
	default:
		if !codexRepeats(p.Type) {
			r.unknownRecord(p.Type)
		}
	}
}

// count reads a running total, for files without a record for each answer. The first total of a continued conversation
// holds earlier turns: of it only the last answer counts, and only if there was one.
func (r *codexReader) count(p *codexPayload) {
	if r.records || p.Info == nil || p.Info.Total == nil {
		return
	}
	before := r.total
	r.total = p.Info.Total
	more := p.Info.Last
	switch {
	case before != nil:
		more = r.total.since(before)
	case more == nil || !r.spoke && r.total.since(more) != nil:
		return
	}
	if more != nil {
		r.answered(more.tokens(), "")
	}
	r.spoke = false
}

// fail is an error, told once though Codex writes it up to three times.
func (r *codexReader) fail(message, kind string, info json.RawMessage) {
	var status *int
	var coded map[string]struct {
		Status *int `json:"http_status_code"`
	}
	code := textOrJSON(info)
	if code == "null" {
		code = ""
	}
	if json.Unmarshal(info, &coded) == nil && len(coded) == 1 {
		for name, c := range coded {
			code, status = name, c.Status
		}
	}
	if message != "" && message == r.lastErr {
		return
	}
	r.lastErr = message
	ofProvider := code != "" && code != "other" && code != "sandbox_error" || kind == "rate_limit"
	r.failed(strings.Join(nonEmpty(clip(code, 200), kind, message), ": "), status, ofProvider)
}

type codexStreamLine struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage *codexUsage `json:"usage"`
	Item  struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Text     string `json:"text"`
		Message  string `json:"message"`
		Command  string `json:"command"`
		Output   string `json:"aggregated_output"`
		ExitCode *int   `json:"exit_code"`
	} `json:"item"`
}

var codexReconnect = regexp.MustCompile(`^Reconnecting\.\.\. (\d{1,6})/\d`)

func (r *codexReader) stream(raw []byte) error {
	var l codexStreamLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	switch l.Type {
	case "error":
		if m := codexReconnect.FindStringSubmatch(l.Message); m != nil {
			r.harnessSaid(EventRetry, pairs("try", m[1])+": "+l.Message)
			return nil
		}
		r.streamError(l.Message)
	case "turn.failed":
		r.streamError(l.Error.Message)
		if !r.rollout {
			r.harnessSaid(EventEnd, l.Type)
		}
	case "turn.completed":
		r.running = nil // the turn ended in order: what still runs was left in the background
		if u := l.Usage; u != nil && !r.rollout {
			r.harnessSaid(EventNotice, "tokens of all turns so far: "+pairs("input", fmt.Sprint(number(u.Input)), "cached", fmt.Sprint(number(u.Cached)), "output", fmt.Sprint(number(u.Output))))
		}
		if !r.rollout {
			r.harnessSaid(EventEnd, l.Type)
		}
	case "item.started":
		if l.Item.Type == "command_execution" && !r.rollout && len(r.running) < maxCodexRunning {
			r.running = append(r.running, codexRunning{l.Item.ID, l.Item.Command, r.at, r.sha})
		}
	case "item.completed":
		r.running = slices.DeleteFunc(r.running, func(c codexRunning) bool { return c.id == l.Item.ID })
		if !r.rollout {
			r.streamItem(&l)
		}
	case "thread.started", "turn.started", "item.updated":
	default:
		r.unknownRecord(l.Type)
	}
	return nil
}

// maxCodexRunning bounds how many commands are held that have begun and not ended.
const maxCodexRunning = 1000

// left tells of the commands that nothing came back from, at the places where they began.
func (r *codexReader) left() {
	at, sha := r.at, r.sha
	for _, c := range r.running {
		r.at, r.sha = c.at, c.sha
		r.toolCalled("command_execution", c.id, c.command)
	}
	r.at, r.sha = at, sha
	r.running = nil
}

// streamError is an error of the stream that the rollout does not have, as a rule since there is none.
func (r *codexReader) streamError(message string) {
	if message == "" || message == r.lastErr {
		return
	}
	r.lastErr = message
	r.failed(message, nil, strings.Contains(message, "context window") || strings.HasPrefix(message, "stream disconnected") || strings.Contains(message, "high demand"))
}

func (r *codexReader) streamItem(l *codexStreamLine) {
	switch i := &l.Item; i.Type {
	case "agent_message":
		r.modelSaid(i.Text)
	case "command_execution":
		r.toolCalled("command_execution", i.ID, i.Command)
		r.toolGave("command_execution", i.ID, i.Output, i.ExitCode, nil)
	case "error":
		r.harnessSaid(EventNotice, i.Message)
	case "reasoning", "todo_list":
	default:
		r.unknownRecord(i.Type)
	}
}
