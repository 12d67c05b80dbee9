package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// Completer is a chat model, as go-openai's own client is one.
type Completer interface {
	CreateChatCompletion(ctx context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error)
}

// Limits of a model's part in a scenario.
const (
	MaxListed   = 24       // instances that a model may choose among
	maxResample = 3        // further requests in one turn after an answer that is no valid choice
	maxAnswer   = 16 << 10 // bytes of an answer that are read and kept
	maxTitle    = 80       // characters
	maxReason   = 400
)

// Who decided a turn.
const (
	DecidedByModel = "model"
	DecidedByRules = "rules"
)

// Chooser lets a model choose the operations of a scenario. The model may choose one of the valid operations that are listed
// for a turn, name what it adds or renames, and say what it thinks; texts, limits and clauses stay those of the rules.
type Chooser struct {
	Model Completer
	// Invalid says whether an error of Model is a bad answer (and not one that never came), so that it is asked
	// again; nil = no error is.
	Invalid func(error) bool
	// Log is called with every request before the next is made; an error of it ends the sampling. nil = nobody listens.
	Log func(Asked) error
	// Past are the requests of an earlier sampling of the same scenario that was interrupted: turns they decide are not
	// asked again.
	Past []Asked
}

// Asked is one request to a choosing model: a line of the transcript.
type Asked struct {
	Turn   int      `json:"turn"`
	Try    int      `json:"try"`             // from 0
	Listed []string `json:"listed"`          // ids of the operations, in the order in which they were listed as o1, o2, …
	Prompt string   `json:"prompt"`          // what the model was told last: the list, or why its answer was refused
	Answer string   `json:"answer"`          // as it came, at most 16 kB
	Model  string   `json:"model,omitempty"` // as the answer names it
	Finish string   `json:"finish,omitempty"`
	Error  string   `json:"error,omitempty"`  // why the answer is no valid choice
	By     string   `json:"by,omitempty"`     // who decided the turn, if this request did: model or rules
	Choice string   `json:"choice,omitempty"` // id of the operation decided on
	Name   string   `json:"name,omitempty"`   // that the model gave
	Title  string   `json:"title,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// Choose draws a scenario whose operations a model chooses. The schedule stays: under the stratified one, only operations of
// the turn's label are listed. An answer that is no valid choice is asked for again, with the reason, up to three times; then
// the rule sampler decides. An error of the model that is no answer ends the sampling.
func Choose(ctx context.Context, opt Options, c *Chooser) (*Scenario, error) {
	sc, err := begin(&opt)
	if err != nil {
		return nil, err
	}
	past := map[int][]Asked{}
	for _, a := range c.Past {
		past[a.Turn] = append(past[a.Turn], a)
	}
	for turn := 1; turn <= opt.Changes; turn++ {
		before := sc.Steps[turn-1].Schema
		t := &turnChoice{chooser: c, opt: opt, before: before, turn: turn, done: sc.Steps}
		op, next, err := t.decide(ctx, past[turn])
		if err != nil {
			return nil, fmt.Errorf("choosing turn %d of scenario %s: %w", turn, opt.Name, err)
		}
		sc.Steps = append(sc.Steps, nextStep(opt, before, next, op, turn))
	}
	return sc, nil
}

// turnChoice is the choice of one operation.
type turnChoice struct {
	chooser *Chooser
	opt     Options
	before  *Schema
	turn    int
	done    []Step // the turns before
	listed  []Operation
}

// decide asks until there is a valid choice or the model has had its tries.
func (t *turnChoice) decide(ctx context.Context, past []Asked) (Operation, *Schema, error) {
	if err := t.list(); err != nil {
		return Operation{}, nil, err
	}
	prompt := t.prompt()
	messages := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: ChooserTask},
		{Role: openai.ChatMessageRoleUser, Content: prompt},
	}
	for try := 0; ; try++ {
		a := Asked{Turn: t.turn, Try: try, Listed: t.ids(), Prompt: prompt}
		known := try < len(past) && past[try].Prompt == prompt
		if known {
			a = past[try]
		} else if err := t.ask(ctx, messages, &a); err != nil {
			return Operation{}, nil, err
		}
		op, next, bad := t.read(&a)
		switch {
		case bad == nil:
			a.By, a.Choice = DecidedByModel, op.ID
		case try == maxResample:
			var err error
			if op, next, err = drawOperation(t.opt, t.before, t.turn); err != nil {
				return Operation{}, nil, err
			}
			a.By, a.Choice = DecidedByRules, op.ID
			fallthrough
		default:
			a.Error = bad.Error()
		}
		if t.chooser.Log != nil && !known {
			if err := t.chooser.Log(a); err != nil {
				return Operation{}, nil, err
			}
		}
		if a.By != "" {
			return op, next, nil
		}
		prompt = fmt.Sprintf(chooserAgain, a.Error)
		messages = append(messages,
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: orDots(a.Answer)},
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: prompt})
	}
}

// orDots stands for an empty answer, which some servers refuse to be shown.
func orDots(answer string) string {
	if strings.TrimSpace(answer) == "" {
		return "..."
	}
	return answer
}

// ask makes one request and takes down what came back.
func (t *turnChoice) ask(ctx context.Context, messages []openai.ChatCompletionMessage, a *Asked) error {
	resp, err := t.chooser.Model.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Messages: messages,
		ResponseFormat: &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "choice", Schema: t.answerSchema(), Strict: true},
		},
	})
	switch {
	case err != nil && ctx.Err() == nil && t.chooser.Invalid != nil && t.chooser.Invalid(err):
		a.Error = "the answer cannot be read: " + oneLine(err.Error(), maxReason)
		return nil
	case err != nil:
		return err
	}
	a.Model = oneLine(resp.Model, maxTitle)
	if len(resp.Choices) > 0 {
		a.Answer = cut(resp.Choices[0].Message.Content, maxAnswer)
		a.Finish = oneLine(string(resp.Choices[0].FinishReason), maxTitle)
	}
	return nil
}

func (t *turnChoice) ids() []string {
	ids := make([]string, len(t.listed))
	for i, op := range t.listed {
		ids[i] = op.ID
	}
	return ids
}

// answerSchema is the JSON schema of an answer.
func (t *turnChoice) answerSchema() json.RawMessage {
	words := make([]string, len(t.listed))
	for i := range t.listed {
		words[i] = listedAs(i)
	}
	return json.RawMessage(marshal(object{
		"type": "object", "additionalProperties": false,
		"required": []string{"choice", "rename", "title", "reason"},
		"properties": object{
			"choice": object{"type": "string", "enum": words},
			"rename": object{"anyOf": []any{
				object{"type": "null"},
				object{"type": "object", "additionalProperties": false, "required": []string{"name"}, "properties": object{"name": object{"type": "string"}}},
			}},
			"title":  object{"type": "string"},
			"reason": object{"type": "string"},
		},
	}))
}
