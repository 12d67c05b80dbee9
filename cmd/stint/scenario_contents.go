package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// shownContents is what show --contents --json prints.
type shownContents struct {
	Schema string     `json:"schema"` // stint.scenario.contents/1
	Sets   []countSet `json:"sets"`
}

type countSet struct {
	Dir string `json:"dir"`
	*suite.Contents
}

func showContents(ctx context.Context, e *env, dirs []string, asJSON bool) error {
	shown := shownContents{Schema: "stint.scenario.contents/1"}
	for _, dir := range dirs {
		set, err := suite.ReadSet(dir)
		if err != nil {
			return err
		}
		c, err := countContents(ctx, e, set)
		if err != nil {
			return err
		}
		shown.Sets = append(shown.Sets, countSet{dir, c})
	}
	if asJSON {
		return e.printJSON(shown)
	}
	return printContents(e.Stdout, shown.Sets)
}

func countContents(ctx context.Context, e *env, set *suite.Set) (*suite.Contents, error) {
	m := newMeter(e, len(set.Files), "scenarios")
	defer m.finish()
	c := suite.NewContents()
	for i, f := range set.Files {
		m.at("%s", f.Name)
		made, err := f.Make(ctx, set.Path(i), 0)
		if err != nil {
			return nil, err
		}
		c.Add(made)
		m.add(1)
	}
	c.Finish()
	return c, nil
}

// printContents writes the tables, one column of counts per set.
func printContents(w io.Writer, sets []countSet) error {
	t := &columns{tw: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), sets: sets}
	t.head("what the sets contain")
	t.row("scenarios", func(c *suite.Contents) string { return fmt.Sprint(c.Scenarios) })
	t.row("turns, builds included", func(c *suite.Contents) string { return fmt.Sprint(c.Turns) })
	t.row("requests of all suites", func(c *suite.Contents) string { return fmt.Sprint(c.Requests) })
	for _, age := range []string{suite.AgeNew, suite.AgeChanged, suite.AgeOld} {
		t.row("checks, "+age, func(c *suite.Contents) string { return fmt.Sprint(c.Ages[age]) })
	}
	for _, part := range []struct {
		name string
		of   func(*suite.Contents) suite.Size
	}{{"build", func(c *suite.Contents) suite.Size { return c.Build }}, {"last turn", func(c *suite.Contents) suite.Size { return c.Last }}} {
		t.head(part.name + ": mean (least–most)")
		for _, x := range []struct {
			name string
			of   func(suite.Size) suite.Range
		}{
			{"collections", func(z suite.Size) suite.Range { return z.Entities }},
			{"fields", func(z suite.Size) suite.Range { return z.Fields }},
			{"clauses", func(z suite.Size) suite.Range { return z.Clauses }},
			{"checks", func(z suite.Size) suite.Range { return z.Checks }},
			{"requests", func(z suite.Size) suite.Range { return z.Requests }},
		} {
			t.row(x.name, func(c *suite.Contents) string {
				r := x.of(part.of(c))
				return fmt.Sprintf("%.1f (%d–%d)", r.Mean, r.Least, r.Most)
			})
		}
	}
	t.head("operations")
	for _, o := range allOperations(sets) {
		t.row(o.Label+" "+o.Name, func(c *suite.Contents) string {
			i := slices.IndexFunc(c.Operations, func(x suite.OperationCount) bool { return x.Name == o.Name })
			if i < 0 {
				return "0"
			}
			return fmt.Sprint(c.Operations[i].Count)
		})
	}
	for _, label := range suite.Labels() {
		t.row("all "+label, func(c *suite.Contents) string { return fmt.Sprint(c.Label(label)) })
	}
	t.head("clauses: introduced, at the last turn")
	for _, kind := range allKinds(sets) {
		t.row(kind, func(c *suite.Contents) string {
			i := slices.IndexFunc(c.Clauses, func(x suite.KindCount) bool { return x.Kind == kind })
			if i < 0 {
				return "0, 0"
			}
			return fmt.Sprintf("%d, %d", c.Clauses[i].Introduced, c.Clauses[i].Last)
		})
	}
	t.head("how far scenarios lie apart (0 same operations, 1 none in common)")
	t.row("nearest pair", nearestPair)
	t.row("median", func(c *suite.Contents) string {
		if len(c.Pairs) == 0 {
			return "–"
		}
		return fmt.Sprintf("%.3f", c.Pairs[len(c.Pairs)/2].Distance)
	})
	t.row(fmt.Sprintf("near duplicates, below %.1f", suite.NearDuplicate), func(c *suite.Contents) string {
		n := 0
		for _, p := range c.Pairs {
			if p.Distance < suite.NearDuplicate {
				n++
			}
		}
		return fmt.Sprint(n)
	})
	t.row("domains", func(c *suite.Contents) string { return fmt.Sprint(len(c.Domains)) })
	return t.tw.Flush()
}

func nearestPair(c *suite.Contents) string {
	if len(c.Pairs) == 0 {
		return "–"
	}
	p := c.Pairs[0]
	return fmt.Sprintf("%.3f (%s, %s)", p.Distance, p.A, p.B)
}

// columns writes rows with one value per set.
type columns struct {
	tw     *tabwriter.Writer
	sets   []countSet
	tables int
}

func (t *columns) head(title string) {
	if t.tables > 0 {
		fmt.Fprintln(t.tw)
	}
	t.tables++
	fmt.Fprintf(t.tw, "%s", title)
	for _, s := range t.sets {
		fmt.Fprintf(t.tw, "\t%s", clean(s.Dir))
	}
	fmt.Fprintln(t.tw)
}

func (t *columns) row(name string, value func(*suite.Contents) string) {
	fmt.Fprintf(t.tw, "%s", name)
	for _, s := range t.sets {
		fmt.Fprintf(t.tw, "\t%s", value(s.Contents))
	}
	fmt.Fprintln(t.tw)
}

func allOperations(sets []countSet) []suite.OperationCount {
	all := map[string]suite.OperationCount{}
	for _, s := range sets {
		for _, o := range s.Operations {
			all[o.Name] = o
		}
	}
	return slices.SortedFunc(maps.Values(all), suite.OperationCount.Compare)
}

func allKinds(sets []countSet) []string {
	all := map[string]bool{}
	for _, s := range sets {
		for _, k := range s.Clauses {
			all[k.Kind] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
