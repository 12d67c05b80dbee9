package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdits(t *testing.T) {
	temp := 0.5
	m := Model{Name: "m", ID: "m-1", Temperature: &temp, MaxOutput: 2000}
	reasoning := m
	reasoning.ID = "o3-mini"
	for name, c := range map[string]struct {
		d          dialect
		m          Model
		in, want   string
		stream, hu bool
	}{
		"chat":           {chat{}, m, `{"model":"x","messages":[]}`, `{"model":"m-1","messages":[],"temperature":0.5,"max_tokens":2000}`, false, false},
		"chat capped":    {chat{}, m, `{"max_completion_tokens":9000,"model":"x"}`, `{"max_completion_tokens":2000,"model":"m-1","temperature":0.5}`, false, false},
		"chat smaller":   {chat{}, m, `{"max_tokens":20,"temperature":0}`, `{"max_tokens":20,"temperature":0.5,"model":"m-1"}`, false, false},
		"chat null":      {chat{}, m, `{"max_tokens":null}`, `{"model":"m-1","temperature":0.5,"max_tokens":2000}`, false, false},
		"chat odd":       {chat{}, m, `{"max_tokens":"many"}`, `{"max_tokens":2000,"model":"m-1","temperature":0.5}`, false, false},
		"chat reasoning": {chat{}, reasoning, `{}`, `{"model":"o3-mini","temperature":0.5,"max_completion_tokens":2000}`, false, false},
		"chat plain":     {chat{}, Model{Name: "m"}, `{"temperature":1,"max_tokens":5}`, `{"temperature":1,"max_tokens":5,"model":"m"}`, false, false},
		"chat twice":     {chat{}, Model{Name: "m"}, `{"model":"a","mod\u0065l":"b","MODEL":"c"}`, `{"model":"m"}`, false, false},
		"chat stream":    {chat{}, Model{Name: "m"}, `{"stream":true}`, `{"stream":true,"model":"m","stream_options":{"include_usage":true}}`, true, true},
		"responses":      {responses{}, m, `{"input":"hi","stream":true,"model":"x"}`, `{"input":"hi","stream":true,"model":"m-1","temperature":0.5,"max_output_tokens":2000}`, true, false},
		"anthropic":      {anthropic{}, m, `{"max_tokens":32000,"model":"x"}`, `{"max_tokens":2000,"model":"m-1","temperature":0.5}`, false, false},
		"thinking": {anthropic{}, m, `{"max_tokens":32000,"temperature":1,"thinking":{"type":"enabled","budget_tokens":31999},"stream":true}`,
			`{"max_tokens":2000,"temperature":1,"thinking":{"type":"enabled","budget_tokens":1024},"stream":true,"model":"m-1"}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := cutObject([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			stream, hide := edit(c.d, o, c.m)
			if got := string(o.bytes()); got != c.want || stream != c.stream || hide != c.hu {
				t.Errorf("got %s, stream %v, hide %v; want %s", got, stream, hide, c.want)
			}
		})
	}
}

func TestTools(t *testing.T) {
	for in, d := range map[string]dialect{
		`{"tools":[{"type":"function","function":{"name":"a"}},{"type":"custom","custom":{"name":"b"}}]}`: chat{},
		`{"tools":[{"type":"function","name":"a"},{"type":"b"}]}`:                                         responses{},
		`{"tools":[{"name":"a","input_schema":{}},{"type":"bash_20250124","name":"b"}]}`:                  anthropic{},
	} {
		o, err := cutObject([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(d.tools(o))); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s offers %v", in, got)
		}
	}
}

// TestPartialStreams cuts a stream of each protocol after every event: what is recorded of it is JSON, and it is
// complete only where the protocol says so.
func TestPartialStreams(t *testing.T) {
	for name, c := range map[string]struct {
		d        dialect
		events   []string
		complete int // events that make it complete
		whole    string
	}{
		"chat": {chat{}, []string{
			`{"id":"c","choices":[{"index":0,"delta":{"content":"He"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"y","tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]}},{"index":1,"delta":{"content":"other","reasoning_details":[{"a":1}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"b","function":{"name":"y","arguments":{"k":1}}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`}, 4,
			`{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"content":"Hey","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"x"},"id":"a","type":"function"},` +
				`{"function":{"arguments":"{\"k\":1}","name":"y"},"id":"b","type":"function"}]}},{"finish_reason":null,"index":1,"message":{"content":"other","reasoning_details":[{"a":1}],"role":"assistant"}}],"id":"c","object":"chat.completion"}`},
		"responses": {responses{}, []string{
			`{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`,
			`{"type":"response.output_text.delta","item_id":"i","delta":"He"}`,
			`{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"Hey"}]}}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`}, 4,
			`{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hey"}]}]}`},
		"anthropic": {anthropic{}, []string{
			`{"type":"message_start","message":{"id":"m","content":[],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hey"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"x","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"k\":"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`}, 7,
			`{"id":"m","content":[{"type":"text","text":"Hey"},{"type":"tool_use","id":"a","name":"x","input":{"k":1}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":9}}`},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range len(c.events) + 1 {
				s := c.d.assemble()
				for _, e := range c.events[:n] {
					s.add(sseEvent{data: []byte(e), raw: []byte(e)}, false)
				}
				if !json.Valid(s.whole()) || s.complete() != (n >= c.complete) || s.last() != (n == len(c.events)) {
					t.Errorf("after %d events: complete %v, last %v: %s", n, s.complete(), s.last(), s.whole())
				}
				if n == len(c.events) {
					if diff := cmp.Diff(c.whole, string(s.whole())); diff != "" {
						t.Errorf("whole (-want +got):\n%s", diff)
					}
				}
			}
		})
	}
	for data, want := range map[string]struct {
		d      dialect
		status int
	}{
		`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`:                           {anthropic{}, 529},
		`{"type":"error","error":{"type":"brand_new","message":"x"}}`:                                  {anthropic{}, 500},
		`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`: {responses{}, 429},
		`{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}`:        {responses{}, 500},
		`{"type":"error","code":"context_length_exceeded","message":"x"}`:                              {responses{}, 400},
		`{"error":{"message":"x","code":503}}`:                                                         {chat{}, 503},
		`{"type":"response.output_text.delta","delta":"an error failed"}`:                              {responses{}, 0},
		`{"type":"content_block_delta","delta":{"text":"\"error\""}}`:                                  {anthropic{}, 0},
		`{"choices":[{"delta":{"content":"\"error\""}}]}`:                                              {chat{}, 0},
	} {
		status, body, found := want.d.assemble().failed(sseEvent{data: []byte(data)})
		if status != want.status || found != (want.status != 0) || found && errorMessage(body) == string(body) {
			t.Errorf("%s: %d %v %s", data, status, found, errorMessage(body))
		}
	}
}

func TestAnthropicUpstream(t *testing.T) {
	var got *http.Request
	url, _ := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(t.Context())
		say(200, `{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)(w, r)
	})
	p := proxy(t)
	for _, base := range []string{url, strings.TrimSuffix(url, "/v1")} {
		a := open(t, p, Options{Model: Model{URL: base, Key: "real-key-123"}})
		if status, answer, _, err := post(t, p, a.Token(), "/v1/messages?beta=true", `{"max_tokens":5,"messages":[]}`); status != 200 || err != nil {
			t.Fatal(status, answer, err)
		}
		if got.URL.String() != "/v1/messages?beta=true" || got.Header.Get("X-Api-Key") != "real-key-123" || got.Header.Get("Authorization") != "" || got.Header.Get("Anthropic-Version") == "" {
			t.Errorf("%s %v", got.URL, got.Header)
		}
	}
	a := open(t, p, Options{Model: Model{URL: url, API: "chat"}})
	for path, want := range map[string]string{"/v1/messages": `"type":"error"`, "/v1/messages/count_tokens": `"not_found_error"`, "/v1/responses": "speaks chat"} {
		if status, answer, _, _ := post(t, p, a.Token(), path, `{}`); status != 404 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
}

func TestSSE(t *testing.T) {
	r := newSSEReader(strings.NewReader("\n\r\n: ping\n\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata\n\nid: 7\ndata: last"))
	var got []string
	for {
		e, err := r.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		got = append(got, fmt.Sprintf("%s|%s|%v|%q", e.name, e.data, e.data == nil, e.raw))
	}
	want := []string{`||true|": ping\n\n"`, "a|1\n2|false|" + `"event: a\r\ndata: 1\r\ndata:2\r\n\r\n"`, `||false|"data\n\n"`, `|last|false|"id: 7\ndata: last\n\n"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, err := newSSEReader(strings.NewReader("data: " + strings.Repeat("x", maxEvent+1))).next(); !errors.Is(err, errLongEvent) {
		t.Errorf("a long event: %v", err)
	}
}

// FuzzStreams feeds anything to the assemblers: they never panic, and what they put together is JSON.
func FuzzStreams(f *testing.F) {
	for _, e := range streamed {
		f.Add("data: " + e + "\n\n")
	}
	f.Add("event: x\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{\"}}\n\n")
	f.Add("data: {\"type\":\"response.completed\",\"response\":{\"output\":[1,{}]}}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range dialects {
			s, r := d.assemble(), newSSEReader(strings.NewReader(text))
			for {
				e, err := r.next()
				if err != nil {
					break
				}
				s.failed(e)
				s.add(e, true)
			}
			if whole := s.whole(); utf8JSON(whole) != nil {
				d.read(whole)
			}
		}
	})
}

// utf8JSON is nil for what is no JSON: parts of a stream that are none stay what they are.
func utf8JSON(b []byte) []byte {
	if json.Valid(b) {
		return b
	}
	return nil
}

// FuzzObject cuts anything into members: what it takes apart it puts together to the same values.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, ` {"a" : [1,{"b":"\"}"}] , "c":null}`, `{"a":1,"a":2}`, `{"a":"\\"}`, `{"a":}`, `[{}]`, `{"a":1,}`, `{"a":1}x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := cutObject([]byte(text))
		var want map[string]json.RawMessage
		bad := json.Unmarshal([]byte(text), &want)
		if err != nil {
			if bad == nil && want != nil && len(want) < maxMembers {
				t.Fatalf("an object is refused: %q", text)
			}
			return
		}
		if bad != nil {
			return // a value that is no JSON is the upstream's to refuse
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(o.bytes(), &got); err != nil || len(got) != len(want) {
			t.Fatalf("%q became %q: %v", text, o.bytes(), err)
		}
		for k, v := range want {
			if !bytes.Equal(bytes.TrimSpace(v), bytes.TrimSpace(got[k])) {
				t.Fatalf("%q: %q became %q", text, v, got[k])
			}
		}
	})
}
