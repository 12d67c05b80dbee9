package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// maxAttainable bounds the scenarios for which the attainable p-values are listed.
const maxAttainable = 100

// A reportedP is a p-value as printed somewhere, and what a signed-rank test of so many scenarios can give.
type reportedP struct {
	Reported string `json:"reported"`
	// Possible is whether any exact two-sided p rounds to it, whatever the ties and zeros.
	Possible bool        `json:"possible"`
	Below    *attainedP  `json:"below"` // nearest two-sided p below and not below it, no two differences alike
	Above    *attainedP  `json:"above"`
	Others   []attainedP `json:"others"` // other tests whose p rounds to it
	Holm     float64     `json:"holm"`   // as the smallest of the family
	value    float64
	lo, hi   float64
}

// An attainedP is a p-value and the record that gives it.
type attainedP struct {
	P     float64 `json:"p"`
	Test  string  `json:"test"`
	Loss  int     `json:"rank_sum_behind"` // rank sum of the scenarios in which the better side is behind
	Ahead int     `json:"ahead_at_most"`
}

// attainable prints which p-values a study of f.plan.Scenarios scenarios can report.
func (f *powerFlags) attainable(e *env) error {
	n := f.plan.Scenarios
	if n < 1 || n > maxAttainable {
		return inputErrorf("beyond that nearly every p is attainable", "--attainable lists the p-values of 1 to %d scenarios, not of %d", maxAttainable, n)
	}
	a, err := stats.Attainable(n, f.plan.Tests, f.plan.Alpha)
	if err != nil {
		return inputErrorf(e.Self+" power -h lists the flags", "%w", err)
	}
	tests, err := untiedTests(n)
	if err != nil {
		return err
	}
	var list []*reportedP
	for _, s := range f.reported {
		r, err := parseReported(s)
		if err != nil {
			return err
		}
		r.look(n, f.plan.Tests, tests)
		list = append(list, r)
	}
	if f.json {
		return e.printJSON(struct {
			Schema    string       `json:"schema"`
			Scenarios int          `json:"scenarios"`
			Pairs     int          `json:"pairs"`
			Alpha     float64      `json:"alpha"`
			MinP      float64      `json:"min_p"`
			MinHolm   float64      `json:"min_attainable"`
			Need      int          `json:"need_nonzero"`
			Values    []*reportedP `json:"values"`
		}{"stint.attainable/1", n, f.plan.Tests, f.plan.Alpha, a.MinP, a.Adjusted, a.Need, list})
	}
	return f.printAttainable(e, a, list)
}

// parseReported reads a p-value as printed: 0.014 stands for all that rounds to it.
func parseReported(s string) (*reportedP, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v <= 1) || strings.ContainsAny(s, "xXpP_") {
		return nil, inputErrorf("--attainable 0.014,0.011", "--attainable %s is no p-value", clean(s))
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	power := -len(decimals)
	if exponent != "" {
		x, err := strconv.Atoi(exponent)
		if err != nil || x < -400 {
			return nil, inputErrorf("--attainable 0.014,0.011", "--attainable %s is no p-value", clean(s))
		}
		power += x
	}
	half := 0.5 * math.Pow10(power) * (1 + 1e-9) // halves are rounded up by some and to even by others: both are let in
	return &reportedP{Reported: s, value: v, lo: v - half, hi: v + half, Others: []attainedP{}}, nil
}

// An untiedTest is a test of n scenarios that all differ, no two alike; p is indexed by the rank sum of the losses.
type untiedTest struct {
	name string
	p    []float64
}

// untiedTests returns the exact two-sided signed-rank test first, then what else is often computed in its place.
func untiedTests(n int) ([]untiedTest, error) {
	kinds := []struct {
		name string
		opt  stats.SignedRankOptions
	}{
		{"exact signed rank, two-sided", stats.SignedRankOptions{}},
		{"exact signed rank, one-sided", stats.SignedRankOptions{Alternative: stats.Greater}},
		{"normal approximation, two-sided", stats.SignedRankOptions{Method: stats.Normal}},
		{"normal approximation, one-sided", stats.SignedRankOptions{Method: stats.Normal, Alternative: stats.Greater}},
		{"normal with continuity correction, two-sided", stats.SignedRankOptions{Method: stats.Normal, Continuity: true}},
		{"normal with continuity correction, one-sided", stats.SignedRankOptions{Method: stats.Normal, Continuity: true, Alternative: stats.Greater}},
	}
	out := make([]untiedTest, len(kinds))
	for k, kind := range kinds {
		out[k].name = kind.name
		for loss := 0; loss <= n*(n+1)/4; loss++ {
			d, _ := lossesOf(n, loss)
			r, err := stats.SignedRank(d, kind.opt)
			if err != nil {
				return nil, err
			}
			out[k].p = append(out[k].p, r.P)
		}
	}
	return out, nil
}

