package logs

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// role is what a column of an outcome file stands for.
type role int

const (
	configRole role = iota
	scenarioRole
	valueRole
	repeatRole
	statusRole
	numRoles
)

// roles lists the names under which people keep each column, in tiers: a name of an earlier tier
// wins over later ones, two of one tier are ambiguous.
var roles = [numRoles]struct {
	name, flag string
	needed     bool
	tiers      [][]string
}{
	configRole: {"config", "--config-col", true, [][]string{{"config"}, {"configuration", "config_name"},
		{"agent", "model", "system", "method", "harness", "variant", "treatment", "algorithm"}}},
	scenarioRole: {"scenario", "--scenario-col", true, [][]string{{"scenario"}, {"scenario_id", "scenario_name"},
		{"task", "task_id", "instance", "instance_id", "problem", "problem_id", "item", "case", "benchmark", "dataset", "question"}, {"seed"}}},
	valueRole:  {"value", "--value-col", true, [][]string{{"turns_passed"}, {"value"}, {"turns", "outcome", "score", "reward", "result", "metric", "accuracy"}}},
	repeatRole: {"repeat", "--repeat-col", false, [][]string{{"repeat"}, {"run", "trial", "replicate", "rep", "repetition", "epoch", "attempt_id"}}},
	statusRole: {"status", "--status-col", false, [][]string{{"status"}, {"outcome_status", "end_reason", "ended"}}},
}

// ReadOutcomes reads an outcome file: CSV, TSV, JSON lines or Parquet (flat columns), packed with
// gzip or zstd or not, one line per run. Columns that are not named are guessed and the guesses
// listed. Its errors name file, line and column and are of type *[OutcomeError] or *[TableError].
func ReadOutcomes(path string, cols OutcomeColumns) (*OutcomeSet, error) {
	if cols.Cap < 0 || math.IsNaN(cols.Cap) || math.IsInf(cols.Cap, 0) {
		return nil, &OutcomeError{File: path, Text: fmt.Sprintf("the cap %v is no number of turns", cols.Cap), Way: "give --cap the value of a run that passed everything, or leave it out"}
	}
	src, guesses, err := openCells(path)
	if err != nil {
		return nil, err
	}
	defer src.close()
	r := newOutcomeReader(path, cols)
	r.set.Guesses = guesses
	if err := r.assign(src.header()); err != nil {
		return nil, err
	}
	src.choose(r.chosen)
	if t, ok := src.(*textCells); ok {
		r.rest = t.rest
	}
	r.set.Rows = make([]Outcome, 0, block)
	for {
		cells, line, err := src.row()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := r.add(cells, line); err != nil {
			return nil, err
		}
	}
	return r.finish()
}

type outcomeReader struct {
	path   string
	cols   OutcomeColumns
	set    *OutcomeSet
	names  [numRoles]string // columns in use, "" if none
	at     [numRoles]int    // their place in a row, -1 if none
	chosen []int

	configs, scenarios interner
	seen               runsSeen
	capped             int       // line of the first row whose status is capped
	values             []float64 // of the newest rows
	rest               func() float64
}

// outcomeCell is a configuration on a scenario.
type outcomeCell struct{ config, scenario int }

// runsSeen remembers the line of every run. Repeats are mostly counted from 1, so that a list per cell
// takes a tenth of the time and space of one map for all.
type runsSeen struct {
	cells map[outcomeCell]*seenCell
	at    outcomeCell // the cell of the last row, often that of the next one too
	last  *seenCell
}

type seenCell struct {
	n     int         // runs
	lines []int       // by repeat, 0 = not seen; no longer than in proportion to n
	odd   map[int]int // repeats that are not close to the others
}

// add notes a run and returns the line at which it was seen before, 0 if it was not.
func (s *runsSeen) add(at outcomeCell, repeat, line int) (before int) {
	c := s.last
	if c == nil || at != s.at {
		if c = s.cells[at]; c == nil {
			c = &seenCell{}
			s.cells[at] = c
		}
		s.at, s.last = at, c
	}
	switch {
	case repeat >= 0 && repeat < len(c.lines) && c.lines[repeat] != 0:
		return c.lines[repeat]
	case c.odd[repeat] != 0:
		return c.odd[repeat]
	}
	c.n++
	switch {
	case repeat >= 0 && repeat < 2*c.n+8:
		for len(c.lines) <= repeat {
			c.lines = append(c.lines, 0)
		}
		c.lines[repeat] = line
	default:
		if c.odd == nil {
			c.odd = map[int]int{}
		}
		c.odd[repeat] = line
	}
	return 0
}

// interner keeps one copy of every distinct name, and their order.
type interner struct {
	index map[string]int
	names []string
	last  int // the name asked for last, often the next one too
}

