package logs

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

func harborFormat() Format {
	return Format{Name: "harbor", Title: "Harbor trial (Terminal-Bench 2)", recognise: claimHarbor, read: readHarbor}
}

// claimHarbor joins the folder of a trial: its result, and the trajectories in agent/ or steps/NAME/agent/ below it.
func claimHarbor(h *head) (claim, bool) {
	d := h.document()
	switch {
	case d == nil:
		return claim{}, false
	case d.has("trial_name", "task_name", "trial_uri"):
		return claim{part: "result.json", dir: h.dir()}, true
	case d.has("n_total_trials", "stats"), // of a whole job
		d.has("trial_name", "trials_dir"), d.has("job_name", "jobs_dir"), d.has("harbor.version"), d.has("task.digest", "install_only"),
		h.inDir() == "artifacts" && d.has("[].source", "[].destination", "[].service"):
		return claim{beside: true}, true
	case isATIF(d) && h.inDir() == "agent":
		dir := path.Dir(h.dir())
		if path.Base(path.Dir(dir)) == "steps" {
			dir = path.Dir(path.Dir(dir))
		}
		return claim{part: "agent.json", dir: dir}, true
	}
	return claim{}, false
}

type harborTrial struct {
	TrialName string `json:"trial_name"`
	TaskName  string `json:"task_name"`
	Source    string `json:"source"`
	Checksum  string `json:"task_checksum"`
	Agent     struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Model   *struct {
			Name     string `json:"name"`
			Provider string `json:"provider"`
		} `json:"model_info"`
	} `json:"agent_info"`
	harborStep
	Started  string       `json:"started_at"`
	Finished string       `json:"finished_at"`
	Steps    []harborStep `json:"step_results"`
	Valid    *bool        `json:"reward_valid"`
}

// harborStep is what a trial of one step says about itself, and each step of a trial of several.
type harborStep struct {
	Name  string `json:"step_name"`
	Usage *struct {
		Input  *int64   `json:"n_input_tokens"` // what was read from a cache is in it
		Cached *int64   `json:"n_cache_tokens"`
		Output *int64   `json:"n_output_tokens"`
		Cost   *float64 `json:"cost_usd"`
	} `json:"agent_result"`
	Verifier *struct {
		Rewards map[string]json.RawMessage `json:"rewards"`
	} `json:"verifier_result"`
	Exception *struct {
		Type    string `json:"exception_type"`
		Message string `json:"exception_message"`
		Policy  *struct {
			Valid bool `json:"has_valid_reward"`
		} `json:"policy"`
	} `json:"exception_info"`
	AgentTime  harborTime `json:"agent_execution"`
	VerifyTime harborTime `json:"verifier"`
}

type harborTime struct {
	Started  string `json:"started_at"`
	Finished string `json:"finished_at"`
}

// readHarbor reads the trials of Harbor: an episode each, with a turn for each of its steps.
func readHarbor(in *logInput, out *rowSink) error {
	out.explicit = true
	var result *inputFile
	trajectories := map[string]*inputFile{} // by the folder within the trial
	for i := range in.files {
		f := &in.files[i]
		if f.part == "result.json" {
			result = f
			continue
		}
		if path.Base(f.path) == "trajectory.json" || trajectories[path.Dir(f.path)] == nil {
			trajectories[path.Dir(f.path)] = f
		}
	}
	if result == nil {
		return readATIF(in, out)
	}
	r := harborReader{rowSink: out, folder: path.Dir(result.path), trajectories: trajectories, up: harborUp(in.files[0].path, result.path)}
	data, ok := out.wholeFile(result, "the trial's result")
	if !ok {
		return nil
	}
	out.read(data)
	var t harborTrial
	if err := json.Unmarshal(data, &t); err != nil {
		out.unreadable(0, "the trial's result: %s", clip(err.Error(), 200))
		return nil
	}
	r.data = data
	r.trial(result.path, &t)
	return nil
}

// harborUp is the way from the folder of one file to the folder of another that lies above it.
func harborUp(from, to string) string {
	below := strings.TrimPrefix(strings.TrimPrefix(path.Dir(from), path.Dir(to)), "/")
	if below == "" || path.Dir(to) == "." && below == "." {
		return ""
	}
	return strings.Repeat("../", strings.Count(below, "/")+1)
}

type harborReader struct {
	*rowSink
	folder, up   string
	data         []byte
	trajectories map[string]*inputFile
}

