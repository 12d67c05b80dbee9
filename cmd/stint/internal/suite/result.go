package suite

import "time"

// Result is the outcome of grading one server with one suite. It is plain data.
type Result struct {
	Passed    *bool         `json:"passed"` // nil: the fault was ours, see Reason
	Reason    string        `json:"reason"` // passed, checks, start, crash, suite_time; passed nil: bench_reference, bench_grader
	Detail    string        `json:"detail,omitempty"`
	Checks    int           `json:"checks"`
	Failed    int           `json:"failed"`   // failing checks, those not run included
	Requests  int           `json:"requests"` // sent in the run that decided
	Runs      int           `json:"runs"`
	Flaky     bool          `json:"flaky"` // runs of the same server disagreed
	KeepAlive bool          `json:"keep_alive"`
	MS        float64       `json:"ms"` // wall time of all runs, starts included
	Failures  []Failure     `json:"failures"`
	Servers   []ServerEvent `json:"servers"` // of the run that decided
	Earlier   []RunSummary  `json:"earlier,omitempty"`
}

// The reasons of a result.
const (
	ReasonPassed    = "passed"
	ReasonChecks    = "checks"
	ReasonStart     = "start"
	ReasonCrash     = "crash"
	ReasonSuiteTime = "suite_time"
	ReasonReference = "bench_reference" // a failing check fails on the reference too
	ReasonGrader    = "bench_grader"    // no server could be tried: spawn or port failed
)

// RunSummary keeps what a run that did not decide found.
type RunSummary struct {
	Reason   string   `json:"reason"`
	Failed   []string `json:"failed"` // check ids
	Requests int      `json:"requests"`
	Bad      int      `json:"bad"` // requests without an answer, or with a 5xx one
}

// The states of a failing check.
const (
	StatusFail   = "fail"    // an answer differs from the expectation
	StatusError  = "error"   // could not be carried out: no answer came, or a row that it needs could not be made
	StatusNotRun = "not_run" // never reached
)

// Failure is one check that did not pass. Request, Expected and Actual are single lines of bounded length
// without control characters: "POST /orders {…}", "400; error.code = \"range\"", "201". Expected and Actual
// begin with the status, or with "no answer: ".
type Failure struct {
	Check
	Status    string     `json:"status"`
	Request   string     `json:"request"`
	Expected  string     `json:"expected"`
	Actual    string     `json:"actual"`
	Confirmed *bool      `json:"confirmed"` // true: failed alone too; false: passed alone; nil: not tried
	Exchanges []Exchange `json:"exchanges"`
	Hint      string     `json:"hint"` // one line: since when this is asked for
}

// Exchange is one request of a failing check and its answer.
type Exchange struct {
	Method   string `json:"method"`
	Path     string `json:"path"` // with the query, if there is one
	Body     string `json:"body,omitempty"`
	Status   int    `json:"status"` // 0: no answer
	Response string `json:"response,omitempty"`
	Cut      int    `json:"cut,omitempty"`   // bytes of the response left out
	Error    string `json:"error,omitempty"` // why there was no answer
}

// ServerEvent is what happened to a world's server: it became ready, or it ended without being asked to.
type ServerEvent struct {
	World     string     `json:"world"`
	Kind      string     `json:"kind"` // ready, exit
	MS        float64    `json:"ms"`   // ready: until /health answered; exit: since the start of the run
	End       *ServerEnd `json:"end,omitempty"`
	Reason    string     `json:"reason,omitempty"`     // exit: crashed, or the reason of a StartError
	KeepAlive *bool      `json:"keep_alive,omitempty"` // first world's ready
}

// ServerEnd is how a server process ended.
type ServerEnd struct {
	Exit   *int   `json:"exit"`
	Signal string `json:"signal,omitempty"`
	Log    string `json:"log"` // last 200 lines
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
