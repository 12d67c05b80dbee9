package episode

import (
	"fmt"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// why says in one line why the last attempt of a turn failed: how the agent ended unless it ended well, what the
// grader saw, and what else was seen. Of an agent that plants faults only the grader tells.
func (l *loop) why() string {
	s := &l.state
	seen := gradeWords(s.grade, len(s.fails), len(l.suite().Checks))
	if l.spec.knowsTruth() {
		return seen
	}
	if e := s.exit; e != nil && e.Completion != harness.CompletionClean {
		ended := e.Detail
		if ended == "" {
			ended = completionWords(e.Completion)
		}
		seen = ended + "; " + seen
	}
	if l.note != "" {
		seen += "; " + l.note
	}
	return oneLine(seen)
}

func completionWords(completion string) string {
	switch completion {
	case harness.CompletionEmpty:
		return "the agent ended without a tool call and without an edit"
	case harness.CompletionNeverStarted:
		return "the agent never started"
	}
	return "the agent was cut"
}

// gradeWords says what a grading saw.
func gradeWords(g gradeRecord, failed, checks int) string {
	words := ""
	switch g.Reason {
	case suite.ReasonChecks:
		return fmt.Sprintf("%d of %d checks failed", failed, checks)
	case suite.ReasonStart:
		words = "the server did not start"
	case suite.ReasonCrash:
		words = "the server crashed"
	case suite.ReasonSuiteTime:
		words = "the server was too slow for the suite"
	case reasonBuild:
		words = "build.sh failed"
	default:
		words = strings.ReplaceAll(g.Reason, "_", " ")
	}
	if g.Detail != "" {
		words += ": " + g.Detail
	}
	return oneLine(words)
}

// wayOut says what a user can do about the end of the last attempt, "" where nothing is known.
func (l *loop) wayOut() string {
	e := l.state.exit
	switch {
	case l.spec.knowsTruth():
		return ""
	case e == nil || l.way != "":
		return l.way
	case e.Void == harness.VoidBudget:
		return wayOfBudget(e.VoidScope)
	case e.Limit == gateway.WhatTokens || e.Limit == gateway.WhatRequests || e.Limit == "wall":
		return fmt.Sprintf("budgets: {attempt: {%s: …}} in the study sets this limit", e.Limit)
	case e.Limit != "":
		return fmt.Sprintf("sandbox: {limits: {%s: …}} in the study sets this limit", e.Limit)
	}
	return ""
}

// wayOfBudget is the way out where no money is left.
func wayOfBudget(scope string) string {
	return fmt.Sprintf("budgets: {%s: {usd: …}} in the study sets this limit; it may be raised, and the same command goes on", scope)
}

// endEvent tells of the end of the episode.
func (l *loop) endEvent() Event {
	end := l.state.end
	e := Event{Kind: EventEnd, Text: end.EndReason, Why: end.Evidence}
	if end.EndReason == EndBudget {
		e.Way = wayOfBudget(gateway.ScopeEpisode) + " with --retry stopped"
	}
	return e
}
