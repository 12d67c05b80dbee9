package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// SimRule is one thing that goes wrong in what a [Coder] does. Turn and Attempt are nil for any.
type SimRule struct {
	Do      string  `yaml:"do"`      // one of SimScripts
	Model   string  `yaml:"model"`   // only when this model is asked for; "" = any
	Turn    *int    `yaml:"turn"`    // 0 is the build
	Attempt *int    `yaml:"attempt"` // 0 is the first, 1 the first after feedback
	Step    int     `yaml:"step"`    // from this request of the attempt on
	Times   *int    `yaml:"times"`   // requests it is done for, per attempt; 0 = for ever; nil = as SimScripts says
	Chance  float64 `yaml:"chance"`  // of (scenario, turn, attempt), always drawn the same; 0 = 1
	After   float64 `yaml:"after"`   // seconds of Retry-After; 0 = 1
	Command string  `yaml:"command"` // in place of the command that the script names
}

// simScript is what a rule can do. forever says that it does not stop by itself; wire that it is a failure of the
// server, which meets requests without tools as well; wrong that the work itself is bad.
type simScript struct {
	about                string
	times                int // requests it is done for; 0 = one
	forever, wire, wrong bool
	firstOnly            bool // unless the rule names an attempt, only attempt 0
	answer               func(c *Coder, r SimRequest, rule SimRule) SimAnswer
}

// The commands of scripts that harm.
const (
	broadKill  = "pkill -f python; pkill -f node; pkill -f agent; kill -9 -1"
	heldOutput = "python3 -m http.server 8765 & sleep 1; echo started"
)

