package scenario

// Type is the type of a field.
type Type string

// The field types.
const (
	String  Type = "string"
	Integer Type = "integer"
	Decimal Type = "decimal" // two places; kept in hundredths
	Boolean Type = "boolean"
	Enum    Type = "enum"
	Date    Type = "date" // YYYY-MM-DD
	// Datetime is RFC 3339 in UTC with whole seconds, written 2024-05-01T12:00:00Z; a client always supplies it.
	Datetime Type = "datetime"
	Ref      Type = "ref" // the integer id of a row of Field.Target
)

// OnDelete says what happens to rows that refer to a deleted row.
type OnDelete string

// The on-delete policies.
const (
	Cascade  OnDelete = "cascade"
	Restrict OnDelete = "restrict"
	SetNull  OnDelete = "set-null"
)

// Schema is the state of an API at one turn: the only ground truth. Objects carry immutable internal
// uids (e2, e2.f5, a1) and mutable public names; clause, check and operation ids are built from uids.
// A Schema is a value tree without pointers into other schemas; Apply returns a new one.
type Schema struct {
	Domain      string      `json:"domain"`
	Conventions Conventions `json:"conventions"`
	Entities    []Entity    `json:"entities"`
	Analytics   []Analytics `json:"analytics"`
	Tombstones  []Tombstone `json:"tombstones"` // renamed and removed things whose absence is still checked
	Clauses     []Clause    `json:"clauses"`    // active clauses in order of id number
	NextEntity  int         `json:"next_entity"`
	NextStat    int         `json:"next_stat"`
	NextClause  int         `json:"next_clause"`
	NextGone    int         `json:"next_gone,omitempty"` // tombstones ever made: the number of a dropped one is not used again
}

// Conventions are drawn at turn 0 and fixed for the scenario.
type Conventions struct {
	ItemsKey string `json:"items_key"` // list envelope: key of the rows ("items" or another word)
	TotalKey string `json:"total_key"` // list envelope: key of the count
}

// Entity is one collection of rows, served under /Plural.
type Entity struct {
	UID       string  `json:"uid"`
	Name      string  `json:"name"`
	Plural    string  `json:"plural"` // path segment
	Fields    []Field `json:"fields"`
	NextField int     `json:"next_field"`

	Groups  []Group     `json:"groups,omitempty"`
	Orders  []Order     `json:"orders,omitempty"`
	Machine *Machine    `json:"machine,omitempty"`
	Actions []Action    `json:"actions,omitempty"`
	List    ListOptions `json:"list,omitzero"`
	// NextPart counts what belongs to an entity and is no field: groups, orders, transitions, actions and list
	// options have the uids e1.p1, e1.p2, …
	NextPart int `json:"next_part,omitempty"`
}

// Field is one attribute of an entity. Nil pointers mean that the rule does not exist.
// Every entity has in addition an implicit integer "id", assigned by the server.
type Field struct {
	UID      string   `json:"uid"`
	Name     string   `json:"name"`
	Type     Type     `json:"type"`
	Required bool     `json:"required"`
	Nullable bool     `json:"nullable"`          // an explicit null is accepted; a required field may be nullable
	Default  *Value   `json:"default,omitempty"` // used when an optional field is missing; else null
	Unique   bool     `json:"unique,omitempty"`  // nulls are never duplicates
	Min      *int64   `json:"min,omitempty"`     // integer: value; decimal: hundredths; date: days since 1970-01-01; inclusive
	Max      *int64   `json:"max,omitempty"`
	MinLen   *int     `json:"min_len,omitempty"` // Unicode code points, inclusive
	MaxLen   *int     `json:"max_len,omitempty"`
	Values   []string `json:"values,omitempty"` // enum
	Target   string   `json:"target,omitempty"` // ref: uid of the entity referred to
	OnDelete OnDelete `json:"on_delete,omitempty"`

	Pattern   string    `json:"pattern,omitempty"`   // string: see [Field.Allows]; "AAA-999" is three capitals, a hyphen, three digits
	Immutable bool      `json:"immutable,omitempty"` // PUT and PATCH may repeat the stored value (null is one) or leave it out, which keeps it in PUT too, required or not
	State     bool      `json:"state,omitempty"`     // enum that Entity.Machine keeps; its key is ignored in requests
	Computed  *Computed `json:"computed,omitempty"`  // derived when it is read; its key is ignored in requests
	Nested    bool      `json:"nested,omitempty"`    // ref: GET /TARGETS/{id}/PLURAL lists the rows that refer to that row
}

// Managed reports whether the service alone decides the field's value, so that its key in a request is ignored
// like an unknown one: computed fields and the state of a machine.
func (f *Field) Managed() bool { return f.State || f.Computed != nil }

// Value is a field value in canonical form: exactly one of its members is used, by the field's type.
// Integer, decimal (hundredths), date (days) and ref use Int.
type Value struct {
	Str  string `json:"str,omitempty"`
	Int  int64  `json:"int,omitempty"`
	Bool bool   `json:"bool,omitempty"`
}

