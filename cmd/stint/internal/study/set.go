package study

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

func (s *Study) readScenarios(root *node) error {
	n := root.get("scenarios")
	if set := n.get("set"); set != nil {
		return s.readSet(n, set)
	}
	if n.get("count") == nil {
		return s.src.errorAt(n.place, "for example scenarios: {count: 20, changes: 100}, or scenarios: {set: DIR}", "scenarios has no count")
	}
	s.Scenarios = Scenarios{
		Count:    countOr(n.get("count"), 0),
		Changes:  countOr(n.get("changes"), defaultChanges),
		Sampler:  suite.SamplerRules,
		Schedule: textOr(n.get("schedule"), scenario.ScheduleStratified),
		Delivery: textOr(n.get("delivery"), scenario.DeliveryDeltaFile),
	}
	if x := n.get("sampler"); x != nil && x.kind == kindMapping {
		s.Scenarios.Sampler, s.Scenarios.Model = suite.SamplerLLM, x.entries[0].value.text
	}
	return nil
}

// checkSampler wants the model that chooses the scenarios to be one that can be asked.
func (s *Study) checkSampler(root *node) error {
	name := s.Scenarios.Model
	if name == "" {
		return nil
	}
	at := root.get("scenarios").get("sampler").entries[0].value.place
	switch m := s.Model(name); {
	case m == nil:
		return s.src.errorAt(at, s.modelAdvice(name), "the model %q that shall choose the scenarios is not in models", name)
	case m.Simulate != "":
		return s.src.errorAt(at, "name a model with a url, or write sampler: rules", "a simulated model cannot choose scenarios")
	case m.API != "chat":
		return s.src.errorAt(at, "name a model with api: chat", "the model that chooses scenarios must speak the protocol chat, not %s", m.API)
	}
	return nil
}

// readSet reads the scenarios of a prepared set: all of them, or the first count. A frozen study finds them in its own
// run directory, since the set may have moved or grown.
func (s *Study) readSet(n, set *node) error {
	for _, key := range []string{"changes", "sampler", "schedule"} {
		if x := n.get(key); x != nil {
			return s.src.errorAt(x.place, "leave it out", "%s is what the scenarios of the set were made with", key)
		}
	}
	dir := set.text
	switch {
	case s.frozen:
		dir = (&logs.RunDir{Root: filepath.Dir(s.Path)}).ScenariosDir()
	case !filepath.IsAbs(dir):
		dir = filepath.Join(filepath.Dir(s.Path), dir)
	}
	prepared, err := suite.ReadSet(dir)
	var bad *suite.FileError
	if errors.As(err, &bad) {
		return s.src.errorAt(set.place, bad.Way, "the set cannot be used: %v", err)
	}
	if err != nil {
		return fmt.Errorf("reading the set of scenarios: %w", err)
	}
	count := countOr(n.get("count"), len(prepared.Files))
	if count > len(prepared.Files) {
		return s.src.errorAt(n.get("count").place, "leave count out to use all of them", "count is %d, but the set has %s", count, number(len(prepared.Files), "scenario"))
	}
	prepared.Files = prepared.Files[:count]
	first := prepared.Files[0]
	s.set = prepared
	s.Scenarios = Scenarios{
		Count: count, Changes: first.Changes, Set: set.text, Sampler: first.Sampler, Schedule: first.Schedule,
		Delivery: textOr(n.get("delivery"), cmp.Or(first.Delivery, scenario.DeliveryDeltaFile)),
	}
	return nil
}

// copySet puts the scenarios of the study's set into the run directory. One that is there stays; that it is the same was
// held against the frozen study, or is found out before it is used.
func (s *Study) copySet(d *logs.RunDir) error {
	if s.set == nil {
		return nil
	}
	if err := makeScenariosDir(d); err != nil {
		return err
	}
	for i, f := range s.set.Files {
		have, err := readScenario(d, i)
		if err != nil {
			return err
		}
		if have == nil {
			err = f.Write(d.ScenariosDir())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
