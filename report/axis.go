package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// An axis maps values to positions on a sheet.
type axis struct {
	lo, hi   float64   // values at the ends
	from, to vg.Length // their positions
}

// at returns the position of a value, kept inside the axis.
func (a axis) at(v float64) vg.Length {
	if a.hi <= a.lo {
		return a.from
	}
	f := (v - a.lo) / (a.hi - a.lo)
	return a.from + vg.Length(math.Max(0, math.Min(1, f)))*(a.to-a.from)
}

// ticks returns round values from lo to hi, about n of them.
func ticks(lo, hi float64, n int) []float64 {
	if !(hi > lo) {
		return []float64{lo}
	}
	raw := (hi - lo) / float64(max(1, n))
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m == 2.5 && unit < 10 {
			continue
		}
		if raw <= m*unit*1.0001 {
			step = m * unit
			break
		}
	}
	var out []float64
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+step*1e-9; k++ {
		out = append(out, k*step)
	}
	return out
}

// tickText writes a tick without trailing zeros.
func tickText(v float64) string {
	return number(v, decimalsOf(v))
}

// decimalsOf returns the decimals a round value needs.
func decimalsOf(v float64) int {
	s := strconv.FormatFloat(v, 'g', 6, 64)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	for d := range 7 {
		if p := math.Pow10(d); math.Abs(f*p-math.Round(f*p)) < 1e-6 {
			return d
		}
	}
	return 6
}
