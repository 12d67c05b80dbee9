package stats

import (
	"fmt"
)

// ComparePairOptions controls [ComparePair]. The zero value drops zeros, uses
// 95 % intervals and level 0.05.
type ComparePairOptions struct {
	Cap   float64 // number of turns there are; 0: none
	Zero  ZeroMethod
	Level float64 // of intervals; 0: 0.95
	Seed  uint64
	Force bool    // accept any share of unmatched scenarios
	Alpha float64 // at which warnings speak of a decision; 0: 0.05
	Where string  // name of the pair in warnings
}

// PairResult is everything known about one pair of configurations.
type PairResult struct {
	N                               int // shared scenarios
	Ahead, Level, Behind, Undecided int // of A; Undecided: a stopped run leaves the order open

	// MeanA, MeanB and Diff are means over the shared scenarios; restricted
	// means if runs were stopped, and lower bounds if a whole side was.
	MeanA, MeanB, Diff float64
	DiffCI             Interval
	Restricted         bool

	Tested   bool
	TestName string // name of the test, or "not tested: " and the reason
	Rank     SignedRankResult
	// P, POtherZero and MinP are 1 if the pair was not tested, as it enters
	// its family. Where runs were stopped there is no zero method and
	// POtherZero is P.
	P, POtherZero, MinP float64

	// Prentice and Sign are the tests of a pair with stopped runs: Prentice
	// needs one run per side and scenario (N is 0 otherwise), Sign uses the
	// scenarios whose order is known.
	Prentice PrenticeResult
	Sign     SignTestResult

	// Bounds are the smallest and largest p-value the stopped runs leave open:
	// all of A's at the cap and B's where they stopped, and the reverse.
	Bounds       [2]float64
	HasBounds    bool
	PForA        float64 // p with all stopped runs resolved for A, when HasBounds
	PForB        float64
	HL           HodgesLehmannResult
	HLDefined    bool
	HLReason     string
	RankBiserial float64
	Superiority  float64  // share of known orders in which A is ahead, level ones half
	WinsCI       Interval // Wilson, wins among known orders that are not level
	Pairs        Pairs
	Warnings     []Warning
}

// maxCappedPairs is the share of pairs with a capped side above which a shift
// of turns is no difference in stamina.
const maxCappedPairs = 0.25

// ComparePair compares configurations A and B on the scenarios both have: mean
// difference with an expanded BCa interval, exact Wilcoxon signed-rank test
// with both treatments of zeros, Hodges-Lehmann estimate, rank-biserial
// correlation, and warnings.
//
// A pair with stopped runs is tested by the paired Prentice-Wilcoxon test or,
// with repeats, by the exact sign test of the known orders; what the stopped
// runs leave open is in Bounds. If more than 30 % of a side were stopped, or
// there is a single scenario, the pair is not tested: it has P = MinP = 1 and
// still counts in its family.
func ComparePair(a, b []Outcome, opt ComparePairOptions) (PairResult, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return PairResult{}, fmt.Errorf("comparing %s: %w", pairName(opt.Where), err)
	}
	if opt.Alpha == 0 {
		opt.Alpha = defaultAlpha
	}
	if !(opt.Alpha > 0 && opt.Alpha < 1) {
		return PairResult{}, fmt.Errorf("comparing %s: alpha %v is not between 0 and 1", pairName(opt.Where), opt.Alpha)
	}
	opt.Level = level
	p, w, err := pairUp(a, b, PairOptions{Cap: opt.Cap, Force: opt.Force, Where: opt.Where})
	if err != nil {
		return PairResult{}, err
	}
	r := PairResult{N: len(p.Scenarios), Pairs: p.Pairs, Warnings: w, P: 1, POtherZero: 1, MinP: 1}
	d, scale := p.differences()
	r.count(d, p)
	if len(p.Undecided) > 0 {
		err = r.stopped(p, opt)
	} else {
		err = r.complete(d, scale, p, opt)
	}
	if err != nil {
		return PairResult{}, fmt.Errorf("comparing %s: %w", pairName(opt.Where), err)
	}
	if r.N > 0 && 2*p.BothCapped > r.N {
		r.Warnings = append(r.Warnings, warnf(CodeCapTooLow, opt.Where,
			"both sides reach the cap in %d of %s, which tells nothing about their difference: raise the cap", p.BothCapped, countOf(r.N, "scenario", "scenarios")))
	}
	for i := range r.Warnings {
		r.Warnings[i].Where = opt.Where
	}
	return r, nil
}

const notTestedOne = "not tested: one shared scenario"

func oneScenario(where string) Warning {
	return warnf(CodeOneScenario, where, "one shared scenario is shown but not tested; in a family it counts with p = 1")
}

