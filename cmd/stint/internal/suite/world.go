package suite

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Bounds of what is kept of one exchange and of one line, and of all answers of a world before each is cut to a
// stub: control characters take six times the room in JSON, and a result that is too large would be our fault.
const (
	maxKept      = 4 << 10
	maxLine      = 300
	maxKeptWorld = 2 << 20
	stubKept     = 256
)

// outcome is what one check came to in one run. The zero status means that it passed.
type outcome struct {
	status, request, expected, actual string
	exchanges                         []Exchange
}

// player plays checks against one server, in order, one request in flight.
type player struct {
	transport transport
	ended     func() bool // says whether the server's process is gone
	symbols   symbols     // of the world
	requests  int         // sent
	bad       int         // without an answer, or answered with 5xx
	kept      int         // bytes of answers of failed checks so far
	dead      bool        // the server ended before the last check was done
	waited    time.Duration
	wants     map[string]any // see [Step.judge]
}

// setup seeds the world. Its steps assert nothing: checks that need a row which was not made cannot be carried out.
func (p *player) setup(ctx context.Context, steps []Step) error {
	p.symbols = symbols{}
	for _, st := range steps {
		if p.dead {
			return nil
		}
		if _, _, err := p.step(ctx, st, p.symbols, nil); err != nil {
			return err
		}
	}
	return nil
}

// check plays one check up to its first failing step. The error is ours: the context ended.
func (p *player) check(ctx context.Context, c *Check) (outcome, error) {
	local := make(symbols, len(p.symbols)+4)
	for k, v := range p.symbols {
		local[k] = v
	}
	var exchanges []Exchange
	for _, st := range c.Steps {
		verdict, ex, err := p.step(ctx, st, local, &exchanges)
		if err != nil {
			return outcome{}, err
		}
		if verdict == nil {
			continue
		}
		o := outcome{status: StatusFail, exchanges: p.keep(exchanges), expected: oneLine(verdict.expected, maxLine), actual: oneLine(verdict.actual, maxLine)}
		o.request = oneLine(strings.TrimSpace(ex.Method+" "+ex.Path+" "+ex.Body), maxLine)
		if st.Setup || ex.Status == 0 {
			o.status = StatusError
		}
		return o, nil
	}
	return outcome{}, nil
}

// keep counts the answers of a failed check and cuts them once those before have taken the world's room.
func (p *player) keep(exchanges []Exchange) []Exchange {
	full := p.kept > maxKeptWorld
	for i := range exchanges {
		ex := &exchanges[i]
		if full && len(ex.Response) > stubKept {
			ex.Cut += len(ex.Response) - stubKept
			ex.Response = strings.ToValidUTF8(ex.Response[:stubKept], "\uFFFD")
		}
		p.kept += len(ex.Response)
	}
	return exchanges
}

// mismatch is a step's expectation and what came instead.
type mismatch struct{ expected, actual string }

// step sends one request and compares; a nil mismatch means that the answer is right.
func (p *player) step(ctx context.Context, st Step, sy symbols, kept *[]Exchange) (*mismatch, Exchange, error) {
	ex := Exchange{Method: st.Method}
	ex.Path, _ = sy.fill(st.Target())
	ex.Body, _ = sy.fill(string(st.Body))
	if st.missing(sy) != "" {
		ex.Error = "not sent: a row that it needs was not made"
		if kept != nil {
			*kept = append(*kept, ex)
		}
		return &mismatch{st.expectation(), "no answer: " + ex.Error}, ex, nil
	}
	var body []byte
	if len(st.Body) > 0 {
		body = []byte(ex.Body)
	}
	a, err := p.transport.do(ctx, st.Method, ex.Path, body)
	if err != nil {
		return nil, ex, err
	}
	p.requests++
	if a.Error != "" || a.Status >= 500 {
		p.bad++
	}
	if a.Error != "" && !a.Late {
		p.dead = p.gone()
	}
	ex.Status, ex.Error = a.Status, a.Error
	if kept != nil {
		text := a.Body
		if len(text) > maxKept {
			ex.Cut = len(text) - maxKept
			text = text[:maxKept]
		}
		ex.Response = strings.ToValidUTF8(string(text), "\uFFFD")
		*kept = append(*kept, ex)
	}
	return st.judge(a, sy, p.wants), ex, nil
}

// maxWaited bounds how long a world waits in all to learn whether broken connections mean the end of the process.
const maxWaited = 500 * time.Millisecond

// gone asks a few times whether the process has ended: a connection breaks before the process is reaped.
func (p *player) gone() bool {
	for wait := time.Millisecond; wait < 100*time.Millisecond && p.waited < maxWaited; wait *= 2 {
		if p.ended() {
			return true
		}
		time.Sleep(wait)
		p.waited += wait
	}
	return p.ended()
}

// expectation is the expected side of a step on which there is nothing to compare.
func (st Step) expectation() string { return fmt.Sprint(st.Status) }

// judge compares an answer with the step's expectation and binds its capture.
// wants keeps decoded expectations by their text; nil = it keeps none.
func (st Step) judge(a answer, sy symbols, wants map[string]any) *mismatch {
	if a.Error != "" {
		return &mismatch{st.expectation(), "no answer: " + a.Error}
	}
	if a.Status != st.Status {
		actual := fmt.Sprint(a.Status)
		if body := strings.TrimSpace(string(a.Body[:min(len(a.Body), maxLine)])); body != "" {
			actual += "; body = " + body
		}
		expected := st.expectation()
		if a.Status >= 200 && st.Status >= 400 && len(st.Expect) > 0 {
			expected += "; body = " + string(st.Expect)
		}
		return &mismatch{expected, actual}
	}
	if st.Match == "" && st.Capture == "" {
		return nil
	}
	got, err := a.decoded()
	if err != nil {
		return &mismatch{st.expectation() + "; body is JSON", fmt.Sprintf("%d; body is not JSON: %s", a.Status, oneLine(string(a.Body), 100))}
	}
	if m := st.bind(got, sy); m != nil || st.Match == "" {
		return m
	}
	text, _ := sy.fill(string(st.Expect))
	want, known := wants[text]
	if !known {
		if want, err = decodeBody([]byte(text)); err != nil {
			return &mismatch{st.expectation(), "the expectation is not JSON"}
		}
		if wants != nil {
			wants[text] = want
		}
	}
	return asMismatch(st.Status, compare(st.Match, want, got))
}

// bind captures the id of the answer.
func (st Step) bind(got any, sy symbols) *mismatch {
	if st.Capture == "" {
		return nil
	}
	object, _ := got.(map[string]any)
	id, ok := asID(object["id"])
	if !ok {
		have := "is missing"
		if v, there := object["id"]; there {
			have = "= " + show(v)
		}
		return asMismatch(st.Status, []difference{{"id", "= an integer", have}})
	}
	sy[st.Capture] = id
	if before, ok := sy[st.Above]; st.Above != "" && ok && id <= before {
		return asMismatch(st.Status, []difference{{"id", fmt.Sprintf("> %d, the id given before", before), "= " + fmt.Sprint(id)}})
	}
	return nil
}

func asMismatch(status int, diffs []difference) *mismatch {
	if len(diffs) == 0 {
		return nil
	}
	m := &mismatch{fmt.Sprint(status), fmt.Sprint(status)}
	for _, d := range diffs {
		m.expected += "; " + d.Path + " " + d.Want
		m.actual += "; " + d.Path + " " + d.Have
	}
	return m
}
