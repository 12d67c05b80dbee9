package stats

import (
	"fmt"
	"math"
	"slices"
)

// Reduction says how the repeats of one scenario become one value.
type Reduction int

const (
	Mean   Reduction = iota // arithmetic mean
	Median                  // middle value, or the mean of the two middle ones
)

// PairOptions controls [Pair]. The zero value has no cap, reduces by the mean
// and refuses sides with more than 20 % unmatched scenarios.
type PairOptions struct {
	Cap    float64 // number of turns there are; 0: none
	Force  bool    // accept any share of unmatched scenarios
	Reduce Reduction
	Where  string // name of the pair in warnings and errors
}

// Pairs holds one reduced value per side for every scenario both sides have.
type Pairs struct {
	Scenarios []string  // sorted
	A, B      []float64 // reduced values; a stopped run enters with the turns it passed
	D         []float64 // A - B; equal exact differences have equal bits

	Undecided    []int    // indexes of pairs that hold a stopped run; their D is not to be tested
	OnlyA, OnlyB []string // scenarios of one side only
	BothCapped   int      // pairs in which every run of both sides reached the cap
	CappedPairs  int      // pairs in which at least one run reached the cap
	Trimmed      int      // surplus repeats left out
	StoppedA     int      // stopped runs among those used
	StoppedB     int
	RunsA, RunsB int     // runs used
	Scale        int64   // least common multiple of the repeat counts, 0 if values are not whole numbers
	Scaled       []int64 // D * Scale, exact, when Scale > 0
	TrimmedA     []Repeat
	TrimmedB     []Repeat
	Repeats      []int // runs per side used in each scenario
}

// A pairing is Pairs with the runs behind them.
type pairing struct {
	Pairs
	spans        []span // parallel to Undecided
	a, b         []Outcome
	keptA, keptB []group
}

// A Repeat names one run.
type Repeat struct {
	Scenario  string
	Replicate int
}

// A span holds what is known about the two reduced values of an undecided pair:
// each stopped run lies between the turns it passed and the cap.
type span struct{ aLo, aHi, bLo, bHi float64 }

// order returns +1 or -1 if side A is known to be ahead or behind, 0 if both
// are known to be level; known is false if the intervals touch or overlap.
func (s span) order() (sign int, known bool) {
	switch {
	case s.aLo > s.bHi:
		return 1, true
	case s.aHi < s.bLo:
		return -1, true
	case s.aLo == s.aHi && s.bLo == s.bHi && s.aLo == s.bLo:
		return 0, true
	}
	return 0, false
}

// maxUnmatched is the share of unmatched scenarios above which a side is
// refused: what remains would be the scenarios a crash-prone side survived.
const maxUnmatched = 0.20

// An UnmatchedError is returned when too many scenarios of one side have no
// partner on the other.
type UnmatchedError struct {
	Where  string
	OnlyA  []string // scenarios of A without a partner
	OnlyB  []string
	Shared int
}

// Error names the shares and some of the scenarios.
func (e *UnmatchedError) Error() string {
	s := fmt.Sprintf("pairing %s: %d of %s of A and %d of %d of B have no partner (more than %.0f %%)",
		pairName(e.Where), len(e.OnlyA), countOf(len(e.OnlyA)+e.Shared, "scenario", "scenarios"), len(e.OnlyB), len(e.OnlyB)+e.Shared, 100*maxUnmatched)
	if len(e.OnlyA) > 0 {
		s += "; only in A: " + quoteSome(e.OnlyA)
	}
	if len(e.OnlyB) > 0 {
		s += "; only in B: " + quoteSome(e.OnlyB)
	}
	return s
}

func pairName(where string) string {
	if where == "" {
		return "A and B"
	}
	return where
}

// Pair matches the outcomes of two configurations by scenario. Each side keeps
// its lowest replicate numbers, as many as the other side has, whatever their
// outcomes, and is reduced to one value per scenario; repeats are never pooled
// as if they were scenarios.
//
// Differences of whole numbers are exact: equal differences have equal bits.
// Other differences are rounded to 12 significant digits of the larger value,
// so that 0.4-0.3, 0.3-0.2 and 0.2-0.1 are tied.
//
// The error is an [*UnmatchedError] when either side has more than 20 %
// unmatched scenarios and opt.Force is false.
func Pair(a, b []Outcome, opt PairOptions) (Pairs, []Warning, error) {
	p, w, err := pairUp(a, b, opt)
	return p.Pairs, w, err
}

