package logs

import "time"

// The kinds of events. Every raw log is turned into these words.
const (
	EventMessage      = "message"       // text that was said
	EventModelRequest = "model_request" // what went to the model
	EventModelAnswer  = "model_answer"  // what came back, with tokens; what it says are events of its own
	EventToolCall     = "tool_call"     // text holds the arguments
	EventToolResult   = "tool_result"   // text holds the output
	EventRejectedCall = "rejected_call" // a tool call that the harness refused to run; text says why
	EventError        = "error"
	EventRetry        = "retry" // the harness tries a failed model request again
	EventCut          = "cut"   // stint ended a model request
	EventCompaction   = "compaction"
	EventLoopGuard    = "loop_guard"
	EventUsage        = "usage"
	EventEnd          = "end"      // what the harness says about its own end
	EventLeftOut      = "left_out" // lines that the recorder dropped
	EventNotice       = "notice"   // everything else a harness writes down

	// From the journal, with via = journal.
	EventAgentExit   = "agent_exit"
	EventBuild       = "build"
	EventBuildLog    = "build_log"
	EventServerReady = "server_ready"
	EventServerExit  = "server_exit"
	EventServerLog   = "server_log"
	EventSuite       = "suite"
	EventGrade       = "grade"
	EventVoid        = "void"
)

// The sources of events. Counts and sums use exactly one of gateway and reader; journal events tell
// what stint itself saw.
const (
	ViaGateway = "gateway"
	ViaReader  = "reader"
	ViaJournal = "journal"
)

// EventRow is something that happened within an attempt, in the order in which it was written down.
// What the journal says about the attempt's end and grading follows what the agent's log says.
//
// Channel is who wrote the text: harness, provider, verifier and system are trusted. The agent can
// put anything into the others (model, tool, prompt, server), prompt included since feedback quotes
// what its server answered.
//
// Place points to the bytes the event was read from, uncompressed; SHA256 is their hash.
type EventRow struct {
	Episode string `col:"episode"`
	Turn    int    `col:"turn"`
	Attempt *int   `col:"attempt"` // null for an attempt that does not count, as in attempts
	// AttemptOffset is the offset of the attempt's row in attempts: with Episode it names any
	// attempt, void ones too.
	AttemptOffset int64      `col:"attempt_offset"`
	Seq           int        `col:"seq"` // from 0 within the attempt
	Via           string     `col:"via"` // gateway, reader, journal
	Time          *time.Time `col:"time"`
	Actor         string     `col:"actor"` // agent, model, tool, harness, provider, verifier, system
	Channel       string     `col:"channel"`
	Kind          string     `col:"kind"`
	Tool          *string    `col:"tool"`
	CallID        *string    `col:"call_id"`
	Text          string     `col:"text"` // at most [PreviewBytes]; longer texts lose their middle
	ExitCode      *int       `col:"exit_code"`
	HTTPStatus    *int       `col:"http_status"`
	DurationS     *float64   `col:"duration_s"`
	Tokens
	Place
	SHA256 string `col:"sha256"`
}

// Trusted says whether the agent had no hand in the event's text.
func (e *EventRow) Trusted() bool {
	switch e.Channel {
	case ChannelHarness, ChannelProvider, ChannelVerifier, ChannelSystem:
		return true
	}
	return false
}

// The channels of events.
const (
	ChannelHarness  = "harness"
	ChannelProvider = "provider"
	ChannelVerifier = "verifier"
	ChannelSystem   = "system"
	ChannelModel    = "model"
	ChannelTool     = "tool"
	ChannelPrompt   = "prompt"
	ChannelServer   = "server"
)
