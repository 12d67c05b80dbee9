package study

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite golden files")

// base is a study that uses every part; the bad ones below are one edit away from it.
const base = `version: 1
name: t
seed: 7
scenarios: {count: 20, changes: 100, sampler: rules}
repeats: 1
configs:
  - {model: [alpha, beta], harness: builtin, feedback: none, retries: 0}
  - {model: alpha, harness: builtin, feedback: [minimal, detailed], retries: 2}
models:
  alpha: {api: chat, url: "http://127.0.0.1:8000/v1", key_env: ALPHA_KEY, context: 200k}
  beta: {url: "https://beta.example.com/v1"}
  sim: {simulate: weak}
sandbox:
  runtimes: [python3]
  limits: {memory: 4GiB}
budgets:
  attempt: {wall: 30m, tokens: 4M, requests: 200}
jobs: {episodes: 4}
analysis:
  families:
    - {name: models, by: model, within: [harness, feedback, retries]}
`

// edit replaces one piece of base.
func edit(t *testing.T, old, now string) string {
	t.Helper()
	if strings.Count(base, old) != 1 {
		t.Fatalf("%q stands %d times in the base", old, strings.Count(base, old))
	}
	return strings.Replace(base, old, now, 1)
}

func TestBaseParses(t *testing.T) {
	s, err := Parse("study.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.Configs); got != 4 {
		t.Errorf("%d configurations, want 4", got)
	}
	if s.Budgets.Tokens != 4e6 || s.Budgets.Wall != 30*time.Minute || s.Models[0].Context != 200000 || s.Sandbox.Memory != 4<<30 {
		t.Errorf("budgets %+v, models %+v, sandbox %+v", s.Budgets, s.Models, s.Sandbox)
	}
	if s.Agent.Session != "continue" || s.Agent.ProcessRetries != 1 || s.Scenarios.Delivery != "delta+file" || s.Mode != "fail-stop" || s.Models[1].ID != "beta" {
		t.Errorf("a default is missing: %+v", s)
	}
}

