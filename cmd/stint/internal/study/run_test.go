package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/logs"
)

// small is a study that is quick to generate: two configurations, four scenarios, a build and one change.
const small = `version: 1
name: small
seed: 5
scenarios: {count: 4, changes: 1}
configs:
  - {model: [sim, strong]}
models:
  sim: {simulate: weak}
  strong: {simulate: strong}
sandbox: none
jobs: {episodes: 2}
analysis:
  families:
    - {name: models, by: model}
`

// fakeLoop stands for the episode loop: it writes a journal with a beginning, what it cost, and an end.
type fakeLoop struct {
	mu     sync.Mutex
	ran    []string                                        // config/scenario#repeat, in order of start
	now    map[string]int                                  // running, by model
	most   map[string]int                                  // largest number at once, by model; "" = all
	act    func(ctx context.Context, s episode.Spec) error // before the end; an error leaves the episode open
	reason func(s episode.Spec) string                     // end_reason; nil = failed
	usd    float64                                         // of every episode
}

func label(s episode.Spec) string {
	return fmt.Sprintf("%s/%s#%d", s.Start.Config, s.Start.Scenario.ID, s.Start.Repeat)
}

func (f *fakeLoop) run(ctx context.Context, s episode.Spec) (end episode.End, err error) {
	model := s.Start.Model.Asked
	f.mu.Lock()
	if f.now == nil {
		f.now, f.most = map[string]int{}, map[string]int{}
	}
	f.ran = append(f.ran, label(s))
	for _, k := range []string{"", model} {
		f.now[k]++
		f.most[k] = max(f.most[k], f.now[k])
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now[""]--
		f.now[model]--
	}()
	s.Journal.Sync = func(*os.File) error { return nil } // these tests kill nothing
	j, records, err := logs.OpenJournal(s.Dir, s.ID, s.Journal)
	if err != nil {
		return end, err
	}
	defer j.Close()
	if len(records) == 0 {
		err = j.Append(logs.TypeEpisodeStart, nil, nil, s.Start, false)
	}
	if f.usd > 0 && err == nil {
		zero := 0
		err = j.Append(logs.TypeUsage, &zero, &zero, logs.Usage{Via: "gateway", USD: &f.usd}, false)
		if s.Spent != nil {
			_ = s.Spent(logs.Usage{USD: &f.usd}) // what was paid is never refused
		}
	}
	if f.act != nil && err == nil {
		err = f.act(ctx, s)
	}
	if err != nil {
		return end, err
	}
	end = episode.End{Reason: episode.EndFailed}
	if f.reason != nil {
		end.Reason = f.reason(s)
	}
	return end, j.Append(logs.TypeEpisodeEnd, nil, nil, logs.EpisodeEnd{EndReason: end.Reason}, true)
}

