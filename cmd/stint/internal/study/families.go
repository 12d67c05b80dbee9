package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/episode"
	"github.com/stint-bench/stint/logs"
)

// Family is one declared family of tests: pairs of configurations that are corrected together. M is
// len(Pairs), always.
type Family struct {
	Name     string
	Pairs    [][2]string // names of configurations; the difference is first − second
	Outcome  string      // turns_passed, full, share or usd
	Filter   string      // as written; already applied to Pairs
	By       []string    // as written
	Within   []string
	Baseline string
	All      bool // pairs: all
}

// readAnalysis reads what is tested and resolves every family to pairs.
func (s *Study) readAnalysis(root *node) error {
	n := root.get("analysis")
	usual := "turns_passed"
	if s.Mode == episode.ModeTeleport {
		usual = "share"
	}
	s.Analysis = Analysis{Outcome: textOr(n.get("outcome"), usual), Alpha: numberOr(n.get("alpha"), defaultAlpha)}
	if err := s.checkOutcome(n.get("outcome")); err != nil {
		return err
	}
	list := n.get("families")
	if list == nil {
		return nil
	}
	seen := map[string]place{}
	for _, item := range list.items {
		d, err := s.readFamily(item)
		if err != nil {
			return err
		}
		if before, dup := seen[d.Name]; dup {
			return s.src.errorAt(item.place, fmt.Sprintf("line %d has the same name; give each family its own", before.line), "two families are called %q", d.Name)
		}
		seen[d.Name] = item.place
		s.Families = append(s.Families, d)
	}
	return nil
}

// checkOutcome refuses an outcome that the mode does not have.
func (s *Study) checkOutcome(n *node) error {
	if n != nil && n.text == "turns_passed" && s.Mode == episode.ModeTeleport {
		return s.src.errorAt(n.place, "use outcome: share, the share of turns passed", "turns_passed is not defined under mode: teleport, where a failed turn ends nothing")
	}
	return nil
}

func (s *Study) readFamily(n *node) (Family, error) {
	d := Family{
		Outcome: textOr(n.get("outcome"), s.Analysis.Outcome),
		Filter:  textOr(n.get("filter"), ""),
		By:      textsOf(n.get("by")), Within: textsOf(n.get("within")),
		Baseline: textOr(n.get("baseline"), ""),
		All:      n.get("pairs") != nil && n.get("pairs").kind == kindScalar,
	}
	kinds := 0
	for _, k := range []string{"by", "baseline", "pairs"} {
		if n.get(k) != nil {
			kinds++
		}
	}
	const advice = "a family has one of: by (with within), baseline, pairs"
	switch {
	case kinds == 0:
		return d, s.src.errorAt(n.place, advice, "this family says no pairs")
	case kinds > 1:
		return d, s.src.errorAt(n.place, advice, "this family says its pairs in %d ways", kinds)
	case n.get("within") != nil && n.get("by") == nil:
		return d, s.src.errorAt(n.get("within").place, advice, "within belongs to by")
	}
	if err := s.checkOutcome(n.get("outcome")); err != nil {
		return d, err
	}
	pool, err := s.familyPool(n)
	if err != nil {
		return d, err
	}
	switch {
	case n.get("by") != nil:
		d.Pairs, err = s.byPairs(n, pool)
	case n.get("baseline") != nil:
		d.Pairs, err = s.baselinePairs(n.get("baseline"), pool)
	default:
		d.Pairs, err = s.writtenPairs(n.get("pairs"), pool)
	}
	if err != nil {
		return d, err
	}
	d.Name = textOr(n.get("name"), d.defaultName())
	if len(d.Pairs) == 0 {
		return d, s.src.errorAt(n.place, s.pairlessAdvice(pool), "the family %q has no pair", d.Name)
	}
	return d, nil
}

// defaultName describes a family that has no name of its own.
func (d *Family) defaultName() string {
	switch {
	case len(d.By) > 0 && len(d.Within) > 0:
		return strings.Join(d.By, ", ") + " within " + strings.Join(d.Within, ", ")
	case len(d.By) > 0:
		return "by " + strings.Join(d.By, ", ")
	case d.Baseline != "":
		return "against " + d.Baseline
	case d.All:
		return "all pairs"
	}
	return fmt.Sprintf("%d declared pairs", len(d.Pairs))
}

func (s *Study) pairlessAdvice(pool []*Config) string {
	names := make([]string, len(pool))
	for i, c := range pool {
		names[i] = c.Name
	}
	if len(pool) == 0 {
		return "its filter leaves no configuration"
	}
	return "configurations it can choose from: " + strings.Join(names, ", ")
}

// familyPool returns the configurations a family may pair: all, or those its filter accepts.
func (s *Study) familyPool(n *node) ([]*Config, error) {
	var expr logs.Expr
	filter := n.get("filter")
	if filter != nil {
		e, err := logs.ParseExpr(filter.text)
		if err != nil {
			return nil, s.src.errorAt(filter.place, "for example filter: model:glm-5", "the filter cannot be read: %v", err)
		}
		expr = e
	}
	var pool []*Config
	for i := range s.Configs {
		c := &s.Configs[i]
		if filter != nil {
			ok, err := expr.Match(c.column)
			if err != nil {
				return nil, s.src.errorAt(filter.place, "a family's filter chooses configurations, by config, "+strings.Join(factorNames, ", "), "the filter does not fit: %v", err)
			}
			if !ok {
				continue
			}
		}
		pool = append(pool, c)
	}
	return pool, nil
}

