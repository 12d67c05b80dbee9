package logs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// claudeRecord is a line of Claude Code's logs, decoded.
type claudeRecord struct {
	claudeLine
	parts []claudePart // of the message
	bad   error        // what is wrong with them
	usage string       // as the line has it; "" = nobody looked for it
	keys  keyNews
}

func (r *claudeRecord) keyNews() keyNews {
	if r == nil { // the line could not be decoded
		return keyNews{}
	}
	return r.keys
}

// claudeDecoder decodes lines of Claude Code's logs. Of texts it needs at least so many bytes, 0 = all. What almost all
// lines are, messages, is skimmed; whatever the skimmer is not sure about goes to encoding/json, so that both read the
// same.
func claudeDecoder(need int) newDecoder {
	return func() lineDecoder {
		s := &claudeSkimmer{need: need}
		return func(raw []byte, isUTF8 bool) (any, error) {
			if rec := s.record(raw, isUTF8); rec != nil {
				return rec, nil
			}
			return decodeClaude(raw)
		}
	}
}

func decodeClaude(raw []byte) (*claudeRecord, error) {
	r := &claudeRecord{}
	if err := json.Unmarshal(raw, &r.claudeLine); err != nil {
		return nil, err
	}
	if r.Type != "assistant" && r.Type != "user" {
		return r, nil
	}
	if c := bytes.TrimSpace(r.Message.Content); len(c) > 0 && c[0] == '[' {
		r.bad = json.Unmarshal(c, &r.parts)
	} else if said := textOrJSON(c); said != "" {
		r.parts = []claudePart{{Type: "text", Text: said}}
	}
	for i := range r.parts {
		p := &r.parts[i]
		p.given, p.said = string(p.Input), contentText(p.Content)
		p.Input, p.Content = nil, nil
	}
	r.Message.Content = nil // lies in the line, which is used again
	return r, nil
}

// claudeKeys are all keys of claudeLine, of its message, parts and usage. encoding/json takes them in any case; the
// skimmer only as they are, and leaves lines with others of the same letters alone.
var claudeKeys = struct{ line, message, part, usage, details []string }{
	[]string{"type", "subtype", "timestamp", "isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage", "apiErrorStatus", "parent_tool_use_id", "message",
		"error", "compactMetadata", "compact_metadata", "retryAttempt", "retryInMs", "attempt", "retry_delay_ms", "error_status", "is_error", "result", "terminal_reason", "errors"},
	[]string{"id", "model", "content", "stop_reason", "usage"},
	[]string{"type", "text", "id", "name", "input", "tool_use_id", "content", "is_error"},
	[]string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens_details"},
	[]string{"thinking_tokens"},
}

// claudeSkimmer reads one line. sure turns false at anything that is better left to encoding/json.
type claudeSkimmer struct {
	skimmer
	need int
	sure bool

	// Room for what comes of the lines of a block, so that each takes none of its own.
	records []claudeRecord
	parts   []claudePart
	texts   []byte
}

// skimClaude reads one line.
func skimClaude(raw []byte, need int, isUTF8 bool) *claudeRecord {
	return (&claudeSkimmer{need: need}).record(raw, isUTF8)
}

// record reads a message of Claude Code; nil if the line is something else.
func (s *claudeSkimmer) record(raw []byte, isUTF8 bool) *claudeRecord {
	s.skimmer = skimmer{b: raw, valid: isUTF8, name: s.name, keys: s.keys.again()}
	s.sure = true
	if len(s.records) == cap(s.records) {
		s.records = make([]claudeRecord, 0, recordRoom)
	}
	s.records = append(s.records, claudeRecord{})
	r := &s.records[len(s.records)-1]
	s.object(claudeKeys.line, func(key string) {
		switch key {
		case "type":
			switch t := s.text(); {
			case t.is("assistant"):
				r.Type = "assistant"
			case t.is("user"):
				r.Type = "user"
			default:
				s.sure = false
			}
		case "timestamp":
			r.Timestamp = s.short()
		case "isSidechain":
			r.Sidechain = s.truth()
		case "isMeta":
			r.Meta = s.truth()
		case "isCompactSummary":
			r.Summary = s.truth()
		case "parent_tool_use_id":
			r.Parent = s.short()
		case "message":
			s.message(r)
		default:
			s.sure = false
			s.skip()
		}
	})
	if !s.sure || s.odd || !s.end() || r.Type == "" || r.Message.Model == "<synthetic>" {
		return nil
	}
	r.keys = keyNews{known: true, twice: s.keys.twice}
	if s.usageAt > 0 && r.Message.Usage != nil {
		r.usage = s.keep(objectBehind(raw[s.usageAt:]))
	}
	return r
}

// object walks through an object and reads the values of known keys with value, each once.
func (s *claudeSkimmer) object(known []string, value func(key string)) {
	if !s.enter('{') {
		return
	}
	var seen uint32
	for s.more('}') {
		key := s.key()
		i := slices.IndexFunc(known, func(k string) bool { return k == string(key) })
		if i < 0 {
			s.sure = s.sure && !likeAny(key, known)
			s.skip()
			continue
		}
		if seen&(1<<i) != 0 || !s.sure {
			s.sure = false
			s.fault() // no need to read on
			return
		}
		seen |= 1 << i
		value(known[i])
	}
}

