package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// chatAnswer is a whole answer of a chat model.
func chatAnswer(content, finish string) string {
	b, err := json.Marshal(map[string]any{"id": "x", "object": "chat.completion", "model": "tiny-2026",
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": map[string]any{"role": "assistant", "content": content}}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

const goodChoice = `{"choice":"o1","rename":null,"title":"a change","reason":"it was asked for"}`

// badServer answers each request of a sampler in another wrong way, and rightly when these are used up.
func badServer(t *testing.T, asked *atomic.Int64) *httptest.Server {
	t.Helper()
	ways := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { fmt.Fprint(w, chatAnswer("Sure! I choose o1.", "stop")) },
		func(w http.ResponseWriter) { fmt.Fprint(w, chatAnswer(goodChoice[:30], "length")) },
		func(w http.ResponseWriter) {
			fmt.Fprint(w, chatAnswer(strings.Replace(goodChoice, "o1", "o77", 1), "stop"))
		},
		func(w http.ResponseWriter) { fmt.Fprint(w, chatAnswer("", "stop")) },
		func(w http.ResponseWriter) {
			fmt.Fprint(w, chatAnswer(strings.Replace(goodChoice, "null", `{"name":"../../etc"}`, 1), "stop"))
		},
		func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"id":"x","object":"chat.completion","model":"tiny-2026","choices":[]}`)
		},
		func(w http.ResponseWriter) { fmt.Fprint(w, chatAnswer(strings.Repeat("x", 1<<20), "stop")) },
		func(w http.ResponseWriter) { fmt.Fprint(w, chatAnswer(goodChoice, "stop")) },
		func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"message":"slow down"}}`)
		},
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "9999")
			fmt.Fprint(w, chatAnswer(goodChoice, "stop")[:50])
		},
		func(w http.ResponseWriter) { fmt.Fprint(w, chatAnswer("\x1b[2J"+goodChoice, "stop")) },
		func(w http.ResponseWriter) { fmt.Fprint(w, chatAnswer("["+goodChoice+"]", "stop")) },
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"json_schema"`) || r.Header.Get("Authorization") != "Bearer sk-secret-7" {
			t.Errorf("request without schema or key: %v %s", err, body)
		}
		w.Header().Set("Content-Type", "application/json")
		if n := int(asked.Add(1)) - 1; n < len(ways) {
			ways[n](w)
			return
		}
		fmt.Fprint(w, chatAnswer(goodChoice, "stop"))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestModelChooses lets a server that misbehaves in every way choose a set: what is no choice is logged, the rest is a
// scenario like any other.
func TestModelChooses(t *testing.T) {
	t.Setenv("STINT_TEST_CHOOSER_KEY", "sk-secret-7")
	dir := t.TempDir()
	var asked atomic.Int64
	srv := badServer(t, &asked)
	args := []string{"scenario", "new", "--seed", "5", "--changes", "4", "--count", "1", "-o", "set", "--sampler", "llm", "--base-url", srv.URL + "/v1",
		"--model", "tiny", "--key-env", "STINT_TEST_CHOOSER_KEY", "--temperature", "0", "--provider-wait", "30s"}
	_, errOut := stint(t, dir, 0, args...)
	if !strings.Contains(errOut, "s01: 3 of 4 turns chosen by tiny, 1 left to the rules") {
		t.Errorf("stderr: %s", errOut)
	}
	f, err := suite.ReadFile(filepath.Join(dir, "set", "s01.json"))
	if err != nil {
		t.Fatal(err)
	}
	if c := f.Chosen; c == nil || c.Rules != 1 || c.Rejected < 8 || c.Asked != c.Rejected+3 || len(c.Returned) != 1 || c.Returned[0] != "tiny-2026" || f.Sampler != "llm" ||
		c.Temperature == nil || *c.Temperature != 0 {
		t.Errorf("chosen %+v", f.Chosen)
	}
	transcript, err := os.ReadFile(filepath.Join(dir, "set", "transcripts", "s01.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(transcript), "\n"); n != f.Chosen.Asked+1 {
		t.Errorf("%d lines of transcript for %d requests", n, f.Chosen.Asked)
	}
	if strings.Contains(string(transcript), "sk-secret") || strings.Contains(errOut, "sk-secret") {
		t.Error("the key is written down")
	}
	before := asked.Load()
	srv.Close() // the model is not needed any more
	stint(t, dir, 0, "scenario", "check", "set", "-q")
	if out, _ := stint(t, dir, 0, "scenario", "show", "set", "1"); !strings.Contains(out, "chosen by tiny: ") || !strings.Contains(out, "a change") {
		t.Errorf("show: %s", out)
	}
	stint(t, dir, 0, args...)
	if asked.Load() != before {
		t.Error("a finished scenario is chosen again")
	}
}

// TestModelLost goes on with the transcript when a model came back, and refuses what cannot be asked.
func TestModelLost(t *testing.T) {
	dir := t.TempDir()
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 3 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, chatAnswer(goodChoice, "stop"))
	}))
	defer srv.Close()
	args := []string{"scenario", "new", "--seed", "5", "--changes", "4", "--count", "1", "-o", "set", "--sampler", "llm", "--base-url", srv.URL, "--model", "tiny"}
	if _, errOut := stint(t, dir, 1, args...); !strings.Contains(errOut, "choosing turn 3 of scenario s01") || !strings.Contains(errOut, "HTTP 401") {
		t.Errorf("stderr: %s", errOut)
	}
	stint(t, dir, 0, args...)
	if asked.Load() != 5 { // two, the refusal, and the two that were left
		t.Errorf("%d requests", asked.Load())
	}
	for _, bad := range [][]string{{"--sampler", "llm"}, {"--sampler", "llm", "--model", "m"}, {"--model", "m"}, {"--sampler", "llm", "--model", "m", "--base-url", "ftp://x"},
		{"--sampler", "llm", "--model", "m", "--base-url", srv.URL, "--key-env", "STINT_TEST_NO_SUCH_KEY"}} {
		stint(t, dir, 2, append([]string{"scenario", "new", "-o", "other"}, bad...)...)
	}
}

// TestRealModelChooses lets a real small model, served on loopback, choose two changes. Whatever it says, the set is accepted.
func TestRealModelChooses(t *testing.T) {
	url := require(t, "STINT_TEST_MODEL_URL", "a local model")
	dir := t.TempDir()
	_, errOut := stint(t, dir, 0, "scenario", "new", "--seed", "2", "--changes", "2", "--count", "1", "-o", "set", "--sampler", "llm", "--base-url", url,
		"--model", "smollm2-135m", "--max-output", "200", "--temperature", "0")
	stint(t, dir, 0, "scenario", "check", "set", "-q")
	f, err := suite.ReadFile(filepath.Join(dir, "set", "s01.json"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Chosen == nil || f.Chosen.Asked < 2 || len(f.Chosen.Returned) != 1 {
		t.Errorf("chosen %+v", f.Chosen)
	}
	t.Log(errOut)
}