// pairUp is Pair with the runs behind the pairs.
func pairUp(a, b []Outcome, opt PairOptions) (pairing, []Warning, error) {
	ga, err := groupOutcomes(a, opt.Cap)
	if err != nil {
		return pairing{}, nil, fmt.Errorf("pairing %s: side A: %w", pairName(opt.Where), err)
	}
	gb, err := groupOutcomes(b, opt.Cap)
	if err != nil {
		return pairing{}, nil, fmt.Errorf("pairing %s: side B: %w", pairName(opt.Where), err)
	}
	p := pairing{a: a, b: b}
	p.match(ga, gb)
	n := len(p.Scenarios)
	share := func(only []string) bool { return float64(len(only)) > maxUnmatched*float64(len(only)+n) }
	if n == 0 && (len(a) == 0 || len(b) == 0 || opt.Force) {
		return pairing{}, nil, fmt.Errorf("pairing %s: no shared scenario (A has %d, B has %d)", pairName(opt.Where), len(ga), len(gb))
	}
	if !opt.Force && (share(p.OnlyA) || share(p.OnlyB)) {
		return pairing{}, nil, &UnmatchedError{opt.Where, p.OnlyA, p.OnlyB, n}
	}
	p.reduce(opt)
	return p, p.warnings(opt.Where), nil
}

// match merges the two sorted lists of groups and trims surplus repeats.
func (p *pairing) match(ga, gb []group) {
	i, j := 0, 0
	for i < len(ga) || j < len(gb) {
		switch {
		case j == len(gb) || i < len(ga) && ga[i].scenario < gb[j].scenario:
			p.OnlyA = append(p.OnlyA, ga[i].scenario)
			i++
		case i == len(ga) || gb[j].scenario < ga[i].scenario:
			p.OnlyB = append(p.OnlyB, gb[j].scenario)
			j++
		default:
			x, y := ga[i], gb[j]
			r := min(len(x.index), len(y.index))
			for _, k := range x.index[r:] {
				p.TrimmedA = append(p.TrimmedA, Repeat{x.scenario, p.a[k].Replicate})
			}
			for _, k := range y.index[r:] {
				p.TrimmedB = append(p.TrimmedB, Repeat{y.scenario, p.b[k].Replicate})
			}
			p.Scenarios = append(p.Scenarios, x.scenario)
			p.Repeats = append(p.Repeats, r)
			p.keptA = append(p.keptA, group{x.scenario, x.index[:r]})
			p.keptB = append(p.keptB, group{y.scenario, y.index[:r]})
			p.RunsA += r
			p.RunsB += r
			i++
			j++
		}
	}
	p.Trimmed = len(p.TrimmedA) + len(p.TrimmedB)
}

// reduce fills the values of every pair.
func (p *pairing) reduce(opt PairOptions) {
	n := len(p.Scenarios)
	p.A, p.B, p.D = make([]float64, n), make([]float64, n), make([]float64, n)
	num := make([]int64, n) // exact numerator of D
	den := make([]int64, n)
	whole := true
	var va, vb []float64
	for i := range n {
		var ca, cb, sa, sb int
		va, ca, sa = gather(va[:0], p.a, p.keptA[i])
		vb, cb, sb = gather(vb[:0], p.b, p.keptB[i])
		r := len(va)
		ra, rb := reduceValues(va, opt.Reduce), reduceValues(vb, opt.Reduce)
		p.A[i], p.B[i] = ra.value, rb.value
		if ra.whole && rb.whole {
			num[i], den[i] = ra.num-rb.num, ra.den
			// One correctly rounded division: equal rationals get equal bits.
			p.D[i] = float64(num[i]) / float64(den[i])
		} else {
			whole = false
			p.D[i] = roundedDifference(ra.value, rb.value)
		}
		if ca == r && cb == r {
			p.BothCapped++
		}
		if ca+cb > 0 {
			p.CappedPairs++
		}
		p.StoppedA += sa
		p.StoppedB += sb
		if sa+sb > 0 {
			p.Undecided = append(p.Undecided, i)
			s := span{aLo: ra.value, bLo: rb.value}
			s.aHi = highest(va, p.a, p.keptA[i], opt)
			s.bHi = highest(vb, p.b, p.keptB[i], opt)
			p.spans = append(p.spans, s)
		}
	}
	if whole {
		p.scale(num, den)
	}
}

