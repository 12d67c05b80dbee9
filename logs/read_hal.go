package logs

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

func halFormat() Format {
	return Format{Name: "hal", Title: "HAL harness upload", Unverified: true, recognise: claimHAL, read: readHAL}
}

func claimHAL(h *head) (claim, bool) {
	d := h.document()
	if d == nil || !(d.has("config.agent_name", "config.benchmark_name") || d.has("raw_eval_results", "raw_logging_results") || d.has("config", "results", "raw_eval_results")) {
		return claim{}, false
	}
	return claim{part: "upload.json"}, true
}

type halUpload struct {
	Metadata struct {
		Run string `json:"run_id"`
	} `json:"metadata"`
	Config struct {
		Agent     string         `json:"agent_name"`
		Benchmark string         `json:"benchmark_name"`
		Run       string         `json:"run_id"`
		Args      map[string]any `json:"agent_args"`
	} `json:"config"`
	Results struct {
		Successful []string                   `json:"successful_tasks"`
		Failed     []string                   `json:"failed_tasks"`
		Latencies  map[string]json.RawMessage `json:"latencies"`
		Costs      map[string]*float64        `json:"costs"`
	} `json:"results"`
	Raw json.RawMessage `json:"raw_eval_results"`
}

// halCall is a request to a model, as Weave keeps it.
type halCall struct {
	Task       string `json:"weave_task_id"`
	Attributes struct {
		Task string `json:"weave_task_id"`
	} `json:"attributes"`
	Inputs struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	} `json:"inputs"`
	Output    json.RawMessage `json:"output"`
	Exception string          `json:"exception"`
	Started   string          `json:"started_at"`
	Ended     string          `json:"ended_at"`
	Summary   struct {
		Usage map[string]json.RawMessage `json:"usage"`
		Weave struct {
			MS *float64 `json:"latency_ms"`
		} `json:"weave"`
	} `json:"summary"`
}

type halReader struct {
	*rowSink
	file  string
	data  []byte
	calls map[string][][2]int64 // where the calls of a task stand
}

// readHAL makes an episode of every task. How a task was graded differs by benchmark.
func readHAL(in *logInput, out *rowSink) error {
	out.explicit = true
	for i := range in.files {
		out.endEpisode()
		f := &in.files[i]
		data, ok := out.wholeFile(f, "the upload")
		if !ok {
			continue
		}
		out.read(data)
		r := halReader{rowSink: out, file: f.path, data: data, calls: map[string][][2]int64{}}
		r.upload()
	}
	return nil
}

func (r *halReader) upload() {
	var u halUpload
	finite := finiteJSON(r.data)
	if err := json.Unmarshal(finite, &u); err != nil {
		r.unreadable(0, "the upload: %s", clip(err.Error(), 200))
	}
	grades := u.grades()
	// A torn end of the list is told by the document as a whole.
	_ = listElements(finite, "raw_logging_results", func(at int64, raw []byte) error {
		var c halCall
		if err := json.Unmarshal(raw, &c); err != nil {
			r.place(r.file, at, raw)
			r.unreadable(0, "a call: %s", clip(err.Error(), 200))
			return nil
		}
		task := cmp.Or(c.Task, c.Attributes.Task)
		r.calls[task] = append(r.calls[task], [2]int64{at, int64(len(raw))})
		if _, known := grades[task]; !known {
			grades[task] = nil
		}
		return nil
	})
	run := cmp.Or(u.Config.Run, u.Metadata.Run, strings.TrimSuffix(path.Base(r.file), "_UPLOAD.json"))
	for _, task := range sortedKeys(grades) {
		if r.stopped() {
			return
		}
		r.task(&u, run, task, grades[task], finite)
	}
}

// grades are the values of tasks, nil for one that nobody graded: by the lists of results, else by what the benchmark
// left, which is a value or an object that holds one for each task.
func (u *halUpload) grades() map[string]*float64 {
	grades := map[string]*float64{}
	raw := map[string]json.RawMessage{}
	if json.Unmarshal(u.Raw, &raw) == nil {
		inner := map[string]json.RawMessage{}
		if json.Unmarshal(raw["eval_result"], &inner) == nil && len(inner) > 0 {
			raw = inner
		}
		var resolved, unresolved []string
		if json.Unmarshal(raw["resolved_ids"], &resolved) == nil { // a report of SWE-bench
			_ = json.Unmarshal(raw["unresolved_ids"], &unresolved)
			u.Results.Successful, u.Results.Failed = append(u.Results.Successful, resolved...), append(u.Results.Failed, unresolved...)
			raw = nil
		}
		for task, v := range raw {
			if value, ok := halValue(v); ok {
				grades[task] = value
			}
		}
	}
	for _, task := range u.Results.Failed {
		grades[task] = passGrade(false)
	}
	for _, task := range u.Results.Successful {
		grades[task] = passGrade(true)
	}
	return grades
}

