package suite

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"time"
)

const (
	probeRequests = 8
	// A kept connection may wait for a delayed acknowledgement (about 40 ms). One answer so much slower than
	// without is enough to tell.
	probeTooSlow = 5
)

// probe decides once per grading whether connections are kept: on if the median answer is not slower and every
// request after the first re-used its connection; off if in doubt.
func (g *grading) probe(ctx context.Context, base string) error {
	if g.known {
		return nil
	}
	g.known = true
	plain, ok, err := g.probeWith(ctx, base, false, 0)
	if err != nil || !ok {
		return err
	}
	kept, ok, err := g.probeWith(ctx, base, true, probeTooSlow*max(plain, 200*time.Microsecond))
	if err != nil {
		return err
	}
	g.keep = ok && kept <= plain
	return nil
}

// probeWith returns the median time of GET /health; ok is false if an answer failed, took longer than limit
// (0 = the request's own) or, with keep-alive, came over a new connection.
func (g *grading) probeWith(ctx context.Context, base string, keep bool, limit time.Duration) (median time.Duration, ok bool, err error) {
	client := g.opt.Client(keep)
	defer client.CloseIdleConnections()
	var times []time.Duration
	for i := range probeRequests {
		began := time.Now()
		reused, good := get(ctx, client, base+"/health", g.opt.RequestTimeout)
		took := time.Since(began)
		if ctx.Err() != nil {
			return 0, false, ctx.Err()
		}
		if !good || limit > 0 && took > limit || keep && i > 0 && !reused {
			return 0, false, nil
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times[len(times)/2], true, nil
}

func get(ctx context.Context, client *http.Client, url string, timeout time.Duration) (reused, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, url, nil)
	if err != nil {
		return false, false
	}
	resp, err := client.Do(req)
	if err != nil {
		return reused, false
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)); err != nil {
		return reused, false
	}
	return reused, true
}
