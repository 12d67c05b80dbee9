package suite

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// Bounds of one feedback text.
const (
	maxToldChecks = 30
	maxToldBytes  = 16 << 10
	maxLogLines   = 60
	maxLogLine    = 180
)

// Told is the feedback text of a failed attempt and how many failing checks it leaves out.
type Told struct {
	Text    string `json:"text"`
	Omitted int    `json:"omitted"`
}

// minimalText is all that the level minimal ever says.
const minimalText = "The service does not yet meet the specification.\n"

// Feedback renders what the agent is told about a failed attempt. Levels are minimal (one fixed sentence),
// moderate (titles of failing checks) and detailed (requirement, requests, expected and actual); any other level,
// and an attempt that passed or was never graded, has no text. The same result gives the same bytes; hosts, ports
// and folders of this machine do not appear.
func Feedback(level string, s *Suite, r *Result) Told {
	if r == nil || r.Passed == nil || *r.Passed {
		return Told{}
	}
	switch level {
	case "minimal":
		return Told{Text: minimalText, Omitted: r.Failed}
	case "moderate", "detailed":
	default:
		return Told{}
	}
	order := tellingOrder(s, r.Failures)
	head := heading(r)
	if level == "detailed" {
		head += logTail(r)
	}
	var b strings.Builder
	b.WriteString(head)
	told := 0
	const footer = 200 // room for the last line
	for _, i := range order {
		f := r.Failures[i]
		text := fmt.Sprintf("- %s %s: %s\n", statusWord(f), f.ID, f.Title)
		if level == "detailed" {
			text = fmt.Sprintf("\n%d. %s", told+1, detail(s, f))
		}
		if told == maxToldChecks || b.Len()+len(text) > maxToldBytes-footer {
			break
		}
		b.WriteString(text)
		told++
	}
	if left := len(order) - told; left > 0 {
		fmt.Fprintf(&b, "\n%d more failing checks are not shown.\n", left)
	}
	return Told{Text: b.String(), Omitted: r.Failed - told}
}

// heading is the totals and, if the service was not up to the end, what became of it.
func heading(r *Result) string {
	notRun := 0
	for _, f := range r.Failures {
		if f.Status == StatusNotRun {
			notRun++
		}
	}
	text := fmt.Sprintf("The service does not yet meet the specification: %d of %d checks passed, %d failed", r.Checks-r.Failed, r.Checks, r.Failed-notRun)
	if notRun > 0 {
		text += fmt.Sprintf(", %d could not be run", notRun)
	}
	text += ".\n"
	switch r.Reason {
	case ReasonStart:
		text += "The service did not start: " + startWord(r) + ".\n"
	case ReasonCrash:
		text += "The service ended while it was being used.\n"
	case ReasonSuiteTime:
		text += "The service answered so slowly that time ran out.\n"
	}
	return text
}

func startWord(r *Result) string {
	for _, e := range r.Servers {
		if e.Kind != "exit" {
			continue
		}
		switch e.Reason {
		case "exited":
			if e.End != nil && e.End.Exit != nil {
				return fmt.Sprintf("start.sh ended with exit code %d before GET /health was answered", *e.End.Exit)
			}
			return "start.sh ended before GET /health was answered"
		case "start_timeout":
			return "nothing listened on PORT in time"
		case "start_unhealthy":
			return "GET /health was not answered with 200 in time"
		case "no_start_sh":
			return "there is no start.sh that can be run"
		}
	}
	return "it could not be reached"
}

// logTail is the last lines of the log of the first server that ended by itself, made the same on every machine.
func logTail(r *Result) string {
	if r.Reason != ReasonStart && r.Reason != ReasonCrash {
		return ""
	}
	for _, e := range r.Servers {
		if e.Kind != "exit" || e.End == nil {
			continue
		}
		log := strings.TrimRight(e.End.Log, "\n\r\t ")
		if log == "" {
			return "It printed nothing.\n"
		}
		lines := strings.Split(log, "\n")
		if len(lines) > maxLogLines {
			lines = lines[len(lines)-maxLogLines:]
		}
		var b strings.Builder
		b.WriteString("The last lines that it printed:\n")
		for _, l := range lines {
			b.WriteString("  | " + oneLine(anonymous(strings.TrimRight(l, "\r")), maxLogLine) + "\n")
		}
		return b.String()
	}
	return ""
}

