package classify

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stint-bench/stint/logs"
)

// killedBySignal says whether the program's end looks like one by a signal. Its exit code alone proves nothing: 143 has
// been a limit of memory, too.
func (t *trail) killedBySignal() bool {
	a := t.attempt
	return deref(a.Signal) != "" || deadly(a.ExitCode)
}

func deadly(code *int) bool { return code != nil && (*code == 137 || *code == 143 || *code == 144) }

// kills is detector S2: broad kills, held against what is known of the program's own processes. A kill that nothing came
// back from and that the program ended with is the cause of its end, if it can have hit it; one that ended its own shell
// is an event that the agent may get over.
func (t *trail) kills() {
	by := deref(t.attempt.EndedBy)
	list := t.callsBy(t.mainVia())
	for i, c := range list {
		if !strings.Contains(strings.ToLower(c.args), "kill") && !strings.Contains(strings.ToLower(c.args), "stop-process") && !strings.Contains(c.args, "fuser") {
			continue
		}
		command := c.command()
		last := i == len(list)-1
		fits := c.open() && last && (by == "" || by == "self") && (t.killedBySignal() || t.inferred && t.completion == completionCut)
		if !fits && !deadly(c.exit) {
			continue
		}
		all := broadKills(command)
		if len(all) == 0 {
			continue
		}
		if !fits {
			t.add(LeafBroadKill, "S2", "medium", fmt.Sprintf("the command %q ended its own shell", killWords(all[0])), c.result)
			continue
		}
		program, prompt := t.book.program(t.harness), t.prompt()
		might := -1
		for k, b := range all {
			switch b.does(program, prompt) {
			case killHits:
				t.add(LeafBroadKill, "S2", "strong", fmt.Sprintf("the command %q was running when the program was killed, whose process it fits", killWords(b)), c.at)
				return
			case killMay:
				if might < 0 {
					might = k
				}
			}
		}
		if might >= 0 {
			t.add(LeafBroadKill, "S2", "medium", fmt.Sprintf("the command %q was running when the program was killed", killWords(all[might])), c.at)
		}
	}
}

func killWords(b *broad) string { return clip(strings.TrimSpace(b.text), maxKillText) }

// prompt is what the agent was asked for last, as far as the log tells.
func (t *trail) prompt() string {
	for i := len(t.events) - 1; i >= 0; i-- {
		if e := &t.events[i]; e.Channel == logs.ChannelPrompt && e.Kind == logs.EventMessage {
			return e.Text
		}
	}
	return ""
}

// running returns the last tool call if it was running when the attempt ended: nothing came back from it, or what came
// back says that it was ended.
func (t *trail) running() *toolCall {
	list := t.callsBy(t.mainVia())
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	if !c.open() && !c.cut {
		return nil
	}
	if c.open() {
		if start := t.events[c.at].Time; start != nil && t.exit != nil && t.exit.Time != nil {
			c.seconds = ptr(t.exit.Time.Sub(*start).Seconds())
		}
	}
	return c
}

// mostOf says whether the call took most of the attempt's time, as far as that is known.
func (t *trail) mostOf(c *toolCall) bool {
	return c.seconds == nil || t.attempt.AgentS == nil || 2**c.seconds >= *t.attempt.AgentS
}

// hung is detector S3: the call that was running when the time was over, or with which a log breaks off; and calls that
// were ended at a limit of their own.
func (t *trail) hung() {
	wall := deref(t.attempt.EndedBy) == "limit:wall"
	running := t.running()
	if running != nil && (wall || t.inferred && running.open()) {
		command := clip(running.command(), 120)
		switch kind := hangs(running.command()); {
		case kind != "" && wall:
			t.add(LeafToolHang, "S3", "strong", fmt.Sprintf("the %s command %q never returned", kind, command), running.at)
		case kind != "":
			t.add(LeafToolHang, "S3", "medium", fmt.Sprintf("the log breaks off in the %s command %q", kind, command), running.at)
		case wall && t.mostOf(running):
			t.add(LeafToolHang, "S3", "medium", fmt.Sprintf("the command %q had not returned", command), running.at)
		}
	}
	for _, c := range t.callsBy(t.mainVia()) {
		if c.open() || c == running && wall || !c.cut && (c.exit == nil || *c.exit != 124 || strings.Contains(c.args, "timeout ")) {
			continue
		}
		strength := "medium"
		if hangs(c.command()) != "" {
			strength = "strong"
		}
		t.add(LeafToolHang, "S3", strength, fmt.Sprintf("the command %q was ended at its limit", clip(c.command(), 120)), c.result)
	}
}

