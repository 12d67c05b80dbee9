package logs

import (
	"bytes"
	"strings"
)

// usageKeys are the names under which programs write what an answer took. An inner quote is escaped within a text, so
// that they are found nowhere else.
var usageKeys = [][]byte{[]byte(`"usage":`), []byte(`"usageMetadata":`), []byte(`"token_usage":`), []byte(`"total_token_usage":`), []byte(`"tokens":`), []byte(`"stats":`)}

// maxUsageText bounds the raw usage in an event.
const maxUsageText = 600

// maxCounts bounds the text of an event that stands for an answer and its usage.
const maxCounts = 1024

// withUsage adds to the words about an answer its usage as the log has it, beside the tokens that were brought to one
// meaning. A runner's reader does that itself.
func (b *eventBuilder) withUsage(t Tokens, words string) string {
	if b.sink == nil || !b.sink.promptTurns || t == (Tokens{}) || strings.Contains(words, "usage={") {
		return words
	}
	for _, key := range usageKeys {
		if at := bytes.Index(b.raw, key); at >= 0 {
			if raw := objectAt(bytes.TrimLeft(b.raw[at+len(key):], " \t\r\n")); raw != nil {
				return strings.Join(nonEmpty(words, "usage="+string(raw)), " ")
			}
		}
	}
	return words
}

// objectAt is the JSON object at the beginning of b; nil if there is none or it is long.
func objectAt(b []byte) []byte {
	depth, quoted := 0, false
	for i := 0; i < min(len(b), maxUsageText); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return b[:i+1]
			}
		}
		if depth == 0 {
			return nil
		}
	}
	return nil
}