func (n *interner) id(s string) int {
	if n.last < len(n.names) && n.names[n.last] == s {
		return n.last
	}
	if i, ok := n.index[s]; ok {
		n.last = i
		return i
	}
	if n.index == nil {
		n.index = map[string]int{}
	}
	s = strings.Clone(s)
	i := len(n.names)
	n.index[s], n.names, n.last = i, append(n.names, s), i
	return i
}

// assign finds the column of every role, as named or guessed.
func (r *outcomeReader) assign(header []string) error {
	asked := [numRoles]string{r.cols.Config, r.cols.Scenario, r.cols.Value, r.cols.Repeat, r.cols.Status}
	taken := map[int]bool{}
	var column [numRoles]int
	for k, name := range asked {
		column[k] = -1
		if name == "" {
			continue
		}
		if column[k] = slices.Index(header, name); column[k] < 0 {
			return &OutcomeError{File: r.path, Text: fmt.Sprintf("there is no column %q", name), Way: "the columns are " + quoteAll(header)}
		}
		taken[column[k]] = true
	}
	for k := range asked {
		if asked[k] != "" {
			continue
		}
		i, err := r.guess(role(k), header, taken)
		if err != nil {
			return err
		}
		if column[k] = i; i >= 0 {
			taken[i] = true
			r.set.Guesses = append(r.set.Guesses, fmt.Sprintf("%s = column %q (guessed)", roles[k].name, header[i]))
		}
	}
	for k, i := range column {
		r.at[k] = -1
		if i >= 0 {
			r.names[k], r.at[k] = header[i], len(r.chosen)
			r.chosen = append(r.chosen, i)
		}
	}
	r.set.ValueName = r.names[valueRole]
	return nil
}

