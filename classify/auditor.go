package classify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stint-bench/stint/logs"
)

// An Auditor shows the items of a sample to people, blind, and writes down what they say. It may be used by several
// goroutines, and by several processes on one run directory.
type Auditor struct {
	Sample *AuditSample
	Book   *Taxonomy

	dir      *logs.RunDir
	tables   *logs.Tables
	mu       sync.Mutex
	suspects map[string]*suspect // one: the item shown last
}

// NewAuditor opens the audit of a run directory whose sample was drawn. The tables are those of the run.
func NewAuditor(d *logs.RunDir, t *logs.Tables, book *Taxonomy, s *AuditSample) *Auditor {
	return &Auditor{Sample: s, Book: book, dir: d, tables: t, suspects: map[string]*suspect{}}
}

// Report evaluates the labels given so far, as [ReportAudit] does.
func (a *Auditor) Report() (*AuditReport, error) { return ReportAudit(a.dir, a.tables, a.Book) }

// ReportOpen is Report with the errors of single test items, as [ReportAuditOpen] gives them.
func (a *Auditor) ReportOpen() (*AuditReport, error) { return ReportAuditOpen(a.dir, a.tables, a.Book) }

// AuditText is one piece of evidence.
type AuditText struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Trusted bool   `json:"trusted"` // the agent had no hand in it
	Text    string `json:"text"`
}

// AuditView is what a person sees of an item: what a judge would, without what anybody thinks of it.
type AuditView struct {
	Item    string      `json:"item"`
	Number  int         `json:"number"` // from 1
	Of      int         `json:"of"`
	Texts   []AuditText `json:"texts"`
	Omitted []string    `json:"omitted"` // what the packet has no room for, in words
	Log     int         `json:"log"`     // events of the whole log
}

// unknownItem is the error of an id that is in no sample.
func (a *Auditor) unknownItem(id string) error {
	return fmt.Errorf("the sample has no item %q", clip(id, 40))
}

