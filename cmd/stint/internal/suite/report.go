package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
)

// The names of the formats of proofs.
const (
	proofSchema  = "stint.proof/1"
	ReportSchema = "stint.scenario.check/1"
)

// proofDir is the folder beside the scenarios that keeps their proofs.
const proofDir = "proof"

// maxProof bounds a proof file that is read.
const maxProof = 64 << 20

// proofFile is proof/s01.json: the proofs of turns, so that none is made twice.
type proofFile struct {
	Schema string      `json:"schema"`
	Turns  []TurnProof `json:"turns"`
}

// ReadProofs returns the proofs that lie beside a set for one scenario, by key. None, or a file that holds no proofs, is
// no error: they are made again.
func ReadProofs(dir, name string) map[string]TurnProof {
	known := map[string]TurnProof{}
	b, err := readBounded(proofPath(dir, name), maxProof)
	if err != nil {
		return known
	}
	var f proofFile
	if json.Unmarshal(b, &f) != nil || f.Schema != proofSchema {
		return known
	}
	for _, t := range f.Turns {
		if t.Mutants == t.Killed+len(t.Survivors) && t.Reference != nil && t.Survivors != nil {
			known[t.Key] = t
		}
	}
	return known
}

// WriteProofs keeps proofs of turns of one scenario beside its set.
func WriteProofs(dir, name string, turns []TurnProof) error {
	b, err := json.Marshal(proofFile{Schema: proofSchema, Turns: turns})
	if err != nil {
		return fmt.Errorf("encoding the proof of %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, proofDir), 0o755); err != nil {
		return fmt.Errorf("making the folder of proofs: %w", err)
	}
	return WriteWhole(proofPath(dir, name), append(b, '\n'))
}

func proofPath(dir, name string) string { return filepath.Join(dir, proofDir, name+".json") }

// Report is what a proof of a set found: what `scenario check --json` prints.
type Report struct {
	Schema    string            `json:"schema"`
	Versions  map[string]string `json:"versions"`
	MinScore  float64           `json:"min_score"` // the bar at every turn
	Scenarios []ScenarioReport  `json:"scenarios"`
	Total     Tally             `json:"total"`
}

// ScenarioReport is the proof of one scenario, in sums.
type ScenarioReport struct {
	Name    string `json:"name"`
	Content string `json:"content"`
	Seed    uint64 `json:"seed"`
	Tally
	Worst     float64    `json:"worst"`      // smallest mutation score of a turn
	WorstTurn int        `json:"worst_turn"` // the first turn with it
	Survived  []Survivor `json:"survived"`
	Reasons   []string   `json:"reasons"` // why it is not accepted; empty = it is
}

// Tally counts over turns.
type Tally struct {
	Turns     int `json:"turns"`
	Checks    int `json:"checks"`
	Requests  int `json:"requests"`
	Mutants   int `json:"mutants"`
	Killed    int `json:"killed"`
	Reference int `json:"reference"` // checks that the reference failed
	Red       int `json:"red"`       // turns on which the service of the turn before fails
	RedNeeded int `json:"red_needed"`
}

// Score is the share of mutants killed; 1 if there are none.
func (t Tally) Score() float64 {
	if t.Mutants == 0 {
		return 1
	}
	return float64(t.Killed) / float64(t.Mutants)
}

func (t *Tally) add(o Tally) {
	t.Turns += o.Turns
	t.Checks += o.Checks
	t.Requests += o.Requests
	t.Mutants += o.Mutants
	t.Killed += o.Killed
	t.Reference += o.Reference
	t.Red += o.Red
	t.RedNeeded += o.RedNeeded
}

// Survivor is a mutant that no check of a turn killed.
type Survivor struct {
	Turn int `json:"turn"`
	oracle.Fault
}

// NewReport begins a report without scenarios.
func NewReport() *Report {
	return &Report{Schema: ReportSchema, Versions: Versions(), MinScore: MinScore, Scenarios: []ScenarioReport{}}
}

// Add takes in the proof of a scenario.
func (r *Report) Add(f *File, p *Proof) {
	s := ScenarioReport{Name: f.Name, Content: p.Content, Seed: f.Seed, Worst: 1, Survived: []Survivor{}, Reasons: []string{}}
	for _, t := range p.Turns {
		one := Tally{Turns: 1, Checks: t.Checks, Requests: t.Requests, Mutants: t.Mutants, Killed: t.Killed, Reference: len(t.Reference)}
		if t.RedNeeded {
			one.RedNeeded = 1
			if t.Red > 0 {
				one.Red = 1
			}
		}
		s.add(one)
		if t.Score() < s.Worst {
			s.Worst, s.WorstTurn = t.Score(), t.Turn
		}
		for _, x := range t.Survivors {
			s.Survived = append(s.Survived, Survivor{t.Turn, x})
		}
		for _, err := range t.Errs() {
			s.Reasons = append(s.Reasons, err.Error())
		}
	}
	r.Total.add(s.Tally)
	r.Scenarios = append(r.Scenarios, s)
}

// Accepted counts the scenarios that may be used.
func (r *Report) Accepted() int {
	n := 0
	for _, s := range r.Scenarios {
		if len(s.Reasons) == 0 {
			n++
		}
	}
	return n
}

// Encode returns the bytes of the report.
func (r *Report) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding the report: %w", err)
	}
	return append(b, '\n'), nil
}

// DecodeReport reads what Encode wrote.
func DecodeReport(b []byte) (*Report, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var r Report
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("decoding the report: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("decoding the report: something follows it")
	}
	if r.Schema != ReportSchema {
		return nil, fmt.Errorf("decoding the report: schema %q is not %q", r.Schema, ReportSchema)
	}
	return &r, nil
}
