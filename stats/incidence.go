package stats

import (
	"fmt"
	"math"
	"sort"
)

// Incidence is the cumulative incidence of competing causes.
type Incidence struct {
	Times    []float64   // distinct times, ascending
	CIF      [][]float64 // [cause-1][time]: probability of having failed from the cause by then
	SE       [][]float64 // of CIF, by the infinitesimal jackknife
	Survival []float64   // probability of no failure from any cause by then
	N        int
}

// CumulativeIncidence is the Aalen-Johansen estimate of the probability of
// failing from each of k competing causes by a time. cause[i] is 0 for a run
// that was still going when it was last seen, else 1..k. At equal times
// failures come first. At each time the incidences and Survival add up to 1.
//
// One minus a Kaplan-Meier estimate in which the other causes are censored is
// no such probability, and this package does not offer it.
func CumulativeIncidence(times []float64, cause []int, k int) (Incidence, error) {
	const maxCauses = 10000
	if len(times) != len(cause) {
		return Incidence{}, fmt.Errorf("cumulative incidence: %d times but %d causes", len(times), len(cause))
	}
	if len(times) == 0 {
		return Incidence{}, fmt.Errorf("cumulative incidence of no times")
	}
	if k < 1 || k > maxCauses {
		return Incidence{}, fmt.Errorf("cumulative incidence: number of causes %d is not between 1 and %d", k, maxCauses)
	}
	if err := checkFinite("time", times); err != nil {
		return Incidence{}, fmt.Errorf("cumulative incidence: %w", err)
	}
	for i, c := range cause {
		if c < 0 || c > k {
			return Incidence{}, fmt.Errorf("cumulative incidence: cause %d is %d, not between 0 and %d", i, c, k)
		}
	}
	n := len(times)
	order := ascending(times)
	r := Incidence{CIF: make([][]float64, k), SE: make([][]float64, k), N: n}
	surv, green := 1.0, 0.0
	influence := make([]causeInfluence, k)
	events := make([]int, k)
	for i := 0; i < n; {
		t, atRisk, all, gone := times[order[i]], n-i, 0, 0
		clear(events)
		for ; i < n && times[order[i]] == t; i++ {
			gone++
			if c := cause[order[i]]; c > 0 {
				events[c-1]++
				all++
			}
		}
		r.Times = append(r.Times, t)
		rf, df := float64(atRisk), float64(all)
		next, left := green, 0.0
		if all < atRisk {
			next += df / (rf * (rf - df))
			left = 1 / (rf - df)
		}
		for c, d := range events {
			f := &influence[c]
			step := surv * float64(d) / rf
			f.cif += step
			f.risk += step * (green - 1/rf)
			for other, e := range events {
				own := 0.0
				if other == c {
					own = surv / rf
				}
				f.leave(float64(e), own, next-left)
			}
			f.leave(float64(gone-all), 0, next)
			r.CIF[c] = append(r.CIF[c], f.cif)
			r.SE[c] = append(r.SE[c], f.se(float64(atRisk-gone)))
		}
		green = next
		surv *= (rf - df) / rf
		r.Survival = append(r.Survival, surv)
	}
	return r, nil
}

// A causeInfluence sums the squared influence of all runs on one incidence. A
// run that has left adds a + h*cif, where h is its influence on the logarithm
// of the survival since; one still at risk adds risk.
type causeInfluence struct {
	cif, risk  float64
	aa, ah, hh float64
}

// leave books runs that leave with own influence on the incidence at that time.
func (f *causeInfluence) leave(runs, own, h float64) {
	a := f.risk + own - h*f.cif
	f.aa += runs * a * a
	f.ah += runs * a * h
	f.hh += runs * h * h
}

// se returns the standard error with so many runs still at risk.
func (f *causeInfluence) se(atRisk float64) float64 {
	v := f.aa + 2*f.ah*f.cif + f.hh*f.cif*f.cif + atRisk*f.risk*f.risk
	return math.Sqrt(math.Max(v, 0))
}

// At returns the probability of having failed from a cause (1..k) by time t.
func (r Incidence) At(cause int, t float64) float64 {
	i := sort.Search(len(r.Times), func(i int) bool { return r.Times[i] > t })
	if i == 0 || cause < 1 || cause > len(r.CIF) {
		return 0
	}
	return r.CIF[cause-1][i-1]
}
