package main

import (
	"strings"

	"github.com/stint-bench/stint/classify"
	"github.com/stint-bench/stint/cmd/stint/internal/harness"
	"github.com/stint-bench/stint/cmd/stint/internal/oracle"
	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// This file is the part of the scoring key that is about lists.

// listMechanisms are the leaves of a fault of a list; nil for other faults.
func listMechanisms(f harness.TruthPlanted) []string {
	_, renamed := strings.CutPrefix(f.Param, "name=")
	switch f.Kind {
	case oracle.FilterWrong:
		if renamed { // the parameter that is asked for is unknown, and so ignored
			return []string{classify.LeafChangeMissed, classify.LeafWrongLogic, classify.LeafTooLax}
		}
		return []string{classify.LeafWrongLogic}
	case oracle.SortWrong:
		if renamed { // the word that is asked for is unknown, and so refused
			return []string{classify.LeafChangeMissed, classify.LeafTooStrict}
		}
		return []string{classify.LeafWrongLogic}
	case oracle.PageWrong:
		return []string{classify.LeafWrongLogic}
	case oracle.NestedWrong:
		if f.Param == "unknown" {
			return []string{classify.LeafTooLax}
		}
		return []string{classify.LeafWrongLogic}
	}
	return nil
}

// pagesMoved: another usual size shows in what is listed, another largest size in what is refused.
func pagesMoved(old, now string) []string {
	var out []string
	if scenario.ClauseParam(old, "default") != scenario.ClauseParam(now, "default") {
		out = append(out, classify.LeafWrongLogic)
	}
	lax, strict := limitsMoved("", "", scenario.ClauseParam(old, "max"), scenario.ClauseParam(now, "max"))
	if lax {
		out = append(out, classify.LeafTooLax)
	}
	if strict {
		out = append(out, classify.LeafTooStrict)
	}
	return out
}
