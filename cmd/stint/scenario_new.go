package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// maxTries bounds how many seeds are tried for one scenario. Hardly any is refused; as many in a row mean that
// generators and oracle do not fit together.
const maxTries = 10

// scenarioNew are the choices of scenario new.
type scenarioNew struct {
	dir      string
	seed     uint64
	changes  int
	count    int
	schedule string
	sampler  string
	delivery string

	// With the sampler llm: the model that chooses.
	baseURL, model, keyEnv string
	temperature            float64
	heat                   bool // temperature was given
	maxOutput              int
	providerWait           time.Duration
}

func newScenarioNewCmd(e *env) *cobra.Command {
	var f scenarioNew
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Write a set of accepted scenarios",
		Long: `new draws scenarios and writes those that are accepted: one small file each, with seed,
operations and content hash. Suites are made again from it, byte for byte. A scenario that
is not accepted is replaced by the next seed of its stream, and new says so. The same
command goes on where it was interrupted, and makes a set larger with a higher --count.
Nobody wrote the scenarios: their licence is CC0 1.0.

With --sampler llm a model chooses each change among at most 24 valid ones, and may name
what is added. An answer that is no valid choice is asked for again, with the reason, up
to three times; then the rules decide. What was asked and answered is kept in
DIR/transcripts. The result is frozen: a scenario never needs its model again.`,
		Example: "  " + e.Self + " scenario new --seed 1 --changes 5 --count 2 -o scenarios/small",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.heat = cmd.Flags().Changed("temperature")
			return f.run(cmd.Context(), e)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.dir, "out", "o", filepath.Join("scenarios", "main"), "folder of the set")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the set; a study with the same seed draws the same scenarios")
	fl.IntVar(&f.changes, "changes", 100, "change requests of every scenario, after the build")
	fl.IntVar(&f.count, "count", 20, "number of scenarios")
	fl.StringVar(&f.schedule, "schedule", scenario.ScheduleStratified, "stratified: kinds of change are spread evenly over the turns; iid: independent draws")
	fl.StringVar(&f.sampler, "sampler", suite.SamplerRules, "who chooses the changes: rules, or llm for a model")
	fl.StringVar(&f.delivery, "delivery", scenario.DeliveryDeltaFile, "what a study gives its agents if it says nothing else: delta, delta+file, full")
	fl.StringVar(&f.baseURL, "base-url", "", "with --sampler llm: base `URL` of an OpenAI-compatible endpoint")
	fl.StringVar(&f.model, "model", "", "with --sampler llm: id of the model")
	fl.StringVar(&f.keyEnv, "key-env", "", "with --sampler llm: environment variable that holds the API key")
	fl.Float64Var(&f.temperature, "temperature", 0, "with --sampler llm: sampling temperature (default the provider's)")
	fl.IntVar(&f.maxOutput, "max-output", 1024, "with --sampler llm: tokens of one answer")
	fl.DurationVar(&f.providerWait, "provider-wait", 2*time.Minute, "with --sampler llm: how long one request may wait for the provider")
	return cmd
}

func (f *scenarioNew) check() error {
	one := func(flag, value string, words ...string) error {
		if slices.Contains(words, value) {
			return nil
		}
		return inputErrorf("one of: "+strings.Join(words, ", "), "--%s does not take %q", flag, value)
	}
	switch {
	case f.changes < 0 || f.changes > scenario.MaxChanges:
		return inputErrorf("for example --changes 100", "--changes %d: allowed are 0 to %d", f.changes, scenario.MaxChanges)
	case f.count < 1 || f.count > 1000:
		return inputErrorf("for example --count 20", "--count %d: allowed are 1 to 1000", f.count)
	case f.seed >= 1<<53:
		return inputErrorf("choose a smaller number", "--seed %d is above 2^53, which not every reader of JSON keeps exactly", f.seed)
	}
	if err := f.checkModel(); err != nil {
		return err
	}
	return errors.Join(
		one("schedule", f.schedule, scenario.ScheduleStratified, scenario.ScheduleIID),
		one("sampler", f.sampler, suite.SamplerRules, suite.SamplerLLM),
		one("delivery", f.delivery, scenario.DeliveryDelta, scenario.DeliveryDeltaFile, scenario.DeliveryFull))
}

