package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// Held is a run directory in which the study is frozen and nobody else works.
type Held struct {
	Dir   *logs.RunDir
	Notes []string // changes of the study that were let through
	lock  *dirLock
}

// Hold makes the run directory, takes its lock and freezes the study in it, or holds it against the study frozen
// there. Release gives the directory up.
func (s *Study) Hold(dir string, now time.Time) (*Held, error) {
	h := &Held{Dir: &logs.RunDir{Root: dir}}
	if err := os.MkdirAll(h.Dir.EpisodesDir(), 0o755); err != nil {
		return nil, fmt.Errorf("making the run directory: %w", err)
	}
	var err error
	if h.lock, err = acquireLock(dir, now); err != nil {
		return nil, err
	}
	if h.Notes, err = s.prepare(h.Dir); err == nil {
		err = s.freezeHarnesses(h.Dir)
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// Release lets others work in the directory.
func (h *Held) Release() { h.lock.release() }

// Generate records the scenarios that the directory does not have yet.
func (s *Study) Generate(ctx context.Context, h *Held, opt RunOptions) error {
	opt, err := s.fillOptions(opt)
	if err != nil {
		return err
	}
	w := &work{study: s, opt: opt, dir: h.Dir}
	if w.lib, err = openLibrary(s, h.Dir); err != nil {
		return err
	}
	if len(w.lib.missing()) == 0 {
		return nil
	}
	if w.lib.choosing, err = w.choosing(); err != nil {
		return err
	}
	return w.lib.record(ctx)
}

// Contents are the content hashes of the study's scenarios as a run directory has them; "" is not recorded there.
func (s *Study) Contents(d *logs.RunDir) ([]string, error) {
	lib, err := openLibrary(s, d)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(lib.files))
	for i, f := range lib.files {
		if f != nil {
			out[i] = f.Content
		}
	}
	return out, nil
}

// CopyScenarios takes the scenarios of one run directory of the study over into another. One that both have must be
// the same.
func (s *Study) CopyScenarios(from, to *logs.RunDir) error {
	if err := makeScenariosDir(to); err != nil {
		return err
	}
	theirs, err := openLibrary(s, from)
	if err != nil {
		return err
	}
	for i, f := range theirs.files {
		if f == nil {
			continue
		}
		mine, err := readScenario(to, i)
		switch {
		case err != nil:
			return err
		case mine == nil:
			err = f.Write(to.ScenariosDir())
		case mine.Content != f.Content:
			err = &InputError{File: theirs.path(i), Message: fmt.Sprintf("scenario %s has the content %.12s here, but %.12s in %s", f.Name, f.Content, mine.Content, to.ScenariosDir()),
				Advice: "these are runs of different scenarios, made by different versions of stint: they cannot be one run"}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ScenarioName is the name of a planned episode's scenario.
func (e PlannedEpisode) ScenarioName() string { return scenarioName(e.Scenario) }

// String is CONFIG/SCENARIO#REPEAT.
func (e PlannedEpisode) String() string {
	return fmt.Sprintf("%s/%s#%d", e.Config, e.ScenarioName(), e.Repeat)
}

// Agrees refuses the beginning of a journal that does not belong to the planned episode.
func (s *Study) Agrees(e PlannedEpisode, content string, start *logs.EpisodeStart) error {
	c := s.Config(e.Config)
	for _, f := range []struct{ name, is, want string }{
		{"study", start.Study, s.Name},
		{"configuration", start.Config, c.Name},
		{"scenario content", start.Scenario.Content, content},
		{"repeat", fmt.Sprint(start.Repeat), fmt.Sprint(e.Repeat)},
		{"seed", fmt.Sprint(start.Seed), fmt.Sprint(episodeSeed(s.Seed, c.Name, content, e.Repeat))},
		{"turns_max", fmt.Sprint(start.TurnsMax), fmt.Sprint(s.TurnsMax())},
		{"mode", start.Mode, s.Mode},
		{"feedback", start.Feedback, c.Feedback},
		{"retries", fmt.Sprint(start.Retries), fmt.Sprint(c.Retries)},
		{"process_retries", fmt.Sprint(start.ProcessRetries), fmt.Sprint(c.ProcessRetries)},
		{"session", start.Session, c.Session},
		{"delivery", start.Delivery, c.Delivery},
	} {
		if f.is != f.want {
			return fmt.Errorf("it has the %s %q instead of %q", f.name, f.is, f.want)
		}
	}
	return nil
}

// WriteWhole writes a file that appears complete or not at all.
func WriteWhole(path string, b []byte) error { return suite.WriteWhole(path, b) }

// BuildVersion is the version of the running program as its build recorded it.
func BuildVersion() string { return buildVersion() }

// missingKeys reports a key that a new run would not find, before any directory is made for it.
func (s *Study) missingKeys(getenv func(string) string, selected []PlannedEpisode) error {
	return errors.Join(s.missingKey(getenv, selected), s.samplerKey(getenv))
}
