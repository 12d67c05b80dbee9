package logs

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// modelSaid is text of the model.
func (b *eventBuilder) modelSaid(said string) {
	if strings.TrimSpace(said) != "" {
		b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventMessage, Text: said})
	}
}

// prompted is what was put before the model as a task.
func (b *eventBuilder) prompted(said string) {
	if strings.TrimSpace(said) == "" {
		return
	}
	if n := len(b.events); b.sink != nil && b.sink.promptTurns && n > 0 && b.events[n-1].Channel != ChannelPrompt {
		b.newTurn()
	}
	b.add(EventRow{Actor: "harness", Channel: ChannelPrompt, Kind: EventMessage, Text: said})
	if b.sink != nil && b.sink.prompt == "" {
		b.sink.prompt = preview(said)
	}
}

func (b *eventBuilder) toolCalled(tool, id, arguments string) {
	b.add(EventRow{Actor: "model", Channel: ChannelModel, Kind: EventToolCall, Tool: text(tool), CallID: text(id), Text: arguments})
}

func (b *eventBuilder) toolGave(tool, id, output string, exit *int, took *float64) {
	b.add(EventRow{Actor: "tool", Channel: ChannelTool, Kind: EventToolResult, Tool: text(tool), CallID: text(id), Text: output, ExitCode: exit, DurationS: took})
}

// toolEnded is what the harness says of a tool's end besides its output, for example failed=true.
func (b *eventBuilder) toolEnded(tool, id, how string) {
	b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventNotice, Tool: text(tool), CallID: text(id), Text: "tool_end: " + how})
}

// callRejected is a call that the harness did not run: bad_call or unknown_tool. The reason quotes what the model
// wrote, so it is left to the result.
func (b *eventBuilder) callRejected(tool, id, why string) {
	b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventRejectedCall, Tool: text(tool), CallID: text(id), Text: why})
}

// harnessSaid is an event whose words are the harness's own.
func (b *eventBuilder) harnessSaid(kind, words string) {
	b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: kind, Text: words})
}

// retried is a request that failed and is made again.
func (b *eventBuilder) retried(words string, status *int) {
	b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventRetry, Text: words, HTTPStatus: status})
}

// failed is an error that ended the work or a request; one with a status came from the provider.
func (b *eventBuilder) failed(words string, status *int, ofProvider bool) {
	row := EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventError, Text: words, HTTPStatus: status}
	if status != nil || ofProvider {
		row.Actor, row.Channel = "provider", ChannelProvider
	}
	b.add(row)
}

// answered is an answer of the model with its tokens; the returned index finds it in the events.
func (b *eventBuilder) answered(t Tokens, words string) int {
	b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventModelAnswer, Tokens: t, Text: b.withUsage(t, words)})
	return b.next() - 1
}

// summed are the tokens of all answers, of a program that does not say them for each.
func (b *eventBuilder) summed(t Tokens, words string) {
	b.add(EventRow{Actor: "harness", Channel: ChannelHarness, Kind: EventUsage, Tokens: t, Text: b.withUsage(t, words)})
}

// unknownRecord keeps that there was a record of a kind that the reader does not know.
func (b *eventBuilder) unknownRecord(kind string) {
	if b.sink != nil {
		b.sink.unknown(kind)
		return
	}
	b.add(EventRow{Actor: "agent", Channel: ChannelOther, Kind: EventNotice, Text: clip(kind, 100)})
}

// plainLines calls f for every line of a file that is no JSON object, with the place set.
func (b *eventBuilder) plainLines(p programFiles, name string, f func(line string)) {
	n := 0
	for _, line := range b.lines(p, name) {
		if t := bytes.TrimSpace(line); len(t) == 0 || t[0] == '{' || b.at.Length > int64(b.maxLine()) {
			continue
		}
		if n++; n > b.maxLines() {
			b.unreadable(n, "%s has more than %d plain lines; the rest is not read", name, b.maxLines())
			return
		}
		f(strings.ToValidUTF8(strings.TrimSpace(string(line)), "\uFFFD"))
	}
}

// contentText is the text of a content: a string, one part with a text, or a list of such parts.
func contentText(raw json.RawMessage) string {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '{' {
		raw = append(append([]byte{'['}, t...), ']')
	}
	return gatewayMessage{Content: raw}.said()
}

// unixTime is a time in seconds, nil for none.
func unixTime(s float64) *time.Time {
	if s <= 0 || s > 1e11 {
		return nil
	}
	return millis(int64(s * 1000))
}

// numberIn is the number that the first group of a pattern finds in a text, nil if there is none.
func numberIn(pattern *regexp.Regexp, text string) *int {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	return &n
}

// chatCall is a call of a tool in a message of the chat protocol.
type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// number is a count that may be missing, 0 for that.
func number[N int | int64](n *N) N {
	if n == nil {
		return 0
	}
	return *n
}
