package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxAnswer bounds the body of one answer.
const maxAnswer = 64 << 20

// doer is the HTTP side of a Client as go-openai calls it: one request in, with all its tries, one good
// answer or a *ProviderError out.
type doer struct{ c *Client }

// Do makes the request with the model's settings, which go-openai cannot all say: it leaves out a temperature of zero.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	c := d.c
	info, _ := req.Context().Value(callKey{}).(*call)
	if info == nil {
		info = &call{dialect: chat{}}
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request for the model: %w", err)
	}
	if o, err := cutObject(body); err == nil {
		edit(info.dialect, o, c.opt.Model)
		body = o.bytes()
	}
	info.sent = len(body)
	c.recordRequest(info, body)
	r, err := c.exchange(req, body, info)
	if err != nil {
		return nil, err
	}
	r.resp.Body = io.NopCloser(bytes.NewReader(r.body))
	return r.resp, nil
}

// reply is a good answer: whole, or a stream whose first event has come.
type reply struct {
	resp   *http.Response
	began  time.Time
	body   []byte
	stream *sseReader // nil if the answer is whole
	first  sseEvent
}

// exchange makes a request until it has an answer, the error is one that waiting does not help, or the waiting
// time is over. The error is a *ProviderError or the cause of the end of the request's context.
func (u *upstream) exchange(req *http.Request, body []byte, info *call) (*reply, error) {
	ctx := req.Context()
	began := time.Now()
	left := u.patience()
	var failed *ProviderError
	try := func() (*reply, error) {
		info.tries++
		r, perr := u.once(ctx, req, body, info)
		if perr == nil {
			return r, nil
		}
		if failed != nil && ctx.Err() != nil {
			perr = failed // our own end cut this try; what the provider did before is the news
		}
		perr.Tries, failed = info.tries, perr
		if !u.opt.Retry || !perr.retryable() || ctx.Err() != nil || left <= 0 {
			return nil, backoff.Permanent(perr)
		}
		if perr.RetryAfter > 0 {
			return nil, errors.Join(perr, &backoff.RetryAfterError{Duration: perr.RetryAfter})
		}
		return nil, perr
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = u.opt.MinWait, 2, time.Minute
	r, err := backoff.Retry(ctx, try, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(max(left, time.Nanosecond)),
		backoff.WithNotify(func(_ error, pause time.Duration) {
			u.opt.Recorder.Event("retry", map[string]any{"class": failed.Class, "status": failed.Status, "wait_s": pause.Seconds(), "try": info.tries})
			if u.opt.OnWait != nil {
				u.opt.OnWait(failed.Class, pause)
			}
		}))
	if err == nil {
		return r, nil
	}
	if ctx.Err() != nil {
		if failed.ours {
			return nil, context.Cause(ctx) // nothing but our own end is to blame
		}
		// The provider had failed before; the end of the attempt only cut the waiting.
		failed.Err = context.Cause(ctx)
	}
	u.lost(began, failed, ctx.Err() != nil)
	return nil, failed
}

// patience is how long a request may wait for the provider: what earlier requests left of it since the last
// answer. Agents that try again themselves do not start it anew.
func (u *upstream) patience() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.opt.ProviderWait - u.waited
}

// lost counts the waiting of a request that got no answer: all that was left, unless the agent gave up earlier.
func (u *upstream) lost(began time.Time, e *ProviderError, gone bool) {
	if !u.opt.Retry || !e.retryable() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if gone {
		u.waited += time.Since(began)
	} else {
		u.waited = u.opt.ProviderWait
	}
}

