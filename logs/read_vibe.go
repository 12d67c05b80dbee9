package logs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// readVibe reads what Mistral Vibe left. Of Vibe 3: the journal of the attempt's turn (journal.jsonl, or several, whose
// names begin with journal), the retries that only vibe.log has, and export.json for how it ended; without a journal
// the entries on its output, which have no tokens. Of Vibe 2: messages.jsonl and meta.json.
func readVibe(b *eventBuilder, p programFiles) {
	r := vibeReader{eventBuilder: b, tools: map[string]string{}, given: map[string]bool{}, twice: map[string]bool{}, summary: map[string]bool{}}
	if p.has("messages.jsonl") {
		r.readVibe2(p)
		return
	}
	read := false
	for _, name := range p.named(func(name, base string) bool {
		return strings.HasPrefix(base, "journal") || strings.Contains(name, "journal/")
	}) {
		read = read || p.has(name)
		b.jsonLines(p, name, r.record)
	}
	b.time = nil
	if !read {
		b.jsonLines(p, "stdout", r.entryLine)
	}
	b.time = nil
	b.plainLines(p, "vibe.log", r.logLine)
	b.time = nil
	if p.has("export.json") {
		b.document(p, "export.json", func(raw []byte) error { return r.export(raw, read) })
	}
}

type vibeReader struct {
	*eventBuilder
	tools   map[string]string // by call
	given   map[string]bool   // calls whose results were read
	twice   map[string]bool   // calls whose id came before
	summary map[string]bool   // requests for the summary of a compaction
	lastErr string
}

type vibeUsage struct {
	Input      *int64 `json:"input_tokens"` // what was read from a cache or written to one is in it
	Output     *int64 `json:"output_tokens"`
	Cached     *int64 `json:"cached_input_tokens"`
	CacheWrite *int64 `json:"cache_write_tokens"`
	Reasoning  *int64 `json:"reasoning_tokens"`
}

