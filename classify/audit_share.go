package classify

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// weigh finds what was predicted of every end, and how many ends each audited item of a stratum stands for.
func (a *auditing) weigh() {
	a.predicted, a.sizes, a.weights = map[logs.VerdictKey]string{}, map[string]int{}, map[string]float64{}
	for i := range a.ends {
		a.predicted[a.ends[i].Key()] = a.ends[i].Stratum
		a.sizes[a.ends[i].Stratum]++
	}
	settled := map[string]int{}
	for k := range a.settled {
		settled[a.predicted[k]]++
	}
	for label, n := range settled {
		a.weights[label] = float64(a.sizes[label]) / float64(n)
	}
}

// score holds the predictions of the ends against what people settled.
func (a *auditing) score() {
	type sum struct{ right, of, squares float64 }
	scores, recall := map[string]*AuditScore{}, map[string]*sum{}
	at := func(label string) *AuditScore {
		if scores[label] == nil {
			scores[label], recall[label] = &AuditScore{Label: label}, &sum{}
		}
		return scores[label]
	}
	a.judging(func(it *AuditItem) {
		l, ok := a.settled[it.Key()]
		said, is := a.predicted[it.Key()]
		if !ok || !is {
			return
		}
		truth := l.Label()
		if truth != said {
			a.report.Errors = append(a.report.Errors, AuditError{Item: it.ID, Verdict: itemName(it.Key()), Predicted: said, Label: truth, Split: it.Split})
		}
		if said != StratumAbstain {
			s := at(said)
			s.Predicted++
			s.Right += boolOrder(truth == said)
		}
		if truth != StratumAbstain {
			at(truth).Truly++
			w, r := a.weights[said], recall[truth]
			r.of, r.squares = r.of+w, r.squares+w*w
			if truth == said {
				r.right += w
			}
		}
	})
	for _, label := range a.ordered(scores) {
		s, r := scores[label], recall[label]
		s.Precision = shareOf(float64(s.Right), float64(s.Predicted), float64(s.Predicted))
		effective := 0.0
		if r.squares > 0 {
			effective = r.of * r.of / r.squares
		}
		s.Recall = shareOf(r.right, r.of, effective)
		a.report.Scores = append(a.report.Scores, *s)
	}
}

// shareOf is a share with Wilson's interval for an effective number of units.
func shareOf(k, n, effective float64) AuditMeasure {
	if n == 0 {
		return AuditMeasure{Reason: "nothing to count"}
	}
	m := max(1, int(math.Round(effective)))
	p := k / n
	i := stats.Wilson(int(math.Round(p*float64(m))), m, 0)
	// The rounding of a weighted count must not put the share outside of its own interval.
	i.Lo, i.Hi = min(i.Lo, p), max(i.Hi, p)
	return measureOf(p, true, i, "")
}

// ordered lists labels as the codebook does, levels before.
func (a *auditing) ordered(m map[string]*AuditScore) []string {
	var out []string
	for _, l := range a.labels() {
		if m[l] != nil {
			out = append(out, l)
		}
	}
	return out
}

// labels are the levels and then the leaves.
func (a *auditing) labels() []string {
	out := []string{"drift", "infra", "bench"}
	for _, l := range a.book.Choices() {
		out = append(out, l.ID)
	}
	return out
}

// ends are the ends of a run, or of one configuration of it, and what each audited one of a stratum stands for there.
type auditEnds struct {
	in      func(episode string) bool
	list    []AuditItem
	sizes   map[string]int
	weights map[string]float64
	audited int
}

func (a *auditing) endsIn(in func(episode string) bool) *auditEnds {
	e := &auditEnds{in: in, sizes: map[string]int{}, weights: map[string]float64{}}
	for _, it := range a.ends {
		if in(it.Episode) {
			e.list = append(e.list, it)
			e.sizes[it.Stratum]++
		}
	}
	settled := map[string]int{}
	a.ordinary(func(it *AuditItem) {
		if _, ok := a.settled[it.Key()]; ok && in(it.Episode) {
			if said, ended := a.predicted[it.Key()]; ended {
				settled[said]++
				e.audited++
			}
		}
	})
	for label, n := range settled {
		e.weights[label] = float64(e.sizes[label]) / float64(n)
	}
	return e
}

