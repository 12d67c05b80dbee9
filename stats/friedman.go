//lint:file-ignore ST1005 the names of people begin with a capital

package stats

import (
	"fmt"
	"math"
	"slices"
)

// FriedmanOptions controls [Friedman].
type FriedmanOptions struct {
	LowerIsBetter bool // ranks count from the smallest value; default: the largest value has rank 1
}

// FriedmanResult is the outcome of [Friedman].
type FriedmanResult struct {
	N, K            int // scenarios and configurations
	MeanRanks       []float64
	Chi2            float64 // corrected for ties
	Chi2Uncorrected float64
	DF              int
	P               float64
	// F is Iman & Davenport's (1980) statistic with DF1 and DF2 degrees of
	// freedom. It is infinite if all rows agree: FDefined is then false and FP
	// is P.
	F        float64
	FDefined bool
	DF1, DF2 int
	FP       float64
	W        float64 // Kendall's coefficient of concordance
	Warnings []Warning
}

// Friedman tests whether k configurations differ on n scenarios; rows[i] holds
// the values of scenario i. It is an omnibus test: which configurations differ
// is answered by pairwise tests and not by mean ranks, which depend on the other
// members of the pool (Benavoli, Corani & Mangili 2016). If every row is tied
// all p are 1.
func Friedman(rows [][]float64, opt FriedmanOptions) (FriedmanResult, error) {
	n := len(rows)
	if n == 0 {
		return FriedmanResult{}, fmt.Errorf("Friedman test of no scenarios")
	}
	k := len(rows[0])
	if k < 2 {
		return FriedmanResult{}, fmt.Errorf("Friedman test of %s", countOf(k, "configuration", "configurations"))
	}
	sums := make([]float64, k)
	ties := 0.0 // sum of t^3 - t
	for i, row := range rows {
		if len(row) != k {
			return FriedmanResult{}, fmt.Errorf("Friedman: row %d has %d values, not %d", i, len(row), k)
		}
		if err := checkFinite("value", row); err != nil {
			return FriedmanResult{}, fmt.Errorf("Friedman: row %d: %w", i, err)
		}
		order := ascending(row)
		if !opt.LowerIsBetter {
			slices.Reverse(order)
		}
		for a := 0; a < k; {
			b := a + 1
			for b < k && row[order[b]] == row[order[a]] {
				b++
			}
			for _, j := range order[a:b] {
				sums[j] += float64(a+b+1) / 2
			}
			t := float64(b - a)
			ties += t*t*t - t
			a = b
		}
	}
	r := FriedmanResult{N: n, K: k, MeanRanks: make([]float64, k)}
	for j, s := range sums {
		r.MeanRanks[j] = s / float64(n)
	}
	nf, kf := float64(n), float64(k)
	r.Chi2Uncorrected = friedmanStatistic(r.MeanRanks, nf)
	correction := 1 - ties/(nf*(kf*kf*kf-kf))
	if correction > 0 {
		r.Chi2 = r.Chi2Uncorrected / correction
	} else {
		r.Warnings = append(r.Warnings, warnf(CodeAllTied, "", "in every scenario all configurations are level"))
	}
	r.finish()
	return r, nil
}

// FriedmanFromRanks computes the uncorrected statistics from published mean
// ranks of configurations over n scenarios.
func FriedmanFromRanks(meanRanks []float64, n int) (FriedmanResult, error) {
	if n < 1 || len(meanRanks) < 2 {
		return FriedmanResult{}, fmt.Errorf("Friedman test of %d mean ranks over %d scenarios", len(meanRanks), n)
	}
	if err := checkFinite("mean rank", meanRanks); err != nil {
		return FriedmanResult{}, fmt.Errorf("Friedman: %w", err)
	}
	r := FriedmanResult{N: n, K: len(meanRanks), MeanRanks: slices.Clone(meanRanks)}
	r.Chi2Uncorrected = friedmanStatistic(meanRanks, float64(n))
	r.Chi2 = r.Chi2Uncorrected
	r.finish()
	return r, nil
}

func friedmanStatistic(meanRanks []float64, n float64) float64 {
	k := float64(len(meanRanks))
	s := 0.0
	for _, m := range meanRanks {
		s += (m - (k+1)/2) * (m - (k+1)/2)
	}
	return 12 * n / (k * (k + 1)) * s
}

// finish computes the p-values and Kendall's W from Chi2.
func (r *FriedmanResult) finish() {
	n, k := float64(r.N), float64(r.K)
	r.DF, r.DF1, r.DF2 = r.K-1, r.K-1, (r.K-1)*(r.N-1)
	r.P = math.Max(chiSquareTail(r.Chi2, k-1), math.SmallestNonzeroFloat64)
	r.W = r.Chi2 / (n * (k - 1))
	r.FP = 1
	if rest := n*(k-1) - r.Chi2; rest > 1e-9*n*k && r.DF2 > 0 {
		r.F, r.FDefined = (n-1)*r.Chi2/rest, true
		r.FP = math.Max(fTail(r.F, float64(r.DF1), float64(r.DF2)), math.SmallestNonzeroFloat64)
	} else {
		r.FP = r.P
	}
}

// NemenyiCD returns the critical difference of mean ranks of k configurations
// over n scenarios at level alpha (Nemenyi 1963). Whether two configurations
// differ by it depends on which others are compared; pairwise tests do not.
func NemenyiCD(k, n int, alpha float64) (float64, error) {
	if k < 2 || n < 1 || k > 1000 || !(alpha > 0 && alpha < 1) {
		return 0, fmt.Errorf("critical difference of %d configurations over %d scenarios at %v", k, n, alpha)
	}
	kf := float64(k)
	return studentizedRangeQuantile(alpha, k) / math.Sqrt2 * math.Sqrt(kf*(kf+1)/(6*float64(n))), nil
}

// NemenyiP returns the p-value of a difference of two mean ranks.
func NemenyiP(difference float64, k, n int) (float64, error) {
	if k < 2 || n < 1 || k > 1000 || math.IsNaN(difference) {
		return 0, fmt.Errorf("Nemenyi test of a difference %v of %d configurations over %d scenarios", difference, k, n)
	}
	kf := float64(k)
	q := math.Abs(difference) / math.Sqrt(kf*(kf+1)/(12*float64(n)))
	return math.Max(studentizedRangeTail(math.Min(q, 60), k), math.SmallestNonzeroFloat64), nil
}
