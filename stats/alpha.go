//lint:file-ignore ST1005 the names of people begin with a capital

package stats

import (
	"fmt"
	"math"
	"slices"
)

// Scale is the level of measurement of labels.
type Scale int

const (
	Nominal       Scale = iota // labels without order
	Ordinal                    // ordered; distances by ranks
	IntervalScale              // differences have a meaning
	RatioScale                 // ratios have a meaning; values must not be negative
)

// AlphaOptions controls [KrippendorffAlpha].
type AlphaOptions struct {
	Scale     Scale
	Level     float64 // 0: 0.95
	Seed      uint64
	Resamples int // 0: 9999
}

// AlphaResult is the outcome of [KrippendorffAlpha].
type AlphaResult struct {
	Units    int // units with at least two labels
	Dropped  int // units with fewer, which say nothing about agreement
	Labels   int // labels in the units used
	Alpha    float64
	Observed float64 // share of agreeing pairs of labels within units
	Interval Interval
	Defined  bool
	Reason   string
}

// KrippendorffAlpha measures the agreement of any number of raters; units[u]
// holds the labels unit u got, as numbers. Missing labels are left out, units
// need not have the same number (Krippendorff 2011). The interval is a
// percentile bootstrap over units. Alpha is undefined if all labels are the
// same.
func KrippendorffAlpha(units [][]float64, opt AlphaOptions) (AlphaResult, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return AlphaResult{}, fmt.Errorf("Krippendorff's alpha: %w", err)
	}
	if opt.Scale < Nominal || opt.Scale > RatioScale {
		return AlphaResult{}, fmt.Errorf("Krippendorff's alpha: unknown scale %d", int(opt.Scale))
	}
	var r AlphaResult
	var used [][]float64
	var values []float64
	for u, labels := range units {
		if err := checkFinite("label", labels); err != nil {
			return AlphaResult{}, fmt.Errorf("Krippendorff's alpha: unit %d: %w", u, err)
		}
		if opt.Scale == RatioScale {
			for i, v := range labels {
				if v < 0 {
					return AlphaResult{}, fmt.Errorf("Krippendorff's alpha: label %d of unit %d is %v; a ratio scale has no negative values", i, u, v)
				}
			}
		}
		if len(labels) < 2 {
			r.Dropped++
			continue
		}
		labels = slices.Clone(labels)
		slices.Sort(labels)
		used = append(used, labels)
	}
	slices.SortFunc(used, slices.Compare) // the order of units must not matter
	for _, labels := range used {
		values = append(values, labels...)
	}
	r.Units, r.Labels = len(used), len(values)
	const method = "percentile"
	if r.Units == 0 {
		r.Reason = "no unit has two labels"
		r.Interval = undefined(level, method, "%s", r.Reason)
		return r, nil
	}
	data := slices.Clone(values)
	slices.Sort(values)
	values = slices.Compact(values)
	a := newAlphaUnits(used, values)
	weight := make([]int, r.Units)
	for i := range weight {
		weight[i] = 1
	}
	r.Observed = a.agreement()
	if r.Alpha, r.Defined = a.alpha(weight, opt.Scale); !r.Defined {
		r.Reason = noVariation
		r.Interval = undefined(level, method, "%s", noVariation)
		return r, nil
	}
	if r.Units == 1 {
		r.Interval = undefined(level, method, "one unit has no interval")
		return r, nil
	}
	drawn := make([]float64, resamples(opt.Resamples))
	rng := stream(opt.Seed, "krippendorff", data)
	for i := range drawn {
		clear(weight)
		for range weight {
			weight[rng.IntN(len(weight))]++
		}
		var ok bool
		if drawn[i], ok = a.alpha(weight, opt.Scale); !ok {
			drawn[i] = r.Alpha // a resample without variation says nothing
		}
	}
	slices.Sort(drawn)
	tail := (1 - level) / 2
	r.Interval = Interval{
		Lo: orderStatistic(drawn, tail), Hi: orderStatistic(drawn, 1-tail), Level: level,
		Method: fmt.Sprintf("%s, %d resamples of units", method, len(drawn)), Defined: true,
	}
	return r, nil
}

// KrippendorffLabels is the nominal [KrippendorffAlpha] of named labels.
func KrippendorffLabels(units [][]string, opt AlphaOptions) (AlphaResult, error) {
	if opt.Scale != Nominal {
		return AlphaResult{}, fmt.Errorf("Krippendorff's alpha: named labels have no order")
	}
	names := slices.Concat(units...)
	slices.Sort(names)
	names = slices.Compact(names)
	numbers := make([][]float64, len(units))
	for u, labels := range units {
		for _, s := range labels {
			i, _ := slices.BinarySearch(names, s)
			numbers[u] = append(numbers[u], float64(i))
		}
	}
	return KrippendorffAlpha(numbers, opt)
}

// alphaUnits holds, per unit, how often it got each value.
type alphaUnits struct {
	values []float64
	count  [][]int // [unit][value]
	size   []int
}

func newAlphaUnits(units [][]float64, values []float64) *alphaUnits {
	a := &alphaUnits{values: values}
	for _, labels := range units {
		c := make([]int, len(values))
		for _, v := range labels {
			i, _ := slices.BinarySearch(values, v)
			c[i]++
		}
		a.count = append(a.count, c)
		a.size = append(a.size, len(labels))
	}
	return a
}

// agreement is the share of agreeing pairs within units, each label counting
// the same.
func (a *alphaUnits) agreement() float64 {
	agree, labels := 0.0, 0.0
	for u, c := range a.count {
		pairs := 0
		for _, x := range c {
			pairs += x * (x - 1)
		}
		agree += float64(pairs) / float64(a.size[u]-1)
		labels += float64(a.size[u])
	}
	return agree / labels
}

// alpha is one minus observed over expected disagreement of weighted units.
func (a *alphaUnits) alpha(weight []int, scale Scale) (alpha float64, defined bool) {
	k := len(a.values)
	total := make([]float64, k) // labels per value
	n := 0.0
	for u, c := range a.count {
		for i, x := range c {
			total[i] += float64(weight[u] * x)
		}
		n += float64(weight[u] * a.size[u])
	}
	below := make([]float64, k+1) // labels below each value
	for i, x := range total {
		below[i+1] = below[i] + x
	}
	distance := func(i, j int) float64 {
		var d float64
		switch scale {
		case Ordinal:
			d = below[j+1] - below[i] - (total[i]+total[j])/2
		case IntervalScale:
			d = a.values[j] - a.values[i]
		case RatioScale:
			d = (a.values[j] - a.values[i]) / (a.values[j] + a.values[i])
		default:
			d = 1
		}
		return d * d
	}
	observed, expected := 0.0, 0.0
	for i := range k {
		for j := i + 1; j < k; j++ {
			together := 0.0
			for u, c := range a.count {
				if weight[u] > 0 && c[i] > 0 && c[j] > 0 {
					together += float64(weight[u]*c[i]*c[j]) / float64(a.size[u]-1)
				}
			}
			d := distance(i, j)
			observed += together * d
			expected += total[i] * total[j] * d
		}
	}
	if !(expected > 0) || math.IsInf(expected, 0) {
		return 0, false
	}
	return 1 - (n-1)*observed/expected, true
}
