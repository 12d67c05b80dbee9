package classify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"

	"github.com/stint-bench/stint/logs"
)

// answer is what a judge says.
type answer struct {
	PacketID            string        `json:"packet_id"`
	Evidence            []answerQuote `json:"evidence"`
	ViolatedRequirement *string       `json:"violated_requirement"`
	FirstBadEvent       *int          `json:"first_bad_event"`
	Label               string        `json:"label"`
	RunnerUp            *string       `json:"runner_up"`
	RecoveredEvents     []int         `json:"recovered_events"`
	Need                *answerRange  `json:"need"`
	Certainty           string        `json:"certainty"`
	AbstainReason       *string       `json:"abstain_reason"`
	Summary             string        `json:"summary"`
	leaf                string        // what the label stands for
}

type answerQuote struct {
	Event string `json:"event"`
	Quote string `json:"quote"`
	Role  string `json:"role"`
}

type answerRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// answerKeys are the properties of an answer, all of them required.
var answerKeys = []string{"packet_id", "evidence", "violated_requirement", "first_bad_event", "label", "runner_up", "recovered_events", "need",
	"certainty", "abstain_reason", "summary"}

// reply is what came back from an endpoint, as it is kept.
type reply struct {
	Content   string `json:"content"`
	Refusal   string `json:"refusal,omitempty"`
	Finish    string `json:"finish_reason"`
	Model     string `json:"model"` // as the endpoint names it
	Rung      string `json:"rung"`
	Input     int64  `json:"input_tokens"`
	Cached    int64  `json:"cached_tokens"`
	Output    int64  `json:"output_tokens"`
	Reasoning int64  `json:"reasoning_tokens"`
}

// replyOf takes a response apart. The error is for one without a choice.
func replyOf(r openai.ChatCompletionResponse, rung string) (*reply, error) {
	if len(r.Choices) == 0 {
		return nil, errors.New("the answer has no choice")
	}
	c := r.Choices[0]
	out := &reply{Content: strings.ToValidUTF8(c.Message.Content, "\uFFFD"), Refusal: c.Message.Refusal, Finish: string(c.FinishReason), Model: r.Model, Rung: rung,
		Input: int64(r.Usage.PromptTokens), Output: int64(r.Usage.CompletionTokens)}
	if d := r.Usage.PromptTokensDetails; d != nil {
		out.Cached = int64(d.CachedTokens)
	}
	if d := r.Usage.CompletionTokensDetails; d != nil {
		out.Reasoning = int64(d.ReasoningTokens)
	}
	return out, nil
}

// maxAnswer bounds the content that is read as an answer.
const maxAnswer = 64 << 10

// read turns a reply into an answer; the error says why it is incomplete. An incomplete answer says nothing, not even
// that there was nothing to find.
func (r *reply) read(packet string, s *sheet) (*answer, error) {
	switch {
	case r.Refusal != "":
		return nil, errors.New("the model refused")
	case r.Finish != string(openai.FinishReasonStop):
		return nil, fmt.Errorf("the answer ended with finish_reason %q", clip(r.Finish, 30))
	case strings.TrimSpace(r.Content) == "":
		return nil, errors.New("the answer is empty")
	case len(r.Content) > maxAnswer:
		return nil, fmt.Errorf("the answer has %d bytes", len(r.Content))
	}
	text, err := objectIn(r.Content, r.Rung == rungText)
	if err != nil {
		return nil, err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, errors.New("the answer is no JSON object")
	}
	for _, k := range answerKeys {
		if _, there := keys[k]; !there {
			return nil, fmt.Errorf("the answer lacks %s", k)
		}
	}
	var a answer
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return nil, errors.New("the answer is not of the form asked for: " + clip(err.Error(), 120))
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the answer")
	}
	return &a, a.check(packet, s)
}

// objectIn finds the JSON object of an answer: the whole content, which a fence may surround; of a plain text, the one
// block in it.
func objectIn(content string, text bool) ([]byte, error) {
	c := strings.TrimSpace(content)
	if i := strings.Index(c, "```"); i >= 0 && (i == 0 || text) {
		rest := strings.TrimPrefix(strings.TrimPrefix(c[i+3:], "json"), "JSON")
		end := strings.Index(rest, "```")
		if end < 0 {
			return nil, errors.New("the block of the answer has no end")
		}
		if strings.Contains(rest[end+3:], "```") {
			return nil, errors.New("the answer has more than one block")
		}
		if after := strings.TrimSpace(rest[end+3:]); after != "" && !text {
			return nil, errors.New("something follows the answer")
		}
		return []byte(strings.TrimSpace(rest[:end])), nil
	}
	return []byte(c), nil
}

