package oracle

import (
	"net/http"

	"github.com/stint-bench/stint/cmd/stint/internal/scenario"
)

// Mutants returns every applicable fault of a schema, clause by clause. prev is the schema of the turn
// before, or nil; stale parameters need it. A fault that could not change any answer for this schema is
// never listed.
func Mutants(s, prev *scenario.Schema) []Fault {
	var fs []Fault
	for _, c := range s.Clauses {
		fs = append(fs, FaultsFor(s, prev, c)...)
	}
	return fs
}

// FaultsFor returns the faults that violate one clause. Only the health clause has none: a service that
// breaks it does not start.
func FaultsFor(s, prev *scenario.Schema, clause scenario.Clause) []Fault {
	l := lister{schema: s, clause: clause}
	switch clause.Kind {
	case scenario.KindErrorFormat:
		l.add(WrongCode, formatFlat, formatText, formatNoField)
		return l.found
	case scenario.KindAnalytics:
		if a := s.AnalyticsByUID(clause.Subject); a != nil {
			l.analytics(a)
			l.staleParams(prev)
		}
		return l.found
	case scenario.KindGone:
		if t := s.TombstoneByUID(clause.Subject); t != nil {
			l.gone(t, prev)
		}
		return l.found
	}
	if l.listFaults(prev) {
		return l.found
	}
	if e := s.Entity(clause.Subject); e != nil {
		l.entity(e)
	}
	if e, f := s.FieldByUID(clause.Subject); f != nil {
		l.field(f)
		l.managed(e, f)
		l.stale(f, prev)
	}
	if e, g, o := s.PairByUID(clause.Subject); e != nil {
		l.pair(g, o)
	}
	if e, c := s.CommandByUID(clause.Subject); c != nil {
		l.command(e, c)
		l.stale(nil, prev)
	}
	return l.found
}

// lister collects the faults of one clause.
type lister struct {
	schema *scenario.Schema
	clause scenario.Clause
	found  []Fault
}

// add lists one fault of the clause's subject for each parameter.
func (l *lister) add(kind string, params ...string) {
	for _, p := range params {
		l.found = append(l.found, Fault{Kind: kind, Subject: l.clause.Subject, Param: p, Clause: l.clause.ID})
	}
}

func (l *lister) entity(e *scenario.Entity) {
	switch l.clause.Kind {
	case scenario.KindCreate:
		l.add(EndpointMissing, http.MethodPost)
		l.add(WrongStatus, "create")
	case scenario.KindRead:
		l.add(EndpointMissing, http.MethodGet)
	case scenario.KindNotFound:
		l.add(WrongCode, "not_found")
		l.add(WrongStatus, "not_found", "delete_unknown")
	case scenario.KindList:
		l.add(EndpointMissing, "LIST")
		l.add(ListReversed, "")
		l.add(TotalWrong, "")
	case scenario.KindReplace:
		l.add(EndpointMissing, http.MethodPut)
		// With only required fields there is nothing that PUT could leave out.
		if hasOptional(e) {
			l.add(PutMerges, "")
		}
	case scenario.KindUpdate:
		l.add(EndpointMissing, http.MethodPatch)
		l.add(PatchResets, "")
	case scenario.KindDelete:
		l.add(EndpointMissing, http.MethodDelete)
		l.add(WrongStatus, "delete")
		l.add(DeleteSoft, "")
	case scenario.KindExactKeys:
		l.add(ExtraKey, "", "echo", "id")
		l.add(Strict, "extra")
	case scenario.KindAtomic:
		l.add(NotAtomic, "create")
		// An update leaks only a valid field beside the refused one.
		if changeable(e) > 1 {
			l.add(NotAtomic, "update")
		}
	}
}

// hasOptional reports whether PUT can leave something out that it does not keep.
func hasOptional(e *scenario.Entity) bool {
	for i := range e.Fields {
		if f := &e.Fields[i]; !f.Required && !f.Immutable && !f.Managed() {
			return true
		}
	}
	return false
}

// changeable counts the fields that requests can change.
func changeable(e *scenario.Entity) int {
	n := 0
	for i := range e.Fields {
		if f := &e.Fields[i]; !f.Immutable && !f.Managed() {
			n++
		}
	}
	return n
}

