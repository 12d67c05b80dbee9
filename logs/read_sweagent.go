package logs

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"
)

func sweAgentFormat() Format {
	return Format{Name: "swe-agent", Title: "SWE-agent trajectory", recognise: claimSWEAgent, read: readSWEAgent}
}

func claimSWEAgent(h *head) (claim, bool) {
	if d := h.document(); d != nil && d.has("trajectory[].action", "trajectory[].observation") {
		return claim{part: "traj.json", model: d["replay_config.agent.model.name"]}, true
	}
	return claim{}, false
}

// readSWEAgent reads trajectories of SWE-agent: an episode each, which nobody has graded yet.
func readSWEAgent(in *logInput, out *rowSink) error {
	out.explicit = true
	for i := range in.files {
		out.endEpisode()
		f := &in.files[i]
		data, ok := out.wholeFile(f, "the trajectory")
		if !ok {
			continue
		}
		out.read(data)
		r := sweAgentReader{rowSink: out, file: f.path, data: data}
		r.trajectory()
	}
	return nil
}

type sweAgentReader struct {
	*rowSink
	file string
	data []byte
}

type sweAgentInfo struct {
	Info struct {
		ExitStatus string          `json:"exit_status"`
		Submission *string         `json:"submission"`
		Stats      json.RawMessage `json:"model_stats"`
	} `json:"info"`
	Replay json.RawMessage `json:"replay_config"` // an object, or one written as a text
}

type sweAgentStep struct {
	Action      string   `json:"action"`
	Observation string   `json:"observation"`
	Response    string   `json:"response"`
	Thought     string   `json:"thought"`
	Time        *float64 `json:"execution_time"`
}

func (r *sweAgentReader) trajectory() {
	var whole sweAgentInfo
	if err := json.Unmarshal(r.data, &whole); err != nil {
		r.unreadable(0, "the trajectory: %s", clip(err.Error(), 200))
	}
	var replay struct {
		Agent struct {
			Model struct {
				Name string `json:"name"`
			} `json:"model"`
		} `json:"agent"`
	}
	var quoted string
	if json.Unmarshal(whole.Replay, &quoted) == nil {
		whole.Replay = []byte(quoted)
	}
	_ = json.Unmarshal(whole.Replay, &replay) // older ones have none
	instance := path.Base(r.file)
	for _, end := range []string{".gz", ".zst", ".json", ".traj"} {
		instance = strings.TrimSuffix(instance, end)
	}
	r.beginEpisode("", EpisodeRow{Model: replay.Agent.Model.Name, Harness: "swe-agent", Scenario: instance})
	a := r.beginTurn(0)
	asked := r.request()
	n := 0
	err := listElements(r.data, "trajectory", func(at int64, raw []byte) error {
		if r.stopped() {
			return nil
		}
		n++
		r.place(r.file, at, raw)
		r.read(raw)
		if err := r.step(raw); err != nil {
			r.unreadable(0, "step %d: %s", n, clip(err.Error(), 200))
		}
		return nil
	})
	r.place(r.file, 0, r.data)
	if err != nil {
		r.unreadable(0, "the steps: %s", clip(err.Error(), 200))
	}
	r.end(a, &whole)
	r.gradeTrial(trialGrade{prompt: asked})
}

// request is what was asked: the first message of the user that is no demonstration.
func (r *sweAgentReader) request() (asked string) {
	_ = listElements(r.data, "history", func(at int64, raw []byte) error {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Demo    bool            `json:"is_demo"`
		}
		if asked != "" || json.Unmarshal(raw, &m) != nil || m.Role != "user" || m.Demo {
			return nil
		}
		if said := contentText(m.Content); !strings.HasPrefix(said, "Here is a demonstration") {
			asked = said
			r.place(r.file, at, raw)
			r.prompted(said)
		}
		return nil
	})
	return asked
}

func (r *sweAgentReader) step(raw []byte) error {
	var s sweAgentStep
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	r.answered(Tokens{}, "") // tokens are told for the whole alone
	r.modelSaid(cmp.Or(s.Thought, s.Response))
	action := strings.TrimSpace(s.Action)
	if action == "" {
		if strings.TrimSpace(s.Observation) != "" {
			r.quoted("harness", s.Observation)
		}
		return nil
	}
	tool, _, _ := strings.Cut(action, " ")
	tool, _, _ = strings.Cut(tool, "\n")
	r.toolCalled(clip(tool, 60), "", action)
	r.toolGave(clip(tool, 60), "", s.Observation, nil, s.Time)
	return nil
}

func (r *sweAgentReader) end(a *AttemptRow, whole *sweAgentInfo) {
	var stats struct {
		Cost     *float64 `json:"instance_cost"`
		Sent     *int64   `json:"tokens_sent"`
		Received *int64   `json:"tokens_received"`
	}
	if json.Unmarshal(whole.Info.Stats, &stats) == nil && number(stats.Sent) > 0 {
		r.summed(Tokens{Input: stats.Sent, Output: stats.Received}, rawUsage(whole.Info.Stats))
		if stats.Cost != nil && *stats.Cost > 0 {
			r.spent(*stats.Cost)
		}
	}
	completion, status := "clean", whole.Info.ExitStatus
	for _, limit := range [][2]string{{"exit_context", "limit:context"}, {"exit_cost", "limit:usd"}, {"exit_total_execution_time", "limit:wall"}, {"exit_command_timeout", "limit:wall"}} {
		if strings.Contains(status, limit[0]) {
			a.EndedBy = text(limit[1])
		}
	}
	if status != "submitted" {
		completion = "cut"
	}
	if p := whole.Info.Submission; p != nil && *p != "" {
		a.patched([]byte(*p))
	} else if completion == "clean" {
		completion = "empty"
	}
	if status != "" {
		r.harnessSaid(EventEnd, "exit_status="+clip(status, 80))
	}
	a.Completion = &completion
}
