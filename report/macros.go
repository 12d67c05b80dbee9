package report

import (
	"bytes"
	"fmt"
	"strings"
)

// A texValue is one number of results.tex: \stintNAME{CONFIGURATION}, or \stintNAME{A}{B} for a pair.
type texValue struct {
	name string // of the macro, without \stint
	tell string // what it is, for the head of the file
}

// texOfConfig lists the macros of a configuration, texOfPair those of a pair.
var (
	texOfConfig = []texValue{
		{"Name", "its whole name"}, {"Runs", "runs"},
		{"Mean", "mean"}, {"MeanLow", "lower end of its 95 % interval"}, {"MeanHigh", "upper end"}, {"Median", "median"},
		{"Full", "runs that passed everything"}, {"Failed", "failed runs"}, {"Stopped", "stopped runs"},
		{"Drift", "failed runs by cause: drift"}, {"Infra", "the agent's own infrastructure"}, {"Bench", "the bench"}, {"Unknown", "unknown"},
		{"Rate", "failed turns of the tried ones, per cent"}, {"RateLow", "lower end of its 95 % interval"}, {"RateHigh", "upper end"},
		{"Rank", "rank by mean"}, {"RankLow", "best rank in 95 % of resamples"}, {"RankHigh", "worst rank"},
		{"Dollars", "dollars per episode"}, {"DollarsLow", "lower end of its 95 % interval"}, {"DollarsHigh", "upper end"},
		{"TurnDollars", "dollars per passed turn"}, {"TurnDollarsLow", "lower end of its 95 % interval"}, {"TurnDollarsHigh", "upper end"},
		{"Cached", "prompt tokens that a cache served, per cent"}, {"CachedLow", "lower end of its 95 % interval"}, {"CachedHigh", "upper end"},
		{"Void", "void attempts"}, {"Resumed", "attempts given up because a run was resumed"},
	}
	texOfPair = []texValue{
		{"Shared", "scenarios that both have"}, {"Ahead", "of them, A ahead"}, {"Level", "level"}, {"Behind", "A behind"},
		{"Diff", "mean of A minus mean of B"}, {"DiffLow", "lower end of its 95 % interval"}, {"DiffHigh", "upper end"},
		{"Typical", "Hodges--Lehmann estimate of the difference"}, {"TypicalLow", "lower end of its 95 % interval"}, {"TypicalHigh", "upper end"},
		{"RankBiserial", "rank-biserial correlation"}, {"P", "p"}, {"Holm", "p adjusted over the family"}, {"Least", "the smallest adjusted p the pair could have had"},
		{"Decision", "what is decided"},
	}
)

// texKeys gives every configuration the name by which macros call it: the short name with only letters, digits and
// -+./@ in it, so that no package of TeX acts on any.
func (c *Comparison) texKeys() map[string]string {
	keys, used := make(map[string]string, len(c.Configs)), make(map[string]bool)
	for i := range c.Configs {
		key := strings.Map(func(r rune) rune {
			if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-+./@", r)) {
				return r
			}
			return '-'
		}, c.Short(c.Configs[i].Config))
		unique := key
		for n := 2; used[unique] || unique == ""; n++ {
			unique = fmt.Sprintf("%s-%d", key, n)
		}
		used[unique] = true
		keys[c.Configs[i].Config] = unique
	}
	return keys
}

// texHead says how the numbers are used, and defines the macros that give them.
func (rep *Report) texHead(out *bytes.Buffer, keys map[string]string) {
	c := rep.Comparison
	out.WriteString(`% The numbers and sentences of the report as macros. Needs \usepackage[T1]{fontenc} and \usepackage{textcomp}.
%
% A number of a configuration: \stintMean{NAME}; a name that is not here is an error, a value that is undefined a dash.
%
`)
	list := func(values []texValue) {
		for _, v := range values {
			fmt.Fprintf(out, "%%   \\stint%-16s %s\n", v.name, v.tell)
		}
	}
	list(texOfConfig)
	out.WriteString(`%
% A number of a pair: \stintHolm{A}{B}, A and B in the order of the tables, in the first family that holds the pair;
% \stintHolm[2]{A}{B} in the second one.
%
`)
	list(texOfPair)
	fmt.Fprintf(out, "%%\n%% Of all: \\stintStudy, \\stintScenarios, \\stintConfigurations, \\stintAllRuns%s.\n%% The names:\n%%\n", map[bool]string{true: ", \\stintCap (the most that can be reached)"}[c.cap() > 0])
	for i := range c.Configs {
		fmt.Fprintf(out, "%%   %s = %s\n", keys[c.Configs[i].Config], shorten(Clean(c.Configs[i].Config), 200))
	}
	out.WriteString(`%
\newcommand{\stintdefine}[3]{\expandafter\def\csname stint/#1/#2\endcsname{#3}}
\newcommand{\stintvalue}[3]{\ifcsname stint/#1/#2\endcsname\csname stint/#1/#2\endcsname\else
\ifcsname stint/#3/#2\endcsname--\else\PackageError{stint}{results.tex has no #1 of "#2"}{The names are in the head of results.tex.}??\fi\fi}
`)
	for _, v := range texOfConfig {
		fmt.Fprintf(out, "\\newcommand{\\stint%s}[1]{\\stintvalue{%s}{#1}{Name}}\n", v.name, v.name)
	}
	for _, v := range texOfPair {
		fmt.Fprintf(out, "\\newcommand{\\stint%s}[3][]{\\stintvalue{%s}{#1/#2/#3}{Shared}}\n", v.name, v.name)
	}
}

