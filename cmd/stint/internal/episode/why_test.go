package episode

import (
	"strings"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
)

// TestWhy: who watches a run reads why an attempt does not count or a turn failed, and what can be done.
func TestWhy(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   act
		kind string
		why  string
		way  string
	}{
		{"checks", act{fail: true}, EventTurnEnd, " checks failed", ""},
		{"cut by its tokens", act{fail: true, completion: harness.CompletionCut, limit: gateway.WhatTokens}, EventTurnEnd, "the agent was cut; ", "budgets: {attempt: {tokens: …}}"},
		{"ended with nothing", act{fail: true, completion: harness.CompletionEmpty}, EventTurnEnd, "without a tool call and without an edit; ", ""},
		{"void", act{void: harness.VoidRateLimit}, EventVoid, "", ""},
		{"no money", act{spend: 100}, EventEnd, "", "budgets: {episode: {usd: …}}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scriptedSpec(t, func(r harness.Request) act {
				if r.Turn == 1 && (tt.kind != EventVoid || r.Try == 0) {
					return tt.do
				}
				return act{}
			})
			s.EpisodeUSD = 50
			var seen []Event
			s.Progress = func(e Event) {
				if e.Kind == tt.kind && (e.Why != "" || e.Way != "") {
					seen = append(seen, e)
				}
			}
			mustRun(t, s)
			if len(seen) == 0 {
				t.Fatal("nothing was said")
			}
			if strings.HasPrefix(seen[0].Why, "0 of ") || strings.Contains(seen[0].Why, " 0 of ") {
				t.Errorf("a failed turn without a failed check: %q", seen[0].Why)
			}
			if e := seen[0]; !strings.Contains(e.Why, tt.why) || !strings.Contains(e.Way, tt.way) || tt.way == "" && e.Way != "" || e.Why == "" && tt.kind != EventEnd {
				t.Errorf("why %q, way %q", e.Why, e.Way)
			}
		})
	}
}
