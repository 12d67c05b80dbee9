package classify

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/stint-bench/stint/logs"
)

// AuditLabel is one line of a file of people's labels: a verdict, and when, by which codebook and as the how many-th
// label of this item by this person. A later line of the same item and person replaces an earlier one; both stay in
// the file. An item that cannot be told is a label too: unknown.insufficient, strength abstain.
type AuditLabel struct {
	logs.VerdictRow
	Item     string    `json:"item,omitempty"`
	Time     time.Time `json:"time"`
	Codebook string    `json:"codebook,omitempty"` // hash of the codebook shown
	Revision int       `json:"revision"`           // from 1
	Seconds  float64   `json:"seconds,omitempty"`  // from showing to labelling
	Note     string    `json:"note,omitempty"`
}

// Label is the label at the level of leaves: a leaf, or a level if the person knew no more, or StratumAbstain.
func (l *AuditLabel) Label() string { return predictedLabel(&l.VerdictRow) }

// The files of labels: people.jsonl holds the verdicts about attempts, which the tables show; repeats and made items,
// which say something about the person alone, stand in the folder of the audit. Neither is ever rebuilt.
func peopleFile(d *logs.RunDir) string  { return filepath.Join(d.VerdictsDir(), "people.jsonl") }
func controlFile(d *logs.RunDir) string { return filepath.Join(AuditDir(d), "control.jsonl") }

// ReadAuditLabels reads every label ever given, revisions in order. Lines that are none are counted.
func ReadAuditLabels(d *logs.RunDir) (labels []AuditLabel, bad int, err error) {
	for _, path := range []string{peopleFile(d), controlFile(d)} {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("reading labels: %w", err)
		}
		list, n, err := scanLabels(file)
		file.Close()
		if err != nil {
			return nil, 0, fmt.Errorf("reading labels %s: %w", path, err)
		}
		labels, bad = append(labels, list...), bad+n
	}
	return labels, bad, nil
}

// maxLabelLine bounds one label.
const maxLabelLine = 4 << 20

func scanLabels(f io.Reader) (labels []AuditLabel, bad int, err error) {
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLabelLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var l AuditLabel
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.AnnotatorKind != logs.AnnotatorPerson || l.Annotator == "" || l.L1 == "" {
			bad++
			continue
		}
		labels = append(labels, l)
	}
	return labels, bad, lines.Err()
}

// latest keeps the last label of every item (or attempt) and person, sorted.
func latest(labels []AuditLabel) []AuditLabel {
	type key struct {
		logs.VerdictKey
		control, person string
	}
	at := map[key]int{}
	var out []AuditLabel
	for _, l := range labels {
		k := key{VerdictKey: l.Key(), person: l.Annotator}
		if l.control() {
			k.control = l.Item
		}
		if i, ok := at[k]; ok {
			out[i] = l
			continue
		}
		at[k] = len(out)
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b AuditLabel) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Annotator, b.Annotator))
	})
	return out
}

// control says whether the label is about a repeat or a made item.
func (l *AuditLabel) control() bool { return slices.Contains(l.RuleIDs, controlMark) }

// controlMark tells the labels of repeats and made items apart.
const controlMark = "audit-control"

// appendLabel writes one line, with the number of its revision. Two programs may append to one run directory at the
// same time; a line that a killed one left half-written is cut off.
func appendLabel(d *logs.RunDir, l *AuditLabel) error {
	path := peopleFile(d)
	if l.control() {
		path = controlFile(d)
	}
	if err := os.MkdirAll(AuditDir(d), 0o755); err != nil {
		return fmt.Errorf("writing a label: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(AuditDir(d), "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("writing a label: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("locking the labels: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("writing a label: %w", err)
	}
	defer f.Close()
	old, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("reading the labels %s: %w", path, err)
	}
	if l.Revision, err = revisionOf(l, old); err != nil {
		return fmt.Errorf("reading the labels %s: %w", path, err)
	}
	line, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encoding a label: %w", err)
	}
	if end := bytes.LastIndexByte(old, '\n') + 1; end < len(old) {
		if json.Valid(old[end:]) {
			line = append([]byte{'\n'}, line...)
		} else if err := f.Truncate(int64(end)); err != nil {
			return fmt.Errorf("cutting a torn line off %s: %w", path, err)
		}
	}
	if _, err = f.Write(append(line, '\n')); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing a label to %s: %w", path, err)
	}
	return nil
}

// revisionOf counts the labels that the person has given for the item before.
func revisionOf(l *AuditLabel, file []byte) (int, error) {
	labels, _, err := scanLabels(bytes.NewReader(file))
	n := 1
	for i := range labels {
		if old := &labels[i]; old.Annotator == l.Annotator && old.Key() == l.Key() && old.control() == l.control() && (!l.control() || old.Item == l.Item) {
			n++
		}
	}
	return n, err
}

// CheckPerson refuses a name that cannot stand in a file of labels.
func CheckPerson(name string) error {
	switch {
	case name == "":
		return errors.New("whoever labels needs a name")
	case len(name) > 60 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.TrimSpace(name) != name:
		return fmt.Errorf("the name %q is longer than 60 bytes, begins or ends with a space, or holds signs that cannot be printed", clip(name, 60))
	case name == logs.Adjudicated:
		return fmt.Errorf("nobody is called %s: it is the name of what people agreed on", logs.Adjudicated)
	}
	return nil
}
