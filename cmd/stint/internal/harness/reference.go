package harness

import (
	"context"
	"fmt"

	"github.com/stint-bench/stint/logs"
)

// ReferenceName is the name of the reference harness.
const ReferenceName = "reference"

// NewReference returns the perfect agent: it answers every turn with a correct server, through the same
// workspace, sandbox and grader as any other agent. It needs Request.Scenario.
func NewReference() Agent { return reference{} }

type reference struct{}

func (reference) Name() string    { return ReferenceName }
func (reference) Version() string { return "1" }

func (reference) Run(ctx context.Context, r Request) (Result, error) {
	if r.Scenario == nil {
		return Result{}, fmt.Errorf("the reference agent was not given the scenario")
	}
	if ctx.Err() != nil {
		return stoppedResult(), nil
	}
	if err := writeServer(r.Workspace, r.Scenario.Steps[r.Turn].Schema, serverState{Turn: r.Turn}); err != nil {
		return Result{}, err
	}
	zero, exit := int64(0), 0
	res := Result{Exit: &exit, By: BySelf, Completion: CompletionClean, ToolCalls: 1, Edited: true,
		Usage: logs.Usage{Via: "reader", Requests: &zero}, Log: logs.LogRef{Reader: SimulatedName}}
	t := trajectory{}
	t.prompt(r.Prompt)
	t.call("write_file", "the server", "written")
	t.end(0, "")
	var err error
	res.Log.Blob, err = t.store(r.Blobs)
	return res, err
}

// stoppedResult is the end of an attempt that was cancelled before it did anything.
func stoppedResult() Result {
	return Result{By: ByStint, Signal: "SIGTERM", Completion: CompletionCut, Usage: logs.Usage{Via: "reader"}}
}
