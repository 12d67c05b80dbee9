package classify

import (
	"slices"
	"strings"
)

// owner attributes a failing check to the clause that its server breaks, which need not be the clause that the check
// is about: a row that cannot be made fails checks of all kinds.
func (c *contract) owner(s *symptom, r *Row) *clause {
	entity := c.entity(s)
	switch {
	case s.silent():
		return nil
	case c.dead[s.route]:
		return c.clauses.routeClause(s)
	case r.Mechanism == LeafChangeMissed:
		for _, find := range []func(*symptom) *clause{c.stillServed, c.newKey, c.renamedName} {
			if k := find(s); k != nil {
				return k
			}
		}
		return c.clauses.routeClause(s)
	case class(s.want) == "2xx" && class(s.have) == "2xx":
		if s.want != s.have {
			return c.clauses.routeClause(s)
		}
		return c.ownerOfBody(s, entity)
	case r.Mechanism == LeafTooStrict:
		return c.ownerOfRefusal(s, entity)
	case class(s.have) == "2xx":
		return c.ownerOfAcceptance(s, entity)
	case s.have >= 400 && s.want >= 400:
		return c.ownerOfError(s, entity)
	}
	return c.subject(s)
}

// ownerOfRefusal is the clause that a wrong refusal breaks.
func (c *contract) ownerOfRefusal(s *symptom, entity string) *clause {
	if own := c.subject(s); ofList(own) && s.query {
		if s.haveField == "limit" || s.haveField == "offset" {
			return c.ownOr(s, c.clauses.ofPath("page", s.collection))
		}
		return own
	}
	if s.below != "" {
		return c.ownOr(s, c.clauses.commandRule(s, s.haveCode))
	}
	if s.haveField != "" {
		if k := c.clauses.ruleOf(entity, s.haveField, s.haveCode); k != nil {
			return k
		}
		if k := c.sameRefusal(s, entity); k != nil {
			return k
		}
	}
	if c.undeclared(s) {
		return c.ownOr(s, c.clauses.ofPath("exact_keys", s.collection))
	}
	if s.haveCode == "restricted" || s.method == "DELETE" {
		for _, o := range c.symptoms {
			if k := c.subject(o); k != nil && k.Kind == "on_delete" && o.route == s.route && o.have == s.have {
				return k
			}
		}
	}
	return c.ownOr(s, c.clauses.routeClause(s))
}

// sameRefusal returns the clause of a check about the refused field that is refused in the same words. It tells what a
// code that nobody knows stands for.
func (c *contract) sameRefusal(s *symptom, entity string) *clause {
	for _, o := range c.symptoms {
		k := c.subject(o)
		if k != nil && k.entity == entity && k.field == s.haveField && k.Kind != "gone" && class(o.want) == "2xx" && o.check.Status == "fail" &&
			o.have == s.have && o.haveCode == s.haveCode && o.haveField == s.haveField {
			return k
		}
	}
	return nil
}

// ownerOfAcceptance is the clause that a wrong acceptance breaks.
func (c *contract) ownerOfAcceptance(s *symptom, entity string) *clause {
	if o := c.risen(s); o != nil {
		return c.subject(o)
	}
	if !refusal(s) {
		// A deleted record that is still there: by the rules of deletion, if they fail on their own.
		if s.item && s.wantCode == "not_found" {
			del := c.clauses.ofPath("delete", s.collection)
			if del != nil && c.fails(del) {
				return del
			}
		}
		return c.subject(s)
	}
	if s.below != "" {
		return c.ownOr(s, c.clauses.commandRule(s, s.wantCode))
	}
	if s.wantCode == "not_found" && s.check.Intent == "reject" {
		return c.ownOr(s, c.clauses.ofPath("not_found", s.collection))
	}
	if s.wantField != "" {
		if k := c.clauses.ruleOf(entity, s.wantField, s.wantCode); k != nil {
			return k
		}
	}
	return c.cited(s, kindOfRefusal(s.wantCode, s.wantField))
}

// ownerOfError is the clause that a refusal with the wrong status or body breaks.
func (c *contract) ownerOfError(s *symptom, entity string) *clause {
	if s.badError && (s.haveCode == "" || s.wantCode == s.haveCode) && s.want == s.have {
		if k := c.clauses.ofKind("error_format"); k != nil {
			return k
		}
	}
	if s.below != "" {
		return c.ownOr(s, c.clauses.commandRule(s, s.wantCode))
	}
	if s.wantCode == "not_found" || s.want == 404 {
		if k := c.clauses.ofPath("not_found", s.collection); k != nil {
			return k
		}
	}
	code, field := s.wantCode, s.wantField
	if code == "" {
		// Where the status differs the expectation names no body; the check's own clause is what was asked.
		return c.subject(s)
	}
	if field != "" {
		if k := c.clauses.ruleOf(entity, field, code); k != nil {
			return k
		}
	}
	if k := c.sameError(s, entity); k != nil {
		return k
	}
	return c.cited(s, kindOfRefusal(code, field))
}

// sameError returns the clause of a field whose own checks get the same wrong answer, for a check that spoils a field
// without being about it. Where only the code differs, nothing names the field; it must be in the request.
func (c *contract) sameError(s *symptom, entity string) *clause {
	if own := c.subject(s); own != nil && own.field != "" {
		return own
	}
	for _, o := range c.symptoms {
		k := c.subject(o)
		if k == nil || k.entity != entity || k.field == "" || c.clauses.ruleOf(entity, k.field, s.wantCode) != k {
			continue
		}
		if _, sent := s.body[k.field]; sent && o.wantCode == s.wantCode && o.have == s.have && o.haveCode == s.haveCode {
			return k
		}
	}
	return nil
}

