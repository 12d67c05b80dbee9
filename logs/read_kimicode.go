package logs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// readKimiCode reads the lines that the attempt appended to the wire file of Kimi Code's main agent, protocols 1.1 to
// 1.5, and to those of the agents that the model started, all of them one after the other in agents.jsonl; or, where the
// main agent's is missing, the messages on its output, which have no tokens. An error that came before the wire file
// was written stands on stderr alone.
func readKimiCode(b *eventBuilder, p programFiles) {
	r := newKimiReader(b)
	b.jsonLines(p, "wire.jsonl", r.codeLine)
	b.jsonLines(p, "agents.jsonl", func(raw []byte) error {
		var l struct {
			AgentID string `json:"agentId"`
		}
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		return r.subagent(l.AgentID).codeLine(raw)
	})
	b.time = nil
	if !p.has("wire.jsonl") {
		b.jsonLines(p, "stdout", r.chatLine)
	}
	if r.compacting != nil {
		r.harnessSaid(EventCompaction, pairs("ok", "false"))
	}
	b.plainLines(p, "stderr", func(line string) {
		if said, ok := strings.CutPrefix(line, "error: failed to run prompt: "); ok && r.lastErr == "" {
			r.codeError("", said)
		}
	})
}

type kimiUsage struct {
	Input      *int64 `json:"inputOther"` // what was read from a cache or written to one is not in it
	Output     *int64 `json:"output"`
	CacheRead  *int64 `json:"inputCacheRead"`
	CacheWrite *int64 `json:"inputCacheCreation"`
}

func (u *kimiUsage) tokens() Tokens {
	return Tokens{Input: u.Input, Cached: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
}

func (u *kimiUsage) equal(o *kimiUsage) bool {
	return number(u.Input) == number(o.Input) && number(u.Output) == number(o.Output) && number(u.CacheRead) == number(o.CacheRead) && number(u.CacheWrite) == number(o.CacheWrite)
}

type kimiRetry struct {
	Attempt int     `json:"failed_attempt"`
	DelayMS float64 `json:"delay_ms"`
	Name    string  `json:"error_name"`
	Message string  `json:"error_message"`
	Status  *int    `json:"status_code"`
	// The same in the wire file.
	Attempt2 int     `json:"failedAttempt"`
	DelayMS2 float64 `json:"delayMs"`
	Name2    string  `json:"errorName"`
	Message2 string  `json:"errorMessage"`
	Status2  *int    `json:"statusCode"`
}

type kimiCompaction struct {
	Before int64 `json:"tokensBefore"`
	After  int64 `json:"tokensAfter"`
}

type kimiCodeLine struct {
	Type    string          `json:"type"`
	Kind    string          `json:"kind"`
	Time    int64           `json:"time"`
	Message json.RawMessage `json:"message"` // a message, or a text
	Event   kimiLoopEvent   `json:"event"`
	Usage   *kimiUsage      `json:"usage"`
	Reason  string          `json:"reason"`
	Error   *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Cause   struct {
			Code string `json:"code"`
		} `json:"cause"`
	} `json:"error"`
	kimiCompaction
}

type kimiLoopEvent struct {
	Type string `json:"type"`
	Part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"part"`
	CallID string          `json:"toolCallId"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Result struct {
		Output  json.RawMessage `json:"output"`
		IsError bool            `json:"isError"`
		TookMS  *float64        `json:"durationMs"`
	} `json:"result"`
	Finish string     `json:"finishReason"`
	Usage  *kimiUsage `json:"usage"`
}

func (r *kimiReader) codeLine(raw []byte) error {
	var l kimiCodeLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	r.time = millis(l.Time)
	if l.Kind == "event" {
		return nil // the same records once more, for programs that listen
	}
	switch l.Type {
	case "context.append_loop_event":
		r.loopEvent(&l.Event)
	case "context.append_message":
		return r.codeMessage(l.Message)
	case "turn.prompt":
		r.unpaired, r.last, r.streak = nil, "", 0
	case "usage.record":
		if l.Usage != nil {
			r.used(l.Usage, false, "")
		}
	case "turn.step.retrying":
		var retry kimiRetry
		if err := json.Unmarshal(raw, &retry); err != nil {
			return err
		}
		r.retrying(&retry)
	case "full_compaction.begin":
		r.compacting = &kimiCompaction{}
	case "context.apply_compaction":
		r.compacting = nil
		words := []string{"ok", "true"}
		if l.Before > 0 {
			words = append(words, "tokens_before", fmt.Sprint(l.Before), "tokens_after", fmt.Sprint(l.After))
		}
		r.harnessSaid(EventCompaction, pairs(words...))
	case "full_compaction.cancel":
		r.compacting = nil
		r.harnessSaid(EventCompaction, pairs("ok", "false"))
	case "turn.ended":
		if e := l.Error; e != nil {
			r.codeError(strings.Join(nonEmpty(e.Code, e.Cause.Code), ": "), e.Message)
		}
		if !r.sub {
			r.harnessSaid(EventEnd, pairs("reason", clip(l.Reason, 60)))
		}
	case "turn.cancel", "prompt.aborted":
		r.harnessSaid(EventNotice, l.Type)
	default:
		if !kimiCodeBookkeeping(l.Type) {
			r.unknownRecord(l.Type)
		}
	}
	return nil
}

