package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// studentTail returns P(T > t) of Student's t with nu degrees of freedom.
func studentTail(t, nu float64) float64 {
	half := 0.5 * mathext.RegIncBeta(nu/2, 0.5, nu/(nu+t*t))
	if t < 0 {
		return 1 - half
	}
	return half
}

// chiSquareTail returns P(X > x) with df degrees of freedom.
func chiSquareTail(x, df float64) float64 {
	if x <= 0 {
		return 1
	}
	return mathext.GammaIncRegComp(df/2, x/2)
}

// fTail returns P(F > f) with df1 and df2 degrees of freedom.
func fTail(f, df1, df2 float64) float64 {
	if f <= 0 {
		return 1
	}
	return mathext.RegIncBeta(df2/2, df1/2, df2/(df2+df1*f))
}

// binomialCDF returns P(X <= k) of n trials with probability p.
func binomialCDF(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

// integral is Gauss-Legendre quadrature on panels of about unit width.
func integral(f func(float64) float64, lo, hi float64) float64 {
	const perPanel = 24
	var x, weight [perPanel]float64
	quad.Legendre{}.FixedLocations(x[:], weight[:], 0, 1)
	panels := int(math.Ceil(hi - lo))
	width := (hi - lo) / float64(panels)
	sum := 0.0
	for i := range panels {
		for k := range x {
			sum += weight[k] * f(lo+width*(float64(i)+x[k]))
		}
	}
	return sum * width
}

// studentizedRangeTail returns P(Q > q) of the range of k standard normal
// variables: k times the integral of phi(z) [Phi(z)^(k-1) - (Phi(z) -
// Phi(z-q))^(k-1)], in a form without cancellation.
func studentizedRangeTail(q float64, k int) float64 {
	if q <= 0 {
		return 1
	}
	m := float64(k - 1)
	density := func(z float64) float64 {
		whole := normalCDF(z)
		if whole == 0 {
			return 0
		}
		share := normalCDF(z-q) / whole // of the part cut off
		missing := 1.0
		if share < 1 {
			missing = -math.Expm1(m * math.Log1p(-share))
		}
		return math.Exp(-z*z/2+m*math.Log(whole)) * missing
	}
	return math.Min(1, float64(k)/math.Sqrt(2*math.Pi)*integral(density, -9, math.Max(9, q/2+9)))
}

// studentizedRangeQuantile returns q with P(Q > q) = alpha.
func studentizedRangeQuantile(alpha float64, k int) float64 {
	lo, hi := 0.0, 1.0
	for studentizedRangeTail(hi, k) > alpha && hi < 64 {
		hi *= 2
	}
	for range 80 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if studentizedRangeTail(mid, k) > alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// noncentralT returns P(T <= t) of the noncentral t distribution with nu
// degrees of freedom: the mean of Phi(t s - ncp) over s = sqrt(chi2/nu).
func noncentralT(t, nu, ncp float64) float64 {
	logGamma, _ := math.Lgamma(nu / 2)
	scale := math.Ln2 + nu/2*math.Log(nu/2) - logGamma
	spread := 13 / math.Sqrt(2*nu)
	lo, hi := math.Max(0, 1-spread), 1+spread
	// Unit panels are too wide for many degrees of freedom: stretch the scale.
	stretch := math.Max(1, math.Sqrt(2*nu))
	f := func(x float64) float64 {
		s := x / stretch
		if s == 0 {
			return 0
		}
		return normalCDF(t*s-ncp) * math.Exp(scale+(nu-1)*math.Log(s)-nu*s*s/2) / stretch
	}
	return math.Min(1, integral(f, lo*stretch, hi*stretch))
}
