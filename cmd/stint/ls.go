package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/study"
	"github.com/stint-bench/stint/logs"
)

func newLsCmd(e *env) *cobra.Command {
	var filter string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls [DIR]",
		Short: "The episodes of a run, or the runs below ./runs",
		Long: `ls lists the episodes of a run directory with their state, turns passed, end and cost,
read from the journals as they stand: also while the study is running. Without DIR it
lists the run directories below ./runs.`,
		Example: "  " + e.Self + " ls runs/demo --filter 'feedback:detailed -end_reason:capped'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return lsRuns(e, asJSON)
			}
			return lsEpisodes(e, args[0], filter, asJSON)
		},
	}
	cmd.Flags().StringVar(&filter, "filter", "", "only episodes that match `EXPR`, for example 'harness:builtin -scenario:s01'")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listed is one episode as ls prints it.
type listed struct {
	Episode     string   `json:"episode"`
	Name        string   `json:"name"`
	State       string   `json:"state"`
	TurnsPassed *int     `json:"turns_passed"`
	TurnsMax    int      `json:"turns_max"`
	End         string   `json:"end"`
	USD         *float64 `json:"cost_usd"`
	// Held is the pause or cancel in force for an episode that has no end.
	Held *listedOrder `json:"held,omitempty"`
}

// listedOrder is an order in force.
type listedOrder struct {
	Verb   string `json:"verb"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

func lsEpisodes(e *env, dir, filter string, asJSON bool) error {
	expr, err := logs.ParseExpr(filter)
	if err != nil {
		return err
	}
	d, t, err := openRun(e, dir)
	if err != nil {
		return err
	}
	control, err := study.ReadControl(d)
	if err != nil {
		return err
	}
	list := []listed{}
	for i := range t.Episodes {
		row := &t.Episodes[i]
		ok, err := expr.Match(row.Get)
		if err != nil {
			return err
		}
		if ok {
			l := listedEpisode(row, t)
			if o := control.Held(l.Episode); o != nil && l.End == "" {
				l.Held = &listedOrder{o.Verb, o.By, o.Reason}
			}
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(a, b listed) int { return cmp.Compare(a.Name, b.Name) })
	if asJSON {
		return e.printJSON(list)
	}
	if err := printListed(e.Stdout, list); err != nil {
		return err
	}
	for _, line := range heldLines(control) {
		fmt.Fprintln(e.Stdout, line)
	}
	return nil
}

func listedEpisode(row *logs.EpisodeRow, t *logs.Tables) listed {
	l := listed{
		Episode: row.Episode, Name: fmt.Sprintf("%s/%s#%d", row.Config, row.Scenario, row.Repeat),
		State: row.Validity, TurnsMax: row.TurnsMax, TurnsPassed: row.TurnsPassed, USD: row.CostUSD,
	}
	if row.EndReason != nil {
		l.End = *row.EndReason
	}
	return l
}

func printListed(w io.Writer, list []listed) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "id\tepisode\tstate\tturns\tend\tUSD")
	for _, l := range list {
		turns := "–"
		if l.TurnsPassed != nil {
			turns = strconv.Itoa(*l.TurnsPassed)
		}
		usd := "–"
		if l.USD != nil {
			usd = strconv.FormatFloat(*l.USD, 'f', 2, 64)
		}
		state := l.State
		if l.Held != nil {
			state += ", " + map[string]string{study.OrderPause: "paused", study.OrderCancel: "cancelled"}[l.Held.Verb]
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s of %d\t%s\t%s\n", l.Episode, clean(l.Name), state, turns, l.TurnsMax, cmp.Or(l.End, "–"), usd)
	}
	return tw.Flush()
}

// lsRuns lists the run directories below ./runs with the number of their episodes.
func lsRuns(e *env, asJSON bool) error {
	type listedRun struct {
		Dir      string `json:"dir"`
		Episodes int    `json:"episodes"`
	}
	runs := []listedRun{}
	entries, err := os.ReadDir("runs")
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("listing the runs: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join("runs", entry.Name())
		d, err := logs.OpenRunDir(dir)
		if err != nil {
			continue // not a run directory: none of ours
		}
		ids, err := d.Episodes()
		if err != nil {
			return err
		}
		runs = append(runs, listedRun{dir, len(ids)})
	}
	if asJSON {
		return e.printJSON(runs)
	}
	if len(runs) == 0 {
		e.say("no run directory below ./runs")
		e.next("demo")
		return nil
	}
	tw := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "run\tepisodes")
	for _, r := range runs {
		fmt.Fprintf(tw, "%s\t%d\n", clean(r.Dir), r.Episodes)
	}
	return tw.Flush()
}

// clean makes text from logs and file names safe for a terminal: control characters, which could move the
// cursor or rewrite what stands there, become visible.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, s)
}
