package logs

import "encoding/json"

// RecordVersion is the version of the journal format written into every line as "v".
const RecordVersion = 1

// Record is one line of an episode's journal: an envelope around one typed Data value.
// The last key of a line, chain, is the SHA-256 (hex) over the previous line's chain (for the
// first line the episode id) and the bytes of this line that stand before the chain key, so a
// torn, changed, missing or reordered line is visible.
type Record struct {
	V       int             `json:"v"`
	Seq     int64           `json:"seq"`     // from 0
	TWall   string          `json:"t_wall"`  // RFC 3339, UTC, milliseconds
	TMono   float64         `json:"t_mono"`  // seconds since this process opened the journal
	Episode string          `json:"episode"` // the episode's id (12 hex digits)
	Turn    *int            `json:"turn"`    // null for episode.* and resume
	Attempt *int            `json:"attempt"` // null unless the record belongs to one attempt
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
	Chain   string          `json:"chain"`

	// Offset and Length place the line in the journal file; they are not part of it.
	Offset int64 `json:"-"`
	Length int64 `json:"-"`
}

// The record types, in the order in which an episode produces them.
const (
	TypeEpisodeStart = "episode.start"
	TypeResume       = "resume"
	TypeTurnStart    = "turn.start"
	TypeAttemptStart = "attempt.start"
	TypeAgentExit    = "agent.exit"
	TypeUsage        = "usage"
	TypeSnapshot     = "snapshot"
	TypeBuild        = "build"
	TypeServerReady  = "server.ready"
	TypeServerExit   = "server.exit"
	TypeCheckFail    = "check.fail"
	TypeSuiteEnd     = "suite.end"
	TypeGradeEnd     = "grade.end"
	TypeFeedbackSent = "feedback.sent"
	TypeVoid         = "void"
	TypeTurnEnd      = "turn.end"
	TypeEpisodeEnd   = "episode.end"
)

// EpisodeStart is the first record: what is run, on what, by whom.
type EpisodeStart struct {
	Study          string            `json:"study"`
	Config         string            `json:"config"` // MODEL+HARNESS/FEEDBACK/rK
	Model          ModelAsked        `json:"model"`
	Harness        HarnessUsed       `json:"harness"`
	Feedback       string            `json:"feedback"`
	Retries        int               `json:"retries"`
	ProcessRetries int               `json:"process_retries"`
	Session        string            `json:"session"`
	Delivery       string            `json:"delivery"`
	Mode           string            `json:"mode"`
	Scenario       ScenarioRef       `json:"scenario"`
	Repeat         int               `json:"repeat"` // from 1
	Seed           uint64            `json:"seed"`
	TurnsMax       int               `json:"turns_max"`
	Sandbox        SandboxUsed       `json:"sandbox"`
	Prices         string            `json:"prices"`            // name or hash of the price table
	Stint          string            `json:"stint"`             // version of stint
	Factors        map[string]string `json:"factors,omitempty"` // further axes that vary in the study
	// Ungraded says that no suite was run: what a simulated agent planted is taken for the grade.
	Ungraded bool `json:"ungraded,omitempty"`
}

// ModelAsked names the model of a configuration: Asked is its name in the study, ID what the provider is asked for.
type ModelAsked struct {
	Asked string `json:"asked"`
	ID    string `json:"id,omitempty"`
}

// HarnessUsed identifies the program around the model.
type HarnessUsed struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	FileSHA string `json:"file_sha,omitempty"`
}

// ScenarioRef identifies a scenario: its name in the set, its content hash, and the versions of the generators that made it.
type ScenarioRef struct {
	ID       string            `json:"id"`
	Content  string            `json:"content"`
	Versions map[string]string `json:"versions,omitempty"`
}

// SandboxUsed says where the agent and its servers ran.
type SandboxUsed struct {
	Kind        string `json:"kind"`
	Fingerprint string `json:"fingerprint"`
}

// Resume opens every stretch of an episode and names the host that runs it; epoch 1 follows episode.start.
type Resume struct {
	Epoch int    `json:"epoch"`
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	// Left says that the process before this one left the episode in order; if not, it died or was on another machine.
	Left bool `json:"left,omitempty"`
}

// TurnStart describes one request to the agent. Turn 0 is the build.
type TurnStart struct {
	Operation string        `json:"operation"` // id, for example set_range:9b1f42c0
	Name      string        `json:"name"`      // operation name, for example set_range; build for turn 0
	Label     string        `json:"label"`     // A, T, L, R, D, B
	Clauses   ClauseChanges `json:"clauses"`
	Suite     SuiteRef      `json:"suite"`
	ChangeSHA string        `json:"change_sha"` // blob
	SpecSHA   string        `json:"spec_sha"`   // blob
}

// ClauseChanges lists what a turn added, changed and removed.
type ClauseChanges struct {
	Added   []ClauseRef `json:"added"`
	Changed []ClauseRef `json:"changed"`
	Removed []string    `json:"removed"`
}

// ClauseRef is a clause as the tables keep it.
type ClauseRef struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// SuiteRef names the suite of a turn. ByAge counts checks whose youngest clause is new, changed or old.
type SuiteRef struct {
	SHA    string         `json:"sha"` // blob
	Checks int            `json:"checks"`
	ByAge  map[string]int `json:"by_age"`
}

// AttemptStart opens one attempt. Kind is first, retry or process_retry.
type AttemptStart struct {
	Kind         string `json:"kind"`
	PromptSHA    string `json:"prompt_sha"`    // blob
	PromptTokens int64  `json:"prompt_tokens"` // estimate: bytes / 4, rounded up
}

