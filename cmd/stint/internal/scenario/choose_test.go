package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"
)

// scripted is a model that answers by a function of the requests so far.
type scripted struct {
	answer   func(n int, r openai.ChatCompletionRequest) (string, error)
	requests []openai.ChatCompletionRequest
}

func (m *scripted) CreateChatCompletion(_ context.Context, r openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	m.requests = append(m.requests, r)
	text, err := m.answer(len(m.requests)-1, r)
	if err != nil {
		return openai.ChatCompletionResponse{}, err
	}
	return openai.ChatCompletionResponse{Model: "tiny-1", Choices: []openai.ChatCompletionChoice{{FinishReason: "stop", Message: openai.ChatCompletionMessage{Content: text}}}}, nil
}

const goodAnswer = `{"choice": "o1", "rename": null, "title": "something new", "reason": "it was time"}`

func choose(t *testing.T, opt Options, m *scripted, past []Asked) (*Scenario, []Asked, error) {
	t.Helper()
	var log []Asked
	sc, err := Choose(t.Context(), opt, &Chooser{Model: m, Past: past, Log: func(a Asked) error { log = append(log, a); return nil },
		Invalid: func(err error) bool { return errors.Is(err, errBadAnswer) }})
	return sc, log, err
}

var errBadAnswer = errors.New("no JSON")

// A model chooses among valid operations of the scheduled label, and the scenario can be made again without it.
func TestChoose(t *testing.T) {
	for _, schedule := range []string{ScheduleStratified, ScheduleIID} {
		opt := Options{Seed: 3, Changes: 20, Name: "s01", Schedule: schedule}
		m := &scripted{answer: func(n int, _ openai.ChatCompletionRequest) (string, error) {
			return fmt.Sprintf(`{"choice": "o%d", "rename": null, "title": "change %d", "reason": "why not"}`, 1+n%2, n+1), nil
		}}
		sc, log, err := choose(t, opt, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]bool{}
		var ops []Operation
		for turn, a := range log {
			op := sc.Steps[turn+1].Operation
			if a.Turn != turn+1 || a.By != DecidedByModel || a.Choice != op.ID || a.Model != "tiny-1" || op.Title != fmt.Sprintf("change %d", turn+1) {
				t.Errorf("turn %d: %+v", turn+1, a)
			}
			if len(a.Listed) == 0 || len(a.Listed) > MaxListed || len(slices.Compact(slices.Sorted(slices.Values(a.Listed)))) != len(a.Listed) {
				t.Errorf("turn %d lists %d operations", turn+1, len(a.Listed))
			}
			for _, id := range a.Listed {
				name, _, _ := strings.Cut(id, ":")
				label := operationNamed(name).label
				labels[label] = true
				if schedule == ScheduleStratified && label != scheduled(3, turn+1) && label != op.Label {
					t.Errorf("turn %d: %s has the label %s, scheduled is %s", turn+1, id, label, scheduled(3, turn+1))
				}
			}
			ops = append(ops, op)
		}
		if len(log) != 20 || len(labels) < 5 {
			t.Errorf("%s: %d requests, labels %v", schedule, len(log), labels)
		}
		again, err := Replay(Options{Seed: 3, Name: "s01"}, ops)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sc, again); diff != "" {
			t.Errorf("%s: without the model (-chosen +replayed):\n%s", schedule, diff)
		}
		shape := m.requests[0].ResponseFormat.JSONSchema
		var form struct {
			Properties struct {
				Choice struct{ Enum []string }
			}
		}
		if raw, err := shape.Schema.MarshalJSON(); err != nil || json.Unmarshal(raw, &form) != nil || len(form.Properties.Choice.Enum) != len(log[0].Listed) {
			t.Errorf("the JSON schema lists %v", form)
		}
	}
}