// lossesOf returns differences 1..n of which as few as possible are negative so that their ranks sum to loss.
func lossesOf(n, loss int) (d []float64, ahead int) {
	d = make([]float64, n)
	ahead = n
	for rank := n; rank >= 1; rank-- {
		d[rank-1] = float64(rank)
		if rank <= loss {
			d[rank-1], loss, ahead = -float64(rank), loss-rank, ahead-1
		}
	}
	return d, ahead
}

// look finds what gives the reported value.
func (r *reportedP) look(n, pairs int, tests []untiedTest) {
	// Two-sided p of m non-zero differences is a multiple of 2^(1-m) with or without ties, m <= n.
	step := math.Ldexp(1, 1-n)
	r.Possible = math.Ceil(r.lo/step)*step <= r.hi
	exact := tests[0]
	at := func(t untiedTest, loss int) *attainedP {
		_, ahead := lossesOf(n, loss)
		return &attainedP{P: t.p[loss], Test: t.name, Loss: loss, Ahead: ahead}
	}
	above, _ := slices.BinarySearch(exact.p, r.value)
	if above < len(exact.p) {
		r.Above = at(exact, above)
	}
	if above > 0 {
		r.Below = at(exact, above-1)
	}
	for _, t := range tests[1:] {
		for loss, p := range t.p {
			if r.lo <= p && p <= r.hi {
				r.Others = append(r.Others, *at(t, loss))
			}
		}
	}
	r.Holm = math.Min(1, r.value*float64(pairs))
}

// printAttainable writes the answer for people.
func (f *powerFlags) printAttainable(e *env, a stats.Attainability, list []*reportedP) error {
	n, m := f.plan.Scenarios, f.plan.Tests
	var b strings.Builder
	fmt.Fprintf(&b, "%s: an exact two-sided signed-rank p is a multiple of 1/2^%d = %s, with or without ties.\n", plural(n, "scenario"), n-1, stats.FormatP(a.MinP))
	if sign, err := signTestP(n, n-1); err == nil && n > 1 {
		fmt.Fprintf(&b, "Sign test: ahead in %d of %d gives p = %s, in %d of %d p = %s.\n", n, n, stats.FormatP(a.MinP), n-1, n, stats.FormatP(sign))
	}
	if m > 1 {
		fmt.Fprintf(&b, "Family of %d pairs: the first step of Holm needs p ≤ %s.\nThe smallest adjusted p is %s; at least %d scenarios must differ.\n",
			m, stats.FormatP(f.plan.Alpha/float64(m)), stats.FormatP(a.Adjusted), a.Need)
	}
	for _, r := range list {
		fmt.Fprintf(&b, "\np = %s: ", r.Reported)
		if r.Possible {
			b.WriteString("possible")
		} else {
			b.WriteString("not possible")
		}
		b.WriteString("; nearest without ties\n")
		for _, x := range []*attainedP{r.Below, r.Above} {
			if x != nil {
				fmt.Fprintf(&b, "  %-8s %s\n", stats.FormatP(x.P), x.record(n))
			}
		}
		for i, x := range r.Others {
			if r.Possible {
				break // another test explains nothing then; --json has them
			}
			if i == 0 {
				fmt.Fprintf(&b, "  what else rounds to %s\n", r.Reported)
			}
			fmt.Fprintf(&b, "  %-8s %s: %s\n", fmt.Sprintf("%#.3g", x.P), x.record(n), x.Test)
		}
		if m > 1 {
			fmt.Fprintf(&b, "  as the smallest of %d pairs, Holm makes it %s\n", m, stats.FormatP(r.Holm))
		}
	}
	_, err := e.Stdout.Write([]byte(b.String()))
	return err
}

// record words how often the better side is ahead.
func (x *attainedP) record(n int) string {
	if x.Loss == 0 {
		return fmt.Sprintf("ahead in %d of %d", n, n)
	}
	return fmt.Sprintf("ahead in at most %d of %d, rank sum behind %d", x.Ahead, n, x.Loss)
}

func signTestP(n, wins int) (float64, error) {
	r, err := stats.SignTest(wins, n-wins, stats.TwoSided)
	return r.P, err
}
