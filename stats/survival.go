package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// SurvivalTransform selects the scale of the interval of a survival curve.
type SurvivalTransform int

const (
	LogLog SurvivalTransform = iota // log(-log S): stays within (0, 1)
	Log                             // log S, R's default
	Plain                           // S itself, clipped to [0, 1]
)

// SurvivalOptions controls [KaplanMeier].
type SurvivalOptions struct {
	Level     float64 // 0: 0.95
	Transform SurvivalTransform
}

// A SurvivalPoint is one distinct time of a survival curve.
type SurvivalPoint struct {
	Time                     float64
	AtRisk, Events, Censored int
	S                        float64 // P(T > Time)
	SE                       float64 // Greenwood; 0 where undefined
	Lo, Hi                   float64
	Defined                  bool    // an interval exists: not where S is 0 or 1
	Hazard, HazardSE         float64 // cumulative hazard (Nelson-Aalen) and its standard error
}

// Survival is a Kaplan-Meier estimate.
type Survival struct {
	Points []SurvivalPoint // one per distinct time, ascending
	N      int
}

// KaplanMeier estimates P(T > t) from times, each of which is an event or the
// last moment something was known (censored). At equal times events come first.
// Times may be 0 or negative: a run stopped in its first turn enters at -1.
func KaplanMeier(times []float64, event []bool, opt SurvivalOptions) (Survival, error) {
	level, err := checkLevel(opt.Level)
	if err != nil {
		return Survival{}, fmt.Errorf("Kaplan-Meier: %w", err)
	}
	if len(times) != len(event) {
		return Survival{}, fmt.Errorf("Kaplan-Meier: %d times but %d events", len(times), len(event))
	}
	if len(times) == 0 {
		return Survival{}, fmt.Errorf("Kaplan-Meier estimate of no times")
	}
	if err := checkFinite("time", times); err != nil {
		return Survival{}, fmt.Errorf("Kaplan-Meier: %w", err)
	}
	n := len(times)
	order := ascending(times)
	z := normalQuantile(0.5 + level/2)
	s := Survival{N: n}
	surv, sum := 1.0, 0.0 // sum of d/(n(n-d)), Greenwood
	hazard, hazard2 := 0.0, 0.0
	for i := 0; i < n; {
		p := SurvivalPoint{Time: times[order[i]], AtRisk: n - i}
		for ; i < n && times[order[i]] == p.Time; i++ {
			if event[order[i]] {
				p.Events++
			} else {
				p.Censored++
			}
		}
		r, d := float64(p.AtRisk), float64(p.Events)
		surv *= (r - d) / r
		if p.Events < p.AtRisk {
			sum += d / (r * (r - d))
		}
		hazard += d / r
		hazard2 += d / (r * r)
		p.S, p.Hazard, p.HazardSE = surv, hazard, math.Sqrt(hazard2)
		if surv > 0 {
			p.SE = surv * math.Sqrt(sum)
		}
		if surv > 0 && sum > 0 {
			p.Defined = true
			p.Lo, p.Hi = survivalInterval(surv, math.Sqrt(sum), z, opt.Transform)
		}
		s.Points = append(s.Points, p)
	}
	return s, nil
}

// survivalInterval returns the interval of 0 < s < 1 with standard error se of log s.
func survivalInterval(s, se, z float64, how SurvivalTransform) (lo, hi float64) {
	switch how {
	case Log:
		lo, hi = s*math.Exp(-z*se), s*math.Exp(z*se)
	case Plain:
		lo, hi = s-z*s*se, s+z*s*se
	default:
		w := z * se / math.Log(s) // negative
		lo, hi = math.Pow(s, math.Exp(-w)), math.Pow(s, math.Exp(w))
	}
	return math.Max(lo, 0), math.Min(hi, 1)
}

// At returns S(t) = P(T > t).
func (s Survival) At(t float64) float64 {
	i := sort.Search(len(s.Points), func(i int) bool { return s.Points[i].Time > t })
	if i == 0 {
		return 1
	}
	return s.Points[i-1].S
}

// Median returns the smallest time with S(t) <= 1/2, or the middle of the flat
// part if S equals 1/2 there. reached is false if S stays above 1/2.
func (s Survival) Median() (t float64, reached bool) {
	q := s.Quantile(0.5)
	return q.T, q.Reached
}

