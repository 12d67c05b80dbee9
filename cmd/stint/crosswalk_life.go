package main

import (
	"encoding/json"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// lifeMechanisms is the key for states, formulas and what commands do: it is there and acts wrongly.
func lifeMechanisms(f harness.TruthPlanted) []string {
	switch f.Kind {
	case oracle.ComputedWrong, oracle.StateWrong, oracle.EffectIgnored, oracle.EffectWrong:
		return []string{classify.LeafWrongLogic}
	}
	return nil
}

// guardMoved: the conditions of the turn before allow and refuse something else. Where one atom only asks for more or for
// less, that tells which; in all other cases both show.
func guardMoved(old, now string) []string {
	lax, strict := []string{classify.LeafTooLax}, []string{classify.LeafTooStrict}
	var before, after scenario.Guard
	if json.Unmarshal([]byte(old), &before) != nil || json.Unmarshal([]byte(now), &after) != nil || len(before.Atoms) > len(after.Atoms) {
		return append(lax, strict...)
	}
	if len(before.Atoms) < len(after.Atoms) {
		return lax // one more condition is not looked at
	}
	for i, a := range before.Atoms {
		b := after.Atoms[i]
		if a == b {
			continue
		}
		same := a
		same.Value = b.Value
		if same != b || a.Kind != scenario.AtomField && a.Kind != scenario.AtomChildren {
			return append(lax, strict...)
		}
		if (a.Value < b.Value) == (a.Op != "<=") {
			return lax
		}
		return strict
	}
	return nil
}