// TestBadInput holds the whole message and the hint of every complaint; -update rewrites the golden file,
// which is then to be read.
func TestBadInput(t *testing.T) {
	cases := []struct{ name, old, now string }{
		{"unknown key at the top", "repeats: 1", "repeat: 1"},
		{"unknown key in a flow mapping", "sampler: rules", "samplers: rules"},
		{"unknown key of an entry of configs", "retries: 2}", "retry: 2}"},
		{"unknown key with nothing near", "repeats: 1", "frobnicate: 1"},
		{"duplicate key", "seed: 7", "seed: 7\nname: u"},
		{"no value", "seed: 7", "seed:"},
		{"wrong type: text for a number", "seed: 7", "seed: seven"},
		{"wrong type: list for a number", "seed: 7", "seed: [7]"},
		{"wrong type: value for a list", "runtimes: [python3]", "runtimes: python3"},
		{"wrong type: list for a mapping", "limits: {memory: 4GiB}", "limits: [4GiB]"},
		{"wrong type: value for a mapping", "jobs: {episodes: 4}", "jobs: 4"},
		{"fraction for a count", "count: 20", "count: 2.5"},
		{"not YAML", "repeats: 1", "repeats: [1"},
		{"tab for indentation", "  attempt:", "\tattempt:"},
		{"missing required key", "name: t\n", ""},
		{"unknown version", "version: 1", "version: 2"},
		{"name with a slash", "name: t", "name: a/b"},
		{"zero scenarios", "count: 20", "count: 0"},
		{"negative changes", "changes: 100", "changes: -1"},
		{"negative repeats", "repeats: 1", "repeats: -2"},
		{"no count", "count: 20, ", ""},
		{"a set of scenarios", "{count: 20, changes: 100, sampler: rules}", "{set: scenarios/main}"},
		{"sampler llm", "sampler: rules", "sampler: {llm: alpha}"},
		{"unknown mode", "repeats: 1", "mode: failstop"},
		{"teleport", "repeats: 1", "mode: teleport"},
		{"bad size", "memory: 4GiB", "memory: 4 gigs"},
		{"bad duration", "wall: 30m", "wall: 30"},
		{"negative duration", "wall: 30m", "wall: -30m"},
		{"container", "  runtimes:", "  kind: container\n  runtimes:"},
		{"unknown word", "feedback: none", "feedback: nonne"},
		{"feedback none with retries", "feedback: [minimal, detailed], retries: 2", "feedback: none, retries: 2"},
		{"feedback none in a list with retries", "feedback: [minimal, detailed], retries: 2", "feedback: [minimal, none], retries: [0, 2]"},
		{"negative retries", "retries: 2", "retries: -1"},
		{"value twice in a list", "[minimal, detailed]", "[minimal, minimal]"},
		{"empty list", "[minimal, detailed]", "[]"},
		{"no configuration", "configs:\n  - {model: [alpha, beta], harness: builtin, feedback: none, retries: 0}\n  - {model: alpha, harness: builtin, feedback: [minimal, detailed], retries: 2}\n", "configs: []\n"},
		{"configuration twice", "[alpha, beta]", "alpha, harness: builtin, feedback: minimal, retries: 2}\n  - {model: [alpha, beta]"},
		{"unknown model", "[alpha, beta]", "[alpha, betta]"},
		{"entry without model", "model: [alpha, beta], ", ""},
		{"real model without harness", "{model: alpha, harness: builtin,", "{model: alpha,"},
		{"unknown harness", "model: alpha, harness: builtin", "model: alpha, harness: builtins"},
		{"harness to come", "model: alpha, harness: builtin", "model: alpha, harness: opencode"},
		{"simulated harness with a real model", "model: alpha, harness: builtin", "model: alpha, harness: simulated"},
		{"builtin with a simulated model", "model: alpha, harness: builtin", "model: sim, harness: builtin"},
		{"reference with a model", "model: alpha, harness: builtin", "model: alpha, harness: reference"},
		{"reference with feedback", "{model: alpha, harness: builtin", "{harness: reference"},
		{"tools of a simulated agent", "{model: alpha, harness: builtin,", "{model: sim, tools: text,"},
		{"api and protocol", "api: chat", "api: responses"},
		{"model without url", `url: "https://beta.example.com/v1"`, "context: 8k"},
		{"model with a bad url", `url: "https://beta.example.com/v1"`, "url: beta.example.com"},
		{"credentials in a url", "https://beta.example.com/v1", "https://user:secret@beta.example.com/v1"},
		{"a key for the name of its variable", "key_env: ALPHA_KEY", "key_env: sk-1234567890"},
		{"simulated model with a url", "simulate: weak", "simulate: weak, url: x"},
		{"transport to come", "simulate: weak", "simulate: weak, transport: python"},
		{"negative temperature", "context: 200k", "temperature: -1"},
		{"money limit without a price", "  attempt:", "  study: {usd: 10}\n  attempt:"},
		{"money limit of zero", "  attempt:", "  study: {usd: 0}\n  attempt:"},
		{"price table that is not there", "jobs:", "prices: nowhere.yaml\njobs:"},
		{"alpha out of range", "analysis:", "analysis:\n  alpha: 5"},
		{"family without a pair", "within: [harness, feedback, retries]}", "within: [harness, feedback, retries], filter: 'model:beta'}"},
		{"family that says nothing", "by: model, within: [harness, feedback, retries]", "outcome: full"},
		{"family that says too much", "by: model,", "by: model, pairs: all,"},
		{"within without by", "by: model, within: [harness, feedback, retries]", "pairs: all, within: model"},
		{"stray factor", "by: model, within: [harness, feedback, retries]", "by: feedback, within: [model, harness]"},
		{"unknown factor", "by: model", "by: modell"},
		{"factor in both lists", "within: [harness, feedback, retries]", "within: [model, harness, feedback, retries]"},
		{"unknown configuration in a pair", "by: model, within: [harness, feedback, retries]", "pairs: [[alpha+builtin/none/r0, beta+builtin/none/r1]]"},
		{"unknown baseline", "by: model, within: [harness, feedback, retries]", "baseline: alpha"},
		{"pair with itself", "by: model, within: [harness, feedback, retries]", "pairs: [[alpha+builtin/none/r0, alpha+builtin/none/r0]]"},
		{"pair twice", "by: model, within: [harness, feedback, retries]", "pairs: [[alpha+builtin/none/r0, beta+builtin/none/r0], [beta+builtin/none/r0, alpha+builtin/none/r0]]"},
		{"pair of three", "by: model, within: [harness, feedback, retries]", "pairs: [[a, b, c]]"},
		{"filter that cannot be read", "by: model,", "by: model, filter: 'model:(',"},
		{"filter by something a configuration has not", "by: model,", "by: model, filter: 'scenario:s01',"},
		{"two families of one name", "analysis:\n  families:", "analysis:\n  families:\n    - {name: models, pairs: all}"},
		{"judge that is no model", "jobs:", "judge: {model: alfa}\njobs:"},
		{"anchor", "seed: 7", "seed: &x 7"},
		{"two documents", "seed: 7\n", "seed: 7\n---\nversion: 1\n"},
		{"control characters", "name: t", "name: \"a\x1b[31mb\""},
	}
	var got strings.Builder
	for _, c := range cases {
		_, err := Parse("study.yaml", []byte(edit(t, c.old, c.now)))
		fmt.Fprintf(&got, "== %s\n%s\n", c.name, complaint(t, c.name, err))
	}
	for _, c := range []struct{ name, text string }{{"empty file", ""}, {"only a comment", "# nothing\n"}, {"a list", "- 1\n"}} {
		_, err := Parse("study.yaml", []byte(c.text))
		fmt.Fprintf(&got, "== %s\n%s\n", c.name, complaint(t, c.name, err))
	}
	golden(t, "testdata/bad.golden", got.String())
}

