package classify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stint-bench/stint/logs"
)

// AuditSchema names the form of an audit sample.
const AuditSchema = "stint.audit-sample/1"

// AuditDir is where a run directory keeps the sample of an audit and the labels that are not about its attempts.
func AuditDir(d *logs.RunDir) string { return filepath.Join(d.VerdictsDir(), "audit") }

// AuditOptions are the options of [DrawAudit]; zero is the default.
type AuditOptions struct {
	N    int    // ends of episodes to check; 0 = 120
	Seed uint64 // 0 = 1
}

// AuditSample says which attempts people check, in which order. The stratum of an attempt is what was predicted; who
// labels does not see it.
type AuditSample struct {
	Schema   string         `json:"schema"` // stint.audit-sample/1
	Taxonomy string         `json:"taxonomy"`
	Codebook string         `json:"codebook"` // its hash when the sample was drawn
	Seed     uint64         `json:"seed"`
	N        int            `json:"n"` // asked for
	Strata   []AuditStratum `json:"strata"`
	Items    []AuditItem    `json:"items"` // in the order in which they are shown
}

// AuditStratum is all ends of episodes with one predicted label.
type AuditStratum struct {
	Label  string  `json:"label"` // a leaf, a level, or StratumAbstain
	Size   int     `json:"size"`
	Drawn  int     `json:"drawn"`
	Weight float64 `json:"weight"` // how many ends each drawn one stands for
}

// StratumAbstain is the stratum of the ends that no classifier decided.
const StratumAbstain = "abstain"

// AuditItem is one question to a person. Without Repeats and Attention it is about the failed attempt that ended an
// episode; Repeats shows an earlier item again, and Attention a made one with a known answer.
type AuditItem struct {
	ID        string `json:"id"`
	Episode   string `json:"episode,omitempty"`
	Turn      int    `json:"turn"`
	Attempt   int    `json:"attempt"`
	Stratum   string `json:"stratum,omitempty"`
	Split     string `json:"split,omitempty"` // SplitDev, SplitTest; "" in a sample too small to be split
	Repeats   string `json:"repeats,omitempty"`
	Attention string `json:"attention,omitempty"`
}

// The two parts of a sample. What one learns from the first may change the codebook; the second then still tests it, as
// long as nobody looked at how the verdicts of its single items did.
const (
	SplitDev  = "dev"
	SplitTest = "test"
)

// leastSplit is how many ends a sample needs to be split, a third of it for development.
const leastSplit = 60

// Key is the attempt the item is about.
func (it *AuditItem) Key() logs.VerdictKey {
	return logs.VerdictKey{Episode: it.Episode, Turn: it.Turn, Attempt: it.Attempt}
}

// Ordinary says whether the item is neither a repeat nor a made one.
func (it *AuditItem) Ordinary() bool { return it.Repeats == "" && it.Attention == "" }

// predictedLabel is the label of a classifier for strata and shares: the leaf, the level if it has no leaf, or
// StratumAbstain.
func predictedLabel(v *logs.VerdictRow) string {
	switch {
	case v == nil || v.L1 == "unknown" && deref(v.Leaf) != LeafUnlisted || v.Strength == logs.StrengthAbstain:
		return StratumAbstain
	case v.Leaf != nil:
		return *v.Leaf
	}
	return v.L1
}

// machines leaves the rows of people out.
func machines(rows []logs.VerdictRow) []logs.VerdictRow {
	return slices.DeleteFunc(slices.Clone(rows), func(v logs.VerdictRow) bool { return v.AnnotatorKind == logs.AnnotatorPerson })
}

// AuditEnds are the failed attempts that ended the episodes of a run, sorted, with the label that was predicted for
// each: that of the verdict that would count without people.
func AuditEnds(t *logs.Tables, verdicts []logs.VerdictRow) []AuditItem {
	last := map[string]*logs.AttemptRow{}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Attempt == nil || a.Passed == nil || *a.Passed {
			continue
		}
		if b := last[a.Episode]; b == nil || a.Turn > b.Turn || a.Turn == b.Turn && a.Offset > b.Offset {
			last[a.Episode] = a
		}
	}
	counting := logs.Counting(machines(verdicts))
	var out []AuditItem
	for i := range t.Episodes {
		e := &t.Episodes[i]
		if a := last[e.Episode]; a != nil && e.Status() == logs.StatusFailed {
			it := AuditItem{Episode: e.Episode, Turn: a.Turn, Attempt: *a.Attempt}
			it.Stratum = predictedLabel(counting[it.Key()])
			out = append(out, it)
		}
	}
	slices.SortFunc(out, func(a, b AuditItem) int { return cmp.Compare(a.Episode, b.Episode) })
	return out
}

