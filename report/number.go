package report

import (
	"math"
	"strconv"
	"strings"
)

// A scale is the number of decimals that suits the size of an outcome's values.
type scale struct{ mean, interval, difference int }

// scaleOf chooses the decimals: one for turns, more for small values, none for intervals of differences beyond 50.
func scaleOf(c *Comparison) scale {
	size := c.cap()
	if size == 0 && (c.Outcome == "full" || c.Outcome == "share") {
		size = 1
	}
	if size == 0 {
		for i := range c.Configs {
			if m := c.Configs[i].Mean; m != nil {
				size = math.Max(size, math.Abs(*m))
			}
		}
	}
	switch {
	case size == 0 || size >= 50:
		return scale{mean: 1, interval: 1, difference: 0}
	case size >= 5:
		return scale{mean: 1, interval: 1, difference: 1}
	case size > 1:
		return scale{mean: 2, interval: 2, difference: 2}
	}
	return scale{mean: 3, interval: 3, difference: 3}
}

// number formats v with the typographic minus; a value that rounds to zero has no sign.
func number(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// signed formats v with a sign, unless it rounds to zero.
func signed(v float64, decimals int) string {
	s := number(v, decimals)
	if v > 0 && strings.Trim(s, "0.") != "" {
		return "+" + s
	}
	return s
}

// interval formats lo–hi; with a negative upper end "lo to hi", where a dash would read as a minus.
func interval(ci *[2]float64, decimals int, words bool) string {
	if ci == nil {
		return undefinedMark
	}
	join := "–"
	if words {
		join = " to "
	}
	return number(ci[0], decimals) + join + number(ci[1], decimals)
}

// needsWords reports whether an upper end among intervals is negative.
func needsWords(intervals []*[2]float64) bool {
	for _, ci := range intervals {
		if ci != nil && ci[1] < 0 {
			return true
		}
	}
	return false
}

// undefinedMark stands for a value that is undefined.
const undefinedMark = "–"

// plain formats v for CSV: the shortest decimal that reads back as v.
func plain(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// dollars formats a cost: whole dollars from 10 on, else two digits that say something.
func dollars(v float64) string {
	switch {
	case v >= 10:
		return number(v, 0)
	case v >= 0.1 || v == 0:
		return number(v, 2)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// compact formats a value of a cap or an alpha without trailing zeros.
func compact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// percent formats a level such as 0.05 as "5 %".
func percent(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e4, 'f', -1, 64) + " %"
}

// plural returns one for n == 1 and many otherwise.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