// gather appends the values of a group and counts its capped and stopped runs.
func gather(dst []float64, o []Outcome, g group) (values []float64, capped, stopped int) {
	for _, k := range g.index {
		switch o[k].Status {
		case Capped:
			capped++
		case Stopped:
			stopped++
		}
		dst = append(dst, o[k].Value)
	}
	return dst, capped, stopped
}

// highest returns the reduced value if every stopped run had gone on to the
// cap; without a cap it is unbounded.
func highest(v []float64, o []Outcome, g group, opt PairOptions) float64 {
	for i, k := range g.index {
		if v[i] = o[k].Value; o[k].Status == Stopped {
			v[i] = math.Inf(1)
			if opt.Cap > 0 {
				v[i] = opt.Cap
			}
		}
	}
	return reduceValues(v, opt.Reduce).value
}

// A reduced value is num/den exactly when whole is true.
type reduced struct {
	value    float64
	num, den int64
	whole    bool
}

// maxWhole keeps sums of whole numbers exact in float64 and int64.
const maxWhole = 1 << 50

// reduceValues reduces the repeats of one scenario. It may reorder v.
func reduceValues(v []float64, how Reduction) reduced {
	whole := true
	sum := 0.0
	for _, x := range v {
		sum += x
		whole = whole && x == math.Trunc(x) && math.Abs(sum) < maxWhole
	}
	den := int64(len(v))
	if how == Median {
		// Denominator 2 for both sides, so that numerators stay comparable.
		den = 2
		slices.Sort(v)
		sum = v[(len(v)-1)/2] + v[len(v)/2]
	}
	r := reduced{value: sum / float64(den), whole: whole, den: den}
	if whole {
		r.num = int64(sum)
	}
	return r
}

// scale fills Scale and Scaled from exact fractions, unless the common
// denominator grows out of hand.
func (p *Pairs) scale(num, den []int64) {
	const maxScale = 1 << 20
	l := int64(1)
	for _, d := range den {
		if l = l / gcd(l, d) * d; l > maxScale {
			return
		}
	}
	p.Scale = l
	p.Scaled = make([]int64, len(num))
	for i := range num {
		p.Scaled[i] = num[i] * (l / den[i])
	}
}

// warnings says what pairing left out.
func (p *Pairs) warnings(where string) []Warning {
	var w []Warning
	if len(p.OnlyA)+len(p.OnlyB) > 0 {
		text := countOf(len(p.OnlyA)+len(p.OnlyB), "scenario is left out because only one side has it", "scenarios are left out because only one side has them")
		if len(p.OnlyA) > 0 {
			text += "; only in A: " + quoteSome(p.OnlyA)
		}
		if len(p.OnlyB) > 0 {
			text += "; only in B: " + quoteSome(p.OnlyB)
		}
		w = append(w, Warning{CodeUnmatched, where, text})
	}
	if p.Trimmed > 0 {
		w = append(w, warnf(CodeRepeatsTrimmed, where,
			"%s left out (%d of A, %d of B): both sides need the same number of runs in a scenario, the lowest repeat numbers are kept",
			countOf(p.Trimmed, "surplus repeat is", "surplus repeats are"), len(p.TrimmedA), len(p.TrimmedB)))
	}
	return w
}

// roundedDifference returns x - y rounded to 12 significant digits of the
// larger of |x| and |y|. What is left below that is rounding noise.
func roundedDifference(x, y float64) float64 {
	scale := math.Max(math.Abs(x), math.Abs(y))
	d := x - y
	if scale == 0 || d == 0 {
		return 0
	}
	digits := 11 - int(math.Floor(math.Log10(scale)))
	// Dividing by a power of ten rounds correctly, so that the same decimal
	// gets the same bits whatever the size of x and y.
	if digits >= 0 {
		if digits > 300 {
			return d
		}
		p := math.Pow10(digits)
		return math.Round(d*p) / p
	}
	p := math.Pow10(-digits)
	return math.Round(d/p) * p
}

// gcd returns the greatest common divisor of two non-negative numbers.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mean returns the arithmetic mean of a non-empty slice.
func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}
