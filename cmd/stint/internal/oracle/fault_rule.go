package oracle

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// The kinds of fault about rules of fields, beside those that drop a rule altogether.
const (
	LaxUpdate        = "lax_update"        // a rule is not checked by PUT and PATCH, or by one of them: RULE, RULE:PUT, RULE:PATCH; RULE is its code word
	PatternMisread   = "pattern_misread"   // the pattern lets more through: case, after (more text behind), before, class (letters for digits)
	ImmutableIgnored = "immutable_ignored" // the value can be changed: "", PUT, PATCH
	ImmutableStrict  = "immutable_strict"  // the stored value is refused too
	ImmutableReset   = "immutable_reset"   // PUT without it treats it as POST does
	GroupIgnored     = "group_ignored"     // the same pair is taken: "", update (by PUT and PATCH)
	GroupNarrow      = "group_narrow"      // one field alone must be unique: first, second
	GroupNulls       = "group_nulls"       // nulls count as the same
	OrderIgnored     = "order_ignored"     // not checked: "", PUT, PATCH, both (unless a request holds both fields)
	OrderStrict      = "order_strict"      // equal values are refused
	DefaultForNull   = "default_for_null"  // an explicit null becomes the default
	ZeroForMissing   = "zero_for_missing"  // a missing value becomes 0, false or "" in place of null
	CentsLost        = "cents_lost"        // a decimal is stored without its fraction
)

// buildPairs makes the groups and orders of an entity whose fields are there.
func (b *builder) buildPairs(def *scenario.Entity, e *entity) {
	for _, g := range def.Groups {
		own := &group{fields: []*field{b.fields[g.Fields[0]], b.fields[g.Fields[1]]}}
		b.groups[g.UID] = own
		e.groups = append(e.groups, own)
	}
	for _, o := range def.Orders {
		own := &order{low: b.fields[o.Low], high: b.fields[o.High]}
		b.orders[o.UID] = own
		e.orders = append(e.orders, own)
	}
}

// plantPair switches a fault of a group or an order on.
func (b *builder) plantPair(x Fault) {
	if g := b.groups[x.Subject]; g != nil {
		g.plant(x)
	}
	if o := b.orders[x.Subject]; o != nil {
		o.plant(x)
	}
}

func (g *group) plant(x Fault) {
	switch x.Kind {
	case GroupIgnored:
		g.lax = with(g.lax, "unique", true)
		if x.Param == "" {
			g.lax["unique:POST"] = true
		}
	case GroupNarrow:
		if x.Param == "second" {
			g.fields = g.fields[1:]
		} else {
			g.fields = g.fields[:1]
		}
	case GroupNulls:
		g.nulls = true
	case UniqueSelf:
		g.self = true
	case WrongStatus:
		g.statuses = with(g.statuses, x.Param, badRequest)
	case WrongCode:
		g.codes = with(g.codes, x.Param, wrongCodeWord)
	}
}

func (o *order) plant(x Fault) {
	switch x.Kind {
	case OrderIgnored:
		switch x.Param {
		case "":
			o.lax = with(o.lax, "order", true)
			o.lax["order:POST"] = true
		case "both":
			o.both = true
		default:
			o.lax = with(o.lax, "order:"+x.Param, true)
		}
	case OrderStrict:
		o.strict = true
	case WrongCode:
		o.codes = with(o.codes, x.Param, wrongCodeWord)
	}
}

// plantRule switches a fault about one rule of the field on.
func (f *field) plantRule(x Fault) {
	switch x.Kind {
	case LaxUpdate:
		f.lax = with(f.lax, x.Param, true)
	case PatternMisread:
		f.form = x.Param
	case ImmutableIgnored:
		rule := "immutable"
		if x.Param != "" {
			rule += ":" + x.Param
		}
		f.lax = with(f.lax, rule, true)
	case ImmutableStrict:
		f.frozen = true
	case ImmutableReset:
		f.resets = true
	case DefaultForNull:
		f.defaultForNull = true
	case ZeroForMissing:
		f.zero = f.zeroValue()
	case CentsLost:
		f.cutsCents = f.Type == scenario.Decimal
	}
}

