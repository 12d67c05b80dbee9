package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

func newScenarioShowCmd(e *env) *cobra.Command {
	turn := -1
	var asJSON, contents bool
	var failures string
	cmd := &cobra.Command{
		Use:   "show DIR N [--turn T] | DIR... --contents | --failures RUN",
		Short: "Read a scenario: its turns, or one turn with request, specification, clauses and checks",
		Long: `show prints scenario N of a set: a line per turn, or with --turn all that an agent gets in
that turn and all that it is graded by: the change request, SPEC.md, the clauses with
their age, and every check with its requests and expected answers.

--contents counts what whole sets contain (operations, clauses, requests, checks by age,
and how far their scenarios lie apart), side by side for several sets. --failures counts
in a run directory how often each kind of operation failed, by configuration.`,
		Example: "  " + e.Self + " scenario show scenarios/main 1\n" +
			"  " + e.Self + " scenario show scenarios/main s02 --turn 3\n" +
			"  " + e.Self + " scenario show scenarios/main --contents\n" +
			"  " + e.Self + " scenario show --failures runs/demo",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case failures != "" && (contents || turn >= 0 || len(args) > 0):
				return inputErrorf("leave the other flags and the set out", "--failures reads a run directory, not a set")
			case failures != "":
				return showFailures(e, failures, asJSON)
			case contents && turn >= 0:
				return inputErrorf("leave one of them out", "--contents is about whole sets and --turn about one turn")
			case contents && len(args) > 0:
				return showContents(cmd.Context(), e, args, asJSON)
			case len(args) != 2:
				return inputErrorf("usage: "+e.Self+" scenario "+cmd.Use, "show: name a set and a scenario, not %s", plural(len(args), "argument"))
			case turn < 0 && cmd.Flags().Changed("turn"):
				return inputErrorf("turn 0 is the build", "--turn %d: turns are counted from 0", turn)
			}
			return showScenario(e, args[0], args[1], turn, asJSON)
		},
	}
	cmd.Flags().IntVar(&turn, "turn", -1, "show this turn in full")
	cmd.Flags().BoolVar(&contents, "contents", false, "count what whole sets contain")
	cmd.Flags().StringVar(&failures, "failures", "", "count in the run directory `RUN` which operations failed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flag("turn").DefValue = ""
	return cmd
}

// shownTurn is one line of show, and with --turn everything about it.
type shownTurn struct {
	Turn      int    `json:"turn"`
	Operation string `json:"operation"`
	Label     string `json:"label"`
	Title     string `json:"title"`
	Added     int    `json:"clauses_added"`
	Changed   int    `json:"clauses_changed"`
	Removed   int    `json:"clauses_removed"`
	Clauses   int    `json:"clauses"`
	Checks    int    `json:"checks"`

	Request string        `json:"request,omitempty"`
	Spec    string        `json:"spec,omitempty"`
	Table   []shownClause `json:"clause_table,omitempty"`
	Suite   *suite.Suite  `json:"suite,omitempty"`
}

// shownClause is a clause with its age at the turn.
type shownClause struct {
	suite.ClauseInfo
	Age string `json:"age"`
}

// shownScenario is what show --json prints.
type shownScenario struct {
	Schema   string        `json:"schema"` // stint.scenario.show/1
	Name     string        `json:"name"`
	Content  string        `json:"content"`
	Seed     uint64        `json:"seed"`
	Sampler  string        `json:"sampler"`
	Schedule string        `json:"schedule"`
	Domain   string        `json:"domain"`
	Chosen   *suite.Chosen `json:"chosen,omitempty"`
	Turns    []shownTurn   `json:"turns"`
}

// openScenario finds a scenario that a person names in a set and makes it again.
func openScenario(dir, name string) (*suite.File, *scenario.Scenario, error) {
	set, err := suite.ReadSet(dir)
	if err != nil {
		return nil, nil, err
	}
	i, err := set.Find(name)
	if err != nil {
		return nil, nil, err
	}
	sc, err := set.Files[i].Scenario(suite.CanonicalDelivery)
	return set.Files[i], sc, err
}

// suiteOf makes the suite of a turn again, which must be the one that the file records.
func suiteOf(f *suite.File, sc *scenario.Scenario, turn int) (*suite.Suite, error) {
	if turn >= len(sc.Steps) {
		return nil, inputErrorf(fmt.Sprintf("it has the turns 0 to %d", len(sc.Steps)-1), "%s has no turn %d", f.Name, turn)
	}
	s, err := suite.Generate(sc, turn)
	if err != nil {
		return nil, err
	}
	if err := f.SameSuite(turn, s); err != nil {
		return nil, err
	}
	return s, nil
}

