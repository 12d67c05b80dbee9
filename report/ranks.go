package report

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// Ranks are resampled up to these sizes; beyond, the time it takes would be felt.
const (
	maxRankedScenarios = 500
	maxRankedRuns      = 10_000
)

// maxLetters is the number of groups up to which a table of letters can be read; JSON holds them all.
const maxLetters = 9

// A RankGroup is a largest possible set of configurations of which no two differ significantly. Groups overlap.
type RankGroup struct {
	Letter  string   `json:"letter"`
	Configs []string `json:"configs"` // highest mean first
	// Contiguous is false if a configuration that is told apart from a member has a mean between theirs.
	Contiguous bool `json:"contiguous"`
}

// rank fills in how sure the rank of every configuration is, by resampling scenarios for all of them at once. Two
// configurations have no ranking beyond their pair, and of dollars less is better.
func (c *Comparison) rank(groups []*configRows, limit float64, opt CompareOptions) error {
	var configs []stats.Configuration
	runs := 0
	shared := make(map[string]int)
	for _, g := range groups {
		if len(g.outcomes) == 0 {
			continue
		}
		configs = append(configs, stats.Configuration{Name: g.name, Outcomes: g.outcomes})
		runs += len(g.outcomes)
		for key := range g.scenarios {
			shared[key]++
		}
	}
	if len(configs) < 3 || opt.Outcome == "usd" {
		return nil
	}
	common := 0
	for _, n := range shared {
		if n == len(configs) {
			common++
		}
	}
	reason := ""
	switch {
	case common < 2:
		reason = fmt.Sprintf("all configurations share %d %s", common, plural(common, "scenario", "scenarios"))
	case common > maxRankedScenarios || runs > maxRankedRuns:
		reason = fmt.Sprintf("ranks are resampled for at most %d scenarios and %d runs", maxRankedScenarios, maxRankedRuns)
	}
	if reason != "" {
		for i := range c.Configs {
			c.Configs[i].notes = append(c.Configs[i].notes, Warning{Code: CodeUndefined, Where: c.Configs[i].Config, Text: "the rank is undefined: " + reason, at: atNowhere})
		}
		return nil
	}
	resampled, err := stats.ResampleScenarios(configs, stats.ResampleOptions{Cap: limit, Seed: opt.Seed})
	if err != nil {
		return fmt.Errorf("ranking: %w", err)
	}
	ranks, err := resampled.Ranks(0.95)
	if err != nil {
		return fmt.Errorf("ranking: %w", err)
	}
	c.ranked = common
	for i := range ranks {
		if r := c.Config(ranks[i].Name); r != nil {
			r.Rank, r.RankCI = &ranks[i].Rank, &[2]int{ranks[i].Lo, ranks[i].Hi}
		}
	}
	return nil
}

// group fills the groups of the families that hold all pairs of the configurations.
func (c *Comparison) group() {
	n := len(c.Configs)
	if n < 3 {
		return
	}
	index := make(map[string]int, n)
	order := make([]int, n) // Configs are sorted by mean
	for i := range c.Configs {
		index[c.Configs[i].Config], order[i] = i, i
	}
	for k := range c.Families {
		f := &c.Families[k]
		known, different := make([][]bool, n), make([][]bool, n)
		for i := range known {
			known[i], different[i] = make([]bool, n), make([]bool, n)
		}
		pairs := 0
		for j := range f.Pairs {
			p := &f.Pairs[j]
			a, okA := index[p.A]
			b, okB := index[p.B]
			if !okA || !okB || a == b {
				continue
			}
			if !known[a][b] {
				pairs++
			}
			known[a][b], known[b][a] = true, true
			if p.Decision == DecisionAhead || p.Decision == DecisionBehind {
				different[a][b], different[b][a] = true, true
			}
		}
		if pairs < n*(n-1)/2 {
			continue
		}
		groups, err := stats.RankGroups(order, different)
		if err != nil {
			continue // more groups than anybody would read
		}
		f.Groups = make([]RankGroup, len(groups))
		for i, g := range groups {
			f.Groups[i] = RankGroup{Letter: g.Letter, Contiguous: g.Contiguous}
			for _, m := range g.Members {
				f.Groups[i].Configs = append(f.Groups[i].Configs, c.Configs[m].Config)
			}
		}
	}
}

// rankTable is the table of ranks, with the letters of the first family that holds all pairs; ok is false if there
// are none.
func (c *Comparison) rankTable() (t table, ok bool) {
	if c.ranked == 0 {
		return t, false
	}
	t = table{name: "ranks", caption: fmt.Sprintf("Ranks by mean, and where they lie if the %d shared scenarios are drawn again", c.ranked),
		columns: []tableColumn{{head: "configuration"}, {head: "rank", mark: "."}, {head: "95 %", mark: "–"}}}
	var groups []RankGroup
	for i := range c.Families {
		if f := &c.Families[i]; f.Groups != nil && len(f.Groups) <= maxLetters {
			groups = f.Groups
			t.columns = append(t.columns, tableColumn{head: "not told apart"})
			t.caption += fmt.Sprintf("; configurations that share a letter are not told apart by the family %q", Clean(f.Name))
			break
		}
	}
	for i := range c.Configs {
		r := &c.Configs[i]
		row := []tableCell{words(Clean(c.Short(r.Config)))}
		if r.Rank == nil {
			row = append(row, words(undefinedMark), words(undefinedMark))
		} else {
			row = append(row, amount(r.Rank, compact(*r.Rank)), amount(ptr(float64(r.RankCI[0])), fmt.Sprintf("%d–%d", r.RankCI[0], r.RankCI[1])))
		}
		if groups != nil {
			row = append(row, words(lettersOf(groups, r.Config)))
		}
		t.rows = append(t.rows, row)
	}
	return t, true
}

// rankSentence words the ranks of the first configurations as a paper does.
func (c *Comparison) rankSentence() string {
	var parts []string
	for i := range c.Configs {
		r := &c.Configs[i]
		if r.Rank == nil || len(parts) == maxTold {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (95 %% of resamples %d–%d)", c.told(r.Config), compact(*r.Rank), r.RankCI[0], r.RankCI[1]))
	}
	return "Ranks by mean: " + joinAnd(parts) + "."
}

// lettersOf lists the letters of the groups that hold a configuration.
func lettersOf(groups []RankGroup, config string) string {
	var out []string
	for _, g := range groups {
		if slices.Contains(g.Configs, config) {
			out = append(out, g.Letter)
		}
	}
	return strings.Join(out, " ")
}

// markdownRanks writes the table of ranks.
func (c *Comparison) markdownRanks(b *bufio.Writer) {
	if t, ok := c.rankTable(); ok {
		t.markdown(b)
	}
}