func (r *harborReader) trial(file string, t *harborTrial) {
	model := ""
	if m := t.Agent.Model; m != nil {
		model = strings.Join(nonEmpty(m.Provider, m.Name), "/")
	}
	steps := t.Steps
	if len(steps) == 0 {
		steps = []harborStep{t.harborStep}
	}
	e := r.beginEpisode(t.TrialName, EpisodeRow{
		Study: t.Source, Model: model, Harness: t.Agent.Name, HarnessVersion: t.Agent.Version, Scenario: t.TaskName, ScenarioSHA: harborSHA(t.Checksum),
		TurnsMax: len(steps), Started: logTime(t.Started), WallS: between(t.Started, t.Finished),
	})
	if r.up == "" || len(r.trajectories) > 0 {
		for _, name := range []string{"config.json", "lock.json", "trial.log", "exception.txt", "verifier/reward.txt", "verifier/reward.json"} {
			r.sibling(r.up + name) // it is known, and says nothing that the result does not
		}
	}
	var passed []*bool
	var last trialGrade
	for i := range steps {
		s := &steps[i]
		r.place(file, 0, r.data)
		a := r.beginTurn(i)
		a.AgentS, a.GradeS = between(s.AgentTime.Started, s.AgentTime.Finished), between(s.VerifyTime.Started, s.VerifyTime.Finished)
		dir, asked := r.folder, ""
		if s.Name != "" {
			dir = path.Join(dir, "steps", s.Name)
		}
		if f := r.trajectories[path.Join(dir, "agent")]; f != nil {
			if at := openATIF(r.rowSink, f); at != nil {
				at.steps()
				asked = at.asked
			}
		}
		r.time = nil
		r.place(file, 0, r.data)
		r.usage(a, s)
		last = r.outcome(a, s, t.Valid)
		last.prompt = asked
		r.tests(strings.TrimPrefix(strings.TrimPrefix(dir, r.folder), "/"))
		r.place(file, 0, r.data)
		r.gradeTrial(last)
		passed = append(passed, a.Passed)
		if last.stopped != "" {
			break
		}
	}
	if e.TurnsMax > 1 {
		e.conclude(passed, last)
	}
}

// harborSHA is the hash of a task's content, if it is one.
func harborSHA(s string) string {
	if s = strings.TrimPrefix(s, "sha256:"); len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" {
		return s
	}
	return ""
}

// usage are the sums of the trial. What its trajectory sums up to stays beside them if that says less.
func (r *harborReader) usage(a *AttemptRow, s *harborStep) {
	u := s.Usage
	if u == nil || u.Input == nil && u.Output == nil {
		return
	}
	a.ReportedTokens = ReportedTokens{ReportedInput: without(u.Input, u.Cached), ReportedCached: u.Cached, ReportedOutput: u.Output}
	answers := false
	for i := range r.events {
		answers = answers || r.events[i].Kind == EventModelAnswer && r.events[i].Tokens != (Tokens{})
	}
	if !answers && r.base == 0 {
		a.Tokens = Tokens{Input: without(u.Input, u.Cached), Cached: u.Cached, Output: u.Output}
	}
	if a.CostUSD != nil {
		r.spent(-*a.CostUSD) // what its trajectory summed up to
	}
	if a.CostUSD = nil; u.Cost != nil {
		r.spent(*u.Cost)
	}
}

// harborStopped says which exceptions are not the agent's doing.
var harborStopped = map[string][]string{
	"provider": {"ApiError", "ApiRateLimitError", "ApiInternalServerError", "ApiOverloadedError", "ApiConnectionClosedError", "ApiResponseStalledError", "UnknownApiError", "NetworkConnectionError",
		"ApiConnectionError", "ApiUsageLimitError", "RateLimitError", "InternalServerError", "ServiceUnavailableError", "APIConnectionError", "APIError", "Timeout", "AgentAuthenticationError",
		"ModelNotFoundError", "ApiProviderResourceNotFoundError", "AuthenticationError", "PermissionDeniedError", "NotFoundError"},
	"bench":    {"VerifierTimeoutError", "RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError", "AddTestsDirError", "DownloadVerifierDirError", "RegradeError"},
	"operator": {"CancelledError"},
	"budget":   {"BudgetExceededError"},
}

// outcome is the reward, and what an exception made of it: some leave the reward valid, as that of an agent that ran out
// of time.
func (r *harborReader) outcome(a *AttemptRow, s *harborStep, valid *bool) trialGrade {
	completion := "clean"
	g := trialGrade{}
	rewarded := s.Verifier != nil && len(s.Verifier.Rewards) > 0
	if rewarded {
		names := sortedKeys(s.Verifier.Rewards)
		deciding := names[0]
		if slices.Contains(names, "reward") {
			deciding = "reward"
		}
		for _, name := range names {
			words := pairs("reward", clip(name, 80), "value", clip(string(s.Verifier.Rewards[name]), 40))
			if name == deciding {
				g.value = gradeValue(s.Verifier.Rewards[name])
				words += " decides"
			}
			r.graded(words)
		}
		g.checks = len(names)
	}
	x := s.Exception
	if x == nil {
		a.Completion = &completion
		return g
	}
	r.harnessSaid(EventError, clip(x.Type, 80))
	r.quoted("harness", x.Message)
	completion = "cut"
	a.Completion = &completion
	switch x.Type {
	case "AgentTimeoutError":
		a.EndedBy = text("limit:wall")
	case "NonZeroAgentExitCodeError":
		a.EndedBy = text("self")
	}
	counts := rewarded
	switch {
	case x.Policy != nil:
		counts = rewarded && x.Policy.Valid
	case valid != nil:
		counts = rewarded && *valid
	}
	if !counts {
		g.value, g.stopped = nil, "host"
		for _, end := range sortedKeys(harborStopped) {
			if slices.Contains(harborStopped[end], x.Type) {
				g.stopped = end
			}
		}
	}
	return g
}

// tests keeps the end of what the verifier printed. Tests run the agent's programs, so anybody may have written it.
func (r *harborReader) tests(dir string) {
	name := path.Join(dir, "verifier", "test-stdout.txt")
	f := r.sibling(r.up + name)
	if f == nil {
		return
	}
	if data, ok := r.wholeFile(f, name); ok && len(data) > 0 {
		r.quoted("verifier", "test-stdout: "+string(data[max(0, len(data)-tailBytes):]))
	}
}
