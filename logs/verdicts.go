package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// The kinds of annotators, and the name under which two people's disagreement is settled.
const (
	AnnotatorRule     = "rule"
	AnnotatorContract = "contract"
	AnnotatorJudge    = "judge"
	AnnotatorPerson   = "person"

	Adjudicated = "adjudicated"
)

// How strong a verdict is.
const (
	StrengthProved  = "proved"
	StrengthStrong  = "strong"
	StrengthJudged  = "judged"
	StrengthWeak    = "weak"
	StrengthAbstain = "abstain"
)

// VerdictRow is the label that one annotator gave one failed attempt. In verdicts/*.jsonl it is one
// object per line, with the names of the columns as keys.
type VerdictRow struct {
	Episode       string   `col:"episode" json:"episode"`
	Turn          int      `col:"turn" json:"turn"`
	Attempt       int      `col:"attempt" json:"attempt"`
	AnnotatorKind string   `col:"annotator_kind" json:"annotator_kind"` // rule, contract, judge, person
	Annotator     string   `col:"annotator" json:"annotator"`
	Taxonomy      string   `col:"taxonomy" json:"taxonomy"`
	L1            string   `col:"l1" json:"l1"`     // drift, infra, bench, unknown
	Leaf          *string  `col:"leaf" json:"leaf"` // null if only L1 is known
	Mechanism     *string  `col:"mechanism" json:"mechanism,omitempty"`
	Origin        *string  `col:"origin" json:"origin,omitempty"` // new, regression, never_satisfied
	Reach         *string  `col:"reach" json:"reach,omitempty"`   // step, turn, session
	Recovered     []string `col:"recovered" json:"recovered,omitempty"`
	CausedBy      *string  `col:"caused_by" json:"caused_by,omitempty"` // TURN.ATTEMPT of this episode, or a whole verdict name that ends in @TURN.ATTEMPT
	Secondary     []string `col:"secondary" json:"secondary,omitempty"`
	Clause        *string  `col:"clause" json:"clause,omitempty"`
	Completion    *string  `col:"completion" json:"completion,omitempty"`
	GuardVerdict  *string  `col:"guard_verdict" json:"guard_verdict,omitempty"`
	Strength      string   `col:"strength" json:"strength"` // proved, strong, judged, weak, abstain
	AbstainReason *string  `col:"abstain_reason" json:"abstain_reason,omitempty"`
	RuleIDs       []string `col:"rule_ids" json:"rule_ids,omitempty"`
	Votes         []string `col:"votes" json:"votes,omitempty"` // single votes of a judge
	Evidence      JSONText `col:"evidence" json:"evidence,omitempty"`
	Missing       []string `col:"missing" json:"missing,omitempty"` // inputs that were not there
	Place         `json:"-"`
}

// JSONText is a text that is JSON; "" stands for null. Inside a JSON document it is written as it is.
type JSONText string

// MarshalJSON returns the text itself.
func (t JSONText) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return []byte(t), nil
}

// UnmarshalJSON keeps the text of the value.
func (t *JSONText) UnmarshalJSON(b []byte) error {
	if *t = JSONText(b); *t == "null" {
		*t = ""
	}
	return nil
}

// VerdictsDir holds the verdicts: rules.jsonl, judge.jsonl and people.jsonl.
func (d *RunDir) VerdictsDir() string { return filepath.Join(d.Root, "verdicts") }

// verdictFiles are read in this order.
var verdictFiles = []string{"rules.jsonl", "judge.jsonl", "people.jsonl"}

// ReadVerdicts reads all verdicts of a run directory, sorted by key. A later line replaces an earlier
// one of the same file and key, since judge.jsonl and people.jsonl are appended to. A line that is no
// verdict is a [Problem]. A run without verdicts has none, and that is no error.
func ReadVerdicts(d *RunDir) ([]VerdictRow, []Problem, error) {
	var rows []VerdictRow
	var problems []Problem
	for _, name := range verdictFiles {
		r, p, err := readVerdictFile(d, name)
		if err != nil {
			return nil, nil, err
		}
		rows, problems = append(rows, r...), append(problems, p...)
	}
	sortVerdicts(rows)
	return rows, problems, nil
}

func readVerdictFile(d *RunDir, name string) (rows []VerdictRow, problems []Problem, err error) {
	f, err := openRegular(filepath.Join(d.VerdictsDir(), name))
	if os.IsNotExist(err) {
		return nil, nil, nil
	}
	file := path.Join("verdicts", name)
	if err != nil {
		return nil, []Problem{{File: file, Text: err.Error()}}, nil
	}
	defer f.Close()
	br := bufio.NewReaderSize(f, 64<<10)
	at := map[verdictID]int{}
	offset := int64(0)
	for line := 1; ; line++ {
		raw, readErr := readLine(br)
		if readErr != nil && readErr != io.EOF && !errors.Is(readErr, bufio.ErrTooLong) {
			return nil, nil, fmt.Errorf("reading verdicts %s: %w", file, readErr)
		}
		place := Place{File: file, Offset: offset, Length: int64(len(raw))}
		offset += place.Length
		if len(bytes.TrimSpace(raw)) > 0 {
			row, reason := parseVerdict(raw, readErr)
			if reason != "" {
				problems = append(problems, Problem{File: file, Line: line, Offset: place.Offset, Text: reason})
			} else {
				row.Place = place
				if i, ok := at[row.id()]; ok {
					rows[i] = row
				} else {
					at[row.id()] = len(rows)
					rows = append(rows, row)
				}
			}
		}
		if readErr != nil {
			return rows, problems, nil
		}
	}
}

