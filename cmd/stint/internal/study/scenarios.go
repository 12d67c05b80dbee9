package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// scenarioSchema names the format of scenarios/sNN.json.
const scenarioSchema = "stint.scenario/1"

// versions are those of the generators that make a scenario's content, and what the caller adds about parts
// that this package does not see.
func versions(further map[string]string) map[string]string {
	v := map[string]string{"scenario": scenario.Version, "suite": suite.Version}
	maps.Copy(v, further)
	return v
}

// scenarioFile is scenarios/sNN.json: what was asked, small enough to keep, exact enough to make it again.
type scenarioFile struct {
	Schema   string            `json:"schema"`
	Name     string            `json:"name"`
	Seed     uint64            `json:"seed"`
	Changes  int               `json:"changes"`
	Schedule string            `json:"schedule"`
	Sampler  string            `json:"sampler"`
	Versions map[string]string `json:"versions"`
	Content  string            `json:"content"` // SHA-256, hex
	Turns    []scenarioTurn    `json:"turns"`
}

// scenarioTurn is one turn of a scenario file.
type scenarioTurn struct {
	Turn      int               `json:"turn"`
	Operation string            `json:"operation"` // id
	Name      string            `json:"name"`
	Label     string            `json:"label"`
	Title     string            `json:"title"`
	Params    map[string]string `json:"params,omitempty"`
	Suite     string            `json:"suite"` // SHA-256 of its bytes, hex
	Checks    int               `json:"checks"`
}

// material is a scenario ready to be run.
type material struct {
	name    string
	content string // SHA-256, hex
	suites  []*suite.Suite
	encoded [][]byte                      // the suites' canonical bytes
	bytes   int                           // of them: what keeping it costs
	byWay   map[string]*scenario.Scenario // by delivery; the content is the same
}

// scenarioName is the name of scenario i (from 0): s01, s02, …, s100. It does not depend on how many there are,
// so that a study may gain scenarios.
func scenarioName(i int) string { return fmt.Sprintf("s%02d", i+1) }

// canonicalDelivery is the delivery for which content is hashed: how an agent gets its request belongs to
// the configuration, so scenarios of different deliveries stay paired.
const canonicalDelivery = "delta+file"

// generate makes scenario i with the suites of all its turns. It takes a second or so for a hundred changes.
func (s *Study) generate(ctx context.Context, i int) (*material, *scenarioFile, error) {
	name := scenarioName(i)
	seed := scenarioSeed(s.Seed, i)
	sc, err := s.scenarioAs(i, canonicalDelivery)
	if err != nil {
		return nil, nil, err
	}
	m := &material{name: name, byWay: map[string]*scenario.Scenario{canonicalDelivery: sc}}
	f := &scenarioFile{
		Schema: scenarioSchema, Name: name, Seed: seed, Changes: s.Scenarios.Changes,
		Schedule: s.Scenarios.Schedule, Sampler: s.Scenarios.Sampler,
	}
	for turn, step := range sc.Steps {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		su, err := suite.Generate(sc, turn)
		if err != nil {
			return nil, nil, fmt.Errorf("generating the suite of scenario %s, turn %d: %w", name, turn, err)
		}
		b, err := su.Encode()
		if err != nil {
			return nil, nil, fmt.Errorf("encoding the suite of scenario %s, turn %d: %w", name, turn, err)
		}
		sum := sha256.Sum256(b)
		m.suites = append(m.suites, su)
		m.encoded = append(m.encoded, b)
		m.bytes += len(b)
		op := step.Operation
		f.Turns = append(f.Turns, scenarioTurn{
			Turn: turn, Operation: op.ID, Name: op.Name, Label: op.Label, Title: op.Title, Params: op.Params,
			Suite: hex.EncodeToString(sum[:]), Checks: len(su.Checks),
		})
	}
	m.content = suite.ContentHash(sc, m.suites)
	f.Content = m.content
	for _, c := range s.Configs {
		if m.byWay[c.Delivery] == nil {
			if m.byWay[c.Delivery], err = s.scenarioAs(i, c.Delivery); err != nil {
				return nil, nil, err
			}
		}
	}
	return m, f, nil
}

func (s *Study) scenarioAs(i int, delivery string) (*scenario.Scenario, error) {
	name := scenarioName(i)
	sc, err := scenario.Generate(scenario.Options{
		Seed: scenarioSeed(s.Seed, i), Changes: s.Scenarios.Changes, Name: name, Delivery: delivery, Schedule: s.Scenarios.Schedule,
	})
	if err != nil {
		return nil, fmt.Errorf("generating scenario %s: %w", name, err)
	}
	return sc, nil
}

// ScenarioError says that the scenario recorded in a run directory is not the one this stint generates.
type ScenarioError struct {
	File            string
	Recorded, Now   string // content hashes
	Versions, Today map[string]string
}

func (e *ScenarioError) Error() string {
	return fmt.Sprintf("%s records the content %.12s (generators %s), but this stint generates %.12s (generators %s)",
		e.File, e.Recorded, versionText(e.Versions), e.Now, versionText(e.Today))
}

// Hint returns the way out.
func (e *ScenarioError) Hint() string {
	return "go on with the stint that began this run, or start another run with -o DIR; outcomes of different content must not be mixed"
}

// ExitCode returns 2.
func (e *ScenarioError) ExitCode() int { return 2 }