// likeAny says whether encoding/json may take the key for one of these.
func likeAny(key []byte, known []string) bool {
	for _, k := range known {
		if len(k) == len(key) && (k[0]^key[0])&^0x20 == 0 && bytes.EqualFold(key, []byte(k)) {
			return true
		}
	}
	for _, c := range key {
		if c >= utf8.RuneSelf {
			return true // letters that fold to ASCII exist
		}
	}
	return false
}

func (s *claudeSkimmer) message(r *claudeRecord) {
	s.object(claudeKeys.message, func(key string) {
		switch key {
		case "id":
			r.Message.ID = s.short()
		case "model":
			r.Message.Model = s.short()
		case "stop_reason":
			r.Message.StopReason = s.short()
		case "usage":
			if s.peek() != 'n' {
				r.Message.Usage = &claudeUsage{}
				s.usage(r.Message.Usage)
				return
			}
			s.skip()
		case "content":
			s.content(r)
		}
	})
}

func (s *claudeSkimmer) usage(u *claudeUsage) {
	s.object(claudeKeys.usage, func(key string) {
		switch key {
		case "input_tokens":
			u.Input = s.integer()
		case "output_tokens":
			u.Output = s.integer()
		case "cache_read_input_tokens":
			u.CacheRead = s.integer()
		case "cache_creation_input_tokens":
			u.CacheWrite = s.integer()
		case "output_tokens_details":
			s.object(claudeKeys.details, func(string) { u.Details.Thinking = s.integer() })
		}
	})
}

func (s *claudeSkimmer) content(r *claudeRecord) {
	if s.peek() != '[' {
		if said := s.words(s.text()); said != "" {
			r.parts = []claudePart{{Type: "text", Text: said}}
		}
		return
	}
	s.enter('[')
	from := len(s.parts)
	for s.more(']') {
		if len(s.parts) == cap(s.parts) {
			mine := s.parts[from:]
			s.parts, from = append(make([]claudePart, 0, max(recordRoom, 2*len(mine))), mine...), 0
		}
		s.parts = append(s.parts, claudePart{})
		s.part(&s.parts[len(s.parts)-1])
	}
	r.parts = s.parts[from:len(s.parts):len(s.parts)]
}

func (s *claudeSkimmer) part(p *claudePart) {
	s.object(claudeKeys.part, func(key string) {
		switch key {
		case "type":
			p.Type = s.short()
		case "text":
			p.Text = s.words(s.text())
		case "id":
			p.ID = s.short()
		case "name":
			p.Name = s.short()
		case "tool_use_id":
			p.ToolUseID = s.short()
		case "is_error":
			p.IsError = s.truth()
		case "input":
			p.given = s.source(s.raw())
		case "content":
			p.said = s.result()
		}
	})
}

// result is what contentText makes of the content of a tool's result.
func (s *claudeSkimmer) result() string {
	if s.peek() != '[' {
		return s.words(s.text())
	}
	var texts []string
	s.enter('[')
	for s.more(']') {
		var text string
		s.object(claudeKeys.part[1:2], func(string) { text = s.words(s.text()) })
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}

// words decodes as much of a text as is needed. What begins with nothing but space is decoded in full, since a text of
// nothing else is none.
func (s *claudeSkimmer) words(t skimText) string {
	if s.need == 0 || len(t.raw) <= s.need {
		return t.String()
	}
	head := t.head(s.need)
	if len(bytes.TrimSpace(head)) == 0 {
		return t.String()
	}
	return unsafe.String(unsafe.SliceData(head), len(head)) // nobody else has it
}

const (
	recordRoom = 64
	textRoom   = 16 << 10
	// keptTogether is how long a text may be that shares room with others, none of which is let go of before all are.
	keptTogether = 256
)

// keep makes a copy of a short text among the others.
func (s *claudeSkimmer) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > keptTogether {
		return string(b)
	}
	if len(s.texts)+len(b) > cap(s.texts) {
		s.texts = make([]byte, 0, textRoom)
	}
	from := len(s.texts)
	s.texts = append(s.texts, b...)
	return unsafe.String(&s.texts[from], len(b))
}

// short reads a string that is short mostly.
func (s *claudeSkimmer) short() string {
	t := s.text()
	if t.plain && t.valid {
		return s.keep(t.raw)
	}
	return t.String()
}

// source is JSON as it stands, as much of it as is needed.
func (s *claudeSkimmer) source(raw []byte) string {
	if !s.valid && !utf8.Valid(raw) {
		s.sure = false
		return ""
	}
	if s.need > 0 && len(raw) > s.need {
		n := s.need
		for !utf8.RuneStart(raw[n]) {
			n++
		}
		raw = raw[:n]
	}
	return string(raw)
}
