package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/stint-bench/stint/classify"
)

// printAudit prints what an audit found.
func printAudit(w io.Writer, r *classify.AuditReport) {
	if r.Banner != "" {
		fmt.Fprintf(w, "! %s\n\n", clean(r.Banner))
	}
	fmt.Fprintf(w, "%d of %d items labelled, %d by two people or more, %d disputed · %s end by a failure · %s\n", r.Labelled, r.Items, r.Twice, len(r.Disputed), plural(r.Ends, "episode"), clean(r.Taxonomy))
	for _, p := range r.People {
		fmt.Fprintf(w, "  %s: %d labels, %d cannot tell, %d revised", clean(p.Name), p.Labelled, p.Cannot, p.Revised)
		if p.Repeats > 0 {
			fmt.Fprintf(w, "; the same for %d of %d repeats", p.Same, p.Repeats)
		}
		if p.Attention > 0 {
			fmt.Fprintf(w, "; %d of %d made items right", p.Right, p.Attention)
		}
		if p.Seconds != nil {
			fmt.Fprintf(w, "; median %.0f s", *p.Seconds)
		}
		fmt.Fprintln(w)
	}
	printAgreement(w, r)
	printScores(w, r)
	printShares(w, r)
	printConfigShares(w, r)
	for _, j := range r.Judges {
		if j.Passed {
			fmt.Fprintf(w, "\njudge %s passed the gate on %d items\n", clean(j.Judge), j.Items)
			continue
		}
		fmt.Fprintf(w, "\njudge %s has not passed the gate\n", clean(j.Judge))
		for _, reason := range j.Reasons {
			fmt.Fprintf(w, "  %s\n", clean(reason))
		}
	}
	list := func(title string, n int, line func(i int) string) {
		if n == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", title)
		for i := range min(n, maxListed) {
			fmt.Fprintf(w, "  %s\n", clean(line(i)))
		}
		if n > maxListed {
			fmt.Fprintf(w, "  and %d more (--json lists all)\n", n-maxListed)
		}
	}
	list("verdicts that people did not confirm", len(r.Errors), func(i int) string {
		x := r.Errors[i]
		return fmt.Sprintf("%s: predicted %s, people say %s", x.Verdict, x.Predicted, x.Label)
	})
	if r.Hidden > 0 {
		fmt.Fprintf(w, "\n%d more among the %d test items: --test lists them, which spends the test for later codebooks\n", r.Hidden, r.Test)
	}
	list("causes that no leaf describes", len(r.Unlisted), func(i int) string { return r.Unlisted[i] })
	list("notes", len(r.Warnings), func(i int) string { return r.Warnings[i] })
}

