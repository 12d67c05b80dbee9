package logs

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"strconv"
	"strings"
)

func terminalBenchFormat() Format {
	return Format{Name: "terminal-bench", Title: "Terminal-Bench 1 results", recognise: claimTerminalBench, read: readTerminalBench}
}

// claimTerminalBench joins a run: run_metadata.json and results.json in its folder, and TASK/TRIAL/results.json below.
func claimTerminalBench(h *head) (claim, bool) {
	d := h.document()
	switch {
	case d == nil:
		return claim{}, false
	case d.has("trial_name", "task_id", "failure_mode"):
		return claim{part: "trial.json", dir: path.Dir(path.Dir(h.dir()))}, true
	case d.has("results[].trial_name", "results[].task_id", "results[].failure_mode"):
		return claim{part: "run.json", dir: h.dir()}, true
	case d.has("run_id", "agent_name", "output_path"):
		return claim{part: "run_metadata.json", dir: h.dir(), model: d["model_name"]}, true
	}
	return claim{}, false
}

type terminalTrial struct {
	ID           string            `json:"id"`
	Name         string            `json:"trial_name"`
	Task         string            `json:"task_id"`
	Instruction  string            `json:"instruction"`
	Resolved     *bool             `json:"is_resolved"`
	FailureMode  string            `json:"failure_mode"`
	Tests        map[string]string `json:"parser_results"`
	Recording    string            `json:"recording_path"`
	Input        *int64            `json:"total_input_tokens"`
	Output       *int64            `json:"total_output_tokens"`
	Started      string            `json:"trial_started_at"`
	Ended        string            `json:"trial_ended_at"`
	AgentStarted string            `json:"agent_started_at"`
	AgentEnded   string            `json:"agent_ended_at"`
	TestStarted  string            `json:"test_started_at"`
	TestEnded    string            `json:"test_ended_at"`
}

type terminalRun struct {
	Run     string `json:"run_id"`
	Dataset string `json:"dataset_name"`
	Version string `json:"dataset_version"`
	Agent   string `json:"agent_name"`
	Model   string `json:"model_name"`
}

type terminalReader struct {
	*rowSink
	run  terminalRun
	told map[string]bool // trials, by name
}

// readTerminalBench makes an episode of every trial. The results of a run hold those of its trials once more.
func readTerminalBench(in *logInput, out *rowSink) error {
	out.explicit = true
	r := terminalReader{rowSink: out, told: map[string]bool{}}
	if f := in.part("run_metadata.json"); f != nil {
		out.document(loneFile("run_metadata.json", f), "run_metadata.json", func(raw []byte) error { return json.Unmarshal(raw, &r.run) })
	}
	for i := range in.files {
		if f := &in.files[i]; f.part == "trial.json" {
			out.document(loneFile(f.part, f), f.part, r.trial)
		}
	}
	for i := range in.files {
		if f := &in.files[i]; f.part == "run.json" {
			out.jsonList(loneFile(f.part, f), f.part, "results", r.trial)
		}
	}
	return nil
}

// terminalRepeat numbers the trials of a task: TASK.2-of-3.RUN.
var terminalRepeat = regexp.MustCompile(`\.(\d+)-of-\d+(?:\.|$)`)

func (r *terminalReader) trial(raw []byte) error {
	var t terminalTrial
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	if r.told[t.Name] {
		return nil
	}
	r.told[t.Name] = true
	repeat := 0
	if m := terminalRepeat.FindStringSubmatch(t.Name); m != nil {
		repeat, _ = strconv.Atoi(m[1])
	}
	// Without run_metadata.json only the recording's path names the run.
	run, _, _ := strings.Cut(t.Recording, "/")
	config := strings.Join(nonEmpty(r.run.Model, r.run.Agent), "+")
	r.time = nil
	r.beginEpisode(t.Name, EpisodeRow{
		Study: strings.Join(nonEmpty(r.run.Dataset, r.run.Version), " "), Config: cmp.Or(config, r.run.Run, run, "unknown"), Model: r.run.Model, Harness: r.run.Agent, Scenario: t.Task,
		Repeat: repeat, Started: logTime(t.Started), WallS: between(t.Started, t.Ended),
	})
	a := r.beginTurn(0)
	a.AgentS, a.GradeS = between(t.AgentStarted, t.AgentEnded), between(t.TestStarted, t.TestEnded)
	if number(t.Input) > 0 || number(t.Output) > 0 { // 0 stands for unknown
		a.Tokens = Tokens{Input: t.Input, Output: t.Output}
	}
	r.prompted(t.Instruction)
	g := trialGrade{checks: len(t.Tests), prompt: t.Instruction}
	for _, name := range sortedKeys(t.Tests) {
		if t.Tests[name] != "passed" {
			status := "fail"
			if t.Tests[name] != "failed" {
				status = "error"
			}
			r.failedCheck(CheckRow{Check: name, Category: "test", Status: status})
		}
	}
	if t.Resolved != nil {
		g.value = passGrade(*t.Resolved)
	}
	completion, failed := "clean", true
	switch t.FailureMode {
	case "", "unset", "none":
		failed = false
	case "agent_timeout":
		completion, a.EndedBy = "cut", text("limit:wall")
	case "context_length_exceeded":
		completion, a.EndedBy = "cut", text("limit:context")
	case "output_length_exceeded":
		completion, a.EndedBy = "cut", text("limit:output")
	case "test_timeout":
		g.reason = "suite_time"
	case "agent_installation_failed":
		completion, g.value, g.stopped = "never_started", nil, "host"
	case "parse_error":
		g.value, g.stopped = nil, "bench"
	default:
		completion = "cut"
	}
	if completion != "clean" || g.stopped != "" || g.reason != "" {
		r.harnessSaid(EventError, clip(t.FailureMode, 60))
	}
	a.Completion = &completion
	if t.Resolved != nil {
		r.graded(pairs("is_resolved", strconv.FormatBool(*t.Resolved), "failure_mode", clip(t.FailureMode, 60)))
	}
	if g.value == nil && g.stopped == "" && failed {
		g.stopped = "host" // it ended, and nobody graded it
	}
	r.gradeTrial(g)
	return nil
}
