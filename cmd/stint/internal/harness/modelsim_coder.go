package harness

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stint-bench/stint/cmd/stint/internal/oracle/python"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// CoderOptions says what a Coder knows and how it behaves.
type CoderOptions struct {
	Scenarios []*scenario.Scenario
	// Files is the program for a schema: path to content; start.sh is made executable. Nil = a server in
	// plain Python 3.
	Files func(*scenario.Schema) (map[string]string, error)
	Rules []SimRule // what goes wrong, the first that applies; none = a perfect coder
}

// Coder plays a programmer behind [ModelSim]: whatever agent asks it, it finds the scenario and the turn in the
// conversation (the text of the request, else a digest of SPEC.md that it asks for), and calls whatever tool the
// request offers that looks like a shell, or writes files, to build what that turn wants. It keeps no memory of a
// conversation: where it stands it reads from its own commands. It is safe for concurrent use.
type Coder struct {
	opt   CoderOptions
	plots []plot

	mu    sync.Mutex
	times map[string]int // how often a rule has applied, by rule and attempt
	calls int
	cache map[string][]simStep
}

// NewCoder prepares a coder for its scenarios.
func NewCoder(opt CoderOptions) (*Coder, error) {
	if len(opt.Scenarios) == 0 {
		return nil, fmt.Errorf("making a scripted coder: there is no scenario")
	}
	if opt.Files == nil {
		opt.Files = pythonServer
	}
	c := &Coder{opt: opt, times: map[string]int{}, cache: map[string][]simStep{}}
	for _, sc := range opt.Scenarios {
		c.plots = append(c.plots, newPlot(sc))
	}
	return c, nil
}

func pythonServer(s *scenario.Schema) (map[string]string, error) {
	return map[string]string{python.File: string(python.Source(s)), startFile: python.Start()}, nil
}

// simStep is one tool call of a coder: a command, and what it writes if there is only a tool for files.
type simStep struct {
	command string
	path    string // "" = the step needs a shell
	content string
}

// Where a conversation stands.
type simPlace struct {
	plot, turn, attempt int
	step                int    // to be taken next
	digest              string // of SPEC.md, if the attempt has asked for it
}

// stepMark stands in every command, so that the conversation itself says how far it is.
var stepMark = regexp.MustCompile(`# turn (\d+)\.(\d+), step (\d+) of `)

// Answer is what the coder says next. Its tokens are counted as by a provider that keeps a conversation in its
// cache up to the latest answer.
func (c *Coder) Answer(r SimRequest) SimAnswer {
	a := c.answer(r)
	for i := len(r.Messages) - 1; i >= 0 && a.Cached == 0; i-- {
		if r.Messages[i].Role == "assistant" {
			a.Cached = simTokens(r.Messages[:i+1])
		}
	}
	a.Completion = 1 + (len(a.Content)+len(a.Reasoning))/bytesPerToken
	for _, call := range a.Calls {
		a.Completion += overheadPerItem + len(call.Arguments)/bytesPerToken
	}
	return a
}

func (c *Coder) answer(r SimRequest) SimAnswer {
	text := len(r.Tools) == 0 || asksForText(r)
	fenced := text && asksForFences(r)
	place, known := c.place(r)
	if known {
		place.step = nextStep(r, place)
		if a, hit := c.misbehave(r, place, text && !fenced); hit {
			return a
		}
	}
	switch {
	case text && !fenced:
		return SimText("Work on the service") // a title or a summary: nothing that tools could be called for
	case !known && place.digest != "":
		return SimText("This is the specification of no scenario that I know.")
	case !known:
		return c.look(r, fenced)
	}
	steps, err := c.steps(r.Model, place)
	if err != nil {
		return SimError(500, "internal_error", err.Error())
	}
	if place.step >= len(steps) {
		return c.finish(r, place, fenced)
	}
	return c.take(r, place, steps, fenced)
}

// take calls a tool for the next step.
func (c *Coder) take(r SimRequest, p simPlace, steps []simStep, fenced bool) SimAnswer {
	s := steps[p.step]
	mark := fmt.Sprintf("# turn %d.%d, step %d of %d\n", p.turn, p.attempt, p.step, len(steps))
	if fenced {
		return SimText("```bash\n" + mark + s.command + "\n```")
	}
	if call, ok := shellCall(r.Tools, mark+s.command, s.title()); ok {
		return c.call(call)
	}
	if s.path == "" {
		return c.finish(r, p, false) // without a shell, writing is all that can be done
	}
	if call, ok := fileCall(r, s.path, mark+s.content); ok {
		return c.call(call)
	}
	return SimText("I have no tool that could change a file.")
}

func (s simStep) title() string {
	if s.path != "" {
		return "Write " + s.path
	}
	return "Try the service"
}

// call gives a tool call an id that no other has, in this process or an earlier one.
func (c *Coder) call(call SimCall) SimAnswer {
	c.mu.Lock()
	c.calls++
	n := c.calls
	c.mu.Unlock()
	call.ID = fmt.Sprintf("call_%s_%d", strconv.FormatInt(time.Now().UnixNano(), 36), n)
	return SimAnswer{Calls: []SimCall{call}, Content: ""}
}

