package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
)

const (
	// bytesPerToken is the usual estimate for text and code.
	bytesPerToken = 4
	// Of the window: where condensing begins, what the last exchanges may keep, what a summary may be, and what
	// of the old conversation the model reads to write it.
	compactAt       = 0.75
	compactTail     = 0.20
	compactSummary  = 0.15
	compactReads    = 0.55
	overheadPerItem = 8 // tokens of a message besides its text
)

// errNothingToCondense says that the conversation is already as short as it can be.
var errNothingToCondense = errors.New("there is nothing to condense")

const condensePrompt = `The following is the record of your own work so far on a program, oldest first. It no longer fits. Write a summary from which you can go on without it: what was asked, what the program's files are and what each does, what was changed and why, what was tried with which result, and what is still to do. Keep names, paths, commands and numbers exact. Plain text, no code blocks, at most %d words.

%s`

// estimate is the number of tokens of messages.
func estimate(messages ...openai.ChatCompletionMessage) int {
	n := 0
	for _, m := range messages {
		n += overheadPerItem + (len(m.Content)+bytesPerToken-1)/bytesPerToken
		for _, c := range m.ToolCalls {
			n += overheadPerItem + (len(c.Function.Name)+len(c.Function.Arguments))/bytesPerToken
		}
	}
	return n
}

// tokens is the size of the next request: what the provider counted last, and an estimate of the rest.
func (l *builtinLoop) tokens() int {
	if l.reported > 0 && l.counted <= len(l.session.Messages) {
		return l.reported + estimate(l.session.Messages[l.counted:]...)
	}
	n := estimate(l.system) + estimate(l.session.Messages...)
	for _, t := range l.agent.tools() {
		n += (len(t.Function.Description) + 300) / bytesPerToken
	}
	return n
}

// window is the model's, or for a window nobody knows what the conversation takes now.
func (l *builtinLoop) window() int {
	if w := l.agent.opt.Model.Context; w > 0 {
		return w
	}
	return max(4096, l.tokens())
}

// compactIfNeeded condenses a conversation that fills most of the window, or leaves no room for an answer.
func (l *builtinLoop) compactIfNeeded(ctx context.Context) *ending {
	w := l.agent.opt.Model.Context
	if w <= 0 {
		return nil
	}
	n := l.tokens()
	if float64(n) <= compactAt*float64(w) && (n+l.agent.opt.Model.MaxOutput <= w || l.agent.opt.Model.MaxOutput >= w/2) {
		return nil
	}
	err := l.compact(ctx, false)
	if err == nil || errors.Is(err, errNothingToCondense) {
		return nil // if it is still too long, the provider says so
	}
	e := endOfRequest(ctx, err, true)
	return &e
}

// compact replaces all but the last exchanges by a summary that the model writes. Calls and results stay
// paired, since only whole exchanges are kept. If the model gives no summary, the old part is dropped with a
// note, so that the attempt can go on. Its error is that of the request, or errNothingToCondense.
func (l *builtinLoop) compact(ctx context.Context, forced bool) error {
	before, beforeTokens := len(l.session.Messages), l.tokens()
	window := l.window()
	keep := int(compactTail * float64(window))
	if forced {
		keep = min(keep, estimate(l.session.Messages...)/3) // the estimate, or the window, was wrong
	}
	at := tailStart(l.session.Messages, keep)
	head, tail := l.session.Messages[:at], l.session.Messages[at:]
	if len(head) == 0 || len(head) == 1 && head[0].Role == openai.ChatMessageRoleUser {
		l.rec.Event("compaction", map[string]any{"ok": false, "forced": forced, "reason": errNothingToCondense.Error(), "messages_before": before, "tokens_before": beforeTokens})
		return errNothingToCondense
	}
	summary, reason, err := l.summarise(ctx, head, window)
	if err != nil {
		l.rec.Event("compaction", map[string]any{"ok": false, "forced": forced, "reason": err.Error(), "messages_before": before, "tokens_before": beforeTokens})
		return err
	}
	next := session{Turn: l.session.Turn}
	if reason == "" {
		next.say("The earlier part of our conversation was condensed. Your summary of it:\n\n" + summary)
	} else {
		next.say("The earlier part of our conversation is lost. Look at the files to see what was done.")
	}
	if !holdsPrompt(tail, l.request.Prompt) {
		next.say("The request you are working on:\n\n" + shorten(l.request.Prompt, int(compactReads*float64(window))*bytesPerToken))
	}
	for _, m := range tail {
		if m.Role == openai.ChatMessageRoleUser {
			next.say(m.Content)
			continue
		}
		next.Messages = append(next.Messages, m)
	}
	l.session, l.reported = next, 0
	l.rec.Event("compaction", map[string]any{"ok": reason == "", "reason": reason, "forced": forced, "messages_before": before, "tokens_before": beforeTokens,
		"messages_after": len(next.Messages), "tokens_after": l.tokens(), "summary": summary})
	return nil
}

// tailStart is the index of the first message to keep: as many whole exchanges from the end as fit into
// tokens. An exchange is a user message, or an assistant message with its results.
func tailStart(messages []openai.ChatCompletionMessage, tokens int) int {
	at := len(messages)
	for at > 0 {
		i := at - 1
		for i > 0 && messages[i].Role == openai.ChatMessageRoleTool {
			i--
		}
		tokens -= estimate(messages[i:at]...)
		if tokens < 0 {
			break
		}
		at = i
	}
	return at
}

func holdsPrompt(messages []openai.ChatCompletionMessage, prompt string) bool {
	for _, m := range messages {
		if m.Role == openai.ChatMessageRoleUser && strings.Contains(m.Content, prompt) {
			return true
		}
	}
	return false
}

// summarise asks the model, without tools. Reason says why there is no summary; an error ends the attempt.
func (l *builtinLoop) summarise(ctx context.Context, head []openai.ChatCompletionMessage, window int) (summary, reason string, err error) {
	l.progress("condensing the conversation")
	limit := int(compactSummary * float64(window))
	text := shorten(transcript(head, l.agent.opt.MaxOutput/4), int(compactReads*float64(window))*bytesPerToken)
	resp, err := l.client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Messages: []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleUser, Content: fmt.Sprintf(condensePrompt, max(50, limit/2), text)},
	}})
	var pe *gateway.ProviderError
	switch {
	case errors.As(err, &pe) && (pe.Class == gateway.ClassContextLength || pe.Class == gateway.ClassBadRequest):
		return "", "the model refuses the request for a summary: " + pe.Message, nil
	case err != nil:
		return "", "", err
	case len(resp.Choices) == 0 || strings.TrimSpace(resp.Choices[0].Message.Content) == "":
		return "", "the summary is empty", nil
	}
	return shorten(strings.TrimSpace(resp.Choices[0].Message.Content), limit*bytesPerToken), "", nil
}

// transcript writes messages as text, each at most most bytes.
func transcript(messages []openai.ChatCompletionMessage, most int) string {
	var b strings.Builder
	for _, m := range messages {
		if m.Content != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n\n", m.Role, shorten(m.Content, most))
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "[call of %s]\n%s\n\n", c.Function.Name, shorten(c.Function.Arguments, most))
		}
	}
	return b.String()
}

// shorten cuts the middle out of a text and says so.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	half := max(0, most/2)
	return strings.ToValidUTF8(s[:half], "") + fmt.Sprintf("\n[... %d bytes left out ...]\n", len(s)-2*half) + strings.ToValidUTF8(s[len(s)-half:], "")
}