var (
	inUse        = regexp.MustCompile(`(?i)eaddrinuse|address already in use|only one usage of each socket address`)
	listenerWord = regexp.MustCompile(`\b(pid|started|descendant)=(\S+)`)
)

// listeners is detector S4: a server that listens where another one should. What stint or another runner saw of the process
// that listens tells it for certain: it is older than the attempt, or not of its family. Else two calls of the agent do: it
// left a server in the background, and a later one could not have the port and ended with a code other than 0.
func (t *trail) listeners() {
	var began *time.Time
	for i := range t.events {
		e := &t.events[i]
		if began == nil {
			began = e.Time
		}
		if !e.Trusted() || e.Kind != logs.EventServerReady && !strings.HasPrefix(e.Text, "listener: ") {
			continue
		}
		says := map[string]string{}
		for _, m := range listenerWord.FindAllStringSubmatch(e.Text, -1) {
			says[m[1]] = m[2]
		}
		started, err := time.Parse(time.RFC3339, says["started"])
		switch {
		case says["pid"] == "":
		case says["descendant"] == "false":
			t.add(LeafServer, "S4", "strong", "the process that listens, "+clip("pid "+says["pid"], 40)+", is none of this attempt", i)
		case err == nil && began != nil && started.Before(*began):
			t.add(LeafServer, "S4", "strong", "the process that listens, "+clip("pid "+says["pid"], 40)+", is older than the attempt", i)
		}
	}
	left := false
	for _, c := range t.callsBy(t.mainVia()) {
		low := strings.ToLower(c.args)
		if !strings.ContainsAny(low, "./") && !strings.Contains(low, "run") && !strings.Contains(low, "st") {
			continue
		}
		if left && !c.open() && c.failed && inUse.MatchString(t.events[c.result].Text) && startsServer(c.command()) {
			t.add(LeafServer, "S4", "medium", fmt.Sprintf("the command %q found the port taken by a server that the agent had left", clip(c.command(), 120)), c.result)
			continue
		}
		left = left || !c.failed && startsServer(c.command())
	}
}

// startsServer says whether a command starts a server, in the background or not.
func startsServer(command string) bool {
	list := commands(command)
	return slices.ContainsFunc(list, func(s simple) bool { return s.waits() == hangServer })
}

// stale returns what S4 found, what was seen of the process before what the calls tell. Of the calls only the last one
// counts, and only if nothing the agent did afterwards can have mended it.
func (t *trail) stale() *candidate {
	var last *candidate
	for i := range t.found {
		if c := &t.found[i]; c.rule == "S4" {
			if c.strength == "strong" {
				return c
			}
			last = c
		}
	}
	if last == nil {
		return nil
	}
	for _, call := range t.callsBy(t.mainVia()) {
		if call.at > last.at && !call.failed && (strings.Contains(call.args, "kill") || startsServer(call.command())) {
			return nil
		}
	}
	return last
}

var (
	closedForm = regexp.MustCompile(`(?i)\b(socket|stdout|stdin|stdio|pipe|connection|stream|channel)\b.{0,40}\b(closed|hang ?up|hung up|broken|reset|lost|ended)\b|\bbroken pipe\b|\bepipe\b|\beconnreset\b|socket hang up|\bexit(ed)?( with)?( code| status)?:? (137|143)\b`)
	memoryForm = regexp.MustCompile(`(?i)\boom\b|\boom[-_]?kill|out of memory|memory (limit |quota )?(was )?(exceeded|exhausted)|memory pressure|low memory|cannot allocate memory|memory\.events`)
	memoryUsed = regexp.MustCompile(`(?i)\bmem(?:ory)?\w*\b[^\d\n]{0,24}(\d+(?:\.\d+)?) ?([kmgt]i?b?|%)?(?: ?(?:of|/) ?(\d+(?:\.\d+)?) ?([kmgt]i?b?)?)?`)
)