var simScripts = map[string]simScript{
	"perfect":   {about: "builds every turn as it is specified"},
	"wrong":     {about: "the first attempt of a turn lacks the change; after feedback it is right", wrong: true, forever: true, firstOnly: true},
	"hopeless":  {about: "every attempt lacks the change", wrong: true, forever: true},
	"unhelpful": {about: "talks and does nothing", forever: true, answer: answerText("You could write a small server in Python. Shall I go on?")},
	"empty":     {about: "an answer without text and without a call", answer: answerText("")},
	"length": {about: "an answer that the output limit cuts", answer: func(*Coder, SimRequest, SimRule) SimAnswer {
		return SimAnswer{Content: "I will first think about", Finish: "length"}
	}},
	"bad-json":       {about: "a call whose arguments are cut-off JSON", answer: callWith(func(call SimCall) SimCall { call.Arguments = `{"command": "ls -la`; return call })},
	"unknown-tool":   {about: "a call of a tool that was not offered", answer: callWith(func(call SimCall) SimCall { call.Name = "open_browser"; return call })},
	"duplicate-id":   {about: "two calls with the same id", times: 2, answer: callWith(func(call SimCall) SimCall { call.ID = "call_0"; return call })},
	"loop":           {about: "the same call, for ever", forever: true, answer: runs("ls")},
	"broad-kill":     {about: "a command that kills every process it can", answer: runs(broadKill)},
	"held-output":    {about: "starts a server that holds the command's output", answer: runs(heldOutput)},
	"rate-limit":     {about: "429 with Retry-After", forever: true, wire: true, answer: answerRateLimit},
	"quota":          {about: "429: the account has no credit left", forever: true, wire: true, answer: fails(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")},
	"server-error":   {about: "500", forever: true, wire: true, answer: fails(500, "server_error", "The server had an error while processing your request.")},
	"overloaded":     {about: "503", forever: true, wire: true, answer: fails(503, "overloaded", "The model is overloaded.")},
	"key":            {about: "401: the key is refused", forever: true, wire: true, answer: fails(401, "invalid_api_key", "Incorrect API key provided.")},
	"context-length": {about: "400: the conversation is longer than the window", forever: true, wire: true, answer: fails(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.")},
	"bad-request":    {about: "400: the provider refuses the request", forever: true, wire: true, answer: fails(400, "invalid_request_error", "The request is invalid.")},
	"hang-up":        {about: "the connection breaks before the first byte", forever: true, wire: true, answer: func(*Coder, SimRequest, SimRule) SimAnswer { return SimAnswer{HangUp: true} }},
	"cut-stream": {about: "the answer breaks off in its middle", wire: true, answer: func(*Coder, SimRequest, SimRule) SimAnswer {
		return SimAnswer{Content: strings.Repeat("I will write the service in Python. ", 20), CutAt: 700}
	}},
	"hang":    {about: "no answer, for ever", forever: true, wire: true, answer: func(*Coder, SimRequest, SimRule) SimAnswer { return SimAnswer{Delay: 24 * time.Hour} }},
	"nothing": {about: "200 with an empty body", forever: true, wire: true, answer: func(*Coder, SimRequest, SimRule) SimAnswer { return SimAnswer{Body: " "} }},
}

// SimScripts names everything that a rule can do, with a few words on each; what is not said to be done once is done
// as long as the rule applies.
func SimScripts() [][2]string {
	var out [][2]string
	for name, s := range simScripts {
		if !s.forever && s.answer != nil && s.times == 0 {
			s.about += " (once)"
		}
		out = append(out, [2]string{name, s.about})
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}

func answerText(s string) func(*Coder, SimRequest, SimRule) SimAnswer {
	return func(*Coder, SimRequest, SimRule) SimAnswer { return SimText(s) }
}

func fails(status int, code, message string) func(*Coder, SimRequest, SimRule) SimAnswer {
	return func(*Coder, SimRequest, SimRule) SimAnswer { return SimError(status, code, message) }
}

func answerRateLimit(_ *Coder, _ SimRequest, rule SimRule) SimAnswer {
	a := SimError(429, "rate_limit_exceeded", "Rate limit reached, please slow down.")
	after := rule.After
	if after == 0 {
		after = 1
	}
	a.Header = map[string]string{"Retry-After": strconv.FormatFloat(after, 'g', -1, 64)}
	return a
}

// callWith makes a harmless call and spoils it.
func callWith(spoil func(SimCall) SimCall) func(*Coder, SimRequest, SimRule) SimAnswer {
	return func(c *Coder, r SimRequest, _ SimRule) SimAnswer {
		call, _ := shellCall(r.Tools, "ls", "List the files")
		a := c.call(call)
		a.Calls[0] = spoil(a.Calls[0])
		return a
	}
}

// runs has a command run.
func runs(command string) func(*Coder, SimRequest, SimRule) SimAnswer {
	return func(c *Coder, r SimRequest, rule SimRule) SimAnswer {
		if rule.Command != "" {
			command = rule.Command
		}
		if len(r.Tools) == 0 {
			return SimText("```bash\n" + command + "\n```")
		}
		call, _ := shellCall(r.Tools, command, "Go on")
		return c.call(call)
	}
}

// misbehave is the answer of the first rule that applies here.
func (c *Coder) misbehave(r SimRequest, p simPlace, noTools bool) (SimAnswer, bool) {
	for i, rule := range c.opt.Rules {
		s := simScripts[rule.Do]
		if s.answer == nil || noTools && !s.wire || p.step < rule.Step || !c.applies(i, r.Model, p) {
			continue
		}
		times := max(s.times, 1)
		if s.forever {
			times = 0
		}
		if rule.Times != nil {
			times = *rule.Times
		}
		key := fmt.Sprintf("%d %s %d %d.%d", i, r.Model, p.plot, p.turn, p.attempt)
		c.mu.Lock()
		done := c.times[key]
		c.times[key]++
		c.mu.Unlock()
		if times == 0 || done < times {
			return s.answer(c, r, rule), true
		}
	}
	return SimAnswer{}, false
}

// wrong says whether the work of an attempt is to be bad.
func (c *Coder) wrong(model string, p simPlace) bool {
	for i, rule := range c.opt.Rules {
		if simScripts[rule.Do].wrong && c.applies(i, model, p) {
			return true
		}
	}
	return false
}

// applies says whether a rule is for this attempt.
func (c *Coder) applies(i int, model string, p simPlace) bool {
	rule := c.opt.Rules[i]
	switch {
	case rule.Model != "" && rule.Model != model, rule.Turn != nil && *rule.Turn != p.turn:
		return false
	case rule.Attempt != nil && *rule.Attempt != p.attempt:
		return false
	case rule.Attempt == nil && simScripts[rule.Do].firstOnly && p.attempt > 0:
		return false
	}
	return rule.Chance == 0 || chance(i, model, c.opt.Scenarios[p.plot].Seed, p.turn, p.attempt) < rule.Chance
}

// RuleError is a script that cannot be played.
type RuleError struct{ Where, Text, Way string }

func (e *RuleError) Error() string { return e.Where + ": " + e.Text }

// Hint is the way out.
func (e *RuleError) Hint() string { return e.Way }

// ExitCode is 2: the input is wrong.
func (e *RuleError) ExitCode() int { return 2 }

const scriptForm = "write NAME, NAME@TURN, NAME@TURN.ATTEMPT and behind it *TIMES (0 = for ever), several with commas between them; stint model-sim -h lists the names"

// ParseSimRules reads rules as they are typed: NAME[@TURN[.ATTEMPT]][*TIMES], with commas between them.
func ParseSimRules(s string) ([]SimRule, error) {
	var out []SimRule
	for item := range strings.SplitSeq(s, ",") {
		item = strings.TrimSpace(item)
		head, times, some := strings.Cut(item, "*")
		name, at, placed := strings.Cut(head, "@")
		rule := SimRule{Do: name}
		number := func(text string) (*int, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return nil, &RuleError{"script " + item, fmt.Sprintf("%q is no number", text), scriptForm}
			}
			return &n, nil
		}
		var err error
		if some {
			if rule.Times, err = number(times); err != nil {
				return nil, err
			}
		}
		if placed {
			turn, attempt, both := strings.Cut(at, ".")
			if rule.Turn, err = number(turn); err != nil {
				return nil, err
			}
			if both {
				if rule.Attempt, err = number(attempt); err != nil {
					return nil, err
				}
			}
		}
		if err := rule.check("script " + item); err != nil {
			return nil, err
		}
		out = append(out, rule)
	}
	return out, nil
}

// ReadSimRules reads rules from YAML: a list of entries with the keys of SimRule.
func ReadSimRules(name string, b []byte) ([]SimRule, error) {
	var out []SimRule
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(&out); err != nil && !errors.Is(err, io.EOF) {
		return nil, &RuleError{name, yaml.FormatError(err, false, true), "an entry is {do: NAME, turn: 1, attempt: 0, times: 2}; do alone is needed"}
	}
	for i, rule := range out {
		if err := rule.check(fmt.Sprintf("%s: entry %d", name, i+1)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r SimRule) check(where string) error {
	if _, ok := simScripts[r.Do]; !ok {
		return &RuleError{where, fmt.Sprintf("there is no script %q", r.Do), scriptForm}
	}
	if r.Chance < 0 || r.Chance > 1 || r.After < 0 || r.Step < 0 || r.Turn != nil && *r.Turn < 0 || r.Attempt != nil && *r.Attempt < 0 || r.Times != nil && *r.Times < 0 {
		return &RuleError{where, "a number is negative, or a chance is over 1", scriptForm}
	}
	return nil
}
