package logs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// readOpenHands reads the events of the OpenHands CLI, from their files if those were kept (names that end in
// event-NNNNN-ID.json, or events.jsonl with one a line), else from its output. Tokens and the way it ended stand in
// base_state.json alone, which goes on growing over the turns: of the answers listed there only those count that
// belong to the attempt's events.
func readOpenHands(b *eventBuilder, p programFiles) {
	r := openHandsReader{eventBuilder: b, answers: map[string]int{}, tools: map[string]string{}}
	if b.sink != nil {
		r.usage = openHandsUsages(p.get("base_state.json").Data)
	}
	names := p.named(func(_, base string) bool {
		return strings.HasPrefix(base, "event-") && strings.HasSuffix(base, ".json")
	})
	for _, name := range names {
		b.document(p, name, r.event)
	}
	switch {
	case len(names) > 0:
	case p.has("events.jsonl"):
		b.jsonLines(p, "events.jsonl", r.event)
	default:
		r.output(p)
	}
	b.time = nil
	if p.has("base_state.json") {
		b.document(p, "base_state.json", r.state)
	}
}

// openHandsReader reads the events of one attempt.
type openHandsReader struct {
	*eventBuilder
	answers map[string]int            // the events of answers, by the model's response
	usage   map[string]openHandsUsage // by the model's response, of a log whose first events may have left when its end is read
	tools   map[string]string         // by call
}

// output reads the events among the words that the program prints. A tool's output is never printed outside of them.
func (r *openHandsReader) output(p programFiles) {
	for n, line := range r.lines(p, "stdout") {
		switch {
		case n > r.maxLines():
			r.unreadable(n, "stdout has more than %d lines; the rest is not read", r.maxLines())
			return
		case !bytes.HasPrefix(line, []byte("{")):
		case r.at.Length > int64(r.maxLine()):
			r.unreadable(n, "the line of stdout is longer than %d bytes", r.maxLine())
		default:
			r.read(line)
			if err := r.event(line); err != nil {
				r.unreadable(n, "the line of stdout is no event: %s", clip(err.Error(), 200))
			}
		}
	}
}

type openHandsEvent struct {
	Kind      string `json:"kind"`
	Timestamp string `json:"timestamp"`
	Source    string `json:"source"`
	Message   struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"llm_message"`
	ResponseID string          `json:"llm_response_id"`
	Thought    json.RawMessage `json:"thought"`
	Tool       string          `json:"tool_name"`
	CallID     string          `json:"tool_call_id"`
	Call       struct {
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_call"`
	Action struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"action"`
	Observation struct {
		Content  json.RawMessage `json:"content"`
		IsError  bool            `json:"is_error"`
		ExitCode *int            `json:"exit_code"`
		Timeout  bool            `json:"timeout"`
	} `json:"observation"`
	Error  string `json:"error"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Key    string `json:"key"`
}

// openHandsNudge begins the message that the program itself writes, as the user, after an empty answer.
const openHandsNudge = "Your last response did not include a function call or a message."

func (r *openHandsReader) event(raw []byte) error {
	var e openHandsEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	r.time = openHandsTime(e.Timestamp)
	switch e.Kind {
	case "MessageEvent":
		said := contentText(e.Message.Content)
		switch {
		case e.Source == "agent":
			r.answer(e.ResponseID)
			r.modelSaid(said)
		case e.Source == "user" && strings.HasPrefix(said, openHandsNudge):
			r.harnessSaid(EventNotice, "empty_answer")
		case e.Source == "user":
			r.prompted(said)
		default:
			r.harnessSaid(EventNotice, "the program writes to the model")
		}
	case "ActionEvent":
		r.answer(e.ResponseID)
		r.modelSaid(contentText(e.Thought))
		r.tools[e.CallID] = e.Tool
		r.toolCalled(e.Tool, e.CallID, textOrJSON(e.Call.Arguments))
	case "ObservationEvent":
		r.observed(&e)
	case "AgentErrorEvent":
		r.agentError(&e)
	case "UserRejectObservation":
		r.toolEnded(cmp.Or(e.Tool, r.tools[e.CallID]), e.CallID, "failed=true rejected=true")
	case "Condensation":
		r.answer(e.ResponseID)
		r.harnessSaid(EventCompaction, pairs("ok", "true"))
	case "CondensationRequest":
		r.harnessSaid(EventNotice, "compaction begins")
	case "ConversationErrorEvent":
		r.fatal(&e)
	case "SystemPromptEvent", "CondensationSummaryEvent", "ConversationStateUpdateEvent", "LLMCompletionLogEvent", "TokenEvent", "HookExecutionEvent", "PauseEvent":
	default:
		r.unknownRecord(e.Kind)
	}
	return nil
}

