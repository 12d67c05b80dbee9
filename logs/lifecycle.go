package logs

import (
	"fmt"
	"strings"
)

// maxServerLog bounds what is read of the log of a build or a server.
const maxServerLog = 16 << 20

// lifecycle turns a record of the journal into events: what stint saw of agent, build, server and
// grading. The logs of build and server are the agent's words and get events of their own.
func (b *eventBuilder) lifecycle(l *journalLine) {
	b.journalLine(l)
	e := EventRow{Actor: "verifier", Channel: ChannelVerifier}
	var logBlob, logKind string
	var err error
	switch l.Type {
	case TypeAgentExit:
		var v AgentExit
		v, err = Decode[AgentExit](l.Record)
		e.Actor, e.Channel, e.Kind, e.ExitCode, e.DurationS = "system", ChannelSystem, EventAgentExit, v.Exit, &v.AgentS
		detail := v.Detail
		if orderly(v.Completion) {
			detail = ""
		}
		e.Text = pairs("by", v.By, "limit", v.Limit, "signal", v.Signal, "completion", v.Completion, "tool_calls", fmt.Sprint(v.ToolCalls), "detail", detail)
	case TypeBuild:
		var v Build
		v, err = Decode[Build](l.Record)
		e.Kind, e.ExitCode, e.DurationS = EventBuild, v.Exit, secondsOf(v.MS)
		logBlob, logKind = v.LogBlob, EventBuildLog
	case TypeServerReady:
		var v ServerReady
		v, err = Decode[ServerReady](l.Record)
		e.Kind, e.DurationS, e.Text = EventServerReady, secondsOf(v.MS), pairs("world", v.World)
	case TypeServerExit:
		var v ServerExit
		v, err = Decode[ServerExit](l.Record)
		e.Kind, e.ExitCode, e.DurationS = EventServerExit, v.Exit, secondsOf(v.MS)
		e.Text = pairs("world", v.World, "reason", v.Reason, "signal", v.Signal)
		logBlob, logKind = v.LogBlob, EventServerLog
	case TypeSuiteEnd:
		var v SuiteEnd
		v, err = Decode[SuiteEnd](l.Record)
		e.Kind, e.DurationS = EventSuite, secondsOf(v.MS)
		e.Text = pairs("checks", fmt.Sprint(v.Checks), "failed", fmt.Sprint(v.Failed), "requests", fmt.Sprint(v.Requests), "runs", fmt.Sprint(v.Runs), "flaky", fmt.Sprint(v.Flaky))
	case TypeGradeEnd:
		var v GradeEnd
		v, err = Decode[GradeEnd](l.Record)
		passed := "null"
		if v.Passed != nil {
			passed = fmt.Sprint(*v.Passed)
		}
		e.Kind, e.DurationS, e.Text = EventGrade, &v.GradeS, pairs("passed", passed, "reason", v.Reason)
	case TypeVoid:
		var v Void
		v, err = Decode[Void](l.Record)
		e.Actor, e.Channel, e.Kind, e.Text = "system", ChannelSystem, EventVoid, strings.Join(nonEmpty(v.Reason, v.Evidence), ": ")
	default:
		return
	}
	if err != nil {
		return // reading the run names it as a problem
	}
	b.add(e)
	if logBlob != "" {
		b.agentLog(logBlob, logKind)
	}
}

func secondsOf(ms float64) *float64 {
	s := ms / 1000
	return &s
}

// agentLog adds what the agent's build or server printed.
func (b *eventBuilder) agentLog(sha, kind string) {
	if b.blobs == nil {
		b.unreadable(0, "%s is missing: the episode has no blobs", kind)
		return
	}
	content, err := b.blobs.getMax(sha, maxServerLog)
	if err != nil {
		b.unreadable(0, "%s: %v", kind, err)
		return
	}
	if len(content) == 0 {
		return
	}
	b.place(b.blobFile(sha), 0, content)
	b.add(EventRow{Actor: "agent", Channel: ChannelServer, Kind: kind, Text: string(content)})
}

// orderly reports whether an agent ended of its own accord. The detail of such an end is the first words of the
// model's last message, so it is no word of the harness and stands on no trusted channel.
func orderly(completion string) bool { return completion == "clean" || completion == "empty" }
