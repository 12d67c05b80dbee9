package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// API is the subject of the clauses that are about the service as a whole.
const API = "api"

type clauseKey struct {
	kind    Kind
	subject string
}

// requirement is one clause before it has an id.
type requirement struct {
	key    clauseKey
	params string
}

// entityKinds are the clauses that every entity has, in the order of the specification.
var entityKinds = [...]Kind{KindCreate, KindRead, KindNotFound, KindList, KindReplace, KindUpdate, KindDelete, KindExactKeys, KindAtomic}

// requirements derives what must hold from the schema alone, in a fixed order: service, entities with
// their fields, analytics, things that are gone.
func (s *Schema) requirements() []requirement {
	reqs := []requirement{{key: clauseKey{KindHealth, API}}, {key: clauseKey{KindErrorFormat, API}}}
	for i := range s.Entities {
		e := &s.Entities[i]
		for _, k := range entityKinds {
			params := ""
			switch k {
			case KindExactKeys:
				params = "keys=" + strings.Join(fieldUIDs(e), ",")
			case KindReplace:
				params = e.keptParams()
			}
			reqs = append(reqs, requirement{clauseKey{k, e.UID}, params})
		}
		for j := range e.Fields {
			reqs = e.Fields[j].requirements(reqs)
		}
		reqs = e.pairRequirements(reqs)
		reqs = e.lifeRequirements(reqs)
		reqs = e.listRequirements(reqs)
	}
	for i := range s.Analytics {
		reqs = append(reqs, requirement{clauseKey{KindAnalytics, s.Analytics[i].UID}, s.Analytics[i].params(s)})
	}
	for i := range s.Tombstones {
		t := &s.Tombstones[i]
		reqs = append(reqs, requirement{clauseKey{KindGone, t.UID}, "kind=" + t.Kind + ";of=" + t.Field})
	}
	return reqs
}

func fieldUIDs(e *Entity) []string {
	uids := make([]string, len(e.Fields))
	for i := range e.Fields {
		uids[i] = e.Fields[i].UID
	}
	return uids
}

// requirements appends what must hold for one field.
func (f *Field) requirements(reqs []requirement) []requirement {
	add := func(k Kind, params string) { reqs = append(reqs, requirement{clauseKey{k, f.UID}, params}) }
	if f.Managed() {
		return reqs // what the service decides is a matter of its formula or machine
	}
	add(KindType, "type="+string(f.Type))
	switch {
	case f.Required:
		add(KindRequired, f.presenceParams())
	case f.Default != nil:
		add(KindDefault, join(f.presenceParams(), "value="+f.Literal(f.Default)))
	default:
		add(KindOptional, f.presenceParams())
	}
	if f.Nullable {
		add(KindNullable, "")
	} else {
		add(KindNotNull, "")
	}
	if f.Min != nil || f.Max != nil {
		add(KindRange, f.RangeParams())
	}
	if f.MinLen != nil || f.MaxLen != nil {
		add(KindLength, f.LengthParams())
	}
	if f.Pattern != "" {
		add(KindPattern, f.PatternParams())
	}
	if f.Type == Enum {
		add(KindEnum, f.EnumParams())
	}
	if f.Unique {
		add(KindUnique, "")
	}
	if f.Immutable {
		add(KindImmutable, "")
	}
	if f.Type == Ref {
		add(KindRefExists, "target="+f.Target)
		add(KindOnDelete, "policy="+string(f.OnDelete))
		if f.Nested {
			add(KindNested, "")
		}
	}
	return reqs
}

// RangeParams is the canonical text of the field's range, as clauses hold it: "min=0;max=500", with an
// empty side where there is no limit. Dates are days since 1970-01-01, decimals have their point.
func (f *Field) RangeParams() string {
	text := intText[int64]
	if f.Type == Decimal {
		text = func(limit *int64) string {
			if limit == nil {
				return ""
			}
			return FormatDecimal(*limit)
		}
	}
	return "min=" + text(f.Min) + ";max=" + text(f.Max)
}