// mustParse reads a study that is right.
func mustParse(t *testing.T, text string) *Study {
	t.Helper()
	s, err := Parse("study.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs a study with a fake loop.
func start(t *testing.T, dir, text string, f *fakeLoop, opt RunOptions) (*Summary, error) {
	t.Helper()
	opt.Dir, opt.episode = dir, f.run
	return mustParse(t, text).Run(t.Context(), opt)
}

func TestRunThenNothingToDo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "runs", "small")
	f, plans, began := &fakeLoop{}, 0, ""
	opt := RunOptions{OnPlan: func(*Plan) { plans++ }, OnStart: func(total, done int) { began += fmt.Sprintf("%d/%d ", done, total) }}
	sum, err := start(t, dir, small, f, opt)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Episodes != 8 || sum.Valid != 8 || sum.Started != 8 || sum.NothingToDo || sum.Generated <= 0 {
		t.Errorf("first run: %+v", sum)
	}
	want := mustParse(t, small).order()
	if len(f.ran) != len(want) || f.most[""] > 2 {
		t.Errorf("%d episodes ran, %d at once", len(f.ran), f.most[""])
	}
	for _, name := range []string{"study.yaml", "prices.yaml", "scenarios/s01.json", "scenarios/s04.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); !os.IsNotExist(err) {
		t.Errorf("the lock is left behind: %v", err)
	}
	sum, err = start(t, dir, small, f, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !sum.NothingToDo || sum.Valid != 8 || sum.Started != 0 || len(f.ran) != 8 || plans != 1 || began != "0/8 " {
		t.Errorf("second run: %+v, %d episodes, %d plans, %q", sum, len(f.ran), plans, began)
	}
}

// What an episode is told about itself.
// TestDamagedJournalIsNotComplete changes a byte in the middle of a journal whose episode has ended.
func TestDamagedJournalIsNotComplete(t *testing.T) {
	dir, f := t.TempDir(), &fakeLoop{}
	if _, err := start(t, dir, small, f, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "episodes", "*", logs.JournalName))
	if err != nil || len(files) != 8 {
		t.Fatalf("%d journals, %v", len(files), err)
	}
	b, err := os.ReadFile(files[3])
	if err != nil {
		t.Fatal(err)
	}
	b[20] ^= 1
	if err := os.WriteFile(files[3], b, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = start(t, dir, small, f, RunOptions{})
	var corrupt *logs.CorruptError
	if !errors.As(err, &corrupt) || corrupt.File != files[3] || corrupt.Line != 1 {
		t.Errorf("got %v, want the damage of %s named", err, files[3])
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	text := strings.Replace(small, "{model: [sim, strong]}", "{model: [sim, strong], feedback: detailed, retries: 3, process_retries: 0, delivery: [delta, full]}", 1)
	text = strings.Replace(text, "by: model", "by: model, within: delivery", 1)
	var mu sync.Mutex
	specs := map[string]episode.Spec{}
	f := &fakeLoop{act: func(_ context.Context, s episode.Spec) error {
		mu.Lock()
		defer mu.Unlock()
		specs[label(s)] = s
		return nil
	}}
	dir := t.TempDir()
	if _, err := start(t, dir, text, f, RunOptions{MaxChecks: 9, Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	full, delta := specs["sim+simulated/detailed/r3/delivery=full/s02#1"], specs["sim+simulated/detailed/r3/delivery=delta/s02#1"]
	if full.ID == "" || delta.ID == "" {
		t.Fatalf("episodes %v", f.ran)
	}
	s := full.Start
	if s.Study != "small" || s.Retries != 3 || s.ProcessRetries != 0 || s.Feedback != "detailed" || s.Mode != "fail-stop" || s.TurnsMax != 2 ||
		s.Delivery != "full" || s.Session != "continue" || s.Stint != "v1" || s.Factors["delivery"] != "full" || s.Harness.Name != "simulated" || s.Sandbox.Kind != "none" {
		t.Errorf("start record %+v", s)
	}
	if full.Start.Scenario.Content != delta.Start.Scenario.Content || len(s.Scenario.Content) != 64 {
		t.Error("the delivery changes the content of a scenario")
	}
	if full.Scenario.Delivery != "full" || delta.Scenario.Delivery != "delta" || len(full.Suites) != 2 || len(full.SuiteBytes) != 2 {
		t.Errorf("deliveries %q and %q, %d suites", full.Scenario.Delivery, delta.Scenario.Delivery, len(full.Suites))
	}
	if full.ID != logs.EpisodeID("small", s.Config, s.Scenario.Content, 1) || filepath.Base(full.Dir) != full.ID {
		t.Errorf("id %s in %s", full.ID, full.Dir)
	}
	if full.Start.Seed == delta.Start.Seed || full.MaxChecks != 9 || full.Wall != defaultSimulatedWall {
		t.Errorf("seeds %d and %d, max checks %d, wall %s", full.Start.Seed, delta.Start.Seed, full.MaxChecks, full.Wall)
	}
}

func TestResumeAfterErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := &fakeLoop{act: func(_ context.Context, s episode.Spec) error {
		if s.Start.Scenario.ID == "s02" {
			return fmt.Errorf("episode %s: the roof fell in", label(s))
		}
		return nil
	}}
	sum, err := start(t, dir, small, broken, RunOptions{})
	if err == nil || strings.Count(err.Error(), "the roof fell in") != 2 {
		t.Fatalf("error %v", err)
	}
	if sum == nil || sum.Valid != 6 || sum.Incomplete != 2 || len(broken.ran) != 8 {
		t.Fatalf("summary %+v, %d episodes ran", sum, len(broken.ran))
	}
	healed := &fakeLoop{}
	sum, err = start(t, dir, small, healed, RunOptions{})
	if err != nil || sum.Valid != 8 || len(healed.ran) != 2 {
		t.Fatalf("resumed: %+v, ran %v, error %v", sum, healed.ran, err)
	}
}

// A full disk is no fault of one episode: nothing more is started.
func TestFullDiskStopsTheRun(t *testing.T) {
	t.Parallel()
	f := &fakeLoop{act: func(context.Context, episode.Spec) error { return fmt.Errorf("writing a blob: %w", syscall.ENOSPC) }}
	sum, err := start(t, t.TempDir(), small, f, RunOptions{Jobs: 1})
	if !errors.Is(err, syscall.ENOSPC) || sum.Incomplete != 8 || len(f.ran) != 1 {
		t.Fatalf("%+v, ran %v, error %v", sum, f.ran, err)
	}
}

func TestCancelAndResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	third := &fakeLoop{}
	third.act = func(ctx context.Context, _ episode.Spec) error {
		third.mu.Lock()
		n := len(third.ran)
		third.mu.Unlock()
		if n < 3 {
			return nil
		}
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	s := mustParse(t, small)
	sum, err := s.Run(ctx, RunOptions{Dir: dir, Jobs: 1, episode: third.run})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if len(third.ran) != 3 || sum.Valid != 2 || sum.Incomplete != 6 {
		t.Errorf("ran %v, summary %+v", third.ran, sum)
	}
	rest := &fakeLoop{}
	sum, err = start(t, dir, small, rest, RunOptions{})
	if err != nil || sum.Valid != 8 || len(rest.ran) != 6 {
		t.Errorf("resumed: %+v, ran %v, error %v", sum, rest.ran, err)
	}
}

func TestRetryStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &fakeLoop{reason: func(s episode.Spec) string {
		if s.Start.Model.Asked == "sim" {
			return episode.EndProvider
		}
		return episode.EndCapped
	}}
	sum, err := start(t, dir, small, f, RunOptions{})
	if err != nil || sum.Valid != 4 || sum.Stopped != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if sum, err = start(t, dir, small, f, RunOptions{}); err != nil || !sum.NothingToDo || sum.Stopped != 4 {
		t.Fatalf("stopped episodes were run again without being asked for: %+v, %v", sum, err)
	}
	again := &fakeLoop{act: func(_ context.Context, s episode.Spec) error {
		if !s.Retry {
			return errors.New("the loop is not told to go on with a stopped episode")
		}
		return nil
	}}
	sum, err = start(t, dir, small, again, RunOptions{RetryStopped: true})
	if err != nil || sum.Valid != 8 || len(again.ran) != 4 {
		t.Fatalf("%+v, ran %v, %v", sum, again.ran, err)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &fakeLoop{}
	sum, err := start(t, dir, small, f, RunOptions{Only: "model:strong scenario:(s01 OR s03)"})
	if err != nil || sum.Episodes != 2 || sum.Valid != 2 {
		t.Fatalf("%+v, %v", sum, err)
	}
	slices.Sort(f.ran)
	if want := []string{"strong+simulated/none/r0/s01#1", "strong+simulated/none/r0/s03#1"}; !slices.Equal(f.ran, want) {
		t.Errorf("ran %v, want %v", f.ran, want)
	}
	for only, want := range map[string]string{
		"model:(":        "--only: ",
		"model:nobody":   "chooses none of the 8 episodes",
		"turns_passed:3": `unknown key "turns_passed"`,
	} {
		_, err := start(t, dir, small, f, RunOptions{Only: only})
		var in *InputError
		if !errors.As(err, &in) || !strings.Contains(err.Error(), want) || in.Hint() == "" {
			t.Errorf("--only %s: %v", only, err)
		}
	}
}

func TestPerModel(t *testing.T) {
	t.Parallel()
	text := strings.Replace(small, "jobs: {episodes: 2}", "jobs: {episodes: 4, per_model: 1}", 1)
	f := &fakeLoop{act: func(context.Context, episode.Spec) error { time.Sleep(5 * time.Millisecond); return nil }}
	if _, err := start(t, t.TempDir(), text, f, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if f.most["sim"] != 1 || f.most["strong"] != 1 || f.most[""] != 2 {
		t.Errorf("most at once: %v; one per model, and both models together", f.most)
	}
}

// The study's budget counts what earlier runs in the directory have paid, and leaves the rest open.
func TestStudyBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.NewReplacer("sim: {simulate: weak}", `sim: {url: "http://127.0.0.1:1/v1"}`, "strong: {simulate: strong}", `strong: {url: "http://127.0.0.1:1/v1"}`,
		"{model: [sim, strong]}", "{model: [sim, strong], harness: builtin}", "sandbox: none", "sandbox: none\nprices: "+priceTable(t, "sim", "strong")).Replace(small)
	f := &fakeLoop{usd: 1, act: func(_ context.Context, s episode.Spec) error { return s.Spent(logs.Usage{}) }}
	var notes strings.Builder
	sum, err := start(t, dir, text, f, RunOptions{Jobs: 1, MaxUSD: 2.5, Stderr: &notes})
	if err != nil {
		t.Fatal(err)
	}
	if sum.BudgetReached == nil || sum.Valid != 2 || sum.Incomplete != 6 || !strings.Contains(notes.String(), "study budget of $2.50") {
		t.Errorf("%+v, notes %q", sum, notes.String())
	}
	f.usd = 0.1
	sum, err = start(t, dir, text, f, RunOptions{Jobs: 1, MaxUSD: 3.25}) // 3 were spent
	if err != nil || sum.Valid != 4 || sum.BudgetReached == nil {
		t.Errorf("with $0.25 left: %+v, %v", sum, err)
	}
}

func TestMoneyLimitNeedsPrices(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("sim: {simulate: weak}", `sim: {url: "http://127.0.0.1:1/v1", id: big}`, "{model: [sim, strong]}", "{model: sim, harness: builtin}",
		"analysis:\n  families:\n    - {name: models, by: model}\n", "").Replace(small)
	_, err := start(t, t.TempDir(), text, &fakeLoop{}, RunOptions{MaxUSD: 1})
	var in *InputError
	if !errors.As(err, &in) || !strings.Contains(err.Error(), "price of model sim (id big) is unknown") {
		t.Errorf("error %v", err)
	}
}

// priceTable writes a price table and returns its path.
func priceTable(t *testing.T, models ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.yaml")
	var b strings.Builder
	for _, m := range models {
		fmt.Fprintf(&b, "- {model: %s, usd_per_mtok: {input: 1, output: 2}}\n", m)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMissingKeyLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	text := strings.NewReplacer("sim: {simulate: weak}", `sim: {url: "http://127.0.0.1:1/v1", key_env: NO_SUCH_KEY}`, "{model: [sim, strong]}", "{model: sim, harness: builtin}",
		"analysis:\n  families:\n    - {name: models, by: model}\n", "").Replace(small)
	_, err := start(t, dir, text, &fakeLoop{}, RunOptions{Getenv: func(string) string { return "" }})
	var in *InputError
	if !errors.As(err, &in) || !strings.Contains(err.Error(), "NO_SUCH_KEY") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the run directory was made: %v", err)
	}
}

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	real := strings.NewReplacer("sim: {simulate: weak}", `sim: {url: "http://127.0.0.1:1/v1"}`, "{model: [sim, strong]}", "{model: sim, harness: builtin}",
		"analysis:\n  families:\n    - {name: models, by: model}\n", "").Replace(small)
	for _, c := range []struct {
		text string
		opt  RunOptions
		want string
	}{
		{small, RunOptions{GradeNone: true, MaxChecks: 5}, "no checks"},
		{real, RunOptions{GradeNone: true}, "real models"},
		{strings.Replace(small, "simulate: weak", "simulate: weak, transport: python", 1), RunOptions{GradeNone: true}, "python"},
		{real, RunOptions{MaxChecks: 5}, "whole suites"},
		{small, RunOptions{Jobs: -1}, "negative"},
		{small, RunOptions{MaxChecks: -1}, "negative"},
		{small, RunOptions{MaxUSD: -1}, "negative"},
	} {
		_, err := start(t, t.TempDir(), c.text, &fakeLoop{}, c.opt)
		var in *InputError
		if !errors.As(err, &in) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.opt, err, c.want)
		}
	}
}

