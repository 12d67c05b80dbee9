package study

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// material is a scenario ready to be run.
type material struct {
	*suite.Material
	name  string
	bytes int                           // of the suites: what keeping it costs
	byWay map[string]*scenario.Scenario // by delivery; the content is the same
}

// scenarioName is the name of scenario i (from 0).
func scenarioName(i int) string { return suite.ScenarioName(i) }

// draw makes scenario i, which is not recorded yet, and its file. It takes seconds for a hundred changes.
func (l *library) draw(ctx context.Context, i int) (*material, *suite.File, error) {
	s := l.study
	opt := scenario.Options{
		Seed: scenarioSeed(s.Seed, i), Changes: s.Scenarios.Changes, Name: scenarioName(i), Delivery: suite.CanonicalDelivery, Schedule: s.Scenarios.Schedule,
	}
	drawn := byRules
	if l.choosing != nil {
		drawn = l.choose
	}
	made, f, err := drawn(ctx, opt)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.equipped(made, f)
	return m, f, err
}

// byRules lets the rules choose the scenario.
func byRules(ctx context.Context, opt scenario.Options) (*suite.Material, *suite.File, error) {
	sc, err := scenario.Generate(opt)
	if err != nil {
		return nil, nil, err
	}
	made, err := suite.Make(ctx, sc, 1)
	if err != nil {
		return nil, nil, err
	}
	return made, suite.NewFile(made, opt.Schedule, suite.SamplerRules), nil
}

// equipped adds what the configurations of the study need.
func (s *Study) equipped(made *suite.Material, f *suite.File) (*material, error) {
	m := &material{Material: made, name: f.Name, bytes: made.Bytes(), byWay: map[string]*scenario.Scenario{suite.CanonicalDelivery: made.Scenario}}
	for _, c := range s.Configs {
		if m.byWay[c.Delivery] != nil {
			continue
		}
		sc, err := f.Scenario(c.Delivery)
		if err != nil {
			return nil, err
		}
		m.byWay[c.Delivery] = sc
	}
	return m, nil
}

// library hands out the scenarios of a study. It makes each when it is first asked for, holds it against the
// file in the run directory or writes that file, and keeps it while it is in use and there is room.
type library struct {
	study *Study
	dir   *logs.RunDir
	files []*suite.File // by scenario; nil = not recorded yet

	choosing *suite.ChoosingModel // that draws scenarios; nil = the rules do

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
func openLibrary(s *Study, d *logs.RunDir) (*library, error) {
	l := &library{study: s, dir: d, files: make([]*suite.File, s.Scenarios.Count), shelf: map[int]*shelved{}}
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
func (l *library) readFile(i int) (*suite.File, error) {
	f, err := readScenario(l.dir, i)
	if f == nil || err != nil {
		return nil, err
	}
	if set := l.study.set; set != nil {
		if f.Content != set.Files[i].Content {
			return nil, fmt.Errorf("scenario file %s has the content %.12s, but %s has %.12s", l.path(i), f.Content, set.Path(i), set.Files[i].Content)
		}
		return f, nil
	}
	if seed := scenarioSeed(l.study.Seed, i); f.Seed != seed || f.Changes != l.study.Scenarios.Changes {
		return nil, fmt.Errorf("scenario file %s does not belong to this study: it has the seed %d and %d changes, not %d and %d",
			l.path(i), f.Seed, f.Changes, seed, l.study.Scenarios.Changes)
	}
	return f, nil
}

// readScenario returns the file of scenario i of a run directory, or nil if there is none.
func readScenario(d *logs.RunDir, i int) (*suite.File, error) {
	f, err := suite.ReadFile(filepath.Join(d.ScenariosDir(), scenarioName(i)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

func makeScenariosDir(d *logs.RunDir) error {
	if err := os.MkdirAll(d.ScenariosDir(), 0o755); err != nil {
		return fmt.Errorf("making the folder of the scenarios: %w", err)
	}
	return nil
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
	if err := makeScenariosDir(l.dir); err != nil {
		return err
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

// make makes scenario i from its file, or draws it and writes the file.
func (l *library) make(ctx context.Context, i int) (*material, error) {
	l.mu.Lock()
	f := l.files[i]
	l.mu.Unlock()
	if f != nil {
		made, err := f.Make(ctx, l.path(i), 1)
		if err != nil {
			return nil, err
		}
		return l.study.equipped(made, f)
	}
	m, f, err := l.draw(ctx, i)
	if err != nil {
		return nil, err
	}
	if err := f.Write(l.dir.ScenariosDir()); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.files[i] = f
	l.mu.Unlock()
	return m, nil
}
