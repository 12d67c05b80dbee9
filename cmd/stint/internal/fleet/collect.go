package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

// CollectOptions say what is collected and where to.
type CollectOptions struct {
	Sources    []string         // run directories of one study
	Dir        string           // the run directory that takes them up; what it has stays
	AnyVersion bool             // journals of several versions of stint are let through
	Now        func() time.Time // nil = time.Now
	Progress   func(done, all int)
}

// Collected is what became of the journals.
type Collected struct {
	Dir      string
	Episodes int // planned
	Added    int // new in Dir
	Grown    int // were there, and have more or other records now
	Kept     int // as they were
	Valid    int // in Dir now, by their ends
	Stopped  int
	// Missing have no journal in Dir or one without an end, with the shard that each belongs to; 0 = not known.
	Missing []MissingEpisode
	Shards  int      // the study was dealt out to so many; 0 = not known
	Refused []error  // damaged or foreign copies, each with its file
	Wasted  []Wasted // copies that were not taken
}

// MissingEpisode is one that has no end yet.
type MissingEpisode struct {
	study.PlannedEpisode
	ID    string // "" if its scenario is recorded nowhere
	Begun bool
	Shard int
}

// Wasted is a copy of an episode's journal that was not taken. Its cost is what it does not share with the one that was.
type Wasted struct {
	Episode string
	Path    string
	Why     string
	Tokens  *int64 // nil is unknown
	USD     *float64
}

// collection is the work of one Collect.
type collection struct {
	opt     CollectOptions
	study   *study.Study
	dir     *logs.RunDir
	sources []*logs.RunDir

	mu   sync.Mutex
	done int
	out  *Collected
}

// Collect puts run directories of one study together. It verifies every chain and blob and takes one journal per
// episode: one with a valid end before a stopped one before an open one; then, of two with ends, the earlier end, of two
// open ones the longer; then the smaller last chain value. An episode that Dir has with a valid end stays as it is. The
// journals that are not taken are kept beside, in wasted/, and counted. A damaged copy is refused by file name, and the
// next one of the same episode is taken. Sources of another study, with other content of a scenario, or written by
// another version of stint are an *study.InputError, and nothing is written.
func Collect(ctx context.Context, opt CollectOptions) (*Collected, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	c := &collection{opt: opt, dir: &logs.RunDir{Root: opt.Dir}, out: &Collected{Dir: opt.Dir}}
	if err := c.open(); err != nil {
		return nil, err
	}
	contents, err := c.contents()
	if err != nil {
		return nil, err
	}
	episodes := c.plan(contents)
	if err := c.look(ctx, episodes); err != nil {
		return nil, err
	}
	held, err := c.study.Hold(opt.Dir, opt.Now())
	if err != nil {
		return nil, err
	}
	defer held.Release()
	for _, src := range c.sources {
		if err := c.study.CopyScenarios(src, c.dir); err != nil {
			return nil, err
		}
	}
	if err := c.mend(); err != nil {
		return nil, err
	}
	if err := c.take(ctx, episodes); err != nil {
		return nil, err
	}
	return c.out, c.count(episodes)
}

