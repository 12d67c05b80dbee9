package logs

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ExportInspect writes every configuration as a log of Inspect AI, OUT/CONFIG.eval, a ZIP archive with one sample per
// scenario and one epoch per repeat: prompts, answers, tool calls with results and what stint's grader said as messages,
// a span of events per attempt, tokens as model usage, the turns passed and their share as scores. A stopped or
// incomplete episode is a sample with an error and no score. The outcome as stint counts it is the sample's metadata
// under the key stint. Secrets are replaced. out must not exist.
func ExportInspect(ctx context.Context, d *RunDir, t *Tables, out string, opt ExportOptions) error {
	return export(ctx, d, t, out, opt, func(x *exporting) (err error) {
		var log *inspectLog
		defer func() {
			if log != nil {
				log.abort()
			}
		}()
		// The table of episodes is sorted by configuration, so one log is open at a time.
		err = x.episodes(ctx, func(e *exportEpisode) error {
			if log != nil && log.config != e.Config {
				if err := log.finish(); err != nil {
					return err
				}
				log = nil
			}
			if log == nil {
				path := filepath.Join(x.out, safeName(e.Config)+".eval")
				if _, err := os.Lstat(path); err == nil {
					path = filepath.Join(x.out, safeName(e.Config)+"-"+e.Episode+".eval")
				}
				if log, err = newInspectLog(path, e.EpisodeRow); err != nil {
					return err
				}
			}
			return log.sample(x, e)
		})
		if err != nil || log == nil {
			return err
		}
		err = log.finish()
		log = nil
		return err
	})
}

// object is a JSON object; its keys are written in alphabetical order.
type object = map[string]any

// inspectLog is one log that is being written.
type inspectLog struct {
	config    string
	first     EpisodeRow
	file      *os.File
	zip       *zip.Writer
	ids       []string
	epochs    int
	samples   int
	scored    int
	shares    float64
	turns     float64
	usage     tokenSum
	began     *time.Time
	ended     *time.Time
	summaries []object
}

func newInspectLog(path string, first *EpisodeRow) (*inspectLog, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &inspectLog{config: first.Config, first: *first, file: f, zip: zip.NewWriter(f)}, nil
}

func (l *inspectLog) abort() { l.file.Close() }

// member writes a document into the archive. Its time is fixed, so that the same run gives the same bytes.
func (l *inspectLog) member(name string, v any) error {
	w, err := l.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: restoredTime})
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func inspectTime(t *time.Time) string {
	if t == nil {
		t = &restoredTime
	}
	return t.UTC().Format("2006-01-02T15:04:05.000+00:00")
}

func inspectUsageOf(t Tokens) object {
	u := object{"input_tokens": number(t.Input), "output_tokens": number(t.Output)}
	u["total_tokens"] = number(t.Input) + number(t.Output) + number(t.Cached) + number(t.CacheWrite)
	for name, n := range map[string]*int64{"input_tokens_cache_read": t.Cached, "input_tokens_cache_write": t.CacheWrite, "reasoning_tokens": t.Reasoning} {
		if n != nil {
			u[name] = *n
		}
	}
	return u
}

func (l *inspectLog) sample(x *exporting, e *exportEpisode) error {
	s := inspectSampleOut{episode: e}
	for _, a := range e.attempts {
		c, err := readConversation(x.run, a)
		if err != nil {
			return err
		}
		s.conversation(c)
	}
	doc := s.document()
	name := fmt.Sprintf("samples/%s_epoch_%d.json", safeName(e.Scenario), e.Repeat)
	if err := l.member(name, doc); err != nil {
		return err
	}
	l.count(e, doc, len(s.messages))
	return nil
}

// count keeps what the header and the summaries say of a sample.
func (l *inspectLog) count(e *exportEpisode, doc object, messages int) {
	l.samples++
	if !slices.Contains(l.ids, e.Scenario) {
		l.ids = append(l.ids, e.Scenario)
	}
	l.epochs = max(l.epochs, e.Repeat)
	l.usage.add(e.Tokens)
	if e.Started != nil && (l.began == nil || e.Started.Before(*l.began)) {
		l.began = e.Started
	}
	if end := endOf(e.EpisodeRow); end != nil && (l.ended == nil || end.After(*l.ended)) {
		l.ended = end
	}
	summary := object{"id": e.Scenario, "epoch": e.Repeat, "input": e.Scenario, "target": doc["target"], "metadata": object{"config": e.Config},
		"model_usage": doc["model_usage"], "completed": true, "message_count": messages, "uuid": e.Episode}
	if scores, ok := doc["scores"]; ok {
		summary["scores"] = scores
		l.scored++
		l.shares += *e.TurnsPassedShare
		if e.TurnsPassed != nil {
			l.turns += float64(*e.TurnsPassed)
		}
	}
	if failed, ok := doc["error"].(object); ok {
		summary["error"] = failed["message"]
	}
	if e.WallS != nil {
		summary["total_time"] = *e.WallS
	}
	l.summaries = append(l.summaries, summary)
}

