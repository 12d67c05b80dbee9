package episode

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/logs"
)

// Reasons of a void that the loop alone gives.
const (
	voidHost         = harness.VoidHost
	voidProcessRetry = "process_retry"
)

// truthName is the file in an episode's folder that a simulated agent writes what it planted to.
const truthName = "truth"

// startTurn records what is asked in a turn.
func (l *loop) startTurn(turn int) error {
	step := &l.spec.Scenario.Steps[turn]
	enc := []byte(nil)
	if turn < len(l.spec.SuiteBytes) {
		enc = l.spec.SuiteBytes[turn]
	}
	if enc == nil {
		var err error
		if enc, err = l.spec.Suites[turn].Encode(); err != nil {
			return err
		}
	}
	suiteSHA, err := l.blobs.Put(enc)
	if err != nil {
		return err
	}
	changeSHA, err := l.blobs.Put([]byte(step.Request))
	if err != nil {
		return err
	}
	specSHA, err := l.blobs.Put([]byte(step.Spec))
	if err != nil {
		return err
	}
	s := l.spec.Suites[turn]
	d := turnRecord{TurnStart: logs.TurnStart{
		Operation: step.Operation.ID, Name: step.Operation.Name, Label: step.Operation.Label,
		Clauses:   logs.ClauseChanges{Added: clauseRefs(step.Added), Changed: clauseRefs(step.Changed), Removed: append([]string{}, step.Removed...)},
		Suite:     logs.SuiteRef{SHA: suiteSHA, Checks: len(s.Checks), ByAge: s.ByAge()},
		ChangeSHA: changeSHA, SpecSHA: specSHA,
	}}
	if l.state.start.Mode == ModeTeleport && turn > 0 {
		if d.Base, err = l.codeBase(turn - 1); err != nil {
			return err
		}
	}
	if err := l.append(logs.TypeTurnStart, d, false); err != nil {
		return err
	}
	l.report(Event{Kind: EventTurnStart, Text: step.Operation.Title})
	return nil
}

func clauseRefs(clauses []scenario.Clause) []logs.ClauseRef {
	out := make([]logs.ClauseRef, len(clauses))
	for i, c := range clauses {
		out[i] = logs.ClauseRef{ID: c.ID, Kind: string(c.Kind), Title: c.Title, Text: c.Text}
	}
	return out
}

