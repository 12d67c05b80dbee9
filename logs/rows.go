package logs

import (
	"cmp"
	"slices"
	"time"
)

// Tables are the rows of a study, sorted by their keys. Unknown values are nil, never zero.
type Tables struct {
	Episodes []EpisodeRow
	Turns    []TurnRow
	Clauses  []ClauseRow
	Attempts []AttemptRow
	Checks   []CheckRow
	Events   []EventRow // only if asked for: they are many
	Verdicts []VerdictRow
}

// TableNames lists the tables in the order in which they are written and printed.
func TableNames() []string {
	return []string{"episodes", "turns", "clauses", "attempts", "checks", "events", "verdicts"}
}

// Place says where in the run directory a row came from: the record that opened it.
type Place struct {
	File   string `col:"file"`   // slash-separated path from the run directory
	Offset int64  `col:"offset"` // of the record's line, in bytes
	Length int64  `col:"length"` // of the line, newline included
}

// Tokens counts what was consumed. Input excludes cached tokens.
type Tokens struct {
	Input      *int64 `col:"tokens_input"`
	Cached     *int64 `col:"tokens_cached"`
	CacheWrite *int64 `col:"tokens_cache_write"`
	Output     *int64 `col:"tokens_output"`
	Reasoning  *int64 `col:"tokens_reasoning"`
}

// ReportedTokens is the same count from the other source, when an attempt has two.
type ReportedTokens struct {
	ReportedInput      *int64 `col:"tokens_reported_input"`
	ReportedCached     *int64 `col:"tokens_reported_cached"`
	ReportedCacheWrite *int64 `col:"tokens_reported_cache_write"`
	ReportedOutput     *int64 `col:"tokens_reported_output"`
	ReportedReasoning  *int64 `col:"tokens_reported_reasoning"`
}

// EpisodeRow is one episode: one configuration working through one scenario.
type EpisodeRow struct {
	Study            string   `col:"study"`
	Episode          string   `col:"episode"` // id, 12 hex digits
	Config           string   `col:"config"`
	Model            string   `col:"model"`          // as the study calls it
	ModelReturned    *string  `col:"model_returned"` // as the provider named it; several are joined by ", "
	Harness          string   `col:"harness"`
	HarnessVersion   string   `col:"harness_version"`
	Feedback         string   `col:"feedback"`
	Retries          int      `col:"retries"`
	ProcessRetries   int      `col:"process_retries"`
	Session          string   `col:"session"`
	Delivery         string   `col:"delivery"`
	Scenario         string   `col:"scenario"`
	ScenarioSHA      string   `col:"scenario_sha"`
	Repeat           int      `col:"repeat"`
	Seed             uint64   `col:"seed"`
	TurnsMax         int      `col:"turns_max"`
	TurnsPassed      *int     `col:"turns_passed"`       // T; null while incomplete and under teleport
	ChangesPassed    *int     `col:"changes_passed"`     // max(T − 1, 0)
	TurnsPassedShare *float64 `col:"turns_passed_share"` // turns passed, wherever they stand, over turns_max; null while incomplete
	Mode             string   `col:"mode"`
	Validity         string   `col:"validity"`   // valid, stopped, incomplete
	EndReason        *string  `col:"end_reason"` // failed, capped, budget, operator, provider, host, bench
	// EndL1, EndLeaf and EndSource come from the verdict that counts of the last failed attempt, or of
	// the one it was caused by; of an episode stopped after void attempts from the last void reason.
	// They are null until there are verdicts.
	EndL1     *string    `col:"end_l1"`
	EndLeaf   *string    `col:"end_leaf"`
	EndSource *string    `col:"end_source"` // adjudicated, person, rule, contract, judge, or loop for a void reason
	Started   *time.Time `col:"started"`    // milliseconds, UTC
	WallS     *float64   `col:"wall_s"`     // seconds during which stint ran the episode, pauses left out
	Tokens
	CostUSD *float64 `col:"cost_usd"` // sums the attempts, tries replaced by a process retry included, void ones not; null if one is unknown
	// WastedTokens and WastedUSD sum the void attempts; zero without any.
	WastedTokens *int64   `col:"wasted_tokens"`
	WastedUSD    *float64 `col:"wasted_usd"`
	LOC          *int64   `col:"loc"`     // of the last snapshot
	Sandbox      string   `col:"sandbox"` // kind, a blank, fingerprint
	Place
}