func endOf(e *EpisodeRow) *time.Time {
	if e.Started == nil || e.WallS == nil {
		return nil
	}
	t := e.Started.Add(time.Duration(*e.WallS * float64(time.Second)))
	return &t
}

// finish writes the header, which Inspect reads first, and closes the archive.
func (l *inspectLog) finish() error {
	err := l.member("summaries.json", l.summaries)
	if err == nil {
		err = l.member("header.json", l.header())
	}
	if err == nil {
		err = l.zip.Close()
	}
	if cerr := l.file.Close(); err == nil {
		err = cerr
	}
	return err
}

// The names of the scores.
const (
	scoreShare = "turns_passed_share"
	scoreTurns = "turns_passed"
)

func (l *inspectLog) header() object {
	e := &l.first
	score := func(name string, sum float64) object {
		metrics := object{}
		if l.scored > 0 {
			metrics["mean"] = object{"name": "mean", "value": sum / float64(l.scored), "params": object{}}
		}
		return object{"name": name, "scorer": name, "params": object{}, "metrics": metrics, "scored_samples": l.scored, "unscored_samples": l.samples - l.scored}
	}
	scores := []object{score(scoreShare, l.shares)}
	if e.Mode != "teleport" {
		scores = append(scores, score(scoreTurns, l.turns))
	}
	return object{
		"version": 2, "status": "success",
		"eval": object{
			"eval_id": "stint-" + e.Episode, "run_id": "stint-" + e.Study, "created": inspectTime(l.began), "task": e.Study, "task_id": e.Study + "@" + e.Config,
			"task_version": 0, "task_attribs": object{}, "task_args": object{}, "solver": e.Harness, "model": e.Model, "model_generate_config": object{}, "model_args": object{},
			"dataset": object{"name": "stint scenarios", "samples": len(l.ids), "sample_ids": l.ids, "shuffled": false},
			"config":  object{"epochs": l.epochs}, "packages": object{},
			"metadata": object{"stint": object{"config": e.Config, "harness": e.Harness, "harness_version": e.HarnessVersion, "feedback": e.Feedback, "retries": e.Retries,
				"session": e.Session, "delivery": e.Delivery, "mode": e.Mode, "turns_max": e.TurnsMax}},
		},
		"plan":    object{"name": "plan", "steps": []object{}, "config": object{}},
		"results": object{"total_samples": l.samples, "completed_samples": l.samples, "scores": scores},
		"stats":   object{"started_at": inspectTime(l.began), "completed_at": inspectTime(l.ended), "model_usage": object{e.Model: inspectUsageOf(l.usage.Tokens)}},
	}
}

// inspectSampleOut is an episode that becomes a sample.
type inspectSampleOut struct {
	episode  *exportEpisode
	messages []object
	events   []object
	input    string
	shown    int    // messages that the events of the model have shown
	last     string // that the model said
	at       *time.Time
}

// message adds a message; every one has an id of its own.
func (s *inspectSampleOut) message(role, content string, more object) {
	m := object{"id": fmt.Sprintf("%s-%d", s.episode.Episode, len(s.messages)), "role": role, "content": content}
	for k, v := range more {
		m[k] = v
	}
	s.messages = append(s.messages, m)
}

func (s *inspectSampleOut) event(kind string, fields object) {
	e := object{"event": kind, "uuid": fmt.Sprintf("%s-e%d", s.episode.Episode, len(s.events)), "timestamp": inspectTime(s.at), "working_start": 0.0}
	for k, v := range fields {
		e[k] = v
	}
	s.events = append(s.events, e)
}

