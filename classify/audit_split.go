package classify

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stint-bench/stint/logs"
)

// lookedName is the file that says under which codebooks somebody looked at single items of the test part.
const lookedName = "looked.jsonl"

type look struct {
	Codebook string `json:"codebook"`
}

// MarkTestSeen notes that somebody looked at how the verdicts of single test items did, under a codebook. From then on
// the test part tests no later codebook. Nothing removes the note.
func MarkTestSeen(d *logs.RunDir, codebook string) error {
	seen, err := testSeen(d)
	if err != nil || slices.Contains(seen, codebook) {
		return err
	}
	line, err := json.Marshal(look{codebook})
	if err != nil {
		return fmt.Errorf("noting that the test items were looked at: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(AuditDir(d), lookedName), os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("noting that the test items were looked at: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("noting that the test items were looked at: %w", err)
	}
	return nil
}

// testSeen are the codebooks under which somebody looked at single test items.
func testSeen(d *logs.RunDir) ([]string, error) {
	f, err := os.OpenFile(filepath.Join(AuditDir(d), lookedName), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading who looked at the test items: %w", err)
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var l look
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Codebook != "" {
			out = append(out, l.Codebook)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading who looked at the test items: %w", err)
	}
	return out, nil
}

// split finds out which items the codebook of today can be judged by: all of them if it is that of the sample; the test
// part if it was changed since, and nobody had looked at single test items before the change.
func (a *auditing) split(d *logs.RunDir) error {
	seen, err := testSeen(d)
	if err != nil {
		return err
	}
	a.ordinary(func(it *AuditItem) {
		switch it.Split {
		case SplitDev:
			a.report.Dev++
		case SplitTest:
			a.report.Test++
		}
	})
	a.changed = a.sample.Codebook != a.book.Hash()
	a.spent = a.changed && (a.report.Test == 0 || slices.ContainsFunc(seen, func(h string) bool { return h != a.book.Hash() }))
	if a.changed && !a.spent {
		a.report.Judged = SplitTest
	}
	return nil
}

// counts says whether an item tells how good rules and judges are.
func (a *auditing) counts(it *AuditItem) bool {
	return a.report.Judged == "" || it.Split == a.report.Judged
}

// judging calls f for every ordinary item that tells how good rules and judges are.
func (a *auditing) judging(f func(it *AuditItem)) {
	a.ordinary(func(it *AuditItem) {
		if a.counts(it) {
			f(it)
		}
	})
}

// hide leaves the errors of single test items out, and counts them.
func (r *AuditReport) hide() {
	kept := []AuditError{}
	for _, e := range r.Errors {
		if e.Split == SplitTest {
			r.Hidden++
			continue
		}
		kept = append(kept, e)
	}
	r.Errors = kept
}
