package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// An OtherStudy is a second study that a report shows beside its own.
type OtherStudy struct {
	Study      string
	Comparison *Comparison  // of the same outcome
	Tables     *logs.Tables // may be nil
	Settings   []Setting    // as its study file says them; may be nil
}

// A Setting is one line of a study file, such as budgets.attempt.wall.
type Setting struct{ Key, Value string }

// A BesideStudy is the other study in summary.json.
type BesideStudy struct {
	Study      string              `json:"study"`
	Headline   string              `json:"headline"`
	Comparison *Comparison         `json:"comparison"`
	Runs       []RunSummary        `json:"runs"`
	Costs      []CostSummary       `json:"costs"`
	Scenarios  SharedScenarios     `json:"scenarios"`
	Settings   []SettingDifference `json:"settings"` // those that differ
	// Families hold the pairs of a configuration here and one there; empty unless both have the same scenarios.
	Families  []FamilyResult `json:"families"`
	NotTested string         `json:"not_tested"` // why there are none; "" if there are

	here, there string      // labels of the studies, distinct
	answer      string      // the headline here
	both        *Comparison // the configurations of both, for one table and one picture
	between     *Comparison // with Families; nil if nothing was tested
}

// SharedScenarios counts the scenarios of two studies.
type SharedScenarios struct {
	Shared    int  `json:"shared"`
	OnlyHere  int  `json:"only_here"`
	OnlyThere int  `json:"only_there"`
	ByContent bool `json:"by_content"` // told by what they hold; else by their names
}

// A SettingDifference is a setting that is not the same in both studies; "" = not set.
type SettingDifference struct {
	Setting string `json:"setting"`
	Here    string `json:"here"`
	There   string `json:"there"`
}

// besideFigure is the name of the picture with both studies.
const besideFigure = "both-studies"

// mostCross is the number of pairs of different configurations that are tested between two studies.
const mostCross = 100

// newBeside works out what is shown of the other study.
func newBeside(in Input) (*BesideStudy, error) {
	o := in.With
	b := &BesideStudy{Study: o.Study, Headline: Headline(o.Comparison), Comparison: o.Comparison, Runs: []RunSummary{}, Families: []FamilyResult{}, here: in.Study, there: o.Study, answer: Headline(in.Comparison)}
	if b.here == "" {
		b.here = "this study"
	}
	if b.there == "" || b.there == b.here {
		b.there = "the other " + b.there
	}
	if o.Comparison.Outcome != in.Comparison.Outcome {
		return nil, inputErrorf("name an outcome that both have with --outcome", "the outcome is %s here and %s in the study beside it", Clean(in.Comparison.Outcome), Clean(o.Comparison.Outcome))
	}
	if o.Tables != nil {
		b.Runs = SummarizeRuns(o.Tables)
	}
	var err error
	if b.Costs, err = o.Comparison.Costs(o.Tables); err != nil {
		return nil, err
	}
	b.Settings = settingDifferences(append(tableSettings(in.Tables), in.Settings...), append(tableSettings(o.Tables), o.Settings...))
	b.countScenarios(in.Comparison)
	b.putTogether(in.Comparison)
	return b, b.test(in.Comparison)
}

// scenarioKeys are the scenarios of a comparison: their contents where every run knows it, else their names.
func (c *Comparison) scenarioKeys(byContent bool) map[string]bool {
	keys := make(map[string]bool)
	for i := range c.Configs {
		for k := range c.Configs[i].runs {
			row := c.Configs[i].runs[k].row
			if byContent {
				keys[row.ScenarioSHA] = true
			} else {
				keys[row.Scenario] = true
			}
		}
	}
	return keys
}

func (b *BesideStudy) countScenarios(here *Comparison) {
	x, y := here.scenarioKeys(true), b.Comparison.scenarioKeys(true)
	b.Scenarios.ByContent = !x[""] && !y[""]
	if !b.Scenarios.ByContent {
		x, y = here.scenarioKeys(false), b.Comparison.scenarioKeys(false)
	}
	for k := range x {
		if y[k] {
			b.Scenarios.Shared++
		} else {
			b.Scenarios.OnlyHere++
		}
	}
	b.Scenarios.OnlyThere = len(y) - b.Scenarios.Shared
}

// putTogether makes the list of all configurations: one scale, no test.
func (b *BesideStudy) putTogether(here *Comparison) {
	all := &Comparison{Schema: CompareSchema, Outcome: here.Outcome, Policy: here.Policy, episodes: here.episodes && b.Comparison.episodes,
		verdicts: here.verdicts && b.Comparison.verdicts, short: make(map[string]string)}
	if here.cap() == b.Comparison.cap() {
		all.TurnsMax = here.TurnsMax
	}
	for _, side := range []struct {
		c    *Comparison
		name string
	}{{here, b.here}, {b.Comparison, b.there}} {
		for _, n := range []int{side.c.scenarios.lo, side.c.scenarios.hi} {
			all.scenarios.add(n)
		}
		for _, n := range []int{side.c.runs.lo, side.c.runs.hi} {
			all.runs.add(n)
		}
		for i := range side.c.Configs {
			r := side.c.Configs[i]
			name := side.name + ": " + r.Config
			all.short[name] = side.name + ": " + side.c.Short(r.Config)
			r.Config, r.notes = name, nil
			all.Configs = append(all.Configs, r)
		}
	}
	for _, c := range []*Comparison{here, b.Comparison} {
		if all.verdicts && c.Banner != "" && !strings.Contains(all.Banner, c.Banner) {
			all.Banner = strings.TrimPrefix(all.Banner+". "+c.Banner, ". ")
		}
	}
	b.both = all
}

