package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// minScore is the share of mutants that the suite of every turn must kill.
const minScore = 0.98

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
func (t TurnProof) Score() float64 {
	if t.Mutants == 0 {
		return 1
	}
	return float64(t.Killed) / float64(t.Mutants)
}

// Err names what forbids the use of the scenario, or is nil.
func (p *Proof) Err() error {
	var errs []error
	for _, t := range p.Turns {
		if len(t.Reference) > 0 {
			errs = append(errs, fmt.Errorf("turn %d: the reference fails %s", t.Turn, strings.Join(t.Reference, ", ")))
		}
		if t.Score() < minScore {
			errs = append(errs, fmt.Errorf("turn %d: only %d of %d mutants are killed; the first survivor is %+v", t.Turn, t.Killed, t.Mutants, t.Survivors[0]))
		}
		if t.RedNeeded && t.Red == 0 {
			errs = append(errs, fmt.Errorf("turn %d: the service of turn %d passes too, so %s is not checked", t.Turn, t.Turn-1, t.Operation))
		}
	}
	return errors.Join(errs...)
}

// Accept proves a scenario with its suites, in this process. What the proof found is in its result, see
// [Proof.Err]; the error is about the proof itself.
func Accept(sc *scenario.Scenario, suites []*Suite) (*Proof, error) {
	if len(suites) != len(sc.Steps) {
		return nil, fmt.Errorf("proving %s: %d suites for %d turns", sc.Name, len(suites), len(sc.Steps))
	}
	p := &Proof{Content: ContentHash(sc, suites)}
	for i, s := range suites {
		t, err := prove(sc, i, s)
		if err != nil {
			return nil, fmt.Errorf("proving %s, turn %d: %w", sc.Name, i, err)
		}
		p.Turns = append(p.Turns, *t)
	}
	return p, nil
}

func prove(sc *scenario.Scenario, turn int, s *Suite) (*TurnProof, error) {
	step := sc.Steps[turn]
	t := &TurnProof{Turn: turn, Operation: step.Operation.ID, Clauses: len(s.Clauses), Checks: len(s.Checks), Requests: s.Requests(),
		Survivors: []oracle.Fault{}, Reference: []string{}}
	b := &bench{suite: s, schema: step.Schema}
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
	suite  *Suite
	schema *scenario.Schema
}

// whole plays the suite as Run does, with one store per world, and returns the ids of failing checks.
func (b *bench) whole(i *oracle.Interp) ([]string, error) {
	r := newRun(b.suite)
	for w := range b.suite.Worlds {
		i.Reset()
		p := &player{transport: interpTransport{i}, ended: func() bool { return false }}
		if err := r.world(context.Background(), b.suite, w, p); err != nil {
			return nil, err
		}
	}
	return r.summary(b.suite).Failed, nil
}

// alone plays one check in a fresh world.
func (b *bench) alone(c *Check, i *oracle.Interp) (failed bool, err error) {
	i.Reset()
	p := &player{transport: interpTransport{i}, ended: func() bool { return false }}
	for _, w := range b.suite.Worlds {
		if w.Name == c.World {
			if err := p.setup(context.Background(), w.Setup); err != nil {
				return false, err
			}
		}
	}
	o, err := p.check(context.Background(), c)
	return o.status != "", err
}

// kills says whether a check fails on the mutant: first the checks that cite its clause, each alone, which settles
// nearly all; then the whole suite.
func (b *bench) kills(f oracle.Fault) (bool, error) {
	mutant := oracle.New(b.schema, f)
	for i := range b.suite.Checks {
		c := &b.suite.Checks[i]
		if c.Clauses[0] != f.Clause {
			continue
		}
		failed, err := b.alone(c, mutant)
		if failed || err != nil {
			return failed, err
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
	a := answer{Status: got.Status}
	if got.Body != nil {
		b, err := json.Marshal(got.Body)
		if err != nil {
			return answer{}, fmt.Errorf("encoding the answer of the interpreter: %w", err)
		}
		a.Body = b
	}
	return a, nil
}
