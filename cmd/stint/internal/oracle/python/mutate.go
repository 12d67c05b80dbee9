package python

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// mutated is the schema with the flaws in it that a schema can have.
func mutated(s *scenario.Schema, flaws []Flaw) *scenario.Schema {
	if len(flaws) == 0 {
		return s
	}
	s = s.Clone()
	for _, x := range flaws {
		if e, f := s.FieldByUID(x.Subject); f != nil {
			x.onField(e, f)
		}
		if a := s.AnalyticsByUID(x.Subject); a != nil {
			x.onStatistic(s, a)
		}
		if e := s.Entity(x.Subject); e != nil {
			x.onList(&e.List)
		}
		for i := range s.Entities {
			x.onParts(&s.Entities[i])
		}
	}
	return s
}

func (x Flaw) onField(e *scenario.Entity, f *scenario.Field) {
	switch x.Kind + " " + x.Param {
	case Permissive + " range":
		f.Min, f.Max = nil, nil
	case Permissive + " length":
		f.MinLen, f.MaxLen = nil, nil
	case Permissive + " pattern":
		f.Pattern = ""
	case Permissive + " required":
		f.Required = false
	case Permissive + " not_null":
		f.Nullable = true
	case Strict + " optional":
		f.Required = true
	case Strict + " nullable":
		f.Nullable = false
	case Strict + " enum":
		f.Values = f.Values[:max(len(f.Values)-1, 0)]
	case OffByOne + " min":
		step(f.Min, 1)
	case OffByOne + " max":
		step(f.Max, -1)
	case OffByOne + " min_len":
		step(f.MinLen, 1)
	case OffByOne + " max_len":
		step(f.MaxLen, -1)
	case DefaultIgnored + " ":
		f.Default = nil
	case UniqueIgnored + " ":
		f.Unique = false
	case ImmutableIgnored + " ":
		f.Immutable = false
	case OnDeleteIgnored + " ":
		f.OnDelete = ""
	case OnDeleteCascade + " ":
		f.OnDelete = scenario.Cascade
	case OnDeleteRestrict + " ":
		f.OnDelete = scenario.Restrict
	case EndpointMissing + " nested":
		f.Nested = false
	}
	what, value, _ := strings.Cut(x.Param, "=")
	switch {
	case x.Kind == StateWrong && what == "initial" && e.Machine != nil:
		e.Machine.Initial = value
	case x.Kind == ComputedWrong && what == "kind" && f.Computed != nil:
		f.Computed.Kind = value
	case x.Kind == ComputedWrong && what == "swap" && f.Computed != nil:
		slices.Reverse(f.Computed.Inputs)
	case x.Kind == Stale:
		x.revive(f)
	}
}

// step moves a limit that there is.
func step[T int | int64](limit *T, by T) {
	if limit != nil {
		*limit += by
	}
}

// revive gives a field the parameters that one of its clauses had the turn before, as [scenario.Clause.Params] has them.
func (x Flaw) revive(f *scenario.Field) {
	kind, params, _ := strings.Cut(x.Param, ":")
	_, value, _ := strings.Cut(params, "=")
	switch scenario.Kind(kind) {
	case "name":
		f.Name = params
	case scenario.KindRange:
		f.Min, f.Max = limit(f, params, "min"), limit(f, params, "max")
	case scenario.KindLength:
		f.MinLen, f.MaxLen = number(params, "min"), number(params, "max")
	case scenario.KindEnum:
		f.Values = strings.Split(value, ",")
	case scenario.KindPattern:
		f.Pattern = value
	case scenario.KindUnique:
		f.Unique = true
	case scenario.KindImmutable:
		f.Immutable = true
	case scenario.KindOnDelete:
		f.OnDelete = scenario.OnDelete(value)
	case scenario.KindComputed:
		var c scenario.Computed
		if f.Computed != nil && json.Unmarshal([]byte(params), &c) == nil {
			f.Computed = &c
		}
	}
}

func number(params, key string) *int {
	n, err := strconv.Atoi(scenario.ClauseParam(params, key))
	if err != nil {
		return nil
	}
	return &n
}

