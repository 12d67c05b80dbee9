package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// MinScore is the share of mutants that the suite of every turn must kill.
const MinScore = 0.98

// Proof says whether a scenario may be used: at every turn the reference passes, nearly all mutants are killed,
// and the reference of the turn before fails, unless the turn keeps the behaviour.
type Proof struct {
	Content string      `json:"content"` // content hash
	Turns   []TurnProof `json:"turns"`
}

// TurnProof is the proof of one turn.
type TurnProof struct {
	Turn      int            `json:"turn"`
	Operation string         `json:"operation"`
	Key       string         `json:"key"` // hash of all that the proof rests on: both schemas and the suite without their prose, versions
	Clauses   int            `json:"clauses"`
	Checks    int            `json:"checks"`
	Requests  int            `json:"requests"`
	Mutants   int            `json:"mutants"`
	Killed    int            `json:"killed"`
	Survivors []oracle.Fault `json:"survivors"`
	Reference []string       `json:"reference"` // checks that the reference fails, alone or in the whole suite
	Red       int            `json:"red"`       // checks that the reference of the turn before fails
	RedNeeded bool           `json:"red_needed"`
}

// Score is the share of mutants killed; 1 if there are none.
func (t TurnProof) Score() float64 { return Tally{Mutants: t.Mutants, Killed: t.Killed}.Score() }

// Errs lists what forbids the use of the turn.
func (t TurnProof) Errs() []error {
	var errs []error
	if len(t.Reference) > 0 {
		errs = append(errs, fmt.Errorf("turn %d: the reference fails %s", t.Turn, strings.Join(t.Reference, ", ")))
	}
	if t.Score() < MinScore {
		errs = append(errs, fmt.Errorf("turn %d: only %d of %d mutants are killed; the first survivor is %+v", t.Turn, t.Killed, t.Mutants, t.Survivors[0]))
	}
	switch {
	case t.RedNeeded && t.Red == 0:
		errs = append(errs, fmt.Errorf("turn %d: the service of turn %d passes too, so %s is not checked", t.Turn, t.Turn-1, t.Operation))
	case !t.RedNeeded && t.Red > 0:
		errs = append(errs, fmt.Errorf("turn %d: %s keeps the behaviour, but the service of turn %d fails", t.Turn, t.Operation, t.Turn-1))
	}
	return errs
}

// Err names what forbids the use of the scenario, or is nil.
func (p *Proof) Err() error {
	var errs []error
	for _, t := range p.Turns {
		errs = append(errs, t.Errs()...)
	}
	return errors.Join(errs...)
}

// ProveOptions say how a proof is made. The zero value proves everything, as many turns at once as there are processors.
type ProveOptions struct {
	Jobs  int                  // turns at once; 0 = the number of processors
	Known map[string]TurnProof // proofs made before, by key: these turns are not proven again
	Done  func(TurnProof)      // called for every turn that was proven now, one call at a time; nil = nobody listens
}

// Accept proves a scenario with its suites, in this process. What the proof found is in its result, see
// [Proof.Err]; the error is about the proof itself.
func Accept(sc *scenario.Scenario, suites []*Suite) (*Proof, error) {
	return Prove(context.Background(), &Material{Scenario: sc, Suites: suites, Content: ContentHash(sc, suites)}, ProveOptions{})
}

