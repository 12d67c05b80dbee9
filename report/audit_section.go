package report

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/stint-bench/stint/classify"
)

// audited says whether a report has anything to tell of an audit: what people found, or that a judge was never checked.
func (rep *Report) audited() bool {
	return rep.Audit != nil && (rep.Audit.Labelled > 0 || rep.Audit.Banner != "")
}

// auditSentences say what was checked, by whom, and what to be wary of.
func auditSentences(a *classify.AuditReport) []string {
	if a.Labelled == 0 {
		return nil
	}
	first := fmt.Sprintf("%d of %d sampled ends of episodes were labelled by people, %d by two or more, without seeing verdict or configuration; %d are disputed.", a.Labelled, a.Items, a.Twice, len(a.Disputed))
	out := []string{first}
	for _, j := range a.Judges {
		if j.Passed {
			out = append(out, fmt.Sprintf("The judge %s passed the trust gate on %d items.", Clean(j.Judge), j.Items))
		} else {
			out = append(out, fmt.Sprintf("The judge %s has not passed the trust gate: %s.", Clean(j.Judge), Clean(strings.Join(j.Reasons, "; "))))
		}
	}
	for _, w := range a.Warnings {
		out = append(out, capital(Clean(w))+".")
	}
	return out
}

func measure(m classify.AuditMeasure) tableCell {
	if m.Value == nil {
		return words(undefinedMark)
	}
	text := number(*m.Value, 2)
	if m.CI != nil {
		text += " [" + number(m.CI[0], 2) + ", " + number(m.CI[1], 2) + "]"
	}
	c := words(text)
	c.value = m.Value
	return c
}

// auditShares is the table of shares.
func auditShares(a *classify.AuditReport) table {
	t := table{name: "audit-shares", caption: "Share of the ends of episodes by cause, with 95 % intervals: as predicted, from the audited ends alone, and corrected by post-stratification; at most: if all that people could not tell were of this cause",
		columns: []tableColumn{{head: "cause"}, {head: "as predicted", mark: " "}, {head: "audit only", mark: " "}, {head: "corrected", mark: " "}, {head: "at most", mark: " "}, {head: "audited with it"}}}
	for i := range a.Prevalence {
		s := &a.Prevalence[i]
		few := ""
		if s.Few {
			few = "fewer than 5"
		}
		most := words(undefinedMark)
		if s.Most != nil {
			most = words(number(*s.Most, 2))
			most.value = s.Most
		}
		t.rows = append(t.rows, []tableCell{words(Clean(s.Label)), measure(s.Raw), measure(s.AuditOnly), measure(s.Corrected), most, words(few)})
	}
	return t
}

// auditAgreement is the table of agreement.
func auditAgreement(a *classify.AuditReport) table {
	t := table{name: "audit-agreement", caption: "Agreement with people, abstentions left out; 95 % intervals: bootstrap of episodes",
		columns: []tableColumn{{head: "who"}, {head: "level"}, {head: "pairs", mark: " "}, {head: "raw", mark: " "}, {head: "kappa", mark: " "}, {head: "AC1", mark: " "}, {head: "alpha", mark: " "}}}
	for i := range a.Agreement {
		g := &a.Agreement[i]
		if g.Abstained != "left out" {
			continue
		}
		t.rows = append(t.rows, []tableCell{words(Clean(g.Who)), words(g.Level), whole(g.Pairs), measure(g.Raw), measure(g.Kappa), measure(g.AC1), measure(g.Alpha)})
	}
	return t
}

// auditSection is the part of the page about the audit.
func (rep *Report) auditSection(show func(table) partView) sectionView {
	a := rep.Audit
	s := sectionView{ID: "audit", Title: "Can the causes be trusted"}
	if a.Banner != "" {
		s.First = append(s.First, Clean(a.Banner)+".")
	}
	for _, text := range auditSentences(a) {
		s.Parts = append(s.Parts, partView{Text: text})
	}
	for _, t := range []table{auditShares(a), auditAgreement(a)} {
		if a.Labelled > 0 && len(t.rows) > 0 {
			s.Parts = append(s.Parts, show(t))
		}
	}
	return s
}

// markdownAudit is the same in Markdown.
func (rep *Report) markdownAudit(b *bufio.Writer) {
	a := rep.Audit
	fmt.Fprintf(b, "\n## Can the causes be trusted\n")
	if a.Banner != "" {
		fmt.Fprintf(b, "\n**%s.**\n", escapeMarkdown(a.Banner))
	}
	if text := strings.Join(auditSentences(a), " "); text != "" {
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(text))
	}
	if a.Labelled == 0 {
		return
	}
	for _, t := range []table{auditShares(a), auditAgreement(a)} {
		if len(t.rows) == 0 {
			continue
		}
		fmt.Fprintln(b)
		t.markdownRows(b)
		fmt.Fprintf(b, "\n%s.\n", escapeMarkdown(t.caption))
	}
}
