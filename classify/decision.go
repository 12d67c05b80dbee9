package classify

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stint-bench/stint/logs"
)

// Step is one question on the way to a verdict.
type Step struct {
	Question string     `json:"question"`
	Answer   string     `json:"answer"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence points to the bytes that a decision rests on. Offset and Length count in the uncompressed file.
type Evidence struct {
	File   string `json:"file"` // slash-separated, from the run directory
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	SHA256 string `json:"sha256,omitempty"` // of these bytes
	What   string `json:"what"`             // record, event or check
	Text   string `json:"text,omitempty"`   // one line

	// Of a quote that a judge gave and that was found.
	Role  string `json:"role,omitempty"`  // cause, effect, counter
	Quote string `json:"quote,omitempty"` // as it stood in the packet, white space made one
	Moved bool   `json:"moved,omitempty"` // the judge said that it stood elsewhere
	From  int    `json:"from,omitempty"`  // bytes of the text of the source that it covers
	To    int    `json:"to,omitempty"`
}

// Recovered is an event of infrastructure that the agent got over.
type Recovered struct {
	Leaf     string   `json:"leaf"`
	Rule     string   `json:"rule"`
	Evidence Evidence `json:"evidence"`
}

// Decision is a verdict with the way to it.
type Decision struct {
	Verdict   logs.VerdictRow `json:"verdict"`
	Path      []Step          `json:"path"`
	Groups    []*Group        `json:"groups,omitempty"`    // what is wrong with the server, the primary group first
	Recovered []Recovered     `json:"recovered,omitempty"` // never the cause
	Nearly    []string        `json:"nearly,omitempty"`    // rules that fired and did not decide
	Checks    []logs.CheckRow `json:"-"`                   // the failing checks
	ungraded  bool            // nobody said whether the attempt passed
}

// maxEvidence bounds the evidence of one verdict.
const maxEvidence = 12

func (d *Decision) step(question, answer string, ev ...Evidence) {
	d.Path = append(d.Path, Step{Question: question, Answer: answer, Evidence: ev})
}

// label sets what the verdict is.
func (d *Decision) label(kind, leaf, strength string) {
	v := &d.Verdict
	v.AnnotatorKind, v.L1, v.Leaf, v.Strength = kind, levelOf(leaf), &leaf, strength
}

// abstain makes the verdict unknown, with the reason.
func (d *Decision) abstain(reason string) {
	d.label(logs.AnnotatorRule, LeafInsufficient, logs.StrengthAbstain)
	d.Verdict.AbstainReason = &reason
}

// evidence puts the pointers into the verdict, without their texts: the bytes are where they point.
func (d *Decision) evidence(list []Evidence) error {
	list = slices.Clone(list[:min(len(list), maxEvidence)])
	for i := range list {
		list[i].Text = ""
	}
	if len(list) == 0 {
		list = []Evidence{}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encoding the evidence of %s@%d.%d: %w", d.Verdict.Episode, d.Verdict.Turn, d.Verdict.Attempt, err)
	}
	d.Verdict.Evidence = logs.JSONText(b)
	return nil
}

func eventEvidence(e *logs.EventRow) Evidence {
	what := "event " + e.Kind
	if e.Via == logs.ViaJournal {
		what = "record " + e.Kind
	}
	return Evidence{File: e.File, Offset: e.Offset, Length: e.Length, SHA256: e.SHA256, What: what, Text: clip(e.Text, 200)}
}

func checkEvidence(c *logs.CheckRow, sha string) Evidence {
	return Evidence{File: c.File, Offset: c.Offset, Length: c.Length, SHA256: sha, What: "check " + c.Check, Text: clip(c.Request+" → expected "+c.Expected+", got "+c.Actual, 200)}
}

func ptr[T any](v T) *T { return &v }

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
