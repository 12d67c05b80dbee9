package classify

import (
	"fmt"
	"testing"

	"github.com/stint-bench/stint/logs"
)

// healthy are five beginnings of an attempt in which nothing is wrong.
func healthy(e *ended, n int) *ended {
	switch n {
	case 0:
		return e.work()
	case 1:
		return e.say("model", logs.ChannelModel, logs.EventMessage, "I read the specification first.").work().call("go build ./...", false)
	case 2:
		for range 10 {
			e.call("python3 -m pytest -q", false)
		}
		return e
	case 3: // what tools print is nobody's error
		e.work().call("grep -rn 429 .", false)
		e.events[len(e.events)-1].Text = "retry.py: if status == 429: raise RateLimitError('too many requests')  # see also OOMKilled, EADDRINUSE"
		return e
	default:
		e.say("provider", logs.ChannelProvider, logs.EventError, "Too Many Requests").status(429)
		return e.work().call("kill 4711", false).work()
	}
}

// fatalFaults plants each infrastructure leaf in six ways, in words of the programs that print them.
func fatalFaults() map[string][6]func(e *ended) *ended {
	harness := func(text string) func(*ended) *ended {
		return func(e *ended) *ended { return e.harness(text) }
	}
	provider := func(code int, text string) func(*ended) *ended {
		return func(e *ended) *ended {
			return e.say("provider", logs.ChannelProvider, logs.EventError, text).status(code)
		}
	}
	event := func(kind, text string) func(*ended) *ended {
		return func(e *ended) *ended { return e.say("harness", logs.ChannelHarness, kind, text) }
	}
	open := func(signal, by, command string) func(*ended) *ended {
		return func(e *ended) *ended {
			e.attempt.Signal, e.attempt.EndedBy, e.attempt.ExitCode = &signal, &by, nil
			return e.call(command, true)
		}
	}
	limit := func(by string) func(*ended) *ended {
		return func(e *ended) *ended { e.attempt.EndedBy, e.attempt.ExitCode = &by, nil; return e }
	}
	exit := func(code int) func(*ended) *ended {
		return func(e *ended) *ended { e.attempt.ExitCode = &code; return e }
	}
	return map[string][6]func(*ended) *ended{
		"infra.tool_call": {harness("Unterminated string in JSON at position 4096 (tool call write_file)"), harness("model tried to call unavailable tool 'writeFile'"), event(logs.EventRejectedCall, "malformed_call: unexpected end of JSON"),
			event(logs.EventRejectedCall, "unknown_tool"), provider(400, "messages.12: function.arguments must be in JSON format"), harness("Invalid arguments: expected string, received undefined")},
		"infra.loop_guard": {harness("AgentStuckInLoopError: Agent got stuck in a loop"), event(logs.EventLoopGuard, "period=2 repeats=6"), harness("A potential loop was detected. This can happen due to repetitive tool calls. The request has been halted."),
			harness("Loop detected, stopping the session"), event(logs.EventLoopGuard, "period=1"), harness("loop_guard: the last 12 steps repeat the same 3 with equal results")},
		"infra.compaction": {event(logs.EventCompaction, "ok=false reason=empty summary"), harness("Error during compaction: request failed"), harness("Error running remote compact task: stream closed"), harness("compaction.failed"),
			func(e *ended) *ended {
				e.say("harness", logs.ChannelHarness, logs.EventCompaction, "ok=true")
				return e.say("provider", logs.ChannelProvider, logs.EventError, "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after").status(400)
			}, harness("the conversation could not be summarized")},
		"infra.context_overflow": {provider(400, "prompt is too long: 212034 tokens > 200000 maximum"), provider(400, "This model's maximum context length is 131072 tokens"), provider(400, `{"error":{"code":"context_length_exceeded"}}`),
			harness("context_overflow: the model endpoint failed (context_length, HTTP 400)"), provider(400, "Range of input length should be [1, 129024]"), harness("ContextWindowExceededError: input exceeds the context window")},
		"infra.broad_kill": {open("SIGTERM", "self", "pkill -f python"), open("SIGKILL", "self", "killall node; ./start.sh"), open("SIGKILL", "self", "lsof -ti :8080 | xargs kill -9"), open("SIGTERM", "self", "sh -c 'pkill -9 -f server'"),
			open("SIGTERM", "self", "fuser -k 8080/tcp"), open("SIGKILL", "self", `{"command":"killall python3"}`)},
		"infra.tool_hang": {open("SIGKILL", "limit:wall", "python3 app.py"), open("SIGKILL", "limit:wall", "./start.sh"), open("SIGKILL", "limit:wall", "npm start"), open("SIGKILL", "limit:wall", "vim app.py"),
			open("SIGKILL", "limit:wall", "uvicorn app:app --port 8080"), open("SIGKILL", "limit:wall", "tail -f server.log")},
		"infra.rate_limit": {provider(429, "slow down"), provider(429, `{"error":{"type":"rate_limit_error"}}`), harness("RateLimitError: Rate limit reached for requests"), harness("You've hit your usage limit: usage limit reached"),
			provider(429, "insufficient_quota"), harness("exceeded retry limit, last status: 429 Too Many Requests")},
		"infra.provider_error": {provider(529, `{"type":"overloaded_error"}`), provider(503, "Service Unavailable"), harness("APIConnectionError: Connection error."), harness("stream disconnected before completion"), provider(500, "Internal server error"), provider(401, "invalid x-api-key")},
		"infra.agent_exit":     {harness("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"), exit(2), exit(1), harness("panic: runtime error: invalid memory address"), harness("Traceback (most recent call last):"), harness("Unhandled exception: TypeError")},
		"infra.resources":      {limit("oom"), limit("limit:memory"), limit("limit:disk"), limit("limit:processes"), harness("OSError: [Errno 28] No space left on device"), harness("container OOMKilled")},
		"infra.sandbox": {harness("AgentRuntimeDisconnectedError: runtime is gone"), harness("Max retries exceeded with url: /execute_action (connection refused)"), harness("command failed in sandbox"), harness("permission requested: external_directory; auto-rejecting"),
			harness("getaddrinfo ENOTFOUND registry.npmjs.org"), harness("sandbox_unreachable")},
		"infra.budget": {limit("limit:tokens"), limit("limit:requests"), limit("limit:steps"), limit("limit:wall"), limit("limit:usd"), harness("LimitsExceeded: 150 steps")},
	}
}

