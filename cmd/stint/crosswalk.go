package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// This file is the only scoring key: it says which leaf of the taxonomy each planted fault must be given. It looks at
// what the fault makes the server do, never at what a classifier said.

// answer is what a classifier has to say about one planted fault: one of Mechanisms, or drift.forgotten if the fault is
// on a clause that passed before and that the turn did not ask to change.
type answer struct {
	What       string // the fault in words, for the list of misses
	Mechanisms []string
	Forgotten  bool
}

// right reports whether a leaf is the answer.
func (a answer) right(leaf string) bool {
	if a.Forgotten {
		return leaf == classify.LeafForgotten
	}
	return slices.Contains(a.Mechanisms, leaf)
}

// leaf is the answer as one row of the confusion matrix.
func (a answer) leaf() string {
	if a.Forgotten {
		return classify.LeafForgotten
	}
	return strings.Join(a.Mechanisms, " or ")
}

// endLeaf is the answer for an agent program that ends badly.
func endLeaf(end string) string {
	return map[string]string{
		"self_kill": classify.LeafBroadKill, "crash": classify.LeafAgentExit, "empty": classify.LeafAgentExit, "hang": classify.LeafToolHang,
		"oom": classify.LeafResources, "tokens": classify.LeafBudget, "context_overflow": classify.LeafContext, "tool_call": classify.LeafToolCall,
		"loop_guard": classify.LeafLoopGuard, "compaction": classify.LeafCompaction,
	}[end]
}

// voidLeaf is the answer for a try that does not count.
func voidLeaf(void string) string {
	return map[string]string{harness.VoidRateLimit: "infra.rate_limit", harness.VoidProviderError: "infra.provider_error"}[void]
}

// mechanisms are the leaves that one planted fault may be given, under the schema of its turn.
func mechanisms(s *scenario.Schema, f harness.TruthPlanted) []string {
	one := func(leaf string) []string { return []string{leaf} }
	switch f.Kind {
	case oracle.Permissive:
		if f.Param == "required" || f.Param == "not_null" {
			return one(classify.LeafNullAccepted)
		}
		return one(classify.LeafTooLax)
	case oracle.LaxUpdate:
		if rule, _, _ := strings.Cut(f.Param, ":"); rule == "required" || rule == "null" {
			return one(classify.LeafNullAccepted)
		}
		return one(classify.LeafTooLax)
	case oracle.UniqueIgnored, oracle.PatternMisread, oracle.ImmutableIgnored, oracle.GroupIgnored, oracle.OrderIgnored:
		return one(classify.LeafTooLax)
	case oracle.ImmutableReset:
		if _, field := s.FieldByUID(f.Subject); field != nil && field.Required {
			return one(classify.LeafTooStrict) // PUT asks for a value that may be left out
		}
		return one(classify.LeafWrongLogic)
	case oracle.ImmutableStrict, oracle.GroupNarrow, oracle.GroupNulls, oracle.OrderStrict:
		return one(classify.LeafTooStrict)
	case oracle.DefaultForNull, oracle.ZeroForMissing, oracle.CentsLost:
		return one(classify.LeafWrongLogic)
	case oracle.Strict, oracle.OffByOne, oracle.UniqueSelf:
		return one(classify.LeafTooStrict)
	case oracle.DefaultIgnored, oracle.PutMerges, oracle.PatchResets, oracle.NotAtomic, oracle.ListReversed, oracle.TotalWrong,
		oracle.DeleteSoft, oracle.AnalyticsWrong:
		return one(classify.LeafWrongLogic)
	case oracle.OnDeleteIgnored, oracle.OnDeleteCascade, oracle.OnDeleteRestrict:
		return one(deletion(policyOf(s, f.Subject), map[string]scenario.OnDelete{
			oracle.OnDeleteCascade: scenario.Cascade, oracle.OnDeleteRestrict: scenario.Restrict}[f.Kind]))
	case oracle.EndpointMissing, oracle.OldName:
		return one(classify.LeafChangeMissed)
	case oracle.FieldMissing:
		return fieldMissing(s, f)
	case oracle.WrongStatus:
		if f.Param == "delete_unknown" {
			return one(classify.LeafTooLax) // what must be refused is accepted
		}
		return one(classify.LeafWireFormat)
	case oracle.WrongCode:
		return one(classify.LeafWireFormat)
	case oracle.ExtraKey:
		if f.Param == "id" {
			return one(classify.LeafWrongLogic) // the row gets an id that it must not have
		}
		return one(classify.LeafWireFormat)
	case oracle.Stale:
		return stale(s, f)
	}
	if leaves := listMechanisms(f); leaves != nil {
		return leaves
	}
	return lifeMechanisms(f)
}

