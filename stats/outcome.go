package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Status tells how a run ended.
type Status uint8

const (
	Failed  Status = iota // the first failed turn was seen after Value passed turns
	Capped                // all turns were passed
	Stopped               // ended early for a reason that is not the agent's
)

// String returns "failed", "capped" or "stopped".
func (s Status) String() string {
	switch s {
	case Failed:
		return "failed"
	case Capped:
		return "capped"
	case Stopped:
		return "stopped"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// An Outcome is the result of one run of one configuration on one scenario.
type Outcome struct {
	Scenario  string  // pairing key: content hash or name of the scenario
	Replicate int     // number of the repeat, any distinct integers
	Value     float64 // turns passed, or any finite score >= 0; for Stopped the turns passed before the stop
	Status    Status
	Cause     string // class of a failure, for the caller; not used here
}

// ValidateOutcomes checks the outcomes of one configuration and returns an
// error that names the first bad record: a value that is NaN, infinite,
// negative or above limit (limit <= 0: no cap), an unknown status, an empty
// scenario, or a second record for the same scenario and replicate.
func ValidateOutcomes(o []Outcome, limit float64) error {
	_, err := groupOutcomes(o, limit)
	return err
}

// A group holds the outcomes of one scenario, as indexes in replicate order.
type group struct {
	scenario string
	index    []int32
}

// groupOutcomes validates o and returns one group per scenario, sorted by
// scenario. Its cost is that of one map lookup per record and one sort of the
// distinct scenarios, so that a million records stay cheap.
func groupOutcomes(o []Outcome, limit float64) ([]group, error) {
	if len(o) > math.MaxInt32 {
		return nil, fmt.Errorf("grouping %d outcomes: more than %d", len(o), math.MaxInt32)
	}
	ids := make(map[string]int32)
	var names []string
	var size []int32
	at := make([]int32, len(o))
	for i := range o {
		if err := checkOutcome(o[i], limit); err != nil {
			return nil, fmt.Errorf("outcome %d (scenario %q, replicate %d): %w", i, o[i].Scenario, o[i].Replicate, err)
		}
		id, ok := ids[o[i].Scenario]
		if !ok {
			id = int32(len(names))
			ids[o[i].Scenario] = id
			names = append(names, o[i].Scenario)
			size = append(size, 0)
		}
		at[i] = id
		size[id]++
	}
	flat := make([]int32, len(o))
	groups := make([]group, len(names))
	start := int32(0)
	for id, n := range size {
		groups[id] = group{names[id], flat[start : start : start+n]}
		start += n
	}
	for i, id := range at {
		groups[id].index = append(groups[id].index, int32(i))
	}
	for _, g := range groups {
		byReplicate := func(i, j int32) int { return cmp.Compare(o[i].Replicate, o[j].Replicate) }
		if !slices.IsSortedFunc(g.index, byReplicate) {
			slices.SortStableFunc(g.index, byReplicate)
		}
		for k := 1; k < len(g.index); k++ {
			i, j := g.index[k-1], g.index[k]
			if o[i].Replicate == o[j].Replicate {
				return nil, fmt.Errorf("outcome %d (scenario %q, replicate %d): duplicate of outcome %d", j, o[j].Scenario, o[j].Replicate, i)
			}
		}
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.scenario, b.scenario) })
	return groups, nil
}

// inOrder lists the members of groups; sums in this order do not depend on the
// order of records.
func inOrder(groups []group) []int32 {
	var out []int32
	for _, g := range groups {
		out = append(out, g.index...)
	}
	return out
}

// checkOutcome reports what is wrong with a single record.
func checkOutcome(o Outcome, limit float64) error {
	switch {
	case o.Scenario == "":
		return fmt.Errorf("no scenario")
	case math.IsNaN(o.Value):
		return fmt.Errorf("value is NaN")
	case math.IsInf(o.Value, 0):
		return fmt.Errorf("value is infinite")
	case o.Value > largestValue:
		return fmt.Errorf("value %v is above 1e100", o.Value)
	case o.Value < 0:
		return fmt.Errorf("value %v is negative", o.Value)
	case limit > 0 && o.Value > limit:
		return fmt.Errorf("value %v is above the cap %v", o.Value, limit)
	case o.Status > Stopped:
		return fmt.Errorf("unknown status %d", uint8(o.Status))
	}
	return nil
}

// largestValue keeps squares and sums of values away from infinity.
const largestValue = 1e100

// checkFinite returns an error for the first element that is NaN, infinite or
// absurdly large.
func checkFinite(what string, x []float64) error {
	for i, v := range x {
		if !(math.Abs(v) <= largestValue) {
			return fmt.Errorf("%s %d is %v, not a number between -1e100 and 1e100", what, i, v)
		}
	}
	return nil
}
