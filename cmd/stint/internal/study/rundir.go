package study

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// prepare makes the run directory and freezes the study in it, or holds the study against the one frozen
// there. The lock is held. It returns notes for the user about changes that were let through.
func (s *Study) prepare(d *logs.RunDir) (notes []string, err error) {
	frozen, err := os.ReadFile(d.StudyFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.freeze(d)
	case err != nil:
		return nil, fmt.Errorf("reading the frozen study: %w", err)
	}
	begun, err := hasEpisodes(d)
	if err != nil {
		return nil, err
	}
	if !begun { // nothing was recorded yet, so there is nothing to protect
		if bytes.Equal(frozen, s.Source) && s.set == nil {
			return nil, s.freezePrices(d)
		}
		if err := os.RemoveAll(d.ScenariosDir()); err != nil {
			return nil, fmt.Errorf("clearing the scenarios of a study that had not begun: %w", err)
		}
		return nil, s.freeze(d)
	}
	if bytes.Equal(frozen, s.Source) && s.set == nil { // a set may have changed without the study
		return nil, s.usePrices(d)
	}
	old, err := parse(d.StudyFile(), frozen, priceFromRunDir)
	if err != nil {
		return nil, fmt.Errorf("the study frozen in this run directory cannot be read: %w", err)
	}
	changed, notes, err := checkFrozen(old, s, d.StudyFile())
	if err != nil {
		return nil, err
	}
	if err := s.usePrices(d); err != nil {
		return nil, err
	}
	if err := s.copySet(d); err != nil {
		return nil, err
	}
	if changed {
		if err := s.keepOld(d, frozen); err != nil {
			return nil, err
		}
	}
	return notes, suite.WriteWhole(d.StudyFile(), s.Source)
}

// freeze writes study.yaml, prices.yaml and the scenarios of a prepared set; the study comes last, since its presence
// means that all are there.
func (s *Study) freeze(d *logs.RunDir) error {
	if err := s.copySet(d); err != nil {
		return err
	}
	if err := s.freezePrices(d); err != nil {
		return err
	}
	return suite.WriteWhole(d.StudyFile(), s.Source)
}

// keepOld puts the study that is about to be replaced beside the new one as study.1.yaml, study.2.yaml, …: it
// says what was declared when.
func (s *Study) keepOld(d *logs.RunDir, frozen []byte) error {
	for i := 1; ; i++ {
		path := filepath.Join(d.Root, fmt.Sprintf("study.%d.yaml", i))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return suite.WriteWhole(path, frozen)
		} else if err != nil {
			return fmt.Errorf("keeping the earlier study file: %w", err)
		}
	}
}

// hasEpisodes reports whether any episode of the run directory has a journal.
func hasEpisodes(d *logs.RunDir) (bool, error) {
	ids, err := d.Episodes()
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if info, err := os.Lstat(filepath.Join(d.EpisodeDir(id), "journal.jsonl")); err == nil && info.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// freezePrices copies the price table into the run directory.
func (s *Study) freezePrices(d *logs.RunDir) error {
	return suite.WriteWhole(d.PricesFile(), s.Prices.YAML())
}

// usePrices makes the run bill by the table it was begun with, whatever has become of the original.
func (s *Study) usePrices(d *logs.RunDir) error {
	p, err := logs.LoadPrices(d.PricesFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s.freezePrices(d)
	}
	if err != nil {
		return fmt.Errorf("reading the price table of the run directory: %w", err)
	}
	s.Prices = p
	return nil
}
