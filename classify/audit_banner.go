package classify

import (
	"fmt"

	"github.com/stint-bench/stint/logs"
)

// Unvalidated is what has to stand beside shares that rest on judges whom no audit of this codebook has validated; "" if
// none do. The tables hold the verdicts of all annotators, or those that count. With the rows of episodes and attempts
// the shares are of the ends of episodes, else of the failed attempts. Without a directory there is no audit.
func Unvalidated(d *logs.RunDir, t *logs.Tables, book *Taxonomy) (string, error) {
	counting := logs.Counting(t.Verdicts)
	among, what := counting, "failed attempts"
	if len(t.Episodes) > 0 {
		among, what = map[logs.VerdictKey]*logs.VerdictRow{}, "ends"
		for _, end := range AuditEnds(t, nil) {
			among[end.Key()] = counting[end.Key()]
		}
	}
	by := map[string]int{}
	for _, v := range among {
		if v != nil && v.AnnotatorKind == logs.AnnotatorJudge && v.Strength != logs.StrengthAbstain {
			by[annotatorName(v)]++
		}
	}
	if len(by) == 0 {
		return "", nil
	}
	a := &auditing{book: book, sample: &AuditSample{Seed: 1}, given: map[logs.VerdictKey][]AuditLabel{}, settled: map[logs.VerdictKey]AuditLabel{}, report: &AuditReport{}}
	if d != nil {
		if err := a.read(d); err != nil {
			return "", err
		}
	}
	shares := 0
	for who, n := range by {
		j, err := a.trustOf(who)
		if err != nil {
			return "", err
		}
		if !j.Passed {
			shares += n
		}
	}
	if shares == 0 {
		return "", nil
	}
	return notValidated(shares, len(among), what), nil
}

// read takes sample, verdicts and labels from a run directory.
func (a *auditing) read(d *logs.RunDir) error {
	s, err := ReadAuditSample(d)
	if err != nil || s == nil {
		return err
	}
	verdicts, _, err := logs.ReadVerdicts(d)
	if err != nil {
		return err
	}
	labels, _, err := ReadAuditLabels(d)
	if err != nil {
		return err
	}
	a.sample, a.verdicts = s, machines(verdicts)
	if err := a.split(d); err != nil {
		return err
	}
	a.sort(labels)
	return nil
}

func notValidated(n, of int, what string) string {
	return fmt.Sprintf("NOT VALIDATED: a judge decided %d of %d %s, and no audit of this codebook shows that it can be trusted", n, of, what)
}
