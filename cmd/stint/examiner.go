package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
	"github.com/stint-bench/stint/logs"
)

// planted identifies a fault over the turns of an episode.
type planted struct{ kind, subject, param string }

// examiner scores the verdicts of one episode.
type examiner struct {
	ev       *evaluation
	row      *logs.EpisodeRow
	scenario *scenario.Scenario
	result   *classify.Result
	first    map[planted]int  // turn in which a fault was first there
	unseen   map[planted]bool // that were there when a turn passed
}

// episode goes through the truth in the order in which it was written.
func (x *examiner) episode(lines []harness.TruthLine, attempts []*logs.AttemptRow) {
	last := map[[2]int]int{}
	for i, l := range lines {
		if l.Void == "" {
			last[[2]int{l.Turn, l.Attempt}] = i
		}
	}
	x.voids(lines, attempts)
	for i, l := range lines {
		if l.Void != "" || l.Turn < 0 || l.Turn >= len(x.scenario.Steps) {
			continue
		}
		for _, f := range l.Faults {
			k := planted{f.Kind, f.Subject, f.Param}
			if _, there := x.first[k]; !there {
				x.first[k] = l.Turn
			}
		}
		if last[[2]int{l.Turn, l.Attempt}] != i {
			continue // replaced by a process retry: it has no verdict
		}
		x.attempt(&l, attempts)
	}
}

// voids scores the tries that did not happen against what the loop wrote down.
func (x *examiner) voids(lines []harness.TruthLine, attempts []*logs.AttemptRow) {
	recorded := map[string]int{}
	for _, a := range attempts {
		if a.VoidOf != nil && a.VoidReason != nil {
			recorded[fmt.Sprintf("%d.%d %s", a.Turn, *a.VoidOf, *a.VoidReason)]++
		}
	}
	for _, l := range lines {
		if l.Void == "" || voidLeaf(l.Void) == "" {
			continue
		}
		k := fmt.Sprintf("%d.%d %s", l.Turn, l.Attempt, l.Void)
		x.ev.Void.count(recorded[k] > 0)
		recorded[k]--
	}
}

func (x *examiner) attempt(l *harness.TruthLine, attempts []*logs.AttemptRow) {
	passed := slices.ContainsFunc(attempts, func(a *logs.AttemptRow) bool {
		return a.Turn == l.Turn && a.Attempt != nil && *a.Attempt == l.Attempt && a.Passed != nil && *a.Passed
	})
	if passed {
		for _, f := range l.Faults {
			k := planted{f.Kind, f.Subject, f.Param}
			if !x.unseen[k] {
				x.unseen[k] = true
				x.ev.Unseen++
			}
		}
		return
	}
	dec := x.result.Decision(logs.VerdictKey{Episode: x.row.Episode, Turn: l.Turn, Attempt: l.Attempt})
	if dec == nil {
		return
	}
	var answers, drifts []answer
	down := false
	if l.End != "" {
		answers = append(answers, answer{What: "end " + l.End, Mechanisms: []string{endLeaf(l.End)}})
		down = true
	}
	// An agent that ends in the middle of its work may leave no start script: that follows from its end.
	if l.Switch != "" && !(l.End != "" && l.Switch == "no_start") {
		answers = append(answers, answer{What: "server " + l.Switch, Mechanisms: []string{classify.LeafBrokenServer}})
	}
	down = down || l.Switch != ""
	if l.Ignored {
		a := answer{What: "the change was not made", Mechanisms: ignored(x.scenario, l.Turn)}
		answers, drifts = append(answers, a), append(drifts, a)
	}
	for _, f := range x.visible(l.Faults) {
		a := x.faultAnswer(l, f)
		answers, drifts = append(answers, a), append(drifts, a)
	}
	if len(answers) > 0 {
		x.score(l, dec, answers, drifts, down)
	}
}

