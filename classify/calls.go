package classify

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// toolCall is one tool call of an attempt with what came back from it.
type toolCall struct {
	at      int // position of the call among the events
	result  int // position of what came back; -1 = nothing did
	tool    string
	args    string
	cut     bool     // the harness says that it was ended, not that it ended
	failed  bool     // its exit code, or the harness, says so
	exit    *int     // of the command; nil = unknown
	seconds *float64 // nil = unknown
}

func (c *toolCall) open() bool { return c.result < 0 }

// command is the shell text of the call.
func (c *toolCall) command() string { return commandOf(c.args) }

// callsOf pairs the calls of one source of events with their results: by id, and where there is none, in order.
func callsOf(events []logs.EventRow, via string) []*toolCall {
	var out []*toolCall
	byID := map[string]*toolCall{}
	for i := range events {
		e := &events[i]
		if e.Via != via {
			continue
		}
		id := deref(e.CallID)
		switch {
		case e.Kind == logs.EventToolCall:
			c := &toolCall{at: i, result: -1, tool: deref(e.Tool), args: e.Text}
			byID[id] = c
			out = append(out, c)
		case e.Kind == logs.EventToolResult:
			c := byID[id]
			if c == nil && id == "" && len(out) > 0 {
				c = out[len(out)-1]
			}
			if c == nil || !c.open() {
				continue
			}
			c.result, c.exit, c.seconds = i, e.ExitCode, e.DurationS
			c.failed = c.failed || e.ExitCode != nil && *e.ExitCode != 0
		case e.Kind == logs.EventNotice && e.Channel == logs.ChannelHarness && strings.HasPrefix(e.Text, "tool_end: "):
			if c := byID[id]; c != nil {
				how := strings.TrimPrefix(e.Text, "tool_end: ")
				c.cut = c.cut || strings.HasPrefix(how, "by=") && !strings.HasPrefix(how, "by=self")
				c.failed = c.failed || c.cut || strings.Contains(how, "failed=true")
				if c.seconds == nil {
					c.seconds = e.DurationS
				}
			}
		}
	}
	return out
}

// maxVolatile bounds the text of a result that is compared.
const maxVolatile = 16 << 10

// volatile is what differs between two results that say the same.
var volatile = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?|\b\d{1,2}:\d\d(:\d\d(\.\d+)?)?\b|\b\d+(\.\d+)? ?(ns|µs|us|ms|s|sec|secs|seconds)\b|(?i:\bpid[ =:]{0,2}\d+)|0x[0-9a-f]{6,}`)

func sameWords(s string) string {
	return volatile.ReplaceAllString(s[:min(len(s), maxVolatile)], "~")
}

// The least repetitions that make a loop, and the longest cycle looked for.
const (
	leastCycles   = 3
	longestCycle  = 3
	recentCalls   = 24
	leastMessages = 3
)

// What is said of an alarm about a loop.
const (
	guardJustified = "justified"
	guardFalse     = "false_positive"
	guardUnknown   = "undetermined"
)

// guard is detector S1. It judges an alarm about a loop by the calls before it: the same cycle of calls at least three
// times, with no new result and no new state of the workspace, is a loop. The same calls with results that differ are
// none, nor are runs of the tests between edits, nor calls that add to a file each time. Without calls, three equal
// messages in a row are one, and three different ones none.
func (t *trail) guard(at int) string {
	via := t.mainVia()
	if v := t.monologue(at, via); v != "" {
		return v
	}
	var done []*toolCall
	for _, c := range t.callsBy(via) {
		if c.at < at && !c.open() && c.result < at {
			done = append(done, c)
		}
	}
	done = done[max(0, len(done)-recentCalls):]
	results := make([]string, len(done))
	for i, c := range done {
		results[i] = sameWords(t.events[c.result].Text)
	}
	same := func(a, b int) bool { return done[a].tool == done[b].tool && done[a].args == done[b].args }
	verdict := guardUnknown
	for period := 1; period <= longestCycle && len(done) >= leastCycles*period; period++ {
		from := len(done) - leastCycles*period
		calls, words, grows := true, true, false
		for i := from + period; i < len(done); i++ {
			calls = calls && same(i, i-period)
			words = words && results[i] == results[i-period]
			grows = grows || done[i].grows()
		}
		switch {
		case calls && words && !grows:
			return guardJustified
		case calls:
			verdict = guardFalse
		}
	}
	if verdict == guardUnknown && edited(done, same) {
		verdict = guardFalse
	}
	return verdict
}

// edited says whether the last call came at least three times, each time after something else had changed the workspace.
func edited(done []*toolCall, same func(a, b int) bool) bool {
	times, changed := 1, false
	for i := len(done) - 2; i >= 0; i-- {
		switch {
		case same(i, len(done)-1):
			if !changed {
				return false
			}
			times, changed = times+1, false
		case done[i].edits() && !done[i].failed:
			changed = true
		}
	}
	return times >= leastCycles
}

// monologue judges by the messages where nothing but messages came last.
func (t *trail) monologue(at int, via string) string {
	var said []string
	for i := min(at, len(t.events)) - 1; i >= 0 && len(said) < leastMessages; i-- {
		e := &t.events[i]
		switch {
		case e.Via != via:
		case e.Kind == logs.EventMessage && e.Channel == logs.ChannelModel:
			said = append(said, sameWords(e.Text))
		case e.Kind == logs.EventToolCall, e.Kind == logs.EventToolResult:
			return ""
		}
	}
	switch {
	case len(said) < leastMessages:
		return ""
	case said[0] == said[1] && said[1] == said[2]:
		return guardJustified
	}
	return guardFalse
}

var (
	editTool = regexp.MustCompile(`(?i)edit|write|patch|replace|insert|create|apply`)
	planTool = regexp.MustCompile(`(?i)todo|plan|task_?list`)
	openItem = regexp.MustCompile(`"status"\s*:\s*"(pending|in_progress|in-progress|todo|open)"|\[ \]`)
)

// edits says whether a call may change the workspace.
func (c *toolCall) edits() bool {
	if planTool.MatchString(c.tool) {
		return false
	}
	if editTool.MatchString(c.tool) {
		return true
	}
	list := commands(c.command())
	return slices.ContainsFunc(list, func(s simple) bool {
		switch s.name() {
		case "sed":
			return s.has("i", "--in-place")
		case "mv", "cp", "rm", "mkdir", "touch", "patch", "tee", "ln", "install", "apply_patch", "unzip", "tar":
			return true
		case "git":
			return len(s.words) > 1 && slices.Contains([]string{"apply", "checkout", "restore", "reset", "stash", "mv", "rm"}, s.words[1])
		}
		return s.redirected && !strings.Contains(s.text, "/dev/null")
	})
}

// grows says whether the same call changes the workspace every time: it adds to a file.
func (c *toolCall) grows() bool {
	command := c.command()
	return strings.Contains(command, ">>") || strings.Contains(command, "tee -a")
}