// limit reads a limit of a range; those of decimals have a point.
func limit(f *scenario.Field, params, key string) *int64 {
	text := scenario.ClauseParam(params, key)
	if f.Type == scenario.Decimal {
		whole, cents, _ := strings.Cut(text, ".")
		text = whole + (cents + "00")[:2]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// onList changes what an entity's list takes.
func (x Flaw) onList(l *scenario.ListOptions) {
	kind, params, _ := strings.Cut(x.Param, ":")
	switch {
	case x.Kind == SortWrong && x.Param == "ignored":
		l.Default = nil
	case x.Kind == SortWrong && x.Param == "direction" && l.Default != nil:
		l.Default.Desc = !l.Default.Desc
	case x.Kind == OffByOne && x.Param == "page_max" && l.Page != nil:
		l.Page.Max--
	case x.Kind == Stale && kind == string(scenario.KindPage) && l.Page != nil:
		if size, most := number(params, "default"), number(params, "max"); size != nil && most != nil {
			l.Page.Default, l.Page.Max = *size, *most
		}
	case x.Kind == Stale && kind == string(scenario.KindDefaultSort):
		l.Default = &scenario.DefaultSort{Field: scenario.ClauseParam(params, "field"), Desc: scenario.ClauseParam(params, "desc") == "true"}
	}
}

// onParts changes the part of an entity that is the subject of the flaw, if it has it.
func (x Flaw) onParts(e *scenario.Entity) {
	if x.Kind == GroupIgnored && x.Param == "" {
		e.Groups = slices.DeleteFunc(e.Groups, func(g scenario.Group) bool { return g.UID == x.Subject })
	}
	if x.Kind == OrderIgnored && x.Param == "" {
		e.Orders = slices.DeleteFunc(e.Orders, func(o scenario.Order) bool { return o.UID == x.Subject })
	}
	if x.Kind == FilterWrong && x.Param == "ignored" {
		e.List.Filters = slices.DeleteFunc(e.List.Filters, func(f scenario.Filter) bool { return f.UID == x.Subject })
	}
	if x.Kind == SortWrong && x.Param == "ignored" {
		e.List.Sorts = slices.DeleteFunc(e.List.Sorts, func(k scenario.SortKey) bool { return k.UID == x.Subject })
	}
	for i := range e.Actions {
		if a := &e.Actions[i]; a.UID == x.Subject {
			x.onCommand(&a.Guard, &a.Effects)
			x.onParam(a.Param)
		}
	}
	if e.Machine == nil {
		return
	}
	for i := range e.Machine.Transitions {
		t := &e.Machine.Transitions[i]
		if t.UID != x.Subject {
			continue
		}
		x.onCommand(&t.Guard, &t.Effects)
		what, value, _ := strings.Cut(x.Param, "=")
		switch {
		case x.Kind == Strict && what == "from":
			t.From = t.From[:max(len(t.From)-1, 0)]
		case x.Kind == StateWrong && what == "to":
			t.To = value
		}
	}
}

// onParam changes the limits of the parameter of an action.
func (x Flaw) onParam(p *scenario.Param) {
	switch {
	case p == nil || x.Kind != OffByOne:
	case x.Param == "min":
		p.Min++
	case x.Param == "max":
		p.Max--
	}
}

// onCommand changes the condition and the effects of a transition or an action.
func (x Flaw) onCommand(guard **scenario.Guard, effects *[]scenario.Effect) {
	what, value, numbered := strings.Cut(x.Param, "=")
	if x.Kind == EffectIgnored {
		value, numbered = x.Param, true
	}
	n, err := strconv.Atoi(value)
	if numbered && err == nil && n >= 0 {
		x.onNumbered(what, n, *guard, effects)
	}
	kind, params, _ := strings.Cut(x.Param, ":")
	switch {
	case x.Kind == Permissive && what == "guard":
		*guard = nil
	case x.Kind == Stale && kind == string(scenario.KindGuard):
		var g scenario.Guard
		if json.Unmarshal([]byte(params), &g) == nil {
			*guard = &g
		}
	case x.Kind == Stale && kind == string(scenario.KindEffect):
		var list []scenario.Effect
		if json.Unmarshal([]byte(params), &list) == nil {
			*effects = list
		}
	}
}

// onNumbered changes one atom of a condition or one effect.
func (x Flaw) onNumbered(what string, n int, g *scenario.Guard, effects *[]scenario.Effect) {
	switch {
	case x.Kind == EffectIgnored && n < len(*effects):
		*effects = slices.Delete(*effects, n, n+1)
	case x.Kind == EffectWrong && n < len(*effects):
		switch t := &(*effects)[n]; {
		case what == "amount" && !t.Param:
			t.Amount++
		case what == "way" && t.Kind == scenario.EffectAdd:
			t.Kind = scenario.EffectSubtract
		case what == "way" && t.Kind == scenario.EffectSubtract:
			t.Kind = scenario.EffectAdd
		}
	case g == nil || n >= len(g.Atoms):
	case x.Kind == Permissive && what == "atom":
		g.Atoms = slices.Delete(g.Atoms, n, n+1)
	case x.Kind == Permissive && what == "near":
		shift(&g.Atoms[n], -1)
	case x.Kind == OffByOne && what == "atom":
		shift(&g.Atoms[n], 1)
	}
}

// shift makes an atom harder to meet by so much, or easier if by is negative.
func shift(a *scenario.Atom, by int64) {
	switch {
	case a.Kind == scenario.AtomChildren, a.Kind == scenario.AtomField && a.Op == ">=":
		a.Value += by
	case a.Kind == scenario.AtomField:
		a.Value -= by
	}
}

func (x Flaw) onStatistic(s *scenario.Schema, a *scenario.Analytics) {
	if old, ok := strings.CutPrefix(x.Param, "name:"); ok && x.Kind == Stale {
		a.Name = old
	}
	if x.Kind != AnalyticsWrong {
		return
	}
	what, uid, _ := strings.Cut(x.Param, "=")
	switch what {
	case "kind":
		switch a.Kind {
		case scenario.StatMin:
			a.Kind = scenario.StatMax
		case scenario.StatMax:
			a.Kind = scenario.StatMin
		case scenario.StatAvg:
			a.Kind = scenario.StatSum
		case scenario.StatSum:
			a.Kind, a.Measure = scenario.StatCount, ""
		default:
			a.Measure = ""
		}
	case "cut":
		a.N = math.MaxInt32
	case "where":
		a.Where, a.Equals = "", nil
	case "n":
		a.N++
	case "measure":
		if _, f := s.FieldByUID(uid); f != nil {
			a.Measure = uid
		}
	case "entity":
		if s.Entity(uid) != nil && a.Measure == "" {
			a.Entity, a.Where, a.Equals = uid, "", nil
		}
	}
}
