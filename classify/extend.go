package classify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// MaxUserRules bounds a file of a user's leaves and rules, in bytes.
const MaxUserRules = 1 << 20

// userBook is what a user can add to the codebook.
type userBook struct {
	Leaves       []Leaf     `yaml:"leaves"`
	ExplainsAway []Explains `yaml:"explains_away"`
	Limits       []Limit    `yaml:"limits"`
	Rules        []Rule     `yaml:"rules"`
}

// RulesError is what is wrong with a file of a user's leaves and rules.
type RulesError struct {
	Line  int    // from 1; 0 = the file as a whole
	Entry string // id of the entry, or which one it is: rules[2]
	Err   error
}

func (e *RulesError) Error() string {
	if e.Entry == "" {
		return e.Err.Error()
	}
	return e.Entry + ": " + e.Err.Error()
}

func (e *RulesError) Unwrap() error { return e.Err }

// ExtendCodebook returns the embedded codebook with a user's leaves, rules, limits and pairs of explains_away behind its
// own. The rules are held to their examples; further, no rule may fire on a negative example of another one of another
// leaf that the same channel could say. A file that only adds rules keeps the taxonomy's name; with new leaves the name
// gets a suffix, since the verdicts are of another taxonomy then. What is wrong is a [*RulesError].
func ExtendCodebook(b []byte) (*Taxonomy, error) {
	if len(b) > MaxUserRules {
		return nil, &RulesError{Err: fmt.Errorf("the file has %d bytes, more than %d", len(b), MaxUserRules)}
	}
	var u userBook
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.DisallowUnknownField()).Decode(&u); err != nil {
		return nil, yamlError(err)
	}
	if len(u.Leaves)+len(u.ExplainsAway)+len(u.Limits)+len(u.Rules) == 0 {
		return nil, &RulesError{Err: errors.New("the file adds nothing: it may hold leaves, rules, limits and explains_away")}
	}
	t, err := ParseCodebook(codebookYAML)
	if err != nil {
		return nil, err
	}
	own := sizes{len(t.Leaves), len(t.ExplainsAway), len(t.Limits), len(t.Rules)}
	t.Leaves = append(t.Leaves, u.Leaves...)
	t.ExplainsAway = append(t.ExplainsAway, u.ExplainsAway...)
	t.Limits = append(t.Limits, u.Limits...)
	t.Rules = append(t.Rules, u.Rules...)
	t.added = len(u.Rules)
	t.leaves = map[string]*Leaf{}
	for i := range t.Leaves {
		if l := &t.Leaves[i]; t.leaves[l.ID] == nil {
			t.leaves[l.ID] = l
		}
	}
	if path, entry, err := t.checkAdded(own); err != nil {
		return nil, &RulesError{Line: lineOfPath(b, path), Entry: cmp.Or(entry, strings.TrimPrefix(path, "$.")), Err: err}
	}
	sum := sha256.Sum256(slices.Concat(codebookYAML, []byte{0}, b))
	t.hash = hex.EncodeToString(sum[:])
	if len(u.Leaves) > 0 {
		t.Name += "+" + t.hash[:8]
	}
	return t, nil
}

// sizes are how many entries of each kind are the embedded book's own.
type sizes struct{ leaves, explains, limits, rules int }

// checkAdded checks what a user added, and says where in the file an error stands.
func (t *Taxonomy) checkAdded(own sizes) (path, entry string, err error) {
	for i := own.leaves; i < len(t.Leaves); i++ {
		if err := t.checkLeaf(i); err != nil {
			return fmt.Sprintf("$.leaves[%d]", i-own.leaves), t.Leaves[i].ID, err
		}
		if l1 := t.Leaves[i].L1(); l1 != "infra" && l1 != "bench" {
			return fmt.Sprintf("$.leaves[%d]", i-own.leaves), t.Leaves[i].ID, fmt.Errorf("a leaf of one's own is of infra or bench; what is %s, the contract table decides", l1)
		}
	}
	for i := own.explains; i < len(t.ExplainsAway); i++ {
		e := t.ExplainsAway[i]
		for _, id := range append([]string{e.Cause}, e.Explains...) {
			if t.leaves[id] == nil && id != "*" {
				return fmt.Sprintf("$.explains_away[%d]", i-own.explains), e.Cause, fmt.Errorf("%q is no leaf", id)
			}
		}
	}
	for i := own.limits; i < len(t.Limits); i++ {
		l := t.Limits[i]
		switch {
		case t.leaves[l.Leaf] == nil:
			err = fmt.Errorf("%q is no leaf", l.Leaf)
		case l.EndedBy == "" || slices.ContainsFunc(t.Limits[:i], func(o Limit) bool { return o.EndedBy == l.EndedBy }):
			err = errors.New("a limit needs ended_by, and one that has no meaning yet")
		}
		if err != nil {
			return fmt.Sprintf("$.limits[%d]", i-own.limits), l.EndedBy, err
		}
	}
	for i := own.rules; i < len(t.Rules); i++ {
		path := fmt.Sprintf("$.rules[%d]", i-own.rules)
		if err := t.checkRule(i); err != nil {
			return path, t.Rules[i].ID, err
		}
		if err := t.checkRuleLevel(i); err != nil {
			return path, t.Rules[i].ID, err
		}
		if other, text := t.firesElsewhere(i); other != "" {
			return path, t.Rules[i].ID, fmt.Errorf("the rule fires on %q, which is an example of what rule %s must not be confused with", text, other)
		}
	}
	return "", "", nil
}

// firesElsewhere finds a negative example of the embedded book that a rule of a user fires on: texts of healthy runs.
func (t *Taxonomy) firesElsewhere(i int) (rule, text string) {
	for k := range t.Rules[:i] {
		for _, n := range t.Rules[k].Negative {
			if t.Rules[i].says(n) {
				return t.Rules[k].ID, n
			}
		}
	}
	return "", ""
}

// checkLevels holds all rules to the levels that a rule can name.
func (t *Taxonomy) checkLevels() (what string, err error) {
	for i := range t.Rules {
		if err := t.checkRuleLevel(i); err != nil {
			return t.Rules[i].ID, err
		}
	}
	return "", nil
}

// checkRuleLevel: a rule about what a channel says is about infrastructure or the benchmark.
func (t *Taxonomy) checkRuleLevel(i int) error {
	if l1 := levelOf(t.Rules[i].Leaf); l1 != "infra" && l1 != "bench" {
		return fmt.Errorf("a rule cannot name %s: drift is decided by the failing checks, and unknown by nobody", t.Rules[i].Leaf)
	}
	return nil
}

// lineOfPath is the line of an entry in a YAML file; 0 if there is none.
func lineOfPath(b []byte, path string) int {
	p, err := yaml.PathString(path)
	if err != nil {
		return 0
	}
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return 0
	}
	n, err := p.FilterFile(f)
	if err != nil || n.GetToken() == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// yamlError takes the line out of an error of the YAML reader.
func yamlError(err error) *RulesError {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		return &RulesError{Line: y.GetToken().Position.Line, Err: errors.New(y.GetMessage())}
	}
	return &RulesError{Err: err}
}

// UserRules is how many rules a user added.
func (t *Taxonomy) UserRules() int { return t.added }
