package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// errNoObject says that a body is not one JSON object.
var errNoObject = errors.New("the body is no JSON object")

// maxMembers bounds the members of a request; real ones have about a dozen.
const maxMembers = 200

// object is a JSON object cut into its members, whose values stay the bytes they were: a request of a
// megabyte is not decoded to change its model.
type object struct{ members []member }

type member struct {
	key   string
	value json.RawMessage
}

// cutObject cuts a body into members. It finds what is no object and where the brackets do not match, but
// does not look into the values: whoever decodes them sees what is wrong there. Of equal keys the last counts,
// as with most decoders.
func cutObject(body []byte) (*object, error) {
	i := skipSpace(body, 0)
	if i >= len(body) || body[i] != '{' {
		return nil, errNoObject
	}
	o := &object{}
	for i = skipSpace(body, i+1); i < len(body) && body[i] != '}'; {
		end := skipValue(body, i)
		if body[i] != '"' || end < 0 || len(o.members) == maxMembers {
			return nil, errNoObject
		}
		var key string
		if json.Unmarshal(body[i:end], &key) != nil {
			return nil, errNoObject
		}
		if i = skipSpace(body, end); i >= len(body) || body[i] != ':' {
			return nil, errNoObject
		}
		i = skipSpace(body, i+1)
		if end = skipValue(body, i); end < 0 {
			return nil, errNoObject
		}
		o.delete(key)
		o.members = append(o.members, member{key, body[i:end:end]})
		if i = skipSpace(body, end); i < len(body) && body[i] == ',' {
			if i = skipSpace(body, i+1); i < len(body) && body[i] == '}' {
				return nil, errNoObject
			}
		} else if i >= len(body) || body[i] != '}' {
			return nil, errNoObject
		}
	}
	if i >= len(body) || skipSpace(body, i+1) != len(body) {
		return nil, errNoObject
	}
	return o, nil
}

// maxElements bounds the messages of a conversation.
const maxElements = 20_000

// cutArray cuts a JSON array into its elements; nil, false for anything else, and for an array without end.
func cutArray(body []byte) ([]json.RawMessage, bool) {
	i := skipSpace(body, 0)
	if i >= len(body) || body[i] != '[' {
		return nil, false
	}
	out := []json.RawMessage{}
	for i = skipSpace(body, i+1); i < len(body) && body[i] != ']'; {
		end := skipValue(body, i)
		if end < 0 || len(out) == maxElements {
			return nil, false
		}
		out = append(out, body[i:end:end])
		if i = skipSpace(body, end); i < len(body) && body[i] == ',' {
			i = skipSpace(body, i+1)
		} else if i >= len(body) || body[i] != ']' {
			return nil, false
		}
	}
	return out, i < len(body) && skipSpace(body, i+1) == len(body)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value that begins at i, or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
	default:
		start := i
		for i < len(b) && strings.IndexByte(",]}: \n\t\r\"{[", b[i]) < 0 {
			i++
		}
		if i == start {
			return -1
		}
		return i
	}
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipText(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

func skipText(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return -1
}

func (o *object) get(key string) json.RawMessage {
	for _, m := range o.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// set gives a member a value, which must encode.
func (o *object) set(key string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	for i := range o.members {
		if o.members[i].key == key {
			o.members[i].value = raw
			return
		}
	}
	o.members = append(o.members, member{key, raw})
}

func (o *object) delete(key string) {
	for i := range o.members {
		if o.members[i].key == key {
			o.members = append(o.members[:i], o.members[i+1:]...)
			return
		}
	}
}

// dropLookalikes removes members that are the key but for the case of their letters: some servers take them
// for it.
func (o *object) dropLookalikes(key string) {
	kept := o.members[:0]
	for _, m := range o.members {
		if m.key == key || !strings.EqualFold(m.key, key) {
			kept = append(kept, m)
		}
	}
	o.members = kept
}

// bytes is the object as JSON.
func (o *object) bytes() []byte {
	n := 2
	for _, m := range o.members {
		n += len(m.key) + len(m.value) + 8
	}
	out := append(make([]byte, 0, n), '{')
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			continue // a string encodes
		}
		out = append(append(append(out, key...), ':'), m.value...)
	}
	return append(out, '}')
}
