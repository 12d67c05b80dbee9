package study

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// Under teleport the outcome is the share of turns passed, and the servers need Python.
func TestTeleport(t *testing.T) {
	s, err := Parse("study.yaml", []byte(edit(t, "repeats: 1", "mode: teleport")))
	if err != nil {
		t.Fatal(err)
	}
	if s.Analysis.Outcome != "share" || s.Families[0].Outcome != "share" || !slices.Equal(s.Needs(), []string{"python3"}) {
		t.Errorf("outcome %s, of the family %s, needs %v", s.Analysis.Outcome, s.Families[0].Outcome, s.Needs())
	}
	s, err = Parse("study.yaml", []byte(edit(t, "simulate: weak", "simulate: weak, transport: python")))
	if err != nil || s.Needs() != nil {
		t.Errorf("a model that no configuration uses needs %v: %v", s.Needs(), err)
	}
	s, err = Parse("study.yaml", []byte(strings.Replace(small, "simulate: weak", "simulate: weak, transport: python", 1)))
	if err != nil || !slices.Equal(s.Needs(), []string{"python3"}) {
		t.Errorf("servers in Python need %v: %v", s.Needs(), err)
	}
}

// TestBadInput holds the whole message and the hint of every complaint; -update rewrites the golden file,
// which is then to be read.
func TestBadInput(t *testing.T) {
	var got strings.Builder
	for _, c := range badInputs {
		_, err := Parse("study.yaml", []byte(edit(t, c.old, c.now)))
		fmt.Fprintf(&got, "== %s\n%s\n", c.name, complaint(t, c.name, err))
	}
	for _, c := range []struct{ name, text string }{{"empty file", ""}, {"only a comment", "# nothing\n"}, {"a list", "- 1\n"}} {
		_, err := Parse("study.yaml", []byte(c.text))
		fmt.Fprintf(&got, "== %s\n%s\n", c.name, complaint(t, c.name, err))
	}
	golden(t, "testdata/bad.golden", got.String())
}

// numbers lists 0 … n−1.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d, ", i)
	}
	return strings.TrimSuffix(b.String(), ", ")
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
