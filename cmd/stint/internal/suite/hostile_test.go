package suite

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// wrapped serves the reference, every answer but that of /health through a wrapper.
func wrapped(s *scenario.Schema, wrap func(w http.ResponseWriter, r *http.Request, right *recorder)) StartFunc {
	return serve(func(string, *fakeServer) http.Handler {
		h := oracle.Handler(s)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/health" {
				h.ServeHTTP(w, r)
				return
			}
			right := &recorder{header: http.Header{}, status: http.StatusOK}
			h.ServeHTTP(right, r)
			wrap(w, r, right)
		})
	})
}

// gradedIn grades and says when it took longer than it may.
func gradedIn(t *testing.T, limit time.Duration, s *Suite, opt RunOptions) *Result {
	t.Helper()
	began := time.Now()
	r := grade(t, s, opt)
	if took := time.Since(began); took > limit {
		t.Errorf("took %v, may take %v", took, limit)
	}
	for _, level := range []string{"moderate", "detailed"} {
		told := Feedback(level, s, r).Text
		if !utf8.ValidString(told) || len(told) > maxToldBytes || strings.ContainsFunc(told, func(c rune) bool { return c < ' ' && c != '\n' }) {
			t.Errorf("the feedback %s is no clean text: %q", level, told)
		}
	}
	return r
}

// TestChunkedAnswers has a server that sends every answer byte by byte: unusual, but right.
func TestChunkedAnswers(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	start := wrapped(sc.Steps[0].Schema, func(w http.ResponseWriter, _ *http.Request, right *recorder) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(right.status)
		for _, b := range right.body.Bytes() {
			_, _ = w.Write([]byte{b})
			w.(http.Flusher).Flush()
		}
	})
	wantOutcome(t, gradedIn(t, 20*time.Second, s, RunOptions{Start: start}), "passed: passed")
}

// TestSlowAnswers has a server that is slow within the limit of a request, and one whose answers never end: the head
// comes at once, the body byte after byte.
func TestSlowAnswers(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	slow := wrapped(sc.Steps[0].Schema, func(w http.ResponseWriter, _ *http.Request, right *recorder) {
		time.Sleep(2 * time.Millisecond)
		w.WriteHeader(right.status)
		_, _ = w.Write(right.body.Bytes())
	})
	wantOutcome(t, gradedIn(t, 20*time.Second, s, RunOptions{Start: slow}), "passed: passed")

	endless := wrapped(sc.Steps[0].Schema, func(w http.ResponseWriter, r *http.Request, right *recorder) {
		w.WriteHeader(right.status)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	r := gradedIn(t, 20*time.Second, s, RunOptions{Start: endless, RequestTimeout: 50 * time.Millisecond, SuiteTimeout: 400 * time.Millisecond, SoloMax: -1})
	wantOutcome(t, r, "failed: suite_time")
	for _, f := range r.Failures {
		if f.Status == StatusError && f.Actual != "no answer: nothing within 0.05 s" && !strings.HasPrefix(f.Actual, "no answer: not sent") {
			t.Errorf("check %s: actual %q", f.ID, f.Actual)
		}
	}
}

// TestFiftyMegabytes has a server whose every answer is 50 MB long. The runner reads a little more than its limit of it.
func TestFiftyMegabytes(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	s = s.Limited(40)
	var sent, answers atomic.Int64
	block := bytes.Repeat([]byte("x"), 64<<10)
	start := wrapped(sc.Steps[0].Schema, func(w http.ResponseWriter, _ *http.Request, right *recorder) {
		answers.Add(1)
		w.WriteHeader(right.status)
		for left := 50 << 20; left > 0; left -= len(block) {
			n, err := w.Write(block)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	r := gradedIn(t, 60*time.Second, s, RunOptions{Start: start, SoloMax: -1})
	wantOutcome(t, r, "failed: checks")
	if !slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.Actual == "no answer: the body is larger than 1 MiB" }) {
		t.Errorf("first failure: %+v", r.Failures[0])
	}
	// What the sockets hold comes on top of what is read.
	if each := sent.Load() / max(1, answers.Load()); each > 16<<20 {
		t.Errorf("%d MB of an answer were taken", each>>20)
	}
}

// TestBadText has a server that answers with broken JSON, with broken UTF-8 inside of JSON, or with both.
func TestBadText(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	for name, spoil := range map[string]func(b []byte) []byte{
		"half a body":    func(b []byte) []byte { return b[:len(b)/2] },
		"invalid UTF-8":  func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`":"`), []byte("\":\"\xff\xc3")) },
		"controls":       func(b []byte) []byte { return append([]byte("\x1b[2J\x00\r\n"), b...) },
		"deep nesting":   func([]byte) []byte { return bytes.Repeat([]byte("["), 20000) },
		"a huge number":  func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"id":`), []byte(`"id":1e400,"x":`)) },
		"a repeated key": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"id":`), []byte(`"id":"7","id":null,"id":`)) },
	} {
		start := wrapped(sc.Steps[0].Schema, func(w http.ResponseWriter, _ *http.Request, right *recorder) {
			w.WriteHeader(right.status)
			if b := right.body.Bytes(); len(b) > 0 {
				_, _ = w.Write(spoil(b))
			}
		})
		r := gradedIn(t, 30*time.Second, s, RunOptions{Start: start, SoloMax: 2})
		if name == "a repeated key" {
			wantOutcome(t, r, "passed: passed") // the last of equal keys counts, as with most readers of JSON
			continue
		}
		wantOutcome(t, r, "failed: checks")
		for _, f := range r.Failures {
			if !utf8.ValidString(f.Actual) || strings.ContainsFunc(f.Actual, func(c rune) bool { return c < ' ' }) || len(f.Actual) > maxLine {
				t.Errorf("%s: actual %q", name, f.Actual)
			}
		}
	}
}

