package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stint-bench/stint/cmd/stint/internal/fleet"
)

func newCollectCmd(e *env) *cobra.Command {
	var opt fleet.CollectOptions
	cmd := &cobra.Command{
		Use:   "collect DIR...",
		Short: "Put the runs of shards together",
		Long: `collect verifies the journals and blobs of run directories of one study, such as those of
its shards, and takes exactly one journal per episode into the directory -o: one that ran
to its end before one that was stopped, that before one without an end; then the earlier
end, then the smaller hash. An episode that -o already has with a valid end stays.
Journals that are not taken are named, kept in wasted/ and counted as wasted, and never
merged. Damaged copies are refused by file name; folders of another study, of other
scenarios or of another version of stint are refused as a whole. Collecting again adds
what is new.`,
		Example: "  " + e.Self + " collect runs/demo -o runs/together",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.Dir == "" {
				return inputErrorf("for example -o runs/NAME", "collect needs -o: the run directory to collect into")
			}
			opt.Sources, opt.Now = args, e.Now
			return collect(cmd.Context(), e, opt)
		},
	}
	cmd.Flags().StringVarP(&opt.Dir, "out", "o", "", "run directory to collect into")
	cmd.Flags().BoolVar(&opt.AnyVersion, "any-version", false, "take journals of several versions of stint")
	return cmd
}

func collect(ctx context.Context, e *env, opt fleet.CollectOptions) error {
	if e.terminal() {
		opt.Progress = func(done, all int) {
			fmt.Fprintf(e.Stderr, "\rcollecting: %d of %d episodes", done, all)
			if done == all {
				fmt.Fprint(e.Stderr, "\r\x1b[K")
			}
		}
	}
	c, err := fleet.Collect(ctx, opt)
	again := e.Self + " collect " + quoteAll(opt.Sources) + " -o " + shellQuote(opt.Dir)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &exitError{code: exitInterrupted, err: errors.New("interrupted; every episode is there whole or not at all"), hint: "go on with: " + again}
	}
	if err != nil {
		return err
	}
	for _, r := range c.Refused {
		e.say("refused: %s", clean(r.Error()))
	}
	for _, w := range c.Wasted {
		e.say("wasted: %s: %s%s", clean(w.Path), w.Why, costWords(w))
	}
	if !e.Quiet {
		e.say("%s: %d of %d episodes have an end; %d added, %d replaced, %d kept", clean(c.Dir), c.Valid+c.Stopped, c.Episodes, c.Added, c.Grown, c.Kept)
	}
	if len(c.Missing) > 0 {
		return incompleteCollection(e, c)
	}
	e.next("compare %s", shellQuote(c.Dir))
	return nil
}

// costWords tell what a journal that was not taken has cost.
func costWords(w fleet.Wasted) string {
	out := ""
	if w.Tokens != nil && *w.Tokens > 0 {
		out = fmt.Sprintf(", %s tokens", siCount(*w.Tokens))
	}
	if w.USD != nil && *w.USD > 0 {
		out += fmt.Sprintf(", $%.2f", *w.USD)
	}
	return out
}

// shownMissing is how many episodes without an end are listed.
const shownMissing = 20

// incompleteCollection lists the episodes without an end, and says which shards to run again.
func incompleteCollection(e *env, c *fleet.Collected) error {
	var shards []int
	for i, m := range c.Missing {
		if m.Shard > 0 && !slices.Contains(shards, m.Shard) {
			shards = append(shards, m.Shard)
		}
		if i < shownMissing && !e.Quiet {
			state := "missing"
			if m.Begun {
				state = "no end"
			}
			if m.Shard > 0 {
				state += fmt.Sprintf(", shard %d/%d", m.Shard, c.Shards)
			}
			e.say("%s: %v", state, clean(m.PlannedEpisode.String()))
		}
	}
	if more := len(c.Missing) - shownMissing; more > 0 && !e.Quiet {
		e.say("and %d more", more)
	}
	hint := fmt.Sprintf("run the missing ones here: %s run %s", e.Self, shellQuote(c.Dir))
	if slices.Sort(shards); len(shards) > 0 {
		var list []string
		for _, k := range shards {
			list = append(list, strconv.Itoa(k))
		}
		hint = fmt.Sprintf("run shard %s of %d again and collect again; or %s", strings.Join(list, ", "), c.Shards, hint)
	}
	if len(c.Refused) > 0 {
		hint = "remove the episodes that were refused, whose runs take them for done; then " + hint
	}
	return &exitError{code: exitIncomplete, err: fmt.Errorf("%d of %d episodes have no end", len(c.Missing), c.Episodes), hint: hint}
}

// quoteAll quotes words for a shell.
func quoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellQuote(w)
	}
	return strings.Join(out, " ")
}

// span writes a range of counts.
func span(least, most int) string {
	if least == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
