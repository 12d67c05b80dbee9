package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// plot is what a coder recognises a scenario by.
type plot struct {
	keys    []string // of each turn: the beginning of its request, spaces made one
	digests map[string]int
}

// The sentences of stint's prompts by which turns are told apart.
const (
	changeEnd    = "Everything else stays as it is."
	feedbackText = "The service does not yet meet the specification"
)

// maxKey is how much of a request is looked for: agents may cut or wrap what follows.
const maxKey = 300

func newPlot(sc *scenario.Scenario) plot {
	p := plot{digests: map[string]int{}}
	for _, st := range sc.Steps {
		text, _, _ := strings.Cut(st.Request, changeEnd)
		key, spec := squeeze(text), squeeze(st.Spec)
		switch {
		case st.Turn == 0 && st.Spec != "" && strings.Contains(st.Request, st.Spec):
			key = spec[max(0, len(spec)-4*maxKey):] // many specifications begin alike
		case len(key) > maxKey:
			key = key[:maxKey]
		}
		p.keys = append(p.keys, key)
		sum := sha256.Sum256([]byte(strings.TrimRight(st.Spec, "\n") + "\n"))
		p.digests[hex.EncodeToString(sum[:])] = st.Turn
	}
	return p
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// lookCommand prints the digest of SPEC.md without the sentence about what the machine offers.
// It stands in a line of its own, or behind an empty line at the end. Then it prints the madeMark of the program.
const lookCommand = `echo "specification: $(sed -e '/^\(- \)*Available: /d' SPEC.md | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' | sha256sum)"; sed -n '/^# made in turn /p' start.sh 2>/dev/null || :`

var digestText = regexp.MustCompile(`specification: ([0-9a-f]{64})\b`)

// madeMark ends start.sh: the turn and the attempt that wrote it. An agent that starts anew shows one feedback only, and by
// this the second retry is known from the first.
var madeMark = regexp.MustCompile(`# made in turn (\d+)\.(\d+)`)

// place finds scenario, turn and attempt in a conversation. The latest prompt counts; a prompt of feedback only
// belongs to the turn before it in the conversation or, where there is none, to that of SPEC.md.
func (c *Coder) place(r SimRequest) (simPlace, bool) {
	var p simPlace
	var made []string
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		found := digestText.FindStringSubmatch(m.Text)
		switch {
		case m.Role == "assistant" || m.Role == "system":
		case found != nil && (m.Role == "tool" || !strings.Contains(m.Text, "sha256sum")):
			if p.digest == "" && p.attempt == 0 {
				p.digest = found[1] // asked for by the attempt that runs
				made = madeMark.FindStringSubmatch(m.Text)
			}
		case m.Role == "user" && strings.Contains(m.Text, feedbackText):
			p.attempt++
		case m.Role == "user":
			if plot, turn, n := c.recognise(squeeze(m.Text)); n == 1 {
				p.plot, p.turn = plot, turn
				return p, true
			} else if n > 1 && p.digest == "" {
				return p, false // two turns ask for the same; SPEC.md tells which
			}
		}
	}
	for i := range c.plots {
		if turn, ok := c.plots[i].digests[p.digest]; ok {
			p.plot, p.turn = i, turn
			if p.attempt > 0 && made != nil && made[1] == strconv.Itoa(turn) {
				before, _ := strconv.Atoi(made[2])
				p.attempt = max(p.attempt, before+1)
			}
			return p, true
		}
	}
	return p, false
}

// recognise finds the turns whose request a text holds: one of them, and how many fit as well. Changes go before
// builds, whose text a request for a change may hold in full.
func (c *Coder) recognise(text string) (plot, turn, n int) {
	longest := 0
	for i := range c.plots {
		for t, key := range c.plots[i].keys {
			length := len(key)
			if t == 0 {
				length = 1
			}
			switch {
			case length < longest || !strings.Contains(text, key):
			case length > longest:
				plot, turn, n, longest = i, t, 1, length
			default:
				n++
			}
		}
	}
	return plot, turn, n
}

// look asks for the digest of SPEC.md.
func (c *Coder) look(r SimRequest, fenced bool) SimAnswer {
	if fenced {
		return SimText("```bash\n" + lookCommand + "\n```")
	}
	if call, ok := shellCall(r.Tools, lookCommand, "Look at the specification"); ok {
		return c.call(call)
	}
	return SimText("I cannot find out what is wanted: this request is of no scenario that I know, and there is no tool like a shell to read SPEC.md with.")
}

// textOnly is how agents ask for a summary of the conversation while they go on offering their tools.
var textOnly = regexp.MustCompile(`(?i)\b(do not|don't|never) (call|use) any tools?\b`)

// asksForText says whether the latest message wants an answer without calls.
func asksForText(r SimRequest) bool {
	if len(r.Messages) == 0 {
		return false
	}
	m := r.Messages[len(r.Messages)-1]
	return m.Role == "user" && textOnly.MatchString(m.Text)
}

// asksForFences says whether an agent without tools wants commands in fenced blocks.
func asksForFences(r SimRequest) bool {
	for _, m := range r.Messages {
		if m.Role != "assistant" && strings.Contains(m.Text, "```bash") {
			return true
		}
	}
	return false
}