// fieldMissing: a key that is new this turn is a missed change, an old one a matter of shape; a value that is always
// null is wrong.
func fieldMissing(s *scenario.Schema, f harness.TruthPlanted) []string {
	if f.Param == "null" {
		return []string{classify.LeafWrongLogic}
	}
	turn := 0
	for _, c := range s.Clauses {
		turn = max(turn, c.Introduced, c.Changed)
	}
	if c := s.Clause(f.Clause); c != nil && c.Introduced == turn {
		return []string{classify.LeafChangeMissed}
	}
	return []string{classify.LeafWireFormat}
}

func policyOf(s *scenario.Schema, uid string) scenario.OnDelete {
	if _, f := s.FieldByUID(uid); f != nil {
		return f.OnDelete
	}
	return ""
}

// deletion: want is the policy of the schema, does what the server does instead ("" = nothing at all).
func deletion(want, does scenario.OnDelete) string {
	switch {
	case want == scenario.Restrict:
		return classify.LeafTooLax // a deletion that must be refused goes through
	case does == scenario.Restrict:
		return classify.LeafTooStrict // a legal deletion is refused
	}
	return classify.LeafWrongLogic
}

// stale: the parameters of the turn before are kept, so each bound tells by itself whether more or less is accepted.
func stale(s *scenario.Schema, f harness.TruthPlanted) []string {
	kind, params, _ := strings.Cut(f.Param, ":")
	if kind == "name" {
		return []string{classify.LeafChangeMissed}
	}
	c := s.Clause(f.Clause)
	if c == nil {
		return nil
	}
	if kind != string(c.Kind) {
		return []string{classify.LeafTooStrict} // a rule that has ended is still checked
	}
	return replaced(c.Kind, params, c.Params)
}

// replaced are the mechanisms of a server that keeps the old parameters of a clause.
func replaced(kind scenario.Kind, old, now string) []string {
	var lax, strict bool
	switch kind {
	case scenario.KindRange, scenario.KindLength:
		lax, strict = limitsMoved(scenario.ClauseParam(old, "min"), scenario.ClauseParam(now, "min"), scenario.ClauseParam(old, "max"), scenario.ClauseParam(now, "max"))
	case scenario.KindEnum:
		before, after := strings.Split(scenario.ClauseParam(old, "values"), ","), strings.Split(scenario.ClauseParam(now, "values"), ",")
		lax = slices.ContainsFunc(before, func(v string) bool { return !slices.Contains(after, v) })
		strict = slices.ContainsFunc(after, func(v string) bool { return !slices.Contains(before, v) })
	case scenario.KindType:
		return []string{classify.LeafTooStrict} // an integer that can be a decimal now
	case scenario.KindPattern:
		lax, strict = true, true
	case scenario.KindReplace, scenario.KindOptional:
		return []string{classify.LeafWrongLogic} // what PUT keeps is reset, or the other way round
	case scenario.KindDefault:
		return []string{classify.LeafWrongLogic}
	case scenario.KindRequired:
		if now == "" {
			return []string{classify.LeafNullAccepted} // PUT had kept the value
		}
		return []string{classify.LeafTooStrict}
	case scenario.KindOnDelete:
		return []string{deletion(scenario.OnDelete(scenario.ClauseParam(now, "policy")), scenario.OnDelete(scenario.ClauseParam(old, "policy")))}
	case scenario.KindGuard:
		return guardMoved(old, now)
	case scenario.KindComputed, scenario.KindDefaultSort, scenario.KindAnalytics:
		return []string{classify.LeafWrongLogic}
	case scenario.KindPage:
		return pagesMoved(old, now)
	default:
		return dropped(kind)
	}
	var out []string
	if lax {
		out = append(out, classify.LeafTooLax)
	}
	if strict {
		out = append(out, classify.LeafTooStrict)
	}
	return out
}

