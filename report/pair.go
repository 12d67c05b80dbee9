package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/stats"
)

// A pairData is what one pair gives, whatever family it is in.
type pairData struct {
	result   PairResult
	p, minP  float64
	attained []float64 // p-values the exact signed-rank test of this pair can give; nil if another one was made or none
}

// maxDiscrete bounds the non-zero differences for which the null distribution of a pair is written out for the
// discrete Holm column, and maxDiscreteWork the number of values over a family.
const (
	maxDiscrete     = 400
	maxDiscreteWork = 40_000_000
)

// test compares the pairs of the families and corrects each family.
func (c *Comparison) test(families []DeclaredFamily, groups []*configRows, limit float64, opt CompareOptions) error {
	c.Families = []FamilyResult{}
	index := make(map[[2]string]int)
	var todo [][2]string
	for _, f := range families {
		for _, p := range f.Pairs {
			if _, ok := index[p]; !ok {
				index[p] = len(todo)
				todo = append(todo, p)
			}
		}
	}
	rows := make(map[string]*configRows, len(groups))
	for _, g := range groups {
		rows[g.name] = g
	}
	done := make([]pairData, len(todo))
	err := inParallel(len(todo), func(i int) error {
		d, err := comparePair(rows[todo[i][0]], rows[todo[i][1]], todo[i], c, limit, opt)
		done[i] = d
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range families {
		data := make([]pairData, len(f.Pairs))
		for i, p := range f.Pairs {
			data[i] = done[index[p]]
			// A pair may be in several families and gets notes in each.
			data[i].result.notes = append([]Warning(nil), data[i].result.notes...)
		}
		r, err := correctFamily(f, data, opt.Alpha)
		if err != nil {
			return err
		}
		c.Families = append(c.Families, r)
	}
	return nil
}

// pairID identifies a pair in warnings, by its full names.
func pairID(a, b string) string { return a + " − " + b }

// pairName names a pair in warnings and tables.
func (c *Comparison) pairName(a, b string) string { return pairID(c.Short(a), c.Short(b)) }

// comparePair tests one pair; a or b is nil if the configuration has no runs.
func comparePair(a, b *configRows, names [2]string, c *Comparison, limit float64, opt CompareOptions) (pairData, error) {
	where := pairID(names[0], names[1])
	d := pairData{p: 1, minP: 1}
	d.result = PairResult{A: names[0], B: names[1], Decision: DecisionCannot}
	r := &d.result
	note := func(at column, code, format string, args ...any) {
		r.notes = append(r.notes, Warning{Code: code, Where: where, Text: fmt.Sprintf(format, args...), at: at})
	}
	for i, g := range []*configRows{a, b} {
		if g == nil || len(g.outcomes) == 0 {
			r.untested = "no runs of " + c.Short(names[i])
			r.Test = "not tested: " + r.untested
			note(atName, CodeFamilyPartly, "%s has no runs here; the pair is not tested and counts in its family with p = 1", Clean(c.Short(names[i])))
			return d, nil
		}
	}
	res, err := stats.ComparePair(a.outcomes, b.outcomes, stats.ComparePairOptions{
		Cap: limit, Zero: c.zero, Seed: opt.Seed, Force: opt.Force, Alpha: opt.Alpha, Where: where,
	})
	if err != nil {
		shared := sharedScenarios(a, b)
		u, refused := unmatched(err)
		switch {
		case shared == 0:
			r.untested = "no shared scenario"
			note(atName, CodeNotTested, "the two share no scenario (%d and %d); not tested, counted in the family with p = 1", len(a.scenarios), len(b.scenarios))
		case refused:
			r.N = shared
			r.untested = "too many scenarios without a partner"
			note(atName, CodeNotTested, "refused: %d of %d scenarios of %s and %d of %d of %s have no partner (more than 20 %%); --force tests the %d they share; counted in the family with p = 1",
				len(u.OnlyA), len(u.OnlyA)+shared, Clean(c.Short(names[0])), len(u.OnlyB), len(u.OnlyB)+shared, Clean(c.Short(names[1])), shared)
		default:
			return d, fmt.Errorf("comparing %s: %w", Clean(where), err)
		}
		r.Test = "not tested: " + r.untested
		return d, nil
	}
	d.fill(res, note)
	r.differences = differencesOf(&res.Pairs, a.scenarios)
	for _, w := range res.Warnings {
		if w.Code == stats.CodeCapTooLow && c.TurnsMax == nil {
			continue // a share has no cap to raise
		}
		at := columnOf(w.Code)
		if w.Code == stats.CodeDegenerate {
			w.Text = strings.Replace(w.Text, "values are", "differences are", 1)
			if res.Ahead+res.Behind+res.Undecided == 0 {
				at = atNowhere // that all are zero has a note of its own
			}
		}
		text := nameSides(w.Text, Clean(c.Short(names[0])), Clean(c.Short(names[1])))
		if w.Code == stats.CodeStoppedUntested && r.Bounds != nil {
			text += "; " + boundsWords(r.Bounds) + ", whatever the stopped runs had done"
		}
		r.notes = append(r.notes, Warning{Code: w.Code, Where: where, Text: text, at: at})
	}
	return d, nil
}

// sharedScenarios counts the scenarios both have.
func sharedScenarios(a, b *configRows) int {
	n := 0
	for k := range a.scenarios {
		if _, ok := b.scenarios[k]; ok {
			n++
		}
	}
	return n
}

// fill copies the results of package stats; what is undefined stays nil and is noted.
func (d *pairData) fill(res stats.PairResult, note func(at column, code, format string, args ...any)) {
	r := &d.result
	r.N, r.Ahead, r.Level, r.Behind, r.Undecided = res.N, res.Ahead, res.Level, res.Behind, res.Undecided
	r.meanA, r.meanB = res.MeanA, res.MeanB
	r.Diff = ptr(res.Diff)
	if res.DiffCI.Defined {
		r.DiffCI = &[2]float64{res.DiffCI.Lo, res.DiffCI.Hi}
	} else {
		note(atCI, CodeUndefined, "the interval of the difference is undefined: %s", res.DiffCI.Reason)
	}
	switch {
	case !res.HLDefined:
		note(atNowhere, CodeUndefined, "no typical (Hodges–Lehmann) difference: %s", res.HLReason)
	case !res.HL.Interval.Defined:
		r.HL = ptr(res.HL.Estimate)
		note(atNowhere, CodeUndefined, "the interval of the typical (Hodges–Lehmann) difference is undefined: %s", res.HL.Interval.Reason)
	default:
		r.HL, r.HLCI = ptr(res.HL.Estimate), &[2]float64{res.HL.Interval.Lo, res.HL.Interval.Hi}
	}
	if res.HasBounds {
		r.Bounds = ptr(res.Bounds)
	}
	r.Test = res.TestName
	if !res.Tested {
		r.untested = trimNotTested(res.TestName)
		return
	}
	d.p, d.minP = res.P, res.MinP
	r.P = ptr(res.P)
	direction := res.Rank.WPlus - res.Rank.WMinus
	if res.Restricted {
		direction = r.fillStopped(res, note)
	} else {
		r.exact, r.nonZero = res.Rank.Exact, res.Rank.NonZero
		r.POtherZero, r.RankBiserial = ptr(res.POtherZero), ptr(res.RankBiserial)
		r.fraction = fraction(res.Rank.PCount, res.Rank.PLog2)
	}
	for _, w := range res.Warnings {
		r.directionSplit = r.directionSplit || w.Code == stats.CodeDirectionSplit
		r.zeroDecides = r.zeroDecides || w.Code == stats.CodeZeroMethodDecides
	}
	if !res.Restricted && res.Rank.Exact && res.Rank.NonZero <= maxDiscrete {
		if v, err := stats.AttainableP(res.Pairs.D, stats.SignedRankOptions{Zero: res.Rank.Zero}); err == nil {
			d.attained = v
		}
	}
	// The decision follows the ranks; correctFamily keeps it only if Holm does.
	switch {
	case r.directionSplit:
		r.Decision = DecisionUndecided
	case direction > 0:
		r.Decision = DecisionAhead
	case direction < 0:
		r.Decision = DecisionBehind
	default:
		r.Decision = DecisionUndecided
	}
}

// fillStopped copies the test of a pair in which runs were stopped and returns its direction.
func (r *PairResult) fillStopped(res stats.PairResult, note func(at column, code, format string, args ...any)) float64 {
	r.stoppedTest = true
	text := "runs were stopped: " + strings.ReplaceAll(res.TestName, "Prentice-Wilcoxon", "Prentice–Wilcoxon")
	if r.Bounds != nil {
		text += "; signed-rank " + boundsWords(r.Bounds) + ", whatever the stopped runs had done"
	}
	note(atName, CodeStoppedTested, "%s", text)
	if res.Prentice.N == 0 {
		r.exact, r.nonZero, r.fraction = true, res.Sign.N, fraction(res.Sign.PCount, res.Sign.PLog2)
		return float64(res.Ahead - res.Behind)
	}
	r.exact, r.nonZero, r.fraction = res.Prentice.Exact, res.Prentice.NonZero, fraction(res.Prentice.PCount, res.Prentice.PLog2)
	return res.Prentice.Sum
}

// fraction writes an exact p, "" if it is not known as one.
func fraction(count uint64, log2 int) string {
	if log2 <= 0 {
		return ""
	}
	return fmt.Sprintf("%d/2^%d", count, log2)
}

// correctFamily adjusts the p-values of a family and decides.
func correctFamily(f DeclaredFamily, data []pairData, alpha float64) (FamilyResult, error) {
	tests := make([]stats.Test, len(data))
	for i := range data {
		r := &data[i].result
		tests[i] = stats.Test{ID: pairID(r.A, r.B), P: data[i].p, MinP: data[i].minP}
	}
	fr, err := stats.Family(tests, stats.FamilyOptions{Alpha: alpha})
	if err != nil {
		return FamilyResult{}, fmt.Errorf("correcting the family %q: %w", f.Name, err)
	}
	out := FamilyResult{
		Name: f.Name, Declared: f.Declared && f.Departure == "", departure: f.Departure, M: fr.M, Alpha: fr.Alpha, MinAttainable: ptr(fr.MinAttainable),
		Pairs: make([]PairResult, len(data)), allCannot: fr.AllCannot, needed: fr.NeedNonZero,
	}
	discrete, err := discreteHolm(data)
	if err != nil {
		return FamilyResult{}, fmt.Errorf("correcting the family %q: %w", f.Name, err)
	}
	for i := range data {
		r := data[i].result
		r.Least = ptr(fr.Least[i])
		if r.P != nil {
			r.Holm, r.HolmDiscrete = ptr(fr.Adjusted[i]), ptr(discrete[i])
		} else {
			r.notes = append(r.notes, Warning{Code: CodeUndefined, Where: tests[i].ID, Text: "p, Holm and rank-biserial are undefined: " + r.Test, at: atNowhere})
		}
		switch {
		case fr.Cannot[i]:
			r.Decision = DecisionCannot
		case !fr.Reject[i]:
			r.Decision = DecisionUndecided
		}
		if !fr.Reject[i] {
			for k := range r.notes {
				if r.notes[k].Code == stats.CodeDirectionSplit {
					r.notes[k].at = atNowhere // nothing was about to be called better
				}
			}
		}
		out.Pairs[i] = r
	}
	out.familyNotes(fr)
	return out, nil
}

// familyNotes hands on the warnings of package stats: to the pair they speak of, or to the family.
func (f *FamilyResult) familyNotes(fr stats.FamilyResult) {
	index := make(map[string]int, len(f.Pairs))
	for i := range f.Pairs {
		index[pairID(f.Pairs[i].A, f.Pairs[i].B)] = i
	}
	for _, w := range fr.Warnings {
		i, ok := index[w.Where]
		if !ok {
			f.notes = append(f.notes, Warning{Code: w.Code, Where: f.Name, Text: w.Text, at: atNowhere})
			continue
		}
		at := columnOf(w.Code)
		if slices.ContainsFunc(f.Pairs[i].notes, func(n Warning) bool { return n.Code == stats.CodeCannotReachAlpha }) {
			at = atNowhere // that pair has a footnote which says why
		}
		f.Pairs[i].notes = append(f.Pairs[i].notes, Warning{Code: w.Code, Where: w.Where, Text: w.Text, at: at})
	}
}

// discreteHolm is the second column. Where a member's null distribution is not written out (runs were stopped, or it
// would be too large) its bound stands in, which can only make the values larger.
func discreteHolm(data []pairData) ([]float64, error) {
	p := make([]float64, len(data))
	null := make([]stats.Null, len(data))
	work := 0
	for i := range data {
		work += len(data[i].attained)
	}
	for i := range data {
		p[i] = data[i].p
		null[i] = stats.BoundedNull(data[i].minP)
		if a := data[i].attained; a != nil && work <= maxDiscreteWork {
			null[i] = stats.NullOf(a)
		}
	}
	return stats.AdjustNull(p, null)
}
