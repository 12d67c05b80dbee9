package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

// Limits of one answer.
const (
	maxBody    = 1 << 20
	maxHeaders = 64 << 10
)

// answer is what came back for one request.
type answer struct {
	Status int
	Body   []byte
	Error  string // in our own fixed words, so that it is the same on every machine; "" = an answer came
	Late   bool   // no answer within the request's own time

	value any // the body as a value, of an interpreter in this process; Body is nil then
}

// decoded returns the body as a value.
func (a answer) decoded() (any, error) {
	if a.Body == nil && a.value != nil {
		return a.value, nil
	}
	return decodeBody(a.Body)
}

// transport plays one request. An error in the answer is the server's; the error returned is ours: the context ended.
type transport interface {
	do(ctx context.Context, method, path string, body []byte) (answer, error)
	close()
}

// newClient is the client that RunOptions.Client may replace: no proxy, no redirects, no compression,
// and connections that are reset on close, so that no port is left in TIME_WAIT.
func newClient(keepAlive bool) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, network, addr)
				if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
					err = tcp.SetLinger(0)
				}
				return conn, err
			},
			DisableKeepAlives:      !keepAlive,
			DisableCompression:     true,
			MaxIdleConnsPerHost:    1,
			MaxResponseHeaderBytes: maxHeaders,
		},
	}
}

// httpTransport talks to one server, one request at a time.
type httpTransport struct {
	client  *http.Client
	base    string
	timeout time.Duration
}

func (t *httpTransport) close() { t.client.CloseIdleConnections() }

func (t *httpTransport) do(ctx context.Context, method, path string, body []byte) (answer, error) {
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	rctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(rctx, method, t.base+path, reader)
	if err != nil {
		return answer{}, fmt.Errorf("preparing %s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		return t.broken(ctx, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return t.broken(ctx, err)
	}
	if len(b) > maxBody {
		return answer{Error: "the body is larger than 1 MiB"}, nil
	}
	return answer{Status: resp.StatusCode, Body: b}, nil
}

// broken names why no answer came, without hosts, ports or the words of an operating system.
func (t *httpTransport) broken(ctx context.Context, err error) (answer, error) {
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return answer{Error: fmt.Sprintf("nothing within %g s", t.timeout.Seconds()), Late: true}, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return answer{Error: "connection refused"}, nil
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, os.ErrPermission):
		return answer{}, fmt.Errorf("reaching the server under test: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), "server closed idle connection"):
		return answer{Error: "the connection was closed before the answer was complete"}, nil
	}
	return answer{Error: "the answer was not valid HTTP"}, nil
}

// handlerTransport calls a handler without a network.
type handlerTransport struct{ handler http.Handler }

func (handlerTransport) close() {}

func (t handlerTransport) do(ctx context.Context, method, path string, body []byte) (answer, error) {
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://service"+path, reader)
	if err != nil {
		return answer{}, fmt.Errorf("preparing %s %s: %w", method, path, err)
	}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	req.RequestURI = path
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, req)
	if w.body.Len() > maxBody {
		return answer{Error: "the body is larger than 1 MiB"}, nil
	}
	return answer{Status: w.status, Body: w.body.Bytes()}, nil
}

// recorder keeps what a handler writes.
type recorder struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.wrote = true
	return w.body.Write(b)
}
