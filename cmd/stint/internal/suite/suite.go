package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// The worlds of a suite. Each is one fresh server process with an empty store.
const (
	Seeded = "W0" // rows from World.Setup; lists and analytics
	Own    = "W1" // every check makes the rows it needs
	Empty  = "W2" // empty lists, empty analytics, leak checks
)

// The ages of a check at the turn of its suite: that of the youngest clause it cites.
const (
	AgeNew     = "new"     // introduced this turn
	AgeChanged = "changed" // its parameters changed this turn
	AgeOld     = "old"
)

// Suite is every check of one turn. It is plain data: the same scenario and version give the same bytes.
type Suite struct {
	Version string       `json:"version"`
	Turn    int          `json:"turn"`
	Clauses []ClauseInfo `json:"clauses"` // in the order of their numbers
	Worlds  []World      `json:"worlds"`
	Checks  []Check      `json:"checks"` // within a world in the order in which they run
}

// ClauseInfo is a clause as the suite's turn has it.
type ClauseInfo struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	Title      string `json:"title"`
	Text       string `json:"text"`
	Introduced int    `json:"introduced"`
	Changed    int    `json:"changed"`
}

// Age is that of the clause at a turn.
func (c ClauseInfo) Age(turn int) string {
	switch turn {
	case c.Introduced:
		return AgeNew
	case c.Changed:
		return AgeChanged
	}
	return AgeOld
}

// World is one server's life: the steps that seed it, which assert nothing but their status.
type World struct {
	Name  string `json:"name"`
	Setup []Step `json:"setup,omitempty"`
}

// Check is one behaviour with the clauses that demand it. Category, Intent and Mutation are from the closed
// lists [Categories], [Intents] and [Mutations].
type Check struct {
	ID         string   `json:"id"` // k17.below
	Title      string   `json:"title"`
	Clauses    []string `json:"clauses"` // the subject first
	Category   string   `json:"category"`
	Intent     string   `json:"intent"`
	Mutation   string   `json:"mutation"`
	World      string   `json:"world"`
	Introduced int      `json:"introduced"` // turn of the subject clause
	Age        string   `json:"age"`
	Steps      []Step   `json:"steps,omitempty"` // left out in a Failure
}

// Step is one request and what must come back. In Path and in strings of Body and Expect, "${a}" is the id
// captured as a; a string that is nothing but "${a}" is that id as a number, "${a:s}" the id as a string.
// In Expect a number with a decimal point is compared within half a hundredth, one without exactly.
type Step struct {
	Method  string          `json:"m"`
	Path    string          `json:"p"`
	Query   string          `json:"q,omitempty"` // encoded, without "?": NAME=VALUE joined by "&"; a space is %20
	Body    json.RawMessage `json:"b,omitempty"`
	Status  int             `json:"s"`
	Match   string          `json:"x,omitempty"` // "" when the body is not looked at, else Exact, Present or Subset
	Expect  json.RawMessage `json:"e,omitempty"`
	Capture string          `json:"c,omitempty"` // symbol bound to the integer "id" of the answer
	Above   string          `json:"a,omitempty"` // the captured id must be greater than this symbol
	Setup   bool            `json:"t,omitempty"` // makes a row that the check needs; not what it is about
	Needs   []string        `json:"n,omitempty"` // symbols without which the answer can not be as expected
}

// How Step.Expect is compared. Lists are always compared whole and in order.
const (
	Exact   = "exact"   // objects have exactly the expected keys
	Present = "present" // objects have at least the expected keys
	Subset  = "subset"  // as Present, and where null is expected the key may be missing
)

// Categories is the closed list of Check.Category.
func Categories() []string {
	return []string{"create", "read", "not_found", "list", "replace", "update", "delete", "keys", "leak", "type", "required", "optional",
		"default", "null", "range", "length", "enum", "pattern", "order", "immutable", "unique", "relation", "on_delete",
		"filter", "sort", "page", "analytics", "removed", "health", "errors", "computed", "state", "transition", "action", "guard", "effect"}
}

// Intents is the closed list of Check.Intent.
func Intents() []string { return []string{"accept", "reject", "shape", "value", "effect", "gone"} }

// Mutations is the closed list of Check.Mutation: what is wrong with the request that is refused, or "none".
func Mutations() []string {
	return []string{"none", "null", "missing", "type", "range", "enum", "length", "extra", "unique", "guard"}
}

// ByAge counts the checks by age: new, changed, old. All three keys are present.
func (s *Suite) ByAge() map[string]int {
	n := map[string]int{AgeNew: 0, AgeChanged: 0, AgeOld: 0}
	for _, c := range s.Checks {
		n[c.Age]++
	}
	return n
}

// Requests counts the steps of all checks and worlds.
func (s *Suite) Requests() int {
	n := 0
	for _, w := range s.Worlds {
		n += len(w.Setup)
	}
	for _, c := range s.Checks {
		n += len(c.Steps)
	}
	return n
}

// Clause returns the clause with this id, or nil.
func (s *Suite) Clause(id string) *ClauseInfo {
	for i := range s.Clauses {
		if s.Clauses[i].ID == id {
			return &s.Clauses[i]
		}
	}
	return nil
}

