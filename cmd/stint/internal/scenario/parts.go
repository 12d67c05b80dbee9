package scenario

// What an entity has besides fields. Uids are e1.p1, e1.p2, … (Entity.NextPart). Fields are named by uid.
//
// How requests meet these rules, in the words that SPEC.md renders:
//
// A group forbids a second row with the same two values: 409, code "unique", field null. A null in either field
// is never a duplicate; a row may keep its own pair. The first field of a group could be unique by itself (type, room,
// no default), so that pairs never run out. An order wants Low ≤ High when both have a value, after the request is merged with what is
// stored: 400, code "order", field the name of High. Its fields have no range, no default and no uniqueness.
//
// A machine begins every new row in Initial. POST /PLURAL/{id}/NAME of a transition needs no body and ignores one:
// 200 with the whole object, 404 for an unknown id, 409 with code "state" and the state field's name from a state that
// is not in From, 409 with code "guard" and field null when the guard is not met. An action is called in the same way;
// its parameter, where it has one, is a required integer of the body with the errors of a field of that name
// ("required", "null", "type", "range").

// Group says that a pair of values is unique.
type Group struct {
	UID    string    `json:"uid"`
	Fields [2]string `json:"fields"`
}

// Order says that one field may not be above another of the same type (integer, decimal, date, datetime).
type Order struct {
	UID  string `json:"uid"`
	Low  string `json:"low"`
	High string `json:"high"`
}

// The kinds of Computed. A value is null when an input is null; a count never is.
const (
	ComputedProduct    = "product"    // integer × integer, or integer × decimal
	ComputedSum        = "sum"        // of two integers or two decimals
	ComputedDifference = "difference" // first minus second, of two integers or two decimals
	ComputedConcat     = "concat"     // two strings with one space between
	ComputedCount      = "count"      // rows whose ref field Inputs[0] refers to this row
)

// Computed is the formula of a field. The field's type follows from it: integer for products, sums and differences of
// integers and for counts, else decimal, string for concat. Computed fields carry no other rule and are used by nothing
// else: no filter, sort key, measure, guard or effect names one.
type Computed struct {
	Kind   string   `json:"kind"`
	Inputs []string `json:"inputs"`
}

// Machine is the life of a row. The states are the values of the state field.
type Machine struct {
	Field       string       `json:"field"` // uid of the state field
	Initial     string       `json:"initial"`
	Transitions []Transition `json:"transitions"`
}

