package gateway

import (
	"fmt"
	"sync"

	"github.com/stint-bench/stint/logs"
)

// SpentFunc keeps budgets that are shared by attempts (episode, study). It is called with the zero
// Usage before each model request: an error, normally a *BudgetError, refuses the request. It is called
// again with what the request took; that result is ignored, since the answer is already paid for.
// It is called from several goroutines when episodes run in parallel.
type SpentFunc func(u logs.Usage) error

// The scopes and quantities of a BudgetError.
const (
	ScopeAttempt = "attempt"
	ScopeEpisode = "episode"
	ScopeStudy   = "study"

	WhatTokens   = "tokens"
	WhatRequests = "requests"
	WhatUSD      = "usd"
)

// BudgetError says that a request was not made because a budget is used up. An attempt budget is a limit
// of the configuration (the attempt failed); an episode or study budget stops (the attempt is void).
type BudgetError struct {
	Scope string // attempt, episode, study
	What  string // tokens, requests, usd
	Spent float64
	Limit float64
}

func (e *BudgetError) Error() string {
	if e.What == WhatUSD {
		return fmt.Sprintf("the %s budget of $%.2f is used up ($%.2f spent)", e.Scope, e.Limit, e.Spent)
	}
	return fmt.Sprintf("the %s budget of %.0f %s is used up (%.0f spent)", e.Scope, e.Limit, e.What, e.Spent)
}

// Budget is one limit on tokens, requests and dollars. Zero limits mean none. Several budgets apply at
// once through Also. It is safe for concurrent use.
type Budget struct {
	Scope    string // attempt, episode, study
	Tokens   int64  // input, cached input and output together
	Requests int64
	USD      float64
	Also     SpentFunc // further budgets, asked after this one; may be nil

	mu       sync.Mutex
	tokens   int64
	requests int64
	usd      float64
}

// Charge adds what a request took, or with the zero Usage only asks whether another request may be made.
// The error is a *BudgetError of the first budget that is used up.
func (b *Budget) Charge(u logs.Usage) error {
	if b == nil {
		return nil
	}
	if err := b.charge(u); err != nil {
		return err
	}
	if b.Also != nil {
		return b.Also(u)
	}
	return nil
}

func (b *Budget) charge(u logs.Usage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := [3]float64{float64(b.tokens), float64(b.requests), b.usd}
	b.tokens += count(u.In) + count(u.Cached) + count(u.CacheWrite) + count(u.Out)
	b.requests += count(u.Requests)
	if u.USD != nil {
		b.usd += *u.USD
	}
	if before != [3]float64{float64(b.tokens), float64(b.requests), b.usd} {
		return nil // an answer that came is never refused afterwards
	}
	switch {
	case b.Tokens > 0 && b.tokens >= b.Tokens:
		return &BudgetError{b.Scope, WhatTokens, float64(b.tokens), float64(b.Tokens)}
	case b.Requests > 0 && b.requests >= b.Requests:
		return &BudgetError{b.Scope, WhatRequests, float64(b.requests), float64(b.Requests)}
	case b.USD > 0 && b.usd >= b.USD:
		return &BudgetError{b.Scope, WhatUSD, b.usd, b.USD}
	}
	return nil
}

// SetUSD changes the limit on dollars while the budget is used; 0 = none.
func (b *Budget) SetUSD(limit float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.USD = limit
}

// Left is the number of tokens that remain, or -1 when there is no limit.
func (b *Budget) Left() int64 {
	if b == nil || b.Tokens == 0 {
		return -1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.Tokens-b.tokens)
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
