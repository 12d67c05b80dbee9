package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// enough is how many scenarios tell a baseline from a better configuration.
type enough struct {
	baseline
	To      float64 `json:"to"` // expected turns of the better configuration
	Repeats int     `json:"repeats"`
	Pairs   int     `json:"pairs"`
	Cap     int     `json:"cap"`
	// Needed is null if no size that was tried is enough.
	Needed *int   `json:"scenarios_needed"`
	Reason string `json:"reason,omitempty"`
}

// searchStudies is the number of simulated studies per size that is tried.
const searchStudies = 800

// scenariosFor prints how many scenarios tell each baseline from a mean of f.to turns.
func (f *powerFlags) scenariosFor(ctx context.Context, e *env, bases []baseline) error {
	var list []*enough
	for _, b := range bases {
		better, err := stats.SuccessForMean(f.to, b.SD, f.cap)
		if err != nil {
			return inputErrorf(fmt.Sprintf("a mean lies between 0 and the cap, %d", f.cap), "--to: %w", err)
		}
		m := stats.PowerModel{SuccessA: b.Success, SuccessB: better, ScenarioSD: b.SD, Interaction: f.interaction, Cap: f.cap}
		for _, pairs := range slices.Compact([]int{1, f.plan.Tests}) {
			if err := ctx.Err(); err != nil {
				return err
			}
			plan := f.plan
			plan.Tests, plan.Studies = pairs, searchStudies
			r, err := stats.ScenariosFor(m, plan, f.power)
			if err != nil {
				return inputErrorf(e.Self+" power -h lists the flags", "%w", err)
			}
			x := &enough{baseline: b, To: f.to, Repeats: f.plan.Repeats, Pairs: pairs, Cap: f.cap, Reason: r.Reason}
			if r.Defined {
				x.Needed = &r.Scenarios
			}
			list = append(list, x)
		}
	}
	if f.json {
		return e.printJSON(struct {
			Schema string    `json:"schema"`
			Power  float64   `json:"power"`
			Alpha  float64   `json:"alpha"`
			Sizes  []*enough `json:"sizes"`
		}{"stint.power/1", f.power, f.plan.Alpha, list})
	}
	var out strings.Builder
	for i, x := range list {
		who := "one pair declared beforehand needs"
		if x.Pairs > 1 {
			who = fmt.Sprintf("the first of %d pairs needs", x.Pairs)
		}
		if i == 0 || list[i-1].baseline != x.baseline {
			fmt.Fprintf(&out, "To tell %.1f turns (%s) from %.1f of %d in %.0f %% of repetitions\n", x.Mean, clean(x.Name), x.To, x.Cap, 100*f.power)
		}
		if x.Needed == nil {
			fmt.Fprintf(&out, "  %s more: %s\n", who, x.Reason)
			continue
		}
		fmt.Fprintf(&out, "  %s about %d scenarios × %d\n", who, *x.Needed, x.Repeats)
	}
	_, err := e.Stdout.Write([]byte(out.String()))
	return err
}
