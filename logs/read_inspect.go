package logs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func inspectFormat() Format {
	return Format{Name: "inspect", Title: "Inspect AI log (.eval or .json)", recognise: claimInspect, read: readInspect}
}

func claimInspect(h *head) (claim, bool) {
	if d := h.document(); d != nil && d.has("status", "eval.task", "eval.model", "eval.created") {
		return claim{part: "log.json", model: d["eval.model"], version: d["eval.packages.inspect_ai"]}, true
	}
	if !h.magic("PK\x03\x04") || len(h.bytes) < 30 {
		return claim{}, false
	}
	name := h.bytes[30:min(len(h.bytes), 30+int(binary.LittleEndian.Uint16(h.bytes[26:])))]
	for _, of := range []string{"_journal/", "samples/", "header.json", "summaries.json", "reductions.json"} {
		if bytes.HasPrefix(name, []byte(of)) {
			return claim{part: "log.eval"}, true
		}
	}
	return claim{}, false
}

// readInspect reads the logs of Inspect AI: every sample of every epoch is an episode of one turn.
func readInspect(in *logInput, out *rowSink) error {
	out.explicit = true
	for i := range in.files {
		f := &in.files[i]
		r := inspectReader{rowSink: out, input: f}
		if f.part == "log.json" {
			r.document()
		} else {
			r.archive()
		}
	}
	return nil
}

type inspectReader struct {
	*rowSink
	input  *inputFile
	header inspectHeader
	found  int // samples

	// Of the sample that is being read.
	file   string // where its places are
	base   int64
	sample inspectSample
	inspectEvents
}

type inspectHeader struct {
	Status string `json:"status"`
	Eval   struct {
		RunID    string            `json:"run_id"`
		Task     string            `json:"task"`
		Model    string            `json:"model"`
		Solver   string            `json:"solver"`
		Sandbox  json.RawMessage   `json:"sandbox"`
		Packages map[string]string `json:"packages"`
	} `json:"eval"`
	Results struct {
		Scores []struct {
			Name string `json:"name"`
		} `json:"scores"`
		Headline struct {
			Score string `json:"score"`
		} `json:"headline"`
	} `json:"results"`
	Error *inspectError `json:"error"`
}

type inspectError struct {
	Message string `json:"message"`
}

type inspectSample struct {
	ID       json.RawMessage   `json:"id"`
	Epoch    int               `json:"epoch"`
	Input    json.RawMessage   `json:"input"`
	Target   json.RawMessage   `json:"target"`
	Messages []json.RawMessage `json:"messages"`
	Output   struct {
		Model   string `json:"model"`
		Choices []struct {
			StopReason string `json:"stop_reason"`
		} `json:"choices"`
	} `json:"output"`
	Scores map[string]struct {
		Value       json.RawMessage `json:"value"`
		Answer      json.RawMessage `json:"answer"`
		Explanation json.RawMessage `json:"explanation"`
	} `json:"scores"`
	Error   *inspectError  `json:"error"`
	Retries []inspectError `json:"error_retries"`
	Limit   *struct {
		Type string `json:"type"`
	} `json:"limit"`
	TotalTime   *float64                   `json:"total_time"`
	StartedAt   string                     `json:"started_at"`
	ModelUsage  map[string]json.RawMessage `json:"model_usage"`
	Attachments map[string]string          `json:"attachments"`
	EventsData  struct {
		Messages []json.RawMessage `json:"messages"`
	} `json:"events_data"`
	Pool     []json.RawMessage    `json:"message_pool"` // an earlier name for it
	Metadata stintIn[exportedRun] `json:"metadata"`
}

