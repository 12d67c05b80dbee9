package logs

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// A conversation is one attempt as a chat: what was asked, what the model answered and called, what its tools gave.
// Texts are whole, secrets in them are replaced.
type conversation struct {
	row    *AttemptRow
	prompt string
	began  *time.Time
	steps  []chatStep
}

// The sources of steps.
const (
	bySystem = "system"
	byUser   = "user"
	byAgent  = "agent"
)

type chatStep struct {
	by     string
	kind   string // of the event, for a step of the system
	time   *time.Time
	texts  []string
	tokens Tokens
	uses   []toolUse
}

type toolUse struct {
	id, name, arguments, output string
	exit                        *int
	ended, failed               bool
}

func (s *chatStep) text() string { return strings.Join(s.texts, "\n\n") }

// readConversation reads an attempt of a run directory.
func readConversation(d *RunDir, a *AttemptRow) (*conversation, error) {
	lines, err := attemptLines(d, a)
	if err != nil {
		return nil, fmt.Errorf("reading the attempt at byte %d of %s: %w", a.Offset, a.File, err)
	}
	blobs := existingBlobs(d, a.Episode)
	c := &conversation{row: a}
	if err := c.asked(d, blobs); err != nil {
		return nil, fmt.Errorf("reading the prompt at byte %d of %s: %w", a.Offset, a.File, err)
	}
	b := newEventBuilder(a, blobs)
	b.whole = true
	events, _ := b.ofAttempt(lines)
	via := ViaReader
	for i := range events {
		if events[i].Via == ViaGateway {
			via = ViaGateway // it has seen every request, in every program
			break
		}
	}
	for i := range events {
		if e := &events[i]; e.Via == via || e.Via == ViaJournal {
			e.Text = Redact(e.Text)
			c.event(e)
		}
	}
	return c, nil
}

// attemptStart reads the record that began an attempt, at the place of its row.
func attemptStart(d *RunDir, a *AttemptRow) (AttemptStart, *time.Time, error) {
	f, err := openRegular(filepath.Join(d.EpisodeDir(a.Episode), JournalName))
	if err != nil {
		return AttemptStart{}, nil, err
	}
	defer f.Close()
	if _, err := f.Seek(a.Offset, io.SeekStart); err != nil {
		return AttemptStart{}, nil, err
	}
	line, err := readLine(bufio.NewReader(f))
	if err != nil && err != io.EOF {
		return AttemptStart{}, nil, err
	}
	rec, err := parseEnvelope(line, max(len(line)-chainTail, 0))
	if err != nil {
		return AttemptStart{}, nil, err
	}
	start, err := Decode[AttemptStart](rec)
	return start, wallTime(rec.TWall), err
}

// asked reads what the agent was told.
func (c *conversation) asked(d *RunDir, blobs *Blobs) error {
	start, began, err := attemptStart(d, c.row)
	c.began = began
	if err != nil || blobs == nil {
		return err
	}
	p, err := blobs.getMax(start.PromptSHA, maxEventBlob)
	if err != nil {
		c.prompt = fmt.Sprintf("(the prompt cannot be read: %v)", err)
		return nil
	}
	c.prompt = Redact(strings.ToValidUTF8(string(p), "\uFFFD"))
	return nil
}

// agent is the step to which the agent's next word belongs: a new one after tools have answered.
func (c *conversation) agent(e *EventRow) *chatStep {
	if n := len(c.steps); n > 0 {
		s := &c.steps[n-1]
		open := s.by == byAgent
		for i := range s.uses {
			open = open && !s.uses[i].ended
		}
		if open {
			return s
		}
	}
	return c.begin(byAgent, e)
}

func (c *conversation) begin(by string, e *EventRow) *chatStep {
	c.steps = append(c.steps, chatStep{by: by, kind: e.Kind, time: e.Time})
	return &c.steps[len(c.steps)-1]
}

// acted says whether the agent has done anything yet.
func (c *conversation) acted() bool {
	for i := range c.steps {
		if c.steps[i].by == byAgent {
			return true
		}
	}
	return false
}

func (c *conversation) event(e *EventRow) {
	switch e.Kind {
	case EventModelRequest, EventServerLog, EventBuildLog:
		return // the agent did not see these
	case EventMessage:
		c.message(e)
	case EventModelAnswer:
		c.begin(byAgent, e).tokens = e.Tokens
	case EventUsage:
		if e.Via != ViaJournal {
			c.agent(e).tokens = e.Tokens
		}
	case EventToolCall:
		s := c.agent(e)
		s.uses = append(s.uses, toolUse{id: orEmpty(e.CallID), name: orEmpty(e.Tool), arguments: e.Text})
	case EventToolResult:
		c.gave(e, e.Text, false)
	case EventRejectedCall:
		c.gave(e, "The call was not run: "+e.Text, true)
	default:
		c.begin(bySystem, e).texts = []string{strings.Join(nonEmpty(e.Kind, e.Text), ": ")}
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *conversation) message(e *EventRow) {
	switch {
	case e.Channel != ChannelPrompt:
		s := c.agent(e)
		s.texts = append(s.texts, e.Text)
	case strings.TrimSpace(e.Text) == strings.TrimSpace(c.prompt) || !c.acted() && c.prompt != "" && strings.Contains(e.Text, strings.TrimSpace(c.prompt)):
		// It stands at the beginning.
	case !c.acted():
		c.begin(bySystem, e).texts = []string{e.Text}
	default:
		c.begin(byUser, e).texts = []string{e.Text}
	}
}

// gave ends a call. One that nobody has told of before is told with its result.
func (c *conversation) gave(e *EventRow, output string, failed bool) {
	id := orEmpty(e.CallID)
	var use *toolUse
	for i := len(c.steps) - 1; i >= 0 && use == nil; i-- {
		for k := range c.steps[i].uses {
			if u := &c.steps[i].uses[k]; !u.ended && (u.id == id || id == "") {
				use = u
				break
			}
		}
	}
	if use == nil {
		s := c.agent(e)
		s.uses = append(s.uses, toolUse{id: id, name: orEmpty(e.Tool)})
		use = &s.uses[len(s.uses)-1]
	}
	use.output, use.exit, use.ended, use.failed = output, e.ExitCode, true, failed
}
