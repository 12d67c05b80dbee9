package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// relay passes a stream on, event by event as it comes, and records the answer as one. The last event waits
// for the record: whoever has the whole answer finds it counted.
func (a *Attempt) relay(ctx context.Context, w http.ResponseWriter, rep *reply, info *call, hide bool) {
	first := seconds(rep.began)
	passHeader(w.Header(), rep.resp.Header)
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(w)
	parts := info.dialect.assemble()
	var end error
	var failed *ProviderError
	var held []byte
	for e, err := rep.first, error(nil); ; e, err = rep.stream.next() {
		if err != nil {
			end = err
			break
		}
		if status, body, found := parts.failed(e); found && e.data != nil {
			failed = failure(status, rep.resp.Header, body, a.opt.Now())
			held = e.raw
			break
		}
		out := e.raw
		if e.data != nil {
			out = parts.add(e, hide)
		}
		if parts.last() {
			held = out
			break
		}
		if len(out) == 0 {
			continue
		}
		if _, err := w.Write(out); err != nil {
			end = errors.Join(errLeft, err)
			break
		}
		_ = flusher.Flush() // a client that left shows at the next write
	}
	info.received = rep.stream.read
	body := parts.whole()
	read := info.dialect.read(body)
	if !json.Valid(body) { // pieces of it are no JSON; the text of it can be kept
		if body, _ = json.Marshal(string(body)); body == nil {
			body = []byte("null")
		}
	}
	cut := a.cutBy(ctx, parts, failed, end, info)
	if cut == nil {
		a.recordAnswer(rep, info, body, map[string]any{"stream": true, "first_event_s": first})
		a.settle(info, nil)
		a.observe(read, info)
	} else {
		a.recordCut(rep, info, cut, body)
		a.settle(info, cut)
	}
	if len(held) > 0 {
		_, _ = w.Write(held) // a client that left is its own concern
		_ = flusher.Flush()
	}
	if cut != nil && failed == nil && !errors.Is(end, io.EOF) {
		panic(http.ErrAbortHandler) // the agent sees the stream break as it broke here
	}
}

// errLeft says that the agent has closed its connection.
var errLeft = errors.New("the agent left")

// cutBy is what kept the answer from being complete: a *ProviderError, or the end of the attempt or of the
// agent's connection. It is nil for a complete answer.
func (a *Attempt) cutBy(ctx context.Context, parts assembler, failed *ProviderError, end error, info *call) error {
	switch {
	case failed != nil:
		failed.Tries = info.tries
		return failed
	case end == nil || errors.Is(end, io.EOF) && parts.complete():
		return nil
	case ctx.Err() != nil:
		return errors.Join(errLeft, context.Cause(ctx))
	case errors.Is(end, errLeft):
		return end
	}
	text := "the stream ended before the answer was complete"
	if !errors.Is(end, io.EOF) {
		text = fmt.Sprintf("the answer broke off after %d bytes: %s", info.received, oneLine(end.Error()))
	}
	return &ProviderError{Class: ClassCutStream, Status: http.StatusOK, Tries: info.tries, Err: end, Message: text}
}

// recordCut records an answer that is not complete, with what came of it.
func (a *Attempt) recordCut(rep *reply, info *call, cut error, body []byte) {
	fields := map[string]any{"protocol": info.dialect.name(), "try": info.tries, "duration_s": seconds(rep.began), "bytes": info.received, "body": json.RawMessage(body)}
	var pe *ProviderError
	if !errors.As(cut, &pe) {
		a.opt.Recorder.Event("cut", fields)
		a.update(func(s *AttemptState) { s.Abandoned++ })
		return
	}
	fields["class"], fields["status"], fields["message"] = pe.Class, pe.Status, pe.Message
	a.opt.Recorder.Event("error", fields)
	a.update(func(s *AttemptState) {
		s.Last = pe
		if pe.Class == ClassCutStream {
			s.CutStreams++
		}
	})
}
