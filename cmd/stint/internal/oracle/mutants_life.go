package oracle

import (
	"strconv"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// managed lists the faults of a field that the service decides.
func (l *lister) managed(e *scenario.Entity, f *scenario.Field) {
	switch l.clause.Kind {
	case scenario.KindComputed:
		l.add(FieldMissing, "")
		l.add(ComputedWrong, "accept")
		l.formula(f.Computed)
	case scenario.KindState:
		l.add(FieldMissing, "")
		l.add(StateWrong, "post", "patch", "put")
		if e.Machine == nil {
			return
		}
		for _, v := range f.Values {
			if v != e.Machine.Initial {
				l.add(StateWrong, "initial="+v)
				return
			}
		}
	}
}

func (l *lister) formula(c *scenario.Computed) {
	if c == nil {
		return
	}
	nullable, changes := false, c.Kind == scenario.ComputedCount
	for _, uid := range c.Inputs {
		_, f := l.schema.FieldByUID(uid)
		nullable = nullable || f != nil && f.Nullable
		changes = changes || f != nil && !f.Immutable
	}
	// What no input can change stays as it was when the row was made.
	if changes {
		l.add(ComputedWrong, "stored")
	}
	switch c.Kind {
	case scenario.ComputedCount:
		l.add(ComputedWrong, "all", "null")
		return
	case scenario.ComputedProduct:
		l.add(ComputedWrong, "kind="+scenario.ComputedSum)
		// An integer plus hundredths is no sum that anybody would compute, but it is as wrong as any.
	case scenario.ComputedSum:
		l.add(ComputedWrong, "kind="+scenario.ComputedDifference)
	case scenario.ComputedDifference:
		l.add(ComputedWrong, "kind="+scenario.ComputedSum, "swap")
	case scenario.ComputedConcat:
		l.add(ComputedWrong, "swap", "joined")
	}
	// Where no input can be null there is nothing to take a null for.
	if nullable {
		l.add(ComputedWrong, "null")
	}
}

// command lists the faults of a transition or an action.
func (l *lister) command(e *scenario.Entity, c *scenario.Command) {
	switch l.clause.Kind {
	case scenario.KindTransition:
		l.transition(e, c)
	case scenario.KindAction:
		l.add(EndpointMissing, "")
		l.add(WrongStatus, "call", "not_found")
		if c.Param != nil {
			l.add(Permissive, "required", "not_null", "type", "range")
			l.add(OffByOne, "min", "max")
			l.add(WrongCode, "required", "null", "type", "range")
		}
	case scenario.KindGuard:
		l.guard(c.Guard)
	case scenario.KindEffect:
		for n := range c.Effects {
			l.effect(c, n)
		}
	}
}

func (l *lister) transition(e *scenario.Entity, c *scenario.Command) {
	l.add(EndpointMissing, "")
	l.add(WrongStatus, "call", "not_found", "state")
	l.add(WrongCode, "state")
	l.add(Permissive, "state")
	if len(c.From) > 1 {
		l.add(Strict, "from")
	}
	l.add(StateWrong, "stays")
	if e.Untouched(c) != nil {
		l.add(StateWrong, "body")
	}
	f := e.StateField()
	for _, v := range f.Values {
		if v != c.To {
			l.add(StateWrong, "to="+v)
			return
		}
	}
}

func (l *lister) guard(g *scenario.Guard) {
	l.add(Permissive, "guard")
	l.add(WrongStatus, "guard")
	l.add(WrongCode, "guard")
	l.add(NotAtomic, "guard")
	for n, a := range g.Atoms {
		at := strconv.Itoa(n)
		if len(g.Atoms) > 1 {
			l.add(Permissive, "atom="+at)
		}
		if a.Kind != scenario.AtomParent {
			l.add(OffByOne, "atom="+at)
			l.add(Permissive, "near="+at)
		}
		_, f := l.schema.FieldByUID(a.Field)
		_, o := l.schema.FieldByUID(a.Other)
		if a.Kind != scenario.AtomChildren && (f.Nullable || o != nil && o.Nullable) {
			l.add(Permissive, "null="+at)
		}
	}
}

func (l *lister) effect(c *scenario.Command, n int) {
	x, at := &c.Effects[n], strconv.Itoa(n)
	_, target := l.schema.FieldByUID(x.Target)
	l.add(EffectIgnored, at)
	l.add(EffectWrong, "amount="+at, "all="+at, "way="+at)
	// Where the condition asks for a value there is never a null.
	if target != nil && target.Nullable && !c.Guard.Names(x.Target) {
		l.add(EffectWrong, "null="+at)
	}
}