// attempt starts the attempt the state asks for and lets the agent run, unless there have been too many voids
// or the money is gone.
func (l *loop) attempt(ctx context.Context) error {
	s := &l.state
	if s.voids >= MaxVoids {
		return l.end(endOfVoid(s.void.Reason), fmt.Sprintf("%d void attempts, the last one: %s: %s", s.voids, s.void.Reason, s.void.Evidence))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.spec.Hold != nil {
		if err := l.spec.Hold(); err != nil {
			return err
		}
	}
	if err := l.budget.Charge(logs.Usage{}); err != nil {
		var refused *gateway.BudgetError
		if errors.As(err, &refused) && refused.Scope == gateway.ScopeEpisode {
			return l.end(EndBudget, err.Error())
		}
		return fmt.Errorf("no new attempt is started: %w", err)
	}
	prompt, err := l.prepare()
	if err != nil {
		return err
	}
	sha, err := l.blobs.Put([]byte(prompt))
	if err != nil {
		return err
	}
	token := newToken()
	if err := l.box.mark(token); err != nil {
		return err
	}
	start := startRecord{AttemptStart: logs.AttemptStart{Kind: s.kind, PromptSHA: sha, PromptTokens: estimateTokens(prompt)}, Work: token}
	if err := l.append(logs.TypeAttemptStart, start, true); err != nil {
		return err
	}
	l.report(Event{Kind: EventAttempt, Text: s.kind})
	return l.runAgent(ctx, prompt)
}

func newToken() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// prepare puts workspace and HOME into the state before the attempt and renders its prompt.
func (l *loop) prepare() (string, error) {
	s := &l.state
	if err := l.box.restore(l.blobs, s.base); err != nil {
		return "", err
	}
	in := promptInput{step: &l.spec.Scenario.Steps[s.turn], attempt: s.attempt, delivery: s.start.Delivery, toolchain: l.spec.Sandbox.SpecSentence(),
		alone: s.start.Mode == ModeTeleport, anew: !s.kept}
	if text := in.file(); text != "" && in.anew {
		if err := l.box.writeSpec(text); err != nil {
			return "", err
		}
	}
	if s.attempt == 0 {
		return in.prompt(), nil
	}
	told, err := l.feedback(s.told)
	if err != nil {
		return "", err
	}
	in.told = &told
	return in.prompt(), nil
}

// runAgent lets the agent answer and records how it ended.
func (l *loop) runAgent(ctx context.Context, prompt string) error {
	s := &l.state
	var refused refusals
	req := harness.Request{
		Episode: l.spec.ID, Turn: s.turn, Attempt: s.attempt, Try: s.try, Kind: s.kind, Prompt: prompt,
		Feedback: s.start.Feedback, Session: s.start.Session, Workspace: l.box.workspace, Home: l.box.home, Seed: s.start.Seed,
		Wall: l.spec.Wall, Tokens: l.spec.Tokens, Requests: l.spec.Requests, Sandbox: l.spec.Sandbox, Blobs: l.blobs,
		Spent:    refused.watch(l.budget.Charge),
		Progress: func(text string) { l.report(Event{Kind: EventAttempt, Text: text}) },
	}
	if l.spec.knowsTruth() {
		req.Scenario, req.Truth = l.spec.Scenario, filepath.Join(l.spec.Dir, truthName)
	}
	began := time.Now()
	res, err := l.spec.Agent.Run(ctx, req)
	took := time.Since(began).Seconds()
	l.way, l.note = res.Way, res.Note
	if err != nil {
		return l.agentNotRun(ctx, err)
	}
	exit := exitRecord{AgentExit: logs.AgentExit{Exit: res.Exit, Signal: res.Signal, By: res.By, Limit: res.Limit, Completion: res.Completion,
		Detail: res.Detail, AgentS: took, ToolCalls: res.ToolCalls, Log: res.Log},
		Void: res.Void, VoidEvidence: res.VoidEvidence, SessionDamaged: res.SessionDamaged, Usage: res.Usage, Reported: res.Reported}
	if res.Gateway.Blob != "" {
		exit.Gateway = &res.Gateway
	}
	switch scope := refused.scope(); {
	case ctx.Err() != nil && (res.By == harness.ByStint || res.Void != ""):
		// First in the list of what ends an attempt: whatever else went wrong while stint was leaving does not count.
		exit.By, exit.Void, exit.VoidEvidence = harness.ByStint, harness.VoidOperator, interruption(ctx)
	case res.Void == harness.VoidBudget:
		exit.VoidScope = gateway.ScopeEpisode
		if scope == gateway.ScopeStudy {
			exit.VoidScope = scope
		}
	}
	if err := l.append(logs.TypeAgentExit, exit, true); err != nil {
		return err
	}
	if exit.Void == harness.VoidOperator {
		return l.leave(ctx)
	}
	return nil
}

// leave records the attempt that the operator cut, and ends the loop.
func (l *loop) leave(ctx context.Context) error {
	if err := l.append(logs.TypeUsage, l.state.exit.Usage, false); err != nil {
		return err
	}
	if err := l.voidAttempt(harness.VoidOperator, l.state.exit.VoidEvidence); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return context.Canceled // the agent says so: an operator cancelled it alone
}

// agentNotRun voids an attempt that failed on our side, unless nothing can be written any more.
func (l *loop) agentNotRun(ctx context.Context, err error) error {
	if diskFull(err) {
		return err
	}
	if err := l.append(logs.TypeUsage, logs.Usage{Via: l.via()}, false); err != nil {
		return err
	}
	if ctx.Err() != nil {
		if err := l.voidAttempt(harness.VoidOperator, interruption(ctx)); err != nil {
			return err
		}
		return ctx.Err()
	}
	reason := voidHost
	var spawn *sandbox.SpawnError
	if errors.As(err, &spawn) {
		reason, l.way = harness.VoidSandbox, spawn.Hint()
	}
	if err := l.voidAttempt(reason, oneLine(err.Error())); err != nil {
		return err
	}
	return l.pause(ctx)
}

// settle decides by the closed list whether the attempt happened; if it did, workspace and HOME are kept.
func (l *loop) settle(ctx context.Context) error {
	e := l.state.exit
	switch e.Void {
	case "":
		return l.keep()
	case harness.VoidOperator:
		return l.leave(ctx)
	}
	if err := l.voidAttempt(e.Void, e.VoidEvidence); err != nil {
		return err
	}
	if e.Void == harness.VoidBudget {
		if e.VoidScope == gateway.ScopeStudy {
			return fmt.Errorf("no new attempt is started: %w", l.studySpent(e.VoidEvidence))
		}
		return l.end(EndBudget, e.VoidEvidence)
	}
	return l.pause(ctx)
}

// studySpent is the refusal of the study's budget; after a resume only its text is known.
func (l *loop) studySpent(evidence string) error {
	if l.spec.Spent != nil {
		if err := l.spec.Spent(logs.Usage{}); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", evidence, &gateway.BudgetError{Scope: gateway.ScopeStudy, What: gateway.WhatUSD})
}

// voidAttempt records that the attempt did not happen. What it left is given up.
func (l *loop) voidAttempt(reason, evidence string) error {
	if err := l.append(logs.TypeVoid, logs.Void{Reason: reason, Evidence: evidence}, reason == harness.VoidOperator); err != nil {
		return err
	}
	l.box.known = false
	l.report(Event{Kind: EventVoid, Text: reason, Why: evidence, Way: l.wayOut()})
	return nil
}

// pause waits before an attempt is started again.
func (l *loop) pause(ctx context.Context) error {
	n := l.state.voids
	if n == 0 || n >= MaxVoids {
		return nil
	}
	d := l.spec.VoidWait(n)
	if d <= 0 {
		return nil
	}
	l.report(Event{Kind: EventWait, Text: fmt.Sprintf("%s, again in %s", l.state.void.Reason, d)})
	return sleep(ctx, d)
}

// endOfVoid is the end of an episode after too many voids, by the reason of the last one.
func endOfVoid(reason string) string {
	switch reason {
	case harness.VoidRateLimit, harness.VoidProviderError:
		return EndProvider
	case harness.VoidSetup:
		return EndBench
	}
	return EndHost
}

// keep takes the snapshot of workspace and HOME. A workspace over the limits fails the attempt; a HOME over
// them is not kept, and the next attempt starts with an empty one, whether the episode is interrupted or not.
func (l *loop) keep() error {
	if err := l.box.mend(); err != nil {
		return err
	}
	opt := l.spec.Snapshot
	opt.Cache = &l.box.workspaceCache
	snap, err := logs.TakeSnapshot(l.blobs, l.box.workspace, opt)
	var large *logs.TooLargeError
	if errors.As(err, &large) {
		l.box.known = false
		return l.recordGrade(tooLarge(l.suite(), large, l.box.workspace), 0)
	}
	if err != nil {
		return err
	}
	d := logs.SnapshotTaken{Tree: snap.Tree, Files: snap.Files, Bytes: snap.Bytes}
	opt.Cache = &l.box.homeCache
	home, err := logs.TakeSnapshot(l.blobs, l.box.home, opt)
	if err != nil && !errors.As(err, &large) {
		return err
	}
	d.HomeSHA = home.Tree
	// The simulated agent's files are data of the simulation, not code: neither lines nor changes are counted.
	if !l.spec.knowsTruth() {
		if err := l.count(&d, snap.LOC); err != nil {
			return err
		}
	}
	if err := l.append(logs.TypeSnapshot, d, true); err != nil {
		return err
	}
	l.box.at, l.box.known = *l.state.pending, home.Tree != ""
	return nil
}

// via is where the agent's usage comes from.
func (l *loop) via() string {
	if l.spec.knowsTruth() {
		return logs.ViaReader
	}
	return logs.ViaGateway
}