// halValue is the value of a task; false if this is no task.
func halValue(raw json.RawMessage) (*float64, bool) {
	if v := gradeValue(raw); v != nil {
		return v, true
	}
	var of map[string]json.RawMessage
	if json.Unmarshal(raw, &of) != nil {
		return nil, false
	}
	for _, key := range []string{"reward", "score", "resolved", "success", "passed", "correct", "value"} {
		if v := gradeValue(of[key]); v != nil {
			return v, true
		}
	}
	return nil, len(of) > 0
}

func (r *halReader) task(u *halUpload, run, task string, value *float64, finite []byte) {
	model := ""
	for _, key := range []string{"agent.model.name", "model_name", "agent.model_name", "model"} {
		if name, ok := u.Config.Args[key].(string); ok && model == "" {
			model = name
		}
	}
	r.place(r.file, 0, r.data)
	r.time = nil
	e := r.beginEpisode(task, EpisodeRow{Study: u.Config.Benchmark, Model: model, Harness: u.Config.Agent, Config: cmp.Or(u.Config.Agent, run), Scenario: cmp.Or(task, "unknown")})
	a := r.beginTurn(0)
	var latency struct {
		Total *float64 `json:"total_time"`
	}
	if seconds := gradeValue(u.Results.Latencies[task]); seconds != nil {
		a.AgentS = seconds
	} else if json.Unmarshal(u.Results.Latencies[task], &latency) == nil {
		a.AgentS = latency.Total
	}
	var models []string
	for i, at := range r.calls[task] {
		r.place(r.file, at[0], r.data[at[0]:at[0]+at[1]])
		r.read(r.data[at[0] : at[0]+at[1]])
		models = append(models, r.call(finite[at[0]:at[0]+at[1]], i == 0)...)
	}
	slices.Sort(models)
	if models = slices.Compact(models); len(models) > 0 {
		e.ModelReturned = text(clip(strings.Join(models, ", "), 200))
	}
	r.place(r.file, 0, r.data)
	r.time = nil
	if cost := u.Results.Costs[task]; cost != nil {
		r.spent(*cost)
	}
	checks := 0
	if value != nil {
		checks = 1
		r.graded("value=" + shortNumber(*value))
	}
	r.gradeTrial(trialGrade{value: value, checks: checks})
}

// call tells a request to a model and its answer. There are no records of tools.
func (r *halReader) call(raw []byte, first bool) (models []string) {
	var c halCall
	if json.Unmarshal(raw, &c) != nil {
		return nil
	}
	if t := logTime(c.Started); t != nil {
		r.time = t
	}
	if first {
		for _, m := range c.Inputs.Messages {
			if m.Role == "user" {
				r.prompted(contentText(m.Content))
				break
			}
		}
	}
	took := between(c.Started, c.Ended)
	if ms := c.Summary.Weave.MS; took == nil && ms != nil {
		s := *ms / 1000
		took = &s
	}
	var sum tokenSum
	words := ""
	for _, model := range sortedKeys(c.Summary.Usage) {
		models = append(models, model)
		var chat chatUsage
		var other anthropicUsage
		usage := c.Summary.Usage[model]
		if json.Unmarshal(usage, &chat) == nil && chat.Prompt != nil {
			sum.add(chat.tokens())
		} else if json.Unmarshal(usage, &other) == nil {
			sum.add(other.tokens())
		}
		words = rawUsage(usage)
	}
	if c.Exception != "" {
		r.failed(c.Exception, nil, true)
	}
	r.eventAt(r.answered(sum.Tokens, words)).DurationS = took
	var out struct {
		Choices []struct {
			Message struct {
				Content json.RawMessage `json:"content"`
				Calls   []chatCall      `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(c.Output, &out) != nil {
		return models
	}
	r.modelSaid(contentText(out.Content))
	for _, choice := range out.Choices {
		r.modelSaid(contentText(choice.Message.Content))
		for _, call := range choice.Message.Calls {
			r.toolCalled(call.Function.Name, call.ID, call.Function.Arguments)
		}
	}
	return models
}
