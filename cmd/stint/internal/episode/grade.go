package episode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/cmd/stint/internal/suite"
	"github.com/stint-bench/stint/logs"
)

// scratchInside is where the grader's scratch folder is inside a sandbox.
const scratchInside = "/scratch"

// gradeAttempt grades the snapshot that was taken and records what came of it.
func (l *loop) gradeAttempt(ctx context.Context) error {
	if n := l.state.nulls; n > 0 {
		if d := l.spec.VoidWait(n); d > 0 {
			l.report(Event{Kind: EventWait, Text: fmt.Sprintf("grading again in %s", d)})
			if err := sleep(ctx, d); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.report(Event{Kind: EventGrading})
	began := time.Now()
	res, err := l.grade(ctx, *l.state.pending)
	if err := errors.Join(ctx.Err(), removeAll(l.box.grading())); err != nil {
		return err // nothing is recorded: the snapshot is graded when the episode goes on
	}
	if diskFull(err) {
		return err
	}
	if err != nil {
		res = graderFailed(l.suite(), err)
	}
	return l.recordGrade(res, time.Since(began))
}

// graderFailed is the grade when the grader itself failed. A sandbox that cannot be started is the host's fault.
func graderFailed(s *suite.Suite, err error) *GradeResult {
	res := &GradeResult{Fault: faultBench, Result: &suite.Result{Reason: suite.ReasonGrader, Detail: oneLine(err.Error()), Checks: len(s.Checks)}}
	var spawn *sandbox.SpawnError
	if errors.As(err, &spawn) {
		res.Fault = faultHost
	}
	return res
}

// grade grades a snapshot: in this process when there is no sandbox, else in a clean one.
func (l *loop) grade(ctx context.Context, snap snapshot) (*GradeResult, error) {
	req := GradeRequest{Suite: l.suite(), Schema: l.spec.Scenario.Steps[l.state.turn].Schema, MaxChecks: l.spec.MaxChecks,
		ReadyTimeout: l.spec.ReadyTimeout, Limits: l.spec.ServerLimits}
	req.Checkout, req.Scratch = filepath.Join(l.box.grading(), "checkout"), filepath.Join(l.box.grading(), "scratch")
	if err := restoreTree(l.blobs, snap.tree, req.Checkout); err != nil {
		return nil, err
	}
	if l.spec.Ungraded {
		return l.planted(req)
	}
	if local, ok := l.spec.Agent.(harness.InProcess); ok && local.InProcess() {
		fresh, broken, err := local.Handler(req.Checkout)
		if err != nil {
			return nil, err
		}
		if broken != "" {
			return &GradeResult{Result: notGraded(req.Suite, reasonStart, broken)}, nil
		}
		return gradeHandler(ctx, req, fresh)
	}
	if l.spec.knowsTruth() {
		req.Stint = l.spec.Sandbox.StintPath()
	}
	if l.spec.Sandbox.Kind() == sandbox.KindNone {
		g := &grader{req: req, box: l.spec.Sandbox, env: l.spec.Sandbox.Environ()}
		g.checkout = func(dir string) error { return restoreTree(l.blobs, snap.tree, dir) }
		return g.grade(ctx)
	}
	return l.gradeInSandbox(ctx, req)
}

// planted takes for a grade what the agent itself has planted.
func (l *loop) planted(req GradeRequest) (*GradeResult, error) {
	agent, ok := l.spec.Agent.(harness.SelfGraded)
	if !ok {
		return nil, fmt.Errorf("the agent %s cannot do without grading", l.spec.Agent.Name())
	}
	wrong, err := agent.Planted(req.Checkout, l.state.turn)
	if err != nil {
		return nil, err
	}
	if wrong != "" {
		return &GradeResult{Result: notGraded(req.Suite, suite.ReasonChecks, "not graded: "+wrong)}, nil
	}
	passed := true
	return &GradeResult{Result: &suite.Result{Passed: &passed, Reason: suite.ReasonPassed, Detail: "not graded: nothing is planted", Checks: len(req.Suite.Checks)}}, nil
}

// gradeInSandbox runs stint itself inside a clean sandbox; the suite goes in over stdin and the result comes
// out over stdout.
func (l *loop) gradeInSandbox(ctx context.Context, req GradeRequest) (*GradeResult, error) {
	checkout, scratch := req.Checkout, req.Scratch
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return nil, fmt.Errorf("creating the grader's scratch folder: %w", err)
	}
	req.Checkout, req.Scratch = l.spec.Sandbox.WorkspacePath(checkout), scratchInside
	in, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encoding the grader's request: %w", err)
	}
	exit, err := l.spec.Sandbox.Run(ctx, sandbox.Command{
		Role: sandbox.Grade, Argv: []string{l.spec.Sandbox.StintPath(), "__grade"}, Workspace: checkout,
		Binds: []sandbox.Bind{{Host: scratch, Inside: scratchInside, Writable: true}},
		Stdin: bytes.NewReader(in), MaxOutput: maxAnswer, Timeout: gradeTimeout, Own: l.spec.knowsTruth(),
	})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if exit.By == "limit" && exit.Limit != "wall" {
		// The grader itself needs little: what runs in it took the rest.
		return &GradeResult{Result: notGraded(req.Suite, reasonStart, "the servers passed the limit on "+exit.Limit+" of the sandbox they are graded in")}, nil
	}
	if exit.Code == nil || *exit.Code != 0 || exit.Truncated {
		return nil, fmt.Errorf("the grader ended badly (%s): %s", exitWord(exit), lastLine(exit.Stderr))
	}
	var res GradeResult
	if err := json.Unmarshal(exit.Stdout, &res); err != nil {
		return nil, fmt.Errorf("decoding the grader's result: %w", err)
	}
	if res.Result == nil {
		return nil, errors.New("the grader left no result")
	}
	return &res, nil
}

