package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// readClaude reads the lines that the attempt appended to Claude Code's session file, and of its stream what that does
// not have: the result. Without a session file the stream is read in full.
func readClaude(b *eventBuilder, p programFiles) {
	r := claudeReader{eventBuilder: b}
	need := 0
	if b.sink != nil && !b.sink.whole {
		need = 2 * BeginningBytes
	}
	decode := claudeDecoder(need)
	b.decodedLines(p, "session.jsonl", false, decode, r.line)
	r.stream, r.session = true, p.has("session.jsonl")
	b.time = nil
	b.decodedLines(p, "stdout", false, decode, r.line)
}

type claudeReader struct {
	*eventBuilder
	stream  bool           // the line is one of the stream
	session bool           // there was a session file
	answers recent[int]    // the events of answers, by message
	tools   recent[string] // by call
	lastErr string
}

// claudeLine is a line of either: they share their messages.
type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Timestamp string `json:"timestamp"`
	Sidechain bool   `json:"isSidechain"`
	Meta      bool   `json:"isMeta"`
	Summary   bool   `json:"isCompactSummary"`
	APIError  bool   `json:"isApiErrorMessage"`
	Status    *int   `json:"apiErrorStatus"`
	Parent    string `json:"parent_tool_use_id"`
	Message   struct {
		ID         string          `json:"id"`
		Model      string          `json:"model"`
		Content    json.RawMessage `json:"content"`
		StopReason string          `json:"stop_reason"`
		Usage      *claudeUsage    `json:"usage"`
	} `json:"message"`
	Error    json.RawMessage `json:"error"` // a word, or an object
	Compact  claudeCompact   `json:"compactMetadata"`
	Compact2 claudeCompact   `json:"compact_metadata"` // of the stream
	// A retry, in the session file and on the stream.
	RetryAttempt int     `json:"retryAttempt"`
	RetryMS      float64 `json:"retryInMs"`
	Attempt      int     `json:"attempt"`
	DelayMS      float64 `json:"retry_delay_ms"`
	ErrorStatus  *int    `json:"error_status"`
	// The result.
	IsError  bool            `json:"is_error"`
	Result   json.RawMessage `json:"result"`
	Terminal string          `json:"terminal_reason"`
	Errors   []string        `json:"errors"`
}

type claudeCompact struct {
	Trigger string `json:"trigger"`
	Pre     int64  `json:"preTokens"`
	Pre2    int64  `json:"pre_tokens"`
	Post2   int64  `json:"post_tokens"`
}

type claudeUsage struct {
	Input      *int64 `json:"input_tokens"` // what was read from a cache or written to one is not in it
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking *int64 `json:"thinking_tokens"` // part of the output
	} `json:"output_tokens_details"`
}

