package study

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
)

// replaced applies pairs of old and new to a text in which each old stands once.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("%q stands %d times", pairs[i], strings.Count(text, pairs[i]))
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestFrozen(t *testing.T) {
	t.Parallel()
	begun := replaced(t, base, "jobs:", "  study: {usd: 100}\ngateway: {provider_wait: 5m}\nprices: "+priceTable(t, "alpha", "beta")+"\njobs:")
	for _, c := range []struct {
		name  string
		pairs []string
		want  string // "" = allowed; else a line of the difference
		note  string // part of a note
	}{
		{"comments and order", []string{"version: 1\nname: t", "# a comment\nname: t\nversion: 1"}, "", ""},
		{"jobs", []string{"episodes: 4", "episodes: 9, per_model: 1"}, "", ""},
		{"judge", []string{"jobs:", "judge: {model: alpha}\njobs:"}, "", ""},
		{"more scenarios", []string{"count: 20", "count: 30"}, "", ""},
		{"fewer scenarios", []string{"count: 20", "count: 10"}, "  scenarios.count: 20 → 10", ""},
		{"more repeats", []string{"repeats: 1", "repeats: 2"}, "", ""},
		{"a new configuration", []string{"[minimal, detailed]", "[minimal, moderate, detailed]"}, "", ""},
		{"a new model", []string{"models:\n", "models:\n  gamma: {url: \"http://127.0.0.1:1/v1\"}\n"}, "", ""},
		{"a new model in the family", []string{"[alpha, beta]", "[alpha, beta, gamma]", "models:\n", "models:\n  gamma: {url: \"http://127.0.0.1:1/v1\", id: alpha}\n"}, "",
			`the family "models" now has 3 pairs instead of 1`},
		{"a configuration taken away", []string{"[minimal, detailed]", "[minimal]"}, "  configs: alpha+builtin/detailed/r2: ", ""},
		{"a model taken away", []string{"  sim: {simulate: weak}\n", ""}, "  models.sim: simulate: weak, transport: server → (not there)", ""},
		{"another endpoint", []string{"beta.example.com", "elsewhere.example.com"}, "  models.beta: ", ""},
		{"another seed", []string{"seed: 7", "seed: 8"}, "  seed: 7 → 8", ""},
		{"another number of changes", []string{"changes: 100", "changes: 99"}, "  scenarios.changes: 100 → 99", ""},
		{"another mode", []string{"repeats: 1", "mode: continue"}, "  mode: fail-stop → continue", ""},
		{"a raised budget", []string{"usd: 100", "usd: 200"}, "", ""},
		{"a lowered budget", []string{"usd: 100", "usd: 50"}, "  budgets.study.usd: 100 → 50", ""},
		{"a budget dropped", []string{"  study: {usd: 100}\n", ""}, "", ""},
		{"a new budget", []string{"  study:", "  episode: {usd: 5}\n  study:"}, "  budgets.episode.usd: no limit → 5", ""},
		{"more tokens", []string{"tokens: 4M", "tokens: 5M"}, "", "budgets.attempt.tokens is now 5000000; attempts made so far had 4000000"},
		{"less memory", []string{"memory: 4GiB", "memory: 1GiB"}, "  sandbox.limits.memory: 4294967296 → 1073741824", ""},
		{"other runtimes", []string{"runtimes: [python3]", "runtimes: [python3, node]"}, "  sandbox.runtimes: python3 → python3, node", ""},
		{"the provider waited for longer", []string{"provider_wait: 5m", "provider_wait: 10m"}, "", ""},
		{"no retries of requests", []string{"provider_wait: 5m", "provider_wait: 5m, retry: false"}, "  gateway.retry: true → false", ""},
		{"another level of significance", []string{"analysis:", "analysis:\n  alpha: 0.1"}, "  analysis.alpha: 0.05 → 0.1", ""},
		{"another family", []string{"within: [harness, feedback, retries]}", "within: [harness, feedback, retries]}\n    - {name: new, pairs: all}"}, "  analysis.families[1]: (not there) → \"new\"", ""},
		{"a family of another outcome", []string{"by: model,", "by: model, outcome: full,"}, "  analysis.families[0]: ", ""},
		{
			"a new value on a further axis renames the others", []string{"feedback: none, retries: 0}", "feedback: none, retries: 0, session: [continue, fresh]}", "within: [harness, feedback, retries]", "within: [harness, feedback, retries, session]"},
			"now called alpha+builtin/none/r0/session=continue", "",
		},
	} {
		old, err := parse("runs/t/study.yaml", []byte(begun), priceFromRunDir)
		if err != nil {
			t.Fatal(err)
		}
		now, err := parse("study.yaml", []byte(replaced(t, begun, c.pairs...)), priceFromRunDir)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_, notes, err := checkFrozen(old, now, "runs/t/study.yaml")
		var frozen *FrozenError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s is refused: %v", c.name, err)
		case c.want != "" && (!errors.As(err, &frozen) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		case !strings.Contains(strings.Join(notes, "\n"), c.note):
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
		if frozen != nil && (frozen.ExitCode() != 2 || frozen.Hint() == "" || !strings.Contains(err.Error(), "study.yaml differs from runs/t/study.yaml")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Before the first episode anything may change; afterwards the directory keeps what was frozen, and each
// earlier file when the study grows.
func TestFreezingInADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := &fakeLoop{}
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		return string(b)
	}
	// A run that dies before its first journal.
	dead := func(context.Context, episode.Spec) (episode.End, error) {
		return episode.End{}, errors.New("no journal")
	}
	if _, err := mustParse(t, small).Run(t.Context(), RunOptions{Dir: dir, episode: dead}); err == nil {
		t.Fatal("a failing loop went unnoticed")
	}
	other := replaced(t, small, "seed: 5", "seed: 6")
	if _, err := start(t, dir, other, none, RunOptions{Only: "scenario:s01"}); err != nil {
		t.Fatalf("a study that had not begun could not be changed: %v", err)
	}
	if read("study.yaml") != other {
		t.Error("the changed study was not frozen")
	}
	// From now on it is frozen.
	_, err := start(t, dir, small, none, RunOptions{})
	var frozen *FrozenError
	if !errors.As(err, &frozen) || !strings.Contains(err.Error(), "seed: 6 → 5") {
		t.Fatalf("error %v", err)
	}
	if read("study.yaml") != other {
		t.Error("a refused study replaced the frozen one")
	}
	commented := "# better explained\n" + other
	if _, err := start(t, dir, commented, none, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	grown := replaced(t, commented, "count: 4", "count: 5")
	sum, err := start(t, dir, grown, none, RunOptions{})
	if err != nil || sum.Valid != 10 || sum.Started != 2 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if read("study.yaml") != grown || read("study.1.yaml") != commented || read("study.2.yaml") != "" {
		t.Error("the earlier study is not kept beside the new one")
	}
}

// The price table is frozen with the study: a run goes on with its copy, whatever became of the original.
func TestPricesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := priceTable(t, "sim")
	text := strings.Replace(small, "jobs:", "prices: "+table+"\njobs:", 1)
	f := &fakeLoop{}
	if _, err := start(t, dir, text, f, RunOptions{Only: "scenario:s01"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, []byte("- {model: sim, usd_per_mtok: {input: 9, output: 9}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustParse(t, text)
	if _, err := s.Run(t.Context(), RunOptions{Dir: dir, episode: f.run}); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "prices.yaml"))
	if err != nil || !strings.Contains(string(kept), "input: 1,") || !strings.Contains(string(s.Prices.YAML()), "input: 1,") {
		t.Errorf("kept %q (%v), used %q", kept, err, s.Prices.YAML())
	}
}
