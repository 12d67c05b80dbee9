package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
	"github.com/stint-bench/stint/stats"
)

// readAt replaces every configuration with more than budget retries by what the same runs would have reached with
// budget: a derived configuration …/r10@2, to be compared with others, never with the runs it was read off. What was
// declared names the original, so families go along under the new name and are no longer the declared ones.
func (s *comparedSource) readAt(budget int) error {
	if s.set.ValueName != "turns_passed" || s.set.Cap < 1 {
		return inputErrorf("leave --at out, or name a run directory", "--at %d: only turns passed of a run directory can be read off at another budget", budget)
	}
	renamed := map[string]string{}
	causes := s.causesAt()
	unknown := 0
	for i := range s.set.Rows {
		row := &s.set.Rows[i]
		retries, err := strconv.Atoi(row.Factors["retries"])
		if err != nil || retries <= budget {
			continue
		}
		if row.Value == nil || len(row.Attempts) != int(*row.Value) {
			return inputErrorf("ingest the run directory again", "--at %d: the attempts of %s on %s are not known", budget, clean(row.Config), clean(row.Scenario))
		}
		at := stats.Run{Scenario: row.Scenario, Replicate: row.Repeat, Attempts: row.Attempts, Status: outcomeOf(row).Status}.At(budget)
		if _, ok := renamed[row.Config]; !ok {
			renamed[row.Config] = fmt.Sprintf("%s@%d", row.Config, budget)
		}
		if !deriveRow(row, renamed[row.Config], budget, at, causes) {
			unknown++
		}
	}
	if len(renamed) == 0 {
		return inputErrorf("leave --at out", "--at %d: no configuration has a larger retry budget", budget)
	}
	if unknown > 0 && causes != nil {
		s.options.Notes = append(s.options.Notes, report.Warning{Code: report.CodeUndefined, Text: fmt.Sprintf(
			"%d of the failed attempts that end a run at budget %d have no verdict, so their cause is unknown; stint classify gives every failed attempt one", unknown, budget)})
	}
	s.rename(renamed, fmt.Sprintf("--at %d", budget))
	return nil
}

// A causeAt names the verdict of an attempt of the run in a row; ok is false if there is none.
type causeAt func(row *logs.Outcome, turn, attempt int) (l1, leaf string, ok bool)

// causesAt returns nil if the source holds no verdicts at all.
func (s *comparedSource) causesAt() causeAt {
	type episode struct {
		id     string
		source int
	}
	episodes := make(map[runKey]episode)
	var causes []logs.Causes
	for _, t := range s.all {
		if len(t.Verdicts) == 0 {
			continue
		}
		causes = append(causes, t.Causes())
		for i := range t.Episodes {
			e := &t.Episodes[i]
			episodes[keyOfRun(e.Config, e.ScenarioSHA, e.Scenario, e.Repeat)] = episode{e.Episode, len(causes) - 1}
		}
	}
	if len(causes) == 0 {
		return nil
	}
	return func(row *logs.Outcome, turn, attempt int) (l1, leaf string, ok bool) {
		e, ok := episodes[keyOfRun(row.Config, row.ScenarioSHA, row.Scenario, row.Repeat)]
		if !ok {
			return "", "", false
		}
		return causes[e.source].Of(logs.VerdictKey{Episode: e.id, Turn: turn, Attempt: attempt})
	}
}

// deriveRow turns a run into the one it would have been: it ends with the last attempt that the budget allows in the
// turn that needed more, and for what that attempt failed. It returns false if a failed run has lost its cause. What
// the run would have cost is not known.
func deriveRow(row *logs.Outcome, name string, budget int, at stats.Outcome, causes causeAt) (known bool) {
	factors := make(map[string]string, len(row.Factors))
	for k, v := range row.Factors {
		factors[k] = v
	}
	factors["retries"] += "@" + strconv.Itoa(budget)
	known = true
	if at.Status == stats.Failed {
		l1, leaf, ok := "", "", false
		if causes != nil {
			l1, leaf, ok = causes(row, int(at.Value), budget)
		}
		switch {
		case ok:
			row.EndL1, row.EndLeaf, row.EndReason = l1, leaf, "failed"
		case at.Value != *row.Value:
			row.EndL1, row.EndLeaf, row.EndReason = "", "", "failed"
			known = false
		}
	}
	row.Config, row.Factors, row.Value, row.Status, row.USD = name, factors, &at.Value, at.Status.String(), nil
	if int(at.Value) < len(row.Attempts) {
		row.Attempts = row.Attempts[:int(at.Value)]
	}
	return known
}

// rename gives configurations other names wherever they are named.
func (s *comparedSource) rename(names map[string]string, departure string) {
	for i, c := range s.set.Configs {
		if n, ok := names[c]; ok {
			s.set.Configs[i] = n
		}
	}
	if n, ok := names[s.options.Baseline]; ok {
		s.options.Baseline = n
	}
	for i := range s.options.Families {
		fam := &s.options.Families[i]
		fam.Pairs = slices.Clone(fam.Pairs)
		for k, pair := range fam.Pairs {
			for side, c := range pair {
				if n, ok := names[c]; ok {
					fam.Pairs[k][side] = n
				}
			}
		}
		fam.Departure = strings.Join(slices.DeleteFunc([]string{fam.Departure, departure}, func(d string) bool { return d == "" }), ", ")
	}
}

// checkNested refuses a set that holds a configuration beside what was read off its own runs: a run never gets worse
// with a larger budget, so their difference has no null distribution.
func checkNested(set *logs.OutcomeSet) error {
	for _, name := range set.Configs {
		at := strings.LastIndex(name, "@")
		if at < 0 {
			continue
		}
		if stem := name[:at]; slices.Contains(set.Configs, stem) {
			nested := stats.CheckNested(clean(name)+" and "+clean(stem), []string{stem}, []string{stem})
			var err *stats.NestedError
			if errors.As(nested, &err) {
				return inputErrorf(fmt.Sprintf("leave one of them out: --filter '-config:%s'; stint curve shows the gain with its interval", name), "%w", err)
			}
		}
	}
	return nil
}