// prevalence gives the share of every level and leaf among the ends: as predicted, from the audit alone, and corrected;
// and the same for every configuration where there are several.
func (a *auditing) prevalence() error {
	all, err := a.sharesOf(a.endsIn(func(string) bool { return true }))
	if err != nil {
		return err
	}
	a.report.Prevalence = append(a.report.Prevalence, all...)
	var configs []string
	for i := range a.ends {
		configs = append(configs, a.config[a.ends[i].Episode])
	}
	slices.Sort(configs)
	configs = slices.Compact(configs)
	if len(configs) < 2 {
		return nil
	}
	for _, c := range configs {
		e := a.endsIn(func(episode string) bool { return a.config[episode] == c })
		list, err := a.sharesOf(e)
		if err != nil {
			return fmt.Errorf("configuration %s: %w", c, err)
		}
		a.report.Configs = append(a.report.Configs, AuditConfig{Config: c, Ends: len(e.list), Audited: e.audited, Prevalence: list})
	}
	return nil
}

func (a *auditing) sharesOf(e *auditEnds) ([]AuditShare, error) {
	var out []AuditShare
	if len(e.list) == 0 {
		return nil, nil
	}
	for i, label := range append(a.labels(), StratumAbstain) {
		is := func(l string) bool { return l == label || i < 3 && levelOf(l) == label }
		s := AuditShare{Label: label}
		raw := 0
		for k := range e.list {
			raw += boolOrder(is(e.list[k].Stratum))
		}
		var err error
		if s.Raw, err = a.rawShare(e.list, is, raw); err != nil {
			return nil, err
		}
		if err = a.correct(&s, e, is, label); err != nil {
			return nil, fmt.Errorf("share of %s: %w", label, err)
		}
		if raw > 0 || s.Corrected.Value != nil && *s.Corrected.Value > 0 || i < 3 {
			out = append(out, s)
		}
	}
	return out, nil
}

// rawShare is the share of a label among the ends as predicted. Ends of one scenario are alike, so its interval takes
// scenarios as drawn; where that is impossible it is Wilson's.
func (a *auditing) rawShare(list []AuditItem, is func(string) bool, k int) (AuditMeasure, error) {
	plain := shareOf(float64(k), float64(len(list)), float64(len(list)))
	if k == 0 || k == len(list) {
		return plain, nil
	}
	m := &marks{}
	for i := range list {
		m.right, m.scenario = append(m.right, float64(boolOrder(is(list[i].Stratum)))), append(m.scenario, a.scenario[list[i].Episode])
	}
	c := Accuracy{Of: len(list), Right: k}
	if err := c.interval(m); err != nil {
		return plain, err
	}
	if c.CI != nil {
		plain.CI = c.CI
	}
	return plain, nil
}

// correct fills in what the audit says about a share.
func (a *auditing) correct(s *AuditShare, e *auditEnds, is func(string) bool, label string) error {
	strata, unsure := map[string]*stats.AuditStratum{}, map[string]*stats.AuditStratum{}
	for l, n := range e.sizes {
		strata[l], unsure[l] = &stats.AuditStratum{Size: n}, &stats.AuditStratum{Size: n}
	}
	total, hits, squares := 0.0, 0.0, 0.0
	a.ordinary(func(it *AuditItem) { // in the order of the sample: sums of floats depend on it
		l, ok := a.settled[it.Key()]
		said, ended := a.predicted[it.Key()]
		if !ok || !ended || !e.in(it.Episode) {
			return
		}
		w, yes := e.weights[said], is(l.Label())
		strata[said].Audited++
		unsure[said].Audited++
		strata[said].Positive += boolOrder(yes)
		unsure[said].Positive += boolOrder(yes || l.Label() == StratumAbstain)
		total, squares = total+w, squares+w*w
		if yes {
			hits += w
		}
	})
	if total == 0 {
		none := AuditMeasure{Reason: "no item has a settled label"}
		s.AuditOnly, s.Corrected, s.These = none, none, none
		return nil
	}
	s.AuditOnly = shareOf(hits, total, total*total/squares)
	var list, wide []stats.AuditStratum
	for _, l := range slices.Sorted(maps.Keys(e.sizes)) {
		list, wide = append(list, *strata[l]), append(wide, *unsure[l])
	}
	p, err := stats.PostStratified(list, stats.PostStratifiedOptions{})
	if err != nil {
		return err
	}
	s.Corrected, s.Few = measureOf(p.Share, true, p.Interval, ""), p.Few
	these, err := stats.PostStratified(list, stats.PostStratifiedOptions{Finite: true})
	if err != nil {
		return err
	}
	s.These = measureOf(these.Share, true, these.Interval, "")
	if label != StratumAbstain {
		most, err := stats.PostStratified(wide, stats.PostStratifiedOptions{})
		if err != nil {
			return err
		}
		s.Most = &most.Share
	}
	return nil
}
