//lint:file-ignore ST1005 the names of people begin with a capital

package stats

import (
	"fmt"
	"math"
	"slices"
)

// KappaWeights says how much near misses of two raters count as agreement.
type KappaWeights int

const (
	Unweighted KappaWeights = iota // only equal labels agree
	Linear                         // 1 - |i-j|/(k-1), for ordered labels
	Quadratic                      // 1 - ((i-j)/(k-1))^2, for ordered labels
)

// of returns the weight of labels i and j of k.
func (w KappaWeights) of(i, j, k int) float64 {
	if w == Unweighted || k < 2 {
		if i == j {
			return 1
		}
		return 0
	}
	d := math.Abs(float64(i-j)) / float64(k-1)
	if w == Quadratic {
		d *= d
	}
	return 1 - d
}

// KappaResult is the outcome of [CohenKappa] and [FleissKappa].
type KappaResult struct {
	N                  int     // units
	Observed, Expected float64 // agreement, and agreement by chance
	Kappa              float64
	SE, SENull         float64 // standard error, and that under no agreement beyond chance; Cohen only
	Interval           Interval
	Uniform            float64   // Fleiss only: kappa with all categories equally likely by chance (Randolph 2005)
	Prevalence         []float64 // share of each category among all labels
	Defined            bool      // false if chance agreement is 1: without variation nothing was tested
	Reason             string
}

const noVariation = "all labels are the same: without variation nothing was tested"

// CohenKappa measures the agreement of two raters from their confusion table:
// table[i][j] units were labelled i by the first and j by the second. Kappa
// hides prevalence: show Observed, Prevalence and the table beside it. The
// standard error is that of Fleiss, Cohen & Everitt (1969).
func CohenKappa(table [][]int, weights KappaWeights, level float64) (KappaResult, error) {
	level, err := checkLevel(level)
	if err != nil {
		return KappaResult{}, fmt.Errorf("Cohen's kappa: %w", err)
	}
	if weights < Unweighted || weights > Quadratic {
		return KappaResult{}, fmt.Errorf("Cohen's kappa: unknown weights %d", int(weights))
	}
	k := len(table)
	row, col := make([]float64, k), make([]float64, k)
	total := 0
	for i, line := range table {
		if len(line) != k {
			return KappaResult{}, fmt.Errorf("Cohen's kappa: row %d has %d entries, not %d", i, len(line), k)
		}
		for j, c := range line {
			if c < 0 || c > math.MaxInt32 {
				return KappaResult{}, fmt.Errorf("Cohen's kappa: entry (%d, %d) is %d", i, j, c)
			}
			total += c
			row[i] += float64(c)
			col[j] += float64(c)
		}
	}
	if total == 0 {
		return KappaResult{}, fmt.Errorf("Cohen's kappa of no units")
	}
	n := float64(total)
	r := KappaResult{N: total}
	for i := range row {
		row[i] /= n
		col[i] /= n
		r.Prevalence = append(r.Prevalence, (row[i]+col[i])/2)
	}
	weight := func(i, j int) float64 { return weights.of(i, j, k) }
	rowMean, colMean := make([]float64, k), make([]float64, k) // mean weights
	for i := range table {
		for j := range table {
			w := weight(i, j)
			r.Observed += w * float64(table[i][j]) / n
			r.Expected += w * row[i] * col[j]
			rowMean[i] += w * col[j]
			colMean[j] += w * row[i]
		}
	}
	const method = "kappa, normal"
	if 1-r.Expected < tieTolerance {
		r.Reason = noVariation
		r.Interval = undefined(level, method, "%s", noVariation)
		return r, nil
	}
	r.Defined = true
	r.Kappa = (r.Observed - r.Expected) / (1 - r.Expected)
	v, null := 0.0, 0.0
	for i := range table {
		for j := range table {
			own := weight(i, j)
			chance := rowMean[i] + colMean[j]
			a := own - chance*(1-r.Kappa)
			v += float64(table[i][j]) / n * a * a
			null += row[i] * col[j] * (own - chance) * (own - chance)
		}
	}
	b := r.Kappa - r.Expected*(1-r.Kappa)
	scale := math.Sqrt(n) * (1 - r.Expected)
	r.SE = math.Sqrt(math.Max(0, v-b*b)) / scale
	r.SENull = math.Sqrt(math.Max(0, null-r.Expected*r.Expected)) / scale
	half := normalQuantile(0.5+level/2) * r.SE
	r.Interval = Interval{Lo: math.Max(-1, r.Kappa-half), Hi: math.Min(1, r.Kappa+half), Level: level, Method: method, Defined: true}
	return r, nil
}

// Confusion counts the labels of two raters of the same units. labels is sorted
// and indexes both sides of table.
func Confusion(first, second []string) (labels []string, table [][]int, err error) {
	if len(first) != len(second) {
		return nil, nil, fmt.Errorf("confusion table of %d and %d labels", len(first), len(second))
	}
	labels = slices.Concat(first, second)
	slices.Sort(labels)
	labels = slices.Compact(labels)
	table = make([][]int, len(labels))
	for i := range table {
		table[i] = make([]int, len(labels))
	}
	for i := range first {
		a, _ := slices.BinarySearch(labels, first[i])
		b, _ := slices.BinarySearch(labels, second[i])
		table[a][b]++
	}
	return labels, table, nil
}

// FleissKappa measures the agreement of several raters: counts[u][c] of them
// put unit u into category c, the same number of raters for every unit. For
// unequal numbers use [KrippendorffAlpha].
func FleissKappa(counts [][]int) (KappaResult, error) {
	n := len(counts)
	if n == 0 || len(counts[0]) == 0 {
		return KappaResult{}, fmt.Errorf("Fleiss' kappa of no units or categories")
	}
	k := len(counts[0])
	r := KappaResult{N: n, Prevalence: make([]float64, k)}
	raters := 0
	for u, line := range counts {
		if len(line) != k {
			return KappaResult{}, fmt.Errorf("Fleiss' kappa: unit %d has %d categories, not %d", u, len(line), k)
		}
		sum, pairs := 0, 0
		for c, x := range line {
			if x < 0 || x > 1<<20 {
				return KappaResult{}, fmt.Errorf("Fleiss' kappa: count %d of unit %d is %d", c, u, x)
			}
			sum += x
			pairs += x * (x - 1)
			r.Prevalence[c] += float64(x)
		}
		if u == 0 {
			raters = sum
		}
		if sum != raters || raters < 2 {
			return KappaResult{}, fmt.Errorf("Fleiss' kappa: unit %d has %s, the first %d; at least 2 and the same number are needed", u, countOf(sum, "rater", "raters"), raters)
		}
		r.Observed += float64(pairs) / float64(raters*(raters-1)) / float64(n)
	}
	for c := range r.Prevalence {
		r.Prevalence[c] /= float64(n * raters)
		r.Expected += r.Prevalence[c] * r.Prevalence[c]
	}
	const method = "Fleiss' kappa"
	r.Interval = undefined(0, method, "use the bootstrap of Krippendorff's alpha")
	if 1-r.Expected < tieTolerance {
		r.Reason = noVariation
		return r, nil
	}
	r.Defined = true
	r.Kappa = (r.Observed - r.Expected) / (1 - r.Expected)
	if k > 1 {
		r.Uniform = (r.Observed - 1/float64(k)) / (1 - 1/float64(k))
	}
	return r, nil
}
