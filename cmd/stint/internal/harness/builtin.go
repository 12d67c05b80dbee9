package harness

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/gateway"
	"github.com/stint-bench/stint/cmd/stint/internal/sandbox"
	"github.com/stint-bench/stint/logs"
)

// builtinVersion changes with everything that changes what the built-in agent does: prompts, tools, limits.
const builtinVersion = "1"

// BuiltinOptions configures the built-in agent. Only Model is needed.
type BuiltinOptions struct {
	Model gateway.Model
	// Gateway holds how the model is called: Retry, ProviderWait, Prices, HTTP, Now. Its Model, Recorder and
	// Budget are set per attempt.
	Gateway gateway.Options
	Tools   string // native or text; "" = Model.Tools, else native

	BashTimeout    time.Duration // of a command without one of its own; 0 = 2 min
	BashTimeoutMax time.Duration // the most a command may ask for; 0 = 10 min
	MaxOutput      int           // bytes of a result that the model gets; 0 = 16 kB, less for small windows
}

// builtin is the lean loop: model call, tool calls, results, until the model answers without a tool call.
type builtin struct {
	opt  BuiltinOptions
	text bool
}

// NewBuiltin checks the options; it makes no request.
func NewBuiltin(opt BuiltinOptions) (Agent, error) {
	if opt.Tools == "" {
		opt.Tools = opt.Model.Tools
	}
	switch opt.Tools {
	case "", "native", "text":
	default:
		return nil, &gateway.SetupError{Model: opt.Model.Name, Reason: fmt.Sprintf("tools %q is neither native nor text", opt.Tools), Way: "use `tools: native` or `tools: text`"}
	}
	if opt.BashTimeout <= 0 {
		opt.BashTimeout = 2 * time.Minute
	}
	if opt.BashTimeoutMax <= 0 {
		opt.BashTimeoutMax = 10 * time.Minute
	}
	if opt.MaxOutput <= 0 {
		opt.MaxOutput = 16 << 10
		if window := opt.Model.Context; window > 0 {
			// One result may take an eighth of the window, at four bytes a token.
			opt.MaxOutput = max(1<<10, min(opt.MaxOutput, window*bytesPerToken/8))
		}
	}
	opt.Gateway.Model = opt.Model
	if _, err := gateway.NewClient(opt.Gateway); err != nil {
		return nil, err
	}
	return &builtin{opt: opt, text: opt.Tools == "text"}, nil
}

// Name is builtin.
func (a *builtin) Name() string { return "builtin" }

// Version changes with the agent's prompts, tools and rules.
func (a *builtin) Version() string { return builtinVersion }

// errWall is the cause of a context that the attempt's own time limit ended.
var errWall = errors.New("the time limit of the attempt")

// Run makes one attempt.
func (a *builtin) Run(ctx context.Context, r Request) (Result, error) {
	rec := gateway.NewRecorder(r.Blobs)
	opt := a.opt.Gateway
	opt.Recorder, opt.OnWait = rec, r.waits
	opt.Budget = &gateway.Budget{Scope: gateway.ScopeAttempt, Tokens: r.Tokens, Requests: int64(r.Requests), Also: gateway.SpentFunc(r.Spent)}
	client, err := gateway.NewClient(opt)
	if err != nil {
		return Result{}, fmt.Errorf("setting up the model client: %w", err)
	}
	run := ctx
	if r.Wall > 0 {
		var cancel context.CancelFunc
		run, cancel = context.WithTimeoutCause(ctx, r.Wall, errWall)
		defer cancel()
	}
	before := treeStamp(r.Workspace)
	l := &builtinLoop{agent: a, request: r, client: client, rec: rec}
	if err := l.open(); err != nil {
		return Result{}, err
	}
	end := l.play(run)
	if end.err != nil && ctx.Err() == nil {
		return Result{}, end.err
	}
	res := end.result
	if ctx.Err() != nil {
		res = Result{By: ByStint, Completion: CompletionCut, Detail: "interrupted", Void: VoidOperator, VoidEvidence: "interrupted"}
	}
	res.ToolCalls, res.Usage = l.toolCalls, client.Usage()
	res.Edited = treeStamp(r.Workspace) != before
	if res.Completion == CompletionClean && res.ToolCalls == 0 && !res.Edited {
		res.Completion = CompletionEmpty
	}
	if res.Void == "" {
		if err := l.session.save(r.Home); err != nil {
			return Result{}, err
		}
	}
	rec.Event("end", map[string]any{"by": res.By, "limit": res.Limit, "completion": res.Completion, "detail": res.Detail, "void": res.Void})
	sha, err := r.Blobs.Put(rec.Bytes())
	if err != nil {
		return Result{}, fmt.Errorf("storing the agent's log: %w", err)
	}
	res.Log = logs.LogRef{Reader: gateway.Reader, Blob: sha}
	return res, nil
}