// limitsMoved compares two intervals; "" is no limit.
func limitsMoved(oldMin, newMin, oldMax, newMax string) (lax, strict bool) {
	num := func(s string, none float64) float64 {
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return n
		}
		return none
	}
	const far = 1e300
	a, b := num(oldMin, -far), num(newMin, -far)
	c, d := num(oldMax, far), num(newMax, far)
	return a < b || c > d, a > b || c < d
}

// dropped are the mechanisms of a server that does not have a clause at all.
func dropped(kind scenario.Kind) []string {
	switch kind {
	case scenario.KindRequired, scenario.KindNotNull:
		return []string{classify.LeafNullAccepted}
	case scenario.KindOptional, scenario.KindNullable:
		return []string{classify.LeafTooStrict}
	case scenario.KindUnique, scenario.KindRange, scenario.KindLength, scenario.KindEnum, scenario.KindRefExists, scenario.KindPattern,
		scenario.KindImmutable, scenario.KindGroup, scenario.KindOrder, scenario.KindGuard:
		return []string{classify.LeafTooLax}
	case scenario.KindDefault:
		return []string{classify.LeafTooStrict, classify.LeafWrongLogic} // refused where it was required, null where it was optional
	case scenario.KindOnDelete:
		return []string{classify.LeafWrongLogic, classify.LeafTooLax}
	case scenario.KindEffect, scenario.KindDefaultSort:
		return []string{classify.LeafWrongLogic}
	case scenario.KindFilter, scenario.KindPage:
		return []string{classify.LeafWrongLogic, classify.LeafTooLax} // all rows, and any value of the parameter
	case scenario.KindSort:
		return []string{classify.LeafWrongLogic, classify.LeafTooLax, classify.LeafTooStrict} // beside other keys the new one is refused
	}
	return []string{classify.LeafChangeMissed}
}

// ignored is the answer for a change that was not made at all: a missed change if it would have brought or taken away a
// route, a key or a name, else whatever the rules say that it would have changed.
func ignored(sc *scenario.Scenario, turn int) []string {
	step := &sc.Steps[turn]
	var out []string
	add := func(leaves []string) {
		for _, l := range leaves {
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	for _, c := range step.Added {
		switch c.Kind {
		case scenario.KindType, scenario.KindCreate, scenario.KindAnalytics, scenario.KindGone, scenario.KindComputed, scenario.KindState,
			scenario.KindTransition, scenario.KindAction:
			return []string{classify.LeafChangeMissed}
		}
		if c.Kind == scenario.KindOptional && sc.Steps[turn-1].Schema.ClauseOf(scenario.KindDefault, c.Subject) != nil {
			add([]string{classify.LeafWrongLogic}) // the default that has ended
			continue
		}
		add(dropped(c.Kind))
	}
	for _, c := range step.Changed {
		if c.Kind == scenario.KindExactKeys {
			return []string{classify.LeafChangeMissed}
		}
		if before := sc.Steps[turn-1].Schema.Clause(c.ID); before != nil {
			add(replaced(c.Kind, before.Params, c.Params))
		}
	}
	if len(step.Added) == 0 {
		add(removed(sc, turn))
	}
	return out
}

// removed: a turn that only takes clauses away makes the server accept more; one that keeps them is too strict.
func removed(sc *scenario.Scenario, turn int) []string {
	if len(sc.Steps[turn].Removed) == 0 {
		return nil
	}
	return []string{classify.LeafTooStrict}
}