// column gives a filter the columns of `episodes` that a configuration decides.
func (c *Config) column(name string) (string, bool) {
	if name == "config" {
		return c.Name, true
	}
	if !slices.Contains(factorNames, name) {
		return "", false
	}
	return c.factor(name), true
}

// byPairs pairs configurations that differ in the `by` factors and agree in every `within` factor. A factor
// that varies inside a stratum and is in neither list would be mixed up with the effect: an error.
func (s *Study) byPairs(n *node, pool []*Config) ([][2]string, error) {
	by, within := textsOf(n.get("by")), textsOf(n.get("within"))
	for _, w := range wordsOf(n.get("within")) {
		if slices.Contains(by, w.text) {
			return nil, s.src.errorAt(w.place, "keep it in one of the two lists", "%s is in by and in within", w.text)
		}
	}
	var order []string
	strata := map[string][]*Config{}
	for _, c := range pool {
		k := c.tuple(within)
		if _, known := strata[k]; !known {
			order = append(order, k)
		}
		strata[k] = append(strata[k], c)
	}
	var pairs [][2]string
	for _, k := range order {
		members := strata[k]
		if len(members) < 2 {
			continue
		}
		if f := strayFactor(members, by, within); f != "" {
			return nil, s.src.errorAt(n.get("by").place, fmt.Sprintf("add %s to by (it changes together with the others) or to within (it stays the same), or filter", f),
				"%s varies among the configurations to be paired (%s, %s) and is in neither by nor within", f, members[0].Name, differing(members, f).Name)
		}
		for i, a := range members {
			for _, b := range members[i+1:] {
				if a.tuple(by) != b.tuple(by) {
					pairs = append(pairs, [2]string{a.Name, b.Name})
				}
			}
		}
	}
	return pairs, nil
}

// tuple is the values of some factors as one comparable text.
func (c *Config) tuple(factors []string) string {
	parts := make([]string, len(factors))
	for i, f := range factors {
		parts[i] = c.factor(f)
	}
	return strings.Join(parts, "\x00")
}

// strayFactor returns the first factor outside both lists that varies among the members, or "".
func strayFactor(members []*Config, by, within []string) string {
	for _, f := range factorNames {
		if !slices.Contains(by, f) && !slices.Contains(within, f) && differing(members, f) != nil {
			return f
		}
	}
	return ""
}

// differing returns the first member whose factor differs from the first member's, or nil.
func differing(members []*Config, f string) *Config {
	for _, c := range members[1:] {
		if c.factor(f) != members[0].factor(f) {
			return c
		}
	}
	return nil
}

// baselinePairs pairs every other configuration with the baseline, which a filter does not take away.
func (s *Study) baselinePairs(baseline *node, pool []*Config) ([][2]string, error) {
	if err := s.knownConfig(baseline); err != nil {
		return nil, err
	}
	var pairs [][2]string
	for _, c := range pool {
		if c.Name != baseline.text {
			pairs = append(pairs, [2]string{c.Name, baseline.text})
		}
	}
	return pairs, nil
}

// writtenPairs returns the pairs as listed, or all of them.
func (s *Study) writtenPairs(n *node, pool []*Config) ([][2]string, error) {
	var pairs [][2]string
	if n.kind == kindScalar { // all
		for i, a := range pool {
			for _, b := range pool[i+1:] {
				pairs = append(pairs, [2]string{a.Name, b.Name})
			}
		}
		return pairs, nil
	}
	inPool := map[string]bool{}
	for _, c := range pool {
		inPool[c.Name] = true
	}
	seen := map[[2]string]bool{}
	for _, p := range n.items {
		a, b := p.items[0], p.items[1]
		for _, c := range p.items {
			if err := s.knownConfig(c); err != nil {
				return nil, err
			}
		}
		pair := [2]string{a.text, b.text}
		switch {
		case a.text == b.text:
			return nil, s.src.errorAt(b.place, "name two different ones", "a configuration cannot be paired with itself")
		case seen[pair] || seen[[2]string{b.text, a.text}]:
			return nil, s.src.errorAt(p.place, "a pair counted twice would make the correction needlessly strict; keep one", "the pair %s and %s stands twice in the family", a.text, b.text)
		}
		seen[pair] = true
		if inPool[a.text] && inPool[b.text] {
			pairs = append(pairs, pair)
		}
	}
	return pairs, nil
}

// knownConfig refuses a name that is no configuration of the study.
func (s *Study) knownConfig(n *node) error {
	if s.Config(n.text) != nil {
		return nil
	}
	names := make([]string, len(s.Configs))
	for i, c := range s.Configs {
		names[i] = c.Name
	}
	return s.src.errorAt(n.place, DidYouMean(n.text, names, "configurations of this study"), "unknown configuration %q", n.text)
}