// View shows an item.
func (a *Auditor) View(id string) (*AuditView, error) {
	it := a.Sample.Item(id)
	if it == nil {
		return nil, a.unknownItem(id)
	}
	v := &AuditView{Item: id, Of: len(a.Sample.Items), Texts: []AuditText{}, Omitted: []string{}}
	v.Number = 1 + slices.IndexFunc(a.Sample.Items, func(o AuditItem) bool { return o.ID == id })
	if it.Attention != "" {
		made := attention(it.Attention)
		if made == nil {
			return nil, fmt.Errorf("item %s is a made one that this version of stint does not have: draw the sample again, labels stay", id)
		}
		for _, t := range made.Texts {
			v.Texts = append(v.Texts, AuditText{ID: t.ID, Channel: t.Channel, Trusted: t.Channel != "agent", Text: t.Text})
		}
		return v, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.suspect(it)
	if err != nil {
		return nil, err
	}
	p := s.packet(packetOptions{})
	for _, e := range p.Items {
		v.Texts = append(v.Texts, AuditText{ID: e.ID, Channel: e.Channel, Trusted: e.Trusted, Text: e.text.text})
	}
	v.Omitted = append(v.Omitted, p.Omitted...)
	v.Log = len(s.known.events)
	return v, nil
}

// suspect gathers what is known of an attempt. The caller holds the lock.
func (a *Auditor) suspect(it *AuditItem) (*suspect, error) {
	name := itemName(it.Key())
	if s := a.suspects[name]; s != nil {
		return s, nil
	}
	key := it.Key()
	for _, e := range sortOut(a.tables, Options{Book: a.Book, Only: func(k logs.VerdictKey) bool { return k.Episode == key.Episode }}) {
		if e.failed[0].Episode != key.Episode {
			continue
		}
		s, err := newSuspect(a.dir, e, attemptsOf(a.tables)[key.Episode], &logs.VerdictRow{Episode: key.Episode, Turn: key.Turn, Attempt: key.Attempt}, false)
		if err != nil {
			return nil, fmt.Errorf("showing %s: %w", it.ID, err)
		}
		s.budget = defaultPacketTokens
		clear(a.suspects)
		a.suspects[name] = s
		return s, nil
	}
	return nil, fmt.Errorf("item %s is about %s, which is no failed attempt of this run: draw the sample again, labels stay", it.ID, name)
}

// AuditEvent is one event of the whole log.
type AuditEvent struct {
	Seq     int    `json:"seq"`
	Channel string `json:"channel"`
	Kind    string `json:"kind"`
	Tool    string `json:"tool,omitempty"`
	Text    string `json:"text"`
}

// AuditLog is a part of the whole log of an item.
type AuditLog struct {
	Events []AuditEvent `json:"events"`
	Next   int          `json:"next"`  // to go on from; -1 = that was all
	Found  int          `json:"found"` // events that hold the words, in the whole log
}

// pageOfLog is how many events are shown at once.
const pageOfLog = 100

// Log shows events from a number on: those that hold the words, whatever their case, or all. Secrets and the names of
// model and harness are replaced.
func (a *Auditor) Log(id, words string, from int) (*AuditLog, error) {
	it := a.Sample.Item(id)
	if it == nil {
		return nil, a.unknownItem(id)
	}
	out := &AuditLog{Events: []AuditEvent{}, Next: -1}
	if it.Attention != "" {
		return out, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.suspect(it)
	if err != nil {
		return nil, err
	}
	words = strings.ToLower(words)
	for i := range s.known.events {
		e := &s.known.events[i]
		text := s.parts.red.redact(unchanged(strings.ToValidUTF8(e.Text, "\uFFFD"))).text
		if words != "" && !strings.Contains(strings.ToLower(strings.Join([]string{text, deref(e.Tool), e.Channel, e.Kind}, " ")), words) {
			continue
		}
		out.Found++
		switch {
		case i < from:
		case len(out.Events) < pageOfLog:
			out.Events = append(out.Events, AuditEvent{Seq: i, Channel: e.Channel, Kind: e.Kind, Tool: deref(e.Tool), Text: text})
		case out.Next < 0:
			out.Next = i
		}
	}
	return out, nil
}

// AuditChoice is what a person says about an item.
type AuditChoice struct {
	Item    string       `json:"item"`
	Label   string       `json:"label"` // a leaf, a level, or CannotTell
	Quotes  []AuditQuote `json:"quotes"`
	Note    string       `json:"note"`
	Seconds float64      `json:"seconds"`
}

// AuditQuote is a passage that a person marked.
type AuditQuote struct {
	ID    string `json:"id"` // of the text
	Quote string `json:"quote"`
}

// CannotTell is the label of an item that the evidence does not decide.
const CannotTell = "cannot_tell"

// Label writes down a choice of a person, or of all of them together (logs.Adjudicated). The same choice twice is two lines, and
// the last counts.
func (a *Auditor) Label(person string, c AuditChoice, now time.Time) (*AuditLabel, error) {
	it := a.Sample.Item(c.Item)
	if it == nil {
		return nil, a.unknownItem(c.Item)
	}
	if person != logs.Adjudicated {
		if err := CheckPerson(person); err != nil {
			return nil, err
		}
	}
	l := &AuditLabel{Item: it.ID, Time: now.UTC().Truncate(time.Second), Codebook: a.Book.Hash(), Seconds: min(max(c.Seconds, 0), 1e6), Note: clip(strings.TrimSpace(c.Note), 2000)}
	l.VerdictRow = logs.VerdictRow{Episode: it.Episode, Turn: it.Turn, Attempt: it.Attempt, AnnotatorKind: logs.AnnotatorPerson, Annotator: person, Taxonomy: a.Book.Name, Evidence: "[]"}
	switch leaf := a.Book.Leaf(c.Label); {
	case c.Label == CannotTell || c.Label == LeafInsufficient:
		l.L1, l.Leaf, l.Strength = "unknown", ptr(LeafInsufficient), logs.StrengthAbstain
	case leaf != nil:
		l.L1, l.Leaf = leaf.L1(), ptr(leaf.ID)
	case c.Label != "unknown" && a.Book.Levels[c.Label] != "":
		l.L1 = c.Label
	default:
		return nil, fmt.Errorf("%q is no label of %s", clip(c.Label, 40), a.Book.Name)
	}
	if !it.Ordinary() {
		l.RuleIDs = []string{controlMark}
	}
	var err error
	if l.Evidence, err = a.evidence(it, c.Quotes); err != nil {
		return nil, err
	}
	return l, appendLabel(a.dir, l)
}

// evidence turns marked passages into places. A passage that the item does not show is refused.
func (a *Auditor) evidence(it *AuditItem, quotes []AuditQuote) (logs.JSONText, error) {
	if len(quotes) == 0 {
		return "[]", nil
	}
	if len(quotes) > maxEvidence {
		return "", fmt.Errorf("%d passages are marked; %d are enough", len(quotes), maxEvidence)
	}
	v, err := a.View(it.ID)
	if err != nil {
		return "", err
	}
	var out []Evidence
	for _, q := range quotes {
		i := slices.IndexFunc(v.Texts, func(t AuditText) bool { return t.ID == q.ID })
		words := normalise(q.Quote).text
		if i < 0 || words == "" || !strings.Contains(normalise(v.Texts[i].Text).text, words) {
			return "", errors.New("a marked passage is not in the text it was marked in")
		}
		ev := Evidence{What: "text " + q.ID}
		if it.Attention == "" {
			a.mu.Lock()
			if s, err := a.suspect(it); err == nil {
				if from := s.packet(packetOptions{}).item(q.ID); from != nil {
					ev = from.evidence
				}
			}
			a.mu.Unlock()
		}
		ev.Role, ev.Quote, ev.Text = "cause", clip(words, 2000), ""
		out = append(out, ev)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("encoding evidence: %w", err)
	}
	return logs.JSONText(b), nil
}

// AuditMark is where a person stands with one item.
type AuditMark struct {
	Item  string `json:"item"`
	Label string `json:"label"` // "" = none yet
	Note  string `json:"note"`
}

// Marks are the items of a person in order, with the labels given so far. For logs.Adjudicated they are the
// items that people labelled differently; [Auditor.Originals] is what they said.
func (a *Auditor) Marks(person string) ([]AuditMark, error) {
	labels, _, err := ReadAuditLabels(a.dir)
	if err != nil {
		return nil, err
	}
	labels = latest(labels)
	var out []AuditMark
	for i := range a.Sample.Items {
		it := &a.Sample.Items[i]
		m := AuditMark{Item: it.ID}
		for _, l := range labels {
			if l.Annotator == person && a.about(it, &l) {
				m.Label, m.Note = l.choice(), l.Note
			}
		}
		if person == logs.Adjudicated && (!it.Ordinary() || len(disagreeing(a.others(it, labels))) < 2) {
			continue
		}
		out = append(out, m)
	}
	return out, nil
}

// choice is the label as a choice says it.
func (l *AuditLabel) choice() string {
	switch {
	case l.Strength == logs.StrengthAbstain || deref(l.Leaf) == LeafInsufficient:
		return CannotTell
	case l.Leaf != nil:
		return *l.Leaf
	}
	return l.L1
}

// about says whether a label is about an item.
func (a *Auditor) about(it *AuditItem, l *AuditLabel) bool {
	if !it.Ordinary() {
		return l.control() && l.Item == it.ID
	}
	return !l.control() && l.Key() == it.Key()
}

// others are the labels of single people about an item.
func (a *Auditor) others(it *AuditItem, labels []AuditLabel) []AuditLabel {
	return slices.DeleteFunc(slices.Clone(labels), func(l AuditLabel) bool { return l.Annotator == logs.Adjudicated || !a.about(it, &l) })
}

func disagreeing(labels []AuditLabel) []string {
	var out []string
	for i := range labels {
		if c := labels[i].choice(); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// Originals are what single people said about an item, for whoever adjudicates.
func (a *Auditor) Originals(id string) ([]AuditLabel, error) {
	it := a.Sample.Item(id)
	if it == nil {
		return nil, a.unknownItem(id)
	}
	labels, _, err := ReadAuditLabels(a.dir)
	if err != nil {
		return nil, err
	}
	return a.others(it, latest(labels)), nil
}
