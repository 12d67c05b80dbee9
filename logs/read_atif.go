package logs

import (
	"bytes"
	"encoding/json"
	"strings"
)

func atifFormat() Format {
	return Format{Name: "atif", Title: "ATIF trajectory", recognise: claimATIF, read: readATIF}
}

// isATIF says whether a document is an ATIF trajectory.
func isATIF(d fields) bool {
	return d != nil && strings.HasPrefix(d["schema_version"], "ATIF") && d.has("agent.name")
}

func claimATIF(h *head) (claim, bool) {
	d := h.document()
	if _, harbor := claimHarbor(h); harbor || !isATIF(d) {
		return claim{}, false
	}
	return claim{part: "trajectory.json", model: d["agent.model_name"], version: d["agent.version"]}, true
}

// readATIF reads trajectories of the Agent Trajectory Interchange Format, each an episode whose turns are the requests
// of the user.
func readATIF(in *logInput, out *rowSink) error {
	out.explicit = true
	for i := range in.files {
		out.endEpisode()
		a := openATIF(out, &in.files[i])
		if a == nil {
			continue
		}
		row := EpisodeRow{Model: a.head.Agent.Model, Harness: a.head.Agent.Name, HarnessVersion: a.head.Agent.Version}
		if own := a.head.Extra.Stint; own != nil {
			row = own.row(row)
		}
		e := out.beginEpisode(a.head.Session, row)
		if a.split = a.head.Extra.Stint == nil; a.split { // else the steps say where an attempt begins
			out.beginTurn(0)
		}
		a.steps()
		if a.head.Final.Cost != nil {
			e.CostUSD = a.head.Final.Cost
		}
	}
	return nil
}

// atifReader reads one trajectory.
type atifReader struct {
	*rowSink
	file  string
	base  int64
	data  []byte
	head  atifHead
	split bool // requests of the user begin turns
	turns promptTurns
	acted bool // the agent has done something since the last request

	// cacheApart says that prompt_tokens leave out what was written to a cache, as some converters do.
	cacheApart bool
	last       atifUsage // of the answer before
	lastAnswer int       // the event of it
	depth      int
	asked      string            // first
	tools      map[string]string // names, by call
}

type atifHead struct {
	Version string `json:"schema_version"`
	Session string `json:"session_id"`
	Agent   struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Model   string `json:"model_name"`
	} `json:"agent"`
	Final struct {
		Prompt     *int64   `json:"total_prompt_tokens"`
		Completion *int64   `json:"total_completion_tokens"`
		Cached     *int64   `json:"total_cached_tokens"`
		Cost       *float64 `json:"total_cost_usd"`
	} `json:"final_metrics"`
	Extra stintIn[exportedRun] `json:"extra"`
}

// atifUsage are the metrics of a step. What was read from a cache is in the prompt.
type atifUsage struct {
	Prompt     *int64   `json:"prompt_tokens"`
	Completion *int64   `json:"completion_tokens"`
	Cached     *int64   `json:"cached_tokens"`
	Cost       *float64 `json:"cost_usd"`
	Extra      struct {
		CacheWrite *int64 `json:"cache_creation_input_tokens"`
		Reasoning  *int64 `json:"reasoning_output_tokens"`
		Reasoning2 *int64 `json:"reasoning_tokens"`
		Thoughts   *int64 `json:"thoughts_tokens"`
	} `json:"extra"`
}

func (u *atifUsage) tokens(cacheApart bool) Tokens {
	t := Tokens{Cached: u.Cached, CacheWrite: u.Extra.CacheWrite, Output: u.Completion}
	if t.Input = without(u.Prompt, u.Cached); !cacheApart {
		t.Input = without(u.Prompt, u.Cached, u.Extra.CacheWrite)
	}
	for _, n := range []*int64{u.Extra.Thoughts, u.Extra.Reasoning2, u.Extra.Reasoning} {
		if n != nil {
			t.Reasoning = n
		}
	}
	return t
}

// repeats says whether this is the usage of the same answer once more: Claude's converter writes it with every record
// into which an answer was split, the last one whole.
func (u *atifUsage) repeats(last *atifUsage) bool {
	return u.Extra.CacheWrite != nil && last.Extra.CacheWrite != nil && number(u.Prompt) > 0 &&
		number(u.Prompt) == number(last.Prompt) && number(u.Cached) == number(last.Cached) && *u.Extra.CacheWrite == *last.Extra.CacheWrite
}

// openATIF reads a file; nil if that failed, which is told.
func openATIF(out *rowSink, f *inputFile) *atifReader {
	data, ok := out.wholeFile(f, "the trajectory")
	if !ok {
		return nil
	}
	a := &atifReader{rowSink: out, file: f.path, data: data, lastAnswer: -1, tools: map[string]string{}}
	if err := json.Unmarshal(data, &a.head); err != nil && a.head.Agent.Name == "" {
		out.unreadable(0, "the trajectory: %s", clip(err.Error(), 200))
	}
	return a
}