// One study with real episodes: the reference must pass everything, whatever else happens.
func TestRealEpisodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exe, err := os.Executable() // TestMain serves when it is started as a server
	if err != nil {
		t.Fatal(err)
	}
	text := replaced(t, small, "  - {model: [sim, strong]}", "  - {harness: reference}\n  - {model: sim, feedback: detailed, retries: 1}", "count: 4", "count: 1",
		"analysis:\n  families:\n    - {name: models, by: model}\n", "")
	var mu sync.Mutex
	ends := map[string]episode.Event{}
	opt := RunOptions{Dir: dir, Stint: exe, Progress: func(ev Event) {
		mu.Lock()
		defer mu.Unlock()
		if ev.Kind == episode.EventEnd {
			ends[ev.Config] = ev
		}
	}}
	sum, err := mustParse(t, text).Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Valid+sum.Stopped != 2 || sum.Incomplete != 0 {
		t.Errorf("%+v", sum)
	}
	if ev := ends["reference+reference/none/r0"]; ev.TurnsPassed != 2 || ev.TurnsMax != 2 {
		t.Errorf("the reference passed %d of %d turns", ev.TurnsPassed, ev.TurnsMax)
	}
	if sum, err = mustParse(t, text).Run(t.Context(), opt); err != nil || !sum.NothingToDo {
		t.Errorf("again: %+v, %v", sum, err)
	}
}
