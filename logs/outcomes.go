package logs

import (
	"fmt"
	"strings"
)

// The words of Outcome.Status.
const (
	StatusFailed  = "failed"  // the value is exact
	StatusCapped  = "capped"  // the value is the cap: everything passed
	StatusStopped = "stopped" // the value is a lower bound: the run ended early for a reason that is not the agent's
)

// Outcome is one run of one configuration on one scenario.
type Outcome struct {
	Config      string
	Scenario    string
	ScenarioSHA string // content hash, the pairing key if there is one; "" for plain files
	Repeat      int    // from 1
	Value       *float64
	Status      string // failed, capped, stopped
	EndReason   string // of an episode; "" if incomplete or from a plain file
	EndL1       string // why it ended: drift, infra, bench, unknown; "" = no verdict
	EndLeaf     string // "" = no verdict, or one that names no leaf
	Incomplete  bool   // the episode has not ended: Status is stopped, Value so far
	USD         *float64
	Attempts    []int             // attempts used in each passed turn, from turn 0; nil if unknown
	Costs       *AttemptCosts     // of those attempts; only after [Tables.AddAttemptCosts]
	Factors     map[string]string // what the configuration is made of: model, harness, feedback, …
	File        string
	Line        int
}

// Pair returns the key by which outcomes of two configurations are matched.
func (o *Outcome) Pair() string {
	if o.ScenarioSHA != "" {
		return o.ScenarioSHA
	}
	return o.Scenario
}

// OutcomeSet is what the statistics start from.
type OutcomeSet struct {
	Rows       []Outcome
	ValueName  string  // the outcome, or the column it was read from
	Cap        float64 // the value of a run that passed everything; 0 = there is none
	Configs    []string
	Guesses    []string // what was not said and had to be guessed, one line each, to be printed
	Problems   []Problem
	Incomplete int // rows whose episode has not ended: everything shown is provisional
}

// OutcomeColumns names the columns of an outcome file. An empty name is guessed from the usual ones.
type OutcomeColumns struct {
	Config, Scenario, Value, Repeat, Status string
	// Cap is the value of a run that passed everything; 0 = nothing is capped.
	Cap float64
}

// OutcomeError is an outcome file that cannot be used.
type OutcomeError struct {
	File   string
	Line   int    // 0 = the file as a whole
	Column string // "" = the line as a whole
	Text   string
	Way    string // out
}

func (e *OutcomeError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Column != "" {
		at += fmt.Sprintf(": column %q", e.Column)
	}
	return at + ": " + e.Text
}

// Hint tells the way out.
func (e *OutcomeError) Hint() string { return e.Way }

// ExitCode is 2: the input is wrong.
func (e *OutcomeError) ExitCode() int { return 2 }

// OutcomeNames lists the outcomes [Tables.Outcomes] knows.
func OutcomeNames() []string { return []string{"turns_passed", "full", "share", "usd"} }

// UsualOutcome is what is compared when nobody said what: turns_passed, or share where a turn that fails ends nothing and
// the next one starts from correct code.
func (t *Tables) UsualOutcome() string {
	for i := range t.Episodes {
		if t.Episodes[i].Mode == modeTeleport {
			return "share"
		}
	}
	return "turns_passed"
}

