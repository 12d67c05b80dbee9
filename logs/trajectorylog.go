package logs

import (
	"encoding/json"
	"fmt"
)

// simulatedReader names the log of an agent that is no program.
const simulatedReader = "simulated"

// trajectoryLine is one line of it: {"seq", "actor", "kind", …}.
type trajectoryLine struct {
	Actor  string `json:"actor"`
	Kind   string `json:"kind"`
	Tool   string `json:"tool"`
	CallID string `json:"call_id"`
	Text   string `json:"text"`
	Status *int   `json:"http_status"`
	Exit   *int   `json:"exit"`
	Usage  *Usage `json:"usage"`
}

// trajectoryEvents turns one line into events.
func (b *eventBuilder) trajectoryEvents(raw []byte) error {
	var l trajectoryLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	e := EventRow{Actor: l.Actor, Tool: text(l.Tool), CallID: text(l.CallID), Text: l.Text, HTTPStatus: l.Status, ExitCode: l.Exit}
	switch l.Actor {
	case "model":
		e.Channel = ChannelModel
	case "tool":
		e.Channel = ChannelTool
	case "harness":
		e.Channel = ChannelHarness
	case "provider":
		e.Channel = ChannelProvider
	default:
		return fmt.Errorf("the line has the actor %q, which is none of model, tool, harness, provider", clip(l.Actor, 40))
	}
	switch l.Kind {
	case EventMessage:
		if l.Actor == "harness" {
			e.Channel = ChannelPrompt
		}
	case EventToolCall, EventToolResult:
	case EventError:
		if l.Status != nil {
			e.Actor, e.Channel = "provider", ChannelProvider // only it answers with a status
		}
	case EventEnd:
	case EventUsage:
		if u := l.Usage; u != nil {
			e.Tokens = u.tokens()
		}
	default:
		e.Text, l.Kind, e.Channel = l.Kind, EventNotice, ChannelOther
	}
	e.Kind = l.Kind
	b.add(e)
	return nil
}
