package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// A comparedSource is what compare and report have read: outcomes, and how to compare them.
type comparedSource struct {
	set     *logs.OutcomeSet
	options report.CompareOptions
	tables  *logs.Tables   // of a run directory or a folder of tables; nil for files
	all     []*logs.Tables // of every source that has them
	dir     *logs.RunDir   // of a single run directory
	study   string
	frozen  *study.Study // of a run directory that has one
	unread  int
}

// readSources reads all sources into one set of outcomes.
func readSources(ctx context.Context, e *env, sources []string, f compareFlags) (*comparedSource, error) {
	var filter *logs.Expr
	if f.filter != "" {
		x, err := logs.ParseExpr(f.filter)
		if err != nil {
			return nil, err
		}
		filter = &x
	}
	out := &comparedSource{options: report.CompareOptions{
		By: f.by, Within: f.within, Baseline: f.baseline, Outcome: f.outcome, Zero: f.zero, Force: f.force, Alpha: f.alpha,
	}}
	seen := make(map[runKey]string)
	var infos []fs.FileInfo
	for _, name := range sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := os.Stat(name)
		var part *comparedSource
		switch {
		case name == "-":
			part, err = readStdin(e, f, filter)
		case errors.Is(err, fs.ErrNotExist):
			return nil, inputErrorf("name a run directory, its tables, or a file of outcomes", "there is no %s", clean(name))
		case err != nil:
			return nil, fmt.Errorf("looking at %s: %w", clean(name), err)
		case info.IsDir():
			part, err = readFolder(e, name, f, filter)
		default:
			part, err = readOutcomeFile(e, name, name, f, filter)
		}
		if err != nil {
			return nil, err
		}
		for k, other := range infos {
			if info != nil && other != nil && os.SameFile(info, other) {
				return nil, inputErrorf("name every source once", "%s is the same as %s", clean(name), clean(sources[k]))
			}
		}
		infos = append(infos, info)
		if err := out.join(part, name, seen, len(sources) > 1); err != nil {
			return nil, err
		}
		if part.tables != nil {
			out.all = append(out.all, part.tables)
		}
	}
	if len(out.set.Rows) == 0 {
		hint := "the source holds no run yet"
		if f.filter != "" {
			hint = "no run matches --filter " + clean(f.filter)
		}
		return nil, inputErrorf(hint, "there is nothing to compare in %s", clean(strings.Join(sources, ", ")))
	}
	return out, nil
}

// A runKey identifies a run among all sources.
type runKey struct {
	config, scenario string
	repeat           int
}

// keyOfRun tells scenarios of one name apart by what they hold.
func keyOfRun(config, scenarioSHA, scenario string, repeat int) runKey {
	return runKey{config, scenarioSHA + "\x00" + scenario, repeat}
}

// join adds the rows of one source.
func (s *comparedSource) join(part *comparedSource, name string, seen map[runKey]string, many bool) error {
	if s.set == nil {
		options := s.options
		*s = *part
		options.Outcome = part.set.ValueName
		options.Families, options.Primary, options.Episodes, options.Notes = part.options.Families, part.options.Primary, part.options.Episodes, part.options.Notes
		options.Banners = part.options.Banners
		if part.options.Alpha != 0 {
			options.Alpha = part.options.Alpha
		}
		s.options = options
	} else {
		if s.set.ValueName != part.set.ValueName {
			return inputErrorf("compare sources of one outcome", "%s holds %s, the sources before it %s", clean(name), clean(part.set.ValueName), clean(s.set.ValueName))
		}
		if s.set.Cap != part.set.Cap {
			return inputErrorf("compare runs of equally many turns", "%s has the cap %v, the sources before it %v", clean(name), part.set.Cap, s.set.Cap)
		}
		s.set.Rows = append(s.set.Rows, part.set.Rows...)
		s.set.Problems = append(s.set.Problems, part.set.Problems...)
		s.unread += part.unread
		s.options.Episodes = s.options.Episodes && part.options.Episodes
		s.options.Notes = append(s.options.Notes, part.options.Notes...)
		s.options.Banners = append(s.options.Banners, part.options.Banners...)
		s.options.Families = append(s.options.Families, part.options.Families...)
		s.dir, s.tables, s.study = nil, nil, ""
		for i := range s.options.Families {
			s.options.Families[i].Departure = "pooled sources"
		}
	}
	if !many {
		return nil
	}
	for i := range part.set.Rows {
		row := &part.set.Rows[i]
		k := keyOfRun(row.Config, row.ScenarioSHA, row.Scenario, row.Repeat)
		if before, dup := seen[k]; dup && before != name {
			return inputErrorf("leave one of the sources out, or use --filter", "%s/%s#%d is in %s and in %s", clean(row.Config), clean(row.Scenario), row.Repeat, clean(before), clean(name))
		}
		seen[k] = name
	}
	return nil
}

