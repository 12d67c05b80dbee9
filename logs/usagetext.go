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
	usage := b.usage
	if usage == "" {
		usage = usageIn(b.raw)
	}
	switch {
	case usage == "":
		return words
	case words == "":
		return "usage=" + usage
	}
	return words + " usage=" + usage
}

// usageIn finds the usage in a record; "" if there is none.
func usageIn(raw []byte) string {
	for _, key := range usageKeys {
		if at := bytes.Index(raw, key); at >= 0 {
			if usage := objectBehind(raw[at+len(key):]); usage != nil {
				return string(usage)
			}
		}
	}
	return ""
}

// objectBehind is the JSON object behind a colon; nil if there is none or it is long.
func objectBehind(b []byte) []byte { return objectAt(bytes.TrimLeft(b, " \t\r\n")) }

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
