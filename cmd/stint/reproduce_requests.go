package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/stint-bench/stint/cmd/stint/internal/suite"
)

// A shot is one request of a sequence. Ids that the server gives out are in shell variables: w_NAME of the world's
// rows, c_NAME of the check's own, c1_NAME and so on of the checks before it.
type shot struct {
	step suite.Step
	vars map[string]string // shell variable of each symbol the step refers to; "" = no request before captures it
	into string            // variable for the id of the answer; "" = it is not needed
}

// A sequence is the requests that lead to a failure, for a freshly started server.
type sequence struct {
	failure *suite.Failure
	before  []shot // rows of the world, and what earlier checks sent; nothing is expected of them
	earlier int    // how many of them were sent by earlier checks
	own     []shot // the steps of the check
	at      int    // which of own failed
}

// carriedOut lists the failures that sent requests, the most telling first: those that failed alone as well, then
// those not tried alone, then those that passed alone.
func (a *attempt) carriedOut() []*suite.Failure {
	var out []*suite.Failure
	for i := range a.graded.Result.Failures {
		if f := &a.graded.Result.Failures[i]; len(f.Exchanges) > 0 {
			out = append(out, f)
		}
	}
	rank := func(f *suite.Failure) int {
		switch {
		case f.Confirmed == nil:
			return 1
		case *f.Confirmed:
			return 0
		}
		return 2
	}
	slices.SortStableFunc(out, func(x, y *suite.Failure) int { return rank(x) - rank(y) })
	return out
}

// sequence finds what has to be sent so that a check fails again. A check that failed alone as well needs nothing
// but itself; any other is sent what its server was sent before it in the study.
func (a *attempt) sequence(f *suite.Failure) (*sequence, error) {
	at := slices.IndexFunc(a.suite.Checks, func(c suite.Check) bool { return c.ID == f.ID })
	if at < 0 || len(f.Exchanges) > len(a.suite.Checks[at].Steps) {
		return nil, fmt.Errorf("the grading of %s does not belong to the suite of its turn: check %s", a.id(), clean(f.ID))
	}
	c := &a.suite.Checks[at]
	seq := &sequence{failure: f, at: len(f.Exchanges) - 1}
	world := map[string]string{}
	if f.Confirmed == nil || !*f.Confirmed {
		for _, w := range a.suite.Worlds {
			if w.Name != c.World {
				continue
			}
			if err := seq.add(&seq.before, w.Setup, "w_", world, nil); err != nil {
				return nil, err
			}
		}
		if err := a.addEarlier(seq, at, world); err != nil {
			return nil, err
		}
	}
	return seq, seq.add(&seq.own, c.Steps, "c_", nil, world)
}

// addEarlier adds what the checks before one in its world sent, unless they only read.
func (a *attempt) addEarlier(seq *sequence, at int, world map[string]string) error {
	c := &a.suite.Checks[at]
	failed := map[string]*suite.Failure{}
	for i := range a.graded.Result.Failures {
		failed[a.graded.Result.Failures[i].ID] = &a.graded.Result.Failures[i]
	}
	reads := true
	var earlier []shot
	for i := range a.suite.Checks[:at] {
		o := &a.suite.Checks[i]
		if o.World != c.World {
			continue
		}
		steps := o.Steps
		if f := failed[o.ID]; f != nil {
			steps = steps[:min(len(f.Exchanges), len(steps))]
		}
		reads = reads && !slices.ContainsFunc(steps, func(s suite.Step) bool { return s.Method != "GET" })
		if err := seq.add(&earlier, steps, fmt.Sprintf("c%d_", i), nil, world); err != nil {
			return err
		}
	}
	if !reads {
		seq.before, seq.earlier = append(seq.before, earlier...), len(earlier)
	}
	return nil
}

var symbolName = regexp.MustCompile(`^[a-z0-9_]+$`)