// complaint renders an error as the command prints it, and insists on its kind.
func complaint(t *testing.T, name string, err error) string {
	t.Helper()
	var in *InputError
	if !errors.As(err, &in) {
		t.Errorf("%s: error %v is no *InputError", name, err)
		return fmt.Sprint(err)
	}
	if in.ExitCode() != 2 {
		t.Errorf("%s: exit code %d, want 2", name, in.ExitCode())
	}
	text := in.Error()
	if in.Hint() != "" {
		text += "\nhint: " + in.Hint()
	}
	return text
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Fatalf("%s, line %d:\n got %q\nwant %q", path, i+1, g[i], w[i])
			}
		}
		t.Fatalf("%s: %d lines, want %d", path, len(g), len(w))
	}
}

func TestLoadOfFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "no such study file",
		dir:                             "a directory",
		big:                             "at most",
	} {
		_, err := Load(path)
		var in *InputError
		if !errors.As(err, &in) || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%s): %v, want an *InputError with %q", path, err, want)
		}
	}
}

func TestPricesCountFromTheFile(t *testing.T) {
	dir := t.TempDir()
	prices := "name: mine\nprices:\n  - {model: alpha, usd_per_mtok: {input: 1, output: 3}}\n  - {model: beta, usd_per_mtok: {input: 1, output: 2}}\n"
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(edit(t, "  attempt:", "  study: {usd: 10}\n  attempt:"), "jobs:", "prices: p.yaml\njobs:", 1)
	s, err := Parse(filepath.Join(dir, "study.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if s.Prices.Name() != "mine" || s.PriceFile != filepath.Join(dir, "p.yaml") {
		t.Errorf("prices %s from %s", s.Prices.Name(), s.PriceFile)
	}
}

func TestCheckKeys(t *testing.T) {
	s, err := Parse("study.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CheckKeys(func(name string) string { return map[string]string{"ALPHA_KEY": "x"}[name] }); err != nil {
		t.Errorf("with the key set: %v", err)
	}
	err = s.CheckKeys(func(string) string { return "" })
	want := `study.yaml:10:64: the environment variable ALPHA_KEY, which holds the key of model alpha, is not set`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("without the key: %v", err)
	}
	// A model that no configuration asks needs no key.
	unused, err := Parse("study.yaml", []byte(strings.NewReplacer("[alpha, beta]", "beta", "model: alpha", "model: beta", "by: model", "by: feedback", "[harness, feedback, retries]", "[harness, retries]").Replace(base)))
	if err != nil {
		t.Fatal(err)
	}
	if err := unused.CheckKeys(func(string) string { return "" }); err != nil {
		t.Errorf("unused model: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add(Template())
	f.Add(string(DemoStudy(1)))
	f.Add("a: &x [1, *x]\n")
	f.Add("configs: [{}]\nversion: 1\n? x : y\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("study.yaml", []byte(text))
		if err != nil {
			var in *InputError
			if !errors.As(err, &in) {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		if _, err := s.Plan(); err != nil {
			t.Errorf("a study that parses has no plan: %v", err)
		}
	})
}