// TestBarPlanted is bar A1: 30 planted faults of each leaf that the log alone shows. (infra.server_lifecycle needs the
// server's side, the leaves of bench the grader's: TestPublicCases, TestGrades and TestUnknown hold those.)
func TestBarPlanted(t *testing.T) {
	planted, given, right := map[string]int{}, map[string]int{}, map[string]int{}
	level, all := 0, 0
	for leaf, ways := range fatalFaults() {
		for way, plant := range ways {
			for n := range 5 {
				d := plant(healthy(attemptEnded("cut", "self", "", ptr(1)), n)).decide(t)
				got := deref(d.Verdict.Leaf)
				planted[leaf]++
				given[got]++
				all++
				if levelOf(got) == "infra" {
					level++
				}
				if got == leaf {
					right[leaf]++
				} else {
					t.Logf("%s, way %d, beginning %d: %s by %v", leaf, way, n, got, d.Verdict.RuleIDs)
				}
			}
		}
	}
	recall, precision := 0.0, 0.0
	for leaf, n := range planted {
		recall += float64(right[leaf]) / float64(n) / float64(len(planted))
		precision += float64(right[leaf]) / float64(max(1, given[leaf])) / float64(len(planted))
	}
	l1 := float64(level) / float64(all)
	t.Logf("%d faults of %d leaves: macro recall %.3f, macro precision %.3f, level %.3f", all, len(planted), recall, precision, l1)
	if recall < 0.95 || precision < 0.97 || l1 < 0.98 {
		t.Errorf("macro recall %.3f (bar .95), macro precision %.3f (.97), level %.3f (.98)", recall, precision, l1)
	}
}

// TestBarLookalikes is bar A3: 180 attempts that look like infrastructure and are not: the blame stays with the service.
func TestBarLookalikes(t *testing.T) {
	fatal, n := 0, 0
	for variant := range 20 {
		for _, plant := range []func(e *ended) *ended{
			func(e *ended) *ended { // tokens in code, documents and printed text
				e.call("cat docs.md", false)
				e.events[len(e.events)-1].Text = fmt.Sprintf("%d: AgentStuckInLoopError, prompt is too long, OOMKilled, 503 Service Unavailable, LimitsExceeded", variant)
				return e.say("model", logs.ChannelModel, logs.EventMessage, "I handle 429 too many requests and ENOSPC now.")
			},
			func(e *ended) *ended { // ten runs of the tests
				for range 10 {
					e.call("npm test", false)
				}
				return e
			},
			func(e *ended) *ended { // an error of the provider, then success
				return e.say("provider", logs.ChannelProvider, logs.EventError, "Too Many Requests").status(429 + 100*(variant%2)).work().work()
			},
			func(e *ended) *ended { return e.call(fmt.Sprintf("kill %d", 4000+variant), false).work() },
			func(e *ended) *ended { // a script that would kill, written and not run
				return e.call("cat > stop.sh <<'EOF'\npkill -f node\nEOF\nchmod +x stop.sh", false).work()
			},
			func(e *ended) *ended { // a port that was taken, and freed
				e.call("./start.sh > log 2>&1 &", false).call("./start.sh", false)
				last := &e.events[len(e.events)-1]
				last.ExitCode, last.Text = ptr(1), "listen EADDRINUSE: address already in use"
				return e.call("kill 311; ./start.sh > log 2>&1 &", false).work()
			},
			func(e *ended) *ended { // a connection that broke beside a full memory, and the work went on
				e.say("harness", logs.ChannelHarness, logs.EventNotice, "memory: 2031 MB of 2048 MB")
				return e.harness("socket hang up").work().work()
			},
			func(e *ended) *ended { // a server in the foreground that was ended at the tool's limit, and then started rightly
				e.call("npm start", false).say("harness", logs.ChannelHarness, logs.EventNotice, "tool_end: by=limit limit=time")
				e.events[len(e.events)-1].CallID = e.events[len(e.events)-2].CallID
				return e.call("npm start > log 2>&1 &", false).work()
			},
			func(e *ended) *ended { // long, and it ends
				e.call("make -j2 all", false)
				e.events[len(e.events)-1].DurationS = ptr(float64(300 + 10*variant))
				return e.work()
			},
		} {
			n++
			if d := plant(healthy(attemptEnded("clean", "self", "", ptr(0)), variant%5)).decide(t); d.Verdict.L1 == "infra" {
				fatal++
				t.Logf("%s by %v", deref(d.Verdict.Leaf), d.Verdict.RuleIDs)
			}
		}
	}
	if t.Logf("%d of %d look-alikes were called infrastructure", fatal, n); n < 180 || fatal > 1 {
		t.Errorf("%d of %d look-alikes were called infrastructure; the bar is 1", fatal, n)
	}
}