// A SurvivalQuantile is the time by which a share of the runs has failed.
type SurvivalQuantile struct {
	Share   float64 // that has failed
	T       float64
	Reached bool // T means something
	// Lo and Hi are where the ends of the interval of S fall to 1 - Share; an
	// end that is not reached is open.
	Lo, Hi               float64
	LoReached, HiReached bool
}

// Quantile returns the smallest time with S(t) <= 1 - share, or the middle of
// the flat part where they are equal, with the interval got by inverting that of
// S.
func (s Survival) Quantile(share float64) SurvivalQuantile {
	q := SurvivalQuantile{Share: share}
	level := 1 - share
	q.T, q.Reached = s.fallsTo(level, func(p SurvivalPoint) (float64, bool) { return p.S, true })
	// Before the first event the interval is the point 1.
	end := func(v func(SurvivalPoint) float64) func(SurvivalPoint) (float64, bool) {
		return func(p SurvivalPoint) (float64, bool) {
			if p.S == 1 {
				return 1, true
			}
			return v(p), p.Defined
		}
	}
	q.Lo, q.LoReached = s.fallsTo(level, end(func(p SurvivalPoint) float64 { return p.Lo }))
	q.Hi, q.HiReached = s.fallsTo(level, end(func(p SurvivalPoint) float64 { return p.Hi }))
	return q
}

// fallsTo returns the first time at which a curve is at most level.
func (s Survival) fallsTo(level float64, curve func(SurvivalPoint) (float64, bool)) (t float64, reached bool) {
	for i, p := range s.Points {
		v, ok := curve(p)
		if !ok || v > level+quantileGuard {
			continue
		}
		if math.Abs(v-level) <= quantileGuard {
			for _, next := range s.Points[i+1:] {
				if next.Events > 0 {
					return (p.Time + next.Time) / 2, true
				}
			}
		}
		return p.Time, true
	}
	return 0, false
}

// RMST returns the restricted mean, the area under S from 0 to tau, and its
// standard error (Klein & Moeschberger 2003, sec. 4.5), which is the error of
// the estimate, not the spread of min(T, tau). If tau lies beyond the last time
// and S is not 0 there, S is carried on and a warning says so.
func (s Survival) RMST(tau float64) (est, se float64, w []Warning) {
	if !(tau > 0) || len(s.Points) == 0 {
		return 0, 0, nil
	}
	// Backwards, so that the area to the right of each event is at hand.
	right := tau
	variance := 0.0
	for i := len(s.Points) - 1; i >= 0; i-- {
		p := s.Points[i]
		if left := math.Max(p.Time, 0); left < right {
			est += p.S * (right - left)
			right = left
		}
		if p.Time <= tau && p.Events > 0 && p.Events < p.AtRisk {
			r, d := float64(p.AtRisk), float64(p.Events)
			variance += est * est * d / (r * (r - d))
		}
	}
	est += right // S = 1 before the first time
	last := s.Points[len(s.Points)-1]
	if tau > last.Time && last.S > 0 {
		w = append(w, warnf(CodeTauBeyondData, "", "the restricted mean goes to %v, but nothing is known beyond %v", tau, last.Time))
	}
	return est, math.Sqrt(variance), w
}

// A lifetime is one run of a unit of resampling.
type lifetime struct {
	time  float64
	event bool
	unit  int
}

// sortLifetimes sorts by time, events first.
func sortLifetimes(l []lifetime) {
	slices.SortStableFunc(l, func(a, b lifetime) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		case a.event == b.event:
			return 0
		case a.event:
			return -1
		}
		return 1
	})
}

// weightedRMST is the restricted mean of sorted lifetimes of which unit u
// counts weight[u] times. With nothing at risk it is tau.
func weightedRMST(l []lifetime, weight []int, tau float64) float64 {
	atRisk := 0
	for _, x := range l {
		atRisk += weight[x.unit]
	}
	surv, area, from := 1.0, 0.0, 0.0
	for i := 0; i < len(l) && atRisk > 0; {
		t := l[i].time
		d, gone := 0, 0
		for ; i < len(l) && l[i].time == t; i++ {
			k := weight[l[i].unit]
			gone += k
			if l[i].event {
				d += k
			}
		}
		if d > 0 {
			if at := math.Min(math.Max(t, 0), tau); at > from {
				area += surv * (at - from)
				from = at
			}
			surv *= float64(atRisk-d) / float64(atRisk)
		}
		atRisk -= gone
	}
	return area + surv*(tau-from)
}