func (r *outcomeReader) guess(k role, header []string, taken map[int]bool) (int, error) {
	for _, tier := range roles[k].tiers {
		var found []int
		for i, name := range header {
			if !taken[i] && slices.Contains(tier, strings.ToLower(name)) {
				found = append(found, i)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		var names []string
		for _, i := range found {
			names = append(names, header[i])
		}
		return 0, &OutcomeError{File: r.path, Text: fmt.Sprintf("several columns could be the %s: %s", roles[k].name, quoteAll(names)),
			Way: fmt.Sprintf("say which: %s %s", roles[k].flag, names[0])}
	}
	if !roles[k].needed {
		return -1, nil
	}
	return 0, &OutcomeError{File: r.path, Text: fmt.Sprintf("no column looks like the %s", roles[k].name),
		Way: fmt.Sprintf("say which one it is with %s; the columns are %s", roles[k].flag, quoteAll(header))}
}

// quoteAll lists column names for a message, the first thirty of them.
func quoteAll(names []string) string {
	var q []string
	for i, n := range names {
		if i == 30 {
			q = append(q, fmt.Sprintf("… (%d in all)", len(names)))
			break
		}
		q = append(q, strconv.Quote(clip(n, 60)))
	}
	return strings.Join(q, ", ")
}

func (r *outcomeReader) fail(k role, line int, way, format string, args ...any) error {
	return &OutcomeError{File: r.path, Line: line, Column: r.names[k], Text: fmt.Sprintf(format, args...), Way: way}
}

func (r *outcomeReader) cell(cells []string, k role) string {
	if r.at[k] < 0 {
		return ""
	}
	return strings.TrimSpace(cells[r.at[k]])
}

func (r *outcomeReader) add(cells []string, line int) error {
	for _, k := range []role{configRole, scenarioRole} {
		if r.cell(cells, k) == "" {
			return r.fail(k, line, "every line needs a "+roles[k].name, "it is empty")
		}
	}
	at, repeat := outcomeCell{r.configs.id(r.cell(cells, configRole)), r.scenarios.id(r.cell(cells, scenarioRole))}, 1
	if r.at[repeatRole] >= 0 {
		text := r.cell(cells, repeatRole)
		n, err := strconv.Atoi(text)
		if err != nil {
			return r.fail(repeatRole, line, "number the runs of one configuration on one scenario 1, 2, 3", "%q is no whole number", clip(text, 40))
		}
		repeat = n
	}
	value, err := r.value(cells, line)
	if err != nil {
		return err
	}
	status, err := r.status(cells, line, value)
	if err != nil {
		return err
	}
	config, scenario := r.configs.names[at.config], r.scenarios.names[at.scenario]
	if first := r.seen.add(at, repeat, line); first != 0 {
		return r.duplicate(config, scenario, repeat, first, line)
	}
	o := r.keep(value)
	o.Config, o.Scenario, o.Repeat, o.Status, o.File, o.Line = config, scenario, repeat, status, r.path, line
	return nil
}

// block is how many values share one slice, and after how many rows the number of all is estimated:
// growing a slice of a million outcomes step by step would copy them several times.
const block = 1 << 14

// keep appends an outcome with its value and returns it.
func (r *outcomeReader) keep(value float64) *Outcome {
	rows := r.set.Rows
	if len(rows)%block == 0 {
		r.values = make([]float64, 0, block)
		if r.rest != nil && len(rows) == cap(rows) && len(rows) > 0 {
			rows = slices.Grow(rows, int(float64(len(rows))*min(r.rest(), 1<<10))+block)
		}
	}
	r.values = append(r.values, value)
	r.set.Rows = append(rows, Outcome{Value: &r.values[len(r.values)-1]})
	return &r.set.Rows[len(rows)]
}

func (r *outcomeReader) duplicate(config, scenario string, repeat, first, line int) error {
	way := "drop one of them, or name the column that numbers repeated runs with --repeat-col"
	what := fmt.Sprintf("%q on %q, repeat %d", clip(config, 60), clip(scenario, 60), repeat)
	if r.at[repeatRole] >= 0 {
		way = "every (config, scenario, repeat) may occur once: drop one of them or correct its repeat"
	}
	return &OutcomeError{File: r.path, Line: line, Text: fmt.Sprintf("%s already stands in line %d", what, first), Way: way}
}

// value reads a number. NaN, infinities and negative turns are refused: no statistic is defined on them.
func (r *outcomeReader) value(cells []string, line int) (float64, error) {
	text := r.cell(cells, valueRole)
	v, err := strconv.ParseFloat(text, 64)
	const way = "a run without a result is left out, or given with status stopped and the turns passed before the stop"
	switch {
	case text == "":
		return 0, r.fail(valueRole, line, way, "it is empty")
	case strings.EqualFold(text, "true"):
		return 1, nil
	case strings.EqualFold(text, "false"):
		return 0, nil
	case err != nil && !math.IsInf(v, 0):
		return 0, r.fail(valueRole, line, "numbers are written like 12 or 0.5, with a point", "%q is no number", clip(text, 40))
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, r.fail(valueRole, line, way, "%s is no finite number", clip(text, 40))
	case v < 0:
		return 0, r.fail(valueRole, line, "turns are counted from 0; a score with negative values must be shifted first", "%s is negative", clip(text, 40))
	case r.cols.Cap > 0 && v > r.cols.Cap:
		return 0, r.fail(valueRole, line, "the cap is the value of a run that passed everything (build + changes): correct --cap or the line", "%s is above the cap %v", clip(text, 40), r.cols.Cap)
	}
	return v, nil
}

// status reads how the run ended. Without the column a value at the cap is capped and the rest failed.
func (r *outcomeReader) status(cells []string, line int, value float64) (string, error) {
	word := strings.ToLower(r.cell(cells, statusRole))
	capped := r.cols.Cap > 0 && value == r.cols.Cap
	switch {
	case word == "" && r.at[statusRole] >= 0 && r.names[statusRole] != "end_reason":
		return "", r.fail(statusRole, line, "the words are failed, capped, stopped", "it is empty")
	case word == "" && r.at[statusRole] >= 0:
		return StatusStopped, nil // an episode that has not ended
	case word == "" && capped, word == StatusCapped && (capped || r.cols.Cap == 0):
		if r.capped == 0 {
			r.capped = line
		}
		return StatusCapped, nil
	case word == StatusCapped:
		return "", r.fail(statusRole, line, "a capped run has the value of --cap", "the run is capped, but its value %v is not the cap %v", value, r.cols.Cap)
	case word == StatusFailed && capped:
		return "", r.fail(statusRole, line, "a run at the cap passed everything: its status is capped", "the run failed, but its value is the cap %v", r.cols.Cap)
	case word == "", word == StatusFailed:
		return StatusFailed, nil
	case word == StatusStopped, slices.Contains(stopReasons, word):
		return StatusStopped, nil
	}
	return "", r.fail(statusRole, line, "the words are failed, capped, stopped", "%q is no status", clip(word, 40))
}

// finish settles the cap: a file that calls rows capped without --cap says itself what the cap is.
func (r *outcomeReader) finish() (*OutcomeSet, error) {
	set := r.set
	set.Configs = r.configs.names
	if len(set.Rows) == 0 {
		return nil, &OutcomeError{File: r.path, Text: "it has a header and no rows", Way: "an outcome file has one line per run"}
	}
	if set.Cap > 0 || r.capped == 0 {
		return set, nil
	}
	for _, o := range set.Rows {
		if o.Status == StatusCapped {
			set.Cap = max(set.Cap, *o.Value)
		}
	}
	for _, o := range set.Rows {
		if o.Status == StatusCapped && *o.Value != set.Cap || *o.Value > set.Cap {
			return nil, r.fail(valueRole, o.Line, "give the cap with --cap, and correct the lines that do not fit", "rows called capped have the value %v, this %s one has %v", set.Cap, o.Status, *o.Value)
		}
	}
	set.Guesses = append(set.Guesses, fmt.Sprintf("cap = %v, the value of the rows called capped (guessed)", set.Cap))
	return set, nil
}
