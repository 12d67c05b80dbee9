package classify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// labelPair is two labels of one item.
type labelPair struct{ first, second, episode, item string }

// levelLabel is a label at a level.
func levelLabel(label, level string) string {
	if level == "l1" && label != StratumAbstain {
		return levelOf(label)
	}
	return label
}

// agree measures people against each other, against themselves, and rules and judges against people.
func (a *auditing) agree() error {
	if err := a.agreement("people", a.peoplePairs(nil)); err != nil {
		return err
	}
	if err := a.agreement("itself", a.selfPairs()); err != nil {
		return err
	}
	for _, who := range a.annotators() {
		if err := a.agreement(who, a.machinePairs(who)); err != nil {
			return err
		}
	}
	return nil
}

// agreement measures pairs of labels at both levels, abstentions left out and as a class of their own.
func (a *auditing) agreement(who string, pairs []labelPair) error {
	if len(pairs) == 0 {
		return nil
	}
	for _, level := range []string{"l1", "leaf"} {
		for _, abstained := range []string{"left out", "a class"} {
			g, err := a.measure(pairs, level, abstained == "a class")
			if err != nil {
				return err
			}
			g.Who = who
			a.report.Agreement = append(a.report.Agreement, *g)
		}
	}
	return nil
}

// measure computes the agreement of pairs at one level. A label that names a level only is left out among leaves.
func (a *auditing) measure(pairs []labelPair, level string, abstained bool) (*AuditAgreement, error) {
	var first, second, cluster []string
	items := map[string]bool{}
	for _, p := range pairs {
		x, y := levelLabel(p.first, level), levelLabel(p.second, level)
		if !abstained && (x == StratumAbstain || y == StratumAbstain) || level == "leaf" && (a.coarse(x) || a.coarse(y)) {
			continue
		}
		first, second, cluster = append(first, x), append(second, y), append(cluster, p.episode)
		items[p.item] = true
	}
	g := &AuditAgreement{Level: level, Abstained: "left out", Pairs: len(first), Items: len(items), Labels: []string{}, Table: [][]int{}, Share: []float64{}}
	if abstained {
		g.Abstained = "a class"
	}
	m, err := stats.PairAgreement(first, second, cluster, stats.AgreementOptions{Seed: a.sample.Seed})
	if err != nil {
		return nil, fmt.Errorf("agreement of labels: %w", err)
	}
	for _, c := range []struct {
		to *AuditMeasure
		of stats.Coefficient
	}{{&g.Raw, m.Raw}, {&g.Kappa, m.Kappa}, {&g.AC1, m.AC1}, {&g.Alpha, m.Alpha}} {
		*c.to = measureOf(c.of.Value, c.of.Defined, c.of.Interval, c.of.Reason)
	}
	if len(m.Labels) > 0 {
		g.Labels, g.Table, g.Share = m.Labels, m.Table, m.Prevalence
	}
	return g, nil
}

// coarse says whether a label is a level without a leaf.
func (a *auditing) coarse(label string) bool {
	return label != StratumAbstain && a.book.Leaf(label) == nil
}

// peoplePairs are all pairs of people's labels of the same item; only = of the items it says yes to.
func (a *auditing) peoplePairs(only func(*AuditItem) bool) []labelPair {
	var out []labelPair
	a.ordinary(func(it *AuditItem) {
		if only != nil && !only(it) {
			return
		}
		list := a.given[it.Key()] // sorted by name
		for i := range list {
			for k := i + 1; k < len(list); k++ {
				out = append(out, labelPair{list[i].Label(), list[k].Label(), it.Episode, it.ID})
			}
		}
	})
	return out
}

// selfPairs are the labels that people gave an item and its repeat.
func (a *auditing) selfPairs() []labelPair {
	var out []labelPair
	for i := range a.control {
		l := &a.control[i]
		it := a.sample.Item(l.Item)
		if it == nil || it.Repeats == "" || it.Key() != l.Key() {
			continue
		}
		for _, first := range a.given[it.Key()] {
			if first.Annotator == l.Annotator {
				out = append(out, labelPair{first.Label(), l.Label(), it.Episode, it.Repeats})
			}
		}
	}
	return out
}

// theRules is the name under which all rules are compared.
const theRules = "rules"

func annotatorName(v *logs.VerdictRow) string {
	if v.AnnotatorKind == logs.AnnotatorJudge {
		return "judge " + v.Annotator
	}
	return theRules
}