func measured(m classify.AuditMeasure) string {
	switch {
	case m.Value == nil:
		return "undefined"
	case m.CI == nil:
		return fmt.Sprintf("%.2f", *m.Value)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", *m.Value, m.CI[0], m.CI[1])
}

func printAgreement(w io.Writer, r *classify.AuditReport) {
	if len(r.Agreement) == 0 {
		return
	}
	fmt.Fprintf(w, "\nagreement with people, abstentions left out (95 %% intervals: bootstrap of episodes, seed %d)\n", r.Seed)
	rows := [][]string{{"", "level", "pairs", "raw", "kappa", "AC1", "alpha"}}
	few := false
	for i := range r.Agreement {
		g := &r.Agreement[i]
		if g.Abstained != "left out" {
			continue
		}
		pairs := fmt.Sprint(g.Pairs)
		if g.Items < 20 {
			pairs, few = pairs+" (few)", true
		}
		rows = append(rows, []string{clean(g.Who), g.Level, pairs, measured(g.Raw), measured(g.Kappa), measured(g.AC1), measured(g.Alpha)})
	}
	printColumns(w, rows)
	if few {
		fmt.Fprintln(w, "few: below 20 items, too few to say how far anybody agrees")
	}
	if r.Judged != "" {
		fmt.Fprintf(w, "rules and judges: the %d test items alone\n", r.Test)
	}
	printLeafPairs(w, r)
	for i := range r.Agreement {
		g := &r.Agreement[i]
		if g.Level != "l1" || g.Abstained != "a class" || g.Pairs == 0 || g.Who == "itself" {
			continue
		}
		fmt.Fprintf(w, "\n%s (rows) and people (columns), by level; share of each label: %s\n", clean(g.Who), clean(sharesOf(g)))
		table := [][]string{append([]string{""}, g.Labels...)}
		for k, row := range g.Table {
			cells := []string{g.Labels[k]}
			for _, n := range row {
				cells = append(cells, dash(n))
			}
			table = append(table, cells)
		}
		printColumns(w, table)
	}
}

// printLeafPairs is the confusion matrix of leaves, without its empty cells.
func printLeafPairs(w io.Writer, r *classify.AuditReport) {
	for i := range r.Agreement {
		g := &r.Agreement[i]
		if g.Level != "leaf" || g.Abstained != "a class" || g.Pairs == 0 || g.Who == "itself" {
			continue
		}
		fmt.Fprintf(w, "\n%s → people, by leaf\n", clean(g.Who))
		for k, row := range g.Table {
			var parts []string
			for c, n := range row {
				if n > 0 {
					parts = append(parts, fmt.Sprintf("%s %d", g.Labels[c], n))
				}
			}
			if len(parts) > 0 {
				fmt.Fprintf(w, "  %s → %s\n", g.Labels[k], strings.Join(parts, ", "))
			}
		}
	}
}

// printConfigShares gives the corrected shares of levels for every configuration.
func printConfigShares(w io.Writer, r *classify.AuditReport) {
	if len(r.Configs) == 0 {
		return
	}
	fmt.Fprintf(w, "\ncorrected share by configuration\n")
	rows := [][]string{{"configuration", "ends", "audited", "drift", "infra", "bench"}}
	for _, c := range r.Configs {
		cells := []string{clean(c.Config), fmt.Sprint(c.Ends), fmt.Sprint(c.Audited)}
		for _, l1 := range []string{"drift", "infra", "bench"} {
			for _, s := range c.Prevalence {
				if s.Label == l1 {
					cells = append(cells, measured(s.Corrected))
				}
			}
		}
		rows = append(rows, cells)
	}
	printColumns(w, rows)
}

func sharesOf(g *classify.AuditAgreement) string {
	var out []string
	for i, l := range g.Labels {
		out = append(out, fmt.Sprintf("%s %.0f %%", l, 100*g.Share[i]))
	}
	return strings.Join(out, ", ")
}

func printScores(w io.Writer, r *classify.AuditReport) {
	if len(r.Scores) == 0 {
		return
	}
	fmt.Fprintf(w, "\nverdicts by label (Wilson intervals; recall weighed by stratum)\n")
	rows := [][]string{{"label", "predicted", "right", "truly", "precision", "recall"}}
	for _, s := range r.Scores {
		rows = append(rows, []string{s.Label, fmt.Sprint(s.Predicted), fmt.Sprint(s.Right), fmt.Sprint(s.Truly), measured(s.Precision), measured(s.Recall)})
	}
	printColumns(w, rows)
}

func printShares(w io.Writer, r *classify.AuditReport) {
	if len(r.Prevalence) == 0 {
		return
	}
	fmt.Fprintf(w, "\nshare of the ends of episodes by cause\n")
	rows := [][]string{{"cause", "as predicted", "audit only", "corrected", "at most", "of these episodes"}}
	few := false
	for _, s := range r.Prevalence {
		most, label := "–", s.Label
		if s.Most != nil {
			most = fmt.Sprintf("%.2f", *s.Most)
		}
		if s.Few {
			label, few = label+" *", true
		}
		rows = append(rows, []string{label, measured(s.Raw), measured(s.AuditOnly), measured(s.Corrected), most, measured(s.These)})
	}
	printColumns(w, rows)
	fmt.Fprintln(w, "corrected: post-stratified by the verdict; at most: if all that people could not tell were of this cause;\nof these episodes: corrected, without the chance that made them and not others")
	if few {
		fmt.Fprintln(w, "* fewer than 5 audited items have it")
	}
}
