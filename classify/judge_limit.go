package classify

import (
	"context"
	"fmt"
	"sync"
)

// Ceilings are the most that the calls on a run directory may take in all, earlier passes included; zero = no ceiling.
type Ceilings struct {
	Calls  int64
	Tokens int64
	USD    float64
}

// purse keeps the ceilings: a call reserves the most it can take before it is made.
type purse struct {
	ceilings Ceilings
	ledger   *ledger

	mu       sync.Mutex
	reserved spending
}

// ceilingError says that a call was not made because it might pass a ceiling.
type ceilingError struct {
	what  string // calls, tokens, usd
	spent float64
	limit float64
}

func (e *ceilingError) Error() string {
	if e.what == "usd" {
		return fmt.Sprintf("the next call might pass the ceiling of $%g ($%.4f spent)", e.limit, e.spent)
	}
	return fmt.Sprintf("the next call might pass the ceiling of %.0f %s (%.0f spent)", e.limit, e.what, e.spent)
}

// reserve sets aside what a call can take, numbers it and writes it down, or returns a *ceilingError. The line is on the
// disk before the call is made.
func (p *purse) reserve(e *entry) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	spent := p.ledger.spent
	usd := 0.0
	if e.USD != nil {
		usd = *e.USD
	}
	c := p.ceilings
	switch {
	case c.Calls > 0 && spent.Calls+1 > c.Calls:
		return &ceilingError{"calls", float64(spent.Calls), float64(c.Calls)}
	case c.Tokens > 0 && spent.Tokens+p.reserved.Tokens+e.Tokens > c.Tokens:
		return &ceilingError{"tokens", float64(spent.Tokens), float64(c.Tokens)}
	case c.USD > 0 && spent.USD+p.reserved.USD+usd > c.USD:
		return &ceilingError{"usd", spent.USD, c.USD}
	}
	e.Try = int(spent.Calls) + 1
	p.reserved.add(e.Tokens, e.USD)
	return p.ledger.append(*e)
}

// settle gives back what was reserved; what the call took is in the line that ends it.
func (p *purse) settle(reserved, end entry) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved.Tokens -= reserved.Tokens
	if reserved.USD != nil {
		p.reserved.USD -= *reserved.USD
	}
	return p.ledger.write(end)
}

// gate is how many calls run at once: halved when the endpoint has had enough, one more after every twenty good ones.
type gate struct {
	mu    sync.Mutex
	most  int
	limit int
	now   int
	good  int
	free  chan struct{} // closed and renewed whenever something changes
}

func newGate(most int) *gate { return &gate{most: most, limit: most, free: make(chan struct{})} }

// enter waits for its turn.
func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.now < g.limit {
			g.now++
			g.mu.Unlock()
			return nil
		}
		wait := g.free
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wait:
		}
	}
}

func (g *gate) changed() {
	close(g.free)
	g.free = make(chan struct{})
}

// leave ends a call. TooMany says that the endpoint answered 429, good that it gave an answer.
func (g *gate) leave(tooMany, good bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
	switch {
	case tooMany:
		g.limit, g.good = max(1, g.limit/2), 0
	case good:
		if g.good++; g.good >= 20 {
			g.limit, g.good = min(g.most, g.limit+1), 0
		}
	}
	g.changed()
}
