package logs

import (
	"context"
	"encoding/json"
	"time"
)

// atifVersion is the version of the format that is written.
const atifVersion = "ATIF-v1.6"

// ExportATIF writes every episode as a trajectory of the Agent Trajectory Interchange Format
// (https://www.harborframework.com/docs/agents/trajectory-format), one file OUT/CONFIG/SCENARIO-REPEAT.json: its
// prompts as steps of the user, the answers and calls of the model with tokens and results, and what stint's grader said
// as steps of the system. prompt_tokens hold cached tokens and those written to a cache, as the format wants. What the
// format has no place for is under extra.stint: the outcome of the episode in the trajectory, turn, attempt and grade
// in the steps that begin an attempt. Secrets are replaced. out must not exist.
func ExportATIF(ctx context.Context, d *RunDir, t *Tables, out string, opt ExportOptions) error {
	return export(ctx, d, t, out, opt, func(x *exporting) error {
		return x.episodes(ctx, func(e *exportEpisode) error {
			doc, err := x.atif(e)
			if err != nil {
				return err
			}
			path, err := x.file(e.EpisodeRow, ".json")
			if err != nil {
				return err
			}
			return writeNewJSON(path, doc)
		})
	})
}

type atifOut struct {
	Version string        `json:"schema_version"`
	Session string        `json:"session_id"`
	Agent   atifOutAgent  `json:"agent"`
	Steps   []atifOutStep `json:"steps"`
	Notes   string        `json:"notes"`
	Final   atifOutFinal  `json:"final_metrics"`
	Extra   atifOutExtra  `json:"extra"`
}

type atifOutAgent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Model   string `json:"model_name"`
}

type atifOutExtra struct {
	Stint any `json:"stint"`
}

type atifOutFinal struct {
	Prompt     *int64   `json:"total_prompt_tokens,omitempty"`
	Completion *int64   `json:"total_completion_tokens,omitempty"`
	Cached     *int64   `json:"total_cached_tokens,omitempty"`
	Cost       *float64 `json:"total_cost_usd,omitempty"`
	Steps      int      `json:"total_steps"`
}

type atifOutStep struct {
	ID          int                 `json:"step_id"`
	Timestamp   string              `json:"timestamp,omitempty"`
	Source      string              `json:"source"`
	Model       string              `json:"model_name,omitempty"`
	Message     string              `json:"message"`
	Calls       []atifOutCall       `json:"tool_calls,omitempty"`
	Observation *atifOutObservation `json:"observation,omitempty"`
	Metrics     *atifOutMetrics     `json:"metrics,omitempty"`
	Extra       *atifOutExtra       `json:"extra,omitempty"`
}

type atifOutCall struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

type atifOutObservation struct {
	Results []atifOutResult `json:"results"`
}

type atifOutResult struct {
	CallID  string         `json:"source_call_id"`
	Content string         `json:"content"`
	Extra   map[string]int `json:"extra,omitempty"`
}

type atifOutMetrics struct {
	Prompt     *int64           `json:"prompt_tokens,omitempty"`
	Completion *int64           `json:"completion_tokens,omitempty"`
	Cached     *int64           `json:"cached_tokens,omitempty"`
	Extra      map[string]int64 `json:"extra,omitempty"`
}

func (x *exporting) atif(e *exportEpisode) (*atifOut, error) {
	doc := &atifOut{
		Version: atifVersion, Session: e.Episode, Notes: "exported by stint " + x.opt.Version,
		Agent: atifOutAgent{e.Harness, e.HarnessVersion, e.Model}, Extra: atifOutExtra{exportedRunOf(e.EpisodeRow)},
	}
	for _, a := range e.attempts {
		c, err := readConversation(x.run, a)
		if err != nil {
			return nil, err
		}
		doc.conversation(e, c)
	}
	for i := range doc.Steps {
		doc.Steps[i].ID = i + 1
	}
	doc.Final = atifOutFinal{Completion: e.Output, Cached: e.Cached, Cost: e.CostUSD, Steps: len(doc.Steps), Prompt: promptTokens(e.Tokens)}
	return doc, nil
}

// promptTokens are all that were sent, cached or not; nil if it is unknown how many.
func promptTokens(t Tokens) *int64 {
	if t.Input == nil {
		return nil
	}
	n := *t.Input + number(t.Cached) + number(t.CacheWrite)
	return &n
}

func (doc *atifOut) conversation(e *exportEpisode, c *conversation) {
	graded := e.graded(c.row)
	doc.Steps = append(doc.Steps, atifOutStep{Source: byUser, Timestamp: atifTime(c.began), Message: c.prompt, Extra: &atifOutExtra{e.exported(c.row)}})
	for i := range c.steps {
		s := &c.steps[i]
		step := atifOutStep{Source: s.by, Timestamp: atifTime(s.time), Message: s.text()}
		if s.by == byAgent {
			step.Model = e.Model
			step.Metrics = atifMetrics(s.tokens)
		}
		for k := range s.uses {
			u := &s.uses[k]
			step.Calls = append(step.Calls, atifOutCall{u.id, u.name, argumentsObject(u.arguments)})
			if !u.ended {
				continue
			}
			if step.Observation == nil {
				step.Observation = &atifOutObservation{}
			}
			r := atifOutResult{CallID: u.id, Content: u.output}
			if u.exit != nil {
				r.Extra = map[string]int{"exit_code": *u.exit}
			}
			if u.failed {
				r.Content += "\n" + atifFailed
			}
			step.Observation.Results = append(step.Observation.Results, r)
		}
		doc.Steps = append(doc.Steps, step)
	}
	doc.Steps = append(doc.Steps, atifOutStep{Source: bySystem, Message: graded})
}

func atifTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(wallLayout)
}

func atifMetrics(t Tokens) *atifOutMetrics {
	m := &atifOutMetrics{Prompt: promptTokens(t), Completion: t.Output, Cached: t.Cached}
	if m.Prompt == nil && m.Completion == nil {
		return nil
	}
	m.Extra = map[string]int64{}
	if t.CacheWrite != nil {
		m.Extra["cache_creation_input_tokens"] = *t.CacheWrite
	}
	if t.Reasoning != nil {
		m.Extra["reasoning_output_tokens"] = *t.Reasoning
	}
	return m
}

// argumentsObject is what the model wrote as arguments, if that is a JSON object; else an object that holds it.
func argumentsObject(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err == nil && object != nil {
		return json.RawMessage(arguments)
	}
	b, err := json.Marshal(map[string]string{"arguments": arguments})
	if err != nil {
		panic(err) // a map of texts always encodes
	}
	return b
}
