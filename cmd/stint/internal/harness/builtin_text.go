package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// block is one fenced command in an answer.
type block struct {
	tool string
	path string // of write
	body string
	open bool // the closing fence is missing
}

// parseBlocks finds the fenced blocks that are commands. A fence closes with a line of at least as many
// backticks as it opened with; blocks of other languages are text, and what stands in them is no command.
func parseBlocks(text string) []block {
	var out []block
	var current *block
	var fence int
	var body strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, " \t\r\n")
		ticks := len(bare) - len(strings.TrimLeft(bare, "`"))
		if current != nil {
			if ticks >= fence && ticks == len(bare) {
				current.body = body.String()
				if current.tool != "" {
					out = append(out, *current)
				}
				current = nil
				continue
			}
			body.WriteString(line)
			continue
		}
		if ticks < 3 {
			continue
		}
		current, fence = &block{}, ticks
		body.Reset()
		info := strings.TrimSpace(bare[ticks:])
		word, rest, _ := strings.Cut(info, " ")
		switch strings.ToLower(word) {
		case "bash", "sh", "shell":
			current.tool = toolBash
		case "write":
			current.tool, current.path = toolWrite, strings.TrimSpace(rest)
		}
	}
	if current != nil && current.tool != "" {
		current.body, current.open = body.String(), true
		out = append(out, *current)
	}
	return out
}

// playText carries out the fenced blocks of an answer; their results are the next user message.
func (l *builtinLoop) playText(ctx context.Context, m openai.ChatCompletionMessage, length bool) (done bool, end *ending) {
	l.session.Messages = append(l.session.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: m.Content})
	blocks := parseBlocks(m.Content)
	if len(blocks) == 0 {
		return true, nil
	}
	if len(blocks) > maxCalls {
		l.rec.Event("too_many_calls", map[string]int{"calls": len(blocks), "kept": maxCalls})
		blocks = blocks[:maxCalls]
	}
	var results, texts []string
	for i, b := range blocks {
		l.toolCalls++
		text := "[not run: the attempt ended]"
		if end == nil {
			text, end = l.carryOutBlock(ctx, b, length)
		}
		texts = append(texts, b.tool, b.path, b.body, text)
		results = append(results, fmt.Sprintf("Result of block %d (%s):\n%s", i+1, strings.TrimSpace(b.tool+" "+b.path), text))
	}
	l.session.say(strings.Join(results, "\n\n"))
	if end == nil {
		end = l.guard(texts)
	}
	return false, end
}

func (l *builtinLoop) carryOutBlock(ctx context.Context, b block, length bool) (string, *ending) {
	id := fmt.Sprintf("block_%d", l.toolCalls)
	args := map[string]string{"command": b.body}
	if b.tool == toolWrite {
		args = map[string]string{"path": b.path, "content": b.body}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return "", &ending{err: fmt.Errorf("encoding a block: %w", err)}
	}
	l.rec.Event("tool_call", map[string]any{"tool": b.tool, "call_id": id, "arguments": string(raw)})
	if b.open {
		l.rec.Event("malformed_call", map[string]any{"tool": b.tool, "call_id": id, "reason": "the closing fence is missing", "cut_by_length": length})
		text := "Error: the block is not closed. It was not carried out; send it again."
		if length {
			text += " " + nudgeLength
		}
		return text, nil
	}
	return l.runTool(ctx, b.tool, id, raw)
}
