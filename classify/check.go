package classify

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// The classes of status in the contract table.
var statusClasses = []string{"any", "2xx", "404", "405", "4xx", "5xx", "none"}

var trustedChannels = []string{logs.ChannelHarness, logs.ChannelProvider, logs.ChannelVerifier, logs.ChannelSystem}

// ruleKinds are the kinds of events that rules are tried on.
var ruleKinds = []string{logs.EventError, logs.EventNotice, logs.EventEnd, logs.EventAgentExit, logs.EventCut, logs.EventMessage, logs.EventModelAnswer}

// check validates a codebook. What names the entry that is wrong.
func (t *Taxonomy) check() (what string, err error) {
	if t.Name == "" {
		return "taxonomy", errors.New("the taxonomy has no name")
	}
	for i := range t.Leaves {
		if err := t.checkLeaf(i); err != nil {
			return t.Leaves[i].ID, err
		}
	}
	for _, e := range t.ExplainsAway {
		for _, id := range append([]string{e.Cause}, e.Explains...) {
			if id != "*" && t.leaves[id] == nil {
				return e.Cause, fmt.Errorf("%q is no leaf", id)
			}
		}
		for _, id := range e.Late {
			if !slices.Contains(e.Explains, id) {
				return e.Cause, fmt.Errorf("%q is late, and is not among what it explains", id)
			}
		}
	}
	for _, g := range t.Grades {
		if t.leaves[g.Leaf] == nil {
			return g.Reason, fmt.Errorf("%q is no leaf", g.Leaf)
		}
	}
	for _, l := range t.Limits {
		if t.leaves[l.Leaf] == nil {
			return l.EndedBy, fmt.Errorf("%q is no leaf", l.Leaf)
		}
	}
	for _, id := range t.Poisons {
		if t.leaves[id] == nil {
			return id, fmt.Errorf("%q is no leaf", id)
		}
	}
	for i := range t.Contract {
		if err := t.checkRow(i); err != nil {
			return t.Contract[i].ID, err
		}
	}
	for i := range t.Rules {
		if err := t.checkRule(i); err != nil {
			return t.Rules[i].ID, err
		}
	}
	return t.checkDetectors()
}

func (t *Taxonomy) checkLeaf(i int) error {
	l := &t.Leaves[i]
	switch {
	case t.Levels[l.L1()] == "" || l.L1() == l.ID:
		return fmt.Errorf("the leaf is on none of the levels drift, infra, bench, unknown")
	case t.leaves[l.ID] != l:
		return errors.New("the leaf is there twice")
	case l.Title == "" || l.Definition == "" || l.Includes == "" || l.Excludes == "" || l.Signature == "" || l.Example == "":
		return errors.New("a leaf needs title, definition, includes, excludes, signature and example")
	}
	return nil
}

func (t *Taxonomy) checkRow(i int) error {
	r := &t.Contract[i]
	switch {
	case r.ID == "" || slices.ContainsFunc(t.Contract[:i], func(o Row) bool { return o.ID == r.ID }):
		return fmt.Errorf("row %d has no id, or one that is there twice", i+1)
	case t.leaves[r.Mechanism] == nil:
		return fmt.Errorf("%q is no leaf", r.Mechanism)
	case len(r.Expected) == 0 || len(r.Actual) == 0 || r.Says == "":
		return errors.New("a row needs expected, actual and says")
	}
	for _, c := range slices.Concat(r.Expected, r.Actual) {
		if !slices.Contains(statusClasses, c) {
			return fmt.Errorf("%q is no class of status: there are %s", c, strings.Join(statusClasses, ", "))
		}
	}
	for _, c := range r.When {
		if !slices.Contains(conditions, c) {
			return fmt.Errorf("%q is no condition: there are %s", c, strings.Join(conditions, ", "))
		}
	}
	for _, o := range t.Contract[:i] {
		if covers(o.Expected, r.Expected) && covers(o.Actual, r.Actual) && len(o.When) == 0 {
			return fmt.Errorf("row %s takes everything this row is for", o.ID)
		}
	}
	if i == len(t.Contract)-1 && !(slices.Contains(r.Expected, "any") && slices.Contains(r.Actual, "any") && len(r.When) == 0) {
		return errors.New("the last row must take everything")
	}
	return nil
}

func covers(outer, inner []string) bool {
	if slices.Contains(outer, "any") {
		return true
	}
	for _, c := range inner {
		if !slices.Contains(outer, c) {
			return false
		}
	}
	return true
}

