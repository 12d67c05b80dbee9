package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// responses is OpenAI's Responses protocol.
type responses struct{}

func (responses) name() string { return "responses" }
func (responses) path() string { return "/responses" }
func (responses) list() string { return "input" }

func (responses) errorBody(status int, text string) []byte { return openAIError(status, text) }

func (d responses) url(base string, _ *http.Request) string { return base + d.path() }
func (responses) sign(h http.Header, key string)            { bearer(h, key) }

// adapt never hides the usage, which the last event always says.
func (responses) adapt(o *object, m Model, _ bool) (hideUsage bool) {
	if m.Temperature != nil {
		o.set("temperature", *m.Temperature)
	}
	m.limit(o, "max_output_tokens")
	return false
}

func (responses) tools(o *object) map[string]bool {
	type tool struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	var tools []tool
	names := map[string]bool{}
	if json.Unmarshal(o.get("tools"), &tools) == nil {
		for _, t := range tools {
			names[cmp.Or(t.Name, t.Type)] = true
			for _, inner := range t.Tools { // of a name space
				names[inner.Name], names[t.Name+"."+inner.Name] = true, true
			}
		}
	}
	return names
}

func (responses) callIDs(item []byte) []string {
	if !bytes.Contains(item, []byte(`_call"`)) {
		return nil
	}
	var v responseItem
	if json.Unmarshal(item, &v) != nil || !strings.HasSuffix(v.Type, "_call") {
		return nil
	}
	return []string{v.CallID}
}

// responseItem is one item of an answer's output.
type responseItem struct {
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Content   []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

func (responses) read(body []byte) reading {
	var v struct {
		Status     string            `json:"status"`
		Output     []json.RawMessage `json:"output"`
		Incomplete *struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	}
	var r reading
	if json.Unmarshal(body, &v) != nil {
		return r
	}
	r.finish = v.Status
	if v.Incomplete != nil && v.Incomplete.Reason != "" {
		r.finish = v.Incomplete.Reason
		r.length = v.Incomplete.Reason == "max_output_tokens"
	}
	for _, raw := range v.Output {
		var item responseItem
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		switch item.Type {
		case "function_call":
			r.calls = append(r.calls, toolCall{id: item.CallID, name: item.Name, arguments: argumentsOf(item.Arguments)})
		case "custom_tool_call":
			r.calls = append(r.calls, toolCall{id: item.CallID, name: item.Name, arguments: argumentsOf(item.Input), free: true})
		case "local_shell_call":
			r.calls = append(r.calls, toolCall{id: item.CallID, name: "local_shell", arguments: string(item.Action)})
		}
		for _, c := range item.Content {
			r.said = r.said || item.Type == "message" && strings.TrimSpace(c.Text+c.Refusal) != ""
		}
	}
	return r
}

func (responses) assemble() assembler { return &responseStream{} }

// responseStream follows a streamed response. Its last event holds the whole answer; until then the finished
// items are kept, and the texts of the one that is being written.
type responseStream struct {
	final json.RawMessage
	first json.RawMessage // the response as it was created
	items []json.RawMessage
	text  bytes.Buffer
	whose string // id of the item whose text this is
	end   bool
}

type responseEvent struct {
	Type     string          `json:"type"`
	Response json.RawMessage `json:"response"`
	Item     json.RawMessage `json:"item"`
	ItemID   string          `json:"item_id"`
	Delta    json.RawMessage `json:"delta"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Error    json.RawMessage `json:"error"`
}

func (s *responseStream) complete() bool { return s.end }
func (s *responseStream) last() bool     { return s.end }

func (s *responseStream) add(e sseEvent, _ bool) []byte {
	var v responseEvent
	if json.Unmarshal(e.data, &v) != nil {
		return e.raw
	}
	switch v.Type {
	case "response.created":
		s.first = v.Response
	case "response.output_item.done":
		s.items = append(s.items, v.Item)
		s.text.Reset()
	case "response.output_text.delta", "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if v.ItemID != s.whose {
			s.text.Reset()
			s.whose = v.ItemID
		}
		s.text.WriteString(argumentsOf(v.Delta))
	case "response.completed", "response.incomplete":
		s.final, s.end = v.Response, true
	}
	return e.raw
}

func (s *responseStream) failed(e sseEvent) (status int, body []byte, found bool) {
	if !bytes.Contains(e.data, []byte("error")) && !bytes.Contains(e.data, []byte("failed")) {
		return 0, nil, false
	}
	var v responseEvent
	if json.Unmarshal(e.data, &v) != nil {
		return 0, nil, false
	}
	var inner struct {
		Code    string `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	switch v.Type {
	case "response.failed":
		var r struct {
			Error json.RawMessage `json:"error"`
		}
		_ = json.Unmarshal(v.Response, &r)  // without one there is no reason
		_ = json.Unmarshal(r.Error, &inner) // which is then empty
	case "error":
		inner.Code, inner.Message = v.Code, v.Message
		_ = json.Unmarshal(v.Error, &inner) // some put it one level deeper
	default:
		return 0, nil, false
	}
	status = 500
	switch code := cmp.Or(inner.Code, inner.Type); {
	case strings.Contains(code, "rate_limit"), strings.Contains(code, "quota"):
		status = 429
	case strings.Contains(code, "overloaded"), strings.Contains(code, "unavailable"):
		status = 503
	case strings.Contains(code, "context_length"), strings.HasPrefix(code, "invalid_"):
		status = 400
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": inner.Message, "type": cmp.Or(inner.Code, inner.Type), "code": cmp.Or(inner.Code, inner.Type)}})
	if err != nil {
		body = e.data
	}
	return status, body, true
}

func (s *responseStream) whole() []byte {
	from := s.final
	if from == nil {
		from = s.first
	}
	o, err := cutObject(from)
	if err != nil {
		o = &object{}
	}
	if output, _ := cutArray(o.get("output")); len(output) == 0 {
		items := slices.Clone(s.items)
		if s.text.Len() > 0 {
			partial, err := json.Marshal(map[string]any{"type": "partial", "id": s.whose, "text": s.text.String()})
			if err == nil {
				items = append(items, partial)
			}
		}
		if items == nil {
			items = []json.RawMessage{}
		}
		o.set("output", items)
	}
	return o.bytes()
}