// Analytics is one read-only endpoint GET /analytics/NAME → 200 {"value": number}.
type Analytics struct {
	UID     string `json:"uid"`
	Name    string `json:"name"`
	Entity  string `json:"entity"`            // uid
	Kind    string `json:"kind"`              // count, sum, avg, min, max, group, top, window, parent; see parts.go
	Measure string `json:"measure,omitempty"` // field uid of an integer or decimal field; nulls count as nothing, an empty sum is 0
	Where   string `json:"where,omitempty"`   // field uid of an enum or boolean field that must equal Equals; "" = all rows
	Equals  *Value `json:"equals,omitempty"`
	Group   string `json:"group,omitempty"`  // group, top: field uid of an enum, boolean or ref field; parent: of the ref field
	N       int    `json:"n,omitempty"`      // top: how many groups
	Window  string `json:"window,omitempty"` // window: field uid of a date field
}

// Tombstone is a public name that must no longer work. Its absence is checked for the rest of the scenario, and the
// name is never used again.
type Tombstone struct {
	UID    string `json:"uid"`            // t1, t2, …: subject of its clause
	Kind   string `json:"kind"`           // one of the Gone constants
	Entity string `json:"entity"`         // uid of the entity that it belongs or belonged to, for a plural of the entity itself; "" for analytics
	Name   string `json:"name"`           // the old public name: of a field; a plural; the last path segment of an action or nested list; of an analytics endpoint
	Field  string `json:"field"`          // uid of what had the name; it still exists if it was renamed
	Type   Type   `json:"type,omitempty"` // type the field had
}

// Clause is one requirement of the API. Its id is stable over renames and new parameters;
// Changed is the last turn in which its parameters (not only names) changed, Introduced if never.
type Clause struct {
	ID         string `json:"id"` // c17
	Kind       Kind   `json:"kind"`
	Subject    string `json:"subject"` // uid of an entity, field, analytics or tombstone
	Params     string `json:"params"`  // canonical text of the parameters, uid-based
	Introduced int    `json:"introduced"`
	Changed    int    `json:"changed"`
	Title      string `json:"title"`
	Text       string `json:"text"` // the sentence of SPEC.md
}

// Kind is the kind of a clause; kinds map one to one to check generators, mutants and sentence templates.
type Kind string

// The clause kinds.
const (
	KindCreate      Kind = "create"       // entity: POST → 201 + full object, server-assigned increasing id
	KindRead        Kind = "read"         // entity: GET one → 200
	KindNotFound    Kind = "not_found"    // entity: GET, PUT, PATCH, DELETE of an unknown id → 404
	KindList        Kind = "list"         // entity: GET all → 200 envelope, creation order
	KindReplace     Kind = "replace"      // entity: PUT; missing optional fields become default or null
	KindUpdate      Kind = "update"       // entity: PATCH; missing = unchanged
	KindDelete      Kind = "delete"       // entity: DELETE → 204, then 404
	KindExactKeys   Kind = "exact_keys"   // entity: bodies hold exactly the declared keys; extra request keys are ignored
	KindAtomic      Kind = "atomic"       // entity: a refused request changes nothing
	KindType        Kind = "type"         // field: wrong JSON type → 400
	KindRequired    Kind = "required"     // field: missing on create or PUT → 400
	KindOptional    Kind = "optional"     // field: missing → null (or default)
	KindDefault     Kind = "default"      // field: missing → the default
	KindNullable    Kind = "nullable"     // field: explicit null accepted
	KindNotNull     Kind = "not_null"     // field: explicit null → 400
	KindRange       Kind = "range"        // field: outside → 400
	KindLength      Kind = "length"       // field: outside → 400
	KindEnum        Kind = "enum"         // field: unknown value → 400
	KindUnique      Kind = "unique"       // field: duplicate → 409
	KindRefExists   Kind = "ref_exists"   // ref field: unknown target → 400
	KindOnDelete    Kind = "on_delete"    // ref field: cascade, restrict (409) or set-null
	KindAnalytics   Kind = "analytics"    // analytics: value as defined
	KindGone        Kind = "gone"         // tombstone: old field name ignored and not returned; old path 404
	KindPattern     Kind = "pattern"      // field: another form → 400
	KindImmutable   Kind = "immutable"    // field: another value in PUT or PATCH → 409
	KindGroup       Kind = "unique_group" // group: the same pair again → 409
	KindOrder       Kind = "order"        // order: low above high → 400
	KindComputed    Kind = "computed"     // field: value as defined, the key in a request ignored
	KindState       Kind = "state"        // state field: new rows have the initial state, the key in a request ignored
	KindTransition  Kind = "transition"   // transition: POST …/{id}/NAME → 200, from another state 409
	KindAction      Kind = "action"       // action: POST …/{id}/NAME → 200, its parameter as defined
	KindGuard       Kind = "guard"        // transition or action: condition not met → 409
	KindEffect      Kind = "effect"       // transition or action: what it changes besides the state
	KindFilter      Kind = "filter"       // filter: GET ?NAME=… lists the rows that fit
	KindSort        Kind = "sort"         // sort key: GET ?sort=NAME and ?sort=-NAME
	KindDefaultSort Kind = "default_sort" // entity: order of the list without ?sort
	KindPage        Kind = "page"         // entity: ?limit and ?offset
	KindNested      Kind = "nested"       // ref field: GET /TARGETS/{id}/PLURAL
	KindHealth      Kind = "health"       // api: GET /health → 200 (subject "api")
	KindErrorFormat Kind = "error_format" // api: 400/404/409 bodies {"error":{"code","field"}} (subject "api")
)