// TurnRow is one request to the agent.
type TurnRow struct {
	Episode        string   `col:"episode"`
	Turn           int      `col:"turn"`
	Operation      string   `col:"operation"`
	OperationLabel string   `col:"operation_label"`
	ChangeText     *string  `col:"change_text"` // null if its blob is missing
	ClausesAdded   []string `col:"clauses_added"`
	ClausesChanged []string `col:"clauses_changed"`
	ClausesRemoved []string `col:"clauses_removed"`
	AttemptsUsed   *int     `col:"attempts_used"` // null while the turn has not ended
	Passed         *bool    `col:"passed"`        // null while the turn has not ended
	Checks         int      `col:"checks"`        // of its suite
	SuiteSHA       string   `col:"suite_sha"`
	Place
}

// ClauseRow is one clause of an episode as it stood last. Turns are those the episode reached.
type ClauseRow struct {
	Episode    string `col:"episode"`
	Clause     string `col:"clause"` // id
	Kind       string `col:"kind"`
	Title      string `col:"title"`
	Text       string `col:"text"`
	Introduced int    `col:"introduced"` // turn
	Changed    *int   `col:"changed"`    // last turn that changed it; null = never
	Removed    *int   `col:"removed"`    // turn; null = still there
	Place
}

// AttemptRow is one answer of the agent. A void one, and a try that a process retry replaced, has no
// attempt number; VoidOf says which number it had.
type AttemptRow struct {
	Episode       string   `col:"episode"`
	Turn          int      `col:"turn"`
	Attempt       *int     `col:"attempt"`
	VoidOf        *int     `col:"void_of"`
	VoidReason    *string  `col:"void_reason"`
	Kind          string   `col:"kind"`         // first, retry, process_retry
	Passed        *bool    `col:"passed"`       // null if it was not graded
	GradeReason   *string  `col:"grade_reason"` // passed, checks, build, start, crash, suite_time, snapshot_too_large, bench_reference, bench_grader
	Completion    *string  `col:"completion"`   // clean, cut, empty, never_started
	ExitCode      *int     `col:"exit_code"`
	Signal        *string  `col:"signal"`
	EndedBy       *string  `col:"ended_by"`       // self, stint, oom, or the limit that was reached: limit:wall, limit:tokens, …
	FeedbackBytes *int     `col:"feedback_bytes"` // what the agent was told afterwards; null if nothing
	AgentS        *float64 `col:"agent_s"`        // seconds
	GradeS        *float64 `col:"grade_s"`        // seconds
	Tokens
	ReportedTokens
	CostUSD      *float64 `col:"cost_usd"`
	Snapshot     *string  `col:"snapshot"` // tree blob
	Home         *string  `col:"home"`     // tree blob
	LOC          *int64   `col:"loc"`
	LinesAdded   *int64   `col:"lines_added"`
	LinesDeleted *int64   `col:"lines_deleted"`
	Files        *int     `col:"files"`
	Place
}

// CheckRow is one failed check of an attempt that counts. The failed checks of a try that a process
// retry replaced stay in the journal only.
type CheckRow struct {
	Episode        string   `col:"episode"`
	Turn           int      `col:"turn"`
	Attempt        int      `col:"attempt"`
	Check          string   `col:"check"`
	Clauses        []string `col:"clauses"`
	Category       string   `col:"category"`
	Intent         string   `col:"intent"`
	Mutation       string   `col:"mutation"`
	Status         string   `col:"status"`           // fail, error, not_run
	Introduced     int      `col:"introduced"`       // turn
	LastPassedTurn *int     `col:"last_passed_turn"` // null = never
	Age            string   `col:"age"`              // new, changed, old
	Request        string   `col:"request"`
	Expected       string   `col:"expected"`
	Actual         string   `col:"actual"`
	Confirmed      *bool    `col:"confirmed"` // null = not tried
	Place
}

// sortRows puts every table into the order of its key.
func (t *Tables) sortRows() {
	slices.SortStableFunc(t.Episodes, func(a, b EpisodeRow) int {
		return cmp.Or(cmp.Compare(a.Config, b.Config), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.Episode, b.Episode))
	})
	slices.SortStableFunc(t.Turns, func(a, b TurnRow) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Turn, b.Turn))
	})
	slices.SortStableFunc(t.Clauses, func(a, b ClauseRow) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Clause, b.Clause))
	})
	slices.SortStableFunc(t.Attempts, func(a, b AttemptRow) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Offset, b.Offset))
	})
	slices.SortStableFunc(t.Checks, func(a, b CheckRow) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Check, b.Check))
	})
	slices.SortStableFunc(t.Events, func(a, b EventRow) int {
		return cmp.Or(cmp.Compare(a.Episode, b.Episode), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.AttemptOffset, b.AttemptOffset), cmp.Compare(a.Seq, b.Seq))
	})
	sortVerdicts(t.Verdicts)
}
