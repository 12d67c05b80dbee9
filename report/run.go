package report

import (
	"fmt"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// CodeConfigDrifted marks a configuration whose episodes ran with different versions of something.
const CodeConfigDrifted = "CONFIG_DRIFTED"

// A RunSummary is what was run for one configuration.
type RunSummary struct {
	Config         string   `json:"config"`
	Model          string   `json:"model"`
	ModelReturned  []string `json:"model_returned"`
	Harness        string   `json:"harness"`
	HarnessVersion []string `json:"harness_version"`
	Feedback       string   `json:"feedback"`
	Retries        int      `json:"retries"`
	Session        string   `json:"session"`
	Sandbox        []string `json:"sandbox"`
	Episodes       int      `json:"episodes"`
	Valid          int      `json:"valid"`
	Stopped        int      `json:"stopped"`
	Incomplete     int      `json:"incomplete"`
	Attempts       int      `json:"attempts"`
	Tokens         *int64   `json:"tokens"` // all kinds; nil if those of an episode are unknown
	USD            *float64 `json:"usd"`    // nil if the cost of an episode is unknown
	WastedUSD      *float64 `json:"wasted_usd"`
}

// SummarizeRuns describes what was run, one entry per configuration in the order of names.
func SummarizeRuns(t *logs.Tables) []RunSummary {
	type sums struct {
		RunSummary
		versions, returned, sandboxes map[string]bool
		tokens                        int64
		usd, wasted                   float64
		unknownTokens                 bool
		unknownUSD, unknownWasted     bool
	}
	by := make(map[string]*sums)
	attempts := make(map[string]int)
	for i := range t.Attempts {
		if t.Attempts[i].Attempt != nil {
			attempts[t.Attempts[i].Episode]++
		}
	}
	for i := range t.Episodes {
		e := &t.Episodes[i]
		s := by[e.Config]
		if s == nil {
			s = &sums{versions: map[string]bool{}, returned: map[string]bool{}, sandboxes: map[string]bool{}}
			s.RunSummary = RunSummary{Config: e.Config, Model: e.Model, Harness: e.Harness, Feedback: e.Feedback, Retries: int(e.Retries), Session: e.Session}
			by[e.Config] = s
		}
		s.Episodes++
		switch e.Validity {
		case "valid":
			s.Valid++
		case "stopped":
			s.Stopped++
		default:
			s.Incomplete++
		}
		s.Attempts += attempts[e.Episode]
		s.versions[e.HarnessVersion] = true
		s.sandboxes[e.Sandbox] = true
		if e.ModelReturned != nil {
			s.returned[*e.ModelReturned] = true
		}
		if n, ok := allTokens(e); ok {
			s.tokens += n
		} else {
			s.unknownTokens = true
		}
		s.unknownUSD = addKnown(&s.usd, e.CostUSD) || s.unknownUSD
		s.unknownWasted = addKnown(&s.wasted, e.WastedUSD) || s.unknownWasted
	}
	out := make([]RunSummary, 0, len(by))
	for _, name := range sortedKeys(by) {
		s := by[name]
		s.HarnessVersion, s.ModelReturned, s.Sandbox = sortedKeys(s.versions), sortedKeys(s.returned), sortedKeys(s.sandboxes)
		if !s.unknownTokens {
			s.Tokens = &s.tokens
		}
		if !s.unknownUSD {
			s.USD = &s.usd
		}
		if !s.unknownWasted {
			s.WastedUSD = &s.wasted
		}
		out = append(out, s.RunSummary)
	}
	return out
}

// addKnown adds v to sum and reports whether v is unknown.
func addKnown(sum, v *float64) bool {
	if v == nil {
		return true
	}
	*sum += *v
	return false
}

// allTokens sums the tokens of an episode; ok is false if input or output is unknown. Reasoning tokens are part
// of the output.
func allTokens(e *logs.EpisodeRow) (n int64, ok bool) {
	if e.Input == nil || e.Output == nil {
		return 0, false
	}
	n = *e.Input + *e.Output
	for _, v := range []*int64{e.Cached, e.CacheWrite} {
		if v != nil {
			n += *v
		}
	}
	return n, true
}

// DriftNotes warns of configurations whose episodes differ in harness version, returned model or sandbox.
func DriftNotes(runs []RunSummary) []Warning {
	var out []Warning
	for _, r := range runs {
		for _, d := range []struct {
			what   string
			values []string
		}{{"harness version", r.HarnessVersion}, {"returned model", r.ModelReturned}, {"sandbox", r.Sandbox}} {
			if len(d.values) > 1 {
				out = append(out, Warning{Code: CodeConfigDrifted, Where: r.Config,
					Text: fmt.Sprintf("%s: the %s changed inside this configuration: %s", Clean(r.Config), d.what, Clean(strings.Join(d.values, ", ")))})
			}
		}
	}
	return out
}
