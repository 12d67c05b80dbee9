package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/stint-bench/stint/logs"
)

// upstream is one model as one attempt calls it, whether the agent is inside stint ([Client]) or speaks
// through the [Proxy]: its budgets, its retries, what it took and what is recorded of it.
type upstream struct {
	opt  Options
	base string // URL without a slash at its end
	http *http.Client

	mu       sync.Mutex
	usage    logs.Usage
	answers  int
	requests int64
	waited   time.Duration // that requests waited for the provider since the last answer

	gate  sync.Mutex // held while a request is admitted, so that a cap is exact
	talks talks
}

// newUpstream checks the options; it makes no request.
func newUpstream(opt Options) (*upstream, error) {
	m := opt.Model
	if m.id() == "" {
		return nil, &SetupError{"?", "it has neither name nor id", "name the model in the study"}
	}
	u, err := url.Parse(m.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &SetupError{m.id(), fmt.Sprintf("%q is no http or https URL", m.URL), `give the base URL of an OpenAI-compatible endpoint, for example "http://127.0.0.1:8000/v1"`}
	}
	if opt.ProviderWait <= 0 {
		opt.ProviderWait = 10 * time.Minute
	}
	if opt.MinWait <= 0 {
		opt.MinWait = time.Second
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.HTTP == nil {
		opt.HTTP = http.DefaultTransport
	}
	opt.Recorder.hide(m.Key)
	return &upstream{opt: opt, base: strings.TrimRight(m.URL, "/"), http: &http.Client{
		Transport: opt.HTTP,
		// A redirect would carry the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// call is what is learnt about one request.
type call struct {
	dialect        dialect
	proxied        bool // the agent is outside stint: what it does with an answer is seen here only
	stream         bool
	tools          map[string]bool // names of the tools that the request offers; proxied only
	tries          int
	sent, received int
	usage          logs.Usage
	noted          chan struct{} // closed when the request is recorded; nil = it is
}

// wait keeps the lines of the record in order: the request before what comes of it.
func (c *call) wait() {
	if c.noted != nil {
		<-c.noted
	}
}

// admit asks the budgets whether another request may be made, and counts it. The error is a *BudgetError.
func (u *upstream) admit() error {
	u.gate.Lock()
	defer u.gate.Unlock()
	if err := u.opt.Budget.Charge(logs.Usage{}); err != nil {
		u.opt.Recorder.Event("budget", map[string]string{"error": err.Error()})
		return err
	}
	one := int64(1)
	_ = u.opt.Budget.Charge(logs.Usage{Requests: &one}) // only the next request can be refused
	return nil
}

// settle books what an admitted request took. An answer that broke off is paid for, but nobody says at how
// many tokens: the budget alone is charged, by the usual estimate.
func (u *upstream) settle(call *call, err error) {
	took := logs.Usage{}
	if err == nil {
		took = call.usage
		if u.opt.Prices != nil {
			took.USD, took.USDNoCache = u.opt.Prices.Cost(u.opt.Model.id(), u.opt.Now(), took)
			if took.USD == nil && u.opt.Model.Name != u.opt.Model.id() {
				took.USD, took.USDNoCache = u.opt.Prices.Cost(u.opt.Model.Name, u.opt.Now(), took)
			}
		}
	}
	u.mu.Lock()
	u.requests++
	if err == nil {
		u.usage = addUsage(u.usage, took, u.answers == 0)
		u.answers++
		u.waited = 0
	}
	u.mu.Unlock()
	took.Requests = nil // counted when it was admitted
	if call.received > 0 && (took.In == nil || took.Out == nil) {
		in, out := int64(call.sent+3)/4, int64(call.received+3)/4
		took.In, took.Out = &in, &out
	}
	if took != (logs.Usage{}) {
		_ = u.opt.Budget.Charge(took) // the answer is here; only the next request can be refused
	}
}

// Usage is what the requests of this attempt took so far. Requests counts those that failed too, but not the
// tries inside one; ModelReturned is the last answer's.
func (u *upstream) Usage() logs.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	s, n := u.usage, u.requests
	s.Via, s.Requests = "gateway", &n
	return s
}
