package gateway

import (
	"encoding/json"
	"net/http"
)

// dialect is one protocol in which agents speak to models. Implementations have no state.
type dialect interface {
	name() string // as a study names it: chat, responses, anthropic
	path() string // below the model's URL, and below ours
	list() string // the member of a request that holds the conversation

	// adapt makes the rest of a request the study's own, whose model is set already: its settings. It says
	// whether the usage in a stream was not asked for by the agent.
	adapt(o *object, m Model, stream bool) (hideUsage bool)
	// tools are the names of the tools that a request offers.
	tools(o *object) map[string]bool
	// callIDs are the ids of the tool calls in one message of a request's conversation.
	callIDs(message []byte) []string

	url(base string, r *http.Request) string // of a request at the provider, for the agent's
	sign(h http.Header, key string)          // puts the model's key in, "" for none

	read(body []byte) reading                 // a whole answer
	assemble() assembler                      // a new stream
	errorBody(status int, text string) []byte // an error as clients of this protocol read it
}

// assembler puts the events of one streamed answer together.
type assembler interface {
	// add takes the next event. What comes back goes to the agent: the event, or nil if it holds nothing
	// but a usage that it did not ask for.
	add(e sseEvent, hideUsage bool) []byte
	// failed finds an error in place of an answer, its HTTP status and its body.
	failed(e sseEvent) (status int, body []byte, found bool)
	complete() bool // the answer has reached its end
	last() bool     // nothing can follow
	whole() []byte  // the answer so far as JSON, in the form that is not streamed
}

// reading is what an answer holds.
type reading struct {
	calls  []toolCall
	said   bool // text that is not empty
	finish string
	length bool // cut by the output limit
}

type toolCall struct {
	id, name, arguments string
	free                bool // the arguments are free text
}

// edit makes a request the study's own: its model, its settings. It says whether the answer is to be a stream, and
// whether the usage in it was not asked for by the agent.
func edit(d dialect, o *object, m Model) (stream, hideUsage bool) {
	o.dropLookalikes("model")
	o.set("model", m.id())
	stream = string(o.get("stream")) == "true"
	return stream, d.adapt(o, m, stream)
}

// limit caps one of the members that limit the output of a request at the model's own limit, and sets the
// first if the request has none.
func (m Model) limit(o *object, keys ...string) {
	if m.MaxOutput <= 0 {
		return
	}
	found := false
	for _, key := range keys {
		var n float64
		switch raw := o.get(key); {
		case raw == nil:
		case json.Unmarshal(raw, &n) == nil && n > 0 && n <= float64(m.MaxOutput):
			found = true
		case string(raw) == "null":
			o.delete(key)
		default:
			found = true
			o.set(key, m.MaxOutput)
		}
	}
	if !found {
		o.set(keys[0], m.MaxOutput)
	}
}

// bearer puts a key in as most providers have it.
func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// openAIError is an error object as OpenAI's protocols have it.
func openAIError(status int, text string) []byte {
	kind := "invalid_request_error"
	switch {
	case status >= 500:
		kind = "server_error"
	case status == 401:
		kind = "authentication_error"
	case status == 403:
		kind = "permission_error"
	}
	return encode(map[string]any{"error": map[string]any{"message": text, "type": kind, "param": nil, "code": kind}})
}

// encode is plain values as JSON; {} for what does not encode.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return b
}