// TestResets has a server that resets the connection in the middle of every fourth answer. What depends on none of
// them passes; since too many answers are missing, a second run is made, and it agrees.
func TestResets(t *testing.T) {
	sc := scenarioOf(t, 2, 0)
	s := suiteOf(t, sc, 0)
	start := serve(func(string, *fakeServer) http.Handler {
		h := oracle.Handler(sc.Steps[0].Schema)
		var n atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/health" || n.Add(1)%4 != 0 {
				h.ServeHTTP(w, r)
				return
			}
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"id\":")
			_ = conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		})
	})
	r := gradedIn(t, 60*time.Second, s, RunOptions{Start: start, Schema: sc.Steps[0].Schema, SoloMax: 2})
	wantOutcome(t, r, "failed: checks")
	if r.Runs != 2 || r.Flaky || len(r.Earlier) != 1 || r.Failed == r.Checks {
		t.Errorf("%d runs, flaky %v, %d of %d checks failed", r.Runs, r.Flaky, r.Failed, r.Checks)
	}
	for _, f := range r.Failures {
		if f.Status == StatusError && !strings.HasPrefix(f.Actual, "no answer: the connection was closed") && !strings.HasPrefix(f.Actual, "no answer: not sent") {
			t.Errorf("check %s: actual %q", f.ID, f.Actual)
		}
	}
}

// TestLeakBetweenWorlds has a service that keeps its rows outside of its data folder: every start finds those of the
// starts before. Lists and figures of what should be an empty store give it away, every time.
func TestLeakBetweenWorlds(t *testing.T) {
	sc := scenarioOf(t, 2, 3)
	schema := sc.Steps[3].Schema
	s := suiteOf(t, sc, 3)
	shared := oracle.Handler(schema)
	start := serve(func(string, *fakeServer) http.Handler { return shared })
	if _, err := Run(context.Background(), s, RunOptions{Start: start, SoloMax: -1}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // now there are rows before the first request
		r := gradedIn(t, 30*time.Second, s, RunOptions{Start: start, Schema: schema, SoloMax: 4})
		wantOutcome(t, r, "failed: checks")
		if r.Flaky || r.Runs != 1 {
			t.Errorf("%d runs, flaky %v", r.Runs, r.Flaky)
		}
		worlds := map[string]bool{}
		for _, f := range r.Failures {
			worlds[f.World] = true
		}
		if !worlds[Seeded] || !worlds[Empty] {
			t.Errorf("checks fail in %v only", worlds)
		}
		for _, e := range schema.Entities {
			c := "k" + strings.TrimPrefix(schema.ClauseOf(scenario.KindList, e.UID).ID, "c") + ".empty"
			if !slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.ID == c }) {
				t.Errorf("check %s passes although there are rows of %s", c, e.Plural)
			}
		}
	}
}

// TestFeedbackCaps fails more checks, with longer answers, than any feedback may tell.
func TestFeedbackCaps(t *testing.T) {
	sc := scenarioOf(t, 2, 6)
	s := suiteOf(t, sc, 6)
	start := wrapped(sc.Steps[6].Schema, func(w http.ResponseWriter, _ *http.Request, _ *recorder) {
		w.WriteHeader(418)
		_, _ = io.WriteString(w, `{"`+strings.Repeat("é\\u0007", 4000)+`":1}`)
	})
	r := gradedIn(t, 60*time.Second, s, RunOptions{Start: start, SoloMax: -1})
	wantOutcome(t, r, "failed: checks")
	for _, level := range []string{"moderate", "detailed"} {
		told := Feedback(level, s, r)
		shown := strings.Count(told.Text, "FAIL ") + strings.Count(told.Text, "ERROR ")
		if shown == 0 || shown > maxToldChecks || len(told.Text) > maxToldBytes || told.Omitted != r.Failed-shown {
			t.Errorf("%s: %d checks in %d bytes, %d omitted of %d", level, shown, len(told.Text), told.Omitted, r.Failed)
		}
		if !strings.Contains(told.Text, fmt.Sprintf("%d more failing checks are not shown", r.Failed-shown)) {
			t.Errorf("%s: the text does not say how many it leaves out", level)
		}
	}
}