func (u *vibeUsage) tokens() Tokens {
	return Tokens{Input: without(u.Input, u.Cached, u.CacheWrite), Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
}

type vibePayload struct {
	Method string `json:"method"`
	Params struct {
		Message json.RawMessage `json:"message"`
	} `json:"params"`
	Kind    string `json:"kind"`
	Request struct {
		Input struct {
			Messages struct {
				Type     string            `json:"type"`
				Messages []vibeToldMessage `json:"messages"`
			} `json:"messages"`
		} `json:"model_input"`
		Purpose string `json:"purpose"`
	} `json:"request"`
	ActionID string     `json:"action_id"`
	Result   vibeResult `json:"result"`
	Input    struct {
		Determinism struct {
			TimeMS int64 `json:"time_unix_ms"`
		} `json:"determinism"`
	} `json:"input"`
	Delta []struct {
		Entry *vibeEntry `json:"entry"`
	} `json:"delta"`
}

// vibeToldMessage is a message that goes to the model. Of the calls that were not run only it tells.
type vibeToldMessage struct {
	Role    string          `json:"role"`
	Name    string          `json:"name"`
	CallID  string          `json:"tool_call_id"`
	Outcome string          `json:"outcome"`
	Content json.RawMessage `json:"content"`
}

type vibeResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Result struct {
		Finish string `json:"finish_reason"`
		Parts  []struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments_json"`
		} `json:"parts"`
		Usage      *vibeUsage      `json:"usage"`
		Content    json.RawMessage `json:"content"`
		Structured struct {
			ReturnCode *int   `json:"returncode"`
			Stdout     string `json:"stdout"`
			Stderr     string `json:"stderr"`
			TimedOut   bool   `json:"timed_out"`
		} `json:"structured_content"`
	} `json:"result"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details struct {
			Status *int `json:"httpStatus"`
		} `json:"details"`
	} `json:"error"`
}

func (r *vibeReader) record(raw []byte) error {
	var l struct {
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	var p vibePayload
	switch l.Type {
	case "command_reserved", "core_input", "action_intent", "action_result", "projection_delta":
		if err := json.Unmarshal(l.Payload, &p); err != nil {
			return err
		}
	case "receipt_succeeded":
		return nil
	default:
		r.unknownRecord(l.Type)
		return nil
	}
	switch l.Type {
	case "command_reserved":
		if p.Method == "turn/start" {
			r.prompted(contentText(p.Params.Message))
		}
	case "core_input":
		if t := millis(p.Input.Determinism.TimeMS); t != nil {
			r.time = t // the clock of what comes next
		}
	case "action_intent":
		if p.Kind == "completion" && p.Request.Purpose == "compaction" {
			r.summary[p.ActionID] = true
		}
		if p.Kind == "completion" && p.Request.Input.Messages.Type != "replace" {
			for i := range p.Request.Input.Messages.Messages {
				r.told(&p.Request.Input.Messages.Messages[i])
			}
		}
	case "action_result":
		r.result(p.ActionID, &p.Result)
	case "projection_delta":
		for _, d := range p.Delta {
			if d.Entry != nil && d.Entry.Type == "checkpoint" {
				r.entry(d.Entry)
			}
		}
	}
	return nil
}

// told reads the result of a call that was never run, or whose own record is not in the journal.
func (r *vibeReader) told(m *vibeToldMessage) {
	if m.Role != "tool" || r.given[m.CallID] {
		return
	}
	r.given[m.CallID] = true
	said := contentText(m.Content)
	var v struct {
		Result struct {
			Error struct {
				Name    string `json:"name"`
				Message string `json:"message"`
			} `json:"error"`
		} `json:"result"`
		ReturnCode *int   `json:"returncode"`
		Stdout     string `json:"stdout"`
		Stderr     string `json:"stderr"`
	}
	_ = json.Unmarshal([]byte(said), &v) // a text for results of other kinds
	switch e := v.Result.Error; {
	case e.Name == "InvalidToolCall" && strings.HasPrefix(e.Message, "unsupported top-level tool"):
		r.callRejected(m.Name, m.CallID, "unknown_tool")
	case e.Name == "InvalidToolCall":
		r.callRejected(m.Name, m.CallID, "bad_call")
	default:
		if r.twice[m.CallID] {
			v.ReturnCode = nil // of another command
		} else if v.ReturnCode != nil {
			said = strings.Join(nonEmpty(v.Stdout, v.Stderr), "\n")
		}
		r.toolGave(m.Name, m.CallID, said, v.ReturnCode, nil)
		if m.Outcome == "failure" {
			r.toolEnded(m.Name, m.CallID, "failed=true")
		}
	}
}

func (r *vibeReader) result(action string, v *vibeResult) {
	switch v.Type {
	case "completion_succeeded":
		var t Tokens
		if v.Result.Usage != nil {
			t = v.Result.Usage.tokens()
		}
		r.answered(t, pairs("finish_reason", clip(v.Result.Finish, 40)))
		for _, p := range v.Result.Parts {
			switch {
			case r.summary[action]:
			case p.Type == "text":
				r.modelSaid(p.Text)
			case p.Type == "tool_call":
				if _, known := r.tools[p.ID]; known {
					// Vibe does not run it, but hands back the first one's result.
					r.twice[p.ID] = true
					r.harnessSaid(EventNotice, "duplicate_id")
				}
				r.tools[p.ID] = p.Name
				delete(r.given, p.ID)
				r.toolCalled(p.Name, p.ID, textOrJSON(p.Arguments))
			}
		}
	case "completion_failed":
		e := &v.Error
		r.lastErr = e.Message
		r.failed(strings.Join(nonEmpty(clip(e.Code, 60), e.Message), ": "), e.Details.Status, true)
	case "tool_succeeded", "tool_failed":
		r.given[v.CallID] = true
		s, tool := &v.Result.Structured, r.tools[v.CallID]
		said := strings.Join(nonEmpty(s.Stdout, s.Stderr), "\n")
		if said == "" {
			said = contentText(v.Result.Content)
		}
		r.toolGave(tool, v.CallID, said, s.ReturnCode, nil)
		switch {
		case s.TimedOut:
			r.toolEnded(tool, v.CallID, "by=limit limit=time")
		case v.Type == "tool_failed":
			r.toolEnded(tool, v.CallID, "failed=true")
		}
	case "hook_completed", "":
	default:
		if !strings.HasPrefix(v.Type, "filesystem") {
			r.unknownRecord(v.Type)
		}
	}
}

// vibeEntry is an entry of what a person would see.
type vibeEntry struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Created int64           `json:"createdAt"`
	Updated int64           `json:"updatedAt"`
	Status  string          `json:"generationStatus"`
	Content json.RawMessage `json:"content"`
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Details struct {
		Trigger string `json:"trigger"`
		Attempt int    `json:"attempt"`
		Error   *struct {
			Code string `json:"code"`
		} `json:"error"`
	} `json:"details"`
	Detail struct {
		Tool  string          `json:"toolName"`
		Input json.RawMessage `json:"input"`
	} `json:"detail"`
	State struct {
		Status string `json:"status"`
		Output string `json:"outputText"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
	} `json:"state"`
}