// Transition is one named step from some states to another.
type Transition struct {
	UID     string   `json:"uid"`
	Name    string   `json:"name"` // path segment, unique among the transitions and actions of its entity
	From    []string `json:"from"`
	To      string   `json:"to"`
	Guard   *Guard   `json:"guard,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
}

// Action is one named request that changes a row.
type Action struct {
	UID     string   `json:"uid"`
	Name    string   `json:"name"`
	Param   *Param   `json:"param,omitempty"`
	Guard   *Guard   `json:"guard,omitempty"`
	Effects []Effect `json:"effects"`
}

// Param is the integer that the body of an action carries, both limits included.
type Param struct {
	Name string `json:"name"`
	Min  int64  `json:"min"`
	Max  int64  `json:"max"`
}

// Guard is a condition of at most two atoms, all of which must hold before the request changes anything.
type Guard struct {
	Atoms []Atom `json:"atoms"`
}

// The kinds of Atom. An atom with a null in it does not hold.
const (
	AtomField    = "field"    // Field Op Value; integer, decimal, date
	AtomFields   = "fields"   // Field Op Other; two fields of the same such type
	AtomParent   = "parent"   // the row that ref Field refers to is in state State
	AtomChildren = "children" // at least Value rows refer to this row by their ref field Field
)

// Atom is one comparison.
type Atom struct {
	Kind  string `json:"kind"`
	Field string `json:"field"`
	Op    string `json:"op,omitempty"`    // ">=" or "<="
	Value int64  `json:"value,omitempty"` // in the units of Field.Min
	Other string `json:"other,omitempty"`
	State string `json:"state,omitempty"`
}

// The kinds of Effect.
const (
	EffectSet      = "set"      // Target becomes the amount
	EffectAdd      = "add"      // the amount is added; null counts as 0
	EffectSubtract = "subtract" // the amount is taken away; null counts as 0
)

// Effect changes one integer field of the row, or of the row that it refers to. Its target has no rule but its type
// and whether it may be missing or null, so that no effect can break one; no later operation gives it one.
type Effect struct {
	Kind   string `json:"kind"`
	Ref    string `json:"ref,omitempty"` // uid of a ref field of the entity: Target is a field of the row referred to, nothing happens where it is null
	Target string `json:"target"`        // uid of an integer field
	Amount int64  `json:"amount,omitempty"`
	Param  bool   `json:"param,omitempty"` // the amount is the action's parameter
}

// ListOptions say what GET /PLURAL takes. A value of a query parameter that breaks its rule answers 400 with code
// "query" and the parameter's name as field. What the entity has no option for is left open.
type ListOptions struct {
	Filters []Filter     `json:"filters,omitempty"`
	Sorts   []SortKey    `json:"sorts,omitempty"`
	Default *DefaultSort `json:"default,omitempty"`
	Page    *Page        `json:"page,omitempty"`
}

// The kinds of Filter. Rows in which the field is null never fit; several filters must all fit; the total counts the
// rows that fit.
const (
	FilterEqual    = "eq"       // ?NAME=value: string, integer, boolean (true, false), enum, date; a value of another type answers 400
	FilterRange    = "range"    // ?min_NAME=…&max_NAME=…, each may be missing, both included: integer, decimal, date
	FilterContains = "contains" // ?NAME_contains=text, upper and lower case differ: string
)

// Filter is one condition that a list can be asked for.
type Filter struct {
	UID   string `json:"uid"`
	Field string `json:"field"`
	Kind  string `json:"kind"`
}

// SortKey is a field that ?sort=NAME (ascending) and ?sort=-NAME (descending) may name; any other word answers 400 where the
// entity has a sort key. Nulls come first ascending and last descending; equal rows keep the order of creation both ways.
// Strings compare by code point, false is before true, enum values by spelling.
type SortKey struct {
	UID   string `json:"uid"`
	Field string `json:"field"`
}

// DefaultSort is the order of the list without ?sort; the order of creation if there is none.
type DefaultSort struct {
	Field string `json:"field"`
	Desc  bool   `json:"desc,omitempty"`
}

// Page says that the list comes in pages: ?limit from 1 to Max (Default if missing) and ?offset from 0 (0 if missing).
// Anything else answers 400. The total counts all rows that fit, whatever the page; a page beyond the last is empty.
type Page struct {
	Default int `json:"default"`
	Max     int `json:"max"`
}

// The kinds of Tombstone.
const (
	GoneField     = "field"     // the key is ignored in requests and in no answer
	GoneEntity    = "entity"    // every request to /NAME and below answers 404
	GoneAction    = "action"    // POST /PLURAL/{id}/NAME answers 404
	GoneNested    = "nested"    // GET /PLURAL/{id}/NAME answers 404; Entity is the one referred to
	GoneAnalytics = "analytics" // GET /analytics/NAME answers 404
)

// The kinds of Analytics beyond count and sum. All look at the rows that fit Where at the time of the request.
// avg, min and max answer {"value": N} over the measures that are not null, null if there are none. group and top answer
// {"groups": [{"key": K, "value": N}]}: N counts the rows of a group, or sums Measure if there is one; rows whose group
// is null are left out; group is in ascending order of K (false before true, words by spelling, ids by number), top has the N
// largest values first, equal ones in ascending order of K (enum of three values or more, or ref). window counts or sums the rows whose date lies between the query
// parameters from and to, both required (400, code "query") and both included. parent lists every row of the entity that
// Group refers to, in order of creation, with the count or sum of the rows that refer to it, 0 included, as groups.
const (
	StatCount  = "count"
	StatSum    = "sum"
	StatAvg    = "avg"
	StatMin    = "min"
	StatMax    = "max"
	StatGroup  = "group"
	StatTop    = "top"
	StatWindow = "window"
	StatParent = "parent"
)

// cloneParts makes the parts of a copied entity its own.
func (e *Entity) cloneParts() {
	e.Groups = append([]Group(nil), e.Groups...)
	e.Orders = append([]Order(nil), e.Orders...)
	e.Actions = append([]Action(nil), e.Actions...)
	for i := range e.Actions {
		a := &e.Actions[i]
		a.Param, a.Guard, a.Effects = copyOf(a.Param), a.Guard.clone(), append([]Effect(nil), a.Effects...)
	}
	if e.Machine != nil {
		m := *e.Machine
		m.Transitions = append([]Transition(nil), m.Transitions...)
		for i := range m.Transitions {
			t := &m.Transitions[i]
			t.From, t.Guard, t.Effects = append([]string(nil), t.From...), t.Guard.clone(), append([]Effect(nil), t.Effects...)
		}
		e.Machine = &m
	}
	e.List.Filters = append([]Filter(nil), e.List.Filters...)
	e.List.Sorts = append([]SortKey(nil), e.List.Sorts...)
	e.List.Default, e.List.Page = copyOf(e.List.Default), copyOf(e.List.Page)
}

func (g *Guard) clone() *Guard {
	if g == nil {
		return nil
	}
	return &Guard{Atoms: append([]Atom(nil), g.Atoms...)}
}
