package classify

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stint-bench/stint/logs"
)

// Detector is a structural detector: what it looks for cannot be said by a pattern, so the engine has it. The book says
// what it names, and holds it to examples: short attempts that it must and must not call fatal.
type Detector struct {
	ID       string    `yaml:"id"` // S1 to S7
	Leaf     string    `yaml:"leaf"`
	Says     string    `yaml:"says"`
	Positive []Example `yaml:"positive"`
	Negative []Example `yaml:"negative"`
}

// Example is an attempt in short: one event a line, in words such as "call pkill node", "result done", "provider 400 no",
// and what is known of its end, "end cut signal=SIGTERM".
type Example []string

// detectorIDs are those that the engine has.
var detectorIDs = []string{"S1", "S2", "S3", "S4", "S5", "S6", "S7"}

// checkDetectors holds the detectors to their examples. What names the one that is wrong.
func (t *Taxonomy) checkDetectors() (what string, err error) {
	for i := range t.Detectors {
		d := &t.Detectors[i]
		switch {
		case !slices.Contains(detectorIDs, d.ID) || slices.ContainsFunc(t.Detectors[:i], func(o Detector) bool { return o.ID == d.ID }):
			return d.ID, fmt.Errorf("detector %d is none of %s, or is there twice", i+1, strings.Join(detectorIDs, ", "))
		case t.leaves[d.Leaf] == nil:
			return d.ID, fmt.Errorf("%q is no leaf", d.Leaf)
		case d.Says == "" || len(d.Positive) < 1 || len(d.Negative) < 2:
			return d.ID, errors.New("a detector needs says, at least one positive and two negative examples")
		}
		for n, list := range [][]Example{d.Negative, d.Positive} {
			for _, x := range list {
				tr, err := x.trail(t)
				if err != nil {
					return d.ID, err
				}
				if got := tr.detects(d.ID, d.Leaf); got != (n == 1) {
					return d.ID, fmt.Errorf("on the example %q it says %t", strings.Join(x, " / "), got)
				}
			}
		}
	}
	if len(t.Detectors) != len(detectorIDs) {
		return "detectors", fmt.Errorf("the engine has %s; the book has %d of them", strings.Join(detectorIDs, ", "), len(t.Detectors))
	}
	return "", nil
}

// detects says whether a detector finds its leaf in what ended the attempt; S1 judges an alarm instead.
func (t *trail) detects(id, leaf string) bool {
	if id == "S1" {
		return t.guard(len(t.events)) == guardJustified
	}
	if id == "S4" {
		return t.stale() != nil
	}
	fatal, _ := t.weigh()
	return slices.ContainsFunc(fatal, func(c candidate) bool { return c.rule == id && c.leaf == leaf })
}

// trail makes the attempt of an example.
func (x Example) trail(book *Taxonomy) (*trail, error) {
	a := &logs.AttemptRow{}
	var events []logs.EventRow
	harness := ""
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for n, line := range x {
		word, text, _ := strings.Cut(line, " ")
		e := logs.EventRow{Seq: n, Via: logs.ViaReader, Actor: "harness", Channel: logs.ChannelHarness, Text: text, Time: ptr(now.Add(time.Duration(n) * time.Minute))}
		id := strconv.Itoa(n)
		switch word {
		case "call", "tool":
			e.Actor, e.Channel, e.Kind, e.CallID = "model", logs.ChannelModel, logs.EventToolCall, &id
			if e.Tool = ptr("bash"); word == "tool" {
				name, args, _ := strings.Cut(text, " ")
				e.Tool, e.Text = &name, args
			}
		case "result", "failed", "limited":
			e.Actor, e.Channel, e.Kind, e.CallID = "tool", logs.ChannelTool, logs.EventToolResult, lastCallID(events)
			if word == "failed" {
				code, rest, _ := strings.Cut(text, " ")
				c, err := strconv.Atoi(code)
				if err != nil {
					return nil, fmt.Errorf("the example line %q: failed needs an exit code", line)
				}
				e.ExitCode, e.Text = &c, rest
			}
			if word == "limited" {
				events = append(events, logs.EventRow{Via: logs.ViaReader, Channel: logs.ChannelHarness, Kind: logs.EventNotice, CallID: e.CallID, Text: "tool_end: by=limit"})
			}
		case "says":
			e.Actor, e.Channel, e.Kind = "model", logs.ChannelModel, logs.EventMessage
		case "prompt":
			e.Channel, e.Kind = logs.ChannelPrompt, logs.EventMessage
		case "error":
			e.Kind = logs.EventError
		case "notice":
			e.Kind = logs.EventNotice
		case "provider":
			code, rest, _ := strings.Cut(text, " ")
			c, err := strconv.Atoi(code)
			if err != nil {
				return nil, fmt.Errorf("the example line %q: provider needs a status", line)
			}
			e.Actor, e.Channel, e.Kind, e.HTTPStatus, e.Text = "provider", logs.ChannelProvider, logs.EventError, &c, rest
		case "compaction":
			e.Kind = logs.EventCompaction
		case "over":
			e.Kind = logs.EventEnd
		case "end":
			if err := endOf(a, text, &harness); err != nil {
				return nil, fmt.Errorf("the example line %q: %w", line, err)
			}
			continue
		default:
			return nil, fmt.Errorf("the example line %q begins with no word that is known", line)
		}
		events = append(events, e)
	}
	return newTrail(book, harness, a, events), nil
}

func lastCallID(events []logs.EventRow) *string {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind == logs.EventToolCall {
			return events[i].CallID
		}
	}
	return nil
}

// endOf reads what is known of an end: cut by=self signal=SIGTERM code=1 harness=codex lines=0.
func endOf(a *logs.AttemptRow, text string, harness *string) error {
	for _, w := range strings.Fields(text) {
		k, v, pair := strings.Cut(w, "=")
		switch {
		case !pair && slices.Contains([]string{completionClean, completionCut, completionEmpty, completionNeverStarted}, k):
			a.Completion = &k
		case k == "by":
			a.EndedBy = &v
		case k == "signal":
			a.Signal = &v
		case k == "harness":
			*harness = v
		case k == "code" || k == "lines" || k == "seconds":
			n, err := strconv.Atoi(v)
			if err != nil {
				return fmt.Errorf("%s is no number", w)
			}
			switch k {
			case "code":
				a.ExitCode = &n
			case "lines":
				a.LinesAdded, a.LinesDeleted = ptr(int64(n)), ptr(int64(0))
			default:
				a.AgentS = ptr(float64(n))
			}
		default:
			return fmt.Errorf("%q is no word of an end", w)
		}
	}
	return nil
}
