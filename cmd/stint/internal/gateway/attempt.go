package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
)

// errClosed is why a request is cut whose attempt has ended.
var errClosed = errors.New("the attempt has ended")

// Attempt is one attempt of an agent outside stint, as the gateway sees it. It is safe for concurrent use.
type Attempt struct {
	*upstream
	proxy *Proxy
	token string

	ctx    context.Context // ended by Close
	end    context.CancelCauseFunc
	flight sync.WaitGroup
	slots  chan struct{} // one per request in flight

	stopOnce sync.Once
	stopped  chan struct{}

	seen      sync.Mutex // guards what follows
	state     AttemptState
	known     map[string]bool // ids of tool calls so far
	empty     int             // empty answers in a row
	plainOnly bool            // the provider refuses stream_options
	toolsText string          // of the latest request, and the names in it
	toolNames map[string]bool
	notedLen  int // messages of the latest request, and its last one
	notedLast json.RawMessage
}

// AttemptState is what the gateway has seen of an attempt so far.
type AttemptState struct {
	Requests int // model requests that reached the gateway, refused ones too
	Answers  int // whole answers

	// Last is the failure of the latest request that ended, nil if that request got its answer: the
	// provider is to blame only if no success followed. A request that the agent broke off changes nothing.
	Last *ProviderError
	// Budget is the first budget that refused a request; nil if none did.
	Budget *BudgetError
	// Cut says that the output limit cut the latest whole answer.
	Cut bool

	ToolCalls    int // in answers, whatever was wrong with them
	Malformed    int // calls whose arguments are no JSON object
	UnknownTools int // calls of tools that the request did not offer
	DuplicateIDs int // calls with an id that an earlier call had
	Empty        int // answers with neither text nor tool call
	CutStreams   int // answers that broke off
	Overflows    int // requests that were longer than the model's window
	Abandoned    int // requests whose client left before the answer was complete
}

// Token is the API key of this attempt: random, of no meaning, refused after Close.
func (a *Attempt) Token() string { return a.token }

// State is what was seen so far.
func (a *Attempt) State() AttemptState {
	a.seen.Lock()
	defer a.seen.Unlock()
	return a.state
}

// Stopped is closed when a budget refuses a request: the agent can get no further answer.
func (a *Attempt) Stopped() <-chan struct{} { return a.stopped }

// Close refuses the token from now on, breaks off the requests in flight, whose agent is gone, and waits until
// they are recorded.
func (a *Attempt) Close() {
	a.proxy.forget(a)
	a.end(errClosed)
	a.flight.Wait()
}

func (a *Attempt) update(f func(s *AttemptState)) {
	a.seen.Lock()
	defer a.seen.Unlock()
	f(&a.state)
}

// serve makes one request for the agent.
func (a *Attempt) serve(w http.ResponseWriter, r *http.Request, d dialect, body []byte) {
	a.update(func(s *AttemptState) { s.Requests++ })
	o, err := cutObject(body)
	if err != nil {
		a.opt.Recorder.Event("refused", map[string]any{"status": http.StatusBadRequest, "path": d.path(), "message": err.Error(), "bytes": len(body)})
		answerError(w, d, http.StatusBadRequest, err.Error())
		return
	}
	if err := a.admit(); err != nil {
		a.refuse(w, d, err)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })()
	info := &call{dialect: d, proxied: true}
	var hide bool
	info.stream, hide = edit(d, o, a.opt.Model)
	a.seen.Lock()
	if a.plainOnly {
		o.delete("stream_options")
	}
	a.seen.Unlock()
	rep, err := a.ask(ctx, r, o, info)
	if err != nil {
		a.settle(info, err)
		a.fail(w, d, err)
		return
	}
	if rep.stream != nil {
		defer rep.resp.Body.Close()
		a.relay(ctx, w, rep, info, hide)
		return
	}
	a.settle(info, nil)
	a.observe(d.read(rep.body), info)
	passHeader(w.Header(), rep.resp.Header)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(rep.body) // an agent that left is its own concern; the answer is recorded
}

// ask sends a request while its record is made.
func (a *Attempt) ask(ctx context.Context, r *http.Request, o *object, info *call) (*reply, error) {
	for {
		body := o.bytes()
		info.sent = len(body)
		info.noted = make(chan struct{})
		go func() {
			defer close(info.noted)
			a.note(o, info)
			a.recordRequest(info, body)
		}()
		req, err := a.request(ctx, r, info, body)
		if err != nil {
			info.wait()
			return nil, err
		}
		rep, err := a.exchange(req, body, info)
		info.wait()
		var pe *ProviderError
		if errors.As(err, &pe) && pe.Class == ClassBadRequest && o.get("stream_options") != nil && bytes.Contains(pe.body, []byte("stream_options")) {
			// An old server that cannot count what it streams.
			a.seen.Lock()
			a.plainOnly = true
			a.seen.Unlock()
			o.delete("stream_options")
			continue
		}
		return rep, err
	}
}

// request is the request for the provider: the model's key, and of the agent's headers only those that say
// how to read the body.
func (a *Attempt) request(ctx context.Context, r *http.Request, info *call, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, info.dialect.url(a.base, r), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"Accept", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta"} {
		if v := r.Header.Get(key); v != "" && len(v) < 4096 {
			req.Header.Set(key, v)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept-Encoding", "identity") // a compressed stream would be held back
	req.Header.Set("User-Agent", "stint")
	info.dialect.sign(req.Header, a.opt.Model.Key)
	return req, nil
}

// refuse answers a request for which no budget is left.
func (a *Attempt) refuse(w http.ResponseWriter, d dialect, err error) {
	var budget *BudgetError
	errors.As(err, &budget)
	a.update(func(s *AttemptState) {
		if s.Budget == nil {
			s.Budget = budget
		}
	})
	a.stopOnce.Do(func() { close(a.stopped) })
	answerError(w, d, http.StatusForbidden, err.Error())
}

// fail passes the provider's failure on.
func (a *Attempt) fail(w http.ResponseWriter, d dialect, err error) {
	var pe *ProviderError
	if !errors.As(err, &pe) {
		a.update(func(s *AttemptState) { s.Abandoned++ })
		panic(http.ErrAbortHandler) // nobody waits for an answer
	}
	a.update(func(s *AttemptState) {
		s.Last = pe
		switch pe.Class {
		case ClassContextLength:
			s.Overflows++
		case ClassCutStream:
			s.CutStreams++
		}
	})
	passHeader(w.Header(), pe.header)
	if a.opt.Retry { // the provider has been waited for: libraries that would begin the wait anew obey this
		w.Header().Set("X-Should-Retry", "false")
	}
	switch {
	case pe.Class == ClassCutStream:
		panic(http.ErrAbortHandler) // what the agent would have seen
	case pe.Status < 400 || !json.Valid(pe.body):
		answerError(w, d, max(pe.Status, http.StatusBadGateway), pe.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(pe.Status)
	_, _ = w.Write(hidden(pe.body, a.opt.Model.Key))
}

// passHeader copies what clients use of an answer's header.
func passHeader(to, from http.Header) {
	for _, key := range []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Request-Id", "Request-Id", "X-Should-Retry"} {
		if v := from.Get(key); v != "" {
			to.Set(key, v)
		}
	}
}