// memoryFull says whether a text records that memory was at its end: in words, or in figures of nine tenths and more.
func memoryFull(text string) bool {
	if memoryForm.MatchString(text) {
		return true
	}
	for _, m := range memoryUsed.FindAllStringSubmatch(text, 8) {
		used, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			continue
		}
		if m[2] == "%" {
			if used >= 90 {
				return true
			}
			continue
		}
		if limit, err := strconv.ParseFloat(m[3], 64); err == nil && limit > 0 && used*unit(m[2]) >= 0.9*limit*unit(firstOf(m[4], m[2])) {
			return true
		}
	}
	return false
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// unit is how many kilobytes a unit of memory has.
func unit(u string) float64 {
	if u == "" {
		return 1
	}
	switch strings.ToLower(u)[0] {
	case 'm':
		return 1 << 10
	case 'g':
		return 1 << 20
	case 't':
		return 1 << 30
	}
	return 1
}

// memoryNear is how many events may lie between a connection that closed and a record of memory.
const memoryNear = 20

// masked is detector S6: what shows is a connection that closed or an end by SIGKILL; behind it stands a limit of memory.
func (t *trail) masked() {
	var full, closed []int
	for i := range t.events {
		e := &t.events[i]
		if !e.Trusted() || e.Via == logs.ViaJournal && e.Kind != logs.EventAgentExit {
			continue
		}
		if inOrder := t.completion == completionClean || t.completion == completionEmpty; inOrder && (e.Kind == logs.EventAgentExit || e.Kind == logs.EventEnd) {
			continue
		}
		text := e.Text[:min(len(e.Text), maxVolatile)]
		if memoryFull(text) {
			full = append(full, i)
		}
		if closedForm.MatchString(text) {
			closed = append(closed, i)
		}
	}
	if len(full) == 0 {
		return
	}
	if a := t.attempt; deref(a.Signal) == "SIGKILL" && (deref(a.EndedBy) == "" || deref(a.EndedBy) == "self") || deadly(a.ExitCode) {
		closed = append(closed, len(t.events))
	}
	for _, at := range closed {
		for _, m := range full {
			if m != at && m-at <= memoryNear && at-m <= memoryNear {
				what := "the program was killed"
				if at < len(t.events) {
					what = clip(t.events[at].Text, 100)
				}
				t.add(LeafResources, "S6", "strong", what+"; near it: "+clip(t.events[m].Text, 100), at)
				return
			}
		}
	}
}

// silent is detector S7: the program ended in order, and its log shows neither a last message nor an edit, while there is
// an open plan or nothing at all was done.
func (t *trail) silent() bool {
	a := t.attempt
	if a.ExitCode != nil && *a.ExitCode != 0 || deref(a.Signal) != "" || !slices.Contains([]string{"", "self"}, deref(a.EndedBy)) {
		return false
	}
	changed := func(n *int64) bool { return n != nil && *n != 0 }
	if changed(a.LinesAdded) || changed(a.LinesDeleted) {
		return false
	}
	via := t.mainVia()
	ended := a.ExitCode != nil
	for i := len(t.events) - 1; i >= 0; i-- {
		e := &t.events[i]
		if e.Via != via {
			continue
		}
		switch {
		case e.Kind == logs.EventEnd && e.Trusted():
			ended = true
		case e.Kind == logs.EventMessage && e.Channel == logs.ChannelModel && strings.TrimSpace(e.Text) != "":
			return false
		case e.Kind == logs.EventToolCall && !planTool.MatchString(deref(e.Tool)):
			return false // it is still running
		case e.Kind == logs.EventToolResult || e.Kind == logs.EventToolCall:
			return ended && t.planOpen(via)
		}
	}
	return false
}

// planOpen says whether the last plan of the agent has open items and no call could change a file.
func (t *trail) planOpen(via string) bool {
	plan := false
	for _, c := range t.callsBy(via) {
		switch {
		case planTool.MatchString(c.tool):
			plan = openItem.MatchString(c.args)
		case c.edits() && !c.failed:
			return false
		}
	}
	return plan
}