// parseVerdict reads one line; the reason is empty if it is a verdict.
func parseVerdict(raw []byte, readErr error) (row VerdictRow, reason string) {
	if errors.Is(readErr, bufio.ErrTooLong) {
		return row, fmt.Sprintf("the line is longer than %d bytes; nothing after it is read", MaxLine)
	}
	if readErr == io.EOF && !json.Valid(raw) {
		return row, "the last line is cut off"
	}
	if err := json.Unmarshal(raw, &row); err != nil {
		return VerdictRow{}, "the line is no verdict: " + err.Error()
	}
	if err := row.check(); err != nil {
		return VerdictRow{}, "the line is no verdict: " + err.Error()
	}
	row.fill()
	return row, ""
}

// check says what keeps a row from being a verdict.
func (r *VerdictRow) check() error {
	switch {
	case !isEpisodeID(r.Episode):
		return fmt.Errorf("episode %q is no episode id", clip(r.Episode, 40))
	case r.Turn < 0 || r.Attempt < 0:
		return fmt.Errorf("turn %d, attempt %d: both count from 0", r.Turn, r.Attempt)
	case !slices.Contains([]string{AnnotatorRule, AnnotatorContract, AnnotatorJudge, AnnotatorPerson}, r.AnnotatorKind):
		return fmt.Errorf("annotator_kind %q is none of rule, contract, judge, person", clip(r.AnnotatorKind, 40))
	case r.Annotator == Adjudicated && r.AnnotatorKind != AnnotatorPerson:
		return fmt.Errorf("only a person can be called %s", Adjudicated)
	case !slices.Contains([]string{"drift", "infra", "bench", "unknown"}, r.L1):
		return fmt.Errorf("l1 %q is none of drift, infra, bench, unknown", clip(r.L1, 40))
	case !slices.Contains([]string{StrengthProved, StrengthStrong, StrengthJudged, StrengthWeak, StrengthAbstain, ""}, r.Strength):
		return fmt.Errorf("strength %q is none of proved, strong, judged, weak, abstain", clip(r.Strength, 40))
	case r.Strength == "" && r.AnnotatorKind != AnnotatorPerson:
		return errors.New("strength is missing")
	case r.Evidence != "" && !json.Valid([]byte(r.Evidence)):
		return errors.New("evidence is no JSON")
	}
	return nil
}

// fill replaces what is not given: lists and evidence are empty, never null.
func (r *VerdictRow) fill() {
	if r.Evidence == "" {
		r.Evidence = "[]"
	}
	for _, list := range []*[]string{&r.Recovered, &r.Secondary, &r.RuleIDs, &r.Votes, &r.Missing} {
		if *list == nil {
			*list = []string{}
		}
	}
}

// WriteVerdicts writes a file of verdicts, sorted by key. The file appears whole or not at all, and
// the same rows give the same bytes. Their Place is not written.
func WriteVerdicts(path string, rows []VerdictRow) error {
	sorted := slices.Clone(rows)
	sortVerdicts(sorted)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i := range sorted {
		if err := sorted[i].check(); err != nil {
			return fmt.Errorf("writing verdicts %s: %s@%d.%d: %w", path, sorted[i].Episode, sorted[i].Turn, sorted[i].Attempt, err)
		}
		if err := enc.Encode(&sorted[i]); err != nil {
			return fmt.Errorf("writing verdicts %s: %w", path, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing verdicts: %w", err)
	}
	return writeAtomic(path, func(w io.Writer) error {
		_, err := w.Write(buf.Bytes())
		return err
	})
}

// writeAtomic fills a temporary file beside path, syncs it and renames it.
func writeAtomic(path string, fill func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// verdictID is the key of a verdict within a file.
type verdictID struct {
	key                       VerdictKey
	kind, annotator, taxonomy string
}

func (r *VerdictRow) id() verdictID {
	return verdictID{r.Key(), r.AnnotatorKind, r.Annotator, r.Taxonomy}
}

func sortVerdicts(rows []VerdictRow) {
	slices.SortStableFunc(rows, func(a, b VerdictRow) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Attempt, b.Attempt),
			cmp.Compare(a.AnnotatorKind, b.AnnotatorKind), cmp.Compare(a.Annotator, b.Annotator), cmp.Compare(a.Taxonomy, b.Taxonomy))
	})
}