// annotators are the rules and every judge.
func (a *auditing) annotators() []string {
	var out []string
	for i := range a.verdicts {
		if n := annotatorName(&a.verdicts[i]); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(x, y string) int {
		return cmp.Or(cmp.Compare(boolOrder(x != theRules), boolOrder(y != theRules)), cmp.Compare(x, y))
	})
	return out
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// machineLabels are the labels that one annotator gave.
func (a *auditing) machineLabels(who string) map[logs.VerdictKey]string {
	out := map[logs.VerdictKey]string{}
	for i := range a.verdicts {
		if v := &a.verdicts[i]; annotatorName(v) == who {
			out[v.Key()] = predictedLabel(v)
		}
	}
	return out
}

// machinePairs are the labels of an annotator and of every person who labelled the same item.
func (a *auditing) machinePairs(who string) []labelPair {
	labels := a.machineLabels(who)
	var out []labelPair
	a.judging(func(it *AuditItem) {
		said, ok := labels[it.Key()]
		if !ok {
			return
		}
		for i := range a.given[it.Key()] {
			out = append(out, labelPair{said, a.given[it.Key()][i].Label(), it.Episode, it.ID})
		}
	})
	return out
}

// trust holds every judge against the gate: alpha with people at least .70 at the level and .60 at the leaf, and not more
// than .10 under that of people with each other on the same items.
func (a *auditing) trust() error {
	ends := map[logs.VerdictKey]bool{}
	for i := range a.ends {
		ends[a.ends[i].Key()] = true
	}
	deciding := map[string]int{}
	for k, v := range logs.Counting(a.verdicts) {
		if v.AnnotatorKind == logs.AnnotatorJudge && v.Strength != logs.StrengthAbstain {
			deciding[annotatorName(v)] += boolOrder(ends[k])
		}
	}
	shares := 0
	for _, who := range a.annotators() {
		if who == theRules {
			continue
		}
		j, err := a.trustOf(who)
		if err != nil {
			return err
		}
		a.report.Judges = append(a.report.Judges, *j)
		if !j.Passed {
			shares += deciding[who]
		}
	}
	if shares > 0 {
		a.report.Banner = notValidated(shares, len(a.ends), "ends")
	}
	return nil
}

func (a *auditing) trustOf(who string) (*JudgeTrust, error) {
	j := &JudgeTrust{Judge: who[len("judge "):], Reasons: []string{}}
	pairs := a.machinePairs(who)
	labels := a.machineLabels(who)
	people := a.peoplePairs(func(it *AuditItem) bool {
		return a.counts(it) && labels[it.Key()] != "" && labels[it.Key()] != StratumAbstain
	})
	fail := func(format string, args ...any) { j.Reasons = append(j.Reasons, fmt.Sprintf(format, args...)) }
	for _, l := range []struct {
		level, name string
		bar         float64
		to          **float64
	}{{"l1", "the level", trustL1, &j.L1}, {"leaf", "the leaf", trustLeaf, &j.Leaf}} {
		g, err := a.measure(pairs, l.level, false)
		if err != nil {
			return nil, err
		}
		h, err := a.measure(people, l.level, false)
		if err != nil {
			return nil, err
		}
		if l.level == "l1" {
			j.Items = g.Items
		}
		*l.to = g.Alpha.Value
		switch {
		case g.Items < trustItems:
			fail("at %s: %d audited items are too few, at least %d are needed", l.name, g.Items, trustItems)
		case g.Alpha.Value == nil:
			fail("at %s: alpha is undefined: %s", l.name, g.Alpha.Reason)
		case *g.Alpha.Value < l.bar:
			fail("at %s: alpha with people is %.2f, below %.2f", l.name, *g.Alpha.Value, l.bar)
		case h.Items == 0:
			fail("at %s: no second person labelled the same items", l.name)
		case h.Alpha.Value != nil && *g.Alpha.Value < *h.Alpha.Value-trustUnder:
			fail("at %s: alpha with people is %.2f, more than %.2f under that of people with each other, %.2f", l.name, *g.Alpha.Value, trustUnder, *h.Alpha.Value)
		}
	}
	if a.spent {
		fail("the audit is of another codebook")
	}
	j.Passed = len(j.Reasons) == 0
	return j, nil
}
