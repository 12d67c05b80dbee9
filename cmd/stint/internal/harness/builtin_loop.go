package harness

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
)

const (
	maxEmpty     = 3 // empty answers in a row that end the attempt
	maxCutStream = 2 // broken-off answers in a row that are asked for again
	maxCalls     = 32
	guardRepeats = 6 // equal cycles of (call, result) that end the attempt
	guardPeriod  = 3 // the longest cycle that is looked for
	diskPause    = 5 * time.Second
)

// builtinLoop is one attempt of the built-in agent.
type builtinLoop struct {
	agent   *builtin
	request Request
	client  *gateway.Client
	rec     *gateway.Recorder
	session session

	system    openai.ChatCompletionMessage
	reported  int // tokens of the conversation after the last answer, as the provider counted; 0 = unknown
	counted   int // messages that reported covers
	toolCalls int
	steps     []stepHash
	diskSeen  time.Time
	requestNo int
}

type stepHash [sha256.Size]byte

// open takes up the conversation, or starts one, and adds the prompt.
func (l *builtinLoop) open() error {
	r := l.request
	if err := usableFolder(r.Workspace); err != nil {
		return err
	}
	if err := usableFolder(r.Home); err != nil {
		return err
	}
	s, lost := loadSession(r.Home)
	if lost != "" {
		l.rec.Event("session_lost", map[string]string{"reason": lost})
	}
	if r.Session != SessionContinue && (r.Attempt == 0 || s.Turn != r.Turn) {
		s = session{}
	}
	s.Turn = r.Turn
	s.say(r.Prompt)
	l.session = s
	l.system = openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: systemPrompt(r.Sandbox.WorkspacePath(r.Workspace), l.agent.text)}
	l.diskSeen = time.Now()
	l.rec.Event("start", map[string]any{"turn": r.Turn, "attempt": r.Attempt, "try": r.Try, "attempt_kind": r.Kind, "session": r.Session, "continued_messages": len(s.Messages) - 1})
	return nil
}

// play goes on until something ends the attempt.
func (l *builtinLoop) play(ctx context.Context) ending {
	empty := 0
	for {
		if over := l.compactIfNeeded(ctx); over != nil {
			return *over
		}
		answer, err := l.ask(ctx)
		if err != nil {
			return endOfRequest(ctx, err, l.session.own())
		}
		m := answer.Message
		length := answer.FinishReason == openai.FinishReasonLength
		if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
			empty++
			l.rec.Event("empty_answer", map[string]any{"finish_reason": answer.FinishReason, "in_a_row": empty})
			if empty == maxEmpty {
				return l.endEmpty(length)
			}
			if length {
				l.session.say(nudgeLength)
			} else {
				l.session.say(nudgeEmpty)
			}
			continue
		}
		var done bool
		var end *ending
		if l.agent.text {
			done, end = l.playText(ctx, m, length)
		} else {
			done, end = l.playCalls(ctx, m, length)
		}
		if end != nil {
			return *end
		}
		switch {
		case done && length:
			l.rec.Event("length", map[string]any{"in_a_row": empty + 1})
			if empty++; empty == maxEmpty {
				return endCut("every answer was cut by the output limit")
			}
			l.session.say(nudgeLength)
			continue
		case done:
			return endClean(firstLine(m.Content))
		}
		empty = 0
	}
}

func (l *builtinLoop) endEmpty(length bool) ending {
	detail := fmt.Sprintf("%d empty answers in a row", maxEmpty)
	if length {
		return endCut(detail + ", cut by the output limit")
	}
	e := endCut(detail)
	if l.toolCalls == 0 {
		e = endClean(detail) // becomes "empty" unless something was edited
	}
	return e
}

// ask makes one model request. A context that overflows is condensed once, a broken-off answer asked for
// again: nothing of it was carried out.
func (l *builtinLoop) ask(ctx context.Context) (openai.ChatCompletionChoice, error) {
	var none openai.ChatCompletionChoice
	condensed, cut := false, 0
	for {
		l.progress(fmt.Sprintf("request %d", l.requestNo+1))
		l.requestNo++
		r := openai.ChatCompletionRequest{Messages: append([]openai.ChatCompletionMessage{l.system}, l.session.Messages...), Tools: l.agent.tools()}
		resp, err := l.client.CreateChatCompletion(ctx, r)
		var pe *gateway.ProviderError
		switch {
		case err == nil:
			l.reported, l.counted = resp.Usage.PromptTokens+resp.Usage.CompletionTokens, len(l.session.Messages)+1
			if len(resp.Choices) == 0 {
				return none, nil
			}
			return resp.Choices[0], nil
		case errors.As(err, &pe) && pe.Class == gateway.ClassContextLength && !condensed:
			condensed = true
			if cerr := l.compact(ctx, true); cerr != nil {
				if errors.Is(cerr, errNothingToCondense) {
					return none, err
				}
				return none, cerr
			}
		case errors.As(err, &pe) && pe.Class == gateway.ClassCutStream && cut < maxCutStream && ctx.Err() == nil:
			cut++
		default:
			return none, err
		}
	}
}