// LengthParams is the canonical text of the field's length limits: "min=3;max=12".
func (f *Field) LengthParams() string {
	return "min=" + intText(f.MinLen) + ";max=" + intText(f.MaxLen)
}

// EnumParams is the canonical text of the field's values: "values=open,closed".
func (f *Field) EnumParams() string { return "values=" + strings.Join(f.Values, ",") }

// ClauseParam returns one key of the parameters of a clause, "min=0;max=500"; "" if it is not there.
func ClauseParam(params, key string) string {
	for part := range strings.SplitSeq(params, ";") {
		if v, ok := strings.CutPrefix(part, key+"="); ok {
			return v
		}
	}
	return ""
}

// join puts parameters together; an empty one is left out.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ";" + b
}

func intText[T int | int64](p *T) string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(int64(*p), 10)
}

// deriveClauses brings the clause table in line with the schema. A clause whose kind and subject existed
// before keeps its id; it counts as changed at this turn only if its parameters differ. Titles and texts
// always follow the present names.
func (s *Schema) deriveClauses(turn int) {
	old := make(map[clauseKey]*Clause, len(s.Clauses))
	for i := range s.Clauses {
		old[clauseKey{s.Clauses[i].Kind, s.Clauses[i].Subject}] = &s.Clauses[i]
	}
	reqs := s.requirements()
	next := make([]Clause, 0, len(reqs))
	for _, q := range reqs {
		c := Clause{Kind: q.key.kind, Subject: q.key.subject, Params: q.params, Introduced: turn, Changed: turn}
		if o := old[q.key]; o != nil {
			c.ID, c.Introduced, c.Changed = o.ID, o.Introduced, o.Changed
			if o.Params != q.params {
				c.Changed = turn
			}
		} else {
			s.NextClause++
			c.ID = "c" + strconv.Itoa(s.NextClause)
		}
		next = append(next, c)
	}
	slices.SortFunc(next, func(a, b Clause) int { return clauseNumber(a.ID) - clauseNumber(b.ID) })
	s.Clauses = next
	for i := range s.Clauses {
		c := &s.Clauses[i]
		c.Title, c.Text = s.phrase(c.Kind, c.Subject)
	}
}

// clauseNumber is the serial number in a clause id; 0 for anything that is none.
func clauseNumber(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "c"))
	if err != nil {
		return 0
	}
	return n
}

// clauseChanges compares the clause tables before and after a turn.
func clauseChanges(before, after *Schema) (added, changed []Clause, removed []string) {
	old := make(map[string]*Clause)
	if before != nil {
		for i := range before.Clauses {
			old[before.Clauses[i].ID] = &before.Clauses[i]
		}
	}
	kept := make(map[string]bool, len(after.Clauses))
	for _, c := range after.Clauses {
		kept[c.ID] = true
		switch o := old[c.ID]; {
		case o == nil:
			added = append(added, c)
		case o.Params != c.Params:
			changed = append(changed, c)
		}
	}
	if before != nil {
		for _, c := range before.Clauses {
			if !kept[c.ID] {
				removed = append(removed, c.ID)
			}
		}
	}
	return added, changed, removed
}

// checkClauses reports a clause table that does not belong to the schema.
func (s *Schema) checkClauses() error {
	reqs := s.requirements()
	if len(reqs) != len(s.Clauses) {
		return fmt.Errorf("%d clauses for %d requirements", len(s.Clauses), len(reqs))
	}
	have := make(map[clauseKey]string, len(s.Clauses))
	last := 0
	for _, c := range s.Clauses {
		n := clauseNumber(c.ID)
		if n <= last || n > s.NextClause {
			return fmt.Errorf("clause %s is out of order or beyond the last number %d", c.ID, s.NextClause)
		}
		last = n
		if c.Title == "" || c.Text == "" {
			return fmt.Errorf("clause %s has no text", c.ID)
		}
		have[clauseKey{c.Kind, c.Subject}] = c.Params
	}
	for _, q := range reqs {
		if p, ok := have[q.key]; !ok || p != q.params {
			return fmt.Errorf("no clause for %s of %s with parameters %q", q.key.kind, q.key.subject, q.params)
		}
	}
	return nil
}
