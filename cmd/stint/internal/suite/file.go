package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// What a scenario file says about itself.
const (
	FileSchema = "stint.scenario/1"
	// License of every generated scenario: nobody wrote it, so nobody shall have to ask.
	License = "CC0-1.0"
)

// maxFile bounds a scenario file that is read. Those that stint writes for a hundred changes are below 150 kB.
const maxFile = 4 << 20

// The samplers: who chooses the operations.
const (
	SamplerRules = "rules"
	SamplerLLM   = "llm"
)

// File is a scenario as it is kept: small enough to hand around, exact enough to make scenario and suites again.
type File struct {
	Schema   string            `json:"schema"`
	License  string            `json:"license"`
	Name     string            `json:"name"`
	Seed     uint64            `json:"seed"`
	Changes  int               `json:"changes"`
	Schedule string            `json:"schedule"`
	Sampler  string            `json:"sampler"`
	Delivery string            `json:"delivery,omitempty"` // that a study uses if it names none
	Chosen   *Chosen           `json:"chosen,omitempty"`   // with the sampler llm: by what
	Versions map[string]string `json:"versions"`
	Content  string            `json:"content"` // SHA-256, hex; see [ContentHash]
	Turns    []FileTurn        `json:"turns"`
}

// Chosen says which model chose the operations of a scenario, and how.
type Chosen struct {
	Model       string   `json:"model"` // id it was asked for
	Returned    []string `json:"returned"`
	Temperature *float64 `json:"temperature,omitempty"`
	MaxOutput   int      `json:"max_output,omitempty"`
	Asked       int      `json:"asked"`      // requests that were answered
	Rejected    int      `json:"rejected"`   // answers that were no valid choice
	Rules       int      `json:"rules"`      // turns that the rule sampler decided in the end
	Transcript  string   `json:"transcript"` // SHA-256 of the transcript, hex
}

// FileTurn is one turn of a scenario file.
type FileTurn struct {
	Turn      int               `json:"turn"`
	Operation string            `json:"operation"` // id
	Name      string            `json:"name"`
	Label     string            `json:"label"`
	Title     string            `json:"title"`
	Params    map[string]string `json:"params,omitempty"`
	Suite     string            `json:"suite"` // SHA-256 of its bytes, hex
	Checks    int               `json:"checks"`
}

// ScenarioName is the name of scenario i (from 0) of a set: s01, s02, …, s100. It does not depend on how many there
// are, so that a set may grow.
func ScenarioName(i int) string { return fmt.Sprintf("s%02d", i+1) }

// CanonicalDelivery is the delivery for which content is hashed: how an agent gets its request belongs to
// the configuration, so scenarios of different deliveries stay paired.
const CanonicalDelivery = scenario.DeliveryDeltaFile

// SeedBits keeps seeds in the range that every JSON reader holds exactly.
const SeedBits = 1<<53 - 1

// ScenarioSeed derives the seed of scenario i (from 0) of a set, so that more scenarios leave the earlier ones as they
// are. try counts from 0: the seed of a scenario that was not accepted is followed by the next of its stream.
func ScenarioSeed(set uint64, i, try int) uint64 {
	parts := []string{"scenario", strconv.FormatUint(set, 10), strconv.Itoa(i + 1)}
	if try > 0 {
		parts = append(parts, strconv.Itoa(try))
	}
	return Hash64(parts...) & SeedBits
}

// NewFile describes material that the named sampler made under a schedule.
func NewFile(m *Material, schedule, sampler string) *File {
	sc := m.Scenario
	f := &File{
		Schema: FileSchema, License: License, Name: sc.Name, Seed: sc.Seed, Changes: len(sc.Steps) - 1,
		Schedule: schedule, Sampler: sampler, Versions: Versions(), Content: m.Content,
	}
	for turn, st := range sc.Steps {
		op := st.Operation
		f.Turns = append(f.Turns, FileTurn{
			Turn: turn, Operation: op.ID, Name: op.Name, Label: op.Label, Title: op.Title, Params: op.Params,
			Suite: hexHash(m.Encoded[turn]), Checks: len(m.Suites[turn].Checks),
		})
	}
	return f
}

// Scenario makes the scenario of the file again, as an agent with this delivery meets it.
func (f *File) Scenario(delivery string) (*scenario.Scenario, error) {
	var ops []scenario.Operation
	for _, t := range f.Turns[1:] {
		ops = append(ops, scenario.Operation{Name: t.Name, Label: t.Label, ID: t.Operation, Title: t.Title, Params: t.Params})
	}
	return scenario.Replay(scenario.Options{Seed: f.Seed, Name: f.Name, Delivery: delivery}, ops)
}

// Make makes scenario and suites again and holds them against the file, whose name is for messages only. Other content
// is a *ContentError.
func (f *File) Make(ctx context.Context, name string, jobs int) (*Material, error) {
	sc, err := f.Scenario(CanonicalDelivery)
	if err != nil {
		return nil, f.unlike(name, "", err)
	}
	m, err := Make(ctx, sc, jobs)
	if err != nil {
		return nil, err
	}
	if m.Content != f.Content {
		return nil, f.unlike(name, m.Content, nil)
	}
	return m, nil
}

