package stats

import (
	"fmt"
	"math"
)

// An AuditStratum is all units with one predicted label: how many there are, how many of them were audited, and how
// many of those have the label that is counted.
type AuditStratum struct{ Size, Audited, Positive int }

// PostStratifiedOptions controls [PostStratified].
type PostStratifiedOptions struct {
	Level float64 // 0: 0.95
	// Finite asks about these units alone, which a full audit knows without error, and not about the process that
	// made them.
	Finite bool
}

// PostStratifiedResult is the outcome of [PostStratified].
type PostStratifiedResult struct {
	Share     float64 // of the units that have the label
	SE        float64
	Interval  Interval
	Audited   int
	Positives int     // audited units with the label
	Few       bool    // fewer than 5 of them: the share of a rare label
	Unaudited float64 // share of the units in strata without an audited one; the interval holds all and none of them
}

// PostStratified corrects the share of a label for the errors of a classifier, from a random audit within each
// predicted label: the sum over strata of the stratum's share times the audited rate. The variance has a part within
// strata, from rates that are smoothed towards the overall one so that no stratum is thought to be without error for
// being small, and a part between them, since the sizes of the strata are a sample too (left out if Finite). The
// interval is normal on the logit scale, Wilson's with the same effective number of units where no or every audited
// unit has the label.
func PostStratified(strata []AuditStratum, opt PostStratifiedOptions) (PostStratifiedResult, error) {
	const method = "post-stratified"
	level, err := checkLevel(opt.Level)
	if err != nil {
		return PostStratifiedResult{}, fmt.Errorf("post-stratified share: %w", err)
	}
	var r PostStratifiedResult
	total, covered := 0, 0
	for i, s := range strata {
		if s.Size < 0 || s.Audited < 0 || s.Audited > s.Size || s.Positive < 0 || s.Positive > s.Audited {
			return r, fmt.Errorf("post-stratified share: stratum %d has %d units, %d audited, %d positive", i, s.Size, s.Audited, s.Positive)
		}
		total += s.Size
		r.Audited += s.Audited
		r.Positives += s.Positive
		if s.Audited > 0 {
			covered += s.Size
		}
	}
	if r.Audited == 0 {
		r.Interval = undefined(level, method, "no unit was audited")
		return r, nil
	}
	r.Few = r.Positives < 5
	r.Unaudited = 1 - float64(covered)/float64(total)
	overall := (float64(r.Positives) + 0.5) / (float64(r.Audited) + 1)
	within, between, inverse := 0.0, 0.0, 0.0 // inverse: of the number of units that an unstratified audit would need
	rate := func(s AuditStratum) float64 { return float64(s.Positive) / float64(s.Audited) }
	for _, s := range strata {
		if s.Audited > 0 {
			r.Share += float64(s.Size) / float64(covered) * rate(s)
		}
	}
	for _, s := range strata {
		if s.Audited == 0 {
			continue
		}
		w, n := float64(s.Size)/float64(covered), float64(s.Audited)
		smooth := (float64(s.Positive) + overall) / (n + 1)
		left := 1.0
		if opt.Finite {
			left = 1 - n/float64(s.Size)
		} else {
			between += w * (rate(s) - r.Share) * (rate(s) - r.Share)
		}
		within += w * w * smooth * (1 - smooth) / n * left
		inverse += w * w / n * left
	}
	r.SE = math.Sqrt(within + between/float64(covered))
	r.Interval = shareInterval(r.Share, r.SE, inverse, level, method)
	if r.Unaudited > 0 && r.Interval.Defined {
		r.Interval.Lo *= 1 - r.Unaudited
		r.Interval.Hi = r.Interval.Hi*(1-r.Unaudited) + r.Unaudited
	}
	return r, nil
}

// shareInterval is the interval of a share with a standard error.
func shareInterval(p, se, inverse, level float64, method string) Interval {
	z := normalQuantile(0.5 + level/2)
	out := Interval{Lo: p, Hi: p, Level: level, Method: method, Defined: true}
	switch {
	case se == 0:
	case p <= 0 || p >= 1:
		v := z * z * inverse
		mid, half := (p+v/2)/(1+v), v/2/(1+v)
		out.Lo, out.Hi = math.Max(0, mid-half), math.Min(1, mid+half)
	default:
		logit, width := math.Log(p/(1-p)), z*se/(p*(1-p))
		out.Lo, out.Hi = 1/(1+math.Exp(-(logit-width))), 1/(1+math.Exp(-(logit+width)))
	}
	return out
}