var (
	deepPath = regexp.MustCompile(`(?:/[A-Za-z0-9._@+~-]+){2,}/([A-Za-z0-9._@+~-]+)`)
	hostPort = regexp.MustCompile(`(127\.0\.0\.1|0\.0\.0\.0|localhost|\[::1?\]):\d+`)
	portWord = regexp.MustCompile(`(?i)\b(port|pid)([ =:#]+)\d+`)
)

// anonymous takes out of a log line what belongs to this machine and this run: folders, ports and process ids.
func anonymous(line string) string {
	line = hostPort.ReplaceAllString(line, "$1:PORT")
	line = portWord.ReplaceAllString(line, "$1$2…")
	return deepPath.ReplaceAllString(line, "$1")
}

// statusWord tells what failed from what could not be carried out.
func statusWord(f Failure) string {
	if f.Status == StatusError {
		return "ERROR"
	}
	return "FAIL"
}

// detail is one failing check in full: requirement, requests, expected, actual, since when.
func detail(s *Suite, f Failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", statusWord(f), f.ID, f.Title)
	shown := map[string]bool{}
	for _, id := range []string{f.Clauses[0], s.youngest(f.Clauses)} {
		if c := s.Clause(id); c != nil && !shown[id] {
			fmt.Fprintf(&b, "   Required: %s\n", oneLine(c.Text, 2*maxLine))
			shown[id] = true
		}
	}
	for _, ex := range f.Exchanges {
		fmt.Fprintf(&b, "   Request: %s\n", exchangeLine(ex))
	}
	fmt.Fprintf(&b, "   Expected: %s\n   Actual: %s\n   Note: %s\n", f.Expected, f.Actual, f.Hint)
	return b.String()
}

func exchangeLine(ex Exchange) string {
	request := oneLine(strings.TrimSpace(ex.Method+" "+ex.Path+" "+ex.Body), maxLine)
	if ex.Error != "" {
		return request + " -> no answer: " + ex.Error
	}
	return oneLine(strings.TrimSpace(fmt.Sprintf("%s -> %d %s", request, ex.Status, strings.TrimSpace(ex.Response))), 2*maxLine)
}

// tellingOrder ranks failing checks for the agent: what really failed before what could not be carried out or
// passed alone, the first of every clause before the second, the newest clause first. Checks never run are left
// to the totals.
func tellingOrder(s *Suite, failures []Failure) []int {
	type rank struct{ weak, nth, turn, clause, at int }
	var ranks []rank
	seen := map[[2]int]int{}
	for i, f := range failures {
		if f.Status == StatusNotRun {
			continue
		}
		k := rank{at: i, clause: clauseNumber(f.Clauses[0])}
		if f.Status != StatusFail || f.Confirmed != nil && !*f.Confirmed {
			k.weak = 1
		}
		if c := s.Clause(s.youngest(f.Clauses)); c != nil {
			k.turn = max(c.Introduced, c.Changed)
		}
		k.nth = seen[[2]int{k.weak, k.clause}]
		seen[[2]int{k.weak, k.clause}]++
		ranks = append(ranks, k)
	}
	sort.SliceStable(ranks, func(a, b int) bool {
		x, y := ranks[a], ranks[b]
		switch {
		case x.weak != y.weak:
			return x.weak < y.weak
		case x.nth != y.nth:
			return x.nth < y.nth
		case x.turn != y.turn:
			return x.turn > y.turn
		}
		return x.clause < y.clause
	})
	order := make([]int, len(ranks))
	for i, k := range ranks {
		order[i] = k.at
	}
	return order
}

// youngest is the cited clause that was introduced or changed last; the first cited of equals.
func (s *Suite) youngest(ids []string) string {
	best, turn := "", -1
	for _, id := range ids {
		if c := s.Clause(id); c != nil && max(c.Introduced, c.Changed) > turn {
			best, turn = id, max(c.Introduced, c.Changed)
		}
	}
	return best
}

// since says since when what a check asserts is asked for.
func (s *Suite) since(c Check) string {
	cl := s.Clause(s.youngest(c.Clauses))
	if cl == nil {
		return ""
	}
	change := func(turn int) string {
		switch turn {
		case 0:
			return "the first version"
		case s.Turn:
			return fmt.Sprintf("the current change (number %d)", turn)
		}
		return fmt.Sprintf("change %d", turn)
	}
	if cl.Changed > cl.Introduced {
		return fmt.Sprintf("required since %s, in this form since %s", change(cl.Introduced), change(cl.Changed))
	}
	return "required since " + change(cl.Introduced)
}