// add appends steps. Symbols they capture become variables with the prefix; bound, if not nil, keeps those for later
// steps of other checks, outer holds the ones of the world.
func (s *sequence) add(to *[]shot, steps []suite.Step, prefix string, bound, outer map[string]string) error {
	if bound == nil {
		bound = map[string]string{}
	}
	for i := range steps {
		st := &steps[i]
		sh := shot{step: *st, vars: map[string]string{}}
		for _, name := range referred(st) {
			v, ok := bound[name]
			if !ok {
				v = outer[name]
			}
			sh.vars[name] = v
		}
		if st.Capture != "" {
			if !symbolName.MatchString(st.Capture) {
				return fmt.Errorf("a step of the suite captures %q, which is no name", st.Capture)
			}
			sh.into = prefix + st.Capture
			bound[st.Capture] = sh.into
			if v, ok := sh.vars[st.Capture]; ok && v == "" {
				sh.vars[st.Capture] = sh.into // the expectation names the id of its own answer
			}
		}
		*to = append(*to, sh)
	}
	return nil
}

// symbolText finds the symbols of a step, as the suite's runner fills them in: a whole string is the id as a number.
var symbolText = regexp.MustCompile(`"\$\{([a-z0-9_]+)\}"|\$\{([a-z0-9_]+)(?::s)?\}`)

// referred lists the symbols that a step refers to, each once, in their order.
func referred(st *suite.Step) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, text := range []string{st.Path, string(st.Body), string(st.Expect)} {
		for _, m := range symbolText.FindAllStringSubmatch(text, -1) {
			add(m[1] + m[2])
		}
	}
	for _, name := range append(slices.Clone(st.Needs), st.Above) {
		add(name)
	}
	return names
}

// needed lists the variables without which the request was not sent, or has an empty string for one that is never set.
func (s *shot) needed() []string {
	var vars []string
	for _, name := range referred(&s.step) {
		if v := s.vars[name]; name != s.step.Above && v != s.into && !slices.Contains(vars, v) || v == "" && name != s.step.Above {
			vars = append(vars, v)
		}
	}
	return vars
}

// word writes text as one word of a shell, with the ids of rows put in.
func (s *shot) word(text string) string {
	var b strings.Builder
	literal := func(t string) {
		if t != "" {
			b.WriteString(shellQuote(t))
		}
	}
	last := 0
	for _, m := range symbolText.FindAllStringSubmatchIndex(text, -1) {
		literal(text[last:m[0]])
		last = m[1]
		name := ""
		for g := 1; g <= 2; g++ {
			if m[2*g] >= 0 {
				name = text[m[2*g]:m[2*g+1]]
			}
		}
		if v := s.vars[name]; v != "" {
			b.WriteString(`"$` + v + `"`)
		}
	}
	literal(text[last:])
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// plainJSON is JSON on one line in which every character that is not printable is escaped: the same value, harmless
// on a terminal.
func plainJSON(raw json.RawMessage) (string, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil {
		return "", fmt.Errorf("a body of the suite is not JSON: %w", err)
	}
	var b strings.Builder
	for _, r := range buf.String() {
		switch {
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String(), nil
}

// curl writes a request as a line to paste. Status shows the answer's status after its body.
func (s *shot) curl(status bool) (string, error) {
	var b strings.Builder
	b.WriteString("curl -sS")
	if s.step.Method != "GET" {
		b.WriteString(" -X " + s.step.Method)
	}
	if len(s.step.Body) > 0 {
		body, err := plainJSON(s.step.Body)
		if err != nil {
			return "", err
		}
		b.WriteString(" -H 'Content-Type: application/json' --data-binary " + s.word(body))
	}
	b.WriteString(` "$BASE"` + s.word(s.step.Target()))
	if s.into != "" && !status {
		return s.into + "=$(" + b.String() + " | rowid)", nil
	}
	if status {
		b.WriteString(` -w '\n%{http_code}\n'`)
	}
	return b.String(), nil
}

// send writes a request for the functions of the script.
func (s *shot) send() (string, error) {
	line := "send " + s.step.Method + " " + s.word(s.step.Target())
	if len(s.step.Body) == 0 {
		return line, nil
	}
	body, err := plainJSON(s.step.Body)
	return line + " " + s.word(body), err
}

// right writes what the answer must be.
func (s *shot) right() (string, error) {
	line := "right " + strconv.Itoa(s.step.Status)
	if s.step.Match == "" {
		return line, nil
	}
	body, err := plainJSON(s.step.Expect)
	return line + " " + s.step.Match + " " + s.word(body), err
}
