package gateway

import "github.com/stint-bench/stint/logs"

// usageOf is what one whole answer took.
func usageOf(d dialect, body []byte) logs.Usage {
	one := int64(1)
	u := logs.AnswerUsage(d.name(), body)
	u.Via, u.Requests = "gateway", &one
	return u
}

// addUsage sums two usages. In and Out are unknown if any request's are; cached, cache-written and reasoning
// tokens, which many providers only report when there are some, are unknown only if no request had them; cost
// is unknown if the cost of any answered request is.
func addUsage(a, b logs.Usage, first bool) logs.Usage {
	strict := func(x, y *int64) *int64 {
		if y == nil || x == nil && !first {
			return nil
		}
		s := count(x) + *y
		return &s
	}
	loose := func(x, y *int64) *int64 {
		if x == nil && y == nil {
			return nil
		}
		s := count(x) + count(y)
		return &s
	}
	money := func(x, y *float64) *float64 {
		if y == nil || x == nil && !first {
			return nil
		}
		s := *y
		if x != nil {
			s += *x
		}
		return &s
	}
	out := logs.Usage{
		Via: "gateway", ModelReturned: b.ModelReturned,
		In: strict(a.In, b.In), Out: strict(a.Out, b.Out),
		Cached: loose(a.Cached, b.Cached), CacheWrite: loose(a.CacheWrite, b.CacheWrite), Reasoning: loose(a.Reasoning, b.Reasoning),
		USD: money(a.USD, b.USD), USDNoCache: money(a.USDNoCache, b.USDNoCache),
	}
	if out.ModelReturned == "" {
		out.ModelReturned = a.ModelReturned
	}
	return out
}