// Prove proves material turn by turn. The proof of a turn rests on nothing but the schemas of this turn and the one
// before and on its suite, so it holds for every scenario that has such a turn, and needs no other turn's.
func Prove(ctx context.Context, m *Material, opt ProveOptions) (*Proof, error) {
	sc := m.Scenario
	if len(m.Suites) != len(sc.Steps) {
		return nil, fmt.Errorf("proving %s: %d suites for %d turns", sc.Name, len(m.Suites), len(sc.Steps))
	}
	p := &Proof{Content: m.Content, Turns: make([]TurnProof, len(sc.Steps))}
	if opt.Jobs <= 0 {
		opt.Jobs = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(opt.Jobs)
	var mu sync.Mutex
	// The last turns take longest; beginning with them keeps all processors at work to the end.
	for turn := len(sc.Steps) - 1; turn >= 0; turn-- {
		g.Go(func() error {
			key, err := proofKey(sc, turn, m.Suites[turn])
			if err != nil {
				return fmt.Errorf("proving %s, turn %d: %w", sc.Name, turn, err)
			}
			if t, ok := opt.Known[key]; ok {
				t.Turn = turn
				p.Turns[turn] = t
				return nil
			}
			t, err := prove(ctx, sc, turn, m.Suites[turn])
			if err != nil {
				return fmt.Errorf("proving %s, turn %d: %w", sc.Name, turn, err)
			}
			t.Key = key
			mu.Lock()
			defer mu.Unlock()
			p.Turns[turn] = *t
			if opt.Done != nil {
				opt.Done(*t)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return p, nil
}

// proofKey is the hash of all that the proof of a turn rests on. Prose is left out: what a sentence or a title says changes
// no request and no answer.
func proofKey(sc *scenario.Scenario, turn int, s *Suite) (string, error) {
	h := sha256.New()
	part(h, []byte(versionText(Versions())))
	part(h, []byte(sc.Steps[turn].Operation.ID))
	for i := max(turn-1, 0); i <= turn; i++ {
		schema := *sc.Steps[i].Schema
		schema.Clauses = slices.Clone(schema.Clauses)
		for j := range schema.Clauses {
			schema.Clauses[j].Title, schema.Clauses[j].Text = "", ""
		}
		b, err := json.Marshal(&schema)
		if err != nil {
			return "", fmt.Errorf("encoding the schema: %w", err)
		}
		part(h, b)
	}
	bare := *s
	bare.Clauses, bare.Checks = slices.Clone(s.Clauses), slices.Clone(s.Checks)
	for i := range bare.Clauses {
		bare.Clauses[i].Title, bare.Clauses[i].Text = "", ""
	}
	for i := range bare.Checks {
		bare.Checks[i].Title = ""
	}
	b, err := bare.Encode()
	if err != nil {
		return "", err
	}
	part(h, b)
	return hex.EncodeToString(h.Sum(nil)), nil
}

func prove(ctx context.Context, sc *scenario.Scenario, turn int, s *Suite) (*TurnProof, error) {
	step := sc.Steps[turn]
	t := &TurnProof{Turn: turn, Operation: step.Operation.ID, Clauses: len(s.Clauses), Checks: len(s.Checks), Requests: s.Requests(),
		Survivors: []oracle.Fault{}, Reference: []string{}}
	b := &bench{ctx: ctx, suite: s, schema: step.Schema, wants: map[string]any{}}
	whole, err := b.whole(oracle.New(step.Schema))
	if err != nil {
		return nil, err
	}
	t.Reference = append(t.Reference, whole...)
	right := oracle.New(step.Schema)
	for i := range s.Checks {
		failed, err := b.alone(&s.Checks[i], right)
		if err != nil {
			return nil, err
		}
		if failed && !slices.Contains(whole, s.Checks[i].ID) {
			t.Reference = append(t.Reference, s.Checks[i].ID+" (alone)")
		}
	}
	var prev *scenario.Schema
	if turn > 0 {
		prev = sc.Steps[turn-1].Schema
		t.RedNeeded = step.Operation.Label != "B"
		red, err := b.whole(oracle.New(prev))
		if err != nil {
			return nil, err
		}
		t.Red = len(red)
	}
	for _, f := range oracle.Mutants(step.Schema, prev) {
		killed, err := b.kills(f)
		if err != nil {
			return nil, err
		}
		t.Mutants++
		if killed {
			t.Killed++
		} else {
			t.Survivors = append(t.Survivors, f)
		}
	}
	return t, nil
}

// bench plays a suite on interpreters.
type bench struct {
	ctx    context.Context
	suite  *Suite
	schema *scenario.Schema
	wants  map[string]any // expectations decoded so far, by their text
}

// whole plays the suite as Run does, with one store per world, and returns the ids of failing checks.
func (b *bench) whole(i *oracle.Interp) ([]string, error) {
	r := newRun(b.suite)
	for w := range b.suite.Worlds {
		i.Reset()
		p := &player{transport: interpTransport{i}, wants: b.wants, ended: func() bool { return false }}
		if err := r.world(b.ctx, b.suite, w, p); err != nil {
			return nil, err
		}
	}
	return r.summary(b.suite).Failed, nil
}

// alone plays one check in a fresh world.
func (b *bench) alone(c *Check, i *oracle.Interp) (failed bool, err error) {
	i.Reset()
	p := &player{transport: interpTransport{i}, wants: b.wants, ended: func() bool { return false }}
	for _, w := range b.suite.Worlds {
		if w.Name == c.World {
			if err := p.setup(b.ctx, w.Setup); err != nil {
				return false, err
			}
		}
	}
	o, err := p.check(b.ctx, c)
	return o.status != "", err
}

// kills says whether a check fails on the mutant: first the checks that cite its clause, each alone, those that need
// no seeded rows before the others, which settles nearly all; then the whole suite.
func (b *bench) kills(f oracle.Fault) (bool, error) {
	if err := b.ctx.Err(); err != nil {
		return false, err
	}
	mutant := oracle.New(b.schema, f)
	for _, seeded := range []bool{false, true} {
		for i := range b.suite.Checks {
			c := &b.suite.Checks[i]
			if c.Clauses[0] != f.Clause || (c.World == Seeded) != seeded {
				continue
			}
			failed, err := b.alone(c, mutant)
			if failed || err != nil {
				return failed, err
			}
		}
	}
	failed, err := b.whole(mutant)
	return len(failed) > 0, err
}

// interpTransport asks an interpreter directly.
type interpTransport struct{ interp *oracle.Interp }

func (interpTransport) close() {}

func (t interpTransport) do(_ context.Context, method, path string, body []byte) (answer, error) {
	path, encoded, _ := strings.Cut(path, "?")
	query, err := url.ParseQuery(encoded)
	if err != nil {
		return answer{}, fmt.Errorf("query %q: %w", encoded, err)
	}
	got := t.interp.Handle(oracle.Request{Method: method, Path: path, Query: query, Body: body})
	// The body stays a value: encoding and decoding it would be most of the work of a proof.
	return answer{Status: got.Status, value: got.Body}, nil
}