func versionText(v map[string]string) string {
	parts := make([]string, 0, len(v))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, k+" "+v[k])
	}
	return strings.Join(parts, ", ")
}

// library hands out the scenarios of a study. It makes each when it is first asked for, holds it against the
// file in the run directory or writes that file, and keeps it while it is in use and there is room.
type library struct {
	study    *Study
	dir      *logs.RunDir
	versions map[string]string // of the generators
	files    []*scenarioFile   // by scenario; nil = not recorded yet

	mu    sync.Mutex
	shelf map[int]*shelved
	clock int
}

// shelved is one scenario of the library.
type shelved struct {
	once  sync.Once
	m     *material
	err   error
	users int
	used  int // clock of the last use
}

// shelfBytes is how much unused material is kept for episodes to come.
const shelfBytes = 256 << 20

// openLibrary reads the scenario files that the run directory has.
func openLibrary(s *Study, d *logs.RunDir, further map[string]string) (*library, error) {
	l := &library{study: s, dir: d, versions: versions(further), files: make([]*scenarioFile, s.Scenarios.Count), shelf: map[int]*shelved{}}
	for i := range l.files {
		f, err := l.readFile(i)
		if err != nil {
			return nil, err
		}
		l.files[i] = f
	}
	return l, nil
}

func (l *library) path(i int) string {
	return filepath.Join(l.dir.ScenariosDir(), scenarioName(i)+".json")
}

// readFile returns the file of scenario i, or nil if there is none.
func (l *library) readFile(i int) (*scenarioFile, error) {
	path := l.path(i)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading scenario file %s: %w", path, err)
	}
	var f scenarioFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("reading scenario file %s: %w", path, err)
	}
	if f.Schema != scenarioSchema || len(f.Content) != sha256.Size*2 || f.Seed != scenarioSeed(l.study.Seed, i) || f.Changes != l.study.Scenarios.Changes {
		return nil, fmt.Errorf("scenario file %s does not belong to this study (schema %q, seed %d, %d changes)", path, f.Schema, f.Seed, f.Changes)
	}
	return &f, nil
}

// missing lists the scenarios whose content is not recorded yet.
func (l *library) missing() []int {
	var out []int
	for i, f := range l.files {
		if f == nil {
			out = append(out, i)
		}
	}
	return out
}

// record generates the missing scenarios, several at once, and writes their files.
func (l *library) record(ctx context.Context) error {
	if err := os.MkdirAll(l.dir.ScenariosDir(), 0o755); err != nil {
		return fmt.Errorf("making the folder of the scenarios: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for _, i := range l.missing() {
		g.Go(func() error {
			_, release, err := l.use(ctx, i)
			if err == nil {
				release()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return l.distinct()
}

// distinct refuses two scenarios of the same content: they would be one pairing unit counted twice. It can only
// happen to very short ones.
func (l *library) distinct() error {
	first := map[string]int{}
	for i, f := range l.files {
		if j, twice := first[f.Content]; twice {
			return &InputError{File: l.study.Path, Advice: "choose another seed, or more changes",
				Message: fmt.Sprintf("scenarios %s and %s came out the same", scenarioName(j), scenarioName(i))}
		}
		first[f.Content] = i
	}
	return nil
}

// content is the recorded content hash of scenario i.
func (l *library) content(i int) string { return l.files[i].Content }

// use returns scenario i; release must be called when the caller is done with it.
func (l *library) use(ctx context.Context, i int) (m *material, release func(), err error) {
	l.mu.Lock()
	e := l.shelf[i]
	if e == nil {
		e = &shelved{}
		l.shelf[i] = e
	}
	e.users++
	l.mu.Unlock()

	e.once.Do(func() { e.m, e.err = l.make(ctx, i) })
	release = func() { l.release(i, e) }
	if e.err != nil {
		release()
		return nil, nil, e.err
	}
	return e.m, release, nil
}

// release puts a scenario back and clears the shelf of what was longest unused, beyond the room there is.
func (l *library) release(i int, e *shelved) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.users--
	l.clock++
	e.used = l.clock
	if e.err != nil && l.shelf[i] == e && e.users == 0 {
		delete(l.shelf, i) // a cancelled generation may be tried again
	}
	for l.unusedBytes() > shelfBytes {
		oldest, at := -1, 0
		for k, s := range l.shelf {
			if s.users == 0 && s.m != nil && (oldest < 0 || s.used < at) {
				oldest, at = k, s.used
			}
		}
		delete(l.shelf, oldest)
	}
}

func (l *library) unusedBytes() int {
	n := 0
	for _, s := range l.shelf {
		if s.users == 0 && s.m != nil {
			n += s.m.bytes
		}
	}
	return n
}

// make generates scenario i and holds it against its file, or writes the file.
func (l *library) make(ctx context.Context, i int) (*material, error) {
	m, f, err := l.study.generate(ctx, i)
	if err != nil {
		return nil, err
	}
	f.Versions = l.versions
	l.mu.Lock()
	recorded := l.files[i]
	l.mu.Unlock()
	if recorded != nil {
		if recorded.Content != m.content {
			return nil, &ScenarioError{File: l.path(i), Recorded: recorded.Content, Now: m.content, Versions: recorded.Versions, Today: f.Versions}
		}
		return m, nil
	}
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding scenario %s: %w", m.name, err)
	}
	if err := writeFile(l.path(i), append(b, '\n')); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.files[i] = f
	l.mu.Unlock()
	return m, nil
}