// texNumbers writes the numbers.
func (rep *Report) texNumbers(out *bytes.Buffer) {
	c := rep.Comparison
	keys := c.texKeys()
	rep.texHead(out, keys)
	define := func(key string) func(name, text string) {
		return func(name, text string) {
			if text != undefinedMark && text != "" {
				fmt.Fprintf(out, "\\stintdefine{%s}{%s}{%s}\n", name, key, escapeTeX(text))
			}
		}
	}
	runs := 0
	for i := range c.Configs {
		r := &c.Configs[i]
		runs += r.N
		set := define(keys[r.Config])
		set("Name", Clean(r.Config))
		c.texConfig(r, set)
		if i < len(rep.Costs) {
			rep.Costs[i].tex(set)
		}
	}
	first := make(map[string]bool)
	for i := range c.Families {
		for k := range c.Families[i].Pairs {
			p := &c.Families[i].Pairs[k]
			a, b := keys[p.A], keys[p.B]
			if a == "" || b == "" {
				continue // declared, without a run
			}
			pair := "/" + a + "/" + b
			if !first[pair] {
				first[pair] = true
				c.texPair(p, define(pair))
			}
			if len(c.Families) > 1 {
				c.texPair(p, define(fmt.Sprint(i+1)+pair))
			}
		}
	}
	fmt.Fprintf(out, "\\newcommand{\\stintStudy}{%s}\n\\newcommand{\\stintScenarios}{%s}\n\\newcommand{\\stintConfigurations}{%d}\n\\newcommand{\\stintAllRuns}{%d}\n",
		escapeTeX(rep.Study), escapeTeX(c.scenarios.String()), len(c.Configs), runs)
	if c.cap() > 0 {
		fmt.Fprintf(out, "\\newcommand{\\stintCap}{%s}\n", compact(c.cap()))
	}
}

// texEnds writes the two ends of an interval.
func texEnds(set func(name, text string), name string, ci *[2]float64, form func(float64) string) {
	if ci != nil {
		set(name+"Low", form(ci[0]))
		set(name+"High", form(ci[1]))
	}
}

// decimals formats with so many of them.
func decimals(n int) func(float64) string { return func(v float64) string { return number(v, n) } }

func (c *Comparison) texConfig(r *ConfigResult, set func(name, text string)) {
	sc := scaleOf(c)
	set("Runs", fmt.Sprint(r.N))
	set("Mean", optional(r.Mean, sc.mean))
	texEnds(set, "Mean", r.CI, decimals(sc.interval))
	set("Median", optional(r.Median, sc.mean))
	if r.Full != nil {
		set("Full", fmt.Sprint(*r.Full))
	}
	set("Failed", fmt.Sprint(r.Ends["failed"]))
	set("Stopped", fmt.Sprint(r.Ends["stopped"]))
	if r.Causes != nil {
		for _, k := range causes() {
			set(capital(k.String()), fmt.Sprint(r.Causes[k.String()]))
		}
	}
	if f := r.FailureRate; f != nil {
		set("Rate", ratePercent(f.PerTurn))
		texEnds(set, "Rate", f.CI, ratePercent)
	}
	if r.Rank != nil {
		set("Rank", compact(*r.Rank))
	}
	if r.RankCI != nil {
		set("RankLow", fmt.Sprint(r.RankCI[0]))
		set("RankHigh", fmt.Sprint(r.RankCI[1]))
	}
}

// tex writes what a configuration cost.
func (s *CostSummary) tex(set func(name, text string)) {
	for _, v := range []struct {
		name string
		Estimate
		form func(float64) string
	}{{"Dollars", s.PerEpisode, dollars}, {"TurnDollars", s.PerTurn, dollars}, {"Cached", s.CachedShare, ratePercent}} {
		if v.Value != nil {
			set(v.name, v.form(*v.Value))
		}
		texEnds(set, v.name, v.CI, v.form)
	}
	if s.Void.Attempts != nil {
		set("Void", fmt.Sprint(*s.Void.Attempts))
	}
	if s.Resumed.Attempts != nil {
		set("Resumed", fmt.Sprint(*s.Resumed.Attempts))
	}
}

func (c *Comparison) texPair(p *PairResult, set func(name, text string)) {
	sc := scaleOf(c)
	set("Shared", fmt.Sprint(p.N))
	if p.Diff != nil {
		set("Ahead", fmt.Sprint(p.Ahead))
		set("Level", fmt.Sprint(p.Level))
		set("Behind", fmt.Sprint(p.Behind))
		set("Diff", number(*p.Diff, sc.mean))
		texEnds(set, "Diff", p.DiffCI, decimals(sc.mean))
	}
	if p.HL != nil {
		set("Typical", number(*p.HL, sc.mean))
		texEnds(set, "Typical", p.HLCI, decimals(sc.mean))
	}
	set("RankBiserial", optional(p.RankBiserial, 2))
	set("P", textP(p.P))
	set("Holm", textP(p.Holm))
	set("Least", textP(p.Least))
	set("Decision", c.decision(p))
}