// once makes one try.
func (u *upstream) once(ctx context.Context, req *http.Request, body []byte, info *call) (*reply, *ProviderError) {
	began := time.Now()
	r := req.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	resp, err := u.http.Do(r)
	if err != nil {
		return nil, u.recordFailure(began, info, u.silence(ctx, began, &ProviderError{Class: ClassProviderError, Message: oneLine(cause(err).Error()), Err: err}))
	}
	out := &reply{resp: resp, began: began}
	if info.stream && resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if e := u.firstEvent(ctx, out, info); e != nil {
			resp.Body.Close()
			return nil, e
		}
		return out, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil && resp.StatusCode < 400:
		return nil, u.recordFailure(began, info, &ProviderError{Class: ClassCutStream, Status: resp.StatusCode, Err: err, ours: ctx.Err() != nil,
			Message: fmt.Sprintf("the answer broke off after %d bytes: %s", len(answer), oneLine(err.Error()))})
	case len(answer) > maxAnswer:
		return nil, u.recordFailure(began, info, &ProviderError{Class: ClassBadRequest, Status: resp.StatusCode,
			Message: fmt.Sprintf("the answer is longer than %d bytes", maxAnswer)})
	case resp.StatusCode != http.StatusOK:
		return nil, u.recordFailure(began, info, failure(resp.StatusCode, resp.Header, answer, time.Now()))
	case !json.Valid(answer):
		e := failure(resp.StatusCode, resp.Header, answer, time.Now())
		e.Message = "the answer is no JSON: " + e.Message
		return nil, u.recordFailure(began, info, e)
	}
	if status, found := errorInside(answer); found {
		return nil, u.recordFailure(began, info, failure(status, resp.Header, answer, time.Now()))
	}
	info.wait()
	info.received = len(answer)
	u.recordAnswer(out, info, answer, nil)
	out.body = answer
	return out, nil
}

// recordAnswer records a whole answer, and what it took.
func (u *upstream) recordAnswer(r *reply, info *call, body []byte, more map[string]any) {
	info.usage = usageOf(info.dialect, body)
	event := map[string]any{"status": r.resp.StatusCode, "try": info.tries, "duration_s": seconds(r.began), "body": json.RawMessage(body)}
	if info.proxied {
		event["protocol"] = info.dialect.name()
	}
	maps.Copy(event, more)
	u.opt.Recorder.Event("answer", event)
}

// firstEvent waits for the first event of a stream: until then a failure is one that another try may mend.
func (u *upstream) firstEvent(ctx context.Context, out *reply, info *call) *ProviderError {
	resp := out.resp
	out.stream = newSSEReader(io.LimitReader(resp.Body, maxAnswer))
	for {
		e, err := out.stream.next()
		switch {
		case err != nil && errors.Is(err, io.EOF):
			return u.recordFailure(out.began, info, &ProviderError{Class: ClassProviderError, Status: resp.StatusCode, Message: "the stream ended before its first event"})
		case err != nil:
			return u.recordFailure(out.began, info, u.silence(ctx, out.began, &ProviderError{Class: ClassProviderError, Status: resp.StatusCode, Err: err,
				Message: "the stream broke off before its first event: " + oneLine(cause(err).Error())}))
		case e.data == nil || e.name == "ping":
			continue // to keep the connection open
		}
		if status, body, found := info.dialect.assemble().failed(e); found {
			return u.recordFailure(out.began, info, failure(status, resp.Header, body, time.Now()))
		}
		out.first = e
		return nil
	}
}

// silence decides whom a try is put down to that has no answer because the attempt or its agent ended: to the end,
// unless the provider had not said a word for as long as one waits for a provider.
func (u *upstream) silence(ctx context.Context, began time.Time, e *ProviderError) *ProviderError {
	if ctx.Err() == nil {
		return e
	}
	if e.ours = time.Since(began) < u.opt.ProviderWait; !e.ours {
		e.Message = fmt.Sprintf("no answer within %v", u.opt.ProviderWait)
	}
	return e
}

// cause strips the URL that net/http puts before the reason.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

func (u *upstream) recordFailure(began time.Time, info *call, e *ProviderError) *ProviderError {
	info.wait()
	if e.ours {
		u.opt.Recorder.Event("cut", map[string]any{"try": info.tries, "duration_s": seconds(began)})
		return e
	}
	fields := map[string]any{"class": e.Class, "try": info.tries, "duration_s": seconds(began), "message": e.Message}
	if e.Status != 0 {
		fields["status"] = e.Status
	}
	if e.RetryAfter > 0 {
		fields["retry_after_s"] = e.RetryAfter.Seconds()
	}
	u.opt.Recorder.Event("error", fields)
	return e
}

func seconds(since time.Time) float64 { return float64(time.Since(since).Milliseconds()) / 1000 }
