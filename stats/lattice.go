package stats

import "math"

// A lattice writes values as whole steps above the smallest one:
// x[i] = (base + steps[i]*unit) / scale.
type lattice struct {
	steps []int64
	span  int64 // largest step
	base  int64
	unit  int64
	scale int64
}

// newLattice finds the coarsest lattice that holds all values, as means of a
// few whole numbers and rounded decimals do. ok is false if there is none with
// a small denominator.
func newLattice(x []float64) (l lattice, ok bool) {
	const maxScale = 1 << 20
	scale := int64(1)
	for _, v := range x {
		for !nearWhole(v * float64(scale)) {
			k := denominator(v * float64(scale))
			if k == 0 || scale*k > maxScale {
				return lattice{}, false
			}
			scale *= k
		}
	}
	l = lattice{steps: make([]int64, len(x)), scale: scale, base: math.MaxInt64}
	for i, v := range x {
		w := v * float64(scale)
		if math.Abs(w) > maxWhole {
			return lattice{}, false
		}
		l.steps[i] = int64(math.Round(w))
		l.base = min(l.base, l.steps[i])
	}
	for i := range l.steps {
		l.steps[i] -= l.base
		l.unit = gcd(l.unit, l.steps[i])
	}
	if l.unit == 0 {
		l.unit = 1
	}
	for i := range l.steps {
		l.steps[i] /= l.unit
		l.span = max(l.span, l.steps[i])
	}
	return l, true
}

// mean returns the mean of n values whose steps add up to sum.
func (l lattice) mean(sum int64, n int) float64 {
	return float64(sum*l.unit+int64(n)*l.base) / float64(int64(n)*l.scale)
}

// nearWhole reports whether v is a whole number but for rounding.
func nearWhole(v float64) bool {
	return math.Abs(v-math.Round(v)) <= 1e-9*math.Max(1, math.Abs(v)*1e-6)
}

// denominator returns the least k <= 1000 for which k*v is whole, or 0.
func denominator(v float64) int64 {
	for k := int64(2); k <= 1000; k++ {
		if nearWhole(v * float64(k)) {
			return k
		}
	}
	return 0
}

// resampledSum returns the distribution of the sum of steps of n draws with
// replacement: out[s] = P(sum = s). It is the n-fold convolution of the
// distribution of one draw, exact but for rounding, without random numbers.
func (l lattice) resampledSum() []float64 {
	n := len(l.steps)
	count := make(map[int64]int)
	var values []int64
	for _, v := range l.steps {
		if count[v] == 0 {
			values = append(values, v)
		}
		count[v]++
	}
	size := l.span*int64(n) + 1
	now, next := make([]float64, size), make([]float64, size)
	now[0] = 1
	for k := range n {
		cur := now[:l.span*int64(k)+1]
		into := next[:l.span*int64(k+1)+1]
		clear(into)
		for _, v := range values { // first-seen order: the same bits for the same input
			weight := float64(count[v]) / float64(n)
			dst := into[v : v+int64(len(cur))]
			for i, p := range cur {
				dst[i] += weight * p
			}
		}
		now, next = next, now
	}
	return now
}

// work estimates the multiplications of resampledSum.
func (l lattice) work() float64 {
	distinct := make(map[int64]struct{})
	for _, v := range l.steps {
		distinct[v] = struct{}{}
	}
	n := float64(len(l.steps))
	return n * n / 2 * float64(l.span) * float64(len(distinct))
}
