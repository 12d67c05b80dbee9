package study

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// The harnesses that are stint's own. All others are programs, described by files.
const (
	harnessBuiltin   = "builtin"
	harnessSimulated = "simulated"
	harnessReference = "reference"
)

// OwnHarnesses are the agents that are a part of stint: they have no file and need no installation.
func OwnHarnesses() []string { return []string{harnessBuiltin, harnessSimulated, harnessReference} }

// harnesses are all names that a study may use; a path names a file of the user.
func harnesses() []string {
	return append(OwnHarnesses(), harness.Shipped()...)
}

// Config is one configuration: what is compared.
type Config struct {
	Name           string // MODEL+HARNESS/FEEDBACK/rK, and /key=value for every further axis that varies in the study
	Model          string // name in models; "reference" for the reference harness
	Harness        string
	Feedback       string
	Retries        int
	ProcessRetries int
	Session        string
	Delivery       string
	Tools          string            // native or text; "" where the harness calls no model
	Factors        map[string]string // every axis by name: model, harness, feedback, retries, session, process_retries, delivery, tools

	place     place // its entry in the file
	harnessAt place // where its harness is named
}

// Further returns the factors beyond model, harness, feedback and retries that stand in the name: the axes
// with more than one value in the study. Nil if there are none.
func (c Config) Further() map[string]string {
	var out map[string]string
	for _, part := range strings.Split(c.Name, "/")[1:] {
		if k, v, ok := strings.Cut(part, "="); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

// A study larger than this is a slip of the finger: nobody could pay for it, and planning it would take long.
const (
	maxConfigs  = 1000
	maxEpisodes = 1_000_000
)

// readConfigs multiplies out every entry of configs and names the results.
func (s *Study) readConfigs(root *node) error {
	list := root.get("configs")
	for _, n := range list.items {
		if err := s.expand(n); err != nil {
			return err
		}
	}
	if episodes := len(s.Configs) * s.Scenarios.Count * s.Repeats; episodes > maxEpisodes {
		return s.src.errorAt(list.place, "make it several studies", "the study has %d episodes; at most %d are run", episodes, maxEpisodes)
	}
	s.nameConfigs()
	if err := s.checkProtocols(); err != nil {
		return err
	}
	first := map[string]Config{}
	for _, c := range s.Configs {
		if before, dup := first[c.Name]; dup {
			return s.src.errorAt(c.place, fmt.Sprintf("the entry on line %d already gives it; take it out of one of the two", before.place.line),
				"configuration %s stands twice in the study", c.Name)
		}
		first[c.Name] = c
	}
	return nil
}

// expand appends the product of one entry's lists: the model varies slowest, as written.
func (s *Study) expand(n *node) error {
	models, err := s.entryModels(n)
	if err != nil {
		return err
	}
	for _, m := range models {
		harnessWords := wordsOf(n.get("harness"))
		if harnessWords == nil {
			w, err := s.defaultHarness(n, m)
			if err != nil {
				return err
			}
			harnessWords = []*node{w}
		}
		for _, h := range harnessWords {
			name, err := s.checkHarness(h, m)
			if err != nil {
				return err
			}
			if err := s.expandLevels(n, m, name, h.place); err != nil {
				return err
			}
		}
	}
	return nil
}

// entryModels returns the models of an entry; a nil node stands for the model of the reference harness.
func (s *Study) entryModels(n *node) ([]*node, error) {
	hs := wordsOf(n.get("harness"))
	reference := slices.IndexFunc(hs, func(h *node) bool { return h.text == harnessReference })
	if m := n.get("model"); reference >= 0 && (m != nil || len(hs) > 1) {
		return nil, s.src.errorAt(hs[reference].place, "give it an entry of its own: - {harness: reference}", "harness reference stands alone, without model or another harness")
	}
	if reference >= 0 {
		return []*node{nil}, nil
	}
	models := wordsOf(n.get("model"))
	if models == nil {
		return nil, s.src.errorAt(n.place, "name a model of this file, or write - {harness: reference}", "this entry of configs has no model")
	}
	for _, m := range models {
		if s.Model(m.text) == nil {
			return nil, s.src.errorAt(m.place, s.modelAdvice(m.text), "unknown model %q", m.text)
		}
	}
	return models, nil
}

// defaultHarness is what an entry without harness means: a simulated model runs in the simulated harness.
func (s *Study) defaultHarness(n, model *node) (*node, error) {
	if s.Model(model.text).Simulate != "" {
		return &node{place: n.place, kind: kindScalar, text: harnessSimulated}, nil
	}
	return nil, s.src.errorAt(n.place, "for example harness: builtin", "this entry of configs has no harness for model %s", model.text)
}

// checkHarness refuses a harness that does not exist or does not fit the model, and returns its name.
func (s *Study) checkHarness(h, model *node) (string, error) {
	file, err := s.harnessFile(h)
	if err != nil {
		return "", err
	}
	if model == nil {
		return h.text, nil
	}
	name := h.text
	if file != nil {
		name = file.Name
	}
	m := s.Model(model.text)
	switch {
	case m.Simulate != "" && name != harnessSimulated:
		return "", s.src.errorAt(h.place, "use harness: simulated, or a model with a url", "model %s is simulated, so harness %s has nothing to ask", m.Name, name)
	case m.Simulate == "" && name == harnessSimulated:
		return "", s.src.errorAt(h.place, "add a model with simulate: weak, medium or strong, or use harness: builtin", "harness simulated needs a simulated model, and %s is a real one", m.Name)
	}
	return name, nil
}

// protocol is what a harness speaks to its model.
func (s *Study) protocol(harness string) string {
	if f := s.Harnesses[harness]; f != nil {
		return f.Protocol
	}
	return "chat"
}

// checkProtocols refuses all configurations whose model's endpoint does not speak what the harness speaks.
func (s *Study) checkProtocols() error {
	var wrong []*Config
	reason := func(c *Config) string {
		return fmt.Sprintf("model %s has api %s, but harness %s speaks %s", c.Model, s.Model(c.Model).API, c.Harness, s.protocol(c.Harness))
	}
	advice := func(c *Config) string {
		return fmt.Sprintf("if the model's server offers api: %s too, add it under a second name; most servers offer chat beside their own", s.protocol(c.Harness))
	}
	for i := range s.Configs {
		c := &s.Configs[i]
		if m := s.Model(c.Model); m != nil && m.Simulate == "" && m.API != s.protocol(c.Harness) {
			wrong = append(wrong, c)
		}
	}
	switch len(wrong) {
	case 0:
		return nil
	case 1:
		return s.src.errorAt(wrong[0].harnessAt, advice(wrong[0]), "configuration %s cannot run: %s", wrong[0].Name, reason(wrong[0]))
	}
	fault := s.src.errorAt(wrong[0].harnessAt, advice(wrong[0]), "%d of %s cannot run", len(wrong), number(len(s.Configs), "configuration"))
	for _, c := range wrong {
		fault.Snippet += "\n" + printable(fmt.Sprintf("%5d | %s: %s", c.harnessAt.line, c.Name, reason(c)))
	}
	return fault
}

// harnessFile returns the file of a harness, nil for stint's own.
func (s *Study) harnessFile(h *node) (*harness.File, error) {
	name := h.text
	switch {
	case name == harnessBuiltin || name == harnessSimulated || name == harnessReference:
		return nil, nil
	case !harness.IsPath(name) && !slices.Contains(harnesses(), name):
		return nil, s.src.errorAt(h.place, DidYouMean(name, harnesses(), "harnesses"), "unknown harness %q", name)
	}
	dir := filepath.Dir(s.Path)
	if harness.IsPath(name) && s.frozen {
		dir, name = filepath.Join(dir, harnessFolder), "./"+filepath.Base(name)
	}
	f, err := harness.Load(name, dir)
	if err != nil {
		var fault *harness.FileError
		if errors.As(err, &fault) {
			return nil, s.src.errorAt(h.place, fault.Way, "harness %s: %s", name, fault.Text)
		}
		return nil, err
	}
	if other := s.Harnesses[f.Name]; other != nil && other.SHA() != f.SHA() {
		return nil, s.src.errorAt(h.place, "give one of the two files another name", "two harness files have the name %s", f.Name)
	}
	if s.Harnesses == nil {
		s.Harnesses = map[string]*harness.File{}
	}
	s.Harnesses[f.Name] = f
	return f, nil
}

// harnessFolder, in a run directory, keeps the harness files that were not stint's.
const harnessFolder = "harness"

// freezeHarnesses keeps the user's harness files beside the study, and refuses one that has changed.
func (s *Study) freezeHarnesses(d *logs.RunDir) error {
	for _, name := range slices.Sorted(maps.Keys(s.Harnesses)) {
		f := s.Harnesses[name]
		if f.Path() == "" {
			continue
		}
		to := filepath.Join(d.Root, harnessFolder, filepath.Base(f.Path()))
		old, err := os.ReadFile(to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return fmt.Errorf("keeping the harness file %s: %w", f.Path(), err)
			}
			if err := os.WriteFile(to, f.Source(), 0o644); err != nil {
				return fmt.Errorf("keeping the harness file %s: %w", f.Path(), err)
			}
		case err != nil:
			return fmt.Errorf("reading the harness file of this run: %w", err)
		case !bytes.Equal(old, f.Source()):
			return &InputError{File: f.Path(), Message: fmt.Sprintf("the harness file is not the one this run began with (%s)", to),
				Advice: "put the old content back, or give the changed file another name and run it as a new configuration"}
		}
	}
	return nil
}

// orDefault returns the values of a key, or one node with the default at the place of the entry.
func orDefault(n *node, name, fallback string) []*node {
	if v := wordsOf(n.get(name)); v != nil {
		return v
	}
	return []*node{{place: n.place, kind: kindScalar, text: fallback}}
}

// expandLevels multiplies out everything but model and harness.
func (s *Study) expandLevels(n, model *node, name string, at place) error {
	base := Config{Model: harnessReference, Harness: name, place: n.place, harnessAt: at}
	if model != nil {
		base.Model = model.text
	}
	tools := []*node{{}}
	if name == harnessBuiltin {
		tools = orDefault(n, "tools", s.Model(model.text).Tools)
	} else if t := n.get("tools"); t != nil {
		return s.src.errorAt(t.place, "leave it out", "harness %s has no tools setting; only builtin has", name)
	}
	session := s.Agent.Session
	if f := s.Harnesses[name]; f != nil && len(f.Next) == 0 {
		for _, w := range wordsOf(n.get("session")) {
			if w.text != "fresh" {
				return s.src.errorAt(w.place, "write session: fresh, or leave it out", "harness %s cannot go on with a conversation", name)
			}
		}
		session = "fresh"
	}
	for _, f := range orDefault(n, "feedback", "none") {
		for _, r := range orDefault(n, "retries", "0") {
			if err := s.checkLevels(name, f, r); err != nil {
				return err
			}
			for _, session := range orDefault(n, "session", session) {
				for _, pr := range orDefault(n, "process_retries", strconv.Itoa(s.Agent.ProcessRetries)) {
					for _, d := range orDefault(n, "delivery", s.Scenarios.Delivery) {
						for _, t := range tools {
							c := base
							c.Feedback, c.Retries, c.Session, c.Delivery, c.Tools = f.text, countOr(r, 0), session.text, d.text, t.text
							c.ProcessRetries = countOr(pr, 0)
							if s.Configs = append(s.Configs, c); len(s.Configs) > maxConfigs {
								return s.src.errorAt(n.place, "make it several studies", "the study has more than %d configurations", maxConfigs)
							}
						}
					}
				}
			}
		}
	}
	return nil
}

// checkLevels refuses retries that would be told nothing, feedback that could never be given, and retries of
// the reference, which needs none.
func (s *Study) checkLevels(name string, feedback, retries *node) error {
	k := countOr(retries, 0)
	switch {
	case name == harnessReference && (feedback.text != "none" || k > 0):
		at := retries.place
		if feedback.text != "none" {
			at = feedback.place
		}
		return s.src.errorAt(at, "write - {harness: reference}", "harness reference takes no feedback and no retries")
	case feedback.text == "none" && k > 0:
		return s.src.errorAt(feedback.place, "choose minimal, moderate or detailed, or retries: 0", "feedback none with %d retries: a retry must be told something", k)
	}
	return nil
}

// factor returns the value of one axis of a configuration.
func (c *Config) factor(name string) string {
	switch name {
	case "model":
		return c.Model
	case "harness":
		return c.Harness
	case "feedback":
		return c.Feedback
	case "retries":
		return strconv.Itoa(c.Retries)
	case "session":
		return c.Session
	case "process_retries":
		return strconv.Itoa(c.ProcessRetries)
	case "delivery":
		return c.Delivery
	case "tools":
		return c.Tools
	}
	return ""
}

// nameConfigs gives every configuration its name and factors. An axis beyond the first four stands in the
// name if it has more than one value in the study; a harness without that axis does not count.
func (s *Study) nameConfigs() {
	varying := map[string]bool{}
	for _, f := range factorNames[4:] {
		values := map[string]bool{}
		for i := range s.Configs {
			if v := s.Configs[i].factor(f); v != "" {
				values[v] = true
			}
		}
		varying[f] = len(values) > 1
	}
	for i := range s.Configs {
		c := &s.Configs[i]
		c.Factors = map[string]string{}
		name := fmt.Sprintf("%s+%s/%s/r%d", c.Model, c.Harness, c.Feedback, c.Retries)
		for j, f := range factorNames {
			v := c.factor(f)
			if v == "" {
				continue
			}
			c.Factors[f] = v
			if j >= 4 && varying[f] {
				name += "/" + f + "=" + v
			}
		}
		c.Name = name
	}
}
