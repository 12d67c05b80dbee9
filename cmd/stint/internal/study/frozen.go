package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// FrozenError says that a study file changed in a way that would make one run out of two.
type FrozenError struct {
	File, Frozen string   // the new file and the one in the run directory
	Diff         []string // one line per difference that is not allowed
}

func (e *FrozenError) Error() string {
	return fmt.Sprintf("%s differs from %s, with which this run was begun:\n%s", e.File, e.Frozen, strings.Join(e.Diff, "\n"))
}

// Hint returns the way out.
func (e *FrozenError) Hint() string {
	return "a run may only gain configurations, scenarios and repeats, and have its limits raised; undo the change, or start another run with -o DIR"
}

// ExitCode returns 2.
func (e *FrozenError) ExitCode() int { return 2 }

// change is one difference between two studies.
type change struct {
	key, was, is string // "" = not there
	allowed      bool
}

// String is the line of a diff.
func (c change) String() string {
	show := func(v string) string {
		if v == "" {
			return "(not there)"
		}
		return v
	}
	return fmt.Sprintf("  %s: %s → %s", c.key, show(c.was), show(c.is))
}

// mustStay lists what decides the outcome of an episode or how it is analysed, by key. These values may not
// change once a run has begun.
func (s *Study) mustStay() map[string]string {
	m := map[string]string{
		"name":               s.Name,
		"seed":               fmt.Sprint(s.Seed),
		"mode":               s.Mode,
		"scenarios.changes":  fmt.Sprint(s.Scenarios.Changes),
		"scenarios.sampler":  s.Scenarios.Sampler,
		"scenarios.schedule": s.Scenarios.Schedule,
		"scenarios.llm":      s.Scenarios.Model,
		"sandbox.kind":       s.Sandbox.Kind,
		"sandbox.image":      s.Sandbox.Image,
		"sandbox.runtimes":   strings.Join(s.Sandbox.Runtimes, ", "),
		"gateway.retry":      fmt.Sprint(s.Gateway.Retry),
		"analysis.outcome":   s.Analysis.Outcome,
		"analysis.alpha":     fmt.Sprint(s.Analysis.Alpha),
	}
	m["scenarios"] = "drawn"
	if s.set != nil {
		m["scenarios"] = "from a set"
		for _, f := range s.set.Files {
			m["scenarios: "+f.Name] = f.Content
		}
	}
	for _, model := range s.Models {
		m["models."+model.Name] = model.describe()
	}
	for i, f := range s.Families {
		m[fmt.Sprintf("analysis.families[%d]", i)] = f.describe()
	}
	for _, c := range s.Configs {
		m["configs: "+c.Name] = c.describe()
	}
	return m
}

// describe gives every setting of a model that reaches a request.
func (m Model) describe() string {
	if m.Simulate != "" {
		return fmt.Sprintf("simulate: %s, transport: %s", m.Simulate, m.Transport)
	}
	temperature := "the provider's"
	if m.Temperature != nil {
		temperature = fmt.Sprint(*m.Temperature)
	}
	return fmt.Sprintf("api: %s, url: %s, key_env: %s, id: %s, context: %d, max_output: %d, temperature: %s, tools: %s",
		m.API, m.URL, m.KeyEnv, m.ID, m.Context, m.MaxOutput, temperature, m.Tools)
}

// describe gives a family as declared, so that new configurations may add pairs to it.
func (f Family) describe() string {
	parts := []string{fmt.Sprintf("%q", f.Name), "outcome: " + f.Outcome}
	add := func(key, value string) {
		if value != "" {
			parts = append(parts, key+": "+value)
		}
	}
	add("by", strings.Join(f.By, ", "))
	add("within", strings.Join(f.Within, ", "))
	add("baseline", f.Baseline)
	add("filter", f.Filter)
	if len(f.By) == 0 && f.Baseline == "" && !f.All {
		for _, p := range f.Pairs {
			add("pair", p[0]+" − "+p[1])
		}
	}
	return strings.Join(parts, "; ")
}

// describe gives a configuration's factors, those included that its name does not show.
func (c Config) describe() string {
	parts := make([]string, 0, len(c.Factors))
	for _, k := range slices.Sorted(maps.Keys(c.Factors)) {
		parts = append(parts, k+": "+c.Factors[k])
	}
	return strings.Join(parts, ", ")
}