// steps tells all steps, and those of agents that it called.
func (a *atifReader) steps() {
	_ = listElements(a.data, "steps", func(_ int64, raw []byte) error {
		var s struct {
			Metrics *atifUsage `json:"metrics"`
		}
		if json.Unmarshal(raw, &s) == nil && s.Metrics != nil && number(s.Metrics.Prompt) < number(s.Metrics.Cached)+number(s.Metrics.Extra.CacheWrite) {
			a.cacheApart = true
		}
		return nil
	})
	err := listElements(a.data, "steps", func(at int64, raw []byte) error {
		if a.stopped() {
			return nil
		}
		a.place(a.file, a.base+at, raw)
		a.read(raw)
		if err := a.step(raw); err != nil {
			a.unreadable(0, "the step: %s", clip(err.Error(), 200))
		}
		return nil
	})
	a.place(a.file, a.base, a.data)
	if err != nil {
		a.unreadable(0, "the steps: %s", clip(err.Error(), 200))
	}
	if a.depth >= maxNested {
		return
	}
	_ = listElements(a.data, "subagent_trajectories", func(at int64, raw []byte) error { // most have none
		sub := &atifReader{rowSink: a.rowSink, file: a.file, base: a.base + at, data: raw, lastAnswer: -1, depth: a.depth + 1, tools: a.tools}
		_ = json.Unmarshal(raw, &sub.head)
		a.harnessSaid(EventNotice, pairs("subagent", clip(sub.head.Agent.Name, 60)))
		sub.steps()
		return nil
	})
	a.time = nil
	if f := a.head.Final; f.Prompt != nil || f.Completion != nil {
		a.attempt.ReportedTokens = ReportedTokens{ReportedInput: without(f.Prompt, f.Cached), ReportedCached: f.Cached, ReportedOutput: f.Completion}
	}
}

type atifStep struct {
	Timestamp   string          `json:"timestamp"`
	Source      string          `json:"source"`
	Message     json.RawMessage `json:"message"`
	Calls       json.RawMessage `json:"tool_calls"`
	Observation *struct {
		Results json.RawMessage `json:"results"`
	} `json:"observation"`
	Metrics    json.RawMessage `json:"metrics"`
	Copied     bool            `json:"is_copied_context"`
	ModelCalls *int            `json:"llm_call_count"`

	Extra stintIn[exportedAttempt] `json:"extra"`
}

func (a *atifReader) step(raw []byte) error {
	var s atifStep
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if s.Copied {
		return nil // it stands in the trajectory that this one continues
	}
	if t := logTime(s.Timestamp); t != nil {
		a.time = t
	}
	said := contentText(s.Message)
	switch s.Source {
	case "user":
		if own := s.Extra.Stint; own != nil && a.head.Extra.Stint != nil {
			own.begin(a.rowSink)
			a.last = atifUsage{}
		}
		if a.asked == "" {
			a.asked = said
		}
		switch {
		case a.split && a.acted:
			a.turns.prompt(a.eventBuilder, said)
			a.last = atifUsage{}
		default:
			a.turns.begun = true
			a.prompted(said)
		}
		a.acted = false
	case "system":
		a.quoted("harness", said)
	case "agent":
		a.acted = true
		a.agent(&s, said)
	default:
		a.unknownRecord(clip(s.Source, 40))
		return nil
	}
	a.observed(&s)
	return nil
}

func (a *atifReader) agent(s *atifStep, said string) {
	var u atifUsage
	_ = json.Unmarshal(s.Metrics, &u)
	switch {
	case s.ModelCalls != nil && *s.ModelCalls == 0: // the program's own doing
	case a.lastAnswer >= 0 && u.repeats(&a.last):
		if e := a.eventAt(a.lastAnswer); number(u.Completion) > number(a.last.Completion) {
			e.Tokens, e.Text = u.tokens(a.cacheApart), rawUsage(s.Metrics)
			a.last = u
		}
	default:
		a.lastAnswer = a.answered(u.tokens(a.cacheApart), rawUsage(s.Metrics))
		a.last = u
		if u.Cost != nil {
			a.spent(*u.Cost)
		}
	}
	a.modelSaid(said)
	var calls []struct {
		ID        string          `json:"tool_call_id"`
		Name      string          `json:"function_name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(s.Calls, &calls); err != nil && len(s.Calls) > 0 {
		a.unknownRecord("tool_calls that are no list")
	}
	for _, c := range calls {
		a.tools[c.ID] = c.Name
		a.toolCalled(c.Name, c.ID, string(c.Arguments))
	}
}

// atifFailed is what Harbor's converter adds to the text of a failed tool.
const atifFailed = "[tool reported failure]"

// observed are the results of a step's calls. An exit status has no field of its own.
func (a *atifReader) observed(s *atifStep) {
	if s.Observation == nil {
		return
	}
	var results []struct {
		CallID  string          `json:"source_call_id"`
		Content json.RawMessage `json:"content"`
		Extra   struct {
			Exit  *int `json:"exit_code"`
			Exit2 *int `json:"exitCode"`
			Exit3 *int `json:"returncode"`
		} `json:"extra"`
	}
	if raw := bytes.TrimSpace(s.Observation.Results); json.Unmarshal(raw, &results) != nil {
		a.unknownRecord("an observation without a list of results")
		return
	}
	for _, o := range results {
		exit := o.Extra.Exit
		for _, n := range []*int{o.Extra.Exit2, o.Extra.Exit3} {
			if exit == nil {
				exit = n
			}
		}
		said := contentText(o.Content)
		if s.Source != "agent" && o.CallID == "" {
			a.quoted("harness", said)
			continue
		}
		a.toolGave(a.tools[o.CallID], o.CallID, said, exit, nil)
		if strings.Contains(said, atifFailed) {
			a.toolEnded(a.tools[o.CallID], o.CallID, "failed=true")
		}
	}
}
