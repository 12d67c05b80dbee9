package classify

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
)

// TestSplit: a third of a sample is for changes of the codebook. After one, rules and judges are judged by the rest, until
// somebody looks at its single items; and no rebuild touches the labels of people.
func TestSplit(t *testing.T) {
	tables, rows := auditTables(180)
	for i := range tables.Episodes {
		tables.Episodes[i].Config, tables.Episodes[i].Scenario = []string{"a/none/r0", "b/none/r0"}[i%2], strconv.Itoa(i%6) // the cause follows the scenario
	}
	d := &logs.RunDir{Root: t.TempDir()}
	if err := logs.WriteVerdicts(d.VerdictsDir()+"/judge.jsonl", rows); err != nil {
		t.Fatal(err)
	}
	s, err := DrawAudit(Codebook(), tables, rows, AuditOptions{N: 90})
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]int{}
	for _, it := range s.Items {
		if it.Ordinary() {
			parts[it.Split]++
			parts[it.Split+" "+it.Stratum]++
		}
	}
	for _, st := range s.Strata {
		if parts["dev "+st.Label] == 0 || parts["test "+st.Label] == 0 || st.Weight != float64(st.Size)/float64(st.Drawn) {
			t.Errorf("stratum %+v: %v", st, parts)
		}
	}
	if parts[SplitDev] != 30 || parts[SplitTest] != 60 {
		t.Errorf("%v", parts)
	}
	if small, err := DrawAudit(Codebook(), tables, rows, AuditOptions{N: leastSplit - 1}); err != nil || small.Items[0].Split != "" {
		t.Errorf("a small sample is split: %v", err)
	}
	if err := WriteAuditSample(d, s); err != nil {
		t.Fatal(err)
	}
	a := NewAuditor(d, tables, Codebook(), s)
	wrong := map[string]int{}
	for _, it := range s.Items {
		l := it.Stratum
		switch {
		case it.Attention != "":
			l = attention(it.Attention).Leaf
		case it.Ordinary() && (it.Split == SplitDev || wrong[SplitTest] < 2): // wherever the codebook was tuned, all is wrong
			l = LeafForgotten
			wrong[it.Split]++
		}
		for _, person := range []string{"ada", "bob"} {
			if _, err := a.Label(person, AuditChoice{Item: it.ID, Label: l}, time.Unix(0, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	people := filepath.Join(d.VerdictsDir(), "people.jsonl")
	before, err := os.ReadFile(people)
	if err != nil {
		t.Fatal(err)
	}

	report := func(book *Taxonomy, open bool) *AuditReport {
		t.Helper()
		read := ReportAudit
		if open {
			read = ReportAuditOpen
		}
		r, err := read(d, tables, book)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := report(Codebook(), false)
	if r.Dev != 30 || r.Test != 60 || r.Judged != "" || len(r.Errors) != 30 || r.Hidden != 2 || r.Judges[0].Passed || r.Judges[0].Items != 90 {
		t.Errorf("dev %d, test %d, judged by %q, %d errors and %d hidden, %+v", r.Dev, r.Test, r.Judged, len(r.Errors), r.Hidden, r.Judges[0])
	}
	if raw := r.Prevalence[0].Raw; raw.CI[1]-raw.CI[0] < 0.4 { // Wilson's, for 180 episodes, would be 0.14 wide
		t.Errorf("the share of drift does not take scenarios as drawn: %v", raw.CI)
	}
	if len(r.Configs) != 2 || r.Configs[0].Ends != 90 || r.Configs[0].Audited+r.Configs[1].Audited != 90 || r.Configs[1].Prevalence[0].Corrected.Value == nil {
		t.Errorf("by configuration: %+v", r.Configs)
	}
	next, err := ExtendCodebook([]byte(strings.ReplaceAll(userRules[strings.Index(userRules, "rules:"):], "infra.vpn", "infra.provider_error")))
	if err != nil {
		t.Fatal(err)
	}
	if r = report(next, false); r.Judged != SplitTest || !r.Judges[0].Passed || r.Judges[0].Items != 60 || len(r.Errors) != 0 || r.Hidden != 2 {
		t.Errorf("after a change of the codebook: judged by %q, %+v, %d errors", r.Judged, r.Judges[0], len(r.Errors))
	}
	if open := report(next, true); len(open.Errors) != 2 || open.Errors[0].Split != SplitTest {
		t.Errorf("the test items, opened: %+v", open.Errors)
	}
	if err := MarkTestSeen(d, Codebook().Hash()); err != nil {
		t.Fatal(err)
	}
	if r = report(Codebook(), false); r.Judged != "" || slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "codebook was changed") }) {
		t.Errorf("looking spends the test for its own codebook: %v", r.Warnings)
	}
	r = report(next, false)
	if r.Judges[0].Passed || !slices.Contains(r.Judges[0].Reasons, "the audit is of another codebook") || !strings.Contains(strings.Join(r.Warnings, " "), "draw a new sample") {
		t.Errorf("a spent test: %+v, %v", r.Judges[0], r.Warnings)
	}
	judged := *tables
	judged.Verdicts = rows
	if banner, err := Unvalidated(d, &judged, next); err != nil || banner == "" {
		t.Errorf("a spent test validates the judge where only the banner is asked for: %q, %v", banner, err)
	}

	for range 2 {
		if _, err := Pass(t.Context(), &logs.RunDir{Root: d.Root}, PassOptions{Book: next}); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(d.VerdictsDir(), "rules.jsonl"))
	}
	if after, err := os.ReadFile(people); err != nil || string(after) != string(before) {
		t.Errorf("a rebuild touches the labels of people: %v", err)
	}
}