// zeroValue is what programming languages put in place of a missing value of the type; nil for a reference.
func (f *field) zeroValue() any {
	switch f.Type {
	case scenario.Integer, scenario.Decimal:
		return json.Number("0")
	case scenario.Boolean:
		return false
	case scenario.Ref:
		return nil
	}
	return ""
}

// revive brings back a rule that ended the turn before, or its parameters.
func (f *field) revive(kind, params string) {
	_, value, _ := strings.Cut(params, "=")
	switch kind {
	case string(scenario.KindPattern):
		f.Pattern = value
	case string(scenario.KindUnique):
		f.Unique = true
	case string(scenario.KindImmutable):
		f.Immutable = true
	case string(scenario.KindType):
		f.wholeOnly = f.Type == scenario.Decimal && value == string(scenario.Integer)
	case string(scenario.KindDefault):
		// The literal is the last parameter, and a field that PUT keeps has another one before it.
		_, literal, _ := strings.Cut(params, "value=")
		d := json.NewDecoder(strings.NewReader(literal))
		d.UseNumber()
		var raw any
		if err := d.Decode(&raw); err != nil {
			return
		}
		if v, ok := f.convert(raw); ok {
			f.Default = &v
		}
	}
}

// lax lists the faults of a rule that one value can break: the verbs that do not check it.
func (l *lister) lax(f *scenario.Field, rule string) {
	// A value that breaks another rule of an immutable field changes it too; any refusal is right then.
	if f.Immutable {
		return
	}
	l.add(LaxUpdate, rule, rule+":"+http.MethodPut, rule+":"+http.MethodPatch)
}

// rules lists the faults of clauses about one field that are neither about its presence nor about references.
func (l *lister) rules(f *scenario.Field) {
	switch l.clause.Kind {
	case scenario.KindPattern:
		l.add(Permissive, "pattern")
		l.add(PatternMisread, "after", "before")
		if strings.Contains(f.Pattern, "A") {
			l.add(PatternMisread, "case")
			if strings.Contains(f.Pattern, "9") {
				l.add(PatternMisread, "class")
			}
		}
		l.add(WrongCode, "pattern")
		l.lax(f, "pattern")
	case scenario.KindImmutable:
		l.add(ImmutableIgnored, "", http.MethodPut, http.MethodPatch)
		l.add(ImmutableStrict, "")
		l.add(ImmutableReset, "")
		l.add(WrongCode, "immutable")
		l.add(WrongStatus, "immutable")
	}
}

// pair lists the faults of a group or an order.
func (l *lister) pair(g *scenario.Group, o *scenario.Order) {
	field := func(uid string) *scenario.Field { _, f := l.schema.FieldByUID(uid); return f }
	if g != nil {
		first, second := field(g.Fields[0]), field(g.Fields[1])
		l.add(GroupIgnored, "")
		if !first.Immutable || !second.Immutable {
			l.add(GroupIgnored, "update")
		}
		l.add(GroupNarrow, "first", "second")
		if first.Nullable || second.Nullable {
			l.add(GroupNulls, "")
		}
		l.add(UniqueSelf, "")
		l.add(WrongCode, "unique")
		l.add(WrongStatus, "unique")
		return
	}
	low, high := field(o.Low), field(o.High)
	l.add(OrderIgnored, "")
	if !low.Immutable || !high.Immutable {
		l.add(OrderIgnored, http.MethodPut, http.MethodPatch, "both")
	}
	l.add(OrderStrict, "")
	l.add(WrongCode, "order")
}

// revived lists the rules that ended this turn and may still be checked.
func (l *lister) revived(f *scenario.Field, prev *scenario.Schema) {
	if prev == nil {
		return
	}
	if _, was := prev.FieldByUID(f.UID); was == nil || was.Type != f.Type {
		return
	}
	for _, kind := range []scenario.Kind{scenario.KindRange, scenario.KindLength, scenario.KindPattern, scenario.KindUnique, scenario.KindImmutable} {
		if c := prev.ClauseOf(kind, f.UID); c != nil && l.schema.ClauseOf(kind, f.UID) == nil {
			l.add(Stale, string(kind)+":"+c.Params)
		}
	}
}
