package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// mustGrade says why the study cannot do without grading; "" = it can.
func (s *Study) mustGrade(opt RunOptions) string {
	if !s.OfflineOnly() {
		return "this study asks real models, whose outcomes must be graded"
	}
	if opt.MaxChecks > 0 {
		return "no checks are run without grading, so there is nothing for --max-checks"
	}
	for _, m := range s.Models {
		if m.Transport == harness.TransportPython && s.uses(m.Name) {
			return fmt.Sprintf("model %s writes its faults into Python code (transport: python), which only a grading finds", m.Name)
		}
	}
	return ""
}

// sameGrading refuses a run directory whose episodes were graded otherwise than this run is asked to. One of them tells,
// since all were begun alike.
func (w *work) sameGrading() error {
	ids, err := w.dir.Episodes()
	if err != nil {
		return err
	}
	for _, id := range ids {
		was, err := ungraded(filepath.Join(w.dir.EpisodeDir(id), logs.JournalName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if was == w.opt.GradeNone {
			return nil
		}
		e := &InputError{File: w.dir.Root, Message: "the episodes of this run were graded", Advice: "leave --grade none out, or give this run another directory with -o"}
		if was {
			e.Message, e.Advice = "the episodes of this run were not graded", "add --grade none, or give this run another directory with -o"
		}
		return e
	}
	return nil
}

// ungraded reads the first record of a journal, which says whether its episode is graded. What cannot be read is left to
// the episode itself.
func ungraded(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var first struct{ Data logs.EpisodeStart }
	if json.NewDecoder(f).Decode(&first) != nil {
		return false, fs.ErrNotExist
	}
	return first.Data.Ungraded, nil
}