// readFolder reads a run directory or a folder of tables.
func readFolder(e *env, name string, f compareFlags, filter *logs.Expr) (*comparedSource, error) {
	for _, flag := range []string{"config-col", "scenario-col", "value-col", "repeat-col", "status-col", "cap"} {
		if f.given(flag) {
			return nil, inputErrorf("leave it out", "--%s is for outcome files; %s is a folder", flag, clean(name))
		}
	}
	part := &comparedSource{}
	part.options.Episodes = true
	judges := &logs.RunDir{Root: name} // of whom verdicts/ knows
	if _, err := os.Stat(filepath.Join(name, "episodes.parquet")); err == nil {
		t, err := logs.ReadTablesWith(name, logs.ReadOptions{Outcomes: true})
		if err != nil {
			return nil, err
		}
		part.tables = t
		if d, err := logs.OpenRunDir(filepath.Dir(filepath.Clean(name))); err == nil && filepath.Clean(d.TablesDir()) == filepath.Clean(name) {
			judges = d
			if err := part.useStudy(d, f); err != nil {
				return nil, err
			}
		}
	} else {
		d, err := logs.OpenRunDir(name)
		if err != nil {
			return nil, err
		}
		t, problems, err := logs.ReadForOutcomes(d, readProgress(e))
		if err != nil {
			return nil, err
		}
		sayProblems(e, problems)
		part.tables, part.unread, part.dir = t, len(problems), d
		judges = d
		if err := part.useStudy(d, f); err != nil {
			return nil, err
		}
	}
	if err := part.filterTables(filter); err != nil {
		return nil, err
	}
	if f.table != nil {
		if err := part.reprice(e, f.table, f.prices); err != nil {
			return nil, err
		}
	}
	if err := part.distrust(judges); err != nil {
		return nil, err
	}
	outcome := f.outcome
	if outcome == "" {
		outcome = part.options.Primary
	}
	if outcome == "" {
		outcome = part.tables.UsualOutcome()
	}
	set, err := part.tables.Outcomes(outcome)
	if err != nil {
		return nil, err
	}
	if part.unread > 0 {
		part.options.Notes = append(part.options.Notes, report.Warning{Code: report.CodeUnreadable, Text: fmt.Sprintf("%d records of the journals could not be read and are missing here", part.unread)})
	}
	part.options.Notes = append(part.options.Notes, report.DriftNotes(report.SummarizeRuns(part.tables))...)
	part.set = set
	return part, nil
}

// distrust notes that causes rest on a judge whom no audit has validated.
func (s *comparedSource) distrust(d *logs.RunDir) error {
	if !slices.ContainsFunc(s.tables.Verdicts, func(v logs.VerdictRow) bool { return v.AnnotatorKind == logs.AnnotatorJudge }) {
		return nil
	}
	book, err := runBook(d)
	if err != nil {
		return err
	}
	banner, err := classify.Unvalidated(d, s.tables, book)
	if err == nil && banner != "" {
		s.options.Banners = append(s.options.Banners, banner)
	}
	return err
}

