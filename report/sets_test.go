package report

import (
	"fmt"
	"math"
	"math/rand/v2"

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
