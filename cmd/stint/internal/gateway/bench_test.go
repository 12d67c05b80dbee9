package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
)

// benchRequest is a conversation of about 4 kB, of which a new message of 200 bytes was not in the request before.
func benchRequest(n int) string {
	var b strings.Builder
	b.WriteString(`{"model":"m","tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[`)
	for i := range 18 {
		fmt.Fprintf(&b, `{"role":"user","content":"%s %d"},`, strings.Repeat("word ", 38), i)
	}
	fmt.Fprintf(&b, `{"role":"user","content":"%s %d"}]}`, strings.Repeat("news ", 38), n)
	return b.String()
}

func benchCall(b testing.TB, c *http.Client, url, token string, n int) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(benchRequest(n)))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		b.Fatal(err, resp.Status)
	}
}

// BenchmarkProxy sends requests of 4 kB through the gateway, recording on, from 16 agents at once. The upstream is a
// Go server on loopback in the same process that answers 0.5 kB at once: its work and that of the clients is in the
// figures. The second is what two processors would serve that do nothing else.
func BenchmarkProxy(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, okAnswer)
	}))
	defer srv.Close()
	blobs, err := logs.OpenBlobs(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	p := proxy(b)
	c := agent(p)
	defer c.CloseIdleConnections()
	b.SetParallelism(8)
	b.ResetTimer()
	began, cpu := time.Now(), cpuTime(b)
	b.RunParallel(func(pb *testing.PB) {
		a := open(b, p, Options{Model: Model{URL: srv.URL + "/v1"}, Recorder: NewRecorder(blobs), Prices: logs.BuiltinPrices()})
		for n := 0; pb.Next(); n++ {
			benchCall(b, c, "http://gateway"+chatPath, a.Token(), n)
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "requests/s")
	b.ReportMetric(2*float64(b.N)/(cpuTime(b)-cpu).Seconds(), "requests/2cpu-s")
}

// cpuTime is what this process has had of the processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestProxyOverhead measures the first byte of a stream with and without the gateway, in one run: the difference of
// the medians is what the gateway costs.
func TestProxyOverhead(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		chunks(streamed...)(w, r)
	}))
	defer srv.Close()
	p := proxy(t)
	through, direct := agent(p), &http.Client{Transport: &http.Transport{}}
	defer through.CloseIdleConnections()
	defer direct.CloseIdleConnections()
	a := open(t, p, Options{Model: Model{URL: srv.URL + "/v1"}, Recorder: NewRecorder(nil)})
	body := strings.Replace(benchRequest(0), `{"model"`, `{"stream":true,"model"`, 1)
	firstByte := func(c *http.Client, url string) time.Duration {
		began := time.Now()
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.Token())
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		_, _ = io.Copy(io.Discard, resp.Body)
		return took
	}
	var with, without []time.Duration
	for range 150 { // taken in turn, so that a busy machine slows both
		with = append(with, firstByte(through, "http://gateway"+chatPath))
		without = append(without, firstByte(direct, srv.URL+chatPath))
	}
	slices.Sort(with)
	slices.Sort(without)
	cost := with[len(with)/2] - without[len(without)/2]
	t.Logf("first byte: median %v through the gateway, %v without: %v more", with[len(with)/2], without[len(without)/2], cost)
	// On a machine that does nothing else it is a third of a millisecond; other tests run beside this one.
	if cost > 5*time.Millisecond {
		t.Errorf("the gateway costs %v to the first byte", cost)
	}
}

// TestPaperCosts is the arithmetic of the paper: 4.5 billion input and 7.5 million output tokens, cached tokens at
// the price of input.
func TestPaperCosts(t *testing.T) {
	prices, err := logs.ParsePrices("p.yaml", []byte(`
- {model: a, from: 2026-01-01, usd_per_mtok: {input: 3, cached: 3, cache_write: 3, output: 15}, source: "http://x"}
- {model: b, from: 2026-01-01, usd_per_mtok: {input: 5, cached: 5, cache_write: 5, output: 30}, source: "http://x"}
`))
	if err != nil {
		t.Fatal(err)
	}
	// One answer of a thousandth of it, 600 of its tokens in a thousand from the cache, through the gateway a thousand times.
	answer, err := json.Marshal(map[string]any{"model": "m", "choices": []any{}, "usage": map[string]any{"prompt_tokens": 4_500_000, "completion_tokens": 7_500,
		"prompt_tokens_details": map[string]any{"cached_tokens": 2_700_000}}})
	if err != nil {
		t.Fatal(err)
	}
	url, _ := endpoint(t, say(200, string(answer)))
	p := proxy(t)
	c := agent(p)
	defer c.CloseIdleConnections()
	for model, want := range map[string]float64{"a": 13_612.50, "b": 22_725.00} {
		study := &Budget{Scope: ScopeStudy, USD: 100_000}
		a := open(t, p, Options{Model: Model{Name: model, URL: url}, Prices: prices, Budget: &Budget{Scope: ScopeAttempt, Also: study.Charge},
			Now: func() time.Time { return time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC) }})
		for n := range 1000 {
			benchCall(t, c, "http://gateway"+chatPath, a.Token(), n)
		}
		u := a.Usage()
		if *u.In+*u.Cached != 4_500_000_000 || *u.Out != 7_500_000 || u.USD == nil || fmt.Sprintf("%.2f", *u.USD) != fmt.Sprintf("%.2f", want) {
			t.Errorf("model %s: %d + %d in, %d out, $%v, want $%.2f", model, *u.In, *u.Cached, *u.Out, u.USD, want)
		}
		if study.usd != *u.USD {
			t.Errorf("the study's budget has counted $%v", study.usd)
		}
	}
}