// checkRule compiles a rule and holds it to its examples.
func (t *Taxonomy) checkRule(i int) error {
	r := &t.Rules[i]
	switch {
	case r.ID == "" || slices.ContainsFunc(t.Rules[:i], func(o Rule) bool { return o.ID == r.ID }):
		return fmt.Errorf("rule %d has no id, or one that is there twice", i+1)
	case t.leaves[r.Leaf] == nil:
		return fmt.Errorf("%q is no leaf", r.Leaf)
	case !slices.Contains([]string{"strong", "medium", "weak"}, r.Strength):
		return fmt.Errorf("strength %q is none of strong, medium, weak", r.Strength)
	case len(r.Anchors) == 0 || len(r.Channels) == 0:
		return errors.New("a rule needs anchors and channels")
	case len(r.Positive) < 1 || len(r.Negative) < 2:
		return errors.New("a rule needs at least one positive and two negative examples")
	}
	if r.After != "" && r.After != logs.EventCompaction {
		return fmt.Errorf("after %q: only %s can be asked for", r.After, logs.EventCompaction)
	}
	for _, k := range r.Kinds {
		if !slices.Contains(ruleKinds, k) {
			return fmt.Errorf("kind %q: a rule reads events of the kinds %s", k, strings.Join(ruleKinds, ", "))
		}
	}
	if r.Count < 0 || r.Version < 0 {
		return errors.New("count and version cannot be below 0")
	}
	for _, c := range r.Channels {
		if !slices.Contains(trustedChannels, c) {
			return fmt.Errorf("channel %q is not trusted: a rule may read %s", c, strings.Join(trustedChannels, ", "))
		}
	}
	for _, a := range r.Anchors {
		if a == "" || a != strings.ToLower(a) {
			return fmt.Errorf("the anchor %q is empty or not in lower case", a)
		}
	}
	re, err := regexp.Compile("(?i)" + r.Pattern)
	if err != nil {
		return fmt.Errorf("the pattern: %w", err)
	}
	r.re, r.vetoes = re, nil
	for _, v := range r.Vetoes {
		re, err := regexp.Compile("(?i)" + v)
		if err != nil {
			return fmt.Errorf("the veto: %w", err)
		}
		r.vetoes = append(r.vetoes, re)
	}
	for _, p := range r.Positive {
		if !r.says(p) {
			return fmt.Errorf("the rule does not fire on its own example %q", p)
		}
	}
	for _, n := range r.Negative {
		if r.says(n) {
			return fmt.Errorf("the rule fires on %q, which it must not", n)
		}
	}
	return nil
}

// maxMatched bounds the text that a rule looks at.
const maxMatched = 64 << 10

// says reports whether the text is what the rule is about.
func (r *Rule) says(text string) bool {
	text = text[:min(len(text), maxMatched)]
	return r.finds(text, strings.ToLower(text))
}

// finds is says with the text in lower case at hand: anchors first, since most texts have none.
func (r *Rule) finds(text, low string) bool {
	return slices.ContainsFunc(r.Anchors, func(a string) bool { return strings.Contains(low, a) }) && r.re.MatchString(text) && !r.vetoed(text)
}

func (r *Rule) vetoed(text string) bool {
	return slices.ContainsFunc(r.vetoes, func(v *regexp.Regexp) bool { return v.MatchString(text) })
}

// fires reports whether the rule is met by an event, whose text is given as it is and in lower case.
func (r *Rule) fires(e *logs.EventRow, text, low string) bool {
	if !slices.Contains(r.Channels, e.Channel) || len(r.Kinds) > 0 && !slices.Contains(r.Kinds, e.Kind) {
		return false
	}
	if e.HTTPStatus != nil && e.Channel == logs.ChannelProvider && slices.Contains(r.Statuses, *e.HTTPStatus) {
		return !r.vetoed(text)
	}
	return r.finds(text, low)
}

// holds says whether what a rule asks of the attempt as a whole is so, for one event that it fires on.
func (t *trail) holds(r *Rule, c candidate) bool {
	if len(r.Exits) > 0 && (t.attempt.ExitCode == nil || !slices.Contains(r.Exits, *t.attempt.ExitCode)) {
		return false
	}
	if r.Count > 1 {
		n := 0
		for _, o := range t.found {
			n += boolOrder(o.rule == r.ID)
		}
		if n < r.Count {
			return false
		}
	}
	model, tool := t.progressed(c.at)
	return !(r.AtEnd && model || r.Lasts && model && tool)
}

// conditions drops what rules found whose conditions on the attempt do not hold.
func (t *trail) conditions() {
	var lost []int
	for i, c := range t.found {
		for k := range t.book.Rules {
			if r := &t.book.Rules[k]; r.ID == c.rule && (len(r.Exits) > 0 || r.Count > 1 || r.AtEnd || r.Lasts) && !t.holds(r, c) {
				lost = append(lost, i)
			}
		}
	}
	for _, i := range slices.Backward(lost) {
		t.found = slices.Delete(t.found, i, i+1)
	}
}