// check holds an answer to the schema and its limits.
func (a *answer) check(packet string, s *sheet) error {
	if a.PacketID != packet {
		return errors.New("the answer is about another packet")
	}
	a.leaf = s.codes[a.Label]
	switch {
	case a.leaf == "":
		return fmt.Errorf("%q is no label", clip(a.Label, 30))
	case a.RunnerUp != nil && s.codes[*a.RunnerUp] == "":
		return fmt.Errorf("%q is no label", clip(*a.RunnerUp, 30))
	case len(a.Evidence) < 1 || len(a.Evidence) > maxQuotes:
		return fmt.Errorf("the answer has %d quotes", len(a.Evidence))
	case !slices.Contains(certainties, a.Certainty):
		return fmt.Errorf("%q is no certainty", clip(a.Certainty, 30))
	case a.AbstainReason != nil && !slices.Contains(abstainReasons, *a.AbstainReason):
		return fmt.Errorf("%q is no reason to abstain", clip(*a.AbstainReason, 30))
	case len(a.RecoveredEvents) > 10*maxListed:
		return errors.New("recovered_events is too long")
	case utf8.RuneCountInString(a.Summary) > 4*maxSummary:
		return errors.New("the summary is too long")
	}
	for _, q := range a.Evidence {
		if !slices.Contains(quoteRoles, q.Role) {
			return fmt.Errorf("%q is no role of a quote", clip(q.Role, 30))
		}
		if utf8.RuneCountInString(q.Quote) > 4*maxQuoteLen {
			return errors.New("a quote is too long")
		}
	}
	return nil
}

// finding is an answer whose quotes were looked up.
type finding struct {
	*answer
	quotes []*Quote
	bad    []string // quotes that do not count, with the reason
}

func (v *verifier) look(a *answer) *finding {
	f := &finding{answer: a}
	for _, q := range a.Evidence {
		found, why := v.check(q.Event, q.Quote, q.Role)
		if found == nil {
			f.bad = append(f.bad, fmt.Sprintf("the quote %q of %s does not count: %s", clip(q.Quote, 80), clip(q.Event, 12), why))
			continue
		}
		f.quotes = append(f.quotes, found)
	}
	return f
}

// unsupported says why the quotes do not carry the label; "" if they do.
func (f *finding) unsupported() string {
	if levelOf(f.leaf) == "unknown" && f.leaf != LeafUnlisted {
		return ""
	}
	causes := 0
	for _, q := range f.quotes {
		if q.Role == "cause" {
			causes++
		}
	}
	if causes == 0 {
		return "no quote with the role cause was found in the packet"
	}
	switch levelOf(f.leaf) {
	case "drift":
		return f.driftUnsupported()
	case "infra", "bench":
		if !slices.ContainsFunc(f.quotes, func(q *Quote) bool { return q.Role != "counter" && q.carries() }) {
			return "no quote comes from a channel that the agent could not write to (harness, provider, verifier, system)"
		}
	}
	return ""
}

// driftUnsupported: a failing check must be quoted, and the clause it breaks be named.
func (f *finding) driftUnsupported() string {
	clause := deref(f.ViolatedRequirement)
	for _, q := range f.quotes {
		if q.Item.check == nil || q.Role == "counter" {
			continue
		}
		if f.leaf == LeafBrokenServer && clause == "" || clause != "" && slices.Contains(q.Item.check.Clauses, clause) {
			return ""
		}
	}
	return "no failing check (k1, k2, …) of the clause in violated_requirement is quoted"
}

// carries says whether a quote can move blame away from the agent: its channel is trusted, or it is the output of a tool
// with the exit code of a failure.
func (q *Quote) carries() bool {
	it := q.Item
	if it.Trusted {
		return it.Kind == kindEvent || it.Kind == kindFacts
	}
	if it.check != nil {
		// The expectation is the suite's word, the answer the agent's.
		_, after, _ := strings.Cut(normalise(it.text.text).text, " expected: ")
		expected, _, whole := strings.Cut(after, " actual: ")
		return whole && strings.Contains(expected, q.Text)
	}
	e := it.event
	return e != nil && e.Kind == logs.EventToolResult && e.ExitCode != nil && *e.ExitCode != 0
}

// contradicts says what is known for certain that a label does not agree with; "" if nothing.
func (f *finding) contradicts(known *failure) string {
	has := func(is func(e *logs.EventRow) bool) bool {
		for i := range known.events {
			if is(&known.events[i]) {
				return true
			}
		}
		return false
	}
	for _, c := range known.recovered {
		if c.leaf == f.leaf {
			return "the agent got over this"
		}
	}
	switch f.leaf {
	case LeafBroadKill:
		if !has(func(e *logs.EventRow) bool {
			return e.Kind == logs.EventToolCall && broadKill(commandOf(e.Text)) != nil
		}) {
			return "no command that kills is among the calls"
		}
	case LeafCompaction:
		found := slices.ContainsFunc(known.trail.found, func(c candidate) bool { return c.leaf == LeafCompaction })
		if !found && !has(func(e *logs.EventRow) bool { return e.Kind == logs.EventCompaction }) {
			return "there was no compaction"
		}
	case LeafChangeMissed, LeafForgotten:
		k := known.clauses.byID[deref(f.ViolatedRequirement)]
		if k == nil {
			return "the clause is not known"
		}
		if fresh := known.clauses.fresh(k); fresh != (f.leaf == LeafChangeMissed) {
			return "the clause is of another turn than the label says"
		}
	}
	return ""
}
