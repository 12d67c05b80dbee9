package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// transcriptSchema names the format of transcripts/s01.jsonl: a line about the sampling, then a line per request.
const transcriptSchema = "stint.transcript/1"

// transcriptDir is the folder beside the scenarios that keeps what choosing models were asked and answered.
const transcriptDir = "transcripts"

// maxTranscript bounds a transcript that is read: a thousand turns of four requests.
const maxTranscript = 256 << 20

// ChoosingModel is a model that chooses operations.
type ChoosingModel struct {
	Completer   scenario.Completer
	Invalid     func(error) bool // see [scenario.Chooser]
	ID          string
	Temperature *float64
	MaxOutput   int
}

// transcriptHead is the first line of a transcript. Another head means another sampling.
type transcriptHead struct {
	Schema      string   `json:"schema"`
	Name        string   `json:"name"`
	Seed        uint64   `json:"seed"`
	Schedule    string   `json:"schedule"`
	Changes     int      `json:"changes"`
	Version     string   `json:"version"` // of package scenario
	Model       string   `json:"model"`
	Temperature *float64 `json:"temperature"`
	MaxOutput   int      `json:"max_output"`
	Task        string   `json:"task"` // what the model is told first
}

// Choose lets a model choose the operations of a scenario and keeps the transcript in dir, synced line by line. An
// interrupted sampling goes on from it.
func Choose(ctx context.Context, dir string, opt scenario.Options, m ChoosingModel) (*scenario.Scenario, *Chosen, error) {
	head := transcriptHead{Schema: transcriptSchema, Name: opt.Name, Seed: opt.Seed, Schedule: opt.Schedule, Changes: opt.Changes, Version: scenario.Version,
		Model: m.ID, Temperature: m.Temperature, MaxOutput: m.MaxOutput, Task: scenario.ChooserTask}
	t, err := openTranscript(filepath.Join(dir, transcriptDir, opt.Name+".jsonl"), head)
	if err != nil {
		return nil, nil, err
	}
	sc, err := scenario.Choose(ctx, opt, &scenario.Chooser{Model: m.Completer, Invalid: m.Invalid, Past: t.past, Log: t.append})
	if err := errors.Join(err, t.file.Close()); err != nil {
		return nil, nil, err
	}
	return sc, t.chosen(head), nil
}

// transcript is a file to which requests are added.
type transcript struct {
	file *os.File
	past []scenario.Asked
	all  []scenario.Asked
	sum  []byte // the bytes so far
}

// openTranscript reads the whole lines of a transcript with this head and cuts off the rest; any other file is begun anew.
func openTranscript(path string, head transcriptHead) (*transcript, error) {
	first, err := marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encoding the transcript: %w", err)
	}
	first = append(first, '\n')
	t := &transcript{sum: first}
	b, err := readBounded(path, maxTranscript)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the transcript: %w", err)
	}
	if rest, ok := bytes.CutPrefix(b, first); ok {
		for line := range bytes.Lines(rest) {
			var a scenario.Asked
			if line[len(line)-1] != '\n' || json.Unmarshal(line, &a) != nil {
				break
			}
			t.past = append(t.past, a)
			t.sum = append(t.sum, line...)
		}
	}
	t.all = slices.Clone(t.past)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of transcripts: %w", err)
	}
	if err := WriteWhole(path, t.sum); err != nil {
		return nil, err
	}
	if t.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, fmt.Errorf("opening the transcript: %w", err)
	}
	return t, nil
}

func (t *transcript) append(a scenario.Asked) error {
	b, err := marshal(a)
	if err != nil {
		return fmt.Errorf("encoding the transcript: %w", err)
	}
	b = append(b, '\n')
	if _, err := t.file.Write(b); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	t.all, t.sum = append(t.all, a), append(t.sum, b...)
	return nil
}

// chosen sums up the transcript for the scenario file.
func (t *transcript) chosen(head transcriptHead) *Chosen {
	c := &Chosen{Model: head.Model, Returned: []string{}, Temperature: head.Temperature, MaxOutput: head.MaxOutput}
	for _, a := range t.all {
		c.Asked++
		if a.Error != "" {
			c.Rejected++
		}
		if a.By == scenario.DecidedByRules {
			c.Rules++
		}
		if a.Model != "" && !slices.Contains(c.Returned, a.Model) {
			c.Returned = append(c.Returned, a.Model)
		}
	}
	slices.Sort(c.Returned)
	c.Transcript = hexHash(t.sum)
	return c
}
