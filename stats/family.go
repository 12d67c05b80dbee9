package stats

import (
	"fmt"
	"math"
)

// A Test is one member of a family. A test that could not be run has P = 1 and
// MinP = 1 and still counts.
type Test struct {
	ID   string
	P    float64
	MinP float64 // least P possible; 0 if there is no limit
}

// FamilyOptions controls [Family]. The zero value is Holm at 0.05.
type FamilyOptions struct {
	Alpha      float64 // 0: 0.05
	Correction Correction
}

// FamilyResult holds one entry per test, in input order.
type FamilyResult struct {
	M        int
	Alpha    float64
	Adjusted []float64
	Least    []float64 // adjusted value if every member had its own MinP; nothing smaller is possible
	Reject   []bool    // Adjusted <= Alpha
	Cannot   []bool    // Least > Alpha: could not have been significant
	// AllCannot is true if no member could have been significant.
	AllCannot     bool
	MinAttainable float64 // smallest of Least; 1 for an empty family
	NeedNonZero   int     // least number of non-zero differences for a family of this size in which all members have it, two-sided
	CannotAlone   int     // members with MinP > Alpha
	CannotInAll   int     // members with Least > Alpha
	Warnings      []Warning
}

// Family adjusts the p-values of a declared family of tests and says which of
// them could have been significant at all. M is the number of declared tests.
func Family(tests []Test, opt FamilyOptions) (FamilyResult, error) {
	alpha := opt.Alpha
	if alpha == 0 {
		alpha = defaultAlpha
	}
	if !(alpha > 0 && alpha < 1) {
		return FamilyResult{}, fmt.Errorf("family: alpha %v is not between 0 and 1", alpha)
	}
	m := len(tests)
	p, least := make([]float64, m), make([]float64, m)
	for i, t := range tests {
		if !(t.P >= 0 && t.P <= 1) {
			return FamilyResult{}, fmt.Errorf("family: test %q: p = %v is not in [0, 1]", t.ID, t.P)
		}
		if !(t.MinP >= 0 && t.MinP <= 1) {
			return FamilyResult{}, fmt.Errorf("family: test %q: least p = %v is not in [0, 1]", t.ID, t.MinP)
		}
		p[i], least[i] = t.P, t.MinP
	}
	r := FamilyResult{M: m, Alpha: alpha, Reject: make([]bool, m), Cannot: make([]bool, m), MinAttainable: 1}
	var err error
	if r.Adjusted, err = Adjust(p, opt.Correction); err != nil {
		return FamilyResult{}, fmt.Errorf("family: %w", err)
	}
	if r.Least, err = Adjust(least, opt.Correction); err != nil {
		return FamilyResult{}, fmt.Errorf("family: %w", err)
	}
	for i := range tests {
		r.Reject[i] = r.Adjusted[i] <= alpha
		r.MinAttainable = math.Min(r.MinAttainable, r.Least[i])
		if tests[i].MinP > alpha {
			r.CannotAlone++
		}
		if r.Least[i] > alpha {
			r.Cannot[i] = true
			r.CannotInAll++
		}
	}
	r.AllCannot = m > 0 && r.CannotInAll == m
	r.NeedNonZero = needNonZero(m, alpha, opt.Correction)
	r.Warnings = familyWarnings(tests, r, opt.Correction)
	return r, nil
}

// needNonZero returns the least number of non-zero differences with which a
// two-sided exact test can be significant in a family of m equal members.
func needNonZero(m int, alpha float64, c Correction) int {
	if m == 0 {
		return 0
	}
	k := float64(m)
	for n := 1; ; n++ {
		p := minSignP(n, TwoSided)
		// The first step of each procedure, for equal p-values.
		switch c {
		case Holm, Bonferroni:
			p *= k
		case Sidak, HolmSidak:
			p = sidak(p, k)
		case BY:
			p *= harmonic(m)
		}
		if p <= alpha || n > 2*maxExact {
			return n
		}
	}
}

// familyWarnings names the members that could not have been significant.
// Members whose MinP is 1 were not run or are all tied and say so themselves.
func familyWarnings(tests []Test, r FamilyResult, c Correction) []Warning {
	if r.AllCannot {
		return []Warning{warnf(CodeCannotSurviveFamily, "family",
			"no test of this family could have been significant: with %s (%s) the smallest adjusted p possible is %s; every pair needs at least %s with a difference",
			countOf(r.M, "test", "tests"), c, FormatP(r.MinAttainable), countOf(r.NeedNonZero, "scenario", "scenarios"))}
	}
	var w []Warning
	for i, t := range tests {
		if r.Cannot[i] && t.MinP < 1 {
			w = append(w, warnf(CodeCannotSurviveFamily, t.ID,
				"could not have been significant: its smallest possible p is %s, %s-adjusted over %s at least %s",
				FormatP(t.MinP), c, countOf(r.M, "test", "tests"), FormatP(r.Least[i])))
		}
	}
	return w
}
