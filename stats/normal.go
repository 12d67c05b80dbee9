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
	if nu >= 1e4 && p > 1e-12 {
		return studentExpansion(normalQuantile(p), nu)
	}
	x := mathext.InvRegIncBeta(nu/2, 0.5, 2*p)
	rest := 1 - x
	if x > 0.5 && p > 1e-6 {
		// For many degrees of freedom x is near 1: take its complement itself.
		rest = mathext.InvRegIncBeta(0.5, nu/2, 1-2*p)
	}
	return -math.Sqrt(nu * rest / x)
}

// studentExpansion is the quantile of Student's t in powers of 1/nu around the
// normal one, z (Abramowitz & Stegun 26.7.5). The incomplete beta function loses
// digits in the logarithm of its factor where nu is large.
func studentExpansion(z, nu float64) float64 {
	s := z * z
	g1 := z * (s + 1) / 4
	g2 := z * ((5*s+16)*s + 3) / 96
	g3 := z * (((3*s+19)*s+17)*s - 15) / 384
	g4 := z * ((((79*s+776)*s+1482)*s-1920)*s - 945) / 92160
	return z + (g1+(g2+(g3+g4/nu)/nu)/nu)/nu
}