func (r *vibeReader) entryLine(raw []byte) error {
	var e vibeEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	r.time = millis(e.Created)
	r.entry(&e)
	return nil
}

func (r *vibeReader) entry(e *vibeEntry) {
	switch {
	case e.Type == "checkpoint" && e.Kind == "compaction":
		if e.Status != "completed" {
			return
		}
		words := []string{"ok", fmt.Sprint(e.Details.Error == nil), "trigger", clip(e.Details.Trigger, 40)}
		if e.Details.Error != nil {
			words = append(words, "error", clip(e.Details.Error.Code, 60))
		}
		r.harnessSaid(EventCompaction, pairs(words...))
	case e.Type == "message" && e.Role == "user":
		r.prompted(contentText(e.Content))
	case e.Type == "message":
		r.modelSaid(contentText(e.Content))
	case e.Type == "effect":
		r.toolCalled(e.Detail.Tool, e.ID, string(e.Detail.Input))
		said := e.State.Output
		if e.State.Error != nil {
			said = e.State.Error.Message
		}
		r.time = millis(e.Updated)
		r.toolGave(e.Detail.Tool, e.ID, said, nil, seconds(e.Created, e.Updated))
		if e.State.Status == "failed" {
			r.toolEnded(e.Detail.Tool, e.ID, "failed=true")
		}
	case e.Type == "reasoning", e.Type == "checkpoint":
	default:
		r.unknownRecord(e.Type)
	}
}

var vibeRetry = regexp.MustCompile(`^(\S+) .*Retrying model completion \(attempt (\d{1,6}), delay ([0-9.]{1,12})s\): (.*)`)

// logLine keeps the retries, which stand nowhere else.
func (r *vibeReader) logLine(line string) {
	if m := vibeRetry.FindStringSubmatch(line); m != nil {
		r.time = wallTime(m[1])
		r.harnessSaid(EventRetry, pairs("try", m[2], "wait_s", m[3])+": "+m[4])
	}
}

// export says how it ended. Its tokens leave out answers that were thrown away, so they count only without a journal.
func (r *vibeReader) export(raw []byte, journal bool) error {
	var v struct {
		Outcome string `json:"outcome"`
		Stop    string `json:"stop_reason"`
		Error   *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
		Usage *vibeUsage `json:"usage"`
		Ended string     `json:"ended_at"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	r.time = wallTime(v.Ended)
	if v.Usage != nil && !journal {
		r.summed(v.Usage.tokens(), "")
	}
	if e := v.Error; e != nil && (e.Message != r.lastErr || r.lastErr == "") {
		r.failed(strings.Join(nonEmpty(clip(e.Code, 60), e.Message), ": "), nil, v.Outcome == "infrastructure_failure" || e.Code == "invalid_api_key")
	}
	r.harnessSaid(EventEnd, pairs("outcome", clip(v.Outcome, 60), "stop_reason", clip(v.Stop, 60)))
	return nil
}
