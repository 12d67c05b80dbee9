package report

import (
	"fmt"
	"slices"
	"strings"
)

// A DeclaredFamily is a family of pairs somebody named: its pairs are corrected together.
type DeclaredFamily struct {
	Name     string
	Pairs    [][2]string // full names of configurations
	Outcome  string      // the outcome it was declared for; "" = turns_passed
	Declared bool        // in study.yaml, before the first run
	// Departure says what this comparison does otherwise than declared, such as "--filter"; the family is then
	// exploratory. "" = nothing.
	Departure string
}

// resolveFamilies returns the families to test, in the order of interface: by and within, or a baseline, or the
// declared ones, or all pairs. An empty result means that intervals only are shown.
func resolveFamilies(c *Comparison, opt CompareOptions) ([]DeclaredFamily, error) {
	switch {
	case opt.Baseline != "" && len(opt.By)+len(opt.Within) > 0:
		return nil, inputErrorf("use one of them", "--baseline and --by describe different families")
	case len(opt.Within) > 0 && len(opt.By) == 0:
		return nil, inputErrorf("add --by FACTOR", "--within without --by: no factor is compared")
	case opt.Baseline != "":
		return baselineFamily(c, opt.Baseline)
	case len(opt.By) > 0:
		f, err := FactorFamily(c.Configs, opt.By, opt.Within)
		if err != nil {
			return nil, err
		}
		orient(c, f.Pairs)
		return []DeclaredFamily{f}, nil
	}
	declared := familiesFor(opt.Families, opt.Outcome)
	if len(declared) > 0 {
		return declared, nil
	}
	if opt.Primary != "" && opt.Outcome != opt.Primary {
		c.intervals = true
		c.notes = append(c.notes, Warning{Code: CodeIntervalsOnly, Where: "", Text: fmt.Sprintf(
			"no family was declared for the outcome %s (the study declared %s): intervals only; --by or --baseline compare it as exploratory", opt.Outcome, opt.Primary)})
		return nil, nil
	}
	return allPairs(c), nil
}

// familiesFor keeps the families declared for an outcome.
func familiesFor(families []DeclaredFamily, outcome string) []DeclaredFamily {
	var out []DeclaredFamily
	for _, f := range families {
		if f.Outcome == outcome || f.Outcome == "" && (outcome == "turns_passed" || outcome == "") {
			out = append(out, f)
		}
	}
	return out
}

// allPairs is the exploratory family of every pair, the higher mean first.
func allPairs(c *Comparison) []DeclaredFamily {
	f := DeclaredFamily{Name: "all pairs"}
	for i := range c.Configs {
		for j := i + 1; j < len(c.Configs); j++ {
			f.Pairs = append(f.Pairs, [2]string{c.Configs[i].Config, c.Configs[j].Config})
		}
	}
	if len(f.Pairs) == 0 {
		return nil
	}
	return []DeclaredFamily{f}
}

// baselineFamily compares every configuration with one of them.
func baselineFamily(c *Comparison, name string) ([]DeclaredFamily, error) {
	base, err := c.find(name)
	if err != nil {
		return nil, err
	}
	f := DeclaredFamily{Name: "against " + base}
	for i := range c.Configs {
		if c.Configs[i].Config != base {
			f.Pairs = append(f.Pairs, [2]string{c.Configs[i].Config, base})
		}
	}
	if len(f.Pairs) == 0 {
		return nil, inputErrorf("", "the baseline %s is the only configuration", Clean(base))
	}
	return []DeclaredFamily{f}, nil
}

// find returns the full name of a configuration given by its full or short name.
func (c *Comparison) find(name string) (string, error) {
	if c.Config(name) != nil {
		return name, nil
	}
	for i := range c.Configs {
		if full := c.Configs[i].Config; c.Short(full) == name {
			return full, nil
		}
	}
	known := make([]string, 0, len(c.Configs))
	for i := range c.Configs {
		if i == 12 {
			known = append(known, "…")
			break
		}
		known = append(known, Clean(c.Short(c.Configs[i].Config)))
	}
	return "", inputErrorf("the configurations are: "+strings.Join(known, ", "), "there is no configuration %q", name)
}

// FactorFamily pairs the configurations that differ in at least one of the by factors and agree in all within
// factors, over all strata. A factor that varies inside a stratum and is in neither list is an error that names
// it; a stratum with one configuration adds no pair.
func FactorFamily(configs []ConfigResult, by, within []string) (DeclaredFamily, error) {
	f := DeclaredFamily{Name: strings.Join(by, ", ")}
	if len(within) > 0 {
		f.Name += " within " + strings.Join(within, ", ")
	}
	known := factorNames(configs)
	for _, name := range append(slices.Clone(by), within...) {
		if !slices.Contains(known, name) {
			hint := "no configuration has factors"
			if len(known) > 0 {
				hint = "the factors are: " + strings.Join(known, ", ")
			}
			return f, inputErrorf(hint, "there is no factor %q", name)
		}
	}
	for _, name := range by {
		if slices.Contains(within, name) {
			return f, inputErrorf("leave it out of one of them", "factor %q is in both --by and --within", name)
		}
	}
	for i := range configs {
		for j := i + 1; j < len(configs); j++ {
			a, b := &configs[i], &configs[j]
			if differs(a, b, within) != "" {
				continue
			}
			if differs(a, b, by) == "" {
				continue
			}
			for _, name := range known {
				if !slices.Contains(by, name) && !slices.Contains(within, name) && a.Factors[name] != b.Factors[name] {
					return f, inputErrorf("add it to --by or to --within", "factor %q varies between %s and %s and is in neither --by nor --within", name, Clean(a.Config), Clean(b.Config))
				}
			}
			f.Pairs = append(f.Pairs, [2]string{a.Config, b.Config})
		}
	}
	if len(f.Pairs) == 0 {
		return f, inputErrorf("the factors are: "+strings.Join(known, ", "), "no two configurations differ in %s and agree in %s", strings.Join(by, ", "), orNothing(within))
	}
	return f, nil
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing else"
	}
	return strings.Join(names, ", ")
}

// factorNames returns the names of all factors, sorted.
func factorNames(configs []ConfigResult) []string {
	seen := make(map[string]bool)
	for i := range configs {
		for k := range configs[i].Factors {
			seen[k] = true
		}
	}
	return sortedKeys(seen)
}

// differs returns the first of the factors in which a and b differ, or "".
func differs(a, b *ConfigResult, factors []string) string {
	for _, f := range factors {
		if a.Factors[f] != b.Factors[f] {
			return f
		}
	}
	return ""
}

// orient puts the configuration with the higher mean first in every pair; configs are sorted by mean.
func orient(c *Comparison, pairs [][2]string) {
	rank := make(map[string]int, len(c.Configs))
	for i := range c.Configs {
		rank[c.Configs[i].Config] = i
	}
	for i, p := range pairs {
		if rank[p[0]] > rank[p[1]] {
			pairs[i] = [2]string{p[1], p[0]}
		}
	}
}
