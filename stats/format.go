package stats

import (
	"fmt"
	"math"
)

// FormatP formats a p-value for print: two significant digits below 0.01,
// three between 0.01 and 0.1, three decimals above, scientific form below
// 0.0001. It never returns "0", and "1" only for 1.
func FormatP(p float64) string {
	switch {
	case math.IsNaN(p) || p < 0 || p > 1:
		return "undefined"
	case p == 1:
		return "1"
	case p > 0.9994:
		return ">0.999"
	case p >= 0.0995:
		return fmt.Sprintf("%.3f", p)
	case p >= 0.000995:
		return fmt.Sprintf("%.4f", p)
	case p >= 0.0001:
		return fmt.Sprintf("%.5f", p)
	case p < 1e-300:
		return "<1e-300"
	}
	return fmt.Sprintf("%.1e", p)
}
