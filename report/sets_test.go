package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// newSet returns an empty set of turns passed.
func newSet(limit float64) *logs.OutcomeSet {
	return &logs.OutcomeSet{ValueName: "turns_passed", Cap: limit}
}

// addRun appends one run; status "" is failed, or capped at the cap.
func addRun(set *logs.OutcomeSet, config, scenario string, repeat int, value float64, status, reason string) *logs.Outcome {
	if status == "" {
		status = "failed"
		if set.Cap > 0 && value == set.Cap {
			status = "capped"
		}
	}
	if reason == "" && status != "stopped" {
		reason = status
	}
	set.Rows = append(set.Rows, logs.Outcome{Config: config, Scenario: scenario, Repeat: repeat, Value: &value, Status: status, EndReason: reason, File: "outcomes.csv", Line: len(set.Rows) + 2})
	return &set.Rows[len(set.Rows)-1]
}

// addRuns appends one run per value, in scenarios s01, s02, ….
func addRuns(set *logs.OutcomeSet, config string, usd float64, values ...float64) {
	for i, v := range values {
		row := addRun(set, config, fmt.Sprintf("s%02d", i+1), 1, v, "", "")
		if usd > 0 {
			row.USD = &usd
		}
	}
}

// harnesses resembles the example of the manual: three harnesses, 20 scenarios, one of them twice as good; a run
// of opencode was stopped by the provider if withStop is set. The figures are invented.
func harnesses(withStop bool) *logs.OutcomeSet {
	set := newSet(101)
	addRuns(set, "glm-5+mini-swe/detailed/r2", 17, 22, 4, 9, 31, 0, 15, 12, 7, 44, 18, 3, 26, 10, 8, 13, 5, 39, 21, 2, 14)
	addRuns(set, "glm-5+opencode/detailed/r2", 41, 101, 33, 58, 101, 12, 101, 40, 55, 61, 101, 2, 80, 47, 29, 9, 36, 101, 70, 18, 66)
	addRuns(set, "glm-5+builtin/detailed/r2", 9, 6, 4, 11, 19, 0, 9, 12, 3, 30, 7, 5, 14, 8, 2, 10, 0, 17, 13, 4, 0)
	if withStop {
		for i := range set.Rows {
			if row := &set.Rows[i]; row.Config == "glm-5+opencode/detailed/r2" && row.Scenario == "s07" {
				row.Status, row.EndReason = "stopped", "provider"
			}
		}
	}
	return set
}

// synthetic returns runs of a constant hazard per turn, better from configuration to configuration.
func synthetic(configs, scenarios, repeats int, limit float64) *logs.OutcomeSet {
	set := newSet(limit)
	r := rand.New(rand.NewPCG(7, 11))
	set.Rows = make([]logs.Outcome, 0, configs*scenarios*repeats)
	for c := range configs {
		name := fmt.Sprintf("model-%02d+harness-%c/detailed/r2", c/3, 'a'+c%3)
		for s := range scenarios {
			hazard := 0.3 / float64(c+1) * math.Exp(r.NormFloat64()*0.5)
			for k := range repeats {
				t := math.Floor(math.Log(1-r.Float64()) / math.Log(1-math.Min(0.9, hazard)))
				addRun(set, name, fmt.Sprintf("s%03d", s+1), k+1, math.Min(t, limit), "", "")
			}
		}
	}
	return set
}

// judged gives every failed run a verdict: builtin mostly fails in its own infrastructure, the others drift.
func judged(set *logs.OutcomeSet) *logs.OutcomeSet {
	drift := []string{"drift.forgotten", "drift.wrong_value", "drift.forgotten", "drift.missing", "drift.side_effect", ""}
	infra := []string{"infra.loop_guard", "infra.loop_guard", "infra.context", "infra.tool_error"}
	for i := range set.Rows {
		row := &set.Rows[i]
		if row.Status != logs.StatusFailed {
			continue
		}
		switch k := i % 10; {
		case k == 9:
			row.EndL1 = "unknown"
		case strings.Contains(row.Config, "builtin") && k < 7 || k == 0:
			row.EndL1, row.EndLeaf = "infra", infra[i%len(infra)]
		default:
			row.EndL1, row.EndLeaf = "drift", drift[i%len(drift)]
		}
	}
	return set
}

// studied returns judged runs with a retry budget whose attempts are known: each retry passes half of what the one
// before could not.
func studied(configs, scenarios, budget int, limit float64) *logs.OutcomeSet {
	set := newSet(limit)
	r := rand.New(rand.NewPCG(3, 5))
	for c := range configs {
		name := fmt.Sprintf("model-%02d+harness-%c/detailed/r%d", c/3, 'a'+c%3, budget)
		for s := range scenarios {
			fail := math.Min(0.6, 0.5/float64(c+1)*math.Exp(r.NormFloat64()*0.5))
			var attempts []int
			for len(attempts) < int(limit) {
				a, p := 1, fail
				for a <= budget+1 && r.Float64() < p {
					a++
					p = math.Sqrt(p)
				}
				if a > budget+1 {
					break
				}
				attempts = append(attempts, a)
			}
			addRun(set, name, fmt.Sprintf("s%02d", s+1), 1, float64(len(attempts)), "", "").Attempts = attempts
		}
	}
	return judged(set)
}
