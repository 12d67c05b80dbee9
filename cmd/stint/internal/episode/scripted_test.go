package episode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/logs"
)

// act is what a scripted agent does in one attempt. The zero value answers well.
type act struct {
	fail       bool   // the server lacks an endpoint
	regress    bool   // the server lists rows in the wrong order: breaks an old clause
	nothing    bool   // the workspace is left as it was
	completion string // "" = clean
	limit      string
	void       string
	err        error                     // our own fault
	do         func(r harness.Request)   // before anything else
	spend      float64                   // asks the budgets and spends this
	handlerErr error                     // grading fails on our side
	until      func(ctx context.Context) // blocks; then the attempt was cut by stint if ctx has ended
}

// scripted is an agent that follows a script; its server is graded in this process.
type scripted struct {
	local  harness.InProcess // a simulated agent: reads schema.json and faults.json
	played *played
	script func(r harness.Request) act

	mu         sync.Mutex
	requests   []harness.Request
	handlerErr error
}

func newScripted(t testing.TB, p *played, script func(r harness.Request) act) *scripted {
	t.Helper()
	sim, err := harness.NewSimulated(harness.SimOptions{Preset: "strong", Transport: harness.TransportInproc})
	if err != nil {
		t.Fatal(err)
	}
	return &scripted{local: sim.(harness.InProcess), played: p, script: script}
}

func (*scripted) InProcess() bool { return true }
func (*scripted) Name() string    { return "scripted" }
func (*scripted) Version() string { return "1" }

func (a *scripted) Handler(dir string) (func() http.Handler, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.handlerErr != nil {
		return nil, "", a.handlerErr
	}
	return a.local.Handler(dir)
}

func (a *scripted) Run(ctx context.Context, r harness.Request) (harness.Result, error) {
	do := a.script(r)
	a.mu.Lock()
	a.requests = append(a.requests, r)
	a.handlerErr = do.handlerErr
	a.mu.Unlock()
	if do.do != nil {
		do.do(r)
	}
	if do.err != nil {
		return harness.Result{}, do.err
	}
	if do.until != nil {
		do.until(ctx)
	}
	one, two := int64(1000), int64(50)
	res := harness.Result{By: harness.BySelf, Completion: harness.CompletionClean, Edited: true, ToolCalls: 3,
		Usage: logs.Usage{Via: "reader", ModelReturned: "script", In: &one, Cached: new(int64), CacheWrite: new(int64), Out: &two, Requests: &two}}
	if ctx.Err() != nil {
		res.By, res.Completion = harness.ByStint, harness.CompletionCut
		return res, nil
	}
	if r.Spent != nil && do.spend > 0 {
		if err := r.Spent(logs.Usage{}); err != nil {
			res.Void, res.VoidEvidence, res.Completion = harness.VoidBudget, err.Error(), harness.CompletionCut
			return res, nil
		}
		usd := do.spend
		res.Usage.USD = &usd
		_ = r.Spent(res.Usage)
	}
	code := 0
	if do.completion != "" {
		res.Completion, code = do.completion, 1
	}
	if do.limit != "" {
		res.By, res.Limit = harness.ByLimit, do.limit
	}
	res.Exit = &code
	if do.void != "" {
		res.Void, res.VoidEvidence, res.Completion = do.void, "the provider said no", harness.CompletionCut
	}
	if !do.nothing {
		if err := a.write(r, do); err != nil {
			return harness.Result{}, err
		}
	}
	var err error
	res.Log = logs.LogRef{Reader: "scripted"}
	res.Log.Blob, err = r.Blobs.Put([]byte(fmt.Sprintf("turn %d attempt %d\n", r.Turn, r.Attempt)))
	return res, err
}

// write writes the server of the turn, with the script's faults, and something into HOME.
func (a *scripted) write(r harness.Request, do act) error {
	schema := a.played.scenario.Steps[r.Turn].Schema
	b, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	faults := []string{}
	uid := schema.Entities[0].UID
	if do.fail {
		faults = append(faults, fmt.Sprintf(`{"kind":"endpoint_missing","subject":%q,"param":"POST"}`, uid))
	}
	if do.regress {
		faults = append(faults, fmt.Sprintf(`{"kind":"list_reversed","subject":%q}`, uid))
	}
	state := fmt.Sprintf(`{"turn":%d,"faults":[%s]}`, r.Turn, strings.Join(faults, ","))
	memory, _ := os.ReadFile(filepath.Join(r.Home, "memory"))
	return errors.Join(os.WriteFile(filepath.Join(r.Workspace, "schema.json"), b, 0o644),
		os.WriteFile(filepath.Join(r.Workspace, "faults.json"), []byte(state), 0o644),
		os.WriteFile(filepath.Join(r.Workspace, "start.sh"), []byte("#!/bin/sh\n"), 0o755),
		os.WriteFile(filepath.Join(r.Home, "memory"), fmt.Appendf(memory, "%d.%d\n", r.Turn, r.Attempt), 0o644))
}

// at is the script of one act at one attempt, all others answering well.
func at(turn, attempt int, do act) func(harness.Request) act {
	return func(r harness.Request) act {
		if r.Turn == turn && r.Attempt == attempt {
			return do
		}
		return act{}
	}
}

// kinds lists the record types of an episode's journal, with what matters of their data.
func kinds(t testing.TB, s Spec) []string {
	t.Helper()
	records, _, err := logs.ReadJournal(filepath.Join(s.Dir, logs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		text := r.Type
		if r.Turn != nil {
			text += fmt.Sprintf(" %d", *r.Turn)
		}
		if r.Attempt != nil {
			text += fmt.Sprintf(".%d", *r.Attempt)
		}
		var d struct {
			Kind, Reason, EndReason string
			Passed                  *bool
			EndReasonJSON           string `json:"end_reason"`
		}
		if err := json.Unmarshal(r.Data, &d); err != nil {
			t.Fatal(err)
		}
		switch r.Type {
		case logs.TypeAttemptStart:
			text += " " + d.Kind
		case logs.TypeVoid, logs.TypeGradeEnd:
			text += " " + d.Reason
		case logs.TypeEpisodeEnd:
			text += " " + d.EndReasonJSON
		case logs.TypeCheckFail:
			continue
		}
		out = append(out, text)
	}
	return out
}

// without leaves out records that are in every attempt.
func essential(all []string) []string {
	var out []string
	for _, k := range all {
		switch strings.Fields(k)[0] {
		case logs.TypeAttemptStart, logs.TypeVoid, logs.TypeGradeEnd, logs.TypeFeedbackSent, logs.TypeTurnEnd, logs.TypeEpisodeEnd, logs.TypeResume:
			out = append(out, k)
		}
	}
	return out
}