func exitWord(e sandbox.Exit) string {
	switch {
	case e.By != "self":
		return strings.TrimSpace(e.By + " " + e.Limit)
	case e.Code != nil:
		return fmt.Sprintf("exit code %d", *e.Code)
	}
	return e.Signal
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return oneLine(lines[len(lines)-1])
}

// recordGrade stores the result and writes the records of a grading. The same blob is named by every check.fail
// and by grade.end: the exchanges of a check are in it under result.failures.
func (l *loop) recordGrade(res *GradeResult, took time.Duration) error {
	r := res.Result
	sha, err := l.putJSON(res)
	if err != nil {
		return err
	}
	l.results = map[string]*GradeResult{sha: res}
	if err := l.recordServers(res); err != nil {
		return err
	}
	if res.graded() {
		for i := range r.Failures {
			if err := l.append(logs.TypeCheckFail, l.checkFail(&r.Failures[i], sha), false); err != nil {
				return err
			}
		}
		end := logs.SuiteEnd{Checks: r.Checks, Failed: r.Failed, Requests: r.Requests, MS: r.MS, Runs: r.Runs, Flaky: r.Flaky}
		if err := l.append(logs.TypeSuiteEnd, end, false); err != nil {
			return err
		}
	}
	g := gradeRecord{GradeEnd: logs.GradeEnd{Passed: r.Passed, Reason: r.Reason, GradeS: took.Seconds(), Result: sha}, Detail: r.Detail, Fault: res.Fault}
	if err := l.append(logs.TypeGradeEnd, g, true); err != nil {
		return err
	}
	l.report(Event{Kind: EventGraded, Passed: r.Passed != nil && *r.Passed, Text: r.Reason})
	return nil
}

// graded says whether a suite was run at all.
func (r *GradeResult) graded() bool { return r.Result.Runs > 0 }

// recordServers writes build and server records.
func (l *loop) recordServers(res *GradeResult) error {
	if b := res.Build; b != nil {
		sha, err := l.blobs.Put([]byte(b.Log))
		if err != nil {
			return err
		}
		if err := l.append(logs.TypeBuild, logs.Build{MS: b.MS, Exit: b.Exit, LogBlob: sha}, false); err != nil {
			return err
		}
	}
	for _, e := range res.Result.Servers {
		if e.Kind == "ready" {
			if err := l.append(logs.TypeServerReady, logs.ServerReady{World: e.World, MS: e.MS, KeepAlive: e.KeepAlive}, false); err != nil {
				return err
			}
			continue
		}
		d := logs.ServerExit{World: e.World, MS: e.MS, Reason: e.Reason}
		if e.End != nil {
			sha, err := l.blobs.Put([]byte(e.End.Log))
			if err != nil {
				return err
			}
			d.Exit, d.Signal, d.LogBlob = e.End.Exit, e.End.Signal, sha
		}
		if err := l.append(logs.TypeServerExit, d, false); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) checkFail(f *suite.Failure, blob string) logs.CheckFail {
	return logs.CheckFail{Check: f.ID, Title: f.Title, Clauses: f.Clauses, Category: f.Category, Intent: f.Intent, Mutation: f.Mutation,
		Introduced: f.Introduced, Age: f.Age, LastPassed: l.state.lastPassed(f.ID, l.state.turn, l.inSuite),
		Request: f.Request, Expected: f.Expected, Actual: f.Actual, Confirmed: f.Confirmed, Status: f.Status, Blob: blob}
}
