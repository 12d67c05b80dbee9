package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// An Interval is a confidence interval. When Defined is false, Reason says why
// and the other numbers mean nothing.
type Interval struct {
	Lo, Hi  float64
	Level   float64 // attained level, where the procedure has one, else nominal
	Method  string
	Defined bool
	Reason  string
}

// undefined returns an interval that does not exist.
func undefined(level float64, method, format string, args ...any) Interval {
	return Interval{Level: level, Method: method, Reason: fmt.Sprintf(format, args...)}
}

// defaultLevel is the confidence level where none is given.
const defaultLevel = 0.95

// checkLevel returns the level, 0.95 for 0, or an error.
func checkLevel(level float64) (float64, error) {
	if level == 0 {
		return defaultLevel, nil
	}
	if !(level > 0 && level < 1) {
		return 0, fmt.Errorf("confidence level %v is not between 0 and 1", level)
	}
	return level, nil
}

// Wilson is Wilson's (1927) score interval for k successes in n trials. Level 0
// means 0.95. It is undefined for n < 1, k outside 0..n or a bad level.
func Wilson(k, n int, level float64) Interval {
	const method = "Wilson"
	level, bad, ok := checkShare(k, n, level, method)
	if !ok {
		return bad
	}
	z := normalQuantile(0.5 + level/2)
	nf, p := float64(n), float64(k)/float64(n)
	z2 := z * z / nf
	mid := (p + z2/2) / (1 + z2)
	half := z / (1 + z2) * math.Sqrt(p*(1-p)/nf+z2/(4*nf))
	i := Interval{Lo: mid - half, Hi: mid + half, Level: level, Method: method, Defined: true}
	// The ends are exact there; rounding must not leave 1e-17.
	if k == 0 {
		i.Lo = 0
	}
	if k == n {
		i.Hi = 1
	}
	return i
}

// WilsonCorrected is Wilson's interval with continuity correction (Newcombe
// 1998, method 4). Level 0 means 0.95.
func WilsonCorrected(k, n int, level float64) Interval {
	const method = "Wilson with continuity correction"
	level, bad, ok := checkShare(k, n, level, method)
	if !ok {
		return bad
	}
	z := normalQuantile(0.5 + level/2)
	x, nf := float64(k), float64(n)
	p, q := x/nf, (nf-x)/nf
	end := func(sign float64) float64 {
		return (2*nf*p + z*z + sign*(1+z*math.Sqrt(z*z+sign*2-1/nf+4*p*(nf*q-sign)))) / (2 * (nf + z*z))
	}
	i := Interval{Lo: 0, Hi: 1, Level: level, Method: method, Defined: true}
	if k > 0 {
		i.Lo = math.Max(0, end(-1))
	}
	if k < n {
		i.Hi = math.Min(1, end(1))
	}
	return i
}

// AgrestiCoull is the normal interval around (k + z^2/2) / (n + z^2) (Agresti &
// Coull 1998), cut to 0..1. Level 0 means 0.95.
func AgrestiCoull(k, n int, level float64) Interval {
	const method = "Agresti-Coull"
	level, bad, ok := checkShare(k, n, level, method)
	if !ok {
		return bad
	}
	z := normalQuantile(0.5 + level/2)
	nf := float64(n) + z*z
	p := (float64(k) + z*z/2) / nf
	half := z * math.Sqrt(p*(1-p)/nf)
	return Interval{Lo: math.Max(0, p-half), Hi: math.Min(1, p+half), Level: level, Method: method, Defined: true}
}

// ClopperPearson is the exact binomial interval for k successes in n trials.
// Level 0 means 0.95. It is undefined for n < 1, k outside 0..n or a bad level.
func ClopperPearson(k, n int, level float64) Interval {
	const method = "Clopper-Pearson"
	level, bad, ok := checkShare(k, n, level, method)
	if !ok {
		return bad
	}
	tail := (1 - level) / 2
	i := Interval{Lo: 0, Hi: 1, Level: level, Method: method, Defined: true}
	x, y := float64(k), float64(n-k)
	switch k {
	case 0:
		i.Hi = -math.Expm1(math.Log(tail) / y)
	case n:
		i.Lo = math.Exp(math.Log(tail) / x)
	default:
		i.Lo = mathext.InvRegIncBeta(x, y+1, tail)
		i.Hi = mathext.InvRegIncBeta(x+1, y, 1-tail)
	}
	return i
}

// Jeffreys is the equal-tailed interval of the beta(k+1/2, n-k+1/2)
// distribution, with the lower end 0 for k = 0 and the upper end 1 for k = n
// (Brown, Cai & DasGupta 2001). Level 0 means 0.95.
func Jeffreys(k, n int, level float64) Interval {
	const method = "Jeffreys"
	level, bad, ok := checkShare(k, n, level, method)
	if !ok {
		return bad
	}
	tail := (1 - level) / 2
	i := Interval{Lo: 0, Hi: 1, Level: level, Method: method, Defined: true}
	a, b := float64(k)+0.5, float64(n-k)+0.5
	if k > 0 {
		i.Lo = mathext.InvRegIncBeta(a, b, tail)
	}
	if k < n {
		i.Hi = mathext.InvRegIncBeta(a, b, 1-tail)
	}
	return i
}

// checkShare validates the arguments of an interval for a share.
func checkShare(k, n int, level float64, method string) (float64, Interval, bool) {
	level, err := checkLevel(level)
	switch {
	case err != nil:
		return 0, undefined(0, method, "%v", err), false
	case n < 1:
		return 0, undefined(level, method, "no trials"), false
	case k < 0 || k > n:
		return 0, undefined(level, method, "%d of %d is no share", k, n), false
	}
	return level, Interval{}, true
}