func (s *inspectSampleOut) conversation(c *conversation) {
	e := s.episode
	if s.input == "" {
		s.input = c.prompt
	}
	if c.began != nil {
		s.at = c.began
	}
	span := fmt.Sprintf("%s@%d-%d", e.Episode, c.row.Turn, c.row.Offset)
	name := fmt.Sprintf("turn %d", c.row.Turn)
	if c.row.Attempt != nil {
		name += fmt.Sprintf(", attempt %d", *c.row.Attempt)
	}
	s.event("span_begin", object{"id": span, "name": name, "type": "attempt"})
	s.message("user", c.prompt, object{"source": "input", "metadata": object{"stint": e.exported(c.row)}})
	for i := range c.steps {
		step := &c.steps[i]
		if step.time != nil {
			s.at = step.time
		}
		switch step.by {
		case byAgent:
			s.answer(step, span)
		case byUser:
			s.message("user", step.text(), nil)
		default:
			s.event("info", object{"span_id": span, "source": step.kind, "data": step.text()})
			if step.kind == EventMessage {
				s.message("system", step.text(), nil)
			}
		}
	}
	s.event("info", object{"span_id": span, "source": "stint", "data": e.exported(c.row)})
	s.event("span_end", object{"id": span})
	s.message("user", e.graded(c.row), nil)
}

// answer is what the model said and called, and what came back.
func (s *inspectSampleOut) answer(step *chatStep, span string) {
	more := object{"source": "generate", "model": s.episode.Model}
	var calls []object
	for i := range step.uses {
		u := &step.uses[i]
		calls = append(calls, object{"id": u.id, "function": u.name, "arguments": argumentsObject(u.arguments), "type": "function"})
	}
	if calls != nil {
		more["tool_calls"] = calls
	}
	input := slices.Clip(s.messages[s.shown:])
	s.message("assistant", step.text(), more)
	s.last, s.shown = step.text(), len(s.messages)
	// Of the input only what is new: whole conversations once per answer would grow with the square of their length.
	s.event("model", object{"span_id": span, "model": s.episode.Model, "input": input, "tools": []object{}, "tool_choice": "auto", "config": object{},
		"output": object{"model": s.episode.Model, "usage": inspectUsageOf(step.tokens), "choices": []object{
			{"message": s.messages[len(s.messages)-1], "stop_reason": stopReason(step)}}}})
	for i := range step.uses {
		u := &step.uses[i]
		if !u.ended {
			continue
		}
		event := object{"span_id": span, "type": "function", "id": u.id, "function": u.name, "arguments": argumentsObject(u.arguments), "result": u.output, "events": []object{}}
		more := object{"tool_call_id": u.id, "function": u.name}
		if u.failed || u.exit != nil && *u.exit != 0 {
			words := "the call was not run"
			if u.exit != nil {
				words = fmt.Sprintf("exit status %d", *u.exit)
			}
			more["error"] = object{"type": "unknown", "message": words}
			event["error"], event["failed"] = more["error"], true
		}
		s.event("tool", event)
		s.message("tool", u.output, more)
	}
}

func stopReason(step *chatStep) string {
	if len(step.uses) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// document is the whole sample.
func (s *inspectSampleOut) document() object {
	e := s.episode
	usage := object{e.Model: inspectUsageOf(e.Tokens)}
	doc := object{
		"id": e.Scenario, "epoch": e.Repeat, "input": s.input, "target": fmt.Sprintf("%d turns passed", e.TurnsMax), "messages": s.messages,
		"output": object{"model": e.Model, "completion": s.last, "usage": usage[e.Model], "choices": []object{
			{"message": object{"role": "assistant", "content": s.last, "source": "generate"}, "stop_reason": "stop"}}},
		"metadata": object{"stint": exportedRunOf(e.EpisodeRow)}, "store": object{}, "events": s.events, "model_usage": usage,
		"started_at": inspectTime(e.Started), "completed_at": inspectTime(endOf(e.EpisodeRow)), "uuid": e.Episode, "attachments": object{},
	}
	if e.WallS != nil {
		doc["total_time"] = *e.WallS
	}
	if e.Validity != ValidityValid || e.TurnsPassedShare == nil {
		words := "the episode is " + e.Validity
		if e.EndReason != nil {
			words += ": " + *e.EndReason
		}
		doc["error"] = object{"message": words, "traceback": "", "traceback_ansi": ""}
		return doc
	}
	scores := object{scoreShare: object{"value": *e.TurnsPassedShare, "explanation": orEmpty(e.EndLeaf)}}
	if e.TurnsPassed != nil {
		scores[scoreTurns] = object{"value": *e.TurnsPassed, "explanation": orEmpty(e.EndLeaf)}
	}
	doc["scores"] = scores
	return doc
}