// visible leaves out the faults that a turn with all its checks has passed before; if nothing else is there, they are
// what must have failed.
func (x *examiner) visible(faults []harness.TruthPlanted) []harness.TruthPlanted {
	var out []harness.TruthPlanted
	for _, f := range faults {
		if !x.unseen[planted{f.Kind, f.Subject, f.Param}] {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return faults
	}
	return out
}

// faultAnswer is the right label of one fault: its mechanism, or forgotten if its clause passed before and the turn did
// not ask to change it.
func (x *examiner) faultAnswer(l *harness.TruthLine, f harness.TruthPlanted) answer {
	s := x.scenario.Steps[l.Turn].Schema
	a := answer{What: strings.TrimSpace(f.Kind + " " + f.Subject + " " + f.Param), Mechanisms: mechanisms(s, f)}
	if c := s.Clause(f.Clause); c != nil {
		since := max(c.Introduced, c.Changed)
		a.Forgotten = since < l.Turn && (x.row.Mode != "continue" || x.first[planted{f.Kind, f.Subject, f.Param}] > since)
	}
	return a
}

// score enters one verdict.
func (x *examiner) score(l *harness.TruthLine, dec *classify.Decision, answers, drifts []answer, down bool) {
	v := &dec.Verdict
	given, level := "", v.L1
	if v.Leaf != nil {
		given = *v.Leaf
	}
	if v.L1 == "unknown" {
		x.ev.Abstain++
	}
	right := slices.ContainsFunc(answers, func(a answer) bool { return a.right(given) })
	want := levelOfLeaf(answers[0].Mechanisms)
	if right || slices.ContainsFunc(answers, func(a answer) bool { return levelOfLeaf(a.Mechanisms) == level }) {
		want = level // either level is right where both were planted
	}
	if rights := rightLeaves(answers); len(rights) > 0 {
		x.ev.items = append(x.ev.items, truthItem{Item: fmt.Sprintf("%s@%d.%d", x.row.Episode, l.Turn, l.Attempt), Scenario: x.row.Scenario, Right: rights})
	}
	add(x.ev.Levels, want, level)
	x.ev.L1.count(want == level)
	if len(answers) == 1 {
		x.ev.Single.count(right)
		add(x.ev.Matrix, answers[0].leaf(), given)
	} else {
		x.ev.Double.count(right)
		x.groups(dec, drifts, down)
	}
	if !right {
		m := miss{Verdict: fmt.Sprintf("%s@%d.%d", x.row.Episode, l.Turn, l.Attempt), Given: given}
		var rights []string
		for _, a := range answers {
			m.Planted = append(m.Planted, a.What)
			rights = append(rights, a.leaf())
		}
		m.Right = strings.Join(rights, "; ")
		x.ev.Misses = append(x.ev.Misses, m)
	}
}

// rightLeaves are the leaves of all answers.
func rightLeaves(answers []answer) []string {
	var out []string
	for _, a := range answers {
		leaves := a.Mechanisms
		if a.Forgotten {
			leaves = []string{classify.LeafForgotten}
		}
		for _, leaf := range leaves {
			if !slices.Contains(out, leaf) {
				out = append(out, leaf)
			}
		}
	}
	return out
}

// groups scores whether every drift fault is among the groups of the contract table.
func (x *examiner) groups(dec *classify.Decision, drifts []answer, down bool) {
	if down {
		x.ev.Masked += len(drifts)
		return
	}
	for _, a := range drifts {
		found := slices.ContainsFunc(dec.Groups, func(g *classify.Group) bool { return a.right(g.Leaf) })
		x.ev.Groups.count(found)
		if !found {
			x.ev.Hidden = append(x.ev.Hidden, miss{Verdict: fmt.Sprintf("%s@%d.%d", x.row.Episode, dec.Verdict.Turn, dec.Verdict.Attempt), Planted: []string{a.What}, Right: a.leaf(), Given: groupLeaves(dec.Groups)})
		}
	}
}

func groupLeaves(groups []*classify.Group) string {
	var leaves []string
	for _, g := range groups {
		if !slices.Contains(leaves, g.Leaf) {
			leaves = append(leaves, g.Leaf)
		}
	}
	return strings.Join(leaves, ", ")
}

func add(m map[string]map[string]int, row, column string) {
	if m[row] == nil {
		m[row] = map[string]int{}
	}
	m[row][column]++
}

func levelOfLeaf(leaves []string) string {
	if len(leaves) == 0 {
		return "unknown"
	}
	l1, _, _ := strings.Cut(leaves[0], ".")
	return l1
}