// kimiCodeBookkeeping are records that say nothing of the work, or nothing that other records do not.
func kimiCodeBookkeeping(kind string) bool {
	switch kind {
	case "metadata", "config.update", "profile.bind", "runtime.set_binding", "llm.tools_snapshot", "llm.request", "tools.set_active_tools", "plugin.session_start",
		"turn.step.interrupted", "prompt.completed", "full_compaction.complete", "plan_mode.enter", "plan_mode.exit":
		return true
	}
	return strings.HasPrefix(kind, "permission.") || strings.HasPrefix(kind, "subagent.") || strings.HasPrefix(kind, "token_counting.")
}

// codeMessage is a message that no step wrote: the prompt, or a reminder.
func (r *kimiReader) codeMessage(raw json.RawMessage) error {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Origin  struct {
			Kind string `json:"kind"`
		} `json:"origin"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	said := contentText(m.Content)
	switch {
	case m.Role == "assistant":
		r.modelSaid(said)
	case m.Role == "user" && !r.sub && (m.Origin.Kind == "" || m.Origin.Kind == "user") && !strings.HasPrefix(said, "<system-reminder>"):
		r.prompted(said)
	}
	return nil
}

func (r *kimiReader) loopEvent(e *kimiLoopEvent) {
	switch e.Type {
	case "step.begin":
	case "content.part":
		if e.Part.Type == "text" {
			r.modelSaid(e.Part.Text)
		}
	case "tool.call":
		r.called(e.Name, e.CallID, textOrJSON(e.Args))
	case "tool.result":
		said := contentText(e.Result.Output)
		at := r.next()
		r.gave(e.CallID, said, said, e.Result.IsError)
		if ms := e.Result.TookMS; ms != nil && r.eventAt(at).Kind == EventToolResult {
			s := *ms / 1000
			r.eventAt(at).DurationS = &s
		}
		r.breaker(said)
	case "step.end":
		words := pairs("finish_reason", clip(e.Finish, 40))
		if e.Usage != nil {
			r.used(e.Usage, true, words)
		} else if e.Finish != "error" {
			r.answered(Tokens{}, words)
		}
	default:
		r.unknownRecord(e.Type)
	}
}

// used counts an answer, which the step's end and a record of its own tell in either order.
func (r *kimiReader) used(u *kimiUsage, step bool, words string) {
	if len(r.unpaired) > 0 && r.byStep != step && r.unpaired[0].equal(u) {
		r.unpaired = r.unpaired[1:]
		return
	}
	if r.byStep != step || len(r.unpaired) > 100 {
		r.unpaired, r.byStep = nil, step
	}
	r.unpaired = append(r.unpaired, *u)
	r.answered(u.tokens(), words)
}

// breaker notices the result that stands for the last of endless identical calls.
func (r *kimiReader) breaker(said string) {
	if r.streak >= kimiRepeats && strings.Contains(said, "ended by the repeat breaker") {
		r.harnessSaid(EventLoopGuard, pairs("period", "1", "repeats", fmt.Sprint(r.streak)))
	}
}

func (r *kimiReader) retrying(e *kimiRetry) {
	name, message := e.Name, e.Message
	if name == "" {
		name, message = e.Name2, e.Message2
	}
	words := pairs("try", fmt.Sprint(max(e.Attempt, e.Attempt2)), "wait_s", fmt.Sprint(max(e.DelayMS, e.DelayMS2)/1000), "error", clip(name, 60))
	r.retried(strings.Join(nonEmpty(words, message), ": "), cmp.Or(e.Status, e.Status2))
}

var kimiStatus = regexp.MustCompile(`^(?:[A-Za-z0-9_.]+: ){0,2}(\d{3}) `)

// codeError ends the turn. Its message begins with the provider's status where there is one.
func (r *kimiReader) codeError(code, message string) {
	status := numberIn(kimiStatus, message)
	if status != nil && (*status < 400 || *status >= 600) {
		status = nil
	}
	r.lastErr = message
	r.failed(strings.Join(nonEmpty(code, message), ": "), status, strings.HasPrefix(code, "provider.") || strings.HasPrefix(message, "provider."))
}
