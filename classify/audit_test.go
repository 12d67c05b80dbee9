package classify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stint-bench/stint/logs"
)

func TestAllocate(t *testing.T) {
	for _, c := range []struct {
		n           int
		sizes, want []int
	}{
		{120, []int{3, 400, 100, 25}, []int{3, 67, 33, 17}}, // 117 in the ratio 20:10:5 are 66.9, 33.4, 16.7
		{10, []int{100, 2, 100}, []int{4, 2, 4}},
		{2, []int{5, 5, 5}, []int{1, 1, 0}},
		{50, []int{6, 7}, []int{6, 7}},
	} {
		var strata []AuditStratum
		for _, n := range c.sizes {
			strata = append(strata, AuditStratum{Size: n})
		}
		allocate(strata, c.n)
		var got []int
		for _, s := range strata {
			got = append(got, s.Drawn)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%d of %v: %s", c.n, c.sizes, d)
		}
	}
}

// auditTables are n failed episodes, the odd ones predicted by a judge.
func auditTables(n int) (*logs.Tables, []logs.VerdictRow) {
	t := &logs.Tables{}
	var rows []logs.VerdictRow
	attempt, no := 0, false
	for i := range n {
		id := fmt.Sprintf("%012x", i)
		t.Episodes = append(t.Episodes, logs.EpisodeRow{Episode: id, EndReason: ptr("failed"), Validity: "valid"})
		t.Attempts = append(t.Attempts, logs.AttemptRow{Episode: id, Attempt: &attempt, Passed: &no})
		leaf := []string{LeafTooLax, LeafWrongLogic, LeafLoopGuard}[i%3]
		rows = append(rows, logs.VerdictRow{Episode: id, AnnotatorKind: logs.AnnotatorJudge, Annotator: "m:1", L1: levelOf(leaf), Leaf: &leaf, Strength: "judged", Taxonomy: Codebook().Name})
	}
	return t, rows
}

// TestTrustGate: a judge that nobody checked carries the banner, and so does one that people contradict; one that two
// people confirm does not.
func TestTrustGate(t *testing.T) {
	tables, rows := auditTables(60)
	d := &logs.RunDir{Root: t.TempDir()}
	if err := logs.WriteVerdicts(d.VerdictsDir()+"/judge.jsonl", rows); err != nil {
		t.Fatal(err)
	}
	s, err := DrawAudit(Codebook(), tables, rows, AuditOptions{N: 30})
	if err != nil {
		t.Fatal(err)
	}
	again, err := DrawAudit(Codebook(), tables, rows, AuditOptions{N: 30})
	if err != nil || cmp.Diff(s, again) != "" {
		t.Errorf("the same seed draws another sample: %v", err)
	}
	report := func() *AuditReport {
		t.Helper()
		r, err := ReportAudit(d, tables, Codebook())
		if err != nil {
			t.Fatal(err)
		}
		// Without people's own verdicts among them, every share says what the audit says.
		judged := *tables
		judged.Verdicts = rows
		if banner, err := Unvalidated(d, &judged, Codebook()); err != nil || banner != r.Banner {
			t.Errorf("other shares say %q, the audit %q: %v", banner, r.Banner, err)
		}
		return r
	}
	if r := report(); !strings.HasPrefix(r.Banner, "NOT VALIDATED: a judge decided 60 of 60 ends") {
		t.Errorf("a judge that nobody checked: %q", r.Banner)
	}
	if err := WriteAuditSample(d, s); err != nil {
		t.Fatal(err)
	}
	a := NewAuditor(d, tables, Codebook(), s)
	label := func(person string, wrong func(i int) bool) {
		t.Helper()
		for i, it := range s.Items {
			l := it.Stratum
			if it.Attention != "" {
				l = attention(it.Attention).Leaf
			} else if wrong(i) {
				l = LeafForgotten
			}
			if _, err := a.Label(person, AuditChoice{Item: it.ID, Label: l}, time.Unix(0, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	never := func(int) bool { return false }
	label("ada", never)
	if r := report(); r.Banner == "" || r.Judges[0].Passed || !strings.Contains(strings.Join(r.Judges[0].Reasons, " "), "no second person") {
		t.Errorf("one person is enough: %q, %+v", r.Banner, r.Judges)
	}
	label("bob", never)
	if r := report(); r.Banner != "" || !r.Judges[0].Passed || *r.Judges[0].Leaf != 1 {
		t.Errorf("a judge whom two people confirm: %q, %+v", r.Banner, r.Judges)
	}
	most := func(i int) bool { return i%4 != 0 }
	label("ada", most)
	label("bob", most)
	r := report()
	if r.Banner == "" || r.Judges[0].Passed {
		t.Errorf("a judge whom people contradict: %q, %+v", r.Banner, r.Judges)
	}
	for _, p := range r.People {
		if p.Revised != len(s.Items) {
			t.Errorf("%s revised %d of %d", p.Name, p.Revised, len(s.Items))
		}
	}
	labels, bad, err := ReadAuditLabels(d)
	if err != nil || bad != 0 || len(labels) != 4*len(s.Items) {
		t.Errorf("%d labels, %d bad, %v: every revision stays", len(labels), bad, err)
	}
}

// TestAttentions holds the made items to the codebook.
func TestAttentions(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Attentions() {
		if seen[a.Name] || Codebook().Leaf(a.Leaf) == nil || len(a.Texts) < 2 {
			t.Errorf("made item %s: leaf %s, %d texts", a.Name, a.Leaf, len(a.Texts))
		}
		seen[a.Name] = true
	}
}
