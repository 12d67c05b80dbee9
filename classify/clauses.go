package classify

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-bench/stint/logs"
)

// clause is one requirement as it stood in the turn, with what its wording says it is about.
type clause struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	Title      string `json:"title"`
	Text       string `json:"text"`
	Introduced int    `json:"introduced"`
	Changed    int    `json:"changed"`

	entity, field string // of a clause about a field, in the singular
	path          string // /books, of a clause about a collection; /analytics/NAME; /books/{id}/lend
	now           string // of a former name: what the field is called today; "" if it is gone
	moved         string // of a former path: where it leads today; "" if it is gone
}

// number orders clauses by age.
func (c *clause) number() int {
	n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "c"))
	if err != nil {
		return 1 << 30
	}
	return n
}

// clauses is the clause table of one turn and the routes that its suite asks for.
type clauses struct {
	turn   int
	byID   map[string]*clause
	list   []*clause
	paths  map[string]string   // /books → book
	routes map[string][]string // route → checks that expect something other than 404 from it; nil = unknown
}

var (
	fieldTitle = regexp.MustCompile(`^(?:deleting [^:]*: )?([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)\b`)
	firstPath  = regexp.MustCompile("`(?:GET |POST |PUT |PATCH |DELETE )?(/[A-Za-z0-9_/-]+?)(?:/\\{id\\}|\\?[^`]*)?`")
	belowPath  = regexp.MustCompile("`(?:GET|POST) (/[A-Za-z0-9_-]+/\\{id\\}/[A-Za-z0-9_-]+)`")
	servedNow  = regexp.MustCompile("(?:is served under|the collection is) `(/[A-Za-z0-9_/]+)`")
	calledNow  = regexp.MustCompile("is called `([A-Za-z0-9_]+)`")
	readTitle  = regexp.MustCompile(`^read ([A-Za-z0-9_ ]+) by id$`)
	keyList    = regexp.MustCompile(`^/[A-Za-z0-9_-]+$`)
)

// suiteFile is what the classifier reads of a stored suite.
type suiteFile struct {
	Clauses []*clause `json:"clauses"`
	Checks  []struct {
		ID    string `json:"id"`
		Steps []struct {
			Method string `json:"m"`
			Path   string `json:"p"`
			Status int    `json:"s"`
		} `json:"steps"`
	} `json:"checks"`
}

// suiteClauses reads the clause table out of a stored suite.
func suiteClauses(b []byte, turn int) (*clauses, error) {
	var f suiteFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	cs := newClauses(f.Clauses, turn)
	cs.routes = map[string][]string{}
	for _, c := range f.Checks {
		seen := map[string]bool{}
		for _, st := range c.Steps {
			if r := route(st.Method, st.Path); st.Status != 404 && !seen[r] {
				seen[r] = true
				cs.routes[r] = append(cs.routes[r], c.ID)
			}
		}
	}
	return cs, nil
}

// tableClauses makes the clause table of a turn from the table of clauses. Names in it may be older than the turn.
func tableClauses(rows []logs.ClauseRow, turn int) *clauses {
	var list []*clause
	for _, r := range rows {
		if r.Introduced > turn || r.Removed != nil && *r.Removed <= turn {
			continue
		}
		c := &clause{ID: r.Clause, Kind: r.Kind, Title: r.Title, Text: r.Text, Introduced: r.Introduced, Changed: r.Introduced}
		if r.Changed != nil && *r.Changed <= turn {
			c.Changed = *r.Changed
		}
		list = append(list, c)
	}
	return newClauses(list, turn)
}

func newClauses(list []*clause, turn int) *clauses {
	cs := &clauses{turn: turn, byID: map[string]*clause{}, paths: map[string]string{}}
	for _, c := range list {
		if c == nil || c.ID == "" {
			continue
		}
		switch c.Kind {
		case "create", "read", "not_found", "list", "replace", "update", "delete", "atomic", "analytics", "page", "default_sort":
			if m := firstPath.FindStringSubmatch(c.Text); m != nil {
				c.path = m[1]
			}
			if m := readTitle.FindStringSubmatch(c.Title); m != nil && keyList.MatchString(c.path) {
				cs.paths[c.path] = strings.ReplaceAll(m[1], " ", "_")
			}
		case "exact_keys":
			if _, plural, ok := strings.Cut(c.Title, "keys of "); ok {
				c.path = "/" + strings.ReplaceAll(plural, " ", "_")
			}
		case "health", "error_format":
		default:
			if m := fieldTitle.FindStringSubmatch(c.Title); m != nil {
				c.entity, c.field = m[1], m[2]
			}
			if m := belowPath.FindStringSubmatch(c.Text); m != nil {
				c.path = m[1]
			}
			if m := calledNow.FindStringSubmatch(c.Text); m != nil && c.Kind == "gone" {
				c.now = m[1]
			}
			if m := servedNow.FindStringSubmatch(c.Text); m != nil && c.Kind == "gone" {
				c.moved = m[1]
			}
		}
		cs.byID[c.ID] = c
		cs.list = append(cs.list, c)
	}
	return cs
}

