package gateway

import (
	"bytes"
	"encoding/json"
)

// note learns what a request says of tools: those it offers, and the calls its conversation holds already.
func (a *Attempt) note(o *object, info *call) {
	raw := string(o.get("tools"))
	a.seen.Lock()
	defer a.seen.Unlock()
	if raw != a.toolsText || a.toolNames == nil {
		a.toolsText, a.toolNames = raw, info.dialect.tools(o)
	}
	info.tools = a.toolNames
	messages, _ := cutArray(o.get(info.dialect.list()))
	for _, m := range messages[min(a.noted(messages), len(messages)):] {
		for _, id := range info.dialect.callIDs(m) {
			a.know(id)
		}
	}
}

// maxKnown bounds the ids of tool calls that are remembered.
const maxKnown = 100_000

func (a *Attempt) know(id string) {
	if len(a.known) < maxKnown && len(id) < 1000 {
		a.known[id] = true
	}
}

// noted is how many messages need no look: all, if the last one was looked at before.
func (a *Attempt) noted(messages []json.RawMessage) int {
	n := len(messages)
	if n <= a.notedLen && a.notedLen > 0 && n > 0 && bytes.Equal(messages[n-1], a.notedLast) {
		return n
	}
	start := 0
	if a.notedLen > 0 && a.notedLen <= n && bytes.Equal(messages[a.notedLen-1], a.notedLast) {
		start = a.notedLen
	}
	if n > 0 {
		a.notedLen, a.notedLast = n, messages[n-1]
	}
	return start
}

// observe records what is odd about an answer, which the agent may hide, and counts.
func (a *Attempt) observe(r reading, info *call) {
	type event struct {
		kind   string
		fields map[string]any
	}
	var events []event
	a.seen.Lock()
	s := &a.state
	s.Answers++
	s.Last, s.Cut = nil, r.length
	for _, c := range r.calls {
		s.ToolCalls++
		fields := func() map[string]any { return map[string]any{"tool": c.name, "call_id": c.id} }
		if reason := malformed(c.arguments); reason != "" && !c.free {
			s.Malformed++
			f := fields()
			f["reason"], f["cut_by_length"] = reason, r.length
			events = append(events, event{"malformed_call", f})
		}
		if !info.tools[c.name] {
			s.UnknownTools++
			events = append(events, event{"unknown_tool", fields()})
		}
		if c.id != "" && a.known[c.id] {
			s.DuplicateIDs++
			events = append(events, event{"duplicate_id", fields()})
		}
		a.know(c.id)
	}
	switch {
	case !r.said && len(r.calls) == 0:
		s.Empty++
		a.empty++
		events = append(events, event{"empty_answer", map[string]any{"finish_reason": r.finish, "in_a_row": a.empty}})
	default:
		a.empty = 0
		if r.length {
			events = append(events, event{"length", map[string]any{"finish_reason": r.finish}})
		}
	}
	a.seen.Unlock()
	for _, e := range events {
		a.opt.Recorder.Event(e.kind, e.fields)
	}
}

// malformed says why arguments are no JSON object; "" if they are.
func malformed(arguments string) string {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		return oneLine(err.Error())
	}
	if object == nil {
		return "null is no object"
	}
	return ""
}