// answer stands for a response of the model, once for all its calls; the tokens come from the state.
func (r *openHandsReader) answer(id string) {
	if _, known := r.answers[id]; id == "" || known {
		return
	}
	u := r.usage[id]
	r.answers[id] = r.answered(u.tokens(), u.counts())
}

func (r *openHandsReader) observed(e *openHandsEvent) {
	o := &e.Observation
	exit := o.ExitCode
	if exit != nil && *exit < 0 {
		exit = nil // -1: not known, for the shell was reset or the command goes on
	}
	r.toolGave(e.Tool, e.CallID, contentText(o.Content), exit, nil)
	switch {
	case o.Timeout:
		r.toolEnded(e.Tool, e.CallID, "by=limit limit=time")
	case o.IsError && exit == nil:
		r.toolEnded(e.Tool, e.CallID, "failed=true")
	}
}

func (r *openHandsReader) agentError(e *openHandsEvent) {
	tool := cmp.Or(e.Tool, r.tools[e.CallID])
	switch {
	case strings.HasPrefix(e.Error, "Error validating tool"):
		r.callRejected(tool, e.CallID, "bad_call")
	case strings.HasPrefix(e.Error, "Tool '"+tool+"' not found"):
		r.callRejected(tool, e.CallID, "unknown_tool")
	default:
		r.toolGave(tool, e.CallID, e.Error, nil, nil)
		r.toolEnded(tool, e.CallID, "failed=true")
	}
}

// fatal is the error that ended the work. What came from the provider has a name of its own.
func (r *openHandsReader) fatal(e *openHandsEvent) {
	provider := strings.HasPrefix(e.Code, "LLM") || strings.HasSuffix(e.Code, "AuthenticationError") || e.Code == "NoCondensationAvailableException"
	r.failed(strings.Join(nonEmpty(clip(e.Code, 100), e.Detail), ": "), nil, provider)
}

type openHandsState struct {
	Status string `json:"execution_status"`
	Max    int    `json:"max_iterations"`
	Stats  struct {
		Usage map[string]struct {
			Answers []openHandsUsage `json:"token_usages"`
		} `json:"usage_to_metrics"`
	} `json:"stats"`
}

type openHandsUsage struct {
	ResponseID string `json:"response_id"`
	Prompt     *int64 `json:"prompt_tokens"` // what was read from a cache or written to one is in it
	Completion *int64 `json:"completion_tokens"`
	CacheRead  *int64 `json:"cache_read_tokens"`
	CacheWrite *int64 `json:"cache_write_tokens"`
	Reasoning  *int64 `json:"reasoning_tokens"`
	raw        string // as it stands
}

func (u *openHandsUsage) UnmarshalJSON(raw []byte) error {
	type plain openHandsUsage
	if err := json.Unmarshal(raw, (*plain)(u)); err != nil {
		return err
	}
	if len(raw) <= maxUsageText {
		u.raw = string(raw)
	}
	return nil
}

// counts are the counts as the log has them, for the text of an event.
func (u *openHandsUsage) counts() string {
	if u.raw == "" {
		return ""
	}
	return "usage=" + u.raw
}

func (u *openHandsUsage) tokens() Tokens {
	return Tokens{Input: without(u.Prompt, u.CacheRead, u.CacheWrite), Cached: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Completion, Reasoning: u.Reasoning}
}

// openHandsUsages reads what each answer took from the state alone; what is wrong with it is told when it is read.
func openHandsUsages(state []byte) map[string]openHandsUsage {
	var s openHandsState
	_ = json.Unmarshal(state, &s)
	usage := map[string]openHandsUsage{}
	for _, of := range s.Stats.Usage {
		for _, u := range of.Answers {
			if u.ResponseID != "" {
				usage[u.ResponseID] = u
			}
		}
	}
	return usage
}

// state joins the tokens to the answers, and says how it ended.
func (r *openHandsReader) state(raw []byte) error {
	var s openHandsState
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Stats.Usage)) {
		ours := false // an answer without an event, an empty one, belongs to the attempt if it came after one of its events
		for _, u := range s.Stats.Usage[name].Answers {
			t := u.tokens()
			switch at, known := r.answers[u.ResponseID]; {
			case known:
				r.eventAt(at).Tokens, ours = t, true
			case ours:
				words := "no event came of it"
				if r.usage != nil {
					words = strings.Join(nonEmpty(words, u.counts()), " ")
				}
				r.answered(t, words)
			}
		}
	}
	switch s.Status {
	case "":
		return fmt.Errorf("it has no execution_status")
	case "stuck":
		r.harnessSaid(EventLoopGuard, "status=stuck")
	}
	r.harnessSaid(EventEnd, pairs("status", clip(s.Status, 60)))
	return nil
}

// openHandsTime reads a time without a zone, that of the machine, as UTC: the sandbox has no other.
func openHandsTime(s string) *time.Time {
	if t := wallTime(s); t != nil {
		return t
	}
	return wallTime(s + "Z")
}
