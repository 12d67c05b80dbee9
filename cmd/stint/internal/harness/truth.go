package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TruthLine is one line of an episode's sealed truth file: what a simulated agent planted, by attempt. Nothing
// but the scoring of classifiers may read it.
type TruthLine struct {
	Turn    int `json:"turn"`
	Attempt int `json:"attempt"`
	Try     int `json:"try"` // 0, or the number of tries before it that the agent or its provider ended
	// Void is rate_limit or provider_error for a try that did not happen.
	Void string `json:"void,omitempty"`
	// End is how the program ended if it ended badly; Lost says that it does so in every attempt of the turn.
	End  string `json:"end,omitempty"`
	Lost bool   `json:"lost,omitempty"`
	// Ignored says that the change of the turn was not made. Switch is how the server as a process misbehaves.
	Ignored bool           `json:"ignored,omitempty"`
	Switch  string         `json:"switch,omitempty"`
	Faults  []TruthPlanted `json:"faults"` // that are in the workspace after the attempt
}

// TruthPlanted is one planted fault. Why is drift (on a clause of this turn), regression (on an old one),
// oscillation (in place of a repaired one) or carried (from an earlier attempt).
type TruthPlanted struct {
	Why     string `json:"why"`
	Kind    string `json:"kind"`
	Subject string `json:"subject"`
	Param   string `json:"param,omitempty"`
	Clause  string `json:"clause,omitempty"`
}

func (l TruthLine) same(o TruthLine) bool {
	return l.Turn == o.Turn && l.Attempt == o.Attempt && l.Try == o.Try
}

func (d *draw) truth(r Request) TruthLine {
	l := TruthLine{Turn: r.Turn, Attempt: r.Attempt, Try: r.Try, Void: d.void, End: d.end, Lost: d.lost, Faults: []TruthPlanted{}}
	state := d.work
	if state == nil {
		state = &d.before
	}
	l.Ignored = state.Ignored
	if state.Switch != nil {
		l.Switch = state.Switch.Kind
	}
	for _, c := range d.causes {
		if c.fault.Kind != "" {
			l.Faults = append(l.Faults, TruthPlanted{c.why, c.fault.Kind, c.fault.Subject, c.fault.Param, c.fault.Clause})
		}
	}
	return l
}

// writeTruth adds a line to a truth file. A line on the same try, left by a run that was interrupted, and a torn
// last line are replaced, so the file is the same however often a run was interrupted.
func writeTruth(path string, line TruthLine) error {
	old, err := ReadTruth(path)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	for _, l := range append(without(old, line), line) {
		b, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("encoding the truth of turn %d: %w", l.Turn, err)
		}
		buf.Write(append(b, '\n'))
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(tmp, buf.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the truth of turn %d: %w", line.Turn, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("writing the truth of turn %d: %w", line.Turn, err)
	}
	return nil
}

func without(lines []TruthLine, line TruthLine) []TruthLine {
	out := lines[:0]
	for _, l := range lines {
		if !l.same(line) {
			out = append(out, l)
		}
	}
	return out
}

// ReadTruth reads a truth file; one that does not exist is empty. A torn last line is left out.
func ReadTruth(path string) ([]TruthLine, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var lines []TruthLine
	for n, text := range bytes.SplitAfter(b, []byte("\n")) {
		if len(text) == 0 || text[len(text)-1] != '\n' {
			break
		}
		var l TruthLine
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("reading %s, line %d: %w", path, n+1, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