// playCalls carries out the tool calls of an answer. It reports done when there were none.
func (l *builtinLoop) playCalls(ctx context.Context, m openai.ChatCompletionMessage, length bool) (done bool, end *ending) {
	out := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: m.Content}
	calls := l.repairCalls(m.ToolCalls)
	for _, c := range calls {
		out.ToolCalls = append(out.ToolCalls, c.stored)
	}
	l.session.Messages = append(l.session.Messages, out)
	if len(calls) == 0 {
		return true, nil
	}
	var texts []string
	for _, c := range calls {
		text := "[not run: the attempt ended]"
		if end == nil {
			text, end = l.carryOut(ctx, c, length)
		}
		texts = append(texts, c.asked.Function.Name, c.asked.Function.Arguments, text)
		l.session.Messages = append(l.session.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: c.stored.ID, Content: text})
	}
	if end == nil {
		end = l.guard(texts)
	}
	return false, end
}

// repairedCall is a tool call as the model made it and as the conversation keeps it. Providers refuse a
// history with broken arguments, odd names or equal ids, so the kept one has none.
type repairedCall struct {
	asked, stored openai.ToolCall
	malformed     string // why the arguments are no JSON object; "" if they are
}

var oddName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

func (l *builtinLoop) repairCalls(calls []openai.ToolCall) []repairedCall {
	if len(calls) > maxCalls {
		l.rec.Event("too_many_calls", map[string]int{"calls": len(calls), "kept": maxCalls})
		calls = calls[:maxCalls]
	}
	seen := map[string]bool{}
	for _, m := range l.session.Messages {
		for _, c := range m.ToolCalls {
			seen[c.ID] = true
		}
	}
	var out []repairedCall
	for _, c := range calls {
		l.toolCalls++
		s := openai.ToolCall{ID: c.ID, Type: openai.ToolTypeFunction, Function: c.Function}
		if s.ID == "" || seen[s.ID] {
			if s.ID != "" {
				l.rec.Event("duplicate_id", map[string]string{"call_id": s.ID, "tool": c.Function.Name})
			}
			for n := l.toolCalls; s.ID == "" || seen[s.ID]; n++ {
				s.ID = fmt.Sprintf("call_%d_%d_%d", l.request.Turn, l.request.Attempt, n)
			}
		}
		seen[s.ID] = true
		s.Function.Name = oddName.ReplaceAllString(s.Function.Name, "_")
		if s.Function.Name == "" {
			s.Function.Name = "unnamed"
		}
		s.Function.Name = s.Function.Name[:min(64, len(s.Function.Name))]
		r := repairedCall{asked: c}
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.Function.Arguments), &object); err != nil {
			r.malformed = err.Error()
		} else if object == nil {
			r.malformed = "null is no object"
		}
		if r.malformed != "" {
			b, err := json.Marshal(map[string]string{"unparsable": c.Function.Arguments})
			if err != nil {
				b = []byte("{}")
			}
			s.Function.Arguments = string(b)
		}
		r.stored = s
		out = append(out, r)
	}
	return out
}

// carryOut runs one call and records it. Whatever is wrong with the call is a result that the model can read.
func (l *builtinLoop) carryOut(ctx context.Context, c repairedCall, length bool) (string, *ending) {
	name, id := c.asked.Function.Name, c.stored.ID
	l.rec.Event("tool_call", map[string]any{"tool": name, "call_id": id, "arguments": c.asked.Function.Arguments})
	if c.malformed != "" {
		l.rec.Event("malformed_call", map[string]any{"tool": name, "call_id": id, "reason": c.malformed, "cut_by_length": length})
		text := "Error: the arguments are no JSON object (" + c.malformed + "). The call was not run; make it again."
		if length {
			text += " " + nudgeLength
		}
		return text, nil
	}
	return l.runTool(ctx, name, id, json.RawMessage(c.asked.Function.Arguments))
}

// guard ends the attempt when the same calls give the same results again and again: in a cycle of one, two
// or three steps, six times over.
func (l *builtinLoop) guard(texts []string) *ending {
	var h stepHash
	sum := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(sum, "%d:%s", len(t), t)
	}
	sum.Sum(h[:0])
	l.steps = append(l.steps, h)
	for period := 1; period <= guardPeriod; period++ {
		n := period * guardRepeats
		if len(l.steps) < n {
			break
		}
		last := l.steps[len(l.steps)-n:]
		equal := true
		for i := period; i < n && equal; i++ {
			equal = last[i] == last[i-period]
		}
		if equal {
			l.rec.Event("loop_guard", map[string]int{"period": period, "repeats": guardRepeats})
			e := endCut(fmt.Sprintf("loop_guard: the last %d steps repeat the same %d with equal results", n, period))
			return &e
		}
	}
	return nil
}

func (l *builtinLoop) progress(text string) {
	if l.request.Progress != nil {
		l.request.Progress(text)
	}
}

// firstLine is a bounded first line for one-line fields.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