func (l *lister) field(f *scenario.Field) {
	switch l.clause.Kind {
	case scenario.KindType:
		l.add(Permissive, "type")
		l.add(WrongCode, "type")
		l.add(FieldMissing, "", "null")
		l.lax(f, "type")
		if f.Type == scenario.Decimal {
			l.add(CentsLost, "")
		}
	case scenario.KindRequired:
		l.add(Permissive, "required")
		if !f.Immutable {
			l.add(LaxUpdate, "required:"+http.MethodPut)
		}
		l.add(WrongCode, "required")
	case scenario.KindOptional:
		l.add(Strict, "optional")
		if f.Type != scenario.Ref {
			l.add(ZeroForMissing, "")
		}
	case scenario.KindDefault:
		l.add(DefaultIgnored, "")
		if !f.Immutable {
			l.add(DefaultIgnored, http.MethodPut)
		}
		if f.Nullable {
			l.add(DefaultForNull, "")
		}
		l.add(Strict, "optional")
	case scenario.KindNullable:
		l.add(Strict, "nullable")
	case scenario.KindNotNull:
		l.add(Permissive, "not_null")
		l.add(WrongCode, "null")
		l.lax(f, "null")
	case scenario.KindRange:
		l.add(Permissive, "range")
		l.limits(f.Min != nil, f.Max != nil, "")
		l.add(WrongCode, "range")
		l.lax(f, "range")
	case scenario.KindLength:
		l.add(Permissive, "length")
		l.limits(f.MinLen != nil, f.MaxLen != nil, "_len")
		l.add(WrongCode, "length")
		l.lax(f, "length")
	case scenario.KindEnum:
		l.add(Permissive, "enum")
		l.add(Strict, "enum")
		l.add(WrongCode, "enum")
		l.lax(f, "enum")
	case scenario.KindUnique:
		l.add(UniqueIgnored, "")
		// Another row's value changes an immutable field too; any refusal is right then.
		if !f.Immutable {
			l.add(UniqueIgnored, "update")
		}
		l.add(UniqueSelf, "")
		l.add(WrongCode, "unique")
		l.add(WrongStatus, "unique")
	case scenario.KindRefExists:
		l.add(Permissive, "ref")
		l.add(WrongCode, "reference")
		l.lax(f, "reference")
	case scenario.KindOnDelete:
		l.onDelete(f)
	default:
		l.rules(f)
	}
}

func (l *lister) limits(low, high bool, suffix string) {
	if low {
		l.add(OffByOne, "min"+suffix)
	}
	if high {
		l.add(OffByOne, "max"+suffix)
	}
}

func (l *lister) onDelete(f *scenario.Field) {
	l.add(OnDeleteIgnored, "")
	// Below a cascade only if a row of the target can go by one.
	if l.cascades(f.Target) {
		l.add(OnDeleteIgnored, "deep")
	}
	if f.OnDelete != scenario.Cascade {
		l.add(OnDeleteCascade, "")
	}
	if f.OnDelete != scenario.Restrict {
		l.add(OnDeleteRestrict, "")
	} else {
		l.add(WrongCode, "restricted")
		l.add(WrongStatus, "restricted")
	}
}

// cascades reports whether rows of the entity are deleted with rows that they refer to.
func (l *lister) cascades(uid string) bool {
	e := l.schema.Entity(uid)
	for i := range e.Fields {
		if f := &e.Fields[i]; f.Type == scenario.Ref && f.OnDelete == scenario.Cascade {
			return true
		}
	}
	return false
}

func (l *lister) gone(t *scenario.Tombstone, prev *scenario.Schema) {
	if t.Kind == scenario.GoneAnalytics {
		l.goneStatistic(prev, t)
		return
	}
	switch t.Kind {
	case scenario.GoneEntity, scenario.GoneAction, scenario.GoneNested:
		l.add(OldName, "accept")
		return
	}
	_, f := l.schema.FieldByUID(t.Field)
	if f == nil {
		l.add(OldName, "return")
		return
	}
	// Requests can not set what the service alone decides, under whatever name.
	if !f.Managed() {
		l.add(OldName, "accept")
	}
	l.add(OldName, "return")
	if prev == nil {
		return
	}
	if _, before := prev.FieldByUID(t.Field); before != nil && before.Name == t.Name && before.Name != f.Name {
		l.found = append(l.found, Fault{Kind: Stale, Subject: t.Field, Param: "name:" + t.Name, Clause: l.clause.ID})
	}
}

// stale lists the parameters of the turn before, where they were different.
func (l *lister) stale(f *scenario.Field, prev *scenario.Schema) {
	switch l.clause.Kind {
	case scenario.KindType:
		l.revived(f, prev)
	case scenario.KindRange, scenario.KindLength, scenario.KindPattern, scenario.KindEnum, scenario.KindDefault, scenario.KindOnDelete,
		scenario.KindComputed, scenario.KindGuard, scenario.KindEffect:
	default:
		return
	}
	// That the field can not change any more is a matter of PUT; the default itself is the same.
	if l.clause.Kind == scenario.KindDefault && prev != nil {
		if _, was := prev.FieldByUID(f.UID); was != nil && was.Default != nil && was.Literal(was.Default) == f.Literal(f.Default) {
			return
		}
	}
	l.staleParams(prev)
}