func (f *File) unlike(name, now string, err error) error {
	return &ContentError{File: name, Recorded: f.Content, Now: now, Versions: f.Versions, Today: Versions(), Err: err}
}

// ContentError says that a scenario file does not hold what this stint makes of it.
type ContentError struct {
	File            string
	Recorded, Now   string // content hashes; Now is "" when nothing could be made
	Versions, Today map[string]string
	Err             error // why nothing could be made; nil when something else was
}

func (e *ContentError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s records the content %.12s (generators %s), which this stint (generators %s) cannot make: %v",
			e.File, e.Recorded, versionText(e.Versions), versionText(e.Today), e.Err)
	}
	return fmt.Sprintf("%s records the content %.12s (generators %s), but this stint generates %.12s (generators %s)",
		e.File, e.Recorded, versionText(e.Versions), e.Now, versionText(e.Today))
}

// Unwrap returns Err.
func (e *ContentError) Unwrap() error { return e.Err }

// Hint returns the way out.
func (e *ContentError) Hint() string {
	return "go on with the stint that made this file, or begin anew in another folder (-o DIR); outcomes of different content must not be mixed"
}

// ExitCode returns 2.
func (e *ContentError) ExitCode() int { return 2 }

func versionText(v map[string]string) string {
	parts := make([]string, 0, len(v))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, k+" "+v[k])
	}
	return strings.Join(parts, ", ")
}

// FileError says what is wrong with a scenario file or a folder of them. Its exit code is 2.
type FileError struct {
	Path, Message, Way string
}

func (e *FileError) Error() string { return e.Path + ": " + e.Message }

// Hint returns the way out.
func (e *FileError) Hint() string { return e.Way }

// ExitCode returns 2.
func (e *FileError) ExitCode() int { return 2 }

// Encode returns the bytes of the file.
func (f *File) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding scenario %s: %w", f.Name, err)
	}
	return append(b, '\n'), nil
}

// Write puts the file into a folder under its own name; it appears complete or not at all.
func (f *File) Write(dir string) error {
	b, err := f.Encode()
	if err != nil {
		return err
	}
	return WriteWhole(filepath.Join(dir, f.Name+".json"), b)
}

// ReadFile reads a scenario file. What is wrong with it is a *FileError; one that is not there is fs.ErrNotExist.
func ReadFile(path string) (*File, error) {
	b, err := readBounded(path, maxFile)
	if err != nil {
		return nil, err
	}
	return DecodeFile(path, b)
}

// DecodeFile reads the bytes of a scenario file; name is for messages.
func DecodeFile(name string, b []byte) (*File, error) {
	bad := func(format string, args ...any) error {
		return &FileError{Path: name, Message: oneLine(fmt.Sprintf(format, args...), maxLine), Way: "stint scenario new writes scenario files"}
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, bad("this is no scenario file: %v", err)
	}
	if head.Schema != FileSchema {
		return nil, bad("schema %q is not %q", head.Schema, FileSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var f File
	if err := dec.Decode(&f); err != nil {
		return nil, bad("decoding the scenario: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, bad("something follows the scenario")
	}
	if err := f.valid(); err != nil {
		return nil, bad("%v", err)
	}
	return &f, nil
}

var (
	fileName = regexp.MustCompile(`^s[0-9]{2,6}$`)
	hexSum   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// valid says whether a file is complete in itself.
func (f *File) valid() error {
	switch {
	case !fileName.MatchString(f.Name):
		return fmt.Errorf("%q is no name of a scenario", f.Name)
	case !hexSum.MatchString(f.Content):
		return fmt.Errorf("the content hash %q is not 64 hexadecimal digits", f.Content)
	case f.Changes < 0 || f.Changes > scenario.MaxChanges:
		return fmt.Errorf("%d changes, allowed are 0 to %d", f.Changes, scenario.MaxChanges)
	case len(f.Turns) != f.Changes+1:
		return fmt.Errorf("%d turns for a build and %d changes", len(f.Turns), f.Changes)
	}
	for i, t := range f.Turns {
		if t.Turn != i {
			return fmt.Errorf("turn %d stands where turn %d should", t.Turn, i)
		}
		if !hexSum.MatchString(t.Suite) {
			return fmt.Errorf("turn %d: the hash of its suite %q is not 64 hexadecimal digits", i, t.Suite)
		}
	}
	return nil
}

// readBounded reads a regular file of at most limit bytes; a link to one is followed no further than that.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &FileError{Path: path, Message: "this is no regular file"}
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if int64(len(b)) > limit {
		return nil, &FileError{Path: path, Message: fmt.Sprintf("it is larger than %d bytes", limit)}
	}
	return b, nil
}

// WriteWhole writes a file that appears complete or not at all.
func WriteWhole(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = tmp.Write(b)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// SameSuite holds a suite against the one that the file records for its turn.
func (f *File) SameSuite(turn int, s *Suite) error {
	b, err := s.Encode()
	if err != nil {
		return err
	}
	if now := hexHash(b); now != f.Turns[turn].Suite {
		return f.unlike(f.Name, "", fmt.Errorf("its suite of turn %d has the hash %.12s instead of %.12s", turn, now, f.Turns[turn].Suite))
	}
	return nil
}
