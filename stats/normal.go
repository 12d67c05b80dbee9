package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// normalCDF is the standard normal distribution function, accurate in both tails.
func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// normalQuantile is the inverse of normalCDF; 0 and 1 give infinities.
func normalQuantile(p float64) float64 {
	switch {
	case p <= 0:
		return math.Inf(-1)
	case p >= 1:
		return math.Inf(1)
	}
	return mathext.NormalQuantile(p)
}

// studentQuantile is the p-quantile of Student's t with nu degrees of freedom,
// for 0 < p < 1. With x = nu/(nu+t^2), the tail is I_x(nu/2, 1/2)/2.
func studentQuantile(p, nu float64) float64 {
	if p > 0.5 {
		return -studentQuantile(1-p, nu)
	}
	x := mathext.InvRegIncBeta(nu/2, 0.5, 2*p)
	rest := 1 - x
	if x > 0.5 && p > 1e-6 {
		// For many degrees of freedom x is near 1: take its complement itself.
		rest = mathext.InvRegIncBeta(0.5, nu/2, 1-2*p)
	}
	return -math.Sqrt(nu * rest / x)
}