// Outcomes turns episodes into outcomes, sorted as the table is.
//
//	turns_passed  T; Cap is turns_max. Not defined under teleport.
//	full          1 if every turn passed, else 0; a stopped run counts 0 so far
//	share         turns passed, wherever they stand, over turns_max
//	usd           cost; nil where it is unknown
//
// Status always tells how the episode ended. An episode that has not ended is read as stopped at the
// turns passed so far.
func (t *Tables) Outcomes(outcome string) (*OutcomeSet, error) {
	set := &OutcomeSet{ValueName: outcome}
	known := false
	for _, name := range OutcomeNames() {
		known = known || name == outcome
	}
	if !known {
		return nil, &OutcomeError{File: "tables", Text: fmt.Sprintf("there is no outcome %q", outcome), Way: "the outcomes are " + strings.Join(OutcomeNames(), ", ")}
	}
	turns := map[string][]TurnRow{}
	for _, row := range t.Turns {
		turns[row.Episode] = append(turns[row.Episode], row)
	}
	seen := map[string]bool{}
	for i := range t.Episodes {
		e := &t.Episodes[i]
		if outcome == "turns_passed" && e.Mode == modeTeleport {
			return nil, &OutcomeError{File: e.File, Text: "turns_passed is not defined in mode teleport", Way: "compare --outcome share"}
		}
		if outcome == "turns_passed" {
			if set.Cap != 0 && set.Cap != float64(e.TurnsMax) {
				return nil, &OutcomeError{File: e.File, Text: fmt.Sprintf("episodes of %d and of %.0f turns cannot be compared in turns passed", e.TurnsMax, set.Cap),
					Way: fmt.Sprintf("select one length, for example --filter turns_max:%d, or compare --outcome share", e.TurnsMax)}
			}
			set.Cap = float64(e.TurnsMax)
		}
		o := e.outcome(outcome, turns[e.Episode])
		if o.Incomplete {
			set.Incomplete++
		}
		set.Rows = append(set.Rows, o)
		if !seen[e.Config] {
			seen[e.Config] = true
			set.Configs = append(set.Configs, e.Config)
		}
	}
	return set, nil
}

// outcome reads one episode; turns are its rows in order.
func (r *EpisodeRow) outcome(name string, turns []TurnRow) Outcome {
	o := Outcome{
		Config: r.Config, Scenario: r.Scenario, ScenarioSHA: r.ScenarioSHA, Repeat: r.Repeat,
		Status: r.Status(), Incomplete: r.Validity == ValidityIncomplete, USD: r.CostUSD,
		Factors: r.Factors(), File: r.File, Line: 1,
	}
	if r.EndReason != nil {
		o.EndReason = *r.EndReason
	}
	if r.EndL1 != nil {
		o.EndL1 = *r.EndL1
	}
	if r.EndLeaf != nil {
		o.EndLeaf = *r.EndLeaf
	}
	passed, leading := 0, leadingPassed(turns)
	for _, t := range turns {
		if t.Passed != nil && *t.Passed {
			passed++
			if t.Turn < leading && t.AttemptsUsed != nil {
				o.Attempts = append(o.Attempts, *t.AttemptsUsed)
			}
		}
	}
	var v float64
	switch name {
	case "turns_passed":
		v = float64(leading)
		if r.TurnsPassed != nil {
			v = float64(*r.TurnsPassed)
		}
	case "full":
		if o.Status == StatusCapped {
			v = 1
		}
	case "share":
		v = float64(passed) / float64(max(r.TurnsMax, 1))
		if r.TurnsPassedShare != nil {
			v = *r.TurnsPassedShare
		}
	case "usd":
		if r.CostUSD == nil {
			return o
		}
		v = *r.CostUSD
	}
	o.Value = &v
	return o
}

// Status says how the episode ended: failed, capped or stopped. One that has not ended is stopped.
func (r *EpisodeRow) Status() string {
	if r.Validity != ValidityValid || r.EndReason == nil {
		return StatusStopped
	}
	return *r.EndReason
}

// Full says whether every turn passed.
func (r *EpisodeRow) Full() bool {
	return r.Validity == ValidityValid && r.EndReason != nil && *r.EndReason == StatusCapped
}

// Factors splits the configuration into what it is made of. Axes that only some studies vary are
// read from the end of its name: MODEL+HARNESS/FEEDBACK/rK/key=value.
func (r *EpisodeRow) Factors() map[string]string {
	f := map[string]string{
		"model": r.Model, "harness": r.Harness, "feedback": r.Feedback, "retries": fmt.Sprint(r.Retries),
		"process_retries": fmt.Sprint(r.ProcessRetries), "session": r.Session, "delivery": r.Delivery,
	}
	parts := strings.Split(r.Config, "/")
	for i := len(parts) - 1; i > 0; i-- {
		key, value, ok := strings.Cut(parts[i], "=")
		if !ok {
			break
		}
		f[key] = value
	}
	return f
}