// TestBarBlame is bar A4: drift after an infrastructure event that was recovered from is drift, and a fatal event whose
// attempt also fails checks is infrastructure (which TestBarPlanted plants: all of its attempts fail a check).
func TestBarBlame(t *testing.T) {
	wrong, n := 0, 0
	for _, leaf := range []string{"infra.tool_call", "infra.rate_limit", "infra.provider_error", "infra.context_overflow", "infra.sandbox"} {
		for way, plant := range fatalFaults()[leaf] {
			for start := range 5 {
				n++
				if d := plant(healthy(attemptEnded("clean", "self", "", ptr(0)), start)).work().work().decide(t); d.Verdict.L1 != "drift" {
					wrong++
					t.Logf("%s, way %d, beginning %d: %s", leaf, way, start, deref(d.Verdict.Leaf))
				}
			}
		}
	}
	if t.Logf("%d of %d were blamed on infrastructure that the agent got over", wrong, n); float64(wrong) > 0.02*float64(n) {
		t.Errorf("%d of %d; the bar is 2 %%", wrong, n)
	}
}

// eventFaults plants a source of trouble as an event of the log, so that the order of two is known.
func eventFaults() map[string]func(e *ended) *ended {
	f := fatalFaults()
	killed := func(e *ended) *ended {
		e.attempt.Signal, e.attempt.ExitCode = ptr("SIGTERM"), nil
		return e.call("pkill -f node", true)
	}
	return map[string]func(e *ended) *ended{"infra.tool_call": f["infra.tool_call"][0], "infra.loop_guard": f["infra.loop_guard"][0], "infra.compaction": f["infra.compaction"][1],
		"infra.context_overflow": f["infra.context_overflow"][0], "infra.broad_kill": killed, "infra.tool_hang": func(e *ended) *ended { return e.harness("the command timed out after 600 s") }, "infra.rate_limit": f["infra.rate_limit"][0],
		"infra.provider_error": f["infra.provider_error"][1], "infra.agent_exit": f["infra.agent_exit"][0], "infra.resources": f["infra.resources"][4],
		"infra.sandbox": f["infra.sandbox"][0], "infra.budget": f["infra.budget"][5]}
}

// TestBarDoubleFaults is bar A5: two faults in a known order, each pair of the order in which causes explain each other away,
// in both orders. The earlier one is named, or the cause where the pair is of the kind that shows late.
func TestBarDoubleFaults(t *testing.T) {
	book, plant := Codebook(), eventFaults()
	right, n := 0, 0
	for _, e := range book.ExplainsAway {
		for _, symptom := range e.Explains {
			if plant[e.Cause] == nil || plant[symptom] == nil {
				continue
			}
			_, late := book.explains(e.Cause, symptom)
			for _, turned := range []bool{false, true} {
				first, second, want := e.Cause, symptom, e.Cause
				if turned {
					if first, second = second, first; !late {
						want = symptom
					}
				}
				for start := range 5 {
					n++
					d := plant[second](plant[first](healthy(attemptEnded("cut", "self", "", ptr(1)), start))).decide(t)
					if got := deref(d.Verdict.Leaf); got == want {
						right++
					} else {
						t.Logf("%s, then %s, beginning %d: %s by %v %s, want %s", first, second, start, got, d.Verdict.RuleIDs, deref(d.Verdict.AbstainReason), want)
					}
				}
			}
		}
	}
	t.Logf("%d of %d pairs", right, n)
	if n < 200 || float64(right) < 0.95*float64(n) {
		t.Errorf("%d of %d pairs; the bar is 95 %%", right, n)
	}
}