// submitMark is the command with which agents of the mini-swe kind end their work.
const submitMark = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// finish ends the agent's work, by a command where the agent wants one.
func (c *Coder) finish(r SimRequest, p simPlace, fenced bool) SimAnswer {
	for _, m := range r.Messages {
		if m.Role == "assistant" || m.Role == "tool" || !strings.Contains(m.Text, submitMark) {
			continue
		}
		if fenced {
			return SimText("```bash\necho " + submitMark + "\n```")
		}
		if call, ok := shellCall(r.Tools, "echo "+submitMark, "Finish"); ok {
			return c.call(call)
		}
	}
	what := "The service is built."
	if p.turn > 0 {
		what = fmt.Sprintf("The change is made (change %d).", p.turn)
	}
	return SimText(what + " I started it and it answers.")
}

// steps are the calls that build what a place wants.
func (c *Coder) steps(model string, p simPlace) ([]simStep, error) {
	wrong := c.wrong(model, p)
	key := fmt.Sprintf("%d.%d.%d.%v", p.plot, p.turn, p.attempt, wrong)
	c.mu.Lock()
	steps, ok := c.cache[key]
	c.mu.Unlock()
	if ok {
		return steps, nil
	}
	sc := c.opt.Scenarios[p.plot]
	schema := sc.Steps[p.turn].Schema
	if wrong {
		schema = lacking(sc, p.turn)
	}
	files, err := c.opt.Files(schema)
	if err != nil {
		return nil, fmt.Errorf("writing the program of turn %d: %w", p.turn, err)
	}
	if start, ok := files[startFile]; ok {
		files[startFile] = strings.TrimRight(start, "\n") + fmt.Sprintf("\n# made in turn %d.%d\n", p.turn, p.attempt)
	}
	steps = writeSteps(files)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cache) >= 64 {
		clear(c.cache)
	}
	c.cache[key] = steps
	return steps, nil
}

// lacking is the schema of a program that fails the suite of a turn: the change is not made, or if that would
// not show, something is left out.
func lacking(sc *scenario.Scenario, turn int) *scenario.Schema {
	if turn > 0 && sc.Steps[turn].Operation.Name != "no_behaviour_change" {
		return sc.Steps[turn-1].Schema
	}
	s := sc.Steps[turn].Schema.Clone()
	for i := len(s.Entities) - 1; i > 0; i-- {
		e := s.Entities[i]
		if len(s.Inbound(e.UID)) > 0 || slices.ContainsFunc(s.Analytics, func(a scenario.Analytics) bool { return a.Entity == e.UID }) {
			continue
		}
		s.Entities = slices.Delete(s.Entities, i, i+1)
		return s
	}
	s.Entities[0].Plural += "_missing"
	return s
}

// maxPart bounds what one command writes: some agents send commands through a terminal.
const maxPart = 12 << 10

// writeSteps writes files by commands, start.sh last, and then tries the service.
func writeSteps(files map[string]string) []simStep {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if (a == startFile) != (b == startFile) {
			return map[bool]int{true: 1, false: -1}[a == startFile]
		}
		return strings.Compare(a, b)
	})
	var out []simStep
	for _, name := range names {
		op := ">"
		for _, part := range parts(files[name]) {
			command := fmt.Sprintf("cat %s %s <<'END_OF_PART'\n%sEND_OF_PART", op, name, part)
			if name == startFile {
				command += "\nchmod +x " + startFile
			}
			out = append(out, simStep{command: command, path: name, content: files[name]})
			op = ">>"
		}
	}
	return append(out, simStep{command: tryCommand})
}

// parts cuts a text at line ends.
func parts(s string) []string {
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	var out []string
	for len(s) > 0 {
		n := len(s)
		if n > maxPart {
			if n = strings.LastIndexByte(s[:maxPart], '\n') + 1; n == 0 {
				n = strings.IndexByte(s, '\n') + 1
			}
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// tryCommand starts the service in the background, with its output elsewhere, and asks whether it is healthy.
const tryCommand = `export DATA_DIR=$(mktemp -d) PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./start.sh >"$DATA_DIR.log" 2>&1 & pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
  sleep 0.3
  python3 -c "import urllib.request; print('health', urllib.request.urlopen('http://127.0.0.1:$PORT/health', timeout=2).status)" 2>/dev/null && break
done
kill $pid 2>/dev/null
rm -rf "$DATA_DIR" "$DATA_DIR.log"`

// nextStep is the step after the last one that the conversation shows for this attempt.
func nextStep(r SimRequest, p simPlace) int {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		if m.Role != "assistant" {
			continue
		}
		texts := []string{m.Text}
		for _, c := range m.Calls {
			texts = append(texts, c.Arguments)
		}
		for _, t := range texts {
			f := stepMark.FindStringSubmatch(t)
			if f == nil {
				continue
			}
			turn, _ := strconv.Atoi(f[1])
			attempt, _ := strconv.Atoi(f[2])
			step, _ := strconv.Atoi(f[3])
			if turn == p.turn && attempt == p.attempt {
				return step + 1
			}
			return 0
		}
	}
	return 0
}

// chance is a number from 0 to 1 that is always the same for the same words.
func chance(words ...any) float64 {
	h := fnv.New64a()
	fmt.Fprintln(h, words...)
	x := h.Sum64()
	x ^= x >> 33 // the high bits of FNV change little with the last bytes
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