// useStudy takes the declared families from the study of a run directory. A comparison that departs from what
// was declared is exploratory.
func (s *comparedSource) useStudy(d *logs.RunDir, f compareFlags) error {
	if _, err := os.Stat(d.StudyFile()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	st, err := study.LoadFrozen(d)
	if err != nil {
		return err
	}
	s.study, s.frozen = st.Name, st
	s.options.Primary = st.Analysis.Outcome
	var departures []string
	if f.given("alpha") && f.alpha != st.Analysis.Alpha {
		departures = append(departures, "--alpha "+strconv.FormatFloat(f.alpha, 'g', -1, 64))
	} else {
		s.options.Alpha = st.Analysis.Alpha
	}
	if f.zero == "pratt" {
		departures = append(departures, "--zero pratt")
	}
	if f.filter != "" {
		departures = append(departures, "--filter")
	}
	for _, fam := range st.Families {
		s.options.Families = append(s.options.Families, report.DeclaredFamily{
			Name: fam.Name, Pairs: fam.Pairs, Outcome: fam.Outcome, Declared: true, Departure: strings.Join(departures, ", "),
		})
	}
	return nil
}

// filterTables keeps the episodes that match, and the rows that belong to them.
func (s *comparedSource) filterTables(filter *logs.Expr) error {
	if filter == nil {
		return nil
	}
	t := &logs.Tables{}
	keep := make(map[string]bool)
	for i := range s.tables.Episodes {
		row := &s.tables.Episodes[i]
		ok, err := filter.Match(row.Get)
		if err != nil {
			return err
		}
		if ok {
			keep[row.Episode] = true
			t.Episodes = append(t.Episodes, *row)
		}
	}
	for _, row := range s.tables.Turns {
		if keep[row.Episode] {
			t.Turns = append(t.Turns, row)
		}
	}
	for _, row := range s.tables.Attempts {
		if keep[row.Episode] {
			t.Attempts = append(t.Attempts, row)
		}
	}
	for _, row := range s.tables.Checks {
		if keep[row.Episode] {
			t.Checks = append(t.Checks, row)
		}
	}
	for _, row := range s.tables.Verdicts {
		if keep[row.Episode] {
			t.Verdicts = append(t.Verdicts, row)
		}
	}
	s.tables = t
	return nil
}

// readOutcomeFile reads a file of outcomes; shown is its name in messages.
func readOutcomeFile(e *env, path, shown string, f compareFlags, filter *logs.Expr) (*comparedSource, error) {
	if f.table != nil {
		return nil, inputErrorf("leave it out, or name a run directory or its tables", "--prices: %s is a file of outcomes, which holds no tokens to price", clean(shown))
	}
	cols := f.columns
	if f.outcome != "" {
		if cols.Value != "" && cols.Value != f.outcome {
			return nil, inputErrorf("use one of them", "--outcome %s and --value-col %s name different columns of %s", clean(f.outcome), clean(cols.Value), clean(shown))
		}
		cols.Value = f.outcome
	}
	set, err := logs.ReadOutcomes(path, cols)
	if err != nil {
		return nil, err
	}
	if !e.Quiet {
		for _, g := range set.Guesses {
			e.say("%s: %s", clean(shown), clean(g))
		}
	}
	for i, p := range set.Problems {
		if i == 20 {
			e.say("%d more records could not be read", len(set.Problems)-i)
			break
		}
		e.say("%s", clean(p.String()))
	}
	if filter != nil {
		kept := set.Rows[:0]
		for i := range set.Rows {
			ok, err := filter.Match(outcomeKeys(&set.Rows[i]))
			if err != nil {
				return nil, err
			}
			if ok {
				kept = append(kept, set.Rows[i])
			}
		}
		set.Rows = kept
	}
	return &comparedSource{set: set}, nil
}

// outcomeKeys gives a filter the values of one row: its columns, and the factors its name holds.
func outcomeKeys(row *logs.Outcome) func(string) (string, bool) {
	return func(key string) (string, bool) {
		switch key {
		case "config":
			return row.Config, true
		case "scenario":
			return row.Scenario, true
		case "repeat":
			return strconv.Itoa(row.Repeat), true
		case "status":
			return row.Status, true
		}
		if v, ok := row.Factors[key]; ok {
			return v, true
		}
		factors, _ := report.ParseConfig(row.Config)
		v, ok := factors[key]
		return v, ok
	}
}

// readStdin reads outcomes from stdin.
func readStdin(e *env, f compareFlags, filter *logs.Expr) (*comparedSource, error) {
	dir, err := os.MkdirTemp("", "stint-stdin-")
	if err != nil {
		return nil, fmt.Errorf("keeping stdin in a file: %w", err)
	}
	defer os.RemoveAll(dir)
	path, err := saveStdin(e.Stdin, func(ext string) (io.WriteCloser, string, error) {
		name := filepath.Join(dir, "stdin"+ext)
		w, err := os.Create(name)
		return w, name, err
	})
	if err != nil {
		return nil, err
	}
	return readOutcomeFile(e, path, "stdin", f, filter)
}
