package study

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names returns the names of a study's configurations.
func names(s *Study) []string {
	var out []string
	for _, c := range s.Configs {
		out = append(out, c.Name)
	}
	return out
}

// studyOf builds a study from its configs and families sections.
func studyOf(t *testing.T, configs, families string) (*Study, error) {
	t.Helper()
	text := `version: 1
name: t
scenarios: {count: 8, changes: 3}
models:
  a: {url: "http://127.0.0.1:1/v1"}
  b: {url: "http://127.0.0.1:1/v1", tools: text}
  sim: {simulate: weak}
  strong: {simulate: strong}
configs:
` + configs
	if families != "" {
		text += "analysis:\n  families:\n" + families
	}
	return Parse("study.yaml", []byte(text))
}

func TestExpansion(t *testing.T) {
	for _, c := range []struct {
		name, configs string
		want          []string
	}{
		{"one", "  - {model: a, harness: builtin}\n", []string{"a+builtin/none/r0"}},
		{"product, model slowest", "  - {model: [sim, strong], feedback: [minimal, detailed], retries: [1, 2]}\n", []string{
			"sim+simulated/minimal/r1", "sim+simulated/minimal/r2", "sim+simulated/detailed/r1", "sim+simulated/detailed/r2",
			"strong+simulated/minimal/r1", "strong+simulated/minimal/r2", "strong+simulated/detailed/r1", "strong+simulated/detailed/r2",
		}},
		{"reference stands alone", "  - {harness: reference}\n  - {model: sim}\n", []string{"reference+reference/none/r0", "sim+simulated/none/r0"}},
		{"an axis with one value stays out of the name", "  - {model: a, harness: builtin, session: fresh, delivery: full, process_retries: 3}\n", []string{"a+builtin/none/r0"}},
		{"an axis with two values is in every name", "  - {model: sim, session: [continue, fresh]}\n  - {model: strong}\n", []string{
			"sim+simulated/none/r0/session=continue", "sim+simulated/none/r0/session=fresh", "strong+simulated/none/r0/session=continue",
		}},
		{"several axes in a fixed order", "  - {model: sim, delivery: [delta, full], process_retries: [0, 1]}\n", []string{
			"sim+simulated/none/r0/process_retries=0/delivery=delta", "sim+simulated/none/r0/process_retries=0/delivery=full",
			"sim+simulated/none/r0/process_retries=1/delivery=delta", "sim+simulated/none/r0/process_retries=1/delivery=full",
		}},
		{"tools come from the model, and count only where a model is called", "  - {model: [a, b], harness: builtin}\n  - {model: sim}\n", []string{
			"a+builtin/none/r0/tools=native", "b+builtin/none/r0/tools=text", "sim+simulated/none/r0",
		}},
		{"an entry may choose the tools", "  - {model: a, harness: builtin, tools: [native, text]}\n", []string{"a+builtin/none/r0/tools=native", "a+builtin/none/r0/tools=text"}},
	} {
		s, err := studyOf(t, c.configs, "")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, names(s)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestFactors(t *testing.T) {
	s, err := studyOf(t, "  - {model: a, harness: builtin, feedback: detailed, retries: 2, session: [continue, fresh]}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	c := s.Configs[1]
	want := map[string]string{
		"model": "a", "harness": "builtin", "feedback": "detailed", "retries": "2",
		"session": "fresh", "process_retries": "1", "delivery": "delta+file", "tools": "native",
	}
	if d := cmp.Diff(want, c.Factors); d != "" {
		t.Errorf("factors (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"session": "fresh"}, c.Further()); d != "" {
		t.Errorf("further (-want +got):\n%s", d)
	}
	if f := (Config{Name: "a+builtin/none/r0"}).Further(); f != nil {
		t.Errorf("further axes of a plain name: %v", f)
	}
}

func TestFamilies(t *testing.T) {
	const six = "  - {model: [sim, strong], feedback: none, retries: 0}\n  - {model: [sim, strong], feedback: [minimal, detailed], retries: 2}\n"
	for _, c := range []struct {
		name, configs, family string
		want                  string // pairs, or part of the complaint
	}{
		{
			"by one factor within strata; a stratum of one adds no pair", six, "{by: feedback, within: [model, harness, retries]}",
			`feedback within model, harness, retries: sim/minimal/r2-sim/detailed/r2 strong/minimal/r2-strong/detailed/r2`,
		},
		{
			"factors that change together", six, "{name: helps, by: [feedback, retries], within: [model, harness]}",
			`helps: sim/none/r0-sim/minimal/r2 sim/none/r0-sim/detailed/r2 sim/minimal/r2-sim/detailed/r2 ` +
				`strong/none/r0-strong/minimal/r2 strong/none/r0-strong/detailed/r2 strong/minimal/r2-strong/detailed/r2`,
		},
		{"between strata", six, "{by: model, within: [feedback, retries]}", `model within feedback, retries: sim/none/r0-strong/none/r0 sim/minimal/r2-strong/minimal/r2 sim/detailed/r2-strong/detailed/r2`},
		{"a filter", six, "{by: model, within: [feedback, retries], filter: 'feedback:(minimal OR detailed) -feedback:minimal'}", `model within feedback, retries: sim/detailed/r2-strong/detailed/r2`},
		{
			"baseline", six, "{baseline: sim+simulated/none/r0, filter: 'model:sim'}",
			`against sim+simulated/none/r0: sim/minimal/r2-sim/none/r0 sim/detailed/r2-sim/none/r0`,
		},
		{"a baseline outside the filter", six, "{baseline: strong+simulated/none/r0, filter: 'model:sim retries:2'}", `against strong+simulated/none/r0: sim/minimal/r2-strong/none/r0 sim/detailed/r2-strong/none/r0`},
		{
			"all pairs", "  - {model: sim, feedback: [minimal, moderate, detailed], retries: 2}\n", "{pairs: all}",
			`all pairs: sim/minimal/r2-sim/moderate/r2 sim/minimal/r2-sim/detailed/r2 sim/moderate/r2-sim/detailed/r2`,
		},
		{"written pairs keep their direction", six, "{pairs: [[strong+simulated/none/r0, sim+simulated/none/r0]]}", `1 declared pairs: strong/none/r0-sim/none/r0`},
		{"all pairs of one configuration", "  - {model: sim}\n", "{pairs: all}", `error: the family "all pairs" has no pair`},
		{"baseline alone", "  - {model: sim}\n", "{baseline: sim+simulated/none/r0}", `error: the family "against sim+simulated/none/r0" has no pair`},
		{"a stray factor of a further axis", "  - {model: [sim, strong], session: [continue, fresh]}\n", "{by: model, within: feedback}", `error: session varies among`},
		{"a further axis in the list", "  - {model: [sim, strong], session: [continue, fresh]}\n", "{by: model, within: session}", `model within session: ` +
			`sim/none/r0/session=continue-strong/none/r0/session=continue sim/none/r0/session=fresh-strong/none/r0/session=fresh`},
		{"a filter that leaves nothing", six, "{by: model, filter: 'model:nobody'}", `error: the family "by model" has no pair`},
	} {
		s, err := studyOf(t, c.configs, "    - "+c.family+"\n")
		var got string
		if err != nil {
			msg, _, _ := strings.Cut(err.Error(), "\n")
			_, msg, _ = strings.Cut(msg, ": ")
			got = "error: " + msg
			if strings.HasPrefix(c.want, "error: ") && strings.HasPrefix(got, c.want) {
				continue
			}
		} else {
			f := s.Families[0]
			got = f.Name + ":"
			for _, p := range f.Pairs {
				got += fmt.Sprintf(" %s-%s", strings.Replace(p[0], "+simulated", "", 1), strings.Replace(p[1], "+simulated", "", 1))
			}
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