// differences returns the differences as whole numbers where possible, and their
// scale, so that no tie depends on rounding.
func (p *pairing) differences() (d []float64, scale float64) {
	if p.Scale == 0 {
		return p.D, 1
	}
	d = make([]float64, len(p.Scaled))
	for i, v := range p.Scaled {
		d[i] = float64(v)
	}
	return d, float64(p.Scale)
}

// count fills in who is ahead, as far as it is known.
func (r *PairResult) count(d []float64, p pairing) {
	next := 0
	for i, v := range d {
		sign, known := 0, true
		switch {
		case next < len(p.Undecided) && p.Undecided[next] == i:
			sign, known = p.spans[next].order()
			next++
		case v > 0:
			sign = 1
		case v < 0:
			sign = -1
		}
		switch {
		case !known:
			r.Undecided++
		case sign > 0:
			r.Ahead++
		case sign < 0:
			r.Behind++
		default:
			r.Level++
		}
	}
}

// complete fills in the results of a pair without stopped runs. The differences
// are d over scale.
func (r *PairResult) complete(d []float64, scale float64, p pairing, opt ComparePairOptions) error {
	r.MeanA, r.MeanB = mean(p.A), mean(p.B)
	boot, err := BootstrapMean(p.D, BootstrapOptions{Level: opt.Level, Seed: opt.Seed})
	if err != nil {
		return err
	}
	r.Diff, r.DiffCI = boot.Mean, boot.Interval
	r.Warnings = append(r.Warnings, boot.Warnings...)
	r.Superiority, r.WinsCI = PairedSuperiority(r.Ahead, r.Level, r.Behind, opt.Level)
	if err := r.shift(d, scale, p, opt); err != nil {
		return err
	}
	rank, err := signedRank(d, SignedRankOptions{Zero: opt.Zero}, opt.Alpha)
	if err != nil {
		return err
	}
	rank.BothCapped = p.BothCapped
	r.Rank = rank
	r.RankBiserial = RankBiserial(rank)
	if r.N == 1 {
		r.TestName = notTestedOne
		r.Warnings = append(r.Warnings, oneScenario(opt.Where))
		return nil
	}
	r.Warnings = append(r.Warnings, rank.Warnings...)
	r.Tested = true
	r.TestName = "exact Wilcoxon signed rank"
	if !rank.Exact {
		r.TestName = "Wilcoxon signed rank, normal approximation with continuity correction"
	}
	r.P, r.POtherZero, r.MinP = rank.P, rank.Other, rank.MinP
	r.decisionWarnings(opt)
	return nil
}

// shift fills in the Hodges-Lehmann estimate, unless too many sides are capped.
func (r *PairResult) shift(d []float64, scale float64, p pairing, opt ComparePairOptions) error {
	if float64(p.CappedPairs) > maxCappedPairs*float64(r.N) {
		r.HLReason = fmt.Sprintf("%d of %s have a side at the cap: use the mean difference, restricted to the cap", p.CappedPairs, countOf(r.N, "pair", "pairs"))
		return nil
	}
	hl, err := HodgesLehmann(d, opt.Level)
	if err != nil {
		return err
	}
	hl.Estimate /= scale
	hl.Interval.Lo /= scale
	hl.Interval.Hi /= scale
	r.HL, r.HLDefined = hl, true
	r.Warnings = append(r.Warnings, hl.Warnings...)
	return nil
}

// decisionWarnings says where a decision hangs on a convention.
func (r *PairResult) decisionWarnings(opt ComparePairOptions) {
	if (r.P <= opt.Alpha) != (r.POtherZero <= opt.Alpha) {
		other := Pratt
		if opt.Zero != Drop {
			other = Drop
		}
		r.Warnings = append(r.Warnings, warnf(CodeZeroMethodDecides, opt.Where,
			"the treatment of %s decides at %v: p = %s with %s (used here), %s with %s",
			countOf(r.Rank.Zeros, "zero difference", "zero differences"), opt.Alpha, FormatP(r.P), zeroWords(opt.Zero), FormatP(r.POtherZero), zeroWords(other)))
	}
	r.directionWarning(r.Rank.WPlus-r.Rank.WMinus, opt.Where)
}

// zeroWords says what a method does with zeros.
func zeroWords(z ZeroMethod) string {
	switch z {
	case Pratt:
		return "zeros ranked (Pratt)"
	case ZSplit:
		return "zeros split"
	}
	return "zeros dropped"
}

// directionWarning says that the test points to one side and the mean to the
// other.
func (r *PairResult) directionWarning(statistic float64, where string) {
	if statistic*r.Diff >= 0 {
		return
	}
	ahead, higher := "A", "B"
	if r.Diff > 0 {
		ahead, higher = higher, ahead
	}
	r.Warnings = append(r.Warnings, warnf(CodeDirectionSplit, where,
		"the ranks favour %s but the mean of %s is higher: a few long runs carry the mean, so neither is called better", ahead, higher))
}