// Every bad answer is refused with a reason that the model is shown, logged, and in the end the rules decide.
func TestChooseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"no JSON":       {"I would take o1.", "it is not one JSON object"},
		"empty":         {" \n", "it is empty"},
		"a list":        {`["o1"]`, "it is not one JSON object"},
		"two objects":   {goodAnswer + goodAnswer, "it is not one JSON object"},
		"cut off":       {goodAnswer[:40], "it is not one JSON object"},
		"fenced":        {"```json\n" + goodAnswer + "\n```", "it is not one JSON object"},
		"unknown id":    {strings.Replace(goodAnswer, "o1", "o99", 1), `choice "o99" is not in the list`},
		"a number":      {strings.Replace(goodAnswer, `"o1"`, `1`, 1), "it does not fit the form"},
		"no title":      {strings.Replace(goodAnswer, "something new", "", 1), "the title is empty"},
		"long title":    {strings.Replace(goodAnswer, "something new", strings.Repeat("x", 81), 1), "the title is empty, longer"},
		"two lines":     {strings.Replace(goodAnswer, "something new", `a\nb`, 1), "the title is"},
		"escapes":       {strings.Replace(goodAnswer, "it was time", `\u001b[2J`, 1), "the reason is"},
		"missing key":   {`{"choice": "o1", "title": "x"}`, `the key "reason" is missing`},
		"further key":   {strings.Replace(goodAnswer, "{", `{"operation": "drop everything", `, 1), "unknown field"},
		"reserved name": {strings.Replace(goodAnswer, "null", `{"name": "id"}`, 1), `name "id" is reserved`},
		"bad name":      {strings.Replace(goodAnswer, "null", `{"name": "Robert'); DROP TABLE"}`, 1), "is not lower-case words"},
		"taken name":    {strings.Replace(goodAnswer, "null", `{"name": "TAKEN"}`, 1), ""},
	} {
		opt := Options{Seed: 3, Changes: 1, Name: "s01"}
		for opt.Seed = 1; scheduled(opt.Seed, 1) != "A"; opt.Seed++ {
		}
		want, err := Generate(opt)
		if err != nil {
			t.Fatal(err)
		}
		answer := strings.Replace(c.answer, "TAKEN", want.Steps[0].Schema.Entities[0].Fields[0].Name, 1)
		m := &scripted{answer: func(int, openai.ChatCompletionRequest) (string, error) { return answer, nil }}
		sc, log, err := choose(t, opt, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name == "taken name" {
			// Whether the name is taken depends on what is chosen: the result must be well-formed either way.
			if err := sc.Steps[1].Schema.Validate(); err != nil {
				t.Error(err)
			}
			continue
		}
		if len(log) != 4 || log[3].By != DecidedByRules || log[3].Try != 3 {
			t.Errorf("%s: %d requests, the last %+v", name, len(log), log[len(log)-1])
			continue
		}
		for i, a := range log {
			if !strings.Contains(a.Error, c.want) || a.Answer != answer {
				t.Errorf("%s: error %q, want %q", name, a.Error, c.want)
			}
			if i > 0 && !strings.Contains(m.requests[i].Messages[len(m.requests[i].Messages)-1].Content, log[i-1].Error) {
				t.Errorf("%s: the model is not told %q", name, log[i-1].Error)
			}
		}
		if diff := cmp.Diff(want.Steps[1].Operation, sc.Steps[1].Operation); diff != "" {
			t.Errorf("%s: the rules decided otherwise:\n%s", name, diff)
		}
	}
}

// A model may name what an operation adds or renames, and a wrong answer can be mended.
func TestChooseNames(t *testing.T) {
	named := 0
	for seed := uint64(1); seed <= 30; seed++ {
		m := &scripted{}
		m.answer = func(n int, r openai.ChatCompletionRequest) (string, error) {
			if n%2 == 0 {
				return "{", nil
			}
			return `{"choice": "o2", "rename": {"name": "zebra_crossing"}, "title": "zebras", "reason": "zoo"}`, nil
		}
		sc, log, err := choose(t, Options{Seed: seed, Changes: 1}, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		op := sc.Steps[1].Operation
		if log[len(log)-1].By == DecidedByRules {
			if !strings.Contains(log[1].Error, "rename must be null") {
				t.Errorf("seed %d: %s", seed, log[1].Error)
			}
			continue
		}
		named++
		if name, ok := namable(op); !ok || name != "zebra_crossing" || !strings.Contains(sc.Steps[1].Spec, "zebra_crossing") || op.ID != OperationID(op.Name, op.Params) {
			t.Errorf("seed %d: %+v", seed, op)
		}
		if log[1].Name != "zebra_crossing" || len(log) != 2 {
			t.Errorf("seed %d: %+v", seed, log)
		}
	}
	if named < 7 {
		t.Errorf("only %d of 30 operations were named", named)
	}
}

// An interrupted sampling goes on from its transcript and asks no turn again.
func TestChooseResumes(t *testing.T) {
	opt := Options{Seed: 9, Changes: 8, Name: "s01"}
	answer := func(n int, _ openai.ChatCompletionRequest) (string, error) {
		if n%3 == 1 {
			return "", fmt.Errorf("decoding: %w", errBadAnswer)
		}
		return goodAnswer, nil
	}
	whole := &scripted{answer: answer}
	want, log, err := choose(t, opt, whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k := range log {
		rest := &scripted{answer: func(n int, r openai.ChatCompletionRequest) (string, error) { return answer(n+k, r) }}
		got, more, err := choose(t, opt, rest, log[:k])
		if err != nil {
			t.Fatal(err)
		}
		if len(more) != len(log)-k || len(rest.requests) != len(log)-k {
			t.Errorf("after %d of %d requests, %d were made", k, len(log), len(rest.requests))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d requests another scenario:\n%s", k, diff)
		}
	}
	gone := errors.New("no route to the model")
	_, _, err = choose(t, opt, &scripted{answer: func(int, openai.ChatCompletionRequest) (string, error) { return "", gone }}, nil)
	if !errors.Is(err, gone) {
		t.Errorf("a model that cannot be reached: %v", err)
	}
}