// checkModel wants the flags of a choosing model to be there exactly when it chooses.
func (f *scenarioNew) checkModel() error {
	given := f.baseURL != "" || f.model != "" || f.keyEnv != "" || f.heat
	switch {
	case f.sampler != suite.SamplerLLM && given:
		return inputErrorf("add --sampler llm, or leave them out", "--base-url, --model, --key-env and --temperature are about the sampler llm")
	case f.sampler != suite.SamplerLLM:
	case f.baseURL == "" || f.model == "":
		return inputErrorf(`for example --base-url http://127.0.0.1:8000/v1 --model NAME`, "--sampler llm needs --base-url and --model")
	case f.heat && (f.temperature < 0 || f.temperature > 5):
		return inputErrorf("leave it out for the provider's", "--temperature %g is no temperature", f.temperature)
	case f.maxOutput < 1:
		return inputErrorf("for example --max-output 1024", "--max-output %d: an answer needs tokens", f.maxOutput)
	}
	return nil
}

// again is the command that goes on.
func (f *scenarioNew) again() string {
	s := fmt.Sprintf("scenario new --seed %d --changes %d --count %d -o %s", f.seed, f.changes, f.count, shellQuote(f.dir))
	if f.schedule != scenario.ScheduleStratified {
		s += " --schedule " + f.schedule
	}
	if f.delivery != scenario.DeliveryDeltaFile {
		s += " --delivery " + f.delivery
	}
	if f.sampler == suite.SamplerLLM {
		s += fmt.Sprintf(" --sampler llm --base-url %s --model %s --max-output %d", shellQuote(f.baseURL), shellQuote(f.model), f.maxOutput)
		if f.keyEnv != "" {
			s += " --key-env " + shellQuote(f.keyEnv)
		}
		if f.heat {
			s += fmt.Sprintf(" --temperature %g", f.temperature)
		}
	}
	return s
}

func (f *scenarioNew) run(ctx context.Context, e *env) error {
	if err := f.check(); err != nil {
		return err
	}
	w := &maker{scenarioNew: f, e: e, contents: map[string]string{}}
	if f.sampler == suite.SamplerLLM {
		m, err := f.choosing(e)
		if err != nil {
			return err
		}
		w.choosing = m
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the set: %w", err)
	}
	w.meter = newMeter(e, f.count*(f.changes+1), "turns")
	defer w.meter.finish()
	for i := range f.count {
		if err := w.scenario(ctx, i); err != nil {
			w.meter.finish()
			return e.interrupted(ctx, err, f.again())
		}
	}
	w.meter.finish()
	fmt.Fprintln(e.Stdout, clean(f.dir))
	e.next("scenario check %s", shellQuote(f.dir))
	return nil
}

// maker writes one set.
type maker struct {
	*scenarioNew
	e        *env
	meter    *meter
	contents map[string]string // content hash → name
	choosing *suite.ChoosingModel
}

