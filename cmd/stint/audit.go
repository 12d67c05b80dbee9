package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/logs"
)

func newAuditCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "How good are the verdicts? Let people check them, or score them against known truth",
		Long:    `audit holds the verdicts against what is known better: what people say, or a known truth.`,
		Example: "  " + e.Self + " audit eval runs/demo",
		Args:    verbArgs(e),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditEvalCmd(e))
	addAuditPeople(e, cmd)
	return cmd
}

// tally counts how often something was right.
type tally struct {
	Right int      `json:"right"`
	Of    int      `json:"of"`
	Share *float64 `json:"share"` // null if there was nothing to score
}

func (t *tally) count(right bool) {
	t.Of++
	if right {
		t.Right++
	}
	s := float64(t.Right) / float64(t.Of)
	t.Share = &s
}

func (t tally) String() string {
	if t.Share == nil {
		return "nothing to score"
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", t.Right, t.Of, 100**t.Share)
}

// evaluation is what audit eval prints.
type evaluation struct {
	Schema   string                    `json:"schema"` // stint.audit-eval/1
	Verdicts int                       `json:"verdicts"`
	Single   tally                     `json:"single"`        // attempts with exactly one planted fault: leaf
	L1       tally                     `json:"l1"`            // drift against infrastructure, all scored attempts
	Double   tally                     `json:"several"`       // attempts with several: the primary is one of them
	Groups   tally                     `json:"groups"`        // drift faults of those that are among the groups
	Masked   int                       `json:"masked"`        // drift faults behind a server or an agent that was down: nobody could see them
	Void     tally                     `json:"void"`          // tries that do not count: the reason that the loop recorded
	Unseen   int                       `json:"unseen"`        // planted faults that passed every check of a turn
	Abstain  int                       `json:"abstained"`     // scored attempts with an unknown verdict
	Matrix   map[string]map[string]int `json:"leaves"`        // single faults: right leaf → given leaf → attempts
	Levels   map[string]map[string]int `json:"levels"`        // all scored attempts
	Misses   []miss                    `json:"misses"`        // single faults that got another leaf
	Hidden   []miss                    `json:"not_in_groups"` // drift faults, one of several, that are in no group
	Unscored int                       `json:"without_truth"` // verdicts for which no truth is known

	Truth       string             `json:"truth"` // sealed, people, or a file
	Classifiers []*classifierScore `json:"classifiers"`

	items []truthItem
}

// miss is one wrong verdict.
type miss struct {
	Verdict string   `json:"verdict"`
	Planted []string `json:"planted"`
	Right   string   `json:"right"`
	Given   string   `json:"given"`
}

// sealed scores every verdict of the rules against the sealed truth. Without one there is an error, unless there is
// another truth.
func (ev *evaluation) sealed(d *logs.RunDir, t *logs.Tables, r *classify.Result, other bool) error {
	ev.Verdicts = len(r.Verdicts)
	scenarios := &scenarioShelf{dir: d, made: map[string]*scenario.Scenario{}}
	truths := 0
	for i := range t.Episodes {
		row := &t.Episodes[i]
		lines, err := harness.ReadTruth(filepath.Join(d.EpisodeDir(row.Episode), "truth"))
		if err != nil {
			return err
		}
		if len(lines) == 0 {
			continue
		}
		truths++
		sc, err := scenarios.get(row)
		if err != nil {
			return err
		}
		x := &examiner{ev: ev, row: row, scenario: sc, result: r, first: map[planted]int{}, unseen: map[planted]bool{}}
		x.episode(lines, attemptsIn(t, row.Episode))
	}
	if truths == 0 {
		if other {
			return nil
		}
		return inputErrorf("only studies with simulated agents have a truth to score against, for example the one of: stint demo; --truth FILE takes labels",
			"no episode of %s has a sealed truth", clean(d.Root))
	}
	ev.Truth = "sealed"
	scored := 0
	for _, row := range ev.Levels {
		for _, n := range row {
			scored += n
		}
	}
	ev.Unscored = ev.Verdicts - scored
	slices.SortFunc(ev.Misses, func(a, b miss) int { return cmp.Compare(a.Verdict, b.Verdict) })
	return nil
}

func attemptsIn(t *logs.Tables, episode string) []*logs.AttemptRow {
	var out []*logs.AttemptRow
	for i := range t.Attempts {
		if t.Attempts[i].Episode == episode {
			out = append(out, &t.Attempts[i])
		}
	}
	return out
}

// scenarioShelf makes the scenarios of a run again.
type scenarioShelf struct {
	dir  *logs.RunDir
	made map[string]*scenario.Scenario
}

func (s *scenarioShelf) get(row *logs.EpisodeRow) (*scenario.Scenario, error) {
	if sc := s.made[row.Scenario]; sc != nil {
		return sc, nil
	}
	if !filepath.IsLocal(row.Scenario) || strings.ContainsAny(row.Scenario, `/\`) {
		return nil, fmt.Errorf("the scenario name %q is no file name", row.Scenario)
	}
	path := filepath.Join(s.dir.ScenariosDir(), row.Scenario+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading scenario %s: %w", row.Scenario, err)
	}
	var f struct {
		Seed     uint64 `json:"seed"`
		Changes  int    `json:"changes"`
		Schedule string `json:"schedule"`
		Turns    []struct {
			Operation string `json:"operation"`
		} `json:"turns"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("reading scenario %s: %w", path, err)
	}
	sc, err := scenario.Generate(scenario.Options{Seed: f.Seed, Changes: f.Changes, Name: row.Scenario, Schedule: f.Schedule})
	if err != nil {
		return nil, fmt.Errorf("making scenario %s again: %w", row.Scenario, err)
	}
	for i, turn := range f.Turns {
		if i >= len(sc.Steps) || i > 0 && sc.Steps[i].Operation.ID != turn.Operation {
			return nil, fmt.Errorf("scenario %s is made differently by this version of stint: turn %d was %s; score it with the version that ran it", row.Scenario, i, turn.Operation)
		}
	}
	s.made[row.Scenario] = sc
	return sc, nil
}

func (ev *evaluation) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "verdicts\t%d\n", ev.Verdicts)
	fmt.Fprintf(tw, "one planted fault, leaf right\t%s\n", ev.Single)
	fmt.Fprintf(tw, "drift against infrastructure\t%s\n", ev.L1)
	fmt.Fprintf(tw, "several faults, primary is one\t%s\n", ev.Double)
	fmt.Fprintf(tw, "their drift faults, among the groups\t%s\n", ev.Groups)
	fmt.Fprintf(tw, "void tries, reason right\t%s\n", ev.Void)
	fmt.Fprintf(tw, "drift faults behind a server or agent that was down\t%d\n", ev.Masked)
	fmt.Fprintf(tw, "planted faults that no check saw\t%d\n", ev.Unseen)
	fmt.Fprintf(tw, "unknown among the scored\t%d\n", ev.Abstain)
	if ev.Unscored > 0 {
		fmt.Fprintf(tw, "verdicts without a truth\t%d\n", ev.Unscored)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	printMatrix(w, "drift and infrastructure (rows: planted, columns: verdict)", ev.Levels)
	fmt.Fprintf(w, "\nsingle faults by leaf (planted → verdict)\n")
	for _, right := range sortedNames(ev.Matrix) {
		var parts []string
		for _, given := range sortedNames(ev.Matrix[right]) {
			parts = append(parts, fmt.Sprintf("%s %d", given, ev.Matrix[right][given]))
		}
		fmt.Fprintf(w, "  %s → %s\n", right, strings.Join(parts, ", "))
	}
	if len(ev.Misses) > 0 {
		fmt.Fprintf(w, "\nmisses\n")
	}
	const shown = 20
	for i, m := range ev.Misses {
		if i == shown {
			fmt.Fprintf(w, "  and %d more (--json lists all)\n", len(ev.Misses)-shown)
			break
		}
		fmt.Fprintf(w, "  %s: %s; right %s, given %s\n", clean(m.Verdict), clean(strings.Join(m.Planted, ", ")), m.Right, m.Given)
	}
	return nil
}

func printMatrix(w io.Writer, title string, m map[string]map[string]int) {
	fmt.Fprintf(w, "\n%s\n", title)
	var columns []string
	for _, row := range m {
		for c := range row {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	slices.Sort(columns)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "  \t%s\n", strings.Join(columns, "\t"))
	for _, r := range sortedNames(m) {
		fmt.Fprintf(tw, "  %s", r)
		for _, c := range columns {
			fmt.Fprintf(tw, "\t%d", m[r][c])
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}
