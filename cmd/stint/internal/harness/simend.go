package harness

import (
	"math/rand/v2"

	"github.com/stint-bench/stint/logs"
)

// How a simulated agent program can end badly.
const (
	endSelfKill = "self_kill"
	endCrash    = "crash"
	endHang     = "hang"
	endOOM      = "oom"
	endTokens   = "tokens"
	endEmpty    = "empty"
	endContext  = "context_overflow"
	endToolCall = "tool_call"
	endLoop     = "loop_guard"
	endCompact  = "compaction"
)

func pickEnd(r *rand.Rand) string {
	ends := []string{endSelfKill, endCrash, endHang, endOOM, endTokens, endEmpty, endContext, endToolCall, endLoop, endCompact}
	return ends[r.IntN(len(ends))]
}

// finish writes the end of an attempt into its result and its log, as a person or a rule would see it.
func (d *draw) finish(res *Result, t *trajectory) {
	if d.void != "" {
		d.finishVoid(res, t)
		return
	}
	cut := func(detail string) { res.Completion, res.Detail = CompletionCut, detail }
	exit := func(code int) { res.Exit = &code }
	killed := func(signal string) { res.Exit, res.Signal = nil, signal }
	switch d.end {
	case "":
		t.say("The service now does what the specification says.")
	case endSelfKill:
		t.add(trajectoryLine{Actor: "model", Kind: "tool_call", Tool: "bash", CallID: "last", Text: "pkill -f simulated; ./start.sh"})
		killed("SIGTERM")
		cut("ended by SIGTERM")
	case endCrash:
		t.fail("harness", "panic: runtime error: index out of range", 0)
		exit(2)
		cut("the program ended with exit code 2")
	case endHang:
		t.add(trajectoryLine{Actor: "model", Kind: "tool_call", Tool: "bash", CallID: "last", Text: "./start.sh"})
		killed("SIGKILL")
		res.By, res.Limit = ByLimit, "wall"
		cut("stopped at the limit of wall time")
	case endOOM:
		t.add(trajectoryLine{Actor: "model", Kind: "tool_call", Tool: "bash", CallID: "last", Text: "./load-all.sh"})
		killed("SIGKILL")
		res.By, res.Limit = ByOOM, "memory"
		cut("ended by the kernel: out of memory")
	case endTokens:
		res.By, res.Limit = ByLimit, "tokens"
		cut("stopped at the limit of tokens")
	case endEmpty:
		t.say("")
		res.Completion = CompletionEmpty
	case endContext:
		t.fail("model", "the request exceeds the context window", 400)
		exit(1)
		cut("the conversation no longer fits into the context window")
	case endToolCall:
		for range 3 {
			t.fail("harness", "the tool call could not be parsed", 0)
		}
		exit(1)
		cut("no tool call could be parsed")
	case endLoop:
		t.fail("harness", "the same call came back with the same result too often", 0)
		exit(1)
		cut("stopped: the same call came back with the same result too often")
	case endCompact:
		t.fail("harness", "the conversation could not be summarised", 0)
		exit(1)
		cut("the conversation could not be summarised")
	}
}

func (d *draw) finishVoid(res *Result, t *trajectory) {
	status, text := 429, "too many requests"
	if d.void == VoidProviderError {
		status, text = 503, "the service is unavailable"
	}
	t.fail("provider", text, status)
	code := 1
	res.Exit, res.Completion, res.Detail = &code, CompletionCut, text
	res.Void, res.VoidEvidence = d.void, "the last model request failed: "+text
}

// usage is what the attempt is said to have consumed. A simulated model has no price.
func (d *draw) usage(r Request, model string) logs.Usage {
	rnd := d.in.attemptStream("usage" + string(rune('0'+d.in.try%10)))
	requests := int64(4 + rnd.IntN(14))
	if r.Attempt > 0 {
		requests = int64(2 + rnd.IntN(7))
	}
	if d.void != "" || d.end == endEmpty {
		requests = 1
	}
	context := int64(3000 + 120*r.Turn + len(r.Prompt)/4 + rnd.IntN(3000))
	in := requests * context
	cached := in * int64(40+rnd.IntN(40)) / 100
	out := requests * int64(120+rnd.IntN(500))
	in -= cached
	zero := int64(0)
	return logs.Usage{Via: "reader", ModelReturned: model, In: &in, Cached: &cached, CacheWrite: &zero, Out: &out, Requests: &requests}
}

// calls is the number of tool calls of the attempt: one per model request but the last.
func (d *draw) calls(r Request) int {
	u := d.usage(r, "")
	return int(max(0, *u.Requests-1))
}
