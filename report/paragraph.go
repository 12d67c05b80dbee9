package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// maxTold is the number of pairs of a family that are told one by one; larger families are summed up.
const maxTold = 4

// A clause is a part of a sentence, or the reason why it cannot be said.
type clause struct {
	text   string
	reason string // set: the clause is left out
}

func said(format string, args ...any) clause { return clause{text: fmt.Sprintf(format, args...)} }

// sentence joins the clauses that can be said by sep; the reasons of the others follow in brackets.
func sentence(sep string, clauses ...clause) string {
	var texts, reasons []string
	for _, c := range clauses {
		switch {
		case c.text != "":
			texts = append(texts, c.text)
		case c.reason != "" && !slices.Contains(reasons, c.reason):
			reasons = append(reasons, c.reason)
		}
	}
	s := strings.Join(texts, sep)
	if len(reasons) > 0 {
		s += " [" + strings.Join(reasons, "; ") + "]"
	}
	return s
}

// paragraph words the whole comparison: one paragraph for the means, one per family, separated by empty lines.
func paragraph(c *Comparison) string {
	var parts []string
	if s := c.meansSentence(); s != "" {
		parts = append(parts, s)
	}
	for i := range c.Families {
		if s := c.familyText(&c.Families[i]); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n")
}

// meansSentence gives the mean of every configuration, or of the highest and lowest of many.
func (c *Comparison) meansSentence() string {
	sc := scaleOf(c)
	shown := make([]*ConfigResult, 0, len(c.Configs))
	for i := range c.Configs {
		if c.Configs[i].Mean != nil {
			shown = append(shown, &c.Configs[i])
		}
	}
	if len(shown) == 0 {
		return ""
	}
	all := len(shown)
	many := all > 6
	if many {
		shown = append(shown[:3:3], shown[all-1])
	}
	var means, full []string
	for i, r := range shown {
		ci := "no interval"
		if r.CI != nil {
			ci = interval(r.CI, sc.interval, r.CI[1] < 0)
			if i == 0 {
				ci = "95 % " + intervalName(*r.CIMethod) + "interval " + ci
			}
			if r.restricted {
				ci = "restricted mean, " + ci
			}
		}
		s := fmt.Sprintf("%s %s (%s)", Clean(c.Short(r.Config)), number(*r.Mean, sc.mean), ci)
		if i == 0 {
			s = fmt.Sprintf("%s %s (%s)", Clean(c.Short(r.Config)), c.passed(number(*r.Mean, sc.mean)), ci)
		}
		means = append(means, s)
		if r.Full != nil {
			full = append(full, fmt.Sprint(*r.Full))
		}
	}
	head := fmt.Sprintf("On the %s %s ", c.scenarios, plural(c.scenarios.hi, "scenario", "scenarios"))
	if c.sameScenarios() && len(c.Configs) > 1 {
		head = fmt.Sprintf("On the %s shared %s ", c.scenarios, plural(c.scenarios.hi, "scenario", "scenarios"))
	}
	s := head + joinAnd(means)
	if many {
		s = fmt.Sprintf("%sthe %d configurations range from %s to %s, the best three being %s", head, all,
			number(*shown[0].Mean, sc.mean), number(*shown[3].Mean, sc.mean), joinAnd(means[:3]))
		if c.turns() {
			s = fmt.Sprintf("%sthe mean turns of the %d configurations range from %s to %s; the best three: %s", head, all,
				number(*shown[0].Mean, sc.mean), number(*shown[3].Mean, sc.mean), joinAnd(means[:3]))
		}
		full = full[:min(3, len(full))]
	}
	if c.turns() && len(full) > 0 && c.cap() > 0 {
		who := joinAnd(full) + " runs"
		switch {
		case !slices.ContainsFunc(full, func(n string) bool { return n != "0" }):
			who = "no run"
			if many {
				who = "none of their runs"
			}
		case len(full) == 1 && full[0] == "1":
			who = "1 run"
		}
		s += fmt.Sprintf("; %s passed all %s", who, compact(c.cap()))
	}
	return s + "."
}

// passed words the first mean of a sentence.
func (c *Comparison) passed(mean string) string {
	if c.turns() {
		return "passed " + mean + " turns on average"
	}
	return "had a mean of " + mean
}

// sameScenarios reports whether every configuration ran the same set of scenarios.
func (c *Comparison) sameScenarios() bool {
	var first []scenarioValue
	for i := range c.Configs {
		s := c.Configs[i].scenarios
		if c.Configs[i].N == 0 {
			return false
		}
		if first == nil {
			first = s
		}
		if !slices.EqualFunc(first, s, func(a, b scenarioValue) bool { return a.scenario == b.scenario }) {
			return false
		}
	}
	return true
}

// intervalName is the part of an interval's method that a sentence needs, with a blank after it.
func intervalName(method string) string {
	if strings.Contains(method, "expanded BCa") {
		return "expanded BCa "
	}
	return ""
}

// familyText tells a family: the pairs one by one, or their sum.
func (c *Comparison) familyText(f *FamilyResult) string {
	var s []string
	if first := cannotSentence(f); first != "" {
		s = append(s, first)
	}
	if len(f.Pairs) > maxTold {
		if !f.allCannot {
			s = append(s, c.sumSentence(f))
		}
		return strings.Join(s, " ")
	}
	for i := range f.Pairs {
		s = append(s, c.pairSentence(f, &f.Pairs[i]))
	}
	if z := c.zeroSentence(f); z != "" {
		s = append(s, z)
	}
	return strings.Join(s, " ")
}

// cannotSentence is the first thing to know about a family in which nothing could have been significant.
func cannotSentence(f *FamilyResult) string {
	if !f.allCannot {
		return ""
	}
	tested := 0
	for i := range f.Pairs {
		if f.Pairs[i].P != nil {
			tested++
		}
	}
	if tested == 0 {
		return fmt.Sprintf("No pair of the family %q could be tested.", Clean(f.Name))
	}
	return fmt.Sprintf("No pair of the family %q could have been significant: over %d %s the smallest Holm-adjusted p these data allow is %s; every pair needs at least %d scenarios with a difference.",
		Clean(f.Name), f.M, plural(f.M, "pair", "pairs"), stats.FormatP(*f.MinAttainable), f.needed)
}

// pairSentence tells one pair.
func (c *Comparison) pairSentence(f *FamilyResult, p *PairResult) string {
	a, b := Clean(c.Short(p.A)), Clean(c.Short(p.B))
	if p.Diff == nil {
		return fmt.Sprintf("%s and %s were not tested: %s.", a, b, p.untested)
	}
	counts := fmt.Sprintf("%s was ahead of %s in %d of %d %s, behind in %d, level in %d", a, b, p.Ahead, p.N, plural(p.N, "scenario", "scenarios"), p.Behind, p.Level)
	if p.Undecided > 0 {
		counts += fmt.Sprintf(", open in %d", p.Undecided)
	}
	effect := sentence("; ", c.biserialClause(p), c.typicalClause(p))
	if effect != "" {
		counts += " (" + effect + ")"
	}
	if p.P == nil {
		s := fmt.Sprintf("%s; not tested: %s", counts, p.untested)
		if p.Bounds != nil {
			s += " (" + boundsWords(p.Bounds) + ", whatever those runs had done)"
		}
		return s + "."
	}
	pValue := "p = " + stats.FormatP(*p.P)
	if p.fraction != "" && *p.P < 1 {
		pValue += " (" + p.fraction + ")"
	}
	kind := "exact"
	if !p.exact {
		kind = "approximate"
	}
	test := "Wilcoxon signed-rank test, " + c.zeroWords()
	switch {
	case p.stoppedTest && strings.Contains(p.Test, "sign test"):
		test = "sign test of known orders"
	case p.stoppedTest:
		test = "paired Prentice–Wilcoxon test"
	}
	s := fmt.Sprintf("%s; %s %s: %s", counts, kind, test, pValue)
	if p.stoppedTest && p.Bounds != nil {
		s += " (signed-rank " + boundsWords(p.Bounds) + ", whatever the stopped runs had done)"
	}
	if f.M > 1 {
		s += fmt.Sprintf(", Holm-adjusted over %d pairs %s", f.M, stats.FormatP(*p.Holm))
	}
	return s + ": " + c.verdict(f, p) + "."
}

// boundsWords gives the range of p that stopped runs leave open.
func boundsWords(b *[2]float64) string {
	lo, hi := stats.FormatP(b[0]), stats.FormatP(b[1])
	if lo == hi {
		return "p = " + lo
	}
	return "p between " + lo + " and " + hi
}

// verdict says what the adjusted p means.
func (c *Comparison) verdict(f *FamilyResult, p *PairResult) string {
	level := percent(f.Alpha)
	switch {
	case *p.Holm <= f.Alpha && p.directionSplit:
		return "significant at " + level + ", but the ranks and the means point in different directions, so neither is called better"
	case *p.Holm <= f.Alpha:
		return "significant at " + level
	case p.Decision == DecisionCannot:
		return fmt.Sprintf("not significant at %s, and it could not have been: with %d non-zero %s the smallest adjusted value possible was %s",
			level, p.nonZero, plural(p.nonZero, "difference", "differences"), stats.FormatP(*p.Least))
	}
	return fmt.Sprintf("not significant at %s (smallest adjusted value possible %s)", level, stats.FormatP(*p.Least))
}

func (c *Comparison) biserialClause(p *PairResult) clause {
	if p.RankBiserial == nil {
		return clause{}
	}
	return said("rank-biserial %s", number(*p.RankBiserial, 2))
}

// typicalClause gives the Hodges–Lehmann difference, or the mean difference where that is undefined.
func (c *Comparison) typicalClause(p *PairResult) clause {
	sc := scaleOf(c)
	unit := ""
	if c.turns() {
		unit = " turns"
	}
	switch {
	case p.HL != nil && p.HLCI != nil:
		return said("typical difference %s%s, 95 %% interval %s", number(*p.HL, sc.mean), unit, interval(p.HLCI, sc.mean, p.HLCI[1] < 0))
	case p.HL != nil:
		return clause{text: fmt.Sprintf("typical difference %s%s", number(*p.HL, sc.mean), unit)}
	case p.DiffCI != nil:
		return said("mean difference %s%s, 95 %% interval %s%s", number(*p.Diff, sc.mean), unit, interval(p.DiffCI, sc.mean, p.DiffCI[1] < 0), c.restriction())
	}
	return said("mean difference %s%s", number(*p.Diff, sc.mean), unit)
}

func (c *Comparison) restriction() string {
	if c.cap() > 0 {
		return ", restricted to the cap"
	}
	return ""
}

// zeroSentence says whether the treatment of zeros decides anything in the family.
func (c *Comparison) zeroSentence(f *FamilyResult) string {
	other := "Pratt"
	if c.zero == stats.Pratt {
		other = "zeros dropped"
	}
	var decides []string
	tested := 0
	var only *PairResult
	for i := range f.Pairs {
		p := &f.Pairs[i]
		if p.POtherZero == nil {
			continue
		}
		tested++
		only = p
		if p.zeroDecides {
			decides = append(decides, fmt.Sprintf("%s (%s: p = %s)", Clean(c.pairName(p.A, p.B)), other, stats.FormatP(*p.POtherZero)))
		}
	}
	switch {
	case tested == 0:
		return ""
	case len(decides) > 0:
		return "The treatment of zeros decides before correction for " + joinAnd(decides) + "."
	case tested == 1:
		return fmt.Sprintf("The result does not depend on the treatment of zeros (%s: p = %s).", other, stats.FormatP(*only.POtherZero))
	}
	return "No result depends on the treatment of zeros."
}

// sumSentence tells a large family by its numbers.
func (c *Comparison) sumSentence(f *FamilyResult) string {
	var significant []string
	cannot, untested, split := 0, 0, 0
	for i := range f.Pairs {
		p := &f.Pairs[i]
		switch {
		case p.P == nil:
			untested++
		case *p.Holm <= f.Alpha && p.directionSplit:
			split++
		case p.Decision == DecisionAhead:
			significant = append(significant, Clean(c.Short(p.A))+" over "+Clean(c.Short(p.B)))
		case p.Decision == DecisionBehind:
			significant = append(significant, Clean(c.Short(p.B))+" over "+Clean(c.Short(p.A)))
		case p.Decision == DecisionCannot:
			cannot++
		}
	}
	s := fmt.Sprintf("Of the %d pairs of the family %q %d %s significant after Holm's correction at %s",
		f.M, Clean(f.Name), len(significant)+split, plural(len(significant)+split, "was", "were"), percent(f.Alpha))
	if len(significant) > 0 && len(significant) <= maxTold {
		s += " (" + joinAnd(significant) + ")"
	}
	if split > 0 {
		s += fmt.Sprintf("; in %d of them ranks and means point in different directions", split)
	}
	if cannot > 0 {
		s += fmt.Sprintf("; %d more could not have become significant with these data", cannot)
	}
	if untested > 0 {
		s += fmt.Sprintf("; %d %s not tested and %s with p = 1", untested, plural(untested, "was", "were"), plural(untested, "counts", "count"))
	}
	return s + "."
}

// joinAnd joins words as in "a, b and c".
func joinAnd(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