// limits lists the numbers that may only be raised. A money or token limit that is not set is infinite; for
// the others zero is the default of the part that keeps them.
func (s *Study) limits() map[string]float64 {
	orNone := func(v float64) float64 {
		if v == 0 {
			return math.Inf(1)
		}
		return v
	}
	return map[string]float64{
		"scenarios.count":          float64(s.Scenarios.Count),
		"repeats":                  float64(s.Repeats),
		"budgets.attempt.wall":     s.Budgets.Wall.Seconds(),
		"budgets.attempt.tokens":   orNone(float64(s.Budgets.Tokens)),
		"budgets.attempt.requests": float64(s.Budgets.Requests),
		"budgets.episode.usd":      orNone(s.Budgets.EpisodeUSD),
		"budgets.study.usd":        orNone(s.Budgets.StudyUSD),
		"gateway.provider_wait":    s.Gateway.ProviderWait.Seconds(),
		"sandbox.limits.memory":    float64(s.Sandbox.Memory),
		"sandbox.limits.processes": float64(s.Sandbox.Processes),
		"sandbox.limits.disk":      float64(s.Sandbox.Disk),
	}
}

// addable says which keys of mustStay may appear: configurations, the models they need, and scenarios. A family may not:
// what is tested was declared before the first run.
func addable(key string) bool {
	return strings.HasPrefix(key, "configs: ") || strings.HasPrefix(key, "models.") || strings.HasPrefix(key, "scenarios: ")
}

// differences compares the study a run was begun with and the one given now. Jobs, the judge, comments and
// layout are free.
func differences(frozen, now *Study) []change {
	var out []change
	a, b := frozen.mustStay(), now.mustStay()
	for _, k := range union(a, b) {
		was, wasThere := a[k]
		is, isThere := b[k]
		if was == is && wasThere == isThere {
			continue
		}
		if old, isConfig := strings.CutPrefix(k, "configs: "); isConfig && !isThere {
			if c := renamed(frozen.Config(old), now); c != nil {
				is = fmt.Sprintf("now called %s, since another axis varies in the study", c.Name)
			}
		}
		out = append(out, change{k, was, is, !wasThere && addable(k)})
	}
	x, y := frozen.limits(), now.limits()
	for _, k := range union(x, y) {
		if x[k] != y[k] {
			raised := y[k] > x[k] && x[k] != 0 // a default is not known here, so leaving it is no raise
			out = append(out, change{k, limitText(x[k]), limitText(y[k]), raised})
		}
	}
	if frozen.PriceName != now.PriceName {
		out = append(out, change{"prices", frozen.PriceName, now.PriceName, false})
	}
	return out
}

// renamed finds the configuration with the same factors as one that is gone: a new value on a further axis
// puts that axis into every name, and so into the identity of episodes that were already run.
func renamed(old *Config, now *Study) *Config {
	for i := range now.Configs {
		if maps.Equal(now.Configs[i].Factors, old.Factors) {
			return &now.Configs[i]
		}
	}
	return nil
}

func limitText(v float64) string {
	switch {
	case v == 0:
		return "default"
	case math.IsInf(v, 1):
		return "no limit"
	}
	return fmt.Sprintf("%.10g", v)
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// checkFrozen refuses a change that is not allowed and tells about those that are: raised limits of an attempt
// hold for episodes to come only, and new pairs make a family stricter.
func checkFrozen(frozen, now *Study, frozenPath string) (changed bool, notes []string, err error) {
	diff := differences(frozen, now)
	var refused []string
	for _, c := range diff {
		if !c.allowed {
			refused = append(refused, c.String())
			continue
		}
		if strings.HasPrefix(c.key, "budgets.attempt.") || strings.HasPrefix(c.key, "sandbox.limits.") {
			notes = append(notes, fmt.Sprintf("%s is now %s; attempts made so far had %s", c.key, c.is, c.was))
		}
	}
	if len(refused) > 0 {
		return false, nil, &FrozenError{File: now.Path, Frozen: frozenPath, Diff: refused}
	}
	for i, f := range now.Families {
		if was := len(frozen.Families[i].Pairs); len(f.Pairs) != was {
			notes = append(notes, fmt.Sprintf("the family %q now has %s instead of %d, and its correction grows with it", f.Name, number(len(f.Pairs), "pair"), was))
		}
	}
	return len(diff) > 0, notes, nil
}