func showScenario(e *env, dir, name string, turn int, asJSON bool) error {
	f, sc, err := openScenario(dir, name)
	if err != nil {
		return err
	}
	shown := shownScenario{Schema: "stint.scenario.show/1", Name: f.Name, Content: f.Content, Seed: f.Seed, Sampler: f.Sampler, Schedule: f.Schedule,
		Domain: sc.Steps[0].Schema.Domain, Chosen: f.Chosen}
	for i, st := range sc.Steps {
		shown.Turns = append(shown.Turns, shownTurn{Turn: i, Operation: st.Operation.ID, Label: st.Operation.Label, Title: st.Operation.Title,
			Added: len(st.Added), Changed: len(st.Changed), Removed: len(st.Removed), Clauses: len(st.Schema.Clauses), Checks: f.Turns[i].Checks})
	}
	if turn >= 0 {
		s, err := suiteOf(f, sc, turn)
		if err != nil {
			return err
		}
		t := shown.Turns[turn]
		t.Request, t.Spec, t.Suite = sc.Steps[turn].Request, sc.Steps[turn].Spec, s
		for _, c := range s.Clauses {
			t.Table = append(t.Table, shownClause{c, c.Age(turn)})
		}
		shown.Turns = []shownTurn{t}
	}
	switch {
	case asJSON:
		enc := json.NewEncoder(e.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(shown)
	case turn >= 0:
		return printTurn(e.Stdout, &shown)
	}
	return printTurns(e.Stdout, &shown)
}

func (s *shownScenario) head() string {
	return fmt.Sprintf("%s · content %.12s · seed %d · %s · sampler %s, schedule %s", s.Name, s.Content, s.Seed, clean(s.Domain), clean(s.Sampler), clean(s.Schedule))
}

func printTurns(w io.Writer, s *shownScenario) error {
	fmt.Fprintln(w, s.head())
	if c := s.Chosen; c != nil {
		fmt.Fprintf(w, "chosen by %s: %d answers, %d rejected, %d turns left to the rules\n", clean(c.Model), c.Asked, c.Rejected, c.Rules)
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "turn\tlabel\toperation\tclauses\tchecks")
	for _, t := range s.Turns {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%d (+%d ~%d −%d)\t%d\t%s\n", t.Turn, clean(t.Label), clean(t.Operation), t.Clauses, t.Added, t.Changed, t.Removed, t.Checks, clean(t.Title))
	}
	return tw.Flush()
}

func printTurn(w io.Writer, s *shownScenario) error {
	t := s.Turns[0]
	fmt.Fprintf(w, "%s\nturn %d: %s (%s, %s)\n", s.head(), t.Turn, clean(t.Title), clean(t.Operation), clean(t.Label))
	section := func(title, text string) {
		fmt.Fprintf(w, "\n━━ %s\n\n", title)
		for line := range strings.Lines(text) {
			fmt.Fprintln(w, clean(strings.TrimSuffix(line, "\n")))
		}
	}
	section("change request", t.Request)
	section("SPEC.md", t.Spec)
	fmt.Fprintf(w, "\n━━ clauses: %d\n\n", len(t.Table))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range t.Table {
		since := fmt.Sprintf("since turn %d", c.Introduced)
		if c.Changed > c.Introduced {
			since += fmt.Sprintf(", changed in %d", c.Changed)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.Age, since, c.Kind, clean(c.Title))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	ages := t.Suite.ByAge()
	fmt.Fprintf(w, "\n━━ suite: %d checks (%d new, %d changed, %d old), %d requests\n", len(t.Suite.Checks),
		ages[suite.AgeNew], ages[suite.AgeChanged], ages[suite.AgeOld], t.Suite.Requests())
	for _, world := range t.Suite.Worlds {
		fmt.Fprintf(w, "\n%s, a server of its own\n", world.Name)
		if len(world.Setup) > 0 {
			fmt.Fprintln(w, "  rows for all of its checks")
			printSteps(w, world.Setup)
		}
		for _, c := range t.Suite.Checks {
			if c.World == world.Name {
				fmt.Fprintf(w, "  %s %s  (%s, cites %s)\n", c.ID, clean(c.Title), c.Age, strings.Join(c.Clauses, " "))
				printSteps(w, c.Steps)
			}
		}
	}
	return nil
}

// printSteps writes requests and what must come back.
func printSteps(w io.Writer, steps []suite.Step) {
	for _, st := range steps {
		line := "    " + st.Method + " " + st.Target()
		if st.Body != nil {
			line += " " + string(st.Body)
		}
		line += fmt.Sprintf(" → %d", st.Status)
		switch st.Match {
		case "":
		case suite.Exact:
			line += " " + string(st.Expect)
		default:
			line += " at least " + string(st.Expect)
		}
		if st.Capture != "" {
			line += ", its id is ${" + st.Capture + "}"
		}
		if st.Above != "" {
			line += " and above ${" + st.Above + "}"
		}
		fmt.Fprintln(w, clean(line))
	}
}
