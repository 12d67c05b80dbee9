package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxAnswer bounds the body of one answer.
const maxAnswer = 64 << 20

// doer is the HTTP side of a Client as go-openai calls it: one request in, with all its tries, one good
// answer or a *ProviderError out.
type doer struct{ c *Client }

// Do makes the request until it has an answer, the error is one that waiting does not help, or the waiting
// time is over.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	c := d.c
	ctx := req.Context()
	info, _ := ctx.Value(callKey{}).(*call)
	if info == nil {
		info = &call{}
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request for the model: %w", err)
	}
	body = c.prepare(body)
	info.sent = len(body)
	c.recordRequest(body)

	var failed *ProviderError
	try := func() (*http.Response, error) {
		info.tries++
		resp, perr := c.once(ctx, req, body, info)
		if perr == nil {
			return resp, nil
		}
		if failed != nil && ctx.Err() != nil {
			perr = failed // our own end cut this try; what the provider did before is the news
		}
		perr.Tries, failed = info.tries, perr
		if !c.opt.Retry || !perr.retryable() || ctx.Err() != nil {
			return nil, backoff.Permanent(perr)
		}
		if perr.RetryAfter > 0 {
			return nil, errors.Join(perr, &backoff.RetryAfterError{Duration: perr.RetryAfter})
		}
		return nil, perr
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = c.opt.MinWait, 2, time.Minute
	resp, err := backoff.Retry(ctx, try, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(c.opt.ProviderWait),
		backoff.WithNotify(func(_ error, pause time.Duration) {
			c.opt.Recorder.Event("retry", map[string]any{"class": failed.Class, "status": failed.Status, "wait_s": pause.Seconds(), "try": info.tries})
		}))
	if err == nil {
		return resp, nil
	}
	if ctx.Err() != nil {
		if failed.ours {
			return nil, context.Cause(ctx) // nothing but our own end is to blame
		}
		// The provider had failed before; the end of the attempt only cut the waiting.
		failed.Err = context.Cause(ctx)
	}
	return nil, failed
}

// once makes one try.
func (c *Client) once(ctx context.Context, req *http.Request, body []byte, info *call) (*http.Response, *ProviderError) {
	began := time.Now()
	r := req.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.recordFailure(began, info, &ProviderError{Class: ClassProviderError, Message: oneLine(cause(err).Error()), Err: err, ours: ctx.Err() != nil})
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil && resp.StatusCode < 400:
		return nil, c.recordFailure(began, info, &ProviderError{Class: ClassCutStream, Status: resp.StatusCode, Err: err, ours: ctx.Err() != nil,
			Message: fmt.Sprintf("the answer broke off after %d bytes: %s", len(answer), oneLine(err.Error()))})
	case len(answer) > maxAnswer:
		return nil, c.recordFailure(began, info, &ProviderError{Class: ClassBadRequest, Status: resp.StatusCode,
			Message: fmt.Sprintf("the answer is longer than %d bytes", maxAnswer)})
	case resp.StatusCode != http.StatusOK:
		return nil, c.recordFailure(began, info, failure(resp.StatusCode, resp.Header, answer, time.Now()))
	case !json.Valid(answer):
		e := failure(resp.StatusCode, resp.Header, answer, time.Now())
		e.Message = "the answer is no JSON: " + e.Message
		return nil, c.recordFailure(began, info, e)
	}
	if status, found := errorInside(answer); found {
		return nil, c.recordFailure(began, info, failure(status, resp.Header, answer, time.Now()))
	}
	info.received, info.usage = len(answer), answerUsage(answer)
	c.opt.Recorder.Event("answer", map[string]any{
		"status": resp.StatusCode, "try": info.tries, "duration_s": seconds(began), "body": json.RawMessage(answer),
	})
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, nil
}

// cause strips the URL that net/http puts before the reason.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

func (c *Client) recordFailure(began time.Time, info *call, e *ProviderError) *ProviderError {
	if e.ours {
		c.opt.Recorder.Event("cut", map[string]any{"try": info.tries, "duration_s": seconds(began)})
		return e
	}
	fields := map[string]any{"class": e.Class, "try": info.tries, "duration_s": seconds(began), "message": e.Message}
	if e.Status != 0 {
		fields["status"] = e.Status
	}
	if e.RetryAfter > 0 {
		fields["retry_after_s"] = e.RetryAfter.Seconds()
	}
	c.opt.Recorder.Event("error", fields)
	return e
}

func seconds(since time.Time) float64 { return float64(time.Since(since).Milliseconds()) / 1000 }

// recordRequest records the messages that the previous request did not have, and everything else once it
// changes: the whole request can be put together again.
func (c *Client) recordRequest(body []byte) {
	var fields map[string]json.RawMessage
	var messages []json.RawMessage
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(fields["messages"], &messages) != nil {
		c.opt.Recorder.Event("request", map[string]any{"bytes": len(body)})
		return
	}
	delete(fields, "messages")
	c.mu.Lock()
	same := 0
	for same < len(c.last) && same < len(messages) && bytes.Equal(c.last[same], messages[same]) {
		same++
	}
	first := c.last == nil
	c.last = messages
	c.mu.Unlock()
	event := map[string]any{"bytes": len(body), "messages": len(messages), "same": same, "new": messages[same:]}
	if !first {
		delete(fields, "tools") // never changes within an attempt except that a summary has none
		if _, ok := fields["tool_choice"]; ok {
			event["tool_choice"] = fields["tool_choice"]
		}
	}
	event["settings"] = fields
	c.opt.Recorder.Event("request", event)
}