// inspectUsage are the counts of a model. What was read from a cache or written to one is not in the input; the
// reasoning is in the output.
type inspectUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"input_tokens_cache_read"`
	CacheWrite *int64 `json:"input_tokens_cache_write"`
	Reasoning  *int64 `json:"reasoning_tokens"`
}

func (u *inspectUsage) tokens() Tokens {
	return Tokens{Input: u.Input, Cached: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning}
}

// document reads a log that is one JSON document.
func (r *inspectReader) document() {
	data, ok := r.wholeFile(r.input, "the log")
	if !ok {
		return
	}
	r.read(data)
	finite := finiteJSON(data)
	if err := json.Unmarshal(finite, &r.header); err != nil {
		r.unreadable(0, "the log: %s", clip(err.Error(), 200))
		r.header = inspectHeader{}
	}
	err := listElements(finite, "samples", func(at int64, raw []byte) error {
		if !r.stopped() {
			r.readSample(r.input.path, at, data[at:at+int64(len(raw))], raw)
		}
		return nil
	})
	r.endEpisode()
	if err != nil && (r.found > 0 || r.header.Status == "success" || r.header.Error == nil) {
		r.place(r.input.path, 0, data)
		r.unreadable(0, "the log: %s", clip(err.Error(), 200))
	}
	r.noSamples()
}

// noSamples tells of an evaluation that ended before there was a sample.
func (r *inspectReader) noSamples() {
	if r.found == 0 && r.header.Error != nil {
		r.unreadable(0, "the evaluation ended before any sample was kept: %s", clip(r.header.Error.Message, 200))
	}
}

// readSample makes an episode of a sample. finite is raw without the numbers that JSON does not have.
func (r *inspectReader) readSample(file string, base int64, raw, finite []byte) {
	r.endEpisode()
	r.found++
	r.file, r.base = file, base
	r.place(file, base, raw)
	r.read(raw)
	r.time = nil
	r.sample = inspectSample{}
	if err := json.Unmarshal(finite, &r.sample); err != nil {
		r.unreadable(0, "the sample: %s", clip(err.Error(), 200))
		return
	}
	s, h := &r.sample, &r.header
	id := plainValue(s.ID)
	returned := text(s.Output.Model)
	if len(s.Output.Choices) == 0 {
		returned = nil // nothing was answered; the name is the one that was asked for
	}
	r.beginEpisode(fmt.Sprintf("%s %s %d", file, id, s.Epoch), EpisodeRow{
		Study: h.Eval.Task, Model: h.Eval.Model, ModelReturned: returned, Config: strings.Join(nonEmpty(h.Eval.Model, cmp.Or(h.Eval.Solver, "inspect")), "+"),
		Harness: "inspect", HarnessVersion: h.Eval.Packages["inspect_ai"], Scenario: strings.Join(nonEmpty(h.Eval.Task, id), "/"), Repeat: s.Epoch,
		Started: logTime(s.StartedAt), WallS: s.TotalTime, Sandbox: inspectSandbox(h.Eval.Sandbox),
	})
	r.inspectEvents = inspectEvents{seen: map[string]bool{}, scoring: map[string]bool{}}
	if own := s.Metadata.Stint; own != nil {
		*r.episode = own.row(*r.episode)
		r.exported()
		return
	}
	a := r.beginTurn(0)
	a.AgentS = s.TotalTime
	for _, u := range s.Retries {
		r.retried("sample: "+u.Message, nil)
	}
	if !r.sampleEvents(raw, finite) {
		for _, m := range s.Messages {
			r.inspectMessage(m, true)
		}
	}
	r.place(file, base, raw)
	r.time = nil
	var reported tokenSum
	for _, name := range sortedKeys(s.ModelUsage) {
		var u inspectUsage
		if json.Unmarshal(s.ModelUsage[name], &u) == nil {
			reported.add(u.tokens())
		}
	}
	a.ReportedTokens = ReportedTokens{reported.Input, reported.Cached, reported.CacheWrite, reported.Output, reported.Reasoning}
	if !r.usage {
		a.Tokens = reported.Tokens
	}
	r.grade(a)
}

// exported reads the messages of an episode that stint exported: they say where an attempt begins, and how it was graded.
func (r *inspectReader) exported() {
	for _, raw := range r.sample.Messages {
		var m struct {
			Metadata stintIn[exportedAttempt] `json:"metadata"`
		}
		if json.Unmarshal(raw, &m) == nil && m.Metadata.Stint != nil {
			m.Metadata.Stint.begin(r.rowSink)
		}
		r.inspectMessage(raw, true)
	}
}

// inspectSandbox is a name, or an object with a type.
func inspectSandbox(raw json.RawMessage) string {
	var s struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &s) == nil {
		return clip(s.Type, 60)
	}
	return clip(plainValue(raw), 60)
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// grade decides by the score that the log's results name first; the others are checks beside it.
func (r *inspectReader) grade(a *AttemptRow) {
	s := &r.sample
	g := trialGrade{checks: len(s.Scores), prompt: r.resolve(inspectInput(s.Input))}
	names := sortedKeys(s.Scores)
	deciding := r.header.Results.Headline.Score
	if _, ok := s.Scores[deciding]; !ok && len(r.header.Results.Scores) > 0 {
		deciding = r.header.Results.Scores[0].Name
	}
	if _, ok := s.Scores[deciding]; !ok && len(names) > 0 {
		deciding = names[0]
	}
	for _, name := range names {
		score := s.Scores[name]
		value := gradeValue(score.Value)
		words := pairs("scorer", clip(name, 80), "value", clip(plainValue(score.Value), 200))
		if name == deciding {
			g.value = value
			words += " decides"
		}
		r.graded(words)
		r.quoted("verifier", r.resolve(plainValue(score.Explanation)))
		if value != nil && *value >= 0 && *value < 1 {
			r.failedCheck(CheckRow{Check: clip(name, 200), Category: "score", Expected: r.resolve(inspectInput(s.Target)), Actual: r.resolve(plainValue(score.Answer))})
		}
	}
	completion := "clean"
	if n := len(s.Output.Choices); n > 0 && s.Output.Choices[n-1].StopReason == "max_tokens" {
		completion = "cut"
	}
	if s.Limit != nil {
		completion = "cut"
		limit, ok := map[string]string{"time": "wall", "working": "wall", "token": "tokens", "message": "messages", "turn": "turns", "cost": "usd"}[s.Limit.Type]
		if !ok {
			limit = clip(s.Limit.Type, 40)
		}
		a.EndedBy = text("limit:" + limit)
		if s.Limit.Type == "operator" {
			g.stopped = "operator"
		}
	}
	if s.Error != nil {
		completion = "cut"
		if len(s.Scores) == 0 {
			if g.stopped = "host"; r.lastFailed {
				g.stopped = "provider"
			}
		}
	}
	a.Completion = &completion
	r.gradeTrial(g)
}

// inspectInput is a text, or a list of texts or messages.
func inspectInput(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var all []string
	for _, item := range list {
		var m struct {
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(item, &m) == nil {
			all = append(all, contentText(m.Content))
		} else {
			all = append(all, plainValue(item))
		}
	}
	return strings.Join(nonEmpty(all...), "\n")
}