// ending is how the loop ended; err is our own fault.
type ending struct {
	result Result
	err    error
}

func code(n int) *int { return &n }

func endClean(detail string) ending {
	return ending{result: Result{Exit: code(0), By: BySelf, Completion: CompletionClean, Detail: detail}}
}

// endCut is an end by the agent's own rules: a guard, a conversation that cannot go on.
func endCut(detail string) ending {
	return ending{result: Result{Exit: code(1), By: BySelf, Completion: CompletionCut, Detail: detail}}
}

func endLimit(limit, detail string) ending {
	return ending{result: Result{By: ByLimit, Limit: limit, Completion: CompletionCut, Detail: detail}}
}

func endVoid(reason, evidence string) ending {
	return ending{result: Result{Exit: code(1), By: BySelf, Completion: CompletionCut, Detail: evidence, Void: reason, VoidEvidence: evidence}}
}

// endOfRequest says how a failed model request ends the attempt. Own is what the conversation holds of the
// agent's making: a refused request without any is the provider's fault or the study's.
func endOfRequest(ctx context.Context, err error, own bool) ending {
	var budget *gateway.BudgetError
	var provider *gateway.ProviderError
	var setup *gateway.SetupError
	switch {
	case errors.As(err, &budget) && budget.Scope == gateway.ScopeAttempt:
		return endLimit(budget.What, budget.Error())
	case errors.As(err, &budget):
		e := endVoid(VoidBudget, budget.Error())
		e.result.By, e.result.Exit = ByStint, nil
		return e
	case errors.As(err, &setup):
		e := endVoid(VoidSetup, setup.Error())
		e.result.Way = setup.Hint()
		return e
	case errors.As(err, &provider):
		return endOfProvider(provider, own)
	case errors.Is(context.Cause(ctx), errWall):
		return endLimit("wall", errWall.Error()+" ended a model request")
	}
	return ending{err: fmt.Errorf("asking the model: %w", err)}
}

func endOfProvider(p *gateway.ProviderError, own bool) (e ending) {
	defer func() { e.result.Way = wayOfProvider(p) }()
	switch p.Class {
	case gateway.ClassRateLimit, gateway.ClassQuota:
		return endVoid(VoidRateLimit, p.Error())
	case gateway.ClassContextLength:
		return endCut("context_overflow: " + p.Error())
	case gateway.ClassBadRequest:
		if !own {
			return endVoid(VoidProviderError, p.Error())
		}
		e := endCut("the provider refuses the conversation: " + p.Error())
		e.result.SessionDamaged = true
		return e
	}
	return endVoid(VoidProviderError, p.Error())
}

// wayOfProvider is what the user of a study can do about a failure of its provider.
func wayOfProvider(p *gateway.ProviderError) string {
	switch p.Class {
	case gateway.ClassRateLimit:
		return "fewer episodes at once (jobs: {per_model: …}), or more patience (gateway: {provider_wait: …}) in the study"
	case gateway.ClassContextLength:
		return "context: of the model in the study must not be more than its server takes"
	}
	return p.Hint()
}

// treeStamp changes when any file or folder below dir does. Links are not followed.
func treeStamp(dir string) uint64 {
	h := fnv.New64a()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read does not change visibly
		}
		if info, err := d.Info(); err == nil {
			size := info.Size()
			if d.IsDir() {
				size = 0
			}
			fmt.Fprintf(h, "%s\x00%d\x00%d\x00%d\n", path, info.Mode(), size, info.ModTime().UnixNano())
		}
		return nil
	})
	return h.Sum64()
}

// overDisk tells whether workspace and HOME have outgrown the sandbox's disk limit.
func overDisk(sb *sandbox.Sandbox, dirs ...string) bool {
	return sandbox.DiskUsage(dirs...) > sb.Limits().Disk
}