type claudePart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`

	given, said string // the texts of Input and Content
}

func (r *claudeReader) line(_ []byte, decoded any) error {
	rec := decoded.(*claudeRecord)
	l := &rec.claudeLine
	r.usage = rec.usage
	if t := wallTime(l.Timestamp); t != nil {
		r.time = t
	}
	switch l.Type {
	case "assistant", "user":
		if r.stream && r.session {
			return nil // the same once more
		}
		return r.message(rec)
	case "system":
		if !r.stream || !r.session {
			r.system(l)
		}
	case "result":
		r.result(l)
	case "queue-operation", "attachment", "api-request", "api-request-shape", "api-request-blob", "last-prompt", "tools-used", "atis-latch", "cost-state",
		"mode", "permission-mode", "file-history-snapshot", "progress", "summary", "custom-title", "ai-title", "agent-name", "stream_event", "rate_limit_event":
		// Bookkeeping, or parts of what is told as a whole.
	default:
		r.unknownRecord(l.Type)
	}
	return nil
}

func (r *claudeReader) message(rec *claudeRecord) error {
	if rec.bad != nil {
		return rec.bad
	}
	l, parts := &rec.claudeLine, rec.parts
	if l.Type == "user" {
		for i := range parts {
			r.user(l, &parts[i])
		}
		return nil
	}
	if l.APIError || l.Message.Model == "<synthetic>" {
		r.apiError(l, parts)
		return nil
	}
	r.answer(l)
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "text":
			r.modelSaid(p.Text)
		case "tool_use":
			r.tools.set(strings.Clone(p.ID), strings.Clone(p.Name)) // kept longer than the lines around it
			r.toolCalled(p.Name, p.ID, p.given)
		}
	}
	return nil
}

// answer counts a message once: it is split over several records, each with the usage so far.
func (r *claudeReader) answer(l *claudeLine) {
	var t Tokens
	if u := l.Message.Usage; u != nil {
		t = Tokens{Input: u.Input, Cached: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Details.Thinking}
	}
	at, known := r.answers.get(l.Message.ID)
	if !known || l.Message.ID == "" {
		r.answers.set(strings.Clone(l.Message.ID), r.answered(t, pairs("finish_reason", clip(l.Message.StopReason, 40))))
		return
	}
	if number(t.Output) >= number(r.eventAt(at).Output) && l.Message.Usage != nil {
		r.eventAt(at).Tokens = t
	}
	if reason := l.Message.StopReason; reason != "" {
		r.eventAt(at).Text = r.shorten(EventModelAnswer, r.withUsage(t, pairs("finish_reason", clip(reason, 40))))
	}
}

// apiError is the text that Claude Code writes in the place of an answer.
func (r *claudeReader) apiError(l *claudeLine, parts []claudePart) {
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	said := strings.Join(texts, "\n")
	if said == "No response requested." {
		return // stands for an answer after an interruption
	}
	r.lastErr = said
	r.failed(strings.Join(nonEmpty(clip(textOrJSON(l.Error), 100), said), ": "), l.Status, true)
}

var claudeExit = regexp.MustCompile(`\A(?:Error: )?Exit code (\d{1,9})(?:\n|\z)`)

// user is a part of what went to the model: the prompt, or what a tool gave.
func (r *claudeReader) user(l *claudeLine, p *claudePart) {
	switch {
	case p.Type == "tool_result":
		r.toolResult(p)
	case l.Meta || l.Summary || p.Type != "text":
		// Claude Code's own words; a compaction has a record of its own.
	case l.Sidechain || l.Parent != "":
		r.harnessSaid(EventNotice, "a sub-agent is given its task")
	default:
		r.prompted(p.Text)
	}
}

func (r *claudeReader) toolResult(p *claudePart) {
	said := p.said
	tool, _ := r.tools.get(p.ToolUseID)
	if p.IsError {
		if refusal, ok := strings.CutPrefix(said, "<tool_use_error>"); ok {
			switch {
			case strings.Contains(refusal[:min(len(refusal), 200)], "No such tool available"):
				r.callRejected(tool, p.ToolUseID, "unknown_tool")
				return
			case strings.HasPrefix(refusal, "InputValidationError"):
				r.callRejected(tool, p.ToolUseID, "bad_call")
				return
			}
		}
	}
	var exit *int
	if p.IsError {
		exit = numberIn(claudeExit, said[:min(len(said), 100)])
	}
	r.toolGave(tool, p.ToolUseID, said, exit, nil)
	switch {
	case p.IsError && strings.Contains(said[:min(len(said), 200)], "Command timed out after"):
		r.toolEnded(tool, p.ToolUseID, "by=limit limit=time")
	case p.IsError && exit == nil:
		r.toolEnded(tool, p.ToolUseID, "failed=true")
	}
}

func (r *claudeReader) system(l *claudeLine) {
	switch l.Subtype {
	case "compact_boundary":
		c := l.Compact
		before, after := cmp.Or(c.Pre, l.Compact2.Pre2), l.Compact2.Post2
		words := []string{"ok", "true", "trigger", clip(cmp.Or(c.Trigger, l.Compact2.Trigger), 40)}
		for _, n := range []struct {
			name string
			n    int64
		}{{"tokens_before", before}, {"tokens_after", after}} {
			if n.n > 0 {
				words = append(words, n.name, fmt.Sprint(n.n))
			}
		}
		r.harnessSaid(EventCompaction, pairs(words...))
	case "api_error", "api_retry":
		r.retry(l)
	case "init", "status", "turn_duration", "stop_hook_summary", "local_command", "informational":
	default:
		r.unknownRecord(l.Subtype)
	}
}

// retry is a request that failed and is made again.
func (r *claudeReader) retry(l *claudeLine) {
	var e struct {
		Status  *int   `json:"status"`
		Message string `json:"message"`
		Said    string `json:"formatted"`
	}
	status, said := l.ErrorStatus, textOrJSON(l.Error)
	if json.Unmarshal(l.Error, &e) == nil {
		status, said = e.Status, cmp.Or(e.Said, e.Message)
	}
	words := pairs("try", fmt.Sprint(cmp.Or(l.RetryAttempt, l.Attempt)), "wait_s", fmt.Sprint(cmp.Or(l.RetryMS, l.DelayMS)/1000))
	r.retried(strings.Join(nonEmpty(words, said), ": "), status)
}

// result is the end of the stream. Its subtype is "success" for errors of the provider too.
func (r *claudeReader) result(l *claudeLine) {
	said := cmp.Or(strings.Join(l.Errors, "; "), contentText(l.Result))
	told := r.lastErr != "" && strings.HasPrefix(said, r.lastErr[:min(len(r.lastErr), 60)])
	if l.IsError && !told {
		r.harnessSaid(EventError, strings.Join(nonEmpty(clip(l.Terminal, 60), said), ": "))
	}
	r.harnessSaid(EventEnd, pairs("status", clip(l.Subtype, 60), "is_error", fmt.Sprint(l.IsError), "terminal_reason", clip(l.Terminal, 60)))
}