// test compares configurations of the two studies on the scenarios they share, if they share all.
func (b *BesideStudy) test(here *Comparison) error {
	switch s := b.Scenarios; {
	case s.Shared == 0 || s.OnlyHere+s.OnlyThere > 0:
		b.NotTested = fmt.Sprintf("the scenarios are not the same: %d are in both studies, %d only here, %d only there", s.Shared, s.OnlyHere, s.OnlyThere)
	case here.cap() != b.Comparison.cap():
		b.NotTested = fmt.Sprintf("the most that can be reached is not the same: %s here, %s there", compact(here.cap()), compact(b.Comparison.cap()))
	}
	if b.NotTested != "" {
		return nil
	}
	set := &logs.OutcomeSet{ValueName: here.Outcome, Cap: here.cap()}
	b.addTo(set, here, b.here)
	b.addTo(set, b.Comparison, b.there)
	family := DeclaredFamily{Name: "the same configuration in both studies", Outcome: here.Outcome}
	cross := DeclaredFamily{Name: "a configuration of one study and one of the other", Outcome: here.Outcome}
	for i := range here.Configs {
		for k := range b.Comparison.Configs {
			x, y := here.Configs[i].Config, b.Comparison.Configs[k].Config
			pair := [2]string{inStudy(x, b.here), inStudy(y, b.there)}
			cross.Pairs = append(cross.Pairs, pair)
			if x == y {
				family.Pairs = append(family.Pairs, pair)
			}
		}
	}
	if len(family.Pairs) == 0 {
		if family = cross; len(cross.Pairs) > mostCross {
			b.NotTested = fmt.Sprintf("no configuration is in both studies, and %d pairs of different ones are too many to ask about at once: choose some with --filter", len(cross.Pairs))
			return nil
		}
	}
	opt := CompareOptions{Families: []DeclaredFamily{family}, Outcome: here.Outcome, Episodes: here.episodes && b.Comparison.episodes}
	if len(here.Families) > 0 {
		opt.Alpha = here.Families[0].Alpha
	}
	c, err := Compare(set, opt)
	if err != nil {
		return fmt.Errorf("comparing the two studies: %w", err)
	}
	for i := range c.Families {
		for k := range c.Families[i].Pairs {
			c.Families[i].Pairs[k].notes = nil // footnotes belong to the report's own tables
		}
	}
	for _, side := range []struct {
		c    *Comparison
		name string
	}{{here, b.here}, {b.Comparison, b.there}} {
		for i := range side.c.Configs {
			config := side.c.Configs[i].Config
			c.short[inStudy(config, side.name)] = side.name + ": " + side.c.Short(config)
		}
	}
	b.between, b.Families = c, c.Families
	return nil
}

// inStudy names a configuration of a study as one of two that differ in the factor study.
func inStudy(config, label string) string {
	return config + "/study=" + strings.NewReplacer("/", "-", "=", "-").Replace(label)
}

// addTo adds the runs of a comparison to a set.
func (b *BesideStudy) addTo(set *logs.OutcomeSet, c *Comparison, label string) {
	for i := range c.Configs {
		for k := range c.Configs[i].runs {
			row := *c.Configs[i].runs[k].row
			if !b.Scenarios.ByContent {
				row.ScenarioSHA = ""
			}
			row.Factors = maps.Clone(row.Factors)
			if row.Factors == nil {
				row.Factors = make(map[string]string)
			}
			row.Factors["study"] = label
			row.Config = inStudy(row.Config, label)
			set.Rows = append(set.Rows, row)
		}
	}
}

// tableSettings are what the tables say about how a study was run.
func tableSettings(t *logs.Tables) []Setting {
	if t == nil {
		return nil
	}
	values := make(map[string]map[string]bool)
	add := func(key, value string) {
		if values[key] == nil {
			values[key] = make(map[string]bool)
		}
		values[key][value] = true
	}
	for i := range t.Episodes {
		e := &t.Episodes[i]
		add("configurations", e.Config)
		add("turns", fmt.Sprint(e.TurnsMax))
		add("mode", e.Mode)
		add("session", e.Session)
		add("delivery", e.Delivery)
		add("process retries", fmt.Sprint(e.ProcessRetries))
		add("repeat", fmt.Sprint(e.Repeat))
		add("sandbox", e.Sandbox)
		add("version of "+e.Harness, e.HarnessVersion)
		if e.ModelReturned != nil {
			add("returned for "+e.Model, *e.ModelReturned)
		}
	}
	out := make([]Setting, 0, len(values))
	for _, key := range sortedKeys(values) {
		list := sortedKeys(values[key])
		if len(list) > 12 {
			list = append(list[:11:11], fmt.Sprintf("%d more", len(values[key])-11))
		}
		out = append(out, Setting{key, strings.Join(list, ", ")})
	}
	return out
}

// settingDifferences lists what is not the same, in the order of the first list, then of the second.
func settingDifferences(here, there []Setting) []SettingDifference {
	of := make(map[string]string, len(there))
	for _, s := range there {
		of[s.Key] = s.Value
	}
	out := []SettingDifference{}
	for _, s := range here {
		if of[s.Key] != s.Value {
			out = append(out, SettingDifference{s.Key, s.Value, of[s.Key]})
		}
	}
	for _, s := range there {
		if !slices.ContainsFunc(here, func(h Setting) bool { return h.Key == s.Key }) {
			out = append(out, SettingDifference{s.Key, "", s.Value})
		}
	}
	return out
}
