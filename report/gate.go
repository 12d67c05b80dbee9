package report

import (
	"fmt"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// Gate answers an expression A<B: has A turned out significantly below B in a family shown? A and B are full or
// short names. passed is false if it has; msg says what was found either way. A pair that is in no family, an
// unknown name or an expression without "<" is an error.
func (c *Comparison) Gate(expr string) (passed bool, msg string, err error) {
	if !strings.Contains(expr, "<") {
		return false, "", inputErrorf("--fail-if 'A<B' fails if A is significantly below B", "gate %q is not of the form A<B", expr)
	}
	a, b, err := c.gateNames(expr)
	if err != nil {
		return false, "", err
	}
	if a == b {
		return false, "", inputErrorf("name two configurations", "gate %q compares a configuration with itself", expr)
	}
	found := false
	var last string
	for i := range c.Families {
		f := &c.Families[i]
		for j := range f.Pairs {
			p := &f.Pairs[j]
			below, above := DecisionBehind, DecisionAhead
			switch {
			case p.A == a && p.B == b:
			case p.A == b && p.B == a:
				below, above = above, below
			default:
				continue
			}
			found = true
			last = fmt.Sprintf("%s and %s in the family %q: %s", Clean(c.Short(a)), Clean(c.Short(b)), Clean(f.Name), gateWords(p, below, above))
			if p.Decision == below {
				return false, fmt.Sprintf("%s is significantly below %s in the family %q (Holm-adjusted p = %s)", Clean(c.Short(a)), Clean(c.Short(b)), Clean(f.Name), formatHolm(p)), nil
			}
		}
	}
	if !found {
		hint := "the comparison shows intervals only; --by, --baseline or a declared family gives it pairs"
		if len(c.Families) > 0 {
			hint = "only pairs of the family shown can be a gate; --baseline or --by choose another family"
		}
		return false, "", inputErrorf(hint, "gate %q: the pair is in no family of this comparison", expr)
	}
	return true, last, nil
}

// gateNames splits the expression at the "<" that leaves two known names; names may hold one themselves.
func (c *Comparison) gateNames(expr string) (a, b string, err error) {
	for i, r := range expr {
		if r != '<' {
			continue
		}
		left, errA := c.find(strings.TrimSpace(expr[:i]))
		right, errB := c.find(strings.TrimSpace(expr[i+1:]))
		switch {
		case errA == nil && errB == nil:
			return left, right, nil
		case err == nil && errA != nil:
			err = errA
		case err == nil:
			err = errB
		}
	}
	return "", "", fmt.Errorf("gate %q: %w", expr, err)
}

// gateWords says why a gate did not close.
func gateWords(p *PairResult, below, above string) string {
	switch p.Decision {
	case below:
		return "significantly below"
	case above:
		return "the first is significantly above the second"
	case DecisionCannot:
		if p.P == nil {
			return "not tested (" + p.untested + "), so the gate cannot close"
		}
		return "no difference could have been significant with these data, so the gate cannot close"
	}
	return "no significant difference"
}

func formatHolm(p *PairResult) string {
	if p.Holm == nil {
		return "undefined"
	}
	return stats.FormatP(*p.Holm)
}
