package stats

import (
	"fmt"
	"math"
)

// stopped fills in the results of a pair with stopped runs: restricted means,
// the test that knows about stops, the sign test of known orders, and bounds.
func (r *PairResult) stopped(p pairing, opt ComparePairOptions) error {
	r.Rank = SignedRankResult{N: r.N, P: 1, MinP: 1, Other: 1, Zero: opt.Zero, BothCapped: p.BothCapped}
	r.HLReason = "runs were stopped"
	r.Superiority, r.WinsCI = PairedSuperiority(r.Ahead, r.Level, r.Behind, opt.Level)
	r.restrictedDifference(p, opt)
	if opt.Cap > 0 {
		if err := r.bounds(p, opt); err != nil {
			return err
		}
	}
	var err error
	if r.Sign, err = SignTest(r.Ahead, r.Behind, TwoSided); err != nil {
		return err
	}
	over := func(stopped, runs int) bool { return float64(stopped) > tooManyStopped*float64(runs) }
	switch {
	case over(p.StoppedA, p.RunsA) || over(p.StoppedB, p.RunsB):
		r.TestName = "not tested: " + stoppedOf(p.StoppedA+p.StoppedB, p.RunsA+p.RunsB)
		r.Warnings = append(r.Warnings, warnf(CodeTooManyStopped, opt.Where,
			"of A %s early, of B %s, more than %.0f %% of a side: the pair is not tested and counts in its family with p = 1; only the bounds say anything",
			stoppedOf(p.StoppedA, p.RunsA), stoppedOf(p.StoppedB, p.RunsB), 100*tooManyStopped))
		return nil
	case r.N == 1:
		r.TestName = notTestedOne
		r.Warnings = append(r.Warnings, oneScenario(opt.Where))
		return nil
	case p.RunsA > r.N:
		r.Tested, r.TestName = true, "exact sign test of known orders"
		r.P, r.MinP = r.Sign.P, r.Sign.MinP
		r.directionWarning(float64(r.Ahead-r.Behind), opt.Where)
	default:
		if err := r.prentice(p); err != nil {
			return err
		}
		r.directionWarning(r.Prentice.Sum, opt.Where)
	}
	r.POtherZero = r.P
	if r.MinP > opt.Alpha {
		r.Warnings = append(r.Warnings, warnf(CodeCannotReachAlpha, opt.Where,
			"p of the %s cannot be below %s here, so nothing can be significant at %v", r.TestName, FormatP(r.MinP), opt.Alpha))
	}
	return nil
}

// prentice runs the paired Prentice-Wilcoxon test of single runs.
func (r *PairResult) prentice(p pairing) error {
	ta, tb := make([]float64, r.N), make([]float64, r.N)
	ea, eb := make([]bool, r.N), make([]bool, r.N)
	for i := range p.keptA {
		ta[i], ea[i] = p.a[p.keptA[i].index[0]].Lifetime()
		tb[i], eb[i] = p.b[p.keptB[i].index[0]].Lifetime()
	}
	var err error
	if r.Prentice, err = PrenticeWilcoxon(ta, ea, tb, eb, PrenticeOptions{}); err != nil {
		return err
	}
	r.Tested, r.P, r.MinP = true, r.Prentice.P, r.Prentice.MinP
	r.TestName = "exact paired Prentice-Wilcoxon"
	if !r.Prentice.Exact {
		r.TestName = "paired Prentice-Wilcoxon, " + r.Prentice.Method
		if r.Prentice.Method == Normal.String() {
			r.TestName += " approximation"
		}
	}
	r.Warnings = append(r.Warnings, r.Prentice.Warnings...)
	return nil
}

// stoppedOf says how many of some runs were stopped.
func stoppedOf(stopped, runs int) string {
	if stopped == 1 {
		return fmt.Sprintf("1 of %s was stopped", countOf(runs, "run", "runs"))
	}
	return fmt.Sprintf("%d of %s were stopped", stopped, countOf(runs, "run", "runs"))
}

// bounds resolves all stopped runs for A and for B.
func (r *PairResult) bounds(p pairing, opt ComparePairOptions) error {
	forA, forB := append([]float64(nil), p.D...), append([]float64(nil), p.D...)
	for k, i := range p.Undecided {
		s := p.spans[k]
		forA[i] = roundedDifference(s.aHi, s.bLo)
		forB[i] = roundedDifference(s.aLo, s.bHi)
	}
	ra, err := signedRank(forA, SignedRankOptions{Zero: opt.Zero}, opt.Alpha)
	if err != nil {
		return err
	}
	rb, err := signedRank(forB, SignedRankOptions{Zero: opt.Zero}, opt.Alpha)
	if err != nil {
		return err
	}
	r.HasBounds = true
	r.PForA, r.PForB = ra.P, rb.P
	r.Bounds = [2]float64{math.Min(ra.P, rb.P), math.Max(ra.P, rb.P)}
	sa, sb := ra.WPlus-ra.WMinus, rb.WPlus-rb.WMinus
	if sa*sb < 0 {
		r.Bounds[1] = 1 // somewhere between the two the ranks balance
	}
	decideA, decideB := ra.P <= opt.Alpha, rb.P <= opt.Alpha
	if decideA != decideB || decideA && decideB && sa*sb < 0 {
		r.Warnings = append(r.Warnings, warnf(CodeCensoringDecides, opt.Where,
			"the stopped runs decide at %v: p = %s if they are resolved for A, %s if for B", opt.Alpha, FormatP(ra.P), FormatP(rb.P)))
	}
	return nil
}

// restrictedDifference fills in restricted means of both sides and a scenario
// bootstrap of their difference.
func (r *PairResult) restrictedDifference(p pairing, opt ComparePairOptions) {
	const method = "difference of restricted means"
	r.Restricted = true
	la, largestA := lifetimes(p.a, p.keptA)
	lb, largestB := lifetimes(p.b, p.keptB)
	if p.StoppedA == p.RunsA || p.StoppedB == p.RunsB {
		r.MeanA, r.MeanB = mean(p.A), mean(p.B)
		r.Diff = r.MeanA - r.MeanB
		r.DiffCI = undefined(opt.Level, method, "every run of one side was stopped")
		return
	}
	tau := math.Max(largestA, largestB)
	if opt.Cap > 0 {
		tau = opt.Cap
	}
	one := make([]int, r.N)
	for i := range one {
		one[i] = 1
	}
	r.MeanA, r.MeanB = weightedRMST(la, one, tau), weightedRMST(lb, one, tau)
	stat := func(weight []int) float64 { return weightedRMST(la, weight, tau) - weightedRMST(lb, weight, tau) }
	boot := bootstrapUnits(r.N, len(la)+len(lb), stat, BootstrapOptions{Level: opt.Level, Seed: opt.Seed}, opt.Level, "restricted-difference", p.A, p.B)
	r.Diff, r.DiffCI = boot.Mean, boot.Interval
	if r.DiffCI.Defined {
		r.DiffCI.Method = method + ", " + r.DiffCI.Method
	}
	r.Warnings = append(r.Warnings, boot.Warnings...)
}
