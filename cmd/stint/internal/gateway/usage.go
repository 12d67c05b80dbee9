package gateway

import (
	"encoding/json"

	"github.com/stint-bench/stint/logs"
)

// answerUsage reads the usage of one chat-completions answer. A count that the provider does not give is
// nil. In excludes what was read from a cache and, where the provider says it, what was written to one.
func answerUsage(body []byte) logs.Usage {
	var v struct {
		Model string `json:"model"`
		Usage *struct {
			Prompt     *int64 `json:"prompt_tokens"`
			Completion *int64 `json:"completion_tokens"`
			Details    *struct {
				Cached     *int64 `json:"cached_tokens"`
				CacheWrite *int64 `json:"cache_write_tokens"`
			} `json:"prompt_tokens_details"`
			OutDetails *struct {
				Reasoning *int64 `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
			CacheHit *int64 `json:"prompt_cache_hit_tokens"` // an older name for cached_tokens
		} `json:"usage"`
	}
	one := int64(1)
	u := logs.Usage{Via: "gateway", Requests: &one}
	if json.Unmarshal(body, &v) != nil {
		return u
	}
	u.ModelReturned = v.Model
	if v.Usage == nil {
		return u
	}
	u.Out = v.Usage.Completion
	u.Cached = v.Usage.CacheHit
	if d := v.Usage.Details; d != nil {
		u.CacheWrite = d.CacheWrite
		if d.Cached != nil {
			u.Cached = d.Cached
		}
	}
	if d := v.Usage.OutDetails; d != nil {
		u.Reasoning = d.Reasoning
	}
	if v.Usage.Prompt != nil {
		in := max(0, *v.Usage.Prompt-count(u.Cached)-count(u.CacheWrite))
		u.In = &in
	}
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