// open opens the sources and holds their studies against each other and against what the directory has.
func (c *collection) open() error {
	var first *logs.RunDir
	var own os.FileInfo
	all := c.opt.Sources
	if st, err := os.Stat(c.opt.Dir); err == nil {
		own = st
		if _, err := os.Stat(c.dir.StudyFile()); err == nil {
			all = append([]string{c.opt.Dir}, all...)
		}
	}
	for i, root := range all {
		d, err := logs.OpenRunDir(root)
		if err != nil {
			return err
		}
		isOwn := i == 0 && len(all) > len(c.opt.Sources)
		if st, err := os.Stat(root); err == nil && own != nil && os.SameFile(st, own) && !isOwn {
			return &study.InputError{File: root, Message: "this is the folder to collect into", Advice: "leave it out: what it has stays there"}
		}
		if begun, err := hasStudy(d); err != nil || !begun {
			if err != nil {
				return err
			}
			continue // it was killed before it had begun
		}
		for _, path := range []string{d.StudyFile(), d.PricesFile()} {
			if _, err := readSmall(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if first == nil {
			first = d
			if c.study, err = study.LoadFrozen(d); err != nil {
				return err
			}
		} else if err := sameFrozen(first, d); err != nil {
			return err
		}
		if err := c.shardsOf(d); err != nil {
			return err
		}
		if !isOwn {
			c.sources = append(c.sources, d)
		}
	}
	if first == nil {
		return &study.InputError{File: c.opt.Sources[0], Message: "no study has begun in any of these folders", Advice: "name the folders that stint run --shard wrote"}
	}
	return nil
}

// hasStudy says whether a study was frozen in the folder; episodes without one belong to nothing.
func hasStudy(d *logs.RunDir) (bool, error) {
	if _, err := os.Stat(d.StudyFile()); err == nil {
		return true, nil
	}
	ids, err := d.Episodes()
	if err == nil && len(ids) > 0 {
		err = &study.InputError{File: d.Root, Message: "there are episodes, but no study.yaml", Advice: "name the folder as stint run wrote it"}
	}
	return false, err
}

// shardsOf learns to how many shards the study was dealt out.
func (c *collection) shardsOf(d *logs.RunDir) error {
	s, err := study.ShardOf(d)
	switch {
	case err != nil:
		return err
	case c.out.Shards == 0:
		c.out.Shards = s.N
	case s.N > 0 && s.N != c.out.Shards:
		c.out.Shards = -1 // dealt out in several ways
	}
	return nil
}

// sameFrozen refuses a folder whose study, prices or harness files are others, by file name.
func sameFrozen(first, d *logs.RunDir) error {
	names := []string{"study.yaml", "prices.yaml"}
	for _, x := range []*logs.RunDir{first, d} {
		more, err := filepath.Glob(filepath.Join(globQuote(x.Root), "harness", "*"))
		if err != nil {
			return fmt.Errorf("listing the harness files: %w", err)
		}
		for _, m := range more {
			names = append(names, filepath.Join("harness", filepath.Base(m)))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		a, errA := readSmall(filepath.Join(first.Root, name))
		b, errB := readSmall(filepath.Join(d.Root, name))
		if name == "prices.yaml" && (errors.Is(errA, fs.ErrNotExist) || errors.Is(errB, fs.ErrNotExist)) {
			continue // killed between the two
		}
		if err := errors.Join(errA, errB); err != nil {
			return fmt.Errorf("comparing the studies: %w", err)
		}
		if !bytes.Equal(a, b) {
			return &study.InputError{File: filepath.Join(d.Root, name), Advice: "collect the runs of one study only",
				Message: fmt.Sprintf("the file has the hash %.12s, but %s has %.12s: this is another study", hashOf(b), filepath.Join(first.Root, name), hashOf(a))}
		}
	}
	return nil
}

// maxSmall bounds the files of a study that are compared.
const maxSmall = 16 << 20

// readSmall reads a regular file of bounded size.
func readSmall(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxSmall {
		return nil, &study.InputError{File: path, Message: "this is no file that stint wrote", Advice: "name the folders that stint run wrote"}
	}
	return os.ReadFile(path)
}

// contents are the scenarios' content hashes over all folders.
func (c *collection) contents() ([]string, error) {
	var out, where []string
	for i, d := range c.places() {
		if _, err := os.Stat(d.StudyFile()); err != nil {
			if i == 0 {
				continue
			}
			return nil, fmt.Errorf("reading the scenarios: %w", err)
		}
		have, err := c.study.Contents(d)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out, where = make([]string, len(have)), make([]string, len(have))
		}
		for k, content := range have {
			name := filepath.Join(d.ScenariosDir(), study.PlannedEpisode{Scenario: k}.ScenarioName()+".json")
			switch {
			case content == "" || content == out[k]:
			case out[k] == "":
				out[k], where[k] = content, name
			default:
				return nil, &study.InputError{File: name, Advice: "these are runs of different scenarios, made by different versions of stint: they cannot be one run",
					Message: fmt.Sprintf("the scenario has the content %.12s, but %s has %.12s", content, where[k], out[k])}
			}
		}
	}
	return out, nil
}

// plan lists the episodes there shall be, each with its shard.
func (c *collection) plan(contents []string) []*collected {
	var dealt []int
	if c.out.Shards > 0 {
		dealt, _ = c.study.Deal(c.out.Shards) // nil if it cannot be dealt like this any more
	} else {
		c.out.Shards = 0
	}
	var out []*collected
	for i, e := range c.study.Episodes() {
		x := &collected{MissingEpisode: MissingEpisode{PlannedEpisode: e}, content: contents[e.Scenario]}
		if x.content != "" {
			x.ID = logs.EpisodeID(c.study.Name, e.Config, x.content, e.Repeat)
		}
		if dealt != nil {
			x.Shard = dealt[i]
		}
		out = append(out, x)
	}
	c.out.Episodes = len(out)
	return out
}

// look looks at the beginnings of all journals: at what belongs to no episode of the study, and at versions.
func (c *collection) look(ctx context.Context, episodes []*collected) error {
	known := map[string]bool{}
	for _, e := range episodes {
		known[e.ID] = true
	}
	for _, d := range c.sources {
		ids, err := d.Episodes()
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !known[id] {
				c.out.Refused = append(c.out.Refused, fmt.Errorf("%s: the study has no such episode", d.EpisodeDir(id)))
			}
		}
	}
	if c.opt.AnyVersion {
		return nil
	}
	var seen versionSeen
	err := c.each(ctx, episodes, nil, func(e *collected) error {
		for _, d := range c.places() {
			if e.ID == "" {
				continue
			}
			path := filepath.Join(d.EpisodeDir(e.ID), logs.JournalName)
			if version, ok := beginning(path); ok {
				c.mu.Lock()
				seen.see(version, path)
				c.mu.Unlock()
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return seen.err()
}

// places are the folders that may hold an episode: first the one that is collected into.
func (c *collection) places() []*logs.RunDir {
	return append([]*logs.RunDir{c.dir}, c.sources...)
}

// take brings the best copy of every episode into the directory. Only the journals of the episodes at hand are in memory.
func (c *collection) take(ctx context.Context, episodes []*collected) error {
	return c.each(ctx, episodes, c.opt.Progress, func(e *collected) error {
		if e.ID == "" {
			return nil
		}
		for i, d := range c.places() {
			copied, err := c.copyOf(e, d, i == 0)
			if err != nil {
				c.refuse(err)
			}
			if copied != nil {
				e.copies = append(e.copies, copied)
			}
		}
		e.copies = sorted(e.copies)
		err := c.takeBest(ctx, e)
		if e.copies = nil; e.taken != nil {
			e.taken.records = nil
		}
		return err
	})
}

// each calls f for the episodes, as many at a time as there are processors.
func (c *collection) each(ctx context.Context, episodes []*collected, progress func(done, all int), f func(*collected) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	c.done = 0
	for _, e := range episodes {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := f(e)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.done++
			if progress != nil && err == nil {
				progress(c.done, len(episodes))
			}
			return err
		})
	}
	return g.Wait()
}

// refuse notes a copy that cannot be used.
func (c *collection) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Refused = append(c.out.Refused, err)
}

// count fills in what there is now.
func (c *collection) count(episodes []*collected) error {
	for _, e := range episodes {
		switch {
		case e.taken == nil:
			c.out.Missing = append(c.out.Missing, e.MissingEpisode)
		case e.taken.rank == rankOpen:
			e.Begun = true
			c.out.Missing = append(c.out.Missing, e.MissingEpisode)
		case e.taken.rank == rankStopped:
			c.out.Stopped++
		default:
			c.out.Valid++
		}
	}
	slices.SortStableFunc(c.out.Refused, func(a, b error) int { return bytes.Compare([]byte(a.Error()), []byte(b.Error())) })
	slices.SortStableFunc(c.out.Wasted, func(a, b Wasted) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return nil
}

// globQuote makes a path that Glob takes literally.
func globQuote(path string) string {
	var b bytes.Buffer
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
