package classify

import (
	"slices"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// conditions are the names that rows of the contract table may use.
var conditions = []string{"no_listener", "route_dead", "still_served", "key_missing", "key_new", "renamed_name", "unreachable",
	"refusal", "null_or_missing", "other_rule", "form_only"}

// contract applies the table to the failing checks of one attempt.
type contract struct {
	book     *Taxonomy
	clauses  *clauses
	symptoms []*symptom
	failing  map[string]bool // every failing check of the attempt by id
	listener bool            // a server of the agent was seen, or left a trace
	dead     map[string]bool // routes on which nothing but 404 came
}

func newContract(book *Taxonomy, cs *clauses, rows []*logs.CheckRow, listener bool) *contract {
	c := &contract{book: book, clauses: cs, failing: map[string]bool{}, listener: listener, dead: map[string]bool{}}
	for _, r := range rows {
		c.failing[r.Check] = true
		c.symptoms = append(c.symptoms, newSymptom(r))
	}
	c.findDead()
	return c
}

// findDead finds the routes that answer 404 or 405 to every request, of whatever check.
func (c *contract) findDead() {
	lost, other := map[string]bool{}, map[string]bool{}
	for _, s := range c.symptoms {
		switch {
		case s.route == "" || s.unsent:
		case (s.have == 404 || s.have == 405) && s.want != 404:
			lost[s.route] = true
		case s.have != 404:
			other[s.route] = true
		}
	}
	for r := range lost {
		c.dead[r] = !other[r] && !c.answers(r)
	}
}

// answers says whether a check that asks for the route, and for something other than 404, passed.
func (c *contract) answers(route string) bool {
	return slices.ContainsFunc(c.clauses.routes[route], func(check string) bool { return !c.failing[check] })
}

// row returns the first row of the table that fits, and nil for a check that was never carried out.
func (c *contract) row(s *symptom) *Row {
	if s.check.Status == "not_run" || s.unsent {
		return nil
	}
	for i := range c.book.Contract {
		r := &c.book.Contract[i]
		if fits(r.Expected, s.want) && fits(r.Actual, s.have) && !slices.ContainsFunc(r.When, func(when string) bool { return !c.holds(when, s) }) {
			return r
		}
	}
	return nil
}

func fits(classes []string, status int) bool {
	return slices.Contains(classes, "any") || slices.Contains(classes, class(status))
}

// holds evaluates a condition of a row.
func (c *contract) holds(when string, s *symptom) bool {
	switch when {
	case "no_listener":
		return !c.listener
	case "route_dead":
		return c.dead[s.route]
	case "still_served":
		return c.stillServed(s) != nil
	case "key_missing":
		return s.has("missing")
	case "key_new":
		return c.newKey(s) != nil
	case "renamed_name":
		return c.renamedName(s) != nil
	case "unreachable":
		return c.unreachable(s)
	case "refusal":
		return refusal(s) && c.risen(s) == nil
	case "null_or_missing":
		return s.check.Mutation == "null" || s.check.Mutation == "missing"
	case "other_rule":
		return c.otherRule(s)
	case "form_only":
		return formOnly(s)
	}
	return false
}

func (c *contract) entity(s *symptom) string { return c.clauses.paths[s.collection] }

// subject is the clause a check is about: the first that it cites.
func (c *contract) subject(s *symptom) *clause {
	if len(s.check.Clauses) == 0 {
		return nil
	}
	return c.clauses.byID[s.check.Clauses[0]]
}

// stillServed returns the clause by which a name is a former one that the answer still has, or that the request could
// still use.
func (c *contract) stillServed(s *symptom) *clause {
	entity := c.entity(s)
	for _, d := range s.diffs {
		if d.kind == "extra" && !c.echoed(s, d.key) {
			if g := c.clauses.gone(entity, d.key); g != nil {
				return g
			}
		}
	}
	g := c.subject(s)
	if s.check.Intent != "gone" || g == nil || g.Kind != "gone" || s.check.Status == "error" {
		return nil
	}
	switch {
	case s.want >= 400 && class(s.have) == "2xx":
		// Without the field the request must be refused. Where that is so under every name, the rule is lost, not the name.
		if c.subjectFails("required", entity, s.wantField) {
			return nil
		}
		return g
	case class(s.want) == "2xx" && class(s.have) == "2xx" && g.now != "":
		for _, d := range s.diffs {
			if d.kind == "value" && d.key == g.now && c.fieldOwner(entity, d.key, s) == nil {
				return g
			}
		}
	}
	return nil
}

// subjectFails says whether a check about this very rule fails in an answer of its own.
func (c *contract) subjectFails(kind, entity, field string) bool {
	return slices.ContainsFunc(c.symptoms, func(o *symptom) bool {
		k := c.subject(o)
		return k != nil && k.Kind == kind && k.entity == entity && k.field == field && o.check.Status == "fail"
	})
}

// newKey returns the clause that brought a missing key this turn.
func (c *contract) newKey(s *symptom) *clause {
	for _, d := range s.diffs {
		if d.kind != "missing" {
			continue
		}
		if k := c.clauses.renamedTo(c.entity(s), d.key); k != nil {
			return k
		}
		if k := c.clauses.declares(c.entity(s), d.key); k != nil && k.Introduced == c.clauses.turn {
			return k
		}
	}
	return nil
}

// renamedName returns the clause of a rename that a refusal is about: the service still asks for the old name.
func (c *contract) renamedName(s *symptom) *clause {
	if s.haveField == "" {
		return nil
	}
	return c.clauses.gone(c.entity(s), s.haveField)
}

// unreachable says whether a route that is new this turn refuses every request with one status.
func (c *contract) unreachable(s *symptom) bool {
	owner := c.clauses.routeClause(s)
	if owner == nil || owner.Introduced != c.clauses.turn || c.clauses.routes == nil || c.answers(s.route) {
		return false
	}
	n := 0
	for _, o := range c.symptoms {
		if o.route == s.route && !o.unsent {
			if o.have != s.have || o.haveCode != s.haveCode || o.haveField != s.haveField {
				return false
			}
			n++
		}
	}
	return n > 1 && s.haveField == ""
}

// refusal says whether the request itself had to be refused. A record that must be gone, and is asked for or touched
// again, is an effect.
func refusal(s *symptom) bool {
	if s.check.Intent == "reject" {
		return true
	}
	return s.method != "GET" && s.wantCode != "not_found" && s.want != 404
}

// otherRule says whether the refusal names a rule that does not apply: another field, or another rule of the same
// field that the request keeps. Which code is named for the right field is a matter of form.
func (c *contract) otherRule(s *symptom) bool {
	if s.haveCode == "" || s.haveField == "" || s.haveField == s.wantField {
		return false
	}
	return c.clauses.ruleOf(c.entity(s), s.haveField, s.haveCode) != nil || c.undeclared(s)
}

// undeclared says whether the refusal is about a key that the collection does not have: it names one, or it names
// nothing and the request holds one.
func (c *contract) undeclared(s *symptom) bool {
	if s.haveField != "" {
		_, sent := s.body[s.haveField]
		return sent && c.foreign(s, s.haveField)
	}
	for key := range s.body {
		if c.foreign(s, key) {
			return true
		}
	}
	return false
}

// foreign says whether a key is none of the collection's.
func (c *contract) foreign(s *symptom, key string) bool {
	entity := c.entity(s)
	return entity != "" && key != "id" && c.clauses.declares(entity, key) == nil
}

// echoed says whether a key came back because the service returns whatever it is sent: then another key that the
// collection never had came back as well.
func (c *contract) echoed(s *symptom, key string) bool {
	if _, sent := s.body[key]; !sent {
		return false
	}
	return slices.ContainsFunc(c.symptoms, func(o *symptom) bool {
		return o.collection == s.collection && slices.ContainsFunc(o.diffs, func(d diff) bool {
			_, sent := o.body[d.key]
			return d.kind == "extra" && sent && c.foreign(o, d.key) && c.clauses.gone(c.entity(o), d.key) == nil
		})
	})
}

// risen returns the failing check by which a row exists that must not exist, if a reference to that row is what was
// accepted.
func (c *contract) risen(s *symptom) *symptom {
	if s.wantCode != "reference" || class(s.have) != "2xx" {
		return nil
	}
	ref := strings.Trim(string(s.body[s.wantField]), `"`)
	for _, o := range c.symptoms {
		if ref != "" && o.method == "GET" && o.id == ref && o.want == 404 && class(o.have) == "2xx" {
			return o
		}
	}
	return nil
}

// formOnly says whether only form differs: the status code within its class, a key, the type of an equal value.
func formOnly(s *symptom) bool {
	if s.want != s.have {
		return true
	}
	if strings.Contains(s.check.Expected, "body is JSON") {
		return true
	}
	return len(s.diffs) > 0 && !s.has("value") && !s.has("rows")
}