// ownerOfBody is the clause that a wrong body of a right status breaks.
func (c *contract) ownerOfBody(s *symptom, entity string) *clause {
	for _, d := range s.diffs {
		switch d.kind {
		case "missing", "form":
			if k := c.clauses.declares(entity, d.key); k != nil {
				return k
			}
			if !s.item && s.method == "GET" && !strings.Contains(d.path, "[") {
				return c.ownOr(s, c.clauses.ofPath("list", s.collection))
			}
		case "extra":
			return c.ownOr(s, c.clauses.ofPath("exact_keys", s.collection))
		}
	}
	own := c.subject(s)
	if ofList(own) {
		return own
	}
	if k := c.changeOwner(s, own); k != nil {
		return k
	}
	if own != nil && (own.Kind == "on_delete" || own.Kind == "analytics" || own.Kind == "atomic") {
		return own
	}
	if own != nil && own.field != "" && own.Kind != "gone" {
		return c.refine(s, own)
	}
	if k := c.orderOwner(s); k != nil {
		return k
	}
	for _, d := range s.diffs {
		if d.kind == "value" {
			if k := c.fieldOwner(entity, d.key, s); k != nil {
				return k
			}
		}
	}
	switch {
	case !s.item && s.method == "GET":
		if s.has("rows") {
			return own
		}
		if k := c.clauses.ofPath("default_sort", s.collection); k != nil && c.clauses.fresh(k) {
			return k // rows in another order than asked for this turn
		}
		return c.ownOr(s, c.clauses.ofPath("list", s.collection))
	case s.method == "PUT" || s.method == "PATCH":
		return c.ownOr(s, c.clauses.routeClause(s))
	}
	return own
}

// ofList says whether a clause is about what a list can be asked for. A check about one asks for nothing else.
func ofList(k *clause) bool {
	return k != nil && (k.Kind == "filter" || k.Kind == "sort" || k.Kind == "default_sort" || k.Kind == "page" || k.Kind == "nested")
}

// orderOwner returns the clause about the order of a whole list, where the rows came in another one and the check about it
// fails as well.
func (c *contract) orderOwner(s *symptom) *clause {
	if s.item || s.query || s.method != "GET" || !slices.ContainsFunc(s.diffs, func(d diff) bool { return d.kind == "value" && d.key == "id" }) {
		return nil
	}
	if k := c.clauses.ofPath("default_sort", s.collection); k != nil && c.fails(k) {
		return k
	}
	return nil
}

// changeOwner returns the clause by which a command changes a row wrongly, or a value of the service is wrong. A check about
// one of them looks at nothing else.
func (c *contract) changeOwner(s *symptom, own *clause) *clause {
	if own == nil {
		return nil
	}
	switch own.Kind {
	case "computed", "state", "transition", "effect":
		return own
	case "guard", "action":
		for _, d := range s.diffs {
			if d.kind != "value" {
				continue
			}
			if k := c.clauses.ofField(c.entity(s), d.key, "state"); k != nil {
				return c.ownOr(s, c.clauses.ofPath("transition", s.below))
			}
		}
		return own
	}
	return nil
}

// fieldOwner returns the clause about a field by which a wrong value in any answer is explained: one whose own check
// fails in a value.
func (c *contract) fieldOwner(entity, field string, not *symptom) *clause {
	var best *clause
	rank := []string{"computed", "state", "default", "optional", "type", "nullable", "unique"}
	at := len(rank)
	for _, o := range c.symptoms {
		k := c.subject(o)
		if o == not || k == nil || k.entity != entity || k.field != field || o.want != o.have || !o.has("value") {
			continue
		}
		for i, kind := range rank {
			if k.Kind == kind && i < at {
				best, at = c.refine(o, k), i
			}
		}
	}
	return best
}

// refine moves a failure of PUT on what was left out from the field to the replacing of rows, if POST treats the
// field rightly.
func (c *contract) refine(s *symptom, k *clause) *clause {
	if s.method != "PUT" || k.Kind != "default" && k.Kind != "optional" {
		return k
	}
	for _, o := range c.symptoms {
		if c.subject(o) == k && o.method == "POST" {
			return k
		}
	}
	if r := c.clauses.ofPath("replace", s.collection); r != nil {
		return r
	}
	return k
}

// fails says whether a check about this clause fails in an answer of its own.
func (c *contract) fails(k *clause) bool {
	for _, o := range c.symptoms {
		if c.subject(o) == k && o.check.Status == "fail" && !o.silent() {
			return true
		}
	}
	return false
}

// ownOr is the given clause, or the check's own if there is none.
func (c *contract) ownOr(s *symptom, k *clause) *clause {
	if k != nil {
		return k
	}
	return c.subject(s)
}

// cited is the check's clause of a kind, or its first.
func (c *contract) cited(s *symptom, kind string) *clause {
	if kind != "" {
		for _, id := range s.check.Clauses {
			if k := c.clauses.byID[id]; k != nil && k.Kind == kind {
				return k
			}
		}
	}
	return c.subject(s)
}

// kindOfRefusal is the kind of clause that a conflict of rows is about; without a field, uniqueness is that of a pair.
func kindOfRefusal(code, field string) string {
	switch {
	case code == "restricted":
		return "on_delete"
	case code == "unique" && field == "":
		return "unique_group"
	case code == "unique":
		return "unique"
	}
	return ""
}
