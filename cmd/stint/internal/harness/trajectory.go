package harness

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/stint-bench/stint/logs"
)

// trajectory is the raw log of an agent that is no program: JSON Lines, read with the reader "simulated". It
// holds no clock, so the same attempt has the same bytes, and no word of what was planted.
type trajectory struct {
	buf bytes.Buffer
	seq int
	err error
}

// trajectoryLine is one line. Kind is message, tool_call, tool_result, error, usage or end.
type trajectoryLine struct {
	Seq    int         `json:"seq"`
	Actor  string      `json:"actor"`
	Kind   string      `json:"kind"`
	Tool   string      `json:"tool,omitempty"`
	CallID string      `json:"call_id,omitempty"`
	Text   string      `json:"text,omitempty"`
	Status int         `json:"http_status,omitempty"`
	Exit   *int        `json:"exit,omitempty"`
	Usage  *logs.Usage `json:"usage,omitempty"`
}

func (t *trajectory) add(l trajectoryLine) {
	l.Seq = t.seq
	t.seq++
	b, err := json.Marshal(l)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("encoding a line of the agent's log: %w", err)
	}
	t.buf.Write(append(b, '\n'))
}

func (t *trajectory) prompt(text string) {
	t.add(trajectoryLine{Actor: "harness", Kind: "message", Text: text})
}

func (t *trajectory) say(text string) {
	t.add(trajectoryLine{Actor: "model", Kind: "message", Text: text})
}

// call is a tool call with its result.
func (t *trajectory) call(tool, args, result string) {
	id := fmt.Sprintf("call-%d", t.seq)
	t.add(trajectoryLine{Actor: "model", Kind: "tool_call", Tool: tool, CallID: id, Text: args})
	t.add(trajectoryLine{Actor: "tool", Kind: "tool_result", Tool: tool, CallID: id, Text: result})
}

func (t *trajectory) fail(actor, text string, status int) {
	t.add(trajectoryLine{Actor: actor, Kind: "error", Text: text, Status: status})
}

func (t *trajectory) usage(u logs.Usage) {
	t.add(trajectoryLine{Actor: "harness", Kind: "usage", Usage: &u})
}

// end closes the log of a program that ended by itself.
func (t *trajectory) end(exit int, text string) {
	t.add(trajectoryLine{Actor: "harness", Kind: "end", Exit: &exit, Text: text})
}

func (t *trajectory) store(blobs *logs.Blobs) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	return blobs.Put(t.buf.Bytes())
}