// scenario writes scenario i, unless it is there.
func (w *maker) scenario(ctx context.Context, i int) error {
	name := suite.ScenarioName(i)
	w.meter.at("%s", name)
	path := filepath.Join(w.dir, name+".json")
	have, err := suite.ReadFile(path)
	switch {
	case err == nil:
		if err := w.same(i, path, have); err != nil {
			return err
		}
		w.contents[have.Content] = name
		w.meter.add(w.changes + 1)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for try := range maxTries {
		seed := suite.ScenarioSeed(w.seed, i, try)
		file, reason, err := w.try(ctx, name, seed)
		if err != nil {
			return err
		}
		if reason == "" {
			w.contents[file.Content] = name
			return file.Write(w.dir)
		}
		w.e.say("%s with seed %d is not accepted, the next seed takes its place: %s", name, seed, reason)
	}
	return &exitError{code: exitGate, err: fmt.Errorf("none of %d seeds gave an acceptable %s", maxTries, name),
		hint: "the reasons are above; another --seed may do, but so many refusals mean that the generators need mending"}
}

// same refuses a file that was made with other options.
func (w *maker) same(i int, path string, f *suite.File) error {
	seeded := false
	for try := range maxTries {
		seeded = seeded || f.Seed == suite.ScenarioSeed(w.seed, i, try)
	}
	if seeded && f.Changes == w.changes && f.Schedule == w.schedule && f.Sampler == w.sampler && f.Delivery == w.delivery {
		return nil
	}
	return inputErrorf("use the options the set was made with, or another folder (-o DIR)",
		"%s was made with other options: seed %d, %d changes, schedule %s, sampler %s, delivery %s", clean(path), f.Seed, f.Changes, clean(f.Schedule), clean(f.Sampler), clean(f.Delivery))
}

// try draws one scenario and proves it; reason says why it is not accepted.
func (w *maker) try(ctx context.Context, name string, seed uint64) (f *suite.File, reason string, err error) {
	opt := scenario.Options{Seed: seed, Changes: w.changes, Name: name, Delivery: suite.CanonicalDelivery, Schedule: w.schedule}
	var sc *scenario.Scenario
	var chosen *suite.Chosen
	if w.choosing != nil {
		sc, chosen, err = suite.Choose(ctx, w.dir, opt, *w.choosing)
	} else {
		sc, err = scenario.Generate(opt)
	}
	if err != nil {
		return nil, "", err
	}
	m, err := suite.Make(ctx, sc, 0)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil: // generators and oracle do not agree on a request
		return nil, clean(err.Error()), nil
	}
	if twin := w.contents[m.Content]; twin != "" {
		return nil, "it has the same content as " + twin, nil
	}
	p, _, err := proveKept(ctx, m, w.dir, false, func() { w.meter.add(1) })
	if err != nil {
		return nil, "", err
	}
	if err := p.Err(); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, clean(first), nil
	}
	f = suite.NewFile(m, w.schedule, w.sampler)
	f.Delivery, f.Chosen = w.delivery, chosen
	if chosen != nil && !w.e.Quiet {
		w.e.say("%s: %d of %d turns chosen by %s, %d left to the rules; %d of %d answers rejected", name, w.changes-chosen.Rules, w.changes, clean(chosen.Model),
			chosen.Rules, chosen.Rejected, chosen.Asked)
	}
	return f, "", nil
}

// keepEvery is after how many proven turns the proof is written down, so that an interruption costs little.
const keepEvery = 20

// proveKept proves material with the proofs that lie beside its set, and keeps what is new there, also when it is
// interrupted. again leaves the old ones aside. done is called for every turn; fresh is the number of turns that were not
// proven before.
func proveKept(ctx context.Context, m *suite.Material, dir string, again bool, done func()) (p *suite.Proof, fresh int, err error) {
	name := m.Scenario.Name
	known := map[string]suite.TurnProof{}
	if !again {
		known = suite.ReadProofs(dir, name)
	}
	var made []suite.TurnProof
	p, err = suite.Prove(ctx, m, suite.ProveOptions{Known: known, Done: func(t suite.TurnProof) {
		made = append(made, t)
		done()
		if len(made)%keepEvery == 0 {
			// What cannot be kept now is reported at the end.
			_ = suite.WriteProofs(dir, name, merged(known, made))
		}
	}})
	if err != nil {
		if len(made) > 0 {
			err = errors.Join(err, suite.WriteProofs(dir, name, merged(known, made)))
		}
		return nil, 0, err
	}
	for range len(p.Turns) - len(made) {
		done()
	}
	if len(made) > 0 {
		err = suite.WriteProofs(dir, name, p.Turns)
	}
	return p, len(made), err
}

// merged lists proofs by turn, old and new.
func merged(known map[string]suite.TurnProof, fresh []suite.TurnProof) []suite.TurnProof {
	out := slices.Clone(fresh)
	for _, t := range known {
		if !slices.ContainsFunc(fresh, func(x suite.TurnProof) bool { return x.Key == t.Key }) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b suite.TurnProof) int {
		if a.Turn != b.Turn {
			return a.Turn - b.Turn
		}
		return strings.Compare(a.Key, b.Key)
	})
	return out
}