// Encode returns the canonical bytes of a suite: compact JSON with a final newline.
func (s *Suite) Encode() ([]byte, error) {
	b, err := marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding suite of turn %d: %w", s.Turn, err)
	}
	return append(b, '\n'), nil
}

// marshal is json.Marshal without the escaping of <, > and &.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Decode reads what Encode wrote and refuses everything that could not be run.
func Decode(b []byte) (*Suite, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var s Suite
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("decoding suite: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("decoding suite: something follows the suite")
	}
	if err := s.valid(); err != nil {
		return nil, fmt.Errorf("decoding suite of turn %d: %w", s.Turn, err)
	}
	return &s, nil
}

// valid says whether a suite can be run: known worlds, sound steps, no check twice.
func (s *Suite) valid() error {
	if s.Version == "" {
		return fmt.Errorf("no version")
	}
	worlds := map[string]bool{}
	for _, w := range s.Worlds {
		if w.Name == "" || worlds[w.Name] {
			return fmt.Errorf("world %q is unnamed or there twice", w.Name)
		}
		worlds[w.Name] = true
		if err := validSteps(w.Setup); err != nil {
			return fmt.Errorf("world %s: %w", w.Name, err)
		}
	}
	checks := map[string]bool{}
	for _, c := range s.Checks {
		switch {
		case c.ID == "" || checks[c.ID]:
			return fmt.Errorf("check %q is unnamed or there twice", c.ID)
		case !worlds[c.World]:
			return fmt.Errorf("check %s: no world %q", c.ID, c.World)
		case len(c.Clauses) == 0:
			return fmt.Errorf("check %s cites no clause", c.ID)
		case len(c.Steps) == 0:
			return fmt.Errorf("check %s has no step", c.ID)
		}
		checks[c.ID] = true
		if err := validSteps(c.Steps); err != nil {
			return fmt.Errorf("check %s: %w", c.ID, err)
		}
	}
	return nil
}

var (
	methodForm = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE)$`)
	// A path is fixed text and symbols: nothing that a URL parser could take for a host, query or fragment.
	pathForm = regexp.MustCompile(`^(/([A-Za-z0-9_.~-]|\$\{[a-z0-9_]+\})+)+$`)
	// A query is encoded as far as any URL parser could wish: every other byte is %XX, a space too.
	queryForm = regexp.MustCompile(`^[a-z0-9_]+=([A-Za-z0-9_.~-]|%[0-9A-F]{2})*(&[a-z0-9_]+=([A-Za-z0-9_.~-]|%[0-9A-F]{2})*)*$`)
)

func validSteps(steps []Step) error {
	for i, st := range steps {
		switch {
		case !methodForm.MatchString(st.Method):
			return fmt.Errorf("step %d: method %q", i+1, st.Method)
		case !pathForm.MatchString(st.Path):
			return fmt.Errorf("step %d: path %q", i+1, st.Path)
		case st.Query != "" && !queryForm.MatchString(st.Query):
			return fmt.Errorf("step %d: query %q", i+1, st.Query)
		case st.Status < 100 || st.Status > 599:
			return fmt.Errorf("step %d: status %d", i+1, st.Status)
		}
		switch st.Match {
		case "":
			if len(st.Expect) > 0 {
				return fmt.Errorf("step %d: a body is expected but no way of comparing it is named", i+1)
			}
		case Exact, Present, Subset:
			if len(st.Expect) == 0 {
				return fmt.Errorf("step %d: no body to compare with", i+1)
			}
		default:
			return fmt.Errorf("step %d: unknown comparison %q", i+1, st.Match)
		}
	}
	return nil
}

// Target is what follows the host in the request's URL: the path, and the query behind a "?" if there is one.
func (st Step) Target() string {
	if st.Query == "" {
		return st.Path
	}
	return st.Path + "?" + st.Query
}

// missing names the first symbol that a step refers to but does not capture itself and that is not bound, or "".
func (st Step) missing(sy symbols) string {
	for _, name := range st.Needs {
		if _, ok := sy[name]; !ok {
			return name
		}
	}
	for _, text := range []string{st.Path, string(st.Body), string(st.Expect)} {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, "${")
			name, tail, closed := strings.Cut(after, "}")
			if !found || !closed {
				break
			}
			name = strings.TrimSuffix(name, ":s")
			if _, ok := sy[name]; !ok && name != st.Capture {
				return name
			}
			rest = tail
		}
	}
	return ""
}

// symbols holds captured ids by name.
type symbols map[string]int64

// symbolForm finds a whole string of one symbol (numbers) or a symbol inside text.
var symbolForm = regexp.MustCompile(`"\$\{([a-z0-9_]+)\}"|\$\{([a-z0-9_]+)(:s)?\}`)

// fill puts the captured ids into a path or JSON text; missing names the first symbol that is not bound.
func (sy symbols) fill(text string) (out, missing string) {
	if !strings.Contains(text, "${") {
		return text, ""
	}
	out = symbolForm.ReplaceAllStringFunc(text, func(m string) string {
		name := strings.Trim(strings.TrimSuffix(strings.Trim(m, `"`), "}"), "${")
		name = strings.TrimSuffix(name, ":s")
		id, ok := sy[name]
		if !ok {
			if missing == "" {
				missing = name
			}
			return m
		}
		return fmt.Sprint(id)
	})
	return out, missing
}