// fresh says whether the turn added or changed the clause.
func (cs *clauses) fresh(c *clause) bool { return max(c.Introduced, c.Changed) == cs.turn }

// moved says whether the turn gave the path of the clause its name.
func (cs *clauses) moved(c *clause) bool {
	return c.path != "" && slices.ContainsFunc(cs.list, func(k *clause) bool { return k.moved == c.path && cs.fresh(k) })
}

// ofField returns the first clause of one of the kinds about a field.
func (cs *clauses) ofField(entity, field string, kinds ...string) *clause {
	for _, k := range kinds {
		for _, c := range cs.list {
			if c.Kind == k && c.entity == entity && c.field == field {
				return c
			}
		}
	}
	return nil
}

// ofPath returns the clause of a kind about a collection or a statistic.
func (cs *clauses) ofPath(kind, path string) *clause {
	for _, c := range cs.list {
		if c.Kind == kind && c.path == path {
			return c
		}
	}
	return nil
}

func (cs *clauses) ofKind(kind string) *clause {
	for _, c := range cs.list {
		if c.Kind == kind {
			return c
		}
	}
	return nil
}

// gone returns the clause by which a name of the entity is a former one.
func (cs *clauses) gone(entity, name string) *clause { return cs.ofField(entity, name, "gone") }

// renamedTo returns the clause of a rename of this turn that gave the field its name.
func (cs *clauses) renamedTo(entity, name string) *clause {
	for _, c := range cs.list {
		if c.Kind == "gone" && c.entity == entity && c.now == name && cs.fresh(c) {
			return c
		}
	}
	return nil
}

// ruleOf returns the clause of a field that an error code is about.
func (cs *clauses) ruleOf(entity, field, code string) *clause {
	kinds := map[string][]string{
		"required": {"required", "default", "optional"}, "null": {"not_null", "nullable"}, "type": {"type"}, "range": {"range"},
		"length": {"length"}, "enum": {"enum"}, "unique": {"unique"}, "reference": {"ref_exists"}, "restricted": {"on_delete"},
		"pattern": {"pattern"}, "immutable": {"immutable"}, "order": {"order"},
	}[code]
	return cs.ofField(entity, field, kinds...)
}

// route is method and path with ids and symbols written as {id}.
func route(method, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		if i > 0 && (strings.HasPrefix(p, "${") || isNumber(p)) {
			parts[i] = "{id}"
		}
	}
	return method + " /" + strings.Join(parts, "/")
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// routeClause returns the clause that the route of a request as such belongs to.
func (cs *clauses) routeClause(s *symptom) *clause {
	if s.below == "" {
		return cs.methodClause(s.method, s.collection, s.item)
	}
	for _, kind := range []string{"transition", "action", "nested"} {
		if k := cs.ofPath(kind, s.below); k != nil {
			return k
		}
	}
	return nil
}

// commandRule returns the clause of a command that a refusal of it is about: its condition, its states or its parameter.
func (cs *clauses) commandRule(s *symptom, code string) *clause {
	if code == "guard" {
		return cs.ofPath("guard", s.below)
	}
	return cs.routeClause(s)
}

// declares returns the clause by which a collection has a key.
func (cs *clauses) declares(entity, key string) *clause {
	return cs.ofField(entity, key, "type", "computed", "state")
}

// methodClause returns the clause that a route as such belongs to.
func (cs *clauses) methodClause(method, collection string, item bool) *clause {
	kind := map[string]string{"GET": "list", "POST": "create"}[method]
	if item {
		kind = map[string]string{"GET": "read", "PUT": "replace", "PATCH": "update", "DELETE": "delete"}[method]
	}
	if strings.HasPrefix(collection, "/analytics/") {
		kind = "analytics"
	}
	if collection == "/health" {
		return cs.ofKind("health")
	}
	return cs.ofPath(kind, collection)
}
