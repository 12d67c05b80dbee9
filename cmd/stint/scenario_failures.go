package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/stats"
)

// shownFailures is what show --failures --json prints.
type shownFailures struct {
	Schema string         `json:"schema"` // stint.scenario.failures/1
	Dir    string         `json:"dir"`
	Mode   string         `json:"mode"` // of the study: under fail-stop later turns are reached by the better episodes only
	Rows   []failureCount `json:"rows"` // by configuration, label and operation; operation "" sums a label, label "" everything
}

// failureCount is how often a kind of turn was played to its end and how often it failed.
type failureCount struct {
	Config    string      `json:"config"`
	Label     string      `json:"label"`
	Operation string      `json:"operation"`
	Turns     int         `json:"turns"`
	Failed    int         `json:"failed"`
	CI        *[2]float64 `json:"ci"` // 95 %, Wilson; turns of one episode are not independent, so it is a rough guide
}

// showFailures counts which operations failed in a run.
func showFailures(e *env, dir string, asJSON bool) error {
	_, t, err := openRun(e, dir)
	if err != nil {
		return err
	}
	shown := &shownFailures{Schema: "stint.scenario.failures/1", Dir: dir, Rows: countFailures(t)}
	if len(t.Episodes) > 0 {
		shown.Mode = t.Episodes[0].Mode
	}
	if len(shown.Rows) == 0 {
		return inputErrorf("run the study first", "%s: no turn has ended yet, so nothing can be counted", clean(dir))
	}
	if asJSON {
		return e.printJSON(shown)
	}
	return printFailures(e.Stdout, shown)
}

// countFailures counts turns that ended, by configuration and operation, with sums by label and over all.
func countFailures(t *logs.Tables) []failureCount {
	config := map[string]string{}
	for _, ep := range t.Episodes {
		config[ep.Episode] = ep.Config
	}
	counts := map[failureCount]*failureCount{}
	add := func(k failureCount, failed bool) {
		c := counts[k]
		if c == nil {
			c = &k
			counts[k] = c
		}
		c.Turns++
		if failed {
			c.Failed++
		}
	}
	for _, row := range t.Turns {
		if row.Passed == nil {
			continue
		}
		name, _, _ := strings.Cut(row.Operation, ":")
		k := failureCount{Config: config[row.Episode], Label: row.OperationLabel, Operation: name}
		if name == "build" {
			k.Label = "" // the build adds everything at once
		}
		add(k, !*row.Passed)
		add(failureCount{Config: k.Config}, !*row.Passed)
		if k.Label != "" {
			add(failureCount{Config: k.Config, Label: k.Label}, !*row.Passed)
		}
	}
	rows := make([]failureCount, 0, len(counts))
	for _, c := range counts {
		if i := stats.Wilson(c.Failed, c.Turns, 0.95); i.Defined {
			c.CI = &[2]float64{i.Lo, i.Hi}
		}
		rows = append(rows, *c)
	}
	slices.SortFunc(rows, func(a, b failureCount) int {
		return cmp.Or(cmp.Compare(a.Config, b.Config), suite.CompareLabels(a.Label, b.Label), cmp.Compare(a.Operation, b.Operation))
	})
	return rows
}

// printFailures writes a column per configuration.
func printFailures(w io.Writer, s *shownFailures) error {
	type key struct{ label, operation string }
	cells := map[key]map[string]failureCount{}
	var order []key
	configs := map[string]bool{}
	for _, r := range s.Rows {
		k := key{r.Label, r.Operation}
		if cells[k] == nil {
			cells[k] = map[string]failureCount{}
			order = append(order, k)
		}
		cells[k][r.Config] = r
		configs[r.Config] = true
	}
	slices.SortFunc(order, func(a, b key) int {
		return cmp.Or(suite.CompareLabels(a.label, b.label), cmp.Compare(a.operation, b.operation))
	})
	fmt.Fprintf(w, "turns that failed, of those that ended (%s); 95 %% Wilson intervals, as if turns were independent\n\n", clean(s.Mode))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "operation")
	names := slices.Sorted(maps.Keys(configs))
	for _, c := range names {
		fmt.Fprintf(tw, "\t%s", clean(c))
	}
	fmt.Fprintln(tw)
	for _, k := range order {
		name := k.label + " " + k.operation
		switch {
		case k.label == "" && k.operation == "":
			name = "all turns"
		case k.label == "":
			name = k.operation
		case k.operation == "":
			name = "all " + k.label
		}
		fmt.Fprint(tw, clean(name))
		for _, c := range names {
			f, ok := cells[k][c]
			if !ok {
				fmt.Fprint(tw, "\t–")
				continue
			}
			fmt.Fprintf(tw, "\t%d/%d %.0f–%.0f %%", f.Failed, f.Turns, 100*f.CI[0], 100*f.CI[1])
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}
