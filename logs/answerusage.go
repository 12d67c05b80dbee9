package logs

import (
	"cmp"
	"encoding/json"
)

// AnswerUsage reads what a whole answer of a model says about itself: the model's name and its tokens, as the protocol
// (chat, responses or anthropic) has them. A count that the provider does not give is nil. In leaves out what was read
// from a cache and, where the provider says it, what was written to one. An answer that does not decode says nothing.
func AnswerUsage(protocol string, body []byte) Usage {
	var v struct {
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
	}
	if json.Unmarshal(body, &v) != nil {
		return Usage{}
	}
	var u interface{ tokens() Tokens } = &chatUsage{}
	switch protocol {
	case "responses":
		u = &responsesUsage{}
	case "anthropic":
		u = &anthropicUsage{}
	}
	var t Tokens
	if json.Unmarshal(v.Usage, u) == nil {
		t = u.tokens()
	}
	return Usage{ModelReturned: v.Model, In: t.Input, Cached: t.Cached, CacheWrite: t.CacheWrite, Out: t.Output, Reasoning: t.Reasoning}
}

// tokens are the counts of a usage as tables have them.
func (u Usage) tokens() Tokens {
	return Tokens{Input: u.In, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Out, Reasoning: u.Reasoning}
}

// chatUsage is the usage of a chat completion. What was read from a cache or written to one is in Prompt.
type chatUsage struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	CacheHit   *int64 `json:"prompt_cache_hit_tokens"` // an older name for cached_tokens
	Details    struct {
		Cached     *int64 `json:"cached_tokens"`
		CacheWrite *int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	OutDetails struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) tokens() Tokens {
	cached, written := cmp.Or(u.Details.Cached, u.CacheHit), u.Details.CacheWrite
	return Tokens{Input: without(u.Prompt, cached, written), Cached: cached, CacheWrite: written, Output: u.Completion, Reasoning: u.OutDetails.Reasoning}
}

// responsesUsage is the usage of a response. What was read from a cache or written to one is in Input.
type responsesUsage struct {
	Input   *int64 `json:"input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Details struct {
		Cached     *int64 `json:"cached_tokens"`
		CacheWrite *int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutDetails struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *responsesUsage) tokens() Tokens {
	d := u.Details
	return Tokens{Input: without(u.Input, d.Cached, d.CacheWrite), Cached: d.Cached, CacheWrite: d.CacheWrite, Output: u.Output, Reasoning: u.OutDetails.Reasoning}
}

// anthropicUsage is the usage of a message. What was read from a cache or written to one is not in Input.
type anthropicUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
}

func (u *anthropicUsage) tokens() Tokens {
	return Tokens{Input: u.Input, Cached: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
}

// without takes parts that are counted on their own from a sum; nil if the sum is unknown.
func without(sum *int64, parts ...*int64) *int64 {
	if sum == nil {
		return nil
	}
	n := *sum
	for _, p := range parts {
		n -= number(p)
	}
	n = max(n, 0)
	return &n
}
