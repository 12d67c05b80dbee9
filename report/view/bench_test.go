package view

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stint-bench/stint/logs"
	"github.com/stint-bench/stint/report"
)

// manyEvents writes tables of one attempt of 100,000 events: calls of tools with what they gave.
func manyEvents(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	t := madeStudy()
	e := t.Episodes[0].Episode
	at := time.Date(2026, 1, 31, 14, 0, 0, 0, time.UTC)
	text := strings.Repeat("some output of a tool that is not short ", 12)
	for i := range 100_000 {
		r := logs.EventRow{Episode: e, Turn: 1, Attempt: ptr(0), Seq: i, Via: logs.ViaReader, Actor: "model", Channel: logs.ChannelModel, Kind: logs.EventToolCall, Tool: ptr("bash"),
			CallID: ptr(fmt.Sprint("call", i/2)), Text: fmt.Sprintf(`{"command":"step %d"}`, i), Time: ptr(at.Add(time.Duration(i) * time.Second)),
			Place: logs.Place{File: "session.jsonl", Offset: int64(i) * 500, Length: 500}, SHA256: fmt.Sprintf("%064x", i)}
		if i%2 == 1 {
			r.Actor, r.Channel, r.Kind, r.Text, r.ExitCode = "tool", logs.ChannelTool, logs.EventToolResult, fmt.Sprint(text, i), ptr(0)
		}
		t.Events = append(t.Events, r)
	}
	if err := logs.WriteTables(dir, t); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// BenchmarkTranscript makes pages of a transcript of 100,000 events: the first one that is asked for, and others.
func BenchmarkTranscript(b *testing.B) {
	dir := manyEvents(b)
	const host = "127.0.0.1:1"
	open := func() *Server {
		s, err := New(Options{Dir: dir, Token: token, Hosts: []string{host}})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	ask := func(s *Server, rest string) string {
		r := httptest.NewRequest("GET", "/"+filepath.Base(dir)+"/e/aaaaaaaaaaaa"+rest, nil)
		r.Host = host
		w := httptest.NewRecorder()
		q := &request{W: w, R: r}
		if err := s.answer(q); err != nil {
			b.Fatal(report.Clean(err.Error()))
		}
		return w.Body.String()
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			ask(open(), "/t/1/a/0/transcript")
		}
	})
	b.Run("next", func(b *testing.B) {
		s, i := open(), 0
		for b.Loop() {
			i += 2002
			ask(s, fmt.Sprintf("/t/1/a/0/transcript?from=%d", i%100_000))
		}
	})
	b.Run("search", func(b *testing.B) {
		s := open()
		for b.Loop() {
			ask(s, "/search?q=nowhere")
		}
	})
}