// AgentExit says how the agent program ended.
type AgentExit struct {
	Exit       *int    `json:"exit"`             // null if it ended by a signal or never started
	Signal     string  `json:"signal"`           // "" if none
	By         string  `json:"by"`               // self, limit, stint, oom
	Limit      string  `json:"limit"`            // wall, tokens, requests, disk, memory, processes; "" if none
	Completion string  `json:"completion"`       // clean, cut, empty, never_started
	Detail     string  `json:"detail,omitempty"` // one line: what was seen
	AgentS     float64 `json:"agent_s"`          // seconds
	ToolCalls  int     `json:"tool_calls"`
	Log        LogRef  `json:"log"`
	Gateway    *LogRef `json:"gateway,omitempty"` // what the gateway saw, for agents that are programs
}

// LogRef is a raw agent log: the reader that understands it and its blob.
type LogRef struct {
	Reader string `json:"reader"`
	Blob   string `json:"blob"`
}

// Usage is what an attempt consumed. In excludes cached tokens. A null count is unknown, never zero.
type Usage struct {
	Via           string   `json:"via"` // gateway or reader
	ModelReturned string   `json:"model_returned"`
	In            *int64   `json:"in"`
	Cached        *int64   `json:"cached"`
	CacheWrite    *int64   `json:"cache_write"`
	Out           *int64   `json:"out"`
	Reasoning     *int64   `json:"reasoning"`
	Requests      *int64   `json:"requests"`
	USD           *float64 `json:"usd"`
	USDNoCache    *float64 `json:"usd_nocache"`
}

// SnapshotTaken names the state of workspace and HOME after an attempt. Tree and HomeSHA are snapshot hashes.
type SnapshotTaken struct {
	Tree    string `json:"tree"`
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	LOC     int64  `json:"loc"`
	Added   int64  `json:"added"`
	Deleted int64  `json:"deleted"`
	HomeSHA string `json:"home_sha"` // "" = null: not kept
}

// Build is the outcome of build.sh; absent when there is none.
type Build struct {
	MS      float64 `json:"ms"`
	Exit    *int    `json:"exit"`
	LogBlob string  `json:"log_blob"`
}

// ServerReady says that a world's server answered /health.
type ServerReady struct {
	World     string  `json:"world"`
	MS        float64 `json:"ms"`
	KeepAlive *bool   `json:"keep_alive,omitempty"` // first world only
}

// ServerExit says how a world's server ended when stint had not asked it to, or that it never became ready.
type ServerExit struct {
	World   string  `json:"world"`
	MS      float64 `json:"ms"`
	Exit    *int    `json:"exit"`
	Signal  string  `json:"signal,omitempty"`
	Reason  string  `json:"reason"` // exited, start_timeout, start_unhealthy, crashed, no_start_sh, ...
	LogBlob string  `json:"log_blob"`
}

// CheckFail is one check that did not pass.
type CheckFail struct {
	Check      string   `json:"check"`
	Title      string   `json:"title"`
	Clauses    []string `json:"clauses"`
	Category   string   `json:"category"`
	Intent     string   `json:"intent"`
	Mutation   string   `json:"mutation"`
	Introduced int      `json:"introduced"`
	Age        string   `json:"age"`         // new, changed, old
	LastPassed *int     `json:"last_passed"` // last earlier turn in which this check passed; null = never
	Request    string   `json:"request"`     // the failing request, one line
	Expected   string   `json:"expected"`
	Actual     string   `json:"actual"`
	Confirmed  *bool    `json:"confirmed"` // true: failed alone too; false: passed alone; null: not tried
	Status     string   `json:"status"`    // fail, error, not_run
	Blob       string   `json:"blob"`      // requests and responses
}

// SuiteEnd sums up the grading run.
type SuiteEnd struct {
	Checks   int     `json:"checks"`
	Failed   int     `json:"failed"`
	Requests int     `json:"requests"`
	MS       float64 `json:"ms"`
	Runs     int     `json:"runs"`
	Flaky    bool    `json:"flaky"`
}

// GradeEnd is the grade of one attempt. Passed is null when the fault was ours.
type GradeEnd struct {
	Passed *bool   `json:"passed"`
	Reason string  `json:"reason"` // passed, checks, build, start, crash, suite_time, snapshot_too_large; passed null: bench_reference, bench_grader
	GradeS float64 `json:"grade_s"`
	Result string  `json:"result"` // blob: the whole result, from which feedback is rendered again on resume
}

// FeedbackSent says what the agent was told about the failed attempt.
type FeedbackSent struct {
	Level   string `json:"level"`
	SHA     string `json:"sha"` // blob
	Bytes   int    `json:"bytes"`
	Omitted int    `json:"omitted"` // failing checks left out
}

// Void says that an attempt does not count. Reason is rate_limit, provider_error, sandbox, host, setup, budget, operator or process_retry.
type Void struct {
	Reason   string `json:"reason"`
	Evidence string `json:"evidence"`
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Passed       bool `json:"passed"`
	AttemptsUsed int  `json:"attempts_used"`
}

// EpisodeEnd closes an episode. EndReason is failed, capped, budget, operator, provider, host or bench.
type EpisodeEnd struct {
	EndReason   string `json:"end_reason"`
	TurnsPassed int    `json:"turns_passed"`
	Evidence    string `json:"evidence,omitempty"`
}