// DrawAudit draws a blind sample, stratified by the predicted label: at least four of each, the rest by the square
// root of the stratum's size. Of 60 and more a third is for development, the rest for test. A tenth of them comes twice, and a tenth as many made items are mixed in. The same
// ends, seed and codebook give the same sample.
func DrawAudit(book *Taxonomy, t *logs.Tables, verdicts []logs.VerdictRow, opt AuditOptions) (*AuditSample, error) {
	opt.N, opt.Seed = cmp.Or(opt.N, 120), cmp.Or(opt.Seed, 1)
	if opt.N < 0 {
		return nil, fmt.Errorf("drawing an audit sample: %d items", opt.N)
	}
	ends := AuditEnds(t, verdicts)
	strata := map[string][]AuditItem{}
	s := &AuditSample{Schema: AuditSchema, Taxonomy: book.Name, Codebook: book.Hash(), Seed: opt.Seed, N: opt.N, Strata: []AuditStratum{}, Items: []AuditItem{}}
	for _, it := range ends {
		strata[it.Stratum] = append(strata[it.Stratum], it)
	}
	for label, list := range strata {
		s.Strata = append(s.Strata, AuditStratum{Label: label, Size: len(list)})
	}
	slices.SortFunc(s.Strata, func(a, b AuditStratum) int { return cmp.Compare(a.Label, b.Label) })
	allocate(s.Strata, min(opt.N, len(ends)))
	r := rand.New(rand.NewPCG(opt.Seed, 0x6175646974))
	for i := range s.Strata {
		st := &s.Strata[i]
		list := strata[st.Label]
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		s.Items = append(s.Items, list[:st.Drawn]...)
		if st.Drawn > 0 {
			st.Weight = float64(st.Size) / float64(st.Drawn)
		}
	}
	if len(s.Items) >= leastSplit {
		for i := range s.Items { // stratum by stratum, so that both parts have of each
			s.Items[i].Split = SplitTest
			if i%3 == 1 {
				s.Items[i].Split = SplitDev
			}
		}
	}
	r.Shuffle(len(s.Items), func(i, j int) { s.Items[i], s.Items[j] = s.Items[j], s.Items[i] })
	s.control(r)
	return s, nil
}

// allocate spreads n over the strata.
func allocate(strata []AuditStratum, n int) {
	const floor = 4
	for round := 0; round < floor; round++ { // one each in turn, so that a small n leaves no stratum out before its time
		for i := range strata {
			if n > 0 && strata[i].Drawn < strata[i].Size {
				strata[i].Drawn++
				n--
			}
		}
	}
	for ; n > 0; n-- { // the stratum that has least for the square root of its size
		best, least := -1, math.Inf(1)
		for i, s := range strata {
			if have := float64(s.Drawn) / math.Sqrt(float64(s.Size)); s.Drawn < s.Size && have < least {
				best, least = i, have
			}
		}
		if best < 0 {
			return
		}
		strata[best].Drawn++
	}
}

// control adds the repeats, each in the second half and after its first showing, and the made items, and gives the items
// ids that say nothing.
func (s *AuditSample) control(r *rand.Rand) {
	n := len(s.Items)
	extra := (n + 9) / 10
	shown := slices.Clone(s.Items)
	first := map[logs.VerdictKey]string{}
	insert := func(from int, it AuditItem) {
		s.Items = slices.Insert(s.Items, from+r.IntN(len(s.Items)-from+1), it)
	}
	for _, it := range shown[:min(extra, n/2)] {
		it.Repeats = "?"
		insert(max(len(s.Items)/2, min(extra, n/2)), it)
	}
	made := Attentions()
	r.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
	for _, a := range made[:min(extra, len(made))] {
		insert(0, AuditItem{Attention: a.Name})
	}
	for i := range s.Items {
		it := &s.Items[i]
		it.ID = fmt.Sprintf("i%03d", i+1)
		switch {
		case it.Repeats != "":
			it.Repeats = first[it.Key()]
		case it.Attention == "":
			first[it.Key()] = it.ID
		}
	}
}

// Item returns the item with this id, or nil.
func (s *AuditSample) Item(id string) *AuditItem {
	if i := slices.IndexFunc(s.Items, func(it AuditItem) bool { return it.ID == id }); i >= 0 {
		return &s.Items[i]
	}
	return nil
}

// maxSample bounds the file of a sample.
const maxSample = 64 << 20

// ReadAuditSample reads the sample of a run directory; it is nil if none was drawn.
func ReadAuditSample(d *logs.RunDir) (*AuditSample, error) {
	path := filepath.Join(AuditDir(d), "sample.json")
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the audit sample: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSample))
	if err != nil {
		return nil, fmt.Errorf("reading the audit sample %s: %w", path, err)
	}
	var s AuditSample
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("reading the audit sample %s: %w; delete it and draw it again, labels stay", path, err)
	}
	if s.Schema != AuditSchema {
		return nil, fmt.Errorf("reading the audit sample %s: its schema is %q, not %s", path, clip(s.Schema, 40), AuditSchema)
	}
	seen := map[string]bool{}
	for _, it := range s.Items {
		if it.ID == "" || seen[it.ID] || it.Attention == "" && (len(it.Episode) != 12 || it.Turn < 0 || it.Attempt < 0) {
			return nil, fmt.Errorf("reading the audit sample %s: item %q is none; delete the file and draw it again, labels stay", path, clip(it.ID, 40))
		}
		seen[it.ID] = true
	}
	return &s, nil
}

// WriteAuditSample writes the sample of a run directory. The file appears whole or not at all.
func WriteAuditSample(d *logs.RunDir, s *AuditSample) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("encoding the audit sample: %w", err)
	}
	if err := os.MkdirAll(AuditDir(d), 0o755); err != nil {
		return fmt.Errorf("writing the audit sample: %w", err)
	}
	f, err := os.CreateTemp(AuditDir(d), ".sample-*.tmp")
	if err != nil {
		return fmt.Errorf("writing the audit sample: %w", err)
	}
	_, err = f.Write(b.Bytes())
	err = errors.Join(err, f.Sync(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(AuditDir(d), "sample.json"))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("writing the audit sample: %w", err)
	}
	return nil
}
